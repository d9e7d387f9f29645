# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# kmod.sh - a kernel user of both devices (tests/vm/kmod): memory mapped in every way,
# all verbs, fast registration, handlers that post, draining, rdma_rw. It runs its
# cases when it is loaded, and says in the kernel log how each ended. KMOD_ONLY=CASE
# runs that one alone.

# run_all: load it, and leave what it says in $SAID
run_all() {
	mark kmod-begins
	timeout -k 2 $((PATIENCE * 5)) insmod "$KMOD" device=rxe0,rxe1 \
		"gid_index=$(gid_index rxe0 v4),$(gid_index rxe1 v4)" ${KMOD_ONLY:+"only=$KMOD_ONLY"} || bad "insmod: status $?" || return
	dmesg | tac | sed '/rxe-test: kmod-begins/q' | tac | sed -n 's/.*rxe_consumer: //p' >"$SAID"
	cat "$SAID"
	rmmod rxe_consumer || bad "rmmod: status $?"
}

# one NAME: how that case ended
one() {
	if grep -qxF "skip $1" "$SAID"; then
		skip "this kernel has nothing of the kind"
		return
	fi
	grep -B 4 -xE "(not )?ok $1" "$SAID"
	grep -qxF "ok $1" "$SAID" || bad "$(grep -B 3 -xF "not ok $1" "$SAID" | tr '\n' ';')"
}

SAID=$(mktemp)
check setup setup || return
check load run_all
while read -r case; do
	[ "${KMOD_ONLY:-$case}" != "$case" ] || check "$case" one "$case"
done < <(sed -n 's/^\t{ "\([a-z-]*\)",.*/\1/p' "$VM/kmod/consumer.c")
check no-leaks no_leaks
check clean cleanup_all
rm -f "$SAID"
