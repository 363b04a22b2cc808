#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Installs the Debian packages that are missing: scripts/deps.sh [build|test|bench|vm|kernel]...
# build: to compile and install; test: for make check; bench: for make bench; vm: for make demo-vm; kernel: for kernel modules and
# the debug kernel of tests/vm. Without rights to install, it names what is missing and the command that installs it.
set -eu

build="gcc make pkg-config libc6-dev libisal-dev libdeflate-dev liblz4-dev libzstd-dev libssl-dev zlib1g-dev \
libjson-c-dev liburing-dev python3"
test="clang libclang-rt-dev libcmocka-dev gzip pigz isal libdeflate-tools lz4 zstd openssl tabix dictzip \
time python3-docutils python3-cryptography-vectors man-db groff g++ util-linux gnuplot-nox \
qemu-system-x86 busybox-static cpio kmod xz-utils nvme-cli fio tshark parted e2fsprogs xfsprogs dmsetup cryptsetup-bin iproute2 udev multipath-tools procps"
vm="qemu-system-x86 busybox-static cpio kmod xz-utils zstd nvme-cli iproute2 procps util-linux gzip"
# A name with ? is installed where the archive has it: headers of a newer kernel than the release's own.
kernel="gcc make bc flex bison libelf-dev libssl-dev xz-utils zstd cpio kmod sparse dwarves dkms openssl \
python3 linux-headers-amd64 linux-headers-6.12-amd64?"
bench="isal libdeflate-tools pigz zstd lz4 gzip python3 gnuplot-nox"

want=
for set in "${@:-build}"; do
	case $set in
	build) want="$want $build" ;;
	test) want="$want $test" ;;
	bench) want="$want $bench" ;;
	kernel) want="$want $kernel" ;;
	vm) want="$want $vm" ;;
	*) echo "deps.sh: $set: not one of build, test, bench, vm, kernel" >&2; exit 2 ;;
	esac
done

known() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

missing='' maybe=''
for p in $want; do
	name=${p%"?"}
	# db:Status is empty for packages that dpkg has never seen.
	s=$(dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -x installed | head -n 1) || :
	[ "$s" != installed ] || continue
	if [ "$p" = "$name" ]; then missing="$missing $p"; else maybe="$maybe $name"; fi
done
# Before the first apt-get update nothing is known.
for p in $maybe; do
	if known "$p" || ! known gcc; then missing="$missing $p"; fi
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
install_missing() {
	$run apt-get -q update || return 1
	names=
	for p in $missing; do
		case " $maybe " in *" $p "*) known "$p" || continue ;; esac
		names="$names $p"
	done
	# shellcheck disable=SC2086 # lists of words
	[ -z "$names" ] || $run env DEBIAN_FRONTEND=noninteractive apt-get -qy --no-install-recommends install $names
}
if ! install_missing >"$log" 2>&1; then
	tail -n 15 "$log" >&2
	echo "deps.sh: apt-get failed; see above" >&2
	exit 1
fi
