// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * odp - memory that is registered on demand, and comes and goes while it is used.
 *
 *	odp CASE GID-INDEX-OF-RXE0 GID-INDEX-OF-RXE1
 *
 * Memory of rxe1 is on demand, that of rxe0 (the peer) is pinned. Exit status 0 if
 * all bytes and statuses are right; otherwise the reason is on standard output. Status
 * 77: the device says that it has no on-demand paging, and refuses it.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "advise.h"

enum {
	PAGE		= 4096,
	PAGES		= 600,		/* more than a chunk of the driver's */
	SIZE		= PAGES * PAGE,
	DEPTH		= 16,
	PATIENCE	= 60,		/* seconds for a completion */
	CHURNS		= 300,
	ACCESS		= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;
	union ibv_gid gid;
	int gid_index;
};

static struct side peer, owner;

/* A connection: of the peer to the owner */
struct pair {
	struct ibv_qp *peer, *owner;
};

#define must(condition, ...) do { \
	if (!(condition)) { \
		printf(__VA_ARGS__); \
		printf(" (line %d, errno %d)\n", __LINE__, errno); \
		exit(1); \
	} \
} while (0)

static uint8_t *map_at(void *address)
{
	uint8_t *p = mmap(address, SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | (address ? MAP_FIXED : 0), -1, 0);

	must(p != MAP_FAILED, "no memory");
	return p;
}

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
	s->cq = ibv_create_cq(s->context, 256, NULL, NULL, 0);
	must(s->pd && s->cq, "no PD or CQ");
	s->memory = map_at(NULL);
}

static struct ibv_mr *reg(struct side *s, void *address, size_t length, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(s->pd, address, length, access);

	must(mr, "no memory region");
	return mr;
}

static struct ibv_qp *qp_make(struct side *s, struct ibv_srq *srq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.srq = srq,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 4,
			 .max_recv_sge = 4 },
		.qp_type = type,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = ACCESS & ~IBV_ACCESS_LOCAL_WRITE,
				    .qkey = 0x1234 };
	struct ibv_qp *qp = ibv_create_qp(s->pd, &init);

	must(qp, "no queue pair");
	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)), "INIT");
	return qp;
}

static void qp_connect(struct side *s, struct ibv_qp *qp, struct side *to, uint32_t number)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = number,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = to->gid, .sgid_index = s->gid_index,
				      .hop_limit = 64 } },
	};
	bool rc = qp->qp_type == IBV_QPT_RC;

	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | (qp->qp_type == IBV_QPT_UD ? 0 :
			    IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0))),
	     "RTR");
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 18;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 4;
	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			    (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_MAX_QP_RD_ATOMIC : 0)), "RTS");
}

static struct pair pair_of(enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct pair p = { qp_make(&peer, NULL, type), qp_make(&owner, srq, type) };

	qp_connect(&peer, p.peer, &owner, p.owner->qp_num);
	qp_connect(&owner, p.owner, &peer, p.peer->qp_num);
	return p;
}

static void pair_end(struct pair p)
{
	must(!ibv_destroy_qp(p.peer) && !ibv_destroy_qp(p.owner), "destroy_qp");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static struct ibv_wc completion(struct side *s)
{
	double end = now() + PATIENCE;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(s->cq, 1, &wc)) == 0)
		must(now() < end, "no completion");
	must(n == 1, "poll_cq");
	return wc;
}

static void expect(struct side *s, enum ibv_wc_status status)
{
	struct ibv_wc wc = completion(s);

	must(wc.status == status, "%s instead of %s", ibv_wc_status_str(wc.status),
	     ibv_wc_status_str(status));
}

/* A request of @qp about @length bytes at @local, and at @remote of the other side */
static void post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, void *local, uint32_t lkey,
		 uint32_t length, void *remote, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)local, length, lkey };
	struct ibv_send_wr *bad, wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1,
					.send_flags = IBV_SEND_SIGNALED };

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 5;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)remote;
		wr.wr.rdma.rkey = rkey;
	}
	must(!ibv_post_send(qp, &wr, &bad), "post_send");
}

