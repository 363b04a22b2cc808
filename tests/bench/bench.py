#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whole-command ratios against other tools, measured pair by pair in one run.

Each line runs ours and theirs in turn and reports the median of the ratios, pair by pair (their time
divided by ours: above 1 we are faster), and of the sizes (ours divided by theirs). It judges nothing.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def timed(cmd, stdin=None):
    """Wall seconds and peak resident bytes of a command whose output goes to /dev/null."""
    with open(stdin or os.devnull, "rb") as src:
        start = time.monotonic()
        p = subprocess.Popen(cmd, stdin=src, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        err = p.stderr.read()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
    if p.returncode:
        sys.exit("%s: status %d: %s" % (" ".join(cmd), p.returncode, err.decode(errors="replace")))
    return seconds, usage.ru_maxrss * 1024


def size_of(cmd):
    """Bytes that a command writes to standard output."""
    with tempfile.TemporaryFile() as out:
        subprocess.run(cmd, stdout=out, stderr=subprocess.DEVNULL, check=True)
        return out.tell()


def pairs(ours, theirs, runs):
    """Median time ratio theirs/ours with its range, our and their median seconds, our peak memory."""
    timed(ours)
    timed(theirs)
    a, b, rss = [], [], 0
    for _ in range(runs):
        s, r = timed(ours)
        a.append(s)
        rss = max(rss, r)
        b.append(timed(theirs)[0])
    ratios = [y / x for x, y in zip(a, b)]
    return statistics.median(ratios), min(ratios), max(ratios), statistics.median(a), statistics.median(b), rss


class Report:
    def __init__(self, nbytes, runs):
        self.nbytes, self.runs = nbytes, runs
        print("%-34s %-28s %8s %15s %9s %9s %6s %8s" % (
            "ours", "theirs", "faster", "(range)", "MB/s", "MB/s", "RSS", "size"))

    def line(self, ours, theirs, size=False, short=None):
        name = short or (" ".join(ours[1:-1]), " ".join([os.path.basename(theirs[0])] + theirs[1:-1]))
        if not shutil.which(theirs[0]):
            print("%-34s %-28s not installed" % name)
            return
        r, lo, hi, a, b, rss = pairs(ours, theirs, self.runs)
        ratio = "%8.3f" % (size_of(ours) / size_of(theirs)) if size else "%8s" % "-"
        print("%-34s %-28s %7.2fx %15s %9.0f %9.0f %5.0fM %s" % (
            name[0], name[1], r, "(%.2f-%.2f)" % (lo, hi), self.nbytes / a / 1e6, self.nbytes / b / 1e6,
            rss / 1e6, ratio))
        sys.stdout.flush()


def compression(accel, file, runs):
    report = Report(os.path.getsize(file), runs)
    for level, tools in (("-1", (["igzip", "-1"], ["pigz", "-1", "-p", "2"])),
                         ("-6", (["libdeflate-gzip", "-6"], ["pigz", "-6", "-p", "2"]))):
        for tool in tools:
            report.line([accel, "compress", level, "-c", file], tool + ["-c", file], size=True)
    report.line([accel, "compress", "-F", "zstd", "-1", "-c", file], ["zstd", "-q", "-1", "-T2", "-c", file],
                size=True)
    report.line([accel, "compress", "-F", "lz4", "-1", "-c", file], ["lz4", "-q", "-1", "-c", file], size=True)


def decompression(accel, file, work, runs):
    own, foreign = os.path.join(work, "own.gz"), os.path.join(work, "foreign.gz")
    with open(own, "wb") as out:
        subprocess.run([accel, "compress", "-1", "-c", file], stdout=out, check=True)
    with open(foreign, "wb") as out:
        subprocess.run(["gzip", "-6", "-n", "-c", file], stdout=out, check=True)
    report = Report(os.path.getsize(file), runs)
    report.line([accel, "decompress", "-c", own], ["igzip", "-d", "-c", own],
                short=("decompress, our file", "igzip -d"))
    report.line([accel, "decompress", "-c", foreign], ["igzip", "-d", "-c", foreign],
                short=("decompress, gzip's file", "igzip -d"))
    report.line([accel, "digest", file], ["sha256sum", file], short=("digest", "sha256sum"))


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--accel", default="build/accel")
    ap.add_argument("--runs", type=int, default=7)
    ap.add_argument("file")
    args = ap.parse_args()
    with open(args.file, "rb") as f:    # into the page cache
        while f.read(1 << 20):
            pass
    with tempfile.TemporaryDirectory() as work:
        compression(args.accel, args.file, args.runs)
        decompression(args.accel, args.file, work, args.runs)


if __name__ == "__main__":
    main()
