// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Syndromes, and the three encodings: RNR delay, credits, ACK timeout. */
#include "proto.hpp"

TEST_CASE("aeth: kind of all 256 syndromes")
{
	for (int s = 0; s < 256; s++) {
		enum aeth_kind want = AETH_KIND_RESERVED;

		CAPTURE(s);
		if (s <= 0x1f)
			want = AETH_KIND_ACK;
		else if (s <= 0x3f)
			want = AETH_KIND_RNR;
		else if (s >= 0x60 && s <= 0x7f)
			want = AETH_KIND_NAK;
		CHECK(aeth_kind((u8)s) == want);
	}
}

TEST_CASE("aeth: NAK codes as they are on the wire")
{
	CHECK(NAK_PSN_SEQ == 0x60);
	CHECK(NAK_INVALID_REQ == 0x61);
	CHECK(NAK_REM_ACCESS == 0x62);
	CHECK(NAK_REM_OP == 0x63);
	CHECK(NAK_INVALID_RD_REQ == 0x64);
}

TEST_CASE("aeth: RNR delays")
{
	/* microseconds, from the published table */
	static const u32 usec[32] = {
		655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960,
		1280, 1920, 2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720,
		40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520
	};

	for (int code = 0; code < 32; code++) {
		CAPTURE(code);
		CHECK(rnr_timer_usec((u8)code) == usec[code]);
		CHECK(rnr_timer_usec((u8)(AETH_RNR | code)) == usec[code]);
	}
}

TEST_CASE("aeth: credits of each code")
{
	static const u32 count[32] = {
		0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256,
		384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
		16384, 24576, 32768, CREDIT_UNLIMITED
	};

	for (int code = 0; code < 32; code++) {
		CAPTURE(code);
		CHECK(credit_count((u8)code) == count[code]);
		CHECK(credit_code(count[code]) == code);
		CHECK(credit_count((u8)(0xe0 | code)) == count[code]);
	}
}

TEST_CASE("aeth: an encoded credit never promises more than there is")
{
	for (u32 n = 0; n < 70000; n++) {
		u8 code = credit_code(n);

		if (credit_count(code) > n || code > 30)
			FAIL("too much for ", n);
		/* nor less than it could */
		if (code < 30 && credit_count(code + 1) <= n)
			FAIL("too little for ", n);
	}
	CHECK(credit_code(0xfffffffe) == 30);
	CHECK(credit_code(CREDIT_UNLIMITED) == AETH_ACK_UNLIMITED);
}

TEST_CASE("aeth: ACK timeout is 4.096 us times a power of two, 0 is never")
{
	CHECK(ack_timeout_nsec(0) == 0);
	CHECK(ack_timeout_nsec(1) == 8192);
	CHECK(ack_timeout_nsec(14) == 67108864);
	CHECK(ack_timeout_nsec(31) == 8796093022208ull);
	for (u8 t = 2; t < 32; t++)
		CHECK(ack_timeout_nsec(t) == 2 * ack_timeout_nsec(t - 1));
	CHECK(ack_timeout_nsec(32) == 0);
	CHECK(ack_timeout_nsec(32 + 14) == ack_timeout_nsec(14));
}
