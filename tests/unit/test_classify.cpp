// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Decisions about received packets: PSN classes, message progress, lengths
 * (whole messages cut into packets, and every way to get one wrong), replays,
 * acknowledged PSNs.
 */
#include <cstring>
#include <initializer_list>
#include "proto.hpp"

static const u32 edge_psns[] = { 0, 1, 2, 0x7ffffe, 0x7fffff, 0x800000, 0xfffffe, 0xffffff };

TEST_CASE("classify: expected, duplicate, ahead, on both sides of every wrap")
{
	for (u32 e : edge_psns) {
		CAPTURE(e);
		CHECK(psn_classify(e, e) == PSN_EXPECTED);
		CHECK(psn_classify(e, psn_add(e, 1)) == PSN_AHEAD);
		CHECK(psn_classify(e, psn_add(e, 0x7fffff)) == PSN_AHEAD);
		CHECK(psn_classify(e, psn_add(e, 0x800000)) == PSN_DUPLICATE);
		CHECK(psn_classify(e, psn_add(e, 0x800001)) == PSN_DUPLICATE);
		CHECK(psn_classify(e, psn_add(e, (u32)-1)) == PSN_DUPLICATE);
	}
}

TEST_CASE("classify: what may follow what, all 256 opcodes in all states")
{
	for (int i = 0; i < 256; i++) {
		const struct opcode_info *op = opcode_info((u8)i);
		bool request = op && op->flags & OPF_REQUEST;
		bool send = op && op->flags & OPF_SEND;
		bool starts = op && op->flags & OPF_START;

		CAPTURE(i);
		for (int p = MSG_NONE; p <= MSG_IN_WRITE; p++) {
			enum resp_error want = RESP_ERR_OPCODE_SEQ;

			CAPTURE(p);
			if (!request)
				want = RESP_ERR_OPCODE_UNSUPPORTED;
			else if (starts ? p == MSG_NONE :
				 p == (send ? MSG_IN_SEND : MSG_IN_WRITE))
				want = RESP_OK;
			CHECK(resp_check_opcode((enum msg_progress)p, op) == want);
		}
	}
}

static enum msg_progress after(enum msg_progress p, u8 opcode)
{
	return resp_progress(p, opcode_info(opcode));
}

TEST_CASE("classify: progress of a message")
{
	CHECK(after(MSG_NONE, OP_RC_SEND_FIRST) == MSG_IN_SEND);
	CHECK(after(MSG_IN_SEND, OP_RC_SEND_MIDDLE) == MSG_IN_SEND);
	CHECK(after(MSG_IN_SEND, OP_RC_SEND_LAST) == MSG_NONE);
	CHECK(after(MSG_IN_SEND, OP_RC_SEND_LAST_IMM) == MSG_NONE);
	CHECK(after(MSG_IN_SEND, OP_RC_SEND_LAST_INV) == MSG_NONE);
	CHECK(after(MSG_NONE, OP_RC_WRITE_FIRST) == MSG_IN_WRITE);
	CHECK(after(MSG_IN_WRITE, OP_RC_WRITE_MIDDLE) == MSG_IN_WRITE);
	CHECK(after(MSG_IN_WRITE, OP_RC_WRITE_LAST) == MSG_NONE);
	CHECK(after(MSG_IN_WRITE, OP_RC_WRITE_LAST_IMM) == MSG_NONE);
	for (u8 opcode : { OP_RC_SEND_ONLY, OP_RC_WRITE_ONLY, OP_RC_READ_REQUEST,
			   OP_RC_COMPARE_SWAP, OP_RC_FETCH_ADD, OP_RC_FLUSH,
			   OP_RC_ATOMIC_WRITE, OP_UD_SEND_ONLY })
		CHECK(after(MSG_NONE, opcode) == MSG_NONE);
}

TEST_CASE("classify: a READ in the middle of a SEND is out of sequence")
{
	CHECK(resp_check_opcode(MSG_IN_SEND, opcode_info(OP_RC_READ_REQUEST)) ==
	      RESP_ERR_OPCODE_SEQ);
	CHECK(resp_check_opcode(MSG_IN_SEND, opcode_info(OP_RC_SEND_FIRST)) ==
	      RESP_ERR_OPCODE_SEQ);
	CHECK(resp_check_opcode(MSG_IN_SEND, opcode_info(OP_RC_WRITE_LAST)) ==
	      RESP_ERR_OPCODE_SEQ);
	CHECK(resp_check_opcode(MSG_NONE, opcode_info(OP_RC_SEND_LAST)) ==
	      RESP_ERR_OPCODE_SEQ);
}

