# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A peer that is no device: packets made by hand towards a real queue pair.

The queue pair of the device under test (rxe1, in ns2) is connected to a number
and an address of ours, where nobody is but this program. Every answer is
compared, byte for byte, with the one that the protocol demands.
"""

import struct
import time

import pyverbs.enums as e
from pyverbs.qp import QPAttr
from pyverbs.wr import SendWR

import roce
import verbs
import wire
from harness import Failure, check, equal, show

SIZE = 1 << 16
MTU = 1024
OUR_QPN = 0xabcde1
# What connections say about themselves in the ECN field
ECT0 = 2
# First PSN of our requests, and of the device's; both wrap around soon
FIRST = 0xfffffd
THEIRS = 0xfffffe
# Memory of ours, as the device names it, and what the device sends
REMOTE = 0x123456789000
RKEY = 0xcafe01
DATA = bytes(range(1, 252)) * 40
# Datagrams: key of the device's queue pair, and bytes that come before the payload
QKEY, GRH = 0x1234567, 40
# The queue pair for services, and the MADs it takes
GSI, GSI_QKEY = 1, 0x80010000
MAD_HEADER, CLASS_PORT_INFO = ">BBBBHHQHHI", 0x0001
# How long an answer may take, and how long silence lasts where nothing ends it
ANSWER = verbs.PATIENCE / 2
SILENCE = 0.2


QPS = "/sys/kernel/debug/rxe/rxe1/qp"


def view(number):
    """What debugfs shows of a queue pair, by name; numbers as text."""
    with open(QPS, encoding="ascii") as file:
        names = file.readline().split()
        for line in file:
            cells = line.split(None, len(names) - 1)
            if int(cells[0]) == number:
                return dict(zip(names, cells))
    raise KeyError(number)


class Far:
    """The device under test and memory on it."""

    device = memory = None
    address = {}

    @classmethod
    def setup(cls):
        """Open the device."""
        cls.address = {4: wire.FAR4, 6: wire.FAR6}
        cls.device = {4: verbs.Device("rxe1", wire.FAR4), 6: verbs.Device("rxe1", wire.FAR6)}
        cls.memory = {v: verbs.Memory(cls.device[v].pd, SIZE) for v in (4, 6)}


class Stranger:
    """A queue pair under test and our side of its connection."""

    def __init__(self, version=4, state="RTS", **options):
        self.near = {4: wire.NEAR4, 6: wire.NEAR6}[version]
        self.device, self.memory = Far.device[version], Far.memory[version]
        self.queue = options.pop("queue", verbs.Queue)(self.device)
        self.number = self.queue.number
        self.mtu = options.setdefault("mtu", MTU)
        options.setdefault("timeout", 0)  # never send again unless told
        if state == "RTS":
            self.queue.connect(OUR_QPN, self.near, rq_psn=FIRST, sq_psn=THEIRS, **options)
        elif state == "INIT":
            self.queue.init()
        self.to = roce.Path(wire.NEAR_MAC, wire.FAR_MAC, self.near, self.device.address, 0xc123)
        self.back = roce.Path(wire.FAR_MAC, wire.NEAR_MAC, self.device.address, self.near,
                              roce.sport(self.number, OUR_QPN), tos=ECT0)
        self.tap = wire.Tap()
        self.psn, self.msn = FIRST, 0
        self.ident = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tap.close()
        self.queue.close()

    # ---- sending ----

    def frame(self, opcode, extended=b"", payload=b"", psn=None, **fields):
        """A whole frame of ours."""
        fields.setdefault("dqpn", self.number)
        number = fields.pop("dqpn")
        psn = self.psn if psn is None else psn
        self.ident = self.ident + 1 & 0xffff
        return self.to.summed(roce.message(opcode, number, psn, extended, payload, **fields),
                              self.ident)

    def send(self, opcode, extended=b"", payload=b"", psn=None, **fields):
        """Send a packet."""
        self.tap.send(self.frame(opcode, extended, payload, psn, **fields))

    def write(self, payload=b"", offset=0, **fields):
        """Send a WRITE Only."""
        self.send(roce.WRITE_ONLY, self.reth(len(payload), offset), payload, **fields)

    def reth(self, length, offset=0, rkey=None):
        """RETH for memory of the device."""
        return roce.reth(self.memory.address + offset & (1 << 64) - 1,
                         self.memory.rkey if rkey is None else rkey, length)

    def atmeth(self, swap_add, compare=0, offset=0):
        """AtomicETH for memory of the device."""
        return roce.atmeth(self.memory.address + offset, self.memory.rkey, swap_add, compare)

    def receive(self, length=SIZE, offset=0, wr_id=1):
        """Have the device post a receive."""
        self.queue.receive([self.memory.sge(length, offset)], wr_id=wr_id)

    # ---- answers ----

    def next(self, timeout=ANSWER):
        """The next packet that the device sent us, or None."""
        end = time.monotonic() + timeout
        while True:
            packet = self.tap.next(end)
            if packet is None or str(packet.src) == self.device.address:
                return packet

    def answer(self, opcode, psn, extended=b"", payload=b"", **fields):
        """The device's next packet is exactly this one."""
        packet = self.next()
        wanted = roce.message(opcode, OUR_QPN, psn, extended, payload, **fields)
        if packet is None:
            raise Failure(f"no answer; wanted {show(wanted)}")
        # Of all bytes only the IPv4 identification is the device's own choice.
        whole = self.back.summed(wanted, packet.ident)
        if packet.frame != whole:
            raise Failure(f"answer {packet}: {show(packet.frame)} instead of {show(whole)}")
        return packet

    def acked(self, psn=None, syndrome=roce.ACK_UNLIMITED, msn=None):
        """An ACK or NAK."""
        return self.answer(roce.ACK, self.psn if psn is None else psn,
                           roce.aeth(syndrome, self.msn if msn is None else msn))

    def silent(self, timeout=SILENCE):
        """No packet comes."""
        packet = self.next(timeout)
        if packet:
            raise Failure(f"an answer where silence is demanded: {packet}")

    # ---- whole exchanges ----

    def step(self, packets=1, messages=1):
        """The request we sent was executed."""
        self.psn = roce.psn_add(self.psn, packets)
        self.msn += messages

    def good_write(self, payload=b"still alive!", offset=SIZE - 64):
        """A WRITE, its ACK, and its bytes in place.

        It also ends a silence: requests are answered in order, so that nothing
        that came before it can still be on its way.
        """
        self.memory.put(bytes(len(payload)), offset)
        self.write(payload, offset, ackreq=True)
        self.msn += 1
        self.acked()
        self.psn = roce.psn_add(self.psn, 1)
        equal(self.memory.get(len(payload), offset), payload, "bytes of a WRITE")

    def refused(self, syndrome, psn=None):
        """A NAK for what we sent last, and the queue pair is in error."""
        self.acked(psn, syndrome)
        end = time.monotonic() + ANSWER
        while not self.queue.in_error():
            if time.monotonic() > end:
                raise Failure("the queue pair is not in its error state")
        self.silent(0.02)

    def ignored(self, frame, counter=None):
        """A frame changes nothing but a counter; what follows is as before."""
        before = self.device.counter(counter) if counter else 0
        memory = self.memory.get(SIZE)
        self.tap.send(frame)
        self.good_write()
        equal(self.memory.get(SIZE - 64), memory[:-64], "memory after a packet to be dropped")
        if counter:
            equal(self.device.counter(counter) - before, 1, f"counter {counter}")


