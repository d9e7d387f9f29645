// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of operations that the RDMA core calls, the few that are only a
 * description of the device or its port, and the registration.
 */
#include <linux/etherdevice.h>
#include <linux/random.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>

#include "rxe.h"

#include <rdma/rdma_counter.h>

/* IEEE has assigned us no OUI */
#define VERBS_VENDOR_ID	0xffffff

/* Of the rings' layout: 2 is the same for 32-bit and 64-bit programs */
#define RXE_UVERBS_ABI_VERSION	2

/**
 * rxe_verbs_mtu() - the payload that a packet may carry on a netdev
 * @ndev: netdev
 *
 * Counted as rdma_cm counts it when it sets up a path: the IP MTU less the
 * largest headers, IPv6 included, so that no packet is ever fragmented.  A
 * netdev too small for 256 bytes still gets that, and loses full packets.
 *
 * Context: any.
 * Return: IB_MTU_256 ... IB_MTU_4096.
 */
enum ib_mtu rxe_verbs_mtu(const struct net_device *ndev)
{
	enum ib_mtu mtu = iboe_get_mtu(READ_ONCE(ndev->mtu));

	return mtu ? mtu : IB_MTU_256;
}

/* The promise of rxe.h; what a later feature brings is 0 until it is there. */
static int verbs_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			      struct ib_udata *udata)
{
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;

	memset(attr, 0, sizeof(*attr));
	attr->vendor_id			= VERBS_VENDOR_ID;
	attr->sys_image_guid		= ibdev->node_guid;
	attr->max_mr_size		= ~0ull;
	/* A user region is mapped page by page, of whatever size pages are */
	attr->page_size_cap		= ~0ull << PAGE_SHIFT;
	attr->max_qp			= RXE_MAX_QP;
	attr->max_qp_wr			= RXE_MAX_QP_WR;
	attr->device_cap_flags		= IB_DEVICE_BAD_PKEY_CNTR |
					  IB_DEVICE_BAD_QKEY_CNTR |
					  IB_DEVICE_CURR_QP_STATE_MOD |
					  IB_DEVICE_PORT_ACTIVE_EVENT |
					  IB_DEVICE_SYS_IMAGE_GUID |
					  IB_DEVICE_RC_RNR_NAK_GEN |
					  IB_DEVICE_SRQ_RESIZE |
					  IB_DEVICE_MEM_MGT_EXTENSIONS |
					  IB_DEVICE_MEM_WINDOW |
					  IB_DEVICE_MEM_WINDOW_TYPE_2B |
					  IB_DEVICE_ATOMIC_WRITE |
					  IB_DEVICE_FLUSH_GLOBAL;
	if (IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API))
		attr->device_cap_flags |= IB_DEVICE_FLUSH_PERSISTENT;
	attr->kernel_cap_flags		= IBK_ALLOW_USER_UNREG | IBK_ON_DEMAND_PAGING;
	rxe_odp_query(&attr->odp_caps);
	attr->max_send_sge		= RXE_MAX_SGE;
	attr->max_recv_sge		= RXE_MAX_SGE;
	attr->max_sge_rd		= RXE_MAX_SGE;
	attr->max_cq			= RXE_MAX_CQ;
	attr->max_cqe			= RXE_MAX_CQE;
	attr->max_mr			= RXE_MAX_MR;
	attr->max_mw			= RXE_MAX_MW;
	attr->max_fast_reg_page_list_len = RXE_MAX_BLOCKS;
	attr->max_pd			= RXE_MAX_PD;
	attr->max_ah			= RXE_MAX_AH;
	attr->max_qp_rd_atom		= RXE_MAX_RD_ATOMIC;
	attr->max_qp_init_rd_atom	= RXE_MAX_RD_ATOMIC;
	attr->max_res_rd_atom		= RXE_MAX_RD_ATOMIC * RXE_MAX_QP;
	attr->atomic_cap		= IB_ATOMIC_HCA;
	attr->max_pkeys			= RXE_MAX_PKEY;
	attr->max_srq			= RXE_MAX_SRQ;
	attr->max_mcast_grp		= RXE_MAX_MCAST_GRP;
	attr->max_mcast_qp_attach	= RXE_MAX_MCAST_QP;
	attr->max_total_mcast_qp_attach	= RXE_MAX_MCAST_GRP * RXE_MAX_MCAST_QP;
	attr->max_srq_wr		= RXE_MAX_SRQ_WR;
	attr->max_srq_sge		= RXE_MAX_SGE;
	/* 4.096 us * 2^15 = 134 ms: a busy CPU may answer that late */
	attr->local_ca_ack_delay	= 15;
	return 0;
}

