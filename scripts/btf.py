# SPDX-License-Identifier: BSD-2-Clause
"""BTF, the type information of kernels and modules (Documentation/bpf/btf.rst of the kernel says what it is)."""
import re
import struct
from kimage import Bad

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, PROTO, VAR, DATASEC, \
    FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = range(1, 20)
QUALIFIERS = {VOLATILE: 'volatile', CONST: 'const', RESTRICT: 'restrict'}
TRANSPARENT = (VOLATILE, CONST, RESTRICT, TYPEDEF, TYPE_TAG)
AGGREGATE = (STRUCT, UNION)
ENUMS = (ENUM, ENUM64)
# What follows the 12 bytes of a type: bytes in any case, and bytes for each of its vlen elements.
TAIL = {INT: (4, 0), ARRAY: (12, 0), STRUCT: (0, 12), UNION: (0, 12), ENUM: (0, 8), PROTO: (0, 8), VAR: (4, 0),
        DATASEC: (0, 12), DECL_TAG: (4, 0), ENUM64: (0, 12)}
REFERS = (PTR, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, PROTO, VAR, DECL_TAG, TYPE_TAG)
NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_.$]*\Z')
MISMATCH = 'the base BTF does not belong to this module'


class Type:
    __slots__ = ('name', 'kind', 'flag', 'vlen', 'size', 'pos')

    def __init__(self, name, info, size, pos):
        self.name, self.size, self.pos = name, size, pos
        self.kind, self.flag, self.vlen = info >> 24 & 31, info >> 31, info & 0xffff


