/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Posts of a process that are left in the ring for a while (gather.c).
 */
#ifndef RXE_GATHER_H
#define RXE_GATHER_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>

struct rxe_qp;

/**
 * struct rxe_gather - of one send queue
 * @taken: what the reader of the send CQ had taken at the last post
 * @row: posts since it took some
 * @rows: how many posts make a row, smoothed
 * @left: posts in the ring that wait
 * @most: that make a burst; several of these may wait for a worker, and more for
 *	responses; 0: messages too large
 * @reads: the messages are READs or atomics
 * @pulls: how often some that waited were taken
 * @left_before: when the timer looked last
 * @pulls_before: likewise
 * @rounds: of the timer, since then
 * @called: the worker, by the timer, since then
 * @armed: the timer runs
 * @timer: end of the wait
 */
struct rxe_gather {
	u32			taken;
	u32			row;
	u32			rows;
	u32			left;
	u32			most;
	bool			reads;
	u32			pulls;
	u32			left_before;
	u32			pulls_before;
	u32			rounds;
	bool			called;
	atomic_t		armed;
	struct hrtimer		timer;
};

void rxe_gather_init(struct rxe_qp *qp);
void rxe_gather_stop(struct rxe_qp *qp);
bool rxe_gather_post(struct rxe_qp *qp);
void rxe_gather_pull(struct rxe_qp *qp);
void rxe_gather_pulled(struct rxe_qp *qp, u32 length, bool read);

#endif /* RXE_GATHER_H */
