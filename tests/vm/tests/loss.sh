# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# loss.sh - a wire that loses, repeats, reorders, delays and damages packets, in
# both directions: every transfer completes, contents are compared (pingpong), and
# not much more is sent than has to be.

# wire WORDS...: netem on both ends of the pair, or nothing
wire() {
	n1 tc qdisc del dev veth0 root 2>/dev/null
	n2 tc qdisc del dev veth1 root 2>/dev/null
	[ $# -eq 0 ] && return
	n1 tc qdisc add dev veth0 root netem limit 10000 "$@" &&
		n2 tc qdisc add dev veth1 root netem limit 10000 "$@" ||
		bad "tc does not take: netem $*"
}

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

# what_happened: what the driver says of a transfer that failed
what_happened() {
	dmesg | grep -a rxe | tail -n 5
	grep . /sys/class/infiniband/rxe?/ports/1/hw_counters/* | grep -v ':0$'
}

# bad_wire WORDS...: SEND with contents compared, WRITE, READ and atomics
bad_wire() {
	local status=0

	wire "$@" || return
	compared -m 1024 -s 65537 -n 30 && compared -m 4096 -s 100 -n 200 &&
		perftest ib_write_bw -m 1024 -s 65536 -n 60 &&
		perftest ib_read_bw -m 1024 -s 65536 -n 60 &&
		perftest ib_atomic_bw -n 60 || { status=1; what_happened; }
	wire
	return $status
}

# again: packets that were sent once more, by both devices
again() { echo $(($(counter rxe0 retransmitted_packets) + $(counter rxe1 retransmitted_packets))); }

# contents MODE ROUNDS WORDS...: WRITE, READ, SEND and atomics beside each other; each byte
# of both memories is compared, and an atomic that is executed twice shows
contents() {
	local before status=0

	[ -x "${PROGRAMS:-.}/storm" ] || { skip "no programs: start it with tests/run vm"; return; }
	before=$(again)
	veth_bursts "$1" && wire "${@:3}" || return
	timeout -k 5 $((PATIENCE * 2)) "$PROGRAMS/storm" compare "$2" "${SEED:-$RANDOM$RANDOM}" ||
		{ status=1; bad "storm compare: status $?: $(tail -n 1 "$CASE_LOG")"; what_happened; }
	wire
	veth_bursts whole || return
	[ $status -eq 0 ] || return
	echo "$(($(again) - before)) packets sent again"
	[ "$(again)" -gt "$before" ] || bad "nothing was lost"
}

# economy LOSS PERCENT: 400 WRITEs take no more than PERCENT % of the packets needed
economy() {
	local needed=$((400 * 64)) sent

	wire loss "$1%" || return
	sent=$(counter rxe1 sent_pkts)
	perftest ib_write_bw -m 1024 -s 65536 -n 400 || { wire; return 1; }
	wire
	sent=$(($(counter rxe1 sent_pkts) - sent))
	echo "$sent packets sent, $needed needed"
	[ $((sent * 100)) -le $((needed * $2)) ] ||
		bad "$sent packets sent for $needed needed"
}

# rate OPERATION COUNT: of 64 KiB in single packets, in KB/s
rate() {
	perftest "ib_$1_bw" -m 1024 -s 65536 -n "$2" >&2 &&
		awk '$1 == 65536 { printf "%d\n", $4 * 1000 }' "$CASE_LOG.client"
}

# speed OPERATION: with 5 % lost, a tenth of the bandwidth is left
speed() {
	local whole lossy=0

	veth_bursts single && whole=$(rate "$1" 1000) && wire loss 5% && lossy=$(rate "$1" 300)
	wire
	veth_bursts whole || return
	echo "$lossy of $whole KB/s"
	[ "$lossy" -gt 0 ] || bad "no transfer" || return
	[ $((lossy * 10)) -ge "$whole" ] || bad "$lossy KB/s, of $whole without loss"
}

netem_there() { modprobe -q sch_netem && command -v tc >/dev/null; }

export LIMIT=$((PATIENCE * 2))
check setup setup || return
if netem_there; then
	check loss-0.1 bad_wire loss 0.1%
	check loss-1 bad_wire loss 1%
	check loss-5 bad_wire loss 5%
	check loss-10 bad_wire loss 10%
	check reorder bad_wire delay 1ms reorder 75%
	check duplicate bad_wire duplicate 5%
	check corrupt bad_wire corrupt 1%
	check delay bad_wire delay 1ms 1ms
	check mixture bad_wire delay 1ms 1ms loss 1% duplicate 2% corrupt 0.5%
	check contents-loss contents single 25 loss 5%
	check contents-bursts contents whole 25 loss 5%
	check contents-mixture contents single 25 delay 1ms 1ms loss 3% duplicate 3% corrupt 1%
	check economy economy 1 120
	check speed-write speed write
	check speed-read speed read
else
	check netem skip "no sch_netem or no tc here"
fi
check no-leaks no_leaks
check clean cleanup_all
