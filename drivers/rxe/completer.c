// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completer: ACKs, NAKs, READ and atomic responses -> completions.
 *
 * Everything revolves around sq.una_psn, the oldest PSN that the peer has not
 * answered for:
 *
 *   ACK(p)             all up to p is done, but a READ or atomic is done only
 *                      by its response: one on the way there is late or lost
 *   response(p)        acknowledges what lies before it, then moves una to p + 1;
 *                      kept, if one before it is late or lost
 *   sequence NAK(p)    all before p is done; p is sent again
 *   RNR NAK(p)         all before p is done; pause, then rewind to p
 *   other NAK(p)       all before p is done; the WQE of p fails, QP to error
 *                      (either one waits until a response before p is here)
 *   timer              no progress for a while: send the packet of una again, if it
 *                      has left this host: its answer tells what has arrived
 *
 * What is sent again after a loss, and whether what follows is, too, is decided
 * in proto/loss.c.
 *
 * The timer follows the measured round trip, so that a lost packet costs little.
 * The retry budget follows the timeout attribute of the QP, so that a peer is
 * given up when the attributes say so and not earlier.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>

#include "rxe.h"
#include "trace.h"

/* When nothing is on its way but something is to be sent, look again after this */
#define IDLE_RETRY_NSEC		((u64)10 * NSEC_PER_MSEC)
/* What has not left is looked for ever later, up to this */
#define QUEUED_WAIT_NSEC	((u64)16 * NSEC_PER_MSEC)

/* Bytes that its responses bring */
static u32 wqe_response_length(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_UVERBS_WR_RDMA_READ ? wqe->length : 0;
}

/* --- progress --------------------------------------------------------------- */

/*
 * The end of the request that @psn, which has been sent, belongs to: of the
 * chunk of a READ.
 */
static u32 request_end(const struct rxe_sq *sq, u32 psn)
{
	u32 i;

	for (i = sq->reads_head; i != sq->reads_tail; i++) {
		const struct rxe_sq_read *read = &sq->reads[i % RXE_MAX_RD_ATOMIC];

		if (!psn_after(read->first_psn, psn) && !psn_before(read->last_psn, psn))
			return psn_add(read->last_psn, 1);
	}
	return psn_add(psn, 1);
}

/* Something is to be sent again, from @psn on. */
static void resend_count(struct rxe_qp *qp, enum rxe_counter cause, u32 psn)
{
	trace_rxe_resend(qp, cause, psn);
	rxe_sq_count(qp, cause, 1);
}

/*
 * What was sent again is lost as well as any other packet, and others wait for it: so the
 * timer fires earlier, once, at the price of one packet.
 */
static void sq_repair_awaited(struct rxe_sq *sq)
{
	u64 wait = rto_get_repair(&sq->rto);

	/* there is no timer, or it looks for another hole */
	if (!wait || sq->gap)
		return;
	sq->progress = false;
	sq->repair = true;
	sq->armed = true;
	/* what it fired for before does not count any more */
	clear_bit(RXE_SQ_EV_TIMEOUT, &sq->events);
	hrtimer_start(&sq->timer, ns_to_ktime(wait), HRTIMER_MODE_REL);
}

/*
 * @psn is about to be sent again because it is missing, or its response: the answer should
 * be for this one. Where packets are lost all the time there are hardly any others to
 * measure.
 */
static void sq_repair(struct rxe_sq *sq, u32 psn)
{
	sq->rtt_psn = psn;
	sq->rtt_start = ktime_get_ns();
	sq->rtt_again = true;
	sq_repair_awaited(sq);
}

/* All before @psn has been answered: the end of a round trip, if one is being timed. */
static void sq_time_end(struct rxe_sq *sq, u32 psn)
{
	u64 rtt;

	if (!sq->rtt_start || !psn_after(psn, sq->rtt_psn))
		return;
	rtt = ktime_get_ns() - sq->rtt_start;
	sq->rtt_start = 0;
	if (sq->rtt_again) {
		rto_sample_again(&sq->rto, rtt);
		return;
	}
	rto_sample(&sq->rto, rtt);
	window_measured(&sq->window, psn_diff(psn, sq->rtt_una), rtt);
}

