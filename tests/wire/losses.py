#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Each kind of packet lost, repeated or late, one at a time; and peers that are gone.

The device asks, this program answers: it leaves out just one answer, gives one
twice, or none at all. What the device then sends is compared byte for byte, and so
is when it gives up.
"""

import struct
import time

import pyverbs.enums as e

import errors
import roce
import verbs
from harness import case, check, equal, main
from stranger import ANSWER, DATA, MTU, REMOTE, RKEY, Asking, Far, Stranger, plan, view

# Sends again by itself after 100 ms, 200 ms, ...; gives up late, as this program may be
TIMEOUT = 18
# That is what the timer is for; the attribute alone means 1.07 s
EARLY = min(verbs.PATIENCE / 40, 1.0)
# Less than what it begins with: what it waits when it knows a round trip
LEARNED = verbs.PATIENCE / 20 * 0.09
# What a busy machine may add to a time
LATE = 2.0


class Patient(Asking):
    """What comes again because we were slow, and has been answered since, is skipped."""

    waiting = None

    def next(self, timeout=ANSWER):
        """The packet that answer() has looked at, or another."""
        packet, self.waiting = self.waiting, None
        return packet or super().next(timeout)

    def answer(self, opcode, psn, extended=b"", payload=b"", **fields):
        """The next packet that is not behind this one is this one."""
        packet = self.next()
        while packet and (packet.psn - psn & roce.PSN_MASK) >> 23:
            packet = self.next()
        self.waiting = packet
        return super().answer(opcode, psn, extended, payload, **fields)

    def quiet(self):
        """Nothing more is sent."""
        self.tap.drain()
        self.silent()


def msn(count=1):
    """AETH of a good answer."""
    return roce.aeth(roce.ACK_UNLIMITED, count)


def by_the_timer(first, again):
    """The clock began with a packet, and what was not answered came again by the timer that
    follows round trips: it begins with 100 ms, and is not as long as the attribute's time."""
    took = again.stamp - first.stamp
    check(0.09 <= took < EARLY, f"sent again after {took * 1000:.1f} ms")


def parts_of(test, first, count, places, payload, number=1, **fields):
    """Some packets of a READ response of so many that begins at a PSN."""
    for index in places:
        opcode = roce.RESP_ONLY if count == 1 else roce.RESP_FIRST if index == 0 else \
            roce.RESP_LAST if index == count - 1 else roce.RESP_MIDDLE
        test.reply(opcode, plan(first + index, test),
                   b"" if opcode == roce.RESP_MIDDLE else msn(number),
                   payload[index * MTU:(index + 1) * MTU], **fields)


def fetch_add(test, wr_id=1):
    """Have the device post a FETCH ADD."""
    test.queue.atomic(e.IBV_WR_ATOMIC_FETCH_AND_ADD, test.memory.sge(8), remote=REMOTE, rkey=RKEY,
                      compare_add=3, wr_id=wr_id)


def asked_atomic(test, index=0):
    """The next request is that FETCH ADD."""
    return test.asked(roce.FETCH_ADD, plan(index, test), roce.atmeth(REMOTE, RKEY, 3))


@case("ack-lost")
def ack_lost():
    """The ACK of a WRITE and of a SEND: the same packet comes again, and no other."""
    with Patient(timeout=TIMEOUT) as test:
        test.post()
        first, again, _ = (test.asked_write() for _ in range(3))
        by_the_timer(first, again)
        test.ack(plan(0, test))
        test.completed(1)
        test.post(e.IBV_WR_SEND, wr_id=2)
        for _ in range(2):
            test.asked(roce.SEND_ONLY, plan(1, test), b"", DATA[:64], True)
        test.ack(plan(1, test), msn=2)
        test.completed(2)
        test.quiet()


def read_response_lost(lost):
    """One packet of a READ response is lost: only that is asked for again."""
    total = 4 * MTU
    fresh = bytes(reversed(DATA[:total]))
    # only of the last one nothing tells but the timer
    with Patient(timeout=TIMEOUT if lost == 3 else 0) as test:
        test.post(e.IBV_WR_RDMA_READ, total)
        first = test.asked_read(length=total)
        for index in range(4):
            if index != lost:
                parts_of(test, 0, 4, [index], fresh)
        again = test.asked_read(plan(lost, test), MTU, lost * MTU)
        if lost == 3:
            by_the_timer(first, again)
        test.reply(roce.RESP_ONLY, plan(lost, test), msn(), fresh[lost * MTU:(lost + 1) * MTU])
        test.completed(1)
        equal(test.memory.get(total), fresh, "bytes of the READ")
        test.quiet()


