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
 * PSN.  Going back after a loss is therefore nothing but setting sq.psn.
 *
 * A READ is asked for in chunks of RXE_READ_CHUNK packets, each a READ request
 * of its own as the wire sees it, so that responses come no faster than the
 * window and max_rd_atomic allow.  Chunks start at fixed places of the message:
 * a repeated request never asks for more than the one that it repeats.
 */
#include <linux/ktime.h>

#include "rxe.h"

static bool wqe_is_read(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_UVERBS_WR_RDMA_READ;
}

static bool wqe_is_atomic(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD;
}

/* --- posting ---------------------------------------------------------------- */

/* Decides whether a copied WQE can be executed; the verdict is its status. */
static void wqe_check(struct rxe_qp *qp, struct rxe_swqe *wqe, u64 length)
{
	wqe->length = length;
	if (length > RXE_MAX_MSG) {
		wqe->status = IB_WC_LOC_LEN_ERR;
		return;
	}
	switch (wqe->opcode) {
	case IB_UVERBS_WR_RDMA_WRITE:
	case IB_UVERBS_WR_RDMA_WRITE_WITH_IMM:
	case IB_UVERBS_WR_SEND:
	case IB_UVERBS_WR_SEND_WITH_IMM:
		return;
	case IB_UVERBS_WR_RDMA_READ:
		if (wqe->is_inline || !qp->attr.max_rd_atomic)
			wqe->status = IB_WC_LOC_QP_OP_ERR;
		return;
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
		if (wqe->is_inline || !qp->attr.max_rd_atomic)
			wqe->status = IB_WC_LOC_QP_OP_ERR;
		else if (length != sizeof(u64))
			wqe->status = IB_WC_LOC_LEN_ERR;
		return;
	default:
		wqe->status = IB_WC_LOC_QP_OP_ERR;
	}
}

static u64 sges_length(const struct rxe_mem_sge *sge, u32 num_sge)
{
	u64 length = 0;
	u32 i;

	for (i = 0; i < num_sge; i++)
		length += sge[i].length;
	return length;
}

/*
 * Copies one WQE out of the user's ring.  The ring may change under our hands:
 * everything is read once, and only the copy is looked at.
 */
static void pull_one(struct rxe_qp *qp, struct rxe_swqe *wqe, const void *element)
{
	struct rxe_send_wqe user;
	u64 length;

	memcpy(&user, element, sizeof(user));
	barrier();	/* the compiler may not read the ring again */
	memset(wqe, 0, offsetof(struct rxe_swqe, sge));
	wqe->wr_id = user.wr.wr_id;
	wqe->flags = user.wr.send_flags;
	wqe->opcode = user.wr.opcode;
	if (user.wr.opcode > U8_MAX)
		wqe->status = IB_WC_LOC_QP_OP_ERR;
	wqe->imm_data = user.wr.ex.imm_data;
	switch (wqe->opcode) {
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
		wqe->remote_addr = user.wr.wr.atomic.remote_addr;
		wqe->rkey = user.wr.wr.atomic.rkey;
		wqe->compare_add = user.wr.wr.atomic.compare_add;
		wqe->swap = user.wr.wr.atomic.swap;
		break;
	default:
		wqe->remote_addr = user.wr.wr.rdma.remote_addr;
		wqe->rkey = user.wr.wr.rdma.rkey;
	}
	element += sizeof(user);
	if (wqe->flags & IB_SEND_INLINE) {
		wqe->is_inline = true;
		length = user.dma.length;
		if (length > qp->cap.max_inline_data) {
			wqe->status = IB_WC_LOC_LEN_ERR;
			return;
		}
		memcpy(rxe_swqe_inline(wqe), element, length);
	} else {
		wqe->num_sge = user.dma.num_sge;
		if (wqe->num_sge > qp->cap.max_send_sge) {
			wqe->num_sge = 0;
			wqe->status = IB_WC_LOC_QP_OP_ERR;
			return;
		}
		memcpy(wqe->sge, element, wqe->num_sge * sizeof(wqe->sge[0]));
		barrier();
		/* the total in the ring is wrong with some providers: add up */
		length = sges_length(wqe->sge, wqe->num_sge);
	}
	if (!wqe->status)
		wqe_check(qp, wqe, length);
}

