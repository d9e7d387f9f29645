# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""RoCE v2 packets: put together, taken apart and summed.

Written from the format alone (IBTA vol 1, chapter 9 and annex A17), so that it
can testify against the driver: no line of it is shared with the driver, and
the CRC is zlib's.
"""

import ipaddress
import struct
import zlib

PORT = 4791
PSN_MASK = 0xffffff
BTH_LEN = 12
ICRC_LEN = 4

# RC opcodes
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM = range(0, 6)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = range(6, 12)
READ_REQUEST = 0x0c
RESP_FIRST, RESP_MIDDLE, RESP_LAST, RESP_ONLY = range(0x0d, 0x11)
ACK, ATOMIC_ACK, CMP_SWAP, FETCH_ADD = range(0x11, 0x15)
SEND_LAST_INV, SEND_ONLY_INV = 0x16, 0x17
FLUSH, ATOMIC_WRITE = 0x1c, 0x1d

# AETH syndromes
ACK_UNLIMITED = 0x1f
RNR = 0x20
NAK_SEQUENCE, NAK_INVALID, NAK_ACCESS, NAK_OPERATION = 0x60, 0x61, 0x62, 0x63

# Lengths of extended headers, and which follow the BTH of an opcode
EXTENDED = {"reth": 16, "aeth": 4, "imm": 4, "atmeth": 28, "atmack": 8, "ieth": 4,
            "feth": 4}
HEADERS = {
    SEND_LAST_IMM: ["imm"], SEND_ONLY_IMM: ["imm"],
    SEND_LAST_INV: ["ieth"], SEND_ONLY_INV: ["ieth"],
    WRITE_FIRST: ["reth"], WRITE_LAST_IMM: ["imm"],
    WRITE_ONLY: ["reth"], WRITE_ONLY_IMM: ["reth", "imm"],
    READ_REQUEST: ["reth"],
    RESP_FIRST: ["aeth"], RESP_LAST: ["aeth"], RESP_ONLY: ["aeth"],
    ACK: ["aeth"], ATOMIC_ACK: ["aeth", "atmack"],
    CMP_SWAP: ["atmeth"], FETCH_ADD: ["atmeth"],
    FLUSH: ["feth", "reth"], ATOMIC_WRITE: ["reth"],
}
# An opcode of UC, and of UD, is that of RC and this
UC, UD = 0x20, 0x60
# Notification of congestion: this bit, and zeros
CNP, BECN, CNP_BYTES = 0x81, 0x40, bytes(16)
KNOWN = set(range(0, 0x15)) | {SEND_LAST_INV, SEND_ONLY_INV, FLUSH, ATOMIC_WRITE, CNP}
RESPONSES = {RESP_FIRST, RESP_MIDDLE, RESP_LAST, RESP_ONLY, ACK, ATOMIC_ACK}


def psn_add(psn, count):
    """The PSN a number of packets further."""
    return (psn + count) & PSN_MASK


def packets(length, pmtu):
    """Packets of a message."""
    return max(1, -(-length // pmtu))


def reth(address, rkey, length):
    """RDMA extended header."""
    return struct.pack(">QII", address, rkey, length)


def aeth(syndrome, msn):
    """ACK extended header."""
    return struct.pack(">I", syndrome << 24 | msn & PSN_MASK)


def feth(placement, selectivity=0):
    """Flush extended header: 1 global, 2 persistent; 0 a range, 1 the region."""
    return struct.pack(">I", selectivity << 4 | placement)


def atmeth(address, rkey, swap_add, compare=0):
    """Atomic extended header."""
    return struct.pack(">QIQQ", address, rkey, swap_add, compare)


def sport(local_qpn, remote_qpn):
    """UDP source port of a connection without a flow label."""
    value = local_qpn * remote_qpn
    value ^= value >> 20
    value ^= value >> 40
    value &= 0xfffff
    return 0xc000 | (value & 0x3fff) ^ value >> 14


def icrc(ip_packet):
    """The four bytes behind an IP packet that ends before its ICRC.

    Headers in it are final, its length fields count the ICRC.
    """
    data = bytearray(ip_packet)
    if data[0] >> 4 == 4:
        udp = (data[0] & 15) * 4
        data[1] = data[8] = data[10] = data[11] = 0xff
    else:
        udp = 40
        data[0] |= 0x0f
        data[1] = data[2] = data[3] = data[7] = 0xff
    data[udp + 6] = data[udp + 7] = 0xff
    if len(data) > udp + 8 + 4:
        data[udp + 8 + 4] = 0xff
    return struct.pack("<I", zlib.crc32(bytes(8 * [0xff]) + bytes(data)))


def ip_checksum(header):
    """Internet checksum."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


