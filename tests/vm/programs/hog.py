# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""hog.py BUSY FREE - takes the CPU for BUSY ms, leaves it for FREE ms, and so on.

Ends when it is killed. Who starts it says which CPU, and how urgent it is.
"""
import sys
import time

busy, free = (int(arg) / 1000 for arg in sys.argv[1:])
while True:
    end = time.monotonic() + busy
    while time.monotonic() < end:
        pass
    time.sleep(free)
