/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* High resolution timers, set up in one step. */
#ifndef RXE_COMPAT_LINUX_HRTIMER_H
#define RXE_COMPAT_LINUX_HRTIMER_H

#include_next <linux/hrtimer.h>

#if !RXE_HAVE_HRTIMER_SETUP

static inline void
rxe_compat_hrtimer_setup(struct hrtimer *timer,
			 enum hrtimer_restart (*function)(struct hrtimer *),
			 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}

#define hrtimer_setup rxe_compat_hrtimer_setup

#endif /* !RXE_HAVE_HRTIMER_SETUP */

#endif /* RXE_COMPAT_LINUX_HRTIMER_H */
