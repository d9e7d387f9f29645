// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Retries, timer and window of a requester.
 *
 * The timer runs ahead of what the QP's timeout attribute means, because a local
 * network answers within microseconds. Such an early expiry sends again, what has
 * left this host, but is not charged to retry_cnt: only when a whole timeout went
 * by in vain is a retry used up. So a QP survives an outage as long as its owner
 * asked for, and still recovers from a single loss at the speed of the network.
 */
#include "recovery.h"
#include "aeth.h"
#include "psn.h"

/* No round trip we believe is longer than the longest timeout, 2.4 hours */
#define RTT_MAX_NSEC	(4096ull << 31)

/**
 * retry_init() - set the budgets of a QP
 * @r: state
 * @retry_cnt: QP attribute, 0 to 7
 * @rnr_retry: QP attribute, 0 to 7, RNR_RETRY_INFINITE is for ever
 *
 * Context: caller serialises.
 */
void retry_init(struct retry_state *r, u8 retry_cnt, u8 rnr_retry)
{
	r->retry_cnt = retry_cnt & 7;
	r->rnr_retry = rnr_retry & 7;
	retry_progress(r);
}

/**
 * retry_take() - use up one retry after a timeout or a sequence NAK (9.7.6)
 * @r: state
 *
 * Context: caller serialises.
 * Return: false if none is left: complete with WCS_RETRY_EXC_ERR.
 */
bool retry_take(struct retry_state *r)
{
	if (!r->retries_left)
		return false;
	r->retries_left--;
	return true;
}

/**
 * retry_take_rnr() - use up one retry after an RNR NAK (9.7.6)
 * @r: state
 *
 * Context: caller serialises.
 * Return: false if none is left: complete with WCS_RNR_RETRY_EXC_ERR.
 */
bool retry_take_rnr(struct retry_state *r)
{
	if (r->rnr_retry == RNR_RETRY_INFINITE)
		return true;
	if (!r->rnr_left)
		return false;
	r->rnr_left--;
	return true;
}

/**
 * retry_answered() - the peer has answered, though with nothing but an RNR NAK
 * @r: state
 *
 * It is there, and the request has arrived: what was lost before counts no more.
 * How often it may say so is another budget.
 *
 * Context: caller serialises.
 */
void retry_answered(struct retry_state *r)
{
	r->retries_left = r->retry_cnt;
}

/**
 * retry_progress() - something new was acknowledged: budgets are full again
 * @r: state
 *
 * Context: caller serialises.
 */
void retry_progress(struct retry_state *r)
{
	retry_answered(r);
	r->rnr_left = r->rnr_retry;
}

/**
 * rto_init() - start a timer that has seen nothing yet
 * @s: state
 * @timeout: QP attribute, 4.096 us * 2^timeout, 0 waits for ever
 *
 * Context: caller serialises.
 */
void rto_init(struct rto_state *s, u8 timeout)
{
	s->srtt_ns = 0;
	s->rttvar_ns = 0;
	s->least_ns = 0;
	s->base_ns = ack_timeout_nsec(timeout);
	s->backoff = 0;
	s->guess = false;
	rto_progress(s);
}

static void rto_learn(struct rto_state *s, u64 rtt_ns)
{
	u64 off;

	if (!rtt_ns)
		rtt_ns = 1;
	if (rtt_ns > RTT_MAX_NSEC)
		rtt_ns = RTT_MAX_NSEC;
	s->backoff = 0;
	s->least_ns += (s->least_ns >> 6) + 1;
	if (!s->srtt_ns || rtt_ns < s->least_ns)
		s->least_ns = rtt_ns;
	if (!s->srtt_ns) {
		s->srtt_ns = rtt_ns;
		s->rttvar_ns = rtt_ns >> 1;
		return;
	}
	off = rtt_ns > s->srtt_ns ? rtt_ns - s->srtt_ns : s->srtt_ns - rtt_ns;
	s->rttvar_ns = s->rttvar_ns - (s->rttvar_ns >> 2) + (off >> 2);
	s->srtt_ns = s->srtt_ns - (s->srtt_ns >> 3) + (rtt_ns >> 3);
}

/**
 * rto_sample() - learn from a round trip
 * @s: state
 * @rtt_ns: time from a packet to its acknowledgment, in nanoseconds; only of
 *	packets that were sent once
 *
 * Smooths as TCP does: gain 1/8 for the mean, 1/4 for the deviation. The
 * shortest one is forgotten slowly.
 *
 * Context: caller serialises.
 */
void rto_sample(struct rto_state *s, u64 rtt_ns)
{
	if (s->guess)
		s->srtt_ns = 0;
	s->guess = false;
	rto_learn(s, rtt_ns);
}

