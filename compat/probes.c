// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every question asked of a kernel tree.
 *
 * probe.sh compiles this file once and reads the answers from the error lines;
 * README.md says how to add a question. The answer to NAME is RXE_HAVE_NAME, 0
 * or 1, in the generated rxe_features.h, which only compat/ may look at.
 *
 * Four kinds of question:
 *   Header: NAME PATH     is there a header of that name?
 *   Export: NAME SYMBOL   is the symbol in Module.symvers?
 *   probe:NAME            does the block compile?
 *   require:NAME          if the block does not compile, the build stops with
 *                         its #error text, or with that of "Require: NAME text"
 *
 * A probe asks about one API, never about a kernel generation: distributions
 * mix them. Each says the kernel version that made it necessary, with the
 * subject of the upstream commit in quotes, so that raising the floor means
 * deleting probes. "yes" is the newest form, and a probe that every supported
 * kernel answers with "yes" can go.
 *
 * Traps: an undeclared function is only a warning when called, so ask for its address;
 * sizeof does not work on a bit field, so assign to it; no block may need another.
 */

/*
 * Headers that come and go. Asked by name, because a missing header would end
 * the compiler run.
 *
 * Linux 7.1: "ipv6: remove ipv6_stub infrastructure completely"
 * Header: net_ipv6_stubs_h net/ipv6_stubs.h
 *
 * Linux 4.11: "refcount_t: Introduce a special purpose refcount type"
 * Header: linux_refcount_h linux/refcount.h
 *
 * Linux 4.14: "IB/core: Add new ioctl interface"
 * Header: rdma_uverbs_ioctl_h rdma/uverbs_ioctl.h
 *
 * Linux 4.16: "RDMA/restrack: Add general infrastructure to track RDMA resources"
 * Header: rdma_restrack_h rdma/restrack.h
 *
 * Linux 4.14: "mm/hmm: heterogeneous memory management (HMM for short)"
 * Header: linux_hmm_h linux/hmm.h
 *
 * Linux 4.11: "sched/headers: Prepare for new header dependencies before moving code
 * to <linux/sched/mm.h>"
 * Header: linux_sched_mm_h linux/sched/mm.h
 */

#include <linux/crc32.h>
#include <linux/dma-mapping.h>
#include <linux/ethtool.h>
#include <linux/highmem.h>
#if RXE_HAVE_LINUX_HMM_H
#include <linux/hmm.h>
#endif
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/ioport.h>
#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>
#include <net/ip6_fib.h>
#include <net/ipv6.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_verbs.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_netlink.h>
#if RXE_HAVE_RDMA_RESTRACK_H
#include <rdma/restrack.h>
#endif
#if RXE_HAVE_RDMA_UVERBS_IOCTL_H
#include <rdma/uverbs_ioctl.h>
#endif

/* a function of that name to hold a question */
#define PROBE(name)		void rxe_probe_##name(void); \
				void rxe_probe_##name(void)
/* a function or variable of that name is declared */
#define DECLARED(name)		((void)sizeof(&(name)))
/* the structure has that member, which is not a bit field */
#define MEMBER(type, name)	((void)sizeof(((type *)NULL)->name))
/* the expression has exactly that type */
#define SAME(expr, type) \
	((void)sizeof(char[1 - 2 * !__builtin_types_compatible_p(typeof(expr), type)]))

/* --- what no kernel can do without -------------------------------------- */

#line 1 "require:config"
#if !IS_ENABLED(CONFIG_INFINIBAND) || !IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS)
#error "It is configured without CONFIG_INFINIBAND or CONFIG_INFINIBAND_USER_ACCESS."
#endif
#if !IS_ENABLED(CONFIG_INFINIBAND_ADDR_TRANS)
#error "It is configured without CONFIG_INFINIBAND_ADDR_TRANS."
#endif
#if !IS_ENABLED(CONFIG_NET_UDP_TUNNEL)
#error "It is configured without CONFIG_NET_UDP_TUNNEL."
#endif

/*
 * The core changed shape between: from one that lets drivers allocate every object
 * to one that allocates all but QPs.
 * Require: core Its RDMA core is one of Linux 4.20 to 5.2; 4.4 to 4.19 and 5.3 or later are served.
 */
#line 1 "require:core"
PROBE(core)
{
#ifdef DECLARE_RDMA_OBJ_SIZE
	MEMBER(struct ib_device_ops, size_ib_cq);
#else
	MEMBER(struct ib_device, create_cq);
	SAME(&ib_register_device, int (*)(struct ib_device *,
					  int (*)(struct ib_device *, u8, struct kobject *)));
#endif
}

