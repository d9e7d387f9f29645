# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# netdevs.sh - devices on netdevs of other kinds than veth, for the tests *netdevs-long:
# two namespaces, the veth pair, and on each end of it a netdev that has the addresses:
#
#	ns1  rxe0 on upper 10.2.0.1 fd02::1        ns2  rxe1 on upper 10.2.0.2 fd02::2
#	      |                                          |
#	     veth0 ================= veth ============= veth1

# add_upper NS KIND: the netdev "upper" on the namespace's veth end
add_upper() {
	local ns=$1 kind=$2 i=$((${1#ns} - 1))

	run() { ip netns exec "$ns" "$@"; }
	case $kind in
	vlan) modprobe -q 8021q; run ip link add link veth$i name upper type vlan id 5 ;;
	bridge) run ip link add upper type bridge && run ip link set veth$i master upper ;;
	macvlan) run ip link add link veth$i name upper type macvlan mode bridge ;;
	bond)
		run ip link add upper type bond mode active-backup miimon 100 &&
			run ip link set veth$i down && run ip link set veth$i master upper
		;;
	tun) ;;
	esac && run ip link set upper mtu "$VETH_MTU" && run ip link set veth$i up &&
		run ip addr add 10.2.0.$((i + 1))/24 dev upper &&
		run sysctl -qw net.ipv6.conf.upper.accept_dad=0 && run ip link set upper up &&
		run ip -6 addr add fd02::$((i + 1))/64 dev upper nodad
}

tun_is_there() { n1 test -e /sys/class/net/upper && n2 test -e /sys/class/net/upper; }
tun_wire() {
	modprobe -q tun
	python3 "$VM/programs/tun.py" upper ns1 ns2 &
	TUN=$!
	eventually tun_is_there || bad "no tun devices"
}

# uppers KIND: on both ends
uppers() {
	modprobe -q "$1" 2>/dev/null
	[ "$1" != tun ] || tun_wire || return
	add_upper ns1 "$1" && add_upper ns2 "$1" || bad "no $1"
}

# devices_on KIND: rxe0 and rxe1, with the addresses; a VLAN's are those of the device
# below it
devices_on() {
	local i netdev

	for i in 0 1; do
		netdev=upper
		[ "$1" != vlan ] || netdev=veth$i
		link_add ns$((i + 1)) rxe$i $netdev || return
	done
	for i in 0 1; do
		eventually port_is rxe$i ACTIVE && eventually has_gid rxe$i $((i + 1)) ||
			bad "rxe$i: $(port_state rxe$i), GIDs: $(gids rxe$i | tr '\n' ' ')" || return
	done
}

has_gid() { grep -qs ":0a02:000$2\$" /sys/class/infiniband/"$1"/ports/1/gids/*; }

# gid_of DEVICE N: the index of 10.2.0.N
gid_of() {
	grep -ls ":0a02:000$2\$" /sys/class/infiniband/"$1"/ports/1/gids/* | sed 's,.*/,,' | head -n 1
}

cleanup_here() {
	local i

	for i in 0 1; do
		! device_exists rxe$i || link_delete rxe$i || return
	done
	[ -z "${TUN-}" ] || kill "$TUN"
	TUN=
	net_down
	driver_unload
}
