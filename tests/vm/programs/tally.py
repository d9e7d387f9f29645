#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""tally.py - what RoCE packets look like that arrive at a netdev, and which CPU takes them.

    tally.py NETDEV SECONDS LEAST [PORT...]

Prints "listening" on stderr; then counts until LEAST packets of each source PORT have
come, or, without PORTs, LEAST of any. Bursts that arrive as one count as one, management
packets (QP 1) not at all. In the end a line for each kind of packet:

    CPU VLAN PCP TOS SOURCE-PORT COUNT

VLAN and PCP are - of packets without a tag; TOS is the traffic class over IPv6. Exit status
1 if SECONDS have passed before. A socket for each CPU, as only a filter of the kernel sees
which one it runs on.
"""
import collections
import ctypes
import os
import select
import socket
import struct
import sys
import time

SOL_PACKET, PACKET_AUXDATA, SO_ATTACH_FILTER, SO_RCVBUFFORCE, ETH_P_ALL = 263, 8, 26, 33, 3
PACKET_OUTGOING, VLAN_VALID = 4, 1 << 4
# struct tpacket_auxdata: status, length, captured, two offsets, VLAN tag and its protocol
AUXDATA = struct.Struct("=IIIHHHH")
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
# SKF_AD_OFF and what lies there
TYPE, CPU = 0xfffff000 + 4, 0xfffff000 + 36
HEADERS = 128
MEMORY = 16 << 20
ROCE = 4791


def filter_of(cpu):
    """What arrives on this CPU, its headers."""
    code = ((LOAD, 0, 0, TYPE), (EQUAL, 3, 0, PACKET_OUTGOING), (LOAD, 0, 0, CPU),
            (EQUAL, 0, 1, cpu), (RETURN, 0, 0, HEADERS), (RETURN, 0, 0, 0))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code), len(code)


def listen(netdev, cpu):
    """A socket that has no packet which its filter has not seen."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    # who sends polls, and may have both CPUs for a while
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, MEMORY)
    code, length = filter_of(cpu)
    memory = ctypes.create_string_buffer(code)
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                    struct.pack("@HP", length, ctypes.addressof(memory)))
    sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    sock.bind((netdev, ETH_P_ALL))
    return sock


def tag_beside(ancillary):
    """The VLAN tag that the kernel has taken out of the packet, or None."""
    for level, kind, data in ancillary:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA) and len(data) >= AUXDATA.size:
            status, tag = AUXDATA.unpack_from(data)[0::5]
            if status & VLAN_VALID:
                return tag
    return None


def look(frame, tag):
    """VLAN, PCP, TOS and source port of a RoCE packet, or None."""
    kind, at = struct.unpack_from(">H", frame, 12)[0], 14
    if kind == 0x8100:
        tag, kind = struct.unpack_from(">HH", frame, 14)
        at = 18
    if kind == 0x0800:
        tos, proto, udp = frame[at + 1], frame[at + 9], at + 4 * (frame[at] & 15)
    elif kind == 0x86dd:
        tos = struct.unpack_from(">H", frame, at)[0] >> 4 & 0xff
        proto, udp = frame[at + 6], at + 40
    else:
        return None
    if proto != socket.IPPROTO_UDP or len(frame) < udp + 20:
        return None
    source, dest = struct.unpack_from(">HH", frame, udp)
    if dest != ROCE or int.from_bytes(frame[udp + 13:udp + 16], "big") == 1:
        return None
    if tag is None:
        return "-", "-", tos, source
    return tag & 0xfff, tag >> 13, tos, source


def main():
    netdev, seconds, least = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    missing = {port: least for port in map(int, sys.argv[4:])} or {None: least}
    cpus = {listen(netdev, cpu): cpu for cpu in range(os.sysconf("SC_NPROCESSORS_CONF"))}
    print("listening", file=sys.stderr, flush=True)
    seen = collections.Counter()
    end = time.monotonic() + seconds
    while missing and time.monotonic() < end:
        for sock in select.select(list(cpus), [], [], 0.1)[0]:
            frame, ancillary = sock.recvmsg(HEADERS, socket.CMSG_SPACE(AUXDATA.size))[:2]
            found = look(frame, tag_beside(ancillary))
            if not found:
                continue
            seen[(cpus[sock],) + found] += 1
            port = found[3] if found[3] in missing else None
            if port in missing:
                missing[port] -= 1
                if not missing[port]:
                    del missing[port]
    for kind in sorted(seen, key=str):
        print(*kind, seen[kind])
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
