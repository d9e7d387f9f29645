# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# lib.sh - what the tests in a guest are written with.
#
# The topology of most of them:
#
#	namespace ns1                        namespace ns2
#	+--------------------+              +--------------------+
#	| rxe0 on veth0      |              | rxe1 on veth1      |
#	| 10.1.0.1  fd01::1  |==== veth ====| 10.1.0.2  fd01::2  |
#	| servers            |              | clients            |
#	+--------------------+              +--------------------+
#
# A test file tests/vm/tests/NAME.sh is run by tests/vm/guest: it calls `check
# CASE COMMAND...` for each case, and prints one line for each of them:
#
#	ok NAME/CASE (seconds)
#	not ok NAME/CASE: reason
#	skip NAME/CASE: reason
#
# A case passes if COMMAND returns 0 and the kernel log gained no line that
# tests/vm/splats knows. COMMAND says why it fails by calling `bad`. What it
# prints goes to $LOGS/NAME/CASE.log.
#
# An error of bash itself (in arithmetic, say) ends the command or the whole file
# without a word: a case that has begun and not ended has failed.

set -u

VM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
LOGS=${LOGS:-/tmp/rxe-logs}
FILE=${FILE:-shell}
REASON=$(mktemp)
CASE_LOG=/dev/null
# Emulated CPUs and hosts that have other work: all limits are generous.
PATIENCE=${PATIENCE:-60}
PORT=18515
VETH_MTU=4500

# ---- cases -----------------------------------------------------------------

# bad MESSAGE: say why the case fails; returns 1
bad() {
	printf '%s\n' "$*" >>"$REASON"
	return 1
}

mark() { printf 'rxe-test: %s\n' "$*" >/dev/kmsg; }

# splats: print what the kernel log gained since the last mark
splats() {
	dmesg | awk '/rxe-test: / { n = 0; delete line } { line[++n] = $0 }
		END { for (i = 1; i <= n; i++) print line[i] }' | grep -aE -f "$VM/splats"
}

# The case that has begun, until it has its result line
CASE=

# unfinished: a result for a case that bash has given up
unfinished() {
	[ -n "$CASE" ] || return 0
	[ -z "${TRAFFIC-}" ] || traffic_kill
	printf 'not ok %s/%s: an error of the script ended it: %s\n' "$FILE" "$CASE" \
		"$(tail -n 1 "$CASE_LOG")"
	CASE=
}

# run_file SCRIPT: a test file, to its end
run_file() {
	trap 'unfinished; printf "not ok %s/end: an error of the script ended the file\n" "$FILE"' EXIT
	# shellcheck source=/dev/null
	. "$1"
	unfinished
	trap - EXIT
}

# is_wanted CASE: where some of this file were named (tests/run vm FILE/CASE), is it one of
# them, or what sets them up and cleans up?
is_wanted() {
	[[ " ${CASES-} " == *" $FILE/"* ]] || return 0
	[[ $1 == *setup* || $1 == clean || " $CASES " == *" $FILE/$1 "* ]]
}

check() {
	local case=$1 status start=$SECONDS why

	unfinished
	is_wanted "$case" || return 0
	CASE=$case
	shift
	CASE_LOG=$LOGS/$FILE/$case.log
	[ -d "${CASE_LOG%/*}" ] || mkdir -p "${CASE_LOG%/*}"
	: >"$REASON"
	mark "$FILE/$case"
	"$@" >"$CASE_LOG" 2>&1
	status=$?
	[ -z "${TRAFFIC-}" ] || traffic_kill
	splats >"$CASE_LOG.splats"
	if [ -s "$CASE_LOG.splats" ]; then
		bad "kernel log: $(head -n 1 "$CASE_LOG.splats")"
		status=1
	else
		rm -f "$CASE_LOG.splats"
	fi
	# what was called bad and then passed over is bad all the same
	if [ "$status" -eq 0 ] && [ -s "$REASON" ]; then
		status=1
	fi
	if [ "$status" -eq 77 ]; then
		printf 'skip %s/%s: %s\n' "$FILE" "$case" "$(tr '\n' ' ' <"$REASON")"
	elif [ "$status" -eq 0 ]; then
		printf 'ok %s/%s (%d s)\n' "$FILE" "$case" $((SECONDS - start))
	else
		why=$(tr '\n' ';' <"$REASON")
		printf 'not ok %s/%s: %s\n' "$FILE" "$case" "${why:-status $status}"
		{
			echo "failed: $why (status $status)"
			rdma link show
			rdma resource show
		} >>"$CASE_LOG" 2>&1
		sed 's/^/  | /' "$CASE_LOG" | tail -n 25
	fi
	CASE=
	return "$status"
}

