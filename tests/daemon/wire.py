#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An independent judge of the wire: tshark's dissector of NVMe/TCP reads sessions of a well-behaved host, without and
with digests, and of the command over tcp://. It must find nothing malformed, no digest wrong, and the PDUs, command
ids, opcodes, lengths and statuses that the host sent and received."""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from lib import NQN, NS_ALL, NS_RAM, Accel, Failure, Skip, Suite, beside, check, equal, status
from nvmetcp import *

suite = Suite(seconds=60)
FIELDS = ("tcp.srcport tcp.dstport nvme-tcp.type nvme-tcp.plen nvme-tcp.cmd.qid nvme.cmd.cid nvme.fabrics.cmd.cid "
          "nvme.cqe.cid nvme.cmd.opc nvme.cqe.status.sc nvme.cqe.status.sct nvme-tcp.data.length nvme-tcp.data.offset "
          "nvme-tcp.r2t.length nvme-tcp.r2t.offset nvme-tcp.hdgst.status nvme-tcp.ddgst.status nvme.cmd.slba "
          "nvme.cmd.nlb nvme.cmd.nsid nvme-tcp.cmd.cid").split()


class Capture:
    def __init__(self, port):
        if not shutil.which("tshark") or not shutil.which("dumpcap"):
            raise Skip("tshark is not installed")
        self.dir, self.port = tempfile.mkdtemp(prefix="wire."), port
        self.path = os.path.join(self.dir, "lo.pcapng")
        self.err = tempfile.TemporaryFile()
        # Behind it the file is read by tshark, which gives up rights that it does not need.
        self.proc = subprocess.Popen(["dumpcap", "-q", "-i", "lo", "-B", "64", "-w", self.path, "-f",
                                      "tcp port %d" % port], stdout=subprocess.DEVNULL, stderr=self.err)
        end = time.monotonic() + 10
        while not (os.path.exists(self.path) and os.path.getsize(self.path)):
            if self.proc.poll() is not None or time.monotonic() > end:
                self.err.seek(0)
                why = self.err.read().decode("latin-1").strip().splitlines()
                self.cleanup()
                raise Skip("no capture on lo: %s" % (why[-1] if why else "dumpcap says nothing"))
            time.sleep(0.05)
        time.sleep(0.5)

    def stop(self):
        time.sleep(1.2)                      # dumpcap writes what it has about once a second
        self.proc.terminate()
        self.proc.wait(10)
        self.err.seek(0)
        text = self.err.read().decode("latin-1")
        check("dropped" not in text or "dropped on interface 'lo': " not in text or "/0 (" in text, "%s", text)

    def tshark(self, *args):
        r = subprocess.run(["tshark", "-r", self.path, "-d", "tcp.port==%d,nvme-tcp" % self.port,
                            "-o", "nvme-tcp.check_hdgst:TRUE", "-o", "nvme-tcp.check_ddgst:TRUE",
                            "-o", "tcp.desegment_tcp_streams:TRUE", *args], capture_output=True, timeout=50)
        if r.returncode:
            raise Failure("tshark: status %d, %s" % (r.returncode, r.stderr.decode("latin-1")[-500:]))
        return r.stdout.decode("latin-1")

    def cleanup(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def nothing_wrong(self):
        # Severity above "note" (remarks on TCP such as a window update) of any protocol.
        bad = self.tshark("-Y", "_ws.malformed || _ws.expert.severity == 8388608 || (nvme-tcp && _ws.expert.severity "
                          "== 6291456 && !tcp.analysis.flags && !tcp.flags.reset == 1)",
                          "-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message", "-e", "nvme-tcp.type")
        check(not bad.strip(), "frames that are malformed: %s", bad[:600])
        bad = self.tshark("-Y", "nvme-tcp.hdgst.status == 0 || nvme-tcp.ddgst.status == 0", "-T", "fields",
                          "-e", "frame.number")
        check(not bad.strip(), "frames with wrong digests: %s", bad[:300])

    def streams(self):
        """By the host's port: lists of what each field was, in the order of the stream, by direction."""
        out = {}
        args = [x for f in FIELDS for x in ("-e", f)]
        for line in self.tshark("-Y", "nvme-tcp", "-T", "fields", "-E", "occurrence=a", "-E", "separator=|", *args) \
                .splitlines():
            cols = line.split("|")
            to_ctrl = int(cols[1]) == self.port
            port = int(cols[0] if to_ctrl else cols[1])
            here = out.setdefault((port, to_ctrl), {f: [] for f in FIELDS})
            for f, text in zip(FIELDS, cols):
                here[f] += [int(x, 0) if x[:1].isdigit() and not x[1:2] == "." else x for x in text.split(",") if x]
        return out


