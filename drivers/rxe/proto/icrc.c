// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which header bits the invariant CRC does not see: those that routers may
 * change on the way are summed as ones (IBTA vol 1, A17).
 */
#include "icrc.h"
#include "wire.h"

#define IPV4_LEN	20	/* RoCE v2 allows no options */
#define IPV6_LEN	40
#define UDP_LEN		8

/* UDP and BTH, which follow either IP header; returns their length */
static unsigned int pseudo_tail(u8 *out, const u8 *udphdr, const u8 *bth)
{
	__builtin_memcpy(out, udphdr, UDP_LEN);
	out[6] = 0xff;		/* checksum */
	out[7] = 0xff;
	__builtin_memcpy(out + UDP_LEN, bth, BTH_LEN);
	out[UDP_LEN + 4] = 0xff;	/* FECN, BECN and reserved bits */
	return UDP_LEN + BTH_LEN;
}

/**
 * icrc_pseudo_ipv4() - masked copy of the headers of an IPv4 packet
 * @out: at least ICRC_PSEUDO_MAX bytes
 * @iphdr: IPv4 header without options, 20 bytes, final in every other field
 *	(the sum covers total length, identification and fragment flags)
 * @udphdr: UDP header, 8 bytes
 * @bth: base transport header, 12 bytes
 *
 * Context: any.
 * Return: length of the copy: 40.
 */
unsigned int icrc_pseudo_ipv4(u8 *out, const u8 *iphdr, const u8 *udphdr,
			      const u8 *bth)
{
	__builtin_memcpy(out, iphdr, IPV4_LEN);
	out[1] = 0xff;		/* type of service */
	out[8] = 0xff;		/* time to live */
	out[10] = 0xff;		/* header checksum */
	out[11] = 0xff;
	return IPV4_LEN + pseudo_tail(out + IPV4_LEN, udphdr, bth);
}

/**
 * icrc_pseudo_ipv6() - masked copy of the headers of an IPv6 packet
 * @out: at least ICRC_PSEUDO_MAX bytes
 * @ip6hdr: IPv6 header, 40 bytes, no extension headers
 * @udphdr: UDP header, 8 bytes
 * @bth: base transport header, 12 bytes
 *
 * Context: any.
 * Return: length of the copy: 60.
 */
unsigned int icrc_pseudo_ipv6(u8 *out, const u8 *ip6hdr, const u8 *udphdr,
			      const u8 *bth)
{
	__builtin_memcpy(out, ip6hdr, IPV6_LEN);
	out[0] |= 0x0f;		/* traffic class, flow label */
	out[1] = 0xff;
	out[2] = 0xff;
	out[3] = 0xff;
	out[7] = 0xff;		/* hop limit */
	return IPV6_LEN + pseudo_tail(out + IPV6_LEN, udphdr, bth);
}

/**
 * icrc_write() - put the ICRC behind the pad
 * @out: ICRC_LEN bytes, any alignment
 * @crc_state: crc32_le() state after the last byte, not inverted
 *
 * The sum is sent inverted, least significant byte first.
 *
 * Context: any.
 */
void icrc_write(u8 *out, u32 crc_state)
{
	u32 sum = ~crc_state;

	out[0] = (u8)sum;
	out[1] = (u8)(sum >> 8);
	out[2] = (u8)(sum >> 16);
	out[3] = (u8)(sum >> 24);
}

/**
 * icrc_match() - is a received ICRC right
 * @in: ICRC_LEN bytes, any alignment
 * @crc_state: crc32_le() state over the packet, not inverted
 *
 * Context: any.
 * Return: true if the packet arrived as it was sent.
 */
bool icrc_match(const u8 *in, u32 crc_state)
{
	u8 want[ICRC_LEN];

	icrc_write(want, crc_state);
	return want[0] == in[0] && want[1] == in[1] &&
	       want[2] == in[2] && want[3] == in[3];
}
