// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams: QPs of type UD, and QP 1 of each device, which is one for management
 * datagrams (GSI).
 *
 * A WQE names its own destination.  It is one packet, and done as soon as that is
 * made: nobody answers for it (9.8.3).  Packets for one destination, one behind the
 * other, go to the stack together.
 *
 *   send:     posted ── address known? payload readable? ──► packet, completion
 *                            │ no
 *                            └──► completion with an error, QP to SQE (10.3.1.6)
 *
 *   receive:  P_Key, Q_Key ── receive WQE ── long enough ──► GRH, payload, completion
 *                   │ no        │ none in time   │ no
 *                   └───────────┴────────────────┴──► dropped and counted
 *
 * Destinations repeat, so each QP keeps the flows of the last few: headers and
 * routes (struct rxe_dgram_flow).
 *
 * QP 1 has the same number on every device.  A datagram for it is meant for the
 * device that has the destination address (rxe_datagram_find_gsi).
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "rxe.h"

/* Destinations that a QP remembers */
#define DGRAM_FLOWS	8
/* In front of the payload, whatever came on the wire (11.4.1.2) */
#define GRH_LEN		40
/* Not a status of a completion: the WQE has to wait for a page of its memory */
#define STATUS_LATER	U8_MAX
/* A work request with this bit takes the Q_Key of its QP (10.2.5) */
#define QKEY_OF_QP	0x80000000U

/* What tells one flow from another */
struct dgram_key {
	union ib_gid	sgid;
	union ib_gid	dgid;
	u32		flow_label;
	u32		dqpn;
	int		ifindex;
	u16		sgid_index;
	u8		hop_limit;
	u8		traffic_class;
};

/**
 * struct rxe_dgram_flow - one of the destinations that a QP remembers
 * @flow: headers and route
 * @key: whose they are
 */
struct rxe_dgram_flow {
	struct rxe_flow		flow;
	struct dgram_key	key;
};

/**
 * struct dgram_out - datagrams that go out together
 * @burst: datagrams of one flow, if @flow is set
 * @flow: theirs; not to be given another address before they are sent
 * @last: what the last WQE said of its destination, if @found is set
 * @found: the flow to there; its address stands in the WQEs, which handles may change
 */
struct dgram_out {
	struct rxe_burst	burst;
	struct rxe_swqe_ud	last;
	struct rxe_flow		*found;
	struct rxe_flow		*flow;
};

/* QP 1 of all devices; readers under RCU */
static LIST_HEAD(gsi_list);
static DEFINE_SPINLOCK(gsi_lock);

/* --- life ------------------------------------------------------------------- */

/**
 * rxe_datagram_init - what a datagram QP has more than others
 * @qp: new QP
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM; rxe_datagram_exit() is due in any case.
 */
int rxe_datagram_init(struct rxe_qp *qp)
{
	u32 i;
	int err;

	qp->dgram_flows = kcalloc(DGRAM_FLOWS, sizeof(*qp->dgram_flows), GFP_KERNEL_ACCOUNT);
	if (!qp->dgram_flows)
		return -ENOMEM;
	for (i = 0; i < DGRAM_FLOWS; i++) {
		err = rxe_flow_init(&qp->dgram_flows[i].flow, qp->dev, &qp->sq.task);
		if (err)
			return err;
	}
	return 0;
}

/**
 * rxe_datagram_exit - undo rxe_datagram_init(); packets on their way stay there
 * @qp: QP whose tasks have been stopped, of any type
 *
 * Context: process.
 */
void rxe_datagram_exit(struct rxe_qp *qp)
{
	u32 i;

	for (i = 0; qp->dgram_flows && i < DGRAM_FLOWS; i++)
		rxe_flow_exit(&qp->dgram_flows[i].flow);
	kfree(qp->dgram_flows);
	qp->dgram_flows = NULL;
}

/**
 * rxe_datagram_gsi_add - let datagrams for QP 1 of its device find a QP
 * @qp: of type GSI, published
 *
 * Context: process.
 * Return: 0, or -EBUSY if the device has one.
 */
