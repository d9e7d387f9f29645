/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Who has made which object of a device (track.c).
 */
#ifndef RXE_TRACK_H
#define RXE_TRACK_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/types.h>

struct pid;
struct rxe_dev;
struct seq_file;

enum rxe_tracked {
	RXE_TRACK_QP,
	RXE_TRACK_CQ,
	RXE_TRACK_MR,
	RXE_TRACK_SRQ,
	RXE_TRACK_PD,
	RXE_TRACK_CONTEXT,
	RXE_TRACK_KINDS
};

/**
 * struct rxe_track - an object, as long as it may be looked at
 * @list: in the device's list of its kind; empty: not yet, or no more
 * @number: counts up, for objects that have no number of their own
 * @pid: of the process that made it; NULL: the kernel
 * @comm: name of that process
 */
struct rxe_track {
	struct list_head	list;
	u32			number;
	struct pid		*pid;
	char			comm[TASK_COMM_LEN];
};

/**
 * struct rxe_tracks - all objects of a device
 * @mutex: the lists; held by whoever looks at an object, which stays meanwhile
 * @list: of each kind
 * @last: number given last
 */
struct rxe_tracks {
	struct mutex		mutex;	/* the lists */
	struct list_head	list[RXE_TRACK_KINDS];
	u32			last;
};

void rxe_tracks_init(struct rxe_tracks *tracks);
void rxe_tracks_exit(struct rxe_dev *dev);
void rxe_track_add(struct rxe_dev *dev, enum rxe_tracked kind, struct rxe_track *track,
		   bool is_user);
void rxe_track_del(struct rxe_dev *dev, struct rxe_track *track);
u32 rxe_track_pid(const struct rxe_track *track);
const char *rxe_track_name(const struct rxe_track *track);

#endif /* RXE_TRACK_H */
