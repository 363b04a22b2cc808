# SPDX-License-Identifier: BSD-2-Clause
# An engine of this kernel, exported by the inbox target over loop and bound where it arrives; and over loop and at home at once.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
. "$here/crypto.inc"
multipath=N
far=nqn.2026-11.local.accel:far

leaks_begin
cr_load
pt_load
cr_engine all
modprobe nvmet && modprobe nvme-loop || { fail "the inbox target loads" "$(dmesg | tail -n 3)"; finish; }
ok "the inbox target exports it" pt_export all $far
ok "  a loop port" pt_port 2 loop "" "" $far
ok "  nvme connect" nvme connect -t loop -n $far
soon "  a block device" 60 node_path $far 1
far_dev=$(node_path $far 1)
ok "bind" cr_bind far "$far_dev" --threshold-min 0 --timeout 20000
# The target may wait for memory, and so may what it passes on to.
is "  behind a fabric" fabric "$(cat "$crypto/far/transport")"
before=$(accelerated)
ct_all "through the target" rounds="${ROUNDS:-150}" depth=16 threads=2 max=40000
ct "sizes to 128 KiB" kind=acomp driver=deflate-nvme-accel rounds=$((${ROUNDS:-150} / 3)) depth=8 max=131072
n=$(($(accelerated) - before))
if [ $n -gt "${ROUNDS:-150}" ]; then pass "  $n on the accelerator"; else fail "  $n on the accelerator" "$(cat "$cdbg/stats")"; fi
is "no answer was wrong" "0 0 0" "$(count fallback_protocol) $(count fallback_verify) $(count fallback_io_error)"

ok "bind the same accelerator at home" cr_bind near "$local_dev" --threshold-min 0 --timeout 20000
ct "both" kind=acomp driver=deflate-nvme-accel rounds="${ROUNDS:-150}" depth=32 threads=2 max=40000 backlog=1
if [ "$(count comp_requests near)" -gt 0 ]; then pass "  share the work"; else fail "  share the work" "$(cat "$cdbg/near/stats")"; fi
ct_start kind=acomp driver=deflate-nvme-accel depth=16 threads=2 seconds=4 max=20000 timeout=60
ok "nvme disconnect under load" nvme disconnect -n $far
ct_end "  whoever asks notices nothing"
soon "  the binding waits" 30 cr_is far waiting
ok "unbind" cr_unbind far
ok "unbind" cr_unbind near
ok "the port goes" pt_unport 2
ok "the export goes" pt_unexport $far
cr_engine_gone all
soon "rmmod" 60 rmmod nvme_accel_crypto
leaks "nothing has leaked"
finish
