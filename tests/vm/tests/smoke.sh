# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# smoke.sh - does the driver work at all on this kernel? Half a minute. On a core that
# finds peers in the initial namespace only: there, and elsewhere a program gets an
# error at once, and nothing is left of it.

refused_elsewhere() { # PATTERN PROGRAM OPTIONS...
	local pattern=$1 start=$SECONDS index

	shift
	index=$(gid_index rxe0 v4)
	ip netns exec ns1 timeout "$PATIENCE" "$@" -d rxe0 -g "$index" >"$CASE_LOG.server" 2>&1 &
	local server=$! status
	index=$(gid_index rxe1 v4)
	eventually listens_or_ended $server
	# Its peer may be gone before it comes to that itself.
	expect_error "$pattern|remote address" n2 "$@" -d rxe1 -g "$index" 10.1.0.1
	status=$?
	kill $server 2>/dev/null
	wait $server
	[ $status -eq 0 ] || return
	grep -qE "$pattern" "$CASE_LOG" "$CASE_LOG.server" || bad "neither says '$pattern'" || return
	[ $((SECONDS - start)) -lt "$PATIENCE" ] || bad "it took $((SECONDS - start)) s" || return
	no_leaks
}

if ! peers_elsewhere; then
	check setup-elsewhere setup net_up || return
	check connection-elsewhere refused_elsewhere 'modify QP to RTR' ibv_rc_pingpong -p "$PORT"
	check datagram-elsewhere refused_elsewhere 'create AH' ibv_ud_pingpong -p "$PORT"
	check elsewhere-clean cleanup_all
fi
check setup setup || return
check pingpong pingpong -n 100
check write-bw perftest ib_write_bw -s 65536 -n 100
check send-lat perftest ib_send_lat -s 64 -n 100
check clean cleanup_all