/* --- the engine's own controls ------------------------------------------ */

#line 1 "probe:must_pass"
PROBE(must_pass)
{
	DECLARED(wake_up_process);
	MEMBER(struct ib_device, phys_port_cnt);
	SAME(1, int);
}

#line 1 "probe:must_fail"
PROBE(must_fail)
{
	DECLARED(rxe_no_kernel_declares_this);
}

/* --- rdma/ib_verbs.h: struct ib_device_ops ------------------------------- */

/* Linux 5.0: "RDMA/core: Introduce ib_device_ops" */
#line 1 "probe:ib_device_ops"
PROBE(ib_device_ops)
{
	MEMBER(struct ib_device_ops, query_device);
}

/*
 * create_cq then serves the kernel only.
 * Linux 7.1: "RDMA/core: Prepare create CQ path for API unification"
 */
#line 1 "probe:ib_ops_create_user_cq"
PROBE(ib_ops_create_user_cq)
{
	MEMBER(struct ib_device_ops, create_user_cq);
}

/* Linux 6.11: "RDMA: Pass entire uverbs attr bundle to create cq function" */
#line 1 "probe:ib_ops_create_cq_attrs"
PROBE(ib_ops_create_cq_attrs)
{
	struct ib_device_ops ops;

	SAME(ops.create_cq, int (*)(struct ib_cq *, const struct ib_cq_init_attr *,
				    struct uverbs_attr_bundle *));
}

/* Linux 7.1: "RDMA: Clarify that CQ resize is a user-space verb" */
#line 1 "probe:ib_ops_resize_user_cq"
PROBE(ib_ops_resize_user_cq)
{
	MEMBER(struct ib_device_ops, resize_user_cq);
}

/* Linux 6.17: "IB: Extend UVERBS_METHOD_REG_MR to get DMAH" */
#line 1 "probe:ib_ops_reg_user_mr_dmah"
PROBE(ib_ops_reg_user_mr_dmah)
{
	struct ib_device_ops ops;

	SAME(ops.reg_user_mr, struct ib_mr *(*)(struct ib_pd *, u64, u64, u64, int,
						struct ib_dmah *, struct ib_udata *));
}

/* Linux 6.14: "RDMA/core: Support link status events dispatching" */
#line 1 "probe:ib_ops_report_port_event"
PROBE(ib_ops_report_port_event)
{
	MEMBER(struct ib_device_ops, report_port_event);
}

/* Linux 5.11: "RDMA: Remove AH from uverbs_cmd_mask": create_ah serves the kernel only */
#line 1 "probe:ib_ops_create_user_ah"
PROBE(ib_ops_create_user_ah)
{
	MEMBER(struct ib_device_ops, create_user_ah);
}

/* Linux 5.13: "RDMA: Support more than 255 rdma ports" */
#line 1 "probe:ib_ops_port_u32"
PROBE(ib_ops_port_u32)
{
	struct ib_device_ops ops;

	SAME(ops.query_pkey, int (*)(struct ib_device *, u32, u16, u16 *));
}

/* Linux 5.5: "RDMA: Change MAD processing function to remove extra casting and parameter" */
#line 1 "probe:ib_ops_process_mad_whole"
PROBE(ib_ops_process_mad_whole)
{
	static struct ib_device_ops ops;
	struct ib_mad *mad = NULL;

	ops.process_mad(NULL, 0, 1, NULL, NULL, mad, mad, NULL, NULL);
}

/* Linux 5.14: "RDMA: Split the alloc_hw_stats() ops to port and device variants" */
#line 1 "probe:ib_ops_alloc_hw_port_stats"
PROBE(ib_ops_alloc_hw_port_stats)
{
	MEMBER(struct ib_device_ops, alloc_hw_port_stats);
}

/* Linux 5.15: "RDMA: Globally allocate and release QP memory" */
#line 1 "probe:ib_ops_size_ib_qp"
PROBE(ib_ops_size_ib_qp)
{
	MEMBER(struct ib_device_ops, size_ib_qp);
}

/* Linux 5.10: "RDMA: Restore ability to fail on PD deallocate" */
#line 1 "probe:ib_ops_dealloc_pd_int"
PROBE(ib_ops_dealloc_pd_int)
{
	struct ib_device_ops ops;

	SAME(ops.dealloc_pd, int (*)(struct ib_pd *, struct ib_udata *));
}

/* Linux 5.10: "RDMA: Restore ability to fail on AH destroy" */
#line 1 "probe:ib_ops_destroy_ah_int"
PROBE(ib_ops_destroy_ah_int)
{
	struct ib_device_ops ops;

	SAME(ops.destroy_ah, int (*)(struct ib_ah *, u32));
}

