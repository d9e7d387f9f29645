/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reference counts. Older kernels have none that saturate: here an overflow wraps
 * as with a plain atomic_t, which is what is lost.
 */
#ifndef RXE_COMPAT_LINUX_REFCOUNT_H
#define RXE_COMPAT_LINUX_REFCOUNT_H

#if RXE_HAVE_LINUX_REFCOUNT_H

#include_next <linux/refcount.h>

#else

#include <linux/atomic.h>
#include <linux/types.h>

struct rxe_compat_refcount {
	atomic_t refs;
};

#define refcount_t struct rxe_compat_refcount

static inline void refcount_set(refcount_t *r, int n)
{
	atomic_set(&r->refs, n);
}

static inline unsigned int refcount_read(const refcount_t *r)
{
	return atomic_read(&r->refs);
}

static inline void refcount_inc(refcount_t *r)
{
	atomic_inc(&r->refs);
}

static inline bool refcount_inc_not_zero(refcount_t *r)
{
	return atomic_inc_not_zero(&r->refs);
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	return atomic_dec_and_test(&r->refs);
}

#endif /* RXE_HAVE_LINUX_REFCOUNT_H */

#endif /* RXE_COMPAT_LINUX_REFCOUNT_H */
