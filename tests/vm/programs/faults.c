// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * faults - each allocation of each call fails once, between rxe0 and rxe1.
 *
 *	faults SEED NAME...	so-called calls, of the table at the end; all without a name
 *	faults list		their names
 *
 * A kernel with CONFIG_FAULT_INJECTION fails the Nth allocation of a thread that asks for it
 * (/proc/thread-self/fail-nth). For N = 1, 2, ... until a call needs fewer: the call either
 * succeeds all the same, or says that there is no memory, and has then changed nothing: the
 * next one, without a failure, succeeds. What is sent while memory lacks is sent later, and
 * arrives whole. Of links, which take seconds and thousands of allocations, not each N, but
 * those that SEED brings. Ends with status 77 if the kernel cannot do that.
 *
 * The last line of each says how many allocations were made to fail.
 */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "advise.h"
#include "need.h"
#include "random.h"
#include "rc.h"

enum {
	PAYLOAD	= 20000,	/* five packets of 4096 bytes, twenty of 1024 */
	LONG	= 90,		/* seconds without a completion */
	MOST	= 200000,	/* allocations of a call */
	ACCESS	= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
};

struct side {
	struct ibv_context	*context;
	struct ibv_pd		*pd;
	struct ibv_cq		*cq;
	struct ibv_mr		*mr;
	struct ibv_qp		*qp;
	union ibv_gid		gid;
	int			gid_index;
};

/* What a call works on, and what it leaves */
static struct {
	struct side		near, far;
	struct ibv_device	*device;
	struct ibv_comp_channel	*channel;
	/* of the call under test */
	struct ibv_context	*context;
	struct ibv_pd		*pd;
	struct ibv_mr		*mr;
	struct ibv_mw		*mw;
	struct ibv_cq		*cq;
	struct ibv_srq		*srq;
	struct ibv_qp		*qp;
	struct ibv_ah		*ah;
	union ibv_gid		group;
} world;

/* of both sides: what one of them writes is in the other one's memory at once */
static struct {
	uint8_t	out[PAYLOAD];
	uint8_t	in[PAYLOAD] __attribute__((aligned(8)));
} bytes __attribute__((aligned(4096)));

static uint8_t large[8 << 20] __attribute__((aligned(4096)));

struct call {
	const char	*name;
	void		(*before)(void);	/* what it needs; no failures */
	int		(*call)(void);		/* an error number, or 0 */
	void		(*after)(void);		/* undo what succeeded; no failures */
	int		also;			/* what it may say beside those below */
	bool		sampled;		/* thousands of them, seconds each: not all */
};

/* ---- failures --------------------------------------------------------------------- */

static int fail_nth = -1;

/* An open file, so that nothing but the call allocates memory in between */
static void fail_open(void)
{
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR);
	if (fail_nth < 0) {
		printf("no fail-nth: %s\n", strerror(errno));
		exit(77);
	}
}

static void fail_the(int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", n);

	NEED(pwrite(fail_nth, text, length, 0) == length);
}

/* Has it failed? What is left is not to fail. */
static bool has_failed(void)
{
	char text[16] = "";

	NEED(pread(fail_nth, text, sizeof(text) - 1, 0) > 0);
	fail_the(0);
	return !atoi(text);
}

/* The errors that say so; the last three are those of a copy to or from user memory, whose
 * page could not come, of a call that is to be repeated, and of a file that is not opened. */
static bool lacks_memory(int error)
{
	return error == ENOMEM || error == ENOBUFS || error == EFAULT || error == EAGAIN ||
	       error == ENFILE;
}

static void each_allocation(const struct call *call)
{
	int n, error, tried = 0, failed = 0;
	bool reached = true;

	for (n = 1; reached; n += call->sampled ? 1 + below(1 + n / 2) : 1) {
		if (n > MOST)
			FAIL("%s: more than %d allocations", call->name, MOST);
		if (call->before)
			call->before();
		fail_the(n);
		error = call->call();
		reached = has_failed();
		if (error && !reached)
			FAIL("%s: fails with nothing made to fail: %s", call->name, strerror(error));
		if (error && !lacks_memory(error) && error != call->also)
			FAIL("%s: allocation %d fails: it says %s", call->name, n, strerror(error));
		if (error) {
			failed++;
			error = call->call();
			if (error)
				FAIL("%s: allocation %d failed, and it cannot be repeated: %s",
				     call->name, n, strerror(error));
		}
		tried += reached;
		if (call->after)
			call->after();
	}
	printf("%s: %d allocations failed, %d of them were needed\n", call->name, tried, failed);
}

