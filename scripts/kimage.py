# SPDX-License-Identifier: BSD-2-Clause
"""Kernel images and modules as files: compression, boot images, ELF sections and symbols."""
import lzma
import re
import shutil
import struct
import subprocess
import zlib


class Bad(Exception):
    """Something is missing or damaged; the text says what, and the way out."""


def tool(name, data):
    if not shutil.which(name):
        raise Bad('%s is needed to unpack this file; install the package %s' % (name, name))
    # Kernel images have their length behind the last frame, of which these tools complain after the data.
    return subprocess.run([name, '-dcq'], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=120, check=False).stdout


def decompress(data):
    """Undoes one layer of compression, if there is one."""
    try:
        if data[:6] == b'\xfd7zXZ\0':
            return lzma.LZMADecompressor().decompress(data)
        if data[:2] == b'\x1f\x8b':
            return zlib.decompressobj(31).decompress(data)
    except (lzma.LZMAError, zlib.error, EOFError) as e:
        raise Bad('damaged compression (%s)' % e) from e
    if data[:4] == b'\x28\xb5\x2f\xfd':
        return tool('zstd', data)
    if data[:4] == b'\x02\x21\x4c\x18':
        return tool('lz4', data)
    return data


class Image:
    """A file with a kernel or module in it. data: unpacked; release: of a boot image, what it says of itself."""

    def __init__(self, path):
        self.path, self.release = path, None
        try:
            with open(path, 'rb') as f:
                raw = f.read()
        except OSError as e:
            raise Bad('%s: %s' % (path, e.strerror)) from e
        try:
            self.data = self.unpack(decompress(raw))
            self.sections = self.find_sections()
        except Bad as e:
            raise Bad('%s: %s' % (path, e)) from e
        except (struct.error, ValueError, IndexError) as e:
            raise Bad('%s: damaged or cut off (%s)' % (path, e)) from e

    def unpack(self, d):
        if d[0x202:0x206] == b'HdrS':        # x86 boot protocol: where the text of the release and the payload lie
            off, = struct.unpack_from('<H', d, 0x20e)
            if off:
                self.release = d[off + 512:off + 768].split(b'\0')[0].split(b' ')[0].decode('ascii', 'replace')
            off, n = struct.unpack_from('<II', d, 0x248)
            off += ((d[0x1f1] or 4) + 1) * 512
        elif d[4:8] == b'zimg':              # EFI zboot: arm64, riscv
            off, n = struct.unpack_from('<II', d, 8)
        else:
            return d
        if off + n > len(d):
            raise Bad('the boot image is cut off')
        return decompress(d[off:off + n])

    def find_sections(self):
        """Name -> (header, bytes)."""
        d = self.data
        if d[:6] != b'\x7fELF\x02\x01':
            return {}
        shoff, = struct.unpack_from('<Q', d, 40)
        ent, num, stri = struct.unpack_from('<HHH', d, 58)
        self.headers = [struct.unpack_from('<IIQQQQIIQQ', d, shoff + i * ent) for i in range(num)]
        if stri >= num:
            raise Bad('an ELF file without section names')
        names = d[self.headers[stri][4]:][:self.headers[stri][5]]
        res = {}
        for h in self.headers:
            name = names[h[0]:names.index(b'\0', h[0])].decode('ascii', 'replace')
            nobits = h[1] == 8
            if not nobits and h[4] + h[5] > len(d):
                raise Bad('section %s is cut off' % name)
            res[name] = h, b'' if nobits else d[h[4]:h[4] + h[5]]
        return res

    def btf(self):
        """The BTF: a section's, a raw file's, or that inside a flat boot image."""
        if '.BTF' in self.sections:
            return self.sections['.BTF'][1]
        if self.data[:2] == b'\x9f\xeb':
            return self.data
        for m in re.finditer(rb'\x9f\xeb\x01\x00\x18\0\0\0\0\0\0\0', self.data):
            tlen, soff, slen = struct.unpack_from('<III', self.data, m.start() + 12)
            end = m.start() + 24 + soff + slen
            if tlen == soff and end <= len(self.data):
                return self.data[m.start():end]
        raise Bad('%s: has no BTF (a kernel without CONFIG_DEBUG_INFO_BTF or CONFIG_DEBUG_INFO_BTF_MODULES, or not a '
                  'kernel file at all); give KSRC=, the source of that kernel' % self.path)

    def modinfo(self, key):
        for line in self.sections.get('.modinfo', (0, b''))[1].split(b'\0'):
            k, _, v = line.partition(b'=')
            if k.decode('ascii', 'replace') == key:
                return v.decode('ascii', 'replace')
        return None

    def crcs(self):
        """Symbol versions of what a module exports: name -> CRC."""
        if '.symtab' not in self.sections or '.strtab' not in self.sections:
            return {}
        res, names = {}, self.sections['.strtab'][1]
        try:
            for n, _, _, shn, value, _ in struct.iter_unpack('<IBBHQQ', self.sections['.symtab'][1]):
                name = names[n:names.index(b'\0', n)]
                if name.startswith(b'__crc_') and 0 < shn < 0xff00:
                    res[name[6:].decode()], = struct.unpack_from('<I', self.data, self.headers[shn][4] + value)
        except (struct.error, ValueError, IndexError) as e:
            raise Bad('%s: damaged symbol table (%s)' % (self.path, e)) from e
        return res
