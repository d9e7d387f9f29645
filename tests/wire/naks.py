#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Every request that cannot be executed is answered, at once and once.

A responder that goes to its error state in silence leaves its peer sending
again until the retries run out. Here two devices talk; each case makes the
responder refuse a request, and looks at three places: the wire (one NAK, its
syndrome, PSN, MSN, and how soon it came), the requester (the status of its
request), the responder (its state, and its receive completion).
"""

import subprocess
import time

import pyverbs.enums as e

import roce
import verbs
import wire
from harness import Skip, case, check, equal, main
from verbs import status_is

SIZE = 1 << 16
MTU = 1024
# "Within milliseconds", on an emulated CPU that shares a machine
SOON = 0.1
RETRY_TIMEOUT = 18  # 1 s
# Seconds in which a timer that goes on would send again: 2 ms is the shortest
QUIET = 0.02
MSN_BEFORE = 1


class Bench:
    """Both devices, and memory with different rights."""

    near = far = local = shared = read_only = no_remote = write_only = foreign = None

    @classmethod
    def setup(cls):
        """Open the devices; rxe0 asks, rxe1 refuses."""
        cls.near = verbs.Device("rxe0", wire.NEAR4)
        cls.far = verbs.Device("rxe1", wire.FAR4)
        cls.local = verbs.Memory(cls.near.pd, SIZE)
        cls.shared = verbs.Memory(cls.far.pd, SIZE)
        cls.read_only = verbs.Memory(cls.far.pd, SIZE, verbs.READ)
        cls.write_only = verbs.Memory(cls.far.pd, SIZE, verbs.LOCAL | verbs.WRITE)
        cls.no_remote = verbs.Memory(cls.far.pd, SIZE, verbs.LOCAL)
        cls.other_pd = verbs.PD(cls.far.context)
        cls.foreign = verbs.Memory(cls.other_pd, SIZE)


class Refusal:
    """A connection on which one request is going to be refused."""

    def __init__(self, **options):
        self.here, self.there = verbs.connected(
            Bench.near, Bench.far, mtu=MTU, timeout=RETRY_TIMEOUT, retry=1, rnr_retry=0, **options)
        # One good message first: the NAK must carry its MSN.
        self.there.receive([Bench.shared.sge(64)], wr_id=100)
        self.here.send(e.IBV_WR_SEND, [Bench.local.sge(64)])
        status_is(self.here.sent(), verbs.SUCCESS, "the good message")
        status_is(self.there.received(), verbs.SUCCESS, "its receive")
        self.tap = wire.Tap()
        Bench.far.events()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tap.close()
        self.here.close()
        self.there.close()

    def refused(self, syndrome, status, *, at=None, msn=MSN_BEFORE, stays=False, event=True):
        """The request fails, because of one NAK with that syndrome.

        at is the packet of the request that is refused (the last one). Where no
        receive takes the blow, an event tells the responder's process.
        """
        status_is(self.here.sent(), status, "the refused request")
        failed = time.time()
        time.sleep(QUIET)
        found = wire.sound(self.tap.drain())
        asked = [p for p in found if p.opcode not in roce.RESPONSES]
        naks = [p for p in found if p.opcode == roce.ACK and p.syndrome >= roce.RNR]
        first = {}
        for packet in asked:
            first.setdefault(packet.psn, packet)
        # If the NAK is slow, the timer sends the request again meanwhile. A responder
        # that stays as it was refuses that, too.
        again = len(asked) - len(first)
        equal({p.syndrome for p in naks}, {syndrome}, "NAKs on the wire")
        check(len(naks) <= (1 + again if stays else 1), f"{len(naks)} NAKs on the wire")
        check(all(p.stamp <= naks[0].stamp for p in first.values()),
              "something new was sent after the NAK")
        check(all(p.stamp <= failed for p in asked), "something was sent after the failure")
        culprit = list(first.values())[-1 if at is None else at]
        equal((naks[0].psn, naks[0].msn), (culprit.psn, msn), "PSN and MSN of the NAK")
        late = naks[0].stamp - culprit.stamp
        check(0 <= late < SOON, f"the NAK came after {late * 1000:.1f} ms")
        check(self.here.in_error(), "the requester is not in its error state")
        equal(self.there.in_error(), not stays, "error state of the responder")
        wanted = {roce.NAK_ACCESS: [e.IBV_EVENT_QP_ACCESS_ERR],
                  roce.NAK_INVALID: [e.IBV_EVENT_QP_REQ_ERR]}.get(syndrome, [])
        equal(Bench.far.events(), wanted if event else [], "events at the responder")
        return found

    def nothing_received(self):
        """No receive was used up."""
        self.there.no_completion(self.there.rcq, "the responder's receive queue")


def one_sided(opcode, memory, offset=0, length=64, *, key=None, syndrome=roce.NAK_ACCESS,
              status=verbs.REM_ACCESS_ERR, at=None, **options):
    """A WRITE or READ that is refused."""
    with Refusal(**options) as test:
        before = memory.get(memory.size)
        test.here.send(opcode, [Bench.local.sge(length)], remote=memory.address + offset,
                       rkey=memory.rkey if key is None else key)
        test.refused(syndrome, status, at=at)
        test.nothing_received()
        check(memory.get(memory.size) == before, "a refused request changed memory")


def atomic(memory, offset=0, *, key=None, syndrome=roce.NAK_ACCESS, status=verbs.REM_ACCESS_ERR,
           opcode=e.IBV_WR_ATOMIC_FETCH_AND_ADD, **options):
    """An atomic that is refused."""
    with Refusal(**options) as test:
        before = memory.get(memory.size)
        test.here.atomic(opcode, Bench.local.sge(8), remote=memory.address + offset,
                         rkey=memory.rkey if key is None else key, compare_add=0, swap=5)
        test.refused(syndrome, status)
        check(memory.get(memory.size) == before, "a refused atomic changed memory")


def bad_key():
    """A key that does not exist: another index, hence other memory."""
    return Bench.shared.rkey ^ 0x5a5a5a00


def dead_key():
    """A key that was good until just now."""
    gone = verbs.Memory(Bench.far.pd, 4096)
    key = gone.rkey
    gone.close()
    return key


@case("read-invalid-rkey")
def read_invalid_rkey():
    """READ of a key that does not exist: NAK 0x62 within milliseconds."""
    one_sided(e.IBV_WR_RDMA_READ, Bench.shared, key=bad_key())


@case("read-wrong-variant")
def read_wrong_variant():
    """The right index, but the low byte of the key is of another registration."""
    one_sided(e.IBV_WR_RDMA_READ, Bench.shared, key=Bench.shared.rkey ^ 1)


@case("read-deregistered")
def read_deregistered():
    """READ of memory that has just been deregistered."""
    one_sided(e.IBV_WR_RDMA_READ, Bench.shared, key=dead_key())


@case("read-no-right")
def read_no_right():
    """READ of memory that only permits WRITE."""
    one_sided(e.IBV_WR_RDMA_READ, Bench.write_only)


@case("read-other-pd")
def read_other_pd():
    """READ of memory in another protection domain."""
    one_sided(e.IBV_WR_RDMA_READ, Bench.foreign)


@case("read-out-of-bounds")
def read_out_of_bounds():
    """READ that leaves the region with its last byte."""
    one_sided(e.IBV_WR_RDMA_READ, Bench.shared, SIZE - 63)


@case("read-before-start")
def read_before_start():
    """READ that starts one byte before the region."""
    one_sided(e.IBV_WR_RDMA_READ, Bench.shared, -1)


@case("read-long-out-of-bounds")
def read_long_out_of_bounds():
    """READ of many packets, of which only the last is out of bounds."""
    one_sided(e.IBV_WR_RDMA_READ, Bench.shared, 1, SIZE, at=0)


@case("write-invalid-rkey")
def write_invalid_rkey():
    """WRITE to a key that does not exist."""
    one_sided(e.IBV_WR_RDMA_WRITE, Bench.shared, key=bad_key())


@case("write-long-invalid-rkey")
def write_long_invalid_rkey():
    """WRITE of several packets: refused at its first one, once."""
    one_sided(e.IBV_WR_RDMA_WRITE, Bench.shared, key=bad_key(), length=4 * MTU, at=0)


def near_end(*words):
    """A command in the namespace of rxe0."""
    done = subprocess.run(("ip", "netns", "exec", "ns1", *words), capture_output=True, text=True,
                          check=False)
    check(not done.returncode, f"{' '.join(words)}: {done.stderr.strip()}")


@case("write-slow-nak")
def write_slow_nak():
    """The NAK reaches the requester late: meanwhile it repeats itself, and nobody answers that.

    The tap sees the NAK when it arrives, the driver 30 ms later.
    """
    for module in ("ifb", "act_mirred", "sch_netem"):
        if subprocess.run(("modprobe", "-q", module), check=False).returncode:
            raise Skip(f"this kernel has no {module}")
    with Refusal() as test:
        try:
            near_end("ip", "link", "add", "slow", "type", "ifb")
            near_end("ip", "link", "set", "slow", "up")
            near_end("tc", "qdisc", "add", "dev", "slow", "root", "netem", "delay", "30ms")
            near_end("tc", "qdisc", "add", "dev", wire.INTERFACE, "handle", "ffff:", "ingress")
            near_end("tc", "filter", "add", "dev", wire.INTERFACE, "parent", "ffff:", "matchall",
                    "action", "mirred", "egress", "redirect", "dev", "slow")
            test.here.send(e.IBV_WR_RDMA_WRITE, [Bench.local.sge(4 * MTU)],
                           remote=Bench.shared.address, rkey=bad_key())
            found = test.refused(roce.NAK_ACCESS, verbs.REM_ACCESS_ERR, at=0)
            asked = [p for p in found if p.opcode not in roce.RESPONSES]
            check(len(asked) > 4, "the request was not sent again")
        finally:
            for words in (("tc", "qdisc", "del", "dev", wire.INTERFACE, "ingress"),
                          ("ip", "link", "del", "slow")):
                subprocess.run(("ip", "netns", "exec", "ns1", *words), capture_output=True,
                               check=False)


@case("write-no-right")
def write_no_right():
    """WRITE to memory that only permits READ."""
    one_sided(e.IBV_WR_RDMA_WRITE, Bench.read_only)


@case("write-no-remote-right")
def write_no_remote_right():
    """WRITE to memory that permits nothing to anybody else."""
    one_sided(e.IBV_WR_RDMA_WRITE, Bench.no_remote)


@case("write-other-pd")
def write_other_pd():
    """WRITE to memory in another protection domain."""
    one_sided(e.IBV_WR_RDMA_WRITE, Bench.foreign)


@case("write-out-of-bounds")
def write_out_of_bounds():
    """WRITE of several packets over the end: nothing of it is placed."""
    one_sided(e.IBV_WR_RDMA_WRITE, Bench.shared, SIZE - 2 * MTU, 2 * MTU + 1, at=0)


@case("write-wraps")
def write_wraps():
    """WRITE whose address plus length is beyond 2^64."""
    one_sided(e.IBV_WR_RDMA_WRITE, Bench.shared, (1 << 64) - 32 - Bench.shared.address)


@case("read-wraps")
def read_wraps():
    """READ whose address plus length is beyond 2^64."""
    one_sided(e.IBV_WR_RDMA_READ, Bench.shared, (1 << 64) - 32 - Bench.shared.address)


@case("write-imm-invalid-rkey")
def write_imm_invalid_rkey():
    """WRITE WITH IMM that is refused takes no receive with it as a success."""
    with Refusal() as test:
        test.there.receive([Bench.shared.sge(64)], wr_id=8)
        test.here.send(e.IBV_WR_RDMA_WRITE_WITH_IMM, [Bench.local.sge(64)], imm=1,
                       remote=Bench.shared.address, rkey=bad_key())
        test.refused(roce.NAK_ACCESS, verbs.REM_ACCESS_ERR)
        done = test.there.received()
        equal(done.wr_id, 8, "receive completion")
        check(done.status != verbs.SUCCESS, "the receive completed as if nothing had happened")


@case("atomic-invalid-rkey")
def atomic_invalid_rkey():
    """FETCH ADD with a key that does not exist."""
    atomic(Bench.shared, key=bad_key())


@case("atomic-no-right")
def atomic_no_right():
    """COMPARE SWAP on memory that permits no atomics."""
    atomic(Bench.write_only, opcode=e.IBV_WR_ATOMIC_CMP_AND_SWP)


@case("atomic-out-of-bounds")
def atomic_out_of_bounds():
    """FETCH ADD behind the region."""
    atomic(Bench.shared, SIZE)


@case("write-qp-without-right")
def write_qp_without_right():
    """The QP permits no WRITE, the memory would."""
    one_sided(e.IBV_WR_RDMA_WRITE, Bench.shared, syndrome=roce.NAK_INVALID,
              status=verbs.REM_INV_REQ_ERR, far_access=verbs.READ)


@case("read-qp-without-right")
def read_qp_without_right():
    """The QP permits no READ, the memory would."""
    one_sided(e.IBV_WR_RDMA_READ, Bench.shared, syndrome=roce.NAK_INVALID,
              status=verbs.REM_INV_REQ_ERR, far_access=verbs.WRITE)


@case("atomic-qp-without-right")
def atomic_qp_without_right():
    """The QP permits no atomics, the memory would."""
    atomic(Bench.shared, syndrome=roce.NAK_INVALID, status=verbs.REM_INV_REQ_ERR,
           far_access=verbs.WRITE | verbs.READ)


@case("read-without-resources")
def read_without_resources():
    """max_dest_rd_atomic 0: the responder keeps no READs at all."""
    one_sided(e.IBV_WR_RDMA_READ, Bench.shared, syndrome=roce.NAK_INVALID,
              status=verbs.REM_INV_REQ_ERR, far_reads=0)


def short_receive(length, room, at):
    """A SEND longer than the receive buffer: NAK 0x61, and LOC_LEN_ERR there."""
    with Refusal() as test:
        test.there.receive([Bench.shared.sge(room)], wr_id=9)
        test.here.send(e.IBV_WR_SEND, [Bench.local.sge(length)])
        test.refused(roce.NAK_INVALID, verbs.REM_INV_REQ_ERR, at=at, event=False)
        done = test.there.received()
        equal((done.wr_id, done.status), (9, verbs.LOC_LEN_ERR), "receive completion")


@case("send-too-long")
def send_too_long():
    """One byte more than the receive buffer has room for."""
    short_receive(65, 64, 0)


@case("send-too-long-last-packet")
def send_too_long_last_packet():
    """Only the last of several packets does not fit."""
    short_receive(2 * MTU + 1, 2 * MTU, 2)


@case("recv-bad-lkey")
def recv_bad_lkey():
    """The receive buffer has a wrong key: NAK 0x63, and LOC_PROT_ERR there."""
    with Refusal() as test:
        test.there.receive([Bench.shared.sge(64, lkey=bad_key())], wr_id=9)
        test.here.send(e.IBV_WR_SEND, [Bench.local.sge(64)])
        test.refused(roce.NAK_OPERATION, verbs.REM_OP_ERR)
        done = test.there.received()
        equal((done.wr_id, done.status), (9, verbs.LOC_PROT_ERR), "receive completion")


@case("recv-no-local-write")
def recv_no_local_write():
    """The receive buffer may not be written to: NAK 0x63."""
    with Refusal() as test:
        test.there.receive([Bench.read_only.sge(64)], wr_id=9)
        test.here.send(e.IBV_WR_SEND, [Bench.local.sge(64)])
        test.refused(roce.NAK_OPERATION, verbs.REM_OP_ERR)
        status_is(test.there.received(), verbs.LOC_PROT_ERR, "receive")


@case("cq-overrun")
def cq_overrun():
    """No room for the receive completion: the requester is told, 0x63."""
    far = Bench.far
    here, there = verbs.Queue(Bench.near), verbs.Queue(far, cqe=1)
    try:
        room = there.rcq.cqe
        here.connect(there.number, far.address, mtu=MTU, timeout=RETRY_TIMEOUT, rnr_retry=0)
        there.connect(here.number, Bench.near.address, mtu=MTU)
        for index in range(room + 1):
            there.receive([Bench.shared.sge(64)], wr_id=index)
        for index in range(room):
            here.send(e.IBV_WR_SEND, [Bench.local.sge(64)])
            status_is(here.sent(), verbs.SUCCESS, f"message {index} of {room}")
        tap = wire.Tap()
        far.events()
        here.send(e.IBV_WR_SEND, [Bench.local.sge(64)])
        done = here.sent()
        found = wire.sound(tap.drain())
        tap.close()
        status_is(done, verbs.REM_OP_ERR, "the message without room for its completion")
        equal([p.syndrome for p in found if p.opcode == roce.ACK], [roce.NAK_OPERATION], "answers")
        check(there.in_error(), "the responder is not in its error state")
        check(e.IBV_EVENT_CQ_ERR in far.events(), "no event about the completion queue")
    finally:
        here.close()
        there.close()


def rnr(timer):
    """No receive posted: RNR NAK with the timer code; rnr_retry 0 gives up."""
    with Refusal(far_rnr_timer=timer) as test:
        test.here.send(e.IBV_WR_SEND, [Bench.local.sge(64)])
        test.refused(roce.RNR | timer, verbs.RNR_RETRY_EXC_ERR, stays=True)


for code in (0, 1, 14, 31):
    case(f"rnr-timer-{code}")(lambda c=code: rnr(c))


@case("rnr-write-imm")
def rnr_write_imm():
    """WRITE WITH IMM without a receive: RNR NAK at its last packet."""
    with Refusal(far_rnr_timer=3) as test:
        test.here.send(e.IBV_WR_RDMA_WRITE_WITH_IMM, [Bench.local.sge(2 * MTU)], imm=1,
                       remote=Bench.shared.address, rkey=Bench.shared.rkey)
        test.refused(roce.RNR | 3, verbs.RNR_RETRY_EXC_ERR, stays=True)


@case("rnr-then-receive")
def rnr_then_receive():
    """The receive comes during the pause: the message arrives, and not before.

    Code 24 is a pause of 41 ms.
    """
    here, there = verbs.connected(Bench.near, Bench.far, mtu=MTU, timeout=RETRY_TIMEOUT,
                                  far_rnr_timer=24)
    tap = wire.Tap()
    try:
        here.send(e.IBV_WR_SEND, [Bench.local.sge(64)])
        end = wire.time.monotonic() + verbs.PATIENCE
        nak = tap.next(end)
        while nak and nak.opcode != roce.ACK:
            nak = tap.next(end)
        check(nak is not None, "no RNR NAK")
        equal(nak.syndrome, roce.RNR | 24, "syndrome")
        there.receive([Bench.shared.sge(64)])
        status_is(here.sent(), verbs.SUCCESS, "the message")
        status_is(there.received(), verbs.SUCCESS, "its receive")
        again = [p for p in wire.sound(tap.drain()) if p.opcode == roce.SEND_ONLY]
        check(again, "the message was not sent again")
        pause = again[0].stamp - nak.stamp
        check(pause >= 0.04096, f"sent again after {pause * 1000:.2f} ms instead of 40.96")
    finally:
        tap.close()
        here.close()
        there.close()


@case("unsignaled-fails")
def unsignaled_fails():
    """A request that asked for no completion gets one when it is refused."""
    with Refusal() as test:
        test.here.send(e.IBV_WR_RDMA_READ, [Bench.local.sge(64)], remote=Bench.shared.address,
                       rkey=bad_key(), flags=0)
        test.refused(roce.NAK_ACCESS, verbs.REM_ACCESS_ERR)


@case("flush-behind")
def flush_behind():
    """What was posted behind a refused request is flushed, what was before is not."""
    with Refusal() as test:
        good = {"remote": Bench.shared.address, "rkey": Bench.shared.rkey}
        sge = [Bench.local.sge(64)]
        test.here.send(e.IBV_WR_RDMA_WRITE, sge, wr_id=1, **good)
        test.here.send(e.IBV_WR_RDMA_READ, sge, wr_id=2, remote=good["remote"], rkey=bad_key())
        test.here.send(e.IBV_WR_RDMA_WRITE, sge, wr_id=3, **good)
        done = [test.here.sent() for _ in range(3)]
        test.here.send(e.IBV_WR_RDMA_WRITE, sge, wr_id=4, **good)
        done.append(test.here.sent())
        equal([(d.wr_id, d.status) for d in done],
              [(1, verbs.SUCCESS), (2, verbs.REM_ACCESS_ERR), (3, verbs.FLUSH_ERR),
               (4, verbs.FLUSH_ERR)], "completions")


@case("zero-length-needs-no-key")
def zero_length_needs_no_key():
    """READ and WRITE of nothing succeed whatever the key says (C9-88)."""
    here, there = verbs.connected(Bench.near, Bench.far, mtu=MTU)
    try:
        there.receive([Bench.shared.sge(0)], wr_id=9)
        for opcode in (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ, e.IBV_WR_RDMA_WRITE_WITH_IMM):
            here.send(opcode, [Bench.local.sge(0)], remote=1, rkey=bad_key())
            status_is(here.sent(), verbs.SUCCESS, f"operation {opcode}")
        found = there.received()
        equal((found.wr_id, found.status, found.byte_len), (9, verbs.SUCCESS, 0), "the receive")
        check(not there.in_error(), "the responder is in its error state")
    finally:
        here.close()
        there.close()


if __name__ == "__main__":
    main("naks", Bench.setup)
