# SPDX-License-Identifier: BSD-2-Clause
# The guest without anything of ours: the inbox target on a file, the inbox host by nvme-cli, fio between them. If this
# fails, the guest is at fault and not what is tested in it.
. "$(dirname "$0")/lib.inc"
nqn=nqn.2014-08.org.nvmexpress:uuid:6b1f0c6e-0000-4000-8000-000000000001

load_host
modprobe nvmet-tcp || { fail "the inbox target loads"; finish; }
mount -t configfs configfs /sys/kernel/config
cd /sys/kernel/config/nvmet || finish
truncate -s 64M "$work/disk"
losetup /dev/loop0 "$work/disk" 2>/dev/null || { modprobe loop; losetup /dev/loop0 "$work/disk"; }
mkdir "subsystems/$nqn" "subsystems/$nqn/namespaces/1" ports/1
echo 1 >"subsystems/$nqn/attr_allow_any_host"
echo /dev/loop0 >"subsystems/$nqn/namespaces/1/device_path"
echo 1 >"subsystems/$nqn/namespaces/1/enable"
echo tcp >ports/1/addr_trtype
echo ipv4 >ports/1/addr_adrfam
echo 127.0.0.1 >ports/1/addr_traddr
echo 4420 >ports/1/addr_trsvcid
ln -s "$PWD/subsystems/$nqn" ports/1/subsystems/

says "nvme discover finds the inbox target" "subnqn: *$nqn" nvme discover -t tcp -a 127.0.0.1 -s 4420
ok "nvme connect" nvme connect -t tcp -a 127.0.0.1 -s 4420 -n "$nqn" -i 2
soon "  the node is a block device" 5 node_path "$nqn" 1
verify "fio verifies" "$(node_path "$nqn" 1)"
ok "nvme disconnect" nvme disconnect -n "$nqn"
soon "  the node is gone" 5 not node "$nqn" 1
finish
