# SPDX-License-Identifier: BSD-2-Clause
# What the kernel and programs do with the crypto API, given an accelerator: AF_ALG, dm-crypt by capi:, dm-verity, zswap under memory
# pressure. $WHERE: tcp (acceld's, for kernels without an engine module's export) or local (an engine of this kernel).
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/debug.inc"
. "$here/crypto.inc"

leaks_begin
cr_load
load_host
cr_where
ok "bind" cr_bind a "$dev" --threshold-min 4k --timeout 20000

ct_all "against the generic driver" rounds=20 depth=8 threads=2 max=40000

# ---- AF_ALG ----
use_afalg() {
	local before
	for m in af_alg algif_hash algif_skcipher algif_aead; do modprobe $m 2>/dev/null; done
	before=$(counts cksum_requests encrypt_requests decrypt_requests)
	patience=${AFALG_SECONDS:-6}0
	says "AF_ALG: digests, ciphers, AEAD" '^hash [0-9]+ skcipher [0-9]+ aead [0-9]+' /usr/bin/python3 "$here/crypto_afalg.py" \
		"${AFALG_SECONDS:-6}"
	patience=60
	echo "# $(cat "$work/out")"
	if [ "$(counts encrypt_requests decrypt_requests)" -gt 0 ] && [ "$(counts cksum_requests encrypt_requests decrypt_requests)" -gt "$before" ]; then
		pass "  on the accelerator"
	else
		fail "  on the accelerator" "$(cat "$cdbg/stats")"
	fi
}

# ---- dm-crypt ----
# table CIPHER OPTION...: over the loop device
table() {
	local cipher=$1
	shift
	echo "0 $sectors crypt $cipher $key 0 $backing 0 $# $*"
}
use_dmcrypt() {
	local sectors backing key before
	modprobe dm-crypt || { skip "dm-crypt" "this kernel has none"; return; }
	modprobe loop
	# No udev here: the nodes are dmsetup's.
	export DM_DISABLE_UDEV=1
	truncate -s 48M "$work/volume"
	backing=$(losetup -f --show "$work/volume")
	sectors=$((48 * 2048))
	key=$(head -c 64 /dev/urandom | od -An -tx1 | tr -d ' \n')
	before=$(count encrypt_requests)
	ok "dm-crypt by capi:" dmsetup create vol --table "$(table capi:xts-aes-nvme-accel-plain64 sector_size:4096)"
	ok "  mkfs" mkfs.ext4 -q -F -b 4096 /dev/mapper/vol
	mkdir -p /mnt/vol
	ok "  mount" mount -t ext4 /dev/mapper/vol /mnt/vol
	sample "$work/file" 6000000
	ok "  write" cp "$work/file" /mnt/vol/file
	(cd "$tree" && tar cf - lib include) | tar xf - -C /mnt/vol
	(cd /mnt/vol && find . -type f | sort | xargs sha256sum) >"$work/sums"
	ok "  umount" umount /mnt/vol
	ok "  fsck" fsck.ext4 -f -n /dev/mapper/vol
	ok "  close" dmsetup remove vol
	if [ "$(count encrypt_requests)" -gt "$before" ]; then pass "  on the accelerator"; else fail "  on the accelerator" "$(cat "$cdbg/stats")"; fi
	ok "the same volume in software" dmsetup create vol --table "$(table "capi:xts(ecb(aes-generic))-plain64" sector_size:4096)"
	ok "  fsck" fsck.ext4 -f -n /dev/mapper/vol
	ok "  mount" mount -t ext4 -o ro /dev/mapper/vol /mnt/vol
	ok "  every file is right" sh -c "cd /mnt/vol && sha256sum -c --quiet '$work/sums'"
	ok "  umount" umount /mnt/vol
	ok "  close" dmsetup remove vol
	before=$(count decrypt_requests)
	ok "and by the accelerator again" dmsetup create vol --table "$(table capi:xts-aes-nvme-accel-plain64 sector_size:4096)"
	ok "  mount" mount -t ext4 -o ro /dev/mapper/vol /mnt/vol
	ok "  every file is right" sh -c "cd /mnt/vol && sha256sum -c --quiet '$work/sums'"
	if [ "$(count decrypt_requests)" -gt "$before" ]; then pass "  on the accelerator"; else fail "  on the accelerator" "$(cat "$cdbg/stats")"; fi
	umount /mnt/vol
	dmsetup remove vol
	losetup -d "$backing"
	rm -f "$work/volume"
}

