// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cutting: a burst in one skb -> packets.
 *
 * The stack calls this where a burst (burst.c) cannot go on whole: before a
 * device without tunnel offloads, a qdisc that wants packets, IPsec, a fragment.
 * Each packet gets the headers of the burst, and IP and UDP correct their lengths
 * and the identification afterwards.  The ICRC covers those fields, so it is made
 * here from what they will be.
 *
 * The kernel cuts into packets of one length, with a shorter one at the end.  A burst may
 * have others (burst.c): it is taken apart into runs of which that is true.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/protocol.h>

#include "net.h"

/**
 * rxe_burst_first - how long the first packet of a burst without ICRCs is
 * @skb: the burst, data at or before the first BTH
 *
 * The last one says so in the place of its ICRC.
 *
 * Context: any.
 * Return: bytes from BTH to ICRC; 0: it is no burst.
 */
u32 rxe_burst_first(const struct sk_buff *skb)
{
	u32 len;

	if (skb->len < BTH_LEN + ICRC_LEN ||
	    skb_copy_bits(skb, skb->len - ICRC_LEN, &len, sizeof(len)) ||
	    len < BTH_LEN + ICRC_LEN || len > skb->len)
		return 0;
	return len;
}

/*
 * Puts the ICRC where the packet has room for it. Pages are not written to: others may have
 * them, and give them other headers, or are still to read there how long the next packet is.
 * A head of one's own says nothing about that (pskb_copy(), pskb_expand_head()).
 */
static int segment_end(struct sk_buff *seg, const u8 *icrc)
{
	u32 summed = seg->len - ICRC_LEN;
	struct page *page;
	u8 *own;

	if (!skb_is_nonlinear(seg))
		return skb_store_bits(seg, summed, icrc, ICRC_LEN);
	if (pskb_trim(seg, summed))
		return -ENOMEM;
	if (skb_shinfo(seg)->nr_frags == MAX_SKB_FRAGS)
		return -ENOMEM;
	own = netdev_alloc_frag(ICRC_LEN);
	if (!own)
		return -ENOMEM;
	memcpy(own, icrc, ICRC_LEN);
	page = virt_to_head_page(own);
	/* The last packet's truesize is what a socket was charged for the burst: left as it is. */
	skb_fill_page_desc(seg, skb_shinfo(seg)->nr_frags, page, own - (u8 *)page_address(page),
			   ICRC_LEN);
	seg->len += ICRC_LEN;
	seg->data_len += ICRC_LEN;
	return 0;
}

/* Makes the ICRC of the @index-th packet; its headers stand before its data. */
static int segment_sum(struct sk_buff *seg, bool ipv4, u32 index)
{
	u32 ip_len = ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	u32 hdr_len = ip_len + sizeof(struct udphdr);
	u8 hdr[sizeof(struct ipv6hdr) + sizeof(struct udphdr)];
	struct udphdr *udp = (struct udphdr *)(hdr + ip_len);
	u32 summed = seg->len - ICRC_LEN;
	u8 bth[BTH_LEN];
	u8 icrc[ICRC_LEN];
	u32 crc;

	if (skb_headroom(seg) < hdr_len || skb_copy_bits(seg, 0, bth, BTH_LEN))
		return -EINVAL;
	memcpy(hdr, seg->data - hdr_len, hdr_len);
	udp->len = htons(sizeof(*udp) + seg->len);
	if (ipv4) {
		struct iphdr *ip = (struct iphdr *)hdr;

		ip->tot_len = htons(hdr_len + seg->len);
		ip->id = htons(ntohs(ip->id) + index);
	} else {
		((struct ipv6hdr *)hdr)->payload_len = udp->len;
	}
	crc = rxe_icrc_sum(hdr, ipv4, bth, NULL, 0);
	crc = rxe_mem_sum_skb(seg, BTH_LEN, summed - BTH_LEN, crc);
	icrc_write(icrc, crc);
	return segment_end(seg, icrc);
}

