/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a user library sends to the driver and gets back, under one rule: a
 * request may be longer than we know if the rest is zero; a response is cut or
 * padded with zeros to the room there is. Bodies: compat/uverbs_ioctl.c.
 */
#ifndef RXE_COMPAT_RDMA_UVERBS_IOCTL_H
#define RXE_COMPAT_RDMA_UVERBS_IOCTL_H

#if RXE_HAVE_RDMA_UVERBS_IOCTL_H
#include_next <rdma/uverbs_ioctl.h>
#endif

#if !RXE_HAVE_RDMA_UDATA_TO_DRV_CONTEXT

#include <rdma/ib_verbs.h>

/* What a command of user space brings: made in ib_ops_old.c for each call. */
struct rxe_compat_uverbs_attr_bundle {
	struct ib_udata		driver_udata;
	struct ib_ucontext	*context;
};

#define uverbs_attr_bundle	rxe_compat_uverbs_attr_bundle

#define rdma_udata_to_drv_context(udata, type, member)				\
	((udata) ? container_of(rdma_udata_to_uverbs_attr_bundle(udata)->context, \
				type, member) : (type *)NULL)

#endif /* !RXE_HAVE_RDMA_UDATA_TO_DRV_CONTEXT */

#if !RXE_HAVE_RDMA_UDATA_TO_UVERBS_ATTR_BUNDLE
#define rdma_udata_to_uverbs_attr_bundle(udata) \
	container_of(udata, struct uverbs_attr_bundle, driver_udata)
#endif

int rxe_compat_udata_in(struct ib_udata *udata, void *req, size_t size, size_t least);
int rxe_compat_udata_out(struct ib_udata *udata, const void *resp, size_t size);

#if !RXE_HAVE_IB_COPY_VALIDATE_UDATA_IN
#define ib_copy_validate_udata_in(udata, req, last) \
	rxe_compat_udata_in(udata, &(req), sizeof(req), offsetofend(typeof(req), last))
#endif

#if !RXE_HAVE_IB_RESPOND_UDATA
#define ib_respond_udata(udata, resp) \
	rxe_compat_udata_out(udata, &(resp), sizeof(resp))
#endif

#if !RXE_HAVE_IB_IS_UDATA_IN_EMPTY
#define ib_is_udata_in_empty(udata)	rxe_compat_udata_in(udata, NULL, 0, 0)
#endif

#if !RXE_HAVE_IB_RESPOND_EMPTY_UDATA
#define ib_respond_empty_udata(udata)	rxe_compat_udata_out(udata, NULL, 0)
#endif

#if !RXE_HAVE_IB_NO_UDATA_IO

static inline int rxe_compat_ib_no_udata_io(struct ib_udata *udata)
{
	int err = ib_is_udata_in_empty(udata);

	return err ? err : ib_respond_empty_udata(udata);
}

#define ib_no_udata_io rxe_compat_ib_no_udata_io

#endif /* !RXE_HAVE_IB_NO_UDATA_IO */

#endif /* RXE_COMPAT_RDMA_UVERBS_IOCTL_H */
