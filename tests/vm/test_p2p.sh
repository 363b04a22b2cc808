#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The kernel module nvme-accel-p2pdma: copies through the CMB of a controller below a switch, who is refused, what a controller that is
# reset, unbound or pulled does to them. The emulator writes down the address of every transfer.
# test_p2p.sh [-k LINE]... [copy|life|acs|host|files|iommu|user|slab|other|large|all]...; without a name copy, life and acs, without a
# kernel 6.12, and 6.1 for copy.
#   MODULES       the directory of the module, if it is not to be built for the kernel
#   CALLS         random ones (300)
#   LIFE_SECONDS  limit for life (400, on the debug kernel 1200)
. "$(dirname "$0")/lib.inc"

kernels=
while [ "${1:-}" = -k ]; do kernels="$kernels $2"; shift 2; done
tests=${*:-copy life acs}
wanted() { case " $tests " in *" all "* | *" $1 "*) ;; *) return 1 ;; esac; }

for program in p2p p2p_args p2p_user; do
	${CC:-cc} -O1 -Wall -Wextra -Werror -Wno-override-init -I"$root/include/uapi" -o "$work/$program" "$root/tests/vm/guest/$program.c" ||
		{ echo "not ok 1 - $program compiles"; exit 1; }
done

# topology CMB-OPTIONS: cmb, a and b below one switch, far below another root port
topology() {
	local d
	rm -f "$work"/disk.*
	VM_QEMU_ARGS="-device ioh3420,id=root1,chassis=1,slot=1 -device x3130-upstream,id=up,bus=root1"
	VM_QEMU_ARGS+=" -device pcie-root-port,id=root2,chassis=5,slot=5"
	for d in 1 2 3; do VM_QEMU_ARGS+=" -device ${port:-xio3130-downstream},id=down$d,bus=up,chassis=2,slot=$d"; done
	for d in cmb=down1 a=down2 b=down3 far=root2; do
		truncate -s "${disk_size:-64M}" "$work/disk.${d%=*}"
		VM_QEMU_ARGS+=" -drive file=$work/disk.${d%=*},if=none,id=file-${d%=*},format=raw,cache=unsafe"
		VM_QEMU_ARGS+=" -device nvme,id=${d%=*},serial=${d%=*},bus=${d#*=},drive=file-${d%=*}$([ "${d%=*}" = cmb ] && echo ",$1")"
	done
	VM_QEMU_ARGS+=" -qmp unix:$work/qmp,server=on,wait=off -D $work/trace -trace pci_nvme_map_addr -trace pci_nvme_verify ${more_args:-}"
	export VM_QEMU_ARGS
	rm -f "$work/trace"
}

# The guest asks for what only the emulator can do by a line "##qmp COMMAND NAME=VALUE..."; all other lines are passed on.
mkfifo "$work/lines"
pass_on() {
	while IFS= read -r line; do
		case $line in
		"##qmp "*)
			# shellcheck disable=SC2086 # words
			python3 "$root/tests/vm/qmp.py" "$work/qmp" ${line#"##qmp "} 2>&1
			;;
		"##bar "*) printf '%s\n' "${line#"##bar "}" >"$work/bar" ;;
		*) printf '%s\n' "$line" ;;
		esac
	done <"$work/lines"
}
# p2p_guest NAME KERNEL CMB-OPTIONS SCRIPT [vm.sh options]
p2p_guest() {
	local name="$1 on $2" kernel=$2 script=$4 reader
	topology "$3"
	shift 4
	pass_on &
	reader=$!
	guest "$name" "$kernel" "$script" -e MODULES="$modules" -e P2P="$work" "$@" >"$work/lines"
	wait "$reader"
}

# payload NAME BYTES WAYS FROM TO: what the emulator saw of a copy of that many bytes, between two marks: through memory WAYS
# times, to and from the BAR of the CMB all else.
payload() {
	local name=$1 nbytes=$2 ways=$3 in out
	read -r in out <<<"$(python3 "$root/tests/vm/p2p_trace.py" "$work/trace" "$(cat "$work/bar")" $((64 << 20)) "$4" "$5")"
	if [ -n "$out" ] && [ "$out" -eq $((ways * nbytes)) ] && [ $((in + out)) -eq $((2 * nbytes)) ]; then
		pass "$name: bytes through memory per byte moved: $((out / nbytes)) ($in in the BAR, $out elsewhere)"
	else
		fail "$name: bytes through memory per byte moved should be $ways" "in the BAR $in, elsewhere $out, moved $nbytes"
	fi
}
# The emulator's legacy CMB has its registers filled from the start, and says CAP.CMBS like the other.
options() { if [ "$1" = legacy ]; then echo cmb_size_mb=64,legacy-cmb=on; else echo cmb_size_mb=64; fi; }
p2p_copy() { # KERNEL KIND MIB CALLS
	p2p_guest "copies ($2)" "$1" "$(options "$2")" p2p -t 900 -e MIB="$3" -e CALLS="$4"
	payload "  $2 on $1: by the CMB" $(($3 << 20)) 0 1 2
	payload "  $2 on $1: the ordinary way" $(($3 << 20)) 2 3 4
}

p2p_life() { # KERNEL KIND
	p2p_guest "life ($2)" "$1" "$(options "$2")" p2p_life -t "${LIFE_SECONDS:-$([ "$1" = debug ] && echo 1200 || echo 400)}"
}

p2p_iommu() { # KERNEL MODE
	local append="intel_iommu=on iommu=nopt"
	[ "$2" = identity ] && append="intel_iommu=on iommu=pt"
	more_args="-device intel-iommu" VM_APPEND="${VM_APPEND:-} $append" \
		p2p_guest "IOMMU ($2)" "$1" cmb_size_mb=64 p2p_iommu -t 600 -e MODE="$2"
}

# The emulator's ports of a switch have no ACS; its root ports do, and may hang below a switch, which no hardware has. What is
# looked at on the way is the same.
p2p_acs() { port=pcie-root-port p2p_guest "ACS" "$1" cmb_size_mb=64 p2p_acs -t 600; }

# A processor whose host bridge is known to forward, which the emulator's does.
p2p_host() { more_args="-cpu EPYC" p2p_guest "host bridge" "$1" cmb_size_mb=64 p2p_host -t 600; }

for kernel in ${kernels:-6.12 6.1}; do
	modules_for "$kernel" || continue
	# The kinds of CMB by turns: each kernel has one, and with a name of its own the other.
	case $kernel in 6.1) kind=legacy ;; *) kind=1.4 ;; esac
	wanted copy && p2p_copy "$kernel" "$kind" 16 "${CALLS:-300}"
	[ -z "$kernels$*" ] && [ "$kernel" != 6.12 ] && continue
	wanted life && p2p_life "$kernel" "$kind"
	wanted iommu && p2p_iommu "$kernel" identity && p2p_iommu "$kernel" translated
	wanted acs && p2p_acs "$kernel"
	wanted host && p2p_host "$kernel"
	wanted files && disk_size=512M p2p_guest "files" "$kernel" cmb_size_mb=64 p2p_files -t 600
	wanted user && [ "$kernel" != debug ] && p2p_guest "user pages" "$kernel" cmb_size_mb=64 p2p_user -t 600
	wanted slab && [ "$kernel" = debug ] && p2p_guest "failing allocations" debug cmb_size_mb=64 p2p_slab -t 1500
	wanted other && p2p_copy "$kernel" "$([ $kind = legacy ] && echo 1.4 || echo legacy)" 16 "${CALLS:-300}"
	wanted large && disk_size=256M p2p_copy "$kernel" "$kind" 256 "${CALLS:-3000}"
done
finish
