#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The debug kernel: it is built or in the cache, boots, does what other tests want of it, and finds faults. Building it takes
# a quarter of an hour on two idle cores, once for a version of the kernel, the compiler and debug.config.
. "$(dirname "$0")/lib.inc"
need "$ACCEL"
need "$ACCELD"

# judged NAME WANTED LINES: how many of the lines of a log are faults
judged() {
	j_got=$(printf '%s\n' "$3" | bash -c ". $root/tests/vm/guest/faults.inc; log_faults | wc -l")
	if [ "$j_got" -eq "$2" ]; then pass "$1"; else fail "$1" "$j_got of these lines are faults, not $2:" "$3"; fi
}
judged "what checkers say at the start is no fault" 0 '[    0.0] kasan: KernelAddressSanitizer initialized
[    0.1] kmemleak: Kernel memory leak detector initialized (mem pool available: 15748)
[    0.1] kmemleak: Automatic memory scanning thread started
[    0.2] DMA-API: preallocated 65536 debug entries
[    0.2] DMA-API: debugging enabled by kernel config
[    0.2] ODEBUG selftest passed
[    0.3] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar'
judged "what they find is" 9 '[    1.0] BUG: KASAN: slab-out-of-bounds in f+0x1/0x2
[    1.0] UBSAN: array-index-out-of-bounds in a.c:1:2
[    1.0] WARNING: possible circular locking dependency detected
[    1.0] WARNING: inconsistent lock state
[    1.0] WARNING: suspicious RCU usage
[    1.0] ODEBUG: free active (active state 0) object: 00000000a object type: timer_list hint: f
[    1.0] DMA-API: nvme 0000:01:00.0: device driver frees DMA memory with different size
[    1.0] kmemleak: 2 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
[    1.0] kmemleak: Freeing unknown object at 0x1'
judged "an injected failure is none" 0 '[    2.0] FAULT_INJECTION: forcing a failure.
[    2.0] name failslab, interval 1, probability 10, space 0, times -1
[    2.0] CPU: 0 UID: 0 PID: 1 Comm: sh Not tainted
[    2.0] Call Trace:
[    2.0]  <TASK>'
judged "a fault after it is" 2 '[    2.0] FAULT_INJECTION: forcing a failure.
[    2.0] name failslab, interval 1, probability 10, space 0, times -1
[    2.0] BUG: KASAN: null-ptr-deref in f+0x1/0x2
[    2.0] Call Trace:
[    2.1] Call Trace:'
if out=$("$root/tests/vm/debug_kernel.sh" -x 2>&1); then
	fail "debug_kernel.sh refuses what it does not know" "$out"
else
	pass "debug_kernel.sh refuses what it does not know"
fi

# A failed build tells why, in what it says last.
kernel=$("$root/tests/vm/debug_kernel.sh" 2>"$work/build-err") || {
	rc=$?
	why=$(tail -n 1 "$work/build-err")
	if [ "$rc" -eq 77 ]; then skip "the debug kernel" "$why"; else fail "the debug kernel is built" "$(cat "$work/build-err")"; fi
	finish
}
pass "the debug kernel is there: $(basename "$kernel")"
guest "debug" debug debug -t 1000 -w 'kmemleak: [0-9]+ new suspected memory leak'

# The same directory is what modules are built against, and the source with the private header.
cp -r "$root/tests/vm/guest/faulty" "$work/faulty"
source=$("$root/tests/vm/debug_kernel.sh" --source)
if make -s -C "$source" M="$work/faulty" KSRC="$source" modules >"$work/make" 2>&1 && ! grep -q warning: "$work/make"; then
	pass "a module is built against it, with the private header of nvme-core"
else
	fail "a module is built against it, with the private header of nvme-core" "$(cat "$work/make")"
fi
out=$("$vm" -k debug -t 700 -s "$root/tests/vm/guest/faulty.sh" -- "$work/faulty/nvme-accel-faulty.ko" 2>&1)
rc=$?
printf '%s\n' "$out" | grep -E '^(not )?ok - ' >"$work/faulty.tap"
while IFS= read -r line; do
	case $line in
	"ok - "*) pass "faults: ${line#ok - }" ;;
	*) fail "faults: ${line#not ok - }" "$(printf '%s\n' "$out" | grep -A8 -F -- "$line")" ;;
	esac
done <"$work/faulty.tap"
if [ "$rc" -eq 97 ]; then pass "  and the guest is not taken for a good one"; else fail "  and the guest is not taken for a good one (status $rc)" "$out"; fi
finish
