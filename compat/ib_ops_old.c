// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * struct ib_device_ops of the newest kernel, on a core whose operations are
 * members of struct ib_device.
 *
 * Such a core lets the driver allocate every object, fills it in after the call,
 * and passes the user's context beside the udata; its udata counts the command
 * header as driver data; it knows one kind of RoCE, and GIDs without references.
 * Each trampoline gives the driver what the newest core gives it.
 */
#define RXE_COMPAT_KERNEL_IB_OPS

#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#if !RXE_HAVE_IB_DEVICE_OPS

static const struct rxe_compat_ib_device_ops *newest;

#if RXE_HAVE_IB_POST_CONST
#define WR_CONST	const
#else
#define WR_CONST
#endif

/* --- what user space sends ---------------------------------------------------- */

/*
 * The core takes the length of the driver's data from that of the write, which
 * includes the header of the command. No command of the driver's provider has
 * as little as that of its own.
 */
#define COMMAND_HEADER	8

static struct ib_udata *user_data(struct uverbs_attr_bundle *bundle,
				  const struct ib_udata *udata,
				  struct ib_ucontext *context)
{
	if (!udata)
		return NULL;
	bundle->driver_udata = *udata;
	if (udata->inlen >= COMMAND_HEADER)
		bundle->driver_udata.inlen -= COMMAND_HEADER;
	else
		bundle->driver_udata.inlen = 0;
	bundle->context = context;
	return &bundle->driver_udata;
}

static void made(struct ib_device *device, enum rxe_compat_object kind, const void *object,
		 bool is_user)
{
	rxe_compat_ib_device_objects(device, kind, 1);
	rxe_compat_res_add(device, kind, object, is_user);
}

static void gone(struct ib_device *device, enum rxe_compat_object kind)
{
	rxe_compat_ib_device_objects(device, kind, -1);
}

static struct ib_ucontext *pd_context(const struct ib_pd *pd)
{
	return pd->uobject ? pd->uobject->context : NULL;
}

/* --- device and port ------------------------------------------------------------ */

static int query_device(struct ib_device *device, struct ib_device_attr *to,
			struct ib_udata *udata)
{
	struct rxe_compat_ib_device_attr from;
	int err;

	err = newest->query_device(device, &from, udata);
	if (err)
		return err;
	memset(to, 0, sizeof(*to));
	to->fw_ver = from.fw_ver;
	to->sys_image_guid = from.sys_image_guid;
	to->max_mr_size = from.max_mr_size;
	to->page_size_cap = from.page_size_cap;
	to->vendor_id = from.vendor_id;
	to->vendor_part_id = from.vendor_part_id;
	to->hw_ver = from.hw_ver;
	to->max_qp = from.max_qp;
	to->max_qp_wr = from.max_qp_wr;
	to->device_cap_flags = from.device_cap_flags;
#if RXE_HAVE_IB_DEVICE_ATTR_MAX_SEND_SGE
	to->max_send_sge = from.max_send_sge;
	to->max_recv_sge = from.max_recv_sge;
#else
	to->max_sge = min(from.max_send_sge, from.max_recv_sge);
#endif
	to->max_sge_rd = from.max_sge_rd;
	to->max_cq = from.max_cq;
	to->max_cqe = from.max_cqe;
	to->max_mr = from.max_mr;
	to->max_pd = from.max_pd;
	to->max_qp_rd_atom = from.max_qp_rd_atom;
	to->max_res_rd_atom = from.max_res_rd_atom;
	to->max_qp_init_rd_atom = from.max_qp_init_rd_atom;
	to->atomic_cap = from.atomic_cap;
	to->max_mw = from.max_mw;
	to->max_mcast_grp = from.max_mcast_grp;
	to->max_mcast_qp_attach = from.max_mcast_qp_attach;
	to->max_total_mcast_qp_attach = from.max_total_mcast_qp_attach;
	to->max_ah = from.max_ah;
	to->max_srq = from.max_srq;
	to->max_srq_wr = from.max_srq_wr;
	to->max_srq_sge = from.max_srq_sge;
	to->max_fast_reg_page_list_len = from.max_fast_reg_page_list_len;
	to->max_pkeys = from.max_pkeys;
	to->local_ca_ack_delay = from.local_ca_ack_delay;
	return 0;
}

