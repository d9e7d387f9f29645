// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What later cores show in the directory of a port, on a core that does not:
 *
 *   gid_attrs/types/N, gid_attrs/ndevs/N    without them user libraries take every
 *                                           GID for RoCE v1
 *   hw_counters/NAME                        the driver's counters
 *
 * The files are the same for all devices; a file finds its device by the directory
 * in which it lies.
 */
#define RXE_COMPAT_KERNEL_IB_OPS

#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#if !RXE_HAVE_IB_DEVICE_OPS

/* The one port of a device that this file knows */
#define PORT		1

/**
 * struct port_file - a file of a port
 * @attr: for sysfs
 * @name: if it is a number
 * @index: of the GID or the counter
 */
struct port_file {
	struct kobj_attribute	attr;
	char			name[12];
	unsigned int		index;
};

typedef ssize_t show_fn(struct kobject *dir, struct kobj_attribute *attr, char *buf);

static DEFINE_MUTEX(files_mutex);	/* the files are made once */
static DEFINE_MUTEX(stats_mutex);	/* values are read one after the other */
static struct port_file *gid_files;	/* types, then ndevs */
static struct attribute **gid_attrs;	/* two lists, each ending with NULL */
static struct port_file *counter_files;
static struct attribute **counter_attrs;
static struct attribute_group counters = { .name = "hw_counters" };

static unsigned int file_index(struct kobj_attribute *attr)
{
	return container_of(attr, struct port_file, attr)->index;
}

static struct attribute *file_init(struct port_file *file, unsigned int index,
				   const char *name, show_fn *show)
{
	struct attribute *attr = &file->attr.attr;

	file->index = index;
	snprintf(file->name, sizeof(file->name), "%u", index);
	sysfs_attr_init(attr);
	attr->name = name ? name : file->name;
	attr->mode = 0444;
	file->attr.show = show;
	return attr;
}

static struct ib_device *port_device(struct kobject *port)
{
	/* DEVICE/ports/1 */
	return container_of(port->parent->parent, struct ib_device, dev.kobj);
}

/* --- gid_attrs ------------------------------------------------------------------- */

#if !RXE_HAVE_IB_GID_ATTR_GID_TYPE

static struct attribute_group gid_types = { .name = "types" };
static struct attribute_group gid_ndevs = { .name = "ndevs" };

static struct net_device *gid_netdev(struct kobject *dir, struct kobj_attribute *attr)
{
	struct rxe_compat_ib_gid_attr gid;
	int err;

	err = rxe_compat_gid_get(port_device(dir->parent), PORT, file_index(attr), &gid);
	return err ? ERR_PTR(err) : gid.ndev;
}

static ssize_t gid_type_show(struct kobject *dir, struct kobj_attribute *attr, char *buf)
{
	struct net_device *ndev = gid_netdev(dir, attr);

	if (IS_ERR(ndev))
		return -EINVAL;	/* as later cores answer for an empty entry */
	dev_put(ndev);
	return sprintf(buf, "RoCE v2\n");
}

static ssize_t gid_ndev_show(struct kobject *dir, struct kobj_attribute *attr, char *buf)
{
	struct net_device *ndev = gid_netdev(dir, attr);
	ssize_t len;

	if (IS_ERR(ndev))
		return -EINVAL;
	len = sprintf(buf, "%s\n", ndev->name);
	dev_put(ndev);
	return len;
}

static int gid_files_init(unsigned int count)
{
	unsigned int i;

	gid_files = kvcalloc(2 * count, sizeof(*gid_files), GFP_KERNEL);
	gid_attrs = kvcalloc(2 * (count + 1), sizeof(*gid_attrs), GFP_KERNEL);
	if (!gid_files || !gid_attrs)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		gid_attrs[i] = file_init(&gid_files[i], i, NULL, gid_type_show);
		gid_attrs[count + 1 + i] = file_init(&gid_files[count + i], i, NULL,
						     gid_ndev_show);
	}
	gid_types.attrs = gid_attrs;
	gid_ndevs.attrs = gid_attrs + count + 1;
	return 0;
}

static int gid_dirs_add(struct kobject *port, struct rxe_compat_ib_sysfs *files)
{
	int err;

	files->gid_attrs = kobject_create_and_add("gid_attrs", port);
	if (!files->gid_attrs)
		return -ENOMEM;
	err = sysfs_create_group(files->gid_attrs, &gid_types);
	if (!err)
		err = sysfs_create_group(files->gid_attrs, &gid_ndevs);
	return err;
}

