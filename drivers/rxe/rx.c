// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive: datagram -> checked packet -> QP.
 *
 * Everything here comes from strangers.  A packet that leaves this file has a
 * known QP of the right namespace, comes from the address that the QP is
 * connected to (unless it is one for datagrams), has all its headers, no more
 * payload than any path MTU allows and the right ICRC.  What it means for the QP
 * is decided by its responder, its completer or datagram.c.
 *
 * A queued skb carries a burst: packets of one QP, in order.  They are parsed and
 * summed where they are consumed, so that a burst of many packets needs no memory
 * per packet, and maybe on another CPU than the one that received it: the sum is
 * the larger part of the work on a packet.
 *
 * A burst in one skb comes from this host: from burst.c, and then it never existed on
 * any wire and its packets may be without ICRC, and say so; or from gro.c, which has
 * put together what came one by one.  Nobody else can make the stack deliver one.  What
 * stays in one namespace comes from burst.c directly.
 */
#include <linux/crc32.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/moduleparam.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/ib_cache.h>

#include "net.h"
#include "trace.h"

/* What a queued skb says about itself */
struct rx_cb {
	u32	first;		/* offset of the first BTH */
	u32	end;		/* offset behind the last ICRC */
	u32	size;		/* from BTH to ICRC, of the first packet */
	bool	summed;		/* there are ICRCs */
	bool	mixed;		/* none: each says the length of the next; else as the first */
	u8	transport;	/* of the QP, enum op_transport */
	bool	lent;		/* the payload stands apart, and is lent (lend.c) */
	u8	nest;		/* tasks that have called each other until here */
	u16	vlan_id;	/* of the destination address, for QP 1 */
	union {
		u32	answered;	/* of a request: READs and atomics answered when it came */
		u32	arrived;	/* of what nobody sends again: when, in jiffies */
	};
};

#define RX_CB(skb) ((struct rx_cb *)(skb)->cb)

static bool rx_verify = true;
module_param_named(verify, rx_verify, bool, 0644);
MODULE_PARM_DESC(verify, "check the ICRC of received packets (default: yes)");

/*
 * An RC opcode that nobody has defined: the connection answers it with a NAK
 * (9.9, "unsupported or reserved opcode").
 */
static const struct opcode_info rx_undefined = {
	.name = "undefined",
	.flags = OPF_REQUEST,
	.hdr_len = BTH_LEN,
};

static const struct opcode_info *rx_opcode(u8 opcode)
{
	const struct opcode_info *op = opcode_info(opcode);

	if (!op && opcode >> 5 == OP_TRANSPORT_RC)
		op = &rx_undefined;
	return op;
}

/* BTH and lengths of a packet of @len bytes, BTH to ICRC (9.6, header validation). */
static bool rx_well_formed(const u8 *bth, const struct opcode_info *op, u8 transport, u32 len)
{
	if (bth_tver(bth) || !op || op->transport != transport ||
	    len > op->hdr_len + RXE_MAX_PAYLOAD + ICRC_LEN)
		return false;
	/* an undefined opcode has headers that we cannot tell from payload */
	return len >= op->hdr_len + bth_pad(bth) + ICRC_LEN && !(len & 3);
}

/**
 * rxe_rx_pkey_ok - whether a packet is for a partition that the port is in (10.9.3)
 * @bth: its BTH
 *
 * Context: any.
 * Return: whether the low bits equal those of our only key, which is a full member's.
 */
bool rxe_rx_pkey_ok(const u8 *bth)
{
	return (bth_pkey(bth) & 0x7fff) == (RXE_DEFAULT_PKEY & 0x7fff);
}

/**
 * rxe_rx_ip_header - IP and UDP header of a packet
 * @pkt: the packet
 * @hdr: out, room for an IPv6 and a UDP header
 *
 * Of a burst there is one copy, with lengths that are those of all: this makes
 * what the packet would have had, alone.
 *
 * Context: any.
 */
void rxe_rx_ip_header(const struct rxe_rxpkt *pkt, u8 *hdr)
{
	u32 len = pkt->op->hdr_len + pkt->payload_len + pkt->pad + ICRC_LEN;
	bool ipv4 = ip_hdr(pkt->skb)->version == 4;
	u32 ip_len = ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	struct udphdr *udp = (struct udphdr *)(hdr + ip_len);
	struct iphdr *ip = (struct iphdr *)hdr;

	memcpy(hdr, skb_network_header(pkt->skb), ip_len + sizeof(*udp));
	if (!skb_is_gso(pkt->skb))
		return;
	udp->len = htons(sizeof(*udp) + len);
	if (!ipv4) {
		((struct ipv6hdr *)hdr)->payload_len = udp->len;
		return;
	}
	ip->tot_len = htons(sizeof(*ip) + sizeof(*udp) + len);
	if (!(skb_shinfo(pkt->skb)->gso_type & SKB_GSO_TCP_FIXEDID))
		ip->id = htons(ntohs(ip->id) + pkt->index);
	ip_send_check(ip);
}

