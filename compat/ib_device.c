// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of RDMA devices as the newest core manages it, for cores that only
 * register and unregister: who uses a device, removal from a context that cannot
 * wait, removal of all devices of the driver, the netdev below, and a parent that
 * can be asked for DMA addresses.
 *
 *   alloc -> registered -> leaving -> unregistered, freed
 *
 * "Registered" means in device_list, with one user for that. A record of ours
 * lies behind the driver's device, in the same memory. All devices are removed by
 * one work queue, so that a flush of it has seen the last of each.
 */
#define RXE_COMPAT_KERNEL_IB_OPS

#include <linux/completion.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/ethtool.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/rtnetlink.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#if !RXE_HAVE_IB_DEVICE_OPS

/* The one port of a device that this file knows */
#define PORT		1
/* User libraries of these kernels find their driver by the name of the device */
#define NAME_PREFIX	"rxe"

/**
 * struct record - what we know of a device
 * @list: in device_list, from registered to freed
 * @device: it
 * @ndev: its netdev, held by the driver until dealloc_driver
 * @index: never used twice
 * @users: whoever must find it registered
 * @idle: completed with the last user
 * @leaving: @work is queued; devices_lock
 * @done: completed when it is gone, if somebody waits; devices_lock
 * @work: removal
 * @files: of the port
 * @objects: that users have made, of each kind
 * @resources: these objects
 */
struct record {
	struct list_head	list;
	struct ib_device	*device;
	struct net_device	*ndev;
	u32			index;
	refcount_t		users;
	struct completion	idle;
	bool			leaving;
	struct completion	*done;
	struct work_struct	work;
	struct rxe_compat_ib_sysfs files;
	atomic_t		objects[RXE_COMPAT_OBJECTS];
	struct list_head	resources[RXE_COMPAT_OBJECTS];
};

static LIST_HEAD(device_list);
static DEFINE_SPINLOCK(devices_lock);
static DEFINE_MUTEX(register_mutex);	/* one name is taken once */
static struct workqueue_struct *removals;
static size_t device_size;		/* the driver has one kind of device */
static u32 last_index;

static struct record *to_record(struct ib_device *device)
{
	return (void *)((char *)device + ALIGN(device_size, sizeof(u64)));
}

/* --- DMA ------------------------------------------------------------------------ */

/*
 * The driver copies: a DMA address is the address itself. Consumers ask the
 * device's dma_device for it in several ways, some of which go past the verbs
 * layer's own table; so the answer is given at the bottom.
 */
#if RXE_HAVE_DMA_ATTRS_LONG
#define DMA_ATTRS	unsigned long
#else
#define DMA_ATTRS	struct dma_attrs *
#endif

static void *virt_alloc(struct device *dev, size_t size, dma_addr_t *handle, gfp_t gfp,
			DMA_ATTRS attrs)
{
	void *p = (void *)__get_free_pages(gfp, get_order(size));

	*handle = (uintptr_t)p;
	return p;
}

static void virt_free(struct device *dev, size_t size, void *p, dma_addr_t handle,
		      DMA_ATTRS attrs)
{
	free_pages((unsigned long)p, get_order(size));
}

static dma_addr_t virt_map_page(struct device *dev, struct page *page, unsigned long offset,
				size_t size, enum dma_data_direction dir,
				DMA_ATTRS attrs)
{
	return (uintptr_t)page_address(page) + offset;
}

static int virt_map_sg(struct device *dev, struct scatterlist *sgl, int nents,
		       enum dma_data_direction dir, DMA_ATTRS attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i) {
		sg_dma_address(sg) = (uintptr_t)sg_virt(sg);
		sg_dma_len(sg) = sg->length;
	}
	return nents;
}

static int virt_mapping_error(struct device *dev, dma_addr_t addr)
{
	return 0;
}

static int virt_supported(struct device *dev, u64 mask)
{
	return 1;
}

static struct dma_map_ops virt_dma = {
	.alloc		= virt_alloc,
	.free		= virt_free,
	.map_page	= virt_map_page,
	.map_sg		= virt_map_sg,
	.mapping_error	= virt_mapping_error,
	.dma_supported	= virt_supported,
};

/* The driver's parent of a device, made fit for the DMA that the core asks it for. */
static struct device *dma_parent(struct ib_device *device)
{
	struct device *parent = device->dev.parent;

#if RXE_HAVE_DEVICE_DMA_OPS
	parent->dma_ops = &virt_dma;
#else
	parent->archdata.dma_ops = &virt_dma;
#endif
	parent->coherent_dma_mask = DMA_BIT_MASK(64);
	parent->dma_mask = &parent->coherent_dma_mask;
	return parent;
}

