#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""trouble.py - a connection that is not well, for "rxestat --health" to say why.

    trouble.py FROM TO

Sends a message that no receive is posted for, over a path MTU of 2048. For each line
that it reads it goes on: posts the receive; sends once more; lets its completion queue
overrun. It says what it has done, and for each SEND "done" when it is complete.
Devices are named as for bandwidth.py.
"""
import sys
import time

import pyverbs.enums as e
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.wr import SGE, RecvWR, SendWR

from bandwidth import PATIENCE, Side

SIZE = 2048
# Four seconds for an answer, 655 ms for a receive: so that there is time to look; on a slow
# kernel, more
SLOW = {"path_mtu": e.IBV_MTU_2048, "timeout": 20 if PATIENCE <= 60 else 22, "min_rnr_timer": 0}
# More than the completion queue takes
MANY = 1000


def say(text):
    print(text, flush=True)


def go_on():
    if not sys.stdin.readline():
        sys.exit("trouble.py: nobody says to go on")


def sge(side):
    return [SGE(side.mr.buf, SIZE, side.mr.lkey)]


def receive(side):
    side.qp.post_recv(RecvWR(wr_id=1, num_sge=1, sg=sge(side)))


def send(side):
    side.qp.post_send(SendWR(wr_id=2, num_sge=1, sg=sge(side), opcode=e.IBV_WR_SEND,
                             send_flags=e.IBV_SEND_SIGNALED))


def sent(side):
    """Wait for the completion, and that nobody else needs to."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for wc in side.cq.poll(1)[1] or []:
            if wc.status != e.IBV_WC_SUCCESS:
                sys.exit(f"trouble.py: status {wc.status}")
            say("done")
            return
    sys.exit("trouble.py: no completion")


def overrun(side, peer):
    """WRITEs whose completions nobody takes."""
    for _ in range(MANY):
        wr = SendWR(wr_id=3, num_sge=1, sg=sge(side), opcode=e.IBV_WR_RDMA_WRITE,
                    send_flags=e.IBV_SEND_SIGNALED)
        wr.set_wr_rdma(peer.mr.rkey, peer.mr.buf)
        try:
            side.qp.post_send(wr)
        except PyverbsRDMAError:        # the send queue is full
            time.sleep(0.01)


def main():
    sender, receiver = Side(sys.argv[1], SIZE), Side(sys.argv[2], SIZE)
    receiver.connect(sender, **SLOW)
    sender.connect(receiver, **SLOW)
    send(sender)
    say("sent")
    go_on()
    receive(receiver)
    sent(sender)
    go_on()
    receive(receiver)
    send(sender)
    say("sent")
    sent(sender)
    go_on()
    overrun(sender, receiver)
    say("overrun")
    go_on()


if __name__ == "__main__":
    main()
