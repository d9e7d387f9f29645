# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154 # shared with lib.sh and guest
# windows.sh - memory windows and invalidation: the cases of windows.c.
#
# $LOGS/bin/windows was compiled by tests/wire/run. Sourced by tests/wire/guest.

FILE=windows

window() {
	timeout -k 1 "$PATIENCE" "$LOGS/bin/windows" "$1" "$(gid_index rxe0 v4)" "$(gid_index rxe1 v4)" ||
		bad "$(tail -n 1 "$CASE_LOG")" || return
	no_leaks
}

# by_two: CPUs that wait for each other for ever would keep the guest until its time is over
by_two() {
	local status=0

	sysctl -qw kernel.softlockup_panic=1 || true
	window bound-by-two || status=$?
	sysctl -qw kernel.softlockup_panic=0 || true
	return $status
}

for case in type-1 type-2 zero-based zero-based-wrap access-rights other-pd send-inv bind-errors region-in-use; do
	for name in "${wanted[@]}"; do
		[[ $name != windows && $name != "windows/$case" ]] || check "$case" window "$case"
	done
done
for name in "${wanted[@]}"; do
	[[ $name != windows && $name != windows/bound-by-two ]] || check bound-by-two by_two
done