/* --- files of a port ------------------------------------------------------------------- */

/* The core has made the directory of a port. */
static int port_added(struct ib_device *device, u8 port, struct kobject *kobj)
{
	return rxe_compat_ib_sysfs_add(device, kobj, &to_record(device)->files);
}

static void port_leaves(struct record *rec)
{
	rxe_compat_ib_sysfs_remove(&rec->files);
}

/* --- allocation and registration ------------------------------------------------------ */

static void device_remove(struct work_struct *work);

/**
 * rxe_compat_ib_alloc_device() - memory of a device
 * @size: of the driver's device, which begins with the core's
 *
 * Context: process context.
 * Return: zeroed device or NULL.
 */
struct ib_device *rxe_compat_ib_alloc_device(size_t size)
{
	struct ib_device *device;
	struct record *rec;

	WARN_ON(device_size && device_size != size);
	device_size = size;
	device = ib_alloc_device(ALIGN(size, sizeof(u64)) + sizeof(*rec));
	if (!device)
		return NULL;
	rec = to_record(device);
	rec->device = device;
	INIT_LIST_HEAD(&rec->list);
	init_completion(&rec->idle);
	INIT_WORK(&rec->work, device_remove);
	rxe_compat_res_init(rec->resources);
	return device;
}

/**
 * rxe_compat_ib_dealloc_device() - free a device, and what the driver has for it
 * @device: not registered
 *
 * Context: process context.
 */
void rxe_compat_ib_dealloc_device(struct ib_device *device)
{
	rxe_compat_ib_ops_dealloc(device);
	ib_dealloc_device(device);
}

/**
 * ib_device_set_netdev() - name the netdev below
 * @device: not registered
 * @ndev: held by the driver until its dealloc_driver
 * @port: 1
 *
 * Context: process context.
 * Return: 0
 */
int ib_device_set_netdev(struct ib_device *device, struct net_device *ndev, unsigned int port)
{
	to_record(device)->ndev = ndev;
	return 0;
}

/**
 * rxe_compat_ib_device_netdev() - the netdev below
 * @device: device
 *
 * Context: any.
 * Return: netdev, without a reference; NULL if the netdev is about to go.
 */
struct net_device *rxe_compat_ib_device_netdev(struct ib_device *device)
{
	struct net_device *ndev = to_record(device)->ndev;

	return ndev && ndev->reg_state <= NETREG_REGISTERED ? ndev : NULL;
}

/* Under devices_lock. */
static struct record *find_by_name(const char *name)
{
	struct record *rec;

	list_for_each_entry(rec, &device_list, list)
		if (!strcmp(rec->device->name, name))
			return rec;
	return NULL;
}

static int check_name(const char *name)
{
	struct record *taken;

	if (strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) ||
	    strlen(name) >= IB_DEVICE_NAME_MAX) {
		pr_warn("rxe: %s: on this kernel libibverbs finds a device by its name, which must begin with \"%s\"\n",
			name, NAME_PREFIX);
		return -EINVAL;
	}
	spin_lock(&devices_lock);
	taken = find_by_name(name);
	spin_unlock(&devices_lock);
	return taken ? -ENFILE : 0;
}

/* Under register_mutex. */
static int register_device(struct ib_device *device)
{
	struct record *rec = to_record(device);
	struct device *parent = dma_parent(device);
	int err;

	rec->index = ++last_index;
	/* newer cores find it by themselves, and warn of it here */
	if (!RXE_HAVE_IB_DMA_MAPPING_OPS_FREE)
		device->dma_device = parent;
	err = ib_register_device(device, port_added);
	if (err) {
		port_leaves(rec);
		return err;
	}
	/* nobody can remove it yet; the driver's never fails */
	WARN_ON(rxe_compat_ib_ops()->enable_driver(device));
	spin_lock(&devices_lock);
	refcount_set(&rec->users, 1);
	list_add_tail(&rec->list, &device_list);
	spin_unlock(&devices_lock);
	return 0;
}

/**
 * rxe_compat_ib_register_device() - let the world see a device
 * @device: operations and netdev are set
 * @name: may hold one %d
 * @dma_device: NULL: addresses are not translated
 *
 * Context: process context, without RTNL.
 * Return: 0; -ENFILE if the name is taken, -EINVAL if it cannot be used, or what
 * the core says.
 */
int rxe_compat_ib_register_device(struct ib_device *device, const char *name,
				  struct device *dma_device)
{
	int err;

