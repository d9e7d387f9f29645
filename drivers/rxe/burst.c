// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Transmit: packets of one flow -> bursts -> the stack.
 *
 * A task builds a burst packet by packet (rxe_burst_add, _close) and hands it
 * over with rxe_burst_send().  Whatever the stack then answers is a loss on the
 * wire and nothing else: recovery is the requester's business.
 *
 * Walking the stack costs more than copying a packet, so packets share an skb as far
 * as the route's device allows:
 *
 *   one packet     [ IP UDP | BTH .. payload .. ICRC ]         linear
 *   several        [ IP UDP ] -> [ BTH .. ICRC | BTH .. ICRC | .. ]   fragments
 *
 * To the stack this is a UDP tunnel with something inside that only segment.c
 * can cut.  Where nobody has to cut it, it arrives as it is.  The receiver is
 * then this module on this host, and the memory was never out of its hands, so
 * the ICRC need not be made, as TCP leaves out a checksum there; when it is cut,
 * it is made.  A packet that travels alone has one, but within a device.
 *
 * The stack knows the length of the longest packet, by which it tells whether all of them
 * pass an MTU or a policer.  Where ICRCs are not made, each packet says in the place of its
 * own how long the next one is, and the last one how long the first is.  Otherwise all are
 * as long as the first one, but for a shorter one at the end.
 *
 * Nothing waits here for a burst to grow: it is what the task has to send now
 * (what a process posts may have waited before, see gather.c).
 *
 * What is addressed to this very namespace goes to the receive side directly: the
 * stack would only carry it to the loopback device and back, a packet at a time.
 * While somebody captures there, it does.  Payload on this way need not be copied into
 * the packet (lend.c); such an skb has the headers of its packets, and then the payload
 * of all of them:
 *
 *   [ IP UDP | lent_head, lent BTH .., lent BTH .., .. ] [ payload | payload | .. ]
 */
#include <linux/crc32.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/moduleparam.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#include "net.h"
#include "trace.h"
#include "txmem.h"

/* Packets in one skb; what the largest may hold at PMTU 1024 */
#define BURST_PACKETS	64
/* Bytes of a frame that carries as much as IP can say, and one more */
#define BURST_BYTES	65536
/* Headers of packets whose payload is lent, in one skb */
#define LENT_HEADERS	1280

/* --- the parameter "icrc" --------------------------------------------------- */

static const char * const icrc_names[] = {
	[RXE_ICRC_LAZY]		= "lazy",
	[RXE_ICRC_ALWAYS]	= "always",
	[RXE_ICRC_OFF]		= "off",
};

static int icrc_mode = RXE_ICRC_LAZY;

static int icrc_set(const char *val, const struct kernel_param *kp)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(icrc_names); i++) {
		if (sysfs_streq(val, icrc_names[i])) {
			WRITE_ONCE(icrc_mode, i);
			return 0;
		}
	}
	return -EINVAL;
}

static int icrc_get(char *buffer, const struct kernel_param *kp)
{
	return sprintf(buffer, "%s\n", icrc_names[READ_ONCE(icrc_mode)]);
}

static const struct kernel_param_ops icrc_ops = {
	.set = icrc_set,
	.get = icrc_get,
};

module_param_cb(icrc, &icrc_ops, NULL, 0644);
MODULE_PARM_DESC(icrc,
		 "ICRC of sent packets: lazy (not while a burst stays whole inside this host), always, off");

static bool shortcut = true;
module_param(shortcut, bool, 0644);
MODULE_PARM_DESC(shortcut,
		 "peers in one namespace pass by the loopback device and firewall rules (default: yes)");

/* --- one packet ------------------------------------------------------------- */

/**
 * rxe_icrc_sum - the sum over the headers that routers may change in part
 * @ip: IP header without options, UDP header behind it
 * @ipv4: which IP
 * @bth: base transport header
 * @more: the first bytes behind the BTH, or NULL
 * @len: how many of those; as many as there are up to RXE_ICRC_MORE, so that
 *	a short packet is summed at once: each call of the library has its price
 *
 * Context: any.
 * Return: crc32_le() state, to be moved on from there.
 */