static void post_recv(struct ibv_qp *qp, struct ibv_srq *srq, void *local, uint32_t lkey,
		      uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)local, length, lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	must(!(srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad)),
	     "post_recv");
}

/* Bytes that no other seed has at the same place */
static void pattern(uint8_t *p, size_t n, uint32_t seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (i * 31 + (i >> 8) * 17 + seed * 101) & 0xff;
}

static bool has_pattern(const uint8_t *p, size_t n, uint32_t seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i] != ((i * 31 + (i >> 8) * 17 + seed * 101) & 0xff))
			return false;
	return true;
}

/* Whether the process has the page, by its page table */
static bool present(const void *address)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry;

	must(fd >= 0 && pread(fd, &entry, 8, (uintptr_t)address / PAGE * 8) == 8, "no pagemap");
	close(fd);
	return entry >> 63;
}

/* ---- the cases ------------------------------------------------------------------ */

/* Pages that nobody has touched, each of them needed in the middle of a message */
static void all_verbs(struct ibv_mr *mr)
{
	struct pair p = pair_of(IBV_QPT_RC, NULL);
	uint64_t *word = (uint64_t *)(owner.memory + 8 * PAGE);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(owner.pd, &init);
	struct pair s = pair_of(IBV_QPT_RC, srq);

	pattern(peer.memory, SIZE, 1);
	post(p.peer, IBV_WR_RDMA_WRITE, peer.memory, peer.mr->lkey, SIZE - 5, owner.memory + 3,
	     mr->rkey);
	expect(&peer, IBV_WC_SUCCESS);
	must(has_pattern(owner.memory + 3, SIZE - 5, 1), "WRITE: other bytes");
	must(!owner.memory[2] && !owner.memory[SIZE - 2], "WRITE: bytes around it");

	must(!madvise(owner.memory, SIZE, MADV_DONTNEED), "DONTNEED");
	post(p.peer, IBV_WR_RDMA_READ, peer.memory, peer.mr->lkey, SIZE, owner.memory, mr->rkey);
	expect(&peer, IBV_WC_SUCCESS);
	must(!peer.memory[0] && !memcmp(peer.memory, peer.memory + 1, SIZE - 1),
	     "READ of fresh memory is not zero");

	post(p.peer, IBV_WR_ATOMIC_FETCH_AND_ADD, peer.memory, peer.mr->lkey, 8, word, mr->rkey);
	expect(&peer, IBV_WC_SUCCESS);
	must(*word == 5 && !*(uint64_t *)peer.memory, "atomic: wrong sum");

	/* the owner's side: memory on demand is sent, and read into */
	owner.memory = map_at(owner.memory);
	pattern(peer.memory, SIZE, 2);
	post(p.owner, IBV_WR_RDMA_READ, owner.memory, mr->lkey, SIZE, peer.memory, peer.mr->rkey);
	expect(&owner, IBV_WC_SUCCESS);
	must(has_pattern(owner.memory, SIZE, 2), "READ into it: other bytes");
	owner.memory = map_at(owner.memory);
	post_recv(p.peer, NULL, peer.memory, peer.mr->lkey, SIZE);
	post(p.owner, IBV_WR_SEND, owner.memory, mr->lkey, SIZE, NULL, 0);
	expect(&owner, IBV_WC_SUCCESS);
	expect(&peer, IBV_WC_SUCCESS);
	must(!peer.memory[0] && !memcmp(peer.memory, peer.memory + 1, SIZE - 1), "SEND from it");
	owner.memory = map_at(owner.memory);
	*(uint64_t *)peer.memory = 77;
	post(p.owner, IBV_WR_ATOMIC_FETCH_AND_ADD, word, mr->lkey, 8, peer.memory, peer.mr->rkey);
	expect(&owner, IBV_WC_SUCCESS);
	must(*word == 77, "atomic: wrong result");

	/* receives: of the queue pair's own, and shared */
	pattern(peer.memory, SIZE, 3);
	post_recv(p.owner, NULL, owner.memory, mr->lkey, SIZE);
	post(p.peer, IBV_WR_SEND, peer.memory, peer.mr->lkey, SIZE, NULL, 0);
	expect(&peer, IBV_WC_SUCCESS);
	expect(&owner, IBV_WC_SUCCESS);
	must(has_pattern(owner.memory, SIZE, 3), "receive: other bytes");
	owner.memory = map_at(owner.memory);
	post_recv(NULL, srq, owner.memory, mr->lkey, SIZE);
	post(s.peer, IBV_WR_SEND, peer.memory, peer.mr->lkey, SIZE, NULL, 0);
	expect(&peer, IBV_WC_SUCCESS);
	expect(&owner, IBV_WC_SUCCESS);
	must(has_pattern(owner.memory, SIZE, 3), "shared receive: other bytes");
	pair_end(p);
	pair_end(s);
	must(!ibv_destroy_srq(srq), "destroy_srq");
}

