# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154 # shared with lib.sh and guest
# rings.sh - a hostile process against the queues it shares with the kernel.
#
# $LOGS/bin/rings was compiled by tests/wire/run. Sourced by tests/wire/guest.

FILE=rings

# scribble: some seconds of lies, then a connection that must work, no objects
# left, and a driver that unloads (the guest checks that at its end)
scribble() {
	local status

	timeout -k 5 $((RINGS_SECONDS * 4 + 60)) "$LOGS/bin/rings" "$RINGS_SECONDS" ${RINGS_SEED:+"$RINGS_SEED"}
	status=$?
	[ $status -eq 0 ] || bad "rings: status $status" || return
	counter rxe0 ring_violations
	no_leaks && pingpong -n 20
}

# killed: the same, ended by SIGKILL in its middle
killed() {
	local i pid

	for i in 1 2 3 4 5; do
		"$LOGS/bin/rings" 60 "$i" &
		pid=$!
		sleep "0.$((i * 17 % 10))5"
		kill -9 "$pid"
		wait "$pid" 2>/dev/null
	done
	no_leaks && pingpong -n 20
}

# chase: see rings.c; a kernel that chases is told about by its lockup detector
chase() {
	sysctl -qw kernel.watchdog_thresh=2
	timeout -k 1 30 "$LOGS/bin/rings" chase 3 || bad "the kernel flushes receives without an end: status $?"
	sysctl -qw kernel.watchdog_thresh=10
	no_leaks && pingpong -n 20
}

# orphan: mappings that outlive their queues
orphan() {
	timeout -k 1 60 "$LOGS/bin/rings" orphan 15 || bad "status $?" || return
	no_leaks && pingpong -n 20
}

RINGS_SECONDS=${RINGS_SECONDS:-8}
for name in "${wanted[@]}"; do
	[[ $name != rings && $name != rings/scribble ]] || check scribble scribble
	[[ $name != rings && $name != rings/killed ]] || check killed killed
	[[ $name != rings && $name != rings/chase ]] || check chase chase
	[[ $name != rings && $name != rings/orphan ]] || check orphan orphan
done