u32 rxe_icrc_sum(const u8 *ip, bool ipv4, const u8 *bth, const u8 *more, u32 len)
{
	u8 pseudo[ICRC_PSEUDO_MAX + RXE_ICRC_MORE];
	u32 summed;

	if (ipv4)
		summed = icrc_pseudo_ipv4(pseudo, ip, ip + sizeof(struct iphdr), bth);
	else
		summed = icrc_pseudo_ipv6(pseudo, ip, ip + sizeof(struct ipv6hdr), bth);
	memcpy(pseudo + summed, more, len);
	return crc32_le(ICRC_SEED, pseudo, summed + len);
}

/* Fills in what the flow's template leaves open, for @len bytes behind UDP. */
static void headers_finish(const struct rxe_flow *flow, u8 *hdr, u32 len, u16 ident)
{
	struct udphdr *udp = (struct udphdr *)(hdr + flow->hdr_len - sizeof(*udp));

	udp->len = htons(sizeof(*udp) + len);
	if (flow->family == AF_INET) {
		struct iphdr *ip = (struct iphdr *)hdr;

		ip->tot_len = htons(flow->hdr_len + len);
		ip->id = htons(ident);
	} else {
		((struct ipv6hdr *)hdr)->payload_len = udp->len;
	}
}

/* Makes the ICRC of @len bytes at @bth, the last ICRC_LEN of which take it. */
static void packet_sum(const struct rxe_flow *flow, u8 *bth, u32 len, u16 ident)
{
	u32 rest = len - BTH_LEN - ICRC_LEN;
	u32 more = min_t(u32, rest, RXE_ICRC_MORE);
	u8 hdr[sizeof(flow->hdr)];
	u32 crc;

	memcpy(hdr, flow->hdr, flow->hdr_len);
	headers_finish(flow, hdr, len, ident);
	crc = rxe_icrc_sum(hdr, flow->family == AF_INET, bth, bth + BTH_LEN, more);
	if (rest > more)
		crc = crc32_le(crc, bth + BTH_LEN + more, rest - more);
	icrc_write(bth + len - ICRC_LEN, crc);
}

/* --- one skb ---------------------------------------------------------------- */

/* How many netdevs may lie on each other */
#define NETDEV_LAYERS	8

/*
 * Whether there is hardware at the end of a netdev, in the host's tree of devices, or below a
 * VLAN, bond, macvlan or bridge. Those that go meanwhile are freed behind a grace period.
 */
static bool burst_meets_card(struct net_device *dev, unsigned int layers)
{
	struct net_device *lower;
	struct list_head *at;

	if (dev->dev.parent)
		return true;
	if (!layers)
		return false;
	netdev_for_each_lower_dev(dev, lower, at)
		if (burst_meets_card(lower, layers - 1))
			return true;
	return false;
}

/*
 * Bytes of packets that one skb may carry over a route; 0: one packet.  What
 * would be cut at once is better made in pieces, and what wraps packets before a
 * device has seen them (IPsec, tunnels of a route) would take our marks for its
 * own.
 */
static u32 burst_room(const struct rxe_burst *burst, struct net_device *dev)
{
	const struct rxe_flow *flow = burst->flow;
	u32 max = min_t(u32, READ_ONCE(dev->gso_max_size), BURST_BYTES);
	u32 headers = dev->hard_header_len + VLAN_HLEN + flow->hdr_len;

	if (burst->local)
		return BURST_BYTES - headers;
	if (!(dev->features & NETIF_F_GSO) || dev->flags & IFF_LOOPBACK ||
	    flow->dst->lwtstate || flow->dst->header_len || flow->dst->trailer_len)
		return 0;
	/* without this mark a card might take it for a tunnel that it can cut */
	if (!SKB_GSO_SCTP && burst_meets_card(dev, NETDEV_LAYERS))
		return 0;
	return max > headers ? max - headers - 1 : 0;
}

