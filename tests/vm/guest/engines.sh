# SPDX-License-Identifier: BSD-2-Clause
# The engines inside the kernel: a test module that runs them when it is loaded and writes its lines to the kernel's log.
here=$(dirname "$0")
. "$here/lib.inc"
module=$MODULES/nvme-accel-engine-test.ko

# engine_tests PARAMETER...: what it says, and that it has said all
engine_tests() {
	local rc
	dmesg -C
	insmod "$module" "$@" >"$work/err" 2>&1
	rc=$?
	dmesg | sed 's/^\[[ 0-9.]*\] //' >"$work/log"
	sed -n 's/^\(ok\|not ok\) [0-9]* - /\1 - /p; /^# seed/p; /^# .*\.c:[0-9]/p' "$work/log"
	is "all of its tests have run" "1..$(grep -c '^ok\|^not ok' "$work/log")" "$(grep '^1\.\.' "$work/log")"
	is "it finds no fault" 0 "$rc"
	[ "$rc" -eq 0 ] || sed 's/^/# /' "$work/err"
}

for m in $(modinfo -F depends "$module" | tr , ' ') deflate; do modprobe "$m" || fail "module $m"; done
engine_tests rounds=10
ok "the module goes" rmmod nvme_accel_engine_test
# What a driver that never answers has is left alone for ever, and so is the module, whose driver it is.
engine_tests rounds=0 lost=1
finish