static int query_port(struct ib_device *device, u8 port, struct ib_port_attr *to)
{
	struct rxe_compat_ib_port_attr from;
	int err;

	memset(&from, 0, sizeof(from));	/* the newest core does */
	err = newest->query_port(device, port, &from);
	if (err)
		return err;
	memset(to, 0, sizeof(*to));
	to->state = from.state;
	to->max_mtu = from.max_mtu;
	to->active_mtu = from.active_mtu;
	to->gid_tbl_len = from.gid_tbl_len;
	to->port_cap_flags = from.port_cap_flags;
	to->max_msg_sz = from.max_msg_sz;
	to->bad_pkey_cntr = from.bad_pkey_cntr;
	to->qkey_viol_cntr = from.qkey_viol_cntr;
	to->pkey_tbl_len = from.pkey_tbl_len;
	to->max_vl_num = from.max_vl_num;
	to->active_width = from.active_width;
	to->active_speed = min_t(u16, from.active_speed, IB_SPEED_EDR);
	to->phys_state = from.phys_state;
	return 0;
}

/* Nothing to modify; but the connection manager leaves a device that cannot. */
static int modify_port(struct ib_device *device, u8 port, int mask,
		       struct ib_port_modify *modify)
{
	return 0;
}

/*
 * A port with RDMA_CORE_CAP_ETH_AH has the core look for the peer's MAC address
 * when a QP gets its address; it looks in the initial namespace only. The driver
 * has no use for the MAC address and finds its way by itself, so a device of
 * another namespace goes without the flag. rdma_cm needs it, to take the default
 * partition and the address of a path; it serves the initial namespace alone.
 */
static int get_port_immutable(struct ib_device *device, u8 port,
			      struct ib_port_immutable *immutable)
{
	const struct net_device *ndev = rxe_compat_ib_device_netdev(device);
	int err;

	err = newest->get_port_immutable(device, port, immutable);
	if (!ndev || !net_eq(dev_net(ndev), &init_net))
		immutable->core_cap_flags &= ~RDMA_CORE_CAP_ETH_AH;
	return err;
}

static enum rdma_link_layer get_link_layer(struct ib_device *device, u8 port)
{
	return newest->get_link_layer(device, port);
}

static int query_pkey(struct ib_device *device, u8 port, u16 index, u16 *pkey)
{
	return newest->query_pkey(device, port, index, pkey);
}

/* A MAD of another size is Omni-Path's, which the driver does not have. */
static int process_mad(struct ib_device *device, int flags, u8 port, const struct ib_wc *wc,
		       const struct ib_grh *grh, const struct ib_mad_hdr *in, size_t in_size,
		       struct ib_mad_hdr *out, size_t *out_size, u16 *out_pkey_index)
{
	if (in_size != sizeof(struct ib_mad) || *out_size != sizeof(struct ib_mad))
		return IB_MAD_RESULT_FAILURE;
	return newest->process_mad(device, flags, port, wc, grh,
				   (const struct ib_mad *)in, (struct ib_mad *)out,
				   out_size, out_pkey_index);
}

static struct net_device *get_netdev(struct ib_device *device, u8 port)
{
	struct net_device *ndev = rxe_compat_ib_device_netdev(device);

	if (ndev)
		dev_hold(ndev);
	return ndev;
}

/* The core keeps the table, and does not ask. */
static int query_gid(struct ib_device *device, u8 port, int index, union ib_gid *gid)
{
	struct rxe_compat_ib_gid_attr entry;
	int err;

	err = rxe_compat_gid_get(device, port, index, &entry);
	*gid = entry.gid;
	rxe_compat_gid_put(&entry);
	return err;
}

/* It fills the table only for devices that could, too. */
#if RXE_HAVE_ADD_GID_ATTR
static int add_gid(const struct ib_gid_attr *attr, void **context)
#elif RXE_HAVE_DEL_GID_ATTR
static int add_gid(const union ib_gid *gid, const struct ib_gid_attr *attr, void **context)
#else
static int add_gid(struct ib_device *device, u8 port, unsigned int index,
		   const union ib_gid *gid, const struct ib_gid_attr *attr, void **context)
#endif
{
	return 0;
}

#if RXE_HAVE_DEL_GID_ATTR
static int del_gid(const struct ib_gid_attr *attr, void **context)
#else
static int del_gid(struct ib_device *device, u8 port, unsigned int index, void **context)
#endif
{
	return 0;
}

/* --- contexts and protection domains ------------------------------------------------ */

static struct ib_ucontext *alloc_ucontext(struct ib_device *device, struct ib_udata *udata)
{
	struct uverbs_attr_bundle bundle;
	struct ib_ucontext *context;
	int err;