static void case_explicit(void)
{
	struct ibv_mr *mr = reg(&owner, owner.memory, SIZE, ACCESS | IBV_ACCESS_ON_DEMAND);

	must(!present(owner.memory), "registered, and there already");
	all_verbs(mr);
	must(!ibv_dereg_mr(mr), "dereg_mr");
}

static void case_implicit(void)
{
	static const struct { uintptr_t at; size_t size; } nowhere[] = {
		{ 0xffff800000001000, 64 }, { 0xfffffffffffff000, 64 }, { 0xfffffffffffff000, 4095 },
		{ 0xffffffffffffe800, 4096 }, { 0xffffffffffffe800, 6143 },
	};
	struct ibv_mr *mr = reg(&owner, NULL, SIZE_MAX, ACCESS | IBV_ACCESS_ON_DEMAND);
	struct pair p = pair_of(IBV_QPT_RC, NULL);
	size_t i;

	all_verbs(mr);
	/* addresses where nothing ever is, with the last page of all */
	for (i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		post(p.peer, IBV_WR_RDMA_WRITE, peer.memory, peer.mr->lkey, nowhere[i].size,
		     (void *)nowhere[i].at, mr->rkey);
		expect(&peer, IBV_WC_REM_ACCESS_ERR);
		pair_end(p);
		p = pair_of(IBV_QPT_RC, NULL);
		post(p.owner, IBV_WR_SEND, (void *)nowhere[i].at, mr->lkey, nowhere[i].size, NULL, 0);
		expect(&owner, IBV_WC_LOC_PROT_ERR);
		pair_end(p);
		p = pair_of(IBV_QPT_RC, NULL);
	}
	pair_end(p);
	must(!ibv_dereg_mr(mr), "dereg_mr");
	must(!ibv_reg_mr(owner.pd, owner.memory, SIZE_MAX, ACCESS | IBV_ACCESS_ON_DEMAND),
	     "all memory from the middle on");
}