static void send_again(struct rxe_qp *qp, enum resend_what what)
{
	struct rxe_sq *sq = &qp->sq;
	u32 end = sq->resend.end;

	switch (what) {
	case RESEND_NOTHING:
		break;
	case RESEND_RANGE:
		if (!sq->resend.timeout)
			window_lost(&sq->window, psn_diff(end, sq->resend.psn));
		WRITE_ONCE(sq->hurry, true);
		rxe_requester_again(qp, sq->resend.psn, end);
		if (!sq->resend.timeout)
			sq_repair(sq, sq->resend.psn);
		/* a READ is answered by as many packets as it asks for */
		sq->resend.end = request_end(sq, psn_add(end, PSN_MASK));
		break;
	case RESEND_ALL:
		window_collapse(&sq->window);
		rxe_requester_rewind(qp, sq->confirmed);
		break;
	}
}

/* The peer has executed all before @psn; @all: and nothing behind it. */
static void sq_confirmed(struct rxe_qp *qp, u32 psn, bool all)
{
	struct rxe_sq *sq = &qp->sq;

	if (!psn_after(psn, sq->confirmed))
		return;
	/* of a response that is asked for once more only its arrival is the end */
	if (!psn_before(sq->rtt_psn, sq->confirmed))
		sq_time_end(sq, psn);
	sq->confirmed = psn;
	/* the peer gets on, even while the response for una_psn is late */
	retry_progress(&sq->retry);
	/* without a timer nobody would notice that the next answer does not come */
	send_again(qp, resend_confirmed(&sq->resend, psn, sq->psn, all || !sq->rto.base_ns));
}

static void sq_progress(struct rxe_qp *qp, u32 psn)
{
	struct rxe_sq *sq = &qp->sq;

	sq_time_end(sq, psn);
	window_acked(&sq->window, psn_diff(psn, sq->una_psn));
	rxe_reorder_advance(&sq->held, sq->una_psn, psn);
	sq->una_psn = psn;
	retry_progress(&sq->retry);
	sq_confirmed(qp, psn, false);
	while (sq->reads_head != sq->reads_tail &&
	       psn_after(psn, sq->reads[sq->reads_head % RXE_MAX_RD_ATOMIC].last_psn))
		sq->reads_head++;
	sq->progress = true;
	sq->gap = false;
	if (psn_before(sq->asked_end, psn))
		sq->asked_end = psn;
	sq->overtaken = false;
	rto_progress(&sq->rto);
}

/* What has been acknowledged need not be sent again. */
static void sq_skip_acknowledged(struct rxe_sq *sq)
{
	if (psn_before(sq->psn, sq->una_psn)) {
		sq->psn = sq->una_psn;
		sq->next = sq->cons;
	}
}

/**
 * rxe_completer_local - complete what needed no packet, if it is the oldest
 * @qp: the QP
 *
 * Its last PSN is the one before its first, so it never waits for an answer.
 *
 * Context: sq.task.
 */
void rxe_completer_local(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	/* pairs with the release in post_kernel(): a slot just seen is a new one, not yet sent */
	while (sq->cons != smp_load_acquire(&sq->prod)) {
		const struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->cons);

		if (!wqe->sent || !psn_before(wqe->last_psn, wqe->first_psn))
			break;
		rxe_wc_complete(qp, IB_WC_SUCCESS);
	}
}

/*
 * The peer has executed everything before @psn; @all: and nothing behind it.  Stops at a
 * READ or atomic that still waits for its response: then una_psn stays behind @psn.
 */
static void ack_before(struct rxe_qp *qp, u32 psn, bool all)
{
	struct rxe_sq *sq = &qp->sq;
	u32 done = sq->una_psn;

	sq_confirmed(qp, psn, all);
	while (sq->cons != sq->prod && psn_before(done, psn)) {
		const struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->cons);

		if (!wqe->sent || rxe_swqe_has_response(wqe))
			break;
		if (!psn_before(wqe->last_psn, psn)) {
			done = psn;
			break;
		}
		done = psn_add(wqe->last_psn, 1);
		rxe_wc_add(qp, IB_WC_SUCCESS);
	}
	if (done != sq->una_psn) {
		sq_progress(qp, done);
		rxe_wc_show(qp);
	}
	rxe_completer_local(qp);
	sq_skip_acknowledged(sq);
}

