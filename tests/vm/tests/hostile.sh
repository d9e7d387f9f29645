# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# hostile.sh - processes that lie in the rings they share with the kernel, and a
# stranger on the wire who sends damaged copies of what passes by, while others
# work. hostile-long is the same for minutes. SEED=N repeats a run's choices.

# shellcheck source=tests/vm/netem.sh
. "$VM/netem.sh"

SECONDS_EACH=${HOSTILE_SECONDS:-4}
SEED=${SEED:-$RANDOM$RANDOM}

# liars [MODE]: two processes at once, beside traffic that must not notice
liars() {
	local one two status=0

	echo "seed $SEED"
	traffic_start || return
	timeout -k 5 $((SECONDS_EACH * 4 + PATIENCE)) "$PROGRAMS/rings" "$@" "$SECONDS_EACH" "$SEED" &
	one=$!
	timeout -k 5 $((SECONDS_EACH * 4 + PATIENCE)) "$PROGRAMS/rings" "$@" "$SECONDS_EACH" $((SEED + 1)) &
	two=$!
	wait $one || { bad "rings: status $?"; status=1; }
	wait $two || { bad "rings: status $?"; status=1; }
	[ $status -eq 0 ] || return
	! traffic_ended || bad "the traffic beside them has ended: $(tail -n 1 "$CASE_LOG.client")" || return
	traffic_kill
	no_leaks && pingpong -n 20
}

# lies MODE ARGUMENT...: the other modes of rings.c
lies() {
	timeout -k 5 $((SECONDS_EACH * 4 + PATIENCE)) "$PROGRAMS/rings" "$@" || bad "rings $1: status $?" || return
	no_leaks && pingpong -n 20
}

# stranger: on both ends, between queue pairs that come and go. It damages so much that some of
# it must have been found out.
stranger() {
	local pids=() pid status=0 found=0

	echo "seed $SEED"
	[ -z "${RXE_OURS-}" ] || found=$(of_both icrc_errors rx_malformed)
	ip netns exec ns1 "$PROGRAMS/intruder" veth0 "$SECONDS_EACH" "$SEED" &
	pids+=($!)
	ip netns exec ns2 "$PROGRAMS/intruder" veth1 "$SECONDS_EACH" $((SEED + 1)) &
	pids+=($!)
	timeout -k 5 $((SECONDS_EACH + PATIENCE)) "$PROGRAMS/storm" torture 6 "$SECONDS_EACH" "$SEED" ||
		{ bad "storm: status $?"; status=1; }
	for pid in "${pids[@]}"; do
		wait "$pid" || { bad "intruder: status $?"; status=1; }
	done
	[ $status -eq 0 ] || return
	echo "$(counter rxe0 rx_malformed) malformed, $(counter rxe0 icrc_errors) bad sums, $(counter rxe0 nak_sent) NAKs"
	if [ -n "${RXE_OURS-}" ]; then
		found=$(($(of_both icrc_errors rx_malformed) - found))
		echo "$found damaged packets found"
		[ $found -ge 10 ] || bad "nothing was tested: $found damaged packets found" || return
	fi
	no_leaks && pingpong -n 20
}

# bursts MODE COMMAND...: COMMAND while the pair handles bursts so
bursts() { veth_bursts "$1" && "${@:2}"; }

# six COMMAND...: it has IPv6 packets to damage, and no others
six() {
	STORM_GID=v6 GID_KIND=v6 "$@" || return
	[ "$(grep -c 'seen, [1-9][0-9]* of IPv6' "$CASE_LOG")" -eq 2 ] || bad "IPv6 is not what was damaged"
}

# merged: what is damaged may be merged with what is not, where it arrives
merged() {
	local merged status

	veth_merges || return
	[ "$(counter rxe0 rx_merged)" != n/a ] ||
		{ gro off; skip "the driver merges nothing on this kernel"; return; }
	merged=$(counter rxe0 rx_merged)
	stranger
	status=$?
	gro off || status=1
	merged=$(($(counter rxe0 rx_merged) - merged))
	echo "$merged packets came merged"
	[ $merged -gt 100 ] || bad "only $merged packets came merged" || status=1
	return $status
}

[ -x "${PROGRAMS:-.}/intruder" ] || { check programs skip "no programs: start it with tests/run vm"; return; }
check setup setup || return
check liars liars
check liars-ud liars ud
check shared lies shared "$SECONDS_EACH" "$SEED"
check opcodes lies opcodes
check chase lies chase $((PATIENCE / 10))
check orphan lies orphan 5
check stranger bursts single stranger
check stranger-cut bursts cut stranger
if has_ipv6; then
	check stranger-ipv6 bursts cut six stranger
fi
check stranger-merged merged
check no-leaks no_leaks
check clean cleanup_all
