# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# rdmacm.sh - connections and datagrams by rdma_cm, that is by MADs over QP 1:
# between two namespaces and within one device, IPv4 and IPv6. On a core that looks
# for addresses in the initial namespace only, others get an error.

# cm_pair LIMIT SERVER... -- CLIENT...: as pair, but the server listens by rdma_cm
cm_pair() { CM=1 pair "$@"; }

cm_listens() { rdma resource show cm_id | grep -q 'state LISTEN'; }
listens_or_ended() {
	if [ -n "${CM-}" ]; then cm_listens; else listens "$PORT"; fi || ! kill -0 "$1" 2>/dev/null
}

rping_ok() { # ADDRESS OPTIONS...
	local address=$1

	shift
	cm_pair "$PATIENCE" rping -s -a "$address" -v -V "$@" -- rping -c -a "$address" -v -V "$@" || return
	grep -q 'ping data' "$CASE_LOG.client" || bad "rping says nothing"
}

cm_program() { # PROGRAM ADDRESS OPTIONS...
	local program=$1 address=$2

	shift 2
	cm_pair "$PATIENCE" "$program" -b "$address" "$@" -- "$program" -s "$address" "$@" || return
	! grep -qiE 'fail|error|unable' "$CASE_LOG.client" "$CASE_LOG.server" ||
		bad "$(grep -iE 'fail|error|unable' "$CASE_LOG.client" "$CASE_LOG.server" | head -n 1)"
}

simple() { cm_pair "$PATIENCE" rdma_server -p 7471 -- rdma_client -s 10.1.0.1 -p 7471; }

# both ends on one device
within() {
	rping -s -a 10.1.0.1 -C 10 -v >"$CASE_LOG.server" 2>&1 &
	local server=$! status=0

	eventually cm_listens || bad "the server does not listen"
	timeout "$PATIENCE" rping -c -a 10.1.0.1 -C 10 -v || bad "rping fails within one device: status $?" || status=1
	[ $status -eq 0 ] || kill $server
	wait $server
	return $status
}
within_ns1() { n1 bash -c ". '$VM/lib.sh'; $(declare -f cm_listens within); within"; }

# Nobody listens: the MAD that says so arrives.
refused() {
	expect_error 'reject|cma event|connect' n2 rping -c -a 10.1.0.1 -C 1
}

cm_perftest() { # PROGRAM OPTIONS...
	local program=$1

	shift
	PORT=18515
	cm_pair $((PATIENCE * 2)) "$program" -R -F -p $PORT -d rxe0 "$@" -- \
		"$program" -R -F -p $PORT -d rxe1 "$@" 10.1.0.1 || return
	perftest_table "$CASE_LOG.client" "$@"
}

many_connects() { cm_program ucmatose 10.1.0.1 -c 50 -C 5 -S 100; }

modules() {
	modprobe -q rdma_ucm || { skip "this kernel has no rdma_ucm"; return; }
	eventually test -e /dev/infiniband/rdma_cm || bad "no /dev/infiniband/rdma_cm"
}

# Elsewhere than in the initial namespace: no hang, no connection, a reason.
other_namespace() {
	setup || return
	expect_error 'no such device|resolve' n2 rping -c -a 10.1.0.1 -C 1 || return
	cleanup_all
}

check modules modules || return
if ! core_makes_links; then
	check other-namespace other_namespace
	check connections skip "rdma_cm of this kernel looks for a partition key of InfiniBand, because the port does not let it look for MAC addresses"
	return
fi
check setup setup || return
check rping rping_ok 10.1.0.1 -C 10
check rping-large rping_ok 10.1.0.1 -C 3 -S 65535
check rping-ipv6 rping_ok fd01::1 -C 10
check rping-within-a-device within_ns1
check refused refused
check ucmatose cm_program ucmatose 10.1.0.1
check ucmatose-many-connections many_connects
check ucmatose-ipv6 cm_program ucmatose fd01::1
check udaddy cm_program udaddy 10.1.0.1
check udaddy-ipv6 cm_program udaddy fd01::1
check rdma-server-client simple
check write-bw cm_perftest ib_write_bw -s 65536 -n 100
check send-lat cm_perftest ib_send_lat -s 64 -n 100
check send-lat-ud cm_perftest ib_send_lat -c UD -s 64 -n 100
check no-leaks no_leaks
check clean cleanup_all
