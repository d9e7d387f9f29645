// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Responder: requests -> memory and receive completions; ACKs, NAKs, replays.
 *
 * Each request packet takes one way down:
 *
 *   PSN ahead of the expected one      kept (reorder.c); one sequence NAK when the
 *                                      missing one counts as lost, then silence
 *                                      (9.7.5.2.8)
 *   PSN behind                         duplicate: ACK again, or replay what was
 *                                      saved; never execute twice
 *   PSN expected
 *     opcode fits rq.progress? ─────── no: error
 *     lengths right? ───────────────── no: error
 *     receive WQE needed, there? ───── no: RNR NAK, the packet comes again
 *     key, bounds, rights? ─────────── no: error
 *     pages of memory there? ───────── no: the packet waits, and those behind it
 *     place the payload, end of message: completion, MSN; next PSN
 *
 *   rq.progress:  NONE ── SEND First ──► IN_SEND  ── Last ──► NONE
 *                   └──── WRITE First ─► IN_WRITE ── Last ──┘
 *
 * What an error leads to (syndrome, state of the QP, event, status of the
 * receive WQE) is read from the table in proto/errors.c; every error but a
 * silent one is answered.
 *
 * The answers are made in answer.c, READ responses as far as budget and local queue allow;
 * requests behind a READ wait for it, as ordering demands.
 */
#include "rxe.h"

/* When there was no memory for a READ response, try again after this */
#define STARVED_INTERVAL	max_t(unsigned long, HZ / 100, 1)
/* What a FLUSH may write back in the time of a packet */
#define FLUSH_BYTES	(16 << 10)

/**
 * rxe_responder_timeout - look for receives that are posted late, to a QP in error or for
 * who waits, or try again to send READ responses
 * @t: rq.timer of a QP
 *
 * Context: softirq.
 */
void rxe_responder_timeout(struct timer_list *t)
{
	struct rxe_qp *qp = timer_container_of(qp, t, rq.timer);

	rxe_task_run(&qp->rq.task);
}

/* --- errors ----------------------------------------------------------------- */

static void nak_count(struct rxe_qp *qp, u8 syndrome)
{
	rxe_rq_count(qp, RXE_CNT_NAK_SENT, 1);
	switch (syndrome) {
	case NAK_PSN_SEQ:
		rxe_rq_count(qp, RXE_CNT_SEQ_NAK_SENT, 1);
		break;
	case NAK_INVALID_REQ:
		rxe_rq_count(qp, RXE_CNT_REQUEST_NAK_SENT, 1);
		break;
	case NAK_REM_ACCESS:
		rxe_rq_count(qp, RXE_CNT_ACCESS_NAK_SENT, 1);
		break;
	case NAK_REM_OP:
		rxe_rq_count(qp, RXE_CNT_OPERATION_NAK_SENT, 1);
		break;
	}
}

static void request_failed(struct rxe_qp *qp, u8 opcode, u32 psn, enum resp_error err)
{
	const struct resp_error_info *info = resp_error_info(err);
	struct rxe_rq *rq = &qp->rq;
	bool had_wqe = rq->have_wqe;
	u8 syndrome = rxe_qp_is_uc(qp) ? 0 : info->syndrome;

	if (info->class == CLASS_RNR) {
		syndrome |= qp->attr.min_rnr_timer & AETH_VALUE_MASK;
		rxe_rq_count(qp, RXE_CNT_RNR_SENT, 1);
		/* what follows is dropped in silence until this packet returns */
		rq->nak_sent = true;
		rq->rnr_sent = true;
		rxe_reorder_purge(&rq->held);
	} else if (syndrome) {
		nak_count(qp, syndrome);
	}
	if (syndrome) {
		rxe_answer_ack(qp, syndrome, psn);
		/* it acknowledges all before */
		rq->ack_pending = false;
	}
	if (!info->qp_error)
		return;
	rxe_qp_info(qp, "%s, opcode %#x, PSN %#x, peer qp %#x\n", info->name,
		    opcode, psn, qp->attr.dest_qp_num);
	rxe_qp_because(qp, info->name);
	rq->ack_pending = false;
	if (had_wqe)
		rxe_recv_fail(qp, info->wc_status_responder ? info->wc_status_responder :
						 IB_WC_WR_FLUSH_ERR);
	rxe_qp_error(qp);
	/* who learns it from a completion needs no event (table 63) */
	if (err == RESP_ERR_CQ_OVERRUN)
		rxe_qp_event(qp, IB_EVENT_QP_FATAL);
	else if (info->access_event && !had_wqe)
		rxe_qp_event(qp, IB_EVENT_QP_ACCESS_ERR);
	else if (info->request_event && !had_wqe)
		rxe_qp_event(qp, IB_EVENT_QP_REQ_ERR);
}

