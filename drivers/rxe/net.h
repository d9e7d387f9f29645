/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What net.c (sockets, routes), burst.c (packets), segment.c (cutting) and gro.c (merging)
 * share.
 */
#ifndef RXE_NET_H
#define RXE_NET_H

#include "rxe.h"

/**
 * struct rxe_net - the RoCE port of one network namespace
 * @list: in net.c's list
 * @net: the namespace
 * @users: devices in it
 * @sock4: IPv4 socket
 * @sock6: IPv6 socket, NULL where there is no IPv6
 */
struct rxe_net {
	struct list_head	list;
	struct net		*net;
	u32			users;
	struct socket		*sock4;
	struct socket		*sock6;
};

struct dst_entry *rxe_flow_route(struct rxe_flow *flow);

void rxe_inflight_charge(struct rxe_flow *flow, struct sk_buff *skb);
void rxe_inflight_share(struct sk_buff *whole, struct sk_buff *segs);

/*
 * Inner protocol numbers of a burst that travels as one skb (RFC 3692: for
 * experiments).  They never appear on the wire, they choose what segment.c does.
 */
enum {
	RXE_BURST_SUM	= 253,	/* the ICRCs are made when it is cut; of mixed lengths */
	RXE_BURST_READY	= 254,	/* the ICRCs are in place */
	RXE_BURST_LENT	= 255,	/* the stack never sees it: payload is lent (lend.c) */
};

/* How the ICRC is made: module parameter "icrc" (burst.c) */
enum rxe_icrc_mode {
	RXE_ICRC_LAZY,		/* in a burst that stays whole there is none */
	RXE_ICRC_ALWAYS,
	RXE_ICRC_OFF,
};

/* Bytes behind the BTH that rxe_icrc_sum() can sum together with the headers */
#define RXE_ICRC_MORE	128

u32 rxe_icrc_sum(const u8 *ip, bool ipv4, const u8 *bth, const u8 *more, u32 len);

u32 rxe_burst_first(const struct sk_buff *skb);
int rxe_segment_init(void);
void rxe_segment_exit(void);

struct sk_buff *rxe_gro_receive(struct sock *sk, struct list_head *head, struct sk_buff *skb);
int rxe_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff);

#endif /* RXE_NET_H */
