// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * struct ib_device_ops of the newest kernel, on kernels whose own is older.
 *
 * The driver fills the newest table (include/rdma/ib_verbs.h of the overlay).
 * Here every member goes into the kernel's own table: as it is where kernel and
 * driver agree on the prototype, through a trampoline where they do not. No
 * callback is ever cast. Members that the kernel lacks are dropped; what is
 * lost with each stands where it would have been set.
 *
 * The driver has one table for all of its devices, and it lives as long as the
 * module; the trampolines find their target through it.
 */
#define RXE_COMPAT_KERNEL_IB_OPS

#include <linux/dma-mapping.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>
#include <rdma/uverbs_ioctl.h>

#if RXE_COMPAT_IB_OPS && RXE_HAVE_IB_DEVICE_OPS

static const struct rxe_compat_ib_device_ops *newest;

/* --- device and port --------------------------------------------------------- */

#if !RXE_HAVE_IB_DEVICE_ATTR_KERNEL_CAP_FLAGS

/* Up to the split both kinds of flags had one word. */
static u64 cap_flags(const struct rxe_compat_ib_device_attr *attr)
{
	u64 flags = attr->device_cap_flags;

	if (attr->kernel_cap_flags & RXE_COMPAT_IBK_ALLOW_USER_UNREG)
		flags |= IB_DEVICE_ALLOW_USER_UNREG;
	if (attr->kernel_cap_flags & RXE_COMPAT_IBK_ON_DEMAND_PAGING)
		flags |= IB_DEVICE_ON_DEMAND_PAGING;
	return flags;
}

static int query_device(struct ib_device *device, struct ib_device_attr *to,
			struct ib_udata *udata)
{
	struct rxe_compat_ib_device_attr from;
	int err;

	err = newest->query_device(device, &from, udata);
	if (err)
		return err;
	memset(to, 0, sizeof(*to));
	to->fw_ver = from.fw_ver;
	to->sys_image_guid = from.sys_image_guid;
	to->max_mr_size = from.max_mr_size;
	to->page_size_cap = from.page_size_cap;
	to->vendor_id = from.vendor_id;
	to->vendor_part_id = from.vendor_part_id;
	to->hw_ver = from.hw_ver;
	to->max_qp = from.max_qp;
	to->max_qp_wr = from.max_qp_wr;
	to->device_cap_flags = cap_flags(&from);
	to->max_send_sge = from.max_send_sge;
	to->max_recv_sge = from.max_recv_sge;
	to->max_sge_rd = from.max_sge_rd;
	to->max_cq = from.max_cq;
	to->max_cqe = from.max_cqe;
	to->max_mr = from.max_mr;
	to->max_pd = from.max_pd;
	to->max_qp_rd_atom = from.max_qp_rd_atom;
	to->max_res_rd_atom = from.max_res_rd_atom;
	to->max_qp_init_rd_atom = from.max_qp_init_rd_atom;
	to->atomic_cap = from.atomic_cap;
	to->max_mw = from.max_mw;
	to->max_mcast_grp = from.max_mcast_grp;
	to->max_mcast_qp_attach = from.max_mcast_qp_attach;
	to->max_total_mcast_qp_attach = from.max_total_mcast_qp_attach;
	to->max_ah = from.max_ah;
	to->max_srq = from.max_srq;
	to->max_srq_wr = from.max_srq_wr;
	to->max_srq_sge = from.max_srq_sge;
	to->max_fast_reg_page_list_len = from.max_fast_reg_page_list_len;
	to->max_pkeys = from.max_pkeys;
	to->local_ca_ack_delay = from.local_ca_ack_delay;
	to->odp_caps = from.odp_caps;
	return 0;
}

#endif /* !RXE_HAVE_IB_DEVICE_ATTR_KERNEL_CAP_FLAGS */

#if !RXE_HAVE_IB_OPS_PORT_U32

static int query_port(struct ib_device *device, u8 port, struct ib_port_attr *attr)
{
	return newest->query_port(device, port, attr);
}

static int get_port_immutable(struct ib_device *device, u8 port,
			      struct ib_port_immutable *immutable)
{
	return newest->get_port_immutable(device, port, immutable);
}

static enum rdma_link_layer get_link_layer(struct ib_device *device, u8 port)
{
	return newest->get_link_layer(device, port);
}

