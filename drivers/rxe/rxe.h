/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rxe - RDMA over Converged Ethernet (RoCE v2) in software.
 *
 * The map of the driver: every object, who owns it, what protects it, and the
 * calls between the files.  Read the code in the order a message travels:
 * post.c, requester.c, burst.c, net.c, segment.c, rx.c, responder.c, answer.c,
 * completer.c, wc.c.
 *
 *   net namespace ── rxe_net     two UDP sockets, alive while a device uses them
 *   rxe_dev                      one RDMA device on one netdev
 *    ├─ rxe_pd, rxe_ah           plain objects of the verbs API
 *    ├─ rxe_mr, rxe_mw           memory, found by key (rxe_mr_ids)
 *    ├─ rxe_cq ── rxe_ring       completions, mapped into user space
 *    ├─ rxe_srq                  receives for many QPs
 *    └─ rxe_qp                   found by number (rxe_qp_ids)
 *        ├─ sq: task, flow       requester + completer: what we asked for
 *        └─ rq: task, flow       responder: what the peer asked for
 *
 * Lifetime: the RDMA core owns the verbs objects and destroys children before
 * parents.  What the network or another CPU may still find by number is held
 * by a struct rxe_id; rxe_id_free() returns when nobody uses the object.
 *
 * Locks, outermost first:
 *   dev->tracks.mutex > qp->mutex > qp->lock (bh) > sq.post_lock (irq) > cq->lock (irq)
 *   dev->tracks.mutex is within the core's locks of counters and names
 *   link.c's link_lock is held alone; srq->lock (irq) but for the tracks, too
 */
#ifndef RXE_H
#define RXE_H

#include <linux/types.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/ipv6.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/udp.h>
#include <linux/workqueue.h>
#include <net/dst.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/rdma_user_rxe.h>

#include "ids.h"
#include "proto/wire.h"
#include "proto/opcode.h"
#include "proto/psn.h"
#include "proto/icrc.h"
#include "proto/aeth.h"
#include "proto/classify.h"
#include "proto/errors.h"
#include "proto/recovery.h"
#include "proto/loss.h"
#include "congestion.h"
#include "counters.h"
#include "debugfs.h"
#include "flow.h"
#include "gather.h"
#include "lend.h"
#include "mem.h"
#include "odp.h"
#include "qpcounter.h"
#include "reorder.h"
#include "rx.h"
#include "task.h"
#include "track.h"
#include "verbs.h"

struct rxe_dev;
struct rxe_qp;
struct rxe_cq;

/* What a device promises; each limit is really reachable. */
enum {
	RXE_PORT		= 1,
	RXE_QPN_GSI		= 1,
	RXE_QPN_MULTICAST	= 0xffffff,
	RXE_MAX_QP		= 0x100000,
	RXE_MAX_QP_WR		= 0x100000,
	RXE_MAX_SGE		= 32,
	RXE_MAX_INLINE		= 512,
	RXE_MAX_CQ		= 0x100000,
	RXE_MAX_CQE		= 0x8000,
	RXE_MAX_MR		= 0x80000,
	RXE_MAX_MW		= 0x80000,
	/* Blocks of a region of fast registration */
	RXE_MAX_BLOCKS		= 512,
	/* Queue pairs of a multicast group, and groups of a device */
	RXE_MAX_MCAST_QP	= 56,
	RXE_MAX_MCAST_GRP	= 0x2000,
	RXE_MAX_PD		= 0x100000,
	RXE_MAX_AH		= 0x8000,
	RXE_MAX_SRQ		= 0x100000,
	RXE_MAX_SRQ_WR		= 0x100000,
	RXE_MAX_UCONTEXT	= 0x1000,
	RXE_MAX_RD_ATOMIC	= 128,
	RXE_MAX_GID		= 1024,
	/* RoCE has no partitions but the default one: no subnet manager fills a table (A16) */
	RXE_MAX_PKEY		= 1,
	RXE_DEFAULT_PKEY	= 0xffff,
	/* Payload of one request stream on its way over a short path, the window in bytes ... */
	RXE_WINDOW_BYTES	= 512 * 1024,
	/* ... and the packets that this may mean */
	RXE_WINDOW_LEAST	= 128,
	RXE_WINDOW_MOST		= 512,
	/*
	 * KiB of a flow that the local stack may hold at a time, or of all flows of a device
	 * together that hold much; an skb counts for 4 at least
	 */
	RXE_FLOW_HIGH		= 1024,
	RXE_FLOW_LOW		= 512,
	/* Packets, and bytes of memory, kept behind a hole; each side of a QP */
	RXE_HOLD_FEW		= RXE_WINDOW_MOST,
	RXE_HOLD_MAX		= RXE_WINDOW_MOST * WINDOW_WIDEST,
	RXE_HOLD_BYTES		= 4 << 20,
	/* Datagrams waiting for one side of a QP, and among them bursts; more are dropped */
	RXE_RXQ_MAX		= 2048,
	RXE_RXQ_BURSTS		= 512,
	/* Packets after which a task gives way to others */
	RXE_TASK_BUDGET		= 64,
	/* Payload from which a packet is bulk data, worth another CPU */
	RXE_BULK_PAYLOAD	= 512,
	/* Bulk packets that may wait for that CPU */
	RXE_BULK_WAITING	= 64,
	/* Bytes of a burst that is worth another CPU even if there is nothing to be summed */
	RXE_BULK_BURST		= 16384,
	/* Such bursts that may wait for it */
	RXE_BULK_COPIES		= 4,
	/* Receives; with less who posts them needs a CPU more than who places messages there */
	RXE_RECEIVES_FEW	= 32,
	/* Messages in a row, answered by nothing but ACKs: a stream */
	RXE_BULK_ROW		= 4,
	/* WQEs copied or flushed before it does so */
	RXE_WQE_BUDGET		= 128,
	/* Payload of a packet at the largest path MTU */
	RXE_MAX_PAYLOAD		= 4096,
	/* Parts of the first window that one READ request asks for; a longer READ is several */
	RXE_WINDOW_READS	= 4,
	/* Acknowledgments that are asked for within a window */
	RXE_WINDOW_ACKS		= 8,
};

