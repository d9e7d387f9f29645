#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What ends.c says on one machine to another: is it right on the wire?

    wire.py NAME FILE.pcap LOG...

Every frame is looked at as tests/wire/capture.py does. What ends.c puts into immediate
data, RETH, DETH and AtomicETH is there, most significant byte first, from both machines.
The LOGs are what the programs said of their memory.
"""

import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
import capture  # noqa: E402 pylint: disable=wrong-import-position
import roce  # noqa: E402 pylint: disable=wrong-import-position

UD_SEND_ONLY, UD_SEND_ONLY_IMM = 0x64, 0x65
roce.EXTENDED["deth"] = 8
roce.HEADERS.update({UD_SEND_ONLY: ["deth"], UD_SEND_ONLY_IMM: ["deth", "imm"]})
roce.KNOWN |= {UD_SEND_ONLY, UD_SEND_ONLY_IMM}
# SEND and WRITE over UC: the same but for the transport
for rc in range(roce.WRITE_ONLY_IMM + 1):
    roce.KNOWN.add(roce.UC | rc)
    roce.HEADERS[roce.UC | rc] = roce.HEADERS.get(rc, [])

SENDS = {roce.SEND_LAST_IMM, roce.SEND_ONLY_IMM}
WRITES = {roce.WRITE_LAST_IMM, roce.WRITE_ONLY_IMM}
UC_SENDS = {roce.UC | one for one in SENDS}
UC_WRITES = {roce.UC | one for one in WRITES}
WANTED = SENDS | WRITES | UC_SENDS | UC_WRITES | {
    roce.SEND_FIRST, roce.SEND_MIDDLE, roce.WRITE_FIRST, roce.WRITE_MIDDLE, roce.READ_REQUEST,
    roce.RESP_FIRST, roce.RESP_MIDDLE, roce.RESP_LAST, roce.RESP_ONLY, roce.ACK,
    roce.ATOMIC_ACK, roce.CMP_SWAP, roce.FETCH_ADD, UD_SEND_ONLY_IMM}

# As in ends.c
IMMEDIATE, LENGTHS = 0x01020300, 13
INITIAL, SWAPPED, ADDED = 0x0123456789abcdef, 0xfedcba9876543210, 0x00000000f0000001
Q_KEY = 0x11223344

# What wireshark takes an empty datagram and a last byte of 0x60 for
GUESSES = ["--disable-protocol", "infiniband.eoib", "--disable-protocol", "lapbether"]


def memories(logs):
    """(address, key, length) of what programs let others use."""
    found = set()
    for path in logs:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                match = re.fullmatch(r"memory (0x\w+) rkey (0x\w+) length (\d+)\n", line)
                if match:
                    found.add((int(match[1], 16), int(match[2], 16), int(match[3])))
    return found


def inside(known, address, key, length):
    """Is that in the memory of a program?"""
    return any(key == rkey and start <= address and address + length <= start + size
               for start, rkey, size in known)


def values(packets, opcodes, header, form):
    """What the headers of one kind say."""
    return {struct.unpack(form, p.extended[header]) for p in packets if p.opcode in opcodes}


def headers(packets, known):
    """The headers that one machine has sent."""
    wrong = []

    def same(what, seen, wanted):
        if seen != wanted:
            text = [" ".join(f"{v:#x}" for v in one) for one in sorted(seen ^ wanted)]
            wrong.append(f"{what}: too much or missing: {', '.join(text[:5])}")

    for transport, sends, writes in (("RC", SENDS, WRITES), ("UC", UC_SENDS, UC_WRITES)):
        same(f"immediate data of SEND over {transport}", values(packets, sends, "imm", ">I"),
             {(IMMEDIATE + 2 * i,) for i in range(LENGTHS)})
        same(f"immediate data of WRITE over {transport}", values(packets, writes, "imm", ">I"),
             {(IMMEDIATE + 2 * i + 1,) for i in range(LENGTHS)})
    # those that one packet takes
    same("immediate data of datagrams", values(packets, {UD_SEND_ONLY_IMM}, "imm", ">I"),
         {(IMMEDIATE + 100 + i,) for i in range(LENGTHS - 3)})
    same("Q_Key", {(q,) for q, _ in values(packets, {UD_SEND_ONLY_IMM}, "deth", ">II")},
         {(Q_KEY,)})
    same("compare and swap",
         {v[2:] for v in values(packets, {roce.CMP_SWAP}, "atmeth", ">QIQQ")},
         {(SWAPPED, INITIAL), (ADDED, INITIAL)})
    same("fetch and add",
         {v[2:3] for v in values(packets, {roce.FETCH_ADD}, "atmeth", ">QIQQ")}, {(ADDED,)})
    same("answers to atomics", values(packets, {roce.ATOMIC_ACK}, "atmack", ">Q"),
         {(INITIAL,), (SWAPPED,)})
    for packet in packets:
        if "reth" in packet.extended and not inside(known, *packet.reth):
            wrong.append(f"{packet}: RETH {packet.extended['reth'].hex()} is nobody's memory")
        if "atmeth" in packet.extended:
            address, key = struct.unpack(">QI", packet.extended["atmeth"][:12])
            if not inside(known, address, key, 8):
                wrong.append(f"{packet}: AtomicETH {packet.extended['atmeth'].hex()} "
                             "is nobody's memory")
    # they begin at 0xfffff0
    psns = {p.psn for p in packets if p.opcode < roce.ACK}
    if not {0xfffff0, 0xffffff, 0} <= psns:
        wrong.append("PSNs do not turn over")
    return wrong


def main():
    """Look at one capture."""
    name, path, logs = sys.argv[1], sys.argv[2], sys.argv[3:]
    try:
        found = [roce.Packet(frame) for frame in capture.frames(path)]
    except (OSError, ValueError, struct.error) as why:
        capture.verdict(f"{name}/icrc", [str(why)], 0)
        return
    capture.verdict(f"{name}/icrc", capture.own_view(found, WANTED), len(found))
    capture.verdict(f"{name}/wireshark", capture.wireshark_view(path, found, *GUESSES),
                    len(found))
    capture.verdict(f"{name}/scapy", capture.scapy_view(found), len(found))
    known = memories(logs)
    sources = sorted({p.src for p in found})
    wrong = [] if len(sources) == 2 else [f"packets from {len(sources)} addresses"]
    for source in sources:
        mine = [p for p in found if p.src == source]
        wrong += [f"from {source}: {text}" for text in headers(mine, known)]
    capture.verdict(f"{name}/headers", wrong, len(found))


if __name__ == "__main__":
    main()
