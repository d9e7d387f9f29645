# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# perftest.sh - perftest over RC: bandwidth and latency of write, read, send and
# atomic; all sizes from 2 B to 8 MiB, one and 16 queue pairs, both directions,
# events, inline data. What takes minutes is in perftest-long.sh. (Not here: -e
# with -D, which hangs in perftest itself.)

# Used by perftest(): the programs fill their buffers with random bytes first,
# which takes an emulated CPU a while.
export LIMIT=$((PATIENCE * 3))

check setup setup || return

for op in write read send; do
	check "$op-bw-all-sizes" perftest ib_${op}_bw -a -n 5 -m 4096
	check "$op-bw-bidirectional" perftest ib_${op}_bw -b -s 65536 -n 100 -m 1024
	check "$op-bw-16-qps" perftest ib_${op}_bw -q 16 -s 65536 -n 50
	check "$op-lat" perftest ib_${op}_lat -s 64 -n 300
done
check write-lat-all-sizes perftest ib_write_lat -a -n 5
check write-bw-16-qps-bidirectional perftest ib_write_bw -q 16 -b -s 4096 -n 100
check send-bw-events perftest ib_send_bw -e -s 4096 -n 500
check send-bw-events-16-qps perftest ib_send_bw -e -q 16 -s 65536 -n 20
check send-bw-events-bidirectional perftest ib_send_bw -e -b -s 4096 -n 200
check send-lat-events perftest ib_send_lat -e -s 64 -n 300
check read-bw-events perftest ib_read_bw -e -s 65536 -n 100
check read-lat-events perftest ib_read_lat -e -s 64 -n 300
check write-bw-inline perftest ib_write_bw -I 64 -s 64 -n 1000
check write-lat-inline perftest ib_write_lat -I 64 -s 64 -n 500
check send-lat-inline perftest ib_send_lat -I 64 -s 64 -n 500
check write-bw-mtu-256 perftest ib_write_bw -m 256 -s 65536 -n 50
GID_KIND=v6 check write-bw-ipv6 perftest ib_write_bw -s 65536 -n 100
check atomic-bw-fetch-add perftest ib_atomic_bw -A FETCH_AND_ADD -n 500
check atomic-bw-compare-swap perftest ib_atomic_bw -A CMP_AND_SWAP -n 500
check atomic-bw-16-qps perftest ib_atomic_bw -q 16 -n 50
check atomic-bw-bidirectional perftest ib_atomic_bw -b -n 200
check atomic-lat perftest ib_atomic_lat -n 300

check no-leaks no_leaks
check clean cleanup_all
