// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cq.c - completion queues.
 *
 * Owns the way from a struct rxe_wc to what its reader wants: a process finds
 * struct ib_uverbs_wc in a mapped ring and never calls us to poll; a kernel user
 * finds struct ib_wc in a ring of the same kind through rxe_cq_poll().
 *
 * The lock is held for one entry. Upcalls run outside of it, because handlers
 * poll and post; they are counted in cq->upcalls, where the CQ itself has one,
 * so that destroy can wait for the last of them.
 */
#include "rxe.h"
#include "trace.h"

/* enum ibv_wc_flags has this where the kernel has IB_WC_IP_CSUM_OK */
#define USER_WC_WITH_INV	BIT(3)

static u32 cq_used(const struct rxe_cq *cq)
{
	const struct rxe_ring *ring = &cq->ring;

	return (ring->index - rxe_ring_consumer(ring)) & ring->mask;
}

static u32 cq_element_size(const struct rxe_cq *cq)
{
	return cq->is_user ? sizeof(struct ib_uverbs_wc) : sizeof(struct ib_wc);
}

/**
 * rxe_cq_create - create_cq and create_user_cq
 * @ibcq: zeroed, allocated by the core
 * @attr: wanted; any completion vector will do, and no flag is supported
 * @attrs: of the user's command, NULL for a kernel CQ
 *
 * The CQ holds at least the entries asked for; ibcq->cqe says how many.
 *
 * Context: process context, sleeps.
 * Return: 0, -EINVAL, -EOPNOTSUPP (flags, as timestamps), -ENOMEM or -EFAULT.
 */
int rxe_cq_create(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct rxe_dev *dev = to_rxe_dev(ibcq->device);
	struct rxe_cq *cq = to_rxe_cq(ibcq);
	struct rxe_create_cq_resp resp;
	int err;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > RXE_MAX_CQE)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;

	spin_lock_init(&cq->lock);
	atomic_set(&cq->upcalls, 1);
	init_completion(&cq->quiet);
	cq->is_user = udata;
	if (!atomic_add_unless(&dev->num_cq, 1, RXE_MAX_CQ))
		return -ENOMEM;
	err = rxe_ring_create(&cq->ring, dev, udata, attr->cqe,
			      cq_element_size(cq), &resp.mi);
	if (err)
		goto fail;
	if (udata && ib_copy_to_udata(udata, &resp, sizeof(resp))) {
		rxe_ring_destroy(&cq->ring);
		err = -EFAULT;
		goto fail;
	}
	ibcq->cqe = rxe_ring_slots(&cq->ring) - 1;
	rxe_track_add(dev, RXE_TRACK_CQ, &cq->track, udata);
	return 0;

fail:
	atomic_dec(&dev->num_cq);
	return err;
}

static void upcall_done(struct rxe_cq *cq)
{
	if (atomic_dec_and_test(&cq->upcalls))
		complete(&cq->quiet);
}

/**
 * rxe_cq_destroy - destroy_cq
 * @ibcq: no QP uses it any more
 * @udata: of the user's command
 *
 * No handler of this CQ runs after return.
 *
 * Context: process context, sleeps.
 * Return: 0.
 */
int rxe_cq_destroy(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct rxe_cq *cq = to_rxe_cq(ibcq);
	unsigned long flags;

	rxe_track_del(to_rxe_dev(ibcq->device), &cq->track);
	spin_lock_irqsave(&cq->lock, flags);
	cq->dying = true;
	spin_unlock_irqrestore(&cq->lock, flags);
	upcall_done(cq);
	wait_for_completion(&cq->quiet);
	rxe_ring_destroy(&cq->ring);
	atomic_dec(&to_rxe_dev(ibcq->device)->num_cq);
	return 0;
}

/**
 * rxe_cq_resize - resize_user_cq
 * @ibcq: CQ
 * @cqe: entries wanted
 * @udata: of the user's command
 *
 * Entries not polled yet move to the new ring, in order. The process does not
 * poll meanwhile: it waits for the answer to map the new ring.
 *
 * Context: process context, sleeps.
 * Return: 0, -EINVAL (also: less than what the CQ holds), -ENOMEM or -EFAULT;
 * after an error the CQ is as before.
 */
