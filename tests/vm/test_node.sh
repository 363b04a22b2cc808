#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Nodes of the inbox driver as the library and udev see them: accelerators beside plain disks, which stay untouched.
. "$(dirname "$0")/lib.inc"
need "$ACCEL"
need "$ACCELD"
need "$(dirname "$ACCEL")/accel_id"

# A disk of the emulator's, with a pattern at its start and nothing else.
disk=$work/disk
for kernel in ${*:-6.12 6.1}; do
	rm -f "$disk"
	truncate -s 64M "$disk"
	printf 'a disk of somebody' | dd of="$disk" bs=512 seek=4 conv=notrunc 2>/dev/null
	sum=$(sha256sum <"$disk")
	VM_QEMU_ARGS="-drive file=$disk,if=none,id=plain,format=raw -device nvme,drive=plain,serial=plain"
	export VM_QEMU_ARGS
	guest "nodes on $kernel" "$kernel" node -t 400
	if [ "$(sha256sum <"$disk")" = "$sum" ]; then
		pass "nodes on $kernel: the disk is as it was"
	else
		fail "nodes on $kernel: the disk is as it was"
	fi
done
finish
