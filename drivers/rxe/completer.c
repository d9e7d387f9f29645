// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completer: ACKs, NAKs, READ and atomic responses -> completions.
 *
 * Everything revolves around sq.una_psn, the oldest PSN that the peer has not
 * answered for:
 *
 *   ACK(p)             all up to p is done, but a READ or atomic is done only
 *                      by its response: one on the way there was lost -> rewind
 *   response(p)        acknowledges what lies before it, then moves una to p + 1
 *   sequence NAK(p)    all before p is done; rewind to p
 *   RNR NAK(p)         all before p is done; pause, then rewind to p
 *   other NAK(p)       all before p is done; the WQE of p fails, QP to error
 *   timer              no progress for a while: rewind to una, and send one
 *                      packet only: its answer tells what has arrived
 *
 * The timer follows the measured round trip, so that a lost packet costs little.
 * The retry budget follows the timeout attribute of the QP, so that a peer is
 * given up when the attributes say so and not earlier.
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include "rxe.h"

/* When nothing is on its way but something is to be sent, look again after this */
#define IDLE_RETRY_JIFFIES	max_t(unsigned long, HZ / 100, 1)

#define TIME_SLICE_NSEC		((u64)20 * NSEC_PER_MSEC)

static bool wqe_has_response(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_UVERBS_WR_RDMA_READ ||
	       wqe->opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD;
}

static u8 wqe_wc_opcode(const struct rxe_swqe *wqe)
{
	switch (wqe->opcode) {
	case IB_UVERBS_WR_RDMA_WRITE:
	case IB_UVERBS_WR_RDMA_WRITE_WITH_IMM:
		return IB_UVERBS_WC_RDMA_WRITE;
	case IB_UVERBS_WR_RDMA_READ:
		return IB_UVERBS_WC_RDMA_READ;
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
		return IB_UVERBS_WC_COMP_SWAP;
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
		return IB_UVERBS_WC_FETCH_ADD;
	default:
		return IB_UVERBS_WC_SEND;
	}
}

/* --- completing ------------------------------------------------------------- */

/*
 * The oldest WQE is done.  Its slot is given back before the completion is
 * visible: who sees the completion may post at once.
 */
static void complete_oldest(struct rxe_qp *qp, u8 status)
{
	struct rxe_sq *sq = &qp->sq;
	const struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->cons);
	bool wanted = status != IB_WC_SUCCESS || sq->sig_all ||
		      (wqe->flags & IB_SEND_SIGNALED);
	struct rxe_wc wc = {
		.wr_id = wqe->wr_id,
		.status = status,
		.opcode = wqe_wc_opcode(wqe),
		.byte_len = wqe->length,
	};

	if ((s32)(sq->next - sq->cons) <= 0)
		sq->next = sq->cons + 1;
	/* a kernel user's post fills the slot as soon as it sees this */
	smp_store_release(&sq->cons, sq->cons + 1);
	if (qp->is_user)
		rxe_ring_set_consumer(&sq->ring, sq->cons & sq->mask);
	if (wanted && !rxe_cq_post(qp->scq, qp, &wc)) {
		rxe_qp_info(qp, "send completion lost, the CQ is full\n");
		rxe_qp_error(qp);
	}
}

/**
 * rxe_completer_fail - the oldest WQE has failed; the QP goes to error
 * @qp: the QP
 * @status: enum ib_wc_status
 *
 * Context: sq.task.
 */
void rxe_completer_fail(struct rxe_qp *qp, u8 status)
{
	struct rxe_sq *sq = &qp->sq;

	rxe_qp_info(qp, "%s, opcode %u, PSN %#x, peer qp %#x\n",
		    ib_wc_status_msg(status), rxe_sq_slot(sq, sq->cons)->opcode,
		    sq->una_psn, qp->attr.dest_qp_num);
	complete_oldest(qp, status);
	rxe_qp_error(qp);
}

/**
 * rxe_completer_flush - complete what there is with a flush error, at most a budget
 * @qp: QP in the error state
 *
 * Context: sq.task.
 * Return: true if the budget ended it.
 */
