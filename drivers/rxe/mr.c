// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mr.c - memory regions: registration, keys, and who may use which.
 *
 * Owns the pages of a region from registration to deregistration. The key is
 * number << 8 | variant: the number finds the region, or a memory window (mw.c), in
 * rxe_mr_ids, the variant must match too. lkey and rkey are equal; access flags tell
 * them apart.
 *
 * Most keys are good from registration on. Those of fast registration and of memory
 * windows come and go by work requests:
 *
 *	not valid ── REG_MR, bind ──► valid ── LOCAL_INV, SEND with invalidate ──►
 *
 * When such a key is no longer valid, nobody uses it any more: rxe_key_revoke()
 * waits for the few packets that are being copied on other CPUs.
 *
 * A region of the first kind is found once in a round of a task, and kept until its end
 * (struct kept): packet after packet is copied from it or to it, often by two CPUs, and
 * each reference would take its count from the other one's cache. Who deregisters it
 * waits for the round.
 */
#include "rxe.h"

#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

/* What a region may allow, of whatever memory; the rest is a hint or is looked at */
#define MR_REMOTE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |	\
			 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_FLUSH_GLOBAL)
#define MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND | MR_REMOTE)

/* Regions that a CPU keeps during a round; a power of two */
#define KEPT		4

/**
 * struct kept - regions that the tasks of this CPU use in this round
 * @depth: tasks within each other; 0: no task runs
 * @id: each with a reference, at a place that its number tells
 *
 * Only with bottom halves off; where those can be preempted, nothing is kept.
 */
struct kept {
	u32		depth;
	struct rxe_id	*id[KEPT];
};

static DEFINE_PER_CPU(struct kept, mr_kept);

/* mr->windows of a region that is going */
#define WINDOWS_CLOSED	INT_MIN

/**
 * rxe_key_init - a key that allows nothing yet
 * @key: to fill
 * @id: entry, not published; its object must be @key
 * @pd: who may use it
 *
 * Context: any.
 */
void rxe_key_init(struct rxe_key *key, struct rxe_id *id, struct ib_pd *pd)
{
	key->id = id;
	key->pd = pd;
	key->key = id->number << 8 | (get_random_u32() & 0xff);
}

/**
 * rxe_key_revoke - make a key invalid, and wait until nobody uses it
 * @key: held by the caller, with one reference
 *
 * Others hold a key for the time it takes to copy a packet, with bottom halves off: who
 * waits here may be a softirq of any CPU.
 *
 * Context: any but hard interrupts; with a reference of the caller's own.
 * Return: whether it was valid; of several at a time only one hears so, and the others
 * at once: until @key->valid is RXE_KEY_INVALID, that one waits.
 */
bool rxe_key_revoke(struct rxe_key *key)
{
	/* pairs with rxe_mr_get() */
	if (cmpxchg(&key->valid, RXE_KEY_VALID, RXE_KEY_ENDING) != RXE_KEY_VALID)
		return false;
	while (!rxe_id_alone(key->id))
		cpu_relax();
	/* who registers it again changes it only now */
	smp_store_release(&key->valid, RXE_KEY_INVALID);
	return true;
}

static struct rxe_mr *mr_new(struct ib_pd *pd, enum rxe_mr_type type, int access)
{
	struct rxe_dev *dev = to_rxe_dev(pd->device);
	struct rxe_mr *mr;
	struct rxe_id *id;
	void *err = ERR_PTR(-ENOMEM);

	if (!atomic_add_unless(&dev->num_mr, 1, RXE_MAX_MR))
		return err;
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		goto fail;
	id = rxe_id_new(&rxe_mr_ids, &mr->key);
	if (IS_ERR(id)) {
		err = id;
		kfree(mr);
		goto fail;
	}
	rxe_key_init(&mr->key, id, pd);
	mr->key.access = access & MR_ACCESS;
	mr->type = type;
	/* the core fills these in too, but only after the key is known to work */
	mr->ib.device = pd->device;
	mr->ib.pd = pd;
	mr->ib.lkey = mr->key.key;
	mr->ib.rkey = mr->key.key;
	return mr;

fail:
	atomic_dec(&dev->num_mr);
	return err;
}

