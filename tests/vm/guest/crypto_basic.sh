# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-crypto: bound to an accelerator of the kernel's own (where $local) and to one of acceld's over TCP; each driver
# against the generic ones; what list and stats say; taken away again.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
. "$here/crypto.inc"

rounds=${ROUNDS:-300}
leaks_begin
cr_load
load_host
cr_acceld 1=all 2=compression
is "no algorithm without an accelerator" "" "$(cat "$crypto/algorithms")"
for d in $drivers; do if has_driver "$d"; then fail "  $d is not there"; fi; done

# ---- One accelerator ----
ok "bind" cr_bind a "$tcp_dev" --threshold-min 0 --timeout 20000
is "  says what it serves" "a: live: deflate gcm(aes) sha256 xts(aes)" "$(tr ' ' '\n' <"$work/out" | sed 1,2d | sort | xargs echo a: live:)"
is "  behind a fabric" fabric "$(cat "$crypto/a/transport")"
for d in $drivers; do if has_driver "$d"; then pass "  $d is there"; else fail "  $d is there" "$(cat "$crypto/algorithms")"; fi; done
for d in $drivers; do
	before=$(accelerated)
	ct "$d" "kind=$(kind_of "$d")" "driver=$d" rounds="$rounds" depth=16 threads=2 max=40000
	n=$(($(accelerated) - before))
	if [ $n -gt $((rounds / 4)) ]; then pass "  $n on the accelerator"; else fail "  $n on the accelerator" "$(cat "$cdbg/stats")"; fi
done
ct "rfc4106 above it" kind=aead "driver=rfc4106(gcm-aes-nvme-accel)" "reference=rfc4106(gcm_base(ctr(aes-generic),ghash-generic))" \
	rounds=$((rounds / 2)) depth=4 max=20000
for style in 0 1 2 3 4 5; do
	ct "lists of style $style" kind=acomp driver=deflate-nvme-accel rounds=$((rounds / 6)) depth=8 style=$style max=40000
done
ct "sizes to 128 KiB" kind=acomp driver=deflate-nvme-accel rounds=$((rounds / 6)) depth=8 max=131072
ct "and beyond" kind=skcipher driver=xts-aes-nvme-accel rounds=$((rounds / 10)) depth=4 min=100000 max=400000
if [ "$(count out_rereads)" -lt $(($(count comp_requests) / 2)) ]; then
	pass "results are read in one go but for $(count out_rereads) of $(count comp_requests)"
else
	fail "results are read in one go, mostly" "$(cat "$cdbg/stats")"
fi
# Data that shrink to nearly nothing, and then some that do not shrink: the first of these is longer than is read, those after it are not.
ct "data that shrink" kind=acomp driver=deflate-nvme-accel rounds=120 fill=2 min=40000 max=60000
before=$(count out_rereads)
ct "data that do not" kind=acomp driver=deflate-nvme-accel rounds=40 fill=0 min=40000 max=60000
n=$(($(count out_rereads) - before))
if [ $n -ge 1 ] && [ $n -le 3 ]; then pass "  the first is read twice ($n)"; else fail "  the first is read twice" "$n" "$(cat "$cdbg/stats")"; fi
is "a fault of theirs would be found" 1 "$(ask kind=ahash driver=sha256-nvme-accel rounds=64 spoil=1; [ "$(told faults)" -gt 0 ] && echo 1)"
is "nothing is under way" "0 0" "$(count in_flight) $(count queued)"
is "no answer was wrong" "0 0 0" \
	"$(count fallback_protocol) $(count fallback_verify) $(count fallback_io_error)"

# ---- What is shown ----
says "accel crypto list" '^a +live +/dev/nvme' "$ACCEL" crypto list
json "  as JSON" "x[0]['name'] == 'a' and x[0]['threshold_min'] == 0 and len(x[0]['uuid']) == 36" "$ACCEL" crypto list -o json
says "accel crypto stats" '^comp_total_in_bytes: [1-9]' "$ACCEL" crypto stats
json "  of the device, with latency" "x['name'] == 'a' and sum(l['requests'] for l in x['latency']) > 100" \
	"$ACCEL" crypto stats -o json "$tcp_dev"
json "accel stats shows it, too" "x['crypto'][0]['counters']['comp_requests'] > 0" "$ACCEL" stats -o json "$tcp_dev"
fails "a device that is none" 'accelerator|no binding|not there' cr_bind x /dev/nvme99n1
fails "a device that is bound already" 'use|bound|another' cr_bind b "$(node_path "$nqn" 1)" --slots 4

# ---- A second one, of a kind ----
second=$(node_path "$nqn" 2)
ok "a second accelerator" cr_bind b "$second" --threshold-min 0 --timeout 20000
ct "both" kind=acomp driver=deflate-nvme-accel rounds=$((2 * rounds)) depth=32 threads=2 max=40000 backlog=1
if [ "$(count comp_requests b)" -gt 0 ] && [ "$(count decomp_requests a)" -gt 0 ]; then
	pass "  share the work"
else
	fail "  share the work" "$(cat "$cdbg/b/stats")"
fi
ok "unbind the first" cr_unbind a
ct_all "the other one, or software" rounds=$((rounds / 5)) depth=8 max=20000
ok "unbind" cr_unbind b
soon "no algorithm is left" 10 eval '[ -z "$(cat $crypto/algorithms)" ]'
for d in $drivers; do if has_driver "$d"; then fail "  $d is gone"; fi; done
ok "nvme disconnect" disconnect
stop_daemon

# ---- A local one ----
if [ -n "${LOCAL:-}" ]; then
	pt_load
	cr_engine all
	ok "bind" cr_bind here "$local_dev" --threshold-min 0 --timeout 20000
	is "  is local" local "$(cat "$crypto/here/transport")"
	ct_all "an engine of this kernel" rounds=$((rounds / 2)) depth=16 threads=2 max=40000
	ok "unbind" cr_unbind here
	cr_engine_gone all
fi
soon "rmmod" 60 rmmod nvme_accel_crypto
leaks "nothing has leaked"
finish
