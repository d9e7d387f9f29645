// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive WQEs: from the receive queue to their completion.
 *
 * The queue is a ring that user space may write at any time: a WQE is copied out
 * once, and only the copy (rq->wr_id, num_sge, sge, room) is looked at.  One WQE of
 * a QP is in use at a time, from rxe_recv_get() to rxe_recv_complete().
 *
 * Where nobody sends a message again, as on UC and of datagrams, one that finds no receive
 * waits for a little while (rxe_recv_await()).
 */
#include "rxe.h"
#include "trace.h"

/* How often a QP in error looks for receives that user space has posted since */
#define FLUSH_INTERVAL	(HZ / 10)
/* How long a message that nobody sends again waits for a receive that is late */
#define RECEIVE_LATE	max_t(unsigned long, HZ / 100, 1)

/* Copies the next WQE of a ring; false: there is none. */
static bool ring_take(struct rxe_qp *qp, struct rxe_ring *ring, u32 max_sge)
{
	struct rxe_rq *rq = &qp->rq;
	const void *element;
	struct rxe_recv_wqe posted;
	u64 room = 0;
	u32 i;

	if (rxe_ring_producer(ring) == ring->index)
		return false;
	element = rxe_ring_element(ring, ring->index);
	memcpy(&posted, element, sizeof(posted));
	barrier();	/* the compiler may not read the ring again */
	rq->wr_id = posted.wr_id;
	rq->num_sge = posted.dma.num_sge;
	rq->bad_wqe = rq->num_sge > max_sge;
	if (unlikely(rq->bad_wqe)) {
		rxe_rq_count(qp, RXE_CNT_RING_VIOLATIONS, 1);
		trace_rxe_ring(qp, "receive queue: too many elements", rq->num_sge);
		rq->num_sge = 0;
	}
	memcpy(rq->sge, element + sizeof(posted), rq->num_sge * sizeof(rq->sge[0]));
	barrier();
	for (i = 0; i < rq->num_sge; i++)
		room += rq->sge[i].length;
	rq->room = min_t(u64, room, U32_MAX);
	rq->have_wqe = true;
	ring->index = (ring->index + 1) & ring->mask;
	ring->taken++;
	rxe_ring_set_consumer(ring, ring->index);
	if (unlikely(rq->supply != RXE_SUPPLY_THERE))
		WRITE_ONCE(rq->supply, RXE_SUPPLY_THERE);
	return true;
}

static bool srq_take(struct rxe_qp *qp, struct rxe_srq *srq)
{
	unsigned long flags;
	bool taken, tell;

	spin_lock_irqsave(&srq->lock, flags);
	taken = ring_take(qp, &srq->ring, srq->max_sge);
	tell = taken && rxe_srq_below_limit(srq);
	spin_unlock_irqrestore(&srq->lock, flags);
	if (tell)
		rxe_srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	return taken;
}

/**
 * rxe_recv_get - take the next receive WQE into use, of the QP or of its SRQ
 * @qp: the QP; uses none now
 *
 * Context: rq.task.
 * Return: false if there is none.
 */
bool rxe_recv_get(struct rxe_qp *qp)
{
	if (qp->srq)
		return srq_take(qp, qp->srq);
	return ring_take(qp, &qp->rq.ring, qp->cap.max_recv_sge);
}

/* Whether a message for which there is no receive is to wait; that ends after RECEIVE_LATE. */
static bool recv_await(struct rxe_qp *qp, const struct sk_buff *skb)
{
	struct rxe_rq *rq = &qp->rq;

	if (rq->supply == RXE_SUPPLY_OUT)
		return false;
	/* an old one does not, but younger ones behind it may */
	if (rxe_rx_age(skb) > RECEIVE_LATE)
		return false;
	if (rq->supply == RXE_SUPPLY_THERE)
		rq->late = jiffies + RECEIVE_LATE;
	/* nor is anything else of this queue pair to be lost for it */
	if (time_after(jiffies, rq->late) || skb_queue_len(&rq->rxq) > RXE_RXQ_BURSTS / 2) {
		WRITE_ONCE(rq->supply, RXE_SUPPLY_OUT);
		return false;
	}
	WRITE_ONCE(rq->supply, RXE_SUPPLY_AWAITED);
	if (!timer_pending(&rq->timer))
		mod_timer(&rq->timer, jiffies);
	return true;
}