/* Packets without sums may have any length: each says how long the next one is. */
static bool burst_mixes(const struct rxe_burst *burst)
{
	return burst->icrc == RXE_ICRC_LAZY;
}

/* Whether a packet that ends @len bytes behind the last one may be in the open skb, with @more. */
static bool burst_takes(const struct rxe_burst *burst, u32 more, u32 len)
{
	return burst->count + more < burst->max && burst->bytes + len <= burst->room;
}

/*
 * Whether the packet that follows, the last of all, would not fit and have to travel alone, at
 * a high price: with a sum, and a walk through the stack of its own. It goes with this one.
 */
static bool burst_leaves_one(const struct rxe_burst *burst, u32 len)
{
	return burst->after && burst->count > 1 && (burst_mixes(burst) || burst->after <= len) &&
	       !burst_takes(burst, 1, len + burst->after);
}

/* Whether a packet of @len bytes may join the skb that is open. */
static bool burst_joins(const struct rxe_burst *burst, u32 len)
{
	return (burst_mixes(burst) || len <= burst->size) && burst_takes(burst, 0, len) &&
	       skb_shinfo(burst->open)->nr_frags < MAX_SKB_FRAGS &&
	       !burst_leaves_one(burst, len);
}

/* The bytes of the only packet, which are linear, become the first fragment. */
static void burst_unfold(struct rxe_burst *burst)
{
	struct sk_buff *skb = burst->open;
	u32 offset = skb->data + burst->flow->hdr_len - (u8 *)page_address(burst->page);

	get_page(burst->page);
	skb_fill_page_desc(skb, 0, burst->page, offset, burst->size);
	skb->tail -= burst->size;
	skb->data_len = burst->size;
}

/* Takes over the packet's reference to its page; there is none if it stands behind the last. */
static void burst_append(struct rxe_burst *burst, const struct rxe_txpkt *pkt, u32 len)
{
	struct sk_buff *skb = burst->open;
	struct skb_shared_info *info = skb_shinfo(skb);

	if (burst->count == 1)
		burst_unfold(burst);
	if (likely(!pkt->page)) {
		skb_frag_size_add(&info->frags[info->nr_frags - 1], len);
		burst->end += len;
	} else {
		skb_fill_page_desc(skb, info->nr_frags, pkt->page, pkt->offset, len);
		burst->last = pkt->page;
		burst->end = pkt->offset + len;
	}
	skb->len += len;
	skb->data_len += len;
	skb->truesize += len;
	burst->bytes += len;
}

/* The last packet of the open skb has another one behind it, or the first, of @len bytes. */
static void burst_link(const struct rxe_burst *burst, u32 len)
{
	if (burst_mixes(burst))
		memcpy(burst->sum, &len, sizeof(len));
}

/* What describes the packets of the open skb, if it has lent payload */
static struct rxe_lent_head *lent_head(const struct rxe_burst *burst)
{
	return (struct rxe_lent_head *)(burst->open->data + burst->flow->hdr_len);
}

/* An skb with several packets: what the stack and segment.c need to know. */
static void burst_mark(struct rxe_burst *burst, bool summed)
{
	struct skb_shared_info *info = skb_shinfo(burst->open);
	struct sk_buff *skb = burst->open;
	u32 inner = burst->flow->hdr_len;

	headers_finish(burst->flow, skb->data, skb->len - inner, burst->ident);
	burst_link(burst, burst->size);
	info->gso_size = burst->longest;
	info->gso_segs = burst->count;
	info->gso_type = SKB_GSO_UDP_TUNNEL | SKB_GSO_SCTP;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->encapsulation = 1;
	skb_set_inner_ipproto(skb, summed ? RXE_BURST_READY : RXE_BURST_SUM);
	skb_set_inner_mac_header(skb, inner);
	skb_set_inner_network_header(skb, inner);
	skb_set_inner_transport_header(skb, inner);
}