/* Linux 5.10: "RDMA: Allow fail of destroy CQ" */
#line 1 "probe:ib_ops_destroy_cq_int"
PROBE(ib_ops_destroy_cq_int)
{
	struct ib_device_ops ops;

	SAME(ops.destroy_cq, int (*)(struct ib_cq *, struct ib_udata *));
}

/* Linux 5.10: "RDMA: Restore ability to fail on SRQ destroy" */
#line 1 "probe:ib_ops_destroy_srq_int"
PROBE(ib_ops_destroy_srq_int)
{
	struct ib_device_ops ops;

	SAME(ops.destroy_srq, int (*)(struct ib_srq *, struct ib_udata *));
}

/* Linux 5.9: "RDMA: Remove the udata parameter from alloc_mr callback" */
#line 1 "probe:ib_ops_alloc_mr_no_udata"
PROBE(ib_ops_alloc_mr_no_udata)
{
	struct ib_device_ops ops;

	SAME(ops.alloc_mr, struct ib_mr *(*)(struct ib_pd *, enum ib_mr_type, u32));
}

/* Linux 5.10: "RDMA: Clean MW allocation and free flows" */
#line 1 "probe:ib_ops_size_ib_mw"
PROBE(ib_ops_size_ib_mw)
{
	MEMBER(struct ib_device_ops, size_ib_mw);
}

/* Linux 5.9: "RDMA: Add a dedicated QP resource tracker function" */
#line 1 "probe:ib_ops_fill_res_qp"
PROBE(ib_ops_fill_res_qp)
{
	MEMBER(struct ib_device_ops, fill_res_qp_entry);
}

/* Linux 6.5: "RDMA/core: Add dedicated SRQ resource tracker function" */
#line 1 "probe:ib_ops_fill_res_srq"
PROBE(ib_ops_fill_res_srq)
{
	MEMBER(struct ib_device_ops, fill_res_srq_entry);
}

/* Linux 6.15: "RDMA/core: Pass port to counter bind/unbind operations" */
#line 1 "probe:ib_ops_counter_port"
PROBE(ib_ops_counter_port)
{
	struct ib_device_ops ops;

	SAME(ops.counter_unbind_qp, int (*)(struct ib_qp *, u32));
}

/* Linux 6.15: "RDMA/core: Create and destroy rdma_counter using rdma_zalloc_drv_obj()" */
#line 1 "probe:ib_ops_size_rdma_counter"
PROBE(ib_ops_size_rdma_counter)
{
	MEMBER(struct ib_device_ops, size_rdma_counter);
}

/* Linux 4.18: "RDMA/nldev: helper functions to add driver attributes" */
#line 1 "probe:rdma_nl_put_driver_u32"
PROBE(rdma_nl_put_driver_u32)
{
	DECLARED(rdma_nl_put_driver_u32);
}

/* Linux 5.5: "RDMA/mlx5: Return ODP type per MR" */
#line 1 "probe:rdma_nl_put_driver_string"
PROBE(rdma_nl_put_driver_string)
{
	DECLARED(rdma_nl_put_driver_string);
}

/* --- rdma/ib_verbs.h: operations in struct ib_device ---------------------- */

/*
 * Distributions have put these into such a core; one with a table of its own for
 * operations has other forms of them, and is not asked.
 */

/* Linux 4.10: "IB/core: Let create_ah return extended response to user" */
#line 1 "probe:create_ah_udata"
#ifndef DECLARE_RDMA_OBJ_SIZE
PROBE(create_ah_udata)
{
	struct ib_device device;
	struct ib_pd *pd = NULL;

	device.create_ah(pd, NULL, NULL);
}
#endif

/* Linux 4.12: "IB/core: Rename struct ib_ah_attr to rdma_ah_attr" */
#line 1 "probe:rdma_ah_attr"
PROBE(rdma_ah_attr)
{
	MEMBER(struct rdma_ah_attr, grh);
}

/* Linux 4.19: "RDMA, core and ULPs: Declare ib_post_send() and ib_post_recv() arguments const" */
#line 1 "probe:ib_post_const"
#ifndef DECLARE_RDMA_OBJ_SIZE
PROBE(ib_post_const)
{
	struct ib_device device;

	SAME(device.post_recv, int (*)(struct ib_qp *, const struct ib_recv_wr *,
				       const struct ib_recv_wr **));
}
#endif

/* Linux 4.19: "RDMA: Use GID from the ib_gid_attr during the add_gid() callback" */
#line 1 "probe:add_gid_attr"
#ifndef DECLARE_RDMA_OBJ_SIZE
PROBE(add_gid_attr)
{
	struct ib_device device;

	SAME(device.add_gid, int (*)(const struct ib_gid_attr *, void **));
}
#endif

