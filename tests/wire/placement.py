#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""FLUSH and ATOMIC WRITE (annex A19), byte for byte: the device answers them, and
the device asks.

libibverbs has no call for FLUSH before its version 45: here the request is put into
the mapped send queue, as the library does, and the next post rings the bell.
"""

import mmap
import os
import platform
import re
import struct
import subprocess

import pyverbs.enums as e
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QPCap, QPEx, QPInitAttrEx

import mapped
import roce
import verbs
import wire
from errors import ACCESS, REQUEST, dead, flushed, region
from harness import Failure, Skip, case, check, equal, main
from stranger import REMOTE, RKEY, SIZE, Asking, Far, Stranger, plan

GLOBAL, PERSISTENT = 1, 2
RANGE, REGION = 0, 1
ACCESS_GLOBAL, ACCESS_PERSISTENT = 1 << 8, 1 << 9
WR_FLUSH, WC_FLUSH, WC_ATOMIC_WRITE = 14, 8, 9
# Where the RDMA core has flags for FLUSH; a driver before that cannot be given any
FLUSH_SINCE = (6, 2)
VALUE = bytes(range(0xa1, 0xa9))


def done(test, psn=None):
    """The answer to a request that was executed: a READ response of nothing."""
    test.answer(roce.RESP_ONLY, test.psn if psn is None else psn,
                roce.aeth(roce.ACK_UNLIMITED, test.msn))


def flushable(pd, size, access=ACCESS_GLOBAL, backing=None):
    """A region that peers may flush. Where there is a flag to say so, it is taken."""
    try:
        return verbs.Memory(pd, size, verbs.ALL | access, backing)
    except Exception as error:  # whatever the library makes of it
        if tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2]) < FLUSH_SINCE:
            raise Skip(f"the RDMA core has no flag for FLUSH: {error}") from error
        raise Failure(f"a region that may be flushed is refused: {error}") from error


class Flushable(Stranger):
    """A device whose memory may be flushed by peers."""

    def __init__(self, rights=ACCESS_GLOBAL, access=ACCESS_GLOBAL, backing=None, size=SIZE,
                 **attributes):
        access |= verbs.READ | verbs.WRITE | verbs.ATOMIC
        super().__init__(access=access, **attributes)
        try:
            self.memory = flushable(self.device.pd, size, rights, backing)
        except (Failure, Skip):
            self.__exit__()
            raise
        self.own = True

    def __exit__(self, *_):
        super().__exit__()
        if getattr(self, "own", False):
            self.memory.close()

    def flush(self, placement=GLOBAL, selectivity=RANGE, length=64, offset=0, **fields):
        """Send a FLUSH."""
        rkey = fields.pop("rkey", None)
        self.send(roce.FLUSH, roce.feth(placement, selectivity) + self.reth(length, offset, rkey),
                  **fields)


# ---- the device answers ---------------------------------------------------------

@case("atomic-write")
def atomic_write():
    """8 bytes as they are, behind what came before; the duplicate is not executed."""
    with Stranger() as test:
        test.memory.put(bytes(64))
        test.write(b"before", 16)
        test.step()
        test.send(roce.ATOMIC_WRITE, test.reth(8, 8), VALUE)
        test.msn += 1
        done(test)
        equal(test.memory.get(24), bytes(8) + VALUE + b"before\0\0", "memory")
        old = test.psn
        test.step(messages=0)
        test.good_write()
        test.memory.put(b"newer!!!", 8)
        test.send(roce.ATOMIC_WRITE, test.reth(8, 8), VALUE, psn=old)
        done(test, old)
        equal(test.memory.get(8, 8), b"newer!!!", "memory after the duplicate")
        test.good_write()


# What the owner of a queue pair hears of a request that is refused, once
EVENTS = {roce.NAK_INVALID: REQUEST, roce.NAK_ACCESS: ACCESS}


def refused(name, text, syndrome, send, **options):
    """A case: a request that earns a NAK, and ends the connection as any other would.

    It must not change the memory that send() returns, or test.memory.
    """
    def run():
        with Flushable(**options) as test:
            test.memory.put(bytes(64))
            test.device.events()
            memory = send(test) or test.memory
            test.refused(syndrome)
            equal(memory.get(64), bytes(64), "memory")
            equal(test.device.events(), EVENTS[syndrome], "events")
            flushed(test)
    run.__doc__ = text
    case(name)(run)


def write_to(test, memory):
    """An ATOMIC WRITE of other memory than the queue pair's own."""
    test.send(roce.ATOMIC_WRITE, roce.reth(memory.address, memory.rkey, 8), VALUE)
    return memory


