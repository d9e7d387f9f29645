// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fastest CRC-32 of a kernel whose library computes it from tables.
 *
 * The crypto API of such a kernel often has "crc32" on the CPU's carry-less
 * multiplication, ten times as fast. What is there differs by architecture and
 * configuration, so both are timed once, on the lengths that matter, and the
 * shortest length from which the crypto API wins is kept. It needs to be proved
 * equal first; anything odd leaves the library in charge.
 */
#define RXE_COMPAT_KERNEL_CRC32

#include <linux/crc32.h>

#if !RXE_HAVE_CRC32_OPTIMIZATIONS && RXE_HAVE_CRYPTO_ALLOC_SHASH

#include <crypto/hash.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#define LONGEST	4096

static struct crypto_shash *shash_crc32;	/* set once, before any packet */
static size_t shash_from = SIZE_MAX;		/* shorter ones go to the library */

/* The state of "crc32" is the running sum itself, in CPU order. */
static u32 crc32_by_shash(u32 crc, const void *p, size_t len)
{
	SHASH_DESC_ON_STACK(desc, shash_crc32);
	u32 sum = crc;

	memset(desc, 0, sizeof(*desc));	/* some kernels have flags there */
	desc->tfm = shash_crc32;
	if (crypto_shash_import(desc, &sum) || crypto_shash_update(desc, p, len) ||
	    crypto_shash_export(desc, &sum))
		return crc32_le(crc, p, len);
	return sum;
}

/**
 * rxe_compat_crc32_le() - crc32_le() by the faster of library and crypto API
 * @crc: state before
 * @p: bytes
 * @len: how many
 *
 * Context: any.
 * Return: state after.
 */
u32 rxe_compat_crc32_le(u32 crc, const void *p, size_t len)
{
	if (len < shash_from)
		return crc32_le(crc, p, len);
	return crc32_by_shash(crc, p, len);
}

/* Nanoseconds that @len bytes take, the best of a few runs. */
static u64 time_one(u32 (*sum)(u32 crc, const void *p, size_t len), const u8 *buf,
		    size_t len)
{
	static u32 sink;	/* keeps the compiler from leaving the work out */
	u64 best = U64_MAX, start, took;
	int i;

	for (i = 0; i < 8; i++) {
		preempt_disable();
		start = ktime_get_ns();
		WRITE_ONCE(sink, sum(i, buf, len));
		took = ktime_get_ns() - start;
		preempt_enable();
		best = min(best, took);
	}
	return best;
}

static u32 crc32_by_library(u32 crc, const void *p, size_t len)
{
	return crc32_le(crc, p, len);
}

/* Every length and alignment that a packet may bring gives the same sum. */
static bool same_sums(const u8 *buf)
{
	size_t len, skew;

	for (skew = 0; skew < 16; skew += 3)
		for (len = 1; len + skew <= LONGEST; len += 61)
			if (crc32_by_shash(len, buf + skew, len) !=
			    crc32_le(len, buf + skew, len))
				return false;
	return true;
}

/**
 * rxe_compat_crc32_init() - choose, once, before the first packet
 *
 * Context: process context; may load a module of the crypto API.
 */
void rxe_compat_crc32_init(void)
{
	static const size_t lengths[] = { LONGEST, 1024, 512, 256 };
	struct crypto_shash *tfm;
	size_t from = SIZE_MAX;
	unsigned int i;
	u8 *buf;

	tfm = crypto_alloc_shash("crc32", 0, 0);
	if (IS_ERR(tfm))
		return;
	buf = kmalloc(LONGEST, GFP_KERNEL);
	if (!buf)
		goto library;
	for (i = 0; i < LONGEST; i++)
		buf[i] = i * 167 + (i >> 8);

	shash_crc32 = tfm;
	if (crypto_shash_descsize(tfm) != sizeof(u32) || !same_sums(buf))
		goto library;
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		u64 shash = time_one(crc32_by_shash, buf, lengths[i]);
		u64 library = time_one(crc32_by_library, buf, lengths[i]);

		pr_debug("rxe: CRC-32 of %zu bytes: %llu ns by %s, %llu ns by the library\n",
			 lengths[i], shash,
			 crypto_tfm_alg_driver_name(crypto_shash_tfm(tfm)), library);
		if (shash >= library)
			break;
		from = lengths[i];
	}
	if (from == SIZE_MAX)
		goto library;
	kfree(buf);
	shash_from = from;
	return;

library:
	kfree(buf);
	shash_crc32 = NULL;
	crypto_free_shash(tfm);
}

/**
 * rxe_compat_crc32_exit() - give the crypto API's object back
 *
 * Context: process context; no device is left.
 */
void rxe_compat_crc32_exit(void)
{
	if (!shash_crc32)
		return;
	WRITE_ONCE(shash_from, SIZE_MAX);
	synchronize_rcu();	/* a late datagram in the receive softirq */
	crypto_free_shash(shash_crc32);
	shash_crc32 = NULL;
}

#endif
