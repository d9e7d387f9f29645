#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets made by hand against the responder of a real queue pair.

Every answer is compared byte for byte: addresses, lengths, syndrome, MSN, PSN,
pad bytes and ICRC (stranger.py). Where silence is demanded, a good request
follows, and its answer must be the only one.
"""

import errno
import struct

import pyverbs.enums as e
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPAttr

import roce
import verbs
import wire
from harness import case, check, equal, main
from roce import packets, psn_add, reth
from stranger import FIRST, MTU, OUR_QPN, SILENCE, SIZE, Asking, Far, Stranger, plan

DATA = bytes(range(1, 252)) * 20


def read_back(test, psn, data, aeth_msn=None):
    """The device answers a READ with these bytes, beginning at that PSN."""
    msn = roce.aeth(roce.ACK_UNLIMITED, test.msn if aeth_msn is None else aeth_msn)
    count = packets(len(data), test.mtu)
    for index in range(count):
        first, last = index == 0, index == count - 1
        opcode = roce.RESP_ONLY if first and last else roce.RESP_FIRST if first else \
            roce.RESP_LAST if last else roce.RESP_MIDDLE
        test.answer(opcode, psn_add(psn, index), msn if first or last else b"",
                    data[index * test.mtu:(index + 1) * test.mtu])


def flow(version):
    """Each kind of request once, with pads of each length."""
    with Stranger(version) as test:
        for length in (0, 1, 2, 3, 4, 64, MTU - 1, MTU):
            test.good_write(DATA[:length], 512)
        for length in (0, 1, 64, MTU):
            test.memory.put(bytes(SIZE))
            test.receive(wr_id=length)
            test.send(roce.SEND_ONLY, b"", DATA[:length], ackreq=True)
            test.msn += 1
            test.acked()
            test.step(messages=0)
            done = test.queue.received()
            equal((done.status, done.wr_id, done.byte_len), (0, length, length), "receive")
            check(test.memory.get(length) == DATA[:length], "bytes of a SEND")
        test.memory.put(DATA)
        for length in (0, 1, 64, MTU, MTU + 1, 2 * MTU, 4 * MTU - 1):
            test.send(roce.READ_REQUEST, test.reth(length, 3))
            test.msn += 1
            read_back(test, test.psn, DATA[3:3 + length])
            test.step(packets(length, MTU), 0)


@case("flow-ipv4")
def flow_ipv4():
    """WRITE, SEND and READ over IPv4."""
    flow(4)


@case("flow-ipv6")
def flow_ipv6():
    """WRITE, SEND and READ over IPv6."""
    flow(6)


@case("msn-at-end-of-message")
def msn_at_end():
    """ACKs within a message carry the MSN of the message before."""
    with Stranger() as test:
        test.good_write()
        total = 3 * MTU
        test.send(roce.WRITE_FIRST, test.reth(total), DATA[:MTU], ackreq=True)
        test.acked()
        test.step(messages=0)
        test.send(roce.WRITE_MIDDLE, b"", DATA[MTU:2 * MTU], ackreq=True)
        test.acked()
        test.step(messages=0)
        test.send(roce.WRITE_LAST, b"", DATA[2 * MTU:total], ackreq=True)
        test.msn += 1
        test.acked()
        check(test.memory.get(total) == DATA[:total], "bytes of the WRITE")


@case("immediate-and-solicited")
def immediate():
    """SEND and WRITE with immediate data: completions and their bytes."""
    with Stranger() as test:
        for opcode, extended in ((roce.SEND_ONLY_IMM, b"\1\2\3\4"),
                                 (roce.WRITE_ONLY_IMM, test.reth(5) + b"\1\2\3\4")):
            test.receive(wr_id=opcode)
            test.send(opcode, extended, b"hello", ackreq=True, se=True)
            test.msn += 1
            test.acked()
            test.step(messages=0)
            done = test.queue.received()
            equal((done.status, done.wr_id, done.byte_len, done.imm_data),
                  (0, opcode, 5, struct.unpack("=I", b"\1\2\3\4")[0]), "receive completion")


@case("coalesced-ack")
def coalesced_ack():
    """Packets that ask for no ACK are acknowledged by the next one that does."""
    with Stranger() as test:
        for index in range(5):
            test.write(b"abcd", 8 * index)
            test.step()
        test.good_write()


# ---- requests that are refused ----------------------------------------------

def refuse(name, text, syndrome, *sequence, receive=None, status=None):
    """A case in which the last of several packets earns a NAK.

    A packet is a function that takes the Stranger and sends.
    """
    def run():
        with Stranger() as test:
            if receive is not None:
                test.receive(receive, wr_id=77)
            for index, packet in enumerate(sequence):
                if index:
                    test.step(messages=0)
                packet(test)
            test.refused(syndrome)
            if status is not None:
                done = test.queue.received()
                equal((done.wr_id, done.status), (77, status), "receive completion")
    run.__doc__ = text
    case(name)(run)


def pkt(opcode, payload=b"", length=None, **fields):
    """A packet of that opcode, with the extended headers that it has."""
    def send(test):
        extended = b""
        for header in roce.HEADERS.get(opcode, []):
            extended += {"reth": lambda: test.reth(len(payload) if length is None else length),
                         "feth": lambda: roce.feth(1),
                         "imm": lambda: b"\0\0\0\1", "ieth": lambda: b"\0\0\0\1",
                         "atmeth": lambda: test.atmeth(1)}[header]()
        test.send(opcode, extended, payload, **fields)
    return send


FULL = DATA[:MTU]

for number in (0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f):
    refuse(f"opcode-{number:02x}", "A reserved or unsupported opcode of the RC service.",
           roce.NAK_INVALID, pkt(number, bytes(24), ackreq=True))

for label, wrong in {
        "send-middle": [pkt(roce.SEND_MIDDLE, FULL)],
        "send-last": [pkt(roce.SEND_LAST, b"abcd")],
        "write-middle": [pkt(roce.WRITE_MIDDLE, FULL)],
        "write-last": [pkt(roce.WRITE_LAST, b"abcd")],
        "write-last-imm": [pkt(roce.WRITE_LAST_IMM, b"abcd")],
        "write-first-send-middle": [pkt(roce.WRITE_FIRST, FULL, 4096), pkt(roce.SEND_MIDDLE, FULL)],
        "write-first-write-first": [pkt(roce.WRITE_FIRST, FULL, 4096)] * 2,
        "write-first-write-only": [pkt(roce.WRITE_FIRST, FULL, 4096), pkt(roce.WRITE_ONLY, b"ab")],
        "write-first-read": [pkt(roce.WRITE_FIRST, FULL, 4096), pkt(roce.READ_REQUEST, b"", 64)],
        "write-first-atomic": [pkt(roce.WRITE_FIRST, FULL, 4096), pkt(roce.FETCH_ADD)],
}.items():
    refuse(f"sequence-{label}", "An opcode that the message before does not permit.",
           roce.NAK_INVALID, *wrong)

for label, wrong in {
        "write-middle": pkt(roce.WRITE_MIDDLE, FULL), "send-first": pkt(roce.SEND_FIRST, FULL),
        "send-only": pkt(roce.SEND_ONLY, b"abcd"), "read": pkt(roce.READ_REQUEST, b"", 64),
}.items():
    refuse(f"sequence-send-first-{label}", "A SEND that is not finished: its receive fails.",
           roce.NAK_INVALID, pkt(roce.SEND_FIRST, FULL), wrong,
           receive=SIZE, status=verbs.REM_INV_REQ_ERR)

for label, wrong in {
        "first-short": [pkt(roce.WRITE_FIRST, DATA[:MTU - 4], 4096)],
        "first-long": [pkt(roce.WRITE_FIRST, DATA[:MTU + 4], 4096)],
        "first-says-less": [pkt(roce.WRITE_FIRST, FULL, MTU)],
        "middle-short": [pkt(roce.WRITE_FIRST, FULL, 4096), pkt(roce.WRITE_MIDDLE, DATA[:4])],
        "middle-empty": [pkt(roce.WRITE_FIRST, FULL, 4096), pkt(roce.WRITE_MIDDLE)],
        "middle-says-less": [pkt(roce.WRITE_FIRST, FULL, 2 * MTU), pkt(roce.WRITE_MIDDLE, FULL)],
        "last-empty": [pkt(roce.WRITE_FIRST, FULL, MTU + 1), pkt(roce.WRITE_LAST)],
        "last-says-more": [pkt(roce.WRITE_FIRST, FULL, 2 * MTU), pkt(roce.WRITE_LAST, DATA[:8])],
        "last-says-less": [pkt(roce.WRITE_FIRST, FULL, MTU + 4), pkt(roce.WRITE_LAST, DATA[:8])],
        "last-long": [pkt(roce.WRITE_FIRST, FULL, 2 * MTU + 4),
                      pkt(roce.WRITE_LAST, DATA[:MTU + 4])],
        "only-long": [pkt(roce.WRITE_ONLY, DATA[:MTU + 4])],
        "only-says-more": [pkt(roce.WRITE_ONLY, b"abcd", 5)],
        "only-says-less": [pkt(roce.WRITE_ONLY, b"abcd", 3)],
        "only-says-nothing": [pkt(roce.WRITE_ONLY, b"abcd", 0)],
        "write-over-2g": [pkt(roce.WRITE_FIRST, FULL, (1 << 31) + 1)],
        "read-over-2g": [pkt(roce.READ_REQUEST, b"", (1 << 31) + 1)],
        "read-4g": [pkt(roce.READ_REQUEST, b"", (1 << 32) - 1)],
        "read-with-payload": [pkt(roce.READ_REQUEST, b"abcd", 4)],
        "atomic-with-payload": [pkt(roce.FETCH_ADD, b"abcd")],
        "send-only-long": [pkt(roce.SEND_ONLY, DATA[:MTU + 4])],
        "send-first-short": [pkt(roce.SEND_FIRST, DATA[:4])],
}.items():
    refuse(f"length-{label}", "A length that the protocol forbids.", roce.NAK_INVALID, *wrong)

refuse("length-send-last-empty", "An empty last packet: the receive in use fails.",
       roce.NAK_INVALID, pkt(roce.SEND_FIRST, FULL), pkt(roce.SEND_LAST),
       receive=SIZE, status=verbs.REM_INV_REQ_ERR)
refuse("length-send-over-buffer", "A SEND that does not fit: LOC_LEN_ERR.",
       roce.NAK_INVALID, pkt(roce.SEND_FIRST, FULL), pkt(roce.SEND_LAST, b"abcd"),
       receive=MTU + 3, status=verbs.LOC_LEN_ERR)


def at(opcode, address, length, rkey=None, payload=b""):
    """A packet with a RETH or AtomicETH for any address."""
    def send(test):
        key = test.memory.rkey if rkey is None else rkey
        extended = roce.atmeth(address, key, 1) if opcode in (roce.FETCH_ADD, roce.CMP_SWAP) \
            else reth(address, key, length)
        test.send(opcode, extended, payload)
    return send


TOP = (1 << 64) - 1
for label, wrong in {
        "write-wraps": at(roce.WRITE_ONLY, TOP - 3, 64, None, DATA[:64]),
        "write-wraps-to-zero": at(roce.WRITE_ONLY, TOP - 63, 64, None, DATA[:64]),
        "write-long-wraps": at(roce.WRITE_FIRST, TOP - MTU, 1 << 31, None, FULL),
        "read-wraps": at(roce.READ_REQUEST, TOP - 3, 64),
        "read-2g": at(roce.READ_REQUEST, 1 << 20, 1 << 31),
        "read-null": at(roce.READ_REQUEST, 0, 1),
        "atomic-wraps": at(roce.FETCH_ADD, TOP - 7, 8),
        "key-zero": at(roce.READ_REQUEST, 1 << 20, 8, 0),
        "key-ones": at(roce.READ_REQUEST, 1 << 20, 8, 0xffffffff),
}.items():
    refuse(f"access-{label}", "Memory that nobody offered.", roce.NAK_ACCESS, wrong)


for label, opcode in (("fetch-add", roce.FETCH_ADD), ("compare-swap", roce.CMP_SWAP)):
    for address in (1, 4, 7):
        refuse(f"unaligned-{label}-{address}", "An atomic on an address that 8 does not divide.",
               roce.NAK_INVALID, lambda t, o=opcode, a=address: t.send(o, t.atmeth(1, 0, a)))


# ---- PSNs --------------------------------------------------------------------

@case("psn-ahead")
def psn_ahead():
    """One sequence NAK for a gap, none for what follows, which is kept; a new gap,
    a new NAK."""
    with Stranger() as test:
        test.good_write()
        for _ in range(2):
            test.memory.put(bytes(8))
            test.write(b"ahead", psn=psn_add(test.psn, 1), ackreq=True)
            test.acked(syndrome=roce.NAK_SEQUENCE)
            test.write(b"later", psn=psn_add(test.psn, 2), ackreq=True)
            test.write(b"false", psn=psn_add(test.psn, 1), ackreq=True)
            test.silent()
            equal(test.memory.get(5), bytes(5), "bytes before the gap is closed")
            test.write(b"first!", ackreq=True)
            test.step(3, 3)
            test.acked(psn_add(test.psn, -1))
            equal(test.memory.get(6), b"later!", "bytes after the gap is closed")
            test.good_write()
        check(not test.queue.in_error(), "the queue pair is in error")


@case("psn-reordered")
def psn_reordered():
    """Packets in the wrong order, all within a moment: executed in the right one,
    each once."""
    with Stranger() as test:
        for index in range(4):
            test.receive(64, index * 64, wr_id=index)
        frames = [test.frame(roce.SEND_ONLY, b"", bytes([65 + index]) * 8,
                             psn=psn_add(test.psn, index), ackreq=index == 3)
                  for index in range(4)]
        for index in (1, 3, 2, 0):
            test.tap.send(frames[index])
        for index in range(4):
            equal(test.queue.received().wr_id, index, "completion")
            equal(test.memory.get(8, index * 64), bytes([65 + index]) * 8, "bytes")
        test.queue.no_completion(test.queue.rcq, "each is delivered once")
        test.step(4, 4)
        answers = [test.next(), test.next(SILENCE)]
        last = [answer for answer in answers if answer][-1]
        equal((last.opcode, last.psn), (roce.ACK, psn_add(test.psn, -1)), "last answer")
        test.next(SILENCE)
        test.good_write()


@case("psn-ahead-many")
def psn_ahead_many():
    """More packets behind a gap than are kept: the rest is missed in its turn."""
    with Stranger() as test:
        test.good_write()
        test.memory.put(bytes(4))
        for index in range(1, 2101):
            test.write(index.to_bytes(2, "big"), psn=psn_add(test.psn, index))
        test.acked(syndrome=roce.NAK_SEQUENCE)
        test.silent()
        test.write(bytes(2), ackreq=True)
        test.step(2048, 2048)
        test.acked(psn_add(test.psn, -1))
        equal(test.memory.get(2), (2047).to_bytes(2, "big"), "bytes of the last one kept")
        test.good_write()


@case("psn-ahead-rnr")
def psn_ahead_rnr():
    """What follows an RNR NAK is dropped, not kept."""
    with Stranger() as test:
        test.send(roce.SEND_ONLY, b"", b"none", ackreq=True)
        test.acked(syndrome=roce.RNR | 1)
        test.memory.put(bytes(8))
        test.write(b"behind", psn=psn_add(test.psn, 1), ackreq=True)
        test.silent()
        test.receive(64, 64, wr_id=7)
        test.send(roce.SEND_ONLY, b"", b"some", ackreq=True)
        test.msn += 1
        test.acked()
        test.step(messages=0)
        equal(test.queue.received().wr_id, 7, "receive")
        equal(test.memory.get(6), bytes(6), "bytes of what was dropped")
        test.good_write()


@case("gap-and-duplicate")
def gap_and_duplicate():
    """A peer that goes back and misses a packet again is told again."""
    with Stranger() as test:
        test.good_write()
        test.good_write()
        test.write(b"ahead", psn=psn_add(test.psn, 1), ackreq=True)
        test.acked(syndrome=roce.NAK_SEQUENCE)
        test.write(b"again", SIZE - 64, psn=psn_add(test.psn, -1), ackreq=True)
        test.acked(syndrome=roce.NAK_SEQUENCE)
        test.write(b"first", ackreq=True)
        test.step(2, 2)
        test.acked(psn_add(test.psn, -1))
        test.good_write()


@case("psn-far-ahead")
def psn_far_ahead():
    """The last PSN that counts as ahead, and the first that counts as behind."""
    with Stranger() as test:
        test.good_write()
        test.write(b"far", psn=psn_add(test.psn, (1 << 23) - 1), ackreq=True)
        test.acked(syndrome=roce.NAK_SEQUENCE)
        test.good_write()
        test.write(b"old", psn=psn_add(test.psn, 1 << 23), ackreq=True)
        test.acked(psn_add(test.psn, -1))
        test.good_write()


@case("duplicate-send")
def duplicate_send():
    """Acknowledged again with the latest PSN, not delivered again."""
    with Stranger() as test:
        test.receive(64, wr_id=1)
        test.receive(64, 64, wr_id=2)
        test.send(roce.SEND_ONLY, b"", b"first", ackreq=True)
        test.msn += 1
        test.acked()
        old = test.psn
        test.step(messages=0)
        for _ in range(3):
            test.send(roce.SEND_ONLY, b"", b"again", psn=old, ackreq=True)
            test.acked(psn_add(test.psn, -1))
            test.good_write()
        equal(test.queue.received().wr_id, 1, "first completion")
        test.queue.no_completion(test.queue.rcq, "after duplicates")
        equal(test.memory.get(5), b"first", "delivered bytes")


@case("duplicate-write")
def duplicate_write():
    """Acknowledged again, not executed again: the owner has new bytes there."""
    with Stranger() as test:
        test.good_write(b"written", 0)
        old = psn_add(test.psn, -1)
        test.memory.put(b"newer!!")
        test.write(b"written", 0, psn=old, ackreq=True)
        test.acked(old)
        equal(test.memory.get(7), b"newer!!", "bytes after the duplicate")
        test.good_write()


@case("duplicate-does-not-disturb")
def duplicate_inside():
    """A duplicate in the middle of another message leaves that message alone."""
    with Stranger() as test:
        test.good_write(b"written", 4 * MTU)
        old = psn_add(test.psn, -1)
        test.send(roce.WRITE_FIRST, test.reth(2 * MTU), DATA[:MTU])
        test.step(messages=0)
        test.write(b"written", 4 * MTU, psn=old, ackreq=True)
        test.acked(psn_add(test.psn, -1))
        test.send(roce.WRITE_LAST, b"", DATA[MTU:2 * MTU], ackreq=True)
        test.msn += 1
        test.acked()
        check(test.memory.get(2 * MTU) == DATA[:2 * MTU], "bytes of the message")


@case("duplicate-read")
def duplicate_read():
    """Replayed in whole or in part; more than was asked for is not answered."""
    with Stranger() as test:
        length = 4 * MTU + 10
        test.memory.put(DATA[:length])
        test.send(roce.READ_REQUEST, test.reth(length))
        test.msn += 1
        first = test.psn
        read_back(test, first, DATA[:length])
        test.step(5, 0)
        test.good_write()
        for skip, want in ((0, length), (0, MTU), (2, length - 2 * MTU), (1, MTU), (1, 2 * MTU - 7),
                           (4, 10), (4, 1)):
            test.send(roce.READ_REQUEST, test.reth(want, skip * MTU), psn=psn_add(first, skip))
            read_back(test, psn_add(first, skip), DATA[skip * MTU:skip * MTU + want])
        for skip, extended in ((0, test.reth(length + 1)), (1, test.reth(length, MTU)),
                               (1, test.reth(MTU)), (0, test.reth(length, 4)),
                               (2, test.reth(MTU, 2 * MTU, test.memory.rkey ^ 0x100))):
            test.send(roce.READ_REQUEST, extended, psn=psn_add(first, skip))
            test.good_write()


@case("duplicate-read-empty")
def duplicate_read_empty():
    """READ of nothing, twice."""
    with Stranger() as test:
        test.send(roce.READ_REQUEST, test.reth(0))
        test.msn += 1
        read_back(test, test.psn, b"")
        test.step(1, 0)
        test.send(roce.READ_REQUEST, test.reth(0), psn=FIRST)
        read_back(test, FIRST, b"")


@case("duplicate-atomic")
def duplicate_atomic():
    """Each saved result is replayed from each slot; nothing is executed twice."""
    with Stranger() as test:
        slots, start = 16, 1000
        test.memory.put(struct.pack("=Q", start))
        answers = []
        for index in range(slots):
            opcode = (roce.FETCH_ADD, roce.CMP_SWAP)[index & 1]
            extended = test.atmeth(5) if opcode == roce.FETCH_ADD else \
                test.atmeth(start, start + 5)
            orig = struct.pack(">Q", start if opcode == roce.FETCH_ADD else start + 5)
            test.msn += 1
            test.send(opcode, extended)
            test.answer(roce.ATOMIC_ACK, test.psn, roce.aeth(roce.ACK_UNLIMITED, test.msn) + orig)
            answers.append((opcode, extended, test.psn, orig))
            test.step(messages=0)
        # executed again it would be seen here
        test.memory.put(struct.pack("=Q", 424242))
        for opcode, extended, psn, orig in answers + answers[::-1]:
            test.send(opcode, extended, psn=psn)
            test.answer(roce.ATOMIC_ACK, psn, roce.aeth(roce.ACK_UNLIMITED, test.msn) + orig)
            equal(struct.unpack("=Q", test.memory.get(8))[0], 424242, "memory after a duplicate")


@case("duplicate-atomic-forgotten")
def duplicate_atomic_forgotten():
    """A duplicate whose result is no longer kept is dropped, not executed."""
    with Stranger(reads=2) as test:
        test.memory.put(bytes(8))
        for index in range(3):
            test.msn += 1
            test.send(roce.FETCH_ADD, test.atmeth(1))
            test.answer(roce.ATOMIC_ACK, test.psn,
                        roce.aeth(roce.ACK_UNLIMITED, test.msn) + struct.pack(">Q", index))
            test.step(messages=0)
        test.send(roce.FETCH_ADD, test.atmeth(1), psn=FIRST)
        test.good_write()
        equal(test.memory.get(8), struct.pack("=Q", 3), "the counter")


def count_and_ask_again(test, start, kept):
    """Some FETCH ADDs more than are kept; the newest are answered again, and of the one
    before them nothing is known."""
    first = test.psn
    test.memory.put(struct.pack("=Q", start))
    for index in range(kept + 1):
        test.msn += 1
        test.send(roce.FETCH_ADD, test.atmeth(1))
        test.answer(roce.ATOMIC_ACK, test.psn, roce.aeth(roce.ACK_UNLIMITED, test.msn)
                    + struct.pack(">Q", start + index))
        test.step(messages=0)
    for index in range(1, kept + 1):
        test.send(roce.FETCH_ADD, test.atmeth(1), psn=psn_add(first, index))
        test.answer(roce.ATOMIC_ACK, psn_add(first, index), roce.aeth(
            roce.ACK_UNLIMITED, test.msn) + struct.pack(">Q", start + index))
    test.send(roce.FETCH_ADD, test.atmeth(1), psn=first)
    test.good_write()
    equal(test.memory.get(8), struct.pack("=Q", start + kept + 1), "the counter")


@case("five-results-kept")
def five_results():
    """max_dest_rd_atomic 5 is eight here: what in-tree peers and some cards take it for."""
    with Stranger(reads=5) as test:
        count_and_ask_again(test, 100, 8)


def reads_promised():
    """The largest max_dest_rd_atomic."""
    return Far.device[4].context.query_device().max_qp_rd_atom


@case("results-kept-as-promised")
def results_promised():
    """As many results are kept as the device says, and not one more."""
    limit = reads_promised()
    with Stranger(reads=limit) as test:
        count_and_ask_again(test, 1000, limit)


@case("reads-at-once-as-promised")
def reads_promised_at_once():
    """So many READs that come without a wait are all answered, and asked again, again."""
    limit = reads_promised()
    with Stranger(reads=limit) as test:
        test.memory.put(DATA)
        for _ in range(2):
            for index in range(limit):
                test.send(roce.READ_REQUEST, test.reth(32, index * 32), psn=psn_add(FIRST, index))
            for index in range(limit):
                test.msn = max(test.msn, index + 1)
                test.answer(roce.RESP_ONLY, psn_add(FIRST, index),
                            roce.aeth(roce.ACK_UNLIMITED, test.msn),
                            DATA[index * 32:(index + 1) * 32])
        test.step(packets=limit, messages=0)
        test.good_write()


def modify_reads(test, count):
    """Another max_dest_rd_atomic, in the state that the queue pair is in."""
    attr = QPAttr()
    attr.max_dest_rd_atomic = count
    test.queue.qp.modify(attr, e.IBV_QP_MAX_DEST_RD_ATOMIC)


@case("max-dest-rd-atomic-changed")
def reads_changed():
    """Refused in RTS (11.2.4.2); in SQD it takes effect, and what is saved stays."""
    with Stranger(reads=2) as test:
        try:
            modify_reads(test, 5)
        except PyverbsRDMAError:
            pass
        else:
            check(False, "max_dest_rd_atomic was changed in RTS")
        count_and_ask_again(test, 10, 2)
        test.queue.qp.modify(QPAttr(qp_state=e.IBV_QPS_SQD), e.IBV_QP_STATE)
        modify_reads(test, 5)
        equal(test.queue.qp.query(e.IBV_QP_MAX_DEST_RD_ATOMIC)[0].max_dest_rd_atomic, 5, "query")
        test.queue.qp.modify(QPAttr(qp_state=e.IBV_QPS_RTS), e.IBV_QP_STATE)
        # the two from before: the last FETCH ADD was the packet before the WRITE
        old = psn_add(test.psn, -2)
        test.send(roce.FETCH_ADD, test.atmeth(1), psn=old)
        test.answer(roce.ATOMIC_ACK, old, roce.aeth(roce.ACK_UNLIMITED, test.msn)
                    + struct.pack(">Q", 12))
        count_and_ask_again(test, 500, 8)


@case("read-while-others-wait")
def read_then_write():
    """Responses of a long READ come before the ACK of the WRITE behind it."""
    with Stranger() as test:
        length = 40 * MTU
        data = (DATA * 10)[:length]
        test.memory.put(data)
        test.send(roce.READ_REQUEST, test.reth(length))
        first = test.psn
        test.step(40, 1)
        test.write(b"behind", SIZE - 64, ackreq=True)
        read_back(test, first, data, test.msn)
        test.msn += 1
        test.acked()


@case("read-at-the-end-of-a-round")
def read_at_the_end():
    """An ACK that is due does not speak for a READ that has no response yet: the responder
    works off a backlog in rounds, and the READ is where one of them may end."""
    with Stranger() as test:
        test.memory.put(DATA)
        for count in range(56, 72):
            read = psn_add(test.psn, count)
            for index in range(1, count):
                test.write(b"many", SIZE - 64, psn=psn_add(test.psn, index),
                           ackreq=index == count - 1)
            test.send(roce.READ_REQUEST, test.reth(64), psn=read)
            test.write(b"first", SIZE - 64)
            test.step(count + 1, count + 1)
            answer = test.next()
            while answer and answer.opcode == roce.ACK:
                check(answer.psn != read, f"an ACK for READ {count} comes before its response")
                answer = test.next()
            check(answer, "no response")
            equal((answer.opcode, answer.psn, answer.payload),
                  (roce.RESP_ONLY, read, DATA[:64]), "response")
        test.good_write()


# ---- receiver not ready ---------------------------------------------------------

@case("rnr")
def rnr():
    """RNR NAK, then silence until the packet comes again; then it is executed."""
    with Stranger(rnr_timer=12) as test:
        test.good_write()
        test.send(roce.SEND_ONLY, b"", b"message", ackreq=True)
        test.acked(syndrome=roce.RNR | 12)
        test.write(b"behind", 64, psn=psn_add(test.psn, 1), ackreq=True)
        test.silent()
        test.send(roce.SEND_ONLY, b"", b"message", ackreq=True)
        test.acked(syndrome=roce.RNR | 12)
        test.receive(64)
        test.send(roce.SEND_ONLY, b"", b"message", ackreq=True)
        test.msn += 1
        test.acked()
        test.step(messages=0)
        equal((test.queue.received().byte_len, test.memory.get(7)), (7, b"message"), "delivery")
        check(not test.queue.in_error(), "the queue pair is in error")
        test.good_write()


# ---- packets to be dropped ------------------------------------------------------

@case("bad-icrc")
def bad_icrc():
    """One bit anywhere under the ICRC, or in it: dropped and counted."""
    with Stranger() as test:
        good = test.frame(roce.WRITE_ONLY, test.reth(64), DATA[:64], ackreq=True)
        start = 14 + 20 + 8
        # the UDP source port, P_Key-neutral BTH bytes, RETH, payload, ICRC
        for byte in [14 + 20, start + 8, start + 11, start + 12, start + 23, start + 28,
                     len(good) - 5] + list(range(len(good) - 4, len(good))):
            bad = bytearray(good)
            bad[byte] ^= 0x01
            test.ignored(bytes(bad), "icrc_errors")


@case("icrc-byte-order")
def icrc_byte_order():
    """An ICRC with its bytes reversed is wrong."""
    with Stranger() as test:
        good = test.frame(roce.WRITE_ONLY, test.reth(4), b"abcd", ackreq=True)
        test.ignored(good[:-4] + good[:-5:-1], "icrc_errors")


@case("icrc-mutable-fields")
def icrc_mutable():
    """What routers may change is not under the ICRC: TOS, TTL, FECN, BECN, UDP sum."""
    with Stranger() as test:
        for offset, value in ((15, 0x02), (22, 17), (46, 0x80), (46, 0x40), (46, 0x3f)):
            frame = bytearray(test.frame(roce.WRITE_ONLY, test.reth(4), b"abcd", ackreq=True))
            frame[offset] = value
            frame[24:26] = b"\0\0"
            frame[24:26] = struct.pack(">H", roce.ip_checksum(frame[14:34]))
            test.tap.send(bytes(frame))
            test.msn += 1
            test.acked()
            test.step(messages=0)


def with_udp_sum(path, frame, delta=0):
    """The same frame with a UDP checksum; delta makes it wrong."""
    at = 14 + (20 if path.src.version == 4 else 40)
    pseudo = path.src.packed + path.dst.packed + struct.pack(">II", len(frame) - at, 17)
    data = pseudo + frame[at:] + bytes(len(frame) & 1)
    value = roce.ip_checksum(data) ^ delta or 0xffff
    return frame[:at + 6] + struct.pack(">H", value) + frame[at + 8:]


@case("udp-checksum")
def udp_checksum():
    """A peer may send a UDP checksum; then it must be right."""
    for version in (4, 6):
        with Stranger(version) as test:
            for delta in (0, 1):
                frame = with_udp_sum(test.to, test.frame(roce.WRITE_ONLY, test.reth(5), b"hello",
                                                         ackreq=True), delta)
                if delta:
                    test.ignored(frame)
                    continue
                test.tap.send(frame)
                test.msn += 1
                test.acked()
                test.step(messages=0)


@case("bad-pkey")
def bad_pkey():
    """Another partition: dropped and counted. A limited member of ours: taken."""
    with Stranger() as test:
        for key in (0x0000, 0x8000, 0x1234, 0x7ffe, 0xfffe, 0xff7f):
            test.ignored(test.frame(roce.WRITE_ONLY, test.reth(4), b"abcd", pkey=key, ackreq=True),
                         "rx_bad_pkey")
        test.write(b"limited", pkey=0x7fff, ackreq=True)
        test.msn += 1
        test.acked()


@case("tver")
def tver():
    """Another transport version: dropped."""
    with Stranger() as test:
        for value in (1, 2, 8, 15):
            test.ignored(test.frame(roce.WRITE_ONLY, test.reth(4), b"abcd", tver=value,
                                    ackreq=True), "rx_malformed")


@case("migration-bit")
def migration_bit():
    """Peers set MigReq or do not: both are taken."""
    with Stranger() as test:
        for mig in (False, True):
            test.write(b"abcd", mig=mig, ackreq=True)
            test.msn += 1
            test.acked()
            test.step(messages=0)


@case("migration-bit-of-answers")
def migration_bit_of_answers():
    """So it is with what answers requests of ours."""
    with Asking() as test:
        for index, mig in enumerate((False, True)):
            test.post(wr_id=index)
            test.asked_write(plan(2 * index, test))
            test.tap.send(test.frame(roce.ACK, roce.aeth(roce.ACK_UNLIMITED, 2 * index + 1),
                                     psn=plan(2 * index, test), mig=mig))
            test.completed(index)
            test.post(e.IBV_WR_RDMA_READ, wr_id=index)
            test.asked_read(plan(2 * index + 1, test))
            test.tap.send(test.frame(roce.RESP_ONLY, roce.aeth(roce.ACK_UNLIMITED, 2 * index + 2),
                                     DATA[64:128], psn=plan(2 * index + 1, test), mig=mig))
            test.completed(index)
            equal(test.memory.get(64), DATA[64:128], "bytes of the READ")
            test.memory.put(DATA)


@case("no-other-path")
def no_other_path():
    """There is one path, and none to migrate to: the device says so, and refuses another."""
    with Stranger() as test:
        flags = test.device.context.query_device().device_cap_flags
        equal(flags & e.IBV_DEVICE_AUTO_PATH_MIG, 0, "IBV_DEVICE_AUTO_PATH_MIG")
        other, rearm = QPAttr(qp_state=e.IBV_QPS_RTS), QPAttr(qp_state=e.IBV_QPS_RTS)
        other.alt_ah_attr, other.alt_port_num = verbs.address(test.device, test.near), 1
        rearm.path_mig_state = e.IBV_MIG_REARM
        # newer cores have the first of them refused before the driver is asked
        for attr, bit, errors in ((other, e.IBV_QP_ALT_PATH, (errno.EINVAL, errno.EOPNOTSUPP)),
                                  (rearm, e.IBV_QP_PATH_MIG_STATE, (errno.EOPNOTSUPP,))):
            try:
                test.queue.qp.modify(attr, bit)
            except PyverbsRDMAError as error:
                check(error.error_code in errors, f"errno {error.error_code} instead of {errors}")
            else:
                check(False, f"an attribute of another path is taken: {bit:#x}")
        found = test.queue.qp.query(e.IBV_QP_PATH_MIG_STATE)[0].path_mig_state
        equal(found, e.IBV_MIG_MIGRATED, "state of migration")
        test.good_write()


def from_elsewhere(version, source):
    """A right packet of somebody else's: dropped."""
    with Stranger(version) as test:
        other = roce.Path(wire.NEAR_MAC, wire.FAR_MAC, source, test.device.address, 0xc123)
        data = roce.message(roce.WRITE_ONLY, test.number, test.psn, test.reth(4), b"abcd",
                            ackreq=True)
        test.ignored(other.summed(data), "rx_no_qp")


