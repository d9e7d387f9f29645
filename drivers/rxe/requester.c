// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requester: send queue -> bursts of packets.
 *
 * A WQE goes through these states; completer.c does the right half:
 *
 *   posted ──pull──► checked ──start──► sending ──last packet──► waiting ──► done
 *                       │                  ▲                        │
 *                       │ status != 0      └────── rewind(PSN) ─────┘
 *                       ▼
 *                 fails when it is the oldest
 *
 * What is sent next depends on one number, sq.psn: the WQE that contains it is
 * sq.next, the place in the message follows from the distance to the WQE's first
 * PSN.  Going back after a loss is therefore nothing but setting sq.psn; sending
 * a part again, in between, is setting it for a moment (send_again()).
 *
 * A READ is asked for in chunks, parts of the largest window, each a READ request
 * of its own as the wire sees it, so that responses come no faster than the
 * window and max_rd_atomic allow.  Chunks start at fixed places of the message:
 * a repeated request never asks for more than the one that it repeats.
 */
#include <linux/ktime.h>

#include "rxe.h"
#include "trace.h"

/* Of so many requests that have responses one has its round trip measured */
#define READS_TIMED	8

static bool wqe_is_read(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_UVERBS_WR_RDMA_READ;
}

static bool wqe_is_atomic(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD;
}

static bool wqe_is_write(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_UVERBS_WR_RDMA_WRITE ||
	       wqe->opcode == IB_UVERBS_WR_RDMA_WRITE_WITH_IMM;
}

/* Done by us, without a packet */
static bool wqe_is_local(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_UVERBS_WR_LOCAL_INV || wqe->opcode == IB_UVERBS_WR_BIND_MW ||
	       wqe->opcode == RXE_WR_REG_MR;
}

/* --- sending ---------------------------------------------------------------- */

static u32 sq_outstanding(const struct rxe_sq *sq)
{
	return psn_diff(sq->psn, sq->una_psn);
}

/* Whether @count more packets may be on their way. */
static bool sq_window_open(const struct rxe_sq *sq, u32 count)
{
	u32 outstanding = sq_outstanding(sq);

	if (!outstanding || sq->again)
		return true;
	return !sq->resend.waiting && outstanding + count <= sq->window.cur;
}

static bool sq_reads_outstanding(const struct rxe_sq *sq)
{
	return sq->reads_head != sq->reads_tail;
}

/* Packets of a READ that are asked for by one request */
static u32 sq_read_chunk(const struct rxe_sq *sq)
{
	return sq->window.first / RXE_WINDOW_READS;
}

/*
 * Whether the peer has a receive for message @ssn, if it needs one. If it has not, or
 * does not know yet, a packet at a time may be sent all the same (9.7.7.2.5): its ACK
 * brings the news.
 */
static bool wqe_has_credit(const struct rxe_sq *sq, const struct rxe_swqe *wqe, u32 ssn)
{
	if (likely(!sq->limited) || !psn_after(ssn, sq->lsn))
		return true;
	return wqe->opcode != IB_UVERBS_WR_SEND && wqe->opcode != IB_UVERBS_WR_SEND_WITH_IMM &&
	       wqe->opcode != IB_UVERBS_WR_SEND_WITH_INV &&
	       wqe->opcode != IB_UVERBS_WR_RDMA_WRITE_WITH_IMM;
}

