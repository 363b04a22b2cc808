#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The virtual machine itself: boots, sees this tree, tells failures, kernel faults and hangs apart.
. "$(dirname "$0")/lib.inc"

guest "6.12, inbox target" 6.12 nvmet -t 120
guest "6.1, inbox target" 6.1 nvmet -t 120

out=$("$vm" -t 60 -c 'echo "<2>BUG: a line of the test" >/dev/kmsg; ls tests/vm/README; exit 0' 2>&1)
if [ $? -eq 97 ] && printf '%s\n' "$out" | grep -q 'BUG: a line of the test'; then
	pass "a fault in the kernel log is a failure"
else
	fail "a fault in the kernel log is a failure" "$out"
fi
out=$("$vm" -t 60 -c 'exit 42' 2>&1)
if [ $? -eq 42 ]; then pass "the status of the job comes back"; else fail "the status of the job comes back" "$out"; fi
out=$("$vm" -t 60 -c 'echo c >/proc/sysrq-trigger' 2>&1)
if [ $? -eq 125 ] && printf '%s\n' "$out" | grep -q 'console:.*sysrq'; then
	pass "a crash ends at once, with the console"
else
	fail "a crash ends at once, with the console" "$out"
fi
start=$(seconds)
out=$("$vm" -t 25 -c 'sleep 1000' 2>&1)
rc=$?
if [ $rc -eq 124 ] && [ $(($(seconds) - start)) -le 32 ] && printf '%s\n' "$out" | grep -q 'sleep 1000'; then
	pass "a guest that hangs is ended in time, and what hung is named"
else
	fail "a guest that hangs is ended in time, and what hung is named (status $rc)" "$out"
fi
finish
