#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# seal and open: round trips, keys, an independent judge of the format, every kind of damage.
. "$(dirname "$0")/lib.inc"
judge=$work/judge
if have cc && cc -O1 -o "$judge" tests/cli/seal_judge.c -lcrypto 2>"$work/cc.err"; then
	pass "the judge compiles"
else
	fail "the judge compiles" "$(cat "$work/cc.err")"
fi
cd "$work" || exit 1
there() { [ -e "$1" ] && echo yes || echo no; }

# Keys.
ok "--generate-key" "$ACCEL" seal --generate-key k
is "  mode 0600" 600 "$(stat -c %a k)"
is "  64 hexadecimal digits" 1 "$(grep -cE '^[0-9a-f]{64}$' k)"
refuses "--generate-key does not replace" 1 'k: exists already' "$ACCEL" seal --generate-key k
ok "--generate-key --bits 128" "$ACCEL" seal --generate-key k128 --bits 128
refuses "--bits 192" 2 '128 or 256' "$ACCEL" seal --generate-key k192 --bits 192
"$ACCEL" seal --generate-key other
is "  two keys differ" no "$(cmp -s k other && echo yes || echo no)"
head -c 32 /dev/urandom >raw && chmod 600 raw
printf 'short' >bad && chmod 600 bad
sample text 700000

hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }
for size in 0 1 15 16 17 65535 131071 131072 131073 262144 262145 700000; do
	head -c $size text >f
	ok "seal $size bytes" "$ACCEL" seal -fK k f
	is "  length" $((128 + size + 16 * (size ? (size + 131071) / 131072 : 1))) "$(stat -c %s f.sealed)"
	ok "  open" "$ACCEL" open -fK k -o g f.sealed
	same "  the same" f g
	ok "  judge" sh -c '"$1" key "$(cat k)" <f.sealed >j' sh "$judge"
	same "  the same by the judge" f j
done
for r in 64k 68k 1M; do
	ok "--record $r" "$ACCEL" seal -fK k --record $r -o f.sealed text
	ok "  judge" sh -c '"$1" key "$(cat k)" <f.sealed | cmp - text' sh "$judge"
	ok "  open" sh -c '"$1" open -K k <f.sealed | cmp - text' sh "$ACCEL"
done
for r in 32k 2M 65537 0; do exits "--record $r is refused" 2 "$ACCEL" seal -fK k --record $r text; done
ok "raw key" "$ACCEL" seal -fK raw text
ok "  judge" sh -c '"$1" key "$2" <text.sealed | cmp - text' sh "$judge" "$(hex raw)"
ok "128-bit key" "$ACCEL" seal -fK k128 text
ok "  judge" sh -c '"$1" key "$(cat k128)" <text.sealed | cmp - text' sh "$judge"
ok "  open" "$ACCEL" open -fK k128 -o g text.sealed
same "  the same" text g
refuses "a 256-bit key for a file of 128" 1 'text.sealed: is sealed with a key of 128 bits' \
	"$ACCEL" open -fK k -o g2 text.sealed
"$ACCEL" seal -fK k -o s1 text
"$ACCEL" seal -fK k -o s2 text
is "two sealings of one file differ" no "$(cmp -s s1 s2 && echo yes || echo no)"
tail -c 1000 s1 >t1 && tail -c 1000 s2 >t2
is "  in their last record, too" no "$(cmp -s t1 t2 && echo yes || echo no)"

# Passphrases.
printf 'correct horse\nsecond line\n' >pw && chmod 600 pw
printf 'incorrect horse\n' >pw2 && chmod 600 pw2
: >pw0 && chmod 600 pw0
ok "--passphrase-file" "$ACCEL" seal -f --passphrase-file pw text
ok "  judge" sh -c '"$1" pass "correct horse" <text.sealed | cmp - text' sh "$judge"
ok "  open" "$ACCEL" open -f --passphrase-file pw -o g text.sealed
same "  the same" text g
refuses "  wrong passphrase" 1 'text.sealed: wrong passphrase' "$ACCEL" open --passphrase-file pw2 -o g3 text.sealed
refuses "  a key instead" 1 'text.sealed: is sealed with a passphrase' "$ACCEL" open -K k -o g3 text.sealed
refuses "  empty passphrase" 1 'pw0: the passphrase is empty' "$ACCEL" seal -f --passphrase-file pw0 text
refuses "two sources" 2 'give one of' "$ACCEL" seal -f --passphrase-file pw -K k text
if have setsid; then
	refuses "no key and no terminal" 2 'a key is needed' setsid -w "$ACCEL" seal -f text
