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

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#if RXE_COMPAT_IB_OPS

static const struct rxe_compat_ib_device_ops *newest;

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

/* --- memory regions ---------------------------------------------------------- */

#if !RXE_HAVE_IB_OPS_REG_USER_MR_DMAH

/* A kernel without DMA handles never has one to pass. */
static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
				 int access, struct ib_udata *udata)
{
	return newest->reg_user_mr(pd, start, length, virt_addr, access, NULL, udata);
}

#endif /* !RXE_HAVE_IB_OPS_REG_USER_MR_DMAH */

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
	SAME(uverbs_no_driver_id_binding);
	SAME(device_group);
	SAME(port_groups);

	SAME(post_send);
	SAME(post_recv);
	SAME(drain_rq);
	SAME(drain_sq);
	SAME(poll_cq);
	SAME(peek_cq);
	SAME(req_notify_cq);
	SAME(post_srq_recv);
	SAME(query_device);
	SAME(modify_device);
	SAME(get_dev_fw_str);
	SAME(query_port);
	SAME(modify_port);
	SAME(get_port_immutable);
	SAME(get_link_layer);
	SAME(get_netdev);
	SAME(query_gid);
	SAME(add_gid);
	SAME(del_gid);
	SAME(query_pkey);
	SAME(alloc_ucontext);
	SAME(dealloc_ucontext);
	SAME(mmap);
	SAME(mmap_free);
	SAME(disassociate_ucontext);
	SAME(alloc_pd);
	SAME(dealloc_pd);
	SAME(create_ah);
	SAME(create_user_ah);
	SAME(modify_ah);
	SAME(query_ah);
	SAME(destroy_ah);
	SAME(create_srq);
	SAME(modify_srq);
	SAME(query_srq);
	SAME(destroy_srq);
	SAME(create_qp);
	SAME(modify_qp);
	SAME(query_qp);
	SAME(destroy_qp);
	SAME(modify_cq);
	SAME(destroy_cq);
	SAME(get_dma_mr);
	SAME(rereg_user_mr);
	SAME(dereg_mr);
	SAME(alloc_mr);
	SAME(advise_mr);
	SAME(map_mr_sg);
	SAME(alloc_mw);
	SAME(dealloc_mw);
	SAME(attach_mcast);
	SAME(detach_mcast);
	SAME(alloc_hw_device_stats);
	SAME(alloc_hw_port_stats);
	SAME(get_hw_stats);
	SAME(modify_hw_stat);
	SAME(fill_res_mr_entry);
	SAME(fill_res_mr_entry_raw);
	SAME(fill_res_cq_entry);
	SAME(fill_res_cq_entry_raw);
	SAME(fill_res_qp_entry);
	SAME(fill_res_qp_entry_raw);
	SAME(fill_res_cm_id_entry);
	SAME(enable_driver);
	SAME(dealloc_driver);
	SAME(get_numa_node);

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

	/* Without it the core makes the speed up from query_port. */
#if RXE_HAVE_IB_OPS_QUERY_PORT_SPEED
	SAME(query_port_speed);
#endif

	/* Without it the core does not use what the driver promises by it. */
#if RXE_HAVE_IB_OPS_UVERBS_ROBUST_UDATA
	SAME(uverbs_robust_udata);
#endif

	/* Without it the driver's own details of an SRQ are not shown. */
#if RXE_HAVE_IB_OPS_FILL_RES_SRQ_ENTRY
	SAME(fill_res_srq_entry);
	SAME(fill_res_srq_entry_raw);
#endif

	/* Without it the core reports no port events; the driver watches its netdev. */
#if RXE_HAVE_IB_OPS_REPORT_PORT_EVENT
	SAME(report_port_event);
#endif

	SAME(size_ib_ah);
	SAME(size_ib_cq);
	SAME(size_ib_mw);
	SAME(size_ib_pd);
	SAME(size_ib_qp);
	SAME(size_ib_srq);
	SAME(size_ib_ucontext);
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
	mutex_unlock(&lock);
}

#endif /* RXE_COMPAT_IB_OPS */