for number, place in ((0, "first"), (1, "middle"), (3, "last")):
    case(f"read-response-{place}")(lambda n=number: read_response_lost(n))


def read_responses_several(onward):
    """Several packets of a READ response are lost: those that have been overtaken by now are
    asked for together, and each alone. If one of them comes before another, that has been
    lost again, and is asked for again. A peer with MigReq 0, as the in-tree driver is, answers
    only from where it was asked last: so up to the last one all are asked for at once."""
    count, lost = 20, (2, 7, 8, 12)
    total = count * MTU
    fresh = (bytes(reversed(DATA)) * 3)[:total]
    with Patient(timeout=0) as test:
        def respond(first, number, places):
            parts_of(test, first, number, places, fresh[first * MTU:], mig=not onward)

        def asked_parts(first, number):
            test.asked_read(plan(first, test), number * MTU, first * MTU)

        test.post(e.IBV_WR_RDMA_READ, total)
        test.asked_read(length=total)
        here = [index for index in range(count) if index not in lost]
        respond(0, count, here[:6])
        asked_parts(2, 1)
        # the others wait for that one
        respond(0, count, here[6:])
        test.silent()
        respond(2, 1, [0])
        if onward:
            asked_parts(7, 6)
            test.silent()
            # of this answer, too, the first two are lost
            respond(7, 6, range(2, 6))
        else:
            asked_parts(7, 2)
            asked_parts(12, 1)
            test.silent()
            respond(12, 1, [0])
        asked_parts(7, 2)
        test.silent()
        respond(7, 2, [0, 1])
        test.completed(1)
        equal(test.memory.get(total), fresh, "bytes of the READ")
        test.quiet()


for label, kind in (("several", False), ("onward", True)):
    case(f"read-responses-{label}")(lambda k=kind: read_responses_several(k))


@case("read-responses-of-several")
def read_responses_of_several():
    """Packets of two READ responses are lost, with a WRITE between the two: the WRITE, which
    has been executed, does not come again, nor does what has been kept behind it."""
    fresh = (bytes(reversed(DATA)) * 2)[:16 * MTU]
    with Patient(timeout=0) as test:
        test.post(e.IBV_WR_RDMA_READ, 4 * MTU, wr_id=1)
        test.asked_read(length=4 * MTU)
        test.post(wr_id=2)
        test.asked(roce.WRITE_ONLY, plan(4, test), roce.reth(REMOTE, RKEY, 64), DATA[:64], True)
        test.post(e.IBV_WR_RDMA_READ, 6 * MTU, wr_id=3, offset=4 * MTU)
        test.asked_read(plan(5, test), 6 * MTU)
        test.post(e.IBV_WR_RDMA_READ, 6 * MTU, wr_id=4, offset=10 * MTU)
        test.asked_read(plan(11, test), 6 * MTU)
        parts_of(test, 0, 4, [1, 2, 3], fresh)
        test.asked_read(plan(0, test), MTU)
        parts_of(test, 5, 6, [0, 2, 3, 4, 5], fresh[4 * MTU:], 3)
        parts_of(test, 11, 6, range(6), fresh[10 * MTU:], 4)
        test.silent()
        parts_of(test, 0, 1, [0], fresh)
        test.completed(1)
        test.completed(2)
        test.asked_read(plan(6, test), MTU, MTU)
        test.silent()
        parts_of(test, 6, 1, [0], fresh[5 * MTU:], 3)
        test.completed(3)
        test.completed(4)
        equal(test.memory.get(16 * MTU), fresh, "bytes of the READs")
        test.quiet()