/*
 * Bytes of packets from @offset on, the first of @size bytes, that can be cut at once; @next:
 * of the packet behind them, 0 if there is none. 0: it is no burst.
 */
static u32 run_length(const struct sk_buff *skb, u32 offset, u32 size, u32 *next)
{
	u32 start = offset;
	u32 len = size;

	for (;;) {
		if (len < BTH_LEN + ICRC_LEN || len > skb->len - offset)
			return 0;
		offset += len;
		*next = 0;
		if (offset < skb->len && skb_copy_bits(skb, offset - ICRC_LEN, next, sizeof(*next)))
			return 0;
		/* what is shorter is the last of a run, and nothing longer is in it */
		if (offset == skb->len || len < size || *next > size)
			return offset - start;
		len = *next;
	}
}

/* Gives @part bytes of the fragments of @skb, which it has a reference to then. */
static void run_share(struct sk_buff *part, const struct sk_buff *skb, u32 offset, u32 len)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	int i, to = 0;

	for (i = 0; len && i < info->nr_frags; i++) {
		struct page *page = skb_frag_page(&info->frags[i]);
		u32 size = skb_frag_size(&info->frags[i]);
		u32 at, n;

		if (offset >= size) {
			offset -= size;
			continue;
		}
		at = (u8 *)skb_frag_address(&info->frags[i]) - (u8 *)page_address(page) + offset;
		n = min(size - offset, len);
		get_page(page);
		skb_fill_page_desc(part, to++, page, at, n);
		part->len += n;
		part->data_len += n;
		part->truesize += n;
		len -= n;
		offset = 0;
	}
}

/* An skb with the headers of @bare and @len bytes of @skb from @offset on */
static struct sk_buff *run_part(const struct sk_buff *bare, const struct sk_buff *skb,
				u32 offset, u32 len)
{
	u32 head = skb_headlen(skb);
	u32 linear = offset < head ? min(len, head - offset) : 0;
	struct sk_buff *part = skb_copy_expand(bare, skb_headroom(bare), linear, GFP_ATOMIC);

	if (!part)
		return NULL;
	if (unlikely(linear) && skb_copy_bits(skb, offset, skb_put(part, linear), linear)) {
		kfree_skb(part);
		return NULL;
	}
	if (linear < len)
		run_share(part, skb, offset + linear - head, len - linear);
	return part;
}

/* Cuts one run of a burst: its packets, NULL without memory, or an error pointer. */
static struct sk_buff *run_cut(const struct sk_buff *bare, const struct sk_buff *skb,
			       u32 offset, u32 len, u32 size, netdev_features_t features)
{
	struct sk_buff *part = run_part(bare, skb, offset, len);
	struct sk_buff *segs;

	if (!part)
		return NULL;
	skb_shinfo(part)->gso_size = size;
	segs = skb_segment(part, features);
	consume_skb(part);
	return segs;
}

/* Cuts a burst whose packets have many lengths; each says the next one's where its sum belongs. */
static struct sk_buff *runs_cut(struct sk_buff *skb, netdev_features_t features)
{
	u32 size = rxe_burst_first(skb);
	struct sk_buff *all = NULL, *segs;
	struct sk_buff *bare;
	u32 offset, next, len;

	len = run_length(skb, 0, size, &next);
	if (len == skb->len)
		return skb_segment(skb, features);
	bare = pskb_copy(skb, GFP_ATOMIC);
	if (!bare || pskb_trim(bare, 0))
		goto fail;
	/* not copied by that: the headers, which stand before the data here */
	memcpy(bare->head, skb->head, skb_headroom(skb));
	for (offset = 0; offset < skb->len; offset += len, size = next) {
		len = run_length(skb, offset, size, &next);
		segs = len ? run_cut(bare, skb, offset, len, size, features) : NULL;
		if (IS_ERR_OR_NULL(segs))
			goto fail;
		if (!all) {
			all = segs;
			continue;
		}
		/* the first one knows the last one */
		all->prev->next = segs;
		all->prev = segs->prev;
	}
	consume_skb(bare);
	return all;
fail:
	kfree_skb_list(all);
	kfree_skb(bare);
	return ERR_PTR(-EINVAL);
}

