/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known about a set, in words and in JSON; and signals while many outputs are open. */
#define _GNU_SOURCE
#include "ec_set.h"
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

unsigned int ec_set_missing(const struct ec_set *set)
{
	return ec_nshard(&set->head) - set->nfound;
}

bool ec_set_needs(const struct ec_set *set, unsigned int i)
{
	const struct ec_shard *s = &set->shard[i];

	return s->fd < 0 || s->nbad || s->why;
}

const char *ec_shard_state(const struct ec_set *set, unsigned int i, char *buf, size_t nbytes)
{
	const struct ec_shard *s = &set->shard[i];

	if (s->fd < 0)
		return set->unknown[i] ? "missing (what stands in its place is no shard of this set)"
				       : "missing";
	if (!s->nbad)
		return s->why ? s->why : "good";
	snprintf(buf, nbytes, "%llu of %llu blocks %s damaged, the first in stripe %llu%s%s%s",
		 (unsigned long long)s->nbad, (unsigned long long)set->head.nstripe, s->nbad == 1 ? "is" : "are",
		 (unsigned long long)s->first_bad, s->unreadable ? " (read errors)" : "", s->why ? "; " : "",
		 s->why ? s->why : "");
	return buf;
}

char *ec_set_path(const struct ec_set *set, const char *dir, unsigned int i)
{
	const char *slash = strrchr(set->base, '/'), *name = slash ? slash + 1 : set->base;
	char *path;
	int rc;

	if (set->shard[i].path)
		return strdup(set->shard[i].path);
	if (set->unknown[i])
		return strdup(set->unknown[i]);
	if (dir)
		rc = asprintf(&path, "%s/%s.ec.%03u", dir, name, i);
	else
		rc = asprintf(&path, "%s.ec.%03u", set->base, i);
	return rc < 0 ? NULL : path;
}

void ec_set_warn(struct tool *t, const struct ec_set *set)
{
	char list[1024], buf[160];
	size_t n = 0;

	for (unsigned int i = 0; i < ec_nshard(&set->head); i++) {
		const struct ec_shard *s = &set->shard[i];

		if (s->fd < 0 && n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%03u", n ? ", " : "", i);
		else if (s->fd >= 0 && ec_set_needs(set, i))
			tool_warning(t, s->path, "%s", ec_shard_state(set, i, buf, sizeof(buf)));
	}
	if (n)
		tool_warning(t, set->base, "%u of %u shards missing: %s", ec_set_missing(set),
			     ec_nshard(&set->head), list);
}

static struct json_object *shard_json(const struct ec_set *set, unsigned int i)
{
	const struct ec_shard *s = &set->shard[i];
	struct json_object *o = json_object_new_object();
	char buf[160];

	out_add_num(o, "index", i);
	out_add_str(o, "kind", i < set->head.k ? "data" : "parity");
	out_add_str(o, "path", s->path ? s->path : set->unknown[i] ? set->unknown[i] : "");
	out_add_bool(o, "good", !ec_set_needs(set, i));
	out_add_str(o, "state", ec_shard_state(set, i, buf, sizeof(buf)));
	out_add_num(o, "blocks_damaged", s->nbad);
	return o;
}

struct json_object *ec_set_json(const struct ec_set *set)
{
	struct json_object *o = json_object_new_object(), *shards = json_object_new_array();
	const struct ec_head *h = &set->head;
	unsigned int nbad = 0;

	out_add_str(o, "name", h->name);
	out_add_hex(o, "set", h->uuid, sizeof(h->uuid));
	out_add_num(o, "k", h->k);
	out_add_num(o, "m", h->m);
	out_add_num(o, "block_bytes", h->block_nbytes);
	out_add_num(o, "file_bytes", h->file_nbytes);
	out_add_num(o, "stripes", h->nstripe);
	for (unsigned int i = 0; i < ec_nshard(h); i++) {
		nbad += ec_set_needs(set, i);
		json_object_array_add(shards, shard_json(set, i));
	}
	out_add_num(o, "shards_found", set->nfound);
	out_add_num(o, "shards_bad", nbad);
	json_object_object_add(o, "shards", shards);
	return o;
}

static void fatal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGXFSZ);
}

void ec_signals_hold(sigset_t *old)
{
	sigset_t set;

	fatal_set(&set);
	sigprocmask(SIG_BLOCK, &set, old);
}

bool ec_signalled(void)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) || sigismember(&set, SIGHUP);
}

void ec_signals_release(const sigset_t *old)
{
	sigprocmask(SIG_SETMASK, old, NULL);
}
