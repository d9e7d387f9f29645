// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The "rdma" tool, and module parameters, for kernels whose RDMA core has no
 * commands to make links.
 *
 *   rdma link add NAME type rxe netdev IF      echo IF [NAME] > /sys/module/MODULE/parameters/add
 *   rdma link delete NAME                      echo NAME > .../parameters/remove
 *   rdma link, rdma dev, rdma system, rdma resource (rdma_res.c), rdma statistic
 *
 * The netlink protocol of these kernels has clients by number; that of the later
 * commands is free. A request runs as a dump: its handler is called for each
 * buffer of answers until it has none, and its error ends the answer. The core
 * has a socket in the initial network namespace only; each of the others gets
 * one here. Commands and parameters are about the netdevs of the namespace of
 * whoever gives them; all devices are seen in all of them.
 */
#define RXE_COMPAT_KERNEL_IB_OPS

#include <linux/list.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <net/netns/generic.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>

#include "rdma_nl.h"

#if !RXE_HAVE_RDMA_LINK_OPS

static DEFINE_MUTEX(link_mutex);
static struct rdma_link_ops *link_type;		/* link_mutex */

static int link_add(const char *name, struct net *net, const char *netdev)
{
	struct net_device *ndev;
	int err;

	ndev = dev_get_by_name(net, netdev);
	if (!ndev)
		return -ENODEV;
	mutex_lock(&link_mutex);
	err = link_type ? link_type->newlink(name, ndev) : -ENODEV;
	mutex_unlock(&link_mutex);
	dev_put(ndev);
	return err;
}

#if !RXE_HAVE_RDMA_NL_REGISTER

/* --- netlink ------------------------------------------------------------------------ */

static const struct nla_policy policy[ATTR_MAX + 1] = {
	[ATTR_DEV_INDEX]	= { .type = NLA_U32 },
	[ATTR_DEV_NAME]		= { .type = NLA_NUL_STRING, .len = IB_DEVICE_NAME_MAX - 1 },
	[ATTR_PORT_INDEX]	= { .type = NLA_U32 },
	[ATTR_NDEV_NAME]	= { .type = NLA_NUL_STRING, .len = IFNAMSIZ - 1 },
	[ATTR_LINK_TYPE]	= { .type = NLA_NUL_STRING, .len = 15 },
	[ATTR_RES_LQPN]		= { .type = NLA_U32 },
	[ATTR_RES_CQN]		= { .type = NLA_U32 },
	[ATTR_RES_MRN]		= { .type = NLA_U32 },
	[ATTR_RES_PDN]		= { .type = NLA_U32 },
	[ATTR_RES_CTXN]		= { .type = NLA_U32 },
	[ATTR_RES_SRQN]		= { .type = NLA_U32 },
};

/**
 * struct answer - what a handler is filling
 * @skb: buffer
 * @cb: the request; args[0]: index of the last device that was put
 * @op: of the answer
 * @only: a device by index, 0: all
 * @put: writes the attributes
 */
struct answer {
	struct sk_buff		*skb;
	struct netlink_callback	*cb;
	int			op;
	u32			only;
	int			(*put)(struct sk_buff *skb, struct net *net,
				       struct ib_device *device);
};

/* The namespace that a request comes from: the socket is the one that received it. */
static struct net *nl_net(const struct netlink_callback *cb)
{
	return sock_net(cb->skb->sk);
}

/**
 * rxe_compat_nl_parse() - attributes of a request
 * @cb: request
 * @tb: out: ATTR_MAX + 1 pointers to attributes, NULL: there is none
 *
 * Context: process context.
 * Return: 0 or -EINVAL.
 */
int rxe_compat_nl_parse(struct netlink_callback *cb, struct nlattr **tb)
{
	return nlmsg_parse(cb->nlh, 0, tb, ATTR_MAX, policy);
}

/**
 * rxe_compat_nl_begin() - begin a message of an answer
 * @skb: buffer
 * @cb: request
 * @op: of the answer
 *
 * Context: process context.
 * Return: message, NULL: the buffer is full.
 */
