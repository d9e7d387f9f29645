# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# congestion-long.sh - flows that share a bottleneck, a qdisc behind the clients:
#
#	client ─┐
#	client ─┴─ veth1: tbf $RATE ─ marks (red, fq_codel) or drops ─── veth0 ─ servers
#
# Two of ours are fair to each other (Jain's index), and use a third of it at least; one of
# ours and one of TCP leave each other a share; the notifications are seen in the counters,
# and a while later all limits are gone.
# packages: python3

RATE=${RATE:-100}		# Mb/s
SECONDS_EACH=${SECONDS_EACH:-12}
FIGURES=$LOGS/congestion-long.figures

# What the clients send is held up; for READs, what the servers send
SIDE="n2 tc -s qdisc" DEV=veth1

# both NAME: a counter of both devices
both() { echo $(($(counter rxe0 "$1") + $(counter rxe1 "$1"))); }

no_bottleneck() {
	n1 tc qdisc del dev veth0 root 2>/dev/null
	n2 tc qdisc del dev veth1 root 2>/dev/null
	n1 tc qdisc del dev veth0 ingress 2>/dev/null
	n1 ip link del ifb9 2>/dev/null
	true
}

# bottleneck QDISC...: what waits for the link; nothing: a short queue that drops
bottleneck() {
	[ "$DEV" = ifb9 ] || no_bottleneck
	$SIDE add dev "$DEV" root handle 1: tbf rate "${RATE}mbit" burst 10000 limit 300000 ||
		bad "tc does not take tbf" || return
	[ $# -eq 0 ] || $SIDE add dev "$DEV" parent 1:1 handle 2: "$@" ||
		bad "tc does not take: $*"
}

red() {
	bottleneck red limit 300000 min 40000 max 120000 avpkt 1100 burst 50 \
		probability 0.1 bandwidth "${RATE}mbit" ecn
}

codel() { bottleneck fq_codel flows 1 limit 300 ce_threshold 4ms target 50ms; }

# flow INDEX PROGRAM: a client and its server in the background
flow() {
	local index=$1 program=$2 at=$((PORT + $1))

	timeout -k 2 "$LIMIT" ip netns exec ns1 "$program" -F -p "$at" -d rxe0 \
		-x "$(gid_index rxe0 v4)" -m 1024 -s 65536 -D "$SECONDS_EACH" -u 18 \
		>"$CASE_LOG.server$index" 2>&1 &
	PIDS+=($!)
	eventually listens "$at" || bad "the server does not listen" || return
	timeout -k 2 "$LIMIT" ip netns exec ns2 "$program" -F -p "$at" -d rxe1 \
		-x "$(gid_index rxe1 v4)" -m 1024 -s 65536 -D "$SECONDS_EACH" -u 18 10.1.0.1 \
		>"$CASE_LOG.client$index" 2>&1 &
	PIDS+=($!)
}

ended_well() {
	local pid status=0

	for pid in "${PIDS[@]}"; do
		wait "$pid" || { status=1; bad "a program of perftest: status $?"; }
	done
	tail -n 5 "$CASE_LOG".client* "$CASE_LOG".server*
	return $status
}

# rate INDEX: MB/s of a client
rate() { awk '$1 == 65536 { print $4 }' "$CASE_LOG.client$1"; }

# fair WHAT PROGRAM: two flows at the same time
fair() {
	local cuts retransmitted sent i

	cuts=$(both rate_cuts)
	retransmitted=$(both retransmitted_packets)
	sent=$(both sent_pkts)
	PIDS=()
	for i in 0 1; do
		flow $i "$2" || break
	done
	ended_well || return
	$SIDE show dev "$DEV"
	cuts=$(($(both rate_cuts) - cuts))
	retransmitted=$(($(both retransmitted_packets) - retransmitted))
	sent=$(($(both sent_pkts) - sent))
	awk -v a="$(rate 0)" -v b="$(rate 1)" -v what="$1, $2" -v cuts="$cuts" -v full="$RATE" \
		-v again="$retransmitted" -v sent="$sent" 'BEGIN {
		jain = (a + b) ^ 2 / (2 * (a ^ 2 + b ^ 2) + 1e-9)
		printf "%s: %.2f and %.2f MB/s, Jain %.3f, %.0f %% of %d Mb/s, %d cuts, %d of %d packets sent again\n",
			what, a, b, jain, (a + b) * 800 * 1.048576 / full, full, cuts, again, sent
		exit !(jain >= 0.9 && (a + b) * 800 * 1.048576 >= 35 * full) }' | tee -a "$FIGURES"
	[ "${PIPESTATUS[0]}" -eq 0 ] || bad "$(tail -n 1 "$FIGURES")" || return
	[[ $1 == drops* ]] || [ "$cuts" -gt 0 ] || bad "nobody has slowed down"
}

# marked QDISC PROGRAM
marked() {
	local marks notified

	marks=$(both np_ecn_marked_roce_packets) notified=$(both rx_cnp)
	"$1" && fair "$1" "$2" || return
	[ "$(both np_ecn_marked_roce_packets)" -gt "$marks" ] || bad "nothing was marked" || return
	[ "$(both np_cnp_sent)" -gt 0 ] && [ "$(both rx_cnp)" -gt "$notified" ] ||
		bad "no notifications"
}

