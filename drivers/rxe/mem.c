// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mem.c - the one place that turns (key, address, length) into bytes.
 *
 * Owns every copy of payload and the checks before it. A copy looks the key up,
 * checks protection domain, rights and range, and holds the region for just as
 * long as it copies: a key that is good for one packet may be gone for the next.
 *
 * Nothing here sleeps, so all of it runs in any context, also softirq: memory is
 * pinned, or, on demand, waited for elsewhere (odp.c). It is shared with the process,
 * which may change it at any time: a CRC is summed over the copy, never over the
 * memory itself.
 *
 * Errors, everywhere: -EACCES: the key is unknown or of another protection
 * domain, or a right is missing; -EFAULT: the range leaves the region or the SGE
 * list, or there is no memory; -EINVAL: an atomic that is not aligned; -EAGAIN: a
 * page is absent, and the task will be called when it is there, to do the same
 * again. After an error, bytes before the offending range may have been copied.
 */
#include "rxe.h"

#include <linux/crc32.h>
#include <linux/highmem.h>
#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/sizes.h>

/* What a FLUSH writes back at a time: some 100 us */
#define FLUSH_PIECE	SZ_1M

/**
 * struct stream - the packet's side of a copy; moves on with it
 * @dst: memory is copied to here; NULL: to memory, from @src or @skb
 * @loan: nothing is copied, memory is lent to this
 * @src: bytes in one piece, or NULL
 * @skb: bytes in fragments, or NULL
 * @skb_off: of the next byte in @skb
 * @train: @dst or @src are payloads of packets, with something in between; or NULL
 * @left: bytes of the payload in hand, likewise
 */
struct stream {
	u8			*dst;
	struct rxe_loan		*loan;
	const u8		*src;
	const struct sk_buff	*skb;
	u32			skb_off;
	const struct rxe_train	*train;
	u32			left;
};

static void stream_to(struct stream *s, void *dst)
{
	memset(s, 0, sizeof(*s));
	s->dst = dst;
}

static void stream_lend(struct stream *s, struct rxe_loan *loan)
{
	memset(s, 0, sizeof(*s));
	loan->pieces = 0;
	s->loan = loan;
}

static void stream_from(struct stream *s, const void *src)
{
	memset(s, 0, sizeof(*s));
	s->src = src;
}

/**
 * rxe_mem_flat_most - all bytes from one on that are in one piece with it
 * @skb: linear or with fragments; a list behind them is not looked at
 * @offset: from skb->data
 * @len: out: how many there are
 *
 * Context: any.
 * Return: the first, or NULL: there is none, or the kernel has no address for it.
 */
const u8 *rxe_mem_flat_most(const struct sk_buff *skb, u32 offset, u32 *len)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	u32 head = skb_headlen(skb);
	struct page *page;
	u32 size;
	int i;

	if (offset < head) {
		*len = head - offset;
		return skb->data + offset;
	}
	offset -= head;
	for (i = 0; i < info->nr_frags; i++) {
		size = skb_frag_size(&info->frags[i]);
		if (offset < size) {
			page = skb_frag_page(&info->frags[i]);
			if (!page || PageHighMem(page))
				return NULL;
			*len = size - offset;
			return (u8 *)skb_frag_address(&info->frags[i]) + offset;
		}
		offset -= size;
	}
	return NULL;
}

/**
 * rxe_mem_flat - bytes of an skb that are in one piece
 * @skb: linear or with fragments; a list behind them is not looked at
 * @offset: from skb->data
 * @len: bytes
 *
 * Context: any.
 * Return: the first, or NULL: they are in pieces, or the kernel has no address for them.
 */
const u8 *rxe_mem_flat(const struct sk_buff *skb, u32 offset, u32 len)
{
	u32 have = 0;
	const u8 *at = rxe_mem_flat_most(skb, offset, &have);

	return len <= have ? at : NULL;
}

