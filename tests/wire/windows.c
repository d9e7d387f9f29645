// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * windows - memory windows and invalidation, between two devices.
 *
 *	windows CASE GID-INDEX-OF-RXE0 GID-INDEX-OF-RXE1
 *
 * The owner (rxe1) has memory and binds windows to it; the peer (rxe0) writes to
 * it by the keys it is told. Exit status 0 if all went as the specification says;
 * otherwise the reason is on standard output.
 */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../vm/programs/advise.h"

enum {
	SIZE		= 8192,
	WINDOW		= 1024,		/* place of the window in the memory */
	LENGTH		= 512,		/* its length */
	ALL		= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			  IBV_ACCESS_MW_BIND,
	PATIENCE	= 20,		/* seconds for a completion */
	BINDS		= 5000,	/* of one window, by each of two */
	ENDS		= 1000,	/* of a window that somebody asks about */
};

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd, *other_pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;
	union ibv_gid gid;
	int gid_index;
};

static struct side peer, owner;

struct link {
	struct ibv_qp *peer, *owner;
};

#define must(condition, ...) do { \
	if (!(condition)) { \
		printf(__VA_ARGS__); \
		printf(" (line %d)\n", __LINE__); \
		exit(1); \
	} \
} while (0)

static void side_open(struct side *s, const char *name, int gid_index)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	must(list, "no devices");
	for (i = 0; list[i] && strcmp(ibv_get_device_name(list[i]), name); i++)
		;
	must(list[i], "no device %s", name);
	s->context = ibv_open_device(list[i]);
	must(s->context, "cannot open %s", name);
	s->gid_index = gid_index;
	must(!ibv_query_gid(s->context, 1, gid_index, &s->gid), "no GID");
	s->pd = ibv_alloc_pd(s->context);
	s->other_pd = ibv_alloc_pd(s->context);
	s->cq = ibv_create_cq(s->context, 64, NULL, NULL, 0);
	must(s->pd && s->other_pd && s->cq, "no PD or CQ");
	must(!posix_memalign((void **)&s->memory, 4096, SIZE), "no memory");
	memset(s->memory, 0, SIZE);
	s->mr = ibv_reg_mr(s->pd, s->memory, SIZE, ALL);
	must(s->mr, "no memory region");
}

static struct ibv_qp *qp_make(struct side *s, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	must(qp, "no queue pair");
	return qp;
}

static void qp_connect(struct side *s, struct ibv_qp *qp, struct side *to, uint32_t number)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};

	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS), "INIT");
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = number;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = to->gid;
	attr.ah_attr.grh.sgid_index = s->gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER), "RTR");
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

/* The owner's queue pair is of that protection domain. */
static struct link link_make_in(struct ibv_pd *pd)
{
	struct link l = { .peer = qp_make(&peer, peer.pd), .owner = qp_make(&owner, pd) };

	qp_connect(&peer, l.peer, &owner, l.owner->qp_num);
	qp_connect(&owner, l.owner, &peer, l.peer->qp_num);
	return l;
}

static struct link link_make(void)
{
	return link_make_in(owner.pd);
}

static struct ibv_wc completion(struct side *s)
{
	time_t end = time(NULL) + PATIENCE;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(s->cq, 1, &wc)))
		must(time(NULL) < end, "no completion");
	must(n == 1, "ibv_poll_cq");
	return wc;
}

static void drain(struct side *s)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(s->cq, 1, &wc) > 0)
		;
}

static void link_end(struct link *l)
{
	must(!ibv_destroy_qp(l->peer) && !ibv_destroy_qp(l->owner), "ibv_destroy_qp");
	drain(&peer);
	drain(&owner);
}

static enum ibv_wc_status post(struct side *s, struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->wr_id = 42;
	wr->send_flags = IBV_SEND_SIGNALED;
	must(!ibv_post_send(qp, wr, &bad), "ibv_post_send");
	return completion(s).status;
}

/* The peer writes some bytes by a key. */
static enum ibv_wc_status write_by(struct ibv_qp *qp, uint64_t address, uint32_t key, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)peer.memory, length, peer.mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = address, .rkey = key },
	};

	return post(&peer, qp, &wr);
}

