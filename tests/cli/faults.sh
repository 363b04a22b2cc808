#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What has gone wrong with other tools: long real input, many members of odd sizes, files that change while they
# are read, sealed files that share a nonce.
# FAULTS_BYTES: how much of the system's own files is compressed (1.1 GB); less if there is not as much.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1
total=${FAULTS_BYTES:-1100000000}
there() { [ -e "$1" ] && echo yes || echo no; }

# A tar file of real files, longer than any buffer, through a pipe.
mkfifo copy
sha256sum <copy >want &
summer=$!
tar -cf - -C / usr/share usr/lib usr/bin 2>/dev/null | head -c "$total" | tee copy | "$ACCEL" compress -1 >tar.gz
is "a tar file of real files is compressed" 0 $?
wait $summer
is "gzip reads it" "$(cat want)" "$(gzip -dc tar.gz | sha256sum)"
is "we read it" "$(cat want)" "$("$ACCEL" decompress -c tar.gz | tee big | sha256sum)"
is "it is long" yes "$([ "$(stat -c %s big)" -ge 10000000 ] && echo yes)"
rm -f tar.gz
truncate -s '<134217728' big && mv big plain

# Members of random sizes: ends of members fall everywhere in our buffers and in those of the reader.
python3 - <<'PY'
import random, zlib
random.seed(11)
with open("plain", "rb") as f, open("members.gz", "wb") as g:
    while True:
        d = f.read(random.choice((random.randint(1, 300), random.randint(1, 70000), random.randint(1, 1000000))))
        if not d:
            break
        c = zlib.compressobj(random.choice((0, 1, 1, 1)), zlib.DEFLATED, 31)
        g.write(c.compress(d) + c.flush())
PY
ok "members of random sizes" "$ACCEL" decompress -fk members.gz
same "  the same" plain members
ok "  through a pipe, in odd pieces" sh -c 'dd if=members.gz bs=4093 status=none | "$1" decompress | cmp - plain' \
	sh "$ACCEL"
is "  -l" "$(stat -c %s plain)" "$("$ACCEL" compress -l members.gz | awk 'NR == 2 {print $2}')"
# The last member's trailer cut off, a hundred megabytes after the first ones ended well.
head -c -3 members.gz >cut.gz
exits "  without the last bytes" 1 "$ACCEL" decompress -fk cut.gz
is "  nothing appears" no "$(there cut)"
rm -f members cut.gz members.gz

# A file that shrinks or grows while it is read: an error, or a valid file; never a crash, a hang or a bad file.
truncate -s '<67108864' plain
changing() {
	cp plain f
	rm -f f.gz
	timeout 60 "$ACCEL" compress -6k f 2>err &
	pid=$!
	tries=0
	while [ -z "$(find . -name '.accel-*' -size +0)" ] && [ $tries -lt 200 ] && kill -0 $pid 2>/dev/null; do
		sleep 0.02
		tries=$((tries + 1))
	done
	eval "$2"
	wait $pid
	rc=$?
	if [ $rc -eq 0 ] && gzip -t f.gz 2>/dev/null || { [ $rc -eq 1 ] && [ ! -e f.gz ]; }; then
		pass "$1"
	else
		fail "$1" "status $rc, output: $(there f.gz)" "$(cat err)"
	fi
	no_leftover "  nothing is left over" .
}
changing "a file that shrinks while it is read" 'truncate -s 1000 f'
changing "a file that grows while it is read" 'cat plain >>f'
changing "a file that is removed while it is read" 'rm f'
rm -f f f.gz plain

# One key, many files: never the same header, hence never the same nonce under the same key.
"$ACCEL" seal --generate-key k
: >empty
i=0
while [ $i -lt 40 ]; do
	"$ACCEL" seal -K k -o s.$i empty || break
	i=$((i + 1))
done
is "40 sealings of nothing under one key" 40 $i
is "  have different headers" 40 "$(for s in s.*; do head -c 96 $s | cksum; done | sort -u | wc -l)"
is "  and different tags" 40 "$(for s in s.*; do tail -c 16 $s | od -An -tx1; done | sort -u | wc -l)"

# Memory that runs out somewhere: a right answer or an error in words, in particular no empty list that looks
# like "no accelerator". Below what the loader itself needs nothing is said about the command.
printf 'some text\n' >f
"$ACCEL" list -o json >all.json
least() {
	kib=2000
	while ! (ulimit -v $kib && "$ACCEL" --version) >/dev/null 2>&1; do kib=$((kib + 250)); done
	echo $kib
}
head -c 3000000 "$ACCEL" >scarce.in
# scarce NAME CHECK COMMAND...: with ever more address space; CHECK looks at out after success
scarce() {
	name=$1 check=$2
	shift 2
	kib=$(least) wrong='' failed=0 done_=0
	end=$((kib + ${span:-30000}))
	while [ "$kib" -lt $end ]; do
		(ulimit -v "$kib" && exec timeout 20 "$@") >out 2>err
		rc=$?
		if [ $rc -eq 0 ]; then
			done_=$((done_ + 1))
			eval "$check" || wrong="$wrong $kib:wrong"
		else
			failed=$((failed + 1))
			[ $rc -le 3 ] && [ -s err ] || wrong="$wrong $kib:$rc"
		fi
		kib=$((kib + step))
	done
	is "$name: no wrong answer" "" "$wrong"
	is "  it failed and it worked" yes "$([ $failed -gt 0 ] && [ $done_ -gt 0 ] && echo yes || echo "$failed $done_")"
}
if ldd "$ACCEL" | grep -q libasan; then
	skip "memory runs out" "a sanitizer needs an address space of its own"
else
	step=150
	scarce "list -o json" 'cmp -s out all.json' "$ACCEL" list -o json
	# A device without memory for its slots is told at once, not waited for as a busy one.
	step=8000 span=240000
	scarce "digest" 'grep -q "^$(sha256sum <scarce.in | cut -d" " -f1)" out' "$ACCEL" digest scarce.in
	scarce "compress" 'gunzip -c out | cmp -s - scarce.in' "$ACCEL" compress -c scarce.in
fi
finish
