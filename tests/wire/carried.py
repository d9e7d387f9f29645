#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a message carries beside its bytes: a key to invalidate, or immediate data.

Keys first, from a peer of our making: what names them is checked when the message is
there, once, and neither before nor again. Then immediate data between two devices, on
a wire that loses packets: each value comes once, in order.
"""

from contextlib import closing

import pyverbs.enums as e

import roce
import verbs
import wire
from harness import case, check, equal, main
from stranger import DATA, MTU, SILENCE, Far, Stranger

BINDABLE = verbs.ALL | e.IBV_ACCESS_MW_BIND


class Owner(Stranger):
    """A device with a window, in memory of its own, and one receive."""

    def __init__(self, receive=True, **options):
        super().__init__(rnr_timer=1, **options)
        self.windowed = verbs.Memory(self.device.pd, 4096, BINDABLE)
        self.window = verbs.Window(self.queue, self.windowed)
        if receive:
            self.receive(wr_id=7)

    def __exit__(self, *_):
        super().__exit__()
        self.window.close()
        self.windowed.close()

    def by_key(self, key=None, psn=None):
        """A WRITE to the window, or to another."""
        self.send(roce.WRITE_ONLY, roce.reth(self.windowed.address, key or self.window.rkey, 8),
                  b"by a key", psn, ackreq=True)

    def is_valid(self):
        """So much that it can be written to."""
        self.windowed.put(bytes(8))
        self.by_key()
        self.msn += 1
        self.acked()
        self.step(messages=0)
        equal(self.windowed.get(8), b"by a key", "bytes in the window")

    def is_over(self):
        """A WRITE by the key is refused."""
        self.windowed.put(bytes(8))
        self.by_key()
        self.refused(roce.NAK_ACCESS)
        equal(self.windowed.get(8), bytes(8), "bytes in the window")

    def ieth(self):
        """The header that names the key."""
        return self.window.rkey.to_bytes(4, "big")

    def got(self, data, wr_id=7, offset=0):
        """A receive with that key."""
        found = self.queue.received()
        equal((found.status, found.wr_id, found.byte_len, found.wc_flags, found.imm_data),
              (verbs.SUCCESS, wr_id, len(data), e.IBV_WC_WITH_INV, self.window.rkey), "receive")
        equal(self.memory.get(len(data), offset), data, "bytes of the SEND")


@case("invalidate-only")
def invalidate_only():
    """A SEND of one packet; its duplicate is acknowledged, uses up no receive, and names a
    key that is no good any more without being refused."""
    for size in (0, 9, MTU):
        with Owner() as test:
            test.is_valid()
            test.receive(wr_id=8)
            for _ in range(2):
                test.send(roce.SEND_ONLY_INV, test.ieth(), DATA[:size], ackreq=True)
                test.msn = 2
                test.acked()
            test.got(DATA[:size])
            test.queue.no_completion(test.queue.rcq, "a duplicate was received")
            test.step(messages=0)
            test.good_write()
            test.is_over()


@case("invalidate-last")
def invalidate_last():
    """Of several packets only the last one names it; duplicates of any do no harm."""
    for tail in (1, MTU, 3):
        with Owner() as test:
            test.receive(wr_id=8)
            payload = DATA[:2 * MTU + tail]
            parts = ((roce.SEND_FIRST, b"", payload[:MTU]),
                     (roce.SEND_MIDDLE, b"", payload[MTU:2 * MTU]),
                     (roce.SEND_LAST_INV, test.ieth(), payload[2 * MTU:]))
            start = test.psn
            for part in parts:
                test.send(*part, ackreq=part is parts[2])
                test.step(messages=0)
            test.msn, last = 1, roce.psn_add(start, 2)
            test.acked(last)
            test.got(payload)
            for index in (2, 0, 1):
                test.send(*parts[index], psn=roce.psn_add(start, index), ackreq=True)
                test.acked(last)
            test.queue.no_completion(test.queue.rcq, "a duplicate was received")
            test.good_write()
            test.is_over()


@case("invalidate-not-before-the-last")
def invalidate_between():
    """The key is good until the last packet comes: until then its owner may end it, which
    he cannot of one that is not good. Then the message is refused."""
    with Owner() as test:
        test.send(roce.SEND_FIRST, b"", DATA[:MTU], ackreq=True)
        test.acked()
        test.step(messages=0)
        test.queue.send(e.IBV_WR_LOCAL_INV, [], invalidate=test.window.rkey)
        verbs.status_is(test.queue.sent(), verbs.SUCCESS, "LOCAL_INV")
        test.send(roce.SEND_LAST_INV, test.ieth(), b"last")
        test.refused(roce.NAK_ACCESS)
        verbs.status_is(test.queue.received(), verbs.REM_INV_REQ_ERR, "the receive")


@case("invalidate-then-late-read")
def invalidate_late_read():
    """A READ by the key that the network has doubled, and brings when the key is over: the
    first one was answered long ago, so that nobody is refused anything. A NAK, which who
    has the response does not heed, or nothing; and the queue pair lives on."""
    with Owner() as test:
        test.windowed.put(DATA[:64])
        old = test.psn
        read = roce.reth(test.windowed.address, test.window.rkey, 64)
        test.send(roce.READ_REQUEST, read)
        test.msn += 1
        test.answer(roce.RESP_ONLY, old, roce.aeth(roce.ACK_UNLIMITED, test.msn), DATA[:64])
        test.step(messages=0)
        test.send(roce.SEND_ONLY_INV, test.ieth(), DATA[:64], ackreq=True)
        test.msn += 1
        test.acked()
        test.got(DATA[:64])
        test.step(messages=0)
        test.send(roce.READ_REQUEST, read, psn=old)
        packet = test.next(SILENCE)
        check(packet is None or (packet.opcode, packet.psn, packet.syndrome) ==
              (roce.ACK, old, roce.NAK_ACCESS), f"answer {packet}")
        check(not test.queue.in_error(), "the queue pair is in its error state")
        test.good_write()
        test.is_over()


@case("invalidate-rnr")
def invalidate_rnr():
    """Without a receive the message is refused for now, and its key stays good."""
    with Owner(receive=False) as test:
        for _ in range(2):
            test.send(roce.SEND_ONLY_INV, test.ieth(), DATA[:64], ackreq=True)
            test.acked(syndrome=roce.RNR | 1)
        test.is_valid()
        test.receive(wr_id=7)
        test.send(roce.SEND_ONLY_INV, test.ieth(), DATA[:64], ackreq=True)
        test.msn += 1
        test.acked()
        test.got(DATA[:64])
        test.step(messages=0)
        test.is_over()


@case("invalidate-behind-a-hole")
def invalidate_behind_hole():
    """It comes too early: kept, and executed when its time has come, behind the WRITE by
    the key that was lost."""
    with Owner() as test:
        first, second = test.psn, roce.psn_add(test.psn, 1)
        test.send(roce.SEND_ONLY_INV, test.ieth(), DATA[:64], second, ackreq=True)
        test.acked(first, roce.NAK_SEQUENCE)
        test.by_key()
        test.msn = 2
        test.acked(second)
        test.got(DATA[:64])
        equal(test.windowed.get(8), b"by a key", "bytes in the window")
        test.step(2, 0)
        test.is_over()


def kept(name, text, prepare):
    """A case: a key that this queue pair may not invalidate, and which stays good."""
    def run():
        with Owner() as test, closing(prepare(test)) as target:
            test.send(roce.SEND_ONLY_INV, target.rkey.to_bytes(4, "big"), b"abcd")
            test.refused(roce.NAK_ACCESS)
            found = test.queue.received()
            equal((found.status, found.wr_id), (verbs.REM_INV_REQ_ERR, 7), "receive")
            target.still_good()
    run.__doc__ = text
    case(f"invalidate-{name}")(run)


class Foreign:
    """A window that is not the queue pair's to end, and one that may use it."""

    def __init__(self, test, own_pd=False, kind=e.IBV_MW_TYPE_2):
        self.pd = verbs.PD(test.device.context) if own_pd else test.device.pd
        self.own_pd = own_pd
        self.memory = verbs.Memory(self.pd, 4096, BINDABLE)
        self.user = Stranger(queue=lambda device: verbs.Queue(device, pd=self.pd))
        self.window = verbs.Window(self.user.queue, self.memory, kind=kind, pd=self.pd)
        self.rkey = self.window.rkey

    def still_good(self):
        """Its own queue pair can be written to by it."""
        self.user.tap.drain()
        self.user.send(roce.WRITE_ONLY, roce.reth(self.memory.address, self.rkey, 8), b"still ok",
                       ackreq=True)
        self.user.msn += 1
        self.user.acked()
        equal(self.memory.get(8), b"still ok", "bytes by the key")

    def close(self):
        """Destroy all of it."""
        self.user.__exit__()
        self.window.close()
        self.memory.close()
        if self.own_pd:
            self.pd.close()


