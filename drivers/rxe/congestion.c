// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Congestion: marks of the network -> notifications -> the pace of a flow (A17.9).
 *
 *   sender                    network                      receiver
 *   ECT(0) ────────────────► queue too long: CE ─────────► counted
 *   pace  ◄──────────────────────────────────────── CNP, one per QP in 50 us
 *
 * Each packet of a connected queue pair says that it may be marked. Whichever side of
 * the peer receives a mark, the responder that of a request, the completer that of a
 * READ response, sends the notification. It does not say which packet it is about, so
 * both sides of the queue pair that it names slow down, each by itself: requests, and
 * READ responses. Datagrams have no connection to slow down; theirs are only counted.
 *
 * A queue of this host that has no room for a packet says the same, to the side that has
 * sent it: of many queue pairs each may have what a queue for all of them has not.
 *
 * How fast is decided in proto/dcqcn.c. A flow that nobody has complained about has no
 * pace, and pays for it with a test of one flag per packet. With the first notification
 * it is measured for a round trip, to know what to cut; who pauses meanwhile, or has
 * nothing to send when it comes, was not the cause:
 *
 *            CNP              a round trip               no CNP for a second
 *   free ───────────► measured ───────────► open ◄───────────────────────┐
 *                                  timer ▲   │ credit used up             │
 *                                        └─ closed                      free
 *
 * Credit comes with time, up to a burst; a closed flow is busy as one whose packets fill
 * the local queue is, and a timer calls its task. There is nothing to be done between
 * packets: steps of the clock are made up for when the next one is due.
 */
#include <linux/ip.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/pkt_sched.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>

#include "rxe.h"

/* Who has measured no round trip, as a responder, takes it for this */
#define RTT_UNKNOWN_NSEC	((u64)4 * NSEC_PER_MSEC)
/* What a flow is cut from at least: 100 Mb/s; who sends little was not the cause */
#define START_LEAST		(10 * DCQCN_RATE_MIN)
/* Who sends nothing for so long behind a notification was not the cause either */
#define PAUSE_NSEC		(4 * DCQCN_STAGE_MAX)
/* Of a notification: DSCP 48, network control, and ECT(0), as hardware has it */
#define CNP_TOS			0xc2
/* Bytes around the payload of a packet, at most */
#define PACKET_HEADERS		128

static bool ecn = true;
module_param(ecn, bool, 0644);
MODULE_PARM_DESC(ecn, "packets of new connections may be marked by the network (default: yes)");

/**
 * rxe_congestion_tos() - the TOS or traffic class of a connection's packets
 * @tos: as the address vector has it
 *
 * Who asks for an ECN field gets that.
 *
 * Context: any.
 */
u8 rxe_congestion_tos(u8 tos)
{
	if (READ_ONCE(ecn) && INET_ECN_is_not_ect(tos))
		tos |= INET_ECN_ECT_0;
	return tos;
}

/* --- pace ------------------------------------------------------------------- */

static u64 pace_rtt(const struct rxe_pace *pace)
{
	u64 rtt = pace->srtt ? READ_ONCE(*pace->srtt) : 0;

	return clamp_t(u64, rtt ? rtt : RTT_UNKNOWN_NSEC, DCQCN_STAGE_MIN, DCQCN_STAGE_MAX);
}

/* The flow is free again, unless a CNP has come just now. */
static void pace_end(struct rxe_pace *pace)
{
	pace->measuring = false;
	pace->closed = false;
	WRITE_ONCE(pace->flow->paced, false);
	smp_mb();	/* pairs with pace_notify(): the flag stays set, or we see why */
	if (atomic64_read(&pace->cnp))
		WRITE_ONCE(pace->flow->paced, true);
}

static void pace_cut(struct rxe_pace *pace)
{
	rxe_count_side(pace->flow->dev, pace->flow->counts, RXE_CNT_RATE_CUTS, 1);
	pace->credit = 0;
}

/* A CNP came at @at, which another CPU may have read after this one has read @now. */
static void pace_cnp(struct rxe_pace *pace, u64 at, u64 now)
{
	/* for the other side, while this one had nothing to send */
	if ((s64)(now - at) >= (s64)PAUSE_NSEC && !dcqcn_limited(&pace->dcqcn))
		return;
	if (dcqcn_limited(&pace->dcqcn)) {
		dcqcn_advance(&pace->dcqcn, at);
		if (dcqcn_limited(&pace->dcqcn)) {
			if (dcqcn_cnp(&pace->dcqcn, pace_rtt(pace), at))
				pace_cut(pace);
			return;
		}
	}
	if (!pace->measuring) {
		pace->measuring = true;
		pace->filled = now;
		pace->sent = 0;
	}
}

