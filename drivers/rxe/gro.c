// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive offload: packets of a network card, one skb each -> one skb, a burst.
 *
 * The stack asks here (GRO) before a packet for the RoCE port goes up, and packets of
 * one queue pair that came in a row go up together:
 *
 *   [ IP UDP | BTH .. ICRC ] -> [ BTH .. ICRC ] -> [ BTH .. ICRC ]    list of fragments
 *
 * This is the form of a burst of our own (burst.c) whose ICRCs are in place, and rx.c
 * takes it for one: it verifies each of them. Nothing is trusted that a stranger could
 * have made, a forged burst would only be verified, too.
 *
 * What is merged: the same addresses, ports, queue pair and direction (requests or
 * responses), each of a good P_Key (rx.c looks at the first one's), each PSN the next,
 * and all of one length but the last. A burst ends behind a packet that somebody waits
 * for: one that asks for an acknowledgment, is solicited, or ends a message of several
 * packets or of a service without acknowledgments; also behind a shorter one, with 64
 * packets and with 64 KiB. If there is nothing that it could join, such a packet goes up
 * at once. So nobody waits but for packets of the same poll of the card, and they in
 * order: what does not fit sends up first what is held of its queue pair.
 *
 * The IP header of the first packet has to do for all, twice over: for the ICRC, which
 * covers lengths and identification (rxe_rx_ip_header()), and for a host that forwards
 * the burst, which must send exactly the packets that came (segment.c cuts, IP writes
 * lengths and identifications). So the identifications of IPv4 count up by one, or are
 * all equal behind a DF (if the stack has a mark for that); and TOS, ECN, TTL and flow
 * label, which the ICRC does not cover, are equal nevertheless. UDP's checksum is zero,
 * which means that the burst needs none.
 *
 * Not merged: acknowledgments and other packets without payload, which are small and
 * waited for; management and multicast, where a datagram has several readers; what
 * has padding of Ethernet or IP options, what comes as a burst already.
 *
 * Whoever wants none of this switches it off at the card: ethtool -K DEV gro off.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/udp.h>
#include <net/gro.h>
#include <net/ip.h>
#include <net/sock.h>

#include "net.h"
#include "rx.h"

#define GRO_PACKETS	64
/* What an IP header can say */
#define GRO_BYTES	65535

/* A packet that has come, as far as GRO looks at it */
struct gro_packet {
	u32		off;		/* of the BTH */
	u32		len;		/* from BTH to ICRC */
	bool		ipv4;
	bool		fits;		/* it may be merged with others */
	bool		urgent;		/* nothing may come behind it */
	bool		request;
	bool		end;
	u32		qpn;
	u32		psn;
};

static u32 gro_ip_len(bool ipv4)
{
	return ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
}

/* Whether IP and UDP header are plain, and say what is there. */
static bool gro_plain(const struct sk_buff *skb, const struct gro_packet *pkt)
{
	u8 buf[sizeof(struct ipv6hdr) + sizeof(struct udphdr)];
	u32 ip_len = gro_ip_len(pkt->ipv4);
	u32 len = ip_len + sizeof(struct udphdr);
	const struct udphdr *udp;
	const u8 *ip;

	ip = pkt->off < len ? NULL : skb_header_pointer(skb, pkt->off - len, len, buf);
	if (!ip)
		return false;
	udp = (const struct udphdr *)(ip + ip_len);
	if (udp->check || udp->len != htons(sizeof(*udp) + pkt->len))
		return false;
	if (pkt->ipv4)
		return ip[0] == 0x45 && ((const struct iphdr *)ip)->protocol == IPPROTO_UDP;
	return ip[0] >> 4 == 6 && ((const struct ipv6hdr *)ip)->nexthdr == IPPROTO_UDP;
}

/* False: it is none of those that we know, and nobody cares when it goes up. */
static bool gro_parse(const struct sk_buff *skb, struct gro_packet *pkt)
{
	const struct opcode_info *op;
	u8 buf[BTH_LEN];
	const u8 *bth;

	bth = skb_header_pointer(skb, pkt->off, BTH_LEN, buf);
	op = bth ? opcode_info(bth_opcode(bth)) : NULL;
	if (!op || op->transport == OP_TRANSPORT_CNP)
		return false;
	pkt->qpn = bth_dqpn(bth);
	pkt->psn = bth_psn(bth);
	pkt->request = op->flags & OPF_REQUEST;
	pkt->end = op->flags & OPF_END;
	pkt->urgent = bth_ackreq(bth) || bth_se(bth) ||
		      (pkt->end && (!(op->flags & OPF_START) || !pkt->request ||
				    op->transport != OP_TRANSPORT_RC));
	pkt->fits = op->flags & OPF_PAYLOAD && pkt->qpn != RXE_QPN_GSI &&
		    pkt->qpn != RXE_QPN_MULTICAST && rxe_rx_pkey_ok(bth) && !(pkt->len & 3) &&
		    pkt->len >= op->hdr_len + ICRC_LEN && !NAPI_GRO_CB(skb)->flush &&
		    !skb_is_gso(skb) && !skb_has_frag_list(skb) && gro_plain(skb, pkt);
	return true;
}

/* Whether a burst goes on with an identification behind that of its last packet. */
static bool gro_ident(const struct iphdr *first, const struct iphdr *last, u32 count,
		      const struct iphdr *ip)
{
	u16 step = ntohs(ip->id) - ntohs(last->id);

	if (step > 1 || (!step && (!SKB_GSO_TCP_FIXEDID || !(ip->frag_off & htons(IP_DF)))))
		return false;
	return count == 1 || step == (first->id != last->id);
}

/* Whether the IP header of a burst does for one more packet, but for lengths. */
static bool gro_same_ip(const struct sk_buff *burst, const struct sk_buff *last,
			const struct sk_buff *skb, const struct gro_packet *pkt)
{
	u32 len = gro_ip_len(pkt->ipv4) + sizeof(struct udphdr);
	const void *first = burst->data + pkt->off - len;
	u8 buf[sizeof(struct ipv6hdr)];
	const void *ip;

	ip = skb_header_pointer(skb, pkt->off - len, gro_ip_len(pkt->ipv4), buf);
	if (!ip)
		return false;
	if (pkt->ipv4) {
		const struct iphdr *a = first, *b = ip;

		return a->tos == b->tos && a->ttl == b->ttl && a->frag_off == b->frag_off &&
		       gro_ident(a, last == burst ? a : ip_hdr(last),
				 NAPI_GRO_CB(burst)->count, b);
	} else {
		const struct ipv6hdr *a = first, *b = ip;

		/* version, traffic class and flow label */
		return *(const __be32 *)a == *(const __be32 *)b &&
		       a->hop_limit == b->hop_limit;
	}
}

/* Whether a packet of the queue pair of a burst may join it. */
static bool gro_joins(const struct sk_buff *burst, const struct sk_buff *skb,
		      const struct gro_packet *pkt, u32 last_psn)
{
	const struct sk_buff *last = NAPI_GRO_CB(burst)->last;
	u32 size = skb_shinfo(burst)->gso_size;

	/* a shorter one must be the last, and is if a message ends */
	if (!pkt->fits || pkt->psn != psn_add(last_psn, 1) ||
	    pkt->len > size || (pkt->len < size && !pkt->end))
		return false;
	return NAPI_GRO_CB(burst)->count < GRO_PACKETS &&
	       burst->len + pkt->len <= GRO_BYTES &&
	       gro_same_ip(burst, last, skb, pkt);
}

/*
 * The packet goes to the end of the burst's list. Its IP header stays before its data,
 * for the next one to look at. Who sent it, if on this host, need not wait until the
 * whole burst has been worked off.
 */
static bool gro_append(struct sk_buff *burst, struct sk_buff *skb, const struct gro_packet *pkt)
{
	struct sk_buff *last = NAPI_GRO_CB(burst)->last;

	if (!skb_gro_header_slow(skb, pkt->off, 0))
		return false;
	skb_orphan(skb);
	skb_set_network_header(skb, pkt->off - sizeof(struct udphdr) - gro_ip_len(pkt->ipv4));
	skb_set_transport_header(skb, pkt->off - sizeof(struct udphdr));
	__skb_pull(skb, pkt->off);
	if (last == burst) {
		skb_orphan(burst);	/* it grows, but not at its sender's expense */
		skb_shinfo(burst)->frag_list = skb;
	} else {
		last->next = skb;
	}
	skb->next = NULL;
	__skb_header_release(skb);
	NAPI_GRO_CB(burst)->last = skb;
	NAPI_GRO_CB(burst)->count++;
	NAPI_GRO_CB(skb)->same_flow = 1;
	burst->len += skb->len;
	burst->data_len += skb->len;
	burst->truesize += skb->truesize;
	return true;
}

/* What is held and what has come are of one queue pair and direction. */
static bool gro_same_queue(const struct sk_buff *held, const struct gro_packet *pkt,
			   u32 *last_psn)
{
	const struct sk_buff *last = NAPI_GRO_CB(held)->last;
	const struct opcode_info *op;
	u8 buf[BTH_LEN];
	const u8 *bth;

	bth = skb_header_pointer(last, last == held ? pkt->off : 0, BTH_LEN, buf);
	op = bth ? opcode_info(bth_opcode(bth)) : NULL;
	if (!op)
		return false;
	*last_psn = bth_psn(bth);
	return bth_dqpn(bth) == pkt->qpn && !(op->flags & OPF_REQUEST) == !pkt->request;
}

/**
 * rxe_gro_receive - a packet has come in: hold it, merge it or let it go
 * @sk: socket of the RoCE port that will receive it
 * @head: what is held; those of the same addresses and ports are marked
 * @skb: the packet; not held if its flush is set
 *
 * Context: softirq, the poll of a network card, RCU read side.
 * Return: the burst that ends here and is to go up, or NULL.
 */
struct sk_buff *rxe_gro_receive(struct sock *sk, struct list_head *head, struct sk_buff *skb)
{
	struct gro_packet pkt = {
		.off = skb_gro_offset(skb),
		.len = skb_gro_len(skb),
		.ipv4 = sk->sk_family == AF_INET,
	};
	struct sk_buff *burst;
	struct list_head *at;
	u32 last_psn;

	if (!gro_parse(skb, &pkt)) {
		NAPI_GRO_CB(skb)->flush = 1;
		return NULL;
	}
	list_for_each(at, head) {
		/* skbs are chained by what stands first in them, under more names than one */
		BUILD_BUG_ON(offsetof(struct sk_buff, next));
		burst = (struct sk_buff *)at;
		if (!NAPI_GRO_CB(burst)->same_flow)
			continue;
		if (!gro_same_queue(burst, &pkt, &last_psn)) {
			NAPI_GRO_CB(burst)->same_flow = 0;
			continue;
		}
		if (!gro_joins(burst, skb, &pkt, last_psn) || !gro_append(burst, skb, &pkt)) {
			NAPI_GRO_CB(skb)->flush |= !pkt.fits || pkt.urgent;
			return burst;
		}
		return pkt.urgent || pkt.len < skb_shinfo(burst)->gso_size ||
		       NAPI_GRO_CB(burst)->count == GRO_PACKETS ? burst : NULL;
	}
	NAPI_GRO_CB(skb)->flush |= !pkt.fits || pkt.urgent;
	return NULL;
}

/**
 * rxe_gro_complete - packets have been merged: make a burst of them
 * @sk: socket of the RoCE port
 * @skb: the first of them, with the others in its list
 * @nhoff: where its BTH stands, from its data on
 *
 * Context: softirq, the poll of a network card, RCU read side.
 * Return: 0.
 */
int rxe_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	const struct sk_buff *last = NAPI_GRO_CB(skb)->last;
	const struct iphdr *ip;

	info->gso_segs = NAPI_GRO_CB(skb)->count;
	info->gso_type |= SKB_GSO_UDP_TUNNEL | SKB_GSO_SCTP;
	if (sk->sk_family == AF_INET) {
		ip = (const void *)(skb->data + nhoff - sizeof(struct udphdr) - sizeof(*ip));
		if (ip->id == ip_hdr(last)->id)
			info->gso_type |= SKB_GSO_TCP_FIXEDID;
	}
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->csum_level = 0;
	skb->encapsulation = 1;
	skb_set_inner_ipproto(skb, RXE_BURST_READY);
	skb_set_inner_mac_header(skb, nhoff);
	skb_set_inner_network_header(skb, nhoff);
	skb_set_inner_transport_header(skb, nhoff);
	return 0;
}
