#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The public headers, the version script and the symbols of the built library must name the same functions:
# scripts/check-abi.sh [libaccel.so]. Also compiles each header alone as C11 and as C++17. Prints TAP.
set -u
cd "$(dirname "$0")/.." || exit 1
lib=${1:-build/libaccel.so}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
bad=0
[ $# -gt 0 ] || make -s -j2 build/libaccel.so >/dev/null 2>&1

fail() {
	echo "check-abi: $*" >&2
	bad=1
}

# Declarations may run over several lines: join the text, then take the name before the first parenthesis.
cat include/accel/*.h | tr '\n\t' '  ' | grep -oE 'ACCEL_API [^;{]*;' |
	sed -E 's/^ACCEL_API [^(]*[ *](accel_[a-z0-9_]+) *\(.*$/\1/' | sort >"$tmp/headers"
sed -nE 's/^[[:space:]]*(accel_[a-z0-9_]+);.*$/\1/p' lib/libaccel.map | sort >"$tmp/map"

[ -s "$tmp/headers" ] || fail "found no declaration in include/accel"
uniq -d "$tmp/headers" | while read -r s; do echo "check-abi: declared twice: $s" >&2; done
grep -q 'accel_[a-z0-9_]*[*?]' lib/libaccel.map && fail "the map has a wildcard"
for s in $(comm -23 "$tmp/headers" "$tmp/map"); do fail "declared, but not in lib/libaccel.map: $s"; done
for s in $(comm -13 "$tmp/headers" "$tmp/map"); do fail "in lib/libaccel.map, but not declared: $s"; done

if [ -e "$lib" ]; then
	nm -D --defined-only "$lib" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort >"$tmp/symbols"
	for s in $(comm -23 "$tmp/map" "$tmp/symbols"); do fail "in the map, but not exported by $lib: $s"; done
	for s in $(comm -13 "$tmp/map" "$tmp/symbols"); do fail "exported by $lib, but not in the map: $s"; done
	soname=$(objdump -p "$lib" | awk '$1 == "SONAME" { print $2 }')
	[ "$soname" = libaccel.so.0 ] || fail "soname is '$soname'"
else
	fail "$lib is not there; build it first"
fi

for h in include/accel/*.h; do
	name=accel/$(basename "$h")
	echo "#include <$name>" >"$tmp/h.c"
	cp "$tmp/h.c" "$tmp/h.cc"
	"${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only "$tmp/h.c" ||
		fail "$name is not C11 on its own"
	if command -v "${CXX:-c++}" >/dev/null; then
		"${CXX:-c++}" -std=c++17 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only "$tmp/h.cc" ||
			fail "$name is not C++17 on its own"
	else
		fail "no C++ compiler to try $name with"
	fi
	grep -q 'linux/' "$h" && fail "$name depends on a kernel header"
done

not=
[ "$bad" -eq 0 ] || not="not "
echo "${not}ok 1 - headers, map and library agree on $(wc -l <"$tmp/map") functions"
echo "1..1"
exit "$bad"
