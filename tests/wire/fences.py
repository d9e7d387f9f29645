#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What one request waits for: fences, windows of READs, attributes that change.

Answers are given one at a time. Between two of them nothing may leave, or take effect,
that has to wait for the second; and what an error ends is ended as a whole.
"""

import contextlib
import errno
import struct
import time

import pyverbs.enums as e
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPAttr

import roce
import verbs
from errors import (Window, ask, flushed, harmless, long_read, modify, read_back, response, slow,
                    told)
from harness import case, check, equal, main
from placement import AskingBoth
from roce import psn_add
from stranger import DATA, MTU, REMOTE, RKEY, Asking, Far, Stranger, plan

FENCED = e.IBV_SEND_SIGNALED | e.IBV_SEND_FENCE


def msn(count):
    """AETH of a good answer."""
    return roce.aeth(roce.ACK_UNLIMITED, count)


# ---- fences ----

def open_to_peer(test, window, payload):
    """The peer writes by the key of the window, and its bytes are there."""
    test.send(roce.WRITE_ONLY, roce.reth(window.address, window.rkey, len(payload)), payload,
              ackreq=True)
    test.msn += 1
    test.acked()
    test.step(messages=0)
    equal(window.get(len(payload)), payload, "memory of the window")


def invalidate_waits(verb, opcode, extended):
    """A fenced LOCAL_INV waits for all before it, also for what has no response: the key
    is good until the last ACK is here (10.6.5.1)."""
    with Asking() as test, Window(test, 0, 4096, verbs.WRITE) as window:
        for index in (0, 1):
            test.post(verb, wr_id=index)
            test.asked(opcode, plan(index, test), extended, DATA[:64], True)
        test.queue.send(e.IBV_WR_LOCAL_INV, [], invalidate=window.rkey, wr_id=2, flags=FENCED)
        open_to_peer(test, window, b"two!")
        test.ack(plan(0, test))
        test.completed(0)
        open_to_peer(test, window, b"one!")
        test.queue.no_completion(test.queue.scq, "a request is not acknowledged")
        test.ack(plan(1, test), msn=2)
        test.completed(1)
        test.completed(2)
        test.send(roce.WRITE_ONLY, roce.reth(window.address, window.rkey, 4), b"shut",
                  ackreq=True)
        test.refused(roce.NAK_ACCESS)
        equal(window.get(4), b"one!", "memory of the window")


case("local-invalidate-behind-write")(lambda: invalidate_waits(
    e.IBV_WR_RDMA_WRITE, roce.WRITE_ONLY, roce.reth(REMOTE, RKEY, 64)))
case("local-invalidate-behind-send")(lambda: invalidate_waits(
    e.IBV_WR_SEND, roce.SEND_ONLY, b""))


@case("local-behind-local")
def local_behind_local():
    """Fenced local operations wait for each other no longer than it takes to execute them:
    no answer comes that would call for the next one."""
    count, pause = 12, 0.01
    with Asking() as test, contextlib.ExitStack() as stack:
        windows = [stack.enter_context(Window(test, 0, 64, verbs.WRITE)) for _ in range(count)]
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=0)
        test.asked_read(plan(0, test))
        for index, window in enumerate(windows):
            test.queue.send(e.IBV_WR_LOCAL_INV, [], invalidate=window.rkey, wr_id=index + 1,
                            flags=FENCED)
        test.queue.no_completion(test.queue.scq, "the READ has no answer")
        begin = time.monotonic()
        test.reply(roce.RESP_ONLY, plan(0, test), msn(1), DATA[:64])
        for index in range(count + 1):
            test.completed(index)
        took = time.monotonic() - begin
        check(took < count * pause / 2, f"{count} invalidations took {took * 1000:.1f} ms")


@case("fence-behind-three")
def fence_behind_three():
    """A fenced WRITE waits for the last of two READs and an atomic, and sends the bytes that
    they have brought; what is behind it does not overtake it."""
    parts = (b"\xa1" * 64, b"\xb2" * 64, struct.pack("=Q", 77))
    with Asking() as test:
        for index in (0, 1):
            test.post(e.IBV_WR_RDMA_READ, 64, wr_id=index, offset=64 * index)
        test.queue.atomic(e.IBV_WR_ATOMIC_FETCH_AND_ADD, test.memory.sge(8, 128), remote=REMOTE,
                          rkey=RKEY, compare_add=3, wr_id=2)
        test.post(length=136, wr_id=3, flags=FENCED)
        test.post(wr_id=4)
        for index in (0, 1):
            test.asked_read(plan(index, test))
        test.asked(roce.FETCH_ADD, plan(2, test), roce.atmeth(REMOTE, RKEY, 3))
        test.silent()
        for index in (0, 1):
            test.reply(roce.RESP_ONLY, plan(index, test), msn(index + 1), parts[index])
            test.completed(index)
            test.silent()
        test.reply(roce.ATOMIC_ACK, plan(2, test), msn(3) + struct.pack(">Q", 77))
        test.completed(2)
        fenced = test.next()
        check(fenced is not None, "nothing is sent, though all answers are here")
        equal((fenced.opcode, fenced.psn, fenced.payload),
              (roce.WRITE_ONLY, plan(3, test), b"".join(parts)), "the fenced WRITE")
        test.asked(roce.WRITE_ONLY, plan(4, test), roce.reth(REMOTE, RKEY, 64), parts[0], True)
        test.ack(plan(4, test), msn=5)
        for index in (3, 4):
            test.completed(index)
        test.silent()


@case("fence-behind-placement")
def fence_behind_placement():
    """ATOMIC WRITE and FLUSH count like READs: a fenced WRITE waits for both."""
    kinds = ("atomic-write", "flush")
    with AskingBoth() as test:
        for index, kind in enumerate(kinds):
            test.post_kind(kind, index)
            test.asked_for(kind, index)
        test.post(wr_id=2, flags=FENCED)
        for index, kind in enumerate(kinds):
            test.silent()
            test.respond(index)
            test.done(kind, index)
        test.asked_write(plan(2, test))
        test.ack(plan(2, test), msn=3)
        test.completed(2)


# ---- windows of READs ----

# Packets that one READ request asks for: a quarter of the window of 512 KiB
CHUNK = 128


def long_read_in_chunks(outstanding):
    """A READ of 300 packets is three requests: of them, too, no more than max_rd_atomic are
    on their way, until the last response to the oldest is here."""
    count = 300
    fresh = (bytes(reversed(DATA)) * (count * MTU // len(DATA) + 1))[:count * MTU]
    chunks = [(first, min(CHUNK, count - first)) for first in range(0, count, CHUNK)]

    def asked(first, packets):
        test.asked_read(plan(first, test), packets * MTU, first * MTU)

    def respond(first, packets, index):
        opcode = roce.RESP_FIRST if not index else \
            roce.RESP_LAST if index == packets - 1 else roce.RESP_MIDDLE
        at = first + index
        test.reply(opcode, plan(at, test), b"" if opcode == roce.RESP_MIDDLE else msn(1),
                   fresh[at * MTU:(at + 1) * MTU])

    with Asking(outstanding=outstanding) as test:
        memory = verbs.Memory(test.device.pd, count * MTU)
        test.queue.send(e.IBV_WR_RDMA_READ, [memory.sge(count * MTU)], remote=REMOTE, rkey=RKEY)
        for chunk in chunks[:outstanding]:
            asked(*chunk)
        for number, (first, packets) in enumerate(chunks):
            for index in range(packets - 1):
                respond(first, packets, index)
            test.silent()
            test.queue.no_completion(test.queue.scq, "a response is missing")
            respond(first, packets, packets - 1)
            for chunk in chunks[number + outstanding:number + outstanding + 1]:
                asked(*chunk)
        test.completed(1)
        check(memory.get(count * MTU) == fresh, "bytes of the READ differ")
        test.silent()
        memory.close()


for limit in (1, 2):
    case(f"long-read-{limit}-at-a-time")(lambda n=limit: long_read_in_chunks(n))


# ---- what an error ends ----

@case("unsignaled-and-errors")
def unsignaled_errors():
    """Who asked for no completion gets one all the same when the request fails, or is
    flushed (10.7.3.1); none of what was done before."""
    with Asking() as test:
        for index, flags in enumerate((0, 0, 0, e.IBV_SEND_SIGNALED, 0)):
            test.post(wr_id=index, flags=flags)
        for index in range(5):
            test.asked_write(plan(index, test))
        test.ack(plan(1, test), roce.NAK_ACCESS)
        test.completed(1, verbs.REM_ACCESS_ERR)
        for index in (2, 3, 4):
            test.completed(index, verbs.FLUSH_ERR)
        test.post(wr_id=5, flags=0)
        test.completed(5, verbs.FLUSH_ERR)
        test.silent()
        test.queue.no_completion(test.queue.scq, "each completes once")


def ended(verb, syndrome, status):
    """The peer's answer ends the connection: receives are flushed, and whatever is posted
    to either queue; the completions say it, and no event."""
    with Asking(rnr_retry=0) as test:
        told(test.device)
        test.receive(64, 4096, wr_id=40)
        test.receive(64, 4096, wr_id=41)
        test.post(verb, wr_id=1)
        check(test.next() is not None, "no request")
        test.ack(plan(0, test), syndrome, 0)
        test.completed(1, status)
        for wr_id in (40, 41):
            found = test.queue.received()
            equal((found.wr_id, found.status), (wr_id, verbs.FLUSH_ERR), "receive")
        check(test.queue.in_error(), "the queue pair is not in its error state")
        equal(told(test.device), [], "events")
        flushed(test)
        test.silent(0.02)


for code, meaning in ((roce.NAK_INVALID, verbs.REM_INV_REQ_ERR),
                      (roce.NAK_ACCESS, verbs.REM_ACCESS_ERR),
                      (roce.NAK_OPERATION, verbs.REM_OP_ERR)):
    case(f"ended-by-{code:02x}")(lambda c=code, m=meaning: ended(e.IBV_WR_RDMA_WRITE, c, m))
case("ended-by-rnr")(lambda: ended(e.IBV_WR_SEND, roce.RNR | 1, verbs.RNR_RETRY_EXC_ERR))


# ---- attributes that change ----

def asked_again(test, memory, data, psn, skip=0):
    """A copy of a READ, or of a part of it that begins so many packets on: answered as ever."""
    count = roce.packets(len(data), MTU)
    ask(test, roce.READ_REQUEST, memory, len(data), skip * MTU, psn=psn)
    for index in range(count):
        test.answer(*response(index, count, psn, data, test.msn))


def asked_in_vain(test, memory, length, psn):
    """A copy of a READ that nothing is saved of: silence."""
    ask(test, roce.READ_REQUEST, memory, length, psn=psn)
    test.good_write()


def change(test, mask, **values):
    """Modify attributes of the queue pair."""
    attr = QPAttr(qp_state=e.IBV_QPS_RTS)
    for name, value in values.items():
        setattr(attr, name, value)
    test.queue.qp.modify(attr, mask)


@case("max-dest-rd-atomic-lowered")
def dest_lowered():
    """From 16 to 1 while a long READ is answered: that goes on to its end, and is the one
    that is kept for copies; older ones are forgotten."""
    count = 400
    with Stranger() as test:
        test.device.events()
        test.memory.put(DATA)
        lengths = (64, 2 * MTU, 65)
        older = [(read_back(test, test.memory, length), length) for length in lengths]
        memory, data = long_read(test, count * MTU)
        first = test.psn
        with slow():
            ask(test, roce.READ_REQUEST, memory, len(data))
            test.msn += 1
            test.answer(*response(0, count, first, data, test.msn))
            modify(test, e.IBV_QPS_SQD)
            change(test, e.IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic=1)
            for index in range(1, count):
                test.answer(*response(index, count, first, data, test.msn))
        test.step(count, 0)
        for skip, packets in ((0, 3), (count - 2, 2)):
            asked_again(test, memory, data[skip * MTU:(skip + packets) * MTU],
                        psn_add(first, skip), skip)
        for psn, length in older:
            asked_in_vain(test, test.memory, length, psn)
        # there is one place, and the next READ takes it
        newer = read_back(test, test.memory, 64)
        asked_in_vain(test, memory, MTU, first)
        asked_again(test, test.memory, DATA[:64], newer)
        modify(test, e.IBV_QPS_RTS)
        test.good_write()
        harmless(test, "after a change of max_dest_rd_atomic")
        memory.close()


@case("rd-atomic-in-rts")
def rd_atomic_in_rts():
    """No state machine lets max_rd_atomic and max_dest_rd_atomic change in RTS: refused, and
    both sides go on with what was agreed on."""
    with Asking() as test:
        test.device.events()
        saved = [read_back(test, test.memory, 64) for _ in range(2)]
        for name, bit in (("max_dest_rd_atomic", e.IBV_QP_MAX_DEST_RD_ATOMIC),
                          ("max_rd_atomic", e.IBV_QP_MAX_QP_RD_ATOMIC)):
            for state in (0, e.IBV_QP_STATE):
                try:
                    change(test, bit | state, **{name: 1})
                except PyverbsRDMAError as error:
                    equal(error.error_code, errno.EINVAL, f"{name} in RTS: error")
                else:
                    check(False, f"{name} was changed in RTS")
            equal(getattr(test.queue.qp.query(bit)[0], name), 16, name)
        # each of those saved is there, also the older one
        for psn in saved:
            asked_again(test, test.memory, DATA[:64], psn)
        read_back(test, test.memory, 2 * MTU)
        for index in (0, 1):
            test.post(e.IBV_WR_RDMA_READ, 64, wr_id=index, offset=64 * index)
            test.asked_read(plan(index, test))
        for index in (0, 1):
            test.reply(roce.RESP_ONLY, plan(index, test), msn(index + 1), DATA[64:128])
            test.completed(index)
        equal(test.memory.get(128), DATA[64:128] * 2, "bytes of the READs")
        test.good_write()
        harmless(test, "after changes that were refused")


if __name__ == "__main__":
    main("fences", Far.setup)
