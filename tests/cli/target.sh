#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# accel target without a kernel: against a directory whose attributes target_mock.c makes and judges as the kernel would.
. "$(dirname "$0")/lib.inc"
. tests/cli/mock.inc
cfs=$m/sys/kernel/config
pt=$cfs/nvme-accel-passthru
nvmet=$cfs/nvmet
host=nqn.2014-08.org.nvmexpress:uuid:11111111-1111-4111-8111-111111111111
host2=nqn.2014-08.org.nvmexpress:uuid:22222222-2222-4222-8222-222222222222

tg() {
	verb=$1
	shift
	mocked target "$verb" --root="$m" "$@"
}
tree() { (cd "$cfs" && find . | sort); }
values() { (cd "$cfs" && grep -r '' . | sort); }

fresh() {
	rm -rf "$m"
	mkdir -p "$m/run" "$m/dev" "$m/sys/class/nvme" "$pt" "$nvmet/hosts" "$nvmet/ports" "$nvmet/subsystems"
	echo 1.0 >"$pt/version"
	echo "device engine" >"$pt/features"
	: >"$m/dev/kmsg"
}
# lower NUMBER NQN SERIAL ADDRESS: a controller in the mock's /sys; namespace NUMBER INDEX NSID UUID
lower() {
	d=$m/sys/class/nvme/nvme$1
	mkdir -p "$d"
	echo "$2" >"$d/subsysnqn"
	echo "$3" >"$d/serial"
	echo "$4" >"$d/address"
	echo pcie >"$d/transport"
	echo live >"$d/state"
}
namespace() {
	d=$m/sys/class/nvme/nvme$1/${5:-nvme$1n$2}
	mkdir -p "$d"
	echo "$3" >"$d/nsid"
	echo "$4" >"$d/uuid"
	echo 00000000-0000-0000-0000-000000000000 >"$d/nguid"
}
u1=6b1f0c6e-0000-4000-8000-000000000001 u2=6b1f0c6e-0000-4000-8000-000000000002

# ---- One command; listings ----
fresh
ok "an empty list" tg list
is "  is a sentence" "no virtual controllers (accel target create makes one)" "$(cat out)"
ok "  and as JSON" tg list -o json
is "  []" "[]" "$(tr -d ' \n' <out)"
ok "create and export" tg create comp --engine compression,threads=2,slots=8,window=12 --tcp 192.0.2.1 --host $host
says "  its device" '^comp: /dev/nvme[0-9]+$' out
says "  how a host connects" '^nvme connect -t tcp -a 192.0.2.1 -s 4420 -n nqn\.' out
nqn=$(sed -n 's/.* -n //p' out)
is "  the attributes" "engine compression 2 8 12 1" \
	"$(cd "$pt/comp/namespaces/1" && cat kind engine_type engine_threads engine_slots engine_window_bits enable | xargs)"
is "  the controller" 1 "$(cat "$pt/comp/enable")"
is "  the passthru device" "/dev/$(cat "$pt/comp/device") 1 0" \
	"$(cd "$nvmet/subsystems/$nqn/passthru" && cat device_path enable clear_ids | xargs)"
is "  who may" "0 $host" "$(cat "$nvmet/subsystems/$nqn/attr_allow_any_host") $(ls "$nvmet/subsystems/$nqn/allowed_hosts")"
is "  the port" "tcp ipv4 192.0.2.1 4420 $nqn" \
	"$(cd "$nvmet/ports/1" && cat addr_trtype addr_adrfam addr_traddr addr_trsvcid | xargs) $(ls "$nvmet/ports/1/subsystems")"
