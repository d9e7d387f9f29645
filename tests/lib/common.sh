# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# common.sh - what every script here shares: messages, the cache directory,
# locks, the system we run on and the packages we need from it.
#
# Sourced, never run. Sets TOP (the checkout) and CACHE (~/.cache/rxe).

# shellcheck disable=SC2034 # TOP is for those who source this
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
CACHE=${RXE_CACHE:-$HOME/.cache/rxe}
RXE_PROGRAM=${RXE_PROGRAM:-$(basename "$0")}

say() { printf '%s\n' "$*"; }
note() { printf '%s: %s\n' "$RXE_PROGRAM" "$*" >&2; }
die() { note "$*"; exit 1; }

# usage [STATUS]: print the comment block that opens the script, then exit.
usage() {
	sed -n '2,/^$/{/^# SPDX/d;/^#/!d;s/^# \{0,1\}//p}' "$0" >&2
	exit "${1:-2}"
}

# bad_usage MESSAGE: a wrong option or argument.
bad_usage() {
	note "$*"
	note "try '$RXE_PROGRAM -h'"
	exit 2
}

need_root() {
	[ "$(id -u)" -eq 0 ] || die "must run as root (for $1); try: sudo $0"
}

# need_space DIR MEGABYTES: refuse early instead of dying half-way.
need_space() {
	local free

	mkdir -p "$1" || die "cannot create $1; set RXE_CACHE to a writable directory"
	free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
	[ "${free:-0}" -ge "$2" ] ||
		die "$1 has $free MB free, $2 MB are needed; make room or set RXE_CACHE to another directory"
}

# with_lock NAME COMMAND...: one at a time, in this machine's cache.
with_lock() {
	local lock=$CACHE/locks/${1//\//_} status lock_fd

	shift
	mkdir -p "$CACHE/locks" || die "cannot create $CACHE/locks"
	exec {lock_fd}>"$lock" || die "cannot open $lock"
	if ! flock -n "$lock_fd"; then
		note "waiting for another run that holds $lock"
		flock "$lock_fd" || die "cannot lock $lock"
	fi
	"$@"
	status=$?
	exec {lock_fd}>&-
	return "$status"
}

# host_codename: bookworm, trixie, ... (empty where there is none)
host_codename() {
	# shellcheck source=/dev/null
	(. /etc/os-release 2>/dev/null && printf '%s\n' "${VERSION_CODENAME-}")
}

# has_apt: is this a system whose packages we can install ourselves?
has_apt() { command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; }

package_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# package_of FILE: which one has installed it, be it by dpkg or rpm
package_of() {
	local package

	package=$(dpkg -S "$1" 2>/dev/null) && echo "${package%%:*}" && return
	package=$(rpm -qf --qf '%{NAME}\n' "$1" 2>/dev/null) && echo "$package"
}

# need_packages PACKAGE...: install what is missing, saying so; where that
# cannot be done, name the packages and give up.
need_packages() {
	local missing=() p

	if ! has_apt; then
		# Not our package names: ask for the commands they bring.
		for p in qemu-system-x86_64 busybox cpio make gcc rdma ibv_devinfo ib_write_bw; do
			command -v "$p" >/dev/null || missing+=("$p")
		done
		[ ${#missing[@]} -eq 0 ] && return
		note "missing commands: ${missing[*]}"
		die "this system has no apt; install what Debian calls: $*"
	fi
	for p in "$@"; do
		package_installed "$p" || missing+=("$p")
	done
	[ ${#missing[@]} -eq 0 ] && return
	[ "$(id -u)" -eq 0 ] || die "missing packages, install them as root: apt-get install ${missing[*]}"
	with_lock packages install_packages "${missing[@]}"
}

install_packages() {
	say "installing packages: $*"
	apt_install "$@" && return
	# Lists may be missing or stale on a fresh machine.
	apt-get -q -o Acquire::Retries=3 update >"$CACHE/apt-get.log" 2>&1
	apt_install "$@" && return
	tail -n 20 "$CACHE/apt-get.log" >&2
	die "apt-get install failed (above); check the network and /etc/apt/sources.list, then run: apt-get install $*"
}

# apt_install PACKAGE...: somebody else's apt (a timer's, on a fresh machine) ends some day
apt_install() {
	DEBIAN_FRONTEND=noninteractive apt-get -qy -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 \
		-o Acquire::Retries=3 install --no-install-recommends "$@" >>"$CACHE/apt-get.log" 2>&1
}

# need_emulator MACHINE: for guests of another machine
need_emulator() {
	case $1 in
	ppc64el*) command -v qemu-system-ppc64 || need_packages qemu-system-ppc ;;
	# where it is no package of its own, another one provides it
	s390x) command -v qemu-system-s390x || need_packages qemu-system-s390x ;;
	arm64*) command -v qemu-system-aarch64 || need_packages qemu-system-arm ;;
	esac >/dev/null
}

# The packages for building a module and for booting it in a guest. Headers
# that bring a vmlinux (Debian's 6.12) make the build ask for pahole.
# shellcheck disable=SC2034 # used by those who source this
{
	BUILD_PACKAGES=(gcc make libc6-dev libelf-dev libssl-dev pahole kmod
		xz-utils)
	VM_PACKAGES=(qemu-system-x86 busybox-static cpio kmod xz-utils zstd
		iproute2 iputils-ping rdma-core ibverbs-utils rdmacm-utils perftest
		ethtool nftables procps util-linux fio)
}
