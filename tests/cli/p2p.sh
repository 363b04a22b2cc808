#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# accel p2p without devices: verdicts over trees that stand for /sys, and copies through memory.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1
m=$work/root
devices=$m/sys/devices

# config FILE BYTES TYPE ACS: configuration space of a PCI Express port; ACS: the control register, or none
config() {
	python3 - "$@" <<'PY'
import struct, sys
name, n, kind, acs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
c = bytearray(4096)
c[0x34] = 0x40
c[0x40:0x44] = struct.pack("<BBH", 0x10, 0, 2 | kind << 4)
if acs != "none":
    c[0x100:0x108] = struct.pack("<IHH", 0x0001000d, 0, int(acs, 16))
open(name, "wb").write(c[:n])
PY
}
# pci PATH CLASS TYPE ACS [BYTES]: a function below pci0000:00, or below another host bridge that PATH names
pci() {
	d=$devices/$1
	mkdir -p "$d" "$m/sys/bus/pci/devices"
	echo 0x1b36 >"$d/vendor"
	echo 0x0010 >"$d/device"
	echo "$2" >"$d/class"
	config "$d/config" "${5:-4096}" "$3" "$4"
	ln -sfn "$d" "$m/sys/bus/pci/devices/${1##*/}"
}
bridge() { pci "$1" 0x060400 "$2" "$3" "${4:-4096}"; }
# nvme NUMBER PATH [CMBSZ]: a controller with a namespace and a partition of it
nvme() {
	pci "$2" 0x010802 0 none "${4:-4096}"
	c=$devices/$2/nvme/nvme$1
	mkdir -p "$c/nvme$1n1/nvme$1n1p1" "$m/sys/class/nvme" "$m/sys/class/block"
	echo pcie >"$c/transport"
	echo "${2##*/}" >"$c/address"
	echo "Model $1" >"$c/model"
	[ -z "${3:-}" ] || echo "$3" >"$c/cmbsz"
	ln -sfn ../../nvme$1 "$c/nvme$1n1/device"
	echo 1 >"$c/nvme$1n1/nvme$1n1p1/partition"
	ln -sfn "$c" "$m/sys/class/nvme/nvme$1"
	ln -sfn "$c/nvme$1n1" "$m/sys/class/block/nvme$1n1"
	ln -sfn "$c/nvme$1n1/nvme$1n1p1" "$m/sys/class/block/nvme$1n1p1"
}
# iommu ADDRESS GROUP TYPE
iommu() {
	g=$m/sys/kernel/iommu_groups/$2
	mkdir -p "$g"
	echo "$3" >"$g/type"
	ln -sfn "$g" "$m/sys/bus/pci/devices/$1/iommu_group"
}
# A switch with controllers 0 and 1 below, 2 below another root port, 3 below another host bridge.
# tree [ACS of the second downstream port] [BYTES that may be read]
up=pci0000:00/0000:00:03.0/0000:01:00.0
tree() {
	rm -rf "$m"
	mkdir -p "$m/dev" "$m/proc"
	printf 'processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n\n' >"$m/proc/cpuinfo"
	bridge pci0000:00/0000:00:03.0 4 1d "${2:-4096}"
	bridge $up 5 none "${2:-4096}"
	bridge $up/0000:02:00.0 6 0 "${2:-4096}"
	bridge $up/0000:02:01.0 6 "${1:-0}" "${2:-4096}"
	nvme 0 $up/0000:02:00.0/0000:03:00.0 0x00004219
	nvme 1 $up/0000:02:01.0/0000:04:00.0 "" "${2:-4096}"
	bridge pci0000:00/0000:00:04.0 4 none
	nvme 2 pci0000:00/0000:00:04.0/0000:05:00.0
	bridge pci0000:80/0000:80:01.0 4 none
	nvme 3 pci0000:80/0000:80:01.0/0000:81:00.0
}
p2p() {
	verb=$1
	shift
	"$ACCEL" p2p "$verb" --root="$m" "$@"
}
# verdict NAME STATUS EXPRESSION A B: the JSON of why
verdict() {
	name=$1 want=$2 expr=$3
	shift 3
	run p2p why -o json "$@"
	if [ "$rc" -eq "$want" ] && python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2]))' out "$expr" 2>py.err; then
		pass "$name"
	else
		fail "$name" "status $rc, not $want, or not: $expr" "$(tail -n 1 py.err)" "$(cat err out)"
	fi
}

