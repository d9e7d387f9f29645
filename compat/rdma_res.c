// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which objects there are, who has made them, and the answer to "rdma resource show
 * KIND", for cores that keep no account of it.
 *
 *   rdma resource show [qp|cq|mr|pd|srq|ctx] [link LINK] [FILTER]     (cm_id: rdma_cm_id.c)
 *
 * ib_ops_old.c tells of every object made and destroyed. A request names a device,
 * and may name an object by its number; filters by anything else are the tool's own.
 * Loses: the names of users in the kernel.
 */
#define RXE_COMPAT_KERNEL_IB_OPS

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/netlink.h>
#include <rdma/ib_verbs.h>

#include "rdma_nl.h"

#if !RXE_HAVE_IB_DEVICE_OPS && !RXE_HAVE_RDMA_NL_REGISTER

/**
 * struct resource_entry - an object
 * @list: of its kind and device, in the order of @number
 * @node: in by_object
 * @object: it
 * @number: counts up; of a queue pair it is not shown
 * @pid: of the process that made it; NULL: the kernel
 */
struct resource_entry {
	struct list_head	list;
	struct hlist_node	node;
	const void		*object;
	u32			number;
	struct pid		*pid;
};

/* Queue pairs named with a shared receive queue: an answer has room for no more */
#define SRQ_QPS_MOST	64

static DEFINE_HASHTABLE(by_object, 10);
/* All objects of all devices; they stay while it is held */
static DEFINE_MUTEX(res_mutex);
static u32 last_number;

/* Under res_mutex. */
static struct resource_entry *find(const void *object)
{
	struct resource_entry *res;

	hash_for_each_possible(by_object, res, node, (unsigned long)object)
		if (res->object == object)
			return res;
	return NULL;
}

static u32 number_of(const void *object)
{
	const struct resource_entry *res = find(object);

	return res ? res->number : 0;
}

/**
 * rxe_compat_res_init() - a device has no objects yet
 * @lists: of the device
 *
 * Context: any.
 */
void rxe_compat_res_init(struct list_head *lists)
{
	unsigned int i;

	for (i = 0; i < RXE_COMPAT_OBJECTS; i++)
		INIT_LIST_HEAD(&lists[i]);
}

/**
 * rxe_compat_res_add() - an object is complete
 * @device: device
 * @kind: of object
 * @object: it
 * @is_user: made by the current process
 *
 * Without memory it is not to be seen, and nothing else is amiss.
 *
 * Context: process context, sleeps.
 */
void rxe_compat_res_add(struct ib_device *device, enum rxe_compat_object kind,
			const void *object, bool is_user)
{
	struct resource_entry *res = kzalloc(sizeof(*res), GFP_KERNEL);

	if (!res)
		return;
	res->object = object;
	if (is_user)
		res->pid = get_pid(task_tgid(current));
	mutex_lock(&res_mutex);
	res->number = ++last_number;
	list_add_tail(&res->list, &rxe_compat_ib_device_res(device)[kind]);
	hash_add(by_object, &res->node, (unsigned long)object);
	mutex_unlock(&res_mutex);
}

/**
 * rxe_compat_res_del() - an object is about to be destroyed
 * @object: it; may have never been added
 *
 * Nobody looks at it afterwards.
 *
 * Context: process context, sleeps.
 */
void rxe_compat_res_del(const void *object)
{
	struct resource_entry *res;

	mutex_lock(&res_mutex);
	res = find(object);
	if (res) {
		list_del(&res->list);
		hash_del(&res->node);
	}
	mutex_unlock(&res_mutex);
	if (res)
		put_pid(res->pid);
	kfree(res);
}

/* --- what is said of an object ------------------------------------------------- */

/**
 * struct kind - how objects of a kind are asked for and shown
 * @op: of request and answer
 * @kind: of object
 * @table: attribute that holds all of them
 * @entry: attribute that holds one
 * @number: attribute of its number
 * @fill: writes the rest
 */