kept("of-another-qp", "A window of type 2 is its queue pair's.", Foreign)
kept("of-another-pd", "A window of another protection domain.",
     lambda test: Foreign(test, own_pd=True))
kept("type-1", "A window of type 1 is ended by who has bound it.",
     lambda test: Foreign(test, kind=e.IBV_MW_TYPE_1))


@case("invalidate-wrong-last")
def invalidate_wrong_last():
    """Of several packets, and the last one names a key that nobody has: the message is
    refused, and the receive has the error."""
    with Owner() as test:
        test.send(roce.SEND_FIRST, b"", DATA[:MTU])
        test.step(messages=0)
        test.send(roce.SEND_LAST_INV, (test.window.rkey ^ 1).to_bytes(4, "big"), b"last")
        test.refused(roce.NAK_ACCESS)
        verbs.status_is(test.queue.received(), verbs.REM_INV_REQ_ERR, "the receive")


# ---- a bad wire -------------------------------------------------------------------

DEPTH, COUNT, SLOT = 32, 320, 4096
IMMS = (e.IBV_WR_SEND_WITH_IMM, e.IBV_WR_RDMA_WRITE_WITH_IMM)


class Numbered:
    """Messages with immediate data, each with a length, bytes and a value of its own."""

    def __init__(self):
        self.near, self.far = verbs.Device("rxe0", wire.NEAR4), verbs.Device("rxe1", wire.FAR4)
        self.source = verbs.Memory(self.near.pd, DEPTH * SLOT)
        self.target = verbs.Memory(self.far.pd, DEPTH * SLOT)
        self.here, self.there = verbs.connected(self.near, self.far, mtu=MTU)

    @staticmethod
    def of(index):
        """Opcode, bytes, immediate value."""
        length = (0, 5, MTU, 3 * MTU + 1)[index // 2 % 4]
        return IMMS[index % 2], DATA[index % 200:][:length], index * 0x01010001 + 7 & 0xffffffff

    def post(self, index):
        """A receive, and the message."""
        opcode, data, imm = self.of(index)
        at = index % DEPTH * SLOT
        self.source.put(data, at)
        self.target.put(bytes(SLOT), at)
        self.there.receive([self.target.sge(SLOT, at)], wr_id=index)
        self.here.send(opcode, [self.source.sge(len(data), at)], remote=self.target.address + at,
                       rkey=self.target.rkey, imm=imm, wr_id=index)

    def arrived(self, index):
        """The next receive is that one, and its bytes are there."""
        opcode, data, imm = self.of(index)
        found = self.there.received(f"receive {index}")
        kind = e.IBV_WC_RECV if opcode == e.IBV_WR_SEND_WITH_IMM else e.IBV_WC_RECV_RDMA_WITH_IMM
        equal((found.status, found.wr_id, found.opcode, found.byte_len, found.wc_flags,
               verbs.socket.ntohl(found.imm_data)),
              (verbs.SUCCESS, index, kind, len(data), e.IBV_WC_WITH_IMM, imm), f"receive {index}")
        equal(self.target.get(len(data) + 1, index % DEPTH * SLOT), data + b"\0",
              f"bytes of message {index}")

    def close(self):
        """Queue pairs, then memory."""
        for one in (self.here, self.there, self.source, self.target):
            one.close()


@case("immediate-on-a-bad-wire")
def immediate_bad_wire():
    """Values of SENDs and WRITEs, in turn: each once, in the order of their posting, with
    its own bytes, while packets and ACKs are lost, doubled and late."""
    with closing(Numbered()) as test, wire.Bad():
        again = test.near.counter("retransmitted_packets")
        twice = test.far.counter("duplicate_request")
        for index in range(COUNT + DEPTH):
            if index >= DEPTH:
                test.arrived(index - DEPTH)
                done = test.here.sent()
                equal((done.status, done.wr_id), (verbs.SUCCESS, index - DEPTH), "completion")
            if index < COUNT:
                test.post(index)
        for queue in (test.there.rcq, test.here.scq):
            test.here.no_completion(queue, "all have come")
        check(test.near.counter("retransmitted_packets") > again, "nothing was lost")
        check(test.far.counter("duplicate_request") > twice, "nothing came twice")


if __name__ == "__main__":
    main("carried", Far.setup)
