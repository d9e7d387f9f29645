#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
tun.py - two tun devices, and the wire between them.

    tun.py NAME NETNS NETNS

Makes a device NAME in each of the namespaces and passes each packet on to the
other one, until it is killed.
"""
import ctypes
import fcntl
import os
import select
import struct
import sys

TUNSETIFF = 0x400454ca
IFF_TUN, IFF_NO_PI = 1, 0x1000
CLONE_NEWNET = 0x40000000
LONGEST = 65536


def tun(name, netns):
    """A device in the namespace; it stays there."""
    with open(f'/run/netns/{netns}', 'rb') as where:
        if ctypes.CDLL(None, use_errno=True).setns(where.fileno(), CLONE_NEWNET):
            sys.exit(f'tun.py: {netns}: {os.strerror(ctypes.get_errno())}')
    fd = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack('16sH22x', name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


def main():
    name, *namespaces = sys.argv[1:]
    ends = [tun(name, netns) for netns in namespaces]
    print('ready', flush=True)
    while True:
        for fd in select.select(ends, [], [])[0]:
            try:
                packet = os.read(fd, LONGEST)
                os.write(ends[fd == ends[0]], packet)
            except (BlockingIOError, OSError):
                pass    # lost: the other end is down, or its queue is full


main()
