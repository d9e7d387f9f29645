# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# odp.sh - memory on demand: all verbs on pages that are not there, holes, files,
# windows, advice, and memory that is mapped and unmapped while it is used
# (programs/odp.c); then perftest.

on_demand() {
	timeout -k 1 "$((PATIENCE * 3))" "$PROGRAMS/odp" "$1" "$(gid_index rxe0 v4)" "$(gid_index rxe1 v4)" ||
		bad "$1: status $?: $(tail -n 1 "$CASE_LOG")" || return
	no_leaks
}

# Everything at once, while pages go
torture() {
	STORM_ON_DEMAND=1 timeout -k 5 "$((PATIENCE * 2))" "$PROGRAMS/storm" torture 8 "${TORTURE_SECONDS:-4}" \
		"${SEED:-$RANDOM$RANDOM}" || bad "storm: status $?: $(tail -n 1 "$CASE_LOG")" || return
	no_leaks
}

# Where the core does not have it, registering must be refused.
supported() {
	local status

	"$PROGRAMS/odp" supported "$(gid_index rxe0 v4)" "$(gid_index rxe1 v4)"
	status=$?
	[ $status -eq 77 ] || return $status
	# Linux 5.8 or later, configured for it
	! core_makes_links || ! grep -qw hmm_range_fault /proc/kallsyms ||
		bad "this kernel could, but the device does not say so" || return
	skip "this kernel's core has no on-demand paging; it is refused"
}

[ -x "${PROGRAMS:-.}/odp" ] || { check programs skip "no programs: start it with tests/run vm"; return; }
check setup setup || return
if check supported supported; then
	for case in explicit implicit unreliable holes file window advise churn; do
		check "$case" on_demand "$case"
	done
	check torture torture
	LIMIT=$((PATIENCE * 3)) check write-bw perftest ib_write_bw --odp -s 65536 -n 200
	LIMIT=$((PATIENCE * 3)) check read-bw perftest ib_read_bw --odp -s 65536 -n 100
	LIMIT=$((PATIENCE * 3)) check send-bw perftest ib_send_bw --odp -s 65536 -n 200
	check no-leaks no_leaks
fi
check clean cleanup_all
