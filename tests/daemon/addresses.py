#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Listeners of every kind, and what the discovery log says of them to hosts that come by different addresses. In a
network namespace of its own, as some of the listeners are not loopback's."""
import os
import re
import subprocess
import sys

if os.environ.get("ACCEL_TEST_NET") != "own":
    os.environ["ACCEL_TEST_NET"] = "own"
    if subprocess.run(["unshare", "-rn", "true"], stderr=subprocess.DEVNULL).returncode:
        print("1..1\nok 1 - addresses # SKIP this machine allows no network namespaces (unshare -rn)")
        sys.exit(0)
    os.execvp("unshare", ["unshare", "-rn", sys.executable, *sys.argv])

import lib
from lib import HOST, NQN, Daemon, Suite, check, conf, equal, status, until
from nvmetcp import *

suite = Suite(seconds=30)
for words in ("link set lo up", "addr add 192.0.2.1/32 dev lo", "addr add 2001:db8::1/128 dev lo nodad"):
    subprocess.run(["ip", *words.split()], check=True)
STAYS = "[namespace 1]\ntype = ram\nsize = 1M\n"


def records(addr):
    """(subtype, ADRFAM, TRADDR, TRSVCID, SUBNQN) as told to a host that comes by this address."""
    q = Queue(addr)
    status(q.connect(DISCOVERY_NQN, HOST, bytes(15) + b"\2"), 0)
    status(q.prop_set(CC, CC_ENABLE), 0)
    until(lambda: q.prop_get(CSTS).dw0 & 1, 5, "CSTS.RDY")
    n = u64(status(q.get_log(0x70, 1024, nsid=0), 0).data, 8)
    log = status(q.get_log(0x70, 1024 * (n + 1), nsid=0), 0).data
    q.close()
    text = lambda r, a, b: r[a:b].rstrip(b" \0").decode()
    return [(r[2], r[1], text(r, 512, 768), text(r, 32, 64), text(r, 256, 512))
            for r in (log[1024 * i:1024 * (i + 1)] for i in range(1, n + 1))]


def usable(recs):
    """Where the host is sent; each place must answer for that subsystem."""
    out = set()
    for subtype, fam, host, port, nqn in recs:
        equal(fam, 2 if ":" in host else 1, "ADRFAM of %s" % host)
        q = Queue((host, int(port)))
        status(q.connect(nqn, HOST, bytes(15) + b"\3"), 0, "Connect to %s at %s port %s" % (nqn, host, port))
        q.close()
        if subtype == 2:
            out.add((host, int(port)))
        else:
            equal((subtype, nqn), (3, DISCOVERY_NQN), "another record")
    return out


def daemon(*listen):
    more = "".join("listen = %s\n" % x for x in listen)
    return Daemon(conf(more, namespaces=STAYS))


def ended(d):
    why = d.stop()
    d.cleanup()
    check(not why, "%s", why)


@suite.test("loopback listeners are shown to hosts that come by loopback, others to all", own=True)
def mixed():
    d = daemon("[::1]:4421", "192.0.2.1:4422")
    try:
        want = {("127.0.0.1", d.port), ("::1", 4421), ("192.0.2.1", 4422)}
        equal(usable(records(("127.0.0.1", d.port))), want, "records by 127.0.0.1")
        equal(usable(records(("::1", 4421))), want, "records by ::1")
        equal(usable(records(("192.0.2.1", 4422))), {("192.0.2.1", 4422)}, "records by 192.0.2.1")
    finally:
        ended(d)


@suite.test("a listener at all addresses is shown as the one that the host came by", own=True)
def wildcard():
    d = daemon("0.0.0.0:4423", "[::]:4424")
    try:
        port = d.port
        equal(usable(records(("127.0.0.1", 4423))), {("127.0.0.1", port), ("127.0.0.1", 4423)}, "by 127.0.0.1")
        equal(usable(records(("127.0.0.5", 4423))), {("127.0.0.1", port), ("127.0.0.5", 4423)}, "by 127.0.0.5")
        equal(usable(records(("192.0.2.1", 4423))), {("192.0.2.1", 4423)}, "by 192.0.2.1")
        equal(usable(records(("2001:db8::1", 4424))), {("2001:db8::1", 4424)}, "by 2001:db8::1")
        equal(usable(records(("::1", 4424))), {("127.0.0.1", port), ("::1", 4424)}, "by ::1")
    finally:
        ended(d)


@suite.test("listeners come and go at SIGHUP, and those that stay keep their connections", own=True)
def reloaded():
    d = daemon()
    try:
        with d.host() as h:
            d.reload(conf("listen = 192.0.2.1:4425\n", namespaces=STAYS))
            equal(usable(records(("127.0.0.1", d.port))), {("127.0.0.1", d.port), ("192.0.2.1", 4425)}, "with one more")
            with d.host() as h2:
                d.reload(conf(namespaces=STAYS))
                equal(usable(records(("127.0.0.1", d.port))), {("127.0.0.1", d.port)}, "without it")
                try:
                    Queue(("192.0.2.1", 4425)).close()
                    check(False, "port 4425 still listens")
                except OSError:
                    pass
                # An address that cannot be had leaves all as it was, in the log too.
                log = d.reload(conf("listen = 198.51.100.1:4426\n", namespaces=STAYS))
                check(re.search(r"198\.51\.100\.1:4426.*no such address", log), "the reason in: %s", log)
                equal(usable(records(("127.0.0.1", d.port))), {("127.0.0.1", d.port)}, "behind a failed one")
                for x in (h, h2):
                    status(x.q.read(1, 0, 512), 0, "a read of a host that was there all the time")
    finally:
        ended(d)


@suite.test("an address that cannot be had at the start is named, with a status", own=True)
def at_start():
    for addr in ("198.51.100.1:4420", "[2001:db8::99]:4420"):
        r = subprocess.run([lib.BIN, "-c", "/dev/null", "-l", addr], capture_output=True, timeout=20)
        equal(r.returncode, 1, "status of -l %s" % addr)
        check(addr.encode() in r.stderr and b"no such address" in r.stderr, "%s", r.stderr)


if __name__ == "__main__":
    sys.exit(suite.main())
