/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* References on netdevs; older kernels do not track who holds them. */
#ifndef RXE_COMPAT_LINUX_NETDEVICE_H
#define RXE_COMPAT_LINUX_NETDEVICE_H

#include_next <linux/netdevice.h>

#if !RXE_HAVE_NETDEVICE_TRACKER
typedef struct { } netdevice_tracker;
#endif

#if !RXE_HAVE_NETDEV_HOLD

static inline void rxe_compat_netdev_hold(struct net_device *dev,
					  netdevice_tracker *tracker, gfp_t gfp)
{
	dev_hold(dev);
}

static inline void rxe_compat_netdev_put(struct net_device *dev,
					 netdevice_tracker *tracker)
{
	dev_put(dev);
}

#define netdev_hold	rxe_compat_netdev_hold
#define netdev_put	rxe_compat_netdev_put

#endif /* !RXE_HAVE_NETDEV_HOLD */

#endif /* RXE_COMPAT_LINUX_NETDEVICE_H */
