# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# capture.sh - captures by tcpdump that are complete.
#
# The kernel hands packets to tcpdump by the block, up to a second late, and a tcpdump
# that is told to end leaves what is in the block. Both are counted by "received by
# filter", not by "captured", so it is asked for these before it is told. (The loopback
# device has each packet twice, of which tcpdump takes one.)

# capture_begin NETNS SAID ARGUMENTS...: sets CAPTURE, the process; what it says goes to
# the file SAID
capture_begin() {
	local i

	# Not by a function: the process would be that of a shell, which a signal ends alone.
	ip netns exec "$1" tcpdump -n -Z root -U "${@:3}" </dev/null 2>"$2" &
	CAPTURE=$!
	CAPTURE_LO=''
	[[ " $* " != *' -i lo '* && " $* " != *' -i any '* ]] || CAPTURE_LO=1
	for ((i = 0; i < 200; i++)); do
		grep -qs 'listening on' "$2" && return
		sleep 0.1
	done
	kill "$CAPTURE" 2>/dev/null
	wait "$CAPTURE"
	return 1
}

# capture_end SAID: 1 if some of the packets are not in the capture, as SAID tells. What comes
# between the socket and its filter counts as received, and is thrown away: packets that are
# still not captured when tcpdump has said the same for two seconds were never in a block.
capture_end() {
	local i counts status=1

	for ((i = 0; i < 50 && status; i++)); do
		kill -USR1 "$CAPTURE" || break
		sleep 0.1
		counts=$(grep -E 'packets? captured, ' "$1" | tail -n 1)
		if capture_whole "$counts" || [ "$(grep -cxF -- "${counts:-none}" "$1")" -ge 20 ]; then
			status=0
		fi
	done
	kill -TERM "$CAPTURE" 2>/dev/null
	wait "$CAPTURE"
	[ $status -eq 0 ] && ! grep -q '^[1-9][0-9]* packets dropped by' "$1"
}

capture_whole() {
	[[ $1 =~ ([0-9]+)\ packets?\ captured,\ ([0-9]+)\ packets?\ received ]] || return
	[ "${BASH_REMATCH[1]}" -eq "${BASH_REMATCH[2]}" ] ||
		{ [ -n "$CAPTURE_LO" ] && [ $((BASH_REMATCH[1] * 2)) -eq "${BASH_REMATCH[2]}" ]; }
}