	context = kzalloc(newest->size_ib_ucontext, GFP_KERNEL);
	if (!context)
		return ERR_PTR(-ENOMEM);
	context->device = device;
	err = newest->alloc_ucontext(context, user_data(&bundle, udata, context));
	if (err) {
		kfree(context);
		return ERR_PTR(err);
	}
	made(device, RXE_COMPAT_CTX, context, true);
	return context;
}

static int dealloc_ucontext(struct ib_ucontext *context)
{
	rxe_compat_res_del(context);
	gone(context->device, RXE_COMPAT_CTX);
	newest->dealloc_ucontext(context);
	kfree(context);
	return 0;
}

static struct ib_pd *alloc_pd(struct ib_device *device, struct ib_ucontext *context,
			      struct ib_udata *udata)
{
	struct uverbs_attr_bundle bundle;
	struct ib_pd *pd;
	int err;

	pd = kzalloc(newest->size_ib_pd, GFP_KERNEL);
	if (!pd)
		return ERR_PTR(-ENOMEM);
	pd->device = device;
	err = newest->alloc_pd(pd, user_data(&bundle, udata, context));
	if (err) {
		kfree(pd);
		return ERR_PTR(err);
	}
	made(device, RXE_COMPAT_PD, pd, context);
	return pd;
}

static int dealloc_pd(struct ib_pd *pd)
{
	int err;

	rxe_compat_res_del(pd);
	err = newest->dealloc_pd(pd, NULL);
	if (err)
		return err;
	gone(pd->device, RXE_COMPAT_PD);
	kfree(pd);
	return 0;
}

/* --- addresses ---------------------------------------------------------------------- */

#if RXE_HAVE_RDMA_AH_ATTR
#define kernel_ah_attr	rdma_ah_attr
#define MAC(address)	((address)->roce.dmac)
#else
#define kernel_ah_attr	ib_ah_attr
#define MAC(address)	((address)->dmac)
#endif

static void address_new(struct rxe_compat_rdma_ah_attr *to, const struct kernel_ah_attr *from,
			const struct rxe_compat_ib_gid_attr *gid)
{
	memset(to, 0, sizeof(*to));
	to->type = RDMA_AH_ATTR_TYPE_ROCE;
	to->grh.sgid_attr = gid;
	to->grh.dgid = from->grh.dgid;
	to->grh.flow_label = from->grh.flow_label;
	to->grh.sgid_index = from->grh.sgid_index;
	to->grh.hop_limit = from->grh.hop_limit;
	to->grh.traffic_class = from->grh.traffic_class;
	to->sl = from->sl;
	to->static_rate = from->static_rate;
	to->port_num = from->port_num;
	to->ah_flags = from->ah_flags;
	memcpy(to->roce.dmac, MAC(from), ETH_ALEN);
}

static void address_old(struct kernel_ah_attr *to, const struct rxe_compat_rdma_ah_attr *from)
{
	memset(to, 0, sizeof(*to));
#if RXE_HAVE_RDMA_AH_ATTR
	to->type = RDMA_AH_ATTR_TYPE_ROCE;
#endif
	to->grh.dgid = from->grh.dgid;
	to->grh.flow_label = from->grh.flow_label;
	to->grh.sgid_index = from->grh.sgid_index;
	to->grh.hop_limit = from->grh.hop_limit;
	to->grh.traffic_class = from->grh.traffic_class;
	to->sl = from->sl;
	to->static_rate = from->static_rate;
	to->port_num = from->port_num;
	to->ah_flags = from->ah_flags;
	memcpy(MAC(to), from->roce.dmac, ETH_ALEN);
}

/* The driver keeps a pointer to the source GID as long as the address handle. */
static struct rxe_compat_ib_gid_attr *ah_gid(struct ib_ah *ah)
{
	return (void *)((char *)ah + ALIGN(newest->size_ib_ah, sizeof(u64)));
}

/* Newer cores have udata here, for the number of the handle, which theirs need not know. */
#if RXE_HAVE_CREATE_AH_UDATA
static struct ib_ah *create_ah(struct ib_pd *pd, struct kernel_ah_attr *attr,
			       struct ib_udata *udata)
