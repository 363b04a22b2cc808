// SPDX-License-Identifier: BSD-2-Clause
/* Subsystems. The list is under target.lock; namespaces are read by reactors without it (subsys_ns). */
#include <stdlib.h>
#include "ctrl.h"

struct subsys *subsys_find(struct target *t, const char *nqn)
{
	struct subsys *s;

	for (s = t->subsys; s; s = s->next)
		if (!strcmp(s->conf.nqn, nqn))
			return s;
	return NULL;
}

/* In a reactor. */
unsigned int subsys_naccel(const struct subsys *s)
{
	unsigned int i, n = 0;

	for (i = 1; i <= MAX_NSID; i++) {
		const struct ns *ns = subsys_ns(s, i);

		if (ns && ns_is_accel(ns))
			n++;
	}
	return n;
}

/* With hosts, without namespaces, at the end of the list. */
struct subsys *subsys_new(struct target *t, const struct conf_subsys *conf)
{
	struct subsys *s = calloc(1, sizeof(*s)), **p;

	if (!s)
		return NULL;
	s->conf = *conf;
	s->conf.host = NULL;
	s->conf.ns = NULL;
	s->conf.nhost = s->conf.nns = 0;
	if (subsys_set_hosts(s, conf)) {
		free(s);
		return NULL;
	}
	for (p = &t->subsys; *p; p = &(*p)->next)
		;
	*p = s;
	return s;
}

void subsys_free(struct subsys *s)
{
	free(s->host);
	free(s);
}
