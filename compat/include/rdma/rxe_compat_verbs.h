/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The verbs API of a core whose operations are members of struct ib_device, and
 * that may never have heard of RoCE v2: everything newer that the driver names.
 *
 * Whole header: there is none of this name in a kernel, and it is included by
 * <rdma/ib_verbs.h> alone. Where the kernel has a structure of the
 * same name, ours is rxe_compat_NAME, and the driver sees it under NAME; the
 * sources in compat/ that translate (RXE_COMPAT_KERNEL_IB_OPS) see both.
 */
#ifndef RXE_COMPAT_RDMA_RXE_COMPAT_VERBS_H
#define RXE_COMPAT_RDMA_RXE_COMPAT_VERBS_H

#include <linux/bug.h>
#include <linux/if_ether.h>
#include <linux/netdevice.h>

/* --- numbers ------------------------------------------------------------------ */

#if !RXE_HAVE_RDMA_DRIVER_ID
enum rdma_driver_id {
	RDMA_DRIVER_UNKNOWN,
	RDMA_DRIVER_RXE = 14,
};
#endif

#if !RXE_HAVE_IB_GID_TYPE
enum ib_gid_type {
	IB_GID_TYPE_IB,
	IB_GID_TYPE_ROCE,
	IB_GID_TYPE_ROCE_UDP_ENCAP,
};
#endif

#if !RXE_HAVE_RDMA_AH_ATTR
enum rdma_ah_attr_type {
	RDMA_AH_ATTR_TYPE_UNDEFINED,
	RDMA_AH_ATTR_TYPE_IB,
	RDMA_AH_ATTR_TYPE_ROCE,
};
#endif

#ifndef IB_FW_VERSION_NAME_MAX
#define IB_FW_VERSION_NAME_MAX	32
#endif

/* On-demand paging is not offered there. */
enum ib_uverbs_advise_mr_advice {
	IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH,
	IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
};

#define IB_UVERBS_ADVISE_MR_FLAG_FLUSH	1
#define IB_ODP_SUPPORT_IMPLICIT		0
#define IB_ODP_SUPPORT_SRQ_RECV		0

/* By which IP a datagram came; the core does not ask (compat/ib_datagram.c). */
#if !RXE_HAVE_IB_WC_NETWORK_HDR_TYPE
#define RDMA_NETWORK_IPV4	0
#define RDMA_NETWORK_IPV6	0
#define IB_WC_WITH_NETWORK_HDR_TYPE 0
#define network_hdr_type	dlid_path_bits	/* 0, as on Ethernet */
#endif

/* The core's only RoCE; what goes over the wire is the driver's affair. */
#if !RXE_HAVE_RDMA_CORE_CAP_ROCE_UDP_ENCAP
#define RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP RDMA_CORE_CAP_PROT_ROCE
#endif

/* --- structures ----------------------------------------------------------------- */

/* A source GID: made for the length of a call, or with the address handle. */
struct rxe_compat_ib_gid_attr {
	struct net_device	*ndev;
	struct ib_device	*device;
	union ib_gid		gid;
	enum ib_gid_type	gid_type;
	u16			index;
	u32			port_num;
};

struct rxe_compat_ib_global_route {
	const struct rxe_compat_ib_gid_attr *sgid_attr;
	union ib_gid		dgid;
	u32			flow_label;
	u8			sgid_index;
	u8			hop_limit;
	u8			traffic_class;
};

struct rxe_compat_roce_ah_attr {
	u8			dmac[ETH_ALEN];
};

struct rxe_compat_rdma_ah_attr {
	struct rxe_compat_ib_global_route grh;
	u8			sl;
	u8			static_rate;
	u32			port_num;
	u8			ah_flags;
	enum rdma_ah_attr_type	type;
	struct rxe_compat_roce_ah_attr roce;
};

struct rxe_compat_rdma_ah_init_attr {
	struct rxe_compat_rdma_ah_attr *ah_attr;
	u32			flags;
	struct net_device	*xmit_slave;
};

