# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-p2pdma with an IOMMU. MODE: identity (copies work) or translated (who has no p2pdma of the kernel's is refused, and told
# the way out).
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/debug.inc"
. "$here/p2p.inc"

copies() {
	fill "$a" 8
	ok "copies" "$p2p" copy "$a:0" "$b:0" $((8 << 20))
	ok "  every byte is right" same_bytes "$a" "$b" $((8 << 20))
}
refused() { # NAME PATTERN
	reason "  $1" "$2"
	fails "  a copy is refused" 'COPY: EOPNOTSUPP' "$p2p" copy "$a:0" "$b:0" 4096
}

p2p_load
case $MODE in
identity)
	verdict "an IOMMU that passes through: allowed" "$a" allowed=1 iommu=1
	reason "  and told" 'IOMMU passes through'
	copies
	;;
translated)
	if debug_kernel; then		# its p2pdma uses the BAR's own addresses
		verdict "an IOMMU that translates, and p2pdma of the kernel's: allowed" "$a" allowed=1 iommu=2
		copies
	else
		verdict "an IOMMU that translates: refused" "$a" allowed=0 reason=10 iommu=2
		refused "the way out" 'start the kernel with iommu=pt'
		verdict "  the provider itself, too" "$cmb" allowed=0 reason=10
	fi
	;;
esac
ok "the module goes" p2p_unload
finish
