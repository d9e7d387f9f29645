// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Module init and exit: the order in which the parts come and go.
 *
 * Numbers know nothing of the network; the sockets' packets look them up; links
 * come last because from then on users make devices.  Exit is the reverse: with the
 * links gone no device exists, so nothing calls into the rest any more.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <rdma/rdma_netlink.h>

#include "net.h"

/**
 * rxe_module_init() - make the module able to serve "rdma link add"
 *
 * Context: process context.
 * Return: 0, or the errno of the part that failed; nothing is left behind then.
 */
static int __init rxe_module_init(void)
{
	int ret;

	ret = rxe_ids_init();
	if (ret)
		return ret;
	ret = rxe_task_module_init();
	if (ret)
		goto fail_task;
	ret = rxe_odp_module_init();
	if (ret)
		goto fail_odp;
	ret = rxe_segment_init();
	if (ret)
		goto fail_segment;
	ret = rxe_debugfs_init();
	if (ret)
		goto fail_debugfs;
	ret = rxe_link_init();
	if (ret)
		goto fail_link;
	return 0;

fail_link:
	rxe_debugfs_exit();
fail_debugfs:
	rxe_segment_exit();
fail_segment:
	rxe_odp_module_exit();
fail_odp:
	rxe_task_module_exit();
fail_task:
	rxe_ids_exit();
	return ret;
}

/**
 * rxe_module_exit() - remove every device and give everything back
 *
 * Works with devices present and traffic flowing: rxe_link_exit() unregisters
 * the devices, which destroys their objects, before anything below them goes.
 *
 * Context: process context; sleeps until the last device is gone.
 */
static void __exit rxe_module_exit(void)
{
	rxe_link_exit();
	rxe_debugfs_exit();
	rxe_net_exit();
	rxe_segment_exit();
	rxe_odp_module_exit();
	rxe_task_module_exit();
	/* RCU callbacks are code of this module */
	rcu_barrier();
	rxe_ids_exit();
}

module_init(rxe_module_init);
module_exit(rxe_module_exit);

MODULE_DESCRIPTION("RDMA over Converged Ethernet (RoCE v2) in software");
MODULE_AUTHOR("The rxe authors");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(RXE_VERSION);
/* tells "modinfo rdma_rxe" from that of the module of the same name in the kernel */
MODULE_INFO(source, "rxe " RXE_VERSION ", built out of tree");
MODULE_ALIAS_RDMA_LINK("rxe");