/* A message of the peer has been executed. */
static void executed(struct rxe_qp *qp, enum rxe_counter which, u64 bytes)
{
	rxe_rq_count(qp, which, 1);
	rxe_rq_count(qp, RXE_CNT_RESP_BYTES, bytes);
}

/* --- READ ------------------------------------------------------------------- */

/*
 * Whether a READ or atomic is more than was agreed on. Its sender may ask for one more
 * whenever it has got an answer. When it did so cannot be told from how far we are now:
 * what came early may have waited until all before it was answered. So it is told by what
 * had been answered when the packet came. That may be more than its sender had got: who
 * keeps to the agreement is never refused.
 */
static bool too_many(const struct rxe_rq *rq, const struct rxe_rxpkt *pkt)
{
	return resp_too_many(rq->asked, pkt->answered, rq->num_res);
}

/* What is executed now is acknowledged by a response, and not by an ACK. */
static void by_response(struct rxe_rq *rq)
{
	rq->first_response = rq->by_response ? resp_ack_end(rq->first_response, rq->psn) : rq->psn;
	rq->by_response = true;
}

static struct rxe_resp_res *res_save(struct rxe_qp *qp, u8 opcode, u32 packets)
{
	struct rxe_rq *rq = &qp->rq;
	struct rxe_resp_res *res = &rq->res[rq->res_next];

	rq->res_next = (rq->res_next + 1) % rq->num_res;
	res->opcode = opcode;
	res->first_psn = rq->psn;
	res->last_psn = psn_add(rq->psn, packets - 1);
	by_response(rq);
	return res;
}

/*
 * Sends responses of the READ under way.  True: the budget is used up; with
 * read.active still set and false, the local queue is full, or there is no
 * memory, or not the page: its draining, the timer or the page calls the task again.
 */
static bool read_continue(struct rxe_qp *qp, u32 *budget)
{
	struct rxe_rq *rq = &qp->rq;
	int err = rxe_answer_read(qp, budget);

	/* responses acknowledge all before them */
	rq->ack_pending = false;
	if (err == -ENOMEM)
		mod_timer(&rq->timer, jiffies + STARVED_INTERVAL);
	if (err == -EFAULT) {
		/* the region went away while it was being read, or since it was read */
		rq->read.active = false;
		request_failed(qp, OP_RC_READ_REQUEST, rq->read.psn,
			       rq->read.replay ? RESP_ERR_REPLAY_RKEY : RESP_ERR_RKEY);
	}
	return !*budget;
}

/*
 * What an access to memory means to the request: an error, and maybe that it is none
 * yet: without the page nothing has been done that cannot be done again; and so it is
 * with what takes more than one round.
 */
static enum resp_error access_error(struct rxe_qp *qp, int err, enum resp_error otherwise)
{
	if (likely(!err))
		return RESP_OK;
	qp->rq.again = err == -EINPROGRESS;
	qp->rq.fault.paging = err == -EAGAIN || qp->rq.again;
	return err == -EINVAL ? RESP_ERR_ALIGN : otherwise;
}

static enum resp_error execute_read(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	const u8 *reth = pkt->hdr + pkt->op->reth;
	struct rxe_rq *rq = &qp->rq;
	u32 packets = psn_packets(reth_len(reth), qp->pmtu);
	struct rxe_resp_res *res;

	if (too_many(rq, pkt))
		return RESP_ERR_TOO_MANY_READS;
	/* a READ of nothing touches nothing (C9-88) */
	if (reth_len(reth) && rxe_mem_check(qp, reth_rkey(reth), reth_va(reth),
					    reth_len(reth), IB_ACCESS_REMOTE_READ))
		return RESP_ERR_RKEY;
	res = res_save(qp, pkt->opcode, packets);
	res->va = reth_va(reth);
	res->rkey = reth_rkey(reth);
	res->length = reth_len(reth);
	rq->asked++;
	rxe_answer_read_start(qp, false, rq->psn, res->va, res->rkey, res->length);
	rq->psn = psn_add(rq->psn, packets);
	rq->msn = (rq->msn + 1) & PSN_MASK;	/* at acceptance (C9-148) */
	executed(qp, RXE_CNT_RESP_READ, res->length);
	return RESP_OK;
}

