#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# selftest: known answers and the conformance test, on every software accelerator.
. "$(dirname "$0")/lib.inc"
cd "$work" || exit 1

ok "selftest" "$ACCEL" selftest
is "  ran some and none failed" 1 "$(grep -cE '^Failed: +0$' out)"
is "  no line ends with a blank" 0 "$(grep -c ' $' out)"
ok "selftest as JSON" sh -c '"$1" selftest -o json | python3 -c "
import json, sys
d = json.load(sys.stdin)
assert d[\"ran\"] > 20 and d[\"failed\"] == 0 and d[\"first_failure\"] == \"\", d"' sh "$ACCEL"
for n in 1 2 3 4 5 6 7; do
	ok "selftest of soft:nsid=$n" "$ACCEL" selftest -d soft:nsid=$n
done

ok "conformance" "$ACCEL" selftest --conformance -o json
cp out report.json
# Each rule is a test of ours.
python3 - report.json <<'PY' >rules
import json, sys
d = json.load(open(sys.argv[1]))
for r in d['rules']:
    print(r['verdict'], r['rule'], r['reason'] or '-', sep='\t')
PY
tab=$(printf '\t')
while IFS=$tab read -r verdict rule reason; do
	case $verdict in
	pass) pass "rule $rule" ;;
	skip) skip "rule $rule" "$reason" ;;
	*) fail "rule $rule" "$reason" ;;
	esac
done <rules
is "the rules have different names" "" "$(cut -f2 rules | sort | uniq -d)"
is "there are many" yes "$([ "$(wc -l <rules)" -ge 70 ] && echo yes || echo "$(wc -l <rules)")"
# Rule numbers that the test names are the document's.
python3 - report.json >refs <<'PY'
import json, re, sys
for r in json.load(open(sys.argv[1]))['rules']:
    for ref in re.findall(r'R-\d+', r['ref']):
        print(ref)
PY
missing=$(sort -u refs | while read -r r; do
	grep -q "^\*\*$r\*\*" "$root/Documentation/namespace-interface.rst" || echo "$r"
done)
is "the document has the rules that are named" "" "$missing"
for d in soft:nsid=1 soft:nsid=5 soft:nsid=6 soft:threads=1; do
	ok "conformance of $d" "$ACCEL" selftest --conformance -d $d
	is "  no rule failed" 0 "$(grep -c ^fail out)"
done
ok "one group" "$ACCEL" selftest --conformance --rule map
is "  only that" yes "$([ "$(grep -c ^pass out)" -lt 20 ] && echo yes || echo no)"
ok "one rule" "$ACCEL" selftest --conformance --rule quiet-write
is "  only that" 1 "$(grep -cE '^(pass|fail|skip)' out)"
exits "no such rule" 2 "$ACCEL" selftest --conformance --rule frob
exits "--rule alone" 2 "$ACCEL" selftest --rule map
exits "an operand" 2 "$ACCEL" selftest soft:
finish
