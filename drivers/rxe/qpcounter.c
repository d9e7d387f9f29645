// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters that "rdma statistic qp" binds to queue pairs: to one by its number
 * (manual), or to each of a type or process (auto). The core decides which.
 *
 *   counter ── bindings, each a queue pair and what it had counted before
 *    │ └ past: of queue pairs that are bound no more
 *    └ device: past of counters that are no more
 *
 * A queue pair counts for itself in any case (counters.h), and what it has counted
 * since it was bound is what the counter shows: the data path knows nothing of it.
 *
 * All of it is under the mutex of the device's tracks: a queue pair that is about to
 * be destroyed is not tracked any more, and is not bound.
 */
#include <linux/slab.h>

#include "rxe.h"

#include <rdma/rdma_counter.h>

/**
 * struct rxe_qpcounter - a counter
 * @list: in those of the device
 * @id: by which the core names it
 * @bindings: queue pairs
 * @past: what queue pairs have counted that were bound
 */
struct rxe_qpcounter {
	struct list_head	list;
	u32			id;
	struct list_head	bindings;
	u64			past[RXE_CNT_QP_END];
};

/**
 * struct rxe_binding - a queue pair that is bound
 * @list: in those of the counter
 * @to: the counter
 * @qp: queue pair, which knows it, too
 * @before: what it had counted then
 */
struct rxe_binding {
	struct list_head	list;
	struct rxe_qpcounter	*to;
	struct rxe_qp		*qp;
	u64			before[RXE_CNT_QP_END];
};

static struct rxe_qpcounter *find(struct rxe_dev *dev, u32 id)
{
	struct rxe_qpcounter *own;

	lockdep_assert_held(&dev->tracks.mutex);
	list_for_each_entry(own, &dev->qpcounters.list, list)
		if (own->id == id)
			return own;
	return NULL;
}

static u64 since(const struct rxe_binding *binding, unsigned int which)
{
	return rxe_counters_qp(binding->qp, which) - binding->before[which];
}

static u64 value_of(const struct rxe_qpcounter *own, unsigned int which)
{
	const struct rxe_binding *binding;
	u64 sum = own->past[which];

	list_for_each_entry(binding, &own->bindings, list)
		sum += since(binding, which);
	return sum;
}

static void release(struct rxe_binding *binding)
{
	struct rxe_qp *qp = binding->qp;
	unsigned int i;

	lockdep_assert_held(&qp->dev->tracks.mutex);
	for (i = 0; i < RXE_CNT_QP_END; i++)
		binding->to->past[i] += since(binding, i);
	list_del(&binding->list);
	qp->binding = NULL;
	qp->ib.counter = NULL;
	kfree(binding);
}

/**
 * rxe_qpcounter_subtract() - what is left of the counters of a device
 * @dev: device
 * @value: of all counters; less what bound counters show, or have shown
 *
 * The core adds that again, to show the sum, a moment later: a difference may be below
 * 0, the sum never is, nor does it fall, if @value was read before.
 *
 * Context: process context, sleeps.
 */
void rxe_qpcounter_subtract(struct rxe_dev *dev, u64 *value)
{
	const struct rxe_qpcounter *own;
	unsigned int i;

	mutex_lock(&dev->tracks.mutex);
	for (i = 0; i < RXE_CNT_QP_END; i++) {
		value[i] -= dev->qpcounters.past[i];
		list_for_each_entry(own, &dev->qpcounters.list, list)
			value[i] -= value_of(own, i);
	}
	mutex_unlock(&dev->tracks.mutex);
}

/**
 * rxe_qpcounter_forget() - a queue pair goes
 * @qp: queue pair, not tracked any more
 *
 * The core unbinds it before; but not one that somebody binds at this very moment.
 *
 * Context: process context, sleeps.
 */
void rxe_qpcounter_forget(struct rxe_qp *qp)
{
	mutex_lock(&qp->dev->tracks.mutex);
	if (qp->binding)
		release(qp->binding);
	mutex_unlock(&qp->dev->tracks.mutex);
}

/**
 * rxe_qpcounter_init() - counter_init: the core has allocated a counter
 * @counter: counter
 *
 * Older cores do not ask, and allocate no more than their own part: ours is made when
 * the first queue pair is bound.
 *
 * Context: process context.
 */
void rxe_qpcounter_init(struct rdma_counter *counter)
{
}

