/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Timers under their newest names. Where a timer calls back with a number, a
 * function of the right type stands between: it is local to where the timer is
 * set up, and refers to nothing there, so it is as good as any other.
 */
#ifndef RXE_COMPAT_LINUX_TIMER_H
#define RXE_COMPAT_LINUX_TIMER_H

#include_next <linux/timer.h>

#if !RXE_HAVE_TIMER_DELETE_SYNC
#define timer_delete_sync(timer)		del_timer_sync(timer)
#endif

#if !RXE_HAVE_TIMER_CONTAINER_OF
#define timer_container_of(var, timer, member)	container_of(timer, typeof(*(var)), member)
#endif

#if !RXE_HAVE_TIMER_SETUP
#define timer_setup(timer, callback, flags)					\
do {										\
	void rxe_compat_expired(unsigned long data)				\
	{									\
		callback((struct timer_list *)data);				\
	}									\
	BUILD_BUG_ON(flags);							\
	setup_timer(timer, rxe_compat_expired, (unsigned long)(timer));		\
} while (0)
#endif

#endif /* RXE_COMPAT_LINUX_TIMER_H */
