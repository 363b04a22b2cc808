# SPDX-License-Identifier: BSD-2-Clause
"""What preprocessed C declares: enough to know which types are public, and what a header of a kernel source has."""
import re
from kimage import Bad

ATTRIBUTES = r'(?:__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)\s*)*'
TAG = re.compile(r'\b(struct|union|enum)\s+' + ATTRIBUTES + r'(\w+)\s*\{')
WORD = re.compile(r'\b[A-Za-z_]\w*\b')
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
MARKER = re.compile(r'^#\s*\d+\s+"([^"]*)".*$')


def read(path):
    try:
        with open(path, encoding='utf-8', errors='replace') as f:
            return f.read()
    except OSError as e:
        raise Bad('%s: %s' % (path, e.strerror)) from e


class Public:
    """tags: {('struct', name), ...} that are defined; words: every identifier, which typedefs and enumerators are among."""

    def __init__(self, path):
        raw = read(path)
        self.version = None
        m = re.search(r'\bmkprivate_version\s*=\s*\(?\s*([^;]+?)\s*\)?;', raw)
        if m and re.fullmatch(r'[0-9() +*<]+', m.group(1)):
            self.version = int(eval(m.group(1), {'__builtins__': {}}))      # digits and operators only, as just checked
        text = STRING.sub('""', re.sub(r'^#.*$', '', raw, flags=re.M))
        self.tags = set(TAG.findall(text))
        self.words = set(WORD.findall(text))
        if ('struct', 'list_head') not in self.tags:
            raise Bad('%s: not the preprocessed text of kernel headers' % path)


def lines_of(path, file):
    """Of preprocessed text, what comes from the file of that name."""
    mine, res = False, []
    for line in read(path).splitlines():
        m = MARKER.match(line)
        if m:
            mine = m.group(1).endswith(file)
        elif mine and not line.startswith('#'):
            res.append(line)
    return STRING.sub('""', '\n'.join(res))


def top_level(text):
    """Declarations at file scope: (text with what is inside braces, whether it has a function's body)."""
    depth, start, i = 0, 0, 0
    brace = None
    for i, c in enumerate(text):
        if c in '{(':
            if c == '{' and depth == 0:
                brace = i
            depth += 1
        elif c in '})':
            depth -= 1
            body = c == '}' and depth == 0 and text[start:brace].rstrip().endswith(')')
            if body:
                yield text[start:brace].strip(), True
                start, brace = i + 1, None
        elif c == ';' and depth == 0:
            yield text[start:i].strip(), False
            start, brace = i + 1, None


def split(text, at):
    """Splits outside of all brackets."""
    depth, start, res = 0, 0, []
    for i, c in enumerate(text):
        if c in '{([':
            depth += 1
        elif c in '})]':
            depth -= 1
        elif c == at and depth == 0:
            res.append(text[start:i])
            start = i + 1
    return res + [text[start:]]


def member_names(text):
    for m in split(re.sub(ATTRIBUTES, '', text), ';'):
        m = m.strip()
        if not m or m.endswith('}'):
            continue                                        # nothing, or without a name
        m = re.sub(r'\{.*\}', '', m, flags=re.S)
        for d in split(m, ','):
            f = re.search(r'\(\s*\*\s*(?:const\s+)?(\w+)', d)
            f = f or re.search(r'(\w+)\s*(?:\[[^]]*\]\s*)*(?::\s*[^:]+)?$', d.strip())
            if f:
                yield f.group(1)


def features(path, file):
    """BTF_HAVE_* of a header in preprocessed text: {name: parameters}, and inline functions' names."""
    have, inlines = {}, set()
    for d, body in top_level(lines_of(path, file)):
        d = re.sub(ATTRIBUTES, '', d).strip()
        s = re.match(r'struct\s+(\w+)\s*\{(.*)\}\s*$', d, re.S)
        if s:
            for m in member_names(s.group(2)):
                have['%s__%s' % (s.group(1), m)] = 1
            continue
        f = re.search(r'\b(\w+)\s*\((.*)\)\s*$', d, re.S)
        if f and not re.match(r'typedef\b', d) and '=' not in d[:f.start()]:
            params = [p for p in split(f.group(2), ',') if p.strip() not in ('', 'void')]
            if body:
                inlines.add(f.group(1))
            else:
                have[f.group(1)] = len(params)
    return have, inlines
