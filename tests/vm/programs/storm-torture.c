// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * storm-torture.c - requests of all kinds, on all transports, while what they need goes.
 *
 * Each pair of queue pairs draws a transport, RC or UC, and whether it receives from the
 * queue that its side shares, each time it is created; the last one is UD, and its address
 * handles come and go while its SENDs leave. Memory windows are bound, written through,
 * invalidated and deallocated meanwhile. Errors of requests are what is to be expected here,
 * errors of verbs are not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "random.h"
#include "storm.h"

enum {
	SHARED		= 64,		/* receives in a shared queue */
	WINDOWS		= 4,		/* of a side: as many of type 1 as of type 2 */
	HANDLES		= 4,		/* address handles of a side */
	DATAGRAM	= 1024,		/* most datagrams are not longer */
};

/* What is counted; bits of a wr_id, but for the handles, which no request is about. */
enum what { ON_RC, ON_UC, ON_UD, BY_SHARED, BOUND, THROUGH, INVALIDATED, WHATS, HANDLED = WHATS };

static const char *const names[] = {
	"on RC", "on UC", "on UD", "from shared queues", "windows bound", "requests through them",
	"invalidations", "address handles",
};

static uint64_t done[HANDLED + 1];

/* What the transport does not know: it must not succeed. */
#define FORBIDDEN	(1u << 16)

/* Two queue pairs, connected with each other */
struct pair {
	struct ibv_qp	*qp[2];
	bool		shared;		/* receives from the queue of its side */
	bool		broken;		/* a request has failed */
};

struct window {
	struct ibv_mw	*mw;
	struct pair	*pair;		/* whose queue pair was to bind it, or NULL */
	uint64_t	addr;
	uint32_t	length;
	uint32_t	serial;		/* of the bind, in the upper half of its wr_id */
	bool		posted;		/* the bind is, and not done yet */
	bool		bound;		/* it is done */
	bool		ended;		/* the peer was to invalidate it */
};

/* Beyond what a side is to all of storm */
static struct extra {
	struct ibv_srq	*srq;
	struct ibv_mr	*mr;		/* what windows are bound to */
	struct ibv_ah	*ah[HANDLES];
	struct window	windows[WINDOWS];
} extras[2];

static struct pair *pairs_known;
static int num_known;		/* the last one is UD */

/* Those of both sides have numbers. */
static struct window *window(int i)
{
	return &extras[i / WINDOWS].windows[i % WINDOWS];
}

static bool is_ud(const struct pair *p)
{
	return p == &pairs_known[num_known - 1];
}

static uint64_t what_of(const struct pair *p)
{
	if (is_ud(p))
		return 1 << ON_UD;
	return p->qp[0]->qp_type == IBV_QPT_UC ? 1 << ON_UC : 1 << ON_RC;
}

static void window_bound(uint32_t serial)
{
	int i;

	for (i = 0; i < 2 * WINDOWS; i++) {
		if (window(i)->posted && window(i)->serial == serial) {
			window(i)->bound = true;
			window(i)->posted = false;
		}
	}
}

static void look(const struct ibv_wc *wc)
{
	struct pair *p;
	int what;

	if (!wc->status) {
		if (wc->wr_id & FORBIDDEN) {
			fprintf(stderr, "storm: what UC does not know succeeded\n");
			exit(WRONG);
		}
		if (wc->wr_id & 1 << BOUND)
			window_bound(wc->wr_id >> 32);
		for (what = 0; what < WHATS; what++)
			done[what] += wc->wr_id >> what & 1;
		return;
	}
	for (p = pairs_known; p < pairs_known + num_known; p++)
		if (p->qp[0] && (p->qp[0]->qp_num == wc->qp_num || p->qp[1]->qp_num == wc->qp_num))
			p->broken = true;
}

/* --- memory windows ------------------------------------------------------------ */

