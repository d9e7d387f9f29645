// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * odp.c - on-demand paging: memory of a process that is not pinned.
 *
 * A region on demand knows where in the process it is, and the pages that are there
 * now, in chunks of CHUNK_PAGES addresses, which come into being when they are used
 * first. So one that covers all of the address space ("implicit") is like any other.
 *
 *	          a worker gets it               the process loses it
 *	absent ────────────────────► present ────────────────────────► absent
 *	   ▲ access: -EAGAIN             │ access
 *	   └ the task comes again        └► copied
 *
 * The process owns its pages, no reference is held to any. The memory management
 * says beforehand what it is going to change (chunk_invalidate), and goes on when we
 * have forgotten it. Readers are those who copy, in any context: they count
 * themselves in chunk->users and look. Writers are the invalidation, which keeps
 * readers out and waits for those inside, neither of which takes longer than a packet
 * is copied, and the worker, which only adds. What the worker has found while an
 * invalidation was under way may be wrong already: the sequence count of the notifier
 * tells, and it looks again.
 *
 * A task that needs a page asks for it (struct rxe_fault), leaves what it does
 * undone and is called when the page has come. If it is gone again by then, it asks
 * again. If there is none, the same access fails when it is repeated.
 *
 * Locks: odp->mutex > mmap_lock > chunk->lock.
 */
#include <linux/highmem.h>
#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "rxe.h"

#define CHUNK_PAGES	512UL
#define CHUNK_SIZE	(CHUNK_PAGES << PAGE_SHIFT)
/* Pages that are asked for at a time */
#define FAULT_PAGES	64UL
/* What a message will need next is got with what it needs now, up to this */
#define FAULT_AHEAD	(64UL << PAGE_SHIFT)

/* An entry of a chunk: struct page * and these, or 0 */
#define ENTRY_WRITE	BIT(0)		/* may be written to */
#define ENTRY_DIRTY_BIT	1		/* has been */
#define ENTRY_PAGE	(~3UL)

/* How pages are got: as they are, to be read, to be written */
enum odp_how { ODP_PRESENT, ODP_READ, ODP_WRITE };

/**
 * struct rxe_odp - the memory of a process, on demand
 * @refs: its region, and whoever is getting pages
 * @mm: not of a process that runs, maybe: mmget_not_zero()
 * @serial: no other has, or had, the same
 * @mutex: one at a time gets pages
 * @chunks: by address; readers under RCU
 */
struct rxe_odp {
	refcount_t		refs;
	struct mm_struct	*mm;
	u64			serial;
	struct mutex		mutex;		/* chunks, and getting pages */
	struct rhashtable	chunks;
};

/**
 * struct rxe_chunk - a part of the address space
 * @node: in odp->chunks
 * @index: address / CHUNK_SIZE
 * @notifier: tells what the process loses
 * @lock: changes of @pages
 * @users: who look into @pages
 * @closed: they must not
 * @used: entries of @pages that are not 0
 * @pages: entries
 * @rcu: freed after a grace period
 */
struct rxe_chunk {
	struct rhash_head		node;
	unsigned long			index;
	struct mmu_interval_notifier	notifier;
	spinlock_t			lock;	/* pages */
	atomic_t			users;
	bool				closed;
	u32				used;
	struct rcu_head			rcu;
	unsigned long			pages[CHUNK_PAGES];
};

static const struct rhashtable_params chunk_params = {
	.key_len		= sizeof(unsigned long),
	.key_offset		= offsetof(struct rxe_chunk, index),
	.head_offset		= offsetof(struct rxe_chunk, node),
	.automatic_shrinking	= true,
};

static struct workqueue_struct *odp_wq;
static atomic64_t odp_serial = ATOMIC64_INIT(0);

/* --- chunks ------------------------------------------------------------------- */

