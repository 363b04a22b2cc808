#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What decompress makes of odd gzip files: status, output, and that an odd file is never lost.
. "$(dirname "$0")/lib.inc"

cd "$work" || exit 1
printf 'first member\n' >a
printf 'second member\n' >b
: >empty
for f in a b empty; do gzip -nk $f; done

# FLG bits and a header of our own: printf with octal escapes, the deflate body and trailer from gzip -n.
body() { tail -c +11 "$1"; }
header_crc() { python3 - "$1" <<'PY'
import sys, zlib
h = open(sys.argv[1], "rb").read()
sys.stdout.buffer.write((zlib.crc32(h) & 0xffff).to_bytes(2, "little"))
PY
}

cat a.gz b.gz >two.gz
{ cat a.gz; printf GARBAGE; } >garbage.gz
{ cat a.gz; head -c 512 /dev/zero; } >zeros.gz
cp empty zero-bytes.gz
cp empty.gz empty-member.gz
cat empty.gz a.gz >empty-then-data.gz
head -c -3 a.gz >cut3.gz
{ cat a.gz; printf '\037\213'; } >magic.gz
printf '\037\213\010\036\000\000\000\000\000\003\004\000XYZ!name\000comment\000' >h
{ cat h; header_crc h; body a.gz; } >full.gz
{ cat h; printf '\377\377'; body a.gz; } >fhcrc.gz
{ printf '\037\213\010\040\000\000\000\000\000\003'; body a.gz; } >flg20.gz
{ printf '\037\213\010\100\000\000\000\000\000\003'; body a.gz; } >flg40.gz
{ printf '\037\213\010\200\000\000\000\000\000\003'; body a.gz; } >flg80.gz
{ printf '\037\213\007\000\000\000\000\000\000\003'; body a.gz; } >method7.gz
{ cat a.gz; head -c 512 /dev/zero; printf X; } >zeros-then-garbage.gz
{ head -c -8 a.gz; printf '\000\000\000\000'; tail -c 4 a.gz; } >crc.gz
{ head -c -4 a.gz; printf '\001\000\000\000'; } >isize.gz
head -c 1 a.gz >one-byte.gz
head -c 9 a.gz >nine-bytes.gz
head -c 10 a.gz >header-only.gz
{ cat a.gz; head -c 12 b.gz; } >second-cut.gz
{ cat a.gz; head -c 1 b.gz; } >second-cut1.gz

python3 - <<'PY'
good = open("a.gz", "rb").read()
h = b"\x1f\x8b\x08%c\0\0\0\0\0\x03"
open("extra65535.gz", "wb").write(h % 4 + b"\xff\xff" + b"x" * 65535 + good[10:])
open("name2m.gz", "wb").write(h % 8 + b"n" * (2 << 20) + b"\0" + good[10:])
open("comment2m.gz", "wb").write(h % 16 + b"c" * (2 << 20) + b"\0" + good[10:])
open("endless-name.gz", "wb").write(h % 8 + b"n" * 100000)
PY

# row NAME STATUS EXPECTED-OUTPUT-FILE|none
row() {
	cp "$1.gz" in.gz
	rm -f in
	exits "$1: status $2" "$2" "$ACCEL" decompress in.gz
	if [ "$3" = none ]; then
		is "$1: no output file" no "$([ -e in ] && echo yes || echo no)"
		is "$1: input kept" yes "$([ -e in.gz ] && echo yes || echo no)"
		is "$1: one line on stderr" 1 "$(wc -l <err)"
	else
		same "$1: output" "$3" in
	fi
	exits "$1: -t agrees" "$2" "$ACCEL" decompress -t "$1.gz"
	exits "$1: -c agrees" "$2" "$ACCEL" decompress -c "$1.gz"
	exits "$1: standard input agrees" "$2" sh -c '"$1" decompress <"$2"' sh "$ACCEL" "$1.gz"
	rm -f in in.gz
}

cat a b >ab
row two 0 ab
row garbage 2 a
row zeros 0 a
row zero-bytes 1 none
row empty-member 0 empty
row empty-then-data 0 a
row cut3 1 none
row magic 1 none
row full 0 a
row fhcrc 1 none
row flg20 1 none
row flg40 1 none
row flg80 1 none
row method7 1 none
row zeros-then-garbage 2 a
row crc 1 none
row isize 1 none
row one-byte 1 none
row nine-bytes 1 none
row header-only 1 none
row second-cut 1 none
row second-cut1 1 none
row extra65535 0 a
row name2m 1 none
row comment2m 1 none
row endless-name 1 none

cp garbage.gz in.gz
run "$ACCEL" decompress in.gz
is "garbage: the file that held it is kept" yes "$([ -e in.gz ] && echo yes || echo no)"
rm -f in
run "$ACCEL" decompress -q in.gz
is "garbage: -q takes the words, not the status" "2 0" "$rc $(wc -c <err)"
no_leftover "no temporary file is left" "$work"
finish