class Asking(Stranger):
    """The device is the one that asks."""

    def __init__(self, **options):
        super().__init__(**options)
        self.theirs = THEIRS
        self.memory.put(DATA)

    def post(self, opcode=e.IBV_WR_RDMA_WRITE, length=64, wr_id=1, offset=0, **options):
        """Have the device post a request."""
        self.queue.send(opcode, [self.memory.sge(length, offset)], remote=REMOTE, rkey=RKEY,
                        wr_id=wr_id, **options)

    def asked(self, opcode, psn=None, extended=b"", payload=b"", ackreq=False):
        """The next request is exactly this one."""
        psn = self.theirs if psn is None else psn
        return self.answer(opcode, psn, extended, payload, ackreq=ackreq)

    def asked_write(self, psn=None, length=64, offset=0, ackreq=True):
        """The next request is this WRITE Only."""
        return self.asked(roce.WRITE_ONLY, psn, roce.reth(REMOTE, RKEY, length),
                          DATA[offset:offset + length], ackreq)

    def asked_read(self, psn=None, length=64, skip=0):
        """The next request is this READ."""
        return self.asked(roce.READ_REQUEST, psn, roce.reth(REMOTE + skip, RKEY, length))

    def reply(self, opcode, psn, extended=b"", payload=b"", **fields):
        """Send an answer of ours."""
        self.tap.send(self.frame(opcode, extended, payload, psn=psn, **fields))

    def ack(self, psn, syndrome=roce.ACK_UNLIMITED, msn=1):
        """Send an ACK or NAK."""
        self.reply(roce.ACK, psn, roce.aeth(syndrome, msn))

    def completed(self, wr_id, status=verbs.SUCCESS):
        """The next completion is this one."""
        done = self.queue.sent()
        equal((done.wr_id, done.status), (wr_id, status), "completion")

    def waits(self, why):
        """Nothing completes: an answer was without effect. Ends with an echo.

        The device answers a WRITE of ours only after what came before it.
        """
        self.write(b"echo", SIZE - 64, ackreq=True)
        self.msn += 1
        self.acked()
        self.step(messages=0)
        self.queue.no_completion(self.queue.scq, why)


