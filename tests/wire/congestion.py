#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Congestion: who may be marked, who is told of a mark, and who slows down.

Marks and notifications are made by hand; notifications of the device are compared byte
for byte (A17.9.3), the pace of what it sends is seen in when it comes.
"""

import time

import pyverbs.enums as e
from pyverbs.qp import QPAttr

import roce
import verbs
import wire
from harness import Failure, case, check, equal, main
from stranger import OUR_QPN, REMOTE, RKEY, SIZE, Asking, Far, Stranger, Unreliable, view

NOT_ECT, ECT1, ECT0, CE = range(4)
# DSCP 48, ECT(0)
CNP_TOS = 0xc2
# Seconds between two notifications for one queue pair, and of rest until all is forgotten
CNP_TIME, REST = 50e-6, 1.2
# Seconds, longer than a flow is measured, and less than a limit lasts
PAUSE = 0.4
# The fewer packets the better: they are looked at one by one
MTU = 4096
# Mb/s: a rate that is cut again and again ends far below this, any other far above
SLOW = 100
MESSAGES = 40


def notified(test):
    """The device's next packet is a CNP, byte for byte."""
    packet = test.next()
    if packet is None:
        raise Failure("no CNP")
    whole = roce.Path(wire.FAR_MAC, wire.NEAR_MAC, test.device.address, test.near,
                      roce.sport(test.number, OUR_QPN), tos=CNP_TOS).summed(
                          roce.bth(roce.CNP, OUR_QPN, 0, mig=False, byte4=roce.BECN) + roce.CNP_BYTES,
                          packet.ident)
    equal(packet.frame, whole, "CNP")
    return packet


def frame_of_cnp(test, **fields):
    """A CNP of ours."""
    body = roce.bth(roce.CNP, test.number, 0, mig=False, byte4=roce.BECN, **fields)
    return test.to.summed(body + roce.CNP_BYTES)


def number(test, name):
    """A number of the queue pair in debugfs."""
    return int(view(test.number)[name])


class Pressed:
    """Notifications that come to the device all the time, while its packets are taken."""

    def __init__(self, test, seconds=0.6):
        self.test, self.frame, self.packets = test, frame_of_cnp(test), []
        self.behind = True
        self.start = time.monotonic()
        self.end, self.due = self.start + seconds, self.start
        self.last = time.time() + seconds

    def pressing(self):
        """A CNP if it is time for one; whether there will be more.

        What was sent until the end has to be taken before, for the last of it shows the
        rate; not what is sent since: a slow machine would never be done.
        Who has set "due" to 0 wants no more, however long the next packet takes.
        """
        now = time.monotonic()
        if not self.due:
            return False
        if now >= self.end and not (self.behind and now < self.start + verbs.PATIENCE):
            return False
        if self.due <= now:
            self.test.tap.send(self.frame)
            self.due = now + 0.001
        return True

    def take(self, timeout=0.001):
        """The device's next packet, if there is one soon."""
        packet = self.test.next(timeout)
        self.behind = bool(packet) and packet.stamp < self.last
        if packet:
            self.packets.append(packet)
        return packet

    def mbps(self, seconds):
        """The rate of late."""
        last = self.packets[-1].stamp
        size = sum(len(packet.frame) for packet in self.packets if packet.stamp > last - seconds)
        return size * 8 / seconds / 1e6


# ---- marks ----

@case("ecn-capable")
def ecn_capable():
    """Connections are ECT(0), behind any DSCP; who asks for another ECN field gets it."""
    for wanted, seen in ((0, ECT0), (0x68, 0x68 | ECT0), (0x69, 0x69), (0xc2, 0xc2)):
        with Asking(traffic_class=wanted) as test:
            test.back.tos = seen
            test.post()
            test.asked_write()
            test.good_write()
    with Asking(version=6, traffic_class=0x28) as test:
        test.back.tos = 0x28 | ECT0
        test.post()
        test.asked_write()
    with Unreliable(traffic_class=0x28) as test:
        test.queue.send(e.IBV_WR_RDMA_WRITE, [test.memory.sge(8)], remote=REMOTE, rkey=RKEY)
        equal(test.next().ip[1], 0x28 | ECT0, "TOS of UC")


@case("a-mark-is-answered")
def mark_answered():
    """A WRITE with CE: a CNP, then the ACK; over IPv4 and IPv6."""
    for version in (4, 6):
        with Stranger(version) as test:
            sent = test.device.counter("np_cnp_sent")
            for ecn in (CE, NOT_ECT, CE, ECT0, ECT1):
                time.sleep(0.001)
                test.to.tos = 0x60 | ecn
                test.write(b"marked?", ackreq=True)
                test.msn += 1
                if ecn == CE:
                    notified(test)
                test.acked()
                test.step(messages=0)
            test.silent()
            equal(test.device.counter("np_cnp_sent") - sent, 2, "np_cnp_sent")
            equal(number(test, "np_cnp_sent"), 2, "np_cnp_sent of the queue pair")


