/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a device shows in debugfs (debugfs.c).
 */
#ifndef RXE_DEBUGFS_H
#define RXE_DEBUGFS_H

#include <linux/list.h>
#include <rdma/ib_verbs.h>

struct dentry;
struct rxe_dev;

/**
 * struct rxe_debug - a device in debugfs
 * @list: in debugfs.c's list
 * @number: by which a file finds its device; never used twice
 * @dir: its directory, NULL: it has none
 * @name: of the directory
 */
struct rxe_debug {
	struct list_head	list;
	u32			number;
	struct dentry		*dir;
	char			name[IB_DEVICE_NAME_MAX];
};

int rxe_debugfs_init(void);
void rxe_debugfs_exit(void);
int rxe_debugfs_add(struct ib_device *ibdev);
void rxe_debugfs_remove(struct rxe_dev *dev);

#endif /* RXE_DEBUGFS_H */
