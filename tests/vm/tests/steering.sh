# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# steering.sh - which CPU, queue and class packets take: by their source port, which
# receivers spread connections by, and each connection keeps; and by their traffic class,
# which chooses the band of a qdisc, the DSCP, and the priority in a VLAN tag (PCP), which
# switches know lossless classes (PFC) by.
#
# programs/tally.py tells of what arrives. That a moving process does not take a connection
# from queue to queue is a case of paths.sh.
# packages: python3

# shellcheck source=tests/vm/netdevs.sh
. "$VM/netdevs.sh"
# shellcheck source=tests/vm/cm.sh
. "$VM/cm.sh"

QPS=24

net_up_queues() { QUEUES=2 net_up; }

# tally NS NETDEV ARGUMENTS...: in the background
tally() {
	ip netns exec "$1" /usr/bin/python3 "$VM/programs/tally.py" "$2" $((PATIENCE * 2)) "${@:3}" \
		>"$CASE_LOG.tally" 2>"$CASE_LOG.listening" &
	TALLY=$!
	eventually grep -q listening "$CASE_LOG.listening" ||
		bad "tally.py does not listen: $(tail -n 1 "$CASE_LOG.listening")"
}

# ---- ports, CPUs, queues -------------------------------------------------------------

# connections PID: of a process of rxe1 "QPN PEER'S-QPN SOURCE-PORT", those that have a port
connections() {
	awk -v pid="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$(at["pid"]) == pid && $(at["type"]) == "RC" && $(at["sport"]) > 0 {
			print $(at["qpn"]), $(at["rqpn"]), $(at["sport"]) }' /sys/kernel/debug/rxe/rxe1/qp
}
all_connected() { [ "$(connections "$CLIENT" | wc -l)" -eq $QPS ]; }

# many KIND: WRITEs by $QPS queue pairs until the case is over, and their PORTS
many() {
	local options=(-F -p 18600 -D 600 -s 4096 -q "$QPS" -t 16) local_qpn peer_qpn port label wrong=''

	ib_write_bw "${options[@]}" -d rxe0 -x "$(gid_index rxe0 "$1")" >"$CASE_LOG.server" 2>&1 &
	TRAFFIC=$!
	eventually traffic_listens || bad "the server does not listen" || return
	ib_write_bw "${options[@]}" -d rxe1 -x "$(gid_index rxe1 "$1")" 127.0.0.1 >"$CASE_LOG.client" 2>&1 &
	CLIENT=$!
	TRAFFIC+=" $CLIENT"
	eventually all_connected || bad "not $QPS connections: $(tail -n 1 "$CASE_LOG.client")" || return
	PORTS=()
	while read -r local_qpn peer_qpn port; do
		# without a flow label: from the numbers of both, so the same in both directions
		label=$((local_qpn * peer_qpn))
		label=$((label ^ label >> 20))
		label=$(((label ^ label >> 40) & 0xfffff))
		[ "$port" -eq $((0xc000 | ((label & 0x3fff) ^ label >> 14))) ] ||
			wrong+="port $port of $local_qpn and $peer_qpn "
		PORTS+=("$port")
	done < <(connections "$CLIENT")
	[ -z "$wrong" ] || bad "$wrong"
}

# spread_ports: of random numbers; two of them may be the same by chance, some are not
spread_ports() {
	local distinct

	distinct=$(printf '%s\n' "${PORTS[@]}" | sort -u | wc -l)
	echo "$distinct ports: ${PORTS[*]}"
	[ "$distinct" -ge $((QPS - 4)) ] || bad "$QPS connections have $distinct ports"
}

# steered MASK: CPUs that packets for veth0 may be left to
steered() {
	local q

	for q in 0 1; do
		n1 sh -c "echo $1 >/sys/class/net/veth0/queues/rx-$q/rps_cpus" || return
	done
}