/* An skb with lent payload; no device ever sees it. */
static void burst_mark_lent(struct rxe_burst *burst)
{
	struct skb_shared_info *info = skb_shinfo(burst->open);

	lent_head(burst)->packets = burst->count;
	info->gso_size = burst->size;
	info->gso_segs = burst->count;
	info->gso_type = SKB_GSO_UDP_TUNNEL | SKB_GSO_SCTP;
	skb_set_inner_ipproto(burst->open, RXE_BURST_LENT);
}

/* No more packets for the open skb. */
static void burst_seal(struct rxe_burst *burst)
{
	struct sk_buff *skb = burst->open;
	u8 *bth;

	if (!skb)
		return;
	if (burst->lent) {
		burst_mark_lent(burst);
	} else if (burst->count > 1) {
		burst_mark(burst, burst->icrc != RXE_ICRC_LAZY);
	} else if (burst->icrc == RXE_ICRC_LAZY && !burst->local) {
		bth = skb->data + burst->flow->hdr_len;
		packet_sum(burst->flow, bth, burst->size, burst->ident);
	}
	__skb_queue_tail(&burst->skbs, skb);
	burst->open = NULL;
}

static int burst_new_skb(struct rxe_burst *burst, struct rxe_txpkt *pkt, u32 len)
{
	struct rxe_flow *flow = burst->flow;
	struct sk_buff *skb;

	skb = rxe_txmem_skb(burst->headroom + flow->hdr_len + len, &pkt->page);
	if (unlikely(!skb))
		return -ENOMEM;
	skb->priority = flow->priority;
	skb_reserve(skb, burst->headroom);
	skb_reset_network_header(skb);
	memcpy(skb_put(skb, flow->hdr_len), flow->hdr, flow->hdr_len);
	skb_set_transport_header(skb, flow->hdr_len - sizeof(struct udphdr));
	headers_finish(flow, skb->data, len, flow->ident);
	pkt->skb = skb;
	pkt->hdr = skb_put(skb, len);
	return 0;
}

/* --- bursts ----------------------------------------------------------------- */

/* Whether anybody captures on a netdev, or wants the packets of one protocol. */
static bool burst_watched(struct net_device *dev)
{
	return dev_nit_active(dev) || !list_empty(&dev->ptype_specific);
}

/**
 * rxe_burst_begin - start an empty burst
 * @burst: to be filled
 * @flow: where to
 *
 * Context: the flow's task, bottom halves off.
 */
void rxe_burst_begin(struct rxe_burst *burst, struct rxe_flow *flow)
{
	struct net_device *dev;

	burst->flow = flow;
	__skb_queue_head_init(&burst->skbs);
	burst->open = NULL;
	burst->packets = 0;
	burst->after = 0;
	burst->icrc = READ_ONCE(icrc_mode);
	burst->no_route = !rxe_flow_route(flow);
	burst->headroom = LL_MAX_HEADER;
	burst->room = 0;
	burst->max = 1;
	burst->local = false;
	burst->lends = false;
	burst->lent_packets = 0;
	burst->loan.keys = 0;
	if (unlikely(burst->no_route))
		return;
	rcu_read_lock();	/* the device of a route may go */
	dev = READ_ONCE(flow->dst->dev);
	burst->headroom = LL_RESERVED_SPACE(dev);
	burst->local = flow->local && READ_ONCE(shortcut) && dev->flags & IFF_UP &&
		       !burst_watched(dev);
	/* within another task, the receiver's may be the one that we are in */
	burst->lends = burst->local && burst->icrc != RXE_ICRC_ALWAYS && !flow->task->nest;
	burst->room = burst_room(burst, dev);
	burst->max = min_t(u32, READ_ONCE(dev->gso_max_segs), BURST_PACKETS);
	rcu_read_unlock();
	flow->whole = burst->room;
	WRITE_ONCE(flow->light, burst->room && burst->icrc != RXE_ICRC_ALWAYS);
}

