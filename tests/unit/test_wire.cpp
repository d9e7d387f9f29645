// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Header bytes: each accessor against bytes typed by hand, at odd addresses. */
#include <cstring>
#include "proto.hpp"

TEST_CASE("wire: integers are big endian at any alignment")
{
	u8 b[16];

	for (int at = 0; at < 8; at++) {
		memset(b, 0xee, sizeof(b));
		wire_put16(b + at, 0x0102);
		CHECK(b[at] == 1);
		CHECK(b[at + 1] == 2);
		CHECK(b[at + 2] == 0xee);
		CHECK(wire_get16(b + at) == 0x0102);

		memset(b, 0xee, sizeof(b));
		wire_put24(b + at, 0xff010203);
		CHECK(b[at] == 1);
		CHECK(b[at + 2] == 3);
		CHECK(b[at + 3] == 0xee);
		CHECK(wire_get24(b + at) == 0x010203);

		memset(b, 0xee, sizeof(b));
		wire_put32(b + at, 0xf1020304);
		CHECK(b[at] == 0xf1);
		CHECK(b[at + 3] == 4);
		CHECK(b[at + 4] == 0xee);
		CHECK(wire_get32(b + at) == 0xf1020304);

		memset(b, 0xee, sizeof(b));
		wire_put64(b + at, 0xf102030405060708ull);
		CHECK(b[at] == 0xf1);
		CHECK(b[at + 7] == 8);
		CHECK(b[at + 8] == 0xee);
		CHECK(wire_get64(b + at) == 0xf102030405060708ull);
	}
}

TEST_CASE("wire: pad completes four bytes")
{
	CHECK(wire_pad(0) == 0);
	CHECK(wire_pad(1) == 3);
	CHECK(wire_pad(2) == 2);
	CHECK(wire_pad(3) == 1);
	CHECK(wire_pad(4) == 0);
	CHECK(wire_pad(4095) == 1);
	CHECK(wire_pad(0xffffffff) == 1);
}

TEST_CASE("wire: a BTH is written byte for byte, reserved bits zero")
{
	static const u8 all_ones[BTH_LEN] = {
		0xff, 0xf0, 0xff, 0xff, 0xc0, 0xff, 0xff, 0xff, 0x80, 0xff, 0xff, 0xff
	};
	static const u8 mixed[BTH_LEN] = {
		0x0a, 0xe0, 0x80, 0x01, 0x00, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef
	};
	struct bth_fields f;
	u8 b[BTH_LEN];

	memset(&f, 0, sizeof(f));
	memset(b, 0xee, sizeof(b));
	bth_write(b, &f);
	for (u8 byte : b)
		CHECK(byte == 0);

	f.opcode = 0xff;
	f.se = f.mig = f.ackreq = f.becn = f.fecn = true;
	f.pad = 0xff;
	f.pkey = 0xffff;
	f.dqpn = f.psn = 0xffffffff;
	bth_write(b, &f);
	CHECK(!memcmp(b, all_ones, sizeof(b)));

	f.opcode = OP_RC_WRITE_ONLY;
	f.se = f.mig = f.ackreq = true;
	f.becn = f.fecn = false;
	f.pad = 2;
	f.pkey = 0x8001;
	f.dqpn = 0x123456;
	f.psn = 0xabcdef;
	bth_write(b, &f);
	CHECK(!memcmp(b, mixed, sizeof(b)));
}