static int query_pkey(struct ib_device *device, u8 port, u16 index, u16 *pkey)
{
	return newest->query_pkey(device, port, index, pkey);
}

static int get_hw_stats(struct ib_device *device, struct rdma_hw_stats *stats, u8 port,
			int index)
{
	return newest->get_hw_stats(device, stats, port, index);
}

typedef u8 kernel_port;

#else
typedef u32 kernel_port;
#endif /* !RXE_HAVE_IB_OPS_PORT_U32 */

#if !RXE_HAVE_IB_OPS_PROCESS_MAD_WHOLE

/* A MAD of another size is Omni-Path's, which the driver does not have. */
static int process_mad(struct ib_device *device, int flags, u8 port, const struct ib_wc *wc,
		       const struct ib_grh *grh, const struct ib_mad_hdr *in, size_t in_size,
		       struct ib_mad_hdr *out, size_t *out_size, u16 *out_pkey_index)
{
	if (in_size != sizeof(struct ib_mad) || *out_size != sizeof(struct ib_mad))
		return IB_MAD_RESULT_FAILURE;
	return newest->process_mad(device, flags, port, wc, grh,
				   container_of(in, const struct ib_mad, mad_hdr),
				   container_of(out, struct ib_mad, mad_hdr), out_size,
				   out_pkey_index);
}

#elif !RXE_HAVE_IB_OPS_PORT_U32

static int process_mad(struct ib_device *device, int flags, u8 port, const struct ib_wc *wc,
		       const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		       size_t *out_size, u16 *out_pkey_index)
{
	return newest->process_mad(device, flags, port, wc, grh, in, out, out_size,
				   out_pkey_index);
}

#endif /* !RXE_HAVE_IB_OPS_PROCESS_MAD_WHOLE */

#if !RXE_HAVE_IB_OPS_ALLOC_HW_PORT_STATS

/* One op for the device (port 0) and its ports. */
static struct rdma_hw_stats *alloc_hw_stats(struct ib_device *device, kernel_port port)
{
	return port ? newest->alloc_hw_port_stats(device, port) : NULL;
}

#endif /* !RXE_HAVE_IB_OPS_ALLOC_HW_PORT_STATS */

/* --- protection domains ------------------------------------------------------ */

/* What could not fail had no result; nor does it fail now, all users being gone. */
#if !RXE_HAVE_IB_OPS_DEALLOC_PD_INT

static void dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	WARN_ON(newest->dealloc_pd(pd, udata));
}

#endif

/* --- address handles --------------------------------------------------------- */

#if !RXE_HAVE_IB_OPS_DESTROY_AH_INT

static void destroy_ah(struct ib_ah *ah, u32 flags)
{
	WARN_ON(newest->destroy_ah(ah, flags));
}

#endif

#if !RXE_HAVE_RDMA_AH_INIT_ATTR

static int create_ah(struct ib_ah *ah, struct rdma_ah_attr *attr, u32 flags,
		     struct ib_udata *udata)
{
	struct rdma_ah_init_attr init = { .ah_attr = attr, .flags = flags };

	if (udata)
		return newest->create_user_ah(ah, &init, udata);
	return newest->create_ah(ah, &init, NULL);
}

#elif !RXE_HAVE_IB_OPS_CREATE_USER_AH

static int create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *attr,
		     struct ib_udata *udata)
{
	if (udata)
		return newest->create_user_ah(ah, attr, udata);
	return newest->create_ah(ah, attr, NULL);
}

#endif /* !RXE_HAVE_RDMA_AH_INIT_ATTR */

/* --- queue pairs ------------------------------------------------------------- */

#if !RXE_HAVE_IB_OPS_SIZE_IB_QP

/*
 * The driver owned the memory, and the core filled in the object after the call;
 * the driver of today finds it filled in when it is called.
 */
static struct ib_qp *create_qp(struct ib_pd *pd, struct ib_qp_init_attr *attr,
			       struct ib_udata *udata)
{
	struct ib_qp *qp;
	int err;

