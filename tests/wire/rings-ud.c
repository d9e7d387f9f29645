// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rings-ud - lies about datagrams.
 *
 * Who a datagram is for stands in the request, which the process may write at any time: the
 * number of an address handle, or the address itself with the index of our own; the number
 * of the peer's queue pair, and the Q_Key. Requests of a real one are written into the ring
 * with one of these wrong, or with all of them changing while the kernel reads them.
 *
 * What must hold: nothing of memory that the queue pair may not read comes to the peer,
 * a handle of another protection domain or one that is gone is no address, and new queue
 * pairs work with right bytes.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rings.h"

enum {
	QKEY		= 0x11223344,
	GSI_QKEY	= 0x80010000,
	GRH		= 40,
	LONGEST		= 2048,		/* of a datagram, with its GRH */
	PLACES		= MEMORY / LONGEST / 2,	/* receives are in the second half */
	OURS		= 0xa5,		/* what we send */
	TRIES		= 8,		/* datagrams that prove that the way is open */
	NOBODY		= 2,		/* number that no queue pair has */
};

/* The same as struct swqe, as a datagram has it */
struct ud_wqe {
	uint64_t	wr_id;
	uint32_t	num_sge;
	uint32_t	opcode;
	uint32_t	send_flags;
	uint32_t	ex;
	uint32_t	qpn;
	uint32_t	qkey;
	uint16_t	pkey_index;
	uint16_t	reserved;
	uint32_t	ah_num;
	uint32_t	pad[4];
	uint8_t		port;
	uint8_t		network;
	uint8_t		dmac[6];
	uint8_t		dgid[16];
	uint32_t	flow_label;
	uint8_t		sgid_index;
	uint8_t		hop_limit;
	uint8_t		traffic_class;
	uint8_t		rest[144 - 87];
	uint8_t		more[184 - 144];
	struct dma	dma;
};

/* A queue pair, and what is needed to lie in its name */
struct liar {
	struct side	*s;
	struct mapped	*ring;
	struct ibv_ah	*ah;
	struct ibv_ah	*other_ah;	/* of the other protection domain */
	struct ud_wqe	good;		/* a request as the library writes it */
	struct sge	sge;
	uint32_t	other;		/* number of that handle */
	uint32_t	dead;		/* of one that is gone */
	uint64_t	arrived;
	uint8_t		last[LONGEST];	/* datagram, with its GRH */
};

_Static_assert(sizeof(struct ud_wqe) == 208, "size of a datagram's WQE");
_Static_assert(offsetof(struct ud_wqe, ah_num) == 36, "address handle");
_Static_assert(offsetof(struct ud_wqe, dgid) == 64, "address");

static uint64_t rounds, posted, arrived, errors;

static struct ibv_ah *handle(struct ibv_pd *pd, const struct side *s, const struct side *peer)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = peer->gid, .sgid_index = s->gid_index, .hop_limit = 64 },
	};
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	if (!ah)
		die("cannot create an address handle");
	return ah;
}

static void ud_create(struct side *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = DEPTH - 1, .max_recv_wr = PLACES, .max_send_sge = SGES,
			 .max_recv_sge = RECV_SGES, .max_inline_data = INLINE },
	};

	s->cq = ibv_create_cq(s->context, 4 * PLACES, NULL, NULL, 0);
	init.send_cq = init.recv_cq = s->cq;
	s->qp = s->cq ? ibv_create_qp(s->pd, &init) : NULL;
	if (!s->qp || ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    IBV_QP_QKEY))
		die("cannot create a queue pair");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(s->qp, &attr, IBV_QP_STATE))
		die("RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("RTS");
	s->mw = NULL;
}

/* After a request that has failed: no error if none has. */
static void send_again(const struct side *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE };

	ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE);
}

static uint8_t *place(const struct side *s, uint64_t number)
{
	return s->memory + MEMORY / 2 + number * LONGEST;
}

static void receive(const struct side *s, uint64_t number)
{
	struct ibv_sge sge = { (uintptr_t)place(s, number), LONGEST, s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = number, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(s->qp, &wr, &bad))
		die("post_recv");
}

static void post(const struct side *s, struct ibv_ah *ah, uint32_t qpn, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)s->memory, length, s->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = QKEY },
	}, *bad;

	if (ibv_post_send(s->qp, &wr, &bad))
		die("post_send");
}

/*
 * Completions. What has come may be the elements of a list, if that was said to be inline; but
 * not what is in memory of another protection domain.
 */
static void take(struct liar *l)
{
	struct ibv_wc wc;
	uint32_t i, run;

	while (ibv_poll_cq(l->s->cq, 1, &wc) > 0) {
		if (wc.status != IBV_WC_SUCCESS)
			errors++;
		if (wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_RECV)
			continue;
		memcpy(l->last, place(l->s, wc.wr_id), LONGEST);
		for (i = GRH, run = 0; i < wc.byte_len; i++) {
			run = l->last[i] == CANARY ? run + 1 : 0;
			if (run < 16)
				continue;
			fprintf(stderr, "rings: %s has received memory of another domain\n", l->s->name);
			exit(1);
		}
		receive(l->s, wc.wr_id);
		l->arrived++;
		arrived++;
	}
}

