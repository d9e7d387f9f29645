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

#if !RXE_HAVE_IB_PORT_PHYS_STATE
enum ib_port_phys_state {
	IB_PORT_PHYS_STATE_POLLING = 2,
	IB_PORT_PHYS_STATE_DISABLED = 3,
	IB_PORT_PHYS_STATE_LINK_UP = 5,
};
#endif

#if !RXE_HAVE_IB_DEVICE_OPS
#include <rdma/rxe_compat_verbs.h>
#endif

/*
 * A core that does not know ATOMIC WRITE has no bit to announce it, and takes no
 * access flag for FLUSH. Loses: processes cannot ask for them; what a peer asks
 * for is executed, or refused, as elsewhere.
 */
#if !RXE_HAVE_IB_DEVICE_ATOMIC_WRITE
#define IB_DEVICE_ATOMIC_WRITE	0
#endif

#if !RXE_HAVE_IB_DEVICE_FLUSH
#define IB_DEVICE_FLUSH_GLOBAL	0
#define IB_DEVICE_FLUSH_PERSISTENT 0
#define IB_ACCESS_FLUSH_GLOBAL	BIT(8)
#define IB_ACCESS_FLUSH_PERSISTENT BIT(9)
#endif

/*
 * Loses, where there is less: FLUSH and ATOMIC WRITE reach memory on demand
 * unannounced; to look for pages is advice that nobody can give.
 */
#if !RXE_HAVE_IB_ODP_SUPPORT_FLUSH
#define IB_ODP_SUPPORT_FLUSH		0
#define IB_ODP_SUPPORT_ATOMIC_WRITE	0
#endif

#if !RXE_HAVE_IB_ADVISE_MR_NO_FAULT
#define IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT 2
#endif

/*
 * What a device can do. The members that the driver fills, for kernels whose own
 * structure lacks some of them; ib_ops.c copies the others' counterparts.
 */
#if !RXE_HAVE_IB_DEVICE_ATTR_KERNEL_CAP_FLAGS

struct rxe_compat_ib_device_attr {
	u64			fw_ver;
	__be64			sys_image_guid;
	u64			max_mr_size;
	u64			page_size_cap;
	u32			vendor_id;
	u32			vendor_part_id;
	u32			hw_ver;
	int			max_qp;
	int			max_qp_wr;
	u64			device_cap_flags;
	u64			kernel_cap_flags;
	int			max_send_sge;
	int			max_recv_sge;
	int			max_sge_rd;
	int			max_cq;
	int			max_cqe;
	int			max_mr;
	int			max_pd;
	int			max_qp_rd_atom;
	int			max_res_rd_atom;
	int			max_qp_init_rd_atom;
	enum ib_atomic_cap	atomic_cap;
	int			max_mw;
	int			max_mcast_grp;
	int			max_mcast_qp_attach;
	int			max_total_mcast_qp_attach;
	int			max_ah;
	int			max_srq;
	int			max_srq_wr;
	int			max_srq_sge;
	unsigned int		max_fast_reg_page_list_len;
	u16			max_pkeys;
	u8			local_ca_ack_delay;
	struct ib_odp_caps	odp_caps;
};

/* kernel_cap_flags that the driver sets */
enum {
	RXE_COMPAT_IBK_ALLOW_USER_UNREG = 1 << 0,
	RXE_COMPAT_IBK_ON_DEMAND_PAGING = 1 << 1,
};

#define IBK_ALLOW_USER_UNREG	RXE_COMPAT_IBK_ALLOW_USER_UNREG
#define IBK_ON_DEMAND_PAGING	RXE_COMPAT_IBK_ON_DEMAND_PAGING

#ifndef RXE_COMPAT_KERNEL_IB_OPS
#define ib_device_attr		rxe_compat_ib_device_attr
#endif

#else
#define rxe_compat_ib_device_attr ib_device_attr
#endif /* !RXE_HAVE_IB_DEVICE_ATTR_KERNEL_CAP_FLAGS */

/* see <linux/hmm.h> */
#if !RXE_HAVE_HMM_PFNS || !RXE_HAVE_HMM_RANGE_FAULT
#undef IBK_ON_DEMAND_PAGING
#define IBK_ON_DEMAND_PAGING	0
#endif

