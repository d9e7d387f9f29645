// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * storm - queue pairs between rxe0 and rxe1 that do everything at once.
 *
 *	storm torture PAIRS SECONDS [SEED]	requests of all kinds, some of them
 *			wrong; queue pairs destroyed, reset and connected again,
 *			memory taken away, all in the middle of it (storm-torture.c)
 *	storm lives COUNT [SEED]	so many queue pairs created, connected, and
 *			destroyed with packets in flight (on a wire that takes its time),
 *			a thousand at a time, in any order
 *	storm scale PAIRS MESSAGES	so many connections, each sends so many
 *			messages at the same time; every byte is compared
 *	storm crowd PROCESSES SECONDS [SEED]	torture of two pairs in each
 *			process; half of them are killed, and half of the others at
 *			least must have done something
 *	storm compare ROUNDS [SEED]	over one connection WRITEs, READs, SENDs and
 *			atomics beside each other, so many times, by each side in turn;
 *			then every byte of both memories is what it must be, also
 *			beside the messages
 *
 * With STORM_ON_DEMAND in the environment memory is not pinned, and its pages go, too. With
 * STORM_GID=v6 the addresses are those of IPv6.
 *
 * torture says "begun" when requests are being executed. With STORM_ALL it goes on until it
 * has done some of each kind, and fails if a hundred seconds more were not enough.
 *
 * The last line counts what was done; a run that has done nothing fails, with status 1.
 * Status 3: a device has gone, which the caller may have wanted. Status 4: it has not, and a
 * verb failed that cannot, or a request was executed that must not be.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "random.h"
#include "storm.h"

enum {
	SCALE_BYTES	= 2048,		/* of a message of "scale" */
	SLOT		= MEMORY / DEPTH,	/* of a message of "compare" */
	ATOMICS		= 4,		/* of a round of "compare" */
	BATCH		= 1000,		/* queue pairs of "lives" at a time */
	SHORT		= 1 << 14,	/* most messages of "lives" are not longer */
};

struct side sides[2];
int on_demand;
uint64_t sent, received, failures;
void (*completed)(const struct ibv_wc *wc);
static uint64_t creations;

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

void counts(void)
{
	printf("%" PRIu64 " queue pairs, %" PRIu64 " requests done, %" PRIu64 " received, %"
	       PRIu64 " failed\n", creations, sent, received, failures);
	fflush(stdout);
}

/* Every command of a device that has gone fails so. */
static bool gone(const struct side *s)
{
	struct ibv_device_attr attr;
	int err = s->context ? ibv_query_device(s->context, &attr) : 0;

	return err == EIO || err == ENODEV;
}

/* A call has failed: has the device gone? The call may say something else. */
void die(const char *what)
{
	int err = errno;

	counts();
	fprintf(stderr, "storm: %s: %s\n", what, strerror(err));
	exit(err == EIO || err == ENODEV || gone(&sides[0]) || gone(&sides[1]) ? GONE : WRONG);
}

/* Most verbs return the error, some set it. */
void must(int err, const char *what)
{
	if (!err)
		return;
	if (err > 0)
		errno = err;
	die(what);
}

/* --- queue pairs ------------------------------------------------------------ */

/* An IPv4 address, or a unique local one of IPv6 */
static bool gid_wanted(const union ibv_gid *gid)
{
	const char *kind = getenv("STORM_GID");

	if (kind && !strcmp(kind, "v6"))
		return gid->raw[0] == 0xfd;
	return !gid->global.subnet_prefix && gid->raw[10] == 0xff && gid->raw[11] == 0xff;
}

/* Where its address is now: one that went and came back may have another place. */
bool side_address(struct side *s)
{
	static const union ibv_gid none;
	bool known = memcmp(&s->gid, &none, sizeof(none));
	union ibv_gid gid;
	int i;

	for (i = 0; i < 8; i++) {
		if (ibv_query_gid(s->context, 1, i, &gid) ||
		    (known ? memcmp(&gid, &s->gid, sizeof(gid)) : !gid_wanted(&gid)))
			continue;
		s->gid = gid;
		s->gid_index = i;
		return true;
	}
	return false;
}