/* The request that the library writes for a handle */
static struct ud_wqe *written(struct liar *l, struct ibv_ah *ah)
{
	uint32_t before[RINGS];
	int i;

	for (i = 0; i < num_rings; i++)
		before[i] = rings[i].ring->producer;
	post(l->s, ah, NOBODY, 64);
	for (i = 0; i < num_rings; i++) {
		if (is_send(&rings[i]) && rings[i].ring->producer != before[i]) {
			l->ring = &rings[i];
			return element(&rings[i], before[i]);
		}
	}
	die("a request is in none of the rings");
	return NULL;
}

/* Numbers that are handles, and numbers that are not */
static void learn(struct liar *l, const struct side *peer)
{
	struct ibv_ah *dying = handle(l->s->pd, l->s, peer);
	struct ud_wqe *wqe;
	int i;

	l->ah = handle(l->s->pd, l->s, peer);
	l->other_ah = handle(l->s->other_pd, l->s, peer);
	for (i = 0; i < PLACES; i++)
		receive(l->s, i);
	wqe = written(l, l->ah);
	l->good = *wqe;
	l->sge = *(struct sge *)(wqe + 1);
	/* an address that is right, should the library have left it out */
	memcpy(l->good.dgid, &peer->gid, sizeof(l->good.dgid));
	l->good.sgid_index = l->s->gid_index;
	l->good.hop_limit = 64;
	l->dead = written(l, dying)->ah_num;
	l->other = written(l, l->other_ah)->ah_num;
	if (ibv_destroy_ah(dying))
		die("destroy_ah");
}

/* Opcodes that are not those of datagrams */
static void wrong_opcodes(struct liar *l)
{
	struct ibv_wc wc;
	uint32_t opcode;

	while (ibv_poll_cq(l->s->cq, 1, &wc) || l->ring->ring->consumer != l->ring->ring->producer)
		send_again(l->s);
	for (opcode = 0; opcode <= OPCODES; opcode++) {
		struct ud_wqe *wqe = element(l->ring, l->ring->ring->producer);

		if (opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM)
			continue;
		*wqe = l->good;
		wqe->dma.sge[0] = l->sge;
		wqe->opcode = opcode < OPCODES ? opcode : WR_REG_MR;
		wqe->wr_id = opcode;
		l->ring->ring->producer = (l->ring->ring->producer + 1) & l->ring->mask;
		refused(l->s, opcode, wqe->opcode, IBV_WC_LOC_QP_OP_ERR);
		send_again(l->s);
	}
}

static uint32_t lying_handle(const struct liar *l)
{
	switch (below(8)) {
	case 0:
		return l->other;
	case 1:
		return l->dead;
	case 2:
		return nasty();
	case 3:
		return l->good.ah_num + 1 - 2 * below(2);
	case 4:
		return l->good.ah_num ^ 1 << below(32);
	default:	/* the address in the request counts */
		return 0;
	}
}

static void lying_address(struct ud_wqe *wqe, const struct side *s)
{
	static const uint8_t group[16] = { [10] = 0xff, 0xff, 239, 1, 1, 1 };
	uint32_t i;

	switch (below(8)) {
	case 0:		/* ourselves */
		memcpy(wqe->dgid, &s->gid, sizeof(wqe->dgid));
		break;
	case 1:
		memcpy(wqe->dgid, group, sizeof(group));
		break;
	case 2:
		memset(wqe->dgid, nasty(), sizeof(wqe->dgid));
		break;
	case 3:		/* loopback, any, broadcast, nobody */
		memset(wqe->dgid + 12, 0, 4);
		wqe->dgid[12] = one_in(2) ? 127 : nasty();
		break;
	case 4:
		for (i = 0; i < 4; i++)
			wqe->dgid[below(16)] = nasty();
		break;
	case 5:
		wqe->sgid_index = one_in(2) ? below(8) : nasty();
		break;
	case 6:
		wqe->flow_label = nasty();
		wqe->hop_limit = nasty();
		wqe->traffic_class = nasty();
		break;
	default:
		wqe->port = nasty();
		wqe->network = nasty();
	}
}

static void lying_memory(struct ud_wqe *wqe, const struct side *s)
{
	switch (below(6)) {
	case 0:
		wqe->dma.num_sge = nasty();
		break;
	case 1:
		wqe->dma.sge[0].addr = (uintptr_t)s->canary;
		break;
	case 2:
		wqe->dma.sge[0].lkey = s->canary_mr->lkey;
		break;
	case 3:
		wqe->dma.sge[0].addr = (uintptr_t)s->canary;
		wqe->dma.sge[0].lkey = s->canary_mr->lkey;
		break;
	case 4:
		wqe->dma.sge[0].length = nasty();
		break;
	default:
		wqe->send_flags |= IBV_SEND_INLINE;
		wqe->dma.length = one_in(2) ? nasty() : below(INLINE);
		/* what is inline stands where the elements do */
		if (wqe->dma.length <= INLINE)
			memset(wqe->dma.sge, OURS, INLINE);
	}
}