/* Forgets entries; when it returns, nobody copies from or to their pages. */
static void chunk_drop(struct rxe_chunk *chunk, unsigned long first, unsigned long last)
{
	unsigned long i, entry;

	lockdep_assert_held(&chunk->lock);
	if (!chunk->used)
		return;
	WRITE_ONCE(chunk->closed, true);
	smp_mb();	/* pairs with chunk_enter(): it sees this, or we see it */
	while (atomic_read_acquire(&chunk->users))
		cpu_relax();
	for (i = first; i <= last; i++) {
		entry = chunk->pages[i];
		if (!entry)
			continue;
		/* still the process's page: it cannot have gone before we say so */
		if (entry & BIT(ENTRY_DIRTY_BIT))
			set_page_dirty(compound_head((struct page *)(entry & ENTRY_PAGE)));
		WRITE_ONCE(chunk->pages[i], 0);
		chunk->used--;
	}
	smp_store_release(&chunk->closed, false);	/* after what was written; chunk_enter() */
}

static bool chunk_invalidate(struct mmu_interval_notifier *notifier,
			     const struct mmu_notifier_range *range, unsigned long seq)
{
	struct rxe_chunk *chunk = container_of(notifier, struct rxe_chunk, notifier);
	unsigned long base = chunk->index * CHUNK_SIZE;
	unsigned long first = 0, last = CHUNK_PAGES - 1;

	if (range->start > base)
		first = (range->start - base) >> PAGE_SHIFT;
	if (range->end - 1 < base + (CHUNK_SIZE - 1))
		last = (range->end - 1 - base) >> PAGE_SHIFT;
	spin_lock(&chunk->lock);
	mmu_interval_set_seq(notifier, seq);
	chunk_drop(chunk, first, last);
	spin_unlock(&chunk->lock);
	return true;
}

static const struct mmu_interval_notifier_ops chunk_notifier_ops = {
	.invalidate = chunk_invalidate,
};

/* Sleeps. Nobody finds the chunk any more. */
static void chunk_free(void *object, void *unused)
{
	struct rxe_chunk *chunk = object;

	spin_lock(&chunk->lock);
	chunk_drop(chunk, 0, CHUNK_PAGES - 1);
	spin_unlock(&chunk->lock);
	mmu_interval_notifier_remove(&chunk->notifier);
	kfree_rcu(chunk, rcu);
}

static struct rxe_chunk *chunk_find(struct rxe_odp *odp, unsigned long index)
{
	return rhashtable_lookup_fast(&odp->chunks, &index, chunk_params);
}

/* Finds or makes it; the process is there. */
static struct rxe_chunk *chunk_get(struct rxe_odp *odp, unsigned long index)
{
	struct rxe_chunk *chunk = chunk_find(odp, index);
	int err;

	lockdep_assert_held(&odp->mutex);
	if (chunk)
		return chunk;
	chunk = kzalloc(sizeof(*chunk), GFP_KERNEL);
	if (!chunk)
		return ERR_PTR(-ENOMEM);
	chunk->index = index;
	spin_lock_init(&chunk->lock);
	err = mmu_interval_notifier_insert(&chunk->notifier, odp->mm, index * CHUNK_SIZE,
					   CHUNK_SIZE, &chunk_notifier_ops);
	if (err) {
		kfree(chunk);
		return ERR_PTR(err);
	}
	err = rhashtable_insert_fast(&odp->chunks, &chunk->node, chunk_params);
	if (err) {
		chunk_free(chunk, NULL);
		return ERR_PTR(err);
	}
	return chunk;
}

/* Addresses come from peers: nothing is kept for those where nothing is. */
static void chunk_forget_unused(struct rxe_odp *odp, struct rxe_chunk *chunk)
{
	lockdep_assert_held(&odp->mutex);
	if (READ_ONCE(chunk->used))
		return;
	rhashtable_remove_fast(&odp->chunks, &chunk->node, chunk_params);
	chunk_free(chunk, NULL);
}

/* Whether the entries may be looked at, until chunk_leave() */
static bool chunk_enter(struct rxe_chunk *chunk)
{
	atomic_inc(&chunk->users);
	smp_mb__after_atomic();	/* pairs with chunk_drop() */
	if (likely(!smp_load_acquire(&chunk->closed)))	/* chunk_drop() */
		return true;
	atomic_dec(&chunk->users);
	return false;
}

