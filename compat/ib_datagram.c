// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Groups and datagrams of IPv4, for a core that knows RoCE v1 only, where every
 * address looks like one of IPv6. (Up to 4.13 those that know RoCE v2 still name
 * groups as in v1.)
 *
 * The kernel's users read the 40 bytes before a datagram as an IPv6 header; the
 * driver leaves an IPv4 header in the second half of them, as newer cores want
 * it. So a queue pair of the kernel's that takes datagrams remembers where its
 * receives are, and the header is written anew when the completion is polled.
 * (User space reads both forms, and is left alone.)
 */
#define RXE_COMPAT_KERNEL_IB_OPS

#include <linux/in.h>
#include <linux/ip.h>
#include <linux/log2.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>

#if !RXE_HAVE_IB_DEVICE_OPS

#define MGID_V1			htonl(0xff0e0000)	/* ff0e::ffff:a.b.c.d */

/**
 * rxe_compat_group() - a group in the form that the driver knows
 * @gid: as rdma_cm of RoCE v1 has it, and the verbs of the core demand
 *
 * Context: any.
 * Return: ::ffff:a.b.c.d for ff0e::ffff:a.b.c.d; what it was for any other.
 */
union ib_gid rxe_compat_group(const union ib_gid *gid)
{
	union ib_gid group = *gid;
	struct in6_addr *addr = (struct in6_addr *)&group;

	if (addr->s6_addr32[0] != MGID_V1)
		return group;
	addr->s6_addr32[0] = 0;
	return ipv6_addr_v4mapped(addr) && ipv4_is_multicast(addr->s6_addr32[3]) ? group : *gid;
}

#if !RXE_HAVE_IB_WC_NETWORK_HDR_TYPE

#define GRH_NEXT_HDR		0x1b			/* a transport header (8.3) */
#define NO_VLAN			0xffff

struct receive {
	u64	wr_id;
	u64	addr;
	u32	length;
};

/**
 * struct rxe_compat_receives - receives of a queue pair, oldest first
 * @lock: of what follows
 * @size: of @at, a power of two
 * @posted: runs on; the place behind the newest
 * @polled: runs on; the place of the oldest
 * @at: where they are
 */
struct rxe_compat_receives {
	spinlock_t	lock;	/* posting is one step with remembering */
	u32		size;
	u32		posted;
	u32		polled;
	struct receive	at[];
};

/**
 * rxe_compat_receives_create() - for a queue pair that takes datagrams
 * @attr: of the queue pair, as it was made
 * @receives: out: for vfree(); untouched for other queue pairs
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int rxe_compat_receives_create(const struct ib_qp_init_attr *attr,
			       struct rxe_compat_receives **receives)
{
	u32 size;

	if (attr->srq || (attr->qp_type != IB_QPT_UD && attr->qp_type != IB_QPT_GSI))
		return 0;
	/* those that wait for a datagram, and those that wait to be polled */
	size = roundup_pow_of_two(attr->cap.max_recv_wr + attr->recv_cq->cqe + 2);
	*receives = vzalloc(sizeof(**receives) + size * sizeof((*receives)->at[0]));
	if (!*receives)
		return -ENOMEM;
	spin_lock_init(&(*receives)->lock);
	(*receives)->size = size;
	return 0;
}

/**
 * rxe_compat_receives_lock() - before receives are posted
 * @receives: of the queue pair
 *
 * Context: any.
 * Return: for rxe_compat_receives_unlock().
 */
unsigned long rxe_compat_receives_lock(struct rxe_compat_receives *receives)
	__acquires(&receives->lock)
{
	unsigned long flags;

	spin_lock_irqsave(&receives->lock, flags);
	return flags;
}

/**
 * rxe_compat_receives_unlock() - remember what was posted
 * @receives: of the queue pair
 * @wr: the list that was to be posted
 * @end: first one of it that was not posted, NULL for none
 * @flags: of rxe_compat_receives_lock()
 *
 * Context: any.
 */
void rxe_compat_receives_unlock(struct rxe_compat_receives *receives,
				const struct ib_recv_wr *wr, const struct ib_recv_wr *end,
				unsigned long flags)
	__releases(&receives->lock)
{
	struct receive *at;

	for (; wr && wr != end; wr = wr->next) {
		/* the oldest were flushed, which nobody has told us */
		if (receives->posted - receives->polled == receives->size)
			receives->polled++;
		at = &receives->at[receives->posted++ & (receives->size - 1)];
		at->wr_id = wr->wr_id;
		at->addr = wr->num_sge ? wr->sg_list[0].addr : 0;
		at->length = wr->num_sge ? wr->sg_list[0].length : 0;
	}
	spin_unlock_irqrestore(&receives->lock, flags);
}

/* The receive of a completion; what is older has been flushed. */
static bool receive_find(struct rxe_compat_receives *receives, u64 wr_id, struct receive *found)
{
	unsigned long flags;
	bool ok = false;
	u32 i;

	spin_lock_irqsave(&receives->lock, flags);
	for (i = receives->polled; !ok && i != receives->posted; i++) {
		*found = receives->at[i & (receives->size - 1)];
		ok = found->wr_id == wr_id;
	}
	if (ok)
		receives->polled = i;
	spin_unlock_irqrestore(&receives->lock, flags);
	return ok;
}

/* The header that RoCE v1 would have brought. */
static void header_old(struct ib_grh *grh)
{
	struct iphdr ip;

	memcpy(&ip, (u8 *)grh + sizeof(*grh) - sizeof(ip), sizeof(ip));
	if (grh->version_tclass_flow || ip.version != 4)
		return;
	memset(grh, 0, sizeof(*grh));
	grh->version_tclass_flow = htonl(6 << 28 | ip.tos << 20);
	grh->paylen = htons(ntohs(ip.tot_len) - sizeof(ip));
	grh->next_hdr = GRH_NEXT_HDR;
	grh->hop_limit = ip.ttl;
	ipv6_addr_set_v4mapped(ip.saddr, (struct in6_addr *)&grh->sgid);
	ipv6_addr_set_v4mapped(ip.daddr, (struct in6_addr *)&grh->dgid);
}

/**
 * rxe_compat_receive_polled() - a datagram, as a user of the kernel wants it
 * @receives: of the queue pair; NULL: of user space, or of a shared receive queue
 * @wc: completion with a GRH
 *
 * Context: any.
 */
void rxe_compat_receive_polled(struct rxe_compat_receives *receives, struct ib_wc *wc)
{
	struct receive receive;

	if (!receives || wc->status != IB_WC_SUCCESS ||
	    !receive_find(receives, wc->wr_id, &receive))
		return;
	if (receive.length >= sizeof(struct ib_grh))
		header_old((struct ib_grh *)(uintptr_t)receive.addr);
	/*
	 * What the core would ask routing tables for if it were not told: no VLAN,
	 * and a MAC address that nobody uses.
	 */
	if (!(wc->wc_flags & IB_WC_WITH_VLAN))
		wc->vlan_id = NO_VLAN;
	wc->wc_flags |= IB_WC_WITH_SMAC | IB_WC_WITH_VLAN;
}

#endif /* !RXE_HAVE_IB_WC_NETWORK_HDR_TYPE */

#endif /* !RXE_HAVE_IB_DEVICE_OPS */
