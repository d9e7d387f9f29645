// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Recycled transmit memory.
 *
 * Kernels that clear memory on allocation clear two pages for each 4 KiB
 * packet, which costs as much as everything else about it.  So each CPU keeps a
 * ring of page blocks, cuts packets out of them, and uses a block again when
 * all its packets are gone, which the page count tells.  A block whose packets
 * sit in a slow queue is left to them and replaced.
 *
 * A ring for each CPU and not for each QP: a thousand QPs would keep a thousand
 * times a megabyte, and each find its blocks cold; as only the CPU's own softirq
 * and tasks cut from a ring, it is shared with nobody all the same.
 *
 * The ring is used with bottom halves off and never from hard interrupts, which
 * keeps everybody else on the CPU away, except where bottom halves can be
 * preempted: hence the lock, which nobody ever waits for elsewhere.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>

#include "rxe.h"
#include "txmem.h"

#define TXMEM_BLOCK_ORDER	get_order(32768)
#define TXMEM_BLOCK_SIZE	(PAGE_SIZE << TXMEM_BLOCK_ORDER)
#define BLOCKS		32

/**
 * struct txmem - the blocks of one CPU
 * @lock: all of it
 * @block: we hold one reference to each
 * @current_block: the one being cut
 * @used: bytes of it given away
 */
struct txmem {
	spinlock_t	lock;		/* all of it */
	struct page	*block[BLOCKS];
	u32		current_block;
	u32		used;
};

static DEFINE_PER_CPU(struct txmem, txmem) = {
	.lock = __SPIN_LOCK_UNLOCKED(txmem.lock),
};

/* Takes the next block, the longest unused one, or a new one in its place. */
static bool txmem_advance(struct txmem *mem)
{
	u32 next = (mem->current_block + 1) % BLOCKS;
	struct page *page = mem->block[next];

	if (!page || page_count(page) != 1) {
		/* emergency reserves would mark every packet as emergency traffic */
		page = alloc_pages(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN |
				   __GFP_NORETRY | __GFP_NOMEMALLOC, TXMEM_BLOCK_ORDER);
		if (!page)
			return false;
		if (mem->block[next])
			put_page(mem->block[next]);
		mem->block[next] = page;
	}
	mem->current_block = next;
	mem->used = 0;
	return true;
}

/* The block to take @size bytes from, or NULL. */
static struct page *txmem_block(struct txmem *mem, u32 size)
{
	if (unlikely(!mem->block[mem->current_block]) || mem->used + size > TXMEM_BLOCK_SIZE) {
		if (size > TXMEM_BLOCK_SIZE || !txmem_advance(mem))
			return NULL;
	}
	return mem->block[mem->current_block];
}

/**
 * rxe_txmem_skb - an skb with linear room
 * @len: bytes of room, headroom included
 * @page: set to what the room was cut from, or NULL if that is not ours
 *
 * The room holds what earlier packets left there: the caller writes every byte
 * that it puts into the packet.
 *
 * Context: bottom halves off, not in hard interrupts.
 * Return: an empty skb or NULL.
 */
struct sk_buff *rxe_txmem_skb(u32 len, struct page **page)
{
	u32 size = SKB_DATA_ALIGN(len) + SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	struct txmem *mem = this_cpu_ptr(&txmem);
	struct sk_buff *skb;
	void *room = NULL;

	spin_lock(&mem->lock);
	mem->used = SKB_DATA_ALIGN(mem->used);
	*page = txmem_block(mem, size);
	if (likely(*page)) {
		room = page_address(*page) + mem->used;
		get_page(*page);
		mem->used += size;
	}
	spin_unlock(&mem->lock);
	if (unlikely(!room))
		return alloc_skb(len, GFP_ATOMIC | __GFP_NOWARN);
	skb = build_skb(room, size);
	if (unlikely(!skb))
		put_page(*page);
	return skb;
}

/* Bytes of at most @count packets of @len bytes that fit behind @used; how many these are. */
static u32 txmem_row(u32 used, u32 len, u32 *count)
{
	if (*count > 1)
		*count = min_t(u32, *count, (TXMEM_BLOCK_SIZE - used) / len);
	return *count * len;
}

/**
 * rxe_txmem_bytes - room for a fragment
 * @len: bytes of a packet
 * @count: packets; set to as many as there is room for, one at least
 * @page: set to what it was cut from, with a reference for the caller
 * @offset: set to the place in @page
 *
 * Context: bottom halves off, not in hard interrupts.
 * Return: the room, which holds what earlier packets left there, or NULL.
 */
u8 *rxe_txmem_bytes(u32 len, u32 *count, struct page **page, u32 *offset)
{
	struct txmem *mem = this_cpu_ptr(&txmem);

	spin_lock(&mem->lock);
	*page = txmem_block(mem, len);
	if (likely(*page)) {
		get_page(*page);
		*offset = mem->used;
		mem->used += txmem_row(mem->used, len, count);
	}
	spin_unlock(&mem->lock);
	return *page ? (u8 *)page_address(*page) + *offset : NULL;
}

/**
 * rxe_txmem_grow - room right behind a fragment
 * @page: what the fragment was cut from; its reference is for both
 * @end: of the fragment in @page
 * @len: bytes of a packet
 * @count: packets; set to as many as there is room for, one at least
 *
 * Context: as rxe_txmem_bytes().
 * Return: the room, or NULL: something else is there, or the end of the block.
 */
u8 *rxe_txmem_grow(struct page *page, u32 end, u32 len, u32 *count)
{
	struct txmem *mem = this_cpu_ptr(&txmem);
	u8 *room = NULL;

	spin_lock(&mem->lock);
	if (mem->block[mem->current_block] == page && mem->used == end &&
	    end + len <= TXMEM_BLOCK_SIZE) {
		mem->used += txmem_row(end, len, count);
		room = (u8 *)page_address(page) + end;
	}
	spin_unlock(&mem->lock);
	return room;
}

/**
 * rxe_txmem_exit - give all memory back
 *
 * Packets on their way keep what they use.
 *
 * Context: module exit, nothing is transmitted any more.
 */
void rxe_txmem_exit(void)
{
	int cpu, i;

	for_each_possible_cpu(cpu) {
		struct txmem *mem = per_cpu_ptr(&txmem, cpu);

		for (i = 0; i < BLOCKS; i++)
			if (mem->block[i])
				put_page(mem->block[i]);
	}
}