/* --- atomics ---------------------------------------------------------------- */

static enum resp_error execute_atomic(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	const u8 *eth = pkt->hdr + pkt->op->atmeth;
	struct rxe_rq *rq = &qp->rq;
	struct rxe_resp_res *res;
	u64 orig;
	int err;

	if (too_many(rq, pkt))
		return RESP_ERR_TOO_MANY_READS;
	if (atmeth_va(eth) & (sizeof(u64) - 1))
		return RESP_ERR_ALIGN;
	if (pkt->opcode == OP_RC_COMPARE_SWAP)
		err = rxe_mem_cmp_swap(qp, atmeth_rkey(eth), atmeth_va(eth),
				       atmeth_compare(eth), atmeth_swap_add(eth), &orig);
	else
		err = rxe_mem_fetch_add(qp, atmeth_rkey(eth), atmeth_va(eth),
					atmeth_swap_add(eth), &orig);
	if (err)	/* the memory may be unaligned though its address is not */
		return access_error(qp, err, RESP_ERR_RKEY);
	res = res_save(qp, pkt->opcode, 1);
	res->orig = orig;
	rq->asked++;
	rxe_answer_made(rq);
	rq->msn = (rq->msn + 1) & PSN_MASK;
	rq->psn = psn_add(rq->psn, 1);
	executed(qp, RXE_CNT_RESP_ATOMIC, sizeof(orig));
	rxe_answer_atomic(qp, res->first_psn, orig);
	return RESP_OK;
}

/* --- FLUSH and ATOMIC WRITE --------------------------------------------------- */

/* The IB_ACCESS_ flags that a FLUSH needs; -1: what it asks for does not exist. */
static int flush_access(const struct rxe_rxpkt *pkt)
{
	const u8 *feth = pkt->hdr + pkt->op->feth;
	int access = 0;

	if (!feth_type(feth) || (feth_type(feth) & ~(FETH_GLOBAL | FETH_PERSISTENT)) ||
	    feth_selectivity(feth) > FETH_SEL_MR)
		return -1;
	if (feth_type(feth) & FETH_GLOBAL)
		access |= IB_ACCESS_FLUSH_GLOBAL;
	if (feth_type(feth) & FETH_PERSISTENT)
		access |= IB_ACCESS_FLUSH_PERSISTENT;
	return access;
}

static enum resp_error execute_placement(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	const u8 *reth = pkt->hdr + pkt->op->reth;
	struct rxe_rq *rq = &qp->rq;
	u32 psn = rq->psn;
	int err;

	/*
	 * FLUSHes are not counted: in-tree requesters do not, either. So none is saved in the
	 * place of what may be asked for again; a duplicate has the same answer.
	 */
	if (pkt->op->flags & OPF_FLUSH ? !rq->num_res : too_many(rq, pkt))
		return RESP_ERR_TOO_MANY_READS;
	if (pkt->op->flags & OPF_FLUSH)
		err = rxe_mem_flush(qp, reth_rkey(reth), reth_va(reth), reth_len(reth),
				    feth_selectivity(pkt->hdr + pkt->op->feth) == FETH_SEL_MR,
				    flush_access(pkt), &rq->written_back);
	else
		err = rxe_mem_store64(qp, reth_rkey(reth), reth_va(reth), pkt->part,
				      pkt->payload_off);
	if (err)
		return access_error(qp, err, RESP_ERR_RKEY);
	rq->cost = rq->written_back / FLUSH_BYTES;
	rq->written_back = 0;
	if (pkt->op->flags & OPF_FLUSH)
		by_response(rq);
	else
		res_save(qp, pkt->opcode, 1);
	rq->msn = (rq->msn + 1) & PSN_MASK;
	rq->psn = psn_add(rq->psn, 1);
	if (pkt->op->flags & OPF_FLUSH) {
		executed(qp, RXE_CNT_RESP_FLUSH, 0);
	} else {
		rq->asked++;
		rxe_answer_made(rq);
		executed(qp, RXE_CNT_RESP_ATOMIC_WRITE, sizeof(u64));
	}
	rxe_answer_placement(qp, psn);
	return RESP_OK;
}

