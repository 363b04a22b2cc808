#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# digest and checksum against the tools that everybody has, and published check values.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1
printf '123456789' >nine
: >empty
sample text 3000001
head -c 1048577 /dev/urandom >noise
files="nine empty text noise"

for f in $files; do
	is "sha256 $f" "$(sha256sum $f)" "$("$ACCEL" digest $f)"
	is "sha512 $f" "$(sha512sum $f)" "$("$ACCEL" digest -a sha512 $f)"
	is "blake2b $f" "$(b2sum $f)" "$("$ACCEL" digest -a blake2b $f)"
	is "sha3-256 $f" "$(python3 -c 'import hashlib, sys
print(hashlib.sha3_256(open(sys.argv[1], "rb").read()).hexdigest())' $f)  $f" "$("$ACCEL" digest -a sha3-256 $f)"
	is "crc32 $f" "$(python3 -c 'import sys, zlib
print("%08x" % zlib.crc32(open(sys.argv[1], "rb").read()))' $f)  $f" "$("$ACCEL" checksum -a crc32 $f)"
	is "adler32 $f" "$(python3 -c 'import sys, zlib
print("%08x" % zlib.adler32(open(sys.argv[1], "rb").read()))' $f)  $f" "$("$ACCEL" checksum -a adler32 $f)"
done
for n in 0 1 55 56 63 64 111 112 119 127 128; do
	head -c $n noise >s
	is "sha256 of $n bytes" "$(sha256sum <s)" "$("$ACCEL" digest <s)"
done
is "crc32c of 123456789" "e3069283  nine" "$("$ACCEL" checksum nine)"
is "t10dif of 123456789" "d0db  nine" "$("$ACCEL" checksum -a t10dif nine)"
is "crc64nvme of 123456789" "ae8b14860a799888  nine" "$("$ACCEL" checksum -a crc64nvme nine)"
is "sums of nothing" "00000000 0000 0000000000000000 00000001" "$(for a in crc32c t10dif crc64nvme adler32; do
	"$ACCEL" checksum -a $a empty | cut -d' ' -f1
done | xargs)"
# In pieces as in one: a plain bitwise CRC over the whole file is the judge.
is "crc32c over many pieces" "$(python3 - <<'PY'
t = []
for i in range(256):
    c = i
    for _ in range(8):
        c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    t.append(c)
c = 0xffffffff
for b in open("text", "rb").read():
    c = t[(c ^ b) & 255] ^ c >> 8
print("%08x  text" % (c ^ 0xffffffff))
PY
)" "$("$ACCEL" checksum text)"

is "--tag" "$(sha256sum --tag nine)" "$("$ACCEL" digest --tag nine)"
is "standard input" "$(sha256sum <nine)" "$("$ACCEL" digest <nine)"
odd='back\slash'
cp nine "$odd"
is "odd names are escaped as sha256sum does" "$(sha256sum "$odd")" "$("$ACCEL" digest "$odd")"
is "-z" "$(sha256sum -z "$odd" | tr '\0' '#')" "$("$ACCEL" digest -z "$odd" | tr '\0' '#')"

sha256sum $files "$odd" >sums
ok "-c on sha256sum's list" "$ACCEL" digest -c sums
is "  names each" 5 "$(grep -c ': OK$' out)"
ok "sha256sum -c on ours" sh -c '"$1" digest $2 | sha256sum -c' sh "$ACCEL" "$files"
ok "-c on tagged lines" sh -c 'sha512sum --tag nine | "$1" digest -c' sh "$ACCEL"
ok "-c from standard input, CRLF" sh -c 'sha256sum nine | sed "s/$/\r/" | "$1" digest -c' sh "$ACCEL"
ok "checksum -c" sh -c '"$1" checksum -a adler32 $2 | "$1" checksum -a adler32 -c' sh "$ACCEL" "$files"
for n in 'back\slash' "$(printf 'two\nlines')" "$(printf 're\rturn')" "$(printf 'both\r\n\\')"; do
	cp nine "$n" && sha256sum "$n" >oddsums
	is "  of an odd name as sha256sum does" "$(sha256sum -c oddsums)" "$("$ACCEL" digest -c oddsums)"
	echo x >>"$n"
	is "  and of one that was changed" "$(sha256sum -c oddsums 2>/dev/null)" \
		"$("$ACCEL" digest -c oddsums 2>/dev/null)"
	rm "$n"
