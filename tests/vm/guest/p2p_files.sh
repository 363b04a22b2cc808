# SPDX-License-Identifier: BSD-2-Clause
# accel p2p copy with partitions and files of XFS, and with what it must not be given: devices in use, ranges that overlap by way of
# a partition, too little room, no permission; two copies at once, and one that is killed.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/debug.inc"
. "$here/p2p.inc"
copy() { "$ACCEL" p2p copy -q "$@"; }
by_peers() { copy --no-fallback "$@"; }
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

p2p_load
for d in "$a" "$b"; do
	ok "partitions on $d" parted -s "$d" mklabel gpt mkpart one 1MiB 33MiB mkpart two 33MiB 100%
	soon "  are there" 30 test -b "${d}p2"
done
a1=${a}p1 a2=${a}p2 b1=${b}p1 b2=${b}p2
mkdir -p "$work/a" "$work/b"

# ---- Partitions ----
fill "$a1" 16
ok "from partition to partition" by_peers "$a1:1M:8M" "$b1:4M"
ok "  every byte is right" cmp -n $((8 << 20)) -i $((1 << 20)):$((4 << 20)) "$a1" "$b1"
ok "  where it is on the disk" cmp -n $((8 << 20)) -i $((2 << 20)):$((5 << 20)) "$a" "$b"
ok "from a partition to another place of its disk" by_peers "$a1:0:1M" "$a:24M"
ok "  every byte is right" cmp -n $((1 << 20)) -i 0:$((24 << 20)) "$a1" "$a"
fails "a partition onto its own blocks" 'must not overlap' copy "$a1:0:4M" "$a:2M"
fails "  the other way round" 'must not overlap' copy "$a:2M:4M" "$a1:0"
fails "a destination that is too small" 'too small' copy "$a1:0:16M" "$b1:24M"
fails "a source that is too short" 'ends before' copy "$a1:24M:16M" "$b1"

# ---- XFS ----
modprobe xfs
if have mkfs.xfs && mkfs.xfs -q -f "$a2" && mkfs.xfs -q -f "$b2" && mount "$a2" "$work/a" && mount "$b2" "$work/b"; then
	dd if=/dev/urandom of="$work/a/f" bs=1M count=8 status=none
	dd if=/dev/zero of="$work/b/g" bs=1M count=8 status=none
	fallocate -l 8M "$work/b/unwritten"
	cp --reflink=always "$work/a/f" "$work/a/shared"
	dd if=/dev/zero of="$work/b/h" bs=1M count=8 status=none
	cp --reflink=always "$work/b/h" "$work/b/h2"
	sync
	cat "$work/b/g" >/dev/null
	fails "XFS: a source that is shared (reflink)" 'is shared' by_peers "$work/a/f" "$work/b/g"
	rm "$work/a/shared"
	sync
	ok "XFS: from file to file" by_peers "$work/a/f" "$work/b/g"
	ok "  the file has it" cmp "$work/a/f" "$work/b/g"
	fails "  not to what was never written" 'never been written' by_peers "$work/a/f" "$work/b/unwritten"
	fails "  not to what is shared (reflink)" 'is shared' by_peers "$work/a/f" "$work/b/h"
	ok "  that goes through memory" copy "$work/a/f" "$work/b/h"
	ok "  and arrives, and the other file does not change" sh -c "cmp '$work/a/f' '$work/b/h' && cmp -n $((8 << 20)) '$work/b/h2' /dev/zero"
	fails "a device with a file system that is mounted" 'is in use .*-f' copy "$a1:0:1M" "$b2"
	fails "  and the whole of its disk" 'is in use' copy "$cmb:0:1M" "$b"
	fails "  not by bench either" 'is in use' "$ACCEL" p2p bench -q --rounds=1 "$cmb:0:1M" "$b2"
	ok "  another partition is free" by_peers "$a1:0:1M" "$b1"
	umount "$work/a" "$work/b"
	for d in "$a2" "$b2"; do ok "the file system on $d is whole" xfs_repair -n "$d"; done
	mount -o ro "$b2" "$work/b"
	ok "  and has the file" cmp -n 4096 "$work/b/g" "$work/b/h"
	umount "$work/b"
else
	skip "XFS" "no mkfs.xfs, or no XFS here"
fi

# ---- Who may not ----
fails "an ordinary user, a device" "$a1: .*Permission denied" nobody "$ACCEL" p2p copy -q "$a1:0:1M" "$b1"
chmod 666 "$a1"
fails "  the destination is named" "$b1: .*Permission denied" nobody "$ACCEL" p2p copy -q "$a1:0:1M" "$b1"
chmod 666 "$b1"
fails "  not the module" 'may not be opened \(join the group accel\)' nobody "$ACCEL" p2p copy -q --no-fallback "$a1:0:1M" "$b1"
ok "  who goes through memory" nobody "$ACCEL" p2p copy -q "$a1:0:1M" "$b1"
ok "  every byte is right" same_bytes "$a1" "$b1" $((1 << 20))
says "  who can list" "$(ctrl_of "$cmb")" nobody "$ACCEL" p2p list
run nobody "$ACCEL" p2p why "$(ctrl_of "$cmb")" "$(ctrl_of "$a")"
is "  and is told what he may not see" "1 yes" "$rc $(grep -qE '^way out: ask again as root' "$work/out" && echo yes)"

# ---- At once, and killed ----
fill "$a1" 32
fill "$cmb" 32
by_peers "$a1:0:32M" "$b1" 2>"$work/first" &
first=$!
run by_peers "$cmb:0:32M" "$b1"
wait $first
is "two copies to one place: both end" "0 0" "$rc $?"
# The emulator moves pages; a device would move commands.
ok "  and each page of what is there is from one of the two" /usr/bin/python3 -I -S -c '
import sys
a, c, b = (open(p, "rb") for p in sys.argv[1:])
for i in range(8192):
    x, y, z = a.read(4096), c.read(4096), b.read(4096)
    if z not in (x, y): sys.exit("page %d" % i)' "$a1" "$cmb" "$b1"
for i in 1 2 3; do
	by_peers --chunk=4k "$a1:0:32M" "$b1" &
	pid=$!
	within 20 has jobs 1 || fail "a copy runs" "$("$p2p" list)"
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
	soon "killed, $i: no slots are left" 60 has sets 0
done
by_peers --chunk=4k "$a1:0:32M" "$b1" &
pid=$!
within 20 has jobs 1
kill -TERM $pid 2>/dev/null
wait $pid
is "ended by SIGTERM" 143 $?
soon "  nothing is left" 60 has sets 0
ok "a copy afterwards" by_peers "$a1:0:4M" "$b1"
ok "  every byte is right" same_bytes "$a1" "$b1" $((4 << 20))
ok "the module goes" p2p_unload
finish
