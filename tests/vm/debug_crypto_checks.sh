#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# nvme-accel-crypto on the debug kernel: the kernel's own tests of the algorithms with the random ones, allocations that fail, faults,
# use and reloads under load; no report of a checker, and nothing leaked. debug_crypto_checks.sh [PART]... (default: all of them)
#   RELOADS  how often the module is loaded again (5)
# shellcheck disable=SC2086 # words
exec "$(dirname "$0")/test_crypto.sh" -k debug ${*:-testmgr failslab fault life basic use nvmet}
