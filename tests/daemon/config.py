#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Who may connect and to what: allowed hosts, several subsystems, limits of hosts, listeners, defaults; the
configuration changed, and changed wrongly, while hosts work; the end by SIGTERM."""
import os
import random
import re
import socket
import struct
import subprocess
import sys
import time

import lib
from fault_a1 import try_conf
from lib import CONF, HOST, NQN, NS_ALL, NS_RAM, Accel, Daemon, Failure, Skip, Suite, check, conf, equal, status, until
from nvmetcp import *

suite = Suite(seconds=30)
HOST2 = HOST[:-1] + "2"
HOST3 = HOST[:-1] + "3"
OTHER = "nqn.2026-11.local.accel:other"


@suite.test("allowed hosts, several subsystems, who sees what", own=True)
def allowed():
    more = "\n[subsystem %s]\nallow_any_host = no\nhost = %s\nhost = %s\n[namespace 7]\ntype = ram\nsize = 1M\n" % (
        OTHER, HOST2, HOST3)
    d = Daemon(conf(hosts=[HOST], more=more))
    try:
        def tries(nqn, host):
            try:
                with d.host(nqn, hostnqn=host) as h:
                    return [x for x in struct.unpack("<1024I", h.admin.identify(2).data) if x]
            except WireError as e:
                check("sc=0x84" in str(e) and "sct=1" in str(e), "%s", e)
                return None

        equal(tries(NQN, HOST), [1, 2, 3, 4], "the first host, first subsystem")
        equal(tries(NQN, HOST2), None, "the second host, first subsystem")
        equal(tries(OTHER, HOST), None, "the first host, second subsystem")
        equal(tries(OTHER, HOST2), [7], "the second host, second subsystem")
        equal(tries(OTHER, HOST3), [7], "the third host, second subsystem")
        equal(tries(OTHER, HOST2.upper()), None, "an NQN in capitals")
        equal(tries(OTHER, HOST2 + "0"), None, "a longer NQN")
        # A host comes and another goes; who stays is not disturbed.
        with d.host(hostnqn=HOST) as h, d.host(OTHER, hostnqn=HOST2) as h2, d.host(OTHER, hostnqn=HOST3) as h3:
            d.reload(conf(hosts=[HOST, HOST3], more=more.replace("host = %s\n" % HOST3, "")))
            status(h.q.read(NS_RAM, 0, 512), 0, "who stays")
            status(h2.q.read(7, 0, 512), 0, "who stays")
            equal(tries(NQN, HOST3), [1, 2, 3, 4], "the host that was added")
            equal(tries(OTHER, HOST3), None, "the host that was removed")
            until(lambda: h3.admin.wait_closed(0.1), 5, "the end of the removed host's association")
            # A subsystem goes.
            d.reload(conf(hosts=[HOST]))
            until(lambda: h2.admin.wait_closed(0.1), 5, "the end of the removed subsystem's association")
            status(h.q.read(NS_RAM, 0, 512), 0, "who stays")
    finally:
        why = d.stop()
        d.cleanup()
        check(not why, "%s", why)


@suite.test("limits of one host and of all", own=True)
def host_limits():
    d = Daemon(conf("max_conns_host = 6\nmax_ctrls = 4\nmax_conns = 40\n"))
    try:
        with d.host(queues=5) as h:                       # 6 connections
            q = Queue(d.addr)
            cpl = q.connect(NQN, h.hostnqn, h.hostid)
            status(cpl, (0x181, 0x182), "a connection beyond the host's limit")
            q.close()
            with d.host(hostnqn=HOST2, queues=5) as h2:
                status(h2.q.read(NS_RAM, 0, 512), 0, "another host")
            status(h.q.read(NS_RAM, 0, 512), 0)
        hs = []
        try:
            for i in range(4):
                # The controllers of before may not have ended yet.
                hs.append(until(lambda: host_or_none(d, HOST[:-2] + "a%d" % i), 10, "room for controller %d" % i))
            q = Queue(d.addr)
            status(q.connect(NQN, HOST, bytes(15) + b"\5"), (0x181, 0x182), "a controller beyond max_ctrls")
            q.close()
        finally:
            for h in hs:
                h.close()
        until(lambda: try_host(d), 5, "room for a controller")
    finally:
        why = d.stop()
        d.cleanup()
        check(not why, "%s", why)


@suite.test("neither one host nor those who only look around get all controllers", own=True)
def controllers_left():
    d = Daemon(conf("max_ctrls = 8\nlog_level = debug\n"))
    try:
        for nqn, name in ((NQN, lambda i: HOST2), (DISCOVERY_NQN, lambda i: "nqn.2026-11.local.accel:h%d" % i)):
            qs = []
            for i in range(7):
                qs.append(Queue(d.addr))
                cpl = qs[-1].connect(nqn, name(i), bytes(15) + bytes([i + 1]), sqsize=31)
                status(cpl, 0 if i < 6 else 0x181, "controller %d of %s" % (i + 1, nqn))
            d.good()
            for q in qs:
                q.close()
            until(lambda: len(re.findall("controller-gone", d.log())) >= 6, 5, "the end of these controllers")
            time.sleep(0.2)
    finally:
        why = d.stop()
        d.cleanup()
        check(not why, "%s", why)


def host_or_none(d, name):
    try:
        return d.host(hostnqn=name, queues=1)
    except WireError:
        return None


def try_host(d):
    try:
        d.host().close()
        return True
    except WireError:
        return False


@suite.test("a bad configuration at SIGHUP changes nothing and says where it is wrong", 40)
def bad_reload(d):
    text = d.text
    with d.host() as h:
        for bad in ("", "nonsense\n", conf("listen = 999.1.1.1:4420\n"), conf("memory = -1\n"), conf("colour = red\n"),
                    conf(nqn="nqn"), conf(namespaces=CONF.replace("type = ram", "type = rum", 1)),
                    conf(namespaces=CONF + CONF), conf(namespaces=CONF.replace("size = 16M", "size = 99999999999T")),
                    conf(hosts=["x" * 300]), "\0\0\0\0", "[" * 100000, "a = " + "b" * 100000, conf() + "\xff\xfe",
                    conf(namespaces=CONF.replace("size = 16M", "size = 18446744073709551616")),
                    conf(namespaces=CONF.replace("slots = 16", "slots = 0"))):
            rc, out, path = try_conf(bad)
            if rc == 0:
                check(bad == "", "taken: %r", bad[:100])
                continue
            check(path in out, "%r: no file in the message: %s", bad[:60], out[:300])
            log = d.reload(bad)
            check(d.alive(), "acceld ended")
            check(re.search(r":\d+: |reload-failed|refused|unchanged", log), "no reason in: %s", log)
            status(h.q.read(NS_RAM, 0, 512), 0, "a host during a bad reload")
            equal([x for x in struct.unpack("<1024I", h.admin.identify(2).data) if x], [1, 2, 3, 4], "namespaces")
        d.reload(text)


@suite.test("namespaces come, go and change at SIGHUP while hosts work", 50)
def reloads(d):
    text = d.text
    with d.host() as h:
        data = random.randbytes(512)
        status(h.q.write(NS_RAM, 9, data), 0)
        for i in range(6):
            kinds = "type = digest\nslots = 4\n", "type = ram\nsize = 1M\n"
            extra = "".join("[namespace %d]\n%s" % (10 + k, kinds[k % 2]) for k in range(i))
            d.reload(conf(namespaces=CONF + extra))
            want = [1, 2, 3, 4] + [10 + k for k in range(i)]
            equal([x for x in struct.unpack("<1024I", h.admin.identify(2).data) if x], want, "namespaces")
            equal(h.q.read(NS_RAM, 9, 512).data, data, "data of a namespace that stays")
            for k in range(i):
                status(h.q.read(10 + k, 0, 512), 0, "namespace %d" % (10 + k))
        d.reload(text)
        status(h.q.read(10, 0, 512), 0x00b, "a namespace that is gone", dnr=True)
        equal(h.q.read(NS_RAM, 9, 512).data, data, "data of a namespace that stays")
        a = Accel(h, NS_ALL)
        a.claim(2)
        for i in range(20):                              # what is unchanged keeps its leases
            d.reload()
            equal(a.crc(b"%d" % i), crc32c(b"%d" % i), "a job between reloads")
        a.release()


@suite.test("SIGTERM lets what is in flight end", own=True)
def drain():
    d = Daemon()
    try:
        with d.host() as h:
            a = Accel(h, NS_ALL)
            a.claim()
            slot, seq = a.slots[0], a.next_seq(a.slots[0])
            held = a.submit_wait(slot, seq)
            job = a.submit_job(slot, seq, random.randbytes(1 << 19), 1, 1, out_max=1 << 20, arg0=9)
            cids = [h.q.submit_read(NS_RAM, 0, 65536) for _ in range(16)]
            d.proc.terminate()
            ended = 0
            try:
                for c in cids + [job, held]:
                    status(h.q.wait(c, 15), (0, 0x007, 0x082), "a command in flight at SIGTERM")
                    ended += 1
            except Closed:
                raise Failure("%d of 18 commands were answered" % ended)
            q = None
            try:
                q = Queue(d.addr, timeout=2)
                check(q.connect(NQN, HOST, bytes(15) + b"\7").sc, "a new host got in")
            except (Closed, OSError):
                pass
        d.proc.wait(15)
        why = d.stop()
        check(not why, "%s", why)
    finally:
        d.cleanup()


@suite.test("a host over IPv6, and the discovery records of two listeners", own=True)
def ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
    except OSError as e:
        raise Skip("no IPv6 here: %s" % e)
    d = Daemon(conf("listen = [::1]:0\n"))
    try:
        ports = dict(re.findall(r"listening addr=(\S+):(\d+)", d.log()))
        check(set(ports) == {"127.0.0.1", "[::1]"}, "listeners: %s", ports)
        d.addr = ("::1", int(ports["[::1]"]))
        d.good()
        q = Queue(d.addr)
        status(q.connect(DISCOVERY_NQN, HOST, bytes(range(16))), 0)
        status(q.prop_set(CC, CC_ENABLE), 0)
        n = u64(q.get_log(0x70, 1024, nsid=0).data, 8)
        p = q.get_log(0x70, 1024 * (n + 1), nsid=0).data
        recs = {(r[1], r[512:768].split(b"\0")[0].strip().decode(), r[32:64].split(b"\0")[0].strip().decode())
                for r in (p[1024 * i:1024 * i + 1024] for i in range(1, n + 1)) if r[2] == 2}
        equal(recs, {(1, "127.0.0.1", ports["127.0.0.1"]), (2, "::1", ports["[::1]"])}, "records")
        q.close()
    finally:
        why = d.stop()
        d.cleanup()
        check(not why, "%s", why)


LONE = r"""
import os, re, subprocess, sys, time
sys.path.insert(0, "tests/daemon")
from nvmetcp import *
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
p = subprocess.Popen([sys.argv[1]], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
line = p.stderr.readline().decode()
assert "listening addr=127.0.0.1:4420" in line, line
listening = [x.split()[1] for f in ("tcp", "tcp6", "udp", "udp6") for x in open("/proc/net/" + f).readlines()[1:]
             if f[:3] == "udp" or x.split()[3] == "0A"]
assert listening == ["0100007F:1144"], listening
with Host(("127.0.0.1", 4420), "nqn.2026-11.local.accel:acceld") as h:
    ids = [x for x in struct.unpack("<1024I", h.admin.identify(2).data) if x]
    assert ids == [1, 2, 3, 4, 5, 6, 7], ids
    types = [u16(h.admin.identify(0, i).data, 400) for i in ids]
    assert types == [1, 2, 3, 4, 5, 8, 9], types
p.terminate()
text = p.stderr.read().decode("latin-1")
assert p.wait(20) == 0, text
print("done")
"""


@suite.test("without a file: 127.0.0.1 port 4420, seven namespaces, and nothing else listens", own=True)
def defaults():
    if os.geteuid():
        raise Skip("a network namespace of its own needs root")
    if os.path.exists("/etc/acceld.conf"):
        raise Skip("there is an /etc/acceld.conf")
    r = subprocess.run(["unshare", "-n", sys.executable, "-c", LONE, os.path.abspath(lib.BIN)], capture_output=True,
                       timeout=25)
    check(r.stdout == b"done\n", "%s", (r.stdout + r.stderr).decode("latin-1")[-1500:])


@suite.test("an address that is taken by somebody else, at SIGHUP", own=True)
def taken_address():
    d = Daemon()
    try:
        with socket.socket() as s, d.host() as h:
            s.bind(("127.0.0.1", 0))
            s.listen()
            d.reload(conf().replace("127.0.0.1:0", "127.0.0.1:%d" % s.getsockname()[1]))
            status(h.q.read(NS_RAM, 0, 512), 0, "a host that was there")
            d.good()
    finally:
        why = d.stop()
        d.cleanup()
        check(not why, "%s", why)

if __name__ == "__main__":
    sys.exit(suite.main())