static void stream_from_skb(struct stream *s, const struct sk_buff *skb,
			    u32 offset, u32 len)
{
	stream_from(s, rxe_mem_flat(skb, offset, len));
	if (!s->src) {
		s->skb = skb;
		s->skb_off = offset;
	}
}

/* The same with a train, from payload to payload. */
static void stream_move_train(struct stream *s, u8 *mem, u32 len)
{
	u32 gap = s->train->step - s->train->payload;
	u32 n;

	for (; len; mem += n, len -= n) {
		n = min(len, s->left);
		s->left -= n;
		if (s->dst) {
			memcpy(s->dst, mem, n);
			s->dst += s->left ? n : n + gap;
		} else {
			memcpy(mem, s->src, n);
			s->src += s->left ? n : n + gap;
			smp_wmb();	/* as in rxe_mem_write_sges() */
		}
		if (!s->left)
			s->left = s->train->payload;
	}
}

/* Move @len bytes between @s and mapped memory. */
static int stream_move(struct stream *s, u8 *mem, u32 len)
{
	int err = 0;

	if (s->train) {
		stream_move_train(s, mem, len);
	} else if (s->dst) {
		memcpy(s->dst, mem, len);
		s->dst += len;
	} else if (s->src) {
		memcpy(mem, s->src, len);
		s->src += len;
	} else {
		err = skb_copy_bits(s->skb, s->skb_off, mem, len);
		s->skb_off += len;
	}
	return err;
}

/*
 * Map the first bytes of a range, checked before: all up to the end of the page.
 * *@len is what is wanted, and then what there is. Or an ERR_PTR.
 */
static u8 *span_map(struct rxe_span *span, u32 *len, bool write, struct rxe_fault *fault)
{
	const struct rxe_mr *mr = span->mr;
	u64 pos;
	u32 in_page;

	if (mr->type == RXE_MR_DMA)
		return (u8 *)(uintptr_t)span->addr;
	if (mr->type == RXE_MR_ODP)
		return rxe_odp_map(span, len, write, fault);
	pos = span->addr - mr->key.addr + mr->first_offset;
	if (mr->type == RXE_MR_FAST) {
		in_page = pos & ((1u << mr->block_shift) - 1);
		*len = min_t(u32, *len, (1u << mr->block_shift) - in_page);
		return (u8 *)(uintptr_t)mr->blocks[pos >> mr->block_shift] + in_page;
	}
	in_page = pos & ~PAGE_MASK;
	*len = min_t(u32, *len, PAGE_SIZE - in_page);
	return (u8 *)kmap_local_page(mr->pages[pos >> PAGE_SHIFT]) + in_page;
}

static void span_unmap(struct rxe_span *span, u8 *mem)
{
	if (span->mr->type == RXE_MR_USER)
		kunmap_local(mem);
	else if (span->mr->type == RXE_MR_ODP)
		rxe_odp_unmap(span, mem);
}

/* Copy between @s and a range under one key. */
static int key_copy(struct ib_pd *pd, const struct rxe_qp *qp, struct rxe_fault *fault,
		    u32 key, u64 addr, u32 len, int access, struct stream *s)
{
	struct rxe_span span;
	u32 piece;
	u8 *mem;
	int err;

	err = rxe_mr_get(&span, pd, qp, key, addr, len, access);
	if (err)
		return err;
	if (s->loan) {
		err = rxe_loan_take(s->loan, &span, len);
		rxe_mr_put(&span);
		return err;
	}
	while (len && !err) {
		piece = len;
		mem = span_map(&span, &piece, !s->dst, fault);
		if (IS_ERR(mem)) {
			err = PTR_ERR(mem);
			break;
		}
		err = stream_move(s, mem, piece);
		span_unmap(&span, mem);
		span.addr += piece;
		len -= piece;
	}
	rxe_mr_put(&span);
	return err;
}

