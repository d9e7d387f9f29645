# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The queues of a device as the provider has mapped them into this process."""

import ctypes
import struct

from harness import Failure

# Of struct rxe_queue_buf: where the producer writes its index, and the elements
PRODUCER, ELEMENTS = 128, 384


class Ring:
    """A queue that has been mapped since maps() was called, by the size of its elements."""

    def __init__(self, before, shift=None):
        found = [self._shape(line) for line in maps() - before]
        found = [shape for shape in found if shift in (None, shape[0])]
        if not found:
            raise Failure("no such queue is mapped")
        # the largest elements are those of a send queue
        self.shift, self.mask, self.start = max(found)

    @staticmethod
    def _shape(line):
        start = int(line.split("-")[0], 16)
        shift, mask = struct.unpack("=II", ctypes.string_at(start, 8))
        return shift, mask, start

    @property
    def head(self):
        """The producer's index, in memory."""
        return ctypes.c_uint32.from_address(self.start + PRODUCER)

    def write(self, data, offset=0, back=0):
        """Write into the next element to be posted, or one that has been."""
        at = self.start + ELEMENTS + ((self.head.value - back & self.mask) << self.shift)
        ctypes.memmove(at + offset, data, len(data))

    def put(self, wqe):
        """Fill the next element, and count it as posted; nobody is told."""
        self.write(wqe)
        self.head.value = self.head.value + 1 & self.mask


def maps():
    """Mappings of devices' queues."""
    with open("/proc/self/maps", encoding="ascii") as file:
        return {line.split()[0] for line in file if "/uverbs" in line}
