// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cases of rxe_consumer about completion queues whose handler is the consumer's own: when
 * it is called, and with which locks; and about shared receive queues.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "consumer.h"

void handler_counts(struct ib_cq *cq, void *context)
{
	struct end *end = context;

	atomic_inc(&end->calls);
	complete(&end->called);
}

void handler_asks_again(struct ib_cq *cq, void *context)
{
	struct end *end = context;

	atomic_inc(&end->calls);
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
}

static int wait_called(struct end *end)
{
	EXPECT(wait_for_completion_timeout(&end->called, PATIENCE));
	return 0;
}

/* The next entry, that of @qp with @status; whoever calls a handler for it has done so. */
static int next_entry(struct end *end, enum ib_wc_status status)
{
	unsigned long end_of_patience = jiffies + PATIENCE;
	struct ib_wc wc;

	while (!ib_poll_cq(end->cq, 1, &wc)) {
		EXPECT(time_before(jiffies, end_of_patience));
		usleep_range(500, 1000);
	}
	EXPECT(wc.status == status && wc.qp == end->qp);
	msleep(20);
	return 0;
}

/* A request that nobody waits for */
static int post(struct end *end, int flags)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED | flags };

	return ib_post_send(end->qp, &wr, NULL);
}

static int fail(struct end *end)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return ib_modify_qp(end->qp, &attr, IB_QP_STATE);
}

/* --- outside of locks ----------------------------------------------------------------------- */

/*
 * What another CPU does while a handler runs: all that a handler may do. If the lock of
 * the CQ is held there, it has to wait until the handler has returned; a handler that
 * did it itself would wait for ever.
 */
static struct {
	struct work_struct	work;
	struct ib_cq		*cq;
	bool			polled;
	bool			in_time;
	bool			alone;
} other;

static void other_polls(struct work_struct *work)
{
	struct ib_wc wc;

	ib_poll_cq(other.cq, 1, &wc);
	ib_req_notify_cq(other.cq, IB_CQ_NEXT_COMP);
	WRITE_ONCE(other.polled, true);
}

void handler_waits(struct ib_cq *cq, void *context)
{
	struct end *end = context;
	int i, cpu;

	preempt_disable();
	for_each_online_cpu(cpu)
		if (cpu != smp_processor_id())
			break;
	other.alone = cpu >= nr_cpu_ids;
	if (!other.alone) {
		schedule_work_on(cpu, &other.work);
		for (i = 0; i < 20000 && !READ_ONCE(other.polled); i++)
			udelay(100);
		other.in_time = READ_ONCE(other.polled);
	}
	preempt_enable();
	complete(&end->called);
}

int case_outside_lock(struct end ends[2])
{
	memset(&other, 0, sizeof(other));
	INIT_WORK(&other.work, other_polls);
	other.cq = ends[0].cq;
	TRY(fail(&ends[0]));
	ib_req_notify_cq(ends[0].cq, IB_CQ_NEXT_COMP);
	TRY(post(&ends[0], 0));
	TRY(wait_called(&ends[0]));
	flush_work(&other.work);
	if (other.alone)
		return NOT_HERE;
	EXPECT(other.in_time);
	return 0;
}

/* --- when handlers are called ------------------------------------------------------------------ */

#define ANY_ENTRY	(IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS)

