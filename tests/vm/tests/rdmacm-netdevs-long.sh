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
# packages: python3

# shellcheck source=tests/vm/netdevs.sh
. "$VM/netdevs.sh"
# shellcheck source=tests/vm/cm.sh
. "$VM/cm.sh"

rping_to() { # ADDRESS
	cm_pair "$PATIENCE" rping -s -a "$1" -C 5 -v -V -S 9000 -- \
		"$VM/programs/rping-client" 5 -a "$1" -V -S 9000 || return
	grep -q 'ping data' "$CASE_LOG.client" || bad "rping says nothing"
}

program_to() { # PROGRAM ADDRESS OPTIONS...
	local program=$1 address=$2

	shift 2
	cm_pair "$PATIENCE" "$program" -b "$address" "$@" -- "$program" -s "$address" "$@" || return
	! grep -qiE 'fail|error|unable' "$CASE_LOG.client" "$CASE_LOG.server" ||
		bad "$program to $address: $(grep -iE 'fail|error|unable' "$CASE_LOG.client" "$CASE_LOG.server" | head -n 1)" || return
	[ "$program" = rstream ] || grep -q 'data transfers complete' "$CASE_LOG.client" || bad "$program to $address: no data"
}

ucmatose_to() { program_to ucmatose "$1" -c 3 -C 5 -S 1000; } # ADDRESS

# Datagrams whose peers find each other by SIDR; who answers takes the address from what came
udaddy_to() { program_to udaddy "$1" -c 3 -C 5 -S 1000; } # ADDRESS

# As sockets: a stream, its bytes verified
rstream_to() { program_to rstream "$1" -S 65536 -C 20 -I 5 -T v; } # ADDRESS

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

over() {
	local kind=$1

	driver_load && net_up && uppers "$kind" && devices_on "$kind" || return
	if [ "$kind" = tun ]; then
		over_tun || return
	else
		rping_to 10.2.0.1 && rping_to fd02::1 && ucmatose_to 10.2.0.1 && ucmatose_to fd02::1 &&
			udaddy_to 10.2.0.1 && udaddy_to fd02::1 && rstream_to 10.2.0.1 && rstream_to fd02::1 &&
			cm_perftest 10.2.0.1 ib_write_bw -s 65536 -n 50 && cm_perftest 10.2.0.1 ib_read_bw -s 65536 -n 50 &&
			cm_perftest 10.2.0.1 ib_send_bw -s 4096 -n 100 && cm_perftest 10.2.0.1 ib_send_lat -s 64 -n 100 ||
			return
	fi
	cleanup_here
}

# No wire: both ends of the connection are on one device.
dummy() {
	local address

	driver_load && ip netns add ns1 && n1 ip link set lo up &&
		n1 ip link add upper type dummy && n1 ip addr add 10.2.0.1/24 dev upper &&
		n1 ip addr add fd02::1/64 dev upper nodad &&
		n1 ip link set upper up && link_add ns1 rxe0 upper || bad "no dummy netdev" || return
	eventually port_is rxe0 ACTIVE && eventually gid_index rxe0 v4 >/dev/null &&
		eventually grep -qs '^fd02:' /sys/class/infiniband/rxe0/ports/1/gids/* ||
		bad "rxe0 has no address" || return
	for address in 10.2.0.1 fd02::1; do
		within rping -s -a $address -C 5 -v -- "$VM/programs/rping-client" 5 -a $address || return
		within ucmatose -b $address -C 5 -S 1000 -- ucmatose -s $address -C 5 -S 1000 || return
		within udaddy -b $address -C 5 -S 1000 -- udaddy -s $address -C 5 -S 1000 || return
	done
	cleanup_here
}

# Two devices of one namespace: the core's rdma_cm refuses a request that comes from the address
# of another netdev than the one that it comes to, at once. Connections made without it work:
# loopback.
two_dummies() {
	local i pid said status=0

	driver_load && ip netns add ns1 && n1 ip link set lo up || return
	for i in 0 1; do
		n1 ip link add upper$i type dummy && n1 ip addr add 10.$((i + 2)).0.1/24 dev upper$i &&
			n1 ip link set upper$i up && link_add ns1 rxe$i upper$i || bad "no dummy netdev" || return
		eventually port_is rxe$i ACTIVE && eventually gid_index rxe$i v4 >/dev/null ||
			bad "rxe$i has no address" || return
	done
	timeout "$PATIENCE" ip netns exec ns1 rping -s -a 10.2.0.1 -C 1 -v >"$CASE_LOG.server" 2>&1 &
	pid=$!
	eventually cm_listens || bad "the server does not listen" || status=1
	if said=$(n1 timeout "$PATIENCE" rping -c -a 10.2.0.1 -I 10.3.0.1 -C 1 -v 2>&1); then
		bad "rping connects two devices: say so in the README" || status=1
	else
		grep -q 'REJECTED, error 28' <<<"$said" || bad "rping says: $said" || status=1
	fi
	kill $pid
	wait $pid
	[ $status -eq 0 ] || return
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
check two-dummies two_dummies || fresh_start
