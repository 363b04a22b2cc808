# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of acceld share: the daemon as a process, a host that uses an accelerator, TAP.

A test program makes a Suite, adds functions to it by @suite.test("what it shows") and ends with suite.main(). Each
function gets the running daemon; whatever it raises is a failure. After each one the daemon must be alive and a
well-formed host must get its work done; after the last the daemon must end in order, without a sanitizer's report.
"""
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback

from nvmetcp import Host, crc32c, u16, u32, u64

NQN = "nqn.2026-11.local.accel:test"
HOST = "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-000000000001"
BIN = os.environ.get("ACCELD", "build/acceld")
LOADED = 4                                # a test may take that much longer where others work, too
NS_ALL, NS_RAM, NS_CRC, NS_RAM4K = 1, 2, 3, 4
CONF = """
[namespace 1]
type = all
threads = 2
slots = 16

[namespace 2]
type = ram
size = 16M

[namespace 3]
type = checksum
slots = 8

[namespace 4]
type = ram
size = 8M
block_size = 4096
"""
REPORT = re.compile(rb"(ERROR: \w+Sanitizer|SUMMARY: \w+Sanitizer|runtime error:|WARNING: ThreadSanitizer)")


def conf(daemon="", namespaces=CONF, nqn=NQN, hosts=(), more=""):
    """A configuration: lines of [daemon], one subsystem, more sections. No hosts: any may connect."""
    who = "".join("host = %s\n" % h for h in hosts)
    return "[daemon]\nlisten = 127.0.0.1:0\n%s\n[subsystem %s]\nallow_any_host = %s\n%s%s\n%s" % (
        daemon, nqn, "no" if hosts else "yes", who, namespaces, more)


def beside(name, variable):
    """A program: what the variable says, or beside the daemon, or in build/."""
    here = os.path.join(os.path.dirname(BIN), name)
    return os.environ.get(variable) or (here if os.access(here, os.X_OK) else os.path.join("build", name))


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def check(ok, what="", *args):
    if not ok:
        raise Failure(what % args if args else what)


def equal(got, want, what="value"):
    if got != want:
        raise Failure("%s is %s, not %s" % (what, shown(got), shown(want)))


def shown(v):
    if isinstance(v, (bytes, bytearray)):
        return v.hex()
    return hex(v) if isinstance(v, int) and v > 9 else v


def status(cpl, sc, what="", dnr=None):
    """The completion has this SCT << 8 | SC (a number or several), and DNR if it is told."""
    want = sc if isinstance(sc, (tuple, list)) else (sc,)
    if cpl.sc not in want:
        raise Failure("%s%r, expected %s" % (what + ": " if what else "", cpl, "/".join("%#x" % s for s in want)))
    if dnr is not None and cpl.dnr != dnr:
        raise Failure("%s%r: DNR is %d" % (what + ": " if what else "", cpl, cpl.dnr))
    return cpl


def until(fn, seconds=5.0, what="it"):
    """fn()'s first true value; a failure if none comes in time."""
    end = time.monotonic() + seconds
    while True:
        v = fn()
        if v:
            return v
        if time.monotonic() > end:
            raise Failure("%s did not come within %g s" % (what, seconds))
        time.sleep(0.02)


