// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sockets, routes, and what the stack holds.
 *
 * Receive side: every network namespace that holds a device has one IPv4 and
 * one IPv6 socket on the RoCE port (struct rxe_net); they appear with the first
 * device and go with the last.
 *
 * Transmit side: a task sends through its struct rxe_flow, in bursts (burst.c).
 *
 * What the stack still holds is counted per flow, so that a flow cannot fill a
 * queue below it, nor many of them together; the count outlives the flow, because
 * an skb may sit in a qdisc long after its QP is gone.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <linux/wait.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_cache.h>

#include "net.h"
#include "txmem.h"

/* Jiffies to wait for packets in queues before the log tells about them */
#define NET_EXIT_PATIENCE	(5 * HZ)

static LIST_HEAD(net_list);
static DEFINE_MUTEX(net_mutex);		/* net_list, users */

/* --- sockets ---------------------------------------------------------------- */

static struct socket *net_open(struct net *net, sa_family_t family)
{
	struct udp_port_cfg port = {
		.family = family,
		.local_udp_port = htons(ROCE_UDP_PORT),
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type = 1,
		.encap_rcv = rxe_rx_datagram,
		.gro_receive = rxe_gro_receive,
		.gro_complete = rxe_gro_complete,
	};
	struct socket *sock = NULL;
	int err;

	/* RoCE v2 has a checksum of its own, the UDP one is zero (A17.4.5) */
	port.use_udp6_rx_checksums = 0;
	port.ipv6_v6only = family == AF_INET6;
	err = udp_sock_create(net, &port, &sock);
	if (err)
		return ERR_PTR(err);
	if (!sock)	/* IPv6 is not built in */
		return ERR_PTR(-EAFNOSUPPORT);
	setup_udp_tunnel_sock(net, sock->sk, &tunnel);
	return sock;
}

static void net_close(struct socket *sock)
{
	if (sock)
		udp_tunnel_sock_release(sock->sk);
}

static int net_open_both(struct rxe_net *rnet)
{
	struct socket *sock;

	sock = net_open(rnet->net, AF_INET);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	rnet->sock4 = sock;
	sock = net_open(rnet->net, AF_INET6);
	if (!IS_ERR(sock)) {
		rnet->sock6 = sock;
		return 0;
	}
	/* without IPv6 the device works over IPv4 */
	if (PTR_ERR(sock) == -EAFNOSUPPORT || PTR_ERR(sock) == -EPFNOSUPPORT)
		return 0;
	net_close(rnet->sock4);
	return PTR_ERR(sock);
}

static struct rxe_net *net_find(struct net *net)
{
	struct rxe_net *rnet;

	lockdep_assert_held(&net_mutex);
	list_for_each_entry(rnet, &net_list, list)
		if (net_eq(rnet->net, net))
			return rnet;
	return NULL;
}

/**
 * rxe_net_get - make a namespace receive RoCE
 * @net: the namespace; the caller's netdev keeps it alive
 *
 * Context: process, may sleep.
 * Return: a reference to put with rxe_net_put(), or an error pointer;
 * -EADDRINUSE if another socket owns the RoCE port.
 */
struct rxe_net *rxe_net_get(struct net *net)
{
	struct rxe_net *rnet;
	int err = 0;

	mutex_lock(&net_mutex);
	rnet = net_find(net);
	if (!rnet) {
		rnet = kzalloc(sizeof(*rnet), GFP_KERNEL);
		if (!rnet) {
			err = -ENOMEM;
			goto out;
		}
		rnet->net = net;
		err = net_open_both(rnet);
		if (err) {
			kfree(rnet);
			goto out;
		}
		list_add(&rnet->list, &net_list);
	}
	rnet->users++;
out:
	mutex_unlock(&net_mutex);
	return err ? ERR_PTR(err) : rnet;
}

/**
 * rxe_net_put - give up a reference of rxe_net_get()
 * @rnet: the namespace's sockets; closed with the last reference
 *
 * Context: process, may sleep.
 */
