/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is to be seen of a queue pair (view.c): a copy that does not change.
 */
#ifndef RXE_VIEW_H
#define RXE_VIEW_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct rxe_cq;
struct rxe_qp;
struct rxe_srq;

/* An address as text; "-" if there is none */
#define RXE_VIEW_ADDR	48

/**
 * struct rxe_qp_view - a queue pair at one moment
 * @state: of the verbs
 * @type: RC, UC, UD, GSI
 * @waits: what the send side waits for, one word
 * @error: why it failed last, for people; "-": it never did
 * @local: address
 * @peer: address
 * @rqpn: of the peer
 * @sport: UDP source port
 * @pmtu: bytes
 * @sq_psn: next PSN to send
 * @una_psn: oldest PSN not acknowledged
 * @rq_psn: PSN expected next
 * @msn: messages of the peer that are done, modulo 2^24
 * @outstanding: packets sent and not acknowledged
 * @window: packets that may be
 * @held: packets kept behind a hole, both sides
 * @sq_used: send requests not completed; of a process those that it has announced
 * @rq_used: receives posted and not taken; 0 with an SRQ
 * @retries: timeouts and NAKs that it may still answer
 * @sq_mbps: what requests may take, Mb/s; 0: as much as they can
 * @rq_mbps: likewise, READ responses
 * @rtt_us: smoothed round trip; 0: not measured yet
 * @rto_us: when it would send again
 */
struct rxe_qp_view {
	const char	*state;
	const char	*type;
	const char	*waits;
	const char	*error;
	char		local[RXE_VIEW_ADDR];
	char		peer[RXE_VIEW_ADDR];
	u32		rqpn;
	u32		sport;
	u32		pmtu;
	u32		sq_psn;
	u32		una_psn;
	u32		rq_psn;
	u32		msn;
	u32		outstanding;
	u32		window;
	u32		held;
	u32		sq_used;
	u32		rq_used;
	u32		retries;
	u32		sq_mbps;
	u32		rq_mbps;
	u64		rtt_us;
	u64		rto_us;
};

void rxe_view_qp(struct rxe_qp *qp, struct rxe_qp_view *view);
u32 rxe_view_cq_used(struct rxe_cq *cq);
u32 rxe_view_srq_used(struct rxe_srq *srq);

#endif /* RXE_VIEW_H */