/* True: it is known how fast the flow was, and that was too fast; or it has paused. */
static bool pace_measured(struct rxe_pace *pace, u64 now)
{
	u64 took = now - pace->filled;

	if (took < pace_rtt(pace))
		return false;
	pace->measuring = false;
	if (took >= PAUSE_NSEC)
		return true;
	dcqcn_start(&pace->dcqcn,
		    max_t(u64, div64_u64(pace->sent << DCQCN_TICK_SHIFT, took), START_LEAST),
		    pace_rtt(pace), now);
	pace_cut(pace);
	pace->filled = now;
	return true;
}

/* Makes up for the time since the last look. */
static void pace_fill(struct rxe_pace *pace, u64 now)
{
	pace->credit = dcqcn_credit(&pace->dcqcn, pace->credit, now - pace->filled);
	pace->filled = now;
}

/* If it runs already, for an earlier time, it is too early, and armed again then. */
static void pace_arm(struct rxe_pace *pace, u64 now)
{
	if (READ_ONCE(pace->armed))
		return;
	WRITE_ONCE(pace->armed, true);
	hrtimer_start(&pace->timer, ns_to_ktime(pace->open_at - now), HRTIMER_MODE_REL);
}

static void pace_close(struct rxe_pace *pace, u64 now)
{
	u64 lacks = dcqcn_quantum(&pace->dcqcn) - pace->credit;

	pace->closed = true;
	pace->open_at = now + div_u64(lacks << DCQCN_TICK_SHIFT, pace->dcqcn.rate);
	pace_arm(pace, now);
}

/**
 * rxe_pace_holds() - whether a flow with a pace may not send just now
 * @flow: of a connected QP; its flag is set
 *
 * If so, its task is called again when it may.
 *
 * Context: the flow's task.
 */
bool rxe_pace_holds(struct rxe_flow *flow)
{
	struct rxe_pace *pace = flow->pace;
	u64 now, cnp = 0;

	if (likely(pace->credit > 0 && !pace->measuring && !atomic64_read(&pace->cnp)))
		return false;
	now = ktime_get_ns();
	if (atomic64_read(&pace->cnp))
		cnp = atomic64_xchg(&pace->cnp, 0);
	if (cnp)
		pace_cnp(pace, cnp, now);
	if (pace->measuring && !pace_measured(pace, now))
		return false;
	if (dcqcn_limited(&pace->dcqcn))
		dcqcn_advance(&pace->dcqcn, now);
	if (!dcqcn_limited(&pace->dcqcn)) {
		pace_end(pace);
		return false;
	}
	if (pace->closed && now < pace->open_at) {
		pace_arm(pace, now);
		return true;
	}
	pace->closed = false;
	pace_fill(pace, now);
	if (pace->credit > 0)
		return false;
	pace_close(pace, now);
	return true;
}

/**
 * rxe_pace_sent() - a packet of a flow with a pace leaves
 * @flow: of a connected QP; its flag is set
 * @bytes: with all headers above Ethernet
 *
 * Context: the flow's task.
 */
void rxe_pace_sent(struct rxe_flow *flow, u32 bytes)
{
	struct rxe_pace *pace = flow->pace;

	pace->sent += bytes;
	if (!dcqcn_limited(&pace->dcqcn))
		return;
	pace->credit -= bytes;
	dcqcn_sent(&pace->dcqcn, bytes);
}

/**
 * rxe_pace_ends() - whether sending pauses behind a packet
 * @flow: of a connected QP; its flag is set
 * @payload: of that packet, at most; bytes
 *
 * Context: the flow's task.
 */
bool rxe_pace_ends(const struct rxe_flow *flow, u32 payload)
{
	const struct rxe_pace *pace = flow->pace;

	return dcqcn_limited(&pace->dcqcn) && pace->credit <= payload + PACKET_HEADERS;
}

static enum hrtimer_restart pace_expired(struct hrtimer *t)
{
	struct rxe_pace *pace = container_of(t, struct rxe_pace, timer);

	WRITE_ONCE(pace->armed, false);
	rxe_task_kick(pace->task);
	return HRTIMER_NORESTART;
}

/**
 * rxe_pace_init() - no pace yet
 * @pace: of one side of a QP
 * @task: of that side
 * @flow: of that side
 * @srtt: where its round trip is to be read, ns; NULL: nowhere
 *
 * Context: process.
 */
