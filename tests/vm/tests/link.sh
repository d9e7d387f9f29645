# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# link.sh - rdma link add and delete, their errors, and what netdev events do.

add_delete() {
	local i

	for i in 1 2 3; do
		link_add ns1 rxe0 veth0 || return
		device_exists rxe0 || bad "no device rxe0" || return
		rdma link show rxe0/1 | grep -q 'netdev veth0\|state ACTIVE' || bad "rdma link shows no such link" || return
		link_delete rxe0 || return
		device_gone rxe0 || bad "rxe0 is still there" || return
	done
}

no_such_netdev() {
	expect_error 'no such device' n1 rdma link add rxe0 type rxe netdev nothere0 || return
	device_gone rxe0 || bad "a failed add left a device"
}

no_such_link() { expect_error 'no such device|wrong device|not found' rdma link delete nothere0; }

loopback() {
	link_add ns1 rxelo lo && device_exists rxelo || return
	link_delete rxelo
}

vlan_refused() {
	n1 ip link add link veth0 name veth0.7 type vlan id 7 || { skip "no VLANs here"; return; }
	expect_error 'not supported' n1 rdma link add rxe7 type rxe netdev veth0.7
	local status=$?

	device_gone rxe7 || bad "a failed add left a device" || status=1
	n1 ip link del veth0.7
	return $status
}

type_refused() {
	n1 ip link add vcan0 type vcan || { skip "no vcan here"; return; }
	expect_error 'not supported' n1 rdma link add rxe7 type rxe netdev vcan0
	local status=$?

	device_gone rxe7 || bad "a failed add left a device" || status=1
	n1 ip link del vcan0
	return $status
}

duplicate_name() {
	link_add ns1 rxe0 veth0 || return
	expect_error 'exist' n2 rdma link add rxe0 type rxe netdev veth1
	local status=$?

	link_delete rxe0
	return $status
}

netdev_in_use() {
	link_add ns1 rxe0 veth0 || return
	expect_error 'exist|busy|in use' n1 rdma link add rxe9 type rxe netdev veth0
	local status=$?

	device_gone rxe9 || bad "a failed add left a device" || status=1
	link_delete rxe0
	return $status
}

several() {
	local i

	for i in 1 2 3 4; do
		n1 ip link add "dummy$i" type dummy && n1 ip addr add "10.2.$i.1/24" dev "dummy$i" &&
			n1 ip link set "dummy$i" up && link_add ns1 "rxe$i" "dummy$i" || return
	done
	[ "$(find /sys/class/infiniband/ -name 'rxe[1-4]' | wc -l)" -eq 4 ] || bad "not four devices" || return
	[ "$(ibv_devices | grep -c 'rxe[1-4]')" -eq 4 ] || bad "ibv_devices does not show four" || return
	[ "$(cat /sys/class/infiniband/rxe[1-4]/node_guid | sort -u | wc -l)" -eq 4 ] ||
		bad "node GUIDs are not unique" || return
	for i in 3 1 4 2; do
		link_delete "rxe$i" && n1 ip link del "dummy$i" || return
	done
}

# One socket for each address family, open while the namespace has a device.
sockets() {
	[ "$(udp_sockets ns1)" -eq 0 ] || bad "sockets before the first device" || return
	link_add ns1 rxe0 veth0 || return
	[ "$(udp_sockets ns1)" -eq 2 ] || bad "$(udp_sockets ns1) sockets instead of 2 with a device" || return
	[ "$(udp_sockets ns2)" -eq 0 ] || bad "sockets in a namespace without a device" || return
	n1 ip link add dummy1 type dummy && link_add ns1 rxe2 dummy1 || return
	[ "$(udp_sockets ns1)" -eq 2 ] || bad "$(udp_sockets ns1) sockets with two devices" || return
	link_delete rxe0 || return
	[ "$(udp_sockets ns1)" -eq 2 ] || bad "sockets gone with one of two devices" || return
	link_delete rxe2 || return
	[ "$(udp_sockets ns1)" -eq 0 ] || bad "sockets left after the last device" || return
	n1 ip link del dummy1
}

port_taken() {
	# Somebody else has the port: a clear error, and nothing left behind.
	# shellcheck disable=SC2016 # Perl variables
	ip netns exec ns1 perl -MIO::Socket::INET -e \
		'$s = IO::Socket::INET->new(Proto => "udp", LocalPort => 4791) or die; sleep 60' &
	local pid=$! status=0

	eventually udp_bound || bad "cannot take the port" || return
	expect_error 'in use|busy' n1 rdma link add rxe0 type rxe netdev veth0 || status=1
	device_gone rxe0 || bad "a failed add left a device" || status=1
	kill $pid
	wait $pid 2>/dev/null
	[ $status -eq 0 ] || return
	link_add ns1 rxe0 veth0 && link_delete rxe0
}
udp_bound() { [ "$(udp_sockets ns1)" -ge 1 ]; }

down_up() {
	link_add ns1 rxe0 veth0 || return
	eventually port_is rxe0 ACTIVE || bad "port is $(port_state rxe0)" || return
	n1 ip link set veth0 down
	eventually port_is rxe0 DOWN || bad "netdev down, port $(port_state rxe0)" || return
	n1 ip link set veth0 up
	eventually port_is rxe0 ACTIVE || bad "netdev up, port $(port_state rxe0)" || return
	# Carrier goes with the other end.
	n2 ip link set veth1 down
	eventually port_is rxe0 DOWN || bad "no carrier, port $(port_state rxe0)" || return
	n2 ip link set veth1 up
	eventually port_is rxe0 ACTIVE || bad "carrier, port $(port_state rxe0)" || return
	link_delete rxe0
}

