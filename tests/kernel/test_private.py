#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
scripts/mkprivate.py against the compiler: types of every kind are compiled with BTF, written as a header by the program,
and the compiler must lay that header's types out as the first ones. What does not belong together, or is cut off or
damaged, must be refused with a message. TAP.
"""
import gzip
import lzma
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, 'scripts'))
import mkprivate                                                                    # noqa: E402
from cnames import split                                                            # noqa: E402

TYPES_H = os.path.join(TOP, 'tests/kernel/btf_types.h')
EXPORT = 'drivers/test/test-core'
CRC = 0x1234abcd
work, count, failures = None, 0, 0


def ok(good, name, why=''):
    global count, failures
    count += 1
    failures += not good
    print('%s %d - %s' % ('ok' if good else 'not ok', count, name))
    if not good:
        for line in str(why).splitlines()[:12]:
            print('#   ' + line)
    sys.stdout.flush()


def at(name):
    return os.path.join(work, name)


def put(name, data):
    with open(at(name), 'wb' if isinstance(data, bytes) else 'w') as f:
        f.write(data)
    return at(name)


def get(name):
    with open(at(name), 'rb') as f:
        return f.read()


def run(*command):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    if r.returncode:
        raise RuntimeError('%s: %s' % (' '.join(command), r.stdout))
    return r.stdout


def build(name, source, base=None):
    """An object with BTF; split from that of another object if base is given."""
    run('gcc', '-g', '-O1', '-c', '-I', os.path.dirname(TYPES_H), '-o', at(name), put(name + '.c', source))
    run('pahole', '-J', *(['--btf_base', at(base)] if base else []), at(name))
    return at(name)


BASE_C = '#define TYPES_BASE\n#include "btf_types.h"\n' \
    'struct list_head l; struct pub_packed p; struct pub_aligned a; struct pub_odd o; enum pub_enum e; u64 u; u16 v;\n'


def types_text():
    with open(TYPES_H, encoding='ascii') as f:
        return re.sub(r'\s*/\*.*?\*/', '', f.read(), flags=re.S)


def tags():
    return re.findall(r'^(struct|union) (t_\w+) \{', types_text(), re.M)


def module_c():
    uses = ''.join('%s %s v_%s;\n' % (k, n, n) for k, n in tags() if n not in ('t_flexible',))
    return '#include "btf_types.h"\n' + uses + 'struct t_flexible *v_flexible; int v_anon = ANON_X;\n' \
        'struct test_vermagic { char text[32]; };\n' \
        'int f_plain(struct t_plain *p, unsigned long flags) { return p->a + flags; }\n' \
        'const char *f_types(enum e_small e, no_tag_t *n, fn_t f, int (*g)(u8)) { return f(0, "") && g(e) ? 0 : (void *)n; }\n' \
        'int f_variadic(const char *fmt, ...) { return *fmt; }\nvoid f_void(void) { }\n' \
        'enum anon_use { U = ANON_Y }; int f_anon(int x) { return x == ANON_Y; }\n' \
        'static const char vermagic[] __attribute__((used, section(".modinfo"))) = "vermagic=1.2.3-test SMP";\n' \
        'asm(".pushsection kcrctab,\\"a\\"\\n.globl __crc_f_plain\\n__crc_f_plain: .long 0x%x\\n.popsection");\n' % CRC


def symvers(name='symvers', crc=CRC):
    functions = ['f_types', 'f_variadic', 'f_void', 'f_anon']
    return put(name, '0x%08x\tf_plain\t%s\tEXPORT_SYMBOL_GPL\t\n' % (crc, EXPORT) +
               ''.join('0x00000000\t%s\t%s\tEXPORT_SYMBOL_GPL\tNS\n' % (f, EXPORT) for f in functions))


def generate(*more, module='module.o', base='base.o', output='out.h', types=None, symbols='symvers'):
    """None if it went well, else the message."""
    argv = ['--module', at(module), '--base', at(base), '--public', at('public.i'), '--symvers', at(symbols),
            '--export', EXPORT, '-o', at(output), '--types', types or ','.join(n for _, n in tags()), *more]
    out, sys.stdout = sys.stdout, open(os.devnull, 'w', encoding='ascii')
    try:
        return mkprivate.main(argv)
    finally:
        sys.stdout.close()
        sys.stdout = out


def layout_c(header):
    """A program that prints how the compiler lays out every member of every type."""
    text = types_text()
    lines = ['#include <assert.h>', '#include <stddef.h>', '#include <stdio.h>', '#include <string.h>', header, 'int main(void)', '{']
    for kind, name in tags():
        t = '%s %s' % (kind, name)
        body = re.search(r'^%s \{(.*?)\}[^;{}]*;$' % t, text, re.M | re.S).group(1)
        lines.append('printf("%s %%zu %%zu\\n", sizeof(%s), _Alignof(%s));' % (t, t, t))
        for path, bits in members(body):
            if bits:
                lines.append('{ union { %s t; unsigned char b[sizeof(%s)]; } u; memset(&u, 0, sizeof(u)); u.t.%s = -1;'
                             'printf("  %s"); for (size_t i = 0; i < sizeof(u); i++) printf(" %%x", u.b[i]); puts(""); }' %
                             (t, t, path, path))
            else:
                lines.append('printf("  %s %%zu\\n", offsetof(%s, %s));' % (path, t, path))
    return '\n'.join(lines + ['return 0;', '}', ''])


def members(body):
    """Of a struct's text: the path of each member with a name, and whether it is a bit field."""
    for m in split(body, ';'):
        m = re.sub(r'__attribute__\(\([^()]*(?:\([^()]*\))?\)\)', '', m).strip()
        inner = re.match(r'(?:struct|union) \{(.*)\}\s*(\w*)$', m, re.S)
        if inner:
            prefix = inner.group(2) and inner.group(2) + '.'
            yield from ((prefix + path, bits) for path, bits in members(inner.group(1)))
            continue
        for d in split(m, ','):
            name = re.search(r'\(\*+(?:\(\*)?(\w+)', d) or re.search(r'(\w+)(?:\[\d*\])*(?::\d+)?$', d.strip())
            if name and not re.search(r'\s:\d+$', d):
                yield name.group(1), bool(re.search(r'\w:\d+$', d))