/* Linux 4.17: "RDMA: Use ib_gid_attr during GID modification": the attribute has the place */
#line 1 "probe:del_gid_attr"
#ifndef DECLARE_RDMA_OBJ_SIZE
PROBE(del_gid_attr)
{
	struct ib_device device;

	SAME(device.del_gid, int (*)(const struct ib_gid_attr *, void **));
}
#endif

/* Linux 4.6: "IB/core: Add vendor's specific data to alloc mw" */
#line 1 "probe:alloc_mw_udata"
#ifndef DECLARE_RDMA_OBJ_SIZE
PROBE(alloc_mw_udata)
{
	struct ib_device device;
	struct ib_pd *pd = NULL;

	device.alloc_mw(pd, IB_MW_TYPE_1, NULL);
}
#endif

/* Linux 4.7: "IB/core: add passing an offset into the SG to ib_map_mr_sg" */
#line 1 "probe:map_mr_sg_offset"
#ifndef DECLARE_RDMA_OBJ_SIZE
PROBE(map_mr_sg_offset)
{
	struct ib_device device;
	struct scatterlist *sg = NULL;
	struct ib_mr *mr = NULL;

	device.map_mr_sg(mr, sg, 0, NULL);
}
#endif

/* Linux 4.11: "IB/rxe, IB/rdmavt: Use dma_virt_ops instead of duplicating it" */
#line 1 "probe:ib_dma_mapping_ops_free"
#ifndef DECLARE_RDMA_OBJ_SIZE
struct ib_dma_mapping_ops {
	int unused;
};
#endif

/* Linux 4.17: "IB/uverbs: Extend uverbs_ioctl header with driver_id" */
#line 1 "probe:ib_device_driver_id"
#ifndef DECLARE_RDMA_OBJ_SIZE
PROBE(ib_device_driver_id)
{
	MEMBER(struct ib_device, driver_id);
}
#endif

/* Linux 4.20: "RDMA: Remove unused parameter from ib_modify_qp_is_ok()" */
#line 1 "probe:ib_modify_qp_is_ok_4"
PROBE(ib_modify_qp_is_ok_4)
{
	(void)ib_modify_qp_is_ok(IB_QPS_RESET, IB_QPS_INIT, IB_QPT_RC, IB_QP_STATE);
}

/* --- rdma/ib_verbs.h: the rest ------------------------------------------- */

/* Linux 4.5: "IB/core: Add ROCE_UDP_ENCAP (RoCE V2) type" */
#line 1 "probe:ib_gid_type"
PROBE(ib_gid_type)
{
	enum ib_gid_type type = IB_GID_TYPE_ROCE_UDP_ENCAP;

	(void)type;
}

/* Linux 4.5: "IB/core: Add gid_type to gid attribute": and sysfs shows it */
#line 1 "probe:ib_gid_attr_gid_type"
PROBE(ib_gid_attr_gid_type)
{
	MEMBER(struct ib_gid_attr, gid_type);
}

/*
 * Asked where entries have no references (ib_gid_attr_gid): up to 4.18.
 * Linux 4.5: "IB/core: Add gid_type to gid attribute": found by type, too
 */
#line 1 "probe:ib_find_gid_by_type"
#ifndef DECLARE_RDMA_OBJ_SIZE
PROBE(ib_find_gid_by_type)
{
	(void)ib_find_cached_gid_by_port(NULL, NULL, IB_GID_TYPE_IB, 1, NULL, NULL);
}
#endif

/* Linux 4.5: "IB/core: Add rdma_network_type to wc" */
#line 1 "probe:ib_wc_network_hdr_type"
PROBE(ib_wc_network_hdr_type)
{
	MEMBER(struct ib_wc, network_hdr_type);
}

/* Linux 4.5: "IB/core: Add ROCE_UDP_ENCAP (RoCE V2) type": and ports that do it */
#line 1 "probe:rdma_core_cap_roce_udp_encap"
#ifndef RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP
#error "no"
#endif

/* Linux 4.17: "IB/uverbs: Extend uverbs_ioctl header with driver_id" */
#line 1 "probe:rdma_driver_id"
PROBE(rdma_driver_id)
{
	enum rdma_driver_id id = RDMA_DRIVER_RXE;

	(void)id;
}

/* Linux 5.4: "RDMA: Introduce ib_port_phys_state enum" */
#line 1 "probe:ib_port_phys_state"
PROBE(ib_port_phys_state)
{
	enum ib_port_phys_state state = IB_PORT_PHYS_STATE_LINK_UP;

	(void)state;
}

