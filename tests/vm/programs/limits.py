#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
limits.py - make as many objects as a device promises, or as large a one.

    limits.py DEVICE GID-INDEX WHAT

WHAT is pd, ah, cq, srq, mr, mw or qp: as many as max_WHAT says, less the few that the
kernel has made for itself; one more fails. Or depth: queues of max_qp_wr, max_sge,
max_cqe, max_srq_wr and max_srq_sge; larger ones fail. Or message: a WRITE of max_msg_sz
bytes, all of which are compared; messages of more complete with an error. Exit status 0
if so, 77 if this machine has not the memory for so many.
"""
import ctypes
import errno
import gc
import mmap
import os
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SendWR, SGE

# Of the RDMA core and its clients, on one device
KERNEL_OWN = 8
# Bytes that one takes, in the kernel and here, roughly
COST = {'pd': 6000, 'ah': 2000, 'cq': 9000, 'srq': 9000, 'mr': 3000, 'mw': 2000, 'qp': 32000}
# SGEs of the largest message; each begins so many bytes behind where the one before does
SGES, STEP = 32, 4099
PATIENCE = 300
LOC_LEN_ERR = 1


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


def too_much(what, needed):
    """Whether this machine's memory is not enough, which ends the program."""
    memory = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
    if needed > memory * 3 // 4:
        print(f'{what} would take {needed >> 20} MiB or so')
        sys.exit(77)


class Memory:
    """A registered mapping"""

    def __init__(self, pd, size):
        self.map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.base = ctypes.c_char.from_buffer(self.map)
        self.address = ctypes.addressof(self.base)
        self.mr = MR(pd, size, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
                     | e.IBV_ACCESS_REMOTE_READ, address=self.address)

    def sge(self, offset, length):
        """A part of it"""
        return SGE(self.address + offset, length, self.mr.lkey)


def connected(context, pd, cq, gid_index):
    """Two queue pairs of the device, connected with each other"""
    pair = [QP(pd, qp_init(cq, max_send_wr=1, max_recv_wr=1, max_send_sge=SGES, max_recv_sge=1))
            for _ in range(2)]
    route = GlobalRoute(dgid=context.query_gid(1, gid_index), sgid_index=gid_index, hop_limit=64)
    for qp, peer in zip(pair, pair[::-1]):
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
        attr.path_mtu, attr.dest_qp_num = e.IBV_MTU_4096, peer.qp_num
        attr.max_dest_rd_atomic = attr.max_rd_atomic = 1
        attr.timeout, attr.retry_cnt, attr.rnr_retry = 16, 7, 7
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        qp.to_rts(attr)
    return pair


def completion(cq):
    """The status of the next one"""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        count, found = cq.poll(1)
        if count:
            return found[0].status
        time.sleep(0.01)
    sys.exit(f'limits.py: no completion in {PATIENCE} s')


def message(context, pd, gid_index):
    """The longest message, gathered from 32 places, and longer ones"""
    size = context.query_port(1).max_msg_sz
    piece = size // SGES
    too_much('a message of max_msg_sz', size + size // 8)
    source, target = Memory(pd, piece + SGES * STEP), Memory(pd, size + mmap.PAGESIZE)
    source.map.write(os.urandom(piece + SGES * STEP))
    cq = CQ(context, 10)

    def request(opcode, sges, qp):
        wr = SendWR(1, opcode=opcode, num_sge=len(sges), sg=sges, send_flags=e.IBV_SEND_SIGNALED)
        if opcode != e.IBV_WR_SEND:
            wr.set_wr_rdma(target.mr.rkey, target.address)
        qp.post_send(wr)
        return completion(cq)

    for what, sges in (('one byte more', [source.sge(0, piece)] * (SGES - 1)
                        + [source.sge(0, piece + 1)]),
                       ('4 GiB', [target.sge(0, size)] * 2)):
        for opcode in (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ, e.IBV_WR_SEND):
            pair = connected(context, pd, cq, gid_index)
            status = request(opcode, sges, pair[0])
            if status != LOC_LEN_ERR:
                sys.exit(f'limits.py: {what} by opcode {opcode}: status {status}')
            for qp in pair:
                qp.close()
    if target.map[:piece] != bytes(piece):
        sys.exit('limits.py: what was refused has been written')

    pair = connected(context, pd, cq, gid_index)
    start = time.monotonic()
    status = request(e.IBV_WR_RDMA_WRITE, [source.sge(i * STEP, piece) for i in range(SGES)],
                     pair[0])
    if status:
        sys.exit(f'limits.py: a WRITE of {size} bytes: status {status}')
    print(f'a WRITE of {size} bytes: {time.monotonic() - start:.1f} s')
    differ = ctypes.CDLL(None).memcmp
    for i in range(SGES):
        if differ(ctypes.c_void_p(target.address + i * piece),
                  ctypes.c_void_p(source.address + i * STEP), ctypes.c_size_t(piece)):
            sys.exit(f'limits.py: other bytes behind {i * piece:#x}')
    if target.map[size:] != bytes(mmap.PAGESIZE):
        sys.exit('limits.py: bytes were written behind the message')
    for qp in pair:
        qp.close()
    source.mr.close()
    target.mr.close()


def main():
    device, gid_index, what = sys.argv[1:]
    context = Context(name=device)
    attr = context.query_device()
    pd = PD(context)
    if what == 'depth':
        return depth(context, attr, pd)
    if what == 'message':
        return message(context, pd, int(gid_index))
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
    too_much(f'max_{what} = {limit}', limit * COST[what])
    number = count(makers[what], limit)
    print(f'{number} of max_{what} = {limit}')
    if not limit - KERNEL_OWN <= number <= limit:
        sys.exit(f'limits.py: {number} can be made, max_{what} is {limit}')


main()
