# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Queue pairs and memory of the devices under test, through libibverbs."""

import ctypes
import mmap
import os
import select
import socket
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SendWR, SGE

import wire
from harness import Failure, equal

LOCAL = e.IBV_ACCESS_LOCAL_WRITE
READ = e.IBV_ACCESS_REMOTE_READ
WRITE = e.IBV_ACCESS_REMOTE_WRITE
ATOMIC = e.IBV_ACCESS_REMOTE_ATOMIC
ALL = LOCAL | READ | WRITE | ATOMIC

MTUS = {256: e.IBV_MTU_256, 512: e.IBV_MTU_512, 1024: e.IBV_MTU_1024,
        2048: e.IBV_MTU_2048, 4096: e.IBV_MTU_4096}

# Emulated CPUs on a busy machine: what must come gets this long
PATIENCE = float(os.environ.get("WIRE_PATIENCE", "20"))

# Completion statuses
SUCCESS, LOC_LEN_ERR, LOC_QP_OP_ERR, LOC_PROT_ERR, FLUSH_ERR, LOC_ACCESS_ERR = 0, 1, 2, 4, 5, 8
BAD_RESP_ERR, REM_INV_RD_REQ_ERR = 7, 15
REM_INV_REQ_ERR, REM_ACCESS_ERR, REM_OP_ERR, RETRY_EXC_ERR, RNR_RETRY_EXC_ERR = 9, 10, 11, 12, 13


class Memory:
    """A registered buffer of our own making, or the beginning of a mapping."""

    def __init__(self, pd, size, access=ALL, backing=None):
        self.map = mmap.mmap(-1, size) if backing is None else backing
        self.base = ctypes.c_char.from_buffer(self.map)
        self.size, self.address = size, ctypes.addressof(self.base)
        self.view = memoryview(self.map)
        self.mr = MR(pd, size, access, address=self.address)
        self.lkey, self.rkey = self.mr.lkey, self.mr.rkey

    def sge(self, length, offset=0, lkey=None):
        """Scatter/gather element."""
        return SGE(self.address + offset, length, self.lkey if lkey is None else lkey)

    def put(self, data, offset=0):
        """Write into the buffer."""
        self.view[offset:offset + len(data)] = data

    def get(self, length, offset=0):
        """Read from the buffer."""
        return bytes(self.view[offset:offset + length])

    def close(self):
        """Deregister."""
        self.mr.close()


class Window:
    """A memory window, bound by a queue pair that is ready to send."""

    def __init__(self, queue, memory, length=64, kind=e.IBV_MW_TYPE_2, pd=None):
        self.mw = MW(pd or queue.device.pd, kind)
        info = MWBindInfo(memory.mr, memory.address, length, READ | WRITE)
        if kind == e.IBV_MW_TYPE_1:
            queue.qp.bind_mw(self.mw, MWBind(info, e.IBV_SEND_SIGNALED))
            self.rkey = self.mw.rkey
        else:
            wr = SendWR(0, opcode=e.IBV_WR_BIND_MW, send_flags=e.IBV_SEND_SIGNALED)
            wr.set_bind_wr(self.mw, info)
            queue.qp.post_send(wr)
            # which is the library's choice: the next one
            self.rkey = self.mw.rkey & ~0xff | self.mw.rkey + 1 & 0xff
        equal(queue.sent("completion of a bind").status, SUCCESS, "bind")

    def close(self):
        """Free, whether bound or not."""
        self.mw.close()


