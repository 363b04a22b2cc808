#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What can go wrong with files: one line that names file and reason, a status, nothing partial, nothing lost.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1
cleanup() { [ -z "${mounted:-}" ] || umount "$work/small" 2>/dev/null; }
there() { [ -e "$1" ] && echo yes || echo no; }

sample text 3000000
"$ACCEL" compress -k text
for f in zlib lz4 zstd deflate; do "$ACCEL" compress -F $f -c text >text.$f; done
mv text plain

# bad NAME PATTERN INPUT [OPTIONS...]: decompress refuses INPUT under a name of its own
bad() {
	name=$1 pattern=$2 input=$3
	shift 3
	cp "$input" in.gz
	before=$(cksum <in.gz)
	refuses "$name" 1 "in.gz: $pattern" "$ACCEL" decompress "$@" in.gz
	is "  no output" no "$(there in)"
	is "  input untouched" "$before" "$(cksum <in.gz)"
	rm -f in in.gz
}

for cut in 1 2 9 17 1000 100000; do
	head -c $cut text.gz >cut
	bad "gzip cut to $cut bytes" . cut
done
for f in gz zlib lz4 zstd; do
	head -c 100000 text.$f >cut
	bad "$f cut in the middle" . cut
	head -c -1 text.$f >cut
	bad "$f without its last byte" . cut
done
head -c 100000 text.deflate >cut
bad "deflate cut in the middle" . cut -F deflate
flip() { python3 -c 'import sys
b = bytearray(open(sys.argv[1], "rb").read())
b[int(sys.argv[2])] ^= int(sys.argv[3])
sys.stdout.buffer.write(b)' "$1" "$2" "$3"; }
for f in gz zlib lz4 zstd; do
	for at in 50 50000 -3; do
		flip text.$f $at 64 >flipped
		# A bit that only a checksum covers may go by where the format has none; lz4 -3 is one of those.
		bad "$f with a bit flipped at $at" . flipped
	done
done
bad "not compressed" 'is no gzip, zlib, lz4 or zstd file' plain
bad "empty" 'is empty' /dev/null
bad "zstd taken for gzip" . text.zstd -F gzip
bad "gzip taken for lz4" . text.gz -F lz4
# Of a seed: noise may begin with a short stream that is right.
python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(7).randbytes(100000))' >noise
bad "noise taken for deflate" . noise -F deflate

# Every byte of a small file damaged in turn: an error or the same data, never other data.
head -c 2000 plain >small.txt
"$ACCEL" compress -nc small.txt >small.gz
wrong=0 n=$(stat -c %s small.gz) at=10
while [ $at -lt "$n" ]; do
	flip small.gz $at 4 >flipped
	if "$ACCEL" decompress -q <flipped >got 2>/dev/null && ! cmp -s got small.txt; then wrong=$((wrong + 1)); fi
	at=$((at + 29))
done
is "damaged bytes never pass for other data" 0 "$wrong"

# Disk full.
refuses "/dev/full as standard output" 1 'stdout: write: No space left' \
	sh -c '"$1" compress -c "$2" >/dev/full' sh "$ACCEL" plain
refuses "/dev/full as -o" 1 '/dev/full: write: No space left' "$ACCEL" compress -o /dev/full plain
refuses "/dev/full, decompress" 1 'No space left' sh -c '"$1" decompress -c text.gz >/dev/full' sh "$ACCEL"
refuses "/dev/full for a listing" 1 'stdout: .*No space left' sh -c '"$1" list >/dev/full' sh "$ACCEL"
for f in text json; do
	refuses "/dev/full for a long listing as $f" 1 'stdout: .*No space left' \
		sh -c '"$1" info -o "$2" -d soft: >/dev/full' sh "$ACCEL" $f
done
refuses "/dev/full for many sums" 1 'stdout: .*No space left' \
	sh -c '"$1" digest $(yes plain | head -n 300) >/dev/full' sh "$ACCEL"
