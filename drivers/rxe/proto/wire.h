/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Byte layout of the InfiniBand transport headers inside a RoCE v2 datagram:
 * lengths, and accessors that read and write big-endian bytes at any alignment.
 * A caller makes sure that the header lies inside the datagram (see opcode.h
 * for what an opcode carries); nothing here checks values.
 */
#ifndef RXE_PROTO_WIRE_H
#define RXE_PROTO_WIRE_H

#include "types.h"

#define ROCE_UDP_PORT	4791	/* IBTA vol 1 A17 */

/* Lengths in bytes; the clause that draws each header */
#define BTH_LEN		12	/* 9.2 */
#define DETH_LEN	8	/* 9.3 */
#define RETH_LEN	16	/* 9.3 */
#define ATMETH_LEN	28	/* 9.3 */
#define AETH_LEN	4	/* 9.3 */
#define ATMACK_LEN	8	/* 9.3 */
#define IMMDT_LEN	4	/* 9.3 */
#define IETH_LEN	4	/* 9.3 */
#define FETH_LEN	4	/* A19 */
#define CNP_LEN		16	/* A17.9.3, of zeros */
#define ICRC_LEN	4	/* 7.8 */

#define PSN_MASK	0xffffff
#define QPN_MASK	0xffffff

/* FETH fields (A19) */
#define FETH_GLOBAL	0x1	/* placement: global visibility */
#define FETH_PERSISTENT	0x2	/* placement: persistence */
#define FETH_SEL_RANGE	0x0	/* selectivity: the range of the RETH */
#define FETH_SEL_MR	0x1	/* selectivity: the whole memory region */

/**
 * wire_get16() - read two bytes, big endian
 * @p: first byte, any alignment
 */
static inline u16 wire_get16(const u8 *p)
{
	return (u16)(p[0] << 8 | p[1]);
}

/**
 * wire_get24() - read three bytes, big endian
 * @p: first byte, any alignment
 */
static inline u32 wire_get24(const u8 *p)
{
	return (u32)p[0] << 16 | (u32)p[1] << 8 | p[2];
}

/**
 * wire_get32() - read four bytes, big endian
 * @p: first byte, any alignment
 */
static inline u32 wire_get32(const u8 *p)
{
	return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
}

/**
 * wire_get64() - read eight bytes, big endian
 * @p: first byte, any alignment
 */
static inline u64 wire_get64(const u8 *p)
{
	return (u64)wire_get32(p) << 32 | wire_get32(p + 4);
}

/**
 * wire_put16() - write two bytes, big endian
 * @p: first byte, any alignment
 * @v: value
 */
static inline void wire_put16(u8 *p, u16 v)
{
	p[0] = (u8)(v >> 8);
	p[1] = (u8)v;
}

/**
 * wire_put24() - write the low three bytes of a value, big endian
 * @p: first byte, any alignment
 * @v: value, the top byte is ignored
 */
static inline void wire_put24(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 16);
	p[1] = (u8)(v >> 8);
	p[2] = (u8)v;
}

/**
 * wire_put32() - write four bytes, big endian
 * @p: first byte, any alignment
 * @v: value
 */
static inline void wire_put32(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 24);
	p[1] = (u8)(v >> 16);
	p[2] = (u8)(v >> 8);
	p[3] = (u8)v;
}

/**
 * wire_put64() - write eight bytes, big endian
 * @p: first byte, any alignment
 * @v: value
 */
static inline void wire_put64(u8 *p, u64 v)
{
	wire_put32(p, (u32)(v >> 32));
	wire_put32(p + 4, (u32)v);
}

/**
 * wire_pad() - pad bytes that follow a payload
 * @payload: payload length in bytes
 *
 * Return: 0 to 3, so that payload and pad are a multiple of four (9.2).
 */
static inline u8 wire_pad(u32 payload)
{
	return (u8)((0 - payload) & 3);
}

/**
 * struct bth_fields - what a sender chooses in a Base Transport Header (9.2)
 * @opcode: see opcode.h
 * @se: solicited event
 * @mig: migration state, true means migrated
 * @ackreq: ask the responder for an acknowledgment
 * @becn: backward congestion notification, only in a CNP
 * @fecn: forward congestion notification
 * @pad: pad bytes after the payload, 0 to 3
 * @pkey: partition key
 * @dqpn: destination QP number, 24 bits
 * @psn: packet sequence number, 24 bits
 */
struct bth_fields {
	u8 opcode;
	bool se;
	bool mig;
	bool ackreq;
	bool becn;
	bool fecn;
	u8 pad;
	u16 pkey;
	u32 dqpn;
	u32 psn;
};

/**
 * bth_opcode() - opcode of a packet
 * @b: BTH
 */
static inline u8 bth_opcode(const u8 *b)
{
	return b[0];
}