/**
 * rxe_requester_pull - take over what user space has posted, at most a budget
 * @qp: the QP; of a kernel user there is nothing to do
 *
 * Context: sq.task.
 * Return: true if the budget ended it.
 */
bool rxe_requester_pull(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	u32 budget = RXE_WQE_BUDGET;
	u32 prod;

	if (!qp->is_user)
		return false;
	prod = rxe_ring_producer(&sq->ring);
	while ((sq->prod & sq->mask) != prod) {
		if (!budget--)
			return true;
		if (sq->prod - sq->cons >= sq->mask) {
			/* an index that jumped: more than the ring can hold */
			rxe_count(qp->dev, RXE_CNT_RING_VIOLATIONS);
			return false;
		}
		pull_one(qp, rxe_sq_slot(sq, sq->prod),
			 rxe_ring_element(&sq->ring, sq->prod & sq->mask));
		sq->prod++;
	}
	return false;
}

static int kernel_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
		return IB_UVERBS_WR_RDMA_WRITE;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return IB_UVERBS_WR_RDMA_WRITE_WITH_IMM;
	case IB_WR_SEND:
		return IB_UVERBS_WR_SEND;
	case IB_WR_SEND_WITH_IMM:
		return IB_UVERBS_WR_SEND_WITH_IMM;
	case IB_WR_RDMA_READ:
		return IB_UVERBS_WR_RDMA_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return IB_UVERBS_WR_ATOMIC_CMP_AND_SWP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD;
	default:
		return -EOPNOTSUPP;
	}
}

/* Inline data of a kernel user is at the address itself. */
static int post_inline(struct rxe_qp *qp, struct rxe_swqe *wqe, const struct ib_send_wr *wr)
{
	u32 length = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > qp->cap.max_inline_data - length)
			return -EINVAL;
		memcpy(rxe_swqe_inline(wqe) + length, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		length += wr->sg_list[i].length;
	}
	wqe->is_inline = true;
	wqe_check(qp, wqe, length);
	return 0;
}

static int post_one(struct rxe_qp *qp, struct rxe_swqe *wqe, const struct ib_send_wr *wr)
{
	int opcode = kernel_opcode(wr->opcode);
	int i;

	if (opcode < 0)
		return opcode;
	if (wr->num_sge < 0 || wr->num_sge > qp->cap.max_send_sge)
		return -EINVAL;
	memset(wqe, 0, offsetof(struct rxe_swqe, sge));
	wqe->wr_id = wr->wr_id;
	wqe->flags = wr->send_flags;
	wqe->opcode = opcode;
	wqe->imm_data = wr->ex.imm_data;
	switch (opcode) {
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
		wqe->remote_addr = atomic_wr(wr)->remote_addr;
		wqe->rkey = atomic_wr(wr)->rkey;
		wqe->compare_add = atomic_wr(wr)->compare_add;
		wqe->swap = atomic_wr(wr)->swap;
		break;
	case IB_UVERBS_WR_SEND:
	case IB_UVERBS_WR_SEND_WITH_IMM:
		break;
	default:
		wqe->remote_addr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
	}
	if (wr->send_flags & IB_SEND_INLINE)
		return post_inline(qp, wqe, wr);
	for (i = 0; i < wr->num_sge; i++) {
		wqe->sge[i].addr = wr->sg_list[i].addr;
		wqe->sge[i].length = wr->sg_list[i].length;
		wqe->sge[i].lkey = wr->sg_list[i].lkey;
	}
	wqe->num_sge = wr->num_sge;
	wqe_check(qp, wqe, sges_length(wqe->sge, wqe->num_sge));
	return 0;
}