# skip REASON: the case cannot run here; use as `skip ...; return`
skip() {
	printf '%s\n' "$*" >>"$REASON"
	return 77
}

# eventually COMMAND...: true within $PATIENCE seconds?
eventually() {
	local end=$((SECONDS + PATIENCE))

	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# expect_error PATTERN COMMAND...: COMMAND fails and says PATTERN
expect_error() {
	local pattern=$1 text status

	shift
	# timeout runs programs, not functions
	case $1 in
	n1) set -- ip netns exec ns1 "${@:2}" ;;
	n2) set -- ip netns exec ns2 "${@:2}" ;;
	esac
	text=$(timeout "$PATIENCE" "$@" 2>&1)
	status=$?
	printf '%s: status %d, %s\n' "$*" "$status" "$text"
	[ "$status" -ne 0 ] || { bad "'$*' succeeded"; return; }
	case $status in
	124 | 126 | 127) bad "'$*' hangs or cannot run: status $status"; return ;;
	esac
	grep -qiE -- "$pattern" <<<"$text" || bad "'$*' says '$text', not '$pattern'"
}

# memory_leaks: what kmemleak finds, if this kernel has it. It believes an object
# younger than five seconds, and one scan may miss what another CPU holds.
memory_leaks() {
	local file=/sys/kernel/debug/kmemleak

	sleep 6
	# what there are fewest of is scanned soonest
	echo 3 >/proc/sys/vm/drop_caches
	echo scan >$file && sleep 1 && echo scan >$file && cat $file >"$CASE_LOG.leaks" ||
		bad "kmemleak does not scan" || return
	echo clear >$file
	[ ! -s "$CASE_LOG.leaks" ] || {
		head -n 60 "$CASE_LOG.leaks"
		bad "$(grep -c '^unreferenced' "$CASE_LOG.leaks") objects leaked, all in $(basename "$CASE_LOG.leaks")"
	}
}

# ---- driver, devices -----------------------------------------------------------

n1() { ip netns exec ns1 "$@"; }
n2() { ip netns exec ns2 "$@"; }

# driver_is_ours: is the module under test loaded, not the kernel's own?
driver_is_ours() {
	[ -e /sys/module/rdma_rxe ] || bad "rdma_rxe is not loaded" || return
	[ -z "${RXE_OURS-}" ] && return
	grep -q O /sys/module/rdma_rxe/taint ||
		bad "the kernel's own rdma_rxe is loaded, not the one under test"
}

driver_load() {
	# What udev does for a new RDMA device; the newer cores do it themselves.
	modprobe -q ib_uverbs
	timeout "$PATIENCE" modprobe rdma_rxe || bad "modprobe rdma_rxe fails" || return
	driver_is_ours
}

driver_unload() {
	timeout -k 1 "$PATIENCE" modprobe -r rdma_rxe ||
		bad "modprobe -r rdma_rxe: status $?, refcnt $(cat /sys/module/rdma_rxe/refcnt 2>&1)" || return
	[ ! -e /sys/module/rdma_rxe ] || bad "rdma_rxe is still there"
}

# net_up: namespaces, veth pair, addresses
net_up() { ip netns add ns1 && ip netns add ns2 && net_pair; }

