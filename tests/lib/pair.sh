# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# pair.sh - two network namespaces, joined by a veth pair, and an RDMA device on each of
# its ends, on the kernel that runs here, be it a guest's or this machine's own:
#
#	$NS1  rxe0 on veth0 10.1.0.1 ==== veth ==== 10.1.0.2 rxe1 on veth1  $NS2
#
# Sourced after common.sh. Whoever does has a function "step", which says what comes
# next, and sets NS1 and NS2 to names that do not collide with anybody's on a machine of
# their own.

VM=$TOP/tests/vm
PAIR_MTU=4500
PAIR_PACKAGES=(iproute2 rdma-core ibverbs-utils perftest)

n1() { ip netns exec "$NS1" "$@"; }
n2() { ip netns exec "$NS2" "$@"; }

# pair_up: sets GID0 and GID1, indexes of the GIDs of the addresses
pair_up() {
	step "two network namespaces, joined by a veth pair"
	ip netns add "$NS1" && ip netns add "$NS2" &&
		ip link add veth0 mtu "$PAIR_MTU" netns "$NS1" type veth \
			peer name veth1 mtu "$PAIR_MTU" netns "$NS2" &&
		n1 ip addr add 10.1.0.1/24 dev veth0 && n2 ip addr add 10.1.0.2/24 dev veth1 &&
		n1 ip link set lo up && n2 ip link set lo up &&
		n1 ip link set veth0 up && n2 ip link set veth1 up ||
		die "cannot make the namespaces; does this kernel have CONFIG_NET_NS and CONFIG_VETH?"
	step "rdma link add rxe0 type rxe netdev veth0"
	n1 rdma link add rxe0 type rxe netdev veth0 ||
		die "rdma link add rxe0 failed; the reason is in the kernel log: dmesg | tail"
	step "rdma link add rxe1 type rxe netdev veth1"
	n2 rdma link add rxe1 type rxe netdev veth1 ||
		die "rdma link add rxe1 failed; the reason is in the kernel log: dmesg | tail"
	# shellcheck disable=SC2034 # for who sources this
	GID0=$(wait_gid rxe0 ffff:0a01:0001) && GID1=$(wait_gid rxe1 ffff:0a01:0002) ||
		die "the devices have no GID of their IPv4 address; see: rdma link; ibv_devinfo -v"
}

# wait_gid DEVICE END: index of its RoCE v2 GID that ends so
wait_gid() {
	local dir=/sys/class/infiniband/$1/ports/1 i n

	for ((n = 0; n < 100; n++)); do
		for i in 0 1 2 3 4 5 6 7; do
			if grep -qs ":$2\$" "$dir/gids/$i" && grep -qs 'RoCE v2' "$dir/gid_attrs/types/$i" &&
				grep -qs ACTIVE "$dir/state"; then
				echo "$i"
				return
			fi
		done
		sleep 0.2
	done
	return 1
}

# ---- in a guest ------------------------------------------------------------------

# guest_module KERNEL: sets "module", built for it
guest_module() {
	local version

	need_root "booting a guest with this machine's root file system"
	need_packages "${BUILD_PACKAGES[@]}" "${VM_PACKAGES[@]}"
	step "fetching the kernel ($1), if it is not in the cache"
	"$VM/kernels" get "$1" >/dev/null || die "kernel $1 cannot be had (above)"
	version=$("$VM/kernels" field "$1" version) || die "kernel $1 is incomplete; remove it from $CACHE/kernels"
	[ -n "$("$VM/kernels" field "$1" image)" ] ||
		die "kernel $version has headers only, no image is packaged; choose another: --kernel 7.x"
	step "building the module for Linux $version"
	module=$("$VM/kernels" build "$1") || die "the module cannot be built (above)"
	step "booting Linux $version in a QEMU guest"
}

# guest_load: in the guest, what it was booted with
guest_load() {
	# What udev does for a new RDMA device; the newer cores do it themselves.
	modprobe -q ib_uverbs
	modprobe rdma_rxe || die "the module does not load: $(dmesg | tail -n 3)"
	grep -q O /sys/module/rdma_rxe/taint ||
		die "the kernel's own rdma_rxe was loaded instead of ours; please report this"
}

# ---- on this machine ---------------------------------------------------------------

# host_load PACKAGE...: builds the module and loads it. From then on the script undoes
# what it did when it ends, with host_down.
host_load() {
	local module m dependencies text

	loaded='' before=''
	need_root "loading a module"
	[ -e /proc/modules ] ||
		die "this machine's kernel takes no modules; leave out --host, to use a guest"
	[ ! -e /sys/module/rdma_rxe ] ||
		die "an rdma_rxe is loaded already; unload it first: rdma link; rdma link delete NAME; modprobe -r rdma_rxe"
	for m in rxe0 rxe1; do
		[ ! -e "/sys/class/infiniband/$m" ] || die "there is an RDMA device $m already; rename it first: rdma dev set $m name OTHER"
	done
	for m in "$NS1" "$NS2"; do
		[ ! -e "/run/netns/$m" ] || die "there is a network namespace $m already; delete it first: ip netns del $m"
	done
	need_packages "${BUILD_PACKAGES[@]}" "${PAIR_PACKAGES[@]}" "$@"
	if [ ! -e "/lib/modules/$(uname -r)/build/Makefile" ] && has_apt &&
		apt-cache show "linux-headers-$(uname -r)" >/dev/null 2>&1; then
		need_packages "linux-headers-$(uname -r)"
	fi
	step "building the module for Linux $(uname -r)"
	module=$("$VM/kernels" build host) || die "leave out --host, to use a guest"
	dependencies=$(modinfo -F depends "$module" | tr ',' ' ')
	before=$(awk '{ print $1 }' /proc/modules)
	trap host_down EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	step "loading it"
	for m in $dependencies ib_uverbs veth; do
		modprobe -q "$m"
	done
	text=$(insmod "$module" 2>&1) || case $text in
	*[Kk]ey*) die "the kernel takes signed modules only (Secure Boot): sign $module, or leave out --host, to use a guest" ;;
	*) die "$text; see dmesg | tail, or leave out --host, to use a guest" ;;
	esac
	loaded=1
}

# host_down: undo, newest first; safe to call at any point
host_down() {
	local dev m ns pids

	trap '' INT TERM HUP
	trap - EXIT
	step "undoing"
	for ns in "$NS1" "$NS2"; do
		pids=$(ip netns pids "$ns" 2>/dev/null)
		# shellcheck disable=SC2086 # process ids
		[ -z "$pids" ] || kill -9 $pids 2>/dev/null
	done
	if [ -n "$loaded" ]; then
		for dev in rxe0 rxe1; do
			[ ! -e "/sys/class/infiniband/$dev" ] || rdma link delete "$dev"
		done
	fi
	[ -z "$loaded" ] || for ns in "$NS1" "$NS2"; do
		[ ! -e "/run/netns/$ns" ] || ip netns del "$ns"
	done
	[ -z "$loaded" ] || rmmod rdma_rxe || note "rmmod rdma_rxe failed; when nothing uses it any more: rmmod rdma_rxe"
	# What came with it, users first; veth stays, others may use it by now.
	for _ in 1 2 3 4 5; do
		# shellcheck disable=SC2013 # one word a line
		for m in $(awk '{ print $1 }' /proc/modules | grep -vxF -- "$before" |
			grep -E '^(ib_|rdma_|iw_cm|udp_tunnel|ip6_udp_tunnel|crc32_|[a-z_]*_diag$)'); do
			rmmod "$m" 2>/dev/null
		done
	done
}
