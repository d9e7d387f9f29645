// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cases of rxe_consumer about registration by work requests: how much memory, of which
 * page sizes, and what keys allow that are no longer valid.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "consumer.h"

#define PAGES	8

/* One region, 300 times: more often than the low byte has values */
static int fast_registration(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	struct ib_sge sge = registered(ours);
	int i;

	sge.length = 64;
	for (i = 0; i < 300; i++) {
		TRY(invalidate(&ends[1], theirs->mr->rkey));
		TRY(pages_register(theirs, ALL_ACCESS));
		fill(sg_virt(ours->sgt.sgl), 64, i);
		TRY(rdma(&ends[0], IB_WR_RDMA_WRITE, &sge, 1, theirs->mr->iova,
			 theirs->mr->rkey, 0));
		TRY(differs(sg_virt(theirs->sgt.sgl), 64, i));
	}
	return 0;
}

int case_fast_registration(struct end ends[2])
{
	return with_pages(ends, PAGES, PAGE_SIZE, fast_registration);
}

/* --- how much --------------------------------------------------------------------------- */

/* All the pages that the device says a registration may have, moved in one request */
static int largest_registration(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	int count = ours->sgt.orig_nents;
	struct ib_sge sge = registered(ours);
	struct pages *more;
	struct ib_mr *mr;

	EXPECT(sge.length == count * PAGE_SIZE && theirs->mr->length == sge.length);
	pages_fill(ours, 60);
	TRY(rdma(&ends[0], IB_WR_RDMA_WRITE, &sge, 1, theirs->mr->iova, theirs->mr->rkey, 0));
	TRY(pages_differ(theirs, 60));
	pages_fill(theirs, 61);
	TRY(rdma(&ends[0], IB_WR_RDMA_READ, &sge, 1, theirs->mr->iova, theirs->mr->rkey, 0));
	TRY(pages_differ(ours, 61));

	/* one more is refused, and does not fit either */
	EXPECT(IS_ERR(ib_alloc_mr(ends[0].pd, IB_MR_TYPE_MEM_REG, count + 1)));
	more = kzalloc(sizeof(*more), GFP_KERNEL);
	if (!more)
		return -ENOMEM;
	TRY(pages_alloc(more, &ends[0], count + 1, PAGE_SIZE));
	mr = ib_alloc_mr(ends[0].pd, IB_MR_TYPE_MEM_REG, count);
	EXPECT(!IS_ERR(mr));
	more->mr = mr;
	EXPECT(ib_map_mr_sg(mr, more->sgt.sgl, more->mapped, NULL, PAGE_SIZE) == count);
	EXPECT(mr->length <= count * PAGE_SIZE);
	pages_free(more);
	kfree(more);
	return 0;
}

int case_largest_registration(struct end ends[2])
{
	struct ib_device_attr *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	u32 count;

	if (!attr)
		return -ENOMEM;
	TRY(query_device(ends[0].dev, attr));
	count = attr->max_fast_reg_page_list_len;
	kfree(attr);
	EXPECT(count >= 512);
	return with_pages(ends, count, PAGE_SIZE, largest_registration);
}

/* --- page sizes ------------------------------------------------------------------------- */

/*
 * Two pieces of memory, each of one page of the registration: of the first all but
 * what is skipped, of the second all but the end
 * @page: the first of each
 * @size: of each
 * @skipped: of the first one
 * @left: bytes at the end
 */
struct blocks {
	struct end	*end;
	struct page	*page[2];
	size_t		size;
	size_t		skipped;
	size_t		left;
	struct scatterlist sg[2];
	struct ib_mr	*mr;
};

/* In its first piece, skipped by the scatterlist; ib_map_mr_sg() skips MAP_OFFSET more. */
#define SG_OFFSET	77