# net_pair: the pair between what ns1 and ns2 are the names of; QUEUES: of each netdev
net_pair() {
	local queues=(numtxqueues "${QUEUES:-1}" numrxqueues "${QUEUES:-1}")

	ip link add veth0 mtu "$VETH_MTU" netns ns1 "${queues[@]}" type veth \
			peer name veth1 mtu "$VETH_MTU" netns ns2 "${queues[@]}" &&
		net_end 1 && net_end 2 || bad "cannot make the namespaces and the veth pair"
}

# has_ipv6: does this kernel? Not with ipv6.disable=1.
has_ipv6() { [ -e /proc/net/if_inet6 ]; }

# net_end N: addresses of nsN; in few processes, for they cost most of a guest's time
net_end() {
	local dev=veth$(($1 - 1)) six=true

	! has_ipv6 || six="echo 0 >/proc/sys/net/ipv6/conf/$dev/accept_dad"
	ip netns exec "ns$1" sh -c "$six && ip -batch -" <<-END
		addr add 10.1.0.$1/24 dev $dev
		$(! has_ipv6 || echo "addr add fd01::$1/64 dev $dev nodad")
		link set lo up
		link set $dev up
	END
}

# Is there while net_up_here's routing rules are
RULES=/run/rxe-test-rules

# net_up_here: the same where ns1 and ns2 are both names of the initial namespace,
# for a core that looks for addresses there only. Each of the addresses is local
# and reached over the wire all the same: what is sent to it looks into a table of
# its own before the table of local addresses, which what arrives finds later.
net_up_here() {
	local i other mac table family families=-4

	! has_ipv6 || families='-4 -6'
	ip netns attach ns1 $$ && ip netns attach ns2 $$ &&
		ip link add veth0 mtu "$VETH_MTU" type veth peer name veth1 mtu "$VETH_MTU" ||
		bad "cannot name the initial namespace and make the veth pair" || return
	for i in 0 1; do
		sysctl -qw "net.ipv4.conf.veth$i.accept_local=1" "net.ipv4.conf.veth$i.rp_filter=0" \
			"net.ipv4.conf.veth$i.arp_ignore=1" &&
			ip addr add "10.1.0.$((i + 1))/24" dev "veth$i" noprefixroute || bad "cannot set up veth$i" || return
		! has_ipv6 || {
			sysctl -qw "net.ipv6.conf.veth$i.accept_dad=0" &&
				ip -6 addr add "fd01::$((i + 1))/64" dev "veth$i" nodad noprefixroute
		} || bad "cannot set up veth$i" || return
		ip link set "veth$i" up || bad "cannot set up veth$i" || return
	done
	sysctl -qw net.ipv4.conf.all.rp_filter=0
	: >"$RULES"
	for family in $families; do
		ip "$family" rule add pref 32000 lookup local && ip "$family" rule del pref 0 ||
			bad "cannot move the rule for local addresses" || return
	done
	for i in 0 1; do
		other=$((1 - i)) table=$((100 + i))
		mac=$(cat "/sys/class/net/veth$other/address")
		for family in $families; do
			set -- "10.1.0.$((i + 1))" "10.1.0.$((other + 1))"
			[ "$family" = -4 ] || set -- "fd01::$((i + 1))" "fd01::$((other + 1))"
			ip "$family" rule add pref $table iif lo to "$2" lookup $table &&
				ip "$family" rule add pref $((table + 2)) oif "veth$i" to "$2" lookup $table &&
				ip "$family" route add "$2" dev "veth$i" src "$1" table $table &&
				ip neigh replace "$2" dev "veth$i" lladdr "$mac" nud permanent ||
				bad "cannot send veth$i's packets over the wire" || return
		done
	done
}

# veth_bursts MODE: what the veth pair does with bursts of packets in one skb
#   whole   passes them on, as it does by itself
#   cut     has the driver's segmenter cut them
#   single  says so beforehand: the driver sends single packets
veth_bursts() {
	local tunnel=on gso=on i

	case $1 in
	cut) tunnel=off ;;
	single) gso=off ;;
	esac
	for i in 1 2; do
		ip netns exec ns$i ethtool -K veth$((i - 1)) gso $gso tx-udp_tnl-segmentation $tunnel
	done || bad "ethtool cannot make veth handle bursts: $1"
}

