// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ids.c - from a number that came from the wire or a ring to an object.
 *
 * Owns the module-wide tables: QP numbers, upper parts of memory keys, address
 * handles of user space.
 * Numbers are drawn at random, so that nobody guesses one.
 *
 *	rxe_id_new()	reserves a number; refs is 0, so no look-up succeeds
 *	rxe_id_publish() refs becomes 1, the owner's: look-ups succeed
 *	rxe_id_get/put()	users, each for a short time that never sleeps
 *	rxe_id_free()	out of the table, then waits until refs is 0
 */
#include "rxe.h"

#include <linux/hash.h>
#include <linux/random.h>
#include <linux/slab.h>

/* Draws before giving up; with half of the numbers free one in two succeeds. */
#define DRAWS	64

struct rxe_ids rxe_qp_ids;
struct rxe_ids rxe_mr_ids;
struct rxe_ids rxe_ah_ids;

/* Look-ups are many: constants that the compiler folds into each of them. */
static inline u32 id_hash(const void *number, u32 len, u32 seed)
{
	return hash_32(*(const u32 *)number ^ seed, 32);
}

static inline int id_differs(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct rxe_id *id = obj;

	return id->number != *(const u32 *)arg->key;
}

static const struct rhashtable_params ids_params = {
	.key_len		= sizeof(u32),
	.key_offset		= offsetof(struct rxe_id, number),
	.head_offset		= offsetof(struct rxe_id, node),
	.hashfn			= id_hash,
	.obj_cmpfn		= id_differs,
	.automatic_shrinking	= true,
};

static int ids_init(struct rxe_ids *ids, u32 mask, u32 min)
{
	atomic_set(&ids->count, 0);
	ids->mask = mask;
	ids->min = min;
	return rhashtable_init(&ids->table, &ids_params);
}

static void ids_exit(struct rxe_ids *ids)
{
	WARN_ON(atomic_read(&ids->count));
	rhashtable_destroy(&ids->table);
}

/**
 * rxe_ids_init - set up the tables
 *
 * Context: process context, at module load.
 * Return: 0 or -ENOMEM.
 */
int rxe_ids_init(void)
{
	int err;

	/* 0 and 1 belong to the management QPs, the rest up to 15 is kept free */
	err = ids_init(&rxe_qp_ids, 0xffffff, 16);
	if (err)
		return err;
	err = ids_init(&rxe_mr_ids, 0xffffff, 1);
	if (err)
		goto fail_mr;
	err = ids_init(&rxe_ah_ids, 0xffffff, 1);
	if (err)
		goto fail_ah;
	return 0;

fail_ah:
	ids_exit(&rxe_mr_ids);
fail_mr:
	ids_exit(&rxe_qp_ids);
	return err;
}

/**
 * rxe_ids_exit - release the tables, which must be empty
 *
 * Context: process context, at module unload.
 */
void rxe_ids_exit(void)
{
	ids_exit(&rxe_ah_ids);
	ids_exit(&rxe_mr_ids);
	ids_exit(&rxe_qp_ids);
}

/**
 * rxe_id_new - reserve an unused, unpredictable number
 * @ids: table
 * @object: what the number stands for, once published
 *
 * All-ones is never given out: as a QP number it means multicast.
 *
 * Context: process context, sleeps.
 * Return: the entry, to be released with rxe_id_free(), or an ERR_PTR:
 * -ENOMEM, or -ENOSPC when half of all numbers are taken.
 */
struct rxe_id *rxe_id_new(struct rxe_ids *ids, void *object)
{
	struct rxe_id *id;
	int err = -ENOSPC;
	int i;

	id = kzalloc(sizeof(*id), GFP_KERNEL);
	if (!id)
		return ERR_PTR(-ENOMEM);
	refcount_set(&id->refs, 0);
	init_completion(&id->idle);
	id->object = object;

	if (atomic_inc_return(&ids->count) > ids->mask / 2)
		goto fail;
	for (i = 0; i < DRAWS; i++) {
		id->number = get_random_u32() & ids->mask;
		if (id->number < ids->min || id->number == ids->mask)
			continue;
		err = rhashtable_lookup_insert_fast(&ids->table, &id->node,
						    ids_params);
		if (!err)
			return id;
		/* taken, or the table is being rebuilt just now */
		if (err != -EEXIST && err != -EBUSY)
			goto fail;
		cond_resched();
	}
	err = -ENOSPC;
fail:
	atomic_dec(&ids->count);
	kfree(id);
	return ERR_PTR(err);
}

/**
 * rxe_id_publish - let look-ups find the object
 * @ids: table
 * @id: from rxe_id_new(), not yet published
 *
 * Whatever the caller wrote to the object before is seen by those who find it.
 *
 * Context: any.
 */
void rxe_id_publish(struct rxe_ids *ids, struct rxe_id *id)
{
	smp_wmb();	/* pairs with rxe_id_get() */
	refcount_set(&id->refs, 1);
}

/**
 * rxe_id_get - look a number up
 * @ids: table
 * @number: the key, from anywhere
 *
 * Context: any, also softirq.
 * Return: the entry with a reference that the caller gives back soon, without
 * having slept, with rxe_id_put(); NULL if there is none.
 */
struct rxe_id *rxe_id_get(struct rxe_ids *ids, u32 number)
{
	struct rxe_id *id;

	rcu_read_lock();
	id = rhashtable_lookup_fast(&ids->table, &number, ids_params);
	if (id && !refcount_inc_not_zero(&id->refs))
		id = NULL;
	rcu_read_unlock();
	smp_rmb();	/* pairs with rxe_id_publish() */
	return id;
}

/**
 * rxe_id_put - give a reference back
 * @id: from rxe_id_get()
 *
 * Context: any. Neither @id nor its object may be touched afterwards.
 */
void rxe_id_put(struct rxe_id *id)
{
	if (refcount_dec_and_test(&id->refs))
		complete(&id->idle);
}

/**
 * rxe_id_alone - whether nobody else uses an object
 * @id: of which the caller has one reference
 *
 * The owner does not count, nor does it matter whether he gives the number back just now.
 *
 * Context: any.
 * Return: false if others have references, too; they may give them back at any time.
 */
bool rxe_id_alone(const struct rxe_id *id)
{
	unsigned int refs = refcount_read(&id->refs);

	smp_rmb();	/* without the owner's, @freed is set: pairs with rxe_id_free() */
	return refs <= (READ_ONCE(id->freed) ? 1 : 2);
}

/**
 * rxe_id_free - take a number back, published or not
 * @ids: table
 * @id: from rxe_id_new()
 *
 * On return nobody uses the object, and nobody can find it any more.
 *
 * Context: process context, sleeps until the last user is done.
 */
void rxe_id_free(struct rxe_ids *ids, struct rxe_id *id)
{
	rhashtable_remove_fast(&ids->table, &id->node, ids_params);
	atomic_dec(&ids->count);
	/* 0 here: was never published */
	if (refcount_read(&id->refs)) {
		bool last;

		/* who waits to be alone may keep the CPU from us */
		preempt_disable();
		WRITE_ONCE(id->freed, true);
		/* and its release: see rxe_id_alone() */
		last = refcount_dec_and_test(&id->refs);
		preempt_enable();
		if (!last)
			wait_for_completion(&id->idle);
	}
	kfree_rcu(id, rcu);
}