#define RXE_MAX_MSG	0x80000000U	/* C9-94 */

/* --- ring.c: the queues mapped into user space ------------------------------ */

/**
 * struct rxe_ring - one queue of the rdma-core ABI
 * @mem: the memory, and how to map it (ring.c)
 * @buf: header and elements, vmalloc_user memory; user space may write all of it
 * @mask: slots - 1, our own copy
 * @shift: log2 of the element size, our own copy
 * @index: our own index: of the next element that the kernel writes (CQ) or
 *	reads (SQ, RQ)
 * @taken: receives that have been taken, ever; wraps
 */
struct rxe_ring {
	struct rxe_ring_mem	*mem;
	struct rxe_queue_buf	*buf;
	u32			mask;
	u32			shift;
	u32			index;
	u32			taken;
};

int rxe_ring_create(struct rxe_ring *ring, struct rxe_dev *dev,
		    struct ib_udata *udata, u32 entries, u32 element_size,
		    struct mminfo *mi);
void rxe_ring_destroy(struct rxe_ring *ring);
u32 rxe_ring_slots(const struct rxe_ring *ring);
void *rxe_ring_element(const struct rxe_ring *ring, u32 index);
u32 rxe_ring_producer(const struct rxe_ring *ring);
u32 rxe_ring_consumer(const struct rxe_ring *ring);
void rxe_ring_set_producer(struct rxe_ring *ring, u32 index);
void rxe_ring_set_consumer(struct rxe_ring *ring, u32 index);
int rxe_ring_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void rxe_ring_forget(struct rxe_dev *dev, struct ib_ucontext *uctx);

/* --- device ----------------------------------------------------------------- */

/**
 * struct rxe_dev - one RDMA device
 * @ib: the core's part; first, the core allocates the whole
 * @ndev: the netdev below; held from link add to dealloc
 * @netns: namespace of @ndev; its deletion waits for the device
 * @net: sockets of @netns; held like @ndev
 * @parent: in sysfs, from link add to dealloc (parent.c)
 * @link: in link.c's list
 * @leaving: unregistration is queued; link.c's lock
 * @counters: per CPU
 * @tracks: objects, and who has made them
 * @qpcounters: bound to queue pairs
 * @debug: in debugfs
 * @pma_base: what counters were when they were set, for two attributes (pma.c)
 * @crowd: flows that share local queues
 * @map_lock: @pending_maps
 * @pending_maps: rings that user space has not mapped yet (ring.c)
 * @port_state: last port state told to the core
 * @num_pd: protection domains, for the limit; likewise the following
 * @num_ah: address handles
 * @num_ucontext: open user contexts
 * @num_cq: completion queues
 * @num_qp: queue pairs
 * @num_mr: memory regions
 * @num_mw: memory windows
 * @mcast_groups: multicast groups that have members here; under the mutex of mcast.c
 * @num_srq: shared receive queues
 */
