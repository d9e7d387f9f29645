// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Entries of the GID table as newer cores hand them out, with a reference, on a
 * core that copies them. All of them are of RoCE v2: the core knows no types, or
 * was told that the port does nothing else.
 */
#define RXE_COMPAT_KERNEL_IB_OPS

#include <linux/netdevice.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#if !RXE_HAVE_IB_DEVICE_OPS

#if RXE_HAVE_IB_GID_ATTR_GID

/* The core's own reference would keep it from reusing the entry; the netdev's is enough. */
static int entry_get(struct ib_device *device, u8 port, int index, union ib_gid *gid,
		     struct net_device **ndev)
{
	const struct ib_gid_attr *attr;

	attr = rdma_get_gid_attr(device, port, index);
	if (IS_ERR(attr))
		return PTR_ERR(attr);
	*gid = attr->gid;
	*ndev = attr->ndev;
	if (*ndev)
		dev_hold(*ndev);
	rdma_put_gid_attr(attr);
	return 0;
}

static int entry_find(struct ib_device *device, const union ib_gid *gid, u8 port,
		      struct net_device *ndev, u16 *index)
{
	const struct ib_gid_attr *attr;

	attr = rdma_find_gid_by_port(device, gid, IB_GID_TYPE_ROCE_UDP_ENCAP, port, ndev);
	if (IS_ERR(attr))
		return PTR_ERR(attr);
	*index = attr->index;
	rdma_put_gid_attr(attr);
	return 0;
}

#else

static int entry_get(struct ib_device *device, u8 port, int index, union ib_gid *gid,
		     struct net_device **ndev)
{
	struct ib_gid_attr attr;
	int err;

	memset(&attr, 0, sizeof(attr));
	err = ib_get_cached_gid(device, port, index, gid, &attr);
	*ndev = attr.ndev;
	return err;
}

static int entry_find(struct ib_device *device, const union ib_gid *gid, u8 port,
		      struct net_device *ndev, u16 *index)
{
#if RXE_HAVE_IB_FIND_GID_BY_TYPE
	return ib_find_cached_gid_by_port(device, gid, IB_GID_TYPE_ROCE_UDP_ENCAP, port, ndev,
					  index);
#else
	return ib_find_cached_gid_by_port(device, gid, port, ndev, index);
#endif
}

#endif /* RXE_HAVE_IB_GID_ATTR_GID */

/**
 * rxe_compat_gid_get() - the source GID of an address, by index
 * @device: device
 * @port: port
 * @index: place in the table
 * @gid: out: the entry, whose netdev is held until rxe_compat_gid_put()
 *
 * Context: any.
 * Return: 0, -ENXIO for an entry without netdev, or what the core says.
 */
int rxe_compat_gid_get(struct ib_device *device, u8 port, u16 index,
		       struct rxe_compat_ib_gid_attr *gid)
{
	int err;

	memset(gid, 0, sizeof(*gid));
	err = entry_get(device, port, index, &gid->gid, &gid->ndev);
	if (err)
		return err;
	if (!gid->ndev)
		return -ENXIO;
	gid->device = device;
	gid->gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP;
	gid->index = index;
	gid->port_num = port;
	return 0;
}

/**
 * rxe_compat_gid_put() - undo rxe_compat_gid_get()
 * @gid: the entry; has no netdev afterwards
 *
 * Context: any.
 */
void rxe_compat_gid_put(struct rxe_compat_ib_gid_attr *gid)
{
	if (gid->ndev)
		dev_put(gid->ndev);
	gid->ndev = NULL;
}

/**
 * rxe_compat_rdma_get_gid_attr() - the entry of the GID table at an index
 * @device: device
 * @port: port
 * @index: place in the table
 *
 * Context: any.
 * Return: the entry, for rxe_compat_rdma_put_gid_attr(); or an error pointer.
 */
const struct rxe_compat_ib_gid_attr *
rxe_compat_rdma_get_gid_attr(struct ib_device *device, u32 port, int index)
{
	struct rxe_compat_ib_gid_attr *gid;
	int err;

	gid = kmalloc(sizeof(*gid), GFP_ATOMIC);
	if (!gid)
		return ERR_PTR(-ENOMEM);
	err = rxe_compat_gid_get(device, port, index, gid);
	if (!err)
		return gid;
	kfree(gid);
	return ERR_PTR(err);
}

/**
 * rxe_compat_rdma_put_gid_attr() - give back what the functions around here have returned
 * @attr: the entry
 *
 * Context: any.
 */
void rxe_compat_rdma_put_gid_attr(const struct rxe_compat_ib_gid_attr *attr)
{
	rxe_compat_gid_put((struct rxe_compat_ib_gid_attr *)attr);
	kfree(attr);
}

/**
 * rxe_compat_rdma_find_gid_by_port() - the entry of the GID table that has an address
 * @device: device
 * @gid: address
 * @type: RoCE v2: the table has no others
 * @port: port
 * @ndev: netdev of the address, NULL: any
 *
 * Context: any.
 * Return: the entry, for rxe_compat_rdma_put_gid_attr(); or an error pointer.
 */
const struct rxe_compat_ib_gid_attr *
rxe_compat_rdma_find_gid_by_port(struct ib_device *device, const union ib_gid *gid,
				 enum ib_gid_type type, u32 port, struct net_device *ndev)
{
	u16 index = 0;
	int err;

	err = entry_find(device, gid, port, ndev, &index);
	return err ? ERR_PTR(err) : rxe_compat_rdma_get_gid_attr(device, port, index);
}

#endif /* !RXE_HAVE_IB_DEVICE_OPS */