/**
 * rxe_completer_sent - without acknowledgments, what has been sent is done (9.8.2)
 * @qp: UC
 *
 * Context: sq.task.
 */
void rxe_completer_sent(struct rxe_qp *qp)
{
	ack_before(qp, qp->sq.psn, true);
}

/* A retry is used up; false: there was none left, and the QP is in error. */
static bool sq_retry(struct rxe_qp *qp)
{
	if (retry_take(&qp->sq.retry))
		return true;
	rxe_sq_count(qp, RXE_CNT_RETRY_EXCEEDED, 1);
	rxe_wc_fail(qp, IB_WC_RETRY_EXC_ERR);
	return false;
}

/* The peer misses @psn: all before it is confirmed. */
static void sequence_nak(struct rxe_qp *qp, u32 psn)
{
	struct rxe_sq *sq = &qp->sq;
	enum resend_what what;

	if (psn_before(psn, sq->confirmed))
		return;		/* overtaken: the peer has it by now */
	if (resend_coming(&sq->resend, psn)) {
		/* without a timer nobody would notice that it does not come, though others do */
		if (sq->rto.base_ns) {
			sq_repair_awaited(sq);
		} else {
			resend_count(qp, RXE_CNT_RESEND_NAK, psn);
			rxe_requester_again(qp, psn, psn_add(psn, 1));
		}
	}
	what = resend_nak(&sq->resend, psn, sq->psn);
	if (what == RESEND_NOTHING || !sq_retry(qp))
		return;
	resend_count(qp, RXE_CNT_RESEND_NAK, psn);
	send_again(qp, what);
}

/* Whether the response for una_psn is missing though later answers are here. */
static bool response_missing(struct rxe_sq *sq)
{
	const struct rxe_swqe *wqe;

	if (sq->cons == sq->prod || (!sq->held.count && sq->confirmed == sq->una_psn))
		return false;
	wqe = rxe_sq_slot(sq, sq->cons);
	return wqe->sent && rxe_swqe_has_response(wqe) && psn_before(sq->una_psn, sq->psn);
}

/* Responses that are missing before @end. */
static u32 responses_missing(const struct rxe_sq *sq, u32 end)
{
	u32 i, count = 0;

	for (i = sq->reads_head; i != sq->reads_tail; i++) {
		const struct rxe_sq_read *read = &sq->reads[i % RXE_MAX_RD_ATOMIC];
		u32 at = read->first_psn, to = psn_add(read->last_psn, 1);

		if (psn_before(at, sq->una_psn))
			at = sq->una_psn;
		if (psn_after(to, end))
			to = end;
		while (at = rxe_reorder_absent(&sq->held, at, to), psn_before(at, to)) {
			at = psn_add(at, 1);
			count++;
		}
	}
	return count;
}

static bool response_asked_for(const struct rxe_sq *sq)
{
	return psn_before(sq->una_psn, sq->asked_end);
}

/*
 * It has been missing for too long: ask again, for as much as is missing, and for all else
 * that has been overtaken as long; the peer is asked for as little as can be (send_again()).
 */
static void response_lost(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	u32 una = sq->una_psn;
	u32 most = psn_diff(request_end(sq, una), una);
	u32 end = psn_add(una, rxe_reorder_gap(&sq->held, una, most));
	u32 overtaken = rxe_reorder_overtaken(&sq->held, una, sq->patience.later);

	if (response_asked_for(sq) || !response_missing(sq) || !sq_retry(qp))
		return;
	if (psn_after(overtaken, end))
		end = overtaken;
	patience_lost(&sq->patience);
	window_lost(&sq->window, responses_missing(sq, end));
	resend_count(qp, RXE_CNT_RESEND_RESPONSE, una);
	sq->asked_end = end;
	sq->overtaken = false;
	sq->late_psn = una;
	rxe_requester_again(qp, una, end);
	sq_repair(sq, una);
}

