# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets that are nearly right, and memory that shows what they have touched.

FUZZ_SEED=N repeats a run, FUZZ_PACKETS=N sets how many packets each case sends.
"""

import ctypes
import mmap
import os
import random
import struct
import sys

import roce
import verbs
from harness import check, equal
from stranger import MTU, SIZE

SEED = int(os.environ.get("FUZZ_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
PACKETS = int(os.environ.get("FUZZ_PACKETS", "1500"))
PAGE = 4096
LENGTHS = [0, 1, 3, 4, 8, MTU - 1, MTU, MTU + 1, 2 * MTU, SIZE, (1 << 31) - 1, 1 << 31,
           (1 << 31) + 1, (1 << 32) - 1]
NEAR_PSN = [0, 0, 0, 0, 1, 2, -1, -2, -5, 100, (1 << 23) - 1, 1 << 23, 1 << 22]
NASTY = [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff]
# Where the BTH has the number of the queue pair
NUMBER = (5, 6, 7)


class Island:
    """Memory offered to the peer, with memory around it that is not."""

    def __init__(self, pd):
        self.map = mmap.mmap(-1, SIZE + 2 * PAGE)
        self.base = ctypes.c_char.from_buffer(self.map)
        self.guard = random.Random(7).randbytes(PAGE)
        self.map[:PAGE] = self.map[-PAGE:] = self.guard
        self.address = ctypes.addressof(self.base) + PAGE
        self.mr = verbs.MR(pd, SIZE, verbs.ALL, address=self.address)
        self.secret = verbs.Memory(pd, PAGE, verbs.LOCAL)
        self.secret.put(self.guard)

    def untouched(self):
        """Nothing but the island has changed."""
        check(self.map[:PAGE] == self.guard and self.map[-PAGE:] == self.guard,
              "bytes beside the registered memory were written")
        equal(self.secret.get(PAGE), self.guard, "memory that nobody may write to")

    def close(self):
        """Deregister."""
        self.mr.close()
        self.secret.close()


class Damage:
    """What is done to packets, drawn from a seed."""

    def __init__(self, salt):
        self.random = random.Random(SEED + salt)
        print(f"fuzz seed {SEED}", file=sys.stderr, flush=True)

    def reth(self, island):
        """A RETH of which mostly one part is wrong."""
        rnd = self.random
        offset = rnd.choice([0, 0, 4, MTU, SIZE - 4, SIZE, -4, rnd.getrandbits(64)])
        key = rnd.choice([island.mr.rkey] * 6 + [island.secret.rkey, rnd.getrandbits(32)])
        return roce.reth(island.address + offset & (1 << 64) - 1, key, rnd.choice(LENGTHS))

    def body(self, good, opcodes, fixed=NUMBER):
        """A copy of BTH to pad in which mostly one thing is wrong; some bytes stay."""
        rnd = self.random
        made = bytearray(good)
        kind = rnd.randrange(12)
        if kind == 0:
            made[0] = rnd.choice(opcodes)
        elif kind == 1:
            made[rnd.choice([1, 1, 2, 3, 4])] = rnd.choice(NASTY + [rnd.getrandbits(8)])
        elif kind == 2:
            made[rnd.randrange(8, 12)] = rnd.choice(NASTY)
        elif kind == 3 and len(made) > roce.BTH_LEN:
            for _ in range(rnd.randrange(1, 5)):
                made[rnd.randrange(roce.BTH_LEN, min(len(made), 64))] = rnd.choice(NASTY)
        elif kind == 4:
            made = made[:rnd.choice([rnd.randrange(len(made)), len(made) & ~3, len(made) - 4])]
        elif kind == 5:
            made += rnd.randbytes(rnd.choice([1, 4, 4, 8, 16, 60, 64]))
        elif kind == 6:
            for _ in range(rnd.randrange(1, 4)):
                made[rnd.randrange(len(made))] ^= 1 << rnd.randrange(8)
        for at in fixed:
            if at < len(made):
                made[at] = good[at]
        return bytes(made)

    def frame(self, path, body):
        """A frame around it, mostly with a right ICRC, rarely with a wrong outside."""
        rnd = self.random
        frame = bytearray(path.summed(body, rnd.getrandbits(16)))
        kind = rnd.randrange(20)
        if kind == 0:
            frame[-1 - rnd.randrange(4)] ^= 1 << rnd.randrange(8)
        elif kind == 1:
            frame[rnd.randrange(14, min(len(frame), 14 + 48))] ^= 1 << rnd.randrange(8)
            if path.src.version == 4:
                frame[24:26] = b"\0\0"
                frame[24:26] = struct.pack(">H", roce.ip_checksum(frame[14:34]))
        return bytes(frame)


def heard(path, frame):
    """BTH to pad of a frame, if nothing is wrong with what is around it; or None."""
    ip = frame[14:]
    udp = 20 if path.src.version == 4 else 40
    if (ip[0] != 0x45 if udp == 20 else ip[0] >> 4 != 6) or any(ip[udp + 6:udp + 8]):
        return None
    if len(ip) < udp + 8 + roce.BTH_LEN + roce.ICRC_LEN:
        return None
    return ip[udp + 8:-4] if roce.icrc(ip[:-4]) == ip[-4:] else None


def sound_bth(body):
    """Whether version and partition are right, and the length is one of packets."""
    pkey = struct.unpack_from(">H", body, 2)[0]
    return not body[1] & 15 and pkey & 0x7fff == 0x7fff and not len(body) & 3


def datagram(body, qkey):
    """Payload and immediate data of a datagram for a queue pair with that Q_Key, or None."""
    kind = body[0] ^ roce.UD
    headers = roce.BTH_LEN + 8 + (4 if kind == roce.SEND_ONLY_IMM else 0)
    pad = body[1] >> 4 & 3
    if (kind not in (roce.SEND_ONLY, roce.SEND_ONLY_IMM) or not sound_bth(body)
            or not headers + pad <= len(body) <= headers + 4096
            or struct.unpack_from(">I", body, roce.BTH_LEN)[0] != qkey):
        return None
    return body[headers:len(body) - pad], body[roce.BTH_LEN + 8:headers]
