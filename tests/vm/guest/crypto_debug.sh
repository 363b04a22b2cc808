# SPDX-License-Identifier: BSD-2-Clause
# The debug kernel's tests of each algorithm (testmgr, with the random ones) on an accelerator; the test module under KASAN and
# lockdep.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
. "$here/crypto.inc"

# selftest DRIVER: what /proc/crypto says
selftest() { awk -v d="$1" '$1 == "driver" { mine = $3 == d } mine && $1 == "selftest" { print $3; exit }' /proc/crypto; }
selftested() { [ "$(selftest "$1")" = passed ]; }

# How often testmgr tries what is random; not with the drivers that we compare with.
testmgr=/sys/module/cryptomgr/parameters
modprobe cryptomgr
echo 1 >$testmgr/noextratests
leaks_begin
cr_load
load_host
cr_where
echo "${FUZZ:-20}" >$testmgr/fuzz_iterations
echo 0 >$testmgr/noextratests
ok "bind" cr_bind a "$dev" --threshold-min 0 --timeout 60000
for d in $drivers; do
	# Whoever asks for an algorithm waits for its tests.
	ask "kind=$(kind_of "$d")" "driver=$d" rounds=1 min=4096 || fail "  $d can be had" "$(dmesg | tail -n 5)"
	soon "testmgr: $d" 300 selftested "$d"
done
echo "# on the accelerator: $(accelerated); $(grep -E '^fallback' "$cdbg/stats" | xargs)"
if [ "$(accelerated)" -gt 100 ]; then pass "  $(accelerated) requests of it on the accelerator"; else fail "  on the accelerator" "$(cat "$cdbg/stats")"; fi
ct "rfc4106 above it" kind=aead "driver=rfc4106(gcm-aes-nvme-accel)" "reference=rfc4106(gcm_base(ctr(aes-generic),ghash-generic))" \
	rounds=30 depth=4 max=20000 timeout=120
for d in $drivers; do ct "$d" "kind=$(kind_of "$d")" "driver=$d" rounds="${ROUNDS:-60}" depth=16 threads=2 max=30000 timeout=120; done
ok "unbind" cr_unbind a
soon "rmmod" 60 rmmod nvme_accel_crypto
leaks "nothing has leaked"
finish
