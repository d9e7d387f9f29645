/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Transmit: flows (net.c) and the bursts of packets that go out by them (burst.c).
 */
#ifndef RXE_FLOW_H
#define RXE_FLOW_H

#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <rdma/ib_verbs.h>

#include "lend.h"

struct rxe_crowd;
struct rxe_dev;
struct rxe_inflight;
struct rxe_pace;
struct rxe_task;
struct rxe_train;

/**
 * struct rxe_flow - where one task of a QP sends its packets
 * @dev: device
 * @task: the task
 * @counts: counters of that side of the QP
 * @inflight: packets that the local stack still holds; outlives the flow
 * @family: AF_INET or AF_INET6, 0: no address yet
 * @ifindex: of the netdev that has the source address
 * @hdr: IP and UDP header of every packet, but for lengths and ident
 * @hdr_len: bytes of @hdr
 * @ident: next IPv4 identification
 * @light: packets are not summed, and several are sent at once, as far as we know
 *	now; read by the receive path
 * @whole: skbs of several packets are handed to the stack
 * @local: the route ends in this namespace
 * @dst: cached route, validated with @cookie on each burst
 * @priority: of its skbs, from @tos, for queues that have classes
 * @tx_cpu: whose transmit queues packets take, plus one; 0: not chosen yet
 * @sent: when the stack was given one last, in jiffies
 * @charged: weight of all that the stack has got
 * @paced: somebody has complained: @pace (NULL of datagrams) is to be asked; set by anybody
 *
 * Owned by the task; needs no lock but the task's own exclusion.
 */
struct rxe_flow {
	struct rxe_dev		*dev;
	struct rxe_task		*task;
	u64			*counts;
	struct rxe_inflight	*inflight;
	sa_family_t		family;
	u8			tos;
	u8			ttl;
	u16			ident;
	__be16			sport;
	int			ifindex;
	u32			flow_label;
	union {
		__be32		v4;
		struct in6_addr	v6;
	} saddr, daddr;
	u8			hdr[sizeof(struct ipv6hdr) + sizeof(struct udphdr)];
	u32			hdr_len;
	bool			light;
	bool			whole;
	bool			local;
	struct dst_entry	*dst;
	u32			cookie;
	u32			priority;
	unsigned int		tx_cpu;
	unsigned long		sent;
	u32			charged;
	bool			paced;
	struct rxe_pace		*pace;
};

/**
 * struct rxe_burst - packets of one flow on their way to the stack, in order
 * @flow: whose
 * @skbs: complete skbs, of one packet or several
 * @open: the skb that may take more packets, or NULL
 * @page: where @open's first packet stands, NULL if it can have no others
 * @last: what its last fragment was cut from, up to @end, if it has several packets
 * @count: packets in @open
 * @size: bytes of its first packet, from BTH to ICRC
 * @longest: of its longest
 * @bytes: of all its packets
 * @sum: where the ICRC of the last one stands, which nobody makes
 * @ident: IPv4 identification of its first packet
 * @room: bytes of packets that an skb may have; 0: one packet
 * @max: packets that an skb may have
 * @headroom: bytes before the IP header
 * @icrc: enum rxe_icrc_mode of all packets
 * @packets: all so far
 * @after: bytes of the one packet that will follow the next, if that is known; or 0
 * @no_route: there is no way to the peer now; packets count as lost on the wire
 * @local: goes to the receive side directly
 * @lends: payload of packets need not be copied
 * @lent: that of @open is not
 * @lent_packets: of @packets, those whose payload is not
 * @loan: what it is copied from at last
 */
struct rxe_burst {
	struct rxe_flow		*flow;
	struct sk_buff_head	skbs;
	struct sk_buff		*open;
	struct page		*page;
	struct page		*last;
	u32			end;
	u32			count;
	u32			size;
	u32			longest;
	u32			bytes;
	u8			*sum;
	u16			ident;
	u32			room;
	u32			max;
	u32			headroom;
	int			icrc;
	u32			packets;
	u32			after;
	bool			no_route;
	bool			local;
	bool			lends;
	bool			lent;
	u32			lent_packets;
	struct rxe_loan		loan;
};

/**
 * struct rxe_txpkt - the packet under construction at the end of a burst
 * @hdr: BTH and extended headers, to be written by the caller
 * @payload: to be filled by the caller; NULL: it is lent
 * @hdr_len: bytes at @hdr
 * @payload_len: bytes at @payload
 * @skb: the skb that begins with it, or NULL if it joins the one before
 * @page: where it stands; NULL: right behind the packet before
 * @offset: likewise, for one that joins
 */
struct rxe_txpkt {
	u8		*hdr;
	u8		*payload;
	u32		hdr_len;
	u32		payload_len;
	struct sk_buff	*skb;
	struct page	*page;
	u32		offset;
};

struct rxe_net;

void rxe_net_exit(void);
struct rxe_net *rxe_net_get(struct net *net);
void rxe_net_put(struct rxe_net *rnet);

struct rxe_crowd *rxe_crowd_create(void);
void rxe_crowd_put(struct rxe_crowd *crowd);

int rxe_flow_init(struct rxe_flow *flow, struct rxe_dev *dev, struct rxe_task *task);
bool rxe_flow_addresses(const struct ib_global_route *grh, struct in6_addr *saddr,
			struct in6_addr *daddr);
int rxe_flow_ifindex(const struct ib_gid_attr *sgid);
int rxe_flow_set(struct rxe_flow *flow, const struct rdma_ah_attr *attr,
		 u32 lqpn, u32 rqpn);
void rxe_flow_reset(struct rxe_flow *flow);
void rxe_flow_exit(struct rxe_flow *flow);
bool rxe_flow_busy(struct rxe_flow *flow);
u32 rxe_flow_packets(const struct rxe_flow *flow, u32 payload);
bool rxe_flow_full(const struct rxe_flow *flow);
u32 rxe_flow_charged(const struct rxe_flow *flow);
bool rxe_flow_queued(const struct rxe_flow *flow, u32 charged);

void rxe_burst_begin(struct rxe_burst *burst, struct rxe_flow *flow);
int rxe_burst_add(struct rxe_burst *burst, struct rxe_txpkt *pkt, u32 hdr_len,
		  u32 payload_len);
void rxe_burst_close(struct rxe_burst *burst, struct rxe_txpkt *pkt);
int rxe_burst_lend(struct rxe_burst *burst, struct rxe_txpkt *pkt, u32 hdr_len,
		   u32 payload_len);
void rxe_burst_drop(struct rxe_burst *burst, struct rxe_txpkt *pkt);
bool rxe_burst_train(struct rxe_burst *burst, struct rxe_txpkt *pkt, u32 payload_len,
		     u32 most, struct rxe_train *train);
void rxe_burst_train_close(struct rxe_burst *burst, struct rxe_txpkt *pkt,
			   const struct rxe_train *train, u32 count, const u8 *bth);
void rxe_burst_send(struct rxe_burst *burst);

#endif /* RXE_FLOW_H */
