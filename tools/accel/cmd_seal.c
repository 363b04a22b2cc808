/* SPDX-License-Identifier: BSD-2-Clause */
/* accel seal and accel open: authenticated encryption of files. */
#define _GNU_SOURCE
#include "tool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "seal_key.h"
#include "seal_pipe.h"

enum { OPT_PASS_FILE = OPT_LONG + 1, OPT_PASS, OPT_GENERATE, OPT_BITS, OPT_RECORD };

/* 64 MiB and two passes: some tenths of a second, and below the memory bound of the command. */
enum { SCRYPT_LOG2N = 16, SCRYPT_R = 8, SCRYPT_P = 2 };

static const char suffix[] = ".sealed";

struct job {
	struct tool *t;
	bool sealing, to_stdout;
	const char *path;		/* -o */
	unsigned int flags;		/* OUT_* */
	uint32_t record_nbytes;
	const char *generate;
	unsigned int bits;
	struct seal_source source;
	struct seal_secret secret;
};

/* Name of the output; NULL: standard output. 0, or an exit code after a message. */
static int output_name(struct job *j, const struct file_in *in, char **name)
{
	size_t n = strlen(in->name), tail = sizeof(suffix) - 1;
	int rc = 0;

	*name = NULL;
	if (j->path)
		*name = strdup(j->path);
	else if (j->to_stdout || in->is_stdin)
		return 0;
	else if (j->sealing)
		rc = asprintf(name, "%s%s", in->name, suffix);
	else if (n > tail && !strcmp(in->name + n - tail, suffix) && in->name[n - tail - 1] != '/')
		*name = strndup(in->name, n - tail);
	else
		return tool_error(j->t, in->name, "its name does not end with %s: name the output with -o",
				  suffix);
	return rc < 0 || !*name ? tool_error(j->t, in->name, "out of memory") : 0;
}

static int new_head(struct job *j, struct seal_head *h)
{
	memset(h, 0, sizeof(*h));
	h->record_nbytes = j->record_nbytes;
	h->alg = j->secret.is_pass || j->secret.len == 32 ? SEAL_AES_256_GCM : SEAL_AES_128_GCM;
	if (getrandom(h->salt, sizeof(h->salt), 0) != (ssize_t)sizeof(h->salt))
		return tool_file_error(j->t, NULL, "getrandom", errno);
	if (!j->secret.is_pass)
		return 0;
	h->kdf = SEAL_KDF_SCRYPT;
	h->log2n = SCRYPT_LOG2N;
	h->r = SCRYPT_R;
	h->p = SCRYPT_P;
	if (getrandom(h->pass_salt, sizeof(h->pass_salt), 0) != (ssize_t)sizeof(h->pass_salt))
		return tool_file_error(j->t, NULL, "getrandom", errno);
	return 0;
}

/* What is wrong with a header, and with which values if they are numbers to compute with. */
static int refuse_head(struct job *j, const char *name, const struct seal_head *h, const char *why)
{
	const char *excess = NULL;

	if (h->kdf == SEAL_KDF_SCRYPT && h->alg == SEAL_AES_256_GCM)
		excess = seal_scrypt_excess(h);
	if (!excess)
		return tool_error(j->t, name, "%s", why);
	return tool_error(j->t, name, "%s: %s (N = 2^%u, r = %u, p = %u)", why, excess, h->log2n, h->r, h->p);
}

static int read_head(struct job *j, struct file_in *in, struct seal_head *h, uint8_t *page)
{
	ssize_t n = file_read(j->t, in, page, SEAL_HEAD_NBYTES);
	const char *why;

	if (n < 0)
		return TOOL_FAILED;
	if (n < (ssize_t)SEAL_HEAD_NBYTES)
		return tool_error(j->t, in->name, "is too short for a sealed file");
	memset(h, 0, sizeof(*h));
	why = seal_head_decode(h, page);
	if (why)
		return refuse_head(j, in->name, h, why);
	if (j->secret.is_pass != (h->kdf == SEAL_KDF_SCRYPT))
		return tool_error(j->t, in->name, h->kdf == SEAL_KDF_SCRYPT ? "is sealed with a passphrase" :
				  "is sealed with a key file");
	return 0;
}

