#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The debug kernel for guests: Debian's newest linux-source-6.12, configured by debug.config alone, with KASAN, lockdep,
# kmemleak, fault injection and so on. debug_kernel.sh [--source]
# Prints its directory in the cache, which vm.sh takes (vmlinuz, release, lib/modules/RELEASE); builds it there first
# if need be, which takes some 20 minutes on two cores. With --source: prints DIRECTORY/build, which is both what modules are
# built against (make -C DIRECTORY/build M=...) and the source tree with drivers/nvme/host/nvme.h.
# Works for every user, several at once, and after being killed. Status 77 with a reason on stderr if this Debian has no
# such source; 1 if it cannot be fetched or built.
#   ACCEL_VM_CACHE  the cache (XDG_CACHE_HOME/nvme-accel or ~/.cache/nvme-accel)
#   ACCEL_JOBS      compilers at once (all cores)
set -eu
what=
case $#:${1:-} in
0:) ;;
1:--source) what=/build ;;
*) echo "usage: debug_kernel.sh [--source]" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
. "$here/archive.inc"
PATH=$PATH:/usr/sbin:/sbin

line=6.12
package=linux-source-$line
# What is kept of the build, and how, by number: part of the key.
form=1
fragment=$here/debug.config
kernels=$cache/kernels
sources=$cache/sources
log=$cache/debug_kernel.log
jobs=${ACCEL_JOBS:-$(nproc)}
mkdir -p "$kernels" "$sources"

say() { echo "debug_kernel.sh: $*" >&2; }

need_tools() {
	missing=
	for t in gcc make bc flex bison xz cpio depmod dpkg-deb; do
		command -v "$t" >/dev/null || missing="$missing $t"
	done
	echo '#include <gelf.h>' | gcc -fsyntax-only -x c - 2>/dev/null || missing="$missing gelf.h"
	[ -z "$missing" ] || die "missing:$missing; scripts/deps.sh kernel installs what is needed"
}

# Of all that the result depends on, but for the version of the source.
hash_rest() { { echo "$form"; gcc --version | head -n 1; cat "$fragment"; } | sha256sum | cut -c 1-12; }

# The newest version in the archive, nothing if it has none.
find_version() { apt_cache show --no-all-versions "$package" 2>/dev/null | sed -n 's/^Version: //p' | head -n 1; }
newest_built() {
	for d in "$kernels"/debug-*-"$(hash_rest)"; do
		[ -e "$d/release" ] && printf '%s\n' "$d"
	done | sort -V | tail -n 1
}