void rxe_net_put(struct rxe_net *rnet)
{
	mutex_lock(&net_mutex);
	if (!--rnet->users) {
		list_del(&rnet->list);
		net_close(rnet->sock4);
		net_close(rnet->sock6);
		/* a datagram may still be on its way through rxe_rx_datagram() */
		synchronize_net();
		kfree(rnet);
	}
	mutex_unlock(&net_mutex);
}

/* --- packets that the stack holds ------------------------------------------- */

/* Units of RXE_FLOW_HIGH that an skb weighs; queues count packets, too: none is for nothing */
#define INFLIGHT_LEAST	4
#define INFLIGHT_MOST	64
#define INFLIGHT_OWNER	0x1000000

/**
 * struct rxe_inflight - what the stack holds of one flow
 * @held: weight of the skbs, of one packet or several, plus INFLIGHT_OWNER while the flow exists
 * @waiting: the flow wants to be called when there is room
 * @high: from here on the flow is busy; the flow's task
 * @low: there is room from here on; likewise
 * @cut: when a burst was cut last, in jiffies; whoever cuts
 * @shared: by how much packets weighed more than the bursts that were cut into them
 * @crowd: of the device
 * @member: it counts there
 * @lock: @task
 * @task: whom to call, NULL after the flow has gone
 * @rcu: a destructor may still look at it
 * @weight: each index, at its place: an skb points to what it weighs, whatever is made of
 *	it and of its length until it is freed, and from there it is not far to the rest
 */
struct rxe_inflight {
	atomic_t	held;
	bool		waiting;
	u32		high;
	u32		low;
	unsigned long	cut;
	atomic_t	shared;
	struct rxe_crowd *crowd;
	atomic_t	member;
	spinlock_t	lock;		/* task, waiting */
	struct rxe_task	*task;
	struct rcu_head	rcu;
	u8		weight[INFLIGHT_MOST + 1];
};

static atomic_t inflight_count = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(inflight_none);

/**
 * struct rxe_crowd - flows of a device that hold much in local queues
 * @refs: the device, and each of its flows, which may outlive it (struct rxe_inflight)
 * @flows: those that hold much now; all of them share RXE_FLOW_HIGH
 * @rcu: a destructor may still look at it
 */
struct rxe_crowd {
	atomic_t	refs;
	atomic_t	flows;
	struct rcu_head	rcu;
};

/**
 * rxe_crowd_create - for a device: nobody yet
 *
 * Context: process, may sleep.
 * Return: to be put, or NULL.
 */
struct rxe_crowd *rxe_crowd_create(void)
{
	struct rxe_crowd *crowd = kzalloc(sizeof(*crowd), GFP_KERNEL);

	if (crowd)
		atomic_set(&crowd->refs, 1);
	return crowd;
}

/**
 * rxe_crowd_put - give back a reference
 * @crowd: or NULL
 *
 * Context: any.
 */
void rxe_crowd_put(struct rxe_crowd *crowd)
{
	if (crowd && atomic_dec_and_test(&crowd->refs))
		kfree_rcu(crowd, rcu);
}

/* What fills a queue, and not just passes through */
#define CROWD_HELD	INFLIGHT_MOST

/* The flow's task; before the stack has the skb by which it holds much */
static void crowd_join(struct rxe_inflight *inflight)
{
	if (!atomic_read(&inflight->member) && !atomic_xchg(&inflight->member, 1))
		atomic_inc(&inflight->crowd->flows);
}

/* Whoever frees the last skb */
static void crowd_leave(struct rxe_inflight *inflight)
{
	if (atomic_read(&inflight->member) && atomic_xchg(&inflight->member, 0))
		atomic_dec(&inflight->crowd->flows);
}

static void inflight_free(struct rxe_inflight *inflight)
{
	crowd_leave(inflight);
	rxe_crowd_put(inflight->crowd);
	kfree_rcu(inflight, rcu);
	if (atomic_dec_and_test(&inflight_count))
		wake_up(&inflight_none);
}

static u32 inflight_held(const struct rxe_inflight *inflight)
{
	return atomic_read(&inflight->held) - INFLIGHT_OWNER;
}