static void side_open(struct side *s, const char *name, int cqes)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			s->context = ibv_open_device(list[i]);
	if (!s->context) {
		fprintf(stderr, "storm: no device %s\n", name);
		exit(GONE);
	}
	s->pd = ibv_alloc_pd(s->context);
	if (!s->pd)
		die("alloc_pd");
	s->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	s->mr = ibv_reg_mr(s->pd, s->memory, MEMORY, ACCESS | on_demand);
	s->cq = ibv_create_cq(s->context, cqes, NULL, NULL, 0);
	if (!s->mr || !s->cq)
		die("reg_mr, create_cq");
	if (!side_address(s)) {
		fprintf(stderr, "storm: %s has no address\n", name);
		exit(GONE);
	}
}

void open_both(int cqes)
{
	side_open(&sides[0], "rxe0", cqes);
	side_open(&sides[1], "rxe1", cqes);
}

struct ibv_qp *qp_make(struct side *s, enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.srq = srq,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = SGES,
			 .max_recv_sge = SGES, .max_inline_data = INLINE },
	};
	struct ibv_qp *qp = ibv_create_qp(s->pd, &init);

	if (!qp)
		die("create_qp");
	creations++;
	return qp;
}

static struct ibv_qp *qp_create(struct side *s)
{
	return qp_make(s, IBV_QPT_RC, NULL);
}

static void qp_init(struct ibv_qp *qp)
{
	bool ud = qp->qp_type == IBV_QPT_UD;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS & ~1, .qkey = QKEY,
	};

	must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			   (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)), "modify_qp to INIT");
}

static bool qp_failed(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return !ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_ERR;
}

/*
 * What each transport wants to know. False: there is no address at the moment, or the queue
 * pair has failed already.
 */
static bool qp_connect(struct ibv_qp *qp, struct side *s, const struct side *peer,
		       uint32_t number, bool patient)
{
	bool rc = qp->qp_type == IBV_QPT_RC, ud = qp->qp_type == IBV_QPT_UD;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = patient ? IBV_MTU_1024 : IBV_MTU_256 + below(3),
		.dest_qp_num = number,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = peer->gid, .sgid_index = s->gid_index,
				      .hop_limit = 64 } },
	};
	int err, mask = IBV_QP_STATE, tries = 100;

	if (!ud)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (rc)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	/* rxe never says ENOBUFS: the stack had no memory for a route or a neighbour (faults.sh) */
	do {
		err = ibv_modify_qp(qp, &attr, mask);
	} while (err == ENOBUFS && tries--);
	if (err) {
		side_address(s);
		return false;
	}
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = patient ? 16 : 8;
	attr.retry_cnt = patient ? 7 : 2;
	attr.rnr_retry = patient ? 7 : 2;
	attr.max_rd_atomic = 4;
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (rc)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	err = ibv_modify_qp(qp, &attr, mask);
	/* it receives since RTR: a wrong request may have come first, and ended it */
	if (err && !patient && qp_failed(qp))
		return false;
	must(err, "modify_qp to RTS");
	return true;
}

bool pair_connect(struct ibv_qp *qp[2], bool patient)
{
	qp_init(qp[0]);
	qp_init(qp[1]);
	return qp_connect(qp[0], &sides[0], &sides[1], qp[1]->qp_num, patient) &&
	       qp_connect(qp[1], &sides[1], &sides[0], qp[0]->qp_num, patient);
}

void poll_cq(void)
{
	struct ibv_wc wc[32];
	int s, i, n;

	for (s = 0; s < 2; s++) {
		n = ibv_poll_cq(sides[s].cq, 32, wc);
		for (i = 0; i < n; i++) {
			if (completed)
				completed(&wc[i]);
			if (wc[i].status) {
				failures++;
			} else if (wc[i].opcode & IBV_WC_RECV) {
				received++;
			} else {
				sent++;
			}
		}
	}
}

/* --- scale ------------------------------------------------------------------ */

/* Requests of lives whose both ends were there, and those of them that were executed */
static uint64_t posted, executed;

