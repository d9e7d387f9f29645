# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# drops.sh - what the local stack refuses is like a loss on the wire: a connection
# lives through a firewall, a filter, a neighbour or route that is gone, a link that is
# down, a queue that is full and one that is stopped, on either side, and goes on by
# itself.
#
# Pairs of programs, with one connection each, run through it, with time enough to retry
# (-u 20: four seconds each): each case must see its flow of packets stop, and start
# again. Payload is dropped in requests (WRITE, SEND) and in responses (READ).

# The end that payload leaves, its device and namespace, and the end where it arrives;
# OUT of it is counted, IN of the other one.
payload_from() {
	case $1 in
	client) OUT=rxe1 FROM=n2 FROM_DEV=veth1 IN=rxe0 TO=n1 TO_DEV=veth0 TO_HOST=1 ;;
	server) OUT=rxe0 FROM=n1 FROM_DEV=veth0 IN=rxe1 TO=n2 TO_DEV=veth1 TO_HOST=2 ;;
	esac
}

# received: packets of the driver that have arrived there
received() { cat "/sys/class/infiniband/$IN/ports/1/hw_counters/rcvd_pkts"; }

flows_again() { [ $(($(received) - SEEN)) -gt 20 ]; }

# is it flowing now?
flows() {
	SEEN=$(received)
	eventually flows_again || bad "no traffic: $(tail -n 2 "$CLIENT_LOG" | tr '\n' ' ')"
}