/*
 * @psn has been asked for again together with the response for una_psn, and is here before it:
 * what was asked for in front of it has been lost once more. This is found out once, and is
 * a part of the retry that it began with.
 */
static void repair_overtaken(struct rxe_qp *qp, u32 psn)
{
	struct rxe_sq *sq = &qp->sq;

	if (sq->overtaken || !psn_before(psn, sq->asked_end))
		return;
	resend_count(qp, RXE_CNT_RESEND_RESPONSE, sq->una_psn);
	sq->overtaken = true;
	rxe_requester_again(qp, sq->una_psn, psn);
	sq_repair(sq, sq->una_psn);
}

/* After answers have been worked off: is one missing, and lost or late? */
static void look_for_gap(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	if (likely(!sq->held.count && sq->confirmed == sq->una_psn))
		return;
	if (sq->gap || response_asked_for(sq) || sq->rnr_wait || sq->fault.paging ||
	    !response_missing(sq))
		return;
	if (patience_over(&sq->patience, sq->held.later)) {
		response_lost(qp);
		return;
	}
	/* earlier than it would fire otherwise; it is armed anew afterwards */
	sq->gap = true;
	sq->armed = true;
	/* what it fired for before is not that */
	clear_bit(RXE_SQ_EV_TIMEOUT, &sq->events);
	hrtimer_start(&sq->timer, ns_to_ktime(sq->patience.nsec), HRTIMER_MODE_REL);
}

/* --- timers ----------------------------------------------------------------- */

/*
 * How long to wait for an answer now; 0: for ever. A peer that has refused a request is
 * in error: it may never answer those before it.
 */
static u64 sq_wait(const struct rxe_sq *sq)
{
	u64 wait = rto_get(&sq->rto);

	if (!wait && unlikely(sq->nak) && aeth_kind(sq->nak) == AETH_KIND_NAK)
		wait = RTO_INITIAL_NSEC;
	return wait;
}

/*
 * Whether nothing is on its way, as after a rewind, because the local queue takes nothing:
 * to the peer and the retries this is no other than packets that are lost.
 */
static bool sq_shut(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	return sq->una_psn == sq->psn && sq->cons != sq->prod &&
	       rxe_sq_slot(sq, sq->cons)->sent && rxe_flow_full(&sq->flow);
}

/**
 * rxe_completer_arm - have the timer run while there is something to wait for
 * @qp: the QP
 *
 * The timer is not moved by progress; when it fires after progress it is armed
 * once more, so it expires after one to two timeouts without any.
 *
 * Context: sq.task.
 */
void rxe_completer_arm(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	u64 wait = IDLE_RETRY_NSEC;

	if (sq->armed || sq->cons == sq->prod || sq->rnr_wait || sq->drained)
		return;
	if (!sq->starved && (sq->una_psn != sq->psn || (sq_wait(sq) && sq_shut(qp)))) {
		wait = sq_wait(sq);
		if (!wait)
			return;
	}
	sq->armed = true;
	sq->charged = rxe_flow_charged(&sq->flow);
	hrtimer_start(&sq->timer, ns_to_ktime(wait), HRTIMER_MODE_REL);
}

/**
 * rxe_completer_timeout - the retransmission timer has fired
 * @t: sq.timer of a QP
 *
 * Context: hard interrupt or softirq.
 * Return: HRTIMER_NORESTART.
 */
enum hrtimer_restart rxe_completer_timeout(struct hrtimer *t)
{
	struct rxe_qp *qp = container_of(t, struct rxe_qp, sq.timer);

	set_bit(RXE_SQ_EV_TIMEOUT, &qp->sq.events);
	rxe_task_kick(&qp->sq.task);
	return HRTIMER_NORESTART;
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
	u32 una = sq->una_psn;
	bool gap = sq->gap;
	bool whole;

