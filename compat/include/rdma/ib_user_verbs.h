/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Numbers shared with user space, which kernels used before they had names. */
#ifndef RXE_COMPAT_RDMA_IB_USER_VERBS_H
#define RXE_COMPAT_RDMA_IB_USER_VERBS_H

#include_next <rdma/ib_user_verbs.h>

#if !RXE_HAVE_IB_UVERBS_WR_OPCODE

/* Requests; the kernel's own numbers differ from 7 on. */
enum ib_uverbs_wr_opcode {
	IB_UVERBS_WR_RDMA_WRITE			= 0,
	IB_UVERBS_WR_RDMA_WRITE_WITH_IMM	= 1,
	IB_UVERBS_WR_SEND			= 2,
	IB_UVERBS_WR_SEND_WITH_IMM		= 3,
	IB_UVERBS_WR_RDMA_READ			= 4,
	IB_UVERBS_WR_ATOMIC_CMP_AND_SWP		= 5,
	IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD	= 6,
	IB_UVERBS_WR_LOCAL_INV			= 7,
	IB_UVERBS_WR_BIND_MW			= 8,
	IB_UVERBS_WR_SEND_WITH_INV		= 9,
	IB_UVERBS_WR_TSO			= 10,
	IB_UVERBS_WR_RDMA_READ_WITH_INV		= 11,
	IB_UVERBS_WR_MASKED_ATOMIC_CMP_AND_SWP	= 12,
	IB_UVERBS_WR_MASKED_ATOMIC_FETCH_AND_ADD = 13,
	IB_UVERBS_WR_FLUSH			= 14,
	IB_UVERBS_WR_ATOMIC_WRITE		= 15,
};

/* Completions of them */
enum ib_uverbs_wc_opcode {
	IB_UVERBS_WC_SEND			= 0,
	IB_UVERBS_WC_RDMA_WRITE			= 1,
	IB_UVERBS_WC_RDMA_READ			= 2,
	IB_UVERBS_WC_COMP_SWAP			= 3,
	IB_UVERBS_WC_FETCH_ADD			= 4,
	IB_UVERBS_WC_BIND_MW			= 5,
	IB_UVERBS_WC_LOCAL_INV			= 6,
	IB_UVERBS_WC_TSO			= 7,
	IB_UVERBS_WC_FLUSH			= 8,
	IB_UVERBS_WC_ATOMIC_WRITE		= 9,
};

#endif /* !RXE_HAVE_IB_UVERBS_WR_OPCODE */

#endif /* RXE_COMPAT_RDMA_IB_USER_VERBS_H */
