# SPDX-License-Identifier: BSD-2-Clause
# The host of two guests, by the commands of the administrator's guide.
here=$(dirname "$0")
. "$here/lib.inc"
. "$here/passthru.inc"
. "$here/two.inc"
. "$here/guide.inc"

# What the target printed; it may still be at it.
ask() { timeout 10 bash -c "exec 3<>/dev/tcp/$target_ip/$bye_port && cat <&3" >"$work/connect" && [ -s "$work/connect" ]; }
nqn_of() { sed -n "$1s/.* -n \([^ ]*\).*/\1/p" "$work/connect"; }

wire $host_ip
mkdir -p /etc/nvme
echo $host_nqn >/etc/nvme/hostnqn
echo $host_uuid >/etc/nvme/hostid
load_files
cp "$work/load" "$work/access.log"
ok "the target is set up" within 180 ask
commands "One compression accelerator to one host, over TCP" 2 | sed "s/ NQN\$/ $(nqn_of 1)/" >"$work/host-commands"
cd "$work" || finish
while IFS= read -r c <&4; do
	case $c in
	"accel list")
		soon "  (its node)" 20 node_path "$(nqn_of 1)" 1
		says "# $c" "^$(node_path "$(nqn_of 1)" 1)" bash -c "$c"
		;;
	# The kernel's number for it, as the listing says.
	*/dev/nvme1n1*) ok "# $c" bash -c "${c/\/dev\/nvme1n1/$(node_path "$(nqn_of 1)" 1)}" ;;
	*) ok "# $c" bash -c "$c" ;;
	esac
done 4<"$work/host-commands"
gunzip -c access.log.gz >back 2>/dev/null
same "  gunzip reads what it made" load back

modprobe nvme-rdma
for i in 2 3; do
	c=$(sed -n ${i}p connect)
	ok "# $c" bash -c "$c"
	soon "  its first namespace" 20 node_path "$(nqn_of $i)" 1
	soon "  its second" 20 node_path "$(nqn_of $i)" 2
done
verify "cards: fio verifies the first" "$(node_path "$(nqn_of 2)" 1)" --size=1M
verify "  the second" "$(node_path "$(nqn_of 2)" 2)" --size=1M
ok "qat: compress" job_compress "$(node_path "$(nqn_of 3)" 1)"
ok "  seal: a key" accel seal --generate-key key
ok "  seal" accel seal -d "$(node_path "$(nqn_of 3)" 2)" -K key -f -o sealed load
ok "  open" accel open -d "$(node_path "$(nqn_of 3)" 2)" -K key -f -o back sealed
same "  the same" load back
for i in 1 2 3; do ok "nvme disconnect" nvme disconnect -n "$(nqn_of $i)"; done
ok "the target is told that all is done" bash -c "exec 3<>/dev/tcp/$target_ip/$bye_port"
finish
