/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Pinned user memory, by address. */
#ifndef RXE_COMPAT_RDMA_IB_UMEM_H
#define RXE_COMPAT_RDMA_IB_UMEM_H

#include_next <rdma/ib_umem.h>

#if !RXE_HAVE_IB_UMEM_SGT_APPEND

#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

/*
 * The driver looks at the list of pages, which had another name and was not always
 * a complete table. This one is made from the kernel's when memory is pinned.
 */
struct rxe_compat_sg_append {
	struct sg_table		sgt;
};

struct rxe_compat_ib_umem {
	struct ib_umem			*kernel;
	struct rxe_compat_sg_append	sgt_append;
};

#if !RXE_HAVE_IB_UMEM_GET_DEVICE

/*
 * Memory was pinned for a context, then for udata, before it was for a device. The
 * driver pins while it is in reg_user_mr; this says for whom.
 */
struct rxe_compat_pinning {
	struct list_head	list;
	struct task_struct	*task;
	void			*whom;
};

void rxe_compat_pinning_begin(struct rxe_compat_pinning *pinning, void *whom);
void rxe_compat_pinning_end(struct rxe_compat_pinning *pinning);

#endif

struct rxe_compat_ib_umem *
rxe_compat_ib_umem_get(struct ib_device *device, unsigned long addr, size_t size, int access);
void rxe_compat_ib_umem_release(struct rxe_compat_ib_umem *umem);

#ifndef RXE_COMPAT_KERNEL_IB_UMEM
#define ib_umem				rxe_compat_ib_umem
#define ib_umem_release			rxe_compat_ib_umem_release
#define ib_umem_get_va			rxe_compat_ib_umem_get
#endif

#elif !RXE_HAVE_IB_UMEM_GET_VA
#define ib_umem_get_va(device, addr, size, access)	ib_umem_get(device, addr, size, access)
#endif

#endif /* RXE_COMPAT_RDMA_IB_UMEM_H */
