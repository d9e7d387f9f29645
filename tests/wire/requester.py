#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Answers made by hand against the requester of a real queue pair.

The device asks, this program answers: late, wrong, twice or not at all. Each
request is compared byte for byte (stranger.py).
"""

import re
import struct
import subprocess
import time

import pyverbs.enums as e
from pyverbs.mr import MW, MWBindInfo
from pyverbs.qp import QPAttr
from pyverbs.wr import SendWR

import roce
import verbs
from harness import case, check, equal, main
from stranger import DATA, MTU, REMOTE, RKEY, SIZE, THEIRS, Asking, Far, plan

LOC_QP_OP_ERR, BAD_RESP_ERR = 2, 7


@case("ack")
def ack():
    """One ACK completes all that came before it."""
    with Asking() as test:
        for index in range(3):
            test.post(wr_id=index)
        for index in range(3):
            test.next()
        test.ack(plan(2, test), msn=3)
        for index in range(3):
            test.completed(index)


@case("bytes-of-a-message")
def bytes_of_a_message():
    """WRITE with immediate data of three packets, byte for byte."""
    with Asking() as test:
        total = 2 * MTU + 3
        test.post(e.IBV_WR_RDMA_WRITE_WITH_IMM, total, imm=0x01020304)
        test.asked(roce.WRITE_FIRST, plan(0, test), roce.reth(REMOTE, RKEY, total), DATA[:MTU])
        test.asked(roce.WRITE_MIDDLE, plan(1, test), b"", DATA[MTU:2 * MTU])
        test.asked(roce.WRITE_LAST_IMM, plan(2, test), b"\1\2\3\4", DATA[2 * MTU:total], True)
        test.ack(plan(2, test))
        test.completed(1)


@case("bytes-of-an-atomic")
def bytes_of_an_atomic():
    """COMPARE SWAP and FETCH ADD, byte for byte, and their results."""
    with Asking() as test:
        for index, (verb, opcode, swap_add, compare) in enumerate((
                (e.IBV_WR_ATOMIC_FETCH_AND_ADD, roce.FETCH_ADD, 5, 0),
                (e.IBV_WR_ATOMIC_CMP_AND_SWP, roce.CMP_SWAP, 7, 5))):
            test.queue.atomic(verb, test.memory.sge(8, 512), remote=REMOTE, rkey=RKEY,
                              compare_add=compare or swap_add, swap=swap_add, wr_id=index)
            test.asked(opcode, plan(index, test), roce.atmeth(REMOTE, RKEY, swap_add, compare))
            test.reply(roce.ATOMIC_ACK, plan(index, test),
                       roce.aeth(roce.ACK_UNLIMITED, index + 1) + struct.pack(">Q", 77 + index))
            test.completed(index)
            equal(struct.unpack("=Q", test.memory.get(8, 512))[0], 77 + index, "result")


@case("solicited")
def solicited():
    """IBV_SEND_SOLICITED sets SE, on the last packet of a SEND only."""
    with Asking() as test:
        flags = e.IBV_SEND_SIGNALED | e.IBV_SEND_SOLICITED
        test.queue.send(e.IBV_WR_SEND, [test.memory.sge(MTU + 4)], flags=flags)
        test.queue.send(e.IBV_WR_RDMA_WRITE, [test.memory.sge(4)], remote=REMOTE, rkey=RKEY,
                        flags=flags)
        equal([(p.opcode, p.se) for p in (test.next(), test.next(), test.next())],
              [(roce.SEND_FIRST, False), (roce.SEND_LAST, True), (roce.WRITE_ONLY, False)],
              "solicited event bits")


@case("ack-beyond")
def ack_beyond():
    """An ACK of what was never sent completes nothing."""
    with Asking() as test:
        test.post()
        test.asked_write()
        for offset in (1, 2, 100, (1 << 23) - 1):
            test.ack(plan(offset, test))
            test.waits(f"ACK {offset} beyond")
        test.ack(plan(0, test))
        test.completed(1)


@case("ack-stale")
def ack_stale():
    """ACKs and NAKs of what is long acknowledged change nothing."""
    with Asking() as test:
        test.post()
        test.asked_write()
        test.ack(plan(0, test))
        test.completed(1)
        test.post(wr_id=2)
        test.asked_write(plan(1, test))
        for syndrome in (roce.ACK_UNLIMITED, roce.NAK_ACCESS, roce.NAK_SEQUENCE, roce.RNR):
            for offset in (0, -1, -1000):
                test.ack(plan(offset, test), syndrome)
        test.waits("stale answers")
        test.ack(plan(1, test))
        test.completed(2)


def credits_of(test, psn, count, msn):
    """An ACK that says how many receives there are; credits up to 4 are their own code."""
    test.ack(plan(psn, test), count, msn)


def asked_send(test, psn, opcode=roce.SEND_ONLY, payload=DATA[:64]):
    """The next request is this packet of a SEND, and it asks for an ACK."""
    test.asked(opcode, plan(psn, test), b"", payload, True)


@case("credits")
def credit_limit():
    """A peer that limits its credits is sent no more SENDs than it has receives for,
    but one at a time when it has none; WRITEs need none."""
    with Asking() as test:
        test.post(e.IBV_WR_SEND, wr_id=0)
        asked_send(test, 0)
        credits_of(test, 0, 2, 1)
        test.completed(0)
        for index in range(1, 6):
            test.post(e.IBV_WR_SEND, wr_id=index)
        # each post sends what it may: two of them
        asked_send(test, 1)
        asked_send(test, 2)
        test.silent()
        # the receives are used up now
        credits_of(test, 2, 0, 3)
        test.completed(1)
        test.completed(2)
        asked_send(test, 3)
        test.silent()
        credits_of(test, 3, 1, 4)
        test.completed(3)
        asked_send(test, 4)
        test.silent()
        test.ack(plan(4, test), roce.ACK_UNLIMITED, 5)
        test.completed(4)
        asked_send(test, 5)
        credits_of(test, 5, 0, 6)
        test.completed(5)
        test.post(e.IBV_WR_SEND, wr_id=6)
        asked_send(test, 6)
        for index in (7, 8, 9):
            test.post(wr_id=index)
            test.asked_write(plan(index, test))
        credits_of(test, 9, 0, 10)
        for index in (6, 7, 8, 9):
            test.completed(index)


@case("credits-of-a-long-message")
def credits_of_a_long_message():
    """Without credit a message goes packet by packet, each with its ACK."""
    with Asking() as test:
        test.post(wr_id=0)
        test.asked_write()
        credits_of(test, 0, 0, 1)
        test.completed(0)
        test.post(e.IBV_WR_SEND, 3 * MTU, wr_id=1)
        asked_send(test, 1, roce.SEND_FIRST, DATA[:MTU])
        test.silent()
        credits_of(test, 1, 0, 1)
        asked_send(test, 2, roce.SEND_MIDDLE, DATA[MTU:2 * MTU])
        test.silent()
        # one receive, that of the message itself: the rest may go
        credits_of(test, 2, 1, 1)
        asked_send(test, 3, roce.SEND_LAST, DATA[2 * MTU:3 * MTU])
        credits_of(test, 3, 0, 2)
        test.completed(1)


@case("reserved-syndromes")
def reserved_syndromes():
    """Syndromes of no kind, that nobody may send: nothing is concluded from them."""
    for syndrome in (0x40, 0x5f, 0x80, 0xff):
        with Asking() as test:
            test.post()
            test.asked_write()
            before = test.device.counter("rx_malformed")
            test.ack(plan(0, test), syndrome)
            test.waits(f"after syndrome {syndrome:#x}")
            equal(test.device.counter("rx_malformed") - before, 1, "rx_malformed")
            test.ack(plan(0, test))
            test.completed(1)


@case("nak-undefined")
def nak_undefined():
    """A NAK for a reason that is not one of RC: it was refused, the connection has ended."""
    for syndrome, status in ((0x64, verbs.REM_INV_RD_REQ_ERR), (0x65, verbs.BAD_RESP_ERR),
                             (0x7f, verbs.BAD_RESP_ERR)):
        with Asking() as test:
            for index in (1, 2):
                test.post(wr_id=index)
            for _ in range(2):
                test.next()
            test.ack(plan(0, test), syndrome, 0)
            test.completed(1, status)
            test.completed(2, verbs.FLUSH_ERR)
            check(test.queue.in_error(), "the queue pair is not in its error state")


def four_writes(test):
    """Four WRITEs; the second one is missed."""
    for index in range(4):
        test.post(wr_id=index)
    for index in range(4):
        test.next()
    for _ in range(2):
        test.ack(plan(1, test), roce.NAK_SEQUENCE, 1)
    test.completed(0)
    test.asked_write(plan(1, test))
    test.silent()


@case("nak-sequence-kept")
def nak_sequence_kept():
    """A sequence NAK: what was before it is done, the missing one comes again,
    once; a peer that has kept the rest is sent nothing more."""
    with Asking() as test:
        four_writes(test)
        test.ack(plan(3, test))
        for index in (1, 2, 3):
            test.completed(index)
        test.silent()


@case("nak-sequence-dropped")
def nak_sequence_dropped():
    """The same with a peer that has dropped the rest: that comes again, too."""
    with Asking() as test:
        four_writes(test)
        test.ack(plan(1, test))
        test.completed(1)
        for index in (2, 3):
            equal(test.next().psn, plan(index, test), "PSN of what comes again")
        test.silent()
        test.ack(plan(3, test))
        for index in (2, 3):
            test.completed(index)


@case("nak-moves-on")
def nak_moves_on():
    """A peer that was seen to keep packets is sent new ones while a hole is open."""
    with Asking() as test:
        four_writes(test)
        test.ack(plan(3, test))
        for index in (1, 2, 3):
            test.completed(index)
        for index in range(4, 8):
            test.post(wr_id=index)
            test.next()
        test.ack(plan(5, test), roce.NAK_SEQUENCE, 5)
        test.completed(4)
        test.asked_write(plan(5, test))
        test.post(wr_id=8)
        test.asked_write(plan(8, test))
        test.ack(plan(8, test))
        for index in range(5, 9):
            test.completed(index)


def late_result(count, naks):
    """FETCH ADDs of which the first one's result is late; what the peer says meanwhile
    must not use up the two retries."""
    with Asking(retry=2) as test:
        for index in range(count):
            test.queue.atomic(e.IBV_WR_ATOMIC_FETCH_AND_ADD, test.memory.sge(8, 8 * index),
                              remote=REMOTE, rkey=RKEY, compare_add=1, wr_id=index)
            test.next()
        for index in naks:
            test.ack(plan(index, test), roce.NAK_SEQUENCE, index)
        for index in range(count):
            test.reply(roce.ATOMIC_ACK, plan(index, test),
                       roce.aeth(roce.ACK_UNLIMITED, index + 1) + struct.pack(">Q", index))
        for index in range(count):
            test.completed(index)


@case("naks-while-a-result-is-late")
def naks_while_a_result_is_late():
    """Many holes, one behind the other: with each NAK the peer has got on."""
    late_result(12, range(1, 12))


@case("naks-late-like-a-result")
def naks_late_like_a_result():
    """NAKs that later ones have overtaken: what they miss has arrived since."""
    late_result(12, range(11, 0, -1))


@case("nak-inside-message")
def nak_inside_message():
    """A sequence NAK in the middle of a message: it goes on from there."""
    with Asking() as test:
        total = 3 * MTU
        test.post(length=total)
        for index in range(3):
            test.next()
        test.ack(plan(1, test), roce.NAK_SEQUENCE, 0)
        test.asked(roce.WRITE_MIDDLE, plan(1, test), b"", DATA[MTU:2 * MTU], True)
        test.ack(plan(1, test), msn=0)
        test.asked(roce.WRITE_LAST, plan(2, test), b"", DATA[2 * MTU:total], True)
        test.ack(plan(2, test))
        test.completed(1)


def fatal(syndrome, status):
    """A NAK that ends the connection: only the culprit has its status."""
    with Asking() as test:
        for index in range(3):
            test.post(wr_id=index)
        for index in range(3):
            test.next()
        test.ack(plan(1, test), syndrome)
        test.completed(0)
        test.completed(1, status)
        test.completed(2, verbs.FLUSH_ERR)
        check(test.queue.in_error(), "the queue pair is not in its error state")
        test.silent()


for code, meaning in ((roce.NAK_INVALID, verbs.REM_INV_REQ_ERR),
                      (roce.NAK_ACCESS, verbs.REM_ACCESS_ERR),
                      (roce.NAK_OPERATION, verbs.REM_OP_ERR)):
    case(f"nak-{code:02x}")(lambda c=code, m=meaning: fatal(c, m))


@case("read")
def read():
    """A READ of three packets: its bytes arrive, then it completes."""
    with Asking() as test:
        total = 2 * MTU + 5
        test.post(e.IBV_WR_RDMA_READ, total)
        test.asked_read(length=total)
        fresh = bytes(reversed(DATA[:total]))
        msn = roce.aeth(roce.ACK_UNLIMITED, 1)
        test.reply(roce.RESP_FIRST, plan(0, test), msn, fresh[:MTU])
        test.reply(roce.RESP_MIDDLE, plan(1, test), b"", fresh[MTU:2 * MTU])
        test.waits("a READ in its middle")
        test.reply(roce.RESP_LAST, plan(2, test), msn, fresh[2 * MTU:])
        test.completed(1)
        equal(test.memory.get(total), fresh, "bytes of the READ")


@case("read-nak-in-the-middle")
def read_nak_in_the_middle():
    """The responder fails in the middle of its responses: accepted as the end."""
    with Asking() as test:
        test.post(e.IBV_WR_RDMA_READ, 3 * MTU)
        test.asked_read(length=3 * MTU)
        test.reply(roce.RESP_FIRST, plan(0, test), roce.aeth(roce.ACK_UNLIMITED, 1), DATA[:MTU])
        test.ack(plan(1, test), roce.NAK_ACCESS)
        test.completed(1, verbs.REM_ACCESS_ERR)
        check(test.queue.in_error(), "the queue pair is not in its error state")


@case("read-response-lost")
def read_response_lost():
    """A response is missing: it is asked for again, and nothing that is here."""
    with Asking() as test:
        total = 3 * MTU
        test.post(e.IBV_WR_RDMA_READ, total)
        test.asked_read(length=total)
        msn = roce.aeth(roce.ACK_UNLIMITED, 1)
        test.reply(roce.RESP_FIRST, plan(0, test), msn, DATA[:MTU])
        test.reply(roce.RESP_LAST, plan(2, test), msn, DATA[2 * MTU:total])
        test.asked_read(plan(1, test), MTU, MTU)
        test.reply(roce.RESP_ONLY, plan(1, test), msn, DATA[MTU:2 * MTU])
        test.completed(1)
        equal(test.memory.get(total), DATA[:total], "bytes of the READ")


@case("read-responses-reordered")
def read_responses_reordered():
    """Responses in the wrong order, all within a moment: nothing is asked again."""
    with Asking() as test:
        total = 4 * MTU
        fresh = bytes(reversed(DATA[:total]))
        msn = roce.aeth(roce.ACK_UNLIMITED, 1)
        test.post(e.IBV_WR_RDMA_READ, total)
        test.asked_read(length=total)
        frames = [test.frame(opcode, extended, fresh[index * MTU:(index + 1) * MTU],
                             psn=plan(index, test))
                  for index, (opcode, extended) in enumerate((
                      (roce.RESP_FIRST, msn), (roce.RESP_MIDDLE, b""),
                      (roce.RESP_MIDDLE, b""), (roce.RESP_LAST, msn)))]
        for index in (2, 3, 0, 1):
            test.tap.send(frames[index])
        test.completed(1)
        equal(test.memory.get(total), fresh, "bytes of the READ")


@case("nak-behind-lost-response")
def nak_behind_lost_response():
    """A fatal NAK overtakes the response before it: each WQE has its own status."""
    with Asking() as test:
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=1)
        test.post(wr_id=2)
        test.asked_read()
        test.next()
        test.ack(plan(1, test), roce.NAK_ACCESS, 1)
        test.asked_read()
        test.reply(roce.RESP_ONLY, plan(0, test), roce.aeth(roce.ACK_UNLIMITED, 1), DATA[:64])
        test.completed(1)
        test.completed(2, verbs.REM_ACCESS_ERR)


@case("nak-behind-response-that-never-comes")
def nak_behind_response_that_never_comes():
    """A peer that has refused a request is in error, and need not answer the READ before
    it any more: that is asked for a few times, also where no timer runs."""
    with Asking(retry=2) as test:
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=1)
        test.post(wr_id=2)
        test.asked_read()
        test.next()
        test.ack(plan(1, test), roce.NAK_ACCESS, 1)
        test.completed(1, verbs.RETRY_EXC_ERR)
        test.completed(2, verbs.FLUSH_ERR)
        for _ in range(2):
            test.asked_read()
        test.silent()


def rnr_before_response(test):
    """A READ and a SEND, and an RNR NAK for that; the READ is missed."""
    test.post(e.IBV_WR_RDMA_READ, 64, wr_id=1)
    test.post(e.IBV_WR_SEND, wr_id=2)
    test.asked_read()
    asked_send(test, 1)
    test.ack(plan(1, test), roce.RNR | 20, 1)
    test.asked_read()


@case("rnr-behind-lost-response")
def rnr_behind_lost_response():
    """An RNR NAK overtakes the response before it: nobody says it again, so when that is
    here there is a pause, and then the SEND comes again. Code 20 is 10.24 ms."""
    with Asking() as test:
        rnr_before_response(test)
        start = time.time()
        test.reply(roce.RESP_ONLY, plan(0, test), roce.aeth(roce.ACK_UNLIMITED, 1), DATA[:64])
        test.completed(1)
        packet = test.asked(roce.SEND_ONLY, plan(1, test), b"", DATA[:64], True)
        pause = packet.stamp - start
        check(pause >= 0.01024, f"sent again after {pause * 1000:.2f} ms instead of 10.24")
        test.ack(plan(1, test), msn=2)
        test.completed(2)
        test.silent()


@case("rnr-overtaken")
def rnr_overtaken():
    """The same, but the peer has executed the SEND since: it does not come again, and
    what follows is not held up."""
    with Asking() as test:
        rnr_before_response(test)
        test.ack(plan(1, test), msn=2)
        test.reply(roce.RESP_ONLY, plan(0, test), roce.aeth(roce.ACK_UNLIMITED, 1), DATA[:64])
        test.completed(1)
        test.completed(2)
        test.silent()
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=3)
        test.asked_read(plan(2, test))
        test.reply(roce.RESP_ONLY, plan(2, test), roce.aeth(roce.ACK_UNLIMITED, 3), DATA[:64])
        test.completed(3)
        test.silent()


@case("read-skipped-by-ack")
def read_skipped_by_ack():
    """An ACK of what is behind a READ: its responses were lost, ask again.

    The ACK is not forgotten: with the response all is done.
    """
    with Asking() as test:
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=1)
        test.post(length=64, wr_id=2)
        test.asked_read()
        test.asked_write(plan(1, test))
        test.ack(plan(1, test), msn=2)
        test.asked_read()
        test.queue.no_completion(test.queue.scq, "the READ has no response yet")
        test.reply(roce.RESP_ONLY, plan(0, test), roce.aeth(roce.ACK_UNLIMITED, 1), DATA[:64])
        test.completed(1)
        test.completed(2)
        test.silent()


@case("read-acknowledges-write")
def read_acknowledges_write():
    """A READ response acknowledges the WRITE before the READ."""
    with Asking() as test:
        test.post(length=64, wr_id=1)
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=2)
        test.next()
        test.next()
        test.reply(roce.RESP_ONLY, plan(1, test), roce.aeth(roce.ACK_UNLIMITED, 2), DATA[:64])
        test.completed(1)
        test.completed(2)


@case("read-response-too-long")
def read_too_long():
    """A response longer than asked for: an error, and no byte beyond the buffer."""
    for length in (68, MTU, 60, 0):
        with Asking() as test:
            before = test.memory.get(SIZE)
            test.post(e.IBV_WR_RDMA_READ, 64, offset=64)
            test.asked_read()
            test.reply(roce.RESP_ONLY, plan(0, test), roce.aeth(roce.ACK_UNLIMITED, 1),
                       bytes(length))
            test.completed(1, BAD_RESP_ERR)
            check(test.memory.get(64) == before[:64] and test.memory.get(SIZE - 128, 128)
                  == before[128:], "bytes beside the buffer were written")


@case("response-of-wrong-kind")
def wrong_kind():
    """A READ answered by an atomic's result, a WRITE by a READ response: ignored."""
    with Asking() as test:
        msn = roce.aeth(roce.ACK_UNLIMITED, 1)
        test.post(wr_id=1)
        test.asked_write()
        test.reply(roce.RESP_ONLY, plan(0, test), msn, DATA[:64])
        test.reply(roce.ATOMIC_ACK, plan(0, test), msn + bytes(8))
        test.waits("a WRITE answered by responses of others")
        test.ack(plan(0, test))
        test.completed(1)
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=2)
        test.asked_read(plan(1, test))
        test.reply(roce.ATOMIC_ACK, plan(1, test), msn + bytes(8))
        test.waits("a READ answered by an atomic's result")
        test.reply(roce.RESP_ONLY, plan(1, test), msn, DATA[:64])
        test.completed(2)


