// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rings - a process that lies to the kernel in the queues they share.
 *
 *	rings SECONDS [SEED]
 *	rings chase SECONDS
 *	rings orphan ROUNDS
 *	rings shared SECONDS [SEED]
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
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../vm/programs/random.h"

enum {
	SGES		= 4,
	INLINE		= 256,
	RECV_SGES	= 32,
	DEPTH		= 16,
	LONG_DEPTH	= 16384,
	MEMORY		= 1 << 16,
	RINGS		= 16,
	ROUND_STEPS	= 400,
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
	union ibv_gid		gid;
	int			gid_index;
};

static struct mapped rings[RINGS];
static int num_rings;
static volatile bool stop;
static uint64_t doorbells, completions, rounds, resizes;

_Static_assert(sizeof(struct swqe) == 208, "size of a send WQE");
_Static_assert(sizeof(struct rwqe) == 40, "size of a receive WQE");

static void die(const char *what)
{
	fprintf(stderr, "rings: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Numbers that have hurt somebody before */
static uint32_t nasty(void)
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 255, 256, 257, 512, 4095, 4096, 65535, 65536,
		0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff,
	};

	return one_in(4) ? (uint32_t)random64() : values[below(sizeof(values) / sizeof(*values))];
}

/* --- connections ------------------------------------------------------------ */

static void side_open(struct side *s, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

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
	memset(s->canary, 0x5a, MEMORY);
	s->mr = ibv_reg_mr(s->pd, s->memory, MEMORY, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	s->canary_mr = ibv_reg_mr(s->other_pd, s->canary, MEMORY, IBV_ACCESS_LOCAL_WRITE |
				  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!s->mr || !s->canary_mr)
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
	if (!s->qp)
		die("cannot create a queue pair");
}

static void side_connect(struct side *s, const struct side *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
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
	if (ibv_destroy_qp(s->qp) || ibv_destroy_cq(s->cq))
		die("cannot destroy");
}

static void side_check(const struct side *s)
{
	int i;

	for (i = 0; i < MEMORY; i++) {
		if (s->canary[i] != 0x5a) {
			fprintf(stderr, "rings: %s: memory of another protection domain changed\n",
				s->name);
			exit(1);
		}
	}
}

/* --- the queues, as mapped into this process ----------------------------------- */

static void find_rings(int expected)
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

static bool is_send(const struct mapped *m)
{
	return m->shift == 9;
}

static bool is_receive(const struct mapped *m)
{
	return m->shift == 10;
}

static void *element(const struct mapped *m, uint32_t index)
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

static void fill_send(struct swqe *wqe, const struct side *s, const struct side *peer)
{
	memset(wqe->rest, (int)random64(), sizeof(wqe->rest));
	wqe->wr_id = random64();
	wqe->opcode = one_in(8) ? nasty() : below(7);
	wqe->send_flags = one_in(8) ? nasty() : IBV_SEND_SIGNALED | (one_in(4) ? IBV_SEND_INLINE : 0);
	wqe->ex = random64();
	wqe->remote_addr = (uintptr_t)(one_in(12) ? peer->canary : peer->memory) + below(MEMORY);
	if (wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wqe->remote_addr &= ~7ull;
		wqe->atomic_rkey = peer->mr->rkey;
	} else {
		wqe->rkey = one_in(12) ? peer->canary_mr->rkey : peer->mr->rkey;
	}
	wqe->status = nasty();
	wqe->state = nasty();
	wqe->iova = random64();
	fill_sges(&wqe->dma, SGES, s);
	if (wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wqe->dma.num_sge = 1;
		wqe->dma.sge[0].length = 8;
	}
}

/* Noise in a queue, be it of this process or of its child: one of LIES kinds */
enum { LIES = 4 };

static void lie(const struct mapped *m, int kind)
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
static void scribble(const struct side *a, const struct side *b, bool gently)
{
	struct mapped *m = &rings[below(num_rings)];
	const struct side *s = one_in(2) ? a : b, *peer = s == a ? b : a;
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

static void ring_doorbell(const struct side *s)
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

	side_create(a, DEPTH - 1, RECV_SGES);
	side_create(b, DEPTH - 1, RECV_SGES);
	side_connect(a, b);
	side_connect(b, a);
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
	side_destroy(a);
	side_destroy(b);
	side_check(a);
	side_check(b);
	rounds++;
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

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int chase(struct side *a, struct side *b, int limit)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct mapped *receives = NULL;
	pthread_t thread;
	double start, took;
	int i;

	/* so long that a thread which pauses is not caught up with */
	side_create(a, LONG_DEPTH - 1, RECV_SGES);
	side_create(b, LONG_DEPTH - 1, RECV_SGES);
	side_connect(a, b);
	side_connect(b, a);
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

	side_create(a, DEPTH - 1, RECV_SGES);
	side_create(b, DEPTH - 1, RECV_SGES);
	side_connect(a, b);
	side_connect(b, a);
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
	side_destroy(a);
	side_destroy(b);
	/* others take their place, perhaps their memory */
	side_create(a, DEPTH - 1, RECV_SGES);
	side_create(b, DEPTH - 1, RECV_SGES);
	side_connect(a, b);
	side_connect(b, a);
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
	side_destroy(a);
	side_destroy(b);
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
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
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
		side_create(&from[i], 1, 1);
		side_create(&to[i], 1, 1);
		side_connect(&from[i], &to[i]);
		side_connect(&to[i], &from[i]);
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
	for (i = 0; i < 2; i++) {
		side_destroy(&from[i]);
		side_destroy(&to[i]);
	}
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
	while (time(NULL) < end || !rounds)
		shared_round(a, b);
	printf("%" PRIu64 " rounds, %" PRIu64 " receives, %" PRIu64 " resizes\n", rounds, completions,
	       resizes);
	return completions && resizes ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct side a = {}, b = {};
	bool share = false;
	time_t end;

	if (argc < 2) {
		fprintf(stderr, "usage: rings SECONDS [SEED] | rings chase SECONDS | rings orphan ROUNDS | "
			"rings shared SECONDS [SEED]\n");
		return 2;
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
	if (!strcmp(argv[1], "shared") && argc > 2) {
		share = true;
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
	if (share)
		return shared(&a, &b, end);
	while (time(NULL) < end || !rounds)
		one_round(&a, &b);
	printf("%" PRIu64 " rounds, %" PRIu64 " doorbells, %" PRIu64 " completions\n",
	       rounds, doorbells, completions);
	return doorbells && completions ? 0 : 1;
}