@case("wrong-source-ipv4")
def wrong_source_ipv4():
    """From another IPv4 address than the peer's."""
    from_elsewhere(4, "10.1.0.77")


@case("wrong-source-ipv6")
def wrong_source_ipv6():
    """From another IPv6 address than the peer's."""
    from_elsewhere(6, "fd01::77")


@case("wrong-family")
def wrong_family():
    """IPv6 towards a queue pair that is connected over IPv4."""
    with Stranger(4) as test:
        other = roce.Path(wire.NEAR_MAC, wire.FAR_MAC, wire.NEAR6, wire.FAR6, 0xc123)
        data = roce.message(roce.WRITE_ONLY, test.number, test.psn, test.reth(4), b"abcd",
                            ackreq=True)
        test.ignored(other.summed(data), "rx_no_qp")


@case("no-such-qp")
def no_such_qp():
    """Queue pair numbers that nobody has, the special ones among them."""
    with Stranger() as test:
        gone = verbs.Queue(test.device)
        number = gone.number
        gone.close()
        for other in (number, 0, 1, 0xffffff, OUR_QPN, test.number ^ 1):
            test.ignored(test.frame(roce.WRITE_ONLY, test.reth(4), b"abcd", dqpn=other,
                                    ackreq=True))


def in_state(state):
    """A request to a queue pair that is not connected: silence."""
    with Stranger() as test, Stranger(state=state) as other:
        for opcode, extended in ((roce.WRITE_ONLY, test.reth(4)), (roce.SEND_ONLY, b""),
                                 (roce.ACK, roce.aeth(0x1f, 0)), (0x1e, b"")):
            for psn in (0, 1, FIRST):
                test.ignored(other.frame(opcode, extended, b"abcd", psn=psn, ackreq=True))


