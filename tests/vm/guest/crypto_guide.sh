# SPDX-License-Identifier: BSD-2-Clause
# Documentation/crypto.rst, word for word, with udev: dm-crypt and zswap use an accelerator of this kernel in less than five commands.
# Then what goes wrong for those who do otherwise.
here=$(dirname "$0")
guide=$(cd "$here/../../.." && pwd)/Documentation/crypto.rst
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
. "$here/crypto.inc"
. "$here/guide.inc"
. "$here/crypto_wrong.inc"

start_udev() {
	groupadd --system accel
	mkdir -p /run/udev/rules.d
	sed "s|@UDEVDIR@|$(dirname "$ACCEL")|" "$tree/dist/udev/59-accel.rules" >/run/udev/rules.d/59-accel.rules
	ok "udev" /lib/systemd/systemd-udevd --daemon
}
# As after a boot, and make modules_install; depmod would read all modules of the guest.
installed() {
	mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
	mkdir -p /etc/modprobe.d
	echo "install nvme-accel-crypto for i in $(modinfo -F depends "$MODULES/nvme-accel-crypto.ko" | tr , ' '); do modprobe \$i || exit 1; done;" \
		"insmod $MODULES/nvme-accel-crypto.ko" >/etc/modprobe.d/guide.conf
}
# few HEADING: the commands of its first block; the last of them shows counters, of which one is not 0
few() {
	local n
	follow "$1" 1
	n=$(wc -l <"$work/commands")
	if [ "$n" -gt 0 ] && [ "$n" -lt 5 ]; then pass "$1: $n commands"; else fail "$1: $n commands" "$(cat "$work/commands")"; fi
}
grown() {
	bash -c "$(tail -n 1 "$work/commands")" >"$work/now"
	if ! cmp -s "$work/said.before" "$work/now" && grep -qE "^$2: [1-9]" "$work/now"; then pass "$1"; else fail "$1" "$(cat "$work/now")"; fi
}

modprobe loop
leaks_begin
pt_load
start_udev
installed
cr_engine all
ok "  udev has seen it" udevadm settle -t 60
uuid=$(ls /dev/accel/by-uuid)
says "its UUID is listed" "$uuid" accel list -v

# ---- dm-crypt ----
truncate -s 32M "$work/volume"
head -c 64 /dev/urandom >"$work/key"
put_in="s|UUID|$uuid|; s| KEY | $work/key |; s| DEVICE | $(losetup -f --show "$work/volume") |"
: >"$work/said.before"
few dm-crypt
grown "  encrypted by the accelerator" encrypt_requests
ok "  fsck" fsck.ext4 -f -n /dev/mapper/vol
ok "  close" cryptsetup close vol

# ---- zswap ----
# In a group of processes with little memory, swapping to a disk of memory: more than there is of it.
if [ -d /sys/module/zswap ] && modprobe brd rd_nr=1 rd_size=65536 && mkswap /dev/ram0 >/dev/null && swapon /dev/ram0; then
	few zswap
	cp "$work/said" "$work/said.before"
	mkdir -p /run/cg
	mount -t cgroup2 cgroup2 /run/cg
	echo +memory >/run/cg/cgroup.subtree_control
	mkdir /run/cg/small
	echo 12M >/run/cg/small/memory.max
	patience=240
	says "  more memory than there is" '^pages [0-9]+$' sh -c \
		"echo \$\$ >/run/cg/small/cgroup.procs; exec /usr/bin/python3 '$here/crypto_pages.py' 12 1"
	patience=60
	grown "  compressed by the accelerator" comp_requests
	echo 0 >/sys/module/zswap/parameters/enabled
	echo lzo >/sys/module/zswap/parameters/compressor
	swapoff /dev/ram0
else
	skip "zswap" "this kernel has none, or no swap"
fi
ok "unbind" accel crypto unbind --all

wrong
pt_down all
pt_rm all
soon "rmmod" 60 rmmod nvme_accel_crypto
leaks "nothing has leaked"
finish
