#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The daemon as a process and its connections: options, signals, the service manager, listeners; capsules in one
segment, data that nobody asked for, peers that keep memory without moving."""
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from fault_a1 import stats
from lib import BIN, HOST, NQN, NS_ALL, NS_RAM, Accel, Daemon, Suite, check, conf, crc32c, equal, status, until
from nvmetcp import FLUSH, KEEP_ALIVE, READ, WRITE, Closed, Command, sgl_inline, sgl_transport, sqe, sqe_cid

suite = Suite()


def run(*args, env=None):
    p = subprocess.run([BIN, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, text=True,
                       env={**os.environ, **(env or {})})
    return p.returncode, p.stdout, p.stderr


@suite.test("options: help, version, what is wrong with them, a configuration that is only looked at", own=True)
def options():
    for opt in ("-h", "--help"):
        rc, out, err = run(opt)
        equal((rc, err), (0, ""), "status and errors of %s" % opt)
        for word in ("--config", "--listen", "--test-config", "/etc/acceld.conf", "SIGHUP", "Exit status"):
            check(word in out, "%s is not in the help", word)
    for opt in ("-V", "--version"):
        rc, out, err = run(opt)
        check(rc == 0 and re.fullmatch(r"acceld \d+\.\d+\.\d+\n", out), "version: %r", out)
    for args in (["--nonsense"], ["-c"], ["word"], ["-l", "nowhere"], ["-l", "127.0.0.1:65536"], ["-l", "[::1:4420"],
                 ["-l", "127.0.0.1:0", "-l", "127.0.0.1:0"], ["-c", "/nonexistent/acceld.conf"]):
        rc, out, err = run(*args)
        check(rc == 2 and err and not out, "%s: status %d, %r", args, rc, err)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write(conf())
        f.flush()
        rc, out, err = run("-t", "-c", f.name)
        check(rc == 0 and "good" in out, "a good configuration: %d %r %r", rc, out, err)
        f.write("nonsense = 1\n")
        f.flush()
        rc, out, err = run("-t", "-c", f.name)
        check(rc == 2 and f.name in err, "a bad configuration: %d %r %r", rc, out, err)


@suite.test("an address that is taken, one that this machine does not have", own=True)
def addresses():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        addr = "127.0.0.1:%d" % s.getsockname()[1]
        rc, out, err = run("-l", addr)
        check(rc == 1 and addr in err and "in use" in err and "-l" in err, "taken: %d %r", rc, err)
    rc, out, err = run("-l", "192.0.2.1:4420")
    check(rc == 1 and "192.0.2.1:4420" in err and "no such address" in err, "not ours: %d %r", rc, err)


@suite.test("several listeners, IPv6 among them", own=True)
def listeners():
    with socket.socket(socket.AF_INET6) as s:
        try:
            s.bind(("::1", 0))
        except OSError as e:
            v6 = None
            print("# IPv6 is not tried: %s" % e)
        else:
            v6 = "[::1]:0"
    d = Daemon(args=["-l", "127.0.0.1:0", "-l", "127.0.0.2:0"] + (["-l", v6] if v6 else []))
    try:
        until(lambda: "ready" in d.log(), 5, "the ready line")
        got = re.findall(r"listening addr=(\S+):(\d+)", d.log())
        equal(sorted(a for a, _ in got), sorted(["127.0.0.1", "127.0.0.2"] + (["[::1]"] if v6 else [])), "listeners")
        for a, port in got:
            d.addr = (a.strip("[]"), int(port))
            d.good()
        # A reload of the same leaves them as they are.
        at = d.mark()
        d.reload()
        check("listening" not in d.log(at), "a reload moved listeners: %s", d.log(at))
        d.good()
        equal(d.stop(), "", "the end")
    finally:
        d.cleanup()


@suite.test("the service manager hears READY, RELOADING and STOPPING", own=True)
def notify():
    with tempfile.TemporaryDirectory() as tmp, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        path = os.path.join(tmp, "notify")
        s.bind(path)
        s.settimeout(10)
        for name in (path, "@acceld-test-%d" % os.getpid()):
            if name[0] == "@":
                s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                s.bind("\0" + name[1:])
                s.settimeout(10)
            d = Daemon(env={"NOTIFY_SOCKET": name})
            try:
                equal(s.recv(200), b"READY=1", "the first word")
                d.reload()
                check(re.fullmatch(rb"RELOADING=1\nMONOTONIC_USEC=\d+", s.recv(200)), "no RELOADING")
                equal(s.recv(200), b"READY=1", "the word after a reload")
                d.proc.terminate()
                equal(s.recv(200), b"STOPPING=1", "the last word")
                equal(d.stop(), "", "the end")
            finally:
                d.cleanup()


def held_read(d, h):
    a = Accel(h, NS_ALL)
    a.claim(1)
    return a.submit_wait(a.slots[0], a.next_seq(a.slots[0]))


@suite.test("a second SIGTERM ends the waiting for commands; before it the daemon takes no new ones", own=True)
def second():
    d = Daemon(conf("drain_ms = 30000\n"))
    try:
        with d.host() as h:
            held_read(d, h)
            check(h.q.quiet(0.2), "the read was not held")
            d.proc.terminate()
            until(lambda: "stopping" in d.log(), 5, "the begin of the drain")
            cid = h.q.submit(h.q.rw_entry(READ, NS_RAM, 0, 1, sgl_transport(512)), want=512)
            check(h.q.quiet(0.5) and cid in h.q.cmds, "a new command was taken")
            check(d.alive(), "it did not wait for the held read")
            t0 = time.monotonic()
            equal(d.stop(), "", "the end")
            check(time.monotonic() - t0 < 10, "it took %.1f s", time.monotonic() - t0)
    finally:
        d.cleanup()


@suite.test("500 commands in one segment, each answered once, SQHD as many entries on")
def segment(d):
    with d.host(sqsize=1023) as h:
        data = random.randbytes(512)
        out, cids = b"", []
        for i in range(500):
            cid = h.q.cid()
            k = i % 4
            if k == 0:
                e, x = h.q.rw_entry(WRITE, NS_RAM, i, 1, sgl_inline(512)), data
            elif k == 1:
                e, x = h.q.rw_entry(READ, NS_RAM, i - 1, 1, sgl_transport(512)), b""
            elif k == 2:
                e, x = sqe(FLUSH, nsid=NS_RAM), b""
            else:
                e, x = sqe(0x55, nsid=NS_RAM), b""
            h.q.cmds[cid] = Command(sqe_cid(e, cid), b"", 512 if k == 1 else 0)
            out += h.q.capsule(sqe_cid(e, cid), x)
            cids.append((cid, k))
        h.q.send(out)
        heads = set()
        for cid, k in cids:
            c = status(h.q.wait(cid), 0x001 if k == 3 else 0, "command %d" % cid)
            heads.add(c.sqhd)
            if k == 1:
                equal(c.data, data, "data read")
        equal(max(heads), 501, "SQHD of the last one")      # Connect was the first entry


@suite.test("data in the capsule of a command that has none, or that is refused, is dropped")
def unwanted(d):
    with d.host(dgst=3) as h:
        for entry, want in ((sqe(FLUSH, nsid=NS_RAM, sgl=sgl_inline(4096)), (0, 0x002)),
                            (sqe(0x55, nsid=NS_RAM, sgl=sgl_inline(4096)), (0x001,)),
                            (sqe(WRITE, nsid=77, sgl=sgl_inline(4096), cdw12=7), (0x00b,)),
                            (sqe(READ, nsid=NS_RAM, sgl=sgl_inline(4096), cdw12=7), (0x011, 0x002)),
                            (sqe(READ, nsid=NS_RAM, sgl=sgl_transport(4096), cdw12=7), (0x002,)),
                            (sqe(WRITE, nsid=NS_RAM, sgl=sgl_transport(4096), cdw12=7), (0x002,)),
                            (sqe(WRITE, nsid=NS_RAM, sgl=sgl_inline(2048), cdw12=7), (0x00f,)),
                            (sqe(WRITE, nsid=NS_RAM, sgl=sgl_inline(4096), cdw12=3), (0x00f,)),
                            (sqe(WRITE, nsid=NS_RAM, sgl=sgl_inline(4096, offset=4), cdw12=7), (0x016,)),
                            (sqe(WRITE, nsid=NS_RAM, sgl=sgl_inline(4096, sgltype=0x00), cdw12=7), (0x011,))):
            status(h.q.run(entry, data=bytes(4096), inline=True), want, entry[:4].hex())
        status(h.admin.run(sqe(KEEP_ALIVE, sgl=sgl_inline(64)), data=bytes(64), inline=True), (0, 0x002))
        status(h.q.run(sqe(FLUSH, nsid=NS_RAM)), 0, "the next command")


@suite.test("a command id that is in flight is refused, and the command that has it ends as it should")
def conflict(d):
    with d.host() as h:
        h.q.auto_r2t = False
        cid = h.q.submit_write(NS_RAM, 0, b"x" * 8192, inline=False)
        while not h.q.cmds[cid].r2t:
            h.q.pump(time.monotonic() + 5)
        first = h.q.cmds[cid]
        status(h.q.run(sqe(FLUSH, nsid=NS_RAM), cid=cid), 0x003, "the second one", dnr=True)
        h.q.cmds[cid] = first
        h.q.answer(cid)
        status(h.q.wait(cid), 0, "the first one")
        equal(h.q.read(NS_RAM, 0, 512).data, b"x" * 512, "its data")


@suite.test("in-capsule data up to IOCCSZ work, one block more ends the connection")
def capsules(d):
    with d.host() as h:
        most = struct.unpack_from("<I", h.admin.identify(1).data, 1792)[0] * 16 - 64
        check(most >= 16384, "%d bytes", most)
        data = random.randbytes(most)
        status(h.q.write(NS_RAM, 5, data, inline=True), 0, "the most")
        equal(h.q.read(NS_RAM, 5, most).data, data, "what was written")
        try:
            h.q.write(NS_RAM, 5, data + bytes(512), inline=True)
            check(False, "more was taken")
        except Closed:
            pass


@suite.test("a host that takes memory and does not move is closed when others wait for it", 60, own=True)
def stalled():
    d = Daemon(conf("memory = 16M\nmax_transfer = 1M\n"))
    try:
        bad = [d.host(hostnqn=HOST[:-2] + "%02d" % i, sqsize=63) for i in range(8)]
        for h in bad:
            h.q.auto_r2t = False
            for i in range(20):
                # Nobody has a lease of that slot: it is buffered first and refused then.
                h.q.submit_write(NS_ALL, (1 << 24) // 512, bytes(1 << 20), inline=False)
        with d.host() as h:
            at = time.monotonic()
            n = 0
            # What finds no memory is worth another try.
            while h.q.write(NS_ALL, (1 << 24) // 512, bytes(1 << 20), inline=False, timeout=25).sc == 0x022:
                n += 1
                check(n < 5, "%d times no memory", n)
            check(n, "there was memory")
            check(time.monotonic() - at < 25, "it took %.1f s", time.monotonic() - at)
            status(h.q.read(NS_RAM, 0, 512), 0, "the host that was patient")
        check("stalled" in d.log(), "nobody was closed for it")
        for h in bad:
            h.close()
        d.good()
        equal(d.stop(), "", "the end")
    finally:
        d.cleanup()


@suite.test("memory of buffers that rest is given back", 40, own=True)
def rest():
    d = Daemon()
    try:
        with d.host() as h:
            a = Accel(h, NS_ALL)
            a.claim(16)
            h.admin.identify(1)
            before = d.rss()
            # Held reads with room for results: memory that a job might use.
            for s in a.slots:
                a.submit_wait(s, a.next_seq(s), 512 + (1 << 20))
            until(lambda: stats(h)["mem_used"] >= 16 << 20, 5, "the use of memory")
            a.release()
            until(lambda: stats(h)["mem_used"] < 4 << 20, 20, "the end of the reads")
            until(lambda: d.rss() < before + 4096, 15, "the return of pages")
        equal(d.stop(), "", "the end")
    finally:
        d.cleanup()


@suite.test("busy polling: a host is served, and an idle daemon uses no CPU time", own=True)
def polling():
    d = Daemon(conf("poll_us = 1000\n"))
    try:
        with d.host() as h:
            for i in range(300):
                status(h.q.read(NS_RAM, i, 512), 0)
            a = Accel(h, NS_ALL)
            a.claim(1)
            for i in range(20):
                x = random.randbytes(3000)
                equal(a.crc(x), crc32c(x), "a job")
            time.sleep(0.1)
            t0 = d.cpu()
            time.sleep(1)
            check(d.cpu() - t0 < 0.02 * (5 if d.sanitized else 1), "%.3f s of CPU time while idle", d.cpu() - t0)
        equal(d.stop(), "", "the end")
    finally:
        d.cleanup()


if __name__ == "__main__":
    sys.exit(suite.main())