# ---- why ----
tree
verdict "below one switch" 0 "d['verdict'] == 'yes' and d['said_by'] == 'sysfs' and [h['of'] for h in d['path']] == \
['both', 'both', 'nvme0', 'nvme0', 'nvme1', 'nvme1']" nvme0 nvme1
verdict "  ports by their kind" 0 "[h['kind'] for h in d['path']] == ['root port', 'switch, upstream port', \
'switch, downstream port', 'device', 'switch, downstream port', 'device']" /dev/nvme0n1 /dev/nvme1n1p1
verdict "  by PCI address" 0 "d['verdict'] == 'yes' and d['host_bridge'] == 'pci0000:00'" 0000:03:00.0 0000:04:00.0
verdict "  a device and itself" 0 "d['verdict'] == 'yes'" nvme0 nvme0n1
verdict "below root ports apart" 1 "d['reason'] == 'host-bridge' and 'switch' in d['way_out']" nvme0 nvme2
verdict "below host bridges apart" 1 "d['reason'] == 'domain'" nvme0 nvme3
printf 'vendor_id\t: AuthenticAMD\ncpu family\t: 25\n\n' >"$m/proc/cpuinfo"
verdict "a host bridge that forwards" 0 "d['verdict'] == 'yes'" nvme0 nvme2
printf 'vendor_id\t: AuthenticAMD\ncpu family\t: 21\n\n' >"$m/proc/cpuinfo"
verdict "  one of the same maker that does not" 1 "d['reason'] == 'host-bridge'" nvme0 nvme2
pci pci0000:00/0000:00:00.0 0x060000 0 none 256
echo 0x8086 >"$devices/pci0000:00/0000:00:00.0/vendor"
echo 0x2020 >"$devices/pci0000:00/0000:00:00.0/device"
verdict "  one of another maker that does" 0 "d['verdict'] == 'yes'" nvme0 nvme2

for acs in 4 8 20 1d 5f; do
	tree $acs
	verdict "ACS control $acs redirects" 1 "d['reason'] == 'acs' and 'disable_acs_redir=0000:02:01.0' in d['way_out']" nvme0 nvme1
done
tree 53
verdict "ACS control 53 does not" 0 "d['verdict'] == 'yes'" nvme0 nvme1
tree 1d 64
verdict "without privilege nobody knows" 1 "d['verdict'] == 'unknown' and 'root' in d['way_out']" nvme0 nvme1
verdict "  but where the ways part is seen" 1 "d['reason'] == 'host-bridge'" nvme0 nvme2

tree
iommu 0000:03:00.0 3 identity
iommu 0000:04:00.0 4 identity
verdict "an IOMMU in identity mode" 0 "d['verdict'] == 'yes' and d['path'][3]['iommu'] == 'group 3, identity'" nvme0 nvme1
for type in DMA DMA-FQ blocked; do
	iommu 0000:04:00.0 4 $type
	verdict "an IOMMU of type $type" 1 "d['reason'] == 'iommu' and 'iommu=pt' in d['way_out']" nvme0 nvme1
done
mkdir "$devices/$up/0000:02:00.0/0000:03:00.0/p2pmem"
echo 1048576 >"$devices/$up/0000:02:00.0/0000:03:00.0/p2pmem/available"
verdict "  a kernel with p2pdma does not mind below a switch" 0 "d['verdict'] == 'yes'" nvme0 nvme1

tree
echo tcp >"$m/sys/class/nvme/nvme2/transport"
verdict "a controller of a fabric" 1 "d['reason'] == 'fabric'" nvme0 nvme2
mkdir -p "$m/sys/devices/virtual/nvme-subsystem/nvme-subsys5/nvme0" "$m/sys/devices/virtual/nvme-subsystem/nvme-subsys5/nvme1" \
	"$m/sys/devices/virtual/nvme-subsystem/nvme-subsys5/nvme5n1"
