// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What is to be seen of queue pairs and queues, for debugfs.c and restrack.c.
 *
 * The data path is not stopped for it: numbers that belong together may be a moment
 * apart. Addresses and attributes are read under the mutex of modify_qp, and rings
 * exist as long as the object is tracked, which the caller sees to.
 */
#include <linux/math64.h>

#include "rxe.h"
#include "view.h"

/* In the order of the enum, IB_QPS_RESET first */
static const char *state_name(enum ib_qp_state state)
{
	static const char names[][8] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < ARRAY_SIZE(names) ? names[state] : "?";
}

static const char *type_name(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
		return "RC";
	case IB_QPT_UC:
		return "UC";
	case IB_QPT_UD:
		return "UD";
	case IB_QPT_GSI:
		return "GSI";
	default:
		return "?";
	}
}

/* Why there is no progress at this moment, if there is none. */
static const char *waits_for(const struct rxe_qp *qp)
{
	const struct rxe_sq *sq = &qp->sq;
	enum ib_qp_state state = rxe_qp_state(qp);
	u32 outstanding = psn_diff(READ_ONCE(sq->psn), READ_ONCE(sq->una_psn));

	if (state != IB_QPS_RTS && state != IB_QPS_SQD)
		return "-";
	if (READ_ONCE(sq->cons) == READ_ONCE(sq->prod))
		return "idle";
	if (rxe_qp_is_datagram(qp))
		return "queue";
	if (READ_ONCE(sq->rnr_wait))
		return "rnr";
	if (READ_ONCE(sq->starved))
		return "memory";
	if (READ_ONCE(sq->rto.backoff))
		return "lost";
	if (READ_ONCE(sq->pace.closed))
		return "pace";
	if (!outstanding)
		return "queue";
	if (READ_ONCE(sq->reads_head) != READ_ONCE(sq->reads_tail))
		return "response";
	return outstanding < READ_ONCE(sq->window.cur) ? "ack" : "window";
}

static void view_addresses(const struct rxe_flow *flow, struct rxe_qp_view *view)
{
	switch (flow->family) {
	case AF_INET:
		snprintf(view->local, sizeof(view->local), "%pI4", &flow->saddr.v4);
		snprintf(view->peer, sizeof(view->peer), "%pI4", &flow->daddr.v4);
		break;
	case AF_INET6:
		snprintf(view->local, sizeof(view->local), "%pI6c", &flow->saddr.v6);
		snprintf(view->peer, sizeof(view->peer), "%pI6c", &flow->daddr.v6);
		break;
	default:
		strscpy(view->local, "-", sizeof(view->local));
		strscpy(view->peer, "-", sizeof(view->peer));
		return;
	}
	view->sport = ntohs(flow->sport);
}

/**
 * rxe_view_qp() - look at a queue pair
 * @qp: tracked, and the mutex of the tracks is held
 * @view: filled
 *
 * Context: process context, sleeps.
 */
void rxe_view_qp(struct rxe_qp *qp, struct rxe_qp_view *view)
{
	const struct rxe_sq *sq = &qp->sq;
	const struct rxe_rq *rq = &qp->rq;
	const char *error;

	memset(view, 0, sizeof(*view));
	mutex_lock(&qp->mutex);
	view->state = state_name(rxe_qp_state(qp));
	view->type = type_name(qp->ib.qp_type);
	view->waits = waits_for(qp);
	error = READ_ONCE(qp->error);
	view->error = error ? error : "-";
	view_addresses(&sq->flow, view);
	view->rqpn = qp->attr.dest_qp_num;
	view->pmtu = qp->pmtu;
	view->sq_psn = READ_ONCE(sq->psn);
	view->una_psn = READ_ONCE(sq->una_psn);
	view->rq_psn = READ_ONCE(rq->psn);
	view->msn = READ_ONCE(rq->msn);
	if (!rxe_qp_is_datagram(qp))
		view->outstanding = psn_diff(view->sq_psn, view->una_psn);
	view->window = READ_ONCE(sq->window.cur);
	view->held = READ_ONCE(sq->held.count) + READ_ONCE(rq->held.count);
	view->sq_used = READ_ONCE(sq->prod) - READ_ONCE(sq->cons);
	if (!qp->srq)
		view->rq_used = (rxe_ring_producer(&rq->ring) - READ_ONCE(rq->ring.index)) &
				rq->ring.mask;
	view->sq_mbps = rxe_pace_mbps(&sq->pace);
	view->rq_mbps = rxe_pace_mbps(&rq->pace);
	view->retries = READ_ONCE(sq->retry.retries_left);
	view->rtt_us = div_u64(READ_ONCE(sq->rto.srtt_ns), NSEC_PER_USEC);
	if (sq->rto.base_ns)
		view->rto_us = div_u64(rto_get(&sq->rto), NSEC_PER_USEC);
	mutex_unlock(&qp->mutex);
}

/**
 * rxe_view_cq_used() - entries of a completion queue that nobody has polled yet
 * @cq: tracked, and the mutex of the tracks is held
 *
 * Context: process context.
 * Return: entries, as far as user space says what it has polled.
 */
u32 rxe_view_cq_used(struct rxe_cq *cq)
{
	unsigned long flags;
	u32 used;

	spin_lock_irqsave(&cq->lock, flags);
	used = (cq->ring.index - rxe_ring_consumer(&cq->ring)) & cq->ring.mask;
	spin_unlock_irqrestore(&cq->lock, flags);
	return used;
}

/**
 * rxe_view_srq_used() - receives that are posted and not taken
 * @srq: tracked, and the mutex of the tracks is held
 *
 * Context: process context.
 * Return: receives, as far as user space says what it has posted.
 */
u32 rxe_view_srq_used(struct rxe_srq *srq)
{
	unsigned long flags;
	u32 used;

	spin_lock_irqsave(&srq->lock, flags);
	used = (rxe_ring_producer(&srq->ring) - srq->ring.index) & srq->ring.mask;
	spin_unlock_irqrestore(&srq->lock, flags);
	return used;
}
