#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""within.py - operations between two queue pairs of one host, and what becomes of each.

    within.py DEVICE ADDRESS DEVICE ADDRESS

The first device asks, the second one, which may be the same, answers. Prints statuses,
lengths, flags, results, sums of memory, states, events and counters; and no numbers of
queue pairs, keys or addresses, so that two runs print the same if the same has happened.
Whether that is right is asked elsewhere (tests/wire). Needs pyverbs (Debian:
python3-pyverbs).
"""
import os
import struct
import sys
import time
import zlib

import pyverbs.enums as e
from pyverbs.qp import QPAttr

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../wire"))
import verbs  # pylint: disable=wrong-import-position
from verbs import ALL, Memory, Queue, READ, WRITE, Window  # pylint: disable=wrong-import-position

SIZE = 1 << 18
INLINE = 512
SIGNALED = e.IBV_SEND_SIGNALED
# Around packets of either path MTU, and what payload has to have to be copied once
LENGTHS = (0, 1, 7, 1023, 1024, 1025, 4095, 4096, 4097, 65536, 100001)
# Who does what, and how packets are carried: these may differ by the way of the packets
BY_WAY = {"lifespan", "runs_softirq", "runs_process", "runs_work", "tx_lent", "lent_copied",
          "rx_merged"}
# A long message may have more ACKs than one, on either way: these are different each time
ACKS = {"ack_sent", "rcvd_pkts", "rcvd_bytes", "sent_bytes"}
# And these where several requests are on their way: what is sent before an error is heard of,
# comes after it, and is sent again
BY_CHANCE = ACKS | {"sent_pkts", "rx_no_qp", "out_of_seq_request", "duplicate_request",
                    "retransmitted_packets", "resend_probe"}


def say(*words):
    """A line of the transcript."""
    print(*words)


def pattern(seed):
    """Bytes that tell what was copied from where."""
    return b"".join(struct.pack("<I", word * 2654435761 + seed & 0xffffffff)
                    for word in range(SIZE // 4))


def counters(device):
    """Counters of a device that do not depend on the way of the packets."""
    place = f"/sys/class/infiniband/{device.name}/ports/1/hw_counters"
    found = {}
    for name in sorted(set(os.listdir(place)) - BY_WAY):
        with open(f"{place}/{name}", encoding="ascii") as file:
            found[name] = int(file.read())
    # all others
    found["sent_pkts"] -= found["ack_sent"]
    return found


class Bench:
    """Both devices, and memory on each."""

    near = far = here = there = None
    patterns = pattern(1), pattern(2)

    @classmethod
    def setup(cls, near, near_address, far, far_address):
        """Open them."""
        cls.near = verbs.Device(near, near_address)
        cls.far = cls.near if far == near else verbs.Device(far, far_address)
        cls.here = Memory(cls.near.pd, SIZE)
        cls.there = Memory(cls.far.pd, SIZE, ALL | e.IBV_ACCESS_MW_BIND)

    @classmethod
    def devices(cls):
        """One or two."""
        return [cls.near] if cls.far is cls.near else [cls.near, cls.far]


class Scene:
    """Two queue pairs, connected; at the end all that they have left behind is told, but for
    the counters that chance is in."""

    def __init__(self, name, mtu, *, but=BY_CHANCE, **options):
        self.but = but
        say(f"-- {name}, PMTU {mtu}")
        Bench.here.put(Bench.patterns[0])
        Bench.there.put(Bench.patterns[1])
        self.here = Queue(Bench.near, inline=INLINE)
        self.there = Queue(Bench.far)
        far_only = {key[4:]: options.pop(key) for key in list(options) if key.startswith("far_")}
        options["mtu"] = mtu
        # none: nothing is lost here, and a timer that follows round trips would ask who is slow
        options.setdefault("timeout", 0)
        self.here.connect(self.there.number, Bench.far.address, rq_psn=0xfffff0, sq_psn=0x123456,
                          **options)
        self.there.connect(self.here.number, Bench.near.address, rq_psn=0x123456,
                           sq_psn=0xfffff0, **{**options, **far_only})
        for device in Bench.devices():
            device.events()
        time.sleep(0.01)
        self.before = [counters(device) for device in Bench.devices()]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.end()
        self.here.close()
        self.there.close()

    def end(self):
        """What there is besides completions."""
        time.sleep(0.03)
        for queue, side in ((self.here, "here"), (self.there, "there")):
            say(side, "state", queue.state(), "completions left",
                queue.scq.poll(8)[0], queue.rcq.poll(8)[0])
        for device, before in zip(Bench.devices(), self.before):
            say(device.name, "events", sorted(device.events()))
            say(device.name, *(f"{name}={value - before[name]}"
                               for name, value in counters(device).items()
                               if value != before[name] and name not in self.but))
        say("memory", *(f"{zlib.crc32(memory.view):08x}"
                        for memory in (Bench.here, Bench.there)))

    def sent(self, count=1):
        """So many completions of who asks, in their order."""
        for _ in range(count):
            tell("sent", self.here.sent())

    def received(self, count=1, key=None):
        """So many of who answers."""
        for _ in range(count):
            tell("received", self.there.received(), key)

    def receive(self, length=SIZE // 2, wr_id=100, offset=0):
        """Post a receive there."""
        self.there.receive([Bench.there.sge(length, offset)], wr_id=wr_id)

    def ask(self, opcode, length, wr_id=1, *, offset=0, skip=0, key=0, sges=None, **options):
        """Post a request; key is what is wrong about the peer's."""
        if opcode in (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_WRITE_WITH_IMM, e.IBV_WR_RDMA_READ):
            options.setdefault("remote", Bench.there.address + skip)
            options.setdefault("rkey", Bench.there.rkey ^ key)
        self.here.send(opcode, sges or [Bench.here.sge(length, offset)], wr_id=wr_id, **options)

    def atomic(self, opcode, compare_add, swap=0, *, wr_id=1, offset=0, key=0):
        """Post an atomic; its result is at the beginning of our memory."""
        self.here.atomic(opcode, Bench.here.sge(8), remote=Bench.there.address + offset,
                         rkey=Bench.there.rkey ^ key, compare_add=compare_add, swap=swap,
                         wr_id=wr_id)


