#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Parts of the daemon by themselves: each test_*.c here, built with the files that its "with:" line names, under
# sanitizers.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
count=0 bad=0

result() {
	count=$((count + 1))
	[ "$1" -eq 0 ] && { echo "ok $count - $2"; return; }
	bad=1
	echo "not ok $count - $2"
	tail -n 30 "$work/log" | sed 's/^/# /'
}

for test in tests/daemon/test_*.c; do
	name=$(basename "$test" .c)
	with=$(sed -n 's/^.*with: \(.*\.c\).*$/\1/p' "$test")
	# shellcheck disable=SC2086
	if ! ${CC:-cc} -std=gnu11 -Wall -Wextra -g -O1 -pthread -Iinclude -Iinclude/uapi -fsanitize=address,undefined \
		-fno-sanitize-recover=all -o "$work/$name" "$test" $with -lcmocka >"$work/log" 2>&1; then
		result 1 "$name is built"
		continue
	fi
	CMOCKA_MESSAGE_OUTPUT=TAP timeout 120 "$work/$name" >"$work/out" 2>"$work/log"
	status=$?
	grep '^#\|^not ok' "$work/out" >>"$work/log"
	sed -n 's/^ok [0-9]* - //p' "$work/out" >"$work/passed"
	while read -r what; do result 0 "$name: $what"; done <"$work/passed"
	result "$status" "$name"
done
echo "1..$count"
exit "$bad"
