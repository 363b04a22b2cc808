#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs every fuzz target for FUZZ_SECONDS (15), as many at once as there are processors. Prints TAP.
set -u
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-15}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
targets=$(find build-fuzz/tests/fuzz -type f -name 'fuzz_*' -perm -u+x | sort)
[ -n "$targets" ] || { echo "not ok 1 - fuzz targets were built"; exit 1; }

# one TARGET: a corpus that is committed seeds it; what it finds new stays in a directory of its own.
cat >"$work/one" <<'ONE'
#!/bin/sh
name=$(basename "$3")
mkdir -p "$1/$name/corpus"
seeds=tests/fuzz/corpus/${name#fuzz_}
[ -d "$seeds" ] || seeds=
"$3" -max_total_time="$2" -timeout=20 -rss_limit_mb=3000 -artifact_prefix="$1/$name/" \
	-print_final_stats=1 "$1/$name/corpus" $seeds >"$1/$name/log" 2>&1
echo $? >"$1/$name/rc"
ONE
chmod +x "$work/one"
printf '%s\n' $targets | xargs -P "$(nproc)" -n 1 "$work/one" "$work" "$seconds"

n=0 bad=0
for t in $targets; do
	name=$(basename "$t")
	n=$((n + 1))
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name/log")
	if [ "$(cat "$work/$name/rc" 2>/dev/null)" = 0 ] && [ "${runs:-0}" -gt 100 ]; then
		echo "ok $n - $name: $runs inputs in $seconds s"
	else
		bad=1
		echo "not ok $n - $name"
		tail -n 40 "$work/$name/log" | sed 's/^/# /'
		for a in "$work/$name"/crash-* "$work/$name"/timeout-* "$work/$name"/oom-* "$work/$name"/leak-*; do
			[ -f "$a" ] && echo "# input: $(base64 -w 0 "$a" | head -c 4000)"
		done
	fi
done
echo "1..$n"
exit $bad
