# SPDX-License-Identifier: BSD-2-Clause
# What happens to virtual controllers under load: namespaces and controllers go and come, above and below are reset, the
# lower device is pulled, the lower connection ends. Every command above ends, soon after what it waited for.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
rounds=${ROUNDS:-1}

# writer NAME NODE: fio in the background; $work/fio.NAME, $work/fio.NAME.pid
writer() {
	timeout 900 fio --name=w --filename="$2" --allow_file_create=0 --direct=1 --rw=randrw --bs=4k-64k --size=16M --ioengine=libaio \
		--iodepth=16 --time_based --runtime=890 --minimal >"$work/fio.$1" 2>&1 &
	echo $! >"$work/fio.$1.pid"
}
alive() { kill -0 "$(cat "$work/fio.$1.pid")" 2>/dev/null; }
stop_writer() { # NAME: must be working
	if alive "$1"; then pass "  $1 goes on"; else fail "  $1 goes on" "$(cat "$work/fio.$1")"; fi
	kill -INT "$(cat "$work/fio.$1.pid")"
	soon "  $1 ends" 30 not alive "$1"
}
# Five seconds, and what a loaded machine needs to notice.
gone() { soon "  $1 ends" 20 not alive "$1"; }
# A namespace that comes again may have another node: pt_job JOB NSID looks each time.
pt_job() {
	local d
	d=$(pt_node up "$2") || { echo "no node of namespace $2" >&2; return 1; }
	"$1" "$d"
}
loads() {
	load digest pt_job job_digest 4
	load compress pt_job job_compress 1
	more digest && more compress || fail "jobs run" "$(cat "$work"/load.*.err 2>/dev/null)"
}
still() { # NAME: jobs go on
	soon "$1: digests go on" 40 more digest
	soon "  compressions go on" 40 more compress
}
settled() { pt_is up live; }

make_up() {
	mkdir "$cfs/up"
	pt_lower up 1 "$fabric" 1 && pt_lower up 4 "$fabric" 4 && pt_lower up 16 "$fabric" 16 && pt_lower up 20 "$lower" 1 &&
		pt_lower up 21 "$other" 1 && pt_engine up 30 digest && pt_up up
}
nodes_up() {
	local i
	for i in 1 4 16 20 21 30; do pt_has up $i || return 1; done
}

resets() {
	local i c
	loads
	load engine pt_job job_digest 30
	writer mem "$(pt_node up 16)"
	writer disk "$(pt_node up 20)"
	sleep 1
	for i in $(seq $((rounds + 1))); do
		ok "the upper controller is reset, $i" nvme reset "/dev/$(pt_name up)"
		soon "  live" 20 settled
	done
	still "after resets"
	soon "  engines, too" 40 more engine
	stop_writer mem
	stop_writer disk
	writer mem "$(pt_node up 16)"
	writer disk "$(pt_node up 20)"
	sleep 1
	for c in "$lower" "$fabric"; do
		ok "the controller below is reset ($c)" nvme reset "/dev/$c"
		soon "  live" 20 test "$(cat "/sys/class/nvme/$c/state")" = live
		soon "  so is the one above" 20 settled
		still "after that"
	done
	# What was on its way is sent again; jobs may lose their lease, with a clear message, and none hangs.
	unload "jobs while controllers are reset" some 60
	stop_writer mem
	stop_writer disk
}

namespaces_go() {
	local i
	loads
	for i in $(seq "$rounds"); do
		writer mem "$(pt_node up 16)"
		load engine$i pt_job job_digest 30
		sleep 1
		ok "namespaces go under load, $i" put up/namespaces/16/enable 0
		ok "  an engine, too" put up/namespaces/30/enable 0
		gone mem
		soon "  no node" 30 not pt_has up 16
		ok "  they come again" put up/namespaces/16/enable 1
		ok "  " put up/namespaces/30/enable 1
		soon "  nodes" 30 nodes_up
		soon "  the engine works" 40 more engine$i
	done
	still "the others"
	writer mem "$(pt_node up 16)"
	sleep 1
	ok "a namespace is taken away under load" rmdir "$cfs/up/namespaces/16"
	gone mem
	still "the others"
	unload "jobs while namespaces go" some 60
}