# A device counts an skb as one packet, the driver counts packets.
skbs() { n2 cat "/sys/class/net/${1:-veth1}/statistics/tx_packets"; }

# skbs_per_100 COMMAND...: SHARE is how many skbs leave by $BELOW, veth1, for 100 of the packets
# that rxe1 sends meanwhile
skbs_per_100() {
	local skbs0 packets0 skbs packets

	skbs0=$(skbs "${BELOW-}") packets0=$(counter rxe1 sent_pkts)
	"$@" || return
	skbs=$(($(skbs "${BELOW-}") - skbs0)) packets=$(($(counter rxe1 sent_pkts) - packets0))
	echo "$packets packets in $skbs skbs"
	[ $packets -ge 1000 ] || bad "the driver counts only $packets packets" || return
	# shellcheck disable=SC2034 # for who calls it
	SHARE=$((skbs * 100 / packets))
}

# singles NS NETDEV: it sends one packet an skb, as over a wire
singles() { ip netns exec "$1" ethtool -K "$2" gso off tso off; }

# gro on|off: of both ends
gro() {
	n1 ethtool -K veth0 gro "$1" && n2 ethtool -K veth1 gro "$1" ||
		bad "ethtool cannot switch GRO $1"
}

# veth_merges: have the pair do what network cards do: each packet is one skb, and a poll
# takes several, which are merged. Before 5.13 a veth device always says that it merges, and
# only does with an XDP program. Not to be called again, but "gro off" ends it.
veth_merges() {
	if n1 ethtool -k veth0 | grep -q '^generic-receive-offload: on'; then
		skip "the veth devices of this kernel poll with an XDP program only"
		return
	fi
	singles ns1 veth0 && singles ns2 veth1 && gro on || bad "ethtool cannot set up the pair"
}

net_down() {
	local ns family

	for ns in ns1 ns2; do
		[ ! -e /run/netns/$ns ] || ip netns del $ns
	done
	[ ! -e /sys/class/net/veth0 ] || ip link del veth0
	# what net_up_here has done to the routing rules
	[ -e "$RULES" ] || return 0
	for family in -4 $(! has_ipv6 || echo -6); do
		ip "$family" rule add pref 0 lookup local
		for ns in 100 101 102 103 32000; do
			ip "$family" rule del pref $ns
		done
	done
	rm "$RULES"
}

PARAMETERS=/sys/module/rdma_rxe/parameters

# link_add NS NAME NETDEV
link_add() {
	if ! tool_makes_links; then
		timeout "$PATIENCE" ip netns exec "$1" sh -c "echo $3 $2 >$PARAMETERS/add" ||
			bad "echo $3 $2 >$PARAMETERS/add (in $1): status $?"
		return
	fi
	timeout "$PATIENCE" ip netns exec "$1" rdma link add "$2" type rxe netdev "$3" ||
		bad "rdma link add $2 type rxe netdev $3 (in $1): status $?"
}

link_delete() {
	if ! tool_makes_links; then
		timeout "$PATIENCE" sh -c "echo $1 >$PARAMETERS/remove" ||
			bad "echo $1 >$PARAMETERS/remove: status $?"
		return
	fi
	timeout "$PATIENCE" rdma link delete "$1" || bad "rdma link delete $1: status $?"
}

device_exists() { [ -e "/sys/class/infiniband/$1" ]; }
device_gone() { ! device_exists "$1"; }

# port_state DEVICE: ACTIVE, DOWN
port_state() {
	local state

	read -r state <"/sys/class/infiniband/$1/ports/1/state" && echo "${state##*: }"
}

