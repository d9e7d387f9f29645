# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# cm.sh - two programs that connect by rdma_cm. Sourced by files of tests/vm/tests.

# cm_pair LIMIT SERVER... -- CLIENT...: as pair, but the server listens by rdma_cm
cm_pair() { CM=1 pair "$@"; }

# cm_listens [PID...]: these processes listen, or one does. An identifier says so a moment before
# a request would be taken, and one for all devices before it is known to each: that is over when
# the process waits for what comes, or, if it asks again and again (rstream), in a second. An old
# core does not tell who listens: give a server that has opened the device two seconds.
cm_listens() {
	local ids pid

	if ! core_makes_links; then
		find /proc/[0-9]*/fd -lname '*infiniband/rdma_cm' 2>/dev/null | grep -q . && sleep 2
		return
	fi
	ids=$(rdma resource show cm_id | sed -n 's/.*state LISTEN.* pid \([0-9]*\) .*/\1/p')
	[ -n "$ids" ] || return
	[ $# -gt 0 ] || set -- "${ids%%$'\n'*}"
	for pid in "$@"; do
		grep -qx "$pid" <<<"$ids" || return
		case $(sed 's/.*) \(.\) .*/\1/' "/proc/$pid/stat" 2>/dev/null) in
		S) ;;
		R) sleep 1 ;;
		*) return 1 ;;
		esac
	done
}
listens_or_ended() {
	if [ -n "${CM-}" ]; then cm_listens; else listens "$PORT"; fi || ! kill -0 "$1" 2>/dev/null
}

# cm_perftest ADDRESS PROGRAM OPTIONS...: perftest, whose server has ADDRESS
cm_perftest() {
	local address=$1 program=$2

	shift 2
	PORT=18515
	cm_pair $((PATIENCE * 2)) "$program" -R -F -p $PORT -d rxe0 "$@" -- \
		"$program" -R -F -p $PORT -d rxe1 "$@" "$address" || return
	perftest_table "$CASE_LOG.client" "$@"
}

# cm_modules: what rdma_cm's programs need
cm_modules() {
	modprobe -q rdma_ucm || { skip "this kernel has no rdma_ucm"; return; }
	eventually test -e /dev/infiniband/rdma_cm || bad "no /dev/infiniband/rdma_cm"
}

# within SERVER... -- CLIENT...: both ends on one device
within() {
	local server=() pid status=0

	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	timeout "$PATIENCE" ip netns exec ns1 "${server[@]}" >"$CASE_LOG.server" 2>&1 &
	pid=$!
	eventually cm_listens || bad "the server does not listen" || status=1
	n1 timeout "$PATIENCE" "$@" >"$CASE_LOG.client" 2>&1 ||
		bad "$1 fails within one device: status $?: $(tail -n 1 "$CASE_LOG.client")" || status=1
	[ $status -eq 0 ] || kill $pid
	wait $pid || bad "the server: status $?: $(tail -n 1 "$CASE_LOG.server")" || status=1
	cat "$CASE_LOG.client"
	return $status
}