/**
 * rxe_recv_await - there is no receive: whether a message that nobody sends again waits for one
 * @qp: UC, UD or GSI
 * @skb: where the message begins
 *
 * One may come soon: the process that posts them has often only lost its CPU to the messages
 * that it is to receive. Whatever comes next looks again, or the timer, at the next tick. When
 * none comes in time, messages are dropped at once until there is one (9.8.2, 9.8.3).
 *
 * Context: rq.task.
 * Return: true if the task is to leave it there, as the packet in hand; it is called again.
 */
bool rxe_recv_await(struct rxe_qp *qp, const struct sk_buff *skb)
{
	qp->rq.waits = recv_await(qp, skb);
	return qp->rq.waits;
}

/**
 * rxe_recv_waits - whether the packet in hand still waits for a receive
 * @qp: the QP
 *
 * Asked before the packet is looked at again, which would make its sum anew.
 *
 * Context: rq.task.
 * Return: true if the task is to leave it there; it is called again.
 */
bool rxe_recv_waits(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;

	if (likely(!rq->waits))
		return false;
	rq->waits = rq->iter.skb && rxe_rx_more(&rq->iter) && !rq->have_wqe &&
		    !rxe_recv_get(qp) && recv_await(qp, rq->iter.skb);
	return rq->waits;
}

/**
 * rxe_recv_scarce - whether who posts receives is needed soon
 * @qp: the QP
 *
 * Context: any; what it finds may have changed when it returns.
 * Return: whether fewer than RXE_RECEIVES_FEW are posted.
 */
bool rxe_recv_scarce(const struct rxe_qp *qp)
{
	const struct rxe_ring *ring = &qp->rq.ring;

	if (qp->srq)
		return rxe_srq_scarce(qp->srq);
	return ((rxe_ring_producer(ring) - READ_ONCE(ring->index)) & ring->mask) <
	       RXE_RECEIVES_FEW;
}

/**
 * rxe_recv_complete - the receive WQE in use is done
 * @qp: the QP
 * @wc: what to say; wr_id is filled in
 *
 * Each is visible at once, unlike those of requests: if the CQ has no room for it, that is
 * the answer to this message.
 *
 * Context: rq.task, or when it has been stopped.
 * Return: false if the CQ was full.
 */
bool rxe_recv_complete(struct rxe_qp *qp, struct rxe_wc *wc)
{
	qp->rq.have_wqe = false;
	wc->wr_id = qp->rq.wr_id;
	if (rxe_cq_post(qp->rcq, qp, wc, 1)) {
		rxe_rq_count(qp, RXE_CNT_COMPLETIONS, 1);
		return true;
	}
	rxe_qp_info(qp, "receive completion lost, the CQ is full\n");
	rxe_qp_because(qp, "receive CQ overrun");
	return false;
}

/**
 * rxe_recv_fail - the receive WQE in use completes with an error
 * @qp: the QP
 * @status: enum ib_wc_status
 *
 * If that finds no room in the CQ, its owner learns of the error by an event, unless the QP
 * is in its error state already.
 *
 * Context: rq.task, or when it has been stopped.
 */
void rxe_recv_fail(struct rxe_qp *qp, u8 status)
{
	struct rxe_wc wc = {
		.status = status,
		.opcode = IB_WC_RECV,
		.src_qp = qp->attr.dest_qp_num,
	};
	bool alive = rxe_qp_state(qp) != IB_QPS_ERR;

	if (rxe_recv_complete(qp, &wc))
		return;
	rxe_qp_error(qp);
	if (alive)
		rxe_qp_event(qp, IB_EVENT_QP_FATAL);
}