class Daemon:
    def __init__(self, text=None, args=(), port=0, env=None, before=None):
        """before: called in the child in front of the daemon."""
        self.before = before
        self.dir = tempfile.mkdtemp(prefix="acceld-test.")
        self.path = os.path.join(self.dir, "acceld.conf")
        self.env = {**os.environ, **(env or {})}
        # A quarantine that outgrows what is measured would hide a leak, or look like one.
        self.env["ASAN_OPTIONS"] = "quarantine_size_mb=16:%s" % self.env.get("ASAN_OPTIONS", "")
        self.env["UBSAN_OPTIONS"] = "print_stacktrace=1:%s" % self.env.get("UBSAN_OPTIONS", "")
        with open(BIN, "rb") as f:
            code = f.read()
        self.sanitized = b"__asan_init" in code or b"__tsan_init" in code
        self.args, self.port, self.nstart = list(args), port, 0
        self.fixed = port                      # a restarted daemon takes the port that it had
        self.text = text or conf()
        self.start()

    def _fixed(self, text):
        return text.replace("127.0.0.1:0", "127.0.0.1:%d" % self.fixed) if self.fixed else text

    def start(self):
        with open(self.path, "w") as f:
            f.write(self._fixed(self.text))
        self.nstart += 1
        self.log_path = os.path.join(self.dir, "log.%d" % self.nstart)
        with open(self.log_path, "wb") as log:
            self.proc = subprocess.Popen([BIN, "-c", self.path, *self.args], stdin=subprocess.DEVNULL,
                                         stdout=log, stderr=log, env=self.env, preexec_fn=self.before)
        there = re.compile(r"listening addr=(?:127\.0\.0\.1|\[::1\]):(\d+)")
        m = until(lambda: there.search(self.log()) or self.proc.poll() is not None, 20, "the listener of acceld")
        if m is True:
            raise Failure("acceld ended with status %s: %s" % (self.proc.returncode, self.log()))
        self.port = int(m.group(1))
        self.addr = ("127.0.0.1", self.port)
        self.pid = self.proc.pid

    def log(self, since=0):
        with open(self.log_path, "rb") as f:
            f.seek(since)
            return f.read().decode("latin-1")

    def mark(self):
        return os.path.getsize(self.log_path)

    def reload(self, text=None, wait=10.0):
        """SIGHUP with another configuration; returns what was logged about it."""
        if text is not None:
            self.text = text
            with open(self.path + ".new", "w") as f:
                f.write(self._fixed(text))
            os.rename(self.path + ".new", self.path)
        at = self.mark()
        self.proc.send_signal(signal.SIGHUP)
        until(lambda: re.search(r"\breload", self.log(at)), wait, "a log line of the reload")
        return self.log(at)

    def alive(self):
        return self.proc.poll() is None

    def kill(self):
        self.proc.kill()
        self.proc.wait()

    def restart(self):
        """start() behind kill() or stop(), on the same port."""
        self.fixed = self.port
        self.start()

    def stop(self, seconds=20):
        """SIGTERM; what went wrong, or ''."""
        if self.alive():
            self.proc.terminate()
            try:
                self.proc.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
                return "SIGTERM did not end it within %d s" % seconds
        found = self.reports()
        if found:
            return found
        return "" if self.proc.returncode == 0 else "status %d: %s" % (self.proc.returncode, self.log()[-2000:])

    def reports(self):
        for i in range(1, self.nstart + 1):
            with open(os.path.join(self.dir, "log.%d" % i), "rb") as f:
                text = f.read()
            m = REPORT.search(text)
            if m:
                return text[max(0, m.start() - 200):m.start() + 6000].decode("latin-1")
        return ""

    def cleanup(self):
        if self.alive():
            self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- /proc ----

    def rss(self):
        """KiB"""
        with open("/proc/%d/status" % self.pid) as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))

    def fds(self):
        return len(os.listdir("/proc/%d/fd" % self.pid))

    def threads(self):
        return len(os.listdir("/proc/%d/task" % self.pid))

    def cpu(self):
        """Seconds of CPU time, over all threads."""
        ns = 0
        for t in os.listdir("/proc/%d/task" % self.pid):
            with open("/proc/%d/task/%s/schedstat" % (self.pid, t)) as f:
                ns += int(f.read().split()[0])
        return ns / 1e9

    # ---- hosts ----

    def host(self, nqn=NQN, **kw):
        return Host(self.addr, nqn, **kw)

    def good(self, dgst=0, job=True, **kw):
        """A well-formed host connects, gets its data back and a job done."""
        with self.host(dgst=dgst, **kw) as h:
            data = random.randbytes(8192)
            slba = random.randrange(0, 16384)
            status(h.q.write(NS_RAM, slba, data[:4096]), 0, "a good host's write")
            status(h.q.write(NS_RAM, slba + 8, data[4096:], inline=False), 0, "a good host's write by R2T")
            equal(h.q.read(NS_RAM, slba, 8192).data, data, "a good host's data")
            if job:
                a = Accel(h, NS_ALL)
                a.claim(1)
                equal(a.crc(data[:3000]), crc32c(data[:3000]), "a good host's checksum")
                a.release()


