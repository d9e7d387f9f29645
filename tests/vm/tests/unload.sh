# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# unload.sh - the module is unloaded while packets that it has sent sit in a queue
# that lets go of one in seconds: what frees them later must still be there. paths.sh
# does it with a queue that a process holds. (netem would not do: it lets the sender
# forget what it delays.)

# queue: packets of a transfer that has been killed are in a queue
queue() {
	local left

	modprobe -q sch_tbf || { skip "no sch_tbf here"; return; }
	setup || return
	n2 tc qdisc add dev veth1 root tbf rate 8kbit burst 5000 limit 100000 ||
		bad "no queue on veth1" || return
	pingpong_started || return
	eventually queue_holds || bad "the queue holds nothing" || return
	traffic_kill
	link_delete rxe0 && link_delete rxe1 || return
	queue_holds || bad "the queue has let go of all before the module is unloaded: nothing tested" || return
	driver_unload || return
	left=$(queued)
	# the kernel does not live long with these
	[ "$left" -eq 0 ] || bad "the module is gone, and $left of its packets sit in a queue" || return
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
queue_holds() { [ "$(queued)" -gt 0 ]; }

check queue queue || fresh_start