/* Linux 4.19: "IB/core: add max_send_sge and max_recv_sge attributes" */
#line 1 "probe:ib_device_attr_max_send_sge"
PROBE(ib_device_attr_max_send_sge)
{
	MEMBER(struct ib_device_attr, max_send_sge);
}

/* Linux 4.14: "IB/core: Add generic function to extract IB speed from netdev" */
#line 1 "probe:ib_get_eth_speed"
PROBE(ib_get_eth_speed)
{
	DECLARED(ib_get_eth_speed);
}

/* Linux 4.19: "IB/core: Introduce GID attribute get, put and hold APIs" */
#line 1 "probe:ib_gid_attr_gid"
PROBE(ib_gid_attr_gid)
{
	MEMBER(struct ib_gid_attr, gid);
}

/* Linux 4.19: "IB/rxe: Revise the ib_wr_opcode enum": the numbers of user space have names */
#line 1 "probe:ib_uverbs_wr_opcode"
PROBE(ib_uverbs_wr_opcode)
{
	(void)IB_UVERBS_WR_SEND;
}

/* Linux 5.10: "RDMA/core: Added missing WR and WC opcodes": those of completions */
#line 1 "probe:ib_uverbs_wc_opcode"
PROBE(ib_uverbs_wc_opcode)
{
	(void)IB_UVERBS_WC_SEND;
}

/* Linux 6.2: "RDMA: Extend RDMA user ABI to support atomic write" */
#line 1 "probe:ib_uverbs_wr_atomic_write"
PROBE(ib_uverbs_wr_atomic_write)
{
	(void)IB_UVERBS_WR_ATOMIC_WRITE;
}

/* Linux 6.2: "RDMA: Extend RDMA user ABI to support flush" */
#line 1 "probe:ib_uverbs_wr_flush"
PROBE(ib_uverbs_wr_flush)
{
	(void)IB_UVERBS_WR_FLUSH;
}

/* Linux 6.2: "RDMA: Extend RDMA kernel ABI to support atomic write" */
#line 1 "probe:ib_device_atomic_write"
PROBE(ib_device_atomic_write)
{
	(void)IB_DEVICE_ATOMIC_WRITE;
}

/* Linux 6.2: "RDMA: Extend RDMA kernel verbs ABI to support flush" */
#line 1 "probe:ib_device_flush"
PROBE(ib_device_flush)
{
	(void)(IB_DEVICE_FLUSH_GLOBAL | IB_ACCESS_FLUSH_GLOBAL);
}

/* Linux 4.6: "memremap: Change region_intersects() to take @flags and @desc" */
#line 1 "probe:region_intersects_desc"
PROBE(region_intersects_desc)
{
	int found = region_intersects(0, 1, IORESOURCE_MEM, IORES_DESC_PERSISTENT_MEMORY);

	(void)found;
}

/* Linux 4.13: "x86, dax, libnvdimm: remove wb_cache_pmem() indirection" */
#line 1 "probe:arch_wb_cache_pmem"
PROBE(arch_wb_cache_pmem)
{
	DECLARED(arch_wb_cache_pmem);
}

/* Linux 4.8: "IB/core: Take into account optional UDP and XRC headers" (not verified) */
#line 1 "probe:iboe_get_mtu_v2"
PROBE(iboe_get_mtu_v2)
{
	(void)IB_EXT_XRC_BYTES;
}

/* Linux 5.10: "RDMA: Fix link active_speed size" */
#line 1 "probe:ib_port_attr_active_speed_u16"
PROBE(ib_port_attr_active_speed_u16)
{
	struct ib_port_attr attr;

	SAME(attr.active_speed, u16);
}

/* Linux 5.8: "RDMA: Group create AH arguments in struct" */
#line 1 "probe:rdma_ah_init_attr"
PROBE(rdma_ah_init_attr)
{
	MEMBER(struct rdma_ah_init_attr, ah_attr);
}

/* Linux 5.10: "RDMA: Explicitly pass in the dma_device to ib_register_device" */
#line 1 "probe:ib_register_device_dma"
PROBE(ib_register_device_dma)
{
	SAME(&ib_register_device, int (*)(struct ib_device *, const char *, struct device *));
}

/* Linux 5.11: "RDMA/core: remove use of dma_virt_ops" */
#line 1 "probe:ib_uses_virt_dma"
PROBE(ib_uses_virt_dma)
{
	DECLARED(ib_uses_virt_dma);
}

