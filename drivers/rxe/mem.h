/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory: regions and the keys that name them (mr.c), and what is read and written
 * by key, address and length (mem.c).
 */
#ifndef RXE_MEM_H
#define RXE_MEM_H

#include <rdma/ib_verbs.h>

#include "track.h"

struct rxe_chunk;
struct rxe_fault;
struct rxe_id;
struct rxe_loan;
struct rxe_odp;
struct rxe_qp;

enum {
	RXE_KEY_INVALID,
	RXE_KEY_VALID,
	RXE_KEY_ENDING,		/* not to be used again, but still in use, it may be */
};

/**
 * struct rxe_key - what a key allows; entry of rxe_mr_ids
 * @id: number << 8 | variant is the key
 * @pd: of the queue pairs that may use it
 * @window: it is a memory window, not a region
 * @revocable: @valid may change while others look: fast registration, windows
 * @valid: it allows something now, RXE_KEY_
 * @key: lkey and rkey, as they are now
 * @access: IB_ACCESS_ flags
 * @addr: first address as requests name it
 * @length: bytes
 *
 * A revocable key is changed only while it is not valid and nobody uses it.
 */
struct rxe_key {
	struct rxe_id	*id;
	struct ib_pd	*pd;
	bool		window;
	bool		revocable;
	u32		valid;
	u32		key;
	int		access;
	u64		addr;
	u64		length;
};

enum rxe_mr_type {
	RXE_MR_DMA,		/* all of kernel memory, address = pointer */
	RXE_MR_USER,		/* pinned pages of a process */
	RXE_MR_FAST,		/* what a work request says: fast registration */
	RXE_MR_ODP,		/* pages of a process, when they are needed */
};

/**
 * struct rxe_mr - a memory region
 * @ib: the core's part
 * @track: who has made it
 * @key: what it allows
 * @type: what backs it
 * @windows: memory windows bound to it; negative: it is going
 * @umem: pinned memory, for RXE_MR_USER
 * @odp: memory on demand, for RXE_MR_ODP
 * @start: address of the first byte in the process, likewise
 * @pages: one entry a PAGE_SIZE page of @umem
 * @blocks: addresses of @ib.page_size bytes each, for RXE_MR_FAST
 * @num_pages: entries of @pages or @blocks in use
 * @max_blocks: entries that @blocks has room for
 * @block_shift: log2 of the size of a block
 * @first_offset: of the first byte in the first page or block
 */
struct rxe_mr {
	struct ib_mr		ib;
	struct rxe_track	track;
	struct rxe_key		key;
	enum rxe_mr_type	type;
	atomic_t		windows;
	struct ib_umem		*umem;
	struct rxe_odp		*odp;
	u64			start;
	struct page		**pages;
	u64			*blocks;
	u32			num_pages;
	u32			max_blocks;
	u32			block_shift;
	u32			first_offset;
};

/**
 * struct rxe_mw - a memory window
 * @ib: the core's part
 * @key: what it allows; @key.addr is 0 for a zero-based one
 * @lock: one change at a time
 * @mr: region that it is bound to, if it is
 * @base: address of its first byte in @mr
 * @qpn: of the only queue pair that may use it, for type 2
 */
struct rxe_mw {
	struct ib_mw	ib;
	struct rxe_key	key;
	spinlock_t	lock;		/* changes */
	struct rxe_mr	*mr;
	u64		base;
	u32		qpn;
};

/**
 * struct rxe_span - a checked range of memory, for a short time
 * @key: held
 * @mr: whose bytes they are
 * @addr: first address in the region's own numbering
 * @chunk: that a part of it is mapped from, of memory on demand
 * @kept: the reference to @key is not this range's
 */
struct rxe_span {
	struct rxe_key		*key;
	struct rxe_mr		*mr;
	u64			addr;
	struct rxe_chunk	*chunk;
	bool			kept;
};

/* What a process asks of a memory window */
struct rxe_mw_bind {
	u64	addr;
	u64	length;
	u32	mr_lkey;
	u32	mw_rkey;
	u32	rkey;		/* the new key */
	int	access;
};

/* A scatter/gather element as the kernel keeps it */
struct rxe_mem_sge {
	u64	addr;
	u32	length;
	u32	lkey;
};

/**
 * struct rxe_train - payloads of packets that stand in one piece, at equal distances
 * @first: that of the first packet
 * @payload: bytes of each
 * @step: bytes from one to the next
 * @count: packets
 */
