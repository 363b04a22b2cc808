#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# bench: what it lists is sane and checked; JSON, pictures, wrong usage. No timing is judged.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1
there() { [ -e "$1" ] && echo yes || echo no; }
quick="-s 0.02 --depth 1,3"

ok "every operation" "$ACCEL" bench -s 0.01 --depth 1,4 --size 4k -o json --op compress,compress:gzip,compress:zlib,compress:lz4,compress:zstd,decompress,decompress:gzip,decompress:zlib,decompress:lz4,decompress:zstd,digest,sha512,sha3-256,blake2b,crc32c,crc32,crc64,adler32,ec,ec-decode,xor,seal,open,copy
cp out all.json
ok "  every result was checked and right" python3 - all.json <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
assert d['software'] is True and len(d['points']) == 24 * 2 * 2, len(d['points'])
for p in d['points']:
    assert not p['skipped'], p
    assert p['jobs'] > 0 and p['wrong'] == 0 and p['verified'] == p['depth'] * p['threads'], p
    assert p['executor'] == 'software' and sum(p['executors'].values()) == p['jobs'], p
    assert 0 < p['latency_p50_ns'] <= p['latency_p99_ns'] <= p['latency_p999_ns'] <= p['latency_max_ns'], p
    assert p['seconds'] > 0 and p['cpu'] >= 0, p
    rate = p['jobs'] / p['seconds']
    assert abs(rate - p['jobs_per_second']) <= 1 + rate / 1000, p
    bytes_of_job = p['size'] * (10 if p['op'] in ('ec', 'ec-decode', 'xor') else 1)
    assert abs(p['bytes_per_second'] - rate * bytes_of_job) <= 1 + rate * bytes_of_job / 1000, p
PY
ok "threads" "$ACCEL" bench $quick --op crc32c --threads 1,2 -o json
cp out threads.json
ok "  are all there" python3 -c 'import json
p = json.load(open("threads.json"))["points"]
assert sorted({(x["threads"], x["depth"], x["mode"]) for x in p}) == sorted(
    (t, d, m) for t in (1, 2) for d in (1, 3) for m in ("sync", "async")), p
assert all(x["verified"] == x["threads"] * x["depth"] for x in p), p'
ok "text" "$ACCEL" bench $quick --op digest
is "  has a line for each" 5 "$(wc -l <out)"
is "  and no wrong result" 0 "$(grep -c WRONG out)"
ok "--mode async" "$ACCEL" bench $quick --op digest --mode async
is "  only that" "0 2" "$(grep -c ' sync ' out) $(grep -c ' async ' out)"
sample text 100000
for n in 1 100 99999 100000 300000; do
	ok "--input, jobs of $n bytes" "$ACCEL" bench $quick --op compress,seal,decompress --size $n --input text
done
: >empty
refuses "--input of an empty file" 1 'empty: is empty' "$ACCEL" bench $quick --input empty
refuses "--input that is not there" 1 'none: No such file' "$ACCEL" bench $quick --input none
ok "a size that the device does not take is skipped" "$ACCEL" bench $quick --op compress --size 64M,4k
is "  with a reason" 4 "$(grep -c 'skipped: the device does not take inputs of this size' out)"
ok "a depth beyond the slots is skipped" "$ACCEL" bench -s 0.02 --op crc32c --depth 2,4000
is "  with a reason" 2 "$(grep -c 'skipped: the device has [0-9]* slots' out)"
ok "a device without the operation" "$ACCEL" bench $quick --op seal -d soft:nsid=2
is "  says so" 4 "$(grep -c 'skipped: the device has not got this operation' out)"
ok "32+4" "$ACCEL" bench $quick --op ec,ec-decode --scheme 32+4 --size 64k
is "  runs" 0 "$(grep -c -e skipped -e WRONG out)"

# Leases: while another has all slots there is nothing to measure.
if [ "$("$ACCEL" list -o json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))' 2>/dev/null)" ]; then
	ok "one worker thread" "$ACCEL" bench $quick --op seal -d soft:threads=1
	ok "three worker threads" "$ACCEL" bench $quick --op seal -d soft:threads=3
fi

# Pictures.
if have gnuplot; then
	ok "--plot x.svg" "$ACCEL" bench $quick --op crc32c,compress --plot x.svg
	ok "  is XML with both panels and four curves in each" python3 -c 'import xml.dom.minidom as x
t = x.parse("x.svg").toxml()
for s in ("Throughput", "Processor use", "crc32c 128k async", "compress 128k sync"):
    assert s in t, s'
	ok "--plot x.png, in the C locale" env LC_ALL=C "$ACCEL" bench $quick --op crc32c --plot x.png
	is "  gnuplot has nothing to say" "" "$(cat "$work/err")"
	is "  is a PNG" "89504e470d0a1a0a" "$(head -c 8 x.png | od -An -tx1 | tr -d ' ')"
	cp x.svg before
	refuses_plot=$("$ACCEL" bench $quick --op crc32c --plot x.svg 2>&1 >/dev/null)
	is "a picture that exists is kept" 1 "$(echo "$refuses_plot" | grep -c 'x.svg: exists already')"
	same "  as it was" x.svg before
	ok "  -f replaces it" "$ACCEL" bench $quick --op crc32c --plot x.svg -f
else
	skip "pictures" "no gnuplot"
fi
mkdir nobin && ln -s "$(command -v sh)" nobin/sh
refuses "--plot without gnuplot" 1 'y.svg: gnuplot.* is not there' env PATH="$work/nobin" "$ACCEL" bench --plot y.svg
is "  at once" no "$(there y.svg)"
refuses "--plot of another kind" 2 "does not end with .svg or .png" "$ACCEL" bench --plot y.gif

refuses "unknown operation" 2 "--op: 'frob' is none of" "$ACCEL" bench --op frob
refuses "unknown mode" 2 "--mode: 'x' is none of sync, async" "$ACCEL" bench --mode x
for s in 0 -1 x 1x '' nan 1e9; do exits "--seconds '$s'" 2 "$ACCEL" bench -s "$s"; done
for s in 0 x 4k,0 99999999999; do exits "--size '$s'" 2 "$ACCEL" bench --size "$s"; done
for s in 0 5000 1,x; do exits "--depth '$s'" 2 "$ACCEL" bench --depth "$s"; done
for s in 0 65; do exits "--threads '$s'" 2 "$ACCEL" bench --threads "$s"; done
exits "--scheme 255+1" 2 "$ACCEL" bench --scheme 255+1
exits "an operand" 2 "$ACCEL" bench file
refuses "standard output full" 1 'No space left' sh -c '"$1" bench -s 0.02 --op crc32c --depth 1 >/dev/full' sh "$ACCEL"
finish
