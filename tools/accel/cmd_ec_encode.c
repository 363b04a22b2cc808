/* SPDX-License-Identifier: BSD-2-Clause */
/* accel ec encode: a file becomes k + m shards. */
#define _GNU_SOURCE
#include "ec_set.h"
#include "ec_out.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { OPT_SCHEME = OPT_LONG + 1 };

static const struct tool_opt opts[] = {
	{ 'k', "data", "K", "shards of data (default 10)", NULL },
	{ 'm', "parity", "M", "shards of parity: as many may be lost (default 2)", NULL },
	{ OPT_SCHEME, "scheme", "K+M", "both at once, as in 32+4", NULL },
	{ 'b', "block", "SIZE", "bytes of a block, a multiple of 512 up to 1M (default 64k)", NULL },
	{ 'o', "output", "DIR", "directory of the shards (default: that of FILE)", NULL },
	{ 'f', "force", NULL, "replace shards that exist", NULL },
	{ 'q', "quiet", NULL, "no warnings, no progress", NULL },
	{ 0 },
};

struct encode {
	struct file_in in;
	struct ec_out out;
	const char *dir;
	unsigned int flags;
	bool at_end;
};

/*
 * As file_read(), from what may make us wait: a signal that is held back does not end a read, so we look for
 * both in turn.
 */
static ssize_t read_patiently(struct tool *t, struct file_in *in, uint8_t *buf, size_t n)
{
	struct pollfd p = { .fd = in->fd, .events = POLLIN };
	size_t done = 0;
	ssize_t got = 1;

	while (done < n && got) {
		if (ec_signalled())
			return -1;
		if (poll(&p, 1, 200) <= 0)
			continue;
		got = read(in->fd, buf + done, n - done);
		if (got < 0 && errno != EINTR && errno != EAGAIN) {
			tool_file_error(t, in->name, "read", errno);
			return -1;
		}
		done += got > 0 ? (size_t)got : 0;
		got = got < 0 ? 1 : got;
	}
	return (ssize_t)done;
}

static ssize_t read_input(struct tool *t, struct file_in *in, uint8_t *buf, size_t n)
{
	return S_ISREG(in->st.st_mode) ? file_read(t, in, buf, n) : read_patiently(t, in, buf, n);
}

static int fill(struct ec_walk *w, struct ec_stripe *s)
{
	struct encode *e = w->arg;
	size_t want = (size_t)w->head.k * w->head.block_nbytes, share;
	ssize_t n;

	n = e->at_end ? 0 : read_input(w->t, &e->in, s->mem, want);
	if (n <= 0)
		return (int)n;
	w->head.file_nbytes += (uint64_t)n;
	s->len = w->head.block_nbytes;
	if ((size_t)n == want)
		return 1;
	e->at_end = true;
	share = ((size_t)n + w->head.k - 1) / w->head.k;
	s->len = (uint32_t)((share + EC_UNIT - 1) / EC_UNIT * EC_UNIT);
	memset(s->mem + n, 0, (size_t)w->head.k * s->len - (size_t)n);
	return 1;
}

static int sink(struct ec_walk *w, struct ec_stripe *s)
{
	struct encode *e = w->arg;
	int rc = 0;

	if (ec_signalled())
		return TOOL_FAILED;
	for (unsigned int i = 0; i < ec_nshard(&w->head) && !rc; i++)
		rc = ec_out_block(w->t, &e->out, s, i);
	return rc;
}

static int create_all(struct tool *t, struct encode *e, const struct ec_head *h, const char *file)
{
	const char *slash = strrchr(file, '/');
	int rc = 0;

	for (unsigned int i = 0; i < ec_nshard(h) && !rc; i++) {
		char *path;

		if (e->dir)
			rc = asprintf(&path, "%s/%s.ec.%03u", e->dir, h->name, i);
		else
			rc = asprintf(&path, "%.*s%s.ec.%03u", slash ? (int)(slash - file + 1) : 0, file,
				      h->name, i);
		if (rc < 0)
			return tool_error(t, file, "out of memory");
		rc = ec_out_create(t, &e->out, i, path, e->flags);
		free(path);
	}
	return rc;
}

static int make_head(struct tool *t, struct ec_head *h, const struct file_in *in)
{
	const char *slash = strrchr(in->name, '/'), *name = slash ? slash + 1 : in->name, *why;

	if (strlen(name) > EC_NAME_MAX - 7)
		return tool_error(t, in->name, "its name is too long to add .ec.000 to it");
	strcpy(h->name, name);
	h->mode = S_ISREG(in->st.st_mode) ? in->st.st_mode & 0777 : 0644;
	h->mtime = S_ISREG(in->st.st_mode) ? in->st.st_mtime : time(NULL);
	if (getrandom(h->uuid, sizeof(h->uuid), 0) != (ssize_t)sizeof(h->uuid))
		return tool_file_error(t, in->name, "getrandom", errno);
	h->uuid[6] = (h->uuid[6] & 0x0f) | 0x40;
	h->uuid[8] = (h->uuid[8] & 0x3f) | 0x80;
	why = ec_head_check(h);
	return why ? tool_usage(t, "%s", why) : 0;
}

