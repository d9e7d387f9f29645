#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What is counted of congestion: marked packets, and notifications of it.

Packets are scapy's, where it can sum them (IPv4). Each is looked for in the counters
of the device and in those of its queue pair.
"""

from scapy.contrib.roce import BTH, cnp
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

import roce
import wire
from harness import case, check, equal, main
from stranger import Far, Stranger, view

NOT_ECT, ECT1, ECT0, CE = range(4)
NAMES = ("rcvd_pkts", "np_ecn_marked_roce_packets", "rx_cnp", "rx_bad_pkey", "rx_malformed",
         "icrc_errors", "rx_no_qp")


def of_queue(number):
    """Counters of a queue pair, by name."""
    shown = view(number)
    return {name: int(shown[name]) for name in NAMES if name in shown}


class Counted:
    """What the device and the queue pair have counted since."""

    def __init__(self, test):
        self.test = test
        self.queue = of_queue(test.number)
        self.device = {name: test.device.counter(name) for name in NAMES}

    def grew(self, **by):
        """Just so many more of each, and not of the others."""
        queue = of_queue(self.test.number)
        for name in NAMES:
            wanted = by.get(name, 0)
            equal(self.test.device.counter(name) - self.device[name], wanted, f"{name} of the device")
            if name in queue:
                equal(queue[name] - self.queue[name], wanted, f"{name} of the queue pair")


def lower(test, tos=0):
    """scapy's layers below BTH."""
    return (Ether(src=wire.NEAR_MAC, dst=wire.FAR_MAC) /
            IP(src=test.near, dst=test.device.address, tos=tos, flags="DF", id=test.ident + 1) /
            UDP(sport=test.to.sport, dport=roce.PORT, chksum=0))


def scapy_write(test, payload, tos):
    """A WRITE Only of scapy's."""
    return bytes(lower(test, tos) / BTH(opcode=roce.WRITE_ONLY, migreq=1, dqpn=test.number,
                                        ackreq=1, psn=test.psn) /
                 Raw(test.reth(len(payload)) + payload))


def notified(test, ecn):
    """A mark is answered by a CNP, before the ACK."""
    if ecn == CE:
        equal(test.next().opcode, roce.CNP, "opcode of the answer")


@case("ce-marked")
def ce_marked():
    """Each packet with CE is counted, and executed like any other; no other is counted."""
    with Stranger() as test:
        count = Counted(test)
        for index, ecn in enumerate((NOT_ECT, CE, ECT1, CE, ECT0, CE)):
            payload = bytes([65 + index]) * 8
            frame = scapy_write(test, payload, 0x60 | ecn)
            equal(frame[15] & 3, ecn, "ECN field")
            test.tap.send(frame)
            test.msn += 1
            notified(test, ecn)
            test.acked()
            test.step(messages=0)
            equal(test.memory.get(8), payload, "bytes of the WRITE")
        count.grew(rcvd_pkts=6, np_ecn_marked_roce_packets=3)


@case("ce-marked-ipv6")
def ce_marked_ipv6():
    """Likewise in the traffic class of IPv6."""
    with Stranger(6) as test:
        count = Counted(test)
        for ecn in (CE, ECT0, CE):
            test.to.tos = 0x60 | ecn
            test.write(b"counted", ackreq=True)
            test.msn += 1
            notified(test, ecn)
            test.acked()
            test.step(messages=0)
        count.grew(rcvd_pkts=3, np_ecn_marked_roce_packets=2)


@case("cnp")
def notification():
    """CNPs are counted, for the queue pair that they name; nobody answers them."""
    with Stranger() as test, Stranger() as other:
        count, others = Counted(test), of_queue(other.number)
        for _ in range(5):
            test.tap.send(bytes(lower(test) / cnp(test.number)))
        test.silent()
        test.good_write()
        count.grew(rcvd_pkts=1, rx_cnp=5)
        equal(of_queue(other.number), others, "counters of another queue pair")


@case("cnp-from-elsewhere")
def notification_of_others():
    """A CNP from an address that the queue pair is not connected to is not one."""
    with Stranger() as test:
        count = Counted(test)
        frame = lower(test) / cnp(test.number)
        frame[IP].src = "10.1.0.77"
        test.tap.send(bytes(frame))
        test.good_write()
        equal(of_queue(test.number)["rx_cnp"], count.queue["rx_cnp"], "rx_cnp of the queue pair")
        check(test.device.counter("rx_cnp") == count.device["rx_cnp"], "counted by the device")
        equal(test.device.counter("rx_no_qp") - count.device["rx_no_qp"], 1, "rx_no_qp")


@case("nobodys")
def nobodys():
    """Packets for a queue pair that does not exist, or too short for any: the device's."""
    with Stranger() as test:
        gone = test.number
    with Stranger() as test:
        count = Counted(test)
        for _ in range(4):
            test.send(roce.WRITE_ONLY, test.reth(4), b"abcd", dqpn=gone)
        for length in (1, roce.BTH_LEN + roce.ICRC_LEN - 1):
            test.tap.send(test.to.frame(bytes(length)))
        test.good_write()
        queue = of_queue(test.number)
        equal(test.device.counter("rx_no_qp") - count.device["rx_no_qp"], 4, "rx_no_qp")
        equal(test.device.counter("rx_malformed") - count.device["rx_malformed"], 2, "rx_malformed")
        equal(queue["rx_malformed"], count.queue["rx_malformed"], "rx_malformed of a queue pair")


@case("other-partition")
def other_partition():
    """A packet for another partition is counted for its queue pair, too."""
    with Stranger() as test:
        count = Counted(test)
        for _ in range(3):
            test.tap.send(test.frame(roce.WRITE_ONLY, test.reth(4), b"abcd", pkey=0x1234))
        test.good_write()
        count.grew(rcvd_pkts=1, rx_bad_pkey=3)


if __name__ == "__main__":
    main("counts", Far.setup)
