// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets that have come too early: kept until the hole before them is filled.
 *
 * A slot for each PSN up to RXE_HOLD_MAX ahead, which is as much as a window may
 * be on a long path; RXE_HOLD_FEW of them until there is more.  It holds a
 * reference to the skb and the place of the packet in it, so that a burst is kept
 * once, whatever part of it is early.  Bounded in packets and bytes: what does not
 * fit is dropped, and has to be sent again.
 */
#include <linux/slab.h>

#include "rxe.h"

struct rxe_held {
	struct rxe_rx_iter	at;
	u32			psn;
	u32			bytes;
};

static struct rxe_held *held_slot(const struct rxe_reorder *ro, u32 psn)
{
	return &ro->slots[psn & (ro->size - 1)];
}

static bool held_here(const struct rxe_reorder *ro, u32 psn)
{
	const struct rxe_held *held = held_slot(ro, psn);

	return held->at.skb && held->psn == psn;
}

static void held_clear(struct rxe_reorder *ro, struct rxe_held *held)
{
	held->at.skb = NULL;
	ro->bytes -= held->bytes;
	ro->count--;
}

/* Memory that keeping the packet costs: that of its skb, if it is the first. */
static u32 held_cost(const struct rxe_reorder *ro, u32 psn, const struct sk_buff *skb)
{
	return held_slot(ro, psn_add(psn, PSN_MASK))->at.skb == skb ? 0 : skb->truesize;
}

/* Whether there is a slot for a packet so far ahead. */
static bool reorder_reaches(struct rxe_reorder *ro, u32 ahead)
{
	u32 size = ahead < RXE_HOLD_FEW ? RXE_HOLD_FEW : RXE_HOLD_MAX;
	struct rxe_held *slots;
	u32 i;

	if (likely(ahead < ro->size))
		return true;
	if (ahead >= RXE_HOLD_MAX)
		return false;
	slots = kcalloc(size, sizeof(*slots), GFP_ATOMIC | __GFP_NOWARN);
	if (!slots)
		return false;
	for (i = 0; i < ro->size; i++)
		if (ro->slots[i].at.skb)
			slots[ro->slots[i].psn & (size - 1)] = ro->slots[i];
	kfree(ro->slots);
	ro->slots = slots;
	ro->size = size;
	return true;
}

/**
 * rxe_reorder_add - keep a packet that is too early
 * @ro: of one side of a QP
 * @first: PSN of the first missing packet
 * @psn: of the packet
 * @at: the walk through its skb, as it was before the packet
 *
 * Context: the task of that side.
 * Return: true if it is kept; false if it is here already, or there is no room.
 */
bool rxe_reorder_add(struct rxe_reorder *ro, u32 first, u32 psn,
		     const struct rxe_rx_iter *at)
{
	struct rxe_held *held;
	u32 cost;

	if (ro->last != at->skb)
		ro->later++;
	ro->last = at->skb;
	if (psn_diff(psn, first) <= 0 || !reorder_reaches(ro, psn_diff(psn, first)))
		return false;
	held = held_slot(ro, psn);
	cost = held_cost(ro, psn, at->skb);
	if (held->at.skb || ro->bytes + cost > RXE_HOLD_BYTES)
		return false;
	held->at = *at;
	held->psn = psn;
	held->bytes = cost;
	ro->bytes += cost;
	ro->count++;
	/* it has arrived; a sender on this host may go on */
	skb_orphan(at->skb);
	skb_get(at->skb);
	return true;
}

/**
 * rxe_reorder_take - the packet with a PSN, if it is here
 * @ro: of one side of a QP
 * @psn: expected now
 * @at: set to the packet; the caller gets the reference to its skb
 *
 * Context: the task of that side.
 * Return: false if it is not here.
 */
bool rxe_reorder_take(struct rxe_reorder *ro, u32 psn, struct rxe_rx_iter *at)
{
	struct rxe_held *held;

	if (likely(!ro->count))
		return false;
	held = held_slot(ro, psn);
	if (!held->at.skb || held->psn != psn)
		return false;
	*at = held->at;
	held_clear(ro, held);
	return true;
}

