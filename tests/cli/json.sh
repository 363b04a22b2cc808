#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Listings: always valid JSON, ended by a newline, and text that says the same.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1
printf '123456789' >f
name=$(printf 'odd\377na\\me\t/"x"')
mkdir -p "$(dirname "$name")" && printf x >"$name"
gzip -k f

# json NAME PYTHON-EXPRESSION COMMAND...: valid, ends with one newline, d satisfies the expression
json() {
	name_=$1 expr=$2
	shift 2
	run "$@"
	if [ "$rc" -eq 0 ] && python3 -c 'import json, sys
raw = open(sys.argv[1], "rb").read()
assert raw.endswith(b"\n") and not raw.endswith(b"\n\n"), "newline"
assert b"\\/" not in raw, "slashes are escaped"
d = json.loads(raw.decode("utf-8"))
assert eval(sys.argv[2]), d' out "$expr" 2>py.err; then
		pass "$name_"
	else
		fail "$name_" "status $rc" "$(cat err)" "$(tail -n 3 py.err)"
	fi
}

json "list" 'len(d) >= 1 and all(e["schema"] == 1 and e["functions"] for e in d)' "$ACCEL" list -o json
json "list, long option" 'd' "$ACCEL" list --output-format=json
json "list of nothing" 'd == []' "$ACCEL" list -o json -n "no such name"
json "list of a type" 'all(e["type"] == "compression" for e in d) and d' "$ACCEL" list -o json -t compression
json "list -d" 'len(d) == 1 and d[0]["device"].startswith("soft:")' "$ACCEL" list -o json -d soft:
json "info" 'd["engine"] == "software" and len(d["operations"]) > 10' "$ACCEL" info -o json -d soft:
json "stats" 'd["jobs"] == 0 and d["operations"] == [] and d["status"] == [] and d["errors"] == 0' "$ACCEL" stats -o json -d soft:
json "lease list" 'd == []' "$ACCEL" lease list -o json soft:
json "digest" 'd[0]["digest"].startswith("15e2b0d3") and d[0]["bytes"] == 9' "$ACCEL" digest -o json f
json "checksum" 'd[0]["checksum"] == "e3069283"' "$ACCEL" checksum -o json f
json "digest of a name that is no text" 'len(d) == 1' "$ACCEL" digest -o json "$name"
json "digest -c" 'd == [{"schema": 1, "file": "f", "ok": True, "result": "OK"}]' \
	sh -c 'sha256sum f | "$1" digest -c -o json' sh "$ACCEL"
json "compress -l" 'd[0]["uncompressed_bytes"] == 9' "$ACCEL" compress -l --output-format=json f.gz
json "decompress -l" 'd[0]["uncompressed_bytes"] == 9' "$ACCEL" decompress -l --output-format=json f.gz
json "selftest" 'd["failed"] == 0 and d["ran"] > 0' "$ACCEL" selftest -o json -d soft:
json "bench" 'len(d["points"]) == 1' "$ACCEL" bench -o json -d soft: -s 0.01 --op crc32c --size 4k --depth 1 --mode sync
"$ACCEL" ec encode -k 2 -m 1 -b 4k f >/dev/null
json "ec verify" 'd' "$ACCEL" ec verify -o json f
rm f.ec.*1
json "ec repair" 'd' "$ACCEL" ec repair -o json f

# The verbs whose help promises JSON are those above; a new one must be added here and there.
said=
for v in $("$ACCEL" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z0-9]*\) .*/\1/p'); do
	subs=$("$ACCEL" "$v" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z0-9]*\) .*/\1/p')
	for s in ${subs:-.}; do
		[ "$s" = . ] && s=
		"$ACCEL" "$v" $s --help | grep -q -- --output-format && said="$said $v${s:+-$s}"
	done
done
is "the verbs that promise JSON" " list info compress decompress ec-repair ec-verify digest checksum lease-list stats \
selftest bench target-list target-show crypto-list crypto-stats crypto-bench p2p-list p2p-why p2p-copy p2p-bench" "$said"

"$ACCEL" digest -o json nofile >out 2>/dev/null
is "an error still leaves valid JSON, and a status" "1 []" "$? $(python3 -m json.tool <out)"

# Text and JSON from the same values.
"$ACCEL" list -o json >l.json
"$ACCEL" list >l.txt
is "list: every device of the JSON is in the text" "" "$(python3 - <<'PY'
import json
text = open("l.txt").read()
for e in json.load(open("l.json")):
    for key in ("device", "name", "type", "transport", "engine", "state"):
        if e[key] not in text:
            print(e["device"], key)
PY
)"
"$ACCEL" info -o json -d soft: >i.json
"$ACCEL" info -d soft: >i.txt
is "info: every operation of the JSON is in the text" "" "$(python3 - <<'PY'
import json, re
text = open("i.txt").read()
d = json.load(open("i.json"))
for o in d["operations"]:
    if not re.search(rf"^{o['operation']}\s+{re.escape(o['algorithm'])}\s", text, re.M):
        print(o["operation"], o["algorithm"])
for key in ("uuid", "slots", "max_in_bytes", "interface"):
    if str(d[key]) not in text:
        print(key)
PY
)"
is "no accelerator: a sentence, success" "no accelerator found 0" "$("$ACCEL" list -n none) $?"
finish
