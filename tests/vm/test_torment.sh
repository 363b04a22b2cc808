#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Paths cut, acceld killed, namespaces added and removed, all of it while jobs run, with the inbox host of stock kernels.
. "$(dirname "$0")/lib.inc"
need "$ACCEL"
need "$ACCELD"

for kernel in ${*:-6.12 6.1}; do
	guest "$kernel" "$kernel" torment -t 420
done
finish
