#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
mad.py - ask the performance management agent of a device, over the wire.

    mad.py UMAD GID-INDEX DGID METHOD ATTRIBUTE [OPTION...]

UMAD is a file below /dev/infiniband, GID-INDEX an address of its device, DGID the
address of the one that is asked. METHOD is get or set; ATTRIBUTE classportinfo,
portcounters, portcountersextended or a number. OPTIONs: port=N, select=MASK,
version=N. Prints "NAME VALUE" lines: the status first, then the fields.
"""
import fcntl
import ipaddress
import os
import select
import struct
import sys

REGISTER_AGENT = 0xc01c1b01
ENABLE_PKEY = 0x1b03
PERFORMANCE = 4
MAD_SIZE = 256
# struct ib_user_mad_hdr of the "enable P_Key" kind
HEADER = struct.Struct('=IIIII 4s4s H BBBBBB 16s 4s H6x')

ATTRIBUTES = {'classportinfo': 1, 'portcounters': 0x12, 'portcountersextended': 0x1d}
# name, offset in the attribute, format
FIELDS = {
    1: [('base_version', 0, 'B'), ('class_version', 1, 'B'), ('capabilities', 2, '>H')],
    0x12: [('port_select', 1, 'B'), ('link_downed', 7, 'B'), ('rcv_errors', 8, '>H'),
           ('xmit_discards', 14, '>H'), ('xmit_data', 24, '>I'), ('rcv_data', 28, '>I'),
           ('xmit_packets', 32, '>I'), ('rcv_packets', 36, '>I')],
    0x1d: [('port_select', 1, 'B'), ('xmit_data', 8, '>Q'), ('rcv_data', 16, '>Q'),
           ('xmit_packets', 24, '>Q'), ('rcv_packets', 32, '>Q')],
}


def main():
    name, gid_index, dgid, method, attribute, *rest = sys.argv[1:]
    options = dict(option.split('=') for option in rest)
    number = ATTRIBUTES.get(attribute) or int(attribute, 0)
    address = ipaddress.ip_address(dgid)
    gid = address.packed if address.version == 6 else bytes(10) + b'\xff\xff' + address.packed

    umad = os.open(f'/dev/infiniband/{name}', os.O_RDWR)
    fcntl.ioctl(umad, ENABLE_PKEY)
    # an agent on QP 1 that only asks
    request = bytearray(struct.pack('=I16xBBB3xBx', 0, 1, PERFORMANCE, 1, 0))
    fcntl.ioctl(umad, REGISTER_AGENT, request)
    agent, = struct.unpack_from('=I', request)

    header = HEADER.pack(agent, 0, 2000, 3, 0, struct.pack('>I', 1),
                         struct.pack('>I', 0x80010000), 0, 0, 0, 1, int(gid_index), 64, 0,
                         gid, bytes(4), 0)
    attr = struct.pack('>BBH', 0, int(options.get('port', '1')),
                       int(options.get('select', '0xffff'), 0))
    mad = struct.pack('>BBBBHHQHHI', 1, PERFORMANCE, int(options.get('version', '1')),
                      1 if method == 'get' else 2, 0, 0, 0x12345678, number, 0, 0)
    mad = (mad + bytes(40) + attr).ljust(MAD_SIZE, b'\0')
    os.write(umad, header + mad)
    if not select.select([umad], [], [], 30)[0]:
        sys.exit('mad.py: no answer')
    answer = os.read(umad, HEADER.size + MAD_SIZE)
    status, = struct.unpack_from('=I', answer, 4)
    if status:
        sys.exit(f'mad.py: not delivered: {os.strerror(status)}')
    mad = answer[HEADER.size:]
    print(f'method {mad[3]:#x}')
    status, = struct.unpack_from('>H', mad, 4)
    print('status', hex(status) if status else 0)
    for field, offset, form in FIELDS.get(number, []):
        print(field, struct.unpack_from(form, mad, 64 + offset)[0])


main()