static bool rx_icrc_ok(const struct rxe_rxpkt *pkt, u32 offset, u32 len)
{
	const struct sk_buff *skb = pkt->part;
	u8 hdr[sizeof(struct ipv6hdr) + sizeof(struct udphdr)];
	u32 rest = len - BTH_LEN - ICRC_LEN;
	u32 first = min_t(u32, rest, RXE_ICRC_MORE);
	u8 more_buf[RXE_ICRC_MORE];
	const u8 *icrc, *more;
	u8 buf[ICRC_LEN];
	u32 crc;

	rxe_rx_ip_header(pkt, hdr);
	more = skb_header_pointer(skb, offset + BTH_LEN, first, more_buf);
	if (!more)
		return false;
	crc = rxe_icrc_sum(hdr, ip_hdr(pkt->skb)->version == 4, pkt->hdr, more, first);
	if (rest > first)
		crc = rxe_mem_sum_skb(skb, offset + BTH_LEN + first, rest - first, crc);
	icrc = skb_header_pointer(skb, offset + len - ICRC_LEN, ICRC_LEN, buf);
	return icrc && icrc_match(icrc, crc);
}

static bool rx_icrc_good(const struct rxe_rxpkt *pkt, u32 offset, u32 len)
{
	return !RX_CB(pkt->skb)->summed || !READ_ONCE(rx_verify) ||
	       likely(rx_icrc_ok(pkt, offset, len));
}

/*
 * Whether each skb in the list of a burst is a packet, as gro.c has put them there: then
 * it need not be looked for from the beginning, for every packet.
 */
static bool rx_in_parts(const struct sk_buff *skb)
{
	const struct rx_cb *cb = RX_CB(skb);
	u32 offset = cb->first + cb->size;
	const struct sk_buff *part;

	if (likely(!skb_has_frag_list(skb)))
		return false;
	skb_walk_frags(skb, part) {
		if (part->len != min(cb->size, cb->end - offset))
			return false;
		offset += part->len;
	}
	return offset == cb->end;
}

/**
 * rxe_rx_iter_init - walk the packets of a queued skb
 * @it: the walk
 * @dev: counts packets that are no good
 * @counts: likewise, of the side of the QP
 * @skb: taken from a QP's receive queue
 *
 * Context: any.
 */
void rxe_rx_iter_init(struct rxe_rx_iter *it, struct rxe_dev *dev, u64 *counts,
		      struct sk_buff *skb)
{
	it->skb = skb;
	it->dev = dev;
	it->counts = counts;
	it->part = rx_in_parts(skb) ? skb : NULL;
	it->offset = RX_CB(skb)->first;
	it->len = min(RX_CB(skb)->size, RX_CB(skb)->end - it->offset);
	it->payload = RX_CB(skb)->end;
	it->index = 0;
}

/*
 * From the address that the QP is connected to, if it is, to the address it has? A
 * datagram may come from anywhere; see rx_datagram_here().
 */
static bool rx_from_peer(const struct rxe_qp *qp, const struct sk_buff *skb)
{
	const struct rxe_flow *flow = &qp->rq.flow;

	if (rxe_qp_is_datagram(qp))
		return true;
	if (ip_hdr(skb)->version == 4)
		return flow->family == AF_INET &&
		       ip_hdr(skb)->saddr == flow->daddr.v4 &&
		       ip_hdr(skb)->daddr == flow->saddr.v4;
	return flow->family == AF_INET6 &&
	       ipv6_addr_equal(&ipv6_hdr(skb)->saddr, &flow->daddr.v6) &&
	       ipv6_addr_equal(&ipv6_hdr(skb)->daddr, &flow->saddr.v6);
}

static const struct rxe_lent_head *rx_lent_head(const struct sk_buff *skb)
{
	return (const struct rxe_lent_head *)(skb->data + sizeof(struct udphdr));
}

/* Packets in an skb */
static u32 rx_packets(const struct sk_buff *skb)
{
	if (RX_CB(skb)->lent)
		return rx_lent_head(skb)->packets;
	if (RX_CB(skb)->mixed)
		return skb_shinfo(skb)->gso_segs;
	return DIV_ROUND_UP(skb->len - RX_CB(skb)->first, RX_CB(skb)->size);
}

/* Bytes of them, with an IP and a UDP header each, as the sender counts them */
static u32 rx_bytes(const struct sk_buff *skb, u32 packets)
{
	u32 bytes = RX_CB(skb)->lent ? rx_lent_head(skb)->bytes : skb->len - sizeof(struct udphdr);
	u32 ip = ip_hdr(skb)->version == 4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);

	return bytes + packets * (ip + sizeof(struct udphdr));
}

static bool rx_marked(const struct sk_buff *skb)
{
	if (ip_hdr(skb)->version == 4)
		return INET_ECN_is_ce(ip_hdr(skb)->tos);
	return INET_ECN_is_ce(ipv6_get_dsfield(ipv6_hdr(skb)));
}

