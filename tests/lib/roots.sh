# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# roots.sh - roots of Debian releases, each with a kernel of its time, in which tests
# install things as users do; thrown away afterwards. No kernel is booted.
#
# Sourced after results.sh by a script that ends in "roots_main ...": it is run again in
# the mounts, with "--inside", and has a function "inside".

VM=$TOP/tests/vm
SUITE=$(basename "$(dirname "$0")")	# what the names of the results begin with

# kernel_of RELEASE: the kernel of the matrix that is tested there
kernel_of() {
	case $1 in
	bullseye) echo 5.10 ;;
	bookworm) echo 6.1 ;;
	trixie) echo 7.x ;;
	*) bad_usage "no release '$1'; there are: bullseye bookworm trixie" ;;
	esac
}

# layer NAME RELEASE PACKAGE...: what is laid over the root of a release so that it has
# those packages; made once, in $CACHE/NAME/RELEASE
layer() {
	local name=$1 release=$2 dir=$CACHE/$1/$2 root=$CACHE/roots/$2

	shift 2
	[ "$(cat "$dir/complete" 2>/dev/null)" != "$*" ] || return 0
	rm -rf "$dir"
	mkdir -p "$dir/upper" "$dir/work" || die "cannot create $dir"
	note "installing in a root of Debian $release (once): $*"
	# shellcheck disable=SC2016 # expanded inside
	unshare --mount --pid --fork bash -c '
		dir=$1 lower=$2 root=$3; shift 3
		mount -t overlay -o "lowerdir=$lower,upperdir=$dir/upper,workdir=$dir/work" root "$root" &&
		mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" &&
		rm -f "$root/etc/resolv.conf" && cp -L /etc/resolv.conf "$root/etc/resolv.conf" || exit
		cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null
		chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
			DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 sh -c "
				apt-get -q update
				apt-get -qy install --no-install-recommends $* && apt-get clean"
		' bash "$dir" "$root" "$TMP/root" "$@" >"$dir/log" 2>&1 </dev/null || {
		tail -n 10 "$dir/log" >&2
		note "this cannot be installed in a root of $release; all messages in $dir/log"
		return 1
	}
	echo "$*" >"$dir/complete"
}

# in_root COMMAND...: in the root, as root would
in_root() {
	chroot "$TMP/root" /usr/bin/env -i PATH="${ROOT_PATH:-/usr/sbin:/usr/bin:/sbin:/bin}" \
		HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

# step NAME COMMAND...: it succeeds
step() {
	local name=$1

	shift
	if "$@" >"$TMP/log" 2>&1; then
		passed "$SUITE/$RELEASE/$name"
	else
		failed "$SUITE/$RELEASE/$name: status $?"
		tail -n 15 "$TMP/log" | sed 's/^/  | /'
	fi
}

# refusal NAME TEXT COMMAND...: it fails, and says TEXT
refusal() {
	local name=$1 text=$2

	shift 2
	if "$@" >"$TMP/log" 2>&1; then
		failed "$SUITE/$RELEASE/$name: succeeds"
	elif ! grep -q -- "$text" "$TMP/log"; then
		failed "$SUITE/$RELEASE/$name: does not say '$text'"
	else
		passed "$SUITE/$RELEASE/$name"
		return
	fi
	tail -n 5 "$TMP/log" | sed 's/^/  | /'
}

# kernel_in_root VERSION MODULES KDIR IN_TREE: the root has that kernel's headers, and of
# its modules the driver of this name
kernel_in_root() {
	local modules=$2 kdir=$3 in_tree=$4 to=$TMP/root/lib/modules/$1 f

	mkdir -p "$to/kernel/drivers/infiniband/sw/rxe" "$TMP/root/boot" &&
		: >"$TMP/root/boot/vmlinuz-$1" && : >"$TMP/root/boot/config-$1" || return
	for f in "$modules"/modules.{order,builtin,builtin.modinfo}; do
		[ ! -e "$f" ] || cp "$f" "$to/"
	done
	cp "$in_tree" "$to/kernel/drivers/infiniband/sw/rxe/" || return
	# The headers of this machine's release are in the cache, with paths of there.
	if [ ! -e "$TMP/root$kdir" ]; then
		f=${kdir%/usr/src/*}
		mkdir -p "$TMP/root$f" && mount --bind "$f" "$TMP/root$f" || return
	fi
	ln -sfn "$kdir" "$to/build"
	in_root depmod "$1"
}

# What modprobe would load on kernel VERSION
file_is() {
	local file

	file=$(in_root modinfo -k "$VERSION" -F filename rdma_rxe)
	echo "modprobe would load ${file:-nothing}"
	[[ $file == */$1 || $file == */$1.?z* ]]
}
version_is() {
	local version

	version=$(in_root modinfo -k "$VERSION" -F version rdma_rxe)
	echo "it has version '$version'"
	[ "$version" = "$1" ]
}
# What the driver is, is told by its own line.
source_told() { in_root modinfo -k "$VERSION" rdma_rxe | grep -q '^source: .*out of tree'; }
in_tree_again() { file_is kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko; }