def pdus(log, way):
    """Of the bytes that were sent or received: the PDUs, one by one."""
    for direction, raw in log:
        if direction == way:
            at = 0
            while at < len(raw):
                n = u32(raw, at + 4)
                yield raw[at:at + n]
                at += n


def session(h):
    """Something of everything."""
    a = h.admin
    for cns, nsid in ((1, 0), (0, NS_RAM), (0, NS_ALL), (2, 0), (3, NS_ALL)):
        status(a.identify(cns, nsid), 0)
    # Not the error log: tshark 4.0 reads more than the 64 bytes of an entry.
    for lid, n in ((2, 512), (3, 512), (5, 4096)):
        status(a.get_log(lid, n), 0)
    a.set_feature(7, 0x00030003)
    a.get_feature(0x0b)
    a.keep_alive()
    a.run(sqe(0x55))
    for n in (512, 4096, 8192, 65536, 1 << 20):
        data = random.randbytes(n)
        status(h.q.write(NS_RAM, 8, data, inline=n <= 4096), 0)
        equal(h.q.read(NS_RAM, 8, n).data, data, "data")
    h.q.read(NS_RAM, 1 << 40, 512)
    h.q.run(sqe(FLUSH, nsid=NS_RAM))
    cids = [h.q.submit_read(NS_RAM, 8 * i, 4096) for i in range(32)]
    for c in cids:
        h.q.wait(c)
    x = Accel(h, NS_ALL)
    x.claim(2)
    for n in (1, 1000, 30000):
        data = random.randbytes(n)
        equal(x.crc(data), crc32c(data), "checksum")
    x.release()


def logged(d, dgst, **kw):
    """A host all of whose queues write down what goes over the wire, from ICReq on."""
    import nvmetcp
    logs = {}
    init = nvmetcp.Conn.__init__

    def with_log(self, *args, **kwargs):
        init(self, *args, **kwargs)
        self.log = logs[self.sock.getsockname()[1]] = []

    nvmetcp.Conn.__init__ = with_log
    try:
        with d.host(dgst=dgst, queues=2, **kw) as h:
            session(h)
    finally:
        nvmetcp.Conn.__init__ = init
    return logs


