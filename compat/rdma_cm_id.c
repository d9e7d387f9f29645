// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What rdma_cm has: the answer to "rdma resource show cm_id", for cores that keep no
 * account of it. rdma_cm itself answers a request of its own, that no tool makes any
 * more, with all of its ids: it is asked through a socket, as a program would, and what
 * is about the device is passed on.
 *
 * The core holds a mutex while a request comes in and the first buffer of its answer is
 * made, and it needs that for our question, too: so the first buffer has no ids.
 *
 * Loses: ids have no numbers; and one that listens on all addresses does not say on
 * which device, and is shown with each.
 */
#define RXE_COMPAT_KERNEL_IB_OPS

#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>

#include "rdma_nl.h"

#if !RXE_HAVE_IB_DEVICE_OPS && !RXE_HAVE_RDMA_NL_REGISTER

/* A buffer of rdma_cm's answer is no larger */
#define BUFFER_SIZE	16384

/**
 * struct cm_id - an id of rdma_cm
 * @list: in the order of rdma_cm
 * @stats: as rdma_cm says it
 * @src: address, family 0: none
 * @dst: likewise
 */
struct cm_id {
	struct list_head	list;
	struct rdma_cm_id_stats	stats;
	struct sockaddr_storage	src;
	struct sockaddr_storage	dst;
};

/* --- the question ------------------------------------------------------------------ */

static int ask(struct socket *sock)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct msghdr msg = { .msg_name = &kernel, .msg_namelen = sizeof(kernel) };
	struct nlmsghdr request = {
		.nlmsg_len	= NLMSG_HDRLEN,
		.nlmsg_type	= RDMA_NL_GET_TYPE(RDMA_NL_RDMA_CM, RDMA_NL_RDMA_CM_ID_STATS),
		.nlmsg_flags	= NLM_F_REQUEST | NLM_F_DUMP,
	};
	struct kvec part = { .iov_base = &request, .iov_len = sizeof(request) };

	return kernel_sendmsg(sock, &msg, &part, 1, sizeof(request));
}

static void copy_address(struct sockaddr_storage *to, const struct nlattr *attr)
{
	if (attr)
		nla_memcpy(to, attr, sizeof(*to));
}

static int take(const struct nlmsghdr *nlh, struct list_head *ids)
{
	struct nlattr *tb[RDMA_NL_RDMA_CM_NUM_ATTR];
	struct cm_id *id;

	if (nlmsg_parse(nlh, sizeof(id->stats), tb, RDMA_NL_RDMA_CM_NUM_ATTR - 1, NULL))
		return 0;
	id = kzalloc(sizeof(*id), GFP_KERNEL);
	if (!id)
		return -ENOMEM;
	memcpy(&id->stats, nlmsg_data(nlh), sizeof(id->stats));
	copy_address(&id->src, tb[RDMA_NL_RDMA_CM_ATTR_SRC_ADDR]);
	copy_address(&id->dst, tb[RDMA_NL_RDMA_CM_ATTR_DST_ADDR]);
	list_add_tail(&id->list, ids);
	return 0;
}

/* One buffer. 0: there are more; 1: that was all. */
static int receive(struct socket *sock, void *buffer, struct list_head *ids)
{
	struct kvec part = { .iov_base = buffer, .iov_len = BUFFER_SIZE };
	const struct nlmsghdr *nlh = buffer;
	struct msghdr msg = {};
	int left, err;

	left = kernel_recvmsg(sock, &msg, &part, 1, BUFFER_SIZE, MSG_DONTWAIT);
	if (left <= 0)
		return 1;
	for (; nlmsg_ok(nlh, left); nlh = nlmsg_next(nlh, &left)) {
		if (nlh->nlmsg_type < NLMSG_MIN_TYPE)	/* the end, or an error */
			return 1;
		err = take(nlh, ids);
		if (err)
			return err;
	}
	return 0;
}