struct nlmsghdr *rxe_compat_nl_begin(struct sk_buff *skb, struct netlink_callback *cb, int op)
{
	return nlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			 RDMA_NL_GET_TYPE(NL_CLIENT, op), 0, NLM_F_MULTI);
}

static int answer_device(struct ib_device *device, u32 index, void *arg)
{
	struct answer *answer = arg;
	struct nlmsghdr *nlh;

	if (answer->only && answer->only != index)
		return 0;
	nlh = rxe_compat_nl_begin(answer->skb, answer->cb, answer->op);
	if (!nlh)
		return -EMSGSIZE;
	if (nla_put_u32(answer->skb, ATTR_DEV_INDEX, index) ||
	    nla_put_string(answer->skb, ATTR_DEV_NAME, device->name) ||
	    answer->put(answer->skb, nl_net(answer->cb), device)) {
		nlmsg_cancel(answer->skb, nlh);
		return -EMSGSIZE;
	}
	nlmsg_end(answer->skb, nlh);
	answer->cb->args[0] = index;
	return 0;
}

/* One buffer with as many devices as go into it. */
static int answer_devices(struct sk_buff *skb, struct netlink_callback *cb, int op,
			  int (*put)(struct sk_buff *skb, struct net *net,
				     struct ib_device *device))
{
	struct answer answer = { .skb = skb, .cb = cb, .op = op, .put = put };
	struct nlattr *tb[ATTR_MAX + 1];
	int err;

	err = rxe_compat_nl_parse(cb, tb);
	if (err)
		return err;
	if (tb[ATTR_DEV_INDEX])
		answer.only = nla_get_u32(tb[ATTR_DEV_INDEX]);
	err = rxe_compat_ib_device_each(cb->args[0], answer_device, &answer);
	return skb->len ? skb->len : err;
}

static int fill_device(struct sk_buff *skb, struct net *net, struct ib_device *device)
{
	u64 guid = be64_to_cpu(device->node_guid);

	return nla_put_u32(skb, ATTR_PORT_INDEX, device->phys_port_cnt) ||
	       nla_put_string(skb, ATTR_FW_VERSION, RXE_VERSION) ||
	       rxe_compat_nl_put_u64(skb, ATTR_NODE_GUID, guid) ||
	       rxe_compat_nl_put_u64(skb, ATTR_SYS_IMAGE_GUID, guid) ||
	       nla_put_u8(skb, ATTR_DEV_NODE_TYPE, device->node_type);
}

static int fill_port(struct sk_buff *skb, struct net *net, struct ib_device *device)
{
	struct net_device *ndev = rxe_compat_ib_device_netdev(device);
	struct ib_port_attr attr;

	if (ib_query_port(device, 1, &attr))
		return 0;
	if (nla_put_u32(skb, ATTR_PORT_INDEX, 1) ||
	    nla_put_u8(skb, ATTR_PORT_STATE, attr.state) ||
	    nla_put_u8(skb, ATTR_PORT_PHYS_STATE, attr.phys_state))
		return -EMSGSIZE;
	/* the index of a netdev means nothing in another namespace */
	if (!ndev || !net_eq(dev_net(ndev), net))
		return 0;
	return nla_put_u32(skb, ATTR_NDEV_INDEX, ndev->ifindex) ||
	       nla_put_string(skb, ATTR_NDEV_NAME, ndev->name);
}

/* A nested pair of name and number, in attributes of the given types. */
static int fill_entry(struct sk_buff *skb, int entry_type, int name_type, const char *name,
		      int value_type, u64 value)
{
	struct nlattr *entry = nla_nest_start(skb, entry_type);

	if (!entry)
		return -EMSGSIZE;
	if (nla_put_string(skb, name_type, name) ||
	    rxe_compat_nl_put_u64(skb, value_type, value)) {
		nla_nest_cancel(skb, entry);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, entry);
	return 0;
}

