# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# disassociate.sh - a device goes while a process has it open, with objects of each
# kind and rings that it uses (tests/vm/programs/holder.c). Going works at once; the process gets
# an event, uses what it still has, and ends by itself. And a device goes while rdma_cm
# has a connection on it, and who listens: at its address, and at all addresses.

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

cm_listening() { [ "$(rdma resource show cm_id | grep -c 'state LISTEN')" -ge "$1" ]; }
cm_pings() { [ "$(grep -c '^ping data' "$CASE_LOG.client")" -gt 3 ]; }
ended() { ! kill -0 "$1" 2>/dev/null; }

# cm_alive COMMAND...: it succeeds while rping uses a connection. Both its ends end by
# themselves; who listens at all addresses goes on, and hears of a device that comes.
cm_alive() {
	local server client anywhere

	core_makes_links || { skip "rdma_cm of so old a core serves one namespace"; return; }
	setup || return
	ip netns exec ns1 rping -s -a 10.1.0.1 -p 7174 >"$CASE_LOG.server" 2>&1 &
	server=$!
	ip netns exec ns1 rping -s -P -p 7175 >"$CASE_LOG.anywhere" 2>&1 &
	anywhere=$!
	TRAFFIC="$server $anywhere"
	eventually cm_listening 2 || bad "nobody listens: $(rdma resource show cm_id)" || return
	ip netns exec ns2 rping -c -v -a 10.1.0.1 -p 7174 >"$CASE_LOG.client" 2>&1 &
	client=$!
	TRAFFIC+=" $client"
	eventually cm_pings || bad "no connection: $(tail -n 1 "$CASE_LOG.client")" || return
	"$@" || return
	eventually ended $server || bad "the server does not end: $(tail -n 1 "$CASE_LOG.server")" || return
	eventually ended $client || bad "the client does not end: $(tail -n 1 "$CASE_LOG.client")" || return
	grep -q 'device removal' "$CASE_LOG.server" ||
		bad "the server has not heard of it: $(tail -n 1 "$CASE_LOG.server")" || return
	! ended $anywhere || bad "who listens at all addresses has ended" || return
	if [ -e /run/netns/ns1 ] && n1 ip link show veth0; then
		device_exists rxe0 || link_add ns1 rxe0 veth0 || return
		device_exists rxe1 || link_add ns2 rxe1 veth1 || return
		eventually gid_index rxe0 v4 && eventually gid_index rxe1 v4 ||
			bad "no addresses in the GID tables" || return
		eventually cm_listening 1 || bad "nobody listens on the new device" || return
		timeout "$PATIENCE" ip netns exec ns2 "$VM/programs/rping-client" 3 -a 10.1.0.1 -p 7175 ||
			bad "no connection on the new device: status $?" || return
	fi
	traffic_kill
	cleanup_all
}

for case in rdma_link_delete netdev_delete module_removal; do
	check "cm-${case//_/-}" cm_alive "$case" || fresh_start
done
