/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * need.h - what a test program cannot do without: it says so, and ends with status 1.
 */
#ifndef TEST_NEED_H
#define TEST_NEED_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char *program_invocation_short_name;

#define FAIL(...)							\
do {									\
	printf("%s: ", program_invocation_short_name);			\
	printf(__VA_ARGS__);						\
	putchar('\n');							\
	exit(1);							\
} while (0)

#define NEED(condition)							\
do {									\
	if (!(condition))						\
		FAIL("not so: %s: %s", #condition, strerror(errno));	\
} while (0)

#endif /* TEST_NEED_H */
