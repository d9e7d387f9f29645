# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154 # shared with lib.sh and guest
# mixed.sh - real programs at every path MTU, with a capture of every frame.
#
# The host decodes the captures (capture.py): it is much faster than a guest.
# Sourced by tests/wire/guest.

FILE=mixed
PORT=18515
# shellcheck source=tests/lib/capture.sh
. "$here/../lib/capture.sh"

# programs MTU-KIND: which programs run there; all four at 1024
programs() {
	case $1 in
	256-v4) echo write read ;;
	512-v4) echo send atomic ;;
	1024-v4) echo write read send atomic ;;
	2048-v4) echo write send ;;
	4096-v4) echo read write ;;
	1024-v6) echo read ;;
	esac
}

# mixed MTU-KIND: perftest and pingpong, with sizes that need pad bytes
mixed() {
	local name=mixed-$1 status=0

	[ -n "$(programs "$1")" ] || bad "no such case" || return
	capture_begin ns1 "$LOGS/$name.tcpdump" -i veth0 -s 0 -B 65536 -w "/tmp/$name.pcap" udp port 4791 ||
		bad "tcpdump does not start" || return
	GID_KIND=${1#*-} LIMIT=$((PATIENCE * 2)) each_program "${1%-*}" "$(programs "$1")" || status=1
	capture_end "$LOGS/$name.tcpdump" || bad "tcpdump lost packets" || status=1
	cat "$LOGS/$name.tcpdump"
	cp "/tmp/$name.pcap" "$LOGS/$name.pcap" && rm -f "/tmp/$name.pcap" || status=1
	return $status
}

each_program() {
	local op

	pingpong -m "$1" -s 4097 -n 5 || return
	for op in $2; do
		case $op in
		atomic) perftest ib_atomic_bw -m "$1" -n 10 ;;
		*) perftest "ib_${op}_bw" -m "$1" -s $((10001 + ${#op})) -n 10 ;;
		esac || return
	done
}

for name in "${wanted[@]}"; do
	if [ "$name" = mixed ]; then
		for mtu in 256 512 1024 2048 4096; do
			check $mtu-v4 mixed $mtu-v4
		done
		check 1024-v6 mixed 1024-v6
	else
		check "${name#*/}" mixed "${name#*/}"
	fi
done