#else

/* The core's own */
static int gid_files_init(unsigned int count)
{
	return 0;
}

static int gid_dirs_add(struct kobject *port, struct rxe_compat_ib_sysfs *files)
{
	return 0;
}

#endif /* !RXE_HAVE_IB_GID_ATTR_GID_TYPE */

/* --- counters ---------------------------------------------------------------------- */

static ssize_t counter_show(struct kobject *port, struct kobj_attribute *attr, char *buf)
{
	u64 value;
	int err;

	err = rxe_compat_ib_device_counter(port_device(port), file_index(attr), &value);
	return err ? err : sprintf(buf, "%llu\n", value);
}

static int counter_files_init(const struct rdma_hw_stats *stats)
{
	int i;

	counter_files = kvcalloc(stats->num_counters, sizeof(*counter_files), GFP_KERNEL);
	counter_attrs = kvcalloc(stats->num_counters + 1, sizeof(*counter_attrs), GFP_KERNEL);
	if (!counter_files || !counter_attrs)
		return -ENOMEM;
	for (i = 0; i < stats->num_counters; i++)
		counter_attrs[i] = file_init(&counter_files[i], i, stats->names[i],
					     counter_show);
	counters.attrs = counter_attrs;
	return 0;
}

/**
 * rxe_compat_ib_sysfs_counter() - read a counter
 * @device: device
 * @files: its files
 * @index: of the counter
 * @value: out
 *
 * Context: process context.
 * Return: 0, -ENOENT behind the last one, or what the driver says.
 */
int rxe_compat_ib_sysfs_counter(struct ib_device *device, struct rxe_compat_ib_sysfs *files,
				unsigned int index, u64 *value)
{
	struct rdma_hw_stats *stats = files->stats;
	int ret;

	if (!stats || index >= stats->num_counters)
		return -ENOENT;
	mutex_lock(&stats_mutex);
	ret = rxe_compat_ib_ops_stats_read(device, stats, PORT, index);
	*value = stats->value[index];
	mutex_unlock(&stats_mutex);
	return ret < 0 ? ret : 0;
}

/* --- both ---------------------------------------------------------------------------- */

/**
 * rxe_compat_ib_sysfs_exit() - after the last device
 *
 * Context: process context.
 */
void rxe_compat_ib_sysfs_exit(void)
{
	kvfree(gid_files);
	kvfree(gid_attrs);
	kvfree(counter_files);
	kvfree(counter_attrs);
	gid_files = NULL;
	gid_attrs = NULL;
	counter_files = NULL;
	counter_attrs = NULL;
}

static int port_files_init(struct ib_device *device, const struct rdma_hw_stats *stats)
{
	struct ib_port_immutable immutable = {};
	int err = 0;

	mutex_lock(&files_mutex);
	if (counter_files)
		goto out;
	err = device->get_port_immutable(device, PORT, &immutable);
	if (!err)
		err = gid_files_init(immutable.gid_tbl_len);
	if (!err)
		err = counter_files_init(stats);
	if (err)
		rxe_compat_ib_sysfs_exit();
out:
	mutex_unlock(&files_mutex);
	return err;
}

/**
 * rxe_compat_ib_sysfs_add() - make the files of a port
 * @device: device, about to be registered
 * @port: its directory
 * @files: zeroed; given back with rxe_compat_ib_sysfs_remove(), on failure too
 *
 * Context: process context.
 * Return: 0 or an errno.
 */
int rxe_compat_ib_sysfs_add(struct ib_device *device, struct kobject *port,
			    struct rxe_compat_ib_sysfs *files)
{
	int err;

	files->stats = rxe_compat_ib_ops_stats_alloc(device, PORT);
	if (!files->stats)
		return -ENOMEM;
	err = port_files_init(device, files->stats);
	if (err)
		return err;
	err = gid_dirs_add(port, files);
	if (!err)
		err = sysfs_create_group(port, &counters);
	if (!err)
		files->port = port;
	return err;
}

/**
 * rxe_compat_ib_sysfs_remove() - remove the files of a port
 * @files: of the port, which is still there
 *
 * Context: process context; waits for readers.
 */
void rxe_compat_ib_sysfs_remove(struct rxe_compat_ib_sysfs *files)
{
	if (files->port)
		sysfs_remove_group(files->port, &counters);
	kobject_put(files->gid_attrs);	/* with what is in it */
	kfree(files->stats);
	memset(files, 0, sizeof(*files));
}

#endif /* !RXE_HAVE_IB_DEVICE_OPS */
