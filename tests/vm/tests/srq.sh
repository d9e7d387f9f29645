# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# srq.sh - shared receive queues under programs: pingpong over 16 queue pairs, contents
# compared, perftest, and resizes under traffic. Limit, resize and events packet by packet
# are in tests/wire (services).

srq_pingpong() {
	PORT=18515
	pair $((PATIENCE * 2)) ibv_srq_pingpong -c -p $PORT -d rxe0 -g "$(gid_index rxe0 v4)" "$@" -- \
		ibv_srq_pingpong -c -p $PORT -d rxe1 -g "$(gid_index rxe1 v4)" "$@" 10.1.0.1 || return
	grep -q 'iters in' "$CASE_LOG.client" || bad "no result line" || return
	! grep -aE 'invalid data|memcmp' "$CASE_LOG.client" "$CASE_LOG.server" || bad "wrong data"
}

# Extended connections are not offered: the program says so and ends.
xrc_refused() { expect_error "XRC|not support" ibv_xsrq_pingpong -d rxe0 -g "$(gid_index rxe0 v4)" 10.1.0.2; }

# resized QPS MESSAGES: nothing is lost, nothing comes twice, and all bytes are right
resized() {
	[ -x "${PROGRAMS:-.}/resize" ] || { skip "no programs: start it with tests/run vm"; return; }
	set -- "$@" "${SEED:-$RANDOM}"
	echo "seed $3"
	timeout -k 2 "$PATIENCE" "$PROGRAMS/resize" rxe0 "$(gid_index rxe0 v4)" rxe1 "$(gid_index rxe1 v4)" \
		"$@" || bad "status $?: $(tail -n 1 "$CASE_LOG")"
}

check setup setup || return
check xrc-refused xrc_refused
check pingpong srq_pingpong -n 100
check pingpong-events srq_pingpong -e -n 50
check pingpong-few-receives srq_pingpong -r 17 -n 50
check send-bw perftest ib_send_bw --use-srq -s 4096 -n 500
check send-bw-16-qps perftest ib_send_bw --use-srq -q 16 -s 4096 -n 50
check send-bw-ud perftest ib_send_bw --use-srq -c UD -s 1024 -n 500
check resized-under-traffic resized 1 2000
check resized-under-traffic-4-qps resized 4 600
check no-leaks no_leaks
check clean cleanup_all
