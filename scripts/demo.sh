#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The main job on a real file with the embedded software accelerator; scripts/demo.sh [FILE]
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh build
[ -x build/accel ] && [ -z "${REBUILD-}" ] || echo "Building (about a minute)..."
make -s -j"$(nproc)" all

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
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

PATH=$PWD/build:$PATH
run accel list
echo
echo "A file of $(stat -c %s "$file") bytes, compressed by an accelerator namespace:"
run accel compress -v -k -o "$dir/out.gz" "$file"
echo
echo "Checked by gunzip, and read back by the accelerator:"
say "gunzip -c out.gz | cmp - file"
gunzip -c "$dir/out.gz" | cmp - "$file" && echo "gunzip: the same $(stat -c %s "$file") bytes"
say "accel decompress -v -c out.gz | cmp - file"
accel decompress -v -c "$dir/out.gz" | cmp - "$file" && echo "accel decompress: the same bytes"
say "accel digest file; sha256sum file"
accel digest "$file" | sed "s|$dir/||"
sha256sum "$file" | sed "s|$dir/||"
echo
echo "Erasure coded to 4+2 shards, two of them lost, and recovered:"
say "accel ec encode --scheme 4+2 -o shards file; rm two shards; accel ec decode"
accel ec encode --scheme 4+2 -o "$dir/shards" "$file"
set -- "$dir"/shards/*
rm "$1" "$4"
accel ec decode -o "$dir/back" "$dir/shards" && cmp "$dir/back" "$file" && echo "recovered: the same bytes"
run accel selftest