static void lived(const struct ibv_wc *wc)
{
	executed += !wc->status && wc->wr_id;
	/* it is all that may happen to a queue pair whose peer has gone */
	if (!wc->status || wc->status == IBV_WC_RETRY_EXC_ERR || wc->status == IBV_WC_WR_FLUSH_ERR)
		return;
	fprintf(stderr, "storm: %s\n", ibv_wc_status_str(wc->status));
	exit(WRONG);
}

/* Two WRITEs and a READ, which nobody waits for; now and then long ones */
static void post_in_flight(struct ibv_qp *qp, const struct side *s, bool peer_lives)
{
	const struct side *peer = s == &sides[0] ? &sides[1] : &sides[0];
	struct ibv_sge sge = { (uintptr_t)s->memory, 1 + below(one_in(8) ? MEMORY : SHORT),
			       s->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = peer_lives,
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)peer->memory, .rkey = peer->mr->rkey },
	}, *bad;
	int i;

	for (i = 0; i < 3; i++) {
		if (i == 2)
			wr.opcode = IBV_WR_RDMA_READ;
		must(ibv_post_send(qp, &wr, &bad), "post_send");
		posted += peer_lives;
	}
}

/* The queue pairs at 0 and 1, 2 and 3 and so on are connected with each other. */
static void lives(int count)
{
	struct ibv_qp *qp[BATCH];
	int order[BATCH], i, j, n;

	open_both(1024);
	completed = lived;
	count += count & 1;
	while (count > 0) {
		n = count < BATCH ? count : BATCH;
		for (i = 0; i < n; i++) {
			qp[i] = qp_create(&sides[i & 1]);
			order[i] = i;
		}
		for (i = 0; i < n; i += 2)
			if (!pair_connect(&qp[i], true))
				die("modify_qp to RTR");
		for (i = 0; i < n; i++) {
			j = i + below(n - i);
			count--;
			if (qp[order[j] ^ 1])
				post_in_flight(qp[order[j] ^ 1], &sides[~order[j] & 1], true);
			post_in_flight(qp[order[j]], &sides[order[j] & 1], qp[order[j] ^ 1]);
			must(ibv_destroy_qp(qp[order[j]]), "destroy_qp");
			qp[order[j]] = NULL;
			order[j] = order[i];
			poll_cq();
		}
	}
	poll_cq();
	printf("%" PRIu64 " of %" PRIu64 " requests were in flight when an end went\n",
	       posted - executed, posted);
	counts();
	/* of an end that goes most are, if the wire takes its time */
	exit(posted - executed > posted / 4 ? 0 : 1);
}

/* Message @m of pair @i begins with its own number and goes on with its bytes. */
static void pattern(uint8_t *p, uint32_t i, uint32_t m)
{
	uint32_t k;

	for (k = 0; k < SCALE_BYTES; k++)
		p[k] = (i * 7 + m * 13 + k) ^ (i >> 8);
}

/* So many completions of sends and receives in all, before the end of @seconds */
static void complete(uint64_t sends, uint64_t receives, double seconds, int round)
{
	double start = now();

	while ((sent < sends || received < receives) && !failures && now() - start < seconds)
		poll_cq();
	if (sent == sends && received == receives)
		return;
	counts();
	fprintf(stderr, "storm: round %d: not all is done\n", round);
	exit(1);
}

