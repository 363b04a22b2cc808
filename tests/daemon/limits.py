#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Limits that a hostile peer cannot push past: connections, handshakes, memory, held commands, leases; what idles uses
no CPU; nothing is left of clients that died."""
import os
import random
import resource
import signal
import sys
import time

from fault_a1 import stats
from lib import CONF, HOST, NQN, NS_ALL, NS_RAM, Accel, Daemon, Skip, Suite, check, conf, equal, status, until
from nvmetcp import *

suite = Suite(seconds=30)
HOSTID = bytes(range(16))


def with_daemon(text):
    """A test that has a daemon of its own with this configuration."""
    def wrap(fn):
        def run():
            d = Daemon(text)
            try:
                d.good()
                d.good()
                fn(d)
                check(d.alive(), "acceld is gone: %s", d.log()[-3000:])
                d.good()
                why = d.stop()
                check(not why, "%s", why)
            finally:
                d.cleanup()
        run.__name__ = fn.__name__
        return run
    return wrap


def room_for(n):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < n:
        if hard != resource.RLIM_INFINITY and hard < n:
            raise Skip("needs %d file descriptors, the hard limit is %d" % (n, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (n, hard))


def hostile(d, kind):
    """A connection that means no good, left open. None: it was refused."""
    c = Conn(d.addr, timeout=3)
    try:
        if kind == 1:
            c.send(icreq()[:64])
        elif kind == 2:
            c.send(icreq())
        elif kind == 3:
            c.send(icreq() + pdu(CMD, connect_cmd(0, 31, cid=1), connect_data(NQN, HOST, HOSTID))[:500])
        elif kind == 4:
            c.send(icreq() + pdu(CMD, connect_cmd(0, 1023, cid=1), connect_data(NQN, HOST, HOSTID)))
        elif kind == 5:
            c.send(random.randbytes(200))
        elif kind == 6:
            c.send(icreq() + pdu(CMD, connect_cmd(0, 31, cid=1), connect_data(b"A" * 256, HOST, HOSTID)))
        elif kind == 7:
            c.send(pdu(CMD, sqe(WRITE), bytes(512)))
    except (Closed, OSError):
        pass
    return c


@suite.test("10,000 hostile connections: memory stays, a good host works meanwhile and afterwards", 110, own=True)
@with_daemon(conf("max_conns = 1000\nmax_ctrls = 500\nmax_conns_host = 900\nhandshake_ms = 2000\nmemory = 64M\n"))
def ten_thousand(d):
    room_for(1200)
    rss, there = [], []
    for wave in range(20):
        conns = [hostile(d, (i + wave) % 8) for i in range(500)]
        with d.host(hostnqn=HOST[:-1] + "3") as h:
            # Those that are silent, half way through a handshake, or connected are all there.
            most = until(lambda: (lambda n: n if n > 300 else 0)(stats(h)["conns_now"]), 5, "300 of 500 connections")
        there.append(most)
        if wave % 2:
            d.good()
        else:
            with d.host(hostnqn=HOST[:-1] + "2") as h:
                data = random.randbytes(4096)
                status(h.q.write(NS_RAM, 0, data), 0, "a good host during the wave")
                equal(h.q.read(NS_RAM, 0, 4096).data, data, "a good host's data during the wave")
        rss.append(d.rss())
        for i, c in enumerate(conns):
            (c.reset if i % 2 else c.close)()
        until(lambda: d.fds() < 300, 10, "the end of a wave")
    first = max(rss[:5])
    # Each wave has the same kinds of connection, so the peak of the later ones is that of the first ones.
    check(max(rss[5:]) < first + 16384 * (4 if d.sanitized else 1), "resident size by wave, KiB: %s", rss)
    check(sum(there) > 6000, "connections at once, by wave: %s", there)
    until(lambda: d.fds() <= 40, 5, "the end of all connections")


@suite.test("beyond max_conns connections are closed, and those that are there go on", own=True)
@with_daemon(conf("max_conns = 50\n"))
def max_conns(d):
    with d.host(queues=4) as h:
        cs = [Conn(d.addr) for _ in range(120)]
        refused = 0
        for c in cs:
            try:
                c.send(icreq())
                refused += c.recv(3).type != ICRESP
            except (Closed, TimeoutError):
                refused += 1
        check(refused >= 120 - 50, "only %d of 120 connections were refused, max_conns is 50", refused)
        check(refused <= 120 - 40, "%d of 120 connections were refused, max_conns is 50", refused)
        data = random.randbytes(512)
        status(h.q.write(NS_RAM, 0, data), 0)
        equal(h.q.read(NS_RAM, 0, 512).data, data, "data")
        check(d.fds() < 50 + 40, "%d file descriptors", d.fds())
        for c in cs:
            c.close()
    until(lambda: try_good(d), 5, "room for a good host")


def try_good(d):
    try:
        d.good()
        return True
    except (Closed, WireError, OSError):
        return False


@suite.test("handshakes that take too long, a byte now and then", own=True)
@with_daemon(conf("handshake_ms = 1000\n"))
def slow_loris(d):
    t0 = time.monotonic()
    ready = Conn(d.addr)
    ready.initialize()
    half = Conn(d.addr)
    half.initialize()
    half.send(pdu(CMD, connect_cmd(0, 31, cid=1), connect_data(NQN, HOST, HOSTID))[:700])
    slow = Conn(d.addr)
    slow2 = Conn(d.addr)
    slow2.initialize()
    silent = Conn(d.addr)
    by_r2t = Queue(d.addr)
    by_r2t.auto_r2t = False
    by_r2t.submit(connect_cmd(0, 31, sgl=sgl_transport(1024)), data=bytes(1024), cid=1)
    a, b = icreq(), pdu(CMD, connect_cmd(0, 31, cid=1), connect_data(NQN, HOST, HOSTID))
    ended = {}
    conns = {"silent": silent, "ICReq in pieces": slow, "nothing behind ICReq": ready, "half a Connect": half,
             "Connect in pieces": slow2, "Connect without its data": by_r2t}
    for i in range(150):
        for c, raw, name in ((slow, a, "ICReq in pieces"), (slow2, b, "Connect in pieces")):
            if name not in ended:
                try:
                    c.send(raw[i:i + 1])
                except (Closed, OSError):
                    pass
        for name, c in conns.items():
            if name not in ended and c.wait_closed(0.005):
                ended[name] = time.monotonic() - t0
        if len(ended) == len(conns):
            break
        time.sleep(0.05)
    for name in conns:
        check(name in ended, "%s: open after %.1f s, handshake_ms is 1000", name, time.monotonic() - t0)
        check(0.8 < ended[name] < 8, "%s: closed after %.1f s", name, ended[name])
    # A peer that gets a TermReq and does not go.
    c = Conn(d.addr)
    c.send(pdu(CMD, sqe(WRITE), bytes(512)))
    t0 = time.monotonic()
    check(c.wait_closed(6), "a terminated connection stays for ever")
    # A good host is not hurried once it is there.
    with d.host() as h:
        time.sleep(2.5)
        status(h.q.read(NS_RAM, 0, 512), 0, "after 2.5 s of silence")


@suite.test("writes of 1 MiB on 40 connections against 32 MiB of memory", 40, own=True)
@with_daemon(conf("memory = 32M\n", namespaces=CONF.replace("size = 16M", "size = 64M") +
                  "[namespace 5]\ntype = data\nslots = 64\n"))
def memory(d):
    with d.host() as good:
        base, limit = d.rss(), stats(good)["mem_limit"]
        equal(limit, 32 << 20, "mem_limit")
        hs = []
        for i in range(40):
            try:
                h = d.host(hostnqn=HOST[:-2] + "b%d" % (i % 8), sqsize=31, timeout=20)
            except (WireError, Closed):
                continue
            h.q.auto_r2t = False
            hs.append(h)
            for k in range(16):
                # Into a slot that nobody has a lease of: it has to be buffered before it is refused, or refused now.
                nsid = NS_RAM if k % 2 else NS_ALL
                at = k * 2048 if nsid == NS_RAM else (1 << 24) // 512
                h.q.submit_write(nsid, at, bytes(1 << 20), inline=False)
        check(len(hs) >= 8, "only %d hosts got in", len(hs))
        time.sleep(0.5)
        s = stats(good)
        check(s["mem_used"] <= limit, "%d bytes are used, %d is the limit", s["mem_used"], limit)
        grown = d.rss() - base
        check(grown < (32 + 64 + 16) * 1024 * (2 if d.sanitized else 1), "resident size grew by %d KiB", grown)
        data = random.randbytes(512)
        t0 = time.monotonic()
        status(good.q.write(NS_RAM, 100000, data), 0, "a small write of a host that was there")
        equal(good.q.read(NS_RAM, 100000, 512).data, data, "its data")
        check(time.monotonic() - t0 < 8, "it took %.1f s", time.monotonic() - t0)
        # Half of them go, the others send their data: every command gets its answer.
        for h in hs[::2]:
            h.admin.reset()
            h.q.reset()
        for h in hs[1::2]:
            h.q.auto_r2t = True
            for c in list(h.q.cmds):
                while c in h.q.cmds and h.q.cmds[c].r2t:
                    h.q.answer(c)
        n = 0
        for h in hs[1::2]:
            for c in list(h.q.cmds) + list(h.q.done):
                status(h.q.wait(c, 20), (0, 0x286, 0x002, 0x022, 0x006), "a write of 1 MiB")
                n += 1
            h.close()
        check(n >= 16 * (len(hs) // 2) - 16, "%d answers", n)
        until(lambda: stats(good)["mem_used"] < 8 << 20, 5, "the release of memory")


@suite.test("held reads of many connections beyond max_held are answered at once", own=True)
@with_daemon(conf("max_held = 8\n", namespaces=CONF.replace("slots = 16", "slots = 64")))
def held(d):
    hs = [d.host(hostnqn=HOST[:-2] + "9%d" % i, queues=2) for i in range(6)]
    with d.host(hostnqn=HOST[:-1] + "2") as other:
        accels = []
        for h in hs:
            a = Accel(h, NS_ALL)
            a.claim(8)
            accels.append(a)

        def hold():
            """A held read of each slot, half of a host's on either queue."""
            cids = []
            for a in accels:
                for k, slot in enumerate(a.slots):
                    a.q = a.host.io[k % 2]
                    cids.append((a.q, a.submit_wait(slot, 1)))
            return cids

        t0 = time.monotonic()
        cids = hold()
        at_once = 0
        for q, c in cids:
            left = t0 + accels[0].hold_ms / 1250 - time.monotonic()
            try:
                q.wait(c, max(left, 0.001))
                at_once += 1
            except TimeoutError:
                pass
        check(48 - 8 <= at_once < 48, "%d of 48 reads were answered at once, max_held is 8", at_once)
        check(stats(other)["held_now"] <= 8, "%d commands are held", stats(other)["held_now"])
        for q, c in cids:
            if c in q.cmds:
                q.wait(c, 6)
        check(time.monotonic() - t0 < accels[0].hold_ms / 1000 + 4, "held for %.1f s", time.monotonic() - t0)
        # With all places taken another host's jobs work still.
        hold()
        b = Accel(other, NS_ALL)
        b.claim(2)
        t0 = time.monotonic()
        for i in range(20):
            equal(b.crc(b"x" * i), crc32c(b"x" * i), "another host's job")
        check(time.monotonic() - t0 < 25, "20 jobs took %.1f s", time.monotonic() - t0)
    for h in hs:
        h.close()