/* Whatever state it is in */
static void window_anew(struct side *s, struct window *w)
{
	enum ibv_mw_type type = w->mw->type;

	must(ibv_dealloc_mw(w->mw), "dealloc_mw");
	*w = (struct window){ .mw = ibv_alloc_mw(s->pd, type) };
	if (!w->mw)
		die("alloc_mw");
}

/* Its queue pairs have gone, or do not execute what was posted. */
static void windows_of(const struct pair *p)
{
	int i;

	for (i = 0; i < 2 * WINDOWS; i++)
		if (window(i)->pair == p)
			window_anew(&sides[i / WINDOWS], window(i));
}

static void window_bind(int s, struct pair *p, struct window *w)
{
	static uint32_t serial;
	uint64_t addr = (uintptr_t)sides[s].memory + below(MEMORY - LONGEST);
	struct ibv_mw_bind_info info = {
		.mr = extras[s].mr, .addr = addr, .length = 8 + below(LONGEST - 8),
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};
	uint64_t wr_id = what_of(p) | 1 << BOUND | (uint64_t)(serial + 1) << 32;
	struct ibv_mw_bind bind = { .wr_id = wr_id, .bind_info = info };
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = w->mw, .rkey = ibv_inc_rkey(w->mw->rkey), .bind_info = info },
	}, *bad;

	if (w->mw->type == IBV_MW_TYPE_1) {
		if (ibv_bind_mw(p->qp[s], w->mw, &bind))
			return;
	} else {
		if (ibv_post_send(p->qp[s], &wr, &bad))
			return;
		w->mw->rkey = wr.bind_mw.rkey;
	}
	w->pair = p;
	w->addr = addr;
	w->length = info.length;
	w->serial = ++serial;
	w->posted = true;
	w->bound = false;
}

/* By its own queue pair, or by the peer's; UC has no SEND for that. */
static void window_invalidate(int s, struct pair *p, struct window *w)
{
	bool peer = p->qp[0]->qp_type == IBV_QPT_RC && one_in(2);
	struct ibv_send_wr wr = {
		.wr_id = what_of(p) | 1 << INVALIDATED,
		.opcode = peer ? IBV_WR_SEND_WITH_INV : IBV_WR_LOCAL_INV,
		.invalidate_rkey = w->mw->rkey,
	}, *bad;

	if (ibv_post_send(p->qp[peer ? !s : s], &wr, &bad))
		return;
	w->bound = false;
	w->ended = peer;
}

/* One of those of the side goes one step further, as a rule by the pair that has it. */
static void window_step(int s, struct pair *p)
{
	struct window *w = &extras[s].windows[below(WINDOWS)];

	if (w->ended || one_in(16))
		window_anew(&sides[s], w);
	if (w->pair)
		p = w->pair;
	if (is_ud(p))
		return;
	if (w->posted)
		return;
	if (w->bound && w->mw->type == IBV_MW_TYPE_2)
		window_invalidate(s, p, w);
	else
		window_bind(s, p, w);
}

/* The range that the peer allows by a window that this pair has bound; often. */
static bool window_of_peer(int peer, const struct pair *p, struct ibv_send_wr *wr)
{
	uint32_t first = below(WINDOWS);
	struct window *w;
	int i;

	for (i = 0; i < WINDOWS; i++) {
		w = &extras[peer].windows[(first + i) % WINDOWS];
		/* what is not bound yet, or no more, is refused; the pair breaks */
		if (w->pair == p && (w->bound || one_in(8)))
			break;
	}
	if (i == WINDOWS)
		return false;
	wr->wr.rdma.remote_addr = w->addr;
	wr->wr.rdma.rkey = w->mw->rkey;
	if (wr->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr->wr.atomic.remote_addr = (w->addr + 7) & ~7ull;
		wr->wr.atomic.rkey = w->mw->rkey;
		if (w->length < 16)
			return false;
	} else {
		wr->num_sge = 1;
		if (wr->sg_list[0].length > w->length)
			wr->sg_list[0].length = w->length;
	}
	wr->wr_id |= 1 << THROUGH;
	return true;
}