static void chunk_leave(struct rxe_chunk *chunk)
{
	smp_mb__before_atomic();	/* what was copied before; pairs with chunk_drop() */
	atomic_dec(&chunk->users);
}

/* --- getting pages -------------------------------------------------------------- */

/* Takes over what was found; it is right as long as the lock is held. */
static void chunk_fill(struct rxe_chunk *chunk, const struct hmm_range *range)
{
	unsigned long i = (range->start - chunk->index * CHUNK_SIZE) >> PAGE_SHIFT;
	unsigned long n = (range->end - range->start) >> PAGE_SHIFT;
	unsigned long k, entry;

	lockdep_assert_held(&chunk->lock);
	for (k = 0; k < n; k++, i++) {
		if (!(range->hmm_pfns[k] & HMM_PFN_VALID))
			continue;
		entry = (unsigned long)hmm_pfn_to_page(range->hmm_pfns[k]);
		if (range->hmm_pfns[k] & HMM_PFN_WRITE)
			entry |= ENTRY_WRITE;
		if (!chunk->pages[i])
			chunk->used++;
		else if ((chunk->pages[i] | ~entry) & ENTRY_WRITE)
			continue;	/* and readers may have marked it */
		WRITE_ONCE(chunk->pages[i], entry);
	}
}

/* 0, -EBUSY if the memory does not come to rest, or what was found wrong with it */
static int chunk_fault(struct rxe_odp *odp, struct rxe_chunk *chunk, unsigned long start,
		       unsigned long end, enum odp_how how)
{
	unsigned long limit = jiffies + msecs_to_jiffies(HMM_RANGE_DEFAULT_TIMEOUT);
	unsigned long pfns[FAULT_PAGES];
	struct hmm_range range = {
		.notifier = &chunk->notifier,
		.start = start,
		.end = end,
		.hmm_pfns = pfns,
	};
	bool stale;
	int err;

	if (how != ODP_PRESENT)
		range.default_flags |= HMM_PFN_REQ_FAULT;
	if (how == ODP_WRITE)
		range.default_flags |= HMM_PFN_REQ_WRITE;
	do {
		memset(pfns, 0, sizeof(pfns));
		range.notifier_seq = mmu_interval_read_begin(&chunk->notifier);
		mmap_read_lock(odp->mm);
		err = hmm_range_fault(&range);
		mmap_read_unlock(odp->mm);
		if (err && err != -EBUSY)
			return err;
		if (!err) {
			spin_lock(&chunk->lock);
			stale = mmu_interval_read_retry(&chunk->notifier, range.notifier_seq);
			if (!stale)
				chunk_fill(chunk, &range);
			spin_unlock(&chunk->lock);
			if (!stale)
				return 0;
		}
		cond_resched();
	} while (time_before(jiffies, limit));
	return -EBUSY;
}

/*
 * Gets the pages from @start to @end, addresses of pages; sleeps, as long as their
 * file system does. Errors as those of chunk_fault().
 */
static int odp_fault(struct rxe_odp *odp, unsigned long start, unsigned long end,
		     enum odp_how how)
{
	struct rxe_chunk *chunk;
	unsigned long next;
	int err = 0;

	/* the last page of all is nobody's */
	if (end <= start || !mmget_not_zero(odp->mm))
		return -EFAULT;
	for (; start < end && !err; start = next) {
		unsigned long index = start / CHUNK_SIZE;

		next = min(end, start + min(FAULT_PAGES << PAGE_SHIFT,
					    CHUNK_SIZE - start % CHUNK_SIZE));
		if (fatal_signal_pending(current)) {
			err = -EINTR;
			break;
		}
		mutex_lock(&odp->mutex);
		chunk = chunk_get(odp, index);
		if (IS_ERR(chunk)) {
			err = PTR_ERR(chunk);
		} else {
			err = chunk_fault(odp, chunk, start, next, how);
			chunk_forget_unused(odp, chunk);
		}
		mutex_unlock(&odp->mutex);
	}
	mmput(odp->mm);
	return err;
}