/* The peer reads 8 bytes, or adds 1 to them, into the middle of its memory. */
static enum ibv_wc_status fetch_by(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint64_t address,
				   uint32_t key)
{
	struct ibv_sge sge = { (uintptr_t)peer.memory + SIZE / 2, 8, peer.mr->lkey };
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 };

	if (opcode == IBV_WR_RDMA_READ) {
		wr.wr.rdma.remote_addr = address;
		wr.wr.rdma.rkey = key;
	} else {
		wr.wr.atomic.remote_addr = address;
		wr.wr.atomic.rkey = key;
		wr.wr.atomic.compare_add = 1;
	}
	return post(&peer, qp, &wr);
}

static enum ibv_wc_status bind(struct ibv_qp *qp, struct ibv_mw *mw, uint32_t key,
			       struct ibv_mr *mr, uint64_t address, uint64_t length, int access)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw,
			.rkey = key,
			.bind_info = { mr, address, length, access },
		},
	};

	return post(&owner, qp, &wr);
}

static uint64_t place(uint32_t offset)
{
	return (uintptr_t)owner.memory + offset;
}

static struct ibv_mw *window(enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(owner.pd, type);

	must(mw, "ibv_alloc_mw");
	return mw;
}

/* A window of type 2 for writing, in the middle of the memory. */
static uint32_t bind_type_2(struct ibv_qp *qp, struct ibv_mw *mw)
{
	uint32_t key = ibv_inc_rkey(mw->rkey);
	enum ibv_wc_status status;

	status = bind(qp, mw, key, owner.mr, place(WINDOW), LENGTH, IBV_ACCESS_REMOTE_WRITE);
	must(status == IBV_WC_SUCCESS, "bind: %s", ibv_wc_status_str(status));
	return key;
}

static void expect(enum ibv_wc_status seen, enum ibv_wc_status wanted, const char *what)
{
	must(seen == wanted, "%s: '%s' instead of '%s'", what, ibv_wc_status_str(seen),
	     ibv_wc_status_str(wanted));
}

/* A request that the peer makes by this key and address is refused; a link of its own. */
static void refused(struct link *l, uint64_t address, uint32_t key, uint32_t length, const char *what)
{
	expect(write_by(l->peer, address, key, length), IBV_WC_REM_ACCESS_ERR, what);
	link_end(l);
	*l = link_make();
}

static void bytes_at(uint32_t offset, uint32_t length)
{
	must(!memcmp(owner.memory + offset, peer.memory, length), "bytes are not in place");
	memset(owner.memory, 0, SIZE);
}

static void type_1(void)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_1);
	struct link l = link_make(), other = link_make();
	struct ibv_mw_bind b = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { owner.mr, place(WINDOW), LENGTH, IBV_ACCESS_REMOTE_WRITE },
	};
	uint32_t key;

	refused(&l, place(WINDOW), mw->rkey, 1, "write before the bind");
	must(!ibv_bind_mw(l.owner, mw, &b), "ibv_bind_mw");
	expect(completion(&owner).status, IBV_WC_SUCCESS, "bind");
	key = mw->rkey;
	expect(write_by(l.peer, place(WINDOW), key, LENGTH), IBV_WC_SUCCESS, "write");
	bytes_at(WINDOW, LENGTH);
	refused(&l, place(WINDOW) - 1, key, 1, "write in front of the window");
	refused(&l, place(WINDOW) + 1, key, LENGTH, "write beyond the window");
	refused(&l, ~0ULL, key, 4, "an address that wraps");
	/* bound again, elsewhere: the old key is no good any more */
	b.bind_info.addr = place(0);
	must(!ibv_bind_mw(l.owner, mw, &b), "ibv_bind_mw");
	expect(completion(&owner).status, IBV_WC_SUCCESS, "second bind");
	must(mw->rkey != key, "the key did not change");
	refused(&l, place(WINDOW), key, 1, "write by the old key");
	expect(write_by(l.peer, place(0), mw->rkey, LENGTH), IBV_WC_SUCCESS, "write");
	bytes_at(0, LENGTH);
	/* a bind that fails changes nothing; the library has a new key all the same */
	key = mw->rkey;
	b.bind_info.addr = place(SIZE) - LENGTH / 2;
	must(!ibv_bind_mw(other.owner, mw, &b), "ibv_bind_mw");
	expect(completion(&owner).status, IBV_WC_MW_BIND_ERR, "bind beyond the region");
	link_end(&other);
	refused(&l, place(SIZE) - LENGTH / 2, mw->rkey, 1, "write by the key of a bind that failed");
	expect(write_by(l.peer, place(0), key, LENGTH), IBV_WC_SUCCESS, "write after that bind");
	bytes_at(0, LENGTH);
	mw->rkey = key;
	/* bound to nothing; some providers want a region all the same */
	b.bind_info.addr = place(0);
	b.bind_info.length = 0;
	must(!ibv_bind_mw(l.owner, mw, &b), "ibv_bind_mw");
	expect(completion(&owner).status, IBV_WC_SUCCESS, "bind to nothing");
	refused(&l, place(0), mw->rkey, 1, "write after the bind to nothing");
	must(!ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	link_end(&l);
}

