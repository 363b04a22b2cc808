# SPDX-License-Identifier: BSD-2-Clause
"""An NVMe/TCP host made of bytes, for tests of a controller.

Everything that is sent can be made wrong: pdu() and sqe() take every field by name. Everything that is received
is checked strictly against the NVMe/TCP Transport Specification 1.0; what is out of order raises WireError.
Nothing here knows the daemon's own rules: numbers and layouts are the specifications'.
"""
import socket
import struct
import time
from array import array

ICREQ, ICRESP, H2C_TERM, C2H_TERM, CMD, RSP, H2C_DATA, C2H_DATA, R2T = 0, 1, 2, 3, 4, 5, 6, 7, 9
F_HDGST, F_DDGST, F_LAST, F_SUCCESS = 1, 2, 4, 8
FES_HDR, FES_SEQ, FES_HDGST, FES_RANGE, FES_LIMIT, FES_PARAM = 1, 2, 3, 4, 5, 6
HLEN = {ICREQ: 128, ICRESP: 128, H2C_TERM: 24, C2H_TERM: 24, CMD: 72, RSP: 24, H2C_DATA: 24, C2H_DATA: 24, R2T: 24}
DISCOVERY_NQN = "nqn.2014-08.org.nvmexpress.discovery"
DNR = 0x4000

# Admin and I/O opcodes, Fabrics command types.
GET_LOG, IDENTIFY, ABORT, SET_FEATURES, GET_FEATURES, AER, KEEP_ALIVE, FABRICS = 2, 6, 8, 9, 10, 12, 0x18, 0x7f
FLUSH, WRITE, READ = 0, 1, 2
PROP_SET, CONNECT, PROP_GET, AUTH_SEND, AUTH_RECV, DISCONNECT = 0, 1, 4, 5, 6, 8
CAP, VS, CC, CSTS, NSSR = 0, 8, 0x14, 0x1c, 0x20
CC_ENABLE = 0x460001


class WireError(Exception):
    """The controller sent what the specification forbids."""


class Closed(Exception):
    """The controller closed the connection."""


class Terminated(Closed):
    """The controller sent a C2HTermReq."""

    def __init__(self, fes, fei, header):
        super().__init__("C2HTermReq fes=%d fei=%#x" % (fes, fei))
        self.fes, self.fei, self.header = fes, fei, header


def _crc_tables():
    t = []
    for i in range(256):
        c = i
        for _ in range(8):
            c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
        t.append(c)
    # Four bytes a step by two tables of 16 bits: c -> low[c & ffffh] ^ high[c >> 16].
    step = lambda c: t[c & 255] ^ c >> 8
    high = [step(step(i)) for i in range(65536)]
    low = [step(step(c)) for c in high]
    return t, low, high


_T, _LOW, _HIGH = _crc_tables()
assert array("I").itemsize == 4


def crc32c(data, crc=0):
    c = crc ^ 0xffffffff
    n = len(data) & ~3
    low, high = _LOW, _HIGH
    for w in array("I", bytes(data[:n])):
        c ^= w
        c = low[c & 0xffff] ^ high[c >> 16]
    for b in data[n:]:
        c = _T[(c ^ b) & 255] ^ c >> 8
    return c ^ 0xffffffff


def u16(b, o=0):
    return b[o] | b[o + 1] << 8


def u32(b, o=0):
    return struct.unpack_from("<I", b, o)[0]


def u64(b, o=0):
    return struct.unpack_from("<Q", b, o)[0]


