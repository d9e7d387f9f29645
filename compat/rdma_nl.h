/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The netlink protocol of the rdma tool, for cores without: what rdma_nl.c (requests),
 * rdma_res.c (objects) and rdma_cm_id.c (what rdma_cm has) share.
 */
#ifndef RXE_COMPAT_RDMA_NL_H
#define RXE_COMPAT_RDMA_NL_H

#include <linux/netlink.h>
#include <linux/types.h>
#include <net/netlink.h>
#include <rdma/ib_verbs.h>

/* Part of the ABI of later kernels */
enum {
	NL_CLIENT		= 5,

	CMD_GET			= 1,
	CMD_NEWLINK		= 3,
	CMD_DELLINK		= 4,
	CMD_PORT_GET		= 5,
	CMD_SYS_GET		= 6,
	CMD_RES_GET		= 9,
	CMD_RES_QP_GET		= 10,
	CMD_RES_CM_ID_GET	= 11,
	CMD_RES_CQ_GET		= 12,
	CMD_RES_MR_GET		= 13,
	CMD_RES_PD_GET		= 14,
	CMD_STAT_GET		= 17,
	CMD_RES_CTX_GET		= 22,
	CMD_RES_SRQ_GET		= 23,
	CMD_COUNT,

	ATTR_DEV_INDEX		= 1,
	ATTR_DEV_NAME		= 2,
	ATTR_PORT_INDEX		= 3,
	ATTR_FW_VERSION		= 5,
	ATTR_NODE_GUID		= 6,
	ATTR_SYS_IMAGE_GUID	= 7,
	ATTR_PORT_STATE		= 12,
	ATTR_PORT_PHYS_STATE	= 13,
	ATTR_DEV_NODE_TYPE	= 14,
	ATTR_RES_SUMMARY	= 15,
	ATTR_RES_ENTRY		= 16,
	ATTR_RES_NAME		= 17,
	ATTR_RES_CURR		= 18,
	ATTR_RES_QP		= 19,
	ATTR_RES_QP_ENTRY	= 20,
	ATTR_RES_LQPN		= 21,
	ATTR_RES_RQPN		= 22,
	ATTR_RES_RQ_PSN		= 23,
	ATTR_RES_SQ_PSN		= 24,
	ATTR_RES_PATH_MIG_STATE	= 25,
	ATTR_RES_TYPE		= 26,
	ATTR_RES_STATE		= 27,
	ATTR_RES_PID		= 28,
	ATTR_RES_KERN_NAME	= 29,
	ATTR_RES_CM_ID		= 30,
	ATTR_RES_CM_ID_ENTRY	= 31,
	ATTR_RES_PS		= 32,
	ATTR_RES_SRC_ADDR	= 33,
	ATTR_RES_DST_ADDR	= 34,
	ATTR_RES_CQ		= 35,
	ATTR_RES_CQ_ENTRY	= 36,
	ATTR_RES_CQE		= 37,
	ATTR_RES_USECNT		= 38,
	ATTR_RES_MR		= 40,
	ATTR_RES_MR_ENTRY	= 41,
	ATTR_RES_RKEY		= 42,
	ATTR_RES_LKEY		= 43,
	ATTR_RES_MRLEN		= 45,
	ATTR_RES_PD		= 46,
	ATTR_RES_PD_ENTRY	= 47,
	ATTR_RES_LOCAL_DMA_LKEY	= 48,
	ATTR_NDEV_INDEX		= 50,
	ATTR_NDEV_NAME		= 51,
	ATTR_RES_PDN		= 60,
	ATTR_RES_CQN		= 61,
	ATTR_RES_MRN		= 62,
	ATTR_RES_CTXN		= 64,
	ATTR_LINK_TYPE		= 65,
	ATTR_NETNS_MODE		= 66,
	ATTR_STAT_COUNTERS	= 80,
	ATTR_STAT_ENTRY		= 81,
	ATTR_STAT_NAME		= 82,
	ATTR_STAT_VALUE		= 83,
	ATTR_RES_CTX		= 86,
	ATTR_RES_CTX_ENTRY	= 87,
	ATTR_RES_SRQ		= 88,
	ATTR_RES_SRQ_ENTRY	= 89,
	ATTR_RES_SRQN		= 90,
	ATTR_MAX		= ATTR_RES_SRQN,

	NETNS_MODE_SHARED	= 1,
};

/* nla_put_u64() has gone where such a core still has clients. */
static inline int rxe_compat_nl_put_u64(struct sk_buff *skb, int type, u64 value)
{
	return nla_put(skb, type, sizeof(value), &value);
}

int rxe_compat_nl_parse(struct netlink_callback *cb, struct nlattr **tb);
struct nlmsghdr *rxe_compat_nl_begin(struct sk_buff *skb, struct netlink_callback *cb, int op);
int rxe_compat_res_answer(struct sk_buff *skb, struct netlink_callback *cb, int op);
int rxe_compat_cm_id_answer(struct sk_buff *skb, struct netlink_callback *cb, u32 index);

#endif /* RXE_COMPAT_RDMA_NL_H */
