# SPDX-License-Identifier: BSD-2-Clause
# Allocations that fail, on the debug kernel: each one of binding an accelerator and of having a transform and using it in turn
# ($FAIL_MOST at most; 0: all), and some of many at random. Whatever begins is right in the end; nothing is left of what does not.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
. "$here/crypto.inc"

most=${FAIL_MOST:-0}
[ "$most" -gt 0 ] || most=100000
leaks_begin
cr_load
load_host
cr_where

# ---- Binding ----
enable() { echo 1 >"$crypto/a/enable"; }
attribute() { echo "$2" >"$crypto/a/$1"; }
ok "a binding" mkdir "$crypto/a"
ok "  its device" attribute device_path "$dev"
ok "  few slots" attribute slots 2
attribute timeout 20000
attribute threshold_min 0
n=1 failed=0
while [ $n -le "$most" ] && fail_nth $n enable 2>/dev/null; do
	if [ $rc -ne 0 ]; then
		failed=$((failed + 1))
		cr_is a disabled || fail "the failure of allocation $n: nothing is enabled" "$(cat "$crypto/a/state")"
	fi
	echo 0 >"$crypto/a/enable"
	n=$((n + 1))
done
if [ $n -gt 5 ] && [ $failed -gt 5 ]; then
	pass "each of $((n - 1)) allocations of enabling it failed: $failed times it was refused"
else
	fail "each allocation of enabling it failed" "only $n, refused $failed times"
fi
is "  no algorithm is left" "" "$(within 10 eval '[ -z "$(cat $crypto/algorithms)" ]'; cat $crypto/algorithms)"
ok "  enabled at last" enable
ct_all "  works" rounds=20 depth=8 max=20000 timeout=120

# ---- Transforms, and requests ----
each() {
	local d=$1 n=1 refused=0
	while [ $n -le "$most" ] && fail_nth $n ask "kind=$(kind_of "$d")" "driver=$d" rounds=3 depth=1 max=8192 timeout=120 2>/dev/null; do
		[ "$rc" -eq 0 ] || refused=$((refused + 1))
		if [ "$rc" -eq 0 ] && [ "$(told faults)" != 0 ]; then fail "$d: the failure of allocation $n" "$(cat "$work/ct")"; fi
		: >"$work/ct"
		n=$((n + 1))
	done
	if [ $refused -gt 0 ]; then pass "$d: each of $((n - 1)) allocations failed, $refused runs did not begin"; else fail "$d: each allocation failed" "$n"; fi
}
for d in $drivers; do each "$d"; done
failslab_probability=1
n=0 began=0
for d in $drivers; do
	for i in 1 2 3 4 5 6; do
		failslab ask "kind=$(kind_of "$d")" "driver=$d" rounds=30 depth=4 max=20000 timeout=120 2>/dev/null
		n=$((n + 1))
		[ -z "$(told faults)" ] || began=$((began + 1))
		[ -z "$(told faults)" ] || [ "$(told faults)" = 0 ] || fail "$d with allocations that fail" "$(cat "$work/ct")"
		: >"$work/ct"
	done
done
if [ $began -gt 0 ]; then pass "one of a hundred fails: $began of $n runs began, without a fault"; else fail "one of a hundred fails: no run began"; fi

# ---- The command ----
failslab_probability=2
for i in 1 2 3 4; do
	failslab cr_bind "f$i" "$dev" >/dev/null 2>&1
	cr_unbind "f$i" >/dev/null 2>&1
done
pass "bindings of a device that is in use"
cr_unbind a
for i in 1 2 3 4 5 6; do
	failslab cr_bind a "$dev" --threshold-min 0 >/dev/null 2>&1
	cr_unbind a >/dev/null 2>&1
done
ok "bind after that" cr_bind a "$dev" --threshold-min 0 --timeout 60000
ct "  works" kind=acomp driver=deflate-nvme-accel rounds=30 depth=8 max=20000 timeout=120
ok "unbind" cr_unbind a
soon "rmmod" 60 rmmod nvme_accel_crypto
leaks "nothing has leaked"
finish
