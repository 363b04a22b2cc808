#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Links to what the modules are made of: mirror.sh TOP DIR. Several may run at once for the same directory.
set -eu
top=$1 dir=$2
mkdir -p "$dir"
cd "$top"
find kernel lib/base lib/wire lib/model lib/engine include/uapi \( -name '*.[ch]' -o -name '*.mk' -o -name '*.S' \) -type f |
	while read -r f; do
		[ "$(readlink "$dir/$f" 2>/dev/null)" != "$top/$f" ] || continue
		mkdir -p "$dir/${f%/*}"
		ln -sfn "$top/$f" "$dir/$f"
	done
ln -sfn "$top/kernel/Kbuild" "$dir/Kbuild"
# What is no more.
find "$dir" -xtype l -delete
