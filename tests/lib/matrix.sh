# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# matrix.sh - every kernel: build without a warning, boot, run the VM tests.
#
# Sourced by tests/run, which has vm_guests and what lies below it. What passed is
# noted in the cache, with a key of all that could change the result; as long as
# the key is the same a kernel is skipped, and its old line printed.

# The tests that are run, all but the long ones by default
MATRIX_TESTS=${MATRIX_TESTS-}
# Seconds after which no further one of those that are only built begins; none: no limit
MATRIX_SECONDS=${MATRIX_SECONDS-}
# warnings, shims, seconds and results of a kernel
declare -A BUILT WARNED SHIMS BOOTED COUNTS TOOK KEYS

matrix_state() { echo "$CACHE/matrix/$(basename "$1")"; }

# matrix_key KERNEL TEST...: the driver, the tests, the kernel
matrix_key() {
	local kernel=$1

	shift
	{
		cd "$TOP" || exit
		git ls-files -z -co --exclude-standard -- Kbuild Makefile dkms.conf drivers compat \
			tests/vm tests/lib tests/run 2>/dev/null | grep -zv '\.md$' | sort -z | xargs -0 sha256sum
		"$VM/kernels" field "$kernel" version
		stat -L -c %Y "$("$VM/kernels" get "$kernel")/complete"
		echo "$VM_MEMORY $*"
	} 2>/dev/null | sha256sum | cut -c1-32
}

# Warnings in a build log that are about us; headers of a kernel have their own.
# Old kernels are full of what today's sparse complains of.
# A function that nobody has is a warning only, there.
our_warnings() {
	grep -E -e '(^|/)(drivers/rxe|compat)/[^:]*:[0-9:]+ (warning|error):' -e '"[^"]*" \[.*\] undefined!'
}

# matrix_build KERNEL: from clean, with all warnings
matrix_build() {
	local kernel=$1 log options=(W=1 C=2) start=$SECONDS features root sparse=''

	# A tree that somebody has built is as old as it is: gcc's warnings only. Ubuntu's
	# roots have no sparse, and its 5.4 a kernel-doc that W=1 runs and that is broken.
	root=$("$VM/kernels" field "$kernel" chroot)
	if [ -z "$("$VM/kernels" field "$kernel" release)" ]; then
		options=(W=1)
	elif [ -n "$root" ] && [ ! -x "$root/usr/bin/sparse" ]; then
		options=(KCFLAGS=-Wall)
	fi
	BUILT[$kernel]=no
	if ! "$VM/kernels" build "$kernel" "${options[@]}" >/dev/null; then
		failed "matrix/$kernel/build: the module does not build"
		return
	fi
	BUILT[$kernel]=yes
	log=$("$VM/kernels" log "$kernel")
	features=$("$VM/kernels" field "$kernel" features)
	SHIMS[$kernel]=$(grep -c ' 0$' "$features")
	WARNED[$kernel]=$(our_warnings <<<"$log" | wc -l)
	# That it is asked for is not that it has run.
	if [ "${#options[@]}" -gt 1 ] && ! grep -q '^ *CHECK ' <<<"$log"; then
		sparse=missing options=(W=1)
	fi
	if [ "${WARNED[$kernel]}" -gt 0 ]; then
		our_warnings <<<"$log" | head -n 20
		failed "matrix/$kernel/build: ${WARNED[$kernel]} warnings (${options[*]})"
	else
		passed "matrix/$kernel/build: no warnings (${options[*]})"
	fi
	[ -z "$sparse" ] ||
		skipped "matrix/$kernel/sparse: $(grep -m 1 -oE 'sparse is not available.*' <<<"$log")"
	TOOK[$kernel]=$((SECONDS - start))
}

