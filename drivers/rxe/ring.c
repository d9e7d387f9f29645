// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ring.c - the queues mapped into user space.
 *
 * Owns the memory of rings and the list of those that wait for their mmap().
 * A ring is created by a verbs command, whose answer carries an offset and a
 * size; the process then maps exactly that, once, through the same context.
 *
 * The pages belong to the ring and to every mapping: a mapping holds a reference
 * to each of its pages (vm_insert_page()), so it outlives the ring, the device
 * and the module, and nothing of ours is called when it goes away.
 *
 * Everything in the memory may change under our eyes: size and shift are our own
 * copies, indices are read once and masked.
 */
#include "rxe.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#define RING_MIN_ELEMENT	64u		/* a cache line of its own each */
#define RING_MAX_ELEMENT	(64u << 10)
/* What RXE_MAX_QP_WR needs with one element each; with many it may not fit */
#define RING_MAX_SLOTS		0x200000u
#define RING_MAX_BYTES		0x40000000u

/**
 * struct rxe_ring_mem - memory of one ring
 * @ref: the ring's, and one while mmap() works on it
 * @pending: in the device's pending_maps, or empty
 * @dev: device
 * @uctx: who may map it; NULL: nobody, it is a kernel ring
 * @offset: mmap cookie, bytes, page aligned; unique among @uctx's pending rings
 * @size: bytes, page aligned
 * @buf: the memory
 */
struct rxe_ring_mem {
	struct kref		ref;
	struct list_head	pending;
	struct rxe_dev		*dev;
	struct ib_ucontext	*uctx;
	u64			offset;
	u32			size;
	struct rxe_queue_buf	*buf;
};

/* Facts of the ABI that rdma-core was compiled with */
static void ring_check_abi(void)
{
	BUILD_BUG_ON(offsetof(struct rxe_queue_buf, log2_elem_size) != 0);
	BUILD_BUG_ON(offsetof(struct rxe_queue_buf, index_mask) != 4);
	BUILD_BUG_ON(offsetof(struct rxe_queue_buf, producer_index) != 128);
	BUILD_BUG_ON(offsetof(struct rxe_queue_buf, consumer_index) != 256);
	BUILD_BUG_ON(offsetof(struct rxe_queue_buf, data) != 384);
	BUILD_BUG_ON(sizeof(struct mminfo) != 16);

	BUILD_BUG_ON(sizeof(struct rxe_sge) != 16);
	BUILD_BUG_ON(sizeof(struct rxe_dma_info) != 24);
	BUILD_BUG_ON(offsetof(struct rxe_dma_info, num_sge) != 12);
	BUILD_BUG_ON(offsetof(struct rxe_dma_info, inline_data) != 24);
	BUILD_BUG_ON(offsetof(struct rxe_dma_info, atomic_wr) != 24);
	BUILD_BUG_ON(offsetof(struct rxe_dma_info, sge) != 24);

	BUILD_BUG_ON(sizeof(struct rxe_recv_wqe) != 40);
	BUILD_BUG_ON(offsetof(struct rxe_recv_wqe, dma) != 16);

	BUILD_BUG_ON(sizeof(struct rxe_av) != 88);
	BUILD_BUG_ON(offsetof(struct rxe_av, grh) != 8);
	BUILD_BUG_ON(offsetof(struct rxe_av, sgid_addr) != 32);
	BUILD_BUG_ON(offsetof(struct rxe_av, dgid_addr) != 60);

	BUILD_BUG_ON(sizeof(struct rxe_send_wr) != 144);
	BUILD_BUG_ON(offsetof(struct rxe_send_wr, opcode) != 12);
	BUILD_BUG_ON(offsetof(struct rxe_send_wr, send_flags) != 16);
	BUILD_BUG_ON(offsetof(struct rxe_send_wr, ex) != 20);
	BUILD_BUG_ON(offsetof(struct rxe_send_wr, wr) != 24);
	BUILD_BUG_ON(offsetof(struct rxe_send_wr, wr.ud.ah_num) != 36);
	BUILD_BUG_ON(offsetof(struct rxe_send_wr, wr.ud.av) != 56);
	BUILD_BUG_ON(offsetof(struct rxe_send_wr, wr.mw) != 24);
	BUILD_BUG_ON(offsetof(struct rxe_send_wr, wr.flush.type) != 40);

	BUILD_BUG_ON(sizeof(struct rxe_send_wqe) != 208);
	BUILD_BUG_ON(offsetof(struct rxe_send_wqe, status) != 144);
	BUILD_BUG_ON(offsetof(struct rxe_send_wqe, state) != 148);
	BUILD_BUG_ON(offsetof(struct rxe_send_wqe, iova) != 152);
	BUILD_BUG_ON(offsetof(struct rxe_send_wqe, mask) != 160);
	BUILD_BUG_ON(offsetof(struct rxe_send_wqe, has_rd_atomic) != 180);
	BUILD_BUG_ON(offsetof(struct rxe_send_wqe, dma) != 184);

	BUILD_BUG_ON(sizeof(struct rxe_create_ah_resp) != 8);
	BUILD_BUG_ON(sizeof(struct rxe_create_cq_resp) != 16);
	BUILD_BUG_ON(sizeof(struct rxe_resize_cq_resp) != 16);
	BUILD_BUG_ON(sizeof(struct rxe_create_qp_resp) != 32);
	BUILD_BUG_ON(sizeof(struct rxe_create_srq_resp) != 24);
	BUILD_BUG_ON(sizeof(struct rxe_modify_srq_cmd) != 8);
	BUILD_BUG_ON(sizeof(struct ib_uverbs_wc) != 48);
}