/* Unreliable connections and datagrams: a packet waits, it is not dropped. */
static void case_unreliable(void)
{
	struct ibv_mr *mr = reg(&owner, owner.memory, SIZE, ACCESS | IBV_ACCESS_ON_DEMAND);
	struct pair c = pair_of(IBV_QPT_UC, NULL), d = pair_of(IBV_QPT_UD, NULL);
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1,
				  .grh = { .dgid = peer.gid, .sgid_index = owner.gid_index,
					   .hop_limit = 64 } };
	struct ibv_ah *ah = ibv_create_ah(owner.pd, &to), *back;
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND, .num_sge = 1,
					.send_flags = IBV_SEND_SIGNALED };
	struct ibv_sge sge;

	to.grh.dgid = owner.gid;
	to.grh.sgid_index = peer.gid_index;
	back = ibv_create_ah(peer.pd, &to);
	must(ah && back, "no address handle");

	pattern(peer.memory, SIZE, 4);
	post_recv(c.owner, NULL, owner.memory, mr->lkey, 64 * PAGE);
	post(c.peer, IBV_WR_SEND, peer.memory, peer.mr->lkey, 20 * PAGE, NULL, 0);
	expect(&peer, IBV_WC_SUCCESS);
	expect(&owner, IBV_WC_SUCCESS);
	must(has_pattern(owner.memory, 20 * PAGE, 4), "UC: other bytes");
	owner.memory = map_at(owner.memory);
	post_recv(c.peer, NULL, peer.memory, peer.mr->lkey, 20 * PAGE);
	post(c.owner, IBV_WR_SEND, owner.memory, mr->lkey, 20 * PAGE, NULL, 0);
	expect(&owner, IBV_WC_SUCCESS);
	expect(&peer, IBV_WC_SUCCESS);
	must(!peer.memory[0] && !memcmp(peer.memory, peer.memory + 1, 20 * PAGE - 1), "UC: sent");

	/* over the edge of a page, and none of both is there */
	pattern(peer.memory, SIZE, 5);
	owner.memory = map_at(owner.memory);
	post_recv(d.owner, NULL, owner.memory + PAGE - 60, mr->lkey, 1040);
	sge = (struct ibv_sge){ (uintptr_t)peer.memory, 1000, peer.mr->lkey };
	wr.sg_list = &sge;
	wr.wr.ud.ah = back;
	wr.wr.ud.remote_qpn = d.owner->qp_num;
	wr.wr.ud.remote_qkey = 0x1234;
	must(!ibv_post_send(d.peer, &wr, &bad), "post_send");
	expect(&peer, IBV_WC_SUCCESS);
	expect(&owner, IBV_WC_SUCCESS);
	must(has_pattern(owner.memory + PAGE - 20, 1000, 5), "UD: other bytes");
	owner.memory = map_at(owner.memory);
	post_recv(d.peer, NULL, peer.memory, peer.mr->lkey, 1040);
	sge = (struct ibv_sge){ (uintptr_t)owner.memory + PAGE - 500, 1000, mr->lkey };
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = d.peer->qp_num;
	must(!ibv_post_send(d.owner, &wr, &bad), "post_send");
	expect(&owner, IBV_WC_SUCCESS);
	expect(&peer, IBV_WC_SUCCESS);
	must(!peer.memory[40] && !memcmp(peer.memory + 40, peer.memory + 41, 999), "UD: sent");
	must(!ibv_destroy_ah(ah) && !ibv_destroy_ah(back), "destroy_ah");
	pair_end(c);
	pair_end(d);
	must(!ibv_dereg_mr(mr), "dereg_mr");
}

/* Where there is nothing, or nothing to be written to */
static void case_holes(void)
{
	struct ibv_mr *mr = reg(&owner, owner.memory, SIZE, ACCESS | IBV_ACCESS_ON_DEMAND);
	uint8_t *hole = owner.memory + 4 * PAGE, *fixed = owner.memory + 8 * PAGE;
	struct pair p = pair_of(IBV_QPT_RC, NULL);

	fixed[0] = 9;
	must(!munmap(hole, PAGE) && !mprotect(fixed, PAGE, PROT_READ), "mprotect");
	post(p.peer, IBV_WR_RDMA_WRITE, peer.memory, peer.mr->lkey, 64, hole, mr->rkey);
	expect(&peer, IBV_WC_REM_ACCESS_ERR);
	pair_end(p);
	p = pair_of(IBV_QPT_RC, NULL);
	post(p.peer, IBV_WR_RDMA_READ, peer.memory, peer.mr->lkey, 2 * PAGE, hole - PAGE,
	     mr->rkey);
	expect(&peer, IBV_WC_REM_ACCESS_ERR);
	pair_end(p);
	p = pair_of(IBV_QPT_RC, NULL);
	post(p.peer, IBV_WR_RDMA_WRITE, peer.memory, peer.mr->lkey, 64, fixed, mr->rkey);
	expect(&peer, IBV_WC_REM_ACCESS_ERR);
	must(fixed[0] == 9, "memory to be read was written to");
	pair_end(p);
	p = pair_of(IBV_QPT_RC, NULL);
	post(p.peer, IBV_WR_RDMA_READ, peer.memory, peer.mr->lkey, 64, fixed, mr->rkey);
	expect(&peer, IBV_WC_SUCCESS);
	must(peer.memory[0] == 9, "READ: other bytes");
	post(p.owner, IBV_WR_SEND, hole - 10, mr->lkey, 64, NULL, 0);
	expect(&owner, IBV_WC_LOC_PROT_ERR);
	pair_end(p);
	p = pair_of(IBV_QPT_RC, NULL);
	post(p.owner, IBV_WR_RDMA_READ, hole, mr->lkey, 64, peer.memory, peer.mr->rkey);
	expect(&owner, IBV_WC_LOC_PROT_ERR);
	pair_end(p);
	p = pair_of(IBV_QPT_RC, NULL);
	post_recv(p.owner, NULL, hole, mr->lkey, 64);
	post(p.peer, IBV_WR_SEND, peer.memory, peer.mr->lkey, 64, NULL, 0);
	expect(&peer, IBV_WC_REM_OP_ERR);
	expect(&owner, IBV_WC_LOC_PROT_ERR);
	pair_end(p);
	/* what was missing comes back, and works */
	map_at(owner.memory);
	p = pair_of(IBV_QPT_RC, NULL);
	pattern(peer.memory, SIZE, 6);
	post(p.peer, IBV_WR_RDMA_WRITE, peer.memory, peer.mr->lkey, 9 * PAGE, owner.memory,
	     mr->rkey);
	expect(&peer, IBV_WC_SUCCESS);
	must(has_pattern(owner.memory, 9 * PAGE, 6), "WRITE: other bytes");
	pair_end(p);
	must(!ibv_dereg_mr(mr), "dereg_mr");
}