static void type_2(void)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_2);
	struct link l = link_make(), other = link_make();
	uint32_t key = bind_type_2(l.owner, mw);
	struct ibv_send_wr inv = { .opcode = IBV_WR_LOCAL_INV };

	expect(write_by(l.peer, place(WINDOW), key, LENGTH), IBV_WC_SUCCESS, "write");
	bytes_at(WINDOW, LENGTH);
	refused(&other, place(WINDOW), key, 1, "write by another queue pair");
	expect(bind(other.owner, mw, key + 1, owner.mr, place(0), 8, IBV_ACCESS_REMOTE_WRITE),
	       IBV_WC_MW_BIND_ERR, "bind of a window that is bound");
	link_end(&other);
	inv.invalidate_rkey = key;
	expect(post(&owner, l.owner, &inv), IBV_WC_SUCCESS, "LOCAL_INV");
	refused(&l, place(WINDOW), key, 1, "write after LOCAL_INV");
	/* and bound once more */
	key = (key & ~0xffU) | ((key + 1) & 0xff);
	mw->rkey = key - (key & 0xff) + ((key - 1) & 0xff);
	expect(bind(l.owner, mw, key, owner.mr, place(0), LENGTH, IBV_ACCESS_REMOTE_WRITE),
	       IBV_WC_SUCCESS, "second bind");
	expect(write_by(l.peer, place(0), key, LENGTH), IBV_WC_SUCCESS, "write");
	must(!ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	refused(&l, place(0), key, 1, "write after dealloc");
	link_end(&l);
}

static void zero_based(void)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_2);
	struct link l = link_make();
	uint32_t key = ibv_inc_rkey(mw->rkey);

	expect(bind(l.owner, mw, key, owner.mr, place(WINDOW), LENGTH,
		    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED), IBV_WC_SUCCESS, "bind");
	expect(write_by(l.peer, 0, key, LENGTH), IBV_WC_SUCCESS, "write at 0");
	bytes_at(WINDOW, LENGTH);
	expect(write_by(l.peer, LENGTH - 4, key, 4), IBV_WC_SUCCESS, "write at the end");
	bytes_at(WINDOW + LENGTH - 4, 4);
	refused(&l, LENGTH - 4, key, 5, "write beyond the window");
	link_end(&l);
	l = link_make();
	must(!ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	link_end(&l);
}

/*
 * A window whose addresses begin at 0 lies somewhere else: no address may wrap around to
 * what is in front of it. Each refusal ends a queue pair, and with it what its window allows.
 */
