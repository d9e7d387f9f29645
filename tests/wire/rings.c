// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rings - a process that lies to the kernel in the queues they share.
 *
 *	rings SECONDS [SEED]
 *	rings chase SECONDS
 *	rings orphan ROUNDS
 *	rings shared SECONDS [SEED]
 *	rings ud SECONDS [SEED]
 *	rings opcodes
 *
 * Makes real connections between rxe0 and rxe1, finds the queues that libibverbs
 * has mapped, and from then on fills them by itself: work requests with counts,
 * lengths, opcodes and keys of any value, indices that jump, headers overwritten,
 * while another thread changes them again and the kernel works on them.
 *
 * What must hold: the kernel survives (its log is the caller's to check), no byte
 * changes in memory that the queue pairs may not reach, and it ends. The last
 * line counts what was done; a run that completed nothing has tested nothing.
 *
 * "chase" puts a queue pair into the error state, where receives are flushed, and
 * posts another receive for each one that the kernel takes, for ever: modifying
 * and destroying the queue pair must not wait for an end that never comes.
 *
 * "orphan" keeps the mappings in a child, which writes to them long after the
 * parent has destroyed the queues and made others.
 *
 * "shared" lies in a shared receive queue: a child writes to its ring while messages
 * to two queue pairs take receives from it, and while the parent resizes it and sets
 * its limit. Children are killed in the middle of it.
 *
 * "ud" lies about where datagrams go: see rings-ud.c.
 *
 * "opcodes" tells no lies but one: each request that user space may not make, or that nobody
 * has defined, completes with an error.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rings.h"

struct mapped rings[RINGS];
int num_rings;
volatile bool stop;
static uint64_t doorbells, completions, rounds, resizes;

void die(const char *what)
{
	fprintf(stderr, "rings: %s: %s\n", what, strerror(errno));
	exit(1);
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* --- connections ------------------------------------------------------------ */

void side_open(struct side *s, const char *name)
{
	int access = IBV_ACCESS_LOCAL_WRITE | REMOTE | IBV_ACCESS_MW_BIND, i;
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			s->context = ibv_open_device(list[i]);
	if (!s->context)
		die("cannot open the device");
	s->name = name;
	s->pd = ibv_alloc_pd(s->context);
	s->other_pd = ibv_alloc_pd(s->context);
	s->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	s->canary = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(s->canary, CANARY, MEMORY);
	s->flush = FLUSH_GLOBAL;
	s->mr = ibv_reg_mr(s->pd, s->memory, MEMORY, access | s->flush);
	if (!s->mr) {
		s->flush = 0;
		s->mr = ibv_reg_mr(s->pd, s->memory, MEMORY, access);
	}
	s->canary_mr = ibv_reg_mr(s->other_pd, s->canary, MEMORY, IBV_ACCESS_LOCAL_WRITE |
				  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	s->other_mw = ibv_alloc_mw(s->other_pd, IBV_MW_TYPE_2);
	if (!s->mr || !s->canary_mr || !s->other_mw)
		die("cannot register memory");
	for (i = 0; i < 8; i++)
		if (!ibv_query_gid(s->context, 1, i, &s->gid) && !s->gid.global.subnet_prefix &&
		    s->gid.raw[10] == 0xff && s->gid.raw[11] == 0xff)
			break;
	if (i == 8)
		die("no IPv4 GID");
	s->gid_index = i;
}

static void side_create(struct side *s, uint32_t receives, uint32_t receive_sges)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = DEPTH - 1, .max_recv_wr = receives, .max_send_sge = SGES,
			 .max_recv_sge = receive_sges, .max_inline_data = INLINE },
		.srq = s->srq,
	};

	s->cq = ibv_create_cq(s->context, 4 * DEPTH, NULL, NULL, 0);
	init.send_cq = init.recv_cq = s->cq;
	s->qp = s->cq ? ibv_create_qp(s->pd, &init) : NULL;
	s->mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2);
	if (!s->qp || !s->mw)
		die("cannot create a queue pair");
	s->mw_key = s->mw->rkey;
}

