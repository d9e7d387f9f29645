# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# consumers-long.sh - users in the kernel other than NVMe: SRP, a SCSI disk with target
# and initiator in this kernel. Both live in the initial namespace, where they look for
# their devices, and what they send to each other goes over the wire (net_up_here in
# lib.sh):
#
#	+---------------------+              +---------------------+
#	| rxe0 on veth0       |==== veth ====| rxe1 on veth1       |
#	| 10.1.0.1 ib_srpt    |              | 10.1.0.2 ib_srp     |
#	+---------------------+              +---------------------+

TARGET=/sys/kernel/config/target
MODULES=(target_core_mod target_core_iblock ib_srp ib_srpt)

modules() {
	local module

	command -v fio >/dev/null || { skip "no fio here"; return; }
	for module in brd "${MODULES[@]}"; do
		modprobe -qn "$module" || { skip "this kernel has no $module"; return; }
	done
}

# The target: a RAM disk, for the initiator; ib_srpt takes the address that the initiator
# has connected to for its name
srp_export() {
	local guid tpg

	modprobe brd rd_nr=1 rd_size=65536 && modprobe -a "${MODULES[@]}" || bad "a module does not load" || return
	modprobe -q sd_mod
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config ||
		bad "no configfs" || return
	mkdir -p $TARGET/srpt || bad "no configfs of ib_srpt" || return
	[ -e $TARGET/srpt/discovery_auth/rdma_cm_port ] ||
		{ rmdir $TARGET/srpt; skip "ib_srpt of this kernel knows no rdma_cm"; return; }
	echo 5555 >$TARGET/srpt/discovery_auth/rdma_cm_port || bad "no port of rdma_cm" || return
	mkdir -p $TARGET/core/iblock_0/ram && echo udev_path=/dev/ram0 >$TARGET/core/iblock_0/ram/control &&
		echo 1 >$TARGET/core/iblock_0/ram/enable || bad "no backstore" || return
	guid=$(cat /sys/class/infiniband/rxe0/node_guid)
	tpg=$TARGET/srpt/$guid/$guid
	mkdir -p "$tpg/lun/lun_0" && ln -s $TARGET/core/iblock_0/ram "$tpg/lun/lun_0/ram" &&
		mkdir -p "$tpg/acls/10.1.0.1/lun_0" && ln -s "$tpg/lun/lun_0" "$tpg/acls/10.1.0.1/lun_0/lun" &&
		echo 1 >"$tpg/enable" || bad "no target port"
}

srp_disk() { basename "$(find /sys/class/infiniband_srp/srp-rxe1-1/device/ /sys/devices/rxe-link*/ -path '*/block/sd*' -prune 2>/dev/null | head -n 1)"; }
srp_has_disk() { [ -b "/dev/$(srp_disk)" ]; }

srp_login() {
	local guid

	guid=$(tr -d : </sys/class/infiniband/rxe0/node_guid)
	echo "id_ext=$guid,ioc_guid=$guid,src=10.1.0.2,dest=10.1.0.1:5555" \
		>/sys/class/infiniband_srp/srp-rxe1-1/add_target ||
		bad "login: $(dmesg | tail -n 1)" || return
	eventually srp_has_disk || bad "no disk"
}

# Random bytes written through the disk are those on the RAM disk, and come back.
srp_compare() {
	local disk size count=$1

	disk=/dev/$(srp_disk)
	shift
	for size in "$@"; do
		dd if=/dev/urandom of=/tmp/srp.data bs="$size" count="$count" status=none &&
			timeout "$PATIENCE" dd if=/tmp/srp.data of="$disk" bs="$size" oflag=direct status=none ||
			bad "writing in pieces of $size: status $?" || return
		# as no page of the RAM disk has been read before
		dd if=/dev/ram0 of=/tmp/srp.back bs="$size" count="$count" iflag=direct status=none &&
			cmp /tmp/srp.data /tmp/srp.back || bad "other bytes on the disk, in pieces of $size" || return
		timeout "$PATIENCE" dd if="$disk" of=/tmp/srp.back bs="$size" count="$count" iflag=direct status=none ||
			bad "reading in pieces of $size: status $?" || return
		cmp /tmp/srp.data /tmp/srp.back || bad "other bytes come back, in pieces of $size" || return
	done
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

srp_unexport() {
	local guid tpg

	guid=$(cat /sys/class/infiniband/rxe0/node_guid)
	tpg=$TARGET/srpt/$guid/$guid
	echo 0 >"$tpg/enable"
	rm -f "$tpg/acls/10.1.0.1/lun_0/lun" "$tpg/lun/lun_0/ram"
	rmdir "$tpg/acls/10.1.0.1/lun_0" "$tpg/acls/10.1.0.1" "$tpg/lun/lun_0" "$tpg" "${tpg%/*}" \
		$TARGET/srpt $TARGET/core/iblock_0/ram $TARGET/core/iblock_0 || bad "configfs"
}

clean_up() {
	# not if this kernel cannot export
	[ ! -d $TARGET/srpt ] || srp_unexport || return
	rm -f /tmp/srp.data /tmp/srp.back
	link_delete rxe0 && link_delete rxe1 || return
	modprobe -r ib_srpt target_core_iblock brd || bad "a module cannot be unloaded" || return
	net_down
	driver_unload
}

check modules modules || return
check setup setup net_up_here || return
check srp-export srp_export && check srp-login srp_login && check srp-small-pieces srp_compare 200 512 4096 &&
	check srp-large-pieces srp_compare 8 65536 1048576 && check srp-verify srp_verify && check crossed crossed 24
check srp-logout srp_logout
check clean clean_up