struct rxe_train {
	u8	*first;
	u32	payload;
	u32	step;
	u32	count;
};

void rxe_key_init(struct rxe_key *key, struct rxe_id *id, struct ib_pd *pd);
bool rxe_key_revoke(struct rxe_key *key);
int rxe_mr_get(struct rxe_span *span, struct ib_pd *pd, const struct rxe_qp *qp, u32 key,
	       u64 addr, u64 length, int access);
void rxe_mr_put(struct rxe_span *span);
void rxe_mr_round_begin(void);
void rxe_mr_round_end(void);
const char *rxe_mr_type_name(const struct rxe_mr *mr);
int rxe_mr_extent(u32 rkey, u64 *addr, u64 *length);
int rxe_mr_register(struct rxe_qp *qp, struct rxe_mr *mr, u32 key, int access);
int rxe_mr_invalidate(struct rxe_qp *qp, u32 rkey, bool remote);
int rxe_mw_bind(struct rxe_qp *qp, const struct rxe_mw_bind *bind);
int rxe_mw_invalidate(struct rxe_qp *qp, struct rxe_mw *mw);

int rxe_mem_check(const struct rxe_qp *qp, u32 key, u64 addr, u64 length, int access);
int rxe_mem_check_sges(struct ib_pd *pd, const struct rxe_mem_sge *sge,
		       u32 num_sge, int access);
int rxe_mem_read_sges(struct ib_pd *pd, struct rxe_fault *fault, const struct rxe_mem_sge *sge,
		      u32 num_sge, u64 offset, void *dst, u32 len);
int rxe_mem_lend_sges(struct ib_pd *pd, struct rxe_fault *fault, const struct rxe_mem_sge *sge,
		      u32 num_sge, u64 offset, u32 len, struct rxe_loan *loan);
int rxe_mem_write_sges(struct ib_pd *pd, struct rxe_fault *fault,
		       const struct rxe_mem_sge *sge, u32 num_sge, u64 offset,
		       const struct sk_buff *skb, u32 skb_off, u32 len);
int rxe_mem_write_sges_buf(struct ib_pd *pd, struct rxe_fault *fault,
			   const struct rxe_mem_sge *sge, u32 num_sge, u64 offset,
			   const void *src, u32 len);
int rxe_mem_read(struct rxe_qp *qp, u32 key, u64 addr, void *dst, u32 len, int access);
int rxe_mem_lend(struct rxe_qp *qp, u32 key, u64 addr, u32 len, int access,
		 struct rxe_loan *loan);
int rxe_mem_write(struct rxe_qp *qp, u32 key, u64 addr, const struct sk_buff *skb,
		  u32 skb_off, u32 len, int access);
int rxe_mem_cmp_swap(struct rxe_qp *qp, u32 key, u64 addr, u64 compare, u64 swap, u64 *orig);
int rxe_mem_fetch_add(struct rxe_qp *qp, u32 key, u64 addr, u64 add, u64 *orig);
int rxe_mem_store64(struct rxe_qp *qp, u32 key, u64 addr, const struct sk_buff *skb,
		    u32 skb_off);
int rxe_mem_flush(const struct rxe_qp *qp, u32 key, u64 addr, u64 length, bool all,
		  int access, u64 *done);
u32 rxe_mem_read_train(struct rxe_qp *qp, u32 key, u64 addr, const struct rxe_train *train);
u32 rxe_mem_read_sges_train(struct rxe_qp *qp, const struct rxe_mem_sge *sge, u32 num_sge,
			    u64 offset, const struct rxe_train *train);
u32 rxe_mem_write_train(struct rxe_qp *qp, u32 key, u64 addr, const struct rxe_train *train);
u32 rxe_mem_write_sges_train(struct ib_pd *pd, struct rxe_fault *fault,
			     const struct rxe_mem_sge *sge, u32 num_sge, u64 offset,
			     const struct rxe_train *train);
const u8 *rxe_mem_flat(const struct sk_buff *skb, u32 offset, u32 len);
const u8 *rxe_mem_flat_most(const struct sk_buff *skb, u32 offset, u32 *len);
u32 rxe_mem_sum_skb(const struct sk_buff *skb, u32 offset, u32 len, u32 crc);

static inline struct rxe_mr *to_rxe_mr(struct ib_mr *ib)
{
	return container_of(ib, struct rxe_mr, ib);
}

static inline struct rxe_mw *to_rxe_mw(struct ib_mw *ib)
{
	return container_of(ib, struct rxe_mw, ib);
}

#endif /* RXE_MEM_H */
