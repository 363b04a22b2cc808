# SPDX-License-Identifier: BSD-2-Clause
# accel p2p and accel compress --p2p against nvme-accel-p2pdma. Controllers by serial: sw1 and sw2 below one switch, sw1 with
# a controller memory buffer; alone, below a root port of its own. SERVED: who offers memory, module or kernel. P2P_BUF: p2p_buf.c.
here=$(dirname "$0")
. "$here/lib.inc"

module=nvme-accel-p2pdma
py() { /usr/bin/python3 -I -S -c "$1" "$work/out" "${@:2}"; }
# tells NAME EXPRESSION COMMAND...: its output d satisfies the expression; status 0 or 1
tells() {
	local name=$1 expr=$2
	shift 2
	run "$@"
	if py 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$expr" 2>"$work/py"; then
		pass "$name"
	else
		fail "$name" "not so: $expr" "status $rc" "$(tail -n 1 "$work/py")" "$(cat "$work/err" "$work/out")"
	fi
}
ctrl() {
	local c x
	for c in /sys/class/nvme/nvme*; do
		read -r x <"$c/serial" && [ "${x%% *}" = "$1" ] && { echo "${c##*/}"; return 0; }
	done
	return 1
}
is_there() { for s in sw1 sw2 alone; do ctrl $s >/dev/null && [ -b "/dev/$(ctrl $s)n1" ] || return 1; done; }

modprobe nvme-core multipath=N
modprobe nvme
within 60 is_there || { fail "the controllers are there" "$(lspci 2>&1; dmesg | tail)"; finish; }
a=$(ctrl sw1) b=$(ctrl sw2) c=$(ctrl alone)
A=/dev/${a}n1 B_=/dev/${b}n1 C=/dev/${c}n1
head -c 16M /dev/urandom >"$work/data"
dd if="$work/data" of="$A" bs=1M oflag=direct status=none

# ---- Without the module ----
tells "list without the module" "len(d) == 3 and all(e['served_by'] in ('-', 'nobody', 'kernel') for e in d)" "$ACCEL" p2p list -o json
tells "why of two below one switch, by sysfs" "d['verdict'] == 'yes' and d['said_by'] == 'sysfs' and len(d['path']) == 6" \
	"$ACCEL" p2p why "$a" "$b" -o json
tells "why of one below another root port, by sysfs" "d['verdict'] == 'no' and d['reason'] in ('host-bridge', 'domain') and d['way_out']" \
	"$ACCEL" p2p why "$A" "$C" -o json
if [ "$SERVED" = kernel ]; then
	tells "a copy by the kernel's own p2pdma" "d['way'] == 'kernel' and d['p2p_share'] == 1 and d['bytes'] == 4 << 20" \
		"$ACCEL" p2p copy --no-fallback -o json "$A:0:4M" "$B_"
	says "accel_buf_alloc by the kernel's own p2pdma" '^moved 1048576$' "$P2P_BUF" buf "$A" "$B_"
else
	tells "a copy without the module goes through memory, and why is said" \
		"d['way'] == 'memory' and 'modprobe' in d['why'] and d['bytes'] == 4 << 20" "$ACCEL" p2p copy -o json "$A:0:4M" "$B_"
	fails "  and is refused with --no-fallback" 'not loaded' "$ACCEL" p2p copy --no-fallback "$A:0:4M" "$B_"
fi
ok "  every byte has arrived" cmp -n 4194304 "$work/data" "$B_"

# ---- With it ----
for m in $(modinfo -F depends "$MODULES/$module.ko" | tr , ' '); do modprobe "$m"; done
ok "the module loads" insmod "$MODULES/$module.ko"
within 10 test -c /dev/nvme-accel-p2p || fail "its node is there" "$(dmesg | tail -n 5)"
tells "list: kind, room, who serves it, who reaches it" \
	"[(e['served_by'], e['free_bytes'] > 0, e['kind'] in ('legacy', '1.4'), sorted(p['verdict'] for p in e['peers'])) for e in d if e['cmb_bytes']] == [('$SERVED', True, True, ['no', 'yes'])]" \
	"$ACCEL" p2p list -o json
