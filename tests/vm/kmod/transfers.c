// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cases of rxe_consumer: memory of each kind, mapped as the DMA API of the RDMA core
 * has it, moved by each verb. What arrives is compared.
 */
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "consumer.h"

#define SMALL	3001
#define PAGES	80
#define LAST	123
#define LARGE	((PAGES - 1) * PAGE_SIZE + LAST)

/*
 * Waiters are static: if a case gives up, what it posted completes later.  One case
 * runs at a time.
 */

/* --- work requests ---------------------------------------------------------------------- */

int post_recv(struct end *end, struct ib_sge *sge, int count, struct waiter *waiter)
{
	struct ib_recv_wr wr = {
		.wr_id = wr_id_of(&waiter->cqe), .sg_list = sge, .num_sge = count,
	};

	waiter_init(waiter);
	return ib_post_recv(end->qp, &wr, NULL);
}

int post_send(struct end *end, struct ib_send_wr *wr, struct waiter *waiter)
{
	waiter_init(waiter);
	wr->wr_id = wr_id_of(&waiter->cqe);
	wr->send_flags |= IB_SEND_SIGNALED;
	return ib_post_send(end->qp, wr, NULL);
}

/* Post and wait: a request that moves no other memory than its own. */
int execute(struct end *end, struct ib_send_wr *wr, enum ib_wc_opcode opcode)
{
	static struct waiter waiter;

	TRY(post_send(end, wr, &waiter));
	return waiter_wait(&waiter, IB_WC_SUCCESS, opcode);
}

/* RDMA WRITE, or READ, between @sge and the peer's memory */
int rdma(struct end *end, enum ib_wr_opcode opcode, struct ib_sge *sge, int count,
	 u64 remote_addr, u32 rkey, enum ib_wc_status status)
{
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .sg_list = sge, .num_sge = count },
		.remote_addr = remote_addr,
		.rkey = rkey,
	};
	static struct waiter waiter;

	TRY(post_send(end, &wr.wr, &waiter));
	return waiter_wait(&waiter, status, opcode == IB_WR_RDMA_READ ? IB_WC_RDMA_READ :
					    IB_WC_RDMA_WRITE);
}

/* SEND from @from to @to, both of @length bytes */
static int send(struct end ends[2], struct ib_sge *from, int from_count,
		struct ib_sge *to, int to_count, u32 length)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .sg_list = from, .num_sge = from_count,
	};
	static struct waiter sent, received;

	TRY(post_recv(&ends[1], to, to_count, &received));
	TRY(post_send(&ends[0], &wr, &sent));
	TRY(waiter_wait(&sent, IB_WC_SUCCESS, IB_WC_SEND));
	TRY(waiter_wait(&received, IB_WC_SUCCESS, IB_WC_RECV));
	EXPECT(received.wc.byte_len == length);
	EXPECT(received.wc.qp == ends[1].qp);
	return 0;
}

/* --- memory of one piece ------------------------------------------------------------------ */

/*
 * Users who ask what addresses a device reaches get an answer, before they map anything.
 * From Linux 5.11 on nobody can ask: the core itself maps for devices like ours.
 */
int case_mask(struct end ends[2])
{
	struct device *dma;
	int i;

	for (i = 0; i < 2; i++) {
		dma = ends[i].dev->dma_device;
		if (!dma)
			continue;
		EXPECT(dma->dma_mask);
		EXPECT(*dma->dma_mask == DMA_BIT_MASK(64));
		EXPECT(dma->coherent_dma_mask == DMA_BIT_MASK(64));
		TRY(dma_set_mask(dma, DMA_BIT_MASK(64)));
	}
	return 0;
}

/*
 * ib_dma_map_single(): a buffer that begins anywhere. The same case for pages, with
 * the page that @order names: ib_dma_map_page() of all of a compound page.
 */
