#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""nfqueue.py - let every packet of a netfilter queue pass.

    nfqueue.py QUEUE SECONDS [whole|held]

"whole": take bursts as they are; otherwise the kernel cuts them for us. "held":
say nothing to any of them. Prints "listening", and in the end, also if that comes by
SIGTERM, the number of packets, or of bursts.
"""
import os
import signal
import socket
import struct
import sys
import time

PACKET, VERDICT, CONFIG = 0x300, 0x301, 0x302
SUBSYSTEM = 12          # NETLINK_NETFILTER
REQUEST, ACK = 1, 4


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def message(kind, flags, queue, attributes):
    body = struct.pack("!BBH", 0, 0, queue) + attributes
    return struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body


def messages(data):
    """Type and body, behind struct nfgenmsg, of each message."""
    while len(data) >= 16:
        size, kind = struct.unpack_from("=IH", data)
        yield kind, data[16:size]
        data = data[(size + 3) & ~3:]


def packet_id(body):
    at = 4
    while at + 4 <= len(body):
        size, kind = struct.unpack_from("=HH", body, at)
        if kind & 0x7fff == 1:
            return body[at + 4:at + 8]
        at += (size + 3) & ~3
    raise ValueError("a packet without its number")


def configure(sock, queue, attributes):
    sock.send(message(CONFIG, REQUEST | ACK, queue, attributes))
    for kind, body in messages(sock.recv(65536)):
        if kind == 2 and struct.unpack_from("=i", body)[0]:
            raise OSError(-struct.unpack_from("=i", body)[0], "queue refused")


def main():
    queue, seconds = int(sys.argv[1]), float(sys.argv[2])
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SUBSYSTEM)
    sock.bind((0, 0))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    configure(sock, queue, attribute(1, struct.pack("!BBH", 1, 0, 2)))      # bind
    configure(sock, queue, attribute(2, struct.pack("!IB", 0, 1)))          # no contents
    if "whole" in sys.argv[3:]:
        configure(sock, queue, attribute(4, struct.pack("!I", 4)) + attribute(5, struct.pack("!I", 4)))
    print("listening", flush=True)
    sock.settimeout(0.2)
    count = 0
    end = time.monotonic() + seconds

    def told(_signal, _frame):
        print(count, flush=True)
        os._exit(0)

    signal.signal(signal.SIGTERM, told)
    while time.monotonic() < end:
        try:
            data = sock.recv(1 << 20)
        except socket.timeout:
            continue
        except OSError:         # more than fits: lost, like on the wire
            continue
        for kind, body in messages(data):
            if kind != PACKET:
                continue
            count += 1
            if "held" in sys.argv[3:]:
                continue
            sock.send(message(VERDICT, REQUEST, queue,
                              attribute(2, struct.pack("!I", 1) + packet_id(body))))
    print(count, flush=True)


main()