struct rxe_dev {
	struct ib_device		ib;
	struct net_device		*ndev;
	netdevice_tracker		ndev_tracker;
	struct net			*netns;
	struct rxe_net			*net;
	struct rxe_parent		*parent;
	struct list_head		link;
	bool				leaving;
	struct rxe_counters __percpu	*counters;
	struct rxe_tracks		tracks;
	struct rxe_qpcounters		qpcounters;
	struct rxe_debug		debug;
	u64				pma_base[2][RXE_PMA_FIELDS];
	struct rxe_crowd		*crowd;
	spinlock_t			map_lock;	/* pending_maps */
	struct list_head		pending_maps;
	enum ib_port_state		port_state;
	atomic_t			num_pd;
	atomic_t			num_ah;
	atomic_t			num_ucontext;
	atomic_t			num_cq;
	atomic_t			num_qp;
	atomic_t			num_mr;
	atomic_t			num_mw;
	u32				mcast_groups;
	atomic_t			num_srq;
};

struct rxe_ucontext {
	struct ib_ucontext	ib;
	struct rxe_track	track;
};

struct rxe_pd {
	struct ib_pd		ib;
	struct rxe_track	track;
};

/**
 * struct rxe_ah - an address handle
 * @ib: the core's part; holds the source GID
 * @id: entry in rxe_ah_ids, by which user space names it; NULL: a kernel user's
 * @attr: where to; checked: RoCE v2, one IP family
 */
struct rxe_ah {
	struct ib_ah		ib;
	struct rxe_id		*id;
	struct rdma_ah_attr	attr;
};

/* --- cq.c ------------------------------------------------------------------- */

/**
 * struct rxe_cq - a completion queue
 * @ib: the core's part
 * @track: who has made it
 * @lock: @ring, @notify, @overrun; irq safe: kernel users poll in any context
 * @ring: entries; struct ib_uverbs_wc or struct ib_wc
 * @is_user: entries have the user layout
 * @notify: IB_CQ_ flags of the pending request, 0: none
 * @overrun: an entry was lost, the application has been told
 * @dying: no more upcalls
 * @upcalls: handlers that run now, and one for the CQ itself until it is destroyed
 * @quiet: completed when @upcalls is 0
 */
struct rxe_cq {
	struct ib_cq		ib;
	struct rxe_track	track;
	spinlock_t		lock;		/* ring, notify, overrun */
	struct rxe_ring		ring;
	bool			is_user;
	u8			notify;
	bool			overrun;
	bool			dying;
	atomic_t		upcalls;
	struct completion	quiet;
};

/**
 * struct rxe_wc - a completion before it takes the user's or the kernel's shape
 */
struct rxe_wc {
	u64	wr_id;
	u8	status;		/* enum ib_wc_status */
	u8	opcode;		/* enum ib_uverbs_wc_opcode; kernel form is made in cq.c */
	u8	flags;		/* IB_WC_ bits common to both worlds */
	bool	solicited;
	u32	byte_len;
	union {
		__be32	imm_data;
		u32	invalidate_rkey;
	};
	u32	src_qp;
	u16	pkey_index;
	u16	vlan_id;	/* with IB_WC_GRH; RXE_NO_VLAN */
	bool	is_ipv4;	/* with IB_WC_GRH */
};

#define RXE_NO_VLAN	0xffff

/**
 * struct rxe_wc_row - completions of WQEs that have ended one after the other, not visible yet;
 *	there are none when sq.task ends
 * @alive: nobody has told their owner yet that the QP is in error
 */
struct rxe_wc_row {
	struct rxe_wc	wc[8];
	u32		count;
	bool		alive;
};

u32 rxe_cq_post(struct rxe_cq *cq, struct rxe_qp *qp, const struct rxe_wc *wc, u32 count);
u32 rxe_cq_taken(const struct rxe_cq *cq);

/* --- srq.c ------------------------------------------------------------------ */

/**
 * struct rxe_srq - a shared receive queue
 * @ib: the core's part
 * @track: who has made it
 * @lock: @ring, @limit; irq safe: kernel users post in any context
 * @ring: where receives are posted, and the QPs take them
 * @is_user: user space may write the ring
 * @max_wr: WQEs that a kernel user may post
 * @max_sge: elements of each
 * @limit: tell when fewer WQEs are left, 0: do not
 * @resizing: one at a time
 */
struct rxe_srq {
	struct ib_srq		ib;
	struct rxe_track	track;
	spinlock_t		lock;		/* ring, limit */
	struct rxe_ring		ring;
	bool			is_user;
	u32			max_wr;
	u32			max_sge;
	u32			limit;
	struct mutex		resizing;	/* resizes */
};