refuses "/dev/full for help" 1 'No space left' sh -c '"$1" compress --help >/dev/full' sh "$ACCEL"
mkdir small
if mount -t tmpfs -o size=1m none small 2>/dev/null; then
	mounted=1
	cp text.gz small/a.gz
	refuses "a full file system" 1 'a: write: No space left' "$ACCEL" decompress small/a.gz
	is "  no output" "a.gz" "$(ls -A small)"
	same "  input untouched" small/a.gz text.gz
	umount small && mounted=
else
	skip "a full file system" "mount is not permitted"
fi

# Permissions, as a user who has few.
user_accel=$(public_accel)
mkdir -m 755 shut
mkdir -m 777 drop
cp plain drop/mine.txt && chmod 666 drop/mine.txt
cp plain shut/f && cp text.gz shut/g.gz && chmod 644 shut/*
cp plain secret && chmod 600 secret
[ "$(id -u)" -ne 0 ] && chmod 0 secret && chmod 555 shut
if unprivileged "$user_accel" --version >/dev/null 2>&1; then
	refuses "no permission to read" 1 'secret: Permission denied' unprivileged "$user_accel" compress -c secret
	refuses "no permission to create" 1 'shut/f.gz: .*Permission denied' unprivileged "$user_accel" compress shut/f
	is "  input untouched, no output" "f g.gz" "$(ls shut | xargs)"
	refuses "no permission to create, decompress" 1 'shut/g: .*Permission denied' \
		unprivileged "$user_accel" decompress shut/g.gz
	refuses "no such directory" 1 'nowhere: No such file or directory' \
		unprivileged "$user_accel" compress -o nowhere/x plain
	ok "what is permitted works" unprivileged "$user_accel" compress drop/mine.txt
	is "  owned by who made it" "$(unprivileged id -u)" "$(stat -c %u drop/mine.txt.gz)"
else
	skip "permissions" "an unprivileged user cannot run the command here"
fi
refuses "a directory as output" 1 'small: Is a directory' "$ACCEL" compress -o small plain
refuses "a block device is never written" 1 'block device|No such file' "$ACCEL" compress -fo "$(
	find /dev -maxdepth 1 -type b 2>/dev/null | grep . || echo /dev/none | head -n 1)" plain
mkfifo pipe
refuses "a FIFO is skipped, not waited for" 2 'no regular file' timeout 5 "$ACCEL" compress pipe
long=$(printf '%0255d' 0)
cp plain "$long"
refuses "the output's name is too long" 1 'File name too long' "$ACCEL" compress "$long"
is "  the input stays" yes "$(there "$long")"
refuses "a name with a newline stays on one line" 1 'no\\x0asuch' "$ACCEL" compress "no
such"

# A closed pipe: no message, not success, no data lost that is on disk.
sh -c '"$1" decompress -c text.gz; echo $? >status' sh "$ACCEL" 2>err | head -c 10 >/dev/null
is "closed pipe: ended by SIGPIPE, as gzip" 141 "$(cat status)"
is "  without a word" 0 "$(wc -c <err)"
(trap '' PIPE; "$ACCEL" decompress -c text.gz 2>err; echo $? >status) | head -c 10 >/dev/null
is "closed pipe, SIGPIPE ignored" 1 "$(cat status)"
is "  without a word" 0 "$(wc -c <err)"
# A listing is shorter than a pipe holds, so it needs a closed descriptor.
exits "standard output closed" 1 sh -c '"$1" list >&-' sh "$ACCEL"
exits "standard output closed, compress -c" 1 sh -c '"$1" compress -c plain >&-' sh "$ACCEL"
exits "standard input closed" 1 sh -c '"$1" compress <&- >/dev/null' sh "$ACCEL"
exits "all three closed: no file is taken for them" 1 sh -c '"$1" compress -c plain <&- >&- 2>&-' sh "$ACCEL"
is "  and the input is whole" 3000000 "$(stat -c %s plain)"
exits "no descriptor is taken for standard error" 2 sh -c '"$1" compress -kf plain . <&- >&- 2>&-' sh "$ACCEL"
ok "  the output has no message in it" gzip -t plain.gz
no_leftover "no temporary file is left" "$work"
finish
