/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a device and its queue pairs count (counters.c).
 *
 * A queue pair counts for itself and for its device at the same time. Each of its
 * sides has counters of its own, which only the task of that side writes: plain
 * numbers. What neither side gets to see is rare, and counted under a lock. Those of the
 * device are per CPU. Nobody ever sets one back.
 */
#ifndef RXE_COUNTERS_H
#define RXE_COUNTERS_H

#include <linux/types.h>

struct ib_device;
struct rdma_hw_stats;
struct rxe_dev;
struct rxe_qp;

enum rxe_counter {
	/* each side of a queue pair has these */
	RXE_CNT_TX_PACKETS,
	RXE_CNT_TX_BYTES,
	RXE_CNT_TX_DROPPED,
	RXE_CNT_TX_NO_ROUTE,		/* part of TX_DROPPED */
	RXE_CNT_TX_LENT,		/* part of TX_PACKETS */
	RXE_CNT_RX_PACKETS,
	RXE_CNT_RX_BYTES,
	RXE_CNT_RX_ECN_MARKED,
	RXE_CNT_CNP_SENT,
	RXE_CNT_RATE_CUTS,
	RXE_CNT_RX_MERGED,
	RXE_CNT_RX_ICRC_ERRORS,
	RXE_CNT_RX_MALFORMED,
	RXE_CNT_RING_VIOLATIONS,
	RXE_CNT_RUNS_SOFTIRQ,
	RXE_CNT_RUNS_PROCESS,
	RXE_CNT_RUNS_WORK,
	RXE_CNT_COMPLETIONS,
	RXE_CNT_SIDES,

	/* the send side: our requests, completed */
	RXE_CNT_REQ_SEND = RXE_CNT_SIDES,
	RXE_CNT_REQ_WRITE,
	RXE_CNT_REQ_READ,
	RXE_CNT_REQ_ATOMIC,
	RXE_CNT_REQ_FLUSH,
	RXE_CNT_REQ_ATOMIC_WRITE,
	RXE_CNT_REQ_LOCAL,
	RXE_CNT_REQ_BYTES,
	RXE_CNT_REQ_FAILED,
	/* and what became of them on the way */
	RXE_CNT_RETRANSMITTED,
	RXE_CNT_RESEND_TIMEOUT,
	RXE_CNT_RESEND_NAK,
	RXE_CNT_RESEND_RESPONSE,
	RXE_CNT_RESEND_RNR,
	RXE_CNT_RESEND_PROBE,
	RXE_CNT_TIMEOUTS,
	RXE_CNT_NAK_RECEIVED,
	RXE_CNT_SEQ_NAK_RECEIVED,
	RXE_CNT_REQUEST_NAK_RECEIVED,
	RXE_CNT_ACCESS_NAK_RECEIVED,
	RXE_CNT_OPERATION_NAK_RECEIVED,
	RXE_CNT_RNR_RECEIVED,
	RXE_CNT_RETRY_EXCEEDED,
	RXE_CNT_RNR_EXCEEDED,
	RXE_CNT_SQ_END,

	/* the receive side: the peer's requests, executed */
	RXE_CNT_RESP_SEND = RXE_CNT_SQ_END,
	RXE_CNT_RESP_WRITE,
	RXE_CNT_RESP_READ,
	RXE_CNT_RESP_ATOMIC,
	RXE_CNT_RESP_FLUSH,
	RXE_CNT_RESP_ATOMIC_WRITE,
	RXE_CNT_RESP_BYTES,
	/* and how we answered */
	RXE_CNT_DUPLICATE_REQUEST,
	RXE_CNT_OUT_OF_SEQUENCE,
	RXE_CNT_ACK_SENT,
	RXE_CNT_NAK_SENT,
	RXE_CNT_SEQ_NAK_SENT,
	RXE_CNT_REQUEST_NAK_SENT,
	RXE_CNT_ACCESS_NAK_SENT,
	RXE_CNT_OPERATION_NAK_SENT,
	RXE_CNT_RNR_SENT,
	RXE_CNT_RX_BAD_QKEY,
	RXE_CNT_RX_NO_BUFFER,
	RXE_CNT_RQ_END,

	/* a queue pair, of packets that neither of its sides gets to see */
	RXE_CNT_RX_QUEUE_FULL = RXE_CNT_RQ_END,
	RXE_CNT_RX_BAD_PKEY,
	RXE_CNT_RX_CNP,
	RXE_CNT_QP_END,

	/* the device alone */
	RXE_CNT_RX_NO_QP = RXE_CNT_QP_END,
	RXE_CNT_CQ_OVERRUN,
	RXE_CNT_LENT_COPIED,
	RXE_CNT_LINK_DOWN,
	RXE_CNT_COUNT
};

/* Counters that one attribute of performance management shows at most (pma.c) */
#define RXE_PMA_FIELDS	7

struct rxe_counters {
	u64 value[RXE_CNT_COUNT];
};

/* Counters of a side of a queue pair; those that both have stand first in both */
#define RXE_SQ_COUNTERS	RXE_CNT_SQ_END
#define RXE_RQ_COUNTERS	(RXE_CNT_SIDES + RXE_CNT_RQ_END - RXE_CNT_SQ_END)

/* Counters of a queue pair that are of neither side */
#define RXE_QP_COUNTERS	(RXE_CNT_QP_END - RXE_CNT_RQ_END)

/* Where a counter of the receive side stands */
static inline unsigned int rxe_rq_counter(enum rxe_counter which)
{
	return which < RXE_CNT_SIDES ? which : which - RXE_CNT_SQ_END + RXE_CNT_SIDES;
}

int rxe_counters_init(struct rxe_dev *dev);
void rxe_counters_exit(struct rxe_dev *dev);
u64 rxe_counters_sum(struct rxe_dev *dev, enum rxe_counter which);
u64 rxe_counters_qp(const struct rxe_qp *qp, enum rxe_counter which);
const char *rxe_counters_name(enum rxe_counter which);
struct rdma_hw_stats *rxe_counters_alloc_stats(struct ib_device *ibdev, u32 port);
int rxe_counters_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			   u32 port, int index);

#endif /* RXE_COUNTERS_H */
