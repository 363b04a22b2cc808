# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-p2pdma with allow_user_pages=1: CMB pages in programs, and what becomes of them when the provider goes.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/p2p.inc"

p2p_load allow_user_pages=1
is "the kernel is tainted" 64 $(($(cat /proc/sys/kernel/tainted) & 64))
is "the node is root's alone" "600 root" "$(stat -c '%a %U' /dev/nvme-accel-p2p)"
chmod 666 /dev/nvme-accel-p2p
fails "  whatever its mode" 'EPERM' setpriv --reuid=65534 --clear-groups "$p2p" info
says "the tier" 'features=7 tier=3' "$p2p" info
fill "$a" 4
timeout 120 "$P2P/p2p_user" "$a" "$b" >"$work/user" 2>&1
rc=$?
cat "$work/user"
is "all of that" 0 $rc
soon "nothing is left" 20 has sets 0

pci=$(pci_of "$cmb")
"$P2P/p2p_user" "$a" touch >"$work/touch" 2>&1 &
toucher=$!
soon "a program reads into the CMB without end" 30 grep -q mapped "$work/touch"
ok "the provider is unbound meanwhile" timeout 60 bash -c "echo $pci >/sys/bus/pci/drivers/nvme/unbind"
wait $toucher
is "  the program gets SIGBUS" 3 $?
soon "  no provider" 20 not provider
ok "  bound again" bash -c "echo $pci >/sys/bus/pci/drivers/nvme/bind"
soon "  it is found" 60 provider

"$P2P/p2p_user" "$a" touch >"$work/touch" 2>&1 &
toucher=$!
soon "another one" 30 grep -q mapped "$work/touch"
kill -KILL $toucher
wait $toucher 2>/dev/null
soon "is killed: nothing is left" 30 has sets 0
ok "the module goes" p2p_unload
finish
