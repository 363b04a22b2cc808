#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Namespaces behind the wire: what Read and Write are refused for, what a host sees of buffers that another one used,
jobs that are cut off with their connection, a namespace that goes amid its jobs, memory that is read with digests while
it is written."""
import random
import re
import struct
import sys
import threading
import time

from fault_a1 import stats
from lib import BIN, CONF, HOST, NS_ALL, NS_CRC, NS_RAM, NS_RAM4K, Accel, Skip, Suite, check, conf, equal, status, until
from nvmetcp import *

ACCEL4K = 5
NAMESPACES = CONF + "[namespace 5]\ntype = all\nslots = 4\nblock_size = 4096\n"
suite = Suite(conf(namespaces=NAMESPACES), seconds=30)
HOST2 = HOST[:-1] + "2"
START, ON_DONE, RELEASE = 1, 4, 512
DONE, FAILED = 5, 6
VALID = 1
COPY, COMPRESS, DECRYPT, CHECKSUM = 11, 1, 7, 9


def in_place(a, slot, data, op=COPY, alg=0, out_max=None, **kw):
    """Sends read and write of a job that may be done in place: (read, write)."""
    seq = a.next_seq(slot)
    out_max = len(data) if out_max is None else out_max
    room = a.block + (out_max + a.block - 1) // a.block * a.block
    return a.submit_wait(slot, seq, room), a.submit_job(slot, seq, data, op, alg, out_max=out_max,
                                                        flags=START | ON_DONE | RELEASE, **kw)


# ---- What is refused ----

def nsze(h, nsid):
    return u64(h.admin.identify(0, nsid).data)


@suite.test("reads and writes beyond the end, of too much, with what does not exist")
def ranges(d):
    with d.host() as h:
        for nsid, block in ((NS_ALL, 512), (NS_RAM, 512), (NS_RAM4K, 4096), (ACCEL4K, 4096)):
            n = nsze(h, nsid)
            for opc in (READ, WRITE):
                for slba, nlb in ((n, 1), (n - 1, 2), (n - 1, 8), (2 ** 64 - 1, 1), (2 ** 64 - 1, 2), (2 ** 63, 1)):
                    e = h.q.rw_entry(opc, nsid, slba, nlb, sgl_transport(nlb * block))
                    status(h.q.run(e, data=bytes(nlb * block * (opc == WRITE)), want=nlb * block * (opc == READ)), 0x080,
                           "opcode %d, slba %#x, %d blocks of namespace %d" % (opc, slba, nlb, nsid), dnr=True)
                nlb = 65536 if block == 512 else 4096
                status(h.q.run(h.q.rw_entry(opc, nsid, 0, nlb, sgl_transport(nlb * block))), 0x002,
                       "more than a command may have", dnr=True)
            status(h.q.read(nsid, n - 1, block, block), 0, "the last block of %d" % nsid)
        for bit in (30, 31, 26, 27, 28, 29):
            e = h.q.rw_entry(READ, NS_RAM, 0, 1, sgl_transport(512))
            e = e[:48] + struct.pack("<I", 1 << bit) + e[52:]
            status(h.q.run(e, want=512), 0, "bit %d of CDW12" % bit)
        e = h.q.rw_entry(WRITE, NS_RAM, 0, 1, sgl_transport(512))
        status(h.q.run(e[:48] + struct.pack("<I", 1 << 20) + e[52:], data=bytes(512)), 0x002, "a directive", dnr=True)
        for nsid in (NS_ALL, NS_RAM):
            status(h.q.run(sqe(0, nsid=nsid)), 0, "Flush")
            for opc in (0x04, 0x05, 0x08, 0x09, 0x0c, 0x0d, 0x19, 0x80):
                status(h.q.run(sqe(opc, nsid=nsid)), 0x001, "opcode %#x" % opc, dnr=True)


@suite.test("the quiet ends of an accelerator: zeros, and nothing can be written")
def quiet(d):
    with d.host() as h:
        for nsid, block in ((NS_ALL, 512), (ACCEL4K, 4096)):
            n = nsze(h, nsid)
            for slba in (0, 1, n - 1):
                check(not any(h.q.read(nsid, slba, block, block).data), "something at %d" % slba)
                status(h.q.write(nsid, slba, b"\xee" * block, block), 0x002, "a write at %d" % slba, dnr=True)


@suite.test("identity: blocks, shared, hosts' leases; jobs with blocks of 4096 bytes")
def identity(d):
    with d.host() as h:
        ids = set()
        for nsid, shift in ((NS_ALL, 9), (NS_CRC, 9), (ACCEL4K, 12), (NS_RAM, 9), (NS_RAM4K, 12)):
            p = h.admin.identify(0, nsid).data
            equal(p[130], shift, "LBADS of %d" % nsid)
            equal(p[30] & 1, 1, "NMIC of %d" % nsid)
            equal(u64(p, 0), u64(p, 8), "NCAP of %d" % nsid)
            check(any(p[104:120]), "no NGUID at %d" % nsid)
            ids.add(p[104:120])
            equal(u16(p, 46) != 0, nsid in (NS_ALL, NS_CRC, ACCEL4K), "NOIOB of %d" % nsid)
        equal(len(ids), 5, "different NGUIDs")
        a = Accel(h, ACCEL4K)
        a.claim(2)
        for n in (1, 4095, 4096, 4097, 100000):
            data = random.randbytes(n)
            equal(a.job(data, COPY, 0, out_max=n)["out"][:n], data, "a copy of %d bytes" % n)
            equal(a.crc(data), crc32c(data), "a checksum of %d bytes" % n)
        a.release()


# ---- Buffers ----

@suite.test("in place or not: results are right, what lies behind them is zeros, whoever used the buffers before")
def padding(d):
    secret = b"\xa7secret\xa7" * 40000
    with d.host() as h1, d.host(hostnqn=HOST2) as h2:
        for nsid in (NS_ALL, ACCEL4K):
            a, b = Accel(h1, nsid), Accel(h2, nsid)
            a.claim(2)
            b.claim(2)
            for n in (100, 4096, 20000, 300000):
                for _ in range(3):           # the first host leaves its bytes in buffers of all sizes
                    r, w = in_place(a, a.slots[0], secret[:n])
                    status(h1.q.wait(w), 0)
                    s = a.status_of(h1.q.wait(r))
                    equal((s["state"], s["flags"] & VALID, s["out"][:n]), (DONE, VALID, secret[:n]), "the secret")
                    check(not any(s["out"][n:]), "padding is not zero")
                r, w = in_place(b, b.slots[0], b"mine", out_max=n)
                status(h2.q.wait(w), 0)
                s = b.status_of(h2.q.wait(r))
                equal((s["state"], s["out_len"], s["out"][:4]), (DONE, 4, b"mine"), "the other host's job")
                check(not any(s["out"][4:]), "bytes behind the output: %s" % s["out"][4:64].hex())
                # One that fails, and one whose read comes late.
                r, w = in_place(b, b.slots[0], random.randbytes(500), op=2, alg=3, out_max=n)
                status(h2.q.wait(w), 0)
                s = b.status_of(h2.q.wait(r))
                equal(s["state"], FAILED, "garbage decompressed")
                check(not any(s["out"]), "bytes behind a failure")
                seq = b.next_seq(b.slots[0])
                status(h2.q.wait(b.submit_job(b.slots[0], seq, b"late", COPY, 0, out_max=n,
                                              flags=START | ON_DONE | RELEASE)), 0)
                s = b.poll(b.slots[0], seq, b.block + (n + b.block - 1) // b.block * b.block)
                equal((s["state"], s["out"][:4]), (DONE, b"late"), "a late read")
                check(not any(s["out"][4:]), "bytes behind a late read")
            a.release()
            b.release()


@suite.test("a result that went with a read cannot be had twice, and the status says so")
def released(d):
    with d.host() as h:
        a = Accel(h, NS_ALL)
        a.claim(1)
        slot = a.slots[0]
        for n in (5, 30000):
            data = random.randbytes(n)
            r, w = in_place(a, slot, data)
            status(h.q.wait(w), 0)
            s = a.status_of(h.q.wait(r))
            equal((s["state"], s["flags"] & VALID, s["out"][:n]), (DONE, VALID, data), "the result")
            for _ in range(2):
                s = a.poll(slot, a.seq[slot], 512 + 512 * ((n + 511) // 512))
                equal((s["state"], s["code"], s["flags"] & VALID, s["out_len"]), (DONE, 0, 0, n), "once more")
                check(not any(s["out"]), "a result that is gone")
        a.release()


@suite.test("a connection cut amid jobs in place: each has ended, or waits, or is worth another try", 90)
def cut(d):
    seen = set()

    def end(b, slot):
        s = b.poll(slot, 1)
        return s if s["state"] not in (2, 3, 4) else None

    for round in range(8):
        h = d.host()
        a = Accel(h, NS_ALL)
        a.claim(8)
        data = [random.randbytes(200000) for _ in a.slots]
        for slot, x in zip(a.slots, data):
            in_place(a, slot, x, COMPRESS, 1, out_max=300000, arg0=9)
        h.q.pump(time.monotonic() + 0.02 * (round % 4)) if round % 4 else None
        h.admin.reset()
        h.q.reset()
        with d.host() as again:
            b = Accel(again, NS_ALL)
            for k in ("claim_id", "nonce", "index", "epoch", "slots", "seq"):
                setattr(b, k, getattr(a, k))
            for slot, x in zip(b.slots, data):
                until(lambda: end(b, slot), 30, "an end")
                s = b.poll(slot, 1, 512 + 300032)
                seen.add((s["state"], s["code"], s["flags"] & VALID if s["state"] == DONE else 0))
                if s["state"] == 1:              # it never arrived
                    b.seq[slot] = 0
                elif s["state"] == DONE and s["flags"] & VALID:
                    check(0 < s["out_len"] <= 300000 and any(s["out"]), "an empty result")
                elif s["state"] == DONE:
                    check(not any(s["out"]), "a result that is said to be gone")
                else:
                    equal((s["state"], s["code"]), (FAILED, 6), "what is neither done nor worth another try")
                equal(b.crc(x, slot=slot), crc32c(x), "the next job of the slot")
            b.release()
    check(len(seen) > 1, "only %s was seen" % seen)
    print("# state, code, valid: %s" % sorted(seen))


@suite.test("statistics: commands that are held now")
def held(d):
    with d.host() as h:
        a = Accel(h, NS_ALL)
        a.claim(6)
        equal(stats(h)["held_now"], 0, "held before")
        cids = [a.submit_wait(slot, 1) for slot in a.slots]
        until(lambda: stats(h)["held_now"] == 6, 2, "six that are held")
        for c in cids:
            status(h.q.wait(c, 5), 0)
        equal(stats(h)["held_now"], 0, "held after HOLDMAX")
        a.release()


@suite.test("a write that is refused lets the read go that waits for its job")
def refused(d):
    with d.host() as h:
        a = Accel(h, NS_ALL)
        a.claim(1)
        slot, real = a.slots[0], a.nonce
        for what in ("nonce", "damage"):
            r = a.submit_wait(slot, 1)
            a.nonce = random.randbytes(16) if what == "nonce" else real
            b = bytearray(a.desc(1, CHECKSUM, 1, 0))
            if what == "damage":
                b[80] ^= 1
            status(a.write(a.half(slot, 1, 0), bytes(b)), 0x286 if what == "nonce" else 0x002, what, dnr=True)
            t = time.monotonic()
            equal(a.status_of(h.q.wait(r, 5))["state"], 1, "the status of the read")
            check(time.monotonic() - t < a.hold_ms / 2000, "it came after %.2f s" % (time.monotonic() - t))
        a.nonce = real
        a.release()


# ---- Limits ----

@suite.test("slot memory: claims beyond the limit are refused for memory, and succeed when others let go", own=True)
def slot_memory():
    from lib import Daemon
    d = Daemon(conf("slot_memory = 64M\n"))
    try:
        with d.host() as h, d.host(hostnqn=HOST2) as h2:
            a, b = Accel(h, NS_ALL), Accel(h2, NS_CRC)
            equal(a.try_claim(16), 5, "a claim of too much")
            got = 0
            while a.try_claim(got + 1) == 0:
                a.release()
                got += 1
            check(2 <= got < 16, "%d slots in 64 MiB" % got)
            a.claim(got)
            equal(b.try_claim(1), 5, "another accelerator, another host")
            check(re.search(r"^warning device nsid=\d+ what=\"no memory for a slot of \d+ bytes", d.log(), re.M), "the log says so")
            a.release()
            until(lambda: b.try_claim(1) == 0, 3, "a lease when memory is free")
            equal(b.crc(b"abc"), crc32c(b"abc"), "its job")
            b.release()
        why = d.stop()
        check(not why, "%s", why)
    finally:
        d.cleanup()


# ---- A namespace that goes ----

@suite.test("a namespace goes amid jobs: all commands end soon and say so, others go on, it comes back empty", 60)
def goes(d):
    without = conf(namespaces=NAMESPACES.split("[namespace 2]")[0].replace("namespace 1", "namespace 9")
                   + "[namespace 2]" + NAMESPACES.split("[namespace 2]")[1])
    for round in range(3):
        with d.host() as h, d.host(hostnqn=HOST2) as other:
            a = Accel(h, NS_ALL)
            a.claim(16)
            boot = a.bootid
            cids = []
            for slot in a.slots[:12]:
                cids += in_place(a, slot, random.randbytes(400000), COMPRESS, 1, out_max=600000, arg0=9)
            for slot in a.slots[12:14]:      # input that does not come: loading, and held
                cids.append(a.submit_wait(slot, 1))
                status(a.write(a.half(slot, 1, 0), a.desc(1, CHECKSUM, 1, 5000)), 0)
            cids += [a.submit_wait(slot, 1) for slot in a.slots[14:]]
            t = time.monotonic()
            d.reload(without)
            got = [h.q.wait(c, 15) for c in cids]
            check(time.monotonic() - t < 12, "it took %.1f s" % (time.monotonic() - t))
            for c in got:
                status(c, (0, 0x00b))
                check(c.sc == 0 or c.dnr, "%r without DNR" % c)
            check(any(c.sc for c in got), "all had ended before")
            status(h.q.read(NS_ALL, 0, 512), 0x00b, "a read of what is gone", dnr=True)
            c = Accel(other, NS_CRC)
            c.claim(1)
            equal(c.crc(b"123456789"), 0xe3069283, "another namespace")
            c.release()
            d.reload(conf(namespaces=NAMESPACES))
            a = Accel(h, NS_ALL)
            check(a.bootid != boot, "the same BOOTID")
            a.claim(16)
            for slot in (a.slots[0], a.slots[-1]):
                equal(a.crc(b"123456789", slot=slot), 0xe3069283, "a job after it came back")
            a.release()


# ---- Memory as storage ----

@suite.test("memory is read with digests while it is written: no digest is wrong, no block mixes up hosts", 40)
def changing(d):
    with open(BIN, "rb") as f:
        if b"__tsan_init" in f.read():
            raise Skip("hosts write the same blocks at once here, which ThreadSanitizer takes for the daemon's fault")
    bad, end = [], time.monotonic() + 5

    def writer(i):
        try:
            with d.host() as h:
                while time.monotonic() < end:
                    status(h.q.write(NS_RAM, 64, bytes([i]) * 131072, inline=False), 0)
        except Exception as e:
            bad.append(e)

    def reader(dgst):
        try:
            with d.host(dgst=dgst) as h:
                while time.monotonic() < end:
                    p = h.q.read(NS_RAM, 64, 131072)
                    status(p, 0)
                    check(set(p.data) <= {0, 1, 2}, "strange bytes")
        except Exception as e:
            bad.append(e)

    threads = [threading.Thread(target=writer, args=(i,)) for i in (1, 2)]
    threads += [threading.Thread(target=reader, args=(g,)) for g in (0, 2, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(not bad, "%r", bad[:1])


sys.exit(suite.main())
