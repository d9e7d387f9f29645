/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The only door between proto/ and its surroundings: fixed-width types, bool,
 * NULL and byte order. The kernel supplies them for the module, the C library
 * for unit tests and fuzzing; nothing else may be included below proto/.
 */
#ifndef RXE_PROTO_TYPES_H
#define RXE_PROTO_TYPES_H

#ifdef __KERNEL__

#include <linux/types.h>
#include <asm/byteorder.h>

#else /* user space */

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed long long s64;
typedef int s32;
typedef u32 __be32;

#define be32_to_cpu(x) be32toh(x)
#define cpu_to_be32(x) htobe32(x)

#endif /* __KERNEL__ */

#endif /* RXE_PROTO_TYPES_H */