static void inflight_wake(struct rxe_inflight *inflight)
{
	unsigned long flags;

	spin_lock_irqsave(&inflight->lock, flags);
	if (inflight->task && inflight->waiting) {
		WRITE_ONCE(inflight->waiting, false);
		tasklet_schedule(&inflight->task->bh);
	}
	spin_unlock_irqrestore(&inflight->lock, flags);
}

/* @weight: what an skb points to */
static struct rxe_inflight *inflight_of(u8 *weight)
{
	return container_of(weight - *weight, struct rxe_inflight, weight[0]);
}

static void inflight_destructor(struct sk_buff *skb)
{
	u8 *weight = skb_shinfo(skb)->destructor_arg;
	struct rxe_inflight *inflight = inflight_of(weight);
	int left;

	rcu_read_lock();	/* it is not freed meanwhile; nor is this code */
	/* a full barrier: who waits sees the room, or is seen waiting */
	left = atomic_sub_return(*weight, &inflight->held);
	if (!(left & (INFLIGHT_OWNER - 1)))
		crowd_leave(inflight);
	if (!left)
		inflight_free(inflight);
	else if (READ_ONCE(inflight->waiting) &&
		 (left & (INFLIGHT_OWNER - 1)) <= READ_ONCE(inflight->low))
		inflight_wake(inflight);
	rcu_read_unlock();
}

/* Has an skb given back what it weighs when it is freed. */
static u32 inflight_put_on(struct rxe_inflight *inflight, struct sk_buff *skb)
{
	u32 weight = clamp_t(u32, skb->len / 1024, INFLIGHT_LEAST, INFLIGHT_MOST);

	skb_shinfo(skb)->destructor_arg = &inflight->weight[weight];
	skb->destructor = inflight_destructor;
	return weight;
}

/*
 * A NIC has a transmit queue for each CPU, or for some (XPS), and a task runs now on this CPU
 * and then on that one: a flow would overtake itself. So its packets take the queue of the
 * CPU on which the first of them was sent, until the stack holds none any more, nor has been
 * given one for STEER_IDLE: a driver may let go of a packet that is in its queue still.
 */
#define STEER_IDLE	msecs_to_jiffies(20)

static void inflight_steer(struct rxe_flow *flow, struct sk_buff *skb, bool alone)
{
#ifdef CONFIG_XPS
	if (!flow->tx_cpu || (alone && time_after(jiffies, flow->sent + STEER_IDLE)))
		flow->tx_cpu = raw_smp_processor_id() + 1;
	flow->sent = jiffies;
	skb->sender_cpu = flow->tx_cpu;
#endif
}

/* As long as bursts are taken for ones that are cut */
#define CUT_REMEMBERED	((unsigned long)HZ)
/* Packets of a burst that is worth while though it is cut */
#define CUT_LEAST	4

/*
 * A flow that holds @held, @before and one skb more: what one may have in a local queue is what
 * all of a device that fill it have together. One that holds as much as a full burst, or half of
 * its share and sends on, counts; one that has sent a few packets does not.
 */
static void inflight_limit(struct rxe_inflight *inflight, u32 before, u32 held)
{
	u32 high;

	if (held >= CROWD_HELD || before >= max_t(u32, inflight->high / 2, 1))
		crowd_join(inflight);
	high = RXE_FLOW_HIGH / clamp_t(u32, atomic_read(&inflight->crowd->flows), 1, RXE_FLOW_HIGH);
	inflight->high = high;
	WRITE_ONCE(inflight->low, high / 2);
}

/**
 * rxe_inflight_charge - count an skb until the stack has done with it
 * @flow: whose
 * @skb: of one packet or several, which the stack is about to get
 *
 * Context: the flow's task.
 */
void rxe_inflight_charge(struct rxe_flow *flow, struct sk_buff *skb)
{
	struct rxe_inflight *inflight = flow->inflight;
	u32 weight = inflight_put_on(inflight, skb);
	u32 held = atomic_add_return(weight, &inflight->held) - INFLIGHT_OWNER;

	flow->charged += weight;
	if (held >= min_t(u32, CROWD_HELD, inflight->high))
		inflight_limit(inflight, held - weight, held);
	inflight_steer(flow, skb, held == weight);
}

