# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# devinfo.sh - what the device says about itself.

# shellcheck source=tests/vm/gids.sh
. "$VM/gids.sh"

# field NAME: of ibv_devinfo -v, as it was run last
INFO=$LOGS/devinfo.info
field() { awk -v n="$1:" '$1 == n { print $2; exit }' "$INFO"; }
at_least() { [ "$(field "$1")" -ge "$2" ] 2>/dev/null || bad "$1 is '$(field "$1")', less than $2"; }
is() { [ "$(field "$1")" = "$2" ] || bad "$1 is '$(field "$1")', not $2"; }

devinfo() {
	ibv_devinfo -v -d rxe0 >"$INFO" || bad "ibv_devinfo fails" || return
	cat "$INFO"
	is hca_id rxe0 && is transport InfiniBand && is phys_port_cnt 1 && is link_layer Ethernet &&
		is state PORT_ACTIVE && is max_mtu 4096 && is active_mtu 4096 &&
		is atomic_cap ATOMIC_HCA && has_flag BAD_PKEY_CNTR && has_flag BAD_QKEY_CNTR
}
has_flag() { grep -qw "$1" "$INFO" || bad "no flag $1"; }

# At least what the kernel's own driver promises; of P_Keys there is one, the default one,
# and the kernel's own driver, which says 64, has no more in the port's table.
limits() {
	local name

	is max_pkeys 1 && is max_msg_sz 0x80000000 && is gid_tbl_len 1024 || return
	[ "$(cat /sys/class/infiniband/rxe0/ports/1/pkeys/*)" = 0xffff ] ||
		bad "P_Keys: $(cat /sys/class/infiniband/rxe0/ports/1/pkeys/*)" || return

	for name in max_qp=1048560 max_qp_wr=1048576 max_sge=32 max_sge_rd=32 max_cq=1048576 max_cqe=32767 \
		max_mr=524286 max_mw=524286 max_pd=1048576 max_ah=32767 max_srq=917503 max_srq_wr=1048576 \
		max_srq_sge=27 max_qp_rd_atom=128 max_qp_init_rd_atom=128 max_res_rd_atom=258048 \
		max_mcast_grp=8192 max_mcast_qp_attach=56 max_total_mcast_qp_attach=458752; do
		at_least "${name%=*}" "${name#*=}" || return
	done
}

# EUI-64 of the MAC address: FF FE in the middle, and the "local" bit turned
guid() {
	local mac

	IFS=: read -ra mac < <(n1 cat /sys/class/net/veth0/address)
	mac[0]=$(printf %02x $((0x${mac[0]} ^ 2)))
	is node_guid "${mac[0]}${mac[1]}:${mac[2]}ff:fe${mac[3]}:${mac[4]}${mac[5]}" &&
		is sys_image_guid "$(field node_guid)" && is phys_state LINK_UP && is active_width 1X
}

# A program that watches hears that the port goes down, and comes back.
heard() { grep -q "$1" "$CASE_LOG.watch"; }
asyncwatch() {
	local watch

	stdbuf -oL timeout "$PATIENCE" ibv_asyncwatch -d rxe0 >"$CASE_LOG.watch" 2>&1 &
	watch=$!
	eventually heard 'async event FD' || bad "ibv_asyncwatch does not start" || return
	n2 ip link set veth1 down
	eventually heard IBV_EVENT_PORT_ERR || bad "no port error: $(tail -n 1 "$CASE_LOG.watch")"
	n2 ip link set veth1 up
	eventually heard IBV_EVENT_PORT_ACTIVE || bad "no port active: $(tail -n 1 "$CASE_LOG.watch")"
	kill $watch
	eventually port_is rxe0 ACTIVE || bad "the port stays $(port_state rxe0)"
	! grep -q '^' "$REASON"
}

# port DEVICE FIELD VALUE [FIELD VALUE...]: what it says now
port() {
	ibv_devinfo -v -d "$1" >"$INFO" || bad "ibv_devinfo -d $1 fails" || return
	shift
	while [ $# -gt 0 ]; do
		is "$1" "$2" || return
		shift 2
	done
}

# A netdev that is down is a port that is disabled, one without carrier polls.
port_states() {
	port rxe0 state PORT_ACTIVE phys_state LINK_UP active_speed 10.0 active_width 1X || return
	n2 ip link set veth1 down
	eventually port_is rxe0 DOWN
	port rxe0 state PORT_DOWN phys_state POLLING && port rxe1 state PORT_DOWN phys_state DISABLED || return
	n1 ip link set veth0 down
	port rxe0 state PORT_DOWN phys_state DISABLED || return
	n1 ip link set veth0 up
	n2 ip link set veth1 up
	eventually port_is rxe0 ACTIVE && port rxe0 state PORT_ACTIVE phys_state LINK_UP
}

# The speed is the netdev's, in lanes of the speeds that InfiniBand knows: those of a tap
# device are what it is told.
speeds() {
	local speed wanted width status=0

	modprobe -q tun
	n1 ip tuntap add dev tap7 mode tap || { skip "no tap devices here"; return; }
	link_add ns1 rxe7 tap7 || return
	while read -r speed wanted width; do
		# before 4.13 it fails, and ethtool does not
		n1 ethtool -s tap7 speed "$speed" duplex full && n1 ethtool tap7 | grep -q "Speed: ${speed}Mb/s" ||
			{ skip "tap devices of this kernel have one speed"; status=$?; break; }
		port rxe7 active_speed "$wanted" active_width "$width" || { status=1; break; }
	done <<-END
		1000 2.5 1X
		25000 25.0 1X
		100000 25.0 4X
	END
	link_delete rxe7
	n1 ip link del tap7
	return $status
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
check limits limits
check guid guid
check gids gid_table
check gids-100-more many_gids 100
check netlink netlink
check counters counters
check asyncwatch asyncwatch
check port-states port_states
check speeds speeds
check no-such-device bad_device
check clean cleanup_all
