/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Pages of a process that are not pinned, and who tells when it loses them.
 * Loses, where the kernel cannot say: on-demand paging is not offered
 * (IBK_ON_DEMAND_PAGING is 0), and nothing here is ever called.
 */
#ifndef RXE_COMPAT_LINUX_HMM_H
#define RXE_COMPAT_LINUX_HMM_H

#if RXE_HAVE_LINUX_HMM_H && RXE_HAVE_HMM_PFNS && RXE_HAVE_HMM_RANGE_FAULT

#include_next <linux/hmm.h>

#else

#include <linux/errno.h>
#include <linux/mm.h>
/* before names of its own are taken from it */
#include <linux/mmu_notifier.h>

struct rxe_compat_mmu_notifier_range {
	unsigned long		start;
	unsigned long		end;
};

struct rxe_compat_mmu_interval_notifier {
	unsigned long		seq;
};

struct rxe_compat_mmu_interval_notifier_ops {
	bool (*invalidate)(struct rxe_compat_mmu_interval_notifier *notifier,
			   const struct rxe_compat_mmu_notifier_range *range,
			   unsigned long seq);
};

struct rxe_compat_hmm_range {
	struct rxe_compat_mmu_interval_notifier *notifier;
	unsigned long		notifier_seq;
	unsigned long		start;
	unsigned long		end;
	unsigned long		*hmm_pfns;
	unsigned long		default_flags;
};

static inline int
rxe_compat_mmu_interval_notifier_insert(struct rxe_compat_mmu_interval_notifier *notifier,
					struct mm_struct *mm, unsigned long start,
					unsigned long length,
					const struct rxe_compat_mmu_interval_notifier_ops *ops)
{
	return -EOPNOTSUPP;
}

static inline int rxe_compat_hmm_range_fault(struct rxe_compat_hmm_range *range)
{
	return -EOPNOTSUPP;
}

#undef HMM_PFN_VALID
#undef HMM_PFN_WRITE
#define HMM_PFN_VALID			1UL
#define HMM_PFN_WRITE			2UL
#define HMM_PFN_REQ_FAULT		HMM_PFN_VALID
#define HMM_PFN_REQ_WRITE		HMM_PFN_WRITE
#undef HMM_RANGE_DEFAULT_TIMEOUT
#define HMM_RANGE_DEFAULT_TIMEOUT	1000
#define hmm_range			rxe_compat_hmm_range
#define hmm_range_fault			rxe_compat_hmm_range_fault
#define hmm_pfn_to_page(pfn)		((void)(pfn), (struct page *)NULL)
#define mmu_notifier_range		rxe_compat_mmu_notifier_range
#define mmu_interval_notifier		rxe_compat_mmu_interval_notifier
#define mmu_interval_notifier_ops	rxe_compat_mmu_interval_notifier_ops
#define mmu_interval_notifier_insert	rxe_compat_mmu_interval_notifier_insert
#define mmu_interval_notifier_remove(notifier)		((void)(notifier))
#define mmu_interval_set_seq(notifier, number)		((notifier)->seq = (number))
#define mmu_interval_read_begin(notifier)		((notifier)->seq)
#define mmu_interval_read_retry(notifier, number)	((notifier)->seq != (number))
#undef mmap_read_lock
#undef mmap_read_unlock
#define mmap_read_lock(mm)		((void)(mm))
#define mmap_read_unlock(mm)		((void)(mm))

#endif /* RXE_HAVE_LINUX_HMM_H && ... */

#endif /* RXE_COMPAT_LINUX_HMM_H */