void rxe_pace_init(struct rxe_pace *pace, struct rxe_task *task, struct rxe_flow *flow,
		   const u64 *srtt)
{
	pace->task = task;
	pace->flow = flow;
	pace->srtt = srtt;
	atomic64_set(&pace->cnp, 0);
	dcqcn_init(&pace->dcqcn);
	hrtimer_setup(&pace->timer, pace_expired, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}

/**
 * rxe_pace_stop() - forget it
 * @pace: of one side of a QP; its task does not run
 *
 * Context: process.
 */
void rxe_pace_stop(struct rxe_pace *pace)
{
	hrtimer_cancel(&pace->timer);
	pace->armed = false;
	pace->measuring = false;
	pace->closed = false;
	pace->credit = 0;
	atomic64_set(&pace->cnp, 0);
	dcqcn_init(&pace->dcqcn);
	WRITE_ONCE(pace->flow->paced, false);
}

/**
 * rxe_pace_mbps() - the limit, for people
 * @pace: of one side of a QP
 *
 * Context: any; the task may change it meanwhile.
 * Return: Mb/s; 0: there is none.
 */
u32 rxe_pace_mbps(const struct rxe_pace *pace)
{
	u64 bits = (u64)READ_ONCE(pace->dcqcn.rate) * 8;

	/* its task has not looked since: a limit that is over stays there as long */
	if ((s64)(ktime_get_ns() - READ_ONCE(pace->dcqcn.cnp_at)) >= (s64)DCQCN_QUIET_NSEC)
		return 0;
	return (bits * 1000 + DCQCN_TICK_NSEC / 2) >> DCQCN_TICK_SHIFT;
}

/* --- notifications ---------------------------------------------------------- */

static void pace_notify(struct rxe_pace *pace, u64 now)
{
	atomic64_set(&pace->cnp, now);
	smp_mb();	/* pairs with pace_end() */
	WRITE_ONCE(pace->flow->paced, true);
}

/**
 * rxe_congestion_cnp() - a CNP has come
 * @qp: connected, as the CNP names it
 *
 * Nobody is called: who sends sees it with the next packet.
 *
 * Context: softirq; any CPU.
 */
void rxe_congestion_cnp(struct rxe_qp *qp)
{
	u64 now = ktime_get_ns();

	pace_notify(&qp->sq.pace, now);
	pace_notify(&qp->rq.pace, now);
}

/**
 * rxe_congestion_refused() - a local queue has no room for a packet of a flow
 * @flow: whose
 *
 * It is congestion, and nobody has to be told of it: what a notification does, but for the
 * side that has sent the packet alone.
 *
 * Context: the flow's task.
 */
void rxe_congestion_refused(struct rxe_flow *flow)
{
	if (flow->pace)
		pace_notify(flow->pace, ktime_get_ns());
}

/**
 * rxe_congestion_due() - whether a mark would be answered
 * @qp: connected
 *
 * Context: a task of the QP.
 * Return: false if there was a CNP a moment ago.
 */
bool rxe_congestion_due(const struct rxe_qp *qp)
{
	return (s64)ktime_get_ns() - atomic64_read(&qp->cnp_due) >= 0;
}

/**
 * rxe_congestion_marked() - a good packet with a mark has come: send a CNP (A17.9.3)
 * @qp: connected
 * @flow: of the side that has received it
 *
 * The other side may have sent one meanwhile; then it was for this packet, too.
 *
 * Context: the flow's task, bottom halves off; no burst of the flow is open, but answers.
 */
void rxe_congestion_marked(struct rxe_qp *qp, struct rxe_flow *flow)
{
	s64 now = ktime_get_ns(), due = atomic64_read(&qp->cnp_due);
	struct bth_fields bth = {
		.opcode = OP_CNP,
		.becn = true,
		.pkey = RXE_DEFAULT_PKEY,
		.dqpn = qp->attr.dest_qp_num,
	};
	struct rxe_burst burst;
	struct rxe_txpkt pkt;
	bool queued;

	if (now - due < 0 ||
	    atomic64_cmpxchg(&qp->cnp_due, due, now + DCQCN_CNP_NSEC) != due)
		return;
	if (flow == &qp->rq.flow && qp->rq.out) {
		rxe_answer_flush(qp);
		/* begun anew by the next answer: here the route may turn out to be gone */
		qp->rq.out->flow = NULL;
	}
	rxe_burst_begin(&burst, flow);
	if (rxe_burst_add(&burst, &pkt, BTH_LEN, CNP_LEN))
		return;		/* the next mark brings another */
	bth_write(pkt.hdr, &bth);
	memset(pkt.payload, 0, CNP_LEN);
	/* the ICRC does not cover this */
	if (flow->family == AF_INET)
		ip_hdr(pkt.skb)->tos = CNP_TOS;
	else
		ipv6_change_dsfield(ipv6_hdr(pkt.skb), 0, CNP_TOS);
	pkt.skb->priority = TC_PRIO_CONTROL;
	rxe_burst_close(&burst, &pkt);
	/* it has no place among the others: where those are kept, if at all, is not changed */
	queued = flow->task->queued;
	rxe_burst_send(&burst);
	flow->task->queued = queued;
	rxe_count_side(flow->dev, flow->counts, RXE_CNT_CNP_SENT, 1);
}
