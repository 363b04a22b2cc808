#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Writes a C header with private types and prototypes of a kernel module, from the BTF of that very module: what no headers
package ships, and what differs from kernel to kernel. kernel/Makefile calls it; Documentation/kernel-build.rst explains it.
"""
import argparse
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from kimage import Bad, Image                                                       # noqa: E402
from btf import Btf, STRUCT, UNION, ENUM, ENUM64, FUNC                              # noqa: E402
from btf_c import Writer                                                            # noqa: E402
from cnames import Public, features                                                 # noqa: E402


def arguments(argv):
    p = argparse.ArgumentParser(description='Private types of a kernel module as a C header, from BTF.')
    p.add_argument('--module', help='the module, for example nvme-core.ko; .xz, .zst, .gz as well')
    p.add_argument('--base', help='the kernel of the same build: vmlinux, vmlinuz, or raw BTF')
    p.add_argument('--public', required=True, help='preprocessed text of the public headers')
    p.add_argument('--symvers', required=True, help='Module.symvers of the same build')
    p.add_argument('--export', required=True, help="the module's name in Module.symvers, for example drivers/nvme/host/nvme-core")
    p.add_argument('--types', default='', help='types to write, with commas; ?NAME: if it is there')
    p.add_argument('--enumerators', default='', help='enums without a name are written if they have one of these')
    p.add_argument('--release', help='uname -r of the kernel; it is compared with what the files say')
    p.add_argument('--source', help='instead of types: preprocessed text that has the header of the kernel source')
    p.add_argument('--source-header', help="that header's path at the end, for example drivers/nvme/host/nvme.h")
    p.add_argument('--asserts-only', action='store_true', help='no types, but their static asserts (beside --source)')
    p.add_argument('-o', '--output', required=True)
    return p.parse_args(argv)


def exports(a):
    """What Module.symvers says that the module exports: name -> (CRC, namespace)."""
    res, any_line = {}, False
    try:
        with open(a.symvers, encoding='ascii', errors='replace') as f:
            for line in f:
                w = line.rstrip('\n').split('\t')
                any_line = any_line or len(w) >= 4
                if len(w) >= 4 and (w[2] == a.export or (a.source and w[2] == 'vmlinux')):
                    res[w[1]] = int(w[0], 16), w[4] if len(w) > 4 else ''
    except OSError as e:
        raise Bad('%s: %s (it comes with the headers package of the kernel)' % (a.symvers, e.strerror)) from e
    if not res:
        raise Bad('%s: %s exports nothing there: %s' % (a.symvers, a.export, 'a kernel without this module' if any_line
                                                        else 'not a Module.symvers'))
    return res


def check_build(a, module, base, exported):
    """Module, base and headers must be of one build."""
    magic = (module.modinfo('vermagic') or '').split(' ')[0]
    for what, release in ((module.path, magic), (base.path, base.release)):
        if a.release and release and release != a.release:
            raise Bad('%s is of kernel %s, the headers are of %s: install the image and the headers of one version' %
                      (what, release, a.release))
    crcs = module.crcs()
    bad = sorted(n for n, (crc, _) in exported.items() if crc and crcs.get(n) != crc)   # 0: no MODVERSIONS
    if bad:
        raise Bad('%s and %s are not of one build: symbol versions differ (%s%s): install the image and the headers of '
                  'one version' % (module.path, a.symvers, ', '.join(bad[:3]), ', ...' if len(bad) > 3 else ''))


def pick(w, kinds, name):
    """The one type of that name, or None."""
    found = w.t.find(kinds, name)
    if len(found) > 1:
        texts = {w.decl(w.t.ref(i), name) if w.t.kind(i) == FUNC else
                 w.body(i) if w.t.kind(i) in (STRUCT, UNION) else w.enum(i) for i in found}
        if len(texts) > 1:
            raise Bad('%s: %s is there %d times, and not the same' % (w.t.path, name, len(found)))
    return found[0] if found else None


def write_types(a, w):
    for name in filter(None, a.types.split(',')):
        optional, name = name.startswith('?'), name.lstrip('?')
        i = pick(w, (STRUCT, UNION, ENUM, ENUM64), name)
        if i is not None:
            w.define(i)
        elif not optional and not any((k, name) in w.public.tags for k in ('struct', 'union', 'enum')):
            raise Bad('%s: there is no type %s: a kernel that this version does not know, or not the right module' %
                      (w.t.path, name))
    wanted = set(filter(None, a.enumerators.split(',')))
    for i in range(w.t.first, w.t.end):
        if w.t.kind(i) in (ENUM, ENUM64) and not w.t.name(i):
            names = {n for n, _ in w.t.enumerators(i)}
            if names & wanted and not names & w.public.words:
                w.out.append(w.enum(i) + ';')
                wanted -= names


def write_functions(w, exported):
    prototypes, have = [], {}
    for name in sorted(exported):
        i = pick(w, (FUNC,), name)
        if i is None:
            continue
        proto = w.t.ref(i)
        w.need(proto, False)
        have[name] = len(list(w.t.params(proto)))
        if name not in w.public.words:
            prototypes.append(w.decl(proto, name) + ';')
    for kind, name in sorted(w.state):
        if kind == 'struct':
            for member, _, _, _ in w.t.members(pick(w, (STRUCT,), name)):
                if member:
                    have['%s__%s' % (name, member)] = 1
    return prototypes, have


def macros(have, exported):
    res = ['#define BTF_HAVE_%s %d' % x for x in sorted(have.items())]
    return res + ['#define BTF_EXPORT_%s 1' % n for n in sorted(exported)]


def head(a, public, title):
    res = ['/* Generated by scripts/mkprivate.py: %s. Not to be edited, kept or shared. */' % title]
    if public.version is not None:
        res += ['#include <linux/version.h>', '#if LINUX_VERSION_CODE != %d' % public.version,
                '#error "this header was made for kernel %s"' % (a.release or public.version), '#endif']
    if a.release:
        res += ['#include <generated/utsrelease.h>', '#ifndef __CHECKER__',
                'static_assert(__builtin_strcmp(UTS_RELEASE, "%s") == 0, "made for kernel %s");' % (a.release, a.release),
                '#endif']
    return res


def asserts(w):
    """For the compiler: sparse computes some public structures' sizes differently."""
    return ['#ifndef __CHECKER__'] + w.asserts + ['#endif']


