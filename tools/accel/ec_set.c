/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding shards: the file names are only a help, the headers decide. */
#define _GNU_SOURCE
#include "ec_set.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that may be a shard. */
struct found {
	int fd;
	char *path;
	uint64_t nbytes;
	struct ec_head head;
	const char *why;	/* not identified */
	bool copy;		/* identified by the header at its end */
};

struct search {
	struct found *list;
	size_t n, room;
};

int ec_name_index(const char *path, size_t *n)
{
	size_t len = strlen(path);
	const char *tail = path + len - 7;
	int index;

	if (len < 8 || strncmp(tail, ".ec.", 4) || strspn(tail + 4, "0123456789") != 3)
		return -1;
	index = atoi(tail + 4);
	*n = len - 7;
	return index < (int)EC_SHARDS_MAX ? index : -1;
}

static bool read_page(int fd, uint64_t off, uint8_t *page)
{
	return pread(fd, page, EC_HEAD_NBYTES, (off_t)off) == (ssize_t)EC_HEAD_NBYTES;
}

static void identify(struct found *f)
{
	uint8_t page[EC_HEAD_NBYTES];
	const char *why;

	f->why = "too short for a shard";
	if (!read_page(f->fd, 0, page))
		return;
	f->why = ec_head_decode(&f->head, page);
	if (!f->why || f->nbytes < 2 * EC_HEAD_NBYTES)
		return;
	why = f->why;
	if (read_page(f->fd, f->nbytes - EC_HEAD_NBYTES, page) && !ec_head_decode(&f->head, page)) {
		f->why = NULL;
		f->copy = true;
		return;
	}
	f->why = why;
}

static struct found *new_found(struct search *s)
{
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 32;
		struct found *list = realloc(s->list, room * sizeof(*list));

		if (!list)
			return NULL;
		s->list = list;
		s->room = room;
	}
	memset(&s->list[s->n], 0, sizeof(*s->list));
	return &s->list[s->n++];
}

static int add_file(struct tool *t, struct search *s, const char *path)
{
	struct file_in in;
	struct found *f;

	/* What cannot be opened is as good as missing, and was reported. */
	if (file_open(t, path, FILE_REGULAR, &in))
		return 0;
	f = new_found(s);
	if (f)
		f->path = strdup(path);
	if (!f || !f->path) {
		file_close(&in);
		return tool_error(t, path, "out of memory");
	}
	f->fd = in.fd;
	f->nbytes = (uint64_t)in.st.st_size;
	identify(f);
	return 0;
}

/* NAME stands for NAME.ec.000 and so on; else it is a shard itself. */
static int add_arg(struct tool *t, struct search *s, const char *arg)
{
	char *path = NULL;
	bool any = false;
	size_t n;
	int rc = 0;

	if (ec_name_index(arg, &n) >= 0)
		return add_file(t, s, arg);
	for (unsigned int i = 0; i < EC_SHARDS_MAX && !rc; i++) {
		if (asprintf(&path, "%s.ec.%03u", arg, i) < 0)
			return tool_error(t, arg, "out of memory");
		if (!access(path, F_OK)) {
			any = true;
			rc = add_file(t, s, path);
		}
		free(path);
	}
	if (!any && access(arg, F_OK))
		return tool_error(t, arg, "there is neither such a file nor a shard %s.ec.000 to %s.ec.254",
				  arg, arg);
	return any || rc ? rc : add_file(t, s, arg);
}

static bool same_uuid(const struct ec_head *a, const struct ec_head *b)
{
	return !memcmp(a->uuid, b->uuid, sizeof(a->uuid));
}

static unsigned int members(const struct search *s, const struct found *of)
{
	unsigned int n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += !s->list[i].why && same_uuid(&s->list[i].head, &of->head);
	return n;
}

/* The set that most of the files belong to. */
static int choose(struct tool *t, struct ec_set *set, const struct search *s)
{
	const struct found *best = NULL, *rival = NULL;
	unsigned int nbest = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct found *f = &s->list[i];
		unsigned int n = f->why ? 0 : members(s, f);

		if (n > nbest) {
			best = f;
			nbest = n;
			rival = NULL;
		} else if (n && n == nbest && !same_uuid(&best->head, &f->head)) {
			rival = f;
		}
	}
	if (!best) {
		for (size_t i = 0; i < s->n; i++)
			tool_error(t, s->list[i].path, "%s", s->list[i].why);
		return tool_error(t, NULL, "no shard was found");
	}
	if (rival)
		return tool_error(t, rival->path,
				  "is of another set than %s: name the shards of one set only", best->path);
	set->head = best->head;
	return 0;
}

