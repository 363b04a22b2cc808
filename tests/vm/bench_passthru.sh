#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The kernel module's forwarding against the namespace below it, by fio in a guest: commands a second and their ratio.
# It judges nothing. bench_passthru.sh [KERNEL...]; ROUNDS (5) and SECONDS_EACH (3) a run.
set -eu
cd "$(dirname "$0")/../.."
. tests/vm/bench.inc

forwarding() {
	echo "kernel $1, emulated NVMe without a medium: commands a second"
	VM_QEMU_ARGS="-blockdev driver=null-co,node-name=lower,size=1073741824,read-zeroes=on -device nvme,drive=lower,serial=lower" \
		tests/vm/vm.sh -k "$1" -t 900 -e workloads="${WORKLOADS:-}" -s tests/vm/guest/bench_passthru.sh -- \
		"$modules" "${ROUNDS:-5}" "${SECONDS_EACH:-3}"
}
on_kernels forwarding "${@:-6.12}"