	qp = kzalloc(newest->size_ib_qp, GFP_KERNEL);
	if (!qp)
		return ERR_PTR(-ENOMEM);
	qp->device = pd->device;
	qp->pd = pd;
	qp->real_qp = qp;
	qp->qp_type = attr->qp_type;
	qp->event_handler = attr->event_handler;
	qp->qp_context = attr->qp_context;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->port = attr->port_num;
	err = newest->create_qp(qp, attr, udata);
	if (err) {
		kfree(qp);
		return ERR_PTR(err);
	}
	return qp;
}

static int destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	int err;

	err = newest->destroy_qp(qp, udata);
	if (!err)
		kfree(qp);
	return err;
}

#endif /* !RXE_HAVE_IB_OPS_SIZE_IB_QP */

/* --- completion queues ------------------------------------------------------ */

#if !RXE_HAVE_IB_OPS_CREATE_USER_CQ

/* One op for users and the kernel, told apart by what only users bring. */
static int create_cq_attrs(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			   struct uverbs_attr_bundle *attrs)
{
	if (attrs)
		return newest->create_user_cq ?
			newest->create_user_cq(cq, attr, attrs) : -EOPNOTSUPP;
	return newest->create_cq ? newest->create_cq(cq, attr, NULL) : -EOPNOTSUPP;
}

#if RXE_HAVE_IB_OPS_CREATE_CQ_ATTRS
#define create_cq_kernel create_cq_attrs
#else

/* The udata of a user is always the one inside its attribute bundle. */
static int create_cq_kernel(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			    struct ib_udata *udata)
{
	return create_cq_attrs(cq, attr,
			       udata ? rdma_udata_to_uverbs_attr_bundle(udata) : NULL);
}

#endif /* RXE_HAVE_IB_OPS_CREATE_CQ_ATTRS */

#endif /* !RXE_HAVE_IB_OPS_CREATE_USER_CQ */

#if !RXE_HAVE_IB_OPS_DESTROY_CQ_INT

static void destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	WARN_ON(newest->destroy_cq(cq, udata));
}

#endif

#if !RXE_HAVE_IB_OPS_RESIZE_USER_CQ

/* Kernel users could resize, too; none did, and the newest table has no op for it. */
static int resize_cq(struct ib_cq *cq, int cqe, struct ib_udata *udata)
{
	if (!udata)
		return -EOPNOTSUPP;
	if (cqe < 0)
		return -EINVAL;
	return newest->resize_user_cq(cq, cqe, udata);
}

#endif /* !RXE_HAVE_IB_OPS_RESIZE_USER_CQ */

/* --- shared receive queues --------------------------------------------------- */

#if !RXE_HAVE_IB_OPS_DESTROY_SRQ_INT

static void destroy_srq(struct ib_srq *srq, struct ib_udata *udata)
{
	WARN_ON(newest->destroy_srq(srq, udata));
}

#endif

/* --- memory regions ---------------------------------------------------------- */

#if !RXE_HAVE_IB_OPS_REG_USER_MR_DMAH

/* A kernel without DMA handles never has one to pass. */
static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
				 int access, struct ib_udata *udata)
{
#if !RXE_HAVE_IB_UMEM_SGT_APPEND && !RXE_HAVE_IB_UMEM_GET_DEVICE
	struct rxe_compat_pinning pinning;
	struct ib_mr *mr;

	rxe_compat_pinning_begin(&pinning, udata);
	mr = newest->reg_user_mr(pd, start, length, virt_addr, access, NULL, udata);
	rxe_compat_pinning_end(&pinning);
	return mr;
#else
	return newest->reg_user_mr(pd, start, length, virt_addr, access, NULL, udata);
#endif
}

#endif /* !RXE_HAVE_IB_OPS_REG_USER_MR_DMAH */

#if !RXE_HAVE_IB_OPS_ALLOC_MR_NO_UDATA

/* Only the kernel allocates such regions. */
static struct ib_mr *alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg,
			      struct ib_udata *udata)
{
	return newest->alloc_mr(pd, type, max_num_sg);
}

#endif

#if !RXE_HAVE_IB_OPS_SIZE_IB_MW

/* The driver owned the memory, and the core filled in the window after the call. */
static struct ib_mw *alloc_mw(struct ib_pd *pd, enum ib_mw_type type,
			      struct ib_udata *udata)
{
	struct ib_mw *mw;
	int err;

