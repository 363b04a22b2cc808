#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A user of AF_ALG: crypto_afalg.py [SECONDS]

Hashes, encrypts and decrypts by the drivers of nvme-accel-crypto through sockets, and compares with hashlib and with the
kernel's own software by the same sockets. Prints what was done, or what was wrong; status 1 then.
"""
import hashlib
import os
import random
import socket
import sys
import time

ENCRYPT, DECRYPT = socket.ALG_OP_ENCRYPT, socket.ALG_OP_DECRYPT
# A pipe's worth: AF_ALG takes no more pages in one call.
MOST = 60000


def sock(kind, name, key=None, tag=None):
    s = socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)
    s.bind((kind, name))
    if key is not None:
        s.setsockopt(socket.SOL_ALG, socket.ALG_SET_KEY, key)
    if tag is not None:
        s.setsockopt(socket.SOL_ALG, socket.ALG_SET_AEAD_AUTHSIZE, None, tag)
    return s


def digest(name, data):
    with sock('hash', name) as s, s.accept()[0] as op:
        op.sendall(data)
        return op.recv(64)


def pieces(name, data):
    with sock('hash', name) as s, s.accept()[0] as op:
        at = 0
        while at < len(data) and random.random() < 0.8:
            n = random.randint(1, len(data) - at)
            op.send(data[at:at + n], socket.MSG_MORE)
            at += n
        op.send(data[at:])
        return op.recv(64)


def cipher(name, key, op_code, iv, data):
    with sock('skcipher', name, key) as s, s.accept()[0] as op:
        op.sendmsg_afalg([data], op=op_code, iv=iv)
        return op.recv(len(data))


def aead(name, key, op_code, iv, aad, data, tag=16):
    """data: with the tag behind it to decrypt."""
    with sock('aead', name, key, tag) as s, s.accept()[0] as op:
        op.sendmsg_afalg([aad + data], op=op_code, iv=iv, assoclen=len(aad))
        n = len(aad) + len(data) + (tag if op_code == ENCRYPT else -tag)
        return op.recv(n)[len(aad):]


def check(good, what):
    if not good:
        print('wrong:', what)
        sys.exit(1)


def one(done):
    n = random.choice((random.randint(0, 300), random.randint(1, MOST), 4096 * random.randint(1, 14)))
    data = os.urandom(n)
    want = hashlib.sha256(data).digest()
    check(digest('sha256-nvme-accel', data) == want, f'digest of {n} bytes')
    check(pieces('sha256-nvme-accel', data) == want, f'digest of {n} bytes in pieces')
    done['hash'] += 2

    n = max(n & ~15, 16)
    key, iv, data = os.urandom(random.choice((32, 64))), os.urandom(16), os.urandom(n)
    ours = cipher('xts-aes-nvme-accel', key, ENCRYPT, iv, data)
    check(ours == cipher('xts(ecb(aes-generic))', key, ENCRYPT, iv, data), f'xts of {n} bytes')
    check(cipher('xts-aes-nvme-accel', key, DECRYPT, iv, ours) == data, f'xts back, {n} bytes')
    done['skcipher'] += 2

    n = random.randint(1, MOST - 400)
    key, iv, aad, data = os.urandom(random.choice((16, 32))), os.urandom(12), os.urandom(random.randint(0, 64)), os.urandom(n)
    generic = 'gcm_base(ctr(aes-generic),ghash-generic)'
    ours = aead('gcm-aes-nvme-accel', key, ENCRYPT, iv, aad, data)
    check(ours == aead(generic, key, ENCRYPT, iv, aad, data), f'gcm of {n} bytes')
    check(aead('gcm-aes-nvme-accel', key, DECRYPT, iv, aad, ours) == data, f'gcm back, {n} bytes')
    bad = bytearray(ours)
    bad[random.randrange(len(bad))] ^= 1
    try:
        aead('gcm-aes-nvme-accel', key, DECRYPT, iv, aad, bytes(bad))
        check(False, 'gcm took what was forged')
    except OSError:
        pass
    done['aead'] += 3


def main():
    end = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else 5)
    done = {'hash': 0, 'skcipher': 0, 'aead': 0}
    while True:
        one(done)
        if time.monotonic() >= end:
            break
    print(' '.join(f'{k} {v}' for k, v in done.items()))


main()
