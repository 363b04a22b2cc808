#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# All tests: scripts/check.sh [lint|unit|san|tsan|cli|daemon|kernel|vm|fuzz|debug]... (default: all but debug, which are the
# kernel modules on a kernel with debugging options: an hour or more, and as much as 20 minutes to build that kernel).
# The last line is "N passed, N failed, N skipped".
#   FUZZ_SECONDS  how long each fuzz target runs (15)
#   SOAK_SECONDS  how long clients, cuts and restarts torment the daemon (60)
set -u
cd "$(dirname "$0")/.."
scripts/deps.sh build test kernel || exit 1

jobs=$(nproc)
counts=$(mktemp)
echo "0 0 0" >"$counts"
work=$(mktemp -d)
trap 'rm -rf "$work" "$counts"' EXIT
status=0

title() { printf '\n== %s (%s)\n' "$1" "$(date +%H:%M:%S)"; }
suite() { scripts/run-tests.sh "$counts" "$@" || status=1; }
# Programs that do not share anything, as many at once as there are processors.
together() { TEST_JOBS=$jobs suite "$@"; }
bins() { find "$1/tests/unit" "$1/tests/api" -type f -name 'test_*' -perm -u+x 2>/dev/null | sort; }

# A build that fails is a failed test, and the rest still runs.
build() {
	what=$1
	shift
	printf '#!/bin/sh\ncat "%s/log"\n' "$work" >"$work/build"
	if make -j"$jobs" "$@" >"$work/log" 2>&1 && ! grep -q 'warning:' "$work/log"; then
		printf '#!/bin/sh\necho "ok 1 - %s"\n' "$what" >"$work/build-of-$what"
	else
		printf '#!/bin/sh\ntail -n 40 "%s/log"; echo "not ok 1 - %s"; exit 1\n' "$work" "$what" \
			>"$work/build-of-$what"
	fi
	chmod +x "$work/build-of-$what"
	suite "$work/build-of-$what"
}

run_lint() {
	title "Layers, licences, interface and documents"
	suite scripts/check-*.sh
}
run_unit() {
	title "Unit and library tests"
	build library all tests
	# shellcheck disable=SC2046
	together $(bins build)
}
run_san() {
	title "The same under AddressSanitizer and UndefinedBehaviorSanitizer"
	build sanitizers SAN=address,undefined all tests
	# shellcheck disable=SC2046
	ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
		together $(bins build-san)
}
run_tsan() {
	title "Threads under ThreadSanitizer"
	build threads SAN=thread B=build-tsan tests build-tsan/acceld
	# shellcheck disable=SC2046
	together $(bins build-tsan | grep '/api/' | grep -v -e fork -e alloc)
}
run_cli() {
	title "The command"
	together tests/cli/*.sh
}
# The daemon runs with sanitizers; who talks to it is the ordinary build.
run_daemon() {
	title "The daemon"
	build command all build/soak_client
	build daemon SAN=address,undefined B=build-san build-san/acceld
	# shellcheck disable=SC2046
	ACCELD=$PWD/build-san/acceld suite $(find tests/daemon -maxdepth 1 -type f -perm -u+x \( -name '*.py' -o -name '*.sh' \) | sort)
}
run_kernel() {
	title "The kernel modules are built"
	# shellcheck disable=SC2046
	TEST_TIMEOUT=5400 suite $(find tests/kernel -maxdepth 1 -type f -perm -u+x -name 'test_*' | sort)
}

run_vm() {
	title "The inbox NVMe driver, in virtual machines"
	build command all
	TEST_TIMEOUT=3000 together tests/vm/test_*.sh
}
run_debug() {
	title "The kernel modules on the debug kernel"
	build command all
	TEST_TIMEOUT=10800 suite tests/vm/debug_*_checks.sh
}
run_fuzz() {
	title "Fuzz targets, ${FUZZ_SECONDS:-15} s each"
	build fuzzers FUZZ=1 fuzz
	suite scripts/fuzz.sh
}

times=
for part in "${@:-lint unit san tsan cli daemon kernel vm fuzz}"; do
	for p in $part; do
		case $p in
		lint | unit | san | tsan | cli | daemon | kernel | vm | fuzz | debug)
			began=$(date +%s)
			"run_$p"
			times="$times $p $(($(date +%s) - began)) s,"
			;;
		*) echo "check.sh: $p: not one of lint, unit, san, tsan, cli, daemon, kernel, vm, fuzz, debug" >&2; exit 2 ;;
		esac
	done
done

read -r passed failed skipped <"$counts"
echo
echo "Time:${times%,}"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$status" -eq 0 ]