	if (WARN_ON(dma_device))
		return -EINVAL;
	mutex_lock(&register_mutex);
	err = check_name(name);
	if (!err) {
		strscpy(device->name, name, sizeof(device->name));
		err = register_device(device);
	}
	mutex_unlock(&register_mutex);
	return err;
}

/**
 * ib_device_try_get() - keep a device registered
 * @device: device
 *
 * Context: any.
 * Return: whether it is registered; then until ib_device_put().
 */
bool ib_device_try_get(struct ib_device *device)
{
	return refcount_inc_not_zero(&to_record(device)->users);
}

/**
 * ib_device_put() - undo ib_device_try_get()
 * @device: device
 *
 * Context: any.
 */
void ib_device_put(struct ib_device *device)
{
	struct record *rec = to_record(device);

	if (refcount_dec_and_test(&rec->users))
		complete(&rec->idle);
}

/* --- removal ------------------------------------------------------------------------- */

static void device_remove(struct work_struct *work)
{
	struct record *rec = container_of(work, struct record, work);
	struct ib_device *device = rec->device;
	struct completion *done;

	ib_device_put(device);
	wait_for_completion(&rec->idle);
	port_leaves(rec);
	ib_unregister_device(device);
	spin_lock(&devices_lock);
	list_del_init(&rec->list);
	done = rec->done;
	spin_unlock(&devices_lock);
	rxe_compat_ib_dealloc_device(device);
	if (done)
		complete(done);
}

/* Under devices_lock: false if the device is leaving already. */
static bool leave(struct record *rec, struct completion *done)
{
	if (rec->leaving)
		return false;
	rec->leaving = true;
	rec->done = done;
	queue_work(removals, &rec->work);
	return true;
}

/**
 * ib_unregister_device_queued() - remove a device, soon
 * @device: the caller holds it with ib_device_try_get()
 *
 * Context: any.
 */
void ib_unregister_device_queued(struct ib_device *device)
{
	spin_lock(&devices_lock);
	leave(to_record(device), NULL);
	spin_unlock(&devices_lock);
}

/**
 * rxe_compat_ib_device_delete() - remove a device, by its name or its netdev
 * @name: name of the device, or NULL
 * @ndev: if @name is NULL
 *
 * Context: process context, without RTNL; returns when the device is gone.
 * Return: 0, or -ENODEV.
 */
int rxe_compat_ib_device_delete(const char *name, const struct net_device *ndev)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct record *rec, *found = NULL;

	spin_lock(&devices_lock);
	list_for_each_entry(rec, &device_list, list)
		if (name ? !strcmp(rec->device->name, name) : rec->ndev == ndev)
			found = rec;
	if (found && !leave(found, &done))
		found = NULL;
	spin_unlock(&devices_lock);
	if (!found)
		return -ENODEV;
	wait_for_completion(&done);
	return 0;
}

/**
 * rxe_compat_ib_devices_remove() - remove all devices
 *
 * Context: process context, without RTNL; nobody adds a device meanwhile.
 */
void rxe_compat_ib_devices_remove(void)
{
	struct record *rec;

	spin_lock(&devices_lock);
	list_for_each_entry(rec, &device_list, list)
		leave(rec, NULL);
	spin_unlock(&devices_lock);
	flush_workqueue(removals);
	WARN_ON(!list_empty(&device_list));
}

/**
 * rxe_compat_ib_device_each() - call a function for the devices, by index
 * @after: only devices with a higher index
 * @func: called without locks; the device stays registered meanwhile
 * @arg: for it
 *
 * Context: process context.
 * Return: 0, or what @func returned first that was not 0.
 */
int rxe_compat_ib_device_each(u32 after,
			      int (*func)(struct ib_device *device, u32 index, void *arg),
			      void *arg)
{
	struct record *rec, *found;
	int ret;

	do {
		found = NULL;
		spin_lock(&devices_lock);
		list_for_each_entry(rec, &device_list, list) {
			if (rec->index > after && ib_device_try_get(rec->device)) {
				found = rec;
				break;
			}
		}
		spin_unlock(&devices_lock);
		if (!found)
			return 0;
		after = found->index;
		ret = func(found->device, found->index, arg);
		ib_device_put(found->device);
	} while (!ret);
	return ret;
}

/**
 * rxe_compat_ib_device_objects() - count objects
 * @device: device
 * @kind: of objects
 * @change: 1: one was made; -1: one was destroyed; 0: none
 *
 * Context: any.
 * Return: how many there are now.
 */
