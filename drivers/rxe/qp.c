// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: their objects, and their life from RESET to RESET.
 *
 *   RESET ─► INIT ─► RTR ─► RTS ◄─► SQD           by modify_qp
 *     ▲        │      │      │       │
 *     └────────┴──────┴──────┴───────┴──► ERR      by modify_qp, or by an error
 *                             └─► SQE ─► RTS       by an error of a send request of UC
 *                                                  and UD; back by modify_qp
 *
 * modify_qp is the only one that leaves a state in an orderly way: it stops both
 * tasks, changes what is to be changed, and starts them again, so that tasks
 * read attributes without a lock.  Errors only ever move a QP to ERR.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "rxe.h"
#include "trace.h"

/* The CM asks for both kinds of FLUSH where a device has one; the region decides */
#define QP_ACCESS_SUPPORTED	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |	\
				 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |	\
				 IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)

/* Programs use one set of flags for regions and queue pairs: without meaning here */
#define QP_ACCESS_IGNORED	(IB_ACCESS_ON_DEMAND | IB_ACCESS_MW_BIND)

/* --- the send side's task --------------------------------------------------- */

/**
 * rxe_qp_check_drained - in state SQD, tell once that what was begun is completed
 * @qp: the QP
 *
 * See 10.3.1.5.
 *
 * Context: sq.task.
 */
void rxe_qp_check_drained(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	const struct rxe_swqe *wqe;

	if (rxe_qp_state(qp) != IB_QPS_SQD || sq->drained)
		return;
	if (sq->cons != sq->prod) {
		wqe = rxe_sq_slot(sq, sq->cons);
		if (wqe->sent)
			return;
	}
	sq->drained = true;
	WRITE_ONCE(qp->sq_draining, false);
	if (qp->attr.en_sqd_async_notify)
		rxe_qp_event(qp, IB_EVENT_SQ_DRAINED);
}

/* Everything about our own requests: answers first, they make room. */
static bool sq_task(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	bool more, unread;

	switch (rxe_qp_state(qp)) {
	case IB_QPS_RTS:
	case IB_QPS_SQD:
		more = rxe_post_pull(qp);
		unread = rxe_completer_receive(qp);
		more |= unread;
		/* a timer counts only if the answer is not here yet */
		if (!unread && rxe_qp_state(qp) != IB_QPS_ERR)
			rxe_completer_events(qp);
		if (rxe_qp_state(qp) != IB_QPS_ERR)
			more |= rxe_requester_send(qp);
		if (rxe_qp_state(qp) != IB_QPS_ERR) {
			rxe_completer_arm(qp);
			rxe_qp_check_drained(qp);
			return more;
		}
		fallthrough;
	case IB_QPS_ERR:
	case IB_QPS_SQE:
		skb_queue_purge(&sq->rxq);
		rxe_reorder_purge(&sq->held);
		return rxe_wc_flush(qp);
	default:
		skb_queue_purge(&sq->rxq);
		return false;
	}
}

/* --- errors and events ------------------------------------------------------ */

/**
 * rxe_qp_event - tell the owner of a QP
 * @qp: the QP
 * @event: what happened
 *
 * Context: any, no lock held that the consumer's handler could want.
 */
void rxe_qp_event(struct rxe_qp *qp, enum ib_event_type event)
{
	struct ib_event ev = {
		.device = qp->ib.device,
		.element.qp = &qp->ib,
		.event = event,
	};

	if (qp->ib.event_handler)
		qp->ib.event_handler(&ev, qp->ib.qp_context);
}

/**
 * rxe_qp_because() - remember why a QP fails
 * @qp: the QP
 * @why: a constant, for people
 *
 * Context: any.
 */
void rxe_qp_because(struct rxe_qp *qp, const char *why)
{
	trace_rxe_error(qp, why);
	WRITE_ONCE(qp->error, why);
}

/* Under qp->lock. */
static void set_state(struct rxe_qp *qp, enum ib_qp_state next)
{
	lockdep_assert_held(&qp->lock);
	trace_rxe_state(qp, next);
	rxe_qp_dbg(qp, "state %d -> %d\n", qp->state, next);
	WRITE_ONCE(qp->state, next);
}

/**
 * rxe_qp_error - move a QP to the error state
 * @qp: the QP
 *
 * Both sides flush what they have, soon.
 *
 * Context: process or softirq; from within a task or not.
 */
