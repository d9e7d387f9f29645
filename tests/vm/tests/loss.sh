# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# loss.sh - a wire that loses, repeats, reorders, delays and damages packets, in
# both directions: every transfer completes, contents are compared, requests are executed
# in order and once (programs/order.c), and not much more is sent than has to be.

# shellcheck source=tests/vm/netem.sh
. "$VM/netem.sh"

# compared OPTIONS...: pingpong. Each of its ends leaves as soon as it has everything;
# if its very last ACK is lost then, the other one is left alone, and says so.
compared() {
	pingpong "$@" && return
	grep -aqE 'invalid data|memcmp' "$CASE_LOG.client" "$CASE_LOG.server" && return 1
	one_left client server || one_left server client || return
	: >"$REASON"
}

# one_left DONE LEFT: has one end all its iterations, and was the other left alone?
one_left() {
	grep -q 'iters in' "$CASE_LOG.$1" &&
		grep -q 'transport retry counter exceeded' "$CASE_LOG.$2"
}

# transfers: SEND with contents compared, WRITE, READ and atomics
transfers() {
	compared -m 1024 -s 65537 -n 30 && compared -m 4096 -s 100 -n 200 &&
		perftest ib_write_bw -m 1024 -s 65536 -n 60 &&
		perftest ib_read_bw -m 1024 -s 65536 -n 60 &&
		perftest ib_atomic_bw -n 60
}

# contents ROUNDS: WRITE, READ, SEND and atomics beside each other; each byte of both
# memories is compared, and an atomic that is executed twice shows
contents() { program storm compare "$1" "${SEED:-$RANDOM$RANDOM}"; }

# order [-6] ITEMS: whatever happens on the way, requests are executed in the order in which
# they were posted, and once
order() { program order "$@" "${SEED:-$RANDOM$RANDOM}"; }

# economy PERCENT: 400 WRITEs take no more than PERCENT % of the packets needed
economy() {
	local needed=$((400 * 64)) sent

	sent=$(counter rxe1 sent_pkts)
	perftest ib_write_bw -m 1024 -s 65536 -n 400 || return
	sent=$(($(counter rxe1 sent_pkts) - sent))
	echo "$sent packets sent, $needed needed"
	[ $((sent * 100)) -le $((needed * $1)) ] ||
		bad "$sent packets sent for $needed needed"
}

# rate OPERATION COUNT: of 64 KiB in single packets, in KB/s
rate() {
	perftest "ib_$1_bw" -m 1024 -s 65536 -n "$2" >&2 &&
		awk '$1 == 65536 { printf "%d\n", $4 * 1000 }' "$CASE_LOG.client"
}

# speed OPERATION LOSS PERCENT: with so much lost, PERCENT % of the bandwidth are left, on a
# wire that is otherwise the same
speed() {
	local whole=0 lossy=0

	veth_bursts single && wire delay 0 && whole=$(rate "$1" 1000) && wire loss "$2" &&
		lossy=$(rate "$1" 300)
	wire
	veth_bursts whole || return
	echo "$lossy of $whole KB/s"
	[ "$lossy" -gt 0 ] || bad "no transfer" || return
	[ $((lossy * 100)) -ge $((whole * $3)) ] ||
		bad "$lossy KB/s with $2 lost, of $whole without: less than $3 %"
}

# megabytes OPERATION PMTU: a hundred, in KB/s
megabytes() {
	perftest "ib_$1_bw" -m "$2" -s 1048576 -n 100 >&2 &&
		awk '$1 == 1048576 { printf "%d\n", $4 * 1000 }' "$CASE_LOG.client"
}

# far OPERATION PMTU: 40 ms away and back, nothing is lost: more is on its way than the 512 KiB
# of a short path, which would be 13 MB/s
far() {
	local near=0 fast=0 wanted=$((2 * 512 * 1024 / 40))

	veth_bursts whole && near=$(megabytes "$@") || return
	if [ $((near * 2)) -lt $((wanted * 3)) ]; then
		skip "no more than $near KB/s here, however near"
		return
	fi
	wire delay 20ms && fast=$(megabytes "$@")
	wire
	echo "$fast KB/s, $near when it is near"
	[ "$fast" -ge "$wanted" ] || bad "$fast KB/s over 40 ms"
}

export LIMIT=$((PATIENCE * 2))
check setup setup || return
if netem_there; then
	# a burst is one skb, and is lost whole: where few of them would be, packets are single
	check loss-0.1 on_wire single loss 0.1% -- transfers
	check loss-1 on_wire single loss 1% -- transfers
	check loss-5 on_wire whole loss 5% -- transfers
	check loss-10 on_wire whole loss 10% -- transfers
	check reorder on_wire whole delay 1ms reorder 75% -- transfers
	check duplicate on_wire whole duplicate 5% -- transfers
	check corrupt on_wire single corrupt 1% -- transfers
	check delay on_wire whole delay 1ms 1ms -- transfers
	check mixture on_wire single delay 1ms 1ms loss 1% duplicate 2% corrupt 0.5% -- transfers
	check contents-loss on_wire single loss 5% -- contents 25
	check contents-bursts on_wire whole loss 5% -- contents 25
	check contents-mixture on_wire single delay 1ms 1ms loss 3% duplicate 3% corrupt 1% -- contents 25
	check order-loss on_wire single loss 1% -- order 1000
	check order-loss-bursts on_wire whole loss 1% -- order 1000
	check order-reorder on_wire single delay 1ms reorder 25% -- order 1000
	check order-reorder-bursts on_wire whole delay 1ms reorder 25% -- order -6 1000
	check order-duplicate on_wire single duplicate 5% -- order 1000
	check order-duplicate-bursts on_wire whole duplicate 5% -- order 1000
	# all of it at once, and so much of it that what repairs a loss is lost as well
	check order-mixture on_wire single delay 1ms 1ms loss 5% duplicate 2% corrupt 0.5% -- order 600
	check order-loss-10 on_wire whole loss 10% -- order -6 400
	check far-write far write 4096
	check far-read far read 1024
	check economy on_wire single loss 1% -- economy 120
	check speed-write speed write 5% 15
	check speed-read speed read 5% 15
	# loss-long and bench --loss demand half of it; here it is short, so that the slow end of
	# one transfer counts, and other guests may have the processor meanwhile
	check speed-write-1 speed write 1% 35
	check speed-read-1 speed read 1% 35
else
	check netem skip "no sch_netem or no tc here"
fi
check no-leaks no_leaks
check clean cleanup_all