/* Linux 5.1: "RDMA/core: Add RDMA_NLDEV_CMD_NEWLINK/DELLINK support" */
#line 1 "probe:rdma_link_ops"
PROBE(rdma_link_ops)
{
	MEMBER(struct rdma_link_ops, newlink);
}

/* Linux 5.19: "RDMA: Split kernel-only global device caps from uverbs device caps" */
#line 1 "probe:ib_device_attr_kernel_cap_flags"
PROBE(ib_device_attr_kernel_cap_flags)
{
	MEMBER(struct ib_device_attr, kernel_cap_flags);
}

/* Linux 4.14: "RDMA/netlink: Remove netlink clients infrastructure" */
#line 1 "probe:rdma_nl_register"
PROBE(rdma_nl_register)
{
	DECLARED(rdma_nl_register);
}

/* Linux 5.10: "RDMA/mlx5: Extend advice MR to support non faulting mode" */
#line 1 "probe:ib_advise_mr_no_fault"
PROBE(ib_advise_mr_no_fault)
{
	(void)IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
}

/* Linux 6.15: "RDMA/rxe: Enable ODP in RDMA FLUSH operation" */
#line 1 "probe:ib_odp_support_flush"
PROBE(ib_odp_support_flush)
{
	(void)(IB_ODP_SUPPORT_FLUSH | IB_ODP_SUPPORT_ATOMIC_WRITE);
}

/* Linux 5.11: "RDMA: Check attr_mask during modify_qp" */
#line 1 "probe:ib_qp_attr_standard_bits"
PROBE(ib_qp_attr_standard_bits)
{
	(void)IB_QP_ATTR_STANDARD_BITS;
}

/* Linux 5.16: "RDMA/counter: Add a descriptor in struct rdma_hw_stats" */
#line 1 "probe:rdma_stat_desc"
PROBE(rdma_stat_desc)
{
	MEMBER(struct rdma_stat_desc, name);
}

/* Linux 6.17: "RDMA/core: Extend RDMA device registration to be net namespace aware" */
#line 1 "probe:ib_alloc_device_with_net"
#ifndef ib_alloc_device_with_net
#error "no"
#endif

/* Linux 6.14: "RDMA/core: Support link status events dispatching" */
#line 1 "probe:ib_get_curr_port_state"
PROBE(ib_get_curr_port_state)
{
	DECLARED(ib_get_curr_port_state);
}

/* --- rdma/uverbs_ioctl.h -------------------------------------------------- */

/* Linux 5.1: "IB/verbs: Add helper function rdma_udata_to_drv_context" */
#line 1 "probe:rdma_udata_to_drv_context"
#ifndef rdma_udata_to_drv_context
#error "no"
#endif

/* Linux 5.11: "IB/verbs: avoid nested container_of()" */
#line 1 "probe:rdma_udata_to_uverbs_attr_bundle"
PROBE(rdma_udata_to_uverbs_attr_bundle)
{
	DECLARED(rdma_udata_to_uverbs_attr_bundle);
}

/* Linux 7.1: "RDMA: Add ib_copy_validate_udata_in()" */
#line 1 "probe:ib_copy_validate_udata_in"
#ifndef ib_copy_validate_udata_in
#error "no"
#endif

/* Linux 7.1: "RDMA: Add ib_respond_udata()" */
#line 1 "probe:ib_respond_udata"
#ifndef ib_respond_udata
#error "no"
#endif

/* Linux 7.1: "RDMA: Add ib_is_udata_in_empty()" */
#line 1 "probe:ib_is_udata_in_empty"
PROBE(ib_is_udata_in_empty)
{
	DECLARED(ib_is_udata_in_empty);
}

/* Linux 7.1: "RDMA: Add ib_respond_udata()": and for commands that have no answer */
#line 1 "probe:ib_respond_empty_udata"
PROBE(ib_respond_empty_udata)
{
	DECLARED(ib_respond_empty_udata);
}

/* Linux 7.3: "RDMA/core: Add ib_no_udata_io() helper", in 7.2 stable, too */
#line 1 "probe:ib_no_udata_io"
PROBE(ib_no_udata_io)
{
	DECLARED(ib_no_udata_io);
}

/* --- rdma/ib_umem.h ------------------------------------------------------- */

/* Linux 7.2: "RDMA/umem: Rename ib_umem_get() to ib_umem_get_va()" */
#line 1 "probe:ib_umem_get_va"
PROBE(ib_umem_get_va)
{
	DECLARED(ib_umem_get_va);
}

/* Linux 5.15: "RDMA: Use the sg_table directly and remove the opencoded version from umem" */
#line 1 "probe:ib_umem_sgt_append"
PROBE(ib_umem_sgt_append)
{
	MEMBER(struct ib_umem, sgt_append);
}