void rxe_qp_error(struct rxe_qp *qp)
{
	bool changed = false;

	spin_lock_bh(&qp->lock);
	if (qp->state != IB_QPS_ERR && qp->state != IB_QPS_RESET) {
		set_state(qp, IB_QPS_ERR);
		changed = true;
	}
	spin_unlock_bh(&qp->lock);
	if (!changed)
		return;
	rxe_task_kick(&qp->sq.task);
	rxe_task_kick(&qp->rq.task);
}

/**
 * rxe_qp_send_error - a request of an unconnected QP has failed
 * @qp: UC, UD or GSI
 *
 * The send queue is flushed, the receive queue goes on (10.3.1.6).
 *
 * Context: sq.task.
 */
void rxe_qp_send_error(struct rxe_qp *qp)
{
	bool changed = false;

	spin_lock_bh(&qp->lock);
	if (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD) {
		set_state(qp, IB_QPS_SQE);
		changed = true;
	}
	spin_unlock_bh(&qp->lock);
	if (changed)
		rxe_task_kick(&qp->sq.task);
}

/* --- creation --------------------------------------------------------------- */

static int qp_check_init(struct rxe_dev *dev, const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_GSI:
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags || init->xrcd)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > RXE_MAX_QP_WR || cap->max_recv_wr > RXE_MAX_QP_WR ||
	    cap->max_send_sge > RXE_MAX_SGE || cap->max_recv_sge > RXE_MAX_SGE ||
	    cap->max_inline_data > RXE_MAX_INLINE)
		return -EINVAL;
	return 0;
}

/* Inline data and SGEs share the room behind a WQE. */
static void qp_set_caps(struct rxe_qp *qp, struct ib_qp_cap *cap)
{
	u32 room = max_t(u32, cap->max_send_sge * sizeof(struct rxe_sge),
			 cap->max_inline_data);

	room = max_t(u32, room, sizeof(struct rxe_sge));
	/* as many as the rings hold: who fills them up to this sees them full */
	cap->max_send_wr = roundup_pow_of_two(max(cap->max_send_wr, 1U) + 1) - 1;
	cap->max_recv_wr = roundup_pow_of_two(max(cap->max_recv_wr, 1U) + 1) - 1;
	cap->max_recv_sge = max(cap->max_recv_sge, 1U);
	cap->max_send_sge = min_t(u32, room / sizeof(struct rxe_sge), RXE_MAX_SGE);
	cap->max_inline_data = room;
	qp->cap = *cap;
}

static int counts_create(struct rxe_qp *qp)
{
	qp->sq.counts = kcalloc(RXE_SQ_COUNTERS, sizeof(u64), GFP_KERNEL_ACCOUNT);
	qp->rq.counts = kcalloc(RXE_RQ_COUNTERS, sizeof(u64), GFP_KERNEL_ACCOUNT);
	return qp->sq.counts && qp->rq.counts ? 0 : -ENOMEM;
}

static void counts_destroy(struct rxe_qp *qp)
{
	kfree(qp->sq.counts);
	kfree(qp->rq.counts);
}

