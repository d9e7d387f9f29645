# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# parameters.sh - devices made and removed by module parameters, where the RDMA
# core has no commands of its own, and the rdma tool served by the driver there.

PARAMETERS=/sys/module/rdma_rxe/parameters

# put NS PARAMETER VALUE: write, as somebody in that namespace would
put() { ip netns exec "$1" sh -c "echo '$3' >$PARAMETERS/$2"; }

# refused PATTERN NS PARAMETER VALUE: the write fails with that error
refused() {
	local pattern=$1 text

	# dash says "I/O error" whatever it was
	text=$(ip netns exec "$2" bash -c "echo '$4' >$PARAMETERS/$3" 2>&1) &&
		{ bad "'$4' to $3 is accepted"; return; }
	echo "$text"
	grep -qi -- "$pattern" <<<"$text" || bad "'$4' to $3 says '$text', not '$pattern'"
}

by_name() {
	put ns1 add 'veth0 rxe5' || bad "add fails" || return
	device_exists rxe5 || bad "no device rxe5" || return
	eventually port_is rxe5 ACTIVE || bad "port $(port_state rxe5)" || return
	put ns2 remove rxe5 || bad "remove fails" || return
	device_gone rxe5 || bad "rxe5 is still there"
}

numbered() {
	put ns1 add veth0 && put ns2 add veth1 || bad "add fails" || return
	device_exists rxe0 && device_exists rxe1 || bad "no rxe0 and rxe1" || return
	# by the netdev, in its namespace
	refused 'no such device' ns1 remove veth1 || return
	put ns2 remove veth1 || bad "remove veth1 fails" || return
	device_gone rxe1 && device_exists rxe0 || bad "the wrong device went" || return
	put ns1 remove all || bad "remove all fails" || return
	device_gone rxe0 || bad "rxe0 is still there"
}

errors() {
	refused 'no such device' ns1 add nothere0 || return
	refused 'no such device' ns1 remove rxe9 || return
	refused 'invalid' ns1 add 'veth0 roce0' || return
	dmesg | grep -q 'roce0.*begin with "rxe"' || bad "the log does not say why roce0 is refused" || return
	refused 'invalid' ns1 add "$(printf 'x%.0s' {1..200})" || return
	refused 'invalid\|no such' ns1 add '' || return
	put ns1 add veth0 || bad "add fails" || return
	refused 'exist' ns1 add 'veth0 rxe7' || return
	put ns1 remove all
}

unprivileged() {
	put ns1 add veth0 || return
	! setpriv --reuid 65534 --clear-groups --inh-caps=-all sh -c "echo all >$PARAMETERS/remove" 2>/dev/null ||
		bad "everybody may remove devices" || return
	expect_error 'not permitted' setpriv --reuid 65534 --clear-groups --inh-caps=-all \
		rdma link delete rxe0 || return
	device_exists rxe0 || bad "everybody may remove devices" || return
	put ns1 remove all
}

# says PATTERN COMMAND...
says() {
	local pattern=$1 text

	shift
	text=$("$@" 2>&1) || bad "'$*' fails: $text" || return
	echo "$text"
	grep -qE -- "$pattern" <<<"$text" || bad "'$*' says '$text', not '$pattern'"
}

# The stock tool, in the initial namespace and in others.
rdma_tool() {
	n1 rdma link add rxe0 type rxe netdev veth0 || bad "rdma link add fails" || return
	says 'link rxe0/1 state ACTIVE physical_state LINK_UP netdev veth0' n1 rdma link show || return
	says 'link rxe0/1 state ACTIVE' rdma link show rxe0/1 || return
	! rdma link show | grep netdev || bad "a netdev of another namespace is shown" || return
	says 'rxe0.*node_type ca.*fw .*node_guid' n1 rdma dev || return
	says 'rxe0' rdma -d dev show rxe0 || return
	says 'netdev veth0' n1 rdma -d link show rxe0/1 || return
	says 'rxe0: .*pd [0-9]+ .*qp [0-9]+' n2 rdma resource show || return
	says 'netns shared' n2 rdma system || return
	expect_error 'exist' n2 rdma link add rxe0 type rxe netdev veth1 || return
	expect_error 'invalid|not supported' n2 rdma link add rxe1 type siw netdev veth1 || return
	expect_error 'invalid' n2 rdma link add roce1 type rxe netdev veth1 || return
	n2 rdma link delete rxe0 || bad "rdma link delete fails" || return
	device_gone rxe0 || bad "rxe0 is still there"
}

# The namespaces and their sockets come and go while the driver is loaded.
namespaces() {
	local i

	for i in 1 2 3; do
		ip netns add "late$i" && ip netns exec "late$i" rdma link show &&
			ip netns del "late$i" ||
			bad "no rdma tool in a new namespace" || return
	done
}

driver_load || bad "no driver"
if [ ! -e $PARAMETERS/add ]; then
	check all skip "the RDMA core of this kernel has commands of its own"
	check clean driver_unload
else
	check setup net_up
	for case in by_name numbered errors unprivileged rdma_tool namespaces; do
		check "${case//_/-}" "$case"
		echo all >$PARAMETERS/remove
	done
	check clean eval 'net_down; driver_unload'
fi
