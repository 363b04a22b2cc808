# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-p2pdma on the debug kernel while allocations fail: each of a program's first ones in turn, then some at random; also those of
# loading the module. Errors are clear ones, nothing leaks, and afterwards everything works.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/debug.inc"
. "$here/p2p.inc"
patience=300
debug_kernel || { skip "failing allocations" "not the debug kernel"; finish; }

# Every N-th step, as a start of a program costs.
each() { # NAME COMMAND...
	local name=$1 n=1 odd=0
	shift
	while fail_nth $n "$@" >"$work/out" 2>"$work/err" && [ "$n" -lt "${MOST:-120}" ]; do
		case $rc in 0 | 1) ;; *) odd=$rc; break ;; esac
		n=$((n + ${STEP:-5}))
	done
	is "$name: the $n-th allocation failed at most; each time a clear end" 0 "$odd"
	has sets 0 || fail "  nothing is left" "$("$p2p" list)"
}

p2p_load
leaks_begin
fill "$a" 4
ok "a copy" "$p2p" copy "$a:0" "$b:0" 65536
each "a copy" "$p2p" copy "$a:0" "$b:0" 65536 extents=3
each "a verdict with self-test" "$p2p" why 0 "$cmb" test
for i in 1 2 3 4 5; do failslab "$p2p" copy "$a:0" "$b:0" $((1 << 20)) chunk=16384 >/dev/null 2>&1; done
ok "afterwards a copy" "$p2p" copy "$a:0" "$b:0" $((4 << 20))
ok "  every byte is right" same_bytes "$a" "$b" $((4 << 20))
ok "the module goes" p2p_unload
for i in 1 2 3 4 5 6 7 8; do
	failslab insmod "$MODULES/nvme-accel-p2pdma.ko" 2>/dev/null && p2p_unload
done
pass "the module is loaded while allocations fail"
ok "it loads" insmod "$MODULES/nvme-accel-p2pdma.ko"
soon "  and finds the CMB" 60 provider
ok "  and goes" p2p_unload
leaks "nothing has leaked"
finish
