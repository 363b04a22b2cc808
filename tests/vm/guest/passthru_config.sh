# SPDX-License-Identifier: BSD-2-Clause
# What the administrator of virtual controllers writes: every attribute, every refusal, two writers at once. The
# emulator's controller `lower` has namespaces 1 and 2.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"

# tested WORD...: by passthru_config.py, whose lines are ours
tested() {
	timeout 300 /usr/bin/python3 "$here/passthru_config.py" "$@" || bad=1
}

# Enabled: what cannot change, and enabling twice.
enabled() {
	ok "a controller with a namespace of the emulator's" mkdir "$cfs/c"
	ok "  enabled" pt_lower c 3 "$lower" 1
	ok "  live" pt_up c
	soon "  its node" 30 pt_has c 3
	is "  its device" "nvme" "$(pt_name c | tr -d 0-9)"
	tested enabled c 3
	soon "  the namespace is there" 30 pt_has c 3
	verify "  fio verifies" "$(pt_node c 3)" --size=4M

	ok "a namespace more, while it is live" pt_lower c 5 "$lower" 2
	soon "  its node comes" 30 pt_has c 5
	ok "  disabled" put c/namespaces/5/enable 0
	soon "  its node goes" 30 not pt_has c 5
	ok "  enabled again" put c/namespaces/5/enable 1
	soon "  its node comes" 30 pt_has c 5
	ok "a namespace that is enabled is taken away" rmdir "$cfs/c/namespaces/5"
	soon "  its node goes" 30 not pt_has c 5

	mkdir "$cfs/d"
	run pt_lower d 1 "$lower" 1
	[ "$rc" -eq 0 ] && run pt_up d
	if [ "$rc" -ne 0 ] || ! pt_has d 1; then pass "a lower namespace is not in two"; else fail "a lower namespace is not in two"; fi
	pt_rm d
	mkdir "$cfs/d"
	put d/subsysnqn "$(pt_nqn c)"
	pt_lower d 1 "$lower" 2
	run pt_up d
	if [ "$rc" -ne 0 ]; then pass "two controllers with one NQN are not enabled"; else fail "two controllers with one NQN are not enabled"; fi
	pt_rm d
	mkdir "$cfs/d"
	run pt_lower d 1 "$(pt_name c)" 3
	[ "$rc" -eq 0 ] && run pt_up d
	if [ "$rc" -ne 0 ] || ! pt_has d 1; then pass "a virtual controller is not below another"; else fail "a virtual controller is not below another"; fi
	pt_rm d
	run rmmod nvme_accel_passthru
	if [ "$rc" -ne 0 ]; then pass "the module stays while there is a controller"; else fail "the module stays"; finish; fi
	ok "a controller that is enabled is taken away" pt_rm c
	is "  only the emulator's controllers are left" "$before" "$(ls /sys/class/nvme)"
}

# Two at once write, enable and take away the same things: nothing but errors may come of it.
writers() {
	local end=$(($(now_ms) + ${1:-6} * 1000)) pids='' i
	for i in 1 2; do
		(
			while [ "$(now_ms)" -lt "$end" ]; do
				mkdir "$cfs/w" "$cfs/w/namespaces/$i" "$cfs/w/namespaces/3"
				put w/namespaces/$i/kind device
				put w/namespaces/$i/device_path "/dev/$lower"
				put w/namespaces/$i/device_nsid $i
				put w/namespaces/$i/enable 1
				put w/namespaces/3/kind engine
				put w/namespaces/3/engine_type digest
				put w/namespaces/3/enable $((i - 1))
				put w/serial "$i$i"
				put w/enable $((RANDOM % 2))
				put w/namespaces/$((3 - i))/max_inflight $i
				cat "$cfs"/w/* "$cfs"/w/namespaces/*/*
				[ $((RANDOM % 3)) -ne 0 ] || rmdir "$cfs"/w/namespaces/* "$cfs/w"
			done >/dev/null 2>&1
		) &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086
	wait $pids
	put w/enable 0 2>/dev/null
	rmdir "$cfs"/w/namespaces/* "$cfs/w" 2>/dev/null
	is "two writers at once: all can be taken away" "" "$(ls -d "$cfs"/w 2>/dev/null)"
	is "  only the emulator's controllers are left" "$before" "$(ls /sys/class/nvme)"
}

leaks_begin
pt_load
modprobe nvme
within 30 by_serial lower || { fail "the emulator's controller is there"; finish; }
lower=$(by_serial lower)
within 30 node_path "$(cat "/sys/class/nvme/$lower/subsysnqn")" 2 || fail "its namespaces are there"
within 30 by_serial other || fail "so is the other"
before=$(ls /sys/class/nvme)
tested attributes
enabled
writers
ok "the module goes" pt_unload
is "  and its debugfs directory" "" "$(ls -d "$dbg" 2>/dev/null)"
ok "  and comes again" insmod "$MODULES/nvme-accel-passthru.ko"
ok "  and goes" pt_unload
leaks "nothing has leaked"
finish
