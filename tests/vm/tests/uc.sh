# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# uc.sh - unreliable connections: pingpong with contents compared, perftest. Neither
# sends anything again, so these pass only if nothing is lost.

uc_pingpong() { pingpong_by ibv_uc_pingpong "$@"; }

check setup setup || return
for mtu in 256 512 1024 2048 4096; do
	check "mtu-$mtu" uc_pingpong -m "$mtu" -s 4097 -n 20
done
for size in 1 1023 1024 1025 65537; do
	check "size-$size" uc_pingpong -m 1024 -s "$size" -n 20
done
check events uc_pingpong -e -n 100
GID_KIND=v6 check gid-ipv6 uc_pingpong -n 100
check write-bw perftest ib_write_bw -c UC -s 65536 -n 100
check write-bw-bidirectional perftest ib_write_bw -c UC -b -s 4096 -n 100
check write-bw-mtu-512 perftest ib_write_bw -c UC -m 512 -s 65536 -n 50
check send-bw-mtu-2048 perftest ib_send_bw -c UC -m 2048 -s 16384 -n 100
check write-lat perftest ib_write_lat -c UC -s 64 -n 300
check send-bw perftest ib_send_bw -c UC -s 4096 -n 200
check send-lat perftest ib_send_lat -c UC -s 64 -n 300
check no-leaks no_leaks
check clean cleanup_all
