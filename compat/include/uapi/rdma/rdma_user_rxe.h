/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What libibverbs' rxe provider and this driver share: the rings mapped into
 * the process, the elements in them, and the driver's part of verbs commands.
 *
 * The layout is dictated by rdma-core and the same for every release of it and
 * for 32 and 64-bit processes: sizes and offsets may not change (ring.c asserts
 * them). All of this is written by a process, at any time: the kernel copies
 * what it needs once, and checks the copy.
 *
 * Whole header: it stands before the kernel's own, which old kernels lack.
 */
#ifndef RDMA_USER_RXE_H
#define RDMA_USER_RXE_H

#include <linux/types.h>
#include <linux/socket.h>
#include <linux/in.h>
#include <linux/in6.h>

/* --- rings -------------------------------------------------------------------
 *
 * A ring is empty when both indices are equal and full when the producer is one
 * behind the consumer. Both are kept below the number of elements, a power of 2.
 */
struct rxe_queue_buf {
	__u32			log2_elem_size;
	__u32			index_mask;
	__u32			pad_1[30];
	__u32			producer_index;		/* own cache lines */
	__u32			pad_2[31];
	__u32			consumer_index;
	__u32			pad_3[31];
	__u8			data[];
};

/* Where a process finds a ring: arguments of its mmap() */
struct mminfo {
	__aligned_u64		offset;
	__u32			size;
	__u32			pad;
};

/* --- elements of the rings --------------------------------------------------- */

struct rxe_sge {
	__aligned_u64		addr;
	__u32			length;
	__u32			lkey;
};

/*
 * The local side of a request. The driver reads num_sge and the list (or, with
 * IBV_SEND_INLINE, length bytes of inline data); old providers may leave a wrong
 * length for lists, and the progress fields mean nothing to us.
 */
struct rxe_dma_info {
	__u32			length;
	__u32			resid;
	__u32			cur_sge;
	__u32			num_sge;
	__u32			sge_offset;
	__u32			reserved;
	/* arrays without a bound: each needs a struct around it inside a union */
	union {
		struct {
			struct { } no_inline;
			__u8		inline_data[];
		};
		struct {
			struct { } no_atomic;
			__u8		atomic_wr[];
		};
		struct {
			struct { } no_sge;
			struct rxe_sge	sge[];
		};
	};
};

struct rxe_recv_wqe {
	__aligned_u64		wr_id;
	__u32			reserved;
	__u32			padding;
	struct rxe_dma_info	dma;
};

enum {
	RXE_NETWORK_TYPE_IPV4 = 1,
	RXE_NETWORK_TYPE_IPV6 = 2,
};

union rxe_gid {
	__u8			raw[16];
	struct {
		__be64		subnet_prefix;
		__be64		interface_id;
	} global;
};

struct rxe_global_route {
	union rxe_gid		dgid;
	__u32			flow_label;
	__u8			sgid_index;
	__u8			hop_limit;
	__u8			traffic_class;
};

/* Address of a datagram; used where the request names no address handle */
struct rxe_av {
	__u8			port_num;
	__u8			network_type;		/* RXE_NETWORK_TYPE_ */
	__u8			dmac[6];
	struct rxe_global_route	grh;
	union {
		struct sockaddr_in	_sockaddr_in;
		struct sockaddr_in6	_sockaddr_in6;
	} sgid_addr, dgid_addr;
};

struct rxe_send_wr {
	__aligned_u64		wr_id;
	__u32			reserved;		/* num_sge once; not reliable */
	__u32			opcode;			/* enum ibv_wr_opcode */
	__u32			send_flags;		/* enum ibv_send_flags */
	union {
		__be32		imm_data;
		__u32		invalidate_rkey;
	} ex;
	union {
		struct {
			__aligned_u64	remote_addr;
			__u32		rkey;
			__u32		reserved;
		} rdma;
		struct {
			__aligned_u64	remote_addr;
			__aligned_u64	compare_add;
			__aligned_u64	swap;
			__u32		rkey;
			__u32		reserved;
		} atomic;
		struct {
			__aligned_u64	remote_addr;
			__u32		length;
			__u32		rkey;
			__u8		type;
			__u8		level;
		} flush;
		struct {
			__u32		remote_qpn;
			__u32		remote_qkey;
			__u16		pkey_index;
			__u16		reserved;
			__u32		ah_num;		/* 0: the address is in av */
			__u32		pad[4];
			struct rxe_av	av;
		} ud;
		struct {
			__aligned_u64	addr;
			__aligned_u64	length;
			__u32		mr_lkey;
			__u32		mw_rkey;
			__u32		rkey;
			__u32		access;
		} mw;
	} wr;
};

/* Between the request and its local side: space that this driver does not use */
struct rxe_send_wqe {
	struct rxe_send_wr	wr;
	__u32			status;
	__u32			state;
	__aligned_u64		iova;
	__u32			mask;
	__u32			first_psn;
	__u32			last_psn;
	__u32			ack_length;
	__u32			ssn;
	__u32			has_rd_atomic;
	struct rxe_dma_info	dma;
};

/* --- the driver's part of commands and their answers ------------------------- */

struct rxe_create_ah_resp {
	__u32			ah_num;
	__u32			reserved;
};

struct rxe_create_cq_resp {
	struct mminfo		mi;
};

struct rxe_resize_cq_resp {
	struct mminfo		mi;
};

struct rxe_create_qp_resp {
	struct mminfo		rq_mi;
	struct mminfo		sq_mi;
};

struct rxe_create_srq_resp {
	struct mminfo		mi;
	__u32			srq_num;
	__u32			reserved;
};

struct rxe_modify_srq_cmd {
	__aligned_u64		mmap_info_addr;		/* of a struct mminfo to fill */
};

#endif /* RDMA_USER_RXE_H */