static void scale(int pairs, int messages)
{
	uint8_t want[SCALE_BYTES], *from, *to;
	struct ibv_qp *(*qp)[2] = calloc(pairs, sizeof(*qp));
	size_t size = (size_t)pairs * SCALE_BYTES;
	struct ibv_mr *mr[2];
	int i, m;

	open_both(4 * pairs);
	from = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mr[0] = ibv_reg_mr(sides[0].pd, from, size, ACCESS);
	mr[1] = ibv_reg_mr(sides[1].pd, to, size, ACCESS);
	if (!mr[0] || !mr[1])
		die("reg_mr");
	for (i = 0; i < pairs; i++) {
		qp[i][0] = qp_create(&sides[0]);
		qp[i][1] = qp_create(&sides[1]);
		if (!pair_connect(qp[i], true))
			die("modify_qp to RTR");
	}
	printf("connected\n");
	fflush(stdout);
	for (m = 0; m < messages; m++) {
		uint64_t wanted = sent + pairs;

		for (i = 0; i < pairs; i++) {
			struct ibv_sge in = { (uintptr_t)to + (size_t)i * SCALE_BYTES, SCALE_BYTES,
					      mr[1]->lkey };
			struct ibv_sge out = { (uintptr_t)from + (size_t)i * SCALE_BYTES,
					       SCALE_BYTES, mr[0]->lkey };
			struct ibv_recv_wr recv = { .sg_list = &in, .num_sge = 1 }, *bad_recv;
			struct ibv_send_wr send = { .sg_list = &out, .num_sge = 1,
						    .opcode = IBV_WR_SEND }, *bad_send;

			pattern(from + (size_t)i * SCALE_BYTES, i, m);
			must(ibv_post_recv(qp[i][1], &recv, &bad_recv), "post_recv");
			must(ibv_post_send(qp[i][0], &send, &bad_send), "post_send");
		}
		complete(wanted, wanted, 300, m);
		for (i = 0; i < pairs; i++) {
			pattern(want, i, m);
			if (memcmp(want, to + (size_t)i * SCALE_BYTES, SCALE_BYTES)) {
				fprintf(stderr, "storm: message %d of pair %d has other bytes\n", m, i);
				exit(1);
			}
		}
	}
	counts();
}

/* --- compare ----------------------------------------------------------------- */

/* What both memories must be */
static uint8_t *wanted[2];

static void fill(uint8_t *memory)
{
	uint64_t number;
	int i;

	for (i = 0; i < MEMORY; i += sizeof(number)) {
		number = random64();
		memcpy(memory + i, &number, sizeof(number));
	}
}

/* A message that the queue pair of one side asks for, inside a slot; its length. */
static uint32_t post_message(struct ibv_qp *qp[2], int by, enum ibv_wr_opcode opcode, int slot)
{
	struct side *near = &sides[by], *far = &sides[!by];
	uint32_t begin = slot * SLOT + below(64), length = below(SLOT - 128);
	struct ibv_sge here = { (uintptr_t)near->memory + begin, length, near->mr->lkey };
	struct ibv_sge there = { (uintptr_t)far->memory + begin, length, far->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &there, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.sg_list = &here,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = there.addr, .rkey = far->mr->rkey },
	}, *bad;
	int to = opcode == IBV_WR_RDMA_READ ? by : !by;

	if (opcode == IBV_WR_SEND)
		must(ibv_post_recv(qp[!by], &recv, &bad_recv), "post_recv");
	memcpy(wanted[to] + begin, sides[!to].memory + begin, length);
	must(ibv_post_send(qp[by], &wr, &bad), "post_send");
	return length;
}

/* The word at @at of the other side's memory changes; what it was comes to that of this one. */
static void post_atomic(struct ibv_qp *qp, int by, uint32_t at, uint32_t result)
{
	struct ibv_sge sge = { (uintptr_t)sides[by].memory + result, 8, sides[by].mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = one_in(2) ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.atomic = { .remote_addr = (uintptr_t)sides[!by].memory + at,
			       .rkey = sides[!by].mr->rkey, .swap = random64() },
	}, *bad;
	uint64_t word;

	memcpy(&word, wanted[!by] + at, 8);
	memcpy(wanted[by] + result, &word, 8);
	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.compare_add = random64();
		word += wr.wr.atomic.compare_add;
	} else {
		/* every third one in vain */
		wr.wr.atomic.compare_add = word + one_in(3);
		if (wr.wr.atomic.compare_add == word)
			word = wr.wr.atomic.swap;
	}
	memcpy(wanted[!by] + at, &word, 8);
	must(ibv_post_send(qp, &wr, &bad), "post_send");
}