/* --- SEND and RDMA WRITE ---------------------------------------------------- */

static enum resp_error place_send(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;
	int err = 0;

	if (!rq->have_wqe && !rxe_recv_get(qp))
		return RESP_ERR_RNR;
	if (unlikely(rq->bad_wqe))
		return RESP_ERR_RECV_WQE;
	if (rq->done + pkt->payload_len > rq->room)
		return RESP_ERR_RECV_TOO_SHORT;
	if (pkt->payload_len)
		err = rxe_mem_write_sges(rxe_recv_pd(qp), &rq->fault, rq->sge, rq->num_sge,
					 rq->done, pkt->part, pkt->payload_off,
					 pkt->payload_len);
	return access_error(qp, err, RESP_ERR_LOCAL_OP);
}

static enum resp_error place_write(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	const u32 only = OPF_START | OPF_END;
	struct rxe_rq *rq = &qp->rq;
	int err = 0;

	/* a WRITE of nothing touches nothing (C9-88); of one packet, the copy is checked */
	if ((pkt->op->flags & OPF_START) && rq->length &&
	    (pkt->op->flags & (only | OPF_RWR)) != only &&
	    rxe_mem_check(qp, rq->rkey, rq->va, rq->length, IB_ACCESS_REMOTE_WRITE))
		return RESP_ERR_RKEY;
	if ((pkt->op->flags & OPF_RWR) && (pkt->op->flags & OPF_END) &&
	    !rq->have_wqe && !rxe_recv_get(qp))
		return RESP_ERR_RNR;
	if (unlikely(rq->have_wqe && rq->bad_wqe))
		return RESP_ERR_RECV_WQE;
	rq->fault.ahead = rq->length - rq->done;
	if (pkt->payload_len)
		err = rxe_mem_write(qp, rq->rkey, rq->va + rq->done, pkt->part,
				    pkt->payload_off, pkt->payload_len, IB_ACCESS_REMOTE_WRITE);
	return access_error(qp, err, RESP_ERR_RKEY);
}

static enum resp_error message_end(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;
	struct rxe_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = pkt->op->flags & OPF_WRITE ? IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.solicited = pkt->se,
		.byte_len = rq->done,
		.src_qp = qp->attr.dest_qp_num,
	};

	if (pkt->op->flags & OPF_IMM) {
		wc.flags |= IB_WC_WITH_IMM;
		wc.imm_data = immdt_get(pkt->hdr + pkt->op->imm);
	}
	if (pkt->op->flags & OPF_IETH) {
		wc.flags |= IB_WC_WITH_INVALIDATE;
		wc.invalidate_rkey = ieth_rkey(pkt->hdr + pkt->op->ieth);
		if (rxe_mr_invalidate(qp, wc.invalidate_rkey, true))
			return RESP_ERR_INVALIDATE;
	}
	if ((pkt->op->flags & OPF_RWR) && !rxe_recv_complete(qp, &wc))
		return RESP_ERR_CQ_OVERRUN;
	rq->msn = (rq->msn + 1) & PSN_MASK;
	executed(qp, pkt->op->flags & OPF_WRITE ? RXE_CNT_RESP_WRITE : RXE_CNT_RESP_SEND,
		 rq->done);
	return RESP_OK;
}

static enum resp_error execute_message(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	const struct opcode_info *op = pkt->op;
	struct rxe_rq *rq = &qp->rq;
	struct resp_len_in in = {
		.pmtu = qp->pmtu,
		.payload = pkt->payload_len,
		.pad = pkt->pad,
	};
	enum resp_error err;

	if (op->flags & OPF_START) {
		rq->done = 0;
		if (op->flags & OPF_RETH) {
			rq->va = reth_va(pkt->hdr + op->reth);
			rq->rkey = reth_rkey(pkt->hdr + op->reth);
			rq->length = reth_len(pkt->hdr + op->reth);
		}
	}
	in.done = rq->done;
	in.total = rq->length;
	err = resp_check_length(op, &in);
	if (err)
		return err;
	err = op->flags & OPF_WRITE ? place_write(qp, pkt) : place_send(qp, pkt);
	if (err)
		return err;
	rq->done += pkt->payload_len;
	if (op->flags & OPF_END) {
		err = message_end(qp, pkt);
		if (err)
			return err;
	}
	rq->progress = resp_progress(rq->progress, op);
	rq->by_response = false;
	rq->psn = psn_add(rq->psn, 1);
	if (pkt->ackreq && !rxe_qp_is_uc(qp))
		rq->ack_pending = true;
	return RESP_OK;
}

