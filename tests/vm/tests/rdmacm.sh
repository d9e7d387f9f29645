# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# rdmacm.sh - connections and datagrams by rdma_cm, that is by MADs over QP 1:
# between two namespaces and within one device, IPv4 and IPv6. On a core that looks
# for addresses in the initial namespace only, between two devices there.

# shellcheck source=tests/vm/cm.sh
. "$VM/cm.sh"

# from OPTION ADDRESS: with both devices in one namespace an IPv6 socket would take the
# very address it calls for its own, so set OPTIONS that bind it to the other
from() {
	OPTIONS=()
	[ "$2" != fd01::1 ] || core_makes_links || OPTIONS=("$1" fd01::2)
}

rping_ok() { # ADDRESS COUNT OPTIONS...
	local address=$1 count=$2 OPTIONS

	shift 2
	from -I "$address"
	cm_pair "$PATIENCE" rping -s -a "$address" -C "$count" -v -V "$@" -- \
		"$VM/programs/rping-client" "$count" -a "$address" -V "${OPTIONS[@]}" "$@" || return
	grep -q 'ping data' "$CASE_LOG.client" || bad "rping says nothing"
}

# link_local NS DEV: its address there
link_local() {
	ip netns exec "$1" ip -6 -o addr show dev "$2" scope link |
		awk '{ sub("/.*", "", $4); print $4 }'
}

# The other end names the link by its own netdev. The rdma_cm of Linux 4.4.y drops the
# source address that it finds for an IPv6 peer: there the client has to name one.
rping_link_local() {
	local address own=()

	address=$(link_local ns1 veth0)
	core_makes_links || own=(-I "$(link_local ns2 veth1)%veth1")
	cm_pair "$PATIENCE" rping -s -a "$address%veth0" -v -C 5 -- \
		"$VM/programs/rping-client" 5 -a "$address%veth1" "${own[@]}" || return
	grep -q 'ping data' "$CASE_LOG.client" || bad "rping says nothing"
}

cm_program() { # PROGRAM ADDRESS OPTIONS...
	local program=$1 address=$2 OPTIONS

	shift 2
	from -b "$address"
	cm_pair "$PATIENCE" "$program" -b "$address" "$@" -- \
		"$program" -s "$address" "${OPTIONS[@]}" "$@" || return
	! grep -qiE 'fail|error|unable' "$CASE_LOG.client" "$CASE_LOG.server" ||
		bad "$(grep -iE 'fail|error|unable' "$CASE_LOG.client" "$CASE_LOG.server" | head -n 1)" || return
	[ "$program" = rstream ] || grep -q 'data transfers complete' "$CASE_LOG.client" || bad "$program: no data"
}

# program_link_local PROGRAM OPTIONS...: each end names the link by its own netdev
program_link_local() {
	local program=$1 address

	core_makes_links || { skip "rdma_cm of this kernel wants an address of the client, too: rping has it"; return; }
	shift
	address=$(link_local ns1 veth0)
	cm_pair "$PATIENCE" "$program" -b "$address%veth0" "$@" -- "$program" -s "$address%veth1" "$@" || return
	! grep -iE 'fail|error|unable' "$CASE_LOG.client" "$CASE_LOG.server" || bad "an error, see the log" || return
	[ "$program" = rstream ] || grep -q 'data transfers complete' "$CASE_LOG.client" || bad "$program: no data"
}

simple() { # ADDRESS
	cm_pair "$PATIENCE" rdma_server -s "$1" -p 7471 -- rdma_client -s "$1" -p 7471
}

rping_within() {
	within rping -s -a 10.1.0.1 -C 10 -v -- "$VM/programs/rping-client" 10 -a 10.1.0.1 -I 10.1.0.1
}

program_within() { # PROGRAM
	within "$1" -b 10.1.0.1 -C 20 -S 1000 -- "$1" -s 10.1.0.1 -b 10.1.0.1 -C 20 -S 1000 || return
	grep -q 'data transfers complete' "$CASE_LOG.client" || bad "no data" || return
	! grep -iE 'fail|error|unable' "$CASE_LOG.client" "$CASE_LOG.server" || bad "an error, see the log"
}

# cm_id FILTER: what of all ids is left
# shellcheck disable=SC2086 # words
cm_id() { rdma resource show cm_id $1; }
cm_connected() { cm_id 'state CONNECT dst-port 7174' | grep -q .; }