/**
 * rto_sample_again() - learn from a round trip of a packet that was sent again
 * @s: state
 * @rtt_ns: time from there to its acknowledgment, in nanoseconds; of a packet that
 *	is missing, or that the peer says it misses
 *
 * The first one may have been late only, and its answer be too early for a round
 * trip. So what is shorter than any counts little, unless it goes on: round trips
 * behind full queues are longer than those of repairs. What came before anything
 * better is forgotten when that comes.
 *
 * Context: caller serialises.
 */
void rto_sample_again(struct rto_state *s, u64 rtt_ns)
{
	if (s->srtt_ns && rtt_ns < s->least_ns)
		rtt_ns = s->least_ns - ((s->least_ns - rtt_ns) >> 3);
	if (!s->srtt_ns)
		s->guess = true;
	/* a guess that was too short is given up fast */
	else if (s->guess && rtt_ns > s->least_ns)
		s->least_ns = rtt_ns >> 1 < s->least_ns ? rtt_ns : s->least_ns << 1;
	rto_learn(s, rtt_ns);
}

/**
 * rto_get() - how long to wait for an acknowledgment now
 * @s: state
 *
 * What happens then is that one packet is sent again; so queues that make round
 * trips long are not waited for here, only the path is: four of the shortest round
 * trips. (Who knows that the packet has not left its own host waits for that.)
 * Before there is a sample the path may be a long one, and all of a window wait in
 * its queues.
 *
 * Context: any.
 * Return: nanoseconds; 0 if the QP waits for ever. Never less than
 * RTO_MIN_NSEC; else never more than the timeout attribute means.
 */
u64 rto_get(const struct rto_state *s)
{
	u64 most = s->base_ns;
	u64 wait = RTO_INITIAL_NSEC;
	u8 doublings = s->backoff;

	if (!most)
		return 0;
	if (most < RTO_MIN_NSEC)
		most = RTO_MIN_NSEC;
	if (s->srtt_ns)
		wait = s->srtt_ns + (s->rttvar_ns << 2);
	if (s->srtt_ns && wait > s->least_ns << 2)
		wait = s->least_ns << 2;
	if (wait < RTO_MIN_NSEC)
		wait = RTO_MIN_NSEC;
	while (doublings && wait < most) {
		wait <<= 1;
		doublings--;
	}
	return wait < most ? wait : most;
}

/**
 * rto_get_repair() - how long to wait for the answer to a packet that was sent again
 * @s: state
 *
 * Others wait for it, and it is lost as well as any: half as long as else, but
 * longer than a round trip.
 *
 * Context: any.
 * Return: nanoseconds; 0 if the QP waits for ever.
 */
u64 rto_get_repair(const struct rto_state *s)
{
	u64 most = rto_get(s);
	u64 wait = s->srtt_ns + (s->srtt_ns >> 1);

	if (wait < most >> 1)
		wait = most >> 1;
	return wait < most ? wait : most;
}

/**
 * rto_waited() - the timer expired
 * @s: state
 *
 * Context: caller serialises.
 * Return: true if a whole timeout has gone by since progress or since the last
 * charge, so that the caller must take a retry; false if this expiry is free.
 */
bool rto_waited(struct rto_state *s)
{
	s->waited_ns += rto_get(s);
	if (s->waited_ns < s->base_ns)
		return false;
	s->waited_ns = 0;
	return true;
}

/**
 * rto_backoff() - the timer has expired, and will expire again
 * @s: state
 *
 * The next wait is twice as long.
 *
 * Context: caller serialises.
 */
void rto_backoff(struct rto_state *s)
{
	if (s->backoff < 0xff)
		s->backoff++;
}

/**
 * rto_progress() - the peer has answered: a whole timeout may go by again
 * @s: state
 *
 * The next wait is as long as it was: if the acknowledgment was of a packet that
 * was not lost, but timed out too early, the next one would be, too, and no round
 * trip ever be measured. A sample ends that.
 *
 * Context: caller serialises.
 */
void rto_progress(struct rto_state *s)
{
	s->waited_ns = 0;
}

/**
 * window_init() - start with everything allowed
 * @w: state
 * @max: packets in flight when nothing is lost, at least 1; more if the path is long
 *
 * Context: caller serialises.
 */
void window_init(struct send_window *w, u32 max)
{
	w->max = max ? max : 1;
	w->first = w->max;
	w->cur = w->max;
	w->acked = 0;
	w->held = 0;
	w->path_ns = 0;
}

/* Wider at once, narrower by and by: a sample may be of a time with little to send. */
static void window_limit(struct send_window *w, u32 fits)
{
	u32 *size = w->held ? &w->held : &w->cur;
	bool whole = *size == w->max;

	if (fits > w->max)
		w->max = fits;
	else
		w->max -= (w->max - fits + WINDOW_GROWTH - 1) / WINDOW_GROWTH;
	/* where nothing was lost, all of it is used */
	if (whole || *size > w->max)
		*size = w->max;
}

