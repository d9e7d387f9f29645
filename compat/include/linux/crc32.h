/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * CRC-32 at the speed of the machine, which is not always that of the kernel's
 * library: compat/crc32.c measures.
 */
#ifndef RXE_COMPAT_LINUX_CRC32_H
#define RXE_COMPAT_LINUX_CRC32_H

#include_next <linux/crc32.h>

#if RXE_HAVE_CRC32_OPTIMIZATIONS || RXE_HAVE_CRYPTO_ALLOC_SHASH

void rxe_compat_crc32_init(void);
void rxe_compat_crc32_exit(void);
u32 rxe_compat_crc32_le(u32 crc, const void *p, size_t len);

#ifndef RXE_COMPAT_KERNEL_CRC32
#define crc32_le rxe_compat_crc32_le
#endif

#else

static inline void rxe_compat_crc32_init(void)
{
}

static inline void rxe_compat_crc32_exit(void)
{
}

#endif

#endif /* RXE_COMPAT_LINUX_CRC32_H */
