# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# mcast.sh - multicast: groups joined by rdma_cm (mckey) and without it (members), datagrams
# from one namespace to the other and within a device, also over VLANs, and where a burst goes
# to both, and is cut for one; whether the netdev is a member on the wire for just as long, and
# whether a bridge that listens to that (IGMP, MLD) sends datagrams to members only.

# shellcheck source=tests/lib/capture.sh
. "$VM/../lib/capture.sh"

# joined NS NETDEV GROUP: does the netdev listen to the group?
joined() { ip netns exec "$1" ip maddr show dev "$2" | grep -qwi "$3"; }
not_joined() { ! joined "$@"; }
joined_or_ended() { joined "${@:2}" || ! kill -0 "$1" 2>/dev/null; }

# ---- by rdma_cm -------------------------------------------------------------------

# mckey GROUP LOCAL REMOTE [NS [NETDEV]]: the receiver in ns1, the sender in ns2, or in NS;
# the addresses of the receiver are those of veth0, or of NETDEV
mckey_pair() {
	local group=$1 local=$2 remote=$3 ns=${4:-ns2} netdev=${5:-veth0} receiver

	n1 timeout -k 1 "$PATIENCE" mckey -m "$group" -b "$local" -C 10 >"$CASE_LOG.receiver" 2>&1 &
	receiver=$!
	eventually joined_or_ended "$receiver" ns1 "$netdev" "$group"
	if grep -q 'joining.*error 524' "$CASE_LOG.receiver"; then
		wait $receiver
		skip "the rdma_cm of this kernel joins no IPv6 group over RoCE v2"
		return
	fi
	if not_joined ns1 "$netdev" "$group"; then
		bad "$netdev does not join $group: $(tail -n 1 "$CASE_LOG.receiver")"
		kill $receiver
		return 1
	fi
	sleep 1
	ip netns exec "$ns" timeout -k 1 "$PATIENCE" mckey -m "$group" -b "$remote" -s -C 10 ||
		bad "the sender fails: status $?"
	# which must end, whatever the sender has done
	wait $receiver || bad "the receiver fails: status $?: $(tail -n 1 "$CASE_LOG.receiver")" || return
	cat "$CASE_LOG.receiver"
	grep -q 'receiving data transfers' "$CASE_LOG.receiver" || bad "nothing received" || return
	eventually not_joined ns1 "$netdev" "$group" || bad "$netdev stays in $group"
	[ ! -s "$REASON" ]
}

killed() {
	n1 timeout -k 1 "$PATIENCE" mckey -m 239.1.1.3 -b 10.1.0.1 -C 10 >/dev/null 2>&1 &
	local receiver=$!

	eventually joined ns1 veth0 239.1.1.3 || bad "veth0 does not join" || return
	pkill -9 -x mckey
	wait $receiver
	eventually not_joined ns1 veth0 239.1.1.3 || bad "a killed receiver leaves veth0 in the group" || return
	no_leaks
}

# ---- without rdma_cm --------------------------------------------------------------

# gid ADDRESS: as a GID
gid() { [[ $1 == *:* ]] && echo "$1" || echo "::ffff:$1"; }

# gid_in_sysfs ADDRESS: as sysfs writes the GIDs of these tests
gid_in_sysfs() {
	local byte

	case $1 in
	*:*) printf '%s:0000:0000:0000:0000:0000:0000:000%s' "${1%%::*}" "${1##*:}" ;;
	*)
		IFS=. read -ra byte <<<"$1"
		printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' "${byte[@]}"
		;;
	esac
}

# index_of DEVICE ADDRESS: of its RoCE v2 GID
index_of() {
	local port=/sys/class/infiniband/$1/ports/1 i gid type want

	want=$(gid_in_sysfs "$2")
	for i in {0..31}; do
		{ read -r gid <"$port/gids/$i"; } 2>/dev/null && [ "$gid" = "$want" ] || continue
		{ read -r type <"$port/gid_attrs/types/$i"; } 2>/dev/null && [ "$type" = 'RoCE v2' ] || continue
		echo "$i"
		return
	done
	return 1
}

