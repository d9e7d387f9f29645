/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Source GIDs and the netdevs that have them. */
#ifndef RXE_COMPAT_RDMA_IB_CACHE_H
#define RXE_COMPAT_RDMA_IB_CACHE_H

#include <rdma/ib_verbs.h>
#include_next <rdma/ib_cache.h>

#if !RXE_HAVE_IB_GID_ATTR_GID

static inline struct net_device *
rxe_compat_rdma_read_gid_attr_ndev_rcu(const struct rxe_compat_ib_gid_attr *attr)
{
	return attr->ndev ? attr->ndev : ERR_PTR(-ENODEV);
}

#define rdma_read_gid_attr_ndev_rcu rxe_compat_rdma_read_gid_attr_ndev_rcu

#endif /* !RXE_HAVE_IB_GID_ATTR_GID */

#endif /* RXE_COMPAT_RDMA_IB_CACHE_H */