def flush_of(test, memory, selectivity):
    """A FLUSH of other memory, which has the right."""
    test.send(roce.FLUSH,
              roce.feth(GLOBAL, selectivity) + roce.reth(memory.address, memory.rkey, 64))
    return memory


for label, length, payload in (("short", 8, 4), ("long", 8, 12), ("empty", 8, 0), ("says-less", 4, 8),
                               ("says-more", 16, 8), ("of-16", 16, 16)):
    refused(f"atomic-write-{label}", "An ATOMIC WRITE is 8 bytes.", roce.NAK_INVALID,
            lambda t, n=length, p=payload: t.send(roce.ATOMIC_WRITE, t.reth(n), bytes([7] * p)))
for address in (1, 4):
    refused(f"atomic-write-unaligned-{address}", "On an address that 8 does not divide.",
            roce.NAK_INVALID,
            lambda t, a=address: t.send(roce.ATOMIC_WRITE, t.reth(8, a), VALUE))
refused("atomic-write-bad-key", "Memory that nobody offered.", roce.NAK_ACCESS,
        lambda t: t.send(roce.ATOMIC_WRITE, t.reth(8, 0, t.memory.rkey ^ 0x100), VALUE))
refused("atomic-write-beyond", "Behind the end of the region.", roce.NAK_ACCESS,
        lambda t: t.send(roce.ATOMIC_WRITE, t.reth(8, SIZE), VALUE))
refused("atomic-write-other-pd", "A region of another protection domain.", roce.NAK_ACCESS,
        lambda t: write_to(t, region(foreign=True)))
refused("atomic-write-deregistered", "A region that is gone.", roce.NAK_ACCESS,
        lambda t: write_to(t, dead()))
refused("atomic-write-region-no-right", "A region that permits all but to write to it.",
        roce.NAK_ACCESS, lambda t: write_to(t, region(verbs.ALL & ~verbs.WRITE)))


@case("atomic-write-no-right")
def atomic_write_no_right():
    """A queue pair that takes no RDMA WRITE takes no ATOMIC WRITE."""
    with Stranger(access=verbs.READ) as test:
        test.send(roce.ATOMIC_WRITE, test.reth(8), VALUE)
        test.refused(roce.NAK_INVALID)


@case("flush")
def flush():
    """A range, nothing, and the region whatever the range says; and duplicates."""
    with Flushable() as test:
        for options in ({}, {"length": 0}, {"length": SIZE}, {"selectivity": REGION},
                        {"selectivity": REGION, "length": 1 << 20, "offset": SIZE}):
            test.write(b"written", 128)
            test.step()
            test.flush(**options)
            test.msn += 1
            done(test)
            equal(test.memory.get(7, 128), b"written", "memory when the answer is here")
            old = test.psn
            test.step(messages=0)
            test.good_write()
            test.flush(psn=old, **options)
            done(test, old)


@case("flush-keeps-what-is-saved")
def flush_keeps_what_is_saved():
    """A peer that does not count FLUSHes sends one behind an atomic, for which there is the
    only place: the atomic's result is still there when it is asked for again."""
    with Flushable(reads=1) as test:
        def added():
            test.answer(roce.ATOMIC_ACK, first, roce.aeth(roce.ACK_UNLIMITED, test.msn) +
                        struct.pack(">Q", 41))

        def add():
            test.send(roce.FETCH_ADD, test.atmeth(1), psn=first)

        test.memory.put(struct.pack("=Q", 41))
        first = test.psn
        add()
        test.msn += 1
        added()
        test.step(messages=0)
        for _ in range(3):
            test.flush()
            test.msn += 1
            done(test)
            test.step(messages=0)
            add()
            added()
        test.silent(0.02)
        equal(test.memory.get(8), struct.pack("=Q", 42), "counter")


@case("responder-resources")
def responder_resources():
    """With no place to save READs and the like, all of them are refused, FLUSH, too."""
    for opcode, extended, payload in ((roce.ATOMIC_WRITE, b"", VALUE),
                                      (roce.FLUSH, roce.feth(GLOBAL), b""),
                                      (roce.READ_REQUEST, b"", b"")):
        with Stranger(reads=0, access=verbs.READ | verbs.WRITE | ACCESS_GLOBAL) as test:
            test.send(opcode, extended + test.reth(8), payload)
            test.refused(roce.NAK_INVALID)


