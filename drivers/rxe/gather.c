// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Gathering: small messages that a process posts one by one -> fuller bursts.
 *
 * A message posted alone is sent at once, by the system call that posts it, and
 * costs a walk through the stack, and its ACK another. A process that posts one
 * after the other without taking a completion in between does not wait for this
 * very one: such posts stay in the ring, where whatever runs the send queue next
 * finds them. That is
 *
 *   a worker on another CPU      called when some are there; more are until it comes
 *   the post itself              if the worker does not come, or there is no other CPU
 *   an ACK or a response         to what is on its way
 *   the timer                    when posts have ceased; a few round trips later
 *
 * With a worker, two CPUs share what a message costs: the system calls of the process, and
 * all the rest. The process sends nothing itself then, which would take it several times as
 * long as the next post. Nor does it often arm the timer, which is dear in a guest: that goes
 * on by itself as long as the stream does.
 *
 * The responses to READs send the next, on the CPU that they come to. What else would
 * send them runs elsewhere, and its requests might overtake those; so as long as
 * responses are to come, posts are left to them. The worker is what takes a stream to
 * another CPU: its requests are answered there, on the same host, and the responses
 * follow them.
 *
 * Whoever takes completions after each post or after a few has no post left: what counts
 * is how many posts it made in a row until now. One that begins to do so after a stream has
 * the first few of them wait for the timer.
 *
 * Nothing here is exact, and nothing depends on it: posts of several threads may
 * race for the numbers. What counts is that the timer runs after the last post
 * that was left.
 */
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/moduleparam.h>

#include "rxe.h"

/* Posts in a row that are sent at once with one CPU, and the fewest that make a burst */
#define ROW_SENT	4
/* Posts in a row from which it is worth it to let some wait; as many as are remembered */
#define ROW_WORTH	12
#define ROW_MOST	32
/* Messages of a burst, and the bytes of packets that fit into one skb */
#define GATHER_POSTS	32
#define GATHER_BYTES	60000
/* Posts that wait when a worker is called, and bursts of them when it is late */
#define GATHER_CALL	8
#define GATHER_LATE	4
/* As many as the ring has, less a part of it: then it is late, too */
#define GATHER_SPARE	4
/* Headers of a message, roughly */
#define GATHER_HEADERS	64
/*
 * How long the timer waits, and how often while posts still come; with a worker it waits
 * several times as long, and so many times less often
 */
#define WAIT_LEAST_NS	(10 * NSEC_PER_USEC)
#define WAIT_MOST_NS	(50 * NSEC_PER_USEC)
#define WAIT_TIMES	4
#define WAIT_ROUNDS	4
/* The same while responses are to come */
#define WAIT_RESPONSES	32

static bool gather = true;
module_param(gather, bool, 0644);
MODULE_PARM_DESC(gather, "send small messages that are posted in a row together (default: yes)");

/* Whether a worker can send while the process goes on */
static bool gather_shares(void)
{
	return num_online_cpus() > 1;
}

static u64 gather_wait(const struct rxe_qp *qp)
{
	u64 trip = READ_ONCE(qp->sq.rto.srtt_ns);
	/* where nobody answers, none is known */
	u64 wait = trip ? clamp_t(u64, trip, WAIT_LEAST_NS, WAIT_MOST_NS) : WAIT_MOST_NS;

	return gather_shares() ? WAIT_TIMES * wait : wait;
}

/* Whether responses are to come that send what is left; as far as one can tell. */
static bool gather_expects(const struct rxe_qp *qp)
{
	return READ_ONCE(qp->sq.gather.reads) &&
	       READ_ONCE(qp->sq.reads_head) != READ_ONCE(qp->sq.reads_tail);
}

/* Whether the process goes on posting, as far as one can tell. */
static bool gather_streams(struct rxe_qp *qp)
{
	struct rxe_gather *g = &qp->sq.gather;
	u32 taken = rxe_cq_taken(to_rxe_cq(qp->ib.send_cq));
	u32 row = READ_ONCE(g->row) + 1;

	if (taken != READ_ONCE(g->taken)) {
		WRITE_ONCE(g->taken, taken);
		WRITE_ONCE(g->rows, (3 * READ_ONCE(g->rows) + min_t(u32, row, ROW_MOST)) / 4);
		row = 1;
	}
	WRITE_ONCE(g->row, row);
	return (row > ROW_SENT || gather_shares() || gather_expects(qp)) &&
	       max(row, READ_ONCE(g->rows)) >= ROW_WORTH;
}

/* Whether @left posts are too many to wait: the worker is late, or there is none. */
static bool gather_full(const struct rxe_qp *qp, u32 left, u32 most)
{
	if (gather_expects(qp))
		return false;
	if (!gather_shares())
		return left >= most;
	return left >= min(GATHER_LATE * most, qp->sq.mask - qp->sq.mask / GATHER_SPARE);
}

/* Has the worker come for what waits; it may have been called before, and not be there yet. */
static void gather_call(struct rxe_qp *qp, u32 left, u32 most)
{
	if (gather_shares() && !gather_expects(qp) && !(left % min_t(u32, most, GATHER_CALL)))
		rxe_task_queue(&qp->sq.task);
}

