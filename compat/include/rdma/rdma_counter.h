/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters that the core binds to queue pairs. Include it behind all other headers.
 */
#ifndef RXE_COMPAT_RDMA_RDMA_COUNTER_H
#define RXE_COMPAT_RDMA_RDMA_COUNTER_H

#include <rdma/ib_verbs.h>

#if RXE_HAVE_IB_DEVICE_OPS
#include_next <rdma/rdma_counter.h>
#else

/*
 * Loses all: such a core binds none, and calls none of the operations. Its queue pairs
 * have no place to say that they are bound, so that the driver's code names another.
 */
struct rdma_counter {
	struct ib_device	*device;
	u32			id;
	struct rdma_hw_stats	*stats;
	u32			port;
};

#define counter	qp_context

#endif /* RXE_HAVE_IB_DEVICE_OPS */

#endif /* RXE_COMPAT_RDMA_RDMA_COUNTER_H */
