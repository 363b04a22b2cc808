#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# lease and lock. On soft: the device is in the process, so that exclusion between processes cannot be seen
# here; that is tested in the library.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1

ok "lease list" "$ACCEL" lease list soft:
is "  of none" "no leases" "$(cat out)"
ok "lease list -d" "$ACCEL" lease list -d soft:
refuses "unlock what is not there" 1 'has no such lease' "$ACCEL" lease unlock --force -i 0 soft:
ok "unlock all of none" "$ACCEL" lease unlock --force --all soft:
refuses "unlock without saying which" 2 'either --index or --all' "$ACCEL" lease unlock soft:
refuses "unlock with both" 2 'either --index or --all' "$ACCEL" lease unlock -a -i 1 soft:
refuses "a number that is none" 2 "'-1' is not a number" "$ACCEL" lease unlock -i -1 soft:

ok "lock runs a command" "$ACCEL" lock soft: -- true
is "  and says whom it excludes" 1 "$(grep -c 'excludes nobody else' err)"
is "  in one line" 1 "$(wc -l <err)"
is "  behind the device's name" 1 "$(grep -c '^accel lock: soft: warning' err)"
ok "lock -- COMMAND, default device" "$ACCEL" lock -- true
ok "lock -d DEVICE COMMAND" "$ACCEL" lock -d soft: true
ok "lock DEVICE COMMAND" "$ACCEL" lock soft: true
ok "lease lock is the same" "$ACCEL" lease lock soft: -- true
exits "the command's status" 42 "$ACCEL" lock soft: -- sh -c 'exit 42'
exits "the command's options are its own" 0 "$ACCEL" lock soft: -- sh -c '[ "$1" = -d ]' sh -d
is "standard streams are the command's" "got in" "$(echo in | "$ACCEL" lock soft: -- sh -c 'read x; echo got $x' 2>/dev/null)"
exits "a command that is not there" 127 "$ACCEL" lock soft: -- /no/such/command
is "  is named" 1 "$(grep -c '/no/such/command: No such file' err)"
touch plain
exits "a command that cannot be run" 126 "$ACCEL" lock soft: -- ./plain
exits "a command that a signal ended" 137 "$ACCEL" lock soft: -- sh -c 'kill -9 $$'
refuses "no command" 2 'no command' "$ACCEL" lock soft:
refuses "no command behind --" 2 'no command' "$ACCEL" lock soft: --
refuses "no device" 2 'no device' "$ACCEL" lock true false
refuses "a device that is not there" 3 '/dev/nvme77n1' "$ACCEL" lock /dev/nvme77n1 -- true
refuses "wait for a word" 2 "--wait: 'soon' is not a number" "$ACCEL" lock -w soon soft: -- true
ok "-n" "$ACCEL" lock -n soft: -- true

# Signals: passed on to the command, whose status is then ours.
"$ACCEL" lock soft: -- sh -c 'trap "echo caught >caught; exit 7" TERM; touch up; while :; do sleep 0.1; done' 2>/dev/null &
pid=$!
tries=0
while [ ! -e up ] && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -TERM $pid
wait $pid
is "SIGTERM is passed on, the command decides" "7 caught" "$? $(cat caught 2>/dev/null)"

rm -f up caught
"$ACCEL" lock soft: -- sh -c 'trap "echo caught >caught; exit 7" TERM; touch up; while :; do sleep 0.1; done' 2>/dev/null &
pid=$!
tries=0
while [ ! -e up ] && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -KILL $pid
wait $pid 2>/dev/null
tries=0
while [ ! -e caught ] && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
is "SIGKILL of the lock ends the command" caught "$(cat caught 2>/dev/null)"

# A parent that ignores SIGCHLD, as some daemons do, hands that down: the end must be noticed all the same.
cat >deaf.py <<'PY'
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
PY
exits "SIGCHLD ignored: the command's status" 5 timeout -k 1 20 python3 deaf.py "$ACCEL" lock soft: -- sh -c 'exit 5'
is "  and still ignored by the command" True \
	"$(timeout -k 1 20 python3 deaf.py "$ACCEL" lock soft: -- python3 -c 'import signal
print(signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN)' 2>/dev/null)"

# The lease is renewed while the command outlives its duration (10 s).
ok "a command longer than the lease keeps the lock" "$ACCEL" lock soft: -- sleep 12
is "  nothing was lost" 0 "$(grep -c 'was lost' err)"

# What is open behind a lock is what is open without one.
fds='ls /proc/self/fd | wc -l'
is "the command inherits no descriptor" "$(sh -c "$fds")" "$("$ACCEL" lock soft: -- sh -c "$fds" 2>/dev/null)"

# A lock that cannot be renewed any more ends its command before somebody else can have it.
daemon=
cleanup() { [ -z "$daemon" ] || kill "$daemon" 2>/dev/null; }
acceld=$(dirname "$ACCEL")/acceld
nqn=nqn.2026-11.org.example:lock
me=nqn.2014-08.org.nvmexpress:uuid:6f0d1b5e-3a0c-4b39-9d8e-2f1f6f2b9c11
# serve LINE: the daemon, with that line about hosts
serve() {
	printf '[daemon]\nlisten=127.0.0.1:0\n[subsystem %s]\n%s\n[namespace 2]\ntype=all\n' "$nqn" "$1" >conf
	[ -z "$daemon" ] || { kill -HUP "$daemon"; return; }
	"$acceld" -c conf 2>log &
	daemon=$!
	tries=0
	while ! grep -q 'ready' log && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
	url="tcp://127.0.0.1:$(sed -n 's/.*listening addr=127.0.0.1:\([0-9]*\).*/\1/p' log)/$nqn?nsid=2"
}
# hold FILE: the lock, with a command of 30 s that says in FILE how it ended; returns when it is held
hold() {
	timeout -k 1 40 "$ACCEL" lock "$url" -- sh -c 'trap "echo TERM >$0; exit 0" TERM; touch $0; i=0
		while [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done; echo ran on >$0' "$1" 2>"$1.err" &
	lock=$!
	tries=0
	while [ ! -e "$1" ] && [ $tries -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
}
if [ -x "$acceld" ]; then
	serve allow_any_host=yes
	hold shut_out
	serve "host=$me"
	ok "a host that is shut out: another one gets the lock" timeout 40 "$ACCEL" lock -w 20 \
		"$url&hostnqn=$me&hostid=6f0d1b5e-3a0c-4b39-9d8e-2f1f6f2b9c11" -- cp shut_out then
	is "  which the first one had let go by then" TERM "$(cat then)"
	wait "$lock"
	is "  with status 1" 1 $?
	is "  and a message" 1 "$(grep -c 'the lock was lost' shut_out.err)"
	serve allow_any_host=yes
	sleep 0.3
	hold cut_off
	kill "$daemon"
	wait "$daemon" 2>/dev/null
	daemon=
	start=$(date +%s)
	wait "$lock"
	is "a daemon that does not come back: status 1" 1 $?
	is "  the command got SIGTERM" TERM "$(cat cut_off)"
	is "  for a reason" 1 "$(grep -c 'the lock was lost .it could not be renewed in time' cut_off.err)"
	took=$(($(date +%s) - start))
	[ "$took" -le 14 ] && pass "  in time" || fail "  in time" "$took s"
else
	skip "locks that are lost" "$acceld is not built"
fi
finish
