#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The configuration changes all the time while hosts connect, work, abort, ask for events and for the discovery log,
and go without a word: nothing hangs, no answer is wrong, and what was not changed is not disturbed."""
import random
import struct
import sys
import threading
import time

from lib import HOST, NQN, Accel, Daemon, Failure, Suite, check, conf, equal, status, until
from nvmetcp import *

suite = Suite(seconds=60)
SECONDS = 8
HOST2, HOST3 = HOST[:-1] + "2", HOST[:-1] + "3"
OTHER = "nqn.2026-11.local.accel:other"
STAYS = "[namespace 1]\ntype = all\nthreads = 2\nslots = 16\n[namespace 2]\ntype = ram\nsize = 16M\n"


def variant(i):
    """The i-th configuration: NQN with namespaces 1 and 2 and the first host is always there."""
    r = random.Random(i)
    ns = STAYS
    if r.random() < .5:
        ns += "[namespace 3]\ntype = checksum\nslots = %d\n" % r.choice((4, 8))
    if r.random() < .5:
        ns += "[namespace 5]\ntype = ram\nsize = %dM\n" % r.choice((1, 2))
    hosts = [HOST] + ([HOST2] if r.random() < .6 else [])
    more = ""
    if r.random() < .6:
        more = "[subsystem %s]\nhost = %s\n[namespace 7]\ntype = ram\nsize = 1M\n[namespace 9]\ntype = digest\n" % (
            OTHER, r.choice((HOST2, HOST3)))
    return conf("max_ctrls = 64\n", namespaces=ns, hosts=hosts, more=more)


class Worker(threading.Thread):
    """Calls step() again and again; keeps the first exception that is not allowed."""
    allowed = ()

    def __init__(self, d, seed):
        super().__init__()
        self.d, self.r, self.error, self.n = d, random.Random(seed), None, 0
        self.end = time.monotonic() + SECONDS

    def run(self):
        while time.monotonic() < self.end and not self.error:
            try:
                self.step()
                self.n += 1
            except self.allowed:
                pass
            except Exception as e:
                self.error = e


class Steady(Worker):
    """A host that no change concerns: its jobs and its data are right all the time, on one association."""

    def run(self):
        with self.d.host(queues=2) as self.h:
            self.a = Accel(self.h, 1)
            self.a.claim(2)
            super().run()

    def step(self):
        data = self.r.randbytes(4096)
        at = self.r.randrange(1000) * 8
        status(self.h.io[1].write(2, at, data), 0, "write")
        equal(self.h.io[0].read(2, at, 4096).data, data, "data")
        equal(self.a.crc(data[:100]), crc32c(data[:100]), "a job's result")
        ids = [x for x in struct.unpack("<1024I", self.h.admin.identify(2).data) if x]
        check(ids[:2] == [1, 2] and set(ids) <= {1, 2, 3, 5}, "active namespaces %s", ids)


class Listener(Worker):
    """Reads the log of changed namespaces after each event."""

    def run(self):
        with self.d.host(queues=1) as self.h:
            self.aer = self.h.admin.submit(sqe(AER))
            super().run()

    def step(self):
        if self.h.admin.quiet(0.05):
            return
        cpl = self.h.admin.wait(self.aer)
        equal(cpl.dw0, 0x040002, "the event")
        got = [x for x in struct.unpack("<1024I", status(self.h.admin.get_log(4, 4096), 0).data) if x]
        check(got and set(got) <= {3, 5}, "changed namespaces %s", got)
        self.aer = self.h.admin.submit(sqe(AER))


class Guest(Worker):
    """Hosts that are allowed now and then, and are thrown out in the middle of something."""
    allowed = (Closed, WireError, OSError)

    def step(self):
        nqn, host = self.r.choice(((NQN, HOST), (NQN, HOST2), (OTHER, HOST2), (OTHER, HOST3)))
        h = self.d.host(nqn, hostnqn=host, queues=2, timeout=5)
        for _ in range(self.r.randrange(4)):
            h.admin.submit(sqe(AER))
        cids = []
        for _ in range(16):
            cids.append(h.q.submit_read(self.r.choice((1, 2, 3, 5, 7, 9)), 0, 4096))
            h.admin.submit(sqe(ABORT, cdw10=self.r.choice((0, 1, 2)) | self.r.choice(cids) << 16))
        if self.r.random() < .5:
            for c in cids:
                status(h.q.wait(c), (0, 0x00b, 0x007, 0x008), "a read")
        for q in self.r.sample([h.admin, *h.io], 3):
            (q.reset if self.r.random() < .5 else q.close)()


class Explorer(Worker):
    """Reads the discovery log piece by piece, as often as it takes until it is one."""
    allowed = (Closed, OSError)

    def step(self):
        q = Queue(self.d.addr)
        status(q.connect(DISCOVERY_NQN, HOST2, bytes(15) + b"\2"), 0)
        status(q.prop_set(CC, CC_ENABLE), 0)
        until(lambda: q.prop_get(CSTS).dw0 & 1, 5, "CSTS.RDY")
        q.submit(sqe(AER))
        head = status(q.get_log(0x70, 1024, nsid=0), 0).data
        log = b""
        for i in range(u64(head, 8)):
            cpl = q.get_log(0x70, 1024, 1024 * (i + 1), nsid=0)
            status(cpl, (0, 0x002), "a record")
            log += cpl.data
        if u64(status(q.get_log(0x70, 8, nsid=0), 0).data) == u64(head):
            names = [log[i + 256:i + 512].rstrip(b"\0").decode() for i in range(0, len(log), 1024)]
            check(set(names) <= {NQN, OTHER, DISCOVERY_NQN} and len(names) == len(set(names)), "subsystems %s", names)
        q.close()


@suite.test("hosts of every kind while the configuration changes 10 times a second", own=True)
def storm():
    d = Daemon(variant(0))
    try:
        workers = [Steady(d, 1), Listener(d, 2), Explorer(d, 3)] + [Guest(d, 10 + i) for i in range(4)]
        for w in workers:
            w.start()
        end, i = time.monotonic() + SECONDS, 0
        while time.monotonic() < end:
            i += 1
            d.reload(variant(i))
            time.sleep(0.05)
        for w in workers:
            w.join(20)
            check(not w.is_alive(), "%s hangs", type(w).__name__)
        for w in workers:
            check(w.error is None, "%s: %s: %s", type(w).__name__, type(w.error).__name__, w.error)
            check(w.n > 3 or d.sanitized, "%s did %d rounds", type(w).__name__, w.n)
        check(i > 5 or d.sanitized, "%d reloads", i)
        d.reload(variant(0))
        with d.host() as h:
            def left():
                p = status(h.admin.get_log(0xc1, 4096), 0).data
                return u64(p, 8 + 6 * 8) == 1 and u64(p, 8 + 2 * 8) == 2
            until(left, 5, "the end of all other controllers and connections")
    finally:
        why = d.stop()
        d.cleanup()
        check(not why, "%s", why)


@suite.test("a persistent discovery host hears of what has changed for hosts, and of nothing else", own=True)
def discovery_events():
    text = conf(namespaces=STAYS, hosts=[HOST])
    other = "[subsystem %s]\nhost = %s\n" % (OTHER, HOST2)
    d = Daemon(text)
    try:
        q = Queue(d.addr)
        status(q.connect(DISCOVERY_NQN, HOST, bytes(15) + b"\2", kato=30000), 0)
        status(q.prop_set(CC, CC_ENABLE), 0)
        equal(u32(status(q.identify(1), 0).data, 92), 1 << 31, "OAES")
        status(q.set_feature(0x0b, 1 << 8), 0x002, "namespace events of a discovery controller", dnr=True)
        status(q.set_feature(0x0b, 1 << 31), 0, "discovery log events")
        aer = q.submit(sqe(AER))
        d.reload(conf(namespaces=STAYS + "[namespace 3]\ntype = digest\n", hosts=[HOST]))
        check(q.quiet(0.3), "an event of a namespace")
        before = u64(status(q.get_log(0x70, 1024, nsid=0), 0).data)
        for i, changed in enumerate((conf(namespaces=STAYS, hosts=[HOST], more=other),
                                     conf(namespaces=STAYS, hosts=[HOST, HOST3], more=other), text)):
            d.reload(changed)
            equal(status(q.wait(aer, 3), 0).dw0, 0x70f002, "event %d" % i)
            aer = q.submit(sqe(AER))
            check(q.quiet(0.2), "event %d twice", i)
            now = u64(status(q.get_log(0x70, 1024, nsid=0), 0).data)
            check(now > before, "GENCTR %d behind %d", now, before)
            before = now
        d.reload(text)
        check(q.quiet(0.3), "an event of nothing")
        equal(u64(status(q.get_log(0x70, 1024, nsid=0), 0).data), before, "GENCTR when nothing changed")
        # With RAE the event stays reported: the next one is not told before the log is read without it.
        d.reload(conf(namespaces=STAYS, hosts=[HOST2]))
        equal(status(q.wait(aer, 3), 0).dw0, 0x70f002, "one more event")
        aer = q.submit(sqe(AER))
        status(q.get_log(0x70, 1024, nsid=0, rae=1), 0)
        d.reload(text)
        check(q.quiet(0.3), "an event before the log was read")
        status(q.get_log(0x70, 1024, nsid=0), 0)
        d.reload(conf(namespaces=STAYS, hosts=[HOST3]))
        equal(status(q.wait(aer, 3), 0).dw0, 0x70f002, "the event behind it")
        q.close()
    finally:
        why = d.stop()
        d.cleanup()
        check(not why, "%s", why)


@suite.test("namespaces keep their UUIDs over a restart, and no two have the same", own=True)
def uuids():
    text = conf(namespaces=STAYS, more="[subsystem %s]\nallow_any_host = yes\n%s" % (OTHER, STAYS))
    seen = []
    for _ in range(2):
        d = Daemon(text)
        try:
            got = []
            for nqn in (NQN, OTHER):
                with d.host(nqn) as h:
                    for nsid in (1, 2):
                        p = status(h.admin.identify(3, nsid), 0).data
                        at = p.index(b"\3\x10\0\0")
                        got.append(p[at + 4:at + 20])
            seen.append(got)
        finally:
            d.stop()
            d.cleanup()
    equal(seen[0], seen[1], "UUIDs after a restart")
    check(len(set(seen[0])) == 4, "UUIDs are not unique: %s", seen[0])
    for u in seen[0]:
        check(u[6] >> 4 == 8 and u[8] >> 6 == 2, "no UUID of version 8: %s", u.hex())


if __name__ == "__main__":
    sys.exit(suite.main())