/* ---- the calls -------------------------------------------------------------------- */

/* librxe sets errno where it has no number to return */
static int made(const void *object)
{
	if (object)
		return 0;
	return errno ? errno : EINVAL;
}

static int open_device(void)
{
	world.context = ibv_open_device(world.device);
	return made(world.context);
}

static void close_device(void)
{
	NEED(!ibv_close_device(world.context));
}

static int query_device(void)
{
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;
	int error = ibv_query_device_ex(world.near.context, NULL, &attr);

	return error ? error : ibv_query_port(world.near.context, 1, &port);
}

static int alloc_pd(void)
{
	world.pd = ibv_alloc_pd(world.near.context);
	return made(world.pd);
}

static void dealloc_pd(void)
{
	NEED(!ibv_dealloc_pd(world.pd));
}

static int reg_mr(void)
{
	world.mr = ibv_reg_mr(world.near.pd, large, 4096, ACCESS);
	return made(world.mr);
}

/* more pages than one page has pointers to */
static int reg_large_mr(void)
{
	world.mr = ibv_reg_mr(world.near.pd, large, sizeof(large), ACCESS);
	return made(world.mr);
}

static int reg_odp_mr(void)
{
	world.mr = ibv_reg_mr(world.near.pd, large, sizeof(large), ACCESS | IBV_ACCESS_ON_DEMAND);
	return made(world.mr);
}

static void need_odp_mr(void)
{
	NEED(!reg_odp_mr());
}

static int prefetch(void)
{
	struct ibv_sge sge = { (uintptr_t)large, 65536, world.mr->lkey };

	return advise(world.near.pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		      IB_UVERBS_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

static void dereg_mr(void)
{
	NEED(!ibv_dereg_mr(world.mr));
}

static void need_mr(void)
{
	NEED(!reg_mr());
}

static int dereg_mr_call(void)
{
	return ibv_dereg_mr(world.mr);
}

static int alloc_mw(void)
{
	world.mw = ibv_alloc_mw(world.near.pd, IBV_MW_TYPE_2);
	return made(world.mw);
}

static void dealloc_mw(void)
{
	NEED(!ibv_dealloc_mw(world.mw));
}

static int create_cq(void)
{
	world.cq = ibv_create_cq(world.near.context, 1000, NULL, world.channel, 0);
	return made(world.cq);
}

static void destroy_cq(void)
{
	NEED(!ibv_destroy_cq(world.cq));
}

static void need_cq(void)
{
	NEED(!create_cq());
}

static int destroy_cq_call(void)
{
	return ibv_destroy_cq(world.cq);
}

static int resize_cq(void)
{
	return ibv_resize_cq(world.cq, 5000);
}

static int create_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 500, .max_sge = 4 } };

	world.srq = ibv_create_srq(world.near.pd, &attr);
	return made(world.srq);
}

static void destroy_srq(void)
{
	NEED(!ibv_destroy_srq(world.srq));
}

static void need_srq(void)
{
	NEED(!create_srq());
}

static int resize_srq(void)
{
	struct ibv_srq_attr attr = { .max_wr = 2000 };

	return ibv_modify_srq(world.srq, &attr, IBV_SRQ_MAX_WR);
}

static int destroy_srq_call(void)
{
	return ibv_destroy_srq(world.srq);
}

static struct ibv_qp *create_qp(struct side *side, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = side->cq, .recv_cq = side->cq, .qp_type = type,
		.cap = { .max_send_wr = 100, .max_recv_wr = 100, .max_send_sge = 4,
			 .max_recv_sge = 4, .max_inline_data = 200 },
	};

	return ibv_create_qp(side->pd, &attr);
}

static int create_rc_qp(void)
{
	world.qp = create_qp(&world.near, IBV_QPT_RC);
	return made(world.qp);
}

