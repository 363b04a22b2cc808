#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every field of every PDU of a host wrong, in every state of a connection, by all combinations of digests, at once
and byte by byte. The answer is a C2HTermReq that names the fault and the end of the connection, or where the
specification has one, a status; nothing else is touched: a witness goes on working on a connection of its own."""
import random
import socket
import sys

from lib import HOST, NQN, NS_RAM, Failure, Suite, check, equal, status
from nvmetcp import *

suite = Suite(seconds=50)
HOSTID = bytes(range(16))
NBYTES = 16384
MODES = [(0, 0), (3, 0), (0, 1), (3, 1), (1, 0), (2, 0)]      # digests, bytes a segment (0: all)
SGL_ERRORS = (0x00d, 0x00e, 0x00f, 0x011, 0x016, 0x002, 0x004)
STATES = ["before ICReq", "after ICResp", "after Connect", "with an R2T outstanding", "amid data"]
START, READY, CONNECTED, ASKED, AMID = range(5)


class Peer:
    """A connection brought to a state, its association, and what is outstanding."""

    def __init__(self, d, state, dgst):
        self.state, self.dgst, self.assoc, self.cid, self.ttag, self.at, self.end = state, dgst, None, 5, 0, 0, 0
        if state in (START, READY):
            self.c = Conn(d.addr, timeout=5)
            if state == READY:
                self.c.initialize(dgst)
                equal((self.c.hdgst, self.c.ddgst), (bool(dgst & 1), bool(dgst & 2)), "digests granted")
            return
        self.assoc = d.host(dgst=dgst)
        self.c = self.assoc.q
        if state in (ASKED, AMID):
            self.ask()

    def ask(self):
        q = self.c
        q.auto_r2t = False
        data = random.randbytes(NBYTES)
        self.data = data
        q.submit(q.rw_entry(WRITE, NS_RAM, 0, NBYTES // 512, sgl_transport(NBYTES)), data=data, cid=self.cid)
        while not q.cmds[self.cid].r2t:
            q.pump(time.monotonic() + 5)
        self.ttag, self.at, n = q.cmds[self.cid].r2t[0]
        self.end = self.at + n
        check(n >= 4096, "an R2T for %d bytes", n)
        if self.state == AMID:
            q.send(q.data_pdu(self.cid, self.ttag, self.at, data[self.at:self.at + 2048], last=False))
            self.at += 2048

    # What would be right next, with anything replaced.

    def icreq(self, **kw):
        return icreq(dgst=self.dgst, **kw)

    def cmd(self, data=None, entry=None, **kw):
        data = bytes(512) if data is None else data
        if entry is None:
            entry = sqe(WRITE, cid=77, nsid=NS_RAM, sgl=sgl_inline(len(data)), cdw12=len(data) // 512 - 1)
        return self.c.capsule(entry, data, **kw)

    def connect(self, **kw):
        return self.c.capsule(connect_cmd(0, 31, cid=77), connect_data(NQN, HOST, HOSTID), **kw)

    def flush(self, **kw):
        return self.c.capsule(sqe(FLUSH, cid=77, nsid=NS_RAM), **kw)

    def data_pdu(self, n=1024, cid=None, ttag=None, off=None, last=False, **kw):
        data = self.data[self.at:self.at + n] if self.end else bytes(n)
        return self.c.data_pdu(self.cid if cid is None else cid, self.ttag if ttag is None else ttag,
                               self.at if off is None else off, data, last=last, **kw)

    def close(self):
        self.c.close()
        if self.assoc:
            self.assoc.close()


def outcome(c, raw, step):
    """("term", fes, fei), ("closed",), ("status", cpl) or ("ic",): the first thing that comes."""
    try:
        c.send(raw, step)
    except Closed:
        pass
    try:
        while True:
            p = c.recv(5)
            if p.type == RSP:
                return ("status", Cpl(p.head[8:24]))
            if p.type == ICRESP:
                return ("ic",)
            if p.type == R2T:
                continue
            raise WireError("PDU %#x for an answer" % p.type)
    except Terminated as e:
        return ("term", e.fes, e.fei, e.header)
    except Closed:
        return ("closed",)
    except TimeoutError:
        return ("nothing",)


def judge(p, raw, got, want, what):
    """want: {"term": {fes: fei or None}, "status": codes, "ic": True, "closed": True, "nothing": True}"""
    if got[0] == "term" and got[1] in want.get("term", {}):
        fei = want["term"][got[1]]
        feis = fei if isinstance(fei, tuple) else (fei,)
        check(fei is None or got[2] in feis, "%s: FES %d with FEI %#x, not %s", what, got[1], got[2], fei)
        n = len(got[3])
        check(n > 0 and raw[:min(n, 8)] == got[3][:8], "%s: the TermReq shows %s, not %s", what, got[3][:16].hex(),
              raw[:16].hex())
        try:
            p.c.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        check(p.c.wait_closed(5), "%s: the connection stays open behind the TermReq", what)
    elif got[0] == "status" and got[1].sc in want.get("status", ()):
        check(got[1].dnr or got[1].sc in (0, 0x22), "%s: %r without DNR", what, got[1])
    elif not (got[0] in ("closed", "ic", "nothing") and want.get(got[0])):
        raise Failure("%s: %s, expected %s" % (what, got[:3], want))


def matrix(name, states, build, want, modes=MODES):
    """build(peer): the bytes that are wrong. One test a state."""
    for state in states:
        def run(d, state=state):
            with d.host() as witness:
                for dgst, step in modes:
                    what = "digests %d, %s" % (dgst, "byte by byte" if step else "at once")
                    p = Peer(d, state, dgst)
                    try:
                        raw = build(p)
                        if raw is None:
                            continue
                        w = want(p) if callable(want) else want
                        judge(p, raw, outcome(p.c, raw, step), w, what)
                    finally:
                        p.close()
                    status(witness.q.run(sqe(FLUSH, nsid=NS_RAM)), 0, "the witness, " + what)
        suite.test("%s, %s" % (name, STATES[state]))(run)


def term(*fes, fei=None, **more):
    return {"term": {f: fei for f in fes}, **more}


HDR_OFFSET = {"type": 0, "flags": 1, "hlen": 2, "pdo": 3, "plen": 4}

# ---- the type ----

for t in (1, 3, 5, 7, 9):
    matrix("PDU type %d, which is a controller's" % t, [START, READY, CONNECTED, ASKED, AMID],
           lambda p, t=t: pdu(t, bytes(HLEN[t] - 8), hdgst=t > 3 and p.c.hdgst), term(FES_HDR, FES_SEQ))
for t in (8, 0x0a, 0x0b, 0x10, 0x80, 0xff):
    matrix("PDU type %#x, which is nobody's" % t, [START, READY, CONNECTED, ASKED, AMID],
           lambda p, t=t: pdu(t, bytes(64), hdgst=p.c.hdgst), term(FES_HDR, fei=0))
matrix("a second ICReq", [READY, CONNECTED, ASKED, AMID], lambda p: p.icreq(), term(FES_SEQ))
matrix("CapsuleCmd too early", [START], lambda p: p.connect(), term(FES_SEQ))
matrix("H2CData too early", [START, READY], lambda p: p.data_pdu(512), term(FES_SEQ, FES_HDR))
matrix("H2CData that nobody asked for", [CONNECTED], lambda p: p.data_pdu(512, ttag=0), term(FES_SEQ, FES_HDR))
matrix("a command before Connect", [READY], lambda p: p.flush(), {"status": (0x00c,)})
matrix("a write before Connect", [READY], lambda p: p.cmd(), {"status": (0x00c,)})
matrix("Property Get before Connect", [READY], lambda p: p.c.capsule(prop_get(CAP, True, cid=9)), {"status": (0x00c,)})
matrix("Identify before Connect", [READY],
       lambda p: p.c.capsule(sqe(IDENTIFY, cid=9, sgl=sgl_transport(4096), cdw10=1)), {"status": (0x00c,)})

# ---- ICReq ----

for n in (0, 1, 24, 127, 129, 255):
    matrix("ICReq with HLEN %d" % n, [START], lambda p, n=n: p.icreq(hlen=n), term(FES_HDR, fei=2))
for n in (0, 7, 8, 127, 129, 0x80000000, 0xffffffff):
    matrix("ICReq with PLEN %#x" % n, [START], lambda p, n=n: p.icreq(plen=n), term(FES_HDR, fei=4))
for n in (1, 2, 0x100, 0xffff):
    matrix("ICReq with PFV %#x" % n, [START], lambda p, n=n: p.icreq(pfv=n), term(FES_HDR, FES_PARAM, fei=8))
for n in (32, 33, 127, 255):
    matrix("ICReq with HPDA %d" % n, [START], lambda p, n=n: p.icreq(hpda=n), term(FES_HDR, FES_PARAM, fei=10))
for n in (4, 0x80, 0xff):
    matrix("ICReq with DGST %#x" % n, [START], lambda p, n=n: icreq(dgst=n),
           term(FES_HDR, FES_PARAM, fei=11, ic=True))
for n in (1, 2, 4, 8, 0x10, 0x80, 0xff):
    matrix("ICReq with flags %#x" % n, [START], lambda p, n=n: p.icreq(flags=n), term(FES_HDR, fei=1, ic=True))
matrix("ICReq with PDO 128", [START], lambda p: p.icreq(pdo=128), term(FES_HDR, fei=3, ic=True))
matrix("ICReq with reserved bytes set", [START], lambda p: p.icreq(rsvd=b"\xff" * 112), term(FES_HDR, ic=True))
for n in (0, 1, 15, 0xffff, 0xffffffff):
    matrix("ICReq with MAXR2T %#x" % n, [START], lambda p, n=n: p.icreq(maxr2t=n), {"ic": True})
for n in (0, 1, 2, 3, 30, 31):
    matrix("ICReq with HPDA %d" % n, [START], lambda p, n=n: p.icreq(hpda=n), {"ic": True})

# ---- the common header of CapsuleCmd and H2CData ----

LATE = [CONNECTED, ASKED, AMID]
for n in (0, 1, 8, 24, 71, 73, 76, 128, 255):
    matrix("CapsuleCmd with HLEN %d" % n, LATE, lambda p, n=n: p.cmd(hlen=n), term(FES_HDR, fei=2))
    matrix("Connect capsule with HLEN %d" % n, [READY], lambda p, n=n: p.connect(hlen=n), term(FES_HDR, fei=2))
for n in (0, 1, 8, 23, 25, 28, 72, 255):
    matrix("H2CData with HLEN %d" % n, [ASKED, AMID], lambda p, n=n: p.data_pdu(hlen=n), term(FES_HDR, fei=2))
for n in (0, 1, 7, 8, 71):
    matrix("CapsuleCmd with PLEN %d" % n, [READY, CONNECTED, ASKED, AMID], lambda p, n=n: p.flush(plen=n),
           term(FES_HDR, fei=4))
for n in (0x00800000, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff):
    matrix("CapsuleCmd with PLEN %#x" % n, [READY, CONNECTED, ASKED, AMID], lambda p, n=n: p.cmd(plen=n),
           term(FES_HDR, FES_LIMIT, FES_RANGE, fei=4))
    matrix("H2CData with PLEN %#x" % n, [ASKED, AMID], lambda p, n=n: p.data_pdu(plen=n),
           {"term": {FES_HDR: (4, 16), FES_LIMIT: None}})
for n in (0, 7, 8, 23, 24, 28):
    matrix("H2CData with PLEN %d" % n, [ASKED, AMID], lambda p, n=n: p.data_pdu(plen=n), term(FES_HDR, fei=(3, 4, 16)))
for n in (-4, -1, 1, 4):
    matrix("H2CData with PLEN %+d" % n, [ASKED, AMID],
           lambda p, n=n: p.data_pdu(plen=len(p.data_pdu()) + n) + bytes(max(n, 0)), term(FES_HDR, fei=(4, 16)))
for n in (1, 71, 73, 74, 75, 253, 255):
    matrix("CapsuleCmd with PDO %d" % n, [READY, CONNECTED, ASKED, AMID], lambda p, n=n: p.cmd(pdo=n),
           term(FES_HDR, fei=3, status=SGL_ERRORS if n == 253 else ()))
    matrix("H2CData with PDO %d" % n, [ASKED, AMID], lambda p, n=n: p.data_pdu(pdo=n), term(FES_HDR, fei=(3, 4, 16)))
matrix("CapsuleCmd with data and PDO 0", [CONNECTED, ASKED, AMID], lambda p: p.cmd(pdo=0),
       term(FES_HDR, fei=(1, 3, 4)))
matrix("H2CData with data and PDO 0", [ASKED, AMID], lambda p: p.data_pdu(pdo=0), term(FES_HDR, fei=(3, 4, 16)))
matrix("the header digest's flag the wrong way", [READY, CONNECTED, ASKED, AMID],
       lambda p: p.c.capsule(sqe(FLUSH, cid=77, nsid=NS_RAM), hdgst=not p.c.hdgst), term(FES_HDR, fei=(1, 4)))
matrix("CapsuleCmd with the data digest's flag the wrong way", LATE,
       lambda p: p.cmd(ddgst=not p.c.ddgst), term(FES_HDR, fei=1))
matrix("H2CData with the data digest's flag the wrong way", [ASKED, AMID],
       lambda p: p.data_pdu(ddgst=not p.c.ddgst), term(FES_HDR, fei=1))
for n in (4, 8, 0x10, 0x20, 0x40, 0x80):
    # Reserved bits: a receiver may look at them or not, but it must not take the PDU for something else.
    matrix("CapsuleCmd with flag %#x" % n, LATE, lambda p, n=n: p.cmd(flags=n), term(FES_HDR, fei=1, status=(0,)))
for n in (8, 0x10, 0x20, 0x40, 0x80):
    matrix("H2CData with flag %#x" % n, [ASKED, AMID],
           lambda p, n=n: p.data_pdu(p.end - p.at, last=True, flags=n), term(FES_HDR, fei=1, status=(0,)))

# ---- digests ----

for x in (1, 0x80000000, 0xffffffff):
    matrix("header digest of a capsule off by %#x" % x, [READY, CONNECTED, ASKED, AMID],
           lambda p, x=x: p.flush(hdgst_xor=x) if p.c.hdgst else None, term(FES_HDGST))
    matrix("header digest of H2CData off by %#x" % x, [ASKED, AMID],
           lambda p, x=x: p.data_pdu(hdgst_xor=x) if p.c.hdgst else None, term(FES_HDGST))
    matrix("data digest of a capsule off by %#x" % x, LATE,
           lambda p, x=x: p.cmd(ddgst_xor=x) if p.c.ddgst else None, {"status": (0x022,)})
    matrix("data digest of the last H2CData off by %#x" % x, [ASKED, AMID],
           lambda p, x=x: p.data_pdu(p.end - p.at, last=True, ddgst_xor=x) if p.c.ddgst else None,
           {"status": (0x022,)})
    matrix("data digest of the first of two H2CData off by %#x" % x, [ASKED, AMID],
           lambda p, x=x: p.data_pdu(1024, ddgst_xor=x) +
           p.c.data_pdu(p.cid, p.ttag, p.at + 1024, p.data[p.at + 1024:p.end]) if p.c.ddgst else None,
           {"status": (0x022,)})

# ---- the fields of H2CData ----

for n in (0, 4, 6, 77, 0xffff):
    matrix("H2CData for command %d" % n, [ASKED, AMID], lambda p, n=n: p.data_pdu(cid=n),
           term(FES_HDR, FES_SEQ, fei=None))
for x in (1, 0x8000, 0xffff):
    matrix("H2CData with its tag off by %#x" % x, [ASKED, AMID], lambda p, x=x: p.data_pdu(ttag=p.ttag ^ x),
           term(FES_HDR, FES_SEQ, fei=None))
for n in (-1024, -1, 1, 4, 1024, NBYTES, 0x7fffffff, 0xfffffc00):
    matrix("H2CData with DATAO %+d" % n, [ASKED, AMID], lambda p, n=n: p.data_pdu(off=(p.at + n) & 0xffffffff),
           term(FES_RANGE, FES_HDR, FES_SEQ, fei=None))
matrix("H2CData with DATAO FFFFFFF0h and 20h bytes", [ASKED, AMID], lambda p: p.data_pdu(0x20, off=0xfffffff0),
       term(FES_RANGE, FES_HDR, fei=None))
for n in (0, 513, 1023, 1025, 0x7fffffff, 0xffffffff):
    matrix("H2CData of 1024 bytes with DATAL %#x" % n, [ASKED, AMID], lambda p, n=n: p.data_pdu(length=n),
           term(FES_HDR, FES_RANGE, FES_LIMIT, fei=None))
matrix("H2CData without data", [ASKED, AMID], lambda p: p.data_pdu(0), term(FES_HDR, FES_RANGE, fei=None))
matrix("H2CData beyond the R2T", [ASKED, AMID],
       lambda p: p.c.data_pdu(p.cid, p.ttag, p.at, bytes(p.end - p.at + 4)),
       term(FES_RANGE, FES_HDR, FES_LIMIT, fei=None))
matrix("H2CData of more than MAXH2CDATA", [ASKED, AMID],
       lambda p: p.c.data_pdu(p.cid, p.ttag, p.at, bytes(p.c.maxh2c + 4)),
       term(FES_LIMIT, FES_RANGE, FES_HDR, fei=None))
matrix("LAST before the last data", [ASKED, AMID], lambda p: p.data_pdu(1024, last=True),
       term(FES_HDR, FES_SEQ, FES_RANGE, fei=None))
matrix("the last data without LAST", [ASKED, AMID], lambda p: p.data_pdu(p.end - p.at, last=False),
       term(FES_HDR, FES_SEQ, fei=None))
matrix("reserved bytes of H2CData set", [ASKED, AMID],
       lambda p: p.data_pdu(p.end - p.at, last=True, rsvd=0xffffffff), term(FES_HDR, fei=20, status=(0,)))
matrix("H2CData once more behind the last", [ASKED, AMID],
       lambda p: p.data_pdu(p.end - p.at, last=True) + p.c.data_pdu(p.cid, p.ttag, p.at, p.data[p.at:p.end]),
       term(FES_HDR, FES_SEQ, FES_RANGE, fei=None, status=(0,)))


# ---- the SGL and the data of a capsule ----

def write_with(sgl, data=bytes(512), nlb=1, **kw):
    return lambda p: p.c.capsule(sqe(WRITE, cid=77, nsid=NS_RAM, sgl=sgl, cdw12=nlb - 1, **kw), data)


for n in (0, 1, 508, 511, 513, 516, 4096, 0xffffffff):
    matrix("512 bytes in a capsule whose SGL says %#x" % n, LATE, write_with(sgl_inline(n)),
           term(FES_HDR, FES_RANGE, status=SGL_ERRORS))
for n in (1, 4, 16, 511, 512, 1 << 32, 0xffffffffffffff00):
    matrix("in-capsule data at offset %#x" % n, LATE, write_with(sgl_inline(512, n)), {"status": SGL_ERRORS})
for t in (0x00, 0x02, 0x0a, 0x0f, 0x10, 0x20, 0x2a, 0x30, 0x40, 0x50, 0x51, 0x5f, 0x60, 0xa0, 0xf0, 0xff):
    matrix("SGL type %#x with data in the capsule" % t, LATE, write_with(sgl_inline(512, 0, t)), {"status": SGL_ERRORS})
    matrix("SGL type %#x without data" % t, LATE, write_with(sgl_transport(512, 0, t), b""), {"status": SGL_ERRORS})
matrix("a transport SGL with data in the capsule", LATE, write_with(sgl_transport(512)),
       term(FES_HDR, FES_RANGE, status=SGL_ERRORS))
matrix("an SGL of in-capsule data without data", LATE, write_with(sgl_inline(512), b""),
       term(FES_HDR, status=SGL_ERRORS))
for n in (0, 511, 513, 1024, 1 << 20, 0x7ffffe00, 0xfffffe00, 0xffffffff):
    matrix("a write of 512 bytes with a transport SGL of %#x" % n, LATE, write_with(sgl_transport(n), b""),
           {"status": SGL_ERRORS})
for f in (0x00, 0x80, 0xc0):
    matrix("PSDT %d" % (f >> 6), LATE, write_with(sgl_inline(512), flags=f), {"status": (0x002, 0x011)})
for f in (1, 2, 3):
    matrix("FUSE %d" % f, LATE, write_with(sgl_inline(512), flags=0x40 | f), {"status": (0x002,)})
matrix("data in the capsule of a read", LATE,
       lambda p: p.c.capsule(sqe(READ, cid=77, nsid=NS_RAM, sgl=sgl_inline(512)), bytes(512)), {"status": SGL_ERRORS})
matrix("data in the capsule of a flush", LATE,
       lambda p: p.c.capsule(sqe(FLUSH, cid=77, nsid=NS_RAM, sgl=sgl_inline(512)), bytes(512)),
       {"status": SGL_ERRORS + (0,)})
for op in (0x03, 0x04, 0x05, 0x08, 0x09, 0x0c, 0x0d, 0x0e, 0x11, 0x15, 0x19, 0x7f, 0x80, 0x83, 0xff):
    matrix("I/O opcode %#x" % op, LATE, lambda p, op=op: p.c.capsule(sqe(op, cid=77, nsid=NS_RAM)),
           {"status": (0x001, 0x002) if op == 0x7f else (0x001,)})
matrix("a capsule of more data than IOCCSZ", LATE,
       lambda p: p.c.capsule(sqe(WRITE, cid=77, nsid=NS_RAM, sgl=sgl_inline(1 << 18), cdw12=511), bytes(1 << 18)),
       term(FES_HDR, FES_LIMIT, FES_RANGE, fei=None, status=SGL_ERRORS), modes=[(0, 0), (3, 0)])
matrix("the id of a command in flight", [ASKED, AMID],
       lambda p: p.c.capsule(sqe(FLUSH, cid=p.cid, nsid=NS_RAM)), term(FES_HDR, FES_SEQ, fei=None, status=(0x003,)))

# ---- H2CTermReq ----

for fes in (0, 1, 2, 3, 4, 5, 6, 7, 0x100, 0xffff):
    matrix("H2CTermReq with FES %#x" % fes, range(5), lambda p, f=fes: h2c_term(f, 8, bytes(24)), {"closed": True},
           modes=[(0, 0), (3, 1)])
for n in (0, 1, 23, 25, 72, 255):
    matrix("H2CTermReq with HLEN %d" % n, [START, READY, AMID], lambda p, n=n: h2c_term(1, hlen=n),
           {"closed": True, **term(FES_HDR)}, modes=[(0, 0), (3, 1)])
for n in (0, 7, 23, 0x7fffffff, 0xffffffff):
    matrix("H2CTermReq with PLEN %#x" % n, [START, READY, AMID], lambda p, n=n: h2c_term(1, plen=n),
           {"closed": True, **term(FES_HDR)}, modes=[(0, 0), (3, 1)])


# ---- streams that end in the middle ----

def cut(name, state, build):
    @suite.test("%s cut at every byte of its header, %s" % (name, STATES[state]))
    def run(d):
        for dgst in (0, 3):
            p = Peer(d, state, dgst)
            raw = build(p)
            p.close()
            for n in sorted({*range(0, 80, 7), 8, 24, 71, 72, 73, 75, 76, 77, len(raw) // 2, len(raw) - 1}):
                if n >= len(raw):
                    continue
                p = Peer(d, state, dgst)
                p.c.send(build(p)[:n])
                if n % 2:
                    p.c.reset()
                else:
                    p.c.sock.shutdown(socket.SHUT_WR)
                    check(p.c.wait_closed(5), "%d bytes and the end of the stream: it stays open", n)
                p.close()


cut("ICReq", START, lambda p: p.icreq())
cut("Connect", READY, lambda p: p.connect())
cut("CapsuleCmd with data", CONNECTED, lambda p: p.cmd())
cut("H2CData", ASKED, lambda p: p.data_pdu(4096))
cut("H2CData", AMID, lambda p: p.data_pdu(4096))


@suite.test("what is right works in every mode of arrival")
def right(d):
    for dgst, step in MODES + [(3, 7), (0, 73)]:
        for hpda in (0, 1, 31):
            with d.host(dgst=dgst, hpda=hpda, step=step, queues=1) as h:
                h.q.step = step
                data = random.randbytes(NBYTES)
                status(h.q.write(NS_RAM, 64, data, inline=False), 0, "write by R2T")
                equal(h.q.read(NS_RAM, 64, NBYTES).data, data, "data")
                status(h.q.write(NS_RAM, 128, data[:4096]), 0, "write in the capsule")
                equal(h.q.read(NS_RAM, 128, 4096).data, data[:4096], "data")


@suite.test("random bytes behind every state", 55)
def noise(d):
    rnd = random.Random(7)
    for i in range(300):
        p = Peer(d, i % 5, rnd.randrange(4))
        try:
            p.c.send(rnd.randbytes(rnd.choice((8, 24, 72, 128, 600))))
            p.c.sock.shutdown(socket.SHUT_WR)
            check(p.c.wait_closed(5), "it stays open")
        except (Closed, OSError):
            pass
        p.close()


if __name__ == "__main__":
    sys.exit(suite.main())