/* First packet of a WQE: may it start, and if so, with which PSNs? */
static bool wqe_start(struct rxe_qp *qp, struct rxe_swqe *wqe)
{
	struct rxe_sq *sq = &qp->sq;

	if (rxe_qp_state(qp) == IB_QPS_SQD || wqe->status)
		return false;
	if ((wqe->flags & IB_SEND_FENCE) && sq_reads_outstanding(sq))
		return false;
	if (rxe_swqe_has_response(wqe) && !qp->attr.max_rd_atomic) {
		wqe->status = IB_WC_LOC_QP_OP_ERR;
		return false;
	}
	if ((wqe_is_read(wqe) || wqe_is_atomic(wqe)) &&
	    rxe_mem_check_sges(qp->ib.pd, wqe->sge, wqe->num_sge, IB_ACCESS_LOCAL_WRITE)) {
		wqe->status = IB_WC_LOC_PROT_ERR;
		return false;
	}
	wqe->first_psn = sq->psn;
	wqe->last_psn = sq->psn;
	if (!wqe_is_atomic(wqe) && !rxe_swqe_is_placement(wqe))
		wqe->last_psn = psn_add(sq->psn, psn_packets(wqe->length, qp->pmtu) - 1);
	wqe->ssn = psn_add(sq->ssn, 1);
	sq->ssn = wqe->ssn;
	if (wqe_is_read(wqe))
		sq->ssn = psn_add(sq->ssn, psn_diff(wqe->last_psn, sq->psn) / sq_read_chunk(sq));
	wqe->sent = true;
	return true;
}

/* The packets from sq.psn on, @count of them, have been sent. */
static void sq_advance(struct rxe_qp *qp, const struct rxe_swqe *wqe, u32 count)
{
	struct rxe_sq *sq = &qp->sq;

	if (psn_before(sq->psn, sq->max_psn))
		rxe_sq_count(qp, RXE_CNT_RETRANSMITTED, count);
	if (sq->psn == sq->una_psn && !sq->again)
		sq->progress = true;	/* the clock starts with the first */
	sq->psn = psn_add(sq->psn, count);
	if (psn_after(sq->psn, sq->max_psn))
		sq->max_psn = sq->psn;
	if (psn_after(sq->psn, wqe->last_psn))
		sq->next++;
}

static bool sq_add_read(struct rxe_qp *qp, u32 last_psn)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_sq_read *read = &sq->reads[sq->reads_tail % RXE_MAX_RD_ATOMIC];

	if (sq->again)
		return true;	/* it is in the list, and stays there */
	/* what was begun is finished, also if none may be begun any more */
	if (sq->reads_tail - sq->reads_head >= max_t(u32, qp->attr.max_rd_atomic, 1))
		return false;
	read->first_psn = sq->psn;
	read->last_psn = last_psn;
	return true;
}

/* A round trip begins with the packet at sq.psn, if none is being timed. */
static void sq_time(struct rxe_sq *sq)
{
	sq->untimed = 0;
	if (sq->rtt_start || sq->psn != sq->max_psn)
		return;
	sq->rtt_psn = sq->psn;
	sq->rtt_una = sq->una_psn;
	sq->rtt_start = ktime_get_ns();
	sq->rtt_again = false;
}

/* What sq_add_read() has made room for has been sent. */
static void sq_read_added(struct rxe_sq *sq)
{
	if (sq->again)
		return;
	sq->reads_tail++;
	if (!sq->rto.srtt_ns || sq->rto.backoff || ++sq->untimed >= READS_TIMED)
		sq_time(sq);
}

static void packet_bth(struct rxe_qp *qp, u8 *hdr, u8 opcode, bool se, bool ackreq, u32 payload)
{
	struct bth_fields bth = {
		.opcode = opcode,
		.se = se,
		.mig = true,
		.ackreq = ackreq,
		.pad = wire_pad(payload),
		.pkey = RXE_DEFAULT_PKEY,
		.dqpn = qp->attr.dest_qp_num,
		.psn = qp->sq.psn,
	};

	bth_write(hdr, &bth);
}

/* Adds a packet to the burst; without memory the task will be called again. */
static bool packet_add(struct rxe_qp *qp, struct rxe_burst *burst, struct rxe_txpkt *pkt,
		       u32 hdr_len, u32 payload_len)
{
	if (likely(!rxe_burst_add(burst, pkt, hdr_len, payload_len)))
		return true;
	qp->sq.starved = true;
	return false;
}