tells "why: yes below the switch, by the module" "d['verdict'] == 'yes' and d['said_by'] == 'module'" "$ACCEL" p2p why "$A" "$B_" -o json
tells "why: no below another root port, by the module, with a reason" "d['verdict'] == 'no' and d['said_by'] == 'module' and d['why']" \
	"$ACCEL" p2p why "$C" "$A" -o json
says "why as text" '^verdict: yes: ' "$ACCEL" p2p why "$A" "$B_"
tells "copy from device to device: all of it, none through memory" \
	"d['way'] == 'slots' and d['bytes_p2p'] == d['bytes'] == 16 << 20 and d['bytes_memory'] == 0 and d['p2p_share'] == 1" \
	"$ACCEL" p2p copy --no-fallback --synchronous -o json "$A:0:16M" "$B_"
ok "  every byte has arrived" cmp -n 16777216 "$work/data" "$B_"
tells "  and back, in small chunks, at offsets" "d['p2p_share'] == 1 and d['bytes'] == 3 << 20" \
	"$ACCEL" p2p copy --no-fallback --chunk=4k --depth=3 -o json "$B_:4096:3M" "$A:20M"
ok "  every byte has arrived" cmp -n 3145728 -i 4096:20971520 "$work/data" "$A"
tells "a copy to where no way leads goes through memory, and why is said" \
	"d['way'] == 'memory' and d['p2p_share'] == 0 and d['why'] and d['reason'] != 'none'" "$ACCEL" p2p copy -o json "$A:0:4M" "$C"
ok "  every byte has arrived" cmp -n 4194304 "$work/data" "$C"
fails "  and is refused with --no-fallback" 'not from device to device' "$ACCEL" p2p copy --no-fallback "$A:0:4M" "$C"
fails "a provider that is none" 'no controller memory' "$ACCEL" p2p copy --no-fallback --provider="$b" "$A:0:1M" "$B_"
# Where the module gives slots and no pointers the call says so (EADDRNOTAVAIL); where the kernel has pointers they are used.
case $SERVED in
module) want='refused 99' ;;
*) want='moved 1048576' ;;
esac
says "accel_buf_alloc: $want" "^$want\$" "$P2P_BUF" buf "$A" "$B_"
[ "$SERVED" != module ] || { grep -q accel_copy_range "$work/err" && pass "  and names what to use" || fail "  and names what to use" "$(cat "$work/err")"; }
says "  not for a device that does not reach it" '^refused 95$' "$P2P_BUF" buf "$C" "$B_"
tells "bench: each way, 0 and 2 bytes through memory for each" \
	"[w['memory_bytes_per_byte'] for w in d['ways']] == [0, 2, 2] and [w['p2p_share'] for w in d['ways']] == [1, 0, 0] and d['cpu_ratio'] > 0 and d['speed_ratio'] > 0" \
	"$ACCEL" p2p bench --rounds=2 -o json "$A:0:16M" "$B_"
py 'import json, sys
for w in json.load(open(sys.argv[1]))["ways"]: print("# %s: %.0f MB/s, %.3f s CPU a GiB (process), %.3f (machine)" % (w["way"], w["megabytes_per_second"], w["process_cpu_seconds_per_gib"], w["machine_cpu_seconds_per_gib"]))'

# A reset of the controller turns its memory off in the middle: the copy is started once again, or goes through memory.
dd if=/dev/zero of="$B_" bs=1M count=48 oflag=direct status=none
dd if="$work/data" of="$A" bs=1M oflag=direct status=none
dd if="$work/data" of="$A" bs=1M seek=32 oflag=direct status=none
"$ACCEL" p2p copy -o json "$A:0:48M" "$B_" >"$work/copy" 2>"$work/err" &
pid=$!
for i in 1 2 3; do sleep 0.1; echo 1 >"/sys/class/nvme/$a/reset_controller" 2>/dev/null; done
wait $pid && pass "a copy during resets of the controller" || fail "a copy during resets of the controller" "$(cat "$work/err")"
grep '"way"' "$work/copy" | sed 's/^ */# /'
within 30 grep -q live "/sys/class/nvme/$a/state"
ok "  every byte has arrived" cmp -n 16777216 "$work/data" "$B_"
ok "  to the end" cmp -n 16777216 -i 0:33554432 "$work/data" "$B_"

