/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a device counts (counters.c).
 */
#ifndef RXE_COUNTERS_H
#define RXE_COUNTERS_H

#include <linux/types.h>

struct ib_device;
struct rdma_hw_stats;
struct rxe_dev;

enum rxe_counter {
	RXE_CNT_TX_PACKETS,
	RXE_CNT_TX_BYTES,
	RXE_CNT_RX_PACKETS,
	RXE_CNT_RX_BYTES,
	RXE_CNT_RETRANSMITTED,
	RXE_CNT_TX_DROPPED,
	RXE_CNT_RX_ICRC_ERRORS,
	RXE_CNT_RX_MALFORMED,
	RXE_CNT_RX_NO_QP,
	RXE_CNT_RX_QUEUE_FULL,
	RXE_CNT_RX_BAD_PKEY,
	RXE_CNT_RX_BAD_QKEY,
	RXE_CNT_RX_NO_BUFFER,
	RXE_CNT_DUPLICATE_REQUEST,
	RXE_CNT_OUT_OF_SEQUENCE,
	RXE_CNT_ACK_SENT,
	RXE_CNT_NAK_SENT,
	RXE_CNT_RNR_SENT,
	RXE_CNT_NAK_RECEIVED,
	RXE_CNT_SEQ_NAK_RECEIVED,
	RXE_CNT_RNR_RECEIVED,
	RXE_CNT_TIMEOUTS,
	RXE_CNT_RETRY_EXCEEDED,
	RXE_CNT_RNR_EXCEEDED,
	RXE_CNT_COMPLETIONS,
	RXE_CNT_CQ_OVERRUN,
	RXE_CNT_RING_VIOLATIONS,
	RXE_CNT_LINK_DOWN,
	RXE_CNT_COUNT
};

/* Counters that one attribute of performance management shows at most (pma.c) */
#define RXE_PMA_FIELDS	7

struct rxe_counters {
	u64 value[RXE_CNT_COUNT];
};

int rxe_counters_init(struct rxe_dev *dev);
void rxe_counters_exit(struct rxe_dev *dev);
u64 rxe_counters_sum(struct rxe_dev *dev, enum rxe_counter which);
struct rdma_hw_stats *rxe_counters_alloc_stats(struct ib_device *ibdev, u32 port);
int rxe_counters_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			   u32 port, int index);

#endif /* RXE_COUNTERS_H */