mtu_is() { [ "$(ibv_devinfo -d rxe0 | awk '/active_mtu/ { print $2 }')" = "$1" ]; }

mtu() {
	local pair

	link_add ns1 rxe0 veth0 || return
	# the headers of RoCE v2 take 96 bytes; below 1280 there is no IPv6, so not at the end
	for pair in 9000:4096 2300:2048 1500:1024 1000:512 4192:4096 4191:2048 1120:1024 1119:512 4500:4096; do
		n1 ip link set veth0 mtu "${pair%:*}"
		eventually mtu_is "${pair#*:}" || bad "MTU ${pair%:*}: active_mtu is not ${pair#*:}" || return
	done
	link_delete rxe0
}

# Where programs look for the netdev of a device, and its MAC address
netdev_is() { # DEVICE NAME
	[ "$(ls "/sys/class/infiniband/$1/device/net")" = "$2" ] &&
		n1 sh -c "cmp /sys/class/net/$2/address /sys/class/infiniband/$1/device/net/$2/address"
}

rename() {
	link_add ns1 rxe0 veth0 || return
	netdev_is rxe0 veth0 || bad "device/net has: $(ls /sys/class/infiniband/rxe0/device/net)" || return
	n1 ip link set veth0 down && n1 ip link set veth0 name renamed0 &&
		n1 ip link set renamed0 up || bad "cannot rename" || return
	device_exists rxe0 || bad "the device went with the name" || return
	netdev_is rxe0 renamed0 || bad "device/net still has: $(ls /sys/class/infiniband/rxe0/device/net)" || return
	eventually port_is rxe0 ACTIVE || bad "port is $(port_state rxe0)" || return
	n1 ip link set renamed0 down && n1 ip link set renamed0 name veth0 && n1 ip link set veth0 up
	link_delete rxe0
}

gid_has() { grep -qs "$2" "/sys/class/infiniband/$1/ports/1/gids/"*; }
gid_lacks() { ! gid_has "$@"; }

addresses() {
	link_add ns1 rxe0 veth0 || return
	eventually gid_has rxe0 ffff:0a01:0001 || bad "no GID for 10.1.0.1" || return
	n1 ip addr add 10.1.9.9/24 dev veth0
	eventually gid_has rxe0 ffff:0a01:0909 || bad "no GID for a new IPv4 address" || return
	n1 ip -6 addr add fd01::99/64 dev veth0 nodad
	eventually gid_has rxe0 fd01:0000:0000:0000:0000:0000:0000:0099 || bad "no GID for a new IPv6 address" || return
	n1 ip addr del 10.1.9.9/24 dev veth0
	eventually gid_lacks rxe0 ffff:0a01:0909 || bad "the GID of a deleted address stays" || return
	link_delete rxe0
}

netdev_deleted() {
	n1 ip link add dummy1 type dummy && link_add ns1 rxe2 dummy1 || return
	n1 ip link del dummy1 || bad "ip link del fails" || return
	eventually device_gone rxe2 || bad "the device outlives its netdev"
}

namespace_deleted() {
	ip netns add ns3 && ip netns exec ns3 ip link add dummy1 type dummy &&
		link_add ns3 rxe3 dummy1 && ip netns del ns3 || bad "setup fails" || return
	eventually device_gone rxe3 || bad "the device outlives its namespace"
}

# A netdev that moves: the device is gone, or it works there; never a splat.
namespace_move() {
	n1 ip link add dummy1 type dummy && link_add ns1 rxe2 dummy1 || return
	n1 ip link set dummy1 netns ns2 || bad "cannot move the netdev" || return
	sleep 1
	if device_exists rxe2; then
		eventually moved_sockets || bad "the device moved, its sockets did not" || return
		link_delete rxe2 || return
	fi
	n2 ip link del dummy1
	[ "$(udp_sockets ns1)" -eq 0 ] && [ "$(udp_sockets ns2)" -eq 0 ] || bad "sockets left"
}
moved_sockets() { [ "$(udp_sockets ns2)" -ge 1 ] && [ "$(udp_sockets ns1)" -eq 0 ]; }

no_ipv6() {
	n1 sysctl -qw net.ipv6.conf.all.disable_ipv6=1 || { skip "no IPv6 here"; return; }
	link_add ns1 rxe0 veth0 || return
	eventually gid_has rxe0 ffff:0a01:0001 || bad "no GID for IPv4 without IPv6" || return
	link_delete rxe0
	n1 sysctl -qw net.ipv6.conf.all.disable_ipv6=0
}

unload_with_devices() {
	link_add ns1 rxe0 veth0 && link_add ns2 rxe1 veth1 || return
	# The module may refuse, or take its devices with it.
	if timeout "$PATIENCE" modprobe -r rdma_rxe; then
		device_gone rxe0 && device_gone rxe1 || bad "devices outlive their driver"
	else
		link_delete rxe0 && link_delete rxe1 && driver_unload || return
	fi
	driver_load
}

all_gone() { net_down; driver_unload; }

check setup eval 'driver_load && net_up'
for case in add_delete no_such_netdev no_such_link loopback vlan_refused type_refused duplicate_name \
	netdev_in_use several sockets port_taken down_up mtu rename addresses \
	netdev_deleted namespace_deleted namespace_move unload_with_devices no_ipv6; do
	check "${case//_/-}" "$case"
	# A failed case must not spoil the next one.
	for dev in /sys/class/infiniband/*; do
		[ ! -e "$dev" ] || rdma link delete "${dev##*/}"
	done
	n1 ip link del dummy1 2>/dev/null
done
check clean all_gone