	mw = kzalloc(newest->size_ib_mw, GFP_KERNEL);
	if (!mw)
		return ERR_PTR(-ENOMEM);
	mw->device = pd->device;
	mw->pd = pd;
	mw->type = type;
	err = newest->alloc_mw(mw, udata);
	if (err) {
		kfree(mw);
		return ERR_PTR(err);
	}
	return mw;
}

static int dealloc_mw(struct ib_mw *mw)
{
	int err;

	err = newest->dealloc_mw(mw);
	if (!err)
		kfree(mw);
	return err;
}

#endif /* !RXE_HAVE_IB_OPS_SIZE_IB_MW */

/* --- counters of queue pairs --------------------------------------------------- */

#if !RXE_HAVE_IB_OPS_COUNTER_PORT

static int counter_bind_qp(struct rdma_counter *counter, struct ib_qp *qp)
{
	return newest->counter_bind_qp(counter, qp, counter->port);
}

static int counter_unbind_qp(struct ib_qp *qp)
{
	return newest->counter_unbind_qp(qp, qp->counter ? qp->counter->port : 0);
}

#endif /* !RXE_HAVE_IB_OPS_COUNTER_PORT */

/* --- details of resources ------------------------------------------------------ */

#if !RXE_HAVE_IB_OPS_FILL_RES_QP

/* One op for all kinds of objects. */
static int fill_res_entry(struct sk_buff *msg, struct rdma_restrack_entry *res)
{
	switch (res->type) {
	case RDMA_RESTRACK_QP:
		return newest->fill_res_qp_entry(msg, container_of(res, struct ib_qp, res));
	case RDMA_RESTRACK_CQ:
		return newest->fill_res_cq_entry(msg, container_of(res, struct ib_cq, res));
	case RDMA_RESTRACK_MR:
		return newest->fill_res_mr_entry(msg, container_of(res, struct ib_mr, res));
	default:
		return 0;
	}
}

#endif /* !RXE_HAVE_IB_OPS_FILL_RES_QP */

/* --- the table ---------------------------------------------------------------- */

/* the op is the same on both sides; the compiler compares the prototypes */
#define SAME(op)		(to->op = from->op)
/* the op goes through the trampoline, if the driver has it */
#define VIA(op, driver_op, trampoline) \
	(to->op = from->driver_op ? (trampoline) : NULL)

