// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * order - what a reliable connection promises about the order of things, from rxe0 to rxe1.
 *
 *	order [-6] [-p] ITEMS [SEED]
 *
 * So many items, or as many as it has begun when it gets SIGTERM, 16 at a time, over one
 * connection (-6: over IPv6; -p: with packets of 4 KiB, and patient: it needs half a minute
 * without an answer to give up), beside each other:
 *
 *	a message	WRITE to the slot of the item, and a SEND behind it: when that is
 *			received, the slot holds the WRITE; receives come in order
 *	an overlap	two WRITEs to the slot that overlap, and a READ: it brings the bytes
 *			of the second one, and those of the first one beside them
 *	an atomic	fetch-and-add: what is fetched ascends
 *
 * Requests and receives complete in the order in which they were posted. What else is in a
 * slot does not change, so that a WRITE that is executed again, and too late, is seen. The
 * last line counts what was done; a run that has not done all three fails.
 */
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "need.h"
#include "random.h"
#include "rc.h"

enum {
	DEPTH		= 16,		/* items at a time */
	REQUESTS	= 3 * DEPTH,
	SLOT		= 8192,		/* eight packets; of a patient one, two */
	UNUSED		= 0xa5,
	LONG		= 60,		/* seconds without a completion */
	PATIENT		= 20,		/* timeout of a QP: 4.3 s, and eight times */
	ACCESS		= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

enum kind { MESSAGE, OVERLAP, ATOMIC, KINDS };

/* Where in a slot a request writes */
struct span {
	uint32_t	begin, length;
};

struct item {
	enum kind	kind;
	struct span	span[2];	/* of two WRITEs, or of WRITE and SEND */
	uint64_t	fetched;	/* must be */
	int		left;		/* completions that are to come */
};

struct side {
	struct ibv_context	*context;
	struct ibv_pd		*pd;
	struct ibv_cq		*send_cq, *recv_cq;
	struct ibv_mr		*mr;
	struct ibv_qp		*qp;
	union ibv_gid		gid;
	int			gid_index;
};

static struct {
	uint8_t		out[DEPTH][2][SLOT];
	uint8_t		back[DEPTH][SLOT];	/* by READs */
	uint64_t	fetched[DEPTH];
} near;

static struct {
	uint8_t		slot[DEPTH][SLOT];
	uint8_t		in[DEPTH][SLOT];	/* by SENDs */
	uint64_t	word;
} far;

static struct side from, to;
static struct item items[DEPTH];
static uint8_t wanted[DEPTH][SLOT];		/* in far.slot */
static uint32_t owner[REQUESTS];		/* items of requests */
static uint32_t awaited[DEPTH];			/* items of receives */
static uint64_t posted, completed, receives, received, total, bytes;
static uint32_t counts[KINDS];
static volatile sig_atomic_t enough;

static uint8_t pattern(uint32_t n, int part, uint32_t k)
{
	return n * 31 + part * 101 + k * 7 + (k >> 8);
}

static void side_open(struct side *s, const char *name, void *memory, size_t size, bool six)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = REQUESTS, .max_recv_wr = DEPTH, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	s->context = device_open(name);
	s->gid_index = gid_find(s->context, six, &s->gid);
	s->pd = ibv_alloc_pd(s->context);
	NEED(s->pd);
	s->send_cq = init.send_cq = ibv_create_cq(s->context, REQUESTS, NULL, NULL, 0);
	s->recv_cq = init.recv_cq = ibv_create_cq(s->context, DEPTH, NULL, NULL, 0);
	s->mr = ibv_reg_mr(s->pd, memory, size, ACCESS);
	NEED(s->send_cq && s->recv_cq && s->mr);
	s->qp = ibv_create_qp(s->pd, &init);
	NEED(s->qp);
}

/* --- requests ----------------------------------------------------------------- */

static void post(uint32_t n, struct ibv_send_wr *wr, void *local, uint32_t length, void *remote)
{
	struct ibv_sge sge = { (uintptr_t)local, length, from.mr->lkey };
	struct ibv_send_wr *bad;

	wr->wr_id = posted;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = (uintptr_t)remote;
		wr->wr.atomic.rkey = to.mr->rkey;
	} else if (remote) {
		wr->wr.rdma.remote_addr = (uintptr_t)remote;
		wr->wr.rdma.rkey = to.mr->rkey;
	}
	owner[posted++ % REQUESTS] = n;
	items[n % DEPTH].left++;
	bytes += length;
	NEED(!ibv_post_send(from.qp, wr, &bad));
}

