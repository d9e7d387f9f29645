#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a driver answers to each row of the table of responder errors (errors.py).

    report.py OUTPUT     one JSON object a line: row, and what was seen

Nothing is judged here and nothing is taken for granted: the driver that is loaded may
be another one. tests/wire/report makes a table of it.
"""

import json
import sys
import time

import pyverbs.enums as e
from pyverbs.qp import QPAttr

import errors
import roce
import verbs
from errors import ACCESS, FULL, OVERRUN, REQUEST, Narrow, reth, send
from harness import Failure
from stranger import DATA, FIRST, SIZE, Far, Stranger

# How long an answer may take, and what follows from it
PATIENCE, AFTERWARDS = 3.0, 0.5
NAK_NAMES = {roce.NAK_SEQUENCE: "sequence", roce.NAK_INVALID: "invalid request",
             roce.NAK_ACCESS: "remote access", roce.NAK_OPERATION: "remote operation"}
STATUS = {verbs.SUCCESS: "success", verbs.LOC_LEN_ERR: "local length", 2: "local QP operation",
          verbs.LOC_PROT_ERR: "local protection", verbs.FLUSH_ERR: "flushed",
          verbs.REM_INV_REQ_ERR: "invalid request", verbs.REM_ACCESS_ERR: "remote access",
          verbs.REM_OP_ERR: "remote operation"}
ANSWERS = {roce.RESP_ONLY: "READ response", roce.ATOMIC_ACK: "atomic answer"}
EVENT = {e.IBV_EVENT_QP_REQ_ERR: "QP_REQ_ERR", e.IBV_EVENT_QP_ACCESS_ERR: "QP_ACCESS_ERR",
         e.IBV_EVENT_QP_FATAL: "QP_FATAL", e.IBV_EVENT_CQ_ERR: "CQ_ERR"}


class Extra:
    """A row that is tested in a case of its own; instead of a syndrome an answer in words."""

    def __init__(self, text, syndrome, ask, receive=None, events=(), alive=False, options=None):
        self.text, self.syndrome, self.ask = text, syndrome, ask
        self.receive, self.events, self.alive = receive, list(events), alive
        self.options = options or {}


def local_fault(test):
    """A receive with a wrong key, and a SEND for it."""
    test.queue.receive([test.memory.sge(64, lkey=test.memory.lkey ^ 0x100)], wr_id=40)
    test.send(roce.SEND_ONLY, b"", b"abcd")


def overrun(test):
    """More SENDs than the completion queue has room for."""
    room = test.queue.rcq.cqe
    for index in range(room + 1):
        test.receive(64, wr_id=index)
    for index in range(room + 1):
        if index:
            test.step()
        test.send(roce.SEND_ONLY, b"", b"abcd", ackreq=True)
        if index < room and not test.next(PATIENCE):
            raise Failure(f"SEND {index} of {room + 1} is not answered")


def answered(test, opcode, extended=b"", payload=b"", messages=0, **fields):
    """A packet that is as it must be; it has an answer, and so many messages are complete."""
    test.send(opcode, extended, payload, ackreq=True, **fields)
    if not test.next(PATIENCE):
        raise Failure(f"opcode {opcode:#x} is not answered")
    test.msn += messages


def twice(opcode, extended=lambda test: b"", payload=b""):
    """A request that is executed, and comes again, with the same PSN."""
    def ask(test):
        if opcode == roce.SEND_ONLY:
            test.receive(64, wr_id=40)
            test.receive(64, wr_id=41)
        answered(test, opcode, extended(test), payload, messages=1)
        test.send(opcode, extended(test), payload, ackreq=True)
    return ask


def key_gone(test):
    """A WRITE of two packets; the region goes in between."""
    memory = verbs.Memory(test.device.pd, 4096)
    header = roce.reth(memory.address, memory.rkey, 2 * len(FULL))
    answered(test, roce.WRITE_FIRST, header, FULL)
    memory.close()
    test.step(messages=0)
    test.send(roce.WRITE_LAST, b"", FULL)


def end_without_receive(test):
    """A WRITE of two packets, with immediate data, and no receive for it."""
    answered(test, roce.WRITE_FIRST, test.reth(2 * len(FULL)), FULL)
    test.step(messages=0)
    test.send(roce.WRITE_LAST_IMM, b"\1\2\3\4", FULL, ackreq=True)


def in_error(test):
    """A queue pair that has been put into its error state."""
    test.queue.qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
    test.write(b"abcd", 8, ackreq=True)


def to_nobody(test):
    """A SEND that nothing is ready for."""
    test.send(roce.SEND_ONLY, b"", b"abcd", ackreq=True)


EXTRA = [
    Extra("receive buffer with a wrong lkey", roce.NAK_OPERATION, local_fault,
          receive=verbs.LOC_PROT_ERR),
    Extra("no room in the completion queue", roce.NAK_OPERATION, overrun, events=OVERRUN,
          options={"queue": Narrow}),
    Extra("no receive posted", roce.RNR | 9, to_nobody, alive=True, options={"rnr_timer": 9}),
    Extra("WRITE Last with immediate data, no receive posted", roce.RNR | 9, end_without_receive,
          alive=True, options={"rnr_timer": 9}),
    Extra("a PSN is missing", roce.NAK_SEQUENCE,
          lambda test: test.write(b"later", 8, psn=roce.psn_add(test.psn, 1), ackreq=True),
          alive=True),
    Extra("a duplicate atomic of which nothing is saved", None,
          lambda test: test.send(roce.FETCH_ADD, test.atmeth(1), psn=roce.psn_add(FIRST, -9)),
          alive=True),
    Extra("a duplicate SEND", "ACK", twice(roce.SEND_ONLY, payload=b"abcd"), alive=True),
    Extra("a duplicate WRITE", "ACK", twice(roce.WRITE_ONLY, lambda test: test.reth(4), b"abcd"),
          alive=True),
    Extra("a duplicate READ", "READ response", twice(roce.READ_REQUEST, lambda test: test.reth(8)),
          alive=True),
    Extra("a duplicate FETCH ADD", "atomic answer",
          twice(roce.FETCH_ADD, lambda test: test.atmeth(1)), alive=True),
    Extra("SEND to a queue pair in RESET", None, to_nobody, alive=True,
          options={"state": "RESET"}),
    Extra("SEND to a queue pair in INIT", None, to_nobody, alive=True, options={"state": "INIT"}),
    Extra("WRITE to a queue pair in its error state", None, in_error),
    Extra("WRITE of a region that goes in the middle of it", roce.NAK_ACCESS, key_gone,
          events=ACCESS),
    Extra("ATOMIC WRITE on an address that 8 does not divide", roce.NAK_INVALID,
          reth(roce.ATOMIC_WRITE, 8, DATA[:8], 4), events=REQUEST),
    Extra("FLUSH where the queue pair permits none", roce.NAK_INVALID,
          lambda test: test.send(roce.FLUSH, roce.feth(1) + test.reth(64)), events=REQUEST),
    Extra("SEND of one packet longer than the path MTU", roce.NAK_INVALID,
          send(roce.SEND_ONLY, b"", FULL + b"more"), events=REQUEST),
    Extra("WRITE of one packet, longer than its RETH says", roce.NAK_INVALID,
          reth(roce.WRITE_ONLY, 4, DATA[:8]), events=REQUEST),
    Extra("WRITE of more than 2 GiB", roce.NAK_INVALID,
          reth(roce.WRITE_FIRST, (1 << 31) + 1, FULL), events=REQUEST),
    Extra("WRITE to an address that wraps", roce.NAK_ACCESS,
          lambda test: test.send(roce.WRITE_ONLY, roce.reth((1 << 64) - 4, test.memory.rkey, 8),
                                 DATA[:8]), events=ACCESS),
    Extra("atomic behind the end of the region", roce.NAK_ACCESS,
          lambda test: test.send(roce.FETCH_ADD, test.atmeth(1, 0, SIZE)), events=ACCESS),
]


def name_of(packet):
    """An answer in words."""
    if packet.opcode != roce.ACK:
        text = ANSWERS.get(packet.opcode, f"opcode {packet.opcode:#04x}")
    elif packet.syndrome in NAK_NAMES:
        text = f"NAK {packet.syndrome:#x} {NAK_NAMES[packet.syndrome]}"
    elif packet.syndrome & 0x60 == roce.RNR:
        text = f"RNR NAK, timer {packet.syndrome & 0x1f}"
    else:
        text = "ACK" if packet.syndrome < 0x20 else f"syndrome {packet.syndrome:#x}"
    wrong = packet.problems()
    return text + (f" ({', '.join(wrong)})" if wrong else "")


def answers(test):
    """What the device says until it is silent."""
    found, packet = [], test.next(PATIENCE)
    while packet and len(found) < 4:
        found.append(packet)
        packet = test.next(AFTERWARDS)
    return found


def polled(*queues):
    """Statuses of the completions of each queue; one is waited for."""
    end, complete = time.monotonic() + PATIENCE, False
    found = [[] for _ in queues]
    while time.monotonic() < end:
        for queue, statuses in zip(queues, found):
            count, wcs = queue.poll(1)
            statuses += [STATUS.get(wc.status, str(wc.status)) for wc in wcs[:count]]
        if all(found) and not complete:
            end, complete = time.monotonic() + AFTERWARDS, True
    return sum(found, [])


def seen(row):
    """One row: what happens."""
    with Stranger(**row.options) as test:
        test.device.events()
        row.ask(test)
        found = answers(test)
        result = {"answer": "; ".join(name_of(p) for p in found) or "silence"}
        result["psn"] = [p.psn == test.psn for p in found]
        result["msn"] = [p.msn == test.msn for p in found if "aeth" in p.extended]
        result["state"] = "error" if test.queue.in_error() else "alive"
        # what a queue that overran holds says nothing
        if row.receive is not None:
            result["receive"] = (polled(test.queue.rcq) or ["none"])[0]
        result["events"] = sorted(EVENT.get(kind, str(kind)) for kind in test.device.events())
        if result["state"] == "error" and not row.options.get("queue"):
            test.receive(64, wr_id=50)
            test.queue.send(e.IBV_WR_SEND, [test.memory.sge(64)], wr_id=51)
            result["later"] = polled(test.queue.rcq, test.queue.scq)
    return result


def wanted(row):
    """The same, as the specification has it."""
    alive = getattr(row, "alive", False)
    result = {"state": "alive" if alive else "error",
              "events": sorted(EVENT[kind] for kind in row.events)}
    if row.syndrome is None:
        result["answer"] = "silence"
    elif isinstance(row.syndrome, str):
        result["answer"] = row.syndrome
    elif row.syndrome in NAK_NAMES:
        result["answer"] = f"NAK {row.syndrome:#x} {NAK_NAMES[row.syndrome]}"
    else:
        result["answer"] = f"RNR NAK, timer {row.syndrome & 0x1f}"
    if row.receive is not None:
        result["receive"] = STATUS[row.receive]
    return result


def main():
    """All rows."""
    Far.setup()
    with open(sys.argv[1], "w", encoding="ascii") as output:
        for row in errors.ROWS + EXTRA:
            line = {"row": row.text, "wanted": wanted(row)}
            try:
                line["seen"] = seen(row)
            except Exception as why:  # of another driver everything is possible
                line["seen"] = {"answer": f"{type(why).__name__}: {why}"}
            print(json.dumps(line), file=output, flush=True)


if __name__ == "__main__":
    main()
