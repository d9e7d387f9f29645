#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""forward.py - what a host merges and sends on is, cut again, what came.

    forward.py routed|bridged

From ns2 to ns1 of gro.sh, by ns3, which holds what comes for a while. Of each run of
packets its last one asks for an ACK and ends the hold; the run must come out as it went
in, byte for byte but for what a router changes, and ns3 must have sent it on as one skb
where it routes (which it counts for IPv4).
Exit status 0 if so.
"""
import ctypes
import os
import select
import socket
import struct
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../wire"))
import roce  # noqa: E402 pylint: disable=wrong-import-position

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
HOLD = 2_000_000_000
LIBC = ctypes.CDLL(None, use_errno=True)


def there(namespace, action):
    """Do something in a namespace, and come back."""
    with open("/proc/self/ns/net", "rb") as home, open(f"/run/netns/{namespace}", "rb") as ns:
        if LIBC.setns(ns.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            return action()
        finally:
            LIBC.setns(home.fileno(), CLONE_NEWNET)


def packet_socket(interface):
    """All that crosses an interface, here."""
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    found.bind((interface, ETH_P_ALL))
    return found


def run(namespace, *command):
    """What a command prints there."""
    return subprocess.run(["ip", "netns", "exec", namespace, *command], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def mac(namespace, interface):
    """Its MAC address."""
    return run(namespace, "cat", f"/sys/class/net/{interface}/address").strip()


def forwarded():
    """Datagrams that ns3 has sent on by IPv4."""
    lines = run("ns3", "cat", "/proc/net/snmp").splitlines()
    names, values = [line.split() for line in lines if line.startswith("Ip:")]
    return int(values[names.index("ForwDatagrams")])


def changed(frame, smac, dmac, hops):
    """A frame as it is after some hops."""
    frame = bytearray(frame)
    frame[:12] = roce.mac(dmac) + roce.mac(smac)
    if not hops:
        return bytes(frame)
    if frame[12:14] == b"\x08\x00":
        frame[22] -= hops
        frame[24:26] = bytes(2)
        frame[24:26] = struct.pack(">H", roce.ip_checksum(bytes(frame[14:34])))
    else:
        frame[21] -= hops
    return bytes(frame)


def received(sock, count):
    """So many RoCE frames, and any more that come at once."""
    end, found = time.monotonic() + 10, []
    while len(found) <= count:
        left = (end if len(found) < count else time.monotonic() + 0.2) - time.monotonic()
        if left <= 0 or not select.select([sock], [], [], left)[0]:
            break
        frame, address = sock.recvfrom(65536)
        if address[2] == socket.PACKET_OUTGOING:
            continue
        try:
            roce.Packet(frame)
        except ValueError:
            continue
        found.append(frame)
    return found


def one(out, into, path, how, idents, lengths):
    """One run of packets; returns what is wrong, or None."""
    frames = []
    for i, (ident, length) in enumerate(zip(idents, lengths)):
        last = i == len(lengths) - 1
        text = roce.message(roce.SEND_ONLY, 0x123456, 100 + i, b"", bytes([0x61 + i]) * length,
                            ackreq=last)
        frames.append(path.summed(text, ident))
    before = forwarded()
    for frame in frames:
        out.send(frame)
    seen = received(into, len(frames))
    if how == "routed":
        wanted = [changed(f, mac("ns3", "mid0"), mac("ns1", "veth0"), 1) for f in frames]
    else:
        wanted = frames
    if seen != wanted:
        return "\n".join(["sent", *(f.hex() for f in wanted), "seen", *(f.hex() for f in seen)])
    for frame in seen:
        problems = roce.Packet(frame).problems()
        if problems:
            return f"{problems}: {frame.hex()}"
    # IPv4 only: those of IPv6 are counted elsewhere
    if how == "routed" and path.src.version == 4:
        skbs = 1 if idents[0] != idents[1] or roce.idents_kept() else len(frames)
        if forwarded() - before != skbs:
            return f"ns3 has sent on {forwarded() - before} skbs, not {skbs}"
    return None


def main():
    """All runs."""
    how = sys.argv[1]
    run("ns3", "sh", "-c", f"echo {HOLD} >/sys/class/net/mid1/gro_flush_timeout")
    out = there("ns2", lambda: packet_socket("veth1"))
    into = there("ns1", lambda: packet_socket("veth0"))
    next_hop = mac("ns3", "mid1") if how == "routed" else mac("ns1", "veth0")
    paths = {4: roce.Path(mac("ns2", "veth1"), next_hop, "10.1.0.2", "10.1.0.1", 0xc123),
             6: roce.Path(mac("ns2", "veth1"), next_hop, "fd01::2", "fd01::1", 0xc123)}
    status = 0
    for name, version, idents, lengths in (
            ("counting", 4, (65535, 0), (64, 64)),
            ("constant", 4, (0, 0), (64, 64)),
            ("constant, shorter", 4, (77, 77), (64, 5)),
            ("long", 4, (5, 6), (1024, 1023)),
            ("IPv6", 6, (0, 0), (64, 64)),
            ("IPv6, shorter", 6, (0, 0), (1024, 1))):
        wrong = one(out, into, paths[version], how, idents, lengths)
        print(f"{name}: {wrong or 'right'}")
        status = 1 if wrong else status
    run("ns3", "sh", "-c", "echo 0 >/sys/class/net/mid1/gro_flush_timeout")
    return status


sys.exit(main())