static void window_memory(struct side *s, struct extra *e)
{
	e->mr = ibv_reg_mr(s->pd, s->memory, MEMORY, ACCESS | IBV_ACCESS_MW_BIND | on_demand);
	if (!e->mr)
		die("reg_mr for windows");
}

/* What windows are bound to goes with them; as long as one is left it may not. */
static void window_memory_anew(int s)
{
	struct extra *e = &extras[s];
	int i, err;

	err = ibv_dereg_mr(e->mr);
	if (err) {
		if (err != EBUSY)
			must(err, "dereg_mr below windows");
		for (i = 0; i < WINDOWS; i++)
			window_anew(&sides[s], &e->windows[i]);
		must(ibv_dereg_mr(e->mr), "dereg_mr without windows");
	}
	window_memory(&sides[s], e);
}

/* --- requests ------------------------------------------------------------------- */

static void extra_open(struct side *s, struct extra *e)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = SHARED, .max_sge = SGES } };
	int i;

	e->srq = ibv_create_srq(s->pd, &init);
	if (!e->srq)
		die("create_srq");
	for (i = 0; i < WINDOWS; i++) {
		e->windows[i].mw = ibv_alloc_mw(s->pd, i & 1 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
		if (!e->windows[i].mw)
			die("alloc_mw");
	}
	window_memory(s, e);
}

static void fill_sges(struct side *s, struct ibv_sge *sge, int n, uint32_t most)
{
	while (n--) {
		sge[n].addr = (uintptr_t)s->memory + below(MEMORY - LONGEST);
		sge[n].length = below(one_in(4) ? most : most / 16 + 1);
		sge[n].lkey = one_in(200) ? (uint32_t)random64() : s->mr->lkey;
	}
}

static void post_send(int from, struct pair *p)
{
	struct side *s = &sides[from], *peer = &sides[!from];
	bool uc = p->qp[0]->qp_type == IBV_QPT_UC;
	struct ibv_sge sge[SGES];
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 1 + below(SGES) }, *bad;
	bool through;

	wr.wr_id = what_of(p);
	wr.opcode = below(uc && !one_in(300) ? IBV_WR_RDMA_READ : IBV_WR_ATOMIC_FETCH_AND_ADD + 1);
	if (uc && wr.opcode >= IBV_WR_RDMA_READ)
		wr.wr_id |= FORBIDDEN;
	wr.send_flags = one_in(8) ? IBV_SEND_FENCE : 0;
	if (one_in(4))
		wr.send_flags |= IBV_SEND_SOLICITED;
	fill_sges(s, sge, wr.num_sge, LONGEST / SGES);
	through = wr.opcode != IBV_WR_SEND && wr.opcode != IBV_WR_SEND_WITH_IMM &&
		  window_of_peer(!from, p, &wr);
	if (one_in(8) && wr.opcode < IBV_WR_RDMA_READ && !through) {
		wr.num_sge = 1;
		sge[0].length = below(INLINE);
		wr.send_flags |= IBV_SEND_INLINE;
	}
	if (!through) {
		wr.wr.rdma.remote_addr = (uintptr_t)peer->memory + below(MEMORY - LONGEST);
		wr.wr.rdma.rkey = one_in(200) ? (uint32_t)random64() : peer->mr->rkey;
	}
	if (wr.opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.num_sge = 1;
		sge[0].length = 8;
		if (!through) {
			wr.wr.atomic.rkey = peer->mr->rkey;
			wr.wr.atomic.remote_addr = ((uintptr_t)peer->memory + below(MEMORY - 8)) &
						   ~7ull;
		}
		wr.wr.atomic.compare_add = random64();
		wr.wr.atomic.swap = random64();
	}
	/* a full queue is no error here, nor one whose queue pair has failed */
	ibv_post_send(p->qp[from], &wr, &bad);
}

