# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# drops.sh - what the local stack refuses is like a loss on the wire: a connection
# lives through a firewall, a neighbour or route that is gone, a link that is down,
# and a queue that is full, on either side, and goes on by itself.
#
# One pair of programs, with one connection, runs through all of it, with time enough
# to retry (-u 20: four seconds each): each case must see its flow of packets stop, and
# start again.

# received: packets of the driver that the server's side has had
received() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts; }

flows_again() { [ $(($(received) - SEEN)) -gt 20 ]; }

# is it flowing now?
flows() {
	SEEN=$(received)
	eventually flows_again || bad "no traffic: $(tail -n 2 "$CLIENT_LOG" | tr '\n' ' ')"
}

# start v4|v6
start() {
	local options=(-F -u 20 -p "$PORT" -D 600 -s 65536)

	SERVER_LOG=$LOGS/drops/server-$1.log
	CLIENT_LOG=$LOGS/drops/client-$1.log
	ip netns exec ns1 ib_write_bw "${options[@]}" -d rxe0 -x "$(gid_index rxe0 "$1")" \
		>"$SERVER_LOG" 2>&1 &
	SERVER=$!
	eventually listens "$PORT" || bad "the server does not listen" || return
	ip netns exec ns2 ib_write_bw "${options[@]}" -d rxe1 -x "$(gid_index rxe1 "$1")" 10.1.0.1 \
		>"$CLIENT_LOG" 2>&1 &
	CLIENT=$!
	flows
}

# stopped SECONDS: nothing has come through meanwhile
stopped() {
	local before

	sleep 0.1	# what was on its way
	before=$(received)
	sleep "$1"
	[ $(($(received) - before)) -eq 0 ] ||
		bad "$(($(received) - before)) packets came through"
}

# outage SECONDS BREAK MEND: functions that break the path and mend it
outage() {
	local status=0

	flows || return
	"$2" || bad "cannot break the path" || return
	stopped "$1" || status=1
	"$3" || bad "cannot mend the path" || return
	flows && return $status
}

# What a process is refused with EPERM
firewall_up() {
	local ns

	for ns in ns1 ns2; do
		ip netns exec $ns nft -f - <<-END || return
			table inet rxetest {
				chain out {
					type filter hook output priority 0;
					udp dport 4791 drop
				}
			}
		END
	done
}
firewall_down() { n1 nft delete table inet rxetest && n2 nft delete table inet rxetest; }

# Nobody answers for the address; the stack keeps a few packets, and drops the rest.
neighbour_gone() {
	n1 ip link set veth0 arp off && n2 ip neigh flush dev veth1
}
neighbour_back() { n1 ip link set veth0 arp on; }

# Over IPv6: who names the netdev, as the driver does, needs no route over IPv4.
route_gone() {
	n2 ip -6 route del fd01::/64 dev veth1 && n1 ip -6 route del fd01::/64 dev veth0
}
route_back() {
	n2 ip -6 route add fd01::/64 dev veth1 && n1 ip -6 route add fd01::/64 dev veth0
}

link_down() { n1 ip link set veth0 down; }
link_up() { n1 ip link set veth0 up; }

# A queue for four packets, on both sides, that lets them go one by one
tiny_queue() {
	local dropped

	flows || return
	n2 tc qdisc add dev veth1 root tbf rate 400mbit burst 6000 limit 18000 &&
		n1 tc qdisc add dev veth0 root tbf rate 400mbit burst 6000 limit 18000 ||
		bad "tc does not take a queue" || return
	flows || return
	sleep 0.3
	n2 tc -s qdisc show dev veth1
	dropped=$(n2 tc -s qdisc show dev veth1 | sed -n 's/.*dropped \([0-9]*\).*/\1/p' | head -n 1)
	n2 tc qdisc del dev veth1 root && n1 tc qdisc del dev veth0 root ||
		bad "tc does not let go of the queue" || return
	[ "${dropped:-0}" -gt 0 ] || bad "the queue dropped nothing" || return
	flows
}

# after all of it: nobody has given up, nor noticed
still_alive() {
	flows || return
	kill -0 "$SERVER" && kill -0 "$CLIENT" || bad "a program has ended" || return
	cat "$CLIENT_LOG"
	grep . /sys/class/infiniband/rxe?/ports/1/hw_counters/* | grep -v ':0$'
	! grep -qiE 'status|error' "$CLIENT_LOG" "$SERVER_LOG" || bad "an error was seen"
	[ "$(counter rxe1 tx_dropped)" -gt 0 ] || bad "rxe1 counts no packet dropped here"
}

finish() {
	kill "$SERVER" "$CLIENT"
	wait "$SERVER" "$CLIENT"
} 2>/dev/null

check setup setup || return
# first: a link that goes down loses its IPv6 addresses
check start-v6 start v6 && check route outage 1 route_gone route_back && check alive-v6 still_alive
finish
check start start v4 || { finish; return; }
if command -v nft >/dev/null && modprobe -q nf_tables; then
	check firewall outage 0.2 firewall_up firewall_down
else
	check firewall skip "no nf_tables or no nft here"
fi
check neighbour outage 1 neighbour_gone neighbour_back
check link outage 1 link_down link_up
if modprobe -q sch_tbf; then
	check queue tiny_queue
else
	check queue skip "no sch_tbf here"
fi
check still-alive still_alive
finish
check no-leaks no_leaks
check clean cleanup_all
