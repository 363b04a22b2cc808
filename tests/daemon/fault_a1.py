#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Faults that targets of this protocol have had, first part: those of the Linux kernel's target (its stable change
logs and CVE entries tell of them), each as an attack on acceld and with the answer that is right."""
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading

import lib
from lib import CONF, HOST, NQN, NS_ALL, NS_RAM, NS_RAM4K, Accel, Failure, Suite, check, conf, equal, status, \
    until
from nvmetcp import *

suite = Suite(seconds=30)
HOSTID = bytes(range(16))
ACCESS = re.compile(r"[^\x20-\x7e\n\t]")


def terminated(q, what, fes, raw, step=0):
    """Sends raw; a TermReq with this FES must come, and the end of the connection."""
    try:
        q.send(raw, step)
        while True:
            p = q.recv(5)
            check(p.type == R2T, "%s: PDU %#x for an answer", what, p.type)
    except Terminated as e:
        equal(e.fes, fes, "FES of " + what)
    except Closed:
        raise Failure("%s: closed without a TermReq" % what)
    q.sock.shutdown(socket.SHUT_WR)
    check(q.wait_closed(5), "%s: the connection stays open", what)
    q.close()


def stats(h):
    """Counters of log page C1h."""
    p = Host.must(h.admin.get_log(0xc1, 4096), "log page C1h").data
    names = ("uptime conns conns_now conns_refused conns_failed ctrls ctrls_now connects_refused admin read write "
             "other failed aborted now bytes_in bytes_out term_sent term_received digest_errors expiries mem_limit "
             "mem_used mem_waits held_now").split()
    check(p[:4] == b"ATGT", "log page C1h begins with %r", p[:4])
    return dict(zip(names, struct.unpack_from("<%dQ" % len(names), p, 8)))


# CVE-2026-89969: header digest and HLEN together overran the buffer of the header.
@suite.test("a PDU with digest whose PLEN is 4 GiB")
def overlong(d):
    for dgst in (0, 1, 3):
        for hlen, pdo, plen in ((72, 76, 0xffffffff), (255, 255, 0xffffffff), (72, 255, 0x80000000), (128, 132, 132)):
            with d.host(dgst=dgst) as h:
                e = sqe(WRITE, cid=1, nsid=NS_RAM, sgl=sgl_inline(512))
                terminated(h.q, "HLEN %d PDO %d PLEN %#x" % (hlen, pdo, plen), FES_HDR,
                           h.q.capsule(e, hlen=hlen, pdo=pdo, plen=plen) + bytes(4096))


# CVE-2026-89968: data was taken although no R2T was outstanding.
@suite.test("H2CData that no R2T asked for")
def unsolicited(d):
    for ttag in (0, 1, 0xffff):
        with d.host() as h:
            terminated(h.q, "no command", FES_SEQ, h.q.data_pdu(1, ttag, 0, bytes(512)))
        with d.host() as h:
            terminated(h.admin, "the admin queue", FES_SEQ, h.admin.data_pdu(1, ttag, 0, bytes(512)))
        with d.host() as h:                 # a read is in flight, and not asking for data
            a = Accel(h, NS_ALL)
            a.claim()
            a.submit_wait(a.slots[0], 1)
            terminated(h.q, "a read in flight", FES_SEQ, h.q.data_pdu(h.q.next_cid - 1, ttag, 0, bytes(512)))


def with_r2t(h, nbytes=4096, cid=9):
    h.q.auto_r2t = False
    h.q.submit(h.q.rw_entry(WRITE, NS_RAM, 0, nbytes // 512, sgl_transport(nbytes)), data=bytes(nbytes), cid=cid)
    while not h.q.cmds[cid].r2t:
        h.q.pump(time.monotonic() + 5)
    return h.q.cmds[cid].r2t[0]


# CVE-2026-23112: offset plus length went past the list of buffers.
@suite.test("data offsets beyond the transfer, and offsets that wrap")
def offsets(d):
    for first, off, n in ((0, 4096, 4096), (0, 0xfffffff0, 0x20), (4096, 0xfffffff0, 0x20), (2048, 0xfffff800, 2048),
                          (2048, 4092, 8), (0, 0x80000000, 512), (0, 1, 4095)):
        with d.host() as h:
            ttag, _, _ = with_r2t(h)
            if first:
                h.q.send(h.q.data_pdu(9, ttag, 0, bytes(first), last=first == 4096))
                if first == 4096:
                    status(h.q.wait(9), 0)
            terminated(h.q, "%d bytes at %#x" % (n, off), FES_RANGE, h.q.data_pdu(9, ttag, off, bytes(n)))


# "Fix a kernel panic when host sends an invalid H2C PDU length", "Fix the H2C expected PDU len calculation".
@suite.test("PLEN of H2CData against DATAL, and the right sum with both digests")
def h2c_lengths(d):
    for dgst in range(4):
        for n in (513, 0, 0xffffffff, 508, 516):
            with d.host(dgst=dgst) as h:
                ttag, _, _ = with_r2t(h, 512)
                terminated(h.q, "DATAL %#x" % n, FES_HDR, h.q.data_pdu(9, ttag, 0, bytes(512), length=n))
        with d.host(dgst=dgst) as h:
            ttag, _, _ = with_r2t(h, 512)
            h.q.send(h.q.data_pdu(9, ttag, 0, bytes(512)))
            status(h.q.wait(9), 0, "the right sum")


# "bound SGL data length before allocating command buffers".
@suite.test("128 writes whose SGL says 4 GiB")
def huge_sgl(d):
    before = d.rss()
    with d.host(sqsize=255) as h:
        for sgl in (sgl_transport(0xfffffffc), sgl_transport(0xffffffff), sgl_inline(0xfffffffc)):
            cids = [h.q.submit(h.q.rw_entry(WRITE, NS_RAM, 0, 65536, sgl)) for _ in range(128)]
            for c in cids:
                status(h.q.wait(c), (0x002, 0x00d, 0x00f, 0x016, 0x011), "the SGL", dnr=True)
    grown = d.rss() - before
    check(grown < 16384, "resident size grew by %d KiB", grown)


# CVE-2023-5178: an error in the handling of ICReq freed twice.
@suite.test("1000 ICReqs, most of them wrong, and the connection gone at once", 60)
def icreqs(d):
    kinds = [dict(pfv=1), dict(hpda=32), dict(dgst=0xff), dict(plen=127), dict(hlen=127), dict(plen=0xffffffff),
             dict(maxr2t=0xffffffff), dict(), dict(flags=0xff), dict(pdo=1)]
    for i in range(1000):
        c = Conn(d.addr)
        raw = icreq(**kinds[i % len(kinds)])
        try:
            c.send(raw if i % 3 else raw[:random.randrange(len(raw))])
            if i % 7 == 0:
                c.send(raw)
        except Closed:
            pass
        (c.reset if i % 2 else c.close)()
    until(lambda: d.fds() <= suite.fds0 + 3, 10, "the end of these connections")


# CVE-2026-64534, CVE-2026-64535: a digest error of a command that had failed already.
@suite.test("an invalid opcode and a wrong data digest give one completion")
def digest_and_opcode(d):
    for entry in (sqe(0x55, nsid=NS_RAM, sgl=sgl_inline(512)), sqe(WRITE, nsid=99, sgl=sgl_inline(512)),
                  sqe(WRITE, nsid=NS_RAM, sgl=sgl_inline(512), cdw11=0xffffffff),
                  sqe(WRITE, nsid=NS_RAM, sgl=sgl_inline(512, 8)), sqe(READ, nsid=NS_RAM, sgl=sgl_inline(512))):
        for xor in (0, 1):
            with d.host(dgst=2) as h:
                cid = h.q.submit(entry, data=bytes(512), inline=True, ddgst_xor=xor)
                cpl = h.q.wait(cid)
                check(cpl.sc != 0, "%r", cpl)
                check(h.q.quiet(0.1), "a second answer")
                status(h.q.run(sqe(FLUSH, nsid=NS_RAM)), 0)


# "fix regression in data_digest calculation", "incomplete data digest send", "data digest pointer calculation".
@suite.test("data digests of long reads through small socket buffers", 40)
def digests_of_reads(d):
    for kw in ({}, {"rcvbuf": 4096}):
        with d.host(dgst=3, **kw) as h:
            mdts = 4096 << h.admin.identify(1).data[77]
            check(1 << 20 <= mdts <= 1 << 24, "MDTS is %d bytes", mdts)
            data = random.randbytes(mdts)
            status(h.q.write(NS_RAM, 0, data), 0, "a write of MDTS")
            # Small buffers make a long read slow.
            for n in (512, 4096, 4608, 65536, 66048, *((mdts - 512, mdts) if not kw else (1 << 19,))):
                equal(h.q.read(NS_RAM, 0, n).data, data[:n], "%d bytes" % n)
            if not kw:
                # The namespace has room for it.
                check(mdts < 16 << 20, "MDTS is %d bytes", mdts)
                status(h.q.read(NS_RAM, 0, mdts + 512), 0x002, "a read of MDTS and a block", dnr=True)
                status(h.q.write(NS_RAM, 0, bytes(mdts + 512)), 0x002, "a write of MDTS and a block", dnr=True)


# CVE-2023-6121: NQNs without a terminating zero leaked memory into the log.
@suite.test("NQNs of 256 bytes without a zero byte; NQNs with control characters")
def nqn_unterminated(d):
    def connect(sub, host, want, ipo):
        q = Queue(d.addr)
        cpl = q.connect(sub, host, HOSTID)
        status(cpl, want, "NQNs %.20r %.20r" % (sub, host), dnr=True)
        if want == 0x182 and ipo:
            equal(cpl.dw0, 1 << 16 | ipo, "offset of the invalid parameter")
        q.close()

    at = d.mark()
    connect(b"A" * 256, HOST, 0x182, 256)
    connect(NQN, b"B" * 256, (0x182), 512)
    connect(b"A" * 224 + bytes(32), HOST, 0x182, 256)
    connect(NQN, b"nqn.2014-08.org:" + b"C" * 240, 0x182, 512)
    connect(NQN, b"", 0x182, 512)
    connect(b"", HOST, 0x182, 256)
    connect(b"nqn.2026-11.local\n\x1b[31mevil\x00junk", HOST, 0x182, 256)
    connect(b"nqn.2026-11.local:nobody", HOST, 0x182, 256)
    connect(NQN, b"nqn.2014-08.org:\n<0>forged line\x7f", (0x182, 0x184), 0)
    log = d.log(at)
    check(not ACCESS.search(log), "the log has control characters: %r", log)
    check("forged line" not in [x.strip() for x in log.splitlines()], "a line of the log was forged")
    for line in log.splitlines():
        check(len(line) < 1200, "a line of the log has %d characters", len(line))
        for m in re.finditer("[AB]{100,}(.{0,8})", line):
            check(re.match(r'("|\.\.\.|…|$)', m.group(1)), "behind a cut NQN: %r", m.group(1))


def try_conf(text):
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write(text)
        f.flush()
        r = subprocess.run([lib.BIN, "-t", "-c", f.name], capture_output=True, timeout=20)
        return r.returncode, (r.stdout + r.stderr).decode("latin-1"), f.name


# "nvmet: Don't overflow subsysnqn", "fixup buffer overrun in nvmet_subsys_attr_serial()", overflows by long names.
@suite.test("the longest names of a configuration work, one character more is refused with file and line")
def long_names(d):
    nqn = "nqn.2026-11.local.accel:" + "x" * 400
    for n, ok in ((223, True), (224, False), (256, False), (300, False)):
        rc, out, path = try_conf(conf(nqn=nqn[:n]))
        check((rc == 0) == ok, "an NQN of %d characters: status %d, %s", n, rc, out)
        check(ok or re.search(re.escape(path) + r":\d+: ", out), "no file and line in: %s", out)
        rc, out, _ = try_conf(conf(hosts=[nqn[:n]]))
        check((rc == 0) == ok, "a host's NQN of %d characters: status %d, %s", n, rc, out)
    for key, most in (("serial", 20), ("model", 40)):
        for n in (1, most, most + 1, 300):
            rc, out, path = try_conf(conf(namespaces="%s = %s\n" % (key, "S" * n) + CONF))
            check((rc == 0) == (n <= most), "%s of %d: status %d, %s", key, n, rc, out)
            check(n <= most or re.search(re.escape(path) + r":\d+: ", out), "no file and line in: %s", out)
        for c in "\x1f\x7f\x80\xff\t":
            rc, out, _ = try_conf(conf(namespaces="%s = A%sB\n" % (key, c) + CONF))
            check(rc != 0 or c == "\t" and "A" in out, "%s with byte %#x: accepted", key, ord(c))
    for nsid in ("0", "1025", "4294967295", "4294967296", "18446744073709551617", "-1", "x", ""):
        rc, out, path = try_conf(conf(namespaces="[namespace %s]\ntype = ram\nsize = 1M\n" % nsid))
        check(rc != 0 and re.search(re.escape(path) + r":\d+: ", out), "namespace %s: status %d, %s", nsid, rc, out)
    rc, out, _ = try_conf(conf(namespaces="[namespace 1024]\ntype = ram\nsize = 1M\n"))
    check(rc == 0, "namespace 1024: %s", out)


# "fix a possible leak when destroy a ctrl during qp establishment", "fix nvme tcp ida memory leak".
@suite.test("500 associations, each cut at another place, leave no controller", 60)
def cut_associations(d):
    for i in range(500):
        h = None
        try:
            if i % 5 == 0:
                h = d.host(queues=2)
            elif i % 5 == 1:
                h = d.host(enable=False)
            elif i % 5 == 2:
                q = Queue(d.addr)
                q.send(q.capsule(connect_cmd(0, 31, cid=1), connect_data(NQN, HOST, HOSTID))[:random.randrange(1200)])
                q.reset()
            elif i % 5 == 3:
                h = d.host(queues=0)
                q = Queue(d.addr)
                q.send(q.capsule(connect_cmd(1, 127, cid=1), connect_data(NQN, HOST, h.hostid, h.cntlid)))
                q.reset()
            else:
                q = Queue(d.addr)
                q.send(q.capsule(connect_cmd(0, 31, cid=1), connect_data(NQN, HOST, HOSTID)))
                q.reset()
        finally:
            if h:
                for q in [h.admin, *h.io]:
                    (q.reset if i % 2 else q.close)()
    with d.host() as h:
        until(lambda: stats(h)["ctrls_now"] <= 1, 10, "the end of all controllers")
        until(lambda: stats(h)["conns_now"] <= 2, 10, "the end of all connections")
        check(stats(h)["now"] <= 1, "%d commands in flight", stats(h)["now"])


# "fix false keep-alive timeout", "Disable keep-alive timer when kato is cleared to 0h", "uninitialized work for zero
# kato".
@suite.test("keep-alive: off, on, switched off, switched on, kept by commands", 40)
def keep_alive(d):
    t0 = time.monotonic()
    off = d.host(kato=0)
    on = d.host(kato=2000)
    switched_off = d.host(kato=2000)
    status(switched_off.admin.set_feature(0x0f, 0), 0, "KATO 0")
    switched_on = d.host(kato=0)
    status(switched_on.admin.set_feature(0x0f, 2000), 0, "KATO 2000")
    beating = d.host(kato=2000)
    working = d.host(kato=2000)
    page = working.admin.identify(1).data
    kas, tbkas = u16(page, 320), bool(u32(page, 96) & 1 << 6)
    check(0 < kas <= 50, "KAS is %d", kas)
    ended = {}
    watch = {"on": on, "switched on": switched_on}
    t1 = time.monotonic()
    while time.monotonic() < t1 + 9:
        status(beating.admin.keep_alive(), 0, "Keep Alive")
        if "working" not in ended:
            try:
                status(working.q.run(sqe(FLUSH, nsid=NS_RAM)), 0)
            except Closed:
                ended["working"] = time.monotonic() - t1
        for name, h in watch.items():
            if name not in ended and h.admin.wait_closed(0.01):
                ended[name] = time.monotonic() - t0
        time.sleep(0.2)
    for name, h in watch.items():
        check(name in ended, "KATO %s: a silent host stays for ever", name)
        check(1.9 < ended[name] < 8, "KATO %s: ended after %.1f s", name, ended[name])
        check(h.q.wait_closed(5), "KATO %s: its I/O queue stays", name)
    check(("working" in ended) == (not tbkas), "TBKAS %d: commands for signs of life: %s", tbkas, ended)
    for name, h in (("off", off), ("switched off", switched_off), ("beating", beating)):
        try:
            status(h.admin.keep_alive(), 0, name)
            status(h.q.run(sqe(FLUSH, nsid=NS_RAM)), 0, name)
        except Closed:
            raise Failure("keep-alive %s: the host was dropped" % name)
    equal(beating.admin.get_feature(0x0f).dw0, 2000, "KATO as read back")
    for h in (off, on, switched_off, switched_on, beating, working):
        h.close()


# "fix Identify Namespace / Active NSID list handling", "Identify-Active NSID List should reject invalid nsid".
@suite.test("odd NSIDs in Identify")
def odd_nsids(d):
    with d.host() as h:
        nn = u32(h.admin.identify(1).data, 516)
        check(4 <= nn <= 1024, "NN is %d", nn)
        for nsid in (0xfffffffe, 0xffffffff):
            status(h.admin.identify(2, nsid), 0x00b, "CNS 02h NSID %#x" % nsid, dnr=True)
        for nsid in (nn + 1, 0xfffffffe, 0):
            status(h.admin.identify(0, nsid), 0x00b, "CNS 00h NSID %#x" % nsid, dnr=True)
        if nn > 4:
            equal(status(h.admin.identify(0, nn), 0, "an inactive namespace").data, bytes(4096), "its page")
        status(h.admin.identify(0, 0xffffffff), (0, 0x00b), "CNS 00h of all namespaces")
        for start, want in ((0, [1, 2, 3, 4]), (1, [2, 3, 4]), (4, []), (nn, []), (3, [4])):
            page = status(h.admin.identify(2, start), 0, "CNS 02h from %d" % start).data
            got = [x for x in struct.unpack("<1024I", page) if x]
            equal(got, want, "active namespaces behind %d" % start)
        for op, nsid in ((READ, 0), (READ, 0xffffffff), (WRITE, nn + 1), (FLUSH, 0xfffffffe), (READ, 5)):
            sgl = sgl_transport(512) if op != FLUSH else None
            status(h.q.run(sqe(op, nsid=nsid, sgl=sgl)), 0x00b, "opcode %d NSID %#x" % (op, nsid), dnr=True)


# "always initialize cqe.result".
@suite.test("dword 0 of completions without a result is zero")
def dword0(d):
    with d.host(queues=2) as h:
        def look(cpl, what):
            equal(cpl.result, 0, "result of " + what)

        for _ in range(3):
            h.admin.set_feature(7, 0xfffefffe)
            h.admin.prop_get(CAP, True)
            look(h.admin.identify(1), "Identify")
            h.admin.get_feature(0x0b)
            look(h.admin.get_log(2, 512), "Get Log Page")
            look(h.admin.keep_alive(), "Keep Alive")
            look(h.admin.prop_set(CC, CC_ENABLE), "Property Set")
            look(h.admin.run(sqe(0x55)), "an invalid opcode")
            look(h.admin.identify(0, 77777), "a failed Identify")
            look(h.q.write(NS_RAM, 0, bytes(512)), "Write")
            look(h.q.read(NS_RAM, 0, 512), "Read")
            look(h.q.run(sqe(FLUSH, nsid=NS_RAM)), "Flush")
            look(h.q.run(sqe(0x99, nsid=NS_RAM)), "an invalid I/O opcode")
            look(h.q.read(99, 0, 512), "a read of no namespace")
            look(h.q.read(NS_RAM, 1 << 40, 512), "a read beyond the end")
            a = Accel(h, NS_ALL)
            look(a.read(0, 512), "a read of the quiet head")
            look(a.write(0, bytes(512)), "a refused write")


# CVE-2026-90206: a change of the queue count raced with Connect.
@suite.test("queue ids out of range, taken, of nobody; hosts that connect while the configuration changes")
def queue_ids(d):
    with d.host(queues=0) as h:
        for n in (0xffff, 0xffff0000, 0xffffffff):
            status(h.admin.set_feature(7, n), 0x002, "queues wanted: %#x" % n, dnr=True)
        granted = (status(h.admin.set_feature(7, 0xfffefffe), 0).dw0 & 0xffff) + 1
        check(1 <= granted <= 64, "%d queues are granted", granted)

        def refused(qid, sc, ipo, **kw):
            q = Queue(d.addr)
            kw = {"cntlid": h.cntlid, **kw}
            cpl = q.connect(kw.pop("sub", NQN), kw.pop("host", h.hostnqn), kw.pop("hostid", h.hostid), qid,
                            kw.pop("sqsize", 31), **kw)
            status(cpl, sc, "qid %d, %s" % (qid, kw), dnr=True)
            if ipo is not None and cpl.sc == 0x182:
                equal(cpl.dw0, ipo, "offset of the invalid parameter")
            q.close()

        for qid in (granted + 1, 65, 0x7fff, 0xffff):
            refused(qid, 0x182, 42)
        refused(1, 0x182, 1 << 16 | 16, cntlid=0xffff)
        refused(1, 0x182, 1 << 16 | 16, cntlid=h.cntlid ^ 0x1000)
        refused(1, (0x182, 0x184), None, host=HOST[:-1] + "9")
        refused(1, (0x182, 0x184), None, hostid=bytes(16))
        h.add_queue(granted)
        refused(granted, (0x182, 0x00c), 42)
        refused(1, 0x180, None, recfmt=1)
    seen, stop = [], threading.Event()

    def connector():
        while not stop.is_set():
            try:
                with d.host(queues=2) as h:
                    check(h.cntlid not in (0, 0xffff), "CNTLID %#x", h.cntlid)
            except Exception as e:
                seen.append(e)
                return

    threads = [threading.Thread(target=connector) for _ in range(8)]
    for t in threads:
        t.start()
    text = d.text
    try:
        for i in range(5):
            d.reload(conf("io_queues = %d" % (2 + i % 3 * 8)))
            time.sleep(0.1)
    finally:
        stop.set()
        for t in threads:
            t.join()
        d.reload(text)
    check(not seen, "a host was refused: %s", seen[:1])


def without(ns):
    return conf(namespaces=re.sub(r"\[namespace %d\]\n(.+\n)+" % ns, "", CONF))


def changed(h):
    return [x for x in struct.unpack("<1024I", Host.must(h.admin.get_log(4, 4096), "log page 04h").data) if x]


# "fix ns enable/disable possible hang", and blktests nvme/051, nvme/055 and nvme/058.
@suite.test("a namespace removed while 64 writes are in flight, and the event that tells", 40)
def remove_namespace(d):
    text = d.text
    for ns in (NS_RAM, NS_ALL):
        with d.host(sqsize=127) as h, d.host() as other:
            h.must(h.admin.set_feature(0x0b, 0x100), "Asynchronous Event Configuration")
            changed(h)
            aer = h.admin.submit(sqe(AER))
            h.q.auto_r2t = False
            a = None
            if ns == NS_ALL:
                a = Accel(h, ns)
                a.claim(4)
            cids = []
            for i in range(64):
                if a and i % 2:
                    cids.append(a.submit_wait(a.slots[i % 4], 1))
                    continue
                at = a.half(a.slots[i % 4], 1, 0) // 512 + 8 if a else i * 32
                cids.append(h.q.submit_write(ns, at, bytes(16384), inline=False))
            t0 = time.monotonic()
            reader = threading.Thread(target=d.reload, args=(without(ns),))
            reader.start()
            time.sleep(0.3)
            h.q.auto_r2t = True
            for cid in cids:
                if cid in h.q.cmds and h.q.cmds[cid].r2t:
                    h.q.answer(cid)
            for cid in cids:
                status(h.q.wait(cid, 5), (0, 0x00b, 0x007), "a command of namespace %d" % ns)
            reader.join(10)
            check(not reader.is_alive() and time.monotonic() - t0 < 8, "the reload hangs")
            cpl = h.admin.wait(aer, 5)
            equal(cpl.dw0, 0x040002, "the event")
            equal(changed(h), [ns], "changed namespaces")
            status(h.q.read(ns, 0, 512), 0x00b, "a read of the removed namespace", dnr=True)
            status(other.q.read(NS_RAM4K, 0, 4096, 4096), 0, "another host's read")
            aer = h.admin.submit(sqe(AER))
            d.reload(text)
            equal(h.admin.wait(aer, 5).dw0, 0x040002, "the event of the namespace's return")
            equal(changed(h), [ns], "changed namespaces")
            status(h.q.read(ns, 0, 512), 0, "a read of the namespace that is back")
        with d.host() as h:
            d.good()


@suite.test("a host that withholds the data of a removed namespace's writes stops nobody", 40)
def withheld(d):
    text = d.text
    with d.host() as h:
        h.q.auto_r2t = False
        for i in range(8):
            h.q.submit_write(NS_RAM, i * 32, bytes(16384), inline=False)
        time.sleep(0.1)
        at = time.monotonic()
        d.reload(without(NS_RAM))
        with d.host() as other:
            a = Accel(other, NS_ALL)
            a.claim()
            equal(a.crc(bytes(100)), crc32c(bytes(100)), "another host's job")
        d.reload(text)
        check(time.monotonic() - at < 10, "two reloads took %.1f s", time.monotonic() - at)
        with d.host() as other:
            status(other.q.read(NS_RAM, 0, 512), 0, "the new namespace of the same number")


# "fix connect failure on receiving partial ICResp PDU", seen from the other end.
@suite.test("ICReq and Connect one byte at a time")
def byte_by_byte(d):
    for dgst in range(4):
        with d.host(dgst=dgst, step=1, queues=0) as h:
            equal((h.admin.hdgst, h.admin.ddgst), (bool(dgst & 1), bool(dgst & 2)), "digests")
        q = Queue(d.addr, dgst, step=1)
        q.step = 1
        status(q.connect(NQN, HOST, HOSTID), 0)
        q.close()


# "handle zero MAXCMD without closing the connection", and what else makes hosts give up.
@suite.test("what hosts insist on in Identify Controller")
def identify_controller(d):
    with d.host() as h:
        p = h.admin.identify(1).data
        cap = h.admin.prop_get(CAP, True).result
        mqes = cap & 0xffff
        check(u16(p, 514) >= 16, "MAXCMD is %d", u16(p, 514))
        check(u16(p, 514) <= mqes + 1, "MAXCMD %d, MQES %d", u16(p, 514), mqes)
        check(u32(p, 1792) >= 4 + 4096 // 16, "IOCCSZ is %d", u32(p, 1792))
        equal(u32(p, 1796), 1, "IORCSZ")
        equal(u16(p, 1800), 0, "ICDOFF")
        check(u32(p, 536) & 3, "SGLS is %#x", u32(p, 536))
        check(u32(p, 536) & 1 << 20, "SGLS has no offsets: %#x", u32(p, 536))
        check(u16(p, 320), "KAS is 0")
        equal(p[111], 1, "CNTRLTYPE")
        check(u32(p, 80) >= 0x10300, "VER is %#x", u32(p, 80))
        equal(u32(p, 80), h.admin.prop_get(VS).dw0, "VER against the property VS")
        equal(u16(p, 78), h.cntlid, "CNTLID")
        equal(p[768:1024].rstrip(b"\0"), NQN.encode(), "SUBNQN")
        equal((p[512], p[513]), (0x66, 0x44), "SQES and CQES")
        check(u32(p, 516) >= 4, "NN is %d", u32(p, 516))
        equal(u16(p, 520) & 0x20, 0, "ONCS: reservations")
        check(cap >> 37 & 1 and cap >> 24 & 0xff, "CAP is %#x", cap)
        check(cap >> 16 & 1, "CAP.CQR is 0")
        for o, n in ((4, 20), (24, 40), (64, 8)):
            check(all(0x20 <= c <= 0x7e for c in p[o:o + n]), "characters at byte %d: %r", o, p[o:o + n])
        check(p[3072:3080] == b"ACCELCT\0", "no accelerator controller")
        equal(u32(p, 3080), 2, "accelerator namespaces")


# CVE-2026-90230, CVE-2026-72130: lengths of DH-HMAC-CHAP messages were trusted.
@suite.test("in-band authentication commands are refused, whatever their lengths")
def authentication(d):
    for fctype in (AUTH_SEND, AUTH_RECV):
        for length in (0, 1, 64, 4096, 0xffffffff):
            with d.host(queues=1) as h:
                for q in (h.admin, h.q):
                    e = struct.pack("<BBHB19x", FABRICS, 0x40, 0, fctype) + sgl_transport(length) + \
                        struct.pack("<BBBBI16x", 0, 1, 1, 0xe9, length)
                    status(q.run(e), (0x001, 0x002, 0x00f, 0x00d), "FCTYPE %d" % fctype, dnr=True)
    with d.host(queues=0) as h:
        for fctype in (2, 3, 7, 0x7f, 0xc0, 0xff):
            e = struct.pack("<BBHB19x", FABRICS, 0x40, 0, fctype) + sgl_transport(0) + bytes(24)
            status(h.admin.run(e), (0x001, 0x002), "FCTYPE %#x" % fctype, dnr=True)


@suite.test("Disconnect: only of I/O queues, and only if it is offered")
def disconnect(d):
    def entry(recfmt):
        return struct.pack("<BBHB35xH22x", FABRICS, 0x40, 0, DISCONNECT, recfmt)

    with d.host(queues=2) as h:
        offered = u16(h.admin.identify(1).data, 1804) & 1
        status(h.admin.run(entry(0)), 0x185 if offered else 0x001, "Disconnect of the admin queue", dnr=True)
        status(h.q.run(entry(1)), 0x180 if offered else 0x001, "Disconnect with RECFMT 1", dnr=True)
        status(h.q.run(entry(0)), 0 if offered else 0x001, "Disconnect")
        status(h.io[1].read(NS_RAM, 0, 512), 0, "the other queue")
        if offered:
            try:
                status(h.q.read(NS_RAM, 0, 512), 0x00c, "a command behind Disconnect")
            except Closed:
                pass
            h.q.close()
            until(lambda: again(d, h), 2, "the queue id")
        status(h.admin.keep_alive(), 0)


def again(d, h):
    try:
        h.add_queue(1)
        return True
    except WireError:
        return False


# CVE-2026-90228: Identify of a zoned namespace that is not there.
@suite.test("Identify of command sets and namespaces that are not there")
def identify_zns(d):
    with d.host() as h:
        for cns in (0x05, 0x06, 0x07, 0x0a):
            for csi in (1, 2, 3, 0xff):
                for nsid in (5, 0, 0xffffffff, NS_RAM, 99999):
                    cpl = h.admin.identify(cns, nsid, csi=csi)
                    if cpl.sc == 0:
                        # A data structure of a command set that is not supported: zero filled, or refused.
                        check(not any(cpl.data), "CNS %#x CSI %d NSID %#x: data came", cns, csi, nsid)
        status(h.admin.identify(5, 0, csi=2), (0x002, 0x00b), "CNS 05h CSI 2 NSID 0", dnr=True)
        status(h.admin.identify(5, 0xffffffff, csi=2), (0x002, 0x00b), "CNS 05h CSI 2 of all", dnr=True)
        status(h.admin.identify(5, 5, csi=2), (0x002, 0x00b), "CNS 05h CSI 2 of an inactive one", dnr=True)
        for cns in (*range(0x20, 0x40), 0x80, 0xc0, 0xff, 0x100, 0xffff):
            status(h.admin.identify(cns & 0xff, NS_RAM, cntid=cns >> 8), (0x002, 0x001, 0), "CNS %#x" % cns)


if __name__ == "__main__":
    sys.exit(suite.main())
