#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Services other than reliable connections: UC, UD, and shared receive queues.

Packets come from a peer that is no device (stranger.py); what the device does with
them shows in its completions, its memory and its counters.
"""

import errno
import functools
import struct
import subprocess
import time

import pyverbs.enums as e
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import RecvWR

import mapped
import roce
import verbs
import wire
from harness import Failure, case, check, equal, main
from stranger import (FIRST, GRH, GSI, GSI_QKEY, MTU, OUR_QPN, QKEY, REMOTE, RKEY, SIZE, Asking,
                      Datagrams, Far, Stranger, Unreliable, ask_gsi, deth, mad, plan)

DATA = bytes(range(1, 252)) * 20


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


# Receive queues have elements of 128 bytes; where one says how many places it has
RECEIVES, NUM_SGE = 7, 28


def malformed(make, put):
    """A receive that no library posts, with more places than there can be, is in error of
    its own, and so is its queue pair; to a datagram as to a connection."""
    before = mapped.maps()
    with make() as test:
        ring = mapped.Ring(before, RECEIVES)
        test.device.events()
        for wr_id in (7, 8):
            test.receive(64, wr_id=wr_id)
        ring.write(struct.pack("=I", 0xffff), NUM_SGE, 2)
        put(test)
        for wr_id, status in ((7, verbs.LOC_QP_OP_ERR), (8, verbs.FLUSH_ERR)):
            found = test.queue.received()
            equal((found.wr_id, found.status), (wr_id, status), "receive")
        soon(test.queue.in_error, "the queue pair is not in its error state")
        equal(test.device.events(), [], "events: the completion says it")


def malformed_rc(test):
    """A SEND: it is answered, too (9.9, remote operational error)."""
    test.send(roce.SEND_ONLY, b"", b"abcd", ackreq=True)
    test.acked(syndrome=roce.NAK_OPERATION)


def malformed_imm(test):
    """A WRITE with immediate data, of which nothing is placed."""
    test.memory.put(bytes(64))
    test.send(roce.WRITE_ONLY_IMM, test.reth(4) + b"\1\2\3\4", b"abcd", ackreq=True)
    test.acked(syndrome=roce.NAK_OPERATION)
    equal(test.memory.get(64), bytes(64), "memory")


for label, kind, action in (("rc", Stranger, malformed_rc), ("write-imm", Stranger, malformed_imm),
                            ("uc", Unreliable, lambda test: test.put(roce.SEND_ONLY, b"abcd")),
                            ("ud", Datagrams, lambda test: test.put(b"abcd"))):
    case(f"malformed-receive-{label}")(lambda k=kind, a=action: malformed(k, a))


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
        before = test.device.counter("rx_no_buffer")
        test.put(roce.SEND_ONLY, b"no receive is posted")
        soon(lambda: test.device.counter("rx_no_buffer") == before + 1, "not counted")
        test.send(roce.READ_REQUEST, test.reth(4))
        test.receive(length=4, wr_id=6)
        test.put(roce.SEND_ONLY, b"too long")
        test.put(roce.SEND_ONLY, b"four")
        test.got(6, b"four")
        equal(test.queue.state(), e.IBV_QPS_RTS, "state")
        test.silent()


# Lengths of UC messages, and what their memory is full of before
LENGTHS = (0, 3, MTU - 1, MTU, MTU + 1, 2 * MTU, 3 * MTU - 2)
BEFORE = b"\xa5"
IMM = b"\1\2\3\4"


def cut(data, reth=b"", imm=b""):
    """Opcode, extended headers and payload of each packet: a SEND, or a WRITE with a RETH."""
    count = roce.packets(len(data), MTU)
    for index in range(count):
        first, last = index == 0, index == count - 1
        kind = 4 if first and last else 0 if first else 2 if last else 1
        yield ((roce.WRITE_FIRST if reth else roce.SEND_FIRST) + kind + bool(last and imm),
               (reth if first else b"") + (imm if last else b""),
               data[index * MTU:(index + 1) * MTU])


def only_there(test, data, offset):
    """The memory has these bytes there, and nowhere another byte than before."""
    equal(test.memory.get(len(data), offset), data, "bytes in place")
    rest = test.memory.get(offset) + test.memory.get(SIZE - offset - len(data), offset + len(data))
    equal(rest.count(BEFORE), len(rest), "bytes beside that are as before")


def immediate(test, wr_id, length, write):
    """The next receive completion has the immediate data."""
    done = test.queue.received()
    equal((done.status, done.wr_id, done.byte_len, done.imm_data),
          (0, wr_id, length, struct.unpack("=I", IMM)[0]), "receive")
    equal(done.opcode, e.IBV_WC_RECV_RDMA_WITH_IMM if write else e.IBV_WC_RECV, "its opcode")
    equal(done.wc_flags & e.IBV_WC_WITH_IMM, e.IBV_WC_WITH_IMM, "its flag")


def uc_immediate(write):
    """Messages with immediate data of every telling length, from us to the device."""
    with Unreliable() as test:
        for wr_id, length in enumerate(LENGTHS):
            data = DATA[wr_id:wr_id + length]
            test.memory.put(BEFORE * SIZE)
            offset = 4096 + wr_id
            # a WRITE takes a receive, and none of its bytes
            test.receive(length=8 if write else SIZE - offset, offset=0 if write else offset,
                         wr_id=wr_id)
            reth = test.reth(length, offset) if write else b""
            for opcode, extended, payload in cut(data, reth, IMM):
                test.put(opcode, payload, extended)
            immediate(test, wr_id, length, write)
            only_there(test, data, offset)
        test.queue.no_completion(test.queue.rcq, "one message, one completion")
        test.silent()


@case("uc-send-imm-received")
def uc_send_imm():
    """SEND with immediate data: bytes, completion, and no answer."""
    uc_immediate(False)


@case("uc-write-imm-received")
def uc_write_imm():
    """WRITE with immediate data: bytes where the RETH says, completion, and no answer."""
    uc_immediate(True)


@case("uc-sent")
def uc_sent():
    """What the device sends, byte for byte: a RETH first, ImmDt last, never an AckReq."""
    verb = {(False, False): e.IBV_WR_SEND, (False, True): e.IBV_WR_SEND_WITH_IMM,
            (True, False): e.IBV_WR_RDMA_WRITE, (True, True): e.IBV_WR_RDMA_WRITE_WITH_IMM}
    psn = 0
    with Unreliable() as test:
        test.memory.put(DATA)
        for write, imm in verb:
            for length in LENGTHS:
                test.queue.send(verb[write, imm], [test.memory.sge(length)], wr_id=length,
                                remote=REMOTE if write else None, rkey=RKEY,
                                imm=int.from_bytes(IMM, "big") if imm else 0,
                                flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_SOLICITED)
                reth = roce.reth(REMOTE, RKEY, length) if write else b""
                parts = list(cut(DATA[:length], reth, IMM if imm else b""))
                for index, (opcode, extended, payload) in enumerate(parts):
                    # whom a plain WRITE could wake there, nobody knows
                    test.answer(roce.UC | opcode, psn, extended, payload, ackreq=False,
                                se=index == len(parts) - 1 and (imm or not write))
                    psn = roce.psn_add(psn, 1)
                done = test.queue.sent()
                equal((done.status, done.wr_id), (0, length), "send completion")
        test.silent()


INLINE = 512


def inline_refused(kind):
    """More than the longest is."""
    try:
        verbs.Queue(Far.device[4], kind=kind, inline=INLINE + 1).close()
    except PyverbsRDMAError:
        return
    raise Failure(f"a queue pair for {INLINE + 1} bytes of inline data")


@case("rc-inline")
def rc_inline():
    """Inline data up to the longest, by SEND and WRITE: no key is asked for, the buffer is free
    at once, and what is lost comes again as it was."""
    kinds = ((e.IBV_WR_SEND, roce.SEND_ONLY), (e.IBV_WR_RDMA_WRITE, roce.WRITE_ONLY))
    index = 0
    with Asking(queue=functools.partial(verbs.Queue, inline=INLINE)) as test:
        for verb, opcode in kinds:
            for length in (0, 1, INLINE - 1, INLINE):
                reth = roce.reth(REMOTE, RKEY, length) if opcode == roce.WRITE_ONLY else b""
                test.memory.put(DATA)
                test.queue.send(verb, [test.memory.sge(length, lkey=0)], wr_id=index, rkey=RKEY,
                                remote=REMOTE if reth else None,
                                flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_INLINE)
                test.memory.put(bytes(INLINE))
                test.asked(opcode, plan(index, test), reth, DATA[:length], True)
                if length == INLINE:
                    test.ack(plan(index, test), roce.NAK_SEQUENCE, index)
                    test.asked(opcode, plan(index, test), reth, DATA[:length], True)
                test.ack(plan(index, test), msn=index + 1)
                test.completed(index)
                index += 1
        test.silent()
    inline_refused(e.IBV_QPT_RC)


@case("uc-inline")
def uc_inline():
    """Inline data up to the longest: no key is asked for, and the buffer is free at once."""
    with Unreliable(inline=INLINE) as test:
        for psn, length in enumerate((0, 1, INLINE - 1, INLINE)):
            test.memory.put(DATA)
            test.queue.send(e.IBV_WR_SEND, [test.memory.sge(length, lkey=0)], wr_id=length,
                            flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_INLINE)
            test.memory.put(bytes(INLINE))
            test.answer(roce.UC | roce.SEND_ONLY, psn, b"", DATA[:length])
            done = test.queue.sent()
            equal((done.status, done.wr_id), (0, length), "send completion")
        test.silent()
    inline_refused(e.IBV_QPT_UC)


def uc_write_gap(imm):
    """A WRITE of three packets, of which one is lost: first, middle or last."""
    with Unreliable() as test:
        test.memory.put(BEFORE * SIZE)
        test.receive(length=64, offset=SIZE - 64, wr_id=7)
        for lost in range(3):
            offset = 4096 * (lost + 1)
            skip = 0
            for index, (opcode, extended, payload) in enumerate(
                    cut(DATA[:3 * MTU], test.reth(3 * MTU, offset), imm)):
                if index == lost:
                    skip = 1
                    continue
                test.put(opcode, payload, extended, skip=skip)
                skip = 0
            # the next message is whole; what is behind the last packet is lost with it
            test.put(roce.WRITE_ONLY, b"whole", test.reth(5, 4096 * 5 + lost), skip=skip)
            soon(lambda: test.memory.get(5, 4096 * 5 + lost) == b"whole", "the next WRITE")
            test.memory.put(BEFORE * 5, 4096 * 5 + lost)
            # what came before the hole, and nothing behind it
            only_there(test, DATA[:lost * MTU], offset)
            test.memory.put(BEFORE * lost * MTU, offset)
            test.queue.no_completion(test.queue.rcq, "a WRITE with a hole")
        test.put(roce.WRITE_ONLY_IMM, b"whole", test.reth(5, 4096) + IMM)
        immediate(test, 7, 5, True)
        only_there(test, b"whole", 4096)
        test.queue.no_completion(test.queue.rcq, "a WRITE with a hole")
        test.silent()


@case("uc-gap-in-a-write")
def uc_gap_write():
    """Nothing is placed behind a hole; the next message is executed."""
    uc_write_gap(b"")


@case("uc-gap-in-a-write-imm")
def uc_gap_write_imm():
    """Nor does it complete a receive: that is the next message's."""
    uc_write_gap(IMM)