@suite.test("a host that has claimed all leases and all slots, and dies", own=True)
@with_daemon(conf())
def all_leases(d):
    with d.host() as h, d.host(hostnqn=HOST[:-1] + "2") as other:
        a = Accel(h, NS_ALL)
        ms = max(1000, u32(a.page, 528))
        n = 0
        while Accel.try_claim(a, 1, ms=ms * 2) == 0:
            n += 1
        check(1 <= n <= a.nlease, "%d leases of %d", n, a.nlease)
        b = Accel(other, NS_ALL)
        check(b.try_claim(1) in (2, 3), "a lease although there is none")
        # What else works meanwhile.
        status(other.q.read(NS_RAM, 0, 512), 0)
        for c in (h.q, h.admin):
            c.reset()
        h.io.clear()
        until(lambda: b.try_claim(1) == 0, ms * 2 / 1000 + 4, "a lease when the host is dead")
        equal(b.crc(b"123456789"), 0xe3069283, "a job")
        until(lambda: sum(b.lease(i)["state"] != 0 for i in range(b.nlease)) == 1, 5,
              "the end of the dead host's leases")


@suite.test("idle: no CPU time with connections, a lease, a keep-alive and events asked for", own=True)
@with_daemon(conf())
def idle(d):
    hs = [d.host(hostnqn=HOST[:-2] + "c%d" % (i % 8), queues=2, kato=120000 if i % 2 else 0) for i in range(16)]
    a = Accel(hs[0], NS_ALL)
    a.claim(4, ms=u32(a.page, 532) or 60000)
    a.crc(b"warm")
    for h in hs:
        h.admin.submit(sqe(AER))
    silent = [Conn(d.addr)]
    time.sleep(1)
    t0, c0 = time.monotonic(), d.cpu()
    time.sleep(3)
    used, seconds = d.cpu() - c0, time.monotonic() - t0
    check(used < 0.02 * (3 if d.sanitized else 1), "%.1f ms of CPU time in %.1f idle seconds", used * 1e3, seconds)
    for h in hs:
        h.close()
    silent[0].close()