@case("read-response-behind-write")
def read_response_behind_write():
    """What is kept behind a WRITE, which a hole in an earlier READ keeps from its end, is taken
    when the hole closes: nothing else comes that would remind of it."""
    fresh = bytes(reversed(DATA[:3 * MTU]))
    with Patient(timeout=0) as test:
        test.post(e.IBV_WR_RDMA_READ, 2 * MTU, wr_id=1)
        test.asked_read(length=2 * MTU)
        test.post(wr_id=2)
        test.asked_write(plan(2, test))
        test.post(e.IBV_WR_RDMA_READ, MTU, wr_id=3, offset=2 * MTU)
        test.asked_read(plan(3, test), MTU)
        parts_of(test, 0, 2, [1], fresh)
        test.asked_read(plan(0, test), MTU)
        parts_of(test, 3, 1, [0], fresh[2 * MTU:], 3)
        test.silent()
        parts_of(test, 0, 1, [0], fresh)
        for number in (1, 2, 3):
            test.completed(number)
        equal(test.memory.get(3 * MTU), fresh, "bytes of the READs")
        test.quiet()


@case("read-request-lost")
def read_request_lost():
    """One of three READs is lost: it comes again, and nothing else does, though its responses
    do not say whether the others have been kept; the next answer does, and what follows
    a NAK, or nothing for a while, comes again as a whole."""
    for kept in ("kept", "dropped", "silence"):
        with Patient(timeout=20) as test:
            # a path so long that no timer fires in between
            test.post(wr_id=9)
            test.asked_write(plan(0, test))
            time.sleep(0.07)
            test.ack(plan(0, test))
            test.completed(9)
            for index in range(3):
                test.post(e.IBV_WR_RDMA_READ, 2 * MTU, wr_id=index, offset=2 * MTU * index)
                test.asked_read(plan(1 + 2 * index, test), 2 * MTU)
            test.ack(plan(1, test), roce.NAK_SEQUENCE, 1)
            test.asked_read(plan(1, test), 2 * MTU)
            parts_of(test, 1, 2, range(2), DATA, 2)
            test.completed(0)
            if kept != "silence":
                test.silent(0.1)
            if kept == "dropped":
                test.ack(plan(3, test), roce.NAK_SEQUENCE, 2)
            if kept != "kept":
                for index in (1, 2):
                    test.asked_read(plan(1 + 2 * index, test), 2 * MTU)
            for index in (1, 2):
                parts_of(test, 1 + 2 * index, 2, range(2), DATA, index + 2)
                test.completed(index)


@case("read-request-lost-no-timer")
def read_request_lost_no_timer():
    """Where there is no timer nobody would notice that the next answer does not come: what
    follows the READ comes again as a whole when that has been answered."""
    with Patient(timeout=0) as test:
        test.post(e.IBV_WR_RDMA_READ, 2 * MTU, wr_id=1)
        test.asked_read(plan(0, test), 2 * MTU)
        test.post(wr_id=2)
        test.asked_write(plan(2, test))
        test.ack(plan(0, test), roce.NAK_SEQUENCE, 0)
        test.asked_read(plan(0, test), 2 * MTU)
        parts_of(test, 0, 2, range(2), DATA)
        test.completed(1)
        test.asked_write(plan(2, test))
        test.ack(plan(2, test), msn=2)
        test.completed(2)
        test.quiet()


@case("request-lost-twice-no-timer")
def request_lost_twice_no_timer():
    """Of what is sent again for a NAK a packet behind the first is lost once more: where there is
    no timer the next NAK has it sent again."""
    with Patient(timeout=0) as test:
        for index in range(2):
            test.post(wr_id=index)
            test.asked_write(plan(index, test))
        # a peer that keeps what is behind a hole
        test.ack(plan(0, test), roce.NAK_SEQUENCE, 0)
        test.asked_write(plan(0, test))
        test.ack(plan(1, test), msn=2)
        for index in range(2):
            test.completed(index)
        for index in range(2, 12):
            test.post(wr_id=index)
            test.asked_write(plan(index, test))
        test.ack(plan(2, test), roce.NAK_SEQUENCE, 2)
        test.asked_write(plan(2, test))
        # the hole goes on, so more comes; of that, only the first arrives
        test.ack(plan(3, test), roce.NAK_SEQUENCE, 3)
        test.asked_write(plan(3, test), ackreq=False)
        test.asked_write(plan(4, test))
        test.ack(plan(4, test), roce.NAK_SEQUENCE, 4)
        test.asked_write(plan(4, test))
        test.silent()
        # and so much as if it had not been lost for what is behind that
        test.ack(plan(5, test), roce.NAK_SEQUENCE, 5)
        for index in range(5, 9):
            test.asked_write(plan(index, test), ackreq=index == 8)
        test.ack(plan(11, test), msn=12)
        for index in range(2, 12):
            test.completed(index)
        test.quiet()


