# SPDX-License-Identifier: BSD-2-Clause
# The inbox host and acceld in one guest: nvme-cli, fio, and every verb of accel on block devices and on generic nodes.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/cli.inc"
. "$here/verbs.inc"
. "$here/harm.inc"

load_host
load_files
configure 127.0.0.1:4420
# shellcheck disable=SC2086 # a list of words
namespaces $every_kind 8=all:slots=2 >>"$conf"
start_daemon

cli_discover
cli_connects
ok "nvme connect" connect
soon "  every namespace has a block device" 10 all_nodes
cli_looks
cli_boundaries
cli_rescan_reset
cli_second "${NVME2:-}"
verify "fio verifies 512-byte blocks" "$(node_path "$nqn" 16)" --bs=512 --size=2M
verify "fio verifies 4 KiB blocks" "$(node_path "$nqn" 16)" --size=8M
verify "fio verifies 1 MiB blocks" "$(node_path "$nqn" 16)" --bs=1M --size=32M
verify "fio verifies mixed sizes, mixed reads" "$(node_path "$nqn" 16)" --bs=512-256k --bs_unaligned=0 --rw=randrw --size=8M

verbs_list
verbs_all block
verbs_cuts
verbs_leases
harm_udev
harm_tools
verbs_all generic
ok "nvme disconnect" disconnect
soon "  no node is left" 10 no_nodes
cli_connect_all
stop_daemon
[ "$bad" -eq 0 ] || sed 's/^/# acceld: /' "$log" | tail -n 30
finish