static enum resp_error length(u8 opcode, u32 pmtu, u32 payload, u64 done,
			      u64 total, int pad = -1)
{
	struct resp_len_in in;

	in.pmtu = pmtu;
	in.payload = payload;
	in.pad = pad < 0 ? wire_pad(payload) : (u8)pad;
	in.done = done;
	in.total = total;
	return resp_check_length(opcode_info(opcode), &in);
}

/* Cut a message into packets as a requester does; every packet must pass */
static void whole_message(enum msg_kind kind, u32 len, u32 pmtu, bool imm)
{
	u32 packets = psn_packets(len, pmtu);
	enum msg_progress p = MSG_NONE;
	u64 done = 0;

	CAPTURE(kind);
	CAPTURE(len);
	CAPTURE(pmtu);
	for (u32 i = 0; i < packets; i++) {
		bool last = i + 1 == packets;
		u8 opcode = opcode_for(kind, i == 0, last, imm, false);
		u32 payload = last ? (u32)(len - done) : pmtu;
		const struct opcode_info *op = opcode_info(opcode);

		if (resp_check_opcode(p, op) != RESP_OK)
			FAIL("opcode of packet ", i);
		if (length(opcode, pmtu, payload, done, len) != RESP_OK)
			FAIL("length of packet ", i);
		p = resp_progress(p, op);
		done += payload;
	}
	CHECK(p == MSG_NONE);
	CHECK(done == len);
}

TEST_CASE("S3: messages of every size pass at every PMTU")
{
	for (u32 pmtu : all_pmtus) {
		const u32 sizes[] = { 0, 1, 3, pmtu - 1, pmtu, pmtu + 1, 2 * pmtu,
				      65536 + 1, 8 << 20 };

		for (u32 len : sizes)
			for (int imm = 0; imm < 2; imm++) {
				whole_message(MSG_WRITE, len, pmtu, imm);
				whole_message(MSG_SEND, len, pmtu, imm);
			}
	}
}

TEST_CASE("S3: the residue of a WRITE is never clamped to the PMTU")
{
	/* 2048 bytes at PMTU 1024: FIRST with a total beyond the PMTU, then LAST */
	CHECK(length(OP_RC_WRITE_FIRST, 1024, 1024, 0, 2048) == RESP_OK);
	CHECK(length(OP_RC_WRITE_LAST_IMM, 1024, 1024, 1024, 2048) == RESP_OK);
	/* were the total clamped, these two would pass */
	CHECK(length(OP_RC_WRITE_ONLY, 1024, 1024, 0, 2048) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_WRITE_LAST, 1024, 1024, 1024, 1024) == RESP_ERR_LENGTH);
}

TEST_CASE("length: FIRST and MIDDLE are exactly one PMTU")
{
	static const u8 opcodes[] = { OP_RC_SEND_FIRST, OP_RC_SEND_MIDDLE,
				      OP_RC_WRITE_FIRST, OP_RC_WRITE_MIDDLE,
				      OP_UC_SEND_FIRST, OP_UC_WRITE_MIDDLE };

	for (u32 pmtu : all_pmtus)
		for (u8 opcode : opcodes) {
			u64 total = 1 << 20;

			CAPTURE(pmtu);
			CAPTURE((int)opcode);
			CHECK(length(opcode, pmtu, pmtu, 0, total) == RESP_OK);
			for (u32 bad : { 0u, 1u, 3u, pmtu - 4, pmtu - 1, pmtu + 1, pmtu + 4,
					 2 * pmtu })
				CHECK(length(opcode, pmtu, bad, 0, total) == RESP_ERR_LENGTH);
		}
}

TEST_CASE("length: LAST is 1 to PMTU")
{
	for (u32 pmtu : all_pmtus)
		for (u8 opcode : { OP_RC_SEND_LAST, OP_RC_SEND_LAST_IMM, OP_RC_SEND_LAST_INV,
				   OP_RC_WRITE_LAST, OP_RC_WRITE_LAST_IMM }) {
			CAPTURE(pmtu);
			CAPTURE((int)opcode);
			CHECK(length(opcode, pmtu, 0, pmtu, pmtu) == RESP_ERR_LENGTH);
			CHECK(length(opcode, pmtu, 1, pmtu, pmtu + 1) == RESP_OK);
			CHECK(length(opcode, pmtu, pmtu - 1, pmtu, 2 * pmtu - 1) == RESP_OK);
			CHECK(length(opcode, pmtu, pmtu, pmtu, 2 * pmtu) == RESP_OK);
			CHECK(length(opcode, pmtu, pmtu + 1, pmtu, 2 * pmtu + 1) ==
			      RESP_ERR_LENGTH);
		}
}

