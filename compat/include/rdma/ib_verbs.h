/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The verbs API as the newest kernel has it. struct ib_device_ops is the heart:
 * where the kernel's own table lacks a member or has another prototype, the
 * driver sees a table of ours under the same name, and ib_set_device_ops()
 * translates it (compat/ib_ops.c).
 */
#ifndef RXE_COMPAT_RDMA_IB_VERBS_H
#define RXE_COMPAT_RDMA_IB_VERBS_H

#include_next <rdma/ib_verbs.h>

#if !RXE_HAVE_IB_OPS_CREATE_USER_CQ || !RXE_HAVE_IB_OPS_CREATE_CQ_ATTRS || \
	!RXE_HAVE_IB_OPS_RESIZE_USER_CQ || !RXE_HAVE_IB_OPS_REG_USER_MR_DMAH || \
	!RXE_HAVE_IB_OPS_QUERY_PORT_SPEED || !RXE_HAVE_IB_OPS_UVERBS_ROBUST_UDATA || \
	!RXE_HAVE_IB_OPS_REPORT_PORT_EVENT || !RXE_HAVE_IB_OPS_FILL_RES_SRQ_ENTRY
#define RXE_COMPAT_IB_OPS 1
#else
#define RXE_COMPAT_IB_OPS 0
#endif

#if RXE_COMPAT_IB_OPS

struct ib_dmah;

/*
 * struct ib_device_ops of Linux 7.3, without the members that only a driver of
 * other hardware sets (InfiniBand, iWARP, flow steering, device memory, virtual
 * functions). Add one here and in ib_ops.c when the driver starts to use it.
 */
struct rxe_compat_ib_device_ops {
	struct module *owner;
	enum rdma_driver_id driver_id;
	u32 uverbs_abi_ver;
	unsigned int uverbs_no_driver_id_binding:1;
	unsigned int uverbs_robust_udata:1;
	const struct attribute_group *device_group;
	const struct attribute_group **port_groups;

	int (*post_send)(struct ib_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad_wr);
	int (*post_recv)(struct ib_qp *qp, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad_wr);
	void (*drain_rq)(struct ib_qp *qp);
	void (*drain_sq)(struct ib_qp *qp);
	int (*poll_cq)(struct ib_cq *cq, int entries, struct ib_wc *wc);
	int (*peek_cq)(struct ib_cq *cq, int wc_cnt);
	int (*req_notify_cq)(struct ib_cq *cq, enum ib_cq_notify_flags flags);
	int (*post_srq_recv)(struct ib_srq *srq, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad_wr);
	int (*query_device)(struct ib_device *device, struct ib_device_attr *attr,
			    struct ib_udata *udata);
	int (*modify_device)(struct ib_device *device, int mask,
			     struct ib_device_modify *modify);
	void (*get_dev_fw_str)(struct ib_device *device, char *str);
	int (*query_port)(struct ib_device *device, u32 port, struct ib_port_attr *attr);
	int (*query_port_speed)(struct ib_device *device, u32 port, u64 *speed);
	int (*modify_port)(struct ib_device *device, u32 port, int mask,
			   struct ib_port_modify *modify);
	int (*get_port_immutable)(struct ib_device *device, u32 port,
				  struct ib_port_immutable *immutable);
	enum rdma_link_layer (*get_link_layer)(struct ib_device *device, u32 port);
	struct net_device *(*get_netdev)(struct ib_device *device, u32 port);
	int (*query_gid)(struct ib_device *device, u32 port, int index, union ib_gid *gid);
	int (*add_gid)(const struct ib_gid_attr *attr, void **context);
	int (*del_gid)(const struct ib_gid_attr *attr, void **context);
	int (*query_pkey)(struct ib_device *device, u32 port, u16 index, u16 *pkey);
	int (*alloc_ucontext)(struct ib_ucontext *context, struct ib_udata *udata);
	void (*dealloc_ucontext)(struct ib_ucontext *context);
	int (*mmap)(struct ib_ucontext *context, struct vm_area_struct *vma);
	void (*mmap_free)(struct rdma_user_mmap_entry *entry);
	void (*disassociate_ucontext)(struct ib_ucontext *context);
	int (*alloc_pd)(struct ib_pd *pd, struct ib_udata *udata);
	int (*dealloc_pd)(struct ib_pd *pd, struct ib_udata *udata);
	int (*create_ah)(struct ib_ah *ah, struct rdma_ah_init_attr *attr,
			 struct ib_udata *udata);
	int (*create_user_ah)(struct ib_ah *ah, struct rdma_ah_init_attr *attr,
			      struct ib_udata *udata);
	int (*modify_ah)(struct ib_ah *ah, struct rdma_ah_attr *attr);
	int (*query_ah)(struct ib_ah *ah, struct rdma_ah_attr *attr);
	int (*destroy_ah)(struct ib_ah *ah, u32 flags);
	int (*create_srq)(struct ib_srq *srq, struct ib_srq_init_attr *attr,
			  struct ib_udata *udata);
	int (*modify_srq)(struct ib_srq *srq, struct ib_srq_attr *attr,
			  enum ib_srq_attr_mask mask, struct ib_udata *udata);
	int (*query_srq)(struct ib_srq *srq, struct ib_srq_attr *attr);
	int (*destroy_srq)(struct ib_srq *srq, struct ib_udata *udata);
	int (*create_qp)(struct ib_qp *qp, struct ib_qp_init_attr *attr,
			 struct ib_udata *udata);
	int (*modify_qp)(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			 struct ib_udata *udata);
	int (*query_qp)(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			struct ib_qp_init_attr *init_attr);
	int (*destroy_qp)(struct ib_qp *qp, struct ib_udata *udata);
	int (*create_cq)(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			 struct uverbs_attr_bundle *attrs);
	int (*create_user_cq)(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			      struct uverbs_attr_bundle *attrs);
	int (*modify_cq)(struct ib_cq *cq, u16 count, u16 period);
	int (*destroy_cq)(struct ib_cq *cq, struct ib_udata *udata);
	int (*resize_user_cq)(struct ib_cq *cq, unsigned int cqe, struct ib_udata *udata);
	struct ib_mr *(*get_dma_mr)(struct ib_pd *pd, int access);
	struct ib_mr *(*reg_user_mr)(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
				     int access, struct ib_dmah *dmah,
				     struct ib_udata *udata);
	struct ib_mr *(*rereg_user_mr)(struct ib_mr *mr, int flags, u64 start, u64 length,
				       u64 virt_addr, int access, struct ib_pd *pd,
				       struct ib_udata *udata);
	int (*dereg_mr)(struct ib_mr *mr, struct ib_udata *udata);
	struct ib_mr *(*alloc_mr)(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);
	int (*advise_mr)(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
			 struct ib_sge *sg_list, u32 num_sge,
			 struct uverbs_attr_bundle *attrs);
	int (*map_mr_sg)(struct ib_mr *mr, struct scatterlist *sg, int sg_nents,
			 unsigned int *sg_offset);
	int (*alloc_mw)(struct ib_mw *mw, struct ib_udata *udata);
	int (*dealloc_mw)(struct ib_mw *mw);
	int (*attach_mcast)(struct ib_qp *qp, union ib_gid *gid, u16 lid);
	int (*detach_mcast)(struct ib_qp *qp, union ib_gid *gid, u16 lid);
	struct rdma_hw_stats *(*alloc_hw_device_stats)(struct ib_device *device);
	struct rdma_hw_stats *(*alloc_hw_port_stats)(struct ib_device *device, u32 port);
	int (*get_hw_stats)(struct ib_device *device, struct rdma_hw_stats *stats, u32 port,
			    int index);
	int (*modify_hw_stat)(struct ib_device *device, u32 port, unsigned int counter,
			      bool enable);
	int (*fill_res_mr_entry)(struct sk_buff *msg, struct ib_mr *mr);
	int (*fill_res_mr_entry_raw)(struct sk_buff *msg, struct ib_mr *mr);
	int (*fill_res_cq_entry)(struct sk_buff *msg, struct ib_cq *cq);
	int (*fill_res_cq_entry_raw)(struct sk_buff *msg, struct ib_cq *cq);
	int (*fill_res_qp_entry)(struct sk_buff *msg, struct ib_qp *qp);
	int (*fill_res_qp_entry_raw)(struct sk_buff *msg, struct ib_qp *qp);
	int (*fill_res_cm_id_entry)(struct sk_buff *msg, struct rdma_cm_id *id);
	int (*fill_res_srq_entry)(struct sk_buff *msg, struct ib_srq *srq);
	int (*fill_res_srq_entry_raw)(struct sk_buff *msg, struct ib_srq *srq);
	int (*enable_driver)(struct ib_device *device);
	void (*dealloc_driver)(struct ib_device *device);
	int (*get_numa_node)(struct ib_device *device);
	void (*report_port_event)(struct ib_device *device, struct net_device *ndev,
				  unsigned long event);