static void mr_free(struct rxe_mr *mr)
{
	rxe_id_free(&rxe_mr_ids, mr->key.id);
	atomic_dec(&to_rxe_dev(mr->ib.device)->num_mr);
	kvfree(mr->pages);
	kvfree(mr->blocks);
	if (mr->umem)
		ib_umem_release(mr->umem);
	if (mr->odp)
		rxe_odp_put(mr->odp);
	kfree(mr);
}

/**
 * rxe_mr_type_name() - what backs a region
 * @mr: region
 *
 * Context: any.
 * Return: one word.
 */
const char *rxe_mr_type_name(const struct rxe_mr *mr)
{
	switch (mr->type) {
	case RXE_MR_DMA:
		return "dma";
	case RXE_MR_USER:
		return "user";
	case RXE_MR_FAST:
		return "fast";
	case RXE_MR_ODP:
		return "on-demand";
	}
	return "?";
}

static void mr_publish(struct rxe_mr *mr)
{
	rxe_id_publish(&rxe_mr_ids, mr->key.id);
	rxe_track_add(to_rxe_dev(mr->ib.device), RXE_TRACK_MR, &mr->track,
		      mr->type == RXE_MR_USER || mr->type == RXE_MR_ODP);
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
	mr->key.length = U64_MAX;
	mr->key.valid = RXE_KEY_VALID;
	mr_publish(mr);
	return &mr->ib;
}

/* List the pages of mr->umem, whatever size the pieces are that it is made of. */
static int mr_list_pages(struct rxe_mr *mr)
{
	struct sg_page_iter iter;
	u32 n = 0;

	/* more than that kvmalloc() refuses, and warns */
	if (mr->num_pages > INT_MAX / sizeof(*mr->pages))
		mr->pages = vmalloc((size_t)mr->num_pages * sizeof(*mr->pages));
	else
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

/*
 * Whether what is written to a page, and to memory behind the CPU's caches, is
 * there after power was lost.
 */
static bool page_is_persistent(struct page *page)
{
	phys_addr_t phys = page_to_phys(page);

	if (!IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API))
		return false;
	return region_intersects(phys, PAGE_SIZE, IORESOURCE_MEM,
				 IORES_DESC_PERSISTENT_MEMORY) == REGION_INTERSECTS ||
	       region_intersects(phys, PAGE_SIZE, IORESOURCE_MEM,
				 IORES_DESC_PERSISTENT_MEMORY_LEGACY) == REGION_INTERSECTS;
}

static bool mr_is_persistent(const struct rxe_mr *mr)
{
	u32 i;

	for (i = 0; i < mr->num_pages; i++)
		if (!page_is_persistent(mr->pages[i]))
			return false;
	return true;
}

/*
 * Registers memory of the calling process without pinning it. All of its memory is
 * asked for by address 0 and the largest length.
 */
