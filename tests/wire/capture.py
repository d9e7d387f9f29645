#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Captures of real programs: every frame is sound, whoever looks at it.

    capture.py FILE.pcap...

Three witnesses that share nothing with the driver: our own reading of the
format with zlib's CRC-32, wireshark's dissector, and scapy's RoCE layer.
"""

import collections
import os
import shutil
import struct
import subprocess
import sys

from roce import ACK, ATOMIC_ACK, READ_REQUEST, Packet

# Packets of which scapy computes the ICRC; it takes a while for each
SCAPY_SAMPLE = 400
FIELDS = ["frame.number", "frame.len", "infiniband.bth.opcode", "infiniband.bth.padcnt",
          "infiniband.bth.tver", "infiniband.bth.psn", "infiniband.invariant.crc",
          "_ws.expert.severity"]


def frames(path):
    """Frames of a capture file; the microsecond and nanosecond forms of pcap."""
    with open(path, "rb") as file:
        head = file.read(24)
        order = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<"}.get(head[:4], ">")
        while True:
            record = file.read(16)
            if len(record) < 16:
                return
            kept, length = struct.unpack(order + "8xII", record)
            data = file.read(kept)
            if len(data) < kept or kept < length:
                raise ValueError(f"{path} is cut off")
            yield data


# What must be among the packets, so that their soundness says something
ALWAYS = {0x00, 0x02, ACK}
EVERYTHING = ALWAYS | {0x06, 0x08, READ_REQUEST, 0x0d, 0x0f, ATOMIC_ACK}


def own_view(found, wanted):
    """Each packet by itself, and whether the run was as mixed as it should be."""
    wrong, kinds = [], collections.Counter()
    for number, packet in enumerate(found, 1):
        kinds[packet.opcode] += 1
        wrong += [f"packet {number} ({packet}): {text}" for text in packet.problems()]
        if not packet.mig:
            wrong.append(f"packet {number}: MigReq is not set")
        if packet.pkey != 0xffff:
            wrong.append(f"packet {number}: P_Key {packet.pkey:#x}")
    for opcode in sorted(wanted - set(kinds)):
        wrong.append(f"no packet with opcode {opcode:#x} in the capture")
    if not any(p.pad for p in found):
        wrong.append("no packet with pad bytes in the capture")
    return wrong


def wireshark_view(path, found, *options):
    """The dissector agrees about each packet, and warns about none."""
    command = ["tshark", "-n", "-r", path, "-T", "fields", "-E", "separator=/t",
               "-o", "udp.check_checksum:FALSE", "-o", "udp.ignore_ipv6_zero_checksum:TRUE"]
    command += options
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return [f"tshark: {done.stderr.strip()}"]
    lines = done.stdout.splitlines()
    wrong = []
    if len(lines) != len(found):
        wrong.append(f"tshark sees {len(lines)} packets instead of {len(found)}")
    for line, packet in zip(lines, found):
        number, length, opcode, pad, tver, psn, crc, severity = line.split("\t")
        seen = int(length), int(opcode, 0), int(pad, 0), int(tver, 0), int(psn, 0), int(crc, 16)
        mine = len(packet.frame), packet.opcode, packet.pad, 0, packet.psn, \
            int.from_bytes(packet.icrc, "big")
        if seen != mine:
            wrong.append(f"packet {number}: tshark reads {seen}, we {mine}")
        if severity:
            wrong.append(f"packet {number}: tshark warns")
    return wrong


def scapy_view(found):
    """scapy's sum of a sample: some packets of each opcode."""
    from scapy.contrib.roce import BTH  # noqa: F401 pylint: disable=unused-import
    from scapy.layers.l2 import Ether

    taken, wrong = collections.Counter(), []
    for packet in found:
        taken[packet.opcode] += 1
        if taken[packet.opcode] > SCAPY_SAMPLE // 20 or packet.version != 4:
            continue
        layers = Ether(packet.frame)
        # to be computed afresh, from what the layers hold
        crc = layers[BTH].compute_icrc(bytes(layers[BTH])[:-4])
        if bytes(crc) != packet.icrc:
            wrong.append(f"{packet}: scapy sums {bytes(crc).hex()}, on the wire "
                         f"{packet.icrc.hex()}")
    return wrong


def verdict(name, wrong, count):
    """One line of result."""
    if wrong:
        for text in wrong[:20]:
            print(f"  | {text}")
        print(f"not ok {name} - {wrong[0]} ({len(wrong)} findings in {count} packets)")
    else:
        print(f"ok {name} ({count} packets)")


def main():
    """Look at each file in three ways."""
    for path in sys.argv[1:]:
        name = "capture/" + os.path.basename(path).removesuffix(".pcap")
        try:
            found = [Packet(frame) for frame in frames(path)]
        except (OSError, ValueError) as why:
            verdict(f"{name}-icrc", [str(why)], 0)
            continue
        everything = EVERYTHING if name.endswith("mixed-1024-v4") else ALWAYS
        verdict(f"{name}-icrc", own_view(found, everything), len(found))
        if shutil.which("tshark"):
            verdict(f"{name}-wireshark", wireshark_view(path, found), len(found))
        else:
            print(f"skip {name}-wireshark - no tshark here; install Debian's tshark")
        try:
            verdict(f"{name}-scapy", scapy_view(found), len(found))
        except ImportError as why:
            print(f"skip {name}-scapy - {why}; install Debian's python3-scapy")


if __name__ == "__main__":
    main()
