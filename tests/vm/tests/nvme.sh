# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# nvme.sh - NVMe over RDMA, target and host in this kernel: fast registration, SEND
# with invalidate, rdma_cm, and completion handlers that post. Both live in the
# initial namespace, where they look for their devices, and what they send to each
# other goes over the wire (net_up_here in lib.sh):
#
#	+---------------------+              +---------------------+
#	| rxe0 on veth0       |==== veth ====| rxe1 on veth1       |
#	| 10.1.0.1 nvmet-rdma |              | 10.1.0.2 nvme-rdma  |
#	+---------------------+              +---------------------+
#
# packages: nvme-cli

NVMET=/sys/kernel/config/nvmet
MODULES=(nvmet-rdma nvme-rdma brd)

topology() {
	driver_load && net_up_here || return
	link_add ns1 rxe0 veth0 && link_add ns2 rxe1 veth1 || return
	eventually port_is rxe0 ACTIVE && eventually port_is rxe1 ACTIVE || bad "ports are not active"
}

modules() {
	local module

	command -v fio >/dev/null || { skip "no fio here"; return; }
	command -v nvme >/dev/null || { skip "no nvme here (package nvme-cli)"; return; }
	for module in "${MODULES[@]}"; do
		modprobe -qn "$module" || { skip "this kernel has no $module"; return; }
	done
	modprobe brd rd_nr=1 rd_size=65536 && modprobe nvmet-rdma && modprobe nvme-rdma ||
		bad "a module does not load" || return
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config ||
		bad "no configfs"
}

export_ram() {
	mkdir $NVMET/subsystems/ram && echo 1 >$NVMET/subsystems/ram/attr_allow_any_host &&
		mkdir $NVMET/subsystems/ram/namespaces/1 &&
		printf /dev/ram0 >$NVMET/subsystems/ram/namespaces/1/device_path &&
		echo 1 >$NVMET/subsystems/ram/namespaces/1/enable || bad "no subsystem" || return
	mkdir $NVMET/ports/1 && echo ipv4 >$NVMET/ports/1/addr_adrfam &&
		echo rdma >$NVMET/ports/1/addr_trtype && echo 10.1.0.1 >$NVMET/ports/1/addr_traddr &&
		echo 4420 >$NVMET/ports/1/addr_trsvcid &&
		ln -s $NVMET/subsystems/ram $NVMET/ports/1/subsystems/ram || bad "no port"
}

connect() { # OPTIONS...
	local id=11111111-2222-3333-4444-555555555555

	timeout "$PATIENCE" nvme connect -t rdma -a 10.1.0.1 -w 10.1.0.2 -s 4420 -n ram --nr-io-queues=2 \
		--hostnqn="nqn.2014-08.org.nvmexpress:uuid:$id" --hostid=$id "$@" ||
		bad "nvme connect: status $?: $(dmesg | tail -n 1)" || return
	eventually test -b /dev/nvme0n1 || bad "no /dev/nvme0n1"
}

disconnect() {
	timeout "$PATIENCE" nvme disconnect -n ram || bad "nvme disconnect: status $?" || return
	eventually test ! -e /sys/class/nvme/nvme0 || bad "the controller stays"
}

# Random bytes written through the device are those on the RAM disk, and come back.
verify() {
	local size count=$1

	shift
	for size in "$@"; do
		dd if=/dev/urandom of=/tmp/nvme.data bs="$size" count="$count" status=none &&
			timeout "$PATIENCE" dd if=/tmp/nvme.data of=/dev/nvme0n1 bs="$size" oflag=direct status=none ||
			bad "writing in pieces of $size: status $?" || return
		blockdev --flushbufs /dev/ram0
		cmp -n $((count * size)) /tmp/nvme.data /dev/ram0 ||
			bad "other bytes on the disk, in pieces of $size" || return
		timeout "$PATIENCE" dd if=/dev/nvme0n1 of=/tmp/nvme.back bs="$size" count="$count" iflag=direct status=none ||
			bad "reading in pieces of $size: status $?" || return
		cmp /tmp/nvme.data /tmp/nvme.back || bad "other bytes come back, in pieces of $size" || return
	done
}

