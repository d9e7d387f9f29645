// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cases of rxe_consumer about completion handlers: they post, and none is called when
 * ib_drain_qp() or ib_destroy_cq() has returned; and rdma_rw, which storage targets are
 * made of.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "consumer.h"
#ifndef OLD_CORE
#include <rdma/rw.h>
#endif

#define ROUNDS	2000

/* --- posting from a handler ----------------------------------------------------------------- */

/*
 * One end of a ping-pong that its handlers play
 * @buf: what is sent: the number of the round
 * @left: rounds
 * @answers: 1 for the end that answers, with the number that it got
 * @done: the last one, or an error
 * @status: of it
 */
struct player {
	struct end		*end;
	struct ib_cqe		received;
	struct ib_cqe		sent;
	u32			*buf;
	u64			addr;
	int			left;
	u32			next;
	u32			answers;
	struct completion	done;
	int			status;
};

static int player_receive(struct player *player)
{
	struct ib_sge sge = {
		.addr = player->addr, .length = 4, .lkey = player->end->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_id = wr_id_of(&player->received), .sg_list = &sge, .num_sge = 1,
	};

	return ib_post_recv(player->end->qp, &wr, NULL);
}

static int player_send(struct player *player)
{
	struct ib_sge sge = {
		.addr = player->addr + 4, .length = 4, .lkey = player->end->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_id = wr_id_of(&player->sent), .sg_list = &sge, .num_sge = 1,
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
	};

	player->buf[1] = player->next - player->answers;
	return ib_post_send(player->end->qp, &wr, NULL);
}

static void player_ends(struct player *player, int status)
{
	player->status = status;
	complete(&player->done);
}

static void player_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct player *player = container_of(cqe_of(wc), struct player, received);
	int ret;

	if (wc->status || player->buf[0] != player->next)
		return player_ends(player, -EIO);
	player->next++;
	ret = player_receive(player);
	if (!ret && player->left)
		ret = player_send(player);
	if (ret || !player->left--)
		player_ends(player, ret);
}

static void player_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status)
		player_ends(container_of(cqe_of(wc), struct player, sent), -EIO);
}

/*
 * Polls all there is, and asks for the next, as users do who have no core to do it. It is
 * called again while it runs: by another CPU, or because of what it posts itself.
 */
void handler_polls(struct ib_cq *cq, void *context)
{
	struct end *end = context;
	struct ib_wc wc;
	int calls;

	if (atomic_inc_return(&end->calls) != 1)
		return;
	do {
		calls = atomic_read(&end->calls);
		do {
			while (ib_poll_cq(cq, 1, &wc) == 1)
				cqe_of(&wc)->done(cq, &wc);
		} while (ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0);
	} while (atomic_sub_return(calls, &end->calls));
}

int case_ping_pong(struct end ends[2])
{
	struct player *players;
	int i, ret = 0;

	players = kcalloc(2, sizeof(*players), GFP_KERNEL);
	if (!players)
		return -ENOMEM;
	for (i = 0; i < 2; i++) {
		struct player *player = &players[i];

		player->end = &ends[i];
		player->received.done = player_received;
		player->sent.done = player_sent;
		player->left = ROUNDS - !i;
		player->answers = i;
		init_completion(&player->done);
		player->buf = kzalloc(64, GFP_KERNEL);
		if (!player->buf)
			return -ENOMEM;
		player->addr = ib_dma_map_single(ends[i].dev, player->buf, 64, DMA_BIDIRECTIONAL);
		ret = ret ? : ib_dma_mapping_error(ends[i].dev, player->addr);
		ret = ret ? : player_receive(player);
		if (ends[i].handler)
			ib_req_notify_cq(ends[i].cq, IB_CQ_NEXT_COMP);
	}
	ret = ret ? : player_send(&players[0]);
	if (!ret && !wait_for_completion_timeout(&players[0].done, PATIENCE)) {
		complain("stuck in round %u", players[0].next);
		ret = -ETIMEDOUT;
	}
	if (!ret && (players[0].status || players[0].next != ROUNDS)) {
		complain("ended in round %u: %d", players[0].next, players[0].status);
		ret = -EIO;
	}
	for (i = 0; i < 2; i++) {
		ib_drain_qp(ends[i].qp);
		ib_dma_unmap_single(ends[i].dev, players[i].addr, 64, DMA_BIDIRECTIONAL);
		kfree(players[i].buf);
	}
	kfree(players);
	return ret;
}

/* --- draining --------------------------------------------------------------------------- */

struct tally {
	struct ib_cqe	cqe;
	atomic_t	flushed;
	atomic_t	other;
};

static void tally_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct tally *tally = container_of(cqe_of(wc), struct tally, cqe);

	atomic_inc(wc->status == IB_WC_WR_FLUSH_ERR ? &tally->flushed : &tally->other);
}

