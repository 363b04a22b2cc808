#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# make modules for stock kernels: no warning, the right module, nothing written into the tree; what does not belong
# together is refused with a way out; dkms. No guest. TAP. MODULES_JOBS: compilers at once.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
scripts/deps.sh kernel >/dev/null || { echo "Bail out! scripts/deps.sh kernel failed"; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
jobs=${MODULES_JOBS:-$(nproc)}
n=0 bad=0

# ok NAME COMMAND...: its output is shown if it fails
ok() {
	local name=$1 limit=(timeout 1500)
	shift
	n=$((n + 1))
	[ "$(type -t "$1")" != function ] || limit=()		# those see to it themselves
	if "${limit[@]}" "$@" >"$work/out" 2>&1; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		tail -n 15 "$work/out" | sed 's/^/#   /'
		bad=1
		return 1
	fi
}
fails() { ! "${@:2}" >"$work/says" 2>&1 && grep -qE -- "$1" "$work/says" || { cat "$work/says"; return 1; }; }
no_match() { ! grep -nEi "$@"; }
same() { [ "$1" = "$2" ] || { echo "is: $1"; echo "should be: $2"; return 1; }; }
matches() { [[ $1 =~ $2 ]] || { echo "is: $1"; echo "should match: $2"; return 1; }; }

touch "$work/begin"
declare -A release dir image
for line in 6.12 6.1; do
	image[$line]=$(tests/vm/kernels.sh "$line")
	rc=$?
	if [ "$rc" -eq 77 ]; then
		echo "ok $((n += 1)) - modules for $line # SKIP this Debian has no such kernel"
		continue
	fi
	release[$line]=$(cat "${image[$line]}/release")
	dir[$line]=$work/build/modules/${release[$line]}
	ok "modules for ${release[$line]}" env B="$work/build" MODULES_JOBS="$jobs" tests/vm/modules.sh "$line" W=1 C=1 || {
		unset "release[$line]"		# what follows needs them
		continue
	}
	ko=${dir[$line]}/nvme-accel-passthru.ko
	ok "$line: neither the compiler (W=1) nor sparse has a warning" no_match 'warning|error:' "${dir[$line]}/.log"
	ok "$line: sparse has looked" grep -q 'CHECK .*passthru/main.c' "${dir[$line]}/.log"
	ok "$line: licence" same "$(modinfo -F license "$ko")" GPL
	ok "$line: for this kernel" matches "$(modinfo -F vermagic "$ko")" "^${release[$line]/+/.} "
	ok "$line: depends on nvme-core and configfs" matches "$(modinfo -F depends "$ko")," '(.*nvme-core,.*configfs,|.*configfs,.*nvme-core,)'
	ok "$line: says what it is" matches "$(modinfo -F description "$ko")" '...'
	ok "$line: layouts are asserted" grep -q '^static_assert(sizeof(struct nvme_ctrl) == ' "${dir[$line]}/private/nvme_btf.h"
	ok "$line: what the module is made of has seen them" grep -q private/nvme_btf.h "${dir[$line]}/kernel/passthru/.main.o.cmd"
	cr=${dir[$line]}/nvme-accel-crypto.ko
	ok "$line: nvme-accel-crypto: sparse has looked" grep -q 'CHECK .*crypto/slot.c' "${dir[$line]}/.log"
	ok "$line: nvme-accel-crypto: licence" same "$(modinfo -F license "$cr")" GPL
	ok "$line: nvme-accel-crypto: depends on configfs, and not on nvme-core" matches "$(modinfo -F depends "$cr" | sed 's/nvme-core/WRONG/')" \
		'^[^W]*configfs[^W]*$'
	ok "$line: nvme-accel-crypto: its algorithms bring it" same "$(modinfo -F alias "$cr" | grep ^crypto- | sort | tr '\n' ' ')" \
		"crypto-deflate-nvme-accel crypto-gcm-aes-nvme-accel crypto-sha256-nvme-accel crypto-xts-aes-nvme-accel "
	ok "$line: nvme-accel-crypto: its parameters" same "$(modinfo -F parm "$cr" | sed 's/:.*//' | sort | tr '\n' ' ')" "algorithms workspaces "
	p2p=${dir[$line]}/nvme-accel-p2pdma.ko
	ok "$line: nvme-accel-p2pdma: sparse has looked" grep -q 'CHECK .*p2pdma/main.c' "${dir[$line]}/.log"
	ok "$line: nvme-accel-p2pdma: licence" same "$(modinfo -F license "$p2p")" GPL
	ok "$line: nvme-accel-p2pdma: depends on no other module" same "$(modinfo -F depends "$p2p")" ""
	ok "$line: nvme-accel-p2pdma: its parameters" same "$(modinfo -F parm "$p2p" | sed 's/:.*//' | sort | tr '\n' ' ')" "allow_cpu_clients allow_user_pages "
	before=$(stat -c %y "$ko")
	ok "$line: nothing is built if nothing has changed" env B="$work/build" tests/vm/modules.sh "$line" W=1 C=1
	ok "$line: the same module is still there" same "$(stat -c %y "$ko")" "$before"
done

# One object that includes the private header of DIRECTORY, for the kernel of a line.
compile() { # LINE DIRECTORY
	mkdir -p "$work/probe"
	printf '#include "nvme_private.h"\nsize_t probe_size(void);\nsize_t probe_size(void) { return sizeof(struct nvme_ctrl); }\n' >"$work/probe/probe.c"
	printf 'obj-m := probe.o\nccflags-y := -I%s/kernel/compat -I%s\n' "$top" "$2" >"$work/probe/Kbuild"
	timeout 300 make -s -C "/lib/modules/${release[$1]}/build" M="$work/probe" probe.o
}
if [ -n "${release[6.1]:-}" ] && [ -n "${release[6.12]:-}" ]; then
	ok "the header of 6.12 compiles for 6.12" compile 6.12 "${dir[6.12]}/private"
	ok "the header of 6.1 does not compile for 6.12" fails "made for kernel ${release[6.1]/+/.}" compile 6.12 "${dir[6.1]}/private"
	# Its asserts must find it, too, whoever says which kernel it was made for.
	mkdir "$work/stale"
	sed -e '/^#if LINUX_VERSION_CODE/,/^#endif/d' -e '/^#include <generated/,/^#endif/d' "${dir[6.1]}/private/nvme_btf.h" >"$work/stale/nvme_btf.h"
	ok "nor without its mark: layouts differ" fails 'static assertion failed' compile 6.12 "$work/stale"

	# Of another build: headers of 6.12 with the image of 6.1, and the other way round.
	build() { timeout 300 make -s -C kernel header B="$work/refused" "$@"; }
	headers=/lib/modules/${release[6.12]}/build
	core12=$(find "${image[6.12]}/lib/modules" -name 'nvme-core.ko*') core1=$(find "${image[6.1]}/lib/modules" -name 'nvme-core.ko*')
	ok "refused: nvme-core of another kernel" fails "is of kernel ${release[6.1]/+/.}.*install" \
		build KDIR="$headers" NVME_CORE="$core1" BASE="$headers/vmlinux"
	ok "refused: the base of another kernel" fails "is of kernel ${release[6.1]/+/.}.*install" \
		build KDIR="$headers" NVME_CORE="$core12" BASE="${image[6.1]}/vmlinuz"
	ok "refused: a base that does not say what it is" fails "does not belong to this module" \
		build KDIR="/lib/modules/${release[6.1]}/build" NVME_CORE="$core1" BASE="$headers/vmlinux"
	ok "refused: no nvme-core" fails "no nvme-core.ko of kernel ${release[6.12]/+/.}" build KDIR="$headers" NVME_CORE=/nonexistent
	ok "refused: no base" fails "no base BTF of kernel ${release[6.12]/+/.}" build KDIR="$headers" NVME_CORE="$core12" BASE=/nonexistent
	ok "refused: KSRC is no source" fails "is not the source of a kernel" build KDIR="$headers" KSRC=/usr
	ok "no headers: the package is named" fails "apt-get install linux-headers-" build KDIR=/nonexistent
	ok "no header was left behind" same "$(find "$work/refused" -name nvme_btf.h)" ""
fi

# A signature of a key made here: whoever has a kernel that wants one can read it.
sign() {
	openssl req -new -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=nvme-accel-test/ -keyout "$work/key" -outform DER -out "$work/cert"
	timeout 1500 make -s -C kernel modules_sign B="$work/build" KDIR="$headers" NVME_CORE="$core12" KEY="$work/key" CERT="$work/cert"
}
if [ -n "${release[6.12]:-}" ]; then
	headers=/lib/modules/${release[6.12]}/build
	core12=$(find "${image[6.12]}/lib/modules" -name 'nvme-core.ko*')
	ok "make modules_sign" sign
	ok "the module has that signature" same "$(modinfo -F signer "${dir[6.12]}/nvme-accel-passthru.ko")" nvme-accel-test
	ok "without a key it says what it wants" fails 'KEY=FILE and CERT=FILE' timeout 1500 make -s -C kernel modules_sign B="$work/build" \
		KDIR="$headers" NVME_CORE="$core12"
fi

# dkms in directories of its own, with the kernel that has its base BTF among the headers.
if [ -n "${release[6.12]:-}" ]; then
	version=$(sed -n 's/^VERSION := //p' Makefile)
	mkdir "$work/dkms"
	ok "make dkms-tree" make -s dkms-tree DKMSDIR="$work/src/nvme-accel-$version"
	ok "it leaves other directories alone" fails 'not ours' make -s dkms-tree DKMSDIR="$work/probe"
	NVME_CORE=$core12
	export NVME_CORE
	dkms_run() { timeout 1500 dkms "$@" --dkmstree "$work/dkms" --sourcetree "$work/src" -m nvme-accel -v "$version" -k "${release[6.12]}"; }
	ok "dkms add" dkms add --dkmstree "$work/dkms" --sourcetree "$work/src" -m nvme-accel -v "$version"
	ok "dkms build" dkms_run build -j "$jobs"
	ok "dkms has the module" matches "$(find "$work/dkms" -path "*${release[6.12]}*" -name 'nvme-accel-passthru.ko*')" 'nvme-accel-passthru.ko'
	unset NVME_CORE
fi

written=$(find kernel lib include scripts tests/kernel -newer "$work/begin" \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
	-o -name '.*.cmd' -o -name '*.order' -o -name 'nvme_btf*.h' -o -name '*.i' -o -name '*.pyc' -o -name '*.symvers' -o -name .key \))
ok "nothing was written into the tree" same "$written" ""
echo "1..$n"
exit $bad