TEST_CASE("wire: each BTH bit is read by one accessor only")
{
	u8 b[BTH_LEN];

	for (unsigned int bit = 0; bit < BTH_LEN * 8; bit++) {
		unsigned int byte = bit / 8;
		u8 mask = 0x80 >> bit % 8;

		CAPTURE(bit);
		memset(b, 0, sizeof(b));
		b[byte] = mask;
		CHECK(bth_opcode(b) == (byte == 0 ? mask : 0));
		CHECK(bth_se(b) == (byte == 1 && mask == 0x80));
		CHECK(bth_mig(b) == (byte == 1 && mask == 0x40));
		CHECK(bth_pad(b) == (byte == 1 ? (mask & 0x30) >> 4 : 0));
		CHECK(bth_tver(b) == (byte == 1 ? mask & 0x0f : 0));
		CHECK(bth_pkey(b) == (byte == 2 ? mask << 8 : byte == 3 ? mask : 0));
		CHECK(bth_fecn(b) == (byte == 4 && mask == 0x80));
		CHECK(bth_becn(b) == (byte == 4 && mask == 0x40));
		CHECK(bth_dqpn(b) == (byte >= 5 && byte <= 7 ?
				      (u32)mask << (7 - byte) * 8 : 0));
		CHECK(bth_ackreq(b) == (byte == 8 && mask == 0x80));
		CHECK(bth_psn(b) == (byte >= 9 ? (u32)mask << (11 - byte) * 8 : 0));
	}
}

TEST_CASE("wire: what bth_write puts, the accessors get")
{
	u8 b[BTH_LEN + 1];

	for (unsigned int i = 0; i < 128; i++) {
		struct bth_fields f;

		f.opcode = (u8)(i * 37);
		f.se = i & 1;
		f.mig = i & 2;
		f.ackreq = i & 4;
		f.becn = i & 8;
		f.fecn = i & 16;
		f.pad = i >> 5 & 3;
		f.pkey = (u16)(i * 0x1234 + 1);
		f.dqpn = i * 0x2f3d1 & QPN_MASK;
		f.psn = i * 0x3a5c7 & PSN_MASK;
		bth_write(b + 1, &f);
		CHECK(bth_opcode(b + 1) == f.opcode);
		CHECK(bth_se(b + 1) == f.se);
		CHECK(bth_mig(b + 1) == f.mig);
		CHECK(bth_ackreq(b + 1) == f.ackreq);
		CHECK(bth_becn(b + 1) == f.becn);
		CHECK(bth_fecn(b + 1) == f.fecn);
		CHECK(bth_pad(b + 1) == f.pad);
		CHECK(bth_pkey(b + 1) == f.pkey);
		CHECK(bth_dqpn(b + 1) == f.dqpn);
		CHECK(bth_psn(b + 1) == f.psn);
		CHECK(bth_tver(b + 1) == 0);
	}
}

TEST_CASE("wire: RETH")
{
	static const u8 want[RETH_LEN] = {
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0xf8,
		0xa1, 0xa2, 0xa3, 0xa4, 0x80, 0x00, 0x00, 0x01
	};
	u8 b[RETH_LEN];

	reth_write(b, 0x01020304050607f8ull, 0xa1a2a3a4, 0x80000001);
	CHECK(!memcmp(b, want, sizeof(b)));
	CHECK(reth_va(b) == 0x01020304050607f8ull);
	CHECK(reth_rkey(b) == 0xa1a2a3a4);
	CHECK(reth_len(b) == 0x80000001);
}

TEST_CASE("wire: AtomicETH")
{
	static const u8 want[ATMETH_LEN] = {
		0xf1, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		0xa1, 0xa2, 0xa3, 0xa4,
		0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8,
		0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8
	};
	u8 b[ATMETH_LEN];

	atmeth_write(b, 0xf102030405060708ull, 0xa1a2a3a4, 0xb1b2b3b4b5b6b7b8ull,
		     0xc1c2c3c4c5c6c7c8ull);
	CHECK(!memcmp(b, want, sizeof(b)));
	CHECK(atmeth_va(b) == 0xf102030405060708ull);
	CHECK(atmeth_rkey(b) == 0xa1a2a3a4);
	CHECK(atmeth_swap_add(b) == 0xb1b2b3b4b5b6b7b8ull);
	CHECK(atmeth_compare(b) == 0xc1c2c3c4c5c6c7c8ull);
}

TEST_CASE("wire: AETH")
{
	static const u8 want[AETH_LEN] = { 0x62, 0x12, 0x34, 0x56 };
	u8 b[AETH_LEN];

	aeth_write(b, NAK_REM_ACCESS, 0xff123456);
	CHECK(!memcmp(b, want, sizeof(b)));
	CHECK(aeth_syndrome(b) == 0x62);
	CHECK(aeth_msn(b) == 0x123456);
}

