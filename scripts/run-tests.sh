#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs test programs that speak TAP (cmocka programs and scripts alike), shows what failed or was skipped,
# and adds up the counts: scripts/run-tests.sh COUNTS_FILE PROGRAM...
# COUNTS_FILE receives "passed failed skipped" added to what is there.
#   TEST_JOBS     programs at once (1)
#   TEST_TIMEOUT  seconds that a program may take (1800)
set -u

# The first failure often causes the others, and the last lines tell how it ended.
ends_of() {
	awk '{ l[NR] = $0 } END { for (i = 1; i <= NR; i++) if (i <= 40 || i > NR - 20) print "    " l[i]; else if (i == 41) print "    ..." }'
}

# one DIR PROGRAM: its report goes out in one piece, its counts into a file of their own
one() {
	dir=$1 t=$2
	log=$(mktemp "$dir/log.XXXXXX")
	start=$(date +%s)
	CMOCKA_MESSAGE_OUTPUT=TAP timeout "${TEST_TIMEOUT:-1800}" "$t" >"$log" 2>&1 </dev/null
	rc=$?
	# cmocka 1.1 writes a skipped test as "not ok N # SKIP".
	s=$(grep -ciE '^(not )?ok .*# skip' "$log")
	p=$(($(grep -c '^ok ' "$log") - $(grep -ciE '^ok .*# skip' "$log")))
	f=$(($(grep -c '^not ok ' "$log") - $(grep -ciE '^not ok .*# skip' "$log")))
	{
		# A program that died, or that ran nothing, has failed however many lines it printed before.
		if [ "$rc" -ne 0 ] && [ "$f" -eq 0 ]; then
			f=1
			echo "not ok - $t ended with status $rc"
		elif [ $((p + f + s)) -eq 0 ]; then
			f=1
			echo "not ok - $t ran no test"
		fi
		printf '%-44s %4d passed %3d failed %3d skipped %4d s\n' "$(echo "$t" | sed "s,.*/\(build-of-\),\1,")" "$p" "$f" \
			"$s" $(($(date +%s) - start))
		grep -iE '^(not )?ok .*# skip' "$log" | sed 's/^/    /'
		[ "$f" -eq 0 ] || grep -v '^ok ' "$log" | ends_of
	} >"$log.report"
	echo "$p $f $s" >"$log.counts"
	flock "$dir" cat "$log.report"
	rm -f "$log" "$log.report"
}

if [ "$1" = --one ]; then
	one "$2" "$3"
	exit 0
fi
counts=$1
shift
read -r passed failed skipped <"$counts" 2>/dev/null || { passed=0 failed=0 skipped=0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
[ $# -eq 0 ] || printf '%s\0' "$@" | xargs -0 -n 1 -P "${TEST_JOBS:-1}" "$0" --one "$dir"
ran=0
for c in "$dir"/*.counts; do
	[ -e "$c" ] || break
	read -r p f s <"$c"
	ran=$((ran + 1)) passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
if [ "$ran" -ne $# ]; then
	echo "not ok - only $ran of $# programs told how they ended"
	failed=$((failed + 1))
fi
echo "$passed $failed $skipped" >"$counts"
[ "$failed" -eq 0 ]