/* --- the way of a packet ---------------------------------------------------- */

/* Whether the QP takes this kind of request at all. */
static enum resp_error check_rights(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	const struct opcode_info *op = pkt->op;
	int need = 0;

	if (op->flags & (OPF_WRITE | OPF_ATOMIC_WRITE))
		need = IB_ACCESS_REMOTE_WRITE;
	else if (op->flags & OPF_READ)
		need = IB_ACCESS_REMOTE_READ;
	else if (op->flags & OPF_ATOMIC)
		need = IB_ACCESS_REMOTE_ATOMIC;
	else if (op->flags & OPF_FLUSH)
		need = flush_access(pkt);
	else if (!(op->flags & OPF_SEND))
		return RESP_ERR_OPCODE_UNSUPPORTED;
	return (qp->attr.qp_access_flags & need) == need ? RESP_OK :
							   RESP_ERR_OPCODE_UNSUPPORTED;
}

static enum resp_error execute(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct resp_len_in in = {
		.pmtu = qp->pmtu,
		.payload = pkt->payload_len,
		.pad = pkt->pad,
	};
	enum resp_error err;

	err = check_rights(qp, pkt);
	if (!err)
		err = resp_check_opcode(qp->rq.progress, pkt->op);
	if (err)
		return err;
	if (pkt->op->flags & (OPF_SEND | OPF_WRITE))
		return execute_message(qp, pkt);
	if (pkt->op->flags & (OPF_READ | OPF_ATOMIC_WRITE))
		in.total = reth_len(pkt->hdr + pkt->op->reth);
	err = resp_check_length(pkt->op, &in);
	if (err)
		return err;
	if (pkt->op->flags & OPF_READ)
		return execute_read(qp, pkt);
	if (pkt->op->flags & OPF_ATOMIC)
		return execute_atomic(qp, pkt);
	return execute_placement(qp, pkt);
}

/*
 * A saved READ or atomic that contains @psn, or NULL.  The newest comes first: an
 * old one may have had the same PSN, a round of all PSNs ago.
 */
static struct rxe_resp_res *res_find(struct rxe_rq *rq, u8 opcode, u32 psn)
{
	u32 i;

	for (i = 0; i < rq->num_res; i++) {
		u32 at = (rq->res_next + rq->num_res - 1 - i) % rq->num_res;
		struct rxe_resp_res *res = &rq->res[at];

		if (res->opcode == opcode && !psn_before(psn, res->first_psn) &&
		    !psn_after(psn, res->last_psn))
			return res;
	}
	return NULL;
}

static enum resp_error duplicate_read(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	const u8 *reth = pkt->hdr + pkt->op->reth;
	struct rxe_resp_res *res = res_find(&qp->rq, pkt->opcode, pkt->psn);
	struct read_span saved, again;

	if (!res)
		return RESP_ERR_REPLAY_LOST;
	saved.psn = res->first_psn;
	saved.rkey = res->rkey;
	saved.va = res->va;
	saved.len = res->length;
	again.psn = pkt->psn;
	again.rkey = reth_rkey(reth);
	again.va = reth_va(reth);
	again.len = reth_len(reth);
	if (!read_replay_fits(&saved, &again, qp->pmtu))
		return RESP_ERR_REPLAY_LOST;
	rxe_answer_read_start(qp, true, again.psn, again.va, again.rkey, again.len);
	return RESP_OK;
}