# one_release RELEASE LAYER PACKAGE...: run ourselves again with --inside RELEASE VERSION
# in a mount namespace with the root, made of its layers, at $TMP/root; this checkout is
# /src there
one_release() {
	local release=$1 layer=$2 kernel modules kdir version in_tree

	shift 2
	kernel=$(kernel_of "$release")
	"$VM/kernels" get "$kernel" >/dev/null && "$VM/kernels" root "$release" >/dev/null ||
		{ failed "$SUITE/$release: no kernel or no root"; total; return; }
	mkdir -p "$TMP/root" "$TMP/space"
	layer "$layer" "$release" "$@" || { failed "$SUITE/$release: no packages"; total; return; }
	modules=$("$VM/kernels" field "$kernel" modules)
	kdir=$("$VM/kernels" field "$kernel" headers)
	version=$("$VM/kernels" field "$kernel" version)
	in_tree=$(find "$modules/kernel/drivers/infiniband/sw/rxe" -name 'rdma_rxe.ko*')
	export TOP CACHE RXE_RESULTS=$RESULTS
	# shellcheck disable=SC2016 # expanded inside
	unshare --mount --pid --fork bash -c '
		tmp=$1 lower=$2; shift 2
		mount -t tmpfs space "$tmp/space" && mkdir "$tmp/space/upper" "$tmp/space/work" &&
		mount -t overlay -o "lowerdir=$lower,upperdir=$tmp/space/upper,workdir=$tmp/space/work" \
			root "$tmp/root" &&
		mount -t proc proc "$tmp/root/proc" && mount --bind /dev "$tmp/root/dev" &&
		mkdir -p "$tmp/root/src" && mount --bind "$TOP" "$tmp/root/src" || exit
		exec "$@"' bash "$TMP" "$CACHE/$layer/$release/upper:$(realpath "$CACHE/roots/$release")" \
		"$0" --inside "$TMP" "$release" "$version" "$modules" "$kdir" "$in_tree"
}

# roots_inside TMP RELEASE VERSION MODULES KDIR IN_TREE: what --inside is for
roots_inside() {
	# shellcheck disable=SC2034 # of the script that sources this
	TMP=$1 RELEASE=$2 VERSION=$3 IN_TREE=$6
	shift 2
	kernel_in_root "$@" || die "the kernel of $RELEASE cannot be put into its root"
	inside
	total
}

# roots_main LAYER 'PACKAGE...' RELEASE...: the suite
roots_main() {
	local layer=$1 packages=$2 release

	shift 2
	need_root "mounting roots"
	results_dir
	TMP=$(mktemp -d "${TMPDIR:-/tmp}/rxe-$SUITE.XXXXXX") || die "cannot write to ${TMPDIR:-/tmp}"
	trap 'rm -rf --one-file-system "$TMP"' EXIT
	[ $# -gt 0 ] || set -- bullseye bookworm trixie
	for release; do
		kernel_of "$release" >/dev/null
		# shellcheck disable=SC2086 # a list of packages
		suite "$SUITE-$release" one_release "$release" "$layer" $packages
	done
	total
}