/* Everything that qp_free() looks at, before anything can fail. */
static void qp_init(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_rq *rq = &qp->rq;

	mutex_init(&qp->mutex);
	spin_lock_init(&qp->lock);
	spin_lock_init(&sq->post_lock);
	skb_queue_head_init(&sq->rxq);
	hrtimer_setup(&sq->timer, rxe_completer_timeout, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	hrtimer_setup(&sq->rnr_timer, rxe_completer_rnr_timeout, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
	rxe_gather_init(qp);
	rxe_task_init(&sq->task, qp, sq->counts,
		      rxe_qp_is_datagram(qp) ? rxe_datagram_send_task : sq_task);
	rxe_fault_init(&sq->fault, &sq->task);
	rxe_pace_init(&sq->pace, &sq->task, &sq->flow, &sq->rto.srtt_ns);
	spin_lock_init(&rq->post_lock);
	skb_queue_head_init(&rq->rxq);
	timer_setup(&rq->timer, rxe_responder_timeout, 0);
	hrtimer_setup(&rq->nak_timer, rxe_responder_nak_timeout, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
	rxe_task_init(&rq->task, qp, rq->counts,
		      rxe_qp_is_datagram(qp) ? rxe_datagram_receive_task : rxe_responder_task);
	rxe_fault_init(&rq->fault, &rq->task);
	rxe_pace_init(&rq->pace, &rq->task, &rq->flow, NULL);
}

static int sq_create(struct rxe_qp *qp, struct ib_udata *udata, struct mminfo *mi)
{
	u32 room = round_up(qp->cap.max_inline_data, sizeof(u64));
	struct rxe_sq *sq = &qp->sq;
	int err;

	sq->mask = roundup_pow_of_two(qp->cap.max_send_wr + 1) - 1;
	sq->stride = round_up(offsetof(struct rxe_swqe, sge) + room, sizeof(u64));
	sq->slots = kvcalloc(sq->mask + 1, sq->stride, GFP_KERNEL_ACCOUNT);
	if (!sq->slots)
		return -ENOMEM;
	if (udata) {
		err = rxe_ring_create(&sq->ring, qp->dev, udata, qp->cap.max_send_wr,
				      sizeof(struct rxe_send_wqe) + room, mi);
		if (err)
			return err;
		if (WARN_ON_ONCE(sq->ring.mask != sq->mask))
			return -EINVAL;
	}
	if (rxe_qp_is_datagram(qp))
		return rxe_datagram_init(qp);
	err = rxe_flow_init(&sq->flow, qp->dev, &sq->task);
	sq->flow.pace = &sq->pace;
	return err;
}

static int rq_create(struct rxe_qp *qp, struct ib_udata *udata, struct mminfo *mi)
{
	struct rxe_rq *rq = &qp->rq;
	int err = 0;

	if (!qp->srq)
		err = rxe_ring_create(&rq->ring, qp->dev, udata, qp->cap.max_recv_wr,
				      sizeof(struct rxe_recv_wqe) +
				      qp->cap.max_recv_sge * sizeof(struct rxe_sge), mi);
	if (err || rxe_qp_is_datagram(qp))
		return err;
	err = rxe_flow_init(&rq->flow, qp->dev, &rq->task);
	rq->flow.pace = &rq->pace;
	return err;
}

/* Undoes as much of the creation as has happened; nobody can find the QP. */
static void qp_free(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_rq *rq = &qp->rq;

	skb_queue_purge(&sq->rxq);
	skb_queue_purge(&rq->rxq);
	kfree_skb(rq->iter.skb);
	rq->iter.skb = NULL;
	rxe_datagram_exit(qp);
	rxe_flow_exit(&sq->flow);
	rxe_flow_exit(&rq->flow);
	rxe_ring_destroy(&sq->ring);
	rxe_ring_destroy(&rq->ring);
	rxe_reorder_exit(&sq->held);
	rxe_reorder_exit(&rq->held);
	kvfree(sq->slots);
	kfree(rq->res);
	counts_destroy(qp);
}

static int qp_respond(struct ib_udata *udata, struct rxe_create_qp_resp *resp)
{
	if (!udata)
		return 0;
	return ib_respond_udata(udata, *resp);
}

/**
 * rxe_qp_create - the create_qp verb (11.2.4.1)
 * @ibqp: allocated by the core
 * @init: attributes; the capabilities granted are written back
 * @udata: NULL for a kernel user
 *
 * Context: process, may sleep.
 * Return: 0, -EOPNOTSUPP for a QP type not supported, -EINVAL for a limit
 * exceeded, -ENOMEM, -ENOSPC without a free QP number, -EBUSY for a second QP 1,
 * -EFAULT.
 */
int rxe_qp_create(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct rxe_dev *dev = to_rxe_dev(ibqp->device);
	struct rxe_create_qp_resp resp = {};
	struct rxe_qp *qp = to_rxe_qp(ibqp);
	int err;

	err = qp_check_init(dev, init);
	if (err)
		return err;
	if (!atomic_add_unless(&dev->num_qp, 1, RXE_MAX_QP))
		return -ENOMEM;
	qp->dev = dev;
	qp->is_user = !!udata;
	qp->owner = current->mm;
	qp->state = IB_QPS_RESET;
	qp->scq = to_rxe_cq(init->send_cq);
	qp->rcq = to_rxe_cq(init->recv_cq);
	qp->srq = init->srq ? to_rxe_srq(init->srq) : NULL;
	qp->sq.sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	err = counts_create(qp);
	if (err) {
		counts_destroy(qp);
		atomic_dec(&dev->num_qp);
		return err;
	}
	qp_init(qp);
	qp_set_caps(qp, &init->cap);
	err = sq_create(qp, udata, &resp.sq_mi);
	if (!err)
		err = rq_create(qp, udata, &resp.rq_mi);
	if (err)
		goto fail;
	qp->id = rxe_id_new(&rxe_qp_ids, qp);
	if (IS_ERR(qp->id)) {
		err = PTR_ERR(qp->id);
		goto fail;
	}
	qp->ib.qp_num = qp->id->number;
	err = qp_respond(udata, &resp);
	if (err) {
		rxe_id_free(&rxe_qp_ids, qp->id);
		goto fail;
	}
	rxe_id_publish(&rxe_qp_ids, qp->id);
	if (init->qp_type == IB_QPT_GSI) {
		qp->ib.qp_num = RXE_QPN_GSI;
		err = rxe_datagram_gsi_add(qp);
	}
	if (!err) {
		rxe_track_add(dev, RXE_TRACK_QP, &qp->track, udata);
		return 0;
	}
	rxe_id_free(&rxe_qp_ids, qp->id);
fail:
	qp_free(qp);
	atomic_dec(&dev->num_qp);
	return err;
}

/*
 * The device is taken away from a process that may be polling: tell it with what
 * it waits for.  Its rings stay mapped, so it finds the completions.  Bounded,
 * because the process may go on posting.
 */
static void qp_flush_orphan(struct rxe_qp *qp)
{
	u32 passes = max(qp->sq.mask, qp->rq.ring.mask) / RXE_WQE_BUDGET + 2;
	bool more = true;

	WRITE_ONCE(qp->state, IB_QPS_ERR);
	while (more && passes--) {
		local_bh_disable();
		more = rxe_wc_flush(qp);
		more |= rxe_recv_flush(qp);
		local_bh_enable();
	}
}

/**
 * rxe_qp_destroy - the destroy_qp verb (11.2.4.4)
 * @ibqp: the QP
 * @udata: unused
 *
 * Waits for nothing but the work that is going on this moment; packets in some
 * queue of the stack are left to themselves.
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int rxe_qp_destroy(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);

	rxe_track_del(qp->dev, &qp->track);
	rxe_qpcounter_forget(qp);
	/* no datagram finds it any more, and none is in our hands */
	if (ibqp->qp_type == IB_QPT_GSI)
		rxe_datagram_gsi_del(qp);
	rxe_mcast_forget(qp);
	rxe_id_free(&rxe_qp_ids, qp->id);
	rxe_task_stop(&qp->sq.task);
	rxe_task_stop(&qp->rq.task);
	if (qp->is_user && qp->owner != current->mm)
		qp_flush_orphan(qp);
	hrtimer_cancel(&qp->sq.timer);
	hrtimer_cancel(&qp->sq.rnr_timer);
	rxe_pace_stop(&qp->sq.pace);
	rxe_pace_stop(&qp->rq.pace);
	rxe_gather_stop(qp);
	hrtimer_cancel(&qp->rq.nak_timer);
	timer_delete_sync(&qp->rq.timer);
	rxe_fault_cancel(&qp->sq.fault);
	rxe_fault_cancel(&qp->rq.fault);
	/* no destructor of an skb calls the tasks any more */
	rxe_datagram_exit(qp);
	rxe_flow_exit(&qp->sq.flow);
	rxe_flow_exit(&qp->rq.flow);
	rxe_task_exit(&qp->sq.task);
	rxe_task_exit(&qp->rq.task);
	qp_free(qp);
	atomic_dec(&qp->dev->num_qp);
	return 0;
}

/* --- modification ----------------------------------------------------------- */

static int modify_check(struct rxe_qp *qp, const struct ib_qp_attr *attr, int mask,
			enum ib_qp_state cur, enum ib_qp_state next)
{
	if ((mask & ~(IB_QP_ATTR_STANDARD_BITS)) ||
	    !ib_modify_qp_is_ok(cur, next, qp->ib.qp_type, mask))
		return -EINVAL;
	if (mask & (IB_QP_ALT_PATH | IB_QP_CAP))
		return -EOPNOTSUPP;
	if ((mask & IB_QP_PATH_MIG_STATE) && attr->path_mig_state != IB_MIG_MIGRATED)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_PORT) && attr->port_num != RXE_PORT)
		return -EINVAL;
	if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index >= RXE_MAX_PKEY)
		return -EINVAL;
	if ((mask & IB_QP_ACCESS_FLAGS) &&
	    (attr->qp_access_flags & ~(QP_ACCESS_SUPPORTED | QP_ACCESS_IGNORED)))
		return -EINVAL;
	if ((mask & IB_QP_PATH_MTU) &&
	    (attr->path_mtu < IB_MTU_256 || attr->path_mtu > rxe_verbs_mtu(qp->dev->ndev)))
		return -EINVAL;
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > RXE_MAX_RD_ATOMIC)
		return -EINVAL;
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > RXE_MAX_RD_ATOMIC)
		return -EINVAL;
	if (((mask & IB_QP_RETRY_CNT) && attr->retry_cnt > 7) ||
	    ((mask & IB_QP_RNR_RETRY) && attr->rnr_retry > 7) ||
	    ((mask & IB_QP_TIMEOUT) && attr->timeout > 31) ||
	    ((mask & IB_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31))
		return -EINVAL;
	if ((mask & IB_QP_AV) &&
	    (!(rdma_ah_get_ah_flags(&attr->ah_attr) & IB_AH_GRH) ||
	     rdma_ah_get_port_num(&attr->ah_attr) != RXE_PORT))
		return -EINVAL;
	return 0;
}