int rxe_cq_resize(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata)
{
	struct rxe_dev *dev = to_rxe_dev(ibcq->device);
	struct rxe_cq *cq = to_rxe_cq(ibcq);
	struct rxe_resize_cq_resp resp;
	struct rxe_ring ring = {};
	unsigned long flags;
	u32 used, first, i;
	int err;

	if (!cqe || cqe > RXE_MAX_CQE)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	err = rxe_ring_create(&ring, dev, udata, cqe, cq_element_size(cq), &resp.mi);
	if (err)
		return err;
	if (udata && ib_copy_to_udata(udata, &resp, sizeof(resp))) {
		rxe_ring_destroy(&ring);
		return -EFAULT;
	}

	spin_lock_irqsave(&cq->lock, flags);
	used = cq_used(cq);
	if (used > cqe) {
		err = -EINVAL;
	} else {
		first = cq->ring.index - used;
		for (i = 0; i < used; i++)
			memcpy(rxe_ring_element(&ring, i),
			       rxe_ring_element(&cq->ring, first + i),
			       1u << ring.shift);
		ring.index = used;
		rxe_ring_set_producer(&ring, used);
		swap(cq->ring, ring);
		ibcq->cqe = rxe_ring_slots(&cq->ring) - 1;
	}
	spin_unlock_irqrestore(&cq->lock, flags);

	synchronize_rcu();	/* see rxe_cq_taken() */
	rxe_ring_destroy(&ring);
	return err;
}

/**
 * rxe_cq_poll - poll_cq
 * @ibcq: a kernel user's CQ
 * @num: room in @wc
 * @wc: out
 *
 * Context: any.
 * Return: entries taken, oldest first.
 */
int rxe_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct rxe_cq *cq = to_rxe_cq(ibcq);
	struct rxe_ring *ring = &cq->ring;
	unsigned long flags;
	u32 next;
	int n = 0;

	spin_lock_irqsave(&cq->lock, flags);
	next = rxe_ring_consumer(ring);
	while (n < num && next != ring->index) {
		memcpy(&wc[n++], rxe_ring_element(ring, next), sizeof(*wc));
		next = (next + 1) & ring->mask;
	}
	if (n)
		rxe_ring_set_consumer(ring, next);
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/**
 * rxe_cq_peek - peek_cq
 * @ibcq: CQ
 * @wc_cnt: the caller is not interested in more
 *
 * Context: any.
 * Return: entries waiting, @wc_cnt at most.
 */