/* The device has counted it already. */
static void rx_count(struct rxe_dev *dev, u64 *counts, const struct sk_buff *skb)
{
	u32 packets = rx_packets(skb);

	WRITE_ONCE(counts[RXE_CNT_RX_PACKETS], counts[RXE_CNT_RX_PACKETS] + packets);
	WRITE_ONCE(counts[RXE_CNT_RX_BYTES],
		   counts[RXE_CNT_RX_BYTES] + rx_bytes(skb, packets));
	if (skb_is_gso(skb) && skb_has_frag_list(skb))
		rxe_count_side(dev, counts, RXE_CNT_RX_MERGED, packets);
}

/* What the headers say of a packet of @len bytes */
static bool rx_known(struct rxe_rxpkt *pkt, const u8 *hdr, u32 len)
{
	if (!hdr || len < BTH_LEN + ICRC_LEN)
		return false;
	pkt->opcode = bth_opcode(hdr);
	pkt->op = rx_opcode(pkt->opcode);
	return rx_well_formed(hdr, pkt->op, RX_CB(pkt->skb)->transport, len) &&
	       pkt->op->hdr_len <= sizeof(pkt->hdr_buf);
}

static void rx_fields(struct rxe_rxpkt *pkt, u32 payload_off, u32 payload_len)
{
	pkt->psn = bth_psn(pkt->hdr);
	pkt->pad = bth_pad(pkt->hdr);
	pkt->se = bth_se(pkt->hdr);
	pkt->ackreq = bth_ackreq(pkt->hdr);
	pkt->vlan_id = RX_CB(pkt->skb)->vlan_id;
	pkt->answered = RX_CB(pkt->skb)->answered;
	pkt->payload_off = payload_off;
	pkt->payload_len = payload_len;
}

/*
 * What the longest headers are in, in one piece.  Of a fragment it is a copy, made once: that
 * may be a page of its sender's, who can still write to it.
 */
static const u8 *rx_headers(struct rxe_rxpkt *pkt, u32 offset, u32 len)
{
	const struct sk_buff *skb = pkt->part;
	const u8 *flat;

	if (likely((u64)offset + len <= skb_headlen(skb)))
		return skb->data + offset;
	flat = rxe_mem_flat(skb, offset, len);
	if (flat)
		memcpy(pkt->hdr_buf, flat, len);
	else if (skb_copy_bits(skb, offset, pkt->hdr_buf, len))
		return NULL;
	return pkt->hdr_buf;
}

/* Headers of the packet of @len bytes at @offset of its part. */
static bool rx_parse(struct rxe_rxpkt *pkt, u32 offset, u32 len)
{
	pkt->hdr = rx_headers(pkt, offset, min_t(u32, len, sizeof(pkt->hdr_buf)));
	if (!rx_known(pkt, pkt->hdr, len))
		return false;
	rx_fields(pkt, offset + pkt->op->hdr_len,
		  len - pkt->op->hdr_len - ICRC_LEN - bth_pad(pkt->hdr));
	return true;
}

/* The same of the first packet of an skb, which is a look at it only: nothing is consumed. */
static bool rx_parse_first(struct rxe_rxpkt *pkt, struct sk_buff *skb, u32 len)
{
	pkt->skb = skb;
	pkt->part = skb;
	pkt->index = 0;
	return rx_parse(pkt, RX_CB(skb)->first, len);
}

/*
 * A mark of the network, on the packets of an skb just taken from @queue. They are
 * checked later; but who makes a mark up must not make us send more than that.
 */
static void rx_congested(struct rxe_qp *qp, const struct sk_buff_head *queue, u64 *counts,
			 struct sk_buff *skb)
{
	struct rxe_flow *flow = queue == &qp->sq.rxq ? &qp->sq.flow : &qp->rq.flow;
	const struct rx_cb *cb = RX_CB(skb);
	u32 len = min(cb->size, cb->end - cb->first);
	struct rxe_rxpkt pkt;

	rxe_count_side(qp->dev, counts, RXE_CNT_RX_ECN_MARKED, rx_packets(skb));
	if (rxe_qp_is_datagram(qp) || !rxe_congestion_due(qp))
		return;
	/* what fills queues has payload */
	if (cb->lent || (rx_parse_first(&pkt, skb, len) && pkt.payload_len &&
			 rx_icrc_good(&pkt, cb->first, len)))
		rxe_congestion_marked(qp, flow);
}

/**
 * rxe_rx_age - how long ago a packet has come
 * @skb: from the receive queue of a QP that is not reliable
 *
 * Context: any.
 * Return: jiffies.
 */
u32 rxe_rx_age(const struct sk_buff *skb)
{
	return (u32)jiffies - RX_CB(skb)->arrived;
}

