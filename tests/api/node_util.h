/* SPDX-License-Identifier: BSD-2-Clause */
/* Trees as sysfs has them, for the tests of nodes. */
#ifndef TESTS_NODE_UTIL_H
#define TESTS_NODE_UTIL_H

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include "api_util.h"
#include "../../lib/transport/node.h"

struct tree {
	char root[64];
};

static inline void tree_new(struct tree *t)
{
	strcpy(t->root, "/tmp/accel-node-XXXXXX");
	assert_non_null(mkdtemp(t->root));
}

static inline int tree_unlink(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void tree_free(struct tree *t)
{
	nftw(t->root, tree_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes a file of that content and the directories above it; NULL: only the directories. */
static inline void tree_put(const struct tree *t, const char *path, const char *text)
{
	char full[512], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", t->root, path);
	for (slash = strchr(full + strlen(t->root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	if (!text)
		return;
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static inline void tree_link(const struct tree *t, const char *path, const char *to)
{
	char full[512];

	tree_put(t, path, NULL);
	snprintf(full, sizeof(full), "%s/%s", t->root, path);
	assert_int_equal(symlink(to, full), 0);
}

struct pair {
	const char *name, *text;
};

static inline void tree_attrs(const struct tree *t, const char *dir, const struct pair *pairs)
{
	char path[256];

	for (; pairs->name; pairs++) {
		snprintf(path, sizeof(path), "%s/%s", dir, pairs->name);
		tree_put(t, path, pairs->text);
	}
}

/* Names that a scan finds. */
struct found {
	unsigned int n;
	char name[2048][32];
	int stop_at, ret;
};

static inline int found_one(void *arg, const char *name)
{
	struct found *f = arg;

	assert_true(f->n < 2048);
	snprintf(f->name[f->n++], sizeof(f->name[0]), "%s", name);
	return f->stop_at && (int)f->n == f->stop_at ? f->ret : 0;
}

#endif