/* The header of in, or a new one, with its MAC made or checked. */
static int prepare(struct job *j, struct file_in *in, struct seal_head *h, struct seal_keys *k, uint8_t *page)
{
	int rc;

	rc = j->sealing ? new_head(j, h) : read_head(j, in, h, page);
	if (rc)
		return rc;
	rc = seal_derive(h, &j->secret, k);
	if (rc == -EINVAL)
		return tool_error(j->t, in->name, "is sealed with a key of %u bits, this one has %zu",
				  h->alg == SEAL_AES_256_GCM ? 256 : 128, 8 * j->secret.len);
	if (rc)
		return tool_error(j->t, in->name, "the key derivation failed (memory?)");
	if (j->sealing)
		seal_head_encode(h, page);
	rc = seal_head_mac(k, page, !j->sealing);
	if (rc == -EBADMSG)
		return tool_error(j->t, in->name,
				  j->secret.is_pass ? "wrong passphrase, or its header was changed"
						    : "wrong key, or its header was changed");
	return rc ? tool_error(j->t, in->name, "libcrypto failed") : 0;
}

static int transfer(struct job *j, struct file_in *in, struct seal_head *h, struct seal_keys *k,
		    const uint8_t *page, const char *name)
{
	struct tool *t = j->t;
	struct progress progress;
	struct file_out out;
	struct seal_pipe p = { .t = t, .sealing = j->sealing, .keys = k, .head = page, .in = in, .out = &out,
			       .record_nbytes = h->record_nbytes, .progress = &progress };
	unsigned int binary = j->sealing ? OUT_BINARY : 0;
	int rc;

	rc = file_create(t, name, j->flags | binary, &out);
	if (rc)
		return rc;
	progress_start(&progress, t, in->name, S_ISREG(in->st.st_mode) ? (uint64_t)in->st.st_size : 0);
	if (j->sealing)
		rc = file_write(t, &out, page, SEAL_HEAD_NBYTES);
	if (!rc)
		rc = seal_pipe_run(&p);
	progress_end(&progress);
	if (!rc)
		rc = file_commit(t, &out, S_ISREG(in->st.st_mode) ? &in->st : NULL, 0);
	file_abort(&out);
	return rc;
}

static int one(struct job *j, const char *path)
{
	uint8_t page[SEAL_HEAD_NBYTES];
	struct seal_head h;
	struct seal_keys k = { 0 };
	struct file_in in;
	char *name = NULL;
	int rc;

	if (file_open(j->t, path, 0, &in))
		return TOOL_FAILED;
	rc = output_name(j, &in, &name);
	if (!rc)
		rc = prepare(j, &in, &h, &k, page);
	if (!rc)
		rc = transfer(j, &in, &h, &k, page, name);
	seal_wipe(&k, sizeof(k));
	file_close(&in);
	free(name);
	return rc;
}

static int files(struct job *j, char **paths, int n)
{
	static char dash[] = "-";
	char *standard[] = { dash };
	int rc, worst = 0;

	if (!n) {
		paths = standard;
		n = 1;
	}
	if (n > 1 && (j->path || j->to_stdout))
		return tool_usage(j->t, "-o and -c take one file");
	rc = seal_secret_get(j->t, &j->source, j->sealing, &j->secret);
	if (!rc)
		rc = tool_dev(j->t, j->sealing ? ACCEL_OP_ENCRYPT : ACCEL_OP_DECRYPT, ACCEL_AES_GCM);
	if (rc)
		return rc;
	file_signals();
	for (int i = 0; i < n; i++) {
		rc = one(j, paths[i]);
		worst = rc > worst ? rc : worst;
	}
	return worst;
}

