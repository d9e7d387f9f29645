/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Timers under their newest names. */
#ifndef RXE_COMPAT_LINUX_TIMER_H
#define RXE_COMPAT_LINUX_TIMER_H

#include_next <linux/timer.h>

#if !RXE_HAVE_TIMER_DELETE_SYNC
#define timer_delete_sync(timer)		del_timer_sync(timer)
#endif

#if !RXE_HAVE_TIMER_CONTAINER_OF
#define timer_container_of(var, timer, member)	from_timer(var, timer, member)
#endif

#endif /* RXE_COMPAT_LINUX_TIMER_H */
