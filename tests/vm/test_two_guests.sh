#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-passthru in one guest, its host in another, a wire between them: the administrator's guide, word for word;
# an engine and a disk over TCP and RDMA. test_two_guests.sh [KERNEL OF THE HOST]...
#   MODULES     the directory of the module for 6.12, if it is not to be built
#   SKIP_GUIDE  1: without the guide
. "$(dirname "$0")/lib.inc"
need "$ACCEL"

target=
cleanup() { [ -z "$target" ] || kill "$target" 2>/dev/null; }

# Datagrams: it does not matter who comes first, or that a guest is started again.
wire() {
	echo "-netdev dgram,id=wire,local.type=unix,local.path=$work/$1,remote.type=unix,remote.path=$work/$2" \
		"-device virtio-net-pci,netdev=wire,romfile=,mac=52:54:00:00:99:0$3"
}

# controller SERIAL: with three namespaces of 64 MiB
controller() {
	local i
	echo "-device nvme,id=$1,serial=$1"
	for i in 1 2 3; do
		truncate -s 64M "$work/$1$i"
		echo "-drive file=$work/$1$i,if=none,id=$1$i,format=raw,cache=unsafe -device nvme-ns,drive=$1$i,bus=$1,nsid=$i"
	done
}

# both NAME KERNEL OF THE HOST: guest/NAME_target.sh and guest/NAME_host.sh. The target's lines come out when it has ended.
both() {
	local line status name=$1 kernel=$2
	export VM_QEMU_ARGS
	VM_QEMU_ARGS="$(wire target host 1) $(controller disk) $(controller card)"
	"$vm" -k 6.12 -t 400 -e ACCEL="$ACCEL" -e MODULES="$modules" -s "$root/tests/vm/guest/${name}_target.sh" >"$work/target.log" 2>&1 &
	target=$!
	VM_QEMU_ARGS=$(wire host target 2)
	guest "$name, host, kernel $kernel" "$kernel" "${name}_host" -t 400 >"$work/host.log"
	grep -v '^##vendor' "$work/host.log"
	[ "$g_status" = 0 ] || kill "$target" 2>/dev/null
	wait "$target"
	status=$?
	target=
	while IFS= read -r line; do
		case $line in
		"ok - "*) pass "$name, target: ${line#ok - }" ;;
		"not ok - "*) fail "$name, target: ${line#not ok - }" ;;
		"##vendor "*) ;;
		*) echo "$line" ;;
		esac
	done <"$work/target.log"
	if [ "$status" -eq 0 ]; then
		pass "$name, target: ends, and its kernel log is clean"
	else
		fail "$name, target: ends, and its kernel log is clean" "status $status"
	fi
}

# The vendor's bytes of an accelerator, as both guests have told them.
vendors() {
	local way vendor
	vendor=$(sed -n 's/^##vendor engine //p' "$work/target.log")
	for way in tcp rdma; do
		if [ -n "$vendor" ] && grep -qx "##vendor engine-by-$way $vendor" "$work/host.log"; then
			pass "the vendor's bytes by $way are the target's"
		else
			fail "the vendor's bytes by $way are the target's" "$(grep -h '^##vendor' "$work/host.log" "$work/target.log")"
		fi
	done
}

if modules_for 6.12; then
	[ -n "${SKIP_GUIDE:-}" ] || both guide 6.12
	for k in ${*:-6.12}; do both two "$k"; vendors; done
fi
finish
