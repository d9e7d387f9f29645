# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# unload.sh - the module is unloaded while packets that it has sent sit in a queue
# that lets go of one in seconds: what frees them later must still be there. paths.sh
# does it with a queue that a process holds. netem is the other way round: it lets the
# sender forget what it delays, so that the module goes at once, and packets outlive it.

# queue: packets of a transfer that has been killed are in a queue, for longer than it takes
# to kill it and to delete the devices, which a slow kernel needs more time for
queue() {
	local left

	modprobe -q sch_tbf || { skip "no sch_tbf here"; return; }
	setup || return
	n2 tc qdisc add dev veth1 root tbf rate $((8000 * 60 / PATIENCE))bit burst 5000 limit 100000 ||
		bad "no queue on veth1" || return
	pingpong_started || return
	eventually queue_holds || bad "the queue holds nothing" || return
	traffic_kill
	link_delete rxe0 && link_delete rxe1 || return
	[ "$(queued_bytes)" -ge 1000 ] ||
		bad "the queue has let go of all before the module is unloaded: nothing tested" || return
	driver_unload || return
	left=$(queued_bytes)
	# The kernel does not live long with these. Shorter ones are not the transfer's: neighbours
	# and groups are looked after by packets of less than 100 bytes.
	[ "$left" -lt 1000 ] || bad "the module is gone, and $left bytes of it sit in a queue" || return
	net_down
	driver_load && driver_unload
}

# pingpong_started: it waits for an answer that is in the queue. Both programs are in
# the initial namespace, so that TCP does not meet the queue.
pingpong_started() {
	ibv_rc_pingpong -d rxe0 -g "$(gid_index rxe0 v4)" -p 18700 >"$CASE_LOG.server" 2>&1 &
	SERVER=$!
	eventually eval "[ -n \"\$(ss -Htln 'sport = :18700')\" ]" || bad "the server does not listen" || return
	ibv_rc_pingpong -d rxe1 -g "$(gid_index rxe1 v4)" -p 18700 127.0.0.1 >"$CASE_LOG.client" 2>&1 &
	CLIENT=$!
	# shellcheck disable=SC2034 # for traffic_kill
	TRAFFIC="$SERVER $CLIENT"
}

# queued: packets in the queue
queued() { n2 tc -s qdisc show dev veth1 | sed -n 's/.*backlog [^ ]* \([0-9]*\)p.*/\1/p'; }
queued_bytes() {
	n2 tc -s qdisc show dev veth1 | sed -n 's/.*backlog \([0-9]*[KM]*\)b .*/\1/p' | numfmt --from=iec
}

queue_holds() { [ "$(queued)" -gt 0 ]; }

# delayed MODE: packets of a transfer that has been killed are on a wire that takes seconds
# (see veth_bursts for MODE), and arrive when the module has gone. Nothing of it may be needed
# then, neither to cut nor to free them.
delayed() {
	local before

	modprobe -q sch_netem || { skip "no sch_netem here"; return; }
	setup && veth_bursts "$1" && traffic_start || return
	n2 tc qdisc add dev veth1 root netem limit 10000 delay $((PATIENCE / 15))s ||
		bad "tc does not take netem" || return
	eventually queue_holds || bad "the wire holds nothing" || return
	traffic_kill
	link_delete rxe0 && link_delete rxe1 && driver_unload || return
	before=$(arrivals)
	echo "$(queued) packets or bursts on the wire, $before have arrived"
	queue_holds || bad "all has arrived before the module is unloaded: nothing tested" || return
	eventually queue_empty || bad "$(queued) packets stay on the wire" || return
	sleep 1
	echo "$(arrivals) have arrived"
	# a burst that has to be cut is lost without the module
	[ "$1" = cut ] || [ "$(arrivals)" -gt "$before" ] ||
		bad "nothing came off the wire: nothing tested" || return
	net_down
	setup && pingpong -n 20 && cleanup_all
}

queue_empty() { [ "$(queued)" -eq 0 ]; }
arrivals() { n1 cat /sys/class/net/veth0/statistics/rx_packets; }

check queue queue || fresh_start
check delayed delayed whole || fresh_start
check delayed-cut delayed cut || fresh_start
