# SPDX-License-Identifier: BSD-2-Clause
# Virtual controllers used on the machine itself: namespaces of the emulator's controllers, of acceld over TCP, and
# engines; limits and counters.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
. "$here/passthru_verbs.inc"
. "$here/passthru_limits.inc"

# Several lower controllers in one, with other namespace identifiers, beside acceld's.
several() {
	ok "a controller of many: made" mkdir "$cfs/many"
	ok "  two namespaces of one" pt_lower many 5 "$lower" 2
	ok "  the other way round" pt_lower many 9 "$lower" 1
	ok "  one of another" pt_lower many 2 "$other" 1
	ok "  accelerators over TCP" pt_lower many 1 "$fabric" 1
	ok "  " pt_lower many 1024 "$fabric" 7
	ok "  memory over TCP" pt_lower many 16 "$fabric" 16
	ok "  live" pt_up many
	for i in 1 2 5 9 16 1024; do soon "  namespace $i is a block device" 30 pt_has many $i; done
	is "  and no others" 6 "$(ls -d /sys/class/nvme/"$(pt_name many)"/nvme*n* | wc -l)"
	is "Identify: the active namespaces" "0x1 0x2 0x5 0x9 0x10 0x400" \
		"$(nvme list-ns "/dev/$(pt_name many)" | sed 's/.*://' | tr '\n' ' ' | sed 's/ $//')"
	says "  the number of namespaces" '^nn *: 1024' nvme id-ctrl "/dev/$(pt_name many)"
	ok "nvme list" nvme list
	says "  shows the controller" "$(pt_name many)" nvme list -v
	identities
	written_below
	verify "fio verifies 4 KiB blocks over the emulator's" "$(pt_node many 5)" --size=4M
	verify "fio verifies mixed sizes" "$(pt_node many 2)" --bs=4k-256k --rw=randrw --size=8M
	verify "fio verifies 512-byte blocks over TCP" "$(pt_node many 16)" --bs=512 --size=1M
	verify "fio verifies 1 MiB blocks over TCP" "$(pt_node many 16)" --bs=1M --size=16M
	ok "nvme write and read by the generic node" generic_rw "$(generic "$(pt_node many 16)")"
	sharing
}

# The vendor's bytes are equal above and below; what names a namespace is not.
identities() {
	local i below above
	for i in "1 $fabric 1" "1024 $fabric 7" "16 $fabric 16" "5 $lower 2"; do
		set -- $i
		below=$(vendor "/dev/$2" "$3")
		above=$(vendor "$(pt_node many "$1")")
		is "the vendor's bytes of namespace $1 are those of the one below" "$below" "$above"
		run nvme ns-descs "$(pt_node many "$1")"
		cp "$work/out" "$work/descs"
		run nvme ns-descs "/dev/$2" -n "$3"
		is "  its identifiers are its own" "" "$(grep -hoE '[0-9a-f-]{32,}' "$work/descs" | grep -vE '^0*$' | grep -Ff - "$work/out")"
	done
	if vendor_shown; then pass "  they are an accelerator's"; else fail "  they are an accelerator's"; fi
}
vendor_shown() { nvme id-ns "$(pt_node many 1)" -o binary | tail -c +385 | head -c 64 | tr -d '\0' | grep -q .; }

# What is written above lies below where it should, and the lower controller's other namespace stays as it was.
written_below() {
	head -c 1048576 /dev/urandom >"$work/random"
	ok "1 MiB is written to namespace 9" dd if="$work/random" of="$(pt_node many 9)" bs=64k seek=16 oflag=direct
	ok "  " dd if="$(node_path "$(cat "/sys/class/nvme/$lower/subsysnqn")" 1)" of="$work/back" bs=64k skip=16 count=16 iflag=direct
	same "  it lies in namespace 1 below, at the same place" "$work/random" "$work/back"
	ok "  " dd if="$(node_path "$(cat "/sys/class/nvme/$lower/subsysnqn")" 2)" of="$work/back" bs=64k skip=16 count=16 iflag=direct
	is "  and not in namespace 2" "$(head -c 1048576 /dev/zero | sha256sum)" "$(sha256sum <"$work/back")"
}

generic_rw() {
	head -c 4096 "$work/random" >"$work/4k"
	rm -f "$work/back"
	nvme write "$1" -n 16 -s 8 -c 7 -z 4096 -d "$work/4k" && nvme read "$1" -n 16 -s 8 -c 7 -z 4096 -d "$work/back" &&
		cmp "$work/4k" "$work/back"
}

# The same lower namespace in two controllers: both must say so.
sharing() {
	mkdir "$cfs/two"
	run pt_lower two 1 "$fabric" 7
	[ "$rc" -eq 0 ] && run pt_up two
	if pt_has two 1; then fail "a namespace that is not shared is in one controller only"; else pass "a namespace that is not shared is in one controller only"; fi
	pt_rm two
	mkdir "$cfs/two"
	run pt_lower two 1 "$fabric" 7 shared=1
	[ "$rc" -eq 0 ] && run pt_up two
	if pt_has two 1; then fail "  nor if one of two says that it may be"; else pass "  nor if one of two says that it may be"; fi
	pt_rm two
	ok "  taken away" put many/namespaces/1024/enable 0
	ok "  both say so" put many/namespaces/1024/shared 1
	ok "  one" put many/namespaces/1024/enable 1
	mkdir "$cfs/two"
	ok "  and the other" pt_lower two 1 "$fabric" 7 shared=1
	ok "  live" pt_up two
	soon "  both have it" 30 pt_has two 1
	soon "  " 30 pt_has many 1024
	run "$ACCEL" lock "$(pt_node two 1)" -- "$ACCEL" lock -n "$(pt_node many 1024)" -- true
	is "  a lease by one path holds against the other" 4 "$rc"
	run "$ACCEL" lock "$(pt_node two 1)" -- "$ACCEL" lock -n "$(node_path "$nqn" 7)" -- true
	is "  and against the one below" 4 "$rc"
	ok "  taken away" pt_rm two
}

engines() {
	ok "a controller of engines" mkdir "$cfs/soft"
	for i in 1=compression 2=erasure 3=cipher 4=digest 5=checksum 7=all; do ok "  $i" pt_engine soft "${i%=*}" "${i#*=}"; done
	ok "  live" pt_up soft
	for i in 1 2 3 4 5 7; do soon "  namespace $i is a block device" 30 pt_has soft $i; done
	nqn_was=$nqn
	nqn=$(pt_nqn soft)
	engine_verbs
	nqn=$nqn_was
	ok "  taken away" pt_rm soft
}

leaks_begin
pt_load
modprobe nvme
load_host
load_files
configure 127.0.0.1:4420
# shellcheck disable=SC2086 # a list of words
namespaces $every_kind >>"$conf"
start_daemon
ok "nvme connect" connect -i 2
soon "  its nodes" 30 node_path "$nqn" 16
within 30 by_serial other || { fail "the emulator's controllers are there"; finish; }
lower=$(by_serial lower) other=$(by_serial other) fabric=$(controllers "$nqn")
several
nqn_was=$nqn
accelerators_verbs many 1024
counters
limits_test
traces
ok "taken away" pt_rm many
engines
is "no controller of ours is left" "" "$(ls -d /sys/devices/virtual/*/nvme-accel* 2>/dev/null; ls "$cfs" | grep -vE '^(version|features)$')"
ok "the module goes" pt_unload
ok "nvme disconnect" disconnect
stop_daemon
[ "$bad" -eq 0 ] || sed 's/^/# acceld: /' "$log" | tail -n 20
leaks "nothing has leaked"
finish