/*
 * READs and atomics that the peer may have on their way: max_dest_rd_atomic; but in-tree
 * peers, and some cards, take the next power of two for what was agreed on.
 */
static u32 replay_count(u32 agreed)
{
	return agreed ? roundup_pow_of_two(agreed) : 0;
}

/*
 * Saved results for a new number of READs and atomics; the newest ones that fit
 * are kept, the peer may still ask for them.
 */
static struct rxe_resp_res *replay_resized(const struct rxe_rq *rq, u32 count)
{
	struct rxe_resp_res *res = kcalloc(max(count, 1U), sizeof(*res), GFP_KERNEL_ACCOUNT);
	u32 i, keep = min(count, rq->num_res);

	for (i = 0; res && i < keep; i++)
		res[keep - 1 - i] =
			rq->res[(rq->res_next + rq->num_res - 1 - i) % rq->num_res];
	return res;
}

static void replay_replace(struct rxe_rq *rq, struct rxe_resp_res *res, u32 count)
{
	rq->res_next = count ? min(count, rq->num_res) % count : 0;
	kfree(rq->res);
	rq->res = res;
	rq->num_res = count;
}

static int modify_address(struct rxe_qp *qp, const struct ib_qp_attr *attr, u32 dest)
{
	u32 lqpn = qp->ib.qp_num;
	int err;

	err = rxe_flow_set(&qp->sq.flow, &attr->ah_attr, lqpn, dest);
	if (!err)
		err = rxe_flow_set(&qp->rq.flow, &attr->ah_attr, lqpn, dest);
	return err;
}

