/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * For kernels whose core has no completion queues that it polls by itself (up to 4.4):
 * they are made here of what it has, under the names that the cases use.
 */
#ifndef RXE_CONSUMER_OLD_H
#define RXE_CONSUMER_OLD_H

#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

struct ib_cqe {
	void (*done)(struct ib_cq *cq, struct ib_wc *wc);
};

enum ib_poll_context {
	IB_POLL_SOFTIRQ,
	IB_POLL_WORKQUEUE,
};

struct ib_cq *old_alloc_cq(struct ib_device *dev, int count, enum ib_poll_context poll);
void old_free_cq(struct ib_cq *cq);
void old_drain_qp(struct ib_qp *qp);

#define ib_alloc_cq(dev, context, count, vector, poll)	old_alloc_cq(dev, count, poll)
#define ib_free_cq					old_free_cq
#define ib_drain_qp					old_drain_qp
#define ib_alloc_pd(dev, flags)				((ib_alloc_pd)(dev))
#define ib_map_mr_sg(mr, sg, count, offset, size)	((ib_map_mr_sg)(mr, sg, count, size))
#define rdma_query_gid(dev, port, index, gid)		ib_query_gid(dev, port, index, gid, NULL)

static inline int old_post_send(struct ib_qp *qp, struct ib_send_wr *wr)
{
	struct ib_send_wr *bad;

	return ib_post_send(qp, wr, &bad);
}

static inline int old_post_recv(struct ib_qp *qp, struct ib_recv_wr *wr)
{
	struct ib_recv_wr *bad;

	return ib_post_recv(qp, wr, &bad);
}

#define ib_post_send(qp, wr, bad)			old_post_send(qp, wr)
#define ib_post_recv(qp, wr, bad)			old_post_recv(qp, wr)

static inline void address_set(struct ib_qp_attr *attr, union ib_gid *gid, u8 gid_index)
{
	attr->ah_attr.ah_flags = IB_AH_GRH;
	attr->ah_attr.port_num = 1;
	attr->ah_attr.grh.dgid = *gid;
	attr->ah_attr.grh.sgid_index = gid_index;
	attr->ah_attr.grh.hop_limit = 64;
}

/* A registration begins where its memory does. */
#define MAP_OFFSET	0

/* Devices do not show what they can do: they are asked. */
static inline int query_device(struct ib_device *dev, struct ib_device_attr *attr)
{
	return ib_query_device(dev, attr);
}

static inline int old_post_srq_recv(struct ib_srq *srq, struct ib_recv_wr *wr)
{
	struct ib_recv_wr *bad;

	return ib_post_srq_recv(srq, wr, &bad);
}

#define ib_post_srq_recv(srq, wr, bad)			old_post_srq_recv(srq, wr)

/* rdma_rw is younger */
static inline void rdma_ctxs_set(struct ib_qp_init_attr *init, u32 count)
{
}

/* what a client's add() returns */
typedef void added_t;
#define ADDED

#endif /* RXE_CONSUMER_OLD_H */
