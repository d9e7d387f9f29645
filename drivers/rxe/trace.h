/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints, "rxe:*" for trace-cmd, perf and bpftrace. One that is off costs a jump
 * over nothing.
 *
 *   rxe_tx, rxe_rx     a packet, with what its headers say
 *   rxe_drop           a datagram that went no further, and why
 *   rxe_state          a queue pair changes its state
 *   rxe_error          a queue pair has failed, and why
 *   rxe_resend         packets are sent again, and why
 *   rxe_completion     an entry of a completion queue
 *   rxe_ring           user space has written something impossible into a queue
 */
#ifndef RXE_TRACE_PACKET
#define RXE_TRACE_PACKET

#include <linux/types.h>

/* A device's name is longer, but who looks at many of these knows its own */
#define RXE_TRACE_NAME	16
#define RXE_TRACE_WHY	48

/* What a packet's headers say; of those that it does not have nothing */
struct rxe_trace_packet {
	u32	dqpn;
	u32	psn;
	u32	payload;
	u32	aeth;
	u32	length;
	u64	va;
	u8	opcode;
	bool	ackreq;
	bool	se;
};

void rxe_trace_decode(struct rxe_trace_packet *packet, const u8 *hdr, u32 payload);

#endif /* RXE_TRACE_PACKET */

#undef TRACE_SYSTEM
#define TRACE_SYSTEM rxe

#if !defined(RXE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RXE_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>

#include "rxe.h"

/*
 * Names of numbers. Tools read events by their formats, where an enumerator means nothing
 * to them: each has to be said to be what it is, and the kernel puts the number there.
 */
#define RXE_TRACE_OPCODES(each, last) \
	each(RC_SEND_FIRST) each(RC_SEND_MIDDLE) each(RC_SEND_LAST) \
	each(RC_SEND_LAST_IMM) each(RC_SEND_ONLY) each(RC_SEND_ONLY_IMM) \
	each(RC_WRITE_FIRST) each(RC_WRITE_MIDDLE) each(RC_WRITE_LAST) \
	each(RC_WRITE_LAST_IMM) each(RC_WRITE_ONLY) each(RC_WRITE_ONLY_IMM) \
	each(RC_READ_REQUEST) each(RC_READ_RESPONSE_FIRST) \
	each(RC_READ_RESPONSE_MIDDLE) each(RC_READ_RESPONSE_LAST) \
	each(RC_READ_RESPONSE_ONLY) each(RC_ACKNOWLEDGE) \
	each(RC_ATOMIC_ACKNOWLEDGE) each(RC_COMPARE_SWAP) each(RC_FETCH_ADD) \
	each(RC_SEND_LAST_INV) each(RC_SEND_ONLY_INV) each(RC_FLUSH) \
	each(RC_ATOMIC_WRITE) each(UC_SEND_FIRST) each(UC_SEND_MIDDLE) \
	each(UC_SEND_LAST) each(UC_SEND_LAST_IMM) each(UC_SEND_ONLY) \
	each(UC_SEND_ONLY_IMM) each(UC_WRITE_FIRST) each(UC_WRITE_MIDDLE) \
	each(UC_WRITE_LAST) each(UC_WRITE_LAST_IMM) each(UC_WRITE_ONLY) \
	each(UC_WRITE_ONLY_IMM) each(UD_SEND_ONLY) last(UD_SEND_ONLY_IMM)

#define RXE_TRACE_STATES(each, last) \
	each(RESET) each(INIT) each(RTR) each(RTS) each(SQD) each(SQE) \
	last(ERR)

#define RXE_TRACE_DEFINE_OPCODE(name)	TRACE_DEFINE_ENUM(OP_ ## name);
#define RXE_TRACE_DEFINE_STATE(name)	TRACE_DEFINE_ENUM(IB_QPS_ ## name);

RXE_TRACE_OPCODES(RXE_TRACE_DEFINE_OPCODE, RXE_TRACE_DEFINE_OPCODE)
RXE_TRACE_STATES(RXE_TRACE_DEFINE_STATE, RXE_TRACE_DEFINE_STATE)

