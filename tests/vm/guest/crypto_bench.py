#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What compression of 128 KiB at depth 32 costs the side that asks: crypto_bench.py ALL.json OFF.json RAM_NODE

ALL: what `accel crypto bench -o json` said; OFF: the same of compression without verification. RAM_NODE: a namespace of plain memory of the
same daemon; the same bytes written to it and read from it, by O_DIRECT, are what no driver can go below on this path.
Status 1: more than a fifth of software's time.
"""
import json
import os
import subprocess
import sys

SIZE, DEPTH, SECONDS = 131072, 32, 3
MIB = 1048576


def show(results):
    for r in results:
        print('# %-10s %-41s %7d %3d %8.1f MB/s  task %9.0f  softirq %9.0f  all %9.0f us/MiB  %5.1f %%' % (
            r['operation'], r['driver'], r['size'], r['depth'], r['mb_per_s'], r['task_ns_per_mib'] / 1e3, r['softirq_ns_per_mib'] / 1e3,
            r['busy_ns_per_mib'] / 1e3, 100 * r['accelerated']))


def table(results):
    """The lines of Documentation/crypto.rst: task and interrupts at that depth."""
    rows = {}
    for r in results:
        if r['depth'] == DEPTH:
            who = 0 if 'nvme-accel' in r['driver'] else 1 if 'generic' in r['driver'] or 'scomp' in r['driver'] else 2
            cost = (r['task_ns_per_mib'] + r['softirq_ns_per_mib']) / 1e6
            rows.setdefault((r['operation'], r['size']), ['\\-'] * 3)[who] = '%.*f ms' % (cost < 10, cost)
    for (operation, size), row in rows.items():
        print('# | %-10s  %-7s  %-20s  %-18s  %s' % (operation, '%d KiB' % (size // 1024), *row))


def one(results, ours):
    """Task and softirq, and all that the processors did, in us a MiB."""
    for r in results:
        if (r['operation'], r['size'], r['depth'], 'nvme-accel' in r['driver']) == ('compress', SIZE, DEPTH, ours):
            return (r['task_ns_per_mib'] + r['softirq_ns_per_mib']) / 1e3, r['busy_ns_per_mib'] / 1e3
    sys.exit('no measurement of 128 KiB at depth 32')


def ticks():
    """(interrupts, all) in us"""
    with open('/proc/stat') as f:
        user, nice, system, _, _, irq, softirq = map(int, f.readline().split()[1:8])
    us = 1e6 / os.sysconf('SC_CLK_TCK')
    return (irq + softirq) * us, (user + nice + system + irq + softirq) * us


def raw(node, direction, size):
    """Of fio itself only what it does in the kernel."""
    before = ticks()
    out = subprocess.run(['fio', '--name=floor', '--filename=' + node, '--allow_file_create=0', '--direct=1', '--ioengine=libaio', '--rw=' + direction,
                          '--bs=%d' % size, '--iodepth=%d' % DEPTH, '--time_based', '--runtime=%d' % SECONDS, '--thread',
                          '--output-format=json'], stdout=subprocess.PIPE, check=True)
    after = ticks()
    job = json.loads(out.stdout.decode())['jobs'][0]
    done = job[direction]
    mib = done['io_bytes'] / MIB
    task = job['sys_cpu'] / 100 * done['runtime'] * 1e3
    return done['total_ios'], (task + after[0] - before[0]) / mib, (after[1] - before[1]) / mib


def floor(node, out_bytes):
    """Of SIZE bytes written and out_bytes read, in us a MiB written."""
    _, w, w_all = raw(node, 'write', SIZE)
    _, r, r_all = raw(node, 'read', out_bytes)
    print('# floor: writing 128 KiB %.0f us/MiB (all %.0f), reading %d bytes %.0f us/MiB (all %.0f)' % (w, w_all, out_bytes, r, r_all))
    return w + r * out_bytes / SIZE, w_all + r_all * out_bytes / SIZE


def main():
    results, off = (json.load(open(name)) for name in sys.argv[1:3])
    show(results)
    show(off)
    table(results)
    soft = one(results, False)
    lines = (('verified by the accelerator', one(results, True)), ('not verified', one(off, True)),
             ('its bytes through this path, by fio', floor(sys.argv[3], int(sys.argv[4]))))
    for name, (cost, busy) in lines:
        print('# 128 KiB at depth 32, %s: %.1f %% of the time of software; with all that the processors did %.1f %%' % (
            name, 100 * cost / soft[0], 100 * busy / soft[1]))
    sys.exit(lines[0][1][0] * 5 > soft[0])


main()
