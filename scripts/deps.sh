#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Installs the Debian packages that are missing: scripts/deps.sh [build|test|bench|vm]...
# build: to compile and install; test: for make check; bench: for make bench; vm: for make demo-vm. Without rights to install, it
# names what is missing and the command that installs it.
set -eu

build="gcc make pkg-config libc6-dev libisal-dev libdeflate-dev liblz4-dev libzstd-dev libssl-dev zlib1g-dev \
libjson-c-dev liburing-dev python3"
test="clang libclang-rt-dev libcmocka-dev gzip pigz isal libdeflate-tools lz4 zstd openssl tabix dictzip \
time python3-docutils python3-cryptography-vectors man-db groff g++ util-linux gnuplot-nox \
qemu-system-x86 busybox-static cpio kmod xz-utils nvme-cli fio tshark parted e2fsprogs iproute2 udev multipath-tools procps"
vm="qemu-system-x86 busybox-static cpio kmod xz-utils zstd nvme-cli iproute2 procps util-linux gzip"
bench="isal libdeflate-tools pigz zstd lz4 gzip python3 gnuplot-nox"

want=
for set in "${@:-build}"; do
	case $set in
	build) want="$want $build" ;;
	test) want="$want $test" ;;
	bench) want="$want $bench" ;;
	vm) want="$want $vm" ;;
	*) echo "deps.sh: $set: not one of build, test, bench, vm" >&2; exit 2 ;;
	esac
done

missing=
for p in $want; do
	# db:Status is empty for packages that dpkg has never seen.
	s=$(dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -x installed | head -n 1) || :
	[ "$s" = installed ] || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "deps.sh: not a Debian system; install what corresponds to:$missing" >&2
	exit 1
fi
run=
if [ "$(id -u)" -ne 0 ]; then
	if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		run="sudo"
	else
		echo "deps.sh: missing packages; install them as root: apt-get install$missing" >&2
		exit 1
	fi
fi
echo "Installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # lists of words
if ! { $run apt-get -q update && $run env DEBIAN_FRONTEND=noninteractive \
	apt-get -qy --no-install-recommends install $missing; } >"$log" 2>&1; then
	tail -n 15 "$log" >&2
	echo "deps.sh: apt-get failed; see above" >&2
	exit 1
fi
