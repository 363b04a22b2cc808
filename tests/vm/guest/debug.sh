# SPDX-License-Identifier: BSD-2-Clause
# The debug kernel itself: its checkers are on; NVMe over TCP, loop and RDMA work on it; failures are injected and leaks found.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/debug.inc"

# enabled OPTION...: that are not, are printed
enabled() {
	local o
	for o in "$@"; do zcat /proc/config.gz | grep -qE "^CONFIG_$o=[ym]" || echo "$o"; done
}
checkers() {
	ok "it is the debug kernel" debug_kernel
	is "options are on" "" "$(enabled KASAN_GENERIC PROVE_LOCKING DEBUG_ATOMIC_SLEEP DEBUG_OBJECTS_TIMERS UBSAN_SHIFT \
		DMA_API_DEBUG_SG FAIL_PAGE_ALLOC PCI_P2PDMA CRYPTO_MANAGER_EXTRA_TESTS)"
	ok "  the memory is watched from the start" sh -c 'dmesg | grep -q "kasan: KernelAddressSanitizer initialized"'
	ok "  locks are checked" grep -Eq '^ debug_locks: +1' /proc/lockdep_stats
	ok "  DMA mappings are checked" grep -q N /sys/kernel/debug/dma-api/disabled
}

tcp_daemon() {
	load_host
	configure 127.0.0.1:4420
	namespaces 1=digest 16=ram:size=16M >>"$conf"
	start_daemon
	ok "acceld and the inbox host over TCP: connect" connect -i 2
	soon "  the node is a block device" 20 node_path "$nqn" 16
	verify "  fio verifies" "$(node_path "$nqn" 16)" --size=1M --bs=16k
	load_files
	ok "  a job is right" job_digest "$(node_path "$nqn" 1)"
	ok "  disconnect" disconnect
	stop_daemon
}

target() {
	ok "the inbox target loads: loop, TCP, RDMA" modprobe -a nvmet nvme-loop nvmet-tcp nvmet-rdma nvme-rdma loop
	mount -t configfs configfs /sys/kernel/config
	ok "  it can pass a controller on" test -d /sys/kernel/config/nvmet/subsystems
	truncate -s 16M "$work/disk"
	losetup /dev/loop0 "$work/disk"
	nqn=nqn.2026-11.local.accel:debug
	cd /sys/kernel/config/nvmet || finish
	mkdir "subsystems/$nqn" "subsystems/$nqn/namespaces/1" ports/1
	is "  passthrough is there" passthru "$(basename "subsystems/$nqn"/passthru)"
	echo 1 >"subsystems/$nqn/attr_allow_any_host"
	echo /dev/loop0 >"subsystems/$nqn/namespaces/1/device_path"
	echo 1 >"subsystems/$nqn/namespaces/1/enable"
}
# listen TRANSPORT [ADDRESS]: on port 1
listen() {
	echo "$1" >ports/1/addr_trtype
	if [ $# -gt 1 ]; then
		echo ipv4 >ports/1/addr_adrfam
		echo "$2" >ports/1/addr_traddr
		echo 4421 >ports/1/addr_trsvcid
	fi
	ln -s "$PWD/subsystems/$nqn" ports/1/subsystems/
}
loop_host() {
	listen loop
	ok "nvme-loop connects" nvme connect -t loop -n "$nqn"
	soon "  the node is a block device" 20 node_path "$nqn" 1
	ok "  disconnect" disconnect
	rm "ports/1/subsystems/$nqn"
}
# Soft RDMA on one end of a pair of virtual cards; the loopback card will not do.
rdma_host() {
	ok "soft RDMA over a pair of virtual cards" modprobe -a rdma_rxe veth
	ip link add va type veth peer name vb
	ip addr add 10.9.0.1/24 dev va
	ip link set va up
	ip link set vb up
	ok "  rdma link add" rdma link add rxe0 type rxe netdev va
	listen rdma 10.9.0.1
	ok "  nvme-rdma connects" nvme connect -t rdma -a 10.9.0.1 -s 4421 -n "$nqn" -i 1
	soon "  the node is a block device" 20 node_path "$nqn" 1
	ok "  disconnect" disconnect
	rm "ports/1/subsystems/$nqn"
}

open_null() { : </dev/null; }
failures() {
	local n=1 felt=0
	while [ "$n" -le 40 ] && fail_nth "$n" open_null 2>/dev/null; do
		[ "$rc" -eq 0 ] || felt=$((felt + 1))
		n=$((n + 1))
	done
	if [ "$felt" -gt 0 ] && [ "$n" -le 40 ]; then
		pass "fail_nth: each of the $((n - 1)) allocations of an open fails in turn, then none is left"
	else
		fail "fail_nth: allocations of an open fail in turn" "$((n - 1)) failed, $felt of them were felt"
	fi
	failslab_probability=100
	fails "failslab: an open fails" "Cannot allocate memory" failslab open_null
	ok "  afterwards it does not" open_null
	ok "  and no setting is left behind" grep -qx 0 /sys/kernel/debug/failslab/probability
}

kernel_leak() {
	leaks "what was done up to now has leaked nothing"
	modprobe kmemleak-test || { fail "the kernel's leak test loads"; return; }
	leaks_found kmemleak_test >"$work/leaks"
	if grep -q kmemleak_test "$work/leaks"; then
		pass "leaked memory is found, with who asked for it"
	else
		fail "leaked memory is found, with who asked for it" "$(head -n 20 "$work/leaks")"
	fi
}

leaks_begin
checkers
tcp_daemon
target
loop_host
rdma_host
failures
kernel_leak
finish
