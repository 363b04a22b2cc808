#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""More memory than there is: crypto_pages.py MIB ROUNDS

Fills MIB of memory with pages of which each is told by its number (most compress, some do not), and looks at all of them again,
ROUNDS times in another order, changing some. Prints "pages N"; status 1 with the first page that is not what it was.
"""
import hashlib
import mmap
import random
import sys

PAGE = 4096


def page(number, version):
    seed = hashlib.sha256(f'{number}.{version}'.encode()).digest()
    kind = number % 16
    if kind == 0:
        return random.Random(seed).randbytes(PAGE)
    if kind == 1:
        return bytes([number & 255]) * PAGE
    line = seed.hex().encode() + b' %d: a page like many others ' % number
    return (line * (PAGE // len(line) + 1))[:PAGE]


def main():
    count, rounds = int(sys.argv[1]) * 256, int(sys.argv[2])
    memory = mmap.mmap(-1, count * PAGE)
    versions = [0] * count
    for i in range(count):
        memory[i * PAGE:(i + 1) * PAGE] = page(i, 0)
    for r in range(rounds):
        order = list(range(count))
        random.shuffle(order)
        for i in order:
            if memory[i * PAGE:(i + 1) * PAGE] != page(i, versions[i]):
                print(f'page {i} is wrong in round {r}')
                sys.exit(1)
            if random.random() < 0.2:
                versions[i] += 1
                memory[i * PAGE:(i + 1) * PAGE] = page(i, versions[i])
    print('pages', count)


main()