@case("max-rd-atomic")
def max_rd_atomic():
    """max_rd_atomic 3 is three READs at a time, not rounded up."""
    with Asking(outstanding=3) as test:
        for index in range(5):
            test.post(e.IBV_WR_RDMA_READ, 64, wr_id=index)
        for index in range(3):
            test.asked_read(plan(index, test))
        test.silent()
        for index in range(5):
            test.reply(roce.RESP_ONLY, plan(index, test), roce.aeth(roce.ACK_UNLIMITED, index),
                       DATA[:64])
            test.completed(index)
            if index < 2:
                test.asked_read(plan(index + 3, test))


@case("max-rd-atomic-as-promised")
def max_rd_atomic_promised():
    """As many READs at a time as the device says, and not one more; each gets its bytes."""
    limit = Far.device[4].context.query_device().max_qp_init_rd_atom

    def piece(index):
        return DATA[index:index + 64]

    with Asking(outstanding=limit,
                queue=lambda device: verbs.Queue(device, depth=limit + 2)) as test:
        test.memory.put(bytes(SIZE))
        for index in range(limit + 2):
            test.post(e.IBV_WR_RDMA_READ, 64, wr_id=index, offset=index * 64)
        for index in range(limit):
            test.asked_read(plan(index, test))
        test.silent()
        for index in range(limit + 2):
            test.reply(roce.RESP_ONLY, plan(index, test), roce.aeth(roce.ACK_UNLIMITED, index + 1),
                       piece(index))
            test.completed(index)
            if index < 2:
                test.asked_read(plan(index + limit, test))
        wanted = b"".join(piece(index) for index in range(limit + 2))
        equal(test.memory.get(SIZE), wanted + bytes(SIZE - len(wanted)), "memory")


