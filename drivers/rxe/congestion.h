/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Congestion: how fast a flow may send, and who is told of a mark (congestion.c).
 */
#ifndef RXE_CONGESTION_H
#define RXE_CONGESTION_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/types.h>

#include "proto/dcqcn.h"

struct rxe_flow;
struct rxe_qp;
struct rxe_task;

/**
 * struct rxe_pace - the pace of one side of a connected queue pair
 * @task: sends, and is called when it may go on
 * @flow: what it sends through
 * @srtt: round trip that it has measured, ns; NULL if it measures none
 * @cnp: when a CNP came that has not been looked at, ns; 0: none
 * @dcqcn: the limit
 * @credit: bytes that may leave now; below 0 after the last packet
 * @filled: when @credit was made up last, ns
 * @closed: no credit is made up before @open_at
 * @open_at: ns
 * @measuring: how fast the flow is without a limit: since @filled, @sent bytes
 * @sent: bytes
 * @armed: @timer runs
 * @timer: at @open_at
 *
 * All but @cnp and @armed belongs to @task. What is asked for each packet is one
 * flag in the flow, set as long as there is anything to do here.
 */
struct rxe_pace {
	struct rxe_task		*task;
	struct rxe_flow		*flow;
	const u64		*srtt;
	atomic64_t		cnp;
	struct dcqcn		dcqcn;
	s64			credit;
	u64			filled;
	u64			open_at;
	u64			sent;
	bool			closed;
	bool			measuring;
	bool			armed;
	struct hrtimer		timer;
};

void rxe_pace_init(struct rxe_pace *pace, struct rxe_task *task, struct rxe_flow *flow,
		   const u64 *srtt);
void rxe_pace_stop(struct rxe_pace *pace);
bool rxe_pace_holds(struct rxe_flow *flow);
void rxe_pace_sent(struct rxe_flow *flow, u32 bytes);
bool rxe_pace_ends(const struct rxe_flow *flow, u32 payload);
u32 rxe_pace_mbps(const struct rxe_pace *pace);

u8 rxe_congestion_tos(u8 tos);
void rxe_congestion_cnp(struct rxe_qp *qp);
void rxe_congestion_refused(struct rxe_flow *flow);
bool rxe_congestion_due(const struct rxe_qp *qp);
void rxe_congestion_marked(struct rxe_qp *qp, struct rxe_flow *flow);

#endif /* RXE_CONGESTION_H */
