// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Responder: requests -> memory and receive completions; ACKs, NAKs, replays.
 *
 * Each request packet takes one way down:
 *
 *   PSN ahead of the expected one      one sequence NAK, then silence (9.7.5.2.8)
 *   PSN behind                         duplicate: ACK again, or replay what was
 *                                      saved; never execute twice
 *   PSN expected
 *     opcode fits rq.progress? ─────── no: error
 *     lengths right? ───────────────── no: error
 *     receive WQE needed, there? ───── no: RNR NAK, the packet comes again
 *     key, bounds, rights? ─────────── no: error
 *     place the payload, end of message: completion, MSN; next PSN
 *
 *   rq.progress:  NONE ── SEND First ──► IN_SEND  ── Last ──► NONE
 *                   └──── WRITE First ─► IN_WRITE ── Last ──┘
 *
 * What an error leads to (syndrome, state of the QP, event, status of the
 * receive WQE) is read from the table in proto/errors.c; every error but a
 * silent one is answered.
 *
 * READ responses are sent here as far as budget and local queue allow; requests
 * behind a READ wait for it, as ordering demands.
 */
#include "rxe.h"

/* How often a QP in error looks for receives that user space has posted since */
#define FLUSH_INTERVAL	(HZ / 10)
/* When there was no memory for a READ response, try again after this */
#define STARVED_INTERVAL	max_t(unsigned long, HZ / 100, 1)

/* --- answers ---------------------------------------------------------------- */

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

static void answer_ack(struct rxe_qp *qp, u8 syndrome, u32 psn)
{
	struct rxe_burst burst;
	struct rxe_txpkt pkt;

	rxe_burst_begin(&burst, &qp->rq.flow);
	if (rxe_burst_add(&burst, &pkt, BTH_LEN + AETH_LEN, 0))
		return;		/* lost, like on the wire */
	answer_bth(qp, pkt.hdr, OP_RC_ACKNOWLEDGE, psn, 0);
	aeth_write(pkt.hdr + BTH_LEN, syndrome, qp->rq.msn);
	rxe_burst_headers(&burst, &pkt);
	rxe_burst_close(&burst, &pkt);
	rxe_burst_send(&burst);
}

static void answer_pending(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;

	if (!rq->ack_pending)
		return;
	rq->ack_pending = false;
	rxe_count(qp->dev, RXE_CNT_ACK_SENT);
	answer_ack(qp, AETH_ACK_UNLIMITED, psn_add(rq->psn, PSN_MASK));
}

static void answer_atomic(struct rxe_qp *qp, u32 psn, u64 orig)
{
	struct rxe_burst burst;
	struct rxe_txpkt pkt;

	rxe_burst_begin(&burst, &qp->rq.flow);
	if (rxe_burst_add(&burst, &pkt, BTH_LEN + AETH_LEN + ATMACK_LEN, 0))
		return;
	answer_bth(qp, pkt.hdr, OP_RC_ATOMIC_ACKNOWLEDGE, psn, 0);
	aeth_write(pkt.hdr + BTH_LEN, AETH_ACK_UNLIMITED, qp->rq.msn);
	atmack_write(pkt.hdr + BTH_LEN + AETH_LEN, orig);
	rxe_burst_headers(&burst, &pkt);
	rxe_burst_close(&burst, &pkt);
	rxe_burst_send(&burst);
	/* it acknowledges all before it */
	qp->rq.ack_pending = false;
}

/* --- receive WQEs ----------------------------------------------------------- */

/*
 * Copies the next receive WQE out of the ring, which may change under our
 * hands.  False: there is none.
 */
static bool wqe_get(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;
	const void *element;
	struct rxe_recv_wqe posted;
	u64 room = 0;
	u32 i;

	if (rxe_ring_producer(&rq->ring) == rq->ring.index)
		return false;
	element = rxe_ring_element(&rq->ring, rq->ring.index);
	memcpy(&posted, element, sizeof(posted));
	barrier();	/* the compiler may not read the ring again */
	rq->wr_id = posted.wr_id;
	rq->num_sge = posted.dma.num_sge;
	if (rq->num_sge > qp->cap.max_recv_sge) {
		rxe_count(qp->dev, RXE_CNT_RING_VIOLATIONS);
		rq->num_sge = 0;
	}
	memcpy(rq->sge, element + sizeof(posted), rq->num_sge * sizeof(rq->sge[0]));
	barrier();
	for (i = 0; i < rq->num_sge; i++)
		room += rq->sge[i].length;
	rq->room = min_t(u64, room, U32_MAX);
	rq->have_wqe = true;
	rq->ring.index = (rq->ring.index + 1) & rq->ring.mask;
	rxe_ring_set_consumer(&rq->ring, rq->ring.index);
	return true;
}