@case("qp-in-reset")
def qp_in_reset():
    """A queue pair in RESET."""
    in_state("RESET")


@case("qp-in-init")
def qp_in_init():
    """A queue pair in INIT."""
    in_state("INIT")


@case("other-transports")
def other_transports():
    """Opcodes of UC, RD, UD, XRC and of none: not for an RC queue pair."""
    with Stranger() as test:
        for opcode in (0x20, 0x24, 0x2a, 0x40, 0x4c, 0x64, 0x65, 0x81, 0xa4, 0xac, 0xff):
            test.ignored(test.frame(opcode, test.reth(4), b"abcd", ackreq=True))


@case("unexpected-responses")
def unexpected_responses():
    """Responses that nobody waits for."""
    with Stranger() as test:
        for psn in (0, 0xfffffd, 0xfffffe, 0xffffff, 1):
            for opcode, extended in (
                    (roce.RESP_FIRST, roce.aeth(0x1f, 1)), (roce.RESP_MIDDLE, b""),
                    (roce.RESP_LAST, roce.aeth(0x1f, 1)), (roce.RESP_ONLY, roce.aeth(0x1f, 1)),
                    (roce.ACK, roce.aeth(0x1f, 1)), (roce.ACK, roce.aeth(roce.NAK_ACCESS, 1)),
                    (roce.ACK, roce.aeth(roce.NAK_SEQUENCE, 1)), (roce.ACK, roce.aeth(roce.RNR, 1)),
                    (roce.ATOMIC_ACK, roce.aeth(0x1f, 1) + bytes(8))):
                payload = FULL if opcode in (roce.RESP_FIRST, roce.RESP_MIDDLE) else b""
                test.tap.send(test.frame(opcode, extended, payload, psn=psn))
        test.good_write()
        test.queue.no_completion(test.queue.scq, "nothing was posted")
        check(not test.queue.in_error(), "the queue pair is in error")


