/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Source GIDs and the netdevs that have them. */
#ifndef RXE_COMPAT_RDMA_IB_CACHE_H
#define RXE_COMPAT_RDMA_IB_CACHE_H

#include <rdma/ib_verbs.h>
#include_next <rdma/ib_cache.h>

#if !RXE_HAVE_IB_DEVICE_OPS

static inline struct net_device *
rxe_compat_rdma_read_gid_attr_ndev_rcu(const struct rxe_compat_ib_gid_attr *attr)
{
	return attr->ndev ? attr->ndev : ERR_PTR(-ENODEV);
}

#define rdma_read_gid_attr_ndev_rcu rxe_compat_rdma_read_gid_attr_ndev_rcu

/* compat/ib_cache.c */
const struct rxe_compat_ib_gid_attr *
rxe_compat_rdma_get_gid_attr(struct ib_device *device, u32 port, int index);
const struct rxe_compat_ib_gid_attr *
rxe_compat_rdma_find_gid_by_port(struct ib_device *device, const union ib_gid *gid,
				 enum ib_gid_type type, u32 port, struct net_device *ndev);
void rxe_compat_rdma_put_gid_attr(const struct rxe_compat_ib_gid_attr *attr);

#ifndef RXE_COMPAT_KERNEL_IB_OPS
#define rdma_get_gid_attr	rxe_compat_rdma_get_gid_attr
#define rdma_find_gid_by_port	rxe_compat_rdma_find_gid_by_port
#define rdma_put_gid_attr	rxe_compat_rdma_put_gid_attr
#endif

#endif /* !RXE_HAVE_IB_DEVICE_OPS */

#endif /* RXE_COMPAT_RDMA_IB_CACHE_H */