static void side_connect(struct side *s, const struct side *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = REMOTE | s->flush,
	};

	if (ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		die("INIT");
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = peer->qp->qp_num;
	attr.max_dest_rd_atomic = 4;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = peer->gid;
	attr.ah_attr.grh.sgid_index = s->gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	attr.min_rnr_timer = 1;
	if (ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		die("RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 8;
	attr.retry_cnt = 2;
	attr.rnr_retry = 3;
	attr.max_rd_atomic = 4;
	if (ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTS");
}

static void side_destroy(struct side *s)
{
	if (ibv_destroy_qp(s->qp) || ibv_destroy_cq(s->cq) || (s->mw && ibv_dealloc_mw(s->mw)))
		die("cannot destroy");
}

/* a queue pair of each, connected */
static void pair_create(struct side *a, struct side *b, uint32_t receives, uint32_t receive_sges)
{
	side_create(a, receives, receive_sges);
	side_create(b, receives, receive_sges);
	side_connect(a, b);
	side_connect(b, a);
}

void pair_destroy(struct side *a, struct side *b)
{
	side_destroy(a);
	side_destroy(b);
}

void side_check(const struct side *s)
{
	int i;

	for (i = 0; i < MEMORY; i++) {
		if (s->canary[i] != CANARY) {
			fprintf(stderr, "rings: %s: memory of another protection domain changed\n",
				s->name);
			exit(1);
		}
	}
}

/* --- the queues, as mapped into this process ----------------------------------- */

void find_rings(int expected)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];

	num_rings = 0;
	while (maps && fgets(line, sizeof(line), maps) && num_rings < RINGS) {
		struct mapped *m = &rings[num_rings];

		if (!strstr(line, "/uverbs") || !strstr(line, "rw-s") ||
		    sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		m->ring = (struct ring *)from;
		m->size = to - from;
		m->shift = m->ring->log2_elem_size;
		m->mask = m->ring->index_mask;
		num_rings++;
	}
	if (maps)
		fclose(maps);
	if (num_rings != expected) {
		fprintf(stderr, "rings: %d mapped queues instead of %d\n", num_rings, expected);
		exit(1);
	}
}

bool is_send(const struct mapped *m)
{
	return m->shift == 9;
}

static bool is_receive(const struct mapped *m)
{
	return m->shift == 10;
}

void *element(const struct mapped *m, uint32_t index)
{
	return m->ring->data + ((size_t)(index & m->mask) << m->shift);
}

static void fill_sges(struct dma *dma, uint32_t max, const struct side *s)
{
	uint32_t i;

	dma->num_sge = one_in(6) ? nasty() : below(max + 1);
	dma->length = one_in(4) ? nasty() : below(4096);
	dma->resid = nasty();
	dma->cur_sge = nasty();
	dma->sge_offset = nasty();
	for (i = 0; i < max; i++) {
		dma->sge[i].addr = (uintptr_t)(one_in(12) ? s->canary : s->memory) + below(MEMORY);
		if (one_in(16))
			dma->sge[i].addr = random64();
		dma->sge[i].length = one_in(10) ? nasty() : below(3000);
		dma->sge[i].lkey = one_in(12) ? s->canary_mr->lkey : s->mr->lkey;
	}
}

/* An rkey of the peer: mostly that of its memory. */
static uint32_t peer_key(const struct side *peer)
{
	switch (below(16)) {
	case 0:
		return peer->canary_mr->rkey;
	case 1:
		return peer->other_mw->rkey;
	case 2:
		return peer->mw_key;
	default:
		return peer->mr->rkey;
	}
}

/* What of ours is to be invalidated, or of the peer's: windows, memory, others' windows */
static uint32_t invalid_key(const struct side *s)
{
	if (!one_in(3))
		return s->mw_key;
	switch (below(4)) {
	case 0:
		return s->other_mw->rkey;
	case 1:
		return s->mr->rkey;
	case 2:
		return s->mw_key ^ 1 << below(32);
	default:
		return nasty();
	}
}

static void fill_bind(struct bind *bind, struct side *s)
{
	bind->addr = (uintptr_t)s->memory + below(MEMORY);
	bind->length = one_in(8) ? random64() : below(MEMORY);
	if (one_in(8))
		bind->addr = one_in(2) ? (uintptr_t)s->canary : random64();
	bind->mr_lkey = one_in(12) ? s->canary_mr->lkey : s->mr->lkey;
	bind->mw_rkey = one_in(12) ? s->other_mw->rkey : s->mw_key;
	bind->rkey = one_in(8) ? nasty() : (s->mw_key & ~0xffu) | below(256);
	bind->access = one_in(8) ? nasty() : REMOTE;
	if (one_in(16))
		bind->mw_rkey = nasty();
	else
		s->mw_key = (s->mw_key & ~0xffu) | (bind->rkey & 0xff);
}

static void fill_flush(struct flush *flush, const struct side *peer)
{
	flush->length = nasty();
	flush->rkey = peer_key(peer);
	flush->type = one_in(8) ? nasty() : 1;
	flush->level = one_in(8) ? nasty() : below(2);
}

static void fill_send(struct swqe *wqe, struct side *s, const struct side *peer)
{
	memset(wqe->rest, (int)random64(), sizeof(wqe->rest));
	wqe->wr_id = random64();
	/* half of them of the plain ones: after an error nothing is executed any more */
	wqe->opcode = one_in(2) ? below(OPCODES) : below(7);
	if (one_in(16))
		wqe->opcode = one_in(2) ? nasty() : WR_REG_MR;
	wqe->send_flags = one_in(8) ? nasty() : IBV_SEND_SIGNALED | (one_in(4) ? IBV_SEND_INLINE : 0);
	wqe->ex = random64();
	wqe->remote_addr = (uintptr_t)(one_in(12) ? peer->canary : peer->memory) + below(MEMORY);
	wqe->rkey = peer_key(peer);
	wqe->status = nasty();
	wqe->state = nasty();
	wqe->iova = random64();
	fill_sges(&wqe->dma, SGES, s);
	switch (wqe->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wqe->remote_addr &= ~7ull;
		wqe->atomic_rkey = peer_key(peer);
		wqe->dma.num_sge = 1;
		wqe->dma.sge[0].length = 8;
		break;
	case WR_ATOMIC_WRITE:
		wqe->remote_addr &= ~7ull;
		break;
	case WR_FLUSH:
		fill_flush((struct flush *)&wqe->remote_addr, peer);
		break;
	case IBV_WR_BIND_MW:
		fill_bind((struct bind *)&wqe->remote_addr, s);
		break;
	case IBV_WR_LOCAL_INV:
	case IBV_WR_SEND_WITH_INV:
		wqe->ex = invalid_key(wqe->opcode == IBV_WR_LOCAL_INV ? s : peer);
		break;
	}
}

/* Noise in a queue, be it of this process or of its child: one of LIES kinds */
void lie(const struct mapped *m, int kind)
{
	switch (kind) {
	case 0:
		((uint32_t *)m->ring)[below(m->size / 4)] = nasty();
		break;
	case 1:
		m->ring->producer = nasty();
		break;
	case 2:
		m->ring->consumer = nasty();
		break;
	default:
		m->ring->log2_elem_size = nasty();
		m->ring->index_mask = nasty();
	}
}

/* A receive that is nearly right */
static void lie_receive(const struct mapped *m, const struct side *s)
{
	fill_sges(&((struct rwqe *)element(m, m->ring->producer))->dma, RECV_SGES, s);
	m->ring->producer = (m->ring->producer + 1) & m->mask;
}

/* One lie: mostly a request that is nearly right, sometimes plain noise. */
static void scribble(struct side *a, struct side *b, bool gently)
{
	struct mapped *m = &rings[below(num_rings)];
	struct side *s = one_in(2) ? a : b, *peer = s == a ? b : a;
	int kind = below(gently ? 12 : 8);

	if (kind < LIES) {
		lie(m, kind);
	} else if (is_send(m)) {
		fill_send(element(m, m->ring->producer), s, peer);
		m->ring->producer = (m->ring->producer + 1) & m->mask;
	} else if (is_receive(m)) {
		lie_receive(m, s);
	} else {
		completions += (m->ring->producer - m->ring->consumer) & m->mask;
		m->ring->consumer = m->ring->producer;
	}
}

void ring_doorbell(const struct side *s)
{
	uint32_t response[2];
	struct doorbell cmd = {
		.command = 28, /* IB_USER_VERBS_CMD_POST_SEND */
		.in_words = sizeof(cmd) / 4,
		.out_words = sizeof(response) / 4,
		.response = (uintptr_t)response,
		.qp_handle = s->qp->handle,
		.wqe_size = sizeof(struct ibv_send_wr),
	};

	/* any answer is fine, as long as there is one */
	if (write(s->context->cmd_fd, &cmd, sizeof(cmd)) == sizeof(cmd))
		doorbells++;
}

void refused(const struct side *s, uint64_t wr_id, uint32_t opcode, enum ibv_wc_status status)
{
	double end = now() + PATIENCE;
	struct ibv_wc wc;

	ring_doorbell(s);
	while (!ibv_poll_cq(s->cq, 1, &wc)) {
		if (now() > end) {
			fprintf(stderr, "rings: %s: opcode %#x: nothing completes\n", s->name, opcode);
			exit(1);
		}
	}
	if (wc.status == status && wc.wr_id == wr_id)
		return;
	fprintf(stderr, "rings: %s: opcode %#x: %s\n", s->name, opcode, ibv_wc_status_str(wc.status));
	exit(1);
}

struct work {
	const struct side	*a, *b;
	uint64_t		seed;
};

static void *scribbler(void *arg)
{
	const struct work *w = arg;

	seed = w->seed;
	while (!stop) {
		struct mapped *m = &rings[below(num_rings)];

		/* what is in the queue changes under the kernel's hands */
		((uint32_t *)m->ring)[below(m->size / 4)] = one_in(2) ? nasty() : 0;
		if (one_in(64))
			sched_yield();
		if (one_in(16))
			usleep(1);
	}
	return NULL;
}

static void one_round(struct side *a, struct side *b)
{
	struct work w = { .a = a, .b = b, .seed = random64() | 1 };
	bool threaded = rounds & 1;
	pthread_t thread;
	int i;

	pair_create(a, b, DEPTH - 1, RECV_SGES);
	find_rings(PAIR_RINGS);
	stop = false;
	if (threaded && pthread_create(&thread, NULL, scribbler, &w))
		die("pthread_create");
	for (i = 0; i < ROUND_STEPS; i++) {
		scribble(a, b, rounds % 4 < 2);
		if (one_in(3))
			ring_doorbell(one_in(2) ? a : b);
	}
	stop = true;
	if (threaded)
		pthread_join(thread, NULL);
	pair_destroy(a, b);
	side_check(a);
	side_check(b);
	rounds++;
}

/* Both sides post one request, with one SGE if it has a length; it is the last of each. */
static void refused_by_both(struct side *a, struct side *b, uint32_t opcode, uint32_t length,
			    enum ibv_wc_status status)
{
	int j;

	pair_create(a, b, DEPTH - 1, RECV_SGES);
	find_rings(PAIR_RINGS);
	for (j = 0; j < PAIR_RINGS; j++) {
		struct swqe *wqe = element(&rings[j], 0);

		if (!is_send(&rings[j]))
			continue;
		/* nothing else is wrong with it */
		wqe->wr_id = opcode;
		wqe->opcode = opcode;
		wqe->send_flags = IBV_SEND_SIGNALED;
		wqe->dma.length = length;
		wqe->dma.num_sge = length ? 1 : 0;
		wqe->dma.sge[0].length = length;
		rings[j].ring->producer = 1;
	}
	refused(a, opcode, opcode, status);
	refused(b, opcode, opcode, status);
	pair_destroy(a, b);
}

/* Requests that are none, and of more than 2 GiB: by one SGE, or of the peer's memory. */
static int opcodes(struct side *a, struct side *b)
{
	static const uint32_t none[] = {
		10, 11, 12, 13, 16, 17, 0x20, 0x7f, 0x80, WR_REG_MR, WR_REG_MR | 0x100, 0xff, 0x100,
		0x100 | IBV_WR_SEND, 0x100 | IBV_WR_BIND_MW, 0x80000000 | IBV_WR_RDMA_READ, 0xffffffff,
	};
	static const struct { uint32_t opcode, length; } longer[] = {
		{ IBV_WR_SEND, 0x80000001 }, { IBV_WR_SEND, 0xffffffbf }, { IBV_WR_SEND, 0xffffffc0 },
		{ IBV_WR_SEND, 0xffffffc1 }, { IBV_WR_SEND, 0xffffffff },
		{ IBV_WR_RDMA_WRITE, 0xffffffc0 }, { IBV_WR_RDMA_READ, 0xffffffc0 },
		{ WR_FLUSH, 0xffffffc0 }, { WR_FLUSH, 0xffffffff },
	};
	unsigned int i, j;

	for (i = 0; i < sizeof(none) / sizeof(*none); i++)
		refused_by_both(a, b, none[i], 0, IBV_WC_LOC_QP_OP_ERR);
	for (j = 0; j < sizeof(longer) / sizeof(*longer); j++)
		refused_by_both(a, b, longer[j].opcode, longer[j].length, IBV_WC_LOC_LEN_ERR);
	printf("%u opcodes and %u lengths refused\n", i, j);
	return 0;
}

static void *chaser(void *arg)
{
	const struct mapped *m = arg;
	struct ring *ring = m->ring;

	while (!stop)
		__atomic_store_n(&ring->producer,
				 (__atomic_load_n(&ring->consumer, __ATOMIC_RELAXED) - 1) & m->mask,
				 __ATOMIC_RELAXED);
	return NULL;
}

static int chase(struct side *a, struct side *b, int limit)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct mapped *receives = NULL;
	pthread_t thread;
	double start, took;
	int i;

	/* so long that a thread which pauses is not caught up with */
	pair_create(a, b, LONG_DEPTH - 1, RECV_SGES);
	find_rings(PAIR_RINGS);
	for (i = 0; i < num_rings; i++)
		if (is_receive(&rings[i]))
			receives = &rings[i];
	if (!receives || pthread_create(&thread, NULL, chaser, receives))
		die("cannot start to chase");
	usleep(100000);
	start = now();
	for (i = 0; i < 2; i++)
		if (ibv_modify_qp(i ? a->qp : b->qp, &attr, IBV_QP_STATE))
			die("ERR");
	took = now() - start;
	usleep(500000);
	stop = true;
	printf("error state after %.1f s\n", took);
	fflush(stdout);
	start = now();
	pthread_join(thread, NULL);
	ibv_destroy_qp(a->qp);
	ibv_destroy_qp(b->qp);
	printf("destroyed after %.1f s\n", now() - start);
	return took > limit || now() - start > limit;
}

static void orphan(struct side *a, struct side *b)
{
	int status, i, j;
	pid_t child;

	pair_create(a, b, DEPTH - 1, RECV_SGES);
	find_rings(PAIR_RINGS);
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		for (i = 0; i < 20; i++) {
			for (j = 0; j < num_rings; j++)
				memset(rings[j].ring, (int)random64(), rings[j].size);
			usleep(5000);
		}
		_exit(0);
	}
	usleep(below(20000));
	ring_doorbell(a);
	pair_destroy(a, b);
	/* others take their place, perhaps their memory */
	pair_create(a, b, DEPTH - 1, RECV_SGES);
	if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "rings: the child cannot write to its mappings\n");
		exit(1);
	}
	find_rings(PAIR_RINGS);
	for (i = 0; i < num_rings; i++) {
		if (rings[i].shift > 10 || rings[i].ring->producer) {
			fprintf(stderr, "rings: a new queue has the marks of an old one\n");
			exit(1);
		}
	}
	pair_destroy(a, b);
}