/* Copy between @s and a part of an SGE list. */
static int sges_copy(struct ib_pd *pd, struct rxe_fault *fault, const struct rxe_mem_sge *sge,
		     u32 num_sge, u64 offset, u32 len, int access, struct stream *s)
{
	u32 piece;
	int err;

	for (; len && num_sge; sge++, num_sge--) {
		if (offset >= sge->length) {
			offset -= sge->length;
			continue;
		}
		if (sge->addr + offset < sge->addr)
			return -EFAULT;
		piece = min_t(u32, len, sge->length - offset);
		fault->ahead = sge->length - offset;
		err = key_copy(pd, NULL, fault, sge->lkey, sge->addr + offset, piece, access, s);
		if (err)
			return err;
		len -= piece;
		offset = 0;
	}
	return len ? -EFAULT : 0;
}

static int key_check(struct ib_pd *pd, const struct rxe_qp *qp, u32 key, u64 addr, u64 length,
		     int access)
{
	struct rxe_span span;
	int err;

	if (!length)
		return 0;
	err = rxe_mr_get(&span, pd, qp, key, addr, length, access);
	if (!err)
		rxe_mr_put(&span);
	return err;
}

/**
 * rxe_mem_check - whether a peer may use a range
 * @qp: the QP
 * @key: rkey
 * @addr: first address
 * @length: bytes; nothing is checked for 0 (C9-88)
 * @access: IB_ACCESS_ flags needed
 *
 * Context: any.
 * Return: 0, -EACCES or -EFAULT.
 */
int rxe_mem_check(const struct rxe_qp *qp, u32 key, u64 addr, u64 length, int access)
{
	return key_check(qp->ib.pd, qp, key, addr, length, access);
}

/**
 * rxe_mem_check_sges - whether every element of a list may be used in full
 * @pd: of the QP
 * @sge: list; elements without length are not looked at
 * @num_sge: its elements
 * @access: IB_ACCESS_LOCAL_WRITE to write, 0 to read
 *
 * Context: any.
 * Return: 0, -EACCES or -EFAULT.
 */
int rxe_mem_check_sges(struct ib_pd *pd, const struct rxe_mem_sge *sge,
		       u32 num_sge, int access)
{
	int err = 0;
	u32 i;

	for (i = 0; i < num_sge && !err; i++)
		err = key_check(pd, NULL, sge[i].lkey, sge[i].addr, sge[i].length, access);
	return err;
}

/**
 * rxe_mem_read_sges - gather: copy a part of an SGE list into a packet
 * @pd: of the QP
 * @fault: of the task, which waits there for pages of memory on demand
 * @sge: list
 * @num_sge: its elements
 * @offset: bytes of the list to skip
 * @dst: out
 * @len: bytes
 *
 * Context: any.
 * Return: 0, -EACCES, -EFAULT or -EAGAIN.
 */
int rxe_mem_read_sges(struct ib_pd *pd, struct rxe_fault *fault, const struct rxe_mem_sge *sge,
		      u32 num_sge, u64 offset, void *dst, u32 len)
{
	struct stream s;

	stream_to(&s, dst);
	return sges_copy(pd, fault, sge, num_sge, offset, len, 0, &s);
}

/**
 * rxe_mem_lend_sges - rxe_mem_read_sges() without a copy
 * @pd: of the QP
 * @fault: of the task
 * @sge: list
 * @num_sge: its elements
 * @offset: bytes of the list to skip
 * @len: bytes
 * @loan: of the burst; the pieces of the next packet
 *
 * Context: a task, bottom halves off.
 * Return: 0; otherwise it has to be copied, and that may fail likewise.
 */
int rxe_mem_lend_sges(struct ib_pd *pd, struct rxe_fault *fault, const struct rxe_mem_sge *sge,
		      u32 num_sge, u64 offset, u32 len, struct rxe_loan *loan)
{
	struct stream s;

	stream_lend(&s, loan);
	return sges_copy(pd, fault, sge, num_sge, offset, len, 0, &s);
}

/**
 * rxe_mem_write_sges - scatter: copy payload of a packet into an SGE list
 * @pd: of the QP
 * @fault: of the task, which waits there for pages of memory on demand
 * @sge: list
 * @num_sge: its elements
 * @offset: bytes of the list to skip
 * @skb: holds the payload
 * @skb_off: of the payload in @skb
 * @len: bytes
 *
 * What is written later, by any call, is seen later by the process.
 *
 * Context: any.
 * Return: 0, -EACCES, -EFAULT or -EAGAIN.
 */
