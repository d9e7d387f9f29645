/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Persistent memory: which pages are, and how the CPU's caches are written back.
 */
#ifndef RXE_COMPAT_LINUX_LIBNVDIMM_H
#define RXE_COMPAT_LINUX_LIBNVDIMM_H

#include_next <linux/libnvdimm.h>
#include <linux/ioport.h>
#include <linux/mm.h>

/*
 * Kernels that cannot say what a page is made of. Loses: no memory counts as
 * persistent, so that no region may be flushed to persistence.
 */
#if !RXE_HAVE_REGION_INTERSECTS_DESC
#define region_intersects(start, size, flags, desc) \
	((void)(start), (void)(size), REGION_DISJOINT)
#endif

/* Is not reached there, as no region is persistent. */
#if !RXE_HAVE_ARCH_WB_CACHE_PMEM
static inline void rxe_compat_arch_wb_cache_pmem(void *addr, size_t size)
{
}

#define arch_wb_cache_pmem	rxe_compat_arch_wb_cache_pmem
#endif

#endif /* RXE_COMPAT_LINUX_LIBNVDIMM_H */
