# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# paths.sh - what a host may do to packets before they leave it: queue them to a
# process, encrypt them, put labels in front of them. Bursts survive it or are not
# made; contents are compared (pingpong).
# packages: python3

Q=$VM/programs/nfqueue.py

# contents [SIZE COUNT]
contents() {
	local dev

	pingpong -m 1024 -s "${1:-100001}" -n "${2:-5}" || return
	for dev in rxe0 rxe1; do
		[ "$(counter $dev icrc_errors)" = 0 ] ||
			bad "$dev: $(counter $dev icrc_errors) packets with a wrong ICRC"
	done
}

# queued MODE LEAST: every packet that ns2 sends is looked at by a process there, which
# counts what it is given, packets or bursts. Messages are short, with an answer for each:
# pingpong's queue pairs wait for 67 ms, seven times, and where the kernel is slow that
# process may need more than half a second for the packets of one message: they are shorter
# there, and more.
queued() {
	local listener status=0 count size=20001 messages=25

	[ "$PATIENCE" -le 60 ] || size=5001 messages=100
	modprobe -q nfnetlink_queue
	n2 nft add table inet q &&
		n2 nft add chain inet q out '{ type filter hook output priority 0; }' &&
		n2 nft add rule inet q out udp dport 4791 queue num 7 ||
		{ skip "this kernel has no nft rule 'queue'"; return; }
	ip netns exec ns2 /usr/bin/python3 "$Q" 7 600 "$1" >"$CASE_LOG.queue" 2>&1 &
	listener=$!
	eventually grep -q listening "$CASE_LOG.queue" || { bad "no listener"; status=1; }
	[ $status -ne 0 ] || contents $size $messages || status=1
	kill $listener
	wait $listener
	n2 nft delete table inet q
	count=$(tail -n 1 "$CASE_LOG.queue")
	echo "$count in the queue"
	[ "$count" -ge "$2" ] 2>/dev/null || bad "the queue has seen $count packets" || status=1
	return $status
}

# sa NS SRC DST SPI DIR...: a security association, and policies that demand it
# of all RoCE packets in each direction
sa() {
	local ns=$1 src=$2 dst=$3 spi=$4 dir

	shift 4
	ip netns exec "$ns" ip xfrm state add src "$src" dst "$dst" proto esp spi "$spi" mode transport \
		aead 'rfc4106(gcm(aes))' 0x00112233445566778899aabbccddeeff00112233 128 || return
	for dir in "$@"; do
		ip netns exec "$ns" ip xfrm policy add src "$src" dst "$dst" proto udp dport 4791 dir "$dir" \
			tmpl src "$src" dst "$dst" proto esp mode transport || return
	done
}

# encrypted KIND A B
encrypted() {
	local status=0 ns

	modprobe -q -a esp4 esp6 seqiv echainiv gcm
	sa ns1 "$2" "$3" 0x101 out && sa ns2 "$2" "$3" 0x101 in &&
		sa ns2 "$3" "$2" 0x102 out && sa ns1 "$3" "$2" 0x102 in || {
		for ns in ns1 ns2; do
			ip netns exec $ns ip xfrm policy flush
			ip netns exec $ns ip xfrm state flush
		done
		skip "this kernel has no ESP with AES-GCM"
		return
	}
	GID_KIND=$1 contents || status=1
	n2 ip -s xfrm state
	for ns in ns1 ns2; do
		ip netns exec $ns ip xfrm policy flush
		ip netns exec $ns ip xfrm state flush
	done
	# the policy has gone from routes that are in use, too
	[ $status -ne 0 ] || GID_KIND=$1 contents || status=1
	return $status
}

# labelled: MPLS between the two, in both directions
labelled() {
	local status=0 n

	modprobe -q -a mpls_router mpls_iptunnel
	for n in 1 2; do
		ip netns exec ns$n sysctl -qw net.mpls.platform_labels=1000 &&
			ip netns exec ns$n sysctl -qw net.mpls.conf.veth$((n - 1)).input=1 &&
			ip netns exec ns$n ip -f mpls route add 10$n dev lo &&
			ip netns exec ns$n ip route add 10.1.0.$((3 - n))/32 encap mpls 10$((3 - n)) \
				via inet 10.1.0.$((3 - n)) dev veth$((n - 1)) ||
			{ skip "this kernel has no MPLS routes"; return; }
	done
	ip netns exec ns2 tcpdump -i veth1 -c 20 mpls >"$CASE_LOG.tcpdump" 2>&1 &
	eventually grep -q 'listening on' "$CASE_LOG.tcpdump" || bad "tcpdump does not start" || return
	contents || status=1
	kill $! 2>/dev/null
	grep -q MPLS "$CASE_LOG.tcpdump" || bad "no packet with a label" || status=1
	for n in 1 2; do
		ip netns exec ns$n ip route del 10.1.0.$((3 - n))/32
	done
	return $status
}

