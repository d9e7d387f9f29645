// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A kernel user that forgets: it has a protection domain made on a device, and never
 * destroyed. It goes past the core, which would complain first.
 *
 * Parameter: the name of the device.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

static char *device = "rxe1";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of the device");

static struct ib_pd *pd;

#ifdef OLD_CORE

/* The driver makes the object, and nobody hears of a client that does not want. */
static void leak_add(struct ib_device *ib)
{
	if (pd || strcmp(ib->name, device))
		return;
	pd = ib->alloc_pd(ib, NULL, NULL);
	if (IS_ERR(pd))
		pd = NULL;
	else
		pd->device = ib;
}

#else

static int leak_add(struct ib_device *ib)
{
	int err;

	if (pd || strcmp(dev_name(&ib->dev), device))
		return -EOPNOTSUPP;
	pd = kzalloc(ib->ops.size_ib_pd, GFP_KERNEL);
	if (!pd)
		return -ENOMEM;
	pd->device = ib;
	err = ib->ops.alloc_pd(pd, NULL);
	if (err) {
		kfree(pd);
		pd = NULL;
	}
	return err;
}

#endif /* OLD_CORE */

static void leak_remove(struct ib_device *ib, void *data)
{
}

static struct ib_client leak_client = {
	.name = "rxe_leak",
	.add = leak_add,
	.remove = leak_remove,
};

static int __init leak_init(void)
{
	return ib_register_client(&leak_client);
}

/* The device is gone, and nobody remembers this. */
static void __exit leak_exit(void)
{
	ib_unregister_client(&leak_client);
	kfree(pd);
}

module_init(leak_init);
module_exit(leak_exit);
MODULE_DESCRIPTION("Test: a kernel user that forgets to destroy an object");
MODULE_LICENSE("Dual BSD/GPL");
