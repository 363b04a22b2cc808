# SPDX-License-Identifier: BSD-2-Clause
# The debug kernel finds the faults that a module makes on purpose. faulty.sh MODULE; the guest must then end with status 97.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/debug.inc"

# found NAME FAULT PATTERN: the fault is made, and the kernel says so
found() {
	local said
	echo "faulty: $2 begins" >/dev/kmsg
	echo "$2" >/sys/module/nvme_accel_faulty/parameters/do
	said=$(dmesg | sed -n "/faulty: $2 begins/,\$p")
	if printf '%s\n' "$said" | grep -qE "$3"; then pass "$1"; else fail "$1" "$said"; fi
}

leaks_begin
ok "a module that was built against the debug kernel loads" insmod "$1"
ok "  it knows the private types of nvme-core" sh -c 'dmesg | grep -Eq "struct nvme_ctrl has [1-9][0-9]+ bytes"'
# What turns the checking of locks off comes after it.
found "UBSAN: a shift by too much" shift 'UBSAN: shift-out-of-bounds'
found "DEBUG_OBJECTS: a running timer is freed" timer 'ODEBUG: free active'
found "DEBUG_ATOMIC_SLEEP: what may sleep is called under a spinlock" sleep 'BUG: sleeping function called from invalid context'
found "lockdep: two orders of two locks" order 'possible circular locking'
found "KASAN: memory is used after it was freed" free 'BUG: KASAN: slab-use-after-free in do_free'
echo leak >/sys/module/nvme_accel_faulty/parameters/do
if leaks_found do_leak | grep -q do_leak; then pass "kmemleak: the leak, and who made it"; else fail "kmemleak: the leak, and who made it"; fi
finish