for label, options in {"nothing": {"placement": 0}, "persistent": {"placement": PERSISTENT},
                       "both": {"placement": 3}, "reserved": {"placement": 5},
                       "selectivity": {"selectivity": 2}}.items():
    refused(f"flush-{label}", "A placement or selectivity that does not exist here.",
            roce.NAK_INVALID, lambda t, o=options: t.flush(**o))
refused("flush-with-payload", "A FLUSH has no payload (oA19-2).", roce.NAK_INVALID,
        lambda t: t.send(roce.FLUSH, roce.feth(GLOBAL) + t.reth(64), b"abcd"))
refused("flush-beyond", "A range that leaves the region.", roce.NAK_ACCESS,
        lambda t: t.flush(length=SIZE, offset=64))
refused("flush-bad-key", "A key that nobody offered.", roce.NAK_ACCESS,
        lambda t: t.flush(rkey=t.memory.rkey ^ 0x100))
refused("flush-region-bad-key", "The same for a whole region.", roce.NAK_ACCESS,
        lambda t: t.flush(selectivity=REGION, rkey=t.memory.rkey ^ 0x100))
refused("flush-no-right", "A region that may not be flushed.", roce.NAK_ACCESS,
        lambda t: t.flush(), rights=0)
refused("flush-qp-no-right", "A queue pair that takes no FLUSH.", roce.NAK_INVALID,
        lambda t: t.flush(), access=0)
refused("flush-wraps", "A range that goes on at the beginning of all addresses.", roce.NAK_ACCESS,
        lambda t: t.flush(length=64, offset=-t.memory.address - 32))
for label, which in (("", RANGE), ("region-", REGION)):
    refused(f"flush-{label}other-pd", "A region of another protection domain.", roce.NAK_ACCESS,
            lambda t, w=which: flush_of(t, region(verbs.ALL | ACCESS_GLOBAL, True), w))
    refused(f"flush-{label}deregistered", "A region that is gone.", roce.NAK_ACCESS,
            lambda t, w=which: flush_of(t, dead(verbs.ALL | ACCESS_GLOBAL), w))

refused("flush-persistent-no-right", "A region that has no persistence.", roce.NAK_ACCESS,
        lambda t: t.flush(PERSISTENT), access=ACCESS_GLOBAL | ACCESS_PERSISTENT)
refused("flush-both-no-right", "One of both is not enough.", roce.NAK_ACCESS,
        lambda t: t.flush(GLOBAL | PERSISTENT), access=ACCESS_GLOBAL | ACCESS_PERSISTENT)


# As much persistent memory as is mapped
BACKING = 2 << 20


def persistent_memory():
    """A mapping of persistent memory: what tests/wire/run has the kernel take for it."""
    for module in ("nd_e820", "nd_pmem", "dax_pmem", "device_dax"):
        subprocess.run(("modprobe", "-q", module), check=False)
    if not os.path.exists("/dev/dax0.0"):
        if not os.path.exists("/sys/bus/nd/devices/namespace0.0"):
            raise Skip("this kernel makes no persistent memory of a part of its own")
        # of the region of that namespace: what becomes its next devdax (4.7)
        region = os.path.dirname(os.path.realpath("/sys/bus/nd/devices/namespace0.0"))
        if not os.path.exists(f"{region}/dax_seed"):
            raise Skip("this kernel has no devdax to map persistent memory by: "
                       f"no dax_seed in {region}")
        made = subprocess.run(("ndctl", "create-namespace", "-f", "-e", "namespace0.0",
                               "-m", "devdax", "-M", "mem"),
                              capture_output=True, text=True, check=False)
        equal(made.returncode, 0, f"ndctl ({made.stderr.strip()}): status")
    file = os.open("/dev/dax0.0", os.O_RDWR)
    try:
        return mmap.mmap(file, BACKING)
    finally:
        os.close(file)


