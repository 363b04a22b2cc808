#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The sources of the modules and no more, as dkms wants them: dkms-tree.sh TOP DIRECTORY VERSION
set -eu
top=$1 dir=$2 version=$3
# Removed are only what this script has made, never a directory of another kind.
if [ -e "$dir" ]; then
	grep -qs '^PACKAGE_NAME="nvme-accel"' "$dir/dkms.conf" || { echo "dkms-tree: $dir is there and not ours" >&2; exit 1; }
	rm -rf "$dir"
fi
cd "$top"
find kernel lib/base lib/wire lib/model lib/engine include/uapi scripts/mkprivate.py scripts/btf.py scripts/btf_c.py \
	scripts/cnames.py scripts/kimage.py -type f \( -name '*.[chS]' -o -name '*.mk' -o -name '*.sh' -o -name '*.py' \
	-o -name Kbuild -o -name Makefile \) |
	while read -r f; do
		mkdir -p "$dir/${f%/*}"
		cp -p "$f" "$dir/$f"
	done
cp -r LICENSES "$dir/"
sed "s/@VERSION@/$version/" kernel/dkms.conf >"$dir/dkms.conf"
echo "VERSION := $version" >"$dir/Makefile"
echo "$dir is ready: dkms add nvme-accel/$version && dkms install nvme-accel/$version"
