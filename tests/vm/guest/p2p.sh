# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-p2pdma: what it finds, whom it refuses, copies in which every byte is compared, wrong arguments.
# MIB: of the copy that is traced outside. CALLS: random ones.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/debug.inc"
. "$here/p2p.inc"
mib=${MIB:-16}
bytes=$((mib << 20))

find_it() {
	p2p_load
	leaks_begin
	says "one provider, ready, with its CMB" "^id=1 pci=$(pci_of "$cmb") ctrl=$(ctrl_of "$cmb") kind=2 state=1 size=67108864" "$p2p" list
	says "  no jobs, no bytes" "sets=0 jobs=0 in=0 out=0 .* ok=0 failed=0 losses=0" "$p2p" list
	case $(uname -r) in
	*-accel-debug) says "  the tier of a kernel with p2pdma" "version=1 features=11 tier=1 providers=1" "$p2p" info ;;
	*) says "  the tier" "version=1 features=3 tier=2 providers=1" "$p2p" info ;;
	esac
	is "  the node is root's and its group's" "660 root" "$(stat -c '%a %U' /dev/nvme-accel-p2p)"
}

verdicts() {
	verdict "below the switch: allowed" "$a" allowed=1 reason=0 path=2 distance=3 iommu=0 selftest=0 acs=
	reason "  with the way" 'reaches the CMB of .* below the switch at .*; no ACS redirect; no IOMMU'
	verdict "by its PCI address" "$(pci_of "$b")" allowed=1 path=2
	verdict "the provider itself" "$cmb" allowed=1 path=1
	verdict "below another root port: refused" "$far" allowed=0 reason=8 path=3 common=pci0000:00
	reason "  with the way out" 'which is not known to forward; put both below one PCIe switch'
	says "self-test" 'allowed=1 .*selftest=1 .*error=0' "$p2p" why 0 "$a" test
	fails "a copy from there is refused" 'COPY: EOPNOTSUPP' "$p2p" copy "$far:0" "$b:0" 4096
	is "  and counted" 1 "$(sed -n 's/^refused //p' $dbg/*/stats)"
}

# A place in the emulator's trace: it writes down Verify commands with their first block.
mark() { "$p2p" mark "$far" "$1" || fail "the emulator's trace is marked" "$1"; }

# What goes through memory once, the self-test, is over before the addresses are looked at.
copies() {
	echo "##bar $(field addr)"
	ok "data" fill "$a" "$mib"
	ok "a first copy: both directions are tested" "$p2p" copy "$a:0" "$b:0" 1048576
	is "  once" "$(pci_of "$a") in $(pci_of "$b") both" "$(sort $dbg/*/pairs | tr '\n' ' ' | sed 's/ $//')"
	fill "$b" "$mib"
	mark 1
	ok "$mib MiB from disk to disk" "$p2p" copy "$a:0" "$b:0" $bytes slots=4 bytes=1048576
	mark 2
	is "  all of it there, by the CMB" "$bytes $bytes $bytes 0" \
		"$(value done "$work/out") $(value in "$work/out") $(value out "$work/out") $(value memory "$work/out")"
	ok "  every byte is right" same_bytes "$a" "$b" $bytes
	mark 3
	ok "the ordinary way" dd if="$a" of="$b" bs=1M count="$mib" iflag=direct oflag=direct status=none
	mark 4
	ok "in pieces, small chunks, an odd end" "$p2p" copy "$a:4096" "$b:8192" $(((4 << 20) + 512)) extents=7 slots=3 bytes=65536 chunk=12288
	ok "  every byte is right" cmp -n $(((4 << 20) + 512)) -i 4096:8192 "$a" "$b"
	ok "from the provider's own namespace" "$p2p" copy "$b:0" "$cmb:0" $((4 << 20))
	ok "  every byte is right" same_bytes "$b" "$cmb" $((4 << 20))
	# What a program has written and not flushed is the source; what it has read before is not what it reads after.
	dd if="$b" of=/dev/null bs=64k count=4 status=none
	dd if=/dev/urandom of="$a" bs=64k count=4 conv=notrunc status=none
	ok "with the page cache in between" "$p2p" copy "$a:0" "$b:0" 262144
	ok "  every byte is right" same_bytes "$a" "$b" 262144
	fails "a time limit" 'state=3 error=ETIMEDOUT' "$p2p" copy "$a:0" "$b:0" $bytes timeout=1 chunk=4096
	fails "cancelled" 'state=4 error=ECANCELED' "$p2p" copy "$a:0" "$b:0" $bytes cancel=1 chunk=4096
}

# Two processes; all slots taken; whoever dies leaves nothing.
sharing() {
	"$p2p" copy "$a:0" "$b:0" $bytes slots=3 >"$work/two" 2>&1 &
	ok "two processes copy at once" "$p2p" copy "$a:0" "$cmb:0" $bytes slots=3
	wait $!
	is "  both" OK "$([ "$(value state "$work/two")" = 2 ] && echo OK)"
	ok "  every byte is right" same_bytes "$a" "$b" $bytes
	ok "  " same_bytes "$a" "$cmb" $bytes
	"$p2p" hold 15 $((4 << 20)) >"$work/held" &
	soon "another takes nearly all" 30 grep -q held "$work/held"
	fails "no slots are left: a clear error" 'ALLOC: ENOSPC' "$p2p" copy "$a:0" "$b:0" 4096 slots=4 bytes=1048576
	kill -KILL $!
	wait $! 2>/dev/null
	soon "it is killed: all is free" 30 has sets 0
	ok "  and can be used" "$p2p" copy "$a:0" "$b:0" 4096 slots=4 bytes=1048576
}

wrong() {
	timeout 300 "$P2P/p2p_args" "$a" "$b" "$far" "${CALLS:-300}" >"$work/args" 2>&1
	rc=$?
	grep -E '^(ok|not ok|#)' "$work/args"
	is "wrong arguments: all told" 0 $rc
	soon "  nothing is left of them" 60 has sets 0
	has jobs 0 || fail "  no job is left" "$("$p2p" list)"
}

find_it
verdicts
copies
sharing
wrong
ok "the module goes" p2p_unload
is "  and its node" "" "$(ls /dev/nvme-accel-p2p 2>/dev/null)"
leaks "nothing has leaked"
finish