marked_reads() { SIDE="n1 tc -s qdisc" DEV=veth0 marked red ib_read_bw; }

dropped() { bottleneck && fair drops ib_write_bw; }

# The same in a switch: who sends is told nothing of what is dropped
elsewhere() {
	no_bottleneck
	SIDE="n1 tc -s qdisc" DEV=ifb9
	n1 ip link add ifb9 type ifb && n1 ip link set ifb9 up &&
		n1 tc qdisc add dev veth0 ingress &&
		n1 tc filter add dev veth0 parent ffff: matchall action mirred egress redirect dev ifb9 ||
		bad "no way through an ifb" || return
	bottleneck
}

dropped_elsewhere() {
	local SIDE DEV

	elsewhere && fair drops-elsewhere ib_write_bw || return
	$SIDE show dev "$DEV" | grep -q 'dropped [1-9]' || bad "nothing was dropped there"
}

# Bytes that TCP has received, every now and then
TCP_SERVER='
import socket, sys, time
listener = socket.create_server(("10.1.0.1", 5001))
peer, total, told = listener.accept()[0], 0, 0
while True:
	data = peer.recv(65536)
	total += len(data)
	if not data or time.monotonic() - told > 0.1:
		told = time.monotonic()
		with open(sys.argv[1], "w") as file:
			file.write(f"{total}\n")
	if not data:
		break
'
TCP_CLIENT='
import socket, sys, time
peer = socket.create_connection(("10.1.0.1", 5001))
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
	peer.sendall(bytes(65536))
'

# neighbour BOTTLENECK LEAST: TCP has LEAST per cent at least of what both move, and leaves us
# as much, from a second after the later one has begun
neighbour() {
	local tcp=$CASE_LOG.tcp server client SIDE=$SIDE DEV=$DEV
	local SECONDS_EACH=$((SECONDS_EACH + 10))

	"$1" && n1 sysctl -qw net.ipv4.tcp_ecn=1 && n2 sysctl -qw net.ipv4.tcp_ecn=1 || return
	echo 0 >"$tcp"
	ip netns exec ns1 python3 -c "$TCP_SERVER" "$tcp" &
	server=$!
	eventually listens 5001 || bad "TCP does not listen" || return
	ip netns exec ns2 python3 -c "$TCP_CLIENT" $((SECONDS_EACH + 10)) &
	client=$!
	PIDS=()
	flow 0 ib_write_bw || return
	while kill -0 "${PIDS[1]}" 2>/dev/null; do
		echo "$(counter rxe0 rcvd_bytes) $(cat "$tcp")"
		sleep 0.5
	done >"$CASE_LOG.samples"
	ended_well || return
	kill $client $server 2>/dev/null
	wait $client $server 2>/dev/null
	$SIDE show dev "$DEV"
	awk -v least="$2" -v where="$1" '
		NR > 1 && $1 - ours > 20000 && $2 > 0 {
			if (++both > 2) { us += $1 - ours; them += $2 - tcp; n++ }
		}
		{ ours = $1; tcp = $2 }
		END {
			share = us + them ? 100 * them / (us + them) : 0
			printf "%s, TCP beside ib_write_bw: %.0f %% of the bytes, in %d samples\n",
				where, share, n
			exit !(n >= 4 && share >= least && share <= 100 - least)
		}' "$CASE_LOG.samples" | tee -a "$FIGURES"
	[ "${PIPESTATUS[0]}" -eq 0 ] || bad "$(tail -n 1 "$FIGURES")"
}

# Without a bottleneck there is no limit, and none comes
free() {
	local cuts

	no_bottleneck
	cuts=$(counter rxe1 rate_cuts)
	PIDS=()
	SECONDS_EACH=3 flow 0 ib_write_bw && ended_well || return
	[ "$(counter rxe1 rate_cuts)" = "$cuts" ] || bad "a flow slowed down without a bottleneck" || return
	echo "alone: $(rate 0) MB/s" | tee -a "$FIGURES"
	awk -v rate="$(rate 0)" -v full="$RATE" 'BEGIN { exit !(rate * 8 > full) }' ||
		bad "as slow as behind the bottleneck: $(rate 0) MB/s"
}

: >"$FIGURES"
check setup setup || return
if modprobe -q sch_tbf && modprobe -q sch_red; then
	export LIMIT=$((SECONDS_EACH * 3 + PATIENCE * 2))
	check red-write marked red ib_write_bw
	check red-read marked_reads
	check codel-write marked codel ib_send_bw
	check drops dropped
	check drops-elsewhere dropped_elsewhere
	check tcp-neighbour neighbour red 15
	check tcp-drops neighbour bottleneck 15
	check tcp-drops-elsewhere neighbour elsewhere 15
	check free free
	sed 's/^/# /' "$FIGURES"
else
	check bottleneck skip "no sch_tbf or no sch_red here"
fi
check clean cleanup_all
