# SPDX-License-Identifier: BSD-2-Clause
# Nodes: a plain NVMe disk is left alone, accelerators are the group's, and the lock is the device's by whatever path.
here=$(dirname "$0")
. "$here/lib.inc"
rules=/run/udev/rules.d/59-accel.rules
user() { setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"; }
member() { setpriv --reuid=65534 --regid=65534 --groups="$(getent group accel | cut -d: -f3)" --inh-caps=-all "$@"; }
mode_of() { stat -c '%a %U %G' "$1"; }

start_udev() {
	groupadd --system accel
	mkdir -p "${rules%/*}"
	sed "s|@UDEVDIR@|$(dirname "$ACCEL")|" "$tree/dist/udev/59-accel.rules" >"$rules"
	/lib/systemd/systemd-udevd --daemon 2>"$work/udevd.log" || fail "udev starts" "$(cat "$work/udevd.log")"
	udevadm settle -t 20
}

plain_disk() {
	local d
	modprobe nvme
	within 10 ls /dev/nvme0n1 || { fail "the emulator's disk is there" "$(ls /dev/nvme* 2>&1)"; return; }
	udevadm settle -t 20
	d=/dev/nvme0n1
	is "a plain disk stays root's and the disks'" "660 root disk" "$(mode_of $d)"
	is "  udev knows it as a disk" 1 "$(udevadm info -q property $d | grep -c '^ID_SERIAL_SHORT=plain')"
	is "  and not as an accelerator" 0 "$(udevadm info -q property $d | grep -c '^ACCEL')"
	run "$(dirname "$ACCEL")/accel_id" $d
	is "accel_id says no, and nothing else" "1 0" "$rc $(cat "$work/out" "$work/err" | wc -c)"
	is "accel list does not show it, and says nothing of it" "no accelerator found" "$("$ACCEL" list --hardware 2>&1)"
	for node in $d /dev/ng0n1; do
		fails "accel info $node" 'no accelerator' "$ACCEL" info $node
		fails "accel digest -d $node" 'no accelerator' "$ACCEL" digest -d $node README.md
		fails "accel selftest --conformance -d $node" 'no accelerator' "$ACCEL" selftest --conformance -d $node
	done
	fails "accel info as another user" 'permission denied' user "$ACCEL" info $d
}

accelerators() {
	local d g uuid
	modprobe nvme-tcp
	configure 127.0.0.1:4420
	# shellcheck disable=SC2086 # a list of words
	namespaces $every_kind >>"$conf"
	start_daemon
	ok "nvme connect" connect
	soon "  the namespaces are there" 10 node_path "$nqn" 16
	udevadm settle -t 30
	d=$(node_path "$nqn" 7)
	g=/dev/ng${d#/dev/nvme}
	is "an accelerator is the group's" "660 root accel" "$(mode_of "$d")"
	is "  so is its generic node" "660 root accel" "$(mode_of "$g")"
	is "  plain memory is not" "660 root disk" "$(mode_of "$(node_path "$nqn" 16)")"
	uuid=$("$ACCEL" info -o json "$d" | sed -n 's/^  "uuid": "\(.*\)",*/\1/p')
	is "  a link by UUID" "$(readlink -f "$d")" "$(readlink -f "/dev/accel/by-uuid/$uuid")"
	is "  one for each" 7 "$(ls /dev/accel/by-uuid | wc -l)"
	udevadm info -q property "$d" >"$work/props"
	for p in ACCEL=1 ACCEL_UUID=$uuid ACCEL_TYPE=multi DM_MULTIPATH_DEVICE_PATH=0 UDISKS_IGNORE=1 SYSTEMD_READY=0 \
		UDEV_DISABLE_PERSISTENT_STORAGE_RULES_FLAG=1; do
		is "  $p" 1 "$(grep -c "^$p\$" "$work/props")"
	done
	is "  no links of disks" 0 "$(find /dev/disk -lname "*/${d##*/}" 2>/dev/null | wc -l)"
	is "  no file system" 0 "$(grep -c '^ID_FS_' "$work/props")"
	is "udev found no fault in the rule" "" "$(grep -iE "accel.*(invalid|unknown|error)" "$work/udevd.log")"

	run "$ACCEL" list -v --transport tcp
	is "accel list -v" "0 7" "$rc $(grep -c 'traddr=127.0.0.1,trsvcid=4420' "$work/out")"
	is "  with keep alive and loss timeouts" 7 "$(grep -cE '^/dev/nvme[0-9]+n[0-9]+ +traddr.* 1 +5000 +600 +10 ' "$work/out")"
	users "$d" "$g"
	locks "$d" "$g"
	limits "$d"
	block_export "$d"
	threads "$d" "$g"
}

# A member of the group needs no right but that; another user is told what is missing.
users() {
	ok "a member of the group: a job on the block device" member "$ACCEL" digest -d "$1" README.md
	is "  right" "$(sha256sum README.md)" "$(cat "$work/out")"
	ok "  all functions" member "$ACCEL" selftest -d "$1"
	fails "another user: no" 'permission denied' user "$ACCEL" digest -d "$1" README.md
	run user "$ACCEL" list
	is "  one line for each node in the list" "0 9" "$rc $(grep -c 'permission denied' "$work/err")"
	is "  and the software accelerators in it" 7 "$(grep -c ^soft: "$work/out")"
	# Passthrough by others than root came with 6.2.
	if unprivileged_passthrough; then
		ok "a member of the group: a job on the generic node" member "$ACCEL" digest -d "$2" README.md
	else
		fails "a member of the group: the generic node is root's on this kernel" 'permission denied' \
			member "$ACCEL" digest -d "$2" README.md
	fi
}
unprivileged_passthrough() {
	local v
	v=$(uname -r)
	[ "${v%%.*}" -gt 6 ] && return 0
	v=${v#*.}
	[ "${v%%.*}" -ge 2 ]
}

# One lease, whatever the path.
locks() {
	local path other holder
	local url="tcp://127.0.0.1:4420/$nqn?nsid=7"
	for path in "$1" "$2" "$url"; do
		rm -f "$work/held" "$work/go"
		"$ACCEL" lock "$path" -- sh -c "touch $work/held; until [ -e $work/go ]; do sleep 0.1; done" 2>"$work/lock.err" &
		holder=$!
		within 20 test -e "$work/held" || fail "lock by $path" "$(cat "$work/lock.err")"
		for other in "$1" "$2" "$url"; do
			run "$ACCEL" lock -n "$other" -- true
			is "locked by ${path%%\?*}: not to be had by ${other%%\?*}" 4 "$rc"
		done
		if [ "$path" = "$1" ]; then
			run flock -n -s "$1" true
			is "  the node is locked for those who look at disks" 1 "$rc"
		fi
		touch "$work/go"
		wait "$holder"
		is "  ends well" "0" "$?$(cat "$work/lock.err")"
	done
	run flock -n -x "$1" true
	is "the node is free again" 0 "$rc"
	# Somebody who has no lease has locked the node: an error, and not ignored.
	flock -x "$1" sleep 8 &
	holder=$!
	sleep 1
	fails "a node that somebody else has locked" 'in use' "$ACCEL" lock -n "$1" -- true
	is "  no lease stays behind" "no leases" "$("$ACCEL" lease list "$1")"
	ok "  waiting for it helps" "$ACCEL" lock -w 20 "$1" -- true
	wait "$holder"
	# The holder is killed; what it started lives on, without the lock of the node.
	"$ACCEL" lock "$1" -- setsid sh -c "trap '' TERM; touch $work/orphan; sleep 30" 2>/dev/null &
	holder=$!
	within 20 test -e "$work/orphan"
	kill -KILL "$holder"
	wait "$holder" 2>/dev/null
	ok "after a holder was killed the lock is free, though its child lives" "$ACCEL" lock -w 20 "$1" -- true
	ok "locked and unlocked many times" sh -c "i=0; while [ \$i -lt 8 ]; do '$ACCEL' lock -n '$1' -- true || exit; i=\$((i + 1)); done"
}

# Exported once more as a mere block device, by a target that knows nothing of it: the vendor's bytes of Identify are
# lost, the blocks are not.
block_export() {
	local t=/sys/kernel/config/nvmet sub=nqn.2014-08.org.example:blocks e
	modprobe nvmet-tcp || { fail "the inbox target loads"; return; }
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	mkdir "$t/subsystems/$sub" "$t/subsystems/$sub/namespaces/1" "$t/ports/1"
	echo 1 >"$t/subsystems/$sub/attr_allow_any_host"
	printf %s "$1" >"$t/subsystems/$sub/namespaces/1/device_path"
	echo 1 >"$t/subsystems/$sub/namespaces/1/enable"
	echo tcp >"$t/ports/1/addr_trtype"
	echo ipv4 >"$t/ports/1/addr_adrfam"
	echo 127.0.0.1 >"$t/ports/1/addr_traddr"
	echo 4431 >"$t/ports/1/addr_trsvcid"
	ln -s "$t/subsystems/$sub" "$t/ports/1/subsystems/"
	ok "an accelerator's blocks, exported by the inbox target" nvme connect -t tcp -a 127.0.0.1 -s 4431 -n "$sub"
	soon "  are a block device" 10 node_path "$sub" 1
	udevadm settle -t 20
	e=$(node_path "$sub" 1)
	is "  without the vendor's bytes of Identify" "" "$(nvme id-ns "$e" -o binary | tail -c +385 | head -c 8 | tr -d '\0')"
	is "  and an accelerator all the same: for udev" "660 root accel" "$(mode_of "$e")"
	says "  for accel info" '^Type: *multi' "$ACCEL" info "$e"
	ok "  selftest" "$ACCEL" selftest -d "$e"
	ok "  decompress" "$ACCEL" decompress -D "$e" -f -o "$work/back" "$work/file.gz"
	same "  right" "$work/file" "$work/back"
	run "$ACCEL" lock "$1" -- "$ACCEL" lock -n "$e" -- true
	is "  and its lock is the same one" 4 "$rc"
	nvme disconnect -n "$sub" >/dev/null
	rm "$t/ports/1/subsystems/$sub"
	echo 0 >"$t/subsystems/$sub/namespaces/1/enable"
	rmdir "$t/ports/1" "$t/subsystems/$sub/namespaces/1" "$t/subsystems/$sub"
}

# The block device's limit changes while jobs run: no byte is wrong.
limits() {
	local max changer i
	max=/sys/block/${1#/dev/}/queue/max_sectors_kb
	gzip -c "$work/file" >"$work/file.gz"
	while sleep 0.05; do
		for i in 1280 64 512 4; do echo $i; done >"$work/kb"
		while read -r i; do echo "$i" >"$max"; sleep 0.02; done <"$work/kb"
	done &
	changer=$!
	for i in 1 2 3 4; do
		ok "decompress while max_sectors_kb changes ($i)" "$ACCEL" decompress -D "$1" -f -o "$work/back" "$work/file.gz"
		same "  right" "$work/file" "$work/back"
	done
	kill "$changer"
	wait "$changer" 2>/dev/null
	echo 1280 >"$max"
}

# Where io_uring is forbidden, threads do the same.
threads() {
	local d
	if ! sysctl -q kernel.io_uring_disabled=2 2>/dev/null; then
		skip "without io_uring" "this kernel cannot forbid it"
		return
	fi
	for d in "$1" "$2"; do
		ok "without io_uring: selftest on ${d%%[0-9]*}" "$ACCEL" selftest -d "$d"
		ok "  compress" "$ACCEL" compress -D "$d" -f -o "$work/x.gz" "$work/file"
		is "  gunzip reads it" "$(sha256sum <"$work/file")" "$(gunzip -c "$work/x.gz" | sha256sum)"
	done
	sysctl -q kernel.io_uring_disabled=0
}

cd "$tree" || finish
sample "$work/file" 3000000
start_udev
plain_disk
accelerators
ok "nvme disconnect" disconnect
soon "the links go with the nodes" 10 not ls /dev/accel/by-uuid/*
stop_daemon
[ "$bad" -eq 0 ] || { sed 's/^/# acceld: /' "$log" | tail -n 10; sed 's/^/# udev: /' "$work/udevd.log" | tail -n 10; }
finish
