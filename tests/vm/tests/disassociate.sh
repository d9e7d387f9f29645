# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# disassociate.sh - a device goes while a process has it open, with objects of each
# kind and rings that it uses (tests/vm/programs/holder.c). Going works at once; the process gets
# an event, uses what it still has, and ends by itself.

says() { grep -qx "$1" "$CASE_LOG.holder"; }
says_or_ended() { says "$1" || ! kill -0 "$HOLDER" 2>/dev/null; }

# held COMMAND...: it succeeds while the holder has rxe0 open
held() {
	local status=0

	setup || return
	stdbuf -oL "$PROGRAMS/holder" rxe0 "$(gid_index rxe0 v4)" >"$CASE_LOG.holder" 2>&1 &
	HOLDER=$!
	eventually says_or_ended ready
	says ready || bad "the process is not ready: $(tail -n 1 "$CASE_LOG.holder")" || return
	"$@" || status=1
	eventually says_or_ended ended
	cat "$CASE_LOG.holder"
	says fatal || bad "no fatal event: $(tail -n 1 "$CASE_LOG.holder")" || status=1
	says ended || bad "the process has not ended: $(tail -n 1 "$CASE_LOG.holder")" || status=1
	[ $status -eq 0 ] || kill -9 $HOLDER
	wait $HOLDER || bad "status of the process: $?" || status=1
	[ $status -eq 0 ] && cleanup_all
}

rdma_link_delete() {
	link_delete rxe0 && device_gone rxe0 || bad "rxe0 is still there"
}

netdev_delete() {
	n1 timeout "$PATIENCE" ip link del veth0 || bad "ip link del: status $?" || return
	eventually device_gone rxe0 || bad "rxe0 outlives its netdev"
}

namespace_delete() {
	timeout "$PATIENCE" ip netns del ns1 || bad "ip netns del: status $?" || return
	eventually device_gone rxe0 || bad "rxe0 outlives its namespace"
}

# Open contexts do not keep the module: the RDMA core takes them away.
module_removal() { driver_unload && driver_load; }

for case in rdma_link_delete netdev_delete namespace_delete module_removal; do
	check "${case//_/-}" held "$case" || fresh_start
done
