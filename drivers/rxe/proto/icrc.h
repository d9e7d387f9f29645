/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The invariant CRC of a RoCE v2 packet, without the CRC itself: the masked
 * copy of the headers it starts with, and its four bytes on the wire.
 *
 * The sum is CRC-32 (reflected polynomial 0xedb88320) over eight bytes 0xff, the
 * masked IP, UDP and base transport headers, and then every byte as it is: the
 * extended headers, the payload and the pad (IBTA vol 1, 7.8 and A17).
 */
#ifndef RXE_PROTO_ICRC_H
#define RXE_PROTO_ICRC_H

#include "types.h"

/* State of the kernel's crc32_le() that began with ~0 and took eight 0xff bytes */
#define ICRC_SEED	0xdebb20e3
/* Longest masked copy: IPv6, UDP, BTH */
#define ICRC_PSEUDO_MAX	(40 + 8 + 12)

unsigned int icrc_pseudo_ipv4(u8 *out, const u8 *iphdr, const u8 *udphdr,
			      const u8 *bth);
unsigned int icrc_pseudo_ipv6(u8 *out, const u8 *ip6hdr, const u8 *udphdr,
			      const u8 *bth);
void icrc_write(u8 *out, u32 crc_state);
bool icrc_match(const u8 *in, u32 crc_state);

#endif /* RXE_PROTO_ICRC_H */
