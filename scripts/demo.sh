#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The main job on a real file with the embedded software accelerator; scripts/demo.sh [FILE]
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh build
[ -x build/accel ] || echo "Building (about a minute)..."
make -s -j"$(nproc)" all

dir=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null; rm -rf "$dir"' EXIT
if [ $# -gt 0 ]; then
	file=$1
else
	# A real file: the headers and documents of this system in one archive, at most 64 MiB of it.
	file=$dir/usr.tar
	tar -cf - /usr/include /usr/share/doc /usr/share/perl /usr/lib/python3 2>/dev/null |
		head -c 67108864 >"$file" || :
fi

say() { printf '\n$ %s\n' "$*"; }
run() { say "$@"; "$@"; }
# What a command says, without the name of our directory; its failure is the demo's.
tidy() {
	"$@" >"$dir/said" 2>&1 || { cat "$dir/said" >&2; exit 1; }
	sed "s|$dir/||g" "$dir/said"
}
same() { cmp "$1" "$file" && echo "$2: the same $(stat -c %s "$file") bytes"; }

PATH=$PWD/build:$PATH
run accel list
printf '\nA file of %s bytes, compressed by an accelerator namespace:\n' "$(stat -c %s "$file")"
say "accel compress -v -o out.gz file"
tidy accel compress -v -o "$dir/out.gz" "$file"

printf '\nChecked by gunzip, and read back by the accelerator:\n'
say "gunzip -c out.gz | cmp - file"
gunzip -c "$dir/out.gz" >"$dir/back"
same "$dir/back" gunzip
say "accel decompress -v -o back out.gz; cmp back file"
rm "$dir/back"
tidy accel decompress -v -o "$dir/back" "$dir/out.gz"
same "$dir/back" "accel decompress"
say "accel digest file; sha256sum file"
tidy accel digest "$file"
tidy sha256sum "$file"

printf '\nErasure coded to 4+2 shards, two of them lost, and recovered:\n'
name=$(basename "$file")
say "accel ec encode -k 4 -m 2 -o shards file; rm two shards; accel ec decode -o back shards/file"
rm "$dir/back"
mkdir "$dir/shards"
tidy accel ec encode -k 4 -m 2 -o "$dir/shards" "$file"
rm "$dir/shards/$name.ec.001" "$dir/shards/$name.ec.004"
tidy accel ec decode -o "$dir/back" "$dir/shards/$name"
same "$dir/back" "accel ec decode"
run accel selftest

printf '\nTwo hosts: a daemon that has accelerators, and a client that reaches them by NVMe/TCP (here on loopback):\n'
say "acceld"
# Not what /etc/acceld.conf may say: the defaults.
acceld -c /dev/null -l 127.0.0.1:0 2>"$dir/daemon" &
daemon=$!
tries=0
until port=$(sed -n 's/.*listening addr=127.0.0.1:\([0-9]*\).*/\1/p' "$dir/daemon") && [ -n "$port" ]; do
	tries=$((tries + 1))
	if [ $tries -gt 100 ] || ! kill -0 "$daemon" 2>/dev/null; then
		cat "$dir/daemon" >&2
		echo "demo.sh: the daemon did not start" >&2
		exit 1
	fi
	sleep 0.1
done
cat "$dir/daemon"
run accel list --discover "127.0.0.1:$port" --transport tcp
dev="tcp://127.0.0.1:$port/nqn.2026-11.local.accel:acceld?nsid=1"
say "accel compress -v -d '$dev' -o out.gz file; gunzip -c out.gz | cmp - file"
rm -f "$dir/back"
tidy accel compress -v -d "$dev" -f -o "$dir/out.gz" "$file"
gunzip -c "$dir/out.gz" >"$dir/back"
same "$dir/back" gunzip
run accel stats -d "$dev" | head -n 12
kill "$daemon"
wait "$daemon" || :
daemon=
printf '\nThe same through the inbox NVMe driver, in a virtual machine: make demo-vm\n'