int rxe_compat_ib_device_objects(struct ib_device *device, enum rxe_compat_object kind,
				 int change)
{
	return atomic_add_return(change, &to_record(device)->objects[kind]);
}

/**
 * rxe_compat_ib_device_res() - the objects of a device
 * @device: device
 *
 * Context: any.
 * Return: a list for each kind of object (rdma_res.c).
 */
struct list_head *rxe_compat_ib_device_res(struct ib_device *device)
{
	return to_record(device)->resources;
}

/**
 * rxe_compat_ib_device_counter() - read a counter of the port
 * @device: registered
 * @index: of the counter
 * @value: out
 *
 * Context: process context.
 * Return: 0, -ENOENT behind the last one, or what the driver says.
 */
int rxe_compat_ib_device_counter(struct ib_device *device, unsigned int index, u64 *value)
{
	return rxe_compat_ib_sysfs_counter(device, &to_record(device)->files, index, value);
}

/**
 * rxe_compat_ib_device_counter_name() - name of a counter of the port
 * @device: registered
 * @index: of the counter
 *
 * Context: process context.
 * Return: name, NULL behind the last one.
 */
const char *rxe_compat_ib_device_counter_name(struct ib_device *device, unsigned int index)
{
	const struct rdma_hw_stats *stats = to_record(device)->files.stats;

	return stats && index < stats->num_counters ? stats->names[index] : NULL;
}

/* --- the rest ---------------------------------------------------------------------------- */

#if !RXE_HAVE_IB_GET_ETH_SPEED
/* Megabits per second, 0: unknown. */
static u32 netdev_speed(struct net_device *ndev)
{
#if RXE_HAVE_ETHTOOL_LINK_KSETTINGS
	struct ethtool_link_ksettings link = {};
	u32 mbps = 0;

	rtnl_lock();
	if (!__ethtool_get_link_ksettings(ndev, &link))
		mbps = link.base.speed;
	rtnl_unlock();
#else
	struct ethtool_cmd cmd = {};
	u32 mbps = 0;

	rtnl_lock();
	if (!__ethtool_get_settings(ndev, &cmd))
		mbps = ethtool_cmd_speed(&cmd);
	rtnl_unlock();
#endif
	return mbps == (u32)SPEED_UNKNOWN ? 0 : mbps;
}
#endif

/**
 * rxe_compat_ib_get_eth_speed() - speed of the netdev below, in the terms of InfiniBand
 * @device: device
 * @port: 1
 * @speed: out: IB_SPEED_
 * @width: out: IB_WIDTH_
 *
 * Context: process context, without RTNL.
 * Return: 0 or -ENODEV.
 */
int rxe_compat_ib_get_eth_speed(struct ib_device *device, u32 port, u16 *speed, u8 *width)
{
#if RXE_HAVE_IB_GET_ETH_SPEED
	u8 narrow;
	int err;

	err = ib_get_eth_speed(device, port, &narrow, width);
	*speed = narrow;
	return err;
#else
	static const struct {
		u32 mbps;
		u16 speed;
		u8 width;
	} steps[] = {
		{   1000, IB_SPEED_SDR,   IB_WIDTH_1X },
		{  10000, IB_SPEED_FDR10, IB_WIDTH_1X },
		{  20000, IB_SPEED_DDR,   IB_WIDTH_4X },
		{  25000, IB_SPEED_EDR,   IB_WIDTH_1X },
		{  40000, IB_SPEED_FDR10, IB_WIDTH_4X },
		{ 100000, IB_SPEED_EDR,   IB_WIDTH_4X },
	};
	struct net_device *ndev = rxe_compat_ib_device_netdev(device);
	unsigned int i = 0;
	u32 mbps;

	if (!ndev)
		return -ENODEV;
	mbps = netdev_speed(ndev);
	while (i < ARRAY_SIZE(steps) - 1 && mbps > steps[i].mbps)
		i++;
	*speed = steps[i].speed;
	*width = steps[i].width;
	return 0;
#endif
}

/**
 * rxe_compat_ib_device_init() - before the first device
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int rxe_compat_ib_device_init(void)
{
	removals = alloc_workqueue("rxe-removals", WQ_UNBOUND, 0);
	return removals ? 0 : -ENOMEM;
}

/**
 * rxe_compat_ib_device_exit() - after the last device
 *
 * Context: process context.
 */
void rxe_compat_ib_device_exit(void)
{
	destroy_workqueue(removals);
	rxe_compat_ib_sysfs_exit();
}

#endif /* !RXE_HAVE_IB_DEVICE_OPS */
