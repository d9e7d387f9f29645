# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# results.sh - counting. Every suite ends in one line of this form, alone:
#
#	N passed, N failed, N skipped
#
# Sourced after common.sh. A suite that calls others adds up their last lines
# and prints one of its own.

RESULTS=${RXE_RESULTS:-$TOP/results}
PASSED=0 FAILED=0 SKIPPED=0

results_dir() {
	mkdir -p "$RESULTS" || die "cannot create $RESULTS"
	RESULTS=$(realpath "$RESULTS")
}

passed() { PASSED=$((PASSED + 1)); say "ok $*"; }
failed() { FAILED=$((FAILED + 1)); say "not ok $*"; }
skipped() { SKIPPED=$((SKIPPED + 1)); say "skip $*"; }

# from_zero COMMAND...: a suite that is a function of its caller counts anew
from_zero() {
	PASSED=0 FAILED=0 SKIPPED=0
	"$@"
}

# suite NAME COMMAND...: run it, show its output but not its last line, keep
# all in results/NAME.log, and add its counts to ours.
suite() {
	local name=$1 log=$RESULTS/${1//\//-}.log status counts

	shift
	from_zero "$@" 2>&1 </dev/null | tee "$log" |
		grep --line-buffered -avE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$'
	status=${PIPESTATUS[0]}
	counts=$(grep -aE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
	if [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		PASSED=$((PASSED + BASH_REMATCH[1]))
		FAILED=$((FAILED + BASH_REMATCH[2]))
		SKIPPED=$((SKIPPED + BASH_REMATCH[3]))
		[ "$status" -eq 0 ] || [ "${BASH_REMATCH[2]}" -gt 0 ] ||
			failed "$name: status $status, although no test failed; all output in $log"
	else
		failed "$name: ended with status $status and without a result line; all output in $log"
	fi
}

# total: the last line, and the exit status
total() {
	printf '%d passed, %d failed, %d skipped\n' "$PASSED" "$FAILED" "$SKIPPED"
	[ "$FAILED" -eq 0 ]
}
