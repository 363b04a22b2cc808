#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# acceld and the inbox host of a stock kernel in one guest: nvme-cli, fio, all verbs of accel, harm. test_stock.sh [6.12|6.1]
. "$(dirname "$0")/lib.inc"
need "$ACCEL"
need "$ACCELD"

NVME2=$("$root/tests/vm/nvme_cli.sh" 2>"$work/nvme-err") || NVME2=
why=$(tail -n 1 "$work/nvme-err")
for kernel in ${*:-6.12}; do
	guest "$kernel" "$kernel" stock -t 800 -e NVME2="$NVME2" -e NVME2_WHY="$why"
done
finish