static int post_kernel(struct rxe_qp *qp, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad)
{
	struct rxe_sq *sq = &qp->sq;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&sq->post_lock, flags);
	for (; wr; wr = wr->next) {
		if (sq->prod - READ_ONCE(sq->cons) >= qp->cap.max_send_wr)
			err = -ENOMEM;
		else
			err = post_one(qp, rxe_sq_slot(sq, sq->prod), wr);
		if (err) {
			*bad = wr;
			break;
		}
		/* the slot is complete before the task sees it */
		smp_store_release(&sq->prod, sq->prod + 1);
	}
	spin_unlock_irqrestore(&sq->post_lock, flags);
	return err;
}

/**
 * rxe_requester_post - the post_send verb (10.8.2)
 * @ibqp: QP
 * @wr: list of requests of a kernel user; of user space the ring holds them
 * @bad: set to the first request that could not be posted
 *
 * Context: any for kernel users, process for user space.
 * Return: 0, -EINVAL in a state that takes no sends or for a bad request,
 * -ENOMEM if the queue is full, -EOPNOTSUPP for an opcode not supported.
 */
int rxe_requester_post(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);
	enum ib_qp_state state = rxe_qp_state(qp);
	int err;

	if (state == IB_QPS_RESET || state == IB_QPS_INIT || state == IB_QPS_RTR) {
		*bad = wr;
		return -EINVAL;
	}
	if (qp->is_user) {
		rxe_task_run(&qp->sq.task);
		return 0;
	}
	err = post_kernel(qp, wr, bad);
	/* a consumer may post with a lock held that its completion handler takes */
	rxe_task_kick(&qp->sq.task);
	return err;
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

	if (!outstanding)
		return true;
	return !sq->probing && outstanding + count <= sq->window.cur;
}

static bool sq_reads_outstanding(const struct rxe_sq *sq)
{
	return sq->reads_head != sq->reads_tail;
}

/* First packet of a WQE: may it start, and if so, with which PSNs? */
static bool wqe_start(struct rxe_qp *qp, struct rxe_swqe *wqe)
{
	struct rxe_sq *sq = &qp->sq;

	if (rxe_qp_state(qp) == IB_QPS_SQD || wqe->status)
		return false;
	if ((wqe->flags & IB_SEND_FENCE) && sq_reads_outstanding(sq))
		return false;
	if ((wqe_is_read(wqe) || wqe_is_atomic(wqe)) && !qp->attr.max_rd_atomic) {
		wqe->status = IB_WC_LOC_QP_OP_ERR;
		return false;
	}
	if ((wqe_is_read(wqe) || wqe_is_atomic(wqe)) &&
	    rxe_mem_check_sges(qp->ib.pd, wqe->sge, wqe->num_sge, IB_ACCESS_LOCAL_WRITE)) {
		wqe->status = IB_WC_LOC_PROT_ERR;
		return false;
	}
	wqe->first_psn = sq->psn;
	wqe->last_psn = psn_add(sq->psn, wqe_is_atomic(wqe) ? 0 :
				psn_packets(wqe->length, qp->pmtu) - 1);
	wqe->sent = true;
	return true;
}

