// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Driver-private requests and responses of user libraries, for kernels whose
 * <rdma/uverbs_ioctl.h> has no helpers with these rules.
 */
#include <linux/uaccess.h>
#include <rdma/uverbs_ioctl.h>

#if !RXE_HAVE_IB_IS_UDATA_CLEARED

static bool ib_is_udata_cleared(struct ib_udata *udata, size_t offset, size_t len)
{
	const u8 __user *p = udata->inbuf + offset;
	u8 byte;

	for (; len; len--)
		if (get_user(byte, p++) || byte)
			return false;
	return true;
}

#endif

/**
 * rxe_compat_udata_in() - read the driver's part of a request
 * @udata: the request; NULL counts as empty
 * @req: filled, zeros where the library sent nothing; may be NULL if @size is 0
 * @size: bytes that this driver understands
 * @least: bytes without which the request makes no sense
 *
 * Return: 0; -EINVAL: shorter than @least; -EOPNOTSUPP: asks for something that
 * this driver does not know; -EFAULT.
 */
int rxe_compat_udata_in(struct ib_udata *udata, void *req, size_t size, size_t least)
{
	size_t sent = udata ? udata->inlen : 0;
	size_t known = min(sent, size);

	if (sent < least)
		return -EINVAL;
	if (sent > size && !ib_is_udata_cleared(udata, size, sent - size))
		return -EOPNOTSUPP;
	if (known && copy_from_user(req, udata->inbuf, known))
		return -EFAULT;
	if (known < size)
		memset((char *)req + known, 0, size - known);
	return 0;
}

/**
 * rxe_compat_udata_out() - write the driver's part of a response
 * @udata: the request; NULL: nobody listens
 * @resp: the response; may be NULL if @size is 0
 * @size: bytes of it
 *
 * Return: 0 or -EFAULT.
 */
int rxe_compat_udata_out(struct ib_udata *udata, const void *resp, size_t size)
{
	size_t room = udata ? udata->outlen : 0;
	size_t part = min(room, size);

	if (part && copy_to_user(udata->outbuf, resp, part))
		return -EFAULT;
	if (room > part && clear_user(udata->outbuf + part, room - part))
		return -EFAULT;
	return 0;
}
