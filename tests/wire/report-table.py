#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two outputs of report.py -> a Markdown table, and a verdict on each row of ours.

    report-table.py KERNEL OURS IN_TREE MARKDOWN
"""

import json
import sys

HEAD = """<!-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB -->
# Responder errors: what the in-tree driver answers

Made by `tests/wire/run --in-tree` on Linux {kernel}: the packets of `errors.py`, and some
of `crafted.py`, sent to a queue pair of this driver and to one of the kernel's own
`rdma_rxe`. "Specification" is table 63 of IBTA volume 1 (9.9), with what
follows from each row for the responder: the answer on the wire; the state of the queue
pair; the status of the receive in use, if there is one; asynchronous events, if there is
none. This driver answers every row so, byte for byte (`tests/run wire errors`); of the
in-tree one only what is different is written down.

| request | specification, and this driver | in-tree |
|---|---|---|
"""


def load(path):
    """Rows in order."""
    with open(path, encoding="ascii") as file:
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
    if not all(found.get("psn", [])):
        wrong.append("psn")
    if "later" in found and found["later"] != ["flushed", "flushed"]:
        wrong.append("later")
    return wrong


def main():
    """The table goes to the file, verdicts to the terminal."""
    kernel, ours, theirs, output = sys.argv[1:]
    rows, others = load(ours), load(theirs)
    table, same = "", 0
    for number, line in enumerate(rows):
        wanted, found = line["wanted"], line["seen"]
        wrong = differences(wanted, found)
        print(f"not ok {line['row']}: {', '.join(f'{k}: {found.get(k)}' for k in wrong)}"
              if wrong else f"ok {line['row']}")
        other = others[number]["seen"] if number < len(others) else None
        if other is None:
            cell = "not reached: the kernel went down before"
        elif not differences(wanted, other):
            cell, same = "the same", same + 1
        else:
            reference = dict(wanted, later=["flushed", "flushed"])
            cell = text(other, reference)
            if not all(other.get("psn", [])):
                cell = "; ".join(filter(None, (cell, "with another PSN")))
        table += f"| {line['row']} | {text(wanted)} | {cell} |\n"
    with open(output, "w", encoding="utf-8") as file:
        file.write(HEAD.format(kernel=kernel) + table)
        file.write(f"\nOf {len(rows)} rows the in-tree driver answers {same} as the specification "
                   "has it.\n")


if __name__ == "__main__":
    main()