bool rxe_completer_flush(struct rxe_qp *qp)
{
	bool more = rxe_requester_pull(qp);
	struct rxe_sq *sq = &qp->sq;
	u32 budget = RXE_WQE_BUDGET;

	/* pairs with the release in post_kernel(): the slot is complete */
	while (sq->cons != smp_load_acquire(&sq->prod)) {
		if (!budget--)
			return true;
		complete_oldest(qp, IB_WC_WR_FLUSH_ERR);
	}
	return more;
}

/* --- progress --------------------------------------------------------------- */

static void sq_progress(struct rxe_qp *qp, u32 psn)
{
	struct rxe_sq *sq = &qp->sq;

	window_acked(&sq->window, psn_diff(psn, sq->una_psn));
	sq->una_psn = psn;
	while (sq->reads_head != sq->reads_tail &&
	       psn_after(psn, sq->reads[sq->reads_head % RXE_MAX_RD_ATOMIC].last_psn))
		sq->reads_head++;
	sq->progress_at = jiffies;
	sq->rewound = false;
	sq->probing = false;
	retry_progress(&sq->retry);
	rto_progress(&sq->rto);
	if (sq->rtt_start && psn_after(psn, sq->rtt_psn)) {
		rto_sample(&sq->rto, ktime_get_ns() - sq->rtt_start);
		sq->rtt_start = 0;
	}
}

/* What has been acknowledged need not be sent again. */
static void sq_skip_acknowledged(struct rxe_sq *sq)
{
	if (psn_before(sq->psn, sq->una_psn)) {
		sq->psn = sq->una_psn;
		sq->next = sq->cons;
	}
}

/*
 * The peer has executed everything before @psn.  Stops at a READ or atomic that
 * still waits for its response: then una_psn stays behind @psn.
 */
static void ack_before(struct rxe_qp *qp, u32 psn)
{
	struct rxe_sq *sq = &qp->sq;

	while (sq->cons != sq->prod && psn_before(sq->una_psn, psn)) {
		const struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->cons);

		if (!wqe->sent || wqe_has_response(wqe))
			break;
		if (!psn_before(wqe->last_psn, psn)) {
			sq_progress(qp, psn);
			break;
		}
		sq_progress(qp, psn_add(wqe->last_psn, 1));
		complete_oldest(qp, IB_WC_SUCCESS);
	}
	sq_skip_acknowledged(sq);
}

/* Something is missing from una_psn on: send it again, once for each loss. */
static void go_back(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	if (sq->rewound && sq->rewound_psn == sq->una_psn)
		return;
	if (!retry_take(&sq->retry)) {
		rxe_count(qp->dev, RXE_CNT_RETRY_EXCEEDED);
		rxe_completer_fail(qp, IB_WC_RETRY_EXC_ERR);
		return;
	}
	sq->rewound = true;
	sq->rewound_psn = sq->una_psn;
	window_loss(&sq->window);
	rxe_requester_rewind(qp, sq->una_psn);
}

/* --- timers ----------------------------------------------------------------- */

/*
 * Rounded up, the current jiffy has already begun.  A peer that is busy may be
 * late by a time slice, which is no reason to send again, unless the QP's own
 * timeout is shorter than that.
 */
static unsigned long rto_jiffies(const struct rxe_sq *sq)
{
	u64 slice = min(sq->rto.base_ns, TIME_SLICE_NSEC);

	return nsecs_to_jiffies(max(rto_get(&sq->rto), slice)) + 1;
}

/**
 * rxe_completer_arm - have the timer run while there is something to wait for
 * @qp: the QP
 *
 * The timer is not moved on each ACK; when it fires it looks when the last
 * progress was.
 *
 * Context: sq.task.
 */
void rxe_completer_arm(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	unsigned long at;

	if (sq->cons == sq->prod || timer_pending(&sq->timer) || sq->rnr_wait || sq->drained)
		return;
	if (sq->una_psn == sq->psn || sq->starved) {
		mod_timer(&sq->timer, jiffies + IDLE_RETRY_JIFFIES);
	} else if (rto_get(&sq->rto)) {
		at = sq->progress_at + rto_jiffies(sq);
		mod_timer(&sq->timer, time_after(at, jiffies) ? at : jiffies + 1);
	}
}

/**
 * rxe_completer_timeout - the retransmission timer has fired
 * @t: sq.timer of a QP
 *
 * Context: softirq.
 */