int rxe_datagram_gsi_add(struct rxe_qp *qp)
{
	const struct rxe_qp *other;
	int err = 0;

	spin_lock(&gsi_lock);
	list_for_each_entry(other, &gsi_list, gsi_entry)
		if (other->dev == qp->dev)
			err = -EBUSY;
	if (!err)
		list_add_tail_rcu(&qp->gsi_entry, &gsi_list);
	spin_unlock(&gsi_lock);
	return err;
}

/**
 * rxe_datagram_gsi_del - nobody finds the QP any more
 * @qp: of type GSI
 *
 * Context: process, may sleep.
 */
void rxe_datagram_gsi_del(struct rxe_qp *qp)
{
	spin_lock(&gsi_lock);
	list_del_rcu(&qp->gsi_entry);
	spin_unlock(&gsi_lock);
	synchronize_rcu();
}

/**
 * rxe_datagram_daddr - the destination address of a received datagram, as a GID
 * @skb: the datagram
 * @gid: out
 *
 * Context: any.
 */
void rxe_datagram_daddr(const struct sk_buff *skb, union ib_gid *gid)
{
	if (ip_hdr(skb)->version == 4)
		ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr, (struct in6_addr *)gid);
	else
		memcpy(gid, &ipv6_hdr(skb)->daddr, sizeof(*gid));
}

/* The VLAN of the address, by which the core finds its GID again. */
static u16 gid_vlan(const struct ib_gid_attr *attr)
{
	struct net_device *ndev = rdma_read_gid_attr_ndev_rcu(attr);

	if (IS_ERR(ndev) || !is_vlan_dev(ndev))
		return RXE_NO_VLAN;
	return vlan_dev_vlan_id(ndev);
}

/**
 * rxe_datagram_find_gsi - the QP 1 that a datagram is for
 * @net: namespace that has received it
 * @skb: the datagram
 * @vlan: out: VLAN of the destination address, or RXE_NO_VLAN
 *
 * An address of the netdev that it came in by is preferred; but what one device
 * of a host sends to another comes in by the loopback device.
 *
 * Context: softirq, RCU read side.
 * Return: a reference to give back with rxe_id_put(), or NULL.
 */
struct rxe_id *rxe_datagram_find_gsi(const struct net *net, const struct sk_buff *skb,
				     u16 *vlan)
{
	const struct ib_gid_attr *attr;
	struct rxe_qp *qp, *found = NULL;
	union ib_gid gid;

	rxe_datagram_daddr(skb, &gid);
	list_for_each_entry_rcu(qp, &gsi_list, gsi_entry) {
		bool here = qp->dev->ndev == skb->dev;

		if (!net_eq(qp->dev->netns, net) || (found && !here))
			continue;
		attr = rdma_find_gid_by_port(&qp->dev->ib, &gid, IB_GID_TYPE_ROCE_UDP_ENCAP,
					     RXE_PORT, skb->dev);
		here |= !IS_ERR(attr);
		if (IS_ERR(attr))
			attr = rdma_find_gid_by_port(&qp->dev->ib, &gid,
						     IB_GID_TYPE_ROCE_UDP_ENCAP, RXE_PORT, NULL);
		if (IS_ERR(attr))
			continue;
		*vlan = gid_vlan(attr);
		rdma_put_gid_attr(attr);
		found = qp;
		if (here)
			break;
	}
	return found ? rxe_id_get(&rxe_qp_ids, found->id->number) : NULL;
}

/* --- addresses -------------------------------------------------------------- */

/**
 * rxe_datagram_pull - take over the address of a WQE from the ring
 * @wqe: to be filled
 * @wr: copy of what user space wrote
 *
 * Newer libraries name an address handle, older ones write down the address.
 *
 * Context: sq.task.
 */