@case("fence")
def fence():
    """A fenced WRITE waits for the READ before it, a plain one does not."""
    with Asking() as test:
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=1)
        test.post(wr_id=2)
        test.post(wr_id=3, flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_FENCE)
        test.asked_read()
        equal(test.next().psn, plan(1, test), "PSN of the plain WRITE")
        test.silent()
        test.reply(roce.RESP_ONLY, plan(0, test), roce.aeth(roce.ACK_UNLIMITED, 1), DATA[:64])
        equal(test.next().psn, plan(2, test), "PSN of the fenced WRITE")
        test.ack(plan(2, test))
        for index in (1, 2, 3):
            test.completed(index)


@case("max-rd-atomic-mixed")
def max_rd_atomic_mixed():
    """max_rd_atomic 5 is five, of READs and atomics together."""
    with Asking(outstanding=5) as test:
        for index in range(7):
            if index % 2:
                test.queue.atomic(e.IBV_WR_ATOMIC_FETCH_AND_ADD, test.memory.sge(8),
                                  remote=REMOTE, rkey=RKEY, compare_add=1, wr_id=index)
            else:
                test.post(e.IBV_WR_RDMA_READ, 64, wr_id=index)
        equal([test.next().psn for _ in range(5)], [plan(i, test) for i in range(5)], "PSNs")
        test.silent()
        for index in range(7):
            aeth = roce.aeth(roce.ACK_UNLIMITED, index + 1)
            if index % 2:
                test.reply(roce.ATOMIC_ACK, plan(index, test), aeth + bytes(8))
            else:
                test.reply(roce.RESP_ONLY, plan(index, test), aeth, DATA[:64])
            test.completed(index)
            if index < 2:
                equal(test.next().psn, plan(index + 5, test), "PSN of the next one")