static int blocks_register(struct blocks *blocks)
{
	struct ib_reg_wr wr = { .wr = { .opcode = IB_WR_REG_MR }, .access = ALL_ACCESS };
	unsigned int offset = blocks->skipped > SG_OFFSET ? blocks->skipped - SG_OFFSET : 0;
	size_t begin = blocks->skipped - offset;

	sg_init_table(blocks->sg, 2);
	sg_set_page(&blocks->sg[0], blocks->page[0], blocks->size - begin, begin);
	sg_set_page(&blocks->sg[1], blocks->page[1], blocks->size - blocks->left, 0);
	EXPECT(ib_dma_map_sg(blocks->end->dev, blocks->sg, 2, DMA_BIDIRECTIONAL) == 2);
	blocks->mr = ib_alloc_mr(blocks->end->pd, IB_MR_TYPE_MEM_REG, 2);
	EXPECT(!IS_ERR(blocks->mr));
	EXPECT(ib_map_mr_sg(blocks->mr, blocks->sg, 2, offset ? &offset : NULL,
			    blocks->size) == 2);
	EXPECT(blocks->mr->page_size == blocks->size);
	EXPECT(blocks->mr->length == 2 * blocks->size - blocks->skipped - blocks->left);
	EXPECT((blocks->mr->iova & (blocks->size - 1)) == blocks->skipped);
	wr.mr = blocks->mr;
	wr.key = blocks->mr->rkey;
	return execute(blocks->end, &wr.wr, IB_WC_REG_MR);
}

static int blocks_alloc(struct blocks *blocks, struct end *end, size_t size, size_t skipped,
			size_t left)
{
	int i;

	blocks->end = end;
	blocks->size = size;
	blocks->skipped = skipped;
	blocks->left = left;
	for (i = 0; i < 2; i++) {
		blocks->page[i] = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_ZERO,
					      get_order(size));
		if (!blocks->page[i])
			return -ENOMEM;
	}
	return blocks_register(blocks);
}

static void blocks_free(struct blocks *blocks)
{
	int i;

	if (!IS_ERR_OR_NULL(blocks->mr)) {
		ib_dereg_mr(blocks->mr);
		ib_dma_unmap_sg(blocks->end->dev, blocks->sg, 2, DMA_BIDIRECTIONAL);
	}
	for (i = 0; i < 2; i++)
		if (blocks->page[i])
			__free_pages(blocks->page[i], get_order(blocks->size));
}

static void blocks_fill(struct blocks *blocks, u32 seed)
{
	size_t first = blocks->size - blocks->skipped;

	fill_at(page_address(blocks->page[0]) + blocks->skipped, first, 0, seed);
	fill_at(page_address(blocks->page[1]), blocks->size - blocks->left, first, seed);
}

/* 0 if the first @length bytes are that, and nobody has touched what lies around */
static int blocks_differ(struct blocks *blocks, size_t length, u32 seed)
{
	size_t first = min(blocks->size - blocks->skipped, length), second = length - first;
	void *p[2] = { page_address(blocks->page[0]), page_address(blocks->page[1]) };

	TRY(differs_at(p[0] + blocks->skipped, first, 0, seed));
	TRY(differs_at(p[1], second, first, seed));
	EXPECT(!memchr_inv(p[0], 0, blocks->skipped));
	EXPECT(!memchr_inv(p[1] + second, 0, blocks->size - second));
	return 0;
}

/* Ours begin elsewhere in a page than theirs, and are a little longer. */
static int page_size_moves(struct end ends[2], struct blocks *ours, struct blocks *theirs)
{
	struct ib_sge sge = {
		.addr = ours->mr->iova, .length = theirs->mr->length, .lkey = ours->mr->lkey,
	};
	u64 addr = theirs->mr->iova;
	u32 rkey = theirs->mr->rkey;

	blocks_fill(ours, 70);
	TRY(rdma(&ends[0], IB_WR_RDMA_WRITE, &sge, 1, addr, rkey, 0));
	TRY(blocks_differ(theirs, sge.length, 70));
	blocks_fill(theirs, 71);
	memset(page_address(ours->page[0]), 0, ours->size);
	memset(page_address(ours->page[1]), 0, ours->size);
	TRY(rdma(&ends[0], IB_WR_RDMA_READ, &sge, 1, addr, rkey, 0));
	TRY(blocks_differ(ours, sge.length, 71));

	/* a byte behind the last one, and one before the first one */
	sge.length = 2;
	TRY(rdma(&ends[0], IB_WR_RDMA_WRITE, &sge, 1, addr + theirs->mr->length - 1, rkey,
		 IB_WC_REM_ACCESS_ERR));
	TRY(ends_reconnect(ends));
	TRY(rdma(&ends[0], IB_WR_RDMA_WRITE, &sge, 1, addr - 1, rkey, IB_WC_REM_ACCESS_ERR));
	TRY(blocks_differ(theirs, theirs->mr->length, 71));
	return ends_reconnect(ends);
}