static int one_piece(struct end ends[2], int order, size_t offset, size_t length)
{
	struct ib_sge sge[2];
	struct page *page[2];
	int i, ret = 0;

	for (i = 0; i < 2; i++) {
		page[i] = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP, max(order, 0));
		if (!page[i]) {
			if (i)
				__free_pages(page[0], max(order, 0));
			return -ENOMEM;
		}
	}
	fill(page_address(page[0]) + offset, length, 1);
	for (i = 0; i < 2; i++) {
		enum dma_data_direction dir = i ? DMA_FROM_DEVICE : DMA_TO_DEVICE;

		sge[i].lkey = ends[i].pd->local_dma_lkey;
		sge[i].length = length;
		sge[i].addr = order < 0 ?
			ib_dma_map_single(ends[i].dev, page_address(page[i]) + offset, length, dir) :
			ib_dma_map_page(ends[i].dev, page[i], offset, length, dir);
		if (ib_dma_mapping_error(ends[i].dev, sge[i].addr)) {
			complain("mapping of %zu bytes fails", length);
			ret = -EIO;
			break;
		}
	}
	if (!ret) {
		ret = send(ends, &sge[0], 1, &sge[1], 1, length);
		if (order < 0) {
			ib_dma_unmap_single(ends[0].dev, sge[0].addr, length, DMA_TO_DEVICE);
			ib_dma_unmap_single(ends[1].dev, sge[1].addr, length, DMA_FROM_DEVICE);
		} else {
			ib_dma_unmap_page(ends[0].dev, sge[0].addr, length, DMA_TO_DEVICE);
			ib_dma_unmap_page(ends[1].dev, sge[1].addr, length, DMA_FROM_DEVICE);
		}
	}
	if (!ret)
		ret = differs(page_address(page[1]) + offset, length, 1);
	/* a posted receive goes on writing if the case failed: leave the memory to it */
	for (i = 0; i < 2 && !ret; i++)
		__free_pages(page[i], max(order, 0));
	return ret;
}

int case_single(struct end ends[2])
{
	return one_piece(ends, -1, 17, SMALL);
}

int case_page(struct end ends[2])
{
	return one_piece(ends, 0, 0, PAGE_SIZE);
}

int case_compound_page(struct end ends[2])
{
	TRY(one_piece(ends, 4, 0, 16 * PAGE_SIZE));
	return one_piece(ends, 4, PAGE_SIZE + 5, 14 * PAGE_SIZE);
}

/* --- memory of many pieces ------------------------------------------------------------------ */

void pages_free(struct pages *pages)
{
	struct scatterlist *sg;
	int i;

	if (!IS_ERR_OR_NULL(pages->mr))
		ib_dereg_mr(pages->mr);
	if (pages->mapped)
		ib_dma_unmap_sg(pages->end->dev, pages->sgt.sgl, pages->sgt.orig_nents,
				DMA_BIDIRECTIONAL);
	for_each_sg(pages->sgt.sgl, sg, pages->sgt.orig_nents, i)
		__free_page(sg_page(sg));
	sg_free_table(&pages->sgt);
}

int pages_alloc(struct pages *pages, struct end *end, int count, size_t last)
{
	struct scatterlist *sg;
	struct page *page;
	int i;

	memset(pages, 0, sizeof(*pages));
	pages->end = end;
	TRY(sg_alloc_table(&pages->sgt, count, GFP_KERNEL));
	for_each_sg(pages->sgt.sgl, sg, count, i) {
		page = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!page)
			return -ENOMEM;
		sg_set_page(sg, page, i == count - 1 ? last : PAGE_SIZE, 0);
	}
	pages->mapped = ib_dma_map_sg(end->dev, pages->sgt.sgl, count, DMA_BIDIRECTIONAL);
	EXPECT(pages->mapped > 0);
	return 0;
}

void pages_fill(struct pages *pages, u32 seed)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(pages->sgt.sgl, sg, pages->sgt.orig_nents, i)
		fill(sg_virt(sg), sg->length, seed + i);
}

int pages_differ(struct pages *pages, u32 seed)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(pages->sgt.sgl, sg, pages->sgt.orig_nents, i)
		TRY(differs(sg_virt(sg), sg->length, seed + i));
	return 0;
}

