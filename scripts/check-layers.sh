#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The direction of dependencies: tools -> include/accel -> api -> transport, p2p ->
# device, nvmetcp -> model, engine -> wire -> base.
# Prints TAP.
set -u
cd "$(dirname "$0")/.."
n=0 bad=0

# layer NAME DIR PATTERN: no file in DIR may include what PATTERN matches
forbid() {
	n=$((n + 1))
	hits=$(grep -rnE "^#[[:space:]]*include[[:space:]]+[<\"]($3)" "$2" 2>/dev/null | grep -E '\.[ch]:')
	if [ -z "$hits" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		echo "$hits" | sed 's/^/# /'
		bad=1
	fi
}

forbid "base stands on nothing" lib/base '\.\./|accel/|linux/nvme'
forbid "reading sysfs stands on nothing" lib/sys '\.\./|accel/|linux/nvme'
forbid "wire stands on base" lib/wire '(\.\./)+(api|transport|model|engine|nvmetcp)/|accel/'
forbid "model stands on wire and base" lib/model '(\.\./)+(api|transport|engine|nvmetcp)/|accel/|std(io|lib)\.h|unistd'
forbid "engines know buffers only" lib/engine '(\.\./)+(api|transport|model|nvmetcp)/|accel/'
forbid "PDUs stand on base" lib/nvmetcp '(\.\./)+(api|transport|model|device|engine|wire)/|accel/'
forbid "devices stand on the model and engines" lib/device '(\.\./)+(api|transport|nvmetcp)/|accel/'
forbid "peer-to-peer knows no accelerators" lib/p2p '(\.\./)+(api|transport|model|device|engine|wire|nvmetcp)/|accel/'
forbid "transports do not know the library above them" lib/transport '(\.\./)+api/|accel/'
forbid "the daemon is no user of the library" tools/acceld '(\.\./)+(lib/)?(api|transport)/|accel/'
forbid "the command uses the public headers only" tools/accel '(\.\./)*(lib|api|transport|wire|model|engine|base)/'
forbid "public headers use public headers only" include/accel '\.\./|linux/|(api|transport|wire|model|engine|base)/'
n=$((n + 1))
missing=$(git ls-files '*.c' '*.h' '*.sh' '*.py' '*.rst' '*.1' '*.3' 'Makefile' '.ci/run' 2>/dev/null | while read -r f; do
	[ -f "$f" ] && { head -n 4 "$f" | grep -q 'SPDX-License-Identifier' || echo "# $f"; }
done)
if [ -z "$missing" ]; then
	echo "ok $n - every file has an SPDX line"
else
	echo "not ok $n - every file has an SPDX line"
	echo "$missing"
	bad=1
fi
echo "1..$n"
exit $bad
