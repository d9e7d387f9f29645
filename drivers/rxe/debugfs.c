// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /sys/kernel/debug/rxe/DEVICE/: everything about a device, the same on all kernels.
 *
 *   device    NAME VALUE lines: what it is, and where
 *   stats     NAME VALUE lines: its counters, by the names of hw_counters
 *   qp, cq, mr, srq, mcast
 *             tables: the first line names the columns, then a line for each object.
 *             Cells are separated by blanks, and "-" if there is nothing to say; only
 *             the last column may have blanks in it
 *
 * Readers find lines and columns by their names, which stay: others may come. rxestat
 * is such a reader.
 *
 * A file knows its device by a number, and looks for it whenever it is read: so it
 * may be kept open for as long as anybody likes, the device goes all the same.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>

#include "rxe.h"
#include "view.h"

static struct dentry *debug_root;

/* All devices that can be looked at */
static LIST_HEAD(debug_list);
static DEFINE_SPINLOCK(debug_lock);	/* debug_list */
/* Changes. To remove a directory waits for readers, which take the other lock */
static DEFINE_MUTEX(debug_mutex);
static u32 debug_last;

/* The device of that number, held by ib_device_put(); NULL if it is gone. */
static struct rxe_dev *debug_get(u32 number)
{
	struct rxe_dev *dev, *found = NULL;

	spin_lock(&debug_lock);
	list_for_each_entry(dev, &debug_list, debug.list) {
		if (dev->debug.number != number)
			continue;
		if (ib_device_try_get(&dev->ib))
			found = dev;
		break;
	}
	spin_unlock(&debug_lock);
	return found;
}

static int debug_show(struct seq_file *seq, void (*show)(struct seq_file *seq,
							 struct rxe_dev *dev))
{
	struct rxe_dev *dev = debug_get((uintptr_t)seq->private);

	if (!dev)
		return -ENODEV;
	show(seq, dev);
	ib_device_put(&dev->ib);
	return 0;
}

/* --- the files ----------------------------------------------------------------- */

static void show_device(struct seq_file *seq, struct rxe_dev *dev)
{
	seq_printf(seq, "version %s\n", RXE_VERSION);
	seq_printf(seq, "device %s\n", dev_name(&dev->ib.dev));
	seq_printf(seq, "netdev %s\n", dev->ndev->name);
	seq_printf(seq, "netdev_mtu %u\n", READ_ONCE(dev->ndev->mtu));
	seq_printf(seq, "ifindex %d\n", dev->ndev->ifindex);
	seq_printf(seq, "netns %u\n", dev->netns->ns.inum);
	seq_printf(seq, "port_state %s\n",
		   ib_get_curr_port_state(dev->ndev) == IB_PORT_ACTIVE ? "ACTIVE" : "DOWN");
	seq_printf(seq, "path_mtu %d\n", ib_mtu_enum_to_int(rxe_verbs_mtu(dev->ndev)));
	seq_printf(seq, "qp %d\n", atomic_read(&dev->num_qp));
	seq_printf(seq, "cq %d\n", atomic_read(&dev->num_cq));
	seq_printf(seq, "mr %d\n", atomic_read(&dev->num_mr));
	seq_printf(seq, "mw %d\n", atomic_read(&dev->num_mw));
	seq_printf(seq, "srq %d\n", atomic_read(&dev->num_srq));
	seq_printf(seq, "pd %d\n", atomic_read(&dev->num_pd));
	seq_printf(seq, "ah %d\n", atomic_read(&dev->num_ah));
	seq_printf(seq, "context %d\n", atomic_read(&dev->num_ucontext));
}

static void show_stats(struct seq_file *seq, struct rxe_dev *dev)
{
	unsigned int i;

	for (i = 0; i < RXE_CNT_COUNT; i++)
		seq_printf(seq, "%s %llu\n", rxe_counters_name(i), rxe_counters_sum(dev, i));
}

static void show_owner(struct seq_file *seq, const struct rxe_track *track)
{
	const char *c;

	seq_printf(seq, " %u ", rxe_track_pid(track));
	/* the name of a process may have blanks in it, and be empty */
	for (c = rxe_track_name(track); *c; c++)
		seq_putc(seq, *c > ' ' && *c < 0x7f ? *c : '_');
	if (c == rxe_track_name(track))
		seq_putc(seq, '_');
}

/* Messages that the queue pair itself has sent, and that it has had from its peer */
static u64 qp_sum(const struct rxe_qp *qp, enum rxe_counter from, enum rxe_counter to)
{
	u64 sum = 0;

	for (; from <= to; from++)
		sum += rxe_counters_qp(qp, from);
	return sum;
}