@case("read-response-all")
def read_response_all():
    """The whole response is lost, or the request: it is asked for once more."""
    with Patient(timeout=TIMEOUT) as test:
        test.post(e.IBV_WR_RDMA_READ, 2 * MTU)
        for _ in range(2):
            test.asked_read(length=2 * MTU)
        for index in range(2):
            parts_of(test, 0, 2, [index], DATA)
        test.completed(1)


@case("atomic-response")
def atomic_response():
    """The result of an atomic is lost: the same request comes again."""
    with Patient(timeout=TIMEOUT) as test:
        fetch_add(test)
        by_the_timer(asked_atomic(test), asked_atomic(test))
        test.reply(roce.ATOMIC_ACK, plan(0, test), msn() + struct.pack(">Q", 99))
        test.completed(1)
        equal(struct.unpack("=Q", test.memory.get(8))[0], 99, "result")


def round_trip(test):
    """What the device has learned, in microseconds."""
    return float(view(test.number)["rtt_us"])


@case("round-trip-of-repairs")
def round_trip_of_repairs():
    """The first packet of all is lost, and a NAK says so: the round trip is learned, for
    the timer to follow it; also from a peer that drops what is behind a hole."""
    for count in (1, 3):
        with Asking() as test:
            for index in range(count):
                test.post(wr_id=index)
            for index in range(count):
                test.asked_write(plan(index, test))
            test.ack(plan(0, test), roce.NAK_SEQUENCE, 0)
            test.next()
            time.sleep(0.05)
            test.ack(plan(0, test))
            test.completed(0)
            check(round_trip(test) >= 50000, f"{round_trip(test)} us, after 50 ms, {count} WRITEs")


@case("round-trip-of-responses")
def round_trip_of_responses():
    """Of a READ, and of one whose first response is lost."""
    for lost in (False, True):
        with Asking() as test:
            test.post(e.IBV_WR_RDMA_READ, 2 * MTU)
            test.asked_read(length=2 * MTU)
            if lost:
                parts_of(test, 0, 2, [1], DATA)
                test.asked_read(length=MTU)
                time.sleep(0.5)     # the second sample: an eighth of it counts
                test.reply(roce.RESP_ONLY, plan(0, test), msn(), DATA[:MTU])
            else:
                time.sleep(0.05)
                parts_of(test, 0, 2, [0], DATA)
                parts_of(test, 0, 2, [1], DATA)
            test.completed(1)
            check(round_trip(test) >= 50000, f"{round_trip(test)} us, lost: {lost}")


@case("round-trip-of-nothing")
def round_trip_of_nothing():
    """What the timer has sent again may be answered for the first time: nothing is
    learned, and the next packet waits as long as this one did."""
    with Patient(timeout=TIMEOUT) as test:
        test.post()
        for _ in range(3):
            test.asked_write()
        test.ack(plan(0, test))
        test.completed(1)
        check(round_trip(test) == 0, f"{round_trip(test)} us, of what the timer sent again")
        test.post(wr_id=2)
        test.asked_write(plan(1, test))
        began = time.monotonic()
        test.asked_write(plan(1, test))
        took = time.monotonic() - began
        check(took >= 0.06, f"sent again after {took:.3f} s, though 20 and 40 ms were too few")
        test.ack(plan(1, test), msn=2)
        test.completed(2)


def rto(test):
    """How long the timer of the device waits now, in seconds."""
    return float(view(test.number)["rto_us"]) / 1e6


