# SPDX-License-Identifier: BSD-2-Clause
# What the accelerator spares the processor: acceld outside the guest ($address:$port). `accel crypto bench` prints all; with 128 KiB
# at depth 32 the submitting side may take a fifth of the time of software deflate.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/crypto.inc"

cr_load
load_host
ok "nvme connect" connect --nr-io-queues=2
soon "  a block device" 60 node_path "$nqn" 1
ok "bind" cr_bind a "$(node_path "$nqn" 1)" --threshold-min 0 --threshold-max 256k --timeout 30000
patience=${BENCH_PATIENCE:-900}
ok "accel crypto bench" "$ACCEL" crypto bench --no-modprobe -o json --seconds "${BENCH_SECONDS:-1}" ${BENCH_ARGS:-}
cp "$work/out" "$work/bench"
echo "# $(grep -E '^(fallback|late|refused|backlog)' "$cdbg/stats" | grep -v ' 0$' | xargs)"
# The same without verification, and how much comes back of a request.
echo 0 >"$crypto/a/verify"
before=$(count out_copy_bytes) requests=$(count comp_requests)
ok "  without verification" "$ACCEL" crypto bench --no-modprobe -o json --seconds "${BENCH_SECONDS:-1}" -p compress -s 128k -n 32 \
	--driver deflate-nvme-accel
cp "$work/out" "$work/off"
requests=$(($(count comp_requests) - requests))
out=$((($(count out_copy_bytes) - before) / (requests ? requests : 1)))
echo "# $(count out_rereads) of $(count comp_requests) results were read once more"
fail_lines=200
patience=120
run /usr/bin/python3 "$here/crypto_bench.py" "$work/bench" "$work/off" "$(node_path "$nqn" 2)" $((out + 511 & ~511))
cat "$work/out"
if [ "$rc" -eq 0 ]; then pass "a fifth of the time at most"; else fail "a fifth of the time at most" "$(tail -n 3 "$work/err")"; fi
ok "unbind" cr_unbind a
disconnect >/dev/null
finish
