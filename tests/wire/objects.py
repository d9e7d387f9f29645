# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Objects that change or are special: completion queues that are resized, or too
small for what they get, and memory in huge pages.
"""

import ctypes
import mmap
import os

import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPAttr
from pyverbs.wr import SGE, SendWR

import verbs
import wire
from harness import Failure, Skip, case, check, equal, main
from verbs import status_is

QKEY = 0x01020304
HUGE = 2 << 20
MAP_HUGETLB = 0x40000


class Bench:
    """Both devices, and memory of each."""

    near = far = source = target = None

    @classmethod
    def setup(cls):
        """Open the devices."""
        cls.near = verbs.Device("rxe0", wire.NEAR4)
        cls.far = verbs.Device("rxe1", wire.FAR4)
        cls.source = verbs.Memory(cls.near.pd, 1 << 16)
        cls.target = verbs.Memory(cls.far.pd, 1 << 16)


def write(queue, wr_id, size=64):
    """Post a WRITE."""
    queue.send(e.IBV_WR_RDMA_WRITE, [Bench.source.sge(size)], wr_id=wr_id,
               remote=Bench.target.address, rkey=Bench.target.rkey)


def entries(cq, count):
    """The wr_ids of so many completions, which are all there is."""
    found = [verbs.completion(cq, f"completion {i}") for i in range(count)]
    for one in found:
        status_is(one, verbs.SUCCESS, f"WRITE {one.wr_id}")
    equal(cq.poll(1)[0], 0, "more completions")
    return [one.wr_id for one in found]


@case("cq-resize")
def cq_resize():
    """Entries that wait survive a larger and a smaller queue, in order."""
    near, far = verbs.connected(Bench.near, Bench.far)
    before = Bench.near.counter("completions")
    try:
        for cqe in (1000, 40, 20000, 31):
            for wr_id in range(20):
                write(near, wr_id)
            write(near, 20)
            while Bench.near.counter("completions") < before + 21:
                pass
            before += 21
            near.scq.resize(cqe)
            check(near.scq.cqe >= cqe, f"{near.scq.cqe} entries after a resize to {cqe}")
            equal(entries(near.scq, 21), list(range(21)), f"wr_ids after a resize to {cqe}")
    finally:
        near.close()
        far.close()


@case("cq-resize-under-traffic")
def cq_resize_traffic():
    """No entry is lost or seen twice while the queue is resized all the time."""
    near, far = verbs.connected(Bench.near, Bench.far)
    posted = done = 0
    try:
        for step in range(200):
            while posted - done < 32:
                write(near, posted, 4096)
                posted += 1
            near.scq.resize(100 + step % 7 * 150)
            while True:
                count, found = near.scq.poll(1)
                if not count:
                    break
                status_is(found[0], verbs.SUCCESS, f"WRITE {done}")
                equal(found[0].wr_id, done, "wr_id")
                done += 1
        while done < posted:
            equal(verbs.completion(near.scq, "completion").wr_id, done, "wr_id")
            done += 1
    finally:
        near.close()
        far.close()


def refused(action, what):
    """An action fails with an error, and nothing else happens."""
    try:
        action()
    except PyverbsRDMAError:
        return
    raise Failure(f"{what} is not refused")


@case("cq-resize-refused")
def cq_resize_refused():
    """Fewer entries than wait, none, or too many: refused, and nothing changes."""
    near, far = verbs.connected(Bench.near, Bench.far)
    before = Bench.near.counter("completions")
    try:
        for wr_id in range(40):
            write(near, wr_id)
        while Bench.near.counter("completions") < before + 40:
            pass
        refused(lambda: near.scq.resize(3), "a queue smaller than what waits")
        refused(lambda: near.scq.resize(1 << 30), "a queue beyond the limit")
        equal(entries(near.scq, 40), list(range(40)), "wr_ids after refused resizes")
    finally:
        near.close()
        far.close()


def unacknowledged(queue, states):
    """RESET to RTS, of UC or UD: attributes, and the mask of each step."""
    for state, (mask, attributes) in zip((e.IBV_QPS_INIT, e.IBV_QPS_RTR, e.IBV_QPS_RTS), states):
        attr = QPAttr(qp_state=state)
        for name, value in attributes.items():
            setattr(attr, name, value)
        queue.qp.modify(attr, e.IBV_QP_STATE | mask)


def uc_connected(queue, peer, address):
    """Have a UC queue pair send to another one."""
    unacknowledged(queue, (
        (e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT | e.IBV_QP_ACCESS_FLAGS,
         {"pkey_index": 0, "port_num": 1, "qp_access_flags": verbs.WRITE}),
        (e.IBV_QP_AV | e.IBV_QP_PATH_MTU | e.IBV_QP_DEST_QPN | e.IBV_QP_RQ_PSN,
         {"path_mtu": e.IBV_MTU_1024, "dest_qp_num": peer.number, "rq_psn": 0,
          "ah_attr": verbs.address(queue.device, address)}),
        (e.IBV_QP_SQ_PSN, {"sq_psn": 0})))


def send_overrun(near, far, post):
    """One completion more than there is room for: two events, and both queues flush."""
    try:
        room = near.scq.cqe
        Bench.near.events()
        for wr_id in range(near.rcq.cqe):
            near.receive([Bench.source.sge(64)], wr_id=wr_id)
        for wr_id in range(room + 1):
            post(near, wr_id)
        equal([Bench.near.event(verbs.PATIENCE) for _ in range(2)],
              [e.IBV_EVENT_CQ_ERR, e.IBV_EVENT_QP_FATAL], "events")
        check(near.in_error(), "the queue pair is not in its error state")
        for wr_id in range(near.rcq.cqe):
            done = near.received()
            equal((done.wr_id, done.status), (wr_id, verbs.FLUSH_ERR), "receive")
        # its completion is lost, too
        post(near, 90)
        equal(entries(near.scq, room), list(range(room)), "wr_ids of what was done before")
        post(near, 91)
        done = near.sent()
        equal((done.wr_id, done.status), (91, verbs.FLUSH_ERR), "posted later")
        near.receive([Bench.source.sge(64)], wr_id=92)
        done = near.received()
        equal((done.wr_id, done.status), (92, verbs.FLUSH_ERR), "posted later")
        equal(Bench.near.events(), [], "more events")
        equal(far.state(), e.IBV_QPS_RTS, "state of the peer")
    finally:
        near.close()
        far.close()


@case("send-cq-overrun")
def send_cq_overrun():
    """RC: the completion of a WRITE that the peer has acknowledged finds no room."""
    near, far = verbs.Queue(Bench.near, cqe=1), verbs.Queue(Bench.far)
    near.connect(far.number, wire.FAR4)
    far.connect(near.number, wire.NEAR4)
    send_overrun(near, far, write)


@case("send-cq-overrun-uc")
def send_cq_overrun_uc():
    """UC: not an error of the request, after which the receive queue would go on."""
    near = verbs.Queue(Bench.near, cqe=1, kind=e.IBV_QPT_UC)
    far = verbs.Queue(Bench.far, kind=e.IBV_QPT_UC)
    uc_connected(near, far, wire.FAR4)
    uc_connected(far, near, wire.NEAR4)
    send_overrun(near, far, write)


def datagrams_ready(queue):
    """RESET to RTS."""
    unacknowledged(queue, (
        (e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT | e.IBV_QP_QKEY,
         {"pkey_index": 0, "port_num": 1, "qkey": QKEY}),
        (0, {}), (e.IBV_QP_SQ_PSN, {"sq_psn": 0})))


def datagram(queue, handle, peer, wr_id):
    """Post a SEND of 64 bytes to a queue pair behind an address handle."""
    request = SendWR(wr_id, opcode=e.IBV_WR_SEND, num_sge=1, sg=[Bench.source.sge(64)],
                     send_flags=e.IBV_SEND_SIGNALED)
    request.set_wr_ud(handle, peer.number, QKEY)
    queue.qp.post_send(request)


@case("send-cq-overrun-ud")
def send_cq_overrun_ud():
    """UD: the same."""
    near = verbs.Queue(Bench.near, cqe=1, kind=e.IBV_QPT_UD)
    far = verbs.Queue(Bench.far, kind=e.IBV_QPT_UD)
    for queue in (near, far):
        datagrams_ready(queue)
    handle = verbs.handle(Bench.near, wire.FAR4)
    try:
        send_overrun(near, far, lambda queue, wr_id: datagram(queue, handle, far, wr_id))
    finally:
        handle.close()


@case("send-cq-overrun-by-an-error")
def send_cq_overrun_by_an_error():
    """The completion that is lost is the one that would have told of an error: then the
    event does. Who flushes a queue pair himself needs none."""
    for lost in (True, False):
        near, far = verbs.Queue(Bench.near, cqe=1), verbs.Queue(Bench.far)
        near.connect(far.number, wire.FAR4)
        far.connect(near.number, wire.NEAR4)
        try:
            room = near.scq.cqe
            Bench.near.events()
            for wr_id in range(room):
                write(near, wr_id)
            if lost:
                near.send(e.IBV_WR_RDMA_WRITE, [Bench.source.sge(64)],
                          remote=Bench.target.address, rkey=Bench.target.rkey ^ 0x5a00)
            else:
                near.qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
                write(near, 90)
            equal(Bench.near.event(verbs.PATIENCE), e.IBV_EVENT_CQ_ERR, "first event")
            equal(Bench.near.event(verbs.PATIENCE if lost else 0.3),
                  e.IBV_EVENT_QP_FATAL if lost else None, "second event")
            check(near.in_error(), "the queue pair is not in its error state")
            equal(Bench.near.events(), [], "more events")
        finally:
            near.close()
            far.close()


def receive_overrun(near, far, send, too_bad, status):
    """The last receive cannot be used, and its completion finds no room."""
    try:
        room = far.rcq.cqe
        Bench.far.events()
        for wr_id in range(room):
            far.receive([Bench.target.sge(1024)], wr_id=wr_id)
        far.receive([too_bad], wr_id=room)
        for wr_id in range(room + 1):
            send(near, wr_id)
        equal([Bench.far.event(verbs.PATIENCE) for _ in range(2)],
              [e.IBV_EVENT_CQ_ERR, e.IBV_EVENT_QP_FATAL], "events")
        check(far.in_error(), "the queue pair is not in its error state")
        for wr_id in range(room + 1):
            done = near.sent()
            equal((done.wr_id, done.status),
                  (wr_id, verbs.SUCCESS if wr_id < room else status), "what was sent")
        equal(entries(far.rcq, room), list(range(room)), "wr_ids of what came before")
        equal(Bench.far.events(), [], "more events")
    finally:
        near.close()
        far.close()


@case("receive-cq-overrun-by-an-error")
def receive_cq_overrun_by_an_error():
    """RC: a receive is too short, and what would tell its owner so is lost: an event does."""
    near, far = verbs.Queue(Bench.near), verbs.Queue(Bench.far, cqe=1)
    near.connect(far.number, wire.FAR4)
    far.connect(near.number, wire.NEAR4)

    def message(queue, wr_id):
        queue.send(e.IBV_WR_SEND, [Bench.source.sge(64)], wr_id=wr_id)

    receive_overrun(near, far, message, Bench.target.sge(32), e.IBV_WC_REM_INV_REQ_ERR)


@case("receive-cq-overrun-by-an-error-ud")
def receive_cq_overrun_by_an_error_ud():
    """UD: memory of a receive is not there; the same. Its sender is told nothing."""
    near = verbs.Queue(Bench.near, kind=e.IBV_QPT_UD)
    far = verbs.Queue(Bench.far, cqe=1, kind=e.IBV_QPT_UD)
    for queue in (near, far):
        datagrams_ready(queue)
    handle = verbs.handle(Bench.near, wire.FAR4)
    nowhere = SGE(Bench.target.address, 1024, Bench.target.rkey ^ 0x5a00)
    try:
        receive_overrun(near, far, lambda queue, wr_id: datagram(queue, handle, far, wr_id),
                        nowhere, verbs.SUCCESS)
    finally:
        handle.close()


def pieces(memory, lengths, start=0):
    """SGEs of these lengths, of which none is next to another, nor are they in order."""
    places = [start + (index * 7 % len(lengths)) * 512 + index for index in range(len(lengths))]
    return places, [memory.sge(length, place) for place, length in zip(places, lengths)]


def placed(data, places, lengths):
    """A memory of zeros with data in pieces."""
    whole = bytearray(1 << 16)
    for place, length in zip(places, lengths):
        whole[place:place + length], data = data[:length], data[length:]
    return bytes(whole)


@case("sges-as-promised")
def sges():
    """SEND, WRITE and READ with as many SGEs as the device says, gathered and scattered."""
    limit = Bench.near.context.query_device().max_sge
    lengths = [1 + index * 53 % 211 for index in range(limit)]
    total, data = sum(lengths), os.urandom(1 << 16)
    near, far = verbs.connected(Bench.near, Bench.far, sges=limit)
    try:
        Bench.source.put(data)
        places, gathered = pieces(Bench.source, lengths)
        sent = b"".join(data[place:place + length] for place, length in zip(places, lengths))
        backwards = lengths[::-1]
        places, scattered = pieces(Bench.target, backwards, 300)
        Bench.target.put(bytes(1 << 16))
        far.receive(scattered)
        near.send(e.IBV_WR_SEND, gathered)
        status_is(near.sent(), verbs.SUCCESS, "the SEND")
        done = far.received()
        equal((done.status, done.byte_len), (verbs.SUCCESS, total), "receive")
        check(Bench.target.get(1 << 16) == placed(sent, places, backwards), "bytes of the SEND")
        Bench.target.put(bytes(1 << 16))
        near.send(e.IBV_WR_RDMA_WRITE, gathered, remote=Bench.target.address + 77,
                  rkey=Bench.target.rkey)
        status_is(near.sent(), verbs.SUCCESS, "the WRITE")
        check(Bench.target.get(1 << 16) == placed(sent, [77], [total]), "bytes of the WRITE")
        places, scattered = pieces(Bench.source, backwards, 300)
        Bench.source.put(bytes(1 << 16))
        near.send(e.IBV_WR_RDMA_READ, scattered, remote=Bench.target.address + 77,
                  rkey=Bench.target.rkey)
        status_is(near.sent(), verbs.SUCCESS, "the READ")
        check(Bench.source.get(1 << 16) == placed(sent, places, backwards), "bytes of the READ")
        more = [Bench.source.sge(1)] * (limit + 1)
        refused(lambda: near.send(e.IBV_WR_SEND, more), "one SGE more in a SEND")
        refused(lambda: far.receive(more), "one SGE more in a receive")
    finally:
        near.close()
        far.close()
    refused(lambda: verbs.Queue(Bench.near, sges=limit + 1), "a queue pair for one SGE more")


@case("reads-as-promised")
def reads():
    """max_rd_atomic and max_dest_rd_atomic as large as the device says, and no larger."""
    attr = Bench.near.context.query_device()
    asked, answered = attr.max_qp_init_rd_atom, attr.max_qp_rd_atom
    queue = verbs.Queue(Bench.near)
    try:
        refused(lambda: queue.connect(1, wire.FAR4, reads=answered + 1), "max_dest_rd_atomic")
        equal(queue.state(), e.IBV_QPS_INIT, "state after that")
        refused(lambda: queue.connect(1, wire.FAR4, reads=answered, outstanding=asked + 1),
                "max_rd_atomic")
        equal(queue.state(), e.IBV_QPS_RTR, "state after that")
    finally:
        queue.close()
    data = os.urandom(asked * 100)
    near, far = verbs.connected(Bench.near, Bench.far, depth=asked, reads=answered,
                                outstanding=asked)
    try:
        Bench.target.put(data)
        Bench.source.put(bytes(len(data)))
        for index in range(asked):
            near.send(e.IBV_WR_RDMA_READ, [Bench.source.sge(100, index * 100)], wr_id=index,
                      remote=Bench.target.address + index * 100, rkey=Bench.target.rkey)
        equal(entries(near.scq, asked), list(range(asked)), "wr_ids")
        check(Bench.source.get(len(data)) == data, "bytes of the READs")
    finally:
        near.close()
        far.close()


class HugeMemory(verbs.Memory):
    """A buffer in huge pages, which need not begin where a huge page begins."""

    def __init__(self, pd, size, skip=0):  # pylint: disable=super-init-not-called
        try:
            self.map = mmap.mmap(-1, 2 * HUGE, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | MAP_HUGETLB)
        except OSError as error:
            raise Skip(f"no huge pages: {error}") from error
        self.base = ctypes.c_char.from_buffer(self.map, skip)
        self.size, self.address = size, ctypes.addressof(self.base)
        self.view = memoryview(self.map)[skip:]
        self.mr = MR(pd, size, verbs.ALL, address=self.address)
        self.lkey, self.rkey = self.mr.lkey, self.mr.rkey


@case("numbers")
def numbers():
    """Numbers of queue pairs and keys of regions tell nothing of the next ones."""
    queues = [verbs.Queue(Bench.far, depth=4, cqe=4) for _ in range(24)]
    regions = [verbs.Memory(Bench.far.pd, 4096) for _ in range(24)]
    for what, drawn in (("queue pair", [queue.number for queue in queues]),
                        ("key", [region.rkey >> 8 for region in regions])):
        steps = [(after - before) % (1 << 24) for before, after in zip(drawn, drawn[1:])]
        check(len(set(steps)) == len(steps), f"{what} numbers go by steps: {drawn}")
        near = [step for step in steps if min(step, (1 << 24) - step) < 16]
        check(not near, f"{what} numbers are next to each other: {drawn}")
    check(len({region.rkey & 0xff for region in regions}) > 8, "variants of keys are alike")
    for thing in queues + regions:
        thing.close()


@case("huge-pages")
def huge_pages():
    """Registered huge pages: WRITE and READ across their border, every byte."""
    with open("/proc/sys/vm/nr_hugepages", "r+", encoding="ascii") as file:
        file.write("8")
    near, far = verbs.connected(Bench.near, Bench.far, mtu=4096)
    memory = []
    try:
        size = HUGE + 12345
        source = HugeMemory(Bench.near.pd, size, 4097)
        memory.append(source)
        target = HugeMemory(Bench.far.pd, size, 777)
        memory.append(target)
        data = os.urandom(size)
        source.put(data)
        near.send(e.IBV_WR_RDMA_WRITE, [source.sge(size)], remote=target.address, rkey=target.rkey)
        status_is(near.sent(), verbs.SUCCESS, "the WRITE")
        check(target.get(size) == data, "the WRITE has put other bytes there")
        source.put(bytes(size))
        near.send(e.IBV_WR_RDMA_READ, [source.sge(size)], remote=target.address, rkey=target.rkey)
        status_is(near.sent(), verbs.SUCCESS, "the READ")
        check(source.get(size) == data, "the READ has brought other bytes")
        near.send(e.IBV_WR_RDMA_WRITE, [source.sge(2)], remote=target.address + size - 1,
                  rkey=target.rkey)
        status_is(near.sent(), verbs.REM_ACCESS_ERR, "a WRITE beyond the end")
    finally:
        near.close()
        far.close()
        for one in memory:
            one.close()


if __name__ == "__main__":
    main("objects", Bench.setup)