static void post_write(uint32_t n, int part)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct span at = items[n % DEPTH].span[part];
	uint8_t *out = near.out[n % DEPTH][part];
	uint32_t k;

	for (k = 0; k < at.length; k++)
		out[k] = pattern(n, part, k);
	memcpy(wanted[n % DEPTH] + at.begin, out, at.length);
	post(n, &wr, out, at.length, far.slot[n % DEPTH] + at.begin);
}

static void post_message(uint32_t n)
{
	struct ibv_sge sge = { (uintptr_t)far.in[n % DEPTH], SLOT, to.mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = receives, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = n };
	struct item *item = &items[n % DEPTH];
	uint8_t *out = near.out[n % DEPTH][1];
	uint32_t k;

	awaited[receives++ % DEPTH] = n;
	item->left++;
	NEED(!ibv_post_recv(to.qp, &recv, &bad));
	post_write(n, 0);
	for (k = 0; k < item->span[1].length; k++)
		out[k] = pattern(n, 1, k);
	post(n, &wr, out, item->span[1].length, NULL);
}

static void post_overlap(uint32_t n)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ };

	memset(near.back[n % DEPTH], UNUSED, SLOT);
	post_write(n, 0);
	post_write(n, 1);
	post(n, &wr, near.back[n % DEPTH], SLOT, far.slot[n % DEPTH]);
}

static void post_atomic(uint32_t n)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };

	near.fetched[n % DEPTH] = UINT64_MAX;
	items[n % DEPTH].fetched = total;
	wr.wr.atomic.compare_add = 1 + below(1000);
	total += wr.wr.atomic.compare_add;
	post(n, &wr, &near.fetched[n % DEPTH], 8, &far.word);
}

static uint32_t some_length(uint32_t most)
{
	return 1 + below(one_in(4) && most > 64 ? 64 : most);
}

static void begin(uint32_t n)
{
	struct item *item = &items[n % DEPTH];
	struct span first, second;

	item->kind = below(KINDS);
	item->left = 0;
	memset(wanted[n % DEPTH], UNUSED, SLOT);
	first.begin = below(SLOT / 2);
	first.length = some_length(SLOT - first.begin);
	second.begin = first.begin + below(first.length);
	second.length = some_length(SLOT - second.begin);
	/* the one that begins later is the second one, or the first */
	item->span[0] = one_in(2) ? first : second;
	item->span[1] = item->span[0].begin == first.begin ? second : first;
	if (item->kind == MESSAGE)
		post_message(n);
	else if (item->kind == OVERLAP)
		post_overlap(n);
	else
		post_atomic(n);
}

/* --- completions --------------------------------------------------------------- */

static void same(uint32_t n, const char *what, const uint8_t *is, const uint8_t *must,
		 uint32_t length)
{
	uint32_t k;

	for (k = 0; k < length; k++)
		if (is[k] != must[k])
			FAIL("item %u: %s: byte %u of %u is %#x, not %#x", n, what, k, length,
			     is[k], must[k]);
}

static bool poll_receive(void)
{
	struct item *item;
	struct ibv_wc wc;
	uint32_t n;

	if (ibv_poll_cq(to.recv_cq, 1, &wc) <= 0)
		return false;
	if (wc.status || wc.opcode != IBV_WC_RECV || !(wc.wc_flags & IBV_WC_WITH_IMM))
		FAIL("a receive: %s, opcode %d", ibv_wc_status_str(wc.status), wc.opcode);
	if (wc.wr_id != received || received == receives)
		FAIL("receive %" PRIu64 " completed, %" PRIu64 " of %" PRIu64 " was due",
		     wc.wr_id, received, receives);
	n = awaited[received++ % DEPTH];
	item = &items[n % DEPTH];
	if (wc.imm_data != n || wc.byte_len != item->span[1].length)
		FAIL("receive %" PRIu64 " has the SEND of item %u, %u bytes; item %u, %u bytes, was due",
		     wc.wr_id, wc.imm_data, wc.byte_len, n, item->span[1].length);
	same(n, "received, but the WRITE before it", far.slot[n % DEPTH], wanted[n % DEPTH], SLOT);
	same(n, "what the SEND brought", far.in[n % DEPTH], near.out[n % DEPTH][1], wc.byte_len);
	item->left--;
	return true;
}