done
cp nine "$odd"
ok "--quiet" "$ACCEL" digest -c --quiet sums
is "  is quiet" 0 "$(wc -c <out)"
cp nine changed && sha256sum changed >sums2 && echo x >>changed
exits "-c finds a change" 1 "$ACCEL" digest -c sums2
is "  says which" "changed: FAILED" "$(cat out)"
is "  and how many" 1 "$(wc -l <err)"
exits "--status" 1 "$ACCEL" digest -c --status sums2
is "  prints nothing" "0 0" "$(wc -c <out) $(wc -c <err)"
rm changed
exits "-c with a missing file" 1 "$ACCEL" digest -c sums2
sha256sum nine >>sums2
ok "--ignore-missing" "$ACCEL" digest -c --ignore-missing sums2
refuses "-c on what is no list" 1 'nine: no properly formatted' "$ACCEL" digest -c nine
head -c 300000 /dev/urandom >junk
refuses "-c on noise" 1 'junk: no properly formatted' "$ACCEL" digest -c junk
refuses "-c on an empty list" 1 'empty: no properly formatted' "$ACCEL" digest -c empty
{ cat sums; echo garbage; } >sums3
exits "a malformed line is only a warning" 0 "$ACCEL" digest -c sums3
exits "but not with --strict" 1 "$ACCEL" digest -c --strict sums3
refuses "no such file" 1 'nofile: No such file' "$ACCEL" digest nofile
refuses "a directory" 1 'directory' "$ACCEL" digest .
run "$ACCEL" digest nofile nine
is "good files are done beside bad ones" "1 $(sha256sum nine)" "$rc $(cat out)"

# Who did the work: a device that was named, or the CPU of this process, which is not passed off as the device.
acceld=$(dirname "$ACCEL")/acceld
head -c 9000000 /dev/urandom >large
want=$(sha256sum large)
run "$ACCEL" digest -v nine
is "-v: who did it" "0 1" "$rc $(grep -c 'nine: 9 bytes, .* by soft: (software accelerator), software$' err)"
is "  and the line is the same" "$(sha256sum nine)" "$(cat out)"
executor='import json; e = json.load(open("out"))[0]; print(e["device"].split(":")[0], e["executor"], e["cpu_bytes"])'
daemon=
cleanup() { [ -z "$daemon" ] || kill "$daemon" 2>/dev/null; }
if [ -x "$acceld" ]; then
	"$acceld" -l 127.0.0.1:0 2>log &
	daemon=$!
	tries=0
	while ! grep -q 'ready' log && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
	url="tcp://127.0.0.1:$(sed -n 's/.*listening addr=127.0.0.1:\([0-9]*\).*/\1/p' log)/?nsid=7"
	run "$ACCEL" digest -d "$url" nine large large
	is "a file too large for a job of the device: right" "0 $want" "$rc $(tail -n 1 out)"
	is "  with one warning" "1 1" "$(grep -c 'large: done by the CPU of this process' err) $(wc -l <err)"
	run "$ACCEL" digest -q -d "$url" large
	is "  not with -q" "0 0" "$rc $(wc -c <err)"
	run "$ACCEL" digest -v -d "$url" nine large
	is "  -v tells which" "1 1" "$(grep -c 'nine: .* by tcp:.*software$' err) $(grep -c 'large: .* by the CPU of this' err)"
	run "$ACCEL" digest -o json -d "$url" large
	is "  and so does JSON" "tcp cpu 9000000" "$(python3 -c "$executor")"
	run "$ACCEL" digest -o json -d "$url" nine
	is "  JSON of what the device did" "tcp software 0" "$(python3 -c "$executor")"
	run "$ACCEL" digest -o json -d "$url" empty
	is "  and of nothing" "tcp software 0" "$(python3 -c "$executor")"
	run "$ACCEL" checksum -o json -d "$url" large
	is "  a checksum goes to the device in parts" "tcp software 0" "$(python3 -c "$executor")"
	sha256sum large >lsum
	run "$ACCEL" digest -c -d "$url" lsum
	is "  -c warns, too" "large: OK 1" "$(cat out) $(wc -l <err)"
	gzip -1 <large >foreign.gz
	run "$ACCEL" decompress -kv -o plain -d "$url" foreign.gz
	is "decompress -v of one large member" "0 1 0" \
		"$rc $(grep -c 'by the CPU of this process.*one large member' err) $(grep -c 'by tcp' err)"
	same "  right" large plain
	"$ACCEL" compress -c large >own.gz
	cat own.gz foreign.gz >both.gz
	run "$ACCEL" decompress -cv -d "$url" both.gz
	is "  of a file of which it can do a part" "0 1" \
		"$rc $(grep -cE "by tcp:.* and by the CPU of this process for [0-9]+ of $(wc -c <both.gz) bytes" err)"
	run "$ACCEL" decompress -cv -d "$url" own.gz
	is "  of what can be cut" "0 1" "$rc $(grep -c 'by tcp:.*software$' err)"
	# It goes away in the middle: more than a pipe holds has been taken by then.
	{ cat large; kill -9 "$daemon"; cat large; } | timeout 60 "$ACCEL" compress -d "$url" >twice.gz 2>err
	is "compress, the device gone in the middle: done all the same" 0 $?
	cat large large >twice
	gzip -dc twice.gz | cmp -s - twice && pass "  right" || fail "  right"
	is "  and a warning says by whom" 1 "$(grep -c 'done by the CPU of this process for .* was lost' err)"
	wait "$daemon" 2>/dev/null
	daemon=
else
	skip "who did the work of a daemon's accelerator" "$acceld is not built"
fi
finish