/* Who asks for the next entry hears of those that are there already, if he wants to. */
int case_missed_events(struct end ends[2])
{
	struct end *end = &ends[0];

	TRY(fail(end));
	EXPECT(ib_req_notify_cq(end->cq, ANY_ENTRY) == 0);
	TRY(post(end, 0));
	TRY(wait_called(end));
	TRY(post(end, 0));
	/* nothing was asked for: no call for the second one */
	msleep(20);
	EXPECT(atomic_read(&end->calls) == 1);
	EXPECT(ib_req_notify_cq(end->cq, IB_CQ_NEXT_COMP) == 0);
	EXPECT(ib_req_notify_cq(end->cq, ANY_ENTRY) > 0);
	EXPECT(ib_req_notify_cq(end->cq, IB_CQ_SOLICITED | IB_CQ_REPORT_MISSED_EVENTS) > 0);
	TRY(next_entry(end, IB_WC_WR_FLUSH_ERR));
	EXPECT(ib_req_notify_cq(end->cq, ANY_ENTRY) > 0);
	TRY(next_entry(end, IB_WC_WR_FLUSH_ERR));
	EXPECT(ib_req_notify_cq(end->cq, ANY_ENTRY) == 0);
	/* what was missed was told; the handler is for what comes */
	EXPECT(atomic_read(&end->calls) == 1);
	TRY(post(end, 0));
	TRY(wait_called(end));
	EXPECT(atomic_read(&end->calls) == 2);
	return 0;
}

/* A message from one end to the other, and its completions at both */
static int message(struct end ends[2], int flags)
{
	TRY(post(&ends[0], flags));
	TRY(next_entry(&ends[1], IB_WC_SUCCESS));
	return next_entry(&ends[0], IB_WC_SUCCESS);
}

/* Who asks for solicited entries is called for these, and for errors. */
int case_solicited(struct end ends[2])
{
	struct ib_recv_wr recv = {};
	int i;

	for (i = 0; i < 8; i++)
		TRY(ib_post_recv(ends[1].qp, &recv, NULL));
	ib_req_notify_cq(ends[0].cq, IB_CQ_SOLICITED);
	ib_req_notify_cq(ends[1].cq, IB_CQ_SOLICITED);
	TRY(message(ends, 0));
	EXPECT(!atomic_read(&ends[0].calls) && !atomic_read(&ends[1].calls));
	TRY(message(ends, IB_SEND_SOLICITED));
	EXPECT(!atomic_read(&ends[0].calls) && atomic_read(&ends[1].calls) == 1);
	/* once */
	TRY(message(ends, IB_SEND_SOLICITED));
	EXPECT(atomic_read(&ends[1].calls) == 1);
	/* who has asked for any entry has not given that up by asking for less */
	ib_req_notify_cq(ends[1].cq, IB_CQ_NEXT_COMP);
	ib_req_notify_cq(ends[1].cq, IB_CQ_SOLICITED);
	TRY(message(ends, 0));
	EXPECT(atomic_read(&ends[1].calls) == 2);

	ib_req_notify_cq(ends[1].cq, IB_CQ_SOLICITED);
	TRY(message(ends, 0));
	EXPECT(atomic_read(&ends[1].calls) == 2);
	TRY(fail(&ends[1]));
	TRY(next_entry(&ends[1], IB_WC_WR_FLUSH_ERR));
	EXPECT(atomic_read(&ends[1].calls) == 3);
	EXPECT(!atomic_read(&ends[0].calls));
	return 0;
}

#define TOGETHER	8
#define ROUNDS		32

/*
 * Whoever always asks for the next entry would be called for each, if entries came one by
 * one. READs that are posted together are answered together, and their entries are there
 * together: fewer calls, some of which may be for an answer that came apart.
 */