def tail_lost(read):
    """The end of a WRITE, or of the response to a READ, is lost: with round trips known the
    timer follows these, and it comes again after one to two of its waits."""
    with Patient(timeout=20) as test:
        psn, count, waits = 0, 0, []
        for _ in range(4):
            for _ in range(8):
                test.post(wr_id=count)
                test.asked_write(plan(psn, test))
                test.ack(plan(psn, test), msn=count + 1)
                test.completed(count)
                psn, count = psn + 1, count + 1
            wait = rto(test)
            check(0 < wait < LEARNED, f"the timer waits {wait:.3f} s")
            most = 2 * wait
            if read:
                test.post(e.IBV_WR_RDMA_READ, 2 * MTU, wr_id=count)
                first = test.asked_read(plan(psn, test), 2 * MTU)
                parts_of(test, psn, 2, [0], DATA, count + 1)
                # a round trip is known from that, too, which lasted as long as this program
                # took; what is left waits for the next one
                most = time.time() - first.stamp + 2 * max(wait, rto(test))
                again = test.asked_read(plan(psn + 1, test), MTU, MTU)
                parts_of(test, psn + 1, 1, [0], DATA[MTU:], count + 1)
                psn += 1
            else:
                test.post(wr_id=count)
                first, again = (test.asked_write(plan(psn, test)) for _ in range(2))
                test.ack(plan(psn, test), msn=count + 1)
            test.completed(count)
            psn, count = psn + 1, count + 1
            took = again.stamp - first.stamp
            check(took >= 0.9 * wait, f"sent again after {took:.4f} s, the timer waits {wait:.4f}")
            waits.append(took / most)
        # this machine may have stood still, but not each time
        check(min(waits) <= 1.5, f"sent again after {waits} times the most that the timer waits")


for label, kind in (("write", False), ("read", True)):
    case(f"tail-lost-{label}")(lambda k=kind: tail_lost(k))


@case("nak-lost")
def nak_lost():
    """The NAK for a lost request is lost, too: the timer makes up for it."""
    with Patient(timeout=TIMEOUT) as test:
        for index in range(3):
            test.post(wr_id=index)
        first, _, _ = (test.asked_write(plan(index, test)) for index in range(3))
        test.ack(plan(0, test))
        test.completed(0)
        # no NAK for the second; what was behind it has been kept. The clock began with the
        # first of all
        by_the_timer(first, test.asked_write(plan(1, test)))
        test.ack(plan(2, test), msn=3)
        test.completed(1)
        test.completed(2)


@case("rnr-nak-lost")
def rnr_nak_lost():
    """An RNR NAK is lost: the message comes again, and the next one is heeded."""
    with Patient(timeout=TIMEOUT) as test:
        test.post(e.IBV_WR_SEND)
        for _ in range(2):
            test.asked(roce.SEND_ONLY, plan(0, test), b"", DATA[:64], True)
        test.ack(plan(0, test), roce.RNR | 20, 0)
        test.asked(roce.SEND_ONLY, plan(0, test), b"", DATA[:64], True)
        test.ack(plan(0, test))
        test.completed(1)


@case("answers-twice")
def answers_twice():
    """Each kind of answer twice, at once and when the next request is under way: it
    completes one request, and changes no byte of another."""
    with Asking() as test:
        other = bytes(64)
        test.post(wr_id=1)
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=2)
        fetch_add(test, 3)
        for _ in range(3):
            test.next()

        def answers():
            test.ack(plan(0, test))
            test.reply(roce.RESP_ONLY, plan(1, test), msn(2), b"R" * 64)
            test.reply(roce.ATOMIC_ACK, plan(2, test), msn(3) + struct.pack(">Q", 7))

        for _ in range(2):
            answers()
        for index in (1, 2, 3):
            test.completed(index)
        test.memory.put(other)
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=4)
        test.asked_read(plan(3, test))
        answers()
        test.waits("answers of long ago")
        equal(test.memory.get(64), other, "memory")
        test.reply(roce.RESP_ONLY, plan(3, test), msn(4), b"S" * 64)
        test.completed(4)
        equal(test.memory.get(64), b"S" * 64, "bytes of the READ")