/* --- a shared receive queue ------------------------------------------------------ */

static struct mapped find_shared(void)
{
	struct mapped found = {};
	int i;

	find_rings(SHARED_RINGS);
	/* only its elements have room for so many SGEs */
	for (i = 0; i < num_rings; i++)
		if (is_receive(&rings[i]))
			found = rings[i];
	if (!found.ring)
		die("the shared receive queue is not mapped");
	return found;
}

/* A process that has the queue mapped, and posts to it what it likes. */
static pid_t liar_start(const struct mapped *m, const struct side *s)
{
	uint64_t child_seed = random64() | 1;
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		die("fork");
	if (child)
		return child;
	/* told of its parent's death from here on: it may have died before */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	seed = child_seed;
	for (;;) {
		int kind = below(12);

		if (kind < LIES)
			lie(m, kind);
		else
			lie_receive(m, s);
		if (one_in(32))
			usleep(1);
	}
}

static void liar_end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* An honest message to who shares the receives; the queue pair may be in error. */
static void message(const struct side *a, const struct side *b)
{
	struct ibv_sge sge = { (uintptr_t)a->memory, below(one_in(4) ? 4000 : 100), a->mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = one_in(3) ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)b->memory, .rkey = b->mr->rkey },
	}, *bad;

	ibv_post_send(a->qp, &wr, &bad);
}

