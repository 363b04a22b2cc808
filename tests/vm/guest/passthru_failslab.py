#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each step of a virtual controller's life with each of its allocations failing in turn: it gives an error and leaves
nothing, or the allocation does not matter; afterwards the step succeeds. passthru_failslab.py load MODULE.ko | life CTRL
NSID: TAP lines without numbers; CTRL NSID: what is below (nvme0 1). The injectors are set up by debug.inc.
FAIL_MOST: at most so many allocations of a step are tried, evenly spread (40); 0: all."""
import ctypes
import errno
import mmap
import os
import sys
import time

ROOT = '/sys/kernel/config/nvme-accel-passthru'
MODULE = 'nvme_accel_passthru'
FINIT_MODULE, DELETE_MODULE = 313, 176
MANY = 1 << 20
MOST = int(os.environ.get('FAIL_MOST', 40))
libc = ctypes.CDLL(None, use_errno=True)
nth_fd = os.open('/proc/self/fail-nth', os.O_RDWR)
bad = 0


def result(good, name, *why):
    global bad
    bad |= not good
    print('ok -' if good else 'not ok -', name, flush=True)
    for line in () if good else why:
        print('#  ', line, flush=True)


# ---- One allocation ----

def attempt(nth, call, *args):
    """Calls with the nth allocation failing: 0 or the errno; and how many were left when it ended (0: one has failed)."""
    os.pwrite(nth_fd, b'%d' % nth, 0)
    try:
        call(*args)
        error = 0
    except OSError as e:
        error = e.errno
    left = int(os.pread(nth_fd, 20, 0))
    os.pwrite(nth_fd, b'0', 0)
    return error, left


def chosen(total):
    """Numbers of the allocations that fail, of a step that makes so many and perhaps a few more."""
    if not MOST or total <= MOST:
        return range(1, total + 1)
    return sorted({1 + i * (total - 1) // (MOST - 1) for i in range(MOST)})


def names(errors):
    return ', '.join(f'{n} {errno.errorcode[e]}' for e, n in sorted(errors.items()))


def each(name, do, undo, left_over):
    """do fails and then left_over() is empty, or it succeeds and undo() must; last, it succeeds."""
    error, left = attempt(MANY, do)
    total, errors, fine = MANY - left, {}, 0
    if error:
        result(False, name, f'fails without failures: {os.strerror(error)}')
        return
    undo()
    numbers = chosen(total)
    for nth in numbers:
        error, left = attempt(nth, do)
        if error:
            errors[error] = errors.get(error, 0) + 1
        else:
            fine += 1
            undo()
        rest = left_over()
        if rest:
            result(False, name, f'allocation {nth} of {total} failed, error {error}, and there is left: {rest}')
            return
    error, _ = attempt(0, do)
    result(not error and bool(errors), f'{name}: {len(numbers)} of {total} allocations failed: {names(errors)}, {fine} of no matter',
           f'then: {os.strerror(error)}')


def ends(name, make, do, left_over):
    """What takes something away succeeds in spite of a failure, or changes nothing and succeeds the next time."""
    make()
    _, left = attempt(MANY, do)
    total, errors = MANY - left, {}
    numbers = chosen(total)
    for nth in numbers:
        make()
        error, _ = attempt(nth, do)
        if error:
            errors[error] = errors.get(error, 0) + 1
            error, _ = attempt(0, do)
        rest = left_over()
        if error or rest:
            result(False, name, f'allocation {nth} of {total} failed, then: {os.strerror(error)}, left: {rest}')
            return
    result(True, f'{name}: {len(numbers)} of {total} allocations failed: {names(errors) or "no errors"}, ended in any case')


# ---- The module ----

def load(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        if libc.syscall(FINIT_MODULE, fd, b'', 0):
            raise OSError(ctypes.get_errno(), 'finit_module')
    finally:
        os.close(fd)


def unload():
    if libc.syscall(DELETE_MODULE, MODULE.encode(), os.O_NONBLOCK):
        raise OSError(ctypes.get_errno(), 'delete_module')


def module_rest():
    return [p for p in (f'/sys/module/{MODULE}', ROOT, '/sys/devices/nvme-accel-passthru',
                        '/sys/kernel/debug/nvme-accel-passthru') if os.path.exists(p)]


def module_steps(path):
    each('the module loads', lambda: load(path), unload, module_rest)
    attempt(0, unload)
    ends('the module goes', lambda: load(path), unload, module_rest)


# ---- Virtual controllers ----

def put(path, value):
    fd = os.open(f'{ROOT}/{path}', os.O_WRONLY)
    try:
        os.write(fd, value.encode() + b'\n')
    finally:
        os.close(fd)


def get(path):
    with open(f'{ROOT}/{path}') as f:
        return f.read().rstrip('\n')


def users():
    with open(f'/sys/module/{MODULE}/refcnt') as f:
        return f.read().strip()


def tree():
    """All there is of controllers; configuration, devices, references."""
    found = [f'{d}/{n}' for d, dirs, _ in os.walk(ROOT) for n in dirs]
    return sorted(found), sorted(os.listdir('/sys/class/nvme')), sorted(os.listdir('/sys/kernel/debug/nvme-accel-passthru')), users()


class Since:
    """What has come or gone since then, as a text. References of devices are given back by work that is on its way."""

    def __init__(self):
        self.was = tree()

    def __call__(self):
        end = time.monotonic() + 10
        while (now := tree()) != self.was and time.monotonic() < end:
            time.sleep(0.05)
        return '' if now == self.was else f'{self.was} became {now}'


def make(path):
    os.mkdir(f'{ROOT}/{path}')


def remove(path):
    os.rmdir(f'{ROOT}/{path}')


def attributes(path, **values):
    for name, value in values.items():
        put(f'{path}/{name}', value)


def configure(ctrl, nsid, **values):
    make(f'{ctrl}/namespaces/{nsid}')
    attributes(f'{ctrl}/namespaces/{nsid}', **values)


def making():
    each('a controller of a long name is made', lambda: make('f' * 48), lambda: remove('f' * 48), Since())
    attempt(0, remove, 'f' * 48)
    each('a controller is made', lambda: make('f'), lambda: remove('f'), Since())
    each('a namespace is made', lambda: make('f/namespaces/1'), lambda: remove('f/namespaces/1'), Since())
    for name, value in (('kind', 'engine'), ('engine_type', 'digest'), ('device_path', '/dev/nvme77'), ('allow', 'read write flush'),
                        ('uuid', '6b1f0c6e-0000-4000-8000-00000000000a'), ('max_inflight', '0')):
        each(f'{name} is written', lambda: put(f'f/namespaces/1/{name}', value), lambda: None, Since())
    for name in ('state', 'subsysnqn', 'namespaces/1/allow', 'namespaces/1/uuid'):
        each(f'{name} is read', lambda: get(f'f/{name}'), lambda: None, Since())
    ends('a namespace is taken away', lambda: os.path.exists(f'{ROOT}/f/namespaces/1') or make('f/namespaces/1'),
         lambda: remove('f/namespaces/1'), lambda: os.path.exists(f'{ROOT}/f/namespaces/1'))
    ends('a controller is taken away', lambda: os.path.exists(f'{ROOT}/f') or make('f'), lambda: remove('f'),
         lambda: os.path.exists(f'{ROOT}/f'))


ENGINES = {2: 'compression', 3: 'erasure', 4: 'cipher', 5: 'digest', 6: 'checksum'}


def enabling(below, nsid):
    """A controller of a device and of engines; then each namespace while it is live."""
    make('f')
    configure('f', 1, kind='device', device_path=f'/dev/{below}', device_nsid=nsid)
    for n, name in ENGINES.items():
        configure('f', n, kind='engine', engine_type=name, engine_slots='4', engine_threads='1')
    for n in (1, 2):
        put(f'f/namespaces/{n}/enable', '1')
    each('a controller is enabled', lambda: put('f/enable', '1'), lambda: put('f/enable', '0'), Since())
    result(get('f/state') == 'live', '  live')
    put('f/namespaces/1/enable', '0')
    for n, name in {1: 'device', **ENGINES}.items():
        if n != 2:
            each(f'a namespace is enabled: {name}', lambda: put(f'f/namespaces/{n}/enable', '1'),
                 lambda: put(f'f/namespaces/{n}/enable', '0'), Since())


# ---- I/O ----

def node(ctrl, nsid):
    """Its block device; None: there is none, yet."""
    c = f'/sys/class/nvme/{get(ctrl + "/device")}'
    for n in os.listdir(c):
        if n.startswith('nvme') and os.path.exists(f'{c}/{n}/nsid'):
            with open(f'{c}/{n}/nsid') as f:
                if f.read().strip() == str(nsid):
                    return '/dev/' + (n if 'c' not in n else n.split('c')[0] + 'n' + n.rsplit('n', 1)[1])
    return None


def io():
    end = time.monotonic() + 60
    while not (path := node('f', 1)) or not os.path.exists(path):
        if time.monotonic() > end:
            result(False, 'the namespace has a node')
            return
        time.sleep(0.1)
    fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    out, back = mmap.mmap(-1, 1 << 18), mmap.mmap(-1, 1 << 18)
    out.write(os.urandom(1 << 18))
    each('256 KiB are written', lambda: os.pwrite(fd, out, 1 << 20), lambda: None, Since())
    each('  and read', lambda: os.preadv(fd, [back], 1 << 20), lambda: None, Since())
    result(back[:] == out[:], '  the same')
    os.close(fd)


def disabling():
    def off(path):
        ends(f'{path} is disabled', lambda: put(f'{path}/enable', '1'), lambda: put(f'{path}/enable', '0'),
             lambda: get(f'{path}/enable') != '0')

    for n in (1, 5):
        off(f'f/namespaces/{n}')
        put(f'f/namespaces/{n}/enable', '1')
    off('f')


def life(below, nsid):
    os.stat(ROOT)
    making()
    enabling(below, nsid)
    io()
    disabling()
    for n in (1, *ENGINES):
        remove(f'f/namespaces/{n}')
    remove('f')


if sys.argv[1] == 'load':
    module_steps(sys.argv[2])
else:
    life(*sys.argv[2:])
sys.exit(bad)
