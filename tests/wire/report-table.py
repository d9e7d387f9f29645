#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Outputs of report.py -> a Markdown table, and a verdict on each row of ours.

    report-table.py MARKDOWN NAME VERSION DIR [NAME VERSION DIR]...

DIR has two outputs of one kernel, of this driver ("ours") and of the in-tree one.
"""

import json
import os
import sys

HEAD = """<!-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB -->
# Responder errors: what the in-tree drivers answer

Made by `tests/run wire --in-tree` ({command}), which
boots a guest of each kernel and sends the packets of `errors.py`, and some of other files,
to a queue pair of this driver, and then to one of the kernel's own `rdma_rxe`. The kernels:
{versions}.

"Specification" is table 63 of IBTA volume 1 (9.9), with what follows from each row for the
responder: the answer on the wire; the state of the queue pair; the status of the receive in
use, if there is one; asynchronous events, if there is none; the PSN and MSN of answers. This
driver answers every row so on each of the kernels (`tests/run wire` compares byte for byte); of
the in-tree ones only what is different is written down.

"""


def load(directory, name):
    """Rows in order."""
    with open(os.path.join(directory, name), encoding="ascii") as file:
        return [json.loads(line) for line in file]


def text(found, other=None):
    """What was seen; with another, only where both differ."""
    parts = []
    for key, form in (("answer", "{}"), ("state", "then {}"), ("receive", "receive: {}"),
                      ("events", "events: {}"), ("later", "posted later: {}")):
        if key not in found or (other is not None and other.get(key) == found[key]):
            continue
        value = found[key]
        if isinstance(value, list):
            value = ", ".join(value) or "none"
        parts.append(form.format(value))
    return "; ".join(parts)


def differences(wanted, found):
    """Keys of what is not as it must be."""
    wrong = [key for key, value in wanted.items() if found.get(key) != value]
    wrong += [key for key in ("psn", "msn") if not all(found.get(key, []))]
    if "later" in found and found["later"] != ["flushed", "flushed"]:
        wrong.append("later")
    return wrong


class Kernel:
    """What its two drivers said, by row."""

    def __init__(self, name, version, directory):
        self.name, self.version = name, version
        self.ours = load(directory, "ours")
        self.theirs = {line["row"]: line["seen"] for line in load(directory, "in-tree")}
        self.same = 0

    def verdicts(self, rows):
        """Lines about this driver, on this kernel."""
        seen = {line["row"]: line["seen"] for line in self.ours}
        for row, wanted in rows.items():
            found = seen.get(row)
            wrong = differences(wanted, found) if found else ["row"]
            yield (f"not ok {self.name}/{row}: "
                   + ", ".join(f"{key}: {(found or {}).get(key)}" for key in wrong)
                   if wrong else f"ok {self.name}/{row}")

    def cell(self, row, wanted):
        """What the in-tree driver did otherwise."""
        other = self.theirs.get(row)
        if other is None:
            return "not reached: the kernel went down before"
        if not differences(wanted, other):
            self.same += 1
            return "the same"
        found = text(other, dict(wanted, later=["flushed", "flushed"]))
        for key in ("psn", "msn"):
            if not all(other.get(key, [])):
                found = "; ".join(filter(None, (found, f"with another {key.upper()}")))
        return found


def main():
    """The table goes to the file, verdicts to the terminal."""
    output, rest = sys.argv[1], sys.argv[2:]
    kernels = [Kernel(*rest[i:i + 3]) for i in range(0, len(rest), 3)]
    rows = {line["row"]: line["wanted"] for line in max((k.ours for k in kernels), key=len)}
    for kernel in kernels:
        print("\n".join(kernel.verdicts(rows)))
    lines = ["| request | specification, and this driver | "
             + " | ".join(f"in-tree {kernel.name}" for kernel in kernels) + " |",
             "|---" * (2 + len(kernels)) + "|"]
    for row, wanted in rows.items():
        cells = [row, text(wanted)] + [kernel.cell(row, wanted) for kernel in kernels]
        lines.append(f"| {' | '.join(cells)} |")
    same = " and ".join(", ".join(f"{kernel.same} ({kernel.name})" for kernel in kernels)
                        .rsplit(", ", 1))
    with open(output, "w", encoding="utf-8") as file:
        file.write(HEAD.format(command=f'`KERNEL="{" ".join(k.name for k in kernels)}"`',
                               versions=", ".join(kernel.version for kernel in kernels)))
        file.write("\n".join(lines))
        file.write(f"\n\nOf {len(rows)} rows the in-tree driver answers {same} as the "
                   "specification has it.\n")


if __name__ == "__main__":
    main()
