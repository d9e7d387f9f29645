#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Ask a kernel tree every question of probes.c and its parts and write the answers
# as a header of 0s and 1s. Called by Kbuild; compat/README.md explains the form
# of a probe.
#
#   probe.sh -o OUT -p PROBES.C [-p PART.C]... -s SRCTREE -b OBJTREE [-k RELEASE]
#            [-m MODE] -- COMPILER FLAG...
#
# The PARTs are compiled behind PROBES.C, as if they were its end. MODE fast (the
# default) asks everything in one compiler run and reads the names of the failed
# probes from its error lines. MODE slow compiles each probe alone and looks at
# nothing but the exit status; a test compares the two.
#
# Needs a POSIX shell, sed and awk only: it runs on the machine of every user.

set -u
LC_ALL=C
export LC_ALL
unset GCC_COLORS

tmp=$(mktemp -d "${TMPDIR:-/tmp}/rxe-probe.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

out='' probes='' srctree='' objtree='' release='' mode=fast
while [ $# -gt 0 ]; do
	case $1 in
	-o) out=$2; shift 2;;
	-p)
		[ -r "$2" ] || { echo "probe.sh: $2 cannot be read" >&2; exit 2; }
		# What stands above the first question of a part is that part's.
		[ -z "$probes" ] || echo "#line 1 \"$2\"" >> "$tmp/probes.c"
		cat "$2" >> "$tmp/probes.c" || exit 1
		probes=$tmp/probes.c
		shift 2;;
	-s) srctree=$2; shift 2;;
	-b) objtree=$2; shift 2;;
	-k) release=$2; shift 2;;
	-m) mode=${2:-fast}; shift 2;;
	--) shift; break;;
	*)  echo "probe.sh: unknown option $1" >&2; exit 2;;
	esac
done

# die LINE...: stop the build with an explanation that can be read.
die()
{
	{
		echo
		echo "rxe: cannot build for kernel ${release:-$objtree}"
		for line; do
			echo "     $line"
		done
		echo
	} >&2
	exit 1
}

for need in "$out" "$probes" "$srctree" "$objtree" "${1:-}"; do
	if [ -z "$need" ]; then
		echo "probe.sh: need -o, -p, -s, -b and a compiler after --" >&2
		exit 2
	fi
done
case $mode in
fast|slow) ;;
*) die "PROBE_MODE must be 'fast' or 'slow', not '$mode'.";;
esac
[ -r "$objtree/include/generated/autoconf.h" ] ||
	[ -r "$objtree/include/linux/autoconf.h" ] ||
	die "$objtree is not a configured kernel tree" \
	    "(include/generated/autoconf.h is missing)."
[ -r "$objtree/Module.symvers" ] ||
	die "$objtree/Module.symvers is missing, so nobody can say which functions" \
	    "this kernel exports. Build the kernel's modules first, or install the" \
	    "headers package of your distribution."