/*
 * Packets of a READ to be asked for again from sq.psn on, at most @most: those that are
 * missing in one piece. A peer that answers again only from where it was asked last is
 * asked for all up to the last one that is wanted, at once: once asked for the second of two
 * pieces, it would not give the first any more, if that was lost again.
 */
static u32 read_again_packets(const struct rxe_sq *sq, u32 most)
{
	u32 count = rxe_reorder_gap(&sq->held, sq->psn, most);

	if (likely(!sq->onward))
		return count;
	most = min_t(u32, most, psn_diff(sq->again_end, sq->psn));
	return max(count, rxe_reorder_span(&sq->held, sq->psn, most));
}

/*
 * Sends one READ request, for the rest of the chunk that sq.psn lies in; if it is
 * sent again, for what is missing of that.
 */
static bool send_read(struct rxe_qp *qp, struct rxe_swqe *wqe, struct rxe_burst *burst)
{
	struct rxe_sq *sq = &qp->sq;
	u64 offset = psn_offset(wqe->first_psn, sq->psn, qp->pmtu);
	u32 at = psn_diff(sq->psn, wqe->first_psn);
	u32 chunk = sq_read_chunk(sq);
	u32 end = (at / chunk + 1) * chunk;
	u32 total = psn_diff(wqe->last_psn, wqe->first_psn) + 1;
	u32 count = min(end, total) - at;
	struct rxe_txpkt pkt;
	u32 len;

	if (sq->again)
		count = read_again_packets(sq, count);
	if (!sq_window_open(sq, count) || !sq_add_read(qp, psn_add(sq->psn, count - 1)))
		return false;
	if (!packet_add(qp, burst, &pkt, BTH_LEN + RETH_LEN, 0))
		return false;
	len = min_t(u64, wqe->length - offset, (u64)count * qp->pmtu);
	packet_bth(qp, pkt.hdr, OP_RC_READ_REQUEST, false, false, 0);
	reth_write(pkt.hdr + BTH_LEN, wqe->remote_addr + offset, wqe->rkey, len);
	rxe_burst_close(burst, &pkt);
	sq_read_added(sq);
	sq_advance(qp, wqe, count);
	return true;
}

static bool send_atomic(struct rxe_qp *qp, struct rxe_swqe *wqe, struct rxe_burst *burst)
{
	struct rxe_sq *sq = &qp->sq;
	bool swap = wqe->opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP;
	struct rxe_txpkt pkt;

	if (!sq_window_open(sq, 1) || !sq_add_read(qp, sq->psn))
		return false;
	if (!packet_add(qp, burst, &pkt, BTH_LEN + ATMETH_LEN, 0))
		return false;
	packet_bth(qp, pkt.hdr, swap ? OP_RC_COMPARE_SWAP : OP_RC_FETCH_ADD, false, false, 0);
	atmeth_write(pkt.hdr + BTH_LEN, wqe->remote_addr, wqe->rkey,
		     swap ? wqe->swap : wqe->compare_add, swap ? wqe->compare_add : 0);
	rxe_burst_close(burst, &pkt);
	sq_read_added(sq);
	sq_advance(qp, wqe, 1);
	return true;
}

/* Sends a FLUSH or an ATOMIC WRITE (A19). */
static bool send_placement(struct rxe_qp *qp, struct rxe_swqe *wqe, struct rxe_burst *burst)
{
	bool flush = wqe->opcode == IB_UVERBS_WR_FLUSH;
	u8 opcode = opcode_for(flush ? MSG_FLUSH : MSG_ATOMIC_WRITE, true, true, false, false);
	const struct opcode_info *op = opcode_info(opcode);
	struct rxe_sq *sq = &qp->sq;
	struct rxe_txpkt pkt;

	if (!sq_window_open(sq, 1) || !sq_add_read(qp, sq->psn))
		return false;
	if (!packet_add(qp, burst, &pkt, op->hdr_len, flush ? 0 : sizeof(u64)))
		return false;
	packet_bth(qp, pkt.hdr, opcode, false, false, pkt.payload_len);
	reth_write(pkt.hdr + op->reth, wqe->remote_addr, wqe->rkey, wqe->length);
	if (flush)
		feth_write(pkt.hdr + op->feth, wqe->placement, wqe->selectivity);
	else
		memcpy(pkt.payload, rxe_swqe_inline(wqe), sizeof(u64));
	rxe_burst_close(burst, &pkt);
	sq_read_added(sq);
	sq_advance(qp, wqe, 1);
	return true;
}