/* For @count packets or less that join the open skb: behind the last of them, if that is free. */
static void burst_find_room(const struct rxe_burst *burst, struct rxe_txpkt *pkt, u32 len,
			    u32 *count)
{
	pkt->page = NULL;
	pkt->hdr = NULL;
	if (burst->count > 1)
		pkt->hdr = rxe_txmem_grow(burst->last, burst->end, len, count);
	if (!pkt->hdr)
		pkt->hdr = rxe_txmem_bytes(len, count, &pkt->page, &pkt->offset);
}

/**
 * rxe_burst_add - begin the next packet of a burst
 * @burst: the burst
 * @pkt: filled: where headers and payload go
 * @hdr_len: bytes of BTH and extended headers
 * @payload_len: bytes of payload, without pad
 *
 * The caller writes @pkt->hdr and @pkt->payload and calls rxe_burst_close(), or
 * rxe_burst_drop() if it cannot.
 *
 * Context: the flow's task, bottom halves off.
 * Return: 0 or -ENOMEM.
 */
int rxe_burst_add(struct rxe_burst *burst, struct rxe_txpkt *pkt, u32 hdr_len,
		  u32 payload_len)
{
	u32 len = hdr_len + payload_len + wire_pad(payload_len) + ICRC_LEN;
	u32 one = 1;

	if (burst->open && (burst->lent || !burst_joins(burst, len)))
		burst_seal(burst);
	pkt->skb = NULL;
	if (burst->open)
		burst_find_room(burst, pkt, len, &one);
	if (!burst->open || unlikely(!pkt->hdr)) {
		burst_seal(burst);
		if (unlikely(burst_new_skb(burst, pkt, len)))
			return -ENOMEM;
	}
	pkt->payload = pkt->hdr + hdr_len;
	pkt->hdr_len = hdr_len;
	pkt->payload_len = payload_len;
	return 0;
}

/* More linear room of an skb that may have fragments, too: nobody looks at it meanwhile */
static u8 *lent_put(struct sk_buff *skb, u32 len)
{
	u8 *at = skb_tail_pointer(skb);

	skb->tail += len;
	skb->len += len;
	return at;
}

/* An skb for packets with lent payload: room for their headers */
static int burst_new_lent(struct rxe_burst *burst)
{
	struct rxe_flow *flow = burst->flow;
	struct sk_buff *skb;

	skb = rxe_txmem_skb(flow->hdr_len + LENT_HEADERS, &burst->page);
	if (unlikely(!skb))
		return -ENOMEM;
	skb_reset_network_header(skb);
	memcpy(skb_put(skb, flow->hdr_len), flow->hdr, flow->hdr_len);
	skb_set_transport_header(skb, flow->hdr_len - sizeof(struct udphdr));
	headers_finish(flow, skb->data, LENT_HEADERS, flow->ident);
	burst->open = skb;
	burst->lent = true;
	burst->count = 0;
	((struct rxe_lent_head *)lent_put(skb, sizeof(struct rxe_lent_head)))->bytes = 0;
	return 0;
}

/* Whether another packet, with the pieces of the loan, may join the skb that is open. */
static bool lent_joins(const struct rxe_burst *burst, u32 hdr_len)
{
	const struct sk_buff *skb = burst->open;

	return burst->lent && burst->count < BURST_PACKETS &&
	       skb_end_pointer(skb) - skb_tail_pointer(skb) >= sizeof(struct rxe_lent) + hdr_len &&
	       rxe_lent_fits(skb, &burst->loan);
}

/**
 * rxe_burst_lend - begin the next packet of a burst, whose payload is not copied
 * @burst: the burst; it lends, and its loan has the payload of the packet
 * @pkt: filled: where headers go
 * @hdr_len: bytes of BTH and extended headers
 * @payload_len: bytes of payload, without pad
 *
 * As rxe_burst_add(), but that the packet cannot be dropped: rxe_burst_close() follows.
 *
 * Context: the flow's task, bottom halves off.
 * Return: 0 or -ENOMEM.
 */
