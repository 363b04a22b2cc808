#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copies from device to device against dd with direct I/O, in a guest: CPU time a GiB and speed, and their ratios. It judges
# nothing. bench_p2p.sh [KERNEL...]; ROUNDS (3).
# The emulator gives a controller its own CMB by a pointer, and another one's 8 bytes at a time: so a controller with two namespaces
# says what the software costs, and three controllers what the emulator adds. What the namespaces hold is nothing.
set -eu
cd "$(dirname "$0")/../.."
. tests/vm/bench.inc

medium="driver=null-co,size=4294967296,read-zeroes=on"
args="-device ioh3420,id=root,chassis=1,slot=1 -device x3130-upstream,id=up,bus=root"
for i in 1 2 3; do args="$args -device xio3130-downstream,id=down$i,bus=up,chassis=2,slot=$i"; done
for d in own1 own2 a b; do args="$args -blockdev $medium,node-name=$d"; done
args="$args -device nvme,id=cmb,serial=cmb,bus=down1,cmb_size_mb=64"
args="$args -device nvme-ns,bus=cmb,drive=own1,nsid=1 -device nvme-ns,bus=cmb,drive=own2,nsid=2"
args="$args -device nvme,serial=a,bus=down2,drive=a -device nvme,serial=b,bus=down3,drive=b"

copies() {
	echo "kernel $1, emulated NVMe without a medium: from device to device, and through memory"
	VM_QEMU_ARGS="$args" tests/vm/vm.sh -k "$1" -t 450 -s tests/vm/guest/bench_p2p.sh -- \
		"$modules" "$B" "${ROUNDS:-3}"
}
on_kernels copies "${@:-6.12}"
