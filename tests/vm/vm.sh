#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs a script in a guest that sees this machine's files: see README, or vm.sh -h.
set -u
usage() {
	cat <<'EOF'
usage: vm.sh [-k 6.12|6.1|debug|DIR] [-t SECONDS] [-n] [-e NAME=VALUE]... SCRIPT [ARGUMENT]...
       vm.sh -s SCRIPT [options] [--] [ARGUMENT]...; vm.sh -c COMMANDS [options]
Starts a virtual machine and runs SCRIPT or COMMANDS there as root, by bash, in this directory. The guest sees
this machine's / read-only, with changes kept in memory and lost at its end. What it prints comes out here.
  -k  the kernel: a line that kernels.sh knows (default 6.12), debug (built by debug_kernel.sh, which takes a while the
      first time), or a directory with vmlinuz, release and lib/modules
  -t  seconds until a hung guest is ended (VM_TIMEOUT, 300)
  -n  a network card behind user networking: this machine's loopback is 10.0.2.2 there
  -e  a variable for the script
Status: that of the script; 97 if the kernel log has a fault (-w REGEX: lines that are none), 124 after the timeout,
125 if there is no guest, 77 with a reason if this Debian has no such kernel.
Environment: ACCEL_VM_TCG=1 (no KVM) VM_KERNEL VM_TIMEOUT VM_MEM (2G; debug 3G) VM_CPUS (2) VM_APPEND (kernel command line)
VM_QEMU_ARGS (words for QEMU) VM_CONSOLE=FILE (where the console's output is kept)
EOF
}
here=$(cd "$(dirname "$0")" && pwd)
cache=${ACCEL_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nvme-accel}
kernel=${VM_KERNEL:-6.12} seconds=${VM_TIMEOUT:-300} commands= script= net= benign= vars=()
while getopts hk:t:nc:e:w:s: o; do
	case $o in
	h) usage; exit 0 ;;
	k) kernel=$OPTARG ;;
	t) seconds=$OPTARG ;;
	n) net=1 ;;
	c) commands=$OPTARG ;;
	e) vars+=("$OPTARG") ;;
	w) benign=$OPTARG ;;
	s) script=$OPTARG ;;
	*) usage >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
if [ -z "$commands$script" ]; then
	[ $# -gt 0 ] || { usage >&2; exit 2; }
	script=$1
	shift
fi
command -v qemu-system-x86_64 >/dev/null || { echo "vm.sh: qemu-system-x86_64 is not installed (package qemu-system-x86)" >&2; exit 125; }

if [ -d "$kernel" ]; then
	dir=$(cd "$kernel" && pwd)
else
	dir=$("$here/kernels.sh" "$kernel")
	rc=$?
	case $rc in 0) ;; 77) exit 77 ;; *) exit 125 ;; esac
fi

memory=${VM_MEM:-$(cat "$dir/memory" 2>/dev/null || echo 2G)}