/* The peer has no receives: what we send waits until it is drained. */
int case_drain(struct end ends[2])
{
	struct tally *sends, *recvs;
	struct ib_send_wr send = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	struct ib_recv_wr recv = {};
	int i, ret = 0;

	sends = kcalloc(2, sizeof(*sends), GFP_KERNEL);
	if (!sends)
		return -ENOMEM;
	recvs = &sends[1];
	sends->cqe.done = tally_done;
	recvs->cqe.done = tally_done;
	send.wr_id = wr_id_of(&sends->cqe);
	recv.wr_id = wr_id_of(&recvs->cqe);
	for (i = 0; i < DEPTH - 1 && !ret; i++) {
		ret = ib_post_recv(ends[0].qp, &recv, NULL);
		ret = ret ? : ib_post_send(ends[0].qp, &send, NULL);
	}
	ib_drain_qp(ends[0].qp);
	if (ret || atomic_read(&sends->flushed) != DEPTH - 1 || atomic_read(&sends->other) ||
	    atomic_read(&recvs->flushed) != DEPTH - 1 || atomic_read(&recvs->other)) {
		complain("posted %d of each (%d); sends: %d flushed, %d others; receives: %d, %d",
			 i, ret, atomic_read(&sends->flushed), atomic_read(&sends->other),
			 atomic_read(&recvs->flushed), atomic_read(&recvs->other));
		ret = -EIO;
	}
	kfree(sends);
	return ret;
}

/* --- destroying a CQ ------------------------------------------------------------------------ */

#define CQ_LIVES	40
#define CQ_SENDS	16

/*
 * What the handler of a CQ sees
 * @calls: all of them
 * @late: those after ib_destroy_cq() has returned
 * @gone: it has
 */
struct watcher {
	atomic_t	calls;
	atomic_t	late;
	bool		gone;
};

static void watcher_called(struct ib_cq *cq, void *context)
{
	struct watcher *watcher = context;

	if (smp_load_acquire(&watcher->gone)) {
		atomic_inc(&watcher->late);
		return;
	}
	atomic_inc(&watcher->calls);
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
}