/**
 * rxe_rx_dequeue - the next received skb
 * @qp: the QP
 * @queue: of one of its sides
 * @counts: counters of that side
 *
 * Nobody touches the queue in a hard interrupt, so its lock need not keep them
 * off; and an empty queue needs no lock: who fills it runs the task afterwards.
 *
 * Where the skb comes from was looked at before it was queued; but the QP may
 * have been reset and connected to somebody else since then, and the address
 * does not change while the task runs.
 *
 * Context: the task of that side, bottom halves off.
 * Return: the skb or NULL.
 */
struct sk_buff *rxe_rx_dequeue(struct rxe_qp *qp, struct sk_buff_head *queue, u64 *counts)
{
	struct sk_buff *skb;

	while (READ_ONCE(queue->qlen)) {
		spin_lock(&queue->lock);
		skb = __skb_dequeue(queue);
		spin_unlock(&queue->lock);
		if (!skb)
			return NULL;
		if (likely(rx_from_peer(qp, skb))) {
			rx_count(qp->dev, counts, skb);
			if (unlikely(rx_marked(skb)))
				rx_congested(qp, queue, counts, skb);
			return skb;
		}
		rxe_count(qp->dev, RXE_CNT_RX_NO_QP);
		kfree_skb(skb);
	}
	return NULL;
}

static void rx_bad(const struct rxe_rx_iter *it, enum rxe_counter why)
{
	trace_rxe_drop(rxe_counters_name(why), 0, it->skb->len);
	rxe_count_side(it->dev, it->counts, why, 1);
}

static bool rx_good(const struct rxe_rx_iter *it, const struct rxe_rxpkt *pkt)
{
	trace_rxe_rx(it->dev, pkt->hdr, pkt->payload_len);
	return true;
}

/* How long the packet is that begins at it->offset, behind another one */
static u32 rx_length(const struct rxe_rx_iter *it)
{
	const struct rx_cb *cb = RX_CB(it->skb);
	u32 rest = cb->end - it->offset;
	const u8 *at;
	u32 len;

	if (!cb->mixed)
		return min(cb->size, rest);
	if (!rest)
		return 0;
	at = rxe_mem_flat(it->skb, it->offset - ICRC_LEN, ICRC_LEN);
	if (likely(at))
		memcpy(&len, at, sizeof(len));
	else if (skb_copy_bits(it->skb, it->offset - ICRC_LEN, &len, sizeof(len)))
		return rest;
	return likely(len >= BTH_LEN + ICRC_LEN && len <= rest) ? len : rest;
}

/* Where the next packet stands */
static u32 rx_step(struct rxe_rx_iter *it, struct rxe_rxpkt *pkt)
{
	u32 offset = it->offset;

	pkt->skb = it->skb;
	pkt->part = it->skb;
	pkt->index = it->index++;
	it->offset += it->len;
	it->len = rx_length(it);
	if (likely(!it->part))
		return offset;
	pkt->part = it->part;
	if (it->part == it->skb) {
		it->part = skb_shinfo(it->skb)->frag_list;
		return offset;
	}
	it->part = it->part->next;
	return 0;
}

/* The next packet whose payload is lent; it is our own sender's. */
static bool rx_next_lent(struct rxe_rx_iter *it, struct rxe_rxpkt *pkt)
{
	const u8 *hdr = it->skb->data + it->offset;
	const struct rxe_lent *lent = (const struct rxe_lent *)hdr - 1;
	u32 len = lent->hdr_len + lent->payload_len + wire_pad(lent->payload_len) + ICRC_LEN;
	u32 payload = it->payload;

	pkt->skb = it->skb;
	pkt->part = it->skb;
	pkt->index = it->index++;
	it->offset += lent->hdr_len + sizeof(*lent);
	it->payload += lent->payload_len;
	if (unlikely(!rx_known(pkt, hdr, len)))
		return false;
	pkt->hdr = hdr;
	rx_fields(pkt, payload, lent->payload_len);
	return true;
}

/**
 * rxe_rx_more - whether rxe_rx_next() has packets to look at
 * @it: the walk
 *
 * Context: the task of the side of the QP that its skb was queued for.
 */
bool rxe_rx_more(const struct rxe_rx_iter *it)
{
	return it->offset < RX_CB(it->skb)->end;
}

/**
 * rxe_rx_next - the next good packet of a queued skb
 * @it: the walk
 * @pkt: filled; points into the skb, and into itself
 *
 * Context: the task of the side of the QP that it was queued for.
 * Return: false at the end.
 */
bool rxe_rx_next(struct rxe_rx_iter *it, struct rxe_rxpkt *pkt)
{
	const struct rx_cb *cb = RX_CB(it->skb);
	u32 offset, len;

	while (it->offset < cb->end) {
		if (cb->lent) {
			if (likely(rx_next_lent(it, pkt)))
				return rx_good(it, pkt);
			rx_bad(it, RXE_CNT_RX_MALFORMED);
			continue;
		}
		len = it->len;
		offset = rx_step(it, pkt);
		if (unlikely(!rx_parse(pkt, offset, len)))
			rx_bad(it, RXE_CNT_RX_MALFORMED);
		else if (unlikely(!rx_icrc_good(pkt, offset, len)))
			rx_bad(it, RXE_CNT_RX_ICRC_ERRORS);
		else
			return rx_good(it, pkt);
	}
	return false;
}