static void zero_based_wrap(void)
{
	static const uint8_t zeros[SIZE];
	struct {
		uint64_t address;
		uint32_t length;
		const char *what;
	} bad[] = {
		{ -1ULL, 1, "the byte in front of the window" },
		{ -(uint64_t)WINDOW, 8, "the beginning of the region" },
		{ -4ULL, 8, "4 bytes in front of the window, and 4 in it" },
		{ LENGTH, 1, "the byte behind the window" },
		{ place(WINDOW), 8, "the address that the window has in the process" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ibv_mw *mw = window(IBV_MW_TYPE_2);
		struct link l = link_make();
		uint32_t key = ibv_inc_rkey(mw->rkey);

		expect(bind(l.owner, mw, key, owner.mr, place(WINDOW), LENGTH,
			    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED), IBV_WC_SUCCESS, "bind");
		expect(write_by(l.peer, LENGTH - 8, key, 8), IBV_WC_SUCCESS, "write in the window");
		bytes_at(WINDOW + LENGTH - 8, 8);
		expect(write_by(l.peer, bad[i].address, key, bad[i].length),
		       IBV_WC_REM_ACCESS_ERR, bad[i].what);
		must(!memcmp(owner.memory, zeros, SIZE), "%s: bytes changed", bad[i].what);
		must(!ibv_dealloc_mw(mw), "ibv_dealloc_mw");
		link_end(&l);
	}
}

/* What a window allows is what its bind names, not what its region allows. */
static void access_rights(void)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		int needs;
		const char *what;
	} operations[] = {
		{ IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE, "write" },
		{ IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ, "read" },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC, "atomic" },
	};
	unsigned int allowed, asked;

	for (allowed = 0; allowed < 3; allowed++) {
		for (asked = 0; asked < 3; asked++) {
			struct ibv_mw *mw = window(IBV_MW_TYPE_2);
			struct link l = link_make();
			uint32_t key = ibv_inc_rkey(mw->rkey);
			enum ibv_wc_status status;
			uint64_t was = 41, now;

			memcpy(owner.memory + WINDOW, &was, 8);
			memset(peer.memory + SIZE / 2, 0, 8);
			expect(bind(l.owner, mw, key, owner.mr, place(WINDOW), LENGTH,
				    operations[allowed].needs), IBV_WC_SUCCESS, "bind");
			status = asked ? fetch_by(l.peer, operations[asked].opcode, place(WINDOW), key) :
					 write_by(l.peer, place(WINDOW), key, 8);
			memcpy(&now, owner.memory + WINDOW, 8);
			must(status == (asked == allowed ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR),
			     "a window for %s, asked for %s: %s", operations[allowed].what,
			     operations[asked].what, ibv_wc_status_str(status));
			if (asked != allowed)
				must(now == was, "a window for %s: %s changes bytes",
				     operations[allowed].what, operations[asked].what);
			else if (asked)
				must(!memcmp(peer.memory + SIZE / 2, &was, 8) &&
				     now == was + (asked == 2), "%s: wrong bytes", operations[asked].what);
			else
				bytes_at(WINDOW, 8);
			if (asked && asked != allowed)
				must(!*(uint64_t *)(peer.memory + SIZE / 2), "%s: bytes came",
				     operations[asked].what);
			must(!ibv_dealloc_mw(mw), "ibv_dealloc_mw");
			link_end(&l);
		}
	}
}

/* Neither bound nor used by a queue pair of another protection domain. */
static void other_pd(void)
{
	struct ibv_mr *foreign = ibv_reg_mr(owner.other_pd, owner.memory, SIZE, ALL);
	struct ibv_mw *one = window(IBV_MW_TYPE_1), *two = window(IBV_MW_TYPE_2);
	struct ibv_mw_bind b = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { owner.mr, place(WINDOW), LENGTH, IBV_ACCESS_REMOTE_WRITE },
	};
	struct {
		struct ibv_mw *mw;
		struct ibv_mr *mr;
		const char *what;
	} bad[] = {
		{ one, owner.mr, "a window of type 1" },
		{ one, foreign, "a window of type 1, to a region of the queue pair's domain" },
		{ two, owner.mr, "a window of type 2" },
		{ two, foreign, "a window of type 2, to a region of the queue pair's domain" },
	};
	struct link l;
	uint32_t old;
	unsigned int i;

	must(foreign, "ibv_reg_mr");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		l = link_make_in(owner.other_pd);
		old = bad[i].mw->rkey;
		expect(bind(l.owner, bad[i].mw, ibv_inc_rkey(old), bad[i].mr, place(WINDOW), LENGTH,
			    IBV_ACCESS_REMOTE_WRITE), IBV_WC_MW_BIND_ERR, bad[i].what);
		bad[i].mw->rkey = old;
		link_end(&l);
	}
	/* of type 1 it is the whole domain's, whoever has bound it */
	l = link_make();
	must(!ibv_bind_mw(l.owner, one, &b), "ibv_bind_mw");
	expect(completion(&owner).status, IBV_WC_SUCCESS, "bind");
	link_end(&l);
	l = link_make();
	expect(write_by(l.peer, place(WINDOW), one->rkey, LENGTH), IBV_WC_SUCCESS,
	       "write by another queue pair of the domain");
	bytes_at(WINDOW, LENGTH);
	link_end(&l);
	l = link_make_in(owner.other_pd);
	expect(write_by(l.peer, place(WINDOW), one->rkey, 8), IBV_WC_REM_ACCESS_ERR,
	       "write by a queue pair of another domain");
	must(!owner.memory[WINDOW], "it has written");
	link_end(&l);
	must(!ibv_dealloc_mw(one) && !ibv_dealloc_mw(two), "ibv_dealloc_mw");
	must(!ibv_dereg_mr(foreign), "ibv_dereg_mr");
}