@case("fence-atomic")
def fence_atomic():
    """A fenced SEND waits for the atomic before it."""
    with Asking() as test:
        test.queue.atomic(e.IBV_WR_ATOMIC_FETCH_AND_ADD, test.memory.sge(8), remote=REMOTE,
                          rkey=RKEY, compare_add=1, wr_id=1)
        test.post(e.IBV_WR_SEND, wr_id=2, flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_FENCE)
        test.asked(roce.FETCH_ADD, plan(0, test), roce.atmeth(REMOTE, RKEY, 1))
        test.silent()
        test.reply(roce.ATOMIC_ACK, plan(0, test), roce.aeth(roce.ACK_UNLIMITED, 1) + bytes(8))
        equal(test.next().psn, plan(1, test), "PSN of the fenced SEND")
        test.ack(plan(1, test), msn=2)
        for index in (1, 2):
            test.completed(index)


@case("fence-local-invalidate")
def fence_local_invalidate():
    """A fenced LOCAL_INV waits for the READ before it: until then the window is open."""
    with Asking() as test:
        memory = verbs.Memory(test.device.pd, 4096, verbs.ALL | e.IBV_ACCESS_MW_BIND)
        window = MW(test.device.pd, e.IBV_MW_TYPE_2)
        bind = SendWR(wr_id=1, opcode=e.IBV_WR_BIND_MW)
        bind.set_bind_wr(window, MWBindInfo(memory.mr, memory.address, 4096, verbs.WRITE))
        key = bind.rkey
        test.queue.qp.post_send(bind)
        test.completed(1)
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=2)
        test.queue.qp.post_send(SendWR(wr_id=3, opcode=e.IBV_WR_LOCAL_INV, imm_data=key,
                                       send_flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_FENCE))
        test.asked_read()
        test.send(roce.WRITE_ONLY, roce.reth(memory.address, key, 4), b"open", ackreq=True)
        test.msn += 1
        test.acked()
        test.step(messages=0)
        equal(memory.get(4), b"open", "memory of the window")
        test.reply(roce.RESP_ONLY, plan(0, test), roce.aeth(roce.ACK_UNLIMITED, 1), DATA[:64])
        test.completed(2)
        test.completed(3)
        test.send(roce.WRITE_ONLY, roce.reth(memory.address, key, 4), b"shut", ackreq=True)
        test.refused(roce.NAK_ACCESS)
        equal(memory.get(4), b"open", "memory of the window")
        window.close()
        memory.close()


