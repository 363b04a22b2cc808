// SPDX-License-Identifier: BSD-2-Clause
/* Hosts: who they are, what they may use, how much of it they have. */
#include <errno.h>
#include <stdlib.h>
#include <openssl/sha.h>
#include "ctrl.h"

static int host_compare(const void *hostnqn, const void *host)
{
	return strcmp(hostnqn, ((const struct conf_host *)host)->nqn);
}

bool subsys_allows(const struct subsys *s, const char *hostnqn)
{
	if (s->discovery || s->conf.allow_any)
		return true;
	return s->nhost && bsearch(hostnqn, s->host, s->nhost, sizeof(*s->host), host_compare);
}

int subsys_set_hosts(struct subsys *s, const struct conf_subsys *conf)
{
	struct conf_host *host = NULL;

	if (conf->nhost) {
		host = malloc(conf->nhost * sizeof(*host));
		if (!host)
			return -ENOMEM;
		memcpy(host, conf->host, conf->nhost * sizeof(*host));
	}
	free(s->host);
	s->host = host;
	s->nhost = conf->nhost;
	s->conf.allow_any = conf->allow_any;
	return 0;
}

unsigned int host_nconn(const struct target *t, const char *hostnqn)
{
	const struct ctrl *c;
	unsigned int n = 0;

	for (c = t->ctrl; c; c = c->next)
		if (!strcmp(c->hostnqn, hostnqn))
			n += c->nconn;
	return n;
}

/* Salted, so that no host can look for a name of its own that has the number of another. */
uint64_t host_number(const struct target *t, const struct nvmf_connect_data *data)
{
	uint8_t in[sizeof(t->salt) + sizeof(data->hostid) + NVME_NQN_FIELD] = { 0 }, md[SHA256_DIGEST_LENGTH];
	uint64_t number;

	memcpy(in, t->salt, sizeof(t->salt));
	memcpy(in + sizeof(t->salt), data->hostid, sizeof(data->hostid));
	memcpy(in + sizeof(t->salt) + sizeof(data->hostid), data->hostnqn, strnlen(data->hostnqn, NVME_NQN_MAX));
	SHA256(in, sizeof(in), md);
	number = le64_get(md);
	return number ? number : 1;
}
