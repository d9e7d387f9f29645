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
 *   timer              no progress for a while: send the packet of una again: its
 *                      answer tells what has arrived
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

static bool wqe_has_response(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_UVERBS_WR_RDMA_READ ||
	       wqe->opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD ||
	       rxe_swqe_is_placement(wqe);
}

/* Bytes that its responses bring */
static u32 wqe_response_length(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_UVERBS_WR_RDMA_READ ? wqe->length : 0;
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
	case IB_UVERBS_WR_FLUSH:
		return IB_UVERBS_WC_FLUSH;
	case IB_UVERBS_WR_ATOMIC_WRITE:
		return IB_UVERBS_WC_ATOMIC_WRITE;
	case IB_UVERBS_WR_LOCAL_INV:
		return IB_UVERBS_WC_LOCAL_INV;
	case IB_UVERBS_WR_BIND_MW:
		return IB_UVERBS_WC_BIND_MW;
	case RXE_WR_REG_MR:
		return IB_WC_REG_MR;
	default:
		return IB_UVERBS_WC_SEND;
	}
}

/* --- completing ------------------------------------------------------------- */

/* What the oldest WQE was, for the counters */
static enum rxe_counter wqe_counter(const struct rxe_swqe *wqe)
{
	switch (wqe->opcode) {
	case IB_UVERBS_WR_RDMA_WRITE:
	case IB_UVERBS_WR_RDMA_WRITE_WITH_IMM:
		return RXE_CNT_REQ_WRITE;
	case IB_UVERBS_WR_RDMA_READ:
		return RXE_CNT_REQ_READ;
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
		return RXE_CNT_REQ_ATOMIC;
	case IB_UVERBS_WR_FLUSH:
		return RXE_CNT_REQ_FLUSH;
	case IB_UVERBS_WR_ATOMIC_WRITE:
		return RXE_CNT_REQ_ATOMIC_WRITE;
	case IB_UVERBS_WR_LOCAL_INV:
	case IB_UVERBS_WR_BIND_MW:
	case RXE_WR_REG_MR:
		return RXE_CNT_REQ_LOCAL;
	default:
		return RXE_CNT_REQ_SEND;
	}
}

static void wqe_count(struct rxe_qp *qp, const struct rxe_swqe *wqe, u8 status)
{
	enum rxe_counter which = wqe_counter(wqe);

	if (unlikely(status)) {
		rxe_sq_count(qp, RXE_CNT_REQ_FAILED, 1);
		return;
	}
	rxe_sq_count(qp, which, 1);
	if (which != RXE_CNT_REQ_LOCAL && which != RXE_CNT_REQ_FLUSH)
		rxe_sq_count(qp, RXE_CNT_REQ_BYTES, wqe->length);
}

/* Completions of WQEs that one answer has ended, not visible yet */
#define ROW		8

struct row {
	struct rxe_wc	wc[ROW];
	u32		count;
	bool		alive;		/* nobody has told yet that the QP is in error */
};

static void row_show(struct rxe_qp *qp, struct row *row)
{
	u32 count = row->count;
	u32 shown;

	if (!count)
		return;
	row->count = 0;
	shown = rxe_cq_post(qp->scq, qp, row->wc, count);
	rxe_sq_count(qp, RXE_CNT_COMPLETIONS, shown);
	if (likely(shown == count))
		return;
	rxe_qp_info(qp, "send completion lost, the CQ is full\n");
	rxe_qp_because(qp, "send CQ overrun");
	rxe_qp_error(qp);
	/* no completion will; those that are flushed may be lost, too */
	if (row->alive)
		rxe_qp_event(qp, IB_EVENT_QP_FATAL);
	row->alive = false;
}

/* The oldest WQE is done; row_show() follows. */
static void row_add(struct rxe_qp *qp, struct row *row, u8 status)
{
	struct rxe_sq *sq = &qp->sq;
	const struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->cons);
	bool wanted = status != IB_WC_SUCCESS || sq->sig_all ||
		      (wqe->flags & IB_SEND_SIGNALED);

	if (wanted)
		row->wc[row->count++] = (struct rxe_wc) {
			.wr_id = wqe->wr_id,
			.status = status,
			.opcode = wqe_wc_opcode(wqe),
			.byte_len = wqe->length,
		};
	wqe_count(qp, wqe, status);
	if ((s32)(sq->next - sq->cons) <= 0)
		sq->next = sq->cons + 1;
	/* a kernel user's post fills the slot as soon as it sees this */
	smp_store_release(&sq->cons, sq->cons + 1);
	if (qp->is_user)
		rxe_ring_set_consumer(&sq->ring, sq->cons & sq->mask);
	if (row->count == ROW)
		row_show(qp, row);
}

/* The oldest WQE is done; @alive: nothing has told its owner yet that the QP is in error. */
static void complete_oldest(struct rxe_qp *qp, u8 status, bool alive)
{
	struct row row;

	row.count = 0;
	row.alive = alive;
	row_add(qp, &row, status);
	row_show(qp, &row);
}

