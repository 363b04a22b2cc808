#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Manual pages name the options that --help names, no more and no less; every verb has a page.
. "$(dirname "$0")/lib.inc"
cd "$root" || exit 1
man_dir=Documentation/man

"$ACCEL" --help >"$work/help"
verbs=$(sed -n '/^Verbs:/,/^$/s/^  \([a-z0-9]*\) .*/\1/p' "$work/help")

# Options in a text: -x, --word.
options() { grep -oE -- '(^|[ ,[(|])--?[A-Za-z0-9][A-Za-z0-9-]*' | sed 's/^[ ,[(|]//' | sort -u; }

# The options of a verb and of its verbs.
help_options() {
	subs=$("$ACCEL" "$1" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z0-9]*\) .*/\1/p')
	for s in ${subs:-.}; do
		if [ "$s" = . ]; then "$ACCEL" "$1" --help; else "$ACCEL" "$1" "$s" --help; fi
	done | grep -E '^ {2,6}(-[A-Za-z0-9]|--[a-z])' | sed 's/^\(.\{26\}\)  .*/\1/' | options
}

# Tagged paragraphs of a page: the lines after .TP, and .OP-like macros are not used.
man_options() {
	awk '/^\.(TP|TQ)/ {tag = 1; next} tag && !/^\./ || tag && /^\.(B|BR|BI|IR|RB) / {print; tag = 0}' "$1" |
		sed -e 's/^\.[A-Z]* //' -e 's/\\f[A-Z]//g' -e 's/\\-/-/g' -e 's/\\(em//g' -e 's/"//g' |
		grep -E '^ *-' | sed 's/ , /, /g' | options
}

for v in $verbs; do
	page=$man_dir/accel-$v.1
	if [ ! -f "$page" ]; then
		fail "accel-$v.1 exists"
		continue
	fi
	help_options "$v" >"$work/h"
	man_options "$page" >"$work/m"
	if [ ! -s "$work/h" ]; then
		fail "$v --help lists options"
	elif cmp -s "$work/h" "$work/m"; then
		pass "accel-$v.1 and --help name the same options ($(wc -l <"$work/h"))"
	else
		fail "accel-$v.1 and --help name the same options" "$(diff "$work/h" "$work/m")"
	fi
	is "accel-$v.1 is named and dated as a manual page" 1 \
		"$(grep -cE '^\.TH ' "$page")"
	is "accel(1) mentions accel-$v(1)" yes "$(grep -qE "accel.?-$v" $man_dir/accel.1 && echo yes || echo no)"
done

# The daemon's page.
acceld=$(dirname "$ACCEL")/acceld
if [ -x "$acceld" ]; then
	"$acceld" --help | grep -E '^ {2,6}(-[A-Za-z0-9]|--[a-z])' | sed 's/^\(.\{24\}\)  .*/\1/' | options >"$work/h"
	man_options $man_dir/acceld.8 >"$work/m"
	if [ -s "$work/h" ] && cmp -s "$work/h" "$work/m"; then
		pass "acceld.8 and --help name the same options ($(wc -l <"$work/h"))"
	else
		fail "acceld.8 and --help name the same options" "$(diff "$work/h" "$work/m")"
	fi
else
	skip "acceld.8" "$acceld is not built"
fi
sed -n '/^static const struct key keys/,/^};/p' tools/acceld/conf_keys.c |
	sed -n -e 's/.*[RE](\([a-z_][a-z_]*\),.*/\1/p' -e 's/.*"\([a-z_]*\)".*/\1/p' | sort >"$work/h"
awk '/^\.TP/ {tag = 1; next} tag {print; tag = 0}' $man_dir/acceld.conf.5 | sed -n 's/^\.B[IR] \(.*\) = .*/\1/p' |
	grep -oE '[a-z_]+' | sort >"$work/m"
if [ "$(wc -l <"$work/h")" -gt 20 ] && cmp -s "$work/h" "$work/m"; then
	pass "acceld.conf.5 names the keys that there are ($(wc -l <"$work/h"))"
else
	fail "acceld.conf.5 names the keys that there are" "$(diff "$work/h" "$work/m")"
fi
finish
