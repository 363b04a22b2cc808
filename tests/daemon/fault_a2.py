#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Faults that targets of this protocol have had, second part: those of SPDK's target and of gateways built on it (its
commit log, issues and test scripts tell of them), each as an attack on acceld and with the answer that is right."""
import random
import re
import struct
import sys

from lib import HOST, NQN, NS_ALL, NS_RAM, NS_RAM4K, Accel, Daemon, Failure, Suite, check, conf, equal, status, until
from nvmetcp import *

suite = Suite(seconds=30)
HOSTID = bytes(range(16))
LENGTH = (0x00f, 0x00d)


@suite.test("Identify into buffers that are longer and shorter than a page")
def identify_lengths(d):
    with d.host() as h:
        for cns, nsid in ((1, 0), (0, NS_RAM), (0, NS_ALL), (2, 0), (3, NS_RAM), (5, NS_RAM), (6, 0)):
            whole = h.admin.identify(cns, nsid)
            if cns in (5, 6) and whole.sc:
                status(whole, 0x002, "CNS %d" % cns)
                continue
            status(whole, 0, "CNS %d" % cns)
            equal(len(whole.data), 4096, "bytes of CNS %d" % cns)
            for n in (0x2000, 0x10000):
                cpl = status(h.admin.identify(cns, nsid, nbytes=n), 0, "CNS %d into %d bytes" % (cns, n))
                equal(len(cpl.data), 4096, "bytes that came of CNS %d" % cns)
                # What may change between the two is a namespace's run time state.
                equal(cpl.data[:580], whole.data[:580], "CNS %d into %d bytes" % (cns, n))
            for n in (4, 0, 512, 4092):
                cpl = h.admin.run(sqe(IDENTIFY, nsid=nsid, sgl=sgl_transport(n), cdw10=cns), want=n)
                status(cpl, LENGTH, "CNS %d into %d bytes" % (cns, n), dnr=True)


@suite.test("a data digest error is the error of its own command")
def digest_of_one(d):
    with d.host(dgst=2) as h:
        data = random.randbytes(4096)
        h.q.write(NS_RAM, 0, bytes(8192))
        for inline in (True, False):
            a, b = bytes(data[:2048]), bytes(data[2048:])
            if inline:
                h.q.submit_write(NS_RAM, 0, a, cid=5, inline=True)
                h.q.submit_write(NS_RAM, 4, b, cid=7, inline=True, ddgst_xor=1)
            else:
                h.q.auto_r2t = False
                h.q.submit_write(NS_RAM, 0, a, cid=5, inline=False)
                h.q.submit_write(NS_RAM, 4, b, cid=7, inline=False)
                while not (h.q.cmds[5].r2t and h.q.cmds[7].r2t):
                    h.q.pump(time.monotonic() + 5)
                h.q.answer(7, ddgst_xor=1)
                h.q.answer(5)
                h.q.auto_r2t = True
            status(h.q.wait(7), 0x022, "the command with the wrong digest")
            status(h.q.wait(5), 0, "the other one")
            equal(h.q.read(NS_RAM, 0, 2048).data, a, "data of the other one")
        status(h.q.write(NS_RAM, 4, data[:2048]), 0, "a write afterwards")


@suite.test("an offset of in-capsule data, and H2CData of more than MAXH2CDATA")
def icd_offset(d):
    with d.host() as h:
        for off in (16, 1, 512, 0xfffffffffffffff0):
            cid = h.q.submit(h.q.rw_entry(WRITE, NS_RAM, 0, 1, sgl_inline(512, off)), data=bytes(512), inline=True)
            status(h.q.wait(cid), (0x016, 0x00f), "offset %#x" % off, dnr=True)
            cid = h.q.submit(h.q.rw_entry(WRITE, NS_RAM, 0, 1, sgl_inline(512, off)), data=bytes(528), inline=True)
            status(h.q.wait(cid), (0x016, 0x00f), "offset %#x" % off, dnr=True)
        status(h.q.write(NS_RAM, 0, bytes(512)), 0, "a write afterwards")
    # The header alone says too much; the other bytes need not come.
    for dgst in (0, 3):
        for want in (4096, 1 << 20):
            for n in (4, 4096, 0x7ffffffc):
                with d.host(dgst=dgst) as h:
                    h.q.auto_r2t = False
                    h.q.submit_write(NS_RAM, 0, bytes(want), cid=9, inline=False)
                    while not h.q.cmds[9].r2t:
                        h.q.pump(time.monotonic() + 5)
                    datal = (h.q.maxh2c + n) & 0xffffffff
                    pda = 24 + (4 if dgst & 1 else 0)
                    h.q.send(h.q.data_pdu(9, h.q.cmds[9].r2t[0][0], 0, b"", length=datal, pdo=pda,
                                          flags=F_DDGST if dgst & 2 else 0,
                                          plen=pda + datal + (4 if dgst & 2 else 0)))
                    try:
                        h.q.wait(9, 5)
                        raise Failure("H2CData of %d bytes was taken, MAXH2CDATA is %d" % (datal, h.q.maxh2c))
                    except Terminated as e:
                        equal(e.fes, FES_LIMIT, "FES of H2CData of %#x bytes" % datal)


@suite.test("HPDA 31 gives data at multiples of 128 bytes, HPDA 32 is refused")
def hpda(d):
    for dgst in range(4):
        with d.host(dgst=dgst, hpda=31) as h:
            data = random.randbytes(8192)
            status(h.q.write(NS_RAM, 0, data), 0)
            equal(h.q.read(NS_RAM, 0, 8192).data, data, "data")     # Conn.recv() checks PDO and padding
            equal(len(h.admin.identify(1).data), 4096, "bytes of Identify")
    for n in (32, 255):
        c = Conn(d.addr)
        try:
            c.send(icreq(hpda=n))
            c.recv()
            raise Failure("HPDA %d was taken" % n)
        except Terminated as e:
            check(e.fes in (FES_HDR, FES_PARAM), "FES %d", e.fes)
        c.close()


SMALL = conf("memory = 16M\nmax_transfer = 1M\nqueue_depth = 16\n")


@suite.test("64 Connects at once against the smallest memory are answered once each", 40, own=True)
def many_connects():
    d = Daemon(SMALL)
    try:
        for by_r2t in (False, True):
            cs = []
            for i in range(64):
                q = Queue(d.addr)
                q.auto_r2t = False
                sgl = sgl_transport(1024) if by_r2t else sgl_inline(1024)
                q.submit(connect_cmd(0, 15, sgl=sgl), data=connect_data(NQN, HOST, HOSTID), inline=not by_r2t, cid=1)
                cs.append(q)
            good = 0
            for q in cs:
                q.auto_r2t = True
                if q.cmds[1].r2t:
                    q.answer(1)
                cpl = status(q.wait(1, 10), (0, 0x180 + 1, 0x182, 0x006), "Connect")
                good += cpl.sc == 0
                check(q.quiet(0.001), "a second answer")
                q.close()
            check(good >= 16, "only %d of 64 hosts got in", good)
        d.good(sqsize=15)
    finally:
        why = d.stop()
        d.cleanup()
        check(not why, "%s", why)


@suite.test("a host with a tiny receive buffer that stops reading for 3 s gets everything afterwards", 60)
def slow_reader(d):
    for dgst in (0, 3):
        with d.host(dgst=dgst, rcvbuf=2048, timeout=20) as h, d.host() as other:
            data = random.randbytes(1 << 20)
            for i in range(0, len(data), 65536):
                status(h.q.write(NS_RAM, i // 512, data[i:i + 65536]), 0)
            cids = [h.q.submit_read(NS_RAM, i % 16 * 128, 65536) for i in range(48)]
            cids.append(h.q.submit(sqe(0x99, nsid=NS_RAM)))
            end = time.monotonic() + 3
            while time.monotonic() < end:
                t0 = time.monotonic()
                status(other.q.read(NS_RAM, 0, 4096), 0, "another host's read meanwhile")
                check(time.monotonic() - t0 < 2.5, "another host waited %.1f s", time.monotonic() - t0)
                time.sleep(0.1)
            for i, c in enumerate(cids[:-1]):
                equal(h.q.wait(c, 20).data, data[i % 16 * 65536:i % 16 * 65536 + 65536], "data of read %d" % i)
            status(h.q.wait(cids[-1]), 0x001, "the invalid opcode")


@suite.test("a queue id can be used again at once", 40)
def qid_reuse(d):
    with d.host(queues=0) as h:
        for i in range(200):
            end = time.monotonic() + 5
            while True:
                q = Queue(d.addr)
                cpl = q.connect(NQN, h.hostnqn, h.hostid, 1, 31, cntlid=h.cntlid)
                if cpl.sc == 0:
                    break
                q.close()
                status(cpl, (0x182, 0x00c), "Connect")
                check(time.monotonic() < end, "queue id 1 is in use for more than 5 s")
            if i % 3 == 0:
                q.submit_read(NS_RAM, 0, 65536)
            (q.reset if i % 2 else q.close)()
        h.add_queue(1)
        status(h.q.read(NS_RAM, 0, 512), 0)


@suite.test("limits of SQSIZE, 0's based")
def sqsize(d):
    with d.host(queues=0) as h:
        mqes = h.admin.prop_get(CAP, True).result & 0xffff
        check(15 <= mqes <= 4095, "MQES is %d", mqes)
        for n in (1, 15, 31, 127, mqes - 1, mqes):
            q = h.add_queue(1, n)
            cids = [q.submit_read(NS_RAM, 0, 512) for _ in range(n)]
            for c in cids:
                status(q.wait(c), 0, "one of %d reads at once" % n)
            q.close()
            h.io.clear()
            until(lambda: free_again(d, h), 5, "queue id 1")
        for n in (0, mqes + 1, 0xffff):
            q = Queue(d.addr)
            cpl = status(q.connect(NQN, h.hostnqn, h.hostid, 1, n, cntlid=h.cntlid), 0x182, "SQSIZE %d" % n, dnr=True)
            equal(cpl.dw0, 44, "offset of the invalid parameter")
            q.close()
    for n, ok in ((0, False), (31, True), (63, True), (127, True), (mqes, None), (4095, None), (0xffff, False)):
        q = Queue(d.addr)
        cpl = q.connect(NQN, HOST, HOSTID, 0, n)
        check(ok is None or (cpl.sc == 0) == ok, "SQSIZE %d of an admin queue: %r", n, cpl)
        if cpl.sc:
            status(cpl, 0x182, dnr=True)
            equal(cpl.dw0, 44, "offset of the invalid parameter")
        q.close()


def free_again(d, h):
    q = Queue(d.addr)
    ok = q.connect(NQN, h.hostnqn, h.hostid, 1, 31, cntlid=h.cntlid).sc == 0
    q.close()
    time.sleep(0.02)
    return ok


@suite.test("more commands than the queue has entries")
def overfull(d):
    with d.host(sqsize=15) as h, d.host() as other:
        a = Accel(h, NS_ALL)
        a.claim(4)
        try:
            for i in range(400):
                h.q.submit_read(NS_RAM, 0, 65536)
            for _ in range(400):
                h.q.wait_any(5)
        except Closed:
            pass
        status(other.q.read(NS_RAM, 0, 512), 0, "another host's read")


@suite.test("discovery controllers and keep-alive")
def discovery_kato(d):
    for kato in (0, 2000, 5000, 120000, 0xffffffff):
        q = Queue(d.addr)
        cpl = q.connect(DISCOVERY_NQN, HOST, HOSTID, 0, 31, kato)
        if kato == 0xffffffff and cpl.sc:
            status(cpl, (0x182, 0x01a), "KATO %#x" % kato)
            q.close()
            continue
        status(cpl, 0, "discovery Connect with KATO %d" % kato)
        status(q.prop_set(CC, CC_ENABLE), 0)
        status(q.run(sqe(KEEP_ALIVE)), (0, 0x001) if kato == 0 else 0, "Keep Alive")
        if kato == 2000:
            for _ in range(5):
                time.sleep(0.8)
                status(q.run(sqe(KEEP_ALIVE)), 0, "Keep Alive")
            check(q.wait_closed(8), "a silent persistent discovery host stays")
        else:
            status(q.get_log(0x70, 1024), 0, "discovery log")
        q.close()


@suite.test("offsets and scopes of log pages, and namespace ids of descriptor lists")
def log_rules(d):
    with d.host() as h:
        for lid, size in ((1, None), (2, 512), (3, 512), (4, 4096), (5, 4096), (0xc1, 4096)):
            cpl = h.admin.get_log(lid, 64, 0, nsid=0xffffffff)
            status(cpl, 0, "log page %#x" % lid)
            for off in (1 << 20, 1 << 40, 0xfffffffffffffffc):
                status(h.admin.get_log(lid, 64, off), 0x002, "log page %#x at %#x" % (lid, off), dnr=True)
            for off in (1, 2, 3):
                status(h.admin.get_log(lid, 64, off), 0x002, "log page %#x at %d" % (lid, off), dnr=True)
            if size:
                status(h.admin.get_log(lid, 4, size - 4), 0, "the end of log page %#x" % lid)
            status(h.admin.get_log(lid, 64, nsid=NS_RAM), (0x002, 0x00b, 0) if lid == 2 else 0x002,
                   "log page %#x of one namespace" % lid)
            status(h.admin.get_log(lid, 64, nsid=5), (0x002, 0x00b), "log page %#x of an inactive one" % lid, dnr=True)
            status(h.admin.get_log(lid, 64, nsid=0), 0, "log page %#x with NSID 0" % lid)
        for lid in (0x06, 0x0b, 0x71, 0x7f, 0xbf, 0xc0, 0xc2, 0xff):
            status(h.admin.get_log(lid, 512), 0x109, "log page %#x" % lid, dnr=True)
        # More dwords than the page has, and NUMD against the SGL.
        status(h.admin.get_log(2, 4096), (0, 0x002), "512 bytes of SMART into 4096")
        for n in (0, 4, 508, 516):
            cpl = h.admin.run(sqe(GET_LOG, nsid=0xffffffff, sgl=sgl_transport(n), cdw10=2 | 127 << 16), want=n)
            status(cpl, (0,) if n > 512 else LENGTH, "128 dwords into %d bytes" % n)
        for n in (0x100000, 0x3fffffff, 0xffffffff):
            e = sqe(GET_LOG, nsid=0xffffffff, sgl=sgl_transport(4096), cdw10=2 | (n & 0xffff) << 16, cdw11=n >> 16)
            status(h.admin.run(e, want=4096), LENGTH + (0x002,), "%#x dwords" % n)
        status(h.admin.identify(3, 5), 0x002, "CNS 03h of an inactive namespace", dnr=True)
        for nsid in (0, 99999, 0xffffffff):
            status(h.admin.identify(3, nsid), 0x00b, "CNS 03h NSID %#x" % nsid, dnr=True)


@suite.test("fused commands are refused, and the next command is not touched")
def fused(d):
    with d.host() as h:
        data = random.randbytes(512)
        status(h.q.write(NS_RAM, 0, data), 0)
        for f in (1, 2, 3):
            for q, e in ((h.q, sqe(READ, nsid=NS_RAM, sgl=sgl_transport(512), flags=0x40 | f)),
                         (h.q, sqe(5, nsid=NS_RAM, flags=0x40 | f)), (h.admin, sqe(KEEP_ALIVE, flags=0x40 | f))):
                a = q.submit(e, want=512 if e[0] == READ else 0)
                b = h.q.submit_read(NS_RAM, 0, 512)
                status(q.wait(a), (0x002, 0x001) if e[0] == 5 else 0x002, "FUSE %d" % f, dnr=True)
                equal(h.q.wait(b).data, data, "data of the next command")


@suite.test("bidirectional and unknown opcodes complete with their own id")
def opcodes(d):
    with d.host() as h:
        for op in (0x83, 0x03, 0x43, 0xc3, 0xff, 0x7b):
            for sgl in (sgl_transport(0), sgl_transport(4096), sgl_inline(512)):
                inline = sgl[15] == 1
                for q in (h.q, h.admin):
                    cid = q.submit(sqe(op, nsid=NS_RAM, sgl=sgl), data=bytes(512) if inline else b"", inline=inline,
                                   cid=0xfe00 + op)
                    status(q.wait(cid), 0x001, "opcode %#x" % op, dnr=True)
        for op in range(256):
            if op not in (READ, WRITE, FLUSH, 0x7f):
                status(h.q.run(sqe(op, nsid=NS_RAM)), 0x001, "I/O opcode %#x" % op, dnr=True)
        known = {GET_LOG, IDENTIFY, ABORT, SET_FEATURES, GET_FEATURES, AER, KEEP_ALIVE, FABRICS}
        for op in range(256):
            if op not in known:
                status(h.admin.run(sqe(op)), 0x001, "admin opcode %#x" % op, dnr=True)
        status(h.q.read(NS_RAM, 0, 512), 0, "a read afterwards")


@suite.test("16 KiB of Identify and log pages through small buffers", 40)
def long_answers(d):
    for dgst in (0, 3):
        with d.host(dgst=dgst, rcvbuf=2048) as h:
            for _ in range(4):
                for cns, nsid in ((1, 0), (2, 0), (0, NS_ALL), (3, NS_ALL)):
                    equal(len(h.admin.identify(cns, nsid, nbytes=16384).data), 4096, "bytes of Identify")
                for lid in (1, 2, 3, 4, 5, 0xc1):
                    cpl = h.admin.get_log(lid, 16384)
                    status(cpl, (0, 0x002), "16 KiB of log page %#x" % lid)
            cids = [h.admin.submit(sqe(IDENTIFY, sgl=sgl_transport(16384), cdw10=1), want=16384) for _ in range(24)]
            for c in cids:
                equal(len(h.admin.wait(c).data), 4096, "bytes of Identify")
    q = Queue(d.addr)
    status(q.connect(DISCOVERY_NQN, HOST, HOSTID), 0)
    status(q.prop_set(CC, CC_ENABLE), 0)
    for n in (16384, 4096, 1024, 8):
        status(q.get_log(0x70, n, nsid=0), 0, "%d bytes of discovery log" % n)
    q.close()


@suite.test("Connect data by R2T, and Connects that are malformed")
def connect_by_r2t(d):
    for dgst in range(4):
        q = Queue(d.addr, dgst)
        cpl = q.connect(NQN, HOST, HOSTID, by_r2t=True)
        status(cpl, (0, 0x00f, 0x011, 0x002, 0x180), "Connect with a transport SGL")
        if cpl.sc == 0:
            status(q.prop_get(CAP, True), 0)
        q.close()
    for n in (0, 4, 1020, 1023, 1028, 4096, 0x7fffffff, 0xffffffff):
        for sgl in (sgl_inline(n), sgl_transport(n)):
            q = Queue(d.addr)
            q.auto_r2t = False
            inline = sgl[15] == 1
            try:
                q.submit(connect_cmd(0, 31, sgl=sgl), data=bytes(min(n, 4096)), inline=inline, cid=3)
                end = time.monotonic() + 2
                while 3 not in q.done and not q.cmds[3].r2t and time.monotonic() < end:
                    q.pump(end)
                if 3 not in q.done:
                    q.answer(3)
                check(q.wait(3, 5).sc, "Connect of %#x bytes was taken", n)
            except (Terminated, Closed):
                pass
            q.close()
    for kw in (dict(recfmt=1), dict(recfmt=0xffff)):
        q = Queue(d.addr)
        status(q.connect(NQN, HOST, HOSTID, **kw), 0x180, "%s" % kw, dnr=True)
        q.close()
    q = Queue(d.addr)
    status(q.connect(NQN, HOST, HOSTID), 0)
    status(q.connect(NQN, HOST, HOSTID), (0x00c, 0x182), "a second Connect on a queue", dnr=True)
    q.close()
    q = Queue(d.addr)
    status(q.connect(NQN, HOST, HOSTID, cntlid=5), (0x182,), "CNTLID 5 in the dynamic model", dnr=True)
    q.close()


@suite.test("sizes and counts of which hosts make tables")
def sane_numbers(d):
    with d.host(queues=0) as h:
        nq = status(h.admin.set_feature(7, 0xfffefffe), 0).dw0
        h.add_queue(1)
        status(h.admin.set_feature(7, 0x00010001), 0x00c, "the number of queues when there are queues")
        check(0 < (nq & 0xffff) + 1 <= 64 and nq & 0xffff == nq >> 16, "queues granted: %#x", nq)
        equal(h.admin.get_feature(7).dw0, nq, "number of queues as read back")
        cap = h.admin.prop_get(CAP, True).result
        check(cap & 0xffff >= 15, "MQES is %d", cap & 0xffff)
        equal(cap >> 48 & 0xf, 0, "MPSMIN: 4 KiB")
        nn = u32(h.admin.identify(1).data, 516)
        active = [x for x in struct.unpack("<1024I", h.admin.identify(2).data) if x]
        check(active and max(active) <= nn, "NN %d, active %s", nn, active)
        for nsid in active:
            p = h.admin.identify(0, nsid).data
            nsze, ncap, nuse = struct.unpack_from("<3Q", p)
            check(0 < nuse <= ncap <= nsze < 1 << 55, "namespace %d: NSZE %d NCAP %d NUSE %d", nsid, nsze, ncap, nuse)
            nlbaf, flbas = p[25], p[26] & 15
            check(flbas <= nlbaf, "namespace %d: FLBAS %d NLBAF %d", nsid, flbas, nlbaf)
            ms, lbads = u16(p, 128 + 4 * flbas), p[130 + 4 * flbas]
            check(ms == 0 and lbads in (9, 12), "namespace %d: LBADS %d MS %d", nsid, lbads, ms)
            check(any(p[104:120]), "namespace %d: no NGUID", nsid)
            # The last block can be read, the one behind it not.
            status(h.q.read(nsid, nsze - 1, 1 << lbads, 1 << lbads), 0, "the last block of namespace %d" % nsid)
            status(h.q.read(nsid, nsze, 1 << lbads, 1 << lbads), 0x080, "a block behind namespace %d" % nsid, dnr=True)
            for slba in (0xffffffffffffffff, 0xfffffffffffffff0, 1 << 63, nsze - 1):
                status(h.q.read(nsid, slba, 2 << lbads, 1 << lbads), 0x080, "reads at %#x" % slba, dnr=True)


FES_NAMES = {1: "invalid PDU header field", 2: "PDU sequence error", 3: "header digest error",
             4: "data transfer out of range", 5: "R2T or data transfer limit exceeded", 6: "unsupported parameter"}


@suite.test("fatal error codes of a host's TermReq are written to the log by their names", own=True)
def fes_names():
    # A daemon of its own: only the first few events of a kind are all written.
    d = Daemon(conf())
    try:
        for n in (24, 0, 128):
            for fes in (*range(8), 0x100, 0x8000, 0xffff):
                at = d.mark()
                with d.host(queues=0) as h:
                    h.admin.send(h2c_term(fes, 0xdeadbeef, b"\x1b" * n))
                    check(h.admin.wait_closed(5), "FES %d: the connection stays", fes)
                log = d.log(at)
                check(not re.search(r"[^\x20-\x7e\n]", log) and len(log) < 4000, "log: %r", log)
                said = 'fes=%d reason="%s"' % (fes, FES_NAMES.get(fes, "unknown"))
                check(n != 24 or said in log, "FES %d in the log: %r", fes, log)
        d.good()
    finally:
        why = d.stop()
        d.cleanup()
        check(not why, "%s", why)


@suite.test("serial and model with bytes outside 20h to 7Eh are refused; so is any other unprintable name")
def names(d):
    from fault_a1 import try_conf
    from lib import CONF
    for key in ("serial", "model"):
        for c in "\x01\x1f\x7f\x80\xff":
            rc, out, path = try_conf(conf(namespaces="%s = ab%scd\n" % (key, c) + CONF))
            check(rc != 0 and path in out, "%s with byte %#x: status %d, %s", key, ord(c), rc, out)
    for nqn in ("nqn.2026-11.local:\x7f", "nqn.2026-11.local:\xe4", "nqn.2026-11.local:a b", "nqn", "foo", "nqn.",
                DISCOVERY_NQN):
        rc, out, path = try_conf(conf(nqn=nqn))
        check(rc != 0 and path in out, "NQN %r: status %d, %s", nqn, rc, out)


@suite.test("digests that a host asks for are granted, each for itself")
def digests_granted(d):
    for dgst in range(4):
        with d.host(dgst=dgst) as h:
            equal((h.q.hdgst, h.q.ddgst), (bool(dgst & 1), bool(dgst & 2)), "digests")
            data = random.randbytes(4096)
            status(h.q.write(NS_RAM4K, 0, data, 4096), 0)
            equal(h.q.read(NS_RAM4K, 0, 4096, 4096).data, data, "data")


@suite.test("a configuration without digests declines them", own=True)
def digests_declined():
    d = Daemon(conf("header_digest = no\ndata_digest = no\n"))
    try:
        with d.host(dgst=3) as h:
            equal((h.q.hdgst, h.q.ddgst), (False, False), "digests")
        d.good(dgst=3)
    finally:
        why = d.stop()
        d.cleanup()
        check(not why, "%s", why)


@suite.test("reservations are not offered and not taken")
def reservations(d):
    with d.host() as h:
        p = h.admin.identify(1).data
        check(not u16(p, 520) & 0x20, "ONCS is %#x", u16(p, 520))
        for nsid in (NS_RAM, NS_ALL):
            equal(h.admin.identify(0, nsid).data[31], 0, "RESCAP of namespace %d" % nsid)
            for op in (0x0d, 0x0e, 0x11, 0x15):
                status(h.q.run(sqe(op, nsid=nsid, sgl=sgl_transport(16 if op != 0x0e else 4096), cdw10=1)), 0x001,
                       "opcode %#x" % op, dnr=True)


@suite.test("SQ flow control switched off: SQHD is FFFFh in the answer to Connect")
def no_flow_control(d):
    with d.host(queues=0) as h:
        q = Queue(d.addr)
        cpl = status(q.connect(NQN, h.hostnqn, h.hostid, 1, 31, cattr=4, cntlid=h.cntlid), 0)
        equal(cpl.sqhd, 0xffff, "SQHD")
        data = random.randbytes(65536)
        status(q.write(NS_RAM, 0, data), 0)
        for i in range(100):
            equal(q.read(NS_RAM, 0, 65536).data, data, "data")
        status(q.read(NS_RAM, 1 << 40, 512), 0x080, "a failing read")
        q.close()
    with d.host() as h:
        last = None
        for _ in range(300):
            cpl = h.q.run(sqe(FLUSH, nsid=NS_RAM))
            check(cpl.sqhd < 128, "SQHD %d", cpl.sqhd)
            check(last is None or cpl.sqhd == (last + 1) % 128, "SQHD %d behind %s", cpl.sqhd, last)
            last = cpl.sqhd


if __name__ == "__main__":
    sys.exit(suite.main())
