# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# exclusive.sh - rdma devices that belong to one network namespace.
#
# In this mode of the RDMA core a device is seen in its own namespace only. A core
# that does not put a new device where its netdev is has it in the initial one,
# and "rdma dev set NAME netns NS" moves it.

shared_again() {
	local dev

	for dev in rxe0 rxe1; do
		[ ! -e "/sys/class/infiniband/$dev" ] || rdma link delete $dev
		n1 rdma link delete $dev
		n2 rdma link delete $dev
	done >/dev/null 2>&1
	net_down
	eventually rdma system set netns shared 2>/dev/null || bad "the mode cannot be set back"
}

seen_in() { ip netns exec "$1" rdma dev show "$2" 2>/dev/null | grep -qw "$2"; }

# placed NS DEVICE: seen there, and nowhere else
placed() {
	local other=ns1

	[ "$1" != ns1 ] || other=ns2
	seen_in "$1" "$2" || timeout "$PATIENCE" rdma dev set "$2" netns "$1" ||
		bad "$2 is neither in $1 nor can it be moved there" || return
	eventually seen_in "$1" "$2" || bad "$2 is not seen in $1" || return
	! seen_in $other "$2" || bad "$2 is seen in $other, too" || return
	! rdma dev show "$2" >/dev/null 2>&1 || bad "$2 is seen in the initial namespace, too"
}

exclusive() {
	local i

	# the kernel refuses it while namespaces of the test before are still being taken down
	driver_load && eventually rdma system set netns exclusive || bad "no exclusive mode" || return
	net_up && link_add ns1 rxe0 veth0 && link_add ns2 rxe1 veth1 || return
	placed ns1 rxe0 && placed ns2 rxe1 || return
	# sysfs shows a namespace's own devices
	for i in 0 1; do
		eventually ip netns exec ns$((i + 1)) grep -q ACTIVE "/sys/class/infiniband/rxe$i/ports/1/state" ||
			bad "rxe$i is not active, as its namespace sees it" || return
	done
}

gid_in() { ip netns exec "$1" sh -c "
	for i in 0 1 2 3; do
		grep -qs ^0000:0000:0000:0000:0000:ffff: /sys/class/infiniband/$2/ports/1/gids/\$i && echo \$i && exit
	done; exit 1"; }

traffic() {
	local g1 g2

	eventually gid_in ns1 rxe0 >/dev/null && eventually gid_in ns2 rxe1 >/dev/null ||
		bad "no IPv4 GIDs" || return
	g1=$(gid_in ns1 rxe0) g2=$(gid_in ns2 rxe1)
	# shellcheck disable=SC2034 # pair() waits for it
	PORT=18515
	pair "$PATIENCE" ibv_rc_pingpong -c -d rxe0 -g "$g1" -n 100 -s 10001 -- \
		ibv_rc_pingpong -c -d rxe1 -g "$g2" -n 100 -s 10001 10.1.0.1
}

# the device of another namespace is not for us
foreign_device() {
	expect_error 'found|no ib|unable|failed' n1 ibv_devinfo -d rxe1
}

deleted() {
	n1 timeout "$PATIENCE" rdma link delete rxe0 || bad "rdma link delete in ns1" || return
	! seen_in ns1 rxe0 || bad "rxe0 is still there" || return
	# the other one goes with its netdev; the driver could not be unloaded otherwise
	ip netns del ns2 || bad "ip netns del ns2"
}

if ! rdma system show 2>/dev/null | grep -q netns; then
	check mode skip "this kernel's core has no such mode"
	return
fi
check exclusive exclusive
check traffic traffic
check foreign foreign_device
check deleted deleted
check shared-again shared_again
check unload driver_unload