void rxe_datagram_pull(struct rxe_swqe *wqe, const struct rxe_send_wr *wr)
{
	const struct rxe_av *av = &wr->wr.ud.av;
	struct rxe_swqe_ud *ud = &wqe->ud;

	ud->ah = NULL;
	ud->ah_num = wr->wr.ud.ah_num;
	ud->qpn = wr->wr.ud.remote_qpn & QPN_MASK;
	ud->qkey = wr->wr.ud.remote_qkey;
	memcpy(&ud->dgid, &av->grh.dgid, sizeof(ud->dgid));
	ud->flow_label = av->grh.flow_label;
	ud->sgid_index = av->grh.sgid_index;
	ud->hop_limit = av->grh.hop_limit;
	ud->traffic_class = av->grh.traffic_class;
}

/**
 * rxe_datagram_post - take over the address of a kernel user's request
 * @wqe: to be filled
 * @wr: request; its address handle stays until it is completed
 *
 * Context: any.
 */
void rxe_datagram_post(struct rxe_swqe *wqe, const struct ib_ud_wr *wr)
{
	wqe->ud.ah = to_rxe_ah(wr->ah);
	wqe->ud.qpn = wr->remote_qpn & QPN_MASK;
	wqe->ud.qkey = wr->remote_qkey;
}

static void out_send(struct dgram_out *out)
{
	if (out->flow)
		rxe_burst_send(&out->burst);
	out->flow = NULL;
}

/* The burst for a flow; a datagram for another one sends what has come together. */
static struct rxe_burst *out_for(struct dgram_out *out, struct rxe_flow *flow)
{
	if (out->flow != flow) {
		out_send(out);
		rxe_burst_begin(&out->burst, flow);
		out->flow = flow;
	}
	return &out->burst;
}

/* Ready to send with these attributes: found, or taken from the oldest. */
static struct rxe_flow *flow_get(struct rxe_qp *qp, struct dgram_out *out,
				 const struct rdma_ah_attr *attr, u32 dqpn)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	struct rxe_dgram_flow *df;
	struct dgram_key key;
	u32 i;

	memset(&key, 0, sizeof(key));	/* compared with its padding */
	key.sgid = grh->sgid_attr->gid;
	key.dgid = grh->dgid;
	key.flow_label = grh->flow_label;
	key.dqpn = dqpn;
	/* the address may have moved to another netdev, and be found at the same index */
	key.ifindex = rxe_flow_ifindex(grh->sgid_attr);
	key.sgid_index = grh->sgid_attr->index;
	key.hop_limit = grh->hop_limit;
	key.traffic_class = grh->traffic_class;
	for (i = 0; i < DGRAM_FLOWS; i++) {
		df = &qp->dgram_flows[i];
		if (df->flow.family && !memcmp(&df->key, &key, sizeof(key)))
			return &df->flow;
	}
	out_send(out);
	df = &qp->dgram_flows[qp->dgram_next++ % DGRAM_FLOWS];
	if (rxe_flow_set(&df->flow, attr, qp->ib.qp_num, dqpn))
		return NULL;
	memcpy(&df->key, &key, sizeof(key));
	return &df->flow;
}

/* The address stands in the WQE; only its index says who we are. */
static struct rxe_flow *flow_by_address(struct rxe_qp *qp, struct dgram_out *out,
					const struct rxe_swqe_ud *ud)
{
	const struct ib_gid_attr *sgid;
	struct rdma_ah_attr attr;
	struct rxe_flow *flow = NULL;

	sgid = rdma_get_gid_attr(&qp->dev->ib, RXE_PORT, ud->sgid_index);
	if (IS_ERR(sgid))
		return NULL;
	memset(&attr, 0, sizeof(attr));
	attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	attr.grh.sgid_attr = sgid;
	attr.grh.dgid = ud->dgid;
	attr.grh.flow_label = ud->flow_label;
	attr.grh.hop_limit = ud->hop_limit;
	attr.grh.traffic_class = ud->traffic_class;
	if (sgid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP)
		flow = flow_get(qp, out, &attr, ud->qpn);
	rdma_put_gid_attr(sgid);
	return flow;
}

