#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Services other than reliable connections: UC, UD, and shared receive queues.

Packets come from a peer that is no device (stranger.py); what the device does with
them shows in its completions, its memory and its counters.
"""

import struct
import time

import pyverbs.enums as e
from pyverbs.addr import AH
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import RecvWR, SendWR

import roce
import verbs
import wire
from harness import Failure, case, check, equal, main
from stranger import FIRST, MTU, OUR_QPN, SIZE, Far, Stranger, Unreliable

DATA = bytes(range(1, 252)) * 20
UD = 0x60
QKEY = 0x1234567
GRH = 40


def soon(condition, text):
    """A condition comes true within the patience of all tests."""
    end = time.monotonic() + verbs.PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise Failure(text)
        time.sleep(0.005)


@case("uc-executed-not-answered")
def uc_executed():
    """SEND and WRITE of one and of several packets; never an answer."""
    with Unreliable() as test:
        test.receive(wr_id=1)
        test.put(roce.SEND_ONLY, DATA[:77])
        test.got(1, DATA[:77])
        test.receive(wr_id=2)
        test.put(roce.SEND_FIRST, DATA[:MTU])
        test.put(roce.SEND_MIDDLE, DATA[MTU:2 * MTU])
        test.put(roce.SEND_LAST, DATA[2 * MTU:2 * MTU + 5])
        test.got(2, DATA[:2 * MTU + 5])
        test.memory.put(bytes(SIZE))
        test.put(roce.WRITE_FIRST, DATA[:MTU], test.reth(MTU + 3))
        test.put(roce.WRITE_LAST, DATA[MTU:MTU + 3])
        soon(lambda: test.memory.get(MTU + 3) == DATA[:MTU + 3], "the WRITE is not in place")
        test.silent()


@case("uc-gap-drops-the-message")
def uc_gap():
    """A message with a hole is dropped whole; its receive serves the next one."""
    with Unreliable() as test:
        test.receive(wr_id=5)
        test.put(roce.SEND_FIRST, DATA[:MTU])
        test.put(roce.SEND_LAST, b"end", skip=1)
        test.put(roce.SEND_MIDDLE, DATA[:MTU], skip=1)
        test.put(roce.SEND_LAST, b"end")
        test.put(roce.WRITE_ONLY, b"nothing of this message is received", test.reth(35, 4096))
        test.put(roce.SEND_ONLY, b"whole", skip=3)
        test.got(5, b"whole")
        test.queue.no_completion(test.queue.rcq, "a message with a hole")
        test.silent()


@case("uc-errors-are-silent")
def uc_errors():
    """A bad key, no receive, one too short, a READ: dropped, and the QP lives on."""
    with Unreliable() as test:
        test.put(roce.WRITE_ONLY, b"abcd", test.reth(4, rkey=test.memory.rkey ^ 0x500))
        test.put(roce.SEND_ONLY, b"no receive is posted")
        test.send(roce.READ_REQUEST, test.reth(4))
        test.receive(length=4, wr_id=6)
        test.put(roce.SEND_ONLY, b"too long")
        test.put(roce.SEND_ONLY, b"four")
        test.got(6, b"four")
        equal(test.queue.state(), e.IBV_QPS_RTS, "state")
        test.silent()


# ---- datagrams ----

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
        opcode = UD | (roce.SEND_ONLY_IMM if imm else roce.SEND_ONLY)
        frame = self.frame(opcode, deth(qkey, OUR_QPN) + imm, payload, **fields)
        self.tap.send(frame)
        return frame

    def handle(self, peer=None):
        """An address handle."""
        return AH(self.device.pd, attr=verbs.address(self.device, peer or self.near))

    def post(self, handle, sges, wr_id=1, qkey=QKEY):
        """Have the device send a datagram."""
        wr = SendWR(wr_id, opcode=e.IBV_WR_SEND, num_sge=len(sges), sg=sges,
                    send_flags=e.IBV_SEND_SIGNALED)
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


def ud_receive(version):
    """Datagrams of several lengths, their GRH, and immediate data."""
    with Datagrams(version) as test:
        for length in (0, 1, 2, 3, 256, 4096):
            test.receive(wr_id=length)
            frame = test.put(DATA[:length])
            test.got(length, DATA[:length], frame)
        test.receive(wr_id=9)
        frame = test.put(b"with immediate", imm=b"\1\2\3\4", se=True)
        done = test.got(9, b"with immediate", frame)
        equal(done.imm_data, struct.unpack("=I", b"\1\2\3\4")[0], "immediate")
        check(done.wc_flags & e.IBV_WC_WITH_IMM, "no IBV_WC_WITH_IMM")
        test.silent(0.02)


@case("ud-receive-ipv4")
def ud_receive_ipv4():
    """GRH of an IPv4 datagram: 20 zero bytes, and the IP header."""
    ud_receive(4)


@case("ud-receive-ipv6")
def ud_receive_ipv6():
    """GRH of an IPv6 datagram: the IP header."""
    ud_receive(6)


@case("ud-keys")
def ud_keys():
    """A wrong Q_Key or P_Key drops the datagram, and is counted."""
    with Datagrams() as test:
        test.receive(wr_id=3)
        for counter, fields in (("rx_bad_qkey", {"qkey": QKEY + 1}),
                                ("rx_bad_pkey", {"pkey": 0x8001})):
            before = test.device.counter(counter)
            test.put(b"dropped", **fields)
            soon(lambda: test.device.counter(counter) == before + 1, f"{counter} does not count")
        frame = test.put(b"received", pkey=0x7fff)
        test.got(3, b"received", frame)


@case("ud-no-buffer")
def ud_no_buffer():
    """No receive, or one too short: dropped and counted, and the receive stays."""
    with Datagrams() as test:
        before = test.device.counter("rx_no_buffer")
        test.put(b"no receive is posted")
        soon(lambda: test.device.counter("rx_no_buffer") == before + 1, "not counted")
        test.receive(length=GRH + 4, wr_id=8)
        test.put(b"too long")
        soon(lambda: test.device.counter("rx_no_buffer") == before + 2, "not counted")
        frame = test.put(b"four")
        test.got(8, b"four", frame)
        equal(test.queue.state(), e.IBV_QPS_RTS, "state")


@case("ud-not-ready")
def ud_not_ready():
    """A queue pair that nobody has modified yet keeps no datagrams."""
    with Datagrams() as test:
        other = verbs.Queue(test.device, kind=e.IBV_QPT_UD)
        before = test.device.counter("rx_no_qp")
        for _ in range(5):
            test.put(b"early", dqpn=other.number)
        soon(lambda: test.device.counter("rx_no_qp") == before + 5, "not counted")
        other.close()
        test.receive(wr_id=1)
        frame = test.put(b"in time")
        test.got(1, b"in time", frame)


@case("ud-wrong-service")
def ud_wrong_service():
    """An RC or UC request for a UD queue pair is malformed."""
    with Datagrams() as test:
        before = test.device.counter("rx_malformed")
        test.send(roce.SEND_ONLY, b"", b"reliable")
        test.send(roce.UC | roce.SEND_ONLY, b"", b"unreliable")
        soon(lambda: test.device.counter("rx_malformed") == before + 2, "not counted")
        test.silent(0.02)


def ud_send(version):
    """What the device sends, byte for byte."""
    with Datagrams(version) as test:
        test.memory.put(DATA)
        handle = test.handle()
        for index, length in enumerate((0, 1, 2, 3, 1024, 4096)):
            test.post(handle, [test.memory.sge(length)], wr_id=length)
            test.sent(length)
            test.answer(UD | roce.SEND_ONLY, 100 + index, deth(QKEY, test.number), DATA[:length])
        # with the high bit it is the Q_Key of the QP that counts (10.2.5)
        test.post(handle, [test.memory.sge(4)], wr_id=1, qkey=0x80000001)
        test.sent(1)
        test.answer(UD | roce.SEND_ONLY, 106, deth(QKEY, test.number), DATA[:4])
        # too long for the port: no packet, no error (C10-93.1.1)
        test.post(handle, [test.memory.sge(4097)], wr_id=2)
        test.sent(2)
        test.silent()
        handle.close()


@case("ud-send-ipv4")
def ud_send_ipv4():
    """SENDs over IPv4."""
    ud_send(4)


@case("ud-send-ipv6")
def ud_send_ipv6():
    """SENDs over IPv6."""
    ud_send(6)


@case("ud-many-destinations")
def ud_many_destinations():
    """More destinations than a QP remembers, in turns: each datagram has its own."""
    with Datagrams() as test:
        handles = [AH(test.device.pd, attr=verbs.address(test.device, test.near, 4 * index))
                   for index in range(12)]
        for _ in range(3):
            for index, handle in enumerate(handles):
                test.post(handle, [test.memory.sge(8)], wr_id=index)
                test.sent(index)
                packet = test.next()
                check(packet is not None, "no datagram")
                equal(packet.ip[1], 4 * index, "traffic class")
        for handle in handles:
            handle.close()


@case("ud-send-error")
def ud_send_error():
    """A bad lkey: the error, SQE, receives go on, back to RTS, sends go on."""
    with Datagrams() as test:
        handle = test.handle()
        test.post(handle, [test.memory.sge(4, lkey=test.memory.lkey ^ 0x500)], wr_id=1)
        test.sent(1, verbs.LOC_PROT_ERR)
        equal(test.queue.state(), e.IBV_QPS_SQE, "state")
        test.post(handle, [test.memory.sge(4)], wr_id=2)
        test.sent(2, verbs.FLUSH_ERR)
        test.receive(wr_id=3)
        frame = test.put(b"received in SQE")
        test.got(3, b"received in SQE", frame)
        attr = QPAttr(qp_state=e.IBV_QPS_RTS)
        attr.cur_qp_state = e.IBV_QPS_SQE
        test.queue.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_CUR_STATE)
        test.memory.put(DATA)
        test.post(handle, [test.memory.sge(4)], wr_id=4)
        test.sent(4)
        test.answer(UD | roce.SEND_ONLY, 100, deth(QKEY, test.number), DATA[:4])
        handle.close()


# ---- shared receive queues ----

def shared(depth=16, limit=0):
    """A shared receive queue of the device under test."""
    return SRQ(Far.device[4].pd, SrqInitAttr(SrqAttr(max_wr=depth, max_sge=2, srq_limit=limit)))


def post(srq, wr_id, length=64):
    """Post a receive to it; each has a place of its own."""
    sge = Far.memory[4].sge(length, wr_id * 64)
    srq.post_recv(RecvWR(wr_id, num_sge=1, sg=[sge]))


class Shared(Stranger):
    """An RC queue pair of the device that shares receives."""

    def __init__(self, srq):
        super().__init__(4, state="RESET")
        self.queue.close()
        self.queue = verbs.Queue(self.device, srq=srq)
        self.number = self.queue.number
        self.queue.connect(OUR_QPN, self.near, rq_psn=FIRST, sq_psn=FIRST, timeout=0)

    def deliver(self, wr_id):
        """A SEND that takes the receive with that number."""
        self.send(roce.SEND_ONLY, b"", b"shared %3d" % wr_id, ackreq=True)
        self.step()
        done = self.queue.received()
        equal((done.status, done.wr_id), (0, wr_id), "receive")
        equal(self.memory.get(10, wr_id * 64), b"shared %3d" % wr_id, "bytes")


@case("srq-serves-many")
def srq_many():
    """Two queue pairs take receives in the order in which they were posted."""
    srq = shared()
    for wr_id in range(8):
        post(srq, wr_id)
    with Shared(srq) as one, Shared(srq) as two:
        for wr_id in range(8):
            (one, two)[wr_id % 2].deliver(wr_id)
    srq.close()


@case("srq-limit")
def srq_limit():
    """One event when fewer receives are left than the limit, and none before."""
    device = Far.device[4]
    srq = shared()
    while device.event():
        pass
    srq.modify(SrqAttr(srq_limit=3), e.IBV_SRQ_LIMIT)
    equal(srq.query().srq_limit, 3, "limit")
    for wr_id in range(5):
        post(srq, wr_id)
    with Shared(srq) as test:
        test.deliver(0)
        test.deliver(1)
        equal(device.event(0.1), None, "event")
        test.deliver(2)
        equal(device.event(verbs.PATIENCE), e.IBV_EVENT_SRQ_LIMIT_REACHED, "event")
        test.deliver(3)
        equal(device.event(0.1), None, "second event")
        equal(srq.query().srq_limit, 0, "limit afterwards")
    srq.close()


@case("srq-resize")
def srq_resize():
    """Receives posted before are used after, in order; less than posted is refused."""
    srq = shared(8)
    for wr_id in range(6):
        post(srq, wr_id)
    with Shared(srq) as test:
        test.deliver(0)
        test.deliver(1)
        # (a provider loses its mapping when it is refused, so that comes last)
        srq.modify(SrqAttr(max_wr=100), e.IBV_SRQ_MAX_WR)
        check(srq.query().max_wr >= 100, "the size is as before")
        for wr_id in range(6, 40):
            post(srq, wr_id)
        for wr_id in range(2, 40):
            test.deliver(wr_id)
    srq.close()


@case("srq-limits")
def srq_limits():
    """What is beyond the limits of the device is refused."""
    attr = Far.device[4].context.query_device()
    for depth in (0, attr.max_srq_wr + 1):
        try:
            shared(depth).close()
        except PyverbsRDMAError:
            continue
        raise Failure(f"an SRQ of {depth} receives")
    srq = shared(attr.max_srq_wr)
    srq.close()


@case("srq-last-wqe-reached")
def srq_last():
    """A queue pair in error says that it takes no more receives; the others go on."""
    device = Far.device[4]
    srq = shared()
    post(srq, 0)
    post(srq, 1)
    with Shared(srq) as other:
        with Shared(srq) as test:
            while device.event():
                pass
            test.deliver(0)
            test.queue.qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
            equal(device.event(verbs.PATIENCE), e.IBV_EVENT_QP_LAST_WQE_REACHED, "event")
            equal(device.event(0.1), None, "second event")
            test.queue.no_completion(test.queue.rcq, "receives of others")
        other.deliver(1)
    srq.close()


@case("srq-ud")
def srq_ud():
    """Datagrams take receives of a shared queue, too."""
    srq = shared()
    srq.post_recv(RecvWR(0, num_sge=1, sg=[Far.memory[4].sge(256, 0)]))
    with Datagrams(srq=srq) as test:
        frame = test.put(b"shared")
        test.got(0, b"shared", frame)
    srq.close()


if __name__ == "__main__":
    main("services", Far.setup)
