# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154 # shared with tests/interop/guest
# cases.sh - both ends check everything (ends.c), at every path MTU, and one of them
# captures it for wire.py.
#
# Sourced by tests/interop/guest.

# shellcheck source=tests/lib/capture.sh
. "$here/../lib/capture.sh"

# ends KIND: index is that of the GID
ends() {
	local kind=$1 file=$dir/wire-$1

	if [ "$me" -eq 1 ]; then
		# a packet as it came, not one with those that came with it
		ethtool -K eth0 gro off
		capture_begin here "$file.tcpdump" -i eth0 -s 0 -B 65536 -w "/tmp/wire-$kind.pcap" udp port 4791 ||
			{ result "not ok wire-$kind: tcpdump does not start"; return; }
	fi
	everything
	[ "$me" -eq 1 ] || return
	capture_end "$file.tcpdump" && cp "/tmp/wire-$kind.pcap" "$file.pcap" ||
		result "not ok wire-$kind: tcpdump lost packets"
	ethtool -K eth0 gro on
}

ip netns attach here $$
for kind in v4 v6; do
	index=$(gid_index rxe0 $kind)
	ends $kind
done
kind=v4 index=$(gid_index rxe0 v4)