def tell(side, found, key=None):
    """A completion. Of one with an error only this much has a meaning."""
    if found.status != verbs.SUCCESS:
        say(side, found.wr_id, "status", found.status, "vendor", found.vendor_err)
        return
    words = [side, found.wr_id, "opcode", found.opcode, "bytes", found.byte_len,
             "flags", found.wc_flags]
    if found.wc_flags & e.IBV_WC_WITH_IMM:
        words += ["immediate", f"{found.imm_data:#x}"]
    if found.wc_flags & e.IBV_WC_WITH_INV:
        words += ["invalidated", "the key" if found.imm_data == key else "another key"]
    say(*words)


# ---- what succeeds -------------------------------------------------------------

def one_by_one(mtu):
    """Each kind of request at each length, one after the other."""
    for opcode in (e.IBV_WR_SEND, e.IBV_WR_SEND_WITH_IMM, e.IBV_WR_RDMA_WRITE,
                   e.IBV_WR_RDMA_WRITE_WITH_IMM, e.IBV_WR_RDMA_READ):
        takes = opcode not in (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ)
        with Scene(f"opcode {opcode}", mtu, but=ACKS) as scene:
            for index, length in enumerate(LENGTHS):
                if takes:
                    scene.receive(wr_id=100 + index, offset=index)
                scene.ask(opcode, length, index, offset=3 * index, skip=5 * index,
                          imm=0xabcd00 + index if takes and opcode != e.IBV_WR_SEND else 0)
                scene.sent()
                if takes:
                    scene.received()


def pieces(mtu):
    """Payload that is gathered from four places, and scattered over three."""
    with Scene("pieces", mtu, but=ACKS) as scene:
        spread = [Bench.here.sge(*piece) for piece in ((1, 0), (5000, 10), (0, 0), (70001, 6000))]
        for opcode in (e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ):
            if opcode == e.IBV_WR_SEND:
                scene.there.receive([Bench.there.sge(*piece) for piece in
                                     ((3, 200000), (66000, 0), (10000, 100001))], wr_id=7)
            scene.ask(opcode, 0, sges=spread, skip=1)
            scene.sent()
        scene.received()


