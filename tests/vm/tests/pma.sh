# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# pma.sh - performance management: the counters of rxe0 asked for by MADs from rxe1, and
# those in sysfs, which the RDMA core gets in the same way. By IPv6: the core looks for
# the request that an answer belongs to by the addresses in its GRH, and does not know
# those of IPv4 there.
# packages: python3

modules() {
	command -v python3 >/dev/null || { skip "no python3 here"; return; }
	modprobe -q ib_umad || { skip "this kernel has no ib_umad"; return; }
	setup || return
	eventually test -n "$(umad)" || bad "no umad device"
}

# umad: that of rxe1
umad() {
	local dir

	for dir in /sys/class/infiniband_mad/umad*; do
		[ "$(cat "$dir/ibdev" 2>/dev/null)" != rxe1 ] || basename "$dir"
	done
}

# ask METHOD ATTRIBUTE [OPTION...]: rxe0, and leave the answer in $ANSWER
ask() {
	ANSWER=$(timeout "$PATIENCE" python3 "$VM/mad.py" "$(umad)" "$(gid_index rxe1 v6)" fd01::1 "$@") ||
		bad "mad.py $*: status $?" || return
	printf '%s:\n%s\n' "$*" "$ANSWER"
}
field() { sed -n "s/^$1 //p" <<<"$ANSWER"; }

# fields NAME VALUE [NAME VALUE...]
fields() {
	while [ $# -gt 0 ]; do
		[ "$(field "$1")" = "$2" ] || bad "$1 is '$(field "$1")', not '$2'" || return
		shift 2
	done
}

class_port_info() {
	# answered, by version 1, all ports and 64 bits (bits 8 and 10)
	ask get classportinfo &&
		fields method 0x81 status 0 base_version 1 class_version 1 capabilities $((0x500))
}

# near VALUE WANTED: the MADs themselves are counted, too
near() { [ "$1" -ge "$2" ] && [ "$1" -le $(($2 + ${3:-20})) ]; }

counters_count() {
	local attribute=$1 before sent

	ask get "$attribute" && fields status 0 || return
	before=$(field xmit_packets)
	near "$(counter rxe0 sent_pkts)" "$before" || bad "$before packets, sysfs has $(counter rxe0 sent_pkts)" || return
	perftest ib_write_bw -s 4096 -n 1000 || return
	sent=$(counter rxe0 sent_pkts)
	ask get "$attribute" port=255 && fields status 0 port_select 255 || return
	near "$(field xmit_packets)" "$sent" || bad "$(field xmit_packets) packets sent, sysfs has $sent" || return
	near "$(counter rxe0 rcvd_pkts)" "$(field rcv_packets)" ||
		bad "$(field rcv_packets) packets received, sysfs has $(counter rxe0 rcvd_pkts)" || return
	# counted in words of 4 bytes
	near "$(($(counter rxe0 rcvd_bytes) / 4))" "$(field rcv_data)" 20000 ||
		bad "$(field rcv_data) words received, sysfs has $(counter rxe0 rcvd_bytes) bytes"
}

# What is selected begins again, and only there.
set_resets() {
	ask get portcountersextended || return
	local extended
	extended=$(field xmit_packets)

	ask set portcounters select=0x4000 && fields status 0 xmit_packets 0 || return
	[ "$(field rcv_packets)" -gt 1000 ] || bad "what was not selected is $(field rcv_packets)" || return
	ask get portcounters || return
	near "$(field xmit_packets)" 1 || bad "$(field xmit_packets) packets after a reset" || return
	ask get portcountersextended || return
	[ "$(field xmit_packets)" -gt "$extended" ] || bad "the extended counters were reset, too"
}

refused() {
	ask get 0x7777 && fields method 0x81 status 0xc || return
	ask set classportinfo && fields status 0xc || return
	ask get portcounters version=9 && fields status 0x4 || return
	ask get portcounters port=7 && fields status 0x1c
}

# The core asks for them by MADs of its own.
in_sysfs() {
	local dir=/sys/class/infiniband/rxe1/ports/1/counters sent

	[ -d $dir ] || bad "no $dir" || return
	sent=$(counter rxe1 sent_pkts)
	near "$(cat $dir/port_xmit_packets)" "$sent" ||
		bad "port_xmit_packets is $(cat $dir/port_xmit_packets), sent_pkts $sent" || return
	[ "$sent" -gt 1000 ] && [ "$(cat $dir/link_downed)" = "$(counter rxe1 link_downed)" ] ||
		bad "link_downed is $(cat $dir/link_downed), not $(counter rxe1 link_downed)"
}

check modules modules || return
check class-port-info class_port_info
check port-counters counters_count portcounters
check port-counters-extended counters_count portcountersextended
check set-resets set_resets
check refused refused
check sysfs in_sysfs
check no-leaks no_leaks
check clean cleanup_all