# setup [TOPOLOGY]: driver, TOPOLOGY (as a rule net_up), both devices; remembers the
# object counts
setup() {
	local topology=net_up kind

	peers_elsewhere || topology=net_up_here
	driver_load && "${1:-$topology}" && link_add ns1 rxe0 veth0 && link_add ns2 rxe1 veth1 || return
	driver_is_ours || return
	eventually port_is rxe0 ACTIVE && eventually port_is rxe1 ACTIVE ||
		bad "ports are $(port_state rxe0), $(port_state rxe1), not ACTIVE" || return
	# The address events that fill the GID table come a little later.
	for kind in $(! has_ipv6 || echo v6) v4; do
		eventually gid_index rxe0 "$kind" >/dev/null && eventually gid_index rxe1 "$kind" >/dev/null ||
			bad "the GID tables lack addresses: $(gids rxe0) $(gids rxe1)" || return
	done
	BASELINE=$(counts)
	echo "$BASELINE"
}

port_is() { [ "$(port_state "$1" 2>/dev/null)" = "$2" ]; }

# counts: the objects of all devices (the core keeps a few of its own)
counts() { rdma resource show | sed 's/^[0-9]*: //' | sort; }
# Devices may be gone; those that are there have what they had.
counts_are_back() { ! counts | grep -vxF -- "$BASELINE" | grep -q .; }

# no_leaks: all objects that programs made are gone
no_leaks() {
	eventually counts_are_back ||
		bad "objects left: $(counts | tr '\n' ' ') instead of $(tr '\n' ' ' <<<"$BASELINE")"
}

# cleanup_all: no objects, devices deleted, namespaces deleted, driver unloads
cleanup_all() {
	local dev status=0

	no_leaks || status=1
	for dev in rxe0 rxe1; do
		! device_exists $dev || link_delete $dev || status=1
	done
	net_down
	driver_unload || status=1
	return $status
}

# core_makes_links: does the RDMA core itself have "rdma link add" (5.1 and later),
# and so loads the driver that makes the link? Before, the driver serves it. Ask
# depmod's index, and /proc/kallsyms only about what is built in: the symbols of
# modules move in it while any module comes or goes, and a reader may miss some.
core_makes_links() {
	if [ -z "${CORE_MAKES_LINKS-}" ]; then
		CORE_MAKES_LINKS=no
		! exports rdma_link_register &&
			! grep -v '\[' /proc/kallsyms | grep -w rdma_link_register >/dev/null ||
			CORE_MAKES_LINKS=yes
	fi
	[ "$CORE_MAKES_LINKS" = yes ]
}

# exports SYMBOL: does a module of this kernel?
exports() { grep -qsw "symbol:$1" "/lib/modules/$(uname -r)/modules.symbols"; }

# tool_makes_links: is there "rdma link add"? From 4.14 to 5.0 the core has commands of
# its own in the place of the driver's, and no such one.
tool_makes_links() {
	core_makes_links ||
		! exports rdma_nl_register
}

# peers_elsewhere: do queue pairs and address handles find their peers outside the
# initial namespace? From 4.12 to 4.19 the core looks for the peer's MAC address there,
# whatever the port says, before the driver is asked.
peers_elsewhere() {
	core_makes_links ||
		! exports rdma_create_ah
}

# fresh_start: whatever the last file left
fresh_start() {
	local dev

	for dev in /sys/class/infiniband/*; do
		[ ! -e "$dev" ] || PATIENCE=20 link_delete "${dev##*/}"
	done
	net_down
	[ ! -e /sys/module/rdma_rxe ] || timeout 20 modprobe -r rdma_rxe
} >/dev/null 2>&1

gids() { head -n 8 "/sys/class/infiniband/$1/ports/1/gids/"* 2>/dev/null | grep -v 0000:0000:0000:0000:0000:0000:0000:0000; }

# gid_index DEVICE v4|v6|ll: index of the RoCE v2 GID of that kind (fd01:: between
# namespaces, fd77:: between guests)
gid_index() {
	local dir=/sys/class/infiniband/$1/ports/1 i gid type pattern

	case $2 in
	v4) pattern='0000:0000:0000:0000:0000:ffff:*' ;;
	v6) pattern='fd[07][17]:*' ;;
	ll) pattern='fe80:*' ;;
	esac
	for i in 0 1 2 3 4 5 6 7; do
		{ read -r gid <"$dir/gids/$i"; } 2>/dev/null || continue
		# shellcheck disable=SC2053 # a pattern
		[[ $gid == $pattern ]] || continue
		{ read -r type <"$dir/gid_attrs/types/$i"; } 2>/dev/null || continue
		[ "$type" = 'RoCE v2' ] || continue
		echo "$i"
		return
	done
	return 1
}