def inline(mtu):
    """Payload in the request itself."""
    with Scene("inline", mtu) as scene:
        for index, length in enumerate((0, 1, 64, INLINE)):
            scene.receive(wr_id=index)
            for opcode in (e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE):
                scene.ask(opcode, 0, index, skip=1000, flags=SIGNALED | e.IBV_SEND_INLINE,
                          sges=[Bench.here.sge(length, 8, lkey=0)])
            Bench.here.put(bytes([index]) * INLINE)
            scene.sent(2)
            scene.received()


def atomics(mtu):
    """What was there is the result."""
    with Scene("atomics", mtu, but=ACKS) as scene:
        Bench.there.put(struct.pack("=QQ", 41, (1 << 64) - 1))
        for opcode, offset, compare_add, swap in (
                (e.IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 1, 0),
                (e.IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 3, 0),
                (e.IBV_WR_ATOMIC_CMP_AND_SWP, 0, 42, 7),
                (e.IBV_WR_ATOMIC_CMP_AND_SWP, 0, 42, 8)):
            scene.atomic(opcode, compare_add, swap, offset=offset)
            scene.sent()
            say("result", *struct.unpack("=Q", Bench.here.get(8)),
                "there", *struct.unpack("=QQ", Bench.there.get(16)))


def many(mtu):
    """Forty of all kinds at once; every third is not asked for a completion. What a READ brings
    is where nothing else is sent from: they are not fenced."""
    with Scene("many", mtu) as scene:
        for index in range(10):
            scene.receive(length=8192, wr_id=100 + index, offset=8192 * index)
        for index in range(40):
            flags = SIGNALED if index % 3 or index == 39 else 0
            opcode = (e.IBV_WR_RDMA_WRITE, e.IBV_WR_SEND, e.IBV_WR_RDMA_READ,
                      e.IBV_WR_RDMA_WRITE)[index % 4]
            offset = (SIZE // 2 if opcode == e.IBV_WR_RDMA_READ else 0) + 16 * index
            scene.ask(opcode, 700 * (index % 11), index, offset=offset, flags=flags,
                      skip=90000 + 4096 * index)
        scene.sent(40 - 13)
        scene.received(10)


def invalidated(mtu):
    """A SEND takes the peer's key away; who uses it afterwards is refused."""
    with Scene("invalidated", mtu) as scene:
        window = Window(scene.there, Bench.there)
        by_key = {"remote": Bench.there.address, "rkey": window.rkey}
        scene.receive(wr_id=5, offset=4096)
        scene.ask(e.IBV_WR_RDMA_WRITE, 64, 1, **by_key)
        scene.ask(e.IBV_WR_SEND_WITH_INV, 5000, 2, invalidate=window.rkey)
        scene.sent(2)
        scene.received(key=window.rkey)
        scene.ask(e.IBV_WR_RDMA_WRITE, 64, 3, **by_key)
        scene.ask(e.IBV_WR_SEND, 64, 4)
        scene.sent(2)
    window.close()


# ---- what does not -------------------------------------------------------------

def refused(mtu, name, post, receives=2, **options):
    """Good ones, the one that fails, and others that are flushed, at both ends."""
    with Scene(name, mtu, **options) as scene:
        scene.ask(e.IBV_WR_RDMA_WRITE, 5000, 1, skip=5000)
        scene.ask(e.IBV_WR_RDMA_WRITE, 64, 2, skip=20000)
        scene.sent(2)
        for index in range(receives):
            scene.receive(length=2048, wr_id=100 + index, offset=2048 * index)
        scene.ask(e.IBV_WR_RDMA_WRITE, 9000, 3, skip=30000)
        post(scene)
        scene.ask(e.IBV_WR_RDMA_WRITE, 64, 5)
        scene.ask(e.IBV_WR_SEND, 64, 6, flags=0)
        scene.ask(e.IBV_WR_RDMA_READ, 64, 7)
        scene.sent(5)
        scene.received(receives)
        scene.ask(e.IBV_WR_RDMA_WRITE, 64, 8)
        scene.sent()


def errors(mtu):
    """Requests that the peer refuses."""
    add = e.IBV_WR_ATOMIC_FETCH_AND_ADD
    for name, opcode in (("WRITE", e.IBV_WR_RDMA_WRITE), ("READ", e.IBV_WR_RDMA_READ)):
        for length in (64, 6000):
            refused(mtu, f"{name} of {length} by a bad key",
                    lambda s, o=opcode, n=length: s.ask(o, n, 4, key=0x100))
            refused(mtu, f"{name} of {length} across the end",
                    lambda s, o=opcode, n=length: s.ask(o, n, 4, skip=SIZE - 32))
    refused(mtu, "READ without the right", lambda s: s.ask(e.IBV_WR_RDMA_READ, 64, 4),
            far_access=WRITE)
    refused(mtu, "FETCH ADD by a bad key", lambda s: s.atomic(add, 1, wr_id=4, key=0x100))
    refused(mtu, "FETCH ADD without the right", lambda s: s.atomic(add, 1, wr_id=4),
            far_access=READ | WRITE)
    refused(mtu, "SEND by one byte too long", lambda s: s.ask(e.IBV_WR_SEND, 2049, 4))
    refused(mtu, "SEND by many packets too long", lambda s: s.ask(e.IBV_WR_SEND, 50000, 4))
    refused(mtu, "SEND that takes away a key that is none",
            lambda s: s.ask(e.IBV_WR_SEND_WITH_INV, 64, 4, invalidate=Bench.there.rkey ^ 0x100))
    for length in (64, 6000):
        refused(mtu, f"SEND of {length} to a receive by a bad key",
                lambda s, n=length: (s.there.receive([Bench.there.sge(8192, lkey=0)], wr_id=99),
                                     s.ask(e.IBV_WR_SEND, n, 4)), receives=0)


def local_errors(mtu):
    """Requests that who asks cannot make, or whose responses he cannot place."""
    for name, opcode in (("SEND", e.IBV_WR_SEND), ("WRITE", e.IBV_WR_RDMA_WRITE),
                         ("READ", e.IBV_WR_RDMA_READ)):
        for length in (64, 6000):
            bad = Bench.here.lkey ^ 0x100
            with Scene(f"{name} of {length} by a bad key here", mtu) as scene:
                scene.receive(wr_id=9)
                scene.ask(opcode, 0, 1, sges=[Bench.here.sge(length, lkey=bad)])
                scene.ask(e.IBV_WR_RDMA_WRITE, 64, 2)
                scene.sent(2)


def not_ready(mtu):
    """No receive: after so many times who asks gives up. Or it comes late."""
    for retries in (0, 2):
        for length in (64, 6000):
            with Scene(f"SEND of {length} without a receive, {retries} times again", mtu,
                       rnr_retry=retries) as scene:
                scene.ask(e.IBV_WR_SEND, length, 1)
                scene.ask(e.IBV_WR_RDMA_WRITE, 64, 2)
                scene.sent(2)
    # code 0: 655 ms. How often that goes by before the receive is there is a matter of time.
    with Scene("WRITE with a receive that comes late", mtu, rnr_timer=0,
               but=BY_CHANCE | {"send_rnr_err", "rcvd_rnr_err", "resend_rnr"}) as scene:
        scene.ask(e.IBV_WR_RDMA_WRITE_WITH_IMM, 6000, 1, imm=7)
        scene.ask(e.IBV_WR_RDMA_WRITE, 64, 2)
        end = time.monotonic() + verbs.PATIENCE
        while counters(Bench.far)["send_rnr_err"] == scene.before[-1]["send_rnr_err"]:
            if time.monotonic() > end:
                sys.exit("within.py: no RNR NAK")
        scene.receive(wr_id=3)
        scene.sent(2)
        scene.received()


def gone(mtu):
    """A peer in its error state does not answer."""
    with Scene("a peer in error", mtu, timeout=8, retry=2) as scene:
        scene.there.qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
        scene.ask(e.IBV_WR_RDMA_WRITE, 6000, 1)
        scene.ask(e.IBV_WR_RDMA_READ, 6000, 2)
        scene.sent(2)


def main():
    """All of it."""
    Bench.setup(*sys.argv[1:5])
    for mtu in (1024, 4096):
        for part in (one_by_one, pieces, inline, atomics, many):
            part(mtu)
    for part in (invalidated, errors, local_errors, not_ready, gone):
        part(1024)
    say("end")


main()
