// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mr.c - memory regions: registration, keys, and who may use which.
 *
 * Owns the pages of a region from registration to deregistration. The key is
 * number << 8 | variant: the number finds the region in rxe_mr_ids, the variant
 * must match too. lkey and rkey are equal; access flags tell them apart.
 */
#include "rxe.h"

#include <linux/mm.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

/* What a region may allow; the rest is a hint or needs what is not there */
#define MR_REMOTE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |	\
			 IB_ACCESS_REMOTE_ATOMIC)
#define MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | MR_REMOTE)

static struct rxe_mr *mr_new(struct ib_pd *pd, enum rxe_mr_type type, int access)
{
	struct rxe_dev *dev = to_rxe_dev(pd->device);
	struct rxe_mr *mr;
	void *err = ERR_PTR(-ENOMEM);

	if (!atomic_add_unless(&dev->num_mr, 1, RXE_MAX_MR))
		return err;
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		goto fail;
	mr->id = rxe_id_new(&rxe_mr_ids, mr);
	if (IS_ERR(mr->id)) {
		err = mr->id;
		kfree(mr);
		goto fail;
	}
	mr->type = type;
	mr->access = access & MR_ACCESS;
	/* the core fills these in too, but only after the key is known to work */
	mr->ib.device = pd->device;
	mr->ib.pd = pd;
	mr->ib.lkey = mr->id->number << 8 | (get_random_u32() & 0xff);
	mr->ib.rkey = mr->ib.lkey;
	return mr;

fail:
	atomic_dec(&dev->num_mr);
	return err;
}

static void mr_free(struct rxe_mr *mr)
{
	rxe_id_free(&rxe_mr_ids, mr->id);
	atomic_dec(&to_rxe_dev(mr->ib.device)->num_mr);
	kvfree(mr->pages);
	if (mr->umem)
		ib_umem_release(mr->umem);
	kfree(mr);
}

/**
 * rxe_mr_get_dma - get_dma_mr: all of the kernel's memory, by pointer
 * @ibpd: a kernel user's
 * @access: IB_ACCESS_ flags
 *
 * Context: process context, sleeps.
 * Return: the region or an ERR_PTR: -EINVAL (a process asks), -ENOMEM, -ENOSPC.
 */
struct ib_mr *rxe_mr_get_dma(struct ib_pd *ibpd, int access)
{
	struct rxe_mr *mr;