class Accel:
    """A client of an accelerator namespace, by plain reads and writes (namespace-interface, version 1)."""

    def __init__(self, host, nsid, queue=None):
        self.host, self.nsid, self.q = host, nsid, queue or host.q
        p = Host.must(host.admin.identify(0, nsid), "Identify of the namespace").data
        check(p[384:392] == b"ACCELNS\0", "namespace %d is no accelerator", nsid)
        self.page, self.nslot, self.lbads, self.winsh, self.aliasb = p, u32(p, 496), p[500], p[501], p[502]
        self.nlease = u32(p, 504)
        self.hold_ms, self.feat = u32(p, 508), u64(p, 488)
        self.info, self.lease_off, self.stats, self.slot_off = struct.unpack_from("<4Q", p, 536)
        self.bootid = u64(p, 584)
        self.block = 1 << self.lbads
        self.claim_id, self.nonce, self.index, self.epoch, self.slots, self.seq = bytes(8), bytes(16), -1, 0, [], {}

    def read(self, off, nbytes, **kw):
        return self.q.read(self.nsid, off // self.block, nbytes, self.block, **kw)

    def write(self, off, data, **kw):
        return self.q.write(self.nsid, off // self.block, data, self.block, **kw)

    def lease(self, i):
        p = Host.must(self.read(self.lease_off + 8192 * i, 4096), "Read of a lease page").data
        check(p[:4] == b"ALSE" and u32(p, 252) == crc32c(p[:252]), "lease page %d is malformed", i)
        n = u32(p, 72)
        return {"state": p[5], "flags": u16(p, 6), "epoch": u32(p, 8), "remaining": u32(p, 12), "claim_id": p[16:24],
                "slots": [s for k in range(n) for s in range(u32(p, 80 + 8 * k),
                                                             u32(p, 80 + 8 * k) + u32(p, 84 + 8 * k))],
                "bootid": u64(p, 144), "refused_id": p[152:160], "refused": u32(p, 160)}

    def claim_block(self, op, epoch, claim_id, nonce, flags=0, wanted=1, least=1, ms=10000, label=b"test"):
        b = struct.pack("<4sHH8s16s16s32sIIII28x", b"ACLM", op, flags, claim_id, nonce, bytes(16), label, wanted, least,
                        ms, epoch)
        return (b + struct.pack("<I", crc32c(b))).ljust(self.block, b"\0")

    def try_claim(self, wanted=1, flags=0, ms=10000, least=None, index=None):
        """0 and the lease is ours, or the code of the refusal."""
        for i in range(self.nlease) if index is None else [index]:
            rec = self.lease(i)
            if rec["state"] == 0:
                break
        else:
            return 2
        cid, nonce = random.randbytes(8), random.randbytes(16)
        status(self.write(self.lease_off + 8192 * i, self.claim_block(1, rec["epoch"], cid, nonce, flags, wanted,
                                                                      least or wanted, ms)), 0, "CLAIM")
        rec = self.lease(i)
        if rec["claim_id"] != cid or rec["state"] != 1:
            return rec["refused"] if rec["refused_id"] == cid else 2
        self.claim_id, self.nonce, self.index, self.epoch, self.slots = cid, nonce, i, rec["epoch"], rec["slots"]
        self.seq = {s: 0 for s in self.slots}
        return 0

    def claim(self, wanted=1, **kw):
        equal(self.try_claim(wanted, **kw), 0, "refusal of a claim")

    def lease_write(self, op, **kw):
        return self.write(self.lease_off + 8192 * self.index,
                          self.claim_block(op, self.epoch, self.claim_id, self.nonce, **kw))

    def release(self):
        status(self.lease_write(3), 0, "RELEASE")

    def half(self, slot, seq, which):
        window = (slot << self.aliasb) + (seq & ((1 << self.aliasb) - 1))
        return self.slot_off + ((window * 2 + which) << self.winsh)

    def desc(self, seq, op, alg, in_len, out_max=0, arg0=0, arg1=0, flags=1, params=b"", cookie=7, limit_ms=0):
        d = struct.pack("<4sBBHQ16sIIQQQQIIIIHHI", b"AJD1", 1, 1, flags, seq, self.nonce, self.index, self.epoch,
                        cookie, in_len, out_max, 0, 0, 0, 0, limit_ms, len(params), 0, 0)
        d += struct.pack("<HHIIIQHHI", op, alg, 0, 0, arg0, arg1, 0, len(params), 0)
        d = d.ljust(252, b"\0")
        return (d + struct.pack("<I", crc32c(params, crc32c(d))) + params).ljust(self.block, b"\0")

    def next_seq(self, slot):
        self.seq[slot] += 1
        return self.seq[slot]

    def submit_wait(self, slot, seq, nbytes=None):
        """A held read of the WAIT alias of this job: the command id."""
        off = self.half(slot, seq, 1) + (1 << (self.winsh - 1))
        return self.q.submit_read(self.nsid, off // self.block, nbytes or self.block, self.block)

    def submit_job(self, slot, seq, data, op, alg, **kw):
        b = self.desc(seq, op, alg, len(data), **kw) + data
        b += bytes(-len(b) % self.block)
        return self.q.submit_write(self.nsid, self.half(slot, seq, 0) // self.block, b, self.block)

    def status_of(self, cpl):
        p = Host.must(cpl, "Read of a status").data
        check(p[:4] == b"AJS1" and u32(p, 252) == crc32c(p[:252]), "the status block is malformed: %s", p[:32].hex())
        return {"state": p[5], "flags": u16(p, 6), "seq": u64(p, 8), "bootid": u64(p, 16), "cookie": u64(p, 32),
                "code": u32(p, 40), "in_used": u64(p, 48), "out_len": u64(p, 56), "result": p[112:144],
                "out": p[self.block:]}

    def poll(self, slot, seq, nbytes=None):
        return self.status_of(self.read(self.half(slot, seq, 1), nbytes or self.block))

    def job(self, data, op, alg, slot=None, timeout=10, **kw):
        slot = self.slots[0] if slot is None else slot
        seq = self.next_seq(slot)
        room = self.block + (kw.get("out_max", 0) + self.block - 1) // self.block * self.block
        wait = self.submit_wait(slot, seq, room)
        status(self.q.wait(self.submit_job(slot, seq, data, op, alg, **kw), timeout), 0, "the job's write")
        end = time.monotonic() + timeout
        while True:
            s = self.status_of(self.q.wait(wait, timeout))
            if s["seq"] == seq and s["state"] in (5, 6, 7):
                return s
            check(time.monotonic() < end, "the job has not ended: %s", s)
            wait = self.submit_wait(slot, seq, room)

    def crc(self, data, **kw):
        s = self.job(data, 9, 1, **kw)
        equal((s["state"], s["code"]), (5, 0), "state and code of a checksum")
        return u32(s["result"])


class Suite:
    def __init__(self, text=None, seconds=20, rss_kib=65536):
        self.text, self.seconds, self.rss_kib, self.tests = text, seconds, rss_kib, []

    def test(self, name, seconds=None, own=False):
        """own: the function starts its daemon itself and gets none."""
        def add(fn):
            self.tests.append((name, fn, seconds or self.seconds, own))
            return fn
        return add

    def _alarm(self, *_):
        raise Failure("the time is up")

    def _run(self, fn, d, seconds, own):
        signal.alarm(LOADED * seconds)
        try:
            if own:
                fn()
            else:
                fn(d)
                check(d.alive(), "acceld is gone: status %s\n%s", d.proc.returncode, d.log()[-3000:])
                d.good()
        finally:
            signal.alarm(0)

    def main(self):
        only = sys.argv[1:]
        tests = [t for t in self.tests if not only or any(o in t[0] for o in only)]
        self.bad, self.n = 0, 0
        if not os.access(BIN, os.X_OK):
            print("1..0\nBail out! %s cannot be run: build it, or set ACCELD" % BIN)
            return 1
        random.seed(int(os.environ.get("SEED", "1")))
        signal.signal(signal.SIGALRM, self._alarm)
        print("1..%d" % (len(tests) + 2), flush=True)
        d = None
        try:
            if any(not t[3] for t in tests):
                d = self._start()
            for name, fn, seconds, own in tests:
                bad, t0 = self.bad, time.monotonic()
                self._one(name, fn, d, seconds, own)
                if os.environ.get("TIMES"):
                    print("# %.1f s" % (time.monotonic() - t0))
                if self.bad > bad and not own:
                    # A fresh daemon, so that one failure is one failure.
                    d.stop()
                    d.cleanup()
                    d = self._start()
            self._end(d)
        finally:
            if d:
                d.cleanup()
        return 1 if self.bad else 0

    def _start(self):
        d = Daemon(self.text)
        for _ in range(3):
            d.good()
        self.rss0, self.fds0 = d.rss(), d.fds()
        return d

    def _one(self, name, fn, d, seconds, own):
        try:
            self._run(fn, d, seconds, own)
            self._report(name, True)
        except Skip as e:
            self.n += 1
            print("ok %d - %s # SKIP %s" % (self.n, name, e), flush=True)
        except Exception as e:
            text = "%s: %s" % (type(e).__name__, e)
            if not isinstance(e, Failure) or os.environ.get("TRACE"):
                text += "\n" + traceback.format_exc()
            else:
                at = traceback.extract_tb(e.__traceback__)
                here = [f for f in at if f.filename.endswith(os.path.basename(sys.argv[0]))]
                text += " (line %d)" % here[-1].lineno if here else ""
            if d and not own:
                text += "\n" + (d.reports() or d.log()[-600:])
            self._report(name, False, text)

    def _report(self, name, ok, why=""):
        self.n += 1
        print("%sok %d - %s" % ("" if ok else "not ", self.n, name))
        if not ok:
            self.bad += 1
            print("".join("# %s\n" % line for line in why.splitlines()), end="")
        sys.stdout.flush()

    def _end(self, d):
        if d is None:
            self._report("no daemon is left over", True)
            self._report("no sanitizer's report", True)
            return
        why = ""
        if d.alive():
            try:
                until(lambda: d.fds() <= self.fds0 + 2, 10, "the end of old connections")
            except Failure as e:
                why = "%s: %d file descriptors, %d at the start" % (e, d.fds(), self.fds0)
            grown = d.rss() - self.rss0
            if grown > self.rss_kib * (3 if d.sanitized else 1):
                why += " resident size grew by %d KiB" % grown
        self._report("memory and file descriptors are as at the start", not why, why)
        why = d.stop()
        self._report("the daemon ends in order, without a sanitizer's report", not why, why)
