/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the parts of rings share: the ABI of the queues, the two sides, and lies.
 */
#ifndef RXE_TEST_RINGS_H
#define RXE_TEST_RINGS_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "../vm/programs/random.h"

enum {
	SGES		= 4,
	INLINE		= 256,
	RECV_SGES	= 32,
	DEPTH		= 16,
	LONG_DEPTH	= 16384,
	MEMORY		= 1 << 16,
	RINGS		= 16,
	LIES		= 4,		/* kinds of noise in a queue */
	CANARY		= 0x5a,		/* all bytes of memory that nobody may use */
	REMOTE		= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	/* newer than some headers, or not for user space */
	FLUSH_GLOBAL	= 1 << 8,
	WR_FLUSH	= 14,
	WR_ATOMIC_WRITE	= 15,
	OPCODES		= 18,
	WR_REG_MR	= 0xf0,
	ROUND_STEPS	= 400,
	PATIENCE	= 60,		/* seconds for what must come */
	PAIR_RINGS	= 2 * 3,	/* send, receive and completion queues of a connection */
	SHARED_RINGS	= 2 * 5 + 1,	/* of two connections, and the shared one */
};

/* The queue header of the ABI */
struct ring {
	uint32_t	log2_elem_size;
	uint32_t	index_mask;
	uint32_t	pad1[30];
	uint32_t	producer;
	uint32_t	pad2[31];
	uint32_t	consumer;
	uint32_t	pad3[31];
	uint8_t		data[];
};

struct sge {
	uint64_t	addr;
	uint32_t	length;
	uint32_t	lkey;
};

/* struct rxe_dma_info */
struct dma {
	uint32_t	length;
	uint32_t	resid;
	uint32_t	cur_sge;
	uint32_t	num_sge;
	uint32_t	sge_offset;
	uint32_t	reserved;
	struct sge	sge[];
};

/* struct rxe_send_wqe */
struct swqe {
	uint64_t	wr_id;
	uint32_t	num_sge;
	uint32_t	opcode;
	uint32_t	send_flags;
	uint32_t	ex;
	uint64_t	remote_addr;
	union {
		uint32_t	rkey;
		uint64_t	compare_add;
	};
	uint64_t	swap;
	uint32_t	atomic_rkey;
	uint8_t		rest[144 - 52];
	uint32_t	status;
	uint32_t	state;
	uint64_t	iova;
	uint8_t		more[184 - 160];
	struct dma	dma;
};

/* What stands in a send WQE behind "ex" if it binds a window, or is a FLUSH */
struct bind {
	uint64_t	addr;
	uint64_t	length;
	uint32_t	mr_lkey;
	uint32_t	mw_rkey;
	uint32_t	rkey;
	uint32_t	access;
};

struct flush {
	uint64_t	remote_addr;
	uint32_t	length;
	uint32_t	rkey;
	uint8_t		type;
	uint8_t		level;
};

/* struct rxe_recv_wqe */
struct rwqe {
	uint64_t	wr_id;
	uint64_t	reserved;
	struct dma	dma;
};

/* struct ib_uverbs_post_send behind its header: an empty one is the doorbell */
struct doorbell {
	uint32_t	command;
	uint16_t	in_words;
	uint16_t	out_words;
	uint64_t	response;
	uint32_t	qp_handle;
	uint32_t	wr_count;
	uint32_t	sge_count;
	uint32_t	wqe_size;
};

/* A mapped queue, with what it was like before we touched it */
struct mapped {
	struct ring	*ring;
	size_t		size;
	uint32_t	shift;
	uint32_t	mask;
};

struct side {
	const char		*name;
	struct ibv_context	*context;
	struct ibv_pd		*pd;
	struct ibv_pd		*other_pd;
	struct ibv_cq		*cq;
	struct ibv_qp		*qp;
	struct ibv_srq		*srq;
	uint8_t			*memory;
	uint8_t			*canary;
	struct ibv_mr		*mr;
	struct ibv_mr		*canary_mr;
	struct ibv_mw		*mw;
	struct ibv_mw		*other_mw;	/* of the other protection domain */
	uint32_t		mw_key;		/* of the window, if the last bind was done */
	int			flush;		/* FLUSH_GLOBAL, if there is such a thing */
	union ibv_gid		gid;
	int			gid_index;
};

_Static_assert(sizeof(struct swqe) == 208, "size of a send WQE");
_Static_assert(sizeof(struct rwqe) == 40, "size of a receive WQE");

/* Numbers that have hurt somebody before */
static uint32_t nasty(void)
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 255, 256, 257, 512, 4095, 4096, 65535, 65536,
		0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff,
	};

	return one_in(4) ? (uint32_t)random64() : values[below(sizeof(values) / sizeof(*values))];
}

/* rings.c */
extern struct mapped rings[RINGS];
extern int num_rings;
extern volatile bool stop;

void die(const char *what);
double now(void);
void side_open(struct side *s, const char *name);
void pair_destroy(struct side *a, struct side *b);
void side_check(const struct side *s);
void find_rings(int expected);
bool is_send(const struct mapped *m);
void *element(const struct mapped *m, uint32_t index);
void lie(const struct mapped *m, int kind);
void ring_doorbell(const struct side *s);
/* the doorbell, and a completion with that status */
void refused(const struct side *s, uint64_t wr_id, uint32_t opcode, enum ibv_wc_status status);

/* rings-ud.c */
int datagrams(struct side *a, struct side *b, time_t end, uint64_t first_seed);

#endif /* RXE_TEST_RINGS_H */