/**
 * rxe_reorder_advance - all packets before a PSN have been dealt with
 * @ro: of one side of a QP
 * @from: was expected before
 * @to: is expected now
 *
 * Packets in between are let go; of the next hole, what is left is later.
 *
 * Context: the task of that side.
 */
void rxe_reorder_advance(struct rxe_reorder *ro, u32 from, u32 to)
{
	u32 n = min_t(u32, psn_diff(to, from), ro->size);

	for (; n && ro->count; n--) {
		struct rxe_held *held = held_slot(ro, from);

		if (held->at.skb && psn_before(held->psn, to)) {
			consume_skb(held->at.skb);
			held_clear(ro, held);
		}
		from = psn_add(from, 1);
	}
	ro->later = ro->count;
	ro->last = NULL;
}

/**
 * rxe_reorder_gap - how many packets are missing from a PSN on
 * @ro: of one side of a QP
 * @psn: the first missing one
 * @most: an upper bound, at least 1
 *
 * Context: the task of that side.
 * Return: packets before the next one that is here, at most @most.
 */
u32 rxe_reorder_gap(const struct rxe_reorder *ro, u32 psn, u32 most)
{
	u32 n;

	if (!ro->count)
		return most;
	for (n = 1; n < most; n++)
		if (held_here(ro, psn_add(psn, n)))
			break;
	return n;
}

/**
 * rxe_reorder_span - how far it is to the last missing packet
 * @ro: of one side of a QP
 * @psn: the first missing one
 * @most: an upper bound, at least 1
 *
 * Context: the task of that side.
 * Return: packets from the first missing one to the last, at most @most.
 */
u32 rxe_reorder_span(const struct rxe_reorder *ro, u32 psn, u32 most)
{
	while (ro->count && most > 1 && held_here(ro, psn_add(psn, most - 1)))
		most--;
	return most;
}

/**
 * rxe_reorder_absent - the first packet that is not here
 * @ro: of one side of a QP
 * @psn: look from here
 * @end: to here, exclusive
 *
 * Context: the task of that side.
 * Return: its PSN, or @end.
 */
u32 rxe_reorder_absent(const struct rxe_reorder *ro, u32 psn, u32 end)
{
	while (ro->count && psn_before(psn, end) && held_here(ro, psn))
		psn = psn_add(psn, 1);
	return psn;
}

/**
 * rxe_reorder_overtaken - how far what is missing counts as lost
 * @ro: of one side of a QP
 * @psn: the first missing one
 * @later: datagrams that have to be here behind a missing one; at least 1
 *
 * Context: the task of that side.
 * Return: PSN of a packet in the last but @later - 1 datagram; @psn, if there are fewer.
 */
u32 rxe_reorder_overtaken(const struct rxe_reorder *ro, u32 psn, u32 later)
{
	u32 at = psn_add(psn, ro->size - 1);
	const struct sk_buff *skb = NULL;
	u32 left = ro->count;

	for (; left && at != psn; at = psn_add(at, PSN_MASK)) {
		if (!held_here(ro, at))
			continue;
		left--;
		if (held_slot(ro, at)->at.skb != skb && !--later)
			return at;
		skb = held_slot(ro, at)->at.skb;
	}
	return psn;
}

/**
 * rxe_reorder_purge - let go of all packets
 * @ro: of one side of a QP
 *
 * Context: the task of that side, or nobody runs it.
 */
void rxe_reorder_purge(struct rxe_reorder *ro)
{
	u32 i;

	for (i = 0; ro->count && i < ro->size; i++) {
		if (!ro->slots[i].at.skb)
			continue;
		kfree_skb(ro->slots[i].at.skb);
		held_clear(ro, &ro->slots[i]);
	}
	ro->later = 0;
	ro->last = NULL;
}

/**
 * rxe_reorder_exit - let go of all packets and of the memory
 * @ro: of one side of a QP
 *
 * Context: nobody runs the task of that side.
 */
void rxe_reorder_exit(struct rxe_reorder *ro)
{
	rxe_reorder_purge(ro);
	kfree(ro->slots);
	ro->slots = NULL;
	ro->size = 0;
}
