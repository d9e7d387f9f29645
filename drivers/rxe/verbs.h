/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The operations that the RDMA core calls: the members of the table in verbs.c,
 * each defined in the file of its object.
 */
#ifndef RXE_VERBS_H
#define RXE_VERBS_H

#include <rdma/ib_verbs.h>

int rxe_pd_alloc(struct ib_pd *ibpd, struct ib_udata *udata);
int rxe_pd_dealloc(struct ib_pd *ibpd, struct ib_udata *udata);
int rxe_ah_create(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		  struct ib_udata *udata);
int rxe_ah_modify(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int rxe_ah_query(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int rxe_ah_destroy(struct ib_ah *ibah, u32 flags);
int rxe_cq_create(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
int rxe_cq_destroy(struct ib_cq *ibcq, struct ib_udata *udata);
int rxe_cq_resize(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata);
int rxe_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int rxe_cq_peek(struct ib_cq *ibcq, int wc_cnt);
int rxe_cq_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
struct ib_mr *rxe_mr_get_dma(struct ib_pd *ibpd, int access);
struct ib_mr *rxe_mr_reg_user(struct ib_pd *ibpd, u64 start, u64 length, u64 iova,
			      int access, struct ib_dmah *dmah, struct ib_udata *udata);
struct ib_mr *rxe_mr_alloc(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg);
int rxe_mr_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		  unsigned int *sg_offset);
int rxe_mw_alloc(struct ib_mw *ibmw, struct ib_udata *udata);
int rxe_mw_dealloc(struct ib_mw *ibmw);
int rxe_mr_dereg(struct ib_mr *ibmr, struct ib_udata *udata);

int rxe_srq_create(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int rxe_srq_modify(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata);
int rxe_srq_query(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int rxe_srq_destroy(struct ib_srq *ibsrq, struct ib_udata *udata);
int rxe_srq_post(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad);

int rxe_qp_create(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		  struct ib_udata *udata);
int rxe_qp_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
int rxe_qp_query(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int rxe_qp_destroy(struct ib_qp *ibqp, struct ib_udata *udata);
int rxe_mcast_attach(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int rxe_mcast_detach(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int rxe_pma_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
			const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
			size_t *out_size, u16 *out_pkey_index);
int rxe_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad);
int rxe_restrack_qp(struct sk_buff *msg, struct ib_qp *ibqp);
int rxe_restrack_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int rxe_restrack_mr(struct sk_buff *msg, struct ib_mr *ibmr);
int rxe_restrack_srq(struct sk_buff *msg, struct ib_srq *ibsrq);
int rxe_recv_post(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad);

#endif /* RXE_VERBS_H */