/* The way to the destination of a WQE, or NULL if it has none. */
static struct rxe_flow *wqe_look_up(struct rxe_qp *qp, struct dgram_out *out,
				    const struct rxe_swqe_ud *ud)
{
	struct rxe_flow *flow = NULL;
	struct rxe_id *id;
	struct rxe_ah *ah;

	if (ud->ah)
		return flow_get(qp, out, &ud->ah->attr, ud->qpn);
	if (!ud->ah_num)
		return flow_by_address(qp, out, ud);
	id = rxe_id_get(&rxe_ah_ids, ud->ah_num);
	if (!id)
		return NULL;
	ah = id->object;
	if (ah->ib.pd == qp->ib.pd)
		flow = flow_get(qp, out, &ah->attr, ud->qpn);
	rxe_id_put(id);
	return flow;
}

/* The same, for a WQE that may have the destination of the one before it in this round. */
static struct rxe_flow *wqe_flow(struct rxe_qp *qp, struct dgram_out *out,
				 const struct rxe_swqe_ud *ud)
{
	if (ud->ah || ud->ah_num) {
		/* this may have the flow that was found last made another one */
		out->found = NULL;
		return wqe_look_up(qp, out, ud);
	}
	/* padding and all: the slots are cleared before they are filled */
	if (!out->found || memcmp(&out->last, ud, sizeof(*ud))) {
		out->found = wqe_look_up(qp, out, ud);
		memcpy(&out->last, ud, sizeof(*ud));
	}
	return out->found;
}

/* --- sending ---------------------------------------------------------------- */

static int payload_copy(struct rxe_qp *qp, struct rxe_swqe *wqe, struct rxe_txpkt *pkt)
{
	if (!wqe->length)
		return 0;
	if (!wqe->is_inline)
		return rxe_mem_read_sges(qp->ib.pd, &qp->sq.fault, wqe->sge, wqe->num_sge, 0,
					 pkt->payload, wqe->length);
	memcpy(pkt->payload, rxe_swqe_inline(wqe), wqe->length);
	return 0;
}

/* Adds the packet of a WQE to a burst; a status if that is impossible. */
static u8 wqe_send(struct rxe_qp *qp, struct rxe_swqe *wqe, struct rxe_burst *burst)
{
	bool imm = wqe->opcode == IB_UVERBS_WR_SEND_WITH_IMM;
	const struct opcode_info *op = opcode_info(imm ? OP_UD_SEND_ONLY_IMM : OP_UD_SEND_ONLY);
	struct bth_fields bth = {
		.opcode = imm ? OP_UD_SEND_ONLY_IMM : OP_UD_SEND_ONLY,
		.se = wqe->flags & IB_SEND_SOLICITED,
		.mig = true,
		.pad = wire_pad(wqe->length),
		.pkey = RXE_DEFAULT_PKEY,
		.dqpn = wqe->ud.qpn,
		.psn = qp->sq.psn,
	};
	u32 qkey = wqe->ud.qkey & QKEY_OF_QP ? qp->attr.qkey : wqe->ud.qkey;
	struct rxe_txpkt pkt;
	int err;

	if (rxe_burst_add(burst, &pkt, op->hdr_len, wqe->length)) {
		rxe_sq_count(qp, RXE_CNT_TX_DROPPED, 1);
		return IB_WC_SUCCESS;	/* lost, like on the wire */
	}
	bth_write(pkt.hdr, &bth);
	deth_write(pkt.hdr + op->deth, qkey, qp->ib.qp_num);
	if (imm)
		immdt_put(pkt.hdr + op->imm, wqe->imm_data);
	err = payload_copy(qp, wqe, &pkt);
	if (err) {
		rxe_burst_drop(burst, &pkt);
		return err == -EAGAIN ? STATUS_LATER : IB_WC_LOC_PROT_ERR;
	}
	rxe_burst_close(burst, &pkt);
	qp->sq.psn = psn_add(qp->sq.psn, 1);
	return IB_WC_SUCCESS;
}

static void send_failed(struct rxe_qp *qp, u8 status)
{
	rxe_wc_show(qp);
	rxe_qp_info(qp, "datagram: %s\n", ib_wc_status_msg(status));
	rxe_qp_because(qp, ib_wc_status_msg(status));
	rxe_qp_send_error(qp);
	rxe_wc_complete(qp, status);
}