/* The packets from sq.psn on, @count of them, have been sent. */
static void sq_advance(struct rxe_qp *qp, const struct rxe_swqe *wqe, u32 count)
{
	struct rxe_sq *sq = &qp->sq;

	if (psn_before(sq->psn, sq->max_psn))
		rxe_count_add(qp->dev, RXE_CNT_RETRANSMITTED, count);
	if (sq->psn == sq->una_psn)
		sq->progress_at = jiffies;	/* the clock starts with the first */
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

	if (sq->reads_tail - sq->reads_head >= qp->attr.max_rd_atomic)
		return false;
	read->last_psn = last_psn;
	return true;
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

/* Sends one READ request, for the rest of the chunk that sq.psn lies in. */
static bool send_read(struct rxe_qp *qp, struct rxe_swqe *wqe, struct rxe_burst *burst)
{
	struct rxe_sq *sq = &qp->sq;
	u64 offset = psn_offset(wqe->first_psn, sq->psn, qp->pmtu);
	u32 at = psn_diff(sq->psn, wqe->first_psn);
	u32 end = (at / RXE_READ_CHUNK + 1) * RXE_READ_CHUNK;
	u32 total = psn_diff(wqe->last_psn, wqe->first_psn) + 1;
	u32 count = min(end, total) - at;
	struct rxe_txpkt pkt;
	u32 len;

	if (!sq_window_open(sq, count) || !sq_add_read(qp, psn_add(sq->psn, count - 1)))
		return false;
	if (!packet_add(qp, burst, &pkt, BTH_LEN + RETH_LEN, 0))
		return false;
	len = min_t(u64, wqe->length - offset, (u64)count * qp->pmtu);
	packet_bth(qp, pkt.hdr, OP_RC_READ_REQUEST, false, false, 0);
	reth_write(pkt.hdr + BTH_LEN, wqe->remote_addr + offset, wqe->rkey, len);
	rxe_burst_headers(burst, &pkt);
	rxe_burst_close(burst, &pkt);
	sq->reads_tail++;
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
	rxe_burst_headers(burst, &pkt);
	rxe_burst_close(burst, &pkt);
	sq->reads_tail++;
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
	const struct rxe_swqe *after;

	if (sq->unacked + 1 >= RXE_ACK_EVERY || sq_outstanding(sq) + 1 >= sq->window.cur)
		return true;
	if (!last)
		return false;
	if (sq->next + 1 == prod || rxe_qp_state(qp) == IB_QPS_SQD)
		return true;
	/* what may have to wait must not wait for this one, too */
	after = rxe_sq_slot(sq, sq->next + 1);
	return after->status || (after->flags & IB_SEND_FENCE) ||
	       wqe_is_read(after) || wqe_is_atomic(after);
}

static int data_payload(struct rxe_qp *qp, struct rxe_swqe *wqe, u64 offset,
			struct rxe_txpkt *pkt, u32 *crc)
{
	u32 len = pkt->payload_len;

	if (!len)
		return 0;
	if (wqe->is_inline) {
		*crc = rxe_mem_copy_sum(pkt->payload, rxe_swqe_inline(wqe) + offset, len, *crc);
		return 0;
	}
	return rxe_mem_read_sges(qp->ib.pd, wqe->sge, wqe->num_sge, offset,
				 pkt->payload, len, crc);
}

/* Sends one packet of a SEND or RDMA WRITE. */
static bool send_data(struct rxe_qp *qp, struct rxe_swqe *wqe, struct rxe_burst *burst, u32 prod)
{
	struct rxe_sq *sq = &qp->sq;
	bool write = wqe->opcode == IB_UVERBS_WR_RDMA_WRITE ||
		     wqe->opcode == IB_UVERBS_WR_RDMA_WRITE_WITH_IMM;
	bool imm = wqe->opcode == IB_UVERBS_WR_RDMA_WRITE_WITH_IMM ||
		   wqe->opcode == IB_UVERBS_WR_SEND_WITH_IMM;
	u64 offset = psn_offset(wqe->first_psn, sq->psn, qp->pmtu);
	bool first = sq->psn == wqe->first_psn;
	bool last = sq->psn == wqe->last_psn;
	const struct opcode_info *op;
	struct rxe_txpkt pkt;
	bool ackreq;
	u8 opcode;

	if (!sq_window_open(sq, 1)) {
		WRITE_ONCE(sq->bulk, wqe->length >= RXE_BULK_PAYLOAD);
		return false;
	}
	opcode = opcode_for(write ? MSG_WRITE : MSG_SEND, first, last, imm, false);
	op = opcode_info(opcode);
	if (!packet_add(qp, burst, &pkt, op->hdr_len,
			min_t(u64, wqe->length - offset, qp->pmtu)))
		return false;
	ackreq = data_wants_ack(qp, last, prod);
	packet_bth(qp, pkt.hdr, opcode,
		   last && (wqe->flags & IB_SEND_SOLICITED) && (op->flags & OPF_RWR),
		   ackreq, pkt.payload_len);
	if (op->flags & OPF_RETH)
		reth_write(pkt.hdr + op->reth, wqe->remote_addr, wqe->rkey, wqe->length);
	if (op->flags & OPF_IMM)
		immdt_put(pkt.hdr + op->imm, wqe->imm_data);
	if (data_payload(qp, wqe, offset, &pkt, rxe_burst_headers(burst, &pkt))) {
		rxe_burst_drop(burst, &pkt);
		wqe->status = IB_WC_LOC_PROT_ERR;
		return false;
	}
	rxe_burst_close(burst, &pkt);
	sq->unacked++;
	if (ackreq) {
		sq->unacked = 0;
		if (!sq->rtt_start && sq->psn == sq->max_psn) {
			sq->rtt_psn = sq->psn;
			sq->rtt_start = ktime_get_ns();
		}
	}
	sq_advance(qp, wqe, 1);
	return true;
}

static bool send_one(struct rxe_qp *qp, struct rxe_burst *burst, u32 prod)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe;

	if (sq->next == prod)
		return false;
	wqe = rxe_sq_slot(sq, sq->next);
	if (!wqe->sent && !wqe_start(qp, wqe))
		return false;
	if (wqe->status || rxe_flow_busy(&sq->flow))
		return false;
	if (wqe_is_read(wqe))
		return send_read(qp, wqe, burst);
	if (wqe_is_atomic(wqe))
		return send_atomic(qp, wqe, burst);
	return send_data(qp, wqe, burst, prod);
}

