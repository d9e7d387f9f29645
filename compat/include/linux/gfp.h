/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory that is charged to who asks for it: once that was all of it. */
#ifndef RXE_COMPAT_LINUX_GFP_H
#define RXE_COMPAT_LINUX_GFP_H

#include_next <linux/gfp.h>

#if !RXE_HAVE_GFP_KERNEL_ACCOUNT
#define GFP_KERNEL_ACCOUNT	GFP_KERNEL
#endif

#endif /* RXE_COMPAT_LINUX_GFP_H */
