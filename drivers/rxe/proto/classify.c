// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The order in which a responder judges a request is PSN, opcode, length; each
 * has its function here, and a completer's view of an acknowledged PSN.
 */
#include "classify.h"
#include "psn.h"

/**
 * psn_classify() - how the PSN of a request relates to the expected one
 * @expected: PSN of the next new request packet
 * @psn: PSN of the packet
 *
 * The 2^23 numbers behind the expected one are duplicates, those ahead of it
 * mean that something was lost (9.7.4).
 *
 * Context: any.
 * Return: the class of the packet.
 */
enum psn_class psn_classify(u32 expected, u32 psn)
{
	s32 ahead = psn_diff(psn, expected);

	if (ahead < 0)
		return PSN_DUPLICATE;
	return ahead ? PSN_AHEAD : PSN_EXPECTED;
}

/**
 * resp_check_opcode() - may this request follow what came before
 * @p: message in progress
 * @op: opcode of the packet, NULL if undefined
 *
 * A message must be finished before anything else starts, and goes on with its
 * own kind only (9.7.4).
 *
 * Context: any; the PSN is the expected one.
 * Return: RESP_OK, RESP_ERR_OPCODE_SEQ, or RESP_ERR_OPCODE_UNSUPPORTED for
 * anything that is not a request.
 */
enum resp_error resp_check_opcode(enum msg_progress p,
				  const struct opcode_info *op)
{
	enum msg_progress must = MSG_NONE;

	if (!op || !(op->flags & OPF_REQUEST))
		return RESP_ERR_OPCODE_UNSUPPORTED;
	if (!(op->flags & OPF_START))
		must = op->flags & OPF_SEND ? MSG_IN_SEND : MSG_IN_WRITE;
	return p == must ? RESP_OK : RESP_ERR_OPCODE_SEQ;
}

/**
 * resp_progress() - message in progress after a request was executed
 * @p: message in progress before
 * @op: opcode that resp_check_opcode() accepted
 *
 * Context: any.
 * Return: the new state.
 */
enum msg_progress resp_progress(enum msg_progress p,
				const struct opcode_info *op)
{
	if (op->flags & OPF_END)
		return MSG_NONE;
	if (op->flags & OPF_START)
		return op->flags & OPF_SEND ? MSG_IN_SEND : MSG_IN_WRITE;
	return p;
}

/* Is the payload of a SEND or WRITE packet legal for its place in the message */
static bool place_allows(u32 flags, u32 payload, u32 pmtu)
{
	if (!(flags & OPF_END))
		return payload == pmtu;
	if (!(flags & OPF_START) && !payload)
		return false;
	return payload <= pmtu;
}

/**
 * resp_check_length() - is the length of a request legal (9.7.4)
 * @op: opcode of the packet, a request
 * @in: what the packet and its message measure
 *
 * FIRST and MIDDLE are exactly one PMTU long, LAST is 1 to PMTU, ONLY is 0 to
 * PMTU; a WRITE brings what its RETH said, not less, not more; an ATOMIC WRITE
 * brings 8 bytes; the rest bring none. No message is longer than 2^31 bytes
 * (C9-94). Nothing is clamped: a message is as long as it says.
 *
 * Context: any.
 * Return: RESP_OK or RESP_ERR_LENGTH.
 */
enum resp_error resp_check_length(const struct opcode_info *op,
				  const struct resp_len_in *in)
{
	u64 sum = in->done + in->payload;

	if ((in->payload + in->pad) & 3 || in->pad > 3)
		return RESP_ERR_LENGTH;
	if (!(op->flags & OPF_SEND) && in->total > MSG_LEN_MAX)
		return RESP_ERR_LENGTH;
	if (op->flags & OPF_ATOMIC_WRITE)
		return in->payload == 8 && in->total == 8 ?
		       RESP_OK : RESP_ERR_LENGTH;
	if (!(op->flags & OPF_PAYLOAD))
		return in->payload ? RESP_ERR_LENGTH : RESP_OK;

	if (!place_allows(op->flags, in->payload, in->pmtu))
		return RESP_ERR_LENGTH;
	if (op->flags & OPF_SEND)
		return sum <= MSG_LEN_MAX ? RESP_OK : RESP_ERR_LENGTH;
	if (op->flags & OPF_END)
		return sum == in->total ? RESP_OK : RESP_ERR_LENGTH;
	return sum < in->total ? RESP_OK : RESP_ERR_LENGTH;
}

