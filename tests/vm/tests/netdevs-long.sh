# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# netdevs-long.sh - data over the netdevs that containers and virtual machines have, each
# kind of queue pair, contents compared; then odd and large MTUs of veth. A netdev "upper"
# in each of two namespaces has the device and the address 10.2.0.1 or .2, and is
#
#	bridge, bond, macvlan, VLAN    on one end of a veth pair (netdevs.sh)
#	tun                            a tun device; the wire is programs/tun.py
#	switch-bridge, switch-ovs      veth, the other end a port of a bridge, or of Open
#	                               vSwitch, in the initial namespace
#	macvlan-shared                 one of two macvlans on one netdev
#	bond-rr, bond-failover         two veth pairs; packets take turns, and so overtake
#	                               each other, or one pair goes down in the middle
#
# What goes through a netdev must not be cut there: a burst leaves by the veth pair below it in
# few skbs, as it does on veth alone (bursts.sh). On older kernels a bridge
# is an exception, and on 4.4 are a VLAN and a macvlan.
#
# Open vSwitch is Debian's, unpacked below $OVS_ROOT.
# packages: python3

# shellcheck source=tests/vm/netdevs.sh
. "$VM/netdevs.sh"

# by PROGRAM OPTIONS...: an ibv_*_pingpong between the uppers, contents compared
by() {
	local program=$1

	shift
	PORT=18515
	pair "$PATIENCE" "$program" -c -p $PORT -d rxe0 -g "$(gid_of rxe0 1)" "$@" -- \
		"$program" -c -p $PORT -d rxe1 -g "$(gid_of rxe1 2)" "$@" 10.2.0.1 || return
	grep -q 'iters in' "$CASE_LOG.client" || bad "$program $*: no result line" || return
	! grep -aE 'invalid data|memcmp' "$CASE_LOG.client" "$CASE_LOG.server" || bad "$program $*: wrong data"
}

# perf PROGRAM OPTIONS...
perf() {
	local program=$1

	shift
	PORT=18515
	pair "$PATIENCE" "$program" -F -p $PORT -d rxe0 -x "$(gid_of rxe0 1)" "$@" -- \
		"$program" -F -p $PORT -d rxe1 -x "$(gid_of rxe1 2)" "$@" 10.2.0.1 || return
	perftest_table "$CASE_LOG.client" "$@"
}

active_mtu() { ibv_devinfo -d "$1" | sed -nE 's/.*active_mtu:[[:space:]]*([0-9]+).*/\1/p'; }
mtu_is() { [ "$(active_mtu rxe0)" = "$1" ] && [ "$(active_mtu rxe1)" = "$1" ]; }

# payload MTU: the largest path MTU whose packets fit
payload() {
	local p want=256

	for p in 256 512 1024 2048 4096; do
		[ $((p + 96)) -gt "$1" ] || want=$p
	done
	echo "$want"
}

# transfers KIND: everything a device does
transfers() {
	local mtu

	mtu=$(payload "$VETH_MTU")
	eventually mtu_is "$mtu" || bad "path MTUs $(active_mtu rxe0), $(active_mtu rxe1), not $mtu" || return
	# to UC an overtaken packet is a lost one, and the message with it
	[ "$1" = bond-rr ] || by ibv_uc_pingpong -m "$mtu" -s 8193 -n 20 || return
	by ibv_rc_pingpong -m "$mtu" -s 100001 -n 20 && by ibv_rc_pingpong -m 256 -s 10001 -n 20 &&
		by ibv_ud_pingpong -s 1000 -n 20 && by ibv_srq_pingpong -m "$mtu" -s 4097 -n 20 &&
		perf ib_write_bw -s 65536 -n 100 && perf ib_read_bw -s 65536 -n 100 &&
		perf ib_send_bw -s 65536 -n 100 && perf ib_atomic_bw -n 100
}

