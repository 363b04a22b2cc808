#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Debian kernels for guests, in a cache outside the tree, not installed: kernels.sh 6.12|6.1|debug
# Prints the directory of the newest package of that line, which holds vmlinuz, release (uname -r) and
# lib/modules/RELEASE; unpacks it there first if need be. Works for every user, several at once. Status 77
# with a reason on stderr if this Debian has no kernel of that line; 1 if it cannot be fetched. debug: see debug_kernel.sh.
#   ACCEL_VM_CACHE  the cache (XDG_CACHE_HOME/nvme-accel or ~/.cache/nvme-accel)
set -eu
line=${1:-}
here=$(dirname "$0")
case $line in
6.1 | 6.12) ;;
debug) exec "$here/debug_kernel.sh" ;;
*) echo "usage: kernels.sh 6.12|6.1|debug" >&2; exit 2 ;;
esac
. "$here/archive.inc"

kernels=$cache/kernels
mkdir -p "$kernels"
# One at a time: the second finds what the first has fetched.
exec 9>"$cache/kernels.lock"
flock -w 900 9 || die "another kernels.sh holds $cache/kernels.lock for 15 minutes"

# The package of the line's newest kernel, by what the meta packages of this Debian depend on.
find_package() {
	apt_cache depends "linux-image-$line-amd64" linux-image-amd64 2>/dev/null |
		sed -n "s/^ *Depends: *\(linux-image-$line\.[0-9].*\)/\1/p" | head -n 1
}

newest_cached() {
	for d in "$kernels/linux-image-$line".[0-9]*; do
		[ -e "$d/release" ] && printf '%s\n' "$d"
	done | sort -V | tail -n 1
}

# unpack DEB DIR: without the drivers of hardware that no guest has, which are the larger part of it
unpack() {
	mkdir "$2"
	dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --no-same-owner --exclude='*/drivers/gpu' --exclude='*/drivers/media' \
		--exclude='*/sound' --exclude='*/wireless' --exclude='*/drivers/staging' --exclude='*/usr/share' \
		--exclude='*/drivers/iio' --exclude='*/net/ethernet/[a-hj-uw-z]*' --exclude='*/drivers/input'
	[ -d "$2/lib/modules" ] || { mkdir -p "$2/lib"; mv "$2/usr/lib/modules" "$2/lib/modules"; }
	release=$(ls "$2/lib/modules")
	depmod -b "$2" "$release"
	mv "$2/boot/vmlinuz-$release" "$2/vmlinuz"
	rm -rf "$2/boot" "$2/usr"
	echo "$release" >"$2/release"
}

fetch() {
	package=$(find_package)
	[ -n "$package" ] || return 77
	version=$(apt_cache show --no-all-versions "$package" | sed -n 's/^Version: //p')
	dir=$kernels/${package}_$version
	if [ ! -e "$dir/release" ]; then
		tmp=$(mktemp -d "$kernels/.tmp.XXXXXX")
		trap 'rm -rf "$tmp"' EXIT
		trap 'exit 1' INT TERM
		echo "kernels.sh: fetching $package $version" >&2
		(cd "$tmp" && apt_get download "$package=$version" >log 2>&1) || return 1
		unpack "$tmp"/*.deb "$tmp/tree" >&2
		rm -rf "$dir"
		mv "$tmp/tree" "$dir"
	fi
	printf '%s\n' "$dir"
}

rc=0
fetch || rc=$?
[ "$rc" -ne 0 ] || exit 0
# The system's lists are old or missing: again with lists of our own.
own_lists && { rc=0; fetch || rc=$?; }
[ "$rc" -ne 0 ] || exit 0
dir=$(newest_cached)
if [ -n "$dir" ]; then
	echo "kernels.sh: the archive cannot be asked for a newer kernel; taking $dir" >&2
	printf '%s\n' "$dir"
elif [ "$rc" -eq 77 ] && [ -n "$(apt_cache show linux-image-amd64 2>/dev/null)" ]; then
	echo "kernels.sh: this Debian has no $line kernel" >&2
	exit 77
else
	tail -n 3 "${tmp:-/nonexistent}/log" 2>/dev/null >&2 || :
	die "no $line kernel in $kernels, and none can be fetched: is there a network, and do apt's sources work?"
fi
