# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# torture.sh - queue pairs that do everything at once (programs/storm.c), while what
# is below them changes or goes. Nothing hangs, nothing stays behind, and afterwards a
# connection works.
#
# Every other life is one over IPv6. torture-long is the same for minutes. SEED=N repeats
# the random choices of a run.

# shellcheck source=tests/vm/netem.sh
. "$VM/netem.sh"
# shellcheck source=tests/vm/disturb.sh
. "$VM/disturb.sh"

SECONDS_EACH=${TORTURE_SECONDS:-3}
SEED=${SEED:-$RANDOM$RANDOM}
RANDOM=$((SEED % 32768))
STORM=
# How often each kind was done
declare -gA COUNT=()

# any WORD...: one of them, in ANY; a subshell's RANDOM would not be the seed's
any() { shift $((RANDOM % $#)); ANY=$1; }

# shuffled WORD...: all of them, in ORDER
shuffled() {
	local n

	ORDER=()
	while [ $# -gt 0 ]; do
		n=$((RANDOM % $#))
		ORDER+=("${@:n+1:1}")
		set -- "${@:1:n}" "${@:n+2}"
	done
}

# What makes a life the other one; the seed says of which kind the first is
STORM_RUNS=$((SEED % 2))
kind_next() {
	STORM_RUNS=$((STORM_RUNS + 1)) STORM_GID=v4
	[ $((STORM_RUNS % 2)) -eq 0 ] || ! has_ipv6 || STORM_GID=v6
	export STORM_GID
}

# storm_start PAIRS SECONDS: in the initial namespace, so that ns1 and ns2 can go
storm_start() {
	kind_next
	"$PROGRAMS/storm" torture "$1" "$2" $((SEED + STORM_RUNS)) >>"$CASE_LOG.storm" 2>&1 &
	STORM=$!
}

storm_begun() { tail -n +"$1" "$CASE_LOG.storm" | grep -q begun || storm_ended; }
storm_ended() { ! kill -0 "$STORM" 2>/dev/null; }

# storm_ends STATUS...: it ends by itself, with one of these
storm_ends() {
	local status wanted=" $* "

	eventually storm_ended || {
		bad "the storm hangs: $(ps -o stat=,wchan= -p "$STORM")"
		kill -9 "$STORM"
		return 1
	}
	wait "$STORM"
	status=$?
	STORM=
	[[ $wanted == *" $status "* ]] ||
		bad "storm: status $status, not$wanted: $(tail -n 1 "$CASE_LOG.storm")"
}

still_works() { no_leaks && pingpong -n 20; }

# Until some of each kind of request is done, however slow this machine is
life() {
	local status=0

	setup || return
	STORM_ALL=1 storm_start 8 "$SECONDS_EACH"
	PATIENCE=$((PATIENCE + SECONDS_EACH + 100)) storm_ends 0 || status=1
	echo "$STORM_GID: $(tail -n 2 "$CASE_LOG.storm")"
	[ $status -eq 0 ] && still_works && cleanup_all
}

crowd() {
	setup || return
	kind_next
	timeout -k 5 $((SECONDS_EACH + PATIENCE)) "$PROGRAMS/storm" crowd 10 "$SECONDS_EACH" "$SEED" ||
		bad "crowd: status $?" || return
	still_works && cleanup_all
}

# storm_there: one that has begun; the next one, if the last one has ended
storm_there() {
	local lines

	if [ -n "$STORM" ]; then
		storm_ended || return 0
		storm_ends 0 || return
	fi
	# it needs an address to begin with
	ports_are_back || return
	touch "$CASE_LOG.storm"
	lines=$(($(wc -l <"$CASE_LOG.storm") + 1))
	storm_start 6 "$SECONDS_EACH"
	eventually storm_begun "$lines" || bad "the storm does not begin"
}

# disturbed KIND...: each was, at least once
disturbed() {
	local kind status=0

	for kind; do
		echo "$kind: ${COUNT[$kind]-0} times"
		[ "${COUNT[$kind]-0}" -gt 0 ] || bad "not done in this run: $kind" || status=1
	done
	return $status
}

# ports_are_back: and addresses
ports_are_back() {
	local kind

	eventually port_is rxe0 ACTIVE && eventually port_is rxe1 ACTIVE || bad "a port stays down" || return
	for kind in v4 $(! has_ipv6 || echo v6); do
		eventually gid_index rxe0 "$kind" >/dev/null && eventually gid_index rxe1 "$kind" >/dev/null ||
			bad "an address stays away: $kind" || return
	done
}

# Storms, one after the other, and what a network does to its users and takes back: each kind
# once, in any order, and then again while there is time.
network() {
	local end=$((SECONDS + SECONDS_EACH)) kind

	setup || return
	STORM='' COUNT=()
	kinds_here
	while :; do
		shuffled "${KINDS[@]}"
		for kind in "${ORDER[@]}"; do
			storm_there || return
			AWAY=0.0$((RANDOM % 10))
			any 600 1500 9000
			SMALL=$ANY
			any 1 2
			echo "$SECONDS: $kind, ns$ANY, $STORM_GID"
			disturb "$kind" "$ANY" || return
			COUNT[$kind]=$((${COUNT[$kind]-0} + 1))
		done
		[ $SECONDS -lt $end ] || break
	done
	storm_ends 0 && disturbed "${KINDS[@]}" && ports_are_back && still_works && cleanup_all
}

# path_known v4|v6: both ends know the other's address. What the RDMA core asks for is given up
# after a second, which is when the first question is repeated; and that one may be lost
# while a link comes up.
path_known() {
	local net=10.1.0.

	[ "$1" = v4 ] || net=fd01::
	[ -e "$RULES" ] || { eventually n1 ping -qc 1 -W 1 "${net}2" && eventually n2 ping -qc 1 -W 1 "${net}1"; } ||
		bad "nobody answers over $1"
}

patient_ended() { ! kill -0 "$PATIENT" 2>/dev/null; }
patient_moved() { patient_ended || [ $(($(counter rxe1 rcvd_pkts) - SEEN)) -gt 20 ]; }

# patient_moves WHEN: the program goes on
patient_moves() {
	SEEN=$(counter rxe1 rcvd_pkts)
	eventually patient_moved || bad "nothing moves $1" || return
	! patient_ended || bad "the program has ended $1: $(tail -n 1 "$CASE_LOG.order")"
}

# patient v4|v6: who waits long enough lives through what takes the path away for a moment; each
# time what was lost is sent again, the rest of it is in order and the right bytes, and done
# once (programs/order.c). Its packets need more than the small MTU.
patient() {
	local end=$((SECONDS + SECONDS_EACH)) kind again options=(-p)
	local kinds=(carrier mtu address4 neighbours cache length rename)
	local felt=" carrier mtu address4 "

	! has_ipv6 || kinds+=(address6)
	! netem_there || kinds+=(queue)
	[ "$1" = v4 ] || options+=(-6) felt=" carrier mtu address6 "
	setup && path_known "$1" || return
	COUNT=() AWAY=0.3 SMALL=1500
	"$PROGRAMS/order" "${options[@]}" 1000000000 "$SEED" >"$CASE_LOG.order" 2>&1 &
	PATIENT=$!
	# shellcheck disable=SC2034 # for traffic_kill
	TRAFFIC=$PATIENT
	patient_moves "before anything happens" || return
	while :; do
		shuffled "${kinds[@]}"
		for kind in "${ORDER[@]}"; do
			any 1 2
			echo "$SECONDS: $kind, ns$ANY"
			[ -z "${RXE_OURS-}" ] || again=$(of_both retransmitted_packets)
			disturb "$kind" "$ANY" && patient_moves "after: $kind, ns$ANY" || return
			COUNT[$kind]=$((${COUNT[$kind]-0} + 1))
			[ -n "${RXE_OURS-}" ] && [[ $felt == *" $kind "* ]] || continue
			again=$(($(of_both retransmitted_packets) - again))
			[ $again -gt 0 ] || bad "nothing was tested: nobody felt: $kind, ns$ANY" || return
		done
		[ $SECONDS -lt $end ] || break
	done
	kill -TERM "$PATIENT"
	eventually patient_ended || bad "the program does not end" || return
	wait "$PATIENT" || bad "order: status $?: $(tail -n 1 "$CASE_LOG.order")" || return
	# shellcheck disable=SC2034 # likewise
	TRAFFIC=
	tail -n 1 "$CASE_LOG.order"
	disturbed "${kinds[@]}" && ports_are_back && still_works && cleanup_all
}

# goes WHAT: below the storm
goes() {
	local n

	case $1 in
	link)
		any rxe0 rxe1
		link_delete "$ANY"
		;;
	netdev)
		n1 timeout "$PATIENCE" ip link del veth0 || bad "ip link del: status $?" || return
		eventually device_gone rxe0 && eventually device_gone rxe1 ||
			bad "devices outlive their netdevs"
		;;
	namespace)
		any 0 1
		n=$ANY
		timeout "$PATIENCE" ip netns del ns$((n + 1)) || bad "ip netns del: status $?" || return
		eventually device_gone "rxe$n" || bad "rxe$n outlives its namespace" || return
		# its end of the pair took the other one with it
		eventually device_gone rxe$((1 - n)) || bad "rxe$((1 - n)) outlives its netdev"
		;;
	module)
		timeout "$PATIENCE" modprobe -r rdma_rxe
		n=$?
		[ $n -ne 124 ] || bad "modprobe -r hangs" || return
		if core_makes_links; then
			# devices are taken away from who uses them, and the storm ends by itself
			[ $n -eq 0 ] ||
				bad "modprobe -r: status $n, refcnt $(cat /sys/module/rdma_rxe/refcnt 2>&1)"
			return
		fi
		# an older core may refuse, at once, as long as somebody uses it; unloaded before
		# that, the storm has ended already
		kill "$STORM" 2>/dev/null || true
		;;
	kill) kill -9 "$STORM" ;;
	esac
}

# Everything below the storm goes: a device, its netdev, its namespace, the module. Each
# of them once, in any order, and then again while there is time.
devices() {
	local end=$((SECONDS + SECONDS_EACH * 3)) kinds=(link netdev namespace module kill) what lines status=0
	local -A count=()

	while :; do
		shuffled "${kinds[@]}"
		for what in "${ORDER[@]}"; do
			setup || return
			touch "$CASE_LOG.storm"
			lines=$(($(wc -l <"$CASE_LOG.storm") + 1))
			storm_start 4 $((30 + PATIENCE))
			# now and then it goes before there is traffic
			[ $((RANDOM % 8)) -eq 0 ] || eventually storm_begun "$lines"
			sleep 0.$((RANDOM % 10))
			echo "$SECONDS: $what, $STORM_GID"
			goes "$what" || return
			# 1: it has had no time to do anything; 137, 143: killed
			storm_ends 0 1 3 137 143 || return
			cleanup_all || return
			count[$what]=$((${count[$what]-0} + 1))
		done
		[ $SECONDS -lt $end ] || break
	done
	for what in "${kinds[@]}"; do
		echo "$what: ${count[$what]-0} times"
		[ "${count[$what]-0}" -gt 0 ] || bad "not done in this run: $what" || status=1
	done
	return $status
}

[ -x "${PROGRAMS:-.}/storm" ] || { check programs skip "no programs: start it with tests/run vm"; return; }
for case in life network devices crowd 'patient v4' 'patient v6'; do
	if [ "$case" = 'patient v6' ] && ! has_ipv6; then
		check patient-v6 skip "this kernel has no IPv6"
		continue
	fi
	# shellcheck disable=SC2086 # a function, and maybe its argument
	check "${case// /-}" $case || { echo "seed $SEED"; fresh_start; }
done
