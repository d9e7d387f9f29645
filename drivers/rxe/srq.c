// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues: receive WQEs for whichever QP needs one next (10.2.9).
 *
 * Owns the ring, from which recv.c takes WQEs under the lock, and the limit: when
 * fewer are left, the owner is told once.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "rxe.h"

/* WQEs that are copied with interrupts off, of 1 KiB at most */
#define RESIZE_PIECE	64

static u32 srq_used(const struct rxe_srq *srq)
{
	return (rxe_ring_producer(&srq->ring) - srq->ring.index) & srq->ring.mask;
}

static u32 srq_element_size(const struct rxe_srq *srq)
{
	return sizeof(struct rxe_recv_wqe) + srq->max_sge * sizeof(struct rxe_sge);
}

/**
 * rxe_srq_create - the create_srq verb (11.2.3.1)
 * @ibsrq: allocated by the core
 * @init: attributes; what is granted is written back
 * @udata: NULL for a kernel user
 *
 * Context: process, may sleep.
 * Return: 0, -EOPNOTSUPP for a type not supported, -EINVAL for a limit exceeded,
 * -ENOMEM, -EFAULT.
 */
int rxe_srq_create(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct rxe_dev *dev = to_rxe_dev(ibsrq->device);
	struct rxe_srq *srq = to_rxe_srq(ibsrq);
	struct rxe_create_srq_resp resp = {};
	int err;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > RXE_MAX_SRQ_WR ||
	    init->attr.max_sge > RXE_MAX_SGE || init->attr.srq_limit > init->attr.max_wr)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	if (!atomic_add_unless(&dev->num_srq, 1, RXE_MAX_SRQ))
		return -ENOMEM;
	spin_lock_init(&srq->lock);
	mutex_init(&srq->resizing);
	srq->is_user = !!udata;
	srq->max_wr = init->attr.max_wr;
	srq->max_sge = max(init->attr.max_sge, 1U);
	srq->limit = init->attr.srq_limit;
	err = rxe_ring_create(&srq->ring, dev, udata, srq->max_wr, srq_element_size(srq),
			      &resp.mi);
	if (err)
		goto fail;
	if (udata && ib_copy_to_udata(udata, &resp, sizeof(resp))) {
		rxe_ring_destroy(&srq->ring);
		err = -EFAULT;
		goto fail;
	}
	init->attr.max_sge = srq->max_sge;
	rxe_track_add(dev, RXE_TRACK_SRQ, &srq->track, udata);
	return 0;
fail:
	atomic_dec(&dev->num_srq);
	return err;
}

/* Where a process wants to be told how to map the new ring. */
static int resize_respond(struct ib_udata *udata, const struct mminfo *mi)
{
	struct rxe_modify_srq_cmd cmd;

	if (udata->inlen < sizeof(cmd))
		return -EINVAL;
	if (ib_copy_from_udata(&cmd, udata, sizeof(cmd)) ||
	    copy_to_user((void __user *)(uintptr_t)cmd.mmap_info_addr, mi, sizeof(*mi)))
		return -EFAULT;
	return 0;
}

/*
 * Copies the WQEs to a ring of another size, in order and a piece at a time, for
 * there may be hundreds of MiB of them; QPs go on taking them in between, and
 * kernel users posting.
 */
static int srq_copy(struct rxe_srq *srq, struct rxe_ring *ring, u32 max_wr)
{
	const struct rxe_ring *old = &srq->ring;
	u32 start, first, gone, used, end, i;
	u32 done = 0;

	lockdep_assert_held(&srq->lock);
	start = old->taken;
	first = old->index;
	for (;;) {
		gone = old->taken - start;
		used = srq_used(srq);
		if (used > max_wr)
			return -EINVAL;
		end = gone + used;
		if ((s32)(done - gone) < 0)
			done = gone;
		for (i = 0; i < RESIZE_PIECE && (s32)(end - done) > 0; i++, done++)
			memcpy(rxe_ring_element(ring, done),
			       rxe_ring_element(old, first + done), 1u << ring->shift);
		if ((s32)(end - done) <= 0)
			break;
		spin_unlock_irq(&srq->lock);
		cond_resched();
		spin_lock_irq(&srq->lock);
	}
	ring->index = gone & ring->mask;
	rxe_ring_set_consumer(ring, gone);
	rxe_ring_set_producer(ring, end);
	return 0;
}

/* The process posts none meanwhile. */
static int srq_resize(struct rxe_srq *srq, u32 max_wr, struct ib_udata *udata)
{
	struct rxe_dev *dev = to_rxe_dev(srq->ib.device);
	struct rxe_ring ring = {};
	struct mminfo mi;
	int err;

	err = rxe_ring_create(&ring, dev, udata, max_wr, srq_element_size(srq), &mi);
	if (err)
		return err;
	if (udata)
		err = resize_respond(udata, &mi);
	if (err)
		goto out;

	spin_lock_irq(&srq->lock);
	err = srq_copy(srq, &ring, max_wr);
	if (!err) {
		swap(srq->ring, ring);
		srq->max_wr = max_wr;
	}
	spin_unlock_irq(&srq->lock);
out:
	rxe_ring_destroy(&ring);
	return err;
}