	sq->armed = false;
	sq->gap = false;
	if (sq->rnr_wait || sq->fault.paging || (una == sq->psn && !sq_shut(qp)))
		return;
	/* also if starved: without a timeout of the QP nobody would ask for it again */
	if (gap) {
		response_lost(qp);
		return;
	}
	if (sq->starved || !sq_wait(sq))
		return;
	if (sq->progress) {
		sq->progress = false;
		sq->repair = false;
		return;
	}
	/* a retry is used up with each full timeout interval of the QP */
	whole = !sq->repair && rto_waited(&sq->rto);
	if (!whole && rxe_flow_queued(&sq->flow, sq->charged)) {
		/* what is not answered has not left; and one more would wait there as long */
		sq->repair = false;
		if (rto_get(&sq->rto) < QUEUED_WAIT_NSEC)
			rto_backoff(&sq->rto);
		return;
	}
	rxe_sq_count(qp, RXE_CNT_TIMEOUTS, 1);
	if (whole && !sq_retry(qp))
		return;
	if (!sq->repair)
		rto_backoff(&sq->rto);
	if (una == sq->psn) {
		/* it goes out as soon as it can */
		sq->repair = false;
		return;
	}
	resend_count(qp, RXE_CNT_RESEND_TIMEOUT, una);
	if (sq->repair) {
		u64 start = sq->rtt_start;

		/* what is known of the hole holds, and its time goes on */
		sq->repair = false;
		/* the peer may be further than its responses are */
		if (sq->resend.active && psn_after(sq->confirmed, una))
			una = sq->confirmed;
		rxe_requester_again(qp, una, psn_add(una, 1));
		resend_repaired(&sq->resend);
		sq->rtt_start = start;
	} else if (response_missing(sq)) {
		/* what was asked for together with it may be lost as well */
		if (response_asked_for(sq))
			sq->asked_end = psn_add(una, 1);
		rxe_requester_again(qp, una, psn_add(una, 1));
	} else {
		send_again(qp, resend_timeout(&sq->resend, una, psn_add(una, 1), sq->psn));
	}
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
		sq->progress = true;
	}
	if (test_and_clear_bit(RXE_SQ_EV_TIMEOUT, &sq->events))
		timeout_event(qp);
}

/* --- packets ---------------------------------------------------------------- */

