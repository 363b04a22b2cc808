#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# accel crypto without a kernel: against a directory whose attributes target_mock.c makes and judges as the kernel would.
. "$(dirname "$0")/lib.inc"
. tests/cli/mock.inc
cr=$m/sys/kernel/config/nvme-accel-crypto
dbg=$m/sys/kernel/debug/nvme-accel-crypto
uuid=6b1f0c6e-0000-4000-8000-000000000001

cr() {
	verb=$1
	shift
	mocked crypto "$verb" --root="$m" "$@"
}
attr() { cat "$cr/$1/$2"; }

mkdir -p "$m/run" "$m/dev/accel/by-uuid" "$cr" "$dbg"
echo 1.0 >"$cr/version"
echo >"$cr/algorithms"
: >"$m/dev/kmsg"
: >"$m/dev/nvme0n1"
: >"$m/dev/nvme1n1"
: >"$m/dev/ng0n1"
: >"$m/dev/accel/by-uuid/$uuid"

ok "an empty list" cr list
is "  is a sentence" "no bindings (accel crypto bind DEVICE makes one)" "$(cat out)"
ok "  and as JSON" cr list -o json
is "  []" "[]" "$(tr -d ' \n' <out)"

# ---- bind ----
ok "bind" cr bind /dev/nvme0n1
is "  says what it is" "nvme0n1: live: deflate sha256" "$(cat out)"
is "  the device, enabled" "/dev/nvme0n1 1" "$(attr nvme0n1 device_path) $(attr nvme0n1 enable)"
ok "bind by UUID, with all options" cr bind --threshold-min 16k --threshold-max 0x10000 --verify cpu --priority 200 --timeout 500 \
	--slots 8 --queue-depth 64 --level 6 --window-bits 15 --allow-fabrics "/dev/accel/by-uuid/$uuid"
is "  its name is the UUID" "$uuid: live: deflate sha256" "$(cat out)"
is "  the attributes" "16384 65536 2 200 500 8 64 6 15 1" "$(cd "$cr/$uuid" && cat threshold_min threshold_max verify priority timeout \
	slots queue_depth level window_bits allow_fabrics | xargs)"
ok "--verify none" cr bind --name third --verify none /dev/nvme1n1
is "  " 0 "$(attr third verify)"
ok "binding it again changes what may change" cr bind --verify device --timeout 2000 /dev/nvme1n1
is "  under the name it has" "1 2000 /dev/nvme1n1" "$(attr third verify) $(attr third timeout) $(attr third device_path)"
is "  and makes no other one" "$uuid nvme0n1 third" "$(cd "$cr" && echo */ | tr -d /)"
no "  what may not change" 4 'unbind it first' cr bind --slots 4 /dev/nvme1n1
no "a name that another device has" 4 'name of another device' cr bind --name third "/dev/accel/by-uuid/$uuid" --threshold-min 1
ok "list" cr list
says "  in columns" '^third +live +/dev/nvme1n1 +local +deflate sha256 +50 +4096 +131072' out
cr list -o json >l.json
json "list as JSON" l.json "[b['name'] for b in x] == ['$uuid', 'nvme0n1', 'third'] and x[0]['threshold_min'] == 16384 and \
x[0]['algorithms'] == ['deflate', 'sha256'] and x[0]['uuid'] is None and x[0]['state'] == 'live'"

# ---- What is not right ----
no "no such device" 3 'is not there' cr bind /dev/nvme9n1
no "  --wait" 3 'is not there' cr bind --wait 1 /dev/nvme9n1
(sleep 1; : >"$m/dev/nvme8n1") &
ok "  waits for one that comes" cr bind --wait 20 /dev/nvme8n1
wait
while IFS='|' read -r pattern words; do
	# shellcheck disable=SC2086 # words
	no "usage: $words" 2 "$pattern" cr $words
done <<'LIST'
takes one block device|bind
takes one block device|bind /dev/nvme0n1 /dev/nvme1n1
give the block device|bind nvme0n1
give the block device|bind /dev/../etc/passwd
its block device is /dev/nvme0n1|bind /dev/ng0n1
a name has 1 to 48|bind --name a/b /dev/nvme0n1
a name has 1 to 48|bind --name .hidden /dev/nvme0n1
threshold-min|bind --threshold-min x /dev/nvme0n1
threshold-max|bind --threshold-max 511 /dev/nvme0n1
threshold-max|bind --threshold-max 2M /dev/nvme0n1
none of none, device, cpu|bind --verify maybe /dev/nvme0n1
timeout|bind --timeout 9 /dev/nvme0n1
level|bind --level 0 /dev/nvme0n1
window-bits|bind --window-bits 16 /dev/nvme0n1
slots|bind --slots 257 /dev/nvme0n1
threshold-max|bind --threshold-min 200k /dev/nvme0n1
takes the name or the device|unbind
takes the name or the device|unbind a b
takes the name or the device|unbind --all a
takes no operand|list a
takes the name or device|stats a b
takes no operand|bench a
goes with one --op|bench --driver x
none of compress|bench --op zip
size|bench --size 4k,x
unknown verb|frob
LIST
: >"$m/dev/nvme7n1"
export MOCK_REFUSE='nvme-accel-crypto/*/enable:95:nvme-accel-crypto: nvme7n1: /dev/nvme7n1 is no accelerator'
no "the kernel refuses" 1 'the kernel says: nvme-accel-crypto: nvme7n1: .* is no accelerator' cr bind /dev/nvme7n1
unset MOCK_REFUSE
if [ -e "$cr/nvme7n1" ]; then fail "  nothing stays" "$(ls "$cr")"; else pass "  nothing stays"; fi

# ---- stats ----
no "no statistics" 3 'is nvme-accel-crypto loaded' cr stats
mkdir -p "$dbg/third"
printf 'comp_requests 5\ncomp_total_in_bytes 18446744073709551615\nfallback_requests 2\nin_flight 0\n' >"$dbg/stats"
printf '0 0\n2 0\n4 3\n8 1\n16 0\n' >"$dbg/latency"
printf 'comp_requests 1\nslots 8\nno number\n' >"$dbg/third/stats"
ok "stats" cr stats
says "  counters by their names" '^comp_requests: 5$' out
says "  64 bits" '^comp_total_in_bytes: 18446744073709551615$' out
says "  latency" '^ *4 ns +8 ns +3$' out
cr stats -o json >s.json
json "  as JSON" s.json "x['counters']['fallback_requests'] == 2 and x['latency'] == [{'from_ns': 4, 'to_ns': 8, 'requests': 3}, \
{'from_ns': 8, 'to_ns': 16, 'requests': 1}] and x['name'] is None"
ok "stats of a binding" cr stats third
says "  by name" '^binding: third$' out
ok "stats of a device" cr stats /dev/nvme1n1 -o json
json "  " out "x['name'] == 'third' and x['counters'] == {'comp_requests': 1, 'slots': 8}"
no "stats of what is not bound" 3 'is no binding' cr stats /dev/nvme5n1

# ---- unbind ----
ok "unbind by name" cr unbind nvme0n1
ok "unbind by device" cr unbind /dev/nvme1n1
no "  twice" 3 'is no binding' cr unbind third
ok "unbind --all" cr unbind --all
is "nothing is left" "algorithms version" "$(ls "$cr" | xargs)"
no "bench without its module" 3 'nvme-accel-crypto-test is not loaded' cr bench --op compress
ok "the lock is its own" test -e "$m/run/nvme-accel/crypto/lock"
finish
