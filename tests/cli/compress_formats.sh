#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What we write others read, and the other way round.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1

sample text 3000000
: >empty
printf x >one
head -c 700000 /dev/urandom >noise
head -c 5000000 /dev/zero >zeros
inputs="text empty one noise zeros"

# judge NAME TOOL...: the tool, fed with $packed, must give $plain
judge() {
	name=$1
	shift
	if ! have "$1"; then
		skip "$name" "$1 is not installed"
	elif "$@" <"$packed" >judged 2>judge.err && cmp -s judged "$plain"; then
		pass "$name"
	else
		fail "$name" "$(cat judge.err)"
	fi
}

zlib_judge() {
	python3 -c 'import sys, zlib
d = zlib.decompressobj(int(sys.argv[1]))
sys.stdout.buffer.write(d.decompress(sys.stdin.buffer.read()) + d.flush())
sys.exit(not d.eof or bool(d.unused_data))' "$1"
}

for plain in $inputs; do
	for level in 0 1 3 6 9; do
		packed=$plain.$level.gz
		ok "gzip -$level $plain" sh -c '"$1" compress -n -"$2" -c "$3" >"$4"' sh "$ACCEL" $level $plain $packed
		judge "  gunzip reads it" gzip -dc
		judge "  pigz reads it" pigz -dc
		judge "  igzip reads it" igzip -dc
		judge "  libdeflate reads it" libdeflate-gunzip -c
		judge "  accel reads it" "$ACCEL" decompress
	done
	for f in zlib deflate lz4 zstd; do
		packed=$plain.$f
		ok "$f $plain" sh -c '"$1" compress -F "$2" <"$3" >"$4"' sh "$ACCEL" $f $plain $packed
		case $f in
		zlib) judge "  zlib reads it" zlib_judge 15; judge "  pigz reads it" pigz -dc ;;
		deflate) judge "  zlib reads it" zlib_judge -15 ;;
		lz4) judge "  lz4 reads it" lz4 -dc ;;
		zstd) judge "  zstd reads it" zstd -dc ;;
		esac
		judge "  accel reads it" "$ACCEL" decompress -F $f
		[ $f = deflate ] || judge "  accel finds out the format" "$ACCEL" decompress
	done
	packed=$plain.bgzf.gz
	ok "bgzf $plain" sh -c '"$1" compress --bgzf <"$2" >"$3"' sh "$ACCEL" $plain $packed
	judge "  gunzip reads it" gzip -dc
	judge "  accel reads it" "$ACCEL" decompress
	is "  it ends with bgzip's end block" 1f8b08040000000000ff0600424302001b0003000000000000000000 \
		"$(tail -c 28 $packed | od -An -tx1 | tr -d ' \n')"
	ok "verify $plain" sh -c '"$1" compress --verify -1 <"$2" | gzip -dc | cmp - "$2"' sh "$ACCEL" $plain
done

# foreign NAME TOOL...: what the tool makes of each input, we read
foreign() {
	name=$1
	shift
	if ! have "$1"; then
		skip "we read $name" "$1 is not installed"
		return
	fi
	for plain in $inputs; do
		if "$@" <$plain >packed 2>tool.err && "$ACCEL" decompress <packed >judged 2>judge.err &&
			cmp -s judged $plain; then
			pass "we read $name ($plain)"
		else
			fail "we read $name ($plain)" "$(cat tool.err judge.err)"
		fi
	done
}
foreign "gzip -1" gzip -1
foreign "gzip -9" gzip -9
foreign "pigz" pigz -c -p 2
foreign "pigz --zlib" pigz -cz
foreign "pigz -11 --independent" pigz -c -i -b 128
foreign "igzip -0" igzip -0 -c
foreign "igzip -3" igzip -3 -c
foreign "libdeflate-gzip -12" libdeflate-gzip -12 -c
foreign "lz4 -1" lz4 -1 -c
foreign "lz4 -9 with linked blocks and checksums" lz4 -9 -BD -BX -c
foreign "zstd -1" zstd -1 -c
foreign "zstd -19" zstd -9 --long=27 -c
foreign "gzip --rsyncable" gzip --rsyncable
# What dictzip and bgzip write: an index in FEXTRA with flushed pieces; small members with their size in FEXTRA.
python3 - <<'PY'
import struct, zlib
text = open("text", "rb").read()
piece = 58315
c = zlib.compressobj(6, zlib.DEFLATED, -15)
parts = [c.compress(text[i:i + piece]) + c.flush(zlib.Z_FULL_FLUSH) for i in range(0, len(text), piece)]
ra = struct.pack("<HHH", 1, piece, len(parts)) + b"".join(struct.pack("<H", len(p)) for p in parts)
extra = b"RA" + struct.pack("<H", len(ra)) + ra
with open("text.dz", "wb") as f:
    f.write(b"\x1f\x8b\x08\x0c\0\0\0\0\x02\x03" + struct.pack("<H", len(extra)) + extra + b"text\0")
    f.write(b"".join(parts) + c.flush() + struct.pack("<II", zlib.crc32(text), len(text)))
def block(data):
    c = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = c.compress(data) + c.flush()
    return (b"\x1f\x8b\x08\x04\0\0\0\0\0\xff" + struct.pack("<H", 6) + b"BC" +
            struct.pack("<HH", 2, len(body) + 25) + body + struct.pack("<II", zlib.crc32(data), len(data)))
with open("text.bgz", "wb") as f:
    for i in range(0, len(text), 65280):
        f.write(block(text[i:i + 65280]))
    f.write(block(b""))
PY
plain=text packed=text.dz
judge "we read dictzip's form" "$ACCEL" decompress
packed=text.bgz
judge "we read bgzip's form" "$ACCEL" decompress

# Many members of odd sizes, and members of all tools in one file.
python3 - <<'PY'
import gzip, random
random.seed(7)
text = open("text", "rb").read()
at = 0
with open("many.gz", "wb") as f:
    while at < len(text):
        n = random.randint(1, 60000)
        f.write(gzip.compress(text[at:at + n], random.randint(0, 9)))
        at += n
PY
plain=text packed=many.gz
judge "many members of random sizes" "$ACCEL" decompress
"$ACCEL" compress -1 <text >t1.gz
"$ACCEL" compress --bgzf <text >t2.gz
{ gzip -c text; cat t1.gz t2.gz; pigz -c text 2>/dev/null || gzip -c text; } >mixed.gz
cat text text text text >text4
plain=text4 packed=mixed.gz
judge "members of several tools" "$ACCEL" decompress
plain=text
cat text.lz4 text.lz4 >l2 && cat text text >text2 && plain=text2 packed=l2
judge "two lz4 frames" "$ACCEL" decompress
cat text.zstd text.zstd >z2 && packed=z2
judge "two zstd frames" "$ACCEL" decompress

# Every size around the edges of our pieces.
sizes_ok=yes
for n in 1 2 3 4095 4096 4097 65535 65536 65537 131071 131072 131073 262144 262145 524288 1048575 1048576 \
	1048577 2097153; do
	head -c $n text >s
	"$ACCEL" compress -1 <s | gzip -dc | cmp -s - s || sizes_ok="gzip: $n"
	"$ACCEL" compress -1 <s | "$ACCEL" decompress | cmp -s - s || sizes_ok="accel: $n"
done
is "sizes around the edges of pieces" yes "$sizes_ok"
one_member=$("$ACCEL" compress -c text | python3 -c 'import sys, zlib
d = zlib.decompressobj(31)
d.decompress(sys.stdin.buffer.read())
print(len(d.unused_data), d.eof)')
is "one gzip member, nothing behind it" "0 True" "$one_member"
finish
