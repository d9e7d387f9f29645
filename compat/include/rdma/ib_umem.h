/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Pinned user memory, by address. */
#ifndef RXE_COMPAT_RDMA_IB_UMEM_H
#define RXE_COMPAT_RDMA_IB_UMEM_H

#include_next <rdma/ib_umem.h>

#if !RXE_HAVE_IB_UMEM_GET_VA
#define ib_umem_get_va(device, addr, size, access)	ib_umem_get(device, addr, size, access)
#endif

#endif /* RXE_COMPAT_RDMA_IB_UMEM_H */