class Path:
    """Addresses of one direction of a connection."""

    def __init__(self, smac, dmac, src, dst, source_port, tos=0, ttl=64):
        self.smac, self.dmac = mac(smac), mac(dmac)
        self.src, self.dst = ipaddress.ip_address(src), ipaddress.ip_address(dst)
        self.sport, self.tos, self.ttl = source_port, tos, ttl

    def frame(self, udp_payload, ident=0, udp_len=None, ip_len=None):
        """Ethernet frame around an UDP payload, lengths as they should be."""
        kind = b"\x08\x00" if self.src.version == 4 else b"\x86\xdd"
        return (self.dmac + self.smac + kind + self.ip(udp_payload, ident, udp_len, ip_len))

    def ip(self, udp_payload, ident=0, udp_len=None, ip_len=None):
        """IP packet around an UDP payload."""
        length = 8 + len(udp_payload)
        udp = struct.pack(">HHHH", self.sport, PORT, length if udp_len is None else udp_len, 0)
        length = length if ip_len is None else ip_len
        if self.src.version == 4:
            header = struct.pack(">BBHHHBBH4s4s", 0x45, self.tos, 20 + length, ident, 0x4000,
                                 self.ttl, 17, 0, self.src.packed, self.dst.packed)
            header = header[:10] + struct.pack(">H", ip_checksum(header)) + header[12:]
        else:
            header = struct.pack(">IHBB16s16s", 6 << 28 | self.tos << 20, length, 17, self.ttl,
                                 self.src.packed, self.dst.packed)
        return header + udp + udp_payload

    def summed(self, without_icrc, ident=0, **lengths):
        """Ethernet frame around BTH ... pad, with a right ICRC behind it."""
        ip = self.ip(without_icrc + bytes(ICRC_LEN), ident, **lengths)
        frame = self.frame(without_icrc, ident)[:14] + ip
        return frame[:-ICRC_LEN] + icrc(ip[:-ICRC_LEN])


def idents_kept():
    """Whether this kernel can cut a burst into packets of one IPv4 identification."""
    try:
        with open("/sys/kernel/btf/vmlinux", "rb") as types:
            return b"\0SKB_GSO_TCP_FIXEDID_INNER\0" in types.read()
    except FileNotFoundError:
        return False


def mac(text):
    """Bytes of a MAC address."""
    return bytes.fromhex(text.replace(":", ""))


def bth(opcode, dqpn, psn, *, pad=0, se=False, ackreq=False, mig=True, tver=0, pkey=0xffff,
        byte4=0, resv7=0):
    """Base transport header."""
    return struct.pack(">BBHII", opcode, se << 7 | mig << 6 | pad << 4 | tver, pkey,
                       byte4 << 24 | dqpn, ackreq << 31 | resv7 << 24 | psn & PSN_MASK)


def message(opcode, dqpn, psn, extended=b"", payload=b"", pad=None, **fields):
    """BTH to pad of a packet."""
    fill = -len(payload) & 3
    return (bth(opcode, dqpn, psn, pad=fill if pad is None else pad, **fields)
            + extended + payload + bytes(fill))


