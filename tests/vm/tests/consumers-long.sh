# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# consumers-long.sh - users in the kernel other than NVMe: SRP, a SCSI disk with target
# and initiator in this kernel. Both live in the initial namespace, and as the target's
# address is this machine's own, both use its device:
#
#	+----------------------------+              +-------+
#	| rxe0 on veth0, 10.9.0.1    |==== veth ====| veth1 |
#	| target and initiator       |              |       |
#	+----------------------------+              +-------+

TARGET=/sys/kernel/config/target

topology() {
	driver_load && modprobe -q rdma_cm || return
	ip link add veth0 mtu "$VETH_MTU" type veth peer name veth1 mtu "$VETH_MTU" &&
		ip addr add 10.9.0.1/24 dev veth0 && ip link set veth0 up && ip link set veth1 up ||
		bad "no veth pair" || return
	rdma link add rxe0 type rxe netdev veth0 || bad "rdma link add fails" || return
	eventually port_is rxe0 ACTIVE || bad "the port is not active"
}

have() {
	local module

	for module; do
		modprobe -qn "$module" || { skip "this kernel has no $module"; return; }
	done
	modprobe -a "$@" || bad "a module does not load"
}

# The target: a RAM disk, for the initiator
srp_export() {
	local guid tpg

	have brd target_core_mod target_core_iblock ib_srp || return
	modprobe ib_srpt || bad "ib_srpt does not load" || return
	modprobe -q sd_mod
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config ||
		bad "no configfs" || return
	mkdir -p $TARGET/srpt && echo 5555 >$TARGET/srpt/discovery_auth/rdma_cm_port || bad "no port of rdma_cm" || return
	mkdir -p $TARGET/core/iblock_0/ram && echo udev_path=/dev/ram0 >$TARGET/core/iblock_0/ram/control &&
		echo 1 >$TARGET/core/iblock_0/ram/enable || bad "no backstore" || return
	guid=$(cat /sys/class/infiniband/rxe0/node_guid)
	tpg=$TARGET/srpt/$guid/$guid
	mkdir -p "$tpg/lun/lun_0" && ln -s $TARGET/core/iblock_0/ram "$tpg/lun/lun_0/ram" &&
		mkdir -p "$tpg/acls/10.9.0.1/lun_0" && ln -s "$tpg/lun/lun_0" "$tpg/acls/10.9.0.1/lun_0/lun" &&
		echo 1 >"$tpg/enable" || bad "no target port"
}

srp_disk() { basename "$(find /sys/class/infiniband_srp/srp-rxe0-1/device/ /sys/devices/rxe-link*/ -path '*/block/sd*' -prune 2>/dev/null | head -n 1)"; }
srp_has_disk() { [ -b "/dev/$(srp_disk)" ]; }

srp_login() {
	local guid

	guid=$(tr -d : </sys/class/infiniband/rxe0/node_guid)
	echo "id_ext=$guid,ioc_guid=$guid,dest=10.9.0.1:5555" \
		>/sys/class/infiniband_srp/srp-rxe0-1/add_target ||
		bad "login: $(dmesg | tail -n 1)" || return
	eventually srp_has_disk || bad "no disk"
}

srp_verify() {
	timeout $((PATIENCE * 5)) fio --name=verify --filename="/dev/$(srp_disk)" --ioengine=libaio \
		--direct=1 --rw=randwrite --bsrange=512-128k --blockalign=512 --iodepth=16 --size=24M \
		--verify=crc32c --verify_fatal=1 --do_verify=1 --randseed=1 ||
		bad "fio: status $?" || return
	grep -q 'err= 0' "$CASE_LOG" || bad "fio does not say err= 0"
}

srp_logout() {
	modprobe -r ib_srp || bad "ib_srp cannot be unloaded" || return
	! srp_has_disk || bad "the disk is still there"
}

clean_up() {
	local guid tpg

	guid=$(cat /sys/class/infiniband/rxe0/node_guid)
	tpg=$TARGET/srpt/$guid/$guid
	echo 0 >"$tpg/enable"
	rm -f "$tpg/acls/10.9.0.1/lun_0/lun" "$tpg/lun/lun_0/ram"
	rmdir "$tpg/acls/10.9.0.1/lun_0" "$tpg/acls/10.9.0.1" "$tpg/lun/lun_0" "$tpg" "${tpg%/*}" \
		$TARGET/srpt $TARGET/core/iblock_0/ram $TARGET/core/iblock_0 || bad "configfs" || return
	link_delete rxe0 || return
	modprobe -r ib_srpt target_core_iblock brd || bad "a module cannot be unloaded" || return
	ip link del veth0 && driver_unload
}

check setup topology || return
check srp-export srp_export && check srp-login srp_login && check srp-verify srp_verify
check srp-logout srp_logout
check clean clean_up
