// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Values encoded in AETH syndromes and QP attributes: kinds, RNR delays,
 * credits, ACK timeouts.
 */
#include "aeth.h"

/* 9.7.5.2: the delay of each code, in units of 10 microseconds */
static const u16 rnr_delay[32] = {
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
	16384, 24576, 32768, 49152,
};

/* Code 0 is the longest delay of all */
#define RNR_DELAY_0	65536

/* 9.7.5.2: credits of each code; 31 is "no limit" and not in the table */
static const u16 credits[31] = {
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
	16384, 24576, 32768,
};

/**
 * aeth_kind() - sort a syndrome by its upper bits (9.7.5.2)
 * @syndrome: first byte of an AETH
 *
 * Context: any.
 * Return: AETH_KIND_RESERVED for codes that no responder may send, those with
 * bit 7 set among them.
 */
enum aeth_kind aeth_kind(u8 syndrome)
{
	switch (syndrome & AETH_KIND_MASK) {
	case AETH_ACK:
		return AETH_KIND_ACK;
	case AETH_RNR:
		return AETH_KIND_RNR;
	case AETH_NAK:
		return AETH_KIND_NAK;
	default:
		return AETH_KIND_RESERVED;
	}
}

/**
 * rnr_timer_usec() - delay that an RNR NAK asks for (9.7.5.2)
 * @code: five bits; more are ignored, so that a whole syndrome may be given
 *
 * Context: any.
 * Return: microseconds to wait at least.
 */
u32 rnr_timer_usec(u8 code)
{
	u32 delay = rnr_delay[code & AETH_VALUE_MASK];

	return (delay ? delay : RNR_DELAY_0) * 10;
}

/**
 * credit_count() - receive WQEs that an ACK reports (9.7.5.2)
 * @code: five bits; more are ignored, so that a whole syndrome may be given
 *
 * Context: any.
 * Return: number of messages; CREDIT_UNLIMITED if the responder gives no limit.
 */
u32 credit_count(u8 code)
{
	code &= AETH_VALUE_MASK;
	return code == AETH_ACK_UNLIMITED ? CREDIT_UNLIMITED : credits[code];
}

/**
 * credit_code() - encode the number of receive WQEs for an ACK (9.7.5.2)
 * @count: receive WQEs at hand, or CREDIT_UNLIMITED
 *
 * Context: any.
 * Return: five bits that never promise more than @count.
 */
u8 credit_code(u32 count)
{
	u8 code = AETH_ACK_UNLIMITED;

	if (count == CREDIT_UNLIMITED)
		return code;
	do
		code--;
	while (credits[code] > count);
	return code;
}

/**
 * ack_timeout_nsec() - the QP attribute "timeout" as time (9.7.6)
 * @timeout: 4.096 us * 2^timeout; five bits
 *
 * Context: any.
 * Return: nanoseconds; 0 if the attribute says to wait for ever.
 */
u64 ack_timeout_nsec(u8 timeout)
{
	timeout &= 0x1f;
	return timeout ? 4096ull << timeout : 0;
}
