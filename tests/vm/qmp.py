#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""One command for QEMU: qmp.py SOCKET COMMAND [NAME=VALUE]..."""
import json
import socket
import sys


def main():
    path, command, *words = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(path)
        f = s.makefile('rw')
        f.readline()

        def ask(name, /, **arguments):
            f.write(json.dumps({'execute': name, 'arguments': arguments}) + '\n')
            f.flush()
            while True:
                answer = json.loads(f.readline())
                if 'return' in answer:
                    return
                if 'error' in answer:
                    sys.exit(f"# qmp {name}: {answer['error']['desc']}")

        ask('qmp_capabilities')
        truth = {'true': True, 'false': False}
        ask(command, **{name: truth.get(value, value) for name, value in (w.split('=', 1) for w in words)})


main()