static int with_page_size(struct end ends[2], size_t size)
{
	struct blocks *blocks = kcalloc(2, sizeof(*blocks), GFP_KERNEL);
	int ret;

	if (!blocks)
		return -ENOMEM;
	ret = blocks_alloc(&blocks[0], &ends[0], size, 13, 7);
	ret = ret ? : blocks_alloc(&blocks[1], &ends[1], size, SG_OFFSET + MAP_OFFSET, 333);
	ret = ret ? : page_size_moves(ends, &blocks[0], &blocks[1]);
	if (ret) {
		complain("with pages of %zu bytes", size);
		/* not while somebody may write to them */
		ib_drain_qp(ends[0].qp);
		ib_drain_qp(ends[1].qp);
	}
	blocks_free(&blocks[0]);
	blocks_free(&blocks[1]);
	kfree(blocks);
	return ret;
}

/* A device names the page sizes that a registration may have, any of them. */
int case_page_sizes(struct end ends[2])
{
	static const size_t sizes[] = { 4096, 65536, 2 << 20 };
	struct ib_device_attr *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	u64 possible;
	int i;

	if (!attr)
		return -ENOMEM;
	TRY(query_device(ends[0].dev, attr));
	possible = attr->page_size_cap;
	kfree(attr);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT(!!(possible & sizes[i]) == (sizes[i] >= PAGE_SIZE));
		if (sizes[i] >= PAGE_SIZE)
			TRY(with_page_size(ends, sizes[i]));
	}
	return 0;
}

/* --- keys that end ---------------------------------------------------------------------- */

/* The peer's key is invalid when its receive completes: nobody may use it then. */
static int send_invalidate(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	struct ib_sge sge = registered(ours);
	u32 rkey = theirs->mr->rkey;
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_INV, .sg_list = &sge, .num_sge = 1,
		.ex.invalidate_rkey = rkey,
	};
	struct ib_sge to = {
		.addr = sg_dma_address(theirs->sgt.sgl), .length = 1000,
		.lkey = ends[1].pd->local_dma_lkey,
	};
	static struct waiter sent, received;

	sge.length = 1000;
	fill(sg_virt(ours->sgt.sgl), 1000, 30);
	TRY(post_recv(&ends[1], &to, 1, &received));
	TRY(post_send(&ends[0], &wr, &sent));
	TRY(waiter_wait(&sent, IB_WC_SUCCESS, IB_WC_SEND));
	TRY(waiter_wait(&received, IB_WC_SUCCESS, IB_WC_RECV));
	EXPECT(received.wc.wc_flags & IB_WC_WITH_INVALIDATE);
	EXPECT(received.wc.ex.invalidate_rkey == rkey);
	TRY(differs(sg_virt(theirs->sgt.sgl), 1000, 30));
	return rdma(&ends[0], IB_WR_RDMA_WRITE, &sge, 1, theirs->mr->iova, rkey,
		    IB_WC_REM_ACCESS_ERR);
}

int case_send_invalidate(struct end ends[2])
{
	return with_pages(ends, PAGES, PAGE_SIZE, send_invalidate);
}