/**
 * rxe_rx_train - packets behind the last one that are like it
 * @it: the walk
 * @pkt: what rxe_rx_next() has filled last: a good packet without extended headers and pad
 * @most: packets at most
 * @train: filled: their payloads
 *
 * They have the PSNs that follow, and differ in nothing else but payload. Only packets that
 * need no sum are looked for.
 *
 * Context: the task of the side of the QP that the skb was queued for.
 * Return: false: there is none.
 */
bool rxe_rx_train(const struct rxe_rx_iter *it, const struct rxe_rxpkt *pkt, u32 most,
		  struct rxe_train *train)
{
	const struct rx_cb *cb = RX_CB(it->skb);
	u32 len = it->len;
	u32 have = 0;
	const u8 *at;
	u32 n;

	if (cb->summed || cb->lent || it->part || it->offset >= cb->end ||
	    pkt->op->hdr_len != BTH_LEN || BTH_LEN + pkt->payload_len + ICRC_LEN != len)
		return false;
	at = rxe_mem_flat_most(it->skb, it->offset, &have);
	if (!at)
		return false;
	train->first = (u8 *)at + BTH_LEN;
	most = min(most, min(have, cb->end - it->offset) / len);
	for (n = 0; n < most && len == it->len; n++, at += it->len) {
		if (!bth_follows(at, pkt->hdr, psn_add(pkt->psn, n + 1)))
			break;
		if (cb->mixed)
			memcpy(&len, at + it->len - ICRC_LEN, sizeof(len));
	}
	train->payload = pkt->payload_len;
	train->step = it->len;
	train->count = n;
	return n;
}

/**
 * rxe_rx_skip - packets of a train have been consumed
 * @it: the walk; goes on behind them
 * @pkt: the packet before them
 * @count: how many, no more than rxe_rx_train() has found
 *
 * Context: as rxe_rx_train().
 */
void rxe_rx_skip(struct rxe_rx_iter *it, const struct rxe_rxpkt *pkt, u32 count)
{
	u32 size = it->len;
	u32 i;

	for (i = 0; trace_rxe_rx_enabled() && i < count; i++)
		trace_rxe_rx(it->dev, rxe_mem_flat(it->skb, it->offset + i * size, BTH_LEN),
			     pkt->payload_len);
	it->index += count;
	it->offset += count * size;
	it->len = rx_length(it);
}

/* The sum covers the plain IP header: no options, no extension headers. */
static bool rx_plain_ip(const struct sk_buff *skb)
{
	if (ip_hdr(skb)->version == 4)
		return ip_hdr(skb)->ihl == 5;
	return ipv6_hdr(skb)->nexthdr == IPPROTO_UDP;
}

/* Bytes of payload that come with the first packet, or that it asks for. */
static u32 rx_payload(const struct sk_buff *skb, const struct opcode_info *op)
{
	u32 at = RX_CB(skb)->first;
	u8 buf[RETH_LEN];
	const u8 *reth;

	if (!(op->flags & OPF_REQUEST) || !(op->flags & OPF_READ))
		return RX_CB(skb)->size - op->hdr_len - ICRC_LEN;
	reth = skb_header_pointer(skb, at + op->reth, RETH_LEN, buf);
	return reth ? reth_len(reth) : 0;
}

/*
 * Whether large messages come one after the other, and nobody waits for just this one, which
 * would be late by as long as a worker is: several have come since this side of the
 * connection has sent a request of its own, or more READs are on their way.
 */
static bool rx_streams(struct rxe_qp *qp, const struct opcode_info *op)
{
	u32 psn, msn;

	if (op->flags & OPF_RESPONSE)
		return READ_ONCE(qp->sq.reads_tail) - READ_ONCE(qp->sq.reads_head) > 1;
	/* what several CPUs race for here need not be exact */
	psn = READ_ONCE(qp->sq.psn);
	msn = READ_ONCE(qp->rq.msn);
	if (psn != READ_ONCE(qp->rq.row_psn)) {
		WRITE_ONCE(qp->rq.row_psn, psn);
		WRITE_ONCE(qp->rq.row_msn, msn);
	}
	return ((msn - READ_ONCE(qp->rq.row_msn)) & PSN_MASK) >= RXE_BULK_ROW;
}

/*
 * Whether a burst without sums is worth another CPU, only to be copied: a large one of a
 * stream is, and what comes behind one that has been left to that CPU, as long as that
 * seems to come: with several waiting it is done here, while they are in the cache. Not
 * SENDs if receives are few: who posts them may need that CPU, and RNR NAKs take longer.
 */
