/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * advise.h - ibv_advise_mr() by ioctl(): librxe has no call for it.
 */
#ifndef TEST_ADVISE_H
#define TEST_ADVISE_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdint.h>
#include <sys/ioctl.h>

/* An error number, or 0 */
static inline int advise(struct ibv_pd *pd, uint32_t advice, uint32_t flags,
			 struct ibv_sge *sge, int num)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[4];
	} cmd = {
		.hdr = { .length = sizeof(cmd), .object_id = UVERBS_OBJECT_MR,
			 .method_id = UVERBS_METHOD_ADVISE_MR, .num_attrs = 4,
			 .driver_id = RDMA_DRIVER_RXE },
		.attr = {
			{ .attr_id = UVERBS_ATTR_ADVISE_MR_PD_HANDLE,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = pd->handle },
			{ .attr_id = UVERBS_ATTR_ADVISE_MR_ADVICE, .len = 8,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = advice },
			{ .attr_id = UVERBS_ATTR_ADVISE_MR_FLAGS, .len = 4,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = flags },
			{ .attr_id = UVERBS_ATTR_ADVISE_MR_SGE_LIST, .len = num * sizeof(*sge),
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)sge },
		},
	};

	return ioctl(pd->context->cmd_fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
}

#endif /* TEST_ADVISE_H */