@case("unsignaled")
def unsignaled():
    """Requests that asked for no completion get none; the next one that did does."""
    with Asking() as test:
        for index, flags in enumerate((0, 0, e.IBV_SEND_SIGNALED, 0)):
            test.post(wr_id=index, flags=flags)
        for index in range(4):
            test.asked_write(plan(index, test))
        test.ack(plan(3, test), msn=4)
        test.completed(2)
        test.waits("nobody has asked for it")


class Signaling(verbs.Queue):
    """A queue pair whose requests all complete."""

    def __init__(self, device):
        super().__init__(device, sig_all=1)


@case("sq-sig-all")
def sq_sig_all():
    """With sq_sig_all each request completes, whatever its flags say."""
    with Asking(queue=Signaling) as test:
        for index, flags in enumerate((0, e.IBV_SEND_SIGNALED, 0)):
            test.post(wr_id=index, flags=flags)
        for index in range(3):
            test.asked_write(plan(index, test))
        test.ack(plan(2, test), msn=3)
        for index in range(3):
            test.completed(index)
        test.waits("each completes once")


def to_state(test, state, notify=False):
    """Modify the state alone; tell when the send queue is drained, or do not."""
    attr = QPAttr(qp_state=state)
    attr.en_sqd_async_notify = int(notify)
    test.queue.qp.modify(attr, e.IBV_QP_STATE | (e.IBV_QP_EN_SQD_ASYNC_NOTIFY if notify else 0))