def test_layout():
    why = generate('--enumerators', 'ANON_X')
    ok(why is None, 'a header is made of types of every kind', why)
    if why:
        return
    public = '#define TYPES_BASE\n#include "btf_types.h"\n#undef TYPES_BASE\n'
    put('own.c', layout_c('#include "btf_types.h"'))
    put('theirs.c', layout_c(public + '#include "out.h"'))
    result = {}
    for name in ('own', 'theirs'):
        try:
            run('gcc', '-std=gnu11', '-Wno-overflow', '-I', os.path.dirname(TYPES_H), '-I', work, '-o', at(name), at(name + '.c'))
            result[name] = run(at(name))
        except RuntimeError as e:
            ok(False, 'the %s types compile, and their asserts hold' % ('first' if name == 'own' else 'generated'), e)
            return
    ok(True, 'the generated types compile, and their asserts hold')
    lines = result['own'].splitlines()
    ok(len(lines) > 120, '%d sizes, offsets and bit fields to compare' % len(lines), result['own'])
    compare_layout(lines, result['theirs'].splitlines())


def compare_layout(own, theirs):
    """A type a test. Alignment of a whole type may be less than in the source only if no size or offset tells of it."""
    names, where = [], {}
    for side, lines in enumerate((own, theirs)):
        for line in lines:
            if not line.startswith(' '):
                key = ' '.join(line.split()[:2])
                names += [key] if not side else []
                line = line.rsplit(' ', 1)[0]
            where.setdefault((key, side), []).append(line)
    for key in names:
        a, b = where[key, 0], where.get((key, 1), [])
        ok(a == b, '%s is laid out as the compiler did' % key, '\n'.join('%s | %s' % x for x in zip(a, b) if x[0] != x[1]))


def test_contents():
    text = get('out.h').decode()

    def has(pattern, name):
        ok(re.search(pattern, text, re.M), name, pattern)

    has(r'^#define BTF_HAVE_f_plain 2$', 'a function has its number of parameters')
    has(r'^#define BTF_HAVE_f_void 0$', 'without parameters: 0')
    has(r'^int f_plain\(struct t_plain \*p, (long unsigned int|unsigned long) flags\);$', 'a prototype')
    has(r'^int f_variadic\(const char \*fmt, \.\.\.\);$', 'a prototype with any number of parameters')
    has(r'^#define BTF_EXPORT_f_anon 1$', 'what is exported')
    has(r'^#define BTF_HAVE_t_plain__d 1$', 'a member')
    ok(not re.search(r'BTF_HAVE_t_plain__x|struct list_head \{|struct pub_\w+ \{', text), 'no member that is not, no public type')
    has(r'^static_assert\(sizeof\(struct t_packed\) == 15\);$', 'an assert of a size')
    has(r'^static_assert\(offsetof\(struct t_anon, d\) == ', 'an assert of an offset inside a union without a name')
    has(r'ANON_Y = 4', 'an enum without a name, chosen by an enumerator')
    has(r'E_BIG = 20015998343868ULL', 'an enumerator of 64 bits')


def refused(name, pattern, **arguments):
    more = arguments.pop('more', ())
    if os.path.exists(at('no.h')):
        os.unlink(at('no.h'))
    why = generate(*more, output='no.h', **arguments)
    ok(why and re.search(pattern, why) and not os.path.exists(at('no.h')), 'refused: ' + name, why or 'it was taken')


