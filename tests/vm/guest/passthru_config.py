#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Attributes of virtual controllers and their namespaces in configfs: what is taken, what is refused and said so, what
cannot change while something is enabled. passthru_config.py attributes | enabled CTRL NSID: TAP lines without numbers."""
import errno
import os
import sys
import time

ROOT = '/sys/kernel/config/nvme-accel-passthru'
NQN = 'nqn.2026-11.local.accel:'
bad = 0


def result(good, name, *why):
    global bad
    bad |= not good
    print('ok -' if good else 'not ok -', name)
    for line in () if good else why:
        print('#  ', line)


def get(path):
    with open(f'{ROOT}/{path}') as f:
        return f.read().rstrip('\n')


def put(path, value):
    """0 or the errno."""
    fd = os.open(f'{ROOT}/{path}', os.O_WRONLY)
    try:
        os.write(fd, value.encode() + b'\n')
    except OSError as e:
        return e.errno
    finally:
        os.close(fd)
    return 0


def attempt(call, path):
    try:
        call(f'{ROOT}/{path}')
    except OSError as e:
        return e.errno
    return 0


class Log:
    """The kernel's log from now on."""

    def __init__(self):
        self.fd = os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)

    def new(self):
        lines = []
        while True:
            try:
                lines.append(os.read(self.fd, 8192).decode(errors='replace'))
            except BlockingIOError:
                return lines


LOG = Log()


def short(value):
    return value if len(value) < 30 else f'{value[:20]}... ({len(value)})'


def takes(where, attribute, *values):
    for v in values:
        e = put(f'{where}/{attribute}', v)
        now = get(f'{where}/{attribute}')
        result(e == 0 and now == v, f'{attribute} takes {short(v)}', f'errno {e}, now {now}')


def refuses(where, attribute, *values):
    """EINVAL; the old value stays; the log names the attribute, for the first one at least: it is rate limited."""
    for i, v in enumerate(values):
        was = get(f'{where}/{attribute}')
        LOG.new()
        e = put(f'{where}/{attribute}', v)
        now, log = get(f'{where}/{attribute}'), LOG.new()
        result(e == errno.EINVAL and now == was, f'{attribute} refuses {short(v)!r}', f'errno {e}, now {now}')
        if i == 0:
            said = any('nvme-accel-passthru' in line and attribute in line for line in log)
            result(said, '  and the log says why', *log)
    # Ten lines in five seconds.
    time.sleep(0.5 * min(len(values), 4))


def busy(where, **attributes):
    for a, v in attributes.items():
        was = get(f'{where}/{a}')
        e = put(f'{where}/{a}', v)
        now = get(f'{where}/{a}')
        result(e == errno.EBUSY and now == was, f'  {a} cannot be changed then', f'errno {e}, now {now}')


def controllers():
    for name in ('a b', 'a"b', '.a', 'n' * 49):
        result(attempt(os.mkdir, name) == errno.EINVAL, f'no controller {short(name)!r}')
    result(attempt(os.mkdir, 'c') == 0, 'a controller is made')
    result((get('c/enable'), get('c/state'), get('c/device')) == ('0', 'disabled', ''), '  not enabled, without a device')
    for a in ('subsysnqn', 'serial', 'model', 'firmware'):
        result(get(f'c/{a}') != '', f'  {a} has a default: {get("c/" + a)}')
    takes('c', 'subsysnqn', NQN + 'c', NQN + 'x' * (223 - len(NQN)))
    refuses('c', 'subsysnqn', NQN + 'x' * (224 - len(NQN)), 'c', NQN + 'a b', NQN + 'a/b')
    for attribute, most in (('serial', 20), ('model', 40), ('firmware', 8)):
        takes('c', attribute, '1', 'X' * most)
        refuses('c', attribute, 'X' * (most + 1), 'a\tb')
    takes('c', 'queue_depth', '1024', '2', '128')
    refuses('c', 'queue_depth', '1', '0', '-1', '1025', 'x')
    takes('c', 'nr_queues', '128', '2', '0')
    refuses('c', 'nr_queues', '129', '-1', 'x')
    refuses('c', 'enable', '2', 'x')
    for a in ('device', 'state'):
        mode = os.stat(f'{ROOT}/c/{a}').st_mode & 0o222
        result(mode == 0, f'{a} is read only')