#else
static struct ib_ah *create_ah(struct ib_pd *pd, struct kernel_ah_attr *attr)
#endif
{
	struct rxe_compat_rdma_ah_init_attr init = {};
	struct rxe_compat_rdma_ah_attr address;
	struct ib_ah *ah;
	int err;

	/* interrupts may be off */
	ah = kzalloc(ALIGN(newest->size_ib_ah, sizeof(u64)) +
		     sizeof(struct rxe_compat_ib_gid_attr), GFP_ATOMIC);
	if (!ah)
		return ERR_PTR(-ENOMEM);
	ah->device = pd->device;
	ah->pd = pd;
	err = rxe_compat_gid_get(pd->device, attr->port_num, attr->grh.sgid_index, ah_gid(ah));
	if (err)
		goto fail;
	address_new(&address, attr, ah_gid(ah));
	init.ah_attr = &address;
	err = newest->create_ah(ah, &init, NULL);
	if (err)
		goto fail;
	/* an address handle must not keep a netdev from going */
	rxe_compat_gid_put(ah_gid(ah));
	return ah;
fail:
	rxe_compat_gid_put(ah_gid(ah));
	kfree(ah);
	return ERR_PTR(err);
}

static int modify_ah(struct ib_ah *ah, struct kernel_ah_attr *attr)
{
	struct rxe_compat_ib_gid_attr gid;
	struct rxe_compat_rdma_ah_attr address;
	int err;

	err = rxe_compat_gid_get(ah->device, attr->port_num, attr->grh.sgid_index, &gid);
	if (err)
		return err;
	rxe_compat_gid_put(&gid);
	address_new(&address, attr, &gid);
	err = newest->modify_ah(ah, &address);
	if (err)
		return err;
	*ah_gid(ah) = gid;
	address.grh.sgid_attr = ah_gid(ah);
	return newest->modify_ah(ah, &address);
}

static int query_ah(struct ib_ah *ah, struct kernel_ah_attr *attr)
{
	struct rxe_compat_rdma_ah_attr address;
	int err;

	err = newest->query_ah(ah, &address);
	if (!err)
		address_old(attr, &address);
	return err;
}

static int destroy_ah(struct ib_ah *ah)
{
	int err;

	err = newest->destroy_ah(ah, 0);
	if (!err)
		kfree(ah);
	return err;
}

/* --- completion queues --------------------------------------------------------------- */

static struct ib_cq *create_cq(struct ib_device *device, const struct ib_cq_init_attr *attr,
			       struct ib_ucontext *context, struct ib_udata *udata)
{
	struct uverbs_attr_bundle bundle;
	struct ib_cq *cq;
	int err;

	cq = kzalloc(newest->size_ib_cq, GFP_KERNEL);
	if (!cq)
		return ERR_PTR(-ENOMEM);
	cq->device = device;
	if (context) {
		user_data(&bundle, udata, context);
		err = newest->create_user_cq(cq, attr, &bundle);
	} else {
		err = newest->create_cq(cq, attr, NULL);
	}
	if (err) {
		kfree(cq);
		return ERR_PTR(err);
	}
	made(device, RXE_COMPAT_CQ, cq, context);
	return cq;
}

static int resize_cq(struct ib_cq *cq, int cqe, struct ib_udata *udata)
{
	struct uverbs_attr_bundle bundle;

	if (!udata || !cq->uobject)
		return -EOPNOTSUPP;
	if (cqe < 0)
		return -EINVAL;
	return newest->resize_user_cq(cq, cqe,
				      user_data(&bundle, udata, cq->uobject->context));
}

static int destroy_cq(struct ib_cq *cq)
{
	int err;

	rxe_compat_res_del(cq);
	err = newest->destroy_cq(cq, NULL);
	if (err)
		return err;
	gone(cq->device, RXE_COMPAT_CQ);
	kfree(cq);
	return 0;
}

/* --- fast registration, memory windows -------------------------------------------------------- */

static struct ib_mr *alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg)
{
	struct ib_mr *mr = newest->alloc_mr(pd, type, max_num_sg);

	if (!IS_ERR(mr))
		made(pd->device, RXE_COMPAT_MR, mr, false);
	return mr;
}

#if !RXE_HAVE_MAP_MR_SG_OFFSET
static int map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents)
{
	return newest->map_mr_sg(mr, sg, nents, NULL);
}
#endif

#if RXE_HAVE_ALLOC_MW_UDATA
static struct ib_mw *alloc_mw(struct ib_pd *pd, enum ib_mw_type type, struct ib_udata *udata)
#else
static struct ib_mw *alloc_mw(struct ib_pd *pd, enum ib_mw_type type)
#endif
{
	struct ib_mw *mw;
	int err;

	mw = kzalloc(newest->size_ib_mw, GFP_KERNEL);
	if (!mw)
		return ERR_PTR(-ENOMEM);
	mw->device = pd->device;
	mw->pd = pd;
	mw->type = type;
	err = newest->alloc_mw(mw, NULL);
	if (err) {
		kfree(mw);
		return ERR_PTR(err);
	}
	return mw;
}

