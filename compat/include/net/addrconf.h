/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Interface identifiers of IPv6. */
#ifndef RXE_COMPAT_NET_ADDRCONF_H
#define RXE_COMPAT_NET_ADDRCONF_H

#include_next <net/addrconf.h>

#if !RXE_HAVE_ADDRCONF_ADDR_EUI48

static inline void rxe_compat_addrconf_addr_eui48(u8 *eui, const char *addr)
{
	memcpy(eui, addr, 3);
	eui[0] ^= 2;
	eui[3] = 0xff;
	eui[4] = 0xfe;
	memcpy(eui + 5, addr + 3, 3);
}

#define addrconf_addr_eui48 rxe_compat_addrconf_addr_eui48

#endif /* !RXE_HAVE_ADDRCONF_ADDR_EUI48 */

#if !RXE_HAVE_IPV6_DEV_MC_INC

int rxe_compat_ipv6_dev_mc_inc(struct net_device *dev, const struct in6_addr *addr);
void rxe_compat_ipv6_dev_mc_dec(struct net_device *dev, const struct in6_addr *addr);

#define ipv6_dev_mc_inc rxe_compat_ipv6_dev_mc_inc
#define ipv6_dev_mc_dec rxe_compat_ipv6_dev_mc_dec

#endif /* !RXE_HAVE_IPV6_DEV_MC_INC */

#endif /* RXE_COMPAT_NET_ADDRCONF_H */
