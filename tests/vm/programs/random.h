/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random numbers that a seed repeats, for programs that do damage.
 */
#ifndef RXE_TEST_RANDOM_H
#define RXE_TEST_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* one sequence a thread; not 0 */
static __thread uint64_t seed;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint32_t below(uint32_t n)
{
	return random64() % n;
}

static inline bool one_in(uint32_t n)
{
	return !below(n);
}

#endif /* RXE_TEST_RANDOM_H */