static void send_inv(void)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_2);
	struct link l = link_make();
	struct ibv_sge sge = { place(0), 64, owner.mr->lkey };
	struct ibv_sge from = { (uintptr_t)peer.memory, 9, peer.mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV, .sg_list = &from, .num_sge = 1,
	};
	uint32_t key = bind_type_2(l.owner, mw);
	struct ibv_wc wc;

	must(!ibv_post_recv(l.owner, &recv, &bad), "ibv_post_recv");
	wr.invalidate_rkey = key;
	expect(post(&peer, l.peer, &wr), IBV_WC_SUCCESS, "SEND with invalidate");
	wc = completion(&owner);
	expect(wc.status, IBV_WC_SUCCESS, "receive");
	must((wc.wc_flags & IBV_WC_WITH_INV) && wc.invalidated_rkey == key && wc.byte_len == 9,
	     "receive: flags %#x, key %#x, %u bytes", wc.wc_flags, wc.invalidated_rkey, wc.byte_len);
	refused(&l, place(WINDOW), key, 1, "write after SEND with invalidate");
	/* what is not valid cannot be invalidated from afar */
	must(!ibv_post_recv(l.owner, &recv, &bad), "ibv_post_recv");
	expect(post(&peer, l.peer, &wr), IBV_WC_REM_ACCESS_ERR, "the second one");
	link_end(&l);
	/* nor can a region of a process */
	l = link_make();
	must(!ibv_post_recv(l.owner, &recv, &bad), "ibv_post_recv");
	wr.invalidate_rkey = owner.mr->rkey;
	expect(post(&peer, l.peer, &wr), IBV_WC_REM_ACCESS_ERR, "of a plain region");
	link_end(&l);
	must(!ibv_dealloc_mw(mw), "ibv_dealloc_mw");
}

