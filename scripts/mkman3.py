#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Manual pages for the library's calls, made from the doc blocks of the public headers.

    scripts/mkman3.py include/accel OUTDIR        writes OUTDIR/NAME.3 for each call
    scripts/mkman3.py --check include/accel       fails if a call has no doc block of its own or shared

A doc block documents the prototypes that follow it up to the next blank line or block; the first of them
names the page, the others refer to it. Structures and enumerations that a prototype mentions are shown
as they are declared.
"""
import os
import re
import sys

BLOCK = re.compile(r"/\*\*(.*?)\*/", re.S)
PROTO = re.compile(r"^ACCEL_API\s+(.*?);", re.S | re.M)
NAME = re.compile(r"\b(accel_\w+)\s*\(")
TYPE = re.compile(r"(?:/\*\*(?:(?!\*/).)*\*/\s*)?\b(struct|enum)\s+(accel_\w+)\s*\{.*?\n\};", re.S)


def clean(text):
    """The words of a comment, without its stars; blank lines part paragraphs."""
    lines = [re.sub(r"^\s*\*+ ?", "", l).rstrip() for l in text.strip().splitlines()]
    return "\n".join(lines).strip()


def tokens(source):
    """(kind, text, start) of doc blocks, prototypes and types, in the order of the file."""
    found = []
    types = [(m.start(), m.end(), m.group(2), m.group(0)) for m in TYPE.finditer(source)]
    inside = lambda at: any(s <= at < e for s, e, _, _ in types)
    for m in BLOCK.finditer(source):
        if not inside(m.start()):
            found.append(("doc", clean(m.group(1)), m.start(), m.end()))
    for m in PROTO.finditer(source):
        found.append(("proto", " ".join(m.group(1).split()), m.start(), m.end()))
    return sorted(found, key=lambda t: t[2]), {name: text for _, _, name, text in types}


def pages(path):
    """[(names, prototypes, text)] of a header, and its types."""
    source = open(path, encoding="utf-8").read()
    toks, types = tokens(source)
    result, doc, last_end = [], None, 0
    for kind, text, start, end in toks:
        if kind == "doc":
            doc = text
        elif doc is not None:
            result.append([[NAME.search(text).group(1)], [text], doc])
            doc = None
        elif result and not re.search(r"\n\s*\n", source[last_end:start]):
            result[-1][0].append(NAME.search(text).group(1))
            result[-1][1].append(text)
        else:
            result.append([[NAME.search(text).group(1)], [text], None])
        last_end = end
    return result, types


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(("\\&" + l) if l.startswith((".", "'")) else l for l in text.splitlines())


def prose(text):
    out = []
    for para in re.split(r"\n\s*\n", text):
        for part in re.split(r"\n(?=\s*[-*] )", para):
            words = " ".join(part.split())
            item = re.match(r"[-*] ", words)
            out.append(".IP \\(bu 2\n" + roff(words[2:]) if item else ".PP\n" + roff(words))
    return "\n".join(out)


def errors(text):
    """(errno, cause) pairs out of "-ENAME: cause;" and "-ENAME (cause)" in a block."""
    out = []
    for m in re.finditer(r"-(E[A-Z0-9]+)\b(?::\s*([^;.]+)|\s*\(([^)]*)\))?", text):
        out.append((m.group(1), " ".join((m.group(2) or m.group(3) or "").split())))
    return out


def write_page(out, header, names, protos, doc, types, version):
    summary = re.split(r"(?<=[.;:])\s", " ".join(doc.split()))[0].rstrip(".;:") if doc else names[0]
    page = [".\\\" SPDX-License-Identifier: BSD-2-Clause",
            ".\\\" Made from include/accel/%s; do not edit." % header,
            '.TH %s 3 "" "libaccel %s" "Library Functions Manual"' % (names[0].upper(), version),
            ".SH NAME", "%s \\- %s" % (", ".join(names), roff(summary[:120])),
            ".SH SYNOPSIS", ".nf", "#include <accel/accel.h>", ""]
    page += [roff(p) + ";" for p in protos] + ["", "Link with \\-laccel.", ".fi", ".SH DESCRIPTION",
                                               prose(doc or "")]
    used = [t for t in types if any(re.search(r"\b%s\b" % t, p) for p in protos)]
    for t in used:
        page += [".PP", ".EX", roff(types[t]), ".EE"]
    errs = errors(doc or "")
    page += [".SH RETURN VALUE",
             "Calls that return an integer return 0 or a count, or a negative errno.  "
             "What became of a job is in its struct accel_result."]
    if errs:
        page += [".SH ERRORS"]
        for name, cause in errs:
            page += [".TP", ".B \\-%s" % name, roff(cause) if cause else "See above."]
    page += [".SH SEE ALSO", ".BR libaccel (3),", ".BR accel (1)", ""]
    with open(os.path.join(out, names[0] + ".3"), "w", encoding="utf-8") as f:
        f.write("\n".join(page))
    for other in names[1:]:
        with open(os.path.join(out, other + ".3"), "w", encoding="utf-8") as f:
            f.write(".so man3/%s.3\n" % names[0])


def write_index(out, everything, version):
    page = [".\\\" SPDX-License-Identifier: BSD-2-Clause",
            '.TH LIBACCEL 3 "" "libaccel %s" "Library Functions Manual"' % version,
            ".SH NAME", "libaccel \\- NVMe accelerators as ordinary devices", ".SH SYNOPSIS", ".nf",
            "#include <accel/accel.h>", "", "cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs libaccel)",
            ".fi", ".SH DESCRIPTION"]
    for header, doc, names in everything:
        page += [".SS <accel/%s>" % header, prose(doc), ".PP"]
        page += ["\n.br\n".join(".BR %s (3)" % n for n in names)]
    with open(os.path.join(out, "libaccel.3"), "w", encoding="utf-8") as f:
        f.write("\n".join(page) + "\n")


def main():
    check = sys.argv[1:2] == ["--check"]
    src = sys.argv[2] if check else sys.argv[1]
    out = None if check else sys.argv[2]
    version = ".".join(re.findall(r"ACCEL_VERSION_\w+ (\d+)", open(os.path.join(src, "status.h")).read()))
    all_types, per_header, bad = {}, [], []
    for header in sorted(os.listdir(src)):
        got, types = pages(os.path.join(src, header))
        all_types.update(types)
        head = BLOCK.search(open(os.path.join(src, header), encoding="utf-8").read())
        per_header.append((header, clean(head.group(1)) if head else "", got))
        bad += ["%s: %s has no doc block" % (header, n[0]) for n, _, d in got if not d]
    if check:
        for line in bad:
            print("# " + line)
        print("%s 1 - every public call has a doc block\n1..1" % ("not ok" if bad else "ok"))
        return 1 if bad else 0
    os.makedirs(out, exist_ok=True)
    for header, _, got in per_header:
        for names, protos, doc in got:
            write_page(out, header, names, protos, doc, all_types, version)
    write_index(out, [(h, d, [n for names, _, _ in g for n in names]) for h, d, g in per_header], version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