static inline const struct rxe_compat_ib_global_route *
rxe_compat_rdma_ah_read_grh(const struct rxe_compat_rdma_ah_attr *attr)
{
	return &attr->grh;
}

static inline u8 rxe_compat_rdma_ah_get_ah_flags(const struct rxe_compat_rdma_ah_attr *attr)
{
	return attr->ah_flags;
}

static inline u32 rxe_compat_rdma_ah_get_port_num(const struct rxe_compat_rdma_ah_attr *attr)
{
	return attr->port_num;
}

struct rxe_compat_ib_qp_attr {
	enum ib_qp_state	qp_state;
	enum ib_qp_state	cur_qp_state;
	enum ib_mtu		path_mtu;
	enum ib_mig_state	path_mig_state;
	u32			qkey;
	u32			rq_psn;
	u32			sq_psn;
	u32			dest_qp_num;
	int			qp_access_flags;
	struct ib_qp_cap	cap;
	struct rxe_compat_rdma_ah_attr ah_attr;
	struct rxe_compat_rdma_ah_attr alt_ah_attr;
	u16			pkey_index;
	u16			alt_pkey_index;
	u8			en_sqd_async_notify;
	u8			sq_draining;
	u8			max_rd_atomic;
	u8			max_dest_rd_atomic;
	u8			min_rnr_timer;
	u32			port_num;
	u8			timeout;
	u8			retry_cnt;
	u8			rnr_retry;
	u32			alt_port_num;
	u8			alt_timeout;
};

struct rxe_compat_ib_port_attr {
	enum ib_port_state	state;
	enum ib_mtu		max_mtu;
	enum ib_mtu		active_mtu;
	int			gid_tbl_len;
	unsigned int		ip_gids:1;
	u32			port_cap_flags;
	u32			max_msg_sz;
	u32			bad_pkey_cntr;
	u32			qkey_viol_cntr;
	u16			pkey_tbl_len;
	u8			max_vl_num;
	u8			active_width;
	u16			active_speed;
	u8			phys_state;
};

/*
 * Counters, as later cores show them; here ib_sysfs.c and rdma_nl.c do, also where
 * the core has some of its own (from 4.7 on).
 */
struct rxe_compat_rdma_hw_stats {
	unsigned long		lifespan;
	const char * const	*names;
	int			num_counters;
	u64			value[];
};

#undef RDMA_HW_STATS_DEFAULT_LIFESPAN
#define RDMA_HW_STATS_DEFAULT_LIFESPAN	10
#define rdma_hw_stats		rxe_compat_rdma_hw_stats

#ifndef RXE_COMPAT_KERNEL_IB_OPS
#define rdma_ah_attr		rxe_compat_rdma_ah_attr
#define rdma_ah_init_attr	rxe_compat_rdma_ah_init_attr
#define rdma_ah_read_grh	rxe_compat_rdma_ah_read_grh
#define rdma_ah_get_ah_flags	rxe_compat_rdma_ah_get_ah_flags
#define rdma_ah_get_port_num	rxe_compat_rdma_ah_get_port_num
#define ib_gid_attr		rxe_compat_ib_gid_attr
#define ib_global_route		rxe_compat_ib_global_route
#define ib_qp_attr		rxe_compat_ib_qp_attr
#define ib_port_attr		rxe_compat_ib_port_attr
#endif

/* --- work requests ---------------------------------------------------------------- */

static inline const struct ib_rdma_wr *rxe_compat_rdma_wr(const struct ib_send_wr *wr)
{
	return container_of(wr, const struct ib_rdma_wr, wr);
}

static inline const struct ib_atomic_wr *rxe_compat_atomic_wr(const struct ib_send_wr *wr)
{
	return container_of(wr, const struct ib_atomic_wr, wr);
}

static inline const struct ib_ud_wr *rxe_compat_ud_wr(const struct ib_send_wr *wr)
{
	return container_of(wr, const struct ib_ud_wr, wr);
}

