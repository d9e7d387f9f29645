// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Questions about all else that the headers of RDMA declare. A part of probes.c,
 * which says how to ask and includes the headers.
 */

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

/* Linux 5.11: "RDMA/core: remove use of dma_virt_ops", in 5.10 stable, too */
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