# members GROUP FROM TO: begin the program; who is attached waits for the file "joined"
members() {
	rm -f "$CASE_LOG.joined"
	n2 "$PROGRAMS/members" "$(gid "$1")" rxe0 "$CASE_LOG.joined" rxe1 "$(index_of rxe1 "$2")" \
		"$(index_of rxe0 "$3")" >"$CASE_LOG.members" 2>&1 &
	MEMBERS=$!
}

# members_end: go on, to the end
members_end() {
	: >"$CASE_LOG.joined"
	wait "$MEMBERS" || bad "$(tail -n 1 "$CASE_LOG.members")" || return
	cat "$CASE_LOG.members"
}

# reported CHANGE GROUP [FILTER]: has a report of that been captured?
reported() {
	# shellcheck disable=SC2086 # words
	tcpdump -vnr "$CASE_LOG.pcap" ${3-} 2>/dev/null | grep -qF "[gaddr $2 $1"
}

reported_or_ended() { reported "$@" || ! kill -0 "$MEMBERS" 2>/dev/null; }

# attached GROUP FROM TO [NETDEV [FILTER]]: three queue pairs of rxe0 and one of rxe1; the
# netdev of the former, veth0 or NETDEV, tells the peer that it is in the group (to_ex: it
# excludes nobody), and that it is not (to_in)
attached() {
	local group=$1 netdev=${4:-veth0} filter=${5-} status=0

	capture_begin ns2 "$CASE_LOG.tcpdump" -i veth1 -w "$CASE_LOG.pcap" \
		"ether multicast and ether src $(n1 cat /sys/class/net/veth0/address)" ||
		bad "tcpdump does not start" || return
	members "$@"
	eventually reported_or_ended to_ex "$group" "$filter"
	if ! core_makes_links && grep -q 'ibv_attach_mcast.*: Invalid argument' "$CASE_LOG.members"; then
		wait "$MEMBERS"
		capture_end "$CASE_LOG.tcpdump"
		# as of 4.4 to 4.11
		skip "the core of this kernel attaches to no group that is written as an IPv4 one"
		return
	fi
	reported to_ex "$group" "$filter" || bad "no report of $group" || status=1
	joined ns1 "$netdev" "$group" || bad "$netdev does not listen to $group" || status=1
	members_end || status=1
	eventually reported to_in "$group" "$filter" || bad "no report that nobody is in $group" || status=1
	not_joined ns1 "$netdev" "$group" || bad "$netdev stays in $group" || status=1
	capture_end "$CASE_LOG.tcpdump" || bad "tcpdump lost packets: $(tail -n 3 "$CASE_LOG.tcpdump")" || status=1
	return $status
}

# rewritten FAMILY GROUP FROM TO: a burst that goes to this host, too, and is cut on its way out,
# where a rule has given it a head of its own (DSCP): both have the same pages
rewritten() {
	local family=$1 status=0

	shift
	veth_bursts cut || return
	if ! n2 nft -f - <<-END; then
		table $family rxetest {
			chain out {
				type filter hook postrouting priority 0;
				udp dport 4791 $family dscp set 26 counter
			}
		}
	END
		n2 nft delete table "$family" rxetest 2>/dev/null
		veth_bursts whole
		skip "this kernel has no nft rule 'dscp set'"
		return
	fi
	attached "$@" || status=1
	n2 nft list table "$family" rxetest | tee "$CASE_LOG.rules"
	! grep -q 'packets 0 ' "$CASE_LOG.rules" || bad "the rule sees no packet" || status=1
	n2 nft delete table "$family" rxetest
	veth_bursts whole
	return $status
}

# full [all]: as many queue pairs in a group as the device promises, or as many groups, and
# not one more
full() {
	timeout "$PATIENCE" "$PROGRAMS/groups" rxe0 "$@" || bad "status $?: $(tail -n 1 "$CASE_LOG")" || return
	no_leaks
}