/* What is written reaches the file; what is changed there is read. */
static void case_file(void)
{
	char name[] = "/tmp/odp.XXXXXX";
	int fd = mkstemp(name);
	struct pair p = pair_of(IBV_QPT_RC, NULL);
	uint8_t *file, *back = malloc(SIZE);
	struct ibv_mr *mr;

	must(back && fd >= 0 && !ftruncate(fd, SIZE), "no file");
	unlink(name);
	file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(file != MAP_FAILED, "mmap of a file");
	mr = reg(&owner, file, SIZE, ACCESS | IBV_ACCESS_ON_DEMAND);
	pattern(peer.memory, SIZE, 7);
	post(p.peer, IBV_WR_RDMA_WRITE, peer.memory, peer.mr->lkey, SIZE, file, mr->rkey);
	expect(&peer, IBV_WC_SUCCESS);
	must(!msync(file, SIZE, MS_SYNC), "msync");
	must(pread(fd, back, SIZE, 0) == SIZE && has_pattern(back, SIZE, 7), "the file has other bytes");
	/* clean now, and written to again */
	pattern(peer.memory, SIZE, 8);
	post(p.peer, IBV_WR_RDMA_WRITE, peer.memory, peer.mr->lkey, SIZE, file, mr->rkey);
	expect(&peer, IBV_WC_SUCCESS);
	must(!munmap(file, SIZE), "munmap");
	must(!fsync(fd) && pread(fd, back, SIZE, 0) == SIZE && has_pattern(back, SIZE, 8),
	     "the file has other bytes, again");
	post(p.peer, IBV_WR_RDMA_READ, peer.memory, peer.mr->lkey, 8, file, mr->rkey);
	expect(&peer, IBV_WC_REM_ACCESS_ERR);
	pair_end(p);
	must(!ibv_dereg_mr(mr), "dereg_mr");
	close(fd);
	free(back);
}