int rxe_mem_write_sges(struct ib_pd *pd, struct rxe_fault *fault,
		       const struct rxe_mem_sge *sge, u32 num_sge, u64 offset,
		       const struct sk_buff *skb, u32 skb_off, u32 len)
{
	struct stream s;
	int err;

	stream_from_skb(&s, skb, skb_off, len);
	err = sges_copy(pd, fault, sge, num_sge, offset, len, IB_ACCESS_LOCAL_WRITE, &s);
	smp_wmb();	/* a poller of the next packet's bytes sees these */
	return err;
}

/**
 * rxe_mem_write_sges_buf - rxe_mem_write_sges() from plain memory
 * @pd: of the QP
 * @fault: of the task, which waits there for pages of memory on demand
 * @sge: list
 * @num_sge: its elements
 * @offset: bytes of the list to skip
 * @src: kernel memory, as the result of an atomic
 * @len: bytes
 *
 * Context: any.
 * Return: 0, -EACCES, -EFAULT or -EAGAIN.
 */
int rxe_mem_write_sges_buf(struct ib_pd *pd, struct rxe_fault *fault,
			   const struct rxe_mem_sge *sge, u32 num_sge, u64 offset,
			   const void *src, u32 len)
{
	struct stream s;
	int err;

	stream_from(&s, src);
	err = sges_copy(pd, fault, sge, num_sge, offset, len, IB_ACCESS_LOCAL_WRITE, &s);
	smp_wmb();	/* as in rxe_mem_write_sges() */
	return err;
}

/**
 * rxe_mem_read - copy memory that a key names into a packet
 * @qp: the QP; rq.fault.ahead says how much will be wanted
 * @key: rkey
 * @addr: first address
 * @dst: out
 * @len: bytes; nothing is checked for 0
 * @access: IB_ACCESS_ flags needed
 *
 * Context: rq.task.
 * Return: 0, -EACCES, -EFAULT or -EAGAIN.
 */
int rxe_mem_read(struct rxe_qp *qp, u32 key, u64 addr, void *dst, u32 len, int access)
{
	struct stream s;

	if (!len)
		return 0;
	stream_to(&s, dst);
	return key_copy(qp->ib.pd, qp, &qp->rq.fault, key, addr, len, access, &s);
}

/**
 * rxe_mem_lend - rxe_mem_read() without a copy
 * @qp: the QP
 * @key: rkey
 * @addr: first address
 * @len: bytes
 * @access: IB_ACCESS_ flags needed
 * @loan: of the burst; the pieces of the next packet
 *
 * Context: rq.task.
 * Return: 0; otherwise it has to be copied, and that may fail likewise.
 */
int rxe_mem_lend(struct rxe_qp *qp, u32 key, u64 addr, u32 len, int access,
		 struct rxe_loan *loan)
{
	struct stream s;

	stream_lend(&s, loan);
	return key_copy(qp->ib.pd, qp, &qp->rq.fault, key, addr, len, access, &s);
}

/**
 * rxe_mem_write - copy payload of a packet to memory that a key names
 * @qp: the QP; rq.fault.ahead says how much will be wanted
 * @key: rkey
 * @addr: first address
 * @skb: holds the payload
 * @skb_off: of the payload in @skb
 * @len: bytes; nothing is checked for 0
 * @access: IB_ACCESS_ flags needed
 *
 * What is written later, by any call, is seen later by the process.
 *
 * Context: rq.task.
 * Return: 0, -EACCES, -EFAULT or -EAGAIN.
 */
