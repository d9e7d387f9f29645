# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# perftest.sh - perftest over RC: bandwidth and latency of write, read, send and
# atomic; all sizes from 2 B to 8 MiB, one and 16 queue pairs, both directions,
# events, inline data, rdma_cm. What takes minutes is in perftest-long.sh. (Not here: -e
# with -D, which hangs in perftest itself.)

# Used by perftest(): the programs fill their buffers with random bytes first,
# which takes an emulated CPU a while.
export LIMIT=$((PATIENCE * 3))

# shellcheck source=tests/vm/cm.sh
. "$VM/cm.sh"

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
check write-bw-inline perftest_inline 64 ib_write_bw -s 64 -n 1000
check write-lat-inline perftest_inline 64 ib_write_lat -s 64 -n 500
check send-bw-inline perftest_inline 512 ib_send_bw -s 512 -n 500
check send-lat-inline perftest_inline 64 ib_send_lat -s 64 -n 500
check send-lat-inline-uc perftest_inline 64 ib_send_lat -c UC -s 64 -n 500
check write-bw-mtu-256 perftest ib_write_bw -m 256 -s 65536 -n 50
check send-bw-mtu-512 perftest ib_send_bw -m 512 -s 65536 -n 50
check read-bw-mtu-2048 perftest ib_read_bw -m 2048 -s 65536 -n 50
GID_KIND=v6 check write-bw-ipv6 perftest ib_write_bw -s 65536 -n 100
check atomic-bw-fetch-add perftest ib_atomic_bw -A FETCH_AND_ADD -n 500
check atomic-bw-compare-swap perftest ib_atomic_bw -A CMP_AND_SWAP -n 500
check atomic-bw-16-qps perftest ib_atomic_bw -q 16 -n 50
check atomic-bw-bidirectional perftest ib_atomic_bw -b -n 200
check atomic-lat perftest ib_atomic_lat -n 300

# Connected by rdma_cm, by which perftest makes no UC; rdmacm.sh has some for older kernels
cm() {
	core_makes_links || { skip "rdma_cm of this kernel looks for addresses in the initial namespace only"; return; }
	cm_modules && cm_perftest 10.1.0.1 "$@"
}

for program in read_bw read_lat write_lat atomic_bw atomic_lat; do
	check "cm-${program/_/-}" cm ib_$program -n 100
done
check cm-send-bw-ud cm ib_send_bw -c UD -s 1024 -n 100

check no-leaks no_leaks
check clean cleanup_all
