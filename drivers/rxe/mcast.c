// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast: which queue pairs want the datagrams of which group.
 *
 * A group is an IP address, IPv6 or IPv4 as a GID writes it.  Its first queue pair
 * on a device makes the netdev join it, so that switches which listen to IGMP and
 * MLD send it here; the last one makes it leave.  A datagram goes to all of them,
 * also one of our own, which the IP stack loops back.
 *
 * Who attaches a queue pair names no VLAN.  So the VLANs on the netdev whose addresses
 * are GIDs of the device join, too, and whatever else above it has such addresses; for
 * to IP, each of them is a netdev of its own.
 */
#include <linux/hashtable.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <rdma/ib_cache.h>

#include "rxe.h"

/*
 * A queue pair in a group.  Who finds it under RCU may be late: then the queue pair is
 * gone, its device, too, and they are only compared with others.
 */
struct mcast_member {
	struct hlist_node	node;
	struct rxe_qp		*qp;
	struct rxe_dev		*dev;		/* of @qp, as are those below */
	const struct net	*netns;
	u32			number;
	union ib_gid		gid;
	struct rcu_head		rcu;
};

/* A netdev that is in a group for a device; it leaves before it goes */
struct mcast_join {
	struct hlist_node	node;
	const struct rxe_dev	*dev;
	struct net_device	*ndev;
	union ib_gid		gid;
	struct rcu_head		rcu;
};

static DEFINE_HASHTABLE(mcast_table, 10);	/* readers under RCU */
static DEFINE_MUTEX(mcast_mutex);		/* changes of the table */
static DEFINE_HASHTABLE(mcast_joins, 10);	/* readers under RCU, changes under RTNL */

static u32 mcast_hash(const union ib_gid *gid)
{
	return jhash(gid->raw, sizeof(gid->raw), 0);
}

/* Members of a group on a device, and @found: that of a queue pair. */
static u32 mcast_count(const struct rxe_dev *dev, const struct rxe_qp *qp,
		       const union ib_gid *gid, struct mcast_member **found)
{
	struct mcast_member *member;
	u32 count = 0;

	*found = NULL;
	hash_for_each_possible(mcast_table, member, node, mcast_hash(gid)) {
		if (member->dev != dev || memcmp(&member->gid, gid, sizeof(*gid)))
			continue;
		count++;
		if (member->qp == qp)
			*found = member;
	}
	return count;
}

static bool mcast_has_joined(const struct rxe_dev *dev, const struct net_device *ndev,
			     const union ib_gid *gid)
{
	const struct mcast_join *join;

	hash_for_each_possible_rcu(mcast_joins, join, node, mcast_hash(gid))
		if (join->dev == dev && join->ndev == ndev &&
		    !memcmp(&join->gid, gid, sizeof(*gid)))
			return true;
	return false;
}

static int mcast_join_ip(struct net_device *ndev, const union ib_gid *gid)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid;
	struct in_device *in_dev;

	if (!ipv6_addr_v4mapped(addr))
		return ipv6_dev_mc_inc(ndev, addr);
	in_dev = __in_dev_get_rtnl(ndev);
	if (!in_dev)
		return -ENODEV;
	ip_mc_inc_group(in_dev, addr->s6_addr32[3]);
	return 0;
}

/* The netdev may be about to go; then nothing is joined. */
static int mcast_join_netdev(const struct rxe_dev *dev, struct net_device *ndev,
			     const union ib_gid *gid)
{
	struct mcast_join *join;
	bool joined;
	int err;

	ASSERT_RTNL();
	rcu_read_lock();
	joined = mcast_has_joined(dev, ndev, gid);
	rcu_read_unlock();
	if (joined)
		return 0;
	join = kzalloc(sizeof(*join), GFP_KERNEL_ACCOUNT);
	if (!join)
		return -ENOMEM;
	err = mcast_join_ip(ndev, gid);
	if (err) {
		kfree(join);
		return err;
	}
	join->dev = dev;
	join->ndev = ndev;
	join->gid = *gid;
	hash_add_rcu(mcast_joins, &join->node, mcast_hash(gid));
	return 0;
}