static bool rx_is_bulk_copy(struct rxe_qp *qp, const struct sk_buff *skb,
			    const struct opcode_info *op, u32 waiting)
{
	bool streams;

	if ((op->flags & (OPF_START | OPF_END)) == (OPF_START | OPF_END) ||
	    ((op->flags & OPF_SEND) && rxe_recv_scarce(qp)))
		return false;
	streams = rx_streams(qp, op);
	return waiting < RXE_BULK_COPIES &&
	       (waiting > 0 || (streams && skb->len >= RXE_BULK_BURST));
}

/*
 * Whether the work on an skb just queued is worth another CPU: bulk data in the
 * middle of a message, or behind others that wait, and answers that let bulk
 * data go.  Not if so much waits that there seems to be no CPU free; nor while
 * one side waits for the other to fill a hole: a worker may be late.
 */
static bool rx_is_bulk(struct rxe_qp *qp, const struct sk_buff *skb,
		       const struct opcode_info *op, u32 waiting)
{
	u32 payload = rx_payload(skb, op);
	bool hurry = op->flags & OPF_REQUEST ? READ_ONCE(qp->rq.hurry) :
					       READ_ONCE(qp->sq.hurry);

	/* who posts the receive that is waited for needs that CPU */
	if (READ_ONCE(qp->rq.supply) == RXE_SUPPLY_AWAITED)
		return false;
	if (hurry || waiting > RXE_BULK_WAITING || num_online_cpus() == 1)
		return false;
	if (op->flags & OPF_ACK)
		return READ_ONCE(qp->sq.bulk) && waiting < 4;
	if (payload > RXE_MAX_PAYLOAD)
		return !READ_ONCE(qp->rq.flow.light);	/* a READ */
	if (!RX_CB(skb)->summed)
		return rx_is_bulk_copy(qp, skb, op, waiting);
	return payload >= RXE_BULK_PAYLOAD && (waiting > 0 || !(op->flags & OPF_END));
}

/* The requester has to be left before it can be handed the responses without a copy. */
static bool rx_reads_much(const struct sk_buff *skb, const struct opcode_info *op)
{
	return (op->flags & OPF_REQUEST) && (op->flags & OPF_READ) && !RX_CB(skb)->summed &&
	       rx_payload(skb, op) > RXE_MAX_PAYLOAD;
}

static bool rx_is_nak(const struct sk_buff *skb, const struct opcode_info *op)
{
	const u8 *aeth;
	u8 buf[AETH_LEN];

	if (!(op->flags & OPF_ACK))
		return false;
	aeth = skb_header_pointer(skb, sizeof(struct udphdr) + op->aeth, AETH_LEN, buf);
	return aeth && aeth_kind(aeth_syndrome(aeth)) != AETH_KIND_ACK;
}

static void rx_enqueue(struct sk_buff_head *queue, struct sk_buff *skb)
{
	spin_lock(&queue->lock);
	__skb_queue_tail(queue, skb);
	spin_unlock(&queue->lock);
}

/* Makes the payload our own; without memory the skb has no more packets. */
static bool rx_own(struct rxe_qp *qp, struct sk_buff *skb)
{
	if (likely(rxe_lent_own(skb))) {
		rxe_count_add(qp->dev, RXE_CNT_LENT_COPIED, rx_packets(skb));
		return true;
	}
	trace_rxe_drop("no memory for lent payload", qp->ib.qp_num, skb->len);
	rxe_qp_count(qp, RXE_CNT_RX_QUEUE_FULL);
	RX_CB(skb)->end = 0;
	return false;
}

/*
 * Gives an skb with lent payload to a task. If somebody else is in it, or what it has to
 * do is not done at once, the payload has to be our own before the sender goes on.
 */
static void rx_deliver_lent(struct rxe_task *task, struct sk_buff_head *queue,
			    struct sk_buff *skb, u8 nest)
{
	if (!rxe_task_claim(task, nest)) {
		if (unlikely(!rx_own(task->qp, skb))) {
			kfree_skb(skb);
			return;
		}
		rx_enqueue(queue, skb);
		rxe_task_run_within(task, nest);
		return;
	}
	skb_get(skb);
	rx_enqueue(queue, skb);
	rxe_task_round(task, nest);
	/* it is in the queue still, or kept; who could read it is kept out */
	if (unlikely(skb_shared(skb)))
		rx_own(task->qp, skb);
	consume_skb(skb);
	rxe_task_yield(task);
}

