// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The rate of a flow between two notifications of congestion.
 *
 *                  CNP
 *   unlimited ──────────► limited ──┐ CNP: target = rate, rate -= rate * alpha / 2
 *       ▲                    │  ▲   │ step 1 to 5:   halfway to the target
 *       │     no CNP for     │  └───┘ from step 6:   target += gain, halfway there
 *       └────────────────────┘        both counters: target += more and more
 *            a second
 *
 * Steps are counted by a clock and by the bytes sent. alpha follows the share of steps
 * that saw a CNP, so that a network that is seldom marked costs little. Who does not
 * use what is allowed gains nothing: nobody knows whether the network would bear it.
 *
 * Where the hardware that this was made for has fixed times, a software flow has queues
 * of milliseconds below it: a step takes a round trip, and no more than one cut is made
 * in it, because what the first one has brought is not known earlier.
 */
#include "dcqcn.h"

static u32 rate_bounded(u64 rate)
{
	if (rate < DCQCN_RATE_MIN)
		return DCQCN_RATE_MIN;
	return rate < DCQCN_RATE_MAX ? (u32)rate : DCQCN_RATE_MAX;
}

/**
 * dcqcn_init() - a flow without limit
 * @d: state
 *
 * Context: caller serialises.
 */
void dcqcn_init(struct dcqcn *d)
{
	*d = (struct dcqcn) {
		.alpha = DCQCN_ONE,
		.stage_nsec = DCQCN_STAGE_MIN,
	};
}

static void cut(struct dcqcn *d, u64 now)
{
	d->target = d->rate;
	d->rate = rate_bounded(d->rate - ((u64)d->rate * d->alpha >> 17));
	d->bytes = 0;
	d->used = 0;
	d->time_steps = 0;
	d->byte_steps = 0;
	d->idle = false;
	d->stage_at = now + d->stage_nsec;
	d->cut_at = now + d->stage_nsec;
}

static void stage_set(struct dcqcn *d, u64 rtt_ns)
{
	d->stage_nsec = rtt_ns;
	if (d->stage_nsec < DCQCN_STAGE_MIN)
		d->stage_nsec = DCQCN_STAGE_MIN;
	if (d->stage_nsec > DCQCN_STAGE_MAX)
		d->stage_nsec = DCQCN_STAGE_MAX;
}

/**
 * dcqcn_start() - a flow without limit has had a CNP
 * @d: state
 * @rate: what it has been sending until now, bytes per tick
 * @rtt_ns: its round trip; 0: not known
 * @now: time
 *
 * The first cut is the deepest: nothing is known about the network yet.
 *
 * Context: caller serialises.
 */
void dcqcn_start(struct dcqcn *d, u64 rate, u64 rtt_ns, u64 now)
{
	stage_set(d, rtt_ns);
	d->rate = rate_bounded(rate);
	d->alpha = DCQCN_ONE;
	d->marked = true;
	d->alpha_at = now + d->stage_nsec;
	d->cnp_at = now;
	cut(d, now);
}

/**
 * dcqcn_cnp() - a flow with a limit has had a CNP
 * @d: state, advanced to @now
 * @rtt_ns: its round trip; 0: not known
 * @now: time
 *
 * Context: caller serialises.
 * Return: whether the rate was cut; else this CNP is about what was sent before that.
 */
bool dcqcn_cnp(struct dcqcn *d, u64 rtt_ns, u64 now)
{
	d->cnp_at = now;
	d->marked = true;
	if (now < d->cut_at)
		return false;
	stage_set(d, rtt_ns);
	cut(d, now);
	return true;
}

/**
 * dcqcn_gain() - what a target gains in a tick
 * @rate: the target
 *
 * Flows become equal because the slower gains more of what it has. A constant does that,
 * but there is none for 10 Mb/s and 100 Gb/s; a root does it as well: 0.4 Mb/s at 10 Mb/s,
 * 1.3 at 100, 4 at 1000.
 *
 * Context: any.
 * Return: bytes per tick.
 */
u32 dcqcn_gain(u32 rate)
{
	u32 root = 0;
	u32 bit;

	for (bit = 1u << 15; bit; bit >>= 1)
		if ((u64)(root | bit) * (root | bit) <= rate)
			root |= bit;
	return root + (root >> 1);
}

