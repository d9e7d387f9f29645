/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What each BTH opcode means: its kind, its place in a message, the extended
 * headers that follow the BTH and where they start. One table answers all of it
 * (IBTA vol 1, 9.2, table "OpCode field", and A19 for FLUSH and ATOMIC WRITE).
 */
#ifndef RXE_PROTO_OPCODE_H
#define RXE_PROTO_OPCODE_H

#include "types.h"

/* Opcodes this driver knows. RD and XRC are not offered, hence not defined. */
enum {
	OP_RC_SEND_FIRST		= 0x00,
	OP_RC_SEND_MIDDLE		= 0x01,
	OP_RC_SEND_LAST			= 0x02,
	OP_RC_SEND_LAST_IMM		= 0x03,
	OP_RC_SEND_ONLY			= 0x04,
	OP_RC_SEND_ONLY_IMM		= 0x05,
	OP_RC_WRITE_FIRST		= 0x06,
	OP_RC_WRITE_MIDDLE		= 0x07,
	OP_RC_WRITE_LAST		= 0x08,
	OP_RC_WRITE_LAST_IMM		= 0x09,
	OP_RC_WRITE_ONLY		= 0x0a,
	OP_RC_WRITE_ONLY_IMM		= 0x0b,
	OP_RC_READ_REQUEST		= 0x0c,
	OP_RC_READ_RESPONSE_FIRST	= 0x0d,
	OP_RC_READ_RESPONSE_MIDDLE	= 0x0e,
	OP_RC_READ_RESPONSE_LAST	= 0x0f,
	OP_RC_READ_RESPONSE_ONLY	= 0x10,
	OP_RC_ACKNOWLEDGE		= 0x11,
	OP_RC_ATOMIC_ACKNOWLEDGE	= 0x12,
	OP_RC_COMPARE_SWAP		= 0x13,
	OP_RC_FETCH_ADD			= 0x14,
	OP_RC_SEND_LAST_INV		= 0x16,
	OP_RC_SEND_ONLY_INV		= 0x17,
	OP_RC_FLUSH			= 0x1c,
	OP_RC_ATOMIC_WRITE		= 0x1d,

	OP_UC_SEND_FIRST		= 0x20,
	OP_UC_SEND_MIDDLE		= 0x21,
	OP_UC_SEND_LAST			= 0x22,
	OP_UC_SEND_LAST_IMM		= 0x23,
	OP_UC_SEND_ONLY			= 0x24,
	OP_UC_SEND_ONLY_IMM		= 0x25,
	OP_UC_WRITE_FIRST		= 0x26,
	OP_UC_WRITE_MIDDLE		= 0x27,
	OP_UC_WRITE_LAST		= 0x28,
	OP_UC_WRITE_LAST_IMM		= 0x29,
	OP_UC_WRITE_ONLY		= 0x2a,
	OP_UC_WRITE_ONLY_IMM		= 0x2b,

	OP_UD_SEND_ONLY			= 0x64,
	OP_UD_SEND_ONLY_IMM		= 0x65,

	OP_CNP				= 0x81
};

/* Transport service: the top three bits of an opcode */
enum {
	OP_TRANSPORT_RC		= 0,
	OP_TRANSPORT_UC		= 1,
	OP_TRANSPORT_UD		= 3,
	OP_TRANSPORT_CNP	= 4
};

/* What the packet belongs to */
#define OPF_REQUEST		0x00000001	/* goes to a responder */
#define OPF_RESPONSE		0x00000002	/* goes to a requester */
#define OPF_SEND		0x00000004
#define OPF_WRITE		0x00000008	/* RDMA WRITE */
#define OPF_READ		0x00000010	/* READ request or response */
#define OPF_ATOMIC		0x00000020	/* the two atomics and their ACK */
#define OPF_FLUSH		0x00000040
#define OPF_ATOMIC_WRITE	0x00000080
#define OPF_ACK			0x00000100	/* plain acknowledgment or NAK */
/* Its place in the message: a message of one packet has both START and END */
#define OPF_START		0x00000200
#define OPF_MIDDLE		0x00000400	/* neither START nor END */
#define OPF_END			0x00000800
/* What it carries */
#define OPF_PAYLOAD		0x00001000	/* payload is allowed */
#define OPF_RETH		0x00002000
#define OPF_ATMETH		0x00004000
#define OPF_AETH		0x00008000
#define OPF_ATMACK		0x00010000
#define OPF_IMM			0x00020000
#define OPF_IETH		0x00040000
#define OPF_DETH		0x00080000
#define OPF_FETH		0x00100000
/* The packet takes (or belongs to a SEND that took) a receive WQE, completed at END */
#define OPF_RWR			0x00200000

/**
 * struct opcode_info - one line of the opcode table
 * @name: for people
 * @flags: OPF_ bits
 * @transport: OP_TRANSPORT_ value
 * @hdr_len: bytes of BTH and all extended headers
 * @reth: where the RETH starts, in bytes from the BTH; 0 if there is none
 * @atmeth: the same for the AtomicETH
 * @aeth: the same for the AETH
 * @atmack: the same for the AtomicAckETH
 * @imm: the same for the immediate data
 * @ieth: the same for the IETH
 * @deth: the same for the DETH
 * @feth: the same for the FETH
 */
struct opcode_info {
	const char *name;
	u32 flags;
	u8 transport;
	u8 hdr_len;
	u8 reth;
	u8 atmeth;
	u8 aeth;
	u8 atmack;
	u8 imm;
	u8 ieth;
	u8 deth;
	u8 feth;
};

/* What a work request asks of the remote side */
enum msg_kind {
	MSG_SEND,
	MSG_WRITE,
	MSG_READ,
	MSG_CMP_SWAP,
	MSG_FETCH_ADD,
	MSG_FLUSH,
	MSG_ATOMIC_WRITE
};

const struct opcode_info *opcode_info(u8 opcode);
u8 opcode_for(enum msg_kind kind, bool first, bool last, bool imm, bool inv);
u8 opcode_for_read_response(bool first, bool last);

#endif /* RXE_PROTO_OPCODE_H */
