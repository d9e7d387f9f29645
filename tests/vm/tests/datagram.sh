# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# datagram.sh - UD queue pairs: pingpong with contents compared and perftest, IPv4,
# IPv6 and link-local addresses, up to the MTU.

# ud_pingpong OPTIONS...: a lost datagram would stop it for good
ud_pingpong() { pingpong_by ibv_ud_pingpong "$@"; }

# A datagram with the wrong Q_Key is counted, and reaches nobody.
nothing_dropped() {
	local name

	for name in rx_bad_qkey rx_bad_pkey rx_no_buffer icrc_errors; do
		[ "$(counter rxe0 $name)" = 0 ] && [ "$(counter rxe1 $name)" = 0 ] ||
			bad "$name is $(counter rxe0 $name), $(counter rxe1 $name)" || return
	done
}

check setup setup || return
for size in 1 63 64 1024 2048 4096; do
	check "size-$size" ud_pingpong -s "$size" -n 50
done
check events ud_pingpong -e -n 200
check many ud_pingpong -n 1000
for kind in v6 ll; do
	GID_KIND=$kind check "gid-$kind" ud_pingpong -n 100
done
check nothing-dropped nothing_dropped
check send-bw perftest ib_send_bw -c UD -s 1024 -n 500
for mtu in 512 2048; do
	check "send-bw-mtu-$mtu" perftest ib_send_bw -c UD -m $mtu -s $mtu -n 200
done
check send-bw-bidirectional perftest ib_send_bw -c UD -b -s 2048 -n 200
check send-bw-16-qps perftest ib_send_bw -c UD -q 16 -s 1024 -n 50
check send-bw-events perftest ib_send_bw -c UD -e -s 1024 -n 200
check send-lat perftest ib_send_lat -c UD -s 64 -n 300
check send-lat-inline perftest_inline 64 ib_send_lat -c UD -s 64 -n 300
GID_KIND=v6 check send-lat-ipv6 perftest ib_send_lat -c UD -s 4096 -n 200
check no-leaks no_leaks
check clean cleanup_all
