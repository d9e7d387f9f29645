# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# perftest-long.sh - the runs of perftest that take minutes on an emulated CPU,
# because they fill large buffers with random bytes first: all sizes with 16
# queue pairs, in both directions, and for the latency of read and send. And UC
# with events.

export LIMIT=$((PATIENCE * 6))

check setup setup || return
check write-bw-bidirectional-all-sizes perftest ib_write_bw -b -a -n 5
check send-bw-bidirectional-all-sizes perftest ib_send_bw -b -a -n 5 -m 1024
check read-bw-bidirectional-all-sizes perftest ib_read_bw -b -a -n 5 -m 1024
check read-lat-all-sizes perftest ib_read_lat -a -n 5
check send-lat-all-sizes perftest ib_send_lat -a -n 5
check write-bw-16-qps-all-sizes perftest ib_write_bw -q 16 -a -n 5 -m 4096
check send-bw-16-qps-all-sizes perftest ib_send_bw -q 16 -a -n 5
check send-bw-uc-events perftest ib_send_bw -c UC -e -s 4096 -n 500
check send-lat-uc-events perftest ib_send_lat -c UC -e -s 64 -n 300
check no-leaks no_leaks
check clean cleanup_all
