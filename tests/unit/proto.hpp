/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The code under test, as C++ sees it, and the test framework. One field of the
 * kernel's C is called "class", which C++ reserves; here it is "cls".
 */
#ifndef RXE_UNIT_PROTO_HPP
#define RXE_UNIT_PROTO_HPP

#include <doctest/doctest.h>

extern "C" {
#define class cls
#include "proto/types.h"
#include "proto/wire.h"
#include "proto/opcode.h"
#include "proto/psn.h"
#include "proto/icrc.h"
#include "proto/aeth.h"
#include "proto/errors.h"
#include "proto/classify.h"
#include "proto/recovery.h"
#include "proto/loss.h"
#include "proto/dcqcn.h"
#undef class
}

/* Every path MTU InfiniBand has */
static const u32 all_pmtus[] = { 256, 512, 1024, 2048, 4096 };

#endif /* RXE_UNIT_PROTO_HPP */