/* Back to the state after creation; both tasks are stopped. */
static void qp_reset(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_rq *rq = &qp->rq;

	hrtimer_cancel(&sq->timer);
	hrtimer_cancel(&sq->rnr_timer);
	rxe_pace_stop(&sq->pace);
	rxe_pace_stop(&rq->pace);
	rxe_gather_stop(qp);
	hrtimer_cancel(&rq->nak_timer);
	timer_delete_sync(&rq->timer);
	rxe_fault_cancel(&sq->fault);
	rxe_fault_cancel(&rq->fault);
	skb_queue_purge(&sq->rxq);
	skb_queue_purge(&rq->rxq);
	kfree_skb(rq->iter.skb);
	rq->iter.skb = NULL;
	rxe_reorder_purge(&sq->held);
	rxe_reorder_purge(&rq->held);
	rxe_flow_reset(&sq->flow);
	rxe_flow_reset(&rq->flow);

	/* WQEs still posted are discarded without completion (10.3.1.1) */
	if (qp->is_user) {
		sq->prod += (rxe_ring_producer(&sq->ring) - sq->prod) & sq->mask;
		rxe_ring_set_consumer(&sq->ring, sq->prod & sq->mask);
	}
	sq->cons = sq->prod;
	sq->next = sq->prod;
	sq->psn = 0;
	sq->max_psn = 0;
	sq->una_psn = 0;
	sq->confirmed = 0;
	sq->again_psn = 0;
	sq->again_end = 0;
	sq->unacked = 0;
	sq->ssn = 0;
	sq->limited = false;
	sq->reads_head = 0;
	sq->reads_tail = 0;
	sq->nak = 0;
	sq->gap = false;
	sq->progress = false;
	sq->armed = false;
	sq->repair = false;
	sq->starved = false;
	sq->rnr_wait = false;
	sq->drained = false;
	sq->rtt_start = 0;
	sq->events = 0;

	if (!qp->srq) {
		rq->ring.index = rxe_ring_producer(&rq->ring);
		rxe_ring_set_consumer(&rq->ring, rq->ring.index);
	}
	kfree(rq->res);
	rq->res = NULL;
	rq->num_res = 0;
	rq->res_next = 0;
	rq->asked = 0;
	WRITE_ONCE(rq->answered, 0);
	rq->psn = 0;
	rq->msn = 0;
	rq->by_response = false;
	rq->progress = MSG_NONE;
	rq->written_back = 0;
	rq->have_wqe = false;
	rq->supply = RXE_SUPPLY_THERE;
	rq->waits = false;
	rq->read.active = false;
	rq->ack_pending = false;
	rq->nak_sent = false;
	rq->rnr_sent = false;
	rq->nak_valid = false;
	rq->nak_armed = false;
	rq->nak_due = false;
	rq->nak_fired = false;
	rq->established = false;
	rq->flush_left = 0;
	rq->last_told = false;
	memset(&qp->attr, 0, sizeof(qp->attr));
	WRITE_ONCE(qp->sq_draining, false);
}

