// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows: a key for a part of a region, made and ended by work requests.
 *
 *	type 1:	 not bound ◄── bind of nothing ── bound, each bind replaces the last
 *	type 2:	 not bound ── bind ──► bound to one queue pair ── invalidate ──► not bound
 *
 * A bound window counts in its region, which therefore outlives it.
 *
 * Who changes a window has its lock and waits until nobody else holds the key. So nobody
 * may hold it and wait for the lock: who finds it taken lets go of the key, and looks it
 * up again.
 */
#include <linux/slab.h>

#include "rxe.h"

/* What a window may allow, all of it to peers */
#define MW_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC)
#define MW_CHANGES	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/**
 * rxe_mw_alloc - the alloc_mw verb (11.2.2.9)
 * @ibmw: allocated by the core, with protection domain and type
 * @udata: of the user's command
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM, -ENOSPC, -EINVAL for a type that does not exist.
 */
int rxe_mw_alloc(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct rxe_dev *dev = to_rxe_dev(ibmw->device);
	struct rxe_mw *mw = to_rxe_mw(ibmw);
	struct rxe_id *id;

	if (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)
		return -EINVAL;
	if (!atomic_add_unless(&dev->num_mw, 1, RXE_MAX_MW))
		return -ENOMEM;
	id = rxe_id_new(&rxe_mr_ids, &mw->key);
	if (IS_ERR(id)) {
		atomic_dec(&dev->num_mw);
		return PTR_ERR(id);
	}
	spin_lock_init(&mw->lock);
	rxe_key_init(&mw->key, id, ibmw->pd);
	mw->key.window = true;
	mw->key.revocable = true;
	ibmw->rkey = mw->key.key;
	rxe_id_publish(&rxe_mr_ids, id);
	return 0;
}

/* The key of a window has just been revoked: let go of its region. */
static void mw_revoked(struct rxe_mw *mw)
{
	struct rxe_mr *mr = mw->mr;

	mw->mr = NULL;
	atomic_dec(&mr->windows);
}

/**
 * rxe_mw_dealloc - the dealloc_mw verb (11.2.2.12)
 * @ibmw: window, bound or not
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int rxe_mw_dealloc(struct ib_mw *ibmw)
{
	struct rxe_mw *mw = to_rxe_mw(ibmw);

	rxe_id_free(&rxe_mr_ids, mw->key.id);
	if (mw->key.valid != RXE_KEY_INVALID)
		mw_revoked(mw);
	atomic_dec(&to_rxe_dev(ibmw->device)->num_mw);
	return 0;
}

/* Whether the region may have such a window (10.6.7.2). */
static bool region_allows(const struct rxe_mr *mr, const struct rxe_qp *qp,
			  const struct rxe_mw_bind *bind)
{
	bool zero_based = bind->access & IB_ZERO_BASED;
	u64 offset = bind->addr - mr->key.addr;

	if ((mr->type != RXE_MR_USER && mr->type != RXE_MR_ODP) ||
	    mr->key.key != bind->mr_lkey || mr->key.pd != qp->ib.pd)
		return false;
	if (!(mr->key.access & IB_ACCESS_MW_BIND) ||
	    ((bind->access & MW_CHANGES) && !(mr->key.access & IB_ACCESS_LOCAL_WRITE)))
		return false;
	/* what local access is allowed is the region's affair */
	if (bind->access & ~(MW_ACCESS | IB_ZERO_BASED | IB_ACCESS_LOCAL_WRITE))
		return false;
	/* the addresses of a window must not wrap, whatever its first one is called */
	if (zero_based && bind->length - 1 > U64_MAX - bind->addr)
		return false;
	return bind->addr >= mr->key.addr && offset <= mr->key.length &&
	       bind->length <= mr->key.length - offset;
}

