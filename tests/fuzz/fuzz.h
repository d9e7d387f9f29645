/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the fuzz targets share: the code under test, an assertion that libFuzzer
 * reports, and a reader that takes decisions from the input.
 */
#ifndef RXE_FUZZ_H
#define RXE_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/types.h"
#include "proto/wire.h"
#include "proto/opcode.h"
#include "proto/psn.h"
#include "proto/icrc.h"
#include "proto/aeth.h"
#include "proto/errors.h"
#include "proto/classify.h"
#include "proto/recovery.h"

#define must(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: violated: %s\n", __FILE__, __LINE__, #condition); \
		abort(); \
	} \
} while (0)

/* The input as a stream of decisions; zeros once it is used up */
struct input {
	const u8 *data;
	size_t left;
};

static inline u32 input_take(struct input *in, unsigned int bytes)
{
	u32 v = 0;

	while (bytes--) {
		v <<= 8;
		if (in->left) {
			v |= *in->data++;
			in->left--;
		}
	}
	return v;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#endif /* RXE_FUZZ_H */
