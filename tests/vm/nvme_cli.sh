#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# nvme-cli of Debian 13 (2.13) on any Debian: prints the path of a program that runs it, with its own libraries, from
# the cache; nothing is installed. Status 1 with a reason if it cannot be fetched.
set -eu
. "$(dirname "$0")/archive.inc"

dir=$cache/nvme-cli-trixie
exec 9>"$cache/nvme-cli.lock"
flock -w 900 9 || die "another nvme_cli.sh holds $cache/nvme-cli.lock for 15 minutes"
if [ ! -x "$dir/nvme" ]; then
	uri=$(archive_uri)
	if [ -z "$uri" ]; then
		own_lists || die "apt's lists cannot be fetched: is there a network?"
		uri=$(archive_uri)
	fi
	[ -n "$uri" ] || die "no Debian archive among apt's sources"
	own_lists trixie "$uri" || die "no lists of trixie from $uri: $(tail -n 1 "$cache/apt-trixie/log")"
	tmp=$(mktemp -d "$cache/.tmp.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	echo "nvme_cli.sh: fetching nvme-cli of trixie" >&2
	# What it is linked with; it is not installed, so what its package scripts would want is not needed.
	(cd "$tmp" && apt_get download nvme-cli libc6 libgcc-s1 libjson-c5 libnvme1t64 libkeyutils1 libssl3t64 zlib1g libzstd1 \
		>log 2>&1) || die "$(tail -n 1 "$tmp/log")"
	mkdir "$tmp/tree"
	for deb in "$tmp"/*.deb; do dpkg -x "$deb" "$tmp/tree"; done
	cat >"$tmp/tree/nvme" <<-'EOF'
		#!/bin/sh
		d=$(dirname "$0")
		exec "$d/usr/lib64/ld-linux-x86-64.so.2" --library-path "$d/usr/lib/x86_64-linux-gnu" "$d/usr/sbin/nvme" "$@"
	EOF
	chmod 755 "$tmp/tree/nvme" "$tmp/tree"
	"$tmp/tree/nvme" version >/dev/null || die "nvme-cli of trixie does not run here"
	rm -rf "$dir" "$tmp/tree/usr/share"
	mv "$tmp/tree" "$dir"
fi
printf '%s\n' "$dir/nvme"