TEST_CASE("length: ONLY is 0 to PMTU")
{
	for (u32 pmtu : all_pmtus)
		for (u8 opcode : { OP_RC_SEND_ONLY, OP_RC_SEND_ONLY_IMM, OP_RC_SEND_ONLY_INV,
				   OP_RC_WRITE_ONLY, OP_RC_WRITE_ONLY_IMM, OP_UD_SEND_ONLY }) {
			CAPTURE(pmtu);
			CAPTURE((int)opcode);
			for (u32 good : { 0u, 1u, 3u, pmtu - 1, pmtu })
				CHECK(length(opcode, pmtu, good, 0, good) == RESP_OK);
			CHECK(length(opcode, pmtu, pmtu + 1, 0, pmtu + 1) == RESP_ERR_LENGTH);
			CHECK(length(opcode, pmtu, 65536, 0, 65536) == RESP_ERR_LENGTH);
		}
}

TEST_CASE("length: a WRITE brings what its RETH said")
{
	/* ONLY */
	CHECK(length(OP_RC_WRITE_ONLY, 1024, 100, 0, 101) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_WRITE_ONLY, 1024, 100, 0, 99) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_WRITE_ONLY, 1024, 0, 0, 1) == RESP_ERR_LENGTH);
	/* LAST: one byte too few, one too many */
	CHECK(length(OP_RC_WRITE_LAST, 1024, 7, 4096, 4096 + 8) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_WRITE_LAST, 1024, 8, 4096, 4096 + 8) == RESP_OK);
	CHECK(length(OP_RC_WRITE_LAST, 1024, 9, 4096, 4096 + 8) == RESP_ERR_LENGTH);
	/* FIRST and MIDDLE must leave something for LAST */
	CHECK(length(OP_RC_WRITE_FIRST, 1024, 1024, 0, 1024) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_WRITE_FIRST, 1024, 1024, 0, 1025) == RESP_OK);
	CHECK(length(OP_RC_WRITE_FIRST, 1024, 1024, 0, 0) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_WRITE_MIDDLE, 1024, 1024, 1024, 2048) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_WRITE_MIDDLE, 1024, 1024, 1024, 2049) == RESP_OK);
	CHECK(length(OP_RC_WRITE_MIDDLE, 1024, 1024, 8192, 2048) == RESP_ERR_LENGTH);
}

TEST_CASE("length: no message is longer than 2^31 bytes")
{
	const u64 max = 0x80000000ull;

	CHECK(length(OP_RC_WRITE_FIRST, 1024, 1024, 0, max) == RESP_OK);
	CHECK(length(OP_RC_WRITE_FIRST, 1024, 1024, 0, max + 1) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_WRITE_FIRST, 1024, 1024, 0, 0xffffffff) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_WRITE_LAST, 1024, 1024, max - 1024, max) == RESP_OK);
	CHECK(length(OP_RC_READ_REQUEST, 1024, 0, 0, max) == RESP_OK);
	CHECK(length(OP_RC_READ_REQUEST, 1024, 0, 0, max + 1) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_SEND_LAST, 1024, 1024, max - 1024, 0) == RESP_OK);
	CHECK(length(OP_RC_SEND_LAST, 1024, 1024, max - 1023, 0) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_SEND_MIDDLE, 1024, 1024, max, 0) == RESP_ERR_LENGTH);
	/* the RETH length means nothing to a SEND */
	CHECK(length(OP_RC_SEND_ONLY, 1024, 1, 0, max + 1) == RESP_OK);
}

