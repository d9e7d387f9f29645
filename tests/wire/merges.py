#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Which packets are merged on receipt (GRO), and that each of them is still its own.

Two packets come to the device under test in one poll: they are merged, or both go up alone.
Either way both are executed. That they come in one poll is no matter of time: a thread polls,
on our processor, and we do not leave it until both are sent.
"""

import contextlib
import os
import subprocess

import roce
from harness import Skip, case, equal, main
from stranger import Far, Stranger

LENGTH = 64
NAMES = ("rcvd_pkts", "rx_merged", "icrc_errors", "rx_malformed")
# The processor that polls
CPU = min(os.sched_getaffinity(0))
# Offsets in a frame: IPv4 flags, the ICRC from the end
FLAGS = 14 + 6


def ip_netns(namespace, *command):
    """What a command prints there."""
    return subprocess.run(["ip", "netns", "exec", namespace, *command], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


class Merging:
    """The end under test merges what its threads poll."""

    why_not = None

    @classmethod
    def begin(cls):
        """Make it so; before 5.13 a veth device always says that it merges, and does not."""
        Far.setup()
        if "generic-receive-offload: on" in ip_netns("ns2", "ethtool", "-k", "veth1"):
            cls.why_not = "the veth devices of this kernel poll with an XDP program only"
            return
        ip_netns("ns1", "ethtool", "-K", "veth0", "tso", "off")
        ip_netns("ns2", "ethtool", "-K", "veth1", "gro", "on")
        cls.threads(1)
        for name in ip_netns("ns2", "pgrep", "^napi/veth1-").split():
            os.sched_setaffinity(int(name), {CPU})

    @classmethod
    def end(cls):
        """As it was."""
        if not cls.why_not:
            cls.threads(0)
            ip_netns("ns2", "ethtool", "-K", "veth1", "gro", "off")
            ip_netns("ns1", "ethtool", "-K", "veth0", "tso", "on")

    @staticmethod
    def threads(how):
        """Who polls."""
        ip_netns("ns2", "sh", "-c", f"echo {how} >/sys/class/net/veth1/threaded")

    @staticmethod
    @contextlib.contextmanager
    def waiting():
        """Its threads do not run meanwhile: we are in their place. A queue is its processor's."""
        cpus = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {CPU})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        try:
            yield
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            os.sched_setaffinity(0, cpus)


class Pair(Stranger):
    """Two WRITEs in a row, the second asks for an ACK."""

    def __init__(self, **options):
        if Merging.why_not:
            raise Skip(Merging.why_not)
        super().__init__(**options)
        self.memory.put(bytes(4 * LENGTH))
        self.before = self.counters()
        self.contents = [b"", b""]

    def counters(self):
        """Values by name."""
        return {name: self.device.counter(name) for name in NAMES}

    def one(self, index, length=LENGTH, ident=None, tos=0, ttl=64, fragment=None, **fields):
        """Frame of the first or second WRITE."""
        payload = bytes([0x41 + index]) * length
        self.contents[index] = payload
        fields.setdefault("ackreq", index == 1)
        fields.setdefault("psn", roce.psn_add(self.psn, index))
        self.ident = 10 + index if ident is None else ident
        self.to.tos, self.to.ttl = tos, ttl
        text = roce.message(roce.WRITE_ONLY, self.number, fields.pop("psn"),
                            self.reth(length, index * 2 * LENGTH), payload, **fields)
        frame = bytearray(self.to.summed(text, self.ident))
        if fragment is not None:
            ip = frame[14:-roce.ICRC_LEN]
            ip[FLAGS - 14:FLAGS - 12] = fragment.to_bytes(2, "big")
            ip[10:12] = bytes(2)
            ip[10:12] = roce.ip_checksum(ip[:20]).to_bytes(2, "big")
            frame[14:] = ip + roce.icrc(ip)
        return bytes(frame)

    def in_a_row(self, *frames):
        """Send them so that one poll finds them all."""
        with Merging.waiting():
            for frame in frames:
                self.tap.send(frame)

    def counted(self, merged, packets=2, wrong=0):
        """So many packets came, and so many of them merged."""
        after = self.counters()
        wanted = {"rcvd_pkts": packets, "rx_merged": merged, "icrc_errors": wrong, "rx_malformed": 0}
        for name in NAMES:
            equal(after[name] - self.before[name], wanted[name], name)

    def both(self, merged, acks=1, first=None, second=None):
        """Send two; they are executed in order and acknowledged."""
        self.in_a_row(self.one(0, **(first or {})), self.one(1, **(second or {})))
        if acks == 2:
            self.msn = 1
            self.acked()
        self.msn = 2
        self.acked(roce.psn_add(self.psn, 1))
        for index, payload in enumerate(self.contents):
            equal(self.memory.get(len(payload), index * 2 * LENGTH), payload, f"WRITE {index}")
        self.counted(merged)
        self.step(2, 0)
        self.to.tos, self.to.ttl = 0, 64
        self.good_write()


