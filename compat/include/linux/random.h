/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Random numbers that nobody predicts. */
#ifndef RXE_COMPAT_LINUX_RANDOM_H
#define RXE_COMPAT_LINUX_RANDOM_H

#include_next <linux/random.h>

#if !RXE_HAVE_GET_RANDOM_U32

static inline u32 rxe_compat_get_random_u32(void)
{
	u32 number;

	get_random_bytes(&number, sizeof(number));
	return number;
}

#define get_random_u32 rxe_compat_get_random_u32

#endif /* !RXE_HAVE_GET_RANDOM_U32 */

#endif /* RXE_COMPAT_LINUX_RANDOM_H */