/*
 * Ask for an ACK where sending pauses, and now and then in between: each costs
 * the peer a packet, none costs us a timeout.
 */
static bool data_wants_ack(struct rxe_qp *qp, bool last, u32 prod)
{
	struct rxe_sq *sq = &qp->sq;
	const struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->next), *after;

	if (rxe_qp_is_uc(qp))
		return false;
	if (sq->again)
		return psn_add(sq->psn, 1) == sq->again_end;
	if (sq->unacked + 1 >= sq->window.max / RXE_WINDOW_ACKS ||
	    sq_outstanding(sq) + 1 >= sq->window.cur)
		return true;
	if (unlikely(!wqe_has_credit(sq, wqe, wqe->ssn)))
		return true;
	if (unlikely(READ_ONCE(sq->flow.paced)) && rxe_pace_ends(&sq->flow, qp->pmtu))
		return true;
	if (!last)
		return false;
	if (sq->next + 1 == prod || rxe_qp_state(qp) == IB_QPS_SQD)
		return true;
	/* what may have to wait must not wait for this one, too */
	after = rxe_sq_slot(sq, sq->next + 1);
	return after->status || (after->flags & IB_SEND_FENCE) || wqe_is_local(after) ||
	       rxe_swqe_has_response(after) || !wqe_has_credit(sq, after, psn_add(wqe->ssn, 1));
}

static int data_payload(struct rxe_qp *qp, struct rxe_swqe *wqe, u64 offset,
			struct rxe_txpkt *pkt)
{
	u32 len = pkt->payload_len;

	if (!len || !pkt->payload)
		return 0;
	if (wqe->is_inline) {
		memcpy(pkt->payload, rxe_swqe_inline(wqe) + offset, len);
		return 0;
	}
	return rxe_mem_read_sges(qp->ib.pd, &qp->sq.fault, wqe->sge, wqe->num_sge, offset,
				 pkt->payload, len);
}

/* Bytes of the packet behind this one, if that is the last of all that is to be sent. */
static u32 data_after(const struct rxe_qp *qp, const struct rxe_swqe *wqe, u32 prod)
{
	const struct rxe_sq *sq = &qp->sq;
	u32 len;

	if (sq->again || sq->next + 1 != prod || sq->psn != psn_add(wqe->last_psn, PSN_MASK) ||
	    (wqe->opcode != IB_UVERBS_WR_SEND && wqe->opcode != IB_UVERBS_WR_RDMA_WRITE))
		return 0;
	len = wqe->length - psn_offset(wqe->first_psn, wqe->last_psn, qp->pmtu);
	return BTH_LEN + len + wire_pad(len) + ICRC_LEN;
}

/* Begins a packet of data, with its payload if that need not be copied. */
static bool data_add(struct rxe_qp *qp, struct rxe_swqe *wqe, u64 offset,
		     struct rxe_burst *burst, struct rxe_txpkt *pkt, u32 hdr_len)
{
	u32 len = min_t(u64, wqe->length - offset, qp->pmtu);

	if (burst->lends && len >= RXE_LEND_MIN && !wqe->is_inline &&
	    !rxe_mem_lend_sges(qp->ib.pd, &qp->sq.fault, wqe->sge, wqe->num_sge, offset, len,
			       &burst->loan) &&
	    !rxe_burst_lend(burst, pkt, hdr_len, len))
		return true;
	return packet_add(qp, burst, pkt, hdr_len, len);
}

