// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters of a device: counted per CPU, added up when somebody looks
 * ("rdma statistic show", /sys/class/infiniband/DEV/ports/1/hw_counters); and those of
 * its queue pairs, for those who show them (view.c).
 *
 * On 32-bit machines a reader may catch a counter between its two halves; that
 * costs one odd sample, a lock would cost every packet.
 */
#include "rxe.h"

/* Names known from other RoCE drivers where the meaning is the same */
static const struct rdma_stat_desc counter_descs[RXE_CNT_COUNT] = {
	[RXE_CNT_TX_PACKETS]		= { .name = "sent_pkts" },
	[RXE_CNT_TX_BYTES]		= { .name = "sent_bytes" },
	[RXE_CNT_TX_DROPPED]		= { .name = "tx_dropped" },
	[RXE_CNT_TX_NO_ROUTE]		= { .name = "tx_no_route" },
	[RXE_CNT_TX_LENT]		= { .name = "tx_lent" },
	[RXE_CNT_RX_PACKETS]		= { .name = "rcvd_pkts" },
	[RXE_CNT_RX_BYTES]		= { .name = "rcvd_bytes" },
	[RXE_CNT_RX_ECN_MARKED]		= { .name = "np_ecn_marked_roce_packets" },
	[RXE_CNT_CNP_SENT]		= { .name = "np_cnp_sent" },
	[RXE_CNT_RATE_CUTS]		= { .name = "rate_cuts" },
	[RXE_CNT_RX_MERGED]		= { .name = "rx_merged" },
	[RXE_CNT_RX_ICRC_ERRORS]	= { .name = "icrc_errors" },
	[RXE_CNT_RX_MALFORMED]		= { .name = "rx_malformed" },
	[RXE_CNT_RING_VIOLATIONS]	= { .name = "ring_violations" },
	[RXE_CNT_RUNS_SOFTIRQ]		= { .name = "runs_softirq" },
	[RXE_CNT_RUNS_PROCESS]		= { .name = "runs_process" },
	[RXE_CNT_RUNS_WORK]		= { .name = "runs_work" },
	[RXE_CNT_COMPLETIONS]		= { .name = "completions" },

	[RXE_CNT_REQ_SEND]		= { .name = "req_send" },
	[RXE_CNT_REQ_WRITE]		= { .name = "req_write" },
	[RXE_CNT_REQ_READ]		= { .name = "req_read" },
	[RXE_CNT_REQ_ATOMIC]		= { .name = "req_atomic" },
	[RXE_CNT_REQ_FLUSH]		= { .name = "req_flush" },
	[RXE_CNT_REQ_ATOMIC_WRITE]	= { .name = "req_atomic_write" },
	[RXE_CNT_REQ_LOCAL]		= { .name = "req_local" },
	[RXE_CNT_REQ_BYTES]		= { .name = "req_bytes" },
	[RXE_CNT_REQ_FAILED]		= { .name = "req_failed" },
	[RXE_CNT_RETRANSMITTED]		= { .name = "retransmitted_packets" },
	[RXE_CNT_RESEND_TIMEOUT]	= { .name = "resend_timeout" },
	[RXE_CNT_RESEND_NAK]		= { .name = "resend_nak" },
	[RXE_CNT_RESEND_RESPONSE]	= { .name = "resend_response" },
	[RXE_CNT_RESEND_RNR]		= { .name = "resend_rnr" },
	[RXE_CNT_RESEND_PROBE]		= { .name = "resend_probe" },
	[RXE_CNT_TIMEOUTS]		= { .name = "timeouts" },
	[RXE_CNT_NAK_RECEIVED]		= { .name = "rcvd_nak" },
	[RXE_CNT_SEQ_NAK_RECEIVED]	= { .name = "rcvd_seq_err" },
	[RXE_CNT_REQUEST_NAK_RECEIVED]	= { .name = "rcvd_invalid_request_err" },
	[RXE_CNT_ACCESS_NAK_RECEIVED]	= { .name = "rcvd_access_err" },
	[RXE_CNT_OPERATION_NAK_RECEIVED] = { .name = "rcvd_operation_err" },
	[RXE_CNT_RNR_RECEIVED]		= { .name = "rcvd_rnr_err" },
	[RXE_CNT_RETRY_EXCEEDED]	= { .name = "retry_exceeded_err" },
	[RXE_CNT_RNR_EXCEEDED]		= { .name = "retry_rnr_exceeded_err" },

	[RXE_CNT_RESP_SEND]		= { .name = "resp_send" },
	[RXE_CNT_RESP_WRITE]		= { .name = "resp_write" },
	[RXE_CNT_RESP_READ]		= { .name = "resp_read" },
	[RXE_CNT_RESP_ATOMIC]		= { .name = "resp_atomic" },
	[RXE_CNT_RESP_FLUSH]		= { .name = "resp_flush" },
	[RXE_CNT_RESP_ATOMIC_WRITE]	= { .name = "resp_atomic_write" },
	[RXE_CNT_RESP_BYTES]		= { .name = "resp_bytes" },
	[RXE_CNT_DUPLICATE_REQUEST]	= { .name = "duplicate_request" },
	[RXE_CNT_OUT_OF_SEQUENCE]	= { .name = "out_of_seq_request" },
	[RXE_CNT_ACK_SENT]		= { .name = "ack_sent" },
	[RXE_CNT_NAK_SENT]		= { .name = "nak_sent" },
	[RXE_CNT_SEQ_NAK_SENT]		= { .name = "send_seq_err" },
	[RXE_CNT_REQUEST_NAK_SENT]	= { .name = "send_invalid_request_err" },
	[RXE_CNT_ACCESS_NAK_SENT]	= { .name = "send_access_err" },
	[RXE_CNT_OPERATION_NAK_SENT]	= { .name = "send_operation_err" },
	[RXE_CNT_RNR_SENT]		= { .name = "send_rnr_err" },
	[RXE_CNT_RX_BAD_QKEY]		= { .name = "rx_bad_qkey" },
	[RXE_CNT_RX_NO_BUFFER]		= { .name = "rx_no_buffer" },

	[RXE_CNT_RX_QUEUE_FULL]		= { .name = "rx_queue_full" },
	[RXE_CNT_RX_BAD_PKEY]		= { .name = "rx_bad_pkey" },
	[RXE_CNT_RX_CNP]		= { .name = "rx_cnp" },

	[RXE_CNT_RX_NO_QP]		= { .name = "rx_no_qp" },
	[RXE_CNT_CQ_OVERRUN]		= { .name = "cq_overruns" },
	[RXE_CNT_LENT_COPIED]		= { .name = "lent_copied" },
	[RXE_CNT_LINK_DOWN]		= { .name = "link_downed" },
};

