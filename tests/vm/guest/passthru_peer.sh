# SPDX-License-Identifier: BSD-2-Clause
# A hostile peer, on this machine and through the inbox target: what it may not do is refused, and never reaches what is
# below (the test outside reads what the emulator has seen).
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
multipath=N
far=nqn.2026-11.local.accel:far

# attack NAME NODE CONTROLLER NSID [exported]
attack() {
	local name=$1
	shift
	patience=200
	ok "$name: every opcode, length and field" /usr/bin/python3 "$here/passthru_peer.py" "$@"
	patience=60
	cp "$work/out" "$work/peer"
	grep '^#' "$work/peer" | head -n 10
	sed -n 's/^sent /#   commands: /p; s/^admin /#   admin opcodes served: /p' "$work/peer"
	is "  only Flush, Write and Read are served" "0x00 0x01 0x02" "$(sed -n 's/^io //p' "$work/peer")"
	is "  and only of the right length, with no field that is not theirs" 0 "$(sed -n 's/^odd //p' "$work/peer")"
	# Asynchronous events are held until the 3 s that the peer gives them are over.
	if [ "$(sed -n 's/^slowest //p' "$work/peer")" -lt $((15000 * slow)) ]; then pass "  each was answered"; else fail "  each was answered" "$(grep slowest "$work/peer")"; fi
}

leaks_begin
pt_load
modprobe nvme
load_host
within 30 by_serial other || { fail "the emulator's controllers are there"; finish; }
mkdir "$cfs/victim"
ok "a virtual controller" pt_lower victim 3 "$(by_serial lower)" 1
ok "  live" pt_up victim
soon "  its node" 30 pt_has victim 3
ctrl=$(pt_name victim)
sum=$(dd if="$(node_path "$(cat "/sys/class/nvme/$(by_serial lower)/subsysnqn")" 2)" bs=1M count=64 iflag=direct 2>/dev/null | sha256sum)
attack "the local node" "$(pt_node victim 3)" "/dev/$ctrl" 3
for r in opcode field length lba_range; do
	n=$(pt_stat victim 3 refused_$r)
	if [ "$n" -gt 0 ]; then pass "  refused for $r: $n"; else fail "  refused for $r"; fi
done
is "  nothing is in flight" 0 "$(pt_stat victim 3 inflight)"
is "  the controller lives" "live" "$(get victim/state)"
verify "  fio verifies" "$(pt_node victim 3)" --size=2M
if modprobe nvmet-tcp && [ -e "/sys/module/nvmet" ]; then
	pt_export victim $far && pt_port 1 tcp 127.0.0.1 4421 $far || fail "it is exported"
	ok "exported: nvme connect" nvme connect -t tcp -a 127.0.0.1 -s 4421 -n $far -i 2
	soon "  its node" 30 node_path $far 3
	attack "through the inbox target" "$(node_path $far 3)" "/dev/$(controllers $far)" 3 exported
	verify "  fio verifies" "$(node_path $far 3)" --size=2M
	ok "  nvme disconnect" nvme disconnect -n $far
	pt_unport 1
	pt_unexport $far
fi
is "the lower controller's other namespace is as it was" "$sum" "$(dd if="$(node_path "$(cat "/sys/class/nvme/$(by_serial lower)/subsysnqn")" 2)" bs=1M count=64 iflag=direct 2>/dev/null | sha256sum)"
is "nothing is in flight" 0 "$(pt_stat victim 3 inflight)"
ok "the controller is taken away" pt_rm victim
ok "the module goes" pt_unload
leaks "nothing has leaked"
finish
