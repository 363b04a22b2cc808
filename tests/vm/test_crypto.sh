#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The kernel module nvme-accel-crypto. test_crypto.sh [-k LINE]... [basic|use|fault|life|guide|nvmet|cross|bench|testmgr|failslab|all]...
# Without a name those of make check: guide and some of use on 6.12, a short basic on 6.1. On the debug kernel (-k debug) all look for leaks, too.
#   basic  each algorithm on acceld's accelerators over TCP and on an engine of this kernel; what is shown
#   use    AF_ALG, dm-crypt, zswap under memory pressure, on an engine of this kernel (6.1: acceld's)
#          ($PARTS of it alone: afalg dmcrypt cryptsetup verity zswap; zswap with $ZSWAP_MIB of memory, $ZSWAP_ROUNDS times)
#   fault  flipped bits, late answers, cut connections, stolen leases, a daemon that is killed, a device that goes away
#   life   1,000 requests under way, bindings on and off under load, reloads
#   guide  Documentation/crypto.rst word for word; what users do wrong, and what is taken from under them
#   nvmet  an engine of this kernel behind the inbox target (6.12)
#   cross  100,000 buffers ($BUFFERS), crossed with the generic driver
#   bench  acceld outside the guest: what the processor is spared
#   testmgr  on the debug kernel alone: its tests of the crypto API with the random ones
#   failslab  there, too: allocations that fail ($FAIL_MOST of a step in turn; 0, which is preset: all)
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
	printf '[daemon]\nlisten = 127.0.0.1:%d\n\n[subsystem nqn.2026-11.local.accel:vm]\nallow_any_host = yes\n\n[namespace 1]\ntype = all\n\n[namespace 2]\ntype = ram\nsize = 16M\n' \
		$port >"$work/acceld.conf"
	"$ACCELD" -c "$work/acceld.conf" </dev/null >"$work/acceld.log" 2>&1 &
	daemon=$!
	cr_guest bench "$1" bench -n -t 1200 -e address=10.0.2.2 -e port=$port -e BENCH_SECONDS="${BENCH_SECONDS:-1}" \
		-e BENCH_ARGS="${BENCH_ARGS:-}"
	kill "$daemon"
	wait "$daemon"
}

in_check() {
	if [ "$1" = 6.1 ]; then
		cr_guest basic "$1" basic -t 900 -e ROUNDS=30
	else
		cr_guest guide "$1" guide -t 600
		cr_guest use "$1" use -t 900 -e WHERE=local -e PARTS=afalg -e AFALG_SECONDS=3
	fi
}
stock() {
	local kernel=$1 where=local mib=48 rounds=2
	case $kernel in 6.1) where=tcp mib=18 rounds=1 ;; esac
	wanted basic && cr_guest basic "$kernel" basic -t 1200 -e LOCAL=1
	wanted use && cr_guest use "$kernel" use -t 1200 -e WHERE=$where -e PARTS="${PARTS:-}" -e ZSWAP_MIB="${ZSWAP_MIB:-$mib}" \
		-e ZSWAP_ROUNDS="${ZSWAP_ROUNDS:-$rounds}"
	wanted fault && cr_guest fault "$kernel" fault -t 900
	wanted life && cr_guest life "$kernel" life -t 900 -e RELOADS="${RELOADS:-20}"
	wanted guide && cr_guest guide "$kernel" guide -t 600
	[ "$where" = tcp ] || { wanted nvmet && cr_guest nvmet "$kernel" nvmet -t 600; }
	wanted cross && cr_guest cross "$kernel" cross -t 3600 -e BUFFERS="${BUFFERS:-100000}"
	wanted bench && bench_guest "$kernel"
}
on_debug() {
	wanted testmgr && cr_guest testmgr debug debug -t 1800
	wanted failslab && cr_guest failslab debug failslab -t 1800 -e FAIL_MOST="${FAIL_MOST:-0}"
	wanted basic && cr_guest basic debug basic -t 1800 -e ROUNDS=30 -e LOCAL=1
	wanted use && cr_guest use debug use -t 1800 -e WHERE=local -e ZSWAP_MIB=24 -e ZSWAP_ROUNDS=1
	wanted fault && cr_guest fault debug fault -t 1800 -e FAULT_SECONDS=8
	wanted nvmet && cr_guest nvmet debug nvmet -t 1200 -e ROUNDS=60
	wanted life && cr_guest life debug life -t 1800 -e RELOADS="${RELOADS:-5}"
}

append=${VM_APPEND:-}
for kernel in ${kernels:-6.12 6.1}; do
	modules_for "$kernel" || continue
	export VM_APPEND=$append
	if [ "$tests" = check ]; then
		in_check "$kernel"
	elif [ "$kernel" = debug ]; then
		# The crypto API's own random tests of each driver take minutes there; testmgr turns them on for ours.
		VM_APPEND="$append cryptomgr.noextratests=1"
		on_debug
	else
		stock "$kernel"
	fi
done
finish
