#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# compress and decompress behave as those who know gzip expect.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1
mkdir d && cd d || exit 1
err=../err

there() { [ -e "$1" ] && echo yes || echo no; }

sample ../text 300000
cp ../text f
chmod 640 f
touch -d '2001-02-03 04:05:06.5' f
before=$(stat -c '%a %U %Y' f)
ok "compress FILE" "$ACCEL" compress f
is "  replaces it" "no yes" "$(there f) $(there f.gz)"
is "  keeps mode, owner and time" "$before" "$(stat -c '%a %U %Y' f.gz)"
# header FILE: FLG, FNAME (- if none), mtime
header() { python3 - "$1" <<'PY'
import struct, sys
h = open(sys.argv[1], "rb").read(70000)
at = 10
if h[3] & 4:
    at += 2 + struct.unpack("<H", h[at:at + 2])[0]
print(h[at:h.index(0, at)].decode() if h[3] & 8 else "-", struct.unpack("<I", h[4:8])[0])
PY
}
is "  stores name and time" "f 981173106" "$(header f.gz)"
ok "decompress FILE" "$ACCEL" decompress f.gz
is "  replaces it" "yes no" "$(there f) $(there f.gz)"
is "  keeps mode, owner and time" "$before" "$(stat -c '%a %U %Y' f)"
same "  and the data" f ../text

ok "-k keeps the input" "$ACCEL" compress -k f
is "  it does" "yes yes" "$(there f) $(there f.gz)"
refuses "output that exists is not replaced" 1 'f.gz: exists already' "$ACCEL" compress f
is "  and the input stays" yes "$(there f)"
ok "-f replaces it" "$ACCEL" compress -f f
refuses "a file with the suffix is skipped" 2 'already has the suffix' "$ACCEL" compress f.gz
ok "-f compresses it all the same" "$ACCEL" compress -f f.gz
ok "compress -d is decompress" "$ACCEL" compress -d f.gz.gz
ok "-d looks for FILE.gz if FILE is not there" "$ACCEL" compress -d f
same "  data" f ../text
refuses "no known suffix" 2 'no known suffix' "$ACCEL" decompress f
refuses "no such file" 1 'nofile: .*No such file' "$ACCEL" decompress nofile
refuses "no such file to compress" 1 'nofile: .*No such file' "$ACCEL" compress nofile
refuses "a directory is skipped" 2 'is a directory' "$ACCEL" compress .

for pair in "-1 -c" "--fast --stdout" "-9c" "--best --to-stdout"; do
	ok "options $pair" sh -c '"$1" compress $2 f | gzip -dc | cmp - f' sh "$ACCEL" "$pair"
done
ok "standard input to standard output" sh -c '"$1" compress <f | gzip -dc | cmp - f' sh "$ACCEL"
ok "FILE -" sh -c '"$1" compress - <f | "$1" decompress - | cmp - f' sh "$ACCEL"
ok "-dc" sh -c '"$1" compress -c f | "$1" compress -dc | cmp - f' sh "$ACCEL"
ok "several files" sh -c 'cp f a; cp f b; "$1" compress a b && [ -e a.gz ] && [ -e b.gz ] && "$1" decompress a.gz b.gz &&
	cmp a f && cmp b f' sh "$ACCEL"
exits "one bad file among good ones: they are done" 1 "$ACCEL" compress a nofile b
is "  both" "yes yes" "$(there a.gz) $(there b.gz)"
cat f f >../two
ok "-c of several files is one stream" sh -c '"$1" decompress -c a.gz b.gz | cmp - ../two' sh "$ACCEL"
rm -f a b a.gz b.gz
cp f -- -odd
ok "-- ends options" "$ACCEL" compress -- -odd
is "  done" yes "$(there ./-odd.gz)"
ok "-S" sh -c 'cp f s; "$1" compress -S .x s && [ -e s.x ] && "$1" decompress -S .x s.x && cmp s f' sh "$ACCEL"
refuses "-S with an empty suffix" 2 "is no suffix" "$ACCEL" compress -S '' f
refuses "-S with a directory" 2 "'/../x' is no suffix" "$ACCEL" compress -S /../x f
ok "-o FILE" sh -c '"$1" compress -o out.gz f && gzip -dc out.gz | cmp - f && [ -e f ]' sh "$ACCEL"
ok "-o FILE, decompress" sh -c '"$1" decompress -o out out.gz && cmp out f && [ -e out.gz ]' sh "$ACCEL"
ok "-o /dev/null" "$ACCEL" compress -o /dev/null f
is "  which stays a device" yes "$([ -c /dev/null ] && echo yes)"
refuses "-o with two files" 2 'takes one input' "$ACCEL" compress -o o1 f f
refuses "-o and -c" 2 'exclude' "$ACCEL" compress -c -o o1 f
ok "-r" sh -c 'mkdir -p tree/sub; cp f tree/1; cp f tree/sub/2; "$1" compress -r tree && [ -e tree/1.gz ] &&
	[ -e tree/sub/2.gz ] && "$1" decompress -r tree && cmp tree/1 f && cmp tree/sub/2 f' sh "$ACCEL"