static int create_ud_qp(void)
{
	world.qp = create_qp(&world.near, IBV_QPT_UD);
	return made(world.qp);
}

static void destroy_qp(void)
{
	NEED(!ibv_destroy_qp(world.qp));
}

static void need_rc_qp(void)
{
	NEED(!create_rc_qp());
}

static int destroy_qp_call(void)
{
	return ibv_destroy_qp(world.qp);
}

/* INIT, RTR and RTS; each of them once, however often it is called */
static int connect_qp(void)
{
	struct ibv_qp_attr attr = {
		.port_num = 1, .path_mtu = IBV_MTU_1024, .dest_qp_num = 0x4711,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE, .min_rnr_timer = 1, .timeout = 16,
		.retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 16, .max_dest_rd_atomic = 16,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = world.far.gid, .sgid_index = world.near.gid_index,
				      .hop_limit = 64 } },
	};
	static const struct {
		enum ibv_qp_state from, to;
		int mask;
	} steps[] = {
		{ IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		  IBV_QP_ACCESS_FLAGS },
		{ IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
		{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC },
	};
	unsigned int i;
	int error;

	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		if (world.qp->state != steps[i].from)
			continue;
		attr.qp_state = steps[i].to;
		error = ibv_modify_qp(world.qp, &attr, IBV_QP_STATE | steps[i].mask);
		if (error)
			return error;
	}
	return 0;
}

static int query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(world.near.qp, &attr, IBV_QP_STATE | IBV_QP_AV, &init);
}

static int create_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = world.far.gid, .sgid_index = world.near.gid_index, .hop_limit = 9 },
	};

	world.ah = ibv_create_ah(world.near.pd, &attr);
	return made(world.ah);
}

static void destroy_ah(void)
{
	NEED(!ibv_destroy_ah(world.ah));
}

static void need_ud_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7 };

	NEED(!create_ud_qp());
	NEED(!ibv_modify_qp(world.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_QKEY));
	memset(&world.group, 0, sizeof(world.group));
	world.group.raw[10] = 0xff;
	world.group.raw[11] = 0xff;
	world.group.raw[12] = 239;
	world.group.raw[15] = 9;
}

static int attach(void)
{
	return ibv_attach_mcast(world.qp, &world.group, 0);
}

static void detach(void)
{
	NEED(!ibv_detach_mcast(world.qp, &world.group, 0));
	destroy_qp();
}

static void need_attached(void)
{
	need_ud_qp();
	NEED(!attach());
}

static int detach_call(void)
{
	return ibv_detach_mcast(world.qp, &world.group, 0);
}

/* ---- what is posted ------------------------------------------------------------------ */

static void completion(struct ibv_cq *cq, struct ibv_wc *wc)
{
	time_t end = time(NULL) + LONG;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, wc)))
		if (time(NULL) > end)
			FAIL("no completion within %d seconds", LONG);
	NEED(n == 1);
	if (wc->status)
		FAIL("a completion says %s", ibv_wc_status_str(wc->status));
}

static void new_bytes(void)
{
	static uint8_t first;
	unsigned int i;

	first += 7;
	for (i = 0; i < PAYLOAD; i++)
		bytes.out[i] = first + i % 251;
	memset(bytes.in, 0, PAYLOAD);
}

static void same_bytes(void)
{
	if (memcmp(bytes.out, bytes.in, PAYLOAD))
		FAIL("the bytes that arrived are not those that were sent");
}

/* Requests in the ring. librxe has put one there even if the call that tells the driver fails:
 * the next one brings both. */
static int posted;

static int post(enum ibv_wr_opcode opcode, void *local, void *remote, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)local, length, world.near.mr->lkey };
	struct ibv_send_wr *refused, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)remote, world.far.mr->rkey },
	};

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)remote;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.rkey = world.far.mr->rkey;
	}
	posted++;
	return ibv_post_send(world.near.qp, &wr, &refused);
}

static void sent(void)
{
	struct ibv_wc wc;

	for (; posted; posted--)
		completion(world.near.cq, &wc);
}

static void arrived(void)
{
	sent();
	same_bytes();
}

static int post_write(void)
{
	return post(IBV_WR_RDMA_WRITE, bytes.out, bytes.in, PAYLOAD);
}

