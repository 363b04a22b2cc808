# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-crypto comes and goes under load: rmmod and unbind with 1,000 requests under way, bindings on and off, accelerators added
# and taken away, the module loaded again and again ($RELOADS); what a request allocates.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
. "$here/crypto.inc"

S=${LIFE_SECONDS:-5}
leaks_begin
cr_load
load_host
cr_acceld 1=all 2=all
second=$(node_path "$nqn" 2)

# ---- Much under way ----
# One slot, so that much waits, whatever is faster.
ok "bind" cr_bind a "$tcp_dev" --threshold-min 0 --slots 1 --queue-depth 2000 --timeout 20000
ct_start kind=acomp driver=deflate-nvme-accel depth=1000 seconds=$((S + 5)) min=1000 max=4096 timeout=60
soon "hundreds of requests are under way" 30 eval '[ $(($(count queued) + $(count in_flight))) -gt 500 ]'
fails "rmmod is refused" 'in use' rmmod nvme_accel_crypto
ok "unbind all the same" cr_unbind a
ct_end "1,000 requests under way"
ok "bind again" cr_bind a "$tcp_dev" --threshold-min 0 --slots 1 --queue-depth 4 --timeout 20000
ct_start kind=skcipher driver=xts-aes-nvme-accel depth=1000 seconds="$S" min=1000 max=4096 timeout=60 backlog=0
ct_end "more than the queue takes, without leave to wait"
[ "$(count refused_full)" -gt 0 ] && pass "  refused $(count refused_full) times" || fail "  refused" "$(cat "$cdbg/stats")"
ct "with leave" kind=skcipher driver=xts-aes-nvme-accel depth=1000 seconds="$S" min=1000 max=4096 timeout=60 backlog=1
[ "$(count backlogged)" -gt 0 ] && pass "  $(count backlogged) waited" || fail "  waited" "$(cat "$cdbg/stats")"

# ---- On and off ----
ct_start kind=acomp driver=deflate-nvme-accel depth=32 threads=2 seconds=$((2 * S)) max=20000 timeout=60
for i in 1 2 3 4; do
	echo 0 >"$crypto/a/enable"
	ok "  disabled under load" cr_is a disabled
	cr_bind b "$second" --threshold-min 0 >/dev/null || fail "  another one is added"
	echo 1 >"$crypto/a/enable" || fail "  enabled again"
	cr_unbind b || fail "  taken away"
done
ct_end "bindings that come and go"

# ---- What a request allocates ----
tracing=/sys/kernel/tracing
[ -d $tracing/events ] || mount -t tracefs tracefs $tracing 2>/dev/null
if [ -e $tracing/events/kmem/kmalloc/trigger ] && echo 'hist:keys=call_site.sym' >$tracing/events/kmem/kmalloc/trigger 2>/dev/null; then
	echo 'hist:keys=call_site.sym' >$tracing/events/kmem/kmem_cache_alloc/trigger
	before=$(accelerated)
	ask kind=acomp driver=deflate-nvme-accel rounds=200 depth=16 min=4096 max=40000
	cat $tracing/events/kmem/kmalloc/hist $tracing/events/kmem/kmem_cache_alloc/hist >"$work/hist"
	# Leases are renewed beside the requests, by what may allocate.
	is "traced: $(($(accelerated) - before)) requests on the accelerator allocate nothing" "" \
		"$(grep -E 'nvme_accel_crypto\]' "$work/hist" | grep -vE '\] (lease|ctl)_')"
	[ "$(grep -c hitcount "$work/hist")" -gt 1 ] || fail "  the trace sees allocations" "$(head -n 5 "$work/hist")"
	echo '!hist:keys=call_site.sym' >$tracing/events/kmem/kmalloc/trigger
	echo '!hist:keys=call_site.sym' >$tracing/events/kmem/kmem_cache_alloc/trigger
else
	skip "what a request allocates" "no histograms of events in this kernel"
fi
ok "unbind" cr_unbind a
soon "rmmod" 60 rmmod nvme_accel_crypto

# ---- Again and again ----
# For a moment the module may still be in use: the kernel's own tests of an algorithm run beside us.
n=0
for ((i = 0; i < ${RELOADS:-5}; i++)); do
	insmod "$MODULES/nvme-accel-crypto.ko" && cr_bind a "$tcp_dev" --threshold-min 0 >/dev/null &&
		ask kind=acomp driver=deflate-nvme-accel rounds=20 depth=8 max=20000 && [ "$(told faults)" = 0 ] &&
		cr_unbind a && within 60 rmmod nvme_accel_crypto || break
	n=$((n + 1))
done
is "loaded, bound, used, unloaded" "${RELOADS:-5}" $n
# A binding holds the module: it is not forgotten.
insmod "$MODULES/nvme-accel-crypto.ko" && cr_bind a "$tcp_dev" >/dev/null
fails "rmmod of a module that has bindings" 'in use' rmmod nvme_accel_crypto
ok "  without them" cr_unbind a
soon "  it goes" 60 rmmod nvme_accel_crypto
disconnect >/dev/null
stop_daemon
leaks "nothing has leaked"
finish