static void translate(struct ib_device_ops *to, const struct rxe_compat_ib_device_ops *from)
{
	SAME(owner);
	SAME(driver_id);
	SAME(uverbs_abi_ver);

	SAME(post_send);
	SAME(post_recv);
	SAME(poll_cq);
	SAME(peek_cq);
	SAME(req_notify_cq);
	SAME(modify_device);
	SAME(get_dev_fw_str);
	SAME(alloc_ucontext);
	SAME(dealloc_ucontext);
	SAME(mmap);
	SAME(disassociate_ucontext);
	SAME(alloc_pd);
	SAME(modify_ah);
	SAME(query_ah);
	SAME(attach_mcast);
	SAME(detach_mcast);
	SAME(modify_qp);
	SAME(query_qp);
	SAME(create_srq);
	SAME(modify_srq);
	SAME(query_srq);
	SAME(post_srq_recv);
	SAME(get_dma_mr);
	SAME(map_mr_sg);
	SAME(dereg_mr);
	SAME(enable_driver);
	SAME(advise_mr);
	SAME(dealloc_driver);

#if RXE_HAVE_IB_OPS_ALLOC_MR_NO_UDATA
	SAME(alloc_mr);
#else
	VIA(alloc_mr, alloc_mr, alloc_mr);
#endif

#if RXE_HAVE_IB_OPS_SIZE_IB_MW
	SAME(alloc_mw);
	SAME(dealloc_mw);
	SAME(size_ib_mw);
#else
	VIA(alloc_mw, alloc_mw, alloc_mw);
	VIA(dealloc_mw, dealloc_mw, dealloc_mw);
#endif

#if RXE_HAVE_IB_OPS_DEALLOC_PD_INT
	SAME(dealloc_pd);
#else
	VIA(dealloc_pd, dealloc_pd, dealloc_pd);
#endif

#if RXE_HAVE_IB_OPS_DESTROY_AH_INT
	SAME(destroy_ah);
#else
	VIA(destroy_ah, destroy_ah, destroy_ah);
#endif

#if RXE_HAVE_IB_OPS_DESTROY_CQ_INT
	SAME(destroy_cq);
#else
	VIA(destroy_cq, destroy_cq, destroy_cq);
#endif

#if RXE_HAVE_IB_OPS_DESTROY_SRQ_INT
	SAME(destroy_srq);
#else
	VIA(destroy_srq, destroy_srq, destroy_srq);
#endif

#if RXE_HAVE_IB_DEVICE_ATTR_KERNEL_CAP_FLAGS
	SAME(query_device);
#else
	VIA(query_device, query_device, query_device);
#endif

#if RXE_HAVE_IB_OPS_PROCESS_MAD_WHOLE && RXE_HAVE_IB_OPS_PORT_U32
	SAME(process_mad);
#else
	VIA(process_mad, process_mad, process_mad);
#endif

#if RXE_HAVE_IB_OPS_PORT_U32
	SAME(query_port);
	SAME(get_port_immutable);
	SAME(get_link_layer);
	SAME(query_pkey);
	SAME(get_hw_stats);
#else
	VIA(query_port, query_port, query_port);
	VIA(get_port_immutable, get_port_immutable, get_port_immutable);
	VIA(get_link_layer, get_link_layer, get_link_layer);
	VIA(query_pkey, query_pkey, query_pkey);
	VIA(get_hw_stats, get_hw_stats, get_hw_stats);
#endif

#if RXE_HAVE_IB_OPS_ALLOC_HW_PORT_STATS
	SAME(alloc_hw_port_stats);
#else
	VIA(alloc_hw_stats, alloc_hw_port_stats, alloc_hw_stats);
#endif

#if RXE_HAVE_IB_OPS_CREATE_USER_AH
	SAME(create_ah);
	SAME(create_user_ah);
#else
	VIA(create_ah, create_user_ah, create_ah);
#endif

#if RXE_HAVE_IB_OPS_CREATE_USER_CQ
	SAME(create_cq);
	SAME(create_user_cq);
#else
	VIA(create_cq, create_user_cq, create_cq_kernel);
#endif

#if RXE_HAVE_IB_OPS_RESIZE_USER_CQ
	SAME(resize_user_cq);
#else
	VIA(resize_cq, resize_user_cq, resize_cq);
#endif

#if RXE_HAVE_IB_OPS_REG_USER_MR_DMAH
	SAME(reg_user_mr);
#else
	VIA(reg_user_mr, reg_user_mr, reg_user_mr);
#endif

#if RXE_HAVE_IB_OPS_SIZE_IB_QP
	SAME(create_qp);
	SAME(destroy_qp);
	SAME(size_ib_qp);
#else
	VIA(create_qp, create_qp, create_qp);
	VIA(destroy_qp, destroy_qp, destroy_qp);
#endif

	SAME(counter_alloc_stats);
	SAME(counter_update_stats);
	SAME(counter_dealloc);
#if RXE_HAVE_IB_OPS_COUNTER_PORT
	SAME(counter_bind_qp);
	SAME(counter_unbind_qp);
#else
	VIA(counter_bind_qp, counter_bind_qp, counter_bind_qp);
	VIA(counter_unbind_qp, counter_unbind_qp, counter_unbind_qp);
#endif

	/* Without it the core allocates its own part, and there is nothing to be set up. */
#if RXE_HAVE_IB_OPS_SIZE_RDMA_COUNTER
	SAME(counter_init);
	SAME(size_rdma_counter);
#else
	WARN_ON(from->size_rdma_counter > sizeof(struct rdma_counter));
#endif

#if RXE_HAVE_IB_OPS_FILL_RES_QP
	SAME(fill_res_qp_entry);
	SAME(fill_res_cq_entry);
	SAME(fill_res_mr_entry);
#else
	VIA(fill_res_entry, fill_res_qp_entry, fill_res_entry);
#endif

	/* Without it "rdma resource show srq" has no details. */
#if RXE_HAVE_IB_OPS_FILL_RES_SRQ
	SAME(fill_res_srq_entry);
#endif

	/* Without it the core reports no port events; the driver watches its netdev. */
#if RXE_HAVE_IB_OPS_REPORT_PORT_EVENT
	SAME(report_port_event);
#endif

	SAME(size_ib_ah);
	SAME(size_ib_cq);
	SAME(size_ib_pd);
	SAME(size_ib_srq);
	SAME(size_ib_ucontext);
}

