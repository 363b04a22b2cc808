#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The configuration of acceld: what is taken, and that every error is told with file, line and the way out.
set -u
cd "$(dirname "$0")/../.." || exit 1
ACCELD=${ACCELD:-build/acceld}
[ -x "$ACCELD" ] || { echo "not ok 1 - $ACCELD is not built"; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
f=$work/conf

# Most checks are the end of a pipe, and so in a shell of their own: results are numbered at the end.
pass() { printf 'ok - %s\n' "$1" >>"$work/tap"; }
fail() {
	printf 'not ok - %s\n' "$1" >>"$work/tap"
	sed 's/^/# /' "$work/err" | head -n 12 >>"$work/tap"
}

# check: the file is on stdin; status in $rc, messages in $work/err
check() {
	cat >"$f"
	"$ACCELD" -t -c "$f" >"$work/out" 2>"$work/err"
	rc=$?
}

# good NAME: the file on stdin is taken without a word
good() {
	check
	if [ $rc -eq 0 ] && [ ! -s "$work/err" ]; then pass "$1"; else fail "$1 (status $rc)"; fi
}

# warned NAME LINE TEXT: it is taken, with this one warning
warned() {
	check
	if [ $rc -eq 0 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$f:$2: warning: $3" "$work/err"; then
		pass "$1"
	else
		fail "$1 (status $rc)"
	fi
}

# good_but LINE TEXT: it is taken, with this one message
good_but() {
	check
	if [ $rc -eq 0 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$f:$1: $2" "$work/err"; then
		pass "$2"
	else
		fail "$2 (status $rc)"
	fi
}

# bad NAME LINE TEXT: it is refused with this message and no other
bad() {
	check
	if [ $rc -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$f:$2: $3" "$work/err"; then
		pass "$1"
	else
		fail "$1 (status $rc)"
	fi
}

# daemon LINE TEXT: a line of [daemon] that is refused
daemon() { printf '[daemon]\n%s\n' "$1" | bad "$1" 2 "$2"; }
# takes LINE: one that is taken
takes() { printf '[daemon]\n%s\n' "$1" | good "$1"; }
sub=nqn.2026-11.org.example:a
# subsys LINE TEXT
subsys() { printf '[subsystem %s]\nallow_any_host = yes\n%s\n' $sub "$1" | bad "$1" 3 "$2"; }
# ns LINES LINE TEXT: of a namespace; LINE counts from its section
ns() {
	printf '[subsystem %s]\nallow_any_host = yes\n[namespace 1]\n%b\n' $sub "$1" |
		bad "$(printf '%b' "$1" | tr '\n' ',')" $((3 + $2)) "$3"
}
chars() { head -c "$1" /dev/zero | tr '\0' x; }

# ---- What is taken ----

good "an empty file" </dev/null
good "the example" <dist/acceld.conf
printf '# a comment\n; another\n\n  [daemon]  \r\n\tmax_conns=7\n' | good "comments, blanks, carriage returns"
takes "listen = 127.0.0.1:0"
takes "listen = 127.0.0.1"
takes "listen = [::1]:4421"
takes "max_conns = 0x10"
takes "memory = 64m"
takes "memory = 67108864"
takes "poll_us = 10000"
takes "congestion = cubic"
takes "log_level = debug"
takes "header_digest = no"
for type in compression erasure cipher digest checksum data all; do
	printf '[namespace]\ntype = %s\nthreads = 64\nslots = 4096\n' $type
done | awk -v nqn=$sub 'BEGIN { print "[subsystem " nqn "]\nallow_any_host = yes" }
	/^\[namespace/ { $0 = "[namespace " ++n "]" } 1' | good "namespaces of each function"
printf '[subsystem %s]\nallow_any_host = yes\n[namespace 9]\ntype = ram\nsize = 4k\nblock_size = 4096\n' $sub |
	good "a namespace of memory"
{
	printf '[subsystem %s%s]\n' $sub "$(chars $((223 - ${#sub})))"
	printf 'serial = %s\nmodel = %s\n' "$(chars 20)" "$(chars 40)"
	printf 'host = %s%s\n' $sub "$(chars $((223 - ${#sub})))"
	printf '[namespace 1]\ntype = all\nname = %s\n' "$(chars 48)"
} | good "the longest names"
printf '[daemon]\nlisten = 0.0.0.0:4420\n[subsystem %s]\nhost = nqn.2026-11.org.example:h\n' $sub |
	good "a network with hosts named"

# ---- What is taken with a warning ----

printf '[daemon]\nlisten = 0.0.0.0:4420\n[subsystem %s]\nallow_any_host = yes\n' $sub |
	warned "a network, and any host" 3 "[subsystem $sub]: any host of the network may use it"
printf '[subsystem %s]\n' $sub | warned "nobody may connect" 1 "[subsystem $sub]: no host may use it: add host = NQN"

printf '[daemon]\nslot_memory = 83M\n' |
	good_but 1 "warning: slot_memory is too small for a slot of each accelerator: 84M would be enough"
printf '[daemon]\nslot_memory = 84M\n' | good "slots of each accelerator"
printf '[daemon]\nslot_memory = 1M\n[subsystem %s]\nallow_any_host = yes\n[namespace 1]\ntype = ram\nsize = 1M\n' $sub |
	good "little memory for slots, and no accelerator"
printf '[daemon]\nslot_memory = 11M\n' |
	bad "no memory for a slot" 1 "slot_memory is too small for a single slot: it needs 12M, and 84M for"

# ---- What is refused: numbers ----

daemon "max_conns = 0" "max_conns: 0 is not within 1 to 65535"
daemon "max_conns = 65536" "max_conns: 65536 is not within 1 to 65535"
daemon "max_conns = 4k" 'max_conns: "4k" is not a number within 1 to 65535'
daemon "max_conns = -1" 'max_conns: "-1" is not a number within 1 to 65535'
daemon "max_conns = 010x" 'max_conns: "010x" is not a number within 1 to 65535'
daemon "max_conns = 18446744073709551617" "max_conns: 18446744073709551617 is not within 1 to 65535"
daemon "max_conns =" "max_conns: has no value"
daemon "queue_depth = 1025" "queue_depth: 1025 is not within 16 to 1024"
daemon "io_queues = 65" "io_queues: 65 is not within 2 to 64"
daemon "reactors = 65" "reactors: 65 is not within 0 to 64"
daemon "memory = 8Q" 'memory: "8Q" is not a size (65536, 64k, 8M) within 16M to 1T'
daemon "memory = 64MB" 'memory: "64MB" is not a size (65536, 64k, 8M) within 16M to 1T'
daemon "memory = 17179869184G" "memory: 17179869184G is not within 16M to 1T"
daemon "memory = 15M" "memory: 15M is not within 16M to 1T"
printf '[daemon]\nmemory = 31M\n' | bad "memory = 31M" 1 "memory is less than four times max_transfer, 8M"
daemon "in_capsule = 5000" "in_capsule: is not a multiple of 16, such as 16k"
daemon "in_capsule = 65537" "in_capsule: 65537 is not within 4k to 64k"
daemon "max_transfer = 3M" "max_transfer: is not a power of two, such as 1M or 8M"
daemon "max_transfer = 64M" "max_transfer: 64M is not within 64k to 32M"

# ---- Words ----

daemon "header_digest = true" "header_digest: is neither yes nor no"
daemon "log_level = loud" "log_level: is none of error, warning, info, debug"
daemon "congestion = 0123456789abcdef" "congestion: has 16 characters: at most 15 fit"
daemon "que_depth = 5" 'unknown key "que_depth" in [daemon]: did you mean queue_depth?'
daemon "max_conns = 5 # five" 'max_conns: "5 # five" is not a number within 1 to 65535 (there are no comments behind'
daemon "header_digest = # no" "header_digest: is neither yes nor no (there are no comments behind values"
daemon "colour = red" 'unknown key "colour" in [daemon]: acceld.conf(5) has all'
daemon "serial = 1" "serial is a key of [subsystem], not of [daemon]"
daemon "nonsense" 'neither a [section] nor "key = value": "nonsense"'
daemon "= 5" 'neither a [section] nor "key = value": "= 5"'
daemon "$(printf 'a\033[31mb')" 'neither a [section] nor "key = value": "a?[31mb"'
printf '[daemon]\nmax_conns = 5\nmax_conns = 6\n' |
	bad "a key twice" 3 "max_conns is in line 2 already: leave one of the two out"
printf 'max_conns = 5\n' | bad "a key in no section" 1 '"max_conns" is in no section: put it behind [daemon]'
printf '[damon]\nmax_conns = 5\n' | bad "an unknown section" 1 "unknown section [damon]: did you mean daemon?"
printf '[pool]\nx = 5\n' | bad "another" 1 "unknown section [pool]: there are daemon, subsystem and namespace"
printf '[daemon\n' | bad "a section without an end" 1 "a section begins with [ and ends with ]"
printf '[daemon]\n[daemon]\n' | bad "[daemon] twice" 2 "[daemon] is in line 1 already: put its keys there"
printf '[daemon x]\n' | bad "[daemon x]" 1 "[daemon] has no name: write [daemon]"

# ---- Listeners ----

daemon "listen = localhost:4420" "listen = localhost:4420: it is no address (names are not looked up)"
daemon "listen = ::1:4420" "listen = ::1:4420: an IPv6 address is written in brackets: [::1]:4420"
daemon "listen = [::1:4420" "listen = [::1:4420: the bracket is not closed: write [::1]:4420"
daemon "listen = [::1]4420" "listen = [::1]4420: the port is not a number up to 65535"
daemon "listen = 127.0.0.1:65536" "listen = 127.0.0.1:65536: the port is not a number up to 65535"
daemon "listen = 127.0.0.1:" "listen = 127.0.0.1:: the port is not a number up to 65535"
daemon "listen = 999.0.0.1:1" "listen = 999.0.0.1:1: it is no address"
printf '[daemon]\nlisten = 127.0.0.1\nlisten = 127.0.0.1:4420\n' |
	bad "a listener twice" 3 "listen = 127.0.0.1:4420: it is there already"

# ---- Subsystems ----

subsys "serial = $(chars 21)" "serial: has 21 characters: at most 20 fit"
subsys "model = $(chars 41)" "model: has 41 characters: at most 40 fit"
subsys "$(printf 'serial = a\037b')" "serial: has byte 1Fh at character 2: only 20h to 7Eh can be in it"
subsys "$(printf 'model = a\177b')" "model: has byte 7Fh at character 2: only 20h to 7Eh can be in it"
subsys "$(printf 'model = ab\303\244')" "model: has byte C3h at character 3: only 20h to 7Eh can be in it"
subsys "host = $sub$(chars $((224 - ${#sub})))" "host = $sub"
subsys "host = nqn" "host = nqn: is not of the form nqn.2026-11.org.example:name"
subsys "host = $sub b" "host = $sub b: has a space in it"
printf '[subsystem %s]\nhost = %s\nhost = %s\n' $sub $sub $sub |
	bad "a host twice" 3 "host = $sub: is in this subsystem already: leave it out"
printf '[subsystem]\n' | bad "a subsystem without a name" 1 "[subsystem] has no name: write [subsystem NQN]"
printf '[subsystem foo]\n' | bad "a name that is no NQN" 1 "[subsystem foo]: the NQN is not of the form nqn.2026-11"
printf '[subsystem %s%s]\n' $sub "$(chars $((224 - ${#sub})))" |
	bad "an NQN of 224 characters" 1 "[subsystem $sub$(chars $((60 - ${#sub})))]: the NQN has 224 characters: at most 223 fit"
printf '[subsystem %s]\nallow_any_host = yes\n[subsystem %s]\n' $sub $sub |
	bad "a subsystem twice" 3 "[subsystem $sub] is in line 1 already: every subsystem needs an NQN of its own"
printf '[subsystem nqn.2014-08.org.nvmexpress.discovery]\n' |
	bad "the discovery subsystem" 1 "[subsystem nqn.2014-08.org.nvmexpress.discovery]: the discovery subsystem is"

# ---- Namespaces ----

printf '[namespace 1]\ntype = all\n' | bad "a namespace of no subsystem" 1 "[namespace 1] belongs to no subsystem"
for n in 0 1025 4294967295 18446744073709551617; do
	printf '[subsystem %s]\nallow_any_host = yes\n[namespace %s]\ntype = all\n' $sub $n |
		bad "namespace $n" 3 "[namespace $n]: the number $n is not within 1 to 1024"
done
printf '[subsystem %s]\nallow_any_host = yes\n[namespace]\ntype = all\n' $sub |
	bad "a namespace without a number" 3 "[namespace] has no number: write [namespace N]"
printf '[subsystem %s]\nallow_any_host = yes\n[namespace 1]\ntype = all\n[namespace 1]\ntype = all\n' $sub |
	bad "a namespace twice" 5 "[namespace 1] is in this subsystem already: give it another number"
ns "threads = 2" 0 "[namespace 1] has no type: add type = compression"
ns "type = compresion" 1 'type: "compresion" is unknown: did you mean compression?'
ns "type = zzzzzz" 1 "type: \"zzzzzz\" is none of compression, erasure, cipher, digest, checksum, data, all, ram"
ns "type = ram" 0 "[namespace 1]: type = ram needs a size: add size = 64M"
ns "type = all\nsize = 4M" 0 "[namespace 1]: size is for type = ram; an accelerator has none"
ns "type = ram\nsize = 4M\nslots = 2" 0 "[namespace 1]: threads and slots are an accelerator's; type = ram has none"
ns "type = ram\nsize = 5000" 0 "[namespace 1]: size is not a multiple of block_size, 512"
ns "type = ram\nsize = 99999999999T" 2 "size: 99999999999T is not within 4k to 16T"
ns "type = all\nblock_size = 1024" 2 "block_size: is neither 512 nor 4096"
ns "type = all\nslots = 0" 2 "slots: 0 is not within 1 to 4096"
ns "type = all\nthreads = 65" 2 "threads: 65 is not within 1 to 64"
ns "type = all\nuuid = 12" 2 "uuid: is not a UUID such as"
ns "type = all\nuuid = 00000000-0000-0000-0000-000000000000" 2 "uuid: is all zero"
ns "type = all\nname = $(chars 49)" 2 "name: has 49 characters: at most 48 fit"
u=6e1d0c52-9b3a-8f71-8c25-40e711d8935a
for n in 2 1; do printf '[namespace %s]\ntype = all\nuuid = %s\n' $n $u; done |
	sed "1i[subsystem $sub]\\nallow_any_host = yes" |
	bad "a uuid twice" 6 "the namespace has the uuid of the one in line 3: every namespace needs its own"

# ---- The command line ----

"$ACCELD" -t -c /dev/null -l 0.0.0.0:4420 >"$work/out" 2>"$work/err"
rc=$?
if [ $rc -eq 0 ] && grep -qF "warning: 0.0.0.0:4420: any host of the network may use subsystem nqn." "$work/err"; then
	pass "a network on the command line"
else
	fail "a network on the command line (status $rc)"
fi
"$ACCELD" -t -c /dev/null -l localhost:1 >"$work/out" 2>"$work/err"
rc=$?
if [ $rc -eq 2 ] && grep -qF "localhost:1: it is no address (names are not looked up)" "$work/err"; then
	pass "a name on the command line"
else
	fail "a name on the command line (status $rc)"
fi

# ---- Files ----

printf 'a\0b\n' | bad "a zero byte" 1 "a zero byte: this is no text file"
{ printf '[daemon]\nlisten = '; chars 5000; echo; } | bad "a long line" 2 "a line has at most 4096 bytes"
printf '[daemon]\nqueue_depth = 5\nfoo = 1\nmax_conns = x\n[subsystem a]\nserial = %s\n[namespace 0]\ntype = x\n' \
	"$(chars 99)" >"$work/all"
check <"$work/all"
if [ $rc -eq 2 ] && [ "$(grep -c "^$f:[23456780]*: " "$work/err")" -eq 7 ] && [ "$(wc -l <"$work/err")" -eq 7 ]; then
	pass "all errors of a file"
else
	fail "all errors of a file (status $rc)"
fi
# Namespaces of a subsystem that is wrong, or whose section is, are no other subsystem's, and judged all the same.
for s in "[subsystem foo]" "[subsystm $sub:b]" "[subsystem $sub:b"; do
	printf '[subsystem %s]\nallow_any_host = yes\n[namespace 1]\ntype = all\n%s\n[namespace 1]\nthreads = 2\n[namespace 2]
type = zzzzzz\n' $sub "$s" >"$work/all"
	check <"$work/all"
	if [ $rc -eq 2 ] && [ "$(sed "s|^$f:\([0-9]*\): .*|\1|" "$work/err" | sort | tr '\n' ' ')" = "5 6 9 " ]; then
		pass "all errors within $s"
	else
		fail "all errors within $s (status $rc)"
	fi
done
printf '[daemon]\n' >"$f"
said=$("$ACCELD" -t -c "$f" 2>"$work/err")
if [ "$said" = "acceld: the configuration is good: $f" ]; then pass "which file is good"; else fail "which file ($said)"; fi
"$ACCELD" -t -c "$work/none" >"$work/out" 2>"$work/err"
rc=$?
if [ $rc -eq 2 ] && grep -qF "$work/none: cannot be opened: No such file or directory" "$work/err"; then
	pass "no such file"
else
	fail "no such file (status $rc)"
fi
"$ACCELD" -t -c "$work" >"$work/out" 2>"$work/err"
rc=$?
if [ $rc -eq 2 ] && grep -qF "$work: cannot be read: Is a directory" "$work/err"; then
	pass "a directory"
else
	fail "a directory (status $rc)"
fi
mkfifo "$work/pipe"
timeout 10 "$ACCELD" -t -c "$work/pipe" >"$work/out" 2>"$work/err"
rc=$?
if [ $rc -eq 2 ] && grep -qF "$work/pipe: is a pipe: write the configuration to a file" "$work/err"; then
	pass "a pipe that nobody writes to is not waited for"
else
	fail "a pipe that nobody writes to is not waited for (status $rc)"
fi
printf '[daemon]\n' >"$work/huge"
truncate -s 8G "$work/huge"
timeout 10 "$ACCELD" -t -c "$work/huge" >"$work/out" 2>"$work/err"
rc=$?
if [ $rc -eq 2 ] && [ "$(cat "$work/err")" = "$work/huge:2: a zero byte: this is no text file" ]; then
	pass "8 GiB of zeros"
else
	fail "8 GiB of zeros (status $rc)"
fi
{ chars 5000; printf '\0'; chars 5000; echo; } |
	bad "a zero byte in a long line" 1 "a zero byte: this is no text file"
i=0
while [ $i -lt 50 ]; do
	head -c $((i * 37)) /dev/urandom >"$work/noise"
	check <"$work/noise"
	[ $rc -le 2 ] || break
	i=$((i + 1))
done
if [ $i -eq 50 ] && ! grep -q "Sanitizer" "$work/err"; then pass "noise"; else fail "noise (status $rc)"; fi

awk '/^(not )?ok - / { sub(/ok/, "ok " ++n) } 1; END { print "1.." n }' "$work/tap"
! grep -q '^not ok' "$work/tap"