static int set_base(struct tool *t, struct ec_set *set, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n;

	if (ec_name_index(path, &n) >= 0)
		set->base = strndup(path, n);
	else if (asprintf(&set->base, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, set->head.name) <
		 0)
		set->base = NULL;
	return set->base ? 0 : tool_error(t, path, "out of memory");
}

/* Remembers a file that stands under a shard's name and is none of this set. */
static void stranger(struct tool *t, struct ec_set *set, struct found *f)
{
	size_t n;
	int index = ec_name_index(f->path, &n);

	if (f->why)
		tool_warning(t, f->path, "%s", f->why);
	else
		tool_warning(t, f->path, "is of another set: ignored");
	if (index >= 0 && !set->unknown[index]) {
		set->unknown[index] = f->path;
		set->foreign[index] = !f->why;
		f->path = NULL;
	}
}

static void check_extent(struct ec_set *set, struct ec_shard *shard, const struct found *f)
{
	uint64_t want = ec_shard_nbytes(&set->head);
	uint8_t page[EC_HEAD_NBYTES], expected[EC_HEAD_NBYTES];

	shard->head_bad = f->copy;
	if (f->copy)
		shard->why = "its header is damaged (the copy at its end is good)";
	if (f->nbytes < want)
		shard->why = "it is truncated";
	else if (f->nbytes > want)
		shard->why = "it is longer than it should be";
	if (shard->why)
		return;
	ec_head_encode(&f->head, expected);
	if (!read_page(shard->fd, want - EC_HEAD_NBYTES, page) || memcmp(page, expected, sizeof(page))) {
		shard->head_bad = true;
		shard->why = "the copy of its header is damaged";
	}
}

static void place(struct tool *t, struct ec_set *set, struct found *f)
{
	struct ec_shard *shard = &set->shard[f->head.index];

	if (f->why || !same_uuid(&f->head, &set->head)) {
		stranger(t, set, f);
		return;
	}
	if (!ec_head_same_set(&f->head, &set->head)) {
		tool_warning(t, f->path, "its header disagrees with those of the other shards: ignored");
		return;
	}
	if (shard->fd >= 0) {
		tool_warning(t, f->path, "is the same shard as %s: ignored", shard->path);
		return;
	}
	shard->fd = f->fd;
	shard->path = f->path;
	shard->nbytes = f->nbytes;
	f->fd = -1;
	f->path = NULL;
	set->nfound++;
	check_extent(set, shard, f);
}

/* Whole shards before others, so that of two copies of one the better one is taken. */
static void place_all(struct tool *t, struct ec_set *set, struct search *s)
{
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < s->n; i++) {
			struct found *f = &s->list[i];
			bool whole = !f->why && !f->copy && f->nbytes == ec_shard_nbytes(&f->head);

			if (f->path && whole == !pass)
				place(t, set, f);
		}
	}
}

static void free_search(struct search *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->list[i].fd >= 0 && s->list[i].fd > STDIN_FILENO)
			close(s->list[i].fd);
		free(s->list[i].path);
	}
	free(s->list);
}

int ec_set_open(struct tool *t, struct ec_set *set, char **args, int nargs)
{
	struct search s = { 0 };
	int rc = 0;

	memset(set, 0, sizeof(*set));
	for (unsigned int i = 0; i < EC_SHARDS_MAX; i++)
		set->shard[i].fd = -1;
	for (int i = 0; i < nargs && !rc; i++)
		rc = add_arg(t, &s, args[i]);
	if (!rc)
		rc = choose(t, set, &s);
	if (!rc)
		place_all(t, set, &s);
	for (unsigned int i = 0; i < EC_SHARDS_MAX && !rc && !set->base; i++)
		if (set->shard[i].path)
			rc = set_base(t, set, set->shard[i].path);
	free_search(&s);
	if (rc)
		ec_set_close(set);
	return rc;
}

void ec_set_close(struct ec_set *set)
{
	for (unsigned int i = 0; i < EC_SHARDS_MAX; i++) {
		if (set->shard[i].fd >= 0)
			close(set->shard[i].fd);
		set->shard[i].fd = -1;
		free(set->shard[i].path);
		free(set->unknown[i]);
		set->shard[i].path = set->unknown[i] = NULL;
	}
	free(set->base);
	set->base = NULL;
}
