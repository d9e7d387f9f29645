// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Serial arithmetic of PSNs, above all where the 24 bits wrap. */
#include "proto.hpp"

TEST_CASE("psn: addition wraps at 24 bits")
{
	CHECK(psn_add(0, 0) == 0);
	CHECK(psn_add(0xffffff, 1) == 0);
	CHECK(psn_add(0xfffffe, 5) == 3);
	CHECK(psn_add(0, (u32)-1) == 0xffffff);
	CHECK(psn_add(2, (u32)-5) == 0xfffffd);
	CHECK(psn_add(0xffffff, 0x800000) == 0x7fffff);
}

TEST_CASE("psn: difference is signed and serial")
{
	CHECK(psn_diff(5, 5) == 0);
	CHECK(psn_diff(6, 5) == 1);
	CHECK(psn_diff(5, 6) == -1);
	CHECK(psn_diff(0, 0xffffff) == 1);
	CHECK(psn_diff(0xffffff, 0) == -1);
	CHECK(psn_diff(0x7fffff, 0) == 0x7fffff);
	CHECK(psn_diff(0x800000, 0) == -0x800000);
	CHECK(psn_diff(0, 0x800000) == -0x800000);
	CHECK(psn_diff(0x800001, 0) == -0x7fffff);
	/* bits above 24 do not count */
	CHECK(psn_diff(0xaa000006, 0x55000005) == 1);
}

TEST_CASE("psn: difference undoes addition, from everywhere")
{
	static const u32 starts[] = { 0, 1, 0x7fffff, 0x800000, 0xfffffe, 0xffffff };
	static const s32 steps[] = { 0, 1, 2, 255, 0x10000, 0x7fffff, -1, -2, -0x7fffff, -0x800000 };

	for (u32 start : starts)
		for (s32 step : steps) {
			CAPTURE(start);
			CAPTURE(step);
			CHECK(psn_diff(psn_add(start, (u32)step), start) == step);
			CHECK(psn_before(psn_add(start, (u32)step), start) == (step < 0));
			CHECK(psn_after(psn_add(start, (u32)step), start) == (step > 0));
		}
}

TEST_CASE("psn: packets of a message")
{
	for (u32 pmtu : all_pmtus) {
		CAPTURE(pmtu);
		CHECK(psn_packets(0, pmtu) == 1);
		CHECK(psn_packets(1, pmtu) == 1);
		CHECK(psn_packets(3, pmtu) == 1);
		CHECK(psn_packets(pmtu - 1, pmtu) == 1);
		CHECK(psn_packets(pmtu, pmtu) == 1);
		CHECK(psn_packets(pmtu + 1, pmtu) == 2);
		CHECK(psn_packets(2 * pmtu, pmtu) == 2);
		CHECK(psn_packets(65536 + 1, pmtu) == 65536 / pmtu + 1);
		CHECK(psn_packets(8 << 20, pmtu) == (8u << 20) / pmtu);
		CHECK(psn_packets(0x80000000, pmtu) == 0x80000000 / pmtu);
		CHECK(psn_packets(0xffffffff, pmtu) == (u32)(0x100000000ull / pmtu));
	}
}