/* Sends one packet of a SEND or RDMA WRITE. */
static bool send_data(struct rxe_qp *qp, struct rxe_swqe *wqe, struct rxe_burst *burst, u32 prod)
{
	struct rxe_sq *sq = &qp->sq;
	bool write = wqe_is_write(wqe);
	bool imm = wqe->opcode == IB_UVERBS_WR_RDMA_WRITE_WITH_IMM ||
		   wqe->opcode == IB_UVERBS_WR_SEND_WITH_IMM;
	u64 offset = psn_offset(wqe->first_psn, sq->psn, qp->pmtu);
	bool first = sq->psn == wqe->first_psn;
	bool last = sq->psn == wqe->last_psn;
	const struct opcode_info *op;
	struct rxe_txpkt pkt;
	bool ackreq;
	u8 opcode;
	int err;

	if (unlikely(!wqe_has_credit(sq, wqe, wqe->ssn)) && sq_outstanding(sq) && !sq->again)
		return false;
	if (!rxe_qp_is_uc(qp) && !sq_window_open(sq, 1)) {
		WRITE_ONCE(sq->bulk, wqe->length >= RXE_BULK_PAYLOAD && !sq->flow.light);
		return false;
	}
	opcode = opcode_for(write ? MSG_WRITE : MSG_SEND, first, last, imm,
			    wqe->opcode == IB_UVERBS_WR_SEND_WITH_INV);
	if (rxe_qp_is_uc(qp))
		opcode |= OP_UC_SEND_FIRST;	/* the same but for the transport */
	op = opcode_info(opcode);
	burst->after = data_after(qp, wqe, prod);
	if (!data_add(qp, wqe, offset, burst, &pkt, op->hdr_len))
		return false;
	ackreq = data_wants_ack(qp, last, prod);
	packet_bth(qp, pkt.hdr, opcode,
		   last && (wqe->flags & IB_SEND_SOLICITED) && (op->flags & OPF_RWR),
		   ackreq, pkt.payload_len);
	if (op->flags & OPF_RETH)
		reth_write(pkt.hdr + op->reth, wqe->remote_addr, wqe->rkey, wqe->length);
	if (op->flags & OPF_IMM)
		immdt_put(pkt.hdr + op->imm, wqe->imm_data);
	if (op->flags & OPF_IETH)
		ieth_write(pkt.hdr + op->ieth, wqe->invalidate_rkey);
	err = data_payload(qp, wqe, offset, &pkt);
	if (err) {
		rxe_burst_drop(burst, &pkt);
		if (err == -EAGAIN)
			sq->starved = true;
		else
			wqe->status = IB_WC_LOC_PROT_ERR;
		return false;
	}
	rxe_burst_close(burst, &pkt);
	if (!sq->again)
		sq->unacked++;
	if (ackreq && !sq->again) {
		sq->unacked = 0;
		sq_time(sq);
	}
	sq_advance(qp, wqe, 1);
	return true;
}

/*
 * Does what needs no packet.  It has its place in the order of completions: its
 * PSNs are none, between those before it and those behind.  A fence makes it wait
 * for everything before (10.8.3.3).
 */
static bool do_local(struct rxe_qp *qp, struct rxe_swqe *wqe)
{
	struct rxe_sq *sq = &qp->sq;
	int err;

	if (!wqe->sent) {
		if (rxe_qp_state(qp) == IB_QPS_SQD || wqe->status)
			return false;
		if ((wqe->flags & IB_SEND_FENCE) && sq->cons != sq->next)
			return false;
		if (wqe->opcode == IB_UVERBS_WR_LOCAL_INV)
			err = rxe_mr_invalidate(qp, wqe->invalidate_rkey, false);
		else if (wqe->opcode == IB_UVERBS_WR_BIND_MW)
			err = rxe_mw_bind(qp, &wqe->bind);
		else
			err = rxe_mr_register(qp, wqe->reg.mr, wqe->reg.key, wqe->reg.access);
		if (err) {
			wqe->status = IB_WC_MW_BIND_ERR;
			return false;
		}
		wqe->first_psn = sq->psn;
		wqe->last_psn = psn_add(sq->psn, PSN_MASK);
		wqe->sent = true;
	}
	sq->next++;
	return true;
}