#if RXE_HAVE_IB_DEVICE_OPS
#define rxe_compat_ib_port_attr	ib_port_attr
#define rxe_compat_ib_qp_attr	ib_qp_attr
#define rxe_compat_rdma_ah_attr	rdma_ah_attr
#define rxe_compat_rdma_ah_init_attr rdma_ah_init_attr
#endif

#if !RXE_HAVE_IB_OPS_CREATE_USER_CQ || !RXE_HAVE_IB_OPS_CREATE_CQ_ATTRS || \
	!RXE_HAVE_IB_OPS_RESIZE_USER_CQ || !RXE_HAVE_IB_OPS_REG_USER_MR_DMAH || \
	!RXE_HAVE_IB_OPS_REPORT_PORT_EVENT || !RXE_HAVE_IB_OPS_CREATE_USER_AH || \
	!RXE_HAVE_IB_OPS_ALLOC_HW_PORT_STATS || !RXE_HAVE_IB_OPS_PORT_U32 || \
	!RXE_HAVE_IB_OPS_SIZE_IB_QP || !RXE_HAVE_IB_DEVICE_ATTR_KERNEL_CAP_FLAGS || \
	!RXE_HAVE_IB_OPS_DEALLOC_PD_INT || !RXE_HAVE_IB_OPS_DESTROY_AH_INT || \
	!RXE_HAVE_IB_OPS_DESTROY_CQ_INT || !RXE_HAVE_IB_OPS_DESTROY_SRQ_INT || \
	!RXE_HAVE_RDMA_AH_INIT_ATTR || !RXE_HAVE_IB_OPS_ALLOC_MR_NO_UDATA || \
	!RXE_HAVE_IB_OPS_SIZE_IB_MW || !RXE_HAVE_IB_OPS_PROCESS_MAD_WHOLE || \
	!RXE_HAVE_IB_OPS_FILL_RES_QP || !RXE_HAVE_IB_OPS_FILL_RES_SRQ || \
	!RXE_HAVE_IB_OPS_COUNTER_PORT || !RXE_HAVE_IB_OPS_SIZE_RDMA_COUNTER || \
	!RXE_HAVE_IB_DEVICE_OPS
#define RXE_COMPAT_IB_OPS 1
#else
#define RXE_COMPAT_IB_OPS 0
#endif

#if !RXE_HAVE_RDMA_AH_INIT_ATTR && RXE_HAVE_IB_DEVICE_OPS

/* Its members were arguments. */
struct rdma_ah_init_attr {
	struct rdma_ah_attr	*ah_attr;
	u32			flags;
	struct net_device	*xmit_slave;
};

#endif

#if RXE_COMPAT_IB_OPS

/* Where it cannot be used by drivers, ours has another name (uverbs_ioctl.h). */
#if RXE_HAVE_RDMA_UDATA_TO_DRV_CONTEXT
#define rxe_compat_uverbs_attr_bundle uverbs_attr_bundle
#endif

struct ib_dmah;
struct ib_mad;
struct rdma_counter;
struct rdma_hw_stats;
struct rxe_compat_uverbs_attr_bundle;
struct sk_buff;

/*
 * struct ib_device_ops of Linux 7.3, as far as the driver fills it. Add a member
 * here and in ib_ops.c when the driver starts to use it.
 */
struct rxe_compat_ib_device_ops {
	struct module *owner;
	enum rdma_driver_id driver_id;
	u32 uverbs_abi_ver;

