// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The cases of rxe_consumer, and what they share: two connected ends.
 *
 * Loading the module runs all cases; it says in the kernel log, for each, "ok NAME",
 * "not ok NAME" or "skip NAME". Parameters: the names of two devices, and a GID index of each.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "consumer.h"

static char *device[2] = { "rxe0", "rxe1" };
module_param_array(device, charp, NULL, 0444);
MODULE_PARM_DESC(device, "names of the devices");
static int gid_index[2];
module_param_array(gid_index, int, NULL, 0444);
MODULE_PARM_DESC(gid_index, "GID index of each");
static char *only;
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "run this case alone");

/* --- waiting ---------------------------------------------------------------------------- */

static void waiter_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct waiter *waiter = container_of(cqe_of(wc), struct waiter, cqe);

	waiter->wc = *wc;
	complete(&waiter->done);
}

void waiter_init(struct waiter *waiter)
{
	waiter->cqe.done = waiter_done;
	init_completion(&waiter->done);
}

/* 0 if the completion came, and is that */
int waiter_wait(struct waiter *waiter, enum ib_wc_status status, enum ib_wc_opcode opcode)
{
	if (!wait_for_completion_timeout(&waiter->done, PATIENCE)) {
		complain("no completion");
		return -ETIMEDOUT;
	}
	if (waiter->wc.status != status || (!status && waiter->wc.opcode != opcode)) {
		complain("completion: status %d, opcode %d; not status %d, opcode %d",
			 waiter->wc.status, waiter->wc.opcode, status, opcode);
		return -EIO;
	}
	return 0;
}

/* --- contents --------------------------------------------------------------------------- */

static u8 byte_at(size_t i, u32 seed)
{
	return (i * 7 + (i >> 8) * 13 + seed * 31) & 0xff;
}

/* What @buf holds is part of something longer: it begins with byte @first of that. */
void fill_at(void *buf, size_t length, size_t first, u32 seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		((u8 *)buf)[i] = byte_at(first + i, seed);
}

/* 0 if @buf holds what fill_at() puts there */
int differs_at(const void *buf, size_t length, size_t first, u32 seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (((const u8 *)buf)[i] != byte_at(first + i, seed)) {
			complain("byte %zu of %zu is %#x, not %#x", i, length,
				 ((const u8 *)buf)[i], byte_at(first + i, seed));
			return -EIO;
		}
	return 0;
}

/* --- two ends --------------------------------------------------------------------------- */

/* A CQ that the core polls, or one whose handler is ours */
static struct ib_cq *end_cq(struct end *end)
{
	struct ib_cq_init_attr attr = { .cqe = 16 * DEPTH };

	if (!end->handler)
		return ib_alloc_cq(end->dev, end, attr.cqe, 0, end->poll);
	return ib_create_cq(end->dev, end->handler, NULL, end, &attr);
}

static int end_create(struct end *end)
{
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr		= DEPTH,
			.max_recv_wr		= DEPTH,
			.max_send_sge		= SGES,
			.max_recv_sge		= SGES,
			.max_inline_data	= 64,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.port_num	= 1,
	};

	rdma_ctxs_set(&init, end->rdma_ctxs);
	end->pd = ib_alloc_pd(end->dev, 0);
	if (IS_ERR(end->pd))
		return PTR_ERR(end->pd);
	atomic_set(&end->calls, 0);
	init_completion(&end->called);
	end->cq = end_cq(end);
	if (IS_ERR(end->cq))
		return PTR_ERR(end->cq);
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	init.srq = end->srq;
	end->qp = ib_create_qp(end->pd, &init);
	if (IS_ERR(end->qp))
		return PTR_ERR(end->qp);
	EXPECT(init.cap.max_send_wr >= DEPTH && init.cap.max_inline_data >= 64);
	return 0;
}

static int end_connect(struct end *end, struct end *peer)
{
	struct ib_qp_attr attr = {
		.qp_state	 = IB_QPS_INIT,
		.port_num	 = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_ATOMIC,
	};

	TRY(ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			 IB_QP_ACCESS_FLAGS));

	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_1024;
	attr.dest_qp_num = peer->qp->qp_num;
	attr.rq_psn = peer->qp->qp_num & 0xffffff;
	attr.max_dest_rd_atomic = 16;
	attr.min_rnr_timer = 12;
	address_set(&attr, &peer->gid, end->gid_index);
	TRY(ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			 IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			 IB_QP_MIN_RNR_TIMER));

	attr.qp_state = IB_QPS_RTS;
	attr.sq_psn = end->qp->qp_num & 0xffffff;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 16;
	TRY(ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			 IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC));
	return 0;
}

int ends_connect(struct end ends[2])
{
	TRY(end_create(&ends[0]));
	TRY(end_create(&ends[1]));
	TRY(end_connect(&ends[0], &ends[1]));
	return end_connect(&ends[1], &ends[0]);
}

