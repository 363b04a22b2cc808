# SPDX-License-Identifier: BSD-2-Clause
# What happens while jobs run: paths are cut, acceld is killed and comes back or not, namespaces come and go.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/multipath.inc"
. "$here/restart.inc"
. "$here/reload.inc"

load_host
load_files
multipath_test
restart_test
reload_test
[ "$bad" -eq 0 ] || tail -n 40 "$log" | sed 's/^/# acceld: /'
finish
