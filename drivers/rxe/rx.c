// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive: datagram -> checked packet -> QP.
 *
 * Everything here comes from strangers.  A packet that leaves this file has a
 * known QP of the right namespace, comes from the address that the QP is
 * connected to, has all its headers and no more payload than any path MTU
 * allows.  Its ICRC is right when it leaves the queue (rxe_rx_dequeue).  What
 * the packet means for the QP is decided by its responder or completer.
 *
 * A queued skb carries a burst: packets of one QP, in order.  Its headers are
 * parsed where it is consumed, so that a burst of many packets needs no memory
 * per packet.
 */
#include <linux/crc32.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "rxe.h"

/* What a queued skb says about itself */
struct rx_cb {
	u32	first;		/* offset of the first BTH */
	u32	end;		/* offset behind the last ICRC */
};

#define RX_CB(skb) ((struct rx_cb *)(skb)->cb)

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

/**
 * rxe_rx_iter_init - walk the packets of a queued skb
 * @it: the walk
 * @skb: taken from a QP's receive queue
 *
 * Context: any.
 */
void rxe_rx_iter_init(struct rxe_rx_iter *it, struct sk_buff *skb)
{
	it->skb = skb;
	it->offset = RX_CB(skb)->first;
}

/**
 * rxe_rx_next - the next packet of a queued skb
 * @it: the walk
 * @pkt: filled; points into the skb, and into itself
 *
 * Context: any.
 * Return: false at the end.
 */
bool rxe_rx_next(struct rxe_rx_iter *it, struct rxe_rxpkt *pkt)
{
	struct sk_buff *skb = it->skb;
	u32 end = RX_CB(skb)->end;
	u32 offset = it->offset;
	const u8 *hdr;

	if (offset >= end)
		return false;
	it->offset = end;	/* one packet an skb */
	hdr = skb_header_pointer(skb, offset, BTH_LEN, pkt->hdr_buf);
	if (!hdr)
		return false;
	pkt->opcode = bth_opcode(hdr);
	pkt->op = rx_opcode(pkt->opcode);
	if (!pkt->op || pkt->op->hdr_len > sizeof(pkt->hdr_buf))
		return false;
	pkt->hdr = skb_header_pointer(skb, offset, pkt->op->hdr_len, pkt->hdr_buf);
	if (!pkt->hdr)
		return false;
	pkt->skb = skb;
	pkt->psn = bth_psn(pkt->hdr);
	pkt->pad = bth_pad(pkt->hdr);
	pkt->se = bth_se(pkt->hdr);
	pkt->ackreq = bth_ackreq(pkt->hdr);
	pkt->payload_off = offset + pkt->op->hdr_len;
	pkt->payload_len = end - pkt->payload_off - ICRC_LEN - pkt->pad;
	return true;
}

/* BTH and lengths of a datagram whose BTH is linear (9.6, header validation). */
static bool rx_well_formed(const struct sk_buff *skb, const u8 *bth,
			   const struct opcode_info *op)
{
	u32 len = skb->len - sizeof(struct udphdr);

	if (bth_tver(bth) || !op || op->transport != OP_TRANSPORT_RC ||
	    len > op->hdr_len + RXE_MAX_PAYLOAD + ICRC_LEN)
		return false;
	/* an undefined opcode has headers that we cannot tell from payload */
	return len >= op->hdr_len + bth_pad(bth) + ICRC_LEN && !(len & 3);
}

static bool rx_pkey_ok(const u8 *bth)
{
	/* low bits equal to our only key, which is a full member's (10.9.3) */
	return (bth_pkey(bth) & 0x7fff) == (RXE_DEFAULT_PKEY & 0x7fff);
}

static bool rx_icrc_ok(const struct sk_buff *skb)
{
	u32 covered = sizeof(struct udphdr) + BTH_LEN;
	const u8 *ip = skb_network_header(skb);
	u8 pseudo[ICRC_PSEUDO_MAX];
	u8 buf[ICRC_LEN];
	const u8 *icrc;
	u32 len, crc;

	if (ip_hdr(skb)->version == 4)
		len = icrc_pseudo_ipv4(pseudo, ip, skb->data,
				       skb->data + sizeof(struct udphdr));
	else
		len = icrc_pseudo_ipv6(pseudo, ip, skb->data,
				       skb->data + sizeof(struct udphdr));
	crc = crc32_le(ICRC_SEED, pseudo, len);
	crc = rxe_mem_sum_skb(skb, covered, skb->len - covered - ICRC_LEN, crc);
	icrc = skb_header_pointer(skb, skb->len - ICRC_LEN, ICRC_LEN, buf);
	return icrc && icrc_match(icrc, crc);
}

/* The sum covers the plain IP header: no options, no extension headers. */
static bool rx_plain_ip(const struct sk_buff *skb)
{
	if (ip_hdr(skb)->version == 4)
		return ip_hdr(skb)->ihl == 5;
	return ipv6_hdr(skb)->nexthdr == IPPROTO_UDP;
}