/* Queues the skb for the side of the QP that it concerns, and has it run. */
static void rx_deliver(struct rxe_qp *qp, struct sk_buff *skb,
		       const struct opcode_info *op)
{
	bool request = op->flags & OPF_REQUEST;
	struct sk_buff_head *queue = request ? &qp->rq.rxq : &qp->sq.rxq;
	struct rxe_task *task = request ? &qp->rq.task : &qp->sq.task;
	u8 nest = RX_CB(skb)->nest;
	u32 packets;
	bool bulk;

	if (unlikely(skb_queue_len(queue) >= (skb_is_gso(skb) ? RXE_RXQ_BURSTS : RXE_RXQ_MAX))) {
		trace_rxe_drop("rx_queue_full", qp->ib.qp_num, skb->len);
		rxe_qp_count(qp, RXE_CNT_RX_QUEUE_FULL);
		kfree_skb(skb);
		return;
	}
	packets = rx_packets(skb);
	rxe_count_add(qp->dev, RXE_CNT_RX_PACKETS, packets);
	rxe_count_add(qp->dev, RXE_CNT_RX_BYTES, rx_bytes(skb, packets));
	/* a route looked up for input must not outlive this call */
	skb_dst_drop(skb);
	/* it may wait for its turn; what it may ask for was settled when its sender sent it */
	if (rxe_qp_is_reliable(qp))
		RX_CB(skb)->answered = READ_ONCE(qp->rq.answered);
	else
		RX_CB(skb)->arrived = jiffies;
	if (nest && rx_reads_much(skb, op)) {
		rx_enqueue(queue, skb);
		rxe_task_run_within(task, RXE_TASK_LATER);
		return;
	}
	if (RX_CB(skb)->lent) {
		rx_deliver_lent(task, queue, skb, nest);
		return;
	}
	bulk = !rx_is_nak(skb, op) && rx_is_bulk(qp, skb, op, skb_queue_len(queue));
	rx_enqueue(queue, skb);
	/* the skb may be gone */
	if (!bulk || (!rxe_task_queue(task) && rxe_task_late(task)))
		rxe_task_run_within(task, nest);
}

/* The transport service of a QP, whose packets are the only ones it takes */
static u8 rx_transport(const struct rxe_qp *qp)
{
	if (rxe_qp_is_datagram(qp))
		return OP_TRANSPORT_UD;
	return rxe_qp_is_uc(qp) ? OP_TRANSPORT_UC : OP_TRANSPORT_RC;
}

/* A notification that we are too fast; otherwise what is wrong with it. */
static enum rxe_counter rx_cnp(struct rxe_qp *qp, struct sk_buff *skb)
{
	u32 first = RX_CB(skb)->first;
	u32 len = RX_CB(skb)->size;
	struct rxe_rxpkt pkt;

	RX_CB(skb)->transport = OP_TRANSPORT_CNP;
	if (!rx_plain_ip(skb) || skb_is_gso(skb) || !rx_parse_first(&pkt, skb, len) ||
	    pkt.payload_len != CNP_LEN)
		return RXE_CNT_RX_MALFORMED;
	if (!rxe_rx_pkey_ok(pkt.hdr))
		return RXE_CNT_RX_BAD_PKEY;
	if (!rx_icrc_good(&pkt, first, len))
		return RXE_CNT_RX_ICRC_ERRORS;
	if (!rxe_qp_is_datagram(qp))
		rxe_congestion_cnp(qp);
	return RXE_CNT_RX_CNP;
}

/*
 * To an address of this device? The host may have others. Whose address a group's is
 * has been seen to where its members were found, as that of QP 1 has.
 */
