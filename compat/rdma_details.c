// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A name and a value for the rdma tool, for cores that do not have the function.
 */
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#if !RXE_HAVE_RDMA_NL_PUT_DRIVER_U32

static int put_name(struct sk_buff *msg, const char *name)
{
	return nla_put_string(msg, RDMA_NLDEV_ATTR_DRIVER_STRING, name);
}

/**
 * rxe_compat_rdma_nl_put_driver_u32() - add a number
 * @msg: answer, in its table of details
 * @name: what it is
 * @value: shown as a decimal number
 *
 * Context: any.
 * Return: 0 or -EMSGSIZE.
 */
int rxe_compat_rdma_nl_put_driver_u32(struct sk_buff *msg, const char *name, u32 value)
{
	return put_name(msg, name) || nla_put_u32(msg, RDMA_NLDEV_ATTR_DRIVER_U32, value) ?
	       -EMSGSIZE : 0;
}

/**
 * rxe_compat_rdma_nl_put_driver_u32_hex() - add a number
 * @msg: answer, in its table of details
 * @name: what it is
 * @value: shown as a hexadecimal number
 *
 * Context: any.
 * Return: 0 or -EMSGSIZE.
 */
int rxe_compat_rdma_nl_put_driver_u32_hex(struct sk_buff *msg, const char *name, u32 value)
{
	return put_name(msg, name) ||
	       nla_put_u8(msg, RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE, RDMA_NLDEV_PRINT_TYPE_HEX) ||
	       nla_put_u32(msg, RDMA_NLDEV_ATTR_DRIVER_U32, value) ? -EMSGSIZE : 0;
}

/**
 * rxe_compat_rdma_nl_put_driver_u64() - add a number
 * @msg: answer, in its table of details
 * @name: what it is
 * @value: shown as a decimal number
 *
 * Context: any.
 * Return: 0 or -EMSGSIZE.
 */
int rxe_compat_rdma_nl_put_driver_u64(struct sk_buff *msg, const char *name, u64 value)
{
	if (put_name(msg, name))
		return -EMSGSIZE;
	return nla_put(msg, RDMA_NLDEV_ATTR_DRIVER_U64, sizeof(value), &value) ? -EMSGSIZE : 0;
}

#endif /* !RXE_HAVE_RDMA_NL_PUT_DRIVER_U32 */

#if !RXE_HAVE_RDMA_NL_PUT_DRIVER_STRING

/**
 * rxe_compat_rdma_nl_put_driver_string() - add a text
 * @msg: answer, in its table of details
 * @name: what it is
 * @str: text
 *
 * Context: any.
 * Return: 0 or -EMSGSIZE.
 */
int rxe_compat_rdma_nl_put_driver_string(struct sk_buff *msg, const char *name,
					 const char *str)
{
	return nla_put_string(msg, RDMA_NLDEV_ATTR_DRIVER_STRING, name) ||
	       nla_put_string(msg, RDMA_NLDEV_ATTR_DRIVER_STRING, str) ? -EMSGSIZE : 0;
}

#endif /* !RXE_HAVE_RDMA_NL_PUT_DRIVER_STRING */
