/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Flags of a mapping, changed through a function. */
#ifndef RXE_COMPAT_LINUX_MM_H
#define RXE_COMPAT_LINUX_MM_H

#include_next <linux/mm.h>

#if !RXE_HAVE_VM_FLAGS_SET

/*
 * The newest one also marks the mapping for readers that hold no lock; where it
 * is missing there are no such readers.
 */
static inline void rxe_compat_vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

#define vm_flags_set rxe_compat_vm_flags_set

#endif /* !RXE_HAVE_VM_FLAGS_SET */

#endif /* RXE_COMPAT_LINUX_MM_H */
