// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The opcode table, and the way back: from what is to be sent to its opcode.
 */
#include "opcode.h"
#include "wire.h"

/*
 * The sets of extended headers in use: _HAS are the flags, _AT says where each
 * header starts and where all of them end, counted from the BTH.
 */
#define BTH_HAS		0
#define BTH_AT		.hdr_len = BTH_LEN

#define RETH_HAS	OPF_RETH
#define RETH_AT		.reth = BTH_LEN, .hdr_len = BTH_LEN + RETH_LEN

#define IMM_HAS		OPF_IMM
#define IMM_AT		.imm = BTH_LEN, .hdr_len = BTH_LEN + IMMDT_LEN

#define RETH_IMM_HAS	(OPF_RETH | OPF_IMM)
#define RETH_IMM_AT	.reth = BTH_LEN, .imm = BTH_LEN + RETH_LEN, \
			.hdr_len = BTH_LEN + RETH_LEN + IMMDT_LEN

#define IETH_HAS	OPF_IETH
#define IETH_AT		.ieth = BTH_LEN, .hdr_len = BTH_LEN + IETH_LEN

#define AETH_HAS	OPF_AETH
#define AETH_AT		.aeth = BTH_LEN, .hdr_len = BTH_LEN + AETH_LEN

#define AETH_ATMACK_HAS	(OPF_AETH | OPF_ATMACK)
#define AETH_ATMACK_AT	.aeth = BTH_LEN, .atmack = BTH_LEN + AETH_LEN, \
			.hdr_len = BTH_LEN + AETH_LEN + ATMACK_LEN

#define ATMETH_HAS	OPF_ATMETH
#define ATMETH_AT	.atmeth = BTH_LEN, .hdr_len = BTH_LEN + ATMETH_LEN

#define FETH_RETH_HAS	(OPF_FETH | OPF_RETH)
#define FETH_RETH_AT	.feth = BTH_LEN, .reth = BTH_LEN + FETH_LEN, \
			.hdr_len = BTH_LEN + FETH_LEN + RETH_LEN

#define DETH_HAS	OPF_DETH
#define DETH_AT		.deth = BTH_LEN, .hdr_len = BTH_LEN + DETH_LEN

#define DETH_IMM_HAS	(OPF_DETH | OPF_IMM)
#define DETH_IMM_AT	.deth = BTH_LEN, .imm = BTH_LEN + DETH_LEN, \
			.hdr_len = BTH_LEN + DETH_LEN + IMMDT_LEN

#define LINE(op, f, headers) \
	[OP_ ## op] = { \
		.name = #op, \
		.flags = (f) | headers ## _HAS, \
		.transport = OP_ ## op >> 5, \
		headers ## _AT \
	}

#define FIRST		OPF_START
#define MIDDLE		OPF_MIDDLE
#define LAST		OPF_END
#define ONLY		(OPF_START | OPF_END)

#define SEND_REQ	(OPF_REQUEST | OPF_SEND | OPF_PAYLOAD | OPF_RWR)
#define WRITE_REQ	(OPF_REQUEST | OPF_WRITE | OPF_PAYLOAD)
#define WRITE_IMM_REQ	(WRITE_REQ | OPF_RWR)
#define READ_REQ	(OPF_REQUEST | OPF_READ | ONLY)
#define READ_RSP	(OPF_RESPONSE | OPF_READ | OPF_PAYLOAD)
#define ATOMIC_REQ	(OPF_REQUEST | OPF_ATOMIC | ONLY)
#define FLUSH_REQ	(OPF_REQUEST | OPF_FLUSH | ONLY)
#define AWRITE_REQ	(OPF_REQUEST | OPF_ATOMIC_WRITE | OPF_PAYLOAD | ONLY)
#define ACK_RSP		(OPF_RESPONSE | OPF_ACK | ONLY)
#define ATOMIC_RSP	(OPF_RESPONSE | OPF_ATOMIC | ONLY)