def pdu(ptype, body=b"", data=b"", *, flags=0, hlen=None, pdo=None, plen=None, hdgst=False, ddgst=False, pda=0,
        hdgst_xor=0, ddgst_xor=0, pad=b"\0"):
    """A PDU. body: the header behind its 8 common bytes. Whatever is not None replaces what would be right."""
    n = 8 + len(body)
    has_ddgst = ddgst and len(data) > 0
    off = n + (4 if hdgst else 0)
    if data and ptype not in (H2C_TERM, C2H_TERM):
        unit = (pda + 1) * 4
        off = (off + unit - 1) // unit * unit
    flags |= (F_HDGST if hdgst else 0) | (F_DDGST if has_ddgst else 0)
    head = struct.pack("<BBBBI", ptype, flags & 255, (n if hlen is None else hlen) & 255,
                       (off if data and ptype not in (H2C_TERM, C2H_TERM) else 0) if pdo is None else pdo,
                       (off + len(data) + (4 if has_ddgst else 0)) & 0xffffffff if plen is None else plen) + body
    out = head
    if hdgst:
        out += struct.pack("<I", crc32c(head) ^ hdgst_xor)
    if data:
        out += pad * (off - len(out)) + bytes(data)
        if has_ddgst:
            out += struct.pack("<I", crc32c(data) ^ ddgst_xor)
    return out


def icreq(pfv=0, hpda=0, dgst=0, maxr2t=0, rsvd=b"", **kw):
    return pdu(ICREQ, (struct.pack("<HBBI", pfv, hpda, dgst, maxr2t) + rsvd).ljust(120, b"\0"), **kw)


def h2c_data(cid, ttag, offset, data, length=None, rsvd=0, last=True, flags=0, **kw):
    return pdu(H2C_DATA, struct.pack("<HHIII", cid, ttag, offset, len(data) if length is None else length, rsvd), data,
               flags=flags | (F_LAST if last else 0), **kw)


def h2c_term(fes, fei=0, header=b"", **kw):
    return pdu(H2C_TERM, struct.pack("<HI", fes, fei) + bytes(10), header, **kw)


def sgl_inline(length, offset=0, sgltype=0x01):
    return struct.pack("<QI3xB", offset, length & 0xffffffff, sgltype)


def sgl_transport(length, addr=0, sgltype=0x5a):
    return struct.pack("<QI3xB", addr, length & 0xffffffff, sgltype)


def sqe(opc, cid=0, nsid=0, sgl=None, flags=0x40, cdw2=0, cdw3=0, mptr=0, **dw):
    """A submission queue entry; dw: cdw10..cdw15. No SGL: one without data, as hosts send it."""
    sgl = sgl_transport(0) if sgl is None else sgl
    bad = set(dw) - {"cdw%d" % i for i in range(10, 16)}
    if bad:
        raise TypeError("no such fields: %s" % bad)
    return struct.pack("<BBHIIIQ", opc, flags, cid, nsid, cdw2, cdw3, mptr) + sgl + \
        struct.pack("<6I", *(dw.get("cdw%d" % i, 0) & 0xffffffff for i in range(10, 16)))


def sqe_cid(entry, cid):
    return entry[:2] + struct.pack("<H", cid) + entry[4:]


def connect_cmd(qid, sqsize, kato=0, cattr=0, recfmt=0, cid=0, sgl=None, flags=0x40, fctype=CONNECT):
    return struct.pack("<BBHB19x", FABRICS, flags, cid, fctype) + (sgl_inline(1024) if sgl is None else sgl) + \
        struct.pack("<HHHBxI12x", recfmt, qid, sqsize & 0xffff, cattr, kato)


def _nqn(text):
    b = text if isinstance(text, bytes) else text.encode()
    return b[:256].ljust(256, b"\0")


def connect_data(subnqn, hostnqn, hostid, cntlid=0xffff):
    return hostid + struct.pack("<H", cntlid) + bytes(238) + _nqn(subnqn) + _nqn(hostnqn) + bytes(256)


def prop_get(ofst, size8=False, cid=0, attrib=None):
    return struct.pack("<BBHB19x", FABRICS, 0x40, cid, PROP_GET) + sgl_transport(0) + \
        struct.pack("<B3xI16x", int(size8) if attrib is None else attrib, ofst)


def prop_set(ofst, value, size8=False, cid=0, attrib=None):
    return struct.pack("<BBHB19x", FABRICS, 0x40, cid, PROP_SET) + sgl_transport(0) + \
        struct.pack("<B3xIQ8x", int(size8) if attrib is None else attrib, ofst, value)


