// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who has made which object of a device, for those who show it (debugfs.c,
 * restrack.c), and for the report of what was not given back.
 *
 * An object is in its list from the end of its creation to the beginning of its
 * destruction, and whoever looks at one holds the mutex of the lists: so nobody ever
 * sees half an object. Nothing of this is near the data path.
 */
#define pr_fmt(fmt) "rxe: " fmt

#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/printk.h>

#include "rxe.h"

/* Objects that a report names of each kind */
#define REPORT_MOST	16

static const char * const kind_names[RXE_TRACK_KINDS] = {
	[RXE_TRACK_QP]		= "queue pair",
	[RXE_TRACK_CQ]		= "completion queue",
	[RXE_TRACK_MR]		= "memory region",
	[RXE_TRACK_SRQ]		= "shared receive queue",
	[RXE_TRACK_PD]		= "protection domain",
	[RXE_TRACK_CONTEXT]	= "user context",
};

/**
 * rxe_tracks_init() - there are no objects yet
 * @tracks: of a device
 *
 * Context: any.
 */
void rxe_tracks_init(struct rxe_tracks *tracks)
{
	unsigned int i;

	mutex_init(&tracks->mutex);
	for (i = 0; i < RXE_TRACK_KINDS; i++)
		INIT_LIST_HEAD(&tracks->list[i]);
}

static void report_one(const struct rxe_dev *dev, enum rxe_tracked kind,
		       const struct rxe_track *track)
{
	if (track->pid)
		pr_warn("%s:   %s %u, made by %s, pid %d\n", dev_name(&dev->ib.dev),
			kind_names[kind], track->number, track->comm, pid_nr(track->pid));
	else
		pr_warn("%s:   %s %u, made by the kernel\n", dev_name(&dev->ib.dev),
			kind_names[kind], track->number);
}

/**
 * rxe_tracks_exit() - say what was never given back, and forget it
 * @dev: device; nobody looks at its objects any more
 *
 * The core sees to it that there is nothing; but not that kernel users do as they
 * should.
 *
 * Context: process context.
 */
void rxe_tracks_exit(struct rxe_dev *dev)
{
	struct rxe_track *track, *next;
	unsigned int kind, count = 0, shown;

	for (kind = 0; kind < RXE_TRACK_KINDS; kind++)
		list_for_each_entry(track, &dev->tracks.list[kind], list)
			count++;
	if (!count)
		return;
	pr_warn("%s: leaked %u objects, never destroyed:\n", dev_name(&dev->ib.dev), count);
	for (kind = 0; kind < RXE_TRACK_KINDS; kind++) {
		shown = 0;
		list_for_each_entry_safe(track, next, &dev->tracks.list[kind], list) {
			if (shown++ < REPORT_MOST)
				report_one(dev, kind, track);
			rxe_track_del(dev, track);
		}
		if (shown > REPORT_MOST)
			pr_warn("%s:   and %u more of this kind\n", dev_name(&dev->ib.dev),
				shown - REPORT_MOST);
	}
	pr_warn("%s: end of leaked objects\n", dev_name(&dev->ib.dev));
}

/**
 * rxe_track_add() - an object is complete
 * @dev: device
 * @kind: of object
 * @track: part of the object
 * @is_user: the current process makes it
 *
 * Context: process context, sleeps.
 */
void rxe_track_add(struct rxe_dev *dev, enum rxe_tracked kind, struct rxe_track *track,
		   bool is_user)
{
	track->pid = NULL;
	if (is_user) {
		track->pid = get_pid(task_tgid(current));
		get_task_comm(track->comm, current->group_leader);
	}
	mutex_lock(&dev->tracks.mutex);
	track->number = ++dev->tracks.last;
	list_add_tail(&track->list, &dev->tracks.list[kind]);
	mutex_unlock(&dev->tracks.mutex);
}

/**
 * rxe_track_del() - an object is about to be destroyed
 * @dev: device
 * @track: part of the object
 *
 * Nobody looks at the object afterwards.
 *
 * Context: process context, sleeps.
 */
void rxe_track_del(struct rxe_dev *dev, struct rxe_track *track)
{
	mutex_lock(&dev->tracks.mutex);
	list_del_init(&track->list);
	mutex_unlock(&dev->tracks.mutex);
	put_pid(track->pid);
	track->pid = NULL;
}

/**
 * rxe_track_pid() - the process that has made an object
 * @track: of the object
 *
 * Context: process context, under the mutex.
 * Return: as the current process numbers it; 0: the kernel, or out of its sight.
 */
u32 rxe_track_pid(const struct rxe_track *track)
{
	return track->pid ? pid_nr_ns(track->pid, task_active_pid_ns(current)) : 0;
}

/**
 * rxe_track_name() - the name of the process that has made an object
 * @track: of the object
 *
 * Context: under the mutex.
 * Return: name; of the kernel one in brackets.
 */
const char *rxe_track_name(const struct rxe_track *track)
{
	return track->pid ? track->comm : "[kernel]";
}
