# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# gids.sh - many addresses of veth0, and as many GIDs of rxe0. Sourced by files of
# tests/vm/tests, where "setup" has run.

GIDS=/sys/class/infiniband/rxe0/ports/1/gids

# gids_used: so many entries of the table have an address
gids_used() { cat $GIDS/* 2>/dev/null | grep -vc '^0000:0000:0000:0000:0000:0000:0000:0000$'; }
gids_are() { [ "$(gids_used)" -eq "$1" ]; }

# addresses add|del N: fd01::1:1 to fd01::1:N in hexadecimal, in one process
addresses() {
	local nodad=''

	[ "$1" = del ] || nodad=nodad
	seq "$2" | awk -v verb="$1" -v nodad=$nodad '
		{ printf "addr %s fd01::1:%x/64 dev veth0 %s\n", verb, $1, nodad }' | n1 ip -batch - ||
		bad "ip: cannot $1 $2 addresses"
}

# gid_at N: the index of fd01::1:N
gid_at() { grep -ls "$(printf '^fd01:0000:0000:0000:0000:0000:0001:%04x$' "$1")" $GIDS/* | sed 's/.*\///'; }

# connect_by INDEX: a connection, contents compared, from the address that has this index
connect_by() {
	local gid

	gid=$(cat "$GIDS/$1") && [ "${gid%:*}" = fd01:0000:0000:0000:0000:0000:0001 ] ||
		bad "GID $1 is '$gid'" || return
	PORT=18515
	pair "$PATIENCE" ibv_rc_pingpong -c -p $PORT -d rxe0 -g "$1" -s 4097 -n 20 -- \
		ibv_rc_pingpong -c -p $PORT -d rxe1 -g "$(gid_index rxe1 v6)" -s 4097 -n 20 10.1.0.1 || return
	grep -q "remote address.*GID fd01::1:$(printf %x "0x${gid##*:}")\$" "$CASE_LOG.client" ||
		bad "not with $gid: $(grep 'remote address' "$CASE_LOG.client")" || return
	! grep -aE 'invalid data|memcmp' "$CASE_LOG.client" "$CASE_LOG.server" || bad "wrong data"
}

# many_gids N: N addresses more, connected by the last of them; and they go again
many_gids() {
	local before

	before=$(gids_used)
	addresses add "$1" || return
	eventually gids_are $((before + $1)) || bad "$(gids_used) GIDs, not $before and $1 more" || return
	connect_by "$(gid_at "$1")" || return
	addresses del "$1" || return
	eventually gids_are "$before" || bad "$(gids_used) GIDs are left, not $before"
}

# all_gids: more addresses than the table has room for: it is full, and nothing else. Who has
# the last entry is connected by it, and so is who is there when a later address finds no room.
all_gids() {
	local size before

	size=$(find $GIDS/ -type f | wc -l)
	before=$(gids_used)
	[ "$size" -eq 1024 ] || bad "the table has $size entries, not 1024" || return
	addresses add "$size" || return
	eventually gids_are "$size" || bad "$(gids_used) GIDs of $size" || return
	connect_by $((size - 1)) || return
	n1 ip addr add fd01::2:1/64 dev veth0 nodad || bad "no address more" || return
	# changes are worked off in their order: when this one is, that one has been
	n1 ip addr del fd01::1:1/64 dev veth0
	eventually gids_are $((size - 1)) || bad "$(gids_used) GIDs, not one less than $size" || return
	! grep -qs '^fd01:0000:0000:0000:0000:0000:0002:0001$' $GIDS/* || bad "fd01::2:1 has an entry" || return
	connect_by $((size - 1)) && connect_by "$(gid_at 2)" && pingpong -n 20 || return
	n1 ip addr del fd01::2:1/64 dev veth0 && n1 ip addr add fd01::1:1/64 dev veth0 nodad &&
		addresses del "$size" || bad "cannot remove the addresses" || return
	eventually gids_are "$before" || bad "$(gids_used) GIDs are left, not $before" || return
	# what the core has taken out of the table it frees a little later
	sleep 1
	many_gids 100
}
