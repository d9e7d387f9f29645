# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# loss-long.sh - what loss costs: the goodput of WRITE and READ with 1 % and 5 % of
# the packets lost, as parts of that without loss, and the packets it took; and large
# volumes, compared byte for byte.
#
# The same figures of the kernel's own driver: DRIVER=in-tree; it promises nothing,
# so nothing is demanded of it there.

# shellcheck source=tests/vm/netem.sh
. "$VM/netem.sh"

SECONDS_EACH=${SECONDS_EACH:-10}

# goodput PROGRAM: MB/s; packets sent for 1000 needed
goodput() {
	local size=65536 mtu=1024 sent

	sent=$(($(counter rxe0 sent_pkts) + $(counter rxe1 sent_pkts)))
	perftest "$1" -m $mtu -s $size -D "$SECONDS_EACH" -u 18 >&2 || return
	sent=$(($(counter rxe0 sent_pkts) + $(counter rxe1 sent_pkts) - sent))
	awk -v sent="$sent" -v per=$((size / mtu)) -v size=$size \
		'$1 == size { printf "%d %d\n", $4, sent * 1000 / ($2 * per) }' "$CASE_LOG.client"
}

# part LOSS PERCENT PACKETS: WRITE and READ with that loss keep PERCENT of what they
# have without, and send at most PACKETS for 1000 that go without. LOSS is of packets: of
# bursts netem would drop some whole, and most of what is sent would meet no loss.
part() {
	local program full lost status=0

	veth_bursts single || return
	for program in ib_write_bw ib_read_bw; do
		wire delay 0 && full=$(goodput $program) && wire loss "$1%" &&
			lost=$(goodput $program) || { status=1; continue; }
		echo "$program, $1 % lost: ${lost% *} of ${full% *} MB/s," \
			"${lost#* } packets instead of ${full#* }" | tee /dev/stderr >>"$FIGURES"
		[ -n "${RXE_OURS-}" ] || continue
		[ $((${lost% *} * 100)) -ge $((${full% *} * $2)) ] ||
			{ status=1; bad "$program: ${lost% *} of ${full% *} MB/s is less than $2 %"; }
		[ $((${lost#* } * 1000)) -le $((${full#* } * $3)) ] ||
			{ status=1; bad "$program: ${lost#* } packets instead of ${full#* }"; }
	done
	wire
	veth_bursts whole && return $status
}

compared() {
	pingpong -m 1024 -s 1048576 -n 100 && pingpong -m 4096 -s 333333 -n 200
}

# volume MODE WORDS...: WRITE, READ, SEND and atomics beside each other on such a wire
# (see on_wire), each byte of both memories compared. A round moves 95 KiB.
volume() {
	on_wire "$@" -- program storm compare 320 "${SEED:-$RANDOM$RANDOM}" || return
	MOVED=$((MOVED + $(sed -n 's/ bytes moved and compared$//p' "$CASE_LOG")))
}

# all_volumes: together they are as much as they are to be
all_volumes() {
	echo "$((MOVED >> 20)) MiB compared" | tee -a "$FIGURES"
	[ $((MOVED >> 20)) -ge 256 ] || bad "$((MOVED >> 20)) MiB, not 256"
}

MOVED=0
FIGURES=$LOGS/loss-long.figures
check setup setup || return
if netem_there; then
	export LIMIT=$((SECONDS_EACH * 4 + PATIENCE))
	check one-percent part 1 50 1200
	check five-percent part 5 15 1300
	PATIENCE=600 check compared on_wire whole loss 2% delay 200us 100us duplicate 1% reorder 90% -- compared
	if [ -n "${RXE_OURS-}" ]; then
		check volume-loss-0.1 volume single loss 0.1%
		check volume-loss-1 volume whole loss 1%
		STORM_GID=v6 check volume-loss-5 volume single loss 5%
		check volume-loss-10 volume whole loss 10%
		check volume-reorder volume single delay 1ms reorder 25%
		check volume-duplicate volume whole duplicate 5%
		check volume-corrupt volume single corrupt 1%
		check volume-delay volume whole delay 1ms 1ms
		check volume-mixture volume single delay 1ms 1ms loss 1% duplicate 2% corrupt 0.5%
		check volume all_volumes
	fi
	sed 's/^/# /' "$FIGURES"
else
	check netem skip "no sch_netem or no tc here"
fi
check clean cleanup_all