@case("a-mark-is-answered-uc")
def mark_answered_uc():
    """Likewise on an unreliable connection, which answers nothing else."""
    with Unreliable() as test:
        test.to.tos = CE
        test.put(roce.WRITE_ONLY, b"marked", test.reth(6))
        notified(test)
        test.silent()


@case("a-marked-response-is-answered")
def marked_response():
    """A READ response with CE: the requester is the one that tells."""
    with Asking() as test:
        test.post(e.IBV_WR_RDMA_READ, 64)
        test.asked_read()
        test.to.tos = CE
        test.reply(roce.RESP_ONLY, test.theirs, roce.aeth(roce.ACK_UNLIMITED, 1), bytes(64))
        notified(test)
        test.completed(1)
        test.silent()


@case("marks-that-are-not-answered")
def not_answered():
    """A wrong ICRC, no payload, a datagram: counted, and no CNP."""
    with Asking() as test:
        marked = test.device.counter("np_ecn_marked_roce_packets")
        test.to.tos = CE
        frame = bytearray(test.frame(roce.WRITE_ONLY, test.reth(8), bytes(8)))
        frame[-1] ^= 1
        test.tap.send(bytes(frame))
        test.post()
        test.asked_write()
        test.ack(test.theirs)
        test.completed(1)
        test.silent()
        equal(test.device.counter("np_ecn_marked_roce_packets") - marked, 2, "marked packets")
    queue = verbs.Queue(Far.device[4], kind=e.IBV_QPT_UD)
    attr = QPAttr(qp_state=e.IBV_QPS_INIT)
    attr.port_num, attr.qkey = 1, 7
    queue.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT | e.IBV_QP_QKEY)
    queue.qp.modify(QPAttr(qp_state=e.IBV_QPS_RTR), e.IBV_QP_STATE)
    with Stranger() as test:
        queue.receive([test.memory.sge(256)])
        test.to.tos = CE
        test.send(0x64, (7).to_bytes(4, "big") + OUR_QPN.to_bytes(4, "big"), bytes(8),
                  dqpn=queue.number)
        equal(queue.received().byte_len, 48, "bytes of a datagram")
        test.silent()
    queue.close()


@case("notifications-are-bounded")
def bounded():
    """Marks without end: one CNP in 50 us at most, of a queue pair; each has its own."""
    with Stranger() as test, Stranger() as other:
        found = []
        for who in (test, other):
            who.to.tos = CE
        for _ in range(300):
            for who in (test, other):
                who.write(bytes(8))
                who.step(messages=0)
        time.sleep(0.1)
        while True:
            packet = test.next(0.2)
            if packet is None:
                break
            if packet.opcode == roce.CNP:
                found.append((packet.sport, packet.stamp))
        for who in (test, other):
            stamps = [at for port, at in found if port == who.back.sport]
            most = (stamps[-1] - stamps[0]) / CNP_TIME + 2
            check(2 <= len(stamps) <= most, f"{len(stamps)} CNPs, {most:.0f} are allowed")
            equal(number(who, "np_cnp_sent"), len(stamps), "np_cnp_sent of the queue pair")
            equal(number(who, "np_ecn_marked_roce_packets"), 300, "marked packets")


# ---- notifications ----

@case("a-notification-slows-requests")
def slows_requests():
    """WRITEs of RC slow down, and ask for an ACK where they pause; a second later all is over."""
    with Asking(mtu=MTU) as test:
        for index in range(MESSAGES):
            test.post(length=SIZE, wr_id=index)
        press, done, posted = Pressed(test), 0, MESSAGES
        equal(number(test, "sq_mbps"), 0, "limit before")
        while done < posted:
            # it may not run out before it is slow
            if press.due and posted - done < MESSAGES:
                test.post(length=SIZE, wr_id=posted)
                posted += 1
            if not press.pressing() and press.due:
                press.due = 0
                limit, slow = number(test, "sq_mbps"), press.mbps(0.1)
                late = [p for p in press.packets if p.stamp > press.packets[-1].stamp - 0.1]
            packet = press.take()
            if packet and packet.ackreq:
                test.ack(packet.psn)
            done += test.queue.scq.poll(1)[0]
            check(time.monotonic() < press.start + verbs.PATIENCE, f"{done} messages only")
        print(f"# WRITE: {slow:.0f} Mb/s, the limit is {limit}")
        check(slow < SLOW, f"{slow:.0f} Mb/s under {number(test, 'rx_cnp')} notifications")
        check(0 < limit < SLOW, f"the limit is {limit} Mb/s")
        asks = sum(packet.ackreq for packet in late)
        check(asks * 2 >= len(late), f"{asks} of {len(late)} packets ask for an ACK")
        check(number(test, "rate_cuts") >= 3, "rate_cuts")
        time.sleep(REST)
        test.post(length=MTU, wr_id=posted)
        packet = test.next()
        test.ack(packet.psn)
        test.completed(posted)
        equal(number(test, "sq_mbps"), 0, "limit after a rest")


