/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the compiler is told. */
#ifndef RXE_COMPAT_LINUX_COMPILER_H
#define RXE_COMPAT_LINUX_COMPILER_H

#include_next <linux/compiler.h>

#if !RXE_HAVE_FALLTHROUGH
#if __GNUC__ >= 7
#define fallthrough	__attribute__((__fallthrough__))
#else
#define fallthrough	do {} while (0)
#endif
#endif

#endif /* RXE_COMPAT_LINUX_COMPILER_H */