/**
 * rxe_counters_init() - make the counters of a device, all zero
 * @dev: device
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int rxe_counters_init(struct rxe_dev *dev)
{
	dev->counters = alloc_percpu(struct rxe_counters);
	return dev->counters ? 0 : -ENOMEM;
}

/**
 * rxe_counters_exit() - free the counters of a device
 * @dev: device; nobody counts any more; may have none
 *
 * Context: process context.
 */
void rxe_counters_exit(struct rxe_dev *dev)
{
	free_percpu(dev->counters);
	dev->counters = NULL;
}

/**
 * rxe_counters_sum() - value of one counter since the device was made
 * @dev: device
 * @which: counter
 *
 * Context: any.
 * Return: events, packets or bytes.
 */
u64 rxe_counters_sum(struct rxe_dev *dev, enum rxe_counter which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(dev->counters, cpu)->value[which];
	return sum;
}

/**
 * rxe_counters_qp() - value of one counter since the queue pair was made
 * @qp: queue pair
 * @which: counter; of the device alone: 0
 *
 * Context: any.
 * Return: events, packets or bytes, of both sides and neither.
 */
u64 rxe_counters_qp(const struct rxe_qp *qp, enum rxe_counter which)
{
	u64 sum = 0;

	if (which >= RXE_CNT_RQ_END)
		return which < RXE_CNT_QP_END ? READ_ONCE(qp->counts[which - RXE_CNT_RQ_END]) : 0;
	if (which < RXE_CNT_SQ_END)
		sum += READ_ONCE(qp->sq.counts[which]);
	if (which < RXE_CNT_SIDES || which >= RXE_CNT_SQ_END)
		sum += READ_ONCE(qp->rq.counts[rxe_rq_counter(which)]);
	return sum;
}

/**
 * rxe_counters_name() - what users know a counter by
 * @which: counter
 *
 * Context: any.
 * Return: name, the same everywhere.
 */
const char *rxe_counters_name(enum rxe_counter which)
{
	return counter_descs[which].name;
}

/**
 * rxe_counters_alloc_stats() - describe the counters to the core
 * @ibdev: device
 * @port: port
 *
 * Context: process context.
 * Return: descriptors and room for values, freed by the core; NULL for no memory.
 */
struct rdma_hw_stats *rxe_counters_alloc_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(counter_descs, ARRAY_SIZE(counter_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * rxe_counters_get_stats() - read the counters for the core, less those it has bound
 * @ibdev: device
 * @stats: filled
 * @port: port; 0 would ask for counters of the device, there are none
 * @index: which one is wanted; all are read anyway
 *
 * Context: process context.
 * Return: number of counters read, -EINVAL.
 */
int rxe_counters_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			   u32 port, int index)
{
	struct rxe_dev *dev = to_rxe_dev(ibdev);
	unsigned int i;

	if (port != RXE_PORT)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(counter_descs); i++)
		stats->value[i] = rxe_counters_sum(dev, i);
	rxe_qpcounter_subtract(dev, stats->value);
	return ARRAY_SIZE(counter_descs);
}
