#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets from the middle of a message, which are made and placed many at a time.

What each of them must be is seen where bursts are cut: frame by frame. That they are
consumed as they must be is seen where they stay whole, and travel without sums: by bytes,
and by completions, also of messages that end in an error within such a row.
"""

import contextlib
import subprocess
import time

import pyverbs.enums as e
from pyverbs.qp import QPAttr
from pyverbs.wr import SendWR

import roce
import verbs
import wire
from harness import Skip, case, check, equal, main
from sizes import FRAME4, GUARD, OPERATIONS, Bench, data_frames, observed, once, transfer, veth
from verbs import status_is

MTU = 1024
LENGTH = 100 * MTU + 77


@contextlib.contextmanager
def whole():
    """Bursts arrive as they are sent; else, in this group, they are cut."""
    veth("on", "on")
    try:
        yield
    finally:
        veth("on", "off")


@contextlib.contextmanager
def connection(mtu=MTU, **options):
    """Two queue pairs, whose bursts arrive whole."""
    pair = verbs.connected(Bench.near, Bench.far, mtu=mtu, **options)
    try:
        with whole():
            yield pair
    finally:
        for queue in pair:
            queue.close()


def frames_sent():
    """What both netdevs have sent, bursts counted as one."""
    return sum(int(subprocess.run(["ip", "netns", "exec", space, "cat",
                                   f"/sys/class/net/{netdev}/statistics/tx_packets"],
                                  check=True, capture_output=True).stdout)
               for space, netdev in (("ns1", "veth0"), ("ns2", "veth1")))


@contextlib.contextmanager
def rows(most):
    """So few frames for 100 packets: most of them have been in a row."""
    def packets():
        return sum(device.counter("sent_pkts") for device in (Bench.near, Bench.far))
    before = frames_sent(), packets()
    yield
    sent, counted = frames_sent() - before[0], packets() - before[1]
    check(100 * sent <= most * counted, f"{counted} packets in {sent} frames")


def frames(opcode, mtu):
    """Every frame of messages of many packets, as if they had been made one by one."""
    observed(opcode, mtu, [3 * mtu, 33 * mtu, 70 * mtu + 5, 17 * mtu - 1, 100 * mtu + 4])


for name, code in OPERATIONS.items():
    for size in (256, 1024, 4096):
        case(f"frames-{name}-{size}")(lambda c=code, m=size: frames(c, m))


def sizes_whole(mtu):
    """Around the lengths of rows: all bytes, and no others."""
    with connection(mtu) as pair, rows(30):
        for count in (2, 3, 4, 15, 16, 17, 62, 63, 64, 65, 66, 128, 255):
            for more in (-1, 0, 1):
                for opcode in OPERATIONS.values():
                    transfer(pair, opcode, count * mtu + more, count)


for size in (256, 1024, 4096):
    case(f"lengths-{size}")(lambda m=size: sizes_whole(m))


SLOT = 8 * 4096        # of a request in a list, at both ends


def listed(pair, requests):
    """Requests (opcode, bytes) posted as one list: each completes, in order, with its bytes."""
    head, keep = None, []       # a request does not keep the next one alive
    reads = [index for index, (opcode, _) in enumerate(requests) if opcode == e.IBV_WR_RDMA_READ]
    for memory, mine in ((Bench.source, False), (Bench.target, True)):
        for index, (_, size) in enumerate(requests):
            given = (index in reads) == mine
            memory.put(Bench.data[index:index + size] if given else bytes(size), index * SLOT)
            memory.put(b"\xa5" * GUARD, index * SLOT + size)
    for index, (opcode, size) in reversed(list(enumerate(requests))):
        head = SendWR(index, opcode=opcode, num_sge=1, sg=[Bench.source.sge(size, index * SLOT)],
                      send_flags=e.IBV_SEND_SIGNALED, next_wr=head)
        if opcode != e.IBV_WR_SEND:
            head.set_wr_rdma(Bench.target.rkey, Bench.target.address + index * SLOT)
        keep.append(head)
    sends = [index for index, (opcode, _) in enumerate(requests) if opcode == e.IBV_WR_SEND]
    for index in sends:
        pair[1].receive([Bench.target.sge(requests[index][1], index * SLOT)], wr_id=index)
    pair[0].qp.post_send(head)
    for index in range(len(requests)):
        done = pair[0].sent()
        equal((done.wr_id, done.status), (index, verbs.SUCCESS), "request completion")
    for index in sends:
        done = pair[1].received()
        equal((done.wr_id, done.status, done.byte_len),
              (index, verbs.SUCCESS, requests[index][1]), "receive completion")
    for memory in (Bench.source, Bench.target):
        for index, (opcode, size) in enumerate(requests):
            check(memory.get(size, index * SLOT) == Bench.data[index:index + size] and
                  memory.get(GUARD, index * SLOT + size) == b"\xa5" * GUARD,
                  f"request {index}, operation {opcode}, {size} bytes: the data differ")


def of_all_lengths(mtu):
    """Messages of one packet and of several, next to each other; no two alike."""
    operations = e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ
    lengths = (1, mtu + 1, 64, 2 * mtu, 7, 3 * mtu - 1, mtu, 0, 4 * mtu + 5, 2, 2 * mtu + 3, 100)
    return [(opcode, length) for opcode in operations for length in lengths] + \
        [(operations[index % 3], length + 1) for index, length in enumerate(lengths)]


def mixed_whole(mtu):
    """Packets of many lengths share frames: requests, and answers."""
    requests = of_all_lengths(mtu)
    with connection(mtu) as pair, rows(30):
        for _ in range(5):
            listed(pair, requests)


def mixed_cut(mtu):
    """The same, cut: each frame is what it would be if it had been made alone."""
    requests = of_all_lengths(mtu)
    wanted = []
    for opcode, size in requests:
        if opcode == e.IBV_WR_RDMA_READ:
            wanted.append((roce.READ_REQUEST, 0, FRAME4 + 16))
        else:
            wanted += data_frames(opcode, size, mtu, FRAME4)
    pair = verbs.connected(Bench.near, Bench.far, mtu=mtu)
    tap = wire.Tap()
    try:
        listed(pair, requests)
        found = wire.sound(tap.drain())
        kinds = {kind for kind, _, _ in wanted}
        equal([(p.opcode, len(p.payload), len(p.frame))
               for p in once([p for p in found if p.opcode in kinds], "request")], wanted,
              "frames of requests")
        back = once([p for p in found if roce.RESP_FIRST <= p.opcode <= roce.RESP_ONLY],
                    "response")
        equal(sum(len(p.payload) for p in back),
              sum(size for opcode, size in requests if opcode == e.IBV_WR_RDMA_READ),
              "bytes of responses")
    finally:
        tap.close()
        for queue in pair:
            queue.close()


for size in (256, 1024, 4096):
    case(f"mixed-{size}")(lambda m=size: mixed_whole(m))
    case(f"mixed-cut-{size}")(lambda m=size: mixed_cut(m))


@contextlib.contextmanager
def bucket(size):
    """Both netdevs let so many bytes go at a time, and drop what is longer."""
    if subprocess.run(("modprobe", "-q", "sch_tbf"), check=False).returncode:
        raise Skip("no sch_tbf here")
    links = [(("ip", "netns", "exec", space, "tc", "qdisc"), ("dev", netdev, "root"))
             for space, netdev in (("ns1", "veth0"), ("ns2", "veth1"))]
    try:
        for tc, where in links:
            subprocess.run((*tc, "add", *where, "tbf", "rate", "100mbit", "burst", str(size),
                            "limit", "1000000"), check=True, capture_output=True)
        yield
    finally:
        for tc, where in links:
            subprocess.run((*tc, "del", *where), check=False, capture_output=True)


@case("longer-than-a-bucket")
def longer_than_a_bucket():
    """A queue that never lets a large packet go drops it also when a small one travels before it
    in the same skb, as the stack knows the longest; others are not stuck behind it."""
    with connection(4096, retry=1) as pair, bucket(3000):
        head, keep = None, []
        for index, size in ((1, 4096), (0, 64)):
            head = SendWR(index, opcode=e.IBV_WR_RDMA_WRITE, num_sge=1,
                          sg=[Bench.source.sge(size)], send_flags=e.IBV_SEND_SIGNALED,
                          next_wr=head)
            head.set_wr_rdma(Bench.target.rkey, Bench.target.address)
            keep.append(head)
        began = time.monotonic()
        pair[0].qp.post_send(head)
        done = pair[0].sent()
        equal((done.wr_id, done.status), (0, verbs.SUCCESS), "the small request")
        check(time.monotonic() > began + 0.05, "they did not share an skb: the small one came")
        done = pair[0].sent()
        equal((done.wr_id, done.status), (1, verbs.RETRY_EXC_ERR), "4096 bytes in a bucket of 3000")
        later = verbs.connected(Bench.near, Bench.far, mtu=1024)
        try:
            transfer(later, e.IBV_WR_SEND, 64, 0)
        finally:
            for queue in later:
                queue.close()


def pieces(memory, lengths, skip=3):
    """Elements with gaps between them, in reverse order; and where their bytes are."""
    places, at = [], GUARD
    for length in lengths:
        places.append((at, length))
        at += length + skip
    places.reverse()
    return [memory.sge(length, at) for at, length in places], places


def spread(places, data, size):
    """What memory of some size looks like when data are in these places, and nothing else."""
    wanted = bytearray(size)
    for at, length in places:
        wanted[at:at + length], data = data[:length], data[length:]
    return bytes(wanted)


@case("scattered")
def scattered():
    """Elements of odd lengths on either side, which begin and end within packets."""
    here, there = ([1, 5000, 0, 33333, 7, 20000, 3 * MTU, 40000], [777, 60001, 2, 40633])
    total, size = sum(here), 1 << 17
    equal(sum(there), total, "bytes of the two lists")
    data = Bench.data[:total]
    with connection(sges=8) as pair:
        for opcode in (e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ):
            local, at = pieces(Bench.source, here)
            remote = {}
            Bench.target.put(bytes(size))
            Bench.source.put(spread(at, data, size))
            wanted, seen = data, lambda: Bench.target.get(total, GUARD)
            if opcode == e.IBV_WR_SEND:
                sges, places = pieces(Bench.target, there)
                pair[1].receive(sges)
                wanted, seen = spread(places, data, size), lambda: Bench.target.get(size)
            else:
                remote = {"remote": Bench.target.address + GUARD, "rkey": Bench.target.rkey}
            if opcode == e.IBV_WR_RDMA_READ:
                Bench.target.put(data, GUARD)
                Bench.source.put(bytes(size))
                wanted, seen = spread(at, data, size), lambda: Bench.source.get(size)
            pair[0].send(opcode, local, **remote)
            status_is(pair[0].sent(), verbs.SUCCESS, "request")
            if opcode == e.IBV_WR_SEND:
                done = pair[1].received()
                status_is(done, verbs.SUCCESS, "receive")
                equal(done.byte_len, total, "bytes received")
            check(seen() == wanted, f"the data of operation {opcode} differ")


def ends_in(room, sges, here, there):
    """A SEND that is too long for its receive, or meets a bad element there: both ends hear
    of it; what fits is in place as far as packets go, and nothing is behind it."""
    with connection() as pair:
        Bench.target.put(bytes(LENGTH + GUARD))
        Bench.source.put(Bench.data[:LENGTH])
        pair[1].receive(sges, wr_id=7)
        pair[0].send(e.IBV_WR_SEND, [Bench.source.sge(LENGTH)], wr_id=5)
        done = pair[1].received()
        equal((done.wr_id, done.status), (7, there), "receive completion")
        done = pair[0].sent()
        equal((done.wr_id, done.status), (5, here), "request completion")
        placed = room // MTU * MTU
        check(Bench.target.get(placed) == Bench.data[:placed], "bytes of packets that fit")
        check(Bench.target.get(LENGTH + GUARD - room, room) == bytes(LENGTH + GUARD - room),
              "bytes behind the room were written")


@case("receive-too-short")
def receive_too_short():
    """By a byte, by a packet, and by nearly all."""
    for room in (LENGTH - 1, 100 * MTU, 100 * MTU - 1, 40 * MTU + 1, 40 * MTU, MTU):
        ends_in(room, [Bench.target.sge(room)], verbs.REM_INV_REQ_ERR, verbs.LOC_LEN_ERR)


@case("receive-without-key")
def receive_without_key():
    """The second element of the receive names no memory."""
    for room in (40 * MTU + 1, 64 * MTU):
        ends_in(room, [Bench.target.sge(room), Bench.target.sge(LENGTH, lkey=0xbad00)],
                verbs.REM_OP_ERR, verbs.LOC_PROT_ERR)


@case("source-without-key")
def source_without_key():
    """The second element of what is sent, or read into, names no memory: what came before it
    may have been sent, the request fails here, and the peer has not received anything."""
    for opcode in (e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE):
        with connection() as pair:
            pair[1].receive([Bench.target.sge(LENGTH)], wr_id=7)
            remote = {} if opcode == e.IBV_WR_SEND else {"remote": Bench.target.address,
                                                         "rkey": Bench.target.rkey}
            pair[0].send(opcode, [Bench.source.sge(40 * MTU + 1),
                                  Bench.source.sge(LENGTH, lkey=0xbad00)], **remote)
            status_is(pair[0].sent(), verbs.LOC_PROT_ERR, "request")
            pair[1].no_completion(pair[1].rcq, "half of a message was received")


@case("not-ready")
def not_ready():
    """A long SEND without a receive: when there is one, all of it comes again, once."""
    with connection(rnr_timer=20) as pair:
        Bench.target.put(bytes(LENGTH + GUARD))
        Bench.source.put(Bench.data[:LENGTH])
        before = Bench.far.counter("send_rnr_err")
        pair[0].send(e.IBV_WR_SEND, [Bench.source.sge(LENGTH)])
        end = time.monotonic() + verbs.PATIENCE
        while Bench.far.counter("send_rnr_err") == before and time.monotonic() < end:
            time.sleep(0.001)
        pair[1].receive([Bench.target.sge(LENGTH)])
        done = pair[1].received()
        status_is(done, verbs.SUCCESS, "receive")
        equal(done.byte_len, LENGTH, "bytes received")
        status_is(pair[0].sent(), verbs.SUCCESS, "request")
        check(Bench.target.get(LENGTH) == Bench.data[:LENGTH], "the data differ")
        check(Bench.target.get(GUARD, LENGTH) == bytes(GUARD), "bytes behind them were written")


@contextlib.contextmanager
def unreliable():
    """Two queue pairs of UC."""
    pair = [verbs.Queue(device, kind=e.IBV_QPT_UC) for device in (Bench.near, Bench.far)]
    try:
        for queue, peer in zip(pair, reversed(pair)):
            queue.init(verbs.WRITE)
            attr = QPAttr(qp_state=e.IBV_QPS_RTR)
            attr.path_mtu, attr.dest_qp_num, attr.rq_psn = verbs.MTUS[MTU], peer.number, 0xfffff0
            attr.ah_attr = verbs.address(queue.device, peer.device.address)
            queue.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_AV | e.IBV_QP_PATH_MTU
                            | e.IBV_QP_DEST_QPN | e.IBV_QP_RQ_PSN)
            attr = QPAttr(qp_state=e.IBV_QPS_RTS)
            attr.sq_psn = 0xfffff0
            queue.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_SQ_PSN)
        with whole():
            yield pair
    finally:
        for queue in pair:
            queue.close()


@case("unreliable")
def unreliable_rows():
    """UC: each length arrives; what is too long for its receive is dropped whole, and the
    receive waits for the next message."""
    with unreliable() as pair, rows(30):
        for count in (3, 40, 64, 65, 100):
            for opcode in (e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE_WITH_IMM):
                transfer(pair, opcode, count * MTU + count % 2, count)
        for room in (40 * MTU + 1, 64 * MTU - 1):
            Bench.target.put(bytes(LENGTH + GUARD))
            Bench.source.put(Bench.data[:LENGTH])
            pair[1].receive([Bench.target.sge(room)], wr_id=7)
            for length in (LENGTH, 40 * MTU):
                pair[0].send(e.IBV_WR_SEND, [Bench.source.sge(length)])
                status_is(pair[0].sent(), verbs.SUCCESS, "request")
            done = pair[1].received()
            equal((done.wr_id, done.status, done.byte_len), (7, verbs.SUCCESS, 40 * MTU),
                  "receive completion")
            check(Bench.target.get(40 * MTU) == Bench.data[:40 * MTU], "the data differ")
            check(Bench.target.get(LENGTH + GUARD - room, room) == bytes(LENGTH + GUARD - room),
                  "bytes behind the room were written")


@case("region-too-short")
def region_too_short():
    """A WRITE and a READ that leave the region at their end touch nothing of it."""
    with contextlib.ExitStack() as stack:
        small = verbs.Memory(Bench.far.pd, 40 * MTU)
        stack.callback(small.close)
        for opcode in (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ):
            with connection() as pair:
                pair[0].send(opcode, [Bench.source.sge(40 * MTU + 1)], remote=small.address,
                             rkey=small.rkey)
                status_is(pair[0].sent(), verbs.REM_ACCESS_ERR, "request")
        equal(small.get(40 * MTU), bytes(40 * MTU), "bytes of the region")


if __name__ == "__main__":
    main("trains", Bench.setup)