#define RXE_TRACE_OPCODE_LAST(name)	{ OP_ ## name, #name }
#define RXE_TRACE_OPCODE(name)		RXE_TRACE_OPCODE_LAST(name),
#define RXE_TRACE_STATE_LAST(name)	{ IB_QPS_ ## name, #name }
#define RXE_TRACE_STATE(name)		RXE_TRACE_STATE_LAST(name),

#define rxe_trace_opcode(value)							\
	__print_symbolic(value, RXE_TRACE_OPCODES(RXE_TRACE_OPCODE, RXE_TRACE_OPCODE_LAST))
#define rxe_trace_state(value)							\
	__print_symbolic(value, RXE_TRACE_STATES(RXE_TRACE_STATE, RXE_TRACE_STATE_LAST))

#define RXE_TRACE_CAUSES							\
	{ 0, "timeout" }, { 1, "nak" }, { 2, "response" }, { 3, "rnr" }, { 4, "probe" }

DECLARE_EVENT_CLASS(rxe_packet,
	TP_PROTO(const struct rxe_dev *dev, const u8 *hdr, u32 payload),
	TP_ARGS(dev, hdr, payload),
	TP_STRUCT__entry(
		__array(char, name, RXE_TRACE_NAME)
		__field(u32, dqpn)
		__field(u32, psn)
		__field(u32, payload)
		__field(u32, aeth)
		__field(u32, length)
		__field(u64, va)
		__field(u8, opcode)
		__field(u8, ackreq)
		__field(u8, se)
	),
	TP_fast_assign(
		struct rxe_trace_packet packet;

		rxe_trace_decode(&packet, hdr, payload);
		strscpy(__entry->name, dev_name(&dev->ib.dev), RXE_TRACE_NAME);
		__entry->dqpn = packet.dqpn;
		__entry->psn = packet.psn;
		__entry->payload = packet.payload;
		__entry->aeth = packet.aeth;
		__entry->length = packet.length;
		__entry->va = packet.va;
		__entry->opcode = packet.opcode;
		__entry->ackreq = packet.ackreq;
		__entry->se = packet.se;
	),
	TP_printk("%s %s dqpn %#x psn %#x payload %u ackreq %u se %u aeth %#x va %#llx length %u",
		  __entry->name, rxe_trace_opcode(__entry->opcode),
		  __entry->dqpn, __entry->psn, __entry->payload, __entry->ackreq, __entry->se,
		  __entry->aeth, __entry->va, __entry->length)
);

DEFINE_EVENT(rxe_packet, rxe_tx,
	TP_PROTO(const struct rxe_dev *dev, const u8 *hdr, u32 payload),
	TP_ARGS(dev, hdr, payload)
);

DEFINE_EVENT(rxe_packet, rxe_rx,
	TP_PROTO(const struct rxe_dev *dev, const u8 *hdr, u32 payload),
	TP_ARGS(dev, hdr, payload)
);

TRACE_EVENT(rxe_drop,
	TP_PROTO(const char *why, u32 dqpn, u32 len),
	TP_ARGS(why, dqpn, len),
	TP_STRUCT__entry(
		__array(char, why, RXE_TRACE_WHY)
		__field(u32, dqpn)
		__field(u32, len)
	),
	TP_fast_assign(
		strscpy(__entry->why, why, RXE_TRACE_WHY);
		__entry->dqpn = dqpn;
		__entry->len = len;
	),
	TP_printk("%s dqpn %#x bytes %u", __entry->why, __entry->dqpn, __entry->len)
);

