// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * IPv6 groups that a netdev joins for us, where only sockets can ask for it: one
 * socket for each netdev and group, which nobody sends to.
 */
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>

#if !RXE_HAVE_IPV6_DEV_MC_INC

struct group {
	struct list_head	list;
	struct net_device	*dev;
	struct in6_addr		addr;
	struct socket		*sock;
};

static LIST_HEAD(groups);	/* RTNL */

/**
 * rxe_compat_ipv6_dev_mc_inc() - have a netdev join a group
 * @dev: does not go before it has left again
 * @addr: group; joined once for each netdev
 *
 * Context: process context, RTNL.
 * Return: 0, -ENOMEM, or what the socket says.
 */
int rxe_compat_ipv6_dev_mc_inc(struct net_device *dev, const struct in6_addr *addr)
{
	struct group *group;
	int err;

	ASSERT_RTNL();
	group = kzalloc(sizeof(*group), GFP_KERNEL);
	if (!group)
		return -ENOMEM;
	group->dev = dev;
	group->addr = *addr;
	err = sock_create_kern(dev_net(dev), AF_INET6, SOCK_DGRAM, IPPROTO_UDP, &group->sock);
	if (err)
		goto free;
	err = ipv6_stub->ipv6_sock_mc_join(group->sock->sk, dev->ifindex, addr);
	if (err)
		goto release;
	list_add(&group->list, &groups);
	return 0;
release:
	sock_release(group->sock);
free:
	kfree(group);
	return err;
}

/**
 * rxe_compat_ipv6_dev_mc_dec() - have a netdev leave a group
 * @dev: netdev
 * @addr: that it has joined
 *
 * Context: process context, RTNL.
 */
void rxe_compat_ipv6_dev_mc_dec(struct net_device *dev, const struct in6_addr *addr)
{
	struct group *group;

	ASSERT_RTNL();
	list_for_each_entry(group, &groups, list) {
		if (group->dev != dev || !ipv6_addr_equal(&group->addr, addr))
			continue;
		list_del(&group->list);
		/* a socket that is in no group is released without RTNL */
		ipv6_stub->ipv6_sock_mc_drop(group->sock->sk, dev->ifindex, addr);
		sock_release(group->sock);
		kfree(group);
		return;
	}
}

#endif /* !RXE_HAVE_IPV6_DEV_MC_INC */
