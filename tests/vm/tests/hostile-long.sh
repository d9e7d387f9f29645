# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# hostile-long.sh - hostile.sh, a minute each.

HOSTILE_SECONDS=60
# shellcheck source=tests/vm/tests/hostile.sh
. "$VM/tests/hostile.sh"
