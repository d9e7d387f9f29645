#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The table of responder errors (9.9, table 63; proto/errors.c), row by row.

For each row a packet made by hand earns the answer, compared byte for byte. Then
all that follows is looked at: the state of the queue pair; its receive, if one was in
use; the asynchronous events, each exactly once; and what is posted afterwards, which
is flushed and raises no event.
"""

import contextlib
import functools
import struct
import subprocess
import time

import pyverbs.enums as e
from pyverbs.mr import MW, MWBindInfo
from pyverbs.pd import PD
from pyverbs.qp import QPAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import RecvWR, SendWR

import roce
import verbs
from harness import Skip, case, check, equal, main
from roce import psn_add
from stranger import DATA, FIRST, MTU, OUR_QPN, SIZE, Far, Stranger

FULL = DATA[:MTU]
REQUEST, ACCESS = [e.IBV_EVENT_QP_REQ_ERR], [e.IBV_EVENT_QP_ACCESS_ERR]
OVERRUN = sorted([e.IBV_EVENT_CQ_ERR, e.IBV_EVENT_QP_FATAL])
LAST_WQE = [e.IBV_EVENT_QP_LAST_WQE_REACHED]
# Events about a queue pair; Device.events() leaves out those that are no error
ABOUT_QPS = REQUEST + ACCESS + LAST_WQE + [e.IBV_EVENT_QP_FATAL, e.IBV_EVENT_COMM_EST,
                                           e.IBV_EVENT_SQ_DRAINED]


def flushed(test):
    """Whatever is posted to a queue pair in error comes back, once, and silently."""
    test.receive(64, wr_id=50)
    test.queue.send(e.IBV_WR_SEND, [test.memory.sge(64)], wr_id=51)
    for found, wr_id in ((test.queue.received(), 50), (test.queue.sent(), 51)):
        equal((found.wr_id, found.status), (wr_id, verbs.FLUSH_ERR), "posted afterwards")
    test.queue.no_completion(test.queue.rcq, "all are here")
    test.queue.no_completion(test.queue.scq, "all are here")
    equal(test.device.events(), [], "events afterwards")


class Row:
    """A row whose answer ends the connection.

    Of the packets the last is at fault. With receive, the status that the receive
    completes with, one is posted, and it takes the blow instead of an event.
    """

    def __init__(self, text, syndrome, events, packets, receive, options):
        self.text, self.syndrome, self.events = text, syndrome, events
        self.packets, self.receive, self.options = packets, receive, options

    def ask(self, test):
        """Post what is to be received, and send the packets."""
        if self.receive is not None:
            test.receive(MTU + 8, wr_id=40)
            test.receive(64, wr_id=41)
        for index, packet in enumerate(self.packets):
            if index:
                test.step(messages=0)
            packet(test)

    def run(self):
        """Everything is as it must be."""
        with Stranger(**self.options) as test:
            test.device.events()
            self.ask(test)
            test.refused(self.syndrome)
            if self.receive is not None:
                for wr_id, status in ((40, self.receive), (41, verbs.FLUSH_ERR)):
                    found = test.queue.received()
                    equal((found.wr_id, found.status), (wr_id, status), "receive")
            equal(test.device.events(), self.events, "events")
            flushed(test)


# What report.py asks another driver
ROWS = []


def fatal(name, text, syndrome, events, *packets, receive=None, **options):
    """A case of a row."""
    ROWS.append(Row(text, syndrome, events, packets, receive, options))
    case(name)(ROWS[-1].run)


def send(opcode, extended=b"", payload=b""):
    """A packet without an address."""
    return lambda test: test.send(opcode, extended, payload)


def reth(opcode, length, payload=b"", offset=0, key=0):
    """A packet with a RETH; key is what is wrong about its key."""
    return lambda test: test.send(
        opcode, test.reth(length, offset, test.memory.rkey ^ key), payload)


fatal("opcode-sequence", "WRITE Middle without a WRITE First",
      roce.NAK_INVALID, REQUEST, send(roce.WRITE_MIDDLE, b"", FULL))
fatal("opcode-sequence-receive", "WRITE Middle behind SEND First",
      roce.NAK_INVALID, [], send(roce.SEND_FIRST, b"", FULL),
      send(roce.WRITE_MIDDLE, b"", FULL), receive=verbs.REM_INV_REQ_ERR)
fatal("opcode-unsupported", "a reserved opcode", roce.NAK_INVALID, REQUEST, send(0x15))
fatal("opcode-unsupported-receive", "a reserved opcode behind SEND First",
      roce.NAK_INVALID, [], send(roce.SEND_FIRST, b"", FULL), send(0x15),
      receive=verbs.REM_INV_REQ_ERR)
fatal("length", "WRITE First shorter than the path MTU",
      roce.NAK_INVALID, REQUEST, reth(roce.WRITE_FIRST, 4 * MTU, FULL[:-4]))
fatal("length-receive", "SEND Last without payload",
      roce.NAK_INVALID, [], send(roce.SEND_FIRST, b"", FULL), send(roce.SEND_LAST),
      receive=verbs.REM_INV_REQ_ERR)
fatal("access-key", "READ with an unknown key",
      roce.NAK_ACCESS, ACCESS, reth(roce.READ_REQUEST, 64, key=0x100))
fatal("access-range", "WRITE across the end of the region",
      roce.NAK_ACCESS, ACCESS, reth(roce.WRITE_ONLY, 8, DATA[:8], SIZE - 4))
fatal("receive-too-short", "SEND longer than the receive buffer",
      roce.NAK_INVALID, [], send(roce.SEND_FIRST, b"", FULL),
      send(roce.SEND_LAST, b"", DATA[:9]), receive=verbs.LOC_LEN_ERR)
fatal("atomic-not-aligned", "atomic on an address that 8 does not divide",
      roce.NAK_INVALID, REQUEST, lambda test: test.send(roce.FETCH_ADD, test.atmeth(1, 0, 4)))
fatal("too-many-reads", "READ where max_dest_rd_atomic is 0",
      roce.NAK_INVALID, REQUEST, reth(roce.READ_REQUEST, 64), reads=0)
for label, code, words in (("atomic", roce.FETCH_ADD, "FETCH ADD"), ("swap", roce.CMP_SWAP, "COMPARE SWAP")):
    fatal(f"too-many-{label}s", f"{words} where max_dest_rd_atomic is 0", roce.NAK_INVALID, REQUEST,
          lambda test, c=code: test.send(c, test.atmeth(1)), reads=0)
fatal("invalidate", "SEND with invalidate of an unknown key",
      roce.NAK_ACCESS, [], send(roce.SEND_ONLY_INV, b"\xca\xfe\x01\x02", b"abcd"),
      receive=verbs.REM_INV_REQ_ERR)


# ---- memory that the peer may not touch ----

@functools.lru_cache(None)
def other_pd():
    """A protection domain that no queue pair is in."""
    return PD(Far.device[4].context)


@functools.lru_cache(None)
def region(access=verbs.ALL, foreign=False):
    """A region with these rights, for as long as the program runs."""
    return verbs.Memory(other_pd() if foreign else Far.device[4].pd, 4096, access)


def dead(access=verbs.ALL):
    """A region that was there until just now."""
    gone = verbs.Memory(Far.device[4].pd, 4096, access)
    gone.close()
    return gone


def ask(test, opcode, memory, length=64, offset=0, **fields):
    """One packet: a READ, a WRITE or a FETCH ADD of this memory."""
    address = memory.address + offset
    if opcode == roce.FETCH_ADD:
        test.send(opcode, roce.atmeth(address, memory.rkey, 1), **fields)
    else:
        test.send(opcode, roce.reth(address, memory.rkey, length),
                  DATA[:length] if opcode == roce.WRITE_ONLY else b"", **fields)


for label, code, words, right in (("read", roce.READ_REQUEST, "READ", verbs.READ),
                                  ("write", roce.WRITE_ONLY, "WRITE", verbs.WRITE),
                                  ("atomic", roce.FETCH_ADD, "FETCH ADD", verbs.ATOMIC)):
    fatal(f"access-other-pd-{label}", f"{words} of a region of another protection domain",
          roce.NAK_ACCESS, ACCESS, lambda test, c=code: ask(test, c, region(foreign=True)))
    fatal(f"access-no-right-{label}", f"{words} of a region that permits all but this",
          roce.NAK_ACCESS, ACCESS,
          lambda test, c=code, r=right: ask(test, c, region(verbs.ALL & ~r)))
    fatal(f"access-deregistered-{label}", f"{words} of a region that is gone",
          roce.NAK_ACCESS, ACCESS, lambda test, c=code: ask(test, c, dead()))
    fatal(f"queue-no-right-{label}", f"{words} where the queue pair permits all but this",
          roce.NAK_INVALID, REQUEST, lambda test, c=code: ask(test, c, test.memory),
          access=(verbs.READ | verbs.WRITE | verbs.ATOMIC) & ~right)


@case("local-fault")
def local_fault():
    """The receive buffer has a wrong key: 0x63, and the receive says why."""
    with Stranger() as test:
        test.device.events()
        test.queue.receive([test.memory.sge(64, lkey=test.memory.lkey ^ 0x100)], wr_id=40)
        test.send(roce.SEND_ONLY, b"", b"abcd")
        test.refused(roce.NAK_OPERATION)
        found = test.queue.received()
        equal((found.wr_id, found.status), (40, verbs.LOC_PROT_ERR), "receive")
        equal(test.device.events(), [], "events")
        flushed(test)


class Narrow(verbs.Queue):
    """A queue pair with the smallest completion queue there is."""

    def __init__(self, device):
        super().__init__(device, cqe=1)


def cq_overrun(last):
    """No room for a receive completion: 0x63, an event of each queue, and once."""
    with Stranger(queue=Narrow) as test:
        test.device.events()
        room = test.queue.rcq.cqe
        for index in range(room + 3):
            test.receive(64, wr_id=index)
        for _ in range(room):
            test.send(roce.SEND_ONLY, b"", b"abcd", ackreq=True)
            test.msn += 1
            test.acked()
            test.step(messages=0)
        last(test)
        test.refused(roce.NAK_OPERATION)
        equal(sorted(test.device.events()), OVERRUN, "events")
        for index in range(room):
            found = test.queue.received()
            equal((found.wr_id, found.status), (index, verbs.SUCCESS), "receive")
        flushed(test)


case("cq-overrun")(lambda: cq_overrun(
    lambda test: test.send(roce.SEND_ONLY, b"", b"abcd", ackreq=True)))
case("cq-overrun-write-imm")(lambda: cq_overrun(
    lambda test: test.send(roce.WRITE_ONLY_IMM, test.reth(4) + b"\1\2\3\4", b"abcd", ackreq=True)))


def harmless(test, what):
    """The queue pair is as it was."""
    equal((test.queue.in_error(), test.device.events()), (False, []), what)


@case("receiver-not-ready")
def receiver_not_ready():
    """RNR NAK with the timer code; the message comes again."""
    with Stranger(rnr_timer=9) as test:
        test.device.events()
        test.send(roce.SEND_ONLY, b"", b"abcd", ackreq=True)
        test.acked(syndrome=roce.RNR | 9)
        harmless(test, "after an RNR NAK")
        test.receive(64, wr_id=1)
        test.send(roce.SEND_ONLY, b"", b"abcd", ackreq=True)
        test.msn += 1
        test.acked()
        equal(test.queue.received().status, verbs.SUCCESS, "receive")


@case("psn-sequence")
def psn_sequence():
    """One sequence NAK; what is missing is all that it wants."""
    with Stranger() as test:
        test.device.events()
        test.write(b"later", 8, psn=roce.psn_add(test.psn, 1), ackreq=True)
        test.acked(syndrome=roce.NAK_SEQUENCE)
        harmless(test, "after a sequence NAK")
        test.write(b"first", 0)
        test.step(2, 2)
        test.acked(roce.psn_add(test.psn, -1))


@case("replay-lost")
def replay_lost():
    """A duplicate that nothing is saved of: silence (class D)."""
    with Stranger() as test:
        test.device.events()
        test.send(roce.FETCH_ADD, test.atmeth(1), psn=roce.psn_add(FIRST, -9))
        test.good_write()
        harmless(test, "after a duplicate")


# ---- more READs and atomics at a time than were agreed on ----

def ask_one(test, index, code):
    """A READ of 8 bytes or an atomic; those of a test are for different places."""
    psn = psn_add(test.psn, index)
    if code == roce.READ_REQUEST:
        test.send(code, test.reth(8, 8 * index), psn=psn)
    else:
        test.send(code, test.atmeth(1, 0, 8 * index), psn=psn)


def one_answered(test, code, index, psn):
    """Its answer, which has what was there before."""
    data = DATA[8 * index:8 * index + 8]
    aeth = roce.aeth(roce.ACK_UNLIMITED, test.msn)
    if code == roce.READ_REQUEST:
        test.answer(roce.RESP_ONLY, psn, aeth, data)
    else:
        # memory has it in the order of this machine, the wire has not
        test.answer(roce.ATOMIC_ACK, psn, aeth + struct.pack(">Q", *struct.unpack("=Q", data)))


def ask_at_once(test, codes, answered):
    """All but the first come first, and are kept; then the first. So many have an answer."""
    test.memory.put(DATA)
    for index, code in enumerate(codes):
        if index:
            ask_one(test, index, code)
    if len(codes) > 1:
        test.acked(syndrome=roce.NAK_SEQUENCE)
    ask_one(test, 0, codes[0])
    for index in range(answered):
        test.msn += 1
        one_answered(test, codes[index], index, psn_add(test.psn, index))


def more_than_agreed(codes, agreed=0):
    """The last one is more than the peer may have asked for, and ends the connection, though
    all before it have been answered when its turn comes."""
    with Stranger(reads=agreed or len(codes) - 1) as test:
        test.device.events()
        ask_at_once(test, codes, len(codes) - 1)
        test.refused(roce.NAK_INVALID, psn_add(test.psn, len(codes) - 1))
        equal(test.device.events(), REQUEST, "events")
        flushed(test)


for label, several in (("read", [roce.READ_REQUEST] * 5), ("atomic", [roce.FETCH_ADD] * 3),
                       ("of-both", [roce.READ_REQUEST, roce.CMP_SWAP, roce.FETCH_ADD])):
    case(f"one-{label}-too-many")(lambda c=several: more_than_agreed(c))
# in-tree peers, and some cards, ask for the next power of two of what was agreed on
case("one-too-many-of-five")(lambda: more_than_agreed([roce.READ_REQUEST] * 9, 5))


@case("as-many-as-agreed")
def as_many_as_agreed():
    """So many at a time, again and again, copies of what was answered in between, and WRITEs."""
    codes = [roce.READ_REQUEST, roce.FETCH_ADD, roce.READ_REQUEST, roce.CMP_SWAP]
    with Stranger(reads=len(codes)) as test:
        test.device.events()
        for _ in range(20):
            ask_at_once(test, codes, len(codes))
            ask_one(test, 0, codes[0])
            one_answered(test, codes[0], 0, test.psn)
            test.step(len(codes), 0)
            test.good_write()
        harmless(test, "after as many as agreed")


@case("state")
def state():
    """A queue pair that does not receive yet: silence."""
    with Stranger() as test, Stranger(state="INIT") as other:
        test.device.events()
        test.tap.send(other.frame(roce.SEND_ONLY, b"", b"abcd", ackreq=True))
        test.good_write()
        harmless(test, "after a packet for another")
        equal(other.queue.state(), e.IBV_QPS_INIT, "its state")


# ---- receiver not ready, in the middle of a message ----

def whole(test, wr_id, length, imm=None):
    """The next receive completion, and there is no other."""
    found = test.queue.received()
    equal((found.status, found.wr_id, found.byte_len), (verbs.SUCCESS, wr_id, length), "receive")
    if imm is not None:
        equal(found.imm_data, struct.unpack("=I", imm)[0], "immediate data")
    test.queue.no_completion(test.queue.rcq, "one message, one completion")


@case("rnr-write-last-imm")
def rnr_write_last_imm():
    """A WRITE whose last packet has no receive: only that one comes again, and is placed
    once."""
    imm, total = b"\1\2\3\4", MTU + 100
    with Stranger(rnr_timer=9) as test:
        test.device.events()
        test.memory.put(bytes(SIZE))
        test.send(roce.WRITE_FIRST, test.reth(total), FULL, ackreq=True)
        test.acked()
        test.step(messages=0)
        for _ in range(2):
            test.send(roce.WRITE_LAST_IMM, imm, DATA[MTU:total], ackreq=True)
            test.acked(syndrome=roce.RNR | 9)
            # the next message is not taken for the rest of this one
            test.write(b"behind", SIZE - 64, psn=psn_add(test.psn, 1), ackreq=True)
            test.silent()
        equal(test.memory.get(SIZE - MTU, MTU), bytes(SIZE - MTU), "memory that has to wait")
        harmless(test, "after an RNR NAK")
        test.receive(8, SIZE - 8, wr_id=4)
        test.receive(8, SIZE - 8, wr_id=5)
        test.send(roce.WRITE_LAST_IMM, imm, DATA[MTU:total], ackreq=True)
        test.msn += 1
        test.acked()
        whole(test, 4, total, imm)
        equal(test.memory.get(total), DATA[:total], "bytes of the WRITE")
        # a copy of it is acknowledged, and nothing more
        test.memory.put(bytes(total))
        test.send(roce.WRITE_LAST_IMM, imm, DATA[MTU:total], ackreq=True)
        test.acked()
        test.queue.no_completion(test.queue.rcq, "a copy")
        equal(test.memory.get(total), bytes(total), "memory after a copy")
        test.step(messages=0)
        test.good_write()


@case("rnr-write-only-imm")
def rnr_write_only_imm():
    """The same with one packet: nothing of it is placed while it has to wait."""
    imm = b"\1\2\3\4"
    with Stranger(rnr_timer=9) as test:
        test.device.events()
        test.memory.put(bytes(SIZE))

        def ask_it():
            test.send(roce.WRITE_ONLY_IMM, test.reth(100, 8) + imm, DATA[:100], ackreq=True)

        for _ in range(2):
            ask_it()
            test.acked(syndrome=roce.RNR | 9)
        equal(test.memory.get(SIZE), bytes(SIZE), "memory that has to wait")
        harmless(test, "after an RNR NAK")
        test.receive(8, SIZE - 8, wr_id=4)
        test.receive(8, SIZE - 8, wr_id=5)
        ask_it()
        test.msn += 1
        test.acked()
        test.step(messages=0)
        whole(test, 4, 100, imm)
        equal(test.memory.get(116), bytes(8) + DATA[:100] + bytes(8), "bytes of the WRITE")
        test.good_write()


@case("rnr-send-first")
def rnr_send_first():
    """A SEND of several packets without a receive: an RNR NAK for the first of them, no word
    about the rest; then it comes again as a whole."""
    total = 2 * MTU + 100
    parts = ((roce.SEND_FIRST, FULL), (roce.SEND_MIDDLE, DATA[MTU:2 * MTU]),
             (roce.SEND_LAST, DATA[2 * MTU:total]))

    def ask_all():
        for index, (opcode, payload) in enumerate(parts):
            test.send(opcode, b"", payload, psn=psn_add(test.psn, index), ackreq=index == 2)

    with Stranger(rnr_timer=9) as test:
        test.device.events()
        test.memory.put(bytes(SIZE))
        for _ in range(2):
            ask_all()
            test.acked(syndrome=roce.RNR | 9)
            test.silent()
        harmless(test, "after an RNR NAK")
        test.receive(total, 4096, wr_id=6)
        test.receive(total, 3 * 4096, wr_id=7)
        ask_all()
        test.step(3, 1)
        test.acked(psn_add(test.psn, -1))
        whole(test, 6, total)
        equal(test.memory.get(total, 4096), DATA[:total], "bytes of the SEND")
        test.good_write()


# ---- a key that goes while it is used, or after ----

def response(index, count, first, data, msn):
    """One of the responses of a READ: opcode, PSN, AETH, payload."""
    opcode = roce.RESP_ONLY if count == 1 else roce.RESP_FIRST if index == 0 else \
        roce.RESP_LAST if index == count - 1 else roce.RESP_MIDDLE
    return (opcode, psn_add(first, index),
            b"" if opcode == roce.RESP_MIDDLE else roce.aeth(roce.ACK_UNLIMITED, msn),
            data[index * MTU:(index + 1) * MTU])


def read_back(test, memory, length):
    """READ it, and have it all; the PSN of the READ."""
    first, count = test.psn, roce.packets(length, MTU)
    ask(test, roce.READ_REQUEST, memory, length)
    test.step(count)
    for index in range(count):
        test.answer(*response(index, count, first, memory.get(length), test.msn))
    return first


def stale(test, memory, first, length):
    """Copies of a READ whose key is gone: a NAK where the PSN was, and no harm.

    Who still waits for responses learns that there will be none; to who has them all that
    PSN is history. The responder cannot tell which of them asks, and lives on.
    """
    for skip in (0, 0, 1):
        ask(test, roce.READ_REQUEST, memory, length - skip * MTU, skip * MTU,
            psn=psn_add(first, skip))
        test.acked(psn_add(first, skip), roce.NAK_ACCESS)
        test.good_write()
        harmless(test, "after a copy of a READ")


@case("duplicate-read-region-gone")
def duplicate_region_gone():
    """A READ, the end of its region, and then a late copy of the READ."""
    with Stranger() as test:
        test.device.events()
        memory, length = verbs.Memory(test.device.pd, 4096), 2 * MTU + 10
        memory.put(DATA[:4096])
        first = read_back(test, memory, length)
        memory.close()
        stale(test, memory, first, length)
        # a READ that nobody has answered is another matter
        ask(test, roce.READ_REQUEST, memory)
        test.refused(roce.NAK_ACCESS)
        equal(test.device.events(), ACCESS, "events")


class Window:
    """A memory window of type 2, bound by the queue pair under test."""

    def __init__(self, test, offset, length, access):
        self.memory = verbs.Memory(test.device.pd, 8192, verbs.ALL | e.IBV_ACCESS_MW_BIND)
        self.memory.put(DATA[:8192])
        self.window, self.offset = MW(test.device.pd, e.IBV_MW_TYPE_2), offset
        self.address = 0 if access & e.IBV_ACCESS_ZERO_BASED else self.memory.address + offset
        bind = SendWR(9, opcode=e.IBV_WR_BIND_MW)
        bind.set_bind_wr(self.window, MWBindInfo(self.memory.mr, self.memory.address + offset,
                                                 length, access))
        test.queue.qp.post_send(bind)
        found = test.queue.sent("completion of the bind")
        equal((found.wr_id, found.status), (9, verbs.SUCCESS), "bind")
        self.rkey = bind.rkey

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.window.close()
        self.memory.close()

    def get(self, length):
        """Bytes in it."""
        return self.memory.get(length, self.offset)


@case("duplicate-read-window-gone")
def duplicate_window_gone():
    """The same with a window that the peer itself invalidates, as storage targets do."""
    with Stranger() as test, Window(test, 64, 4096, verbs.READ) as memory:
        test.device.events()
        length = 2 * MTU + 10
        first = read_back(test, memory, length)
        test.receive(64, SIZE - 128, wr_id=3)
        test.send(roce.SEND_ONLY_INV, struct.pack(">I", memory.rkey), b"done", ackreq=True)
        test.msn += 1
        test.acked()
        test.step(messages=0)
        found = test.queue.received()
        equal((found.status, found.wr_id), (verbs.SUCCESS, 3), "receive")
        stale(test, memory, first, length)


@case("access-mid-write")
def access_mid_write():
    """The region goes between two packets of a WRITE."""
    with Stranger() as test:
        test.device.events()
        memory = verbs.Memory(test.device.pd, 4096)
        test.send(roce.WRITE_FIRST, roce.reth(memory.address, memory.rkey, 3 * MTU), FULL,
                  ackreq=True)
        test.acked()
        test.step(messages=0)
        equal(memory.get(MTU), FULL, "bytes of the first packet")
        memory.close()
        test.send(roce.WRITE_MIDDLE, b"", DATA[MTU:2 * MTU], ackreq=True)
        test.refused(roce.NAK_ACCESS)
        equal(memory.get(3 * MTU, MTU), bytes(3 * MTU), "memory behind it")
        equal(test.device.events(), ACCESS, "events")
        flushed(test)


@case("access-mid-write-imm")
def access_mid_write_imm():
    """The same with immediate data: the receive that it takes has the error, and no event."""
    with Stranger() as test:
        test.device.events()
        memory = verbs.Memory(test.device.pd, 4096)
        for wr_id in (40, 41):
            test.receive(64, wr_id=wr_id)
        test.send(roce.WRITE_FIRST, roce.reth(memory.address, memory.rkey, 2 * MTU), FULL,
                  ackreq=True)
        test.acked()
        test.step(messages=0)
        memory.close()
        test.send(roce.WRITE_LAST_IMM, b"\1\2\3\4", DATA[MTU:2 * MTU], ackreq=True)
        test.refused(roce.NAK_ACCESS)
        for wr_id, status in ((40, verbs.LOC_ACCESS_ERR), (41, verbs.FLUSH_ERR)):
            found = test.queue.received()
            equal((found.wr_id, found.status), (wr_id, status), "receive")
        equal(test.device.events(), [], "events: the completion says it")
        flushed(test)


def far(*words):
    """A command in the namespace of the device."""
    done = subprocess.run(("ip", "netns", "exec", "ns2", *words), capture_output=True, text=True,
                          check=False)
    check(not done.returncode, f"{' '.join(words)}: {done.stderr.strip()}")


@contextlib.contextmanager
def slow():
    """The device's netdev sends 4 Mbit/s: a full packet in 2 ms, and the rest waits."""
    if subprocess.run(("modprobe", "-q", "sch_tbf"), check=False).returncode:
        raise Skip("no sch_tbf here")
    far("tc", "qdisc", "add", "dev", "veth1", "root", "tbf", "rate", "4mbit", "burst", "5000",
        "limit", "4000000")
    try:
        yield
    finally:
        far("tc", "qdisc", "del", "dev", "veth1", "root")