def from_btf(a, public):
    exported = exports(a)
    if not a.module or not a.base:
        raise Bad('--module and --base are needed, or --source')
    module, base = Image(a.module), Image(a.base)
    check_build(a, module, base, exported)
    split = Btf(module.btf(), a.module, Btf(base.btf(), a.base))
    split.check_split()
    w = Writer(split, public)
    write_types(a, w)
    if a.asserts_only:
        return head(a, public, 'layout in %s' % os.path.basename(a.module)) + asserts(w)
    prototypes, have = write_functions(w, exported)
    print('mkprivate: %d types, %d prototypes, %d asserts' % (len(w.state), len(prototypes), len(w.asserts)))
    return head(a, public, 'from %s' % os.path.basename(a.module)) + ['%s %s;' % x for x in sorted(w.forward)] + w.out + \
        prototypes + asserts(w) + macros(have, exported)


def from_source(a, public):
    exported = exports(a)
    have, inlines = features(a.source, a.source_header)
    if not have:
        raise Bad('%s: nothing of %s in it: is KSRC the source of this kernel?' % (a.source, a.source_header))
    have = {n: v for n, v in have.items() if '__' in n or n in exported}
    return head(a, public, 'from %s' % a.source_header) + macros(have, {n: exported[n] for n in have if n in exported}) + \
        ['#define BTF_INLINE_%s 1' % n for n in sorted(inlines)]


def write(a):
    public = Public(a.public)
    text = from_source(a, public) if a.source else from_btf(a, public)
    tmp = a.output + '.tmp'
    try:
        with open(tmp, 'w', encoding='ascii') as f:
            f.write('\n'.join(text) + '\n')
        os.replace(tmp, a.output)
    except OSError as e:
        raise Bad('%s: %s' % (a.output, e.strerror)) from e


def main(argv):
    """None, or what went wrong."""
    sys.setrecursionlimit(10000)
    try:
        write(arguments(argv))
    except Bad as e:
        return 'mkprivate: %s' % e
    except (struct.error, ValueError, IndexError, RecursionError, OverflowError) as e:
        return 'mkprivate: damaged BTF (%s: %s)' % (type(e).__name__, e)
    return None


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
