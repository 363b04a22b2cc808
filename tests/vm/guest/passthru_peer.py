#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A hostile peer: passthru_peer.py NODE CONTROLLER NSID [exported]

Sends every opcode, with wrong lengths, namespaces, flags and fields, by the ioctls of a namespace's node (I/O) and of
its controller (admin). Prints what was answered: "io OPCODE..." those that were ever served, "admin OPCODE...", "slowest
MS", "odd N" (how many were served whose length was not what the command says), "sent N".
"""
import ctypes
import errno
import fcntl
import mmap
import os
import random
import struct
import sys
import time

LAYOUT = '<BBHIIIQQIIIIIIIIII'
ADMIN, IO = 0x41, 0x43
READ, WRITE, FLUSH = 2, 1, 0
EVENT, FABRICS, SET_FEATURES, KEEP_ALIVE = 0x0c, 0x7f, 0x09, 0x18
LENGTHS = (0, 1, 3, 511, 512, 513, 4095, 4096, 4100, 65536, 131072, 1 << 20)


class Peer:
    def __init__(self, node, controller, nsid, exported):
        self.io = os.open(node, os.O_RDWR)
        self.admin = os.open(controller, os.O_RDWR)
        self.nsid, self.exported = nsid, exported
        self.memory = mmap.mmap(-1, 2 << 20)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.served = {ADMIN: set(), IO: set()}
        self.slowest = self.sent = self.odd = 0
        self.block = 1 << 9

    def send(self, kind, opcode, length=0, nsid=None, flags=0, cdw2=0, cdw3=0, metadata=0, words=(0,) * 6, at=0):
        data = struct.pack(LAYOUT, opcode, flags, 0, self.nsid if nsid is None else nsid, cdw2, cdw3,
                           self.address if metadata else 0, self.address + at if length else 0, metadata, length,
                           *words, 3000, 0)
        start = time.monotonic()
        try:
            rc = fcntl.ioctl(self.io if kind == IO else self.admin, 3 << 30 | len(data) << 16 | ord('N') << 8 | kind,
                             bytearray(data))
        except OSError as e:
            rc = -e.errno
            if e.errno in (errno.ENODEV, errno.EBADF):
                raise
        self.slowest = max(self.slowest, (time.monotonic() - start) * 1000)
        self.sent += 1
        if rc == 0:
            self.served[kind].add(opcode)
        return rc

    def harmless(self, opcode):
        """Not to be sent by admin: it would end or hold the connection of the host that carries us."""
        return self.exported and opcode in (EVENT, FABRICS, SET_FEATURES, KEEP_ALIVE)

    def every_opcode(self):
        for opcode in range(256):
            for length in LENGTHS:
                for blocks in (0, 7, 0xffff) if opcode in (READ, WRITE, FLUSH, 5, 8, 12) else (length // 4,):
                    words = (blocks if opcode >= 0x80 else 0, 0, blocks & 0xffff, 0, 0, 0)
                    rc = self.send(IO, opcode, length, words=words, at=opcode % 4)
                    right = (blocks + 1) * self.block if opcode in (READ, WRITE) else 0
                    if rc == 0 and length != right and not (opcode == FLUSH and length == 0):
                        self.odd += 1
                        print(f'# served: opcode {opcode:#x}, {length} bytes, NLB {blocks}')

    def fields(self):
        for opcode in (READ, WRITE, FLUSH):
            for extra in ({'flags': 1}, {'flags': 0x40}, {'flags': 0x80}, {'cdw2': 1}, {'cdw3': 1}):
                self.bad(opcode, **extra)
            # Metadata of a command without data the ioctl itself leaves out.
            if opcode != FLUSH:
                self.bad(opcode, metadata=8)
            for i, value in ((0, 0xffffffff), (1, 0xffffffff), (2, 0x3c000000), (2, 1 << 16 | 1), (4, 1), (5, 1)):
                self.bad(opcode, words=tuple(value if j == i else 0 for j in range(6)))
            for nsid in (0, self.nsid + 1, 1025, 0xfffffffe, 0xffffffff):
                self.bad(opcode, nsid=nsid)

    def bad(self, opcode, **extra):
        if self.send(IO, opcode, 0 if opcode == FLUSH else self.block, **extra) == 0:
            self.odd += 1
            print(f'# served: opcode {opcode:#x}, {extra}')

    def admins(self):
        for opcode in range(256):
            if self.harmless(opcode):
                continue
            for length in (0, 1, 4096, 5000) if opcode != EVENT else (0,):
                for nsid in (0, self.nsid, 0xffffffff, 77):
                    self.send(ADMIN, opcode, length, nsid=nsid, words=(random.getrandbits(8), 0, 0, 0, 0, 0))
                    if opcode == EVENT:
                        break

    def by_chance(self, n):
        for _ in range(n):
            kind = random.choice((ADMIN, IO))
            opcode = random.choice((0, 1, 2, 5, 6, 8, 9, 0x0a, 0x0c, 0x80, 0x81, 0x84, random.getrandbits(8)))
            if kind == ADMIN and (self.harmless(opcode) or opcode == EVENT):
                continue
            words = tuple(random.choice((0, 1, 7, 0xff, random.getrandbits(32))) for _ in range(6))
            self.send(kind, opcode, random.choice(LENGTHS), random.choice((self.nsid, self.nsid, 0, 0xffffffff)),
                      random.choice((0, 0, 0, random.getrandbits(8))), metadata=random.choice((0, 0, 8)), words=words,
                      at=random.choice((0, 1, 4, 2048)))


def main():
    node, controller, nsid = sys.argv[1:4]
    peer = Peer(node, controller, int(nsid), len(sys.argv) > 4)
    with open(f'/sys/block/{os.path.basename(node)}/queue/logical_block_size') as f:
        peer.block = int(f.read())
    seed = random.getrandbits(32)
    random.seed(seed)
    print(f'# seed {seed}')
    peer.every_opcode()
    peer.fields()
    peer.admins()
    peer.by_chance(500 if peer.exported else 2000)
    for kind, name in ((IO, 'io'), (ADMIN, 'admin')):
        print(name, *(f'{o:#04x}' for o in sorted(peer.served[kind])))
    print('odd', peer.odd)
    print('slowest', int(peer.slowest))
    print('sent', peer.sent)


main()
