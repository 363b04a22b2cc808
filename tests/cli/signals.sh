#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# An end in the middle: nothing partial under the final name, the input whole; by SIGINT and SIGTERM no
# temporary file either.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1

truncate -s 8G big
dd if="$ACCEL" of=big conv=notrunc bs=64K seek=1000 2>/dev/null

# Ends the command once its temporary file has data. end NAME SIGNAL STATUS FILES-LEFT COMMAND...
end() {
	name=$1 sig=$2 want=$3 left=$4
	shift 4
	"$@" >/dev/null 2>err &
	pid=$!
	tries=0
	while [ -z "$(find . -name '.accel-*' -size +0)" ] && [ $tries -lt 200 ] && kill -0 $pid 2>/dev/null; do
		sleep 0.05
		tries=$((tries + 1))
	done
	kill -s "$sig" $pid 2>/dev/null || { fail "$name" "it had ended by itself" "$(cat err)"; return; }
	wait $pid
	is "$name: status" "$want" "$?"
	is "$name: no output under its name" "" "$(find . -name 'big.gz' -o -name 'out')"
	is "$name: input whole" 8589934592 "$(stat -c %s big)"
	is "$name: temporary files" "$left" "$(find . -name '.accel-*' | wc -l)"
	rm -f .accel-*
}

# sh starts background commands with SIGINT ignored, which the command respects, as gzip does.
interruptible() { python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$@"; }

cat >start.py <<'PY'
import os, signal, sys
for s in (signal.SIGINT, signal.SIGPIPE):
    signal.signal(s, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
PY
end "SIGINT" INT 130 0 python3 start.py "$ACCEL" compress -6 big
end "SIGTERM" TERM 143 0 python3 start.py "$ACCEL" compress -6 big
end "SIGHUP" HUP 129 0 python3 start.py "$ACCEL" compress -6 big
end "SIGKILL" KILL 137 1 python3 start.py "$ACCEL" compress -6 big
end "SIGTERM with -o" TERM 143 0 python3 start.py "$ACCEL" compress -6 -o out big

# A file size limit ends it as a full disk does, by SIGXFSZ.
head -c 3000000 /dev/urandom >noise
sh -c 'ulimit -f 1024; exec "$1" compress -k noise' sh "$ACCEL" 2>/dev/null
is "file size limit: status" 153 $?
is "file size limit: nothing is left" "" "$(find . -name '.accel-*' -o -name noise.gz)"

# Who waits for a device that does not answer may be told to end; the wait is ten seconds.
acceld=$(dirname "$ACCEL")/acceld
if [ -x "$acceld" ]; then
	"$acceld" -l 127.0.0.1:0 2>log &
	daemon=$!
	tries=0
	until port=$(sed -n 's/.*listening addr=127.0.0.1:\([0-9]*\).*/\1/p' log) && [ "$port" ] || [ $tries -ge 200 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
	"$ACCEL" ec encode -k 2 -m 1 noise
	kill -s STOP $daemon
	for verb in "ec encode -k 2 -m 1 -f noise" "ec repair noise" "compress -kf noise"; do
		# shellcheck disable=SC2086
		timeout -s KILL 5 python3 start.py "$ACCEL" ${verb%% noise} -d "tcp://127.0.0.1:$port/?nsid=7" noise 2>err &
		pid=$!
		sleep 1
		kill -s TERM "$(cat /proc/$pid/task/$pid/children)"
		wait $pid
		is "$verb: SIGTERM while the device does not answer" 143 $?
	done
	kill -s CONT $daemon
	kill $daemon
	wait $daemon
else
	skip "SIGTERM while the device does not answer" "$acceld is not built"
fi
finish