/* What the device's users have made; the connection manager does not say. */
static int fill_resources(struct sk_buff *skb, struct net *net, struct ib_device *device)
{
	static const char * const names[RXE_COMPAT_OBJECTS] = {
		[RXE_COMPAT_PD]		= "pd",
		[RXE_COMPAT_CQ]		= "cq",
		[RXE_COMPAT_QP]		= "qp",
		[RXE_COMPAT_MR]		= "mr",
		[RXE_COMPAT_CTX]	= "ctx",
		[RXE_COMPAT_SRQ]	= "srq",
	};
	struct nlattr *summary = nla_nest_start(skb, ATTR_RES_SUMMARY);
	unsigned int i;

	if (!summary)
		return -EMSGSIZE;
	for (i = 0; i < RXE_COMPAT_OBJECTS; i++) {
		if (fill_entry(skb, ATTR_RES_ENTRY, ATTR_RES_NAME, names[i], ATTR_RES_CURR,
			       rxe_compat_ib_device_objects(device, i, 0))) {
			nla_nest_cancel(skb, summary);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(skb, summary);
	return 0;
}

static int fill_counters(struct sk_buff *skb, struct net *net, struct ib_device *device)
{
	struct nlattr *table;
	const char *name;
	u64 value;
	int i;

	if (nla_put_u32(skb, ATTR_PORT_INDEX, 1))
		return -EMSGSIZE;
	table = nla_nest_start(skb, ATTR_STAT_COUNTERS);
	if (!table)
		return -EMSGSIZE;
	for (i = 0; (name = rxe_compat_ib_device_counter_name(device, i)); i++) {
		if (!rxe_compat_ib_device_counter(device, i, &value) &&
		    fill_entry(skb, ATTR_STAT_ENTRY, ATTR_STAT_NAME, name, ATTR_STAT_VALUE,
			       value)) {
			nla_nest_cancel(skb, table);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(skb, table);
	return 0;
}

static int nl_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	return answer_devices(skb, cb, CMD_GET, fill_device);
}

static int nl_port_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	return answer_devices(skb, cb, CMD_PORT_GET, fill_port);
}

static int nl_res_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	return answer_devices(skb, cb, CMD_RES_GET, fill_resources);
}

static int nl_stat_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	return answer_devices(skb, cb, CMD_STAT_GET, fill_counters);
}

static int nl_sys_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlmsghdr *nlh;

	if (cb->args[0]++)
		return 0;
	nlh = rxe_compat_nl_begin(skb, cb, CMD_SYS_GET);
	if (!nlh || nla_put_u8(skb, ATTR_NETNS_MODE, NETNS_MODE_SHARED))
		return -EMSGSIZE;
	nlmsg_end(skb, nlh);
	return skb->len;
}

#define RES_GET(name, op)							\
static int nl_ ## name ## _get(struct sk_buff *skb, struct netlink_callback *cb)	\
{										\
	return rxe_compat_res_answer(skb, cb, op);				\
}

RES_GET(qp, CMD_RES_QP_GET)
RES_GET(cm_id, CMD_RES_CM_ID_GET)
RES_GET(cq, CMD_RES_CQ_GET)
RES_GET(mr, CMD_RES_MR_GET)
RES_GET(pd, CMD_RES_PD_GET)
RES_GET(ctx, CMD_RES_CTX_GET)
RES_GET(srq, CMD_RES_SRQ_GET)

static int nl_newlink(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlattr *tb[ATTR_MAX + 1];
	int err;

	if (!netlink_capable(cb->skb, CAP_NET_ADMIN))
		return -EPERM;
	err = rxe_compat_nl_parse(cb, tb);
	if (err)
		return err;
	if (!tb[ATTR_DEV_NAME] || !tb[ATTR_LINK_TYPE] || !tb[ATTR_NDEV_NAME])
		return -EINVAL;
	if (nla_strcmp(tb[ATTR_LINK_TYPE], link_type->type))
		return -EINVAL;
	return link_add(nla_data(tb[ATTR_DEV_NAME]), nl_net(cb), nla_data(tb[ATTR_NDEV_NAME]));
}

/**
 * struct named - a device whose name is wanted
 * @index: its index
 * @name: filled
 */
struct named {
	u32	index;
	char	name[IB_DEVICE_NAME_MAX];
};

