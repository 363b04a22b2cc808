#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# accel p2p and accel compress --p2p in guests with a PCIe switch: test_p2p_cli.sh [KERNEL]... (6.12)
#   MODULES  the directory of the module, if it is not to be built for the kernel
. "$(dirname "$0")/lib.inc"
need "$ACCEL"

# Two controllers below a switch, one of them with a controller memory buffer, and one by itself.
VM_QEMU_ARGS="-device pcie-root-port,id=top,slot=1,chassis=1 -device x3130-upstream,id=up,bus=top"
n=0
for s in sw1 sw2 alone; do
	n=$((n + 1))
	truncate -s 64M "$work/$s"
	case $s in
	alone) VM_QEMU_ARGS+=" -device pcie-root-port,id=port$n,slot=$((n + 10)),chassis=$((n + 10))" ;;
	*) VM_QEMU_ARGS+=" -device xio3130-downstream,id=port$n,bus=up,slot=$n,chassis=$((n + 10))" ;;
	esac
	VM_QEMU_ARGS+=" -drive file=$work/$s,if=none,id=$s,format=raw,cache=unsafe -device nvme,serial=$s,drive=$s,bus=port$n"
	[ $s != sw1 ] || VM_QEMU_ARGS+=",cmb_size_mb=16"
done
export VM_QEMU_ARGS
make -s B="$B" "$B/p2p_buf" >"$work/make" 2>&1 || fail "p2p_buf is built" "$(tail -n 20 "$work/make")"

for kernel in ${*:-6.12}; do
	modules_for "$kernel" || continue
	served=module
	[ "$kernel" != debug ] || served=kernel
	guest "accel p2p on $kernel" "$kernel" p2p_cli -e MODULES="$modules" -e SERVED="$served" -e P2P_BUF="$B/p2p_buf" -t 600
done
finish
