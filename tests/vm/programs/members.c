// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * members - a multicast group without rdma_cm: who is in it gets each datagram once.
 *
 *	members GROUP DEVICE FILE
 *	members GROUP DEVICE FILE SENDER GID-INDEX PEER-INDEX
 *
 * GROUP is an IPv6 address, or an IPv4 one as a GID writes it.  The first is in the group
 * until there is a FILE.  The second has three queue pairs of DEVICE in the group, one
 * of SENDER, and beside them one of each device that is not, and looks at who got what
 * while they come and go; those who are in it first wait for the FILE.  SENDER's GID at
 * GID-INDEX is the source address.  PEER-INDEX is one of DEVICE's GIDs: no group.
 * Exit status 0 if everything was as it should be.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

#define GRH		40
#define SIZE		100
#define COUNT		10		/* datagrams of a round */
#define DEPTH		(8 * COUNT)	/* there is room for those that nobody should get */
#define QKEY		0x11223344
#define PATIENCE	20
#define QUIET		300000		/* microseconds; what is too much would come */

struct device {
	struct ibv_context	*context;
	struct ibv_pd		*pd;
};

/* A UD queue pair */
struct member {
	const char	*name;
	struct ibv_cq	*cq;
	struct ibv_qp	*qp;
	struct ibv_mr	*mr;
	uint8_t		in[DEPTH][GRH + SIZE];
	uint8_t		out[COUNT][SIZE];
	int		received, due, sent;
	bool		inside;
};

enum { OUTSIDER, OWN, FIRST, SECOND, THIRD, NEVER, MEMBERS };

static const char * const names[] = {
	"the sender", "its neighbour", "the first", "the second", "the third", "the outsider",
};

static struct member members[MEMBERS];
static union ibv_gid group, source;
static struct ibv_ah *ah;
static int rounds, sent_by[MEMBERS];

static void open_device(struct device *dev, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			dev->context = ibv_open_device(list[i]);
	NEED(dev->context);
	dev->pd = ibv_alloc_pd(dev->context);
	NEED(dev->pd);
}

