#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What changes or goes while packets are on their way: the carrier, the route, the
queue pair itself.
"""

import contextlib
import json
import subprocess
import time

import pyverbs.enums as e
from pyverbs.qp import QPAttr

import roce
import verbs
import wire
from harness import Failure, Skip, case, check, equal, main
from stranger import (DATA, MTU, OUR_QPN, REMOTE, RKEY, SIZE, Asking, Far, Stranger, Unreliable,
                      plan)

# A neighbour in the network of the device, where nobody is
ELSEWHERE = "02:00:00:00:00:99"
PORT_EVENTS = (e.IBV_EVENT_PORT_ERR, e.IBV_EVENT_PORT_ACTIVE)
LIVES = 150
SENDING_LIVES = 40


def run(*words):
    """A command that must succeed; its output."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def near(*words):
    """ip, in our namespace."""
    return run("ip", "netns", "exec", "ns1", "ip", *words)


def far(*words):
    """ip, in the namespace of the device."""
    return run("ip", "netns", "exec", "ns2", "ip", *words)


# ---- the route ---------------------------------------------------------------------

def exchange(test, index):
    """Both directions: a WRITE of the device, and an ACK of it."""
    test.post(wr_id=index)
    test.asked_write(plan(index, test))
    test.ack(plan(index, test), msn=index + 1)
    test.completed(index)
    test.good_write()


def route_changes(version):
    """The next packet takes the new route, and the one after it the old one again."""
    family, host, gateway = {4: ("-4", "10.1.0.1/32", "10.1.0.99"),
                             6: ("-6", "fd01::1/128", "fd01::99")}[version]
    with Asking(version=version) as test:
        exchange(test, 0)
        home = test.back.dmac
        far("neigh", "replace", gateway, "lladdr", ELSEWHERE, "dev", "veth1", "nud", "permanent")
        far(family, "route", "add", host, "via", gateway, "dev", "veth1")
        try:
            test.back.dmac = roce.mac(ELSEWHERE)
            exchange(test, 1)
        finally:
            far(family, "route", "del", host, "dev", "veth1")
            far("neigh", "del", gateway, "dev", "veth1")
        test.back.dmac = home
        exchange(test, 2)


for number in (4, 6):
    case(f"route-changes-ipv{number}")(lambda v=number: route_changes(v))


# ---- the queue pair ----------------------------------------------------------------

def objects():
    """How many queue pairs, regions and completion queues each device has."""
    return {entry["ifname"]: {kind: entry.get(kind) for kind in ("qp", "cq", "mr", "pd")}
            for entry in json.loads(run("rdma", "-j", "resource", "show"))}


@case("destroy-in-flight")
def destroy_in_flight():
    """Destroyed while its requests wait for answers, packets are kept behind a gap, and
    its timers run: nothing is left that comes back later."""
    with Stranger() as test:
        before = objects()
        for index in range(LIVES):
            queue = verbs.Queue(test.device)
            queue.connect(OUR_QPN, test.near, rq_psn=test.psn, timeout=1 + index % 8, retry=7)
            for number in range(2):
                queue.send(e.IBV_WR_RDMA_WRITE, [test.memory.sge(3 * MTU)], remote=REMOTE,
                           rkey=RKEY, wr_id=number)
            queue.send(e.IBV_WR_RDMA_READ, [test.memory.sge(64)], remote=REMOTE, rkey=RKEY)
            queue.receive([test.memory.sge(64)])
            for ahead in (1, 2, 0):
                test.tap.send(test.frame(roce.WRITE_ONLY, test.reth(8), DATA[:8],
                                         psn=roce.psn_add(test.psn, ahead),
                                         dqpn=queue.number, ackreq=True))
            if index % 3 == 0:
                time.sleep(0.002)
            queue.close()
        equal(objects(), before, "objects")
        time.sleep(0.3)
        test.tap.drain()
        test.good_write()


@case("destroy-while-sending")
def destroy_while_sending():
    """When destroying a queue pair has returned, none of its packets leaves any more."""
    device = verbs.Device("rxe0", wire.NEAR4)
    memory = verbs.Memory(device.pd, 1 << 16)
    target = Far.memory[4]
    tap = wire.Tap()
    sent = 0
    for index in range(SENDING_LIVES):
        here, there = verbs.connected(device, Far.device[4])
        for number in range(40):
            here.send(e.IBV_WR_RDMA_WRITE, [memory.sge(1 << 16)], remote=target.address,
                      rkey=target.rkey, wr_id=number)
        time.sleep(index % 5 / 1000)
        here.close()
        end = time.time()
        time.sleep(0.01)
        requests = [p for p in tap.drain() if p.dqpn == there.number]
        sent += len(requests)
        late = [p for p in requests if p.stamp > end]
        there.close()
        check(not late, f"{len(late)} packets after the end, the last one {late and late[-1]}")
    tap.close()
    memory.close()
    check(sent > 100, f"only {sent} packets were sent: nothing was tested")


@contextlib.contextmanager
def slow_queue(limit):
    """A queue of so many bytes that lets hardly anything go, and takes bursts apart, as they are
    longer than what it lets go at a time. (netem would not do: it lets the sender forget what it
    delays.)"""
    tc = ("ip", "netns", "exec", "ns2", "tc", "qdisc")
    if subprocess.run(("modprobe", "-q", "sch_tbf"), check=False).returncode:
        raise Skip("no sch_tbf here")
    run(*tc, "add", "dev", "veth1", "root", "tbf", "rate", "64kbit", "burst", "5000",
        "limit", str(limit))
    try:
        yield
    finally:
        run(*tc, "del", "dev", "veth1", "root")