/* A step, of the clock or of the byte counter. */
static void increase(struct dcqcn *d)
{
	u32 least = d->time_steps < d->byte_steps ? d->time_steps : d->byte_steps;
	u32 most = d->time_steps < d->byte_steps ? d->byte_steps : d->time_steps;
	u64 ticks = d->stage_nsec >> DCQCN_TICK_SHIFT;
	u64 gain = 0;

	if (d->idle)
		gain = 0;
	else if (least > DCQCN_RECOVERY)
		gain = ticks * dcqcn_gain(d->target) * DCQCN_HYPER * (least - DCQCN_RECOVERY);
	else if (most > DCQCN_RECOVERY)
		gain = ticks * dcqcn_gain(d->target);
	d->target = rate_bounded(d->target + gain);
	d->rate += (d->target - d->rate + 1) >> 1;
}

static void clock_step(struct dcqcn *d)
{
	d->idle = d->used < ((u64)d->rate * d->stage_nsec >> (DCQCN_TICK_SHIFT + 1));
	d->used = 0;
	if (!d->idle || d->time_steps < DCQCN_RECOVERY)
		d->time_steps++;
	d->stage_at += d->stage_nsec;
	increase(d);
}

static void alpha_step(struct dcqcn *d)
{
	if (d->marked)
		d->alpha += (DCQCN_ONE - d->alpha) >> DCQCN_ALPHA_SHIFT;
	else
		d->alpha -= d->alpha >> DCQCN_ALPHA_SHIFT;
	d->marked = false;
	d->alpha_at += d->stage_nsec;
}

/**
 * dcqcn_advance() - time has gone by
 * @d: state, with a limit; may have none afterwards
 * @now: time; if it has gone back a little, nothing happens
 *
 * Context: caller serialises.
 */
void dcqcn_advance(struct dcqcn *d, u64 now)
{
	/* bounds the steps below, too */
	if (now > d->cnp_at && now - d->cnp_at >= DCQCN_QUIET_NSEC) {
		dcqcn_init(d);
		return;
	}
	while (now >= d->alpha_at)
		alpha_step(d);
	while (now >= d->stage_at)
		clock_step(d);
}

/**
 * dcqcn_sent() - packets have been sent
 * @d: state, with a limit
 * @bytes: of them
 *
 * Context: caller serialises.
 */
void dcqcn_sent(struct dcqcn *d, u32 bytes)
{
	u64 sum = (u64)d->bytes + bytes;

	d->used += bytes;
	for (; sum >= DCQCN_STAGE_BYTES; sum -= DCQCN_STAGE_BYTES) {
		d->byte_steps++;
		increase(d);
	}
	d->bytes = (u32)sum;
}

/**
 * dcqcn_quantum() - what may be sent at a time
 * @d: state, with a limit
 *
 * Less would cost more timers and walks through the stack, more would be a burst that
 * the network sees as such.
 *
 * Context: any.
 * Return: bytes.
 */
u32 dcqcn_quantum(const struct dcqcn *d)
{
	u32 bytes = d->rate >> 1;

	return bytes < DCQCN_QUANTUM_MAX ? bytes : DCQCN_QUANTUM_MAX;
}

/**
 * dcqcn_credit() - what a flow may send, after some time
 * @d: state, with a limit
 * @credit: what it might have sent before, bytes; less than zero: what it has sent too much,
 *	as packets are not divided
 * @nsec: the time that has gone by since
 *
 * Who has been idle has saved no more than a tick's worth, two quanta. What was sent too
 * much is made up for in full, however small the rate: at 10 Mb/s a packet of 4 KiB is
 * worth three ticks. But no more than two quanta and a packet are owed: answers are not
 * held up.
 *
 * Context: any.
 * Return: bytes; nothing may be sent unless it is more than zero.
 */
s64 dcqcn_credit(const struct dcqcn *d, s64 credit, u64 nsec)
{
	s64 most = 2 * (s64)dcqcn_quantum(d);

	if (credit < -(most + DCQCN_PACKET_MOST))
		credit = -(most + DCQCN_PACKET_MOST);
	if (nsec > DCQCN_QUIET_NSEC)
		nsec = DCQCN_QUIET_NSEC;
	credit += (s64)((u64)d->rate * nsec >> DCQCN_TICK_SHIFT);
	return credit < most ? credit : most;
}