static void fault_work(struct work_struct *work)
{
	struct rxe_fault *fault = container_of(work, struct rxe_fault, work);
	enum odp_how how = fault->write ? ODP_WRITE : ODP_READ;
	struct rxe_odp *odp = fault->odp;
	int err;

	err = odp_fault(odp, fault->start, fault->more, how);
	/* what was to be wanted later need not be there */
	if (err && err != -EBUSY && fault->more != fault->end)
		err = odp_fault(odp, fault->start, fault->end, how);
	/* an access that finds nothing asks again */
	fault->err = err == -EBUSY ? 0 : err;
	rxe_odp_put(odp);
	smp_store_release(&fault->waiting, false);	/* @err is set; rxe_fault_waiting() */
	rxe_task_run(fault->task);
}

/* Whether an access is the one that has been waited for */
static bool fault_concerns(const struct rxe_fault *fault, const struct rxe_odp *odp,
			   unsigned long va)
{
	return fault->serial == odp->serial && va >= fault->start && va < fault->end;
}

/* A page is absent: -EAGAIN, it is being got; -EFAULT: there is none. */
static int fault_request(struct rxe_fault *fault, const struct rxe_mr *mr, unsigned long va,
			 u32 len, bool write)
{
	struct rxe_odp *odp = mr->odp;
	u64 rest = mr->key.length - (va - mr->start);
	unsigned long more;
	int err;

	if (!fault)
		return -EFAULT;
	if (rxe_fault_waiting(fault))
		return -EAGAIN;
	err = fault->err;
	fault->err = 0;
	if (err && fault_concerns(fault, odp, va))
		return -EFAULT;
	more = min3(fault->ahead, rest, (u64)FAULT_AHEAD);
	refcount_inc(&odp->refs);
	fault->odp = odp;
	fault->serial = odp->serial;
	fault->start = va & PAGE_MASK;
	fault->end = PAGE_ALIGN(va + len);
	fault->more = max(fault->end, PAGE_ALIGN(va + more));
	fault->write = write;
	fault->waiting = true;
	queue_work(odp_wq, &fault->work);
	return -EAGAIN;
}

/**
 * rxe_fault_init - before a task uses memory on demand
 * @fault: to fill
 * @task: the task
 *
 * Context: process.
 */
void rxe_fault_init(struct rxe_fault *fault, struct rxe_task *task)
{
	fault->task = task;
	INIT_WORK(&fault->work, fault_work);
}

/**
 * rxe_fault_cancel - forget what the task waits for
 * @fault: of a task that does not run
 *
 * Context: process, may sleep.
 */
void rxe_fault_cancel(struct rxe_fault *fault)
{
	if (cancel_work_sync(&fault->work))
		rxe_odp_put(fault->odp);
	fault->waiting = false;
	fault->paging = false;
	fault->err = 0;
}

/**
 * rxe_fault_waiting - whether the task will be called because of pages
 * @fault: of the task
 *
 * Context: the task.
 * Return: true if it is still to come.
 */
bool rxe_fault_waiting(const struct rxe_fault *fault)
{
	return smp_load_acquire(&fault->waiting);	/* fault_work() */
}

/* --- access ----------------------------------------------------------------------- */

/**
 * rxe_odp_map - map the first bytes of a range, as far as its first page goes
 * @span: range of a region on demand; what it has mapped is noted there
 * @len: bytes wanted, and then those mapped
 * @write: to write
 * @fault: who waits if the page is absent, NULL: nobody
 *
 * The page does not go away before rxe_odp_unmap().
 *
 * Context: any, preemption off.
 * Return: the first byte; or an ERR_PTR: -EAGAIN if the task will be called when
 * the page is there, -EFAULT if there is none that may be used so.
 */
