// SPDX-License-Identifier: BSD-2-Clause
/* The target as a whole: begin, end, and the clock of its namespaces. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include "ctrl.h"

#define NNS_ALL (sizeof(((struct target *)0)->ns_all) / sizeof(((struct target *)0)->ns_all[0]))

/* Reactors walk the table while it changes: a place is taken or empty, and the end only moves outwards. */
int target_ns_add(struct target *t, struct ns *ns)
{
	unsigned int i;

	for (i = 0; i < t->nns; i++)
		if (!t->ns_all[i])
			break;
	if (i == NNS_ALL)
		return -ENOSPC;
	__atomic_store_n(&t->ns_all[i], ns, __ATOMIC_RELEASE);
	if (i == t->nns)
		__atomic_store_n(&t->nns, i + 1, __ATOMIC_RELEASE);
	return 0;
}

void target_ns_del(struct target *t, struct ns *ns)
{
	unsigned int i;

	for (i = 0; i < t->nns; i++)
		if (t->ns_all[i] == ns)
			__atomic_store_n(&t->ns_all[i], NULL, __ATOMIC_RELEASE);
}

uint64_t target_tick(struct target *t)
{
	unsigned int i, n = __atomic_load_n(&t->nns, __ATOMIC_ACQUIRE);
	uint64_t next = UINT64_MAX;

	for (i = 0; i < n; i++) {
		struct ns *ns = __atomic_load_n(&t->ns_all[i], __ATOMIC_ACQUIRE);
		uint64_t due = ns ? ns->ops->tick(ns) : UINT64_MAX;

		next = BASE_MIN(next, due);
	}
	return next;
}

/* The subsystem that every target has, and that has no namespaces. */
static int add_discovery(struct target *t)
{
	struct conf_subsys conf = { .nqn = NVME_DISCOVERY_NQN, .serial = "discovery", .model = "acceld discovery",
				    .allow_any = true };
	struct subsys *s = subsys_new(t, &conf);

	if (!s)
		return -ENOMEM;
	s->discovery = true;
	return 0;
}

static int target_setup(struct target *t, struct conf *conf)
{
	struct timespec ts;
	uint16_t first;

	t->conf = conf;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	t->start_ns = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	if (getrandom(t->salt, sizeof(t->salt), 0) != sizeof(t->salt) ||
	    getrandom(&first, sizeof(first), 0) != sizeof(first) ||
	    getrandom(&t->genctr, 4, 0) != 4)
		return -EIO;
	/* Ids and the counter of the discovery log differ from those before a restart, with some luck. */
	t->cntlid = first & 0x7fff;
	return -pthread_mutex_init(&t->lock, NULL);
}

int target_init(struct target *t, struct conf *conf)
{
	int err = target_setup(t, conf);

	if (err) {
		log_event(t, LOG_ERROR, "start-failed", "error=%d what=\"random numbers or a lock\"", -err);
		conf_free(conf);
		return err;
	}
	err = add_discovery(t);
	if (!err)
		err = target_apply(t, conf, true);
	if (err)
		target_fini(t);
	return err;
}

static void subsys_end(struct target *t, struct subsys *s)
{
	unsigned int i;

	for (i = 1; i <= MAX_NSID; i++) {
		struct ns *ns = s->ns[i];

		if (!ns)
			continue;
		s->ns[i] = NULL;
		target_ns_del(t, ns);
		ns_remove(ns);
	}
	subsys_free(s);
}

/* The reactors have stopped: nothing is in flight, no controller is left. */
void target_fini(struct target *t)
{
	struct subsys *s;

	while ((s = t->subsys)) {
		t->subsys = s->next;
		subsys_end(t, s);
	}
	reactors_free(t);	/* the engines' threads, which post to them, have ended just now */
	pthread_mutex_destroy(&t->lock);
	conf_free(t->conf);
	t->conf = NULL;
}
