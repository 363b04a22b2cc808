# SPDX-License-Identifier: BSD-2-Clause
# The inbox host in this guest, acceld outside: $1 is its port on the machine that runs the guest.
here=$(dirname "$0")
. "$here/lib.inc"
address=10.0.2.2 port=$1

load_host
load_files
says "nvme discover" "subnqn: *$nqn" nvme discover -t tcp -a $address -s "$port"
ok "nvme connect" connect -G -g
soon "  nodes" 10 node_path "$nqn" 16
d=$(node_path "$nqn" 4)
before=$(stat_of "$d" jobs)
ok "digest" job_digest "$d"
ok "compress, gunzip reads it" job_compress "$(node_path "$nqn" 1)"
ok "selftest" "$ACCEL" selftest -d "$(node_path "$nqn" 7)"
if [ "$(stat_of "$d" jobs)" -gt "${before:-0}" ]; then pass "the daemon outside has done it"; else fail "the daemon outside has done it"; fi
verify "fio verifies" "$(node_path "$nqn" 16)" --bs=64k
verify "fio verifies 1 MiB blocks" "$(node_path "$nqn" 16)" --bs=1M --size=32M
ok "nvme disconnect" disconnect
soon "  no node is left" 10 not ls /dev/ng*
finish
