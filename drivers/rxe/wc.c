// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The end of a send WQE: its work completion, if one is wanted, and its slot, which whoever
 * posts may fill again.
 */
#include "rxe.h"

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

/**
 * rxe_wc_show - what rxe_wc_add() has gathered becomes visible
 * @qp: the QP
 *
 * Context: sq.task.
 */
void rxe_wc_show(struct rxe_qp *qp)
{
	struct rxe_wc_row *row = &qp->sq.row;
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

/**
 * rxe_wc_add - the oldest WQE is done; its completion goes to the end of a row
 * @qp: the QP
 * @status: enum ib_wc_status
 *
 * The row is shown when it is full, and before the task ends: a lock and an upcall for
 * several. Who calls this sees to rxe_wc_show().
 *
 * Context: sq.task.
 */
void rxe_wc_add(struct rxe_qp *qp, u8 status)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_wc_row *row = &sq->row;
	const struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->cons);
	bool wanted = status != IB_WC_SUCCESS || sq->sig_all ||
		      (wqe->flags & IB_SEND_SIGNALED);

	if (!row->count)
		row->alive = rxe_qp_state(qp) != IB_QPS_ERR;
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
	if (row->count == ARRAY_SIZE(row->wc))
		rxe_wc_show(qp);
}

/**
 * rxe_wc_complete - the oldest WQE is done, and what has been gathered becomes visible
 * @qp: the QP
 * @status: enum ib_wc_status
 *
 * Its slot is given back before the completion is visible: who sees the
 * completion may post at once.
 *
 * Context: sq.task.
 */
void rxe_wc_complete(struct rxe_qp *qp, u8 status)
{
	rxe_wc_add(qp, status);
	rxe_wc_show(qp);
}

/**
 * rxe_wc_fail - the oldest WQE has failed; the QP goes to an error state
 * @qp: the QP
 * @status: enum ib_wc_status
 *
 * Context: sq.task.
 */
void rxe_wc_fail(struct rxe_qp *qp, u8 status)
{
	struct rxe_sq *sq = &qp->sq;
	bool alive;

	/* what has succeeded before is no part of it */
	rxe_wc_show(qp);
	alive = rxe_qp_state(qp) != IB_QPS_ERR;
	rxe_qp_info(qp, "%s, opcode %u, PSN %#x, peer qp %#x\n",
		    ib_wc_status_msg(status), rxe_sq_slot(sq, sq->cons)->opcode,
		    sq->una_psn, qp->attr.dest_qp_num);
	rxe_qp_because(qp, ib_wc_status_msg(status));
	if (rxe_qp_is_uc(qp))
		rxe_qp_send_error(qp);
	else
		rxe_qp_error(qp);
	rxe_wc_add(qp, status);
	sq->row.alive = alive;
	rxe_wc_show(qp);
}

/**
 * rxe_wc_flush - complete what there is with a flush error, at most a budget
 * @qp: QP in the error state
 *
 * Context: sq.task.
 * Return: true if the budget ended it.
 */
bool rxe_wc_flush(struct rxe_qp *qp)
{
	bool more = rxe_post_pull(qp);
	struct rxe_sq *sq = &qp->sq;
	u32 budget = RXE_WQE_BUDGET;

	/* pairs with the release in post_kernel(): the slot is complete */
	while (sq->cons != smp_load_acquire(&sq->prod)) {
		if (!budget--)
			return true;
		rxe_wc_complete(qp, IB_WC_WR_FLUSH_ERR);
	}
	return more;
}