tg list -o json >l.json
json "  list as JSON" l.json "len(x) == 1 and x[0]['name'] == 'comp' and x[0]['export'] == '$nqn' and x[0]['allowed'] == ['$host']"
tg show comp -o json >s.json
json "  show as JSON" s.json "x['addresses'] == ['tcp://192.0.2.1:4420'] and x['namespaces'][0]['engine_window_bits'] == 12"
ok "  show" tg show comp
says "    in words" '^Exported at: *tcp://192.0.2.1:4420' out
ok "  list -v" tg list -v
ok "a second one shares the port" tg create sum -e checksum --tcp 192.0.2.1:4420 --any-host
is "  " 2 "$(ls "$nvmet/ports/1/subsystems" | wc -l)"
is "  and there is no other port" 1 "$(ls "$nvmet/ports" | wc -l)"
ok "unexport" tg unexport sum
is "  the port stays for the other one" "$nqn" "$(ls "$nvmet/ports/1/subsystems")"
ok "IPv6" tg export sum --rdma '[2001:db8::1]:4421' --host $host2
is "  " "rdma ipv6 2001:db8::1 4421" "$(cd "$nvmet/ports/2" && cat addr_trtype addr_adrfam addr_traddr addr_trsvcid | xargs)"
ok "loop, too" tg export sum --loop --host $host2
is "  a port more" "1 2 3" "$(ls "$nvmet/ports" | xargs)"
ok "exporting it again changes nothing" tg export sum --loop --host $host2
is "  " "1 2 3" "$(ls "$nvmet/ports" | xargs)"
ok "clear" tg clear
is "  nothing is left" "./nvme-accel-passthru ./nvme-accel-passthru/features ./nvme-accel-passthru/version ./nvmet ./nvmet/hosts \
./nvmet/ports ./nvmet/subsystems" "$(cd "$cfs" && find . -mindepth 1 | sort | xargs)"
ok "an export to this machine has another NQN" tg create comp -e all --tcp 127.0.0.1 --any-host
local=$(sed -n 's/.* -n //p' out)
if [ "$local" != "$(cat "$pt/comp/subsysnqn")" ]; then pass "  "; else fail "  " "$local"; fi
is "  and hides UUIDs" 1 "$(cat "$nvmet/subsystems/$local/passthru/clear_ids")"
ok "a name of one's own" tg create mine -e digest --nqn nqn.2026-11.local.accel:mine --serial S1
is "  " "nqn.2026-11.local.accel:mine S1" "$(cat "$pt/mine/subsysnqn" "$pt/mine/serial" | xargs)"

# ---- Changes ----
# Disabled and enabled, it is another nvmeX: what exports it must know.
ok "an exported controller is disabled" tg set comp enable=0
echo /dev/nvme1 >"$nvmet/subsystems/$local/passthru/device_path"
ok "  and enabled" tg set comp enable=1
is "  its export has followed" "/dev/$(cat "$pt/comp/device") 1" "$(cd "$nvmet/subsystems/$local/passthru" && cat device_path enable | xargs)"
ok "add" tg add mine -e checksum,nsid=9,block=512 -e cipher --max-inflight 4 --max-bytes-per-sec 100M
is "  numbers" "mine/9 mine/2" "$(xargs <out)"
is "  limits, block size" "4 104857600 9" \
	"$(cd "$pt/mine/namespaces/9" && cat max_inflight max_bytes_per_sec engine_lbads | xargs)"
no "  a number that is taken" 1 'has a namespace 9' tg add mine -e digest,nsid=9
ok "set" tg set mine/9 max_cmds_per_sec=1k max_inflight=0
is "  " "1024 0" "$(cd "$pt/mine/namespaces/9" && cat max_cmds_per_sec max_inflight | xargs)"
ok "  a list of commands, written as in --device" tg set -f mine/9 allow=read+flush
is "  " "read flush" "$(cat "$pt/mine/namespaces/9/allow")"
no "  what does not change while enabled" 4 '--force' tg set mine serial=S2
ok "  --force" tg set -f mine serial=S2
is "  enabled again" "S2 1" "$(cat "$pt/mine/serial" "$pt/mine/enable" | xargs)"
ok "  the least rates, and none" tg set mine/9 max_cmds_per_sec=10 max_bytes_per_sec=65536
is "  " "10 65536" "$(cd "$pt/mine/namespaces/9" && cat max_cmds_per_sec max_bytes_per_sec | xargs)"
ok "  " tg set mine/9 max_cmds_per_sec=0 max_bytes_per_sec=0
is "  " "0 0" "$(cd "$pt/mine/namespaces/9" && cat max_cmds_per_sec max_bytes_per_sec | xargs)"
ok "  disabled" tg set mine/9 enable=0
is "  " 0 "$(cat "$pt/mine/namespaces/9/enable")"
ok "remove" tg remove mine 9
is "  " "1 2" "$(ls "$pt/mine/namespaces" | xargs)"
no "  what is not there" 1 'has no namespace 9' tg remove mine 9
no "delete what is exported" 4 'unexport it first' tg delete comp
ok "  --force" tg delete --force comp
ok "delete" tg delete mine
no "  twice" 3 'no such virtual controller' tg delete mine

# ---- Wrong usage ----
while IFS='|' read -r pattern words; do
	# shellcheck disable=SC2086 # words
	no "usage: $words" 2 "$pattern" tg $words