TEST_CASE("length: requests without payload bring none")
{
	for (u8 opcode : { OP_RC_READ_REQUEST, OP_RC_COMPARE_SWAP, OP_RC_FETCH_ADD,
			   OP_RC_FLUSH }) {
		CAPTURE((int)opcode);
		CHECK(length(opcode, 1024, 0, 0, 0) == RESP_OK);
		CHECK(length(opcode, 1024, 1, 0, 0) == RESP_ERR_LENGTH);
		CHECK(length(opcode, 1024, 4, 0, 0) == RESP_ERR_LENGTH);
		CHECK(length(opcode, 1024, 0, 0, 0, 1) == RESP_ERR_LENGTH);
	}
}

TEST_CASE("length: an ATOMIC WRITE is 8 bytes")
{
	for (u32 payload : { 0u, 1u, 4u, 7u, 9u, 12u, 16u, 1024u })
		CHECK(length(OP_RC_ATOMIC_WRITE, 1024, payload, 0, 8) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_ATOMIC_WRITE, 1024, 8, 0, 8) == RESP_OK);
	CHECK(length(OP_RC_ATOMIC_WRITE, 1024, 8, 0, 7) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_ATOMIC_WRITE, 1024, 8, 0, 0) == RESP_ERR_LENGTH);
}

TEST_CASE("length: the pad count must fit the payload")
{
	for (u32 payload = 0; payload < 16; payload++)
		for (int pad = 0; pad < 8; pad++) {
			CAPTURE(payload);
			CAPTURE(pad);
			CHECK((length(OP_RC_SEND_ONLY, 256, payload, 0, 0, pad) == RESP_OK) ==
			      (pad == wire_pad(payload)));
		}
	/* a payload that wrapped below zero in the caller is no valid length */
	CHECK(length(OP_RC_SEND_ONLY, 4096, 0xfffffffc, 0, 0, 0) == RESP_ERR_LENGTH);
	CHECK(length(OP_RC_WRITE_ONLY, 4096, 0xffffffff, 0, 0xffffffff, 1) ==
	      RESP_ERR_LENGTH);
}

TEST_CASE("length: the two packets of 2048 bytes with immediate data at PMTU 1024")
{
	CHECK(opcode_for(MSG_WRITE, true, true, true, false) == OP_RC_WRITE_ONLY_IMM);
	CHECK(length(OP_RC_WRITE_ONLY_IMM, 1024, 1024, 0, 1024) == RESP_OK);
	CHECK(opcode_for(MSG_WRITE, true, false, true, false) == OP_RC_WRITE_FIRST);
	CHECK(opcode_for(MSG_WRITE, false, true, true, false) == OP_RC_WRITE_LAST_IMM);
}

static bool fits(u32 psn, u32 rkey, u64 va, u32 len)
{
	/* 5000 bytes at PMTU 1024, over the wrap: PSNs fffffe ffffff 0 1 2 */
	static const struct read_span saved = { 0xfffffe, 0x1234, 0x10000, 5000 };
	struct read_span dup = { psn, rkey, va, len };

	return read_replay_fits(&saved, &dup, 1024);
}

TEST_CASE("READs: as many as agreed on may wait for an answer, and not one more")
{
	/* 5 means 5, wherever the counts are, their wrap included */
	for (u32 answered : { 0u, 1u, 7u, 0xfffffffdu, 0xffffffffu }) {
		for (u32 waiting = 0; waiting < 5; waiting++)
			CHECK(!resp_too_many(answered + waiting, answered, 5));
		CHECK(resp_too_many(answered + 5, answered, 5));
		CHECK(resp_too_many(answered + 6, answered, 5));
	}
	CHECK(resp_too_many(0, 0, 0));
	CHECK(!resp_too_many(0, 0, 1));
	CHECK(!resp_too_many(127, 0, 128));
	CHECK(resp_too_many(128, 0, 128));
}

TEST_CASE("ACKs: what they may name stays behind, however many packets READs in a row take")
{
	/* the longest at PMTU 256, and lengths that meet each distance after a round of all PSNs */
	for (u32 packets : { 1u << 23, (1u << 22) + 1, 1u << 20, (1u << 18) - 1 }) {
		u32 end = 0xfffff0, psn = end;

		CHECK(!resp_ack_old(end, psn));
		for (u64 sum = 0; sum < 1ull << 27; sum += packets) {
			end = resp_ack_end(end, psn);
			psn = psn_add(psn, packets);
			CHECK(resp_ack_old(end, psn) == (sum + packets > RESP_ACK_OLDEST));
		}
	}
	CHECK(!resp_ack_old(0xfffff0, psn_add(0xfffff0, RESP_ACK_OLDEST)));
	CHECK(resp_ack_end(5, 5 + RESP_ACK_OLDEST) == 5);
}