bool rxe_srq_scarce(struct rxe_srq *srq);
bool rxe_srq_below_limit(struct rxe_srq *srq);
void rxe_srq_event(struct rxe_srq *srq, enum ib_event_type type);

/* --- qp.c, post.c, requester.c, completer.c, wc.c, responder.c, answer.c, datagram.c, recv.c */

/**
 * struct rxe_swqe_ud - where a datagram goes
 * @ah: of a kernel user
 * @ah_num: of user space, in rxe_ah_ids; 0: the rest is the address
 * @qpn: destination QP
 * @qkey: as posted
 */
struct rxe_swqe_ud {
	struct rxe_ah	*ah;
	u32		ah_num;
	u32		qpn;
	u32		qkey;
	u32		flow_label;
	union ib_gid	dgid;
	u8		sgid_index;
	u8		hop_limit;
	u8		traffic_class;
};

/* What a kernel user registers by REG_MR */
struct rxe_swqe_reg {
	struct rxe_mr	*mr;
	u32		key;
	int		access;
};

/* Opcode of REG_MR in struct rxe_swqe: user space has no number for it */
#define RXE_WR_REG_MR	0xf0

/**
 * struct rxe_swqe - a send WQE: checked copy of what was posted, and its progress
 *
 * @sge is room for max_send_sge elements or max_inline_data bytes.
 */
struct rxe_swqe {
	u64	wr_id;
	u32	flags;		/* IB_SEND_ */
	u8	opcode;		/* enum ib_uverbs_wr_opcode */
	u8	status;		/* enum ib_wc_status: why it cannot be executed, 0: it can */
	bool	is_inline;
	bool	sent;		/* its PSNs are assigned */
	u32	num_sge;
	u32	length;
	u32	first_psn;
	u32	last_psn;
	u32	ssn;		/* of a message: its number among all, 24 bits */
	__be32	imm_data;	/* or invalidate_rkey in CPU order */
	u32	invalidate_rkey;
	union {
		struct {
			u64	remote_addr;
			u64	compare_add;
			u64	swap;
			u32	rkey;
			u8	placement;	/* FLUSH: FETH_GLOBAL, FETH_PERSISTENT */
			u8	selectivity;	/* FLUSH: FETH_SEL_ */
		};
		struct rxe_swqe_reg	reg;
		struct rxe_mw_bind	bind;
		struct rxe_swqe_ud	ud;
	};
	struct rxe_mem_sge	sge[];
};

/* A request on its way that is answered by a response: at most max_rd_atomic of them. */
struct rxe_sq_read {
	u32	first_psn;
	u32	last_psn;
};

/**
 * struct rxe_sq - our own requests
 * @post_lock: kernel users post under it
 * @prod: slots filled; by kernel posts, or when user posts are pulled
 * @ring: where user space posts
 * @slots: checked copies, @mask + 1 of them, @stride bytes each
 * @sig_all: each WQE completes, asked for or not
 * @gather: posts that are not sent at once
 *
 * The rest belongs to @task.  Positions count up and are masked on use:
 *
 *	cons (oldest not completed) <= next (being sent) <= prod
 *	una_psn (oldest not acknowledged) <= psn (next to send) <= max_psn
 *
 * @confirmed: the peer has executed all before it; ahead of una_psn while READ
 *	responses are missing
 * @max_psn: highest PSN ever sent, plus one; @psn is below it while resending
 * @unacked: packets since the last one that asked for an ACK
 * @ssn: messages begun
 * @lsn: the last message for which the peer has a receive, if @limited (9.7.7.2)
 * @limited: the peer says how many receives it has
 * @reads: requests of @reads_head .. @reads_tail that wait for a response
 * @resend: what has been sent again, and why
 * @again_psn: still to be sent again: from here
 * @again_end: to here, exclusive
 * @again: a packet is being sent again just now
 * @held: responses that came before an earlier one
 * @patience: how long a response may be late
 * @late_psn: response that was given up last
 * @gap: a response is missing, the timer runs for it
 * @asked_end: responses before it that are missing have been asked for again
 * @onward: the peer answers a READ again only from where it was asked last; told by MigReq,
 *	which in-tree rxe leaves 0
 * @overtaken: and the one for una_psn twice, as one behind it came first
 * @nak: AETH syndrome of a NAK for @nak_psn that waits for responses, 0: none; an RNR
 *	NAK, or one that ends the connection
 * @starved: there was no memory for a packet, or the page to be sent is absent
 * @fault: pages that are waited for; a response, in @held
 * @bulk: full packets wait for the window; read by the receive path
 * @hurry: a hole is being filled; likewise
 * @rnr_wait: the peer has asked for a pause
 * @rtt_una: una_psn when @rtt_psn was sent
 * @rtt_start: when @rtt_psn was sent, in ns; 0: nothing is being timed
 * @rtt_again: it was sent again
 * @untimed: requests that have responses since one was timed
 * @progress: something was acknowledged since the timer fired last
 * @armed: the timer runs
 * @repair: it was armed for a packet that was sent again
 * @charged: what the local stack had got when it was armed, or that packet sent
 * @timer: retransmission
 * @rnr_timer: end of the pause
 * @events: RXE_SQ_EV_ bits, set by timers
 * @counts: what this side has counted
 * @row: completions that become visible together
 */