@case("sqd")
def sqd():
    """SQD: what was begun is finished, then there is one event; what is posted
    meanwhile waits for RTS (10.3.1.5)."""
    with Asking() as test:
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=1)
        test.post(wr_id=2)
        test.asked_read()
        test.asked_write(plan(1, test))
        test.device.events()
        to_state(test, e.IBV_QPS_SQD, True)
        test.post(wr_id=3)
        test.silent()
        equal(test.device.event(), None, "event while a READ waits for its response")
        test.reply(roce.RESP_ONLY, plan(0, test), roce.aeth(roce.ACK_UNLIMITED, 1), DATA[:64])
        test.completed(1)
        equal(test.device.event(), None, "event while a WRITE waits for its ACK")
        test.ack(plan(1, test))
        test.completed(2)
        equal(test.device.event(5), e.IBV_EVENT_SQ_DRAINED, "event")
        test.silent()
        equal((test.device.event(), test.queue.state()), (None, e.IBV_QPS_SQD),
              "second event, state")
        to_state(test, e.IBV_QPS_RTS)
        test.asked_write(plan(2, test))
        test.ack(plan(2, test))
        test.completed(3)


@case("sqd-idle")
def sqd_idle():
    """With nothing on its way it is drained at once; what is posted then waits."""
    with Asking() as test:
        test.device.events()
        to_state(test, e.IBV_QPS_SQD, True)
        equal(test.device.event(5), e.IBV_EVENT_SQ_DRAINED, "event")
        test.post(length=64)
        test.silent()
        to_state(test, e.IBV_QPS_RTS)
        test.asked_write()
        test.ack(plan(0, test))
        test.completed(1)
        equal(test.device.event(), None, "event in RTS")