static void show_qp(struct seq_file *seq, struct rxe_qp *qp)
{
	struct rxe_qp_view view;
	unsigned int i;

	rxe_view_qp(qp, &view);
	seq_printf(seq, "%u %s %s %s %s %u %u", qp->ib.qp_num, view.type, view.state,
		   view.local, view.peer, view.rqpn, view.sport);
	show_owner(seq, &qp->track);
	seq_printf(seq, " %u %u %u %u %u %u %u %u %u %u %u %u %u %llu %llu %u %u %s",
		   qp->scq->track.number, qp->rcq->track.number,
		   qp->srq ? qp->srq->track.number : 0, view.pmtu,
		   view.sq_psn, view.una_psn, view.rq_psn, view.outstanding, view.window,
		   view.held, view.sq_used, view.rq_used, view.retries, view.rtt_us,
		   view.rto_us, view.sq_mbps, view.rq_mbps, view.waits);
	seq_printf(seq, " %llu %llu",
		   qp_sum(qp, RXE_CNT_REQ_SEND, RXE_CNT_REQ_ATOMIC_WRITE),
		   qp_sum(qp, RXE_CNT_RESP_SEND, RXE_CNT_RESP_ATOMIC_WRITE));
	for (i = 0; i < RXE_CNT_QP_END; i++)
		seq_printf(seq, " %llu", rxe_counters_qp(qp, i));
	seq_printf(seq, " %s\n", view.error);
}

static void show_qps(struct seq_file *seq, struct rxe_dev *dev)
{
	struct rxe_qp *qp;
	unsigned int i;

	seq_puts(seq, "qpn type state local peer rqpn sport pid comm scq rcq srq pmtu sq_psn una_psn rq_psn outstanding window held sq_used rq_used retries rtt_us rto_us sq_mbps rq_mbps waits req_msgs resp_msgs");
	for (i = 0; i < RXE_CNT_QP_END; i++)
		seq_printf(seq, " %s", rxe_counters_name(i));
	seq_puts(seq, " error\n");
	mutex_lock(&dev->tracks.mutex);
	list_for_each_entry(qp, &dev->tracks.list[RXE_TRACK_QP], track.list)
		show_qp(seq, qp);
	mutex_unlock(&dev->tracks.mutex);
}

static void show_cqs(struct seq_file *seq, struct rxe_dev *dev)
{
	struct rxe_cq *cq;

	seq_puts(seq, "cq pid comm size used armed overrun\n");
	mutex_lock(&dev->tracks.mutex);
	list_for_each_entry(cq, &dev->tracks.list[RXE_TRACK_CQ], track.list) {
		seq_printf(seq, "%u", cq->track.number);
		show_owner(seq, &cq->track);
		seq_printf(seq, " %d %u %u %u\n", cq->ib.cqe, rxe_view_cq_used(cq),
			   READ_ONCE(cq->notify), READ_ONCE(cq->overrun));
	}
	mutex_unlock(&dev->tracks.mutex);
}

static void show_mrs(struct seq_file *seq, struct rxe_dev *dev)
{
	struct rxe_mr *mr;

	seq_puts(seq, "key pid comm type pd valid access addr length windows\n");
	mutex_lock(&dev->tracks.mutex);
	list_for_each_entry(mr, &dev->tracks.list[RXE_TRACK_MR], track.list) {
		seq_printf(seq, "%#x", READ_ONCE(mr->key.key));
		show_owner(seq, &mr->track);
		seq_printf(seq, " %s %u %u %#x %#llx %llu %d\n", rxe_mr_type_name(mr),
			   container_of(mr->ib.pd, struct rxe_pd, ib)->track.number,
			   READ_ONCE(mr->key.valid) == RXE_KEY_VALID, READ_ONCE(mr->key.access),
			   mr->key.addr, mr->key.length, max(atomic_read(&mr->windows), 0));
	}
	mutex_unlock(&dev->tracks.mutex);
}

static void show_srqs(struct seq_file *seq, struct rxe_dev *dev)
{
	struct rxe_srq *srq;

	seq_puts(seq, "srq pid comm max_wr used limit\n");
	mutex_lock(&dev->tracks.mutex);
	list_for_each_entry(srq, &dev->tracks.list[RXE_TRACK_SRQ], track.list) {
		seq_printf(seq, "%u", srq->track.number);
		show_owner(seq, &srq->track);
		seq_printf(seq, " %u %u %u\n", READ_ONCE(srq->max_wr), rxe_view_srq_used(srq),
			   READ_ONCE(srq->limit));
	}
	mutex_unlock(&dev->tracks.mutex);
}

static void show_mcast(struct seq_file *seq, struct rxe_dev *dev)
{
	seq_puts(seq, "group qpn\n");
	rxe_mcast_show(seq, dev);
}

#define DEBUG_FILE(name, show)							\
static int name ## _show(struct seq_file *seq, void *unused)			\
{										\
	return debug_show(seq, show);						\
}										\
										\