struct rxe_sq {
	spinlock_t		post_lock;	/* kernel users' posts */
	u32			prod;
	struct rxe_ring		ring;
	struct rxe_task		task;
	struct rxe_gather	gather;
	struct rxe_flow		flow;
	struct rxe_pace		pace;
	struct sk_buff_head	rxq;
	u8			*slots;
	u32			mask;
	u32			stride;
	bool			sig_all;

	u32			cons;
	u32			next;
	u32			psn;
	u32			max_psn;
	u32			una_psn;
	u32			unacked;
	u32			ssn;
	u32			lsn;
	bool			limited;
	struct rxe_sq_read	reads[RXE_MAX_RD_ATOMIC];
	u32			reads_head;
	u32			reads_tail;
	struct retry_state	retry;
	struct rto_state	rto;
	struct send_window	window;
	u32			confirmed;
	struct resend		resend;
	u32			again_psn;
	u32			again_end;
	bool			again;
	struct rxe_reorder	held;
	struct patience		patience;
	u32			late_psn;
	u32			nak_psn;
	u8			nak;
	bool			gap;
	u32			asked_end;
	bool			onward;
	bool			overtaken;
	bool			starved;
	struct rxe_fault	fault;
	bool			bulk;
	bool			hurry;
	bool			rnr_wait;
	bool			drained;
	u32			rtt_psn;
	u32			rtt_una;
	u64			rtt_start;
	bool			rtt_again;
	u8			untimed;
	bool			progress;
	bool			armed;
	bool			repair;
	u32			charged;
	struct hrtimer		timer;
	struct hrtimer		rnr_timer;
	unsigned long		events;
	u64			*counts;
	struct rxe_wc_row	row;
};

enum {
	RXE_SQ_EV_TIMEOUT,
	RXE_SQ_EV_RNR,
};

/* A READ, atomic, FLUSH or ATOMIC WRITE that the responder may have to replay. */
struct rxe_resp_res {
	u8	opcode;		/* 0: free */
	u32	first_psn;
	u32	last_psn;
	u64	va;
	u32	rkey;
	u32	length;
	u64	orig;		/* result of an atomic */
};

/* READ responses under way: the part of a READ that has not been sent. */
struct rxe_resp_read {
	bool	active;
	bool	first;		/* no packet of this response has left */
	bool	replay;		/* the READ has been answered before */
	u32	psn;
	u64	va;
	u32	rkey;
	u32	left;		/* bytes */
};

/* Whether receives come in time, of UC and datagrams (recv.c) */
enum rxe_supply {
	RXE_SUPPLY_THERE,	/* the last one that was wanted was there */
	RXE_SUPPLY_AWAITED,	/* it was not, and is waited for */
	RXE_SUPPLY_OUT,		/* it has not come in time */
};

