// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains.  A PD is nothing but its identity: mem.c compares the PD
 * of a key with the PD of the QP.
 */
#include "rxe.h"

static struct rxe_track *to_track(struct ib_pd *ibpd)
{
	return &container_of(ibpd, struct rxe_pd, ib)->track;
}

/**
 * rxe_pd_alloc() - count a protection domain
 * @ibpd: allocated by the core
 * @udata: nothing is exchanged
 *
 * Context: process context.
 * Return: 0, or -ENOMEM when the device has RXE_MAX_PD of them.
 */
int rxe_pd_alloc(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct rxe_dev *dev = to_rxe_dev(ibpd->device);

	if (!atomic_add_unless(&dev->num_pd, 1, RXE_MAX_PD))
		return -ENOMEM;
	rxe_track_add(dev, RXE_TRACK_PD, to_track(ibpd), udata);
	return 0;
}

/**
 * rxe_pd_dealloc() - forget a protection domain
 * @ibpd: freed by the core, which sees to it that no object uses it
 * @udata: nothing is exchanged
 *
 * Context: process context.
 * Return: 0.
 */
int rxe_pd_dealloc(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct rxe_dev *dev = to_rxe_dev(ibpd->device);

	rxe_track_del(dev, to_track(ibpd));
	atomic_dec(&dev->num_pd);
	return 0;
}