# fio with verify: random offsets and lengths, many at a time, each block with a
# checksum and its place in it
fio_verify() { # SIZE
	timeout $((PATIENCE * 3)) fio --name=verify --filename=/dev/nvme0n1 --ioengine=libaio \
		--direct=1 --rw=randwrite --bsrange=512-128k --blockalign=512 --iodepth=16 --size="$1" \
		--verify=crc32c --verify_fatal=1 --do_verify=1 --randseed="${1%M}" ||
		bad "fio: status $?" || return
	grep -q 'err= 0' "$CASE_LOG" || bad "fio does not say err= 0"
}

# The same while the wire loses packets, doubles them and changes their order, both ways:
# requests, capsules with invalidation, READ responses and ACKs. Fewer bytes, as each loss
# costs time.
on_a_bad_wire() {
	local netdev before again status=0

	modprobe -q sch_netem || { skip "no sch_netem here"; return; }
	before=$(($(counter rxe0 retransmitted_packets) + $(counter rxe1 retransmitted_packets)))
	for netdev in veth0 veth1; do
		tc qdisc add dev $netdev root netem limit 10000 loss 1% duplicate 3% delay 3ms 3ms ||
			bad "tc does not take netem" || return
	done
	fio_verify 4M || status=1
	for netdev in veth0 veth1; do
		tc qdisc del dev $netdev root || bad "tc does not let go of netem" || return
	done
	again=$(($(counter rxe0 retransmitted_packets) + $(counter rxe1 retransmitted_packets) - before))
	echo "$again packets were sent again"
	[ $again -gt 0 ] || bad "nothing was sent again" || return
	# The host would mend that, ten seconds later, and fio not notice.
	! dmesg | tac | sed '/rxe-test: /q' | grep 'starting error recovery' ||
		bad "a connection was lost" || return
	return $status
}

# fio with two jobs, then the controller goes in the middle of it: both get errors.
load_ends() { ! kill -0 "$1" 2>/dev/null; }
# packets: the disk of several paths has no statistics of its own on 5.10
done_so_far() { counter rxe1 sent_pkts; }
load_runs() { [ "$(done_so_far)" -gt $(($1 + 500)) ]; }
disconnect_under_load() {
	local before load

	before=$(done_so_far)
	# What stands before the first job is of both. Each of them writes: a disk that is gone
	# has no capacity, so that writes fail, but what only reads finds its end, for ever.
	fio --filename=/dev/nvme0n1 --ioengine=libaio --direct=1 --iodepth=16 --size=60M \
		--time_based --runtime=600 --name=write --rw=randwrite --bs=64k \
		--name=mixed --rw=randrw --bs=4k &
	load=$!
	eventually load_runs "$before" || bad "fio does nothing" || return
	disconnect || return
	eventually load_ends $load || bad "fio hangs after the disconnect" || return
	! wait $load || bad "fio saw no error"
}

clean_up() {
	rm -f $NVMET/ports/1/subsystems/ram /tmp/nvme.data /tmp/nvme.back
	rmdir $NVMET/ports/1 $NVMET/subsystems/ram/namespaces/1 $NVMET/subsystems/ram || bad "configfs" || return
	modprobe -r nvmet-rdma nvme-rdma brd || bad "a module cannot be unloaded" || return
	link_delete rxe0 && link_delete rxe1 && net_down && driver_unload
}

check modules modules || return
check setup topology || return
check export export_ram || return
check connect connect || return
check small-pieces verify 200 512 4096
check large-pieces verify 8 65536 1048576
check fio-verify fio_verify 24M
# what fio has written, and read for each block
check crossed crossed 24
check fio-bad-wire on_a_bad_wire
check disconnect-under-load disconnect_under_load
check connect-again connect --queue-size=16 && check verify-again verify 50 4096 65536
check disconnect disconnect
check clean clean_up