@case("in-a-row")
def in_a_row():
    """One behind the other: PSN and identification go on."""
    with Pair() as test:
        test.both(2)


@case("ident-constant")
def ident_constant():
    """All of one identification, as some cards send what must not be fragmented."""
    with Pair() as test:
        test.both(2 if roce.idents_kept() else 0, first={"ident": 0}, second={"ident": 0})


@case("ident-wraps")
def ident_wraps():
    """0 comes behind 65535."""
    with Pair() as test:
        test.both(2, first={"ident": 0xffff}, second={"ident": 0})


@case("ident-constant-fragments")
def ident_constant_fragments():
    """Without DF they would be fragments of one datagram, once they are sent on."""
    with Pair() as test:
        test.both(0, first={"ident": 7, "fragment": 0}, second={"ident": 7, "fragment": 0})


@case("fragments")
def fragments():
    """Without DF, but each with its own identification."""
    with Pair() as test:
        test.both(2, first={"fragment": 0}, second={"fragment": 0})


@case("fragments-differ")
def fragments_differ():
    """With DF and without."""
    with Pair() as test:
        test.both(0, second={"fragment": 0})


@case("ident-jumps")
def ident_jumps():
    """A packet of somebody else took an identification in between."""
    with Pair() as test:
        test.both(0, second={"ident": 12})


@case("tos")
def tos():
    """Of other TOS: ECT(0) and ECT(1)."""
    with Pair() as test:
        test.both(0, first={"tos": 2}, second={"tos": 1})


@case("ttl")
def ttl():
    """By another route."""
    with Pair() as test:
        test.both(0, second={"ttl": 63})


@case("shorter")
def shorter():
    """The last one may be shorter, and odd."""
    with Pair() as test:
        test.both(2, second={"length": 5})


@case("longer")
def longer():
    """It may not be longer."""
    with Pair() as test:
        test.both(0, second={"length": LENGTH + 4})


@case("asks-first")
def asks_first():
    """Nothing is merged to who asks for an ACK."""
    with Pair() as test:
        test.both(0, acks=2, first={"ackreq": True})


@case("duplicate")
def duplicate():
    """The same PSN again."""
    with Pair() as test:
        test.in_a_row(test.one(0), test.one(1, psn=test.psn))
        test.msn = 1
        test.acked()
        test.counted(0)


@case("ipv6")
def ipv6():
    """There are no identifications."""
    with Pair(version=6) as test:
        test.both(2)


@case("ipv6-class")
def ipv6_class():
    """Of another traffic class."""
    with Pair(version=6) as test:
        test.both(0, first={"tos": 2}, second={"tos": 1})


@case("ipv6-shorter")
def ipv6_shorter():
    """The last one is shorter."""
    with Pair(version=6) as test:
        test.both(2, second={"length": 1})


@case("wrong-sum")
def wrong_sum():
    """One of two that were merged is damaged: the other one is not."""
    with Pair() as test:
        good = test.one(1)
        test.in_a_row(test.one(0), good[:-9] + bytes([good[-9] ^ 1]) + good[-8:])
        test.silent()
        test.counted(2, wrong=1)
        equal(test.memory.get(LENGTH), test.contents[0], "the first one")
        equal(test.memory.get(LENGTH, 2 * LENGTH), bytes(LENGTH), "memory for the second one")
        test.tap.send(good)
        test.msn = 2
        test.acked(roce.psn_add(test.psn, 1))
        equal(test.memory.get(LENGTH, 2 * LENGTH), test.contents[1], "the second one")


@case("partition")
def partition():
    """Of another partition: it is not merged, and nobody but the first one gets in."""
    with Pair() as test:
        before = test.device.counter("rx_bad_pkey")
        test.in_a_row(test.one(0), test.one(1, pkey=0x1234))
        test.silent()
        test.counted(0, packets=1)
        equal(test.device.counter("rx_bad_pkey") - before, 1, "rx_bad_pkey")
        equal(test.memory.get(LENGTH), test.contents[0], "the first one")
        equal(test.memory.get(LENGTH, 2 * LENGTH), bytes(LENGTH), "memory for the second one")
        test.tap.send(test.one(1, pkey=0x7fff))
        test.msn = 2
        test.acked(roce.psn_add(test.psn, 1))
        equal(test.memory.get(LENGTH, 2 * LENGTH), test.contents[1], "the second one")


try:
    main("merges", Merging.begin)
finally:
    Merging.end()