# start v4|v6 client|server PROGRAM OPTIONS...: a pair whose payload comes from there
start() {
	local kind=$1 options=(-F -u 20 -p "$PORT" -D 600 "${@:4}")

	payload_from "$2"
	SERVER_LOG=$LOGS/drops/server-$3-$kind.log
	CLIENT_LOG=$LOGS/drops/client-$3-$kind.log
	DROPPED=$(counter "$OUT" tx_dropped)
	ip netns exec ns1 "$3" "${options[@]}" -d rxe0 -x "$(gid_index rxe0 "$kind")" \
		>"$SERVER_LOG" 2>&1 &
	SERVER=$!
	eventually listens "$PORT" || bad "the server does not listen" || return
	ip netns exec ns2 "$3" "${options[@]}" -d rxe1 -x "$(gid_index rxe1 "$kind")" 10.1.0.1 \
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

# Behind the firewall, and refused in other words: as by a full queue
filter_up() {
	"$FROM" tc qdisc add dev "$FROM_DEV" clsact &&
		"$FROM" tc filter add dev "$FROM_DEV" egress matchall action drop
}
filter_down() { "$FROM" tc qdisc del dev "$FROM_DEV" clsact; }

# Nobody answers for the address; the stack keeps a few packets, and drops the rest.
neighbour_gone() {
	"$TO" ip link set "$TO_DEV" arp off && "$FROM" ip neigh flush dev "$FROM_DEV"
}
neighbour_back() { "$TO" ip link set "$TO_DEV" arp on; }

# The same after so long that the stack has given it up, or is about to
neighbour_given_up() {
	local known

	known=$("$FROM" ip neigh show to "10.1.0.$TO_HOST" dev "$FROM_DEV")
	echo "neighbour: $known"
	neighbour_back || return
	grep -qE 'FAILED|INCOMPLETE' <<<"$known" || bad "the neighbour is known: $known"
}

# Over IPv6 a netdev without ARP is asked all the same. At neither end a question is heard:
# who asks tells its own address by it.
neighbour6_gone() {
	local ns

	for ns in ns1 ns2; do
		ip netns exec $ns nft -f - <<-END || return
			table inet rxeneighbour {
				chain in {
					type filter hook input priority 0;
					icmpv6 type nd-neighbor-solicit drop
				}
			}
		END
	done
	# which may find some of it there again, and say so; whether it was enough is seen
	"$FROM" ip -6 neigh flush dev "$FROM_DEV" || true
}
neighbour6_back() { n1 nft delete table inet rxeneighbour && n2 nft delete table inet rxeneighbour; }

# Over IPv6: who names the netdev, as the driver does, needs no route over IPv4.
route_gone() {
	n2 ip -6 route del fd01::/64 dev veth1 && n1 ip -6 route del fd01::/64 dev veth0
}
route_back() {
	n2 ip -6 route add fd01::/64 dev veth1 && n1 ip -6 route add fd01::/64 dev veth0
}

link_down() { "$TO" ip link set "$TO_DEV" down; }
link_up() { "$TO" ip link set "$TO_DEV" up; }

# Without a link nothing is sent, which is no congestion, however often it is tried. Only while it
# goes down a packet is refused, or two, by a queue that looks like any other.
link_outage() {
	local cuts

	cuts=$(counter "$OUT" rate_cuts)
	outage 1 link_down link_up || return
	cuts=$(($(counter "$OUT" rate_cuts) - cuts))
	[ $cuts -le 2 ] || bad "$OUT has slowed down $cuts times"
}

# of_queue dropped|backlog: what the queue of the end that payload leaves says of packets
of_queue() {
	local pattern="s/.*dropped \([0-9]*\).*/\1/p"

	[ "$1" = dropped ] || pattern='s/.*backlog [^ ]* \([0-9]*\)p.*/\1/p'
	"$FROM" tc -s qdisc show dev "$FROM_DEV" | sed -n "$pattern" | head -n 1
}

# A queue for four packets, on both sides, that lets them go one by one
tiny_queue() {
	local dropped

	flows || return
	n2 tc qdisc add dev veth1 root tbf rate 400mbit burst 6000 limit 18000 &&
		n1 tc qdisc add dev veth0 root tbf rate 400mbit burst 6000 limit 18000 ||
		bad "tc does not take a queue" || return
	flows || return
	sleep 0.3
	dropped=$(of_queue dropped)
	n2 tc qdisc del dev veth1 root && n1 tc qdisc del dev veth0 root ||
		bad "tc does not let go of the queue" || return
	[ "${dropped:-0}" -gt 0 ] || bad "the queue dropped nothing" || return
	flows
}

# A netdev that takes nothing for now, in front of which some packets wait, and others
# find no room. Without a qdisc there would be nowhere to wait.
stop_queue() { # [PACKETS]
	"$FROM" tc qdisc add dev "$FROM_DEV" root pfifo limit "${1:-2}" &&
		insmod "${KMOD%/*}/rxe_stopper.ko" "netdev=$FROM_DEV"
}
wake_queue() {
	local dropped backlog

	dropped=$(of_queue dropped) backlog=$(of_queue backlog)
	rmmod rxe_stopper && "$FROM" tc qdisc del dev "$FROM_DEV" root || return
	[ "${dropped:-0}" -gt 0 ] && [ "${backlog:-0}" -gt 0 ] ||
		bad "a stopped queue that dropped '$dropped' packets, and let '$backlog' wait"
}

# crowd BURSTS QPS: that many queue pairs behind a queue that is an ordinary one, but for that
# bursts are cut for it, and whose link is slower than they are. It must have room for what all of
# them leave there. What it lets go, on whatever CPU, must come in order, and have room there, too.
# Percent of its packets that it may refuse and that may be sent again, whatever the cause.
CROWD_MOST=3
crowd() {
	local bursts=$1 qps=$2 sent again refused taken status=0

	payload_from client
	crowd_begins "$bursts" || status=1
	sent=$(counter rxe1 sent_pkts) again=$(counter rxe1 retransmitted_packets)
	[ $status -ne 0 ] || perftest ib_write_bw -s 65536 -m 1024 -q "$qps" -t 32 -D 4 -u 18 || status=1
	sent=$(($(counter rxe1 sent_pkts) - sent)) again=$(($(counter rxe1 retransmitted_packets) - again))
	n2 tc -s qdisc show dev veth1
	refused=$(n2 tc -s qdisc show dev veth1 | awk '/^qdisc pfifo/ { getline; gsub(",", ""); print $7 }')
	taken=$(n2 tc -s qdisc show dev veth1 | awk '/^qdisc pfifo/ { getline; print $4 }')
	crowd_ends
	[ $status -eq 0 ] || return
	echo "$qps queue pairs, bursts $bursts: $sent sent, $again of them again;" \
		"the queue took $taken and refused $refused" | tee -a "$LOGS/drops/crowd"
	[ "${taken:-0}" -gt 5000 ] && [ -n "$refused" ] || bad "the queue has not been there" || return
	[ $((again * 100)) -le $((sent * CROWD_MOST)) ] && [ $((refused * 100)) -le $((taken * CROWD_MOST)) ] ||
		bad "$(tail -n 1 "$LOGS/drops/crowd")"
}

crowd_begins() {
	BACKLOG=$(sysctl -n net.core.netdev_max_backlog)
	sysctl -qw net.core.netdev_max_backlog=10000
	n1 sh -c 'echo 1 >/sys/class/net/veth0/queues/rx-0/rps_cpus' || bad "veth0 is not steered" || return
	n1 ethtool -K veth0 gso "$1" && n2 ethtool -K veth1 gso "$1" || bad "ethtool fails" || return
	n2 tc qdisc add dev veth1 root handle 1: tbf rate 400mbit burst 20000 limit 100000000 &&
		n2 tc qdisc add dev veth1 parent 1:1 handle 2: pfifo limit 1000 ||
		bad "tc does not take a queue"
}
crowd_ends() {
	n2 tc qdisc del dev veth1 root
	n1 ethtool -K veth0 gso on
	n2 ethtool -K veth1 gso on
	n1 sh -c 'echo 0 >/sys/class/net/veth0/queues/rx-0/rps_cpus'
	sysctl -qw "net.core.netdev_max_backlog=$BACKLOG"
}

has_ended() { ! kill -0 "$CLIENT" 2>/dev/null; }

# stopped_for_good PACKETS: a queue that stays stopped, and has room for so many. The
# requester has tried long enough, and says so, whoever holds its packets, and the process
# can end meanwhile.
stopped_for_good() {
	local began status=0

	start v4 client ib_write_bw -s 65536 -u 14 || return
	stop_queue "$1" || bad "cannot stop the queue" || return
	began=$SECONDS
	eventually has_ended || bad "the client is there after $((SECONDS - began)) s" || status=1
	rmmod rxe_stopper && "$FROM" tc qdisc del dev "$FROM_DEV" root || bad "cannot mend the path" || return
	[ $status -eq 0 ] || return
	! wait "$CLIENT" || bad "the client saw no error" || return
	cat "$CLIENT_LOG"
	grep -qi 'failed status 12' "$CLIENT_LOG" ||
		bad "no RETRY_EXC_ERR: $(tail -n 2 "$CLIENT_LOG" | tr '\n' ' ')"
}

# after all of it: nobody has given up, nor noticed
still_alive() {
	flows || return
	kill -0 "$SERVER" && kill -0 "$CLIENT" || bad "a program has ended" || return
	cat "$CLIENT_LOG"
	grep . /sys/class/infiniband/rxe?/ports/1/hw_counters/* | grep -v ':0$'
	! grep -qiE 'status|error' "$CLIENT_LOG" "$SERVER_LOG" || bad "an error was seen" || return
	[ "$(counter "$OUT" tx_dropped)" -gt "$DROPPED" ] || bad "$OUT counts no packet dropped here"
}

finish() {
	kill "$SERVER" "$CLIENT"
	wait "$SERVER" "$CLIENT"
} 2>/dev/null

# needs CASE WHAT... -- COMMAND...: check CASE, if there is all that (modules, nft)
needs() {
	local case=$1 what

	shift
	while [ "$1" != -- ]; do
		what=$1
		shift
		case $what in
		nft) command -v nft >/dev/null ;;
		stopper) [ -e "${KMOD%/*}/rxe_stopper.ko" ] ;;
		*) modprobe -q "$what" ;;
		esac || { check "$case" skip "no $what here"; return; }
	done
	shift
	check "$case" "$@"
}

firewall=(nf_tables nft -- outage 0.2 firewall_up firewall_down)
# cls_matchall is younger than clsact.
filter=(sch_ingress cls_matchall act_gact -- outage 0.2 filter_up filter_down)
queue_stopped=(stopper -- outage 0.3 stop_queue wake_queue)

check setup setup || return
# first: a link that goes down loses its IPv6 addresses
if check start-v6 start v6 client ib_write_bw -s 65536 &&
	check route outage 1 route_gone route_back; then
	needs firewall-v6 "${firewall[@]}"
	needs neighbour-v6 nf_tables nft -- outage 1 neighbour6_gone neighbour6_back
fi
check alive-v6 still_alive
finish
check start start v4 client ib_write_bw -s 65536 || { finish; return; }
needs firewall "${firewall[@]}"
needs filter "${filter[@]}"
check neighbour outage 1 neighbour_gone neighbour_back
check neighbour-failed outage 4 neighbour_gone neighbour_given_up
check link link_outage
needs queue sch_tbf -- tiny_queue
needs queue-stopped "${queue_stopped[@]}"
check still-alive still_alive
finish
# what the server sends: responses, with payload
if check start-read start v4 server ib_read_bw -s 65536; then
	needs firewall-read "${firewall[@]}"
	needs filter-read "${filter[@]}"
	check neighbour-read outage 1 neighbour_gone neighbour_back
	check link-read link_outage
	needs queue-read sch_tbf -- tiny_queue
	needs queue-stopped-read "${queue_stopped[@]}"
	check alive-read still_alive
fi
finish
# receives, and results of atomics, that are there once
if check start-send start v4 client ib_send_bw -s 65536; then
	needs filter-send "${filter[@]}"
	needs queue-send sch_tbf -- tiny_queue
	check alive-send still_alive
fi
finish
if check start-atomic start v4 client ib_atomic_bw; then
	needs firewall-atomic "${firewall[@]}"
	check alive-atomic still_alive
fi
finish
if modprobe -q sch_tbf && [ -w /sys/class/net/lo/queues/rx-0/rps_cpus ]; then
	check crowd crowd on 16
	check crowd-single crowd off 16
else
	check crowd skip "no sch_tbf or no RPS here"
fi
# given up after half a second to two (-u 14: 67 ms, and eight times), whether packets are
# dropped or just stay where they are
needs queue-stopped-for-good stopper -- stopped_for_good 2
finish
needs queue-keeps-for-good stopper -- stopped_for_good 1000
finish
check no-leaks no_leaks
check clean cleanup_all