ln -s ../../nvme-subsys5 "$m/sys/devices/virtual/nvme-subsystem/nvme-subsys5/nvme5n1/device"
ln -s "$m/sys/devices/virtual/nvme-subsystem/nvme-subsys5/nvme5n1" "$m/sys/class/block/nvme5n1"
verdict "several ways to one namespace" 1 "d['reason'] == 'multipath' and 'multipath=N' in d['way_out']" nvme0 nvme5n1
rmdir "$m/sys/devices/virtual/nvme-subsystem/nvme-subsys5/nvme1"
verdict "  one way alone" 0 "d['verdict'] == 'yes'" nvme1 nvme5n1
mkdir -p "$m/sys/devices/virtual/block/dm-0" && ln -s "$m/sys/devices/virtual/block/dm-0" "$m/sys/class/block/dm-0"
verdict "no namespace at all" 1 "d['reason'] == 'not-nvme'" nvme0 dm-0
verdict "a PCI device without an NVMe controller" 1 "d['reason'] == 'no-device'" nvme0 0000:02:00.0
for name in nvme9 /dev/nvme9n1 ../../etc "" nvme0/../nvme1 "$(printf '%0400d' 1)"; do
	refuses "no device: '$(printf '%.20s' "$name")'" 3 'is no NVMe controller' "$ACCEL" p2p why --root="$m" nvme0 "$name"
done
refuses "one operand" 2 'two devices' "$ACCEL" p2p why nvme0
ok "why as text" p2p why nvme0 nvme1
is "  the verdict is a line of its own" 1 "$(grep -c '^verdict: yes: below one switch (0000:01:00.0)' out)"

# What is in the tree is not trusted.
: >"$devices/$up/0000:02:01.0/config"
verdict "an empty configuration space" 1 "d['verdict'] == 'unknown'" nvme0 nvme1
head -c 4096 /dev/urandom >"$devices/$up/0000:02:01.0/config"
run p2p why nvme0 nvme1
[ "$rc" -le 1 ] && pass "a configuration space of noise" || fail "a configuration space of noise" "status $rc"
head -c 100000 /dev/zero | tr '\0' x >"$m/sys/class/nvme/nvme1/model"
echo ../../../../etc/passwd >"$m/sys/class/nvme/nvme3/address"
ok "a model of 100000 bytes, an address that is a path" p2p list
echo 0xffffffff >"$m/sys/class/nvme/nvme0/cmbsz"
ok "a size of all ones" p2p list

# ---- list ----
tree
run p2p list -o json
python3 -c 'import json
d = json.load(open("out"))
assert [e["controller"] for e in d] == ["nvme0", "nvme1", "nvme2", "nvme3"], d
assert d[0]["cmb_bytes"] == 4 << 20 and d[0]["holds"] == "reads and writes" and d[0]["served_by"] == "nobody", d[0]
assert [p["verdict"] for p in d[0]["peers"]] == ["yes", "no", "no"], d[0]
assert all(e["cmb_bytes"] == 0 and e["peers"] == [] for e in d[1:])' 2>py.err && pass "list" || fail "list" "$(tail -n 1 py.err)"
mkdir -p none/sys none/dev
ok "a list of nothing" "$ACCEL" p2p list --root=none -o json
is "  is []" "[]" "$(tr -d ' \n' <out)"

# ---- copy, through memory ----
sample src 1700001
ok "copy a file" "$ACCEL" p2p copy src dst
same "  all of it" src dst
is "  why it went through memory is said" 1 "$(grep -c 'through system memory: ' err)"
for args in "--chunk=4k --depth=4" "--chunk=16M --depth=2" "--chunk=64k --depth=64 --synchronous" "-q" "--memory"; do
	rm -f dst
	ok "copy $args" "$ACCEL" p2p copy $args src dst
	same "  all of it" src dst
