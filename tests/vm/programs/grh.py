#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""grh.py - datagrams posted as one list: each arrives with the header it would have alone.

    grh.py FROM TO COUNT SIZE

FROM and TO are GIDs, both IPv4 or both IPv6. Exit status 0 if the bytes of each datagram
and the 40 in front of them are right. Needs pyverbs (Debian: python3-pyverbs).
"""
import ipaddress
import struct
import sys
import time

import pyverbs.device as d
import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

from bandwidth import PORT, find

GRH = 40
QKEY = 0x11223344
HEADERS = 8 + 12 + 8 + 4        # UDP, BTH, DETH, ICRC


class Side:
    """A UD queue pair, and memory for its datagrams."""

    def __init__(self, address, count, size):
        self.address = ipaddress.ip_address(address)
        name, self.index = find(address)
        self.context = d.Context(name=name)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, count)
        self.mr = MR(self.pd, count * (GRH + size), e.IBV_ACCESS_LOCAL_WRITE)
        attr = QPAttr(port_num=PORT)
        attr.qkey = QKEY
        # it is in RTS with these
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=self.cq, rcq=self.cq,
                                         cap=QPCap(max_send_wr=count, max_recv_wr=count)), attr)

    def sge(self, i, size):
        return [SGE(self.mr.buf + i * size, size, self.mr.lkey)]

    def completed(self, count):
        end = time.monotonic() + 20
        done = 0
        while done < count:
            for wc in self.cq.poll(count)[1] or []:
                if wc.status != e.IBV_WC_SUCCESS or wc.wr_id != done:
                    sys.exit(f"grh.py: completion {wc.wr_id}, status {wc.status}; due is {done}")
                done += 1
            if time.monotonic() > end:
                sys.exit(f"grh.py: {done} of {count} completions")


def bytes_of(i, size):
    return bytes((i * 7 + k) % 251 for k in range(size))


def ones_sum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    return (total & 0xffff) + (total >> 16)


def header_fault(grh, sender, receiver, size):
    """What is wrong with a header, or None."""
    rest = HEADERS + size + -size % 4
    if sender.address.ipv4_mapped:
        want = sender.address.ipv4_mapped.packed + receiver.address.ipv4_mapped.packed
        ip = grh[20:]
        if grh[:20] != bytes(20) or ip[0] != 0x45 or ip[9] != 17 or ip[12:] != want:
            return "not an IPv4 header from there to here"
        if struct.unpack("!H", ip[2:4])[0] != 20 + rest:
            return f"length {struct.unpack('!H', ip[2:4])[0]}, not {20 + rest}"
        return None if ones_sum(ip) == 0xffff else "a wrong checksum"
    if grh[0] >> 4 != 6 or grh[6] != 17 or grh[8:] != sender.address.packed + receiver.address.packed:
        return "not an IPv6 header from there to here"
    if struct.unpack("!H", grh[4:6])[0] != rest:
        return f"length {struct.unpack('!H', grh[4:6])[0]}, not {rest}"
    return None


def main():
    count, size = int(sys.argv[3]), int(sys.argv[4])
    sender, receiver = (Side(address, count, size) for address in sys.argv[1:3])
    for i in range(count):
        receiver.qp.post_recv(RecvWR(wr_id=i, num_sge=1, sg=receiver.sge(i, GRH + size)))
        sender.mr.write(bytes_of(i, size), size, i * size)
    ah = AH(sender.pd, attr=AHAttr(port_num=PORT, is_global=1, gr=GlobalRoute(
        dgid=receiver.context.query_gid(PORT, receiver.index), sgid_index=sender.index)))
    head, keep = None, []       # a request does not keep the next one alive
    for i in reversed(range(count)):
        head = SendWR(wr_id=i, num_sge=1, sg=sender.sge(i, size), opcode=e.IBV_WR_SEND,
                      send_flags=e.IBV_SEND_SIGNALED, next_wr=head)
        head.set_wr_ud(ah, receiver.qp.qp_num, QKEY)
        keep.append(head)
    sender.qp.post_send(head)
    sender.completed(count)
    receiver.completed(count)
    for i in range(count):
        got = receiver.mr.read(GRH + size, i * (GRH + size))
        fault = header_fault(got[:GRH], sender, receiver, size)
        if fault or got[GRH:] != bytes_of(i, size):
            sys.exit(f"grh.py: datagram {i}: {fault or 'wrong bytes'}: {got[:GRH + 16].hex()}")
    print(f"{count} datagrams of {size} bytes are right")


main()