/**
 * bth_se() - solicited event bit
 * @b: BTH
 */
static inline bool bth_se(const u8 *b)
{
	return b[1] & 0x80;
}

/**
 * bth_mig() - migration bit
 * @b: BTH
 */
static inline bool bth_mig(const u8 *b)
{
	return b[1] & 0x40;
}

/**
 * bth_pad() - pad bytes between payload and ICRC, 0 to 3
 * @b: BTH
 */
static inline u8 bth_pad(const u8 *b)
{
	return b[1] >> 4 & 3;
}

/**
 * bth_tver() - transport header version; a receiver drops all but 0 (9.6)
 * @b: BTH
 */
static inline u8 bth_tver(const u8 *b)
{
	return b[1] & 0x0f;
}

/**
 * bth_pkey() - partition key
 * @b: BTH
 */
static inline u16 bth_pkey(const u8 *b)
{
	return wire_get16(b + 2);
}

/**
 * bth_fecn() - forward congestion bit
 * @b: BTH
 */
static inline bool bth_fecn(const u8 *b)
{
	return b[4] & 0x80;
}

/**
 * bth_becn() - backward congestion bit
 * @b: BTH
 */
static inline bool bth_becn(const u8 *b)
{
	return b[4] & 0x40;
}

/**
 * bth_dqpn() - destination QP number
 * @b: BTH
 */
static inline u32 bth_dqpn(const u8 *b)
{
	return wire_get24(b + 5);
}

/**
 * bth_ackreq() - does the requester want an acknowledgment
 * @b: BTH
 */
static inline bool bth_ackreq(const u8 *b)
{
	return b[8] & 0x80;
}

/**
 * bth_psn() - packet sequence number
 * @b: BTH
 */
static inline u32 bth_psn(const u8 *b)
{
	return wire_get24(b + 9);
}

/**
 * bth_set_psn() - change the PSN of a header
 * @b: first byte of the BTH
 * @psn: new one, 24 bits
 */
static inline void bth_set_psn(u8 *b, u32 psn)
{
	wire_put24(b + 9, psn);
}

/**
 * bth_follows() - does a packet go on like another one
 * @b: first byte of its BTH
 * @like: first byte of the other one's
 * @psn: PSN that it must have, 24 bits
 *
 * Return: true if both say the same, but that this one has the PSN, and asks for no ACK.
 */
static inline bool bth_follows(const u8 *b, const u8 *like, u32 psn)
{
	return wire_get32(b) == wire_get32(like) && wire_get32(b + 4) == wire_get32(like + 4) &&
	       wire_get32(b + 8) == psn;
}

/**
 * bth_write() - write a whole Base Transport Header
 * @b: BTH_LEN bytes, each of them is written
 * @f: the fields; reserved bits and the version become 0
 */
static inline void bth_write(u8 *b, const struct bth_fields *f)
{
	b[0] = f->opcode;
	b[1] = (u8)((f->se ? 0x80 : 0) | (f->mig ? 0x40 : 0) |
		    (f->pad & 3) << 4);
	wire_put16(b + 2, f->pkey);
	b[4] = (u8)((f->fecn ? 0x80 : 0) | (f->becn ? 0x40 : 0));
	wire_put24(b + 5, f->dqpn);
	b[8] = f->ackreq ? 0x80 : 0;
	wire_put24(b + 9, f->psn);
}

/**
 * reth_va() - remote address of a WRITE, READ or FLUSH
 * @p: RETH
 */
static inline u64 reth_va(const u8 *p)
{
	return wire_get64(p);
}

/**
 * reth_rkey() - key of the remote memory
 * @p: RETH
 */
static inline u32 reth_rkey(const u8 *p)
{
	return wire_get32(p + 8);
}

/**
 * reth_len() - length of the whole message in bytes
 * @p: RETH
 */
static inline u32 reth_len(const u8 *p)
{
	return wire_get32(p + 12);
}

/**
 * reth_write() - write an RDMA extended transport header
 * @p: RETH_LEN bytes
 * @va: remote address
 * @rkey: key of the remote memory
 * @len: length of the whole message in bytes
 */
static inline void reth_write(u8 *p, u64 va, u32 rkey, u32 len)
{
	wire_put64(p, va);
	wire_put32(p + 8, rkey);
	wire_put32(p + 12, len);
}

/**
 * atmeth_va() - remote address of an atomic, 8-byte aligned if valid
 * @p: AtomicETH
 */
static inline u64 atmeth_va(const u8 *p)
{
	return wire_get64(p);
}

/**
 * atmeth_rkey() - key of the remote memory
 * @p: AtomicETH
 */
static inline u32 atmeth_rkey(const u8 *p)
{
	return wire_get32(p + 8);
}

/**
 * atmeth_swap_add() - value to store (COMPARE SWAP) or to add (FETCH ADD)
 * @p: AtomicETH
 */
