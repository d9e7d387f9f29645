/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How a requester recovers: its retry budgets, how long it waits for an
 * acknowledgment, how much it keeps in flight, where in a message it resumes.
 * Time comes in as a parameter, in nanoseconds; nothing here reads a clock.
 */
#ifndef RXE_PROTO_RECOVERY_H
#define RXE_PROTO_RECOVERY_H

#include "types.h"

/* Value of rnr_retry that means for ever */
#define RNR_RETRY_INFINITE	7

/* Bounds of the adaptive retransmission timer */
#define RTO_MIN_NSEC		2000000ull	/* scheduling noise is below this */
#define RTO_INITIAL_NSEC	100000000ull	/* before the first sample */

/* A send window never shrinks below this many packets (unless its maximum is less) */
#define WINDOW_FLOOR		16
/* It opens by a packet for so many acknowledged, and closes by so many for one lost */
#define WINDOW_GROWTH		8
#define WINDOW_LOSS_COST	2
/* On a long path it holds so many times what the path does, and at most so many times the first */
#define WINDOW_PATHS		2
#define WINDOW_WIDEST		4
/* More than these in a round trip need not be told apart */
#define WINDOW_PACKETS_MOST	0x3fff

/**
 * struct retry_state - retry budgets of a QP
 * @retry_cnt: QP attribute, 0 to 7, always finite
 * @retries_left: timeouts and sequence NAKs it may still answer
 * @rnr_retry: QP attribute, 0 to 6; 7 is infinite
 * @rnr_left: RNR NAKs it may still answer
 */
struct retry_state {
	u8 retry_cnt;
	u8 retries_left;
	u8 rnr_retry;
	u8 rnr_left;
};

/**
 * struct rto_state - adaptive retransmission timer
 * @srtt_ns: smoothed round trip; 0 before the first sample
 * @rttvar_ns: its mean deviation
 * @least_ns: the shortest round trip of late
 * @base_ns: what the QP's timeout attribute means; 0 waits for ever
 * @waited_ns: time waited in vain since progress or since the last retry that
 *	was charged
 * @backoff: expiries since the last sample that have doubled the wait
 * @guess: there has been no sample yet but of packets that were sent again
 */
struct rto_state {
	u64 srtt_ns;
	u64 rttvar_ns;
	u64 least_ns;
	u64 base_ns;
	u64 waited_ns;
	u8 backoff;
	bool guess;
};

/**
 * struct send_window - packets that may be in flight
 * @cur: the limit now
 * @max: the limit without losses: what the path takes, measured
 * @first: the least that @max ever is
 * @path_ns: the shortest round trip there was, 0 before the first one
 * @acked: packets acknowledged that the limit has not grown by yet
 * @held: what @cur is again with the next acknowledgment; 0: nothing is held back
 */
struct send_window {
	u32 cur;
	u32 max;
	u32 first;
	u32 acked;
	u32 held;
	u64 path_ns;
};

void retry_init(struct retry_state *r, u8 retry_cnt, u8 rnr_retry);
bool retry_take(struct retry_state *r);
bool retry_take_rnr(struct retry_state *r);
void retry_answered(struct retry_state *r);
void retry_progress(struct retry_state *r);

void rto_init(struct rto_state *s, u8 timeout);
void rto_sample(struct rto_state *s, u64 rtt_ns);
void rto_sample_again(struct rto_state *s, u64 rtt_ns);
u64 rto_get(const struct rto_state *s);
u64 rto_get_repair(const struct rto_state *s);
bool rto_waited(struct rto_state *s);
void rto_backoff(struct rto_state *s);
void rto_progress(struct rto_state *s);

void window_init(struct send_window *w, u32 max);
void window_measured(struct send_window *w, u32 packets, u64 rtt_ns);
void window_acked(struct send_window *w, u32 packets);
void window_lost(struct send_window *w, u32 packets);
void window_collapse(struct send_window *w);
void window_hold(struct send_window *w);

u64 psn_offset(u32 first_psn, u32 psn, u32 pmtu);
u16 udp_sport(u32 flow_label, u32 lqpn, u32 rqpn);

#endif /* RXE_PROTO_RECOVERY_H */
