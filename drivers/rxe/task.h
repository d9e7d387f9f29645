/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * When and where the work of a QP runs (task.c).
 */
#ifndef RXE_TASK_H
#define RXE_TASK_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/workqueue.h>

struct rxe_qp;

/**
 * struct rxe_task - one direction of one QP; at most one context runs it
 * @state: idle, busy, again, stop or off (task.c)
 * @nest: how many tasks it runs within; of whoever runs it
 * @more: there is work left; likewise
 * @direct: in this round it has sent nothing through the stack; likewise
 * @queued: in this round it has sent what a CPU of this host keeps for later; likewise
 * @behind: in this round another CPU keeps what was sent before; likewise
 * @cpu: the CPU that may still keep what was sent, or -1; likewise
 * @since: when something was sent there last, in jiffies; likewise
 * @by: the work item that runs it, if any; likewise
 * @func: does what there is to do, at most a budget; true asks to be called again
 * @qp: argument
 * @counts: counters of its side of the QP
 * @bh: runs it in softirq
 * @work: runs it on another CPU
 * @called: when somebody was last called to do that, in jiffies; set by anybody
 * @home: runs it on @cpu
 * @idle: completed when a task that was told to stop has stopped
 */
struct rxe_task {
	atomic_t		state;
	u8			nest;
	bool			more;
	bool			direct;
	bool			queued;
	bool			behind;
	int			cpu;
	unsigned long		since;
	struct work_struct	*by;
	bool			(*func)(struct rxe_qp *qp);
	struct rxe_qp		*qp;
	u64			*counts;
	struct tasklet_struct	bh;
	struct work_struct	work;
	unsigned long		called;
	struct work_struct	home;
	struct completion	idle;
};

/* More tasks within each other than there may be: it is left to the next softirq pass */
#define RXE_TASK_LATER	255

int rxe_task_module_init(void);
void rxe_task_module_exit(void);
void rxe_task_init(struct rxe_task *task, struct rxe_qp *qp, u64 *counts,
		   bool (*func)(struct rxe_qp *qp));
void rxe_task_exit(struct rxe_task *task);
void rxe_task_run(struct rxe_task *task);
void rxe_task_run_within(struct rxe_task *task, u8 nest);
bool rxe_task_claim(struct rxe_task *task, u8 nest);
void rxe_task_round(struct rxe_task *task, u8 nest);
void rxe_task_yield(struct rxe_task *task);
void rxe_task_kick(struct rxe_task *task);
bool rxe_task_queue(struct rxe_task *task);
bool rxe_task_late(const struct rxe_task *task);
bool rxe_task_elsewhere(struct rxe_task *task);
void rxe_task_stop(struct rxe_task *task);
void rxe_task_start(struct rxe_task *task);

#endif /* RXE_TASK_H */
