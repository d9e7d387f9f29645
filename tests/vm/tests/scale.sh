# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# scale.sh - many connections that send at once, many queue pairs created and
# destroyed, many processes (programs/storm.c). scale-long has the full numbers.

SCALE_CONNECTIONS=${SCALE_CONNECTIONS:-250}
SCALE_LIVES=${SCALE_LIVES:-2000}
SCALE_PROCESSES=${SCALE_PROCESSES:-20}

# storm LIMIT ARGS...
storm() {
	local limit=$1

	shift
	timeout -k 5 "$limit" "$PROGRAMS/storm" "$@" || bad "storm $*: status $?" || return
	no_leaks
}

# lives: destroyed while packets are in flight, of both ends: without a delay most requests
# are done before they are posted, so to speak
lives() {
	modprobe -q sch_netem && n1 tc qdisc add dev veth0 root netem delay 3ms limit 10000 &&
		n2 tc qdisc add dev veth1 root netem delay 3ms limit 10000 ||
		{ skip "no netem here"; return; }
	storm $((PATIENCE * 10)) lives "$SCALE_LIVES" || return
	n1 tc qdisc del dev veth0 root && n2 tc qdisc del dev veth1 root || bad "tc does not end the delay"
}

[ -x "${PROGRAMS:-.}/storm" ] || { check programs skip "no programs: start it with tests/run vm"; return; }
check setup setup || return
check connections storm $((PATIENCE * 5)) scale "$SCALE_CONNECTIONS" 4
check lives lives
check processes storm $((PATIENCE * 5)) crowd "$SCALE_PROCESSES" 5
check afterwards pingpong -n 20
check clean cleanup_all
