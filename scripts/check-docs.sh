#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Documents: they parse without a warning, examples compile without a warning and run, every call has a
# doc block, manual pages have no formatting error. Prints TAP.
set -u
cd "$(dirname "$0")/.."
n=0 bad=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check NAME COMMAND...: ok if it succeeds and prints nothing
check() {
	n=$((n + 1))
	name=$1
	shift
	if "$@" >"$work/log" 2>&1 && [ ! -s "$work/log" ]; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$work/log" | head -n 20
		bad=1
	fi
}

example() {
	cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -pedantic -Iinclude -o "$work/$(basename "$1" .c)" "$1" \
		-Lbuild -laccel -Wl,-rpath,"$PWD/build"
}

header() {
	printf '#include <accel/%s>\n' "$1" >"$work/h.c"
	cc -std=c11 -Wall -Wextra -Werror -pedantic -Iinclude -fsyntax-only "$work/h.c" &&
		cc -std=c99 -Wall -Werror -Iinclude -fsyntax-only "$work/h.c" &&
		c++ -std=c++17 -Wall -Wextra -Werror -pedantic -Iinclude -fsyntax-only -x c++ "$work/h.c"
}

# man prints a formatting error of its page on standard error.
page() {
	man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 >/dev/null
}

make -s -j2 all >"$work/make" 2>&1 || { echo "not ok 1 - the library builds"; exit 1; }
for f in Documentation/*.rst; do
	check "$f parses" rst2html5 --strict --syntax-highlight=none "$f" "$work/page.html"
done
for f in include/accel/*.h; do
	check "$(basename "$f") alone, as C99, C11 and C++17" header "$(basename "$f")"
done
for f in Documentation/examples/*.c; do
	check "$(basename "$f") compiles" example "$f"
done
run_compress() { "$work/compress" <README.md 2>/dev/null | gunzip -c | cmp - README.md; }
run_p2p() { : >"$work/copy" && "$work/p2p" README.md "$work/copy" >/dev/null && cmp README.md "$work/copy"; }
run_quiet() { "$@" >/dev/null; }
check "example compress runs, gunzip agrees" run_compress
check "example queue runs" run_quiet "$work/queue" README.md
check "example erasure runs" run_quiet "$work/erasure"
check "example lock runs" run_quiet "$work/lock"
check "example p2p runs" run_p2p
mkdir "$work/man3"
check "manual pages of the calls are made" python3 scripts/mkman3.py include/accel "$work/man3"
for f in "$work"/man3/*.3; do
	grep -q '^\.so ' "$f" || page "$f" | head -n 2
done >"$work/pages" 2>&1
check "manual pages of the calls have no formatting error" cat "$work/pages"
for f in Documentation/man/*.[158]; do
	check "$(basename "$f") has no formatting error" page "$f"
done
n=$((n + 1))
if python3 scripts/mkman3.py --check include/accel >"$work/log"; then
	echo "ok $n - every public call has a doc block"
else
	echo "not ok $n - every public call has a doc block"
	grep '^#' "$work/log"
	bad=1
fi
echo "1..$n"
exit $bad
