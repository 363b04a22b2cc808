# SPDX-License-Identifier: BSD-2-Clause
# What the kernel module costs: fio on an NVMe namespace and on a virtual one above it, in turn; and an engine's deflate
# beside the kernel's zlib, called by a test module. $1: the directory of the modules, $2: rounds, $3: seconds a run. The lower
# namespace is the emulator's, with nothing behind it. A line a workload: medians, and the median of the ratios of each round.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
MODULES=$1 rounds=$2 seconds=$3

modprobe nvme
pt_load >"$work/load"
[ "$bad" -eq 0 ] || { cat "$work/load"; finish; }
within 30 test -b /dev/nvme0n1 || { fail "there is a lower namespace" "$(dmesg | tail -n 5)"; finish; }
lower=/dev/nvme0n1	# the only one of the only controller
mkdir "$cfs/bench"
pt_lower bench 1 nvme0 1 && pt_up bench && within 30 pt_has bench 1 ||
	{ fail "a virtual controller is made" "$(dmesg | tail -n 5)"; finish; }
upper=$(pt_node bench 1)

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
			b=$(iops "$upper" "$@") && a=$(iops $lower "$@")
		else
			a=$(iops $lower "$@") && b=$(iops "$upper" "$@")
		fi
		case $a$b in *[!0-9]* | "") fail "fio $rw $bs" "said: $a $b"; return ;; esac
		echo "$a" >>"$work/lower"
		echo "$b" >>"$work/upper"
		echo $((b * 1000 / (a > 0 ? a : 1))) >>"$work/ratio"
	done
	a=$(median <"$work/ratio")
	printf '%-10s %6s, depth %2d: %7d direct, %7d virtual, ratio %d.%03d (%s)' "$rw" "$bs" "$depth" \
		"$(median <"$work/lower")" "$(median <"$work/upper")" $((a / 1000)) $((a % 1000)) \
		"$(sort -n "$work/ratio" | awk '{ printf "%s%.3f", (NR > 1) ? " " : "", $1 / 1000 }')"
	# With one command at a time the difference is what a command takes longer.
	[ "$depth" -gt 1 ] || printf ', %s us a command more' "$(paste "$work/lower" "$work/upper" |
		awk '$1 > 0 && $2 > 0 { print 1e6 / $2 - 1e6 / $1 }' | median | xargs printf '%.1f')"
	echo
}

# The test module runs both in turn and says the medians; its lines say what is compared.
engines() {
	local m module=$MODULES/nvme-accel-engine-test.ko
	for m in $(modinfo -F depends "$module" | tr , ' ') deflate; do modprobe "$m"; done
	insmod "$module" rounds=0 bench=1 || { fail "the test module loads" "$(dmesg | tail -n 3)"; return; }
	dmesg | sed -n 's/^.*# bench: /engine     /p'
	rmmod nvme_accel_engine_test
}

for rw in ${workloads:-randread randwrite}; do
	workload "$rw" 128k 8
	workload "$rw" 4k 32
	workload "$rw" 4k 1
done
engines
pt_rm bench
finish
