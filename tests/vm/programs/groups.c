// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * groups - as many queue pairs in a multicast group as a device promises, and no more; and as
 * many groups.
 *
 *	groups DEVICE [all]
 *
 * max_mcast_qp_attach of them are attached to one group, of IPv4 and of IPv6.  One more gets
 * ENOMEM, changes nothing, may be in another group, and finds the room of one that has left.
 * With "all" one is in max_mcast_grp groups, half of them of IPv4, and in not one more; what
 * is promised in total is that many groups, each of them full.
 * Exit status 0 if so.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"

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
	cq = ibv_create_cq(context, 1, NULL, NULL, 0);
	NEED(pd && cq);
}

static struct ibv_qp **make_qps(int count)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
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
	struct ibv_qp **qps = make_qps(most + 1);

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
	struct ibv_qp **qps = make_qps(2);

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

int main(int argc, char **argv)
{
	bool all = argc == 3 && !strcmp(argv[2], "all");

	if (argc != 2 && !all) {
		fprintf(stderr, "usage: groups DEVICE [all]\n");
		return 2;
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
