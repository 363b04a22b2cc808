#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The main job on a real file through the inbox NVMe driver: acceld on this machine, and a virtual machine whose stock
# kernel connects to it by NVMe/TCP and sees accelerators as block devices; scripts/demo-vm.sh [FILE]
# The kernel (6.12, of Debian's archive) is fetched once into ~/.cache/nvme-accel; nothing is installed.
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh build vm
[ -x build/accel ] && [ -x build/acceld ] || echo "Building (about a minute)..."
make -s -j"$(nproc)" all

dir=$(mktemp -d)
daemon=
cleanup() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || :
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

if [ $# -gt 0 ]; then
	file=$(realpath "$1")
else
	# A real file: the headers and documents of this system in one archive, at most 16 MiB of it.
	file=$dir/usr.tar
	tar -cf - /usr/include /usr/share/doc 2>/dev/null | head -c 16777216 >"$file" || :
fi

echo "On this machine: a daemon that has accelerators"
printf '\n$ acceld\n'
build/acceld -c /dev/null -l 127.0.0.1:0 </dev/null 2>"$dir/log" &
daemon=$!
port=
for _ in $(seq 100); do
	port=$(sed -n 's/.*listening addr=127.0.0.1:\([0-9]*\).*/\1/p' "$dir/log")
	[ -z "$port" ] && kill -0 "$daemon" 2>/dev/null || break
	sleep 0.1
done
cat "$dir/log"
[ -n "$port" ] || { echo "demo-vm.sh: acceld does not start" >&2; exit 1; }

printf '\nA virtual machine with a stock kernel starts; 10.0.2.2 is this machine there.\n'
cat >"$dir/guest.sh" <<'EOF'
set -eu
file=$1 port=$2 nqn=$3
PATH=$PWD/build:$PATH
run() { printf '\n$ %s\n' "$*"; "$@"; }
run uname -rv
run modprobe nvme-tcp
run nvme discover -t tcp -a 10.0.2.2 -s "$port"
run nvme connect -t tcp -a 10.0.2.2 -s "$port" -n "$nqn"
for _ in $(seq 50); do
	[ "$(ls -d /dev/nvme0n? 2>/dev/null | wc -l)" -ge 7 ] && break
	sleep 0.1
done
run nvme list
run accel list --transport tcp
# Names of nodes come in the order in which the kernel finds them.
dev=$(accel list --type compression --transport tcp | awk '/^\/dev/ { print $1; exit }')
[ -b "$dev" ] || { echo "no compression accelerator"; exit 1; }
printf '\nA file of %s bytes, compressed through %s:\n' "$(stat -c %s "$file")" "$dev"
cd /run
printf '\n$ accel compress -v -D %s -o out.gz file\n' "$dev"
accel compress -v -D "$dev" -o out.gz "$file" 2>&1 | sed "s|$file|file|"
printf '\n$ gunzip -c out.gz | cmp - file\n'
gunzip -c out.gz | cmp - "$file"
echo "gunzip: the same $(stat -c %s "$file") bytes"
printf '\n$ accel stats %s\n' "$dev"
accel stats "$dev" | grep -E '^(Device|Jobs|Bytes)'
run nvme disconnect -n "$nqn"
EOF
tests/vm/vm.sh -n -s "$dir/guest.sh" -- "$file" "$port" nqn.2026-11.local.accel:acceld
printf '\nThe virtual machine is gone. What the daemon says:\n'
kill -TERM "$daemon"
wait "$daemon" || :
daemon=
cat "$dir/log"
