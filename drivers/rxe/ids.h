/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Number -> object: QP numbers, keys and address handles (ids.c).
 */
#ifndef RXE_IDS_H
#define RXE_IDS_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/types.h>

/**
 * struct rxe_ids - a module-wide table of unpredictable numbers
 * @table: readers under RCU
 * @count: entries
 * @mask: which bits a number may have
 * @min: numbers below are reserved
 */
struct rxe_ids {
	struct rhashtable	table;
	atomic_t		count;
	u32			mask;
	u32			min;
};

/**
 * struct rxe_id - an entry; lives until the last reader is done with it
 * @node: place in the table
 * @number: the key
 * @refs: users of @object; the owner holds one
 * @freed: he holds none any more, or not for long
 * @idle: completed with the last reference
 * @object: valid while a reference is held
 * @rcu: the entry itself is freed after a grace period
 */
struct rxe_id {
	struct rhash_head	node;
	u32			number;
	refcount_t		refs;
	bool			freed;
	struct completion	idle;
	void			*object;
	struct rcu_head		rcu;
};

extern struct rxe_ids rxe_qp_ids;	/* 24 bits: QP numbers */
extern struct rxe_ids rxe_mr_ids;	/* 24 bits: upper part of keys */
extern struct rxe_ids rxe_ah_ids;	/* 24 bits: address handles of user space */

int rxe_ids_init(void);
void rxe_ids_exit(void);
struct rxe_id *rxe_id_new(struct rxe_ids *ids, void *object);
void rxe_id_publish(struct rxe_ids *ids, struct rxe_id *id);
struct rxe_id *rxe_id_get(struct rxe_ids *ids, u32 number);
void rxe_id_put(struct rxe_id *id);
bool rxe_id_alone(const struct rxe_id *id);
void rxe_id_free(struct rxe_ids *ids, struct rxe_id *id);

#endif /* RXE_IDS_H */
