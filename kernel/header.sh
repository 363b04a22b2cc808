#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The private header, if it is missing or older than what it comes from: header.sh TOP DIR, for kernel/Makefile, which
# says the rest by the environment.
set -eu
top=$1 dir=$2
exec 9>"$dir/.lock"
flock -w 300 9 || { echo "header.sh: another build holds $dir/.lock for 5 minutes" >&2; exit 1; }

# What it comes from, as files and as words: if anything of it changes it is made again.
key="$NVME_CORE $BASE $KSRC $KDIR $RELEASE $TYPES $ENUMERATORS"
key=$(echo "$key"; stat -L -c '%n %s %Y' "$top"/scripts/mkprivate.py "$top"/scripts/btf.py "$top"/scripts/btf_c.py \
	"$top"/scripts/cnames.py "$top"/scripts/kimage.py "$top"/kernel/compat/nvme_public.h "$top"/kernel/compat/public.c \
	"$top"/kernel/header.sh "$KDIR"/Module.symvers "$KDIR"/include/config/auto.conf ${NVME_CORE:+"$NVME_CORE"} \
	${BASE:+"$BASE"} ${KSRC:+"$KSRC"/drivers/nvme/host/nvme.h})
[ ! -f "$dir/nvme_btf.h" ] || [ "$(cat "$dir/.key" 2>/dev/null)" != "$key" ] || exit 0

preprocess() { # FILE FLAGS
	ln -sfn "$top/kernel/compat/$1.c" "$dir/$1.c"
	printf 'obj-m := %s.o\nccflags-y := -I%s/kernel/compat %s\n' "$1" "$top" "$2" >"$dir/Kbuild"
	# Not a job of the outer make: its flags (-n, C=1) are not for this.
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$KDIR" M="$dir" "$1.i" >"$dir/log" 2>&1 || {
		cat "$dir/log" >&2
		echo "header.sh: the headers in $KDIR cannot be preprocessed; is the compiler that they name installed?" >&2
		exit 1
	}
}

generate() {
	python3 "$top/scripts/mkprivate.py" --public "$dir/public.i" --symvers "$KDIR/Module.symvers" \
		--export drivers/nvme/host/nvme-core --release "$RELEASE" "$@"
}

preprocess public ""
if [ -n "$KSRC" ]; then
	preprocess source "-I$KSRC/drivers/nvme/host"
	generate --source "$dir/source.i" --source-header drivers/nvme/host/nvme.h -o "$dir/nvme_btf.h"
	if [ -n "$NVME_CORE" ] && [ -n "$BASE" ]; then
		generate --module "$NVME_CORE" --base "$BASE" --types "$TYPES" --asserts-only -o "$dir/nvme_btf_check.h"
	else
		rm -f "$dir/nvme_btf_check.h"
	fi
else
	generate --module "$NVME_CORE" --base "$BASE" --types "$TYPES" --enumerators "$ENUMERATORS" -o "$dir/nvme_btf.h"
	rm -f "$dir/nvme_btf_check.h"
fi
rm -f "$dir"/*.i "$dir"/.*.i.cmd "$dir/log"
echo "$key" >"$dir/.key"