def drained(test, psn, wr_id):
    """Drained just now, told once; what was posted meanwhile goes out in RTS."""
    equal(test.device.event(verbs.PATIENCE), e.IBV_EVENT_SQ_DRAINED, "event")
    test.silent()
    equal((test.device.event(), test.queue.state()), (None, e.IBV_QPS_SQD), "second event, state")
    to_state(test, e.IBV_QPS_RTS)
    test.asked_write(plan(psn, test))
    test.ack(plan(psn, test))
    test.completed(wr_id)


@case("sqd-long-message")
def sqd_long_message():
    """SQD in the middle of a message that is longer than the window: all of it is sent."""
    with Asking() as test:
        count = 1024
        memory = verbs.Memory(test.device.pd, count * MTU)
        test.device.events()
        test.queue.send(e.IBV_WR_RDMA_WRITE, [memory.sge(count * MTU)], remote=REMOTE, rkey=RKEY)
        for index in range(count):
            equal(test.next().psn, plan(index, test), "PSN")
            if index == 255:
                # the window is full: what it waits for comes in SQD
                to_state(test, e.IBV_QPS_SQD, True)
                test.post(wr_id=2)
            if index % 256 == 255:
                equal(test.device.event(), None, "event in the middle of a message")
                test.ack(plan(index, test), msn=index // (count - 1))
        test.completed(1)
        drained(test, count, 2)
        memory.close()


@case("sqd-lost-packet")
def sqd_lost_packet():
    """What was lost comes again in SQD, and not what was not begun."""
    with Asking() as test:
        test.device.events()
        for index in range(3):
            test.post(wr_id=index)
            test.asked_write(plan(index, test))
        to_state(test, e.IBV_QPS_SQD, True)
        test.post(wr_id=3)
        test.ack(plan(1, test), roce.NAK_SEQUENCE, 1)
        test.completed(0)
        test.asked_write(plan(1, test))
        equal(test.device.event(), None, "event while a packet is lost")
        test.ack(plan(2, test), msn=3)
        test.completed(1)
        test.completed(2)
        drained(test, 3, 3)


@case("sqd-rnr-pause")
def sqd_rnr_pause():
    """SQD while the peer has asked for a pause of 82 ms: the message comes when it ends."""
    with Asking() as test:
        test.device.events()
        test.post(wr_id=1)
        test.asked_write()
        start = rnr_heard(test, 26)
        to_state(test, e.IBV_QPS_SQD, True)
        test.post(wr_id=2)
        pause = test.asked_write().stamp - start
        check(pause >= 0.08192, f"sent again after {pause * 1000:.2f} ms instead of 81.92")
        equal(test.device.event(), None, "event before the answer")
        test.ack(plan(0, test))
        test.completed(1)
        drained(test, 1, 2)


@case("max-rd-atomic-zero")
def max_rd_atomic_zero():
    """max_rd_atomic is taken away in SQD: the READs that were begun are finished, the
    next one is refused."""
    with Asking() as test:
        for index in (0, 1):
            test.post(e.IBV_WR_RDMA_READ, 64, wr_id=index)
            test.asked_read(plan(index, test))
        to_state(test, e.IBV_QPS_SQD)
        attr = QPAttr()
        attr.max_rd_atomic = 0
        test.queue.qp.modify(attr, e.IBV_QP_MAX_QP_RD_ATOMIC)
        test.ack(plan(0, test), roce.RNR | 1, 0)
        for index in (0, 1):
            test.asked_read(plan(index, test))
            test.reply(roce.RESP_ONLY, plan(index, test),
                       roce.aeth(roce.ACK_UNLIMITED, index + 1), DATA[:64])
            test.completed(index)
        to_state(test, e.IBV_QPS_RTS)
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=2)
        test.completed(2, LOC_QP_OP_ERR)
        test.silent()


def rnr_heard(test, code):
    """An RNR NAK for the first packet, which has been worked off; when it was sent."""
    before = test.device.counter("rcvd_rnr_err")
    start = time.time()
    test.ack(plan(0, test), roce.RNR | code, 0)
    end = time.monotonic() + verbs.PATIENCE
    while test.device.counter("rcvd_rnr_err") == before:
        check(time.monotonic() < end, "an RNR NAK is not counted")
    return start


