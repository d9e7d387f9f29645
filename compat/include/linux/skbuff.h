/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Kinds of segmentation offload. Where SCTP, or a fixed identification of the outer IP
 * header, is not among them, no bit says so.
 */
#ifndef RXE_COMPAT_LINUX_SKBUFF_H
#define RXE_COMPAT_LINUX_SKBUFF_H

#include_next <linux/skbuff.h>

#if !RXE_HAVE_SKB_GSO_SCTP
#define SKB_GSO_SCTP	0
#endif

/* without a name for the inner header's, it is of that, or not there */
#if !RXE_HAVE_SKB_GSO_TCP_FIXEDID_INNER
#define SKB_GSO_TCP_FIXEDID	0
#endif

#endif /* RXE_COMPAT_LINUX_SKBUFF_H */
