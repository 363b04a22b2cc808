# SPDX-License-Identifier: BSD-2-Clause
# What the kernel module's forwarding costs: fio on an NVMe namespace and on a virtual one above it, in turn. $1: the
# directory of the modules, $2: rounds, $3: seconds a run. The lower namespace is the emulator's (nvme0n1), with
# nothing behind it. A line a workload: medians, and the median of the ratios of each round.
. "$(dirname "$0")/lib.inc"
modules=$1 rounds=$2 seconds=$3
conf=/sys/kernel/config/nvme-accel-passthru

modprobe configfs && modprobe nvme || { fail "the host's modules load" "$(dmesg | tail -n 3)"; finish; }
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
insmod "$modules/nvme-accel-passthru.ko" || { fail "the module loads" "$(dmesg | tail -n 3)"; finish; }
within 30 test -b /dev/nvme0n1 || { fail "there is a lower namespace" "$(dmesg | tail -n 5)"; finish; }

mkdir "$conf/bench" && mkdir "$conf/bench/namespaces/1" && cd "$conf/bench/namespaces/1" && echo device >kind &&
	echo /dev/nvme0 >device_path && echo 1 >device_nsid && echo 1 >enable && echo 1 >"$conf/bench/enable" ||
	{ fail "a virtual controller is made" "$(dmesg | tail -n 5)"; finish; }
cd /
upper=/dev/$(cat "$conf/bench/device")n1
within 30 test -b "$upper" || { fail "it has its block device" "$(dmesg | tail -n 5)"; finish; }

# iops DEVICE READ|WRITE BYTES DEPTH: fields 8 and 49 of fio's third terse format are reads and writes a second
iops() {
	local field=8
	[ "$2" = randread ] || field=49
	fio --name=bench --filename="$1" --allow_file_create=0 --direct=1 --ioengine="${engine:-libaio}" --rw="$2" --bs="$3" \
		--iodepth="$4" --time_based --runtime="$seconds" --ramp_time=1 --randrepeat=0 --norandommap --minimal |
		cut -d ';' -f "$field"
}

median() { sort -n | sed -n "$(((rounds + 1) / 2))p"; }

# One round is both, the one that comes first changing, so that a machine that gets slower is unfair to neither.
workload() {
	local rw=$1 bs=$2 depth=$3 i a b
	rm -f "$work/lower" "$work/upper" "$work/ratio"
	for ((i = 0; i < rounds; i++)); do
		if ((i % 2)); then
			b=$(iops "$upper" "$@") && a=$(iops /dev/nvme0n1 "$@")
		else
			a=$(iops /dev/nvme0n1 "$@") && b=$(iops "$upper" "$@")
		fi
		case $a$b in *[!0-9]* | "") fail "fio $rw $bs" "said: $a $b"; return ;; esac
		echo "$a" >>"$work/lower"
		echo "$b" >>"$work/upper"
		echo $((b * 1000 / (a > 0 ? a : 1))) >>"$work/ratio"
	done
	a=$(median <"$work/ratio")
	printf '%-10s %6s, depth %2d: %7d direct, %7d virtual, ratio %d.%03d (%s)\n' "$rw" "$bs" "$depth" \
		"$(median <"$work/lower")" "$(median <"$work/upper")" $((a / 1000)) $((a % 1000)) \
		"$(sort -n "$work/ratio" | awk '{ printf "%s%.3f", (NR > 1) ? " " : "", $1 / 1000 }')"
}

for rw in ${workloads:-randread randwrite}; do
	workload "$rw" 128k 8
	workload "$rw" 4k 32
done
echo 0 >"$conf/bench/enable"
rmdir "$conf/bench/namespaces/1" "$conf/bench"
finish