class Device:
    """A device, one of its addresses, and a protection domain."""

    def __init__(self, name, address):
        self.name, self.address = name, address
        before = event_files()
        self.context = Context(name=name)
        self.event_file = (event_files() - before).pop()
        self.pd = PD(self.context)
        self.gid_index = self.index_of(address)
        # counters as they are now, not as they were a moment ago (they always are before 4.8)
        if os.path.exists(self._counters("lifespan")):
            with open(self._counters("lifespan"), "w", encoding="ascii") as file:
                file.write("0")

    def _counters(self, name):
        return f"/sys/class/infiniband/{self.name}/ports/1/hw_counters/{name}"

    def has(self, ip):
        """Whether it has a GID for that address."""
        return self._find_gid(ip) is not None

    def index_of(self, ip):
        """Index of its GID for an address, which it has."""
        index = self._find_gid(ip)
        if index is None:
            raise Failure(f"{self.name} has no GID for {ip}")
        return index

    def _find_gid(self, ip):
        port = f"/sys/class/infiniband/{self.name}/ports/1"
        want = gid_text(ip)
        for index in range(16):
            try:
                with open(f"{port}/gids/{index}", encoding="ascii") as file:
                    gid = file.read().strip()
                with open(f"{port}/gid_attrs/types/{index}", encoding="ascii") as file:
                    kind = file.read().strip()
            except OSError:
                continue
            if gid == want and kind == "RoCE v2":
                return index
        return None

    def event(self, timeout=0.0):
        """Type of the next asynchronous event, or None."""
        if not select.select([self.event_file], [], [], timeout)[0]:
            return None
        found = self.context.get_async_event()
        found.ack()
        return found.event_type

    def events(self):
        """Types of all events that are there, about queues."""
        return [kind for kind in iter(self.event, None) if kind in (
            e.IBV_EVENT_CQ_ERR, e.IBV_EVENT_QP_FATAL, e.IBV_EVENT_QP_REQ_ERR,
            e.IBV_EVENT_QP_ACCESS_ERR)]

    def counter(self, name):
        """A counter of the port; the kernel reads them at most once a tick."""
        time.sleep(0.01)
        with open(self._counters(name), encoding="ascii") as file:
            return int(file.read())


