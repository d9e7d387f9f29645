// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * When and where the work of a QP runs.
 *
 * A task is one direction of one QP.  Whoever has work for it (a post, a
 * datagram, a timer) runs it on the spot if nobody else does, and otherwise
 * leaves a mark that the current runner sees before it leaves:
 *
 *          run            run
 *   IDLE ──────► BUSY ──────────► AGAIN        run on AGAIN: nothing to do
 *     ▲            │ done            │ done
 *     ├────────────┘                 └──► BUSY, once more
 *     │ start      stop on BUSY or AGAIN
 *    OFF ◄──────────────────────────────── STOP
 *
 * Nobody waits for anybody, so nobody spins, except rxe_task_stop(), which
 * sleeps.  The function of a task always runs with bottom halves off: it is
 * never preempted in the middle, and per-CPU transmit memory needs no lock.
 */
#include <linux/interrupt.h>

#include "rxe.h"

enum { STATE_IDLE, STATE_BUSY, STATE_AGAIN, STATE_STOP, STATE_OFF };

/* Rounds that a process context spends in a task before softirq takes over */
#define ROUNDS_PROCESS	64

static bool task_enter(struct rxe_task *task)
{
	int old, seen;

	/*
	 * The caller's work is visible before the state is read; pairs with the
	 * full barrier of the exchange in task_leave(), after which the runner
	 * looks for work once more or is seen to have left.
	 */
	smp_mb();
	old = atomic_read(&task->state);

	for (;;) {
		int new = old == STATE_IDLE ? STATE_BUSY : STATE_AGAIN;

		if (old != STATE_IDLE && old != STATE_BUSY)
			return false;
		seen = atomic_cmpxchg(&task->state, old, new);
		if (seen == old)
			return new == STATE_BUSY;
		old = seen;
	}
}

/*
 * Leaves the task.  With a mark set and @heed, the caller stays its owner and
 * false is returned.
 */
static bool task_leave(struct rxe_task *task, bool heed)
{
	int old = STATE_BUSY;
	int seen;

	for (;;) {
		int new = old == STATE_AGAIN && heed ? STATE_BUSY : STATE_IDLE;

		seen = atomic_cmpxchg(&task->state, old, new);
		if (seen == old)
			return new == STATE_IDLE;
		if (seen == STATE_STOP)
			break;
		old = seen;
	}
	/* whoever asked us to stop sleeps until we say so */
	atomic_set(&task->state, STATE_OFF);
	complete(&task->idle);
	return true;
}

/**
 * rxe_task_run - do a task's work now, or have its current runner do it
 * @task: the task
 *
 * In softirq one round is done here and what is left goes to the next softirq
 * pass, so that received packets are not kept waiting.
 *
 * Context: process or softirq; interrupts on.
 */
void rxe_task_run(struct rxe_task *task)
{
	int rounds = in_softirq() ? 1 : ROUNDS_PROCESS;
	bool more;

	if (!task_enter(task))
		return;
	local_bh_disable();
	for (;;) {
		more = task->func(task->qp);
		if (!more && task_leave(task, true))
			break;
		/* nobody else can run the task while we hold it: do not be preempted */
		if (!--rounds || need_resched()) {
			task_leave(task, false);
			tasklet_schedule(&task->bh);
			break;
		}
		/* let the other side, and the answers, get through */
		local_bh_enable();
		local_bh_disable();
	}
	local_bh_enable();
}

static void task_bh(struct tasklet_struct *t)
{
	rxe_task_run(container_of(t, struct rxe_task, bh));
}

/**
 * rxe_task_kick - have a task's work done in softirq, soon
 * @task: the task
 *
 * From process context softirq runs before this returns, rather than waking
 * the softirq thread and waiting for the scheduler.
 *
 * Context: any, also with interrupts off or locks held by a consumer.
 */
void rxe_task_kick(struct rxe_task *task)
{
	if (irqs_disabled()) {
		tasklet_schedule(&task->bh);
		return;
	}
	local_bh_disable();
	tasklet_schedule(&task->bh);
	local_bh_enable();
}

/**
 * rxe_task_stop - keep a task from running
 * @task: the task
 *
 * When this returns nobody is in the task's function and nobody enters it
 * until rxe_task_start().
 *
 * Context: process, may sleep; calls for one task are serialized by the caller.
 */
void rxe_task_stop(struct rxe_task *task)
{
	int old = atomic_read(&task->state);

	reinit_completion(&task->idle);
	while (old != STATE_OFF) {
		int new = old == STATE_IDLE ? STATE_OFF : STATE_STOP;
		int seen = atomic_cmpxchg(&task->state, old, new);

		if (seen == old) {
			if (new == STATE_STOP)
				wait_for_completion(&task->idle);
			break;
		}
		old = seen;
	}
}

/**
 * rxe_task_start - let a task run again and look for work
 * @task: the task
 *
 * Context: process.
 */
void rxe_task_start(struct rxe_task *task)
{
	atomic_set(&task->state, STATE_IDLE);
	rxe_task_kick(task);
}

/**
 * rxe_task_init - prepare a task; it is off until rxe_task_start()
 * @task: the task
 * @qp: handed to @func
 * @func: does at most a budget of work with bottom halves off; returns true if
 *	it should be called again
 *
 * Context: process.
 */
void rxe_task_init(struct rxe_task *task, struct rxe_qp *qp,
		   bool (*func)(struct rxe_qp *qp))
{
	atomic_set(&task->state, STATE_OFF);
	task->func = func;
	task->qp = qp;
	tasklet_setup(&task->bh, task_bh);
	init_completion(&task->idle);
}

/**
 * rxe_task_exit - stop a task for good
 * @task: the task
 *
 * The caller has seen to it that nobody kicks it any more.
 *
 * Context: process, may sleep.
 */
void rxe_task_exit(struct rxe_task *task)
{
	rxe_task_stop(task);
	tasklet_kill(&task->bh);
}