static void mem_release(struct kref *ref)
{
	struct rxe_ring_mem *mem = container_of(ref, struct rxe_ring_mem, ref);

	vfree(mem->buf);
	kfree(mem);
}

/* Make @mem known to rxe_ring_mmap() under a cookie of its own. */
static void mem_pend(struct rxe_ring_mem *mem)
{
	struct rxe_dev *dev = mem->dev;
	struct rxe_ring_mem *other;

	mem->offset = PAGE_SIZE;
	spin_lock(&dev->map_lock);
	/* offsets of one context rise along the list */
	list_for_each_entry_reverse(other, &dev->pending_maps, pending) {
		if (other->uctx == mem->uctx) {
			mem->offset = other->offset + other->size;
			break;
		}
	}
	list_add_tail(&mem->pending, &dev->pending_maps);
	spin_unlock(&dev->map_lock);
}

/**
 * rxe_ring_create - allocate an empty ring
 * @ring: to fill
 * @dev: device
 * @udata: of the command that creates a user's ring; NULL: a kernel ring, that
 *	nobody can map
 * @entries: what the ring must hold, 0: nothing; it has room for
 *	rxe_ring_slots() - 1
 * @element_size: bytes, rounded up to a power of 2 of at least 64
 * @mi: out: how to map it; not touched without @udata
 *
 * Context: process context, sleeps.
 * Return: 0, -EINVAL or -ENOMEM.
 */
int rxe_ring_create(struct rxe_ring *ring, struct rxe_dev *dev,
		    struct ib_udata *udata, u32 entries, u32 element_size,
		    struct mminfo *mi)
{
	struct rxe_ring_mem *mem;
	u64 size;
	u32 slots;

	ring_check_abi();
	if (entries >= RING_MAX_SLOTS || !element_size ||
	    element_size > RING_MAX_ELEMENT)
		return -EINVAL;
	slots = roundup_pow_of_two(entries + 1);
	element_size = max(element_size, RING_MIN_ELEMENT);
	ring->shift = order_base_2(element_size);
	ring->mask = slots - 1;
	ring->index = 0;
	size = sizeof(struct rxe_queue_buf) + ((u64)slots << ring->shift);
	if (size > RING_MAX_BYTES)
		return -EINVAL;

	mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	if (!mem)
		return -ENOMEM;
	kref_init(&mem->ref);
	INIT_LIST_HEAD(&mem->pending);
	mem->dev = dev;
	mem->size = PAGE_ALIGN(size);
	mem->buf = vmalloc_user(mem->size);
	if (!mem->buf) {
		kfree(mem);
		return -ENOMEM;
	}
	mem->buf->log2_elem_size = ring->shift;
	mem->buf->index_mask = ring->mask;

	if (udata) {
		mem->uctx = &rdma_udata_to_drv_context(udata, struct rxe_ucontext,
						       ib)->ib;
		mem_pend(mem);
		memset(mi, 0, sizeof(*mi));
		mi->offset = mem->offset;
		mi->size = mem->size;
	}
	ring->mem = mem;
	ring->buf = mem->buf;
	return 0;
}

/**
 * rxe_ring_destroy - drop the kernel's side of a ring
 * @ring: from rxe_ring_create(), or zeroed
 *
 * A mapping of it stays valid, but nobody reads it any more. Not yet mapped, it
 * cannot be mapped any more.
 *
 * Context: process context, sleeps.
 */
