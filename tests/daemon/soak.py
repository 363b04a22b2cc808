#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Eight clients (soak_client, the library over tcp://) work on one daemon through a proxy that cuts, resets and stalls
their connections and lets them through in pieces, while the daemon is killed and started again. Every accepted job has
one result and every result is right; nothing is left in the end: no lease, no connection, no memory. SOAK_SECONDS: how
long, 60 unless given. SEED: of the chaos, and of the clients."""
import os
import random
import re
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from fault_a1 import stats
from lib import NQN, NS_ALL, Accel, Daemon, Suite, beside, check, conf, equal, until

SECONDS = int(os.environ.get("SOAK_SECONDS", "60"))
SEED = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
CLIENT = beside("soak_client", "SOAK_CLIENT")
NCLIENT = 8
CONF = conf("memory = 128M\n", namespaces="[namespace 1]\ntype = all\nthreads = 2\nslots = 256\n"
            "[namespace 2]\ntype = ram\nsize = 16M\n")
suite = Suite(seconds=SECONDS + 150)


class Link:
    """A client's connection and the one to the daemon that belongs to it."""

    def __init__(self, a, b, cut_after):
        self.socks, self.pending = (a, b), [b"", b""]       # pending[i]: for socks[i]
        self.until, self.left, self.piece = 0.0, cut_after, 65536


class Proxy(threading.Thread):
    def __init__(self, to, rnd):
        super().__init__(daemon=True)
        self.to, self.rnd, self.stop, self.chaos = to, rnd, False, True
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.links, self.counts = {}, dict.fromkeys(("links", "refused", "cut", "reset", "stall", "piece", "amid"), 0)
        self.failure = None

    def run(self):
        try:
            self.loop()
        except Exception as e:
            self.failure = e

    def loop(self):
        self.sel = selectors.DefaultSelector()
        self.sel.register(self.listener, selectors.EVENT_READ)
        due = time.monotonic() + 1
        while not self.stop:
            for key, _ in self.sel.select(0.05):
                if key.fileobj is self.listener:
                    self.accept()
                else:
                    self.move(key.fileobj)
            now = time.monotonic()
            for link in {id(x): x for x in self.links.values()}.values():
                if link.until and link.until <= now:
                    link.until = 0.0
                    self.watch(link)
            if self.chaos and now >= due:
                due = now + self.rnd.uniform(0.2, 1.0)
                self.disturb()
        for link in list(self.links.values()):
            self.end(link, False)
        self.listener.close()

    def accept(self):
        try:
            a, _ = self.listener.accept()
        except OSError:
            return
        b = socket.socket()
        b.settimeout(1)
        try:
            b.connect(self.to)
        except OSError:
            self.counts["refused"] += 1
            a.close()
            b.close()
            return
        self.counts["links"] += 1
        for s in (a, b):
            s.setblocking(False)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        cut = self.rnd.choice((None, None, None, None, self.rnd.randrange(1, 3000), self.rnd.randrange(1, 8 << 20)))
        link = Link(a, b, cut if self.chaos else None)
        self.links[a] = self.links[b] = link
        for s in (a, b):
            self.sel.register(s, selectors.EVENT_READ, link)

    def watch(self, link):
        """What to look for: a side is read while the other has nothing left to write."""
        for i, s in enumerate(link.socks):
            ev = 0
            if not link.until:
                ev = (selectors.EVENT_READ if not link.pending[1 - i] else 0) | \
                    (selectors.EVENT_WRITE if link.pending[i] else 0)
            try:
                if ev:
                    try:
                        self.sel.modify(s, ev, link)
                    except KeyError:
                        self.sel.register(s, ev, link)
                else:
                    self.sel.unregister(s)
            except (KeyError, ValueError):
                pass

    def move(self, s):
        link = self.links.get(s)
        if link is None or link.until:
            return
        i = link.socks.index(s)
        try:
            if link.pending[i]:
                n = s.send(link.pending[i][:link.piece])
                link.pending[i] = link.pending[i][n:]
            elif not link.pending[1 - i]:
                data = s.recv(262144)
                if not data:
                    return self.end(link, False)
                if link.left is not None:
                    data = data[:link.left]
                    link.left -= len(data)
                n = 0
                try:
                    n = link.socks[1 - i].send(data[:link.piece])
                except BlockingIOError:
                    pass
                link.pending[1 - i] = data[n:]
                if link.left == 0:
                    self.counts["amid"] += 1
                    return self.end(link, self.rnd.random() < 0.5)
        except BlockingIOError:
            pass
        except OSError:
            return self.end(link, True)
        self.watch(link)

    def end(self, link, reset):
        for s in link.socks:
            self.links.pop(s, None)
            try:
                self.sel.unregister(s)
            except (KeyError, ValueError):
                pass
            if reset:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()

    def disturb(self):
        links = list({id(x): x for x in self.links.values()}.values())
        if not links:
            return
        link, what = self.rnd.choice(links), self.rnd.choice(("cut", "reset", "stall", "stall", "piece"))
        self.counts[what] += 1
        if what in ("cut", "reset"):
            self.end(link, what == "reset")
        elif what == "stall":
            link.until = time.monotonic() + self.rnd.choice((0.1, 0.5, 2.0))
            self.watch(link)
        else:
            link.piece = self.rnd.choice((1, 7, 100, 1000))
            # A few small pieces, then all again; else a client would need minutes.
            threading.Timer(0.3, setattr, (link, "piece", 65536)).start()