/* Not so of copies and clones, and behind who takes packets over */
static bool inflight_charged(const struct sk_buff *skb)
{
	return skb->destructor == inflight_destructor;
}

/**
 * rxe_inflight_share - a burst has been cut: count its packets instead
 * @whole: the burst; not charged any more
 * @segs: its packets
 *
 * Context: softirq or process, the segmenter.
 */
void rxe_inflight_share(struct sk_buff *whole, struct sk_buff *segs)
{
	u8 *weight = skb_shinfo(whole)->destructor_arg;
	struct rxe_inflight *inflight;
	struct sk_buff *seg;
	int more;

	if (!inflight_charged(whole))
		return;
	inflight = inflight_of(weight);
	more = -*weight;
	for (seg = segs; seg; seg = seg->next)
		more += inflight_put_on(inflight, seg);
	/* the whole's charge goes to them; nobody else has them yet */
	atomic_add(more, &inflight->held);
	atomic_add(more, &inflight->shared);
	whole->destructor = NULL;
	WRITE_ONCE(inflight->cut, jiffies);
}

/**
 * rxe_flow_busy - whether the local stack holds enough of a flow's packets, or the
 * network wants it to wait
 * @flow: the flow
 *
 * If so, the flow's task is called again when there is room, or time has come.
 *
 * Context: the flow's task.
 */
bool rxe_flow_busy(struct rxe_flow *flow)
{
	struct rxe_inflight *inflight = flow->inflight;

	if (unlikely(READ_ONCE(flow->paced)) && rxe_pace_holds(flow))
		return true;
	if (likely(inflight_held(inflight) < inflight->high))
		return false;
	WRITE_ONCE(inflight->waiting, true);
	smp_mb();	/* the flag is seen, or we see the room that was made */
	return inflight_held(inflight) >= inflight->high;
}

/**
 * rxe_flow_packets - packets that a flow may make before it asks again whether it is busy
 * @flow: the flow
 * @payload: bytes of payload that each has, at most
 *
 * Packets weigh as much as the burst that they share. Where it is cut before it gets into the
 * local queue, or there is none, each weighs more than its bytes; and what one among many may
 * have there is little. So no more are made than there is room for, but a burst, if it stays
 * whole. One that is alone there may have a little more than its share, and be faster.
 *
 * Context: the flow's task.
 * Return: 1 to RXE_TASK_BUDGET.
 */
u32 rxe_flow_packets(const struct rxe_flow *flow, u32 payload)
{
	const struct rxe_inflight *inflight = flow->inflight;
	u32 weight = max_t(u32, payload / 1024, INFLIGHT_LEAST);
	u32 least = 1;
	u32 room;

	if (likely(flow->whole)) {
		least = CUT_LEAST;
		if (likely(time_after(jiffies, READ_ONCE(inflight->cut) + CUT_REMEMBERED - 1))) {
			if (likely(inflight->high == RXE_FLOW_HIGH))
				return RXE_TASK_BUDGET;
			weight = max_t(u32, payload / 1024, 1);
			least = INFLIGHT_MOST / weight;
		}
	}
	room = inflight->high - min(inflight_held(inflight), inflight->high);
	return clamp_t(u32, room / weight, least, RXE_TASK_BUDGET);
}

/**
 * rxe_flow_full - whether the local stack holds enough of a flow's packets
 * @flow: the flow
 *
 * Context: the flow's task; it is not called when there is room.
 */
bool rxe_flow_full(const struct rxe_flow *flow)
{
	return inflight_held(flow->inflight) >= flow->inflight->high;
}

/**
 * rxe_flow_charged - what the stack has got of a flow, for rxe_flow_queued()
 * @flow: the flow
 *
 * Context: the flow's task.
 * Return: a number that grows and wraps.
 */
u32 rxe_flow_charged(const struct rxe_flow *flow)
{
	return flow->charged + atomic_read(&flow->inflight->shared);
}