/**
 * rxe_completer_complete - the oldest WQE is done
 * @qp: the QP
 * @status: enum ib_wc_status
 *
 * Its slot is given back before the completion is visible: who sees the
 * completion may post at once.
 *
 * Context: sq.task.
 */
void rxe_completer_complete(struct rxe_qp *qp, u8 status)
{
	complete_oldest(qp, status, rxe_qp_state(qp) != IB_QPS_ERR);
}

/**
 * rxe_completer_fail - the oldest WQE has failed; the QP goes to an error state
 * @qp: the QP
 * @status: enum ib_wc_status
 *
 * Context: sq.task.
 */
void rxe_completer_fail(struct rxe_qp *qp, u8 status)
{
	bool alive = rxe_qp_state(qp) != IB_QPS_ERR;
	struct rxe_sq *sq = &qp->sq;

	rxe_qp_info(qp, "%s, opcode %u, PSN %#x, peer qp %#x\n",
		    ib_wc_status_msg(status), rxe_sq_slot(sq, sq->cons)->opcode,
		    sq->una_psn, qp->attr.dest_qp_num);
	rxe_qp_because(qp, ib_wc_status_msg(status));
	if (rxe_qp_is_uc(qp))
		rxe_qp_send_error(qp);
	else
		rxe_qp_error(qp);
	complete_oldest(qp, status, alive);
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
		rxe_completer_complete(qp, IB_WC_WR_FLUSH_ERR);
	}
	return more;
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
 * @psn is about to be sent again because it is missing, or its response: the answer should
 * be for this one. Where packets are lost all the time there are hardly any others to
 * measure, and this one is lost as well as any: others wait for it, so the timer fires
 * earlier, once, at the price of one packet.
 */
static void sq_repair(struct rxe_sq *sq, u32 psn)
{
	u64 wait = rto_get_repair(&sq->rto);

	sq->rtt_psn = psn;
	sq->rtt_start = ktime_get_ns();
	sq->rtt_again = true;
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

/* All before @psn has been answered: the end of a round trip, if one is being timed. */
static void sq_time_end(struct rxe_sq *sq, u32 psn)
{
	u64 rtt;

	if (!sq->rtt_start || !psn_after(psn, sq->rtt_psn))
		return;
	rtt = ktime_get_ns() - sq->rtt_start;
	sq->rtt_start = 0;
	if (sq->rtt_again)
		rto_sample_again(&sq->rto, rtt);
	else
		rto_sample(&sq->rto, rtt);
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

/* The peer has executed all before @psn. */
static void sq_confirmed(struct rxe_qp *qp, u32 psn)
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
	send_again(qp, resend_confirmed(&sq->resend, psn, sq->psn));
}

static void sq_progress(struct rxe_qp *qp, u32 psn)
{
	struct rxe_sq *sq = &qp->sq;

	sq_time_end(sq, psn);
	window_acked(&sq->window, psn_diff(psn, sq->una_psn));
	rxe_reorder_advance(&sq->held, sq->una_psn, psn);
	sq->una_psn = psn;
	retry_progress(&sq->retry);
	sq_confirmed(qp, psn);
	while (sq->reads_head != sq->reads_tail &&
	       psn_after(psn, sq->reads[sq->reads_head % RXE_MAX_RD_ATOMIC].last_psn))
		sq->reads_head++;
	sq->progress = true;
	sq->gap = false;
	sq->asked = false;
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
		rxe_completer_complete(qp, IB_WC_SUCCESS);
	}
}

/*
 * The peer has executed everything before @psn.  Stops at a READ or atomic that
 * still waits for its response: then una_psn stays behind @psn.
 */
static void ack_before(struct rxe_qp *qp, u32 psn)
{
	struct rxe_sq *sq = &qp->sq;
	struct row row;

	row.count = 0;
	row.alive = rxe_qp_state(qp) != IB_QPS_ERR;
	sq_confirmed(qp, psn);
	while (sq->cons != sq->prod && psn_before(sq->una_psn, psn)) {
		const struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->cons);

		if (!wqe->sent || wqe_has_response(wqe))
			break;
		if (!psn_before(wqe->last_psn, psn)) {
			sq_progress(qp, psn);
			break;
		}
		sq_progress(qp, psn_add(wqe->last_psn, 1));
		row_add(qp, &row, IB_WC_SUCCESS);
	}
	row_show(qp, &row);
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
	ack_before(qp, qp->sq.psn);
}

/* A retry is used up; false: there was none left, and the QP is in error. */
static bool sq_retry(struct rxe_qp *qp)
{
	if (retry_take(&qp->sq.retry))
		return true;
	rxe_sq_count(qp, RXE_CNT_RETRY_EXCEEDED, 1);
	rxe_completer_fail(qp, IB_WC_RETRY_EXC_ERR);
	return false;
}