/* A queue pair of one device that fails with requests under way, and its CQ */
static int watched_life(struct end *end, struct watcher *watcher)
{
	struct ib_send_wr send = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	struct ib_cq_init_attr attr = { .cqe = 4 * CQ_SENDS };
	struct ib_qp_init_attr init = {
		.cap = { .max_send_wr = CQ_SENDS, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC, .port_num = 1,
	};
	struct ib_qp_attr state = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	int i, ret = 0;

	init.send_cq = ib_create_cq(end->dev, watcher_called, NULL, watcher, &attr);
	EXPECT(!IS_ERR(init.send_cq));
	init.recv_cq = init.send_cq;
	end->qp = ib_create_qp(end->pd, &init);
	EXPECT(!IS_ERR(end->qp));
	ib_req_notify_cq(init.send_cq, IB_CQ_NEXT_COMP);
	ret = ib_modify_qp(end->qp, &state, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	state.qp_state = IB_QPS_ERR;
	ret = ret ? : ib_modify_qp(end->qp, &state, IB_QP_STATE);
	for (i = 0; i < CQ_SENDS && !ret; i++)
		ret = ib_post_send(end->qp, &send, NULL);
	ib_destroy_qp(end->qp);
	end->qp = NULL;
	ib_destroy_cq(init.send_cq);
	smp_store_release(&watcher->gone, true);
	return ret;
}

/* Completions arrive until the last moment: no handler is called after it. */
int case_cq_destroyed(struct end ends[2])
{
	struct watcher *watchers = kcalloc(CQ_LIVES, sizeof(*watchers), GFP_KERNEL);
	int i, calls = 0, late = 0, ret = 0;

	if (!watchers)
		return -ENOMEM;
	ib_drain_qp(ends[0].qp);
	ib_destroy_qp(ends[0].qp);
	ends[0].qp = NULL;
	for (i = 0; i < CQ_LIVES && !ret; i++)
		ret = watched_life(&ends[0], &watchers[i]);
	/* who is late has come by now */
	msleep(200);
	for (i = 0; i < CQ_LIVES; i++) {
		calls += atomic_read(&watchers[i].calls);
		late += atomic_read(&watchers[i].late);
	}
	kfree(watchers);
	if (ret || late || !calls) {
		complain("%d calls of handlers, %d after their CQ was destroyed; %d", calls, late,
			 ret);
		ret = -EIO;
	}
	return ret;
}

/* --- rdma_rw ---------------------------------------------------------------------------- */

#ifdef OLD_CORE

int case_rw(struct end ends[2])
{
	return NOT_HERE;
}

#else

#define RW_PAGES	48

struct rw_pages {
	struct sg_table	sgt;
	struct page	*page[RW_PAGES];
};

static int rw_alloc(struct rw_pages *pages)
{
	struct scatterlist *sg;
	int i;

	TRY(sg_alloc_table(&pages->sgt, RW_PAGES, GFP_KERNEL));
	for_each_sg(pages->sgt.sgl, sg, RW_PAGES, i) {
		pages->page[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!pages->page[i])
			return -ENOMEM;
		sg_set_page(sg, pages->page[i], PAGE_SIZE, 0);
	}
	return 0;
}

static void rw_free(struct rw_pages *pages)
{
	int i;

	for (i = 0; i < RW_PAGES; i++)
		if (pages->page[i])
			__free_page(pages->page[i]);
	sg_free_table(&pages->sgt);
}

/* All pages, to the peer or from it; compares what arrived. */
static int rw_move(struct end *end, struct rw_pages *ours, void *theirs, u64 addr, u32 rkey,
		   enum dma_data_direction dir)
{
	static struct waiter waiter;
	struct rdma_rw_ctx *ctx;
	int i, ret;

	for (i = 0; i < RW_PAGES; i++)
		if (dir == DMA_TO_DEVICE)
			fill(page_address(ours->page[i]), PAGE_SIZE, 50 + i);
		else
			fill(theirs + i * PAGE_SIZE, PAGE_SIZE, 150 + i);

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	if (!ctx)
		return -ENOMEM;
	waiter_init(&waiter);
	ret = rdma_rw_ctx_init(ctx, end->qp, 1, ours->sgt.sgl, RW_PAGES, 0, addr, rkey, dir);
	EXPECT(ret > 0);
	TRY(rdma_rw_ctx_post(ctx, end->qp, 1, &waiter.cqe, NULL));
	TRY(waiter_wait(&waiter, IB_WC_SUCCESS,
			dir == DMA_TO_DEVICE ? IB_WC_RDMA_WRITE : IB_WC_RDMA_READ));
	rdma_rw_ctx_destroy(ctx, end->qp, 1, ours->sgt.sgl, RW_PAGES, dir);
	kfree(ctx);

	for (i = 0; i < RW_PAGES; i++)
		if (dir == DMA_TO_DEVICE)
			TRY(differs(theirs + i * PAGE_SIZE, PAGE_SIZE, 50 + i));
		else
			TRY(differs(page_address(ours->page[i]), PAGE_SIZE, 150 + i));
	return 0;
}

/* The peer's memory is in one piece, and registered. */
static int rw_with_peer(struct end ends[2], struct rw_pages *ours, void *theirs,
			struct scatterlist *sg, struct ib_mr *mr)
{
	struct ib_reg_wr wr = {
		.wr = { .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.mr = mr, .key = mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};
	static struct waiter waiter;

	EXPECT(ib_map_mr_sg(mr, sg, 1, NULL, PAGE_SIZE) == 1);
	waiter_init(&waiter);
	wr.wr.wr_id = wr_id_of(&waiter.cqe);
	TRY(ib_post_send(ends[1].qp, &wr.wr, NULL));
	TRY(waiter_wait(&waiter, IB_WC_SUCCESS, IB_WC_REG_MR));
	TRY(rw_move(&ends[0], ours, theirs, mr->iova, mr->rkey, DMA_TO_DEVICE));
	return rw_move(&ends[0], ours, theirs, mr->iova, mr->rkey, DMA_FROM_DEVICE);
}

int case_rw(struct end ends[2])
{
	struct rw_pages *ours = kzalloc(sizeof(*ours), GFP_KERNEL);
	void *theirs = kzalloc(RW_PAGES * PAGE_SIZE, GFP_KERNEL);
	struct scatterlist sg;
	struct ib_mr *mr;
	int ret;

	if (!ours || !theirs)
		return -ENOMEM;
	TRY(rw_alloc(ours));
	sg_init_one(&sg, theirs, RW_PAGES * PAGE_SIZE);
	EXPECT(ib_dma_map_sg(ends[1].dev, &sg, 1, DMA_BIDIRECTIONAL) == 1);
	mr = ib_alloc_mr(ends[1].pd, IB_MR_TYPE_MEM_REG, RW_PAGES);
	EXPECT(!IS_ERR(mr));
	ret = rw_with_peer(ends, ours, theirs, &sg, mr);
	ib_drain_qp(ends[0].qp);
	ib_drain_qp(ends[1].qp);
	ib_dereg_mr(mr);
	ib_dma_unmap_sg(ends[1].dev, &sg, 1, DMA_BIDIRECTIONAL);
	rw_free(ours);
	kfree(theirs);
	kfree(ours);
	return ret;
}

#endif /* OLD_CORE */
