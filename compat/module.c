// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What compat needs for the life of the module: set up when the driver offers
 * its link type, given back when the driver has unregistered its last device.
 */
#define RXE_COMPAT_KERNEL_MODULE

#include <linux/crc32.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>

#if !RXE_HAVE_RDMA_LINK_OPS

static bool devices_ready;

/* Without them no link can be made; the module stays, and says why. */
static void links_open(struct rdma_link_ops *ops)
{
	int err;

	err = rxe_compat_ib_device_init();
	if (err) {
		pr_err("rxe: cannot serve devices: error %d\n", err);
		return;
	}
	devices_ready = true;
	rxe_compat_rdma_nl_register(ops);
}

/**
 * rxe_compat_rdma_link_unregister() - no more links are added
 * @ops: link type
 *
 * Context: process context, in module exit; waits for what is being added.
 */
void rxe_compat_rdma_link_unregister(struct rdma_link_ops *ops)
{
	if (devices_ready)
		rxe_compat_rdma_nl_unregister();
}

static void devices_close(enum rdma_driver_id id)
{
	if (!devices_ready)
		return;
	rxe_compat_ib_devices_remove();
	rxe_compat_ib_device_exit();
	devices_ready = false;
}

#else
#define links_open	rdma_link_register
#define devices_close	ib_unregister_driver
#endif /* !RXE_HAVE_RDMA_LINK_OPS */

/**
 * rxe_compat_rdma_link_register() - rdma_link_register() after compat is ready
 * @ops: link type
 *
 * Context: process context, in module init.
 */
void rxe_compat_rdma_link_register(struct rdma_link_ops *ops)
{
	rxe_compat_crc32_init();
	links_open(ops);
}

/**
 * rxe_compat_ib_unregister_driver() - ib_unregister_driver(), then compat ends
 * @id: driver
 *
 * Context: process context, in module exit, or in module init if it fails.
 */
void rxe_compat_ib_unregister_driver(enum rdma_driver_id id)
{
	devices_close(id);
	rxe_compat_crc32_exit();
}