# The guest finds its job in a directory of ours; a name without blanks, as it goes through the command line.
work=$(TMPDIR=/tmp mktemp -d /tmp/accel-vm.XXXXXX) || exit 125
qemu=
cleanup() {
	[ -z "$qemu" ] || kill "$qemu" 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
console=${VM_CONSOLE:-$work/console}
: >"$console" || exit 125
"$here/mkinitramfs.sh" "$dir" "$work/initramfs" || exit 125

{
	for v in "${vars[@]}"; do printf 'export %s=%q\n' "${v%%=*}" "${v#*=}"; done
	printf 'vm_kernel=%q\nvm_seconds=%q\nvm_benign=%q\nvm_net=%q\nvm_cwd=%q\nvm_path=%q\n' "$dir" "$seconds" "$benign" \
		"$net" "$PWD" "$PATH"
	if [ -n "$commands" ]; then
		printf 'vm_command=(bash -c %q)\n' "$commands"
	else
		printf 'vm_command=(bash %q' "$(realpath "$script")"
		[ $# -eq 0 ] || printf ' %q' "$@"
		printf ')\n'
	fi
	printf '. %q\n' "$here/guest/boot.inc"
} >"$work/job"

netdev=()
[ -z "$net" ] || netdev=(-netdev user,id=net0,restrict=off -device "virtio-net-pci,netdev=net0,romfile=")

tcg="tcg,thread=multi"

# Kernel messages go to the first serial line, what the job prints to the second. start SECONDS JOB ACCELERATOR
start() {
	# shellcheck disable=SC2086 # VM_QEMU_ARGS is a list of words
	exec timeout -k 5 "$1" qemu-system-x86_64 -M q35 -cpu max,arch-capabilities=off -accel "$3" \
		-m "$memory" -smp "${VM_CPUS:-2}" -nodefaults -no-user-config -display none -no-reboot -monitor none \
		-kernel "$dir/vmlinuz" -initrd "$work/initramfs" \
		-append "console=ttyS0 quiet loglevel=5 panic=-1 mitigations=off vm.job=$2 ${VM_APPEND:-}" \
		-serial "file:$console" -serial stdio \
		-fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
		-device virtio-9p-pci,fsdev=root,mount_tag=host "${netdev[@]}" ${VM_QEMU_ARGS:-}
}

# run SECONDS JOB ACCELERATOR: passes on what the job prints; its status in $status, QEMU's in $rc
mkfifo "$work/line"
run() {
	status= started=
	start "$@" </dev/null >"$work/line" 2>"$work/err" &
	qemu=$!
	while IFS= read -r text; do
		text=${text%$'\r'}
		case $text in
		"##vm-start") started=1 ;;
		"##vm-exit "*) status=${text#\#\#vm-exit } ;;
		*) printf '%s\n' "$text" ;;
		esac
	done <"$work/line"
	wait "$qemu" 2>/dev/null
	rc=$?
	qemu=
}

# There are machines whose /dev/kvm opens and then runs no guest, or one instruction in a microsecond. Tried once
# after each start of this machine: a guest that only ends must do so in 20 s.
kvm_works() {
	[ "${ACCEL_VM_TCG:-0}" != 1 ] && [ -w /dev/kvm ] || return 1
	local known=$cache/kvm-$(id -u) now
	now="$(cat /proc/sys/kernel/random/boot_id) $(qemu-system-x86_64 --version | head -n 1)"
	if [ "$(head -n 1 "$known" 2>/dev/null)" != "$now" ]; then
		printf 'echo "##vm-exit 0" >/dev/ttyS1\nbusybox poweroff -f\n' >"$work/probe"
		run 20 "$work/probe" kvm
		printf '%s\n%s\n' "$now" "${status:-no}" >"$known.$$" && mv "$known.$$" "$known"
		[ "${status:-no}" = 0 ] || echo "# vm.sh: /dev/kvm runs no guest here; guests are emulated" >&2
	fi
	[ "$(tail -n 1 "$known")" = 0 ]
}

if kvm_works; then accelerator=kvm; else accelerator=$tcg; fi
run "$seconds" "$work/job" "$accelerator"
# A processor that is emulated by threads now and then runs half of an instruction that another one is patching; the kernel
# patches itself most while it starts. Nothing of the job has run then, so it is no lie to start again.
for again in 1 2; do
	[ "$accelerator" = "$tcg" ] && [ -z "$status$started" ] && [ "$rc" -eq 0 ] || break
	echo "# vm.sh: the kernel died while it started, which emulation causes; again" >&2
	grep -m 1 -E 'BUG:|Oops:|panic' "$console" | sed 's/^/# console: /' >&2
	: >"$console"
	run "$seconds" "$work/job" "$accelerator"
done
[ -z "$status" ] || exit "$status"

# No word from the guest: what its kernel said last.
sed 's/^/# qemu: /' "$work/err"
tail -n 40 "$console" | tr -d '\r' | sed 's/^/# console: /'
case $rc in
124 | 137) echo "# vm.sh: no end after $seconds s: ended"; exit 124 ;;
*) echo "# vm.sh: the guest is gone without a status (QEMU's: $rc)"; exit 125 ;;
esac