# ---- Files ----
modprobe ext4 2>/dev/null
if mke2fs -q -F -t ext4 "$B_" 2>"$work/err" && mkdir -p "$work/mnt" && mount "$B_" "$work/mnt"; then
	head -c 8M "$work/data" >"$work/mnt/f"
	fallocate -l 8M "$work/mnt/unwritten"
	truncate -s 8M "$work/mnt/hole"
	dd if=/dev/zero of="$work/mnt/g" bs=1M count=8 status=none
	sync
	dd if=/dev/zero of="$A" bs=1M seek=32 count=8 oflag=direct status=none
	tells "from a file to a device" "d['p2p_share'] == 1" "$ACCEL" p2p copy --no-fallback -o json "$work/mnt/f" "$A:32M"
	ok "  every byte has arrived" cmp -n 8388608 -i 0:33554432 "$work/data" "$A"
	cat "$work/mnt/g" >/dev/null
	tells "from a device to a file that has been read" "d['p2p_share'] == 1" "$ACCEL" p2p copy --no-fallback -o json "$A:0:8M" "$work/mnt/g"
	ok "  the file has it" cmp -n 8388608 "$work/data" "$work/mnt/g"
	# By the kernel's own p2pdma files are read and written by their file system, whatever their blocks are.
	if [ "$SERVED" = module ]; then
		fails "a file with blocks that were never written" 'never been written' "$ACCEL" p2p copy --no-fallback "$A:0:8M" "$work/mnt/unwritten"
		fails "a file with a hole" 'hole' "$ACCEL" p2p copy --no-fallback "$work/mnt/hole" "$A:32M"
		exec 9<>"$work/mnt/g"
		fails "a file that is open elsewhere" 'open elsewhere' "$ACCEL" p2p copy --no-fallback "$A:0:8M" "$work/mnt/g"
		exec 9>&-
		tells "  all of these go through memory" "d['way'] == 'memory' and 'never been written' in d['why']" \
			"$ACCEL" p2p copy -o json "$A:0:8M" "$work/mnt/unwritten"
		ok "  and arrive" cmp -n 8388608 "$work/data" "$work/mnt/unwritten"
	fi
	umount "$work/mnt"
	ok "the file system is whole" e2fsck -fn "$B_"
else
	skip "files" "no ext4 here: $(head -n 1 "$work/err")"
fi

# ---- Compression: the software accelerator is in the process, so that data go through memory, and why is said ----
# gzip_is NAME DEVICE BYTES: what compress printed as its length holds the first BYTES of the data
gzip_is() {
	local n
	n=$(sed -n '1s/.*: \([0-9]*\) bytes$/\1/p' "$work/out")
	if head -c "$n" "$2" | gunzip -c 2>"$work/err" | cmp -n "$3" - "$work/data"; then pass "$1"; else fail "$1" "$n bytes" "$(cat "$work/out" "$work/err")"; fi
}
ok "compress --p2p" "$ACCEL" compress --software --p2p "$A:0:4M" -o "$B_:0"
gzip_is "  gunzip agrees" "$B_" 4194304
fails "  and --no-fallback refuses" 'no NVMe block device' "$ACCEL" compress --software --p2p --no-fallback "$A:0:4M" -o "$B_:0"

