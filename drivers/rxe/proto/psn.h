/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Arithmetic of packet sequence numbers: 24 bits, serial (IBTA vol 1, 9.7.2).
 * Two PSNs can be compared as long as they are less than 2^23 apart.
 */
#ifndef RXE_PROTO_PSN_H
#define RXE_PROTO_PSN_H

#include "types.h"
#include "wire.h"

/**
 * psn_add() - the PSN a number of packets further
 * @a: PSN
 * @n: packets, may be a negative number cast to u32
 */
static inline u32 psn_add(u32 a, u32 n)
{
	return (a + n) & PSN_MASK;
}

/**
 * psn_diff() - how far one PSN is ahead of another
 * @a: PSN
 * @b: PSN
 *
 * Return: a - b in packets, -2^23 to 2^23 - 1; bits above 24 are ignored.
 */
static inline s32 psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

/**
 * psn_before() - is one PSN older than another
 * @a: PSN
 * @b: PSN
 */
static inline bool psn_before(u32 a, u32 b)
{
	return psn_diff(a, b) < 0;
}

/**
 * psn_after() - is one PSN newer than another
 * @a: PSN
 * @b: PSN
 */
static inline bool psn_after(u32 a, u32 b)
{
	return psn_diff(a, b) > 0;
}

/**
 * psn_packets() - PSNs that a message, or the response to a READ, takes
 * @len: message length in bytes
 * @pmtu: path MTU in bytes
 *
 * Return: at least 1, because an empty message is one packet too (9.7.2).
 */
static inline u32 psn_packets(u32 len, u32 pmtu)
{
	return len ? (len - 1) / pmtu + 1 : 1;
}

#endif /* RXE_PROTO_PSN_H */