static int dealloc_mw(struct ib_mw *mw)
{
	int err;

	err = newest->dealloc_mw(mw);
	if (!err)
		kfree(mw);
	return err;
}

/* --- shared receive queues ---------------------------------------------------------------- */

static struct ib_srq *create_srq(struct ib_pd *pd, struct ib_srq_init_attr *attr,
				 struct ib_udata *udata)
{
	struct uverbs_attr_bundle bundle;
	struct ib_srq *srq;
	int err;

	srq = kzalloc(newest->size_ib_srq, GFP_KERNEL);
	if (!srq)
		return ERR_PTR(-ENOMEM);
	srq->device = pd->device;
	srq->pd = pd;
	srq->event_handler = attr->event_handler;
	srq->srq_context = attr->srq_context;
	srq->srq_type = attr->srq_type;
	err = newest->create_srq(srq, attr, user_data(&bundle, udata, pd_context(pd)));
	if (err) {
		kfree(srq);
		return ERR_PTR(err);
	}
	made(pd->device, RXE_COMPAT_SRQ, srq, udata);
	return srq;
}

static int modify_srq(struct ib_srq *srq, struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct uverbs_attr_bundle bundle;

	return newest->modify_srq(srq, attr, mask,
				  user_data(&bundle, udata, pd_context(srq->pd)));
}

static int destroy_srq(struct ib_srq *srq)
{
	int err;

	rxe_compat_res_del(srq);
	err = newest->destroy_srq(srq, NULL);
	if (err)
		return err;
	gone(srq->device, RXE_COMPAT_SRQ);
	kfree(srq);
	return 0;
}

static int post_srq_recv(struct ib_srq *srq, WR_CONST struct ib_recv_wr *wr,
			 WR_CONST struct ib_recv_wr **bad)
{
	return newest->post_srq_recv(srq, wr, (const struct ib_recv_wr **)bad);
}

/* --- multicast, datagrams (compat/ib_datagram.c) -------------------------------------------- */

static int attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	union ib_gid group = rxe_compat_group(gid);

	return newest->attach_mcast(qp, &group, lid);
}

static int detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	union ib_gid group = rxe_compat_group(gid);

	return newest->detach_mcast(qp, &group, lid);
}

static struct rxe_compat_receives **qp_receives(struct ib_qp *qp)
{
	return (void *)((char *)qp + ALIGN(newest->size_ib_qp, sizeof(u64)));
}

static int poll_cq(struct ib_cq *cq, int entries, struct ib_wc *wc)
{
	int i, count;

	count = newest->poll_cq(cq, entries, wc);
	for (i = 0; i < count; i++)
		if (wc[i].wc_flags & IB_WC_GRH)
			rxe_compat_receive_polled(*qp_receives(wc[i].qp), &wc[i]);
	return count;
}

/* --- queue pairs ------------------------------------------------------------------------ */

static struct ib_qp *create_qp(struct ib_pd *pd, struct ib_qp_init_attr *attr,
			       struct ib_udata *udata)
{
	struct uverbs_attr_bundle bundle;
	struct ib_qp *qp;
	int err;

	/* with an XRC domain there is no pd */
	if (!pd)
		return ERR_PTR(-EOPNOTSUPP);
	qp = kzalloc(ALIGN(newest->size_ib_qp, sizeof(u64)) + sizeof(struct rxe_compat_receives *),
		     GFP_KERNEL);
	if (!qp)
		return ERR_PTR(-ENOMEM);
	qp->device = pd->device;
	qp->pd = pd;
	qp->real_qp = qp;
	qp->qp_type = attr->qp_type;
	qp->event_handler = attr->event_handler;
	qp->qp_context = attr->qp_context;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	err = newest->create_qp(qp, attr, user_data(&bundle, udata, pd_context(pd)));
	if (err)
		goto fail;
	err = udata ? 0 : rxe_compat_receives_create(attr, qp_receives(qp));
	if (err) {
		newest->destroy_qp(qp, NULL);
		goto fail;
	}
	made(pd->device, RXE_COMPAT_QP, qp, udata);
	return qp;
fail:
	kfree(qp);
	return ERR_PTR(err);
}

