#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Before dkms builds: what is missing is said here, not in the middle of a log. dkms-check.sh RELEASE HEADERS
command -v python3 >/dev/null || { echo "nvme-accel: python3 is needed to build the modules; install it" >&2; exit 1; }
release=$(sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' "$2/include/generated/utsrelease.h" 2>/dev/null)
[ "$release" = "$1" ] || { echo "nvme-accel: $2 holds headers of '$release', not of $1" >&2; exit 1; }
# Links of whoever built here before.
rm -rf build
