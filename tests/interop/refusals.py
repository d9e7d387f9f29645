#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What cannot be done, asked of the other driver: both ends look at what follows.

    refusals.py GUEST RESPONDER PORT [SERVER]

GUEST is 1 or 2, whose addresses are known; with SERVER this end asks, without it answers.
RESPONDER is the release of the kernel whose in-tree driver answers, or "ours". The end that
asks prints "ok NAME" or "not ok NAME: why" for each row and address family; status 0 says
that both came to their end.
"""

import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))

# pylint: disable=wrong-import-position # they are next door
import pyverbs.enums as e

import verbs
from harness import Failure

SIZE, MTU = 1 << 14, 1024
GOOD = bytes(range(64))
PSN = 0xfffffe
# The requester's timer, 4 s: whatever is answered is known before it would send again.
ANSWERED, SOON = {"timeout": 20}, 4.0
# The same where nothing is
SILENT = {"timeout": 14, "retry": 2}
GOOD_ID, BAD_ID, LATER_ID = 1, 2, 3
NAMES = {verbs.SUCCESS: "success", verbs.LOC_LEN_ERR: "LOC_LEN_ERR", 2: "LOC_QP_OP_ERR",
         verbs.LOC_PROT_ERR: "LOC_PROT_ERR", verbs.FLUSH_ERR: "WR_FLUSH_ERR",
         verbs.REM_INV_REQ_ERR: "REM_INV_REQ_ERR", verbs.REM_ACCESS_ERR: "REM_ACCESS_ERR",
         verbs.REM_OP_ERR: "REM_OP_ERR", verbs.RETRY_EXC_ERR: "RETRY_EXC_ERR",
         verbs.RNR_RETRY_EXC_ERR: "RNR_RETRY_EXC_ERR"}


def wrong_key(opcode):
    """A READ or WRITE with a key that nobody gave out."""
    return lambda queue, memory, theirs: queue.send(
        opcode, [memory.sge(64)], remote=theirs["address"] + SIZE // 2,
        rkey=theirs["rkey"] ^ 0x100, wr_id=BAD_ID)


def send(length):
    """A SEND."""
    return lambda queue, memory, theirs: queue.send(
        e.IBV_WR_SEND, [memory.sge(length)], wr_id=BAD_ID)


class Row:
    """A request, and what must come of it.

    status: of the request; receive: of the receive that is posted (64 bytes), if one is;
    state: of the responder's queue pair afterwards, which is destroyed beforehand if "gone".
    """

    def __init__(self, name, ask, status, receive=None, state="error", **options):
        self.name, self.ask = name, ask
        self.receive, self.state = receive, state
        self.wanted = {"status": status, "receive": receive or "none", "state": state,
                       "later": "WR_FLUSH_ERR", "memory": "as it was"}
        self.options = {"mtu": MTU, "rq_psn": PSN, "sq_psn": PSN, **options}


ROWS = [
    Row("read-key", wrong_key(e.IBV_WR_RDMA_READ), "REM_ACCESS_ERR"),
    Row("write-key", wrong_key(e.IBV_WR_RDMA_WRITE), "REM_ACCESS_ERR"),
    Row("send-too-long", send(2 * MTU), "REM_INV_REQ_ERR", receive="LOC_LEN_ERR"),
    Row("no-receive", send(64), "RNR_RETRY_EXC_ERR", state="alive", rnr_retry=1, rnr_timer=12),
    Row("peer-gone", send(64), "RETRY_EXC_ERR", state="gone"),
]


# What an in-tree responder is known to do instead, by release: that exactly. It says the
# same in tests/wire/in-tree.md.
ACCEPTED = {
    # Its queue pair is in error and says nothing, as no receive was in use.
    ("read-key", "5.10"): {"status": "RETRY_EXC_ERR"},
    ("write-key", "5.10"): {"status": "RETRY_EXC_ERR"},
    # The buffer is too small, and it takes that for a bad work request of its own.
    **{("send-too-long", release): {"status": "REM_OP_ERR", "receive": "LOC_QP_OP_ERR"}
       for release in ("5.10", "6.1", "6.12", "7")},
}
# And what one does that asks: what is posted later is not flushed.
ACCEPTED_ASKING = {("peer-gone", "5.10"): {"later": "no completion"}}


def out_of_tree():
    """Is this end's driver ours?"""
    with open("/sys/module/rdma_rxe/taint", encoding="ascii") as taint:
        return "O" in taint.read()


def wanted_of(row, responder):
    """What must come of a row, or what is accepted of that responder, or of who asks it."""
    accepted, driver = ACCEPTED, responder
    if not out_of_tree():
        accepted, driver = ACCEPTED_ASKING, os.uname().release
    for (name, release), other in accepted.items():
        if row.name == name and f"{driver}.".startswith(f"{release}."):
            return {**row.wanted, **other}
    return row.wanted


