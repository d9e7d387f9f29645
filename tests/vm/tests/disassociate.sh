# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# disassociate.sh - a device goes while a process has it open, with objects of each
# kind and rings that it uses (tests/vm/programs/holder.c). Going works at once; the process gets
# an event, uses what it still has, and ends by itself. And a device goes while rdma_cm
# has a connection on it, and who listens: at its address, and at all addresses. Its netdev's
# carrier, MTU and name, and its own name, may come and go: connections stay.

# shellcheck source=tests/vm/disturb.sh
. "$VM/disturb.sh"
# shellcheck source=tests/vm/cm.sh
. "$VM/cm.sh"

says() { grep -qx "$1" "$CASE_LOG.holder"; }
says_or_ended() { says "$1" || ! kill -0 "$HOLDER" 2>/dev/null; }

# held COMMAND...: it succeeds while the holder has rxe0 open
held() {
	local status=0

	setup || return
	stdbuf -oL "$PROGRAMS/holder" rxe0 "$(gid_index rxe0 v4)" >"$CASE_LOG.holder" 2>&1 &
	HOLDER=$!
	eventually says_or_ended ready
	says ready || bad "the process is not ready: $(tail -n 1 "$CASE_LOG.holder")" || return
	"$@" || status=1
	eventually says_or_ended ended
	cat "$CASE_LOG.holder"
	says fatal || bad "no fatal event: $(tail -n 1 "$CASE_LOG.holder")" || status=1
	says ended || bad "the process has not ended: $(tail -n 1 "$CASE_LOG.holder")" || status=1
	[ $status -eq 0 ] || kill -9 $HOLDER
	wait $HOLDER || bad "status of the process: $?" || status=1
	[ $status -eq 0 ] && cleanup_all
}

rdma_link_delete() {
	link_delete rxe0 && device_gone rxe0 || bad "rxe0 is still there"
}

netdev_delete() {
	n1 timeout "$PATIENCE" ip link del veth0 || bad "ip link del: status $?" || return
	eventually device_gone rxe0 || bad "rxe0 outlives its netdev"
}

# A device does not move with its netdev.
netdev_move() {
	n1 timeout "$PATIENCE" ip link set veth0 netns ns2 || bad "ip link set netns: status $?" || return
	eventually device_gone rxe0 || bad "rxe0 outlives its netdev in that namespace"
}

namespace_delete() {
	timeout "$PATIENCE" ip netns del ns1 || bad "ip netns del: status $?" || return
	eventually device_gone rxe0 || bad "rxe0 outlives its namespace"
}

# Open contexts do not keep the module: the RDMA core takes them away.
module_removal() { driver_unload && driver_load; }

for case in rdma_link_delete netdev_delete netdev_move namespace_delete module_removal; do
	check "${case//_/-}" held "$case" || fresh_start
done

# ---- identifiers of rdma_cm --------------------------------------------------------

cm_pings() { [ "$(grep -c '^ping data' "$CASE_LOG.client")" -gt "$1" ]; }
has_ended() { ! kill -0 "$1" 2>/dev/null; }

# cm_connect: rping has a connection, from CLIENT to SERVER; another one, ANYWHERE, listens at
# all addresses
cm_connect() {
	core_makes_links || { skip "rdma_cm of so old a core serves one namespace"; return; }
	setup || return
	ip netns exec ns1 rping -s -a 10.1.0.1 -p 7174 >"$CASE_LOG.server" 2>&1 &
	SERVER=$!
	ip netns exec ns1 rping -s -P -p 7175 >"$CASE_LOG.anywhere" 2>&1 &
	ANYWHERE=$!
	TRAFFIC="$SERVER $ANYWHERE"
	eventually cm_listens "$SERVER" "$ANYWHERE" || bad "nobody listens: $(rdma resource show cm_id)" || return
	# each line when it is said: they are counted
	stdbuf -oL ip netns exec ns2 rping -c -v -a 10.1.0.1 -p 7174 >"$CASE_LOG.client" 2>&1 &
	CLIENT=$!
	TRAFFIC+=" $CLIENT"
	eventually cm_pings 3 || bad "no connection: $(tail -n 1 "$CASE_LOG.client")"
}

# cm_alive COMMAND...: it succeeds while rping uses a connection. Both its ends end by
# themselves; who listens at all addresses goes on, and hears of a device that comes.
cm_alive() {
	cm_connect || return
	"$@" || return
	eventually has_ended "$SERVER" || bad "the server does not end: $(tail -n 1 "$CASE_LOG.server")" || return
	eventually has_ended "$CLIENT" || bad "the client does not end: $(tail -n 1 "$CASE_LOG.client")" || return
	grep -q 'device removal' "$CASE_LOG.server" ||
		bad "the server has not heard of it: $(tail -n 1 "$CASE_LOG.server")" || return
	! has_ended "$ANYWHERE" || bad "who listens at all addresses has ended" || return
	if [ -e /run/netns/ns1 ] && n1 ip link show veth0; then
		device_exists rxe0 || link_add ns1 rxe0 veth0 || return
		device_exists rxe1 || link_add ns2 rxe1 veth1 || return
		eventually gid_index rxe0 v4 && eventually gid_index rxe1 v4 ||
			bad "no addresses in the GID tables" || return
		eventually cm_listens "$ANYWHERE" || bad "nobody listens on the new device" || return
		timeout "$PATIENCE" ip netns exec ns2 "$VM/programs/rping-client" 3 -a 10.1.0.1 -p 7175 ||
			bad "no connection on the new device: status $?" || return
	fi
	traffic_kill
	cleanup_all
}

