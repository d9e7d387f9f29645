# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# matrix.sh - every kernel: build without a warning, boot, run the VM tests.
#
# Sourced by tests/run, which has vm_one and what lies below it. What passed is
# noted in the cache, with a key of all that could change the result; as long as
# the key is the same a kernel is skipped, and its old line printed.

# The tests that are run, all but the long ones by default
MATRIX_TESTS=${MATRIX_TESTS-}
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
	local kernel=$1 log options=(W=1 C=2) start=$SECONDS features root

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
	if [ "${WARNED[$kernel]}" -gt 0 ]; then
		our_warnings <<<"$log" | head -n 20
		failed "matrix/$kernel/build: ${WARNED[$kernel]} warnings (${options[*]})"
	else
		passed "matrix/$kernel/build: no warnings (${options[*]})"
	fi
	[ "${#options[@]}" -eq 1 ] || grep -q '^ *CHECK ' <<<"$log" ||
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
	vm_one "$@"
	! grep -qs '^begin ' "$RESULTS/vm-$(basename "$kernel")/output" || BOOTED[$kernel]=yes
	COUNTS[$kernel]="$((PASSED - counted[0])) $((FAILED - counted[1])) $((SKIPPED - counted[2]))"
	TOOK[$kernel]=$((TOOK[$kernel] + SECONDS - start))
}

matrix_row() {
	# shellcheck disable=SC2086 # three counts
	printf '%-24s %-6s %8s %5s %-6s %6s %6s %7s %7s\n' "$1" "$2" "$3" "$4" "$5" $6 "$7"
}

# matrix_jobs: how many kernels at a time. A guest waits more than it computes, so
# two of them take little longer than one, where there is memory for both.
matrix_jobs() {
	local free

	free=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
	if [ -n "${MATRIX_JOBS-}" ]; then
		echo "$MATRIX_JOBS"
	elif [ "$(nproc)" -lt 2 ] || [ "$free" -lt $((2 * ${VM_MEMORY%G} + 1)) ]; then
		echo 1
	else
		echo 2
	fi
}

# matrix_order KERNEL...: those that boot, then those that are only built
matrix_order() {
	local boot

	boot=$("$VM/kernels" matrix boot)
	printf '%s\n' "$@" | grep -xF "$boot"
	printf '%s\n' "$@" | grep -vxF "$boot"
	return 0
}

matrix_results() { echo "$RESULTS/matrix-$(basename "$1")"; }

# matrix_job KERNEL TEST...: all about one kernel, in a shell of its own; its lines
# are kept together, and shown when it is done
matrix_job() {
	local kernel=$1 result

	result=$(matrix_results "$kernel")
	PASSED=0 FAILED=0 SKIPPED=0
	{
		matrix_build "$kernel"
		if [ "$FAILED" -eq 0 ]; then
			matrix_boot "$@"
		else
			skipped "matrix/$kernel/boot: the build failed"
		fi
	} >"$result.log" 2>&1
	matrix_row "$(basename "$kernel") ($("$VM/kernels" field "$kernel" version))" \
		"${BUILT[$kernel]}" "${WARNED[$kernel]:--}" "${SHIMS[$kernel]:--}" \
		"${BOOTED[$kernel]:-no}" "${COUNTS[$kernel]:-- - -}" "${TOOK[$kernel]:--}" >"$result.row"
	rm -f "$(matrix_state "$kernel")"
	[ "$FAILED" -gt 0 ] ||
		{ echo "${KEYS[$kernel]}"; cat "$result.row"; } >"$(matrix_state "$kernel")"
	echo "$PASSED $FAILED $SKIPPED" >"$result.counts"
	cat "$result.log"
}

# matrix [-f] [NAME|TREE...]
matrix() {
	local kernel kernels=() tests=() todo=() fresh='' width table passed failed skipped

	while [ $# -gt 0 ]; do
		case $1 in
		-f) fresh=1 ;;
		-*) bad_usage "matrix takes -f and names or paths of kernels, not '$1'" ;;
		*) kernels+=("$1") ;;
		esac
		shift
	done
	need_root "booting guests"
	need_packages "${BUILD_PACKAGES[@]}" "${VM_PACKAGES[@]}" libibverbs-dev
	[ ${#kernels[@]} -gt 0 ] || mapfile -t kernels < <("$VM/kernels" matrix)
	if [ -n "$MATRIX_TESTS" ]; then
		read -ra tests <<<"$MATRIX_TESTS"
	else
		mapfile -t tests < <(vm_tests | grep -v -e '-long$')
	fi
	table=$RESULTS/matrix
	mkdir -p "$CACHE/matrix"
	matrix_row kernel built warnings shims booted 'passed failed skipped' seconds >"$table"

	width=$(matrix_jobs)
	# Those that take long come first, so that none of them is left alone at the end,
	# and what the next one needs is fetched while others run.
	for kernel in $(matrix_order "${kernels[@]}"); do
		rm -f "$(matrix_results "$kernel")".*
		if ! "$VM/kernels" get "$kernel" >/dev/null; then
			failed "matrix/$kernel: cannot get it"
			continue
		fi
		KEYS[$kernel]=$(matrix_key "$kernel" "${tests[@]}")
		if [ -z "$fresh" ] && [ "$(sed -n 1p "$(matrix_state "$kernel")" 2>/dev/null)" = "${KEYS[$kernel]}" ]; then
			skipped "matrix/$kernel: nothing changed since it passed on $(date -r "$(matrix_state "$kernel")" '+%F %H:%M')"
			sed -n '2s/$/  (then)/p' "$(matrix_state "$kernel")" >"$(matrix_results "$kernel").row"
			continue
		fi
		while [ "$(jobs -rp | wc -l)" -ge "$width" ]; do
			wait -n
		done
		say "matrix/$kernel: begun"
		todo+=("$kernel")
		matrix_job "$kernel" "${tests[@]}" &
	done
	wait
	for kernel in "${todo[@]}"; do
		if read -r passed failed skipped <"$(matrix_results "$kernel").counts"; then
			PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
		else
			failed "matrix/$kernel: ended without a result; see $(matrix_results "$kernel").log"
		fi
	done
	for kernel in "${kernels[@]}"; do
		cat "$(matrix_results "$kernel").row" 2>/dev/null
	done >>"$table"
	echo
	cat "$table"
}
