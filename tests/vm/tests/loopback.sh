# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# loopback.sh - peers in one namespace, on two devices or on one: their packets bypass
# the loopback device, unless somebody captures there, or shortcut=0.
# packages: python3 python3-pyverbs

# shellcheck source=tests/lib/capture.sh
. "$VM/../lib/capture.sh"

SHORTCUT=/sys/module/rdma_rxe/parameters/shortcut

# One namespace has both addresses, so that the stack would take the way by lo. The RDMA
# core looks for the peer's MAC address behind the netdev nevertheless.
one_namespace() {
	local i mac

	ip netns attach ns1 $$ && ip netns attach ns2 $$ &&
		ip link add veth0 mtu "$VETH_MTU" type veth peer name veth1 mtu "$VETH_MTU" ||
		bad "cannot name the initial namespace and make the veth pair" || return
	for i in 0 1; do
		ip addr add "10.1.0.$((i + 1))/24" dev "veth$i" &&
			ip -6 addr add "fd01::$((i + 1))/64" dev "veth$i" nodad &&
			ip link set "veth$i" up || bad "cannot set up veth$i" || return
	done
	for i in 0 1; do
		mac=$(cat "/sys/class/net/veth$((1 - i))/address")
		ip neigh replace "10.1.0.$((2 - i))" dev "veth$i" lladdr "$mac" nud permanent &&
			ip neigh replace "fd01::$((2 - i))" dev "veth$i" lladdr "$mac" nud permanent ||
			bad "cannot name the neighbours of veth$i" || return
	done
	ip link set lo up
}

sent() { echo $(($(counter rxe0 sent_pkts) + $(counter rxe1 sent_pkts))); }
of_lo() { cat /sys/class/net/lo/statistics/tx_packets; }

# by_lo LEAST MOST COMMAND...: of each 100 packets of the devices, how many does lo have?
# (TCP has some, too: programs agree by it what to do.)
by_lo() {
	local least=$1 most=$2 packets seen

	shift 2
	packets=$(sent) seen=$(of_lo)
	"$@" || return
	packets=$(($(sent) - packets)) seen=$(($(of_lo) - seen))
	echo "$packets packets sent, $seen on lo"
	[ "$packets" -ge 500 ] || bad "the driver counts only $packets packets" || return
	[ $((seen * 100)) -ge $((packets * least)) ] && [ $((seen * 100)) -le $((packets * most)) ] ||
		bad "$packets packets sent, $seen on lo: not $least..$most %"
}

# contents: enough packets, each byte compared
contents() { pingpong -m 1024 -s 20001 -n 50; }

by_the_stack() {
	local status=0

	echo N >$SHORTCUT || bad "shortcut=N is refused" || return
	by_lo 100 120 contents || status=1
	echo Y >$SHORTCUT || bad "shortcut=Y is refused" || return
	return $status
}

# transcript WAY LEAST MOST DEVICE ADDRESS DEVICE ADDRESS: of all that programs/within.py does
# with them; lo has so many of each 100 packets
transcript() {
	local way=$1

	by_lo "$2" "$3" timeout -k 5 $((PATIENCE * 3)) /usr/bin/python3 "$VM/programs/within.py" "${@:4}" >"$CASE_LOG.$way" ||
		{ tail -n 5 "$CASE_LOG.$way"; return 1; }
	# what by_lo says is about packets
	sed -i '/packets sent, /d' "$CASE_LOG.$way"
	[ "$(tail -n 1 "$CASE_LOG.$way")" = end ] || bad "the transcript ($way) has no end"
}

# either_way DEVICE ADDRESS DEVICE ADDRESS: a program cannot tell which way its packets have
# gone, by what completes, in which order, with what error, nor by what is counted
either_way() {
	local lent status=0

	lent=$(counter rxe0 tx_lent)
	transcript shortcut 0 5 "$@" || return
	[ "$(counter rxe0 tx_lent)" -gt "$lent" ] || bad "nothing was copied once" || return
	echo N >$SHORTCUT || bad "shortcut=N is refused" || return
	transcript stack 100 120 "$@" || status=1
	echo Y >$SHORTCUT || bad "shortcut=Y is refused" || return
	[ $status -eq 0 ] || return
	diff -u "$CASE_LOG.stack" "$CASE_LOG.shortcut" ||
		bad "$(diff "$CASE_LOG.stack" "$CASE_LOG.shortcut" | grep -c '^[<>]') lines differ by the way (stack -, shortcut +)"
}

# seen_on NETDEV: who captures there sees each packet, while it captures
seen_on() {
	local packets seen status=0

	command -v tcpdump >/dev/null || { skip "no tcpdump here"; return; }
	capture_begin ns1 "$CASE_LOG.tcpdump" -i "$1" -s 128 -B 65536 -w "$CASE_LOG.pcap" udp port 4791 ||
		bad "tcpdump does not start" || return
	packets=$(sent)
	contents || status=1
	packets=$(($(sent) - packets))
	capture_end "$CASE_LOG.tcpdump" || bad "tcpdump lost packets: $(tail -n 3 "$CASE_LOG.tcpdump")" || return
	[ $status -eq 0 ] || return
	seen=$(tcpdump -nr "$CASE_LOG.pcap" 2>/dev/null | wc -l)
	echo "$packets packets sent, $seen captured"
	rm -f "$CASE_LOG.pcap"
	# what goes out of lo and comes in is one to the taps of lo, and two to those of any
	[ "$packets" -ge 500 ] && [ "$seen" -ge "$packets" ] ||
		bad "$packets packets sent, $seen captured" || return
	by_lo 0 5 contents
}