/*
 * The commands of user space that the driver serves. Cores up to 5.10 leave the
 * list to the driver, newer ones have filled it in when the device is allocated;
 * a command that has no op is refused by all that are called here.
 */
static void enable_commands(struct ib_device *device)
{
	static const u8 commands[] = {
		IB_USER_VERBS_CMD_GET_CONTEXT, IB_USER_VERBS_CMD_QUERY_DEVICE,
		IB_USER_VERBS_CMD_QUERY_PORT, IB_USER_VERBS_CMD_ALLOC_PD,
		IB_USER_VERBS_CMD_DEALLOC_PD, IB_USER_VERBS_CMD_CREATE_AH,
		IB_USER_VERBS_CMD_MODIFY_AH, IB_USER_VERBS_CMD_QUERY_AH,
		IB_USER_VERBS_CMD_DESTROY_AH, IB_USER_VERBS_CMD_REG_MR,
		IB_USER_VERBS_CMD_DEREG_MR, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
		IB_USER_VERBS_CMD_CREATE_CQ, IB_USER_VERBS_CMD_RESIZE_CQ,
		IB_USER_VERBS_CMD_DESTROY_CQ, IB_USER_VERBS_CMD_PEEK_CQ,
		IB_USER_VERBS_CMD_CREATE_QP, IB_USER_VERBS_CMD_QUERY_QP,
		IB_USER_VERBS_CMD_MODIFY_QP, IB_USER_VERBS_CMD_DESTROY_QP,
		IB_USER_VERBS_CMD_CREATE_SRQ, IB_USER_VERBS_CMD_MODIFY_SRQ,
		IB_USER_VERBS_CMD_QUERY_SRQ, IB_USER_VERBS_CMD_DESTROY_SRQ,
		IB_USER_VERBS_CMD_ALLOC_MW, IB_USER_VERBS_CMD_DEALLOC_MW,
		IB_USER_VERBS_CMD_ATTACH_MCAST, IB_USER_VERBS_CMD_DETACH_MCAST,
	};
	unsigned int i;

	if (device->uverbs_cmd_mask)
		return;
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		device->uverbs_cmd_mask |= BIT_ULL(commands[i]);
}

/**
 * rxe_compat_ib_set_device_ops() - ib_set_device_ops() for the newest table
 * @device: allocated, not registered
 * @ops: the driver's only table
 *
 * Context: process context.
 */
void rxe_compat_ib_set_device_ops(struct ib_device *device,
				  const struct rxe_compat_ib_device_ops *ops)
{
	static struct ib_device_ops kernel_ops;	/* too large for the stack */
	static DEFINE_MUTEX(lock);

	mutex_lock(&lock);
	WARN_ON(newest && newest != ops);
	newest = ops;
	translate(&kernel_ops, ops);
	ib_set_device_ops(device, &kernel_ops);	/* copies it */
	enable_commands(device);
	mutex_unlock(&lock);
}

#if !RXE_HAVE_IB_USES_VIRT_DMA

/**
 * rxe_compat_ib_register_device() - ib_register_device() of a device without DMA
 * @device: its operations are set
 * @name: may hold one %d
 * @dma_device: NULL
 *
 * Context: process context, without RTNL.
 * Return: 0, or what the core says.
 */
int rxe_compat_ib_register_device(struct ib_device *device, const char *name,
				  struct device *dma_device)
{
	int err;

	if (WARN_ON(dma_device))
		return -EINVAL;
	device->dev.dma_ops = &dma_virt_ops;
	err = dma_coerce_mask_and_coherent(&device->dev, DMA_BIT_MASK(64));
	if (err)
		return err;
#if RXE_HAVE_IB_REGISTER_DEVICE_DMA
	return ib_register_device(device, name, NULL);
#else
	return ib_register_device(device, name);
#endif
}

#endif /* !RXE_HAVE_IB_USES_VIRT_DMA */

#endif /* RXE_COMPAT_IB_OPS && RXE_HAVE_IB_DEVICE_OPS */
