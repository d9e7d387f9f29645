# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# matrix-skips.sh - "tests/run matrix" leaves out a kernel if, and only if, nothing has
# changed since it passed, or the time is over that it may take.
#
# Sourced by tests/compat/run. tests/lib/matrix.sh runs on a checkout and on kernels
# that are made here: what it asks of others (tests/vm/kernels, a guest) is answered
# from files, and noted.

# A checkout with one kernel "k" of version 1 that builds and boots
matrix_world() {
	local at=$1

	rm -rf "$at"
	mkdir -p "$at"/{drivers,compat,tests/vm,tests/lib,cache,results,kernel}
	touch "$at"/{Kbuild,Makefile,dkms.conf,drivers/rxe.c,compat/probes.c,README.md} \
		"$at"/tests/{run,vm/lib.sh,lib/common.sh} "$at/kernel/complete"
	echo 1 >"$at/kernel/version"
	echo '#define RXE_HAVE_THING 0' >"$at/kernel/features"
	cat >"$at/tests/vm/kernels" <<-'END'
		#!/bin/bash
		here=$(dirname "$0")/../../kernel
		case $1 in
		get)
			! [ -e "$here/absent" ] || { echo 'kernels: not here' >&2; exit 77; }
			echo "$here"
			;;
		build) echo build >>"$here/done" ;;
		log) ! [ -e "$here/warns" ] || echo 'drivers/rxe/qp.c:1:2: warning: strange' ;;
		matrix)
			if [ -z "${2-}" ]; then
				echo k
			elif [ "$2" = build ] && [ -e "$here/built-only" ]; then
				echo k
			fi
			;;
		field)
			case $3 in
			version) cat "$here/version" ;;
			features) echo "$here/features" ;;
			image) echo "$here/image" ;;
			esac
			;;
		esac
	END
	chmod +x "$at/tests/vm/kernels"
	git -C "$at" init -q && git -C "$at" add -A
}

# matrix_run WORLD [ARG...]: "tests/run matrix" there; prints what was done:
# "build boot", or nothing if the kernel was left out. To be called in a subshell.
matrix_run() {
	local at=$1 matrix=$TOP/tests/lib/matrix.sh
	local TOP=$at VM=$at/tests/vm CACHE=$at/cache RESULTS=$at/results PASSED=0 FAILED=0 SKIPPED=0
	local VM_MEMORY=${VM_MEMORY:-6G} MATRIX_TESTS=${MATRIX_TESTS-load smoke}

	shift
	# shellcheck source=tests/lib/matrix.sh
	. "$matrix"
	need_root() { :; }
	vm_packages() { :; }
	vm_guests() {
		echo boot >>"$at/kernel/done"
		if [ -e "$at/kernel/fails" ]; then failed test; else passed test; fi
	}
	rm -f "$at/kernel/done"
	matrix "$@" >"$at/said" 2>&1
	[ ! -e "$at/kernel/done" ] || tr '\n' ' ' <"$at/kernel/done"
}

# expect_matrix NAME WANT [ARG...]
expect_matrix() {
	local name=$1 want=$2 got

	shift 2
	got=$(matrix_run "$TMP/m" "$@")
	if [ "$got" = "$want" ]; then
		passed "matrix/$name"
	else
		failed "matrix/$name: did '$got' instead of '$want'"
		sed 's/^/  /' "$TMP/m/said"
	fi
}

matrix_skips() {
	local m=$TMP/m

	matrix_world "$m"
	expect_matrix first 'build boot '
	expect_matrix unchanged ''
	grep -q 'nothing changed since it passed' "$m/said" && grep -q '^k (1) .*(then)$' "$m/said" ||
		failed "matrix/unchanged: does not say so, with the line of then"
	expect_matrix named '' k
	expect_matrix forced 'build boot ' -f
	echo more >>"$m/README.md"
	expect_matrix documentation ''
	echo 'int a;' >>"$m/drivers/rxe.c"
	expect_matrix driver 'build boot '
	echo 'int a;' >>"$m/compat/new.c"
	expect_matrix new-file 'build boot '
	echo true >>"$m/tests/vm/lib.sh"
	expect_matrix test 'build boot '
	echo 2 >"$m/kernel/version"
	expect_matrix newer-package 'build boot '
	touch -d '1 hour' "$m/kernel/complete"
	expect_matrix built-again 'build boot '
	expect_matrix unchanged-again ''
	MATRIX_TESTS='load smoke link' expect_matrix other-tests 'build boot '
	VM_MEMORY=1G expect_matrix other-memory 'build boot '
	touch "$m/kernel/fails"
	expect_matrix failing 'build boot ' -f
	expect_matrix failed 'build boot '
	rm "$m/kernel/fails"
	expect_matrix passes-again 'build boot '
	touch "$m/kernel/warns"
	expect_matrix warning 'build ' -f
	expect_matrix warned 'build '
	rm "$m/kernel/warns"
	touch "$m/kernel/absent"
	expect_matrix absent '' -f
	grep -q '^skip matrix/k: not here' "$m/said" && ! grep -q '^not ok' "$m/said" ||
		failed "matrix/absent: is not skipped with the reason"
	rm "$m/kernel/absent"
	touch "$m/kernel/built-only"
	MATRIX_SECONDS=$((SECONDS + 600)) expect_matrix built-only 'build ' -f
	MATRIX_SECONDS=$SECONDS expect_matrix late '' -f
	grep -q '^skip matrix/k: this machine is slow' "$m/said" && ! grep -q '^not ok' "$m/said" ||
		failed "matrix/late: is not skipped with the reason"
}