/**
 * struct rxe_rq - what the peer asks for
 * @post_lock: kernel users post under it
 * @ring: where receives are posted
 *
 * The rest belongs to @task.
 *
 * @out: answers of this round of the task, not begun while its flow is NULL
 * @iter: packets of the skb being consumed
 * @psn: expected
 * @msn: messages completed
 * @by_response: what was executed last is answered by a response, as READs are, and so is all
 *	before that from @first_response on
 * @progress: the message in progress, @done bytes of it are in place
 * @va: of an RDMA WRITE in progress, like @rkey and @length
 * @have_wqe: a receive WQE is in use: @wr_id, @num_sge, @sge, with @room bytes
 * @bad_wqe: it is none that a post could have made
 * @supply: enum rxe_supply; read by kernel users' posts (not of an SRQ) and the receive path
 * @waits: the packet in @iter waits for a receive
 * @late: when a receive that is awaited is given up, in jiffies
 * @res: @num_res saved requests, @res_next is overwritten next
 * @asked: READs, atomics and ATOMIC WRITEs accepted, ever; wraps
 * @answered: those of them whose last response is made; read by the receive path
 * @read: responses under way
 * @ack_pending: an ACK is due when the queue has been worked off
 * @nak_sent: one NAK, then silence until the missing PSN arrives
 * @rnr_sent: the NAK was for want of a receive; what follows is dropped
 * @held: packets behind a hole
 * @patience: how long a packet may be late
 * @nak_psn: missing packet that the last NAK was sent for (@nak_valid)
 * @nak_timer: the time that a packet may be late is over
 * @nak_armed: it runs
 * @nak_fired: it has fired; set by the timer
 * @nak_due: the next hole that is seen is one too many
 * @hurry: a hole waits to be filled; read by the receive path
 * @row_psn: up to where this side had sent requests of its own when a row of messages began;
 *	of the receive path
 * @row_msn: what @msn was then; likewise
 * @fault: pages that are waited for; a request, in @iter or @held
 * @again: no page, but the request in hand takes another round of the task
 * @written_back: bytes that the FLUSH in hand has been through
 * @cost: of the request just done, in packets of the budget, more than one
 * @established: the peer has been heard of
 * @flush_left: in the error state: receives of this pass still to be flushed
 * @last_told: in the error state: nothing more will be taken from the SRQ, and its
 *	owner knows
 * @timer: calls the task again: to look for receives posted late, in the error state
 *	or for who waits, or when there was no memory for a READ response
 * @counts: what this side has counted
 */
struct rxe_rq {
	spinlock_t		post_lock;	/* kernel users' posts */
	struct rxe_ring		ring;
	struct rxe_task		task;
	struct rxe_flow		flow;
	struct rxe_pace		pace;
	struct sk_buff_head	rxq;

	struct rxe_burst	*out;
	struct rxe_rx_iter	iter;
	u32			psn;
	u32			msn;
	u32			first_response;
	bool			by_response;
	enum msg_progress	progress;
	u64			done;
	u64			va;
	u32			rkey;
	u32			length;
	bool			have_wqe;
	bool			bad_wqe;
	u8			supply;
	bool			waits;
	unsigned long		late;
	u64			wr_id;
	u32			num_sge;
	u32			room;
	struct rxe_mem_sge	sge[RXE_MAX_SGE];
	struct rxe_resp_res	*res;
	u32			num_res;
	u32			res_next;
	u32			asked;
	u32			answered;
	struct rxe_resp_read	read;
	bool			ack_pending;
	bool			nak_sent;
	bool			rnr_sent;
	bool			nak_valid;
	bool			nak_armed;
	bool			nak_due;
	bool			nak_fired;
	bool			hurry;
	u32			row_psn;
	u32			row_msn;
	struct rxe_fault	fault;
	bool			again;
	u64			written_back;
	u32			cost;
	u32			nak_psn;
	struct rxe_reorder	held;
	struct patience		patience;
	struct hrtimer		nak_timer;
	bool			established;
	u32			flush_left;
	bool			last_told;
	struct timer_list	timer;
	u64			*counts;
};

/**
 * struct rxe_qp - a queue pair
 * @id: entry in rxe_qp_ids
 * @track: who has made it
 * @binding: to a counter of the rdma tool, NULL: to none
 * @error: why it failed last, for people; NULL: it never did
 * @mutex: one modify at a time
 * @lock: @state, @attr
 * @state: verbs state as data paths see it (READ_ONCE)
 * @owner: address space of the process that made it; only ever compared
 * @counts: of packets that neither side gets to see, under the lock of @rq.rxq
 * @pmtu: payload bytes of a full packet
 * @cnp_due: the next CNP leaves no earlier, ns
 * @srq: where receives come from, NULL: @rq.ring
 * @dgram_flows: destinations of late (datagram.c)
 * @dgram_next: which of them is forgotten next
 * @gsi_entry: in the list of all QPs 1 (datagram.c)
 * @mcast_groups: multicast groups that it is in (mcast.c)
 */
struct rxe_qp {
	struct ib_qp		ib;
	struct rxe_dev		*dev;
	struct rxe_id		*id;
	struct rxe_track	track;
	struct rxe_binding	*binding;
	const char		*error;
	struct mutex		mutex;		/* one modify at a time */
	spinlock_t		lock;		/* state */
	enum ib_qp_state	state;
	bool			sq_draining;
	bool			is_user;
	const struct mm_struct	*owner;
	struct ib_qp_attr	attr;
	u64			counts[RXE_QP_COUNTERS];
	struct ib_qp_cap	cap;
	u32			pmtu;
	atomic64_t		cnp_due;
	struct rxe_dgram_flow	*dgram_flows;
	u32			dgram_next;
	struct list_head	gsi_entry;
	u32			mcast_groups;
	struct rxe_cq		*scq;
	struct rxe_cq		*rcq;
	struct rxe_srq		*srq;
	struct rxe_sq		sq;
	struct rxe_rq		rq;
};