def long_read(test, length):
    """Memory for it, and what is in there."""
    memory = verbs.Memory(test.device.pd, length)
    data = (DATA * (length // len(DATA) + 1))[:length]
    memory.put(data)
    return memory, data


@case("access-mid-read")
def access_mid_read():
    """The region goes while responses of a long READ leave: a NAK behind the last of them."""
    with Stranger() as test, slow():
        test.device.events()
        memory, data = long_read(test, 4 << 20)
        count, sent = len(data) // MTU, 1
        ask(test, roce.READ_REQUEST, memory, len(data))
        test.msn += 1
        test.answer(*response(0, count, test.psn, data, test.msn))
        memory.close()
        packet = test.next()
        while packet and packet.opcode == roce.RESP_MIDDLE:
            equal((packet.psn, packet.payload),
                  (psn_add(test.psn, sent), data[sent * MTU:(sent + 1) * MTU]), "a response")
            sent += 1
            packet = test.next()
        check(packet, f"silence after {sent} responses")
        check(packet.opcode != roce.RESP_LAST, "the READ was over before its region went")
        equal((packet.opcode, packet.syndrome, packet.psn, packet.msn),
              (roce.ACK, roce.NAK_ACCESS, psn_add(test.psn, sent), test.msn), "its end")
        equal(packet.problems(), [], "what is wrong with it")
        test.silent()
        check(test.queue.in_error(), "the queue pair is not in its error state")
        equal(test.device.events(), ACCESS, "events")
        flushed(test)


def behind_a_long_one(test, reads):
    """A long READ whose responses take their time, and so many short ones behind it; each is
    answered but the last."""
    memory, data = long_read(test, 400 * MTU)
    behind = [(psn_add(FIRST, 400 + index), 64 * index) for index in range(reads)]
    with slow():
        ask(test, roce.READ_REQUEST, memory, len(data))
        for psn, offset in behind:
            ask(test, roce.READ_REQUEST, memory, 64, offset, psn=psn)
        test.msn += 1
        for index in range(400):
            test.answer(*response(index, 400, FIRST, data, test.msn))
        for psn, offset in behind[:-1]:
            test.msn += 1
            test.answer(*response(0, 1, psn, data[offset:offset + 64], test.msn))
    return memory, data[64 * (reads - 1):64 * reads], behind[-1][0]


@case("more-reads-than-agreed")
def more_reads():
    """Five READs where four were agreed on, and the first of them has not left yet: the last is
    refused, though all have left when its turn comes."""
    with Stranger(reads=4) as test:
        test.device.events()
        memory, _, last = behind_a_long_one(test, 4)
        test.refused(roce.NAK_INVALID, last)
        equal(test.device.events(), REQUEST, "events")
        flushed(test)
        memory.close()


@case("reads-as-agreed")
def reads_as_agreed():
    """The same where four were agreed on: the last is answered, too, and kept for who asks again."""
    with Stranger(reads=4) as test:
        test.device.events()
        memory, data, last = behind_a_long_one(test, 3)
        test.msn += 1
        test.answer(*response(0, 1, last, data, test.msn))
        test.step(403, 0)
        ask(test, roce.READ_REQUEST, memory, 64, 128, psn=last)
        test.answer(*response(0, 1, last, data, test.msn))
        test.good_write()
        harmless(test, "after as many READs as agreed on")
        memory.close()


@case("atomic-memory-not-aligned")
def atomic_memory_not_aligned():
    """8 divides the address that the peer knows, and not the one that memory has."""
    access = verbs.ATOMIC | e.IBV_ACCESS_ZERO_BASED
    with Stranger() as test, Window(test, 4, 4096, access) as memory:
        test.device.events()
        before = memory.get(64)
        ask(test, roce.FETCH_ADD, memory)
        test.refused(roce.NAK_INVALID)
        equal(memory.get(64), before, "memory")
        equal(test.device.events(), REQUEST, "events")
        flushed(test)


# ---- states, and shared receive queues ----

def told(device):
    """All events about queue pairs that are there."""
    return [kind for kind in iter(device.event, None) if kind in ABOUT_QPS]


def events(device, wanted):
    """These events about queue pairs come, in any order, each once."""
    found, end = told(device), time.monotonic() + verbs.PATIENCE
    while len(found) < len(wanted) and time.monotonic() < end:
        found += [kind for kind in [device.event(0.1)] if kind in ABOUT_QPS]
    time.sleep(0.1)
    equal(sorted(found + told(device)), sorted(wanted), "events")


def modify(test, state, mask=0, **values):
    """The queue pair goes to a state."""
    attr = QPAttr(qp_state=state)
    for name, value in values.items():
        setattr(attr, name, value)
    test.queue.qp.modify(attr, e.IBV_QP_STATE | mask)


def executed(test):
    """A request of each kind is."""
    test.receive(64, 4096, wr_id=8)
    test.memory.put(bytes(64), 4096)
    test.send(roce.SEND_ONLY, b"", b"sent", ackreq=True)
    test.msn += 1
    test.acked()
    test.step(messages=0)
    found = test.queue.received()
    equal((found.status, found.wr_id, found.byte_len, test.memory.get(4, 4096)),
          (verbs.SUCCESS, 8, 4, b"sent"), "SEND")
    test.memory.put(DATA[:2 * MTU])
    read_back(test, test.memory, 2 * MTU - 5)
    test.memory.put(struct.pack("=Q", 41))
    test.send(roce.FETCH_ADD, test.atmeth(1))
    test.msn += 1
    test.answer(roce.ATOMIC_ACK, test.psn,
                roce.aeth(roce.ACK_UNLIMITED, test.msn) + struct.pack(">Q", 41))
    test.step(messages=0)
    equal(test.memory.get(8), struct.pack("=Q", 42), "FETCH ADD")
    test.good_write()


def ready_to_receive(test):
    """INIT to RTR."""
    modify(test, e.IBV_QPS_RTR, e.IBV_QP_AV | e.IBV_QP_PATH_MTU | e.IBV_QP_DEST_QPN
           | e.IBV_QP_RQ_PSN | e.IBV_QP_MAX_DEST_RD_ATOMIC | e.IBV_QP_MIN_RNR_TIMER,
           path_mtu=verbs.MTUS[MTU], dest_qp_num=OUR_QPN, rq_psn=FIRST,
           max_dest_rd_atomic=16, min_rnr_timer=1,
           ah_attr=verbs.address(test.device, test.near))


@case("state-rtr")
def state_rtr():
    """Ready to receive: all is executed and answered; the first packet is an event."""
    with Stranger(state="INIT") as test:
        told(test.device)
        ready_to_receive(test)
        equal(told(test.device), [], "events before a packet")
        executed(test)
        executed(test)
        equal(test.queue.state(), e.IBV_QPS_RTR, "state")
        events(test.device, [e.IBV_EVENT_COMM_EST])
        modify(test, e.IBV_QPS_RTS, e.IBV_QP_TIMEOUT | e.IBV_QP_RETRY_CNT | e.IBV_QP_RNR_RETRY
               | e.IBV_QP_SQ_PSN | e.IBV_QP_MAX_QP_RD_ATOMIC, retry_cnt=7, rnr_retry=7)
        test.good_write()
        events(test.device, [])


@case("state-sqd")
def state_sqd():
    """Send queue drained: what the peer asks for is executed as ever."""
    with Stranger() as test:
        told(test.device)
        modify(test, e.IBV_QPS_SQD)
        executed(test)
        equal(test.queue.state(), e.IBV_QPS_SQD, "state")
        modify(test, e.IBV_QPS_RTS)
        test.good_write()
        events(test.device, [])


@case("state-refusals")
def state_refusals():
    """What is refused in RTR and in SQD ends the connection as it does in RTS."""
    with Stranger(state="INIT") as test:
        ready_to_receive(test)
        told(test.device)
        ask(test, roce.WRITE_ONLY, dead())
        test.refused(roce.NAK_ACCESS)
        events(test.device, ACCESS + [e.IBV_EVENT_COMM_EST])
        flushed(test)
    with Stranger() as test:
        modify(test, e.IBV_QPS_SQD)
        told(test.device)
        ask(test, roce.FETCH_ADD, region(verbs.ALL & ~verbs.ATOMIC))
        test.refused(roce.NAK_ACCESS)
        events(test.device, ACCESS)
        flushed(test)


def unheard(test):
    """A queue pair in error: each packet is counted, and there is no word of it."""
    before = test.device.counter("rx_no_qp")
    packets = ((roce.SEND_ONLY, b"", b"abcd"), (roce.WRITE_ONLY, test.reth(4), b"abcd"),
               (roce.READ_REQUEST, test.reth(4), b""), (roce.FETCH_ADD, test.atmeth(1), b""),
               (0x15, b"", b""), (roce.WRITE_ONLY, test.reth(4, 0, 0x100), b"abcd"))
    for opcode, extended, payload in packets:
        test.send(opcode, extended, payload, ackreq=True)
    test.silent()
    equal(test.device.counter("rx_no_qp") - before, len(packets), "packets for nobody")
    events(test.device, [])


@case("state-err")
def state_err():
    """In error, whether its owner wanted that or a request did."""
    with Stranger() as test:
        told(test.device)
        test.good_write()
        modify(test, e.IBV_QPS_ERR)
        unheard(test)
    with Stranger() as test:
        ask(test, roce.WRITE_ONLY, dead())
        test.refused(roce.NAK_ACCESS)
        events(test.device, ACCESS)
        unheard(test)


class Shared:
    """A shared receive queue, and what its receives have."""

    def __init__(self):
        self.srq = SRQ(Far.device[4].pd, SrqInitAttr(SrqAttr(max_wr=16, max_sge=1)))
        self.queue = functools.partial(verbs.Queue, srq=self.srq)

    def receive(self, wr_id, length):
        """Post a receive."""
        self.srq.post_recv(RecvWR(wr_id, num_sge=1, sg=[Far.memory[4].sge(length)]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.srq.close()


@case("srq-request-fails")
def srq_request_fails():
    """The receive in use has the error, the others stay; the owner knows that no more is taken."""
    with Shared() as shared:
        shared.receive(20, 2 * MTU)
        shared.receive(21, 64)
        with Stranger(queue=shared.queue) as test:
            told(test.device)
            test.send(roce.SEND_FIRST, b"", FULL, ackreq=True)
            test.acked()
            test.step(messages=0)
            test.send(roce.WRITE_MIDDLE, b"", FULL, ackreq=True)
            test.refused(roce.NAK_INVALID)
            found = test.queue.received()
            equal((found.wr_id, found.status), (20, verbs.REM_INV_REQ_ERR), "receive in use")
            events(test.device, LAST_WQE)
            unheard(test)
            test.queue.no_completion(test.queue.rcq, "receives of others")
        with Stranger(queue=shared.queue) as test:
            ask(test, roce.READ_REQUEST, dead())
            test.refused(roce.NAK_ACCESS)
            events(test.device, ACCESS + LAST_WQE)
            test.queue.no_completion(test.queue.rcq, "receives of others")
        with Stranger(queue=shared.queue) as test:
            test.send(roce.SEND_ONLY, b"", b"abcd", ackreq=True)
            test.msn += 1
            test.acked()
            whole(test, 21, 4)


@case("srq-empty")
def srq_empty():
    """Nothing in there: RNR NAK; the message comes again."""
    with Shared() as shared, Stranger(queue=shared.queue, rnr_timer=9) as test:
        told(test.device)
        for _ in range(2):
            test.send(roce.SEND_ONLY, b"", b"abcd", ackreq=True)
            test.acked(syndrome=roce.RNR | 9)
        shared.receive(22, 64)
        test.send(roce.SEND_ONLY, b"", b"abcd", ackreq=True)
        test.msn += 1
        test.acked()
        test.step(messages=0)
        whole(test, 22, 4)
        test.good_write()
        events(test.device, [])


if __name__ == "__main__":
    main("errors", Far.setup)
