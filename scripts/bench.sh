#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Ratios against other tools, against the bare engines, against bare TCP, and of the kernel modules (in guests), side by side
# in one run: scripts/bench.sh [FILE]
# FILE: what is compressed; by default the first 64 MiB of the Linux source archive if Debian's package
# linux-source-6.12 is installed, else of an archive of this system's headers and documents.
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh build bench kernel vm
make -s -j"$(nproc)" all build/tests/bench/bench_overhead build/tests/bench/bench_tcp
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# -gt 0 ]; then
	file=$1
	echo "Input: $file"
elif [ -r /usr/src/linux-source-6.12.tar.xz ]; then
	file=$work/input
	xz -dc /usr/src/linux-source-6.12.tar.xz 2>/dev/null | head -c 67108864 >"$file" || :
	echo "Input: the first $(stat -c %s "$file") bytes of linux-source-6.12.tar"
else
	file=$work/input
	tar -cf - /usr/include /usr/share/doc /usr/share/perl /usr/lib/python3 2>/dev/null |
		head -c 67108864 >"$file" || :
	echo "Input: $(stat -c %s "$file") bytes of this system's headers and documents"
fi
echo
build/tests/bench/bench_overhead
echo
build/tests/bench/bench_tcp build/acceld
echo
python3 tests/bench/bench.py --runs "${RUNS:-7}" "$file"
echo
tests/vm/bench_passthru.sh
echo
tests/vm/bench_p2p.sh
