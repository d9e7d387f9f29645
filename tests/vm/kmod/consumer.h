/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rxe_consumer - a kernel user of two RDMA devices that are connected by a wire.
 *
 * consumer.c brings up two ends and runs the cases; transfers.c moves memory of
 * each kind with each verb, keys.c registers it and has keys end, handlers.c is about
 * completion handlers, queues.c about when they are called, and shared receive queues.
 */
#ifndef RXE_CONSUMER_H
#define RXE_CONSUMER_H

#include <linux/completion.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

#ifdef OLD_CORE
#include "old.h"
#else

static inline void address_set(struct ib_qp_attr *attr, union ib_gid *gid, u8 gid_index)
{
	attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&attr->ah_attr, 1);
	rdma_ah_set_grh(&attr->ah_attr, gid, 0, gid_index, 64, 0);
}

static inline void rdma_ctxs_set(struct ib_qp_init_attr *init, u32 count)
{
	init->cap.max_rdma_ctxs = count;
}

static inline int query_device(struct ib_device *dev, struct ib_device_attr *attr)
{
	*attr = dev->attrs;
	return 0;
}

/* A registration may begin so many bytes behind the beginning of its memory. */
#define MAP_OFFSET	1003

/* what a client's add() returns */
typedef int added_t;
#define ADDED	0

#endif /* OLD_CORE */

/* Work requests of a QP, each direction, and elements of each */
#define DEPTH	64
#define SGES	16
/* How long a completion may take, on a slow machine */
#define PATIENCE	(30 * HZ)

/*
 * One of the two ends, each on a device of its own
 * @dev: registered as long as the cases run
 * @gid_index: its address
 * @gid: likewise
 * @rdma_ctxs: contexts of rdma_rw that the QP has resources for
 * @poll: how completions are delivered
 * @handler: of the CQ, called with this end; NULL: the core polls the CQ
 * @srq: of the QP, if the case has one
 * @calls: of handler_counts()
 * @called: likewise
 */
struct end {
	struct ib_device	*dev;
	u8			gid_index;
	union ib_gid		gid;
	u32			rdma_ctxs;
	enum ib_poll_context	poll;
	ib_comp_handler		handler;
	struct ib_srq		*srq;
	atomic_t		calls;
	struct completion	called;
	struct ib_pd		*pd;
	struct ib_cq		*cq;
	struct ib_qp		*qp;
};

/*
 * A completion that somebody waits for
 * @cqe: for the work request
 * @done: it is there
 * @wc: it
 */
struct waiter {
	struct ib_cqe		cqe;
	struct completion	done;
	struct ib_wc		wc;
};

/* Work requests and completions name a function by their number. */
static inline u64 wr_id_of(struct ib_cqe *cqe)
{
	return (uintptr_t)cqe;
}

static inline struct ib_cqe *cqe_of(const struct ib_wc *wc)
{
	return (struct ib_cqe *)(uintptr_t)wc->wr_id;
}

/* A case cannot run on this kernel. */
#define NOT_HERE	1

#define complain(fmt, ...)	pr_err("rxe_consumer: " fmt "\n", ##__VA_ARGS__)

/* An expression that is 0, or say so and give up */
#define TRY(expression)								\
do {										\
	int __ret = (expression);						\
										\
	if (__ret) {								\
		complain("%s:%d: %s: %d", __func__, __LINE__, #expression, __ret); \
		return __ret;							\
	}									\
} while (0)

#define EXPECT(condition)							\
do {										\
	if (!(condition)) {							\
		complain("%s:%d: not so: %s", __func__, __LINE__, #condition);	\
		return -EIO;							\
	}									\
} while (0)

int ends_connect(struct end ends[2]);
int ends_reconnect(struct end ends[2]);
void ends_destroy(struct end ends[2]);

void waiter_init(struct waiter *waiter);
int waiter_wait(struct waiter *waiter, enum ib_wc_status status, enum ib_wc_opcode opcode);
void fill_at(void *buf, size_t length, size_t first, u32 seed);
int differs_at(const void *buf, size_t length, size_t first, u32 seed);

/* Work requests; "waiter" has their completion. */
int post_recv(struct end *end, struct ib_sge *sge, int count, struct waiter *waiter);
int post_send(struct end *end, struct ib_send_wr *wr, struct waiter *waiter);
int execute(struct end *end, struct ib_send_wr *wr, enum ib_wc_opcode opcode);
int rdma(struct end *end, enum ib_wr_opcode opcode, struct ib_sge *sge, int count,
	 u64 remote_addr, u32 rkey, enum ib_wc_status status);

static inline void fill(void *buf, size_t length, u32 seed)
{
	fill_at(buf, length, 0, seed);
}

/* 0 if @buf holds what fill() puts there */
static inline int differs(const void *buf, size_t length, u32 seed)
{
	return differs_at(buf, length, 0, seed);
}

/*
 * Memory of many pages that are not neighbours
 * @sgt: it
 * @mapped: entries after mapping
 * @end: for whom it is mapped
 * @mr: registered, once
 */
struct pages {
	struct sg_table	sgt;
	int		mapped;
	struct end	*end;
	struct ib_mr	*mr;
};

#define ALL_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
		    IB_ACCESS_REMOTE_ATOMIC)

int pages_alloc(struct pages *pages, struct end *end, int count, size_t last);
void pages_free(struct pages *pages);
void pages_fill(struct pages *pages, u32 seed);
int pages_differ(struct pages *pages, u32 seed);
int pages_register(struct pages *pages, int access);
struct ib_sge registered(struct pages *pages);
int invalidate(struct end *end, u32 rkey);
int with_pages(struct end ends[2], int count, size_t last,
	       int (*run)(struct end ends[2], struct pages *ours, struct pages *theirs));

void handler_counts(struct ib_cq *cq, void *context);
void handler_polls(struct ib_cq *cq, void *context);
void handler_asks_again(struct ib_cq *cq, void *context);
void handler_waits(struct ib_cq *cq, void *context);

int case_mask(struct end ends[2]);
int case_single(struct end ends[2]);
int case_page(struct end ends[2]);
int case_compound_page(struct end ends[2]);
int case_scatterlist(struct end ends[2]);
int case_inline(struct end ends[2]);
int case_write(struct end ends[2]);
int case_write_imm(struct end ends[2]);
int case_read(struct end ends[2]);
int case_atomics(struct end ends[2]);

int case_fast_registration(struct end ends[2]);
int case_largest_registration(struct end ends[2]);
int case_page_sizes(struct end ends[2]);
int case_send_invalidate(struct end ends[2]);
int case_key_invalidated(struct end ends[2]);
int case_key_changed(struct end ends[2]);
int case_wrong_key(struct end ends[2]);
int case_remote_access(struct end ends[2]);

int case_ping_pong(struct end ends[2]);
int case_drain(struct end ends[2]);
int case_cq_destroyed(struct end ends[2]);
int case_rw(struct end ends[2]);

int case_outside_lock(struct end ends[2]);
int case_missed_events(struct end ends[2]);
int case_solicited(struct end ends[2]);
int case_together(struct end ends[2]);
int case_srq(struct end ends[2]);

#endif /* RXE_CONSUMER_H */
