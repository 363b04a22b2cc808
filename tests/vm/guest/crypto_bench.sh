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
patience=60
cat >"$work/judge.py" <<'P'
import json, sys
x = json.load(open(sys.argv[1]))
for r in x:
    print('# %-10s %-36s %7d %3d %8.1f MB/s  task %9.0f  softirq %9.0f  all %9.0f us/MiB  %5.1f %%' % (
        r['operation'], r['driver'], r['size'], r['depth'], r['mb_per_s'], r['task_ns_per_mib'] / 1e3, r['softirq_ns_per_mib'] / 1e3,
        r['busy_ns_per_mib'] / 1e3, 100 * r['accelerated']))
cost = {r['driver'].split('-')[1]: r['task_ns_per_mib'] + r['softirq_ns_per_mib'] for r in x
        if r['operation'] == 'compress' and r['size'] == 131072 and r['depth'] == 32}
soft = cost.get('scomp', cost.get('generic'))
print('# 128 KiB at depth 32: %.1f %% of the time of software' % (100 * cost['nvme'] / soft))
sys.exit(cost['nvme'] * 5 > soft)
P
fail_lines=200
run /usr/bin/python3 "$work/judge.py" "$work/bench"
cat "$work/out"
if [ "$rc" -eq 0 ]; then pass "a fifth of the time at most"; else fail "a fifth of the time at most" "$(tail -n 3 "$work/err")"; fi
ok "unbind" cr_unbind a
disconnect >/dev/null
finish
