# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# limits-long.sh - what query_device promises can be had, and no more: as many objects
# of each kind, queues and messages of the largest size (tests/vm/programs/limits.py). And
# as many addresses as the GID table has entries, and more.
# packages: python3-pyverbs

# shellcheck source=tests/vm/gids.sh
. "$VM/gids.sh"

limit() {
	local status

	timeout -k 5 $((PATIENCE * 20)) python3 "$VM/programs/limits.py" rxe0 "$(gid_index rxe0 v4)" "$1"
	status=$?
	[ $status -ne 77 ] || { skip "$(tail -n 1 "$CASE_LOG")"; return; }
	[ $status -eq 0 ] || bad "status $status: $(tail -n 1 "$CASE_LOG")" || return
	no_leaks
}

check setup setup || return
check gids all_gids
python3 -c 'import pyverbs.device' 2>/dev/null || {
	check pyverbs skip "no python3-pyverbs here"
	check clean cleanup_all
	return
}
# each ring is a mapping, and each region locks a page
sysctl -qw vm.max_map_count=4000000
ulimit -l unlimited
check depth limit depth
check message limit message
for what in pd ah mw srq cq mr qp; do
	check "max-$what" limit $what
done
check clean cleanup_all
