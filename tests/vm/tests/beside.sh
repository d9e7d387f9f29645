# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# beside.sh - a process that computes gets its share of a CPU that a stream is busy on.
# packages: perftest

# Half a second and more of an idle CPU here
LOOPS=7000
# With one endless loop for each CPU our loop has two thirds of a CPU, if there are two. Beside
# the two processes of a stream, that poll, and a worker of each, it has two fifths of what
# softirq leaves: about twice as long, and once four times. Where workers came first it took 6
# (READ) to 13 times (WRITE) as long.
TIMES_MOST=6

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# loop: how long it takes, in ms; it is ended after 30 s
loop() {
	local start i

	start=$(now_ms)
	for ((i = 0; i < LOOPS; i++)); do
		[ $((i % 500)) -ne 0 ] || [ $(($(now_ms) - start)) -lt 30000 ] || break
	done
	echo $(($(now_ms) - start))
}

# loop_beside_loops: adds to LOOPED
loop_beside_loops() {
	local cpu pids=()

	for ((cpu = $(nproc); cpu > 0; cpu--)); do
		(while :; do :; done) &
		pids+=($!)
	done
	LOOPED=$((LOOPED + $(loop)))
	kill "${pids[@]}"
	wait "${pids[@]}" 2>/dev/null
	return 0
}

# beside PROGRAM OPTIONS...: a loop, and at the same time messages of 64 KiB; before and after
# that it is measured how fast the machine is
beside() {
	local server client looped moved LOOPED=0

	loop_beside_loops
	moved=$(moved_bytes)
	set -- timeout 60 "$@" -F -p 18600 -D 300 -s 65536 -m 4096
	"$@" -d rxe0 -x "$(gid_index rxe0 v4)" >"$CASE_LOG.server" 2>&1 &
	server=$!
	eventually traffic_listens || bad "the server does not listen" || return
	"$@" -d rxe1 -x "$(gid_index rxe1 v4)" 127.0.0.1 >"$CASE_LOG.client" 2>&1 &
	client=$!
	eventually moves $((moved + 10000000)) ||
		bad "no traffic: $(tail -n 1 "$CASE_LOG.client")" || return
	moved=$(moved_bytes)
	looped=$(loop)
	moved=$(($(moved_bytes) - moved))
	kill $server $client
	wait $server $client 2>/dev/null
	loop_beside_loops
	LOOPED=$((LOOPED / 2))
	echo "$looped ms beside $((moved / 1000 / looped)) MB/s, $LOOPED ms beside $(nproc) loops"
	[ $((moved / 1000)) -gt "$looped" ] ||
		bad "the stream does not run: $moved bytes in $looped ms" || return
	[ "$looped" -le $((TIMES_MOST * LOOPED)) ] ||
		bad "a loop takes $looped ms beside it, $LOOPED beside $(nproc) loops"
}
moved_bytes() { echo $(($(counter rxe0 rcvd_bytes) + $(counter rxe1 rcvd_bytes))); }
moves() { [ "$(moved_bytes)" -gt "$1" ]; }

check setup setup || return
for program in ib_write_bw ib_read_bw ib_send_bw; do
	check "$program" beside $program
done
check uc beside ib_send_bw -c UC
check clean cleanup_all
