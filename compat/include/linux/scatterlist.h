/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Walking the pages of a table. */
#ifndef RXE_COMPAT_LINUX_SCATTERLIST_H
#define RXE_COMPAT_LINUX_SCATTERLIST_H

#include_next <linux/scatterlist.h>

#if !RXE_HAVE_FOR_EACH_SGTABLE_PAGE
#undef for_each_sgtable_page
#define for_each_sgtable_page(sgt, piter, pgoffset) \
	for_each_sg_page((sgt)->sgl, piter, (sgt)->orig_nents, pgoffset)
#endif

#endif /* RXE_COMPAT_LINUX_SCATTERLIST_H */