def namespaces():
    for name in ('0', '1025', 'x', '1x', '-1', '+1', '01', '0x1', '99999999999'):
        result(attempt(os.mkdir, f'c/namespaces/{name}') == errno.EINVAL, f'no namespace {name}')
    for name in ('1', '1024', '7'):
        result(attempt(os.mkdir, f'c/namespaces/{name}') == 0, f'namespace {name}')
    n = 'c/namespaces/7'
    result(put(f'{n}/enable', '1') == errno.EINVAL, '  of no kind is not enabled')
    takes(n, 'kind', 'engine', 'device')
    refuses(n, 'kind', 'disk', '1')
    takes(n, 'device_path', '/dev/nvme77')
    refuses(n, 'device_path', 'nvme0')
    takes(n, 'device_nsid', '1', '4294967294')
    refuses(n, 'device_nsid', '0', '-1', '4294967295', '4294967296', 'x')
    takes(n, 'shared', '1', '0')
    refuses(n, 'shared', '2', 'x')
    takes(n, 'engine_type', 'compression', 'erasure', 'cipher', 'digest', 'checksum', 'data', 'all')
    refuses(n, 'engine_type', 'magic')
    takes(n, 'engine_threads', '2', '0')
    refuses(n, 'engine_threads', '-1', '100000')
    takes(n, 'engine_slots', '1', '1024', '64')
    refuses(n, 'engine_slots', '0', '1025', 'x')
    takes(n, 'engine_lbads', '9', '12')
    refuses(n, 'engine_lbads', '8', '13', 'x')
    takes(n, 'engine_window_bits', '9', '15')
    refuses(n, 'engine_window_bits', '8', '16')
    for words in ('read', 'read write flush', 'read write flush compare', 'read write-zeroes verify', 'read 0x80:none 0x92:ndt'):
        e = put(f'{n}/allow', words)
        again = put(f'{n}/allow', get(f'{n}/allow'))
        same = sorted(get(f'{n}/allow').split()) == sorted(words.split())
        result(e == 0 and again == 0 and same, f'allow takes {words}, and what it shows', f'errno {e}, {again}', get(f'{n}/allow'))
    refuses(n, 'allow', 'magic', '0x7f:none', '0x81', '0x81:x', '0x100:none', 'read read', 'format', '0x83:ndt', '')
    for attribute, least, most in (('max_inflight', 1, 1 << 32), ('max_bytes_per_sec', 65536, 1 << 64),
                                   ('max_cmds_per_sec', 10, 1 << 64)):
        takes(n, attribute, str(most - 1), str(least), '0')
        refuses(n, attribute, str(most), '-1', 'x', *([str(least - 1)] if least > 1 else []))
    takes(n, 'uuid', '6b1f0c6e-0000-4000-8000-00000000000a')
    refuses(n, 'uuid', '6b1f0c6e-0000-4000-8000-00000000000', 'x', '00000000-0000-0000-0000-000000000000')
    takes(n, 'nguid', '0123456789abcdef0123456789abcdef')
    refuses(n, 'nguid', '0123', 'x' * 32, '0' * 32)
    for name in ('1', '7', '1024'):
        result(attempt(os.rmdir, f'c/namespaces/{name}') == 0, f'namespace {name} is taken away')
    result(attempt(os.rmdir, 'c') == 0, 'so is the controller')


def enabled(c, nsid):
    n = f'{c}/namespaces/{nsid}'
    busy(c, subsysnqn=NQN + 'other', serial='2', model='x', firmware='2', queue_depth='64', nr_queues='1')
    busy(n, kind='engine', device_path='/dev/nvme9', device_nsid='2', shared='1', engine_type='all', engine_slots='8',
         engine_threads='3', engine_lbads='9', engine_window_bits='9', allow='read',
         uuid='6b1f0c6e-0000-4000-8000-00000000000b', nguid='0123456789abcdef0123456789abcdef')
    takes(n, 'max_inflight', '4', '0')
    takes(n, 'max_bytes_per_sec', '1000000', '0')
    takes(n, 'max_cmds_per_sec', '1000', '0')
    result(put(f'{c}/enable', '1') == 0 and get(f'{c}/state') == 'live', 'enabled twice: live as before')
    result(put(f'{n}/enable', '1') == 0 and get(f'{n}/enable') == '1', '  the namespace, too')


if sys.argv[1] == 'attributes':
    result(get('version')[0].isdigit(), f'version {get("version")}')
    result('device' in get('features').split(), f'features {get("features")}')
    controllers()
    namespaces()
else:
    enabled(*sys.argv[2:])
sys.exit(bad)
