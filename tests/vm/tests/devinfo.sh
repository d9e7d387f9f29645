# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# devinfo.sh - what the device says about itself.

# field NAME: of ibv_devinfo -v
field() { awk -v n="$1:" '$1 == n { print $2; exit }' "$CASE_LOG.info"; }
at_least() { [ "$(field "$1")" -ge "$2" ] 2>/dev/null || bad "$1 is '$(field "$1")', less than $2"; }
is() { [ "$(field "$1")" = "$2" ] || bad "$1 is '$(field "$1")', not $2"; }

devinfo() {
	ibv_devinfo -v -d rxe0 >"$CASE_LOG.info" || bad "ibv_devinfo fails" || return
	cat "$CASE_LOG.info"
	is hca_id rxe0 && is transport InfiniBand && is phys_port_cnt 1 && is link_layer Ethernet &&
		is state PORT_ACTIVE && is max_mtu 4096 && is active_mtu 4096 &&
		is atomic_cap ATOMIC_HCA &&
		at_least max_qp 1000 && at_least max_cq 1000 && at_least max_mr 1000 &&
		at_least max_pd 1000 && at_least max_qp_wr 1024 && at_least max_cqe 1024 &&
		at_least max_sge 16 && at_least max_qp_rd_atom 16
}

gid_table() {
	local kind

	for kind in v4 v6 ll; do
		gid_index rxe0 $kind || bad "no RoCE v2 GID of kind $kind" || return
	done
	ibv_devinfo -v -d rxe0 | grep GID || bad "ibv_devinfo shows no GID"
}

netlink() {
	rdma link show rxe0/1 | grep 'state ACTIVE' || bad "rdma link does not show rxe0 as active" || return
	rdma -d dev show rxe0 || bad "rdma dev does not show rxe0"
}

# Traffic shows in the counters, in sysfs and in the rdma tool.
counters() {
	local sent packets

	pingpong -n 50 || return
	sent=$(counter rxe0 sent_pkts)
	[ "$sent" -ge 50 ] && [ "$(counter rxe1 rcvd_pkts)" -ge 50 ] ||
		bad "sent_pkts of rxe0 is $sent, rcvd_pkts of rxe1 $(counter rxe1 rcvd_pkts) after 50 messages" || return
	packets=$(rdma statistic show link rxe0/1 | grep -o 'sent_pkts [0-9]*')
	[ "${packets#* }" -ge "$sent" ] || bad "rdma statistic says '$packets', sysfs $sent" || return
	[ "$(counter rxe0 icrc_errors)" = 0 ] || bad "icrc_errors is $(counter rxe0 icrc_errors)"
}

bad_device() { expect_error 'not found|no' ibv_devinfo -d nothere0; }

check setup setup
check devinfo devinfo
check gids gid_table
check netlink netlink
check counters counters
check no-such-device bad_device
check clean cleanup_all
