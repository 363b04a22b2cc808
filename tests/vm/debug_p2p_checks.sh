#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-p2pdma on the debug kernel: its tests, those of accel p2p by the kernel's own pages, allocations that fail in turn,
# and a copy of 256 MiB; no report of a checker, and nothing leaked. debug_p2p_checks.sh [PART]... (default: all of them; cli: accel p2p)
parts=${*:-copy life acs host iommu slab other large files cli}
rc=0
case " $parts " in *" cli "*) "$(dirname "$0")/test_p2p_cli.sh" debug || rc=1 ;; esac
parts=$(printf '%s' " $parts " | sed 's/ cli / /')
# shellcheck disable=SC2086 # words
case $parts in *[!\ ]*) "$(dirname "$0")/test_p2p.sh" -k debug $parts || rc=1 ;; esac
exit $rc
