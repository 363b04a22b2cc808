#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Large files: sizes beyond 32 bits, and constant memory. LARGE_BYTES: size of the sparse file (5 GiB).
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1
size=${LARGE_BYTES:-5368709120}
limit_kib=98304

if [ "$(df -Pk . | awk 'NR == 2 {print $4}')" -lt 500000 ]; then
	skip "large files" "less than 500 MB free in $work"
	finish
fi

# rss NAME COMMAND...: succeeds with less than 96 MiB resident
rss() {
	name=$1
	shift
	python3 - "$@" <<'PY' >rss.out 2>rss.err
import os, resource, subprocess, sys
p = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(p.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
PY
	read -r status kib <rss.out
	if [ "$status" = 0 ] && [ "$kib" -lt $limit_kib ]; then
		pass "$name ($((kib / 1024)) MiB resident)"
	else
		fail "$name" "status $status, $kib KiB resident" "$(cat rss.err)"
	fi
}

truncate -s "$size" zeros
printf 'end' >>zeros
size=$((size + 3))
rss "compress -1 of $size bytes" "$ACCEL" compress -1 -k zeros
rss "decompress gives them back" sh -c '"$1" decompress -c zeros.gz | cmp - zeros' sh "$ACCEL"
is "-l knows how many they are" "$size" "$("$ACCEL" decompress -l zeros.gz | awk 'NR == 2 {print $2}')"
is "the length field wraps as it should" "$((size % 4294967296))" \
	"$(tail -c 4 zeros.gz | python3 -c 'import sys; print(int.from_bytes(sys.stdin.buffer.read(), "little"))')"
rss "checksum" "$ACCEL" checksum zeros
truncate -s 1G zeros
rss "digest" "$ACCEL" digest zeros
is "sha256sum agrees" "$(sha256sum <zeros)" "$("$ACCEL" digest <zeros)"
rm -f zeros zeros.gz

# Memory where the data does not shrink to nothing, with several jobs in flight.
head -c 100000000 /dev/urandom >noise
rss "compress -6 of noise" "$ACCEL" compress -6 -k noise
rss "decompress of noise" "$ACCEL" decompress -o back noise.gz
same "it is the same" noise back
gzip -1 -c noise >foreign.gz
rss "decompress of one foreign member" "$ACCEL" decompress -t foreign.gz
rss "compress -F zstd" "$ACCEL" compress -F zstd -1 -o noise.zst noise
rss "decompress -F zstd" "$ACCEL" decompress -t noise.zst
rss "compress -F lz4" "$ACCEL" compress -F lz4 -1 -o noise.lz4 noise
rss "decompress -F lz4" "$ACCEL" decompress -t noise.lz4
finish