# As the administrator's guide has it; only where cryptsetup is.
use_cryptsetup() {
	local backing before
	have cryptsetup || { skip "cryptsetup" "it is not installed"; return; }
	modprobe dm-crypt
	modprobe loop
	export DM_DISABLE_UDEV=1
	truncate -s 32M "$work/volume"
	backing=$(losetup -f --show "$work/volume")
	head -c 64 /dev/urandom >"$work/key"
	before=$(count encrypt_requests)
	ok "cryptsetup" cryptsetup open --type plain --cipher capi:xts-aes-nvme-accel-plain64 --key-size 512 --key-file "$work/key" \
		--sector-size 4096 "$backing" plain
	ok "  mkfs" mkfs.ext4 -q -F -b 4096 /dev/mapper/plain
	ok "  fsck" fsck.ext4 -f -n /dev/mapper/plain
	if [ "$(count encrypt_requests)" -gt "$before" ]; then pass "  on the accelerator"; else fail "  on the accelerator" "$(cat "$cdbg/stats")"; fi
	ok "  close" cryptsetup close plain
	ok "the same volume as aes-xts-plain64" cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 512 --key-file "$work/key" \
		--sector-size 4096 "$backing" plain
	ok "  fsck" fsck.ext4 -f -n /dev/mapper/plain
	ok "  close" cryptsetup close plain
	losetup -d "$backing"
}
use_verity() {
	local data hashes root before sectors
	have veritysetup || { skip "dm-verity" "veritysetup is not installed"; return; }
	modprobe dm-verity || { skip "dm-verity" "this kernel has none"; return; }
	modprobe loop
	export DM_DISABLE_UDEV=1
	sample "$work/data" 8388608
	truncate -s 1M "$work/hashes"
	data=$(losetup -f --show "$work/data")
	hashes=$(losetup -f --show "$work/hashes")
	ok "veritysetup format" veritysetup format --salt - "$data" "$hashes"
	root=$(sed -n 's/^Root hash: *//p' "$work/out")
	sectors=$((8388608 / 512))
	before=$(counts cksum_requests fallback_partial)
	ok "dm-verity by driver name" dmsetup create -r verity --table \
		"0 $sectors verity 1 $data $hashes 4096 4096 2048 1 sha256-nvme-accel $root -"
	is "  the data" "$(sha256sum <"$work/data")" "$(sha256sum </dev/mapper/verity)"
	echo "# hashed by the accelerator $(count cksum_requests), in pieces in software $(count fallback_partial)"
	if [ "$(counts cksum_requests fallback_partial)" -gt "$before" ]; then pass "  by the driver"; else fail "  by the driver"; fi
	ok "  close" dmsetup remove verity
	losetup -d "$data" "$hashes"
}

# ---- zswap ----
# In a group of processes with little memory, swapping to a disk of memory.
use_zswap() {
	local z=/sys/module/zswap/parameters before mib=${ZSWAP_MIB:-48} rounds=${ZSWAP_ROUNDS:-2} small
	# With less the interpreter alone does not fit, and its pages are read from a file system again and again.
	small=$((mib / 3 > 12 ? mib / 3 : 12))
	[ -d $z ] || { skip "zswap" "this kernel has none"; return; }
	modprobe brd rd_nr=1 rd_size=$((mib * 1024 * 3)) 2>/dev/null
	modprobe zsmalloc 2>/dev/null
	modprobe zbud 2>/dev/null
	mkswap /dev/ram0 >/dev/null && swapon /dev/ram0 || { skip "zswap" "no swap"; return; }
	echo 1 >"$crypto/a/allow_fabrics"
	# Compressed pages are small: by default they would be decompressed in software.
	echo 64 >"$crypto/a/threshold_min"
	ok "zswap takes the driver" sh -c "echo deflate-nvme-accel >$z/compressor && echo 1 >$z/enabled && grep -q deflate-nvme-accel $z/compressor"
	mkdir -p /run/cg
	mount -t cgroup2 cgroup2 /run/cg
	echo +memory >/run/cg/cgroup.subtree_control
	mkdir /run/cg/small
	echo ${small}M >/run/cg/small/memory.max
	before=$(count comp_requests)
	patience=${ZSWAP_SECONDS:-240}
	says "  $mib MiB in $small: every page is right" '^pages [0-9]+$' sh -c \
		"echo \$\$ >/run/cg/small/cgroup.procs; exec /usr/bin/python3 '$here/crypto_pages.py' $mib $rounds"
	patience=60
	echo "# $(counts comp_requests) compressions, $(counts decomp_requests) decompressions, fallback $(counts fallback_requests)"
	if [ "$(count comp_requests)" -gt "$before" ] && [ "$(count decomp_requests)" -gt 0 ]; then
		pass "  on the accelerator"
	else
		fail "  on the accelerator" "$(cat "$cdbg/stats")"
	fi
	is "  none failed for its data" 0 "$(count fallback_verify)"
	echo 0 >$z/enabled
	echo lzo >$z/compressor 2>/dev/null || echo lz4 >$z/compressor 2>/dev/null
	swapoff /dev/ram0
	rmdir /run/cg/small
	umount /run/cg
}

parts=${PARTS:-afalg dmcrypt cryptsetup verity zswap}
for p in $parts; do "use_$p"; done
soon "nothing is under way" 30 eval '[ "$(count in_flight)$(count queued)" = 00 ]'
is "no answer was wrong" "0 0" "$(count fallback_protocol) $(count fallback_verify)"
ok "unbind" cr_unbind a
leaks "nothing has leaked"
finish