static void compare(int rounds)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND };
	struct ibv_qp *qp[2];
	uint64_t moved = 0;
	int i, round, side;

	open_both(4 * DEPTH);
	for (side = 0; side < 2; side++) {
		qp[side] = qp_create(&sides[side]);
		wanted[side] = malloc(MEMORY);
	}
	if (!pair_connect(qp, true))
		die("modify_qp to RTR");
	for (round = 0; round < rounds; round++) {
		uint64_t sends = sent + DEPTH, receives = received;
		int by = round & 1;

		for (side = 0; side < 2; side++) {
			fill(sides[side].memory);
			memcpy(wanted[side], sides[side].memory, MEMORY);
		}
		for (i = 0; i < DEPTH; i++) {
			enum ibv_wr_opcode opcode = opcodes[below(3)];

			if (i % (DEPTH / ATOMICS) == 1) {
				post_atomic(qp[by], by, (DEPTH - 1) * SLOT, (DEPTH - 1) * SLOT + 8 * i);
				moved += 8;
				continue;
			}
			receives += opcode == IBV_WR_SEND;
			/* the last slot is the atomics', theirs is the last message's */
			moved += post_message(qp, by, opcode, i == DEPTH - 1 ? 1 : i);
		}
		complete(sends, receives, 60, round);
		for (side = 0; side < 2; side++) {
			for (i = 0; i < MEMORY && sides[side].memory[i] == wanted[side][i]; i++)
				;
			if (i == MEMORY)
				continue;
			fprintf(stderr, "storm: round %d: byte %d of slot %d of rxe%d is wrong\n",
				round, i % SLOT, i / SLOT, side);
			exit(1);
		}
	}
	printf("%" PRIu64 " bytes moved and compared\n", moved);
	counts();
}

static void crowd(int processes, double seconds)
{
	int i, status, ended = 0, idle = 0, killed = 0;
	pid_t *child = calloc(processes, sizeof(*child));

	for (i = 0; i < processes; i++) {
		random64();
		child[i] = fork();
		if (child[i] < 0)
			die("fork");
		if (!child[i]) {
			seed += i * 2654435761u;
			torture(2, seconds, seed);
		}
	}
	usleep(seconds * 500000);
	for (i = 0; i < processes; i += 2)
		kill(child[i], SIGKILL);
	for (i = 0; i < processes; i++) {
		if (waitpid(child[i], &status, 0) < 0)
			die("waitpid");
		if (WIFSIGNALED(status)) {
			killed += WTERMSIG(status) == SIGKILL;
		} else if (WEXITSTATUS(status) <= 1) {
			ended++;
			idle += WEXITSTATUS(status);
		}
	}
	printf("%d ended, %d of them without having done anything, %d killed\n", ended, idle, killed);
	/* so many share the time that one of them may have had none, but not most of them */
	exit(ended + killed == processes && ended && 2 * idle <= ended ? 0 : 1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	int numbers = !strcmp(what, "lives") || !strcmp(what, "compare") ? 1 : 2;

	if (argc < 2 + numbers) {
		fprintf(stderr, "usage: storm torture PAIRS SECONDS [SEED] | storm lives COUNT [SEED]\n"
			"       storm scale PAIRS MESSAGES | storm crowd PROCESSES SECONDS [SEED]\n"
			"       storm compare ROUNDS [SEED]\n");
		return 2;
	}
	seed = argc > 2 + numbers ? strtoull(argv[2 + numbers], NULL, 0) :
				    (uint64_t)time(NULL) * 2654435761u + getpid();
	seed |= 1;
	on_demand = getenv("STORM_ON_DEMAND") ? IBV_ACCESS_ON_DEMAND : 0;
	printf("seed %" PRIu64 "\n", seed);
	fflush(stdout);
	if (!strcmp(what, "torture"))
		torture(atoi(argv[2]), atof(argv[3]), seed);
	else if (!strcmp(what, "lives"))
		lives(atoi(argv[2]));
	else if (!strcmp(what, "compare"))
		compare(atoi(argv[2]));
	else if (!strcmp(what, "scale"))
		scale(atoi(argv[2]), atoi(argv[3]));
	else if (!strcmp(what, "crowd"))
		crowd(atoi(argv[2]), atof(argv[3]));
	else
		return 2;
	return 0;
}