def compare(got, log, dgst):
    """A stream as tshark saw it against what the host knows, in both directions."""
    for to_ctrl in (True, False):
        seen = got[to_ctrl]
        mine = list(pdus(log, ">" if to_ctrl else "<"))
        types = [p[0] for p in mine]
        name = "the host" if to_ctrl else "the controller"
        equal(seen["nvme-tcp.type"], types, "types of the PDUs of %s" % name)
        equal(seen["nvme-tcp.plen"], [u32(p, 4) for p in mine], "lengths of the PDUs of %s" % name)
        if to_ctrl:
            cmds = [p[8:72] for p in mine if p[0] == CMD]
            equal(seen["nvme.cmd.cid"], [u16(c, 2) for c in cmds if c[0] != FABRICS], "command ids")
            equal(seen["nvme.fabrics.cmd.cid"], [u16(c, 2) for c in cmds if c[0] == FABRICS], "ids of Fabrics commands")
            equal(seen["nvme.cmd.opc"], [c[0] for c in cmds if c[0] != FABRICS], "opcodes")
        else:
            rsp = [Cpl(p[8:24]) for p in mine if p[0] == RSP]
            equal(seen["nvme.cqe.cid"], [c.cid for c in rsp], "ids of completions")
            equal(seen["nvme.cqe.status.sc"], [c.sc & 255 for c in rsp], "status codes")
            equal(seen["nvme-tcp.r2t.length"], [u32(p, 16) for p in mine if p[0] == R2T], "lengths of R2Ts")
            equal(seen["nvme-tcp.r2t.offset"], [u32(p, 12) for p in mine if p[0] == R2T], "offsets of R2Ts")
        data = [p for p in mine if p[0] in (H2C_DATA, C2H_DATA)]
        equal(seen["nvme-tcp.data.length"], [u32(p, 16) for p in data], "lengths of data by %s" % name)
        equal(seen["nvme-tcp.data.offset"], [u32(p, 12) for p in data], "offsets of data by %s" % name)
        if dgst & 1:
            equal(len(seen["nvme-tcp.hdgst.status"]), len(types) - 1, "header digests of %s" % name)


@suite.test("sessions without and with digests, each PDU as the host knows it")
def sessions(d):
    cap = Capture(d.port)
    try:
        logs = {}
        # tshark 4.0 looks for the data digest in the wrong place where data is padded: padding without it.
        for dgst, hpda in ((0, 0), (1, 0), (2, 0), (3, 0), (0, 31), (1, 31)):
            for port, log in logged(d, dgst, hpda=hpda).items():
                logs[port] = dgst, log
        cap.stop()
        cap.nothing_wrong()
        seen = cap.streams()
        check(len(logs) == 18, "%d connections", len(logs))
        for port, (dgst, log) in logs.items():
            check((port, True) in seen and (port, False) in seen, "tshark saw nothing of port %d", port)
            compare({True: seen[port, True], False: seen[port, False]}, log, dgst)
    finally:
        cap.cleanup()


@suite.test("a discovery session")
def discovery(d):
    cap = Capture(d.port)
    try:
        q = Queue(d.addr)
        status(q.connect(DISCOVERY_NQN, "nqn.2026-11.local:wire", bytes(range(16))), 0)
        status(q.prop_set(CC, CC_ENABLE), 0)
        status(q.identify(1), 0)
        for n in (1024, 8, 4096):
            status(q.get_log(0x70, n, nsid=0), 0)
        q.close()
        cap.stop()
        cap.nothing_wrong()
    finally:
        cap.cleanup()


@suite.test("the command over tcp://, without and with digests")
def command(d):
    accel = beside("accel", "ACCEL")
    if not os.access(accel, os.X_OK):
        raise Failure("%s cannot be run: build it, or set ACCEL" % accel)
    cap = Capture(d.port)
    try:
        for opts in ("", "&hdgst=1&ddgst=1"):
            dev = "tcp://127.0.0.1:%d/%s?nsid=1%s" % (d.port, NQN, opts)
            for args, data in ((["checksum"], random.randbytes(100000)), (["compress"], b"wire " * 20000),
                               (["digest"], random.randbytes(5000))):
                r = subprocess.run([accel, args[0], "-d", dev, *args[1:]], input=data, capture_output=True, timeout=20)
                check(r.returncode == 0, "accel %s -d %s: status %d, %s", args[0], dev, r.returncode,
                      r.stderr.decode("latin-1"))
        cap.stop()
        cap.nothing_wrong()
        seen = cap.streams()
        types = {t for s in seen.values() for t in s["nvme-tcp.type"]}
        check({ICREQ, ICRESP, CMD, RSP, C2H_DATA} <= types, "types of PDUs: %s", types)
        check(any(s["nvme-tcp.hdgst.status"] for s in seen.values()), "no header digest in any session")
    finally:
        cap.cleanup()


if __name__ == "__main__":
    sys.exit(suite.main())
