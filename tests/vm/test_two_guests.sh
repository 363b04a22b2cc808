#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-passthru in one guest, its host in another, a wire between them: an engine and a disk over TCP and RDMA.
# test_two_guests.sh [KERNEL OF THE HOST]...
#   MODULES  the directory of the module for 6.12, if it is not to be built
. "$(dirname "$0")/lib.inc"
need "$ACCEL"

target=
cleanup() { [ -z "$target" ] || kill "$target" 2>/dev/null; }

# Datagrams: it does not matter who comes first, or that a guest is started again.
wire() {
	echo "-netdev dgram,id=wire,local.type=unix,local.path=$work/$1,remote.type=unix,remote.path=$work/$2" \
		"-device virtio-net-pci,netdev=wire,romfile=,mac=52:54:00:00:99:0$3"
}

# The target's lines come out when it has ended.
both() {
	local line status kernel=$1
	truncate -s 64M "$work/disk"
	export VM_QEMU_ARGS
	VM_QEMU_ARGS="$(wire target host 1) -drive file=$work/disk,if=none,id=disk,format=raw,cache=unsafe"
	VM_QEMU_ARGS+=" -device nvme,drive=disk,serial=disk"
	"$vm" -k 6.12 -t 400 -e ACCEL="$ACCEL" -e MODULES="$modules" -s "$root/tests/vm/guest/two_target.sh" >"$work/target.log" 2>&1 &
	target=$!
	VM_QEMU_ARGS=$(wire host target 2)
	guest "host, kernel $kernel" "$kernel" two_host -t 400 >"$work/host.log"
	grep -v '^##vendor' "$work/host.log"
	[ "$g_status" = 0 ] || kill "$target" 2>/dev/null
	wait "$target"
	status=$?
	target=
	while IFS= read -r line; do
		case $line in
		"ok - "*) pass "target: ${line#ok - }" ;;
		"not ok - "*) fail "target: ${line#not ok - }" ;;
		"##vendor "*) ;;
		*) echo "$line" ;;
		esac
	done <"$work/target.log"
	if [ "$status" -eq 0 ]; then pass "target: ends, and its kernel log is clean"; else fail "target: ends, and its kernel log is clean" "status $status"; fi
	vendor=$(sed -n 's/^##vendor engine //p' "$work/target.log")
	for way in tcp rdma; do
		if [ -n "$vendor" ] && grep -qx "##vendor engine-by-$way $vendor" "$work/host.log"; then
			pass "the vendor's bytes by $way are the target's"
		else
			fail "the vendor's bytes by $way are the target's" "$(grep '^##vendor' "$work/host.log" "$work/target.log")"
		fi
	done
}

modules=${MODULES:-}
[ -n "$modules" ] || modules=$("$root/tests/vm/modules.sh" 6.12 2>"$work/modules-err")
case $? in
0) for k in ${*:-6.12}; do both "$k"; done ;;
77) skip "modules for 6.12" "$(tail -n 1 "$work/modules-err")" ;;
*) fail "modules for 6.12 are built" "$(tail -n 20 "$work/modules-err")" ;;
esac
finish