for s in .tgz:.tar .tzst:.tar; do
	ok "$s becomes ${s#*:}" sh -c 'case $2 in .tgz) F=gzip;; *) F=zstd;; esac
		"$1" compress -F $F -c f >t$2 && "$1" decompress t$2 && cmp t.tar f' sh "$ACCEL" "${s%:*}"
	rm -f t.tar
done
for f in zlib:.zz deflate:.deflate lz4:.lz4 zstd:.zst; do
	cp f x
	ok "-F ${f%:*} writes and reads x${f#*:}" sh -c '"$1" compress -F "$2" x && [ -e "x$3" ] &&
		"$1" decompress "x$3" && cmp x f' sh "$ACCEL" "${f%:*}" "${f#*:}"
done

# Names and times from inside a file.
python3 - <<'PY'
import struct, zlib
def member(name, mtime=981173106):
    c = zlib.compressobj(6, zlib.DEFLATED, -15)
    d = b"inside\n"
    return (b"\x1f\x8b\x08\x08" + struct.pack("<I", mtime) + b"\0\x03" + name + b"\0" + c.compress(d) +
            c.flush() + struct.pack("<II", zlib.crc32(d), len(d)))
open("n1.gz", "wb").write(member(b"orig"))
open("n2.gz", "wb").write(member(b"../../evil"))
open("n3.gz", "wb").write(member(b"/tmp/accel-evil"))
open("n4.gz", "wb").write(member(b".."))
open("n5.gz", "wb").write(member(b"ev\x1b[31mil"))
PY
ok "without -N the name inside does not count" "$ACCEL" decompress -k n1.gz
is "  it does not" "yes no" "$(there n1) $(there orig)"
ok "-N takes name and time from inside" "$ACCEL" decompress -k -N n1.gz
is "  it does" "yes 981173106" "$(there orig) $(stat -c %Y orig)"
ok "-N with ../../evil" "$ACCEL" decompress -k -N n2.gz
is "  stays in the directory" "yes no" "$(there evil) $(there ../../evil)"
ok "-N with an absolute name" "$ACCEL" decompress -k -N n3.gz
is "  stays in the directory" "yes no" "$(there accel-evil) $(there /tmp/accel-evil)"
ok "-N with .." "$ACCEL" decompress -k -N n4.gz
is "  falls back on the file's name" yes "$(there n4)"
ok "-N with control characters" "$ACCEL" decompress -k -N n5.gz
is "  falls back on the file's name" yes "$(there n5)"
"$ACCEL" compress -nc f >none.gz
mkdir -p fuzz/in
is "-N with damaged headers stays in its directory and does not crash" "" "$(python3 - "$ACCEL" <<'PY'
import os, random, subprocess, sys
random.seed(3)
seed = open("n2.gz", "rb").read()
before = sorted(os.listdir(".")) + sorted(os.listdir("..")) + sorted(os.listdir("fuzz"))
for i in range(60):
    b = bytearray(seed)
    for _ in range(random.randint(1, 4)):
        b[random.randrange(min(len(b), 24))] = random.choice((0, 4, 8, 16, 46, 47, 255, random.randrange(256)))
    open("fuzz/in/x.gz", "wb").write(b)
    rc = subprocess.run([sys.argv[1], "decompress", "-fkN", "x.gz"], cwd="fuzz/in", capture_output=True).returncode
    if rc not in (0, 1, 2):
        print(i, rc, b[:24].hex())
if sorted(os.listdir(".")) + sorted(os.listdir("..")) + sorted(os.listdir("fuzz")) != before:
    print("a file appeared outside")
PY
)"
is "-n stores neither name nor time" "- 0" "$(header none.gz)"

