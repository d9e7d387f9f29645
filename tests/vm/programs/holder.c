// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * holder - a process that has a device open when it is taken away.
 *
 *	holder DEVICE GID-INDEX
 *
 * It opens the device, makes one of each object (memory on demand only where the device
 * has it), connects a queue pair to itself, so that all rings are mapped and used, has a
 * datagram queue pair in a multicast group, writes through a window and to memory on
 * demand, says "ready" and waits for events. When it is told that the device is gone it
 * says "fatal", goes on using what it has, as a program does that has not noticed, until
 * each receive that the datagram queue pair had left has come back flushed, in order and
 * once. It closes all, and says "ended". Exit status 0 if all that was as it should be.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

#define LENGTH	(1 << 20)
#define DEPTH	64
#define WAITING	10		/* receives of the datagram queue pair */
#define DATAGRAM 4096		/* where one goes, behind 40 bytes of addresses */
#define WINDOW	8192		/* what the window is bound to */
#define QKEY	0x1234
#define OTHER	1000		/* wr_id of what is not one of those receives */

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_qp *qp, *shared, *datagrams;
static struct ibv_mr *mr, *on_demand;
static struct ibv_mw *window;
static struct ibv_ah *ah;
static char *memory, *pages;
static int patience = 60;	/* seconds */
static int flushed;		/* receives of the datagram queue pair that have come back so */

/* 239.1.1.7 */
static union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 1, 7 } };

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *found = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			found = ibv_open_device(list[i]);
	return found;
}

static struct ibv_qp *make_qp(enum ibv_qp_type type, struct ibv_srq *of)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .srq = of, .qp_type = type,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ibv_create_qp(pd, &init);
}

/* To itself */
static void connect_qp(int gid_index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = qp->qp_num;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.sgid_index = gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	NEED(!ibv_query_gid(context, 1, gid_index, &attr.ah_attr.grh.dgid));
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER));
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static int post_recv(struct ibv_qp *to)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = 64, .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = OTHER, .sg_list = &sge, .num_sge = 1 }, *failed;

	return to->srq ? ibv_post_srq_recv(to->srq, &wr, &failed) : ibv_post_recv(to, &wr, &failed);
}

static int post_send(void)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory + 64, .length = 64, .lkey = mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = OTHER, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *failed;

	return ibv_post_send(qp, &wr, &failed);
}

/* So many more completions, all of them good */
static void completions(int count)
{
	struct ibv_wc wc;
	int polled;

	while (count) {
		polled = ibv_poll_cq(cq, 1, &wc);
		NEED(polled >= 0);
		NEED(!polled || wc.status == IBV_WC_SUCCESS);
		count -= polled;
	}
}

/* The queue pair writes to this process, and it is there. */
static void write_to(char *where, uint32_t rkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory + 64, .length = 64, .lkey = mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = OTHER, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)where, .rkey = rkey },
	}, *failed;

	memset(memory + 64, rkey | 1, 64);
	NEED(!ibv_post_send(qp, &wr, &failed));
	completions(1);
	NEED(!memcmp(where, memory + 64, 64));
}