@suite.test("no CPU time either for polling daemons that idle, or for peers that are stuck", own=True)
@with_daemon(conf("poll_us = 1000\n"))
def stuck(d):
    hs = [d.host(hostnqn=HOST[:-2] + "e%d" % i, rcvbuf=4096) for i in range(6)]
    for h in hs[:2]:                                  # data that was asked for does not come
        h.q.auto_r2t = False
        h.q.submit_write(NS_RAM, 0, bytes(1 << 19), inline=False)
    for h in hs[2:4]:                                 # data is not taken
        for i in range(8):
            h.q.submit_read(NS_RAM, 0, 1 << 19)
    for h in hs[4:]:                                  # a PDU does not come to its end
        h.q.send(h.q.capsule(sqe(WRITE, cid=1, nsid=NS_RAM, sgl=sgl_inline(4096)), bytes(4096))[:2000])
    time.sleep(1.5)
    t0, c0 = time.monotonic(), d.cpu()
    time.sleep(3)
    used, seconds = d.cpu() - c0, time.monotonic() - t0
    check(used < 0.03 * (3 if d.sanitized else 1), "%.1f ms of CPU time in %.1f idle seconds", used * 1e3, seconds)
    for h in hs:
        h.close()


@suite.test("one host that opens all queues it can: another one gets in and gets work done", own=True)
@with_daemon(conf("memory = 64M\n"))
def greedy(d):
    room_for(4096)
    base, hs, n = d.rss(), [], 0
    try:
        while n < 1000:
            h = d.host(queues=0)
            hs.append(h)
            for qid in range(1, 65):
                h.add_queue(qid, 1023)
                n += 1
    except (WireError, Closed) as e:
        check("sct=1" in str(e) or "sc=0x06" in str(e) or isinstance(e, Closed), "the refusal: %s", e)
    check(n > 8, "only %d queues", n)
    check(d.rss() - base < 64 * 1024 * (2 if d.sanitized else 1), "%d queues: grown by %d KiB", n, d.rss() - base)
    d.good(hostnqn=HOST[:-1] + "9")
    for h in hs:
        h.close()


