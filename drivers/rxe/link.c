// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * netdev <-> RDMA device: "rdma link add", and what befalls the netdev later.
 *
 * A device lives as long as its netdev stays in its network namespace:
 *
 *   rdma link add -> claimed -> registered -> leaving -> gone
 *                       |           |                      ^
 *                       | failed    | rdma link delete,    |
 *                       |           | rmmod                |
 *                       '-----------'----------------------'
 *
 * From registered to leaving: the netdev was unregistered or moved to another
 * namespace, or its namespace is being deleted.
 *
 * "Claimed" means in link_list: one device a netdev.  rxe_link_dealloc() takes
 * a device out again, whichever way it went, when no verbs object is left; then
 * the references on the netdev and on the namespace's sockets drop.  Whoever
 * deletes the netdev waits for that (in the kernel's unregister_netdevice()),
 * and so does the deletion of a namespace (link_net_exit()).
 *
 * Netdevs that are accepted: Ethernet and everything that looks like it (veth,
 * bridge, bond, macvlan, dummy, tap), the loopback device, and tun, which has
 * no link layer.  On the last two rdma_cm finds no GID on some kernels, because
 * it looks for RoCE v2 GIDs on Ethernet only; plain verbs work.  VLAN devices
 * are refused: the RDMA core files their addresses as GIDs of the real device.
 */
#define pr_fmt(fmt) "rxe: " fmt

#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/wait.h>
#include <net/net_namespace.h>
#include <rdma/rdma_netlink.h>

#include "rxe.h"

/* All devices between claim and dealloc; strangers' packets read it under RCU */
static LIST_HEAD(link_list);
static DEFINE_SPINLOCK(link_lock);	/* changes of link_list, devices that leave */
/* Woken when a device has left link_list */
static DECLARE_WAIT_QUEUE_HEAD(link_gone);

/* Under link_lock. NULL: the netdev has no device. */
static struct rxe_dev *link_find(const struct net_device *ndev)
{
	struct rxe_dev *dev;

	lockdep_assert_held(&link_lock);
	list_for_each_entry(dev, &link_list, link)
		if (dev->ndev == ndev)
			return dev;
	return NULL;
}

/*
 * The registered device of a netdev, with a reference that keeps it registered
 * (ib_device_put()); NULL if there is none, not yet or no more.
 */
static struct rxe_dev *link_get(const struct net_device *ndev)
{
	struct rxe_dev *dev;

	spin_lock_bh(&link_lock);
	dev = link_find(ndev);
	if (dev && !ib_device_try_get(&dev->ib))
		dev = NULL;
	spin_unlock_bh(&link_lock);
	return dev;
}

/*
 * Enter @dev in the list.  -EEXIST: its netdev has another device; -EAGAIN: the
 * other one is leaving, link_gone is woken when it has left.
 */
static int link_claim(struct rxe_dev *dev)
{
	struct rxe_dev *other;
	int ret = 0;

	spin_lock_bh(&link_lock);
	other = link_find(dev->ndev);
	if (!other)
		list_add_tail_rcu(&dev->link, &link_list);
	else
		ret = other->leaving ? -EAGAIN : -EEXIST;
	spin_unlock_bh(&link_lock);
	return ret;
}

/*
 * Have @dev unregistered soon, from a context that may hold RTNL and so cannot
 * wait for it.  A device that is not registered yet is left alone, link_add()
 * looks again when it is; one that is on its way out needs no help.
 */
static void link_leave(struct rxe_dev *dev)
{
	lockdep_assert_held(&link_lock);
	if (dev->leaving || !ib_device_try_get(&dev->ib))
		return;
	dev->leaving = true;
	ib_unregister_device_queued(&dev->ib);
	ib_device_put(&dev->ib);
}

/**
 * rxe_link_count() - count a packet that is for none of our queue pairs
 * @ndev: netdev that received it; may have no device, then nothing is counted
 * @which: counter
 *
 * Context: any but hard interrupts.
 */
void rxe_link_count(const struct net_device *ndev, enum rxe_counter which)
{
	struct rxe_dev *dev;

	/* Anybody may send such packets, to all CPUs at a time: no lock */
	rcu_read_lock();
	list_for_each_entry_rcu(dev, &link_list, link) {
		if (dev->ndev == ndev) {
			rxe_count(dev, which);
			break;
		}
	}
	rcu_read_unlock();
}

static void link_leave_netdev(const struct net_device *ndev)
{
	struct rxe_dev *dev;

	spin_lock_bh(&link_lock);
	dev = link_find(ndev);
	if (dev)
		link_leave(dev);
	spin_unlock_bh(&link_lock);
}

/* Tell the core if the port went up or down since the last call. */
static void link_port_update(struct rxe_dev *dev)
{
	enum ib_port_state state = ib_get_curr_port_state(dev->ndev);
	struct ib_event event;

	if (xchg(&dev->port_state, state) == state)
		return;
	if (state == IB_PORT_DOWN)
		rxe_count(dev, RXE_CNT_LINK_DOWN);

	memset(&event, 0, sizeof(event));
	event.device = &dev->ib;
	event.element.port_num = RXE_PORT;
	event.event = state == IB_PORT_DOWN ? IB_EVENT_PORT_ERR : IB_EVENT_PORT_ACTIVE;
	ib_dispatch_event(&event);
}

/* Its port may have gone up or down, its name may be another. Under RTNL. */
static void link_update_netdev(const struct net_device *ndev)
{
	struct rxe_dev *dev = link_get(ndev);

	if (!dev)
		return;
	link_port_update(dev);
	rxe_parent_rename(dev);
	ib_device_put(&dev->ib);
}

/**
 * rxe_link_port_event() - the core saw the netdev change (report_port_event)
 * @ibdev: device
 * @ndev: its netdev
 * @event: NETDEV_UP, NETDEV_DOWN or NETDEV_CHANGE
 *
 * Our own notifier sees the same event, and those of bonds, which the core does
 * not report; whichever comes first tells, the other finds nothing changed.
 * Without this the core would dispatch a second event of its own.
 *
 * Context: under RTNL.
 */
void rxe_link_port_event(struct ib_device *ibdev, struct net_device *ndev,
			 unsigned long event)
{
	struct rxe_dev *dev = to_rxe_dev(ibdev);

	if (dev->ndev == ndev)
		link_port_update(dev);
}

/*
 * A change of the MTU needs nothing: query_port reads it from the netdev.  A move
 * to another namespace shows as NETDEV_UNREGISTER.
 */
static int link_netdev_event(struct notifier_block *nb, unsigned long event,
			     void *info)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(info);

	switch (event) {
	case NETDEV_UNREGISTER:
		rxe_mcast_netdev_gone(ndev);
		link_leave_netdev(ndev);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGENAME:
		link_update_netdev(ndev);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block link_notifier = {
	.notifier_call = link_netdev_event,
};

static bool link_net_empty(const struct net *net)
{
	struct rxe_dev *dev;
	bool empty = true;

	spin_lock_bh(&link_lock);
	list_for_each_entry(dev, &link_list, link)
		if (net_eq(dev->netns, net))
			empty = false;
	spin_unlock_bh(&link_lock);
	return empty;
}

/*
 * A namespace goes.  Our devices must have closed their sockets and dropped
 * their routes before the network stack dismantles it, and a physical netdev
 * would not wait for us on its way back to the initial namespace.  No device
 * can be added meanwhile: link_add() is called from a socket of the namespace.
 */
static void __net_exit link_net_exit(struct net *net)
{
	struct rxe_dev *dev;

	spin_lock_bh(&link_lock);
	list_for_each_entry(dev, &link_list, link)
		if (net_eq(dev->netns, net))
			link_leave(dev);
	spin_unlock_bh(&link_lock);

	wait_event(link_gone, link_net_empty(net));
}

static struct pernet_operations link_net_ops = {
	.exit = link_net_exit,
};

/* 0, or the errno why no device can be made on @ndev; says so in the log. */
static int link_check_netdev(const char *name, struct net_device *ndev)
{
	if (is_vlan_dev(ndev)) {
		pr_warn("%s: %s is a VLAN device; add the link to %s, it serves the addresses of its VLANs too\n",
			name, ndev->name, vlan_dev_real_dev(ndev)->name);
		return -EOPNOTSUPP;
	}

	switch (ndev->type) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
	case ARPHRD_NONE:
		return 0;
	}
	pr_warn("%s: netdev %s has unsupported type %u, not Ethernet\n",
		name, ndev->name, ndev->type);
	return -EOPNOTSUPP;
}

/*
 * Registration is over, and the device may even be gone again.  If the netdev
 * left before it was registered, the notifier could not find it; under RTNL
 * either the notifier finds it or we see that the netdev has left.
 */
static int link_added(struct net_device *ndev, const struct net *net)
{
	int ret = 0;

	rtnl_lock();
	if (ndev->reg_state != NETREG_REGISTERED || !net_eq(dev_net(ndev), net)) {
		link_leave_netdev(ndev);
		ret = -ENODEV;
	} else {
		link_update_netdev(ndev);
	}
	rtnl_unlock();
	return ret;
}

/**
 * link_add() - "rdma link add NAME type rxe netdev IF"
 * @name: of the RDMA device; may hold one %d
 * @ndev: netdev; the caller holds a reference
 *
 * The device belongs to the netdev's network namespace where the RDMA
 * subsystem runs in exclusive mode, and is seen from all of them in shared mode.
 *
 * Context: process context, without RTNL.
 * Return: 0; -EOPNOTSUPP for a netdev of the wrong type, -EEXIST if it has a
 * device or @name is taken, -ENODEV if it vanishes, -EINTR if the caller is
 * killed, or what sockets and the core's registration say (-EADDRINUSE: another
 * program has UDP port 4791).  On failure nothing is left behind.
 */
static int link_add(const char *name, struct net_device *ndev)
{
	struct net *net = dev_net(ndev);
	struct rxe_net *rnet;
	struct rxe_dev *dev;
	int claimed, ret;

	ret = link_check_netdev(name, ndev);
	if (ret)
		return ret;

	dev = ib_alloc_device_with_net(rxe_dev, ib, net);
	if (!dev)
		return -ENOMEM;

	/* With the operations set, ib_dealloc_device() runs rxe_link_dealloc() */
	ib_set_device_ops(&dev->ib, &rxe_verbs_ops);
	INIT_LIST_HEAD(&dev->link);
	INIT_LIST_HEAD(&dev->pending_maps);
	spin_lock_init(&dev->map_lock);
	INIT_LIST_HEAD(&dev->debug.list);
	rxe_tracks_init(&dev->tracks);
	INIT_LIST_HEAD(&dev->qpcounters.list);
	dev->netns = net;
	dev->ndev = ndev;
	netdev_hold(ndev, &dev->ndev_tracker, GFP_KERNEL);
	dev->port_state = ib_get_curr_port_state(ndev);

	dev->crowd = rxe_crowd_create();
	if (!dev->crowd) {
		ret = -ENOMEM;
		goto fail;
	}
	/* Strangers' packets count from the claim on */
	ret = rxe_counters_init(dev);
	if (ret)
		goto fail;

	ret = wait_event_killable(link_gone,
				  (claimed = link_claim(dev)) != -EAGAIN);
	if (ret) {
		ret = -EINTR;
		goto fail;
	}
	if (claimed) {
		pr_warn("%s: netdev %s already has an rxe device\n", name, ndev->name);
		ret = claimed;
		goto fail;
	}

	rnet = rxe_net_get(net);
	if (IS_ERR(rnet)) {
		ret = PTR_ERR(rnet);
		pr_warn("%s: cannot open UDP port 4791 in the namespace of %s: error %d\n",
			name, ndev->name, ret);
		goto fail;
	}
	dev->net = rnet;

	ret = rxe_parent_create(dev);
	if (ret)
		goto fail;

	ret = rxe_verbs_register(dev, name);
	if (ret == -ENFILE) {
		pr_warn("%s: there is an RDMA device of this name already\n", name);
		ret = -EEXIST;
		goto fail;
	}
	if (ret) {
		pr_warn("%s: cannot register a device on %s: error %d\n",
			name, ndev->name, ret);
		goto fail;
	}
	return link_added(ndev, net);

fail:
	ib_dealloc_device(&dev->ib);
	return ret;
}

/**
 * rxe_link_dealloc() - give back what a device holds (dealloc_driver)
 * @ibdev: device; registration failed, or it is unregistered and no verbs
 *	object of it is left
 *
 * Context: process context, without RTNL.
 */
void rxe_link_dealloc(struct ib_device *ibdev)
{
	struct rxe_dev *dev = to_rxe_dev(ibdev);

	rxe_debugfs_remove(dev);
	rxe_tracks_exit(dev);

	/* A namespace may be dismantled as soon as link_list has no device of it */
	if (dev->net)
		rxe_net_put(dev->net);

	spin_lock_bh(&link_lock);
	list_del_rcu(&dev->link);
	spin_unlock_bh(&link_lock);
	wake_up_all(&link_gone);
	synchronize_rcu();	/* rxe_link_count() */

	rxe_parent_destroy(dev);
	rxe_counters_exit(dev);
	rxe_crowd_put(dev->crowd);
	netdev_put(dev->ndev, &dev->ndev_tracker);
}

static struct rdma_link_ops link_ops = {
	.type = "rxe",
	.newlink = link_add,
};

/**
 * rxe_link_init() - accept "rdma link add", watch netdevs and namespaces
 *
 * Context: process context; the sockets' per-namespace data must be registered
 * before, so that a namespace's devices go first.
 * Return: 0 or an errno.
 */
int rxe_link_init(void)
{
	int ret;

	ret = register_pernet_device(&link_net_ops);
	if (ret)
		return ret;
	ret = register_netdevice_notifier(&link_notifier);
	if (ret) {
		unregister_pernet_device(&link_net_ops);
		return ret;
	}
	rdma_link_register(&link_ops);
	return 0;
}

/**
 * rxe_link_exit() - accept no more links and remove all devices
 *
 * Context: process context; returns when the last device is gone.
 */
void rxe_link_exit(void)
{
	/* Waits for a link_add() that runs */
	rdma_link_unregister(&link_ops);
	ib_unregister_driver(RDMA_DRIVER_RXE);
	unregister_netdevice_notifier(&link_notifier);
	unregister_pernet_device(&link_net_ops);
}