/* Takes over what the mask names and may fail: all of it, or nothing. */
static int modify_resources(struct rxe_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	u32 dest = mask & IB_QP_DEST_QPN ? attr->dest_qp_num : qp->attr.dest_qp_num;
	struct rxe_resp_res *res = NULL;
	int err;

	if (mask & IB_QP_MAX_DEST_RD_ATOMIC) {
		res = replay_resized(&qp->rq, replay_count(attr->max_dest_rd_atomic));
		if (!res)
			return -ENOMEM;
	}
	if (mask & IB_QP_AV) {
		err = modify_address(qp, attr, dest);
		if (err) {
			kfree(res);
			return err;
		}
		qp->attr.ah_attr = attr->ah_attr;
		/* the core's reference to the source GID ends with the call */
		qp->attr.ah_attr.grh.sgid_attr = NULL;
	}
	if (res) {
		replay_replace(&qp->rq, res, replay_count(attr->max_dest_rd_atomic));
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	}
	return 0;
}

static void modify_plain(struct rxe_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct ib_qp_attr *mine = &qp->attr;
	struct rxe_sq *sq = &qp->sq;

	if (mask & IB_QP_PORT)
		mine->port_num = attr->port_num;
	if (mask & IB_QP_PKEY_INDEX)
		mine->pkey_index = attr->pkey_index;
	if (mask & IB_QP_ACCESS_FLAGS)
		mine->qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_QKEY)
		mine->qkey = attr->qkey;
	/* asked for anew with each way to SQD */
	if (mask & IB_QP_STATE)
		mine->en_sqd_async_notify = (mask & IB_QP_EN_SQD_ASYNC_NOTIFY) &&
					    attr->en_sqd_async_notify;
	if (mask & IB_QP_DEST_QPN)
		mine->dest_qp_num = attr->dest_qp_num & QPN_MASK;
	if (mask & IB_QP_PATH_MTU) {
		mine->path_mtu = attr->path_mtu;
		qp->pmtu = ib_mtu_enum_to_int(attr->path_mtu);
		window_init(&sq->window, clamp_t(u32, RXE_WINDOW_BYTES / qp->pmtu,
						 RXE_WINDOW_LEAST, RXE_WINDOW_MOST));
	}
	if (mask & IB_QP_MIN_RNR_TIMER)
		mine->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		mine->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_RQ_PSN) {
		mine->rq_psn = attr->rq_psn & PSN_MASK;
		qp->rq.psn = mine->rq_psn;
		patience_init(&qp->rq.patience);
	}
	if (mask & IB_QP_SQ_PSN) {
		mine->sq_psn = attr->sq_psn & PSN_MASK;
		sq->psn = mine->sq_psn;
		sq->max_psn = mine->sq_psn;
		sq->una_psn = mine->sq_psn;
		sq->confirmed = mine->sq_psn;
		sq->again_psn = mine->sq_psn;
		sq->again_end = mine->sq_psn;
		sq->asked_end = mine->sq_psn;
		sq->overtaken = false;
		sq->late_psn = psn_add(mine->sq_psn, PSN_MASK);
		resend_init(&sq->resend);
		patience_init(&sq->patience);
	}
	if (mask & IB_QP_TIMEOUT) {
		mine->timeout = attr->timeout;
		rto_init(&sq->rto, attr->timeout);
	}
	if (mask & IB_QP_RETRY_CNT)
		mine->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		mine->rnr_retry = attr->rnr_retry;
	if (mask & (IB_QP_RETRY_CNT | IB_QP_RNR_RETRY))
		retry_init(&sq->retry, mine->retry_cnt, mine->rnr_retry);
}

