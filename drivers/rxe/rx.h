/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Receive: datagram -> checked packet -> QP (rx.c).
 */
#ifndef RXE_RX_H
#define RXE_RX_H

#include <linux/types.h>

#include "proto/opcode.h"
#include "proto/wire.h"

struct rxe_dev;
struct rxe_qp;
struct rxe_train;
struct sk_buff;
struct sk_buff_head;
struct sock;

/**
 * struct rxe_rxpkt - one received packet, checked: ICRC, pad, length
 * @op: what the opcode means
 * @hdr: BTH and extended headers, contiguous
 * @skb: it came in, with the IP header of all packets there
 * @part: holds the payload: @skb, or one in its list
 * @payload_off: of the payload in @part
 * @payload_len: without pad and ICRC
 * @index: of the packet in its burst
 * @vlan_id: of the destination address, for QP 1
 * @answered: of a request: what rq.answered was when it came
 */
struct rxe_rxpkt {
	const struct opcode_info *op;
	const u8		*hdr;
	struct sk_buff		*skb;
	const struct sk_buff	*part;
	u32			psn;
	u32			payload_off;
	u32			payload_len;
	u32			index;
	u8			opcode;
	u8			pad;
	bool			ackreq;
	bool			se;
	u16			vlan_id;
	u32			answered;
	u8			hdr_buf[BTH_LEN + ATMETH_LEN + DETH_LEN];
};

/* Walks the packets of a received burst, for a side of a QP with these counters. */
struct rxe_rx_iter {
	struct sk_buff	*skb;
	struct rxe_dev	*dev;
	u64		*counts;
	const struct sk_buff *part;	/* with the next packet; NULL: @skb holds all */
	u32		offset;		/* of the next BTH in @skb */
	u32		len;		/* bytes of that packet, from BTH to ICRC */
	u32		payload;	/* of the next payload there, if that is lent */
	u32		index;		/* of that packet */
};

void rxe_rx_iter_init(struct rxe_rx_iter *it, struct rxe_dev *dev, u64 *counts,
		      struct sk_buff *skb);
bool rxe_rx_pkey_ok(const u8 *bth);
void rxe_rx_ip_header(const struct rxe_rxpkt *pkt, u8 *hdr);
bool rxe_rx_more(const struct rxe_rx_iter *it);
bool rxe_rx_next(struct rxe_rx_iter *it, struct rxe_rxpkt *pkt);
bool rxe_rx_train(const struct rxe_rx_iter *it, const struct rxe_rxpkt *pkt, u32 most,
		  struct rxe_train *train);
void rxe_rx_skip(struct rxe_rx_iter *it, const struct rxe_rxpkt *pkt, u32 count);
u32 rxe_rx_age(const struct sk_buff *skb);
struct sk_buff *rxe_rx_dequeue(struct rxe_qp *qp, struct sk_buff_head *queue, u64 *counts);
int rxe_rx_datagram(struct sock *sk, struct sk_buff *skb);
void rxe_rx_direct(struct sock *sk, struct sk_buff *skb, bool summed, u8 nest);

#endif /* RXE_RX_H */