/* The receive WQE in use completes; false: the CQ is full. */
static bool wqe_complete(struct rxe_qp *qp, struct rxe_wc *wc)
{
	qp->rq.have_wqe = false;
	wc->wr_id = qp->rq.wr_id;
	wc->src_qp = qp->attr.dest_qp_num;
	if (rxe_cq_post(qp->rcq, qp, wc))
		return true;
	rxe_qp_info(qp, "receive completion lost, the CQ is full\n");
	return false;
}

static void wqe_fail(struct rxe_qp *qp, u8 status)
{
	struct rxe_wc wc = {
		.status = status,
		.opcode = IB_WC_RECV,
	};

	if (!wqe_complete(qp, &wc))
		rxe_qp_error(qp);
}

/**
 * rxe_responder_flush - complete receives with a flush error, at most a budget
 * @qp: QP in the error state
 *
 * Flushes what was posted when the flush began; what user space posts
 * meanwhile, without telling us, is left to the timer.  So it ends, however fast
 * the ring is filled.
 *
 * Context: rq.task, or when it has been stopped.
 * Return: true if there is more to do.
 */
bool rxe_responder_flush(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;
	u32 budget = RXE_WQE_BUDGET;

	if (rq->have_wqe)
		wqe_fail(qp, IB_WC_WR_FLUSH_ERR);
	if (!rq->flush_left)
		rq->flush_left = (rxe_ring_producer(&rq->ring) - rq->ring.index) & rq->ring.mask;
	while (rq->flush_left && budget--) {
		rq->flush_left--;
		if (wqe_get(qp))
			wqe_fail(qp, IB_WC_WR_FLUSH_ERR);
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
 * rxe_responder_timeout - look for receives posted to a QP in error, or try
 * again to send READ responses
 * @t: rq.timer of a QP
 *
 * Context: softirq.
 */
void rxe_responder_timeout(struct timer_list *t)
{
	struct rxe_qp *qp = timer_container_of(qp, t, rq.timer);

	rxe_task_run(&qp->rq.task);
}

/**
 * rxe_responder_post - the post_recv verb of kernel users (10.8.3)
 * @ibqp: QP
 * @wr: list of receives
 * @bad: set to the first that could not be posted
 *
 * Context: any.
 * Return: 0, -EINVAL in the reset state or for a bad request, -ENOMEM if the
 * queue is full.
 */
int rxe_responder_post(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);
	struct rxe_ring *ring = &qp->rq.ring;
	unsigned long flags;
	int err = 0;

	if (qp->is_user || rxe_qp_state(qp) == IB_QPS_RESET) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->rq.post_lock, flags);
	for (; wr && !err; wr = wr->next) {
		u32 prod = rxe_ring_producer(ring);
		struct rxe_recv_wqe *wqe = rxe_ring_element(ring, prod);

		if (((prod - rxe_ring_consumer(ring)) & ring->mask) >= qp->cap.max_recv_wr)
			err = -ENOMEM;
		else if (wr->num_sge < 0 || wr->num_sge > qp->cap.max_recv_sge)
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
	spin_unlock_irqrestore(&qp->rq.post_lock, flags);
	/* either the flush that follows the error sees the post, or we the error */
	smp_mb();
	if (rxe_qp_state(qp) == IB_QPS_ERR)
		rxe_task_kick(&qp->rq.task);
	return err;
}

/* --- errors ----------------------------------------------------------------- */

static void request_failed(struct rxe_qp *qp, const struct rxe_rxpkt *pkt, enum resp_error err)
{
	const struct resp_error_info *info = resp_error_info(err);
	struct rxe_rq *rq = &qp->rq;
	bool had_wqe = rq->have_wqe;
	u8 syndrome = info->syndrome;

	if (info->class == CLASS_RNR) {
		syndrome |= qp->attr.min_rnr_timer & AETH_VALUE_MASK;
		rxe_count(qp->dev, RXE_CNT_RNR_SENT);
		/* what follows is dropped in silence until this packet returns */
		rq->nak_sent = true;
	} else if (syndrome) {
		rxe_count(qp->dev, RXE_CNT_NAK_SENT);
	}
	if (syndrome)
		answer_ack(qp, syndrome, rq->psn);
	if (!info->qp_error)
		return;
	rxe_qp_info(qp, "%s, opcode %#x, PSN %#x, peer qp %#x\n", info->name,
		    pkt->opcode, pkt->psn, qp->attr.dest_qp_num);
	rq->ack_pending = false;
	if (had_wqe)
		wqe_fail(qp, info->wc_status_responder ? info->wc_status_responder :
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

/* --- READ ------------------------------------------------------------------- */

static struct rxe_resp_res *res_save(struct rxe_qp *qp, u8 opcode, u32 packets)
{
	struct rxe_rq *rq = &qp->rq;
	struct rxe_resp_res *res = &rq->res[rq->res_next];

	rq->res_next = (rq->res_next + 1) % rq->num_res;
	res->opcode = opcode;
	res->first_psn = rq->psn;
	res->last_psn = psn_add(rq->psn, packets - 1);
	return res;
}

static void read_start(struct rxe_qp *qp, u32 psn, u64 va, u32 rkey, u32 len)
{
	struct rxe_resp_read *read = &qp->rq.read;

	read->active = true;
	read->first = true;
	read->psn = psn;
	read->va = va;
	read->rkey = rkey;
	read->left = len;
}

/* Adds one response to the burst: 0, -ENOMEM for now, or -EFAULT for good. */
static int read_packet(struct rxe_qp *qp, struct rxe_burst *burst)
{
	struct rxe_resp_read *read = &qp->rq.read;
	u32 len = min(read->left, qp->pmtu);
	bool last = len == read->left;
	u8 opcode = opcode_for_read_response(read->first, last);
	const struct opcode_info *op = opcode_info(opcode);
	struct rxe_txpkt pkt;
	u32 *crc;

	if (rxe_burst_add(burst, &pkt, op->hdr_len, len))
		return -ENOMEM;
	answer_bth(qp, pkt.hdr, opcode, read->psn, len);
	if (op->flags & OPF_AETH)
		aeth_write(pkt.hdr + op->aeth, AETH_ACK_UNLIMITED, qp->rq.msn);
	crc = rxe_burst_headers(burst, &pkt);
	if (len && rxe_mem_read(qp->ib.pd, read->rkey, read->va, pkt.payload, len,
				IB_ACCESS_REMOTE_READ, crc)) {
		rxe_burst_drop(burst, &pkt);
		return -EFAULT;
	}
	rxe_burst_close(burst, &pkt);
	read->first = false;
	read->psn = psn_add(read->psn, 1);
	read->va += len;
	read->left -= len;
	if (last)
		read->active = false;
	return 0;
}

/*
 * Sends responses of the READ under way.  True: the budget is used up; with
 * read.active still set and false, the local queue is full, or there is no
 * memory, and its draining or the timer calls the task again.
 */
static bool read_continue(struct rxe_qp *qp, u32 *budget)
{
	struct rxe_rq *rq = &qp->rq;
	struct rxe_burst burst;
	int err = 0;

	rxe_burst_begin(&burst, &rq->flow);
	while (rq->read.active && *budget && !rxe_flow_busy(&rq->flow)) {
		err = read_packet(qp, &burst);
		if (err)
			break;
		--*budget;
	}
	rxe_burst_send(&burst);
	/* responses acknowledge all before them */
	rq->ack_pending = false;
	if (err == -ENOMEM)
		mod_timer(&rq->timer, jiffies + STARVED_INTERVAL);
	if (err == -EFAULT) {
		/* the region went away while it was being read */
		rq->read.active = false;
		rxe_count(qp->dev, RXE_CNT_NAK_SENT);
		answer_ack(qp, NAK_REM_ACCESS, rq->read.psn);
		rxe_qp_error(qp);
		rxe_qp_event(qp, IB_EVENT_QP_ACCESS_ERR);
	}
	return !*budget;
}

static enum resp_error execute_read(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	const u8 *reth = pkt->hdr + pkt->op->reth;
	struct rxe_rq *rq = &qp->rq;
	u32 packets = psn_packets(reth_len(reth), qp->pmtu);
	struct rxe_resp_res *res;

	if (!rq->num_res)
		return RESP_ERR_TOO_MANY_READS;
	/* a READ of nothing touches nothing (C9-88) */
	if (reth_len(reth) && rxe_mem_check(qp->ib.pd, reth_rkey(reth), reth_va(reth),
					    reth_len(reth), IB_ACCESS_REMOTE_READ))
		return RESP_ERR_RKEY;
	res = res_save(qp, pkt->opcode, packets);
	res->va = reth_va(reth);
	res->rkey = reth_rkey(reth);
	res->length = reth_len(reth);
	read_start(qp, rq->psn, res->va, res->rkey, res->length);
	rq->psn = psn_add(rq->psn, packets);
	rq->msn = (rq->msn + 1) & PSN_MASK;	/* at acceptance (C9-148) */
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

	if (!rq->num_res)
		return RESP_ERR_TOO_MANY_READS;
	if (atmeth_va(eth) & (sizeof(u64) - 1))
		return RESP_ERR_ALIGN;
	if (pkt->opcode == OP_RC_COMPARE_SWAP)
		err = rxe_mem_cmp_swap(qp->ib.pd, atmeth_rkey(eth), atmeth_va(eth),
				       atmeth_compare(eth), atmeth_swap_add(eth), &orig);
	else
		err = rxe_mem_fetch_add(qp->ib.pd, atmeth_rkey(eth), atmeth_va(eth),
					atmeth_swap_add(eth), &orig);
	if (err)	/* the memory may be unaligned though its address is not */
		return err == -EINVAL ? RESP_ERR_ALIGN : RESP_ERR_RKEY;
	res = res_save(qp, pkt->opcode, 1);
	res->orig = orig;
	rq->msn = (rq->msn + 1) & PSN_MASK;
	rq->psn = psn_add(rq->psn, 1);
	answer_atomic(qp, res->first_psn, orig);
	return RESP_OK;
}

/* --- SEND and RDMA WRITE ---------------------------------------------------- */

static enum resp_error place_send(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;

	if (!rq->have_wqe && !wqe_get(qp))
		return RESP_ERR_RNR;
	if (rq->done + pkt->payload_len > rq->room)
		return RESP_ERR_RECV_TOO_SHORT;
	if (pkt->payload_len &&
	    rxe_mem_write_sges(qp->ib.pd, rq->sge, rq->num_sge, rq->done, pkt->skb,
			       pkt->payload_off, pkt->payload_len))
		return RESP_ERR_LOCAL_OP;
	return RESP_OK;
}

static enum resp_error place_write(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;

	/* a WRITE of nothing touches nothing (C9-88) */
	if ((pkt->op->flags & OPF_START) && rq->length &&
	    rxe_mem_check(qp->ib.pd, rq->rkey, rq->va, rq->length, IB_ACCESS_REMOTE_WRITE))
		return RESP_ERR_RKEY;
	if ((pkt->op->flags & OPF_RWR) && (pkt->op->flags & OPF_END) &&
	    !rq->have_wqe && !wqe_get(qp))
		return RESP_ERR_RNR;
	if (pkt->payload_len &&
	    rxe_mem_write(qp->ib.pd, rq->rkey, rq->va + rq->done, pkt->skb,
			  pkt->payload_off, pkt->payload_len, IB_ACCESS_REMOTE_WRITE))
		return RESP_ERR_RKEY;
	return RESP_OK;
}

static enum resp_error message_end(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;
	struct rxe_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = pkt->op->flags & OPF_WRITE ? IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.solicited = pkt->se,
		.byte_len = rq->done,
	};

	if (pkt->op->flags & OPF_IMM) {
		wc.flags |= IB_WC_WITH_IMM;
		wc.imm_data = immdt_get(pkt->hdr + pkt->op->imm);
	}
	if (rq->have_wqe && !wqe_complete(qp, &wc))
		return RESP_ERR_CQ_OVERRUN;
	rq->msn = (rq->msn + 1) & PSN_MASK;
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
	rq->psn = psn_add(rq->psn, 1);
	if (pkt->ackreq)
		rq->ack_pending = true;
	return RESP_OK;
}

/* --- the way of a packet ---------------------------------------------------- */

/* Whether the QP takes this kind of request at all. */
static enum resp_error check_rights(struct rxe_qp *qp, const struct opcode_info *op)
{
	int need = 0;

	if (op->flags & OPF_WRITE)
		need = IB_ACCESS_REMOTE_WRITE;
	else if (op->flags & OPF_READ)
		need = IB_ACCESS_REMOTE_READ;
	else if (op->flags & OPF_ATOMIC)
		need = IB_ACCESS_REMOTE_ATOMIC;
	else if (!(op->flags & OPF_SEND) || (op->flags & OPF_IETH))
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

	err = check_rights(qp, pkt->op);
	if (!err)
		err = resp_check_opcode(qp->rq.progress, pkt->op);
	if (err)
		return err;
	if (pkt->op->flags & (OPF_SEND | OPF_WRITE))
		return execute_message(qp, pkt);
	if (pkt->op->flags & OPF_READ)
		in.total = reth_len(pkt->hdr + pkt->op->reth);
	err = resp_check_length(pkt->op, &in);
	if (err)
		return err;
	return pkt->op->flags & OPF_READ ? execute_read(qp, pkt) : execute_atomic(qp, pkt);
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

static void duplicate_read(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	const u8 *reth = pkt->hdr + pkt->op->reth;
	struct rxe_resp_res *res = res_find(&qp->rq, pkt->opcode, pkt->psn);
	struct read_span saved, again;

	if (!res)
		return;		/* class D */
	saved.psn = res->first_psn;
	saved.rkey = res->rkey;
	saved.va = res->va;
	saved.len = res->length;
	again.psn = pkt->psn;
	again.rkey = reth_rkey(reth);
	again.va = reth_va(reth);
	again.len = reth_len(reth);
	if (read_replay_fits(&saved, &again, qp->pmtu))
		read_start(qp, again.psn, again.va, again.rkey, again.len);
}

static void duplicate(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_resp_res *res;

	rxe_count(qp->dev, RXE_CNT_DUPLICATE_REQUEST);
	/* a replay acknowledges less than what is due by now */
	if (pkt->op->flags & (OPF_READ | OPF_ATOMIC))
		answer_pending(qp);
	if (pkt->op->flags & OPF_READ) {
		duplicate_read(qp, pkt);
	} else if (pkt->op->flags & OPF_ATOMIC) {
		res = res_find(&qp->rq, pkt->opcode, pkt->psn);
		if (res)
			answer_atomic(qp, pkt->psn, res->orig);
	} else if (pkt->ackreq || (pkt->op->flags & OPF_END)) {
		/* say again how far we are (C9-105) */
		qp->rq.ack_pending = true;
	}
}

static void request(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;
	enum resp_error err;

	if (!rq->established) {
		rq->established = true;
		if (rxe_qp_state(qp) == IB_QPS_RTR)
			rxe_qp_event(qp, IB_EVENT_COMM_EST);
	}
	switch (psn_classify(rq->psn, pkt->psn)) {
	case PSN_DUPLICATE:
		duplicate(qp, pkt);
		return;
	case PSN_AHEAD:
		rxe_count(qp->dev, RXE_CNT_OUT_OF_SEQUENCE);
		if (!rq->nak_sent)
			request_failed(qp, pkt, RESP_ERR_PSN_SEQ);
		rq->nak_sent = true;
		return;
	case PSN_EXPECTED:
		break;
	}
	rq->nak_sent = false;
	err = execute(qp, pkt);
	if (err)
		request_failed(qp, pkt, err);
}

static bool receives(const struct rxe_qp *qp)
{
	switch (rxe_qp_state(qp)) {
	case IB_QPS_RTR:
	case IB_QPS_RTS:
	case IB_QPS_SQD:
		return true;
	default:
		return false;
	}
}

/* The next packet of the skb in hand, or of the next skb. */
static bool next_packet(struct rxe_qp *qp, struct rxe_rxpkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;

	for (;;) {
		if (!rq->iter.skb) {
			struct sk_buff *skb = rxe_rx_dequeue(qp->dev, &rq->rxq);

			if (!skb)
				return false;
			rxe_rx_iter_init(&rq->iter, skb);
		}
		if (rxe_rx_next(&rq->iter, pkt))
			return true;
		consume_skb(rq->iter.skb);
		rq->iter.skb = NULL;
	}
}

static void drop_packets(struct rxe_rq *rq)
{
	kfree_skb(rq->iter.skb);
	rq->iter.skb = NULL;
	skb_queue_purge(&rq->rxq);
	rq->read.active = false;
	rq->ack_pending = false;
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
	struct rxe_rq *rq = &qp->rq;
	u32 budget = RXE_TASK_BUDGET;
	struct rxe_rxpkt pkt;

	while (receives(qp) && budget) {
		if (rq->read.active) {
			if (read_continue(qp, &budget))
				return true;
			if (rq->read.active)
				return false;
			continue;
		}
		if (!next_packet(qp, &pkt))
			break;
		request(qp, &pkt);
		budget--;
	}
	if (!receives(qp)) {
		drop_packets(rq);
		return rxe_qp_state(qp) == IB_QPS_ERR && rxe_responder_flush(qp);
	}
	answer_pending(qp);
	return !budget;
}