/* Both begin anew, as after an error. Nothing is under way. */
int ends_reconnect(struct end ends[2])
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	TRY(ib_modify_qp(ends[0].qp, &attr, IB_QP_STATE));
	TRY(ib_modify_qp(ends[1].qp, &attr, IB_QP_STATE));
	TRY(end_connect(&ends[0], &ends[1]));
	return end_connect(&ends[1], &ends[0]);
}

void ends_destroy(struct end ends[2])
{
	int i;

	for (i = 0; i < 2; i++) {
		struct end *end = &ends[i];

		if (!IS_ERR_OR_NULL(end->qp)) {
			/* no handler is called for memory that is gone */
			if (!end->handler)
				ib_drain_qp(end->qp);
			ib_destroy_qp(end->qp);
		}
		if (!IS_ERR_OR_NULL(end->cq)) {
			if (end->handler)
				ib_destroy_cq(end->cq);
			else
				ib_free_cq(end->cq);
		}
		if (!IS_ERR_OR_NULL(end->pd))
			ib_dealloc_pd(end->pd);
		end->qp = NULL;
		end->cq = NULL;
		end->pd = NULL;
	}
}

/* --- cases ------------------------------------------------------------------------------ */

static const struct {
	const char		*name;
	int			(*run)(struct end ends[2]);
	bool			softirq;
	u32			rdma_ctxs;
	ib_comp_handler		handler;
} cases[] = {
	{ "dma-mask", case_mask },
	{ "dma-single", case_single },
	{ "dma-page", case_page },
	{ "dma-compound-page", case_compound_page },
	{ "dma-scatterlist", case_scatterlist },
	{ "inline", case_inline },
	{ "write", case_write },
	{ "write-immediate", case_write_imm },
	{ "read", case_read },
	{ "atomics", case_atomics },
	{ "fast-registration", case_fast_registration },
	{ "largest-registration", case_largest_registration },
	{ "page-sizes", case_page_sizes },
	{ "send-with-invalidate", case_send_invalidate },
	{ "key-invalidated", case_key_invalidated },
	{ "key-changed", case_key_changed },
	{ "invalidate-wrong-key", case_wrong_key },
	{ "remote-access", case_remote_access },
	{ "post-from-handler", case_ping_pong },
	{ "post-from-handler-in-softirq", case_ping_pong, true },
	{ "poll-from-handler", case_ping_pong, .handler = handler_polls },
	{ "handler-outside-lock", case_outside_lock, .handler = handler_waits },
	{ "missed-events", case_missed_events, .handler = handler_counts },
	{ "solicited-events", case_solicited, .handler = handler_counts },
	{ "told-together", case_together, .handler = handler_asks_again },
	{ "drain", case_drain },
	{ "drain-in-softirq", case_drain, true },
	{ "cq-destroyed", case_cq_destroyed },
	{ "rdma-rw", case_rw, false, 4 },
	{ "srq", case_srq },
};

static int run_case(struct end ends[2], int i)
{
	int ret;

	ends[0].poll = cases[i].softirq ? IB_POLL_SOFTIRQ : IB_POLL_WORKQUEUE;
	ends[1].poll = ends[0].poll;
	ends[0].rdma_ctxs = cases[i].rdma_ctxs;
	ends[1].rdma_ctxs = cases[i].rdma_ctxs;
	ends[0].handler = cases[i].handler;
	ends[1].handler = cases[i].handler;
	ret = ends_connect(ends);
	if (!ret)
		ret = cases[i].run(ends);
	ends_destroy(ends);
	return ret;
}

static const char *result(int ret)
{
	if (ret == NOT_HERE)
		return "skip";
	return ret ? "not ok" : "ok";
}

static struct end ends[2];

/* A device is there: is it one of ours? */
static added_t consumer_add(struct ib_device *dev)
{
	int i;

	for (i = 0; i < 2; i++)
		if (!strcmp(dev_name(&dev->dev), device[i]))
			ends[i].dev = dev;
	return ADDED;
}

/* Nobody removes devices while the cases run. */
static void consumer_remove(struct ib_device *dev, void *client_data)
{
}

static struct ib_client client = {
	.name	= "rxe_consumer",
	.add	= consumer_add,
	.remove	= consumer_remove,
};

static int __init consumer_init(void)
{
	int i, ret;

	TRY(ib_register_client(&client));
	for (i = 0, ret = 0; i < 2 && !ret; i++) {
		ends[i].gid_index = gid_index[i];
		ret = ends[i].dev ? rdma_query_gid(ends[i].dev, 1, gid_index[i], &ends[i].gid) :
				    -ENODEV;
	}
	for (i = 0; i < ARRAY_SIZE(cases) && !ret; i++) {
		if (only && strcmp(only, cases[i].name))
			continue;
		pr_info("rxe_consumer: %s %s\n", result(run_case(ends, i)), cases[i].name);
	}
	ib_unregister_client(&client);
	return ret;
}

static void __exit consumer_exit(void)
{
}

module_init(consumer_init);
module_exit(consumer_exit);
MODULE_DESCRIPTION("Test: a kernel user of two RDMA devices");
MODULE_LICENSE("Dual BSD/GPL");
