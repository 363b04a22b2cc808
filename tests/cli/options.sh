#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Usage: every verb's help, wrong options, numbers, devices, exit codes.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1
printf 'some text\n' >f

ok "--version" "$ACCEL" --version
is "  says a version" 1 "$(grep -cE '^accel [0-9]+\.[0-9]+\.[0-9]+$' out)"
ok "--help" "$ACCEL" --help
verbs=$(sed -n '/^Verbs:/,/^$/s/^  \([a-z0-9]*\) .*/\1/p' out)
is "the verbs" "list info compress decompress ec digest checksum seal open lease lock stats selftest bench target crypto p2p" \
	"$(echo $verbs)"
for v in $verbs; do
	ok "$v --help" "$ACCEL" $v --help
	is "  says how to use it" 1 "$(grep -c "^Usage: accel $v" out)"
	run "$ACCEL" help $v
	same "  help $v says the same" out "$work/out"
	refuses "$v --nonsense" 2 "nonsense" "$ACCEL" $v --nonsense
done
for v in "lease list" "lease lock" "lease unlock"; do ok "$v --help" "$ACCEL" $v --help; done
exits "no verb" 2 "$ACCEL"
is "  help on stderr" 1 "$(grep -c ^Usage err)"
refuses "unknown verb" 2 "unknown verb 'frobnicate'" "$ACCEL" frobnicate
refuses "unknown option" 2 "unknown option '--frob'" "$ACCEL" --frob
refuses "unknown verb of a verb" 2 "unknown verb 'frob'" "$ACCEL" lease frob
refuses "unknown letter" 2 'option -Z is unknown' "$ACCEL" compress -Z f
refuses "missing argument of a letter" 2 'option -S needs an argument' "$ACCEL" compress -S
refuses "missing argument of a word" 2 'option --suffix needs an argument' "$ACCEL" compress --suffix
refuses "argument that is not wanted" 2 'keep=yes takes no argument' "$ACCEL" compress --keep=yes f
refuses "wrong format" 2 "'bz2' is none of gzip, zlib, deflate, lz4, zstd" "$ACCEL" compress -F bz2 f
refuses "wrong algorithm" 2 "'md5' is none of sha256, sha512, sha3-256, blake2b" "$ACCEL" digest -a md5 f
refuses "wrong transport" 2 "'pci' is none of soft, pcie, tcp, rdma, loop" "$ACCEL" list --transport pci
ok "a transport that nothing is reached by" "$ACCEL" list --transport rdma
is "  is an empty list" "no accelerator found" "$(cat out)"
for o in '-t compression' '-n accel' '--transport soft' --free; do
	refuses "list of one device with $o" 2 'device does not go with --type' "$ACCEL" list -d soft: $o
done
ok "list of one device" "$ACCEL" list -d soft:
ok "checksum --help" "$ACCEL" checksum --help
is "  shows the line of a checksum" "1 0" "$(grep -c 'CRC32C (FILE) = ' out) $(grep -c SHA256 out)"
ok "digest --help" "$ACCEL" digest --help
is "  shows that of a digest" 1 "$(grep -c 'SHA256 (FILE) = ' out)"
refuses "a node that is no block device" 3 '/dev/null: not a block device' "$ACCEL" info /dev/null
refuses "wrong output format" 2 "'xml' is none of text, json" "$ACCEL" list -o xml

# Numbers (the value of --limit, which must let f's 10 bytes pass or stop them).
"$ACCEL" compress -k f
number() {
	if [ "$2" = bad ]; then
		refuses "number '$1' is refused" 2 "--limit: '$(printf %s "$1" | sed 's/[][\.*^$+]/\\&/g')' is " \
			"$ACCEL" decompress -c "--limit=$1" f.gz
	else
		exits "number '$1' is $2" "$3" "$ACCEL" decompress -qc "--limit=$1" f.gz
	fi
}
number 10 10 0
number 9 9 1
number 0xa 10 0
number 0x9 9 1
number 010 "decimal 10" 0
number 009 "decimal 9" 1
number 1k 1024 0
number 1K 1024 0
number 1Ki 1024 0
number 1KiB 1024 0
number 1kB 1000 0
number 4M 4194304 0
number 1G 1073741824 0
number 18446744073709551615 "2^64 - 1" 0
for n in '' -1 +1 ' 1' '1 ' 4x 4kk 4KiBx 1.5 0x 0x0x10 0xg abc 18446744073709551616 99999999999999999999 \
	18446744073709551615k 17179869184G 0x1ffffffffffffffff 0; do
	number "$n" bad
done

# Devices.
ok "-d soft:" "$ACCEL" info -d soft:
ok "--device=soft:threads=1" "$ACCEL" info --device=soft:threads=1
ok "-D" "$ACCEL" info -D soft:
ok "--software" "$ACCEL" info --software
ok "compress -d soft: FILE is a device" sh -c '"$1" compress -kf -d soft: f && gzip -t f.gz' sh "$ACCEL"
ok "compress -d FILE is gzip's" sh -c '"$1" compress -cd f.gz | cmp - f' sh "$ACCEL"
refuses "--software and --hardware" 2 'exclude each other' "$ACCEL" info --software --hardware
refuses "--hardware with soft:" 3 'is not hardware' "$ACCEL" info --hardware -d soft:
refuses "a device that is not there" 3 '/dev/nvme77n1: ' "$ACCEL" info -d /dev/nvme77n1
refuses "a uuid that is not there" 3 'uuid:00000000-0000-0000-0000-000000000001: ' \
	"$ACCEL" info -d uuid:00000000-0000-0000-0000-000000000001
refuses "an empty name" 2 'empty name' "$ACCEL" info -d ''
for n in soft:threads= soft:threads=x soft:threads=-1 soft:threads=99999999999999999999 soft:bogus=1 \
	soft:nsid=99999 softly: nonsense; do
	run "$ACCEL" info -d "$n"
	case "$rc $(wc -l <err)" in "2 1" | "3 1") pass "device '$n' is refused" ;;
	*) fail "device '$n' is refused" "status $rc" "$(cat err)" ;;
	esac
done
if [ -z "$(ls /dev/nvme* 2>/dev/null)" ]; then
	for v in "info" "stats" "compress -c f" "digest f" "checksum f"; do
		refuses "--hardware without any: $v" 3 'no hardware accelerator' "$ACCEL" ${v%% *} --hardware \
			$(echo "$v" | cut -s -d' ' -f2-)
	done
	ok "list --hardware without any is empty, not an error" "$ACCEL" list --hardware
else
	skip "--hardware without any" "there are NVMe devices"
fi
finish