static int destroy_qp(struct ib_qp *qp)
{
	struct rxe_compat_receives *receives = *qp_receives(qp);
	int err;

	rxe_compat_res_del(qp);
	err = newest->destroy_qp(qp, NULL);
	if (err)
		return err;
	vfree(receives);
	gone(qp->device, RXE_COMPAT_QP);
	kfree(qp);
	return 0;
}

static int modify_qp(struct ib_qp *qp, struct ib_qp_attr *from, int mask,
		     struct ib_udata *udata)
{
	struct rxe_compat_ib_gid_attr gid, alt;
	struct rxe_compat_ib_qp_attr to;
	struct uverbs_attr_bundle bundle;
	int err;

	memset(&to, 0, sizeof(to));
	memset(&gid, 0, sizeof(gid));
	memset(&alt, 0, sizeof(alt));
	to.qp_state = from->qp_state;
	to.cur_qp_state = from->cur_qp_state;
	to.path_mtu = from->path_mtu;
	to.path_mig_state = from->path_mig_state;
	to.qkey = from->qkey;
	to.rq_psn = from->rq_psn;
	to.sq_psn = from->sq_psn;
	to.dest_qp_num = from->dest_qp_num;
	to.qp_access_flags = from->qp_access_flags;
	to.cap = from->cap;
	to.pkey_index = from->pkey_index;
	to.alt_pkey_index = from->alt_pkey_index;
	to.en_sqd_async_notify = from->en_sqd_async_notify;
	to.sq_draining = from->sq_draining;
	to.max_rd_atomic = from->max_rd_atomic;
	to.max_dest_rd_atomic = from->max_dest_rd_atomic;
	to.min_rnr_timer = from->min_rnr_timer;
	to.port_num = from->port_num;
	to.timeout = from->timeout;
	to.retry_cnt = from->retry_cnt;
	to.rnr_retry = from->rnr_retry;
	to.alt_port_num = from->alt_port_num;
	to.alt_timeout = from->alt_timeout;
	if (mask & IB_QP_AV) {
		err = rxe_compat_gid_get(qp->device, from->ah_attr.port_num,
					 from->ah_attr.grh.sgid_index, &gid);
		if (err)
			return err;
		address_new(&to.ah_attr, &from->ah_attr, &gid);
	}
	if (mask & IB_QP_ALT_PATH) {
		err = rxe_compat_gid_get(qp->device, from->alt_ah_attr.port_num,
					 from->alt_ah_attr.grh.sgid_index, &alt);
		if (err)
			goto out;
		address_new(&to.alt_ah_attr, &from->alt_ah_attr, &alt);
	}
	err = newest->modify_qp(qp, &to, mask,
				user_data(&bundle, udata, pd_context(qp->pd)));
out:
	rxe_compat_gid_put(&gid);
	rxe_compat_gid_put(&alt);
	return err;
}

static int query_qp(struct ib_qp *qp, struct ib_qp_attr *to, int mask,
		    struct ib_qp_init_attr *init)
{
	struct rxe_compat_ib_qp_attr from;
	int err;

	memset(&from, 0, sizeof(from));
	err = newest->query_qp(qp, &from, mask, init);
	if (err)
		return err;
	memset(to, 0, sizeof(*to));
	to->qp_state = from.qp_state;
	to->cur_qp_state = from.cur_qp_state;
	to->path_mtu = from.path_mtu;
	to->path_mig_state = from.path_mig_state;
	to->qkey = from.qkey;
	to->rq_psn = from.rq_psn;
	to->sq_psn = from.sq_psn;
	to->dest_qp_num = from.dest_qp_num;
	to->qp_access_flags = from.qp_access_flags;
	to->cap = from.cap;
	address_old(&to->ah_attr, &from.ah_attr);
	address_old(&to->alt_ah_attr, &from.alt_ah_attr);
	to->pkey_index = from.pkey_index;
	to->alt_pkey_index = from.alt_pkey_index;
	to->en_sqd_async_notify = from.en_sqd_async_notify;
	to->sq_draining = from.sq_draining;
	to->max_rd_atomic = from.max_rd_atomic;
	to->max_dest_rd_atomic = from.max_dest_rd_atomic;
	to->min_rnr_timer = from.min_rnr_timer;
	to->port_num = from.port_num;
	to->timeout = from.timeout;
	to->retry_cnt = from.retry_cnt;
	to->rnr_retry = from.rnr_retry;
	to->alt_port_num = from.alt_port_num;
	to->alt_timeout = from.alt_timeout;
	return 0;
}