@case("uc-write-imm-no-receive")
def uc_write_imm_no_receive():
    """Without a receive it is dropped, without a word, and the QP lives on."""
    with Unreliable() as test:
        test.put(roce.WRITE_ONLY_IMM, b"lost", test.reth(4) + IMM)
        test.put(roce.WRITE_FIRST, DATA[:MTU], test.reth(MTU + 4))
        test.put(roce.WRITE_LAST_IMM, b"lost", IMM)
        test.put(roce.WRITE_ONLY, b"seen", test.reth(4, SIZE - 64))
        soon(lambda: test.memory.get(4, SIZE - 64) == b"seen", "the WRITE behind them")
        test.receive(wr_id=8)
        test.put(roce.WRITE_ONLY_IMM, b"whole", test.reth(5, 4096) + IMM)
        immediate(test, 8, 5, True)
        equal(test.queue.state(), e.IBV_QPS_RTS, "state")
        test.silent()


# ---- datagrams ----

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


def late_receive(test, put, got):
    """A receive comes just behind a message; we are not always fast enough for that."""
    for _ in range(50):
        dropped, taken = (test.device.counter(c) for c in ("rx_no_buffer", "resp_send"))
        sent = put(b"early")
        time.sleep(0.002)
        test.receive(wr_id=5)
        soon(lambda: (test.device.counter("rx_no_buffer"),
                      test.device.counter("resp_send")) != (dropped, taken), "never seen")
        if test.device.counter("resp_send") > taken:
            got(5, b"early", sent)
            return
        got(5, b"next", put(b"next"))
    raise Failure("no message has waited")


