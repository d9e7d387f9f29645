// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the "rdma" tool shows of objects with -dd: "rdma -dd resource show qp". The core
 * shows what is common to all drivers, and asks here for the rest.
 *
 * It may ask about an object while that is being destroyed: what is no longer tracked
 * is not looked at.
 */
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "rxe.h"
#include "view.h"

/* A name and a number of a counter */
static int put_counter(struct sk_buff *msg, const struct rxe_qp *qp, enum rxe_counter which)
{
	return rdma_nl_put_driver_u64(msg, rxe_counters_name(which), rxe_counters_qp(qp, which));
}

static int put_qp_way(struct sk_buff *msg, const struct rxe_qp_view *view)
{
	return rdma_nl_put_driver_string(msg, "local", view->local) ||
	       rdma_nl_put_driver_string(msg, "peer", view->peer) ||
	       rdma_nl_put_driver_u32(msg, "sport", view->sport) ||
	       rdma_nl_put_driver_u32(msg, "pmtu", view->pmtu);
}

static int put_qp_state(struct sk_buff *msg, const struct rxe_qp_view *view)
{
	return rdma_nl_put_driver_u32(msg, "una_psn", view->una_psn) ||
	       rdma_nl_put_driver_u32(msg, "expected_psn", view->rq_psn) ||
	       rdma_nl_put_driver_u32(msg, "outstanding", view->outstanding) ||
	       rdma_nl_put_driver_u32(msg, "window", view->window) ||
	       rdma_nl_put_driver_u32(msg, "sq_used", view->sq_used) ||
	       rdma_nl_put_driver_u32(msg, "rq_used", view->rq_used) ||
	       rdma_nl_put_driver_u64(msg, "rtt_us", view->rtt_us) ||
	       rdma_nl_put_driver_u32(msg, "sq_mbps", view->sq_mbps) ||
	       rdma_nl_put_driver_u32(msg, "rq_mbps", view->rq_mbps) ||
	       rdma_nl_put_driver_string(msg, "waits", view->waits) ||
	       rdma_nl_put_driver_string(msg, "last_error", view->error);
}

static int put_qp_counters(struct sk_buff *msg, const struct rxe_qp *qp)
{
	return put_counter(msg, qp, RXE_CNT_TX_PACKETS) ||
	       put_counter(msg, qp, RXE_CNT_RX_PACKETS) ||
	       put_counter(msg, qp, RXE_CNT_REQ_BYTES) ||
	       put_counter(msg, qp, RXE_CNT_RESP_BYTES) ||
	       put_counter(msg, qp, RXE_CNT_RETRANSMITTED) ||
	       put_counter(msg, qp, RXE_CNT_TIMEOUTS) ||
	       put_counter(msg, qp, RXE_CNT_SEQ_NAK_RECEIVED) ||
	       put_counter(msg, qp, RXE_CNT_RNR_RECEIVED);
}

static int qp_details(struct sk_buff *msg, struct rxe_track *track)
{
	struct rxe_qp *qp = container_of(track, struct rxe_qp, track);
	struct rxe_qp_view view;

	rxe_view_qp(qp, &view);
	return put_qp_way(msg, &view) || put_qp_state(msg, &view) || put_qp_counters(msg, qp);
}

/*
 * Adds the table of details, if the object is still tracked: 0, or -EMSGSIZE, then
 * nothing of it is left in the message.
 */
static int put_details(struct sk_buff *msg, struct ib_device *ibdev, struct rxe_track *track,
		       int (*details)(struct sk_buff *msg, struct rxe_track *track))
{
	struct rxe_tracks *tracks = &to_rxe_dev(ibdev)->tracks;
	struct nlattr *table;
	int err = 0;

	mutex_lock(&tracks->mutex);
	if (list_empty(&track->list))
		goto out;
	err = -EMSGSIZE;
	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		goto out;
	if (details(msg, track)) {
		nla_nest_cancel(msg, table);
		goto out;
	}
	nla_nest_end(msg, table);
	err = 0;
out:
	mutex_unlock(&tracks->mutex);
	return err;
}

/**
 * rxe_restrack_qp() - fill_res_qp_entry: what is special about a queue pair
 * @msg: answer
 * @ibqp: queue pair
 *
 * Context: process context, sleeps.
 * Return: 0, or -EMSGSIZE: the answer is full.
 */
int rxe_restrack_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	return put_details(msg, ibqp->device, &to_rxe_qp(ibqp)->track, qp_details);
}

static int cq_details(struct sk_buff *msg, struct rxe_track *track)
{
	struct rxe_cq *cq = container_of(track, struct rxe_cq, track);

	return rdma_nl_put_driver_u32(msg, "used", rxe_view_cq_used(cq)) ||
	       rdma_nl_put_driver_u32(msg, "armed", READ_ONCE(cq->notify)) ||
	       rdma_nl_put_driver_u32(msg, "overrun", READ_ONCE(cq->overrun));
}

/**
 * rxe_restrack_cq() - fill_res_cq_entry: what is special about a completion queue
 * @msg: answer
 * @ibcq: completion queue
 *
 * Context: process context, sleeps.
 * Return: 0, or -EMSGSIZE: the answer is full.
 */
int rxe_restrack_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	return put_details(msg, ibcq->device, &to_rxe_cq(ibcq)->track, cq_details);
}

static int mr_details(struct sk_buff *msg, struct rxe_track *track)
{
	struct rxe_mr *mr = container_of(track, struct rxe_mr, track);

	return rdma_nl_put_driver_string(msg, "type", rxe_mr_type_name(mr)) ||
	       rdma_nl_put_driver_u32_hex(msg, "access", READ_ONCE(mr->key.access)) ||
	       rdma_nl_put_driver_u32(msg, "valid",
				      READ_ONCE(mr->key.valid) == RXE_KEY_VALID) ||
	       rdma_nl_put_driver_u32(msg, "windows", max(atomic_read(&mr->windows), 0));
}

/**
 * rxe_restrack_mr() - fill_res_mr_entry: what is special about a memory region
 * @msg: answer
 * @ibmr: memory region
 *
 * Context: process context, sleeps.
 * Return: 0, or -EMSGSIZE: the answer is full.
 */
int rxe_restrack_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	return put_details(msg, ibmr->device, &to_rxe_mr(ibmr)->track, mr_details);
}

static int srq_details(struct sk_buff *msg, struct rxe_track *track)
{
	struct rxe_srq *srq = container_of(track, struct rxe_srq, track);

	return rdma_nl_put_driver_u32(msg, "max_wr", READ_ONCE(srq->max_wr)) ||
	       rdma_nl_put_driver_u32(msg, "used", rxe_view_srq_used(srq)) ||
	       rdma_nl_put_driver_u32(msg, "limit", READ_ONCE(srq->limit));
}

/**
 * rxe_restrack_srq() - fill_res_srq_entry: what is special about a shared receive queue
 * @msg: answer
 * @ibsrq: shared receive queue
 *
 * Context: process context, sleeps.
 * Return: 0, or -EMSGSIZE: the answer is full.
 */
int rxe_restrack_srq(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	return put_details(msg, ibsrq->device, &to_rxe_srq(ibsrq)->track, srq_details);
}
