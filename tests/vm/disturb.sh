# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# disturb.sh - what a network does to its users and takes back at once: for the tests torture
# and disassociate. kinds_here needs netem.sh.

# For how many seconds what goes stays away, and how small the MTU becomes
AWAY=0.3
SMALL=1500

# kinds_here: all that this kernel has, in KINDS
kinds_here() {
	KINDS=(carrier mtu address4 bursts length route neighbours cache rename)
	! has_ipv6 || KINDS+=(address6 another6)
	! netem_there || KINDS+=(queue netem)
}

# on NS COMMAND...: of ip, there; or, without a command, those on stdin, until one fails
on() {
	local ns=ns$1

	shift
	[ $# -gt 0 ] || set -- -batch -
	ip -n "$ns" "$@"
}

# restore NS: the addresses of that end, which may have gone with something else, as net_up has
# made them, or net_up_here with all that it needs
restore() {
	local dev=veth$(($1 - 1)) here=''

	[ ! -e "$RULES" ] || here=noprefixroute
	on "$1" <<-END || return
		addr replace 10.1.0.$1/24 dev $dev $here
		$(! has_ipv6 || echo "addr replace fd01::$1/64 dev $dev nodad $here")
	END
	# the addresses may need a moment before they can be named
	[ -z "$here" ] || eventually restore_here "$1"
}

restore_here() {
	local other=$((3 - $1)) dev=veth$(($1 - 1)) mac net own peer nets=10.1.0.

	mac=$(cat "/sys/class/net/veth$((2 - $1))/address")
	! has_ipv6 || nets+=' fd01::'
	for net in $nets; do
		own=$net$1 peer=$net$other
		on "$1" <<-END || return
			route replace $peer dev $dev src $own table $((99 + $1))
			neigh replace $peer dev $dev lladdr $mac nud permanent
		END
	done
}

# rename_netdev NS FROM TO: of a netdev; older kernels want it to be down for it
rename_netdev() {
	on "$1" link set "$2" name "$3" 2>/dev/null ||
		{ on "$1" link set "$2" down && on "$1" link set "$2" name "$3" && on "$1" link set "$3" up; }
}

# disturb KIND NS: once, at that end; true if it was done, and all is as before
disturb() {
	local ns=$2 other=$((3 - $2)) dev=veth$(($2 - 1))

	case $1 in
	# IPv6 addresses go with the link, and with a small MTU
	carrier)
		on "$ns" link set "$dev" down && sleep "$AWAY" &&
			on "$ns" link set "$dev" up && restore "$ns"
		;;
	mtu)
		on "$ns" link set "$dev" mtu "$SMALL" && sleep "$AWAY" &&
			on "$ns" link set "$dev" mtu "$VETH_MTU" && restore "$ns"
		;;
	# those that connections use
	address4)
		on "$ns" addr del "10.1.0.$ns/24" dev "$dev" && sleep "$AWAY" && restore "$ns"
		;;
	address6)
		on "$ns" addr del "fd01::$ns/64" dev "$dev" && sleep "$AWAY" && restore "$ns"
		;;
	# and one that nobody uses
	another6)
		on "$ns" addr add fd01::77/64 dev "$dev" nodad && sleep "$AWAY" &&
			on "$ns" addr del fd01::77/64 dev "$dev"
		;;
	bursts)
		veth_bursts cut && sleep "$AWAY" && veth_bursts single && sleep "$AWAY" &&
			veth_bursts whole
		;;
	length)
		on "$ns" link set "$dev" txqueuelen 1 && sleep "$AWAY" &&
			on "$ns" link set "$dev" txqueuelen 1000
		;;
	queue)
		ip netns exec "ns$ns" tc qdisc replace dev "$dev" root pfifo limit 2 && sleep "$AWAY" &&
			ip netns exec "ns$ns" tc qdisc del dev "$dev" root
		;;
	netem)
		ip netns exec "ns$ns" tc qdisc replace dev "$dev" root netem delay 5ms 5ms loss 5% &&
			sleep "$AWAY" && ip netns exec "ns$ns" tc qdisc del dev "$dev" root
		;;
	# a better one comes, changes and goes; the metric is part of its name, and stays
	route)
		on "$ns" route add "10.1.0.$other" dev "$dev" src "10.1.0.$ns" && sleep "$AWAY" &&
			on "$ns" route change "10.1.0.$other" dev "$dev" src "10.1.0.$ns" advmss 1000 &&
			on "$ns" route del "10.1.0.$other" dev "$dev"
		;;
	rename)
		rename_netdev "$ns" "$dev" "other$ns" && sleep "$AWAY" &&
			rename_netdev "$ns" "other$ns" "$dev" &&
			restore "$ns"
		;;
	# gives up if traffic makes them as fast as it removes them
	neighbours)
		on "$ns" neigh flush dev "$dev" 2>/dev/null
		true
		;;
	# the one of IPv6 is of routes, which may go while they are listed
	cache)
		on "$ns" -6 route flush cache 2>/dev/null
		on "$ns" -4 route flush cache
		;;
	*) false ;;
	esac || bad "cannot disturb: $1, ns$ns"
}