static struct ib_mr *mr_reg_on_demand(struct ib_pd *ibpd, u64 start, u64 length, u64 iova,
				      int access)
{
	struct rxe_mr *mr;
	int err;

	if (!IBK_ON_DEMAND_PAGING)
		return ERR_PTR(-EOPNOTSUPP);
	if (length == U64_MAX && (start || iova))
		return ERR_PTR(-EINVAL);
	mr = mr_new(ibpd, RXE_MR_ODP, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->odp = rxe_odp_create();
	if (IS_ERR(mr->odp)) {
		err = PTR_ERR(mr->odp);
		mr->odp = NULL;
		mr_free(mr);
		return ERR_PTR(err);
	}
	mr->key.addr = iova;
	mr->key.length = length;
	mr->key.valid = RXE_KEY_VALID;
	mr->start = start;
	mr->first_offset = offset_in_page(start);
	mr->ib.iova = iova;
	mr->ib.length = length;
	mr_publish(mr);
	return &mr->ib;
}

/**
 * rxe_mr_reg_user - reg_user_mr: memory of the calling process, pinned or on demand
 * @ibpd: protection domain
 * @start: address in the process
 * @length: bytes, not 0
 * @iova: the name of the first byte in requests; need not be aligned as @start
 * @access: IB_ACCESS_ flags, checked by the core
 * @dmah: not supported
 * @udata: of the user's command
 *
 * Context: process context, sleeps.
 * Return: the region or an ERR_PTR: -EINVAL (no bytes, addresses wrap, or a peer may
 * ask for persistence and the memory has none), -EOPNOTSUPP (DMA handle, on-demand
 * paging where it is not to be had, or with persistence), -ENOMEM, -ENOSPC, and what
 * pinning says.
 */
struct ib_mr *rxe_mr_reg_user(struct ib_pd *ibpd, u64 start, u64 length, u64 iova,
			      int access, struct ib_dmah *dmah, struct ib_udata *udata)
{
	const int both = IB_ACCESS_ON_DEMAND | IB_ACCESS_FLUSH_PERSISTENT;
	struct rxe_mr *mr;
	u64 pages;
	int err;

	if (dmah || (access & both) == both)
		return ERR_PTR(-EOPNOTSUPP);
	if (!length || start + (length - 1) < start || iova + (length - 1) < iova)
		return ERR_PTR(-EINVAL);
	if (access & IB_ACCESS_ON_DEMAND)
		return mr_reg_on_demand(ibpd, start, length, iova, access);
	pages = ((length - 1 + offset_in_page(start)) >> PAGE_SHIFT) + 1;
	if (pages > U32_MAX || start != (unsigned long)start ||
	    length != (size_t)length)
		return ERR_PTR(-EINVAL);

	mr = mr_new(ibpd, RXE_MR_USER, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->key.addr = iova;
	mr->key.length = length;
	mr->key.valid = RXE_KEY_VALID;
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
	if (access & IB_ACCESS_FLUSH_PERSISTENT) {
		if (!mr_is_persistent(mr)) {
			err = -EINVAL;
			goto fail;
		}
		mr->key.access |= IB_ACCESS_FLUSH_PERSISTENT;
	}
	mr_publish(mr);
	return &mr->ib;
fail:
	mr_free(mr);
	return ERR_PTR(err);
}

/**
 * rxe_mr_alloc - alloc_mr: a region that a kernel user fills by work requests
 * @ibpd: protection domain
 * @type: IB_MR_TYPE_MEM_REG
 * @max_num_sg: blocks that it must hold
 *
 * Context: process context, sleeps.
 * Return: the region or an ERR_PTR: -EINVAL (more than RXE_MAX_BLOCKS, or none),
 * -EOPNOTSUPP, -ENOMEM, -ENOSPC.
 */
struct ib_mr *rxe_mr_alloc(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg)
{
	struct rxe_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > RXE_MAX_BLOCKS)
		return ERR_PTR(-EINVAL);
	mr = mr_new(ibpd, RXE_MR_FAST, 0);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->key.revocable = true;
	mr->max_blocks = max_num_sg;
	mr->blocks = kvmalloc_array(max_num_sg, sizeof(*mr->blocks), GFP_KERNEL);
	if (!mr->blocks) {
		mr_free(mr);
		return ERR_PTR(-ENOMEM);
	}
	mr_publish(mr);
	return &mr->ib;
}

static int mr_add_block(struct ib_mr *ibmr, u64 addr)
{
	struct rxe_mr *mr = to_rxe_mr(ibmr);

	if (mr->num_pages == mr->max_blocks)
		return -ENOMEM;
	mr->blocks[mr->num_pages++] = addr;
	return 0;
}

/**
 * rxe_mr_map_sg - map_mr_sg: the memory that the next REG_MR registers
 * @ibmr: from rxe_mr_alloc(), not valid now
 * @sg: DMA addresses, that is pointers
 * @nents: its entries
 * @sg_offset: bytes of the first one to skip, or NULL
 *
 * Context: any.
 * Return: entries that fit, or an error.
 */
int rxe_mr_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		  unsigned int *sg_offset)
{
	to_rxe_mr(ibmr)->num_pages = 0;
	return ib_sg_to_pages(ibmr, sg, nents, sg_offset, mr_add_block);
}

/**
 * rxe_mr_register - execute REG_MR
 * @qp: the QP
 * @mr: the region
 * @key: its key from now on; the variant is the consumer's choice
 * @access: IB_ACCESS_ flags from now on
 *
 * Context: sq.task.
 * Return: 0, or -EINVAL: not for this region, or it is valid already.
 */
