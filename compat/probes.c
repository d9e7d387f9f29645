// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What every question asked of a kernel tree needs, and those that it must pass.
 * The questions are in the parts that Kbuild names after this file:
 *
 *   probes_ops.c      operations of a driver
 *   probes_ib.c       all else in the headers of RDMA
 *   probes_kernel.c   network stack and the rest of the kernel
 *
 * probe.sh puts them together, compiles them once and reads the answers from the
 * error lines; README.md says how to add a question. The answer to NAME is
 * RXE_HAVE_NAME, 0 or 1, in the generated rxe_features.h, which only compat/ may
 * look at.
 *
 * Four kinds of question:
 *   Header: NAME PATH     is there a header of that name?
 *   Export: NAME SYMBOL   is the symbol in Module.symvers?
 *   probe:NAME            does the block compile?
 *   require:NAME          if the block does not compile, the build stops with
 *                         its #error text, or with that of "Require: NAME text"
 *
 * A probe asks about one API, never about a kernel generation: distributions
 * mix them. Each says the kernel version that made it necessary, with the
 * subject of the upstream commit in quotes, so that raising the floor means
 * deleting probes. "yes" is the newest form, and a probe that every supported
 * kernel answers with "yes" can go.
 *
 * Traps: an undeclared function is only a warning when called, so ask for its address;
 * sizeof does not work on a bit field, so assign to it; no block may need another.
 */

/*
 * Headers that come and go. Asked by name, because a missing header would end
 * the compiler run.
 *
 * Linux 7.1: "ipv6: remove ipv6_stub infrastructure completely"
 * Header: net_ipv6_stubs_h net/ipv6_stubs.h
 *
 * Linux 4.11: "refcount_t: Introduce a special purpose refcount type"
 * Header: linux_refcount_h linux/refcount.h
 *
 * Linux 4.14: "IB/core: Add new ioctl interface"
 * Header: rdma_uverbs_ioctl_h rdma/uverbs_ioctl.h
 *
 * Linux 4.16: "RDMA/restrack: Add general infrastructure to track RDMA resources"
 * Header: rdma_restrack_h rdma/restrack.h
 *
 * Linux 4.14: "mm/hmm: heterogeneous memory management (HMM for short)"
 * Header: linux_hmm_h linux/hmm.h
 *
 * Linux 5.17: "net: move gro definitions to include/net/gro.h", which was there before
 * Header: net_gro_h net/gro.h
 *
 * Linux 4.11: "sched/headers: Prepare for new header dependencies before moving code
 * to <linux/sched/mm.h>"
 * Header: linux_sched_mm_h linux/sched/mm.h
 */

#include <linux/crc32.h>
#include <linux/dma-mapping.h>
#include <linux/ethtool.h>
#include <linux/highmem.h>
#if RXE_HAVE_LINUX_HMM_H
#include <linux/hmm.h>
#endif
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/ioport.h>
#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>
#include <net/ip6_fib.h>
#include <net/ipv6.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_verbs.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_netlink.h>
#if RXE_HAVE_RDMA_RESTRACK_H
#include <rdma/restrack.h>
#endif
#if RXE_HAVE_RDMA_UVERBS_IOCTL_H
#include <rdma/uverbs_ioctl.h>
#endif

/* a function of that name to hold a question */
#define PROBE(name)		void rxe_probe_##name(void); \
				void rxe_probe_##name(void)
/* a function or variable of that name is declared */
#define DECLARED(name)		((void)sizeof(&(name)))
/* the structure has that member, which is not a bit field */
#define MEMBER(type, name)	((void)sizeof(((type *)NULL)->name))
/* the expression has exactly that type */
#define SAME(expr, type) \
	((void)sizeof(char[1 - 2 * !__builtin_types_compatible_p(typeof(expr), type)]))

/* --- what no kernel can do without -------------------------------------- */

#line 1 "require:config"
#if !IS_ENABLED(CONFIG_INFINIBAND) || !IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS)
#error "It is configured without CONFIG_INFINIBAND or CONFIG_INFINIBAND_USER_ACCESS."
#endif
#if !IS_ENABLED(CONFIG_INFINIBAND_ADDR_TRANS)
#error "It is configured without CONFIG_INFINIBAND_ADDR_TRANS."
#endif
#if !IS_ENABLED(CONFIG_NET_UDP_TUNNEL)
#error "It is configured without CONFIG_NET_UDP_TUNNEL."
#endif

/*
 * The core changed shape between: from one that lets drivers allocate every object
 * to one that allocates all but QPs.
 * Require: core Its RDMA core is one of Linux 4.20 to 5.2; 4.4 to 4.19 and 5.3 or later are served.
 */
#line 1 "require:core"
PROBE(core)
{
#ifdef DECLARE_RDMA_OBJ_SIZE
	MEMBER(struct ib_device_ops, size_ib_cq);
#else
	MEMBER(struct ib_device, create_cq);
	SAME(&ib_register_device, int (*)(struct ib_device *,
					  int (*)(struct ib_device *, u8, struct kobject *)));
#endif
}

/* --- the engine's own controls ------------------------------------------ */

#line 1 "probe:must_pass"
PROBE(must_pass)
{
	DECLARED(wake_up_process);
	MEMBER(struct ib_device, phys_port_cnt);
	SAME(1, int);
}

#line 1 "probe:must_fail"
PROBE(must_fail)
{
	DECLARED(rxe_no_kernel_declares_this);
}
