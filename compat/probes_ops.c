// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Questions about the operations of a driver: the table of struct ib_device_ops,
 * and the core that keeps them in struct ib_device. A part of probes.c, which says
 * how to ask and includes the headers.
 */

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

/* Linux 5.10: "RDMA: Allow fail of destroy CQ", in 5.8 of Ubuntu, too */
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