int case_together(struct end ends[2])
{
	struct ib_rdma_wr wr[TOGETHER] = {};
	unsigned long end_of_patience;
	struct ib_wc wc;
	int i, round;

	for (i = 0; i < TOGETHER; i++) {
		wr[i].wr.opcode = IB_WR_RDMA_READ;
		wr[i].wr.send_flags = IB_SEND_SIGNALED;
		wr[i].wr.wr_id = i;
		wr[i].wr.next = i + 1 < TOGETHER ? &wr[i + 1].wr : NULL;
	}
	ib_req_notify_cq(ends[0].cq, IB_CQ_NEXT_COMP);
	for (round = 0; round < ROUNDS; round++) {
		TRY(ib_post_send(ends[0].qp, &wr[0].wr, NULL));
		end_of_patience = jiffies + PATIENCE;
		for (i = 0; i < TOGETHER; i++) {
			while (!ib_poll_cq(ends[0].cq, 1, &wc)) {
				EXPECT(time_before(jiffies, end_of_patience));
				usleep_range(500, 1000);
			}
			EXPECT(wc.status == IB_WC_SUCCESS && wc.opcode == IB_WC_RDMA_READ);
			EXPECT(wc.wr_id == i);
		}
	}
	/* who has polled an entry need not have been called for it yet */
	msleep(20);
	i = atomic_read(&ends[0].calls);
	if (i < 1 || i > TOGETHER * ROUNDS / 2)
		complain("%d calls for %d entries", i, TOGETHER * ROUNDS);
	EXPECT(i >= 1 && i <= TOGETHER * ROUNDS / 2);
	return 0;
}

/* --- shared receive queues -------------------------------------------------------------------- */

#define SRQ_PAIRS	3
#define SRQ_DEPTH	32
#define SRQ_LIMIT	8
#define SRQ_SIZE	1500

/*
 * One SRQ that the queue pairs of the second end share
 * @ends: the pairs
 * @buf: memory of all receives; then of one message
 * @addr: of it, for the device of both ends
 * @waiters: of the receives
 * @limits: events of the limit
 * @others: other events
 */
struct shared {
	struct end	ends[SRQ_PAIRS][2];
	struct ib_pd	*pd;
	struct ib_srq	*srq;
	u8		*buf[2];
	u64		addr[2];
	struct waiter	waiters[SRQ_DEPTH];
	struct waiter	sent;
	atomic_t	limits;
	atomic_t	others;
};

static void srq_event(struct ib_event *event, void *context)
{
	struct shared *shared = context;

	atomic_inc(event->event == IB_EVENT_SRQ_LIMIT_REACHED &&
		   event->element.srq == shared->srq ? &shared->limits : &shared->others);
}

static int srq_receive(struct shared *shared, int i)
{
	struct ib_sge sge = {
		.addr = shared->addr[1] + i * SRQ_SIZE, .length = SRQ_SIZE,
		.lkey = shared->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_id = wr_id_of(&shared->waiters[i].cqe), .sg_list = &sge, .num_sge = 1,
	};

	waiter_init(&shared->waiters[i]);
	return ib_post_srq_recv(shared->srq, &wr, NULL);
}

/* Message @i, over one pair after the other, is in the receive of that number. */
static int srq_message(struct shared *shared, int i)
{
	struct end *ends = shared->ends[i % SRQ_PAIRS];
	struct ib_sge sge = {
		.addr = shared->addr[0], .length = SRQ_SIZE - i,
		.lkey = ends[0].pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_IMM, .sg_list = &sge, .num_sge = 1,
		.ex.imm_data = cpu_to_be32(i),
	};
	struct ib_wc *wc = &shared->waiters[i % SRQ_DEPTH].wc;

	fill(shared->buf[0], SRQ_SIZE, i);
	TRY(post_send(&ends[0], &wr, &shared->sent));
	TRY(waiter_wait(&shared->sent, IB_WC_SUCCESS, IB_WC_SEND));
	TRY(waiter_wait(&shared->waiters[i % SRQ_DEPTH], IB_WC_SUCCESS, IB_WC_RECV));
	EXPECT(wc->qp == ends[1].qp && wc->byte_len == SRQ_SIZE - i);
	EXPECT(wc->wc_flags & IB_WC_WITH_IMM && wc->ex.imm_data == cpu_to_be32(i));
	return differs(shared->buf[1] + (i % SRQ_DEPTH) * SRQ_SIZE, SRQ_SIZE - i, i);
}

