/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * References on netdevs; older kernels do not track who holds them. And who captures on
 * one; the older do not tell of those who capture on all ("tcpdump -i any").
 */
#ifndef RXE_COMPAT_LINUX_NETDEVICE_H
#define RXE_COMPAT_LINUX_NETDEVICE_H

#include_next <linux/netdevice.h>

#if !RXE_HAVE_NETDEVICE_TRACKER
struct rxe_compat_netdevice_tracker { };
#define netdevice_tracker struct rxe_compat_netdevice_tracker
#endif

#if !RXE_HAVE_NETDEV_HOLD

#define netdev_hold(dev, tracker, gfp)	((void)(tracker), (void)(gfp), dev_hold(dev))
#define netdev_put(dev, tracker)	((void)(tracker), dev_put(dev))

#endif /* !RXE_HAVE_NETDEV_HOLD */

#if !RXE_HAVE_DEV_NIT_ACTIVE
static inline bool rxe_compat_dev_nit_active(const struct net_device *dev)
{
	return !list_empty(&dev->ptype_all);
}

#define dev_nit_active	rxe_compat_dev_nit_active

#endif /* !RXE_HAVE_DEV_NIT_ACTIVE */

#endif /* RXE_COMPAT_LINUX_NETDEVICE_H */
