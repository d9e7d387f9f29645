/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* References to address spaces, which <linux/sched.h> had once. */
#ifndef RXE_COMPAT_LINUX_SCHED_MM_H
#define RXE_COMPAT_LINUX_SCHED_MM_H

#if RXE_HAVE_LINUX_SCHED_MM_H

#include_next <linux/sched/mm.h>

#else

#include <linux/sched.h>

static inline void rxe_compat_mmgrab(struct mm_struct *mm)
{
	atomic_inc(&mm->mm_count);
}

static inline bool rxe_compat_mmget_not_zero(struct mm_struct *mm)
{
	return atomic_inc_not_zero(&mm->mm_users);
}

#define mmgrab			rxe_compat_mmgrab
#define mmget_not_zero		rxe_compat_mmget_not_zero

#endif /* RXE_HAVE_LINUX_SCHED_MM_H */

#endif /* RXE_COMPAT_LINUX_SCHED_MM_H */