int rxe_mem_write(struct rxe_qp *qp, u32 key, u64 addr, const struct sk_buff *skb,
		  u32 skb_off, u32 len, int access)
{
	struct stream s;
	int err;

	if (!len)
		return 0;
	stream_from_skb(&s, skb, skb_off, len);
	err = key_copy(qp->ib.pd, qp, &qp->rq.fault, key, addr, len, access, &s);
	smp_wmb();	/* as in rxe_mem_write_sges() */
	return err;
}

/*
 * What is copied of a train at a time, from packet @done on: no more than a page, as a range
 * longer than that is not looked at closely (mr.c). With an error none of these packets counts.
 */
static u32 train_piece(const struct rxe_train *train, u32 done, struct stream *s, bool to)
{
	u8 *at = train->first + (size_t)done * train->step;

	if (to)
		stream_to(s, at);
	else
		stream_from(s, at);
	s->train = train;
	s->left = train->payload;
	return min_t(u32, train->count - done, max_t(u32, PAGE_SIZE / train->payload, 1));
}

static u32 key_copy_train(struct rxe_qp *qp, u32 key, u64 addr, int access,
			  const struct rxe_train *train)
{
	struct rxe_fault *fault = &qp->rq.fault;
	struct stream s;
	u32 done, n;

	for (done = 0; done < train->count; done += n) {
		n = train_piece(train, done, &s, access == IB_ACCESS_REMOTE_READ);
		if (key_copy(qp->ib.pd, qp, fault, key, addr, n * train->payload, access, &s))
			break;
		addr += n * train->payload;
		fault->ahead -= n * train->payload;
	}
	return done;
}

static u32 sges_copy_train(struct ib_pd *pd, struct rxe_fault *fault,
			   const struct rxe_mem_sge *sge, u32 num_sge, u64 offset, int access,
			   const struct rxe_train *train)
{
	struct stream s;
	u32 done, n;

	for (done = 0; done < train->count; done += n) {
		n = train_piece(train, done, &s, !access);
		if (sges_copy(pd, fault, sge, num_sge, offset, n * train->payload, access, &s))
			break;
		offset += n * train->payload;
	}
	return done;
}

/**
 * rxe_mem_read_train - rxe_mem_read() for many packets
 * @qp: the QP; rq.fault.ahead says how much will be wanted
 * @key: rkey, with IB_ACCESS_REMOTE_READ
 * @addr: first address
 * @train: where the payloads go
 *
 * Context: rq.task.
 * Return: packets that have their payload; fewer than there are if the one behind these
 * meets an error, which rxe_mem_read() will name.
 */
u32 rxe_mem_read_train(struct rxe_qp *qp, u32 key, u64 addr, const struct rxe_train *train)
{
	return key_copy_train(qp, key, addr, IB_ACCESS_REMOTE_READ, train);
}

/**
 * rxe_mem_read_sges_train - rxe_mem_read_sges() for many packets
 * @qp: the QP
 * @sge: list
 * @num_sge: its elements
 * @offset: bytes of the list to skip
 * @train: where the payloads go
 *
 * Context: sq.task.
 * Return: packets that have their payload, as rxe_mem_read_train().
 */
u32 rxe_mem_read_sges_train(struct rxe_qp *qp, const struct rxe_mem_sge *sge, u32 num_sge,
			    u64 offset, const struct rxe_train *train)
{
	return sges_copy_train(qp->ib.pd, &qp->sq.fault, sge, num_sge, offset, 0, train);
}

/**
 * rxe_mem_write_train - rxe_mem_write() for many packets
 * @qp: the QP; rq.fault.ahead says how much will be wanted
 * @key: rkey, with IB_ACCESS_REMOTE_WRITE
 * @addr: first address
 * @train: the payloads
 *
 * Context: rq.task.
 * Return: packets whose payload is in place, as rxe_mem_read_train().
 */
u32 rxe_mem_write_train(struct rxe_qp *qp, u32 key, u64 addr, const struct rxe_train *train)
{
	return key_copy_train(qp, key, addr, IB_ACCESS_REMOTE_WRITE, train);
}