@suite.test("a drain ends although a host does not do its part", own=True)
def drain():
    d = Daemon(conf("drain_ms = 1000\n"))
    try:
        with d.host() as h, d.host(rcvbuf=4096) as deaf:
            h.q.auto_r2t = False
            h.q.submit_write(NS_RAM, 0, bytes(1 << 19), inline=False)
            for i in range(8):
                deaf.q.submit_read(NS_RAM, 0, 1 << 19)
            time.sleep(0.2)
            t0 = time.monotonic()
            why = d.stop(8)
            check(not why, "%s", why)
            check(time.monotonic() - t0 < 7, "it took %.1f s, drain_ms is 1000", time.monotonic() - t0)
    finally:
        d.cleanup()


@suite.test("file descriptors run out: who is there goes on, no CPU time is burnt, others come in afterwards", own=True)
def no_descriptors():
    d = Daemon(conf("max_conns = 1000\n"), before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48)))
    try:
        with d.host() as h:
            cs = [Conn(d.addr) for _ in range(100)]
            for c in cs:
                try:
                    c.send(icreq())
                except (Closed, OSError):
                    pass
            time.sleep(1)
            data = random.randbytes(512)
            status(h.q.write(NS_RAM, 0, data), 0)
            equal(h.q.read(NS_RAM, 0, 512).data, data, "data")
            c0 = d.cpu()
            time.sleep(2)
            check(d.cpu() - c0 < 0.05, "%.1f ms of CPU time in 2 s", (d.cpu() - c0) * 1e3)
            for c in cs:
                c.close()
        until(lambda: try_good(d), 5, "room for a good host")
    finally:
        why = d.stop()
        d.cleanup()
        check(not why, "%s", why)