static int find_name(struct ib_device *device, u32 index, void *arg)
{
	struct named *named = arg;

	if (index != named->index)
		return 0;
	strscpy(named->name, device->name, sizeof(named->name));
	return 1;
}

static int nl_dellink(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlattr *tb[ATTR_MAX + 1];
	struct named named;
	int err;

	if (!netlink_capable(cb->skb, CAP_NET_ADMIN))
		return -EPERM;
	err = rxe_compat_nl_parse(cb, tb);
	if (err)
		return err;
	if (!tb[ATTR_DEV_INDEX])
		return -EINVAL;
	named.index = nla_get_u32(tb[ATTR_DEV_INDEX]);
	if (!rxe_compat_ib_device_each(0, find_name, &named))
		return -ENODEV;
	return rxe_compat_ib_device_delete(named.name, NULL);
}

static const struct ibnl_client_cbs nl_ops[CMD_COUNT] = {
	[CMD_GET]	= { .dump = nl_get, .module = THIS_MODULE },
	[CMD_NEWLINK]	= { .dump = nl_newlink, .module = THIS_MODULE },
	[CMD_DELLINK]	= { .dump = nl_dellink, .module = THIS_MODULE },
	[CMD_PORT_GET]	= { .dump = nl_port_get, .module = THIS_MODULE },
	[CMD_SYS_GET]	= { .dump = nl_sys_get, .module = THIS_MODULE },
	[CMD_RES_GET]	= { .dump = nl_res_get, .module = THIS_MODULE },
	[CMD_RES_QP_GET] = { .dump = nl_qp_get, .module = THIS_MODULE },
	[CMD_RES_CM_ID_GET] = { .dump = nl_cm_id_get, .module = THIS_MODULE },
	[CMD_RES_CQ_GET] = { .dump = nl_cq_get, .module = THIS_MODULE },
	[CMD_RES_MR_GET] = { .dump = nl_mr_get, .module = THIS_MODULE },
	[CMD_RES_PD_GET] = { .dump = nl_pd_get, .module = THIS_MODULE },
	[CMD_RES_CTX_GET] = { .dump = nl_ctx_get, .module = THIS_MODULE },
	[CMD_RES_SRQ_GET] = { .dump = nl_srq_get, .module = THIS_MODULE },
	[CMD_STAT_GET]	= { .dump = nl_stat_get, .module = THIS_MODULE },
};

static bool nl_registered;

/* --- sockets of the other namespaces ---------------------------------------------------- */

static unsigned int nl_net_id;
static DEFINE_MUTEX(nl_mutex);		/* one request at a time, as in the core */

/**
 * struct nl_socket - where the rdma tool of a namespace sends its commands
 * @sk: kernel socket, NULL where the core has its own
 */
struct nl_socket {
	struct sock	*sk;
};

static int nl_request(struct sk_buff *skb, struct nlmsghdr *nlh)
{
	struct netlink_dump_control control = { .module = THIS_MODULE };
	int op = RDMA_NL_GET_OP(nlh->nlmsg_type);

	if (RDMA_NL_GET_CLIENT(nlh->nlmsg_type) != NL_CLIENT || op >= CMD_COUNT ||
	    !nl_ops[op].dump)
		return -EINVAL;
	control.dump = nl_ops[op].dump;
	return netlink_dump_start(skb->sk, skb, nlh, &control);
}

static void nl_receive(struct sk_buff *skb)
{
	mutex_lock(&nl_mutex);
	netlink_rcv_skb(skb, nl_request);
	mutex_unlock(&nl_mutex);
}

/* A namespace without the tool's commands is better than none: the parameters remain. */
static int __net_init nl_net_init(struct net *net)
{
	struct netlink_kernel_cfg cfg = { .input = nl_receive };
	struct nl_socket *socket = net_generic(net, nl_net_id);

	if (!net_eq(net, &init_net))
		socket->sk = netlink_kernel_create(net, NETLINK_RDMA, &cfg);
	return 0;
}

static void __net_exit nl_net_exit(struct net *net)
{
	struct nl_socket *socket = net_generic(net, nl_net_id);

	if (socket->sk)
		netlink_kernel_release(socket->sk);
}

