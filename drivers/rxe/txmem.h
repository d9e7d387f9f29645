/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Recycled transmit memory (txmem.c).
 */
#ifndef RXE_TXMEM_H
#define RXE_TXMEM_H

struct page;
struct sk_buff;

struct sk_buff *rxe_txmem_skb(u32 len, struct page **page);
u8 *rxe_txmem_grow(struct page *page, u32 end, u32 len, u32 *count);
u8 *rxe_txmem_bytes(u32 len, u32 *count, struct page **page, u32 *offset);
void rxe_txmem_exit(void);

#endif /* RXE_TXMEM_H */
