// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Payload that is not copied on its way to a peer in the same namespace.
 *
 * Such a packet is handed to the receiver by a call (burst.c, send_direct), and nearly
 * always the receiver has done with it when that call returns. So its payload can be the
 * sender's memory itself, from which the receiver copies to where it belongs: once, and
 * not into a packet first. What must not happen is that anybody reads this memory later:
 * by then the sender's process may have got its completion and written something else,
 * or the region may be gone. Hence:
 *
 *  - the regions are held while the burst is built and sent (struct rxe_loan). A region
 *    that is revoked by a work request cannot be lent: the one who revokes it spins until
 *    nobody holds it, and may be called by us.
 *  - the receiver takes an skb as it is only if it has the receiving task to itself. What the
 *    task has not done with when it leaves (out of order, out of budget, no receive, no
 *    page), and what comes while another CPU is in the task, gets a copy of the payload
 *    in the place of the original (rxe_lent_own).
 */
#include <linux/mm.h>
#include <linux/skbuff.h>

#include "rxe.h"
#include "txmem.h"

static bool loan_holds(const struct rxe_loan *loan, const struct rxe_key *key)
{
	u32 i;

	for (i = 0; i < loan->keys; i++)
		if (loan->held[i] == key)
			return true;
	return false;
}

/**
 * rxe_loan_take - borrow a range for the packet under construction
 * @loan: of its burst
 * @span: the range, checked; the loan takes a reference of its own
 * @len: its bytes
 *
 * Context: a task, bottom halves off.
 * Return: 0, or -EOPNOTSUPP: the range has to be copied.
 */
int rxe_loan_take(struct rxe_loan *loan, const struct rxe_span *span, u32 len)
{
	const struct rxe_mr *mr = span->mr;
	bool held = loan_holds(loan, span->key);
	struct rxe_piece *piece;
	u64 pos;

	if (mr->type != RXE_MR_USER || span->key->revocable ||
	    (!held && loan->keys == RXE_LOAN_KEYS))
		return -EOPNOTSUPP;
	for (pos = span->addr - mr->key.addr + mr->first_offset; len; pos += piece->len) {
		if (loan->pieces == RXE_LOAN_PIECES)
			return -EOPNOTSUPP;
		piece = &loan->piece[loan->pieces++];
		piece->page = mr->pages[pos >> PAGE_SHIFT];
		piece->offset = offset_in_page(pos);
		piece->len = min_t(u32, len, PAGE_SIZE - piece->offset);
		len -= piece->len;
	}
	if (!held) {
		refcount_inc(&span->key->id->refs);
		loan->held[loan->keys++] = span->key;
	}
	return 0;
}

/**
 * rxe_loan_end - give all regions back
 * @loan: of a burst that has been sent
 *
 * Context: a task, bottom halves off.
 */
void rxe_loan_end(struct rxe_loan *loan)
{
	while (loan->keys)
		rxe_id_put(loan->held[--loan->keys]->id);
}

/**
 * rxe_lent_fits - whether the payload of another packet fits into an skb
 * @skb: with lent payload
 * @loan: with the pieces of the packet
 *
 * Context: any.
 */
bool rxe_lent_fits(const struct sk_buff *skb, const struct rxe_loan *loan)
{
	return skb_shinfo(skb)->nr_frags + loan->pieces <= MAX_SKB_FRAGS;
}

/**
 * rxe_lent_append - add the payload of a packet to an skb
 * @skb: it fits
 * @loan: with the pieces of the packet; none afterwards
 *
 * Context: any.
 */
void rxe_lent_append(struct sk_buff *skb, struct rxe_loan *loan)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	u32 i;

	for (i = 0; i < loan->pieces; i++) {
		const struct rxe_piece *piece = &loan->piece[i];

		if (skb_can_coalesce(skb, info->nr_frags, piece->page, piece->offset)) {
			skb_frag_size_add(&info->frags[info->nr_frags - 1], piece->len);
		} else {
			get_page(piece->page);
			skb_fill_page_desc(skb, info->nr_frags, piece->page, piece->offset,
					   piece->len);
		}
		skb->len += piece->len;
		skb->data_len += piece->len;
		skb->truesize += piece->len;
	}
	loan->pieces = 0;
}

/* Without its fragments from one on */
static void lent_truncate(struct sk_buff *skb, u32 from)
{
	struct skb_shared_info *info = skb_shinfo(skb);

	while (info->nr_frags > from) {
		u32 len = skb_frag_size(&info->frags[--info->nr_frags]);

		put_page(skb_frag_page(&info->frags[info->nr_frags]));
		skb->len -= len;
		skb->data_len -= len;
	}
}

/**
 * rxe_lent_own - put a copy in the place of lent payload
 * @skb: nobody else reads it now
 *
 * Context: bottom halves off.
 * Return: false: there is no memory, and payload is missing at the end.
 */
bool rxe_lent_own(struct sk_buff *skb)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	u32 count = info->nr_frags;
	u32 at = skb_headlen(skb);
	u32 i;

	for (i = 0; i < count; i++) {
		struct page *lent = skb_frag_page(&info->frags[i]);
		u32 len = skb_frag_size(&info->frags[i]);
		struct page *page;
		u32 one = 1;
		u32 offset;
		u8 *to;

		to = rxe_txmem_bytes(len, &one, &page, &offset);
		if (unlikely(!to))
			break;
		skb_copy_bits(skb, at, to, len);
		at += len;
		skb_fill_page_desc(skb, i, page, offset, len);
		info->nr_frags = count;		/* that has ended the list */
		put_page(lent);
	}
	lent_truncate(skb, i);
	return i == count;
}
