# SPDX-License-Identifier: BSD-2-Clause
# accel target in a kernel: the module is where modprobe finds it, and nothing is loaded or mounted before the command does
# it. The emulator's controller `lower` has two namespaces.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
multipath=N
host=nqn.2014-08.org.nvmexpress:uuid:6b1f0c6e-0000-4000-8000-000000000001
hostid=6b1f0c6e-0000-4000-8000-000000000001
other=nqn.2014-08.org.nvmexpress:uuid:6b1f0c6e-0000-4000-8000-000000000002
file=$work/target.json

target() { "$ACCEL" target "$@"; }
# refuses NAME STATUS PATTERN COMMAND...
refuses() {
	local name=$1 want=$2 pattern=$3
	shift 3
	run "$@"
	if [ "$rc" -eq "$want" ] && grep -qE -- "$pattern" "$work/err"; then
		pass "$name"
	else
		fail "$name" "status $rc, not $want, or not like $pattern" "$(cat "$work/err" "$work/out")"
	fi
}
# What is in configfs, in one line; base: what others have there.
left() { (cd /sys/kernel/config && ls nvme-accel-passthru nvmet/subsystems nvmet/ports nvmet/hosts | grep -v '^version\|^features\|^$\|:$' | sort | xargs); }
# as_host NQN ID COMMAND WORDS...: the printed command for connecting, as that host
as_host() { timeout 60 $(sed -n 's/^nvme connect/nvme connect/p' "$work/connect" | tail -n 1) --hostnqn="$1" --hostid="$2"; }
exported() { target show "$1" -o json | /usr/bin/python3 -I -S -c 'import json, sys; print(json.load(sys.stdin)["export"])'; }
by_nqn() { controllers "$1" | head -n 1; }
ctrl_node() {
	local n x
	for n in /sys/class/nvme/"$1"/nvme*n*; do
		n=${n##*/}
		{ read -r x <"/sys/block/$n/nsid"; } 2>/dev/null && [ "$x" = "$2" ] && [ -b "/dev/$n" ] && { echo "/dev/$n"; return 0; }
	done
	return 1
}

# modprobe finds the module where it was built: depmod would read all modules of the guest.
install_module() {
	local depends
	depends=$(modinfo -F depends "$MODULES/nvme-accel-passthru.ko" | tr , ' ')
	mkdir -p /etc/modprobe.d
	echo "install nvme-accel-passthru for i in $depends; do modprobe \$i || exit 1; done; insmod $MODULES/nvme-accel-passthru.ko" \
		>/etc/modprobe.d/target.conf
	modprobe nvme-core multipath=$multipath
	modprobe nvme
	modprobe nvme-tcp
	within 20 by_serial lower || { fail "the emulator's controller is there"; finish; }
	umount /sys/kernel/config 2>/dev/null
}

first_steps() {
	says "nothing is there" 'no virtual controllers' target list
	is "  and looking loaded nothing" "" "$(grep nvme_accel /proc/modules)"
	refuses "not by everybody" 1 'only root' setpriv --reuid=65534 --regid=65534 --clear-groups "$ACCEL" target create x -e digest
	refuses "without the modules" 1 "modprobe (configfs|nvme-accel-passthru)" target create x -e digest --no-modprobe
}

# One command exports; what it prints connects.
one_command() {
	run target create comp --engine compression,threads=2 --tcp 127.0.0.1:4421 --host $host
	cp "$work/out" "$work/connect"
	is "one command makes a controller and exports it" 0 "$rc"
	[ "$rc" -eq 0 ] || { fail "  " "$(cat "$work/err"; dmesg | tail -n 5)"; finish; }
	far=$(exported comp)
	ok "  the host connects as it says" as_host $host $hostid
	soon "  its node" 15 node_path "$far" 1
	ok "  compress, gunzip reads it" job_compress "$(node_path "$far" 1)"
	says "  list tells it" "^comp +live +/dev/nvme[0-9]+ +1:compression +tcp://127.0.0.1:4421 +$host" target list
	json "  so does show" "x['export'] == '$far' and x['state'] == 'live' and x['namespaces'][0]['engine_threads'] == 2" \
		target show comp -o json
	ok "  nvme disconnect" nvme disconnect -n "$far"
	run as_host $other 6b1f0c6e-0000-4000-8000-000000000002
	if [ "$rc" -ne 0 ]; then pass "  another host may not"; else fail "  another host may not"; fi
	refuses "  it is not deleted while it is exported" 4 'unexport it first' target delete comp
	refuses "  it is not made twice" 1 'there is such a controller' target create comp -e digest
}

# What hosts would see half of, or not any more.
told_apart() {
	local uuid=6b1f0c6e-0000-4000-8000-0000000000aa
	before=$(left)
	refuses "two namespaces with one UUID" 1 'the kernel says: .*namespace 2: has the uuid or nguid of namespace 1' \
		target create twins -e digest,uuid=$uuid -e checksum,uuid=$uuid
	refuses "two controllers with one NQN" 1 'the kernel says: .*another one may have its subsysnqn' \
		target create twin -e digest --nqn "$(cat $cfs/comp/subsysnqn)"
	is "  nothing is left of them" "$before" "$(left)"
	ok "an exported controller is disabled" target set comp enable=0
	refuses "  it is not saved so" 1 'is exported, but enable is 0' target save "$file"
	ok "  and enabled" target set comp enable=1
	ok "  its export has followed: the host connects" as_host $host $hostid
	soon "  its node" 15 node_path "$far" 1
	ok "  nvme disconnect" nvme disconnect -n "$far"
}

more_of_it() {
	# The kernel numbers nodes in the order in which it found them, which is not that of the namespaces.
	lower=$(by_serial lower) first=$(ctrl_node "$(by_serial lower)" 1)
	refuses "a namespace that takes less than was promised" 1 'the kernel says: .*comp namespace 2: takes' \
		target add comp --device "$first"
	is "  nothing is left of it" "1" "$(ls $cfs/comp/namespaces | xargs)"
	ok "  with --force" target add --force comp --device "$first" --device "/dev/$lower,nsid=2,as=7,allow=read+flush"
	soon "  local nodes" 10 pt_has comp 7
	ok "  they have limits" target set comp/7 max_bytes_per_sec=50M max_inflight=8
	is "  " "52428800 8" "$(get comp/namespaces/7/max_bytes_per_sec) $(get comp/namespaces/7/max_inflight)"
	refuses "  the same again is refused, and the kernel says why" 4 'the kernel says: .*is used by comp namespace 2' target add comp -d "$first"
	is "  nothing is left of it" "1 2 7" "$(ls $cfs/comp/namespaces | xargs)"
	run target export comp --loop --host $host
	cp "$work/out" "$work/connect"
	is "exported by loop, too" 0 "$rc"
	ok "  the host connects as it says" as_host $host $hostid
	soon "  its node" 15 node_path "$far" 2
	verify "  fio verifies" "$(node_path "$far" 2)" --size=4M
	run dd if=/dev/zero of="$(node_path "$far" 7)" bs=4k count=1 oflag=direct
	if [ "$rc" -ne 0 ]; then pass "  writes to what is read only fail"; else fail "  writes to what is read only fail"; fi
	ok "  compress" job_compress "$(node_path "$far" 1)"
	ok "  nvme disconnect" nvme disconnect -n "$far"
	refuses "a serial number does not change under users" 4 '--force' target set comp serial=NEW1
	ok "  with --force it does" target set --force comp serial=NEW1
	ok "  the export has followed: the host connects" as_host $host $hostid
	soon "  its node" 15 node_path "$far" 2
	ok "  nvme disconnect" nvme disconnect -n "$far"
}

others() {
	mkdir $nvmet/subsystems/nqn.2026-11.local.accel:others $nvmet/ports/77 $nvmet/hosts/$other
	echo loop >$nvmet/ports/77/addr_trtype
	base=$(printf '%s\n' nqn.2026-11.local.accel:others 77 $other | sort | xargs)
}

saved_and_restored() {
	before=$(left)
	ok "save" target save "$file"
	is "  only its owner may read it" 600 "$(stat -c %a "$file")"
	ok "clear" target clear
	is "  what is others' is left" "$base" "$(left)"
	is "  the emulator's controller is the only one" "$lower" "$(ls /sys/class/nvme)"
	ok "restore" target restore "$file"
	is "  all is there again" "$before" "$(left)"
	ok "  again: nothing changes" target restore "$file"
	ok "  saved again" target save "$file.2"
	# nvmeX in the inbox target's part is whatever it is now.
	is "  it is the same" "" "$(diff <(sed 's,/dev/nvme[0-9]*,X,' "$file") <(sed 's,/dev/nvme[0-9]*,X,' "$file.2"))"
	ok "  --clear makes it anew" target restore --clear "$file"
	ok "  the host connects" as_host $host $hostid
	soon "  its node" 15 node_path "$far" 2
	verify "  fio verifies" "$(node_path "$far" 2)" --size=1M
	ok "  compress" job_compress "$(node_path "$far" 1)"
	ok "  nvme disconnect" nvme disconnect -n "$far"
}

# The controller below comes back under another number, as after a reboot.
renumbered() {
	local pci
	pci=$(readlink -f "/sys/class/nvme/$lower/device")
	cp "$file" "$file.kept"
	echo 1 >"$pci/remove"
	within 10 not by_serial lower || fail "the emulator's controller goes"
	refuses "it is not saved while what is below is away" 1 'comp/2: what is below it .*is not there' target save "$file"
	same "  the file before is whole" "$file" "$file.kept"
	target clear
	ok "another controller takes its number" target create filler -e digest
	echo 1 >/sys/bus/pci/rescan
	within 10 by_serial lower || { fail "the emulator's controller comes back"; return; }
	refuses "restore finds what is below by its identity" 0 "comp/2: found by its .*: /dev/$(by_serial lower),nsid=1 \(it was /dev/$lower" \
		target restore --wait 10 "$file"
	is "  it is used" "/dev/$(by_serial lower)" "$(get comp/namespaces/2/device_path)"
	lower=$(by_serial lower)
	ok "  the host connects" as_host $host $hostid
	soon "  its node" 15 node_path "$far" 2
	verify "  fio verifies" "$(node_path "$far" 2)" --size=1M
	ok "  nvme disconnect" nvme disconnect -n "$far"
	ok "  the other one goes" target delete filler
}

# A file whose last part cannot be made: nothing of it stays, and what was there before does.
undone() {
	before=$(left)
	/usr/bin/python3 -I -S -c 'import json, sys
v = json.load(open(sys.argv[1]))["nvme_accel_passthru"][0]
last = v["namespaces"][-1]
last["attr"]["device_nsid"] = 77
last.pop("identity")
v.update(name="second", exports=[], attr={})
for ns in v["namespaces"]:
    ns["attr"].pop("uuid", None)
    ns["attr"].pop("nguid", None)
v["namespaces"] = [v["namespaces"][0], last]
json.dump({"nvme_accel_passthru": [v]}, open(sys.argv[2], "w"))' "$file" "$file.bad"
	refuses "a file that cannot be restored: the kernel says why" 1 'the kernel says: .*second namespace 7: ' \
		target restore "$file.bad"
	is "  it leaves nothing" "$before" "$(left)"
}

ends() {
	local d
	d=$(pt_node comp 2)
	mkfs.ext4 -q "$d" && mkdir -p /mnt/t && mount "$d" /mnt/t || fail "a file system on it"
	ok "unexport" target unexport comp
	is "  ports, hosts, subsystem of it have gone" "$(printf '%s\n' comp $base | sort | xargs)" "$(left)"
	refuses "what is mounted is not deleted" 4 'is in use' target delete comp
	umount /mnt/t
	ok "delete" target delete comp
	is "  nothing is left" "$base" "$(left)"
	rmdir $nvmet/subsystems/nqn.2026-11.local.accel:others $nvmet/ports/77 $nvmet/hosts/$other
	ok "the module goes" pt_unload
}

local_only() {
	ok "a controller is made" target create comp -e digest,threads=2
	soon "  its node" 10 pt_has comp 1
	ok "  digest" job_digest "$(pt_node comp 1)"
	refuses "no export: the kernel cannot" 1 'local use only' target export comp --tcp 127.0.0.1 --any-host
	is "  nothing is left of it" "comp" "$(left)"
	ok "save" target save "$file"
	ok "clear" target clear
	ok "restore" target restore "$file"
	soon "  its node" 10 pt_has comp 1
	ok "delete" target delete comp
	ok "the module goes" pt_unload
}

install_module
load_files
first_steps
case $(uname -r) in
6.1.*)
	local_only
	finish
	;;
esac
one_command
told_apart
others
more_of_it
saved_and_restored
renumbered
undone
ends
finish