/**
 * rxe_flow_queued - whether the local stack has not let go of what it got until then
 * @flow: the flow
 * @charged: rxe_flow_charged() of then
 *
 * A queue lets go in order. If a burst of before was cut since, this may say no too early.
 *
 * Context: the flow's task.
 */
bool rxe_flow_queued(const struct rxe_flow *flow, u32 charged)
{
	u32 since = rxe_flow_charged(flow) - charged;

	return (s32)(inflight_held(flow->inflight) - since) > 0;
}

/* --- flows ------------------------------------------------------------------ */

/**
 * rxe_flow_init - make a flow without an address
 * @flow: to be filled
 * @dev: device
 * @task: called when a busy flow has room again
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rxe_flow_init(struct rxe_flow *flow, struct rxe_dev *dev, struct rxe_task *task)
{
	struct rxe_inflight *inflight;
	int i;

	memset(flow, 0, sizeof(*flow));
	inflight = kzalloc(sizeof(*inflight), GFP_KERNEL);
	if (!inflight)
		return -ENOMEM;
	atomic_set(&inflight->held, INFLIGHT_OWNER);
	for (i = 0; i <= INFLIGHT_MOST; i++)
		inflight->weight[i] = i;
	inflight->high = RXE_FLOW_HIGH;
	inflight->low = RXE_FLOW_LOW;
	inflight->cut = jiffies - CUT_REMEMBERED;
	inflight->crowd = dev->crowd;
	atomic_inc(&inflight->crowd->refs);
	spin_lock_init(&inflight->lock);
	inflight->task = task;
	atomic_inc(&inflight_count);
	flow->dev = dev;
	flow->task = task;
	flow->counts = task->counts;
	flow->inflight = inflight;
	flow->ident = get_random_u32();
	return 0;
}

static void flow_drop_route(struct rxe_flow *flow)
{
	dst_release(flow->dst);
	flow->dst = NULL;
}

/**
 * rxe_flow_exit - let go of a flow; packets on their way are not waited for
 * @flow: the flow; its task has been stopped
 *
 * Context: process.
 */
void rxe_flow_exit(struct rxe_flow *flow)
{
	struct rxe_inflight *inflight = flow->inflight;

	if (!inflight)
		return;
	flow->inflight = NULL;
	flow_drop_route(flow);
	spin_lock_irq(&inflight->lock);
	inflight->task = NULL;
	spin_unlock_irq(&inflight->lock);
	if (!atomic_sub_return(INFLIGHT_OWNER, &inflight->held))
		inflight_free(inflight);
}

/**
 * rxe_flow_reset - forget the address
 * @flow: the flow; its task does not run
 *
 * Context: process.
 */
void rxe_flow_reset(struct rxe_flow *flow)
{
	flow_drop_route(flow);
	flow->family = 0;
}

static void flow_build_ipv4(struct rxe_flow *flow)
{
	struct iphdr *ip = (struct iphdr *)flow->hdr;

	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tos = flow->tos;
	ip->frag_off = htons(IP_DF);
	ip->ttl = flow->ttl;
	ip->protocol = IPPROTO_UDP;
	ip->saddr = flow->saddr.v4;
	ip->daddr = flow->daddr.v4;
	flow->hdr_len = sizeof(*ip) + sizeof(struct udphdr);
}

static void flow_build_ipv6(struct rxe_flow *flow)
{
	struct ipv6hdr *ip6 = (struct ipv6hdr *)flow->hdr;

	ip6_flow_hdr(ip6, flow->tos, htonl(flow->flow_label));
	ip6->nexthdr = IPPROTO_UDP;
	ip6->hop_limit = flow->ttl;
	ip6->saddr = flow->saddr.v6;
	ip6->daddr = flow->daddr.v6;
	flow->hdr_len = sizeof(*ip6) + sizeof(struct udphdr);
}

/**
 * rxe_flow_addresses - the IP addresses of an address vector
 * @grh: address vector with a resolved source GID
 * @saddr: out: source; an IPv4 address as ::ffff:a.b.c.d
 * @daddr: out: destination, likewise
 *
 * Connection managers of RoCE v1 write an IPv4 group as ff0e::ffff:a.b.c.d; who
 * sends to one from an IPv4 address means the group.
 *
 * Context: any.
 * Return: whether both are of one family.
 */