@case("read-responses-twice")
def read_responses_twice():
    """Each response of a long READ twice, at once and when the next READ is under way; the
    copies have other bytes, and none of them is found in memory."""
    total = 3 * MTU
    fresh, other = bytes(reversed(DATA[:total])), DATA[:total]

    def part(first, index, payload):
        test.reply((roce.RESP_FIRST, roce.RESP_MIDDLE, roce.RESP_LAST)[index],
                   plan(first + index, test), b"" if index == 1 else msn(first // 3 + 1),
                   payload[index * MTU:(index + 1) * MTU])

    with Asking() as test:
        test.post(e.IBV_WR_RDMA_READ, total, wr_id=1)
        test.asked_read(length=total)
        for index in range(3):
            part(0, index, fresh)
            part(0, index, other)
        test.completed(1)
        equal(test.memory.get(total), fresh, "bytes of the first READ")
        test.memory.put(bytes(total))
        test.post(e.IBV_WR_RDMA_READ, total, wr_id=2)
        test.asked_read(plan(3, test), total)
        for index in range(3):
            part(0, index, other)
        test.waits("responses of long ago")
        equal(test.memory.get(total), bytes(total), "memory")
        for index in range(3):
            part(3, index, fresh)
            part(3, index, other)
            part(0, 2 - index, other)
        test.completed(2)
        test.waits("each READ completes once")
        equal(test.memory.get(total), fresh, "bytes of the second READ")
        test.silent()


@case("requests-behind-a-hole")
def requests_behind_a_hole():
    """A WRITE is lost, and a READ of three packets and an atomic behind it come too early:
    when it is here all is executed in order, the READ finds its bytes, and the atomic is
    executed once. So it stays when all of it comes once more."""
    total, counter, place = 2 * MTU + 100, 2 * 4096, MTU - 4
    with Stranger() as test:
        def responses(middle):
            data = DATA[:place] + middle + DATA[place + 8:total]
            for index in range(3):
                test.answer(*errors.response(index, 3, read, data, test.msn))

        def added():
            test.answer(roce.ATOMIC_ACK, add, msn(3) + struct.pack(">Q", 41))

        test.memory.put(DATA[:total])
        test.memory.put(struct.pack("=Q", 41), counter)
        hole, read, add = (roce.psn_add(test.psn, index) for index in (0, 1, 4))
        errors.ask(test, roce.READ_REQUEST, test.memory, total, psn=read)
        test.acked(hole, roce.NAK_SEQUENCE)
        errors.ask(test, roce.FETCH_ADD, test.memory, offset=counter, psn=add)
        test.silent()
        equal(test.memory.get(8, counter), struct.pack("=Q", 41), "counter before the WRITE")
        test.write(b"in front", place)
        test.msn = 2
        responses(b"in front")
        test.msn = 3
        added()
        test.silent()
        equal(test.memory.get(8, counter), struct.pack("=Q", 42), "counter")
        test.memory.put(b"newer!!!", place)
        test.memory.put(struct.pack("=Q", 1000), counter)
        test.write(b"in front", place, ackreq=True)
        # of the others the responses may have been lost
        test.acked(hole)
        errors.ask(test, roce.READ_REQUEST, test.memory, total, psn=read)
        responses(b"newer!!!")
        errors.ask(test, roce.FETCH_ADD, test.memory, offset=counter, psn=add)
        added()
        equal(test.memory.get(8, counter), struct.pack("=Q", 1000), "counter after duplicates")
        test.step(5, 0)
        test.good_write()


@case("ack-overtaken")
def ack_overtaken():
    """ACKs in the wrong order: the later one counts, the earlier one is nothing."""
    with Asking() as test:
        for index in range(3):
            test.post(wr_id=index)
        for index in range(3):
            test.next()
        for index in (1, 0, 2):
            test.ack(plan(index, test), msn=index + 1)
        for index in range(3):
            test.completed(index)
        test.silent()


def rnr_retries(count):
    """rnr_retry is how often a message comes again after an RNR NAK; 7 is for ever."""
    with Asking(rnr_retry=count, timeout=0) as test:
        test.post(e.IBV_WR_SEND)
        for _ in range(20 if count == 7 else count + 1):
            test.asked(roce.SEND_ONLY, plan(0, test), b"", DATA[:64], True)
            test.ack(plan(0, test), roce.RNR | 1, 0)
        if count < 7:
            test.completed(1, verbs.RNR_RETRY_EXC_ERR)
            check(test.queue.in_error(), "the queue pair is not in its error state")
            test.silent(0.02)
            return
        test.asked(roce.SEND_ONLY, plan(0, test), b"", DATA[:64], True)
        test.ack(plan(0, test))
        test.completed(1)


for number in range(8):
    case(f"rnr-retry-{number}")(lambda n=number: rnr_retries(n))


@case("rnr-retry-restored")
def rnr_retry_restored():
    """A message that got through gives the next one all its retries."""
    with Asking(rnr_retry=1, timeout=0) as test:
        for index in range(3):
            test.post(e.IBV_WR_SEND, wr_id=index)
            test.asked(roce.SEND_ONLY, plan(index, test), b"", DATA[:64], True)
            test.ack(plan(index, test), roce.RNR | 1, index)
            test.asked(roce.SEND_ONLY, plan(index, test), b"", DATA[:64], True)
            test.ack(plan(index, test), msn=index + 1)
            test.completed(index)


@case("rnr-restores-retries")
def rnr_restores_retries():
    """A peer that says it is not ready is there, and has all retries, however often a
    packet or an answer is lost before it is."""
    with Patient(timeout=17, retry=2, rnr_retry=7) as test:
        def seen():
            test.asked(roce.SEND_ONLY, plan(0, test), b"", DATA[:64], True)

        test.post(e.IBV_WR_SEND)
        for _ in range(10):
            seen()
            test.ack(plan(0, test), roce.RNR | 1, 0)
            # lost, but for the second one
            seen()
            seen()
            test.ack(plan(0, test), roce.RNR | 1, 0)
        seen()
        test.ack(plan(0, test))
        test.completed(1)


def sent_now(test):
    """PSNs of all that is sent, up to the next pause."""
    found, packet = [], test.next()
    while packet:
        found.append(packet.psn)
        packet = test.next(verbs.PATIENCE / 200)
    return found


@case("rnr-sends-little")
def rnr_sends_little():
    """A peer that says again and again that it is not ready is not sent all of 200 messages
    each time; when it is ready they all arrive, in order."""
    count = 200
    with Asking(queue=lambda device: verbs.Queue(device, depth=count)) as test:
        for index in range(count):
            test.post(e.IBV_WR_SEND, wr_id=index)
        for index in range(count):
            packet = test.next()
            check(packet is not None, f"message {index} is not sent")
            equal((packet.opcode, packet.psn, packet.payload),
                  (roce.SEND_ONLY, plan(index, test), DATA[:64]), "message")
        for number in range(1, 11):
            test.ack(plan(0, test), roce.RNR | 1, 0)
            found = sent_now(test)
            check(found, f"nothing is sent after RNR NAK {number}")
            equal(found, [plan(index, test) for index in range(len(found))], "PSNs")
            # enough to see whether it is ready
            check(len(found) <= 16, f"{len(found)} packets are sent after RNR NAK {number}")
        arrived = len(found)
        test.ack(plan(arrived - 1, test), msn=arrived)
        while arrived < count:
            packet = test.next()
            check(packet is not None, f"nothing is sent after message {arrived}")
            equal((packet.opcode, packet.psn), (roce.SEND_ONLY, plan(arrived, test)), "message")
            arrived += 1
            if packet.ackreq:
                test.ack(plan(arrived - 1, test), msn=arrived)
        for index in range(count):
            test.completed(index)
        test.silent()


@case("naks-for-ever")
def naks_for_ever():
    """A peer that only ever misses the same packet gets it a few times: by its first NAK,
    which later ones repeat, and by the timer; then the retries are used up."""
    retry_count = 2
    with Asking(timeout=12, retry=retry_count) as test:
        found = []
        for index in (1, 2):
            test.post(wr_id=index)
        packet = test.next()
        while packet and len(found) < 100:
            found.append(packet.psn)
            for _ in range(10):
                test.ack(plan(0, test), roce.NAK_SEQUENCE, 0)
            packet = test.next(1)
        test.completed(1, verbs.RETRY_EXC_ERR)
        test.completed(2, verbs.FLUSH_ERR)
        check(test.queue.in_error(), "the queue pair is not in its error state")
        # each retry is a packet, and what a NAK made come again comes once more in between
        check(retry_count + 1 <= found.count(plan(0, test)) <= 2 * (retry_count + 1),
              f"the missing packet was sent {found.count(plan(0, test))} times")
        check(found.count(plan(1, test)) <= 1 and set(found) <= {plan(0, test), plan(1, test)},
              f"PSNs {[hex(psn) for psn in found]}")


def dead(timeout, count):
    """Nobody answers: given up after 1 to 4 times what timeout and retry_cnt promise
    (11.6.2), one packet at a time."""
    promised = 4.096e-6 * (1 << timeout) * (count + 1)
    with Asking(timeout=timeout, retry=count) as test:
        start = time.monotonic()
        test.post()
        test.completed(1, verbs.RETRY_EXC_ERR)
        took = time.monotonic() - start
        equal({p.psn for p in test.tap.drain()}, {plan(0, test)}, "PSNs")
        check(took >= promised, f"given up after {took:.3f} s instead of {promised:.3f}")
        # no timer here is shorter than 2 ms
        most = 4 * max(promised, 0.002 * (count + 1)) + LATE
        check(took <= most, f"given up after {took:.3f} s, promised were {promised:.3f}")


for exponent, retry in ((1, 0), (8, 7), (12, 3), (14, 0), (14, 3), (16, 1)):
    case(f"dead-peer-{exponent}-{retry}")(lambda t=exponent, r=retry: dead(t, r))


def dead_exactly(count):
    """A timeout that is shorter than any first wait is charged each time: as many packets
    as there are retries, and the first."""
    with Asking(timeout=10, retry=count) as test:
        test.post()
        test.completed(1, verbs.RETRY_EXC_ERR)
        equal([p.psn for p in test.tap.drain()], [plan(0, test)] * (count + 1), "PSNs")


for retry in (0, 3, 7):
    case(f"dead-peer-packets-{retry}")(lambda r=retry: dead_exactly(r))


@case("dead-peer-all-kinds")
def dead_all_kinds():
    """A READ, an atomic and 20 WRITEs on their way: only the oldest request comes again. It
    has the error, and the others are flushed, in order, each once."""
    count = 22
    with Asking(timeout=16, retry=2) as test:
        # all of them at once, before any timer runs
        errors.modify(test, e.IBV_QPS_SQD)
        test.post(e.IBV_WR_RDMA_READ, 64, wr_id=0)
        fetch_add(test)
        for index in range(2, count):
            test.post(wr_id=index)
        errors.modify(test, e.IBV_QPS_RTS)
        test.completed(0, verbs.RETRY_EXC_ERR)
        for index in range(1, count):
            test.completed(index, verbs.FLUSH_ERR)
        # after 100 ms, which costs no retry, and then after 200 ms and 268 ms
        equal([p.psn for p in test.tap.drain()],
              [plan(index, test) for index in range(count)] + [plan(0, test)] * 3, "PSNs")
        test.silent()
        test.queue.no_completion(test.queue.scq, "all are here")


@case("dead-peer-never")
def dead_peer_never():
    """timeout 0 is for ever: nothing is sent again, nothing given up."""
    with Asking(timeout=0, retry=0) as test:
        test.post()
        test.asked_write()
        test.silent(0.5)
        test.queue.no_completion(test.queue.scq, "nobody has answered")
        test.ack(plan(0, test))
        test.completed(1)


@case("retries-restored")
def retries_restored():
    """Each answer gives back all retries: with a retry_cnt of 1, one loss after the
    other is survived."""
    with Patient(timeout=TIMEOUT, retry=1) as test:
        for index in range(4):
            test.post(wr_id=index)
            for _ in range(2):
                test.asked_write(plan(index, test))
            test.ack(plan(index, test), msn=index + 1)
            test.completed(index)


@case("dead-peer-flushes")
def dead_peer_flushes():
    """The oldest request has the error, the others are flushed, in order; and so is
    what is posted later, on both queues, each once."""
    with Asking(timeout=10, retry=1) as test:
        test.device.events()
        for index in range(3):
            test.post(wr_id=index)
            test.receive(64, wr_id=10 + index)
        test.completed(0, verbs.RETRY_EXC_ERR)
        for index in (1, 2):
            test.completed(index, verbs.FLUSH_ERR)
        test.post(wr_id=3)
        test.completed(3, verbs.FLUSH_ERR)
        test.receive(64, wr_id=13)
        for index in range(4):
            found = test.queue.received()
            equal((found.wr_id, found.status), (10 + index, verbs.FLUSH_ERR), "receive")
        test.queue.no_completion(test.queue.scq, "all are here")
        test.queue.no_completion(test.queue.rcq, "all are here")
        equal(test.device.events(), [], "events: the completions say it")


if __name__ == "__main__":
    main("losses", Far.setup)
