#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""An NVMe/TCP connection with faults: crypto_proxy.py LISTEN_PORT TARGET_PORT CONTROL

What it does to the answers of the target says the file CONTROL, at any time:
  pass       nothing
  flip       one bit of each job's output is another one
  delay S    each answer comes S seconds later
  cut        every connection is cut, and new ones are refused
Writes to CONTROL.flips how many bits it has flipped.
"""
import asyncio
import random
import struct
import sys

C2H_DATA = 7
STATUS_MAGIC = b'AJS1'
BLOCK = 512


class Proxy:
    def __init__(self, target, control):
        self.target, self.control = target, control
        self.mode, self.flips, self.writers = ['pass'], 0, set()

    async def watch(self):
        while True:
            try:
                with open(self.control) as f:
                    self.mode = f.read().split() or ['pass']
            except OSError:
                pass
            if self.mode[0] == 'cut':
                for w in list(self.writers):
                    w.transport.abort()
            await asyncio.sleep(0.05)

    def flip(self, pdu):
        """The status comes first, the output behind it, in the same answer or in the next pieces of it."""
        at = pdu[3]
        if pdu[0] != C2H_DATA or pdu[at:at + 4] != STATUS_MAGIC or len(pdu) <= at + BLOCK:
            return
        out_len = struct.unpack_from('<Q', pdu, at + 56)[0]
        n = min(out_len, len(pdu) - at - BLOCK)
        if n:
            pdu[at + BLOCK + random.randrange(n)] ^= 1 << random.randrange(8)
            self.flips += 1
            with open(self.control + '.flips', 'w') as f:
                f.write(f'{self.flips}\n')

    async def answers(self, reader, writer):
        while True:
            head = await reader.readexactly(8)
            length = struct.unpack_from('<I', head, 4)[0]
            pdu = bytearray(head + await reader.readexactly(length - 8))
            if self.mode[0] == 'flip':
                self.flip(pdu)
            elif self.mode[0] == 'delay':
                await asyncio.sleep(float(self.mode[1]))
            writer.write(pdu)
            await writer.drain()

    async def questions(self, reader, writer):
        while data := await reader.read(1 << 18):
            writer.write(data)
            await writer.drain()

    async def connection(self, reader, writer):
        if self.mode[0] == 'cut':
            writer.transport.abort()
            return
        try:
            to_reader, to_writer = await asyncio.open_connection('127.0.0.1', self.target)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, to_writer}
        self.writers |= both
        tasks = [asyncio.create_task(self.questions(reader, to_writer)), asyncio.create_task(self.answers(to_reader, writer))]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for t in tasks:
            t.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.writers -= both
        for w in both:
            w.transport.abort()


async def main():
    listen, target, control = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    proxy = Proxy(target, control)
    server = await asyncio.start_server(proxy.connection, '127.0.0.1', listen)
    async with server:
        await proxy.watch()


asyncio.run(main())
