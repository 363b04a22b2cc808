# SPDX-License-Identifier: BSD-2-Clause
# $BUFFERS random buffers (100,000): compressed by the accelerator and decompressed by the generic driver, and the other way round.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/crypto.inc"

buffers=${BUFFERS:-100000}
cr_load
load_host
cr_acceld 1=compression
ok "bind" cr_bind a "$tcp_dev" --threshold-min 0 --timeout 10000
for ((done = 0; done < buffers; done += 10000)); do
	n=$((buffers - done < 10000 ? buffers - done : 10000))
	ct "$((done + n)) of $buffers" kind=acomp driver=deflate-nvme-accel rounds=$((n / 2)) threads=2 depth=16 max=16000 timeout=120
done
on=$(counts comp_requests decomp_requests)
if [ "$on" -gt $((buffers / 2)) ]; then pass "$on of them on the accelerator"; else fail "on the accelerator" "$(cat "$cdbg/stats")"; fi
ok "unbind" cr_unbind a
disconnect >/dev/null
stop_daemon
finish