static inline enum ib_qp_state rxe_qp_state(const struct rxe_qp *qp)
{
	return READ_ONCE(qp->state);
}

static inline bool rxe_qp_is_datagram(const struct rxe_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_UD || qp->ib.qp_type == IB_QPT_GSI;
}

static inline bool rxe_qp_is_uc(const struct rxe_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_UC;
}

/* Whether the peer hears of each message, and sends it again if need be */
static inline bool rxe_qp_is_reliable(const struct rxe_qp *qp)
{
	return !rxe_qp_is_datagram(qp) && !rxe_qp_is_uc(qp);
}

/* Whether the state is one that receives (10.3.1) */
static inline bool rxe_qp_receives(const struct rxe_qp *qp)
{
	switch (rxe_qp_state(qp)) {
	case IB_QPS_RTR:
	case IB_QPS_RTS:
	case IB_QPS_SQD:
	case IB_QPS_SQE:
		return true;
	default:
		return false;
	}
}

/* Whose keys receive WQEs name */
static inline struct ib_pd *rxe_recv_pd(const struct rxe_qp *qp)
{
	return qp->srq ? qp->srq->ib.pd : qp->ib.pd;
}

/* FLUSH and ATOMIC WRITE: one packet, answered by a READ response without payload */
static inline bool rxe_swqe_is_placement(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_UVERBS_WR_FLUSH || wqe->opcode == IB_UVERBS_WR_ATOMIC_WRITE;
}

/*
 * Answered by a response, and not by an ACK alone; one of at most max_rd_atomic, until the
 * response is here
 */
static inline bool rxe_swqe_has_response(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_UVERBS_WR_RDMA_READ ||
	       wqe->opcode == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD ||
	       rxe_swqe_is_placement(wqe);
}

/* Inline data stands where the elements would. */
static inline u8 *rxe_swqe_inline(struct rxe_swqe *wqe)
{
	return (u8 *)wqe->sge;
}

static inline struct rxe_swqe *rxe_sq_slot(struct rxe_sq *sq, u32 index)
{
	return (struct rxe_swqe *)(sq->slots + (size_t)(index & sq->mask) * sq->stride);
}

void rxe_qp_because(struct rxe_qp *qp, const char *why);
void rxe_qp_error(struct rxe_qp *qp);
void rxe_qp_send_error(struct rxe_qp *qp);
void rxe_qp_check_drained(struct rxe_qp *qp);
void rxe_qp_event(struct rxe_qp *qp, enum ib_event_type event);

bool rxe_post_pull(struct rxe_qp *qp);

void rxe_wc_show(struct rxe_qp *qp);
void rxe_wc_add(struct rxe_qp *qp, u8 status);
void rxe_wc_complete(struct rxe_qp *qp, u8 status);
void rxe_wc_fail(struct rxe_qp *qp, u8 status);
bool rxe_wc_flush(struct rxe_qp *qp);

bool rxe_requester_send(struct rxe_qp *qp);
void rxe_requester_rewind(struct rxe_qp *qp, u32 psn);
void rxe_requester_again(struct rxe_qp *qp, u32 psn, u32 end);

bool rxe_completer_receive(struct rxe_qp *qp);
void rxe_completer_events(struct rxe_qp *qp);
void rxe_completer_arm(struct rxe_qp *qp);
void rxe_completer_local(struct rxe_qp *qp);
void rxe_completer_sent(struct rxe_qp *qp);
enum hrtimer_restart rxe_completer_timeout(struct hrtimer *t);
enum hrtimer_restart rxe_completer_rnr_timeout(struct hrtimer *t);

int rxe_datagram_init(struct rxe_qp *qp);
void rxe_datagram_exit(struct rxe_qp *qp);
int rxe_datagram_gsi_add(struct rxe_qp *qp);
void rxe_datagram_gsi_del(struct rxe_qp *qp);
struct rxe_id *rxe_datagram_find_gsi(const struct net *net, const struct sk_buff *skb,
				     u16 *vlan);
void rxe_datagram_daddr(const struct sk_buff *skb, union ib_gid *gid);
void rxe_mcast_forget(struct rxe_qp *qp);
void rxe_mcast_netdev_gone(const struct net_device *ndev);
void rxe_mcast_show(struct seq_file *seq, struct rxe_dev *dev);
void rxe_mcast_deliver(const struct net *net, struct sk_buff *skb,
		       void (*deliver)(struct rxe_qp *qp, struct sk_buff *skb));