/* What was posted before the send queue is repaired is flushed; it is bounded. */
static void modify_flush(struct rxe_qp *qp)
{
	u32 passes = qp->sq.mask / RXE_WQE_BUDGET + 2;
	bool more = true;

	while (more && passes--) {
		local_bh_disable();
		more = rxe_wc_flush(qp);
		local_bh_enable();
	}
}

static void modify_state(struct rxe_qp *qp, enum ib_qp_state next)
{
	if (qp->state == IB_QPS_SQE && next == IB_QPS_RTS)
		modify_flush(qp);
	/* a completion of it found no room: the owner has been told */
	if (qp->state == IB_QPS_ERR && next == IB_QPS_RTS)
		return;
	spin_lock_bh(&qp->lock);
	set_state(qp, next);
	spin_unlock_bh(&qp->lock);
	qp->sq.drained = false;
	WRITE_ONCE(qp->sq_draining, next == IB_QPS_SQD);
}

/**
 * rxe_qp_modify - the modify_qp verb (11.2.4.2)
 * @ibqp: the QP
 * @attr: new attributes, those that @mask names
 * @mask: IB_QP_ bits
 * @udata: unused
 *
 * A call that fails changes nothing.
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL for what the state machine or a limit forbids,
 * -EOPNOTSUPP, -ENOMEM.
 */
int rxe_qp_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);
	enum ib_qp_state cur, next;
	int err;

	mutex_lock(&qp->mutex);
	rxe_task_stop(&qp->sq.task);
	rxe_task_stop(&qp->rq.task);
	cur = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	next = mask & IB_QP_STATE ? attr->qp_state : cur;
	err = cur == qp->state ? modify_check(qp, attr, mask, cur, next) : -EINVAL;
	if (!err && next != IB_QPS_RESET)
		err = modify_resources(qp, attr, mask);
	if (!err) {
		if (next == IB_QPS_RESET)
			qp_reset(qp);
		else
			modify_plain(qp, attr, mask);
		if (mask & IB_QP_STATE)
			modify_state(qp, next);
	}
	rxe_task_start(&qp->rq.task);
	rxe_task_start(&qp->sq.task);
	mutex_unlock(&qp->mutex);
	return err;
}

/**
 * rxe_qp_query - the query_qp verb (11.2.4.3)
 * @ibqp: the QP
 * @attr: filled
 * @mask: what the caller wants; all is filled
 * @init: filled
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int rxe_qp_query(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);

	mutex_lock(&qp->mutex);
	*attr = qp->attr;
	attr->qp_state = rxe_qp_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->cap = qp->cap;
	attr->sq_draining = READ_ONCE(qp->sq_draining);
	attr->rq_psn = qp->rq.psn;
	attr->sq_psn = qp->sq.psn;
	mutex_unlock(&qp->mutex);

	init->event_handler = qp->ib.event_handler;
	init->qp_context = qp->ib.qp_context;
	init->send_cq = qp->ib.send_cq;
	init->recv_cq = qp->ib.recv_cq;
	init->srq = qp->ib.srq;
	init->cap = qp->cap;
	init->sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->qp_type = qp->ib.qp_type;
	init->port_num = qp->attr.port_num;
	return 0;
}
