# SPDX-License-Identifier: BSD-2-Clause
# The host of two guests: a plain inbox host, which knows nothing of the module.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/two.inc"

# Whichever comes first, the other guest may still be starting.
come() { within 120 nvme connect -t "$1" -a $target_ip -s "$2" -n $far -i 2 -k 2 -c 1 -l 60; }
# The name says which of the two is not there.
nodes() {
	soon "  the engine is a block device" 30 node_path $far 1
	soon "  the disk, too" 30 node_path $far 2
}

# The same commands as for a card in this machine.
verbs() {
	local d=$1 f=$work/load
	says "accel list has it" "^$d" "$ACCEL" list
	says "info" '^Type: *multi' "$ACCEL" info "$d"
	ok "selftest" "$ACCEL" selftest -d "$d"
	ok "compress, gunzip reads it" job_compress "$d"
	gzip -c "$f" >"$f.gz"
	ok "decompress what gzip made" "$ACCEL" decompress -D "$d" -f -o "$f.back" "$f.gz"
	same "  the same" "$f" "$f.back"
	mkdir "$work/shards"
	ok "ec encode" "$ACCEL" ec encode -d "$d" -k 4 -m 2 -o "$work/shards" "$f"
	rm "$work/shards/load.ec.000" "$work/shards/load.ec.003"
	ok "ec decode with two of six lost" "$ACCEL" ec decode -d "$d" -f -o "$f.back" "$work/shards/load"
	same "  the same" "$f" "$f.back"
	ok "seal: a key" "$ACCEL" seal --generate-key "$work/key"
	ok "seal" "$ACCEL" seal -d "$d" -K "$work/key" -f -o "$f.sealed" "$f"
	ok "open" "$ACCEL" open -d "$d" -K "$work/key" -f -o "$f.back" "$f.sealed"
	same "  the same" "$f" "$f.back"
	ok "digest" job_digest "$d"
	ok "  by the generic node" job_digest "$(generic "$d")"
	is "checksum" "$("$ACCEL" checksum --software "$f")" "$("$ACCEL" checksum -d "$d" "$f")"
	says "stats" '^Jobs' "$ACCEL" stats "$d"
}

disk() {
	local d=$1
	verify "fio verifies over $2" "$d" --size=4M
	verify "  mixed sizes" "$d" --bs=4k-256k --rw=randrw --size=8M
}

# The wire breaks while there is work: it waits, and goes on when the wire is back.
loses_the_wire() {
	local c
	c=$(controllers $far)
	timeout 200 fio --name=w --filename="$(node_path $far 2)" --allow_file_create=0 --direct=1 --rw=randrw --bs=4k-64k --size=16M \
		--ioengine=libaio --iodepth=16 --time_based --runtime=190 --minimal >"$work/fio" 2>&1 &
	fio=$!
	load digest job_digest "$(node_path $far 1)"
	soon "jobs run" 40 more digest
	ip link set eth0 down
	soon "the wire breaks: the host notices" 40 not live "$c"
	ip link set eth0 up
	soon "  it is back: so is the controller" 60 live "$c"
	soon "  jobs go on" 60 more digest
	unload "jobs while the wire was broken" some 90
	if kill -0 $fio; then pass "  fio goes on"; else fail "  fio goes on" "$(cat "$work/fio")"; fi
	kill -INT $fio
	soon "  fio ends" 30 not kill -0 $fio
	verify "  fio verifies" "$(node_path $far 2)" --size=1M
}
live() { [ "$(cat "/sys/class/nvme/$1/state")" = live ]; }

wire $host_ip
load_host
modprobe nvme-rdma || fail "the host's module for RDMA loads"
load_files
ok "TCP: nvme connect" come tcp 4420
nodes
d=$(node_path $far 1)
tell_vendor "$d" engine-by-tcp
verbs "$d"
disk "$(node_path $far 2)" TCP
loses_the_wire
ok "nvme disconnect" nvme disconnect -n $far
soon "  no node is left" 30 not node $far 1
ok "RDMA: nvme connect" come rdma 4421
nodes
tell_vendor "$(node_path $far 1)" engine-by-rdma
ok "selftest" "$ACCEL" selftest -d "$(node_path $far 1)"
ok "compress, gunzip reads it" job_compress "$(node_path $far 1)"
disk "$(node_path $far 2)" RDMA
ok "nvme disconnect" nvme disconnect -n $far
ok "the target is told that all is done" bash -c "exec 3<>/dev/tcp/$target_ip/$bye_port"
finish