static int name ## _open(struct inode *inode, struct file *file)		\
{										\
	return single_open(file, name ## _show, inode->i_private);		\
}										\
										\
static const struct file_operations name ## _fops = {				\
	.owner		= THIS_MODULE,						\
	.open		= name ## _open,					\
	.read		= seq_read,						\
	.llseek		= seq_lseek,						\
	.release	= single_release,					\
}

DEBUG_FILE(device, show_device);
DEBUG_FILE(stats, show_stats);
DEBUG_FILE(qp, show_qps);
DEBUG_FILE(cq, show_cqs);
DEBUG_FILE(mr, show_mrs);
DEBUG_FILE(srq, show_srqs);
DEBUG_FILE(mcast, show_mcast);

static const struct {
	const char			*name;
	const struct file_operations	*fops;
} debug_files[] = {
	{ "device",	&device_fops },
	{ "stats",	&stats_fops },
	{ "qp",		&qp_fops },
	{ "cq",		&cq_fops },
	{ "mr",		&mr_fops },
	{ "srq",	&srq_fops },
	{ "mcast",	&mcast_fops },
};

/* --- their directories ---------------------------------------------------------- */

/* A device on its way out may still have the directory of that name. Under debug_mutex. */
static void debug_vacate(const char *name)
{
	struct rxe_dev *dev;

	list_for_each_entry(dev, &debug_list, debug.list) {
		if (!dev->debug.dir || strcmp(dev->debug.name, name))
			continue;
		debugfs_remove_recursive(dev->debug.dir);
		dev->debug.dir = NULL;
	}
}

/* By the name that it has now. Under debug_mutex. */
static void debug_create_dir(struct rxe_dev *dev)
{
	struct dentry *dir;
	unsigned int i;

	strscpy(dev->debug.name, dev_name(&dev->ib.dev), sizeof(dev->debug.name));
	debug_vacate(dev->debug.name);
	dir = debugfs_create_dir(dev->debug.name, debug_root);
	if (IS_ERR_OR_NULL(dir))
		return;
	dev->debug.dir = dir;
	for (i = 0; i < ARRAY_SIZE(debug_files); i++)
		debugfs_create_file(debug_files[i].name, 0400, dir,
				    (void *)(uintptr_t)dev->debug.number, debug_files[i].fops);
}

/*
 * Somebody has given a device of any driver another name: the core tells its clients,
 * not the driver. Files that are open end with the old directory.
 */
static void debug_rename(struct ib_device *ibdev, void *data)
{
	struct rxe_dev *dev;

	mutex_lock(&debug_mutex);
	list_for_each_entry(dev, &debug_list, debug.list) {
		if (&dev->ib != ibdev)
			continue;
		debugfs_remove_recursive(dev->debug.dir);
		dev->debug.dir = NULL;
		debug_create_dir(dev);
	}
	mutex_unlock(&debug_mutex);
}

static struct ib_client debug_client = {
	.name	= "rxe_debugfs",
	.rename	= debug_rename,
};

/**
 * rxe_debugfs_add() - enable_driver: let a device be looked at
 * @ibdev: device, registered
 *
 * Where there is no debugfs, nothing is to be seen, and nothing else is amiss.  The
 * core calls this again after it has moved a device to another namespace.
 *
 * Context: process context.
 * Return: 0.
 */
int rxe_debugfs_add(struct ib_device *ibdev)
{
	struct rxe_dev *dev = to_rxe_dev(ibdev);

	mutex_lock(&debug_mutex);
	if (!list_empty(&dev->debug.list))	/* it has moved to another namespace */
		goto out;
	dev->debug.number = ++debug_last;
	debug_create_dir(dev);
	spin_lock(&debug_lock);
	list_add_tail(&dev->debug.list, &debug_list);
	spin_unlock(&debug_lock);
out:
	mutex_unlock(&debug_mutex);
	return 0;
}

/**
 * rxe_debugfs_remove() - a device is no longer to be seen
 * @dev: device; may never have been seen
 *
 * Context: process context.
 */
void rxe_debugfs_remove(struct rxe_dev *dev)
{
	mutex_lock(&debug_mutex);
	spin_lock(&debug_lock);
	list_del_init(&dev->debug.list);
	spin_unlock(&debug_lock);
	debugfs_remove_recursive(dev->debug.dir);
	dev->debug.dir = NULL;
	mutex_unlock(&debug_mutex);
}

/**
 * rxe_debugfs_init() - make the directory of all devices
 *
 * Context: module init.
 * Return: 0, or why the core does not tell of new names.
 */
int rxe_debugfs_init(void)
{
	int ret;

	debug_root = debugfs_create_dir("rxe", NULL);
	ret = ib_register_client(&debug_client);
	if (ret)
		debugfs_remove_recursive(debug_root);
	return ret;
}

/**
 * rxe_debugfs_exit() - remove it
 *
 * Context: module exit, or a failing module init; no device is left.
 */
void rxe_debugfs_exit(void)
{
	ib_unregister_client(&debug_client);
	debugfs_remove_recursive(debug_root);
}