/* REG_MR of all of it, with a new low byte of the key */
int pages_register(struct pages *pages, int access)
{
	struct ib_reg_wr wr = { .wr = { .opcode = IB_WR_REG_MR } };

	if (!pages->mr) {
		pages->mr = ib_alloc_mr(pages->end->pd, IB_MR_TYPE_MEM_REG,
					pages->sgt.orig_nents);
		EXPECT(!IS_ERR(pages->mr));
	}
	EXPECT(ib_map_mr_sg(pages->mr, pages->sgt.sgl, pages->mapped, NULL, PAGE_SIZE) ==
	       pages->mapped);
	ib_update_fast_reg_key(pages->mr, ib_inc_rkey(pages->mr->rkey));
	wr.mr = pages->mr;
	wr.key = pages->mr->rkey;
	wr.access = access;
	return execute(pages->end, &wr.wr, IB_WC_REG_MR);
}

int invalidate(struct end *end, u32 rkey)
{
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = rkey };

	return execute(end, &wr, IB_WC_LOCAL_INV);
}

/*
 * A case with memory of our end and of the peer's, @count pages with @last bytes in the
 * last one; both are registered.
 */
int with_pages(struct end ends[2], int count, size_t last,
	       int (*run)(struct end ends[2], struct pages *ours, struct pages *theirs))
{
	struct pages *pages = kcalloc(2, sizeof(*pages), GFP_KERNEL);
	int i, ret = -ENOMEM;

	if (!pages)
		return ret;
	for (i = 0; i < 2; i++) {
		ret = pages_alloc(&pages[i], &ends[i], count, last);
		if (!ret)
			ret = pages_register(&pages[i], ALL_ACCESS);
		if (ret)
			return ret;
	}
	ret = run(ends, &pages[0], &pages[1]);
	/* Not while somebody may write to them */
	ib_drain_qp(ends[0].qp);
	ib_drain_qp(ends[1].qp);
	pages_free(&pages[0]);
	pages_free(&pages[1]);
	kfree(pages);
	return ret;
}

/* SENDs with as many elements as a request may have, and others at the receiver */
static int scatterlist(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	struct ib_sge from[SGES], to[SGES - 5];
	struct scatterlist *sg;
	u32 length = 0, left;
	int i;

	pages_fill(ours, 3);
	for_each_sg(ours->sgt.sgl, sg, SGES - 5, i) {
		from[i].addr = sg_dma_address(sg);
		from[i].length = sg_dma_len(sg);
		from[i].lkey = ends[0].pd->local_dma_lkey;
		length += sg_dma_len(sg);
	}
	for_each_sg(theirs->sgt.sgl, sg, SGES - 5, i) {
		to[i].addr = sg_dma_address(sg);
		to[i].length = sg_dma_len(sg);
		to[i].lkey = ends[1].pd->local_dma_lkey;
	}
	/* the same bytes in more pieces, of odd lengths */
	for (i = SGES - 5; i < SGES; i++) {
		struct ib_sge *half = &from[(i - (SGES - 5)) * 2];

		memmove(half + 2, half + 1, (char *)&from[i] - (char *)(half + 1));
		half[1] = half[0];
		half[0].length = 1001 + i;
		half[1].addr += half[0].length;
		half[1].length -= half[0].length;
	}
	TRY(send(ends, from, SGES, to, ARRAY_SIZE(to), length));
	left = length;
	for_each_sg(theirs->sgt.sgl, sg, SGES - 5, i) {
		TRY(differs(sg_virt(sg), min(left, sg->length), 3 + i));
		left -= sg->length;
	}
	return 0;
}

int case_scatterlist(struct end ends[2])
{
	return with_pages(ends, PAGES, LAST, scatterlist);
}