struct kind {
	int			op;
	enum rxe_compat_object	kind;
	int			table;
	int			entry;
	int			number;
	int			(*fill)(struct sk_buff *skb, struct netlink_callback *cb,
					const struct resource_entry *res);
};

static bool is_admin(struct netlink_callback *cb)
{
	return netlink_capable(cb->skb, CAP_NET_ADMIN);
}

static int fill_qp(struct sk_buff *skb, struct netlink_callback *cb,
		   const struct resource_entry *res)
{
	struct ib_qp *qp = (struct ib_qp *)res->object;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	int err;

	err = qp->device->query_qp(qp, &attr, 0, &init);
	if (err)
		return err;
	if (qp->qp_type == IB_QPT_RC || qp->qp_type == IB_QPT_UC) {
		if (nla_put_u32(skb, ATTR_RES_RQPN, attr.dest_qp_num) ||
		    nla_put_u32(skb, ATTR_RES_RQ_PSN, attr.rq_psn) ||
		    nla_put_u8(skb, ATTR_RES_PATH_MIG_STATE, attr.path_mig_state))
			return -EMSGSIZE;
	}
	if ((attr.port_num && nla_put_u32(skb, ATTR_PORT_INDEX, attr.port_num)) ||
	    nla_put_u32(skb, ATTR_RES_SQ_PSN, attr.sq_psn) ||
	    nla_put_u8(skb, ATTR_RES_TYPE, qp->qp_type) ||
	    nla_put_u8(skb, ATTR_RES_STATE, attr.qp_state) ||
	    nla_put_u32(skb, ATTR_RES_PDN, number_of(qp->pd)))
		return -EMSGSIZE;
	return rxe_compat_ib_ops()->fill_res_qp_entry(skb, qp);
}

static int fill_cq(struct sk_buff *skb, struct netlink_callback *cb,
		   const struct resource_entry *res)
{
	struct ib_cq *cq = (struct ib_cq *)res->object;

	if (nla_put_u32(skb, ATTR_RES_CQE, cq->cqe) ||
	    rxe_compat_nl_put_u64(skb, ATTR_RES_USECNT, atomic_read(&cq->usecnt)) ||
	    (cq->uobject && nla_put_u32(skb, ATTR_RES_CTXN, number_of(cq->uobject->context))))
		return -EMSGSIZE;
	return rxe_compat_ib_ops()->fill_res_cq_entry(skb, cq);
}

/* Length is a number of 32 bits there. */
static int fill_mr(struct sk_buff *skb, struct netlink_callback *cb,
		   const struct resource_entry *res)
{
	struct ib_mr *mr = (struct ib_mr *)res->object;

	if (is_admin(cb) && (nla_put_u32(skb, ATTR_RES_RKEY, mr->rkey) ||
			     nla_put_u32(skb, ATTR_RES_LKEY, mr->lkey)))
		return -EMSGSIZE;
	if (rxe_compat_nl_put_u64(skb, ATTR_RES_MRLEN, mr->length) ||
	    nla_put_u32(skb, ATTR_RES_PDN, number_of(mr->pd)))
		return -EMSGSIZE;
	return rxe_compat_ib_ops()->fill_res_mr_entry(skb, mr);
}

static int fill_pd(struct sk_buff *skb, struct netlink_callback *cb,
		   const struct resource_entry *res)
{
	const struct ib_pd *pd = res->object;

	if (is_admin(cb) && !pd->uobject &&
	    nla_put_u32(skb, ATTR_RES_LOCAL_DMA_LKEY, pd->local_dma_lkey))
		return -EMSGSIZE;
	if (rxe_compat_nl_put_u64(skb, ATTR_RES_USECNT, atomic_read(&pd->usecnt)) ||
	    (pd->uobject && nla_put_u32(skb, ATTR_RES_CTXN, number_of(pd->uobject->context))))
		return -EMSGSIZE;
	return 0;
}