static int check_whole(struct tool *t, const struct encode *e, const struct ec_head *h)
{
	if (!S_ISREG(e->in.st.st_mode) || (uint64_t)e->in.st.st_size == h->file_nbytes)
		return 0;
	return tool_error(t, e->in.name, "changed while it was read");
}

static int encode(struct tool *t, struct encode *e, struct ec_walk *w, const char *file)
{
	int rc;

	rc = make_head(t, &w->head, &e->in);
	if (!rc)
		rc = create_all(t, e, &w->head, file);
	if (rc)
		return rc;
	progress_start(&w->progress, t, e->in.name,
		       S_ISREG(e->in.st.st_mode) ? (uint64_t)e->in.st.st_size : 0);
	rc = ec_walk(w);
	progress_end(&w->progress);
	ec_head_layout(&w->head);
	if (!rc)
		rc = check_whole(t, e, &w->head);
	if (!rc && ec_signalled())
		rc = TOOL_FAILED;
	if (!rc)
		rc = ec_out_commit(t, &e->out, &w->head, S_ISREG(e->in.st.st_mode) ? &e->in.st : NULL);
	return rc;
}

static int parse_scheme(struct tool *t, const char *text, struct ec_head *h)
{
	char k[8] = "";
	size_t n = strcspn(text, "+");
	uint64_t v;

	if (!text[n] || n >= sizeof(k))
		return tool_usage(t, "--scheme: '%s' is not of the form 10+2", text);
	memcpy(k, text, n);
	if (opts_number(t, "--scheme", k, 1, 254, &v))
		return TOOL_USAGE;
	h->k = (uint8_t)v;
	if (opts_number(t, "--scheme", text + n + 1, 1, 254, &v))
		return TOOL_USAGE;
	h->m = (uint8_t)v;
	return 0;
}

static int option(struct tool *t, struct encode *e, struct ec_head *h, int c)
{
	uint64_t v = 0;
	int rc = 0;

	if (c == 'k' && !(rc = opts_number(t, "-k", optarg, 1, 254, &v)))
		h->k = (uint8_t)v;
	else if (c == 'm' && !(rc = opts_number(t, "-m", optarg, 1, 254, &v)))
		h->m = (uint8_t)v;
	else if (c == 'b' && !(rc = opts_number(t, "-b", optarg, EC_UNIT, EC_BLOCK_MAX, &v)))
		h->block_nbytes = (uint32_t)v;
	else if (c == OPT_SCHEME)
		rc = parse_scheme(t, optarg, h);
	else if (c == 'o')
		e->dir = optarg;
	else if (c == 'f')
		e->flags |= OUT_FORCE;
	else if (c == 'q')
		t->quiet = true;
	return rc;
}

static int run(struct tool *t, int argc, char **argv)
{
	struct encode e = { .in.fd = -1 };
	struct ec_walk w = { .t = t, .kind = EC_ENCODE, .fill = fill, .sink = sink, .arg = &e };
	sigset_t old;
	int c, rc;

	w.head = (struct ec_head){ .k = 10, .m = 2, .block_nbytes = 64 << 10 };
	while ((c = opts_next(t, argc, argv)) >= 0)
		if (option(t, &e, &w.head, c))
			return TOOL_USAGE;
	if (c == OPTS_STOP)
		return t->status;
	if (argc - optind != 1)
		return tool_usage(t, "one file is needed");
	/* Before signals are held back: who opens a FIFO waits for its writer, and may be told to end. */
	if (file_open(t, argv[optind], 0, &e.in))
		return TOOL_FAILED;
	/* A device may take its time too. */
	rc = tool_dev(t, ACCEL_OP_EC_ENCODE, ACCEL_RS_CAUCHY);
	if (rc) {
		file_close(&e.in);
		return rc;
	}
	ec_signals_hold(&old);
	rc = encode(t, &e, &w, argv[optind]);
	ec_out_abort(&e.out);
	file_close(&e.in);
	ec_signals_release(&old);
	return rc;
}

const struct verb verb_ec_encode = {
	.name = "encode",
	.summary = "Split a file into K shards of data and M of parity",
	.usage = "[-k K] [-m M] [-b BLOCK] [-o DIR] [-f] FILE",
	.opts = opts,
	.flags = VERB_DEVICE,
	.notes = "FILE - is standard input; its shards are stdin.ec.000 and so on.\n",
	.run = run,
};