static void case_advise(void)
{
	struct ibv_mr *mr = reg(&owner, owner.memory, SIZE, ACCESS | IBV_ACCESS_ON_DEMAND);
	struct ibv_mr *to_read = reg(&owner, owner.memory, SIZE, IBV_ACCESS_ON_DEMAND);
	struct ibv_mr *all = reg(&owner, NULL, SIZE_MAX, ACCESS | IBV_ACCESS_ON_DEMAND);
	struct ibv_mr *pinned = reg(&owner, map_at(NULL), PAGE, ACCESS);
	uint8_t *m = owner.memory;
	struct ibv_sge sge[2] = {
		{ (uintptr_t)m + PAGE + 100, 2 * PAGE, mr->lkey },
		{ (uintptr_t)m + 20 * PAGE, PAGE, all->lkey },
	};
	double end = now() + PATIENCE;
	int err;

	/* page by page, not many in one */
	must(!madvise(m, SIZE, MADV_NOHUGEPAGE), "NOHUGEPAGE");
	err = advise(owner.pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		     IB_UVERBS_ADVISE_MR_FLAG_FLUSH, sge, 2);
	must(!err, "sync: %s", strerror(err));
	must(!present(m) && present(m + PAGE) && present(m + 3 * PAGE) && !present(m + 4 * PAGE) &&
	     present(m + 20 * PAGE) && !present(m + 21 * PAGE), "sync: other pages");
	sge[0].addr += 40 * PAGE;
	sge[1].addr += 40 * PAGE;
	err = advise(owner.pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0, sge, 2);
	must(!err, "async: %s", strerror(err));
	while (!present(m + 60 * PAGE) || !present(m + 43 * PAGE))
		must(now() < end, "async: the pages do not come");
	/* nothing comes of this, and that is no error */
	sge[0].addr += 40 * PAGE;
	err = advise(owner.pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
		     IB_UVERBS_ADVISE_MR_FLAG_FLUSH, sge, 1);
	must(!err, "no fault: %s", strerror(err));
	must(!present(m + 82 * PAGE), "no fault: pages come");

	sge[0].addr = (uintptr_t)m + SIZE - PAGE;
	must(advise(owner.pd, 0, 1, sge, 1) == EFAULT, "beyond the region: %s", strerror(errno));
	sge[0].lkey ^= 0x5500;
	must(advise(owner.pd, 0, 1, sge, 1) == ENOENT, "wrong key: %s", strerror(errno));
	sge[0] = (struct ibv_sge){ (uintptr_t)m, PAGE, to_read->lkey };
	must(advise(owner.pd, 1, 1, sge, 1) == EPERM, "to be read only: %s", strerror(errno));
	sge[0] = (struct ibv_sge){ (uintptr_t)pinned->addr, PAGE, pinned->lkey };
	must(advise(owner.pd, 0, 1, sge, 1) == EINVAL, "pinned: %s", strerror(errno));
	must(!munmap(m + 100 * PAGE, PAGE), "munmap");
	sge[0] = (struct ibv_sge){ (uintptr_t)m + 99 * PAGE, 2 * PAGE, mr->lkey };
	must(advise(owner.pd, 0, 1, sge, 1) == EFAULT, "a hole: %s", strerror(errno));
	must(!ibv_dereg_mr(mr) && !ibv_dereg_mr(to_read) && !ibv_dereg_mr(all) &&
	     !ibv_dereg_mr(pinned), "dereg_mr");
}

/* ---- churn ------------------------------------------------------------------------ */

static volatile bool churn_over;

