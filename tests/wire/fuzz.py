#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Thousands of damaged packets against a living connection.

FUZZ_SEED and FUZZ_PACKETS: see damage.py. Other services have mutants.py.
What must hold afterwards: every answer was a sound packet, no byte outside of
what the device offered has changed, a fresh connection works, and the kernel
log is clean.
"""

import struct

import pyverbs.enums as e
from pyverbs.pyverbs_error import PyverbsError

import roce
import stranger
import verbs
import wire
from damage import NEAR_PSN, PACKETS, Damage, Island
from harness import case, check, main
from stranger import MTU, Far, Stranger


class Fuzzer:
    """Makes packets that are nearly right."""

    def __init__(self, version, salt):
        self.damage = Damage(salt)
        self.random = self.damage.random
        self.version = version
        self.pd = Far.device[version].pd
        self.island = Island(self.pd)
        self.test = None
        self.connections = self.answers = 0
        self.connect()

    def connect(self):
        """A new connection, with receives and requests of its own."""
        if self.test:
            self.look()
            self.test.__exit__()
        self.test = Stranger(self.version, timeout=12, retry=3)
        self.connections += 1
        for index in range(32):
            self.test.queue.receive([verbs.SGE(self.island.address + index * MTU,
                                               self.random.choice([0, 64, MTU, 2 * MTU]),
                                               self.island.mr.lkey)], wr_id=index)
        for opcode in (e.IBV_WR_RDMA_READ, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ):
            self.test.queue.send(opcode, [verbs.SGE(self.island.address, 3 * MTU,
                                                    self.island.mr.lkey)],
                                 remote=0x1000, rkey=1)

    def look(self):
        """Every answer is sound in itself."""
        found = [p for p in self.test.tap.drain() if str(p.src) == self.test.device.address]
        wire.sound(found)
        self.answers += len(found)

    def extended(self, opcode):
        """Extended headers of an opcode."""
        rnd, made = self.random, b""
        for header in roce.HEADERS.get(opcode, []):
            if header == "reth":
                made += self.damage.reth(self.island)
            elif header == "aeth":
                syndrome = rnd.choice([0x1f] * 4 + [0x60, 0x61, 0x62, 0x63, 0x21, 0x3f,
                                                    rnd.getrandbits(8)])
                made += roce.aeth(syndrome, rnd.getrandbits(24))
            elif header == "atmeth":
                made += self.damage.reth(self.island)[:12] + rnd.randbytes(16)
            else:
                made += rnd.randbytes(roce.EXTENDED[header])
        return made

    def packet(self):
        """BTH to pad."""
        rnd, test = self.random, self.test
        opcode = rnd.choice(sorted(roce.KNOWN)) if rnd.random() < 0.9 else rnd.getrandbits(8)
        base = stranger.THEIRS if opcode in roce.RESPONSES else test.psn
        data = rnd.randbytes(rnd.choice([0, 0, 1, 4, 64, MTU - 4, MTU, MTU, MTU + 4, 4096]))
        made = bytearray(roce.message(
            opcode, test.number, base + rnd.choice(NEAR_PSN), self.extended(opcode), data,
            pad=None if rnd.random() < 0.9 else rnd.randrange(4), ackreq=rnd.random() < 0.5,
            se=rnd.random() < 0.1, pkey=0xffff if rnd.random() < 0.95 else rnd.getrandbits(16)))
        kind = rnd.random()
        if kind < 0.15:
            for _ in range(rnd.randrange(1, 4)):
                at = rnd.randrange(len(made))
                if at not in (5, 6, 7):  # the queue pair's number
                    made[at] ^= 1 << rnd.randrange(8)
        elif kind < 0.25:
            made = made[:rnd.randrange(len(made))]
        elif kind < 0.3:
            made += rnd.randbytes(rnd.randrange(1, 64))
        return bytes(made)

    def frame(self):
        """A frame, mostly with a right ICRC, rarely with a wrong outside."""
        rnd, path = self.random, self.test.to
        frame = bytearray(path.summed(self.packet(), rnd.getrandbits(16)))
        if rnd.random() < 0.05:
            frame[rnd.randrange(14, min(len(frame), 14 + 48))] ^= 1 << rnd.randrange(8)
            if path.src.version == 4:
                frame[24:26] = b"\0\0"
                frame[24:26] = struct.pack(">H", roce.ip_checksum(frame[14:34]))
        return bytes(frame)

    def run(self):
        """Send them all."""
        for index in range(PACKETS):
            if index % 8 == 0:
                attr = self.test.queue.qp.query(e.IBV_QP_STATE | e.IBV_QP_RQ_PSN)[0]
                if attr.qp_state == e.IBV_QPS_ERR:
                    self.connect()
                else:
                    self.test.psn = attr.rq_psn
            self.test.tap.send(self.frame())
        self.look()
        self.test.__exit__()
        self.island.untouched()
        self.island.close()
        check(self.answers > PACKETS / 20, f"only {self.answers} answers, the packets are too bad")
        check(self.connections > 3, f"only {self.connections} connections were broken")
        with Stranger(self.version) as test:
            test.good_write()


@case("ipv4")
def ipv4():
    """Over IPv4."""
    Fuzzer(4, 0).run()


@case("ipv6")
def ipv6():
    """Over IPv6."""
    Fuzzer(6, 1).run()


@case("answers-in-a-storm")
def storm():
    """The same packets while the device's own requests go out all the time."""
    fuzzer = Fuzzer(4, 2)
    test = fuzzer.test
    for index in range(PACKETS // 3):
        if index % 8 == 0:
            if test.queue.in_error():
                fuzzer.connect()
                test = fuzzer.test
            try:
                test.queue.send(e.IBV_WR_RDMA_WRITE, [verbs.SGE(
                    fuzzer.island.address, 2 * MTU, fuzzer.island.mr.lkey)], remote=0x1000, rkey=1)
            except PyverbsError:
                pass  # the send queue is full
            for found in test.tap.drain():
                if str(found.src) == test.device.address and not fuzzer.random.randrange(4):
                    test.ack_psn = found.psn
        psn = getattr(test, "ack_psn", stranger.THEIRS)
        opcode = fuzzer.random.choice(sorted(roce.RESPONSES))
        test.tap.send(test.frame(opcode, fuzzer.extended(opcode),
                                 fuzzer.random.randbytes(fuzzer.random.choice([0, 0, 64, MTU])),
                                 psn=psn + fuzzer.random.choice(NEAR_PSN)))
    test.__exit__()
    fuzzer.island.untouched()
    fuzzer.island.close()
    with Stranger(4) as fresh:
        fresh.good_write()


if __name__ == "__main__":
    main("fuzz", Far.setup)
