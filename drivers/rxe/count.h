/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How to count (counters.c); included by rxe.h, behind what it counts for.
 */
#ifndef RXE_COUNT_H
#define RXE_COUNT_H

static inline void rxe_count_add(struct rxe_dev *dev, enum rxe_counter which, u64 n)
{
	this_cpu_add(dev->counters->value[which], n);
}

static inline void rxe_count(struct rxe_dev *dev, enum rxe_counter which)
{
	this_cpu_inc(dev->counters->value[which]);
}

/* What happens to a side of a queue pair: @counts are its own, the first ones of both */
static inline void rxe_count_side(struct rxe_dev *dev, u64 *counts, enum rxe_counter which,
				  u64 n)
{
	this_cpu_add(dev->counters->value[which], n);
	WRITE_ONCE(counts[which], counts[which] + n);
}

/* Something of the send side; by its task */
static inline void rxe_sq_count(struct rxe_qp *qp, enum rxe_counter which, u64 n)
{
	rxe_count_side(qp->dev, qp->sq.counts, which, n);
}

/* Something of the receive side; by its task */
static inline void rxe_rq_count(struct rxe_qp *qp, enum rxe_counter which, u64 n)
{
	u64 *value = &qp->rq.counts[rxe_rq_counter(which)];

	rxe_count_add(qp->dev, which, n);
	WRITE_ONCE(*value, *value + n);
}

/* A packet for a queue pair that neither side gets to see; on any CPU, in softirq */
static inline void rxe_qp_count(struct rxe_qp *qp, enum rxe_counter which)
{
	u64 *value = &qp->counts[which - RXE_CNT_RQ_END];

	rxe_count(qp->dev, which);
	spin_lock(&qp->rq.rxq.lock);
	WRITE_ONCE(*value, *value + 1);
	spin_unlock(&qp->rq.rxq.lock);
}

#endif /* RXE_COUNT_H */
