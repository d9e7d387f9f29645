/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Arrays that may be larger than what kmalloc() gives. */
#ifndef RXE_COMPAT_LINUX_SLAB_H
#define RXE_COMPAT_LINUX_SLAB_H

#include_next <linux/slab.h>

#if !RXE_HAVE_KVCALLOC

#include <linux/mm.h>
#include <linux/vmalloc.h>

static inline void *rxe_compat_kvmalloc_array(size_t n, size_t size, gfp_t flags)
{
	void *p;

	if (size && n > SIZE_MAX / size)
		return NULL;
	p = kmalloc(n * size, flags | __GFP_NOWARN | __GFP_NORETRY);
	if (p || n * size <= PAGE_SIZE)
		return p;
	return __vmalloc(n * size, flags | __GFP_HIGHMEM, PAGE_KERNEL);
}

#define kvmalloc_array			rxe_compat_kvmalloc_array
#define kvcalloc(n, size, flags)	rxe_compat_kvmalloc_array(n, size, (flags) | __GFP_ZERO)

#endif /* !RXE_HAVE_KVCALLOC */

#endif /* RXE_COMPAT_LINUX_SLAB_H */
