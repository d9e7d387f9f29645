/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* From a route to the IPv6 route around it. */
#ifndef RXE_COMPAT_NET_IP6_FIB_H
#define RXE_COMPAT_NET_IP6_FIB_H

#include_next <net/ip6_fib.h>

#if !RXE_HAVE_DST_RT6_INFO
#define dst_rt6_info(ptr)	container_of(ptr, struct rt6_info, dst)
#endif

#endif /* RXE_COMPAT_NET_IP6_FIB_H */