def test_source():
    """Beside the header of a kernel's source: what it has, and the module's asserts about it."""
    why = generate('--asserts-only', output='asserts.h')
    ok(why is None and 'struct t_plain {' not in get('asserts.h').decode(), 'asserts alone', why)
    put('asserts.c', '#include <assert.h>\n#include <stddef.h>\n#include "btf_types.h"\n#include "asserts.h"\n')
    compiled('asserts.c', 'they hold of the source', True)
    put('asserts.c', '#include <assert.h>\n#include <stddef.h>\n#define t_plain t_other\n#include "btf_types.h"\n#undef t_plain\n'
        'struct t_plain { u16 b; u8 a; u8 c; u64 d; char e; };\n#include "asserts.h"\n')
    compiled('asserts.c', 'and not of another', False)
    os.makedirs(at('drivers/test'), exist_ok=True)
    put('drivers/test/test.h', '''struct s_one { int a, *b; unsigned c:3, :4; union { int d; }; struct { int in; } e[2]; int (*f)(int, int); char g[4][2]; };
extern int f_plain(struct s_one *p, int (*call)(int, int));
int __attribute__((cold)) f_void(void);
static inline int f_inline(int a) { return a ? f_void() : 0; }
const char *f_variadic(const char *fmt, ...), *not_exported(void);
enum s_enum { S_A = sizeof(struct s_one), S_B };
static inline void f_last(struct s_one *p) { p->a = ({ int x = 1; x; }); }
int f_after(int);
''')
    put('source.c', '#include "btf_types.h"\n#include "drivers/test/test.h"\nint other(int a);\n')
    put('source.i', run('gcc', '-E', '-I', os.path.dirname(TYPES_H), '-I', work, at('source.c')))
    why = generate('--source', at('source.i'), '--source-header', 'drivers/test/test.h', output='source.h')
    ok(why is None, 'what a header of a source has', why)
    have = set(re.findall(r'^#define (\w+ \d+)$', get('source.h').decode(), re.M)) if not why else set()
    want = {'BTF_HAVE_s_one__%s 1' % m for m in 'abcefg'} | {
        'BTF_HAVE_f_plain 2', 'BTF_HAVE_f_void 0', 'BTF_EXPORT_f_plain 1', 'BTF_EXPORT_f_void 1',
        'BTF_INLINE_f_inline 1', 'BTF_INLINE_f_last 1'}
    ok(want <= have and not any('other' in h or 'f_after' in h for h in have), 'members, functions, inline functions',
       'missing: %s\nhas: %s' % (sorted(want - have), sorted(have)))
    put('empty.i', run('gcc', '-E', '-I', os.path.dirname(TYPES_H), at('base.o.c')))
    refused('a source without that header', r'nothing of drivers/test/test\.h',
            more=('--source', at('empty.i'), '--source-header', 'drivers/test/test.h'))