/* Of a netdev that is about to go, IP has ended all memberships already. */
static void mcast_leave_netdev(struct mcast_join *join)
{
	const struct in6_addr *addr = (const struct in6_addr *)&join->gid;
	struct in_device *in_dev;

	ASSERT_RTNL();
	hash_del_rcu(&join->node);
	if (ipv6_addr_v4mapped(addr)) {
		in_dev = __in_dev_get_rtnl(join->ndev);
		if (in_dev)
			ip_mc_dec_group(in_dev, addr->s6_addr32[3]);
	} else {
		ipv6_dev_mc_dec(join->ndev, addr);
	}
	kfree_rcu(join, rcu);
}

/*
 * The netdev that has the address of a GID, if that is of the group's family, or NULL. It
 * stays while RTNL is held: one that has been unregistered may be in the table still.
 */
static struct net_device *mcast_gid_netdev(struct rxe_dev *dev, u32 index,
					   const union ib_gid *gid)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid;
	const struct ib_gid_attr *attr;
	struct net_device *ndev;

	attr = rdma_get_gid_attr(&dev->ib, RXE_PORT, index);
	if (IS_ERR(attr))
		return NULL;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(ndev) || ndev->reg_state != NETREG_REGISTERED ||
	    !net_eq(dev_net(ndev), dev->netns) ||
	    ipv6_addr_v4mapped((const struct in6_addr *)&attr->gid) != ipv6_addr_v4mapped(addr))
		ndev = NULL;
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return ndev;
}

/* What has joined before stays so; an error may leave some of the netdevs joined. */
static int mcast_join(struct rxe_dev *dev, const union ib_gid *gid)
{
	struct net_device *ndev;
	u32 i;
	int err;

	rtnl_lock();
	err = mcast_join_netdev(dev, dev->ndev, gid);
	for (i = 0; !err && i < RXE_MAX_GID; i++) {
		ndev = mcast_gid_netdev(dev, i, gid);
		if (ndev)
			err = mcast_join_netdev(dev, ndev, gid);
		if (err == -ENODEV)	/* only this one goes */
			err = 0;
	}
	rtnl_unlock();
	return err;
}

static void mcast_leave(const struct rxe_dev *dev, const union ib_gid *gid)
{
	struct mcast_join *join;
	struct hlist_node *next;

	rtnl_lock();
	hash_for_each_possible_safe(mcast_joins, join, next, node, mcast_hash(gid))
		if (join->dev == dev && !memcmp(&join->gid, gid, sizeof(*gid)))
			mcast_leave_netdev(join);
	rtnl_unlock();
}

/* Whether the GID is a group of IPv4 or IPv6 */
static bool mcast_is_group(const union ib_gid *gid)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid;

	if (ipv6_addr_v4mapped(addr))
		return ipv4_is_multicast(addr->s6_addr32[3]);
	return ipv6_addr_is_multicast(addr);
}

static int mcast_add(struct rxe_qp *qp, const union ib_gid *gid)
{
	struct rxe_dev *dev = qp->dev;
	struct mcast_member *member, *old;
	u32 count = mcast_count(dev, qp, gid, &old);
	int err;

	/* also if there are members already: a VLAN may have come since */
	if (old)
		return mcast_join(dev, gid);
	if (count >= RXE_MAX_MCAST_QP || (!count && dev->mcast_groups >= RXE_MAX_MCAST_GRP))
		return -ENOMEM;
	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member)
		return -ENOMEM;
	err = mcast_join(dev, gid);
	if (err) {
		if (!count)
			mcast_leave(dev, gid);
		kfree(member);
		return err;
	}
	member->qp = qp;
	member->dev = dev;
	member->netns = dev->netns;
	member->number = qp->id->number;
	member->gid = *gid;
	hash_add_rcu(mcast_table, &member->node, mcast_hash(gid));
	qp->mcast_groups++;
	dev->mcast_groups += !count;
	return 0;
}

static void mcast_del(struct mcast_member *member)
{
	struct rxe_dev *dev = member->dev;
	struct mcast_member *none;

	hash_del_rcu(&member->node);
	member->qp->mcast_groups--;
	if (!mcast_count(dev, NULL, &member->gid, &none)) {
		mcast_leave(dev, &member->gid);
		dev->mcast_groups--;
	}
	kfree_rcu(member, rcu);
}

