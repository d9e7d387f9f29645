# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# teardown.sh - things go away under traffic: processes, links, netdevs,
# namespaces, the module. Nothing hangs, nothing stays behind.
#
# Every case starts with a fresh topology, and ends with an unloaded module.

# with_traffic COMMAND [KIND]: while there is traffic over addresses of that kind
with_traffic() {
	setup && traffic_start "${2:-v4}" && "$1" || return
	traffic_kill
	cleanup_all
}

kill_both() {
	kill -9 "$SERVER" "$CLIENT"
	eventually traffic_ended || bad "processes cannot be killed" || return
	no_leaks
}

kill_client() {
	kill -9 "$CLIENT"
	sleep 1
	kill -9 "$SERVER"
	eventually traffic_ended || bad "the server cannot be killed" || return
	no_leaks
}

# The peer vanishes: the client's retries run out, and it ends.
kill_server() {
	kill -9 "$SERVER"
	traffic_dies && no_leaks
}

delete_link_of_client() {
	link_delete rxe1 || return
	device_gone rxe1 || bad "rxe1 is still there" || return
	client_ends
}

delete_link_of_server() {
	link_delete rxe0 || return
	device_gone rxe0 || bad "rxe0 is still there" || return
	client_ends
}

# The server of a write test sees no completion; it may wait for its client.
client_ends() {
	eventually client_ended ||
		bad "the client does not end (state, place: $(ps -o stat=,wchan= -p "$CLIENT")): $(tail -n 1 "$CASE_LOG.client")"
}
client_ended() { ! kill -0 "$CLIENT" 2>/dev/null; }

delete_netdev() {
	n1 timeout "$PATIENCE" ip link del veth0 || bad "ip link del: status $?" || return
	eventually device_gone rxe0 && eventually device_gone rxe1 || bad "devices outlive their netdevs" || return
	client_ends
}

# A device does not move with its netdev.
move_netdev() {
	n2 timeout "$PATIENCE" ip link set veth1 netns ns1 || bad "ip link set netns: status $?" || return
	eventually device_gone rxe1 || bad "rxe1 outlives its netdev in that namespace" || return
	client_ends
}

delete_namespace() {
	timeout "$PATIENCE" ip netns del ns2 || bad "ip netns del: status $?" || return
	eventually device_gone rxe1 || bad "rxe1 outlives its namespace" || return
	# the other end of the pair goes with it
	eventually device_gone rxe0 || bad "rxe0 outlives its netdev" || return
	client_ends
}

netdev_down() {
	n1 ip link set veth0 down
	traffic_kill
	no_leaks
}

# A core that makes links takes devices away from the processes that use them, and lets the
# module go. An older one may refuse, at once, and then the traffic goes on.
remove_module() {
	local status=0

	timeout "$PATIENCE" modprobe -r rdma_rxe || status=$?
	[ $status -ne 124 ] || bad "modprobe -r hangs" || return
	if [ $status -eq 0 ]; then
		client_ends
		return
	fi
	! core_makes_links ||
		bad "modprobe -r: status $status, refcnt $(cat /sys/module/rdma_rxe/refcnt 2>&1)" || return
	kill -0 "$CLIENT" || bad "a refused modprobe -r ended the traffic"
}

# many short lives, cut off at different points
killed_early() {
	local i

	setup || return
	for i in 1 2 3 4 5 6; do
		traffic_start || return
		sleep "0.$((i * 3 % 10))"
		traffic_kill
	done
	no_leaks && cleanup_all
}

for case in kill_both kill_client kill_server netdev_down remove_module delete_link_of_client \
	delete_link_of_server delete_netdev move_netdev delete_namespace; do
	# A failed case must not spoil the next one.
	check "${case//_/-}" with_traffic "$case" || fresh_start
done
# What goes from below the port itself, and takes the addresses along
for case in netdev_down delete_link_of_client delete_netdev delete_namespace; do
	if has_ipv6; then
		check "${case//_/-}-ipv6" with_traffic "$case" v6 || fresh_start
	else
		check "${case//_/-}-ipv6" skip "this kernel has no IPv6"
	fi
done
check killed-early killed_early || fresh_start