void rxe_completer_timeout(struct timer_list *t)
{
	struct rxe_qp *qp = timer_container_of(qp, t, sq.timer);

	set_bit(RXE_SQ_EV_TIMEOUT, &qp->sq.events);
	rxe_task_run(&qp->sq.task);
}

/**
 * rxe_completer_rnr_timeout - the pause that the peer asked for is over
 * @t: sq.rnr_timer of a QP
 *
 * Context: hard interrupt or softirq.
 * Return: HRTIMER_NORESTART.
 */
enum hrtimer_restart rxe_completer_rnr_timeout(struct hrtimer *t)
{
	struct rxe_qp *qp = container_of(t, struct rxe_qp, sq.rnr_timer);

	set_bit(RXE_SQ_EV_RNR, &qp->sq.events);
	rxe_task_kick(&qp->sq.task);
	return HRTIMER_NORESTART;
}

static void timeout_event(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	if (sq->una_psn == sq->psn || sq->rnr_wait || !rto_get(&sq->rto))
		return;
	if (time_before(jiffies, sq->progress_at + rto_jiffies(sq)))
		return;
	rxe_count(qp->dev, RXE_CNT_TIMEOUTS);
	/* a retry is used up with each full timeout interval of the QP */
	if (rto_backoff(&sq->rto) && !retry_take(&sq->retry)) {
		rxe_count(qp->dev, RXE_CNT_RETRY_EXCEEDED);
		rxe_completer_fail(qp, IB_WC_RETRY_EXC_ERR);
		return;
	}
	sq->progress_at = jiffies;
	sq->probing = true;
	sq->rewound = true;
	sq->rewound_psn = sq->una_psn;
	rxe_requester_rewind(qp, sq->una_psn);
}

/**
 * rxe_completer_events - act on timers that have fired
 * @qp: QP in a state that sends
 *
 * Context: sq.task.
 */
void rxe_completer_events(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	if (!READ_ONCE(sq->events))
		return;
	if (test_and_clear_bit(RXE_SQ_EV_RNR, &sq->events) && sq->rnr_wait) {
		sq->rnr_wait = false;
		sq->progress_at = jiffies;
	}
	if (test_and_clear_bit(RXE_SQ_EV_TIMEOUT, &sq->events))
		timeout_event(qp);
}

/* --- packets ---------------------------------------------------------------- */

