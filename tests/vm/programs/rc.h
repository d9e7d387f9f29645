/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rc.h - what programs need of both ends of a reliable connection: a device by its name,
 * an address of it, and a queue pair that is connected.
 */
#ifndef TEST_RC_H
#define TEST_RC_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "need.h"

static inline struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	if (!context)
		FAIL("no device %s", name);
	return context;
}

/* The index of the first address that is an IPv4 one, or of IPv6 and of more than the link */
static inline int gid_find(struct ibv_context *context, bool six, union ibv_gid *gid)
{
	bool four, link;
	int i;

	for (i = 0; i < 8; i++) {
		if (ibv_query_gid(context, 1, i, gid))
			continue;
		four = !gid->global.subnet_prefix && gid->raw[10] == 0xff && gid->raw[11] == 0xff;
		link = gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
		/* an entry without an address is all zeros */
		if (six ? !four && !link && gid->raw[0] : four)
			return i;
	}
	FAIL("no IPv%d address", six ? 6 : 4);
}

/* On a wire that loses some there is time enough to repeat them; who wants more sets them. */
static enum ibv_mtu rc_mtu = IBV_MTU_1024;
static uint8_t rc_timeout = 16;

static inline void rc_connect(struct ibv_qp *qp, int gid_index, const union ibv_gid *peer,
			      uint32_t number, int access, int rd_atomic)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .path_mtu = rc_mtu,
		.qp_access_flags = access, .dest_qp_num = number, .min_rnr_timer = 1,
		.timeout = rc_timeout, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = rd_atomic, .max_dest_rd_atomic = rd_atomic,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = *peer, .sgid_index = gid_index, .hop_limit = 64 } },
	};

	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER));
	attr.qp_state = IBV_QPS_RTS;
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

#endif /* TEST_RC_H */
