/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tasklets that call back with themselves; see <linux/timer.h> for the old form. */
#ifndef RXE_COMPAT_LINUX_INTERRUPT_H
#define RXE_COMPAT_LINUX_INTERRUPT_H

#include_next <linux/interrupt.h>

#if !RXE_HAVE_TASKLET_SETUP
#define tasklet_setup(tasklet, callback)					\
do {										\
	void rxe_compat_scheduled(unsigned long data)				\
	{									\
		callback((struct tasklet_struct *)data);			\
	}									\
	tasklet_init(tasklet, rxe_compat_scheduled, (unsigned long)(tasklet));	\
} while (0)
#endif

#endif /* RXE_COMPAT_LINUX_INTERRUPT_H */
