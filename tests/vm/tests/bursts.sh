# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# bursts.sh - packets that share an skb: whole through a veth pair and what lies
# on the way, cut where it must be cut, with and without ICRC.
# packages: python3 python3-pyverbs

ICRC=/sys/module/rdma_rxe/parameters/icrc
VERIFY=/sys/module/rdma_rxe/parameters/verify
GATHER=/sys/module/rdma_rxe/parameters/gather

check setup setup || return

no_bad_sums() {
	local dev

	for dev in rxe0 rxe1; do
		[ "$(counter $dev icrc_errors)" = 0 ] ||
			bad "$dev: $(counter $dev icrc_errors) packets with a wrong ICRC"
	done
}

# burst MODE LEAST MOST PROGRAM...: skbs per 100 packets
burst() {
	local mode=$1 least=$2 most=$3

	shift 3
	veth_bursts "$mode" && skbs_per_100 "$@" && no_bad_sums || return
	[ "$SHARE" -ge "$least" ] && [ "$SHARE" -le "$most" ] ||
		bad "$SHARE skbs for 100 packets, not $least..$most"
}

# bytes_agree MODE PROGRAM...: what one device has sent the other has received, with the headers
# of each packet, whether they share an skb or not
bytes_agree() {
	local before after

	veth_bursts "$1" || return
	shift
	before=$(sent_less_received)
	"$@" || return
	after=$(sent_less_received)
	[ "$before" = "$after" ] ||
		bad "bytes sent by rxe1 less those received by rxe0, by rxe0 less by rxe1: $before, now $after"
}
sent_less_received() {
	echo $(($(counter rxe1 sent_bytes) - $(counter rxe0 rcvd_bytes))) \
		$(($(counter rxe0 sent_bytes) - $(counter rxe1 rcvd_bytes)))
}

# contents OPTIONS...: of messages, compared at both ends
contents() { pingpong "$@" && no_bad_sums; }

# sums_on_the_wire MODE: what crosses the pair is one packet a frame, each
# with an ICRC
sums_on_the_wire() {
	local count

	veth_bursts "$1" || return
	n1 tcpdump -i veth0 -c 300 -s 0 -B 32768 -w "/tmp/$1.pcap" udp port 4791 2>/tmp/tcpdump.log &
	eventually grep -q 'listening on' /tmp/tcpdump.log || bad "tcpdump does not start" || return
	pingpong -m 1024 -s 10001 -n 60 || return
	wait $!
	count=$(tcpdump -r "/tmp/$1.pcap" 2>/dev/null | wc -l)
	[ "$count" -eq 300 ] || bad "$count packets captured" || return
	count=$(tcpdump -r "/tmp/$1.pcap" 'greater 1200' 2>/dev/null | wc -l)
	[ "$count" -eq 0 ] || bad "$count packets are longer than the path MTU allows" || return
	# the receiver has checked each sum: none was missing
	no_bad_sums
}

icrc() {
	echo "$1" >$ICRC || bad "icrc=$1 is refused" || return
	[ "$(cat $ICRC)" = "$1" ] || bad "icrc is $(cat $ICRC), not $1"
}

icrc_mode() {
	local status=0

	# who sends none must not look for any
	[ "$1" != off ] || echo N >$VERIFY
	icrc "$1" && burst whole 1 40 perftest ib_write_bw -m 4096 -s 65536 -n 200 &&
		contents -m 1024 -s 100001 -n 20 || status=1
	icrc lazy && echo Y >$VERIFY || status=1
	return $status
}

icrc_refused() {
	! (echo sometimes >$ICRC) 2>/dev/null || bad "icrc takes any word" || return
	[ "$(cat $ICRC)" = lazy ] || bad "icrc is $(cat $ICRC) now"
}