void rxe_datagram_pull(struct rxe_swqe *wqe, const struct rxe_send_wr *wr);
void rxe_datagram_post(struct rxe_swqe *wqe, const struct ib_ud_wr *wr);
bool rxe_datagram_send_task(struct rxe_qp *qp);
bool rxe_datagram_receive_task(struct rxe_qp *qp);

int rxe_recv_ring_post(struct rxe_ring *ring, u32 max_wr, u32 max_sge,
		       const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
bool rxe_recv_get(struct rxe_qp *qp);
bool rxe_recv_await(struct rxe_qp *qp, const struct sk_buff *skb);
bool rxe_recv_waits(struct rxe_qp *qp);
bool rxe_recv_scarce(const struct rxe_qp *qp);
bool rxe_recv_complete(struct rxe_qp *qp, struct rxe_wc *wc);
void rxe_recv_fail(struct rxe_qp *qp, u8 status);
bool rxe_recv_flush(struct rxe_qp *qp);

bool rxe_responder_task(struct rxe_qp *qp);
void rxe_responder_timeout(struct timer_list *t);
enum hrtimer_restart rxe_responder_nak_timeout(struct hrtimer *t);

void rxe_answer_flush(struct rxe_qp *qp);
void rxe_answer_ack(struct rxe_qp *qp, u8 syndrome, u32 psn);
void rxe_answer_pending(struct rxe_qp *qp);
void rxe_answer_atomic(struct rxe_qp *qp, u32 psn, u64 orig);
void rxe_answer_placement(struct rxe_qp *qp, u32 psn);
void rxe_answer_made(struct rxe_rq *rq);
void rxe_answer_read_start(struct rxe_qp *qp, bool replay, u32 psn, u64 va, u32 rkey, u32 len);
int rxe_answer_read(struct rxe_qp *qp, u32 *budget);

/* --- link.c, parent.c, verbs.c -------------------------------------------------------- */

int rxe_link_init(void);
void rxe_link_exit(void);
void rxe_link_dealloc(struct ib_device *ibdev);
void rxe_link_count(const struct net_device *ndev, enum rxe_counter which);
void rxe_link_port_event(struct ib_device *ibdev, struct net_device *ndev,
			 unsigned long event);
int rxe_parent_create(struct rxe_dev *dev);
void rxe_parent_rename(struct rxe_dev *dev);
void rxe_parent_destroy(struct rxe_dev *dev);
int rxe_verbs_register(struct rxe_dev *dev, const char *name);
enum ib_mtu rxe_verbs_mtu(const struct net_device *ndev);
extern const struct ib_device_ops rxe_verbs_ops;

static inline struct rxe_dev *to_rxe_dev(struct ib_device *ib)
{
	return container_of(ib, struct rxe_dev, ib);
}

static inline struct rxe_ah *to_rxe_ah(struct ib_ah *ib)
{
	return container_of(ib, struct rxe_ah, ib);
}

static inline struct rxe_cq *to_rxe_cq(struct ib_cq *ib)
{
	return container_of(ib, struct rxe_cq, ib);
}

static inline struct rxe_srq *to_rxe_srq(struct ib_srq *ib)
{
	return container_of(ib, struct rxe_srq, ib);
}

static inline struct rxe_qp *to_rxe_qp(struct ib_qp *ib)
{
	return container_of(ib, struct rxe_qp, ib);
}

#include "count.h"

/* Messages name device and QP, and are rate limited. */
#define rxe_qp_info(qp, fmt, ...)						\
do {										\
	const struct rxe_qp *__qp = (qp);					\
										\
	net_info_ratelimited("rxe: %s qp %#x: " fmt,				\
			     dev_name(&__qp->dev->ib.dev), __qp->ib.qp_num,	\
			     ##__VA_ARGS__);					\
} while (0)

/* Where dynamic debug has switched it on */
#define rxe_qp_dbg(qp, fmt, ...)						\
do {										\
	const struct rxe_qp *__qp = (qp);					\
										\
	pr_debug("rxe: %s qp %#x: " fmt, dev_name(&__qp->dev->ib.dev),		\
		 __qp->ib.qp_num, ##__VA_ARGS__);				\
} while (0)

#define rxe_dev_warn(rdev, fmt, ...)						\
do {										\
	const struct rxe_dev *__dev = (rdev);					\
										\
	net_warn_ratelimited("rxe: %s: " fmt, dev_name(&__dev->ib.dev),		\
			     ##__VA_ARGS__);					\
} while (0)

#endif /* RXE_H */