static void post_receive(int to, struct pair *p)
{
	struct ibv_sge sge[SGES];
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 1 + below(SGES) }, *bad;

	fill_sges(&sides[to], sge, wr.num_sge, LONGEST);
	if (!one_in(20))
		sge[0].length = LONGEST;
	if (p->shared) {
		wr.wr_id = 1 << BY_SHARED;
		ibv_post_srq_recv(extras[to].srq, &wr, &bad);
	} else {
		ibv_post_recv(p->qp[to], &wr, &bad);
	}
}

/* Not kept open meanwhile: what removes the namespace would wait for that. */
static bool enter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool done = fd >= 0 && !setns(fd, CLONE_NEWNET);

	if (fd >= 0)
		close(fd);
	return done;
}

/*
 * Before 4.10 the kernel cannot tell the library a number for a handle, and the library
 * looks for the peer's MAC address itself: in the namespace of the process.
 */
static struct ibv_ah *handle_create_there(int s, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah;

	if (!enter(s ? "/run/netns/ns2" : "/run/netns/ns1"))
		return NULL;
	ah = ibv_create_ah(sides[s].pd, attr);
	/* where everything began; a program that cannot return is no good any more */
	if (!enter("/proc/1/ns/net"))
		die("setns");
	return ah;
}

/* There may be no address at the moment. */
static void handle_create(int s, struct ibv_ah **ah)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = sides[!s].gid, .sgid_index = sides[s].gid_index, .hop_limit = 64,
			 .traffic_class = below(256) },
	};

	*ah = ibv_create_ah(sides[s].pd, &attr);
	if (!*ah)
		*ah = handle_create_there(s, &attr);
	if (*ah)
		done[HANDLED]++;
	else
		side_address(&sides[s]);
}

/* A datagram by one of the handles, which is destroyed at once now and then. */
static void post_datagram(int from, struct pair *p)
{
	struct ibv_ah **ah = &extras[from].ah[below(HANDLES)];
	struct ibv_sge sge[SGES];
	struct ibv_send_wr wr = {
		.wr_id = 1 << ON_UD,
		.sg_list = sge,
		.num_sge = 1 + below(SGES),
		.opcode = one_in(2) ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM,
	}, *bad;

	if (!*ah)
		handle_create(from, ah);
	if (!*ah)
		return;
	fill_sges(&sides[from], sge, wr.num_sge, (one_in(50) ? 8 : 1) * DATAGRAM / SGES);
	wr.wr.ud.ah = *ah;
	wr.wr.ud.remote_qpn = one_in(50) ? below(1 << 24) : p->qp[!from]->qp_num;
	wr.wr.ud.remote_qkey = one_in(50) ? below(1 << 31) : QKEY;
	ibv_post_send(p->qp[from], &wr, &bad);
	if (one_in(10)) {
		must(ibv_destroy_ah(*ah), "destroy_ah");
		*ah = NULL;
	}
}

/* --- what goes in the middle of it ------------------------------------------------ */

static void memory_anew(struct side *s)
{
	must(ibv_dereg_mr(s->mr), "dereg_mr");
	s->mr = ibv_reg_mr(s->pd, s->memory, MEMORY, ACCESS | on_demand);
	if (!s->mr)
		die("reg_mr");
}

/* Pages that are not pinned: the next access gets others. */
static void pages_anew(struct side *s)
{
	uint32_t at = below(MEMORY) & ~4095, most = MEMORY - at;

	must(madvise(s->memory + at, below(most) + 1, MADV_DONTNEED) ? errno : 0, "madvise");
}

static void pair_create(struct pair *p)
{
	enum ibv_qp_type type = is_ud(p) ? IBV_QPT_UD : one_in(3) ? IBV_QPT_UC : IBV_QPT_RC;
	int s;

	p->shared = one_in(3);
	p->broken = false;
	for (s = 0; s < 2; s++)
		p->qp[s] = qp_make(&sides[s], type, p->shared ? extras[s].srq : NULL);
	pair_connect(p->qp, false);
}

static void pair_destroy(struct pair *p, int first)
{
	must(ibv_destroy_qp(p->qp[first]), "destroy_qp");
	must(ibv_destroy_qp(p->qp[!first]), "destroy_qp");
	p->qp[0] = p->qp[1] = NULL;
	windows_of(p);
}