u8 *rxe_odp_map(struct rxe_span *span, u32 *len, bool write, struct rxe_fault *fault)
{
	const struct rxe_mr *mr = span->mr;
	u64 addr = mr->start + (span->addr - mr->key.addr);
	unsigned long va = addr;
	unsigned long *slot, entry;
	struct rxe_chunk *chunk;

	/* the end of what is asked for in the last page of all cannot be told */
	if (va != addr || PAGE_ALIGN(va + *len) <= va)
		return ERR_PTR(-EFAULT);
	chunk = chunk_find(mr->odp, va / CHUNK_SIZE);
	if (likely(chunk) && chunk_enter(chunk)) {
		slot = &chunk->pages[va % CHUNK_SIZE >> PAGE_SHIFT];
		entry = READ_ONCE(*slot);
		if (likely(entry && (!write || (entry & ENTRY_WRITE)))) {
			if (write && !(entry & BIT(ENTRY_DIRTY_BIT)))
				set_bit(ENTRY_DIRTY_BIT, slot);
			if (fault && unlikely(fault->err) && !rxe_fault_waiting(fault) &&
			    fault_concerns(fault, mr->odp, va))
				fault->err = 0;
			*len = min_t(u32, *len, PAGE_SIZE - offset_in_page(va));
			span->chunk = chunk;
			return (u8 *)kmap_local_page((struct page *)(entry & ENTRY_PAGE)) +
			       offset_in_page(va);
		}
		chunk_leave(chunk);
	}
	return ERR_PTR(fault_request(fault, mr, va, *len, write));
}

/**
 * rxe_odp_unmap - undo rxe_odp_map()
 * @span: the range
 * @mem: what it has returned
 *
 * Context: as before, still with preemption off.
 */
void rxe_odp_unmap(struct rxe_span *span, u8 *mem)
{
	kunmap_local(mem);
	chunk_leave(span->chunk);
}

/* --- regions ------------------------------------------------------------------------ */

/**
 * rxe_odp_create - the memory of the calling process
 *
 * Context: process, may sleep.
 * Return: to be given back with rxe_odp_put(), or an ERR_PTR: -ENOMEM.
 */
struct rxe_odp *rxe_odp_create(void)
{
	struct rxe_odp *odp;
	int err;

	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (!odp)
		return ERR_PTR(-ENOMEM);
	err = rhashtable_init(&odp->chunks, &chunk_params);
	if (err) {
		kfree(odp);
		return ERR_PTR(err);
	}
	refcount_set(&odp->refs, 1);
	mutex_init(&odp->mutex);
	odp->serial = atomic64_inc_return(&odp_serial);
	odp->mm = current->mm;
	mmgrab(odp->mm);
	return odp;
}

/**
 * rxe_odp_put - drop a reference
 * @odp: with the last one nobody may be using its memory
 *
 * Context: process, may sleep.
 */
void rxe_odp_put(struct rxe_odp *odp)
{
	if (!refcount_dec_and_test(&odp->refs))
		return;
	rhashtable_free_and_destroy(&odp->chunks, chunk_free, NULL);
	mmdrop(odp->mm);
	kfree(odp);
}

/**
 * rxe_odp_query - what can be done with memory on demand
 * @caps: filled
 *
 * Context: any.
 */
void rxe_odp_query(struct ib_odp_caps *caps)
{
	const u32 ud = IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV | IB_ODP_SUPPORT_SRQ_RECV;
	const u32 uc = ud | IB_ODP_SUPPORT_WRITE;

	if (!IBK_ON_DEMAND_PAGING)
		return;
	caps->general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	caps->per_transport_caps.ud_odp_caps = ud;
	caps->per_transport_caps.uc_odp_caps = uc;
	caps->per_transport_caps.rc_odp_caps = uc | IB_ODP_SUPPORT_READ |
					       IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_FLUSH |
					       IB_ODP_SUPPORT_ATOMIC_WRITE;
}

/* --- advice ------------------------------------------------------------------------- */

/* Pages that somebody wants to be got beforehand */
struct advised {
	struct rxe_odp	*odp;
	unsigned long	start;
	unsigned long	end;
};

struct advice {
	struct work_struct	work;
	enum odp_how		how;
	u32			count;
	struct advised		ranges[];
};

/* Gets all of it, or as much as there is; the first error */
static int advice_follow(struct advice *advice)
{
	int err = 0;
	u32 i;

	for (i = 0; i < advice->count && !err; i++)
		err = odp_fault(advice->ranges[i].odp, advice->ranges[i].start,
				advice->ranges[i].end, advice->how);
	return err;
}

