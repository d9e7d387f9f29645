# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# load.sh - the module loads, unloads and autoloads, and leaves nothing behind.

autoload() {
	core_makes_links || { skip "this kernel's RDMA core does not load drivers: modprobe first"; return; }
	ip link add veth0 type veth peer name veth1 || bad "no veth pair" || return
	rdma link add rxe0 type rxe netdev veth0 || bad "rdma link add fails" || return
	driver_is_ours || return
	link_delete rxe0 && ip link del veth0 && driver_unload
}

again_and_again() {
	local i

	for ((i = 0; i < 5; i++)); do
		driver_load && driver_unload || return
	done
	! grep -w rdma_rxe /proc/modules || bad "still loaded"
}

no_sockets_when_loaded() {
	driver_load || return
	[ "$(grep -c ':12B7 ' /proc/net/udp)" -eq 0 ] || bad "UDP port 4791 is open without a device" || return
	driver_unload
}

check load-unload again_and_again
check autoload autoload
check idle no_sockets_when_loaded
