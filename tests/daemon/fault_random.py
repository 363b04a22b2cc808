#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Random commands, each of which must have exactly one answer; recorded sessions with bytes changed, left out or put
in; configurations with bytes changed. SEED: another run."""
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile

import lib
from lib import HOST, NQN, NS_ALL, NS_RAM, Accel, Failure, Suite, check, conf
from nvmetcp import *

suite = Suite(seconds=40)
SEED = int(os.environ.get("SEED", "1"))
HOSTID = bytes(range(16))


def number(rnd, bits):
    """Small ones, powers of two and their neighbours, any."""
    k = rnd.randrange(4)
    if k == 0:
        n = rnd.randrange(8)
    elif k == 1:
        n = (1 << rnd.randrange(bits)) + rnd.randrange(-1, 2)
    elif k == 2:
        n = (1 << bits) - 1 - rnd.randrange(4)
    else:
        n = rnd.getrandbits(bits)
    return n & ((1 << bits) - 1)


def random_command(rnd, admin):
    """An entry, the data that goes with it in the capsule, the data it may be asked for."""
    nbytes = rnd.choice((0, 0, 4, 16, 512, 512, 1024, 4096, 4096, 8192, 65536, number(rnd, 32)))
    if admin:
        op = rnd.choice((GET_LOG, IDENTIFY, IDENTIFY, ABORT, SET_FEATURES, GET_FEATURES, KEEP_ALIVE, FABRICS,
                         rnd.randrange(256)))
    else:
        op = rnd.choice((READ, READ, WRITE, WRITE, FLUSH, rnd.randrange(256)))
    kind = rnd.randrange(8)
    inline = b""
    if kind < 5:
        sgl = sgl_transport(nbytes, number(rnd, 64) if rnd.random() < 0.1 else 0)
    elif kind < 7:
        n = rnd.choice((512, 1024, 4096))
        inline = rnd.randbytes(n)
        sgl = sgl_inline(n if rnd.random() < 0.8 else number(rnd, 32), number(rnd, 64) if rnd.random() < 0.1 else 0)
    else:
        sgl = sgl_transport(nbytes, 0, rnd.randrange(256))
    dw = {"cdw%d" % i: number(rnd, 32) if rnd.random() < 0.5 else 0 for i in range(10, 16)}
    if op in (READ, WRITE) and not admin and rnd.random() < 0.6:
        dw = {"cdw10": rnd.randrange(40000), "cdw12": max(nbytes // 512 - 1, 0) & 0xffff}
    if op == GET_LOG and admin and rnd.random() < 0.6:
        dw = {"cdw10": rnd.choice((1, 2, 3, 4, 5, 0xc1)) | (max(nbytes // 4 - 1, 0) & 0xffff) << 16}
    if op == IDENTIFY and admin:
        dw["cdw10"] = rnd.randrange(16) | (number(rnd, 16) << 16 if rnd.random() < 0.2 else 0)
    e = sqe(op, nsid=rnd.choice((0, 1, 2, 3, 4, 5, 0xffffffff, number(rnd, 32))), sgl=sgl,
            flags=0x40 if rnd.random() < 0.9 else rnd.randrange(256), **dw)
    if op == FABRICS:
        e = e[:4] + bytes([rnd.choice((0, 4, 4, 1, 5, 6, 7, number(rnd, 8)))]) + e[5:]
        if e[4] == 8:
            e = e[:4] + b"\x07" + e[5:]           # not Disconnect: that ends the queue
        if e[4] == 0 and u32(e, 44) in (CC, NSSR):
            e = e[:44] + b"\0\0\0\0" + e[48:]      # neither a reset nor a shutdown
    return e, inline, nbytes


@suite.test("10,000 random commands have one answer each")
def commands(d):
    rnd = random.Random(SEED)
    done = 0
    while done < 10000:
        with d.host(dgst=rnd.randrange(4), sqsize=63) as h:
            try:
                for _ in range(50):
                    q, admin = (h.admin, True) if rnd.random() < 0.4 else (h.q, False)
                    cids = []
                    for _ in range(rnd.randrange(1, 16)):
                        e, inline, n = random_command(rnd, admin)
                        if admin and e[0] == AER:
                            continue
                        # A write may ask for what its SGL promises, a read bring as much: up to the largest transfer.
                        data = inline or bytes(min(n, 1 << 22))
                        to_host = e[0] & 3 == 2 or e[0] == FABRICS and e[4] & 3 == 2
                        cids.append(q.submit(e, data=data, want=n if to_host else 0, inline=bool(inline)))
                    for c in cids:
                        q.wait(c, 10)
                        done += 1
                    check(not q.done, "answers that are left: %s", list(q.done))
                check(h.admin.quiet(0.01) and h.q.quiet(0.01), "an answer to nothing")
            except Terminated as e:
                raise Failure("a well-formed command ended the connection: %s" % e)


def recorded(d, dgst):
    """The bytes of the queues of a session with something of everything."""
    logs = []
    with d.host(dgst=dgst, queues=0) as h:
        pass
    q = Queue(d.addr, dgst)
    q.log = logs
    q.connect(NQN, HOST, HOSTID)
    q.prop_get(CAP, True)
    q.prop_set(CC, CC_ENABLE)
    q.identify(1)
    q.identify(2)
    q.identify(0, NS_ALL)
    q.get_log(2, 512)
    q.set_feature(0x0b, 0x100)
    q.get_feature(7)
    q.keep_alive()
    q.close()
    raw = [icreq(dgst=dgst)] + [b for w, b in logs if w == ">"]
    with d.host(dgst=dgst, queues=1) as h:
        logs = h.q.log = []
        h.q.write(NS_RAM, 0, bytes(range(256)) * 2)
        h.q.write(NS_RAM, 8, bytes(8192), inline=False)
        h.q.read(NS_RAM, 0, 4096)
        a = Accel(h, NS_ALL)
        a.claim()
        a.crc(b"recorded" * 500)
        a.release()
        io = [b for w, b in logs if w == ">"]
    return raw, io


def mutate(rnd, raw):
    raw = bytearray(raw)
    for _ in range(rnd.choice((1, 1, 2, 4))):
        k, at = rnd.randrange(6), rnd.randrange(len(raw)) if raw else 0
        if not raw or k == 0:
            raw[at:at] = rnd.randbytes(rnd.choice((1, 4, 64)))
        elif k == 1:
            del raw[at:at + rnd.choice((1, 4, 64))]
        elif k == 2:
            raw[at] ^= 1 << rnd.randrange(8)
        elif k == 3:
            raw[at:at + 4] = struct.pack("<I", number(rnd, 32))
        elif k == 4:
            raw[at] = rnd.randrange(256)
        else:
            raw[at:at] = raw[at:at + 72]
    return bytes(raw)


def play(c, parts, rnd):
    """Sends what may be nonsense, reads what comes without looking at it."""
    try:
        for part in parts:
            c.sock.settimeout(2)
            c.sock.sendall(part)
            c.sock.settimeout(0.002)
            try:
                if not c.sock.recv(1 << 16):
                    return
            except socket.timeout:
                pass
    except OSError:
        pass


@suite.test("1500 recorded sessions with changes", 60)
def sessions(d):
    rnd = random.Random(SEED)
    tapes = [recorded(d, dgst) for dgst in (0, 3)]
    for i in range(1500):
        dgst = i % 2 * 3
        admin, io = tapes[i % 2]
        if i % 4 < 2:
            c = Conn(d.addr)
            parts = list(admin)
            at = rnd.randrange(len(parts))
            parts[at] = mutate(rnd, parts[at])
            play(c, parts, rnd)
            c.close()
        else:
            with d.host(dgst=dgst, queues=1) as h:
                parts = list(io)
                at = rnd.randrange(len(parts))
                parts[at] = mutate(rnd, parts[at])
                play(h.q, parts, rnd)
        if i % 100 == 0:
            d.good()


@suite.test("150 configurations with changes: taken or refused with file and line, nothing else", 55)
def configurations(d):
    rnd = random.Random(SEED)
    text = conf("memory = 64M\nmax_conns = 100\nheader_digest = yes\n", hosts=[HOST, HOST[:-1] + "2"],
                more="[subsystem nqn.2026-11.local.accel:more]\nserial = X1\nmodel = y z\nallow_any_host = yes\n"
                     "[namespace 9]\ntype = digest\nname = a b\nuuid = 6f0d1b5e-3a0c-4b39-9d8e-2f1f6f2b9c11\n").encode()
    taken = 0
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "c")
        for i in range(150):
            raw = bytearray(text)
            for _ in range(rnd.randrange(1, 4)):
                k, at = rnd.randrange(5), rnd.randrange(len(raw))
                if k == 0:
                    raw[at] = rnd.randrange(256)
                elif k == 1:
                    del raw[at:at + rnd.choice((1, 3, 40))]
                elif k == 2:
                    raw[at:at] = rnd.choice((b"\n", b"=", b"[", b"]", b"#", b"9" * 30, b"\0", b"A" * 5000, b" "))
                elif k == 3:
                    raw[at:at] = raw[rnd.randrange(len(raw)):][:rnd.choice((5, 50))]
                else:
                    raw = raw[:at] or bytearray(b"\n")
            with open(path, "wb") as f:
                f.write(raw)
            r = subprocess.run([lib.BIN, "-t", "-c", path], capture_output=True, timeout=20, env=d.env)
            check(not lib.REPORT.search(r.stderr), "%r: %s", bytes(raw), r.stderr[-3000:].decode("latin-1"))
            check(r.returncode in (0, 2), "status %d for %r: %s", r.returncode, bytes(raw), r.stderr)
            if r.returncode:
                check(path.encode() in r.stderr, "no file in: %r", r.stderr)
            taken += r.returncode == 0
    check(0 < taken < 150, "%d of 150 were taken", taken)


if __name__ == "__main__":
    sys.exit(suite.main())
