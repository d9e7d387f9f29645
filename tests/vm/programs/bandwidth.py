#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""bandwidth.py - RDMA in Python: find devices, and write from one to another.

    bandwidth.py                        list devices, as sysfs and libibverbs have them
    bandwidth.py FROM TO [SIZE [COUNT]] write SIZE bytes COUNT times, and say how fast

FROM and TO are a name (rxe0), a node GUID (0200:c0ff:fe00:0001) or a GID of port 1
(fd01::1, ::ffff:10.1.0.1). Exit status 0 if every completion was good and the bytes
are there. Needs pyverbs (Debian: python3-pyverbs).
"""
import ipaddress
import os
import pathlib
import sys
import time

import pyverbs.device as d
import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

SYSFS = pathlib.Path("/sys/class/infiniband")
PORT = 1
DEPTH = 16
PATIENCE = int(os.environ.get("PATIENCE", 60))
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE


def text(path):
    return path.read_text().strip()


def gids(name):
    """Index, address and type of each GID that is in use."""
    port = SYSFS / name / "ports" / str(PORT)
    for index in sorted(int(p.name) for p in (port / "gids").iterdir()):
        try:
            kind = text(port / "gid_attrs" / "types" / str(index))
        except OSError:         # the entry is free
            continue
        yield index, ipaddress.ip_address(text(port / "gids" / str(index))), kind


def find(wanted):
    """The name of the device with that name, GUID or GID, and the index of a GID."""
    try:
        address = ipaddress.ip_address(wanted)
    except ValueError:
        address = None
    for name in sorted(p.name for p in SYSFS.iterdir()):
        mine = [(i, a) for i, a, kind in gids(name) if kind == "RoCE v2"]
        if address is not None:
            for index, gid in mine:
                if gid == address:
                    return name, index
        elif wanted in (name, text(SYSFS / name / "node_guid")):
            # an address that is not of the link alone, if there is one
            return name, min(mine, key=lambda g: (g[1].is_link_local, g[0]))[0]
    sys.exit(f"bandwidth.py: no device has {wanted}")


def show():
    """Each device, once as sysfs and once as libibverbs has it: they must agree."""
    devices = {dev.name.decode(): dev for dev in d.get_device_list()}
    if sorted(devices) != sorted(p.name for p in SYSFS.iterdir()):
        sys.exit(f"bandwidth.py: libibverbs knows {sorted(devices)}")
    for name in sorted(devices):
        guid = text(SYSFS / name / "node_guid")
        with d.Context(name=name) as context:
            if d.guid_format(context.query_device().node_guid) != guid:
                sys.exit(f"bandwidth.py: {name}: the GUIDs differ")
            print(name, guid, text(SYSFS / name / "node_type"))
            for index, address, kind in gids(name):
                gid = context.query_gid(PORT, index).gid
                if ipaddress.ip_address(gid) != address:
                    sys.exit(f"bandwidth.py: {name}: GID {index} is {gid}, not {address}")
                print(name, index, address, kind)


class Side:
    """One end of the connection."""

    def __init__(self, wanted, size):
        name, self.index = find(wanted)
        self.context = d.Context(name=name)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 2 * DEPTH)
        self.mr = MR(self.pd, size, ACCESS)
        attr = QPAttr(port_num=PORT)
        attr.qp_access_flags = ACCESS
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq,
                                         cap=QPCap(max_send_wr=DEPTH, max_recv_wr=1)), attr)
        self.gid = self.context.query_gid(PORT, self.index)

    def connect(self, peer, **other):
        """To RTS, with other attributes if need be; INIT it is already."""
        attr = QPAttr(port_num=PORT)
        attr.dest_qp_num = peer.qp.qp_num
        attr.path_mtu = min(s.context.query_port(PORT).active_mtu for s in (self, peer))
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer = 14, 7, 7, 12
        attr.ah_attr = AHAttr(port_num=PORT, is_global=1,
                              gr=GlobalRoute(dgid=peer.gid, sgid_index=self.index))
        for name, value in other.items():
            setattr(attr, name, value)
        self.qp.to_rts(attr)


def run(sender, receiver, size, count):
    """Seconds that it takes to write."""
    done = posted = 0
    begin = time.monotonic()
    while done < count:
        while posted < count and posted - done < DEPTH:
            wr = SendWR(wr_id=posted, num_sge=1, opcode=e.IBV_WR_RDMA_WRITE,
                        sg=[SGE(sender.mr.buf, size, sender.mr.lkey)],
                        send_flags=e.IBV_SEND_SIGNALED)
            wr.set_wr_rdma(receiver.mr.rkey, receiver.mr.buf)
            sender.qp.post_send(wr)
            posted += 1
        for wc in sender.cq.poll(DEPTH)[1] or []:
            if wc.status != e.IBV_WC_SUCCESS:
                sys.exit(f"bandwidth.py: write {wc.wr_id}: status {wc.status}")
            done += 1
        if time.monotonic() - begin > PATIENCE:
            sys.exit(f"bandwidth.py: {done} of {count} writes after {PATIENCE} s")
    return time.monotonic() - begin


def main():
    if len(sys.argv) == 1:
        show()
        return
    size = int(sys.argv[3]) if len(sys.argv) > 3 else 65536
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
    sender, receiver = Side(sys.argv[1], size), Side(sys.argv[2], size)
    receiver.connect(sender)
    sender.connect(receiver)
    pattern = bytes(i * 7 % 251 for i in range(size))
    sender.mr.write(pattern, size)
    seconds = run(sender, receiver, size, count)
    if receiver.mr.read(size, 0) != pattern:
        sys.exit("bandwidth.py: wrong bytes")
    print(f"{sender.context.name} -> {receiver.context.name}: {count} x {size} bytes, "
          f"{size * count / seconds / 1e6:.1f} MB/s")


if __name__ == "__main__":
    main()