# Messages that are posted one by one share skbs, with one ACK for many; each completes.
gathered() {
	local received

	received=$(counter rxe1 rcvd_pkts)
	burst whole 1 50 perftest ib_write_bw -s 64 -n 5000 "$@" || return
	received=$(($(counter rxe1 rcvd_pkts) - received))
	[ "$received" -lt 2500 ] || bad "$received ACKs for 5000 messages"
}

# READs that came in one skb are answered in one, or in two if they are very many, or were
# kept waiting and a round of the task ends among them.
answered_together() {
	local asked answers

	asked=$(skbs) answers=$(n2 cat /sys/class/net/veth1/statistics/rx_packets)
	perftest ib_read_bw -s 64 -n 20000 || return
	asked=$(($(skbs) - asked))
	answers=$(($(n2 cat /sys/class/net/veth1/statistics/rx_packets) - answers))
	echo "$asked skbs with requests, $answers with responses"
	[ $((10 * answers)) -le $((19 * asked)) ] ||
		bad "$answers skbs to answer the READs of $asked"
}

# elsewhere DEV PROGRAM...: of a stream of requests that rxe1 sends, and all that it brings
# about, DEV's part moves to another CPU than that of who posts them; and none of them
# overtakes another on the way
elsewhere() {
	local dev=$1 what now wrong=0 before=()
	local names=("$dev:runs_work" rxe0:out_of_seq_request rxe0:rx_queue_full rxe1:rcvd_seq_err
		rxe1:resend_response)

	shift
	[ "$(nproc)" -gt 1 ] || { skip "one CPU"; return; }
	for what in "${names[@]}"; do before+=("$(counter "${what%:*}" "${what#*:}")"); done
	perftest "$@" || return
	for what in "${!names[@]}"; do
		now=$(counter "${names[what]%:*}" "${names[what]#*:}")
		before[what]=$((now - before[what]))
		echo "${names[what]}: ${before[what]}"
	done
	[ "${before[0]}" -ge 1 ] || bad "no worker came" || return
	for what in "${before[@]:1}"; do wrong=$((wrong + what)); done
	[ $wrong -eq 0 ] || bad "out of order or missing, though nothing is lost (see above)"
}

# sends_elsewhere COUNT OPTIONS...: of COUNT large SENDs to rxe0, too, some are placed by a
# worker; who posts the receives has the CPU that it needs for that
sends_elsewhere() {
	local count=$1 runs naks

	[ "$(nproc)" -gt 1 ] || { skip "one CPU"; return; }
	shift
	runs=$(counter rxe0 runs_work) naks=$(counter rxe0 send_rnr_err)
	perftest ib_send_bw "$@" -n "$count" || return
	runs=$(($(counter rxe0 runs_work) - runs)) naks=$(($(counter rxe0 send_rnr_err) - naks))
	echo "$runs runs by workers, $naks RNR NAKs"
	[ "$runs" -ge 1 ] || bad "no worker came" || return
	[ $((100 * naks)) -le "$count" ] || bad "$naks RNR NAKs for $count messages"
}

# here COUNT PROGRAM...: COUNT large messages in each direction are not left to workers of
# another CPU, where who sends them waits for each. Who has had a CPU for a tick leaves the rest
# to a worker of any, which on a slow kernel is each fourth message: the kernel's events tell
# the two apart, where it has them.
here() {
	local count=$1 dir=/sys/kernel/tracing event=events/workqueue/workqueue_queue_work
	local calls runs status

	shift
	[ -d $dir/$event ] || dir=/sys/kernel/debug/tracing
	runs=$(counter rxe0 runs_work)
	if [ ! -d $dir/$event ]; then
		perftest "$@" -n "$count" || return
		runs=$(($(counter rxe0 runs_work) - runs))
		[ $((5 * runs)) -lt "$count" ] || bad "$runs runs by workers"
		return
	fi
	: >$dir/trace
	echo 1 >$dir/tracing_on && echo 1 >$dir/$event/enable || bad "no events" || return
	perftest "$@" -n "$count"
	status=$?
	echo 0 >$dir/$event/enable
	[ $status -eq 0 ] || return
	runs=$(($(counter rxe0 runs_work) - runs))
	grep 'function=task_work' $dir/trace >"$CASE_LOG.calls"
	calls=$(sed 's/.*req_cpu=//' "$CASE_LOG.calls" | awk -v cpus="$(nproc)" '$1 < cpus' | wc -l)
	echo "$(wc -l <"$CASE_LOG.calls") calls of workers, $calls of one CPU's, $runs runs for rxe0"
	[ "$runs" -eq 0 ] || [ -s "$CASE_LOG.calls" ] ||
		bad "$runs runs by workers that nobody has called" || return
	[ "$runs" -lt "$count" ] || bad "$runs runs by workers" || return
	[ $((10 * calls)) -lt $((2 * count)) ] || bad "$calls calls of one CPU's workers"
}

counters() { grep -r . /sys/class/infiniband/rxe[01]/ports/1/hw_counters/ | sort; }

# taken_away PROGRAM...: the same while each CPU is busy with something more urgent for
# 4 ms at a time: what it has sent stays behind, and what another sends meanwhile does not.
# (Responses may overtake each other here, and be asked for again.)
taken_away() {
	local cpu hogs=() before gaps status=0

	[ "$(nproc)" -gt 1 ] || { skip "one CPU"; return; }
	before=$(counters)
	gaps=$(counter rxe0 out_of_seq_request)
	for cpu in 0 1; do
		taskset -c $cpu chrt -f 10 /usr/bin/python3 "$VM/programs/hog.py" 4 6 &
		hogs+=($!)
	done
	perftest "$@" || status=1
	kill "${hogs[@]}" || bad "who should be busy was not" || status=1
	wait "${hogs[@]}"
	echo "counters, before and since:"
	diff <(echo "$before") <(counters) | grep '^[<>]'
	gaps=$(($(counter rxe0 out_of_seq_request) - gaps))
	[ $gaps -eq 0 ] || bad "$gaps requests came before others sent earlier" || status=1
	return $status
}

# starved PROGRAM...: messages of packets that a worker sums and places, while its CPU is not to
# be had: the receiver does not wait for it longer than the sender does
starved() {
	local hog status=0

	[ "$(nproc)" -gt 1 ] || { skip "one CPU"; return; }
	echo always >$ICRC || bad "icrc=always is refused" || return
	taskset -c 1 chrt -f 10 /usr/bin/python3 "$VM/programs/hog.py" 600000 1 &
	hog=$!
	(taskset -pc 0 "$BASHPID" >/dev/null && perftest "$@") || status=1
	kill $hog || bad "who should be busy was not" || status=1
	wait $hog
	echo lazy >$ICRC
	return $status
}

# datagram_headers FROM TO SIZE: of a list, in fewer skbs than datagrams
datagram_headers() {
	local before after

	before=$(skbs)
	n2 /usr/bin/python3 "$VM/programs/grh.py" "$1" "$2" 50 "$3" || return
	after=$(skbs)
	[ $((after - before)) -lt 25 ] || bad "50 datagrams in $((after - before)) skbs"
}

not_gathered_when_off() {
	local status=0

	echo N >$GATHER || bad "gather=N is refused" || return
	burst whole 90 110 perftest ib_write_bw -s 64 -n 2000 || status=1
	echo Y >$GATHER
	return $status
}

check whole-4096 burst whole 1 40 perftest ib_write_bw -m 4096 -s 1048576 -n 40
check whole-1024 burst whole 1 20 perftest ib_write_bw -m 1024 -s 1048576 -n 10
check whole-256 burst whole 1 20 perftest ib_send_bw -m 256 -s 1048576 -n 5
GID_KIND=v6 check whole-ipv6 burst whole 1 40 perftest ib_write_bw -m 4096 -s 1048576 -n 40
check whole-odd contents -m 1024 -s 1000001 -n 10
GID_KIND=v6 check whole-odd-ipv6 contents -m 1024 -s 1000001 -n 10
check bytes-agree bytes_agree whole perftest ib_write_bw -m 1024 -s 65535 -n 50
check bytes-agree-read bytes_agree whole perftest ib_read_bw -m 1024 -s 65535 -n 50
check bytes-agree-single bytes_agree single perftest ib_send_bw -m 1024 -s 65535 -n 50
check cut burst cut 90 110 perftest ib_write_bw -m 4096 -s 1048576 -n 40
GID_KIND=v6 check cut-ipv6 burst cut 90 110 perftest ib_write_bw -m 1024 -s 1048576 -n 10
check cut-odd contents -m 1024 -s 1000001 -n 10
GID_KIND=v6 check cut-odd-ipv6 contents -m 1024 -s 1000001 -n 10
check cut-on-the-wire sums_on_the_wire cut
check single burst single 90 110 perftest ib_write_bw -m 4096 -s 1048576 -n 40
check single-on-the-wire sums_on_the_wire single
veth_bursts whole
check gathered gathered
check gathered-signaled gathered -Q 1
# On a kernel as slow as the debug one a post takes long enough for others to be sent.
most=$((PATIENCE > 60 ? 80 : 60))
check gathered-events burst whole 1 $most perftest ib_send_bw -s 64 -n 5000 -e
GID_KIND=v6 check gathered-ipv6 gathered
check gathered-reads burst whole 1 80 perftest ib_read_bw -s 64 -n 5000
check reads-answered answered_together
check reads-elsewhere elsewhere rxe1 ib_read_bw -s 64 -n 20000
check atomics-elsewhere elsewhere rxe1 ib_atomic_bw -n 20000
check large-elsewhere elsewhere rxe0 ib_write_bw -m 4096 -s 65536 -n 2000
check large-elsewhere-1024 elsewhere rxe0 ib_write_bw -m 1024 -s 65536 -n 2000
check large-elsewhere-uc elsewhere rxe0 ib_write_bw -c UC -m 4096 -s 65536 -n 2000
check large-elsewhere-read elsewhere rxe1 ib_read_bw -m 4096 -s 65536 -n 2000
check large-elsewhere-sends sends_elsewhere 3000 -m 4096 -s 65536
check large-here-write here 1000 ib_write_lat -m 4096 -s 65536
check large-here-1024 here 1000 ib_send_lat -m 1024 -s 65536
check in-order-reads taken_away ib_read_bw -s 65536 -n 1000
check in-order-uc taken_away ib_write_bw -c UC -s 64 -n 20000
check starved-write starved ib_write_bw -s 65536 -n 500
check starved-send starved ib_send_bw -s 65536 -n 500
check starved-read starved ib_read_bw -s 65536 -n 500
check gathered-datagrams burst whole 1 $most perftest ib_send_bw -c UD -s 64 -n 5000
# Nobody answers datagrams: how long they wait for others must not hang on an answer.
check gathered-datagrams-1024 burst whole 1 $((PATIENCE > 60 ? most : 6)) perftest ib_send_bw -c UD -r 8000 -m 1024 -s 1024 -n 20000
check datagram-headers datagram_headers ::ffff:10.1.0.2 ::ffff:10.1.0.1 1000
check datagram-headers-odd datagram_headers ::ffff:10.1.0.2 ::ffff:10.1.0.1 61
check datagram-headers-ipv6 datagram_headers fd01::2 fd01::1 64
check gathered-contents contents -s 64 -n 2000
# Posts that wait for their completion, one or few at a time, are not kept.
check not-gathered-latency burst whole 90 110 perftest ib_write_lat -s 64 -n 1000
check not-gathered-few burst whole 90 110 perftest ib_write_bw -s 64 -n 3000 -t 2 -Q 1
check not-gathered-off not_gathered_when_off
check icrc-always icrc_mode always
check icrc-off icrc_mode off
check icrc-refused icrc_refused
check no-leaks no_leaks
check clean cleanup_all