void rxe_ring_destroy(struct rxe_ring *ring)
{
	struct rxe_ring_mem *mem = ring->mem;

	if (!mem)
		return;
	ring->mem = NULL;
	ring->buf = NULL;
	spin_lock(&mem->dev->map_lock);
	list_del_init(&mem->pending);
	spin_unlock(&mem->dev->map_lock);
	kref_put(&mem->ref, mem_release);
}

/**
 * rxe_ring_slots - number of elements; one of them always stays empty
 * @ring: ring
 *
 * Context: any.
 * Return: a power of 2.
 */
u32 rxe_ring_slots(const struct rxe_ring *ring)
{
	return ring->mask + 1;
}

/**
 * rxe_ring_element - address of an element
 * @ring: ring
 * @index: any number; masked
 *
 * The process may write the element while the kernel reads it.
 *
 * Context: any.
 * Return: inside the ring for every @index.
 */
void *rxe_ring_element(const struct rxe_ring *ring, u32 index)
{
	return ring->buf->data + ((size_t)(index & ring->mask) << ring->shift);
}

/**
 * rxe_ring_producer - read the producer's index, once
 * @ring: ring
 *
 * Elements before it are read after it.
 *
 * Context: any.
 * Return: an index below the number of slots, whatever the process has written.
 */
u32 rxe_ring_producer(const struct rxe_ring *ring)
{
	/* before the elements are read */
	return smp_load_acquire(&ring->buf->producer_index) & ring->mask;
}

/**
 * rxe_ring_consumer - read the consumer's index, once
 * @ring: ring
 *
 * Elements before it may be written after it.
 *
 * Context: any.
 * Return: an index below the number of slots, whatever the process has written.
 */
u32 rxe_ring_consumer(const struct rxe_ring *ring)
{
	/* before the elements are overwritten */
	return smp_load_acquire(&ring->buf->consumer_index) & ring->mask;
}

/**
 * rxe_ring_set_producer - hand elements over to the consumer
 * @ring: ring
 * @index: of the next element to be written; masked
 *
 * Context: any.
 */
void rxe_ring_set_producer(struct rxe_ring *ring, u32 index)
{
	/* after the elements have been written */
	smp_store_release(&ring->buf->producer_index, index & ring->mask);
}

/**
 * rxe_ring_set_consumer - give elements back to the producer
 * @ring: ring
 * @index: of the next element to be read; masked
 *
 * Context: any.
 */
void rxe_ring_set_consumer(struct rxe_ring *ring, u32 index)
{
	/* after the elements have been read */
	smp_store_release(&ring->buf->consumer_index, index & ring->mask);
}

/* Find a pending ring and take it off the list; the caller owns a reference. */
static struct rxe_ring_mem *mem_claim(struct rxe_dev *dev,
				      struct ib_ucontext *uctx, u64 offset, u64 size)
{
	struct rxe_ring_mem *mem;

	spin_lock(&dev->map_lock);
	list_for_each_entry(mem, &dev->pending_maps, pending) {
		if (mem->uctx != uctx || mem->offset != offset || mem->size != size)
			continue;
		list_del_init(&mem->pending);
		kref_get(&mem->ref);
		spin_unlock(&dev->map_lock);
		return mem;
	}
	spin_unlock(&dev->map_lock);
	return NULL;
}

/**
 * rxe_ring_mmap - map a ring, as its creation told the process to
 * @uctx: the context that created it
 * @vma: must have exactly the offset and size, and be shared
 *
 * An offset works once, also if mapping fails for want of memory.
 *
 * Context: process context, mmap lock held.
 * Return: 0, -EINVAL (no such ring, wrong size, private mapping) or -ENOMEM.
 */
int rxe_ring_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rxe_dev *dev = to_rxe_dev(uctx->device);
	struct rxe_ring_mem *mem;
	int err;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	mem = mem_claim(dev, uctx, (u64)vma->vm_pgoff << PAGE_SHIFT,
			vma->vm_end - vma->vm_start);
	if (!mem)
		return -EINVAL;
	/* also forbids to grow the mapping, and keeps it out of core dumps */
	err = remap_vmalloc_range(vma, mem->buf, 0);
	kref_put(&mem->ref, mem_release);
	return err;
}

/**
 * rxe_ring_forget - nobody will map what this context has not mapped
 * @dev: device
 * @uctx: context that closes
 *
 * Context: process context.
 */
void rxe_ring_forget(struct rxe_dev *dev, struct ib_ucontext *uctx)
{
	struct rxe_ring_mem *mem, *next;

	spin_lock(&dev->map_lock);
	list_for_each_entry_safe(mem, next, &dev->pending_maps, pending) {
		if (mem->uctx == uctx)
			list_del_init(&mem->pending);
	}
	spin_unlock(&dev->map_lock);
}