/*
 * Sending has paused for a reason that was not foreseen when the last packet
 * left without AckReq (the next WQE turned out to be bad, the QP is draining):
 * send it once more, with AckReq.
 */
static bool sq_must_ask(struct rxe_qp *qp)
{
	const struct rxe_sq *sq = &qp->sq;

	return sq->unacked && sq_outstanding(sq) && !sq_reads_outstanding(sq) &&
	       !sq->starved && !rxe_flow_busy(&qp->sq.flow);
}

/*
 * Bulk data is not sent from softirq: the packets would stay behind on this CPU
 * while another may go on sending, and arrive out of order.  If the worker is
 * late, it is sent all the same.
 */
static bool sq_left_to_worker(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	return in_serving_softirq() && num_online_cpus() > 1 &&
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
	u32 budget = RXE_TASK_BUDGET;
	struct rxe_burst burst;
	u32 prod;

	/* pairs with the release in post_kernel(): the slots are complete */
	prod = smp_load_acquire(&sq->prod);
	if (sq->next == prod || sq->rnr_wait || sq_left_to_worker(qp))
		return false;
	sq->starved = false;
	WRITE_ONCE(sq->bulk, false);
	rxe_burst_begin(&burst, &sq->flow);
	while (budget && send_one(qp, &burst, prod))
		budget--;
	if (budget && sq_must_ask(qp)) {
		rxe_requester_rewind(qp, psn_add(sq->psn, PSN_MASK));
		send_one(qp, &burst, prod);
	}
	rxe_burst_send(&burst);
	if (sq->next != prod && sq->next == sq->cons &&
	    rxe_sq_slot(sq, sq->next)->status)
		rxe_completer_fail(qp, rxe_sq_slot(sq, sq->next)->status);
	return !budget;
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

	sq->psn = psn;
	sq->next = sq->cons;
	while (sq->next != sq->prod) {
		const struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->next);

		if (!wqe->sent || !psn_after(psn, wqe->last_psn))
			break;
		sq->next++;
	}
	/* requests that reach beyond the place will be made again */
	while (sq_reads_outstanding(sq) &&
	       !psn_before(sq->reads[(sq->reads_tail - 1) % RXE_MAX_RD_ATOMIC].last_psn, psn))
		sq->reads_tail--;
	sq->unacked = RXE_ACK_EVERY;
	sq->rtt_start = 0;
}