# held: a process has packets and says nothing: the module cannot go, and says why;
# it goes when the process has gone
held() {
	local listener unload status=0

	n2 nft add table inet q &&
		n2 nft add chain inet q out '{ type filter hook output priority 0; }' &&
		n2 nft add rule inet q out udp dport 4791 queue num 7 ||
		{ skip "this kernel has no nft rule 'queue'"; return; }
	ip netns exec ns2 /usr/bin/python3 "$Q" 7 600 held >"$CASE_LOG.queue" 2>&1 &
	listener=$!
	eventually grep -q listening "$CASE_LOG.queue" || bad "no listener" || return
	timeout 5 "$PROGRAMS/storm" torture 1 1 1
	eventually queue_waits || { bad "the queue holds nothing"; status=1; }
	link_delete rxe0 && link_delete rxe1 || status=1
	modprobe -r rdma_rxe &
	unload=$!
	eventually says_why || { bad "modprobe -r waits and does not say why"; status=1; }
	kill -0 $unload 2>/dev/null || { bad "unloaded although a queue holds packets"; status=1; }
	kill $listener
	eventually unloaded || { bad "modprobe -r hangs"; status=1; }
	wait $unload || { bad "modprobe -r: status $?"; status=1; }
	return $status
}
# shellcheck disable=SC2016 # for awk
queue_waits() { [ "$(n2 awk '$1 == 7 { print $3 }' /proc/net/netfilter/nfnetlink_queue)" -gt 0 ]; }
says_why() { dmesg | tac | sed '/rxe-test: /q' | grep -q 'cannot unload: a queue holds'; }
unloaded() { [ ! -e /sys/module/rdma_rxe ]; }

net_up_queues() { QUEUES=2 net_up; }

# wander: have perftest run on one CPU and then on the other
wander() {
	local cpu pid

	while sleep 0.05; do
		for pid in $(pgrep -x ib_write_bw); do
			cpu=$((1 - ${cpu:-0}))
			taskset -pc $cpu "$pid"
		done
	done >/dev/null 2>&1
}

# queues: each CPU has a transmit queue of its own (XPS), and the one is slower than the
# other. A stream may take either, but nothing of it overtakes; unless an emulated CPU stops
# for longer than streams are kept where they are, so one packet of a hundred may.
queues() {
	local q wanderer status=0 overtaken

	for q in 0 1; do
		n2 sh -c "echo $((1 << q)) >/sys/class/net/veth1/queues/tx-$q/xps_cpus" ||
			{ skip "this kernel has no XPS"; return; }
		# it is not the receiving end that loses the order
		n1 sh -c "echo 1 >/sys/class/net/veth0/queues/rx-$q/rps_cpus" ||
			{ skip "this kernel has no RPS"; return; }
	done
	n2 tc qdisc add dev veth1 root handle 1: mq &&
		n2 tc qdisc add dev veth1 parent 1:1 tbf rate 20mbit burst 128k limit 10m ||
		{ skip "this kernel has no qdisc mq, or no tbf"; return; }
	overtaken=$(counter rxe0 out_of_seq_request)
	wander &
	wanderer=$!
	perftest ib_write_bw -m 1024 -s 4096 -n 2000 || status=1
	kill $wanderer
	n2 tc -s qdisc show dev veth1
	overtaken=$(($(counter rxe0 out_of_seq_request) - overtaken))
	echo "$overtaken packets have overtaken others"
	[ $overtaken -le 80 ] || bad "$overtaken of 8000 packets have overtaken others" || status=1
	return $status
}

check setup setup || return
# 25 messages of 20 packets, or 100 of 5, and answers
check queued-cut queued cut 500
check queued-whole queued whole 10
check encrypted encrypted v4 10.1.0.1 10.1.0.2
check encrypted-ipv6 encrypted v6 fd01::1 fd01::2
check labelled labelled
check afterwards contents
check no-leaks no_leaks
check held held
net_down
check queues-setup setup net_up_queues || return
check queues queues
check queues-clean cleanup_all