controller_goes() {
	local i
	for i in $(seq "$rounds"); do
		loads
		writer disk "$(pt_node up 20)"
		sleep 1
		ok "the controller is disabled under load, $i" timeout 30 bash -c "echo 0 >$cfs/up/enable"
		gone disk
		unload "  jobs end" some 30
		is "  no node is left" "" "$(pt_name up)"
		ok "  enabled again" pt_up up
		soon "  nodes" 30 nodes_but_16
	done
	loads
	writer disk "$(pt_node up 20)"
	sleep 1
	ok "the controller is taken away under load" timeout 60 bash -c "rmdir $cfs/up/namespaces/* $cfs/up"
	gone disk
	unload "  jobs end" some 30
	ok "  the module goes" pt_unload
	ok "  and comes" insmod "$MODULES/nvme-accel-passthru.ko"
	ok "  the controller is made anew" make_up
	soon "  nodes" 30 nodes_up
}
nodes_but_16() {
	local i
	for i in 1 4 20 21 30; do pt_has up $i || return 1; done
}

# The emulator's controller is pulled while it is written to.
pulled() {
	writer pulled "$(pt_node up 21)"
	writer disk "$(pt_node up 20)"
	loads
	sleep 1
	alive pulled || fail "fio runs" "$(cat "$work/fio.pulled")"
	echo "##qmp device_del id=other"
	soon "a lower controller is pulled: it goes" 20 not by_serial other
	gone pulled
	still "the others"
	stop_writer disk
	unload "jobs while a controller is pulled" all 60
	run dd if="/dev/$(node "$(pt_nqn up)" 21)" of=/dev/null bs=4k count=1 iflag=direct
	if [ "$rc" -ne 0 ] && [ "$rc" -lt 124 ]; then pass "  what is left of it answers with errors"; else fail "  what is left of it answers with errors" "$rc"; fi
	ok "  it is taken away" rmdir "$cfs/up/namespaces/21"
}

# A command that waits for what is below is offered again and again, and counts once against a rate. This one costs a second, so
# that a try that was charged for would make the next one be throttled.
waits_free() {
	local limit=up/namespaces/16/max_bytes_per_sec throttled reader
	put $limit 65536
	throttled=$(pt_stat up 16 throttled)
	timeout 100 dd if="$(pt_node up 16)" of=/dev/null bs=64k count=1 iflag=direct 2>/dev/null &
	reader=$!
	sleep 2
	ok "a command waits for acceld" kill -0 $reader
	is "  and is not charged for each try" "$throttled" "$(pt_stat up 16 throttled)"
	start_daemon
	soon "acceld below is killed and started again: the host connects" 30 paths 1
	soon "  the command ends" 30 not kill -0 $reader
	if wait $reader; then pass "  and well"; else fail "  and well" "dd: status $?"; fi
	put $limit 0
}

# acceld dies and comes back; then the connection below is ended.
fabric_goes() {
	loads
	kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null
	sleep 1
	waits_free
	still "after that"
	unload "jobs while acceld is away" some 60
	loads
	writer mem "$(pt_node up 16)"
	sleep 1
	ok "the lower connection is ended under load" disconnect
	gone mem
	sleep 1
	unload "  jobs end" some 30
	run timeout -k 3 20 "$ACCEL" digest -d "/dev/$(node "$(pt_nqn up)" 4)" "$ACCEL"
	if [ "$rc" -ne 0 ] && [ "$rc" -lt 124 ]; then pass "  later jobs fail at once"; else fail "  later jobs fail at once" "$rc"; fi
	ok "  the engine works" job_digest "$(pt_node up 30)"
}

leaks_begin
pt_load
modprobe nvme
load_host
load_files
configure 127.0.0.1:4420
namespaces 1=compression 4=digest 16=ram:size=64M >>"$conf"
start_daemon
ok "nvme connect" connect -i 2 -k 2 -c 1 -l 30
soon "  its nodes" 30 node_path "$nqn" 16
within 30 by_serial other || { fail "the emulator's controllers are there"; finish; }
lower=$(by_serial lower) other=$(by_serial other) fabric=$(controllers "$nqn")
ok "a controller of all kinds" make_up
soon "  its nodes" 30 nodes_up
resets
namespaces_go
controller_goes
pulled
fabric_goes
ok "the controller is taken away" pt_rm up
ok "the module goes" pt_unload
kill -TERM "$daemon"
[ "$bad" -eq 0 ] || sed 's/^/# acceld: /' "$log" | tail -n 20
leaks "nothing has leaked"
finish