@case("flush-persistent-memory")
def flush_persistent():
    """Persistent memory: each placement, of a range, nothing, and the whole region; a
    region of it that gave no such right; and a range that leaves the region."""
    backing = persistent_memory()
    both = ACCESS_GLOBAL | ACCESS_PERSISTENT
    with Flushable(rights=both, access=both, backing=backing) as test:
        for placement in (PERSISTENT, GLOBAL, GLOBAL | PERSISTENT):
            for options in ({}, {"length": 0}, {"length": SIZE}, {"length": 4097, "offset": 8191},
                            {"selectivity": REGION}):
                test.write(b"written", 128)
                test.step()
                test.flush(placement, **options)
                test.msn += 1
                done(test)
                equal(test.memory.get(7, 128), b"written", "memory")
                test.memory.put(bytes(7), 128)
                test.step(messages=0)
        test.good_write()
        test.flush(PERSISTENT, length=SIZE, offset=64)
        test.refused(roce.NAK_ACCESS)
    with Flushable(rights=ACCESS_GLOBAL, access=both, backing=backing) as test:
        test.flush(PERSISTENT)
        test.refused(roce.NAK_ACCESS)


class WrittenBack:
    """What is written back from the CPU's caches, seen by a probe of the kernel's function
    for that, which other users of persistent memory have no reason to call meanwhile."""

    TRACING = "/sys/kernel/tracing"
    EVENT = "rxe_wire/written_back"
    HERE = f"{TRACING}/instances/rxe_wire"

    @classmethod
    def _write(cls, name, text, flags=os.O_TRUNC):
        # not by open(): for "a" that looks for an end, which these files have not
        file = os.open(f"{cls.TRACING}/{name}", os.O_WRONLY | flags)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)

    def __enter__(self):
        if not os.path.exists(f"{self.TRACING}/kprobe_events"):
            raise Skip("this kernel has no probes that become events")
        # who truncates it removes the probes of others
        self._write("kprobe_events",
                    f"p:{self.EVENT} arch_wb_cache_pmem address=$arg1:x64 size=$arg2:u64\n", os.O_APPEND)
        os.mkdir(self.HERE)
        self._write(f"instances/rxe_wire/events/{self.EVENT}/enable", "1")
        return self

    def __exit__(self, *_):
        self._write(f"instances/rxe_wire/events/{self.EVENT}/enable", "0")
        os.rmdir(self.HERE)
        self._write("kprobe_events", f"-:{self.EVENT}\n", os.O_APPEND)

    def ranges(self):
        """First and last address of each range since the last call; neighbours are one."""
        with open(f"{self.HERE}/trace", encoding="ascii") as file:
            found = re.findall(r"written_back: .*address=0x([0-9a-f]+) size=(\d+)", file.read())
        self._write("instances/rxe_wire/trace", "")
        merged = []
        for first, size in sorted((int(address, 16), int(size)) for address, size in found):
            if not merged or first > merged[-1][1] + 1:
                merged.append([first, first])
            merged[-1][1] = max(merged[-1][1], first + size - 1)
        return merged


@case("flush-persistent-written-back")
def flush_written_back():
    """By each FLUSH for persistence what the caches hold of its range is written back, all of
    it; who leaves that out is not found out by looking at memory. A large one takes the
    device several rounds; it is answered after the last."""
    backing = persistent_memory()
    both = ACCESS_GLOBAL | ACCESS_PERSISTENT
    with (Flushable(rights=both, access=both, backing=backing, size=BACKING) as test,
          WrittenBack() as seen):
        start = None
        for placement in (PERSISTENT, GLOBAL | PERSISTENT):
            for options, offset, length in (({"selectivity": REGION}, 0, BACKING),
                                            ({"length": BACKING - 100, "offset": 100}, 100,
                                             BACKING - 100),
                                            ({"length": SIZE}, 0, SIZE), ({}, 0, 64),
                                            ({"length": 4097, "offset": 8191}, 8191, 4097),
                                            ({"length": 8, "offset": SIZE - 8}, SIZE - 8, 8)):
                test.write(b"written", offset)
                test.step()
                test.flush(placement, **options)
                test.msn += 1
                done(test)
                test.step(messages=0)
                found = seen.ranges()
                # the kernel's address of the region, which is in one piece
                start = found[0][0] if found and start is None else start
                check(any(first <= start + offset and start + offset + length - 1 <= last
                          for first, last in found),
                      f"{options}: written back, from the region's begin on: "
                      f"{[(first - (start or 0), last - (start or 0)) for first, last in found]}")