class Packet:
    """A captured frame, taken apart. Not RoCE v2: ValueError."""

    def __init__(self, frame, stamp=0.0):
        self.frame, self.stamp = bytes(frame), stamp
        kind = struct.unpack_from(">H", frame, 12)[0]
        if kind == 0x0800:
            self.version, ihl = 4, (frame[14] & 15) * 4
            total, self.ident, proto = struct.unpack_from(">HH", frame, 16) + (frame[23],)
            self.src = ipaddress.ip_address(bytes(frame[26:30]))
            self.dst = ipaddress.ip_address(bytes(frame[30:34]))
        elif kind == 0x86dd:
            self.version, ihl, self.ident = 6, 40, 0
            total, proto = 40 + struct.unpack_from(">H", frame, 18)[0], frame[20]
            self.src = ipaddress.ip_address(bytes(frame[22:38]))
            self.dst = ipaddress.ip_address(bytes(frame[38:54]))
        else:
            raise ValueError("not IP")
        self.ip = self.frame[14:14 + total]
        if proto != 17 or len(self.ip) < ihl + 8:
            raise ValueError("not UDP")
        self.sport, self.dport, self.udp_len = struct.unpack_from(">HHH", self.ip, ihl)
        if self.dport != PORT:
            raise ValueError("not RoCE")
        self.ib = self.ip[ihl + 8:]
        if len(self.ib) < BTH_LEN + ICRC_LEN:
            raise ValueError("no room for a BTH")
        self.truncated = 14 + total > len(frame)
        self._headers()

    def _headers(self):
        opcode, flags, self.pkey, word, last = struct.unpack_from(">BBHII", self.ib)
        self.opcode, self.se, self.mig = opcode, bool(flags & 0x80), bool(flags & 0x40)
        self.pad, self.tver = flags >> 4 & 3, flags & 15
        self.byte4, self.dqpn = word >> 24, word & PSN_MASK
        self.ackreq, self.resv7, self.psn = bool(last >> 31), last >> 24 & 0x7f, last & PSN_MASK
        at = BTH_LEN
        self.extended = {}
        for name in HEADERS.get(opcode, []):
            self.extended[name] = self.ib[at:at + EXTENDED[name]]
            at += EXTENDED[name]
        end = len(self.ib) - ICRC_LEN - self.pad
        self.payload, self.padding = self.ib[at:end], self.ib[end:end + self.pad]
        self.icrc = self.ib[-ICRC_LEN:]

    @property
    def syndrome(self):
        """AETH syndrome, or None."""
        return self.extended["aeth"][0] if "aeth" in self.extended else None

    @property
    def msn(self):
        """AETH message number."""
        return struct.unpack(">I", self.extended["aeth"])[0] & PSN_MASK

    @property
    def reth(self):
        """Address, key and length of a RETH."""
        return struct.unpack(">QII", self.extended["reth"])

    def problems(self):
        """What is wrong with this packet whoever sent it."""
        found = []
        if self.truncated:
            return ["captured in part only"]
        if self.opcode not in KNOWN:
            found.append(f"opcode {self.opcode:#x}")
        if self.icrc != icrc(self.ip[:-ICRC_LEN]):
            found.append(f"ICRC {self.icrc.hex()} instead of {icrc(self.ip[:-ICRC_LEN]).hex()}")
        if self.tver:
            found.append(f"TVer {self.tver}")
        if self.byte4 != (BECN if self.opcode == CNP else 0) or self.resv7:
            found.append(f"reserved bits {self.byte4:#x} {self.resv7:#x}")
        if any(self.padding):
            found.append(f"pad bytes {self.padding.hex()}")
        if self.pad != -len(self.payload) & 3:
            found.append(f"pad count {self.pad} for {len(self.payload)} bytes")
        if self.udp_len != len(self.ib) + 8:
            found.append(f"UDP length {self.udp_len} in an IP packet of {len(self.ip)}")
        if self.version == 4 and ip_checksum(self.ip[:20]):
            found.append("IP checksum")
        if (self.syndrome or 0) > 0x3f and not 0x60 <= self.syndrome <= 0x63:
            found.append(f"syndrome {self.syndrome:#x}")
        if self.opcode == CNP and (self.payload != CNP_BYTES or self.psn or self.ackreq or self.se):
            found.append(f"CNP {self.ib.hex()}")
        if self.sport < 0xc000:
            found.append(f"source port {self.sport}")
        return found

    def __str__(self):
        text = f"opcode {self.opcode:#04x} psn {self.psn:#x} qp {self.dqpn:#x}"
        if self.syndrome is not None:
            text += f" syndrome {self.syndrome:#x} msn {self.msn}"
        return f"{text} payload {len(self.payload)} frame {len(self.frame)}"
