#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# accel target in stock kernels: made, exported over TCP and loop, connected, saved, cleared, restored, deleted; on 6.1,
# whose inbox target exports no controllers, local use. test_target.sh [KERNEL]...
#   MODULES  the directory of the module, if it is not to be built for the kernel
. "$(dirname "$0")/lib.inc"
need "$ACCEL"

truncate -s 64M "$work/disk1" "$work/disk2"
VM_QEMU_ARGS="-device pcie-root-port,id=port1,slot=1 -device nvme,id=lower,serial=lower,bus=port1"
for i in 1 2; do
	VM_QEMU_ARGS+=" -drive file=$work/disk$i,if=none,id=disk$i,format=raw,cache=unsafe"
	VM_QEMU_ARGS+=" -device nvme-ns,drive=disk$i,bus=lower,nsid=$i,uuid=6b1f0c6e-0000-4000-8000-00000000010$i"
done
export VM_QEMU_ARGS

for kernel in ${*:-6.12 6.1}; do
	modules_for "$kernel" || continue
	guest "accel target on $kernel" "$kernel" target -e MODULES="$modules" -t 900
done
finish