	int (*post_send)(struct ib_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad_wr);
	int (*post_recv)(struct ib_qp *qp, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad_wr);
	int (*poll_cq)(struct ib_cq *cq, int entries, struct ib_wc *wc);
	int (*peek_cq)(struct ib_cq *cq, int wc_cnt);
	int (*req_notify_cq)(struct ib_cq *cq, enum ib_cq_notify_flags flags);
	int (*query_device)(struct ib_device *device,
			    struct rxe_compat_ib_device_attr *attr,
			    struct ib_udata *udata);
	int (*modify_device)(struct ib_device *device, int mask,
			     struct ib_device_modify *modify);
	void (*get_dev_fw_str)(struct ib_device *device, char *str);
	int (*query_port)(struct ib_device *device, u32 port,
			  struct rxe_compat_ib_port_attr *attr);
	int (*get_port_immutable)(struct ib_device *device, u32 port,
				  struct ib_port_immutable *immutable);
	enum rdma_link_layer (*get_link_layer)(struct ib_device *device, u32 port);
	int (*query_pkey)(struct ib_device *device, u32 port, u16 index, u16 *pkey);
	int (*process_mad)(struct ib_device *device, int flags, u32 port,
			   const struct ib_wc *wc, const struct ib_grh *grh,
			   const struct ib_mad *in, struct ib_mad *out, size_t *out_size,
			   u16 *out_pkey_index);
	int (*alloc_ucontext)(struct ib_ucontext *context, struct ib_udata *udata);
	void (*dealloc_ucontext)(struct ib_ucontext *context);
	int (*mmap)(struct ib_ucontext *context, struct vm_area_struct *vma);
	void (*disassociate_ucontext)(struct ib_ucontext *context);
	int (*alloc_pd)(struct ib_pd *pd, struct ib_udata *udata);
	int (*dealloc_pd)(struct ib_pd *pd, struct ib_udata *udata);
	int (*create_ah)(struct ib_ah *ah, struct rxe_compat_rdma_ah_init_attr *attr,
			 struct ib_udata *udata);
	int (*create_user_ah)(struct ib_ah *ah, struct rxe_compat_rdma_ah_init_attr *attr,
			      struct ib_udata *udata);
	int (*modify_ah)(struct ib_ah *ah, struct rxe_compat_rdma_ah_attr *attr);
	int (*query_ah)(struct ib_ah *ah, struct rxe_compat_rdma_ah_attr *attr);
	int (*destroy_ah)(struct ib_ah *ah, u32 flags);
	int (*create_qp)(struct ib_qp *qp, struct ib_qp_init_attr *attr,
			 struct ib_udata *udata);
	int (*modify_qp)(struct ib_qp *qp, struct rxe_compat_ib_qp_attr *attr, int mask,
			 struct ib_udata *udata);
	int (*query_qp)(struct ib_qp *qp, struct rxe_compat_ib_qp_attr *attr, int mask,
			struct ib_qp_init_attr *init_attr);
	int (*destroy_qp)(struct ib_qp *qp, struct ib_udata *udata);
	int (*attach_mcast)(struct ib_qp *qp, union ib_gid *gid, u16 lid);
	int (*detach_mcast)(struct ib_qp *qp, union ib_gid *gid, u16 lid);
	int (*create_cq)(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			 struct rxe_compat_uverbs_attr_bundle *attrs);
	int (*create_user_cq)(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			      struct rxe_compat_uverbs_attr_bundle *attrs);
	int (*destroy_cq)(struct ib_cq *cq, struct ib_udata *udata);
	int (*resize_user_cq)(struct ib_cq *cq, unsigned int cqe, struct ib_udata *udata);
	int (*create_srq)(struct ib_srq *srq, struct ib_srq_init_attr *attr,
			  struct ib_udata *udata);
	int (*modify_srq)(struct ib_srq *srq, struct ib_srq_attr *attr,
			  enum ib_srq_attr_mask mask, struct ib_udata *udata);
	int (*query_srq)(struct ib_srq *srq, struct ib_srq_attr *attr);
	int (*destroy_srq)(struct ib_srq *srq, struct ib_udata *udata);
	int (*post_srq_recv)(struct ib_srq *srq, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad_wr);
	struct ib_mr *(*get_dma_mr)(struct ib_pd *pd, int access);
	struct ib_mr *(*reg_user_mr)(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
				     int access, struct ib_dmah *dmah,
				     struct ib_udata *udata);
	struct ib_mr *(*alloc_mr)(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);
	int (*map_mr_sg)(struct ib_mr *mr, struct scatterlist *sg, int nents,
			 unsigned int *sg_offset);
	int (*dereg_mr)(struct ib_mr *mr, struct ib_udata *udata);
	int (*advise_mr)(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
			 struct ib_sge *sg_list, u32 num_sge,
			 struct rxe_compat_uverbs_attr_bundle *attrs);
	int (*alloc_mw)(struct ib_mw *mw, struct ib_udata *udata);
	int (*dealloc_mw)(struct ib_mw *mw);
	struct rdma_hw_stats *(*alloc_hw_port_stats)(struct ib_device *device, u32 port);
	int (*get_hw_stats)(struct ib_device *device, struct rdma_hw_stats *stats, u32 port,
			    int index);
	void (*counter_init)(struct rdma_counter *counter);
	struct rdma_hw_stats *(*counter_alloc_stats)(struct rdma_counter *counter);
	int (*counter_bind_qp)(struct rdma_counter *counter, struct ib_qp *qp, u32 port);
	int (*counter_unbind_qp)(struct ib_qp *qp, u32 port);
	int (*counter_update_stats)(struct rdma_counter *counter);
	int (*counter_dealloc)(struct rdma_counter *counter);
	int (*fill_res_mr_entry)(struct sk_buff *msg, struct ib_mr *ibmr);
	int (*fill_res_cq_entry)(struct sk_buff *msg, struct ib_cq *ibcq);
	int (*fill_res_qp_entry)(struct sk_buff *msg, struct ib_qp *ibqp);
	int (*fill_res_srq_entry)(struct sk_buff *msg, struct ib_srq *ibsrq);
	int (*enable_driver)(struct ib_device *device);
	void (*dealloc_driver)(struct ib_device *device);
	void (*report_port_event)(struct ib_device *device, struct net_device *ndev,
				  unsigned long event);

