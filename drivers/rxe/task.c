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
 * sleeps.  The function of a task always runs with bottom halves off, so that
 * per-CPU transmit memory needs no lock.
 *
 * What goes through a device without a queue of its own, as veth, is kept by the CPU
 * that sends it until that CPU receives it, in softirq.  A task that may be run by any
 * CPU remembers which one may still keep something of it: what another one sends could
 * be received first (rxe_task_elsewhere()).
 */
#include <linux/interrupt.h>
#include <linux/workqueue.h>

#include "rxe.h"

enum { STATE_IDLE, STATE_BUSY, STATE_AGAIN, STATE_STOP, STATE_OFF };

/* Rounds that a process context spends in a task before softirq takes over */
#define ROUNDS_PROCESS	64
/* Rounds of a worker before it looks whether others want to work, too */
#define ROUNDS_WORK	16
/*
 * Tasks within each other: a requester whose packets go to a responder in the same
 * namespace, without the stack between them, runs that, which answers the requester.
 * Queue pairs that are not each other's peers, but wired in a chain, would have no end.
 */
#define NEST_MOST	2
/*
 * Ordinary load does not keep a CPU from softirq and its workers for that long. Who does,
 * as a real-time process, must not stop a QP: what its CPU keeps counts as lost then.
 */
#define KEPT_MOST	msecs_to_jiffies(200)
/* A worker that has been called for so long may not get its CPU before the peer gives up */
#define CALLED_MOST	msecs_to_jiffies(20)

/*
 * Its workers have no priority. With one, a stream moves 1.05 to 1.2 times as much, as whoever
 * polls for it gets no CPU that they need; but nor does anybody else on these CPUs.
 */
static struct workqueue_struct *task_wq;

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

/*
 * Nobody else can run a task that is held, so its holder is not preempted; where
 * bottom halves may be preempted, that cannot be had.
 */
static void task_hold(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
}

