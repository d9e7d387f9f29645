// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The parent of an RDMA device in sysfs: where programs look for its netdev.
 *
 *	/sys/class/infiniband/rxe0/device/net/eth0
 *
 * A card has one parent for its RDMA device and its netdev, and tools (pyverbs'
 * tests, ibdev2netdev) rely on it.  The netdev's own parent cannot be it: udev would
 * rename the device like a card of its own, and a virtual netdev has none.  So
 * each device gets a parent that is nothing else, with a link to the netdev:
 *
 *	/sys/devices/rxe-link0/infiniband/rxe0
 *	/sys/devices/rxe-link0/net/eth0 -> the netdev
 *
 * The link has the netdev's name and follows it.  Who reads it in another network
 * namespace finds that it points nowhere.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/kobject.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "rxe.h"

/**
 * struct rxe_parent - the parent of one device
 * @device: it
 * @net: its directory "net"
 * @name: of the link there, empty: there is none; under RTNL
 */
struct rxe_parent {
	struct device	*device;
	struct kobject	*net;
	char		name[IFNAMSIZ];
};

/**
 * rxe_parent_create() - make a device's parent, with a link to its netdev
 * @dev: device that is not registered yet
 *
 * Context: process context, without RTNL.
 * Return: 0 or an errno; what it made goes with rxe_parent_destroy() in any case.
 */
int rxe_parent_create(struct rxe_dev *dev)
{
	/* Never twice the same: the old one may still be on its way out */
	static atomic_t last = ATOMIC_INIT(-1);
	struct rxe_parent *parent;
	struct device *device;
	char name[24];

	parent = kzalloc(sizeof(*parent), GFP_KERNEL);
	if (!parent)
		return -ENOMEM;
	snprintf(name, sizeof(name), "rxe-link%u", (u32)atomic_inc_return(&last));
	device = root_device_register(name);
	if (IS_ERR(device)) {
		kfree(parent);
		return PTR_ERR(device);
	}
	parent->device = device;
	dev->parent = parent;
	parent->net = kobject_create_and_add("net", &device->kobj);
	if (!parent->net)
		return -ENOMEM;

	rtnl_lock();
	rxe_parent_rename(dev);
	rtnl_unlock();
	dev->ib.dev.parent = device;
	return 0;
}

/**
 * rxe_parent_rename() - have the link named as the netdev is now
 * @dev: device with a parent
 *
 * Nobody depends on the link: if there is no memory for it, there is none.
 *
 * Context: under RTNL.
 */
void rxe_parent_rename(struct rxe_dev *dev)
{
	struct rxe_parent *parent = dev->parent;

	ASSERT_RTNL();
	if (!strcmp(parent->name, dev->ndev->name))
		return;
	if (parent->name[0])
		sysfs_remove_link(parent->net, parent->name);
	parent->name[0] = '\0';
	/* A netdev that has left sysfs is about to take the device with it */
	if (dev->ndev->reg_state == NETREG_REGISTERED &&
	    !sysfs_create_link(parent->net, &dev->ndev->dev.kobj, dev->ndev->name))
		strscpy(parent->name, dev->ndev->name, sizeof(parent->name));
}

/**
 * rxe_parent_destroy() - undo rxe_parent_create()
 * @dev: device that is not registered any more, with or without a parent
 *
 * Context: process context.
 */
void rxe_parent_destroy(struct rxe_dev *dev)
{
	struct rxe_parent *parent = dev->parent;

	if (!parent)
		return;
	dev->parent = NULL;
	if (parent->net) {
		if (parent->name[0])
			sysfs_remove_link(parent->net, parent->name);
		kobject_del(parent->net);
		kobject_put(parent->net);
	}
	root_device_unregister(parent->device);
	kfree(parent);
}