else
	skip "no key and no terminal" "no setsid"
fi
if have script && have setsid; then
	# A terminal of its own: the passphrase is asked for twice and not shown.
	(sleep 1; printf 'typed words\r'; sleep 1; printf 'typed words\r'; sleep 3) |
		script -qec "'$ACCEL' seal -fo typed.sealed text" /dev/null >tty.out 2>&1
	ok "typed passphrase: judge" sh -c '"$1" pass "typed words" <typed.sealed | cmp - text' sh "$judge"
	is "  not shown" 0 "$(grep -c 'typed words' tty.out)"
	(sleep 1; printf 'one\r'; sleep 1; printf 'two\r'; sleep 1) |
		script -qec "'$ACCEL' seal -fo typed2.sealed text" /dev/null >tty.out 2>&1
	is "  typed differently: no output" no "$(there typed2.sealed)"
else
	skip "typed passphrase" "no script(1)"
fi
# scrypt parameters from a stranger are bounded: a header that asks for too much is refused at once.
python3 - <<'PY'
def crc(b):
    c = 0xffffffff
    for x in b:
        c ^= x
        for _ in range(8):
            c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    return c ^ 0xffffffff
h = bytearray(open('text.sealed', 'rb').read())
for name, at, value in (('n', 14, 40), ('r', 15, 255), ('p', 16, 255), ('mem', 14, 20), ('kdf', 13, 7), ('alg', 12, 9),
                        ('rsvd', 30, 1), ('record', 23, 255), ('version', 8, 2), ('work', 16, 9), ('power', 14, 16),
                        ('most', 16, 8)):
    b = bytearray(h)
    b[at] = value
    if name == 'mem':
        b[15] = 32
    if name == 'power':
        b[15] = 1
    b[92:96] = crc(bytes(b[:92])).to_bytes(4, 'little')
    open('head.' + name, 'wb').write(b)
PY
for n in n r p mem; do
	refuses "header with too much scrypt ($n)" 1 'scrypt parameters out of range' \
		timeout 5 "$ACCEL" open --passphrase-file pw -o g3 head.$n
done
refuses "header with too much scrypt work" 1 'N \* r \* p is above 2\^22 \(N = 2\^16, r = 8, p = 9\)' \
	timeout 5 "$ACCEL" open --passphrase-file pw -o g3 head.work
refuses "header with an N too great for its r" 1 'N is not below 2\^\(16 \* r\) \(N = 2\^16, r = 1, p = 2\)' \
	timeout 5 "$ACCEL" open --passphrase-file pw -o g3 head.power
refuses "header with the most work that is allowed is tried" 1 'wrong passphrase, or its header was changed' \
	"$ACCEL" open --passphrase-file pw -o g3 head.most
for n in kdf alg rsvd record version; do
	refuses "header with another $n" 1 "head.$n: (is|uses|has) " "$ACCEL" open --passphrase-file pw -o g3 head.$n
done

# Permissions and kinds of key files.
chmod 644 other
run "$ACCEL" seal -fK other -o o.sealed text
is "a key that others may read: warning" 1 "$(grep -c 'other: others than its owner may read it' err)"
is "  and it works" 0 "$rc"
refuses "not a key" 1 'bad: is no key' "$ACCEL" seal -fK bad text
refuses "no key file" 1 'nokey: No such file' "$ACCEL" seal -fK nokey text
refuses "key file too long" 1 'text: is too long' sh -c 'chmod 600 text; "$1" seal -fK text text' sh "$ACCEL"