/* False: what it waits for, room in the local queue or a page, calls the task. */
static bool send_oldest(struct rxe_qp *qp, struct dgram_out *out)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe = rxe_sq_slot(sq, sq->cons);
	u8 status = wqe->status;
	struct rxe_flow *flow;

	if (!status) {
		flow = wqe_flow(qp, out, &wqe->ud);
		if (!flow)
			status = IB_WC_LOC_QP_OP_ERR;
		else if (rxe_flow_busy(flow))
			return false;
		/* too long for the port: not sent, and no error (C10-93.1.1) */
		else if (wqe->length <= ib_mtu_enum_to_int(rxe_verbs_mtu(qp->dev->ndev)))
			status = wqe_send(qp, wqe, out_for(out, flow));
	}
	if (status == STATUS_LATER)
		return false;
	if (status)
		send_failed(qp, status);
	else
		rxe_wc_add(qp, IB_WC_SUCCESS);
	return true;
}

/* False: budget or local queue end it. */
static bool send_posted(struct rxe_qp *qp, u32 *budget)
{
	struct dgram_out out = { .flow = NULL, .found = NULL };
	struct rxe_sq *sq = &qp->sq;
	bool all = true;

	/* pairs with the release of a kernel user's post */
	while (rxe_qp_state(qp) == IB_QPS_RTS && sq->cons != smp_load_acquire(&sq->prod)) {
		all = *budget && send_oldest(qp, &out);
		if (!all)
			break;
		--*budget;
	}
	out_send(&out);
	rxe_wc_show(qp);
	return all;
}

/**
 * rxe_datagram_send_task - send what has been posted, at most a budget
 * @qp: UD or GSI
 *
 * Context: sq.task.
 * Return: true if the budget ended it.
 */
bool rxe_datagram_send_task(struct rxe_qp *qp)
{
	u32 budget = RXE_TASK_BUDGET;
	bool more;

	switch (rxe_qp_state(qp)) {
	case IB_QPS_RTS:
		more = rxe_post_pull(qp);
		if (!send_posted(qp, &budget))
			return !budget;
		return more || rxe_qp_state(qp) == IB_QPS_SQE;
	case IB_QPS_SQD:
		rxe_qp_check_drained(qp);
		return false;
	case IB_QPS_SQE:
	case IB_QPS_ERR:
		return rxe_wc_flush(qp);
	default:
		return false;
	}
}

/* --- receiving -------------------------------------------------------------- */

/* The GRH that the receiver finds: of IPv4 it is the second half (A17.4.5.1). */
static void grh_build(const struct rxe_rxpkt *pkt, u8 *grh)
{
	u8 hdr[sizeof(struct ipv6hdr) + sizeof(struct udphdr)];

	rxe_rx_ip_header(pkt, hdr);
	if (ip_hdr(pkt->skb)->version == 4) {
		memset(grh, 0, GRH_LEN - sizeof(struct iphdr));
		memcpy(grh + GRH_LEN - sizeof(struct iphdr), hdr, sizeof(struct iphdr));
	} else {
		memcpy(grh, hdr, GRH_LEN);
	}
}

static bool qkey_ok(const struct rxe_qp *qp, u32 qkey)
{
	return qkey == (qp->ib.qp_type == IB_QPT_GSI ? IB_QP1_QKEY : qp->attr.qkey);
}

static int place(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;
	u8 grh[GRH_LEN];
	int err;

	grh_build(pkt, grh);
	err = rxe_mem_write_sges_buf(rxe_recv_pd(qp), &rq->fault, rq->sge, rq->num_sge, 0, grh,
				     GRH_LEN);
	if (!err && pkt->payload_len)
		err = rxe_mem_write_sges(rxe_recv_pd(qp), &rq->fault, rq->sge, rq->num_sge,
					 GRH_LEN, pkt->part, pkt->payload_off, pkt->payload_len);
	return err;
}