# ---- lengths of the packet itself -------------------------------------------------

@case("pad-beyond-packet")
def pad_beyond():
    """Pad count and ICRC want more bytes than the packet has."""
    with Stranger() as test:
        for opcode, extended in ((roce.SEND_ONLY, b""), (roce.WRITE_ONLY, test.reth(0)),
                                 (roce.READ_REQUEST, test.reth(64)), (roce.WRITE_MIDDLE, b""),
                                 (roce.FETCH_ADD, test.atmeth(1)), (roce.SEND_ONLY_IMM, bytes(4))):
            for pad in (1, 2, 3):
                test.ignored(test.frame(opcode, extended, pad=pad, ackreq=True), "rx_malformed")


@case("odd-length")
def odd_length():
    """A packet whose length is no multiple of 4."""
    with Stranger() as test:
        for extra in (1, 2, 3):
            data = roce.message(roce.WRITE_ONLY, test.number, test.psn, test.reth(64), DATA[:64],
                                ackreq=True)
            test.ignored(test.to.summed(data + bytes(extra)), "rx_malformed")
            test.ignored(test.to.summed(data[:-extra]), "rx_malformed")


def cut(version):
    """Packets cut off after each byte, with lengths that say so and that do not."""
    with Stranger(version) as test:
        memory = test.memory.get(SIZE)
        bodies = [roce.message(op, test.number, test.psn, ext, data, ackreq=True)
                  for op, ext, data in (
                      (roce.WRITE_ONLY_IMM, test.reth(8) + b"\0\0\0\1", b"12345678"),
                      (roce.READ_REQUEST, test.reth(8), b""),
                      (roce.CMP_SWAP, test.atmeth(1, 2), b""),
                      (roce.ATOMIC_ACK, roce.aeth(0x1f, 1) + bytes(8), b""),
                      (roce.RESP_FIRST, roce.aeth(0x1f, 1), b"abcd"))]
        for data in bodies:
            whole = test.to.frame(data + bytes(4))
            header = len(whole) - len(data) - 4
            for length in range(len(data)):
                # shorter than its headers: nothing can be right about it
                if length < 12 + sum(roce.EXTENDED[h] for h in roce.HEADERS[data[0]]):
                    test.tap.send(test.to.summed(data[:length]))
                    test.tap.send(test.to.frame(data[:length]))
            for length in range(15, len(whole)):
                test.tap.send(whole[:length])
            for udp_len in (0, 7, 8, 19, 20, 23, 24, len(data), 65535):
                test.tap.send(test.to.frame(data + bytes(4), udp_len=udp_len))
                if 8 <= udp_len < 65000:
                    test.tap.send(test.to.frame(data + bytes(4), udp_len=udp_len, ip_len=udp_len))
            check(header > 0, "no header")
        test.good_write()
        equal(test.memory.get(SIZE - 64), memory[:-64], "memory after cut packets")
        check(not test.queue.in_error(), "the queue pair is in error")