# together KIND: 64 KiB by WRITE, 64 packets, are an skb or two where they leave ns2. With a
# bridge below the device they are 64 up to 6.12, and not on 7.3: a bridge of then has no
# hw_enc_features, and the kernel takes every skb that is marked as a tunnel's to pieces when
# that netdev is given it (VXLAN's, too), and on 4.4 so have macvlan and VLAN. What a bridge
# forwards between its ports it leaves alone.
together() {
	local least=1 most=10 BELOW=veth1 major

	major=$(uname -r | cut -d . -f 1)
	case $1 in
	bridge) [ "$major" -ge 7 ] || least=90 most=110 ;;
	macvlan | vlan) [ "$major" -ge 5 ] || least=90 most=110 ;;
	bond) ;;
	switch-bridge | macvlan-shared) BELOW=upper ;;
	# a process reads single packets, Open vSwitch is asked about some, two legs are counted apart
	*) return 0 ;;
	esac
	skbs_per_100 perf ib_write_bw -m 1024 -s 65536 -n 200 || return
	[ "$SHARE" -ge $least ] && [ "$SHARE" -le $most ] ||
		bad "$SHARE skbs for 100 packets leave by $BELOW below $1, not $least..$most"
}

# over_card KIND: the same, but at the end of it is a card, which takes a burst for a tunnel's, and
# cuts it wrong, where no mark keeps it from that (4.8): there must be none then
over_card() {
	local least=1 most=10 status=0

	case $1 in
	bond | macvlan | vlan) ;;
	*) return 0 ;;
	esac
	printf '4.8\n%s\n' "$(uname -r)" | sort -CV || least=90 most=110
	insmod "${KMOD%/*}/rxe_stopper.ko" netdev=veth1 card=1 || bad "veth1 becomes no card" || return
	skbs_per_100 perf ib_write_bw -m 1024 -s 65536 -n 200 || status=1
	rmmod rxe_stopper || bad "veth1 remains a card" || return
	[ $status -eq 0 ] || return
	[ "$SHARE" -ge $least ] && [ "$SHARE" -le $most ] ||
		bad "$SHARE skbs for 100 packets leave by veth1, a card, below $1, not $least..$most"
}

# ---- the netdevs ------------------------------------------------------------------

spaces() { ip netns add ns1 && ip netns add ns2 && n1 ip link set lo up && n2 ip link set lo up; }
upper_addresses() {
	n1 ip addr add 10.2.0.1/24 dev upper && n2 ip addr add 10.2.0.2/24 dev upper &&
		n1 ip link set upper up && n2 ip link set upper up
}

# What the uppers of KIND are; without a function of its own, netdevs.sh knows it
make_kind() {
	case $1 in
	switch-* | macvlan-shared | bond-*) spaces && "make_${1//-/_}" && upper_addresses ;;
	*) net_up && uppers "$1" ;;
	esac || bad "no $1"
}

veth_ports() { # their other ends are port1 and port2
	local i

	for i in 1 2; do
		ip link add port$i mtu "$VETH_MTU" type veth peer name upper mtu "$VETH_MTU" netns ns$i &&
			ip link set port$i up || return
	done
}

make_switch_bridge() {
	ip link add switch type bridge && veth_ports && ip link set port1 master switch &&
		ip link set port2 master switch && ip link set switch up
}

ovs() { "$OVS_ROOT/usr/bin/ovs-vsctl" --db="unix:/run/ovs/db.sock" --timeout=60 "$@"; }
ovs_start() {
	export OVS_RUNDIR=/run/ovs OVS_LOGDIR=/run/ovs OVS_SYSCONFDIR=/run/ovs OVS_DBDIR=/run/ovs
	modprobe openvswitch && mkdir -p /run/ovs &&
		"$OVS_ROOT/usr/bin/ovsdb-tool" create /run/ovs/conf.db \
			"$OVS_ROOT/usr/share/openvswitch/vswitch.ovsschema" &&
		"$OVS_ROOT/usr/sbin/ovsdb-server" /run/ovs/conf.db --remote=punix:/run/ovs/db.sock \
			--pidfile --detach --log-file &&
		ovs --no-wait init &&
		"$(find "$OVS_ROOT/usr" -name ovs-vswitchd -path '*bin*' -o -name ovs-vswitchd -path '*lib/*' | head -n 1)" \
			unix:/run/ovs/db.sock --pidfile --detach --log-file
}
ovs_stop() {
	ovs --if-exists del-br switch
	kill "$(cat /run/ovs/ovs-vswitchd.pid)" "$(cat /run/ovs/ovsdb-server.pid)"
	rm -rf /run/ovs
} 2>/dev/null

make_switch_ovs() {
	ovs_start && veth_ports && ovs add-br switch && ovs add-port switch port1 && ovs add-port switch port2 &&
		ip link set switch up
}