def numbers(text):
    return {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", text)}


def run_clients(port, seconds):
    dev = "tcp://127.0.0.1:%d/%s?nsid=1" % (port, NQN)
    procs = []
    for i in range(NCLIENT):
        out = tempfile.TemporaryFile()
        env = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=8:" + os.environ.get("ASAN_OPTIONS", "")}
        procs.append((subprocess.Popen([CLIENT, dev, str(seconds), str(SEED + i)], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=out, env=env), out))
    return procs


def results(procs, grace):
    """The lines of the clients when all have ended; failures of theirs."""
    end, lines, bad = time.monotonic() + grace, [], []
    for i, (p, out) in enumerate(procs):
        try:
            p.wait(max(1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGABRT)
            p.wait()
            bad.append("client %d hangs" % i)
        out.seek(0)
        text = out.read().decode("latin-1")
        lines.append(text.strip().splitlines()[-1] if text.strip() else "")
        said = re.findall("^soak_client: .*", text, re.M)
        lines[-1] += "".join("\n#   %d x %s" % (said.count(x), x) for x in sorted(set(said))[:20])
        if p.returncode:
            bad.append("client %d: status %d: %s" % (i, p.returncode, text[-3000:]))
    return lines, bad


def leases_held(d):
    with d.host() as h:
        a = Accel(h, NS_ALL)
        return sum(a.lease(i)["state"] != 0 for i in range(a.nlease))


def soak(seconds, restarting):
    rnd = random.Random(SEED)
    d = Daemon(CONF)
    proxy = Proxy(d.addr, rnd)
    procs = []
    try:
        d.good()
        base = d.rss()
        proxy.start()
        t0 = time.monotonic()
        procs = run_clients(proxy.port, seconds)
        restart, restarts = t0 + min(8, seconds / 4), 0
        while any(p.poll() is None for p, _ in procs) and time.monotonic() < t0 + seconds:
            now = time.monotonic()
            # The last part has no restart: what leaks shows then.
            if restarting and now >= restart and now < t0 + seconds * 0.75:
                d.kill() if rnd.random() < 0.75 else d.stop()
                time.sleep(rnd.choice((0, 0.1, 1, 3)))
                d.restart()
                restarts += 1
                restart = now + rnd.uniform(6, 20)
            check(d.alive(), "acceld ended by itself: %s\n%s", d.proc.returncode, d.log()[-4000:])
            time.sleep(0.2)
        proxy.chaos = False
        lines, bad = results(procs, 90)
        print("".join("# %s\n" % line for line in lines), end="")
        print("# proxy: %s, restarts of acceld: %d" % (proxy.counts, restarts))
        check(not bad, "%s", "\n".join(bad))
        check(proxy.failure is None, "the proxy: %r", proxy.failure)
        judge([numbers(line) for line in lines], seconds, restarts, restarting)
        leftovers(d, base)
        why = d.stop()
        check(not why, "%s", why)
    finally:
        for p, _ in procs:
            if p.poll() is None:
                p.kill()
        proxy.stop = True
        proxy.join(5)
        d.cleanup()


def judge(total, seconds, restarts, restarting):
    """What the clients say that they got."""
    jobs, ok = sum(t["jobs"] + t["runs"] for t in total), sum(t["ok"] for t in total)
    check(all(t["ok"] > 20 for t in total), "a client got hardly anything done")
    check(ok > jobs * 0.9, "only %d of %d jobs were done", ok, jobs)
    if restarting:
        check(restarts or seconds < 20, "no restart")
    else:
        # Nothing that happens to connections costs a job: its lease outlives them.
        equal(sum(t["lost"] for t in total), 0, "jobs that were lost")
        check(sum(t["retried"] for t in total) > 0 or seconds < 20, "no cut has ever hit a job")
    for t in total:
        if t["rss_early"]:
            check(t["rss"] < t["rss_early"] + 32768, "a client grew from %d to %d KiB", t["rss_early"], t["rss"])
            check(t["fds"] <= t["fds_early"] + 8, "a client had %d, then %d files", t["fds_early"], t["fds"])


def leftovers(d, base):
    until(lambda: leases_held(d) == 0, 15, "the end of all leases")
    with d.host() as h:
        until(lambda: stats(h)["ctrls_now"] == 1 and stats(h)["conns_now"] == 2, 15, "the end of all connections")
        s = stats(h)
        check(s["now"] <= 1 and s["held_now"] == 0, "%d commands in flight, %d held", s["now"], s["held_now"])
        check(s["mem_used"] < 16 << 20, "%d bytes of buffers are in use", s["mem_used"])
    d.good()
    check(d.rss() - base < 65536 * (3 if d.sanitized else 1), "acceld grew by %d KiB", d.rss() - base)
    check(d.fds() < 48, "%d files are open", d.fds())


@suite.test("%d s of random jobs from %d clients with cuts, stalls and restarts, seed %d" %
            (SECONDS * 2 // 3, NCLIENT, SEED), own=True)
def restarts():
    soak(SECONDS * 2 // 3, True)


@suite.test("%d s without restarts: no cut costs a job, seed %d" % (SECONDS // 3, SEED), own=True)
def cuts():
    soak(SECONDS // 3, False)


if __name__ == "__main__":
    if not os.access(CLIENT, os.X_OK):
        print("1..0\nBail out! %s cannot be run: make %s, or set SOAK_CLIENT" % (CLIENT, CLIENT))
        sys.exit(1)
    sys.exit(suite.main())
