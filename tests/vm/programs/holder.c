// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * holder - a process that has a device open when it is taken away.
 *
 *	holder DEVICE GID-INDEX
 *
 * It opens the device, makes one of each object, connects a queue pair to itself, so
 * that all rings are mapped and used, says "ready" and waits for events. When it is told
 * that the device is gone it says "fatal", goes on using what it has, as a program does
 * that has not noticed, closes all, and says "ended". Exit status 0 if all that was as
 * it should be.
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH	(1 << 20)
#define DEPTH	64

#define NEED(condition)							\
do {									\
	if (!(condition)) {						\
		printf("holder: not so: %s\n", #condition);		\
		exit(1);						\
	}								\
} while (0)

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_qp *qp, *shared;
static struct ibv_mr *mr;
static char *memory;

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

static struct ibv_qp *make_qp(struct ibv_srq *of)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .srq = of, .qp_type = IBV_QPT_RC,
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
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *failed;

	return to->srq ? ibv_post_srq_recv(to->srq, &wr, &failed) : ibv_post_recv(to, &wr, &failed);
}

static int post_send(void)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory + 64, .length = 64, .lkey = mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *failed;

	return ibv_post_send(qp, &wr, &failed);
}

static void prepare(const char *name, int gid_index)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ibv_wc wc;
	int i, done = 0;

	NEED(context = open_device(name));
	NEED(pd = ibv_alloc_pd(context));
	NEED(memory = calloc(1, LENGTH));
	NEED(mr = ibv_reg_mr(pd, memory, LENGTH, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	NEED(channel = ibv_create_comp_channel(context));
	NEED(cq = ibv_create_cq(context, 4 * DEPTH, NULL, channel, 0));
	NEED(srq = ibv_create_srq(pd, &init));
	NEED(qp = make_qp(NULL));
	NEED(shared = make_qp(srq));
	connect_qp(gid_index);
	for (i = 0; i < 10; i++)
		NEED(!post_recv(qp) && !post_recv(shared));
	NEED(!post_send());
	while (done < 2) {
		i = ibv_poll_cq(cq, 1, &wc);
		NEED(i >= 0);
		NEED(!i || wc.status == IBV_WC_SUCCESS);
		done += i;
	}
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

/* Whatever comes back, it comes back. */
static void use(void)
{
	struct ibv_wc wc[DEPTH];
	struct ibv_device_attr attr;
	int i, polled, flushed = 0;

	for (i = 0; i < 2 * DEPTH; i++) {
		post_recv(qp);
		post_recv(shared);
		post_send();
		ibv_req_notify_cq(cq, 0);
		polled = ibv_poll_cq(cq, DEPTH, wc);
		if (polled > 0)
			flushed += polled;
	}
	NEED(ibv_query_device(context, &attr));
	NEED(!ibv_alloc_pd(context));
	memset(memory, 1, LENGTH);
	printf("completions after the event: %d\n", flushed);
}

static void close_all(void)
{
	ibv_destroy_qp(qp);
	ibv_destroy_qp(shared);
	ibv_destroy_srq(srq);
	ibv_destroy_cq(cq);
	ibv_destroy_comp_channel(channel);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
}

int main(int argc, char **argv)
{
	setlinebuf(stdout);
	NEED(argc == 3);
	prepare(argv[1], atoi(argv[2]));
	puts("ready");
	wait_until_fatal();
	puts("fatal");
	use();
	close_all();
	puts("ended");
	return 0;
}
