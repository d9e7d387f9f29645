// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * inline.c - have perftest send inline data. Preloaded.
 *
 * perftest knows by the part number which devices have inline data, and turns it off for
 * all others, without an error. To it every device is a ConnectX-3 here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>

#define MELLANOX	0x2c9
#define CONNECTX_3	4099

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int (*query)(struct ibv_context *, struct ibv_device_attr *);
	int error;

	query = (int (*)(struct ibv_context *, struct ibv_device_attr *))
		dlsym(RTLD_NEXT, "ibv_query_device");
	if (!query)
		return ENOSYS;
	error = query(context, attr);
	attr->vendor_id = MELLANOX;
	attr->vendor_part_id = CONNECTX_3;
	return error;
}
