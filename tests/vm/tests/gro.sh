# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# gro.sh - packets that come one by one and are merged where they arrive: for a device
# there, and on a host between the two that sends them on, cut again into what they were.
#
#   routed, bridged:  ns1 veth0 ---- mid0 ns3 mid1 ---- veth1 ns2
#
# A veth device does here what a network card does: see veth_merges.
# packages: python3

n3() { ip netns exec ns3 "$@"; }

no_bad_sums() {
	local dev

	for dev in rxe0 rxe1; do
		[ "$(counter $dev icrc_errors)" = 0 ] && [ "$(counter $dev rx_malformed)" = 0 ] ||
			bad "$dev: $(counter $dev icrc_errors) wrong ICRCs, $(counter $dev rx_malformed) malformed"
	done
}

# merged DEVICE LEAST MOST PROGRAM...: per cent of the packets that DEVICE receives
merged() {
	local dev=$1 least=$2 most=$3 packets share

	shift 3
	packets=$(counter "$dev" rcvd_pkts) share=$(counter "$dev" rx_merged)
	"$@" || return
	packets=$(($(counter "$dev" rcvd_pkts) - packets)) share=$(($(counter "$dev" rx_merged) - share))
	echo "$dev: $share of $packets packets came merged"
	no_bad_sums || return
	[ $packets -ge 300 ] || bad "$dev has received only $packets packets" || return
	share=$((share * 100 / packets))
	[ $share -ge "$least" ] && [ $share -le "$most" ] ||
		bad "$share % of the packets came merged, not $least..$most"
}

# contents OPTIONS...: of messages, compared at both ends
contents() { pingpong "$@" && no_bad_sums; }

# ordered: nothing came out of order. There are never more packets on their way than a
# veth device that polls has room for, 256: it drops the rest. (What was sent again because
# its answer was late, on a busy machine, is a duplicate and no matter here.)
ordered() {
	local early

	early=$(counter rxe0 out_of_seq_request)
	"$@" || return
	early=$(($(counter rxe0 out_of_seq_request) - early))
	[ $early -eq 0 ] || bad "$early packets came before their turn on a path without loss"
}

lossy() {
	local i status=0

	for i in 1 2; do
		ip netns exec ns$i tc qdisc add dev veth$((i - 1)) root netem loss 1% limit 10000 ||
			{ skip "no netem here"; return; }
	done
	merged rxe0 10 100 pingpong -m 1024 -s 100001 -n 20 &&
		perftest ib_read_bw -m 1024 -s 65536 -n 60 && no_bad_sums || status=1
	n1 tc qdisc del dev veth0 root
	n2 tc qdisc del dev veth1 root
	return $status
}

off() {
	local status=0

	gro off && merged rxe0 0 0 pingpong -m 1024 -s 100001 -n 10 || status=1
	gro on || status=1
	return $status
}

# ---- a host between them -------------------------------------------------------

# between: ns3 in the middle of ns1 and ns2
between() {
	local i

	ip netns add ns1 && ip netns add ns2 && ip netns add ns3 && n3 ip link set lo up || return
	for i in 1 2; do
		ip link add veth$((i - 1)) mtu "$VETH_MTU" netns ns$i type veth \
				peer name mid$((i - 1)) mtu "$VETH_MTU" netns ns3 &&
			ip netns exec ns$i ip addr add 10.1.0.$i/24 dev veth$((i - 1)) &&
			ip netns exec ns$i ip -6 addr add fd01::$i/64 dev veth$((i - 1)) nodad &&
			ip netns exec ns$i ip link set lo up &&
			ip netns exec ns$i ip link set veth$((i - 1)) up &&
			n3 ip link set mid$((i - 1)) up && singles ns$i veth$((i - 1)) &&
			n3 ethtool -K mid$((i - 1)) gro on || bad "cannot make the veth pairs" || return
	done
}

# routed_net: ns3 sends on by IP
routed_net() {
	local i

	between && n3 sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 || return
	for i in 1 2; do
		n3 ip addr add 10.1.0.25$i/32 dev mid$((i - 1)) &&
			n3 ip -6 addr add fd01::25$i/128 dev mid$((i - 1)) nodad &&
			n3 ip route add 10.1.0.$i/32 dev mid$((i - 1)) &&
			n3 ip -6 route add fd01::$i/128 dev mid$((i - 1)) &&
			ip netns exec ns$i ip route add 10.1.0.$((3 - i))/32 via 10.1.0.25$i &&
			ip netns exec ns$i ip -6 route add fd01::$((3 - i))/128 via fd01::25$i ||
			bad "cannot set up the routes" || return
	done
}

# bridged_net: ns3 sends on by MAC address
bridged_net() {
	between && n3 ip link add mid type bridge && n3 ip link set mid mtu "$VETH_MTU" up &&
		n3 ip link set mid0 master mid && n3 ip link set mid1 master mid ||
		bad "cannot make the bridge"
}

