// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Answers of the responder: ACKs and NAKs, results of atomics, READ responses.
 *
 * Whether and what to answer is the responder's business.  Here packets are made of it, and
 * all of a round of the task leave in one burst, in their order.
 */
#include "rxe.h"

static void answer_bth(struct rxe_qp *qp, u8 *hdr, u8 opcode, u32 psn, u32 payload)
{
	struct bth_fields bth = {
		.opcode = opcode,
		.mig = true,
		.pad = wire_pad(payload),
		.pkey = RXE_DEFAULT_PKEY,
		.dqpn = qp->attr.dest_qp_num,
		.psn = psn,
	};

	bth_write(hdr, &bth);
}

/*
 * What is answered in one round of the task leaves together, in its order: many READs
 * and atomics of few bytes have one way through the stack.
 */
static struct rxe_burst *answers(struct rxe_qp *qp)
{
	struct rxe_burst *burst = qp->rq.out;

	if (!burst->flow)
		rxe_burst_begin(burst, &qp->rq.flow);
	return burst;
}

/**
 * rxe_answer_flush - send what has been answered so far
 * @qp: connected
 *
 * For who sends by the same flow something that goes before it, or changes memory that
 * responses lend.
 *
 * Context: rq.task.
 */
void rxe_answer_flush(struct rxe_qp *qp)
{
	struct rxe_burst *burst = qp->rq.out;

	if (burst && burst->flow)
		rxe_burst_send(burst);
}

/* A packet of BTH and AETH; false: no memory, it is lost, as on the wire. */
static bool answer_aeth(struct rxe_qp *qp, u8 opcode, u8 syndrome, u32 psn)
{
	struct rxe_burst *burst = answers(qp);
	struct rxe_txpkt pkt;

	if (rxe_burst_add(burst, &pkt, BTH_LEN + AETH_LEN, 0))
		return false;
	answer_bth(qp, pkt.hdr, opcode, psn, 0);
	aeth_write(pkt.hdr + BTH_LEN, syndrome, qp->rq.msn);
	rxe_burst_close(burst, &pkt);
	return true;
}

/**
 * rxe_answer_ack - an ACK or NAK (9.7.5)
 * @qp: the QP
 * @syndrome: of the AETH
 * @psn: what it is for
 *
 * Without memory it is lost, as on the wire.
 *
 * Context: rq.task.
 */
void rxe_answer_ack(struct rxe_qp *qp, u8 syndrome, u32 psn)
{
	answer_aeth(qp, OP_RC_ACKNOWLEDGE, syndrome, psn);
}

/**
 * rxe_answer_pending - the ACK that is due, if one is
 * @qp: the QP
 *
 * It names no READ, atomic or the like (9.7.5.1.2): those are acknowledged by their response,
 * which may be lost, while the ACK is for a duplicate of what was before. There are peers that
 * take such a READ for done.
 *
 * Context: rq.task.
 */
void rxe_answer_pending(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;
	u32 end = rq->by_response ? rq->first_response : rq->psn;

	if (!rq->ack_pending)
		return;
	rq->ack_pending = false;
	if (resp_ack_old(end, rq->psn))
		return;
	rxe_rq_count(qp, RXE_CNT_ACK_SENT, 1);
	rxe_answer_ack(qp, AETH_ACK_UNLIMITED, psn_add(end, PSN_MASK));
}

/**
 * rxe_answer_atomic - the result of an atomic; it acknowledges all before it
 * @qp: the QP
 * @psn: of the request
 * @orig: what was found
 *
 * Context: rq.task.
 */
void rxe_answer_atomic(struct rxe_qp *qp, u32 psn, u64 orig)
{
	struct rxe_burst *burst = answers(qp);
	struct rxe_txpkt pkt;

	if (rxe_burst_add(burst, &pkt, BTH_LEN + AETH_LEN + ATMACK_LEN, 0))
		return;
	answer_bth(qp, pkt.hdr, OP_RC_ATOMIC_ACKNOWLEDGE, psn, 0);
	aeth_write(pkt.hdr + BTH_LEN, AETH_ACK_UNLIMITED, qp->rq.msn);
	atmack_write(pkt.hdr + BTH_LEN + AETH_LEN, orig);
	rxe_burst_close(burst, &pkt);
	qp->rq.ack_pending = false;
}

/**
 * rxe_answer_placement - a FLUSH or ATOMIC WRITE is done (A19), and all before it
 * @qp: the QP
 * @psn: of the request
 *
 * Context: rq.task.
 */
void rxe_answer_placement(struct rxe_qp *qp, u32 psn)
{
	if (answer_aeth(qp, OP_RC_READ_RESPONSE_ONLY, AETH_ACK_UNLIMITED, psn))
		qp->rq.ack_pending = false;
}

/* --- READ responses --------------------------------------------------------- */

/**
 * rxe_answer_made - the last response of a READ or atomic is made
 * @rq: receive side
 *
 * The peer has none of it yet.
 *
 * Context: rq.task.
 */
void rxe_answer_made(struct rxe_rq *rq)
{
	WRITE_ONCE(rq->answered, rq->answered + 1);
}

/**
 * rxe_answer_read_start - begin to answer a READ
 * @qp: the QP; no other one is under way
 * @replay: it has been answered before
 * @psn: of the first response
 * @va: where its bytes begin
 * @rkey: key to them
 * @len: how many there are; may be 0
 *
 * Context: rq.task.
 */
