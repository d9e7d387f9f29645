// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What compat needs for the life of the module, on kernels where it needs any:
 * set up when the driver offers its link type, given back when the driver has
 * unregistered its last device.
 */
#define RXE_COMPAT_KERNEL_MODULE

#include <linux/crc32.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>

#if !RXE_HAVE_CRC32_OPTIMIZATIONS

/**
 * rxe_compat_rdma_link_register() - rdma_link_register() after compat is ready
 * @ops: link type
 *
 * Context: process context, in module init.
 */
void rxe_compat_rdma_link_register(struct rdma_link_ops *ops)
{
	rxe_compat_crc32_init();
	rdma_link_register(ops);
}

/**
 * rxe_compat_ib_unregister_driver() - ib_unregister_driver(), then compat ends
 * @id: driver
 *
 * Context: process context, in module exit, or in module init if it fails.
 */
void rxe_compat_ib_unregister_driver(enum rdma_driver_id id)
{
	ib_unregister_driver(id);
	rxe_compat_crc32_exit();
}

#endif /* !RXE_HAVE_CRC32_OPTIMIZATIONS */