# Who sends packets on merges them if it has the RoCE port itself.
set_up_between() {
	setup "$1" && link_add ns3 rxe2 "$2" || return
	# shellcheck disable=SC2034 # for no_leaks
	BASELINE=$(counts)
}

# tunnels on|off: whether what is merged may leave ns3 whole
tunnels() {
	n3 ethtool -K mid0 tx-udp_tnl-segmentation "$1" &&
		n3 ethtool -K mid1 tx-udp_tnl-segmentation "$1" ||
		bad "ethtool cannot switch tunnel segmentation $1"
}

# Datagrams that ns3 has sent on by IPv4: merged ones count once.
forwarded() { n3 cat /proc/net/snmp | awk '$1 == "Ip:" && $2 + 0 { print $7 }'; }

# What came merged, since nobody else merges here, left ns3 whole.
whole_between() {
	tunnels on && merged rxe0 30 100 pingpong -m 1024 -s 100001 -n 10
}

# Merged on the way in, and single packets on the way out
cut_between() {
	local skbs packets

	skbs=$(forwarded) packets=$(counter rxe0 rcvd_pkts)
	tunnels off && merged rxe0 0 0 pingpong -m "$1" -s 100001 -n 20 || return
	[ "${GID_KIND-}" != v6 ] || return 0
	[ "$2" = counted ] || return 0
	skbs=$(($(forwarded) - skbs)) packets=$(($(counter rxe0 rcvd_pkts) - packets))
	echo "$packets packets for rxe0, both directions sent on in $skbs skbs"
	[ "$skbs" -lt "$packets" ] || bad "ns3 has sent on $skbs skbs, for $packets packets one way"
}

# Runs of packets made by hand, with identifications as other peers have them
exact_between() {
	tunnels off && ip netns exec ns1 ping -qc 1 -W 5 10.1.0.2 && ip netns exec ns1 ping -qc 1 -W 5 fd01::2 &&
		/usr/bin/python3 "$VM/programs/forward.py" "$1" ||
		bad "what was sent on is not what came: $(grep -a ': sent\|skbs' "$CASE_LOG" | head -n 1)"
}

end_between() {
	local status=0

	no_leaks || status=1
	link_delete rxe2 || status=1
	cleanup_all || status=1
	ip netns del ns3 || status=1
	return $status
}

peers_elsewhere || { check everywhere skip "this core looks for peers in the initial namespace only"; return; }
check setup setup || return
if check can-merge veth_merges && [ "$(counter rxe0 rx_merged)" != n/a ] &&
	n1 ethtool -k veth0 | grep -q '^generic-receive-offload: on'; then
	check merged-4096 merged rxe0 30 100 perftest ib_write_bw -m 4096 -s 1048576 -n 20
	check merged-256 merged rxe0 30 100 perftest ib_send_bw -m 256 -s 262144 -n 10
	GID_KIND=v6 check merged-ipv6 merged rxe0 30 100 perftest ib_write_bw -m 1024 -s 1048576 -n 10
	check merged-responses merged rxe1 30 100 perftest ib_read_bw -m 1024 -s 262144 -n 40
	check merged-uc merged rxe0 30 100 perftest ib_write_bw -c UC -m 1024 -s 65536 -n 60
	check ordered ordered perftest ib_write_bw -m 1024 -s 65536 -n 100 -t 2
	for mtu in 256 512 1024 2048 4096; do
		check contents-$mtu contents -m $mtu -s 50001 -n 10
	done
	GID_KIND=v6 check contents-ipv6 contents -m 1024 -s 100001 -n 10
	check contents-small contents -s 64 -n 500
	# what is lost in a full ring of a veth device stays lost, so one at a time
	check datagrams pingpong_by ibv_ud_pingpong -s 1024 -n 300
	check loss lossy
	GID_KIND=v6 check loss-ipv6 lossy
	check off off
	# bursts are in one skb already
	check whole-bursts veth_bursts whole
	check whole-contents contents -m 1024 -s 100001 -n 10
	check no-leaks no_leaks
	check clean cleanup_all
	check routed set_up_between routed_net mid0 || return
	check routed-whole whole_between
	GID_KIND=v6 check routed-whole-ipv6 whole_between
	check routed-cut cut_between 1024 counted
	check routed-cut-4096 cut_between 4096 counted
	GID_KIND=v6 check routed-cut-ipv6 cut_between 1024 ''
	check routed-exact exact_between routed
	check routed-end end_between
	check bridged set_up_between bridged_net mid || return
	check bridged-whole whole_between
	check bridged-cut cut_between 1024 ''
	GID_KIND=v6 check bridged-cut-ipv6 cut_between 1024 ''
	check bridged-exact exact_between bridged
	check bridged-end end_between
else
	check clean cleanup_all
fi
