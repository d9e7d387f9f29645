/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging: memory of a process that is not pinned (odp.c).
 */
#ifndef RXE_ODP_H
#define RXE_ODP_H

#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

struct rxe_mr;
struct rxe_odp;
struct rxe_span;
struct rxe_task;
struct uverbs_attr_bundle;

/**
 * struct rxe_fault - pages that a task of a QP waits for, at most one range at a time
 * @task: called when they are there, or cannot be had
 * @work: gets them
 * @odp: whose they are; with a reference while @work is queued
 * @serial: of @odp, also afterwards
 * @start: first address, a page's
 * @end: behind the last
 * @more: behind what will be wanted next
 * @write: they will be written to
 * @waiting: @work is queued, the rest is its own
 * @paging: the task's own: a packet waits for the page
 * @err: why there is nothing from @start to @end; for the access that comes again
 * @ahead: bytes from the place of an access on that will be wanted, in the end; set
 *	by whoever accesses memory
 */
struct rxe_fault {
	struct rxe_task		*task;
	struct work_struct	work;
	struct rxe_odp		*odp;
	u64			serial;
	unsigned long		start;
	unsigned long		end;
	unsigned long		more;
	bool			write;
	bool			waiting;
	bool			paging;
	int			err;
	u64			ahead;
};

int rxe_odp_module_init(void);
void rxe_odp_module_exit(void);
void rxe_odp_query(struct ib_odp_caps *caps);
struct rxe_odp *rxe_odp_create(void);
void rxe_odp_put(struct rxe_odp *odp);
u8 *rxe_odp_map(struct rxe_span *span, u32 *len, bool write, struct rxe_fault *fault);
void rxe_odp_unmap(struct rxe_span *span, u8 *mem);
int rxe_odp_advise(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sge, u32 num_sge, struct uverbs_attr_bundle *attrs);
void rxe_fault_init(struct rxe_fault *fault, struct rxe_task *task);
void rxe_fault_cancel(struct rxe_fault *fault);
bool rxe_fault_waiting(const struct rxe_fault *fault);

#endif /* RXE_ODP_H */