/* The window is ours to change. An error leaves what it was bound to. */
static int window_bind(struct rxe_mw *mw, struct rxe_qp *qp, const struct rxe_mw_bind *bind)
{
	struct rxe_id *id = rxe_id_get(&rxe_mr_ids, bind->mr_lkey >> 8);
	struct rxe_key *key;
	struct rxe_mr *mr;
	int err = -EINVAL;

	if (!id)
		return -EINVAL;
	key = id->object;
	if (key->window)
		goto out;
	mr = container_of(key, struct rxe_mr, key);
	if (!region_allows(mr, qp, bind) || !atomic_inc_unless_negative(&mr->windows))
		goto out;
	if (rxe_key_revoke(&mw->key))
		mw_revoked(mw);
	mw->mr = mr;
	mw->base = bind->addr;
	mw->qpn = qp->ib.qp_num;
	mw->key.addr = bind->access & IB_ZERO_BASED ? 0 : bind->addr;
	mw->key.length = bind->length;
	mw->key.access = bind->access & MW_ACCESS;
	mw->key.key = (mw->key.key & ~0xffU) | (bind->rkey & 0xff);
	/* what is valid is complete; pairs with rxe_mr_get() */
	smp_store_release(&mw->key.valid, RXE_KEY_VALID);
	err = 0;
out:
	rxe_id_put(id);
	return err;
}

static int window_change(struct rxe_mw *mw, struct rxe_qp *qp, const struct rxe_mw_bind *bind)
{
	bool zero_based = bind->access & IB_ZERO_BASED;

	if (mw->key.key != bind->mw_rkey || mw->key.pd != qp->ib.pd)
		return -EINVAL;
	if (mw->ib.type == IB_MW_TYPE_2) {
		if (mw->key.valid != RXE_KEY_INVALID || !bind->length)
			return -EINVAL;
		return window_bind(mw, qp, bind);
	}
	if (zero_based)
		return -EINVAL;
	if (bind->length)
		return window_bind(mw, qp, bind);
	if (rxe_key_revoke(&mw->key))
		mw_revoked(mw);
	mw->key.key = (mw->key.key & ~0xffU) | (bind->rkey & 0xff);
	return 0;
}

/**
 * rxe_mw_invalidate - end what a window allows
 * @qp: the QP, the only one that may do so
 * @mw: window, held by the caller with one reference
 *
 * Context: a task of the QP.
 * Return: 0, -EINVAL if it was not bound, or not to this QP, -EAGAIN if another CPU
 * changes it: to be looked up again.
 */
int rxe_mw_invalidate(struct rxe_qp *qp, struct rxe_mw *mw)
{
	int err = -EINVAL;

	if (!spin_trylock(&mw->lock))
		return -EAGAIN;
	if (mw->ib.type == IB_MW_TYPE_2 && mw->qpn == qp->ib.qp_num &&
	    rxe_key_revoke(&mw->key)) {
		mw_revoked(mw);
		err = 0;
	}
	spin_unlock(&mw->lock);
	return err;
}

/* -EAGAIN: another CPU changes the window. */
static int try_change(struct rxe_mw *mw, struct rxe_qp *qp, const struct rxe_mw_bind *bind)
{
	int err;

	if (!spin_trylock(&mw->lock))
		return -EAGAIN;
	err = window_change(mw, qp, bind);
	spin_unlock(&mw->lock);
	return err;
}

static int try_bind(struct rxe_qp *qp, const struct rxe_mw_bind *bind)
{
	struct rxe_id *id = rxe_id_get(&rxe_mr_ids, bind->mw_rkey >> 8);
	struct rxe_key *key;
	int err = -EINVAL;

	if (!id)
		return -EINVAL;
	key = id->object;
	if (key->window)
		err = try_change(container_of(key, struct rxe_mw, key), qp, bind);
	rxe_id_put(id);
	return err;
}

/**
 * rxe_mw_bind - execute a bind request (10.6.7)
 * @qp: the QP
 * @bind: what the process asks for; nothing of it is trusted
 *
 * Context: sq.task.
 * Return: 0 or -EINVAL.
 */
int rxe_mw_bind(struct rxe_qp *qp, const struct rxe_mw_bind *bind)
{
	int err;

	while ((err = try_bind(qp, bind)) == -EAGAIN)
		cpu_relax();
	return err;
}