/* A local operation that has waited for all before it, which no answer had to end */
static bool sq_fence_is_over(struct rxe_qp *qp, u32 prod)
{
	struct rxe_sq *sq = &qp->sq;
	const struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->next);

	return sq->next != prod && sq->cons == sq->next && wqe_is_local(wqe) && !wqe->sent &&
	       !wqe->status && rxe_qp_state(qp) == IB_QPS_RTS;
}

static bool send_one(struct rxe_qp *qp, struct rxe_burst *burst, u32 prod)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe;

	if (sq->next == prod)
		return false;
	wqe = rxe_sq_slot(sq, sq->next);
	if (wqe_is_local(wqe))
		return do_local(qp, wqe);
	if (!wqe->sent && !wqe_start(qp, wqe))
		return false;
	if (wqe->status || rxe_flow_busy(&sq->flow))
		return false;
	if (wqe_is_read(wqe))
		return send_read(qp, wqe, burst);
	if (wqe_is_atomic(wqe))
		return send_atomic(qp, wqe, burst);
	if (rxe_swqe_is_placement(wqe))
		return send_placement(qp, wqe, burst);
	return send_data(qp, wqe, burst, prod);
}

/*
 * How many packets may follow the one just sent, of the same message and as long, before one
 * of them asks for an ACK, or is the last but one: what that does depends on what follows.
 */
static u32 train_length(const struct rxe_qp *qp, const struct rxe_swqe *wqe)
{
	const struct rxe_sq *sq = &qp->sq;
	s32 most = psn_diff(wqe->last_psn, sq->psn) - 1;

	/* what is sent again is counted as such */
	if (psn_before(sq->psn, sq->max_psn))
		most = min(most, psn_diff(sq->max_psn, sq->psn));
	if (!rxe_qp_is_uc(qp)) {
		most = min_t(s32, most, sq->window.max / RXE_WINDOW_ACKS - 1 - sq->unacked);
		most = min_t(s32, most, sq->window.cur - 1 - sq_outstanding(sq));
	}
	return max(most, 0);
}

/*
 * Sends packets from the middle of a message, up to @budget, behind one that was made by
 * send_data(): they differ from it in PSN and payload alone. Returns how many.
 */
static u32 send_train(struct rxe_qp *qp, struct rxe_burst *burst, u32 prod, u32 budget)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->next);
	struct rxe_train train;
	struct rxe_txpkt pkt;
	u8 bth[BTH_LEN];
	u32 count;
	u8 opcode;

	if (sq->next == prod || !wqe->sent || wqe->status || wqe->is_inline ||
	    rxe_swqe_has_response(wqe) || wqe_is_local(wqe) ||
	    !psn_after(sq->psn, wqe->first_psn) || unlikely(sq->limited))
		return 0;
	count = min(budget, train_length(qp, wqe));
	if (!count || rxe_flow_busy(&sq->flow) ||
	    !rxe_burst_train(burst, &pkt, qp->pmtu, count, &train))
		return 0;
	opcode = opcode_for(wqe_is_write(wqe) ? MSG_WRITE : MSG_SEND, false, false, false, false);
	packet_bth(qp, bth, opcode | (rxe_qp_is_uc(qp) ? OP_UC_SEND_FIRST : 0), false, false,
		   qp->pmtu);
	count = rxe_mem_read_sges_train(qp, wqe->sge, wqe->num_sge,
					psn_offset(wqe->first_psn, sq->psn, qp->pmtu), &train);
	rxe_burst_train_close(burst, &pkt, &train, count, bth);
	sq->unacked += count;
	sq_advance(qp, wqe, count);
	return count;
}