int rxe_cq_peek(struct ib_cq *ibcq, int wc_cnt)
{
	struct rxe_cq *cq = to_rxe_cq(ibcq);
	unsigned long flags;
	int used;

	spin_lock_irqsave(&cq->lock, flags);
	used = cq_used(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	return min(used, wc_cnt);
}

/**
 * rxe_cq_taken - how far a CQ has been read
 * @cq: the CQ
 *
 * Context: any.
 * Return: a number that changes when entries are taken; user space may lie.
 */
u32 rxe_cq_taken(const struct rxe_cq *cq)
{
	u32 taken;

	/* not by the lock, which each completion takes, and this is called with each post */
	rcu_read_lock();
	taken = READ_ONCE(READ_ONCE(cq->ring.buf)->consumer_index);
	rcu_read_unlock();
	return taken;
}

/**
 * rxe_cq_notify - req_notify_cq: call the handler once, for the next entry
 * @ibcq: CQ
 * @flags: IB_CQ_SOLICITED: a solicited one or an error; IB_CQ_NEXT_COMP: any;
 *	with IB_CQ_REPORT_MISSED_EVENTS, tell what came before
 *
 * A request for any entry is not narrowed by a later one for solicited entries.
 *
 * Context: any.
 * Return: 1 if asked to tell, and there are entries; else 0.
 */
int rxe_cq_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct rxe_cq *cq = to_rxe_cq(ibcq);
	unsigned long irq;
	int missed = 0;

	spin_lock_irqsave(&cq->lock, irq);
	if (cq->notify != IB_CQ_NEXT_COMP)
		cq->notify = flags & IB_CQ_SOLICITED_MASK;
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		missed = cq_used(cq) > 0;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

/* Whether the handler has been asked for this entry */
static bool cq_wanted(const struct rxe_cq *cq, const struct rxe_wc *wc)
{
	switch (cq->notify) {
	case 0:
		return false;
	case IB_CQ_SOLICITED:
		return wc->solicited || wc->status != IB_WC_SUCCESS;
	default:
		return true;
	}
}

/* The process must not see a byte that we did not mean to show. */
static void wc_to_user(struct ib_uverbs_wc *out, const struct rxe_wc *wc,
		       const struct rxe_qp *qp)
{
	struct ib_uverbs_wc user;

	memset(&user, 0, sizeof(user));
	user.wr_id = wc->wr_id;
	user.status = wc->status;
	user.opcode = wc->opcode;
	user.byte_len = wc->byte_len;
	user.qp_num = qp->ib.qp_num;
	user.src_qp = wc->src_qp;
	user.pkey_index = wc->pkey_index;
	user.port_num = RXE_PORT;
	user.wc_flags = wc->flags & (IB_WC_GRH | IB_WC_WITH_IMM);
	if (wc->flags & IB_WC_WITH_INVALIDATE) {
		user.wc_flags |= USER_WC_WITH_INV;
		user.ex.invalidate_rkey = wc->invalidate_rkey;
	} else {
		user.ex.imm_data = wc->imm_data;
	}
	memcpy(out, &user, sizeof(user));
}

static enum ib_wc_opcode wc_kernel_opcode(u8 opcode)
{
	switch (opcode) {
	case IB_UVERBS_WC_SEND:
		return IB_WC_SEND;
	case IB_UVERBS_WC_RDMA_WRITE:
		return IB_WC_RDMA_WRITE;
	case IB_UVERBS_WC_RDMA_READ:
		return IB_WC_RDMA_READ;
	case IB_UVERBS_WC_COMP_SWAP:
		return IB_WC_COMP_SWAP;
	case IB_UVERBS_WC_FETCH_ADD:
		return IB_WC_FETCH_ADD;
	case IB_UVERBS_WC_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	default:
		/* receives have one numbering for both worlds */
		return (enum ib_wc_opcode)opcode;
	}
}

/* Where a datagram came from, as the core wants to know it to answer. */
static void wc_address_to_kernel(struct ib_wc *out, const struct rxe_wc *wc)
{
	out->network_hdr_type = wc->is_ipv4 ? RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	out->wc_flags |= IB_WC_WITH_NETWORK_HDR_TYPE;
	if (wc->vlan_id != RXE_NO_VLAN) {
		out->vlan_id = wc->vlan_id;
		out->wc_flags |= IB_WC_WITH_VLAN;
	}
}

static void wc_to_kernel(struct ib_wc *out, const struct rxe_wc *wc,
			 struct rxe_qp *qp)
{
	memset(out, 0, sizeof(*out));
	out->wr_id = wc->wr_id;
	out->status = wc->status;
	out->opcode = wc_kernel_opcode(wc->opcode);
	out->byte_len = wc->byte_len;
	out->qp = &qp->ib;
	out->src_qp = wc->src_qp;
	out->pkey_index = wc->pkey_index;
	out->port_num = RXE_PORT;
	out->wc_flags = wc->flags;
	if (wc->flags & IB_WC_GRH)
		wc_address_to_kernel(out, wc);
	if (wc->flags & IB_WC_WITH_INVALIDATE)
		out->ex.invalidate_rkey = wc->invalidate_rkey;
	else
		out->ex.imm_data = wc->imm_data;
}

static void cq_report_overrun(struct rxe_cq *cq)
{
	struct rxe_dev *dev = to_rxe_dev(cq->ib.device);
	struct ib_event event = {};

	rxe_count(dev, RXE_CNT_CQ_OVERRUN);
	rxe_dev_warn(dev, "a completion queue of %d entries overran\n", cq->ib.cqe);
	if (!cq->ib.event_handler)
		return;
	event.device = cq->ib.device;
	event.element.cq = &cq->ib;
	event.event = IB_EVENT_CQ_ERR;
	cq->ib.event_handler(&event, cq->ib.cq_context);
}

/**
 * rxe_cq_post - add completions, and call the handler if it has asked for one of them
 * @cq: the QP's send or receive CQ
 * @qp: whose completions
 * @wc: what to say
 * @count: how many; they become visible together
 *
 * Handlers run before return, in the caller's context; so the caller holds no
 * lock that a handler may need. The first entry lost is told with
 * IB_EVENT_CQ_ERR.
 *
 * Context: any; cq->lock is not held.
 * Return: how many there was room for: if less than @count, the rest is lost, and the QP
 * must fail.
 */
u32 rxe_cq_post(struct rxe_cq *cq, struct rxe_qp *qp, const struct rxe_wc *wc, u32 count)
{
	struct rxe_ring *ring = &cq->ring;
	bool wanted = false, overran = false;
	unsigned long flags;
	u32 done, next, i;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->dying) {
		spin_unlock_irqrestore(&cq->lock, flags);
		return count;
	}
	for (done = 0; done < count; done++) {
		next = (ring->index + 1) & ring->mask;
		if (next == rxe_ring_consumer(ring)) {
			overran = !cq->overrun;
			cq->overrun = true;
			break;
		}
		if (cq->is_user)
			wc_to_user(rxe_ring_element(ring, ring->index), &wc[done], qp);
		else
			wc_to_kernel(rxe_ring_element(ring, ring->index), &wc[done], qp);
		ring->index = next;
		if (cq_wanted(cq, &wc[done])) {
			wanted = true;
			cq->notify = 0;
		}
	}
	if (done)
		rxe_ring_set_producer(ring, ring->index);
	if (wanted || overran)
		atomic_inc(&cq->upcalls);
	spin_unlock_irqrestore(&cq->lock, flags);

	for (i = 0; i < count; i++)
		trace_rxe_completion(qp, &wc[i]);
	if (overran)
		cq_report_overrun(cq);
	if (wanted && cq->ib.comp_handler)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
	if (wanted || overran)
		upcall_done(cq);
	return done;
}