@case("flush-persistent-region")
def flush_persistent_region():
    """Ordinary memory cannot be made persistent: its registration says so."""
    try:
        memory = verbs.Memory(Far.device[4].pd, 4096, verbs.ALL | ACCESS_PERSISTENT)
    except Exception:  # whatever the library makes of it
        return
    memory.close()
    check(False, "a region is registered for a placement that it cannot have")


# ---- the device asks --------------------------------------------------------------

# Of an element of a send queue: its size, and where its data are described
WQE, DMA = 208, 184


def send_ring(before):
    """The send queue that has been mapped since."""
    ring = mapped.Ring(before)
    check(1 << ring.shift > WQE, "no send queue is mapped")
    return ring


def flush_wqe(wr_id, placement, selectivity, length, memory=None):
    """A FLUSH as the provider writes it, of our memory or a device's."""
    address, rkey = (memory.address, memory.rkey) if memory else (REMOTE, RKEY)
    wqe = bytearray(WQE)
    struct.pack_into("=QIII", wqe, 0, wr_id, 0, WR_FLUSH, e.IBV_SEND_SIGNALED)
    struct.pack_into("=QIIBB", wqe, 24, address, 0, rkey, placement, selectivity)
    struct.pack_into("=II", wqe, DMA, length, length)
    return bytes(wqe)


@case("ask-flush")
def ask_flush():
    """The request byte for byte; it takes a place of max_rd_atomic and waits for its
    response, which brings nothing."""
    before = mapped.maps()
    with Asking(outstanding=2) as test:
        ring = send_ring(before)
        for index, (placement, selectivity) in enumerate(((1, 0), (2, 1), (3, 0))):
            ring.put(flush_wqe(index, placement, selectivity, 0x10000))
        test.post(wr_id=3)
        test.asked(roce.FLUSH, plan(0, test), roce.feth(1) + roce.reth(REMOTE, RKEY, 0x10000))
        test.asked(roce.FLUSH, plan(1, test), roce.feth(2, 1) + roce.reth(REMOTE, RKEY, 0x10000))
        test.silent()
        test.ack(plan(0, test))
        test.asked(roce.FLUSH, plan(0, test), roce.feth(1) + roce.reth(REMOTE, RKEY, 0x10000))
        test.queue.no_completion(test.queue.scq, "an ACK is no response")
        for index in range(3):
            test.reply(roce.RESP_ONLY, plan(index, test), roce.aeth(roce.ACK_UNLIMITED, index + 1))
            found = test.queue.sent()
            equal((found.wr_id, found.status, found.opcode), (index, verbs.SUCCESS, WC_FLUSH),
                  "completion")
            if index == 0:
                test.asked(roce.FLUSH, plan(2, test), roce.feth(3) + roce.reth(REMOTE, RKEY, 0x10000))
                test.asked_write(plan(3, test))
        test.ack(plan(3, test))
        test.completed(3)


@case("ask-flush-refused")
def ask_flush_refused():
    """A NAK ends it with its status, and the rest is flushed."""
    before = mapped.maps()
    with Asking() as test:
        send_ring(before).put(flush_wqe(1, GLOBAL, RANGE, 64))
        test.post(wr_id=2)
        test.next()
        test.ack(plan(0, test), roce.NAK_ACCESS, 0)
        test.completed(1, verbs.REM_ACCESS_ERR)
        test.completed(2, verbs.FLUSH_ERR)