# Damage. open NAME PATTERN: in.sealed is refused, and nothing appears.
size=700000
"$ACCEL" seal -fK k -o good.sealed text
rec=$((131072 + 16))
opens_not() {
	rm -f in
	refuses "$1" 1 "in.sealed: $2" "$ACCEL" open -K k in.sealed
	is "  nothing appears" no "$(there in)"
	exits "  the judge agrees" 1 sh -c '"$1" key "$(cat k)" <in.sealed >/dev/null' sh "$judge"
}
flip() { python3 -c 'import sys
b = bytearray(open(sys.argv[1], "rb").read())
b[int(sys.argv[2])] ^= int(sys.argv[3])
open("in.sealed", "wb").write(b)' "$1" "$2" "$3"; }
for at in 0 7 8 12 13 20 31 33 63 70 91 92; do
	flip good.sealed $at 1
	opens_not "header byte $at flipped" '.'
done
for at in 96 100 127; do
	flip good.sealed $at 128
	opens_not "MAC byte $at flipped" 'wrong key, or its header was changed'
done
for at in 128 1000 $((127 + rec)) $((112 + rec)) $((128 + rec)) $((128 + 3 * rec + 5)) -1 -16 -17 -20000; do
	flip good.sealed $at 16
	opens_not "byte $at flipped" 'record [0-9]+ .*is not authentic'
done
for cut in 0 1 127; do head -c $cut good.sealed >in.sealed; opens_not "cut to $cut bytes" 'is too short'; done
head -c 128 good.sealed >in.sealed
opens_not "cut to the header" 'is truncated: nothing follows the header'
for cut in 129 143; do head -c $cut good.sealed >in.sealed; opens_not "cut to $cut bytes" 'is truncated'; done
for n in 1 2 5; do
	head -c $((128 + n * rec)) good.sealed >in.sealed
	opens_not "cut behind record $((n - 1))" "is truncated: records after record $((n - 1)) are missing"
	head -c $((128 + n * rec - 1)) good.sealed >in.sealed
	opens_not "cut within record $((n - 1))" "record $((n - 1)) .*truncated"
	head -c $((128 + n * rec + 7)) good.sealed >in.sealed
	opens_not "cut 7 bytes into record $n" "is truncated in record $n"
done
head -c -1 good.sealed >in.sealed
opens_not "without the last byte" 'record 5 .*is not authentic'
cp good.sealed in.sealed && printf x >>in.sealed
opens_not "one byte behind the end" 'record 5 .*is not authentic'
head -c 131072 text >exact && "$ACCEL" seal -fK k -o in.sealed exact
head -c 20 /dev/zero >>in.sealed
opens_not "20 bytes behind a full last record" 'has something behind its last record, record 0'
piece() { tail -c +$((129 + $1 * rec)) good.sealed | head -c $rec; }
{ head -c 128 good.sealed; piece 1; piece 0; tail -c +$((129 + 2 * rec)) good.sealed; } >in.sealed
opens_not "records 0 and 1 exchanged" 'record 0 .*not in its place'
{ head -c 128 good.sealed; piece 0; tail -c +$((129 + 2 * rec)) good.sealed; } >in.sealed
opens_not "record 1 left out" 'record 1 '
{ head -c 128 good.sealed; piece 0; piece 0; tail -c +$((129 + rec)) good.sealed; } >in.sealed
opens_not "record 0 twice" 'record 1 '
"$ACCEL" seal -fK k -o second.sealed text
{ head -c 128 good.sealed; tail -c +129 second.sealed; } >in.sealed
opens_not "the records of another file" 'record 0 '
head -c $((128 + rec)) good.sealed >in.sealed
tail -c +$((129 + rec)) second.sealed >>in.sealed
opens_not "the end of another file" 'record 1 '
cp text in.sealed
opens_not "not sealed at all" 'is not a sealed file'
cp good.sealed in.sealed
refuses "wrong key" 1 'in.sealed: wrong key' "$ACCEL" open -K other -q in.sealed
is "  nothing appears" no "$(there in)"

# What stdout may show before the error: authentic records only, whole and in order.
flip good.sealed $((128 + 3 * rec + 5)) 1
exits "standard output, record 3 damaged" 1 sh -c '"$1" open -K k -c in.sealed >part' sh "$ACCEL"
head -c $((3 * 131072)) text >want
same "  shows the records before it and no more" want part

# Files.
cp text f
"$ACCEL" seal -fK k f
is "the input is kept" yes "$(there f)"
refuses "output exists" 1 'f.sealed: exists already' "$ACCEL" seal -K k f
refuses "output exists, open" 1 'f: exists already' "$ACCEL" open -K k f.sealed
chmod 640 f && "$ACCEL" seal -fK k f && rm f && "$ACCEL" open -K k f.sealed
is "the mode is kept" 640 "$(stat -c %a f)"
same "  the contents, too" f text
mv f.sealed f.x
refuses "no suffix and no -o" 1 'f.x: its name does not end with .sealed' "$ACCEL" open -K k f.x
refuses "no such file" 1 'nothing: No such file' "$ACCEL" seal -K k nothing
cp text f2
ok "several files" "$ACCEL" seal -fK k f f2
rm f f2
ok "  open" "$ACCEL" open -K k f.sealed f2.sealed
same "  the same" f2 text
refuses "several files and -o" 2 'take one file' "$ACCEL" seal -K k -o x f f2
ok "standard input to standard output" sh -c 'cat text | "$1" seal -K k | "$1" open -K k | cmp - text' sh "$ACCEL"
ok "  and by -" sh -c '"$1" seal -K k -o - - <text | "$1" open -K k -o - - | cmp - text' sh "$ACCEL"
refuses "disk full" 1 'No space left' sh -c '"$1" seal -K k -c text >/dev/full' sh "$ACCEL"
sh -c '"$1" open -K k -c good.sealed; echo $? >status' sh "$ACCEL" 2>err | head -c 10 >/dev/null
is "closed pipe: ended by SIGPIPE" 141 "$(cat status)"
is "  without a word" 0 "$(wc -c <err)"
user_accel=$(public_accel)
mkdir -m 755 shut && cp text shut/f && chmod 644 shut/f && chmod 644 k
[ "$(id -u)" -ne 0 ] && chmod 555 shut
if unprivileged "$user_accel" --version >/dev/null 2>&1; then
	refuses "no permission to create" 1 'shut/f.sealed: .*Permission denied' \
		unprivileged "$user_accel" seal -qK k shut/f
	is "  no output" "f" "$(ls shut)"
else
	skip "no permission to create" "an unprivileged user cannot run the command here"
fi

# A long file in bounded memory.
# A sanitizer needs memory of its own.
if have /usr/bin/time && ! ldd "$ACCEL" | grep -q libasan; then
	truncate -s 600M long
	ok "600 MiB" sh -c '/usr/bin/time -f %M -o rss "$1" seal -K k -c long >/dev/null' sh "$ACCEL"
	is "  below 96 MiB resident ($(cat rss) KiB)" yes "$([ "$(tail -n 1 rss)" -lt 98304 ] && echo yes || echo no)"
	ok "with a passphrase" sh -c '/usr/bin/time -f %M -o rss "$1" seal --passphrase-file pw -fo g text' sh "$ACCEL"
	is "  below 96 MiB resident ($(cat rss) KiB)" yes "$([ "$(tail -n 1 rss)" -lt 98304 ] && echo yes || echo no)"
else
	skip "memory" "no time(1), or a build with a sanitizer"
fi
no_leftover "no temporary file is left" "$work"

# At the prompt: what is typed is not shown, and a signal leaves the terminal as it was.
cat >prompt.py <<'PY'
import fcntl, os, signal, sys, termios, time
master, slave = os.openpty()
echo = lambda: bool(termios.tcgetattr(master)[3] & termios.ECHO)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for s in (signal.SIGINT, signal.SIGTERM):
        signal.signal(s, signal.SIG_DFL)
    os.execv(sys.argv[1], [sys.argv[1], "seal", "-o", "asked", "prompt.py"])
for i in range(200):
    if not echo():
        break
    time.sleep(0.05)
hidden = not echo()
os.write(master, b"\x03") if sys.argv[2] == "INT" else os.kill(pid, signal.SIGTERM)
for i in range(200):
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        break
    time.sleep(0.05)
print(hidden, done == pid and os.WTERMSIG(status), echo())
PY
is "Ctrl-C at the prompt: hidden, ended, shown again" "True 2 True" "$(python3 prompt.py "$ACCEL" INT)"
is "SIGTERM at the prompt" "True 15 True" "$(python3 prompt.py "$ACCEL" TERM)"
finish