@case("uc-late-receive")
def uc_late_receive():
    """A message that nobody sends again waits about a hundredth of a second for a receive."""
    with Unreliable() as test:
        late_receive(test, lambda data: test.put(roce.SEND_ONLY, data),
                     lambda wr_id, data, _: test.got(wr_id, data))


@case("uc-late-receive-long")
def uc_late_receive_long():
    """So does one of several packets, all of which are there before the receive."""
    def put(data):
        test.put(roce.SEND_FIRST, DATA[:MTU])
        test.put(roce.SEND_MIDDLE, DATA[:MTU])
        test.put(roce.SEND_LAST, data)

    with Unreliable() as test:
        late_receive(test, put, lambda wr_id, data, _: test.got(wr_id, 2 * DATA[:MTU] + data))


@case("ud-late-receive")
def ud_late_receive():
    """So does a datagram."""
    with Datagrams() as test:
        late_receive(test, test.put, test.got)


@case("ud-slow-receiver")
def ud_slow_receiver():
    """However many wait for receives, what is received has not waited for long."""
    with Datagrams() as test:
        before = [test.device.counter(c) for c in ("rx_no_buffer", "resp_send")]
        for number in range(240):
            test.put(struct.pack(">I", number))
            if number % 4 == 3:
                test.receive(wr_id=number // 4)
                time.sleep(0.001)
        soon(lambda: test.device.counter("rx_no_buffer") + test.device.counter("resp_send") ==
             sum(before) + 240, "some wait still")
        for wr_id in range(test.device.counter("resp_send") - before[1]):
            equal(test.queue.received().wr_id, wr_id, "receive")
        last, = struct.unpack(">I", test.memory.get(4, GRH))
        check(last >= 120, f"datagram {last} of 240 was received last")


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


@case("ud-not-its-address")
def ud_not_its_address():
    """The host has an address that is none of the device's: a datagram to that is dropped,
    and to a group's, if it is not for the group's queue pairs (9.6.1.3)."""
    for version, foreign, group in ((4, "10.77.0.1", "239.7.7.7"), (6, "fd77::1", "ff0e::7:7:7")):
        ip = ("ip", "-n", "ns2", f"-{version}", "addr")
        subprocess.run((*ip, "add", foreign, "dev", "lo", *["nodad"] * (version == 6)), check=True)
        try:
            with Datagrams(version) as test:
                test.receive(wr_id=1)
                right = test.to
                for wrong in (foreign, group):
                    before = test.device.counter("rx_no_qp")
                    test.to = roce.Path(wire.NEAR_MAC, wire.FAR_MAC, test.near, wrong, 0xc123)
                    test.put(b"for somebody else")
                    test.to = right
                    if wrong == foreign:
                        soon(lambda n=before: test.device.counter("rx_no_qp") == n + 1,
                             f"to {wrong}: not counted")
                frame = test.put(b"for it")
                test.got(1, b"for it", frame)
        finally:
            subprocess.run((*ip, "del", foreign, "dev", "lo"), check=True)


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
            test.answer(roce.UD | roce.SEND_ONLY, 100 + index, deth(QKEY, test.number), DATA[:length])
        # with the high bit it is the Q_Key of the QP that counts (10.2.5)
        test.post(handle, [test.memory.sge(4)], wr_id=1, qkey=0x80000001)
        test.sent(1)
        test.answer(roce.UD | roce.SEND_ONLY, 106, deth(QKEY, test.number), DATA[:4])
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


def ud_send_imm(version):
    """Immediate data stand behind the DETH; and who is to be woken is told so by a bit of the
    BTH, with and without them."""
    psn = 100
    with Datagrams(version) as test:
        test.memory.put(DATA)
        handle = test.handle()
        for imm, se in ((IMM, False), (IMM, True), (b"", True), (b"", False)):
            for length in (0, 1, 2, 3, 1024, 4096):
                test.post(handle, [test.memory.sge(length)], wr_id=length, imm=imm,
                          flags=e.IBV_SEND_SOLICITED if se else 0)
                test.sent(length)
                test.answer(roce.UD | (roce.SEND_ONLY_IMM if imm else roce.SEND_ONLY), psn,
                            deth(QKEY, test.number) + imm, DATA[:length], se=se)
                psn += 1
        # too long for the port: no packet, no error
        test.post(handle, [test.memory.sge(4097)], wr_id=2, imm=IMM)
        test.sent(2)
        test.silent()
        handle.close()


@case("ud-send-imm-ipv4")
def ud_send_imm_ipv4():
    """SENDs with immediate data, and solicited ones, over IPv4."""
    ud_send_imm(4)


@case("ud-send-imm-ipv6")
def ud_send_imm_ipv6():
    """The same over IPv6."""
    ud_send_imm(6)


@case("ud-many-destinations")
def ud_many_destinations():
    """More destinations than a QP remembers, in turns: each datagram has its own."""
    with Datagrams() as test:
        handles = [verbs.handle(test.device, test.near, 4 * index) for index in range(12)]
        for _ in range(3):
            for index, handle in enumerate(handles):
                test.post(handle, [test.memory.sge(8)], wr_id=index)
                test.sent(index)
                packet = test.next()
                check(packet is not None, "no datagram")
                equal(packet.ip[1], 4 * index, "traffic class")
        for handle in handles:
            handle.close()


def far(*words):
    """ip, in the namespace of the device."""
    subprocess.run(("ip", "netns", "exec", "ns2", "ip") + words, check=True)


def by_vlan(test, turn):
    """A VLAN comes, a datagram leaves by it, and the VLAN goes; index of its GID."""
    ours, peer, name = "10.7.0.2", "10.7.0.1", "veth1.7"
    far("link", "add", "link", "veth1", "name", name, "type", "vlan", "id", "7")
    try:
        far("addr", "add", f"{ours}/24", "dev", name)
        far("link", "set", name, "up")
        far("neigh", "replace", peer, "lladdr", wire.NEAR_MAC, "dev", name, "nud", "permanent")
        soon(lambda: test.device.has(ours), "no GID of the VLAN")
        index = test.device.index_of(ours)
        handle = verbs.handle(test.device, peer, index=index)
        test.post(handle, [test.memory.sge(8)], wr_id=turn)
        test.sent(turn)
        packet = test.tap.next(time.monotonic() + verbs.PATIENCE)
        check(packet is not None, f"no datagram by VLAN {turn}")
        equal((str(packet.src), str(packet.dst)), (ours, peer), "its addresses")
        handle.close()
    finally:
        far("link", "del", name)
    soon(lambda: not test.device.has(ours), "the GID of the VLAN stays")
    return index


@case("ud-address-on-a-new-netdev")
def ud_address_on_a_new_netdev():
    """A VLAN goes and comes back with its address, at the same place of the GID table: who has
    sent by the old one sends by the new one."""
    with Datagrams() as test:
        index = by_vlan(test, 1)
        equal(by_vlan(test, 2), index, "index of the GID; another one proves nothing")


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
        test.answer(roce.UD | roce.SEND_ONLY, 100, deth(QKEY, test.number), DATA[:4])
        handle.close()


# ---- the general services interface ----

def answered_by_gsi(test, number):
    """The next packet is the answer to that MAD."""
    packet = test.next()
    check(packet is not None, "QP 1 does not answer")
    equal([text for text in packet.problems() if not text.startswith("opcode")], [], "the answer")
    equal((packet.opcode, packet.dqpn, packet.pkey, str(packet.src), str(packet.dst)),
          (roce.UD | roce.SEND_ONLY, GSI, 0xffff, test.device.address, test.near), "its headers")
    equal(packet.payload[:8], deth(GSI_QKEY, GSI), "its DETH")
    # versions 1 and 1, all ports and 64 bits
    equal(packet.payload[8:8 + 68], mad(0x81, number, b"\1\1\5\0")[:68], "its MAD")
    equal(len(packet.payload), 8 + 256, "its length")


def violations(test):
    """What the port says of wrong keys: in sysfs, and by ibv_query_port."""
    seen = [test.device.counter(name) for name in ("rx_bad_qkey", "rx_bad_pkey")]
    port = test.device.context.query_port(1)
    return seen + [port.qkey_viol_cntr, port.bad_pkey_cntr]


def gsi(version):
    """What QP 1 takes is answered by the core, what has a wrong key counted and dropped."""
    with Datagrams(version) as test:
        number = 1
        for pkey in (0xffff, 0x7fff):
            ask_gsi(test, number, pkey=pkey)
            answered_by_gsi(test, number)
            number += 1
        for which, wrong in ((0, [{"qkey": key} for key in (0, 0x10000, 0x80010001, QKEY)]),
                             (1, [{"pkey": key} for key in (0x8001, 0, 0x8000, 0xfffe)])):
            before = violations(test)
            for fields in wrong:
                ask_gsi(test, 99, **fields)
                number += 1
                ask_gsi(test, number)
                answered_by_gsi(test, number)
            grown = [now - then for now, then in zip(violations(test), before)]
            equal(grown, [len(wrong) * (i % 2 == which) for i in range(4)],
                  "bad Q_Keys and P_Keys in sysfs, and of the port")
        test.silent()


@case("gsi-ipv4")
def gsi_ipv4():
    """MADs to QP 1 over IPv4."""
    gsi(4)


@case("gsi-ipv6")
def gsi_ipv6():
    """MADs to QP 1 over IPv6."""
    gsi(6)


@case("violations-announced")
def violations_announced():
    """A device that counts wrong keys says so."""
    flags = Far.device[4].context.query_device().device_cap_flags
    wanted = e.IBV_DEVICE_BAD_PKEY_CNTR | e.IBV_DEVICE_BAD_QKEY_CNTR
    equal(flags & wanted, wanted, "IBV_DEVICE_BAD_PKEY_CNTR and IBV_DEVICE_BAD_QKEY_CNTR")


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
    """Receives posted before are used after, in order; fewer than are posted is refused, and
    nothing is changed by that: neither size nor limit, nor what is posted."""
    device = Far.device[4]
    srq = shared(8)
    for wr_id in range(6):
        post(srq, wr_id)
    with Shared(srq) as test:
        test.deliver(0)
        test.deliver(1)
        srq.modify(SrqAttr(max_wr=100), e.IBV_SRQ_MAX_WR)
        check(srq.query().max_wr >= 100, "the size is as before")
        for wr_id in range(6, 40):
            post(srq, wr_id)
        for wr_id in range(2, 34):
            test.deliver(wr_id)
        # for the six that are left there is room in a queue of six, and in none of five
        both = e.IBV_SRQ_MAX_WR | e.IBV_SRQ_LIMIT
        srq.modify(SrqAttr(max_wr=6, srq_limit=2), both)
        while device.event():
            pass
        try:
            srq.modify(SrqAttr(max_wr=5, srq_limit=3), both)
        except PyverbsRDMAError as error:
            equal(error.error_code, errno.EINVAL, "error")
        else:
            raise Failure("six receives are in a queue for five")
        attr = srq.query()
        equal((attr.max_wr, attr.srq_limit), (6, 2), "size and limit")
        test.deliver(34)
        post(srq, 40)
        for wr_id in range(35, 39):
            test.deliver(wr_id)
        equal(device.event(0.1), None, "event while two are left")
        test.deliver(39)
        equal(device.event(verbs.PATIENCE), e.IBV_EVENT_SRQ_LIMIT_REACHED, "event")
        test.deliver(40)
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
