// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fastest CRC-32 that this machine has.
 *
 * The library of an older kernel computes it from tables, and its crypto API
 * often has "crc32" on the CPU's carry-less multiplication, ten times as fast.
 * The library of a newer kernel always takes that instruction, and where the
 * CPU is emulated (a guest without KVM) tables are two and a half times as fast
 * as that. So the library and one other way are timed once, on the lengths that
 * matter, and the shortest length from which the other one wins is kept. It
 * needs to be proved equal first; anything odd leaves the library in charge.
 */
#define RXE_COMPAT_KERNEL_CRC32

#include <linux/crc32.h>

#if RXE_HAVE_CRC32_OPTIMIZATIONS || RXE_HAVE_CRYPTO_ALLOC_SHASH

#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#define LONGEST	4096

static size_t other_from = SIZE_MAX;	/* shorter ones go to the library */

#if RXE_HAVE_CRC32_OPTIMIZATIONS

#include <linux/unaligned.h>

#define TABLES	8

/* [n][byte]: the sum of a byte with n zeros behind it; set once, before any packet */
static u32 (*tables)[256];

static u32 other_sum(u32 crc, const void *p, size_t len)
{
	const u8 *at = p;

	for (; len >= TABLES; at += TABLES, len -= TABLES) {
		u32 low = crc ^ get_unaligned_le32(at);
		u32 high = get_unaligned_le32(at + 4);

		crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^
		      tables[5][low >> 16 & 0xff] ^ tables[4][low >> 24] ^
		      tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
		      tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
	}
	while (len--)
		crc = tables[0][(crc ^ *at++) & 0xff] ^ crc >> 8;
	return crc;
}

static const char *other_name(void)
{
	return "tables";
}

/* A library that is not the CPU's own instruction is tables itself. */
static bool other_start(void)
{
	static const u8 zeros[TABLES];
	unsigned int byte, behind;

	if (!(crc32_optimizations() & CRC32_LE_OPTIMIZATION))
		return false;
	tables = kmalloc_array(TABLES, sizeof(*tables), GFP_KERNEL);
	if (!tables)
		return false;
	for (behind = 0; behind < TABLES; behind++)
		for (byte = 0; byte < ARRAY_SIZE(*tables); byte++)
			tables[behind][byte] = crc32_le(byte, zeros, behind + 1);
	return true;
}

static void other_stop(void)
{
	kfree(tables);
	tables = NULL;
}

#else

#include <crypto/hash.h>

static struct crypto_shash *shash_crc32;	/* set once, before any packet */

/* The state of "crc32" is the running sum itself, in CPU order. */
static u32 other_sum(u32 crc, const void *p, size_t len)
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

static const char *other_name(void)
{
	return crypto_tfm_alg_driver_name(crypto_shash_tfm(shash_crc32));
}

static bool other_start(void)
{
	struct crypto_shash *tfm = crypto_alloc_shash("crc32", 0, 0);

	if (IS_ERR(tfm))
		return false;
	if (crypto_shash_descsize(tfm) != sizeof(u32)) {
		crypto_free_shash(tfm);
		return false;
	}
	shash_crc32 = tfm;
	return true;
}

static void other_stop(void)
{
	crypto_free_shash(shash_crc32);
	shash_crc32 = NULL;
}

#endif

/**
 * rxe_compat_crc32_le() - crc32_le() by the faster of the library and the other way
 * @crc: state before
 * @p: bytes
 * @len: how many
 *
 * Context: any.
 * Return: state after.
 */
u32 rxe_compat_crc32_le(u32 crc, const void *p, size_t len)
{
	if (len < other_from)
		return crc32_le(crc, p, len);
	return other_sum(crc, p, len);
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

static u32 library_sum(u32 crc, const void *p, size_t len)
{
	return crc32_le(crc, p, len);
}

/* Every length and alignment that a packet may bring gives the same sum. */
static bool same_sums(const u8 *buf)
{
	size_t len, skew;

	for (skew = 0; skew < 16; skew += 3)
		for (len = 1; len + skew <= LONGEST; len += 61)
			if (other_sum(len, buf + skew, len) !=
			    crc32_le(len, buf + skew, len))
				return false;
	return true;
}

/* The shortest length from which the other way wins, SIZE_MAX if it is none. */
static size_t wins_from(u8 *buf)
{
	static const size_t lengths[] = { LONGEST, 1024, 512, 256, 64, 16 };
	size_t from = SIZE_MAX;
	unsigned int i;

	for (i = 0; i < LONGEST; i++)
		buf[i] = i * 167 + (i >> 8);
	if (!same_sums(buf))
		return SIZE_MAX;
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		u64 other = time_one(other_sum, buf, lengths[i]);
		u64 library = time_one(library_sum, buf, lengths[i]);

		pr_debug("rxe: CRC-32 of %zu bytes: %llu ns by %s, %llu ns by the library\n",
			 lengths[i], other, other_name(), library);
		if (other >= library)
			break;
		from = lengths[i];
	}
	return from;
}

/**
 * rxe_compat_crc32_init() - choose, once, before the first packet
 *
 * Context: process context; may load a module of the crypto API.
 */
void rxe_compat_crc32_init(void)
{
	u8 *buf;

	if (!other_start())
		return;
	buf = kmalloc(LONGEST, GFP_KERNEL);
	if (buf)
		other_from = wins_from(buf);
	kfree(buf);
	if (other_from == SIZE_MAX)
		other_stop();
}

/**
 * rxe_compat_crc32_exit() - give back what the other way needs
 *
 * Context: process context; no device is left.
 */
void rxe_compat_crc32_exit(void)
{
	if (other_from == SIZE_MAX)
		return;
	WRITE_ONCE(other_from, SIZE_MAX);
	synchronize_rcu();	/* a late datagram in the receive softirq */
	other_stop();
}

#endif