/* Messages take receives in their order; the limit is told once, and can be set again. */
static int srq_messages(struct shared *shared)
{
	struct ib_srq_attr attr = { .srq_limit = SRQ_LIMIT };
	struct ib_recv_wr recv = {};
	int i;

	for (i = 0; i < SRQ_DEPTH; i++)
		TRY(srq_receive(shared, i));
	EXPECT(ib_post_srq_recv(shared->srq, &recv, NULL));
	TRY(ib_modify_srq(shared->srq, &attr, IB_SRQ_LIMIT));
	for (i = 0; i < SRQ_DEPTH - SRQ_LIMIT; i++)
		TRY(srq_message(shared, i));
	EXPECT(!atomic_read(&shared->limits));
	TRY(srq_message(shared, i++));
	EXPECT(atomic_read(&shared->limits) == 1);
	TRY(ib_query_srq(shared->srq, &attr));
	EXPECT(attr.srq_limit == 0 && attr.max_wr >= SRQ_DEPTH);
	TRY(srq_message(shared, i++));
	EXPECT(atomic_read(&shared->limits) == 1);

	/* around the end of the ring, and the limit again */
	for (i = 0; i < SRQ_LIMIT; i++)
		TRY(srq_receive(shared, i));
	attr.srq_limit = SRQ_LIMIT;
	TRY(ib_modify_srq(shared->srq, &attr, IB_SRQ_LIMIT));
	for (i = SRQ_DEPTH - SRQ_LIMIT + 2; i < SRQ_DEPTH + SRQ_LIMIT; i++)
		TRY(srq_message(shared, i));
	EXPECT(atomic_read(&shared->limits) == 2);
	EXPECT(!atomic_read(&shared->others));
	return 0;
}

static int srq_create(struct shared *shared, struct end ends[2])
{
	struct ib_srq_init_attr init = {
		.event_handler	= srq_event,
		.srq_context	= shared,
		.attr		= { .max_wr = SRQ_DEPTH, .max_sge = 1 },
	};
	int i;

	shared->pd = ib_alloc_pd(ends[1].dev, 0);
	EXPECT(!IS_ERR(shared->pd));
	shared->srq = ib_create_srq(shared->pd, &init);
	EXPECT(!IS_ERR(shared->srq));
	for (i = 0; i < 2; i++) {
		shared->buf[i] = kzalloc(SRQ_DEPTH * SRQ_SIZE, GFP_KERNEL);
		if (!shared->buf[i])
			return -ENOMEM;
		shared->addr[i] = ib_dma_map_single(ends[i].dev, shared->buf[i],
						    SRQ_DEPTH * SRQ_SIZE, DMA_BIDIRECTIONAL);
		TRY(ib_dma_mapping_error(ends[i].dev, shared->addr[i]));
	}
	for (i = 0; i < SRQ_PAIRS; i++) {
		memcpy(shared->ends[i], ends, sizeof(shared->ends[i]));
		shared->ends[i][0].qp = NULL;
		shared->ends[i][1].qp = NULL;
		shared->ends[i][1].srq = shared->srq;
		TRY(ends_connect(shared->ends[i]));
	}
	return 0;
}

int case_srq(struct end ends[2])
{
	struct shared *shared = kzalloc(sizeof(*shared), GFP_KERNEL);
	int i, ret;

	if (!shared)
		return -ENOMEM;
	/* if that fails, who knows what is still in use */
	TRY(srq_create(shared, ends));
	ret = srq_messages(shared);
	for (i = 0; i < SRQ_PAIRS; i++)
		ends_destroy(shared->ends[i]);
	ib_destroy_srq(shared->srq);
	ib_dealloc_pd(shared->pd);
	for (i = 0; i < 2; i++) {
		ib_dma_unmap_single(ends[i].dev, shared->addr[i], SRQ_DEPTH * SRQ_SIZE,
				    DMA_BIDIRECTIONAL);
		kfree(shared->buf[i]);
	}
	kfree(shared);
	return ret;
}