# An engine of nvme-accel-passthru stands for a card: its processor reads and writes the controller memory.
. "$here/passthru.inc"
pt_load
mkdir "$cfs/card" && pt_engine card 1 compression && pt_up card && within 30 pt_has card 1 || fail "an accelerator" "$(dmesg | tail -n 5)"
acc=$(pt_node card 1)
fails "an accelerator that is no card is refused" 'accelerator' "$ACCEL" compress -D "$acc" --p2p --no-fallback "$A:0:4M" -o "$B_"
ok "the module goes" rmmod nvme_accel_p2pdma
ok "  and comes, for trials" insmod "$MODULES/$module.ko" allow_cpu_clients=1
within 10 test -c /dev/nvme-accel-p2p
{ head -c 3M "$work/data"; head -c 3M "$work/data" | tr '\000-\377' 'a-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da-da'; } >"$work/mixed"
mv "$work/mixed" "$work/data"
dd if="$work/data" of="$A" bs=1M oflag=direct status=none
dd if=/dev/urandom of="$B_" bs=1M count=8 oflag=direct status=none
ok "compress from device to accelerator to device" "$ACCEL" compress -v -D "$acc" --p2p --no-fallback "$A:0:6M" -o "$B_:1M:16M"
sed 's/^/# /' "$work/out"
n=$(sed -n '1s/.*: \([0-9]*\) bytes$/\1/p' "$work/out")
dd if="$B_" iflag=skip_bytes,count_bytes skip=1M count="$n" bs=64k status=none of="$work/out.gz"
gunzip -c "$work/out.gz" 2>"$work/err" | cmp - "$work/data" && pass "  gunzip agrees" || fail "  gunzip agrees" "$n bytes" "$(cat "$work/err")"
dd if=/dev/zero of="$B_" bs=1M count=2 oflag=direct status=none
says "one job of a plan" '^status 0 out [1-9][0-9]* p2p [1-9][0-9]* memory 0$' "$P2P_BUF" run "$acc" "$A" "$B_"
n=$(sed 's/.* out \([0-9]*\) .*/\1/' "$work/out")
head -c "$n" "$B_" | gunzip -c 2>"$work/err" | cmp -n 1048576 - "$work/data" && pass "  gunzip agrees" || fail "  gunzip agrees" "$(cat "$work/err")"
fails "a destination that is too small" 'too small' "$ACCEL" compress -D "$acc" --p2p --no-fallback "$A:0:6M" -o "$B_:1M:1M"
if mke2fs -q -F -t ext4 "$B_" 2>"$work/err" && mount "$B_" "$work/mnt"; then
	head -c 4000001 "$work/data" >"$work/mnt/in"
	dd if=/dev/zero of="$work/mnt/out.gz" bs=1M count=6 status=none
	sync
	ok "the same from a file to a file" "$ACCEL" compress -v -f -D "$acc" --p2p --no-fallback "$work/mnt/in" -o "$work/mnt/out.gz"
	sed 's/^/# /' "$work/out"
	gunzip -c "$work/mnt/out.gz" 2>"$work/err" | cmp - "$work/mnt/in" && pass "  gunzip agrees" || fail "  gunzip agrees" "$(cat "$work/err")"
	ok "  a file that is not there yet: through memory" "$ACCEL" compress -D "$acc" --p2p "$work/mnt/in" -o "$work/mnt/new.gz"
	gunzip -c "$work/mnt/new.gz" 2>"$work/err" | cmp - "$work/mnt/in" && pass "  gunzip agrees" || fail "  gunzip agrees" "$(cat "$work/err")"
	umount "$work/mnt"
	ok "  the file system is whole" e2fsck -fn "$B_"
fi
pt_down card && pt_rm card && pt_unload
ok "the module goes" rmmod nvme_accel_p2pdma
if [ "$SERVED" = module ]; then
	ok "  and comes, with pointers for root" insmod "$MODULES/$module.ko" allow_user_pages=1
	within 10 test -c /dev/nvme-accel-p2p
	dd if=/dev/zero of="$B_" bs=1M count=1 oflag=direct status=none
	says "accel_buf_alloc gives memory that devices read and write" '^moved 1048576$' "$P2P_BUF" buf "$A" "$B_"
	ok "  every byte has arrived" cmp -n 1048576 "$work/data" "$B_"
	ok "the module goes again" rmmod nvme_accel_p2pdma
fi
finish