/**
 * window_measured() - a round trip is over: let the limit fit the path
 * @w: state
 * @packets: acknowledged during that time, less than 2^23
 * @rtt_ns: its length, of a packet that was sent once
 *
 * Packets per time are the bandwidth, and with the round trip of the empty path they are
 * what is on its way while no queue grows. The limit is WINDOW_PATHS times that: so a
 * window that is too small doubles with each round trip, and one that fills a queue, which
 * makes round trips longer, grows no more. The shortest round trip of all is taken for
 * that of the empty path, as a sender that never pauses sees none but those of its own
 * queue. On a path of less than a millisecond, or without much to send, it comes out
 * below what the limit was in the beginning, and that remains.
 *
 * Context: caller serialises.
 */
void window_measured(struct send_window *w, u32 packets, u64 rtt_ns)
{
	u32 most = w->first * WINDOW_WIDEST;
	u64 path_ns;
	u32 fits;

	if (!rtt_ns)
		rtt_ns = 1;
	if (!w->path_ns || rtt_ns < w->path_ns)
		w->path_ns = rtt_ns;
	path_ns = w->path_ns;
	/* a quotient of 32 bits is exact enough, and every machine divides those */
	while (rtt_ns >> 16) {
		rtt_ns >>= 1;
		path_ns >>= 1;
	}
	if (packets > WINDOW_PACKETS_MOST)
		packets = WINDOW_PACKETS_MOST;
	fits = WINDOW_PATHS * packets * (u32)path_ns / (u32)rtt_ns;
	window_limit(w, fits < w->first ? w->first : fits > most ? most : fits);
}

/**
 * window_acked() - packets arrived: let the window grow back
 * @w: state
 * @packets: newly acknowledged
 *
 * It opens by one for each WINDOW_GROWTH of them. A window that was held back is
 * what it was.
 *
 * Context: caller serialises.
 */
void window_acked(struct send_window *w, u32 packets)
{
	if (w->held) {
		w->cur = w->held;
		w->held = 0;
	}
	if (w->cur == w->max)
		return;
	w->acked += packets;
	w->cur += w->acked / WINDOW_GROWTH;
	w->acked %= WINDOW_GROWTH;
	if (w->cur >= w->max) {
		w->cur = w->max;
		w->acked = 0;
	}
}

static u32 window_floor(const struct send_window *w)
{
	return w->max < WINDOW_FLOOR ? w->max : WINDOW_FLOOR;
}

static void window_shrink(struct send_window *w, u32 packets)
{
	u32 *size = w->held ? &w->held : &w->cur;
	u32 floor = window_floor(w);

	*size = *size > floor + packets ? *size - packets : floor;
	w->acked = 0;
}

/**
 * window_lost() - single packets were lost
 * @w: state
 * @packets: how many
 *
 * Some loss is noise: as long as less than one packet in about
 * WINDOW_GROWTH * WINDOW_LOSS_COST is lost, the window grows by more than it
 * shrinks. A queue that overflows loses more, and closes it.
 *
 * Context: caller serialises.
 */
void window_lost(struct send_window *w, u32 packets)
{
	window_shrink(w, packets < w->max ? packets * WINDOW_LOSS_COST : w->max);
}

/**
 * window_collapse() - everything on its way was lost: halve what may be in flight
 * @w: state
 *
 * Context: caller serialises.
 */
void window_collapse(struct send_window *w)
{
	window_shrink(w, (w->held ? w->held : w->cur) >> 1);
}

/**
 * window_hold() - the peer is not ready: only look whether it is
 * @w: state
 *
 * What follows a request that the peer has no receive for is dropped. A few packets
 * are enough to find out, however often that takes; then all may be sent again.
 *
 * Context: caller serialises.
 */
void window_hold(struct send_window *w)
{
	if (!w->held)
		w->held = w->cur;
	w->cur = window_floor(w);
}

/**
 * psn_offset() - where in a message a packet's payload starts
 * @first_psn: PSN of the first packet of the message
 * @psn: PSN of the packet, not before @first_psn
 * @pmtu: path MTU in bytes
 *
 * Context: any.
 * Return: bytes from the start of the message.
 */
u64 psn_offset(u32 first_psn, u32 psn, u32 pmtu)
{
	return (u64)psn_add(psn, 0 - first_psn) * pmtu;
}

/**
 * udp_sport() - UDP source port of a flow
 * @flow_label: IPv6 flow label of the path, 20 bits; 0 if there is none
 * @lqpn: own QP number
 * @rqpn: QP number of the peer
 *
 * The same for both directions of a connection, the same for its whole life,
 * and spread over ports that no socket of ours uses, for ECMP and RSS (A17).
 *
 * Context: any.
 * Return: port in host order, 0xc000 to 0xffff.
 */
u16 udp_sport(u32 flow_label, u32 lqpn, u32 rqpn)
{
	u32 label = flow_label & 0xfffff;
	u64 v;

	if (!label) {
		v = (u64)lqpn * rqpn;
		v ^= v >> 20;
		v ^= v >> 40;
		label = v & 0xfffff;
	}
	return (u16)(0xc000 | ((label & 0x3fff) ^ label >> 14));
}