done
is "  --memory was asked for" 1 "$(grep -c 'as it was asked for' err)"
cp src dst
ok "a range into the middle of a file" "$ACCEL" p2p copy src:1000:70001 dst:513
{ head -c 513 src; tail -c +1001 src | head -c 70001; tail -c +70515 src; } >want
same "  and only there" want dst
refuses "--no-fallback" 1 'not from device to device: .*--no-fallback' "$ACCEL" p2p copy --no-fallback src new
[ -e new ] && fail "  leaves no file" || pass "  leaves no file"
refuses "behind the end" 1 'ends before' "$ACCEL" p2p copy src:4000000 new
refuses "a range beyond the end" 1 'ends before' "$ACCEL" p2p copy src:0:4M new
refuses "a file onto itself" 1 'must not overlap' "$ACCEL" p2p copy src src
refuses "  by another name" 1 'must not overlap' sh -c 'ln -f src link && "$1" p2p copy src:0:8k link:4k' sh "$ACCEL"
refuses "a directory" 1 'Is a directory|only block devices and files' "$ACCEL" p2p copy src .
refuses "a character device" 1 'only block devices and files' "$ACCEL" p2p copy src /dev/null
mkfifo pipe
refuses "a pipe, without waiting for it" 1 'only block devices and files' timeout 20 "$ACCEL" p2p copy pipe new
refuses "a source that is not there" 1 'No such file' "$ACCEL" p2p copy missing new
refuses "a length of 0" 2 'a length of 0' "$ACCEL" p2p copy src:0:0 new
refuses "--chunk=5000" 2 'multiple of 4096' "$ACCEL" p2p copy --chunk=5000 src new
refuses "--memory with --no-fallback" 2 'exclude' "$ACCEL" p2p copy --memory --no-fallback src new
refuses "one operand" 2 'a source and a destination' "$ACCEL" p2p copy src
: >empty
ok "an empty file" "$ACCEL" p2p copy -q empty empty2
is "  is one" 0 "$(wc -c <empty2)"
cp src odd:1:2
ok "a file whose name ends with numbers" "$ACCEL" p2p copy -q odd:1:2 got
same "  is meant by it" src got
ok "bench" "$ACCEL" p2p bench -q --rounds=1 -o json src dst
python3 -c 'import json
d = json.load(open("out"))
assert d["why_not_p2p"] and [w["memory_bytes_per_byte"] for w in d["ways"]] in ([2], [2, 2]), d
assert d["cpu_ratio"] is None, d' 2>py.err && pass "  says why there are ways through memory only" ||
	fail "  says why there are ways through memory only" "$(tail -n 1 py.err)" "$(cat out)"

# ---- compress --p2p, through memory ----
ok "compress --p2p" "$ACCEL" compress --software --p2p src -o src.gz2
n=$(sed -n '1s/.*: \([0-9]*\) bytes$/\1/p' out)
is "  the length that is told is the file's" "$(wc -c <src.gz2)" "$n"
gunzip -c <src.gz2 >back && same "  gunzip agrees" src back
refuses "  what is there is not replaced" 1 'exists already' "$ACCEL" compress --software --p2p src -o src.gz2
ok "  but with -f" "$ACCEL" compress --software --p2p -f -9 src:1M:512k -o src.gz2
tail -c +1048577 src | head -c 524288 >want
gunzip -c <src.gz2 >back && same "  and is as long as it should be" want back
refuses "  --no-fallback" 1 'not from device to device' "$ACCEL" compress --software --p2p --no-fallback src -o no.gz
[ -e no.gz ] && fail "  leaves no file" || pass "  leaves no file"
refuses "--no-fallback without --p2p" 2 'goes with --p2p' "$ACCEL" compress --no-fallback src
refuses "--p2p without -o" 2 'and -o' "$ACCEL" compress --p2p src
refuses "--p2p of two files" 2 'one' "$ACCEL" compress --p2p src dst -o x
refuses "--p2p to another format" 2 'gzip' "$ACCEL" compress --p2p -F zstd src -o x
finish
