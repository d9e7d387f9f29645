/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * "rdma link add". The driver registers its link type when all else is ready,
 * so that this is where compat sets itself up (compat/module.c).
 */
#ifndef RXE_COMPAT_RDMA_RDMA_NETLINK_H
#define RXE_COMPAT_RDMA_RDMA_NETLINK_H

#include_next <rdma/rdma_netlink.h>

#if !RXE_HAVE_CRC32_OPTIMIZATIONS

void rxe_compat_rdma_link_register(struct rdma_link_ops *ops);

#ifndef RXE_COMPAT_KERNEL_MODULE
#define rdma_link_register rxe_compat_rdma_link_register
#endif

#endif

#endif /* RXE_COMPAT_RDMA_RDMA_NETLINK_H */
