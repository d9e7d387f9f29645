// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting: what users want sent -> checked send WQEs.
 *
 * A user's process writes into its ring, and the task copies from there, once; a kernel
 * user's call fills a slot itself. What cannot be executed is a WQE with a status all the
 * same: it fails when it is the oldest. From here on requester.c owns the slot.
 */
#include "rxe.h"
#include "trace.h"

/* Decides whether a copied WQE can be executed; the verdict is its status. */
static void wqe_check(struct rxe_qp *qp, struct rxe_swqe *wqe, u64 length)
{
	wqe->length = length;
	if (length > RXE_MAX_MSG) {
		wqe->status = IB_WC_LOC_LEN_ERR;
		return;
	}
	if (rxe_qp_is_datagram(qp)) {
		if (wqe->opcode != IB_UVERBS_WR_SEND && wqe->opcode != IB_UVERBS_WR_SEND_WITH_IMM)
			wqe->status = IB_WC_LOC_QP_OP_ERR;
		return;
	}
	switch (wqe->opcode) {
	case IB_UVERBS_WR_RDMA_WRITE:
	case IB_UVERBS_WR_RDMA_WRITE_WITH_IMM:
	case IB_UVERBS_WR_SEND:
	case IB_UVERBS_WR_SEND_WITH_IMM:
	case IB_UVERBS_WR_LOCAL_INV:
	case IB_UVERBS_WR_BIND_MW:
	case RXE_WR_REG_MR:
		return;
	case IB_UVERBS_WR_SEND_WITH_INV:
		if (rxe_qp_is_uc(qp))
			wqe->status = IB_WC_LOC_QP_OP_ERR;
		return;
	case IB_UVERBS_WR_RDMA_READ:
		if (wqe->is_inline || !qp->attr.max_rd_atomic || rxe_qp_is_uc(qp))
			wqe->status = IB_WC_LOC_QP_OP_ERR;
		return;
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
		if (wqe->is_inline || !qp->attr.max_rd_atomic || rxe_qp_is_uc(qp))
			wqe->status = IB_WC_LOC_QP_OP_ERR;
		else if (length != sizeof(u64))
			wqe->status = IB_WC_LOC_LEN_ERR;
		return;
	case IB_UVERBS_WR_FLUSH:
	case IB_UVERBS_WR_ATOMIC_WRITE:
		if (!qp->attr.max_rd_atomic || rxe_qp_is_uc(qp))
			wqe->status = IB_WC_LOC_QP_OP_ERR;
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

/* What the request is about, on the other side. */
static void pull_target(struct rxe_swqe *wqe, const struct rxe_send_wr *wr)
{
	switch (wqe->opcode) {
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->compare_add = wr->wr.atomic.compare_add;
		wqe->swap = wr->wr.atomic.swap;
		break;
	case IB_UVERBS_WR_FLUSH:
		wqe->remote_addr = wr->wr.flush.remote_addr;
		wqe->rkey = wr->wr.flush.rkey;
		wqe->placement = wr->wr.flush.type;
		wqe->selectivity = wr->wr.flush.level;
		break;
	case IB_UVERBS_WR_SEND_WITH_INV:
	case IB_UVERBS_WR_LOCAL_INV:
		wqe->invalidate_rkey = wr->ex.invalidate_rkey;
		break;
	case IB_UVERBS_WR_BIND_MW:
		wqe->bind.addr = wr->wr.mw.addr;
		wqe->bind.length = wr->wr.mw.length;
		wqe->bind.mr_lkey = wr->wr.mw.mr_lkey;
		wqe->bind.mw_rkey = wr->wr.mw.mw_rkey;
		wqe->bind.rkey = wr->wr.mw.rkey;
		wqe->bind.access = wr->wr.mw.access;
		break;
	default:
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
	}
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
	if (user.wr.opcode > U8_MAX || user.wr.opcode == RXE_WR_REG_MR)
		wqe->status = IB_WC_LOC_QP_OP_ERR;
	wqe->imm_data = user.wr.ex.imm_data;
	if (rxe_qp_is_datagram(qp))
		rxe_datagram_pull(wqe, &user.wr);
	else
		pull_target(wqe, &user.wr);
	element += sizeof(user);
	if (wqe->opcode == IB_UVERBS_WR_FLUSH) {
		length = user.dma.length;	/* of the peer's memory */
	} else if (wqe->opcode == IB_UVERBS_WR_ATOMIC_WRITE) {
		wqe->is_inline = true;
		length = sizeof(u64);
		memcpy(rxe_swqe_inline(wqe), element, length);
	} else if (wqe->flags & IB_SEND_INLINE) {
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
 * rxe_post_pull - take over what user space has posted, at most a budget
 * @qp: the QP; of a kernel user there is nothing to do
 *
 * Context: sq.task.
 * Return: true if the budget ended it.
 */
bool rxe_post_pull(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	u32 budget = RXE_WQE_BUDGET;
	u32 first = sq->prod;
	u32 prod;

	if (!qp->is_user)
		return false;
	rxe_gather_pull(qp);
	prod = rxe_ring_producer(&sq->ring);
	while ((sq->prod & sq->mask) != prod) {
		if (!budget--)
			return true;
		if (sq->prod - sq->cons >= sq->mask) {
			/* an index that jumped: more than the ring can hold */
			rxe_sq_count(qp, RXE_CNT_RING_VIOLATIONS, 1);
			trace_rxe_ring(qp, "send queue: producer index jumped", prod);
			return false;
		}
		pull_one(qp, rxe_sq_slot(sq, sq->prod),
			 rxe_ring_element(&sq->ring, sq->prod & sq->mask));
		sq->prod++;
	}
	if (sq->prod != first) {
		const struct rxe_swqe *last = rxe_sq_slot(sq, sq->prod - 1);

		rxe_gather_pulled(qp, last->length, rxe_swqe_has_response(last));
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
	case IB_WR_SEND_WITH_INV:
		return IB_UVERBS_WR_SEND_WITH_INV;
	case IB_WR_LOCAL_INV:
		return IB_UVERBS_WR_LOCAL_INV;
	case IB_WR_REG_MR:
		return RXE_WR_REG_MR;
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
	case IB_UVERBS_WR_SEND_WITH_INV:
	case IB_UVERBS_WR_LOCAL_INV:
		wqe->invalidate_rkey = wr->ex.invalidate_rkey;
		break;
	case RXE_WR_REG_MR:
		wqe->reg.mr = to_rxe_mr(reg_wr(wr)->mr);
		wqe->reg.key = reg_wr(wr)->key;
		wqe->reg.access = reg_wr(wr)->access;
		break;
	case IB_UVERBS_WR_SEND:
	case IB_UVERBS_WR_SEND_WITH_IMM:
		if (rxe_qp_is_datagram(qp))
			rxe_datagram_post(wqe, ud_wr(wr));
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
 * rxe_post_send - the post_send verb (10.8.2)
 * @ibqp: QP
 * @wr: list of requests of a kernel user; of user space the ring holds them
 * @bad: set to the first request that could not be posted
 *
 * Context: any for kernel users, process for user space.
 * Return: 0, -EINVAL in a state that takes no sends or for a bad request,
 * -ENOMEM if the queue is full, -EOPNOTSUPP for an opcode not supported.
 */
int rxe_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
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
		if (state != IB_QPS_RTS || !rxe_gather_post(qp))
			rxe_task_run(&qp->sq.task);
		return 0;
	}
	err = post_kernel(qp, wr, bad);
	/* a consumer may post with a lock held that its completion handler takes */
	rxe_task_kick(&qp->sq.task);
	return err;
}