# A core older than that does not say who captures on all netdevs.
seen_on_any() {
	grep -qw dev_nit_active /proc/kallsyms || grep -qw dev_nit_active_rcu /proc/kallsyms ||
		{ skip "this kernel does not tell of them"; return; }
	seen_on any
}

with_itself() {
	local gid

	gid=$(gid_index rxe0 v4) PORT=18515
	pair "$PATIENCE" ibv_rc_pingpong -c -p $PORT -d rxe0 -g "$gid" "$@" -- \
		ibv_rc_pingpong -c -p $PORT -d rxe0 -g "$gid" "$@" 10.1.0.1 || return
	! grep -aE 'invalid data|memcmp' "$CASE_LOG.client" "$CASE_LOG.server" || bad "wrong data"
}

icrc_always() {
	local status=0

	echo always >/sys/module/rdma_rxe/parameters/icrc || bad "icrc=always is refused" || return
	by_lo 0 5 contents || status=1
	echo lazy >/sys/module/rdma_rxe/parameters/icrc
	return $status
}

# storm LIMIT ARGS...
storm() {
	local limit=$1

	shift
	timeout -k 5 "$limit" "$PROGRAMS/storm" "$@" || bad "storm $*: status $?: $(tail -n 1 "$CASE_LOG")" || return
	no_leaks
}

# copied_once PROGRAM...: nearly all payload is lent, and not most of it copied apart
copied_once() {
	local packets lent copied

	packets=$(sent) lent=$(($(counter rxe0 tx_lent) + $(counter rxe1 tx_lent)))
	copied=$(($(counter rxe0 lent_copied) + $(counter rxe1 lent_copied)))
	"$@" || return
	packets=$(($(sent) - packets)) lent=$(($(counter rxe0 tx_lent) + $(counter rxe1 tx_lent) - lent))
	copied=$(($(counter rxe0 lent_copied) + $(counter rxe1 lent_copied) - copied))
	echo "$packets packets sent, $lent lent, $copied copied"
	[ $((lent * 10)) -ge $((packets * 8)) ] || bad "of $packets packets only $lent were lent" || return
	# who is in the peer's task meanwhile, on another CPU, keeps payload from being taken
	[ $((copied * 4)) -le $((lent * 3)) ] || bad "of $lent packets $copied had to be copied"
}

nothing_lost() {
	local dev what

	for dev in rxe0 rxe1; do
		for what in tx_dropped rx_queue_full icrc_errors rx_malformed; do
			[ "$(counter $dev $what)" = 0 ] || bad "$dev: $what: $(counter $dev $what)" || return
		done
	done
}

# The device of one peer goes, in the middle of it: the other one gives up.
link_goes() {
	traffic_start || return
	sleep 0.5
	link_delete rxe0 || return
	traffic_dies || { traffic_kill; return 1; }
	traffic_kill
	link_add ns1 rxe0 veth0 && eventually port_is rxe0 ACTIVE && eventually gid_index rxe0 v4 >/dev/null &&
		pingpong -n 10
}

killed() {
	local i

	for i in 1 2 3; do
		traffic_start || return
		sleep "0.$i"
		traffic_kill
	done
	no_leaks && pingpong -n 10
}

traffic_flows() { [ $(($(sent) - BEFORE)) -gt 2000 ]; }

peers_elsewhere || { check loopback skip "the core finds no peer behind lo"; return; }
check setup setup one_namespace || return
check shortcut by_lo 0 5 contents
check stack by_the_stack
check captured-lo seen_on lo
check captured-any seen_on_any
for mtu in 256 4096; do
	check "mtu-$mtu" pingpong -m "$mtu" -s 100001 -n 20
done
check size-1 pingpong -s 1 -n 100
check events pingpong -e -n 100
GID_KIND=v6 check ipv6 by_lo 0 5 contents
check with-itself with_itself -m 1024 -s 100001 -n 20
check icrc-always icrc_always
check either-way either_way rxe0 10.1.0.1 rxe1 10.1.0.2
check either-way-itself either_way rxe0 10.1.0.1 rxe0 10.1.0.1
check uc pingpong_by ibv_uc_pingpong -m 1024 -s 100001 -n 20
check ud pingpong_by ibv_ud_pingpong -s 1024 -n 100
check srq pingpong_by ibv_srq_pingpong -m 1024 -s 5001 -n 100
check write-bw copied_once perftest ib_write_bw -s 1048576 -n 100
check write-bw-4096 perftest ib_write_bw -m 4096 -s 4096 -n 5000
check read-bw-16384 perftest ib_read_bw -m 1024 -s 16384 -n 1000
check write-bw-16-qps perftest ib_write_bw -q 16 -s 65536 -n 50
check read-bw copied_once perftest ib_read_bw -s 1048576 -n 100
check send-bw-bidirectional perftest ib_send_bw -b -s 65536 -n 100
check atomic-bw perftest ib_atomic_bw -n 500
check write-lat perftest ib_write_lat -s 64 -n 500
check nothing-lost nothing_lost
if [ -x "${PROGRAMS:-.}/storm" ]; then
	check scale storm $((PATIENCE * 5)) scale 50 8
	check torture storm $((PATIENCE * 2)) torture 6 5 "${SEED:-$RANDOM$RANDOM}"
fi
BEFORE=$(sent)
check killed killed
BEFORE=$(sent)
check link-goes link_goes
check no-leaks no_leaks
check clean cleanup_all