@suite.test("3000 hosts of different names leave no memory", own=True)
@with_daemon(conf())
def many_names(d):
    rss = 0
    for i in range(3000):
        with d.host(hostnqn="nqn.2014-08.org.nvmexpress:uuid:%08x-0000-4000-8000-%012x" % (i, i), queues=i % 2):
            pass
        if i == 300:
            rss = d.rss()
    check(d.rss() < rss + 4096 * (8 if d.sanitized else 1), "resident size %d KiB, %d after 300 hosts", d.rss(), rss)


def flood(d, i):
    """A process that sends commands as fast as they go, and reads what comes without looking at it."""
    signal.alarm(25)
    h = d.host(hostnqn=HOST[:-2] + "f%d" % i, queues=1)
    kind, size = ((sqe(FLUSH, nsid=NS_RAM), 24), (sqe(0x99), 24),
                  (sqe(READ, nsid=NS_RAM, sgl=sgl_transport(512)), 24 + 512 + 24))[i % 3]
    burst = b"".join(h.q.capsule(sqe_cid(kind, c)) for c in range(100))
    while True:
        h.q.sock.sendall(burst)
        n = 100 * size
        while n:
            got = len(h.q.sock.recv(n))
            if not got:
                return
            n -= got


@suite.test("four hosts that flood it with commands: a fifth one's commands take no longer than a moment", own=True)
@with_daemon(conf())
def floods(d):
    kids = []
    try:
        for i in range(4):
            pid = os.fork()
            if not pid:
                try:
                    flood(d, i)
                finally:
                    os._exit(0)
            kids.append(pid)
        time.sleep(0.5)
        worst = 0
        with d.host(hostnqn=HOST) as h:
            a = Accel(h, NS_ALL)
            a.claim()
            for i in range(100):
                t0 = time.monotonic()
                status(h.q.read(NS_RAM, i, 4096), 0)
                status(h.admin.keep_alive(), 0)
                equal(a.crc(b"x" * i), crc32c(b"x" * i), "a job")
                worst = max(worst, time.monotonic() - t0)
            a.release()
            check(stats(h)["other"] > 1000, "hardly anything was sent by the others: %s", stats(h))
        check(worst < 3, "a read, a Keep Alive and a job took %.2f s", worst)
    finally:
        for pid in kids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


@suite.test("the log of 3000 bad peers is a short one", own=True)
@with_daemon(conf())
def log_size(d):
    for i in range(3000):
        hostile(d, 5 + i % 3).close()
    d.good()
    check(d.mark() < 200000, "%d bytes of log", d.mark())


@suite.test("1000 clients that are killed leave nothing", 80, own=True)
@with_daemon(conf())
def killed(d):
    fds, threads = d.fds(), d.threads()
    for wave in range(40):
        kids = []
        for i in range(25):
            pid = os.fork()
            if not pid:
                try:
                    signal.alarm(20)
                    h = d.host(hostnqn=HOST[:-1] + "%d" % (i % 4), queues=1 + i % 2)
                    if i % 3 == 0:
                        h.q.submit_read(NS_RAM, 0, 1 << 19)
                    elif i % 3 == 1:
                        h.q.auto_r2t = False
                        h.q.submit_write(NS_RAM, 0, bytes(1 << 19), inline=False)
                    else:
                        h.q.send(h.q.capsule(sqe(WRITE, cid=1, nsid=2, sgl=sgl_inline(4096)), bytes(4096))[:999])
                finally:
                    os.kill(os.getpid(), signal.SIGKILL)
            kids.append(pid)
        for pid in kids:
            os.waitpid(pid, 0)
        if wave == 4:
            rss = d.rss()
    until(lambda: d.fds() <= fds + 1, 10, "the end of their connections")
    check(d.threads() <= threads + 2, "%d threads, %d before", d.threads(), threads)
    check(d.rss() < rss + 8192 * (4 if d.sanitized else 1), "resident size %d KiB, %d after 125 clients", d.rss(), rss)
    with d.host() as h:
        until(lambda: stats(h)["ctrls_now"] == 1, 5, "the end of their controllers")
        until(lambda: stats(h)["mem_used"] < 8 << 20, 5, "the release of their memory")


if __name__ == "__main__":
    sys.exit(suite.main())