static bool poll_request(void)
{
	static uint64_t last;
	struct item *item;
	struct ibv_wc wc;
	uint64_t fetched;
	uint32_t n;

	if (ibv_poll_cq(from.send_cq, 1, &wc) <= 0)
		return false;
	if (wc.status)
		FAIL("request %" PRIu64 ": %s", wc.wr_id, ibv_wc_status_str(wc.status));
	if (wc.wr_id != completed || completed == posted)
		FAIL("request %" PRIu64 " completed, %" PRIu64 " of %" PRIu64 " was due", wc.wr_id,
		     completed, posted);
	n = owner[completed++ % REQUESTS];
	item = &items[n % DEPTH];
	if (wc.opcode == IBV_WC_RDMA_READ) {
		same(n, "what the READ brought behind two WRITEs", near.back[n % DEPTH],
		     wanted[n % DEPTH], SLOT);
		same(n, "memory behind two WRITEs", far.slot[n % DEPTH], wanted[n % DEPTH], SLOT);
	} else if (wc.opcode == IBV_WC_FETCH_ADD) {
		fetched = near.fetched[n % DEPTH];
		if (fetched != item->fetched)
			FAIL("item %u: fetched %" PRIu64 ", not %" PRIu64 ", and %" PRIu64
			     " before", n, fetched, item->fetched, last);
		last = fetched;
	}
	item->left--;
	return true;
}

static void finish(uint32_t n)
{
	same(n, "its slot, when all was done", far.slot[n % DEPTH], wanted[n % DEPTH], SLOT);
	memset(far.slot[n % DEPTH], UNUSED, SLOT);
	counts[items[n % DEPTH].kind]++;
}

static void run(uint32_t num)
{
	uint32_t begun = 0, finished = 0;
	time_t since = time(NULL);
	struct ibv_wc wc;

	memset(far.slot, UNUSED, sizeof(far.slot));
	while (finished < num) {
		if (enough)
			num = begun;
		while (begun < num && begun - finished < DEPTH)
			begin(begun++);
		/* no matter which of the two completes first */
		if (poll_receive() | poll_request())
			since = time(NULL);
		else if (time(NULL) - since > LONG)
			FAIL("no completion for %d s: %u of %u items done, %" PRIu64 " of %" PRIu64
			     " requests, %" PRIu64 " of %" PRIu64 " receives", LONG, finished, num,
			     completed, posted, received, receives);
		while (finished < begun && !items[finished % DEPTH].left)
			finish(finished++);
	}
	if (far.word != total)
		FAIL("all atomics together make %" PRIu64 ", not %" PRIu64, far.word, total);
	if (ibv_poll_cq(from.send_cq, 1, &wc) || ibv_poll_cq(to.recv_cq, 1, &wc))
		FAIL("a completion too many: of %" PRIu64, wc.wr_id);
}

static void on_term(int sig)
{
	(void)sig;
	enough = 1;
}

int main(int argc, char **argv)
{
	bool six = false;
	int option;

	while ((option = getopt(argc, argv, "6p")) >= 0) {
		if (option == '6') {
			six = true;
		} else if (option == 'p') {
			rc_mtu = IBV_MTU_4096;
			rc_timeout = PATIENT;
		} else {
			optind = argc;
		}
	}
	argc -= optind;
	argv += optind;
	if (argc < 1 || argc > 2) {
		fprintf(stderr, "usage: order [-6] [-p] ITEMS [SEED]\n");
		return 2;
	}
	signal(SIGTERM, on_term);
	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL) * 2654435761u + getpid();
	seed |= 1;
	printf("seed %" PRIu64 "\n", seed);
	fflush(stdout);
	side_open(&from, "rxe0", &near, sizeof(near), six);
	side_open(&to, "rxe1", &far, sizeof(far), six);
	rc_connect(to.qp, to.gid_index, &from.gid, from.qp->qp_num, ACCESS, 4);
	rc_connect(from.qp, from.gid_index, &to.gid, to.qp->qp_num, ACCESS, 4);
	run(strtoul(argv[0], NULL, 0));
	printf("%u messages, %u overlaps, %u atomics in order, %" PRIu64 " bytes\n",
	       counts[MESSAGE], counts[OVERLAP], counts[ATOMIC], bytes);
	return counts[MESSAGE] && counts[OVERLAP] && counts[ATOMIC] ? 0 : 1;
}
