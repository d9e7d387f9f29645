# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# shellcheck disable=SC2153 # SERVER and CLIENT are of lib.sh
# visible.sh - what people see of the devices: debugfs, rxestat, "rdma resource", counters
# and tracepoints, compared with what was set up.
# packages: python3-pyverbs tshark trace-cmd linux-perf

# shellcheck source=tests/lib/capture.sh
. "$VM/../lib/capture.sh"

RXESTAT=$VM/../../scripts/rxestat
DEBUG=/sys/kernel/debug/rxe

rxestat() { timeout "$PATIENCE" "$RXESTAT" "$@"; }

# field DEVICE FILE ROW-NAME: value of a line of "NAME VALUE"
field() { awk -v n="$3" '$1 == n { print $2 }' "$DEBUG/$1/$2"; }

# cell DEVICE FILE COLUMN WANTED COLUMN2: of rows whose COLUMN is WANTED, the COLUMN2
cell() {
	awk -v c="$3" -v w="$4" -v o="$5" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$(at[c]) == w { print $(at[o]) }' "$DEBUG/$1/$2"
}

# Where the driver answers for the core, rdma_cm has a queue pair of its own on each
# device, from the moment when somebody wants it: have it before anything is counted.
all_set_up() {
	core_makes_links || { driver_load && modprobe -q rdma_ucm; } || return
	setup
}

files() {
	local dev file

	[ -d $DEBUG ] || bad "no $DEBUG" || return
	for dev in rxe0 rxe1; do
		for file in device stats qp cq mr srq mcast; do
			[ "$(stat -c %a $DEBUG/$dev/$file)" = 400 ] ||
				bad "$dev/$file has mode $(stat -c %a $DEBUG/$dev/$file)" || return
			cat $DEBUG/$dev/$file >"$CASE_LOG.$dev.$file" || bad "cannot read $dev/$file" || return
		done
	done
	[ "$(field rxe0 device netdev)" = veth0 ] && [ "$(field rxe0 device netdev_mtu)" = "$VETH_MTU" ] &&
		[ "$(field rxe0 device netns)" = "$(stat -L -c %i /run/netns/ns1)" ] ||
		bad "rxe0/device: $(cat $DEBUG/rxe0/device)" || return
	# every counter of sysfs is there, and no other
	diff <(find /sys/class/infiniband/rxe0/ports/1/hw_counters/ -type f ! -name lifespan -printf '%f\n' | sort) \
		<(awk '{ print $1 }' $DEBUG/rxe0/stats | sort) || bad "stats and hw_counters differ"
}

no_traffic() {
	rxestat -n || bad "rxestat: status $?" || return
	rxestat --health || bad "not healthy from the start: $(rxestat --health | tr '\n' ' ')" || return
	rxestat -s >/dev/null && rxestat -p >/dev/null && rxestat -l >/dev/null || bad "rxestat -s, -p, -l: status $?"
}

wrong_usage() {
	rxestat --nothing
	[ $? -eq 2 ] || bad "an unknown option is not refused" || return
	rxestat rxe9
	[ $? -eq 3 ] || bad "a device that is not there is not refused" || return
	RXESTAT_ROOT=/nowhere rxestat
	[ $? -eq 3 ] || bad "without debugfs there is no complaint"
}

