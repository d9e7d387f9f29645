#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Messages of every telling size at every path MTU: bytes, frames, completions.

A responder that forgets how much of a message is still to come kills each
message longer than the path MTU. So each operation runs with 0, 1, 3, PMTU-1,
PMTU, PMTU+1, 2 PMTU and 64k+1 bytes, and every frame it makes is compared with
what the protocol says; then with 8 MiB, of which only the bytes are compared.
"""

import contextlib
import ctypes
import os
import random
import signal
import subprocess

import pyverbs.enums as e
from pyverbs.wr import SendWR

import roce
import verbs
import wire
from harness import case, check, equal, main
from verbs import status_is

GUARD = 64
BIG = 8 << 20
FRAME4 = 14 + 20 + 8 + roce.BTH_LEN + roce.ICRC_LEN
FRAME6 = FRAME4 + 20
IMM = 0x1badcafe

WRITES = {e.IBV_WR_RDMA_WRITE: False, e.IBV_WR_RDMA_WRITE_WITH_IMM: True}
SENDS = {e.IBV_WR_SEND: False, e.IBV_WR_SEND_WITH_IMM: True, e.IBV_WR_SEND_WITH_INV: False}
OPERATIONS = {
    "write": e.IBV_WR_RDMA_WRITE, "write-imm": e.IBV_WR_RDMA_WRITE_WITH_IMM,
    "send": e.IBV_WR_SEND, "send-imm": e.IBV_WR_SEND_WITH_IMM, "read": e.IBV_WR_RDMA_READ,
}


class Bench:
    """Both devices, and a buffer in each."""

    near = far = source = target = windowed = data = None

    @classmethod
    def setup(cls):
        """Open the devices; rxe0 asks, rxe1 answers."""
        cls.near = verbs.Device("rxe0", wire.NEAR4)
        cls.far = verbs.Device("rxe1", wire.FAR4)
        cls.source = verbs.Memory(cls.near.pd, BIG + 2 * GUARD)
        cls.target = verbs.Memory(cls.far.pd, BIG + 2 * GUARD)
        cls.windowed = verbs.Memory(cls.far.pd, 4096, verbs.ALL | e.IBV_ACCESS_MW_BIND)
        cls.data = random.Random(1).randbytes(BIG + 4096)


def transfer(pair, opcode, size, salt, key=None):
    """One message; the bytes arrive, and none beside them changes."""
    here, there = pair
    source, target = (Bench.target, Bench.source) if opcode == e.IBV_WR_RDMA_READ else \
        (Bench.source, Bench.target)
    data = Bench.data[salt:salt + size]
    guard = bytes([0xa5]) * GUARD
    source.put(data, GUARD)
    target.put(guard + bytes(size) + guard)
    imm = WRITES.get(opcode) or SENDS.get(opcode)
    if opcode in SENDS:
        there.receive([Bench.target.sge(size, GUARD)], wr_id=7)
    elif imm:
        there.receive([Bench.target.sge(0)], wr_id=7)
    remote = {} if opcode in SENDS else {"remote": Bench.target.address + GUARD,
                                         "rkey": Bench.target.rkey}
    here.send(opcode, [Bench.source.sge(size, GUARD)], imm=IMM if imm else 0, wr_id=5,
              invalidate=key, **remote)
    if opcode in SENDS or imm:
        done = there.received()
        status_is(done, verbs.SUCCESS, "receive")
        equal((done.wr_id, done.byte_len), (7, size), "receive completion")
        if imm:
            equal(done.imm_data, verbs.socket.htonl(IMM), "immediate data")
        equal(bool(done.wc_flags & e.IBV_WC_WITH_INV), key is not None, "a key is named")
        if key is not None:
            equal(done.imm_data, key, "key that the receive names")     # a union
    done = here.sent()
    status_is(done, verbs.SUCCESS, "request")
    equal(done.wr_id, 5, "request completion")
    check(target.get(size, GUARD) == data, f"{size} bytes: the data differ")
    check(target.get(GUARD) == guard and target.get(GUARD, GUARD + size) == guard,
          f"{size} bytes: bytes beside the target were written")


def data_frames(opcode, size, mtu, base):
    """Opcode, payload and frame length of each packet of a SEND or WRITE."""
    write, imm = opcode in WRITES, WRITES.get(opcode) or SENDS.get(opcode)
    inv = opcode == e.IBV_WR_SEND_WITH_INV
    count = roce.packets(size, mtu)
    wanted = []
    for index in range(count):
        first, last = index == 0, index == count - 1
        payload = size - index * mtu if last else mtu
        kind = 4 if first and last else 0 if first else 2 if last else 1
        kind += 1 if last and imm else 0
        kind += roce.WRITE_FIRST if write else 0
        if last and inv:
            kind = roce.SEND_ONLY_INV if first else roce.SEND_LAST_INV
        length = base + payload + (-payload & 3)
        length += 16 if write and first else 0
        length += 4 if last and (imm or inv) else 0
        wanted.append((kind, payload, length))
    return wanted


def once(packets, what):
    """Packets in order of their PSN's first appearance.

    A slow machine may have some sent again; then they must say the same.
    """
    seen = {}
    for packet in packets:
        known = seen.setdefault(packet.psn, packet)
        same = (known.opcode, known.payload, known.extended) == \
            (packet.opcode, packet.payload, packet.extended)
        check(same, f"{what}: PSN {packet.psn:#x} was sent with different contents")
    return list(seen.values())


def farthest(acks):
    """The ACK that says most, which need not be the one that comes last.

    Answers that two CPUs send may overtake each other on the way.
    """
    newest = acks[0]
    for packet in acks:
        if not roce.psn_add(packet.psn, -newest.psn) >> 23:
            newest = packet
    return newest


def check_data(found, size, opcode, mtu, base, address, key=None):
    """Frames of a SEND or WRITE, and their acknowledgment."""
    answers = {roce.ACK, roce.ATOMIC_ACK}
    out = once([p for p in found if p.opcode not in answers], "request")
    back = [p for p in found if p.opcode in answers]
    wanted = data_frames(opcode, size, mtu, base)
    equal([(p.opcode, len(p.payload), len(p.frame)) for p in out], wanted,
          f"frames of {size} bytes")
    equal([p.psn for p in out], [roce.psn_add(out[0].psn, i) for i in range(len(out))], "PSNs")
    check(out[-1].ackreq, "the last packet asks for no ACK")
    check(not any(p.se for p in out), "a solicited event nobody asked for")
    if opcode in WRITES:
        equal(out[0].reth, (address + GUARD, Bench.target.rkey, size), "RETH")
    if WRITES.get(opcode) or SENDS.get(opcode):
        equal(out[-1].extended["imm"], IMM.to_bytes(4, "big"), "immediate data on the wire")
    if key is not None:
        equal(out[-1].extended["ieth"], key.to_bytes(4, "big"), "key on the wire")
    check(b"".join(p.payload for p in out) == Bench.target.get(size, GUARD), "bytes on the wire")
    check(back, "no ACK")
    for packet in back:
        equal(packet.opcode, roce.ACK, "opcode of the answer")
        equal(packet.syndrome >> 5, 0, "kind of syndrome of the ACK")
        equal(len(packet.frame), base + 4, "length of the ACK")
    newest = farthest(back)
    equal(newest.psn, out[-1].psn, "PSN of the last ACK")
    return newest.msn


def responses(asked, mtu, base):
    """What the responses to READ requests look like: PSN -> opcodes, lengths.

    A slow machine may have parts of a READ asked for again. Then a response in
    the middle of the first request is the first of the second.
    """
    wanted = {}
    for packet in asked:
        length = packet.reth[2]
        count = roce.packets(length, mtu)
        for index in range(count):
            payload = min(mtu, length - index * mtu)
            edge = index in (0, count - 1)
            kind = roce.RESP_ONLY if count == 1 else roce.RESP_FIRST if index == 0 else \
                roce.RESP_LAST if index == count - 1 else roce.RESP_MIDDLE
            wanted.setdefault(roce.psn_add(packet.psn, index), set()).add(
                (kind, payload, base + payload + (-payload & 3) + 4 * edge))
    return wanted


def check_read(found, size, mtu, base, address):
    """Frames of a READ: requests for all bytes in order, and full responses."""
    asked = [p for p in found if p.opcode == roce.READ_REQUEST]
    back = [p for p in found if p.opcode != roce.READ_REQUEST]
    reached, first = 0, asked[0].psn
    for packet in asked:
        where, rkey, length = packet.reth
        at = roce.psn_add(packet.psn, -first) * mtu
        check(at <= reached, f"bytes {reached} to {at} were not asked for")
        equal((where, rkey), (address + GUARD + at, Bench.target.rkey), "RETH")
        equal(len(packet.frame), base + 16, "length of the request")
        reached = max(reached, at + length)
    equal(reached, size, "bytes asked for")
    wanted = responses(asked, mtu, base)
    for packet in back:
        seen = (packet.opcode, len(packet.payload), len(packet.frame))
        check(seen in wanted.get(packet.psn, ()), f"unexpected response {packet}")
        at = roce.psn_add(packet.psn, -first) * mtu
        check(packet.payload == Bench.target.get(len(packet.payload), GUARD + at),
              f"bytes on the wire of {packet}")
    equal(sorted({p.psn for p in back}), sorted(wanted), "PSNs of responses")


def sizes(mtu):
    """Where off-by-one lives."""
    return [0, 1, 3, mtu - 1, mtu, mtu + 1, 2 * mtu, 65537]


def observed(opcode, mtu, wanted, base=FRAME4, devices=None):
    """A message of each size over a fresh connection, with its frames checked."""
    pair = verbs.connected(*(devices or (Bench.near, Bench.far)), mtu=mtu)
    tap = wire.Tap()
    msn = 0
    try:
        for salt, size in enumerate(wanted):
            transfer(pair, opcode, size, salt)
            found = wire.sound(tap.drain())
            if opcode == e.IBV_WR_RDMA_READ:
                check_read(found, size, mtu, base, Bench.target.address)
            else:
                msn += 1
                equal(check_data(found, size, opcode, mtu, base, Bench.target.address), msn, "MSN")
    finally:
        tap.close()
        for queue in pair:
            queue.close()


def refused_by(pair, key):
    """What was the key of a window has no meaning any more."""
    pair[0].send(e.IBV_WR_RDMA_WRITE, [Bench.source.sge(1)], remote=Bench.windowed.address,
                 rkey=key)
    status_is(pair[0].sent(), verbs.REM_ACCESS_ERR, "a WRITE by the key")


def invalidating(mtu):
    """A SEND of each size ends a window: the last packet names its key, the receive names
    it, and it has no meaning any more."""
    for salt, size in enumerate(sizes(mtu)[:-2] + [2 * mtu + 3]):
        pair = verbs.connected(Bench.near, Bench.far, mtu=mtu)
        tap = wire.Tap()
        window = None
        try:
            window = verbs.Window(pair[1], Bench.windowed)
            pair[0].send(e.IBV_WR_RDMA_WRITE, [Bench.source.sge(1)],
                         remote=Bench.windowed.address, rkey=window.rkey)
            status_is(pair[0].sent(), verbs.SUCCESS, "a WRITE by the key before")
            tap.drain()
            transfer(pair, e.IBV_WR_SEND_WITH_INV, size, salt, window.rkey)
            check_data(wire.sound(tap.drain()), size, e.IBV_WR_SEND_WITH_INV, mtu, FRAME4, None,
                       window.rkey)
            refused_by(pair, window.rkey)
        finally:
            tap.close()
            for queue in pair:
                queue.close()
            if window:
                window.close()


def big(mtu):
    """8 MiB by each operation over one connection."""
    pair = verbs.connected(Bench.near, Bench.far, mtu=mtu)
    try:
        for salt, opcode in enumerate(OPERATIONS.values()):
            if opcode != e.IBV_WR_SEND_WITH_IMM:
                transfer(pair, opcode, BIG, salt)
    finally:
        for queue in pair:
            queue.close()


@case("residual-length")
def residual_length():
    """WRITE WITH IMM of 1024, then of 2048 bytes at PMTU 1024: frame by frame."""
    wanted = data_frames(e.IBV_WR_RDMA_WRITE_WITH_IMM, 2048, 1024, FRAME4)
    equal([length for _, _, length in wanted], [1098, 1086], "lengths that this test expects")
    observed(e.IBV_WR_RDMA_WRITE_WITH_IMM, 1024, [1024, 2048])


def scribbler(address, size):
    """A process that writes to memory that it shares with us; its number."""
    libc = ctypes.CDLL(None)
    child = os.fork()
    if not child:
        while True:
            libc.getrandom(ctypes.c_void_p(address), ctypes.c_size_t(size), 0)
    return child


def chain(opcode, there, here, count, length):
    """So many requests of that length, for places one behind the other; the last is signaled."""
    first = None
    for index in reversed(range(count)):
        last = first is None
        wr = SendWR(index, opcode=opcode, num_sge=1, sg=[here.sge(length, index * length)],
                    send_flags=e.IBV_SEND_SIGNALED if last else 0, next_wr=first)
        wr.set_wr_rdma(there.rkey, there.address + index * length)
        first = wr
        yield wr


def veth(gso, tunnel):
    """Whether the driver makes bursts, and whether the veth pair takes them whole."""
    for space, netdev in (("ns1", "veth0"), ("ns2", "veth1")):
        subprocess.run(["ip", "netns", "exec", space, "ethtool", "-K", netdev, "gso", gso,
                        "tx-udp_tnl-segmentation", tunnel], check=True, capture_output=True)


@contextlib.contextmanager
def bursts_cut():
    """The driver makes bursts, and its segmenter cuts them."""
    veth("on", "off")
    try:
        yield
    finally:
        veth("off", "on")


def payload_that_changes():
    """The application writes to its buffer while it is sent: still a right ICRC.

    Who sums a payload and copies it afterwards sends packets that the peer drops. 10,000
    messages leave, WRITEs, and answers to READs, of three packets each.
    """
    count, length = 16, 3000
    pair = verbs.connected(Bench.near, Bench.far, mtu=1024)
    names = ("icrc_errors", "rcvd_pkts")
    before = [Bench.far.counter(name) for name in names]
    child = scribbler(Bench.source.address, count * length)
    try:
        # what refers to the others has to stay
        requests = [list(chain(e.IBV_WR_RDMA_WRITE, Bench.target, Bench.source, count, length)),
                    list(chain(e.IBV_WR_RDMA_READ, Bench.source, Bench.target, count, length))]
        for _ in range(-(-5000 // count)):
            for queue, several in zip(pair, requests):
                queue.qp.post_send(several[-1])
            for queue in pair:
                status_is(queue.sent(), verbs.SUCCESS, "messages")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for queue in pair:
            queue.close()
    errors, arrived = (Bench.far.counter(name) - old for name, old in zip(names, before))
    equal(errors, 0, "ICRC errors at the receiver")
    check(arrived >= 3 * 10000, f"only {arrived} packets")


@case("payload-that-changes")
def payload_that_changes_single():
    """In packets that travel one by one."""
    payload_that_changes()


@case("payload-that-changes-cut")
def payload_that_changes_cut():
    """In packets that are cut out of bursts, and summed there."""
    with bursts_cut():
        payload_that_changes()


def register():
    """A case for each operation and path MTU."""
    for mtu in verbs.MTUS:
        for name, opcode in OPERATIONS.items():
            case(f"{name}-{mtu}")(lambda o=opcode, m=mtu: observed(o, m, sizes(m)))
        case(f"send-inv-{mtu}")(lambda m=mtu: invalidating(m))
        case(f"8M-{mtu}")(lambda m=mtu: big(m))


def ipv6(opcode):
    """The same over IPv6, where frames are 20 bytes longer."""
    devices = verbs.Device("rxe0", wire.NEAR6), verbs.Device("rxe1", wire.FAR6)
    keep = Bench.near, Bench.far, Bench.source, Bench.target
    try:
        Bench.near, Bench.far = devices
        Bench.source = verbs.Memory(devices[0].pd, 1 << 17)
        Bench.target = verbs.Memory(devices[1].pd, 1 << 17)
        observed(opcode, 1024, sizes(1024), FRAME6)
    finally:
        Bench.near, Bench.far, Bench.source, Bench.target = keep


for label in ("write-imm", "read", "send"):
    case(f"{label}-1024-ipv6")(lambda o=OPERATIONS[label]: ipv6(o))
register()

if __name__ == "__main__":
    main("sizes", Bench.setup)
