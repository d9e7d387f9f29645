# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# smoke.sh - does the driver work at all on this kernel? Half a minute.

check setup setup || return
check pingpong pingpong -n 100
check write-bw perftest ib_write_bw -s 65536 -n 100
check send-lat perftest ib_send_lat -s 64 -n 100
check clean cleanup_all