/* Completions of a side; whether its queue pair is in order. */
static bool works(const struct side *s, bool count)
{
	struct ibv_wc wc;
	bool good = true;

	while (ibv_poll_cq(s->cq, 1, &wc) > 0) {
		good = good && wc.status == IBV_WC_SUCCESS;
		completions += count && wc.status == IBV_WC_SUCCESS;
	}
	return good;
}

/* Another length, which is refused if so many receives seem to be posted, or a limit. */
static void shared_modify(struct side *b, struct mapped *m, pid_t *child)
{
	struct ibv_srq_attr attr = { .max_wr = 1 + below(64), .srq_limit = below(80) };

	if (!one_in(4)) {
		ibv_modify_srq(b->srq, &attr, IBV_SRQ_LIMIT);
		return;
	}
	if (ibv_modify_srq(b->srq, &attr, IBV_SRQ_MAX_WR))
		return;
	resizes++;
	liar_end(*child);
	*m = find_shared();
	*child = liar_start(m, b);
}

static void shared_round(struct side *a, struct side *b)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = DEPTH - 1, .max_sge = RECV_SGES } };
	struct side from[2], to[2];
	bool alive[2] = { true, true };
	struct mapped m;
	pid_t child;
	int i, j;

	b->srq = ibv_create_srq(b->pd, &init);
	if (!b->srq)
		die("cannot create a shared receive queue");
	for (i = 0; i < 2; i++) {
		from[i] = *a;
		to[i] = *b;
		pair_create(&from[i], &to[i], 1, 1);
	}
	m = find_shared();
	child = liar_start(&m, b);
	for (i = 0; i < ROUND_STEPS && (alive[0] || alive[1]); i++) {
		for (j = 0; j < 2; j++) {
			message(&from[j], &to[j]);
			alive[j] = works(&from[j], false) && works(&to[j], true) && alive[j];
		}
		if (one_in(8))
			shared_modify(b, &m, &child);
	}
	/* destroyed under its hands, or after its death */
	if (rounds & 1)
		liar_end(child);
	for (i = 0; i < 2; i++)
		pair_destroy(&from[i], &to[i]);
	if (ibv_destroy_srq(b->srq))
		die("cannot destroy the shared receive queue");
	b->srq = NULL;
	if (!(rounds & 1))
		liar_end(child);
	side_check(a);
	side_check(b);
	rounds++;
}

