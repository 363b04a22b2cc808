# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-p2pdma and accel p2p where bridges below the switch have Access Control Services: whoever is behind one that redirects is
# refused, by the module and by sysfs alike, and the bridge is named; the others are not; what is turned off again counts no more.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/debug.inc"
. "$here/p2p.inc"

bridge_of() { basename "$(dirname "$(readlink -f "/sys/bus/pci/devices/$(pci_of "$1")")")"; }
# Both judges: the module, and accel by sysfs where there is no node of the module's.
mkdir -p "$work/root/dev"
ln -s /sys "$work/root/sys"
by_sysfs() { "$ACCEL" p2p why --root="$work/root" "$(ctrl_of "$cmb")" "$(ctrl_of "$1")"; }
refused() { # NAME DISK BRIDGE
	verdict "$1: refused, and the bridge is named" "$2" allowed=0 reason=7 path=2 acs="$3"
	reason "  with the way out" "disable_acs_redir=$3"
	run by_sysfs "$2"
	is "  by sysfs, too" "1 yes" "$rc $(grep -q "^verdict: no: the bridge $3 redirects" "$work/out" && echo yes)"
}
allowed() {
	verdict "$1: allowed" "$2" allowed=1 reason=0 path=2 acs=
	says "  by sysfs, too" '^verdict: yes' by_sysfs "$2"
}

p2p_load
at_cmb=$(bridge_of "$cmb") at_a=$(bridge_of "$a") at_b=$(bridge_of "$b")
for bridge in $at_cmb $at_a $at_b; do is "the bridge $bridge has ACS, and it is off" 0x00 "$("$p2p" acs "$bridge" 0)"; done
allowed "without redirection" "$a"
fill "$a" 2
# Source validation and upstream forwarding redirect nothing between peers; request, completion redirect and egress control do.
"$p2p" acs "$at_a" 0x11 >/dev/null
allowed "source validation and upstream forwarding" "$a"
for bit in 0x04 0x08 0x1d; do
	is "ACS control $bit at the client's port" $bit "$("$p2p" acs "$at_a" $bit)"
	refused "  the client" "$a" "$at_a"
	allowed "  the other one" "$b"
done
fails "a copy from there is refused" 'COPY: EOPNOTSUPP' "$p2p" copy "$a:0" "$b:0" 4096
fails "  and to there" 'COPY: EOPNOTSUPP' "$p2p" copy "$b:0" "$a:0" 4096
fails "  also by accel" "$at_a" "$ACCEL" p2p copy --no-fallback "$a:0:1M" "$b"
ok "  which goes through memory otherwise" "$ACCEL" p2p copy "$a:0:2M" "$b"
ok "  every byte is right" same_bytes "$a" "$b" $((2 << 20))
ok "others go on" "$p2p" copy "$b:0" "$cmb:0" $((1 << 20))
"$p2p" acs "$at_a" 0 >/dev/null
"$p2p" acs "$at_cmb" 0x1d >/dev/null
refused "at the provider's port: the client" "$a" "$at_cmb"
refused "  and the other one" "$b" "$at_cmb"
verdict "  but not the provider itself" "$cmb" allowed=1 path=1
"$p2p" acs "$at_cmb" 0 >/dev/null
allowed "turned off again" "$a"
ok "  copies are right" "$p2p" copy "$a:0" "$b:0" $((2 << 20))
ok "  every byte" same_bytes "$a" "$b" $((2 << 20))
ok "the module goes" p2p_unload
finish
