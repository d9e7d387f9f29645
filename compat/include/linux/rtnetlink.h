/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A name that the kernel has given free since. */
#ifndef RXE_COMPAT_LINUX_RTNETLINK_H
#define RXE_COMPAT_LINUX_RTNETLINK_H

#include_next <linux/rtnetlink.h>

#if !RXE_HAVE_NET_MUTEX_FREE
#define net_mutex rxe_compat_net_mutex
#endif

#endif /* RXE_COMPAT_LINUX_RTNETLINK_H */