static void duplicate(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;
	enum resp_error err = RESP_OK;
	struct rxe_resp_res *res;

	rxe_rq_count(qp, RXE_CNT_DUPLICATE_REQUEST, 1);
	if (rq->nak_valid && pkt->psn == rq->nak_psn) {
		/* it was late and not lost */
		rq->nak_valid = false;
		patience_late(&rq->patience);
	}
	/* the peer has gone back, so it may have missed the NAK */
	if (rq->nak_sent && !rq->rnr_sent) {
		rq->nak_sent = false;
		rq->nak_due = true;
	}
	/* a replay acknowledges less than what is due by now */
	if (pkt->op->flags & (OPF_READ | OPF_ATOMIC | OPF_FLUSH | OPF_ATOMIC_WRITE))
		rxe_answer_pending(qp);
	if (pkt->op->flags & OPF_READ) {
		err = duplicate_read(qp, pkt);
	} else if (pkt->op->flags & OPF_ATOMIC) {
		res = res_find(&qp->rq, pkt->opcode, pkt->psn);
		if (res)
			rxe_answer_atomic(qp, pkt->psn, res->orig);
		else
			err = RESP_ERR_REPLAY_LOST;
	} else if (pkt->op->flags & (OPF_FLUSH | OPF_ATOMIC_WRITE)) {
		if ((pkt->op->flags & OPF_FLUSH) || res_find(&qp->rq, pkt->opcode, pkt->psn))
			rxe_answer_placement(qp, pkt->psn);
		else
			err = RESP_ERR_REPLAY_LOST;
	} else if (pkt->ackreq || (pkt->op->flags & OPF_END)) {
		/* say again how far we are (C9-105) */
		qp->rq.ack_pending = true;
	}
	if (err)
		request_failed(qp, pkt->opcode, pkt->psn, err);
}

/*
 * A packet of an unreliable connection (9.8.2): nobody sends it again.  With a gap
 * the message in progress is dropped, and so is what follows up to the start of
 * another; a receive WQE already in use waits for that one, and it for a receive that is a
 * little late.  Only a fault of our own memory or queue is an error of the QP.
 */
static void request_uc(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;
	enum resp_error err;

	if (pkt->psn != rq->psn)
		rxe_rq_count(qp, RXE_CNT_OUT_OF_SEQUENCE, 1);
	if (pkt->psn != rq->psn || (pkt->op->flags & OPF_START))
		rq->progress = MSG_NONE;
	rq->psn = pkt->psn;
	if (rq->progress != MSG_NONE || (pkt->op->flags & OPF_START))
		err = execute(qp, pkt);
	else
		err = RESP_ERR_OPCODE_SEQ;
	if (!err || rq->fault.paging)
		return;
	if (err == RESP_ERR_RNR && rxe_recv_await(qp, pkt->skb)) {
		rq->fault.paging = true;
		return;
	}
	rq->progress = MSG_NONE;
	rq->psn = psn_add(pkt->psn, 1);
	if (resp_error_info(err)->local)
		request_failed(qp, pkt->opcode, pkt->psn, err);
	else if (err == RESP_ERR_RNR || err == RESP_ERR_RECV_TOO_SHORT)
		rxe_rq_count(qp, RXE_CNT_RX_NO_BUFFER, 1);
}

/* With rq->fault.paging set afterwards, the packet has to come again: for a page, or a receive. */
static void request(struct rxe_qp *qp, const struct rxe_rxpkt *pkt,
		    const struct rxe_rx_iter *at)
{
	struct rxe_rq *rq = &qp->rq;
	u32 expected = rq->psn;
	enum resp_error err;

	if (!rq->established) {
		rq->established = true;
		if (rxe_qp_state(qp) == IB_QPS_RTR)
			rxe_qp_event(qp, IB_EVENT_COMM_EST);
	}
	if (rxe_qp_is_uc(qp)) {
		request_uc(qp, pkt);
		return;
	}
	switch (psn_classify(rq->psn, pkt->psn)) {
	case PSN_DUPLICATE:
		duplicate(qp, pkt);
		return;
	case PSN_AHEAD:
		rxe_rq_count(qp, RXE_CNT_OUT_OF_SEQUENCE, 1);
		if (!rq->rnr_sent)
			rxe_reorder_add(&rq->held, rq->psn, pkt->psn, at);
		return;
	case PSN_EXPECTED:
		break;
	}
	rq->nak_sent = false;
	rq->rnr_sent = false;
	/* a READ has the bytes that were there before what is done now */
	if (rq->out->flow && rq->out->loan.keys && !(pkt->op->flags & OPF_READ))
		rxe_answer_flush(qp);
	/* the peer may wait to hear how much has been kept; a response says so, too */
	if (unlikely(rq->held.later))
		rq->ack_pending = true;
	err = execute(qp, pkt);
	if (err) {
		if (!rq->fault.paging)
			request_failed(qp, pkt->opcode, pkt->psn, err);
		return;
	}
	if (unlikely(rq->held.later))
		rxe_reorder_advance(&rq->held, expected, rq->psn);
}