static void fill(const struct liar *l, const struct side *peer)
{
	struct ud_wqe *wqe = element(l->ring, l->ring->ring->producer);

	*wqe = l->good;
	wqe->wr_id = random64();
	wqe->qpn = peer->qp->qp_num;
	wqe->dma.sge[0] = l->sge;
	wqe->dma.sge[0].length = below(1500);
	if (one_in(3))
		wqe->ah_num = lying_handle(l);
	if (!wqe->ah_num && one_in(2))
		lying_address(wqe, l->s);
	if (one_in(8))
		wqe->qpn = one_in(2) ? (one_in(2) ? 1 : 0xffffff) : nasty();
	if (one_in(8))
		wqe->qkey = one_in(2) ? GSI_QKEY : nasty();
	if (one_in(6))
		lying_memory(wqe, l->s);
	if (one_in(12))
		wqe->opcode = one_in(2) ? below(OPCODES) : nasty();
	if (one_in(12))
		wqe->send_flags = nasty();
	l->ring->ring->producer = (l->ring->ring->producer + 1) & l->ring->mask;
	posted++;
}

struct change {
	const struct liar	*liars;
	uint64_t		seed;
};

/* Changes addresses and keys in both send queues under the kernel's hands. */
static void *changer(void *arg)
{
	const struct change *c = arg;

	seed = c->seed;
	while (!stop) {
		const struct liar *l = &c->liars[below(2)];
		uint32_t *wqe = element(l->ring, below(l->ring->mask + 1));

		/* from the peer's queue pair to the end of the address */
		wqe[6 + below((144 - 24) / 4)] = one_in(2) ? nasty() : 0;
		if (one_in(16))
			((struct ud_wqe *)wqe)->ah_num = l->good.ah_num;
		if (one_in(64))
			sched_yield();
		if (one_in(16))
			usleep(1);
	}
	return NULL;
}

/* Datagrams of new queue pairs arrive; not all of them, if there is no room. */
static void works(struct side *a, struct side *b)
{
	struct liar to = { .s = b };
	double end = now() + PATIENCE;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	int i;

	memset(a->memory, OURS, MEMORY);
	ud_create(a);
	ud_create(b);
	ah = handle(a->pd, a, b);
	for (i = 0; i < TRIES; i++) {
		receive(b, i);
		post(a, ah, b->qp->qp_num, 1000);
	}
	for (i = 0; i < TRIES && now() < end;) {
		if (!ibv_poll_cq(a->cq, 1, &wc))
			continue;
		if (wc.status != IBV_WC_SUCCESS)
			die("an honest datagram is refused");
		i++;
	}
	while (!to.arrived && now() < end)
		take(&to);
	if (i < TRIES || !to.arrived) {
		fprintf(stderr, "rings: of %d honest datagrams %d were sent, none has arrived\n",
			TRIES, i);
		exit(1);
	}
	for (i = GRH; i < GRH + 1000; i++)
		if (to.last[i] != OURS)
			die("an honest datagram is not what was sent");
	if (ibv_destroy_ah(ah))
		die("destroy_ah");
	pair_destroy(a, b);
}

static void one_round(struct side *a, struct side *b)
{
	struct liar liars[2] = { { .s = a }, { .s = b } };
	struct change c = { .liars = liars, .seed = random64() | 1 };
	bool threaded = rounds & 1;
	pthread_t thread;
	int i;

	ud_create(a);
	ud_create(b);
	memset(a->memory, OURS, MEMORY);
	memset(b->memory, OURS, MEMORY);
	find_rings(PAIR_RINGS);
	learn(&liars[0], b);
	learn(&liars[1], a);
	for (i = 0; i < 2; i++)
		wrong_opcodes(&liars[i]);
	stop = false;
	if (threaded && pthread_create(&thread, NULL, changer, &c))
		die("pthread_create");
	for (i = 0; i < ROUND_STEPS; i++) {
		struct liar *l = &liars[below(2)];

		if (one_in(16))
			lie(l->ring, below(LIES));
		else
			fill(l, l == liars ? b : a);
		if (one_in(3))
			ring_doorbell(l->s);
		if (one_in(4))
			send_again(l->s);
		take(l);
	}
	stop = true;
	if (threaded)
		pthread_join(thread, NULL);
	for (i = 0; i < 2; i++)
		take(&liars[i]);
	pair_destroy(a, b);
	for (i = 0; i < 2; i++)
		if (ibv_destroy_ah(liars[i].ah) || ibv_destroy_ah(liars[i].other_ah))
			die("destroy_ah");
	side_check(a);
	side_check(b);
	works(a, b);
	rounds++;
}

int datagrams(struct side *a, struct side *b, time_t end, uint64_t first_seed)
{
	seed = first_seed;
	while (time(NULL) < end || rounds < 2)
		one_round(a, b);
	printf("%" PRIu64 " rounds, %" PRIu64 " datagrams posted, %" PRIu64 " arrived, %" PRIu64
	       " refused\n", rounds, posted, arrived, errors);
	return arrived && errors ? 0 : 1;
}