int rxe_burst_lend(struct rxe_burst *burst, struct rxe_txpkt *pkt, u32 hdr_len,
		   u32 payload_len)
{
	struct rxe_lent *lent;

	if (burst->open && !lent_joins(burst, hdr_len))
		burst_seal(burst);
	if (!burst->open && unlikely(burst_new_lent(burst)))
		return -ENOMEM;
	lent = (struct rxe_lent *)lent_put(burst->open, sizeof(*lent) + hdr_len);
	lent->hdr_len = hdr_len;
	lent->payload_len = payload_len;
	pkt->hdr = (u8 *)(lent + 1);
	pkt->payload = NULL;
	pkt->hdr_len = hdr_len;
	pkt->payload_len = payload_len;
	return 0;
}

static void burst_count(struct rxe_burst *burst, u32 len)
{
	struct rxe_flow *flow = burst->flow;

	if (unlikely(READ_ONCE(flow->paced)))
		rxe_pace_sent(flow, flow->hdr_len + len);
	flow->ident++;
	burst->packets++;
}

/* A packet that would have @len bytes behind UDP has its headers and lends its payload. */
static void burst_close_lent(struct rxe_burst *burst, u32 len)
{
	if (!burst->count++)
		burst->size = len;
	lent_head(burst)->bytes += len;
	burst->lent_packets++;
	rxe_lent_append(burst->open, &burst->loan);
	burst_count(burst, len);
}

/**
 * rxe_burst_close - the packet under construction is complete
 * @burst: the burst
 * @pkt: the packet; its headers and payload stand in place
 *
 * Context: the flow's task, bottom halves off.
 */
void rxe_burst_close(struct rxe_burst *burst, struct rxe_txpkt *pkt)
{
	u32 pad = wire_pad(pkt->payload_len);
	u32 len = pkt->hdr_len + pkt->payload_len + pad + ICRC_LEN;
	struct rxe_flow *flow = burst->flow;

	trace_rxe_tx(flow->dev, pkt->hdr, pkt->payload_len);
	if (!pkt->payload) {
		burst_close_lent(burst, len);
		return;
	}
	/* pad, and an ICRC that nobody may make: not what stood there before */
	memset(pkt->payload + pkt->payload_len, 0, pad + ICRC_LEN);
	if (burst->icrc == RXE_ICRC_ALWAYS)
		packet_sum(flow, pkt->hdr, len, flow->ident);
	if (pkt->skb) {
		burst->open = pkt->skb;
		burst->lent = false;
		burst->page = pkt->page;
		burst->size = len;
		burst->longest = len;
		burst->bytes = len;
		burst->count = 1;
		burst->ident = flow->ident;
		pkt->skb = NULL;
	} else {
		burst_link(burst, len);
		burst_append(burst, pkt, len);
		burst->longest = max(burst->longest, len);
		burst->count++;
	}
	burst->sum = pkt->payload + pkt->payload_len + pad;
	burst_count(burst, len);
	/* nothing may follow what is not in recycled memory, or a packet of another length */
	if (!burst->page || (len < burst->size && !burst_mixes(burst)))
		burst_seal(burst);
}

/* How many more packets of @len bytes the open skb takes */
static u32 burst_takes_more(const struct rxe_burst *burst, u32 len)
{
	const struct rxe_flow *flow = burst->flow;

	/* what is paced, has sums, or may be lent, is made packet by packet */
	if (!burst->open || burst->lent || (burst->size != len && !burst_mixes(burst)) ||
	    !burst_takes(burst, 0, len) || burst->icrc == RXE_ICRC_ALWAYS ||
	    (burst->lends && len > RXE_LEND_MIN) || READ_ONCE(flow->paced) ||
	    skb_shinfo(burst->open)->nr_frags >= MAX_SKB_FRAGS)
		return 0;
	return min(burst->max - burst->count, (burst->room - burst->bytes) / len);
}

