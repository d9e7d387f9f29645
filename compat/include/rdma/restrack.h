/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Details of objects for the rdma tool, as pairs of a name and a value (compat/
 * rdma_details.c). Where the core has no bookkeeping of objects, compat/rdma_res.c is
 * who asks for them.
 */
#ifndef RXE_COMPAT_RDMA_RESTRACK_H
#define RXE_COMPAT_RDMA_RESTRACK_H

#if RXE_HAVE_RDMA_RESTRACK_H
#include <linux/hashtable.h>	/* the first of these headers forgot it */
#include_next <rdma/restrack.h>
#endif

#include <linux/types.h>

struct sk_buff;

#if !RXE_HAVE_RDMA_NL_PUT_DRIVER_U32

/* Part of the ABI of later kernels */
enum {
	RDMA_NLDEV_ATTR_DRIVER			= 52,
	RDMA_NLDEV_ATTR_DRIVER_STRING		= 54,
	RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE	= 55,
	RDMA_NLDEV_ATTR_DRIVER_U32		= 57,
	RDMA_NLDEV_ATTR_DRIVER_U64		= 59,
};

#define RDMA_NLDEV_PRINT_TYPE_HEX	1

int rxe_compat_rdma_nl_put_driver_u32(struct sk_buff *msg, const char *name, u32 value);
int rxe_compat_rdma_nl_put_driver_u32_hex(struct sk_buff *msg, const char *name, u32 value);
int rxe_compat_rdma_nl_put_driver_u64(struct sk_buff *msg, const char *name, u64 value);

#define rdma_nl_put_driver_u32		rxe_compat_rdma_nl_put_driver_u32
#define rdma_nl_put_driver_u32_hex	rxe_compat_rdma_nl_put_driver_u32_hex
#define rdma_nl_put_driver_u64		rxe_compat_rdma_nl_put_driver_u64

#endif /* !RXE_HAVE_RDMA_NL_PUT_DRIVER_U32 */

#if !RXE_HAVE_RDMA_NL_PUT_DRIVER_STRING

int rxe_compat_rdma_nl_put_driver_string(struct sk_buff *msg, const char *name,
					 const char *str);
#define rdma_nl_put_driver_string	rxe_compat_rdma_nl_put_driver_string

#endif

#endif /* RXE_COMPAT_RDMA_RESTRACK_H */
