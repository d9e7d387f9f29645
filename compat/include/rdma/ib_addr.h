/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Payload that fits into a packet: RoCE v2 has larger headers than v1. */
#ifndef RXE_COMPAT_RDMA_IB_ADDR_H
#define RXE_COMPAT_RDMA_IB_ADDR_H

#include_next <rdma/ib_addr.h>

#if !RXE_HAVE_IBOE_GET_MTU_V2

/*
 * IPv6, UDP, BTH, XRC, atomic header and ICRC. Loses: rdma_cm counts with the
 * kernel's own, and in a narrow range of MTUs proposes a path that is refused.
 */
static inline enum ib_mtu rxe_compat_iboe_get_mtu(int mtu)
{
	return iboe_get_mtu(mtu - 8 - 4 - 4);
}

#define iboe_get_mtu rxe_compat_iboe_get_mtu

#endif /* !RXE_HAVE_IBOE_GET_MTU_V2 */

#endif /* RXE_COMPAT_RDMA_IB_ADDR_H */
