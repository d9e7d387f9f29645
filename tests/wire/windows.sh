# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154 # shared with lib.sh and guest
# windows.sh - memory windows and invalidation: the cases of windows.c.
#
# $LOGS/bin/windows was compiled by tests/wire/run. Sourced by tests/wire/guest.

FILE=windows

window() {
	local status

	timeout -k 1 "$PATIENCE" "$LOGS/bin/windows" "$1" "$(gid_index rxe0 v4)" "$(gid_index rxe1 v4)"
	status=$?
	[ $status -ne 77 ] || { skip "$(tail -n 1 "$CASE_LOG")"; return; }
	[ $status -eq 0 ] || bad "status $status: $(tail -n 1 "$CASE_LOG")" || return
	no_leaks
}

# not_for_ever CASE: CPUs that wait for each other for ever would keep the guest until its
# time is over
not_for_ever() {
	local status=0

	sysctl -qw kernel.softlockup_panic=1 || true
	window "$1" || status=$?
	sysctl -qw kernel.softlockup_panic=0 || true
	return $status
}

# asked_about: packets for rxe1 interrupt the first CPU
asked_about() {
	local queue=/sys/class/net/veth1/queues/rx-0/rps_cpus status=0

	n2 sh -c "echo 1 >$queue" || { skip "no receive packet steering here"; return; }
	not_for_ever asked-about || status=$?
	n2 sh -c "echo 0 >$queue"
	return $status
}

for case in type-1 type-2 zero-based zero-based-wrap access-rights other-pd send-inv bind-errors region-in-use; do
	for name in "${wanted[@]}"; do
		[[ $name != windows && $name != "windows/$case" ]] || check "$case" window "$case"
	done
done
for name in "${wanted[@]}"; do
	[[ $name != windows && $name != windows/bound-by-two ]] || check bound-by-two not_for_ever bound-by-two
	[[ $name != windows && $name != windows/asked-about ]] || check asked-about asked_about
done