bool rxe_flow_addresses(const struct ib_global_route *grh, struct in6_addr *saddr,
			struct in6_addr *daddr)
{
	memcpy(saddr, grh->sgid_attr->gid.raw, sizeof(*saddr));
	memcpy(daddr, grh->dgid.raw, sizeof(*daddr));
	if (ipv6_addr_v4mapped(saddr) && daddr->s6_addr32[0] == htonl(0xff0e0000))
		daddr->s6_addr32[0] = 0;
	return ipv6_addr_v4mapped(saddr) == ipv6_addr_v4mapped(daddr);
}

/**
 * rxe_flow_ifindex - the netdev that has a source address
 * @sgid: the address, held by the caller
 *
 * Asked for each datagram, so it does without the lock of the GID table, which
 * rdma_read_gid_attr_ndev_rcu() takes: whether the address is on its way out does not matter.
 *
 * Context: any.
 * Return: its index, or 0: it has none any more.
 */
int rxe_flow_ifindex(const struct ib_gid_attr *sgid)
{
	const struct net_device *ndev;
	int ifindex;

	rcu_read_lock();
	ndev = rcu_dereference(sgid->ndev);
	ifindex = ndev ? ndev->ifindex : 0;
	rcu_read_unlock();
	return ifindex;
}

/**
 * rxe_flow_set - give a flow its address
 * @flow: the flow; its task does not run
 * @attr: address vector with a resolved source GID
 * @lqpn: our QP number
 * @rqpn: the peer's QP number
 *
 * Context: process.
 * Return: 0, or -EINVAL if source and destination are of different families.
 */
int rxe_flow_set(struct rxe_flow *flow, const struct rdma_ah_attr *attr,
		 u32 lqpn, u32 rqpn)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	struct in6_addr saddr, daddr;
	struct udphdr *udp;
	int ifindex;

	if (!rxe_flow_addresses(grh, &saddr, &daddr))
		return -EINVAL;
	ifindex = rxe_flow_ifindex(grh->sgid_attr);
	if (!ifindex)
		ifindex = flow->dev->ndev->ifindex;
	rxe_flow_reset(flow);
	flow->ifindex = ifindex;
	memset(flow->hdr, 0, sizeof(flow->hdr));
	flow->tos = grh->traffic_class;
	if (flow->pace)
		flow->tos = rxe_congestion_tos(flow->tos);
	flow->priority = rt_tos2priority(flow->tos & ~INET_ECN_MASK);
	/* some connection managers leave the limit at 1 for what may be routed */
	flow->ttl = grh->hop_limit > 1 ? grh->hop_limit : IPDEFTTL;
	flow->flow_label = grh->flow_label & 0xfffff;
	flow->sport = htons(udp_sport(grh->flow_label, lqpn, rqpn));
	if (ipv6_addr_v4mapped(&saddr)) {
		flow->saddr.v4 = saddr.s6_addr32[3];
		flow->daddr.v4 = daddr.s6_addr32[3];
		flow->family = AF_INET;
		flow_build_ipv4(flow);
	} else {
		flow->saddr.v6 = saddr;
		flow->daddr.v6 = daddr;
		flow->family = AF_INET6;
		flow_build_ipv6(flow);
	}
	udp = (struct udphdr *)(flow->hdr + flow->hdr_len - sizeof(*udp));
	udp->source = flow->sport;
	udp->dest = htons(ROCE_UDP_PORT);
	return 0;
}

static struct dst_entry *flow_lookup_ipv4(struct rxe_flow *flow, int oif)
{
	struct flowi4 fl = {
		.flowi4_oif = oif,
		.flowi4_proto = IPPROTO_UDP,
		.saddr = flow->saddr.v4,
		.daddr = flow->daddr.v4,
		.fl4_sport = flow->sport,
		.fl4_dport = htons(ROCE_UDP_PORT),
	};
	struct rtable *rt = ip_route_output_key(flow->dev->net->net, &fl);