def event_files():
    """Descriptors of this process that events are read from."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            if "infinibandevent" in os.readlink(f"/proc/self/fd/{name}"):
                found.add(int(name))
        except OSError:
            pass  # the descriptor of the directory itself
    return found


def gid_bytes(address):
    """The GID of an IP address."""
    if ":" in address:
        return socket.inet_pton(socket.AF_INET6, address)
    return bytes(10) + b"\xff\xff" + socket.inet_aton(address)


def gid_text(address):
    """The GID of an IP address, as sysfs writes it."""
    raw = gid_bytes(address)
    return ":".join(raw[i:i + 2].hex() for i in range(0, 16, 2))


def address(device, peer, traffic_class=0, index=None):
    """Attributes of an address handle."""
    route = GlobalRoute(dgid=GID(gid_text(peer)), hop_limit=64, traffic_class=traffic_class,
                        sgid_index=device.gid_index if index is None else index)
    return AHAttr(gr=route, is_global=1, port_num=1)


def handle(device, peer, traffic_class=0, index=None):
    """An address handle.

    To a library that is told no number for it (compat/ib_ops_old.c) it is the address itself,
    and the peer's MAC address, which it looks for in the namespace of who calls it.
    """
    with wire.inside(wire.NAMESPACES[device.name]):
        return AH(device.pd, attr=address(device, peer, traffic_class, index))


class Queue:
    """A queue pair with completion queues of its own."""

    def __init__(self, device, *, depth=64, cqe=256, inline=0, pd=None,
                 kind=e.IBV_QPT_RC, srq=None, sig_all=0, sges=4):
        self.device = device
        self.scq = CQ(device.context, cqe)
        self.rcq = CQ(device.context, cqe)
        cap = QPCap(depth, depth, sges, sges, inline)
        init = QPInitAttr(qp_type=kind, scq=self.scq, rcq=self.rcq, srq=srq, cap=cap,
                          sq_sig_all=sig_all)
        self.qp = QP(pd or device.pd, init)
        self.number = self.qp.qp_num

    def init(self, access=READ | WRITE | ATOMIC):
        """RESET to INIT."""
        attr = QPAttr(qp_state=e.IBV_QPS_INIT)
        attr.pkey_index, attr.port_num, attr.qp_access_flags = 0, 1, access
        self.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT
                       | e.IBV_QP_ACCESS_FLAGS)

    def connect(self, number, peer, *, mtu=1024, rq_psn=0, sq_psn=0,
                access=READ | WRITE | ATOMIC, timeout=14, retry=7, rnr_retry=7, rnr_timer=1,
                reads=16, outstanding=16, traffic_class=0):
        """RESET to RTS, towards a QP number at an address."""
        self.init(access)
        attr = QPAttr(qp_state=e.IBV_QPS_RTR)
        attr.path_mtu, attr.dest_qp_num, attr.rq_psn = MTUS[mtu], number, rq_psn
        attr.max_dest_rd_atomic, attr.min_rnr_timer = reads, rnr_timer
        attr.ah_attr = address(self.device, peer, traffic_class)
        self.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_AV | e.IBV_QP_PATH_MTU | e.IBV_QP_DEST_QPN
                       | e.IBV_QP_RQ_PSN | e.IBV_QP_MAX_DEST_RD_ATOMIC | e.IBV_QP_MIN_RNR_TIMER)
        attr = QPAttr(qp_state=e.IBV_QPS_RTS)
        attr.timeout, attr.retry_cnt, attr.rnr_retry = timeout, retry, rnr_retry
        attr.sq_psn, attr.max_rd_atomic = sq_psn, outstanding
        self.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_TIMEOUT | e.IBV_QP_RETRY_CNT
                       | e.IBV_QP_RNR_RETRY | e.IBV_QP_SQ_PSN | e.IBV_QP_MAX_QP_RD_ATOMIC)

    def state(self):
        """Verbs state of the QP."""
        return self.qp.query(e.IBV_QP_STATE)[0].qp_state

    def in_error(self):
        """Whether the QP has gone to its error state."""
        return self.state() == e.IBV_QPS_ERR

    def receive(self, sges, wr_id=1):
        """Post a receive."""
        self.qp.post_recv(RecvWR(wr_id, num_sge=len(sges), sg=sges))

    def send(self, opcode, sges, *, remote=None, rkey=0, imm=0, wr_id=1, flags=e.IBV_SEND_SIGNALED,
             invalidate=None):
        """Post a SEND, WRITE or READ; or LOCAL_INV."""
        # one field for both
        imm = socket.htonl(imm) if invalidate is None else invalidate
        wr = SendWR(wr_id, opcode=opcode, num_sge=len(sges), imm_data=imm, sg=sges,
                    send_flags=flags)
        if remote is not None:
            wr.set_wr_rdma(rkey, remote)
        self.qp.post_send(wr)

    def atomic(self, opcode, sge, *, remote, rkey, compare_add, swap=0, wr_id=1):
        """Post an atomic."""
        wr = SendWR(wr_id, opcode=opcode, num_sge=1, sg=[sge], send_flags=e.IBV_SEND_SIGNALED)
        wr.set_wr_atomic(rkey, remote, compare_add, swap)
        self.qp.post_send(wr)

    def sent(self, what="send completion"):
        """The next send completion."""
        return completion(self.scq, what)

    def received(self, what="receive completion"):
        """The next receive completion."""
        return completion(self.rcq, what)

    def no_completion(self, queue, what):
        """There is no completion."""
        count, found = queue.poll(1)
        if count:
            raise Failure(f"{what}: a completion with status {found[0].status}")

    def group(self, gid, join=True):
        """Join a multicast group, or leave it, by its GID in bytes."""
        ibverbs = ctypes.CDLL("libibverbs.so.1", use_errno=True)
        call = ibverbs.ibv_attach_mcast if join else ibverbs.ibv_detach_mcast
        equal(call(ctypes.c_void_p(self._ibv_qp()), gid, 0), 0, f"{call.__name__}: errno")

    def _ibv_qp(self):
        """Where the struct ibv_qp is: pyverbs has no multicast, and does not tell."""
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            for at in range(0, type(self.qp).__basicsize__, 8):
                there = ctypes.c_uint64.from_address(id(self.qp) + at).value
                try:
                    # behind six pointers and the handle: its number
                    found = os.pread(memory.fileno(), 4, there + 6 * 8 + 4)
                except (OSError, OverflowError):
                    continue
                if int.from_bytes(found, sys.byteorder) == self.number:
                    return there
        raise Failure("the queue pair is not where it was looked for")

    def close(self):
        """Destroy, the QP first."""
        self.qp.close()
        self.scq.close()
        self.rcq.close()


def completion(queue, what):
    """The next completion of a queue; there must be one soon."""
    end = time.monotonic() + PATIENCE
    while True:
        count, found = queue.poll(1)
        if count:
            return found[0]
        if time.monotonic() > end:
            raise Failure(f"no {what} after {PATIENCE:.0f} s")
        os.sched_yield()


def status_is(found, wanted, what):
    """A completion has a status."""
    equal(found.status, wanted, f"status of {what}")


def connected(near, far, **options):
    """Two QPs of two devices, connected to each other."""
    far_only = {key[4:]: options.pop(key) for key in list(options) if key.startswith("far_")}
    size = {"depth": options.pop("depth", 64), "sges": options.pop("sges", 4)}
    here = Queue(near, **size)
    there = Queue(far, **size)
    here.connect(there.number, far.address, rq_psn=0xfffff0, sq_psn=0x123456, **options)
    there.connect(here.number, near.address, rq_psn=0x123456, sq_psn=0xfffff0,
                  **{**options, **far_only})
    return here, there
