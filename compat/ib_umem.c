// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pinned user memory as the newest kernel shows it, where the kernel's own
 * structure has another form.
 */
#define RXE_COMPAT_KERNEL_IB_UMEM

#include <linux/err.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <rdma/ib_umem.h>

#if !RXE_HAVE_IB_UMEM_GET_DEVICE && !RXE_HAVE_IB_UMEM_SGT_APPEND

static LIST_HEAD(pinnings);
static DEFINE_SPINLOCK(pinnings_lock);

/**
 * rxe_compat_pinning_begin() - say for whom the caller will pin memory
 * @pinning: until rxe_compat_pinning_end()
 * @whom: context or udata, what the kernel's ib_umem_get() wants
 *
 * Context: process context.
 */
void rxe_compat_pinning_begin(struct rxe_compat_pinning *pinning, void *whom)
{
	pinning->task = current;
	pinning->whom = whom;
	spin_lock(&pinnings_lock);
	list_add(&pinning->list, &pinnings);
	spin_unlock(&pinnings_lock);
}

/**
 * rxe_compat_pinning_end() - undo rxe_compat_pinning_begin()
 * @pinning: the same
 *
 * Context: process context.
 */
void rxe_compat_pinning_end(struct rxe_compat_pinning *pinning)
{
	spin_lock(&pinnings_lock);
	list_del(&pinning->list);
	spin_unlock(&pinnings_lock);
}

static void *pinning_for_whom(void)
{
	struct rxe_compat_pinning *pinning;
	void *whom = NULL;

	spin_lock(&pinnings_lock);
	list_for_each_entry(pinning, &pinnings, list)
		if (pinning->task == current)
			whom = pinning->whom;
	spin_unlock(&pinnings_lock);
	return whom;
}

#endif /* !RXE_HAVE_IB_UMEM_GET_DEVICE */

#if !RXE_HAVE_IB_UMEM_SGT_APPEND

/**
 * rxe_compat_ib_umem_get() - pin memory of the calling process
 * @device: device
 * @addr: first address
 * @size: bytes
 * @access: IB_ACCESS_ flags
 *
 * Context: process context, sleeps.
 * Return: to be given back with rxe_compat_ib_umem_release(), or an ERR_PTR.
 */
struct rxe_compat_ib_umem *
rxe_compat_ib_umem_get(struct ib_device *device, unsigned long addr, size_t size, int access)
{
	struct rxe_compat_ib_umem *umem;
	struct sg_table *sgt;
	int err;

	umem = kzalloc(sizeof(*umem), GFP_KERNEL);
	if (!umem)
		return ERR_PTR(-ENOMEM);
#if RXE_HAVE_IB_UMEM_GET_DEVICE
	umem->kernel = ib_umem_get(device, addr, size, access);
#elif RXE_HAVE_IB_UMEM_GET_NO_DMASYNC
	umem->kernel = ib_umem_get(pinning_for_whom(), addr, size, access);
#else
	umem->kernel = ib_umem_get(pinning_for_whom(), addr, size, access, 0);
#endif
	if (IS_ERR(umem->kernel)) {
		err = PTR_ERR(umem->kernel);
		kfree(umem);
		return ERR_PTR(err);
	}
	/* a view, owned by the kernel's */
	sgt = &umem->sgt_append.sgt;
	sgt->sgl = umem->kernel->sg_head.sgl;
	sgt->nents = umem->kernel->nmap;
#if RXE_HAVE_IB_UMEM_SG_NENTS
	sgt->orig_nents = umem->kernel->sg_nents;
#else
	sgt->orig_nents = umem->kernel->npages;	/* a page each */
#endif
	return umem;
}

/**
 * rxe_compat_ib_umem_release() - unpin
 * @umem: from rxe_compat_ib_umem_get()
 *
 * Context: process context, sleeps.
 */
void rxe_compat_ib_umem_release(struct rxe_compat_ib_umem *umem)
{
	ib_umem_release(umem->kernel);
	kfree(umem);
}

#endif /* !RXE_HAVE_IB_UMEM_SGT_APPEND */