/**
 * resp_too_many() - is a READ or atomic more than was agreed on (9.7.4)
 * @asked: READs and atomics accepted before it
 * @answered: those of them that had been answered when it came; both wrap
 * @agreed: how many may wait for an answer at a time: max_dest_rd_atomic, or the next power
 *	of two (qp.c)
 *
 * Context: any.
 * Return: true if with it more would wait than were agreed on.
 */
bool resp_too_many(u32 asked, u32 answered, u32 agreed)
{
	return asked - answered >= agreed;
}

/**
 * resp_ack_old() - is what an ACK may name too long ago
 * @end: behind the last packet that it may name
 * @psn: expected now; the same, or less than all PSNs further
 *
 * Context: any.
 * Return: true if there should be no ACK.
 */
bool resp_ack_old(u32 end, u32 psn)
{
	return psn_add(psn, 0u - end) > RESP_ACK_OLDEST;
}

/**
 * resp_ack_end() - what an ACK may name, before another response
 * @end: behind the last packet before the first of the responses in a row
 * @psn: of the next one
 *
 * A row has no end, but PSNs have: so that it is never taken for one to come, it follows at a
 * distance at which it is old.
 *
 * Context: any.
 * Return: @end, or where it is now.
 */
u32 resp_ack_end(u32 end, u32 psn)
{
	return resp_ack_old(end, psn) ? psn_add(psn, PSN_MASK - RESP_ACK_OLDEST) : end;
}

/**
 * read_replay_fits() - does a duplicate READ ask for a part of a saved one
 * @saved: READ that was executed
 * @dup: READ whose PSN is a duplicate
 * @pmtu: path MTU of the QP in bytes
 *
 * A requester that lost responses may ask again from any packet of the response
 * on, with the address and length moved accordingly (9.7.4).
 *
 * Context: any; the caller validates the key again before it replays.
 * Return: true if every byte of @dup was part of @saved, at the same PSN.
 */
bool read_replay_fits(const struct read_span *saved,
		      const struct read_span *dup, u32 pmtu)
{
	u32 skip = psn_add(dup->psn, 0 - saved->psn);
	u32 offset;

	if (skip >= psn_packets(saved->len, pmtu))
		return false;
	offset = skip * pmtu;	/* less than saved->len, or 0 */
	if (dup->rkey != saved->rkey || dup->va != saved->va + offset)
		return false;
	if (!dup->len)
		return !saved->len;
	return dup->len <= saved->len - offset;
}

/**
 * ack_classify() - where an acknowledged PSN lies
 * @oldest_unacked: first PSN that is not acknowledged yet
 * @next_to_send: first PSN that was never sent; equal to @oldest_unacked if
 *	nothing is outstanding, and at most 2^23 ahead of it
 * @psn: PSN of the ACK, NAK or response
 *
 * Context: any.
 * Return: the class; only ACK_VALID may complete anything (9.7.6). An RNR or
 * sequence NAK may be about @next_to_send - 1 at most, hence is ACK_VALID too.
 */
enum ack_class ack_classify(u32 oldest_unacked, u32 next_to_send, u32 psn)
{
	u32 outstanding = psn_add(next_to_send, 0 - oldest_unacked);
	s32 ahead = psn_diff(psn, oldest_unacked);

	if (ahead < 0)
		return ahead == -1 ? ACK_DUP : ACK_STALE;
	return (u32)ahead < outstanding ? ACK_VALID : ACK_BEYOND;
}
