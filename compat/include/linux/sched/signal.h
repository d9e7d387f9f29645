/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Signals, which <linux/sched.h> had before it was divided. */
#ifndef RXE_COMPAT_LINUX_SCHED_SIGNAL_H
#define RXE_COMPAT_LINUX_SCHED_SIGNAL_H

#if RXE_HAVE_LINUX_SCHED_MM_H
#include_next <linux/sched/signal.h>
#else
#include <linux/sched.h>
#endif

#endif /* RXE_COMPAT_LINUX_SCHED_SIGNAL_H */
