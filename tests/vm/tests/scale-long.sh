# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# scale-long.sh - scale.sh with 1,000 connections that send at once, 10,000 queue
# pairs, 100 processes.

SCALE_CONNECTIONS=1000 SCALE_LIVES=10000 SCALE_PROCESSES=100
# shellcheck source=tests/vm/tests/scale.sh
. "$VM/tests/scale.sh"