# A client whose peer has gone with its netdev may wait for its next message for ever: its
# own device goes, too. Then the netdev comes back.
netdev_move_and_back() {
	netdev_move || return
	eventually has_ended "$SERVER" || bad "the server does not end: $(tail -n 1 "$CASE_LOG.server")" || return
	link_delete rxe1 && n2 ip link set veth0 netns ns1 && net_end 1 || bad "veth0 does not come back"
}

for case in rdma_link_delete netdev_delete netdev_move_and_back module_removal; do
	check "cm-${case//_/-}" cm_alive "$case" || fresh_start
done

# pings_go_on: so many more of the same two processes
pings_go_on() {
	local before

	before=$(grep -c '^ping data' "$CASE_LOG.client")
	eventually cm_pings $((before + 50)) || bad "no more pings: $(tail -n 1 "$CASE_LOG.client")"
}

# cm_goes_on COMMAND...: it succeeds while rping uses a connection, which outlives it
cm_goes_on() {
	cm_connect || return
	"$@" || return
	pings_go_on || return
	! has_ended "$SERVER" && ! has_ended "$CLIENT" && ! has_ended "$ANYWHERE" ||
		bad "one has ended: $(tail -qn 1 "$CASE_LOG.server" "$CASE_LOG.client" "$CASE_LOG.anywhere" | tr '\n' ';')" || return
	! grep -iE 'error|removal|disconnect|unreachable' "$CASE_LOG.server" "$CASE_LOG.client" ||
		bad "one has heard of something, see the log" || return
	traffic_kill
	cleanup_all
}

# Up again at once: who has asked three times, once a second, where the peer is, gives up.
carrier() {
	n2 ip link set veth1 down && eventually port_is rxe0 DOWN || bad "rxe0 is $(port_state rxe0)" || return
	n2 ip link set veth1 up && eventually port_is rxe0 ACTIVE && eventually port_is rxe1 ACTIVE ||
		bad "ports are $(port_state rxe0), $(port_state rxe1)"
}

active_mtu_is() { [ "$(ibv_devinfo -d "$1" | awk '/active_mtu/ { print $2 }')" = "$2" ]; }

# The connection's path MTU is 4096; what it sends is shorter.
mtu() {
	local mtu

	for mtu in 1500:1024 9000:4096 "$VETH_MTU:4096"; do
		n1 ip link set veth0 mtu "${mtu%:*}" && n2 ip link set veth1 mtu "${mtu%:*}" ||
			bad "ip link set mtu: status $?" || return
		active_mtu_is rxe0 "${mtu#*:}" && active_mtu_is rxe1 "${mtu#*:}" ||
			bad "MTU ${mtu%:*}: active_mtu is not ${mtu#*:}" || return
		pings_go_on || return
	done
}

# shows DEVICE: the server's queue pair, identifiers and regions, by that name
shows() {
	local what said

	for what in "qp link $1/1" "cm_id link $1/1" "mr dev $1"; do
		# shellcheck disable=SC2086 # words
		said=$(rdma resource show $what pid "$SERVER" 2>&1)
		printf '%s\n' "$said"
		grep -q "$1.*comm rping" <<<"$said" || bad "rdma resource show $what: '$said'" || return
	done
}

# A device gets another name while a process has it open, and gets its own back.
renamed() {
	rdma dev set rxe0 name rxe_other || bad "rename: status $?" || return
	device_gone rxe0 && device_exists rxe_other || bad "it is not called rxe_other"
	shows rxe_other
	pings_go_on
	rdma dev set rxe_other name rxe0 || bad "rename back: status $?"
	[ ! -s "$REASON" ] || return
	device_gone rxe_other && device_exists rxe0 || bad "it is not called rxe0" || return
	shows rxe0
}

# Its netdev gets another name, and gets its own back.
netdev_renamed() {
	local from to

	for from in veth0 other0; do
		to=veth0
		[ $from = other0 ] || to=other0
		rename_netdev 1 $from $to && [ "$(ls /sys/class/infiniband/rxe0/device/net)" = $to ] ||
			bad "rename $from $to: the netdev of rxe0 is $(ls /sys/class/infiniband/rxe0/device/net)" || return
		eventually port_is rxe0 ACTIVE && pings_go_on || return
	done
}

for case in carrier mtu renamed netdev_renamed; do
	check "cm-goes-on-${case//_/-}" cm_goes_on "$case" || fresh_start
done