/* Linux 4.5: "IB/core: Add ib_is_udata_cleared" */
#line 1 "probe:ib_is_udata_cleared"
PROBE(ib_is_udata_cleared)
{
	DECLARED(ib_is_udata_cleared);
}

/* Linux 5.5: "IB/umem: remove the dmasync argument to ib_umem_get"; see also ib_umem_get_device */
#line 1 "probe:ib_umem_get_no_dmasync"
PROBE(ib_umem_get_no_dmasync)
{
	(void)ib_umem_get(NULL, 0, 0, 0);
}

/* Linux 5.6: "IB: Allow calls to ib_umem_get from kernel ULPs": the device, not the udata */
#line 1 "probe:ib_umem_get_device"
PROBE(ib_umem_get_device)
{
	SAME(&ib_umem_get, struct ib_umem *(*)(struct ib_device *, unsigned long, size_t, int));
}

/* Linux 5.2: "RDMA/umem: Combine contiguous PAGE_SIZE regions in SGEs" */
#line 1 "probe:ib_umem_sg_nents"
PROBE(ib_umem_sg_nents)
{
	MEMBER(struct ib_umem, sg_nents);
}

/* --- net ------------------------------------------------------------------ */

/* Linux 4.12: "{net,IB}/{rxe,usnic}: Utilize generic mac to eui32 function" */
#line 1 "probe:addrconf_addr_eui48"
PROBE(addrconf_addr_eui48)
{
	DECLARED(addrconf_addr_eui48);
}

/* Linux 4.6: "ip6: add ip6_make_flowinfo helper" */
#line 1 "probe:ip6_make_flowinfo"
PROBE(ip6_make_flowinfo)
{
	DECLARED(ip6_make_flowinfo);
}

/* Linux 4.17: "net: Introduce net_sem for protection of pernet_list" freed the name */
#line 1 "probe:net_mutex_free"
static int net_mutex;

/* Linux 5.5: "net: ipv6: add net argument to ip6_dst_lookup_flow" */
#line 1 "probe:ip6_dst_lookup_flow_net"
PROBE(ip6_dst_lookup_flow_net)
{
	SAME(&ip6_dst_lookup_flow,
	     struct dst_entry *(*)(struct net *, const struct sock *, struct flowi6 *,
				   const struct in6_addr *));
}

/* Linux 7.2: "udp_tunnel: Pass struct sock to setup_udp_tunnel_sock().", in 7.0 stable, too */
#line 1 "probe:setup_udp_tunnel_sock_sk"
PROBE(setup_udp_tunnel_sock_sk)
{
	SAME(&setup_udp_tunnel_sock,
	     void (*)(struct net *, struct sock *, struct udp_tunnel_sock_cfg *));
}

/* Linux 7.2: "udp_tunnel: Pass struct sock to udp_tunnel_sock_release()." */
#line 1 "probe:udp_tunnel_sock_release_sk"
PROBE(udp_tunnel_sock_release_sk)
{
	SAME(&udp_tunnel_sock_release, void (*)(struct sock *));
}

/* Linux 6.10: "ipv6: introduce dst_rt6_info() helper" */
#line 1 "probe:dst_rt6_info"
#ifndef dst_rt6_info
#error "no"
#endif

/* --- linux ---------------------------------------------------------------- */

/*
 * Pages of a process that is not stopped for it, where the kernel is configured so.
 * Linux 5.2: "mm/hmm: improve and rename hmm_vma_fault() to hmm_range_fault()"
 * Export: hmm_range_fault hmm_range_fault
 */

/* Linux 5.8: "mm/hmm: remove the customizable pfn format from hmm_range_fault" */
#line 1 "probe:hmm_pfns"
PROBE(hmm_pfns)
{
	MEMBER(struct hmm_range, hmm_pfns);
	SAME(&hmm_range_fault, int (*)(struct hmm_range *));
}

/* Linux 4.8: "dma-mapping: use unsigned long for dma_attrs" */
#line 1 "probe:dma_attrs_long"
#ifndef DECLARE_RDMA_OBJ_SIZE
PROBE(dma_attrs_long)
{
	struct dma_map_ops ops;

	SAME(ops.alloc, void *(*)(struct device *, size_t, dma_addr_t *, gfp_t,
				  unsigned long));
}
#endif

/* Linux 4.6: "net: ethtool: add new ETHTOOL_xLINKSETTINGS API" */
#line 1 "probe:ethtool_link_ksettings"
PROBE(ethtool_link_ksettings)
{
	DECLARED(__ethtool_get_link_ksettings);
}

