/* SPDX-License-Identifier: BSD-2-Clause */
/* Where keys come from. */
#ifndef ACCEL_SEAL_KEY_H
#define ACCEL_SEAL_KEY_H

#include "seal_format.h"
#include "tool.h"

struct seal_source {
	const char *key_file;		/* --key-file */
	const char *pass_file;		/* --passphrase-file */
	bool ask;			/* --passphrase */
};

/* 0, or an exit code after a message. confirm: a typed passphrase is asked for twice. */
int seal_secret_get(struct tool *t, const struct seal_source *src, bool confirm, struct seal_secret *s);
void seal_wipe(void *p, size_t n);
/* A new file with a random key of that many bits, readable by its owner only. */
int seal_generate(struct tool *t, const char *path, unsigned int bits);

#endif