	return IS_ERR(rt) ? NULL : &rt->dst;
}

static struct dst_entry *flow_lookup_ipv6(struct rxe_flow *flow, int oif)
{
	struct rxe_net *rnet = flow->dev->net;
	struct flowi6 fl = {
		.flowi6_oif = oif,
		.flowi6_proto = IPPROTO_UDP,
		.saddr = flow->saddr.v6,
		.daddr = flow->daddr.v6,
		.fl6_sport = flow->sport,
		.fl6_dport = htons(ROCE_UDP_PORT),
	};
	struct dst_entry *dst;

	if (!rnet->sock6)
		return NULL;
	fl.flowlabel = ip6_make_flowinfo(flow->tos & ~INET_ECN_MASK, htonl(flow->flow_label));
	dst = ip6_dst_lookup_flow(rnet->net, rnet->sock6->sk, &fl, NULL);
	return IS_ERR(dst) ? NULL : dst;
}

static struct dst_entry *flow_lookup(struct rxe_flow *flow, int oif)
{
	if (flow->family == AF_INET)
		return flow_lookup_ipv4(flow, oif);
	if (flow->family == AF_INET6)
		return flow_lookup_ipv6(flow, oif);
	return NULL;
}

/*
 * A device sends through its own netdev (or the VLAN or bridge above it that has
 * the address), whatever the routing table prefers; but what is addressed to
 * this host, say to the device on another of its netdevs, stays on this host.
 */
static struct dst_entry *flow_find_route(struct rxe_flow *flow)
{
	struct dst_entry *dst = flow_lookup(flow, 0);

	if (dst && !(dst->dev->flags & IFF_LOOPBACK) &&
	    dst->dev->ifindex != flow->ifindex) {
		dst_release(dst);
		dst = NULL;
	}
	return dst ? dst : flow_lookup(flow, flow->ifindex);
}

/* Whether the peer is here: a route may point to the loopback device for other reasons. */
static bool flow_ends_here(const struct rxe_flow *flow)
{
	struct dst_entry *dst = flow->dst;
	bool lo;

	rcu_read_lock();	/* the device of a route may go */
	lo = READ_ONCE(dst->dev)->flags & IFF_LOOPBACK;
	rcu_read_unlock();
	if (!lo || dst->lwtstate || dst->header_len || dst->trailer_len)
		return false;
	if (flow->family == AF_INET)
		return container_of(dst, struct rtable, dst)->rt_flags & RTCF_LOCAL;
	return dst_rt6_info(dst)->rt6i_flags & (RTF_LOCAL | RTF_ANYCAST);
}

/**
 * rxe_flow_route - the route to the peer
 * @flow: the flow
 *
 * Context: the flow's task, bottom halves off.
 * Return: a route that the flow holds, or NULL if there is none at the moment.
 */
struct dst_entry *rxe_flow_route(struct rxe_flow *flow)
{
	if (likely(flow->dst && dst_check(flow->dst, flow->cookie)))
		return flow->dst;
	flow_drop_route(flow);
	flow->dst = flow_find_route(flow);
	flow->cookie = 0;
	if (flow->dst && flow->family == AF_INET6)
		flow->cookie = rt6_get_cookie(dst_rt6_info(flow->dst));
	flow->local = flow->dst && flow_ends_here(flow);
	return flow->dst;
}

/**
 * rxe_net_exit - after the last device
 *
 * Waits for packets that still sit in some queue of the stack: their destructor
 * is ours.  Module exit cannot fail, so there is no limit to this; but who holds
 * packets for seconds is asked to let go of them.
 *
 * Context: module exit.
 */
void rxe_net_exit(void)
{
	while (!wait_event_timeout(inflight_none, !atomic_read(&inflight_count),
				   NET_EXIT_PATIENCE))
		pr_warn("rxe: cannot unload: a queue holds packets of %d flows; look for a qdisc or a netfilter queue that does not pass them on\n",
			atomic_read(&inflight_count));
	synchronize_rcu();
	rxe_txmem_exit();
}
