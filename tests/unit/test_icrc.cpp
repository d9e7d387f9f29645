// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ICRC against packets that another implementation summed (icrc_vectors.h),
 * with a CRC-32 of our own in place of the kernel's.
 */
#include <cstring>
#include <vector>
#include "proto.hpp"
#include "icrc_vectors.h"

typedef std::vector<u8> bytes;

/* What the kernel calls crc32_le(): no inversion at either end */
static u32 crc32_le(u32 crc, const u8 *p, size_t len)
{
	while (len--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

static unsigned int ip_len(const bytes &packet)
{
	return packet[0] >> 4 == 4 ? 20 : 40;
}

/* State of the sum over everything before the ICRC, as the driver computes it */
static u32 state_of(const bytes &packet)
{
	unsigned int udp = ip_len(packet), bth = udp + 8, rest = bth + BTH_LEN;
	u8 pseudo[ICRC_PSEUDO_MAX];
	unsigned int n;
	u32 crc;

	if (udp == 20)
		n = icrc_pseudo_ipv4(pseudo, &packet[0], &packet[udp], &packet[bth]);
	else
		n = icrc_pseudo_ipv6(pseudo, &packet[0], &packet[udp], &packet[bth]);
	CHECK(n == rest);
	crc = crc32_le(ICRC_SEED, pseudo, n);
	return crc32_le(crc, packet.data() + rest, packet.size() - ICRC_LEN - rest);
}

static bool good(const bytes &packet)
{
	return icrc_match(packet.data() + packet.size() - ICRC_LEN, state_of(packet));
}

/* Bits that may change on the way, by offset from the IP header */
static bool variant(const bytes &packet, size_t byte, u8 bit)
{
	size_t udp = ip_len(packet);

	if (byte == udp + 6 || byte == udp + 7 || byte == udp + 8 + 4)
		return true;
	if (udp == 20)
		return byte == 1 || byte == 8 || byte == 10 || byte == 11;
	return (byte == 0 && bit & 0x0f) || (byte >= 1 && byte <= 3) || byte == 7;
}

TEST_CASE("icrc: the seed is the sum over eight bytes 0xff")
{
	static const u8 ones[8] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	CHECK(crc32_le(0xffffffff, ones, 8) == ICRC_SEED);
}

TEST_CASE("icrc: every vector matches")
{
	for (const auto &v : icrc_vectors) {
		bytes packet(v.bytes, v.bytes + v.len);
		u8 sum[ICRC_LEN];

		CAPTURE(v.name);
		CHECK(good(packet));
		icrc_write(sum, state_of(packet));
		CHECK(!memcmp(sum, &packet[v.len - ICRC_LEN], ICRC_LEN));
	}
}

TEST_CASE("icrc: a changed bit is seen, unless routers may change it")
{
	for (const auto &v : icrc_vectors) {
		bytes packet(v.bytes, v.bytes + v.len);

		CAPTURE(v.name);
		if (v.len > 200)
			continue;	/* the same headers, only slower */
		for (size_t byte = 0; byte < packet.size(); byte++)
			for (unsigned int bit = 1; bit < 0x100; bit <<= 1) {
				bool want = variant(packet, byte, (u8)bit);

				/* the first nibble says which family this is */
				if (byte == 0 && bit & 0xf0)
					continue;
				CAPTURE(byte);
				CAPTURE(bit);
				packet[byte] ^= bit;
				CHECK(good(packet) == want);
				packet[byte] ^= bit;
			}
	}
}

TEST_CASE("icrc: pad bytes are covered")
{
	for (const auto &v : icrc_vectors) {
		bytes packet(v.bytes, v.bytes + v.len);
		u8 pad = bth_pad(&packet[ip_len(packet) + 8]);

		for (u8 i = 0; i < pad; i++) {
			size_t at = v.len - ICRC_LEN - 1 - i;

			CHECK(packet[at] == 0);
			packet[at] = 1;
			CHECK(!good(packet));
			packet[at] = 0;
		}
	}
}

TEST_CASE("icrc: the pseudo header leaves its sources alone")
{
	for (const auto &v : icrc_vectors) {
		bytes packet(v.bytes, v.bytes + v.len), before = packet;

		state_of(packet);
		CHECK(packet == before);
	}
}

TEST_CASE("icrc: pseudo IPv4 header, byte for byte")
{
	u8 ip[20], udp[8], bth[BTH_LEN], out[ICRC_PSEUDO_MAX + 1];
	static const u8 ones[] = { 1, 8, 10, 11, 26, 27, 32 };

	for (int i = 0; i < 20; i++)
		ip[i] = (u8)i;
	for (int i = 0; i < 8; i++)
		udp[i] = (u8)(20 + i);
	for (int i = 0; i < BTH_LEN; i++)
		bth[i] = (u8)(28 + i);
	memset(out, 0xee, sizeof(out));
	CHECK(icrc_pseudo_ipv4(out, ip, udp, bth) == 40);
	for (u8 i = 0; i < 40; i++) {
		CAPTURE(i);
		CHECK(out[i] == (memchr(ones, i, sizeof(ones)) ? 0xff : i));
	}
	CHECK(out[40] == 0xee);
}

TEST_CASE("icrc: pseudo IPv6 header, byte for byte")
{
	u8 ip[40], udp[8], bth[BTH_LEN], out[ICRC_PSEUDO_MAX + 1];
	static const u8 ones[] = { 1, 2, 3, 7, 46, 47, 52 };

	for (int i = 0; i < 40; i++)
		ip[i] = (u8)i;
	ip[0] = 0x60;
	for (int i = 0; i < 8; i++)
		udp[i] = (u8)(40 + i);
	for (int i = 0; i < BTH_LEN; i++)
		bth[i] = (u8)(48 + i);
	memset(out, 0xee, sizeof(out));
	CHECK(icrc_pseudo_ipv6(out, ip, udp, bth) == ICRC_PSEUDO_MAX);
	CHECK(out[0] == 0x6f);
	for (u8 i = 1; i < 60; i++) {
		CAPTURE(i);
		CHECK(out[i] == (memchr(ones, i, sizeof(ones)) ? 0xff : i));
	}
	CHECK(out[60] == 0xee);
}

TEST_CASE("icrc: four bytes, inverted, least significant first")
{
	u8 b[ICRC_LEN + 1];

	icrc_write(b + 1, ~0x04030201u);
	CHECK(b[1] == 1);
	CHECK(b[2] == 2);
	CHECK(b[3] == 3);
	CHECK(b[4] == 4);
	CHECK(icrc_match(b + 1, ~0x04030201u));
	for (int i = 1; i <= 4; i++) {
		b[i] ^= 0x80;
		CHECK(!icrc_match(b + 1, ~0x04030201u));
		b[i] ^= 0x80;
	}
}

TEST_CASE("icrc: a WRITE FIRST at PMTU 1024 is a frame of 1098 bytes")
{
	static const unsigned int ethernet = 14, ipv4 = 20, udp = 8;

	CHECK(ethernet + ipv4 + udp + opcode_info(OP_RC_WRITE_FIRST)->hdr_len +
	      1024 + ICRC_LEN == 1098);
	CHECK(ethernet + ipv4 + udp + opcode_info(OP_RC_WRITE_LAST_IMM)->hdr_len +
	      1024 + ICRC_LEN == 1086);
}
