#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds the kernel modules for a guest's kernel and prints the directory with the .ko files:
#   modules.sh 6.12|6.1|debug|DIRECTORY [MAKE VARIABLES, for example W=1]
# with those of kernel/tests.
# DIRECTORY: as vm.sh's -k takes it, with lib/modules/RELEASE/build. If nothing has changed nothing is built. Several at
# once wait for each other. Status 77 with a reason if this Debian has no such kernel.
#   B  the build directory (build); MODULES_JOBS  compilers at once (all cores)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
die() { echo "modules.sh: $*" >&2; exit 1; }

line=${1:-}
[ $# -eq 0 ] || shift
case $line in
6.1 | 6.12) dir=$("$here/kernels.sh" "$line") || exit $? ;;
debug) dir=$("$here/debug_kernel.sh") || exit $? ;;
*) [ -d "$line" ] && dir=$(cd "$line" && pwd) || { echo "usage: modules.sh 6.12|6.1|debug|DIRECTORY [VARIABLE=VALUE]..." >&2; exit 2; } ;;
esac
release=$(cat "$dir/release")

# A kernel that has its build directory with it is a debug kernel: without BTF, but with nvme-core's header.
kdir=$dir/lib/modules/$release/build
core=
base=
ksrc=
if [ -f "$kdir/Makefile" ]; then
	kdir=$(cd "$kdir" && pwd -P)
	[ ! -f "$kdir/drivers/nvme/host/nvme.h" ] || ksrc=$kdir
else
	kdir=/lib/modules/$release/build
	[ -f "$kdir/Makefile" ] ||
		die "the headers of $release are not installed: apt-get install linux-headers-$release (scripts/deps.sh kernel)"
fi
if [ -z "$ksrc" ]; then
	core=$(find "$dir/lib/modules/$release" -name 'nvme-core.ko*' | head -n 1)
	[ -n "$core" ] || die "$dir has no nvme-core.ko"
	base=$kdir/vmlinux
	[ -f "$base" ] || base=$dir/vmlinuz
fi

b=${B:-build}
case $b in /*) ;; *) b=$root/$b ;; esac
out=$b/modules/$release
mkdir -p "$out"
exec 9>"$out/.lock"
flock -w 900 9 || die "another build holds $out/.lock for 15 minutes"

state() {
	echo "$kdir $core $base $ksrc $*"
	stat -L -c '%n %s %Y' "$kdir/Module.symvers" ${core:+"$core"} ${base:+"$base"}
	cd "$root"
	find kernel lib/base lib/wire lib/model lib/engine include/uapi scripts/*.py -type f -printf '%p %s %T@\n' | sort
}
key=$(state "$@" | sha256sum)
if [ "$(cat "$out/.built" 2>/dev/null)" != "$key" ]; then
	rm -f "$out/.built"
	# The make that may have started this has flags of its own. The lock is not for what it leaves running.
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -j"${MODULES_JOBS:-$(nproc)}" -C "$root/kernel" modules B="$b" KDIR="$kdir" \
		NVME_CORE="$core" BASE="$base" KSRC="$ksrc" TESTS=1 "$@" >"$out/.log" 2>&1 9>&- || {
		tail -n 40 "$out/.log" >&2
		die "the modules cannot be built for $release; see above"
	}
	echo "$key" >"$out/.built"
fi
printf '%s\n' "$out"
