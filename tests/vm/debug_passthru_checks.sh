#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-passthru on the debug kernel: its tests, allocations of each step that fail in turn, and random operations under
# load; no report of a checker, and nothing leaked. debug_passthru_checks.sh [PART]... (default: all of them)
#   FAIL_MOST        how many allocations of a step fail, 0 for all (6)
#   TORTURE_SECONDS  (900)
export FAIL_MOST="${FAIL_MOST:-6}" TORTURE_SECONDS="${TORTURE_SECONDS:-900}"
# shellcheck disable=SC2086 # words
exec "$(dirname "$0")/test_passthru.sh" -k debug ${*:-engines config export nvmet peer life local failslab torture}