def sending(test):
    """A queue pair that sends three WRITEs to us, whatever becomes of them."""
    queue = verbs.Queue(test.device)
    queue.connect(OUR_QPN, test.near, timeout=0)
    for number in range(3):
        queue.send(e.IBV_WR_RDMA_WRITE, [test.memory.sge(MTU)], remote=REMOTE, rkey=RKEY,
                   wr_id=number)
    return queue


@case("destroy-with-packets-queued")
def destroy_with_packets_queued():
    """Destroyed while its packets wait in a queue of the stack; what frees them later
    needs nothing of it."""
    with Stranger() as test:
        with slow_queue(500000):
            for _ in range(16):
                sending(test).close()
            check(backlog()[0] > 0, "the queue holds nothing")
        # who gets the memory finds out whether it was written to since it was freed
        for queue in [sending(test) for _ in range(32)]:
            queue.close()
        test.tap.drain()
        test.good_write()


def backlog():
    """Packets in the queue of the device's netdev, and how many it has dropped."""
    found = json.loads(run("ip", "netns", "exec", "ns2", "tc", "-s", "-j", "qdisc", "show", "dev",
                           "veth1", "root"))[0]
    return found["qlen"], found["drops"]


def filled(least):
    """Packets in the queue when no more come for a while."""
    end = time.monotonic() + verbs.PATIENCE
    before, since = 0, time.monotonic()
    while time.monotonic() < end:
        now, dropped = backlog()
        equal(dropped, 0, "packets that the queue has dropped")
        # it lets eight go in a second
        if now > before:
            before, since = now, time.monotonic()
        elif before >= least and time.monotonic() > since + 1:
            return before
        time.sleep(0.05)
    raise Failure(f"only {before} packets came to the queue: nothing was tested")


@case("cut-bursts-are-counted")
def cut_bursts_are_counted():
    """A queue that cuts bursts holds no more of a flow than one that does not: their packets
    weigh what the flow may have in the stack (RXE_FLOW_HIGH, 256 small packets), until they
    leave; then the rest follows. UC: no window of its own would stop it."""
    with Unreliable() as test:
        with slow_queue(4000000):
            for number in range(16):
                test.queue.send(e.IBV_WR_RDMA_WRITE, [test.memory.sge(SIZE)], remote=REMOTE,
                                rkey=RKEY, wr_id=number)
            held = filled(200)
        # the last burst may be one too many, and the stack has packets of its own (MLD)
        check(held <= 256 + 64 + 8, f"{held} packets of one flow in the queue, {16 * SIZE // MTU} sent")
        for number in range(16):
            done = test.queue.sent()
            equal((done.wr_id, done.status), (number, verbs.SUCCESS), "completion")


@case("queue-is-shared")
def queue_is_shared():
    """Eight queue pairs that fill a queue together have less in it than eight times what one
    alone may have, and than an ordinary queue has room for: the one that comes second may have
    half of it, the third a third, and each makes a burst before it learns that they are cut."""
    with Stranger() as test:
        with slow_queue(8000000), contextlib.ExitStack() as queues:
            for _ in range(8):
                queue = verbs.Queue(test.device)
                queues.callback(queue.close)
                # nothing is sent again
                queue.connect(OUR_QPN, test.near, timeout=0)
                for number in range(16):
                    queue.send(e.IBV_WR_RDMA_WRITE, [test.memory.sge(SIZE)], remote=REMOTE,
                               rkey=RKEY, wr_id=number)
            held = filled(400)
        check(held < 900, f"{held} packets of eight flows in the queue")
        test.tap.drain()
        test.good_write()


@case("hundred-receives")
def hundred_receives():
    """A queue pair that goes to its error state gives back each receive, in order."""
    queue = verbs.Queue(Far.device[4], depth=128)
    queue.connect(OUR_QPN, wire.NEAR4)
    sge = Far.memory[4].sge(64)
    for index in range(100):
        queue.receive([sge], wr_id=index)
    queue.qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
    for index in range(100):
        found = queue.received()
        equal((found.wr_id, found.status), (index, verbs.FLUSH_ERR), "receive")
    queue.no_completion(queue.rcq, "all are here")
    queue.close()


# ---- the carrier -------------------------------------------------------------------

def port_event():
    """The next event about the port; what GIDs do meanwhile is their own affair."""
    end = time.monotonic() + verbs.PATIENCE
    while time.monotonic() < end:
        found = Far.device[4].event(0.1)
        if found in PORT_EVENTS:
            return found
    raise Failure("no event of the port")


def no_port_event():
    """Each comes once."""
    time.sleep(0.2)
    for found in iter(Far.device[4].event, None):
        check(found not in PORT_EVENTS, f"one event too many: {found}")


def port_state():
    """What sysfs says."""
    with open("/sys/class/infiniband/rxe1/ports/1/state", encoding="ascii") as file:
        return file.read().split()[-1]


@case("carrier")
def carrier():
    """The other end of the wire goes down, and up: the port's state follows, and there
    is one event each time. Connections live on."""
    run("ip", "netns", "exec", "ns1", "sysctl", "-qw", "net.ipv6.conf.veth0.keep_addr_on_down=1")
    with Asking() as test:
        no_port_event()
        for _ in range(2):
            near("link", "set", "veth0", "down")
            try:
                equal(port_event(), e.IBV_EVENT_PORT_ERR, "event")
                equal(port_state(), "DOWN", "state")
            finally:
                near("link", "set", "veth0", "up")
            equal(port_event(), e.IBV_EVENT_PORT_ACTIVE, "event")
            equal(port_state(), "ACTIVE", "state")
            no_port_event()
    # the packet socket of before has seen its netdev go down
    with Asking() as test:
        exchange(test, 0)


if __name__ == "__main__":
    main("life", Far.setup)
