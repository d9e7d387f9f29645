# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# no-ipv6.sh - a kernel that was told to do without IPv6: the module loads and unloads, and
# a device does over IPv4 what it does elsewhere. Its link-local GIDs, which the core makes
# of MAC addresses, have no address behind them: who sends from them is told so.
# append: ipv6.disable=1

# shellcheck source=tests/vm/cm.sh
. "$VM/cm.sh"

# One socket of the driver in each namespace: there is no other family to listen to.
sockets() {
	local ns

	for ns in ns1 ns2; do
		[ "$(udp_sockets $ns 2>/dev/null)" = 1 ] || bad "$(udp_sockets $ns 2>/dev/null) sockets in $ns"
	done
	! grep -q . "$REASON"
}

rping_ok() {
	cm_pair "$PATIENCE" rping -s -a 10.1.0.1 -C 10 -v -V -- \
		"$VM/programs/rping-client" 10 -a 10.1.0.1 -V || return
	grep -q 'ping data' "$CASE_LOG.client" || bad "rping says nothing"
}

# members GROUP: queue pairs of both devices, who is in the group, and who gets what
members() {
	: >"$CASE_LOG.joined"
	n2 timeout "$PATIENCE" "$PROGRAMS/members" "$1" rxe0 "$CASE_LOG.joined" rxe1 \
		"$(gid_index rxe1 v4)" "$(gid_index rxe0 v4)" || bad "members: status $?: $(tail -n 1 "$CASE_LOG")"
}

# The netdev cannot join it, which is said, and no queue pair is in it.
group_refused() {
	expect_error 'attach_mcast' "$PROGRAMS/members" ff0e::2:1 rxe0 /nowhere || return
	[ "$(wc -l </sys/kernel/debug/rxe/rxe0/mcast)" -eq 1 ] || bad "a queue pair is in a group all the same"
}

# The core knows no way to the peer, or else the driver has no route, and no answer comes.
link_local() {
	local server status

	gid_index rxe0 ll && gid_index rxe1 ll || { skip "this core makes no link-local GIDs"; return; }
	ip netns exec ns1 ibv_rc_pingpong -d rxe0 -g "$(gid_index rxe0 ll)" -p "$PORT" >"$CASE_LOG.server" 2>&1 &
	server=$!
	eventually listens_or_ended $server
	expect_error . n2 ibv_rc_pingpong -d rxe1 -g "$(gid_index rxe1 ll)" -p "$PORT" 10.1.0.1
	status=$?
	kill $server 2>/dev/null
	wait $server
	[ $status -eq 0 ] || return
	grep 'modify QP to RTR' "$CASE_LOG.server" || grep -q 'retry counter exceeded' "$CASE_LOG" ||
		bad "nobody is told why: $(tail -n 1 "$CASE_LOG.server")"
}

if has_ipv6; then
	check setup skip "this kernel has IPv6: it was booted without ipv6.disable=1"
	return
fi
# older cores look for what rdma_cm connects in the initial namespace only
if core_makes_links; then
	check setup setup || return
else
	check setup setup net_up_here || return
fi
check sockets sockets
check rc pingpong -n 100 -s 10001
check uc pingpong_by ibv_uc_pingpong -n 50
check ud pingpong_by ibv_ud_pingpong -n 50 -s 1000
check link-local link_local
if core_makes_links; then
	check group members ::ffff:239.1.2.1
else
	check group skip "the verbs of this core take no group of IPv4 as it is"
fi
check group-ipv6 group_refused
check modules cm_modules && check rping rping_ok
check no-leaks no_leaks
check clean cleanup_all