/* Each of these binds fails, and takes the queue pair with it. */
static void bind_errors(void)
{
	struct ibv_mr *plain = ibv_reg_mr(owner.pd, owner.memory, SIZE,
					  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_mr *reading = ibv_reg_mr(owner.pd, owner.memory, SIZE,
					    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	struct ibv_mr *foreign = ibv_reg_mr(owner.other_pd, owner.memory, SIZE, ALL);
	struct ibv_mw *mw = window(IBV_MW_TYPE_2);
	struct {
		const char *what;
		struct ibv_mr *mr;
		uint64_t address, length;
		int access;
	} bad[] = {
		{ "a region without MW_BIND", plain, place(0), 8 },
		{ "a region that is only read", reading, place(0), 8 },
		{ "a region of another protection domain", foreign, place(0), 8 },
		{ "a window in front of the region", owner.mr, place(0) - 1, 8 },
		{ "a window beyond the region", owner.mr, place(SIZE - 4), 8 },
		{ "a window that wraps", owner.mr, place(8), ~0ULL - 4 },
		{ "a window from 0 that wraps", owner.mr, place(8), ~0ULL - 4, IBV_ACCESS_ZERO_BASED },
		{ "a window from 0 that wraps to itself", owner.mr, place(8), -(uint64_t)place(0),
		  IBV_ACCESS_ZERO_BASED },
		{ "an empty window of type 2", owner.mr, place(0), 0 },
	};
	uint32_t key = ibv_inc_rkey(mw->rkey), old = mw->rkey;
	struct link l;
	unsigned int i;

	must(plain && reading && foreign, "ibv_reg_mr");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		l = link_make();
		mw->rkey = old;
		expect(bind(l.owner, mw, key, bad[i].mr, bad[i].address, bad[i].length,
			    IBV_ACCESS_REMOTE_WRITE | bad[i].access), IBV_WC_MW_BIND_ERR, bad[i].what);
		link_end(&l);
	}
	must(!ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	must(!ibv_dereg_mr(plain) && !ibv_dereg_mr(reading) && !ibv_dereg_mr(foreign), "ibv_dereg_mr");
}

/* A region stays as long as a window is bound to it. */
static void region_in_use(void)
{
	struct ibv_mr *mr = ibv_reg_mr(owner.pd, owner.memory, SIZE, ALL);
	struct ibv_mw *mw = window(IBV_MW_TYPE_2);
	struct link l = link_make();

	must(mr, "ibv_reg_mr");
	expect(bind(l.owner, mw, ibv_inc_rkey(mw->rkey), mr, place(0), 8, IBV_ACCESS_REMOTE_WRITE),
	       IBV_WC_SUCCESS, "bind");
	must(ibv_dereg_mr(mr), "a region with a window was deregistered");
	must(!ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	must(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	link_end(&l);
}

static struct ibv_mw *shared;

static void *bind_it(void *qp)
{
	int i;

	for (i = 0; i < BINDS; i++)
		expect(bind(qp, shared, shared->rkey, owner.mr, place(i % 64 * 8), 8,
			    IBV_ACCESS_REMOTE_WRITE), IBV_WC_SUCCESS, "bind");
	return NULL;
}

/*
 * Two queue pairs bind one window of type 1 at the same time, to the same key: each of them
 * has to wait until nobody uses the window, the other one included.
 */
static void bound_by_two(void)
{
	struct link one = link_make(), other = link_make();
	pthread_t thread;

	shared = window(IBV_MW_TYPE_1);
	must(!pthread_create(&thread, NULL, bind_it, other.owner), "pthread_create");
	bind_it(one.owner);
	must(!pthread_join(thread, NULL), "pthread_join");
	expect(write_by(one.peer, place((BINDS - 1) % 64 * 8), shared->rkey, 8), IBV_WC_SUCCESS,
	       "write");
	must(!memcmp(owner.memory + (BINDS - 1) % 64 * 8, peer.memory, 8), "wrong bytes");
	must(!ibv_dealloc_mw(shared), "ibv_dealloc_mw");
	link_end(&one);
	link_end(&other);
}

static bool asked_enough;

/* The calling thread, from now on */
static void runs_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(!sched_setaffinity(0, sizeof(set), &set), "CPU %d", cpu);
}

static void *ask_about_it(void *error)
{
	/* the number in it is the window's; the rest changes */
	struct ibv_sge sge = { place(WINDOW), 8, shared->rkey };

	runs_on(0);
	do
		*(int *)error = advise(owner.pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH,
				       IB_UVERBS_ADVISE_MR_FLAG_FLUSH, &sge, 1);
	while (*(int *)error == ENOENT && !__atomic_load_n(&asked_enough, __ATOMIC_RELAXED));
	return NULL;
}

/*
 * A window is invalidated by packets that interrupt a process which looks at its key:
 * who waits there until nobody uses the key must not wait for that process.
 */
static void asked_about(void)
{
	struct ibv_sge sge = { place(0), 64, owner.mr->lkey };
	struct ibv_sge from = { (uintptr_t)peer.memory, 9, peer.mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV, .sg_list = &from, .num_sge = 1,
	};
	struct link l = link_make();
	pthread_t thread;
	int i, error;

	shared = window(IBV_MW_TYPE_2);
	must(!pthread_create(&thread, NULL, ask_about_it, &error), "pthread_create");
	runs_on(1);
	for (i = 0; i < ENDS; i++) {
		shared->rkey = bind_type_2(l.owner, shared);
		wr.invalidate_rkey = shared->rkey;
		must(!ibv_post_recv(l.owner, &recv, &bad), "ibv_post_recv");
		expect(post(&peer, l.peer, &wr), IBV_WC_SUCCESS, "SEND with invalidate");
		expect(completion(&owner).status, IBV_WC_SUCCESS, "receive");
	}
	__atomic_store_n(&asked_enough, true, __ATOMIC_RELAXED);
	must(!pthread_join(thread, NULL), "pthread_join");
	if (error == EOPNOTSUPP || error == EPROTONOSUPPORT || error == ENOTTY) {
		printf("no advise_mr here: %s\n", strerror(error));
		exit(77);
	}
	must(error == ENOENT, "advise_mr of a window: %s", strerror(error));
	must(!ibv_dealloc_mw(shared), "ibv_dealloc_mw");
	link_end(&l);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{ "type-1", type_1 }, { "type-2", type_2 }, { "zero-based", zero_based },
		{ "zero-based-wrap", zero_based_wrap }, { "access-rights", access_rights },
		{ "other-pd", other_pd },
		{ "send-inv", send_inv }, { "bind-errors", bind_errors },
		{ "region-in-use", region_in_use }, { "bound-by-two", bound_by_two },
		{ "asked-about", asked_about },
	};
	unsigned int i;

	must(argc == 4, "usage: windows CASE GID-INDEX GID-INDEX");
	side_open(&peer, "rxe0", atoi(argv[2]));
	side_open(&owner, "rxe1", atoi(argv[3]));
	for (i = 0; i < SIZE; i++)
		peer.memory[i] = i * 7 + 1;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name))
			continue;
		cases[i].run();
		return 0;
	}
	must(false, "no case '%s'", argv[1]);
}
