# SPDX-License-Identifier: BSD-2-Clause
"""C declarations from BTF. Alignment and packing, which BTF does not record, follow from the offsets."""
from kimage import Bad
from btf import (INT, PTR, ARRAY, STRUCT, UNION, ENUM, ENUM64, FWD, TYPEDEF, PROTO, FLOAT, TYPE_TAG, QUALIFIERS,
                 AGGREGATE, ENUMS)

TAGS = {'user': '__user', 'rcu': '__rcu', 'percpu': '__percpu'}
MAX_ALIGN = 4096


def up(bits, to):
    return -(-bits // to) * to


def number(v):
    if -(1 << 31) <= v < 1 << 31:
        return str(v)
    return '%d%s' % (v, 'U' if 0 <= v < 1 << 32 else 'LL' if v < 0 else 'ULL')


class Layout:
    """One struct or union as lines of members; the compiler must come to the offsets that BTF has."""

    def __init__(self, writer, i, indent):
        self.w, self.t, self.i, self.indent = writer, writer.t, i, indent
        self.union = self.t.kind(i) == UNION
        self.members = list(self.t.members(i))
        self.packed = any(not w and o % (8 * self.t.align(m)) for _, m, o, w in self.members)
        self.lines, self.end, self.most, self.pads = [], 0, 1, 0
        if not self.packed and self.t.ref(i) % max([self.t.align(m) for _, m, _, _ in self.members], default=1):
            self.packed = True

    def add(self, text):
        self.lines.append('\t' * self.indent + text + ';')

    def bits(self, name, m, o, width):
        t = self.t
        unit, decl = 8 * t.size(m), self.w.decl(m, '').rstrip()
        if not self.union and o > self.end:
            limit = up(self.end, 8 if self.packed else unit)
            if o < limit:
                self.add('%s :%d' % (decl, o - self.end))
            elif self.end < o:
                if not self.packed:
                    self.add('%s :0' % decl)
                    self.end = limit
                while self.end < o:
                    n = min(unit, o - self.end)
                    self.add('%s :%d' % (decl, n))
                    self.end += n
        self.add('%s%s:%d' % (decl, name and ' ' + name, width))
        self.end = max(self.end, o + width)
        if not self.packed:
            self.most = max(self.most, t.align(m))

    def plain(self, name, m, o):
        a = 1 if self.packed else self.t.align(m)
        b = a
        while not self.union and up(self.end, 8 * b) != o and b < MAX_ALIGN:
            b *= 2
        if not self.union and up(self.end, 8 * b) != o:
            if o < self.end or (o - self.end) % 8:
                raise Bad('cannot write %s %s in C: member %s lies at bit %d' %
                          ('struct', self.t.name(self.i), name, o))
            self.pads += 1                              # no alignment leads there: bytes without a name
            self.add('unsigned char __pad%d[%d]' % (self.pads, (o - self.end) // 8))
            b = a
        attr = ' __attribute__((__aligned__(%d)))' % b if b > a else ''
        # [] may only be the last of several; [0] may be anywhere, but is no flexible array to the compiler's checks.
        last = not self.union and len(self.members) > 1 and (name, m, o, 0) == self.members[-1]
        if self.t.kind(m) == ARRAY and not self.t.array(m)[1] and not last:
            text = self.w.decl(self.t.array(m)[0], name + '[0]', self.indent + 1)
        else:
            text = self.w.decl(m, name, self.indent + 1)
        self.add(text.rstrip() + attr)
        self.most = max(self.most, b)
        self.end = max(self.end, o + 8 * self.t.size(m))

    def text(self, keyword):
        for name, m, o, width in self.members:
            if width:
                self.bits(name, m, o, width)
            else:
                self.plain(name, m, o)
        size, a = 8 * self.t.ref(self.i), self.most
        while up(self.end, 8 * a) != size and a < MAX_ALIGN:
            a *= 2
        if up(self.end, 8 * a) != size:
            a = self.most
            if (size - self.end) % 8 or size < self.end:
                raise Bad('cannot write %s %s in C: its size is %d' % (keyword, self.t.name(self.i), size // 8))
            if size > self.end:
                self.add('unsigned char __pad_end[%d]' % ((size - self.end) // 8))
        attr = (['__packed__'] if self.packed else []) + (['__aligned__(%d)' % a] if a > self.most else [])
        name = self.t.name(self.i)
        return '%s%s {\n%s%s}%s' % (keyword, name and ' ' + name, ''.join(x + '\n' for x in self.lines),
                                    '\t' * (self.indent - 1),
                                    attr and ' __attribute__((%s))' % ', '.join(attr) or '')


class Writer:
    """public: what the public headers have already (Public of cnames.py). Collects declarations in their order."""

    def __init__(self, btf, public):
        self.t, self.public = btf, public
        self.out, self.asserts, self.state, self.forward = [], [], {}, set()

    def keyword(self, t):
        if t.kind not in (STRUCT, UNION, FWD, ENUM, ENUM64):
            raise Bad('%s: a type of kind %d where there can be none: damaged BTF' % (self.t.path, t.kind))
        return 'union' if t.kind == UNION or (t.kind == FWD and t.flag) else 'enum' if t.kind in ENUMS else 'struct'

    def decl(self, i, d, indent=1):
        """A declaration of d (a name, perhaps with * and so on before it, or empty)."""
        t = self.t
        x = t.type(i)
        if x.kind == 0:
            return 'void ' + d
        if x.kind == TYPE_TAG:
            return self.decl(x.size, '%s %s' % (TAGS[t.string(x.name)], d) if t.string(x.name) in TAGS else d, indent)
        if x.kind == PTR:
            bare = x.size
            while t.kind(bare) == TYPE_TAG:
                bare = t.ref(bare)
            wrap = t.kind(bare) in (ARRAY, PROTO)
            return self.decl(x.size, '(*%s)' % d if wrap else '*' + d, indent)
        if x.kind in QUALIFIERS:
            return self.qualified(x, d, indent)
        if x.kind == ARRAY:
            e, n = t.array(i)
            return self.decl(e, '%s[%s]' % (d, n or ''), indent)
        if x.kind == PROTO:
            params = [self.decl(p, n, indent).rstrip() if p else '...' for n, p in t.params(i)]
            return self.decl(x.size, '%s(%s)' % (d, ', '.join(params) or 'void'), indent)
        name = t.string(x.name)
        if x.kind in AGGREGATE or x.kind == FWD:
            kw = self.keyword(x)
            return '%s %s %s' % (kw, name, d) if name else '%s %s' % (self.body(i, indent), d)
        if x.kind in ENUMS:
            return 'enum %s %s' % (name, d) if name else '%s %s' % (self.enum(i, indent), d)
        if not name or x.kind not in (INT, TYPEDEF, FLOAT):
            raise Bad('%s: a type of kind %d (%s) where there can be none: damaged BTF' % (t.path, x.kind, name))
        return '%s %s' % (name, d)

    def qualified(self, x, d, indent):
        r = x.size
        while self.t.kind(r) == TYPE_TAG:
            r = self.t.ref(r)
        word = QUALIFIERS[x.kind]
        if self.t.kind(r) == PTR:
            return self.decl(x.size, '%s %s' % (word, d), indent)
        return '%s %s' % (word, self.decl(x.size, d, indent))

    def enum(self, i, indent=1):
        tab, name, size = '\t' * indent, self.t.name(i), self.t.ref(i)
        return 'enum %s{\n%s%s}%s' % (name and name + ' ',
                                      ''.join('%s%s = %s,\n' % (tab, n, number(v)) for n, v in self.t.enumerators(i)),
                                      '\t' * (indent - 1), ' __attribute__((__packed__))' if size < 4 else '')

    def body(self, i, indent=1):
        return Layout(self, i, indent).text('union' if self.t.kind(i) == UNION else 'struct')

    def need(self, i, by_value):
        """Before a type is used: what is held by value must be defined, what is pointed to declared."""
        t = self.t
        x = t.type(i)
        if x.kind in (0, INT, FLOAT):
            return
        if x.kind == PTR:
            self.need(x.size, False)
        elif x.kind in QUALIFIERS or x.kind == TYPE_TAG:
            self.need(x.size, by_value)
        elif x.kind == ARRAY:
            self.need(t.array(i)[0], True)
        elif x.kind == PROTO:
            self.need(x.size, False)
            for _, p in t.params(i):
                self.need(p, False)
        elif x.kind == TYPEDEF:
            self.typedef(x, by_value)
        elif not x.name:
            if x.kind in AGGREGATE:
                for _, m, _, _ in t.members(i):
                    self.need(m, True)
        else:
            self.tagged(i, x, by_value)

    def typedef(self, x, by_value):
        name = self.t.string(x.name)
        if name not in self.public.words and ('typedef', name) not in self.state:
            self.state['typedef', name] = 2
            self.need(x.size, by_value)
            self.out.append('typedef %s;' % self.decl(x.size, name))

    def tagged(self, i, x, by_value):
        key = self.keyword(x), self.t.string(x.name)
        if key in self.public.tags:
            return
        if key[0] == 'enum' or (by_value and x.kind != FWD):
            self.define(i)
        else:
            self.forward.add(key)

    def define(self, i):
        """Writes a type with a name, after what it needs."""
        key = self.keyword(self.t.type(i)), self.t.name(i)
        if key in self.public.tags or self.state.get(key) == 2:
            return
        if self.state.get(key) == 1:
            raise Bad('%s: %s %s holds itself: damaged BTF' % ((self.t.path,) + key))
        self.state[key] = 1
        if key[0] == 'enum':
            self.out.append(self.enum(i) + ';')
        else:
            for _, m, _, _ in self.t.members(i):
                self.need(m, True)
            self.out.append(self.body(i) + ';')
            self.check(i, '%s %s' % key)
        self.state[key] = 2

    def check(self, i, c):
        self.asserts.append('static_assert(sizeof(%s) == %d);' % (c, self.t.ref(i)))
        self.check_members(i, c, 0)

    def check_members(self, i, c, at):
        for name, m, o, width in self.t.members(i):
            bare = self.t.strip(m)
            if width:
                continue
            if not name:
                self.check_members(bare, c, at + o)
                continue
            self.asserts.append('static_assert(offsetof(%s, %s) == %d);' % (c, name, (at + o) // 8))
            if self.t.kind(bare) != ARRAY or self.t.array(bare)[1]:
                self.asserts.append('static_assert(sizeof(((%s *)0)->%s) == %d);' % (c, name, self.t.size(m)))
