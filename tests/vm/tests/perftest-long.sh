# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# perftest-long.sh - the runs of perftest that take minutes on an emulated CPU,
# because they fill large buffers with random bytes first: all sizes with 16
# queue pairs, in both directions, and for the latency of read and send. And each
# program by each transport that it has, at each path MTU; with events, inline data and
# shared receive queues.

export LIMIT=$((PATIENCE * 6))

check setup setup || return
check write-bw-bidirectional-all-sizes perftest ib_write_bw -b -a -n 5
check send-bw-bidirectional-all-sizes perftest ib_send_bw -b -a -n 5 -m 1024
check read-bw-bidirectional-all-sizes perftest ib_read_bw -b -a -n 5 -m 1024
check read-lat-all-sizes perftest ib_read_lat -a -n 5
check send-lat-all-sizes perftest ib_send_lat -a -n 5
check write-bw-16-qps-all-sizes perftest ib_write_bw -q 16 -a -n 5 -m 4096
check send-bw-16-qps-all-sizes perftest ib_send_bw -q 16 -a -n 5
for mtu in 256 512 1024 2048 4096; do
	for kind in bw lat; do
		for op in write read send atomic; do
			size=(-s 10000)
			[ $op != atomic ] || size=()
			check "$op-$kind-mtu-$mtu" perftest ib_${op}_$kind -m $mtu "${size[@]}" -n 50
		done
		for op in write send; do
			check "$op-$kind-uc-mtu-$mtu" perftest ib_${op}_$kind -c UC -m $mtu -s 10000 -n 50
		done
		check "send-$kind-ud-mtu-$mtu" perftest ib_send_$kind -c UD -m $mtu -s $mtu -n 50
	done
done
for kind in bw lat; do
	check "send-$kind-uc-events" perftest ib_send_$kind -c UC -e -s 4096 -n 300
	check "send-$kind-ud-events" perftest ib_send_$kind -c UD -e -s 1024 -n 300
	check "atomic-$kind-events" perftest ib_atomic_$kind -e -n 100
	for transport in RC UC UD; do
		check "send-$kind-${transport,,}-inline" perftest_inline 64 ib_send_$kind -c $transport -s 64 -n 300
	done
	check "write-$kind-uc-inline" perftest_inline 64 ib_write_$kind -c UC -s 64 -n 300
done
for transport in RC UD; do
	check "send-lat-${transport,,}-srq" perftest ib_send_lat --use-srq -c $transport -s 1024 -n 300
done
check no-leaks no_leaks
check clean cleanup_all
