# SPDX-License-Identifier: BSD-2-Clause
# What goes wrong with accelerators, under load: whoever uses the crypto API gets right data, in time, and the counters say why.
# acceld in this guest, behind a proxy that spoils its answers.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
. "$here/crypto.inc"

S=${FAULT_SECONDS:-4}
control=$work/control
spoil() { echo "$*" >"$control.new" && mv "$control.new" "$control"; }
grew() { [ "$(counts $1)" -gt "$2" ]; }
# The accelerator does work again: not only software.
works_again() {
	local before
	before=$(accelerated)
	ask kind=ahash driver=sha256-nvme-accel rounds=32 depth=8 min=4096 max=20000
	[ "$(told faults)" = 0 ] && [ "$(accelerated)" -gt "$before" ]
}
# fault NAME KIND DRIVER COUNTERS COMMAND...: COMMAND runs while jobs do; one of the counters grows
fault() {
	local name=$1 kind=$2 driver=$3 want=$4 before
	shift 4
	before=$(counts $want)
	ct_start "kind=$kind" "driver=$driver" seconds="$S" depth=16 threads=2 min=512 max=30000 timeout=30
	"$@"
	ct_end "$name"
	if grew "$want" "$before"; then
		pass "  counted: $want"
	else
		fail_lines=60 fail "  counted: $want" "$(cat "$cdbg/stats")"
	fi
	spoil pass
	soon "  it works again" 60 works_again
}

leaks_begin
cr_load
load_host
configure 127.0.0.1:4420
namespaces 1=all >>"$conf"
start_daemon
spoil pass
/usr/bin/python3 "$here/crypto_proxy.py" 4421 4420 "$control" 2>"$work/proxy.err" &
proxy=$!
soon "the proxy listens" 60 sh -c 'ss -Hltn "sport = :4421" | grep -q .'
port=4421
ok "nvme connect" connect -c 1 -l 120 --nr-io-queues=2
soon "  a block device" 60 node_path "$nqn" 1
dev=$(node_path "$nqn" 1)
ok "bind" cr_bind a "$dev" --threshold-min 0 --timeout 1000
soon "it works" 60 works_again

wrong="fallback_verify fallback_protocol"
fault "a bit of each output flipped: compression" acomp deflate-nvme-accel "$wrong" spoil flip
fault "  ciphers" skcipher xts-aes-nvme-accel "$wrong" spoil flip
fault "  AEAD" aead gcm-aes-nvme-accel "$wrong" spoil flip
[ "$(cat "$control.flips")" -gt 50 ] && pass "  $(cat "$control.flips") bits were flipped" || fail "  bits were flipped" "$(cat "$work/proxy.err")"
echo 2 >"$crypto/a/verify"
fault "  compression that the processor verifies" acomp deflate-nvme-accel "$wrong" spoil flip
# What verification is for, and that a wrong byte would be seen here.
echo 0 >"$crypto/a/verify"
spoil flip
sleep 0.2
before=$(count fallback_verify)
ask kind=acomp driver=deflate-nvme-accel rounds=200 depth=8 min=4096 max=30000 timeout=30
[ "$(told faults)" -gt 0 ] && pass "  without verification wrong data would come through" || fail "  without verification wrong data comes through" "$(cat "$work/ct")"
is "  and nothing is verified" 0 $(($(count fallback_verify) - before))
spoil pass
echo 1 >"$crypto/a/verify"

late() {
	sleep 1
	spoil delay 3
}
fault "answers later than timeout" skcipher xts-aes-nvme-accel fallback_timeout late
cut() {
	sleep 1
	spoil cut
	sleep 1
	spoil pass
}
fault "connections cut" acomp deflate-nvme-accel "fallback_io_error fallback_timeout fallback_no_device fallback_lease_lost" cut
steal() {
	sleep 1
	for _ in 1 2 3; do
		"$ACCEL" lease unlock --force --all "$dev" >/dev/null 2>&1
		sleep 0.3
	done
}
fault "the lease stolen" acomp deflate-nvme-accel "fallback_lease_lost fallback_no_device fallback_io_error" steal
if [ "$(count lease_losses a)" -gt 0 ]; then pass "  lost $(count lease_losses a) times"; else fail "  lost" "$(cat "$cdbg/a/stats")"; fi
killed() {
	sleep 1
	kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null
	sleep 1
	: >"$log"
	start_daemon
}
fault "acceld killed, and started again" aead gcm-aes-nvme-accel "fallback_io_error fallback_timeout fallback_no_device fallback_lease_lost" killed
gone() {
	sleep 1
	disconnect >/dev/null 2>&1
}
before=$(count fallback_no_device)
ct_start kind=acomp driver=deflate-nvme-accel seconds="$S" depth=16 threads=2 max=30000 timeout=30
gone
ct_end "the device goes away"
if grew fallback_no_device "$before"; then pass "  counted: fallback_no_device"; else fail "  counted: fallback_no_device" "$(cat "$cdbg/stats")"; fi
soon "  the binding waits" 30 cr_is a waiting
ok "  a new transform, without any accelerator" ask kind=acomp driver=deflate-nvme-accel rounds=20 max=20000
is "  right in software" 0 "$(told faults)"
ok "nvme connect" connect -c 1 -l 120 --nr-io-queues=2
soon "  the binding finds it" 60 cr_is a live
soon "  it works again" 60 works_again

is "nothing is under way" "0 0" "$(count in_flight) $(count queued)"
ok "unbind" cr_unbind a
disconnect >/dev/null
kill "$proxy"
stop_daemon
soon "rmmod" 60 rmmod nvme_accel_crypto
leaks "nothing has leaked"
[ "$bad" -eq 0 ] || tail -n 20 "$log" "$work/proxy.err" | sed 's/^/# /'
finish
