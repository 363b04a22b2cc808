# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-p2pdma: controllers reset, unbound and pulled, processes killed, the module unloaded, all of it while copies run. A copy ends
# well, or with the error that says what happened; what ends well is right.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/debug.inc"
. "$here/p2p.inc"
bytes=$((16 << 20))
driver=/sys/bus/pci/drivers/nvme

# A copy in the background again and again, for at most so long: its output in $work/bg
begin() { # [option=value]...
	"$p2p" copy "$a:0" "$b:0" $bytes seconds=$((60 * slow)) "$@" >"$work/bg" 2>&1 &
	bg=$!
	soon "a copy runs" 20 more_out
}
# When a client's queues are deleted, QEMU 7.2 waits for its transfers, for ever if one of them waits for its turn to another controller's
# CMB, and the guest with it. So a client that is reset or goes has one command under way at a time.
begin_one() { begin slots=1 chunk=524288; }
# Bytes have come out of the CMB since it was last asked.
seen=0
more_out() {
	local n
	n=$(field out)
	[ "${n:-0}" -gt "$seen" ] && seen=$n
}
gone() { ! kill -0 "$bg" 2>/dev/null; }
# What goes may go between two of its copies: then the next one is refused.
ends() { # NAME PATTERN
	soon "$1" 20 gone
	kill -KILL "$bg" 2>/dev/null
	wait "$bg" 2>/dev/null
	if grep -qE -- "$2" "$work/bg"; then pass "  it says so"; else fail "  it says so" "not $2: $(cat "$work/bg")"; fi
}
works() {
	fill "$a" 16
	ok "$1: copies are right" "$p2p" copy "$a:0" "$b:0" $bytes slots=4
	ok "  every byte" same_bytes "$a" "$b" $bytes
}

# nvme-pci leaves the CMB off after a reset. Where the kernel has p2pdma it stays on, and the emulator's keeps its bytes.
resets() {
	local lost
	begin slots=4
	ok "the provider is reset under load" nvme reset "/dev/$(ctrl_of "$cmb")"
	soon "  live" 30 live "$(ctrl_of "$cmb")"
	kill -0 "$bg" || fail "  the copy goes on, or is told and started again" "$(cat "$work/bg")"
	more_out
	soon "  bytes move" 30 more_out
	lost=$(field losses)
	if debug_kernel || [ "$lost" -ge 1 ]; then pass "  the loss was seen, where there was one"; else fail "  the loss was seen" "$("$p2p" list)"; fi
	kill -TERM "$bg"
	wait "$bg" 2>/dev/null
	soon "  it ends" 20 has jobs 0
	# Without retry: the error is the loss's own.
	if ! debug_kernel; then
		ok "reset between jobs" nvme reset "/dev/$(ctrl_of "$cmb")"
		soon "  live" 30 live "$(ctrl_of "$cmb")"
		is "  the CMB is lost" 3 "$(field state)"
	fi
	works "after resets"
	is "  ready" 1 "$(field state)"
	begin_one
	ok "a client is reset under load" nvme reset "/dev/$(ctrl_of "$a")"
	soon "  live" 30 live "$(ctrl_of "$a")"
	soon "  bytes move" 30 more_out
	kill -TERM "$bg"
	wait "$bg" 2>/dev/null
	works "after a client's reset"
}

# rebind DEVICE: its driver leaves it and comes back
unbind() { timeout $((30 * slow)) bash -c "echo $1 >$driver/unbind"; }
bind() { echo "$1" >$driver/bind; }

unbinds() {
	local pci
	pci=$(pci_of "$cmb")
	begin
	ok "the provider is unbound under load" unbind "$pci"
	ends "  the copy ends" 'error=ENODEV where=4|COPY: ENODEV'
	is "  no provider" "" "$("$p2p" list)"
	fails "  a copy says so" 'no provider' "$p2p" copy "$a:0" "$b:0" 4096
	ok "  bound again" bind "$pci"
	soon "  it is found" 60 provider
	is "  as another one" 2 "$(field id)"
	soon "  its disk" 60 node_of cmb
	cmb=$(node_of cmb)
	seen=0
	works "after that"
	begin_one
	pci=$(pci_of "$a")
	ok "the source is unbound under load" unbind "$pci"
	ends "  the copy ends" 'state=3 error=[A-Z]+ where=[12]|COPY: E(NODEV|IO)'
	has jobs 0 || fail "  no job is left" "$("$p2p" list)"
	ok "  bound again" bind "$pci"
	soon "  its disk" 60 node_of a
	a=$(node_of a)
	works "after that"
}

kills() {
	local i
	for i in 1 2 3; do
		begin
		kill -KILL "$bg"
		wait "$bg" 2>/dev/null
		soon "killed, $i: nothing is left" 20 has sets 0
		has jobs 0 || fail "  no job" "$("$p2p" list)"
	done
	begin
	fails "the module is in use: it stays" 'in use' rmmod nvme_accel_p2pdma
	kill -KILL "$bg"
	wait "$bg" 2>/dev/null
	soon "  " 20 has sets 0
	ok "it goes" p2p_unload
	ok "  and comes" insmod "$MODULES/nvme-accel-p2pdma.ko"
	soon "  finds the CMB" 60 provider
	seen=0
	works "after that"
}

pulls() {
	begin_one
	echo "##qmp device_del id=b"
	ends "the destination is pulled: the copy ends" 'state=3 error=[A-Z]+ where=[12]|COPY: E(NODEV|IO)'
	soon "  its disk is gone" 60 not node_of b
	b=$far
	b=$(node_of cmb)
	works "to another one"
	"$p2p" hold 3 4096 >"$work/held" &
	held=$!
	begin
	echo "##qmp device_del id=cmb"
	ends "the provider is pulled: the copy ends" 'state=3 error=[A-Z]+ where=[124]|COPY: E(NODEV|IO)'
	soon "  no provider" 60 not provider
	kill -KILL $held
	wait $held 2>/dev/null
	ok "the module goes" p2p_unload
}

p2p_load
leaks_begin
ok "data" fill "$a" 16
ok "a copy" "$p2p" copy "$a:0" "$b:0" 4096
resets
unbinds
kills
pulls
leaks "nothing has leaked"
finish