static void task_release(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

static void task_round_begin(struct rxe_task *task)
{
	rxe_mr_round_begin();
	task->direct = true;
	task->queued = false;
	task->behind = false;
}

/*
 * What was sent in this round, if anything, waits for softirq on this CPU. If that was
 * only what cannot wait, what another CPU keeps is still what the rest must not overtake.
 */
static void task_round_end(struct rxe_task *task)
{
	rxe_mr_round_end();
	if (task->queued && !task->behind) {
		task->cpu = raw_smp_processor_id();
		task->since = jiffies;
	}
}

/*
 * Bottom halves have run, if they could: nothing waits on this CPU any more, nor will
 * an answer, unless its softirq thread has been left something to do. To softirq itself
 * that comes later.
 */
static void task_settle(struct rxe_task *task)
{
	preempt_disable();
	if (task->cpu == smp_processor_id() && !in_softirq() &&
	    !(local_softirq_pending() & (BIT(NET_RX_SOFTIRQ) | BIT(TASKLET_SOFTIRQ))))
		task->cpu = -1;
	preempt_enable();
}

/*
 * Runs a task for at most some rounds, and counts where.  What is left then goes to
 * @rest, which brings it back later.  @by is the work item that is executed, if any.
 *
 * After each round bottom halves run, while the task is still ours: what it has
 * sent is on its way before another CPU can send behind it, and packets of one
 * QP stay in order.  What did not go to the stack has arrived; then the task is left
 * first, for the peer, whose turn it may be now, has answers for it.
 */
static void task_rounds(struct rxe_task *task, enum rxe_counter where, int rounds,
			void (*rest)(struct rxe_task *task), u8 nest, struct work_struct *by)
{
	bool more, left;

	if (!task_enter(task))
		return;
	task_hold();
	task->nest = nest;
	task->by = by;
	rxe_count_side(task->qp->dev, task->counts, where, 1);
	for (;;) {
		local_bh_disable();
		task_round_begin(task);
		more = task->func(task->qp);
		task_round_end(task);
		left = !more && task->direct && task_leave(task, true);
		/* still ours: somebody has left a mark, and it is gone */
		more |= task->direct && !left;
		local_bh_enable();
		if (left)
			break;
		task_settle(task);
		if (!more && task_leave(task, true))
			break;
		if (!--rounds || need_resched()) {
			task_leave(task, false);
			rest(task);
			break;
		}
	}
	task_release();
}

static void task_rest_bh(struct rxe_task *task)
{
	tasklet_schedule(&task->bh);
}

/* The CPU that shares the work with this one: its neighbour, or else any other one */
static int partner_cpu(void)
{
	unsigned int here = raw_smp_processor_id();
	unsigned int cpu = here ^ 1;

	if (cpu >= nr_cpu_ids || !cpu_online(cpu)) {
		cpu = cpumask_first(cpu_online_mask);
		if (cpu == here)
			cpu = cpumask_next(here, cpu_online_mask);
	}
	return cpu < nr_cpu_ids ? cpu : WORK_CPU_UNBOUND;
}

static bool task_call(struct rxe_task *task, int cpu)
{
	if (!queue_work_on(cpu, task_wq, &task->work))
		return false;
	WRITE_ONCE(task->called, jiffies);
	return true;
}

/**
 * rxe_task_queue - have a task's work done by another CPU, if one is free
 * @task: the task
 *
 * For bulk data, where the sender of a packet and its receiver each have enough
 * to do: summing and copying; and for streams of small messages, where the process that
 * posts them has.  When both are on one host, the one calls the
 * other to the partner of its CPU, and is called back; left to the scheduler,
 * both would be put on the CPU of the waker as soon as all CPUs have something
 * to do.  The worker may be late all the same, so the caller falls back to
 * rxe_task_run() when work piles up.
 *
 * Context: any.
 * Return: false if it was queued before and no worker has come yet.
 */
bool rxe_task_queue(struct rxe_task *task)
{
	return task_call(task, partner_cpu());
}

/**
 * rxe_task_late - whether not to rely on a worker that was called and has not come
 * @task: the task, of which rxe_task_queue() has returned false
 *
 * A process with real-time priority keeps workers from its CPU for a second, and a connection
 * may not have that long.
 *
 * Context: any.
 * Return: true: who has work that the peer waits for does it.
 */
bool rxe_task_late(const struct rxe_task *task)
{
	return time_after(jiffies, READ_ONCE(task->called) + CALLED_MOST);
}

/**
 * rxe_task_elsewhere - whether what is sent now might overtake what was sent before
 * @task: the task
 *
 * That is so as long as another CPU may keep some of it. Then a worker of that CPU is
 * called, behind which nothing is kept. A worker on the wrong CPU cannot do so with its
 * own work item, which stays where it runs. If that CPU's worker does not come, the
 * retransmission timer runs the task until KEPT_MOST is over.
 *
 * Context: the task.
 * Return: true if nothing should be sent now but what is sent again; the task will be run
 * there.
 */
bool rxe_task_elsewhere(struct rxe_task *task)
{
	int cpu = task->cpu;

	if (likely(cpu < 0) || cpu == raw_smp_processor_id() || !cpu_online(cpu) ||
	    time_after(jiffies, task->since + KEPT_MOST))
		return false;
	task->behind = true;
	if (task->by == &task->home)
		task_call(task, cpu);
	else
		queue_work_on(cpu, task_wq, &task->home);
	return true;
}

/* A process leaves the rest to a worker where it is. */
static void task_rest_here(struct rxe_task *task)
{
	task_call(task, WORK_CPU_UNBOUND);
}

/**
 * rxe_task_run - do a task's work now, or have its current runner do it
 * @task: the task
 *
 * In softirq one round is done here and what is left goes to the next softirq
 * pass, so that received packets are not kept waiting; a process hands it to a
 * worker when its time is up.
 *
 * Context: process or softirq; interrupts on.
 */
void rxe_task_run(struct rxe_task *task)
{
	rxe_task_run_within(task, 0);
}

/**
 * rxe_task_run_within - do a task's work now, maybe within another task
 * @task: the task
 * @nest: how many tasks have called each other before this one
 *
 * As rxe_task_run(), which is for who is in none; after too many it is left to the next
 * softirq pass.
 *
 * Context: process or softirq; interrupts on. With @nest, bottom halves off.
 */
void rxe_task_run_within(struct rxe_task *task, u8 nest)
{
	if (nest > NEST_MOST)
		tasklet_schedule(&task->bh);
	else if (in_softirq())
		task_rounds(task, RXE_CNT_RUNS_SOFTIRQ, 1, task_rest_bh, nest, NULL);
	else
		task_rounds(task, RXE_CNT_RUNS_PROCESS, ROUNDS_PROCESS, task_rest_here, nest,
			    NULL);
}

/**
 * rxe_task_claim - keep everybody else out of a task, to run it within another one
 * @task: the task
 * @nest: how many tasks have called each other before this one
 *
 * Context: softirq, or bottom halves off.
 * Return: false if somebody else is in it, or too many are within each other: then
 * rxe_task_run_within(), for what it has to see. Otherwise rxe_task_round() and
 * rxe_task_yield() follow soon, in this order.
 */
bool rxe_task_claim(struct rxe_task *task, u8 nest)
{
	if (nest > NEST_MOST || !task_enter(task))
		return false;
	task_hold();
	return true;
}

/**
 * rxe_task_round - run a claimed task once
 * @task: the task
 * @nest: as it was claimed
 *
 * Context: as rxe_task_claim().
 */
void rxe_task_round(struct rxe_task *task, u8 nest)
{
	task->nest = nest;
	task->by = NULL;
	task_round_begin(task);
	rxe_count_side(task->qp->dev, task->counts, RXE_CNT_RUNS_SOFTIRQ, 1);
	task->more = task->func(task->qp);
	task_round_end(task);
}

/**
 * rxe_task_yield - let others into a claimed task again
 * @task: the task
 *
 * Context: as rxe_task_claim().
 */
void rxe_task_yield(struct rxe_task *task)
{
	if (task->more || !task_leave(task, true)) {
		task_leave(task, false);
		tasklet_schedule(&task->bh);
	}
	task_release();
}

static void task_bh(struct tasklet_struct *t)
{
	rxe_task_run(container_of(t, struct rxe_task, bh));
}

static void task_work(struct work_struct *work)
{
	task_rounds(container_of(work, struct rxe_task, work), RXE_CNT_RUNS_WORK, ROUNDS_WORK,
		    task_rest_here, 0, work);
}

static void task_work_home(struct work_struct *work)
{
	task_rounds(container_of(work, struct rxe_task, home), RXE_CNT_RUNS_WORK, ROUNDS_WORK,
		    task_rest_here, 0, work);
}

/**
 * rxe_task_kick - have a task's work done in softirq, soon
 * @task: the task
 *
 * From process context softirq runs before this returns, rather than waking
 * the softirq thread and waiting for the scheduler; but with PREEMPT_RT it is woken.
 *
 * Context: any, also with interrupts off or locks held by a consumer.
 */
void rxe_task_kick(struct rxe_task *task)
{
	/* with PREEMPT_RT who holds such a lock has interrupts on */
	if (irqs_disabled() || IS_ENABLED(CONFIG_PREEMPT_RT)) {
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
	/* who enters sees what the task was given before */
	atomic_set_release(&task->state, STATE_IDLE);
	rxe_task_kick(task);
}

/**
 * rxe_task_init - prepare a task; it is off until rxe_task_start()
 * @task: the task
 * @qp: handed to @func
 * @counts: counters of its side of @qp
 * @func: does at most a budget of work with bottom halves off; returns true if
 *	it should be called again
 *
 * Context: process.
 */
void rxe_task_init(struct rxe_task *task, struct rxe_qp *qp, u64 *counts,
		   bool (*func)(struct rxe_qp *qp))
{
	atomic_set(&task->state, STATE_OFF);
	task->cpu = -1;
	task->func = func;
	task->qp = qp;
	task->counts = counts;
	tasklet_setup(&task->bh, task_bh);
	INIT_WORK(&task->work, task_work);
	INIT_WORK(&task->home, task_work_home);
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
	int i;

	rxe_task_stop(task);
	tasklet_kill(&task->bh);
	/* who has left the task just now may queue another item, which will find it stopped */
	for (i = 0; i < 2; i++) {
		cancel_work_sync(&task->home);
		cancel_work_sync(&task->work);
	}
}

/**
 * rxe_task_module_init - before the first task
 *
 * Context: module init.
 * Return: 0 or -ENOMEM.
 */
int rxe_task_module_init(void)
{
	/* memory is reclaimed by writing to disks that are reached by this driver */
	task_wq = alloc_workqueue("rxe", WQ_PERCPU | WQ_CPU_INTENSIVE | WQ_MEM_RECLAIM, 0);
	return task_wq ? 0 : -ENOMEM;
}

/**
 * rxe_task_module_exit - after the last task
 *
 * Context: module exit, or a failing module init.
 */
void rxe_task_module_exit(void)
{
	destroy_workqueue(task_wq);
}
