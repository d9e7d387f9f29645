// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A network card whose transmit ring is full, as long as this module is loaded: all
 * queues of a netdev are stopped, wherever it is, and started when the module goes.
 * veth has no such ring, and nothing in user space stops a queue.
 *
 * Or, with card=1, nothing is stopped, but the netdev seems to be that of a card: it has a
 * parent in the tree of devices.
 *
 * It holds no reference: should a test end in the middle, the netdev can go.
 *
 * Parameters: the name of the netdev, which must be one of all namespaces; and card.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <net/net_namespace.h>

static char *netdev = "veth1";
module_param(netdev, charp, 0444);
MODULE_PARM_DESC(netdev, "name of the netdev");

static bool card;
module_param(card, bool, 0444);
MODULE_PARM_DESC(card, "the netdev is not stopped, but that of a card (default: no)");

static struct device *parent;	/* with card=1 */

/* Whether there is one of that name */
static bool for_the_netdev(void (*what)(struct net_device *dev))
{
	struct net_device *dev;
	bool found = false;
	struct net *net;

	rcu_read_lock();
	for_each_net_rcu(net) {
		dev = dev_get_by_name_rcu(net, netdev);
		if (dev) {
			what(dev);
			found = true;
		}
	}
	rcu_read_unlock();
	return found;
}

static void parent_set(struct net_device *dev)
{
	if (!dev->dev.parent)
		dev->dev.parent = parent;
}

static void parent_clear(struct net_device *dev)
{
	if (dev->dev.parent == parent)
		dev->dev.parent = NULL;
}

static int __init stopper_init(void)
{
	if (!card)
		return for_the_netdev(netif_tx_stop_all_queues) ? 0 : -ENODEV;
	parent = root_device_register("rxe_card");
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	if (for_the_netdev(parent_set))
		return 0;
	root_device_unregister(parent);
	return -ENODEV;
}

static void __exit stopper_exit(void)
{
	if (!card) {
		for_the_netdev(netif_tx_wake_all_queues);
		return;
	}
	for_the_netdev(parent_clear);
	synchronize_rcu();
	root_device_unregister(parent);
}

module_init(stopper_init);
module_exit(stopper_exit);
MODULE_DESCRIPTION("Test: a netdev whose transmit queues are stopped");
MODULE_LICENSE("Dual BSD/GPL");