done <<'LIST'
what should be in it|create a
takes one name|create -e all
takes one name|create a b -e all
a name has 1 to 48|create a/b -e all
a name has 1 to 48|create version -e all
no dot first|create .a -e all
is one of compression|create a -e magic
unknown key 'speed'|create a -e all,speed=9
threads needs a value|create a -e all,threads
--engine: threads=x: is a number from 0 to 1024|create a -e all,threads=x
is a number from 9 to 15|create a -e all,window=16
--engine: block=1024: is 512 or 4096|create a -e all,block=1024
--engine: nsid: .0. is out of range|create a -e all,nsid=0
--device: as: .9999. is out of range|create a -d /dev/nvme0n1,as=9999
unknown key 'threads'|create a -d /dev/nvme0n1,threads=1
shared takes no value|create a -d /dev/nvme0n1,shared=1
give /dev/nvmeXnY|create a -d /dev/sda
give /dev/nvmeXnY|create a -d /dev/nvme4294967296n1
give /dev/nvmeXnY|create a -d /dev/nvme00n1
give /dev/nvmeXnY|create a -d /dev/nvme0n1p1
which namespace|create a -d /dev/nvme0
is a number from 0|create a -e all --max-inflight -1
is a number from 65536 to 18446744073709551615, or 0: no limit|create a -e all --max-bytes-per-sec 65535
is a number from 10 to 18446744073709551615, or 0: no limit|create a -e all --max-cmds-per-sec 9
is a number from 10|set a/1 max_cmds_per_sec=1
printable ASCII|create a -e all --serial 123456789012345678901
is no NQN|create a -e all --nqn foo
say who may connect|create a -e all --tcp 192.0.2.1
over what to export|create a -e all --any-host
exclude each other|create a -e all --tcp 192.0.2.1 --any-host --host nqn.2026-11.local.accel:h
is no address|create a -e all --tcp example --any-host
is no address|create a -e all --tcp 192.0.2.1:0 --any-host
is no address|create a -e all --tcp 192.0.2.1:65536 --any-host
is no address|create a -e all --tcp [::1 --any-host
is no NQN|export a --tcp 192.0.2.1 --host me
one of --tcp|export a --tcp 192.0.2.1 --loop --any-host
takes the name of one|export --loop --any-host
takes NAME or|set a
give ATTRIBUTE=VALUE|set a b
no attribute 'b'|set a b=c
enable=2: is 0 or 1|set a enable=2
enable=: is 0 or 1|set a/1 enable=
is no number|set a/x max_inflight=1
takes a controller and|remove a
is not a number|remove a x
takes no operand|clear all
takes no operand|list all
takes one file|save a b
unknown verb|frob
LIST
is "  nothing was made" "features version" "$(ls "$pt" | xargs)"

# ---- Namespaces of other controllers ----
fresh
lower 0 nqn.2026-11.local.accel:disk S0 0000:01:00.0
namespace 0 1 1 $u1
namespace 0 2 5 $u2
ok "a namespace by its node" tg create d --device /dev/nvme0n2,allow=read+flush,as=3,shared
is "  its controller and number" "/dev/nvme0 5 1" "$(cd "$pt/d/namespaces/3" && cat device_path device_nsid shared | xargs)"
is "  what is allowed" "read flush" "$(cat "$pt/d/namespaces/3/allow")"
ok "by its controller" tg add d --device /dev/nvme0,nsid=1
ok "by its generic node" tg add d --device /dev/ng0n1
no "a node with nsid=" 2 'goes with a controller' tg add d --device /dev/nvme0n1,nsid=1
no "one that is not there" 3 'no such namespace' tg add d --device /dev/nvme0n7
no "a controller that is not there" 3 'no controller nvme7' tg add d --device /dev/nvme7,nsid=1
no "a virtual controller" 1 'is a virtual controller itself' tg add d --device "/dev/$(cat "$pt/d/device"),nsid=1"
ok "save" tg save f.json
json "  by what identifies it" f.json "x['nvme_accel_passthru'][0]['namespaces'][-1]['identity'] == {'subsysnqn': \
'nqn.2026-11.local.accel:disk', 'transport': 'pcie', 'address': '0000:01:00.0', 'serial': 'S0', 'uuid': '$u2'}"
ok "the same again" tg restore f.json
cp f.json kept.json
mv "$m/sys/class/nvme/nvme0" "$m/away"
no "save while what is below is away" 1 'd/1: what is below it \(it was /dev/nvme0,nsid=1\) is not there' tg save f.json
same "  the file before is whole" f.json kept.json
mv "$m/away" "$m/sys/class/nvme/nvme0"
d=$m/sys/class/nvme/$(cat "$pt/d/device")
mkdir "$d" "$d/nvme9n1" "$d/nvme9n3"
echo 1 >"$d/nvme9n1/nsid"
echo 3 >"$d/nvme9n3/nsid"
no "  another one has its name: the virtual controller has an empty place" 1 'd/2: what is below it' tg save f.json
same "  the file before is whole" f.json kept.json
rm -r "$d"
ok "clear" tg clear
mv "$m/sys/class/nvme/nvme0" "$m/sys/class/nvme/nvme4"
mv "$m/sys/class/nvme/nvme4/nvme0n1" "$m/sys/class/nvme/nvme4/nvme4n1"
mv "$m/sys/class/nvme/nvme4/nvme0n2" "$m/sys/class/nvme/nvme4/nvme4n2"
lower 0 nqn.2026-11.local.accel:stranger S9 0000:02:00.0
namespace 0 1 1 6b1f0c6e-0000-4000-8000-000000000009
namespace 0 2 5 6b1f0c6e-0000-4000-8000-00000000000a
ok "restore when the numbers have changed" tg restore f.json
is "  finds it" "/dev/nvme4 5" "$(cd "$pt/d/namespaces/3" && cat device_path device_nsid | xargs)"
says "  and says so" "d/3: found by its uuid $u2: /dev/nvme4,nsid=5 \(it was /dev/nvme0,nsid=5\)" err
tg clear
rm -rf "$m/sys/class/nvme/nvme4"
no "restore when it is not there" 3 "d/1: uuid $u1 of subsystem nqn.2026-11.local.accel:disk" tg restore f.json
is "  nothing was made" "features version" "$(ls "$pt" | xargs)"
no "restore --wait, in vain" 3 "d/1: uuid $u1" tg restore --wait 1 f.json
# Nobody is kept from anything while it waits, and it can be ended.
env LD_PRELOAD="$first$work/mock.so" "$ACCEL" target restore --root="$m" --wait 60 f.json 2>wait.err &
waits=$!
sleep 1
ok "  others work while it waits" tg create other -e digest
ok "  " tg delete other
kill -TERM $waits
wait $waits
is "  a signal ends it" 143 $?
(sleep 1; lower 6 nqn.2026-11.local.accel:disk S0 0000:01:00.0; namespace 6 1 1 $u1; namespace 6 2 5 $u2) &
ok "restore --wait" tg restore --wait 20 f.json
is "  finds it when it comes" "/dev/nvme6" "$(cat "$pt/d/namespaces/3/device_path")"
wait
tg clear
# Two paths to one namespace, with a head.
fresh
lower 1 nqn.2026-11.local.accel:far S1 traddr=192.0.2.7,trsvcid=4420,src_addr=192.0.2.1
lower 2 nqn.2026-11.local.accel:far S1 traddr=192.0.2.8,trsvcid=4420,src_addr=192.0.2.1
namespace 1 1 3 $u1 nvme1c1n1
namespace 2 1 3 $u1 nvme1c2n1
echo connecting >"$m/sys/class/nvme/nvme1/state"
ok "a namespace with two paths" tg create d --device /dev/nvme1n1
says "  which one was taken is said" 'reached by nvme1, nvme2; took nvme2' err
is "  the one that is live" "/dev/nvme2 3" "$(cd "$pt/d/namespaces/1" && cat device_path device_nsid | xargs)"
ok "  the other one by name" tg add d --device /dev/nvme1,nsid=3
tg save f.json
json "  its address without what changes" f.json \
	"x['nvme_accel_passthru'][0]['namespaces'][0]['identity']['address'] == 'traddr=192.0.2.8,trsvcid=4420'"

# ---- Save and restore ----
fresh
tg create comp -e compression --tcp 192.0.2.1 --host $host --host $host2 >/dev/null
tg create dig -e digest -e checksum --max-cmds-per-sec 1000 >/dev/null
mkdir "$nvmet/subsystems/others" "$nvmet/ports/7" "$nvmet/ports/7/subsystems" "$nvmet/hosts/others"
echo secret >"$nvmet/hosts/$host/dhchap_key"
values >v1
ok "save" tg save t.json
is "  only its owner may read it" 600 "$(stat -c %a t.json)"
no_leftover "  no temporary file" .
json "  the form of nvmetcli" t.json "all(type(x[k]) is list for k in ('hosts', 'ports', 'subsystems')) and \
x['ports'][0]['addr']['trsvcid'] == '4420' and x['ports'][0]['portid'] == 1 and x['ports'][0]['referrals'] == [] and \
x['subsystems'][0]['passthru'][0]['device']['path'].startswith('/dev/nvme') and x['subsystems'][0]['namespaces'] == [] and \
'enable' not in x['subsystems'][0]['passthru'][0] and sorted(x['subsystems'][0]['allowed_hosts']) == sorted(h['nqn'] for h in x['hosts'])"
json "  nothing of others" t.json "len(x['subsystems']) == 1 and len(x['ports']) == 1 and len(x['hosts']) == 2"
json "  keys are kept" t.json "[h['dhchap']['key'] for h in x['hosts'] if 'dhchap' in h] == ['secret']"
ok "restore what is there" tg restore t.json
values >v2
same "  changes nothing" v1 v2
ok "clear" tg clear
is "  others' stay" "7 others others" "$(cd "$nvmet" && ls ports hosts subsystems | grep -v ':$' | sort | xargs)"
ok "restore" tg restore t.json
values >v2
same "  all is there again" v1 v2
rm -r "$pt/comp/namespaces/1"
ok "restore makes what is missing" tg restore t.json
values >v2
same "  " v1 v2
echo 5 >"$pt/dig/namespaces/1/max_inflight"
ok "restore --clear" tg restore --clear t.json
values >v2
same "  " v1 v2
ok "--dry-run" tg restore --dry-run t.json
ok "save over it" tg save t.json
ok "save to standard output" tg save -
same "  the same" t.json out
ln -s t.json link.json
ok "restore by a link" tg restore link.json

# What restore would refuse does not replace what was saved; what is not finished is no error.
cp t.json kept.json
put() { printf '%s\n' "$2" >"$pt/$1"; }
put dig/model "$(printf 'a\tb')"
no "save of what restore refuses" 1 "what there is: nvme_accel_passthru\[1\].attr: model has" tg save t.json
says "  says what to do" 't.json is left as it is' err
same "  the file before is whole" t.json kept.json
put dig/model "nvme-accel virtual controller"
put dig/namespaces/2/enable 0
put dig/namespaces/2/kind device
remake() { LD_PRELOAD="$first$work/mock.so" mkdir "$1"; }
remake "$pt/dig/namespaces/4"
put dig/namespaces/2/allow "read write flush $(seq -f '%.0f' 128 255 | while read -r i; do printf '0x%02x:none ' "$i"; done | sed 's/ $//')"
ok "save of what is not finished, with every command" tg save long.json
tg delete -f dig
ok "  restore" tg restore long.json
is "  " "1297 device 0 none" \
	"$(wc -c <"$pt/dig/namespaces/2/allow") $(cd "$pt/dig/namespaces" && cat 2/kind 2/enable 4/kind | xargs)"
ok "  as it was" tg restore --clear t.json
ok "every type of engine is made" tg create types -e compression -e erasure -e cipher -e digest -e checksum -e data -e all
ok "  " tg delete types
values >v2
same "  all is as it was" v1 v2

# Files that are wrong: said where; nothing is touched.
# Each line: name|pattern|what is done to the document.
cat >bads <<'LIST'
unknown key|unknown key 'extra'|x["extra"] = 1
unknown key in a controller|nvme_accel_passthru\[0\]: unknown key 'size'|v[0]["size"] = 1
unknown attribute|nvme_accel_passthru\[1\].namespaces\[0\].attr: unknown key 'speed'|v[1]["namespaces"][0]["attr"]["speed"] = 1
name|nvme_accel_passthru\[0\]: name has|v[0]["name"] = "../x"
no name|nvme_accel_passthru\[0\]: name has|del v[0]["name"]
name twice|nvme_accel_passthru\[1\]: name comp is there twice|v[1]["name"] = "comp"
nsid|namespaces\[0\]: nsid is a number from 1 to 1024|v[0]["namespaces"][0]["nsid"] = 1025
nsid as text|namespaces\[0\]: nsid is a number|v[0]["namespaces"][0]["nsid"] = "1"
nsid twice|namespaces\[1\]: nsid 1 is there twice|v[1]["namespaces"][1]["nsid"] = 1
enable|enable is a number from 0 to 1|v[0]["enable"] = 2
range|attr: queue_depth is a number from 2 to 1024|v[0]["attr"]["queue_depth"] = 1
type of a value|attr: serial is a text|v[0]["attr"]["serial"] = [1]
line end in a value|attr: serial has|v[0]["attr"]["serial"] = "a\nb"
zero byte in a value|line 1, column [0-9]+: "a.u0000b" has a zero byte|v[0]["attr"]["serial"] = "a\0b"
kind|kind is one of device engine|v[0]["namespaces"][0]["attr"]["kind"] = "disk"
no kind|has no kind|del v[0]["namespaces"][0]["attr"]["kind"]
no type|has no engine_type|del v[0]["namespaces"][0]["attr"]["engine_type"]
no path|has no device_path|v[0]["namespaces"][0]["attr"]["kind"] = "device"
path|device_path is a device in /dev|v[0]["namespaces"][0]["attr"]["device_path"] = "/etc/passwd"
an array that is none|ports is an array|x["ports"] = {}
an object that is none|ports\[0\]: is an object|p[0] = 1
port twice|ports\[1\]: portid 1 is there twice|p.append(p[0])
portid|ports\[0\]: portid is a number from 0 to 65535|p[0]["portid"] = 65536
trtype|ports\[0\].addr: trtype is one of|p[0]["addr"]["trtype"] = "carrier"
no address|ports\[0\]: addr has no traddr|del p[0]["addr"]["traddr"]
referrals|nvmetcli restores such ports|p[0]["referrals"] = [{}]
a subsystem that is not there|ports\[0\]: subsystems: nqn.x is not among the subsystems|p[0]["subsystems"] = ["nqn.x"]
a host that is not there|subsystems\[0\]: allowed_hosts: .* is not among the hosts|x["hosts"] = []
NQN with a slash|hosts\[0\]: nqn begins|h[0]["nqn"] = "nqn.a/../b"
NQN that is long|hosts\[0\]: nqn begins|h[0]["nqn"] = "nqn." + "a" * 220
a subsystem of others|subsystems\[1\]: is in the exports of 0 controllers.*nvmetcli|s.append({"nqn": "nqn.x"})
a subsystem with namespaces|has namespaces of its own|s[0]["namespaces"] = [{"nsid": 1}]
hosts and any host|allow_any_host is 1|s[0]["attr"]["allow_any_host"] = "1"
exported, not enabled|is exported, but enable is 0|v[0]["enable"] = 0
exported by two|exports of 2 controllers|v[1]["exports"] = v[0]["exports"]
LIST
python3 - <<'PY'
import json
for i, line in enumerate(open("bads")):
    x = json.load(open("t.json"))
    s, p, h, v = x["subsystems"], x["ports"], x["hosts"], x["nvme_accel_passthru"]
    exec(line.rstrip("\n").split("|", 2)[2])
    json.dump(x, open("bad-%d.json" % i, "w"))
PY
i=0
while IFS='|' read -r name pattern _; do
	no "file: $name" 1 "bad-$i.json: .*$pattern" tg restore --clear "bad-$i.json"
	i=$((i + 1))
done <bads
values >v2
same "  none of them touched anything" v1 v2
n=$(wc -c <t.json)
for i in 0 1 2 50 $((n / 2)) $((n - 3)); do
	head -c "$i" t.json >bad.json
	no "file cut off after $i bytes" 1 'bad.json: line [0-9]+: the file ends before' tg restore bad.json
done
for i in 'x' '[]' '{"hosts": [}' '{} {}' '{"a":1,}'; do
	printf '%s' "$i" >bad.json
	no "file: $i" 1 'bad.json: ' tg restore bad.json
done
sed 's/"name": "comp"/&, "n\\u0061me": "x"/' t.json >bad.json
no "a member twice" 1 'bad.json: line [0-9]+, column [0-9]+: "n.u0061me" is there twice in one object' tg restore bad.json
sed 's/"ports": /"ports": [], &/' t.json >bad.json
no "  at the top" 1 'bad.json: line [0-9]+, column [0-9]+: "ports" is there twice' tg restore bad.json
python3 -c 'import json; print(json.dumps({"nvme_accel_passthru": [{"name": "c%d" % i} for i in range(100000)]}))' >bad.json
no "a hundred thousand controllers" 1 'nvme_accel_passthru has more than 4096' timeout 20 "$ACCEL" target restore --root="$m" bad.json
no "a FIFO" 1 'is no regular file' sh -c 'mkfifo ff && "$1" target restore --root="$2" ff' sh "$ACCEL" "$m"
head -c 2000 /dev/urandom >bad.json
no "random bytes" 1 'bad.json: ' tg restore bad.json
python3 -c 'print("[" * 100000)' >bad.json
no "nested too deep" 1 'bad.json: line' tg restore bad.json
head -c 9000000 /dev/zero | tr '\0' ' ' >bad.json
no "a file that is large" 1 'larger than any' tg restore bad.json
no "a file that is not there" 1 'nofile.json: No such file' tg restore nofile.json
mkdir adir
no "a directory" 1 'is a directory' tg restore adir
echo '{}' >bad.json
ok "an empty configuration" tg restore bad.json
values >v2
same "  none of them touched anything" v1 v2

# ---- Refusals of the kernel: said why, undone ----
refused() { # NAME STATUS PATTERN MOCK_REFUSE COMMAND...
	name=$1 want=$2 pattern=$3
	export MOCK_REFUSE="$4"
	shift 4
	no "$name" "$want" "$pattern" tg "$@"
	unset MOCK_REFUSE
	says "  it says that it was undone" 'what had been done before that was undone' err
	values >v2
	same "  it was" v1 v2
}
np='nvme-accel-passthru: x namespace 1: no'
new="create x -e compression --rdma 192.0.2.9 --host nqn.2026-11.local.accel:new"
# shellcheck disable=SC2086 # words
{
	refused "a value" 1 "x/namespaces/1/engine_type: write 'compression': Invalid argument; the kernel says: $np such engine" \
		"nvme-accel-passthru/x/namespaces/1/engine_type:22:$np such engine" $new
	refused "enabling" 4 'x/enable: write .1.: Device or resource busy; the kernel says' \
		"nvme-accel-passthru/x/enable:16:nvme-accel-passthru: x: in use" $new
	refused "a namespace" 1 'Cannot allocate memory' "nvme-accel-passthru/x/namespaces/1:12:" $new
	refused "a subsystem" 1 'File exists' "nvmet/subsystems/*:17:" $new
	refused "the passthru device" 3 'No such device; the kernel says: nvmet: ' "nvmet/subsystems/*/passthru/enable:19:nvmet: failed" $new
	refused "a host" 1 'allowed_hosts/nqn.2026-11.local.accel:new: symlink' "nvmet/subsystems/*/allowed_hosts/*:22:nvmet: any host" $new
	refused "an address that is taken" 1 'choose another one' "nvmet/ports/*/subsystems/*:98:" $new
	refused "an address that is not there" 1 'does not have that address' "nvmet/ports/*/subsystems/*:99:" $new
	refused "  the kernel tells more" 1 'choose another one\); the kernel says: nvmet_tcp: failed' \
		"nvmet/ports/*/subsystems/*:98:nvmet_tcp: failed to bind port socket -98" $new
	refused "no right" 1 'only root' "nvmet/ports/*:13:" $new
	refused "the log has nothing about it" 1 'dmesg may tell' "nvmet/ports/*/addr_traddr:22:" $new
}
sed -e 's/"comp"/"x"/' -e 's/192.0.2.1/192.0.2.9/' -e 's/"portid": 1,/"portid": 9,/' -e "s/$(cat "$pt/comp/subsysnqn")/nqn.2026-11.local.accel:x/" \
	t.json >x.json
refused "restore" 1 'choose another one' "nvmet/ports/9/subsystems/*:98:" restore x.json
python3 - <<'PY'
import json
x = json.load(open("t.json"))
x["nvme_accel_passthru"][1]["attr"]["serial"] = "NEW"
json.dump(x, open("y.json", "w"))
PY
export MOCK_REFUSE="nvme-accel-passthru/dig/serial:5:"
no "restore --clear that fails" 1 'dig/serial: write .NEW.: Input/output error' tg restore --clear y.json
unset MOCK_REFUSE
says "  what there was before is back" 'is back' err
values >v2
same "  it is" v1 v2
export MOCK_NO_PASSTHRU=1
no "an inbox target without passthru" 1 'local use only' tg export dig --tcp 192.0.2.3 --any-host
unset MOCK_NO_PASSTHRU
values >v2
same "  nothing is left of it" v1 v2
no "a port with another address" 1 'is there with another address' tg export dig --tcp 192.0.2.3 --any-host --port-id 1
no "another name for what is exported" 1 'one name only' tg export comp --tcp 192.0.2.3 --host $host --nqn nqn.2026-11.local.accel:z
no "a name that others have" 1 'does not export dig' tg export dig --tcp 192.0.2.3 --any-host --nqn "$(cat "$pt/comp/subsysnqn")"
values >v2
same "  nothing is left of them" v1 v2

# ---- Rights, space, two at once, killed ----
mv "$pt" "$pt.away"
no "the module is not loaded" 1 'modprobe nvme-accel-passthru' tg create z -e all
ok "  then the list is empty" tg list
no "  it does not replace what was saved" 1 'nothing to save, and t.json is left as it is' tg save t.json
same "  the file is whole" t.json kept.json
ok "  and there is nothing to clear" tg clear
mv "$pt.away" "$pt"
is "  but exports of controllers that are no more" "others" "$(ls "$nvmet/subsystems")"
ok "  which come back" tg restore t.json
mv "$nvmet" "$nvmet.away"
no "nvmet is not loaded" 1 'modprobe nvmet' tg export dig --loop --any-host
mv "$nvmet.away" "$nvmet"
no "no configfs" 1 'is not there' tg create z -e all --configfs "$work/none"
no "not root" 1 'only root may' unprivileged "$(public_accel)" target create z -e all
no "no space at save" 1 'No space left' tg save /dev/full
cp t.json full.json
run sh -c 'ulimit -f 0; LD_PRELOAD="$1" "$2" target save --root="$3" full.json' sh "$first$work/mock.so" "$ACCEL" "$m"
if [ "$rc" -ne 0 ]; then pass "save that cannot write fails"; else fail "save that cannot write fails"; fi
same "  the file before is whole" t.json full.json
no_leftover "  no temporary file" .
no "save in a directory that is not there" 1 'No such file' tg save none/t.json

# hold SECONDS: somebody else has the lock for so long
hold() {
	rm -f held
	(
		flock 9
		echo 4711 >"$m/run/nvme-accel/target/lock"
		: >held
		sleep "$1"
	) 9<>"$m/run/nvme-accel/target/lock" &
	tries=0
	while [ ! -e held ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
}
hold 2
ok "two at once: the second waits" tg add dig -e cipher
wait
hold 16
no "  not for ever" 4 'another accel target is at work, process 4711' tg remove dig 3
wait
ok "  then it goes" tg remove dig 3
for i in 1 2 3 4 5 6; do tg create "p$i" -e digest --tcp 192.0.2.5 --any-host >/dev/null 2>"p$i.err" & done
wait
is "six at once: all are made" "p1 p2 p3 p4 p5 p6" "$(cd "$pt" && echo p?)"
is "  on one port" 6 "$(ls "$nvmet"/ports/2/subsystems | wc -l)"
for i in 1 2 3 4 5 6; do tg delete --force "p$i" & done
wait
values >v2
same "  and all go" v1 v2

# Killed at steps of a restore: the next one completes it, and clear takes all away.
tg clear
tg restore t.json
values >v1
nqn=$(cat "$pt/comp/subsysnqn")
killed() {
	tg clear
	MOCK_KILL=$1
	export MOCK_KILL
	run tg restore t.json
	unset MOCK_KILL
	[ "$rc" -eq 137 ] || fail "killed at $1" "status $rc"
}
for at in 'nvme-accel-passthru/comp/namespaces/*' '*/engine_type' nvme-accel-passthru/comp/enable '*/device_path' '*/allowed_hosts/*' \
	'*/addr_traddr' 'nvmet/ports/*/subsystems/*'; do
	killed "$at"
	ok "killed at $at: restore" tg restore t.json
	values >v2
	same "  completes it" v1 v2
done
for at in 'nvme-accel-passthru/comp/namespaces/*' '*/passthru/enable' 'nvmet/ports/*/subsystems/*'; do
	killed "$at"
	ok "killed at $at: clear" tg clear
	is "  takes it away" "features version" "$(ls "$pt" | xargs)"
done
# Between the making of a directory and the note that says whose it is; somebody else's has no such note.
for at in "nvmet/subsystems/$nqn" nvmet/ports/1 "nvmet/hosts/$host"; do
	killed "$at"
	remake "$cfs/$at"
	ok "killed right after mkdir $at: restore" tg restore t.json
	values >v2
	same "  completes it" v1 v2
	killed "$at"
	remake "$cfs/$at"
	ok "  clear" tg clear
	is "  takes it away" "7 others others" "$(cd "$nvmet" && ls ports hosts subsystems | grep -v ':$' | sort | xargs)"
done
remake "$nvmet/ports/1"
no "a port of somebody else, without an address yet" 1 "port 1 is somebody else's" tg restore t.json
rmdir "$nvmet/ports/1" 2>/dev/null || rm -r "$nvmet/ports/1"
is "others' have stayed" "7 others others" "$(cd "$nvmet" && ls ports hosts subsystems | grep -v ':$' | sort | xargs)"
finish