class Pdu:
    """A received PDU, decoded and checked by itself."""

    def __init__(self, head, data):
        self.type, self.flags, self.hlen, self.pdo, self.plen = struct.unpack_from("<BBBBI", head)
        self.head, self.data = head, data


class Cpl:
    """A completion."""

    def __init__(self, cqe, data=b""):
        self.result, self.sqhd, self.sqid, self.cid, field = struct.unpack("<QHHHH", cqe)
        self.status = field >> 1
        self.sc = self.status & 0x7ff          # SCT << 8 | SC
        self.dnr = bool(self.status & DNR)
        self.phase = field & 1
        self.dw0 = self.result & 0xffffffff
        self.data = data

    def __repr__(self):
        return "<cpl cid=%d sct=%d sc=%#04x dnr=%d result=%#x data=%d>" % (
            self.cid, self.sc >> 8, self.sc & 255, self.dnr, self.result, len(self.data))


class Command:
    def __init__(self, entry, data, want):
        self.entry, self.data, self.want = entry, data, want
        self.got = bytearray()
        self.r2t = []          # (ttag, offset, length) as received
        self.sent = 0          # bytes of data that R2Ts have asked for
        self.seen_last = False


class Conn:
    """A TCP connection with the state of the PDU layer. timeout: seconds for anything to happen."""

    def __init__(self, addr, timeout=10.0, rcvbuf=0, sndbuf=0):
        self.sock = socket.socket(socket.AF_INET6 if ":" in addr[0] else socket.AF_INET, socket.SOCK_STREAM)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        if sndbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, sndbuf)
        self.timeout = timeout
        self.sock.settimeout(timeout)
        self.sock.connect(addr)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.hdgst = self.ddgst = False
        self.hpda = self.cpda = 0
        self.maxh2c = 4096
        self.buf = bytearray()
        self.log = None                        # a list: every PDU that was sent or received goes there

    # ---- bytes ----

    def send(self, data, step=0):
        """step: bytes a segment, for what must arrive in pieces."""
        if self.log is not None:
            self.log.append((">", bytes(data)))
        try:
            if not step:
                self.sock.sendall(data)
            else:
                for i in range(0, len(data), step):
                    self.sock.sendall(data[i:i + step])
        except (BrokenPipeError, ConnectionResetError) as e:
            raise Closed("while sending: %s" % e)

    def _fill(self, n, deadline):
        while len(self.buf) < n:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("%d of %d bytes came" % (len(self.buf), n))
            self.sock.settimeout(left)
            try:
                more = self.sock.recv(max(65536, n - len(self.buf)))
            except ConnectionResetError:
                raise Closed("reset")
            except socket.timeout:
                raise TimeoutError("%d of %d bytes came" % (len(self.buf), n))
            if not more:
                if self.buf:
                    raise Closed("end of stream behind %d bytes of a PDU" % len(self.buf))
                raise Closed("end of stream")
            self.buf += more

    def _take(self, n):
        out = bytes(self.buf[:n])
        del self.buf[:n]
        return out

    def close(self):
        self.sock.close()

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def wait_closed(self, timeout=5.0):
        """True if the controller ends the stream within timeout; whatever it sends before is read and dropped."""
        deadline = time.monotonic() + timeout
        self.buf.clear()
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.sock.settimeout(left)
            try:
                if not self.sock.recv(65536):
                    return True
            except ConnectionResetError:
                return True
            except socket.timeout:
                return False

    # ---- PDUs ----

    def recv(self, timeout=None):
        """The next PDU; Terminated for a C2HTermReq, WireError for one that is malformed."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        self._fill(8, deadline)
        ptype, flags, hlen, pdo, plen = struct.unpack_from("<BBBBI", self.buf)
        self._check_common(ptype, flags, hlen, pdo, plen)
        self._fill(plen, deadline)
        raw = self._take(plen)
        if self.log is not None:
            self.log.append(("<", raw))
        head, off = raw[:hlen], hlen
        if flags & F_HDGST:
            if u32(raw, hlen) != crc32c(head):
                raise WireError("header digest of PDU %#x is wrong" % ptype)
            off += 4
        self._check_reserved(ptype, head)
        data = self._data(ptype, flags, pdo, raw, off)
        if ptype == C2H_TERM:
            raise Terminated(u16(head, 8), u32(head, 10), data)
        return Pdu(head, data)

    def _check_common(self, ptype, flags, hlen, pdo, plen):
        if ptype not in (ICRESP, C2H_TERM, RSP, C2H_DATA, R2T):
            raise WireError("PDU type %#x is not a controller's" % ptype)
        if hlen != HLEN[ptype]:
            raise WireError("PDU %#x has HLEN %d" % (ptype, hlen))
        bare = ptype in (ICRESP, C2H_TERM)
        allowed = 0 if bare else F_HDGST
        if ptype == C2H_DATA:
            allowed = F_HDGST | F_DDGST | F_LAST | F_SUCCESS
        if flags & ~allowed:
            raise WireError("PDU %#x has flags %#x" % (ptype, flags))
        if not bare and bool(flags & F_HDGST) != self.hdgst:
            raise WireError("PDU %#x: HDGST flag is %d" % (ptype, flags & 1))
        head = hlen + (4 if flags & F_HDGST else 0)
        if ptype == C2H_TERM:
            if not 24 <= plen <= 152 or pdo:
                raise WireError("C2HTermReq of %d bytes, PDO %d" % (plen, pdo))
        elif ptype == C2H_DATA:
            unit = (self.hpda + 1) * 4
            if bool(flags & F_DDGST) != self.ddgst:
                raise WireError("C2HData: DDGST flag is wrong")
            if pdo % unit or not head <= pdo < head + unit:
                raise WireError("C2HData: PDO %d, HPDA %d" % (pdo, self.hpda))
            if plen <= pdo or plen > pdo + (1 << 24):
                raise WireError("C2HData: PLEN %d, PDO %d" % (plen, pdo))
        elif plen != head or pdo:
            raise WireError("PDU %#x has PLEN %d, PDO %d" % (ptype, plen, pdo))

    def _check_reserved(self, ptype, head):
        rsvd = {ICRESP: head[16:], C2H_TERM: head[14:], RSP: b"", R2T: head[20:],
                C2H_DATA: head[10:12] + head[20:]}[ptype]
        if any(rsvd):
            raise WireError("PDU %#x: reserved bytes are not zero: %s" % (ptype, head.hex()))

    def _data(self, ptype, flags, pdo, raw, off):
        if ptype == C2H_TERM:
            return raw[24:]
        if ptype != C2H_DATA:
            return b""
        if any(raw[off:pdo]):
            raise WireError("C2HData: padding is not zero")
        end = len(raw) - (4 if flags & F_DDGST else 0)
        data = raw[pdo:end]
        if u32(raw, 16) != len(data):
            raise WireError("C2HData: DATAL %d, %d bytes came" % (u32(raw, 16), len(data)))
        if flags & F_DDGST and u32(raw, end) != crc32c(data):
            raise WireError("C2HData: data digest is wrong")
        if flags & F_SUCCESS and not flags & F_LAST:
            raise WireError("C2HData: SUCCESS without LAST")
        return data

    def initialize(self, dgst=0, hpda=0, maxr2t=0, step=0):
        """ICReq and ICResp; what was agreed on is in force then."""
        self.send(icreq(hpda=hpda, dgst=dgst, maxr2t=maxr2t), step)
        p = self.recv()
        if p.type != ICRESP:
            raise WireError("PDU %#x instead of ICResp" % p.type)
        pfv, self.cpda, got, self.maxh2c = struct.unpack_from("<HBBI", p.head, 8)
        if pfv or self.cpda > 31 or got & ~dgst or self.maxh2c < 4096 or self.maxh2c % 4:
            raise WireError("ICResp: PFV %d CPDA %d DGST %d MAXH2CDATA %d" % (pfv, self.cpda, got, self.maxh2c))
        self.hpda, self.hdgst, self.ddgst = hpda, bool(got & 1), bool(got & 2)
        return p

    def capsule(self, entry, data=b"", **kw):
        """A CapsuleCmd with the digests and the alignment of this connection."""
        kw = {"hdgst": self.hdgst, "ddgst": self.ddgst, "pda": self.cpda, **kw}
        return pdu(CMD, entry, data, **kw)

    def data_pdu(self, cid, ttag, offset, data, **kw):
        kw = {"hdgst": self.hdgst, "ddgst": self.ddgst, "pda": self.cpda, **kw}
        return h2c_data(cid, ttag, offset, data, **kw)


class Queue(Conn):
    """A queue: commands in flight, their data both ways, completions; every rule of a transfer is checked."""

    def __init__(self, addr, dgst=0, hpda=0, maxr2t=0, step=0, **kw):
        super().__init__(addr, **kw)
        self.cmds, self.done, self.next_cid, self.step = {}, {}, 1, 0
        self.auto_r2t = True                   # answer R2Ts; else they gather in Command.r2t
        self.maxr2t = maxr2t
        self.success = 0                       # commands that C2HData with SUCCESS ended
        self.sq_flow = True
        self.initialize(dgst, hpda, maxr2t, step)

    def cid(self):
        for _ in range(65535):
            c, self.next_cid = self.next_cid, self.next_cid % 65534 + 1
            if c not in self.cmds and c not in self.done:
                return c
        raise RuntimeError("no command id is free")

    def submit(self, entry, data=b"", want=0, inline=False, cid=None, step=0, **kw):
        """Sends a command whose SGL is in it already. data: to be sent in the capsule (inline) or as asked for."""
        cid = self.cid() if cid is None else cid
        entry = sqe_cid(entry, cid)
        self.cmds[cid] = Command(entry, b"" if inline else data, want)
        self.send(self.capsule(entry, data if inline else b"", **kw), step or self.step)
        return cid

    def wait(self, cid, timeout=None):
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        while cid not in self.done:
            self.pump(deadline)
        return self.done.pop(cid)

    def wait_any(self, timeout=None):
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        while not self.done:
            self.pump(deadline)
        return self.done.pop(next(iter(self.done)))

    def quiet(self, seconds=0.2):
        """True if nothing comes for so long."""
        try:
            self.pump(time.monotonic() + seconds)
        except TimeoutError:
            return True
        return False

    def pump(self, deadline):
        """Takes one PDU."""
        p = self.recv(max(deadline - time.monotonic(), 0.001))
        if p.type == RSP:
            self._rsp(p)
        elif p.type == R2T:
            self._r2t(p)
        elif p.type == C2H_DATA:
            self._c2h(p)
        else:
            raise WireError("PDU %#x on a queue" % p.type)

    def _cmd(self, cid, what):
        if cid not in self.cmds:
            raise WireError("%s for command %d, which is not in flight" % (what, cid))
        return self.cmds[cid]

    def _rsp(self, p):
        cpl = Cpl(p.head[8:24])
        cmd = self._cmd(cpl.cid, "a completion")
        if cpl.phase or cpl.sqid:
            raise WireError("completion %r: reserved fields are not zero" % cpl)
        # Get Features (0Ah) and Fabrics commands may have an SGL for nothing.
        if cpl.sc == 0 and len(cmd.got) != cmd.want and cmd.entry[0] not in (GET_FEATURES, FABRICS):
            raise WireError("%r: %d of %d bytes came" % (cpl, len(cmd.got), cmd.want))
        cpl.data = bytes(cmd.got)
        del self.cmds[cpl.cid]
        self.done[cpl.cid] = cpl

    def _r2t(self, p):
        cid, ttag, off, n = struct.unpack_from("<HHII", p.head, 8)
        cmd = self._cmd(cid, "R2T")
        if off != cmd.sent or not n or off + n > len(cmd.data):
            raise WireError("R2T for %d bytes at %d, %d of %d were asked for" % (n, off, cmd.sent, len(cmd.data)))
        cmd.sent += n
        cmd.r2t.append((ttag, off, n))
        if len(cmd.r2t) > self.maxr2t + 1 and not self.auto_r2t:
            raise WireError("%d R2Ts at once for command %d" % (len(cmd.r2t), cid))
        if self.auto_r2t:
            self.answer(cid)

    def answer(self, cid, limit=None, **kw):
        """Sends the data of the oldest R2T of the command."""
        cmd = self.cmds[cid]
        ttag, off, n = cmd.r2t.pop(0)
        end, limit = off + n, limit or self.maxh2c
        while off < end:
            m = min(limit, end - off)
            self.send(self.data_pdu(cid, ttag, off, cmd.data[off:off + m], last=off + m == end, **kw), self.step)
            off += m

    def _c2h(self, p):
        cid, off, n = u16(p.head, 8), u32(p.head, 12), u32(p.head, 16)
        cmd = self._cmd(cid, "C2HData")
        if off != len(cmd.got) or off + n > cmd.want or cmd.seen_last:
            raise WireError("C2HData of %d bytes at %d, %d of %d came before" % (n, off, len(cmd.got), cmd.want))
        cmd.got += p.data
        if bool(p.flags & F_LAST) != (len(cmd.got) == cmd.want):
            # A command may move less than its SGL has room for: LAST then ends it early.
            if not p.flags & F_LAST:
                raise WireError("C2HData: all data without LAST")
            cmd.want = len(cmd.got)
        cmd.seen_last = bool(p.flags & F_LAST)
        if p.flags & F_SUCCESS:
            if self.sq_flow:
                raise WireError("SUCCESS although submission queue flow control is on")
            self.success += 1
            del self.cmds[cid]
            self.done[cid] = Cpl(struct.pack("<QHHHH", 0, 0, 0, cid, 0), bytes(cmd.got))

    # ---- commands from start to end ----

    def run(self, entry, **kw):
        timeout = kw.pop("timeout", None)
        return self.wait(self.submit(entry, **kw), timeout)

    def read_cmd(self, opc, nbytes, **dw):
        """A command that brings nbytes."""
        return self.run(sqe(opc, sgl=sgl_transport(nbytes), **dw), want=nbytes)

    def connect(self, subnqn, hostnqn, hostid, qid=0, sqsize=31, kato=0, cattr=0, cntlid=0xffff, by_r2t=False, **kw):
        data = kw.pop("data", None) or connect_data(subnqn, hostnqn, hostid, cntlid)
        sgl = kw.pop("sgl", None) or (sgl_transport(len(data)) if by_r2t else sgl_inline(len(data)))
        entry = connect_cmd(qid, sqsize, kato, cattr, sgl=sgl, **kw)
        cpl = self.run(entry, data=data, inline=not by_r2t)
        if cpl.sc == 0 and cattr & 4:
            self.sq_flow = False
        return cpl

    def prop_get(self, ofst, size8=False):
        return self.run(prop_get(ofst, size8))

    def prop_set(self, ofst, value, size8=False):
        return self.run(prop_set(ofst, value, size8))

    def identify(self, cns, nsid=0, cntid=0, csi=0, nbytes=4096, **kw):
        return self.read_cmd(IDENTIFY, nbytes, nsid=nsid, cdw10=cntid << 16 | cns, cdw11=csi << 24, **kw)

    def get_log(self, lid, nbytes, offset=0, nsid=0xffffffff, rae=0, lsp=0, **kw):
        numd = nbytes // 4 - 1
        return self.read_cmd(GET_LOG, nbytes, nsid=nsid, cdw10=lid | lsp << 8 | rae << 15 | (numd & 0xffff) << 16,
                             cdw11=numd >> 16, cdw12=offset & 0xffffffff, cdw13=offset >> 32, **kw)

    def get_feature(self, fid, sel=0, nbytes=0, cdw11=0, nsid=0):
        if nbytes:
            return self.read_cmd(GET_FEATURES, nbytes, nsid=nsid, cdw10=fid | sel << 8, cdw11=cdw11)
        return self.run(sqe(GET_FEATURES, nsid=nsid, cdw10=fid | sel << 8, cdw11=cdw11))

    def set_feature(self, fid, cdw11=0, save=0, nsid=0, **dw):
        return self.run(sqe(SET_FEATURES, nsid=nsid, cdw10=fid | save << 31, cdw11=cdw11, **dw))

    def keep_alive(self):
        return self.run(sqe(KEEP_ALIVE))

    def rw_entry(self, opc, nsid, slba, nlb, sgl, **dw):
        return sqe(opc, nsid=nsid, sgl=sgl, cdw10=slba & 0xffffffff, cdw11=slba >> 32, cdw12=(nlb - 1) & 0xffff, **dw)

    def read(self, nsid, slba, nbytes, block=512, **kw):
        cid = self.submit_read(nsid, slba, nbytes, block)
        return self.wait(cid, **kw)

    def submit_read(self, nsid, slba, nbytes, block=512):
        return self.submit(self.rw_entry(READ, nsid, slba, nbytes // block, sgl_transport(nbytes)), want=nbytes)

    def write(self, nsid, slba, data, block=512, inline=None, **kw):
        return self.wait(self.submit_write(nsid, slba, data, block, inline), **kw)

    def submit_write(self, nsid, slba, data, block=512, inline=None, **kw):
        inline = len(data) <= 4096 if inline is None else inline
        sgl = sgl_inline(len(data)) if inline else sgl_transport(len(data))
        return self.submit(self.rw_entry(WRITE, nsid, slba, len(data) // block, sgl), data=data, inline=inline, **kw)


class Host:
    """An association: an admin queue that is enabled, and I/O queues."""

    def __init__(self, addr, subnqn, hostnqn="nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-000000000001",
                 hostid=None, dgst=0, kato=0, queues=1, sqsize=127, enable=True, cattr=0, **kw):
        self.addr, self.subnqn, self.hostnqn = addr, subnqn, hostnqn
        self.hostid = hostid or crc32c(hostnqn.encode()).to_bytes(4, "little") * 4
        self.dgst, self.kw, self.kato, self.cattr = dgst, kw, kato, cattr
        self.io = []
        self.admin = Queue(addr, dgst, **kw)
        try:
            cpl = self.admin.connect(subnqn, hostnqn, self.hostid, 0, 31, kato)
            self.must(cpl, "Connect of the admin queue")
            self.cntlid = cpl.result & 0xffff
            if enable:
                self.enable()
                for i in range(queues):
                    self.add_queue(i + 1, sqsize)
        except Exception:
            self.close()
            raise

    @staticmethod
    def must(cpl, what):
        if cpl.status:
            raise WireError("%s: %r" % (what, cpl))
        return cpl

    def enable(self):
        self.must(self.admin.prop_set(CC, CC_ENABLE), "Property Set CC")
        deadline = time.monotonic() + 5
        while not self.must(self.admin.prop_get(CSTS), "Property Get CSTS").dw0 & 1:
            if time.monotonic() > deadline:
                raise WireError("CSTS.RDY does not come")
            time.sleep(0.01)

    def add_queue(self, qid, sqsize=127, cattr=None, **kw):
        q = Queue(self.addr, self.dgst, **{**self.kw, **kw})
        try:
            self.must(q.connect(self.subnqn, self.hostnqn, self.hostid, qid, sqsize, 0,
                                self.cattr if cattr is None else cattr, self.cntlid), "Connect of queue %d" % qid)
        except Exception:
            q.close()
            raise
        self.io.append(q)
        return q

    @property
    def q(self):
        return self.io[0]

    def close(self):
        for q in [self.admin, *self.io]:
            q.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
