// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The tracepoints' own code (trace.h), and what they say of a packet.
 */
#define CREATE_TRACE_POINTS
#include "trace.h"

/**
 * rxe_trace_decode() - read the headers of a packet
 * @packet: filled
 * @hdr: BTH and extended headers
 * @payload: bytes of payload
 *
 * Context: any.
 */
void rxe_trace_decode(struct rxe_trace_packet *packet, const u8 *hdr, u32 payload)
{
	const struct opcode_info *op = opcode_info(bth_opcode(hdr));

	memset(packet, 0, sizeof(*packet));
	packet->opcode = bth_opcode(hdr);
	packet->dqpn = bth_dqpn(hdr);
	packet->psn = bth_psn(hdr);
	packet->ackreq = bth_ackreq(hdr);
	packet->se = bth_se(hdr);
	packet->payload = payload;
	if (!op)
		return;
	if (op->flags & OPF_AETH)
		packet->aeth = wire_get32(hdr + op->aeth);
	if (op->flags & OPF_RETH) {
		packet->va = reth_va(hdr + op->reth);
		packet->length = reth_len(hdr + op->reth);
	}
}