/* Inline data is addressed by the CPU, and may change when post returns. */
static int inline_data(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	struct ib_sge from = { .length = 64 }, to = {
		.addr = sg_dma_address(theirs->sgt.sgl), .length = 64,
		.lkey = ends[1].pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .sg_list = &from, .num_sge = 1,
		.send_flags = IB_SEND_INLINE,
	};
	static struct waiter sent, received;
	u8 data[64];

	fill(data, sizeof(data), 9);
	from.addr = (uintptr_t)data;
	TRY(post_recv(&ends[1], &to, 1, &received));
	TRY(post_send(&ends[0], &wr, &sent));
	memset(data, 0, sizeof(data));
	TRY(waiter_wait(&sent, IB_WC_SUCCESS, IB_WC_SEND));
	TRY(waiter_wait(&received, IB_WC_SUCCESS, IB_WC_RECV));
	return differs(sg_virt(theirs->sgt.sgl), sizeof(data), 9);
}

int case_inline(struct end ends[2])
{
	return with_pages(ends, PAGES, LAST, inline_data);
}

/* --- RDMA ------------------------------------------------------------------------------- */

struct ib_sge registered(struct pages *pages)
{
	struct ib_sge sge = {
		.addr = pages->mr->iova, .length = pages->mr->length, .lkey = pages->mr->lkey,
	};

	return sge;
}

static int write(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	struct ib_sge sge = registered(ours);

	EXPECT(sge.length == LARGE);
	pages_fill(ours, 20);
	TRY(rdma(&ends[0], IB_WR_RDMA_WRITE, &sge, 1, theirs->mr->iova, theirs->mr->rkey, 0));
	return pages_differ(theirs, 20);
}

int case_write(struct end ends[2])
{
	return with_pages(ends, PAGES, LAST, write);
}

static int write_imm(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	struct ib_sge sge = registered(ours);
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_WRITE_WITH_IMM, .sg_list = &sge, .num_sge = 1,
			.ex.imm_data = cpu_to_be32(0x12345678),
		},
		.remote_addr = theirs->mr->iova,
		.rkey = theirs->mr->rkey,
	};
	static struct waiter sent, received;

	pages_fill(ours, 21);
	TRY(post_recv(&ends[1], NULL, 0, &received));
	TRY(post_send(&ends[0], &wr.wr, &sent));
	TRY(waiter_wait(&sent, IB_WC_SUCCESS, IB_WC_RDMA_WRITE));
	TRY(waiter_wait(&received, IB_WC_SUCCESS, IB_WC_RECV_RDMA_WITH_IMM));
	EXPECT(received.wc.byte_len == LARGE && received.wc.wc_flags & IB_WC_WITH_IMM);
	EXPECT(received.wc.ex.imm_data == cpu_to_be32(0x12345678));
	return pages_differ(theirs, 21);
}

int case_write_imm(struct end ends[2])
{
	return with_pages(ends, PAGES, LAST, write_imm);
}

static int read(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	struct ib_sge sge = registered(ours);

	pages_fill(theirs, 22);
	TRY(rdma(&ends[0], IB_WR_RDMA_READ, &sge, 1, theirs->mr->iova, theirs->mr->rkey, 0));
	return pages_differ(ours, 22);
}

int case_read(struct end ends[2])
{
	return with_pages(ends, PAGES, LAST, read);
}

static int atomics(struct end ends[2], struct pages *ours, struct pages *theirs)
{
	struct ib_sge sge = registered(ours);
	struct ib_atomic_wr wr = {
		.wr = { .sg_list = &sge, .num_sge = 1 },
		.remote_addr = theirs->mr->iova, .rkey = theirs->mr->rkey,
	};
	u64 *here = sg_virt(ours->sgt.sgl), *there = sg_virt(theirs->sgt.sgl);

	sge.length = 8;
	*there = 1000;
	wr.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD;
	wr.compare_add = 23;
	TRY(execute(&ends[0], &wr.wr, IB_WC_FETCH_ADD));
	EXPECT(*here == 1000 && *there == 1023);

	wr.wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP;
	wr.compare_add = 1023;
	wr.swap = ~0ull;
	TRY(execute(&ends[0], &wr.wr, IB_WC_COMP_SWAP));
	EXPECT(*here == 1023 && *there == ~0ull);
	return 0;
}

int case_atomics(struct end ends[2])
{
	return with_pages(ends, PAGES, LAST, atomics);
}