def tc(*words):
    """tc, in the namespace of the device; its output."""
    done = subprocess.run(("ip", "netns", "exec", "ns2", "tc", *words), capture_output=True,
                          text=True, check=False)
    check(done.returncode == 0, f"tc {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


@case("rnr-behind-a-stopped-queue")
def rnr_behind_a_stopped_queue():
    """The local queue is full and lets nothing go any more, when a pause ends: the retries
    decide how long that is waited for."""
    # more than may be in the queue
    count = 320
    with Asking(queue=lambda device: verbs.Queue(device, depth=count), timeout=17,
                retry=4) as test:
        # a few packets, then nothing
        tc("qdisc", "add", "dev", "veth1", "root", "tbf", "rate", "8bit", "burst", "3000", "limit",
           "100mb")
        try:
            for index in range(count):
                test.post(wr_id=index)
            # again from the start, until a queue pair may have no more in the queue
            for _ in range(2):
                rnr_heard(test, 1)
                time.sleep(0.05)
            backlog = tc("-s", "qdisc", "show", "dev", "veth1")
            check(int(re.search(r"backlog \S+ (\d+)p", backlog)[1]) >= 256, backlog)
            rnr_heard(test, 20)
            start = time.monotonic()
            test.completed(0, verbs.RETRY_EXC_ERR)
            took = time.monotonic() - start
            check(took >= 2, f"given up after {took:.3f} s instead of 2.7")
        finally:
            tc("qdisc", "del", "dev", "veth1", "root")
        for index in range(1, count):
            test.completed(index, verbs.FLUSH_ERR)


@case("rnr-wait-timer")
def rnr_wait_timer():
    """A timer of 100 ms does not cut a pause short; code 28 is 164 ms."""
    with Asking(timeout=15) as test:
        test.post(wr_id=1)
        test.asked_write()
        start = rnr_heard(test, 28)
        heard = time.time()
        test.post(wr_id=2)
        packet = test.next()
        while packet and packet.stamp < heard:
            packet = test.next()
        check(packet is not None, "nothing is sent after the pause")
        pause = packet.stamp - start
        check(pause >= 0.16384, f"sent again after {pause * 1000:.2f} ms instead of 163.84")
        equal(packet.psn, plan(0, test), "PSN after the pause")
        test.ack(plan(1, test), msn=2)
        test.completed(1)
        test.completed(2)


@case("rnr-wait")
def rnr_wait():
    """The pause is as long as asked for, whatever else happens; code 26 is 82 ms."""
    with Asking() as test:
        test.post(wr_id=1)
        test.asked_write()
        start = time.time()
        test.ack(plan(0, test), roce.RNR | 26, 0)
        time.sleep(0.02)
        test.post(wr_id=2)
        test.ack(plan(0, test), roce.RNR | 1, 0)
        packet = test.next()
        check(packet is not None, "nothing is sent after the pause")
        pause = packet.stamp - start
        equal(packet.psn, plan(0, test), "PSN after the pause")
        check(pause >= 0.08192, f"sent again after {pause * 1000:.2f} ms instead of 81.92")
        equal(test.next().psn, plan(1, test), "PSN of the WRITE posted during the pause")
        test.ack(plan(1, test))
        test.completed(1)
        test.completed(2)


def retries(count):
    """Nobody answers: retry_cnt is finite, sending again is bounded."""
    with Asking(timeout=10, retry=count) as test:
        test.post()
        test.completed(1, verbs.RETRY_EXC_ERR)
        check(test.queue.in_error(), "the queue pair is not in its error state")
        found = test.tap.drain()
        equal({p.psn for p in found}, {THEIRS}, "PSNs")
        check(count + 1 <= len(found) <= 4 * (count + 2),
              f"{len(found)} packets for a retry_cnt of {count}")


for number in range(8):
    case(f"retry-cnt-{number}")(lambda n=number: retries(n))


@case("local-error-first-bytes")
def local_error():
    """A WRITE from memory with a wrong key: its own error, and nothing on the wire."""
    with Asking() as test:
        wrong = test.memory.sge(64, lkey=test.memory.lkey ^ 0x5a00)
        test.post(wr_id=1)
        test.queue.send(e.IBV_WR_RDMA_WRITE, [wrong], remote=REMOTE, rkey=RKEY, wr_id=2)
        test.asked_write()
        test.ack(plan(0, test))
        test.completed(1)
        test.completed(2, verbs.LOC_PROT_ERR)
        test.silent()


@case("cnp-and-strangers")
def cnp():
    """A congestion notification neither completes nor breaks anything."""
    with Asking() as test:
        test.post()
        test.asked_write()
        test.tap.send(test.to.summed(roce.bth(0x81, test.number, 0, byte4=0x40) + bytes(16)))
        test.waits("a CNP")
        test.ack(plan(0, test))
        test.completed(1)


if __name__ == "__main__":
    main("requester", Far.setup)
