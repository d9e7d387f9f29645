// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The framework's own code and main(), compiled once. */
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