/* A region that may only be read is not written, and the writer gets to know. */
static int remote_access(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	struct ib_sge sge = registered(ours);

	TRY(invalidate(&ends[1], theirs->mr->rkey));
	TRY(pages_register(theirs, IB_ACCESS_REMOTE_READ));
	pages_fill(theirs, 40);
	TRY(rdma(&ends[0], IB_WR_RDMA_READ, &sge, 1, theirs->mr->iova, theirs->mr->rkey, 0));
	TRY(pages_differ(ours, 40));
	pages_fill(ours, 41);
	TRY(rdma(&ends[0], IB_WR_RDMA_WRITE, &sge, 1, theirs->mr->iova, theirs->mr->rkey,
		 IB_WC_REM_ACCESS_ERR));
	return pages_differ(theirs, 40);
}

int case_remote_access(struct end ends[2])
{
	return with_pages(ends, PAGES, PAGE_SIZE, remote_access);
}

/* WRITE of 64 bytes that begin with @seed, by any key */
static int write_by(struct end ends[2], struct pages *ours, struct pages *theirs, u32 rkey,
		    u32 seed, enum ib_wc_status status)
{
	struct ib_sge sge = registered(ours);

	sge.length = 64;
	fill(sg_virt(ours->sgt.sgl), 64, seed);
	return rdma(&ends[0], IB_WR_RDMA_WRITE, &sge, 1, theirs->mr->iova, rkey, status);
}

static int key_invalidated(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	u32 rkey = theirs->mr->rkey;

	TRY(write_by(ends, ours, theirs, rkey, 50, IB_WC_SUCCESS));
	TRY(invalidate(&ends[1], rkey));
	TRY(write_by(ends, ours, theirs, rkey, 51, IB_WC_REM_ACCESS_ERR));
	return differs(sg_virt(theirs->sgt.sgl), 64, 50);
}

int case_key_invalidated(struct end ends[2])
{
	return with_pages(ends, PAGES, PAGE_SIZE, key_invalidated);
}

/* Registered again with another low byte: who has the old key has nothing. */
static int key_changed(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	u32 rkey = theirs->mr->rkey;

	TRY(invalidate(&ends[1], rkey));
	TRY(pages_register(theirs, ALL_ACCESS));
	EXPECT(theirs->mr->rkey != rkey && theirs->mr->rkey >> 8 == rkey >> 8);
	TRY(write_by(ends, ours, theirs, theirs->mr->rkey, 52, IB_WC_SUCCESS));
	TRY(differs(sg_virt(theirs->sgt.sgl), 64, 52));
	TRY(write_by(ends, ours, theirs, rkey, 53, IB_WC_REM_ACCESS_ERR));
	return differs(sg_virt(theirs->sgt.sgl), 64, 52);
}

int case_key_changed(struct end ends[2])
{
	return with_pages(ends, PAGES, PAGE_SIZE, key_changed);
}

/* LOCAL_INV of a key that is not the consumer's own fails, and harms no key. */
static int wrong_key(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	/* of another registration, of nobody, of another protection domain */
	const u32 keys[] = { ours->mr->rkey ^ 1, ~ours->mr->rkey, theirs->mr->rkey };
	static struct waiter failed, flushed;
	int i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		struct ib_send_wr inv = {
			.opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = keys[i],
		};
		struct ib_send_wr next = { .opcode = IB_WR_SEND };

		TRY(post_send(&ends[0], &inv, &failed));
		TRY(waiter_wait(&failed, IB_WC_MW_BIND_ERR, 0));
		TRY(post_send(&ends[0], &next, &flushed));
		TRY(waiter_wait(&flushed, IB_WC_WR_FLUSH_ERR, 0));
		TRY(ends_reconnect(ends));
		TRY(write_by(ends, ours, theirs, theirs->mr->rkey, 54 + i, IB_WC_SUCCESS));
		TRY(differs(sg_virt(theirs->sgt.sgl), 64, 54 + i));
	}
	return 0;
}

int case_wrong_key(struct end ends[2])
{
	return with_pages(ends, PAGES, PAGE_SIZE, wrong_key);
}