static int post_read(void)
{
	return post(IBV_WR_RDMA_READ, bytes.in, bytes.out, PAYLOAD);
}

static int post_send(void)
{
	return post(IBV_WR_SEND, bytes.out, NULL, PAYLOAD);
}

static void post_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)bytes.in, PAYLOAD, world.far.mr->lkey };
	struct ibv_recv_wr *refused, wr = { .sg_list = &sge, .num_sge = 1 };

	NEED(!ibv_post_recv(world.far.qp, &wr, &refused));
}

static void need_receive(void)
{
	new_bytes();
	post_receive();
}

static void received(void)
{
	struct ibv_wc wc;
	int i;

	for (i = 1; i < posted; i++)
		post_receive();
	for (i = 0; i < posted; i++) {
		completion(world.far.cq, &wc);
		NEED(wc.byte_len == PAYLOAD);
	}
	arrived();
}

static uint64_t expected;

static void need_word(void)
{
	memcpy(&expected, bytes.in, sizeof(expected));
}

static int post_atomic(void)
{
	return post(IBV_WR_ATOMIC_FETCH_AND_ADD, bytes.out, bytes.in, 8);
}

static void each_added_once(void)
{
	uint64_t now, sum = expected + posted;

	sent();
	memcpy(&now, bytes.in, sizeof(now));
	NEED(now == sum);
}

/* ---- links, as the rdma tool makes them ------------------------------------------------ */

static struct {
	struct nlmsghdr	header;
	uint8_t		attributes[256];
} request;

static void put(uint16_t type, const void *value, size_t size)
{
	struct nlattr *attr = (struct nlattr *)((uint8_t *)&request + request.header.nlmsg_len);

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + size;
	memcpy(attr + 1, value, size);
	request.header.nlmsg_len += NLA_ALIGN(attr->nla_len);
}

static void new_request(int command)
{
	memset(&request, 0, sizeof(request));
	request.header.nlmsg_len = NLMSG_HDRLEN;
	request.header.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
}

/* Was it the answer that lacked memory? Then the request may have been carried out. */
static bool unanswered;

/* @done: the error of a request that has been carried out already */
static int ask(int done)
{
	struct {
		struct nlmsghdr		header;
		struct nlmsgerr		error;
		uint8_t			rest[512];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	int error = 0;

	if (fd < 0)
		return errno;
	if (send(fd, &request, request.header.nlmsg_len, 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < (ssize_t)sizeof(answer.error)) {
		error = errno;
		unanswered = true;
	} else if (answer.header.nlmsg_type == NLMSG_ERROR) {
		error = -answer.error.error;
		if (unanswered && error == done)
			error = 0;
		unanswered = false;
	}
	close(fd);
	return error;
}

/* veth0 has rxe0; this one is on lo */
static void new_link(void)
{
	unanswered = false;
	new_request(RDMA_NLDEV_CMD_NEWLINK);
	put(RDMA_NLDEV_ATTR_DEV_NAME, "rxe2", sizeof("rxe2"));
	put(RDMA_NLDEV_ATTR_LINK_TYPE, "rxe", sizeof("rxe"));
	put(RDMA_NLDEV_ATTR_NDEV_NAME, "lo", sizeof("lo"));
}

static int add_link(void)
{
	return ask(EEXIST);
}

static void old_link(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i, index = -1;
	uint32_t value;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "rxe2"))
			index = ibv_get_device_index(list[i]);
	ibv_free_device_list(list);
	if (index < 0)
		FAIL("no device rxe2");
	value = index;
	unanswered = false;
	new_request(RDMA_NLDEV_CMD_DELLINK);
	put(RDMA_NLDEV_ATTR_DEV_INDEX, &value, sizeof(value));
}

static void need_link(void)
{
	new_link();
	NEED(!add_link());
	old_link();
}

static int delete_link(void)
{
	return ask(EINVAL);
}

static void no_link(void)
{
	old_link();
	NEED(!delete_link());
}

/* ---- all of them ------------------------------------------------------------------------ */