/**
 * rxe_srq_modify - the modify_srq verb (11.2.3.3)
 * @ibsrq: SRQ
 * @attr: new attributes, those that @mask names
 * @mask: IB_SRQ_MAX_WR to resize, IB_SRQ_LIMIT to be told when fewer WQEs are left
 * @udata: of the user's command
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL (also: fewer entries than the SRQ holds), -ENOMEM, -EFAULT;
 * after an error the SRQ is as before.
 */
int rxe_srq_modify(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata)
{
	struct rxe_srq *srq = to_rxe_srq(ibsrq);
	u32 max_wr = mask & IB_SRQ_MAX_WR ? attr->max_wr : srq->max_wr;
	u32 limit = mask & IB_SRQ_LIMIT ? attr->srq_limit : srq->limit;
	unsigned long flags;
	int err;

	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	if (!max_wr || max_wr > RXE_MAX_SRQ_WR || limit > max_wr)
		return -EINVAL;
	if (mask & IB_SRQ_MAX_WR) {
		mutex_lock(&srq->resizing);
		err = srq_resize(srq, max_wr, udata);
		mutex_unlock(&srq->resizing);
		if (err)
			return err;
	}
	if (mask & IB_SRQ_LIMIT) {
		spin_lock_irqsave(&srq->lock, flags);
		srq->limit = limit;
		spin_unlock_irqrestore(&srq->lock, flags);
	}
	return 0;
}

/**
 * rxe_srq_query - the query_srq verb (11.2.3.2)
 * @ibsrq: SRQ
 * @attr: filled
 *
 * Context: process.
 * Return: 0.
 */
int rxe_srq_query(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	const struct rxe_srq *srq = to_rxe_srq(ibsrq);

	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

/**
 * rxe_srq_destroy - the destroy_srq verb (11.2.3.4)
 * @ibsrq: no QP uses it any more
 * @udata: unused
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int rxe_srq_destroy(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct rxe_dev *dev = to_rxe_dev(ibsrq->device);
	struct rxe_srq *srq = to_rxe_srq(ibsrq);

	rxe_track_del(dev, &srq->track);
	rxe_ring_destroy(&srq->ring);
	atomic_dec(&dev->num_srq);
	return 0;
}

/**
 * rxe_srq_post - the post_srq_recv verb of kernel users (10.8.3)
 * @ibsrq: SRQ
 * @wr: list of receives
 * @bad: set to the first that could not be posted
 *
 * Context: any.
 * Return: 0, -EINVAL for a bad request, -ENOMEM if the queue is full.
 */
int rxe_srq_post(struct ib_srq *ibsrq, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct rxe_srq *srq = to_rxe_srq(ibsrq);
	unsigned long flags;
	int err;

	if (srq->is_user) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&srq->lock, flags);
	err = rxe_recv_ring_post(&srq->ring, srq->max_wr, srq->max_sge, wr, bad);
	spin_unlock_irqrestore(&srq->lock, flags);
	return err;
}

/**
 * rxe_srq_scarce - whether who posts receives is needed soon
 * @srq: SRQ
 *
 * Its ring may be replaced by another one at any time, but under the lock.
 *
 * Context: any, srq->lock not held; what it finds may have changed when it returns.
 * Return: whether fewer than RXE_RECEIVES_FEW are posted.
 */
bool rxe_srq_scarce(struct rxe_srq *srq)
{
	unsigned long flags;
	bool scarce;

	spin_lock_irqsave(&srq->lock, flags);
	scarce = srq_used(srq) < RXE_RECEIVES_FEW;
	spin_unlock_irqrestore(&srq->lock, flags);
	return scarce;
}

/**
 * rxe_srq_below_limit - after a WQE was taken, whether the owner is to be told
 * @srq: SRQ
 *
 * The limit is used up by that.
 *
 * Context: srq->lock held.
 */
bool rxe_srq_below_limit(struct rxe_srq *srq)
{
	lockdep_assert_held(&srq->lock);
	if (!srq->limit || srq_used(srq) >= srq->limit)
		return false;
	srq->limit = 0;
	return true;
}

/**
 * rxe_srq_event - tell the owner of an SRQ
 * @srq: SRQ
 * @type: what happened
 *
 * Context: any, no lock held that the consumer's handler could want.
 */
void rxe_srq_event(struct rxe_srq *srq, enum ib_event_type type)
{
	struct ib_event event = {
		.device = srq->ib.device,
		.element.srq = &srq->ib,
		.event = type,
	};

	if (srq->ib.event_handler)
		srq->ib.event_handler(&event, srq->ib.srq_context);
}