static const struct opcode_info table[OP_CNP + 1] = {
	LINE(RC_SEND_FIRST, SEND_REQ | FIRST, BTH),
	LINE(RC_SEND_MIDDLE, SEND_REQ | MIDDLE, BTH),
	LINE(RC_SEND_LAST, SEND_REQ | LAST, BTH),
	LINE(RC_SEND_LAST_IMM, SEND_REQ | LAST, IMM),
	LINE(RC_SEND_ONLY, SEND_REQ | ONLY, BTH),
	LINE(RC_SEND_ONLY_IMM, SEND_REQ | ONLY, IMM),
	LINE(RC_WRITE_FIRST, WRITE_REQ | FIRST, RETH),
	LINE(RC_WRITE_MIDDLE, WRITE_REQ | MIDDLE, BTH),
	LINE(RC_WRITE_LAST, WRITE_REQ | LAST, BTH),
	LINE(RC_WRITE_LAST_IMM, WRITE_IMM_REQ | LAST, IMM),
	LINE(RC_WRITE_ONLY, WRITE_REQ | ONLY, RETH),
	LINE(RC_WRITE_ONLY_IMM, WRITE_IMM_REQ | ONLY, RETH_IMM),
	LINE(RC_READ_REQUEST, READ_REQ, RETH),
	LINE(RC_READ_RESPONSE_FIRST, READ_RSP | FIRST, AETH),
	LINE(RC_READ_RESPONSE_MIDDLE, READ_RSP | MIDDLE, BTH),
	LINE(RC_READ_RESPONSE_LAST, READ_RSP | LAST, AETH),
	LINE(RC_READ_RESPONSE_ONLY, READ_RSP | ONLY, AETH),
	LINE(RC_ACKNOWLEDGE, ACK_RSP, AETH),
	LINE(RC_ATOMIC_ACKNOWLEDGE, ATOMIC_RSP, AETH_ATMACK),
	LINE(RC_COMPARE_SWAP, ATOMIC_REQ, ATMETH),
	LINE(RC_FETCH_ADD, ATOMIC_REQ, ATMETH),
	LINE(RC_SEND_LAST_INV, SEND_REQ | LAST, IETH),
	LINE(RC_SEND_ONLY_INV, SEND_REQ | ONLY, IETH),
	LINE(RC_FLUSH, FLUSH_REQ, FETH_RETH),
	LINE(RC_ATOMIC_WRITE, AWRITE_REQ, RETH),

	LINE(UC_SEND_FIRST, SEND_REQ | FIRST, BTH),
	LINE(UC_SEND_MIDDLE, SEND_REQ | MIDDLE, BTH),
	LINE(UC_SEND_LAST, SEND_REQ | LAST, BTH),
	LINE(UC_SEND_LAST_IMM, SEND_REQ | LAST, IMM),
	LINE(UC_SEND_ONLY, SEND_REQ | ONLY, BTH),
	LINE(UC_SEND_ONLY_IMM, SEND_REQ | ONLY, IMM),
	LINE(UC_WRITE_FIRST, WRITE_REQ | FIRST, RETH),
	LINE(UC_WRITE_MIDDLE, WRITE_REQ | MIDDLE, BTH),
	LINE(UC_WRITE_LAST, WRITE_REQ | LAST, BTH),
	LINE(UC_WRITE_LAST_IMM, WRITE_IMM_REQ | LAST, IMM),
	LINE(UC_WRITE_ONLY, WRITE_REQ | ONLY, RETH),
	LINE(UC_WRITE_ONLY_IMM, WRITE_IMM_REQ | ONLY, RETH_IMM),

	LINE(UD_SEND_ONLY, SEND_REQ | ONLY, DETH),
	LINE(UD_SEND_ONLY_IMM, SEND_REQ | ONLY, DETH_IMM),

	/* 16 reserved bytes follow its BTH (A17.9.3); neither request nor response */
	LINE(CNP, OPF_PAYLOAD | ONLY, BTH),
};

/**
 * opcode_info() - what an opcode means
 * @opcode: the byte of the BTH
 *
 * Context: any.
 * Return: a line of the table; NULL if the opcode is not defined for any
 * service this driver offers, which is a reason to drop the packet silently
 * or, on a connected QP, to NAK it as an invalid request (9.7.4).
 */
const struct opcode_info *opcode_info(u8 opcode)
{
	if (opcode > OP_CNP || !table[opcode].name)
		return NULL;
	return &table[opcode];
}

static u8 send_opcode(bool first, bool last, bool imm, bool inv)
{
	if (!last)
		return first ? OP_RC_SEND_FIRST : OP_RC_SEND_MIDDLE;
	if (inv)
		return first ? OP_RC_SEND_ONLY_INV : OP_RC_SEND_LAST_INV;
	if (imm)
		return first ? OP_RC_SEND_ONLY_IMM : OP_RC_SEND_LAST_IMM;
	return first ? OP_RC_SEND_ONLY : OP_RC_SEND_LAST;
}

static u8 write_opcode(bool first, bool last, bool imm)
{
	if (!last)
		return first ? OP_RC_WRITE_FIRST : OP_RC_WRITE_MIDDLE;
	if (imm)
		return first ? OP_RC_WRITE_ONLY_IMM : OP_RC_WRITE_LAST_IMM;
	return first ? OP_RC_WRITE_ONLY : OP_RC_WRITE_LAST;
}

/**
 * opcode_for() - RC opcode of a request packet
 * @kind: what the work request asks for
 * @first: the packet starts the message
 * @last: the packet ends the message
 * @imm: the message carries immediate data (SEND and WRITE)
 * @inv: the message invalidates a key (SEND only, wins over @imm)
 *
 * Immediate data and the key travel in the last packet, so @imm and @inv change
 * nothing before it. Kinds that are always one packet ignore the flags.
 *
 * Context: any.
 * Return: the byte for the BTH.
 */
u8 opcode_for(enum msg_kind kind, bool first, bool last, bool imm, bool inv)
{
	switch (kind) {
	case MSG_WRITE:
		return write_opcode(first, last, imm);
	case MSG_READ:
		return OP_RC_READ_REQUEST;
	case MSG_CMP_SWAP:
		return OP_RC_COMPARE_SWAP;
	case MSG_FETCH_ADD:
		return OP_RC_FETCH_ADD;
	case MSG_FLUSH:
		return OP_RC_FLUSH;
	case MSG_ATOMIC_WRITE:
		return OP_RC_ATOMIC_WRITE;
	case MSG_SEND:
		break;
	}
	return send_opcode(first, last, imm, inv);
}

/**
 * opcode_for_read_response() - RC opcode of a packet that answers a READ
 * @first: the packet starts the response
 * @last: the packet ends the response
 *
 * A replay that restarts in the middle starts a response of its own (9.7.5).
 *
 * Context: any.
 * Return: the byte for the BTH.
 */
u8 opcode_for_read_response(bool first, bool last)
{
	if (first)
		return last ? OP_RC_READ_RESPONSE_ONLY :
			      OP_RC_READ_RESPONSE_FIRST;
	return last ? OP_RC_READ_RESPONSE_LAST : OP_RC_READ_RESPONSE_MIDDLE;
}
