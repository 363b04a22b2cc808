#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# mkinitramfs.sh DIR OUT: an initramfs for the kernel in DIR (lib/modules/RELEASE, release). It mounts the build
# machine's / by 9p, read-only, under an overlay in memory, and goes on there with what the kernel command line
# names: vm.job=PATH.
set -eu
dir=$1 out=$2
release=$(cat "$dir/release")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/dev" "$work/proc" "$work/sys" "$work/lib" "$work/host" "$work/mem" "$work/root"
busybox=$(command -v busybox) || { echo "mkinitramfs.sh: busybox is not installed (package busybox-static)" >&2; exit 1; }
cp "$busybox" "$work/bin/busybox"

# What is built into the kernel has no file. Compressed modules are unpacked: insmod of busybox takes them plain.
: >"$work/modules"
for m in virtio_pci 9pnet_virtio 9p overlay; do
	modprobe -d "$dir" -S "$release" --show-depends "$m" 2>/dev/null || :
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
	name=$(basename "$file")
	case $name in
	*.xz) name=${name%.xz}; xz -dc "$file" >"$work/lib/$name" ;;
	*.zst) name=${name%.zst}; zstd -qdc "$file" >"$work/lib/$name" ;;
	*) cp "$file" "$work/lib/$name" ;;
	esac
	echo "$name" >>"$work/modules"
done

cat >"$work/init" <<'EOF'
#!/bin/busybox sh
b=/bin/busybox
die() { echo "initramfs: $*" >/dev/ttyS1; echo "initramfs: $*"; $b poweroff -f; }
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
while read m; do $b insmod "/lib/$m" || die "module $m"; done </modules
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /host || die "no 9p"
$b mount -t tmpfs -o size=75% mem /mem
$b mkdir /mem/upper /mem/work
$b mount -t overlay -o lowerdir=/host,upperdir=/mem/upper,workdir=/mem/work overlay /root || die "no overlay"
for m in proc sys dev; do $b mount --move /$m /root/$m; done
$b mount -t tmpfs run /root/run
job=$($b sed -n 's/.*vm\.job=\([^ ]*\).*/\1/p' /root/proc/cmdline)
exec $b switch_root /root /bin/bash "$job"
EOF
chmod 755 "$work/init" "$work/bin/busybox"
(cd "$work" && find . | cpio -o -H newc --quiet | gzip -1) >"$out"