static int verbs_modify_device(struct ib_device *ibdev, int mask,
			       struct ib_device_modify *modify)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, modify->node_desc, sizeof(ibdev->node_desc));
	return 0;
}

static void verbs_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%s", RXE_VERSION);
}

static u8 verbs_phys_state(const struct net_device *ndev)
{
	if (!netif_running(ndev))
		return IB_PORT_PHYS_STATE_DISABLED;
	if (!netif_carrier_ok(ndev))
		return IB_PORT_PHYS_STATE_POLLING;
	return IB_PORT_PHYS_STATE_LINK_UP;
}

/* Sleeps and takes RTNL for the speed. The core has zeroed @attr. */
static int verbs_query_port(struct ib_device *ibdev, u32 port,
			    struct ib_port_attr *attr)
{
	struct rxe_dev *dev = to_rxe_dev(ibdev);
	u16 speed;
	u8 width;

	if (ib_get_eth_speed(ibdev, port, &speed, &width)) {
		/* The netdev is about to go */
		speed = IB_SPEED_SDR;
		width = IB_WIDTH_1X;
	}

	attr->state		= ib_get_curr_port_state(dev->ndev);
	attr->phys_state	= verbs_phys_state(dev->ndev);
	attr->max_mtu		= IB_MTU_4096;
	attr->active_mtu	= rxe_verbs_mtu(dev->ndev);
	attr->gid_tbl_len	= RXE_MAX_GID;
	attr->ip_gids		= true;
	attr->max_msg_sz	= RXE_MAX_MSG;
	attr->pkey_tbl_len	= RXE_MAX_PKEY;
	attr->bad_pkey_cntr	= rxe_counters_sum(dev, RXE_CNT_RX_BAD_PKEY);
	attr->qkey_viol_cntr	= rxe_counters_sum(dev, RXE_CNT_RX_BAD_QKEY);
	attr->max_vl_num	= 1;
	attr->active_speed	= speed;
	attr->active_width	= width;
	return 0;
}

static enum rdma_link_layer verbs_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/* RoCE v2 and no other RoCE, with QP 1 for the connection manager's datagrams. */
static int verbs_port_immutable(struct ib_device *ibdev, u32 port,
				struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP |
				    RDMA_CORE_CAP_IB_MAD |
				    RDMA_CORE_CAP_IB_CM |
				    RDMA_CORE_CAP_ETH_AH |
				    RDMA_CORE_CAP_AF_IB;
	immutable->gid_tbl_len = RXE_MAX_GID;
	immutable->pkey_tbl_len = RXE_MAX_PKEY;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static int verbs_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index >= RXE_MAX_PKEY)
		return -EINVAL;
	*pkey = RXE_DEFAULT_PKEY;
	return 0;
}

static struct rxe_track *to_track(struct ib_ucontext *uctx)
{
	return &container_of(uctx, struct rxe_ucontext, ib)->track;
}

static int verbs_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	struct rxe_dev *dev = to_rxe_dev(uctx->device);

	if (!atomic_add_unless(&dev->num_ucontext, 1, RXE_MAX_UCONTEXT))
		return -ENOMEM;
	rxe_track_add(dev, RXE_TRACK_CONTEXT, to_track(uctx), true);
	return 0;
}

static void verbs_dealloc_ucontext(struct ib_ucontext *uctx)
{
	struct rxe_dev *dev = to_rxe_dev(uctx->device);

	rxe_track_del(dev, to_track(uctx));
	rxe_ring_forget(dev, uctx);
	atomic_dec(&dev->num_ucontext);
}

/*
 * The device goes while a process has it open.  The process keeps the pages of
 * the rings it has mapped; nobody else looks at them any more.
 */
static void verbs_disassociate_ucontext(struct ib_ucontext *uctx)
{
}

/* What the core allocates of a counter; the driver's part stands alone (qpcounter.c) */
struct rxe_rdma_counter {
	struct rdma_counter ib;
};