/**
 * rxe_burst_train - begin packets that are as the last one, but for PSN and payload
 * @burst: the burst
 * @pkt: filled, for rxe_burst_train_close()
 * @payload_len: bytes of payload of each packet, without pad, behind a BTH
 * @most: packets at most
 * @train: filled: where the payloads go
 *
 * The caller writes the payloads and calls rxe_burst_train_close().
 *
 * Context: the flow's task, bottom halves off.
 * Return: false: there is no room for one, or it has to be made by rxe_burst_add().
 */
bool rxe_burst_train(struct rxe_burst *burst, struct rxe_txpkt *pkt, u32 payload_len,
		     u32 most, struct rxe_train *train)
{
	u32 len = BTH_LEN + payload_len + ICRC_LEN;
	u32 count = min(most, burst_takes_more(burst, len));

	if (!count)
		return false;
	burst_find_room(burst, pkt, len, &count);
	if (unlikely(!pkt->hdr))
		return false;
	pkt->skb = NULL;
	train->first = pkt->hdr + BTH_LEN;
	train->payload = payload_len;
	train->step = len;
	train->count = count;
	return true;
}

/**
 * rxe_burst_train_close - the packets under construction have their payloads
 * @burst: the burst
 * @pkt: from rxe_burst_train()
 * @train: likewise
 * @count: packets that have one, the others are given up; may be 0
 * @bth: header of the first packet; the others have the PSNs that follow
 *
 * Context: the flow's task, bottom halves off.
 */
void rxe_burst_train_close(struct rxe_burst *burst, struct rxe_txpkt *pkt,
			   const struct rxe_train *train, u32 count, const u8 *bth)
{
	struct rxe_flow *flow = burst->flow;
	u32 psn = bth_psn(bth);
	u8 *at = pkt->hdr;
	u32 i;

	if (unlikely(!count)) {
		rxe_burst_drop(burst, pkt);
		return;
	}
	for (i = 0; i < count; i++, at += train->step) {
		burst_link(burst, train->step);
		memcpy(at, bth, BTH_LEN);
		bth_set_psn(at, psn_add(psn, i));
		burst->sum = at + train->step - ICRC_LEN;
		memset(burst->sum, 0, ICRC_LEN);
		trace_rxe_tx(flow->dev, at, train->payload);
	}
	burst_append(burst, pkt, count * train->step);
	burst->longest = max(burst->longest, train->step);
	burst->count += count;
	burst->packets += count;
	flow->ident += count;
}

/**
 * rxe_burst_drop - the packet under construction cannot be completed
 * @burst: the burst; earlier packets stay
 * @pkt: the packet, freed
 *
 * Context: the flow's task, bottom halves off.
 */
void rxe_burst_drop(struct rxe_burst *burst, struct rxe_txpkt *pkt)
{
	if (pkt->skb)
		kfree_skb(pkt->skb);
	else if (pkt->page)
		put_page(pkt->page);
	pkt->skb = NULL;
}

/*
 * Whose packet it is, over IPv4. The sockets of tunnels do not want what they send to
 * a group to come back, but other queue pairs here may be in the group.
 */
static struct sock *burst_sock4(const struct rxe_flow *flow)
{
	return ipv4_is_multicast(flow->daddr.v4) ? NULL : flow->dev->net->sock4->sk;
}

/* What is behind the UDP headers of the packets in an skb */
static u32 burst_bytes(const struct rxe_flow *flow, const struct sk_buff *skb)
{
	if (skb_is_gso(skb) && skb->inner_ipproto == RXE_BURST_LENT)
		return ((struct rxe_lent_head *)(skb->data + flow->hdr_len))->bytes;
	return skb->len - flow->hdr_len;
}

/*
 * To the receive side of this namespace. There it does not count as in flight: who does
 * not receive must not hold up what is sent to others.
 */
