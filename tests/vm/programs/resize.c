// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * resize - a shared receive queue is made larger and smaller while SENDs arrive on it.
 *
 *	resize SENDER GID-INDEX RECEIVER GID-INDEX QPS MESSAGES SEED
 *
 * So many connections of one thread, on the device SENDER, send so many messages each, as
 * fast as they are taken; the other thread posts receives to the queue of RECEIVER and
 * resizes it, up and down, to no less than it may hold.  Each receive is used once, in the
 * order in which it was posted, and each message arrives once, in order, with its bytes
 * and nothing beside them.  Exit status 0 if so, and if SENDs arrived during resizes.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "random.h"
#include "rc.h"

enum {
	QPS		= 8,		/* at most */
	DEPTH		= 8,		/* SENDs of a queue pair at a time */
	LONGEST		= 6000,		/* bytes: several packets */
	ROOM		= LONGEST + 8,	/* of a receive */
	LARGEST		= 500,		/* receives in the queue */
	BUFFERS		= 512,
	MET_LEAST	= 10,		/* resizes with traffic */
	UNUSED		= 0xa5,
};

struct side {
	struct ibv_context	*context;
	struct ibv_pd		*pd;
	struct ibv_cq		*cq;
	struct ibv_mr		*mr;
	struct ibv_qp		*qp[QPS];
	union ibv_gid		gid;
	int			gid_index;
};

/* What a message says of itself, before its bytes */
struct header {
	uint32_t	qp, number;
};

static uint8_t outgoing[QPS][DEPTH][LONGEST], incoming[BUFFERS][ROOM];
static struct side sender, receiver;
static struct ibv_srq *srq;
static int num_qps, num_messages;
static atomic_uint sent;

static uint32_t length_of(uint32_t qp, uint32_t number)
{
	uint32_t length = (number * 2654435761u ^ qp * 40503u) % (LONGEST + 1);

	return length < sizeof(struct header) ? sizeof(struct header) : length;
}

static uint8_t byte_of(uint32_t qp, uint32_t number, uint32_t k)
{
	return (qp * 31 + number * 7 + k) % 251;
}

/* --- both sides ------------------------------------------------------------- */

static void side_open(struct side *s, const char *name, const char *gid_index, void *memory,
		      size_t size)
{
	s->context = device_open(name);
	s->gid_index = atoi(gid_index);
	NEED(!ibv_query_gid(s->context, 1, s->gid_index, &s->gid));
	s->pd = ibv_alloc_pd(s->context);
	NEED(s->pd);
	s->cq = ibv_create_cq(s->context, LARGEST + QPS * DEPTH, NULL, NULL, 0);
	s->mr = ibv_reg_mr(s->pd, memory, size, IBV_ACCESS_LOCAL_WRITE);
	NEED(s->cq && s->mr);
}

static struct ibv_qp *qp_create(struct side *s, struct ibv_srq *shared)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = s->cq, .recv_cq = s->cq, .srq = shared,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};

	return ibv_create_qp(s->pd, &init);
}

/* --- the sender's thread ----------------------------------------------------- */

