# SPDX-License-Identifier: BSD-2-Clause
# The target of two guests, by the commands of the administrator's guide.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/two.inc"
. "$here/guide.inc"

# As after make modules_install; depmod would read all modules of the guest.
mkdir -p /etc/modprobe.d
echo "install nvme-accel-passthru for i in $(modinfo -F depends "$MODULES/nvme-accel-passthru.ko" | tr , ' '); do modprobe \$i || exit 1; done;" \
	"insmod $MODULES/nvme-accel-passthru.ko" >/etc/modprobe.d/guide.conf
wire $target_ip
modprobe nvme
within 30 test -b /dev/nvme0n1 && within 30 test -b /dev/nvme1n1 || { fail "the emulator's controllers are there"; finish; }

follow "One compression accelerator to one host, over TCP" 1
n=$(wc -l <"$work/commands")
if [ "$n" -lt 10 ]; then pass "$n commands"; else fail "$n commands"; fi
grep '^nvme connect' "$work/said" >"$work/connect"
follow "Set-up 1: a card behind nvmet" 1
grep '^nvme connect' "$work/said" >>"$work/connect"
follow "Set-up 2: QAT, IAA or the CPU as a shared accelerator" 1
grep '^nvme connect' "$work/said" >>"$work/connect"
is "three commands for hosts" 3 "$(wc -l <"$work/connect")"
ok "a file for the next start of the machine" test -s /etc/nvme-accel/target.json
patience=300
ok "the host works, and says when it has done" /usr/bin/python3 -I -S -c "import socket
s = socket.create_server(('$target_ip', $bye_port))
for text in (open('$work/connect', 'rb').read(), b''):
    s.settimeout(280)
    c = s.accept()[0]
    c.sendall(text)
    c.close()"
patience=60
says "accel target show z" '^Exported at' accel target show z
for i in z cards qat; do
	ok "accel target unexport $i" accel target unexport $i
	ok "accel target delete $i" accel target delete $i
done
is "nothing is left" "" "$(ls $nvmet/subsystems; ls $nvmet/hosts; ls $nvmet/ports)"
ok "the module goes" pt_unload
finish
