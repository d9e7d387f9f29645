# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# torture-long.sh - torture.sh for ten minutes.

TORTURE_SECONDS=120
# shellcheck source=tests/vm/tests/torture.sh
. "$VM/tests/torture.sh"