/* Neighbours of the pages in use: dropped, forked away, unmapped and mapped */
static void *neighbour(void *unused)
{
	uint8_t *half = owner.memory + SIZE / 2;
	size_t length = SIZE / 2 - 64 * PAGE;
	pid_t child;

	while (!churn_over) {
		memset(half, 1, length);
		child = fork();
		if (!child)
			_exit(0);
		must(child > 0, "fork");
		memset(half, 2, length);
		waitpid(child, NULL, 0);
		must(!madvise(half, length, MADV_DONTNEED), "DONTNEED");
		must(!munmap(half, length), "munmap");
		must(mmap(half, length, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == half, "mmap");
	}
	return unused;
}

/*
 * Memory is mapped, written to by the peer, compared and unmapped, again and again;
 * what the peer has written before must not show, nor may it write to what has gone.
 */
static void churn(struct ibv_mr *mr)
{
	struct pair p = pair_of(IBV_QPT_RC, NULL);
	size_t length = 7 * PAGE + 100;
	uint8_t *here = owner.memory + 2 * PAGE + 50;
	uint8_t *stable = owner.memory + SIZE - 60 * PAGE;
	pthread_t thread;
	int i;

	churn_over = false;
	must(!pthread_create(&thread, NULL, neighbour, NULL), "no thread");
	for (i = 0; i < CHURNS; i++) {
		must(mmap(owner.memory, 16 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == owner.memory, "mmap");
		pattern(peer.memory, length, i);
		post(p.peer, IBV_WR_RDMA_WRITE, peer.memory, peer.mr->lkey, length, here, mr->rkey);
		post(p.peer, IBV_WR_RDMA_WRITE, peer.memory, peer.mr->lkey, length, stable,
		     mr->rkey);
		expect(&peer, IBV_WC_SUCCESS);
		expect(&peer, IBV_WC_SUCCESS);
		must(has_pattern(here, length, i), "round %d: other bytes", i);
		must(has_pattern(stable, length, i), "round %d: other bytes, stable", i);
		pattern(here, length, i + 1);
		post(p.peer, IBV_WR_RDMA_READ, peer.memory, peer.mr->lkey, length, here, mr->rkey);
		expect(&peer, IBV_WC_SUCCESS);
		must(has_pattern(peer.memory, length, i + 1), "round %d: READ of other bytes", i);
		if (i % 3)
			must(!munmap(owner.memory, 16 * PAGE), "munmap");
	}
	churn_over = true;
	must(!pthread_join(thread, NULL), "join");
	pair_end(p);
	owner.memory = map_at(owner.memory);
}

static void case_churn(void)
{
	struct ibv_mr *mr = reg(&owner, owner.memory, SIZE, ACCESS | IBV_ACCESS_ON_DEMAND);
	struct ibv_mr *all = reg(&owner, NULL, SIZE_MAX, ACCESS | IBV_ACCESS_ON_DEMAND);

	churn(mr);
	churn(all);
	must(!ibv_dereg_mr(mr) && !ibv_dereg_mr(all), "dereg_mr");
}

/* A window of each type that is bound to memory on demand */
static void case_window(void)
{
	struct ibv_mr *mr = reg(&owner, owner.memory, SIZE,
				ACCESS | IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND);
	struct ibv_mw *mw = ibv_alloc_mw(owner.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = mr, .addr = (uintptr_t)owner.memory + PAGE, .length = PAGE,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};
	struct pair p = pair_of(IBV_QPT_RC, NULL);

	must(mw, "no memory window");
	must(!ibv_bind_mw(p.owner, mw, &bind), "bind_mw");
	expect(&owner, IBV_WC_SUCCESS);
	pattern(peer.memory, PAGE, 9);
	post(p.peer, IBV_WR_RDMA_WRITE, peer.memory, peer.mr->lkey, PAGE, owner.memory + PAGE,
	     mw->rkey);
	expect(&peer, IBV_WC_SUCCESS);
	must(has_pattern(owner.memory + PAGE, PAGE, 9), "WRITE: other bytes");
	must(ibv_dereg_mr(mr), "the region goes before its window");
	post(p.peer, IBV_WR_RDMA_WRITE, peer.memory, peer.mr->lkey, PAGE, owner.memory + PAGE + 1,
	     mw->rkey);
	expect(&peer, IBV_WC_REM_ACCESS_ERR);
	must(!ibv_dealloc_mw(mw), "dealloc_mw");
	pair_end(p);
	must(!ibv_dereg_mr(mr), "dereg_mr");
}

/* What main() looks at before any case is all. */
static void case_supported(void)
{
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "supported", case_supported },
	{ "explicit", case_explicit },
	{ "implicit", case_implicit },
	{ "unreliable", case_unreliable },
	{ "holes", case_holes },
	{ "file", case_file },
	{ "advise", case_advise },
	{ "churn", case_churn },
	{ "window", case_window },
};

int main(int argc, char **argv)
{
	struct ibv_device_attr_ex attr;
	size_t i;

	must(argc == 4, "wrong arguments");
	side_open(&peer, "rxe0", atoi(argv[2]));
	side_open(&owner, "rxe1", atoi(argv[3]));
	must(!ibv_query_device_ex(owner.context, NULL, &attr), "query_device_ex");
	if (!(attr.odp_caps.general_caps & IBV_ODP_SUPPORT)) {
		must(!ibv_reg_mr(owner.pd, owner.memory, SIZE, ACCESS | IBV_ACCESS_ON_DEMAND),
		     "not announced, but accepted");
		return 77;
	}
	must(attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT, "no implicit paging");
	peer.mr = reg(&peer, peer.memory, SIZE, ACCESS);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	}
	must(false, "no case %s", argv[1]);
	return 1;
}