/* The queue pairs of a shared receive queue: the tool shows none that has no such table */
static int fill_srq_qps(struct sk_buff *skb, const struct ib_srq *srq)
{
	struct nlattr *table = nla_nest_start(skb, ATTR_RES_QP);
	const struct resource_entry *res;
	unsigned int count = 0;
	const struct ib_qp *qp;
	struct nlattr *entry;

	if (!table)
		return -EMSGSIZE;
	list_for_each_entry(res, &rxe_compat_ib_device_res(srq->device)[RXE_COMPAT_QP], list) {
		qp = res->object;
		if (qp->srq != srq)
			continue;
		entry = nla_nest_start(skb, ATTR_RES_QP_ENTRY);
		if (!entry || nla_put_u32(skb, ATTR_RES_LQPN, qp->qp_num))
			return -EMSGSIZE;
		nla_nest_end(skb, entry);
		if (++count == SRQ_QPS_MOST)
			break;
	}
	nla_nest_end(skb, table);
	return 0;
}

static int fill_srq(struct sk_buff *skb, struct netlink_callback *cb,
		    const struct resource_entry *res)
{
	struct ib_srq *srq = (struct ib_srq *)res->object;

	if (nla_put_u8(skb, ATTR_RES_TYPE, srq->srq_type) ||
	    nla_put_u32(skb, ATTR_RES_PDN, number_of(srq->pd)) || fill_srq_qps(skb, srq))
		return -EMSGSIZE;
	return rxe_compat_ib_ops()->fill_res_srq_entry(skb, srq);
}

static int fill_nothing(struct sk_buff *skb, struct netlink_callback *cb,
			const struct resource_entry *res)
{
	return 0;
}

static const struct kind kinds[] = {
	{ CMD_RES_QP_GET, RXE_COMPAT_QP, ATTR_RES_QP, ATTR_RES_QP_ENTRY, ATTR_RES_LQPN, fill_qp },
	{ CMD_RES_CQ_GET, RXE_COMPAT_CQ, ATTR_RES_CQ, ATTR_RES_CQ_ENTRY, ATTR_RES_CQN, fill_cq },
	{ CMD_RES_MR_GET, RXE_COMPAT_MR, ATTR_RES_MR, ATTR_RES_MR_ENTRY, ATTR_RES_MRN, fill_mr },
	{ CMD_RES_PD_GET, RXE_COMPAT_PD, ATTR_RES_PD, ATTR_RES_PD_ENTRY, ATTR_RES_PDN, fill_pd },
	{ CMD_RES_CTX_GET, RXE_COMPAT_CTX, ATTR_RES_CTX, ATTR_RES_CTX_ENTRY, ATTR_RES_CTXN,
	  fill_nothing },
	{ CMD_RES_SRQ_GET, RXE_COMPAT_SRQ, ATTR_RES_SRQ, ATTR_RES_SRQ_ENTRY, ATTR_RES_SRQN,
	  fill_srq },
};

/* --- answers --------------------------------------------------------------------- */

static u32 shown_number(const struct kind *kind, const struct resource_entry *res)
{
	return kind->kind == RXE_COMPAT_QP ? ((const struct ib_qp *)res->object)->qp_num :
					     res->number;
}

static int fill(struct sk_buff *skb, struct netlink_callback *cb, const struct kind *kind,
		const struct resource_entry *res)
{
	u32 pid;

	if (nla_put_u32(skb, kind->number, shown_number(kind, res)))
		return -EMSGSIZE;
	if (res->pid) {
		pid = pid_nr_ns(res->pid, task_active_pid_ns(current));
		if (nla_put_u32(skb, ATTR_RES_PID, pid))
			return -EMSGSIZE;
	} else if (nla_put_string(skb, ATTR_RES_KERN_NAME, "kernel")) {
		return -EMSGSIZE;
	}
	return kind->fill(skb, cb, res);
}

/* As many objects as go into the buffer; cb->args[0] is the number of the last one. */
static int fill_table(struct sk_buff *skb, struct netlink_callback *cb, const struct kind *kind,
		      struct list_head *list)
{
	struct nlattr *table, *entry;
	struct resource_entry *res;
	bool some = false;