static int shared(struct side *a, struct side *b, time_t end)
{
	/* one request in a hundred or so resizes: on a slow kernel that may take longer */
	while (time(NULL) < end || ((!completions || !resizes) && time(NULL) < end + 60))
		shared_round(a, b);
	printf("%" PRIu64 " rounds, %" PRIu64 " receives, %" PRIu64 " resizes\n", rounds, completions,
	       resizes);
	return completions && resizes ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct side a = {}, b = {};
	const char *mode = "";
	time_t end;

	if (argc < 2) {
		fprintf(stderr, "usage: rings [shared|ud] SECONDS [SEED] | rings chase SECONDS | "
			"rings orphan ROUNDS | rings opcodes\n");
		return 2;
	}
	if (!strcmp(argv[1], "opcodes")) {
		side_open(&a, "rxe0");
		side_open(&b, "rxe1");
		return opcodes(&a, &b);
	}
	if (!strcmp(argv[1], "chase")) {
		side_open(&a, "rxe0");
		side_open(&b, "rxe1");
		return chase(&a, &b, argc > 2 ? atoi(argv[2]) : 5);
	}
	if (!strcmp(argv[1], "orphan")) {
		side_open(&a, "rxe0");
		side_open(&b, "rxe1");
		seed = 1;
		for (rounds = argc > 2 ? atoi(argv[2]) : 10; rounds; rounds--)
			orphan(&a, &b);
		return 0;
	}
	if ((!strcmp(argv[1], "shared") || !strcmp(argv[1], "ud")) && argc > 2) {
		mode = argv[1];
		argv++;
		argc--;
	}
	end = time(NULL) + atoi(argv[1]);
	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 2654435761u;
	seed |= 1;
	printf("seed %" PRIu64 "\n", seed);
	fflush(stdout);
	side_open(&a, "rxe0");
	side_open(&b, "rxe1");
	if (!strcmp(mode, "shared"))
		return shared(&a, &b, end);
	if (!strcmp(mode, "ud"))
		return datagrams(&a, &b, end, random64() | 1);
	while (time(NULL) < end || !rounds)
		one_round(&a, &b);
	printf("%" PRIu64 " rounds, %" PRIu64 " doorbells, %" PRIu64 " completions\n",
	       rounds, doorbells, completions);
	return doorbells && completions ? 0 : 1;
}