/* The peer misses @psn: all before it is confirmed. */
static void sequence_nak(struct rxe_qp *qp, u32 psn)
{
	struct rxe_sq *sq = &qp->sq;
	enum resend_what what;

	if (psn_before(psn, sq->confirmed))
		return;		/* overtaken: the peer has it by now */
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
	return wqe->sent && wqe_has_response(wqe) && psn_before(sq->una_psn, sq->psn);
}

/* It has been missing for too long: ask again, for as much as is missing. */
static void response_lost(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	u32 una = sq->una_psn;
	u32 most = psn_diff(request_end(sq, una), una);
	u32 count = rxe_reorder_gap(&sq->held, una, most);

	if (sq->asked || !response_missing(sq) || !sq_retry(qp))
		return;
	patience_lost(&sq->patience);
	window_lost(&sq->window, count);
	resend_count(qp, RXE_CNT_RESEND_RESPONSE, una);
	sq->asked = true;
	sq->late_psn = una;
	rxe_requester_again(qp, una, psn_add(una, count));
	sq_repair(sq, una);
}

/* After answers have been worked off: is one missing, and lost or late? */
static void look_for_gap(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	if (likely(!sq->held.count && sq->confirmed == sq->una_psn))
		return;
	if (sq->gap || sq->asked || sq->rnr_wait || sq->fault.paging || !response_missing(sq))
		return;
	if (patience_over(&sq->patience, sq->held.later)) {
		response_lost(qp);
		return;
	}
	/* earlier than it would fire otherwise; it is armed anew afterwards */
	sq->gap = true;
	sq->armed = true;
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
 * to the peer and the retries this is no other than packets that are lost. A pace is our
 * own choice, and comes to an end.
 */
static bool sq_shut(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	return sq->una_psn == sq->psn && sq->cons != sq->prod &&
	       rxe_sq_slot(sq, sq->cons)->sent && !READ_ONCE(sq->flow.paced) &&
	       rxe_flow_busy(&sq->flow);
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
	rxe_sq_count(qp, RXE_CNT_TIMEOUTS, 1);
	/* a retry is used up with each full timeout interval of the QP */
	if (!sq->repair && rto_backoff(&sq->rto) && !sq_retry(qp))
		return;
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
		rxe_requester_again(qp, una, psn_add(una, 1));
		sq->rtt_start = start;
	} else if (response_missing(sq)) {
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
		rxe_completer_fail(qp, IB_WC_RNR_RETRY_EXC_ERR);
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
		rxe_completer_fail(qp, nak_wc_status(syndrome));
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
		ack_before(qp, psn_add(pkt->psn, 1));
		break;
	case AETH_KIND_RNR:
		rxe_sq_count(qp, RXE_CNT_RNR_RECEIVED, 1);
		ack_before(qp, pkt->psn);
		receive_nak(qp, pkt->psn, syndrome);
		break;
	case AETH_KIND_NAK:
		nak_count(qp, syndrome);
		ack_before(qp, pkt->psn);
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

	ack_before(qp, pkt->psn);
	if (sq->una_psn != pkt->psn) {
		rxe_reorder_add(&sq->held, sq->una_psn, pkt->psn, at);
		return NULL;
	}
	wqe = rxe_sq_slot(sq, sq->cons);
	read = wqe->opcode == IB_UVERBS_WR_RDMA_READ || rxe_swqe_is_placement(wqe);
	if (sq->cons == sq->prod || !wqe->sent || !wqe_has_response(wqe) ||
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
		rxe_completer_fail(qp, IB_WC_LOC_PROT_ERR);
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
		rxe_completer_fail(qp, IB_WC_BAD_RESP_ERR);
		return;
	}
	if (len)
		err = rxe_mem_write_sges(qp->ib.pd, &sq->fault, wqe->sge, wqe->num_sge, offset,
					 pkt->part, pkt->payload_off, len);
	if (!response_placed(qp, pkt, at, err))
		return;
	sq_progress(qp, psn_add(pkt->psn, 1));
	if (pkt->psn == wqe->last_psn) {
		rxe_completer_complete(qp, IB_WC_SUCCESS);
		rxe_completer_local(qp);
	}
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
	rxe_completer_complete(qp, IB_WC_SUCCESS);
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

	while (!sq->fault.paging && rxe_reorder_take(&sq->held, sq->una_psn, &at)) {
		it = at;
		if (rxe_qp_state(qp) != IB_QPS_ERR && rxe_rx_next(&it, &pkt))
			receive_one(qp, &pkt, &at);
		consume_skb(at.skb);
	}
	/* a READ may have kept back what was acknowledged long ago */
	if (rxe_qp_state(qp) != IB_QPS_ERR && psn_after(sq->confirmed, sq->una_psn))
		ack_before(qp, sq->confirmed);
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
		}
		consume_skb(skb);
		budget--;
	}
	if (rxe_qp_state(qp) != IB_QPS_ERR)
		look_for_gap(qp);
	WRITE_ONCE(sq->hurry, sq->resend.active || sq->held.count);
	return !budget;
}
