/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * IPv6 functions called by name. Where IPv6 can be a module, calling it by name
 * would tie this module to it, and leave IPv4 alone without it; the kernel keeps
 * a table of its functions for that case.
 */
#ifndef RXE_COMPAT_NET_IPV6_H
#define RXE_COMPAT_NET_IPV6_H

#include_next <net/ipv6.h>

#if RXE_HAVE_NET_IPV6_STUBS_H && !IS_BUILTIN(CONFIG_IPV6)

#include <net/ipv6_stubs.h>

static inline struct dst_entry *
rxe_compat_ip6_dst_lookup_flow(struct net *net, const struct sock *sk,
			       struct flowi6 *fl6, const struct in6_addr *final_dst)
{
	return ipv6_stub->ipv6_dst_lookup_flow(net, sk, fl6, final_dst);
}

#define ip6_dst_lookup_flow rxe_compat_ip6_dst_lookup_flow

#elif !RXE_HAVE_IP6_DST_LOOKUP_FLOW_NET

struct dst_entry *rxe_compat_ip6_dst_lookup_flow(struct net *net, struct sock *sk,
						 struct flowi6 *fl6,
						 const struct in6_addr *final_dst);

#define ip6_dst_lookup_flow rxe_compat_ip6_dst_lookup_flow

#endif

#if !RXE_HAVE_IP6_MAKE_FLOWINFO

static inline __be32 rxe_compat_ip6_make_flowinfo(unsigned int tclass, __be32 flowlabel)
{
	return htonl(tclass << 20) | flowlabel;
}

#define ip6_make_flowinfo rxe_compat_ip6_make_flowinfo

#endif

#endif /* RXE_COMPAT_NET_IPV6_H */