/* The receive in use cannot be used: its own fault, and that of its owner. */
static void receive_failed(struct rxe_qp *qp, enum ib_wc_status status, const char *why)
{
	rxe_qp_info(qp, "datagram: %s\n", why);
	rxe_qp_because(qp, ib_wc_status_msg(status));
	rxe_recv_fail(qp, status);
	rxe_qp_error(qp);
}

/* False: it has to come again, when a page is there, or a receive. */
static bool receive_one(struct rxe_qp *qp, const struct rxe_rxpkt *pkt)
{
	const u8 *deth = pkt->hdr + pkt->op->deth;
	struct rxe_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.flags = IB_WC_GRH,
		.solicited = pkt->se,
		.byte_len = GRH_LEN + pkt->payload_len,
		.src_qp = deth_sqp(deth),
		.is_ipv4 = ip_hdr(pkt->skb)->version == 4,
		.vlan_id = pkt->vlan_id,
	};
	int err;

	if (!qkey_ok(qp, deth_qkey(deth))) {
		rxe_rq_count(qp, RXE_CNT_RX_BAD_QKEY, 1);
		return true;
	}
	if (!qp->rq.have_wqe && !rxe_recv_get(qp)) {
		if (rxe_recv_await(qp, pkt->skb))
			return false;
		rxe_rq_count(qp, RXE_CNT_RX_NO_BUFFER, 1);
		return true;
	}
	if (unlikely(qp->rq.bad_wqe)) {
		receive_failed(qp, IB_WC_LOC_QP_OP_ERR, "malformed receive request");
		return true;
	}
	if (wc.byte_len > qp->rq.room) {
		/* what is too short for this one may be right for the next */
		rxe_rq_count(qp, RXE_CNT_RX_NO_BUFFER, 1);
		return true;
	}
	if (pkt->op->flags & OPF_IMM) {
		wc.flags |= IB_WC_WITH_IMM;
		wc.imm_data = immdt_get(pkt->hdr + pkt->op->imm);
	}
	err = place(qp, pkt);
	if (err == -EAGAIN)
		return false;
	if (err) {
		receive_failed(qp, IB_WC_LOC_PROT_ERR, "the receive buffer cannot be written");
	} else if (!rxe_recv_complete(qp, &wc)) {
		rxe_qp_error(qp);
		rxe_qp_event(qp, IB_EVENT_QP_FATAL);
	} else {
		rxe_rq_count(qp, RXE_CNT_RESP_SEND, 1);
		rxe_rq_count(qp, RXE_CNT_RESP_BYTES, pkt->payload_len);
	}
	return true;
}

/**
 * rxe_datagram_receive_task - work off received datagrams, at most a budget
 * @qp: UD or GSI
 *
 * Context: rq.task.
 * Return: true if the budget ended it.
 */
bool rxe_datagram_receive_task(struct rxe_qp *qp)
{
	struct rxe_rx_iter *it = &qp->rq.iter;
	u32 budget = RXE_TASK_BUDGET;
	struct rxe_rx_iter at;
	struct rxe_rxpkt pkt;
	struct sk_buff *skb;

	while (rxe_qp_receives(qp) && budget) {
		if (likely(!it->skb)) {
			skb = rxe_rx_dequeue(qp, &qp->rq.rxq, qp->rq.counts);
			if (!skb)
				break;
			rxe_rx_iter_init(it, qp->dev, qp->rq.counts, skb);
		}
		if (unlikely(rxe_recv_waits(qp)))
			return false;
		at = *it;
		while (rxe_qp_receives(qp) && rxe_rx_next(it, &pkt)) {
			if (unlikely(!receive_one(qp, &pkt))) {
				*it = at;
				return false;
			}
			at = *it;
		}
		consume_skb(it->skb);
		it->skb = NULL;
		budget--;
	}
	if (rxe_qp_receives(qp))
		return !budget;
	kfree_skb(it->skb);
	it->skb = NULL;
	skb_queue_purge(&qp->rq.rxq);
	return rxe_qp_state(qp) == IB_QPS_ERR && rxe_recv_flush(qp);
}