/* The list is not written to: only its type once said so. */
static int post_send(struct ib_qp *qp, WR_CONST struct ib_send_wr *wr,
		     WR_CONST struct ib_send_wr **bad)
{
	const struct ib_send_wr *failed = wr;
	int err;

	err = newest->post_send(qp, wr, &failed);
	if (err)
		*bad = (WR_CONST struct ib_send_wr *)failed;
	return err;
}

static int post_recv(struct ib_qp *qp, WR_CONST struct ib_recv_wr *wr,
		     WR_CONST struct ib_recv_wr **bad)
{
	struct rxe_compat_receives *receives = *qp_receives(qp);
	const struct ib_recv_wr *failed = wr;
	unsigned long flags = 0;
	int err;

	if (receives)
		flags = rxe_compat_receives_lock(receives);
	err = newest->post_recv(qp, wr, &failed);
	if (err)
		*bad = (WR_CONST struct ib_recv_wr *)failed;
	if (receives)
		rxe_compat_receives_unlock(receives, wr, err ? failed : NULL, flags);
	return err;
}

/* --- memory regions ----------------------------------------------------------------------- */

static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
				 int access, struct ib_udata *udata)
{
	struct uverbs_attr_bundle bundle;
	struct rxe_compat_pinning pinning;
	struct ib_mr *mr;

	rxe_compat_pinning_begin(&pinning, pd_context(pd));
	mr = newest->reg_user_mr(pd, start, length, virt_addr, access, NULL,
				 user_data(&bundle, udata, pd_context(pd)));
	rxe_compat_pinning_end(&pinning);
	if (!IS_ERR(mr))
		made(pd->device, RXE_COMPAT_MR, mr, true);
	return mr;
}

static struct ib_mr *get_dma_mr(struct ib_pd *pd, int access)
{
	struct ib_mr *mr = newest->get_dma_mr(pd, access);

	if (!IS_ERR(mr))
		made(pd->device, RXE_COMPAT_MR, mr, false);
	return mr;
}

static int dereg_mr(struct ib_mr *mr)
{
	struct ib_device *device = mr->device;
	int err;

	rxe_compat_res_del(mr);
	err = newest->dereg_mr(mr, NULL);
	if (err)	/* a memory window is bound to it */
		rxe_compat_res_add(device, RXE_COMPAT_MR, mr, mr->uobject);
	else
		gone(device, RXE_COMPAT_MR);
	return err;
}

/* --- the table ------------------------------------------------------------------------------ */

static const u8 commands[] = {
	IB_USER_VERBS_CMD_GET_CONTEXT, IB_USER_VERBS_CMD_QUERY_DEVICE,
	IB_USER_VERBS_CMD_QUERY_PORT, IB_USER_VERBS_CMD_ALLOC_PD,
	IB_USER_VERBS_CMD_DEALLOC_PD, IB_USER_VERBS_CMD_CREATE_AH,
	IB_USER_VERBS_CMD_DESTROY_AH, IB_USER_VERBS_CMD_REG_MR,
	IB_USER_VERBS_CMD_DEREG_MR, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
	IB_USER_VERBS_CMD_CREATE_CQ, IB_USER_VERBS_CMD_RESIZE_CQ,
	IB_USER_VERBS_CMD_DESTROY_CQ, IB_USER_VERBS_CMD_PEEK_CQ,
	IB_USER_VERBS_CMD_CREATE_QP, IB_USER_VERBS_CMD_QUERY_QP,
	IB_USER_VERBS_CMD_MODIFY_QP, IB_USER_VERBS_CMD_DESTROY_QP,
	IB_USER_VERBS_CMD_CREATE_SRQ, IB_USER_VERBS_CMD_MODIFY_SRQ,
	IB_USER_VERBS_CMD_QUERY_SRQ, IB_USER_VERBS_CMD_DESTROY_SRQ,
	IB_USER_VERBS_CMD_ALLOC_MW, IB_USER_VERBS_CMD_DEALLOC_MW,
	IB_USER_VERBS_CMD_ATTACH_MCAST, IB_USER_VERBS_CMD_DETACH_MCAST,
};

/**
 * rxe_compat_ib_set_device_ops() - ib_set_device_ops() for the newest table
 * @device: allocated, not registered
 * @ops: the driver's only table
 *
 * A command of user space is enabled only if there is an op: the core would call
 * it without looking.
 *
 * Context: process context.
 */