int rxe_mr_register(struct rxe_qp *qp, struct rxe_mr *mr, u32 key, int access)
{
	if (mr->type != RXE_MR_FAST || mr->ib.pd != qp->ib.pd ||
	    READ_ONCE(mr->key.valid) != RXE_KEY_INVALID ||
	    key >> 8 != mr->key.id->number || !is_power_of_2(mr->ib.page_size))
		return -EINVAL;
	mr->block_shift = ilog2(mr->ib.page_size);
	mr->first_offset = mr->ib.iova & (mr->ib.page_size - 1);
	if (mr->ib.length > ((u64)mr->num_pages << mr->block_shift) - mr->first_offset)
		return -EINVAL;
	mr->key.key = key;
	mr->key.access = access & MR_ACCESS;
	mr->key.addr = mr->ib.iova;
	mr->key.length = mr->ib.length;
	/* what is valid is complete; pairs with rxe_mr_get() */
	smp_store_release(&mr->key.valid, RXE_KEY_VALID);
	return 0;
}

/* Whether a queue pair may end what a key allows */
static bool key_may_invalidate(const struct rxe_qp *qp, const struct rxe_key *key, u32 rkey)
{
	return key->key == rkey && key->pd == qp->ib.pd && key->revocable;
}

/* -EAGAIN: another CPU changes the key. */
static int try_invalidate(struct rxe_qp *qp, u32 rkey, bool remote)
{
	struct rxe_id *id = rxe_id_get(&rxe_mr_ids, rkey >> 8);
	struct rxe_key *key;
	int err = -EINVAL;

	if (!id)
		return -EINVAL;
	key = id->object;
	if (key_may_invalidate(qp, key, rkey)) {
		if (key->window)
			err = rxe_mw_invalidate(qp, container_of(key, struct rxe_mw, key));
		else if (rxe_key_revoke(key))
			err = 0;
		else if (READ_ONCE(key->valid) != RXE_KEY_INVALID)
			err = -EAGAIN;	/* it may be in use as long */
		/* a region that is not registered may be told so again */
		else if (!remote)
			err = 0;
	}
	rxe_id_put(id);
	return err;
}

/**
 * rxe_mr_invalidate - end what a key allows, for LOCAL_INV and SEND with invalidate
 * @qp: the QP; a window of type 2 is bound to it
 * @rkey: of a region of fast registration, or of a window of type 2
 * @remote: a peer asks for it, then the key must be valid; that of a window always
 *
 * When it returns, nobody uses the memory by that key any more (10.6.5).
 *
 * Context: a task of the QP.
 * Return: 0 or -EINVAL.
 */
int rxe_mr_invalidate(struct rxe_qp *qp, u32 rkey, bool remote)
{
	int err;

	while ((err = try_invalidate(qp, rkey, remote)) == -EAGAIN)
		cpu_relax();
	return err;
}

/**
 * rxe_mr_dereg - dereg_mr
 * @ibmr: region
 * @udata: of the user's command
 *
 * Nobody touches the memory after return; requests that still name the key fail.
 *
 * Context: process context, sleeps.
 * Return: 0, or -EBUSY while memory windows are bound to it.
 */
int rxe_mr_dereg(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct rxe_mr *mr = to_rxe_mr(ibmr);

	if (atomic_cmpxchg(&mr->windows, 0, WINDOWS_CLOSED))
		return -EBUSY;
	rxe_track_del(to_rxe_dev(ibmr->device), &mr->track);
	mr_free(mr);
	return 0;
}

/*
 * A peer that was given a key to all memory may still err in the address. Both
 * ends are enough: nothing longer than a page is copied at a time.
 */
static bool mr_is_memory(u64 addr, u64 length)
{
	u64 last = length ? addr + length - 1 : addr;

	return virt_addr_valid((void *)(uintptr_t)addr) &&
	       virt_addr_valid((void *)(uintptr_t)last);
}

/* Whether the key covers the range, none of whose sums may wrap */
static bool key_covers(const struct rxe_key *key, u64 addr, u64 length)
{
	u64 offset = addr - key->addr;

	return addr >= key->addr && offset <= key->length && length <= key->length - offset;
}

/* The region behind a key, and the address there; -EACCES or -EFAULT. */
static int span_resolve(struct rxe_span *span, const struct rxe_qp *qp, u64 addr, u64 length,
			int access)
{
	struct rxe_key *key = span->key;

	if (!key_covers(key, addr, length))
		return -EFAULT;
	if (key->window) {
		const struct rxe_mw *mw = container_of(key, struct rxe_mw, key);

		if (!qp || (mw->ib.type == IB_MW_TYPE_2 && mw->qpn != qp->ib.qp_num))
			return -EACCES;
		span->mr = mw->mr;
		span->addr = addr - key->addr + mw->base;
		return 0;
	}
	span->mr = container_of(key, struct rxe_mr, key);
	span->addr = addr;
	if (span->mr->type == RXE_MR_DMA && (access & MR_REMOTE) && !mr_is_memory(addr, length))
		return -EFAULT;
	return 0;
}