/* Linux 4.11: "treewide: Move dma_ops from struct dev_archdata into struct device" */
#line 1 "probe:device_dma_ops"
#ifndef DECLARE_RDMA_OBJ_SIZE
PROBE(device_dma_ops)
{
	MEMBER(struct device, dma_ops);
}
#endif

/*
 * A keyword for a case that goes on.
 * Linux 5.4: "compiler_attributes.h: Add ... pseudo keyword for switch/case use"
 */
#line 1 "probe:fallthrough"
#ifndef fallthrough
#error "no"
#endif

/* Linux 4.5: "memcg: only account kmem allocations marked as __GFP_ACCOUNT" */
#line 1 "probe:gfp_kernel_account"
#ifndef GFP_KERNEL_ACCOUNT
#error "no"
#endif

/* Linux 4.11: "random: convert get_random_int/long into get_random_u32/u64" */
#line 1 "probe:get_random_u32"
PROBE(get_random_u32)
{
	DECLARED(get_random_u32);
}

/* Linux 4.18: "mm: Introduce kvcalloc()" */
#line 1 "probe:kvcalloc"
#ifndef kvcalloc
PROBE(kvcalloc)
{
	DECLARED(kvcalloc);
}
#endif

/* Linux 5.8: "scatterlist: add generic wrappers for iterating over sgtable objects" */
#line 1 "probe:for_each_sgtable_page"
#ifndef for_each_sgtable_page
#error "no"
#else
PROBE(for_each_sgtable_page)
{
	struct sg_page_iter iter;
	struct sg_table table[1];

	/* some back-ports take nothing but a name */
	for_each_sgtable_page(&table[0], &iter, 0)
		;
}
#endif

/* Linux 5.9: "tasklet: Introduce new initialization API" */
#line 1 "probe:tasklet_setup"
PROBE(tasklet_setup)
{
	DECLARED(tasklet_setup);
}

/* Linux 4.14: "timer: Prepare to change timer callback argument type": a macro later */
#line 1 "probe:timer_setup"
#ifndef timer_setup
PROBE(timer_setup)
{
	DECLARED(timer_setup);
}
#endif

/* Linux 5.17: "net: add net device refcount tracker infrastructure" */
#line 1 "probe:netdevice_tracker"
PROBE(netdevice_tracker)
{
	netdevice_tracker *tracker = NULL;

	(void)tracker;
}

/* Linux 6.0: "net: rename reference+tracking helpers" */
#line 1 "probe:netdev_hold"
PROBE(netdev_hold)
{
	DECLARED(netdev_hold);
}

/* Linux 5.11: "mm/highmem: Provide kmap_local*" */
#line 1 "probe:kmap_local_page"
PROBE(kmap_local_page)
{
	DECLARED(kmap_local_page);
}

/* Linux 6.14: "lib/crc32: expose whether the lib is really optimized at runtime" */
#line 1 "probe:crc32_optimizations"
#ifndef CRC32_LE_OPTIMIZATION
#error "no"
#endif

/*
 * The crypto API can be asked for a faster CRC-32.
 * Linux 2.6.29: "crypto: hash - Add shash interface"; not there without CONFIG_CRYPTO
 * Export: crypto_alloc_shash crypto_alloc_shash
 */

/*
 * IPv6 groups can be joined without a socket.
 * Linux 5.1: "bridge: join all-snoopers multicast address": exported to modules
 * Export: ipv6_dev_mc_inc ipv6_dev_mc_inc
 */

/* Linux 6.2: "timers: Rename del_timer_sync() to timer_delete_sync()", in 6.1 stable, too */
#line 1 "probe:timer_delete_sync"
PROBE(timer_delete_sync)
{
	DECLARED(timer_delete_sync);
}

/* Linux 6.13: "hrtimers: Introduce hrtimer_setup() to replace hrtimer_init()" */
#line 1 "probe:hrtimer_setup"
PROBE(hrtimer_setup)
{
	DECLARED(hrtimer_setup);
}

/* Linux 6.17: "workqueue: Add new WQ_PERCPU flag" */
#line 1 "probe:wq_percpu"
PROBE(wq_percpu)
{
	(void)WQ_PERCPU;
}

/* Linux 6.16: "treewide, timers: Rename from_timer() to timer_container_of()" */
#line 1 "probe:timer_container_of"
#ifndef timer_container_of
#error "no"
#endif

/* Linux 4.8: "sk_buff: allow segmenting based on frag sizes", "sctp: Add GSO support" */
#line 1 "probe:skb_gso_sctp"
int skb_gso_sctp = SKB_GSO_SCTP;