static void make_member(struct member *m, const char *name, const struct device *dev)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .sq_sig_all = 1,
		.cap = { .max_send_wr = COUNT, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_recv_wr *bad;
	int i;

	m->name = name;
	m->cq = ibv_create_cq(dev->context, 2 * DEPTH, NULL, NULL, 0);
	NEED(m->cq);
	init.send_cq = m->cq;
	init.recv_cq = m->cq;
	m->qp = ibv_create_qp(dev->pd, &init);
	m->mr = ibv_reg_mr(dev->pd, m, sizeof(*m), IBV_ACCESS_LOCAL_WRITE);
	NEED(m->qp && m->mr);
	NEED(!ibv_modify_qp(m->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	NEED(!ibv_modify_qp(m->qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	NEED(!ibv_modify_qp(m->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	for (i = 0; i < DEPTH; i++) {
		struct ibv_sge sge = { (uintptr_t)m->in[i], GRH + SIZE, m->mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		NEED(!ibv_post_recv(m->qp, &wr, &bad));
	}
}

static uint8_t byte_of(int round, int i, int k)
{
	return (round * 31 + i * 7 + k) % 251;
}

/* In one list, which may travel as one */
static void post(struct member *m)
{
	struct ibv_send_wr wr[COUNT], *bad;
	struct ibv_sge sge[COUNT];
	int i, k;

	memset(wr, 0, sizeof(wr));
	for (i = 0; i < COUNT; i++) {
		for (k = 0; k < SIZE; k++)
			m->out[i][k] = byte_of(rounds, i, k);
		sge[i] = (struct ibv_sge){ (uintptr_t)m->out[i], SIZE, m->mr->lkey };
		wr[i].next = i + 1 < COUNT ? &wr[i + 1] : NULL;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].wr.ud.ah = ah;
		wr[i].wr.ud.remote_qpn = 0xffffff;
		wr[i].wr.ud.remote_qkey = QKEY;
	}
	NEED(!ibv_post_send(m->qp, wr, &bad));
}

static void poll_cq(struct member *m)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(m->cq, 1, &wc) > 0) {
		if (wc.status)
			FAIL("%s: %s", m->name, ibv_wc_status_str(wc.status));
		if (!(wc.opcode & IBV_WC_RECV)) {
			m->sent++;
			continue;
		}
		if ((int)wc.wr_id != m->received || wc.byte_len != GRH + SIZE)
			FAIL("%s: receive %d of %u bytes, due is %d", m->name, (int)wc.wr_id,
			     wc.byte_len, m->received);
		m->received++;
	}
}

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* The newest are those of this round, in order, from the source to the group. */
static void check_bytes(const struct member *m)
{
	int i, k;

	for (i = 0; i < COUNT; i++) {
		const uint8_t *got = m->in[m->received - COUNT + i];
		bool right;

		if (is_ipv4(&group))
			right = !memcmp(got + 32, source.raw + 12, 4) &&
				!memcmp(got + 36, group.raw + 12, 4);
		else
			right = !memcmp(got + 8, source.raw, 16) && !memcmp(got + 24, group.raw, 16);
		if (!right)
			FAIL("%s: datagram %d of round %d has other addresses", m->name, i, rounds);
		for (k = 0; k < SIZE; k++)
			if (got[GRH + k] != byte_of(rounds, i, k))
				FAIL("%s: datagram %d of round %d has a wrong byte at %d",
				     m->name, i, rounds, k);
	}
}

static bool all_done(const struct member *sender, int sent)
{
	bool done = sender->sent >= sent;
	int i;

	for (i = 0; i < MEMBERS; i++) {
		poll_cq(&members[i]);
		done &= members[i].received >= members[i].due;
	}
	return done;
}

/* A round: all that are in the group get what one sends once, and nobody else does. */
static void send_from(int who)
{
	struct member *sender = &members[who];
	time_t end = time(NULL) + PATIENCE;
	int i, wrong = 0, inside = 0;

	rounds++;
	sent_by[who] += COUNT;
	for (i = 0; i < MEMBERS; i++)
		members[i].due += members[i].inside ? COUNT : 0;
	post(sender);
	while (!all_done(sender, sent_by[who]) && time(NULL) < end)
		usleep(1000);
	usleep(QUIET);
	all_done(sender, sent_by[who]);
	for (i = 0; i < MEMBERS; i++) {
		struct member *m = &members[i];

		inside += m->inside;
		if (m->received == m->due)
			continue;
		wrong++;
		printf("%s got %d instead of %d; ", m->name,
		       m->received - m->due + (m->inside ? COUNT : 0), m->inside ? COUNT : 0);
	}
	if (wrong || sender->sent != sent_by[who])
		FAIL("round %d, by %s: %d of %d completed", rounds, sender->name,
		     sender->sent, sent_by[who]);
	for (i = 0; i < MEMBERS; i++)
		if (members[i].inside)
			check_bytes(&members[i]);
	printf("round %d: %d datagrams to %d queue pairs\n", rounds, COUNT, inside);
	fflush(stdout);
}

static void attach(int who)
{
	NEED(!ibv_attach_mcast(members[who].qp, &group, 0));
	members[who].inside = true;
}

static void detach(int who)
{
	NEED(!ibv_detach_mcast(members[who].qp, &group, 0));
	members[who].inside = false;
}

static void wait_for(const char *file)
{
	time_t end = time(NULL) + 3 * PATIENCE;

	while (access(file, F_OK)) {
		if (time(NULL) > end)
			FAIL("%s does not come", file);
		usleep(20000);
	}
}

static void hold(const char *device, const char *file)
{
	struct device dev = { 0 };

	open_device(&dev, device);
	make_member(&members[FIRST], names[FIRST], &dev);
	attach(FIRST);
	wait_for(file);
	detach(FIRST);
}

static void use(const char *device, const char *file, const char *sender, int index, int peer)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1 };
	struct device here = { 0 }, there = { 0 };
	union ibv_gid no_group;
	int i;

	open_device(&here, sender);
	open_device(&there, device);
	NEED(!ibv_query_gid(here.context, 1, index, &source));
	NEED(!ibv_query_gid(there.context, 1, peer, &no_group));
	attr.grh.dgid = group;
	attr.grh.sgid_index = index;
	ah = ibv_create_ah(here.pd, &attr);
	NEED(ah);
	for (i = 0; i < MEMBERS; i++)
		make_member(&members[i], names[i], i < FIRST ? &here : &there);

	NEED(ibv_attach_mcast(members[FIRST].qp, &no_group, 0) == EINVAL);
	NEED(ibv_detach_mcast(members[FIRST].qp, &group, 0) == EINVAL);
	send_from(OUTSIDER);	/* nobody is there */
	for (i = OWN; i <= THIRD; i++)
		attach(i);
	attach(FIRST);		/* again: it is in it once */
	wait_for(file);
	send_from(OUTSIDER);
	send_from(OWN);		/* and gets it itself */
	detach(THIRD);
	NEED(ibv_detach_mcast(members[THIRD].qp, &group, 0) == EINVAL);
	send_from(OUTSIDER);
	detach(OWN);
	send_from(OWN);		/* and does not any more */
	detach(FIRST);
	detach(SECOND);
	send_from(OUTSIDER);
}

int main(int argc, char **argv)
{
	if ((argc != 4 && argc != 7) || inet_pton(AF_INET6, argv[1], &group) != 1) {
		fprintf(stderr, "usage: members GROUP DEVICE FILE [SENDER GID-INDEX PEER-INDEX]\n");
		return 2;
	}
	if (argc == 4)
		hold(argv[2], argv[3]);
	else
		use(argv[2], argv[3], argv[4], atoi(argv[5]), atoi(argv[6]));
	return 0;
}
