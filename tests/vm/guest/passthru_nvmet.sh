# SPDX-License-Identifier: BSD-2-Clause
# What the inbox target expects of a controller that it passes through: a virtual one over the emulator's disk must be seen
# as it is, bear a file system, resets at all layers while it is used, and being set up and taken down again and again.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
# One block device for each controller.
multipath=N
far=nqn.2026-11.local.accel:far
rounds=10

far_connect() { nvme connect -t tcp -a 127.0.0.1 -s 4421 -n "${1:-$far}" -i 2 -k 5 -c 1; }
far_gone() { [ -z "$(controllers "${1:-$far}")" ]; }
part() { tail -c +$((($2) + 1)) "$1" | head -c "$3" | sha256sum; }

# Identify Controller and Namespace: what the target does not write itself is what the virtual controller says.
the_same() {
	local c near=$work/near far_page=$work/far
	ok "nvme connect" far_connect
	soon "  its node" 30 node_path $far 2
	c=$(controllers $far)
	nvme id-ctrl "/dev/$(pt_name disk)" -o binary >"$near"
	nvme id-ctrl "/dev/$c" -o binary >"$far_page"
	is "Identify Controller: vendor, serial number, model, firmware" "$(part "$near" 0 72)" "$(part "$far_page" 0 72)"
	is "  number of namespaces" "$(part "$near" 516 4)" "$(part "$far_page" 516 4)"
	is "  vendor's bytes" "$(part "$near" 3072 1024)" "$(part "$far_page" 3072 1024)"
	for i in 2 7; do
		nvme id-ns "$(pt_node disk $i)" -o binary >"$near"
		nvme id-ns "$(node_path $far $i)" -o binary >"$far_page"
		is "Identify Namespace $i: sizes and formats" "$(part "$near" 0 104)" "$(part "$far_page" 0 104)"
		is "  vendor's bytes" "$(part "$near" 384 3712)" "$(part "$far_page" 384 3712)"
	done
	is "the active namespaces" "$(nvme list-ns "/dev/$(pt_name disk)")" "$(nvme list-ns "/dev/$c")"
	is "the size of the block device" "$(blockdev --getsize64 "$(pt_node disk 2)")" "$(blockdev --getsize64 "$(node_path $far 2)")"
	head -c 262144 /dev/urandom >"$work/random"
	ok "what is written there" dd if="$work/random" of="$(node_path $far 2)" bs=64k seek=3 oflag=direct
	ok "  is read" dd if="$(pt_node disk 2)" of="$work/back" bs=64k skip=3 count=4 iflag=direct
	same "  here" "$work/random" "$work/back"
}

file_system() {
	local d
	d=$(node_path $far 2)
	ok "a file system" mkfs.ext4 -q -F "$d"
	mkdir -p /mnt/far
	ok "  is mounted" mount "$d" /mnt/far
	ok "  fio verifies a file in it" fio --name=v --filename=/mnt/far/file --direct=1 --verify=crc32c --do_verify=1 --verify_fatal=1 \
		--rw=randwrite --bs=4k-64k --size=8M --ioengine=libaio --iodepth=16 --minimal
	sha256sum /mnt/far/file >"$work/sum"
	ok "  unmounted" umount /mnt/far
	ok "  fsck" fsck.ext4 -fn "$d"
	ok "  mounted again" mount "$d" /mnt/far
	ok "  the file is as it was" sha256sum -c "$work/sum"
	ok "  unmounted" umount /mnt/far
}

# reset NAME CONTROLLER: while fio writes and reads back
reset() {
	ok "$1 is reset" nvme reset "/dev/$2"
	soon "  live again" 30 live "$2"
	if kill -0 $fio; then pass "  fio goes on"; else fail "  fio goes on" "$(tail -n 3 "$work/fio")"; fi
}
live() { [ "$(cat "/sys/class/nvme/$1/state")" = live ]; }
resets() {
	timeout 300 fio --name=r --filename="$(node_path $far 2)" --allow_file_create=0 --direct=1 --rw=randwrite --verify=crc32c \
		--verify_fatal=1 --verify_backlog=64 --bs=4k-64k --size=16M --ioengine=libaio --iodepth=16 --time_based --runtime=290 \
		--minimal >"$work/fio" 2>&1 &
	fio=$!
	sleep 1
	reset "the remote controller" "$(controllers $far)"
	reset "the virtual controller" "$(pt_name disk)"
	reset "the controller below" "$lower"
	kill -INT $fio
	soon "  fio ends" 30 not kill -0 $fio
	verify "fio verifies" "$(node_path $far 2)" --size=1M
	ok "nvme disconnect" nvme disconnect -n $far
	soon "  no node is left" 30 far_gone
}

# once NUMBER: set up anew and used; then taken down, its host still connected every other time
once() {
	pt_export disk "$far$1" && ln -s "$nvmet/subsystems/$far$1" "$nvmet/ports/1/subsystems/" && far_connect "$far$1" >/dev/null &&
		within 20 node_path "$far$1" 2 >/dev/null || return
	[ $(($1 % 2)) -eq 0 ] || nvme disconnect -n "$far$1" >/dev/null || return
	rm "$nvmet/ports/1/subsystems/$far$1" && pt_unexport "$far$1" || return
	nvme disconnect -n "$far$1" >/dev/null
	within 20 far_gone "$far$1"
}
again() {
	for i in $(seq $rounds); do ok "set up and taken down, $i" once "$i"; done
	ok "exported" pt_export disk $far
	ok "  at the port" ln -s $nvmet/subsystems/$far $nvmet/ports/1/subsystems/
	for i in $(seq $rounds); do ok "connected and disconnected at once, $i" connect_disconnect; done
	for i in $(seq 4); do ok "passthru is disabled and enabled, $i" off_on; done
	ok "a virtual controller that is exported" pt_down disk
	ok "  comes again" pt_up disk
	soon "  its node" 30 pt_has disk 2
	ok "  is exported again" off_on
	ok "nvme connect" far_connect
	soon "  its node" 30 node_path $far 2
	verify "fio verifies" "$(node_path $far 2)" --size=1M
	ok "nvme disconnect" nvme disconnect -n $far
}
off_on() {
	local p=$nvmet/subsystems/$far/passthru
	echo 0 >"$p/enable" && printf '/dev/%s' "$(pt_name disk)" >"$p/device_path" && echo 1 >"$p/enable"
}
connect_disconnect() { far_connect >/dev/null && nvme disconnect -n $far >/dev/null && within 20 far_gone; }

leaks_begin
pt_load
modprobe nvme
load_host
modprobe nvmet-tcp || { fail "the inbox target loads"; finish; }
within 30 by_serial lower || { fail "the emulator's controller is there"; finish; }
lower=$(by_serial lower)
mkdir "$cfs/disk"
ok "a virtual controller over the emulator's" pt_lower disk 2 "$lower" 1
ok "  " pt_lower disk 7 "$lower" 2
ok "  live" pt_up disk
soon "  its node" 30 pt_has disk 2
ok "the inbox target takes it" pt_export disk $far
ok "  a TCP port" pt_port 1 tcp 127.0.0.1 4421 $far
the_same
file_system
resets
ok "the port lets go of it" rm $nvmet/ports/1/subsystems/$far
ok "  and the target" pt_unexport $far
again
ok "the port goes" pt_unport 1
ok "the subsystem goes" pt_unexport $far
ok "the controller goes" pt_rm disk
ok "the module goes" pt_unload
leaks "nothing has leaked"
finish