/**
 * rxe_mem_write_sges_train - rxe_mem_write_sges() for many packets
 * @pd: of the QP
 * @fault: of the task, which waits there for pages of memory on demand
 * @sge: list
 * @num_sge: its elements
 * @offset: bytes of the list to skip
 * @train: the payloads
 *
 * Context: a task.
 * Return: packets whose payload is in place, as rxe_mem_read_train().
 */
u32 rxe_mem_write_sges_train(struct ib_pd *pd, struct rxe_fault *fault,
			     const struct rxe_mem_sge *sge, u32 num_sge, u64 offset,
			     const struct rxe_train *train)
{
	return sges_copy_train(pd, fault, sge, num_sge, offset, IB_ACCESS_LOCAL_WRITE, train);
}

/*
 * Map the operand of an atomic. The region may be registered under addresses
 * that are aligned otherwise than its memory: both must be.
 */
static atomic64_t *atomic_map(struct rxe_qp *qp, u32 key, u64 addr, int access,
			      struct rxe_span *span)
{
	u32 len = sizeof(u64);
	u8 *mem;
	int err;

	if (addr % sizeof(u64))
		return ERR_PTR(-EINVAL);
	err = rxe_mr_get(span, qp->ib.pd, qp, key, addr, sizeof(u64), access);
	if (err)
		return ERR_PTR(err);
	if (span->mr->type != RXE_MR_DMA &&
	    (span->addr - span->mr->key.addr + span->mr->first_offset) % sizeof(u64)) {
		rxe_mr_put(span);
		return ERR_PTR(-EINVAL);
	}
	qp->rq.fault.ahead = len;
	mem = span_map(span, &len, true, &qp->rq.fault);
	if (IS_ERR(mem))
		rxe_mr_put(span);
	return (atomic64_t *)mem;
}

static void atomic_unmap(struct rxe_span *span, atomic64_t *mem)
{
	span_unmap(span, (u8 *)mem);
	rxe_mr_put(span);
}

/**
 * rxe_mem_cmp_swap - COMPARE-SWAP, atomic also against the process
 * @qp: the QP
 * @key: rkey
 * @addr: of 8 bytes in host order, aligned
 * @compare: expected
 * @swap: new value, if @compare was found
 * @orig: out: what was found
 *
 * Context: rq.task.
 * Return: 0, -EINVAL (alignment), -EACCES, -EFAULT or -EAGAIN.
 */
int rxe_mem_cmp_swap(struct rxe_qp *qp, u32 key, u64 addr, u64 compare, u64 swap, u64 *orig)
{
	struct rxe_span span;
	atomic64_t *mem;

	mem = atomic_map(qp, key, addr, IB_ACCESS_REMOTE_ATOMIC, &span);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	*orig = atomic64_cmpxchg(mem, compare, swap);
	atomic_unmap(&span, mem);
	return 0;
}

/**
 * rxe_mem_fetch_add - FETCH-ADD, atomic also against the process
 * @qp: the QP
 * @key: rkey
 * @addr: of 8 bytes in host order, aligned
 * @add: to be added, modulo 2^64
 * @orig: out: what was found
 *
 * Context: rq.task.
 * Return: 0, -EINVAL (alignment), -EACCES, -EFAULT or -EAGAIN.
 */
int rxe_mem_fetch_add(struct rxe_qp *qp, u32 key, u64 addr, u64 add, u64 *orig)
{
	struct rxe_span span;
	atomic64_t *mem;

	mem = atomic_map(qp, key, addr, IB_ACCESS_REMOTE_ATOMIC, &span);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	*orig = (u64)atomic64_add_return(add, mem) - add;
	atomic_unmap(&span, mem);
	return 0;
}

/**
 * rxe_mem_store64 - ATOMIC WRITE: 8 bytes that nobody sees in part
 * @qp: the QP
 * @key: rkey
 * @addr: aligned
 * @skb: holds the bytes, which have no order of their own
 * @skb_off: of them in @skb
 *
 * What was written before, by any call, is seen before.
 *
 * Context: rq.task.
 * Return: 0, -EINVAL (alignment), -EACCES, -EFAULT or -EAGAIN.
 */