static int ask_all(struct list_head *ids)
{
	struct socket *sock;
	void *buffer;
	int err;

	buffer = kmalloc(BUFFER_SIZE, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	err = sock_create_kern(&init_net, AF_NETLINK, SOCK_RAW, NETLINK_RDMA, &sock);
	if (err)
		goto out;
	err = ask(sock);
	while (err >= 0) {
		err = receive(sock, buffer, ids);
		if (err == 1)
			break;
	}
	sock_release(sock);
out:
	kfree(buffer);
	return min(err, 0);
}

/* Where rdma_cm is not loaded, nobody has an id, and the core would complain. */
static int fetch(struct list_head *ids)
{
	int err;

	if (!__symbol_get("rdma_create_id"))
		return 0;
	err = ask_all(ids);
	__symbol_put("rdma_create_id");
	return err;
}

static void forget(struct list_head *ids)
{
	struct cm_id *id, *next;

	list_for_each_entry_safe(id, next, ids, list)
		kfree(id);
}

/* --- the answer -------------------------------------------------------------------- */

/* Each device has one of its own of those that listen everywhere. */
static bool is_again(const struct cm_id *id, const struct list_head *ids)
{
	const struct cm_id *other;

	if (id->stats.bound_dev_if)
		return false;
	list_for_each_entry(other, ids, list) {
		if (other == id)
			break;
		if (!other->stats.bound_dev_if && other->stats.pid == id->stats.pid &&
		    other->stats.port_space == id->stats.port_space &&
		    !memcmp(&other->src, &id->src, sizeof(id->src)))
			return true;
	}
	return false;
}

/* A thread of the kernel, or a process that loaded a module, is no user. */
static int put_owner(struct sk_buff *skb, const struct cm_id *id)
{
	struct task_struct *task;
	pid_t pid = 0;

	rcu_read_lock();
	task = pid_task(find_pid_ns(id->stats.pid, &init_pid_ns), PIDTYPE_PID);
	if (task && !(task->flags & PF_KTHREAD))
		pid = task_tgid_nr_ns(task, task_active_pid_ns(current));
	rcu_read_unlock();
	if (pid)
		return nla_put_u32(skb, ATTR_RES_PID, pid);
	return nla_put_string(skb, ATTR_RES_KERN_NAME, "kernel");
}

static int put_address(struct sk_buff *skb, int type, const struct sockaddr_storage *address)
{
	return address->ss_family ? nla_put(skb, type, sizeof(*address), address) : 0;
}

static int put_id(struct sk_buff *skb, const struct cm_id *id)
{
	const struct rdma_cm_id_stats *stats = &id->stats;

	/*
	 * One that listens on all addresses has no port yet. The tool asks once for ids
	 * without and once for those of each port, and shows what has none each time.
	 */
	if (nla_put_u32(skb, ATTR_PORT_INDEX, 1))
		return -EMSGSIZE;
	if (stats->qp_num && (nla_put_u32(skb, ATTR_RES_LQPN, stats->qp_num) ||
			      nla_put_u8(skb, ATTR_RES_TYPE, stats->qp_type)))
		return -EMSGSIZE;
	return nla_put_u32(skb, ATTR_RES_PS, stats->port_space) ||
	       nla_put_u8(skb, ATTR_RES_STATE, stats->cm_state) ||
	       put_address(skb, ATTR_RES_SRC_ADDR, &id->src) ||
	       put_address(skb, ATTR_RES_DST_ADDR, &id->dst) ||
	       put_owner(skb, id) ? -EMSGSIZE : 0;
}

/**
 * struct answer - ids of one device
 * @skb: answer
 * @cb: request; args[0]: 0, or how many ids of rdma_cm have been seen, and one
 * @index: of the device
 * @ids: all; NULL: none yet
 */
struct answer {
	struct sk_buff		*skb;
	struct netlink_callback	*cb;
	u32			index;
	struct list_head	*ids;
};

/* As many as go into the buffer; -EMSGSIZE: not one. */
static int put_ids(struct answer *answer, int ifindex)
{
	struct nlattr *entry;
	struct cm_id *id;
	long seen = 1;
	bool some = false;

	list_for_each_entry(id, answer->ids, list) {
		if (seen++ < answer->cb->args[0])
			continue;
		if ((!id->stats.bound_dev_if || id->stats.bound_dev_if == ifindex) &&
		    !is_again(id, answer->ids)) {
			entry = nla_nest_start(answer->skb, ATTR_RES_CM_ID_ENTRY);
			if (!entry || put_id(answer->skb, id)) {
				if (entry)
					nla_nest_cancel(answer->skb, entry);
				return some ? 0 : -EMSGSIZE;
			}
			nla_nest_end(answer->skb, entry);
			some = true;
		}
		answer->cb->args[0] = seen;
	}
	return some ? 0 : -ENODATA;
}

static int answer_device(struct ib_device *device, u32 index, void *arg)
{
	const struct net_device *ndev = rxe_compat_ib_device_netdev(device);
	struct answer *answer = arg;
	struct nlmsghdr *nlh;
	struct nlattr *table;
	int err = -EMSGSIZE;

	if (index != answer->index)
		return 0;
	nlh = rxe_compat_nl_begin(answer->skb, answer->cb, CMD_RES_CM_ID_GET);
	if (!nlh)
		return -EMSGSIZE;
	if (nla_put_u32(answer->skb, ATTR_DEV_INDEX, index) ||
	    nla_put_string(answer->skb, ATTR_DEV_NAME, device->name))
		goto cancel;
	table = nla_nest_start(answer->skb, ATTR_RES_CM_ID);
	if (!table)
		goto cancel;
	if (answer->ids) {
		err = put_ids(answer, ndev && net_eq(dev_net(ndev), &init_net) ?
				      ndev->ifindex : -1);
		if (err)
			goto cancel;
	}
	nla_nest_end(answer->skb, table);
	nlmsg_end(answer->skb, nlh);
	return 1;
cancel:
	nlmsg_cancel(answer->skb, nlh);
	return err;
}

/**
 * rxe_compat_cm_id_answer() - one buffer of an answer
 * @skb: answer
 * @cb: request
 * @index: of the device that is asked for
 *
 * Context: process context, sleeps.
 * Return: bytes in @skb; 0: that was all; or a negative errno.
 */
int rxe_compat_cm_id_answer(struct sk_buff *skb, struct netlink_callback *cb, u32 index)
{
	struct answer answer = { .skb = skb, .cb = cb, .index = index };
	LIST_HEAD(ids);
	int err = 0;

	if (cb->args[0]) {
		answer.ids = &ids;
		err = fetch(&ids);
	}
	if (!err)
		err = rxe_compat_ib_device_each(0, answer_device, &answer);
	forget(&ids);
	if (err == -ENODATA)
		return 0;
	if (!err)
		return -ENODEV;
	if (!cb->args[0])
		cb->args[0] = 1;
	return skb->len ? skb->len : err;
}

#endif /* !RXE_HAVE_IB_DEVICE_OPS && !RXE_HAVE_RDMA_NL_REGISTER */
