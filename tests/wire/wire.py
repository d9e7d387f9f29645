# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""One end of the veth pair: every frame that crosses it, and frames of our own.

The programs run in the initial namespace, where sysfs shows the counters of all
devices; only the packet sockets live in ns1, where our end is, and address handles are
made where their device is.
"""

import contextlib
import ctypes
import os
import select
import socket
import struct
import subprocess
import time

from harness import Failure, Skip
from roce import Packet

INTERFACE = "veth0"
NEAR4, NEAR6 = "10.1.0.1", "fd01::1"
FAR4, FAR6 = "10.1.0.2", "fd01::2"
NEAR_MAC = os.environ.get("RXE_NEAR_MAC", "")
FAR_MAC = os.environ.get("RXE_FAR_MAC", "")

# Where the netdev of each device is
NAMESPACES = {"rxe0": "ns1", "rxe1": "ns2"}
CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
SO_TIMESTAMPNS = 35


@contextlib.contextmanager
def inside(namespace):
    """What is done meanwhile is done in another network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with (open("/proc/self/ns/net", "rb") as home,
          open(f"/run/netns/{namespace}", "rb") as there):
        if libc.setns(there.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            yield
        finally:
            libc.setns(home.fileno(), CLONE_NEWNET)


def packet_socket():
    """A packet socket in our namespace."""
    with inside("ns1"):
        return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))


class Tap:
    """A packet socket on our end."""

    def __init__(self):
        self.socket = packet_socket()
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.bind((INTERFACE, ETH_P_ALL))
        self.socket.setblocking(False)

    def close(self):
        """Stop listening."""
        self.socket.close()

    def send(self, frame):
        """Put a frame on the wire."""
        self.socket.send(frame)

    def next(self, deadline=0.0):
        """The next RoCE packet of either direction, or None when time is up."""
        while True:
            try:
                frame, extra, _, _ = self.socket.recvmsg(65536, 256)
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                select.select([self.socket], [], [], left)
                continue
            try:
                return Packet(frame, stamp(extra))
            except ValueError:
                continue  # ARP and the like

    def drain(self):
        """All RoCE packets that are there."""
        found = []
        while True:
            packet = self.next()
            if packet is None:
                return found
            found.append(packet)


class Bad:
    """A wire that loses packets, doubles them and changes their order, both ways."""

    ENDS = (("ns1", "veth0"), ("ns2", "veth1"))
    HOW = "netem limit 10000 delay 1ms 1ms loss 3% duplicate 3%"

    def __enter__(self):
        if subprocess.run(("modprobe", "-q", "sch_netem"), check=False).returncode:
            raise Skip("this kernel has no sch_netem")
        for namespace, netdev in self.ENDS:
            self._tc(namespace, "add", netdev, *self.HOW.split())
        return self

    def __exit__(self, *_):
        for namespace, netdev in self.ENDS:
            self._tc(namespace, "del", netdev)

    @staticmethod
    def _tc(namespace, what, netdev, *how):
        subprocess.run(("ip", "netns", "exec", namespace, "tc", "qdisc", what, "dev", netdev,
                        "root", *how), check=True)


def stamp(extra):
    """When the kernel saw the frame, in seconds."""
    for level, kind, data in extra:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            sec, nsec = struct.unpack("qq", data[:16])
            return sec + nsec / 1e9
    return 0.0


def sound(found):
    """Every packet is sound in itself."""
    for packet in found:
        wrong = packet.problems()
        if wrong:
            raise Failure(f"{packet}: {', '.join(wrong)}")
    return found
