/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets that have come too early (reorder.c).
 */
#ifndef RXE_REORDER_H
#define RXE_REORDER_H

#include <linux/types.h>

struct rxe_held;
struct rxe_rx_iter;
struct sk_buff;

/**
 * struct rxe_reorder - packets behind a hole
 * @slots: @size of them, once there was a hole
 * @size: a power of two; 0: there was none
 * @count: of slots in use
 * @bytes: memory of their skbs
 * @later: datagrams that have come from behind the hole
 * @last: the latest of them, to tell it from others only
 */
struct rxe_reorder {
	struct rxe_held		*slots;
	u32			size;
	u32			count;
	u32			bytes;
	u32			later;
	const struct sk_buff	*last;
};

bool rxe_reorder_add(struct rxe_reorder *ro, u32 first, u32 psn,
		     const struct rxe_rx_iter *at);
bool rxe_reorder_take(struct rxe_reorder *ro, u32 psn, struct rxe_rx_iter *at);
void rxe_reorder_advance(struct rxe_reorder *ro, u32 from, u32 to);
u32 rxe_reorder_gap(const struct rxe_reorder *ro, u32 psn, u32 most);
u32 rxe_reorder_span(const struct rxe_reorder *ro, u32 psn, u32 most);
u32 rxe_reorder_absent(const struct rxe_reorder *ro, u32 psn, u32 end);
u32 rxe_reorder_overtaken(const struct rxe_reorder *ro, u32 psn, u32 later);
void rxe_reorder_purge(struct rxe_reorder *ro);
void rxe_reorder_exit(struct rxe_reorder *ro);

#endif /* RXE_REORDER_H */
