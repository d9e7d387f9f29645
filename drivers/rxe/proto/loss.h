/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Holes in a stream of packets: when a missing packet counts as lost and not as
 * late, and what a requester sends again. Pure decisions; time and packets come
 * in as parameters.
 */
#ifndef RXE_PROTO_LOSS_H
#define RXE_PROTO_LOSS_H

#include "types.h"

/* Bounds of struct patience */
#define PATIENCE_LATER_MIN	4
#define PATIENCE_LATER_MAX	64
#define PATIENCE_NSEC_MIN	300000u		/* 300 us */
#define PATIENCE_NSEC_MAX	4800000u

/* A hole longer than this many packets is filled by sending everything again */
#define RESEND_RUN_MAX		64

/**
 * struct patience - how long a missing packet may be merely late
 * @later: datagrams that may overtake it
 * @nsec: time that it may be late, if fewer than @later follow
 *
 * Grows when a packet that was given up turns up all the same, shrinks again
 * with each packet that was really lost.
 */
struct patience {
	u32 later;
	u32 nsec;
};

/**
 * struct resend - what a requester sends again
 * @psn: what was sent again last: from here, or from where the peer has said since that it is
 * @end: to here, exclusive
 * @run: packets that it sends again at a time
 * @tries: timeouts in a row that were answered by nothing but what was sent again
 * @active: the peer has not confirmed [@psn, @end) yet
 * @recent: nothing beyond @end has been confirmed since
 * @timeout: no NAK asked for it
 * @waiting: nothing new may be sent until the peer has answered
 * @holds: the peer keeps what arrives behind a hole
 * @doubt: while @active: all of it has been confirmed, by answers to nothing else; what
 *	comes next tells whether the peer has what follows
 * @repaired: something of [@psn, @end) was lost once more
 */
struct resend {
	u32 psn;
	u32 end;
	u32 run;
	u32 tries;
	bool active;
	bool recent;
	bool timeout;
	bool waiting;
	bool holds;
	bool doubt;
	bool repaired;
};

enum resend_what {
	RESEND_NOTHING,
	RESEND_RANGE,		/* [psn, end) of struct resend */
	RESEND_ALL		/* everything from the first PSN not confirmed on */
};

void patience_init(struct patience *p);
bool patience_over(const struct patience *p, u32 later);
void patience_lost(struct patience *p);
void patience_late(struct patience *p);

void resend_init(struct resend *r);
void resend_repaired(struct resend *r);
bool resend_coming(const struct resend *r, u32 psn);
enum resend_what resend_nak(struct resend *r, u32 psn, u32 next);
enum resend_what resend_timeout(struct resend *r, u32 psn, u32 end, u32 next);
enum resend_what resend_confirmed(struct resend *r, u32 psn, u32 next, bool all);

#endif /* RXE_PROTO_LOSS_H */