/* Both are there already. Under the mutex. */
static int bind(struct rxe_qpcounter *own, struct rxe_binding *binding, struct rxe_qp *qp)
{
	unsigned int i;

	if (list_empty(&qp->track.list) || qp->binding)
		return -EINVAL;
	binding->to = own;
	binding->qp = qp;
	for (i = 0; i < RXE_CNT_QP_END; i++)
		binding->before[i] = rxe_counters_qp(qp, i);
	list_add_tail(&binding->list, &own->bindings);
	qp->binding = binding;
	return 0;
}

static struct rxe_qpcounter *create(void)
{
	struct rxe_qpcounter *own = kzalloc(sizeof(*own), GFP_KERNEL);

	if (own)
		INIT_LIST_HEAD(&own->bindings);
	return own;
}

/**
 * rxe_qpcounter_bind() - counter_bind_qp: count what a queue pair counts from now on
 * @counter: counter; without a number it is new, and gets one
 * @ibqp: queue pair, which the core does not let go
 * @port: port
 *
 * Context: process context, sleeps, under the mutex of the counter.
 * Return: 0, -ENOMEM, -EINVAL: the queue pair is bound, or about to be destroyed.
 */
int rxe_qpcounter_bind(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port)
{
	struct rxe_binding *binding = kzalloc(sizeof(*binding), GFP_KERNEL);
	struct rxe_qpcounter *fresh = counter->id ? NULL : create();
	struct rxe_dev *dev = to_rxe_dev(ibqp->device);
	struct rxe_qpcounter *own;
	int err = -ENOMEM;

	if (!binding || (!counter->id && !fresh))
		goto out;
	mutex_lock(&dev->tracks.mutex);
	own = fresh ? fresh : find(dev, counter->id);
	err = own ? bind(own, binding, to_rxe_qp(ibqp)) : -EINVAL;
	if (!err) {
		if (fresh) {
			fresh->id = ++dev->qpcounters.last;
			list_add_tail(&fresh->list, &dev->qpcounters.list);
			counter->id = fresh->id;
		}
		ibqp->counter = counter;
	}
	mutex_unlock(&dev->tracks.mutex);
out:
	if (err) {
		kfree(fresh);
		kfree(binding);
	}
	return err;
}

/**
 * rxe_qpcounter_unbind() - counter_unbind_qp: the counter keeps what it has
 * @ibqp: queue pair
 * @port: port
 *
 * Context: process context, sleeps, under the mutex of the counter.
 * Return: 0.
 */
int rxe_qpcounter_unbind(struct ib_qp *ibqp, u32 port)
{
	rxe_qpcounter_forget(to_rxe_qp(ibqp));
	return 0;
}

/**
 * rxe_qpcounter_update() - counter_update_stats: read a counter for the core
 * @counter: counter; its values are filled, those of the device alone are 0
 *
 * Context: process context, sleeps, under the mutex of the counter.
 * Return: 0, -EINVAL: there is no such counter.
 */
int rxe_qpcounter_update(struct rdma_counter *counter)
{
	struct rxe_dev *dev = to_rxe_dev(counter->device);
	const struct rxe_qpcounter *own;
	unsigned int i;

	mutex_lock(&dev->tracks.mutex);
	own = find(dev, counter->id);
	for (i = 0; own && i < RXE_CNT_QP_END; i++)
		counter->stats->value[i] = value_of(own, i);
	mutex_unlock(&dev->tracks.mutex);
	return own ? 0 : -EINVAL;
}

/**
 * rxe_qpcounter_dealloc() - counter_dealloc: nothing is bound to it any more
 * @counter: counter, read for the last time
 *
 * Context: process context, sleeps.
 * Return: 0.
 */
int rxe_qpcounter_dealloc(struct rdma_counter *counter)
{
	struct rxe_dev *dev = to_rxe_dev(counter->device);
	struct rxe_binding *binding, *next;
	struct rxe_qpcounter *own;
	unsigned int i;

	mutex_lock(&dev->tracks.mutex);
	own = find(dev, counter->id);
	if (own) {
		list_for_each_entry_safe(binding, next, &own->bindings, list)
			release(binding);
		for (i = 0; i < RXE_CNT_QP_END; i++)
			dev->qpcounters.past[i] += own->past[i];
		list_del(&own->list);
		kfree(own);
	}
	mutex_unlock(&dev->tracks.mutex);
	return 0;
}

/**
 * rxe_qpcounter_alloc_stats() - counter_alloc_stats: describe a counter to the core
 * @counter: counter
 *
 * The core adds it to the port, value by value: it has as many.
 *
 * Context: process context.
 * Return: descriptors and room for values, freed by the core; NULL for no memory.
 */
struct rdma_hw_stats *rxe_qpcounter_alloc_stats(struct rdma_counter *counter)
{
	return rxe_counters_alloc_stats(counter->device, counter->port);
}
