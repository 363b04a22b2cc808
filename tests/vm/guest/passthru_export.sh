# SPDX-License-Identifier: BSD-2-Clause
# Virtual controllers exported by the inbox target to the inbox host of the same guest: loop, TCP, RDMA; accelerators of
# acceld through both layers, and engines.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
. "$here/verbs.inc"
. "$here/passthru_verbs.inc"
# One block device for each controller: two hosts are two, and not two paths of one.
multipath=N
far=nqn.2026-11.local.accel:far
far_soft=nqn.2026-11.local.accel:far-soft

# ctrl_node CONTROLLER NSID: its block device
ctrl_node() {
	local n x
	for n in /sys/class/nvme/"$1"/nvme*n*; do
		n=${n##*/}
		{ read -r x <"/sys/block/$n/nsid"; } 2>/dev/null && [ "$x" = "$2" ] && [ -b "/dev/$n" ] && { echo "/dev/$n"; return 0; }
	done
	return 1
}
far_nodes() {
	local i
	for i in 1 2 3 4 5 6 7 8 16; do ctrl_node "$1" $i >/dev/null || return 1; done
}

make_lower() {
	configure 127.0.0.1:4420
	# shellcheck disable=SC2086 # a list of words
	namespaces $every_kind 8=all:slots=2 >>"$conf"
	start_daemon
	ok "acceld below: nvme connect" connect -i 2
	soon "  its nodes" 30 node_path "$nqn" 16
	fabric=$(controllers "$nqn")
	mkdir "$cfs/net" "$cfs/soft"
	for i in 1 2 3 4 5 6 7 8 16; do pt_lower net $i "$fabric" $i || fail "namespace $i above"; done
	for i in 1=compression 4=digest 5=checksum 7=all; do pt_engine soft "${i%=*}" "${i#*=}" || fail "engine $i"; done
	ok "a virtual controller of its namespaces" pt_up net
	ok "one of engines" pt_up soft
	soon "  nodes" 30 pt_has net 16
}

make_targets() {
	modprobe nvmet-tcp && modprobe nvme-loop || { fail "the inbox target loads"; finish; }
	ok "the inbox target takes the virtual controller" pt_export net $far
	ok "  and that of engines" pt_export soft $far_soft
	ok "  a TCP port" pt_port 1 tcp 127.0.0.1 4421 $far $far_soft
	ok "  a loop port" pt_port 2 loop "" "" $far $far_soft
}

# seen_from_afar NAME CONTROLLER: what one host sees and does
seen_from_afar() {
	local name=$1 c=$2 i d
	soon "$name: all namespaces are block devices" 30 far_nodes "$c"
	for i in 1 7 16; do
		is "  the vendor's bytes of namespace $i are those of acceld's" "$(vendor "/dev/$fabric" $i)" "$(vendor "$(ctrl_node "$c" $i)")"
	done
	d=$(ctrl_node "$c" 16)
	[ -b "$d" ] || { fail "  the memory is a block device"; return; }
	verify "  fio verifies through both layers" "$d" --size=4M
	verify "  mixed sizes" "$d" --bs=4k-512k --rw=randrw --size=8M
	ok "  selftest of an accelerator" "$ACCEL" selftest -d "$(ctrl_node "$c" 7)"
	ok "  compress, gunzip reads it" job_compress "$(ctrl_node "$c" 1)"
	ok "  digest by the generic node" job_digest "$(generic "$(ctrl_node "$c" 4)")"
}

by_loop() {
	ok "loop: nvme connect" nvme connect -t loop -n $far
	seen_from_afar loop "$(controllers $far)"
	ok "  nvme disconnect" nvme disconnect -n $far
	soon "  no node is left" 30 not node $far 16
}

by_tcp() {
	ok "TCP: nvme connect" nvme connect -t tcp -a 127.0.0.1 -s 4421 -n $far -i 2
	seen_from_afar TCP "$(controllers $far)"
	nqn_was=$nqn
	nqn=$far
	verbs_all block
	verbs_leases
	nqn=$nqn_was
	ok "  nvme disconnect" nvme disconnect -n $far
}

engines_by_tcp() {
	local c
	ok "engines by TCP: nvme connect" nvme connect -t tcp -a 127.0.0.1 -s 4421 -n $far_soft -i 2
	soon "  nodes" 30 node_path $far_soft 7
	c=$(controllers $far_soft)
	for i in 1 7; do
		is "  the vendor's bytes of engine $i are those of the virtual controller's" "$(vendor "$(pt_node soft $i)")" \
			"$(vendor "$(ctrl_node "$c" $i)")"
	done
	ok "  compress, gunzip reads it" job_compress "$(ctrl_node "$c" 1)"
	ok "  digest" job_digest "$(ctrl_node "$c" 4)"
	ok "  selftest" "$ACCEL" selftest -d "$(ctrl_node "$c" 7)"
	ok "  nvme disconnect" nvme disconnect -n $far_soft
}

# as_host HOSTNQN HOSTID: nvme-cli 2.3 knows only one host on a machine
as_host() {
	printf 'transport=tcp,traddr=127.0.0.1,trsvcid=4421,nqn=%s,nr_io_queues=2,hostnqn=%s,hostid=%s\n' $far "$1" "$2" >/dev/nvme-fabrics
}

# Two hosts with leases on one accelerator.
two_hosts() {
	local a b h=nqn.2014-08.org.nvmexpress:uuid:6b1f0c6e-0000-4000-8000-0000000000
	for i in 01 02; do
		ok "host $i connects" as_host $h$i 6b1f0c6e-0000-4000-8000-0000000000$i
	done
	# shellcheck disable=SC2046
	set -- $(controllers $far)
	is "  two controllers" 2 $#
	soon "  nodes of the first" 30 far_nodes "$1"
	soon "  nodes of the second" 30 far_nodes "$2"
	a=$(ctrl_node "$1" 7) b=$(ctrl_node "$2" 7)
	run "$ACCEL" lock "$a" -- "$ACCEL" lock -n "$b" -- true
	is "  the second is told that the first has the lock" 4 "$rc"
	run "$ACCEL" lock "$b" -- "$ACCEL" lock -n "$a" -- true
	is "  and the other way round" 4 "$rc"
	load a job_digest "$a"
	load b job_digest "$b"
	load c job_compress "$(ctrl_node "$1" 1)"
	load d job_compress "$(ctrl_node "$2" 1)"
	for i in a b c d; do soon "  both work at once ($i)" 40 more $i; done
	unload "jobs of two hosts" all 60
	is "  no lease is left" "no leases" "$("$ACCEL" lease list "$a")"
	ok "  nvme disconnect" nvme disconnect -n $far
	soon "  no node is left" 30 not node $far 16
}

by_rdma() {
	modprobe rdma_rxe && modprobe nvmet-rdma && modprobe nvme-rdma || { fail "RDMA loads"; return; }
	modprobe veth
	ip link add rdma0 type veth peer name rdma1
	ip link set rdma0 up
	ip link set rdma1 up
	ip addr add 10.99.0.1/24 dev rdma0
	ok "RDMA: soft RoCE over a veth" rdma link add rxe0 type rxe netdev rdma0
	ok "  an RDMA port" pt_port 3 rdma 10.99.0.1 4422 $far
	ok "  nvme connect" nvme connect -t rdma -a 10.99.0.1 -s 4422 -n $far -i 2
	seen_from_afar RDMA "$(controllers $far)"
	ok "  nvme disconnect" nvme disconnect -n $far
	soon "  no node is left" 30 not node $far 16
	ok "  the port goes" pt_unport 3
}

# The virtual controller goes while it is exported and used.
taken_away() {
	local c pid
	ok "nvme connect" nvme connect -t tcp -a 127.0.0.1 -s 4421 -n $far -i 2 -l 3
	soon "  nodes" 30 node_path $far 16
	c=$(controllers $far)
	timeout 300 fio --name=v --filename="$(ctrl_node "$c" 16)" --allow_file_create=0 --direct=1 --rw=randwrite --bs=4k --size=16M \
		--ioengine=libaio --iodepth=32 --time_based --runtime=290 --minimal >"$work/fio" 2>&1 &
	pid=$!
	sleep 2
	ok "a namespace goes while a remote host uses it" put net/namespaces/16/enable 0
	soon "  its commands end" 30 not kill -0 $pid
	wait $pid
	ok "  the others work" job_digest "$(ctrl_node "$c" 4)"
	ok "  an accelerator goes, too" put net/namespaces/1/enable 0
	fails "    the command says so" 'the device is gone' "$ACCEL" info "$(ctrl_node "$c" 1)"
	fails "    by the generic node, too" 'the device is gone' "$ACCEL" info "$(generic "$(ctrl_node "$c" 1)")"
	ok "  " put net/namespaces/1/enable 1
	ok "  it comes again" put net/namespaces/16/enable 1
	ok "  a rescan finds it" nvme ns-rescan "/dev/$c"
	soon "  " 30 ctrl_node "$c" 16
	verify "  fio verifies" "$(ctrl_node "$c" 16)" --size=1M
	load away job_digest "$(ctrl_node "$c" 4)"
	soon "the controller is disabled while a remote host uses it: jobs" 40 more away
	ok "  disabled" timeout 60 sh -c "echo 0 >$cfs/net/enable"
	unload "  jobs end" some 60
	nvme disconnect -n $far >/dev/null
	soon "  no node is left" 20 not node $far 16
}

leaks_begin
pt_load
load_host
load_files
make_lower
make_targets
by_loop
by_tcp
engines_by_tcp
two_hosts
by_rdma
taken_away
ok "ports go" pt_unport 1
ok "  " pt_unport 2
ok "subsystems go" pt_unexport $far
ok "  " pt_unexport $far_soft
ok "controllers go" pt_rm net
ok "  " pt_rm soft
ok "the module goes" pt_unload
ok "nvme disconnect" disconnect
stop_daemon
[ "$bad" -eq 0 ] || sed 's/^/# acceld: /' "$log" | tail -n 20
leaks "nothing has leaked"
finish
