#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The kernel module nvme-accel-passthru in stock kernels: configfs, forwarding, engines, export by the inbox target,
# limits, life under load, hostile peers, torture. test_passthru.sh [-k LINE]... [PART]...
# Parts: engines config local export nvmet peer life torture; without any all on 6.12, and on 6.1, which is slower here and has no
# nvmet passthru, engines and config. What is named runs on the kernels that are named, or both. On the debug kernel (-k debug) all
# of them also look for leaks, and there is one more: failslab, in which allocations fail. debug_passthru_checks.sh runs all.
#   MODULES          the directory of the module, if it is not to be built for the kernel
#   ROUNDS           how often a thing that goes comes back under load (1)
#   TORTURE_SECONDS  how long configfs operations run at random under load (60)
#   FAIL_MOST        how many of a step's allocations fail in turn (40; 0: all)
. "$(dirname "$0")/lib.inc"
need "$ACCEL"
need "$ACCELD"

kernels=
while [ "${1:-}" = -k ]; do kernels="$kernels $2"; shift 2; done
named=$*
wanted() { case " $tests " in *" $1 "*) ;; *) return 1 ;; esac; }

# Two controllers of the emulator's behind ports from which they can be pulled: `lower` has two namespaces, `other` one.
disks() {
	rm -f "$work"/disk?
	truncate -s 64M "$work/disk1" "$work/disk2" "$work/disk3"
	VM_QEMU_ARGS="-device pcie-root-port,id=port1,slot=1 -device pcie-root-port,id=port2,slot=2"
	VM_QEMU_ARGS+=" -device nvme,id=lower,serial=lower,bus=port1 -device nvme,id=other,serial=other,bus=port2"
	for i in 1 2; do
		VM_QEMU_ARGS+=" -drive file=$work/disk$i,if=none,id=disk$i,format=raw,cache=unsafe"
		VM_QEMU_ARGS+=" -device nvme-ns,drive=disk$i,bus=lower,nsid=$i"
	done
	VM_QEMU_ARGS+=" -drive file=$work/disk3,if=none,id=disk3,format=raw,cache=unsafe -device nvme-ns,drive=disk3,bus=other,nsid=1"
	VM_QEMU_ARGS+=" -qmp unix:$work/qmp,server=on,wait=off"
	export VM_QEMU_ARGS
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
		*) printf '%s\n' "$line" ;;
		esac
	done <"$work/lines"
}
# pt_guest NAME KERNEL SCRIPT [vm.sh options]
pt_guest() {
	local name="$1 on $2" kernel=$2 script=$3 reader
	shift 3
	disks
	pass_on &
	reader=$!
	guest "$name" "$kernel" "$script" -e MODULES="$modules" "$@" >"$work/lines"
	wait "$reader"
}

# Whatever a hostile peer sends, the emulator, which writes down each command it gets, must see none but those of the
# allow-list (Flush, Write, Read), and of admin commands only what hosts send to set up and to identify.
pt_peer() {
	disks
	VM_QEMU_ARGS+=" -D $work/commands -trace pci_nvme_io_cmd -trace pci_nvme_admin_cmd"
	rm -f "$work/commands"
	pass_on &
	local reader=$!
	guest "hostile peer on $1" "$1" passthru_peer -e MODULES="$modules" -t $((900 * times)) >"$work/lines"
	wait "$reader"
	opcodes pci_nvme_io_cmd >"$work/io"
	opcodes pci_nvme_admin_cmd >"$work/admin"
	if [ "$(cat "$work/io")" = "0x0 0x1 0x2" ]; then
		pass "hostile peer on $1: what is below sees Flush, Write and Read, and nothing else"
	else
		fail "hostile peer on $1: what is below sees Flush, Write and Read, and nothing else" "$(cat "$work/io")"
	fi
	# Delete and create queues, log pages, Identify, Abort, features, asynchronous events; the doorbell buffers that the
	# host sets up once for each of the two controllers.
	if [ -n "$(cat "$work/admin")" ] && ! tr ' ' '\n' <"$work/admin" | grep -qvxE '0x([01245689ac]|7c)' &&
		[ "$(grep -c '^pci_nvme_admin_cmd .* opc 0x7c ' "$work/commands")" -le 2 ]; then
		pass "  no admin command that could change it"
	else
		fail "  no admin command that could change it" "$(cat "$work/admin")"
	fi
}
opcodes() { grep "^$1 " "$work/commands" | sed -n 's/.* opc \(0x[0-9a-f]*\) .*/\1/p' | sort -u | tr '\n' ' ' | sed 's/ $//'; }

append=${VM_APPEND:-}
for kernel in ${kernels:-6.12 6.1}; do
	modules_for "$kernel" || continue
	tests=${named:-engines config local export nvmet peer life torture}
	case $named$kernel in 6.1) tests="engines config" ;; esac
	export VM_APPEND=$append slow=200 times=1
	# The crypto API's own tests of each of its drivers take minutes there.
	[ "$kernel" != debug ] || VM_APPEND="$append cryptomgr.noextratests=1" slow=1500 times=3
	wanted engines && guest "engines on $kernel" "$kernel" engines -e MODULES="$modules" -t $((600 * times))
	wanted config && pt_guest configuration "$kernel" passthru_config -t $((900 * times))
	wanted local && pt_guest "local use" "$kernel" passthru_local -t $((1200 * times))
	wanted life && pt_guest life "$kernel" passthru_life -t $((1200 * times)) -e ROUNDS="${ROUNDS:-1}"
	# The checkers' own memory is refused, too.
	[ "$kernel" = debug ] && wanted failslab && pt_guest "failing allocations" debug passthru_failslab -t 1700 \
		-w 'kmemleak: Cannot allocate|DMA-API: cacheline tracking ENOMEM' \
		-e FAIL_MOST="${FAIL_MOST:-40}"
	[ "$kernel" = 6.1 ] && continue		# Debian's 6.1 has no nvmet passthru
	wanted export && pt_guest export "$kernel" passthru_export -t $((1500 * times))
	wanted nvmet && pt_guest "behind the inbox target" "$kernel" passthru_nvmet -t $((600 * times))
	wanted peer && pt_peer "$kernel"
	wanted torture && pt_guest torture "$kernel" passthru_torture -t $((${TORTURE_SECONDS:-60} + slow)) \
		-e TORTURE_SECONDS="${TORTURE_SECONDS:-60}"
done
finish