static bool rx_datagram_here(const struct rxe_qp *qp, const struct sk_buff *skb,
			     const u8 *bth)
{
	const struct ib_gid_attr *attr;
	union ib_gid gid;

	if (bth_dqpn(bth) == RXE_QPN_MULTICAST || bth_dqpn(bth) == RXE_QPN_GSI)
		return true;
	rxe_datagram_daddr(skb, &gid);
	attr = rdma_find_gid_by_port(&qp->dev->ib, &gid, IB_GID_TYPE_ROCE_UDP_ENCAP, RXE_PORT,
				     NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

static void rx_to_qp(struct rxe_qp *qp, struct net *net, struct sk_buff *skb,
		     const u8 *bth)
{
	const struct opcode_info *op = rx_opcode(bth_opcode(bth));
	enum rxe_counter why;

	RX_CB(skb)->transport = rx_transport(qp);
	if ((qp->ib.qp_num != bth_dqpn(bth) && bth_dqpn(bth) != RXE_QPN_MULTICAST) ||
	    !net_eq(dev_net(qp->dev->ndev), net) ||
	    /* nobody would take it from the queue before the first modify_qp */
	    !rxe_qp_receives(qp) ||
	    !rx_from_peer(qp, skb) ||
	    (rxe_qp_is_datagram(qp) && !rx_datagram_here(qp, skb, bth))) {
		why = RXE_CNT_RX_NO_QP;
	} else if (bth_opcode(bth) == OP_CNP) {
		why = rx_cnp(qp, skb);
	} else if (!rx_plain_ip(skb) ||
		   !rx_well_formed(bth, op, RX_CB(skb)->transport, RX_CB(skb)->size)) {
		why = RXE_CNT_RX_MALFORMED;
	} else if (!rxe_rx_pkey_ok(bth)) {
		why = RXE_CNT_RX_BAD_PKEY;
	} else {
		rx_deliver(qp, skb, op);
		return;
	}
	if (why != RXE_CNT_RX_CNP)
		trace_rxe_drop(rxe_counters_name(why), bth_dqpn(bth), skb->len);
	if (why >= RXE_CNT_RQ_END && why < RXE_CNT_QP_END)
		rxe_qp_count(qp, why);
	else
		rxe_count(qp->dev, why);
	kfree_skb(skb);
}

/* One of the queue pairs of a multicast group gets a datagram of its own. */
static void rx_to_member(struct rxe_qp *qp, struct sk_buff *skb)
{
	u8 buf[BTH_LEN];
	const u8 *bth = skb_header_pointer(skb, RX_CB(skb)->first, BTH_LEN, buf);

	if (bth && rxe_qp_is_datagram(qp))
		rx_to_qp(qp, qp->dev->netns, skb, bth);
	else
		kfree_skb(skb);
}

/* What the skb carries: a packet, or a burst.  False: something else. */
static bool rx_carries(struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	struct rx_cb *cb = RX_CB(skb);

	cb->first = sizeof(struct udphdr);
	cb->end = skb->len;
	cb->size = skb->len - cb->first;
	cb->summed = true;
	cb->mixed = false;
	cb->lent = false;
	cb->nest = 0;
	if (likely(!skb_is_gso(skb)))
		return true;
	if (!(info->gso_type & SKB_GSO_UDP_TUNNEL) ||
	    skb->inner_protocol_type != ENCAP_TYPE_IPPROTO ||
	    (skb->inner_ipproto != RXE_BURST_SUM && skb->inner_ipproto != RXE_BURST_READY))
		return false;
	cb->summed = skb->inner_ipproto == RXE_BURST_READY;
	cb->mixed = !cb->summed;
	cb->size = cb->mixed ? rxe_burst_first(skb) : info->gso_size;
	return cb->size >= BTH_LEN + ICRC_LEN && cb->size <= cb->end - cb->first;
}

/* Finds the QP. */
static void rx_receive(struct sock *sk, struct sk_buff *skb)
{
	u8 buf[BTH_LEN];
	const u8 *bth;
	struct rxe_id *id;

	bth = skb_header_pointer(skb, RX_CB(skb)->first, BTH_LEN, buf);
	if (!bth)
		goto drop;
	RX_CB(skb)->vlan_id = RXE_NO_VLAN;
	if (bth_dqpn(bth) == RXE_QPN_MULTICAST) {
		rxe_mcast_deliver(sock_net(sk), skb, rx_to_member);
		goto drop;
	}
	if (bth_dqpn(bth) == RXE_QPN_GSI)
		id = rxe_datagram_find_gsi(sock_net(sk), skb, &RX_CB(skb)->vlan_id);
	else
		id = rxe_id_get(&rxe_qp_ids, bth_dqpn(bth));
	if (!id) {
		trace_rxe_drop("no such queue pair", bth_dqpn(bth), skb->len);
		rxe_link_count(skb->dev, RXE_CNT_RX_NO_QP);
		goto drop;
	}
	rx_to_qp(id->object, sock_net(sk), skb, bth);
	rxe_id_put(id);
	return;
drop:
	kfree_skb(skb);
}

/**
 * rxe_rx_datagram - a datagram has arrived on the RoCE port
 * @sk: socket of a namespace
 * @skb: the datagram, data at the UDP header
 *
 * Context: softirq, RCU read side.
 * Return: 0: the datagram is consumed, whatever it was.
 */
int rxe_rx_datagram(struct sock *sk, struct sk_buff *skb)
{
	if (skb->len < sizeof(struct udphdr) + BTH_LEN + ICRC_LEN || !rx_carries(skb)) {
		rxe_link_count(skb->dev, RXE_CNT_RX_MALFORMED);
		kfree_skb(skb);
	} else {
		rx_receive(sk, skb);
	}
	return 0;
}

/**
 * rxe_rx_direct - packets of a sender in the same namespace
 * @sk: its socket
 * @skb: a burst, data at the UDP header, consumed
 * @summed: whether the packets have ICRCs
 * @nest: how many tasks have called each other until here, with the sender's
 *
 * Context: a task, bottom halves off, RCU read side.
 */
void rxe_rx_direct(struct sock *sk, struct sk_buff *skb, bool summed, u8 nest)
{
	struct rx_cb *cb = RX_CB(skb);

	cb->lent = skb_is_gso(skb) && skb->inner_ipproto == RXE_BURST_LENT;
	cb->first = sizeof(struct udphdr);
	cb->end = skb->len;
	if (cb->lent) {
		cb->first += sizeof(struct rxe_lent_head) + sizeof(struct rxe_lent);
		cb->end = skb_headlen(skb);
	}
	cb->summed = summed;
	cb->mixed = skb_is_gso(skb) && skb->inner_ipproto == RXE_BURST_SUM;
	if (cb->mixed)
		cb->size = rxe_burst_first(skb);
	else
		cb->size = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : skb->len - cb->first;
	cb->nest = nest;
	rx_receive(sk, skb);
}
