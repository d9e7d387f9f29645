/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters that the core binds to queue pairs (qpcounter.c).
 */
#ifndef RXE_QPCOUNTER_H
#define RXE_QPCOUNTER_H

#include <linux/list.h>
#include <linux/types.h>

#include "counters.h"

struct ib_qp;
struct rdma_counter;
struct rxe_dev;
struct rxe_qp;

/**
 * struct rxe_qpcounters - those of a device; under the mutex of its tracks
 * @list: they
 * @last: number given last
 * @past: what those had counted that are no more
 */
struct rxe_qpcounters {
	struct list_head	list;
	u32			last;
	u64			past[RXE_CNT_QP_END];
};

void rxe_qpcounter_subtract(struct rxe_dev *dev, u64 *value);
void rxe_qpcounter_forget(struct rxe_qp *qp);
void rxe_qpcounter_init(struct rdma_counter *counter);
int rxe_qpcounter_bind(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port);
int rxe_qpcounter_unbind(struct ib_qp *ibqp, u32 port);
int rxe_qpcounter_update(struct rdma_counter *counter);
int rxe_qpcounter_dealloc(struct rdma_counter *counter);
struct rdma_hw_stats *rxe_qpcounter_alloc_stats(struct rdma_counter *counter);

#endif /* RXE_QPCOUNTER_H */