# A connection, its addresses and its queue pair, as the driver's "rdma resource" has them
shown() {
	local server client qpn line

	! core_makes_links || { skip "the core itself tells what rdma_cm has"; return; }
	tool_makes_links || { skip "cores of this age do not tell what rdma_cm has"; return; }
	ip netns exec ns1 rping -s -a 10.1.0.1 -p 7174 >"$CASE_LOG.server" 2>&1 &
	server=$!
	eventually cm_listens
	ip netns exec ns2 rping -c -a 10.1.0.1 -p 7174 >"$CASE_LOG.client" 2>&1 &
	client=$!
	# shellcheck disable=SC2034 # of lib.sh
	TRAFFIC="$server $client"
	eventually cm_connected || bad "no connection: $(cm_id ''; cat "$CASE_LOG.client")" || return
	cm_id ''
	qpn=$(awk -v p=$client 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$(at["pid"]) == p { print $(at["qpn"]) }' /sys/kernel/debug/rxe/rxe1/qp)
	line=$(cm_id "link rxe1/1 pid $client state CONNECT")
	grep -qE "^link rxe1/1 .*lqpn $qpn .*type RC state CONNECT ps TCP pid $client comm rping src-addr 10.1.0.2:[0-9]+ dst-addr 10.1.0.1:7174 *$" <<<"$line" ||
		bad "not the connection of the client, queue pair $qpn: '$line'" || return
	[ "$(cm_id "lqpn $qpn" | grep -c .)" = 1 ] && [ "$(cm_id "dst-addr 10.1.0.1 src-addr 10.1.0.2" | grep -c .)" = 1 ] ||
		bad "filters: '$(cm_id "lqpn $qpn")' '$(cm_id "dst-addr 10.1.0.1 src-addr 10.1.0.2")'" || return
	[ "$(cm_id "link rxe0/1 pid $server state CONNECT src-port 7174" | grep -c 'dst-addr 10.1.0.2:')" = 1 ] &&
		[ "$(cm_id "link rxe0/1 pid $server state LISTEN" | grep -c 'src-addr 10.1.0.1:7174')" = 1 ] ||
		bad "the server's: '$(cm_id "pid $server")'"
}

# Nobody listens: the MAD that says so arrives.
refused() {
	expect_error 'reject|cma event|connect' n2 rping -c -a 10.1.0.1 -C 1
}

many_connects() { cm_program ucmatose 10.1.0.1 -c 50 -C 5 -S 100; }

# cmtime's server goes on until it is told to end
connection_times() { # ADDRESS
	local OPTIONS server status=0

	from -b "$1"
	ip netns exec ns1 cmtime -b "$1" -c 100 >"$CASE_LOG.server" 2>&1 &
	server=$!
	eventually cm_listens || bad "the server does not listen"
	n2 timeout "$PATIENCE" cmtime -s "$1" -c 100 "${OPTIONS[@]}" >"$CASE_LOG.client" 2>&1 || {
		status=$?
		bad "client: $(ended $status "$PATIENCE" "$CASE_LOG.client")"
	}
	kill $server
	wait $server
	[ $status -eq 0 ] || return
	# STEP : TOTAL MAX MIN...
	awk -F '[ :]+' '$1 == "connect" && $2 > 0 { found = 1 } END { exit !found }' "$CASE_LOG.client" ||
		bad "no time of connecting: $(tail -n 3 "$CASE_LOG.client")"
	! grep -iE 'fail|error|unable' "$CASE_LOG.client" "$CASE_LOG.server" || bad "an error, see the log"
	[ ! -s "$REASON" ]
}

# A core that looks for addresses in the initial namespace only. Who connects from
# another gets a reason. Who is connected to there is rejected; if a program listens
# in vain, the core knows no way to say so, and its peer gives up after a minute.
connect_elsewhere() {
	setup net_up || return
	# the latter if a netdev here has the number that the other one has there
	expect_error 'no such device|resolve|ADDR_ERROR' n2 rping -c -a 10.1.0.1 -C 1
}

net_up_half() { ip netns add ns1 && ip netns attach ns2 $$ && net_pair; }

rejected_elsewhere() {
	setup net_up_half || return
	expect_error 'REJECTED' n2 rping -c -a 10.1.0.1 -C 1
}

listen_elsewhere() {
	ip netns exec ns1 rping -s -a 10.1.0.1 -C 1 >"$CASE_LOG.server" 2>&1 &
	local server=$!

	eventually cm_listens
	PATIENCE=180 expect_error 'UNREACHABLE|REJECTED' n2 rping -c -a 10.1.0.1 -C 1
	kill $server 2>/dev/null
	wait $server
	[ ! -s "$REASON" ]
}

check modules cm_modules || return
if core_makes_links; then
	check setup setup || return
else
	check connect-elsewhere connect_elsewhere
	check connect-elsewhere-clean cleanup_all
	check rejected-elsewhere rejected_elsewhere
	check listen-elsewhere listen_elsewhere
	check listen-elsewhere-clean cleanup_all
	check setup setup net_up_here || return
fi
check rping rping_ok 10.1.0.1 10
check rping-large rping_ok 10.1.0.1 3 -S 65535
check rping-ipv6 rping_ok fd01::1 10
check rping-link-local rping_link_local
check rping-within-a-device rping_within
for program in ucmatose udaddy; do
	check "$program-within-a-device" program_within $program
done
check shown shown
check refused refused
check ucmatose cm_program ucmatose 10.1.0.1
check ucmatose-many-connections many_connects
check ucmatose-ipv6 cm_program ucmatose fd01::1
check udaddy cm_program udaddy 10.1.0.1
check udaddy-ipv6 cm_program udaddy fd01::1
for program in ucmatose udaddy; do
	check "$program-link-local" program_link_local $program
done
check rdma-server-client simple 10.1.0.1
# the client cannot be bound to an address (see from)
! core_makes_links || check rdma-server-client-ipv6 simple fd01::1
check cmtime connection_times 10.1.0.1
check cmtime-ipv6 connection_times fd01::1
check rstream-verify cm_program rstream 10.1.0.1 -S 65536 -C 20 -I 5 -T v
check rstream-verify-ipv6 cm_program rstream fd01::1 -S 65536 -C 20 -I 5 -T v
check rstream-link-local program_link_local rstream -S 65536 -C 20 -I 5 -T v
check write-bw cm_perftest 10.1.0.1 ib_write_bw -s 65536 -n 100
check send-lat cm_perftest 10.1.0.1 ib_send_lat -s 64 -n 100
check send-lat-ud cm_perftest 10.1.0.1 ib_send_lat -c UD -s 64 -n 100
check no-leaks no_leaks
check clean cleanup_all
