/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Work queues that say whether they are bound to a CPU; older ones are, always. */
#ifndef RXE_COMPAT_LINUX_WORKQUEUE_H
#define RXE_COMPAT_LINUX_WORKQUEUE_H

#include_next <linux/workqueue.h>

#if !RXE_HAVE_WQ_PERCPU
#define WQ_PERCPU		0
#endif

#endif /* RXE_COMPAT_LINUX_WORKQUEUE_H */