# fetch VERSION: the package into $sources, where only the newest is kept
fetch() {
	deb=$sources/${package}_$1.deb
	[ ! -e "$deb" ] || return 0
	say "fetching $package $1"
	mkdir "$tmp/deb"
	(cd "$tmp/deb" && apt_get download "$package=$1" >"$log" 2>&1) || return 1
	rm -f "$sources/$package"_*.deb
	mv "$tmp"/deb/*.deb "$deb"
}

# unpack DEB DIR: without the code of other processors and of drivers that are not built; all Kconfig files are needed.
unpack() {
	top=$package
	mkdir "$2"
	dpkg-deb --fsys-tarfile "$1" | tar -xO "./usr/src/$top.tar.xz" | xz -T0 -dc |
		tar -x -C "$2" --strip-components=1 --no-same-owner --exclude="$top/arch/[a-wyz]*.[chS]" \
			--exclude="$top/arch/*.dts*" --exclude="$top/Documentation/*.[rsy]*" --exclude="$top/drivers/gpu/*.[chS]" \
			--exclude="$top/drivers/media/*.[ch]" --exclude="$top/drivers/staging/*.[ch]" --exclude="$top/sound/*.[ch]" \
			--exclude="$top/drivers/net/ethernet/*.[ch]" --exclude="$top/drivers/net/wireless/*.[ch]" \
			--exclude="$top/tools/testing/*" --exclude="$top/tools/perf/*"
}

# The kernel's own make, which must not see ours, nor a build's settings in the environment.
kmake() {
	env -i PATH="$PATH" HOME="$HOME" LC_ALL=C KBUILD_BUILD_USER=accel KBUILD_BUILD_HOST=accel \
		nice make -s -C "$tmp/build" "$@" >>"$log" 2>&1 9>&-
}

# All that is not in the fragment is off; what is in it must have come out as asked.
configure() {
	kmake KCONFIG_ALLCONFIG="$fragment" allnoconfig || return 1
	grep -E '^CONFIG_|^# CONFIG_' "$fragment" | while read -r l; do
		case $l in
		"#"*) o=${l#\# }; o=${o%% *}; ! grep -q "^$o=" "$tmp/build/.config" || echo "${o#CONFIG_}" ;;
		*) grep -qxF "$l" "$tmp/build/.config" || echo "${l#CONFIG_}" ;;
		esac
	done >"$tmp/not"
	[ ! -s "$tmp/not" ] || die "debug.config asks for what this kernel does not give: $(tr '\n' ' ' <"$tmp/not")"
}

compile() {
	kmake -j"$jobs" bzImage modules || return 1
	kmake INSTALL_MOD_PATH="$tmp" modules_install || return 1
	release=$(cat "$tmp/build/include/config/kernel.release")
	mv "$tmp/build/arch/x86/boot/bzImage" "$tmp/vmlinuz" && mv "$tmp/build/System.map" "$tmp/System.map" || return 1
	rm -f "$tmp/lib/modules/$release/build" "$tmp/lib/modules/$release/source"
	ln -s ../../../build "$tmp/lib/modules/$release/build"
}

# What modules are built with stays: headers, makefiles, scripts and tools; and the NVMe drivers, to look things up.
prune() {
	cd "$tmp/build" || return 1
	find . \( -path ./scripts -o -path ./tools/objtool -o -path ./drivers/nvme \) -prune -o -type f \
		\( -name '*.[cSo]' -o -name '*.ko' -o -name '*.a' -o -name '.*.cmd' -o -name '*.mod' -o -name 'vmlinux*' -o -name '.tmp_*' \
		-o -name '.vmlinux*' -o -name '*.order' -o -name '*.dts*' -o -name 'modules.builtin*' \) -exec rm -f {} +
	rm -rf tools/arch tools/testing tools/perf Documentation sound drivers/gpu drivers/media drivers/staging arch/x86/boot/compressed
	cd "$here"
}

make_kernel() {
	fetch "$version" || return 1
	start=$(date +%s)
	say "building $(basename "$dir"), $jobs compilers at once, which takes some 20 minutes on two cores"
	unpack "$deb" "$tmp/build" || return 1
	configure || return 1
	compile || return 1
	prune || return 1
	# More than vm.sh gives others: KASAN takes an eighth, and holds back what was freed.
	echo 3G >"$tmp/memory"
	rm -rf "$tmp/deb" "$tmp/not" "$dir"
	echo "$release" >"$tmp/release" && mv "$tmp" "$dir" || return 1
	say "built in $((($(date +%s) - start) / 60)) minutes: $dir"
}

# One at a time: the second finds what the first has built. What an earlier one left when it was killed goes.
exec 9>"$cache/debug_kernel.lock"
if ! flock -n 9; then
	say "another one builds; waiting for it"
	flock -w 7200 9 || die "another debug_kernel.sh holds $cache/debug_kernel.lock for two hours"
fi
rm -rf "$kernels"/.debug.*

version=$(find_version)
[ -n "$version" ] || { own_lists && version=$(find_version); } || :
if [ -z "$version" ]; then
	dir=$(newest_built)
	[ -z "$dir" ] || { printf '%s\n' "$dir$what"; exit 0; }
	[ -z "$(apt_cache show linux-image-amd64 2>/dev/null)" ] || { say "this Debian has no $package"; exit 77; }
	die "no debug kernel in $kernels, and no $package can be fetched: is there a network, and do apt's sources work?"
fi
dir=$kernels/debug-$version-$(hash_rest)
if [ ! -e "$dir/release" ]; then
	need_tools
	tmp=$(mktemp -d "$kernels/.debug.XXXXXX")
	chmod 755 "$tmp"
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 1' INT TERM HUP
	: >"$log"
	if ! make_kernel; then
		grep -E 'rror|\*\*\*|^E:' "$log" | head -n 10 >&2 || :
		die "it cannot be built; the whole log: $log"
	fi
	for d in "$kernels"/debug-*; do
		[ "$d" = "$dir" ] || say "not used any more, if no other tree needs it: rm -r '$d'"
	done
fi
printf '%s\n' "$dir$what"
