/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The first decisions about a received packet, as pure functions. Responder: is
 * it the expected packet, does its opcode continue the message in progress, is
 * its length legal, which saved READ does a duplicate belong to. Completer:
 * where does an acknowledged PSN lie among the outstanding ones.
 */
#ifndef RXE_PROTO_CLASSIFY_H
#define RXE_PROTO_CLASSIFY_H

#include "types.h"
#include "errors.h"
#include "opcode.h"

/* Longest message: 2^31 bytes (C9-94) */
#define MSG_LEN_MAX	0x80000000u

/* Packets after which nobody waits for an ACK; what is half of all away cannot be told */
#define RESP_ACK_OLDEST	0x400000u

enum psn_class {
	PSN_EXPECTED,
	PSN_DUPLICATE,		/* up to 2^23 behind */
	PSN_AHEAD		/* less than 2^23 ahead: something was lost */
};

/* What the responder is in the middle of */
enum msg_progress {
	MSG_NONE,
	MSG_IN_SEND,
	MSG_IN_WRITE
};

enum ack_class {
	ACK_STALE,		/* older than the latest acknowledged: ignore */
	ACK_DUP,		/* repeats the latest acknowledged PSN */
	ACK_VALID,		/* acknowledges something outstanding */
	ACK_BEYOND		/* was never sent: ignore */
};

/**
 * struct resp_len_in - what the length check of a request needs to know
 * @pmtu: path MTU of the QP in bytes
 * @payload: payload of this packet in bytes, without pad and ICRC
 * @pad: pad count of the BTH
 * @done: bytes of this message that earlier packets brought
 * @total: length in the message's RETH; ignored for a SEND
 */
struct resp_len_in {
	u32 pmtu;
	u32 payload;
	u8 pad;
	u64 done;
	u64 total;
};

/**
 * struct read_span - a READ request: which PSNs it takes, which bytes it wants
 * @psn: PSN of the request, which is that of the first response packet
 * @rkey: key of the memory
 * @va: address of the first byte
 * @len: bytes
 */
struct read_span {
	u32 psn;
	u32 rkey;
	u64 va;
	u32 len;
};

enum psn_class psn_classify(u32 expected, u32 psn);
enum resp_error resp_check_opcode(enum msg_progress p,
				  const struct opcode_info *op);
enum msg_progress resp_progress(enum msg_progress p,
				const struct opcode_info *op);
enum resp_error resp_check_length(const struct opcode_info *op,
				  const struct resp_len_in *in);
bool resp_too_many(u32 asked, u32 answered, u32 agreed);
bool resp_ack_old(u32 end, u32 psn);
u32 resp_ack_end(u32 end, u32 psn);
bool read_replay_fits(const struct read_span *saved,
		      const struct read_span *dup, u32 pmtu);
enum ack_class ack_classify(u32 oldest_unacked, u32 next_to_send, u32 psn);

#endif /* RXE_PROTO_CLASSIFY_H */