# program NAME ARGUMENT...: of tests/vm/programs
program() {
	local name=$1

	shift
	[ -x "${PROGRAMS:-.}/$name" ] || { skip "no programs: start it with tests/run vm"; return; }
	timeout -k 5 $((PATIENCE * 2)) "$PROGRAMS/$name" "$@" ||
		bad "$name: status $?: $(tail -n 1 "$CASE_LOG")"
}

counter() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2" 2>/dev/null || echo n/a; }

# arrived NETDEV: bytes that it has received, in the initial namespace. What goes from memory
# to memory within the host is counted by devices, but not by netdevs.
arrived() { cat "/sys/class/net/$1/statistics/rx_bytes"; }

# crossed MIB: so much has gone over the wire, in both directions
crossed() {
	local netdev

	for netdev in veth0 veth1; do
		[ "$(arrived $netdev)" -gt $(($1 * 1024 * 1024)) ] ||
			bad "$netdev has received $(arrived $netdev) bytes only" || return
	done
}

# udp_sockets NS: the sockets of the driver there, one address family a line
udp_sockets() { ip netns exec "$1" cat /proc/net/udp /proc/net/udp6 | grep -c ':12B7 '; }

# ---- two programs ------------------------------------------------------------

listens() { [ -n "$(n1 ss -Htln "sport = :$1")" ]; }

# pair LIMIT SERVER... -- CLIENT...: the server runs in ns1, the client in ns2
# when the server listens on $PORT; both must end with status 0 within LIMIT.
pair() {
	local limit=$1 server=() server_pid server_status status=0

	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	echo "server: ${server[*]}"
	echo "client: $*"
	timeout -k 2 "$limit" ip netns exec ns1 "${server[@]}" >"$CASE_LOG.server" 2>&1 &
	server_pid=$!
	if ! eventually listens_or_ended "$server_pid"; then
		bad "the server does not listen"
	fi
	timeout -k 2 "$limit" ip netns exec ns2 "$@" >"$CASE_LOG.client" 2>&1 ||
		{ status=$?; bad "client: $(ended $status "$limit" "$CASE_LOG.client")"; }
	# A client that failed leaves its server waiting.
	[ $status -eq 0 ] || kill "$server_pid" 2>/dev/null
	wait "$server_pid"
	server_status=$?
	if [ $status -eq 0 ] && [ $server_status -ne 0 ]; then
		status=$server_status
		bad "server: $(ended $status "$limit" "$CASE_LOG.server")"
	fi
	cat "$CASE_LOG.client"
	if [ $status -ne 0 ]; then
		echo "-- server:"
		cat "$CASE_LOG.server"
	fi
	return $status
}

listens_or_ended() { listens "$PORT" || ! kill -0 "$1" 2>/dev/null; }

ended() {
	if [ "$1" -eq 124 ]; then
		echo "not done after $2 s"
	else
		# perftest says "error" first, and the status of the completion behind it
		echo "status $1: $(grep -aiE 'fail|error|unable|couldn|status' "$3" | head -n 3 | tr '\n' ' ')"
	fi
}

# pingpong_by PROGRAM OPTIONS...: an ibv_*_pingpong, both ways, contents checked
pingpong_by() {
	local program=$1 kind=${GID_KIND:-v4}

	shift
	PORT=18515
	pair "$PATIENCE" "$program" -c -p $PORT -d rxe0 -g "$(gid_index rxe0 "$kind")" "$@" -- \
		"$program" -c -p $PORT -d rxe1 -g "$(gid_index rxe1 "$kind")" "$@" 10.1.0.1 || return
	grep -q 'iters in' "$CASE_LOG.client" || bad "no result line" || return
	! grep -aE 'invalid data|memcmp' "$CASE_LOG.client" "$CASE_LOG.server" || bad "wrong data"
}

pingpong() { pingpong_by ibv_rc_pingpong "$@"; }