# others_leave: one that stays in a group gets what comes while others leave it and are
# destroyed. The kernels that find memory which is used too late find here whether a datagram
# still looks at one of those.
others_leave() {
	timeout "$PATIENCE" "$PROGRAMS/groups" rxe0 leave 4 rxe1 "$(index_of rxe1 10.1.0.2)" ||
		bad "status $?: $(tail -n 1 "$CASE_LOG")" || return
	no_leaks
}

# ---- VLANs ------------------------------------------------------------------------

# vlan_add N: VLAN 5 of nsN's end, which the device below it serves
vlan_add() {
	local i=$(($1 - 1))

	ip netns exec "ns$1" sh -c "ip link add link veth$i name upper type vlan id 5 &&
		echo 0 >/proc/sys/net/ipv6/conf/upper/accept_dad && ip link set upper up &&
		ip addr add 10.2.0.$1/24 dev upper && ip addr add fd02::$1/64 dev upper nodad" ||
		bad "no VLAN in ns$1" || return
	eventually index_of rxe$i "10.2.0.$1" && eventually index_of rxe$i "fd02::$1" ||
		bad "rxe$i has no GIDs of its VLAN: $(gids rxe$i)"
}

vlans() {
	modprobe -q 8021q || { skip "no VLANs here"; return; }
	vlan_add 1 && vlan_add 2
}

# vlan_goes GROUP: the VLAN goes while a queue pair is in the group; another one comes, and
# joins when one more queue pair does.
vlan_goes() {
	local group=$1 member another

	rm -f "$CASE_LOG.joined"
	n1 "$PROGRAMS/members" "$(gid "$group")" rxe0 "$CASE_LOG.joined" &
	member=$!
	eventually joined ns1 upper "$group" || bad "the VLAN does not join" || return
	n1 ip link del upper && vlan_add 1 || return
	n1 "$PROGRAMS/members" "$(gid "$group")" rxe0 "$CASE_LOG.joined" &
	another=$!
	eventually joined ns1 upper "$group" || bad "the new VLAN does not join"
	: >"$CASE_LOG.joined"
	wait $member && wait $another || bad "a member fails: $(tail -n 1 "$CASE_LOG")"
	not_joined ns1 upper "$group" && not_joined ns1 veth0 "$group" || bad "a netdev stays in $group"
	[ ! -s "$REASON" ]
}

# ---- a bridge that listens --------------------------------------------------------

n3() { ip netns exec ns3 "$@"; }

# net_bridged: the two ends meet in a bridge, which has a third port; it asks who is in which
# group, and believes the answers after a second
# shellcheck disable=SC2016 # the shell in ns3 expands
net_bridged() {
	local i

	for i in 1 2 3; do
		ip netns add ns$i
	done
	ip link add veth0 mtu "$VETH_MTU" netns ns1 type veth peer name port0 mtu "$VETH_MTU" netns ns3 &&
		ip link add veth1 mtu "$VETH_MTU" netns ns2 type veth peer name port1 mtu "$VETH_MTU" netns ns3 &&
		ip link add third mtu "$VETH_MTU" netns ns3 type veth peer name port2 mtu "$VETH_MTU" netns ns3 &&
		net_end 1 && net_end 2 &&
		n3 sh -c 'ip link add switch type bridge && cd /sys/class/net/switch/bridge &&
			echo 100 >multicast_query_response_interval && echo 1 >multicast_snooping &&
			for port in 0 1 2; do ip link set port$port master switch up; done &&
			echo 0 >/proc/sys/net/ipv6/conf/switch/accept_dad &&
			ip link set third up && ip link set switch up' || bad "no bridge" || return
	# A querier whose first query finds no address to come from is none for IPv6, and floods,
	# until the next one: half a minute later, or when a group's last member goes.
	eventually switch_has_address || bad "the bridge gets no address" || return
	n3 sh -c 'echo 1 >/sys/class/net/switch/bridge/multicast_querier' || bad "no querier" || return
	sleep 2
}