TEST_CASE("S11: a duplicate READ is replayed whole, from its middle, or in part")
{
	CHECK(fits(0xfffffe, 0x1234, 0x10000, 5000));
	CHECK(fits(0xfffffe, 0x1234, 0x10000, 1));
	CHECK(fits(0xffffff, 0x1234, 0x10400, 5000 - 1024));
	CHECK(fits(0, 0x1234, 0x10800, 5000 - 2048));
	CHECK(fits(2, 0x1234, 0x11000, 5000 - 4096));
	CHECK(fits(2, 0x1234, 0x11000, 1));
}

TEST_CASE("S11: a duplicate READ of something else is not replayed")
{
	CHECK(!fits(3, 0x1234, 0x11400, 1));
	CHECK(!fits(0xfffffd, 0x1234, 0x10000 - 1024, 5000));
	CHECK(!fits(0xfffffe, 0x1235, 0x10000, 5000));
	CHECK(!fits(0xfffffe, 0x1234, 0x10001, 4999));
	CHECK(!fits(0xfffffe, 0x1234, 0x10000, 5001));
	CHECK(!fits(0xffffff, 0x1234, 0x10400, 5000 - 1023));
	CHECK(!fits(0xffffff, 0x1234, 0x10000, 1024));
	CHECK(!fits(2, 0x1234, 0x11000, 0));
	CHECK(!fits(0xfffffe, 0x1234, 0x10000, 0));
	CHECK(!fits(0xfffffe, 0x1234, 0x10000, 0xffffffff));
}

TEST_CASE("S11: the duplicate of a READ of nothing, and of the longest")
{
	struct read_span none = { 7, 1, 0xffffffffffffffffull, 0 };
	struct read_span longest = { 0, 1, 0xffffffff80000000ull, MSG_LEN_MAX };
	struct read_span dup;

	CHECK(read_replay_fits(&none, &none, 256));
	dup = none;
	dup.len = 1;
	CHECK(!read_replay_fits(&none, &dup, 256));
	dup = none;
	dup.psn = 8;
	CHECK(!read_replay_fits(&none, &dup, 256));

	CHECK(read_replay_fits(&longest, &longest, 256));
	dup = longest;
	dup.psn = 0x7fffff;	/* its last packet */
	dup.va += 0x7fffff00u;
	dup.len = 256;
	CHECK(read_replay_fits(&longest, &dup, 256));
	dup.len = 257;
	CHECK(!read_replay_fits(&longest, &dup, 256));
}

TEST_CASE("ack: stale, duplicate, valid, beyond, over every wrap")
{
	for (u32 oldest : edge_psns) {
		u32 next = psn_add(oldest, 10);

		CAPTURE(oldest);
		CHECK(ack_classify(oldest, next, psn_add(oldest, (u32)-2)) == ACK_STALE);
		CHECK(ack_classify(oldest, next, psn_add(oldest, 0x800000)) == ACK_STALE);
		CHECK(ack_classify(oldest, next, psn_add(oldest, (u32)-1)) == ACK_DUP);
		for (u32 i = 0; i < 10; i++)
			CHECK(ack_classify(oldest, next, psn_add(oldest, i)) == ACK_VALID);
		CHECK(ack_classify(oldest, next, next) == ACK_BEYOND);
		CHECK(ack_classify(oldest, next, psn_add(oldest, 0x7fffff)) == ACK_BEYOND);
	}
}

TEST_CASE("ack: nothing is valid when nothing is outstanding")
{
	for (u32 oldest : edge_psns) {
		CHECK(ack_classify(oldest, oldest, oldest) == ACK_BEYOND);
		CHECK(ack_classify(oldest, oldest, psn_add(oldest, (u32)-1)) == ACK_DUP);
		CHECK(ack_classify(oldest, oldest, psn_add(oldest, (u32)-2)) == ACK_STALE);
	}
}

TEST_CASE("ack: the widest window there can be")
{
	u32 oldest = 0xfffff0, next = psn_add(oldest, 0x800000);

	CHECK(ack_classify(oldest, next, oldest) == ACK_VALID);
	CHECK(ack_classify(oldest, next, psn_add(next, (u32)-1)) == ACK_VALID);
	CHECK(ack_classify(oldest, next, psn_add(oldest, (u32)-1)) == ACK_DUP);
}
