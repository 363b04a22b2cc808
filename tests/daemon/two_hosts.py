#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Two hosts on one accelerator: leases belong to the Host NQN and Host Identifier that claimed them (HOST_LEASES, rules
R-22 to R-29, R-52 and R-63 of the namespace interface)."""
import os
import random
import signal
import sys
import threading
import time

from lib import HOST, NS_ALL, NS_CRC, Accel, Suite, check, equal, status, until
from nvmetcp import *

suite = Suite(seconds=30)
HOST2 = HOST[:-1] + "2"
EXCLUSIVE, PREEMPTIBLE = 1, 2


def pair(d, **kw):
    return d.host(hostnqn=HOST, **kw), d.host(hostnqn=HOST2, **kw)


@suite.test("a host's slots are closed to the other: descriptors, input, status, output, held reads")
def slots(d):
    h1, h2 = pair(d)
    with h1, h2:
        a, b = Accel(h1, NS_ALL), Accel(h2, NS_ALL)
        check(a.feat >> 7 & 1, "the feature HOST_LEASES is missing")
        a.claim(2)
        secret = random.randbytes(4096)
        s = a.job(secret, 11, 0, out_max=4096)                  # a copy: its output is its input
        equal((s["state"], s["out_len"], s["out"]), (5, 4096, secret), "the first host's job")
        slot, seq = a.slots[0], a.seq[a.slots[0]]
        b.nonce, b.index, b.epoch = a.nonce, a.index, a.epoch   # as if the nonce had become known
        for off in (0, 512, 4096, 1 << (a.winsh - 1), (1 << a.winsh) - 512):
            for which in (0, 1):
                for sq in (seq, seq + 1):
                    at = a.half(slot, sq, which) + off
                    cpl = b.read(at, 512)
                    status(cpl, 0x286, "a read of half %d at %d" % (which, off), dnr=True)
                    check(not any(cpl.data), "data came with Access Denied")
                    if which == 0:
                        status(b.write(at, bytes(512)), 0x286, "a write at %d" % off, dnr=True)
        status(b.q.wait(b.submit_wait(slot, seq + 1), 2), 0x286, "a held read of the other's slot", dnr=True)
        status(b.q.wait(b.submit_job(slot, seq + 1, b"x" * 100, 9, 1)), 0x286, "a descriptor", dnr=True)
        status(b.read(a.half(slot, seq, 1), 512 + 8192), 0x286, "a long read", dnr=True)
        # A read that begins in front of the other's slot and reaches into it.
        status(b.read(a.half(slot, 0, 0) - 512, 1024), (0x286, 0x002), "a read across the border")
        equal(a.poll(slot, seq, 512 + 4096)["out"], secret, "the output, afterwards")
        equal(a.crc(b"123456789", slot=slot), 0xe3069283, "the next job")
        a.release()


@suite.test("RENEW, RELEASE and BREAK by the other host are refused with HOST")
def lease_ops(d):
    h1, h2 = pair(d)
    with h1, h2:
        a, b = Accel(h1, NS_ALL), Accel(h2, NS_ALL)
        a.claim(1)
        b.claim_id, b.nonce, b.index, b.epoch = a.claim_id, a.nonce, a.index, a.epoch
        for op in (2, 3, 4):
            if op == 4:
                b.nonce = bytes(16)
            status(b.lease_write(op), 0, "operation %d" % op)
            rec = a.lease(a.index)
            equal((rec["state"], rec["claim_id"], rec["epoch"]), (1, a.claim_id, a.epoch), "the lease after %d" % op)
            equal(rec["refused"], 7, "code of the refusal of %d" % op)
        b.nonce = a.nonce
        status(b.lease_write(1), 0, "the holder's own CLAIM by another host")
        equal(a.lease(a.index)["claim_id"], a.claim_id, "the holder")
        equal(a.crc(b"abc"), crc32c(b"abc"), "the holder's job")
        a.release()


@suite.test("nothing that the other host can read shows a nonce, an input or an output")
def no_leak(d):
    h1, h2 = pair(d)
    with h1, h2:
        a, b = Accel(h1, NS_ALL), Accel(h2, NS_ALL)
        a.claim(1)
        secret = random.randbytes(2048)
        a.job(secret, 11, 0, out_max=2048)
        seen = b"".join(b.read(off, 4096).data for off in range(b.info, b.slot_off, 4096)
                        if off < b.lease_off + 8192 * (a.index + 2))
        for what, x in (("the nonce", a.nonce), ("input or output", secret[:16]), ("input or output", secret[-16:])):
            check(x not in seen, "%s can be read", what)
        a.release()
        check(a.claim_id in seen, "the public claim_id is not there: the test looks at the wrong place")
        for q, lid in ((h2.admin, 1), (h2.admin, 0xc1), (h2.admin, 2)):
            check(a.nonce not in q.get_log(lid, 64 if lid == 1 else 512).data, "the nonce is in log page %#x", lid)
    check(a.nonce.hex() not in d.log(), "the nonce is in the log")


@suite.test("several connections of one host are one host; another Host ID is another host")
def same_host(d):
    with d.host(hostnqn=HOST, queues=2) as h1, d.host(hostnqn=HOST) as again:
        a, b = Accel(h1, NS_ALL), Accel(again, NS_ALL)
        a.claim(1)
        slot = a.slots[0]
        equal(a.crc(b"one"), crc32c(b"one"), "a job")
        equal(b.poll(slot, 1)["state"], 5, "state as the host's other controller reads it")
        a.q = h1.io[1]
        equal(a.crc(b"two"), crc32c(b"two"), "a job by the other queue")
        b.claim_id, b.nonce, b.index, b.epoch, b.slots, b.seq = a.claim_id, a.nonce, a.index, a.epoch, a.slots, a.seq
        equal(b.crc(b"three"), crc32c(b"three"), "a job by the other controller")
        try:
            third = d.host(hostnqn=HOST, hostid=b"another host id!")
        except WireError:
            third = None                                     # a target may refuse one NQN with two identifiers
        if third:
            with third:
                c = Accel(third, NS_ALL)
                status(c.read(a.half(slot, 1, 1), 512), 0x286, "the same NQN with another Host ID", dnr=True)
        a.release()


@suite.test("an exclusive lease: the other host's claims are refused until it ends")
def exclusive(d):
    h1, h2 = pair(d)
    with h1, h2:
        a, b, c = Accel(h1, NS_ALL), Accel(h2, NS_ALL), Accel(h2, NS_CRC)
        b.claim(1)
        equal(a.try_claim(a.nslot, EXCLUSIVE, least=1), 4, "refusal of an exclusive claim beside a lease")
        b.release()
        a.claim(a.nslot, flags=EXCLUSIVE, least=1)
        equal(len(a.slots), a.nslot, "slots of the exclusive lease")
        check(b.try_claim(1) in (3, 4), "a lease beside an exclusive one")
        check(b.try_claim(b.nslot, EXCLUSIVE, least=1) in (3, 4), "an exclusive lease beside an exclusive one")
        for slot in (0, a.nslot - 1):
            status(b.read(b.half(slot, 1, 1), 512), 0x286, "a read of slot %d" % slot, dnr=True)
            equal(a.crc(b"locked", slot=slot), crc32c(b"locked"), "the holder's job")
        c.claim(1)                                            # another namespace is not concerned
        equal(c.crc(b"free"), crc32c(b"free"), "a job of another namespace")
        c.release()
        a.release()
        until(lambda: b.try_claim(1) == 0, 2, "a lease after the release")
        equal(b.crc(b"mine"), crc32c(b"mine"), "the other host's job")
        b.release()
        # A preemptible lease gives way.
        b.claim(2, flags=PREEMPTIBLE)
        until(lambda: a.try_claim(a.nslot, EXCLUSIVE, least=1) == 0, 3, "the exclusive lease")
        status(b.q.wait(b.submit_job(b.slots[0], 1, b"late", 9, 1)), 0x286, "a job of the lease that gave way",
               dnr=True)
        a.release()


@suite.test("a lease that is not used expires, and the next holder finds nothing of it")
def expiry(d):
    h1, h2 = pair(d)
    with h1, h2:
        a, b = Accel(h1, NS_ALL), Accel(h2, NS_ALL)
        ms = max(u32(a.page, 528), 2000)
        a.claim(a.nslot, flags=EXCLUSIVE, least=1, ms=ms)
        secret = random.randbytes(3072)
        slot = 3
        t0 = time.monotonic()                     # nothing renews the lease before
        a.job(secret, 11, 0, slot=slot, out_max=3072)
        at = a.half(slot, 2, 0)
        status(a.write(at + 512, secret[:512]), 0, "input without a descriptor")
        held = a.submit_wait(slot, 2)
        until(lambda: b.try_claim(b.nslot, EXCLUSIVE, least=1) == 0, ms / 1000 + 4, "the other host's lease")
        check(time.monotonic() - t0 >= ms / 1000, "it came after %.1f s, the lease was for %d ms",
              time.monotonic() - t0, ms)
        h1.q.wait(held, 3)
        for sq in (0, 1):
            for which in (0, 1):
                p = status(b.read(b.half(slot, sq, which), 512 + 4096), 0).data
                check(secret[:16] not in p and secret[512:528] not in p and not any(p[512:]), "data of the old lease")
        s = b.poll(slot, 1)
        equal((s["state"], s["seq"], s["code"]), (1, 0, 0), "status of the slot")
        status(a.read(a.half(slot, 1, 1), 512), 0x286, "the former holder's read", dnr=True)
        status(a.q.wait(a.submit_job(slot, 2, b"late", 9, 1)), 0x286, "the former holder's descriptor", dnr=True)
        equal(a.lease(a.index)["epoch"] != a.epoch, True, "another epoch")
        b.release()


@suite.test("a host that vanishes amid jobs: its lease waits for it, then ends")
def host_gone(d):
    h1, h2 = pair(d)
    a, b = Accel(h1, NS_ALL), Accel(h2, NS_ALL)
    ms = max(u32(a.page, 528), 2500)
    a.claim(a.nslot, flags=EXCLUSIVE, least=1, ms=ms)
    # Of one job all has been sent, of the other one the command and none of the data.
    jobs = {a.slots[0]: random.randbytes(3000), a.slots[1]: random.randbytes(100000)}
    for slot, data in jobs.items():
        a.submit_wait(slot, 1)
        a.submit_job(slot, 1, data, 9, 1)
    time.sleep(0.2)
    h1.admin.reset()
    h1.q.reset()
    check(b.try_claim(1) in (3, 4), "the lease is gone with the connection")

    def ended(c, slot):
        s = c.poll(slot, 1)
        return s if s["state"] in (5, 6, 7) else None

    # The same host again: what the jobs gave can be read or the job sent again, and the next number is due.
    with d.host(hostnqn=HOST) as again:
        c = Accel(again, NS_ALL)
        equal(c.bootid, a.bootid, "BOOTID")
        for k in ("claim_id", "nonce", "index", "epoch", "slots", "seq"):
            setattr(c, k, getattr(a, k))
        for slot, data in jobs.items():
            if slot == a.slots[1]:
                check(c.poll(slot, 1)["state"] in (1, 2), "a job without its input: %s", c.poll(slot, 1))
                status(c.q.wait(c.submit_job(slot, 1, data, 9, 1)), 0)
            s = until(lambda: ended(c, slot), 3, "the job's end")
            equal((s["state"], u32(s["result"])), (5, crc32c(data)), "the job's outcome")
            # Sent once more it does not run again.
            status(c.q.wait(c.submit_job(slot, 1, data, 9, 1)), 0)
            check(c.poll(slot, 1)["flags"] & 0x40, "a repetition is not seen as one")
            c.seq[slot] = 1
            equal(c.crc(b"next", slot=slot), crc32c(b"next"), "the next job")
    until(lambda: b.try_claim(1) == 0, ms / 1000 + 3, "a lease when the host stays away")
    equal(b.crc(b"heir"), crc32c(b"heir"), "the other host's job")
    b.release()
    h2.close()


@suite.test("eight hosts claim one record at the same time: one of them gets it, every time")
def race(d):
    hs = [d.host(hostnqn=HOST[:-2] + "d%d" % i) for i in range(8)]
    accels = [Accel(h, NS_CRC) for h in hs]
    for _ in range(15):
        barrier, got, bad = threading.Barrier(8), [], []

        def run(a):
            try:
                epoch = a.lease(0)["epoch"]
                cid, nonce = random.randbytes(8), random.randbytes(16)
                block = a.claim_block(1, epoch, cid, nonce, wanted=1)
                barrier.wait(10)
                status(a.write(a.lease_off, block), 0)
                rec = a.lease(0)
                if rec["claim_id"] == cid and rec["state"] == 1:
                    a.claim_id, a.nonce, a.index, a.epoch, a.slots = cid, nonce, 0, epoch, rec["slots"]
                    got.append(a)
            except Exception as e:
                bad.append(e)

        threads = [threading.Thread(target=run, args=(a,)) for a in accels]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        check(not bad, "%s", bad[:1])
        equal(len(got), 1, "winners")
        got[0].seq = {s: 0 for s in got[0].slots}
        equal(got[0].crc(b"won"), crc32c(b"won"), "the winner's job")
        got[0].release()
        until(lambda: got[0].lease(0)["state"] == 0, 2, "the record to be free")
    for h in hs:
        h.close()


def busy(d, i, ready, go, out):
    """A process: a host that keeps two jobs in flight for 4 s from the moment that all are ready, and writes how many
    it got done."""
    signal.alarm(100)
    with d.host(hostnqn=HOST[:-2] + "e%d" % i) as h:
        a = Accel(h, NS_ALL)
        until(lambda: a.try_claim(2, ms=60000) == 0, 30, "a lease, with others that claim, too")
        data, n, flying = random.randbytes(4096) * 32, 0, {}
        os.write(ready, b"r")
        os.read(go, 1)
        end = time.monotonic() + 4
        while time.monotonic() < end:
            for slot in a.slots:
                if slot not in flying:
                    seq = a.next_seq(slot)
                    cid = a.submit_wait(slot, seq)
                    a.submit_job(slot, seq, data, 1, 1, arg0=6, out_max=1 << 18)
                    flying[slot] = cid, seq
            slot, (cid, seq) = next(iter(flying.items()))
            s = a.status_of(h.q.wait(cid, 15))
            del flying[slot]
            if s["state"] == 5:
                n += 1
            else:
                flying[slot] = a.submit_wait(slot, seq), seq
        a.release()
        os.write(out, b"%d\n" % n)


@suite.test("eight hosts that always have jobs get shares that are alike", 40)
def shares(d):
    rd, wr = os.pipe()
    ready, is_ready = os.pipe()
    go, let_go = os.pipe()
    kids = []
    for i in range(8):
        pid = os.fork()
        if not pid:
            try:
                busy(d, i, is_ready, go, wr)
            finally:
                os._exit(0)
        kids.append(pid)
    os.close(wr)
    os.close(is_ready)
    n = 0
    while n < 8:
        more = len(os.read(ready, 8))
        check(more, "only %d of 8 hosts got ready", n)
        n += more
    os.write(let_go, bytes(8))
    for pid in kids:
        os.waitpid(pid, 0)
    for fd in (ready, go, let_go):
        os.close(fd)
    with os.fdopen(rd) as f:
        n = [int(x) for x in f]
    equal(len(n), 8, "hosts that came to an end")
    print("# jobs of each host: %s" % n)
    # Where the machine is loaded the hosts themselves get shares of it that are not alike.
    check(min(n) > 0 and max(n) / min(n) < 6, "jobs of each host: %s", n)
    until(lambda: free_slots(d) == 16, 15, "the end of their leases")


def free_slots(d):
    with d.host() as h:
        return u32(h.admin.identify(0, NS_ALL).data, 596)


@suite.test("two hosts work at once, each on its own slots")
def both(d):
    h1, h2 = pair(d)
    with h1, h2:
        bad = []

        def work(h, seed):
            rnd = random.Random(seed)
            try:
                a = Accel(h, NS_ALL)
                until(lambda: a.try_claim(4) == 0, 3, "a lease, with another host that claims, too")
                for i in range(60):
                    data = rnd.randbytes(rnd.randrange(1, 20000))
                    slot = rnd.choice(a.slots)
                    if i % 2:
                        equal(a.crc(data, slot=slot), crc32c(data), "a checksum")
                    else:
                        s = a.job(data, 11, 0, slot=slot, out_max=len(data))
                        equal(s["out"][:len(data)], data, "a copy")
                a.release()
            except Exception as e:
                bad.append(e)

        threads = [threading.Thread(target=work, args=(h, i)) for i, h in enumerate((h1, h2))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        check(not bad, "%s", bad[:1])


if __name__ == "__main__":
    sys.exit(suite.main())