static void rnr_nak(struct rxe_qp *qp, u8 syndrome)
{
	struct rxe_sq *sq = &qp->sq;
	u32 usec = rnr_timer_usec(syndrome & AETH_VALUE_MASK);

	if (sq->rnr_wait)
		return;		/* of the same pause */
	/* losses in between must not add up as long as the peer is not ready */
	retry_answered(&sq->retry);
	rto_progress(&sq->rto);
	if (!retry_take_rnr(&sq->retry)) {
		rxe_sq_count(qp, RXE_CNT_RNR_EXCEEDED, 1);
		rxe_wc_fail(qp, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	resend_count(qp, RXE_CNT_RESEND_RNR, sq->una_psn);
	window_hold(&sq->window);
	rxe_requester_rewind(qp, sq->una_psn);
	/* what is lost from here on is a new loss */
	sq->resend.active = false;
	sq->resend.waiting = false;
	sq->rnr_wait = true;
	/* at least as long as asked for, and not a tick longer than need be */
	hrtimer_start(&sq->rnr_timer, ns_to_ktime((u64)usec * NSEC_PER_USEC), HRTIMER_MODE_REL);
}

static void nak_count(struct rxe_qp *qp, u8 syndrome)
{
	rxe_sq_count(qp, RXE_CNT_NAK_RECEIVED, 1);
	switch (syndrome) {
	case NAK_PSN_SEQ:
		rxe_sq_count(qp, RXE_CNT_SEQ_NAK_RECEIVED, 1);
		break;
	case NAK_INVALID_REQ:
		rxe_sq_count(qp, RXE_CNT_REQUEST_NAK_RECEIVED, 1);
		break;
	case NAK_REM_ACCESS:
		rxe_sq_count(qp, RXE_CNT_ACCESS_NAK_RECEIVED, 1);
		break;
	case NAK_REM_OP:
		rxe_sq_count(qp, RXE_CNT_OPERATION_NAK_RECEIVED, 1);
		break;
	}
}

/* How many messages that need a receive the peer has one for (9.7.7.2.4) */
static void receive_credits(struct rxe_sq *sq, const u8 *aeth)
{
	u8 syndrome = aeth_syndrome(aeth);
	u32 count = credit_count(syndrome);

	if (aeth_kind(syndrome) != AETH_KIND_ACK)
		return;
	sq->limited = count != CREDIT_UNLIMITED;
	if (unlikely(sq->limited))
		sq->lsn = psn_add(aeth_msn(aeth), count);
}

/* A NAK for what una_psn is now: an RNR NAK, or a fatal one. */
static void act_on_nak(struct rxe_qp *qp, u8 syndrome)
{
	if (aeth_kind(syndrome) == AETH_KIND_RNR)
		rnr_nak(qp, syndrome);
	else
		rxe_wc_fail(qp, nak_wc_status(syndrome));
}

/*
 * All before @psn has been executed, but responses may be missing: then the NAK is kept
 * until they are here. The peer need not say it again: after an RNR NAK it waits for the
 * request to come again, after another one it is in error.
 */
static void receive_nak(struct rxe_qp *qp, u32 psn, u8 syndrome)
{
	struct rxe_sq *sq = &qp->sq;

	if (sq->una_psn == psn) {
		act_on_nak(qp, syndrome);
		return;
	}
	/* overtaken, or nothing beside one that ends the connection */
	if (aeth_kind(syndrome) == AETH_KIND_RNR && psn_before(psn, sq->confirmed))
		return;
	if (sq->nak && aeth_kind(sq->nak) != AETH_KIND_RNR)
		return;
	sq->nak = syndrome;
	sq->nak_psn = psn;
}

/* Has the time of a NAK that was kept come, or has it passed? */
static void receive_kept_nak(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	u8 syndrome = sq->nak;

	if (psn_before(sq->una_psn, sq->nak_psn))
		return;
	sq->nak = 0;
	/* not if the request came again meanwhile, and was executed */
	if (sq->una_psn == sq->nak_psn &&
	    (aeth_kind(syndrome) != AETH_KIND_RNR || sq->confirmed == sq->nak_psn))
		act_on_nak(qp, syndrome);
}

static void receive_ack(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	u8 syndrome = aeth_syndrome(pkt->hdr + pkt->op->aeth);

	switch (aeth_kind(syndrome)) {
	case AETH_KIND_ACK:
		ack_before(qp, psn_add(pkt->psn, 1), true);
		break;
	case AETH_KIND_RNR:
		rxe_sq_count(qp, RXE_CNT_RNR_RECEIVED, 1);
		ack_before(qp, pkt->psn, true);
		receive_nak(qp, pkt->psn, syndrome);
		break;
	case AETH_KIND_NAK:
		nak_count(qp, syndrome);
		ack_before(qp, pkt->psn, true);
		if (syndrome == NAK_PSN_SEQ)
			sequence_nak(qp, pkt->psn);
		else
			receive_nak(qp, pkt->psn, syndrome);
		break;
	default:
		rxe_sq_count(qp, RXE_CNT_RX_MALFORMED, 1);
	}
}

/*
 * The oldest WQE, if it waits for just this response; a response that is too
 * early is kept.
 */
static struct rxe_swqe *response_wqe(struct rxe_qp *qp, const struct rxe_rxpkt *pkt,
				     const struct rxe_rx_iter *at)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe;
	bool read;

	sq->onward = !bth_mig(pkt->hdr);
	ack_before(qp, pkt->psn, false);
	if (sq->una_psn != pkt->psn) {
		if (rxe_reorder_add(&sq->held, sq->una_psn, pkt->psn, at))
			repair_overtaken(qp, pkt->psn);
		return NULL;
	}
	wqe = rxe_sq_slot(sq, sq->cons);
	read = wqe->opcode == IB_UVERBS_WR_RDMA_READ || rxe_swqe_is_placement(wqe);
	if (sq->cons == sq->prod || !wqe->sent || !rxe_swqe_has_response(wqe) ||
	    read != !!(pkt->op->flags & OPF_READ)) {
		rxe_sq_count(qp, RXE_CNT_RX_MALFORMED, 1);
		return NULL;	/* nobody asked */
	}
	return wqe;
}

/*
 * Bytes of the response that una_psn waits for are in place: 0 or an error of mem.c.
 * If they have to wait for a page, the response is kept, as if it were too early.
 */
static bool response_placed(struct rxe_qp *qp, const struct rxe_rxpkt *pkt,
			    const struct rxe_rx_iter *at, int err)
{
	struct rxe_sq *sq = &qp->sq;

	if (likely(!err))
		return true;
	if (err == -EAGAIN) {
		sq->fault.paging = true;
		rxe_reorder_add(&sq->held, psn_add(pkt->psn, PSN_MASK), pkt->psn, at);
	} else {
		rxe_wc_fail(qp, IB_WC_LOC_PROT_ERR);
	}
	return false;
}

static void receive_read(struct rxe_qp *qp, const struct rxe_rxpkt *pkt,
			 const struct rxe_rx_iter *at)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe = response_wqe(qp, pkt, at);
	int err = 0;
	u64 offset;
	u32 len;

	if (!wqe)
		return;
	offset = psn_offset(wqe->first_psn, pkt->psn, qp->pmtu);
	len = min_t(u64, wqe_response_length(wqe) - offset, qp->pmtu);
	if (pkt->payload_len != len) {
		rxe_wc_fail(qp, IB_WC_BAD_RESP_ERR);
		return;
	}
	if (len)
		err = rxe_mem_write_sges(qp->ib.pd, &sq->fault, wqe->sge, wqe->num_sge, offset,
					 pkt->part, pkt->payload_off, len);
	if (!response_placed(qp, pkt, at, err))
		return;
	sq_progress(qp, psn_add(pkt->psn, 1));
	if (pkt->psn == wqe->last_psn) {
		/* others that are as short may be right behind it */
		rxe_wc_add(qp, IB_WC_SUCCESS);
		if (pkt->opcode != OP_RC_READ_RESPONSE_ONLY)
			rxe_wc_show(qp);
		rxe_completer_local(qp);
	}
	sq_skip_acknowledged(sq);
}