	table = nla_nest_start(skb, kind->table);
	if (!table)
		return -EMSGSIZE;
	list_for_each_entry(res, list, list) {
		if (res->number <= cb->args[0])
			continue;
		entry = nla_nest_start(skb, kind->entry);
		if (!entry || fill(skb, cb, kind, res)) {
			if (entry)
				nla_nest_cancel(skb, entry);
			break;
		}
		nla_nest_end(skb, entry);
		cb->args[0] = res->number;
		some = true;
	}
	nla_nest_end(skb, table);
	return some ? 0 : -ENODATA;
}

/* The one that is asked for; the answer has its attributes without a table around. */
static int fill_one(struct sk_buff *skb, struct netlink_callback *cb, const struct kind *kind,
		    struct list_head *list, u32 number)
{
	struct resource_entry *res;

	if (cb->args[0])
		return -ENODATA;
	list_for_each_entry(res, list, list) {
		if (shown_number(kind, res) != number)
			continue;
		cb->args[0] = res->number;
		return fill(skb, cb, kind, res);
	}
	return -ENOENT;
}

/**
 * struct request - which objects are wanted
 * @skb: answer
 * @cb: request
 * @kind: of objects
 * @index: of the device
 * @number: attribute with the number of an object; NULL: all
 */
struct request {
	struct sk_buff		*skb;
	struct netlink_callback	*cb;
	const struct kind	*kind;
	u32			index;
	const struct nlattr	*number;
};

/* -ENODATA: there are no more. */
static int answer_device(struct ib_device *device, u32 index, void *arg)
{
	struct request *req = arg;
	struct list_head *list;
	struct nlmsghdr *nlh;
	int err;

	if (index != req->index)
		return 0;
	nlh = rxe_compat_nl_begin(req->skb, req->cb, req->kind->op);
	if (!nlh)
		return -EMSGSIZE;
	err = -EMSGSIZE;
	if (nla_put_u32(req->skb, ATTR_DEV_INDEX, index) ||
	    nla_put_string(req->skb, ATTR_DEV_NAME, device->name))
		goto out;
	list = &rxe_compat_ib_device_res(device)[req->kind->kind];
	mutex_lock(&res_mutex);
	if (req->number)
		err = fill_one(req->skb, req->cb, req->kind, list, nla_get_u32(req->number));
	else
		err = fill_table(req->skb, req->cb, req->kind, list);
	mutex_unlock(&res_mutex);
out:
	if (err) {
		nlmsg_cancel(req->skb, nlh);
		return err;
	}
	nlmsg_end(req->skb, nlh);
	return 1;
}

/**
 * rxe_compat_res_answer() - one buffer of an answer
 * @skb: answer
 * @cb: request
 * @op: which objects are wanted
 *
 * Context: process context, sleeps.
 * Return: bytes in @skb; 0: that was all; or a negative errno.
 */
int rxe_compat_res_answer(struct sk_buff *skb, struct netlink_callback *cb, int op)
{
	struct request req = { .skb = skb, .cb = cb };
	struct nlattr *tb[ATTR_MAX + 1];
	unsigned int i;
	int err;

	err = rxe_compat_nl_parse(cb, tb);
	if (err)
		return err;
	if (!tb[ATTR_DEV_INDEX])
		return -EINVAL;
	req.index = nla_get_u32(tb[ATTR_DEV_INDEX]);
	if (op == CMD_RES_CM_ID_GET)
		return rxe_compat_cm_id_answer(skb, cb, req.index);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].op == op)
			req.kind = &kinds[i];
	if (!req.kind)
		return 0;	/* of these the core says nothing to anybody */
	req.number = tb[req.kind->number];
	err = rxe_compat_ib_device_each(0, answer_device, &req);
	if (err == -ENODATA)
		return 0;
	if (!err)
		return -ENODEV;
	return skb->len ? skb->len : err;
}

#endif /* !RXE_HAVE_IB_DEVICE_OPS && !RXE_HAVE_RDMA_NL_REGISTER */
