/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How fast a flow may send after the network has asked it to slow down: the reaction
 * point of DCQCN ("Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015).
 * Time comes in as a parameter, in nanoseconds; nothing here reads a clock.
 *
 * Rates are bytes per tick, 2^20 ns: products with times need shifts and no division.
 */
#ifndef RXE_PROTO_DCQCN_H
#define RXE_PROTO_DCQCN_H

#include "types.h"

#define DCQCN_TICK_SHIFT	20
#define DCQCN_TICK_NSEC		1048576ull

/* A notification point sends at most one CNP per flow in this time */
#define DCQCN_CNP_NSEC		50000ull

/* Bounds of a rate: 10 Mb/s; and 100 Gb/s, which is no limit any more */
#define DCQCN_RATE_MIN		1311u
#define DCQCN_RATE_MAX		13107200u

/* One step of the clock is a round trip, within these bounds */
#define DCQCN_STAGE_MIN		DCQCN_TICK_NSEC
#define DCQCN_STAGE_MAX		(32 * DCQCN_TICK_NSEC)
/* A step of the byte counter; shorter than that of the clock beyond 80 Gb/s only */
#define DCQCN_STAGE_BYTES	10485760u
/* Steps of fast recovery */
#define DCQCN_RECOVERY		5

/* What the target gains by hyper increase is this and more times as much */
#define DCQCN_HYPER		8

/* alpha is a fraction of this; a step moves it by 1/16 of the way */
#define DCQCN_ONE		65536u
#define DCQCN_ALPHA_SHIFT	4

/* Without a CNP for so long the network has recovered, or is another one */
#define DCQCN_QUIET_NSEC	1000000000ull

/* A flow sends what half a tick allows at a time, but no more than this */
#define DCQCN_QUANTUM_MAX	262144u

/* A packet of 4 KiB with all that is around it, above Ethernet */
#define DCQCN_PACKET_MOST	4224

/**
 * struct dcqcn - rate of a flow
 * @rate: bytes per tick, 0: as fast as it can
 * @target: what recovery leads back to
 * @alpha: how congested the network is, 0 to DCQCN_ONE
 * @bytes: sent since the last step of the byte counter
 * @used: sent since the last step of the clock
 * @time_steps: of the clock since the last cut
 * @byte_steps: of the byte counter since the last cut
 * @marked: a CNP came during this step of @alpha
 * @idle: the last step of the clock saw less than half of what was allowed
 * @stage_nsec: length of a step of the clock
 * @stage_at: when the clock makes its next step
 * @alpha_at: likewise for @alpha
 * @cut_at: the next cut comes no earlier
 * @cnp_at: when the last CNP came
 */
struct dcqcn {
	u32 rate;
	u32 target;
	u32 alpha;
	u32 bytes;
	u64 used;
	u32 time_steps;
	u32 byte_steps;
	bool marked;
	bool idle;
	u64 stage_nsec;
	u64 stage_at;
	u64 alpha_at;
	u64 cut_at;
	u64 cnp_at;
};

void dcqcn_init(struct dcqcn *d);
void dcqcn_start(struct dcqcn *d, u64 rate, u64 rtt_ns, u64 now);
bool dcqcn_cnp(struct dcqcn *d, u64 rtt_ns, u64 now);
void dcqcn_advance(struct dcqcn *d, u64 now);
void dcqcn_sent(struct dcqcn *d, u32 bytes);
u32 dcqcn_gain(u32 rate);
u32 dcqcn_quantum(const struct dcqcn *d);
s64 dcqcn_credit(const struct dcqcn *d, s64 credit, u64 nsec);

/**
 * dcqcn_limited() - whether there is a limit at all
 * @d: state
 *
 * Context: any.
 */
static inline bool dcqcn_limited(const struct dcqcn *d)
{
	return d->rate != 0;
}

#endif /* RXE_PROTO_DCQCN_H */
