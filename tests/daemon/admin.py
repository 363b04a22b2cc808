#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What controllers answer: properties, Identify, log pages, features, events, Abort, in the order in which hosts ask
(SPDK's initiator, Linux 6.1 and 6.12, nvme-cli), compared with the NVMe Base Specification 2.0 byte by byte;
discovery."""
import json
import random
import struct
import subprocess
import sys
import time

from fault_a1 import changed, without
from lib import HOST, NQN, NS_ALL, NS_CRC, NS_RAM, NS_RAM4K, Accel, Daemon, Suite, beside, check, conf, equal, status, \
    until
from nvmetcp import *

suite = Suite(seconds=30)
HOST2 = HOST[:-1] + "2"
OTHER = "nqn.2026-11.local.accel:other"


def zero(p, first, last, what="reserved bytes"):
    check(not any(p[first:last + 1]), "%s %d to %d: %s", what, first, last, p[first:last + 1].hex())


@suite.test("what SPDK's initiator sends, in its order")
def spdk_order(d):
    a = Queue(d.addr)
    hostid = bytes(range(16))
    cpl = status(a.connect(NQN, HOST, hostid, 0, 31, 10000), 0, "Connect")
    cntlid = cpl.result & 0xffff
    equal(cpl.result >> 16, 0, "AUTHREQ and reserved bits of Connect")
    check(0 < cntlid < 0xfff0, "CNTLID %#x", cntlid)
    vs = status(a.prop_get(VS), 0).dw0
    check(vs in (0x10300, 0x10400, 0x20000, 0x20100), "VS is %#x", vs)
    cap = status(a.prop_get(CAP, True), 0).result
    mqes, to = cap & 0xffff, cap >> 24 & 0xff
    equal(mqes, 1023, "CAP.MQES")
    check(cap >> 16 & 1, "CAP.CQR")
    check(cap >> 37 & 1, "CAP.CSS: no NVM command set")
    check(to >= 1, "CAP.TO")
    equal(cap >> 48 & 15, 0, "CAP.MPSMIN")
    equal(cap >> 19 & 31, 0, "reserved bits of CAP")
    equal(status(a.prop_get(CC), 0).dw0, 0, "CC before it is enabled")
    equal(status(a.prop_get(CSTS), 0).dw0, 0, "CSTS before it is enabled")
    status(a.prop_set(CC, CC_ENABLE), 0)
    until(lambda: a.prop_get(CSTS).dw0 & 1, 5, "CSTS.RDY")
    equal(a.prop_get(CSTS).dw0, 1, "CSTS")
    equal(a.prop_get(CC).dw0, CC_ENABLE, "CC as read back")
    controller(status(a.identify(1), 0).data, cntlid, vs)
    status(a.set_feature(0x0b, 0x100), 0, "Set Features 0Bh")
    aers = [a.submit(sqe(AER)) for _ in range(4)]
    equal(status(a.get_feature(0x0f), 0).dw0, 10000, "KATO")
    cpl = a.identify(6, csi=0)
    status(cpl, 0, "CNS 06h")
    status(a.set_feature(7, 0x007f007f), 0, "Set Features 07h")
    ids = [x for x in struct.unpack("<1024I", status(a.identify(2), 0).data) if x]
    equal(ids, [1, 2, 3, 4], "active namespaces")
    for nsid in ids:
        namespace(nsid, status(a.identify(0, nsid), 0).data)
        descriptors(nsid, status(a.identify(3, nsid), 0).data, a.identify(0, nsid).data)
    status(a.run(sqe(KEEP_ALIVE)), 0)
    io = []
    for qid in range(1, 5):
        q = Queue(d.addr)
        cpl = status(q.connect(NQN, HOST, hostid, qid, 127, 0, 0, cntlid), 0, "Connect of queue %d" % qid)
        equal(cpl.result & 0xffff, cntlid, "CNTLID in the answer of an I/O queue")
        io.append(q)
    for q in io:
        status(q.read(NS_RAM, 0, 512), 0)
    for fid in (1, 2, 4, 5, 7):
        status(a.get_feature(fid), 0, "Get Features %#x" % fid)
    for lid, n in ((1, 64), (2, 512), (3, 512), (5, 4096)):
        status(a.get_log(lid, n), 0, "log page %#x" % lid)
    check(all(c in a.cmds for c in aers), "an event without a reason")
    for q in io:
        q.close()
    status(a.prop_set(CC, CC_ENABLE | 1 << 14), 0, "CC.SHN")
    until(lambda: a.prop_get(CSTS).dw0 >> 2 & 3 == 2, 5, "CSTS.SHST 10b")
    a.close()


def controller(p, cntlid, vs):
    zero(p, 104, 110)
    check(p[4:24].strip(b" \0"), "no serial number")
    check(p[24:64].strip(b" \0"), "no model number")
    check(not p[4:24].startswith(b" ") and b"\0" not in p[4:72], "SN, MN and FR are padded with spaces: %r", p[4:72])
    equal(p[76] & 2, 2, "CMIC: several controllers")
    mdts = p[77]
    check(8 <= mdts <= 12, "MDTS is 2^%d pages", mdts)
    equal(u16(p, 78), cntlid, "CNTLID")
    equal(u32(p, 80), vs, "VER")
    equal(u32(p, 92), 0x100, "OAES: namespace attribute notices")
    equal(p[111], 1, "CNTRLTYPE: an I/O controller")
    equal(u16(p, 256) & ~0x0, 0, "OACS")
    check(p[258] >= 3, "ACL is %d", p[258])
    check(p[259] >= 3, "AERL is %d", p[259])
    check(p[260] & 1 and p[260] >> 1 & 7 == 1, "FRMW is %#x: one slot, read only", p[260])
    equal(p[261] & 6, 6, "LPA: effects log, extended data")
    check(p[263] == 0, "NPSS is %d", p[263])
    check(0 < u16(p, 320) <= 50, "KAS is %d", u16(p, 320))
    equal((p[512], p[513]), (0x66, 0x44), "SQES, CQES")
    check(u16(p, 514), "MAXCMD")
    check(4 <= u32(p, 516) <= 1024, "NN is %d", u32(p, 516))
    equal(u16(p, 520) & ~0x10, 0, "ONCS, but for SEL and SV of features")
    equal(u16(p, 522), 0, "FUSES")
    check(p[525] & 1 == 0 or p[525] & 6, "VWC is %#x", p[525])
    sgls = u32(p, 536)
    check(sgls & 3 and sgls & 1 << 20, "SGLS is %#x", sgls)
    equal(p[768:1024], NQN.encode().ljust(256, b"\0"), "SUBNQN")
    zero(p, 1024, 1791)
    check(u32(p, 1792) * 16 >= 64 + 16384, "IOCCSZ is %d", u32(p, 1792))
    equal(u32(p, 1796), 1, "IORCSZ")
    equal(u16(p, 1800), 0, "ICDOFF")
    equal(p[1802] & 1, 0, "FCATT: the dynamic controller model")
    check(p[1803] >= 1, "MSDBD is %d", p[1803])
    equal(u16(p, 1804) & ~1, 0, "OFCS, but for Disconnect")
    zero(p, 1806, 2047)
    check(p[3072:3080] == b"ACCELCT\0" and u32(p, 3080) == 2, "the accelerator fields: %s", p[3072:3088].hex())
    zero(p, 3072 + 36, 4095)


def namespace(nsid, p):
    nsze, ncap, nuse = struct.unpack_from("<3Q", p)
    check(nsze >= ncap >= nuse > 0, "NSZE %d NCAP %d NUSE %d", nsze, ncap, nuse)
    nlbaf, flbas = p[25], p[26]
    check(flbas & 15 <= nlbaf < 16, "NLBAF %d FLBAS %d", nlbaf, flbas)
    equal(p[27], 0, "MC")
    equal(p[28], 0, "DPC")
    equal(p[29], 0, "DPS")
    equal(p[30], 1, "NMIC: shared")
    equal(p[31], 0, "RESCAP")
    lbaf = u32(p, 128 + 4 * (flbas & 15))
    equal(lbaf & 0xffff, 0, "MS")
    equal(lbaf >> 16 & 0xff, 12 if nsid == NS_RAM4K else 9, "LBADS")
    check(any(p[104:120]), "NGUID is zero")
    if nsid == NS_RAM:
        equal(nsze, (16 << 20) // 512, "NSZE of 16M")
        zero(p, 384, 4095, "vendor specific bytes")
    elif nsid == NS_RAM4K:
        equal(nsze, (8 << 20) // 4096, "NSZE of 8M")
    else:
        check(p[384:392] == b"ACCELNS\0", "no accelerator at byte 384")
        n = u16(p, 394)
        body = p[384:396] + bytes(4) + p[400:384 + n]
        equal(u32(p, 396), crc32c(body), "HDRCRC")
        nops = u16(p, 640)
        check(1 <= nops <= 52 and u16(p, 642) == 64, "NOPS %d OPSZ %d", nops, u16(p, 642))
        equal(u32(p, 636), crc32c(p[704:704 + 64 * nops]), "OPSCRC")
        check(u64(p, 488) >> 7 & 1, "FEAT.7: leases are bound to a host")
        equal(u16(p, 46), (1 << p[501]) >> p[500], "NOIOB against WINSH")
        check(p[592] == 1, "STATE is %d", p[592])


def descriptors(nsid, p, ns):
    got, at = {}, 0
    while at + 4 <= 4096 and p[at]:
        nidt, nidl = p[at], p[at + 1]
        check(p[at + 2] == 0 == p[at + 3] and nidt in (1, 2, 3, 4) and at + 4 + nidl <= 4096, "descriptor %s",
              p[at:at + 8].hex())
        equal(nidl, {1: 8, 2: 16, 3: 16, 4: 1}[nidt], "NIDL of type %d" % nidt)
        check(nidt not in got, "type %d twice", nidt)
        got[nidt] = p[at + 4:at + 4 + nidl]
        at += 4 + nidl
    zero(p, at, 4095, "bytes behind the descriptors")
    check(3 in got, "no UUID")
    if 2 in got:
        equal(got[2], ns[104:120], "NGUID")
    if 1 in got:
        equal(got[1], ns[120:128], "EUI64")
    if 4 in got:
        equal(got[4], b"\0", "CSI: NVM")
    if ns[384:392] == b"ACCELNS\0":
        equal(got[3], ns[408:424], "UUID against the accelerator's")


@suite.test("what Linux asks besides, and nvme-cli's verbs")
def linux(d):
    with d.host(kato=5000) as h:
        a = h.admin
        ctratt = u32(a.identify(1).data, 96)
        effects = status(a.get_log(5, 4096), 0).data
        for op in (GET_LOG, IDENTIFY, ABORT, SET_FEATURES, GET_FEATURES, AER, KEEP_ALIVE):
            check(u32(effects, 4 * op) & 1, "the effects log has no admin opcode %#x", op)
        check(u32(effects, 1024 + 4 * READ) & 1, "no Read")
        equal(u32(effects, 1024 + 4 * WRITE) & 3, 3, "Write: CSUPP and LBCC")
        equal(u32(effects, 1024 + 4 * READ) & 0xfffe, 0, "Read without effects")
        for op in range(256):
            if op not in (FLUSH, WRITE, READ, 0x7f):
                equal(u32(effects, 1024 + 4 * op) & 1, 0, "I/O opcode %#x in the effects log" % op)
        smart = status(a.get_log(2, 512), 0).data
        equal(smart[0], 0, "critical warning")
        temp = u16(smart, 1)
        check(temp == 0 or 273 < temp < 373, "temperature %d K", temp)
        equal(smart[3], 100, "available spare") if smart[3] else None
        status(a.get_log(1, 64), 0)
        status(a.get_log(3, 512), 0)
        supported = a.get_log(0, 1024)
        if supported.sc == 0:
            for lid in (1, 2, 3, 4, 5):
                check(u32(supported.data, 4 * lid) & 1, "supported log pages: no %d", lid)
        else:
            status(supported, 0x109, "log page 00h")
        for fid in (1, 2, 4, 5, 7, 0x0b, 0x0f):
            status(a.get_feature(fid), 0, "feature %#x" % fid)
            if ctratt is not None:
                for sel in (1, 3):
                    status(a.get_feature(fid, sel), (0, 0x002), "feature %#x, SEL %d" % (fid, sel))
        status(a.get_feature(6), (0, 0x002), "feature 06h")
        status(a.get_feature(0x16, nbytes=512), (0, 0x002), "feature 16h")
        hostid = a.get_feature(0x81, nbytes=16, cdw11=1)
        if hostid.sc == 0:
            equal(hostid.data, h.hostid, "Host Identifier")
        for fid in (0x00, 0x03, 0x0c, 0x13, 0x7f, 0x80, 0x82, 0xc0, 0xff):
            status(a.get_feature(fid), 0x002, "feature %#x" % fid, dnr=True)
            status(a.set_feature(fid, 1), (0x002, 0x10e), "feature %#x" % fid, dnr=True)
        status(a.set_feature(0x0b, 0x100, save=1), (0x10d, 0x002), "a saved feature", dnr=True)
        status(a.set_feature(0x0f, 0xffffffff), (0, 0x002, 0x01a), "KATO of 49 days")
        status(a.set_feature(0x0f, 5000), 0)
        cs = a.identify(8, NS_RAM)
        if cs.sc == 0:
            equal(cs.data[1], 1, "CNS 08h: NMIC")
            check(cs.data[14] & 1, "CNS 08h: NSTAT.NRDY")
            status(a.identify(8, 5), (0, 0x002, 0x00b), "CNS 08h of an inactive one")
        else:
            status(cs, 0x002, "CNS 08h")
        for cns in (0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x1c):
            status(a.identify(cns, NS_RAM if cns in (0x11, 0x12) else 0), (0, 0x002), "CNS %#x" % cns)
        cl = a.identify(0x13)
        if cl.sc == 0:
            ids = struct.unpack_from("<%dH" % u16(cl.data), cl.data, 2)
            check(h.cntlid in ids and list(ids) == sorted(ids), "controllers %s", ids)
        status(a.run(sqe(0x0d, nsid=0)), 0x001, "Namespace Management", dnr=True)
        status(a.run(sqe(0x10)), 0x001, "Firmware Commit", dnr=True)
        status(a.run(sqe(0x80, nsid=1)), 0x001, "Format NVM", dnr=True)
        status(a.run(sqe(0x81, nsid=1)), 0x001, "Security Send", dnr=True)


@suite.test("error log and SMART of a controller that has had errors")
def error_log(d):
    with d.host() as h:
        before = u64(status(h.admin.get_log(1, 64), 0).data)
        for i in range(3):
            status(h.q.read(NS_RAM, 1 << 40, 512), 0x080)
        p = status(h.admin.get_log(1, 64 * 4), 0).data
        count = u64(p)
        if count == 0:
            n = h.admin.identify(1).data[262]
            equal(n, 0, "ELPE though no error was logged")
            return
        check(count > before, "the error count stays %d", count)
        counts = [u64(p, 64 * i) for i in range(4)]
        check(counts[:3] == [count, count - 1, count - 2], "counts %s: the newest first", counts)
        equal(u16(p, 12) >> 1 & 0x7ff, 0x080, "status of the newest entry")
        equal(u64(p, 16), 1 << 40, "LBA of the newest entry")
        equal(u32(p, 24), NS_RAM, "namespace of the newest entry")
        check(u64(h.admin.get_log(2, 512).data, 176) >= 3, "SMART's number of error log entries")


@suite.test("properties: sizes, reserved ones, and those that are only read")
def properties(d):
    q = Queue(d.addr)
    status(q.connect(NQN, HOST, bytes(16)[:15] + b"\1"), 0)
    cap = q.prop_get(CAP, True).result
    for e, sc in ((prop_get(CAP, False), (0x002,)), (prop_get(VS, True), (0x002,)), (prop_get(CC, True), (0x002,)),
                  (prop_get(CSTS, True), (0x002,)), (prop_get(0x24), (0x002,)), (prop_get(0x28, True), (0x002,)),
                  (prop_get(0x1000), (0x002,)), (prop_get(1), (0x002,)), (prop_get(0xffffffff), (0x002,)),
                  (prop_get(CAP, attrib=2), (0x002,)), (prop_get(CAP, attrib=7), (0x002,)),
                  (prop_set(CAP, 1, True), (0x002,)), (prop_set(VS, 1), (0x002,)), (prop_set(CSTS, 1), (0x002, 0)),
                  (prop_set(CC, 1, True), (0x002,)), (prop_set(0x30, 1), (0x002,)),
                  (prop_set(0xfffffffc, 1), (0x002,))):
        status(q.run(e), sc, "property %#x, opcode %d" % (u32(e, 44), e[4]), dnr=None)
    equal(q.prop_get(CAP, True).result, cap, "CAP afterwards")
    nssr = q.prop_get(NSSR)
    status(nssr, (0, 0x002), "NSSR")
    status(q.identify(1), (0x00c, 0x082, 0), "Identify before CC.EN")
    for cc in (CC_ENABLE | 7 << 4, CC_ENABLE | 15 << 7, (CC_ENABLE & 0xffff) | 5 << 16, 1):
        # A command set, page size or entry size that there is not: refused, or CSTS.CFS, and never a crash.
        cpl = q.prop_set(CC, cc)
        status(cpl, (0, 0x002), "CC %#x" % cc)
        q.prop_set(CC, 0)
        q.close()
        q = Queue(d.addr)
        status(q.connect(NQN, HOST, bytes(16)[:15] + b"\1"), 0)
    status(q.prop_set(CC, CC_ENABLE), 0)
    until(lambda: q.prop_get(CSTS).dw0 & 1, 5, "CSTS.RDY")
    status(q.prop_set(CC, CC_ENABLE & ~1), 0, "a controller reset")
    until(lambda: not q.prop_get(CSTS).dw0 & 1, 5, "the end of CSTS.RDY")
    q.close()


@suite.test("CC.SHN ends the I/O queues' work, and a reset forgets the association's state")
def shutdown(d):
    for shn in (1, 2):
        with d.host(queues=2) as h:
            a = Accel(h, NS_ALL)
            a.claim()
            held = a.submit_wait(a.slots[0], 1)
            aer = h.admin.submit(sqe(AER))
            status(h.admin.prop_set(CC, CC_ENABLE | shn << 14), 0)
            until(lambda: h.admin.prop_get(CSTS).dw0 >> 2 & 3 == 2, 6, "CSTS.SHST 10b")
            try:
                status(h.q.wait(held, 6), (0, 0x007, 0x008), "a held read at the shutdown")
            except Closed:
                pass
            check(aer in h.admin.cmds or aer in h.admin.done)


@suite.test("discovery log in pieces of 1024, 4096 and 8 bytes", own=True)
def discovery():
    more = "\n[subsystem %s]\nallow_any_host = no\nhost = %s\n[namespace 7]\ntype = ram\nsize = 1M\n" % (OTHER, HOST2)
    d = Daemon(conf(more=more))
    try:
        def log(hostnqn, sizes=(1024, 4096, 8)):
            q = Queue(d.addr)
            status(q.connect(DISCOVERY_NQN, hostnqn, bytes(15) + b"\2"), 0)
            status(q.prop_set(CC, CC_ENABLE), 0)
            until(lambda: q.prop_get(CSTS).dw0 & 1, 5, "CSTS.RDY")
            p = status(q.identify(1), 0).data
            equal(p[111], 2, "CNTRLTYPE: a discovery controller")
            equal(p[768:1024].rstrip(b"\0"), DISCOVERY_NQN.encode(), "SUBNQN")
            equal(u32(p, 516), 0, "NN of a discovery controller")
            head = status(q.get_log(0x70, 1024, nsid=0), 0).data
            genctr, n, recfmt = u64(head), u64(head, 8), u16(head, 16)
            equal(recfmt, 0, "RECFMT")
            zero(head, 18, 1023)
            whole = status(q.get_log(0x70, 1024 * (n + 1), nsid=0), 0).data
            equal(whole[:1024], head, "the header")
            for size in sizes:
                got = b""
                while len(got) < len(whole):
                    m = min(size, len(whole) - len(got))
                    got += status(q.get_log(0x70, m, len(got), nsid=0), 0).data
                equal(got, whole, "the log in pieces of %d" % size)
            status(q.get_log(0x70, 1024, 1 << 30, nsid=0), 0x002, "an offset beyond the log", dnr=True)
            status(q.get_log(0x70, 1024, 2, nsid=0), 0x002, "an odd offset", dnr=True)
            status(q.run(sqe(READ, nsid=1, sgl=sgl_transport(512))), (0x001, 0x002, 0x00b), "Read of a discovery queue")
            io = Queue(d.addr)
            cntlid = u16(p, 78)
            check(io.connect(DISCOVERY_NQN, hostnqn, bytes(15) + b"\2", 1, 31, cntlid=cntlid).sc, "an I/O queue")
            io.close()
            status(q.keep_alive(), (0, 0x001))
            q.close()
            recs = []
            for i in range(n):
                r = whole[1024 * (i + 1):1024 * (i + 2)]
                equal((r[0], r[1]), (3, 1), "TRTYPE, ADRFAM")
                equal(r[32:64].split(b"\0")[0].rstrip(), str(d.port).encode(), "TRSVCID")
                equal(r[512:768].split(b"\0")[0].rstrip(), b"127.0.0.1", "TRADDR")
                check(u16(r, 8) >= 32, "ASQSZ is %d", u16(r, 8))
                equal(u16(r, 6), 0xffff, "CNTLID")
                equal(r[768], 0, "SECTYPE")
                zero(r, 12, 31)
                zero(r, 64, 255)
                recs.append((r[2], r[256:512].rstrip(b"\0").decode()))
            return genctr, recs

        _, recs = log(HOST)
        equal([r for r in recs if r[0] == 2], [(2, NQN)], "subsystems for the first host")
        g2, recs = log(HOST2)
        equal(sorted(r for r in recs if r[0] == 2), sorted([(2, NQN), (2, OTHER)]), "subsystems for the second")
        check(all(t in (2, 3) for t, _ in recs), "subtypes %s", recs)
        check(all(n == DISCOVERY_NQN for t, n in recs if t == 3), "the discovery subsystem itself: %s", recs)
        d.reload(conf())
        g3, recs = log(HOST2)
        check(g3 > g2, "GENCTR %d behind %d", g3, g2)
        equal([r for r in recs if r[0] == 2], [(2, NQN)], "subsystems after the reload")
    finally:
        why = d.stop()
        d.cleanup()
        check(not why, "%s", why)


@suite.test("Abort of a held read, of a command that is not there, of itself, of another queue's")
def abort(d):
    with d.host(queues=2) as h:
        a = Accel(h, NS_ALL)
        a.claim()
        cid = a.submit_wait(a.slots[0], 1)
        time.sleep(0.05)
        t0 = time.monotonic()
        cpl = status(h.admin.run(sqe(ABORT, cdw10=1 | cid << 16)), 0)
        equal(cpl.dw0 & 1, 0, "dword 0: the command was aborted")
        status(h.q.wait(cid), (0, 0x007), "the held read")
        check(time.monotonic() - t0 < a.hold_ms / 1250, "it took %.1f s", time.monotonic() - t0)
        for qid, c in ((1, cid), (1, 0xfffe), (2, cid), (0, 0xfffe), (3, 1), (64, 1), (0xffff, 0xffff)):
            cpl = h.admin.run(sqe(ABORT, cdw10=qid | c << 16))
            status(cpl, (0, 0x002), "Abort of command %#x of queue %#x" % (c, qid))
            if cpl.sc == 0:
                equal(cpl.dw0, 1, "dword 0: nothing was aborted")
        # Many at once, more than ACL.
        cids = [h.admin.submit(sqe(ABORT, cdw10=1 | 7 << 16)) for _ in range(24)]
        for c in cids:
            status(h.admin.wait(c), (0, 0x103), "one of 24 Aborts")
        aer = h.admin.submit(sqe(AER))
        cpl = status(h.admin.run(sqe(ABORT, cdw10=0 | aer << 16)), 0)
        if cpl.dw0 == 0:
            status(h.admin.wait(aer), 0x007, "the aborted AER")
        # A write whose data has not come.
        h.q.auto_r2t = False
        w = h.q.submit_write(NS_RAM, 0, bytes(8192), inline=False)
        while not h.q.cmds[w].r2t:
            h.q.pump(time.monotonic() + 5)
        status(h.admin.run(sqe(ABORT, cdw10=1 | w << 16)), 0)
        h.q.answer(w)
        status(h.q.wait(w), (0, 0x007), "a write that was aborted while its data was awaited")
        status(h.q.read(NS_RAM, 0, 512), 0)


@suite.test("asynchronous events: how many, when, masked, and once a change")
def events(d):
    text = d.text
    with d.host() as h:
        limit = h.admin.identify(1).data[259] + 1
        check(limit >= 4, "%d events", limit)
        for _ in range(limit):
            h.admin.submit(sqe(AER))
        status(h.admin.run(sqe(AER)), 0x105, "one more than AERL", dnr=None)
        h.must(h.admin.set_feature(0x0b, 0), "Set Features 0Bh")
        d.reload(without(NS_CRC))
        masked = h.admin.quiet(0.3)
        h.must(h.admin.set_feature(0x0b, 0x100), "Set Features 0Bh")
        equal(h.admin.get_feature(0x0b).dw0, 0x100, "AEC as read back")
        h.admin.get_log(4, 4096)
        while not h.admin.quiet(0.1):
            pass
        h.admin.done.clear()
        check(masked, "an event that is not asked for")
        d.reload(text)
        cpl = h.admin.wait_any(3)
        equal(cpl.dw0, 0x040002, "the event")
        d.reload(without(NS_CRC))
        check(h.admin.quiet(0.3), "a second event before the log was read")
        equal(changed(h), [NS_CRC], "changed namespaces")
        d.reload(text)
        equal(h.admin.wait_any(3).dw0, 0x040002, "the next event")
        # With RAE the log and the event stay.
        p = h.admin.get_log(4, 4096, rae=1)
        equal(u32(p.data), NS_CRC, "changed namespaces, RAE")
        equal(changed(h), [NS_CRC], "changed namespaces once more")
        equal(changed(h), [], "changed namespaces when they were read")


@suite.test("queues before the controller is enabled, when it is not any more, and when its admin queue is gone")
def disabled(d):
    hostid = bytes(range(16))
    a = Queue(d.addr)
    cntlid = status(a.connect(NQN, HOST, hostid), 0).result & 0xffff

    def io(want):
        q = Queue(d.addr)
        status(q.connect(NQN, HOST, hostid, 1, 31, cntlid=cntlid), want, "an I/O queue")
        return q

    io((0x00c, 0x182)).close()
    status(a.prop_set(CC, CC_ENABLE), 0)
    q = io(0)
    status(q.read(NS_RAM, 0, 512), 0)
    status(a.prop_set(CC, CC_ENABLE & ~1), 0, "a controller reset")
    try:
        status(q.read(NS_RAM, 0, 512), (0x00c, 0x006, 0x008), "a read of a controller that is not enabled")
    except Closed:
        pass
    # Its queue does not come back with it.
    status(a.prop_set(CC, CC_ENABLE), 0)
    old, q = q, io(0)
    status(q.read(NS_RAM, 0, 512), 0)
    try:
        status(old.read(NS_RAM, 0, 512), (0x00c, 0x006, 0x008), "a read by a queue from before the reset")
    except Closed:
        pass
    old.close()
    status(q.read(NS_RAM, 0, 512), 0, "a read when the old queue's connection is gone")
    a.close()
    check(q.wait_closed(5), "an I/O queue without its admin queue")
    q.close()
    io((0x182,)).close()


@suite.test("command ids 0 and FFFFh, and one id again and again")
def command_ids(d):
    with d.host() as h:
        for cid in (0, 0xffff, 0x8000, *[7] * 50):
            status(h.q.wait(h.q.submit(h.q.rw_entry(READ, NS_RAM, 0, 1, sgl_transport(512)), want=512, cid=cid)), 0)
            status(h.admin.wait(h.admin.submit(sqe(KEEP_ALIVE), cid=cid)), 0)


@suite.test("no namespace at all, and as many as a list of active ones holds", own=True)
def how_many():
    many = "".join("[namespace %d]\ntype = ram\nsize = 4096\n" % i for i in range(1, 1024)) + \
        "[namespace 1024]\ntype = checksum\n"
    for text, ids in (("", []), (many, list(range(1, 1025)))):
        d = Daemon(conf(namespaces=text))
        try:
            with d.host(queues=1) as h:
                got = struct.unpack("<1024I", h.admin.identify(2).data)
                got = [x for x in got if x]
                check(got == ids, "%d active namespaces, not %d: %s ...", len(got), len(ids), got[-4:])
                if ids:
                    equal(struct.unpack("<1024I", h.admin.identify(2, 1000).data)[:25],
                          (*range(1001, 1025), 0), "those behind 1000")
                    equal(status(h.admin.identify(2, 1024), 0).data, bytes(4096), "those behind the last")
                    status(h.q.write(1023, 7, b"last" * 128), 0)
                    equal(h.q.read(1023, 7, 512).data, b"last" * 128, "data of namespace 1023")
            r = subprocess.run([beside("accel", "ACCEL"), "list", "--transport", "tcp", "-o", "json", "--discover",
                                "127.0.0.1:%d" % d.port], capture_output=True, timeout=30)
            equal(r.returncode, 0, "status of accel list (%s)" % r.stderr)
            equal([e["device"].rpartition("nsid=")[2] for e in json.loads(r.stdout)], [str(i) for i in ids[1023:]],
                  "accelerators that accel lists")
        finally:
            why = d.stop()
            d.cleanup()
            check(not why, "%s", why)


if __name__ == "__main__":
    sys.exit(suite.main())