make_macvlan_shared() {
	local i

	modprobe -q -a dummy macvlan
	ip link add below mtu "$VETH_MTU" type dummy && ip link set below up || return
	for i in 1 2; do
		ip link add link below name mv$i type macvlan mode bridge &&
			ip link set mv$i netns ns$i name upper || return
	done
}

two_veths() { # MODE...: a bond of two pairs
	local i j

	modprobe -q bonding
	for i in 1 2; do
		ip netns exec ns$i ip link add upper mtu "$VETH_MTU" type bond miimon 50 "$@" || return
	done
	for j in 1 2; do
		ip link add leg$j mtu "$VETH_MTU" netns ns1 type veth peer name leg$j mtu "$VETH_MTU" netns ns2 || return
		for i in 1 2; do
			ip netns exec ns$i ip link set leg$j master upper || return
		done
	done
}
make_bond_rr() { two_veths mode balance-rr; }
make_bond_failover() { two_veths mode active-backup; }

remove_kind() {
	local netdev

	for netdev in rxe0 rxe1; do
		! device_exists $netdev || link_delete $netdev
	done
	[ ! -e /run/ovs ] || ovs_stop
	[ -z "${TUN-}" ] || kill "$TUN"
	TUN=
	net_down
	for netdev in switch port1 port2 below; do
		[ ! -e /sys/class/net/$netdev ] || ip link del $netdev
	done
}

# ---- cases ------------------------------------------------------------------------

# failover: in the middle of ib_write_bw the leg in use goes down, and then the
# other, back up the first: no error
failover() {
	local used other change

	used=$(n1 cat /sys/class/net/upper/bonding/active_slave)
	other=leg$((3 - ${used#leg}))
	(
		sleep 3
		n1 ip link set "$used" down
		sleep 3
		n1 ip link set "$used" up
		sleep 2
		n1 ip link set "$other" down
	) &
	change=$!
	# outlives what sees no link for a moment
	perf ib_write_bw -s 65536 -D 12 -u 16 || return
	wait $change
	[ "$(n1 grep -c 'Link Failure Count: [1-9]' /proc/net/bonding/upper)" -eq 2 ] ||
		bad "the bond did not change its leg twice: $(n1 grep Count /proc/net/bonding/upper | tr '\n' ' ')"
}

over() {
	local kind=$1

	make_kind "$kind" && devices_on "$kind" || return
	# shellcheck disable=SC2034 # of lib.sh
	BASELINE=$(counts)
	transfers "$kind" && together "$kind" && over_card "$kind" || return
	[ "$kind" != bond-failover ] || failover || return
	no_leaks
}

# mtu N: of a veth pair under the devices; each packet has to fit, and the largest is used
mtu() {
	local n

	for n in ns1 ns2; do
		ip netns exec $n ip link set upper mtu "$1" || bad "no MTU $1" || return
	done
	VETH_MTU=$1
	n=$(payload "$1")
	eventually mtu_is "$n" || bad "path MTUs $(active_mtu rxe0), $(active_mtu rxe1), not $n" || return
	by ibv_rc_pingpong -m "$n" -s 100001 -n 20 && by ibv_uc_pingpong -m "$n" -s 10001 -n 20 &&
		perf ib_read_bw -m "$n" -s 100001 -n 50
}

make_plain() { spaces && ip link add upper netns ns1 type veth peer name upper netns ns2 && upper_addresses; }

if ! peers_elsewhere; then
	check netdevs skip "peers are found in the initial namespace only"
	return
fi
check load driver_load || return
for kind in bridge-1500 bond-1500 macvlan-1500 vlan-1500 tun-1500 switch-bridge-1500 switch-ovs-1500 \
	macvlan-shared-9000 bond-rr-1500 bond-failover-1500; do
	VETH_MTU=${kind##*-}
	if [[ $kind == *ovs* ]] && ! modinfo openvswitch >/dev/null 2>&1; then
		check "$kind" skip "this kernel has no openvswitch"
		continue
	fi
	check "$kind" over "${kind%-*}"
	remove_kind
done
check plain make_plain && check plain-devices devices_on plain
for VETH_MTU in 576 1119 1501 2144 4191 9000 65535; do
	check "mtu-$VETH_MTU" mtu $VETH_MTU
done
remove_kind
check unload driver_unload
