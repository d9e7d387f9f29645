# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# pyverbs.sh - rdma-core's own tests, as Debian's python3-pyverbs ships them, on one
# device; both ends of each connection are there. What they skip is compared with
# tests/vm/pyverbs-skips. PYVERBS_TESTS="NAME..." runs only these. PYVERBS_ROOT is
# where another rdma-core is unpacked (tests/vm/pyverbs-root).
#
#	initial namespace
#	+--------------------------+
#	| rxe0 on veth0            |
#	| 10.1.0.1 fd01::1 fe80::… |==== veth1
#	+--------------------------+
# packages: python3-pyverbs

SHIPPED=${PYVERBS_ROOT-}/usr/share/doc/rdma-core/tests
HUGE=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages

topology() {
	driver_load && modprobe -q -a rdma_ucm ib_umad || return
	ip link add veth0 mtu "$VETH_MTU" type veth peer name veth1 mtu "$VETH_MTU" &&
		ip addr add 10.1.0.1/24 dev veth0 &&
		sysctl -qw net.ipv6.conf.veth0.accept_dad=0 &&
		ip link set veth0 up && ip link set veth1 up || bad "no veth pair" || return
	rdma link add rxe0 type rxe netdev veth0 || bad "rdma link add fails" || return
	eventually port_is rxe0 ACTIVE && eventually gid_index rxe0 v4 >/dev/null ||
		bad "the port is not active" || return
	# the tests for huge pages take what there is
	[ ! -e $HUGE ] || echo 64 >$HUGE
	# shellcheck disable=SC2034 # no_leaks compares with it
	BASELINE=$(counts)
}

unpack() {
	[ -d "$SHIPPED" ] || { skip "no $SHIPPED (package python3-pyverbs)"; return; }
	rm -rf /tmp/pyverbs && mkdir /tmp/pyverbs && cp -r "$SHIPPED" /tmp/pyverbs/ &&
		gunzip -f /tmp/pyverbs/tests/*.gz || bad "cannot unpack $SHIPPED"
}

# The interpreter of the system, or the unpacked one with its own libraries
PYTHON=(/usr/bin/python3)
if [ -n "${PYVERBS_ROOT-}" ]; then
	lib=$PYVERBS_ROOT/usr/lib/x86_64-linux-gnu
	PYTHON=(env "PYTHONHOME=$PYVERBS_ROOT/usr" "PYTHONPATH=$PYVERBS_ROOT/usr/lib/python3/dist-packages"
		"RDMAV_DRIVERS=$lib/libibverbs/librxe" "$PYVERBS_ROOT/usr/lib64/ld-linux-x86-64.so.2"
		--library-path "$lib" "$PYVERBS_ROOT/usr/bin/$(readlink "$PYVERBS_ROOT/usr/bin/python3")")
fi

version() {
	zcat "${PYVERBS_ROOT-}/usr/share/doc/python3-pyverbs/changelog.Debian.gz" | sed -n '1s/.*(\(.*\)).*/\1/p'
}

# lacks: what this kernel does not have, tags of pyverbs-skips
lacks() {
	grep -qw hmm_range_fault /proc/kallsyms && core_makes_links || echo odp
	[ -e $HUGE ] || echo hugepages
	grep -qsw symbol:rdma_set_ack_timeout "/lib/modules/$(uname -r)/modules.symbols" ||
		grep -qw rdma_set_ack_timeout /proc/kallsyms || echo ack-timeout
}

suite() {
	local status

	# shellcheck disable=SC2086 # names
	LACKS=$(lacks | tr '\n' ' ') timeout -k 5 "${PYVERBS_LIMIT:-900}" "${PYTHON[@]}" "$VM/pyverbs-tests.py" /tmp/pyverbs \
		"$VM/pyverbs-skips" rxe0 ${PYVERBS_TESTS-} >"$CASE_LOG.tests" 2>&1
	status=$?
	grep -A 12 '^not ok' "$CASE_LOG.tests"
	echo "rdma-core $(version): $(tail -n 1 "$CASE_LOG.tests")"
	[ $status -eq 0 ] || bad "status $status: $(tail -n 1 "$CASE_LOG.tests")"
}

clean_up() {
	no_leaks || return
	[ ! -e $HUGE ] || echo 0 >$HUGE
	link_delete rxe0 && ip link del veth0 && rm -rf /tmp/pyverbs && driver_unload
}

check unpack unpack || return
check setup topology || return
check rdma-core suite
check clean clean_up
