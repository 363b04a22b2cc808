# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-p2pdma on the debug kernel while allocations fail: each of a program's first ones in turn, then some at random. Errors are clear ones, nothing leaks, and afterwards everything works.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/debug.inc"
. "$here/p2p.inc"
debug_kernel || { skip "failing allocations" "not the debug kernel"; finish; }

# Injected by the program itself, in what it asks for: failures while it starts would hit this machine's files, by 9p, which do not
# forget them.
set_up() {
	local d
	inject "$@" || return 1
	for d in $injectors; do echo "${probability:-0}" >"/sys/kernel/debug/$d/probability"; done
}
# hit N COMMAND...: the N-th allocation fails; false: there was none
hit() {
	local d left some=1
	set_up task-filter=N times=1000
	FAIL_NTH=$1 run "${@:2}"
	for d in $injectors; do
		read -r left <"/sys/kernel/debug/$d/times"
		[ "$left" -eq 1000 ] || some=0
	done
	set_up times=-1
	return $some
}
each() { # NAME COMMAND...
	local name=$1 n=1 odd=0 failed=0
	shift
	while hit $n "$@" && [ "$n" -lt "${MOST:-300}" ]; do
		case $rc in 0) ;; 1) failed=$((failed + 1)) ;; *) odd=$rc; break ;; esac
		n=$((n + ${STEP:-4}))
	done
	is "$name: $n allocations fail in turn, $failed were felt; each time a clear end" 0 "$odd"
	[ "$failed" -gt 0 ] || fail "  some were felt" "$(cat "$work/out" "$work/err")"
	has sets 0 || fail "  nothing is left" "$("$p2p" list)"
}
# any COMMAND...: one of ten fails
any() {
	probability=10 set_up task-filter=Y times=-1
	FAIL_ANY=1 run "$@"
	set_up times=-1
	return $rc
}

p2p_load
leaks_begin
fill "$a" 4
ok "a copy" "$p2p" copy "$a:0" "$b:0" 65536
each "a copy" "$p2p" copy "$a:0" "$b:0" 65536 extents=3
each "a verdict with self-test" "$p2p" why 0 "$cmb" test
for i in 1 2 3 4 5 6 7 8 9 10; do any "$p2p" copy "$a:0" "$b:0" $((1 << 20)) chunk=16384; done
pass "copies while some allocations fail: the last one ended with $rc"
ok "afterwards a copy" "$p2p" copy "$a:0" "$b:0" $((4 << 20))
ok "  every byte is right" same_bytes "$a" "$b" $((4 << 20))
ok "the module goes" p2p_unload
# Loading is not tried while allocations fail: the kernel's own tracing warns of what it cannot have for a module's trace events.
ok "it loads" insmod "$MODULES/nvme-accel-p2pdma.ko"
soon "  and finds the CMB" 60 provider
ok "  and goes" p2p_unload
leaks "nothing has leaked"
finish
