#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the emulator's NVMe controllers transferred, by their trace (pci_nvme_map_addr): p2p_trace.py TRACE BAR SIZE FROM TO
Between the Verify commands (pci_nvme_verify) of blocks FROM and TO: bytes inside of the BAR's window, bytes elsewhere."""
import re
import sys


def main():
    path, *numbers = sys.argv[1:]
    bar, size, begin, end = (int(n, 0) for n in numbers)
    inside = outside = 0
    on = False
    with open(path, encoding='ascii', errors='replace') as f:
        for line in f:
            mark = re.search(r'pci_nvme_verify .* slba (0x[0-9a-f]+|\d+) ', line)
            if mark:
                on = on and int(mark[1], 0) != end or int(mark[1], 0) == begin
            move = on and re.search(r'pci_nvme_map_addr addr (0x[0-9a-f]+) len (\d+)', line)
            if move:
                at, n = int(move[1], 16), int(move[2])
                within = bar <= at and at + n <= bar + size
                inside, outside = inside + n * within, outside + n * (not within)
    print(inside, outside)


main()