void rxe_answer_read_start(struct rxe_qp *qp, bool replay, u32 psn, u64 va, u32 rkey, u32 len)
{
	struct rxe_resp_read *read = &qp->rq.read;

	read->active = true;
	read->replay = replay;
	read->first = true;
	read->psn = psn;
	read->va = va;
	read->rkey = rkey;
	read->left = len;
}

/* Begins a response whose payload need not be copied, if that is so. */
static bool read_lends(struct rxe_qp *qp, struct rxe_burst *burst, struct rxe_txpkt *pkt,
		       u32 hdr_len, u32 len)
{
	const struct rxe_resp_read *read = &qp->rq.read;

	return burst->lends && len >= RXE_LEND_MIN &&
	       !rxe_mem_lend(qp, read->rkey, read->va, len, IB_ACCESS_REMOTE_READ,
			     &burst->loan) &&
	       !rxe_burst_lend(burst, pkt, hdr_len, len);
}

/* Responses of so many bytes altogether have been made. */
static void read_advance(struct rxe_resp_read *read, u32 count, u32 len)
{
	read->first = false;
	read->psn = psn_add(read->psn, count);
	read->va += len;
	read->left -= len;
}

/* Bytes of the response behind the one that is made now, if that is the last of the READ. */
static u32 read_after(const struct rxe_resp_read *read, u32 pmtu)
{
	u32 len = read->left - pmtu;

	if (read->left <= pmtu || len > pmtu)
		return 0;
	return BTH_LEN + AETH_LEN + len + wire_pad(len) + ICRC_LEN;
}

/* Adds one response to the burst: 0, -ENOMEM or -EAGAIN for now, or -EFAULT for good. */
static int read_packet(struct rxe_qp *qp, struct rxe_burst *burst)
{
	struct rxe_resp_read *read = &qp->rq.read;
	u32 len = min(read->left, qp->pmtu);
	bool last = len == read->left;
	u8 opcode = opcode_for_read_response(read->first, last);
	const struct opcode_info *op = opcode_info(opcode);
	struct rxe_txpkt pkt;
	int err = 0;

	burst->after = read_after(read, qp->pmtu);
	if (!read_lends(qp, burst, &pkt, op->hdr_len, len) &&
	    rxe_burst_add(burst, &pkt, op->hdr_len, len))
		return -ENOMEM;
	answer_bth(qp, pkt.hdr, opcode, read->psn, len);
	if (op->flags & OPF_AETH)
		aeth_write(pkt.hdr + op->aeth, AETH_ACK_UNLIMITED, qp->rq.msn);
	qp->rq.fault.ahead = read->left;
	if (len && pkt.payload)
		err = rxe_mem_read(qp, read->rkey, read->va, pkt.payload, len,
				   IB_ACCESS_REMOTE_READ);
	if (err) {
		rxe_burst_drop(burst, &pkt);
		return err == -EAGAIN ? -EAGAIN : -EFAULT;
	}
	rxe_burst_close(burst, &pkt);
	read_advance(read, 1, len);
	if (last) {
		read->active = false;
		if (!read->replay)
			rxe_answer_made(&qp->rq);
	}
	return 0;
}

/*
 * Adds responses from the middle of a READ, behind one that read_packet() has made; up to
 * @budget, and not the last two. Returns how many.
 */
static u32 read_train(struct rxe_qp *qp, struct rxe_burst *burst, u32 budget)
{
	struct rxe_resp_read *read = &qp->rq.read;
	struct rxe_train train;
	struct rxe_txpkt pkt;
	u8 bth[BTH_LEN];
	u32 count;

	if (!read->active)
		return 0;
	/* how the last but one goes depends on the last one */
	count = (read->left - 1) / qp->pmtu;
	if (!count)
		return 0;
	count = min(budget, count - 1);
	if (!count || !rxe_burst_train(burst, &pkt, qp->pmtu, count, &train))
		return 0;
	answer_bth(qp, bth, OP_RC_READ_RESPONSE_MIDDLE, read->psn, qp->pmtu);
	qp->rq.fault.ahead = read->left;
	count = rxe_mem_read_train(qp, read->rkey, read->va, &train);
	rxe_burst_train_close(burst, &pkt, &train, count, bth);
	read_advance(read, count, count * qp->pmtu);
	return count;
}

/**
 * rxe_answer_read - responses of the READ under way, as far as the local queue takes them
 * @qp: the QP
 * @budget: packets at most; less those that were made
 *
 * Context: rq.task.
 * Return: 0, -ENOMEM, -EAGAIN (the page is absent, the task will be called), or -EFAULT:
 * the key does not allow it, or no longer.
 */
int rxe_answer_read(struct rxe_qp *qp, u32 *budget)
{
	struct rxe_rq *rq = &qp->rq;
	u32 most = rxe_flow_packets(&rq->flow, qp->pmtu);
	struct rxe_burst *burst;
	int err = 0;
	u32 count;

	while (rq->read.active && *budget && !rxe_flow_busy(&rq->flow)) {
		burst = answers(qp);
		if (unlikely(most < RXE_TASK_BUDGET && burst->packets >= most)) {
			/* the local queue gets them, and may have enough then */
			rxe_answer_flush(qp);
			most = rxe_flow_packets(&rq->flow, qp->pmtu);
			continue;
		}
		err = read_packet(qp, burst);
		if (err)
			break;
		--*budget;
		count = *budget;
		if (unlikely(most < RXE_TASK_BUDGET))
			count = min(count, most - min(most, burst->packets));
		*budget -= read_train(qp, burst, count);
	}
	return err;
}