# cpus KIND: the kernel chooses a CPU by addresses and ports. Each CPU gets connections, and
# each connection has one CPU, whatever it sends. (That one of two gets all of 24: once in
# eight million.)
cpus() {
	local status=0

	[ "$(nproc)" -gt 1 ] || { skip "one CPU"; return; }
	steered "$(printf %x $(((1 << $(nproc)) - 1)))" || { skip "no receive packet steering here"; return; }
	many "$1" && spread_ports && tally ns1 veth0 20 "${PORTS[@]}" || status=1
	if [ $status -eq 0 ] && ! wait "$TALLY"; then
		bad "no 20 packets of each connection"
		status=1
	fi
	steered 0
	[ $status -eq 0 ] || return
	cat "$CASE_LOG.tally"
	awk -v ports="${PORTS[*]}" '
		BEGIN { n = split(ports, list, " "); for (i = 1; i <= n; i++) known[list[i]] = 1 }
		!($5 in known) { print "port " $5 " is of no connection"; wrong = 1 }
		$5 in cpu && cpu[$5] != $1 { print "port " $5 ": CPUs " cpu[$5] " and " $1; wrong = 1 }
		{ cpu[$5] = $1; if (!($1 in used)) { used[$1] = 1; cpus++ } }
		END { if (cpus < 2) { print "all on one CPU"; wrong = 1 }; exit wrong }
	' "$CASE_LOG.tally" >"$CASE_LOG.wrong" || bad "$(tr '\n' ';' <"$CASE_LOG.wrong")"
}

# sent_by QUEUE: packets
sent_by() {
	n2 tc -s qdisc show dev veth1 | awk -v handle="1$1:" '
		$1 == "qdisc" { at = $3 } $1 == "Sent" && at == handle { print $4; exit }'
}
both_used() { [ "$(sent_by 1)" -ge 100 ] && [ "$(sent_by 2)" -ge 100 ]; }

# queues: the kernel chooses a transmit queue of the sender likewise
queues() {
	local status=0 q

	n2 tc qdisc add dev veth1 root handle 1: mq || { skip "this kernel has no qdisc mq"; return; }
	for q in 1 2; do
		n2 tc qdisc add dev veth1 parent 1:$q handle 1$q: pfifo limit 10000 || status=1
	done
	[ $status -eq 0 ] || bad "no queue below mq"
	[ $status -ne 0 ] || many v4 || status=1
	[ $status -ne 0 ] || eventually both_used ||
		bad "transmit queues have sent $(sent_by 1) and $(sent_by 2) packets" || status=1
	n2 tc -s qdisc show dev veth1
	n2 tc qdisc del dev veth1 root
	return $status
}

# ---- priorities ----------------------------------------------------------------------

# Linux makes a priority of a TOS: 0x10 is interactive (6), 0x08 bulk (2), both of them 4. A
# band for each of those, the first for what says nothing, the second for anything else.
bands_up() {
	n1 tc qdisc add dev veth0 root handle 1: prio bands 5 priomap 0 1 2 1 3 1 4 1 1 1 1 1 1 1 1 1 &&
		n2 tc qdisc add dev veth1 root handle 1: prio bands 5 priomap 0 1 2 1 3 1 4 1 1 1 1 1 1 1 1 1 ||
		bad "tc does not take prio"
}
bands_down() {
	n1 tc qdisc del dev veth0 root
	n2 tc qdisc del dev veth1 root
} 2>/dev/null

# in_band I BAND: packets of rxeI's netdev
in_band() {
	ip netns exec "ns$(($1 + 1))" tc -s class show dev "veth$1" | awk -v class="1:$2" '
		$1 == "class" { at = $3 } $1 == "Sent" && at == class { print $4; exit }'
}

# by_band BAND STRAY COMMAND...: what both devices send meanwhile is of that band, but for
# STRAY packets of each
by_band() {
	local band=$1 stray=$2 i sent=() put=() status=0

	shift 2
	for i in 0 1; do
		sent[i]=$(counter rxe$i sent_pkts) put[i]=$(in_band $i "$band")
	done
	"$@" || return
	n1 tc -s class show dev veth0
	n2 tc -s class show dev veth1
	for i in 0 1; do
		sent[i]=$(($(counter rxe$i sent_pkts) - sent[i])) put[i]=$(($(in_band $i "$band") - put[i]))
		echo "rxe$i: ${sent[i]} packets, ${put[i]} in band $band"
		[ "${sent[i]}" -ge 500 ] || bad "rxe$i has sent ${sent[i]} packets only" || status=1
		[ $((sent[i] - put[i])) -le "$stray" ] ||
			bad "rxe$i: ${put[i]} of ${sent[i]} packets are in band $band" || status=1
	done
	return $status
}