TEST_CASE("wire: AtomicAckETH")
{
	static const u8 want[ATMACK_LEN] = { 0x91, 2, 3, 4, 5, 6, 7, 8 };
	u8 b[ATMACK_LEN];

	atmack_write(b, 0x9102030405060708ull);
	CHECK(!memcmp(b, want, sizeof(b)));
	CHECK(atmack_orig(b) == 0x9102030405060708ull);
}

TEST_CASE("wire: immediate data keeps its bytes on any host")
{
	static const u8 want[IMMDT_LEN] = { 0xde, 0xad, 0xbe, 0xef };
	u8 b[IMMDT_LEN + 1];

	immdt_put(b + 1, cpu_to_be32(0xdeadbeef));
	CHECK(!memcmp(b + 1, want, sizeof(want)));
	CHECK(be32_to_cpu(immdt_get(b + 1)) == 0xdeadbeef);
}

TEST_CASE("wire: IETH")
{
	static const u8 want[IETH_LEN] = { 0x81, 0x02, 0x03, 0x04 };
	u8 b[IETH_LEN];

	ieth_write(b, 0x81020304);
	CHECK(!memcmp(b, want, sizeof(b)));
	CHECK(ieth_rkey(b) == 0x81020304);
}

TEST_CASE("wire: DETH")
{
	static const u8 want[DETH_LEN] = { 0x80, 0x01, 0, 0, 0, 0x12, 0x34, 0x56 };
	u8 b[DETH_LEN];

	memset(b, 0xee, sizeof(b));
	deth_write(b, 0x80010000, 0xff123456);
	CHECK(!memcmp(b, want, sizeof(b)));
	CHECK(deth_qkey(b) == 0x80010000);
	CHECK(deth_sqp(b) == 0x123456);
}

TEST_CASE("wire: FETH")
{
	static const u8 want[FETH_LEN] = { 0, 0, 0, 0x13 };
	u8 b[FETH_LEN];

	memset(b, 0xee, sizeof(b));
	feth_write(b, FETH_GLOBAL | FETH_PERSISTENT, FETH_SEL_MR);
	CHECK(!memcmp(b, want, sizeof(b)));
	CHECK(feth_type(b) == 3);
	CHECK(feth_selectivity(b) == FETH_SEL_MR);
	feth_write(b, 0xff, 0xff);
	CHECK(b[3] == 0x3f);
	memset(b, 0xff, sizeof(b));
	CHECK(feth_type(b) == 0x0f);
	CHECK(feth_selectivity(b) == 3);
}

TEST_CASE("wire: the PSN of a BTH is changed, and nothing else")
{
	u8 b[BTH_LEN];

	memset(b, 0xee, sizeof(b));
	bth_set_psn(b, 0xff010203);
	for (int i = 0; i < 9; i++)
		CHECK(b[i] == 0xee);
	CHECK(bth_psn(b) == 0x010203);
}

TEST_CASE("wire: a BTH follows another one if all but the PSN is equal")
{
	u8 like[BTH_LEN], b[BTH_LEN];
	struct bth_fields f;

	memset(&f, 0, sizeof(f));
	f.opcode = OP_RC_SEND_MIDDLE;
	f.mig = true;
	f.pkey = 0xffff;
	f.dqpn = 0x123456;
	f.psn = 0xffffff;
	bth_write(like, &f);
	memcpy(b, like, sizeof(b));
	bth_set_psn(b, 0);
	CHECK(bth_follows(b, like, 0));
	CHECK(!bth_follows(b, like, 1));
	CHECK(!bth_follows(b, like, 0xffffff));
	for (int bit = 0; bit < 8 * (int)sizeof(b); bit++) {
		b[bit / 8] ^= (u8)(1 << bit % 8);
		CHECK(!bth_follows(b, like, 0));
		b[bit / 8] ^= (u8)(1 << bit % 8);
	}
	/* whoever asks for an ACK is followed by one who does not */
	like[8] |= 0x80;
	CHECK(!bth_follows(like, like, 0xffffff));
	CHECK(bth_follows(b, like, 0));
}