/* Points sq.next to the WQE that contains a PSN not before it. */
static void sq_seek_on(struct rxe_sq *sq, u32 psn)
{
	sq->psn = psn;
	while (sq->next != sq->prod) {
		const struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->next);

		if (!wqe->sent || !psn_after(psn, wqe->last_psn))
			break;
		sq->next++;
	}
}

static void sq_seek(struct rxe_sq *sq, u32 psn)
{
	sq->next = sq->cons;
	sq_seek_on(sq, psn);
}

static bool sq_wants_again(const struct rxe_sq *sq)
{
	return sq->again_psn != sq->again_end;
}

/*
 * Goes to what is to be sent again next, if there is anything: not what has been answered in
 * the meantime, by a response that is kept, or by those to READs behind it.
 */
static u32 sq_again_from(struct rxe_sq *sq)
{
	const struct rxe_swqe *wqe;
	u32 psn = sq->again_psn;

	sq->next = sq->cons;
	while (psn = rxe_reorder_absent(&sq->held, psn, sq->again_end),
	       psn_before(psn, sq->again_end)) {
		sq_seek_on(sq, psn);
		wqe = rxe_sq_slot(sq, sq->next);
		if (sq->next == sq->prod || rxe_swqe_has_response(wqe) ||
		    !psn_before(psn, sq->confirmed))
			break;
		psn = psn_add(wqe->last_psn, 1);
		if (psn_after(psn, sq->confirmed))
			psn = sq->confirmed;
	}
	return psn;
}

/* Sends one packet of what is to be sent again. */
static bool send_again(struct rxe_qp *qp, struct rxe_burst *burst, u32 prod)
{
	struct rxe_sq *sq = &qp->sq;
	u32 psn = sq->psn;
	u32 next = sq->next;
	bool sent;

	if (!sq_wants_again(sq))
		return false;
	if (psn_before(sq->again_psn, sq->una_psn))
		sq->again_psn = sq->una_psn;
	sq->again_psn = sq_again_from(sq);
	if (!psn_before(sq->again_psn, sq->again_end) || !psn_before(sq->again_psn, psn)) {
		/* has been acknowledged, or comes all the same */
		sq->again_psn = sq->again_end;
		sq->psn = psn;
		sq->next = next;
		return false;
	}
	sq->again = true;
	sent = send_one(qp, burst, prod);
	sq->again = false;
	sq->again_psn = psn_before(sq->psn, sq->again_end) ? sq->psn : sq->again_end;
	sq->psn = psn;
	sq->next = next;
	return sent;
}

/*
 * Sending has paused for a reason that was not foreseen when the last packet
 * left without AckReq (the next WQE turned out to be bad, the QP is draining):
 * send it once more, with AckReq.
 */
static bool sq_must_ask(struct rxe_qp *qp)
{
	const struct rxe_sq *sq = &qp->sq;

	return !rxe_qp_is_uc(qp) && sq->unacked && sq_outstanding(sq) &&
	       !sq_reads_outstanding(sq) && !sq->starved && !rxe_flow_busy(&qp->sq.flow);
}

/*
 * What another CPU keeps may be in front of what is to be sent: the peer would find a
 * gap. If all has been answered, nothing is kept. UC has no answers.
 */
static bool sq_left_in_order(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	return (rxe_qp_is_uc(qp) || psn_before(sq->una_psn, sq->max_psn)) &&
	       rxe_task_elsewhere(&sq->task);
}

/*
 * Bulk data is not sent from softirq: the packets would stay behind on this CPU
 * while another may go on sending, and arrive out of order.  If the worker is
 * late, it is sent all the same.
 */
static bool sq_left_to_worker(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	return in_serving_softirq() && num_online_cpus() > 1 && !sq->flow.light && !sq->hurry &&
	       rxe_sq_slot(sq, sq->next)->length >= RXE_BULK_PAYLOAD &&
	       sq_window_open(sq, 1) && rxe_task_queue(&sq->task);
}