	DECLARE_RDMA_OBJ_SIZE(ib_ah);
	DECLARE_RDMA_OBJ_SIZE(ib_cq);
	DECLARE_RDMA_OBJ_SIZE(ib_mw);
	DECLARE_RDMA_OBJ_SIZE(ib_pd);
	DECLARE_RDMA_OBJ_SIZE(ib_qp);
	DECLARE_RDMA_OBJ_SIZE(ib_srq);
	DECLARE_RDMA_OBJ_SIZE(ib_ucontext);
	DECLARE_RDMA_OBJ_SIZE(rdma_counter);
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
#if !RXE_HAVE_IB_ALLOC_DEVICE_WITH_NET && RXE_HAVE_IB_DEVICE_OPS
#define ib_alloc_device_with_net(type, member, net) \
	((void)(net), ib_alloc_device(type, member))
#endif

/* DMA addresses are addresses; cores before 5.11 wanted to be told. */
#if !RXE_HAVE_IB_USES_VIRT_DMA && RXE_HAVE_IB_DEVICE_OPS

int rxe_compat_ib_register_device(struct ib_device *device, const char *name,
				  struct device *dma_device);

#ifndef RXE_COMPAT_KERNEL_IB_OPS
#define ib_register_device rxe_compat_ib_register_device
#endif

#endif

#if !RXE_HAVE_IB_PORT_ATTR_ACTIVE_SPEED_U16 && RXE_HAVE_IB_DEVICE_OPS

static inline int rxe_compat_ib_get_eth_speed(struct ib_device *device, u32 port, u16 *speed,
					      u8 *width)
{
	u8 narrow;
	int err;

	err = ib_get_eth_speed(device, port, &narrow, width);
	*speed = narrow;
	return err;
}

#define ib_get_eth_speed rxe_compat_ib_get_eth_speed

#endif

#if !RXE_HAVE_IB_GET_CURR_PORT_STATE

static inline enum ib_port_state
rxe_compat_ib_get_curr_port_state(struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
}

#define ib_get_curr_port_state rxe_compat_ib_get_curr_port_state

#endif /* !RXE_HAVE_IB_GET_CURR_PORT_STATE */

/* what the specification has; the rest is for special hardware */
#if !RXE_HAVE_IB_QP_ATTR_STANDARD_BITS
#define IB_QP_ATTR_STANDARD_BITS	((IB_QP_DEST_QPN << 1) - 1)
#endif

#if !RXE_HAVE_RDMA_STAT_DESC

/* A counter; older kernels know its name only. */
struct rdma_stat_desc {
	const char *name;
};

struct rdma_hw_stats *
rxe_compat_rdma_alloc_hw_stats_struct(const struct rdma_stat_desc *descs, int count,
				      unsigned long lifespan);
#define rdma_alloc_hw_stats_struct rxe_compat_rdma_alloc_hw_stats_struct

#endif /* !RXE_HAVE_RDMA_STAT_DESC */

/* What compat has set up ends with the last device (module.c). */
void rxe_compat_ib_unregister_driver(enum rdma_driver_id id);

#ifndef RXE_COMPAT_KERNEL_MODULE
#define ib_unregister_driver rxe_compat_ib_unregister_driver
#endif

#endif /* RXE_COMPAT_RDMA_IB_VERBS_H */
