# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# nfs-long.sh - NFS over RDMA, server and client in this kernel: large requests as READs and
# WRITEs that the server makes of the client's memory. Both live in the initial namespace, and
# what they send to each other goes over the wire (net_up_here in lib.sh). The programs are
# Debian's, unpacked in NFS_ROOT.

DIR=/tmp/nfs
EXPORT=$DIR/export
MOUNT=$DIR/mount

# nfs PROGRAM ARGS...
nfs() {
	local program=$NFS_ROOT/usr/sbin/$1

	# Debian 12 still has two directories
	[ -e "$program" ] || program=$NFS_ROOT/sbin/$1
	LD_LIBRARY_PATH=$NFS_ROOT/usr/lib/x86_64-linux-gnu timeout "$PATIENCE" "$program" "${@:2}"
}

modules() {
	local module

	command -v fio >/dev/null || { skip "no fio here"; return; }
	for module in nfsd nfsv4 rpcrdma; do
		modprobe -qn "$module" || { skip "this kernel has no $module"; return; }
	done
	modprobe nfsd && modprobe nfsv4 && modprobe rpcrdma || bad "a module does not load"
}

topology() {
	driver_load && net_up_here || return
	link_add ns1 rxe0 veth0 && link_add ns2 rxe1 veth1 || return
	eventually port_is rxe0 ACTIVE && eventually port_is rxe1 ACTIVE || bad "ports are not active"
}

serve() {
	mkdir -p $EXPORT $MOUNT /var/lib/nfs/v4recovery /var/lib/nfs/nfsdcld && mount -t tmpfs export $EXPORT &&
		mount -t nfsd nfsd /proc/fs/nfsd || bad "cannot mount" || return
	[ -e /etc/netconfig ] || cp "$NFS_ROOT/etc/netconfig" /etc/
	head -c 5000001 /dev/urandom >$EXPORT/there
	# nobody was there before, who would claim what he had
	echo 10 >/proc/fs/nfsd/nfsv4leasetime
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	echo "$EXPORT 10.1.0.0/24(rw,sync,fsid=0,no_root_squash,insecure,no_subtree_check)" >/etc/exports
	: >/var/lib/nfs/etab
	nfs exportfs -ra && nfs rpc.mountd -N 2 -N 3 && nfs rpc.nfsd -N 3 4 || bad "the server does not start" || return
	echo 'rdma 20049' >/proc/fs/nfsd/portlist && grep -qx 'rdma 20049' /proc/fs/nfsd/portlist ||
		bad "the server does not listen by RDMA: $(tr '\n' ' ' </proc/fs/nfsd/portlist)"
}

connect() {
	nfs mount.nfs4 10.1.0.1:/ $MOUNT -o vers=4.2,proto=rdma,port=20049,clientaddr=10.1.0.2 ||
		bad "mount: status $?" || return
	grep " $MOUNT " /proc/mounts | grep 'proto=rdma' || bad "not by RDMA: $(grep " $MOUNT " /proc/mounts)"
}

# What the server has comes, what is written is on the server's file system, and both
# crossed the wire.
contents() {
	local size before0 before1

	before0=$(arrived veth0) before1=$(arrived veth1)
	timeout "$PATIENCE" cmp $EXPORT/there $MOUNT/there || bad "other bytes come from the server" || return
	for size in 1 4097 300000 8000001; do
		head -c "$size" /dev/urandom >$DIR/data
		timeout "$PATIENCE" dd if=$DIR/data of=$MOUNT/"new-$size" bs=1M conv=fsync status=none ||
			bad "writing $size bytes: status $?" || return
		cmp $DIR/data $EXPORT/"new-$size" || bad "other bytes on the server, of $size" || return
	done
	[ $(($(arrived veth1) - before1)) -ge 5000001 ] && [ $(($(arrived veth0) - before0)) -ge 8304099 ] ||
		bad "they did not cross the wire: $(($(arrived veth0) - before0)) and $(($(arrived veth1) - before1)) bytes"
}

fio_verify() {
	timeout $((PATIENCE * 3)) fio --name=verify --filename=$MOUNT/fio --ioengine=libaio \
		--direct=1 --rw=randwrite --bsrange=512-1m --blockalign=512 --iodepth=16 --size=24M \
		--verify=crc32c --verify_fatal=1 --do_verify=1 --randseed=1 ||
		bad "fio: status $?" || return
	grep -q 'err= 0' "$CASE_LOG" || bad "fio does not say err= 0"
}

# The link is down for two seconds in the middle of it: the client waits, connects anew if
# it must, and nothing is lost.
carrier() {
	head -c 30000000 /dev/urandom >$DIR/data
	timeout $((PATIENCE * 3)) dd if=$DIR/data of=$MOUNT/carrier bs=64k conv=fsync status=none &
	local writer=$!

	sleep 0.3
	ip link set veth1 down
	sleep 2
	ip link set veth1 up
	# what went with the link
	ip -4 route replace 10.1.0.1 dev veth1 src 10.1.0.2 table 101
	ip neigh replace 10.1.0.1 dev veth1 lladdr "$(cat /sys/class/net/veth0/address)" nud permanent
	ip neigh replace 10.1.0.2 dev veth0 lladdr "$(cat /sys/class/net/veth1/address)" nud permanent
	wait $writer || bad "writing: status $?" || return
	cmp $DIR/data $EXPORT/carrier || bad "other bytes on the server"
}

unmount() {
	timeout "$PATIENCE" umount $MOUNT || bad "cannot unmount"
}

clean_up() {
	echo 0 >/proc/fs/nfsd/threads || bad "the server does not end" || return
	pkill rpc.mountd
	nfs exportfs -ua
	umount $EXPORT /proc/fs/nfsd || bad "the server's file system is in use" || return
	rm -rf $DIR
	link_delete rxe0 && link_delete rxe1 && net_down || return
	modprobe -r rpcrdma && driver_unload || bad "a module cannot be unloaded"
}

check modules modules || return
check setup topology || return
if check serve serve && check connect connect; then
	check contents contents
	check fio-verify fio_verify
	check carrier carrier
	check unmount unmount
fi
check clean clean_up