	if (ibpd->uobject)
		return ERR_PTR(-EINVAL);
	mr = mr_new(ibpd, RXE_MR_DMA, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->length = U64_MAX;
	rxe_id_publish(&rxe_mr_ids, mr->id);
	return &mr->ib;
}

/* List the pages of mr->umem, whatever size the pieces are that it is made of. */
static int mr_list_pages(struct rxe_mr *mr)
{
	struct sg_page_iter iter;
	u32 n = 0;

	mr->pages = kvmalloc_array(mr->num_pages, sizeof(*mr->pages), GFP_KERNEL);
	if (!mr->pages)
		return -ENOMEM;
	for_each_sgtable_page(&mr->umem->sgt_append.sgt, &iter, 0) {
		if (n == mr->num_pages)
			break;
		mr->pages[n++] = sg_page_iter_page(&iter);
	}
	return n == mr->num_pages ? 0 : -EFAULT;
}

/**
 * rxe_mr_reg_user - reg_user_mr: pin memory of the calling process
 * @ibpd: protection domain
 * @start: address in the process
 * @length: bytes, not 0
 * @iova: the name of the first byte in requests; need not be aligned as @start
 * @access: IB_ACCESS_ flags, checked by the core
 * @dmah: not supported
 * @udata: of the user's command
 *
 * Context: process context, sleeps.
 * Return: the region or an ERR_PTR: -EINVAL (no bytes, or addresses wrap),
 * -EOPNOTSUPP (on-demand paging, DMA handle), -ENOMEM, -ENOSPC, and what pinning
 * says.
 */
struct ib_mr *rxe_mr_reg_user(struct ib_pd *ibpd, u64 start, u64 length, u64 iova,
			      int access, struct ib_dmah *dmah, struct ib_udata *udata)
{
	struct rxe_mr *mr;
	u64 pages;
	int err;

	if (dmah || (access & IB_ACCESS_ON_DEMAND))
		return ERR_PTR(-EOPNOTSUPP);
	if (!length || start + (length - 1) < start || iova + (length - 1) < iova)
		return ERR_PTR(-EINVAL);
	pages = ((length - 1 + offset_in_page(start)) >> PAGE_SHIFT) + 1;
	if (pages > U32_MAX || start != (unsigned long)start ||
	    length != (size_t)length)
		return ERR_PTR(-EINVAL);

	mr = mr_new(ibpd, RXE_MR_USER, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->iova = iova;
	mr->length = length;
	mr->num_pages = pages;
	mr->first_offset = offset_in_page(start);
	mr->ib.iova = iova;
	mr->ib.length = length;
	mr->umem = ib_umem_get_va(ibpd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		mr->umem = NULL;
		goto fail;
	}
	err = mr_list_pages(mr);
	if (err)
		goto fail;
	rxe_id_publish(&rxe_mr_ids, mr->id);
	return &mr->ib;
fail:
	mr_free(mr);
	return ERR_PTR(err);
}

/**
 * rxe_mr_dereg - dereg_mr
 * @ibmr: region
 * @udata: of the user's command
 *
 * Nobody touches the memory after return; requests that still name the key fail.
 *
 * Context: process context, sleeps.
 * Return: 0.
 */
int rxe_mr_dereg(struct ib_mr *ibmr, struct ib_udata *udata)
{
	mr_free(to_rxe_mr(ibmr));
	return 0;
}

/*
 * A peer that was given a key to all memory may still err in the address. Both
 * ends are enough: no packet is longer than a page.
 */
static bool mr_is_memory(u64 addr, u64 length)
{
	u64 last = length ? addr + length - 1 : addr;

	return virt_addr_valid((void *)(uintptr_t)addr) &&
	       virt_addr_valid((void *)(uintptr_t)last);
}

/* Whether the region covers the range, none of whose sums may wrap */
static bool mr_covers(const struct rxe_mr *mr, u64 addr, u64 length, int access)
{
	u64 offset = addr - mr->iova;

	if (addr < mr->iova || offset > mr->length || length > mr->length - offset)
		return false;
	return mr->type != RXE_MR_DMA || !(access & MR_REMOTE) ||
	       mr_is_memory(addr, length);
}

/**
 * rxe_mr_get - find a region and check that a range of it may be used
 * @pd: of the QP
 * @key: lkey or rkey, from a ring or the wire
 * @addr: first address, in the region's own numbering
 * @length: bytes; with 0 the key is checked all the same
 * @access: IB_ACCESS_ flags that are needed, all of them; 0: to read, locally
 *
 * Context: any, also softirq.
 * Return: the region with a reference, to be given back with rxe_mr_put() soon
 * and without sleeping; or an ERR_PTR: -EACCES (no such key, another protection
 * domain, or a right is missing), -EFAULT (range). Never NULL.
 */
struct rxe_mr *rxe_mr_get(struct ib_pd *pd, u32 key, u64 addr, u64 length, int access)
{
	struct rxe_mr *mr;
	struct rxe_id *id;
	int err = -EACCES;

	id = rxe_id_get(&rxe_mr_ids, key >> 8);
	if (!id)
		return ERR_PTR(-EACCES);
	mr = id->object;
	if (mr->ib.lkey == key && mr->ib.pd == pd && !(access & ~mr->access)) {
		if (mr_covers(mr, addr, length, access))
			return mr;
		err = -EFAULT;
	}
	rxe_id_put(id);
	return ERR_PTR(err);
}

/**
 * rxe_mr_put - give a region back
 * @mr: from rxe_mr_get()
 *
 * Context: any.
 */
void rxe_mr_put(struct rxe_mr *mr)
{
	rxe_id_put(mr->id);
}
