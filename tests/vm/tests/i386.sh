# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# i386.sh - user space of 32 bits on a kernel of 64: Debian's rdma-core and perftest for i386,
# unpacked in I386_ROOT, with those of this machine and with each other. The layouts of rings
# and commands are the same for both, and so is what comes out.

# shellcheck source=tests/vm/cm.sh
. "$VM/cm.sh"

LIBRARIES=/usr/lib/i386-linux-gnu
LOADER=$I386_ROOT/usr/lib/ld-linux.so.2
ON32=/tmp/on32	# ON32 PROGRAM ARGS...: the program of 32 bits

begin() {
	[ "$(od -An -tu1 -j4 -N1 "$I386_ROOT/usr/bin/ibv_devinfo" | tr -d ' ')" = 1 ] ||
		bad "not of 32 bits" || return
	"$LOADER" --version >/dev/null 2>&1 ||
		{ skip "this kernel runs no programs of 32 bits"; return; }
	setup || return
	# where its libibverbs looks for the part that knows this driver
	mkdir -p $LIBRARIES && mount --bind "$I386_ROOT$LIBRARIES" $LIBRARIES || bad "no $LIBRARIES" || return
	# shellcheck disable=SC2016 # the script expands it
	printf '#!/bin/sh\nprogram=$1\nshift\nexec %s --library-path %s "%s/usr/bin/$program" "$@"\n' \
		"$LOADER" $LIBRARIES "$I386_ROOT" >$ON32
	chmod +x $ON32
}

devices() {
	$ON32 ibv_devinfo -v -d rxe0 >"$CASE_LOG.32" 2>&1 || bad "ibv_devinfo: status $?" || return
	ibv_devinfo -v -d rxe0 >"$CASE_LOG.64" || bad "ibv_devinfo: status $?" || return
	grep -q 'max_qp:' "$CASE_LOG.32" || bad "no limits" || return
	diff "$CASE_LOG.32" "$CASE_LOG.64" || bad "it differs from what programs of 64 bits see"
}

# mixed SERVER CLIENT PROGRAM OPTIONS...: SERVER and CLIENT are 32 or 64
mixed() {
	local server=() client=() gid=-g

	[ "$1" = 64 ] || server=("$ON32")
	[ "$2" = 64 ] || client=("$ON32")
	server+=("$3") client+=("$3")
	shift 3
	[[ ${server[-1]} == ibv_* ]] || { gid=-x; server+=(-F); client+=(-F); }
	PORT=18515
	pair "$PATIENCE" "${server[@]}" -p $PORT -d rxe0 $gid "$(gid_index rxe0 v4)" "$@" -- \
		"${client[@]}" -p $PORT -d rxe1 $gid "$(gid_index rxe1 v4)" "$@" 10.1.0.1 || return
	if [ $gid = -x ]; then
		perftest_table "$CASE_LOG.client" "$@"
	else
		! grep -qi invalid "$CASE_LOG.client" "$CASE_LOG.server" || bad "wrong contents"
	fi
}

connected() {
	core_makes_links || { skip "this core does not tell who listens"; return; }
	cm_modules || return
	RPING="$ON32 rping" cm_pair "$PATIENCE" $ON32 rping -s -a 10.1.0.1 -C 5 -v -V -S 9000 -- \
		"$VM/programs/rping-client" 5 -a 10.1.0.1 -V -S 9000 || return
	grep -q 'ping data' "$CASE_LOG.client" || bad "rping says nothing"
}

finish() {
	umount $LIBRARIES
	cleanup_all
}

check setup begin || return
check devices devices
for ends in '64 32' '32 64' '32 32'; do
	# shellcheck disable=SC2086 # two words
	check "rc-${ends/ /-}" mixed $ends ibv_rc_pingpong -c -s 70001 -n 50
done
check rc-events mixed 32 64 ibv_rc_pingpong -c -e -n 100
check srq mixed 64 32 ibv_srq_pingpong -n 100 -q 4
check uc mixed 64 32 ibv_uc_pingpong -c -n 100
check ud mixed 32 64 ibv_ud_pingpong -n 100 -s 1000
# perftest's two sides send each other a structure with longs in it, at the end of bandwidth
check write mixed 32 32 ib_write_bw -s 65536 -n 60
check read mixed 32 32 ib_read_bw -s 65536 -n 60
check atomic mixed 32 32 ib_atomic_bw -n 60
check send mixed 64 32 ib_send_lat -s 64 -n 100
check rdmacm connected
check no-leaks no_leaks
check clean finish