	DECLARE_RDMA_OBJ_SIZE(ib_ah);
	DECLARE_RDMA_OBJ_SIZE(ib_cq);
	DECLARE_RDMA_OBJ_SIZE(ib_mw);
	DECLARE_RDMA_OBJ_SIZE(ib_pd);
	DECLARE_RDMA_OBJ_SIZE(ib_qp);
	DECLARE_RDMA_OBJ_SIZE(ib_srq);
	DECLARE_RDMA_OBJ_SIZE(ib_ucontext);
};

void rxe_compat_ib_set_device_ops(struct ib_device *device,
				  const struct rxe_compat_ib_device_ops *ops);

/* compat/ib_ops.c, which translates, sees the kernel's own names */
#ifndef RXE_COMPAT_KERNEL_IB_OPS
#define ib_device_ops		rxe_compat_ib_device_ops
#define ib_set_device_ops	rxe_compat_ib_set_device_ops
#endif

#endif /* RXE_COMPAT_IB_OPS */

/*
 * Loses: the device starts in the initial namespace, where exclusive mode hides
 * it from others until "rdma dev set NAME netns" moves it.
 */
#if !RXE_HAVE_IB_ALLOC_DEVICE_WITH_NET
#define ib_alloc_device_with_net(type, member, net) \
	((void)(net), ib_alloc_device(type, member))
#endif

#if !RXE_HAVE_IB_GET_CURR_PORT_STATE

static inline enum ib_port_state
rxe_compat_ib_get_curr_port_state(struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
}

#define ib_get_curr_port_state rxe_compat_ib_get_curr_port_state

#endif /* !RXE_HAVE_IB_GET_CURR_PORT_STATE */

/* Where compat has set something up, it ends with the last device (module.c). */
#if !RXE_HAVE_CRC32_OPTIMIZATIONS

void rxe_compat_ib_unregister_driver(enum rdma_driver_id id);

#ifndef RXE_COMPAT_KERNEL_MODULE
#define ib_unregister_driver rxe_compat_ib_unregister_driver
#endif

#endif /* !RXE_HAVE_CRC32_OPTIMIZATIONS */

#endif /* RXE_COMPAT_RDMA_IB_VERBS_H */