static inline const struct ib_reg_wr *rxe_compat_reg_wr(const struct ib_send_wr *wr)
{
	return container_of(wr, const struct ib_reg_wr, wr);
}

/* Nobody there passes an offset. */
#if !RXE_HAVE_MAP_MR_SG_OFFSET
#define ib_sg_to_pages(mr, sg, nents, offset, set_page) \
	((void)(offset), (ib_sg_to_pages)(mr, sg, nents, set_page))
#endif

#define reg_wr		rxe_compat_reg_wr
#define ud_wr		rxe_compat_ud_wr
#define rdma_wr		rxe_compat_rdma_wr
#define atomic_wr	rxe_compat_atomic_wr

/* --- objects and operations ----------------------------------------------------- */

#define DECLARE_RDMA_OBJ_SIZE(ib_struct)	size_t size_##ib_struct

#define INIT_RDMA_OBJ_SIZE(ib_struct, drv_struct, member)			\
	.size_##ib_struct = sizeof(struct drv_struct) +				\
			    BUILD_BUG_ON_ZERO(offsetof(struct drv_struct, member))

/* --- devices (compat/ib_device.c) --------------------------------------------------- */

/* A client that is told of new names; no device gets one there. */
struct rxe_compat_ib_client {
	const char *name;
	void (*rename)(struct ib_device *device, void *data);
};

static inline int rxe_compat_ib_register_client(struct rxe_compat_ib_client *client)
{
	return 0;
}

static inline void rxe_compat_ib_unregister_client(struct rxe_compat_ib_client *client)
{
}

struct ib_device *rxe_compat_ib_alloc_device(size_t size);
void rxe_compat_ib_dealloc_device(struct ib_device *device);
int rxe_compat_ib_register_device(struct ib_device *device, const char *name,
				  struct device *dma_device);
int ib_device_set_netdev(struct ib_device *device, struct net_device *ndev,
			 unsigned int port);
bool ib_device_try_get(struct ib_device *device);
void ib_device_put(struct ib_device *device);
void ib_unregister_device_queued(struct ib_device *device);
void rxe_compat_ib_devices_remove(void);
int rxe_compat_ib_get_eth_speed(struct ib_device *device, u32 port, u16 *speed, u8 *width);

/* For the rest of compat/ */
enum rxe_compat_object {
	RXE_COMPAT_PD,
	RXE_COMPAT_CQ,
	RXE_COMPAT_QP,
	RXE_COMPAT_MR,
	RXE_COMPAT_CTX,
	RXE_COMPAT_SRQ,
	RXE_COMPAT_OBJECTS
};

struct rxe_compat_ib_sysfs {
	struct kobject		*port;
	struct kobject		*gid_attrs;
	struct rdma_hw_stats	*stats;
};

int rxe_compat_ib_sysfs_add(struct ib_device *device, struct kobject *port,
			    struct rxe_compat_ib_sysfs *files);
void rxe_compat_ib_sysfs_remove(struct rxe_compat_ib_sysfs *files);
void rxe_compat_ib_sysfs_exit(void);
int rxe_compat_ib_sysfs_counter(struct ib_device *device, struct rxe_compat_ib_sysfs *files,
				unsigned int index, u64 *value);
int rxe_compat_ib_device_counter(struct ib_device *device, unsigned int index, u64 *value);
const char *rxe_compat_ib_device_counter_name(struct ib_device *device, unsigned int index);
struct rdma_hw_stats *rxe_compat_ib_ops_stats_alloc(struct ib_device *device, u32 port);
int rxe_compat_ib_ops_stats_read(struct ib_device *device, struct rdma_hw_stats *stats,
				 u32 port, int index);
int rxe_compat_ib_device_objects(struct ib_device *device, enum rxe_compat_object kind,
				 int change);
struct net_device *rxe_compat_ib_device_netdev(struct ib_device *device);
int rxe_compat_ib_device_each(u32 after,
			      int (*func)(struct ib_device *device, u32 index, void *arg),
			      void *arg);