# What a known transfer adds: pingpong sends and receives on both sides.
known_transfer() {
	local dev name before=() i=0

	for dev in rxe0 rxe1; do
		for name in req_send resp_send req_bytes resp_bytes req_failed; do
			before+=("$(counter $dev $name)")
		done
	done
	pingpong -n 50 -s 1000 || return
	for dev in rxe0 rxe1; do
		for name in req_send:50 resp_send:50 req_bytes:50000 resp_bytes:50000 req_failed:0; do
			[ $(($(counter $dev ${name%:*}) - before[i])) -eq ${name#*:} ] ||
				bad "$dev: ${name%:*} grew by $(($(counter $dev ${name%:*}) - before[i])), not ${name#*:}" || return
			i=$((i + 1))
		done
	done
	[ "$(counter rxe0 ack_sent)" -gt 0 ] || bad "no ACK was counted" || return
	[ $(($(counter rxe0 runs_softirq) + $(counter rxe0 runs_process) + $(counter rxe0 runs_work))) -gt 50 ] ||
		bad "no run of a task was counted"
}

# the QP of the traffic on a device
traffic_qp() { cell "$1" qp comm ib_write_bw qpn; }

# The server only receives, and stays in RTR.
connected() { [ "$(cell rxe0 qp comm ib_write_bw state) $(cell rxe1 qp comm ib_write_bw state)" = "RTR RTS" ]; }
traffic_connected() { eventually connected || bad "no connection: $(rxestat -n)"; }

# One line on each side, that say who talks to whom.
who_talks() {
	local server client line

	traffic_start && traffic_connected || return
	server=$(traffic_qp rxe0) client=$(traffic_qp rxe1)
	rxestat -n
	line=$(rxestat -n rxe0 | awk '$1 == "RC"')
	# shellcheck disable=SC2086 # words
	set -- $line
	[ "$2 $3 $4" = "RTR rxe0 veth0" ] || bad "not RTR on rxe0, veth0: '$line'" || return
	[ "$5 $6" = "10.1.0.1:$server 10.1.0.2:$client" ] || bad "not from $server to $client: '$line'" || return
	[ "$7" = "$SERVER/ib_write_bw" ] || bad "not of process $SERVER: '$line'" || return
	line=$(rxestat -n rxe1 | awk '$1 == "RC"')
	# shellcheck disable=SC2086 # words
	set -- $line
	[ "$5 $6 $7" = "10.1.0.2:$client 10.1.0.1:$server $CLIENT/ib_write_bw" ] || bad "other side: '$line'" || return
	rxestat -p | grep -q "^$CLIENT/ib_write_bw *rxe1 *1 " || bad "no line of the process: $(rxestat -p)" || return
	rxestat --netns -n rxe0 | grep -q ' ns1 ' || bad "no namespace: $(rxestat --netns -n rxe0)" || return
	rxestat -i 1 -c 1 -n >"$CASE_LOG.rates" || bad "rxestat -i: status $?" || return
	cat "$CASE_LOG.rates"
	awk 'NR == 2 && $1 == "RC" && $7 > 0 { ok = 1 } END { exit !ok }' "$CASE_LOG.rates" ||
		bad "the busiest is not the first: $(sed -n 2p "$CASE_LOG.rates")" || return
	rdma_shows "$server" "$client"
}

# rdma_shows SERVER-QPN CLIENT-QPN
rdma_shows() {
	local lines

	rdma -dd resource show qp | tee "$CASE_LOG.rdma"
	lines=$(rdma resource show qp link rxe0/1 | grep "lqpn $1 ")
	grep -q "type RC" <<<"$lines" && grep -q "state RTR" <<<"$lines" && grep -q "rqpn $2 " <<<"$lines" &&
		grep -q "pid $SERVER " <<<"$lines" || bad "rdma resource show qp: '$lines'" || return
	# details of the driver
	for lines in "peer 10.1.0.2" "local 10.1.0.1" "pmtu 4096" "retransmitted_packets"; do
		rdma -dd resource show qp link rxe0/1 | grep -q -- "$lines" || bad "no '$lines' with -dd" || return
	done
	[ "$(rdma resource show qp link rxe0/1 lqpn "$1" | grep -c .)" = 1 ] ||
		bad "lqpn $1: '$(rdma resource show qp link rxe0/1 lqpn "$1" 2>&1)'" || return
	[ "$(rdma resource show qp pid "$CLIENT" | grep -c "lqpn $2 ")" = 1 ] ||
		bad "pid $CLIENT: '$(rdma resource show qp pid "$CLIENT" 2>&1)'" || return
	for lines in "cq dev" "mr dev" "pd dev"; do
		# shellcheck disable=SC2086 # words
		rdma resource show $lines rxe0 pid "$SERVER" | grep -q "comm ib_write_bw" ||
			bad "rdma resource show $lines: '$(rdma resource show $lines rxe0)'" || return
	done
	rdma -dd resource show mr dev rxe0 pid "$SERVER" | grep -q "type user" || bad "no details of a region"
}

# valid JSON, with the numbers of debugfs
json() {
	traffic_start && traffic_connected || return
	rxestat -j >"$CASE_LOG.json" || bad "rxestat -j: status $?" || return
	command -v python3 >/dev/null || { skip "no python3 here to read JSON"; return; }
	python3 - "$CASE_LOG.json" "$SERVER" "$(traffic_qp rxe0)" <<-END || bad "not what is expected: $(head -c 300 "$CASE_LOG.json")"
		import json, sys
		devices = {d["device"]: d for d in json.load(open(sys.argv[1]))["devices"]}
		qp, = [q for q in devices["rxe0"]["qp"] if q["comm"] == "ib_write_bw"]
		assert qp["pid"] == int(sys.argv[2]) and qp["qpn"] == int(sys.argv[3]), qp
		assert qp["local"] == "10.1.0.1" and qp["state"] == "RTR", qp
		mr = [m for m in devices["rxe0"]["mr"] if m["pid"] == int(sys.argv[2])]
		assert mr and max(m["length"] for m in mr) >= 65536, mr
		assert devices["rxe1"]["counters"]["sent_pkts"] > 0
	END
}

# A network that loses packets shows, and says how it was noticed.
lossy() {
	local said=''

	n2 tc qdisc add dev veth1 root netem loss 10% || { skip "no netem here"; return; }
	# that packets are lost is not silence
	traffic_start && traffic_connected && for _ in 1 2 3 4 5 6; do
		said="$said$(rxestat --health)"
		sleep 0.3
	done
	traffic_kill
	perftest ib_write_bw -s 65536 -n 200
	n2 tc qdisc del dev veth1 root
	[ ! -s "$REASON" ] && grep -q 'were sent again' <<<"$said" || bad "no traffic: $said" || return
	! grep 'no answer from' <<<"$said" || bad "health says that, and there is traffic" || return
	said=$(rxestat --health)
	[ $? -eq 1 ] || bad "health says: $said" || return
	printf '%s\n' "$said"
	rxestat -s
	grep -qE 'rxe1 on veth1' <<<"$said" && grep -qE '[0-9]+ of [0-9]+ packets \(.* %\) were sent again: .*(missed|in time)' <<<"$said" ||
		bad "health does not say that packets were sent again: $said" || return
	[ $(($(counter rxe1 resend_nak) + $(counter rxe1 resend_timeout))) -gt 0 ] || bad "no cause was counted"
}

# written COLUMN VALUE: that of the queue pair of ib_write_bw, in a table on stdin
written() {
	awk -v c="$1" -v v="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		/ib_write_bw/ && NR > 1 { $(at[c]) = v } { print }'
}

# Silence is that nothing moves for a second, after something has been lost. A sample of
# a queue pair tells the two apart at any speed of this machine.
silence() {
	local root=$CASE_LOG.root said

	mkdir -p "$root/rxe1"
	traffic_start && traffic_connected && cp "$DEBUG"/rxe1/* "$root/rxe1/"
	traffic_kill
	[ ! -s "$REASON" ] || return
	mv "$root/rxe1/qp" "$root/qp"
	written waits lost <"$root/qp" >"$root/rxe1/qp"
	said=$(RXESTAT_ROOT=$root rxestat --health)
	grep 'no answer from' <<<"$said" || bad "nothing moves, and health says: $said" || return
	acknowledges "$root" || return
	said=$(PATH=$root/bin:$PATH RXESTAT_ROOT=$root rxestat --health)
	[ ! -e "$root/next" ] || bad "health took one sample alone" || return
	! grep 'no answer from' <<<"$said" || bad "health says that, and there is traffic"
}

# acknowledges ROOT: a packet, in the second that health waits for one; on a busy machine
# nothing else is sure to come in time
acknowledges() {
	mkdir "$1/bin" && written una_psn 1 <"$1/rxe1/qp" >"$1/next" &&
		printf '#!/bin/sh\nmv "%s/next" "%s/rxe1/qp"\n' "$1" "$1" >"$1/bin/sleep" &&
		chmod +x "$1/bin/sleep"
}

# A connection that fails says why, as long as it is there: its process is kept from
# seeing it.
failed_one() { rxestat -n rxe1 | grep -q 'ERR .*/ib_write_bw .*transport retry counter exceeded$'; }
failure() {
	local said status down

	traffic_start && traffic_connected || return
	n1 ip link set veth0 down
	kill -STOP "$CLIENT"
	eventually failed_one
	said=$(rxestat -n rxe1)
	down=$(rxestat --health rxe0)
	printf '%s\n' "$said" "$down"
	n1 ip link set veth0 up
	failed_one || bad "no line with the error: $said" || return
	said=$(rxestat --health rxe1)
	status=$?
	printf '%s\n' "$said"
	[ $status -eq 1 ] && grep -q "$CLIENT/ib_write_bw: failed, transport retry" <<<"$said" ||
		bad "health does not say so: $said" || return
	grep -q 'the port is down: veth0 is not up' <<<"$down" || bad "health knows of no port that is down: $down" || return
	rdma -dd resource show qp link rxe1/1 pid "$CLIENT" | grep -q 'last_error transport retry' ||
		bad "rdma does not say so: $(rdma -dd resource show qp link rxe1/1 pid "$CLIENT")"
}

# health_says TEXT DEVICE: does it come to say so, with status 1?
says() { rxestat --health "$2" >"$CASE_LOG.health"; [ $? -eq 1 ] && grep -qE "$1" "$CASE_LOG.health"; }
health_says() { eventually says "$1" "$2" || bad "health does not say '$1': $(cat "$CASE_LOG.health")"; }

# at_least NUMBER TEXT: so often the program has said so
at_least() { [ "$(grep -cx "$2" "$CASE_LOG.trouble")" -ge "$1" ]; }

# A connection that is unwell in one way after the other, and each time it is said why.
unwell() {
	local who

	/usr/bin/python3 -c 'import pyverbs' || { skip "no pyverbs here (package python3-pyverbs)"; return; }
	n1 nft -f - <<-END || bad "no firewall" || return
		table inet rxetest {
			chain in {
				type filter hook input priority 0;
				udp dport 4791 drop
			}
		}
	END
	mkfifo /tmp/trouble
	/usr/bin/python3 "$VM/programs/trouble.py" rxe1 rxe0 </tmp/trouble >"$CASE_LOG.trouble" 2>&1 &
	TRAFFIC=$!
	exec 7>/tmp/trouble
	who="queue pair [0-9]* of $TRAFFIC/[^ ]*"
	health_says "$who: no answer from 10.1.0.1 yet: address, firewall \(UDP port 4791\)" rxe1
	n1 nft delete table inet rxetest
	[ ! -s "$REASON" ] && health_says "$who: waits until 10.1.0.1 posts a receive" rxe1 &&
		health_says 'peers asked [0-9]+ times to wait: they post too few receives' rxe1 &&
		health_says "$who: path MTU 2048, 4096 were possible here" rxe1 &&
		health_says 'a process here had no receive posted [0-9]+ times' rxe0 || return
	echo >&7
	eventually at_least 1 'done' || bad "not received: $(cat "$CASE_LOG.trouble")" || return
	n1 ip link set veth0 mtu 1500
	echo >&7
	health_says "$who: no answer from 10.1.0.1 any more: .* packets of 2048 bytes do not fit" rxe1 &&
		n1 ip link set veth0 mtu 900 &&
		health_says 'the MTU of veth0 \(900\) allows packets of 512 bytes only' rxe0
	n1 ip link set veth0 mtu "$VETH_MTU"
	[ ! -s "$REASON" ] || return
	eventually at_least 2 'done' || bad "not received: $(cat "$CASE_LOG.trouble")" || return
	echo >&7
	health_says "completion queue [0-9]* of $TRAFFIC/[^ ]* has lost completions" rxe1 &&
		health_says '[0-9]+ completion queues overran' rxe1
	exec 7>&-
	[ ! -s "$REASON" ]
}

# Somebody changes packets on the way.
changed_packets() {
	veth_bursts single && n2 tc qdisc add dev veth1 root netem corrupt 10% || { skip "no netem here"; return; }
	traffic_start && health_says '[0-9]+ packets had a wrong checksum: bad hardware' rxe0
	n2 tc qdisc del dev veth1 root
	veth_bursts whole
	[ ! -s "$REASON" ]
}

# What the tool itself makes of the answers: JSON, batches, other kinds of objects
tool() {
	local said lines

	ibv_srq_pingpong -d rxe0 -g "$(gid_index rxe0 v4)" -p 18700 >"$CASE_LOG.srq" 2>&1 &
	TRAFFIC=$!
	eventually sh -c 'ss -Htln "sport = :18700" | grep -q .' || bad "no server: $(cat "$CASE_LOG.srq")" || return
	for lines in "srq dev" "ctx dev"; do
		# older cores list no SRQs and no contexts
		! rdma resource show "${lines% dev}" 2>&1 | grep -q 'Invalid argument' || continue
		# shellcheck disable=SC2086 # words
		rdma resource show $lines rxe0 pid $TRAFFIC | grep -q "comm ibv_srq_pingpon" ||
			bad "rdma resource show $lines: '$(rdma resource show $lines rxe0 2>&1)'" || return
	done
	[ "$(cell rxe0 srq comm ibv_srq_pingpon pid)" = $TRAFFIC ] || bad "$(cat $DEBUG/rxe0/srq)" || return
	said=$(printf 'dev show rxe0\nlink show rxe0/1\nresource show cq dev rxe0\nsystem show\n' | rdma -b -) ||
		bad "rdma -b: status $?: $said" || return
	printf '%s\n' "$said"
	for lines in 'rxe0: node_type ca' 'rxe0/1 state ACTIVE' "pid $TRAFFIC comm ibv_srq" 'netns shared'; do
		grep -q "$lines" <<<"$said" || bad "rdma -b does not say '$lines': $said" || return
	done
	command -v python3 >/dev/null || return 0
	rdma -j -p resource show qp link rxe0/1 pid $TRAFFIC | python3 -c "import json, sys
qps = json.load(sys.stdin)
assert len(qps) == 16 and all(q['ifname'] == 'rxe0' and q['pid'] == $TRAFFIC for q in qps), qps" ||
		bad "rdma -j -p: $(rdma -j -p resource show qp link rxe0/1)"
}

# bound DEVICE NAME: value of a counter bound to a queue pair of it; a 0 is not shown
bound() {
	rdma statistic qp show link "$1/1" |
		awk -v n="$2" '{ for (i = 1; i < NF; i++) if ($i == n) v = $(i + 1) }
			END { print v == "" ? 0 : v }'
}

# quiet DEVICE: are there no packets?
quiet() {
	local before

	before=$(field "$1" stats rcvd_pkts)
	sleep 0.5
	[ "$before" = "$(field "$1" stats rcvd_pkts)" ]
}

has_written() { [ "$(cell rxe1 qp comm ib_write_bw req_write)" -gt 0 ]; }

# Programs stop when they have done something, so that their counters may be compared.
stand_still() {
	eventually has_written || bad "nothing is written" || return
	kill -STOP "$SERVER" "$CLIENT"
	eventually quiet rxe1 || bad "there is no end of packets"
}

# What the core adds up is what the device has counted, nothing twice and nothing lost.
sums_agree() {
	local name

	for name in sent_pkts sent_bytes rcvd_pkts req_write req_bytes completions; do
		[ "$(counter rxe1 $name)" = "$(field rxe1 stats $name)" ] ||
			bad "$name: sysfs has $(counter rxe1 $name), the device $(field rxe1 stats $name)" || return
	done
}

nothing_bound() { [ -z "$(rdma statistic qp show link rxe1/1)" ]; }

# Queue pairs get counters by themselves, before they send anything.
bound_auto() {
	local name

	core_makes_links || { skip "cores of this age bind no counters to queue pairs"; return; }
	rdma statistic qp set link rxe1/1 auto type on || bad "auto type on: status $?" || return
	rdma statistic qp mode link rxe1/1 | grep -q 'auto type on' || bad "mode: $(rdma statistic qp mode)" || return
	traffic_start && traffic_connected && stand_still || return
	rdma statistic qp show link rxe1/1
	rdma statistic qp show link rxe1/1 | grep -qi "lqpn.*<$(traffic_qp rxe1)>" || bad "its queue pair is not bound" || return
	for name in sent_pkts rcvd_pkts req_write req_bytes completions runs_softirq; do
		[ "$(bound rxe1 $name)" = "$(cell rxe1 qp comm ib_write_bw $name)" ] ||
			bad "$name: bound $(bound rxe1 $name), counted $(cell rxe1 qp comm ib_write_bw $name)" || return
	done
	[ "$(bound rxe1 req_write)" -gt 0 ] && sums_agree || bad "req_write: $(bound rxe1 req_write)" || return
	traffic_kill
	eventually nothing_bound || bad "still bound: $(rdma statistic qp show link rxe1/1)" || return
	sums_agree || return
	rdma statistic qp set link rxe1/1 auto off || bad "auto off: status $?"
}

# Somebody binds a counter to a queue pair that has sent already, and takes it away.
bound_manually() {
	local qpn number

	core_makes_links || { skip "cores of this age bind no counters to queue pairs"; return; }
	traffic_start && traffic_connected || return
	qpn=$(traffic_qp rxe1)
	rdma statistic qp bind link rxe1/1 lqpn "$qpn" || bad "bind: status $?" || return
	eventually sh -c 'rdma statistic qp show link rxe1/1 | grep -q "req_write [1-9]"' ||
		bad "nothing is counted: $(rdma statistic qp show link rxe1/1)" || return
	expect_error . rdma statistic qp bind link rxe1/1 lqpn "$qpn" || return
	stand_still || return
	rdma statistic qp show link rxe1/1
	[ "$(bound rxe1 req_write)" -lt "$(cell rxe1 qp comm ib_write_bw req_write)" ] ||
		bad "what was before is counted: $(bound rxe1 req_write)" || return
	sums_agree || return
	number=$(rdma statistic qp show link rxe1/1 | sed -n 's/.* cntn \([0-9]*\) .*/\1/p')
	rdma statistic qp unbind link rxe1/1 cntn "$number" lqpn "$qpn" || bad "unbind: status $?" || return
	nothing_bound || bad "still bound: $(rdma statistic qp show link rxe1/1)" || return
	sums_agree
}

# Python programs find the devices, by name, GUID and GID, and use them.
python() {
	local program="/usr/bin/python3 $VM/programs/bandwidth.py" guid before

	/usr/bin/python3 -c 'import pyverbs' || { skip "no pyverbs here (package python3-pyverbs)"; return; }
	guid=$(cat /sys/class/infiniband/rxe0/node_guid)
	$program >"$CASE_LOG.list" || bad "the list: $(cat "$CASE_LOG.list")" || return
	cat "$CASE_LOG.list"
	grep -q "^rxe0 $guid 1: CA" "$CASE_LOG.list" && grep -q '^rxe1 [0-9]* ::ffff:a01:2 RoCE v2' "$CASE_LOG.list" ||
		bad "the list lacks something: $(cat "$CASE_LOG.list")" || return
	before=$(counter rxe1 req_bytes)
	$program rxe1 "$guid" 65536 100 && $program ::ffff:10.1.0.2 ::ffff:10.1.0.1 1000 50 &&
		$program rxe1 rxe0 1 1 || bad "$(tail -n 1 "$CASE_LOG")" || return
	[ $(($(counter rxe1 req_bytes) - before)) -eq $((65536 * 100 + 1000 * 50 + 1)) ] ||
		bad "req_bytes grew by $(($(counter rxe1 req_bytes) - before))"
}

# written_more DEVICE BYTES: has it sent more than so many?
written_more() { [ "$(counter "$1" req_bytes)" -gt "$2" ]; }

# writing_goes_on DEVICE: its requests still end
writing_goes_on() {
	eventually written_more "$1" $(($(counter "$1" req_bytes) + 1048576)) ||
		bad "$1 writes no more: $(tail -n 1 "$CASE_LOG.client")"
}

# A device gets another name, while a process writes by it.
renamed() {
	core_makes_links || { skip "cores of this age do not rename devices"; return; }
	traffic_start && traffic_connected || return
	exec 5<$DEBUG/rxe1/stats
	rdma dev set rxe1 name rxe_other || bad "rename: status $?" || return
	[ ! -e $DEBUG/rxe1 ] && [ "$(field rxe_other device device)" = rxe_other ] || bad "$(ls $DEBUG)"
	writing_goes_on rxe_other
	rdma resource show qp link rxe_other/1 pid "$CLIENT" | grep -q "lqpn $(traffic_qp rxe_other) " ||
		bad "rdma resource: '$(rdma resource show qp link rxe_other/1 2>&1)'"
	rxestat rxe_other | grep -q ' rxe_other  *veth1 ' || bad "rxestat: $(rxestat)"
	rdma dev set rxe_other name rxe1 || bad "rename back: status $?" || return
	[ ! -e $DEBUG/rxe_other ] && [ "$(field rxe1 device device)" = rxe1 ] || bad "$(ls $DEBUG)"
	writing_goes_on rxe1
	! cat <&5 || bad "a file of the directory that is gone can be read"
	exec 5<&-
	[ ! -s "$REASON" ]
}

# Somebody else has the port of RoCE in a namespace.
port_taken() {
	local empty said status

	command -v python3 >/dev/null || { skip "no python3 here"; return; }
	empty=$(mktemp -d)
	# shellcheck disable=SC2016 # of the inner shell
	said=$(RXESTAT_ROOT=$empty unshare -n python3 -c 'import os, socket, subprocess, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 4791))
print("I am", os.getpid(), flush=True)
subprocess.call([sys.argv[1], "-l"])
sys.exit(subprocess.call([sys.argv[1], "--health"]))' "$RXESTAT")
	status=$?
	rmdir "$empty"
	printf '%s\n' "$said"
	set -- "$(sed -n 's/^I am //p' <<<"$said")"
	[ $status -eq 1 ] && grep -qE "^udp +- +\*:4791 +$1/python3[^ ]* +taken from RoCE v2" <<<"$said" &&
		grep -qE "UDP port 4791 is taken in this namespace by $1/python3" <<<"$said" || bad "status $status: $said"
}

# Somebody keeps a file open, and the device goes.
kept_open() {
	exec 5<$DEBUG/rxe1/qp 6<$DEBUG/rxe1/stats
	head -n 1 <&5 >/dev/null
	link_delete rxe1 || return
	[ ! -e $DEBUG/rxe1 ] || bad "$DEBUG/rxe1 is still there" || return
	! cat <&6 || bad "a device that is gone can be read" || return
	exec 5<&- 6<&-
	link_add ns2 rxe1 veth1 && eventually gid_index rxe1 v4 >/dev/null &&
		eventually port_is rxe1 ACTIVE || bad "rxe1 does not come back" || return
	[ -e $DEBUG/rxe1/qp ] || bad "$DEBUG/rxe1 does not come back"
}

traced() {
	local dir=/sys/kernel/tracing control=/sys/kernel/debug/dynamic_debug/control

	[ -d $dir/events ] || dir=/sys/kernel/debug/tracing
	[ -d $dir/events ] || { skip "this kernel has no tracing"; return; }
	[ -d $dir/events/rxe ] || bad "no events/rxe" || return
	: >$dir/trace
	echo 1 >$dir/events/rxe/enable && echo 1 >$dir/tracing_on
	[ ! -e $control ] || echo 'module rdma_rxe +p' >$control || bad "no dynamic debug of the module" || return
	pingpong -n 5 -s 1000
	[ ! -e $control ] || echo 'module rdma_rxe -p' >$control
	echo 0 >$dir/events/rxe/enable
	cp $dir/trace "$CASE_LOG.trace"
	grep -c . "$CASE_LOG.trace"
	grep -m 1 'rxe_tx: rxe0 RC_SEND_ONLY dqpn 0x[0-9a-f]* psn 0x[0-9a-f]* payload 1000 ' "$CASE_LOG.trace" &&
		grep -m 1 'rxe_rx: rxe1 RC_ACKNOWLEDGE .* aeth 0x1f' "$CASE_LOG.trace" &&
		grep -m 1 'rxe_state: rxe0 qpn 0x[0-9a-f]* RTR -> RTS' "$CASE_LOG.trace" &&
		grep -m 1 'rxe_completion: rxe1 .* status 0 bytes 1000' "$CASE_LOG.trace" ||
		bad "the trace lacks something: $(grep -c rxe_ "$CASE_LOG.trace") events" || return
	[ ! -e $control ] || dmesg | grep -m 1 'rxe: rxe0 qp 0x[0-9a-f]*: state [0-9] -> [0-9]' ||
		bad "dynamic debug shows no queue pair that changes its state"
}

# watched NAME COMMAND...: a pingpong, while a command watches that runs another
watched() {
	local name=$1 pid

	shift
	"$@" sh -c "touch '/tmp/$name.on'; until [ -e '/tmp/$name.off' ]; do sleep 0.1; done" &
	pid=$!
	eventually test -e "/tmp/$name.on" || bad "$name does not begin" || return
	pingpong -n 5 -s 1000
	touch "/tmp/$name.off"
	wait $pid || bad "$name: status $?"
}

# What tools make of them, from the formats alone: packages trace-cmd and linux-perf
traced_by_tools() {
	command -v trace-cmd >/dev/null || { skip "no trace-cmd here"; return; }
	watched trace-cmd trace-cmd record -o "$CASE_LOG.dat" -e rxe -- || return
	trace-cmd report -i "$CASE_LOG.dat" >"$CASE_LOG.report" || bad "trace-cmd report: status $?" || return
	grep -m 1 'rxe_tx: .*rxe0 RC_SEND_ONLY dqpn 0x[0-9a-f]* psn 0x[0-9a-f]* payload 1000 ' "$CASE_LOG.report" &&
		grep -m 1 'rxe_state: .*rxe0 qpn 0x[0-9a-f]* RTR -> RTS' "$CASE_LOG.report" &&
		grep -m 1 'rxe_completion: .*rxe1 .* status 0 bytes 1000' "$CASE_LOG.report" ||
		bad "trace-cmd does not show it: $(grep -c rxe_ "$CASE_LOG.report") events" || return
	! grep -iE 'fail|unknown|invalid' "$CASE_LOG.report" || bad "trace-cmd cannot read a format" || return
	command -v perf >/dev/null || return 0
	watched perf perf stat -a -x , -o "$CASE_LOG.perf" -e rxe:rxe_completion -- || return
	[ "$(awk -F , '/rxe:rxe_completion/ { print $1 }' "$CASE_LOG.perf")" -ge 20 ] ||
		bad "perf counts $(cat "$CASE_LOG.perf")"
}

# What goes over the wire is what tshark knows.
captured() {
	command -v tcpdump >/dev/null && command -v tshark >/dev/null || { skip "no tcpdump and tshark here"; return; }
	veth_bursts single || return
	capture_begin ns1 "$CASE_LOG.tcpdump" -i any -w "$CASE_LOG.pcap" udp port 4791 ||
		bad "tcpdump does not listen" || return
	pingpong -n 10 -s 3000
	capture_end "$CASE_LOG.tcpdump" || bad "tcpdump lost packets: $(tail -n 3 "$CASE_LOG.tcpdump")"
	veth_bursts whole
	[ ! -s "$REASON" ] || return
	tshark -n -r "$CASE_LOG.pcap" >"$CASE_LOG.tshark" 2>/dev/null || bad "tshark: status $?" || return
	[ "$(grep -c 'RRoCE.*RC' "$CASE_LOG.tshark")" -ge 20 ] || bad "$(head -n 2 "$CASE_LOG.tshark")" || return
	! grep -i malformed "$CASE_LOG.tshark" || bad "tshark finds malformed packets" || return
	tshark -n -r "$CASE_LOG.pcap" -Y '_ws.malformed || _ws.expert.severity >= 0x800000' \
		>"$CASE_LOG.wrong" 2>/dev/null || bad "tshark: status $?" || return
	[ ! -s "$CASE_LOG.wrong" ] || bad "tshark finds errors: $(head -n 2 "$CASE_LOG.wrong")"
}

# cm_ids FILTER NUMBER: so many lines of rping are left of all that rdma_cm has
cm_ids() {
	local said

	# shellcheck disable=SC2086 # words
	said=$(rdma resource show cm_id $1) || bad "rdma resource show cm_id $1: status $?" || return
	[ "$(grep -c 'state LISTEN ps TCP pid .* comm rping src-addr 0.0.0.0:7174' <<<"$said")" = "$2" ] &&
		[ "$(grep -c . <<<"$said")" = "$2" ] || bad "rdma resource show cm_id $1: not $2 of rping: '$said'"
}

# Where the driver answers for the core, rdma_cm is in the initial namespace only.
listeners_here() {
	rping -s -p 7174 >"$CASE_LOG.rping" 2>&1 &
	TRAFFIC=$!
	eventually sh -c 'rdma resource show cm_id | grep -q "state LISTEN"' ||
		bad "rping does not listen: $(cat "$CASE_LOG.rping"; rdma resource show cm_id)" || return
	rdma resource show cm_id
	cm_ids 'link rxe0/1' 1 && cm_ids "link rxe0/1 pid $TRAFFIC" 1 && cm_ids "pid $TRAFFIC" 2 &&
		cm_ids 'src-port 7174 state LISTEN ps TCP' 2 && cm_ids 'src-port 7175' 0 &&
		cm_ids 'state CONNECT' 0 && cm_ids "pid $$" 0 && cm_ids 'ps UDP' 0 || return
	rxestat -l
	rxestat -l | grep -qE "^rdma_cm/tcp +rxe0.*:7174 +$TRAFFIC/rping" || bad "no listener: $(rxestat -l)"
}

# A port that rdma_cm and TCP both listen on; seen from within the namespace.
listeners() {
	local said status

	if ! core_makes_links; then
		tool_makes_links || { skip "cores of this age do not tell what rdma_cm listens on"; return; }
		listeners_here
		return
	fi
	ip netns exec ns1 rping -s -a 10.1.0.1 -p 7174 >"$CASE_LOG.rping" 2>&1 &
	TRAFFIC=$!
	eventually sh -c 'ip netns exec ns1 rdma resource show cm_id | grep -q "state LISTEN"' ||
		bad "rping does not listen: $(cat "$CASE_LOG.rping"; n1 rdma resource show cm_id)" || return
	said=$(n1 "$RXESTAT" -l) || bad "rxestat -l: status $?" || return
	printf '%s\n' "$said"
	grep -qE "^rdma_cm/tcp +rxe0|^rdma_cm/tcp .*:7174 +$TRAFFIC/rping" <<<"$said" || bad "no listener: $said" || return
	grep -qE '^udp +- +\*:4791 .*RoCE v2' <<<"$said" || bad "no RoCE port: $said" || return
	ip netns exec ns1 python3 -c 'import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("10.1.0.1", 7174)); s.listen(1); time.sleep(600)' &
	TRAFFIC="$TRAFFIC $!"
	eventually sh -c "ip netns exec ns1 '$RXESTAT' -l | grep -q 'a TCP listener has port 7174, too: [0-9]*/python3'" ||
		bad "the clash is not named: $(n1 "$RXESTAT" -l)" || return
	said=$(n1 "$RXESTAT" --health)
	status=$?
	[ $status -eq 1 ] && grep -q 'port 7174: rdma_cm .* and a TCP socket ([0-9]*/python3[^)]*) both listen' <<<"$said" ||
		bad "health does not name it: $said"
}

# What is never destroyed is named when the device goes.
leak() {
	local module said

	module=$(dirname "${KMOD:-/}")/rxe_leak.ko
	[ -e "$module" ] || { skip "no rxe_leak.ko for this kernel"; return; }
	insmod "$module" device=rxe1 || bad "insmod: status $?" || return
	mark leak-begins
	link_delete rxe1 || return
	said=$(dmesg | tac | sed '/rxe-test: leak-begins/q' | tac)
	printf '%s\n' "$said"
	rmmod rxe_leak
	grep -q 'rxe1: leaked 1 objects' <<<"$said" && grep -q 'rxe1:   protection domain [0-9]*, made by the kernel' <<<"$said" ||
		bad "the kernel log does not say so"
}

check setup all_set_up || return
check files files
check no-traffic no_traffic
check wrong-usage wrong_usage
check known-transfer known_transfer
# before anything sends so much that a few lost packets do not matter
check lossy lossy
check silence silence
check who-talks who_talks
check json json
check traced traced
check traced-by-tools traced_by_tools
check captured captured
check failure failure
check unwell unwell
check changed-packets changed_packets
check tool tool
check bound-auto bound_auto
check bound-manually bound_manually
check python python
check listeners listeners
check port-taken port_taken
check renamed renamed
check kept-open kept_open
check leak leak
check no-leaks no_leaks
check clean cleanup_all