/*
 * Responses behind @pkt that go on with the same READ, if that is what una_psn waits for: in
 * one step what receive_one() does for each.
 */
static void receive_train(struct rxe_qp *qp, const struct rxe_rxpkt *pkt,
			  struct rxe_rx_iter *it)
{
	const struct rxe_swqe *wqe = rxe_sq_slot(&qp->sq, qp->sq.cons);
	struct rxe_sq *sq = &qp->sq;
	struct rxe_train train;
	u32 most;

	/* a NAK that is kept may be for the packet behind any of them */
	if (pkt->opcode != OP_RC_READ_RESPONSE_MIDDLE || pkt->payload_len != qp->pmtu ||
	    sq->una_psn != psn_add(pkt->psn, 1) || sq->held.count || sq->fault.paging ||
	    unlikely(sq->nak) || rxe_qp_state(qp) == IB_QPS_ERR || sq->cons == sq->prod ||
	    !wqe->sent || wqe->opcode != IB_UVERBS_WR_RDMA_READ ||
	    psn_before(pkt->psn, wqe->first_psn) || !psn_before(sq->una_psn, wqe->last_psn))
		return;
	/* the last packet of the message may be shorter, and completes it */
	most = min(psn_diff(wqe->last_psn, sq->una_psn), psn_diff(sq->max_psn, sq->una_psn));
	if (!rxe_rx_train(it, pkt, most, &train))
		return;
	most = rxe_mem_write_sges_train(qp->ib.pd, &sq->fault, wqe->sge, wqe->num_sge,
					psn_offset(wqe->first_psn, sq->una_psn, qp->pmtu),
					&train);
	if (!most)
		return;
	rxe_rx_skip(it, pkt, most);
	sq_progress(qp, psn_add(sq->una_psn, most));
	sq_skip_acknowledged(sq);
}

