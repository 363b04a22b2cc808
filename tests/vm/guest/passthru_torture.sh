# SPDX-License-Identifier: BSD-2-Clause
# Operations at random on two virtual controllers, by three writers, while jobs and disks work on whatever is there, for
# $TORTURE_SECONDS. Errors are expected; hangs and kernel faults are not.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
seconds=${TORTURE_SECONDS:-60}
going() { [ "$(now_ms)" -lt "$end" ]; }
pick() { shift $((RANDOM % $#)); echo "$1"; }

make_one() { # CTRL
	local n=$((RANDOM % 4 + 1)) d=$1/namespaces
	mkdir "$cfs/$1" "$cfs/$d/$n"
	put "$d/$n/shared" 1
	case $((RANDOM % 4)) in
	0) put "$d/$n/kind" device; put "$d/$n/device_path" "/dev/$lower"; put "$d/$n/device_nsid" $((RANDOM % 2 + 1)) ;;
	1) put "$d/$n/kind" device; put "$d/$n/device_path" "/dev/$fabric"; put "$d/$n/device_nsid" 4 ;;
	2) put "$d/$n/kind" device; put "$d/$n/device_path" "/dev/$fabric"; put "$d/$n/device_nsid" 16 ;;
	3) put "$d/$n/kind" engine; put "$d/$n/engine_type" digest ;;
	esac
	put "$d/$n/enable" 1
}
change_one() { # CTRL
	local n=$((RANDOM % 4 + 1)) d=$1/namespaces/$((RANDOM % 4 + 1))
	case $((RANDOM % 12)) in
	0 | 1) put "$1/enable" 1 ;;
	2) put "$1/enable" 0 ;;
	3) put "$d/enable" 0 ;;
	4) put "$d/enable" 1 ;;
	5) rmdir "$cfs/$d" ;;
	6) rmdir "$cfs/$1"/namespaces/* "$cfs/$1" ;;
	7) put "$d/max_inflight" $((RANDOM % 4)) ;;
	8) put "$d/max_cmds_per_sec" "$(pick 0 10 100 1000)" ;;
	9) put "$d/max_bytes_per_sec" "$(pick 0 65536 1000000 10000000)" ;;
	10) echo 1 >"/sys/class/nvme/$(pick "$(get "$1/device")" "$lower" "$fabric")/reset_controller" ;;
	11) cat "$cfs/$1"/* "$cfs/$1"/namespaces/*/* "$dbg"/*/*/* ;;
	esac
}
writers() {
	for i in 1 2 3; do
		(
			ops=0
			while going; do
				c=$(pick a b)
				if [ $((RANDOM % 3)) -eq 0 ]; then make_one "$c"; else change_one "$c"; fi
				ops=$((ops + 1))
				echo $ops >"$work/ops.$i"
				[ $((RANDOM % 4)) -ne 0 ] || sleep 0.3
			done >/dev/null 2>&1
		) &
		pids="$pids $!"
	done
}
# A block device of ours, if there is one now.
some_node() {
	local c n
	c=$(get "$(pick a b)/device") 2>/dev/null || return
	[ -n "$c" ] || return
	for n in /sys/class/nvme/"$c"/nvme*n*; do [ -b "/dev/${n##*/}" ] && [ $((RANDOM % 2)) -eq 0 ] && { echo "/dev/${n##*/}"; return; }; done
	return 1
}
users() {
	for i in 1 2; do
		(
			jobs=0 hung=0
			while going; do
				d=$(some_node) || { sleep 0.1; continue; }
				case $((RANDOM % 3)) in
				0) timeout -k 3 60 dd if="$d" of=/dev/null bs=64k count=64 iflag=direct ;;
				1) timeout -k 3 60 "$ACCEL" digest -d "$d" "$tree/README.md" ;;
				2) timeout -k 3 60 fio --name=t --filename="$d" --allow_file_create=0 --direct=1 --rw=randrw --bs=4k --size=1M \
					--ioengine=libaio --iodepth=8 --time_based --runtime=2 --minimal --continue_on_error=none ;;
				esac
				# A limit of a command a second may hold a user; one that cannot even be killed is a hang.
				[ $? -ne 137 ] || hung=$((hung + 1))
				jobs=$((jobs + 1))
				echo "$jobs $hung" >"$work/users.$i"
			done >/dev/null 2>&1
		) &
		pids="$pids $!"
	done
}

leaks_begin
pt_load
modprobe nvme
load_host
configure 127.0.0.1:4420
namespaces 4=digest 16=ram:size=16M >>"$conf"
start_daemon
ok "nvme connect" connect -i 2 -k 5
soon "  its nodes" 30 node_path "$nqn" 16
within 30 by_serial other || { fail "the emulator's controllers are there"; finish; }
lower=$(by_serial lower) fabric=$(controllers "$nqn")
pids=
# From now on: to get here may have taken longer than that.
end=$(($(now_ms) + seconds * 1000))
writers
users
sleep "$seconds"
touch "$work/stop"
deadline() { local p; for p in $pids; do kill -0 "$p" 2>/dev/null && return 1; done; return 0; }
# What is there when something hangs.
tell() {
	for f in "$cfs"/[ab]/namespaces/*/{kind,device_nsid,enable,max_*} "$dbg"/*/*/stats; do
		[ -e "$f" ] && echo "# ${f#/sys/kernel/}: $(timeout 5 cat "$f" | tr '\n' ' ')"
	done
	ps -eo pid,stat,wchan:24,args --no-headers | grep -E '^ *[0-9]+ D' | sed 's/^/# /'
}
soon "all writers and users end" 90 deadline
[ "$bad" -eq 0 ] || tell
for i in 1 2 3; do
	n=$(cat "$work/ops.$i" 2>/dev/null)
	if [ "${n:-0}" -gt 10 ]; then pass "writer $i: $n operations"; else fail "writer $i: ${n:-0} operations"; fi
done
for i in 1 2; do
	read -r n h <"$work/users.$i"
	if [ "${n:-0}" -gt 0 ] && [ "${h:-1}" -eq 0 ]; then pass "user $i: $n runs, none hung"; else fail "user $i: ${n:-0} runs, ${h:-?} hung"; fi
done
for c in a b; do
	[ -d "$cfs/$c" ] || continue
	ok "controller $c is taken away" timeout 60 bash -c "rmdir $cfs/$c/namespaces/* $cfs/$c 2>/dev/null; [ ! -e $cfs/$c ]"
done
ok "the module goes" pt_unload
ok "nvme disconnect" disconnect
stop_daemon
leaks "nothing has leaked"
finish