static void rnr_nak(struct rxe_qp *qp, u8 syndrome)
{
	struct rxe_sq *sq = &qp->sq;
	u32 usec = rnr_timer_usec(syndrome & AETH_VALUE_MASK);

	rxe_count(qp->dev, RXE_CNT_RNR_RECEIVED);
	if (sq->rnr_wait)
		return;		/* of the same pause */
	if (!retry_take_rnr(&sq->retry)) {
		rxe_count(qp->dev, RXE_CNT_RNR_EXCEEDED);
		rxe_completer_fail(qp, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	rxe_requester_rewind(qp, sq->una_psn);
	sq->rewound = false;	/* what is lost from here on is a new loss */
	sq->rnr_wait = true;
	/* at least as long as asked for, and not a tick longer than need be */
	hrtimer_start(&sq->rnr_timer, ns_to_ktime((u64)usec * NSEC_PER_USEC), HRTIMER_MODE_REL);
}

static void receive_ack(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_sq *sq = &qp->sq;
	u8 syndrome = aeth_syndrome(pkt->hdr + pkt->op->aeth);

	switch (aeth_kind(syndrome)) {
	case AETH_KIND_ACK:
		ack_before(qp, psn_add(pkt->psn, 1));
		if (!psn_after(sq->una_psn, pkt->psn))
			go_back(qp);	/* a response was lost */
		break;
	case AETH_KIND_RNR:
		ack_before(qp, pkt->psn);
		if (sq->una_psn == pkt->psn)
			rnr_nak(qp, syndrome);
		else
			go_back(qp);
		break;
	case AETH_KIND_NAK:
		rxe_count(qp->dev, RXE_CNT_NAK_RECEIVED);
		if (syndrome == NAK_PSN_SEQ)
			rxe_count(qp->dev, RXE_CNT_SEQ_NAK_RECEIVED);
		ack_before(qp, pkt->psn);
		if (syndrome == NAK_PSN_SEQ || sq->una_psn != pkt->psn)
			go_back(qp);
		else
			rxe_completer_fail(qp, nak_wc_status(syndrome));
		break;
	default:
		rxe_count(qp->dev, RXE_CNT_RX_MALFORMED);
	}
}

/* The oldest WQE, if it waits for just this response. */
static struct rxe_swqe *response_wqe(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe;
	bool read;

	ack_before(qp, pkt->psn);
	if (sq->una_psn != pkt->psn) {
		go_back(qp);	/* one before it was lost */
		return NULL;
	}
	wqe = rxe_sq_slot(sq, sq->cons);
	read = wqe->opcode == IB_UVERBS_WR_RDMA_READ;
	if (sq->cons == sq->prod || !wqe->sent || !wqe_has_response(wqe) ||
	    read != !!(pkt->op->flags & OPF_READ)) {
		rxe_count(qp->dev, RXE_CNT_RX_MALFORMED);
		return NULL;	/* nobody asked */
	}
	return wqe;
}

static void receive_read(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe = response_wqe(qp, pkt);
	u64 offset;
	u32 len;

	if (!wqe)
		return;
	offset = psn_offset(wqe->first_psn, pkt->psn, qp->pmtu);
	len = min_t(u64, wqe->length - offset, qp->pmtu);
	if (pkt->payload_len != len) {
		rxe_completer_fail(qp, IB_WC_BAD_RESP_ERR);
		return;
	}
	if (len && rxe_mem_write_sges(qp->ib.pd, wqe->sge, wqe->num_sge, offset,
				      pkt->skb, pkt->payload_off, len)) {
		rxe_completer_fail(qp, IB_WC_LOC_PROT_ERR);
		return;
	}
	sq_progress(qp, psn_add(pkt->psn, 1));
	if (pkt->psn == wqe->last_psn)
		complete_oldest(qp, IB_WC_SUCCESS);
	sq_skip_acknowledged(sq);
}

static void receive_atomic(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe = response_wqe(qp, pkt);
	u64 orig;

	if (!wqe)
		return;
	orig = atmack_orig(pkt->hdr + pkt->op->atmack);
	if (rxe_mem_write_sges_buf(qp->ib.pd, wqe->sge, wqe->num_sge, 0, &orig, sizeof(orig))) {
		rxe_completer_fail(qp, IB_WC_LOC_PROT_ERR);
		return;
	}
	sq_progress(qp, psn_add(pkt->psn, 1));
	complete_oldest(qp, IB_WC_SUCCESS);
	sq_skip_acknowledged(sq);
}

static void receive_one(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_sq *sq = &qp->sq;
	bool probing = sq->probing;

	switch (ack_classify(sq->una_psn, sq->max_psn, pkt->psn)) {
	case ACK_VALID:
		break;
	case ACK_BEYOND:
		rxe_count(qp->dev, RXE_CNT_RX_MALFORMED);
		return;
	default:
		return;		/* we know already */
	}
	if (pkt->op->flags & OPF_READ)
		receive_read(qp, pkt);
	else if (pkt->op->flags & OPF_ATMACK)
		receive_atomic(qp, pkt);
	else
		receive_ack(qp, pkt);
	/* the answer to a probe: all was there and only late, or there is a hole */
	if (probing && !sq->probing && psn_before(sq->una_psn, sq->max_psn))
		window_loss(&sq->window);
}

/**
 * rxe_completer_receive - work off received responses, at most a budget
 * @qp: QP in a state that sends
 *
 * Context: sq.task.
 * Return: true if the budget ended it.
 */
bool rxe_completer_receive(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	u32 budget = RXE_TASK_BUDGET;
	struct rxe_rx_iter it;
	struct rxe_rxpkt pkt;
	struct sk_buff *skb;

	while (budget && (skb = rxe_rx_dequeue(qp->dev, &sq->rxq))) {
		rxe_rx_iter_init(&it, skb);
		while (rxe_rx_next(&it, &pkt)) {
			if (rxe_qp_state(qp) == IB_QPS_ERR)
				break;
			receive_one(qp, &pkt);
		}
		consume_skb(skb);
		budget--;
	}
	return !budget;
}
