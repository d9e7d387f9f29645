#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Damaged packets for everything that a stranger may send to, but for RC: see fuzz.py.

QP 1 has a known number and a known key; datagrams are taken from anybody, and so are those
for a group; a notification of congestion needs no PSN. FUZZ_SEED and FUZZ_PACKETS: see
damage.py.

Which datagrams and notifications are as they must be follows from their bytes, so that what
is received, and what is counted, is known exactly. Between the damaged ones there are always
sound ones, which must arrive.
"""

import struct
import time

import pyverbs.enums as e

import roce
import verbs
import wire
from damage import NASTY, NUMBER, PACKETS, PAGE, Damage, Island, datagram, heard, sound_bth
from harness import case, check, equal, main
from stranger import (GRH, GSI, GSI_QKEY, MTU, OUR_QPN, QKEY, SIZE, Datagrams, Far, Stranger,
                      Unreliable, deth, mad, view)

# Damaged packets between two that are sound, and how many there are of a case
BATCH = 8
BATCHES = max(PACKETS // BATCH, 4)
# A datagram's place in memory: the longest, and bytes behind it that stay as they are
PLACE = 4224
EMPTY = b"\xee"
ROOMS = [GRH, GRH + 1, GRH + 3, GRH + 4, GRH + 32, GRH + 1000, GRH + 4096, GRH + 4096]
QKEYS = [QKEY] * 8 + [QKEY + 1, QKEY ^ 1 << 31, 0, GSI_QKEY]
UD_OPCODES = [roce.UD | opcode for opcode in range(0, 12)] + [0, 4, 0x0a, 0x0c, 0x24, 0x81, 0xff]


class Inbox:
    """Receives of a datagram queue pair, and what they must hold."""

    def __init__(self, queue, pd, rnd):
        self.queue, self.random = queue, rnd
        self.places = 4 * BATCH
        self.memory = verbs.Memory(pd, self.places * PLACE)
        self.posted, self.wanted, self.next = [], [], 0

    def fill(self):
        """Post receives for a batch; the GRH and the payload may end anywhere in them."""
        while len(self.posted) < 2 * BATCH:
            self.post(self.random.choice(ROOMS))

    def post(self, room):
        """Post one, cut into up to three elements."""
        place = self.next % self.places
        cuts = sorted([0, room] + [self.random.randrange(room + 1) for _ in range(2)])
        self.memory.put(EMPTY * PLACE, place * PLACE)
        self.queue.receive([self.memory.sge(end - start, place * PLACE + start)
                            for start, end in zip(cuts, cuts[1:])], wr_id=self.next)
        self.posted.append((self.next, room))
        self.next += 1

    def expect(self, path, frame, number, qkey):
        """A frame is about to come; whether it is a datagram that must be received."""
        body = heard(path, frame)
        found = body and struct.unpack_from(">I", body, 4)[0] & 0xffffff == number \
            and datagram(body, qkey)
        # what is too long for the next receive is dropped, and may not take it
        if not found or GRH + len(found[0]) > self.posted[0][1]:
            return False
        wr_id = self.posted.pop(0)[0]
        source = struct.unpack_from(">I", body, roce.BTH_LEN + 4)[0] & 0xffffff
        grh = bytes(20) + frame[14:34] if path.src.version == 4 else frame[14:54]
        self.wanted.append((wr_id, source, grh, *found))
        return True

    def compare(self):
        """All that must be received, in order, is."""
        for wr_id, source, grh, payload, imm in self.wanted:
            done = self.queue.received()
            equal((done.status, done.wr_id, done.byte_len, done.src_qp),
                  (0, wr_id, GRH + len(payload), source), "receive")
            check(done.wc_flags & e.IBV_WC_GRH, "a receive without IBV_WC_GRH")
            equal(bool(done.wc_flags & e.IBV_WC_WITH_IMM), bool(imm), "IBV_WC_WITH_IMM")
            if imm:
                equal(done.imm_data, struct.unpack("=I", imm)[0], "immediate data")
            equal(self.memory.get(PLACE, wr_id % self.places * PLACE),
                  (grh + payload).ljust(PLACE, EMPTY), "GRH, payload and what is behind them")
        self.wanted.clear()

    def close(self):
        """Nothing else has come."""
        self.queue.no_completion(self.queue.rcq, "a datagram that is none")
        self.memory.close()


def good_datagram(rnd, number, qkey):
    """BTH to pad of a datagram, but for its Q_Key perhaps."""
    imm = rnd.randbytes(4) if rnd.randrange(2) else b""
    opcode = roce.UD | (roce.SEND_ONLY_IMM if imm else roce.SEND_ONLY)
    data = rnd.randbytes(rnd.choice([0, 0, 1, 2, 3, 4, 4, 31, 32, 33, 960, 1000, 4095, 4096, 4097]))
    return roce.message(opcode, number, rnd.getrandbits(24), deth(qkey, rnd.getrandbits(24)) + imm,
                        data, se=bool(rnd.randrange(2)))


def datagrams(damage, test, path, number, inboxes):
    """Batches of datagrams for these inboxes, all of which get all."""
    rnd, received = damage.random, 0
    for index in range(BATCHES):
        for inbox in inboxes:
            inbox.fill()
        frames = [damage.frame(path, damage.body(good_datagram(rnd, number, rnd.choice(QKEYS)),
                                                 UD_OPCODES)) for _ in range(BATCH)]
        # it fits into every receive
        frames.append(path.summed(roce.message(roce.UD | roce.SEND_ONLY_IMM, number, index,
                                               deth(QKEY, OUR_QPN) + struct.pack(">I", index))))
        for frame in frames:
            for inbox in inboxes:
                received += inbox.expect(path, frame, number, QKEY)
            test.tap.send(frame)
        for inbox in inboxes:
            inbox.compare()
    received = received // len(inboxes) - BATCHES
    print(f"# {received} of {BATCHES * BATCH} damaged datagrams are to be received")
    check(BATCHES * BATCH / 20 < received < BATCHES * BATCH * 19 / 20,
          f"{received} of {BATCHES * BATCH} datagrams are received: too many are the same")


def alone(test):
    """Nobody answers datagrams, and who has received them is in order."""
    test.silent()
    equal(test.queue.state(), e.IBV_QPS_RTS, "state")


def ud(version):
    """Datagrams of all lengths and with all keys, into receives of all lengths."""
    damage = Damage(version)
    with Datagrams(version) as test:
        inbox = Inbox(test.queue, test.device.pd, damage.random)
        datagrams(damage, test, test.to, test.number, [inbox])
        alone(test)
        inbox.close()


@case("ud-ipv4")
def ud_ipv4():
    """Over IPv4."""
    ud(4)


@case("ud-ipv6")
def ud_ipv6():
    """Over IPv6."""
    ud(6)


@case("ud-no-room-for-a-grh")
def ud_no_room():
    """Receives that end before the GRH does: nothing is written, and they stay."""
    for room in (0, 1, GRH // 2, GRH - 1):
        damage = Damage(room)
        with Datagrams() as test:
            inbox = Inbox(test.queue, test.device.pd, damage.random)
            inbox.post(room)
            before = test.device.counter("rx_no_buffer")
            for length in (0, 1, 4096):
                test.put(bytes(length))
            end = time.monotonic() + verbs.PATIENCE
            while test.device.counter("rx_no_buffer") < before + 3:
                check(time.monotonic() < end, "rx_no_buffer does not count")
            equal(inbox.memory.get(PLACE), EMPTY * PLACE, "memory")
            alone(test)
            inbox.close()


GROUPS = {4: ("239.1.9.9", "01:00:5e:01:09:09"), 6: ("ff0e::9:9", "33:33:00:09:00:09")}
EVERYBODY = 0xffffff


class Member(Datagrams):
    """A datagram queue pair that is in the group."""

    def __init__(self, version=4):
        super().__init__(version)
        self.address, mac = GROUPS[version]
        self.queue.group(verbs.gid_bytes(self.address))
        self.everybody = roce.Path(wire.NEAR_MAC, mac, self.near, self.address, 0xc123)

    def __exit__(self, *_):
        self.queue.group(verbs.gid_bytes(self.address), join=False)
        super().__exit__()


def group(version):
    """Datagrams for a group that two queue pairs have joined."""
    damage = Damage(20 + version)
    with Member(version) as one, Member(version) as two:
        inboxes = [Inbox(member.queue, member.device.pd, damage.random) for member in (one, two)]
        datagrams(damage, one, one.everybody, EVERYBODY, inboxes)
        for member, inbox in zip((one, two), inboxes):
            alone(member)
            inbox.close()


@case("group-ipv4")
def group_ipv4():
    """Over IPv4."""
    group(4)


@case("group-ipv6")
def group_ipv6():
    """Over IPv6."""
    group(6)


# ---- QP 1 ----

# Classes of MADs, versions and methods: performance, connections, and others
CLASSES = [1, 3, 4, 4, 4, 4, 6, 7, 7, 9, 0x10, 0x81]
METHODS = [1, 1, 1, 2, 3, 5, 6, 0x12, 0x81, 0x92]
ATTRIBUTES = [1, 2, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x1d, 0x20, 0x31, 0x35]


def good_mad(rnd, number):
    """A datagram for QP 1, with a MAD that somebody may understand."""
    body = bytearray(mad(0x01, number))
    if rnd.randrange(4):
        body[1] = rnd.choice(CLASSES)
        body[3] = rnd.choice(METHODS)
        struct.pack_into(">HHI", body, 16, rnd.choice(ATTRIBUTES), 0, rnd.choice([0, 1, 1 << 31]))
        for _ in range(rnd.randrange(8)):
            body[rnd.randrange(24, 256)] = rnd.choice(NASTY)
    qkey = rnd.choice([GSI_QKEY] * 6 + [0, QKEY, GSI_QKEY ^ 1 << 31])
    return roce.message(roce.UD | roce.SEND_ONLY, GSI, number,
                        deth(qkey, rnd.choice([GSI, GSI, 0, OUR_QPN])), bytes(body))


def answered(test, number):
    """QP 1 answers a sound MAD, after whatever else it has to say."""
    test.tap.send(test.to.summed(roce.message(roce.UD | roce.SEND_ONLY, GSI, number,
                                              deth(GSI_QKEY, GSI), mad(0x01, number))))
    wanted = deth(GSI_QKEY, GSI) + mad(0x81, number, b"\1\1\5\0")[:68]
    others = 0
    while True:
        packet = test.next()
        check(packet is not None, "QP 1 does not answer")
        wrong = [text for text in packet.problems() if not text.startswith("opcode")]
        equal((wrong, packet.opcode, packet.pkey), ([], roce.UD | roce.SEND_ONLY, 0xffff), "an answer")
        if packet.payload[:len(wanted)] == wanted:
            return others
        others += 1


def gsi(version):
    """MADs of all classes, damaged on the outside and on the inside."""
    damage, others = Damage(30 + version), 0
    with Datagrams(version) as test:
        for index in range(BATCHES):
            for turn in range(BATCH):
                number = 1 << 32 | index << 8 | turn
                body = damage.body(good_mad(damage.random, number), UD_OPCODES)
                test.tap.send(damage.frame(test.to, body))
            others += answered(test, 1 << 40 | index)
        print(f"# {others} of {BATCHES * BATCH} damaged MADs answered")
        check(others > BATCHES * BATCH / 20, f"only {others} answers, the MADs are too bad")
        equal(view(GSI)["state"], "RTS", "state of QP 1")


@case("gsi-ipv4")
def gsi_ipv4():
    """Over IPv4."""
    gsi(4)


@case("gsi-ipv6")
def gsi_ipv6():
    """Over IPv6."""
    gsi(6)


# ---- UC ----

class Loose:
    """A UC queue pair with receives, and packets for it."""

    ROOM = 2 * MTU

    def __init__(self, damage, test):
        self.damage, self.test = damage, test
        self.island = Island(test.device.pd)
        self.received = self.posted = 0
        self.fill()

    def fill(self):
        """As many receives as there are places."""
        while self.posted - self.received < SIZE // self.ROOM:
            at = self.island.address + self.posted % (SIZE // self.ROOM) * self.ROOM
            self.test.queue.receive([verbs.SGE(at, self.ROOM, self.island.mr.lkey)],
                                    wr_id=self.posted)
            self.posted += 1

    def frame(self):
        """A frame, near what is expected now."""
        rnd = self.damage.random
        opcode = rnd.choice([4, 5, 10, 11] * 3 + list(range(12)))
        extended = b"".join(self.damage.reth(self.island) if header == "reth" else rnd.randbytes(4)
                            for header in roce.HEADERS.get(opcode, []))
        data = rnd.randbytes(rnd.choice([0, 1, 4, 64, MTU - 4, MTU, MTU, MTU, MTU + 4, 4096]))
        if opcode in (roce.WRITE_ONLY, roce.WRITE_ONLY_IMM) and rnd.randrange(2):
            extended = extended[:12] + struct.pack(">I", len(data)) + extended[16:]
        self.test.psn = roce.psn_add(self.test.psn, rnd.choice([0, 1, 1, 1, 1, 1, 1, 2, 1 << 23]))
        good = roce.message(roce.UC | opcode, self.test.number, self.test.psn, extended, data)
        return self.damage.frame(self.test.to, self.damage.body(
            good, list(range(roce.UC, roce.UC + 12)) + [4, 10, 0x2c, 0x37, 0x64, 0x81, 0xa0]))

    def take(self):
        """The next receive completion: in order, and a success."""
        done = self.test.queue.received()
        equal((done.status, done.wr_id), (0, self.received), "receive")
        check(done.byte_len <= self.ROOM or done.opcode == e.IBV_WC_RECV_RDMA_WITH_IMM,
              f"{done.byte_len} bytes for {self.ROOM}")
        self.received += 1
        return done

    def works(self, number):
        """A SEND of ours arrives, behind what was taken of the others; so does a WRITE."""
        data = struct.pack(">Q", number) * 9
        self.test.put(roce.SEND_ONLY, data)
        # what comes before it has other bytes
        while True:
            done = self.take()
            at = done.wr_id % (SIZE // self.ROOM) * self.ROOM
            got = self.island.map[PAGE + at:PAGE + at + len(data)]
            if done.opcode == e.IBV_WC_RECV and done.byte_len == len(data) and got == data:
                break
        self.fill()
        self.test.memory.put(bytes(len(data)))
        self.test.put(roce.WRITE_ONLY, data, self.test.reth(len(data)))
        end = time.monotonic() + verbs.PATIENCE
        while self.test.memory.get(len(data)) != data:
            check(time.monotonic() < end, "a WRITE is not in place")


@case("uc")
def uc():
    """No packet ends an unreliable connection, and none is answered."""
    damage = Damage(40)
    with Unreliable() as test:
        loose = Loose(damage, test)
        for index in range(BATCHES):
            for _ in range(BATCH):
                test.tap.send(loose.frame())
            loose.works(index)
        print(f"# {loose.received - BATCHES} receives for {BATCHES * BATCH} damaged packets")
        check(loose.received > BATCHES + BATCHES * BATCH / 20, "too few were received")
        alone(test)
        loose.island.untouched()
        loose.island.close()


# ---- notifications ----

# Not of RC: as a request a damaged one may rightly end the connection
CNP_OPCODES = [0x80, 0x82, 0x91, 0xa1, 0xc1, 0xff, 0x24, 0x64]


def is_cnp(body):
    """Whether it is a notification."""
    return bool(body and body[0] == roce.CNP and sound_bth(body)
                and len(body) - roce.BTH_LEN - (body[1] >> 4 & 3) == len(roce.CNP_BYTES))


def cnp_batch(damage, test, number):
    """Damaged notifications for a queue pair; how many are good enough."""
    good, count = roce.bth(roce.CNP, number, 0, mig=False, byte4=roce.BECN) + roce.CNP_BYTES, 0
    for _ in range(BATCH):
        opcode = damage.random.choice(CNP_OPCODES + [roce.CNP] * 8)
        # bits of the opcode that make it one of RC are left alone
        body = bytes([opcode]) + damage.body(good, [roce.CNP], (0, *NUMBER))[1:]
        frame = damage.frame(test.to, body)
        count += is_cnp(heard(test.to, frame))
        test.tap.send(frame)
    return count


@case("notifications-rc")
def notifications_rc():
    """Those that are none change nothing; those that are make it slower, and no more."""
    damage, wanted = Damage(50), 0
    with Stranger() as test:
        for _ in range(BATCHES):
            wanted += cnp_batch(damage, test, test.number)
            test.good_write()
        equal(int(view(test.number)["rx_cnp"]), wanted, "rx_cnp")
        check(BATCHES < wanted < BATCHES * BATCH, f"{wanted} notifications")
        alone(test)


@case("notifications-others")
def notifications_others():
    """For UC, UD, QP 1, a group and nobody: what follows them arrives."""
    damage = Damage(51)
    with Unreliable() as test, Member() as member:
        loose = Loose(damage, test)
        inbox = Inbox(member.queue, member.device.pd, damage.random)
        wanted = {test: 0, member: 0}
        for index in range(max(BATCHES // 4, 4)):
            inbox.fill()
            wanted[test] += cnp_batch(damage, test, test.number)
            wanted[member] += cnp_batch(damage, member, member.number)
            cnp_batch(damage, test, GSI)
            cnp_batch(damage, test, test.number ^ 0x800)
            path, test.to = test.to, member.everybody
            wanted[member] += cnp_batch(damage, test, EVERYBODY)
            test.to = path
            loose.works(index)
            frame = member.put(b"", imm=struct.pack(">I", index))
            check(inbox.expect(member.to, frame, member.number, QKEY), "too long")
            inbox.compare()
            while True:
                packet = test.tap.next()
                if packet is None:
                    break
                check(str(packet.src) != test.device.address, f"an answer: {packet}")
            answered(test, 1 << 40 | index)
        for who, count in wanted.items():
            equal(int(view(who.number)["rx_cnp"]), count, "rx_cnp")
            who.tap.drain()  # what QP 1 has answered
            alone(who)
        inbox.close()
        loose.island.untouched()
        loose.island.close()


if __name__ == "__main__":
    main("mutants", Far.setup)