class AtomicWriter(verbs.Queue):
    """A queue pair with the calls of struct ibv_qp_ex."""

    def __init__(self, device):
        super().__init__(device)
        self.qp.close()
        init = QPInitAttrEx(qp_type=e.IBV_QPT_RC, scq=self.scq, rcq=self.rcq, pd=device.pd,
                            cap=QPCap(64, 64, 4, 4, 0), sq_sig_all=0,
                            send_ops_flags=e.IBV_QP_EX_WITH_ATOMIC_WRITE,
                            comp_mask=e.IBV_QP_INIT_ATTR_PD
                            | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
        try:
            self.qp = QPEx(device.context, init)
        except PyverbsError as error:
            raise Skip(f"the library offers no ATOMIC WRITE: {error}") from error
        self.number = self.qp.qp_num


@case("ask-atomic-write")
def ask_atomic_write():
    """The request byte for byte, its response, and its completion."""
    with Asking(queue=AtomicWriter) as test:
        test.queue.qp.wr_start()
        test.queue.qp.wr_id, test.queue.qp.wr_flags = 7, e.IBV_SEND_SIGNALED
        test.queue.qp.wr_atomic_write(RKEY, REMOTE, VALUE)
        test.queue.qp.wr_complete()
        test.asked(roce.ATOMIC_WRITE, plan(0, test), roce.reth(REMOTE, RKEY, 8), VALUE)
        test.reply(roce.RESP_ONLY, plan(0, test), roce.aeth(roce.ACK_UNLIMITED, 1))
        found = test.queue.sent()
        equal((found.wr_id, found.status, found.opcode), (7, verbs.SUCCESS, WC_ATOMIC_WRITE),
              "completion")


@case("ask-atomic-write-two-devices")
def ask_two():
    """Between two devices: the bytes arrive, and a refusal has its status."""
    near = verbs.Device("rxe0", wire.NEAR4)
    memory = verbs.Memory(Far.device[4].pd, 4096)
    here, there = AtomicWriter(near), verbs.Queue(Far.device[4])
    try:
        here.connect(there.number, Far.address[4])
        there.connect(here.number, near.address)
        for address, status in ((memory.address + 8, verbs.SUCCESS),
                                (memory.address + 4, verbs.REM_INV_REQ_ERR)):
            here.qp.wr_start()
            here.qp.wr_id, here.qp.wr_flags = 1, e.IBV_SEND_SIGNALED
            here.qp.wr_atomic_write(memory.rkey, address, VALUE)
            here.qp.wr_complete()
            verbs.status_is(here.sent(), status, "an ATOMIC WRITE")
        equal(memory.get(24), bytes(8) + VALUE + bytes(8), "memory")
    finally:
        here.close()
        there.close()
        memory.close()


# ---- a bad wire ---------------------------------------------------------------------

# Sends again by itself after 100 ms, 200 ms, ...; gives up late, as this program may be
TIMEOUT = 18


class AskingBoth(Asking):
    """The device asks for either of the two; what it asks for comes in its own time."""

    def __init__(self, **options):
        before = mapped.maps()
        super().__init__(queue=AtomicWriter, **options)
        self.ring = send_ring(before)

    def post_flush(self, wr_id):
        """A FLUSH, which the next post of another kind tells the device of."""
        self.ring.put(flush_wqe(wr_id, GLOBAL, RANGE, 64))
        self.queue.qp.wr_start()
        self.queue.qp.wr_complete()

    def post_atomic_write(self, wr_id):
        """An ATOMIC WRITE."""
        self.queue.qp.wr_start()
        self.queue.qp.wr_id, self.queue.qp.wr_flags = wr_id, e.IBV_SEND_SIGNALED
        self.queue.qp.wr_atomic_write(RKEY, REMOTE, VALUE)
        self.queue.qp.wr_complete()

    def asked_for(self, kind, index):
        """Its request, byte for byte."""
        if kind == "flush":
            self.asked(roce.FLUSH, plan(index, self),
                       roce.feth(GLOBAL) + roce.reth(REMOTE, RKEY, 64))
        else:
            self.asked(roce.ATOMIC_WRITE, plan(index, self), roce.reth(REMOTE, RKEY, 8), VALUE)

    def post_kind(self, kind, wr_id):
        """Post one of the two."""
        if kind == "flush":
            self.post_flush(wr_id)
        else:
            self.post_atomic_write(wr_id)

    def respond(self, index):
        """Its answer."""
        self.reply(roce.RESP_ONLY, plan(index, self), roce.aeth(roce.ACK_UNLIMITED, index + 1))

    def done(self, kind, wr_id):
        """Its completion."""
        found = self.queue.sent()
        opcode = WC_FLUSH if kind == "flush" else WC_ATOMIC_WRITE
        equal((found.wr_id, found.status, found.opcode), (wr_id, verbs.SUCCESS, opcode),
              "completion")


def response_lost(kind):
    """The response is lost: the same request comes again, and again, and completes once.
    Responses to the others come late: they answer nothing that is asked for now."""
    with AskingBoth(timeout=TIMEOUT) as test:
        test.post_kind(kind, 1)
        for _ in range(3):
            test.asked_for(kind, 0)
        test.respond(0)
        test.done(kind, 1)
        test.tap.drain()
        test.queue.no_completion(test.queue.scq, "one request")
    with AskingBoth() as test:
        test.post_kind(kind, 1)
        test.asked_for(kind, 0)
        for _ in range(2):
            test.respond(0)
        test.done(kind, 1)
        test.post_kind(kind, 2)
        test.asked_for(kind, 1)
        test.respond(0)
        test.waits("a response of long ago")
        test.respond(1)
        test.done(kind, 2)


for label in ("flush", "atomic-write"):
    case(f"ask-{label}-response-lost")(lambda k=label: response_lost(k))


@case("ask-response-overtaken")
def ask_overtaken():
    """Of three in a row the first response is lost: that is asked for again, alone, and with
    it all of them complete, in order."""
    kinds = ("atomic-write", "flush", "atomic-write")
    with AskingBoth() as test:
        for index, kind in enumerate(kinds):
            test.post_kind(kind, index)
            test.asked_for(kind, index)
        for index in (1, 2):
            test.respond(index)
        test.asked_for(kinds[0], 0)
        test.queue.no_completion(test.queue.scq, "the first response is missing")
        test.respond(0)
        for index, kind in enumerate(kinds):
            test.done(kind, index)
        test.silent()


@case("requests-lost")
def requests_lost():
    """A request is lost, and what is behind it comes too early: executed in order when the
    hole is filled, and each once."""
    with Flushable() as test:
        test.memory.put(bytes(64))
        first, second, third = (roce.psn_add(test.psn, index) for index in range(3))
        test.send(roce.ATOMIC_WRITE, test.reth(8, 8), VALUE, psn=second)
        test.acked(first, roce.NAK_SEQUENCE)
        test.flush(psn=third)
        test.silent()
        equal(test.memory.get(64), bytes(64), "memory before the hole is filled")
        test.write(b"in front", 8)
        test.msn = 2
        done(test, second)
        test.msn = 3
        done(test, third)
        test.silent()
        equal(test.memory.get(24), bytes(8) + VALUE + bytes(8), "memory")
        test.memory.put(b"newer!!!", 8)
        # all of it once more
        test.write(b"in front", 8, ackreq=True)
        # of the others the responses may have been lost
        test.acked(first)
        test.send(roce.ATOMIC_WRITE, test.reth(8, 8), VALUE, psn=second)
        done(test, second)
        test.flush(psn=third)
        done(test, third)
        equal(test.memory.get(8, 8), b"newer!!!", "memory after the duplicates")
        test.step(3, 0)
        test.good_write()


@case("two-devices-bad-wire")
def two_bad_wire():
    """200 ATOMIC WRITEs, each with a FLUSH and a READ behind it, between two devices, while
    packets and answers are lost, doubled and late: all complete in order, and each READ
    finds the value of its own, not one that came again."""
    near = verbs.Device("rxe0", wire.NEAR4)
    back, memory = verbs.Memory(near.pd, 4096), flushable(Far.device[4].pd, 4096)
    before = mapped.maps()
    here, there = AtomicWriter(near), verbs.Queue(Far.device[4])
    try:
        ring = send_ring(before)
        here.connect(there.number, Far.address[4])
        there.connect(here.number, near.address, access=verbs.READ | verbs.WRITE | ACCESS_GLOBAL)
        again = near.counter("retransmitted_packets")
        with wire.Bad():
            for number in range(200):
                value = struct.pack("=Q", number << 32 | 1)
                here.qp.wr_start()
                here.qp.wr_id, here.qp.wr_flags = 1, e.IBV_SEND_SIGNALED
                here.qp.wr_atomic_write(memory.rkey, memory.address, value)
                here.qp.wr_complete()
                ring.put(flush_wqe(2, GLOBAL, RANGE, 8, memory))
                here.send(e.IBV_WR_RDMA_READ, [back.sge(8, number * 8)], remote=memory.address,
                          rkey=memory.rkey, wr_id=3)
                for wr_id in (1, 2, 3):
                    found = here.sent()
                    equal((found.wr_id, found.status), (wr_id, verbs.SUCCESS), "completion")
                equal(back.get(8, number * 8), value, f"value {number}")
        check(near.counter("retransmitted_packets") > again, "nothing was lost")
        equal(memory.get(16), value + bytes(8), "memory")
    finally:
        here.close()
        there.close()
        memory.close()
        back.close()


if __name__ == "__main__":
    main("placement", Far.setup)
