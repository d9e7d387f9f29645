/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What GRO knows of a packet: in netdevice.h, where there is no header of its own. */
#ifndef RXE_COMPAT_NET_GRO_H
#define RXE_COMPAT_NET_GRO_H

#if RXE_HAVE_NET_GRO_H
#include_next <net/gro.h>
#else
#include <linux/netdevice.h>
#endif

#endif /* RXE_COMPAT_NET_GRO_H */