static const struct call calls[] = {
	{ "add-link", new_link, add_link, no_link, .sampled = true },
	{ "delete-link", need_link, delete_link, NULL, .sampled = true },
	/* librxe looks for the file elsewhere, and says that there is none */
	{ "open", NULL, open_device, close_device, ENOENT },
	{ "query-device", NULL, query_device, NULL },
	{ "query-qp", NULL, query_qp, NULL },
	{ "pd", NULL, alloc_pd, dealloc_pd },
	{ "mr", NULL, reg_mr, dereg_mr },
	{ "large-mr", NULL, reg_large_mr, dereg_mr },
	{ "mr-away", need_mr, dereg_mr_call, NULL },
	{ "odp-mr", NULL, reg_odp_mr, dereg_mr },
	{ "prefetch", need_odp_mr, prefetch, dereg_mr },
	{ "mw", NULL, alloc_mw, dealloc_mw },
	{ "ah", NULL, create_ah, destroy_ah },
	{ "cq", NULL, create_cq, destroy_cq },
	{ "cq-resize", need_cq, resize_cq, destroy_cq },
	{ "cq-away", need_cq, destroy_cq_call, NULL },
	{ "srq", NULL, create_srq, destroy_srq },
	{ "srq-resize", need_srq, resize_srq, destroy_srq },
	{ "srq-away", need_srq, destroy_srq_call, NULL },
	{ "rc-qp", NULL, create_rc_qp, destroy_qp },
	{ "ud-qp", NULL, create_ud_qp, destroy_qp },
	{ "qp-connect", need_rc_qp, connect_qp, destroy_qp },
	{ "qp-away", need_rc_qp, destroy_qp_call, NULL },
	{ "group", need_ud_qp, attach, detach },
	{ "group-away", need_attached, detach_call, destroy_qp },
	{ "write", new_bytes, post_write, arrived },
	{ "read", new_bytes, post_read, arrived },
	{ "send", need_receive, post_send, received },
	{ "atomic", need_word, post_atomic, each_added_once },
};

static void side_open(struct side *side, const char *name)
{
	side->context = device_open(name);
	side->gid_index = gid_find(side->context, false, &side->gid);
	NEED(side->pd = ibv_alloc_pd(side->context));
	NEED(side->cq = ibv_create_cq(side->context, 200, NULL, NULL, 0));
	NEED(side->qp = create_qp(side, IBV_QPT_RC));
}

static void world_open(void)
{
	struct ibv_device **list;
	int i;

	/* no page of this program comes while failures are asked for */
	NEED(!mlockall(MCL_CURRENT | MCL_FUTURE));
	side_open(&world.near, "rxe0");
	side_open(&world.far, "rxe1");
	NEED(world.near.mr = ibv_reg_mr(world.near.pd, &bytes, sizeof(bytes), ACCESS));
	NEED(world.far.mr = ibv_reg_mr(world.far.pd, &bytes, sizeof(bytes), ACCESS));
	rc_connect(world.near.qp, world.near.gid_index, &world.far.gid, world.far.qp->qp_num,
		   ACCESS & ~IBV_ACCESS_MW_BIND, 16);
	rc_connect(world.far.qp, world.far.gid_index, &world.near.gid, world.near.qp->qp_num,
		   ACCESS & ~IBV_ACCESS_MW_BIND, 16);
	NEED(world.channel = ibv_create_comp_channel(world.near.context));
	list = ibv_get_device_list(NULL);
	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "rxe0"))
			world.device = list[i];
	NEED(world.device);
}

static bool asked_for(const struct call *call, char **names)
{
	bool all = !*names;

	for (; *names; names++)
		all |= !strcmp(*names, call->name);
	return all;
}

int main(int argc, char **argv)
{
	const unsigned int count = sizeof(calls) / sizeof(*calls);
	unsigned int i, done = 0;

	if (argc < 2) {
		puts("usage: faults SEED [NAME...], or: faults list");
		return 2;
	}
	if (!strcmp(argv[1], "list")) {
		for (i = 0; i < count; i++)
			puts(calls[i].name);
		return 0;
	}
	seed = strtoull(argv[1], NULL, 0) | 1;
	fail_open();
	world_open();
	for (i = 0; i < count; i++) {
		if (!asked_for(&calls[i], argv + 2))
			continue;
		each_allocation(&calls[i]);
		done++;
	}
	if (!done)
		FAIL("no call of that name");
	return 0;
}
