# SPDX-License-Identifier: BSD-2-Clause
# What a copy from device to device costs, and what dd costs with direct I/O. $1: the directory of the modules, $2: the build
# directory, $3: rounds. Controllers by serial: cmb with a CMB and two namespaces, a and b.
here=$(dirname "$0")
. "$here/lib.inc"
MODULES=$1 ACCEL=$2/accel rounds=$3

modprobe nvme-core multipath=N
modprobe nvme
insmod "$MODULES/nvme-accel-p2pdma.ko"
# disk SERIAL NSID
disk() {
	local n x
	for n in /sys/class/nvme/nvme*/nvme*n"$2"; do
		{ read -r x _ <"${n%/*}/serial"; } 2>/dev/null && [ "$x" = "$1" ] && [ -b "/dev/${n##*/}" ] && echo "/dev/${n##*/}" && return 0
	done
	return 1
}
for d in "cmb 1" "cmb 2" "a 1" "b 1"; do
	# shellcheck disable=SC2086 # words
	within 60 disk $d || { fail "the emulator's disk $d is there" "$(dmesg | tail -n 5)"; finish; }
done
own1=$(disk cmb 1) own2=$(disk cmb 2) a=$(disk a 1) b=$(disk b 1)
within 60 sh -c "\"$ACCEL\" p2p list | grep -q module" || { fail "the CMB is found" "$(dmesg | tail -n 5)"; finish; }

# What the bench says, as one line a way; and dd itself with other sizes of a block, its best beside the copy.
report() {
	/usr/bin/python3 -I -S - "$@" <<-'END'
	import json, os, subprocess, sys, time
	title, rounds, accel, src, dst, mib = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6], int(sys.argv[6])
	tick = os.sysconf('SC_CLK_TCK')
	def busy():
	    f = [int(x) for x in open('/proc/stat').readline().split()[1:]]
	    return time.monotonic() * os.cpu_count() - (f[3] + f[4]) / tick
	def line(name, speed, cpu):
	    print('  %-36s %7.1f MB/s %8.3f s CPU a GiB' % (name, speed, cpu), flush=True)
	print('%s (%d MiB, %d rounds)' % (title, mib, rounds), flush=True)
	out = subprocess.run([accel, 'p2p', 'bench', '-q', '-o', 'json', '--rounds=%d' % rounds, '%s:0:%dM' % (src, mib), dst],
	                     stdout=subprocess.PIPE, timeout=200, check=True).stdout
	d = json.loads(out)
	for w in d['ways']:
	    line(w['way'], w['megabytes_per_second'], w['machine_cpu_seconds_per_gib'])
	p2p = d['ways'][0]
	best = []
	for kib in 128, 512, 1024, 4096:
	    cpu, t = busy(), time.monotonic()
	    for _ in range(rounds):
	        subprocess.run(['dd', 'if=' + src, 'of=' + dst, 'bs=%dk' % kib, 'count=%d' % (mib * 1024 // kib), 'iflag=direct', 'oflag=direct',
	                        'status=none'], check=True, timeout=200)
	    cpu, t = busy() - cpu, time.monotonic() - t
	    n = rounds * mib
	    line('dd bs=%dk' % kib, n * 1.048576 / t, cpu * 1024 / n)
	    best.append((cpu * 1024 / n, n * 1.048576 / t))
	cpu, speed = min(b[0] for b in best), max(b[1] for b in best)
	print('  device to device against dd bs=1M in turn: CPU time %.3f, speed %.2f; against the best of dd: CPU time %.3f, speed %.2f' % (
	    d['cpu_ratio'], d['speed_ratio'], p2p['machine_cpu_seconds_per_gib'] / cpu, p2p['megabytes_per_second'] / speed), flush=True)
	END
}
# Each pair is tested once, in its first copy.
"$ACCEL" p2p copy -q --no-fallback "$own1:0:1M" "$own2" && "$ACCEL" p2p copy -q --no-fallback "$a:0:1M" "$b" || bad=1
report "between two namespaces of the controller with the CMB" "$rounds" "$ACCEL" "$own1" "$own2" "${MIB:-2048}" || bad=1
report "from one controller to another, by the CMB of a third" "$rounds" "$ACCEL" "$a" "$b" "${MIB_FAR:-256}" || bad=1
# The emulator's processors and its controllers do not order what they write to doorbells in memory: now and then a command is never
# seen, whatever it is, and the driver resets the controller after a minute.
if dmesg | grep -q 'QID.*timeout'; then echo "  the emulator lost a command meanwhile: measure again"; fi
rmmod nvme_accel_p2pdma
finish
