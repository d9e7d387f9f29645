// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * groups - as many queue pairs in a multicast group as a device promises, and no more; and as
 * many groups; and queue pairs that leave a group and are destroyed while datagrams come.
 *
 *	groups DEVICE [all]
 *	groups DEVICE leave SECONDS SENDER GID-INDEX
 *
 * max_mcast_qp_attach of them are attached to one group, of IPv4 and of IPv6.  One more gets
 * ENOMEM, changes nothing, may be in another group, and finds the room of one that has left.
 * With "all" one is in max_mcast_grp groups, half of them of IPv4, and in not one more; what
 * is promised in total is that many groups, each of them full.  With "leave" a process of its
 * own sends numbered datagrams from SENDER, of its GID at GID-INDEX, to a group of IPv4; others
 * come and go beside one that stays, which gets them in order, and none of them twice.
 * Exit status 0 if so.
 */
#include <errno.h>
#include <signal.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

#define GRH	40
#define QKEY	0x1234
#define DEPTH	256	/* datagrams of the one that stays */
#define BATCH	16	/* datagrams at a time */
#define COMERS	4	/* that come and go together */

static struct ibv_context *context;
static struct ibv_device_attr limits;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	NEED(context);
	NEED(!ibv_query_device(context, &limits));
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, DEPTH, NULL, NULL, 0);
	NEED(pd && cq);
}

static struct ibv_qp **make_qps(int count, int recvs)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = BATCH, .max_recv_wr = recvs,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_qp **qps = calloc(count, sizeof(*qps));
	int i;

	NEED(qps);
	for (i = 0; i < count; i++) {
		qps[i] = ibv_create_qp(pd, &init);
		NEED(qps[i]);
		NEED(!ibv_modify_qp(qps[i], &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				    IBV_QP_PORT | IBV_QP_QKEY));
	}
	return qps;
}

static void destroy_qps(struct ibv_qp **qps, int count)
{
	while (count--)
		NEED(!ibv_destroy_qp(qps[count]));
	free(qps);
}

/* The groups 239.n.n.n, or ff0e::n */
static union ibv_gid group(bool ipv6, uint32_t number)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239 } };
	int i;

	if (ipv6)
		gid = (union ibv_gid){ .raw = { 0xff, 0x0e } };
	for (i = 15; i > 12; i--, number >>= 8)
		gid.raw[i] = number;
	return gid;
}

static int attach(struct ibv_qp *qp, bool ipv6, uint32_t number)
{
	union ibv_gid gid = group(ipv6, number);

	return ibv_attach_mcast(qp, &gid, 0);
}

static int detach(struct ibv_qp *qp, bool ipv6, uint32_t number)
{
	union ibv_gid gid = group(ipv6, number);

	return ibv_detach_mcast(qp, &gid, 0);
}

static void fill_group(bool ipv6)
{
	int most = limits.max_mcast_qp_attach, i;
	struct ibv_qp **qps = make_qps(most + 1, 1);

	for (i = 0; i < most; i++)
		NEED(!attach(qps[i], ipv6, 1));
	NEED(attach(qps[most], ipv6, 1) == ENOMEM);
	NEED(detach(qps[most], ipv6, 1) == EINVAL);
	NEED(!attach(qps[most], ipv6, 2));	/* there is room in others */
	NEED(!detach(qps[3], ipv6, 1));
	NEED(!attach(qps[most], ipv6, 1));
	NEED(attach(qps[3], ipv6, 1) == ENOMEM);
	for (i = 0; i <= most; i++)
		NEED(i == 3 || !detach(qps[i], ipv6, 1));
	NEED(!detach(qps[most], ipv6, 2));
	destroy_qps(qps, most + 1);
	printf("%d queue pairs in a group\n", most);
}

static void all_groups(void)
{
	int most = limits.max_mcast_grp, i;
	struct ibv_qp **qps = make_qps(2, 1);

	NEED(limits.max_total_mcast_qp_attach == most * limits.max_mcast_qp_attach);
	for (i = 0; i < most; i++)
		NEED(!attach(qps[0], i % 2, i));
	NEED(attach(qps[0], false, most) == ENOMEM);
	NEED(attach(qps[1], true, most) == ENOMEM);
	NEED(!attach(qps[1], true, 1));		/* there is room in those that there are */
	NEED(!detach(qps[0], false, 0));
	NEED(!attach(qps[1], true, most));
	NEED(attach(qps[0], false, 0) == ENOMEM);
	for (i = 1; i < most; i++)
		NEED(!detach(qps[0], i % 2, i));
	NEED(!detach(qps[1], true, 1) && !detach(qps[1], true, most));
	destroy_qps(qps, 2);
	printf("%d groups\n", most);
}

static void make_ready(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };

	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