class Line:
    """What the two say to each other, a line of JSON each."""

    def __init__(self, connection):
        # A file for both would forget what it has read ahead with each line it writes.
        self.connection, self.heard = connection, connection.makefile("r")

    def exchange(self, said=None):
        """Say something, hear something; with nothing to say: both have come to here."""
        self.connection.sendall(json.dumps(said).encode() + b"\n")
        heard = self.heard.readline()
        if not heard:
            raise Failure("the other end has gone")
        return json.loads(heard)


def dial(port, server):
    """The line, a TCP connection; the server may start later."""
    if server is None:
        with socket.create_server(("", port)) as listening:
            return listening.accept()[0]
    end = time.monotonic() + verbs.PATIENCE * 2
    while True:
        try:
            return socket.create_connection((server, port))
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


class Connection:
    """A queue pair here and one at the other end, over which one message went well."""

    def __init__(self, row, end, line, wanted):
        self.row, self.end, self.line, self.wanted = row, end, line, wanted
        self.silent = row.wanted["status"] == "RETRY_EXC_ERR" or wanted["status"] == "RETRY_EXC_ERR"
        self.queue = verbs.Queue(end.device)
        self.memory = end.memory
        self.memory.put(bytes(SIZE))
        self.theirs = line.exchange({"qpn": self.queue.number, "address": self.memory.address,
                                     "rkey": self.memory.rkey})
        self.queue.connect(self.theirs["qpn"], end.peer, **row.options,
                           **(SILENT if self.silent else ANSWERED))

    def receive(self):
        """Post one, of 64 bytes."""
        self.queue.receive([self.memory.sge(64)], wr_id=GOOD_ID)

    def answer(self):
        """The end that is asked; tells the other what it saw."""
        self.receive()
        self.line.exchange()
        good = NAMES.get(self.queue.received("good message").status)
        if self.memory.get(64) != GOOD:
            good = "wrong data"
        before = self.memory.get(SIZE)
        if self.row.receive:
            self.receive()
        if self.row.state == "gone":
            self.queue.close()
        self.line.exchange(good)
        self.line.exchange()  # and has been refused
        seen = {"receive": "none", "state": "gone", "memory": "as it was"}
        if self.row.state != "gone":
            seen["state"] = "error" if self.queue.in_error() else "alive"
            count, found = self.queue.rcq.poll(1)
            if count:
                seen["receive"] = NAMES.get(found[0].status, str(found[0].status))
        # but for the buffer of the receive
        if self.memory.get(SIZE - 64, 64) != before[64:]:
            seen["memory"] = "written to"
        self.line.exchange(seen)
        if self.row.state != "gone":
            self.queue.close()

    def status(self, wr_id):
        """Of the next send completion, which must be of that request."""
        found = self.queue.sent("completion")
        if found.wr_id != wr_id:
            raise Failure(f"a completion of request {found.wr_id} instead of {wr_id}")
        return NAMES.get(found.status, str(found.status))

    def ask(self):
        """The end that asks: what is wrong with what both saw."""
        seen, why = {"status": "no completion", "later": "no completion"}, []
        self.memory.put(GOOD)
        self.line.exchange()
        self.queue.send(e.IBV_WR_SEND, [self.memory.sge(64)], wr_id=GOOD_ID)
        good = [self.status(GOOD_ID), self.line.exchange()]
        if good != ["success", "success"]:
            why.append(f"the good message: {good}")
        start = time.monotonic()
        self.row.ask(self.queue, self.memory, self.theirs)
        try:
            seen["status"] = self.status(BAD_ID)
            took = time.monotonic() - start
            if took > SOON and not self.silent:
                why.append(f"refused after {took:.1f} s")
            self.queue.send(e.IBV_WR_SEND, [self.memory.sge(64)], wr_id=LATER_ID)
            seen["later"] = self.status(LATER_ID)
        except Failure as failure:
            if "no completion" not in str(failure):
                why.append(str(failure))
        self.line.exchange()
        seen.update(self.line.exchange())
        self.queue.close()
        why += [f"{key}: {seen[key]} instead of {value}"
                for key, value in self.wanted.items() if seen.get(key, value) != value]
        return why


class End:
    """This end's device and memory, for one address family."""

    def __init__(self, family, guest):
        prefix = {"v4": "10.77.0.", "v6": "fd77::"}[family]
        self.family, self.peer = family, f"{prefix}{3 - guest}"
        self.device = verbs.Device("rxe0", f"{prefix}{guest}")
        self.memory = verbs.Memory(self.device.pd, SIZE)


def main(arguments):
    """All rows, over both families."""
    guest, responder, port = int(arguments[0]), arguments[1], int(arguments[2])
    server = arguments[3] if len(arguments) > 3 else None
    ends = [End(family, guest) for family in ("v4", "v6")]
    line = Line(dial(port, server))
    for end in ends:
        for row in ROWS:
            connection = Connection(row, end, line, wanted_of(row, responder))
            if server is None:
                connection.answer()
                continue
            why = connection.ask()
            name = f"errors-{end.family}-{row.name}"
            print(f"not ok {name}: {', '.join(why)}" if why else f"ok {name}", flush=True)
    line.exchange()


if __name__ == "__main__":
    main(sys.argv[1:])
