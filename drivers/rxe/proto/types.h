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
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef uint32_t __be32;

#define be32_to_cpu(x) be32toh(x)
#define cpu_to_be32(x) htobe32(x)

#endif /* __KERNEL__ */

#endif /* RXE_PROTO_TYPES_H */
