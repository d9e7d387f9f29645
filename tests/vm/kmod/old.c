// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues that poll themselves, in a work queue or in softirq context, and
 * draining of queue pairs, for cores that have neither.
 */
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "consumer.h"

#define BATCH	16

struct old_cq {
	struct ib_cq		*cq;
	enum ib_poll_context	poll;
	struct work_struct	work;
	struct tasklet_struct	tasklet;
	struct ib_wc		wc[BATCH];
};

/* Until there is no more, and the next one calls completed(). */
static void poll(struct old_cq *old)
{
	int i, count;

	do {
		while ((count = ib_poll_cq(old->cq, BATCH, old->wc)) > 0)
			for (i = 0; i < count; i++)
				cqe_of(&old->wc[i])->done(old->cq, &old->wc[i]);
	} while (ib_req_notify_cq(old->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0);
}

static void poll_work(struct work_struct *work)
{
	poll(container_of(work, struct old_cq, work));
}

static void poll_tasklet(unsigned long data)
{
	poll((struct old_cq *)data);
}

static void completed(struct ib_cq *cq, void *context)
{
	struct old_cq *old = context;

	if (old->poll == IB_POLL_SOFTIRQ)
		tasklet_schedule(&old->tasklet);
	else
		schedule_work(&old->work);
}

struct ib_cq *old_alloc_cq(struct ib_device *dev, int count, enum ib_poll_context poll)
{
	struct ib_cq_init_attr attr = { .cqe = count };
	struct old_cq *old = kzalloc(sizeof(*old), GFP_KERNEL);
	struct ib_cq *cq;

	if (!old)
		return ERR_PTR(-ENOMEM);
	old->poll = poll;
	INIT_WORK(&old->work, poll_work);
	tasklet_init(&old->tasklet, poll_tasklet, (unsigned long)old);
	cq = ib_create_cq(dev, completed, NULL, old, &attr);
	if (IS_ERR(cq)) {
		kfree(old);
		return cq;
	}
	old->cq = cq;
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	return cq;
}

void old_free_cq(struct ib_cq *cq)
{
	struct old_cq *old = cq->cq_context;

	cancel_work_sync(&old->work);
	tasklet_kill(&old->tasklet);
	ib_destroy_cq(cq);
	kfree(old);
}

/* The last completions of both queues: what came before them has been handled. */
void old_drain_qp(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	static struct waiter last[2];
	struct ib_send_wr send = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	struct ib_recv_wr recv = {};

	waiter_init(&last[0]);
	waiter_init(&last[1]);
	send.wr_id = wr_id_of(&last[0].cqe);
	recv.wr_id = wr_id_of(&last[1].cqe);
	if (ib_modify_qp(qp, &attr, IB_QP_STATE) || ib_post_send(qp, &send, NULL) ||
	    (!qp->srq && ib_post_recv(qp, &recv, NULL))) {
		complain("cannot drain");
		return;
	}
	waiter_wait(&last[0], IB_WC_WR_FLUSH_ERR, 0);
	/* what is in a shared queue is for other queue pairs */
	if (!qp->srq)
		waiter_wait(&last[1], IB_WC_WR_FLUSH_ERR, 0);
}