/* From the address that the QP is connected to, to the address it has? */
static bool rx_from_peer(const struct rxe_qp *qp, const struct sk_buff *skb)
{
	const struct rxe_flow *flow = &qp->rq.flow;

	if (ip_hdr(skb)->version == 4)
		return flow->family == AF_INET &&
		       ip_hdr(skb)->saddr == flow->daddr.v4 &&
		       ip_hdr(skb)->daddr == flow->saddr.v4;
	return flow->family == AF_INET6 &&
	       ipv6_addr_equal(&ipv6_hdr(skb)->saddr, &flow->daddr.v6) &&
	       ipv6_addr_equal(&ipv6_hdr(skb)->daddr, &flow->saddr.v6);
}

/**
 * rxe_rx_dequeue - the next received skb whose ICRC is right
 * @dev: counts those whose ICRC is not
 * @queue: of one side of a QP
 *
 * The sum is the larger part of the work on a packet, so it is done where the
 * packet is consumed, maybe on another CPU than the one that received it.
 *
 * Context: the task of that side.
 * Return: the skb or NULL.
 */
struct sk_buff *rxe_rx_dequeue(struct rxe_dev *dev, struct sk_buff_head *queue)
{
	struct sk_buff *skb;

	while ((skb = skb_dequeue(queue))) {
		if (likely(rx_icrc_ok(skb)))
			break;
		rxe_count(dev, RXE_CNT_RX_ICRC_ERRORS);
		kfree_skb(skb);
	}
	return skb;
}

/* Bytes of payload that come with a packet, or that it asks for. */
static u32 rx_payload(const struct sk_buff *skb, const struct opcode_info *op)
{
	u32 at = sizeof(struct udphdr);
	u8 buf[RETH_LEN];
	const u8 *reth;

	if (!(op->flags & OPF_REQUEST) || !(op->flags & OPF_READ))
		return skb->len - at - op->hdr_len - ICRC_LEN;
	reth = skb_header_pointer(skb, at + op->reth, RETH_LEN, buf);
	return reth ? reth_len(reth) : 0;
}

/*
 * Whether the work on an skb just queued is worth another CPU: bulk data in the
 * middle of a message, or behind others that wait, and answers that let bulk
 * data go.  Not if so much waits that there seems to be no CPU free.
 */
static bool rx_is_bulk(const struct rxe_qp *qp, const struct opcode_info *op,
		       u32 payload, u32 waiting)
{
	if (waiting > RXE_BULK_WAITING || num_online_cpus() == 1)
		return false;
	if (op->flags & OPF_ACK)
		return READ_ONCE(qp->sq.bulk) && waiting < 4;
	if (payload > RXE_MAX_PAYLOAD)
		return true;	/* a READ */
	return payload >= RXE_BULK_PAYLOAD && (waiting > 1 || !(op->flags & OPF_END));
}

/* Queues the skb for the side of the QP that it concerns, and has it run. */
static void rx_deliver(struct rxe_qp *qp, struct sk_buff *skb,
		       const struct opcode_info *op)
{
	bool request = op->flags & OPF_REQUEST;
	struct sk_buff_head *queue = request ? &qp->rq.rxq : &qp->sq.rxq;
	struct rxe_task *task = request ? &qp->rq.task : &qp->sq.task;
	u32 payload = rx_payload(skb, op);

	if (unlikely(skb_queue_len(queue) >= RXE_RXQ_MAX)) {
		rxe_count(qp->dev, RXE_CNT_RX_QUEUE_FULL);
		kfree_skb(skb);
		return;
	}
	RX_CB(skb)->first = sizeof(struct udphdr);
	RX_CB(skb)->end = skb->len;
	rxe_count(qp->dev, RXE_CNT_RX_PACKETS);
	rxe_count_add(qp->dev, RXE_CNT_RX_BYTES, skb->len);
	/* a route looked up for input must not outlive this call */
	skb_dst_drop(skb);
	skb_queue_tail(queue, skb);
	/* the skb may be gone by now */
	if (rx_is_bulk(qp, op, payload, skb_queue_len(queue)))
		rxe_task_queue(task);
	else
		rxe_task_run(task);
}

static void rx_to_qp(struct rxe_qp *qp, struct net *net, struct sk_buff *skb,
		     const u8 *bth)
{
	const struct opcode_info *op = rx_opcode(bth_opcode(bth));
	enum rxe_counter why;

	if (!net_eq(dev_net(qp->dev->ndev), net) || !rx_from_peer(qp, skb)) {
		why = RXE_CNT_RX_NO_QP;
	} else if (!rx_plain_ip(skb) || !rx_well_formed(skb, bth, op)) {
		why = RXE_CNT_RX_MALFORMED;
	} else if (!rx_pkey_ok(bth)) {
		why = RXE_CNT_RX_BAD_PKEY;
	} else {
		rx_deliver(qp, skb, op);
		return;
	}
	rxe_count(qp->dev, why);
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
	const u8 *bth;
	struct rxe_id *id;

	if (skb->len < sizeof(struct udphdr) + BTH_LEN + ICRC_LEN ||
	    !pskb_may_pull(skb, sizeof(struct udphdr) + BTH_LEN))
		goto drop;
	bth = skb->data + sizeof(struct udphdr);
	id = rxe_id_get(&rxe_qp_ids, bth_dqpn(bth));
	if (!id)
		goto drop;
	rx_to_qp(id->object, sock_net(sk), skb, bth);
	rxe_id_put(id);
	return 0;
drop:
	kfree_skb(skb);
	return 0;
}