/**
 * rxe_requester_send - send what may be sent, at most a budget
 * @qp: QP in a state that sends
 *
 * A WQE that cannot be executed fails here, once it is the oldest.
 *
 * Context: sq.task.
 * Return: true if the budget ended it.
 */
bool rxe_requester_send(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	u32 budget = rxe_flow_packets(&sq->flow, qp->pmtu);
	const struct rxe_swqe *oldest;
	struct rxe_burst burst;
	bool again = false;
	bool more;
	u32 prod;

	/* pairs with the release in post_kernel(): the slots are complete */
	prod = smp_load_acquire(&sq->prod);
	if (sq->rnr_wait || (sq->next == prod && !sq_wants_again(sq)))
		return false;
	more = !sq_left_in_order(qp) && sq->next != prod && !sq_left_to_worker(qp);
	if (!more && !sq_wants_again(sq))
		return false;
	sq->starved = false;
	WRITE_ONCE(sq->bulk, false);
	rxe_burst_begin(&burst, &sq->flow);
	while (budget && send_again(qp, &burst, prod)) {
		budget--;
		again = true;
	}
	while (more && budget && send_one(qp, &burst, prod)) {
		budget--;
		budget -= send_train(qp, &burst, prod, budget);
	}
	if (more && budget && sq_must_ask(qp)) {
		trace_rxe_resend(qp, RXE_CNT_RESEND_PROBE, psn_add(sq->psn, PSN_MASK));
		rxe_sq_count(qp, RXE_CNT_RESEND_PROBE, 1);
		rxe_requester_again(qp, psn_add(sq->psn, PSN_MASK), sq->psn);
		send_again(qp, &burst, prod);
		sq->unacked = 0;
	}
	rxe_burst_send(&burst);
	if (unlikely(again))
		sq->charged = rxe_flow_charged(&sq->flow);
	rxe_completer_local(qp);
	if (rxe_qp_is_uc(qp))
		rxe_completer_sent(qp);
	oldest = rxe_sq_slot(sq, sq->cons);
	if (sq->cons != prod && oldest->status &&
	    (oldest->sent || rxe_qp_state(qp) != IB_QPS_SQD))
		rxe_wc_fail(qp, oldest->status);
	return !budget || (more && sq_fence_is_over(qp, prod));
}

/**
 * rxe_requester_again - send some packets again, before anything else
 * @qp: the QP
 * @psn: from here; not acknowledged yet
 * @end: to here, exclusive; not beyond what has been sent
 *
 * Context: sq.task.
 */
void rxe_requester_again(struct rxe_qp *qp, u32 psn, u32 end)
{
	struct rxe_sq *sq = &qp->sq;

	if (sq_wants_again(sq)) {
		if (psn_before(sq->again_psn, psn))
			psn = sq->again_psn;
		if (psn_after(sq->again_end, end))
			end = sq->again_end;
	}
	sq->again_psn = psn;
	sq->again_end = end;
	/* nobody knows which of them an answer is for */
	sq->rtt_start = 0;
}

/**
 * rxe_requester_rewind - go back and send again
 * @qp: the QP
 * @psn: from here; not acknowledged yet
 *
 * Context: sq.task.
 */
void rxe_requester_rewind(struct rxe_qp *qp, u32 psn)
{
	struct rxe_sq *sq = &qp->sq;

	/* what has not been asked for again yet will not be now */
	if (sq_wants_again(sq))
		sq->asked_end = sq->una_psn;
	sq_seek(sq, psn);
	sq->again_psn = sq->again_end;
	/* requests that reach beyond the place will be made again */
	while (sq_reads_outstanding(sq) &&
	       !psn_before(sq->reads[(sq->reads_tail - 1) % RXE_MAX_RD_ATOMIC].last_psn, psn))
		sq->reads_tail--;
	sq->unacked = sq->window.max;
	sq->rtt_start = 0;
}
