/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * "rdma link add". The driver registers its link type when all else is ready,
 * so that this is where compat sets itself up (compat/module.c).
 */
#ifndef RXE_COMPAT_RDMA_RDMA_NETLINK_H
#define RXE_COMPAT_RDMA_RDMA_NETLINK_H

#include_next <rdma/rdma_netlink.h>

#if !RXE_HAVE_RDMA_LINK_OPS

struct net_device;

/* The type of link that a driver makes; served by compat/rdma_nl.c */
struct rdma_link_ops {
	struct list_head list;
	const char *type;
	int (*newlink)(const char *ibdev_name, struct net_device *ndev);
};

void rxe_compat_rdma_nl_register(struct rdma_link_ops *ops);
void rxe_compat_rdma_nl_unregister(void);

void rxe_compat_rdma_link_unregister(struct rdma_link_ops *ops);
#define rdma_link_unregister rxe_compat_rdma_link_unregister

#define MODULE_ALIAS_RDMA_LINK(type) MODULE_ALIAS("rdma-link-" type)

#endif /* !RXE_HAVE_RDMA_LINK_OPS */

void rxe_compat_rdma_link_register(struct rdma_link_ops *ops);

#ifndef RXE_COMPAT_KERNEL_MODULE
#define rdma_link_register rxe_compat_rdma_link_register
#endif

#endif /* RXE_COMPAT_RDMA_RDMA_NETLINK_H */