void rxe_compat_ib_set_device_ops(struct ib_device *device,
				  const struct rxe_compat_ib_device_ops *ops)
{
	unsigned int i;

	WARN_ON(newest && newest != ops);
	newest = ops;

	device->owner = ops->owner;
	device->uverbs_abi_ver = ops->uverbs_abi_ver;
#if RXE_HAVE_IB_DEVICE_DRIVER_ID
	device->driver_id = ops->driver_id;
#endif
	device->query_device = query_device;
	device->modify_device = ops->modify_device;
	device->query_port = query_port;
	device->modify_port = modify_port;
	device->get_port_immutable = get_port_immutable;
	device->get_link_layer = get_link_layer;
	device->get_netdev = get_netdev;
	device->query_gid = query_gid;
	device->add_gid = add_gid;
	device->del_gid = del_gid;
	device->query_pkey = query_pkey;
	device->process_mad = process_mad;
	device->alloc_ucontext = alloc_ucontext;
	device->dealloc_ucontext = dealloc_ucontext;
	device->disassociate_ucontext = ops->disassociate_ucontext;
	device->mmap = ops->mmap;
	device->alloc_pd = alloc_pd;
	device->dealloc_pd = dealloc_pd;
	device->create_ah = create_ah;
	device->modify_ah = modify_ah;
	device->query_ah = query_ah;
	device->destroy_ah = destroy_ah;
	device->create_cq = create_cq;
	device->resize_cq = resize_cq;
	device->destroy_cq = destroy_cq;
	device->attach_mcast = attach_mcast;
	device->detach_mcast = detach_mcast;
	device->alloc_mr = alloc_mr;
#if RXE_HAVE_MAP_MR_SG_OFFSET
	device->map_mr_sg = ops->map_mr_sg;
#else
	device->map_mr_sg = map_mr_sg;
#endif
	device->alloc_mw = alloc_mw;
	device->dealloc_mw = dealloc_mw;
	device->create_srq = create_srq;
	device->modify_srq = modify_srq;
	device->query_srq = ops->query_srq;
	device->destroy_srq = destroy_srq;
	device->post_srq_recv = post_srq_recv;
	device->poll_cq = poll_cq;
	device->peek_cq = ops->peek_cq;
	device->req_notify_cq = ops->req_notify_cq;
	device->create_qp = create_qp;
	device->modify_qp = modify_qp;
	device->query_qp = query_qp;
	device->destroy_qp = destroy_qp;
	device->post_send = post_send;
	device->post_recv = post_recv;
	device->get_dma_mr = get_dma_mr;
	device->reg_user_mr = reg_user_mr;
	device->dereg_mr = dereg_mr;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		device->uverbs_cmd_mask |= BIT_ULL(commands[i]);
	device->uverbs_ex_cmd_mask = BIT_ULL(IB_USER_VERBS_EX_CMD_QUERY_DEVICE) |
				     BIT_ULL(IB_USER_VERBS_EX_CMD_CREATE_CQ) |
				     BIT_ULL(IB_USER_VERBS_EX_CMD_CREATE_QP);
}

/**
 * rxe_compat_ib_ops_stats_alloc() - the driver's counters
 * @device: device
 * @port: port
 *
 * Context: process context.
 * Return: to be freed with kfree(); NULL for no memory.
 */
struct rdma_hw_stats *rxe_compat_ib_ops_stats_alloc(struct ib_device *device, u32 port)
{
	return newest->alloc_hw_port_stats(device, port);
}

/**
 * rxe_compat_ib_ops_stats_read() - have the driver write the values
 * @device: device
 * @stats: of rxe_compat_ib_ops_stats_alloc()
 * @port: port
 * @index: the one that is wanted
 *
 * Context: process context.
 * Return: negative errno on failure.
 */
int rxe_compat_ib_ops_stats_read(struct ib_device *device, struct rdma_hw_stats *stats,
				 u32 port, int index)
{
	return newest->get_hw_stats(device, stats, port, index);
}

/**
 * rxe_compat_ib_ops() - the driver's own table
 *
 * Context: any; a device has been allocated.
 * Return: the newest table.
 */
const struct rxe_compat_ib_device_ops *rxe_compat_ib_ops(void)
{
	return newest;
}

/**
 * rxe_compat_ib_ops_dealloc() - the driver's part of ib_dealloc_device()
 * @device: device
 *
 * Context: process context.
 */
void rxe_compat_ib_ops_dealloc(struct ib_device *device)
{
	if (newest && newest->dealloc_driver)
		newest->dealloc_driver(device);
}

#endif /* !RXE_HAVE_IB_DEVICE_OPS */