# --- the questions -----------------------------------------------------------
#
# One line per question: kind, name, argument.
#   header NAME PATH     is <PATH> in the source or the object tree?
#   export NAME SYMBOL   is SYMBOL in Module.symvers?
#   probe  NAME          does the block compile?
#   require NAME         must compile, or the build stops with its #error text
awk '
	/^ \* Header: / { print "header", $3, $4 }
	/^ \* Export: / { print "export", $3, $4 }
	/^#line 1 "(probe|require):/ {
		split($3, part, /[":]/)
		print part[2], part[3]
	}
' "$probes" > "$tmp/questions" || exit 1

[ "$(sort "$tmp/questions" | uniq | wc -l)" -eq "$(wc -l < "$tmp/questions")" ] ||
	die "a question has the same name as another:" \
	    "$(sort "$tmp/questions" | uniq -d)"

names()		# KIND: the names of all questions of that kind
{
	awk -v kind="$1" '$1 == kind { print $2 }' "$tmp/questions"
}

upper()
{
	tr 'abcdefghijklmnopqrstuvwxyz' 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
}

# --- headers and exports: looked up, not compiled ----------------------------

defines=''
: > "$tmp/yes"
while read -r kind name arg; do
	[ "$kind" = header ] || continue
	answer=0
	# The tree that holds the headers is srctree, with or without a separate
	# object tree; the object tree holds those that the build made.
	for dir in "$srctree/include" "$objtree/include" \
		   "$srctree/include/uapi" "$objtree/include/generated"; do
		if [ -e "$dir/$arg" ]; then
			answer=1
			echo "$name" >> "$tmp/yes"
			break
		fi
	done
	defines="$defines -DRXE_HAVE_$(echo "$name" | upper)=$answer"
done < "$tmp/questions"

# Module.symvers: CRC, symbol, where, how; the columns after them vary.
awk '
	NR == FNR { if ($1 == "export") ask[$3] = ask[$3] " " $2; next }
	$2 in ask { n = split(ask[$2], name, " ")
		    for (i = 1; i <= n; i++) print name[i] }
' "$tmp/questions" "$objtree/Module.symvers" | sort -u >> "$tmp/yes"

# --- compile -----------------------------------------------------------------
#
# -w: a warning that CONFIG_WERROR or a flag turned into an error is no answer.
# No macro expansion tracking: an error belongs to the probe that used the
# macro, not to the header that defined it.
quiet='-w -fsyntax-only'
unlimited=''
if "$@" --version 2>/dev/null | grep -qi clang; then
	unlimited='-ferror-limit=0 -fno-color-diagnostics'
else
	unlimited='-ftrack-macro-expansion=0 -fdiagnostics-color=never'
	echo 'int rxe;' > "$tmp/try.c"
	# shellcheck disable=SC2086 # options, or nothing
	"$@" $quiet $unlimited "$tmp/try.c" > /dev/null 2>&1 ||
		unlimited='-ftrack-macro-expansion=0'
fi

compile()	# FILE: errors to $tmp/log; the compiler's exit status
{
	file=$1
	shift
	# shellcheck disable=SC2086 # options, or nothing
	"$@" $quiet $unlimited $defines "$file" > "$tmp/log" 2>&1
}

# The compiler itself must work, else every answer would be "no".
explain()	# TITLE: stop, quoting what the compiler said
{
	title=$1
	grep -v '^In file included from' "$tmp/stray" | head -n 12 |
		sed 's/^/         /' > "$tmp/quote"
	die "$title" "$(cat "$tmp/quote")" \
	    "compiler: $compiler" \
	    "If the kernel was built with another compiler, name it: make CC=..."
}
compiler=$("$@" --version 2>/dev/null | head -n 1)
[ -n "$compiler" ] || die "the compiler '$1' does not run." \
	"Install it, or name another: make CC=... (one that takes this kernel's flags)."

required()	# LOG: why each 'require' block that fails there is needed
{
	{
		sed -n 's/^require:\([a-z0-9_]*\):.*error: #error *"\(.*\)"$/\1 \2/p
			s/^require:\([a-z0-9_]*\):.*error: *"\(.*\)"$/\1 \2/p' "$1"
		sed -n 's/^require:\([a-z0-9_]*\):.*error:.*/\1/p' "$1"
	} | awk '
		NR == FNR { if (/^ \* Require: /) { name = $3; sub(/^ \* Require: [^ ]* /, "")
						    text[name] = $0 }
			    next }
		NF > 1    { sub(/^[^ ]* /, ""); if (!said[$0]++) print; next }
		text[$1] != "" { if (!said[text[$1]]++) print text[$1] }
	' "$probes" -
}

if [ "$mode" = fast ]; then
	compile "$probes" "$@"
	grep 'error:' "$tmp/log" > "$tmp/errors"
	grep -v -e '^probe:' -e '^require:' "$tmp/errors" > "$tmp/stray"
	[ -s "$tmp/stray" ] &&
		explain "its own headers do not compile with the flags it asks for:"
	if grep -q '^require:' "$tmp/errors"; then
		required "$tmp/errors" > "$tmp/missing"
		die "$(cat "$tmp/missing")"
	fi
	sed -n 's/^probe:\([a-z0-9_]*\):.*error:.*/\1/p' "$tmp/errors" |
		sort -u > "$tmp/no"
else
	# Everything before the first block belongs to every block.
	awk '/^#line 1 "(probe|require):/ { exit } { print }' "$probes" > "$tmp/top.c"
	compile "$tmp/top.c" "$@" || {
		cp "$tmp/log" "$tmp/stray"
		explain "its own headers do not compile with the flags it asks for:"
	}
	: > "$tmp/no"
	for kind in require probe; do
		for name in $(names $kind); do
			awk -v want="#line 1 \"$kind:$name\"" '
				/^#line 1 "/ { on = ($0 == want); seen = 1 }
				!seen || on { print }
			' "$probes" > "$tmp/one.c"
			compile "$tmp/one.c" "$@" && continue
			if [ $kind = require ]; then
				required "$tmp/log" > "$tmp/missing"
				die "$(cat "$tmp/missing")"
			fi
			echo "$name" >> "$tmp/no"
		done
	done
fi
# One probe must be a "yes" and one a "no" on every kernel; if they are not, the
# other answers mean nothing.
if grep -q '^must_pass$' "$tmp/no"; then
	grep '^probe:must_pass:' "$tmp/log" > "$tmp/stray"
	explain "a probe that every kernel passes has failed; the compiler said:"
elif ! grep -q '^must_fail$' "$tmp/no"; then
	cp "$tmp/log" "$tmp/stray"
	explain "a probe that no kernel passes has passed; the compiler said:"
fi
names probe | grep -v -x -F -f "$tmp/no" >> "$tmp/yes"

# --- the answers -------------------------------------------------------------

mkdir -p "$(dirname "$out")"
{
	echo "/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */"
	echo "/* Made by compat/probe.sh from compat/probes*.c. Do not edit. */"
	awk '
		NR == FNR { yes[$1] = 1; next }
		$1 == "require" || $2 ~ /^must_/ { next }
		{ printf "#define RXE_HAVE_%s %d\n", toupper($2), ($2 in yes) }
	' "$tmp/yes" "$tmp/questions"
} > "$out.tmp" && mv "$out.tmp" "$out" || exit 1
exit 0
