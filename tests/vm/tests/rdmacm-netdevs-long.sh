# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# rdmacm-netdevs-long.sh - rdma_cm over netdevs of other kinds than veth: two namespaces, the
# veth pair, and on each end of it a netdev that has the addresses:
#
#	ns1  rxe0 on UPPER0 10.2.0.1 fd02::1        ns2  rxe1 on UPPER1 10.2.0.2 fd02::2
#	      |                                           |
#	     veth0 ================= veth ============== veth1
#
# Or two tun devices, whose wire is programs/tun.py; or a dummy netdev, which has none.

# add_upper NS KIND: the netdev "upper" on the namespace's veth end
add_upper() {
	local ns=$1 kind=$2 i=$((${1#ns} - 1))

	run() { ip netns exec "$ns" "$@"; }
	case $kind in
	vlan) run ip link add link veth$i name upper type vlan id 5 ;;
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

cm_listens() { rdma resource show cm_id | grep -q 'state LISTEN'; }
listens_or_ended() { cm_listens || ! kill -0 "$1" 2>/dev/null; }

rping_to() { # ADDRESS
	pair "$PATIENCE" rping -s -a "$1" -C 5 -v -V -S 9000 -- \
		"$VM/programs/rping-client" 5 -a "$1" -V -S 9000 || return
	grep -q 'ping data' "$CASE_LOG.client" || bad "rping says nothing"
}

tun_is_there() { n1 test -e /sys/class/net/upper && n2 test -e /sys/class/net/upper; }
tun_wire() {
	modprobe -q tun
	python3 "$VM/programs/tun.py" upper ns1 ns2 &
	TUN=$!
	eventually tun_is_there || bad "no tun devices"
}

has_gid() { grep -qs ":0a02:000$2\$" /sys/class/infiniband/"$1"/ports/1/gids/*; }

# The core's rdma_cm does not look for a RoCE device behind a netdev without link layer:
# it says so at once. Connections made without it work.
over_tun() {
	local said

	said=$(n2 timeout "$PATIENCE" rping -c -a 10.2.0.1 -C 1 -v 2>&1) &&
		bad "rping works over tun: say so in the README" && return 1
	grep -q 'error -19' <<<"$said" || bad "rping says: $said" || return
	PORT=18515
	pair "$PATIENCE" ibv_rc_pingpong -c -p $PORT -d rxe0 -g "$(gid_of rxe0 1)" -- \
		ibv_rc_pingpong -c -p $PORT -d rxe1 -g "$(gid_of rxe1 2)" 10.2.0.1
}
# gid_of DEVICE N: the index of 10.2.0.N
gid_of() {
	grep -ls ":0a02:000$2\$" /sys/class/infiniband/"$1"/ports/1/gids/* | sed 's,.*/,,' | head -n 1
}

over() {
	local kind=$1 below=upper i

	modprobe -q "$kind" 2>/dev/null
	[ "$kind" != vlan ] || modprobe -q 8021q
	driver_load && net_up || return
	[ "$kind" != tun ] || tun_wire || return
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
	if [ "$kind" = tun ]; then
		over_tun || return
	else
		rping_to 10.2.0.1 && rping_to fd02::1 || return
	fi
	cleanup_here
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

# No wire: both ends of the connection are on one device.
dummy() {
	local server

	driver_load && ip netns add ns1 && n1 ip link set lo up &&
		n1 ip link add upper type dummy && n1 ip addr add 10.2.0.1/24 dev upper &&
		n1 ip link set upper up && link_add ns1 rxe0 upper || bad "no dummy netdev" || return
	eventually port_is rxe0 ACTIVE && eventually has_gid rxe0 1 || bad "rxe0 has no address" || return
	n1 timeout "$PATIENCE" rping -s -a 10.2.0.1 -C 5 -v >"$CASE_LOG.server" 2>&1 &
	server=$!
	eventually cm_listens || bad "the server does not listen" || return
	n1 timeout "$PATIENCE" "$VM/programs/rping-client" 5 -a 10.2.0.1 || bad "rping: status $?" || return
	wait $server || bad "the server: status $?" || return
	cleanup_here
}

if ! core_makes_links; then
	check connections skip "rdma_cm of this kernel looks for addresses in the initial namespace only"
	return
fi
modprobe -q rdma_ucm || { check modules skip "this kernel has no rdma_ucm"; return; }
for kind in vlan bridge bond macvlan tun; do
	check "$kind" over "$kind" || { [ -z "${TUN-}" ] || kill "$TUN"; fresh_start; }
done
check dummy dummy || fresh_start