@case("a-notification-slows-uc")
def slows_uc():
    """WRITEs of UC slow down, which nothing else would do."""
    with Unreliable(mtu=MTU) as test:
        done, posted = 0, 0

        def post():
            test.queue.send(e.IBV_WR_RDMA_WRITE, [test.memory.sge(SIZE)], remote=REMOTE, rkey=RKEY,
                            wr_id=posted)

        while posted < MESSAGES:
            post()
            posted += 1
            if posted == 1:
                press = Pressed(test)
            # nothing else makes it wait: it would be done before the first takes effect
            press.pressing()
            press.take()
        # there is always more to be sent, or nobody would look at the notifications
        while press.pressing():
            press.take()
            if test.queue.scq.poll(1)[0]:
                done += 1
                post()
                posted += 1
        limit, slow = number(test, "sq_mbps"), press.mbps(0.1)
        check(0 < limit < SLOW, f"the limit is {limit} Mb/s")
        check(slow < SLOW, f"{slow:.0f} Mb/s")
        while done < posted:
            press.take()
            done += test.queue.scq.poll(1)[0]
            check(time.monotonic() < press.start + verbs.PATIENCE, f"{done} messages only")


@case("a-notification-slows-responses")
def slows_responses():
    """READ responses slow down."""
    with Stranger(mtu=MTU) as test:
        press = Pressed(test)
        equal(number(test, "rq_mbps"), 0, "limit before")
        while press.pressing():
            test.send(roce.READ_REQUEST, test.reth(SIZE))
            test.step(SIZE // MTU)
            while True:
                press.pressing()
                packet = press.take()
                if packet and packet.opcode in (roce.RESP_LAST, roce.RESP_ONLY):
                    break
                check(time.monotonic() < press.start + verbs.PATIENCE, "a READ does not end")
        limit, slow = number(test, "rq_mbps"), press.mbps(0.1)
        check(0 < limit < SLOW, f"the limit is {limit} Mb/s")
        check(slow < SLOW, f"{slow:.0f} Mb/s")
        check(number(test, "rate_cuts") >= 3, "rate_cuts")
        print(f"# READ responses: {slow:.0f} Mb/s, the limit is {limit}")


@case("a-notification-before-a-pause")
def before_a_pause():
    """Who sends little, and then nothing for a while, was not the cause, and is not slowed down."""
    with Asking() as test:
        sent = 0

        def write():
            nonlocal sent
            test.post(wr_id=sent)
            test.asked_write(roce.psn_add(test.theirs, sent))
            test.ack(roce.psn_add(test.theirs, sent), msn=sent + 1)
            test.completed(sent)
            sent += 1

        # it comes between two messages, or long before the next one
        for pause in (0, PAUSE):
            test.tap.send(frame_of_cnp(test))
            test.good_write()   # answered behind it
            time.sleep(pause)
            write()
            time.sleep(PAUSE)
            write()
            equal(number(test, "sq_mbps"), 0, "limit")
            equal(number(test, "rate_cuts"), 0, "rate_cuts")


@case("notifications-that-do-not-count")
def do_not_count():
    """Wrong ICRC, length or partition: dropped, and nothing slows down."""
    with Asking() as test:
        good = frame_of_cnp(test)
        body = roce.bth(roce.CNP, test.number, 0, mig=False, byte4=roce.BECN)
        for frame, counter in ((good[:-1] + bytes([good[-1] ^ 1]), "icrc_errors"),
                               (test.to.summed(body), "rx_malformed"),
                               (test.to.summed(body + bytes(20)), "rx_malformed"),
                               (frame_of_cnp(test, pad=1), "rx_malformed"),
                               (frame_of_cnp(test, pkey=0x1234), "rx_bad_pkey")):
            test.ignored(frame, counter)
        equal(number(test, "rx_cnp"), 0, "rx_cnp")
        for index in range(20):
            test.post(wr_id=index)
            test.asked_write(roce.psn_add(test.theirs, index))
            test.ack(roce.psn_add(test.theirs, index), msn=index + 1)
            test.completed(index)
            time.sleep(0.001)
        equal(number(test, "rate_cuts"), 0, "rate_cuts")
        equal(number(test, "sq_mbps"), 0, "limit")


if __name__ == "__main__":
    main("congestion", Far.setup)
