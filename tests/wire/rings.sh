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

	timeout -k 5 $((RINGS_SECONDS * 4 + PATIENCE)) "$LOGS/bin/rings" "$RINGS_SECONDS" ${RINGS_SEED:+"$RINGS_SEED"}
	status=$?
	[ $status -eq 0 ] || bad "rings: status $status" || return
	counter rxe0 ring_violations
	no_leaks && pingpong -n 20
}

# killed COUNT [MODE]: the same, ended by SIGKILL in its middle
killed() {
	local i pid

	for ((i = 1; i <= $1; i++)); do
		"$LOGS/bin/rings" ${2:+"$2"} 60 "$i" &
		pid=$!
		sleep "0.$((i * 17 % 10))5"
		kill -9 "$pid"
		wait "$pid" 2>/dev/null
	done
	no_leaks && pingpong -n 20
}

# chase: see rings.c; a kernel that chases is told about by its lockup detector
chase() {
	sysctl -qw kernel.watchdog_thresh=$((PATIENCE / 30))
	timeout -k 1 $((PATIENCE / 2)) "$LOGS/bin/rings" chase $((PATIENCE / 20)) || bad "the kernel flushes receives without an end: status $?"
	sysctl -qw kernel.watchdog_thresh=10
	no_leaks && pingpong -n 20
}

# datagrams: lies about addresses, then new queue pairs, which the program looks at itself
datagrams() {
	timeout -k 5 $((RINGS_SECONDS * 4 + PATIENCE)) "$LOGS/bin/rings" ud "$RINGS_SECONDS" ${RINGS_SEED:+"$RINGS_SEED"} ||
		bad "rings ud: status $?" || return
	no_leaks && killed 3 ud && pingpong_by ibv_ud_pingpong -s 1024 -n 20
}

# opcodes: what user space may not ask for
opcodes() {
	timeout -k 1 "$PATIENCE" "$LOGS/bin/rings" opcodes || bad "rings opcodes: status $?" || return
	no_leaks
}

# orphan: mappings that outlive their queues
orphan() {
	timeout -k 1 "$PATIENCE" "$LOGS/bin/rings" orphan 15 || bad "status $?" || return
	no_leaks && pingpong -n 20
}

# shared: lies in a shared receive queue, beside who uses another one and does not lie
shared() {
	local pid turns=0

	timeout -k 5 $((RINGS_SECONDS * 4 + PATIENCE)) "$LOGS/bin/rings" shared "$RINGS_SECONDS" ${RINGS_SEED:+"$RINGS_SEED"} \
		>"$CASE_LOG.rings" 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		pingpong_by ibv_srq_pingpong -q 2 -n 100 || break
		turns=$((turns + 1))
	done
	wait $pid || bad "rings shared: status $?: $(tail -n 1 "$CASE_LOG.rings")" || return
	cat "$CASE_LOG.rings"
	[ ! -s "$REASON" ] || return
	[ $turns -gt 0 ] || bad "nobody else used the device meanwhile" || return
	counter rxe1 ring_violations
	no_leaks && killed 3 shared
}

RINGS_SECONDS=${RINGS_SECONDS:-8}
for name in "${wanted[@]}"; do
	[[ $name != rings && $name != rings/scribble ]] || check scribble scribble
	[[ $name != rings && $name != rings/killed ]] || check killed killed 5
	[[ $name != rings && $name != rings/shared ]] || check shared shared
	[[ $name != rings && $name != rings/datagrams ]] || check datagrams datagrams
	[[ $name != rings && $name != rings/opcodes ]] || check opcodes opcodes
	[[ $name != rings && $name != rings/chase ]] || check chase chase
	[[ $name != rings && $name != rings/orphan ]] || check orphan orphan
done