TRACE_EVENT(rxe_state,
	TP_PROTO(const struct rxe_qp *qp, enum ib_qp_state next),
	TP_ARGS(qp, next),
	TP_STRUCT__entry(
		__array(char, name, RXE_TRACE_NAME)
		__field(u32, qpn)
		__field(u32, from)
		__field(u32, next)
	),
	TP_fast_assign(
		strscpy(__entry->name, dev_name(&qp->dev->ib.dev), RXE_TRACE_NAME);
		__entry->qpn = qp->ib.qp_num;
		__entry->from = rxe_qp_state(qp);
		__entry->next = next;
	),
	TP_printk("%s qpn %#x %s -> %s", __entry->name, __entry->qpn,
		  rxe_trace_state(__entry->from),
		  rxe_trace_state(__entry->next))
);

TRACE_EVENT(rxe_error,
	TP_PROTO(const struct rxe_qp *qp, const char *why),
	TP_ARGS(qp, why),
	TP_STRUCT__entry(
		__array(char, name, RXE_TRACE_NAME)
		__field(u32, qpn)
		__array(char, why, RXE_TRACE_WHY)
	),
	TP_fast_assign(
		strscpy(__entry->name, dev_name(&qp->dev->ib.dev), RXE_TRACE_NAME);
		__entry->qpn = qp->ib.qp_num;
		strscpy(__entry->why, why, RXE_TRACE_WHY);
	),
	TP_printk("%s qpn %#x %s", __entry->name, __entry->qpn, __entry->why)
);

TRACE_EVENT(rxe_resend,
	TP_PROTO(const struct rxe_qp *qp, enum rxe_counter cause, u32 psn),
	TP_ARGS(qp, cause, psn),
	TP_STRUCT__entry(
		__array(char, name, RXE_TRACE_NAME)
		__field(u32, qpn)
		__field(u32, cause)
		__field(u32, psn)
		__field(u32, next)
	),
	TP_fast_assign(
		strscpy(__entry->name, dev_name(&qp->dev->ib.dev), RXE_TRACE_NAME);
		__entry->qpn = qp->ib.qp_num;
		__entry->cause = cause - RXE_CNT_RESEND_TIMEOUT;
		__entry->psn = psn;
		__entry->next = qp->sq.psn;
	),
	TP_printk("%s qpn %#x because of %s, from psn %#x, sent up to %#x", __entry->name,
		  __entry->qpn, __print_symbolic(__entry->cause, RXE_TRACE_CAUSES),
		  __entry->psn, __entry->next)
);

TRACE_EVENT(rxe_completion,
	TP_PROTO(const struct rxe_qp *qp, const struct rxe_wc *wc),
	TP_ARGS(qp, wc),
	TP_STRUCT__entry(
		__array(char, name, RXE_TRACE_NAME)
		__field(u32, qpn)
		__field(u64, wr_id)
		__field(u32, bytes)
		__field(u8, status)
		__field(u8, opcode)
	),
	TP_fast_assign(
		strscpy(__entry->name, dev_name(&qp->dev->ib.dev), RXE_TRACE_NAME);
		__entry->qpn = qp->ib.qp_num;
		__entry->wr_id = wc->wr_id;
		__entry->bytes = wc->byte_len;
		__entry->status = wc->status;
		__entry->opcode = wc->opcode;
	),
	TP_printk("%s qpn %#x wr_id %#llx opcode %u status %u bytes %u", __entry->name,
		  __entry->qpn, __entry->wr_id, __entry->opcode, __entry->status,
		  __entry->bytes)
);

TRACE_EVENT(rxe_ring,
	TP_PROTO(const struct rxe_qp *qp, const char *why, u32 value),
	TP_ARGS(qp, why, value),
	TP_STRUCT__entry(
		__array(char, name, RXE_TRACE_NAME)
		__field(u32, qpn)
		__array(char, why, RXE_TRACE_WHY)
		__field(u32, value)
	),
	TP_fast_assign(
		strscpy(__entry->name, dev_name(&qp->dev->ib.dev), RXE_TRACE_NAME);
		__entry->qpn = qp->ib.qp_num;
		strscpy(__entry->why, why, RXE_TRACE_WHY);
		__entry->value = value;
	),
	TP_printk("%s qpn %#x %s: %u", __entry->name, __entry->qpn, __entry->why,
		  __entry->value)
);

#endif /* RXE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
