#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# acceld on this machine's loopback, the inbox host of stock kernels in a guest behind user networking.
. "$(dirname "$0")/lib.inc"
need "$ACCEL"
need "$ACCELD"

daemon=
cleanup() { [ -z "$daemon" ] || kill "$daemon" 2>/dev/null; }
cat >"$work/conf" <<'EOF'
[subsystem nqn.2026-11.local.accel:vm]
allow_any_host = yes
[namespace 1]
type = compression
[namespace 4]
type = digest
[namespace 7]
type = all
[namespace 16]
type = ram
size = 64M
EOF
"$ACCELD" -c "$work/conf" -l 127.0.0.1:0 </dev/null 2>"$work/log" &
daemon=$!
i=0
port=
while [ -z "$port" ] && [ $i -lt 100 ] && kill -0 $daemon 2>/dev/null; do
	sleep 0.1
	port=$(sed -n 's/.*listening addr=127.0.0.1:\([0-9]*\).*/\1/p' "$work/log")
	i=$((i + 1))
done
if [ -z "$port" ]; then
	fail "acceld listens" "$(cat "$work/log")"
	finish
fi
for kernel in ${*:-6.12 6.1}; do
	guest "$kernel" "$kernel" remote -t 180 -n "$port"
done
kill -TERM $daemon
wait $daemon
rc=$?
daemon=
if [ $rc -eq 0 ]; then pass "acceld ends at SIGTERM"; else fail "acceld ends at SIGTERM (status $rc)" "$(tail -n 5 "$work/log")"; fi
finish