# matrix_boot KERNEL TEST...
matrix_boot() {
	local kernel=$1 start=$SECONDS counted=("$PASSED" "$FAILED" "$SKIPPED")

	BOOTED[$kernel]=no
	if [ -z "$("$VM/kernels" field "$kernel" image)" ]; then
		skipped "matrix/$kernel/boot: no image is packaged"
		COUNTS[$kernel]='- - -'
		return
	fi
	# one that is built only, and has an image from another time
	[ $# -gt 1 ] || { COUNTS[$kernel]='- - -'; return; }
	vm_guests "$@"
	! grep -qs '^begin ' "$RESULTS/vm-$(basename "$kernel")/output" || BOOTED[$kernel]=yes
	COUNTS[$kernel]="$((PASSED - counted[0])) $((FAILED - counted[1])) $((SKIPPED - counted[2]))"
	TOOK[$kernel]=$((TOOK[$kernel] + SECONDS - start))
}

matrix_row() {
	# shellcheck disable=SC2086 # three counts
	printf '%-24s %-6s %8s %5s %-6s %6s %6s %7s %7s\n' "$1" "$2" "$3" "$4" "$5" $6 "$7"
}

matrix_results() { echo "$RESULTS/matrix-$(basename "$1")"; }

# matrix_known KERNEL: has it passed, and nothing changed since?
matrix_known() {
	local state

	state=$(matrix_state "$1")
	[ "$(sed -n 1p "$state" 2>/dev/null)" = "${KEYS[$1]}" ] || return
	skipped "matrix/$1: nothing changed since it passed on $(date -r "$state" '+%F %H:%M')"
	sed -n '2s/$/  (then)/p' "$state" >"$(matrix_results "$1").row"
}

# matrix_job FRESH KERNEL TEST...: all about one kernel; what it counts and its row of
# the table go into files, as it may run in a shell of its own
matrix_job() {
	local fresh=$1 kernel=$2 result status

	shift
	result=$(matrix_results "$kernel")
	rm -f "$result.counts" "$result.row"
	PASSED=0 FAILED=0 SKIPPED=0
	"$VM/kernels" get "$kernel" >/dev/null 2>"$result.why"
	status=$?
	cat "$result.why" >&2
	if [ "$status" -eq 77 ]; then
		skipped "matrix/$kernel: $(sed -n '$s/^kernels: //p' "$result.why")"
		matrix_row "$kernel" - - - - '- - -' - >"$result.row"
	elif [ "$status" -ne 0 ]; then
		failed "matrix/$kernel: cannot get it"
	else
		KEYS[$kernel]=$(matrix_key "$@")
		[ -z "$fresh" ] && matrix_known "$kernel" || matrix_try "$@"
	fi
	echo "$PASSED $FAILED $SKIPPED" >"$result.counts"
}

# matrix_try KERNEL TEST...
matrix_try() {
	local kernel=$1 row

	row=$(matrix_results "$kernel").row
	matrix_build "$kernel"
	if [ "$FAILED" -eq 0 ]; then
		matrix_boot "$@"
	else
		skipped "matrix/$kernel/boot: the build failed"
	fi
	matrix_row "$(basename "$kernel") ($("$VM/kernels" field "$kernel" version))" \
		"${BUILT[$kernel]}" "${WARNED[$kernel]:--}" "${SHIMS[$kernel]:--}" \
		"${BOOTED[$kernel]:-no}" "${COUNTS[$kernel]:-- - -}" "${TOOK[$kernel]:--}" >"$row"
	rm -f "$(matrix_state "$kernel")"
	[ "$FAILED" -gt 0 ] ||
		{ echo "${KEYS[$kernel]}"; cat "$row"; } >"$(matrix_state "$kernel")"
}

# matrix_builds FRESH KERNEL...: those that are only built, while guests run: these
# go first, and their processors are not to be shared
matrix_builds() {
	local kernel fresh=$1

	shift
	renice -n 15 -p $BASHPID >/dev/null
	for kernel in "$@"; do
		if [ -n "$MATRIX_SECONDS" ] && [ "$SECONDS" -ge "$MATRIX_SECONDS" ]; then
			matrix_late "$kernel"
		else
			matrix_job "$fresh" "$kernel"
		fi >"$(matrix_results "$kernel").log" 2>&1
	done
}

# matrix_late KERNEL: there is no time left for it
matrix_late() {
	local result

	result=$(matrix_results "$1")
	PASSED=0 FAILED=0 SKIPPED=0
	skipped "matrix/$1: this machine is slow, $((SECONDS / 60)) minutes have passed;" \
		"without MATRIX_SECONDS it is built"
	matrix_row "$1" - - - - '- - -' - >"$result.row"
	echo "$PASSED $FAILED $SKIPPED" >"$result.counts"
}

# matrix [-f] [NAME|TREE...]
matrix() {
	local kernel kernels=() boots=() rest=() tests=() fresh='' builds table passed failed skipped

	while [ $# -gt 0 ]; do
		case $1 in
		-f) fresh=1 ;;
		--clang | --cross) mapfile -t -O ${#kernels[@]} kernels < <("$VM/kernels" matrix "${1#--}") ;;
		-*) bad_usage "matrix takes -f, --clang, --cross and names or paths of kernels, not '$1'" ;;
		*) kernels+=("$1") ;;
		esac
		shift
	done
	need_root "booting guests"
	[ ${#kernels[@]} -gt 0 ] || mapfile -t kernels < <("$VM/kernels" matrix)
	if [ -n "$MATRIX_TESTS" ]; then
		read -ra tests <<<"$MATRIX_TESTS"
	else
		mapfile -t tests < <(vm_tests | grep -v -e '-long$')
	fi
	vm_packages "${tests[@]}"
	table=$RESULTS/matrix
	mkdir -p "$CACHE/matrix"
	matrix_row kernel built warnings shims booted 'passed failed skipped' seconds >"$table"

	builds=$("$VM/kernels" matrix build; "$VM/kernels" matrix clang; "$VM/kernels" matrix cross)
	mapfile -t rest < <(printf '%s\n' "${kernels[@]}" | grep -xF -- "$builds")
	mapfile -t boots < <(printf '%s\n' "${kernels[@]}" | grep -vxF -- "$builds")
	matrix_builds "$fresh" "${rest[@]}" &
	for kernel in "${boots[@]}"; do
		(matrix_job "$fresh" "$kernel" "${tests[@]}")
	done
	wait
	for kernel in "${rest[@]}"; do
		cat "$(matrix_results "$kernel").log"
	done
	for kernel in "${kernels[@]}"; do
		if read -r passed failed skipped <"$(matrix_results "$kernel").counts"; then
			PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
		else
			failed "matrix/$kernel: ended without a result"
		fi
		cat "$(matrix_results "$kernel").row" >>"$table" 2>/dev/null
	done
	echo
	cat "$table"
}