def compiled(source, name, wanted):
    r = subprocess.run(['gcc', '-std=gnu11', '-fsyntax-only', '-I', os.path.dirname(TYPES_H), '-I', work, at(source)],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    ok((r.returncode == 0) == wanted and (wanted or 'static assertion failed' in r.stdout), name, r.stdout)


def test_mismatch():
    build('other.o', BASE_C + 'struct another { struct list_head l; struct another *x; } n; struct yet { short s; } y;\n')
    build('less.o', 'typedef unsigned u32; struct list_head { struct list_head *next, *prev; } l; u32 x;\n')
    refused('a base of another build', r'does not belong to this module', base='other.o')
    refused('a base that is shorter', r'does not belong to this module', base='less.o')
    symvers('symvers2', CRC + 1)
    refused('other symbol versions', r'not of one build.*f_plain.*install', symbols='symvers2')
    refused('another release', r'is of kernel 1\.2\.3-test, the headers are of 1\.2\.4.*install', more=('--release', '1.2.4'))
    refused('a type that is not there', r'no type no_such_type', types='t_plain,no_such_type')
    ok(generate(types='t_plain,?no_such_type') is None, 'an optional type may be missing')
    put('symvers3', '0x0\tx\tdrivers/other\tEXPORT_SYMBOL\t\n')
    refused('a Module.symvers without the module', r'%s exports nothing' % EXPORT, symbols='symvers3')
    refused('a Module.symvers that is not there', r'symvers4: No such file', symbols='symvers4')
    refused('a module that is not there', r'none\.ko: No such file', module='none.ko')
    put('none', '0x00000000\tf_plain\t%s\tEXPORT_SYMBOL_GPL\t\n' % EXPORT)
    refused('a module without BTF', r'no BTF.*KSRC', module='base.o.c', symbols='none')
    refused('a base without BTF', r'no BTF.*KSRC', base='base.o.c')


def test_packing():
    raw = get('module.o')
    for suffix, data in (('gz', gzip.compress(raw)), ('xz', lzma.compress(raw))):
        put('module.ko.' + suffix, data)
        ok(generate(module='module.ko.' + suffix, types='t_plain') is None, 'a module as .' + suffix)
        refused('.%s cut off' % suffix, r'damaged|cut off|no BTF', module=os.path.basename(put('cut.' + suffix, data[:len(data) // 2])))
    run('zstd', '-q', at('module.o'), '-o', at('module.ko.zst'))
    ok(generate(module='module.ko.zst', types='t_plain') is None, 'a module as .zst')
    payload = lzma.compress(get('base.o')) + struct.pack('<I', len(get('base.o')))     # as kernels have it: a size behind
    setup = bytearray(1024 + 512)
    setup[0x1f1], setup[0x202:0x206] = 2, b'HdrS'
    setup[0x20e:0x210] = struct.pack('<H', 0x300)
    setup[0x500:0x50c] = b'1.2.3-test x'
    setup[0x248:0x250] = struct.pack('<II', 0, len(payload))
    put('vmlinuz', bytes(setup) + payload)
    ok(generate('--release', '1.2.3-test', base='vmlinuz', types='t_plain') is None, 'a boot image (xz) as base')
    setup[0x500:0x50c] = b'1.2.9-test x'
    put('vmlinuz2', bytes(setup) + payload)
    refused('a boot image of another release', r'is of kernel 1\.2\.9-test', base='vmlinuz2', more=('--release', '1.2.3-test'))
    refused('a boot image that is cut off', r'cut off', base=os.path.basename(put('vmlinuz3', (bytes(setup) + payload)[:1600])))


def test_damage():
    """Raw BTF cut at every kind of place, and with bytes changed: a header or a message, and nothing else."""
    for part in ('base', 'module'):
        run('objcopy', '-O', 'binary', '--only-section=.BTF', '--set-section-flags', '.BTF=alloc', at(part + '.o'), at(part + '.btf'))
    why = generate(module='module.btf', base='base.btf', symbols='none')
    ok(why is None, 'raw BTF', why)
    rng = random.Random(1)
    for part in ('base', 'module'):
        whole, wrong, told = get(part + '.btf'), [], 0
        cases = [whole[:n] for n in sorted({0, 1, 8, 23, 24, 25, len(whole) - 1} | {rng.randrange(len(whole)) for _ in range(60)})]
        cut = len(cases)
        for _ in range(300):
            b = bytearray(whole)
            for _ in range(rng.choice((1, 1, 2, 8, 64))):
                b[rng.randrange(len(b))] = rng.choice((0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)))
            cases.append(bytes(b))
        for i, data in enumerate(cases):
            put('damaged.btf', data)
            try:
                why = generate(**{'module': 'module.btf', 'base': 'base.btf', part: 'damaged.btf'}, symbols='none', output='no.h')
            except Exception as e:                                                  # pylint: disable=broad-except
                wrong.append('case %d: %s: %s' % (i, type(e).__name__, e))
                continue
            told += bool(why)
            if why is None and i < cut or why and not why.startswith('mkprivate: '):
                wrong.append('case %d: %s' % (i, why or 'BTF that is cut off was taken'))
        ok(not wrong and told > cut, '%s: %d cut or damaged, %d refused, no other end' % (part, len(cases), told), '\n'.join(wrong))


def test_command():
    """As a program: status and message, no traceback."""
    r = subprocess.run([sys.executable, os.path.join(TOP, 'scripts/mkprivate.py'), '--module', at('module.btf'), '--base', at('damaged.btf'),
                        '--public', at('public.i'), '--symvers', at('none'), '--export', EXPORT, '--types', 'no_such', '-o', at('no.h')],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    ok(r.returncode == 1 and r.stderr.startswith('mkprivate: ') and 'Traceback' not in r.stderr, 'an error is one message', r.stderr)
    r = subprocess.run([sys.executable, os.path.join(TOP, 'scripts/mkprivate.py'), '-o', 'x'], stderr=subprocess.PIPE, text=True,
                       timeout=60, check=False)
    ok(r.returncode == 2 and 'required' in r.stderr, 'missing arguments are named', r.stderr)


def main():
    global work
    with tempfile.TemporaryDirectory() as work:
        build('base.o', BASE_C)
        build('module.o', module_c(), 'base.o')
        run('gcc', '-E', '-I', os.path.dirname(TYPES_H), '-o', at('public.i'), at('base.o.c'))
        symvers()
        for test in (test_layout, test_contents, test_source, test_mismatch, test_packing, test_damage, test_command):
            try:
                test()
            except RuntimeError as e:
                ok(False, test.__name__, e)
    print('1..%d' % count)
    return failures != 0


sys.exit(main())