/* Numbered datagrams to the group, until somebody ends it */
static void send_for_ever(const char *name, int index)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1,
		.grh = { .sgid_index = index, .hop_limit = 1 } };
	static uint32_t numbers[BATCH];
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct ibv_qp *qp;
	uint32_t n = 0;
	int i;

	NEED(!prctl(PR_SET_PDEATHSIG, SIGKILL));
	open_device(name);
	qp = make_qps(1, 1)[0];
	make_ready(qp);
	attr.grh.dgid = group(false, 1);
	ah = ibv_create_ah(pd, &attr);
	mr = ibv_reg_mr(pd, numbers, sizeof(numbers), 0);
	NEED(ah && mr);
	for (;;) {
		struct ibv_send_wr wr[BATCH], *bad;
		struct ibv_sge sge[BATCH];
		struct ibv_wc wc;

		memset(wr, 0, sizeof(wr));
		for (i = 0; i < BATCH; i++) {
			numbers[i] = ++n;
			sge[i] = (struct ibv_sge){ (uintptr_t)&numbers[i], 4, mr->lkey };
			wr[i].next = i + 1 < BATCH ? &wr[i + 1] : NULL;
			wr[i].sg_list = &sge[i];
			wr[i].num_sge = 1;
			wr[i].opcode = IBV_WR_SEND;
			wr[i].send_flags = i + 1 < BATCH ? 0 : IBV_SEND_SIGNALED;
			wr[i].wr.ud.ah = ah;
			wr[i].wr.ud.remote_qpn = 0xffffff;
			wr[i].wr.ud.remote_qkey = QKEY;
		}
		NEED(!ibv_post_send(qp, wr, &bad));
		while (!ibv_poll_cq(cq, 1, &wc))
			;
		NEED(!wc.status);
	}
}

static uint8_t received[DEPTH][GRH + 4];
static struct ibv_mr *received_mr;

static void post_receive(struct ibv_qp *qp, int i)
{
	struct ibv_sge sge = { (uintptr_t)received[i], sizeof(received[i]), received_mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	NEED(!ibv_post_recv(qp, &wr, &bad));
}

/* What has come: later ones than the @last, of which the newest is returned */
static uint32_t take_received(struct ibv_qp *qp, uint32_t last, int *count)
{
	struct ibv_wc wc;
	uint32_t number;

	while (ibv_poll_cq(cq, 1, &wc) > 0) {
		NEED(!wc.status && wc.byte_len == GRH + 4);
		memcpy(&number, received[wc.wr_id] + GRH, 4);
		if (number <= last)
			FAIL("datagram %u comes after %u", number, last);
		last = number;
		++*count;
		post_receive(qp, wc.wr_id);
	}
	return last;
}

static void others_leave(const char *device, int seconds, const char *sender, int index)
{
	int i, count = 0, lives = 0;
	struct ibv_qp **stays;
	uint32_t last = 0;
	time_t end;
	pid_t child;

	child = fork();
	NEED(child >= 0);
	if (!child)
		send_for_ever(sender, index);
	open_device(device);
	stays = make_qps(1, DEPTH);
	received_mr = ibv_reg_mr(pd, received, sizeof(received), IBV_ACCESS_LOCAL_WRITE);
	NEED(received_mr);
	make_ready(*stays);
	for (i = 0; i < DEPTH; i++)
		post_receive(*stays, i);
	NEED(!attach(*stays, false, 1));
	for (end = time(NULL) + seconds; time(NULL) <= end || count < 1000; lives += COMERS) {
		struct ibv_qp **comers = make_qps(COMERS, 1);

		for (i = 0; i < COMERS; i++) {
			make_ready(comers[i]);
			NEED(!attach(comers[i], false, 1));
		}
		last = take_received(*stays, last, &count);
		for (i = 0; i < COMERS; i++)
			NEED(!detach(comers[i], false, 1));
		destroy_qps(comers, COMERS);
		if (time(NULL) > end + 60)
			FAIL("only %d datagrams have come", count);
	}
	NEED(!waitpid(child, NULL, WNOHANG));
	NEED(!kill(child, SIGKILL) && waitpid(child, NULL, 0) == child);
	NEED(!detach(*stays, false, 1));
	destroy_qps(stays, 1);
	printf("%d datagrams, while %d queue pairs came and went\n", count, lives);
}

int main(int argc, char **argv)
{
	bool all = argc == 3 && !strcmp(argv[2], "all");

	bool leave = argc == 6 && !strcmp(argv[2], "leave");

	if (argc != 2 && !all && !leave) {
		fprintf(stderr, "usage: groups DEVICE [all | leave SECONDS SENDER GID-INDEX]\n");
		return 2;
	}
	if (leave) {
		others_leave(argv[1], atoi(argv[3]), argv[4], atoi(argv[5]));
		return 0;
	}
	open_device(argv[1]);
	if (all) {
		all_groups();
		return 0;
	}
	fill_group(false);
	fill_group(true);
	return 0;
}