int rxe_mem_store64(struct rxe_qp *qp, u32 key, u64 addr, const struct sk_buff *skb,
		    u32 skb_off)
{
	struct rxe_span span;
	atomic64_t *mem;
	u64 value;

	if (skb_copy_bits(skb, skb_off, &value, sizeof(value)))
		return -EFAULT;
	mem = atomic_map(qp, key, addr, IB_ACCESS_REMOTE_WRITE, &span);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	smp_wmb();	/* pairs with whoever polls for the value */
	atomic64_set(mem, value);
	atomic_unmap(&span, mem);
	return 0;
}

/*
 * What the CPU's caches hold of a range goes to memory, in pieces: it may be all that
 * there is, and other work of this CPU waits. The caller orders it.
 */
static int span_write_back(struct rxe_span *span, u64 length, u64 *done)
{
	u64 from = min(*done, length);
	u64 rest = length - from;
	u32 piece;
	u8 *mem;

	length = min_t(u64, rest, FLUSH_PIECE);
	rest -= length;
	*done = from + length;
	span->addr += from;
	while (length) {
		piece = min_t(u64, length, PAGE_SIZE);
		/* it is pinned: no key of memory on demand has the right */
		mem = span_map(span, &piece, false, NULL);
		arch_wb_cache_pmem(mem, piece);
		span_unmap(span, mem);
		span->addr += piece;
		length -= piece;
	}
	return rest ? -EINPROGRESS : 0;
}

/**
 * rxe_mem_flush - FLUSH: what a peer has written is where it asks for
 * @qp: the QP
 * @key: rkey
 * @addr: first address
 * @length: bytes
 * @all: all that the key stands for, whatever @addr and @length are
 * @access: IB_ACCESS_FLUSH_GLOBAL: each CPU and device of this host can see it;
 *	IB_ACCESS_FLUSH_PERSISTENT: it is there after power was lost; the key has
 *	this right only if its memory is of that kind
 * @done: in, out: bytes that earlier calls for this FLUSH have been through, first 0
 *
 * Copies are made by a CPU, so that for the one only their order is to be seen to,
 * and for the other also what its caches hold.
 *
 * Context: rq.task.
 * Return: 0, -EACCES, -EFAULT or -EINPROGRESS: call again.
 */
int rxe_mem_flush(const struct rxe_qp *qp, u32 key, u64 addr, u64 length, bool all,
		  int access, u64 *done)
{
	struct rxe_span span;
	int err = 0;

	if (all)
		err = rxe_mr_extent(key, &addr, &length);
	if (!err)
		err = rxe_mr_get(&span, qp->ib.pd, qp, key, addr, length, access);
	if (err)
		return err;
	if (access & IB_ACCESS_FLUSH_PERSISTENT)
		err = span_write_back(&span, length, done);
	wmb();	/* also as devices and memory see it */
	rxe_mr_put(&span);
	return err;
}

/**
 * rxe_mem_sum_skb - sum bytes of an skb of any shape
 * @skb: linear or with fragments, it is not changed
 * @offset: from skb->data
 * @len: bytes; the caller knows that they are there
 * @crc: crc32_le() state
 *
 * Context: any.
 * Return: the state after @len bytes.
 */
u32 rxe_mem_sum_skb(const struct sk_buff *skb, u32 offset, u32 len, u32 crc)
{
	struct skb_seq_state seq;
	const u8 *data = rxe_mem_flat(skb, offset, len);
	u32 done = 0;
	u32 n;

	if (data)
		return crc32_le(crc, data, len);

	/* the walk only reads, though its prototype does not say so */
	skb_prepare_seq_read((struct sk_buff *)skb, offset, offset + len, &seq);
	while (done < len) {
		n = skb_seq_read(done, &data, &seq);
		if (!n)
			return crc;	/* done with all: the walk has ended itself */
		n = min(n, len - done);
		crc = crc32_le(crc, data, n);
		done += n;
	}
	skb_abort_seq_read(&seq);
	return crc;
}