static int option(struct job *j, int c)
{
	uint64_t v;

	switch (c) {
	case 'K':
		j->source.key_file = optarg;
		break;
	case OPT_PASS_FILE:
		j->source.pass_file = optarg;
		break;
	case OPT_PASS:
		j->source.ask = true;
		break;
	case OPT_GENERATE:
		j->generate = optarg;
		break;
	case OPT_BITS:
		if (opts_number(j->t, "--bits", optarg, 128, 256, &v))
			return TOOL_USAGE;
		if (v != 128 && v != 256)
			return tool_usage(j->t, "--bits: 128 or 256");
		j->bits = (unsigned int)v;
		break;
	case OPT_RECORD:
		if (opts_number(j->t, "--record", optarg, SEAL_RECORD_MIN, SEAL_RECORD_MAX, &v))
			return TOOL_USAGE;
		if (v % 4096)
			return tool_usage(j->t, "--record: a multiple of 4096 is needed");
		j->record_nbytes = (uint32_t)v;
		break;
	case 'o':
		j->path = optarg;
		break;
	case 'c':
		j->to_stdout = true;
		break;
	case 'f':
		j->flags |= OUT_FORCE;
		break;
	case 'q':
		j->t->quiet = true;
		break;
	}
	return 0;
}

static int run(struct tool *t, int argc, char **argv, bool sealing)
{
	struct job j = { .t = t, .sealing = sealing, .record_nbytes = 128 << 10, .bits = 256 };
	int c, rc;

	while ((c = opts_next(t, argc, argv)) >= 0)
		if (option(&j, c))
			return TOOL_USAGE;
	if (c == OPTS_STOP)
		return t->status;
	if (j.generate)
		return optind < argc ? tool_usage(t, "--generate-key takes no file to seal") :
				       seal_generate(t, j.generate, j.bits);
	rc = files(&j, argv + optind, argc - optind);
	seal_wipe(&j.secret, sizeof(j.secret));
	return rc;
}

static int run_seal(struct tool *t, int argc, char **argv)
{
	return run(t, argc, argv, true);
}

static int run_open(struct tool *t, int argc, char **argv)
{
	return run(t, argc, argv, false);
}

#define KEY_OPTS \
	{ 'K', "key-file", "FILE", "key: 16 or 32 bytes, or as many in hexadecimal", NULL }, \
	{ OPT_PASS_FILE, "passphrase-file", "FILE", "passphrase: the first line of FILE", NULL }, \
	{ OPT_PASS, "passphrase", NULL, "ask for a passphrase (default if there is no other key)", NULL }, \
	{ 'c', "stdout", NULL, "write to standard output", NULL }, \
	{ 'f', "force", NULL, "replace a file that exists", NULL }, \
	{ 'q', "quiet", NULL, "no warnings, no progress", NULL }

static const struct tool_opt seal_opts[] = {
	{ 'o', "output", "FILE", "output file, - for standard output (default: FILE.sealed)", NULL },
	KEY_OPTS,
	{ OPT_RECORD, "record", "SIZE", "bytes of a record, 64k to 1M (default 128k)", NULL },
	{ OPT_GENERATE, "generate-key", "FILE", "make a new key file and do nothing else", NULL },
	{ OPT_BITS, "bits", "N", "of the new key: 256 (default) or 128", NULL },
	{ 0 },
};

static const struct tool_opt open_opts[] = {
	{ 'o', "output", "FILE", "output file, - for standard output (default: FILE without .sealed)", NULL },
	KEY_OPTS,
	{ 0 },
};

const struct verb verb_seal = {
	.name = "seal",
	.summary = "Encrypt and authenticate files (AES-GCM)",
	.usage = "[-K KEYFILE | --passphrase-file FILE] [-o OUT] [-f] [FILE]...\n--generate-key KEYFILE "
		 "[--bits N]",
	.opts = seal_opts,
	.flags = VERB_DEVICE,
	.notes = "The input is kept. Without FILE, or with -, standard input is sealed to standard output.\n",
	.run = run_seal,
};

const struct verb verb_open = {
	.name = "open",
	.summary = "Check and decrypt what `accel seal` made",
	.usage = "[-K KEYFILE | --passphrase-file FILE] [-o OUT] [-f] [FILE]...",
	.opts = open_opts,
	.flags = VERB_DEVICE,
	.notes = "A file appears only if every record is authentic. On standard output records appear one\n"
		 "after the other, each after it was found authentic: look at the exit status before using\n"
		 "the whole.\n",
	.run = run_open,
};