static void receive_atomic(struct rxe_qp *qp, const struct rxe_rxpkt *pkt,
			   const struct rxe_rx_iter *at)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe = response_wqe(qp, pkt, at);
	u64 orig;
	int err;

	if (!wqe)
		return;
	orig = atmack_orig(pkt->hdr + pkt->op->atmack);
	err = rxe_mem_write_sges_buf(qp->ib.pd, &sq->fault, wqe->sge, wqe->num_sge, 0, &orig,
				     sizeof(orig));
	if (!response_placed(qp, pkt, at, err))
		return;
	sq_progress(qp, psn_add(pkt->psn, 1));
	rxe_wc_add(qp, IB_WC_SUCCESS);
	rxe_completer_local(qp);
	sq_skip_acknowledged(sq);
}

static void receive_one(struct rxe_qp *qp, const struct rxe_rxpkt *pkt,
			const struct rxe_rx_iter *at)
{
	struct rxe_sq *sq = &qp->sq;

	switch (ack_classify(sq->una_psn, sq->max_psn, pkt->psn)) {
	case ACK_VALID:
		break;
	case ACK_BEYOND:
		rxe_sq_count(qp, RXE_CNT_RX_MALFORMED, 1);
		return;
	default:
		if (pkt->psn == sq->late_psn && !(pkt->op->flags & OPF_ACK)) {
			sq->late_psn = psn_add(sq->una_psn, PSN_MASK >> 1);
			patience_late(&sq->patience);
		}
		return;		/* we know already */
	}
	if (pkt->op->flags & OPF_AETH)
		receive_credits(sq, pkt->hdr + pkt->op->aeth);
	if (pkt->op->flags & OPF_READ)
		receive_read(qp, pkt, at);
	else if (pkt->op->flags & OPF_ATMACK)
		receive_atomic(qp, pkt, at);
	else
		receive_ack(qp, pkt);
}

/* What came too early, and whose time has come. */
static void receive_held(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_rx_iter at, it;
	struct rxe_rxpkt pkt;
	u32 una;

	do {
		while (!sq->fault.paging && rxe_reorder_take(&sq->held, sq->una_psn, &at)) {
			it = at;
			if (rxe_qp_state(qp) != IB_QPS_ERR && rxe_rx_next(&it, &pkt))
				receive_one(qp, &pkt, &at);
			consume_skb(at.skb);
		}
		una = sq->una_psn;
		/* a READ may have kept back what was acknowledged long ago */
		if (rxe_qp_state(qp) != IB_QPS_ERR && psn_after(sq->confirmed, una))
			ack_before(qp, sq->confirmed, false);
		/* and that the response behind it */
	} while (sq->una_psn != una && sq->held.count);
	if (unlikely(sq->nak) && rxe_qp_state(qp) != IB_QPS_ERR)
		receive_kept_nak(qp);
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
	struct rxe_rx_iter at, it;
	struct rxe_rxpkt pkt;
	struct sk_buff *skb;

	if (unlikely(sq->fault.paging) && !rxe_fault_waiting(&sq->fault)) {
		sq->fault.paging = false;
		receive_held(qp);
	}
	while (budget && (skb = rxe_rx_dequeue(qp, &sq->rxq, sq->counts))) {
		rxe_rx_iter_init(&it, qp->dev, sq->counts, skb);
		for (at = it; rxe_rx_next(&it, &pkt); at = it) {
			if (rxe_qp_state(qp) == IB_QPS_ERR)
				break;
			receive_one(qp, &pkt, &at);
			receive_held(qp);
			receive_train(qp, &pkt, &it);
		}
		consume_skb(skb);
		budget--;
	}
	rxe_wc_show(qp);
	if (rxe_qp_state(qp) != IB_QPS_ERR)
		look_for_gap(qp);
	WRITE_ONCE(sq->hurry, sq->resend.active || sq->held.count);
	return !budget;
}