# Links.
ln -s f link
refuses "a symbolic link is not followed" 1 'link: is a symbolic link' "$ACCEL" compress link
ok "-c follows it" sh -c '"$1" compress -c link | gzip -dc | cmp - f' sh "$ACCEL"
cp f target && ln -s target link2
ok "-f follows it" "$ACCEL" compress -f link2
is "  the link is replaced, its target stays" "no yes yes" "$(there link2) $(there link2.gz) $(there target)"
ln target hard
refuses "a file with another hard link is skipped" 2 'hard link' "$ACCEL" compress target
ok "-k does not mind" "$ACCEL" compress -k target
is "  both names are one file" 2 "$(stat -c %h target)"
rm -f target.gz
echo precious >precious
ln -s precious target.gz
refuses "output that is a link is not written through" 1 'exists already' "$ACCEL" compress -k target
ok "-f replaces the link" "$ACCEL" compress -kf target
is "  and leaves what it pointed to" precious "$(cat precious)"
rm -f target.gz
ln -s nowhere target.gz
refuses "a dangling link is in the way too" 1 'exists already' "$ACCEL" compress -k target

# -l, -t, -v, -q.
"$ACCEL" compress -c f >l.gz
n=$(stat -c %s l.gz)
is "-l: sizes" "$n 300000" "$("$ACCEL" compress -l l.gz | awk 'NR == 2 {print $1, $2}')"
cat l.gz l.gz >l2.gz
is "-l: name" l "$("$ACCEL" compress -l l.gz | awk 'NR == 2 {print $4}')"
is "-l of two members is exact" "$((2 * n)) 600000" "$("$ACCEL" decompress -l l2.gz | awk 'NR == 2 {print $1, $2}')"
is "-l: totals" "$((3 * n)) 900000 (totals)" "$("$ACCEL" compress -l l.gz l2.gz | awk 'NR == 4 {print $1, $2, $4}')"
is "-l: JSON says the same" "$((2 * n)) 600000 2" "$("$ACCEL" compress -l --output-format=json l2.gz | python3 -c '
import json, sys
e = json.load(sys.stdin)[0]
print(e["compressed_bytes"], e["uncompressed_bytes"], e["members"])')"
ok "-t" "$ACCEL" compress -t l.gz l2.gz
is "  writes nothing" "no" "$(there l)"
run "$ACCEL" compress -tv l.gz
is "-tv says OK" 1 "$(grep -c OK $err)"
run "$ACCEL" compress -kvf f
is "-v says who did the work, ratio and speed" 1 "$(grep -cE '%.*MB/s.*(software|hardware)' $err)"
is "-q is quiet" 0 "$("$ACCEL" compress -q l.gz 2>&1 | wc -c)"
is "no progress without a terminal" 0 "$("$ACCEL" compress -c f 2>&1 >/dev/null | wc -c)"
ok "-cdf passes on what is not compressed" sh -c '"$1" compress -cdf f | cmp - f' sh "$ACCEL"
ok "--limit lets smaller output pass" "$ACCEL" decompress -c --limit=300000 l.gz
refuses "--limit stops a bomb" 1 'l.gz: ' "$ACCEL" decompress --limit=299999 l.gz
is "  nothing is left of it" no "$(there l)"
ok "--synchronous" "$ACCEL" compress --synchronous -kf f
if have script && script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
	script -qec "'$ACCEL' compress <f" /dev/null >../tty 2>&1 </dev/null
	is "no compressed data to a terminal" 1 "$(grep -c 'terminal' ../tty)"
	script -qec "'$ACCEL' compress -f <f" /dev/null >../tty 2>&1 </dev/null
	is "-f writes it there" 0 "$(grep -c 'will not write' ../tty)"
	printf 'n\n' | script -qec "'$ACCEL' compress -k f" /dev/null >../tty 2>&1
	is "existing output: asks at a terminal" 1 "$(grep -c 'replace it' ../tty)"
	head -c 400000000 /dev/urandom >long
	script -qec "'$ACCEL' compress -9 -c long >/dev/null" /dev/null >../tty 2>&1 </dev/null
	is "a progress bar for long work at a terminal" yes "$(grep -q 'long \[[#.]*\] *[0-9]* %' ../tty && echo yes)"
	script -qec "'$ACCEL' compress -q -9 -c long >/dev/null" /dev/null >../tty 2>&1 </dev/null
	is "  none with -q" 0 "$(wc -c <../tty)"
	rm -f long
else
	skip "behaviour at a terminal" "no script(1), or no pseudo-terminal for it"
fi
no_leftover "no temporary file is left" "$work"
finish
