#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
limits.py - make as many objects as a device promises, or as large a one.

    limits.py DEVICE GID-INDEX WHAT

WHAT is pd, ah, cq, srq, mr, mw or qp: as many as max_WHAT says, less the few that the
kernel has made for itself; one more fails. Or depth: queues of max_qp_wr, max_sge,
max_cqe, max_srq_wr and max_srq_sge; larger ones fail. Exit status 0 if so, 77 if this
machine has not the memory for so many.
"""
import errno
import gc
import os
import sys

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr

# Of the RDMA core and its clients, on one device
KERNEL_OWN = 8
# Bytes that one takes, in the kernel and here, roughly
COST = {'pd': 6000, 'ah': 2000, 'cq': 9000, 'srq': 9000, 'mr': 3000, 'mw': 2000, 'qp': 32000}


def count(make, limit):
    """How many can be made; each fails for want of room alone."""
    gc.disable()    # it would look at a million objects again and again
    made = []
    try:
        while len(made) <= limit:
            made.append(make())
    except PyverbsRDMAError as error:
        print(f'after {len(made)}: {error}')
        if error.error_code not in (errno.ENOMEM, errno.EINVAL):
            sys.exit(f'limits.py: not "no room" but: {error}')
    number = len(made)
    for thing in reversed(made):
        thing.close()
    return number


def fails(make):
    """Whether it is refused."""
    try:
        make().close()
    except PyverbsRDMAError as error:
        print(f'refused: {error}')
        return
    sys.exit('limits.py: more than the limit is accepted')


def qp_init(cq, **caps):
    """An RC queue pair with these capabilities"""
    return QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(**caps))


def depth(context, attr, pd):
    """The largest queues"""
    CQ(context, attr.max_cqe).close()
    fails(lambda: CQ(context, attr.max_cqe + 1))
    cq = CQ(context, 10)
    wr, sge = attr.max_qp_wr, attr.max_sge
    QP(pd, qp_init(cq, max_send_wr=wr, max_recv_wr=10)).close()
    QP(pd, qp_init(cq, max_send_wr=10, max_recv_wr=wr)).close()
    QP(pd, qp_init(cq, max_send_wr=10, max_recv_wr=10, max_send_sge=sge, max_recv_sge=sge)).close()
    fails(lambda: QP(pd, qp_init(cq, max_send_wr=wr + 1)))
    fails(lambda: QP(pd, qp_init(cq, max_recv_wr=wr + 1)))
    fails(lambda: QP(pd, qp_init(cq, max_send_sge=sge + 1)))
    fails(lambda: QP(pd, qp_init(cq, max_recv_sge=sge + 1)))
    wr, sge = attr.max_srq_wr, attr.max_srq_sge
    SRQ(pd, SrqInitAttr(SrqAttr(max_wr=wr, max_sge=1))).close()
    SRQ(pd, SrqInitAttr(SrqAttr(max_wr=10, max_sge=sge))).close()
    fails(lambda: SRQ(pd, SrqInitAttr(SrqAttr(max_wr=wr + 1, max_sge=1))))
    fails(lambda: SRQ(pd, SrqInitAttr(SrqAttr(max_wr=1, max_sge=sge + 1))))


def main():
    device, gid_index, what = sys.argv[1:]
    context = Context(name=device)
    attr = context.query_device()
    pd = PD(context)
    if what == 'depth':
        return depth(context, attr, pd)
    cq = CQ(context, 10)
    route = GlobalRoute(dgid=context.query_gid(1, int(gid_index)), sgid_index=int(gid_index))
    makers = {
        'pd': lambda: PD(context),
        'ah': lambda: AH(pd, attr=AHAttr(gr=route, is_global=1, port_num=1)),
        'cq': lambda: CQ(context, 1),
        'srq': lambda: SRQ(pd, SrqInitAttr(SrqAttr(max_wr=1, max_sge=1))),
        'mr': lambda: MR(pd, 64, e.IBV_ACCESS_LOCAL_WRITE),
        'mw': lambda: MW(pd, e.IBV_MW_TYPE_1),
        'qp': lambda: QP(pd, qp_init(cq, max_send_wr=1, max_recv_wr=1)),
    }
    limit = getattr(attr, f'max_{what}')
    memory = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
    if limit * COST[what] > memory * 3 // 4:
        print(f'max_{what} = {limit} would take {limit * COST[what] >> 20} MiB or so')
        sys.exit(77)
    number = count(makers[what], limit)
    print(f'{number} of max_{what} = {limit}')
    if not limit - KERNEL_OWN <= number <= limit:
        sys.exit(f'limits.py: {number} can be made, max_{what} is {limit}')


main()
