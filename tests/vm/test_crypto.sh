#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The kernel module nvme-accel-crypto. test_crypto.sh [-k LINE]... [basic|use|fault|life|cross|debug|bench|all]...
# Without a name those of make check: a short use on 6.12, a short basic on 6.1.
#   basic  each algorithm on acceld's accelerators over TCP and on an engine of this kernel; what is shown
#   use    AF_ALG, dm-crypt, zswap under memory pressure, on an engine of this kernel (6.1: acceld's)
#   fault  flipped bits, late answers, cut connections, stolen leases, a daemon that is killed, a device that goes away
#   life   1,000 requests under way, bindings on and off under load, reloads
#   cross  100,000 buffers ($BUFFERS), crossed with the generic driver
#   debug  on the debug kernel: testmgr with its random tests, allocations that fail, leaks; with life and fault after it
#   bench  acceld outside the guest: what the processor is spared
#   MODULES  the directory of the modules, if they are not to be built for the kernel
. "$(dirname "$0")/lib.inc"
need "$ACCEL"
need "$ACCELD"

kernels=
while [ "${1:-}" = -k ]; do kernels="$kernels $2"; shift 2; done
tests=${*:-check}
wanted() { case " $tests " in *" all "* | *" $1 "*) ;; *) return 1 ;; esac; }

cr_guest() {
	local name=$1 kernel=$2 script=$3
	shift 3
	guest "$name on $kernel" "$kernel" "crypto_$script" -e MODULES="$modules" "$@"
}

# acceld out here, for the guest's user networking.
bench_guest() {
	local port
	port=$((20000 + RANDOM % 20000))
	printf '[daemon]\nlisten = 127.0.0.1:%d\n\n[subsystem nqn.2026-11.local.accel:vm]\nallow_any_host = yes\n\n[namespace 1]\ntype = all\n' \
		$port >"$work/acceld.conf"
	"$ACCELD" -c "$work/acceld.conf" </dev/null >"$work/acceld.log" 2>&1 &
	daemon=$!
	cr_guest bench "$1" bench -n -t 1200 -e address=10.0.2.2 -e port=$port -e BENCH_SECONDS="${BENCH_SECONDS:-1}" \
		-e BENCH_ARGS="${BENCH_ARGS:-}"
	kill "$daemon"
	wait "$daemon"
}

stock() {
	local kernel=$1 local_too=1 where=local
	modules_for "$kernel" || return
	case $kernel in 6.1*) where=tcp ;; esac
	if [ "$tests" = check ]; then
		if [ "$kernel" = 6.1 ]; then
			cr_guest basic "$kernel" basic -t 900 -e ROUNDS=30
		else
			cr_guest use "$kernel" use -t 900 -e WHERE=$where -e ZSWAP_MIB=24 -e ZSWAP_ROUNDS=1 -e AFALG_SECONDS=3
		fi
		return
	fi
	wanted basic && cr_guest basic "$kernel" basic -t 1200 -e LOCAL=$local_too
	wanted use && cr_guest use "$kernel" use -t 1200 -e WHERE=$where
	wanted fault && cr_guest fault "$kernel" fault -t 900
	wanted life && cr_guest life "$kernel" life -t 900 -e RELOADS="${RELOADS:-20}"
	wanted cross && cr_guest cross "$kernel" cross -t 3600 -e BUFFERS="${BUFFERS:-100000}"
	wanted bench && bench_guest "$kernel"
}

for kernel in ${kernels:-6.12 6.1}; do [ "$kernel" = debug ] || stock "$kernel"; done
if wanted debug && modules_for debug; then
	cr_guest testmgr debug debug -t 1800
	cr_guest fault debug fault -t 1800 -e FAULT_SECONDS=8
	cr_guest life debug life -t 1800 -e RELOADS=5
fi
finish
