# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# pingpong.sh - ibv_rc_pingpong: each path MTU, sizes around its multiples,
# events, IPv4 and IPv6 GIDs. Contents are compared (-c).

check setup setup || return
for mtu in 256 512 1024 2048 4096; do
	check "mtu-$mtu" pingpong -m "$mtu" -s 4097 -n 20
done
for size in 1 3 100 1023 1024 1025 4095 4096 65537; do
	check "size-$size" pingpong -m 1024 -s "$size" -n 20
done
check size-4097-mtu-4096 pingpong -m 4096 -s 4097 -n 20
check size-8M pingpong -m 4096 -s 8388608 -n 2
check size-1M-mtu-256 pingpong -m 256 -s 1048576 -n 2
check events pingpong -e -s 4096 -n 100
check many pingpong -s 64 -n 1000 -r 100
for kind in v6 ll; do
	if [ $kind = ll ]; then
		# a link-local peer is known by its GID alone; the names go over IPv4
		GID_KIND=ll check gid-link-local pingpong -n 20
	else
		GID_KIND=v6 check gid-ipv6 pingpong -n 20
		GID_KIND=v6 check gid-ipv6-events-65537 pingpong -e -s 65537 -n 20
	fi
done
check no-leaks no_leaks
check clean cleanup_all
