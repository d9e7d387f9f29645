/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * storm.h - what the two files of storm share: the devices, their queue pairs, what is
 * counted, and how it ends.
 */
#ifndef RXE_TEST_STORM_H
#define RXE_TEST_STORM_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	DEPTH		= 16,
	SGES		= 3,
	INLINE		= 128,
	MEMORY		= 1 << 18,	/* of a side */
	LONGEST		= 1 << 16,
	QKEY		= 0x11111111,
	GONE		= 3,		/* exit status: a device has gone */
	WRONG		= 4,		/* exit status: both are there, and a verb failed */
	ACCESS		= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

/* A device, and what its queue pairs share */
struct side {
	struct ibv_context	*context;
	struct ibv_pd		*pd;
	struct ibv_cq		*cq;
	struct ibv_mr		*mr;
	uint8_t			*memory;
	union ibv_gid		gid;
	int			gid_index;
};

extern struct side sides[2];
extern int on_demand;		/* IBV_ACCESS_ON_DEMAND, or 0 */
extern uint64_t sent, received, failures;
/* who wants to see each completion */
extern void (*completed)(const struct ibv_wc *wc);

double now(void);
void counts(void);
void die(const char *what);
void must(int err, const char *what);

void open_both(int cqes);
bool side_address(struct side *s);
struct ibv_qp *qp_make(struct side *s, enum ibv_qp_type type, struct ibv_srq *srq);
bool pair_connect(struct ibv_qp *qp[2], bool patient);
void poll_cq(void);

void torture(int pairs, double seconds, uint64_t random_seed);

#endif /* RXE_TEST_STORM_H */