/**
 * rxe_gather_post - whether a post is left in the ring, to be sent with others
 * @qp: of user space; the request is in the ring
 *
 * Context: process.
 * Return: true if it is, and the caller has nothing to do.
 */
bool rxe_gather_post(struct rxe_qp *qp)
{
	struct rxe_gather *g = &qp->sq.gather;
	u32 most = READ_ONCE(g->most);
	u32 left;

	if (!most || !gather_streams(qp))
		return false;
	left = READ_ONCE(g->left) + 1;
	if (gather_full(qp, left, most))
		return false;
	/* what is in the ring is there before it is counted: see rxe_gather_pull() */
	smp_wmb();
	WRITE_ONCE(g->left, left);
	gather_call(qp, left, most);
	/*
	 * If it is armed already, it looks once more: its exchange comes behind
	 * ours, and its run of the task finds what is in the ring now.
	 */
	if (!atomic_xchg(&g->armed, 1))
		hrtimer_start(&g->timer, ns_to_ktime(gather_wait(qp)), HRTIMER_MODE_REL);
	return true;
}

/**
 * rxe_gather_pull - all posts are about to be taken from the ring
 * @qp: of user space
 *
 * A post that is not counted any more is found by whoever reads the ring after this.
 *
 * Context: sq.task.
 */
void rxe_gather_pull(struct rxe_qp *qp)
{
	struct rxe_gather *g = &qp->sq.gather;

	if (!READ_ONCE(g->left))
		return;
	xchg(&g->left, 0);	/* and its full barrier */
	WRITE_ONCE(g->pulls, g->pulls + 1);
}

/**
 * rxe_gather_pulled - the ring is empty, all posts are with the send queue
 * @qp: of user space
 * @length: bytes of the last message
 * @read: whether that is one with a response that sends the next
 *
 * Context: sq.task.
 */
void rxe_gather_pulled(struct rxe_qp *qp, u32 length, bool read)
{
	struct rxe_gather *g = &qp->sq.gather;
	u32 most = 0;

	/* of a message that is refused it may be anything */
	if (length < GATHER_BYTES)
		most = min_t(u32, GATHER_BYTES / (length + GATHER_HEADERS), GATHER_POSTS);
	if (most < ROW_SENT || !READ_ONCE(gather))
		most = 0;
	if (most != g->most)
		WRITE_ONCE(g->most, most);
	if (read != g->reads)
		WRITE_ONCE(g->reads, read);
}

/* Whether to wait once more, for posts or for responses */
static bool gather_goes_on(const struct rxe_qp *qp, u32 left)
{
	const struct rxe_gather *g = &qp->sq.gather;
	u32 rounds = gather_expects(qp) ? WAIT_RESPONSES : WAIT_ROUNDS;

	if (gather_shares())
		rounds /= WAIT_TIMES;
	return g->rounds < rounds && (gather_expects(qp) || left != g->left_before);
}

/*
 * Posts still come: wait for more of them. They have ceased: call the worker, and if
 * it has not come after another round, have softirq send them. That is not the first
 * choice, because what softirq sends stays on this CPU for a while, and a worker might
 * send behind it and be faster. If none wait, but some have since the last round, there
 * is a stream, and more will.
 */
static enum hrtimer_restart gather_expired(struct hrtimer *t)
{
	struct rxe_gather *g = container_of(t, struct rxe_gather, timer);
	struct rxe_qp *qp = container_of(g, struct rxe_qp, sq.gather);
	u32 pulls = READ_ONCE(g->pulls);
	u32 left = READ_ONCE(g->left);
	bool wait = false;

	if (pulls != g->pulls_before) {
		g->pulls_before = pulls;
		g->rounds = 0;
		g->called = false;
		wait = !left && gather_shares();
	}
	if (left && gather_goes_on(qp, left)) {
		g->rounds++;
		wait = true;
	} else if (left && !g->called && gather_shares()) {
		rxe_task_queue(&qp->sq.task);
		g->called = true;
		wait = true;
	}
	g->left_before = left;
	if (wait) {
		hrtimer_forward_now(t, ns_to_ktime(gather_wait(qp)));
		return HRTIMER_RESTART;
	}
	/* who posts from here on arms it again */
	atomic_xchg(&g->armed, 0);
	if (READ_ONCE(g->left))
		tasklet_schedule(&qp->sq.task.bh);
	return HRTIMER_NORESTART;
}

/**
 * rxe_gather_init - no stream yet
 * @qp: the QP
 *
 * Context: process.
 */
void rxe_gather_init(struct rxe_qp *qp)
{
	struct rxe_gather *g = &qp->sq.gather;

	hrtimer_setup(&g->timer, gather_expired, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}

/**
 * rxe_gather_stop - forget what was left
 * @qp: the QP; nobody posts, or what is posted does not count
 *
 * Context: process.
 */
void rxe_gather_stop(struct rxe_qp *qp)
{
	struct rxe_gather *g = &qp->sq.gather;

	hrtimer_cancel(&g->timer);
	atomic_set(&g->armed, 0);
	WRITE_ONCE(g->left, 0);
	WRITE_ONCE(g->row, 0);
	WRITE_ONCE(g->rows, 0);
}