const struct ib_device_ops rxe_verbs_ops = {
	.owner			= THIS_MODULE,
	.driver_id		= RDMA_DRIVER_RXE,
	.uverbs_abi_ver		= RXE_UVERBS_ABI_VERSION,

	.enable_driver		= rxe_debugfs_add,
	.dealloc_driver		= rxe_link_dealloc,
	.report_port_event	= rxe_link_port_event,

	.query_device		= verbs_query_device,
	.modify_device		= verbs_modify_device,
	.get_dev_fw_str		= verbs_fw_str,
	.query_port		= verbs_query_port,
	.get_link_layer		= verbs_link_layer,
	.get_port_immutable	= verbs_port_immutable,
	.query_pkey		= verbs_query_pkey,
	.process_mad		= rxe_pma_process_mad,

	.alloc_hw_port_stats	= rxe_counters_alloc_stats,
	.get_hw_stats		= rxe_counters_get_stats,

	.counter_init		= rxe_qpcounter_init,
	.counter_alloc_stats	= rxe_qpcounter_alloc_stats,
	.counter_bind_qp	= rxe_qpcounter_bind,
	.counter_unbind_qp	= rxe_qpcounter_unbind,
	.counter_update_stats	= rxe_qpcounter_update,
	.counter_dealloc	= rxe_qpcounter_dealloc,

	.fill_res_qp_entry	= rxe_restrack_qp,
	.fill_res_cq_entry	= rxe_restrack_cq,
	.fill_res_mr_entry	= rxe_restrack_mr,
	.fill_res_srq_entry	= rxe_restrack_srq,

	.alloc_ucontext		= verbs_alloc_ucontext,
	.dealloc_ucontext	= verbs_dealloc_ucontext,
	.disassociate_ucontext	= verbs_disassociate_ucontext,
	.mmap			= rxe_ring_mmap,

	.alloc_pd		= rxe_pd_alloc,
	.dealloc_pd		= rxe_pd_dealloc,

	.create_ah		= rxe_ah_create,
	.create_user_ah		= rxe_ah_create,
	.modify_ah		= rxe_ah_modify,
	.query_ah		= rxe_ah_query,
	.destroy_ah		= rxe_ah_destroy,

	.create_cq		= rxe_cq_create,
	.create_user_cq		= rxe_cq_create,
	.destroy_cq		= rxe_cq_destroy,
	.resize_user_cq		= rxe_cq_resize,
	.poll_cq		= rxe_cq_poll,
	.peek_cq		= rxe_cq_peek,
	.req_notify_cq		= rxe_cq_notify,

	.create_srq		= rxe_srq_create,
	.modify_srq		= rxe_srq_modify,
	.query_srq		= rxe_srq_query,
	.destroy_srq		= rxe_srq_destroy,
	.post_srq_recv		= rxe_srq_post,

	.get_dma_mr		= rxe_mr_get_dma,
	.reg_user_mr		= rxe_mr_reg_user,
	.advise_mr		= rxe_odp_advise,
	.alloc_mr		= rxe_mr_alloc,
	.map_mr_sg		= rxe_mr_map_sg,
	.dereg_mr		= rxe_mr_dereg,
	.alloc_mw		= rxe_mw_alloc,
	.dealloc_mw		= rxe_mw_dealloc,

	.create_qp		= rxe_qp_create,
	.modify_qp		= rxe_qp_modify,
	.query_qp		= rxe_qp_query,
	.destroy_qp		= rxe_qp_destroy,
	.post_send		= rxe_post_send,
	.post_recv		= rxe_recv_post,
	.attach_mcast		= rxe_mcast_attach,
	.detach_mcast		= rxe_mcast_detach,

	INIT_RDMA_OBJ_SIZE(ib_ah, rxe_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, rxe_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, rxe_mw, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, rxe_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, rxe_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, rxe_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, rxe_ucontext, ib),
	INIT_RDMA_OBJ_SIZE(rdma_counter, rxe_rdma_counter, ib),
};

/* From the MAC address as IPv6 does it; a random local one where there is none */
static __be64 verbs_guid(const struct net_device *ndev)
{
	union {
		u8	eui[8];
		__be64	guid;
	} id;

	if (ndev->addr_len == ETH_ALEN && is_valid_ether_addr(ndev->dev_addr)) {
		addrconf_addr_eui48(id.eui, (const char *)ndev->dev_addr);
	} else {
		get_random_bytes(id.eui, sizeof(id.eui));
		id.eui[0] &= ~3;
	}
	return id.guid;
}

/**
 * rxe_verbs_register() - let the world see a device
 * @dev: device; its operations are set, its netdev and sockets are there
 * @name: may hold one %d
 *
 * Context: process context, without RTNL.
 * Return: 0, then the core owns @dev, and it may be gone already; or an errno
 * (-ENFILE: the name is taken), then the caller owns it.
 */
int rxe_verbs_register(struct rxe_dev *dev, const char *name)
{
	struct ib_device *ib = &dev->ib;
	int ret;

	ib->node_type = RDMA_NODE_IB_CA;
	ib->phys_port_cnt = 1;
	ib->num_comp_vectors = num_possible_cpus();
	ib->node_guid = verbs_guid(dev->ndev);
	strscpy(ib->node_desc, "rxe", sizeof(ib->node_desc));
	/* User space rings the bell of a send queue by an empty POST_SEND */
	ib->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
			       BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);

	ret = ib_device_set_netdev(ib, dev->ndev, RXE_PORT);
	if (ret)
		return ret;
	return ib_register_device(ib, name, NULL);
}
