# SPDX-License-Identifier: BSD-2-Clause
# The target of two guests: an engine and the emulator's namespace in one virtual controller, over TCP and RDMA.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/two.inc"

wire $target_ip
pt_load
modprobe nvme
modprobe nvmet-tcp && modprobe nvmet-rdma || { fail "the inbox target loads"; finish; }
within 30 by_serial disk || { fail "the emulator's controller is there"; finish; }
mkdir "$cfs/two"
ok "an engine" pt_engine two 1 all
ok "a namespace of the emulator's" pt_lower two 2 "$(by_serial disk)" 1
ok "a virtual controller of both" pt_up two
soon "  its nodes" 30 pt_has two 2
soon "  " 30 pt_has two 1
tell_vendor "$(pt_node two 1)" engine
ok "the inbox target takes it" pt_export two $far 0
ok "  a TCP port" pt_port 1 tcp $target_ip 4420 $far
ok "  an RDMA port" pt_port 2 rdma $target_ip 4421 $far
patience=300
ok "the host works, and says when it has done" /usr/bin/python3 -I -S -c "import socket
s = socket.create_server(('$target_ip', $bye_port))
s.settimeout(280)
s.accept()"
is "  nothing is in flight" "0 0" "$(pt_stat two 1 inflight) $(pt_stat two 2 inflight)"
is "  nothing was refused" 0 "$(pt_sum "$dbg/two/2/stats" 'refused_*')"
ok "ports go" pt_unport 1
ok "  " pt_unport 2
ok "the subsystem goes" pt_unexport $far
ok "the controller goes" pt_rm two
ok "the module goes" pt_unload
finish
