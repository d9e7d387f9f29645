# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# netem.sh - a bad wire, and whether it was one: for the tests loss and loss-long; and what
# others count of both ends.

netem_there() { modprobe -q sch_netem && command -v tc >/dev/null; }

# wire WORDS...: netem on both ends of the pair, or nothing
wire() {
	n1 tc qdisc del dev veth0 root 2>/dev/null
	n2 tc qdisc del dev veth1 root 2>/dev/null
	[ $# -eq 0 ] && return
	n1 tc qdisc add dev veth0 root netem limit 10000 "$@" &&
		n2 tc qdisc add dev veth1 root netem limit 10000 "$@" ||
		bad "tc does not take: netem $*"
}

# of_both COUNTER...: of both devices, together
of_both() {
	local name dev count sum=0

	for name; do
		for dev in rxe0 rxe1; do
			read -r count <"/sys/class/infiniband/$dev/ports/1/hw_counters/$name" || return
			sum=$((sum + count))
		done
	done
	echo $sum
}

# dropped: skbs, which may be bursts of packets, by both ends of this wire
dropped() {
	{ n1 tc -s qdisc show dev veth0 && n2 tc -s qdisc show dev veth1; } |
		awk -F '[(, ]+' '/\(dropped / { sum += $8 } END { print sum + 0 }'
}

# trace WORD: how often it has happened what netem does for WORD; nothing if it is another one
trace() {
	case $1 in
	loss) dropped ;;
	# of packets that would not come late, or before their turn, on a wire that does nothing
	delay | reorder) of_both out_of_seq_request ;;
	duplicate) of_both duplicate_request ;;
	corrupt) of_both icrc_errors rx_malformed ;;
	esac
}

# happened BEFORE WORDS...: all that the wire was to do, since the traces were BEFORE
happened() {
	local word seen before=$1 status=0

	shift
	for word; do
		seen=$(trace "$word")
		[ -n "$seen" ] || continue
		seen=$((seen - ${before%% *})) before=${before#* }
		echo "$word: $seen times"
		[ "$seen" -gt 0 ] || { status=1; bad "nothing was tested: $word: not once"; }
	done
	return $status
}

# on_wire MODE WORDS... -- COMMAND...: with bursts as MODE says (see veth_bursts) and such a
# wire; what it is to do must have happened, or else nothing was tested
on_wire() {
	local mode=$1 words=() word before='' again status=0

	shift
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	shift
	veth_bursts "$mode" && wire "${words[@]}" || return
	if [ -n "${RXE_OURS-}" ]; then
		for word in "${words[@]}"; do
			word=$(trace "$word")
			before+=${word:+$word }
		done
		again=$(of_both retransmitted_packets)
	fi
	"$@" || { status=$?; what_happened; }
	if [ $status -eq 0 ] && [ -n "${RXE_OURS-}" ]; then
		echo "$(($(of_both retransmitted_packets) - again)) packets sent again"
		happened "$before" "${words[@]}" || status=1
	fi
	wire
	veth_bursts whole || return
	return $status
}

# what_happened: what the driver says of a transfer that failed
what_happened() {
	dmesg | grep -a rxe | tail -n 5
	grep . /sys/class/infiniband/rxe?/ports/1/hw_counters/* | grep -v ':0$'
}
