# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# rdmacm-netdevs-long.sh - rdma_cm over netdevs of other kinds than veth: two namespaces, the
# veth pair, and on each end of it a netdev that has the addresses:
#
#	ns1  rxe0 on UPPER0 10.2.0.1 fd02::1        ns2  rxe1 on UPPER1 10.2.0.2 fd02::2
#	      |                                           |
#	     veth0 ================= veth ============== veth1

# add_upper NS KIND: the netdev "upper" on the namespace's veth end
add_upper() {
	local ns=$1 kind=$2 i=$((${1#ns} - 1))

	run() { ip netns exec "$ns" "$@"; }
	case $kind in
	vlan) run ip link add link veth$i name upper type vlan id 5 ;;
	bridge) run ip link add upper type bridge && run ip link set veth$i master upper ;;
	esac && run ip link set upper mtu "$VETH_MTU" && run ip link set veth$i up &&
		run ip addr add 10.2.0.$((i + 1))/24 dev upper &&
		run sysctl -qw net.ipv6.conf.upper.accept_dad=0 && run ip link set upper up &&
		run ip -6 addr add fd02::$((i + 1))/64 dev upper nodad
}

cm_listens() { rdma resource show cm_id | grep -q 'state LISTEN'; }
listens_or_ended() { cm_listens || ! kill -0 "$1" 2>/dev/null; }

rping_to() { # ADDRESS
	pair "$PATIENCE" rping -s -a "$1" -C 5 -v -V -S 9000 -- rping -c -a "$1" -C 5 -v -V -S 9000 || return
	grep -q 'ping data' "$CASE_LOG.client" || bad "rping says nothing"
}

has_gid() { grep -qs ":0a02:000$2\$" /sys/class/infiniband/"$1"/ports/1/gids/*; }

over() {
	local kind=$1 below=upper i

	modprobe -q "$kind" 2>/dev/null
	[ "$kind" != vlan ] || modprobe -q 8021q
	driver_load && net_up || return
	add_upper ns1 "$kind" && add_upper ns2 "$kind" || bad "no $kind" || return
	# a VLAN's addresses are those of the device below it
	[ "$kind" != vlan ] || below=veth
	for i in 0 1; do
		[ $below = upper ] && link_add ns$((i + 1)) rxe$i upper ||
			{ [ $below = veth ] && link_add ns$((i + 1)) rxe$i veth$i; } || return
	done
	for i in 0 1; do
		eventually port_is rxe$i ACTIVE && eventually has_gid rxe$i $((i + 1)) ||
			bad "rxe$i: $(port_state rxe$i), GIDs: $(gids rxe$i | tr '\n' ' ')" || return
	done
	rping_to 10.2.0.1 && rping_to fd02::1 || return
	cleanup_here
}

cleanup_here() {
	local i

	for i in 0 1; do
		! device_exists rxe$i || link_delete rxe$i || return
	done
	net_down
	driver_unload
}

if ! core_makes_links; then
	check connections skip "rdma_cm of this kernel looks for addresses in the initial namespace only"
	return
fi
modprobe -q rdma_ucm || { check modules skip "this kernel has no rdma_ucm"; return; }
for kind in vlan bridge; do
	check "$kind" over "$kind" || fresh_start
done
