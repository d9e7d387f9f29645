/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Short-lived mappings of pages. The older kind forbids to sleep until the page
 * is unmapped; the driver does not sleep with a page mapped.
 */
#ifndef RXE_COMPAT_LINUX_HIGHMEM_H
#define RXE_COMPAT_LINUX_HIGHMEM_H

#include_next <linux/highmem.h>

#if !RXE_HAVE_KMAP_LOCAL_PAGE
#define kmap_local_page	kmap_atomic
#define kunmap_local	kunmap_atomic
#endif

#endif /* RXE_COMPAT_LINUX_HIGHMEM_H */
