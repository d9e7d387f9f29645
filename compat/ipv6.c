// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Routes of IPv6, where its table of functions finds them without asking IPsec.
 */
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/xfrm.h>
#if RXE_HAVE_NET_IPV6_STUBS_H
#include <net/ipv6_stubs.h>
#endif

#if !(RXE_HAVE_NET_IPV6_STUBS_H && !IS_BUILTIN(CONFIG_IPV6)) && !RXE_HAVE_IP6_DST_LOOKUP_FLOW_NET

/**
 * rxe_compat_ip6_dst_lookup_flow() - a route, with what IPsec policies make of it
 * @net: namespace
 * @sk: whose socket policies count
 * @fl6: the flow
 * @final_dst: where it ends, if @fl6 goes by way of another address, or NULL
 *
 * Context: any but hard interrupt.
 * Return: the route with a reference, or ERR_PTR().
 */
struct dst_entry *rxe_compat_ip6_dst_lookup_flow(struct net *net, struct sock *sk,
						 struct flowi6 *fl6,
						 const struct in6_addr *final_dst)
{
	struct dst_entry *dst;
	int err = ipv6_stub->ipv6_dst_lookup(net, sk, &dst, fl6);

	if (err)
		return ERR_PTR(err);
	if (final_dst)
		fl6->daddr = *final_dst;
	return xfrm_lookup_route(net, dst, flowi6_to_flowi(fl6), sk, 0);
}

#endif
