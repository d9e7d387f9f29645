// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A network card whose transmit ring is full, as long as this module is loaded: all
 * queues of a netdev are stopped, wherever it is, and started when the module goes.
 * veth has no such ring, and nothing in user space stops a queue.
 *
 * It holds no reference: should a test end in the middle, the netdev can go.
 *
 * Parameter: the name of the netdev, which must be one of all namespaces.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <net/net_namespace.h>

static char *netdev = "veth1";
module_param(netdev, charp, 0444);
MODULE_PARM_DESC(netdev, "name of the netdev");

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

static int __init stopper_init(void)
{
	return for_the_netdev(netif_tx_stop_all_queues) ? 0 : -ENODEV;
}

static void __exit stopper_exit(void)
{
	for_the_netdev(netif_tx_wake_all_queues);
}

module_init(stopper_init);
module_exit(stopper_exit);
MODULE_DESCRIPTION("Test: a netdev whose transmit queues are stopped");
MODULE_LICENSE("Dual BSD/GPL");