static inline u64 atmeth_swap_add(const u8 *p)
{
	return wire_get64(p + 12);
}

/**
 * atmeth_compare() - value that a COMPARE SWAP expects
 * @p: AtomicETH
 */
static inline u64 atmeth_compare(const u8 *p)
{
	return wire_get64(p + 20);
}

/**
 * atmeth_write() - write an atomic extended transport header
 * @p: ATMETH_LEN bytes
 * @va: remote address
 * @rkey: key of the remote memory
 * @swap_add: value to store or to add
 * @compare: expected value, 0 for FETCH ADD
 */
static inline void atmeth_write(u8 *p, u64 va, u32 rkey, u64 swap_add,
				u64 compare)
{
	wire_put64(p, va);
	wire_put32(p + 8, rkey);
	wire_put64(p + 12, swap_add);
	wire_put64(p + 20, compare);
}

/**
 * aeth_syndrome() - ACK, RNR NAK or NAK with its 5-bit value, see aeth.h
 * @p: AETH
 */
static inline u8 aeth_syndrome(const u8 *p)
{
	return p[0];
}

/**
 * aeth_msn() - message sequence number, 24 bits
 * @p: AETH
 */
static inline u32 aeth_msn(const u8 *p)
{
	return wire_get24(p + 1);
}

/**
 * aeth_write() - write an ACK extended transport header
 * @p: AETH_LEN bytes
 * @syndrome: see aeth.h
 * @msn: message sequence number, the top byte is ignored
 */
static inline void aeth_write(u8 *p, u8 syndrome, u32 msn)
{
	p[0] = syndrome;
	wire_put24(p + 1, msn);
}

/**
 * atmack_orig() - value the remote memory held before an atomic
 * @p: AtomicAckETH
 */
static inline u64 atmack_orig(const u8 *p)
{
	return wire_get64(p);
}

/**
 * atmack_write() - write an atomic ACK extended transport header
 * @p: ATMACK_LEN bytes
 * @orig: value the memory held before
 */
static inline void atmack_write(u8 *p, u64 orig)
{
	wire_put64(p, orig);
}

/**
 * immdt_get() - immediate data
 * @p: ImmDt
 *
 * Return: the four bytes as they are, which is how verbs hand them over.
 */
static inline __be32 immdt_get(const u8 *p)
{
	__be32 v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

/**
 * immdt_put() - write immediate data
 * @p: IMMDT_LEN bytes
 * @v: the bytes as verbs hand them over
 */
static inline void immdt_put(u8 *p, __be32 v)
{
	__builtin_memcpy(p, &v, sizeof(v));
}

/**
 * ieth_rkey() - key to invalidate
 * @p: IETH
 */
static inline u32 ieth_rkey(const u8 *p)
{
	return wire_get32(p);
}

/**
 * ieth_write() - write an invalidate extended transport header
 * @p: IETH_LEN bytes
 * @rkey: key to invalidate
 */
static inline void ieth_write(u8 *p, u32 rkey)
{
	wire_put32(p, rkey);
}

/**
 * deth_qkey() - queue key of a datagram
 * @p: DETH
 */
static inline u32 deth_qkey(const u8 *p)
{
	return wire_get32(p);
}

/**
 * deth_sqp() - source QP number of a datagram
 * @p: DETH
 */
static inline u32 deth_sqp(const u8 *p)
{
	return wire_get24(p + 5);
}

/**
 * deth_write() - write a datagram extended transport header
 * @p: DETH_LEN bytes, the reserved byte becomes 0
 * @qkey: queue key
 * @sqp: source QP number, the top byte is ignored
 */
static inline void deth_write(u8 *p, u32 qkey, u32 sqp)
{
	wire_put32(p, qkey);
	p[4] = 0;
	wire_put24(p + 5, sqp);
}

/**
 * feth_type() - placement that a FLUSH asks for, bits FETH_GLOBAL, FETH_PERSISTENT
 * @p: FETH
 */
static inline u8 feth_type(const u8 *p)
{
	return p[3] & 0x0f;
}

/**
 * feth_selectivity() - what a FLUSH covers, FETH_SEL_RANGE or FETH_SEL_MR
 * @p: FETH
 */
static inline u8 feth_selectivity(const u8 *p)
{
	return p[3] >> 4 & 3;
}

/**
 * feth_write() - write a flush extended transport header
 * @p: FETH_LEN bytes, reserved bits become 0
 * @type: placement bits
 * @selectivity: FETH_SEL_RANGE or FETH_SEL_MR
 */
static inline void feth_write(u8 *p, u8 type, u8 selectivity)
{
	wire_put24(p, 0);
	p[3] = (u8)((selectivity & 3) << 4 | (type & 0x0f));
}

#endif /* RXE_PROTO_WIRE_H */