/* A window of the region, which the queue pair binds and writes through */
static void make_window(void)
{
	struct ibv_mw_bind bind = {
		.wr_id = OTHER, .send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = mr, .addr = (uintptr_t)memory + WINDOW, .length = 64,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};

	NEED(window = ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	NEED(!ibv_bind_mw(qp, window, &bind));
	completions(1);
	write_to(memory + WINDOW, window->rkey);
}

/* A region whose pages come when they are written to, if the device has such */
static void make_on_demand(void)
{
	struct ibv_device_attr_ex attr;

	NEED(!ibv_query_device_ex(context, NULL, &attr));
	if (!(attr.odp_caps.general_caps & IBV_ODP_SUPPORT)) {
		puts("no memory on demand");
		return;
	}
	pages = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(pages != MAP_FAILED);
	NEED(on_demand = ibv_reg_mr(pd, pages, LENGTH, IBV_ACCESS_LOCAL_WRITE |
				    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ON_DEMAND));
	write_to(pages + LENGTH / 2, on_demand->rkey);
}

static void enter(const char *netns)
{
	int fd = open(netns, O_RDONLY | O_CLOEXEC);

	NEED(fd >= 0);
	NEED(!setns(fd, CLONE_NEWNET));
	close(fd);
}

/*
 * Before 4.10 the kernel cannot tell the library a number for a handle, and the library
 * looks for the peer's MAC address itself: in the namespace of the process.
 */
static void make_ah(struct ibv_ah_attr *to)
{
	ah = ibv_create_ah(pd, to);
	if (ah)
		return;
	enter("/run/netns/ns1");
	ah = ibv_create_ah(pd, to);
	enter("/proc/1/ns/net");
	NEED(ah);
}

/*
 * A datagram queue pair in a group, with an address handle, by which it sends itself a
 * datagram: the first of its receives. Nobody sends it another one.
 */
static void make_datagrams(int gid_index)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_ah_attr to = {
		.is_global = 1, .port_num = 1,
		.grh = { .sgid_index = gid_index, .hop_limit = 64 },
	};
	struct ibv_sge sge = { .addr = (uintptr_t)memory + 64, .length = 64, .lkey = mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = OTHER, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *failed;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *refused;

	NEED(datagrams = make_qp(IBV_QPT_UD, NULL));
	NEED(!ibv_modify_qp(datagrams, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_QKEY));
	NEED(!ibv_attach_mcast(datagrams, &group, 0));
	attr.qp_state = IBV_QPS_RTR;
	NEED(!ibv_modify_qp(datagrams, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	NEED(!ibv_modify_qp(datagrams, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	NEED(!ibv_query_gid(context, 1, gid_index, &to.grh.dgid));
	make_ah(&to);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = datagrams->qp_num;
	wr.wr.ud.remote_qkey = QKEY;

	sge.addr = (uintptr_t)memory + DATAGRAM;
	sge.length = 40 + 64;
	for (recv.wr_id = 0; recv.wr_id <= WAITING; recv.wr_id++)
		NEED(!ibv_post_recv(datagrams, &recv, &refused));
	sge.addr = (uintptr_t)memory + 64;
	sge.length = 64;
	memset(memory + 64, 'd', 64);
	NEED(!ibv_post_send(datagrams, &wr, &failed));
	completions(2);
	NEED(!memcmp(memory + DATAGRAM + 40, memory + 64, 64));
}

static void prepare(const char *name, int gid_index)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	int i;

	NEED(context = open_device(name));
	NEED(pd = ibv_alloc_pd(context));
	NEED(memory = calloc(1, LENGTH));
	NEED(mr = ibv_reg_mr(pd, memory, LENGTH, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_MW_BIND));
	NEED(channel = ibv_create_comp_channel(context));
	NEED(cq = ibv_create_cq(context, 4 * DEPTH, NULL, channel, 0));
	NEED(srq = ibv_create_srq(pd, &init));
	NEED(qp = make_qp(IBV_QPT_RC, NULL));
	NEED(shared = make_qp(IBV_QPT_RC, srq));
	connect_qp(gid_index);
	for (i = 0; i < 10; i++)
		NEED(!post_recv(qp) && !post_recv(shared));
	NEED(!post_send());
	completions(2);
	make_window();
	make_on_demand();
	make_datagrams(gid_index);
	NEED(!ibv_req_notify_cq(cq, 0));
}

static void wait_until_fatal(void)
{
	struct ibv_async_event event;

	do {
		NEED(!ibv_get_async_event(context, &event));
		printf("event %d: %s\n", event.event_type, ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_DEVICE_FATAL);
}

/* Completions that there are; of the datagram queue pair all are receives, in order. */
static int poll_some(void)
{
	struct ibv_wc wc[DEPTH];
	int i, polled = ibv_poll_cq(cq, DEPTH, wc);

	for (i = 0; i < polled; i++) {
		if (wc[i].qp_num != datagrams->qp_num)
			continue;
		if (wc[i].status != IBV_WC_WR_FLUSH_ERR || wc[i].wr_id != (uint64_t)flushed + 1)
			FAIL("receive %llu, status %d, where %d is to be flushed",
			     (unsigned long long)wc[i].wr_id, wc[i].status, flushed + 1);
		flushed++;
	}
	return polled > 0 ? polled : 0;
}

/* What the others get back depends on who was faster. */
static void use(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	time_t end = time(NULL) + patience;
	struct ibv_device_attr attr;
	int i, done = 0;

	for (i = 0; i < 2 * DEPTH; i++) {
		post_recv(qp);
		post_recv(shared);
		post_send();
		ibv_req_notify_cq(cq, 0);
		done += poll_some();
	}
	while (flushed < WAITING && time(NULL) < end) {
		done += poll_some();
		nanosleep(&pause, NULL);
	}
	printf("completions after the event: %d, %d of them of waiting receives\n", done, flushed);
	NEED(flushed == WAITING);
	/* by then the device is gone */
	NEED(ibv_query_device(context, &attr));
	NEED(!ibv_alloc_pd(context));
	memset(memory, 1, LENGTH);
	if (pages)
		memset(pages, 1, LENGTH);
}

static void close_all(void)
{
	ibv_destroy_ah(ah);
	ibv_detach_mcast(datagrams, &group, 0);
	ibv_dealloc_mw(window);
	ibv_destroy_qp(datagrams);
	ibv_destroy_qp(qp);
	ibv_destroy_qp(shared);
	ibv_destroy_srq(srq);
	ibv_destroy_cq(cq);
	ibv_destroy_comp_channel(channel);
	if (on_demand)
		ibv_dereg_mr(on_demand);
	if (pages)
		NEED(!munmap(pages, LENGTH));
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
}

int main(int argc, char **argv)
{
	setlinebuf(stdout);
	NEED(argc == 3);
	if (getenv("PATIENCE"))
		patience = atoi(getenv("PATIENCE"));
	prepare(argv[1], atoi(argv[2]));
	puts("ready");
	wait_until_fatal();
	puts("fatal");
	use();
	close_all();
	puts("ended");
	return 0;
}
