/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Payload that is not copied on its way to a peer in the same namespace (lend.c).
 */
#ifndef RXE_LEND_H
#define RXE_LEND_H

#include <linux/types.h>

#include "mem.h"

struct page;
struct sk_buff;

/* Less is copied sooner than lent. */
#define RXE_LEND_MIN	1024

/* Regions that one burst borrows from, and pieces of them for one packet */
#define RXE_LOAN_KEYS	4
#define RXE_LOAN_PIECES	8

/**
 * struct rxe_loan - memory of regions that packets of a burst use where it is
 * @held: their keys, with a reference, each once
 * @keys: entries of @held
 * @piece: for the packet under construction, without references to the pages
 * @pieces: entries of @piece
 *
 * Whoever deregisters a region waits for it, so a loan ends soon: with the call that
 * sends the burst.
 */
struct rxe_loan {
	struct rxe_key		*held[RXE_LOAN_KEYS];
	u32			keys;
	struct rxe_piece {
		struct page	*page;
		u32		offset;
		u32		len;
	} piece[RXE_LOAN_PIECES];
	u32			pieces;
};

/**
 * struct rxe_lent_head - how an skb with lent payload begins, behind the UDP header
 * @bytes: of its packets, as they would be on a wire, each from BTH to ICRC
 * @packets: how many
 *
 * Behind it, in linear memory, a struct rxe_lent and headers for each packet; and then,
 * in fragments, the payload of all, without pads and ICRCs.
 */
struct rxe_lent_head {
	u32	bytes;
	u32	packets;
};

/**
 * struct rxe_lent - a packet of such an skb
 * @hdr_len: bytes of BTH and extended headers, which follow
 * @payload_len: bytes of payload
 */
struct rxe_lent {
	u16	hdr_len;
	u16	payload_len;
};

int rxe_loan_take(struct rxe_loan *loan, const struct rxe_span *span, u32 len);
void rxe_loan_end(struct rxe_loan *loan);
bool rxe_lent_fits(const struct sk_buff *skb, const struct rxe_loan *loan);
void rxe_lent_append(struct sk_buff *skb, struct rxe_loan *loan);
bool rxe_lent_own(struct sk_buff *skb);

#endif /* RXE_LEND_H */