class Btf:
    """The types of one file; those of a module (split BTF) stand on a base and go on with its numbers."""

    def __init__(self, blob, path, base=None):
        self.path, self.base, self.types, self.aligns = path, base, [], {}
        if len(blob) < 24:
            raise Bad('%s: the BTF is cut off' % path)
        magic, version, _, hlen, toff, tlen, soff, slen = struct.unpack_from('<HBBIIIII', blob)
        if magic != 0xeb9f or version != 1:
            raise Bad('%s: not BTF version 1, little endian' % path)
        if max(hlen + toff + tlen, hlen + soff + slen) > len(blob):
            raise Bad('%s: the BTF is cut off' % path)
        self.data, self.text = blob[hlen + toff:hlen + toff + tlen], blob[hlen + soff:hlen + soff + slen]
        if not self.text or self.text[-1] or (not base and self.text[0]):
            raise Bad('%s: damaged BTF: its strings do not end' % path)
        self.first = base.end if base else 1
        self.text0 = base.text0 + len(base.text) if base else 0
        self.index()
        self.end = self.first + len(self.types)
        self.names = {}
        for i, t in enumerate(self.types):
            if t.name:
                self.names.setdefault(self.string(t.name), []).append(self.first + i)

    def index(self):
        p, end, data = 0, len(self.data), self.data
        while p < end:
            if end - p < 12:
                raise Bad('%s: damaged BTF: the last type is cut off' % self.path)
            t = Type(*struct.unpack_from('<III', data, p), p + 12)
            if not 1 <= t.kind <= ENUM64:
                raise Bad('%s: BTF of a kind that is not known here: %d (damaged, or newer than this program)' %
                          (self.path, t.kind))
            once, each = TAIL.get(t.kind, (0, 0))
            p += 12 + once + each * t.vlen
            if p > end:
                raise Bad('%s: damaged BTF: the last type is cut off' % self.path)
            self.types.append(t)

    def check_split(self):
        """
        A module's BTF against its base. Names lie where strings begin, and numbers are those of types: with another
        base they point into the middle of strings, or at nothing.
        """
        for t in self.types:
            names, ids = [t.name], [t.size] if t.kind in REFERS else []
            if t.kind in AGGREGATE or t.kind == PROTO:
                step = 12 if t.kind != PROTO else 8
                for j in range(t.vlen):
                    n, i = struct.unpack_from('<II', self.data, t.pos + step * j)
                    names.append(n)
                    ids.append(i)
            elif t.kind == ARRAY:
                ids += struct.unpack_from('<II', self.data, t.pos)
            elif t.kind in ENUMS:
                step = 8 if t.kind == ENUM else 12
                names += [struct.unpack_from('<I', self.data, t.pos + step * j)[0] for j in range(t.vlen)]
            for i in ids:
                if i >= self.end:
                    raise Bad('%s: type %d is beyond the end: %s' % (self.path, i, MISMATCH))
            for n in names:
                if n and (not self.begins(n) or (t.kind != DATASEC and not NAME.match(self.string(n)) and
                                                 t.kind not in (INT, DECL_TAG, FLOAT))):
                    raise Bad('%s: a name is none ("%s"): %s' % (self.path, self.string(n)[:40], MISMATCH))
            if t.kind == FUNC and self.type(t.size).kind != PROTO:
                raise Bad('%s: %s is not a function: %s' % (self.path, self.string(t.name), MISMATCH))

    def owner(self, o):
        b = self
        while o < b.text0:
            b = b.base
        if o - b.text0 >= len(b.text):
            raise Bad('%s: a name is beyond the end of the strings: %s' %
                      (self.path, MISMATCH if self.base else 'damaged BTF'))
        return b, o - b.text0

    def begins(self, o):
        b, p = self.owner(o)
        return p == 0 or b.text[p - 1] == 0

    def string(self, o):
        if not o:
            return ''
        b, p = self.owner(o)
        return b.text[p:b.text.index(b'\0', p)].decode('ascii', 'replace')

    def type(self, i):
        b = self
        while i < b.first:
            b = b.base
            if not b:
                return Type(0, 0, 0, 0)                 # 0: void
        if i >= b.end:
            raise Bad('%s: type %d is beyond the end: %s' % (self.path, i, MISMATCH if self.base else 'damaged BTF'))
        return b.types[i - b.first]

    def bytes(self, i):
        b = self
        while i < b.first:
            b = b.base
        return b.data

    def kind(self, i):
        return self.type(i).kind

    def ref(self, i):
        return self.type(i).size

    def name(self, i):
        return self.string(self.type(i).name)

    def members(self, i):
        """Name, type, bit offset, width if a bit field else 0."""
        t, data = self.type(i), self.bytes(i)
        for j in range(t.vlen):
            n, m, o = struct.unpack_from('<III', data, t.pos + 12 * j)
            yield self.string(n), m, o & 0xffffff if t.flag else o, o >> 24 if t.flag else 0

    def enumerators(self, i):
        t, data = self.type(i), self.bytes(i)
        for j in range(t.vlen):
            if t.kind == ENUM:
                n, v = struct.unpack_from('<Ii' if t.flag else '<II', data, t.pos + 8 * j)
            else:
                n, lo, hi = struct.unpack_from('<III', data, t.pos + 12 * j)
                v = hi << 32 | lo
                v -= (1 << 64) if t.flag and v >> 63 else 0
            yield self.string(n), v

    def array(self, i):
        """Element type, number of elements."""
        e, _, n = struct.unpack_from('<III', self.bytes(i), self.type(i).pos)
        return e, n

    def params(self, i):
        t, data = self.type(i), self.bytes(i)
        for j in range(t.vlen):
            n, p = struct.unpack_from('<II', data, t.pos + 8 * j)
            yield self.string(n), p

    def strip(self, i):
        """Without typedefs and qualifiers."""
        for _ in range(64):
            t = self.type(i)
            if t.kind not in TRANSPARENT:
                return i
            i = t.size
        raise Bad('%s: damaged BTF: a type that refers to itself' % self.path)

    def size(self, i):
        i = self.strip(i)
        t = self.type(i)
        if t.kind == PTR:
            return 8
        if t.kind == ARRAY:
            e, n = self.array(i)
            return n * self.size(e)
        return t.size if t.kind in (INT, STRUCT, UNION, ENUM, ENUM64, FLOAT) else 1

    def align(self, i):
        """Natural alignment; 1 (packed) for what has a member that is not where its own alignment wants it."""
        i = self.strip(i)
        if i not in self.aligns:
            self.aligns[i] = self.find_align(i)
        return self.aligns[i]

    def find_align(self, i):
        t = self.type(i)
        if t.kind == ARRAY:
            return self.align(self.array(i)[0])
        if t.kind in AGGREGATE:
            res = 1
            for _, m, o, width in self.members(i):
                if width:
                    a = self.align(m) if t.size % self.align(m) == 0 else 1
                else:
                    a = self.align(m)
                    if o % (8 * a):
                        return 1
                res = max(res, a)
            return res if t.size % res == 0 else 1
        return max(1, min(self.size(i), 16))

    def find(self, kinds, name):
        """Types of that name: the module's own, else the base's."""
        b, res = self, []
        while b and not res:
            res = [i for i in b.names.get(name, []) if self.kind(i) in kinds]
            b = b.base
        return res
