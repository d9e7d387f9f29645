# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# pyverbs-newest-long.sh - pyverbs.sh with the newest rdma-core that Debian has, which
# tests/run has fetched (tests/vm/pyverbs-root). Not in CI: it changes by itself.

[ -n "${PYVERBS_ROOT-}" ] || { check rdma-core skip "no PYVERBS_ROOT: start it with tests/run vm"; return; }
# shellcheck source=tests/vm/tests/pyverbs.sh
. "$VM/tests/pyverbs.sh"