class Unreliable(Stranger):
    """A UC queue pair of the device, towards a peer of our making."""

    def __init__(self, version=4, traffic_class=0, mtu=MTU, inline=0):
        super().__init__(version, state="RESET", mtu=mtu)
        self.queue.close()
        self.queue = verbs.Queue(self.device, kind=e.IBV_QPT_UC, inline=inline)
        self.number = self.queue.number
        self.back.sport = roce.sport(self.number, OUR_QPN)
        self.queue.init(verbs.WRITE)
        attr = QPAttr(qp_state=e.IBV_QPS_RTR)
        attr.path_mtu, attr.dest_qp_num, attr.rq_psn = verbs.MTUS[mtu], OUR_QPN, FIRST
        attr.ah_attr = verbs.address(self.device, self.near, traffic_class)
        self.queue.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_AV | e.IBV_QP_PATH_MTU
                             | e.IBV_QP_DEST_QPN | e.IBV_QP_RQ_PSN)
        attr = QPAttr(qp_state=e.IBV_QPS_RTS)
        attr.sq_psn = 0
        self.queue.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_SQ_PSN)

    def put(self, opcode, payload=b"", extended=b"", skip=0):
        """Send the next packet, after some that are lost."""
        self.psn = roce.psn_add(self.psn, skip)
        self.send(roce.UC | opcode, extended, payload)
        self.psn = roce.psn_add(self.psn, 1)

    def got(self, wr_id, data):
        """The next receive completion."""
        done = self.queue.received()
        equal((done.status, done.wr_id, done.byte_len), (0, wr_id, len(data)), "receive")
        equal(self.memory.get(len(data)), data, "bytes of a SEND")


class Datagrams(Stranger):
    """A UD queue pair of the device."""

    def __init__(self, version=4, srq=None):
        super().__init__(version, state="RESET")
        self.queue.close()
        self.queue = verbs.Queue(self.device, kind=e.IBV_QPT_UD, srq=srq)
        self.number = self.queue.number
        self.modify(e.IBV_QPS_INIT, e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT | e.IBV_QP_QKEY)
        self.modify(e.IBV_QPS_RTR, 0)
        self.modify(e.IBV_QPS_RTS, e.IBV_QP_SQ_PSN)
        self.back = roce.Path(wire.FAR_MAC, wire.NEAR_MAC, self.device.address, self.near,
                              roce.sport(self.number, OUR_QPN))

    def modify(self, state, mask):
        """Go on to a state."""
        attr = QPAttr(qp_state=state)
        attr.pkey_index, attr.port_num, attr.qkey, attr.sq_psn = 0, 1, QKEY, 100
        self.queue.qp.modify(attr, e.IBV_QP_STATE | mask)

    def put(self, payload, imm=b"", qkey=QKEY, **fields):
        """Send a datagram to the device."""
        opcode = roce.UD | (roce.SEND_ONLY_IMM if imm else roce.SEND_ONLY)
        frame = self.frame(opcode, deth(qkey, OUR_QPN) + imm, payload, **fields)
        self.tap.send(frame)
        return frame

    def handle(self, peer=None):
        """An address handle."""
        return verbs.handle(self.device, peer or self.near)

    def post(self, handle, sges, wr_id=1, qkey=QKEY, imm=b"", flags=0):
        """Have the device send a datagram."""
        wr = SendWR(wr_id, opcode=e.IBV_WR_SEND_WITH_IMM if imm else e.IBV_WR_SEND,
                    num_sge=len(sges), imm_data=struct.unpack("=I", imm)[0] if imm else 0, sg=sges,
                    send_flags=e.IBV_SEND_SIGNALED | flags)
        wr.set_wr_ud(handle, OUR_QPN, qkey)
        self.queue.qp.post_send(wr)

    def sent(self, wr_id, status=0):
        """The next send completion."""
        done = self.queue.sent()
        equal((done.wr_id, done.status), (wr_id, status), "send completion")

    def got(self, wr_id, data, frame):
        """The next receive completion: GRH and payload are those of the frame."""
        done = self.queue.received()
        equal((done.status, done.wr_id, done.byte_len, done.src_qp),
              (0, wr_id, GRH + len(data), OUR_QPN), "receive")
        check(done.wc_flags & e.IBV_WC_GRH, "a receive without IBV_WC_GRH")
        if frame[12:14] == b"\x08\x00":
            equal(self.memory.get(GRH), bytes(20) + frame[14:34], "GRH")
        else:
            equal(self.memory.get(GRH), frame[14:54], "GRH")
        equal(self.memory.get(len(data), GRH), data, "bytes of a datagram")
        return done


def deth(qkey, qpn):
    """Datagram extended header."""
    return struct.pack(">II", qkey, qpn)


def mad(method, number, data=b""):
    """A MAD of performance management, about its class; what it says begins at byte 64."""
    head = struct.pack(MAD_HEADER, 1, 4, 1, method, 0, 0, number, CLASS_PORT_INFO, 0, 0)
    return (head.ljust(64, b"\0") + data).ljust(256, b"\0")


def ask_gsi(test, number, qkey=GSI_QKEY, **fields):
    """Ask QP 1 of the device, as QP 1 of ours."""
    test.send(roce.UD | roce.SEND_ONLY, deth(qkey, GSI), mad(0x01, number), dqpn=GSI, **fields)


def plan(offset, answer):
    """The PSN of the device's requests so far, and a number of packets on."""
    return roce.psn_add(answer.theirs, offset)