static int send_direct(const struct rxe_burst *burst, struct sk_buff *skb)
{
	const struct rxe_flow *flow = burst->flow;
	const struct rxe_net *rnet = flow->dev->net;
	bool ipv4 = flow->family == AF_INET;

	if (ipv4)
		ip_send_check(ip_hdr(skb));
	skb->protocol = htons(ipv4 ? ETH_P_IP : ETH_P_IPV6);
	skb_pull(skb, skb_transport_offset(skb));
	rxe_rx_direct(ipv4 ? rnet->sock4->sk : rnet->sock6->sk, skb,
		      burst->icrc == RXE_ICRC_ALWAYS, flow->task->nest + 1);
	return 0;
}

/* To the stack. Consumes the skb; as dst_output(), may return what net_xmit_eval() takes. */
static int send_out(const struct rxe_burst *burst, struct sk_buff *skb)
{
	struct rxe_flow *flow = burst->flow;
	const struct rxe_net *rnet = flow->dev->net;

	flow->task->direct = false;
	flow->task->queued |= !!(flow->dst->dev->priv_flags & IFF_NO_QUEUE);
	rxe_inflight_charge(flow, skb);
	skb_dst_set_noref(skb, flow->dst);
	if (flow->family == AF_INET)
		return ip_local_out(rnet->net, burst_sock4(flow), skb);
	return ip6_local_out(rnet->net, rnet->sock6->sk, skb);
}

/*
 * Whether a queue had no room. Without a link, and until the stack knows that it is back,
 * nothing takes any.
 */
static bool queue_refused(const struct net_device *dev, int err)
{
	return (err == NET_XMIT_DROP || err == NET_XMIT_CN) && netif_carrier_ok(dev) &&
	       !qdisc_tx_is_noop(dev);
}

/**
 * rxe_burst_send - hand a burst to the stack
 * @burst: the burst, empty afterwards
 *
 * Packets that the stack refuses, or for which there is no route, are counted
 * and are otherwise like packets lost on the wire.
 *
 * Context: the flow's task, bottom halves off.
 */
void rxe_burst_send(struct rxe_burst *burst)
{
	struct rxe_flow *flow = burst->flow;
	struct sk_buff *skb;
	u64 bytes = 0;
	bool refused = false;
	u32 dropped = 0;
	u32 packets;
	int err;

	if (!burst->packets) {
		rxe_loan_end(&burst->loan);
		return;
	}
	burst_seal(burst);
	if (unlikely(burst->no_route)) {
		rxe_count_side(flow->dev, flow->counts, RXE_CNT_TX_DROPPED, burst->packets);
		rxe_count_side(flow->dev, flow->counts, RXE_CNT_TX_NO_ROUTE, burst->packets);
		__skb_queue_purge(&burst->skbs);
		rxe_loan_end(&burst->loan);
		burst->packets = 0;
		return;
	}
	rcu_read_lock();
	while ((skb = __skb_dequeue(&burst->skbs))) {
		packets = max_t(u32, skb_shinfo(skb)->gso_segs, 1);
		/* headers of each packet, as they would be on the wire */
		bytes += burst_bytes(flow, skb) + packets * flow->hdr_len;
		/* who cuts a burst early, as a queue to user space, asks the device */
		skb->dev = flow->dst->dev;
		err = burst->local ? send_direct(burst, skb) : send_out(burst, skb);
		if (likely(!err))
			continue;
		refused |= queue_refused(flow->dst->dev, err);
		if (net_xmit_eval(err))
			dropped += packets;
	}
	rcu_read_unlock();
	rxe_count_side(flow->dev, flow->counts, RXE_CNT_TX_PACKETS, burst->packets);
	rxe_count_side(flow->dev, flow->counts, RXE_CNT_TX_BYTES, bytes);
	if (burst->lent_packets)
		rxe_count_side(flow->dev, flow->counts, RXE_CNT_TX_LENT, burst->lent_packets);
	burst->lent_packets = 0;
	if (unlikely(dropped))
		rxe_count_side(flow->dev, flow->counts, RXE_CNT_TX_DROPPED, dropped);
	if (unlikely(refused))
		rxe_congestion_refused(flow);
	rxe_loan_end(&burst->loan);
	burst->packets = 0;
}
