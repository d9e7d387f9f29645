# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Cases, their verdicts, and the kernel log as a part of each verdict.

A file of cases registers functions with @case and ends in main(). For each
case one line is printed:

    ok GROUP/NAME (seconds)
    not ok GROUP/NAME - reason
    skip GROUP/NAME - reason

Names on the command line select cases: a GROUP, a GROUP/NAME, or nothing for
all. A line "begin GROUP" and a line "end GROUP" show whoever reads the output
that the program came to its end.
"""

import os
import re
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
SPLATS = os.path.join(HERE, "..", "vm", "splats")


class Failure(AssertionError):
    """What was seen is not what must be."""


class Skip(Exception):
    """The case cannot run here; the text says why."""


def check(condition, text):
    """Fail the case unless the condition holds."""
    if not condition:
        raise Failure(text)


def equal(seen, wanted, what):
    """Fail the case unless both are equal; the text shows both."""
    if seen != wanted:
        raise Failure(f"{what}: {show(seen)} instead of {show(wanted)}")


def show(value):
    """Values as people read them: bytes in hex, and not too many."""
    if isinstance(value, (bytes, bytearray)):
        text = bytes(value).hex()
        return f"{len(value)} bytes {text[:160]}{'...' if len(text) > 160 else ''}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:#x}" if value > 9 else str(value)
    return str(value)


class KernelLog:
    """Lines that the kernel log gained, and which of them are splats."""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDWR | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)
        with open(SPLATS, encoding="utf-8") as file:
            patterns = [line.rstrip("\n") for line in file if line.strip()]
        self.splat = re.compile("|".join(patterns))

    def mark(self, text):
        """Leave a line in the log, for who reads it later."""
        os.write(self.fd, f"rxe-test: {text}\n".encode())

    def news(self):
        """All lines since the last call."""
        lines = []
        while True:
            try:
                record = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return lines
            except BrokenPipeError:
                continue  # overwritten before we read it
            lines.append(record.split(";", 1)[-1].split("\n", 1)[0])

    def splats(self):
        """Splats since the last call."""
        return [line for line in self.news()
                if "rxe-test: " not in line and self.splat.search(line)]


CASES = []


def case(name):
    """Register a function under a name; the docstring says what must happen."""
    # of who calls this: a functools.partial() says it is of another module
    module = sys._getframe(1).f_globals["__name__"]  # pylint: disable=protected-access

    def register(function):
        CASES.append((name, function, module))
        return function
    return register


def seconds(since):
    """Time since then, for people."""
    return f"{time.monotonic() - since:.1f} s"


def run_one(full, function, log):
    """Run a case; returns the line that says how it went."""
    start = time.monotonic()
    try:
        log.news()
        log.mark(f"wire {full}")
        function()
        splats = log.splats()
        check(not splats, f"kernel log: {'; '.join(splats[:2])}")
    except Skip as why:
        return f"skip {full} - {why}"
    except Failure as why:
        traceback.print_exc()
        return f"not ok {full} - {why}"
    except Exception as why:  # any error of a case is its failure
        traceback.print_exc()
        return f"not ok {full} - {type(why).__name__}: {why}"
    return f"ok {full} ({seconds(start)})"


def main(group, setup=None):
    """Run the selected cases of a group."""
    wanted = sys.argv[1:]
    log = KernelLog()
    print(f"begin {group}", flush=True)
    if setup:
        setup()
    for name, function, module in CASES:
        # who imports from another group has its cases in the list, too
        if module != "__main__":
            continue
        full = f"{group}/{name}"
        if not wanted or group in wanted or full in wanted:
            print(run_one(full, function, log), flush=True)
    print(f"end {group}", flush=True)