/*
 * Packets behind @pkt, which has just been executed, that go on with the same message: in one
 * step what request() does for each. Neither the message ends with them, nor does its room.
 * Returns how many.
 */
static u32 request_train(struct rxe_qp *qp, const struct rxe_rxpkt *pkt, u32 budget)
{
	bool write = pkt->op->flags & OPF_WRITE;
	struct rxe_rq *rq = &qp->rq;
	struct rxe_train train;
	u32 room = write ? rq->length : min_t(u32, rq->room, MSG_LEN_MAX);
	u32 count;

	if (room <= rq->done || resp_check_opcode(rq->progress, pkt->op))
		return 0;
	/* a WRITE has bytes for its last packet, too */
	room -= rq->done + write;
	if (!rxe_rx_train(&rq->iter, pkt, min(budget, room / qp->pmtu), &train))
		return 0;
	rq->fault.ahead = room;
	if (write)
		count = rxe_mem_write_train(qp, rq->rkey, rq->va + rq->done, &train);
	else
		count = rxe_mem_write_sges_train(rxe_recv_pd(qp), &rq->fault, rq->sge,
						 rq->num_sge, rq->done, &train);
	rxe_rx_skip(&rq->iter, pkt, count);
	rq->done += (u64)count * qp->pmtu;
	rq->psn = psn_add(rq->psn, count);
	return count;
}

/*
 * What has been worked off has left a hole: a NAK for the first missing packet,
 * once.  It may be merely late; then wait a little.
 */
static void look_for_hole(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;

	WRITE_ONCE(rq->hurry, rq->held.later);
	if (likely(!rq->held.later)) {
		rq->nak_due = false;
		return;
	}
	if (rq->nak_sent)
		return;
	if (!rq->nak_due && !patience_over(&rq->patience, rq->held.later)) {
		if (!rq->nak_armed)
			hrtimer_start(&rq->nak_timer, ns_to_ktime(rq->patience.nsec),
				      HRTIMER_MODE_REL);
		rq->nak_armed = true;
		return;
	}
	rq->nak_due = false;
	rq->nak_sent = true;
	rq->nak_valid = true;
	rq->nak_psn = rq->psn;
	patience_lost(&rq->patience);
	/* it acknowledges what was before */
	rq->ack_pending = false;
	nak_count(qp, NAK_PSN_SEQ);
	rxe_answer_ack(qp, resp_error_info(RESP_ERR_PSN_SEQ)->syndrome, rq->psn);
}

/**
 * rxe_responder_nak_timeout - a missing packet is no longer merely late
 * @t: rq.nak_timer of a QP
 *
 * Context: hard interrupt or softirq.
 * Return: HRTIMER_NORESTART.
 */
enum hrtimer_restart rxe_responder_nak_timeout(struct hrtimer *t)
{
	struct rxe_qp *qp = container_of(t, struct rxe_qp, rq.nak_timer);

	WRITE_ONCE(qp->rq.nak_fired, true);
	rxe_task_kick(&qp->rq.task);
	return HRTIMER_NORESTART;
}

/* Works off what has been kept behind a hole, if that is closed now. */
static bool held_request(struct rxe_qp *qp)
{
	struct rxe_rx_iter at, it;
	struct rxe_rxpkt pkt;

	if (!rxe_reorder_take(&qp->rq.held, qp->rq.psn, &at))
		return false;
	it = at;
	if (rxe_rx_next(&it, &pkt)) {
		request(qp, &pkt, &at);
		if (unlikely(qp->rq.fault.paging))
			rxe_reorder_add(&qp->rq.held, psn_add(pkt.psn, PSN_MASK), pkt.psn, &at);
	}
	consume_skb(at.skb);
	return true;
}