static void advice_free(struct advice *advice)
{
	u32 i;

	for (i = 0; i < advice->count; i++)
		rxe_odp_put(advice->ranges[i].odp);
	kfree(advice);
}

static void advice_work(struct work_struct *work)
{
	struct advice *advice = container_of(work, struct advice, work);

	advice_follow(advice);
	advice_free(advice);
}

/* Takes a reference to the memory that an element means; bottom halves are off. */
static int advice_add(struct advice *advice, struct ib_pd *pd, const struct ib_sge *sge)
{
	int access = advice->how == ODP_WRITE ? IB_ACCESS_LOCAL_WRITE : 0;
	struct advised *to = &advice->ranges[advice->count];
	struct rxe_span span;
	int err;
	u64 va;

	err = rxe_mr_get(&span, pd, NULL, sge->lkey, sge->addr, sge->length, access);
	if (err == -EACCES) {
		err = rxe_mr_get(&span, pd, NULL, sge->lkey, sge->addr, sge->length, 0);
		if (!err)
			rxe_mr_put(&span);
		return err ? -ENOENT : -EPERM;
	}
	if (err)
		return err;
	va = span.mr->start + (span.addr - span.mr->key.addr);
	if (span.mr->type == RXE_MR_ODP) {
		refcount_inc(&span.mr->odp->refs);
		to->odp = span.mr->odp;
		to->start = va & PAGE_MASK;
		to->end = PAGE_ALIGN(va + sge->length);
		advice->count++;
	} else {
		err = -EINVAL;	/* pinned: there is nothing to be got */
	}
	rxe_mr_put(&span);
	return err;
}

/**
 * rxe_odp_advise - the advise_mr verb: get pages before they are needed
 * @ibpd: protection domain
 * @advice: to be read, to be written, or those that the process has already
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH: not later, but now
 * @sge: ranges of regions on demand
 * @num_sge: how many
 * @attrs: of the user's command
 *
 * Context: process, sleeps.
 * Return: 0; -ENOENT: a key is unknown or of another domain; -EPERM: a region may not
 * be written to; -EFAULT: a range leaves its region, or nothing is there; -EINVAL: a
 * region is pinned; -EOPNOTSUPP: no such advice; -ENOMEM.
 */
int rxe_odp_advise(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sge, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	struct advice *a;
	int err = 0;
	u32 i;

	if ((u32)advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT ||
	    (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH))
		return -EOPNOTSUPP;
	a = kzalloc(sizeof(*a) + num_sge * sizeof(a->ranges[0]), GFP_KERNEL_ACCOUNT);
	if (!a)
		return -ENOMEM;
	INIT_WORK(&a->work, advice_work);
	if ((u32)advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		a->how = ODP_PRESENT;
	else if (advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE)
		a->how = ODP_WRITE;
	else
		a->how = ODP_READ;
	for (i = 0; i < num_sge && !err; i++) {
		local_bh_disable();
		err = advice_add(a, ibpd, &sge[i]);
		local_bh_enable();
	}
	if (!err && !(flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH)) {
		queue_work(odp_wq, &a->work);
		return 0;
	}
	/* what the memory management calls it is no concern of the caller's */
	if (!err && advice_follow(a))
		err = -EFAULT;
	advice_free(a);
	return err;
}

/**
 * rxe_odp_module_init - before the first region
 *
 * Context: module init.
 * Return: 0 or -ENOMEM.
 */
int rxe_odp_module_init(void)
{
	/* page faults take as long as they take: none keeps others waiting */
	odp_wq = alloc_workqueue("rxe_odp", WQ_UNBOUND, 0);
	return odp_wq ? 0 : -ENOMEM;
}

/**
 * rxe_odp_module_exit - after the last region; ends what is still under way
 *
 * Context: module exit, or a failing module init.
 */
void rxe_odp_module_exit(void)
{
	destroy_workqueue(odp_wq);
}
