/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What an AETH syndrome says: acknowledgment with credits, receiver not ready
 * with a delay, or a NAK with its reason (IBTA vol 1, 9.7.5.2); and the meaning
 * of the encoded delays, credits and timeouts.
 */
#ifndef RXE_PROTO_AETH_H
#define RXE_PROTO_AETH_H

#include "types.h"

/* Syndrome: bits 6-5 are the kind, bits 4-0 its value; bit 7 is 0 */
#define AETH_KIND_MASK		0xe0
#define AETH_VALUE_MASK		0x1f

#define AETH_ACK		0x00	/* value: encoded credits */
#define AETH_ACK_UNLIMITED	0x1f	/* ACK that limits nothing */
#define AETH_RNR		0x20	/* value: encoded RNR timer */
#define AETH_NAK		0x60	/* value: reason */

#define NAK_PSN_SEQ		0x60
#define NAK_INVALID_REQ		0x61
#define NAK_REM_ACCESS		0x62
#define NAK_REM_OP		0x63
#define NAK_INVALID_RD_REQ	0x64	/* RD only, never sent by us */

/* What credit_count() says for AETH_ACK_UNLIMITED */
#define CREDIT_UNLIMITED	0xffffffff

enum aeth_kind {
	AETH_KIND_ACK,
	AETH_KIND_RNR,
	AETH_KIND_NAK,
	AETH_KIND_RESERVED
};

enum aeth_kind aeth_kind(u8 syndrome);
u32 rnr_timer_usec(u8 code);
u32 credit_count(u8 code);
u8 credit_code(u32 count);
u64 ack_timeout_nsec(u8 timeout);

#endif /* RXE_PROTO_AETH_H */