/**
 * rxe_mcast_attach - the attach_mcast verb (11.3.1)
 * @ibqp: UD, which the core has checked
 * @gid: group
 * @lid: unused
 *
 * Context: process, may sleep, takes RTNL.
 * Return: 0, also if it is attached already; -EINVAL for an address that is no
 * group, -ENOMEM, or why the netdev cannot join.
 */
int rxe_mcast_attach(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);
	int err;

	if (!mcast_is_group(gid))
		return -EINVAL;
	mutex_lock(&mcast_mutex);
	err = mcast_add(qp, gid);
	mutex_unlock(&mcast_mutex);
	return err;
}

/**
 * rxe_mcast_detach - the detach_mcast verb (11.3.2)
 * @ibqp: UD
 * @gid: group
 * @lid: unused
 *
 * Context: process, may sleep, takes RTNL.
 * Return: 0, or -EINVAL if it was not attached.
 */
int rxe_mcast_detach(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);
	struct mcast_member *member;

	mutex_lock(&mcast_mutex);
	mcast_count(qp->dev, qp, gid, &member);
	if (member)
		mcast_del(member);
	mutex_unlock(&mcast_mutex);
	return member ? 0 : -EINVAL;
}

/**
 * rxe_mcast_forget - a queue pair goes, and leaves all its groups
 * @qp: the QP; a datagram that has found its membership already is not waited for
 *
 * Context: process, may sleep.
 */
void rxe_mcast_forget(struct rxe_qp *qp)
{
	struct mcast_member *member;
	struct hlist_node *next;
	int bucket;

	if (!READ_ONCE(qp->mcast_groups))
		return;
	mutex_lock(&mcast_mutex);
	hash_for_each_safe(mcast_table, bucket, next, member, node)
		if (member->qp == qp)
			mcast_del(member);
	mutex_unlock(&mcast_mutex);
}

/**
 * rxe_mcast_netdev_gone - a netdev goes, and with it its memberships
 * @ndev: any netdev
 *
 * Context: process, RTNL held.
 */
void rxe_mcast_netdev_gone(const struct net_device *ndev)
{
	struct mcast_join *join;
	struct hlist_node *next;
	int bucket;

	hash_for_each_safe(mcast_joins, bucket, next, join, node)
		if (join->ndev == ndev)
			mcast_leave_netdev(join);
}

/**
 * rxe_mcast_show - list the queue pairs of a device's groups
 * @seq: a line for each: group, number of the queue pair
 * @dev: device
 *
 * Context: process, may sleep.
 */
void rxe_mcast_show(struct seq_file *seq, struct rxe_dev *dev)
{
	struct mcast_member *member;
	int bucket;

	mutex_lock(&mcast_mutex);
	hash_for_each(mcast_table, bucket, member, node) {
		const struct in6_addr *addr = (const struct in6_addr *)&member->gid;

		if (member->dev != dev)
			continue;
		if (ipv6_addr_v4mapped(addr))
			seq_printf(seq, "%pI4", &addr->s6_addr32[3]);
		else
			seq_printf(seq, "%pI6c", addr);
		seq_printf(seq, " %u\n", member->number);
	}
	mutex_unlock(&mcast_mutex);
}

/**
 * rxe_mcast_deliver - give a datagram to all queue pairs of its group
 * @net: namespace that has received it
 * @skb: the datagram; not consumed
 * @deliver: takes a copy
 *
 * Context: softirq, RCU read side.
 */
void rxe_mcast_deliver(const struct net *net, struct sk_buff *skb,
		       void (*deliver)(struct rxe_qp *qp, struct sk_buff *skb))
{
	struct mcast_member *member;
	struct sk_buff *copy;
	union ib_gid gid;
	struct rxe_id *id;

	rxe_datagram_daddr(skb, &gid);
	hash_for_each_possible_rcu(mcast_table, member, node, mcast_hash(&gid)) {
		if (memcmp(&member->gid, &gid, sizeof(gid)) || !net_eq(member->netns, net) ||
		    !mcast_has_joined(member->dev, skb->dev, &gid))
			continue;
		id = rxe_id_get(&rxe_qp_ids, member->number);
		if (!id)
			continue;
		/* the number may be somebody else's by now */
		copy = id->object == member->qp ? skb_clone(skb, GFP_ATOMIC) : NULL;
		if (copy)
			deliver(id->object, copy);
		rxe_id_put(id);
	}
}
