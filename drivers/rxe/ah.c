// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles: where a datagram goes, checked once when they are made.
 *
 * A user's address handle has a number, which newer providers write into each
 * work request; older ones do not ask for it and write down the address itself.
 * In either case the kernel decides who the sender is.
 */
#include <net/ipv6.h>

#include "rxe.h"

/* RoCE v2 needs a GRH, our port, a RoCE v2 source GID, and one IP family. */
static int ah_check(const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	const struct ib_gid_attr *sgid = grh->sgid_attr;
	struct in6_addr saddr, daddr;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) ||
	    rdma_ah_get_port_num(attr) != RXE_PORT)
		return -EINVAL;
	if (!sgid || sgid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return -EINVAL;

	return rxe_flow_addresses(grh, &saddr, &daddr) ? 0 : -EINVAL;
}

/**
 * rxe_ah_create() - check and keep an address
 * @ibah: allocated by the core, which also holds the source GID for its lifetime
 * @init: the address; flags: RDMA_CREATE_AH_SLEEPABLE
 * @udata: NULL for kernel users; the answer is left out for providers that do
 *	not know it
 *
 * Context: any, kernel users make address handles in softirq; for a process it
 * sleeps.
 * Return: 0; -EINVAL for an address that RoCE v2 cannot express, -ENOMEM when
 * the device has RXE_MAX_AH of them, -ENOSPC, -EFAULT.
 */
int rxe_ah_create(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		  struct ib_udata *udata)
{
	struct rxe_dev *dev = to_rxe_dev(ibah->device);
	struct rxe_ah *ah = to_rxe_ah(ibah);
	struct rxe_create_ah_resp resp;
	int ret;

	ret = ah_check(init->ah_attr);
	if (ret)
		return ret;
	if (!atomic_add_unless(&dev->num_ah, 1, RXE_MAX_AH))
		return -ENOMEM;
	ah->attr = *init->ah_attr;
	if (!udata || udata->outlen < sizeof(resp))
		return 0;

	ah->id = rxe_id_new(&rxe_ah_ids, ah);
	if (IS_ERR(ah->id)) {
		ret = PTR_ERR(ah->id);
		goto fail;
	}
	memset(&resp, 0, sizeof(resp));
	resp.ah_num = ah->id->number;
	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (ret) {
		rxe_id_free(&rxe_ah_ids, ah->id);
		goto fail;
	}
	rxe_id_publish(&rxe_ah_ids, ah->id);
	return 0;
fail:
	atomic_dec(&dev->num_ah);
	return ret;
}

/**
 * rxe_ah_modify() - replace the address
 * @ibah: address handle; the caller sees to it that no send uses it now
 * @attr: new address
 *
 * Context: any.
 * Return: 0, or -EINVAL, then the old address stays.
 */
int rxe_ah_modify(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	int ret;

	ret = ah_check(attr);
	if (ret)
		return ret;
	to_rxe_ah(ibah)->attr = *attr;
	return 0;
}

/**
 * rxe_ah_query() - tell the address
 * @ibah: address handle
 * @attr: filled; its source GID is named by index, without a reference
 *
 * Context: any.
 * Return: 0.
 */
int rxe_ah_query(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_rxe_ah(ibah)->attr;
	attr->grh.sgid_attr = NULL;
	return 0;
}

/**
 * rxe_ah_destroy() - forget an address handle
 * @ibah: freed by the core
 * @flags: RDMA_DESTROY_AH_SLEEPABLE
 *
 * Context: any; for an address handle of a process it sleeps.
 * Return: 0.
 */
int rxe_ah_destroy(struct ib_ah *ibah, u32 flags)
{
	struct rxe_dev *dev = to_rxe_dev(ibah->device);
	struct rxe_ah *ah = to_rxe_ah(ibah);

	if (ah->id)
		rxe_id_free(&rxe_ah_ids, ah->id);
	atomic_dec(&dev->num_ah);
	return 0;
}
