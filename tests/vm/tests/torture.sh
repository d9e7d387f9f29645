# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# torture.sh - queue pairs that do everything at once (programs/storm.c), while what
# is below them changes or goes. Nothing hangs, nothing stays behind, and afterwards a
# connection works.
#
# torture-long is the same for minutes. SEED=N repeats the random choices of a run.

SECONDS_EACH=${TORTURE_SECONDS:-3}
SEED=${SEED:-$RANDOM$RANDOM}
RANDOM=$((SEED % 32768))
STORM=

any() { shift $((RANDOM % $#)); echo "$1"; }

# storm_start PAIRS SECONDS: in the initial namespace, so that ns1 and ns2 can go
storm_start() {
	STORM_RUNS=$((${STORM_RUNS:-0} + 1))
	"$PROGRAMS/storm" torture "$1" "$2" $((SEED + STORM_RUNS)) >>"$CASE_LOG.storm" 2>&1 &
	STORM=$!
}

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

life() {
	setup || return
	storm_start 8 "$SECONDS_EACH"
	storm_ends 0 && still_works && cleanup_all
}

crowd() {
	setup || return
	timeout -k 5 $((SECONDS_EACH + PATIENCE)) "$PROGRAMS/storm" crowd 10 "$SECONDS_EACH" "$SEED" ||
		bad "crowd: status $?" || return
	still_works && cleanup_all
}

# What a network does to its users and takes back
disturb() {
	local ns dev

	ns=$(any 1 2)
	dev=veth$((ns - 1))
	case $(any carrier mtu address6 address4 bursts queue netem route flush) in
	carrier)
		ip netns exec "ns$ns" ip link set "$dev" down
		sleep 0.0$((RANDOM % 10))
		ip netns exec "ns$ns" ip link set "$dev" up
		# IPv6 addresses go with it
		ip netns exec "ns$ns" ip -6 addr add "fd01::$ns/64" dev "$dev" nodad 2>/dev/null
		;;
	mtu) ip netns exec "ns$ns" ip link set "$dev" mtu "$(any 1500 4500 9000 600)" ;;
	address6)
		ip netns exec "ns$ns" ip addr add fd01::77/64 dev "$dev" nodad 2>/dev/null
		ip netns exec "ns$ns" ip addr del fd01::77/64 dev "$dev"
		;;
	address4)
		ip netns exec "ns$ns" ip addr del "10.1.0.$ns/24" dev "$dev"
		ip netns exec "ns$ns" ip addr add "10.1.0.$ns/24" dev "$dev"
		;;
	bursts) veth_bursts "$(any whole cut single)" ;;
	queue)
		ip netns exec "ns$ns" ip link set "$dev" txqueuelen "$(any 1 1000)"
		ip netns exec "ns$ns" tc qdisc replace dev "$dev" root pfifo limit "$(any 1 10)"
		ip netns exec "ns$ns" tc qdisc del dev "$dev" root
		;;
	netem)
		ip netns exec "ns$ns" tc qdisc replace dev "$dev" root netem delay 5ms 5ms loss 5%
		sleep 0.1
		ip netns exec "ns$ns" tc qdisc del dev "$dev" root
		;;
	route) ip netns exec "ns$ns" ip route change 10.1.0.0/24 dev "$dev" metric "$RANDOM" ;;
	flush)
		ip netns exec "ns$ns" ip neigh flush dev "$dev"
		ip netns exec "ns$ns" ip route flush cache
		;;
	esac
	sleep 0.0$((RANDOM % 10))
} 2>/dev/null

network() {
	local end=$((SECONDS + SECONDS_EACH))

	setup || return
	storm_start 6 "$SECONDS_EACH"
	while [ $SECONDS -lt $end ]; do
		disturb
	done
	storm_ends 0 || return
	# as net_up has made it
	veth_bursts whole
	n1 ip link set veth0 mtu "$VETH_MTU"
	n2 ip link set veth1 mtu "$VETH_MTU"
	eventually port_is rxe0 ACTIVE && eventually port_is rxe1 ACTIVE || bad "a port stays down" || return
	eventually gid_index rxe0 v4 >/dev/null && eventually gid_index rxe1 v4 >/dev/null ||
		bad "an address stays away" || return
	still_works && cleanup_all
}

# Everything below the storm goes: a device, its netdev, its namespace, the module.
devices() {
	local end=$((SECONDS + SECONDS_EACH * 3)) what n

	while [ $SECONDS -lt $end ]; do
		setup || return
		storm_start 4 30
		sleep 0.$((RANDOM % 10))
		what=$(any link netdev namespace module kill)
		echo "$SECONDS: $what"
		case $what in
		link) link_delete "$(any rxe0 rxe1)" ;;
		netdev)
			n1 timeout "$PATIENCE" ip link del veth0 || bad "ip link del: status $?" || return
			eventually device_gone rxe0 && eventually device_gone rxe1 ||
				bad "devices outlive their netdevs"
			;;
		namespace)
			n=$(any 0 1)
			timeout "$PATIENCE" ip netns del ns$((n + 1)) || bad "ip netns del: status $?" || return
			eventually device_gone "rxe$n" || bad "rxe$n outlives its namespace"
			# its end of the pair took the other one with it
			eventually device_gone rxe$((1 - n)) || bad "rxe$((1 - n)) outlives its netdev"
			;;
		module)
			# refused at once as long as somebody uses it
			timeout "$PATIENCE" modprobe -r rdma_rxe
			[ $? -ne 124 ] || bad "modprobe -r hangs" || return
			# unloaded before anybody used it, the storm has ended already
			kill "$STORM" 2>/dev/null || true
			;;
		kill) kill -9 "$STORM" ;;
		esac || return
		# 1: an error of a verb that says nothing of the device
		storm_ends 0 1 3 137 143 || return
		cleanup_all || return
	done
}

[ -x "${PROGRAMS:-.}/storm" ] || { check programs skip "no programs: start it with tests/run vm"; return; }
for case in life network devices crowd; do
	check "$case" "$case" || { echo "seed $SEED"; fresh_start; }
done
