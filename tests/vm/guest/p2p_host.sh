# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-p2pdma on a processor whose host bridge is known to forward between its root ports: a controller below another one may use
# the CMB, after the self-test, and what it copies is right.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/debug.inc"
. "$here/p2p.inc"

p2p_load
is "the processor is one of the list" AuthenticAMD "$(sed -n 's/^vendor_id[^A-Z]*//p' /proc/cpuinfo | head -n 1)"
mkdir -p "$work/root/dev"
ln -s /sys "$work/root/sys"
says "below another root port: allowed, by sysfs" 'verdict: yes: through the host bridge pci0000:00, which is known' \
	"$ACCEL" p2p why --root="$work/root" "$(ctrl_of "$cmb")" "$(ctrl_of "$far")"
verdict "  by the module" "$far" allowed=1 reason=0 path=3 common=pci0000:00 selftest=0
reason "  with the way" 'through host bridge pci0000:00, which is known to forward'
says "  the self-test agrees" 'allowed=1 .*selftest=1 .*error=0' "$p2p" why 0 "$far" test
ok "data" fill "$far" 8
ok "a copy from there" "$p2p" copy "$far:0" "$b:0" $((8 << 20))
ok "  every byte is right" same_bytes "$far" "$b" $((8 << 20))
fill "$a" 8
ok "a copy to there" "$p2p" copy "$a:0" "$far:0" $((8 << 20))
ok "  every byte is right" same_bytes "$a" "$far" $((8 << 20))
json "  by accel" "x['way'] == 'slots' and x['p2p_share'] == 1" "$ACCEL" p2p copy --no-fallback -o json "$far:0:1M" "$b"
verdict "below the switch the way is the switch's" "$a" allowed=1 path=2
ok "the module goes" p2p_unload
finish