static struct pernet_operations nl_net_ops = {
	.init = nl_net_init,
	.exit = nl_net_exit,
	.id = &nl_net_id,
	.size = sizeof(struct nl_socket),
};

static bool nl_net_registered;

/* Nobody is inside a handler afterwards. */
static void nl_net_unregister(void)
{
	if (!nl_net_registered)
		return;
	unregister_pernet_subsys(&nl_net_ops);
	synchronize_net();
	mutex_lock(&nl_mutex);
	mutex_unlock(&nl_mutex);
}

static bool netlink_open(void)
{
	nl_registered = !ibnl_add_client(NL_CLIENT, CMD_COUNT, nl_ops);
	if (nl_registered)
		nl_net_registered = !register_pernet_subsys(&nl_net_ops);
	return nl_registered;
}

static void netlink_close(void)
{
	nl_net_unregister();
	if (nl_registered)
		ibnl_remove_client(NL_CLIENT);
}

#else

/* The core has commands of its own by that number, which make no links. */
static bool netlink_open(void)
{
	return true;
}

static void netlink_close(void)
{
}

#endif /* !RXE_HAVE_RDMA_NL_REGISTER */

/* --- module parameters --------------------------------------------------------------- */

static int param_add(const char *value, const struct kernel_param *kp)
{
	char line[IFNAMSIZ + IB_DEVICE_NAME_MAX], *rest = line, *netdev, *name;

	if (strscpy(line, value, sizeof(line)) < 0)
		return -EINVAL;
	netdev = strsep(&rest, "\n ");
	name = strsep(&rest, "\n ");
	return link_add(name && *name ? name : "rxe%d", current->nsproxy->net_ns, netdev);
}

static int param_remove(const char *value, const struct kernel_param *kp)
{
	char name[IB_DEVICE_NAME_MAX + 1];
	struct net_device *ndev;
	int err;

	if (strscpy(name, value, sizeof(name)) < 0)
		return -EINVAL;
	strim(name);
	if (!strcmp(name, "all")) {
		mutex_lock(&link_mutex);
		rxe_compat_ib_devices_remove();
		mutex_unlock(&link_mutex);
		return 0;
	}
	err = rxe_compat_ib_device_delete(name, NULL);
	if (err != -ENODEV)
		return err;
	ndev = dev_get_by_name(current->nsproxy->net_ns, name);
	if (!ndev)
		return -ENODEV;
	/* the netdev may be gone when the device is: only its address is used */
	dev_put(ndev);
	return rxe_compat_ib_device_delete(NULL, ndev);
}

static const struct kernel_param_ops param_add_ops = {
	.set = param_add,
};

static const struct kernel_param_ops param_remove_ops = {
	.set = param_remove,
};

module_param_cb(add, &param_add_ops, NULL, 0200);
MODULE_PARM_DESC(add, "netdev to make an RDMA device on, and the device's name, if not rxe0 and so on");
module_param_cb(remove, &param_remove_ops, NULL, 0200);
MODULE_PARM_DESC(remove, "RDMA device or netdev whose RDMA device goes; all: all of them");

/* --- registration -------------------------------------------------------------------- */

/**
 * rxe_compat_rdma_nl_register() - accept commands
 * @ops: the type of link
 *
 * Without netlink, should another driver have taken the client number, module
 * parameters remain.
 *
 * Context: process context.
 */
void rxe_compat_rdma_nl_register(struct rdma_link_ops *ops)
{
	mutex_lock(&link_mutex);
	link_type = ops;
	mutex_unlock(&link_mutex);
	if (!netlink_open())
		pr_warn("rxe: no \"rdma link add\": another module serves its netlink client\n");
}

/**
 * rxe_compat_rdma_nl_unregister() - accept no more commands
 *
 * Context: process context; waits for a command that runs.
 */
void rxe_compat_rdma_nl_unregister(void)
{
	netlink_close();
	mutex_lock(&link_mutex);
	link_type = NULL;
	mutex_unlock(&link_mutex);
}

#endif /* !RXE_HAVE_RDMA_LINK_OPS */
