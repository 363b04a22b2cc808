/* SPDX-License-Identifier: BSD-2-Clause */
/* accel ec: erasure coding of files. */
#include "ec_set.h"

static const struct verb *const subs[] = {
	&verb_ec_encode, &verb_ec_decode, &verb_ec_repair, &verb_ec_verify, NULL,
};

const struct verb verb_ec = {
	.name = "ec",
	.summary = "Split a file into shards of which some may be lost; restore, repair and check them",
	.usage = "encode [-k K] [-m M] [-b BLOCK] [-o DIR] FILE\n"
		 "decode [-o FILE] NAME|SHARD...\n"
		 "repair [-o json] NAME|SHARD...\n"
		 "verify [-o json] NAME|SHARD...",
	.subs = subs,
	.notes = "FILE becomes FILE.ec.000 and so on: K shards of data and M of parity. Any K of them give\n"
		 "the file back. NAME stands for all NAME.ec.NNN that are there.\n",
};