# marked AT "VLAN PCP TOS" STRAY COMMAND...: what arrives at the netdev vethAT is marked so
marked() {
	local at=$1 marks=$2 stray=$3 strays status=0

	shift 3
	tally "ns$((at + 1))" "veth$at" 500 || return
	"$@" || status=1
	[ $status -eq 0 ] || kill "$TALLY" 2>/dev/null
	wait "$TALLY" || [ $status -ne 0 ] || bad "less than 500 packets have come" || status=1
	[ $status -eq 0 ] || return
	cat "$CASE_LOG.tally"
	strays=$(awk -v marks="$marks" '$2 " " $3 " " $4 != marks { n += $6 } END { print n + 0 }' "$CASE_LOG.tally")
	[ "$strays" -le "$stray" ] ||
		bad "$strays packets are not marked $marks (VLAN, PCP, TOS): $(tr '\n' ';' <"$CASE_LOG.tally")"
}

# classed BAND TOS PROGRAM OPTIONS...: of perftest. Payload arrives at veth0, and at veth1 if
# it is read. Who asks for no ECN field is ECN-capable, but for datagrams.
classed() {
	local at=0

	[[ $3 != ib_read_* ]] || at=1
	marked $at "- - $2" 0 by_band "$1" 0 perftest "${@:3}" -n 1000
}

# How perftest sets up connections by rdma_cm is its own business: they may come without.
CM_STRAY=100

by_cm() { # BAND TOS ADDRESS OPTIONS...
	core_makes_links || { skip "rdma_cm of this kernel has no TOS for RoCE"; return; }
	cm_modules || return
	marked 0 "- - $2" $CM_STRAY by_band "$1" $CM_STRAY \
		cm_perftest "$3" ib_write_lat -s 1024 -n 1000 "${@:4}"
}

vlan_up() {
	local ns

	uppers vlan || return
	for ns in ns1 ns2; do
		ip netns exec $ns ip link set dev upper type vlan egress-qos-map 2:3 6:5 ||
			bad "no priorities for a VLAN" || return
	done
	eventually has_gid rxe0 1 && eventually has_gid rxe1 2 ||
		bad "no GIDs of the VLAN: $(gids rxe0 | tr '\n' ' ') $(gids rxe1 | tr '\n' ' ')"
}

# tagged PCP TOS TCLASS
tagged() {
	local options=(-F -p 18515 -s 1024 -n 1000 --tclass="$3")

	PORT=18515
	marked 0 "5 $1 $2" 0 pair "$PATIENCE" ib_write_lat "${options[@]}" -d rxe0 -x "$(gid_of rxe0 1)" -- \
		ib_write_lat "${options[@]}" -d rxe1 -x "$(gid_of rxe1 2)" 10.2.0.1
}

tagged_by_cm() {
	core_makes_links || { skip "rdma_cm of this kernel has no TOS for RoCE"; return; }
	cm_modules || return
	marked 0 "5 5 18" $CM_STRAY cm_perftest 10.2.0.1 ib_write_lat -s 1024 -n 1000 -T 16
}

if ! peers_elsewhere; then
	check steering skip "peers are found in the initial namespace only"
	return
fi
check setup setup net_up_queues || return
check cpus cpus v4
check cpus-ipv6 cpus v6
check queues queues
if ! modprobe -q sch_prio; then
	check bands skip "no sch_prio here"
elif check bands bands_up; then
	check plain classed 1 2 ib_write_lat -s 1024
	check interactive classed 5 18 ib_write_lat -s 1024 --tclass=16
	GID_KIND=v6 check bulk-ipv6 classed 3 106 ib_write_lat -s 1024 --tclass=104
	# DSCP 46
	check read classed 4 186 ib_read_lat -s 1024 --tclass=184
	check uc classed 5 18 ib_write_lat -c UC -s 1024 --tclass=16
	check ud classed 3 104 ib_send_lat -c UD -s 1024 --tclass=104
	check rdma-cm by_cm 5 18 10.1.0.1 -T 16
	bands_down
fi
if check vlan vlan_up; then
	check vlan-plain tagged 0 2 0
	check vlan-interactive tagged 5 18 16
	check vlan-bulk tagged 3 106 104
	check vlan-rdma-cm tagged_by_cm
fi
check no-leaks no_leaks
check clean cleanup_all