static void post_send(uint32_t qp, uint32_t number)
{
	uint8_t *out = outgoing[qp][number % DEPTH];
	struct header header = { qp, number };
	struct ibv_sge sge = { (uintptr_t)out, length_of(qp, number), sender.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = qp, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;
	uint32_t k;

	memcpy(out, &header, sizeof(header));
	for (k = sizeof(header); k < sge.length; k++)
		out[k] = byte_of(qp, number, k);
	NEED(!ibv_post_send(sender.qp[qp], &wr, &bad));
}

static void *send_all(void *unused)
{
	int posted[QPS] = { 0 }, done[QPS] = { 0 }, left = num_qps * num_messages, i;
	struct ibv_wc wc;

	while (left) {
		for (i = 0; i < num_qps; i++)
			for (; posted[i] < num_messages && posted[i] - done[i] < DEPTH; posted[i]++)
				post_send(i, posted[i]);
		while (ibv_poll_cq(sender.cq, 1, &wc) > 0) {
			if (wc.status)
				FAIL("a SEND: %s", ibv_wc_status_str(wc.status));
			done[wc.wr_id]++;
			left--;
			atomic_fetch_add(&sent, 1);
		}
	}
	NEED(!ibv_poll_cq(sender.cq, 1, &wc));
	return unused;
}

/* --- the receiver's ---------------------------------------------------------- */

/* Receives by their number: posted, and used */
static uint64_t posted, used;
static bool is_used[BUFFERS];		/* of those that are posted */
static uint64_t oldest;			/* all before it are used */
static uint32_t size, ups, downs, met;

static void post_receives(uint32_t count)
{
	for (; count; count--, posted++) {
		uint8_t *in = incoming[posted % BUFFERS];
		struct ibv_sge sge = { (uintptr_t)in, ROOM, receiver.mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = posted, .sg_list = &sge, .num_sge = 1 }, *bad;

		memset(in, UNUSED, ROOM);
		is_used[posted % BUFFERS] = false;
		NEED(!ibv_post_srq_recv(srq, &wr, &bad));
	}
}

/* A message has arrived on a queue pair */
static void check_message(const struct ibv_wc *wc, uint32_t qp)
{
	static uint32_t due[QPS];
	static uint64_t next[QPS];	/* receives are taken in order */
	const uint8_t *in = incoming[wc->wr_id % BUFFERS];
	uint32_t length = length_of(qp, due[qp]), k;
	struct header header;

	if (wc->wr_id < oldest || wc->wr_id >= posted || is_used[wc->wr_id % BUFFERS])
		FAIL("receive %llu has been used before, or was never posted",
		     (unsigned long long)wc->wr_id);
	if (wc->wr_id < next[qp] || (num_qps == 1 && wc->wr_id != next[qp]))
		FAIL("receive %llu was taken, %llu was due", (unsigned long long)wc->wr_id,
		     (unsigned long long)next[qp]);
	memcpy(&header, in, sizeof(header));
	if (header.qp != qp || header.number != due[qp] || wc->byte_len != length)
		FAIL("message %u of queue pair %u, %u bytes, on queue pair %u; due is %u, %u bytes",
		     header.number, header.qp, wc->byte_len, qp, due[qp], length);
	for (k = sizeof(header); k < ROOM; k++)
		if (in[k] != (k < length ? byte_of(qp, header.number, k) : UNUSED))
			FAIL("message %u of queue pair %u: byte %u of %u is %#x", header.number,
			     qp, k, length, in[k]);
	next[qp] = wc->wr_id + 1;
	due[qp]++;
	used++;
	is_used[wc->wr_id % BUFFERS] = true;
	while (oldest < posted && is_used[oldest % BUFFERS])
		oldest++;
}

static bool receive(void)
{
	struct ibv_wc wc;
	uint32_t qp;

	if (ibv_poll_cq(receiver.cq, 1, &wc) <= 0)
		return false;
	if (wc.status || wc.opcode != IBV_WC_RECV)
		FAIL("a receive: %s", ibv_wc_status_str(wc.status));
	for (qp = 0; receiver.qp[qp]->qp_num != wc.qp_num; qp++)
		NEED(qp + 1 < (uint32_t)num_qps);
	check_message(&wc, qp);
	return true;
}

static void resize(void)
{
	uint32_t held = posted - used, before = atomic_load(&sent);
	struct ibv_srq_attr attr = { 0 };

	/* often as small as can be */
	attr.max_wr = one_in(4) ? held : held + below(LARGEST + 1 - held);
	attr.max_wr += !attr.max_wr;
	NEED(!ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	met += atomic_load(&sent) != before;
	ups += attr.max_wr > size;
	downs += attr.max_wr < size;
	size = attr.max_wr;
	NEED(!ibv_query_srq(srq, &attr));
	if (attr.max_wr < size)
		FAIL("the queue has room for %u after a resize to %u", attr.max_wr, size);
}

static void receive_all(void)
{
	uint64_t total = (uint64_t)num_qps * num_messages, left;
	struct ibv_wc wc;
	uint32_t room;

	while (used < total) {
		resize();
		left = total - posted;
		/* no buffer twice, as long as one that was posted before is in use */
		room = size - (posted - used);
		if (room > BUFFERS - (posted - oldest))
			room = BUFFERS - (posted - oldest);
		room = below(room + 1);
		post_receives(room < left ? room : left);
		for (room = below(40); room && receive(); room--)
			;
	}
	NEED(!ibv_poll_cq(receiver.cq, 1, &wc));
}

int main(int argc, char **argv)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = LARGEST, .max_sge = 1 } };
	pthread_t thread;
	int i;

	if (argc != 8 || atoi(argv[5]) < 1 || atoi(argv[5]) > QPS) {
		fprintf(stderr, "usage: resize SENDER GID-INDEX RECEIVER GID-INDEX QPS MESSAGES SEED\n");
		return 2;
	}
	num_qps = atoi(argv[5]);
	num_messages = atoi(argv[6]);
	seed = strtoull(argv[7], NULL, 0) | 1;
	side_open(&sender, argv[1], argv[2], outgoing, sizeof(outgoing));
	side_open(&receiver, argv[3], argv[4], incoming, sizeof(incoming));
	size = LARGEST;
	srq = ibv_create_srq(receiver.pd, &init);
	NEED(srq);
	for (i = 0; i < num_qps; i++) {
		sender.qp[i] = qp_create(&sender, NULL);
		receiver.qp[i] = qp_create(&receiver, srq);
		NEED(sender.qp[i] && receiver.qp[i]);
		rc_connect(receiver.qp[i], receiver.gid_index, &sender.gid, sender.qp[i]->qp_num, 0, 0);
		rc_connect(sender.qp[i], sender.gid_index, &receiver.gid, receiver.qp[i]->qp_num, 0, 0);
	}
	NEED(!pthread_create(&thread, NULL, send_all, NULL));
	receive_all();
	NEED(!pthread_join(thread, NULL));
	printf("%llu messages; resized %u times up, %u down, %u of them while SENDs completed\n",
	       (unsigned long long)used, ups, downs, met);
	if (met < MET_LEAST)
		FAIL("hardly any resize met traffic: nothing tested");
	return 0;
}
