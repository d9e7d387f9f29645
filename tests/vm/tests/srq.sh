# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# srq.sh - shared receive queues under programs: pingpong over 16 queue pairs, contents
# compared, and perftest. Limit, resize and events are in tests/wire (services).

srq_pingpong() {
	PORT=18515
	pair $((PATIENCE * 2)) ibv_srq_pingpong -c -p $PORT -d rxe0 -g "$(gid_index rxe0 v4)" "$@" -- \
		ibv_srq_pingpong -c -p $PORT -d rxe1 -g "$(gid_index rxe1 v4)" "$@" 10.1.0.1 || return
	grep -q 'iters in' "$CASE_LOG.client" || bad "no result line" || return
	! grep -aE 'invalid data|memcmp' "$CASE_LOG.client" "$CASE_LOG.server" || bad "wrong data"
}

# Extended connections are not offered: the program says so and ends.
xrc_refused() { expect_error "XRC|not support" ibv_xsrq_pingpong -d rxe0 -g "$(gid_index rxe0 v4)" 10.1.0.2; }

check setup setup || return
check xrc-refused xrc_refused
check pingpong srq_pingpong -n 100
check pingpong-events srq_pingpong -e -n 50
check pingpong-few-receives srq_pingpong -r 17 -n 50
check send-bw perftest ib_send_bw --use-srq -s 4096 -n 500
check send-bw-16-qps perftest ib_send_bw --use-srq -q 16 -s 4096 -n 50
check send-bw-ud perftest ib_send_bw --use-srq -c UD -s 1024 -n 500
check no-leaks no_leaks
check clean cleanup_all
