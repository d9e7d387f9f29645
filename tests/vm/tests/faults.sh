# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# faults.sh - memory that lacks: each allocation of each verb fails once (programs/faults.c),
# and one in fifty of those that cannot wait, everywhere in the kernel, under traffic.
#
# The debug kernel can make them fail; those of distributions cannot.

FAULTS=/sys/kernel/debug

# set_faults Y|N: of slabs and of pages, in silence; Y: only of those that may not sleep
set_faults() {
	local dir

	for dir in "$FAULTS/failslab" "$FAULTS/fail_page_alloc"; do
		echo 0 >"$dir/probability" && echo 0 >"$dir/verbose" && echo N >"$dir/task-filter" &&
			echo -1 >"$dir/times" && echo 1 >"$dir/interval" &&
			echo "$1" >"$dir/ignore-gfp-wait" || bad "$dir does not take it" || return
	done
	echo 0 >"$FAULTS/fail_page_alloc/min-order" && echo N >"$FAULTS/failslab/cache-filter"
}

# each CALL: of its allocations; in the namespace whose "lo" gets a device
each() {
	set_faults N || return
	set -- "${SEED:-$RANDOM$RANDOM}" "$1"
	echo "seed $1"
	timeout -k 2 $((PATIENCE * 4)) ip netns exec ns1 "$PROGRAMS/faults" "$@" ||
		bad "status $?: $(tail -n 1 "$CASE_LOG")" || {
			# that of add-link and delete-link, which the others are not to meet
			! device_exists rxe2 || link_delete rxe2
			return 1
		}
	no_leaks
}

# scarce COMMAND...: while one in fifty allocations fails that may not sleep: packets, and
# what the stack below needs for them
scarce() {
	local status failed=1000000

	set_faults Y && echo $failed >"$FAULTS/failslab/times" &&
		echo 2 >"$FAULTS/failslab/probability" || return
	"$@"
	status=$?
	echo 0 >"$FAULTS/failslab/probability"
	failed=$((failed - $(cat "$FAULTS/failslab/times")))
	echo "$failed allocations failed"
	[ $status -eq 0 ] || return $status
	[ $failed -ge 20 ] || bad "nothing was tested: $failed allocations failed"
}

[ -x "${PROGRAMS:-.}/faults" ] || { check programs skip "no programs: start it with tests/run vm"; return; }
[ -e /proc/self/fail-nth ] && [ -d "$FAULTS/failslab" ] ||
	{ check faults skip "this kernel makes no allocation fail: tests/run vm --debug faults"; return; }

check setup setup || return
for call in $("$PROGRAMS/faults" list); do
	check "$call" each "$call"
done
check scarce-order scarce program order 300 "${SEED:-$RANDOM$RANDOM}"
check scarce-contents scarce program storm compare 8 "${SEED:-$RANDOM$RANDOM}"
check no-leaks no_leaks
check clean cleanup_all