switch_has_address() { n3 ip -6 -o addr show dev switch scope link -tentative | grep -q fe80; }

in_mdb() { n3 bridge mdb show | grep -qw "$1"; }

# on_third GROUP FROM TO: sets SEEN, how many datagrams of the members come to the third port.
# Several may come as one skb; each is of BTH, DETH, payload and ICRC.
on_third() {
	capture_begin ns3 "$CASE_LOG.tcpdump" -i third -w "$CASE_LOG.pcap" udp port 4791 ||
		bad "tcpdump does not start" || return
	members "$@"
	[ "$(n3 cat /sys/class/net/switch/bridge/multicast_snooping)" = 0 ] || eventually in_mdb "$1" ||
		bad "the bridge knows of no member of $1"
	members_end
	capture_end "$CASE_LOG.tcpdump" || bad "tcpdump lost packets: $(tail -n 3 "$CASE_LOG.tcpdump")" || return
	SEEN=$(tcpdump -nr "$CASE_LOG.pcap" 2>/dev/null |
		awk '{ bytes += $NF } END { print bytes / (12 + 8 + 100 + 4) }')
	[ ! -s "$REASON" ]
}

snooped() {
	on_third "$@" || return
	[ "$SEEN" -eq 0 ] || bad "$SEEN datagrams reach who is not in the group"
}

# that those would be seen
flooded() {
	n3 sh -c 'echo 0 >/sys/class/net/switch/bridge/multicast_snooping'
	on_third "$@" || return
	# six rounds
	[ "$SEEN" -eq 60 ] || bad "$SEEN datagrams reach everybody, of 60"
}

modules() { modprobe -q rdma_ucm || { skip "this kernel has no rdma_ucm"; return; }; }

check modules modules || return
if core_makes_links; then
	check setup setup || return
else
	check setup setup net_up_here || return
fi
check mckey-ipv4 mckey_pair 239.1.1.1 10.1.0.1 10.1.0.2
check mckey-ipv6 mckey_pair ff0e::1:2 fd01::1 fd01::2
check own-ipv4 mckey_pair 239.1.1.2 10.1.0.1 10.1.0.1 ns1
check own-ipv6 mckey_pair ff0e::1:3 fd01::1 fd01::1 ns1
check killed killed
check attached-ipv4 attached 239.1.2.1 10.1.0.2 10.1.0.1
check attached-ipv6 attached ff0e::2:1 fd01::2 fd01::1
if core_makes_links; then
	check rewritten-ipv4 rewritten ip 239.1.2.6 10.1.0.2 10.1.0.1
	check rewritten-ipv6 rewritten ip6 ff0e::2:6 fd01::2 fd01::1
	check full full
	check full-all full all
	check others-leave others_leave
	check vlans vlans && {
		check vlan-mckey mckey_pair 239.1.1.4 10.2.0.1 10.2.0.2 ns2 upper
		check vlan-ipv4 attached 239.1.2.2 10.2.0.2 10.2.0.1 upper 'vlan 5'
		check vlan-ipv6 attached ff0e::2:2 fd02::2 fd02::1 upper 'vlan 5'
		check vlan-goes-ipv4 vlan_goes 239.1.2.3
		check vlan-goes-ipv6 vlan_goes ff0e::2:3
	}
else
	check rewritten skip "the verbs of this core take no group of IPv4 as it is"
	check full skip "the verbs of this core take no group of IPv4 as it is"
	check vlans skip "both ends of the wire are in one namespace"
fi
check no-leaks no_leaks
check clean cleanup_all
if core_makes_links; then
	check bridge setup net_bridged && {
		check snooped-ipv4 snooped 239.1.2.4 10.1.0.2 10.1.0.1
		check snooped-ipv6 snooped ff0e::2:4 fd01::2 fd01::1
		check flooded-ipv4 flooded 239.1.2.5 10.1.0.2 10.1.0.1
		check flooded-ipv6 flooded ff0e::2:5 fd01::2 fd01::1
	}
	check bridge-clean cleanup_all
	ip netns del ns3
fi