/**
 * rxe_mr_extent - where the memory begins and ends that a key allows to use
 * @rkey: from the wire
 * @addr: out: first address
 * @length: out: bytes
 *
 * Whether the QP may use it is for others to say: rxe_mr_get().
 *
 * Context: any.
 * Return: 0 or -EACCES.
 */
int rxe_mr_extent(u32 rkey, u64 *addr, u64 *length)
{
	struct rxe_id *id = rxe_id_get(&rxe_mr_ids, rkey >> 8);
	const struct rxe_key *key;

	if (!id)
		return -EACCES;
	key = id->object;
	*addr = key->addr;
	*length = key->length;
	rxe_id_put(id);
	return 0;
}

/* By its number, with a reference that is the span's or this CPU's. */
static struct rxe_id *mr_find(struct rxe_span *span, u32 number)
{
	struct kept *kept = this_cpu_ptr(&mr_kept);
	struct rxe_id **place = &kept->id[number % KEPT];
	struct rxe_id *id = *place;

	span->kept = id && id->number == number;
	if (span->kept)
		return id;
	id = rxe_id_get(&rxe_mr_ids, number);
	/* one that is revocable is waited for without sleep */
	if (id && kept->depth && !*place && !((struct rxe_key *)id->object)->revocable) {
		*place = id;
		span->kept = true;
	}
	return id;
}

/**
 * rxe_mr_get - find what a key names and check that a range of it may be used
 * @span: filled
 * @pd: of the QP, or of its SRQ
 * @qp: the QP if a peer uses the key, NULL if it is an lkey
 * @key: lkey or rkey, from a ring or the wire
 * @addr: first address, in the key's own numbering
 * @length: bytes; with 0 the key is checked all the same
 * @access: IB_ACCESS_ flags that are needed, all of them; 0: to read, locally
 *
 * Context: bottom halves off, or a task of this CPU could wait for what it has interrupted.
 * Return: 0, with a reference to be given back with rxe_mr_put() soon and without
 * sleeping; -EACCES (no such key, another protection domain, or a right is missing),
 * -EFAULT (range).
 */
int rxe_mr_get(struct rxe_span *span, struct ib_pd *pd, const struct rxe_qp *qp, u32 key,
	       u64 addr, u64 length, int access)
{
	struct rxe_id *id;
	struct rxe_key *k;
	int err = -EACCES;

	WARN_ON_ONCE(!in_softirq());
	/* whoever revokes the key waits for us, so let him not preempt us */
	preempt_disable();
	id = mr_find(span, key >> 8);
	if (!id) {
		preempt_enable();
		return -EACCES;
	}
	k = id->object;
	span->key = k;
	if (k->revocable)
		smp_mb__after_atomic();	/* pairs with rxe_key_revoke() */
	/* what is valid is complete */
	if (smp_load_acquire(&k->valid) == RXE_KEY_VALID && k->key == key && k->pd == pd &&
	    !(access & ~k->access))
		err = span_resolve(span, qp, addr, length, access);
	if (err)
		rxe_mr_put(span);
	return err;
}

/**
 * rxe_mr_put - give a range back
 * @span: from rxe_mr_get()
 *
 * Context: as there.
 */
void rxe_mr_put(struct rxe_span *span)
{
	if (!span->kept)
		rxe_id_put(span->key->id);
	preempt_enable();
}

/**
 * rxe_mr_round_begin - regions that are used from now on may be kept
 *
 * Context: a task about to run on this CPU, maybe within another one; bottom halves off.
 */
void rxe_mr_round_begin(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		this_cpu_ptr(&mr_kept)->depth++;
}

/**
 * rxe_mr_round_end - give back what has been kept
 *
 * Context: as rxe_mr_round_begin(), once for each call of it.
 */
void rxe_mr_round_end(void)
{
	struct kept *kept = this_cpu_ptr(&mr_kept);
	int i;

	if (IS_ENABLED(CONFIG_PREEMPT_RT) || --kept->depth)
		return;
	for (i = 0; i < KEPT; i++) {
		if (kept->id[i])
			rxe_id_put(kept->id[i]);
		kept->id[i] = NULL;
	}
}
