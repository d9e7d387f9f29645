/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Typed allocation: an object or an array of them, GFP_KERNEL unless told
 * otherwise. Loses the check against the size of a __counted_by() member.
 */
#ifndef RXE_COMPAT_LINUX_SLAB_H
#define RXE_COMPAT_LINUX_SLAB_H

#include_next <linux/slab.h>

#if !RXE_HAVE_KZALLOC_OBJ

#include <linux/overflow.h>

/* the last argument of a call that may have none: its own, or GFP_KERNEL */
#define rxe_compat_second(a, b, ...)	b
#define rxe_compat_gfp(...)		rxe_compat_second(0, ##__VA_ARGS__, GFP_KERNEL)

#define kmalloc_obj(x, ...) \
	((typeof(x) *)kmalloc(sizeof(x), rxe_compat_gfp(__VA_ARGS__)))
#define kmalloc_objs(x, n, ...) \
	((typeof(x) *)kmalloc_array(n, sizeof(x), rxe_compat_gfp(__VA_ARGS__)))
#define kmalloc_flex(x, fam, n, ...) \
	((typeof(x) *)kmalloc(struct_size((typeof(x) *)NULL, fam, n), \
			      rxe_compat_gfp(__VA_ARGS__)))
#define kzalloc_obj(x, ...) \
	((typeof(x) *)kzalloc(sizeof(x), rxe_compat_gfp(__VA_ARGS__)))
#define kzalloc_objs(x, n, ...) \
	((typeof(x) *)kcalloc(n, sizeof(x), rxe_compat_gfp(__VA_ARGS__)))
#define kzalloc_flex(x, fam, n, ...) \
	((typeof(x) *)kzalloc(struct_size((typeof(x) *)NULL, fam, n), \
			      rxe_compat_gfp(__VA_ARGS__)))
#define kvmalloc_objs(x, n, ...) \
	((typeof(x) *)kvmalloc_array(n, sizeof(x), rxe_compat_gfp(__VA_ARGS__)))
#define kvzalloc_objs(x, n, ...) \
	((typeof(x) *)kvcalloc(n, sizeof(x), rxe_compat_gfp(__VA_ARGS__)))
#define kvzalloc_flex(x, fam, n, ...) \
	((typeof(x) *)kvzalloc(struct_size((typeof(x) *)NULL, fam, n), \
			       rxe_compat_gfp(__VA_ARGS__)))

#endif /* !RXE_HAVE_KZALLOC_OBJ */

#endif /* RXE_COMPAT_LINUX_SLAB_H */
