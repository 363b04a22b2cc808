#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# ec: round trips of all shapes, losses, damage, repair in place, foreign shards, what cannot be done.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1
there() { [ -e "$1" ] && echo yes || echo no; }
ec() { "$ACCEL" ec "$@"; }
# XORs byte AT (from the end if negative) of FILE.
flip() { python3 -c 'import sys
f = open(sys.argv[1], "r+b")
at = int(sys.argv[2])
f.seek(at, 2 if at < 0 else 0)
c = f.read(1)
f.seek(-1, 1)
f.write(bytes([c[0] ^ int(sys.argv[3])]))' "$1" "$2" "$3"; }
sample data 3000000

# Shapes: k, m, block, size.
round() {
	k=$1 m=$2 b=$3 n=$4
	rm -f f f.ec.* g
	head -c "$n" data >f
	run "$ACCEL" ec encode -k "$k" -m "$m" -b "$b" f
	[ "$rc" -eq 0 ] || { fail "$k+$m of $b, $n bytes: encode" "$(cat err)"; return; }
	[ "$(ls f.ec.* | wc -l)" -eq $((k + m)) ] || { fail "$k+$m of $b, $n bytes: number of shards"; return; }
	run "$ACCEL" ec verify f
	[ "$rc" -eq 0 ] || { fail "$k+$m of $b, $n bytes: verify" "$(cat out err)"; return; }
	# The first m shards are the worst to lose: all of them data, where there are so many.
	for i in $(seq 0 $((m - 1))); do rm "f.ec.$(printf %03d "$i")"; done
	run "$ACCEL" ec decode -q -o g f
	if [ "$rc" -ne 0 ] || ! cmp -s f g; then
		fail "$k+$m of $b, $n bytes: decode without the first $m" "$(cat err)"
		return
	fi
	run "$ACCEL" ec repair f
	[ "$rc" -eq 0 ] || { fail "$k+$m of $b, $n bytes: repair" "$(cat out err)"; return; }
	for i in $(seq $k $((k + m - 1))); do rm "f.ec.$(printf %03d "$i")"; done
	run "$ACCEL" ec decode -qf -o g f
	if [ "$rc" -eq 0 ] && cmp -s f g; then
		pass "$k+$m of $b, $n bytes"
	else
		fail "$k+$m of $b, $n bytes: decode without the last $m" "$(cat err)"
	fi
}
for n in 0 1 511 512 513 65536 65537 1000000; do round 1 1 64k $n; done
for n in 0 1 5119 5120 5121 655359 655360 655361 1310720 3000000; do round 10 2 64k $n; done
round 32 4 16k 3000000
round 32 4 64k 2500001
round 32 4 128k 3000000
round 200 55 4k 2999999
round 200 55 64k 3000000
round 254 1 512 400000
round 1 254 512 1000
round 4 6 4k 100001
round 2 8 512 9999
round 3 2 1M 3000000

# Random losses of 32+4.
head -c 1234567 data >f
rm -f f.ec.*
ec encode --scheme 32+4 -b 16k f
mkdir keep && cp f.ec.* keep/
bad_sets=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	cp keep/* .
	rm -f $(ls f.ec.* | shuf -n 4)
	ec decode -qf -o g f 2>err && cmp -s f g || bad_sets=$((bad_sets + 1))
done
is "twelve random losses of four shards of 32+4" 0 $bad_sets
rm -rf keep f.ec.* g

# Loss sets that other codes, or other people's, could not decode.
loses() {
	scheme=$1
	shift
	rm -f f.ec.* g
	ec encode --scheme "$scheme" -b 4k f
	for i in "$@"; do rm "f.ec.$(printf %03d "$i")"; done
	ok "$scheme without $*" "$ACCEL" ec decode -q -o g f
	same "  the same" f g
}
loses 9+18 0 1 2 5 7 9 10 14 16
loses 32+4 0 1 25 34
loses 22+4 0 10 21 24

# From here on one set of 10+2.
fresh() { rm -rf f f.ec.* g d; cp data f; ec encode -b 16k f; }
fresh
is "the shards take the file's mode" "$(stat -c %a f)" "$(stat -c %a f.ec.005)"
chmod 640 f && touch -d '2001-02-03 04:05:06' f && ec encode -b 16k -f f && rm f
ok "decode to the old name" "$ACCEL" ec decode f
same "  the same" f data
is "  with its mode" 640 "$(stat -c %a f)"
is "  and its time" 981173106 "$(stat -c %Y f)"
fresh
exits "encode does not replace shards" 1 "$ACCEL" ec encode -b 16k f
is "  it names the first" 1 "$(grep -c 'f.ec.000: exists already' err)"
ok "  -f does" "$ACCEL" ec encode -f -b 16k f
refuses "decode does not replace the file" 1 'f: exists already' "$ACCEL" ec decode f
mkdir d
ok "-o DIR" "$ACCEL" ec encode -o d f
ok "  verify DIR/NAME" "$ACCEL" ec verify d/f
ok "decode to standard output" sh -c '"$1" ec decode -c d/f | cmp - data' sh "$ACCEL"
ok "encode from standard input" sh -c '"$1" ec encode -o d - <data' sh "$ACCEL"
ok "  and back" sh -c '"$1" ec decode -c d/stdin | cmp - data' sh "$ACCEL"
ok "shards named one by one, in any order" sh -c '"$1" ec decode -o g $(ls -r f.ec.*) && cmp g data' sh "$ACCEL"
mkdir moved && n=0
for s in f.ec.*; do n=$((n + 1)) && cp $s moved/shard$n; done
ok "shards under other names" sh -c '"$1" ec decode -qfo g moved/shard* && cmp g data' sh "$ACCEL"
rm -rf moved

# Losses.
fresh && rm f.ec.003
ok "one shard missing: decode" "$ACCEL" ec decode -o g f
is "  it says which" 1 "$(grep -c 'f: 1 of 12 shards missing: 003' err)"
same "  the same" g data
exits "  verify says so" 1 "$ACCEL" ec verify f
is "  by number" 1 "$(grep -cE '^ +3 +data +- +missing' out)"
ok "  as JSON" sh -c '"$1" ec verify -o json f | python3 -c "
import json, sys
d = json.load(sys.stdin)
assert d[\"shards_bad\"] == 1 and d[\"shards_found\"] == 11 and not d[\"shards\"][3][\"good\"], d"' sh "$ACCEL"
ok "  repair" "$ACCEL" ec repair f
ok "  verify after it" "$ACCEL" ec verify f
fresh && rm f.ec.000 f.ec.011 f.ec.005
refuses "three missing of 10+2" 1 'f: 9 shards are there, 10 of 12 are needed' "$ACCEL" ec decode -qo g f
is "  nothing appears" no "$(there g)"
exits "  repair" 1 "$ACCEL" ec repair f
is "  changes nothing" 9 "$(ls f.ec.* | wc -l)"
exits "  verify" 1 "$ACCEL" ec verify f
is "  says it" 1 "$(grep -c 'damaged beyond repair' out)"
refuses "no shard at all" 1 'nothing: there is neither' "$ACCEL" ec decode nothing

# Damage: a byte of a block, of a check, of the header, of its copy; a truncated and a longer shard.
damaged() {
	name=$1 shard=$2 pattern=$3
	exits "$name: verify finds it" 1 "$ACCEL" ec verify f
	is "  and says what" 1 "$(grep "$shard" out | grep -cE "$pattern")"
	ok "  decode" "$ACCEL" ec decode -qf -o g f
	same "  the same" g data
	ok "  repair" "$ACCEL" ec repair f
	ok "  verify after it" "$ACCEL" ec verify f
	no_leftover "  nothing is left over" .
}
fresh && flip f.ec.002 100000 1
damaged "a bit of a data block" f.ec.002 '1 of 19 blocks is damaged, the first in stripe 6'
fresh && flip f.ec.011 600 128
damaged "a bit of a parity block" f.ec.011 '1 of 19 blocks is damaged, the first in stripe 0'
fresh && flip f.ec.004 $((512 + 16384)) 1
damaged "a bit of a check" f.ec.004 '1 of 19 blocks is damaged'
fresh && flip f.ec.004 40 1
damaged "a bit of a header" f.ec.004 'its header is damaged'
fresh && flip f.ec.004 -5 1
damaged "a bit of the copy of a header" f.ec.004 'the copy of its header is damaged'
fresh && truncate -s 100000 f.ec.007
damaged "a truncated shard" f.ec.007 'truncated'
fresh && truncate -s 300 f.ec.007
exits "a shard cut within its header: verify" 1 "$ACCEL" ec verify f
ok "  repair" "$ACCEL" ec repair f
ok "  verify after it" "$ACCEL" ec verify f
fresh && printf more >>f.ec.007
damaged "a longer shard" f.ec.007 'longer than it should be'
fresh && head -c "$(stat -c %s f.ec.001)" /dev/urandom >f.ec.001
exits "garbage instead of a shard: verify" 1 "$ACCEL" ec verify f
ok "  decode" "$ACCEL" ec decode -qf -o g f
same "  the same" g data
ok "  repair replaces it" "$ACCEL" ec repair f
ok "  verify after it" "$ACCEL" ec verify f
fresh && : >f.ec.001 && rm f.ec.010
ok "an empty and a missing shard: repair" "$ACCEL" ec repair f
ok "  verify after it" "$ACCEL" ec verify f
# Two blocks of a shard exchanged: each is right, but not in its place.
fresh
python3 - <<'PY'
f = open('f.ec.006', 'r+b')
n = 16384 + 4
f.seek(512); a = f.read(n); b = f.read(n)
f.seek(512); f.write(b + a)
PY
damaged "two blocks exchanged" f.ec.006 '2 of 19 blocks are damaged'
# Damage in every shard, but never more than two of a stripe.
fresh
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
	flip f.ec.$(printf %03d $i) $((512 + i / 2 * (16384 + 4) + 7)) 4
done
ok "damage in every shard: decode" "$ACCEL" ec decode -qf -o g f
same "  the same" g data
ok "  repair" "$ACCEL" ec repair f
ok "  verify after it" "$ACCEL" ec verify f
# Three of one stripe: too many there, and only there.
fresh
for i in 000 004 011; do flip f.ec.$i $((512 + 3 * (16384 + 4) + 9)) 4; done
refuses "three damaged blocks of one stripe" 1 'f: bytes 491520 to 655359 cannot be restored: 9 of 12' \
	"$ACCEL" ec decode -qo g2 f
is "  nothing appears" no "$(there g2)"
before=$(cat f.ec.* | cksum)
refuses "  repair" 1 'f: in 1 stripes fewer than 10 blocks are good: nothing changed' "$ACCEL" ec repair -q f
is "  changes nothing" "$before" "$(cat f.ec.* | cksum)"
no_leftover "  nothing is left over" .

# What stands in DIR under the name of a missing shard is replaced by -f only, as the message says.
fresh && rm f.ec.003 && mkdir there && echo mine >there/f.ec.003
refuses "repair --directory: a file stands there" 1 'exists already \(-f replaces it\)' \
	"$ACCEL" ec repair -q --directory there f
is "  it is as it was" mine "$(cat there/f.ec.003)"
ok "  -f replaces it" "$ACCEL" ec repair -qf --directory there f
mv there/f.ec.003 . && ok "  verify after it" "$ACCEL" ec verify f
rmdir there

# Shards of other sets.
fresh && cp f.ec.002 old && ec encode -f -b 16k f && mv old f.ec.002
ok "a shard of another set: decode" "$ACCEL" ec decode -fo g f
is "  it says which" 1 "$(grep -c 'f.ec.002: is of another set: ignored' err)"
same "  the same" g data
exits "  repair does not replace it" 1 "$ACCEL" ec repair f
ok "  unless told" "$ACCEL" ec repair -f f
ok "  verify after it" "$ACCEL" ec verify f
fresh && cp data h && ec encode -b 16k h
refuses "two whole sets at once" 1 'is of another set than .*: name the shards of one set only' \
	"$ACCEL" ec decode -o g2 f h
fresh && cp f.ec.001 f.ec.000.copy
ok "the same shard twice" "$ACCEL" ec decode -fo g f.ec.* 
is "  it says so" 1 "$(grep -c 'is the same shard as' err)"
same "  the same" g data
# A set whose parity contradicts its data, with every check right, is not touched.
fresh
python3 - <<'PY'
def crc(b, c=0):
    c ^= 0xffffffff
    for x in b:
        c ^= x
        for _ in range(8):
            c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    return c ^ 0xffffffff
f = open('f.ec.010', 'r+b')
head = f.read(512)
block = bytearray(f.read(16384))
block[100] ^= 1
place = head[16:32] + (10).to_bytes(4, 'little') + (0).to_bytes(8, 'little')
f.seek(512)
f.write(block + (crc(block) ^ crc(place)).to_bytes(4, 'little'))
PY
exits "parity that is not the data's: verify" 1 "$ACCEL" ec verify f
is "  says so" 1 "$(grep -c 'the parity is not that of the data' err)"
exits "  repair refuses" 1 "$ACCEL" ec repair f

# Usage, permissions, full disks.
exits "k of 0" 2 "$ACCEL" ec encode -k 0 f
exits "k + m of 256" 2 "$ACCEL" ec encode -k 200 -m 56 f
for b in 0 511 1000 2M 4k1 -512; do exits "block of $b" 2 "$ACCEL" ec encode -b $b f; done
for s in 10 10+ +2 10+2+1 a+b 0+1 1+0; do exits "scheme $s" 2 "$ACCEL" ec encode --scheme $s f; done
exits "a stripe beyond 64 MiB" 2 "$ACCEL" ec encode -k 200 -m 55 -b 1M f
exits "no file" 2 "$ACCEL" ec encode
exits "two files" 2 "$ACCEL" ec encode f h
refuses "no such file" 1 'nofile: No such file' "$ACCEL" ec encode nofile
refuses "no such directory" 1 'nodir.*No such file' "$ACCEL" ec encode -o nodir f
mkdir -p full
if mount -t tmpfs -o size=1m none full 2>/dev/null; then
	refuses "disk full" 1 'full/f.ec.0.*No space left' "$ACCEL" ec encode -o full f
	is "  nothing appears" "" "$(ls -A full)"
	umount full
else
	skip "disk full" "mount is not permitted"
fi
(ulimit -f 100; trap '' XFSZ; "$ACCEL" ec encode -f -b 16k f 2>err; echo $? >status)
is "a limit on file sizes: an error" 1 "$(cat status)"
no_leftover "  nothing is left over" .
ok "  and the shards are as before" "$ACCEL" ec decode -qfo g f
refuses "decode to a full device" 1 'No space left' sh -c '"$1" ec decode -qc f >/dev/full' sh "$ACCEL"
user_accel=$(public_accel)
chmod 755 . && mkdir -m 755 shut && cp data shut/f && chmod 644 shut/f
[ "$(id -u)" -ne 0 ] && chmod 555 shut
if unprivileged "$user_accel" --version >/dev/null 2>&1; then
	refuses "no permission to create" 1 'shut/f.ec.000: .*Permission denied' \
		unprivileged "$user_accel" ec encode shut/f
else
	skip "no permission to create" "an unprivileged user cannot run the command here"
fi
# A signal in the middle: no temporary file stays, nothing appears, and the end is the signal's.
mkfifo pipe
mkdir sig
sleep 10 >pipe &
feeder=$!
"$ACCEL" ec encode -o sig - <pipe 2>err &
pid=$!
sleep 1
kill -TERM $pid
wait $pid
is "SIGTERM: ended by it" 143 $?
is "  nothing appears" "" "$(ls -A sig)"
kill $feeder 2>/dev/null

# A FIFO whose other end nobody opens: the wait can be ended, and as an output it is refused at once.
mkfifo lonely
exits "a FIFO without a writer can be ended" 124 timeout -k 5 1 "$ACCEL" ec encode lonely
echo data >in_the_way
mkfifo in_the_way.ec.001
refuses "a FIFO in a shard's place" 1 'is no regular file' timeout -k 1 20 "$ACCEL" ec encode -f in_the_way
is "  no shard appears" "in_the_way.ec.001" "$(echo in_the_way.ec.*)"

# Any length in bounded memory.
# A sanitizer needs memory of its own.
if have /usr/bin/time && ! ldd "$ACCEL" | grep -q libasan; then
	truncate -s 300M long
	ok "300 MiB of 32+4" sh -c '/usr/bin/time -f %M -o rss "$1" ec encode --scheme 32+4 -b 128k long' sh "$ACCEL"
	is "  below 96 MiB resident ($(cat rss) KiB)" yes "$([ "$(tail -n 1 rss)" -lt 98304 ] && echo yes || echo no)"
	rm long.ec.003 long.ec.017
	ok "  decode" sh -c '/usr/bin/time -f %M -o rss "$1" ec decode -qc long | cmp - long' sh "$ACCEL"
	is "  below 96 MiB resident ($(cat rss) KiB)" yes "$([ "$(tail -n 1 rss)" -lt 98304 ] && echo yes || echo no)"
else
	skip "memory" "no time(1), or a build with a sanitizer"
fi
finish