/**
 * rxe_recv_flush - complete receives with a flush error, at most a budget
 * @qp: QP in the error state
 *
 * Flushes what was posted when the flush began; what user space posts
 * meanwhile, without telling us, is left to the timer.  So it ends, however fast
 * the ring is filled.  The WQEs of an SRQ are other QPs' as well: they stay, and
 * the owner of the QP learns that it has seen the last one (11.5.2.4).
 *
 * Context: rq.task, or when it has been stopped.
 * Return: true if there is more to do.
 */
bool rxe_recv_flush(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;
	u32 budget = RXE_WQE_BUDGET;

	if (rq->have_wqe)
		rxe_recv_fail(qp, IB_WC_WR_FLUSH_ERR);
	if (qp->srq) {
		if (!rq->last_told)
			rxe_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
		rq->last_told = true;
		return false;
	}
	if (!rq->flush_left)
		rq->flush_left = (rxe_ring_producer(&rq->ring) - rq->ring.index) & rq->ring.mask;
	while (rq->flush_left && budget--) {
		rq->flush_left--;
		if (rxe_recv_get(qp))
			rxe_recv_fail(qp, IB_WC_WR_FLUSH_ERR);
	}
	if (rq->flush_left)
		return true;
	/* a kernel user's post may have called for us in the middle of the pass */
	if (!qp->is_user)
		return rxe_ring_producer(&rq->ring) != rq->ring.index;
	mod_timer(&rq->timer, jiffies + FLUSH_INTERVAL);
	return false;
}

/**
 * rxe_recv_ring_post - post a list of a kernel user's receives to a ring
 * @ring: of a QP or an SRQ
 * @max_wr: WQEs that it may hold
 * @max_sge: elements that each may have
 * @wr: list of receives
 * @bad: set to the first that could not be posted
 *
 * Context: any, under the lock of the ring's owner.
 * Return: 0, -EINVAL for a bad request, -ENOMEM if the ring is full.
 */
int rxe_recv_ring_post(struct rxe_ring *ring, u32 max_wr, u32 max_sge,
		       const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	int err = 0;

	for (; wr; wr = wr->next) {
		u32 prod = rxe_ring_producer(ring);
		struct rxe_recv_wqe *wqe = rxe_ring_element(ring, prod);

		if (((prod - rxe_ring_consumer(ring)) & ring->mask) >= max_wr)
			err = -ENOMEM;
		else if (wr->num_sge < 0 || wr->num_sge > max_sge)
			err = -EINVAL;
		if (err) {
			*bad = wr;
			break;
		}
		wqe->wr_id = wr->wr_id;
		wqe->dma.num_sge = wr->num_sge;
		/* struct ib_sge has the layout of the ring's elements */
		memcpy(wqe + 1, wr->sg_list, wr->num_sge * sizeof(struct ib_sge));
		rxe_ring_set_producer(ring, (prod + 1) & ring->mask);
	}
	return err;
}

/**
 * rxe_recv_post - the post_recv verb of kernel users (10.8.3)
 * @ibqp: QP
 * @wr: list of receives
 * @bad: set to the first that could not be posted
 *
 * Context: any.
 * Return: 0, -EINVAL in the reset state, with an SRQ or for a bad request, -ENOMEM
 * if the queue is full.
 */
int rxe_recv_post(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);
	unsigned long flags;
	int err;

	if (qp->is_user || qp->srq || rxe_qp_state(qp) == IB_QPS_RESET) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->rq.post_lock, flags);
	err = rxe_recv_ring_post(&qp->rq.ring, qp->cap.max_recv_wr, qp->cap.max_recv_sge,
				 wr, bad);
	spin_unlock_irqrestore(&qp->rq.post_lock, flags);
	/*
	 * Either the flush that follows the error sees the post, or we the error. For a message
	 * that begins to wait just now, the timer looks soon.
	 */
	smp_mb();
	if (rxe_qp_state(qp) == IB_QPS_ERR || READ_ONCE(qp->rq.supply) == RXE_SUPPLY_AWAITED)
		rxe_task_kick(&qp->rq.task);
	return err;
}