static struct sk_buff *segment(struct sk_buff *skb, netdev_features_t features,
			       bool ipv4, bool sum)
{
	netdev_features_t can = skb->dev->features & (NETIF_F_SG | NETIF_F_HIGHDMA);
	struct sk_buff *segs, *seg;
	u32 index = 0;

	if (skb_shinfo(skb)->gso_size < BTH_LEN + ICRC_LEN)
		return ERR_PTR(-EINVAL);
	/* nobody makes a checksum: UDP's is zero */
	features = (features & ~NETIF_F_GSO_MASK) | can | NETIF_F_HW_CSUM;
	segs = sum ? runs_cut(skb, features) : skb_segment(skb, features);
	if (IS_ERR_OR_NULL(segs))
		return segs;
	for (seg = segs; seg; seg = seg->next) {
		seg->ip_summed = CHECKSUM_NONE;
		if (sum && segment_sum(seg, ipv4, index++)) {
			kfree_skb_list(segs);
			return ERR_PTR(-EINVAL);
		}
	}
	rxe_inflight_share(skb, segs);
	return segs;
}

static struct sk_buff *segment_sum_ipv4(struct sk_buff *skb, netdev_features_t features)
{
	return segment(skb, features, true, true);
}

static struct sk_buff *segment_sum_ipv6(struct sk_buff *skb, netdev_features_t features)
{
	return segment(skb, features, false, true);
}

static struct sk_buff *segment_ready(struct sk_buff *skb, netdev_features_t features)
{
	return segment(skb, features, true, false);
}

static const struct net_offload offload_sum_ipv4 = {
	.callbacks = { .gso_segment = segment_sum_ipv4 },
};

static const struct net_offload offload_sum_ipv6 = {
	.callbacks = { .gso_segment = segment_sum_ipv6 },
};

static const struct net_offload offload_ready = {
	.callbacks = { .gso_segment = segment_ready },
};

static const struct {
	const struct net_offload	*offload;
	u8				protocol;
	bool				ipv4;
} segmenters[] = {
	{ &offload_sum_ipv4,	RXE_BURST_SUM,		true },
	{ &offload_ready,	RXE_BURST_READY,	true },
	{ &offload_sum_ipv6,	RXE_BURST_SUM,		false },
	{ &offload_ready,	RXE_BURST_READY,	false },
};

static void segment_remove(int count)
{
	while (count--) {
		if (segmenters[count].ipv4)
			inet_del_offload(segmenters[count].offload, segmenters[count].protocol);
		else
			inet6_del_offload(segmenters[count].offload, segmenters[count].protocol);
	}
}

/**
 * rxe_segment_init - take part in segmentation
 *
 * Context: module init.
 * Return: 0, or -EBUSY if somebody else owns one of the protocol numbers.
 */
int rxe_segment_init(void)
{
	int err;
	int i;

	for (i = 0; i < ARRAY_SIZE(segmenters); i++) {
		if (segmenters[i].ipv4)
			err = inet_add_offload(segmenters[i].offload, segmenters[i].protocol);
		else
			err = inet6_add_offload(segmenters[i].offload, segmenters[i].protocol);
		if (err) {
			pr_err("rxe: protocol number %u is in use\n", segmenters[i].protocol);
			segment_remove(i);
			return -EBUSY;
		}
	}
	return 0;
}

/**
 * rxe_segment_exit - the opposite
 *
 * A copy of a burst that still waits somewhere cannot be cut then, and is lost.
 *
 * Context: module exit; all charged skbs are gone.
 */
void rxe_segment_exit(void)
{
	segment_remove(ARRAY_SIZE(segmenters));
}