/*
 * The next packet of the skb in hand, or of the next skb; @at is the walk as it
 * was before the packet. An skb without a good packet is worked off, too: whoever
 * sends nothing else must not keep a CPU.
 */
static bool next_packet(struct rxe_qp *qp, struct rxe_rxpkt *pkt, struct rxe_rx_iter *at,
			u32 *budget)
{
	struct rxe_rq *rq = &qp->rq;
	bool none = false;

	while (*budget) {
		if (!rq->iter.skb) {
			struct sk_buff *skb = rxe_rx_dequeue(qp, &rq->rxq, rq->counts);

			if (!skb)
				return false;
			rxe_rx_iter_init(&rq->iter, qp->dev, rq->counts, skb);
			none = true;
		}
		*at = rq->iter;
		if (rxe_rx_next(&rq->iter, pkt))
			return true;
		consume_skb(rq->iter.skb);
		rq->iter.skb = NULL;
		if (none)
			--*budget;
	}
	return false;
}

static void drop_packets(struct rxe_rq *rq)
{
	kfree_skb(rq->iter.skb);
	rq->iter.skb = NULL;
	skb_queue_purge(&rq->rxq);
	rxe_reorder_purge(&rq->held);
	rq->read.active = false;
	rq->ack_pending = false;
}

/* Somebody may wait for what is answered; it goes, if nothing else is to be answered now. */
static void answers_go(struct rxe_qp *qp)
{
	const struct rxe_rq *rq = &qp->rq;

	if (READ_ONCE(rq->rxq.qlen) || (rq->iter.skb && rxe_rx_more(&rq->iter)))
		return;
	rxe_answer_flush(qp);
}

/* As rxe_responder_task(); what there is to answer is in rq.out then. */
static bool work_off(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;
	u32 budget = RXE_TASK_BUDGET;
	struct rxe_rx_iter at;
	struct rxe_rxpkt pkt;
	u32 expected;

	rq->fault.paging = false;
	rq->again = false;
	if (unlikely(READ_ONCE(rq->nak_fired))) {
		WRITE_ONCE(rq->nak_fired, false);
		rq->nak_armed = false;
		rq->nak_due = true;
	}
	while (rxe_qp_receives(qp) && budget) {
		if (rq->read.active) {
			if (read_continue(qp, &budget))
				return true;
			if (rq->read.active)
				return false;
			answers_go(qp);
			continue;
		}
		if (unlikely(rxe_recv_waits(qp)))
			return false;
		if (!held_request(qp)) {
			if (!next_packet(qp, &pkt, &at, &budget))
				break;
			expected = rq->psn;
			request(qp, &pkt, &at);
			if (unlikely(rq->fault.paging))
				rq->iter = at;
			else if ((pkt.op->flags & OPF_MIDDLE) && pkt.psn == expected &&
				 rq->psn == psn_add(expected, 1) && !rq->held.count)
				budget -= min(budget, request_train(qp, &pkt, budget));
		}
		if (unlikely(rq->fault.paging)) {
			/* it is here, and so is what follows: no hole */
			rxe_answer_pending(qp);
			return rq->again;
		}
		/* a short READ is answered first, together with those before it */
		if (!rq->read.active || rq->read.left > qp->pmtu)
			answers_go(qp);
		budget -= min(budget, 1 + rq->cost);
		rq->cost = 0;
	}
	if (!rxe_qp_receives(qp)) {
		drop_packets(rq);
		return rxe_qp_state(qp) == IB_QPS_ERR && rxe_recv_flush(qp);
	}
	if (budget)
		look_for_hole(qp);
	/* one answer for all that has been kept; a READ without one speaks for what was before */
	if ((budget || !rq->held.count) && !rq->read.active)
		rxe_answer_pending(qp);
	return !budget;
}

/**
 * rxe_responder_task - work off requests, at most a budget
 * @qp: the QP
 *
 * Context: rq.task.
 * Return: true if the budget ended it.
 */
bool rxe_responder_task(struct rxe_qp *qp)
{
	struct rxe_burst burst;
	bool more;

	burst.flow = NULL;
	qp->rq.out = &burst;
	more = work_off(qp);
	rxe_answer_flush(qp);
	qp->rq.out = NULL;
	return more;
}