@case("truncated-ipv4")
def truncated_ipv4():
    """All lengths over IPv4."""
    cut(4)


@case("truncated-ipv6")
def truncated_ipv6():
    """All lengths over IPv6."""
    cut(6)


@case("ip-options")
def ip_options():
    """An IPv4 header with options, an IPv6 header with an extension: dropped."""
    with Stranger(4) as test:
        frame = test.frame(roce.WRITE_ONLY, test.reth(4), b"abcd", ackreq=True)
        header = bytearray(b"\x46" + frame[15:34] + b"\1\1\1\0")
        struct.pack_into(">H", header, 2, len(frame) - 14 + 4)
        header[10:12] = b"\0\0"
        struct.pack_into(">H", header, 10, roce.ip_checksum(header))
        body = bytes(header) + frame[34:-4]
        test.ignored(frame[:14] + body + roce.icrc(body))
    with Stranger(6) as test:
        frame = test.frame(roce.WRITE_ONLY, test.reth(4), b"abcd", ackreq=True)
        header = bytearray(frame[14:54])
        header[6] = 60
        struct.pack_into(">H", header, 4, len(frame) - 54 + 8)
        test.ignored(frame[:14] + bytes(header) + b"\x11\0\1\4\0\0\0\0" + frame[54:])


@case("fragments")
def fragments():
    """One packet in two IP fragments: taken as a whole or not at all."""
    with Stranger() as test:
        ip = bytearray(test.to.ip(roce.message(
            roce.WRITE_ONLY, test.number, test.psn, test.reth(512), DATA[:512], ackreq=True)
            + bytes(4), 99))
        ip[6:8] = b"\0\0"
        ip[10:12] = b"\0\0"
        struct.pack_into(">H", ip, 10, roce.ip_checksum(ip[:20]))
        whole = bytes(ip[:-4]) + roce.icrc(ip[:-4])
        link = test.to.dmac + test.to.smac + b"\x08\0"
        half = 20 + 256
        for data, field in ((whole[20:half], 0x2000), (whole[half:], 256 // 8)):
            header = bytearray(whole[:20])
            struct.pack_into(">H", header, 2, 20 + len(data))
            struct.pack_into(">H", header, 6, field)
            header[10:12] = b"\0\0"
            struct.pack_into(">H", header, 10, roce.ip_checksum(header))
            test.tap.send(link + bytes(header) + data)
        answer = test.next(0.5)
        if answer:
            equal((answer.syndrome, answer.psn), (roce.ACK_UNLIMITED, test.psn), "answer")
            test.step()
        test.good_write()


if __name__ == "__main__":
    main("crafted", Far.setup)
