#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Nodes and remote accelerators in list, info and stats: on trees that look like /sys and /dev, and on a daemon here.
. "$(dirname "$0")/lib.inc"
daemon=
cleanup() { [ -z "$daemon" ] || kill "$daemon" 2>/dev/null; }
cd "$work" || exit 1
umask 022

# attr PATH TEXT
attr() { mkdir -p "$(dirname "$1")" && printf '%s\n' "$2" >"$1"; }
# controller ROOT NAME MODEL: one with a namespace n1
controller() {
	attr "$1/sys/class/nvme/$2/model" "$3"
	attr "$1/sys/class/nvme/$2/transport" pcie
	attr "$1/sys/class/nvme/$2/state" "${4:-live}"
	attr "$1/sys/class/nvme/$2/$2n1/dev" 259:0
	mkdir -p "$1/dev"
}

# No node at all.
mkdir -p none/sys none/dev
ok "list of a system without nodes" "$ACCEL" list --root=none --hardware
is "  is empty" "no accelerator found" "$(cat out)"
run "$ACCEL" list --root=none --hardware -o json
is "  as JSON, too" "0 []" "$rc $(python3 -m json.tool <out)"

# Things that cannot be opened: one line each, which says why, and the others are listed.
controller bad nvme0 "Some Disk"
controller bad nvme1 "Some Disk"
controller bad nvme2 "Some Disk" connecting
controller bad nvme3 "Some Disk"
: >bad/dev/nvme0n1
: >bad/dev/nvme1n1
: >bad/dev/nvme2n1
chmod 0 bad/dev/nvme1n1
chmod -R a+rX bad/sys
accel=$(public_accel)
run unprivileged "$accel" list --root=bad
is "devices that cannot be asked: the others are listed" "0 7" "$rc $(grep -c ^soft: out)"
is "  one line each" 4 "$(wc -l <err)"
is "  a file is no node" 1 "$(grep -c '/dev/nvme0n1: not a block device' err)"
is "  no permission" 1 "$(grep -c '/dev/nvme1n1: permission denied' err)"
is "  no connection" 1 "$(grep -c '/dev/nvme2n1: .*not connected' err)"
is "  no node" 1 "$(grep -c '/dev/nvme3n1: nothing has that name' err)"
is "  no text of null pointers" 0 "$(grep -c null err)"
run unprivileged "$accel" list --root=bad -o json
is "  and valid JSON" "0 7" "$rc $(python3 -c 'import json; print(len(json.load(open("out"))))')"
for d in "nvme0n1 not a block device" "nvme1n1 permission denied" "nvme3n1 nothing has that name"; do
	name=${d%% *} text=${d#* }
	refuses "info of it: $text" 3 "/dev/$name: $text" unprivileged "$accel" info --root=bad "/dev/$name"
done
mkdir -p bad/sys/class/nvme/nvme4/ng4n1
: >bad/dev/ng4n1
chmod 666 bad/dev/ng4n1
chmod -R a+rX bad/sys
refuses "info of it: not a node of the NVMe driver" 3 '/dev/ng4n1: not a node of the NVMe driver' \
	unprivileged "$accel" info --root=bad /dev/ng4n1
rm -r bad/sys/class/nvme/nvme4 bad/dev/ng4n1
run unprivileged "$accel" list --root=bad --hardware
is "nothing but what may not be opened is no empty list" "3" "$rc"

# Cards of another interface.
controller card nvme0 "Eideticom NoLoad U2"
mkdir -p card/dev/nvme0n1
python3 - <<'PY'
import struct
ctrl, ns = bytearray(4096), bytearray(4096)
ctrl[4:24] = b"NL0001".ljust(20)
ctrl[24:64] = b"Eideticom NoLoad U2".ljust(40)
ctrl[64:72] = b"2".ljust(8)
ctrl[3072:3084] = struct.pack("<III", 17 << 27 | 6 << 23 | 21 << 17 | 13 << 12 | 5 << 6 | 59, 0, 0x107)
ns[384:388] = struct.pack("<I", 5)
ns[388:402] = b"Erasure Coding"
ns[436:444] = struct.pack("<II", 9, 0x11)
ns[636:640] = struct.pack("<I", 2)
ns[640:640 + 28] = struct.pack("<III8xI4s", 1, 2, 3, 4, b"spec")
open("card/dev/nvme0n1/identify-controller", "wb").write(ctrl)
open("card/dev/nvme0n1/identify-namespace", "wb").write(ns)
ctrl[64:72] = b"7".ljust(8)
open("unknown", "wb").write(ctrl)
PY
ok "list with a NoLoad card" "$ACCEL" list --root=card --hardware
is "  shows its name" 1 "$(grep -c '^/dev/nvme0n1 *Erasure Coding *noload *pcie *hardware' out)"
is "  and no message" "" "$(cat err)"
ok "info of it" "$ACCEL" info --root=card /dev/nvme0n1
is "  shows version and engines" "1 1 1" "$(grep -c '^Version: *0x00000009' out) $(grep -c '^ *0 *0x00000001' out) $(grep -c 'NoLoad V6' out)"
is "  and when it was built" 1 "$(grep -c '2021-06-17 13:05:59' out)"
ok "info -o json of it" "$ACCEL" info --root=card -o json /dev/nvme0n1
is "  says the same" "6e 2 73706563" "$(python3 -c 'import json
d = json.load(open("out"))
print("6e" if d["interface"] == "NoLoad V6" else d["interface"], len(d["engines"]), d["engines"][0]["spec"])')"
is "list -t leaves it out" "no accelerator found" "$("$ACCEL" list --root=card --hardware -t erasure)"
cp unknown card/dev/nvme0n1/identify-controller
ok "a card with another firmware is listed" "$ACCEL" list --root=card --hardware
is "  as it is" 1 "$(grep -c '^/dev/nvme0n1 .*noload' out)"
refuses "it is not used" 3 '/dev/nvme0n1' "$ACCEL" stats /dev/nvme0n1

# Remote ones.
for where in 127.0.0.1:99999 ::1 :4420; do
	refuses "discovery at '$where'" 2 "^accel list: $where: " "$ACCEL" list --discover $where
	is "  and no list" "" "$(cat out)"
done
refuses "discovery where nothing listens" 3 'nothing listens at 127.0.0.1:1: is acceld running' "$ACCEL" list --hardware --discover 127.0.0.1:1
run "$ACCEL" list --discover 127.0.0.1:1
is "  what is here is listed all the same" "3 7" "$rc $(grep -c ^soft: out)"
# one NAME STATUS TEXT DEVICE: the device is refused with this one line and no other
one() {
	refuses "$1" "$2" "$3" "$ACCEL" info "$4"
	is "  in one line" 1 "$(wc -l <err)"
}
one "a remote one where nothing listens" 3 'nothing listens at 127.0.0.1:1: is acceld running there' tcp://127.0.0.1:1
one "  with an NQN" 3 'nothing listens at 127.0.0.1:1: ' tcp://127.0.0.1:1/nqn.2026-11.test:x
one "a host that nobody knows" 3 'host nobody.invalid: ' tcp://nobody.invalid
one "a word" 2 "'nonsense' is no device name .see accel.1., DEVICES" nonsense
one "a port that is none" 2 'tcp://h:99999: the port is not' tcp://h:99999
acceld=$(dirname "$ACCEL")/acceld
if [ -x "$acceld" ]; then
	"$acceld" -l 127.0.0.1:0 2>log &
	daemon=$!
	tries=0
	while ! grep -qs 'ready' log && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
	port=$(sed -n 's/.*listening addr=127.0.0.1:\([0-9]*\).*/\1/p' log)
	ok "discovery" "$ACCEL" list --discover "127.0.0.1:$port" --transport tcp
	is "  lists its accelerators" 7 "$(grep -c "^tcp://127.0.0.1:$port/" out)"
	ok "list -v" "$ACCEL" list -v --discover "127.0.0.1:$port" --transport tcp
	is "  says address and keep alive" 7 "$(grep -cE "traddr=127.0.0.1,trsvcid=$port +- +[0-9]+ " out)"
	is "  and this host's name, the last word" 1 "$(tail -n 1 out | grep -cE '^Host NQN: nqn\..')"
	me=$(sed -n 's/^Host NQN: //p' out)
	ok "list -o json says the same without -v" "$ACCEL" list -o json --discover "127.0.0.1:$port" --transport tcp
	is "  with the same keys for all" 1 "$(python3 -c 'import json
d = json.load(open("out"))
print(len(set(tuple(sorted(e)) for e in d)) if all(e["kato_ms"] and e["address"] and e["subsystem"] for e in d) else d)')"
	uuid=$(python3 -c 'import json; print(json.load(open("out"))[6]["uuid"])')
	ok "info by UUID over discovery" "$ACCEL" info --discover "127.0.0.1:$port" "uuid:$uuid"
	is "  is the one" 1 "$(grep -c "^UUID: *$uuid" out)"
	at="tcp://127.0.0.1:$port" nqn=nqn.2026-11.local.accel:acceld
	one "a namespace that is not there" 3 'there is no namespace 99 .see accel list --discover' "$at/$nqn?nsid=99"
	one "a subsystem that is not there" 3 'there is no such subsystem .see accel list' "$at/nqn.2026-11.test:x"
	url="tcp://127.0.0.1:$port/?nsid=7"
	# The target counts a read when it has answered it: the second look surely finds those of the first.
	"$ACCEL" stats "$url" >/dev/null
	ok "stats" "$ACCEL" stats "$url"
	is "  of the target, too" "1 1" "$(grep -c '^Connections now: *[1-9]' out) $(grep -c '^Read commands: *[1-9]' out)"
	is "  and no word of a process" "" "$(cat err)"
	ok "stats -o json" "$ACCEL" stats -o json "$url"
	is "  has them" True "$(python3 -c 'import json
d = json.load(open("out"))["target"]
print(d["connections"] > 0 and d["admin_commands"] > 0 and d["errors"] is not None and len(d["latency"]) > 0)')"
	# The lock is the device's: others are kept away, in whatever process they are.
	"$ACCEL" lock "$url" -- sh -c 'touch locked; while [ ! -e go ]; do sleep 0.05; done' 2>lock.err &
	lock=$!
	tries=0
	while [ ! -e locked ] && [ $tries -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
	is "lock holds" locked "$(ls locked)"
	exits "another process does not get it" 4 "$ACCEL" lock -n "$url" -- true
	ok "lease list" "$ACCEL" lease list "$url"
	is "  names the holder" 1 "$(grep -c 'lock [0-9]* sh' out)"
	printf x >f
	exits "nor work done" 4 timeout 60 "$ACCEL" checksum -d "$url" f
	touch go
	wait $lock
	is "it ends well" 0 $?
	is "  and claims nothing of excluding nobody" "" "$(cat lock.err)"
	ok "then others do" "$ACCEL" lock -n "$url" -- true
	kill "$daemon"
	wait "$daemon" 2>/dev/null
	# Those who may not, or not now; an ordinary disk.
	printf '[daemon]\nmax_ctrls = 1\n[subsystem %s]\nhost = nqn.2026-11.test:other\n[subsystem %s]\nallow_any_host = yes
[namespace 1]\ntype = digest\n[namespace 2]\ntype = cipher\n[namespace 9]\ntype = ram\nsize = 1M\n' $nqn:a $nqn:b >conf
	# begin: a daemon with the configuration conf; its address in $at
	begin() {
		rm -f log
		"$acceld" -c conf -l 127.0.0.1:0 2>log &
		daemon=$!
		tries=0
		while ! grep -qs 'ready' log && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
		at="tcp://127.0.0.1:$(sed -n 's/.*listening addr=127.0.0.1:\([0-9]*\).*/\1/p' log)"
	}
	# hold DEVICE MARK: locks it until the file go-MARK is there
	hold() {
		"$ACCEL" lock "$1" -- sh -c 'touch has-$0; while [ ! -e go-$0 ]; do sleep 0.05; done' "$2" 2>lock.err &
		lock=$!
		tries=0
		while [ ! -e "has-$2" ] && [ $tries -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
	}
	begin
	one "a host that is not listed" 3 "the target must list this host: host = $me in acceld.conf" \
		"$at/$nqn:a?nsid=1"
	one "  by another name" 3 "must list this host: host = nqn.2026-11.test:me in" \
		"$at/$nqn:a?nsid=1&hostnqn=nqn.2026-11.test:me"
	one "an ordinary disk" 3 'namespace 9 is an ordinary disk, no accelerator' "$at/$nqn:b?nsid=9"
	run "$ACCEL" info "$at/$nqn:b"
	is "several accelerators" "2 1" "$rc $(grep -c '2 accelerators in the subsystem; say which one by ?nsid=N' err)"
	is "  and no other word than which" "3 2" "$(wc -l <err) $(grep -c ' nsid=' err)"
	hold "$at/$nqn:b?nsid=1" ctrl
	one "more controllers than the target has" 4 'the target takes no more controllers .max_ctrls' \
		"$at/$nqn:b?nsid=2"
	touch go-ctrl
	wait $lock
	kill "$daemon"
	wait "$daemon" 2>/dev/null
	is "who only looked is not in the log" "1 1" "$(grep -c queue-connected log) $(grep -c controller-gone log)"
	# Slots have what memory the target has: neither this host's fault nor its memory.
	printf '[daemon]\nslot_memory = 12M\n' >conf
	begin
	refuses "no memory for all slots" 1 'the target has no memory for slots .slot_memory in acceld.conf' \
		"$ACCEL" lock "$at/$nqn?nsid=5" -- true
	ok "but for one" "$ACCEL" digest -d "$at/$nqn?nsid=5" f
	kill "$daemon"
	wait "$daemon" 2>/dev/null
	is "  the target says so, too" 1 "$(grep -c 'nsid=5 what="no memory for a slot of .* slot_memory is 12582912' log | sed 's/[1-9][0-9]*/1/')"
	daemon=
else
	skip "a daemon's accelerators" "$acceld is not built"
fi
finish
