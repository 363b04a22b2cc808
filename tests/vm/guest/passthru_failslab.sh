# SPDX-License-Identifier: BSD-2-Clause
# Allocations fail, on the debug kernel: each of a step's in turn (passthru_failslab.py), then some of all that the module
# makes, in whatever thread, while jobs and disks work. Errors are clear, results are right, nothing hangs or leaks.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/debug.inc"
. "$here/passthru.inc"
debug_kernel || { skip "failing allocations" "not the debug kernel"; finish; }

# tested WORD...: by passthru_failslab.py, whose lines are ours
tested() {
	inject task-filter=N probability=0 times=-1
	timeout 1500 /usr/bin/python3 "$here/passthru_failslab.py" "$@" || bad=1
}

# failing PERCENT: of the allocations that are made below a function of the module; 0: none any more
failing() {
	local start end
	if [ "$1" -eq 0 ]; then
		inject probability=0 require-start=0 require-end=0xffffffffffffffff stacktrace-depth=0
		return
	fi
	start=$(cat /sys/module/nvme_accel_passthru/sections/.text)
	end=$(readelf -SW "$MODULES/nvme-accel-passthru.ko" | sed -n 's/.* \.text  *PROGBITS  *[0-9a-f]*  *[0-9a-f]*  *\([0-9a-f]*\) .*/\1/p')
	inject stacktrace-depth=32 require-start="$start" require-end="$(printf '0x%x' $((start + 0x$end)))" task-filter=N times=-1 \
		probability="$1"
}

# job NAME COMMAND...: twice. It succeeds with the right result, or (status 9: a wrong one) fails, in time, and says why.
job() {
	local name=$1 good=0 failed=0 i why=
	shift
	for i in 1 2; do
		run "$@"
		case $rc in
		0) good=$((good + 1)) ;;
		9 | 124 | 137) why="status $rc" ;;
		*) failed=$((failed + 1)); [ -s "$work/err" ] || why="status $rc, and not a word" ;;
		esac
	done
	if [ -z "$why" ]; then pass "  $name: $good right, $failed failed"; else fail "  $name" "$why" "$(tail -n 5 "$work/err" "$work/out")"; fi
}
accel() { timeout -k 3 90 "$ACCEL" "$@"; }
same_or_wrong() { cmp -s "$1" "$2" || return 9; }
compression() {
	accel compress -1 -D "$1" -f -o "$work/f.gz" "$work/file" || return
	gunzip -c "$work/f.gz" >"$work/f.back" || return 9
	same_or_wrong "$work/file" "$work/f.back"
}
decompression() {
	accel decompress -D "$1" -f -o "$work/f.back" "$work/by-gzip.gz" && same_or_wrong "$work/file" "$work/f.back"
}
erasure() {
	rm -rf "$work/shards"
	mkdir "$work/shards"
	accel ec encode -d "$1" -k 4 -m 2 -o "$work/shards" "$work/file" || return
	rm "$work/shards/file.ec.000"
	accel ec decode -d "$1" -f -o "$work/f.back" "$work/shards/file" && same_or_wrong "$work/file" "$work/f.back"
}
cipher() {
	accel seal -d "$1" -K "$work/key" -f -o "$work/f.sealed" "$work/file" &&
		accel open -d "$1" -K "$work/key" -f -o "$work/f.back" "$work/f.sealed" && same_or_wrong "$work/file" "$work/f.back"
}
summed() { # VERB NODE WANTED
	accel "$1" -d "$2" "$work/file" >"$work/f.sum" || return
	[ "$(cat "$work/f.sum")" = "$3" ] || return 9
}
disk() {
	dd if="$work/file" of="$1" bs=64k oflag=direct conv=notrunc 2>&1 >/dev/null | grep -v 'records\|copied' >&2
	[ "${PIPESTATUS[0]}" -eq 0 ] || return 1
	dd if="$1" of="$work/f.back" bs=64k count=2 iflag=direct status=none && same_or_wrong "$work/file" "$work/f.back"
}

jobs() {
	job compression compression "$(pt_node jobs 1)"
	job decompression decompression "$(pt_node jobs 1)"
	job "erasure coding" erasure "$(pt_node jobs 2)"
	job cipher cipher "$(pt_node jobs 3)"
	job digest summed digest "$(pt_node jobs 4)" "$digest"
	job checksum summed checksum "$(pt_node jobs 5)" "$checksum"
	job "a disk" disk "$(pt_node jobs 20)"
}
jobs_fail() {
	local i
	mkdir "$cfs/jobs"
	for i in 1=compression 2=erasure 3=cipher 4=digest 5=checksum; do pt_engine jobs "${i%=*}" "${i#*=}" || fail "engine $i"; done
	pt_lower jobs 20 "$lower" 1
	ok "a controller of all kinds" pt_up jobs
	for i in 1 2 3 4 5 20; do soon "  namespace $i is a block device" 60 pt_has jobs "$i"; done
	sample "$work/file" 131072
	gzip -c "$work/file" >"$work/by-gzip.gz"
	"$ACCEL" seal --generate-key "$work/key" 2>"$work/err" || fail "a key" "$(cat "$work/err")"
	digest=$(sha256sum "$work/file")
	checksum=$("$ACCEL" checksum --software "$work/file")
	for i in 20 100; do
		echo "# $i% of the module's allocations fail:"
		failing $i
		jobs
		failing 0
	done
	echo "# none fails:"
	ok "compression" compression "$(pt_node jobs 1)"
	ok "decompression" decompression "$(pt_node jobs 1)"
	ok "erasure coding" erasure "$(pt_node jobs 2)"
	ok "cipher" cipher "$(pt_node jobs 3)"
	ok "digest" summed digest "$(pt_node jobs 4)" "$digest"
	ok "checksum" summed checksum "$(pt_node jobs 5)" "$checksum"
	ok "a disk" disk "$(pt_node jobs 20)"
	failing 20
	ok "the controller goes while allocations fail" pt_rm jobs
	failing 0
}

modprobe nvme-core multipath=Y
modprobe nvme
modprobe configfs 2>/dev/null
mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
for m in $(modinfo -F depends "$MODULES/nvme-accel-passthru.ko" | tr , ' '); do modprobe "$m"; done
within 60 by_serial other || { fail "the emulator's controllers are there"; finish; }
lower=$(by_serial lower)
leaks_begin
tested load "$MODULES/nvme-accel-passthru.ko"
pt_load
tested life "$lower" 1
jobs_fail
ok "the module goes" pt_unload
leaks "nothing has leaked"
finish