/* Whatever state they are in */
static void pair_anew(struct pair *p)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	int s = below(2);

	must(ibv_modify_qp(p->qp[s], &reset, IBV_QP_STATE), "modify_qp to RESET");
	must(ibv_modify_qp(p->qp[!s], &reset, IBV_QP_STATE), "modify_qp to RESET");
	windows_of(p);
	p->broken = false;
	pair_connect(p->qp, false);
}

static void step(struct pair *p)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	int n, s = below(2);

	if (!p->qp[0])
		pair_create(p);
	if (p->broken && one_in(8))
		pair_anew(p);
	switch (below(400)) {
	case 0 ... 3:
		pair_destroy(p, s);
		break;
	case 4 ... 7:
		must(ibv_modify_qp(p->qp[s], &error, IBV_QP_STATE), "modify_qp to ERR");
		break;
	case 8 ... 12:
		pair_anew(p);
		break;
	case 13:
		memory_anew(&sides[s]);
		break;
	case 14 ... 30:
		if (on_demand)
			pages_anew(&sides[s]);
		break;
	case 31:
		if (one_in(2))
			window_memory_anew(s);
		break;
	case 32 ... 70:
		window_step(s, p);
		break;
	case 71 ... 225:
		for (n = below(4); n >= 0; n--)
			post_receive(s, p);
		break;
	default:
		for (n = below(4); n >= 0; n--) {
			if (is_ud(p))
				post_datagram(s, p);
			else
				post_send(s, p);
		}
	}
}

/* In the order in which they need each other; the rest goes by itself. */
static void destroy_all(void)
{
	int i, s;

	for (i = 0; i < num_known; i++)
		if (pairs_known[i].qp[0])
			pair_destroy(&pairs_known[i], one_in(2));
	for (s = 0; s < 2; s++) {
		for (i = 0; i < HANDLES; i++)
			if (extras[s].ah[i])
				must(ibv_destroy_ah(extras[s].ah[i]), "destroy_ah");
		for (i = 0; i < WINDOWS; i++)
			must(ibv_dealloc_mw(extras[s].windows[i].mw), "dealloc_mw");
		must(ibv_dereg_mr(extras[s].mr), "dereg_mr without windows");
		must(ibv_destroy_srq(extras[s].srq), "destroy_srq");
	}
}

static bool all_done(void)
{
	int i;

	for (i = 0; i <= HANDLED && done[i]; i++)
		;
	return i > HANDLED;
}

/* So many pairs and the one of UD */
void torture(int pairs, double seconds, uint64_t random_seed)
{
	bool begun = false, all = getenv("STORM_ALL");
	double end, last;
	uint32_t steps;
	int i;

	seed = random_seed;
	num_known = pairs + 1;
	pairs_known = calloc(num_known, sizeof(*pairs_known));
	completed = look;
	open_both(2 * DEPTH * num_known + 2 * SHARED + 1024);
	extra_open(&sides[0], &extras[0]);
	extra_open(&sides[1], &extras[1]);
	/* opening took its time, and what has hardly any to run may need more to do something */
	end = now() + seconds;
	last = end + (all ? 100 : 20);
	for (steps = 0; now() < end || (now() < last && !(all ? all_done() : begun)); steps++) {
		step(&pairs_known[below(num_known)]);
		if (!(steps % 4))
			poll_cq();
		if (!begun && sent && received) {
			printf("begun\n");
			fflush(stdout);
			begun = true;
		}
	}
	/* it is left to the kernel, half of the time */
	if (one_in(2))
		destroy_all();
	printf("done:");
	for (i = 0; i <= HANDLED; i++)
		printf(" %" PRIu64 " %s%s", done[i], names[i], i < HANDLED ? "," : "\n");
	counts();
	if (all && !all_done()) {
		fprintf(stderr, "storm: not all kinds were done\n");
		exit(1);
	}
	exit(sent && received ? 0 : 1);
}