# perftest PROGRAM OPTIONS...: one perftest program; its table must have a row
# for each size asked for, with a number above zero in it
perftest() {
	local program=$1 kind=${GID_KIND:-v4} limit=${LIMIT:-$PATIENCE}

	shift
	PORT=18515
	pair "$limit" "$program" -F -p $PORT -d rxe0 -x "$(gid_index rxe0 "$kind")" "$@" -- \
		"$program" -F -p $PORT -d rxe1 -x "$(gid_index rxe1 "$kind")" "$@" 10.1.0.1 || return
	perftest_table "$CASE_LOG.client" "$@"
}

# perftest_inline BYTES PROGRAM OPTIONS...: with payload of up to BYTES in the work requests
perftest_inline() {
	local bytes=$1 program=$2 log

	shift 2
	LD_PRELOAD=$PROGRAMS/inline.so perftest "$program" -I "$bytes" "$@" || return
	for log in "$CASE_LOG.client" "$CASE_LOG.server"; do
		grep -q "Max inline data *: *$bytes\[B\]" "$log" ||
			bad "not inline: $(grep -iE 'inline' "$log" | tr '\n' ' ')" || return
	done
}

# rows of numbers: SIZE ITERATIONS VALUES..., each value column 4 above zero; unless
# perftest says that the clock of this machine is too uneven for it to be calibrated,
# when its values are 0
perftest_table() {
	local log=$1 want=1 rows size='' uneven=0

	shift
	while [ $# -gt 0 ]; do
		case $1 in
		-a) want=23 ;;
		-s) size=$2 ;;
		esac
		shift
	done
	! grep -q 'Correlation coefficient r^2' "$log" || uneven=1
	rows=$(awk -v uneven=$uneven '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 4 &&
		($4 > 0 || $5 > 0 || uneven)' "$log")
	[ "$(grep -c . <<<"$rows")" -eq "$want" ] ||
		bad "$(grep -c . <<<"$rows") rows of results instead of $want" || return
	[ -z "$size" ] || [ "$(awk '{ print $1 }' <<<"$rows")" = "$size" ] ||
		bad "no row of size $size"
}

# ---- traffic in the background -------------------------------------------------

TRAFFIC=

# traffic_start [KIND]: ib_write_bw between the devices, by addresses of that kind (see
# gid_index; v4), until it is stopped. Both programs run in the initial namespace, so that
# ns1 and ns2 can be deleted.
traffic_start() {
	local options=(-F -p 18600 -D 300 -s 65536) kind=${1:-v4}

	ib_write_bw "${options[@]}" -d rxe0 -x "$(gid_index rxe0 "$kind")" >"$CASE_LOG.server" 2>&1 &
	SERVER=$!
	eventually traffic_listens || bad "the server does not listen" || return
	ib_write_bw "${options[@]}" -d rxe1 -x "$(gid_index rxe1 "$kind")" 127.0.0.1 >"$CASE_LOG.client" 2>&1 &
	CLIENT=$!
	TRAFFIC="$SERVER $CLIENT"
	eventually traffic_flows ||
		bad "no traffic: $(tail -n 1 "$CASE_LOG.client")"
}

traffic_listens() { [ -n "$(ss -Htln 'sport = :18600')" ]; }
traffic_flows() { [ "$(n1 cat /sys/class/net/veth0/statistics/rx_packets)" -gt 200 ]; }
traffic_ended() { ! kill -0 "$SERVER" 2>/dev/null && ! kill -0 "$CLIENT" 2>/dev/null; }

traffic_kill() {
	# shellcheck disable=SC2086 # process ids
	kill -9 $TRAFFIC 2>/dev/null
	# shellcheck disable=SC2086
	wait $TRAFFIC 2>/dev/null
	TRAFFIC=
}

# traffic_dies: both programs see errors and end by themselves
traffic_dies() {
	eventually traffic_ended ||
		bad "still running after $PATIENCE s: $(ps -o comm=,stat=,wchan= -p "${TRAFFIC// /,}" | tr '\n' ';')"
}