int rxe_compat_ib_device_delete(const char *name, const struct net_device *ndev);
int rxe_compat_ib_device_init(void);
void rxe_compat_ib_device_exit(void);
void rxe_compat_ib_ops_dealloc(struct ib_device *device);
struct rxe_compat_ib_device_ops;
const struct rxe_compat_ib_device_ops *rxe_compat_ib_ops(void);

struct list_head *rxe_compat_ib_device_res(struct ib_device *device);

#if !RXE_HAVE_RDMA_NL_REGISTER

void rxe_compat_res_init(struct list_head *lists);
void rxe_compat_res_add(struct ib_device *device, enum rxe_compat_object kind,
			const void *object, bool is_user);
void rxe_compat_res_del(const void *object);

#else

/* Nobody would ask. */
static inline void rxe_compat_res_init(struct list_head *lists)
{
}

static inline void rxe_compat_res_add(struct ib_device *device, enum rxe_compat_object kind,
				      const void *object, bool is_user)
{
}

static inline void rxe_compat_res_del(const void *object)
{
}

#endif /* !RXE_HAVE_RDMA_NL_REGISTER */

int rxe_compat_gid_get(struct ib_device *device, u8 port, u16 index,
		       struct rxe_compat_ib_gid_attr *gid);
void rxe_compat_gid_put(struct rxe_compat_ib_gid_attr *gid);

struct rxe_compat_receives;

union ib_gid rxe_compat_group(const union ib_gid *gid);

#if !RXE_HAVE_IB_WC_NETWORK_HDR_TYPE
int rxe_compat_receives_create(const struct ib_qp_init_attr *attr,
			       struct rxe_compat_receives **receives);
unsigned long rxe_compat_receives_lock(struct rxe_compat_receives *receives);
void rxe_compat_receives_unlock(struct rxe_compat_receives *receives,
				const struct ib_recv_wr *wr, const struct ib_recv_wr *end,
				unsigned long flags);
void rxe_compat_receive_polled(struct rxe_compat_receives *receives, struct ib_wc *wc);
#else
/* the core knows what the driver does */
static inline int rxe_compat_receives_create(const struct ib_qp_init_attr *attr,
					     struct rxe_compat_receives **receives)
{
	return 0;
}

static inline unsigned long rxe_compat_receives_lock(struct rxe_compat_receives *receives)
{
	return 0;
}

static inline void rxe_compat_receives_unlock(struct rxe_compat_receives *receives,
					      const struct ib_recv_wr *wr,
					      const struct ib_recv_wr *end, unsigned long flags)
{
}

static inline void rxe_compat_receive_polled(struct rxe_compat_receives *receives,
					     struct ib_wc *wc)
{
}
#endif

/*
 * The driver asks for the device's namespace. Loses: the core shows a device in
 * every namespace.
 */
#define ib_alloc_device_with_net(type, member, net)				\
	((void)(net),								\
	 container_of(rxe_compat_ib_alloc_device(sizeof(struct type) +		\
			BUILD_BUG_ON_ZERO(offsetof(struct type, member))),	\
		      struct type, member))

#ifndef RXE_COMPAT_KERNEL_IB_OPS
#define ib_get_eth_speed	rxe_compat_ib_get_eth_speed
#define ib_dealloc_device	rxe_compat_ib_dealloc_device
#define ib_register_device	rxe_compat_ib_register_device
#define ib_client		rxe_compat_ib_client
#define ib_register_client	rxe_compat_ib_register_client
#define ib_unregister_client	rxe_compat_ib_unregister_client
#if !RXE_HAVE_IB_MODIFY_QP_IS_OK_4
#define ib_modify_qp_is_ok(cur, next, type, mask) \
	ib_modify_qp_is_ok(cur, next, type, (enum ib_qp_attr_mask)(mask), \
			   IB_LINK_LAYER_ETHERNET)
#endif
#endif

#endif /* RXE_COMPAT_RDMA_RXE_COMPAT_VERBS_H */
