// SPDX-License-Identifier: BSD-2-Clause
/*
 * A new configuration while connections live. What there is is compared with what is wanted, not with the last file,
 * so that a namespace that could not be made is tried again. Only the main thread changes what there is; it takes
 * target.lock for what reactors look at under it, and never blocks while it has it.
 *
 * A namespace goes in this order: its place in the subsystem is cleared, hosts are told, every reactor finishes the
 * turn in which it may have looked it up, then it is stopped and freed.
 */
#include <errno.h>
#include <stdlib.h>
#include "ctrl.h"

#define BIT_WORDS (MAX_NSID / 64)

struct change {
	struct target *t;
	bool first;			/* the start: no reactors, nobody to tell */
	bool discovery;			/* the discovery log has changed */
	int err;
	unsigned int added, removed;
	struct ns **gone;		/* to be ns_remove()d after reactors_sync() */
	unsigned int ngone, room;
};

static void failed(struct change *c, int err)
{
	if (!c->err)
		c->err = err;
}

static bool ns_same(const struct conf_ns *a, const struct conf_ns *b)
{
	return a->kind == b->kind && a->function == b->function && a->threads == b->threads && a->slots == b->slots &&
	       a->nbytes == b->nbytes && a->block == b->block && !memcmp(a->uuid, b->uuid, 16) &&
	       !strcmp(a->name, b->name);
}

static const struct conf_ns *conf_ns_find(const struct conf_subsys *conf, uint32_t nsid)
{
	uint32_t i;

	for (i = 0; i < conf->nns; i++)
		if (conf->ns[i].nsid == nsid)
			return &conf->ns[i];
	return NULL;
}

static const struct conf_subsys *conf_subsys_find(const struct conf *conf, const char *nqn)
{
	uint32_t i;

	for (i = 0; i < conf->nsubsys; i++)
		if (!strcmp(conf->subsys[i].nqn, nqn))
			return &conf->subsys[i];
	return NULL;
}

/* ---- Telling hosts ---- */

static void tell_ns(struct change *c, const struct subsys *s, const uint64_t changed[BIT_WORDS])
{
	struct ctrl *ctrl;

	if (c->first || mem_is_zero(changed, BIT_WORDS * sizeof(*changed)))
		return;
	pthread_mutex_lock(&c->t->lock);
	for (ctrl = c->t->ctrl; ctrl; ctrl = ctrl->next)
		if (ctrl->subsys == s)
			ctrl_ns_changed(ctrl, changed);
	pthread_mutex_unlock(&c->t->lock);
}

/* What the discovery log shows changes, now: under the same hold of target.lock the generation does. */
static void new_generation(struct change *c)
{
	c->t->genctr++;
	c->discovery = true;
}

static void tell_discovery(struct change *c)
{
	struct ctrl *ctrl;

	if (c->first || !c->discovery)
		return;
	pthread_mutex_lock(&c->t->lock);
	for (ctrl = c->t->ctrl; ctrl; ctrl = ctrl->next)
		if (ctrl_is_discovery(ctrl))
			ctrl_event(ctrl, EVENT_DISC_CHANGED);
	pthread_mutex_unlock(&c->t->lock);
}

/* ---- Namespaces ---- */

/* Room is made before anything is taken away, so that nothing is lost for want of memory. */
static int gone_room(struct change *c, unsigned int n)
{
	struct ns **gone;

	if (c->ngone + n <= c->room)
		return 0;
	gone = realloc(c->gone, (c->ngone + n) * sizeof(*gone));
	if (!gone)
		return -ENOMEM;
	c->gone = gone;
	c->room = c->ngone + n;
	return 0;
}

/* Takes namespaces that conf does not have, or has differently, out of the subsystem; conf NULL: all. */
static int ns_take_out(struct change *c, struct subsys *s, const struct conf_subsys *conf)
{
	uint64_t changed[BIT_WORDS] = { 0 };
	uint32_t nsid;

	if (gone_room(c, MAX_NSID))
		return -ENOMEM;
	for (nsid = 1; nsid <= MAX_NSID; nsid++) {
		struct ns *ns = s->ns[nsid];
		const struct conf_ns *want = conf && ns ? conf_ns_find(conf, nsid) : NULL;

		if (!ns || (want && ns_same(&ns->conf, want)))
			continue;
		__atomic_store_n(&s->ns[nsid], NULL, __ATOMIC_RELEASE);
		target_ns_del(c->t, ns);
		c->gone[c->ngone++] = ns;
		changed[(nsid - 1) / 64] |= 1ull << (nsid - 1) % 64;
		log_event(c->t, LOG_INFO, "namespace-removed", "nsid=%u subsystem=\"%s\"", nsid, s->conf.nqn);
	}
	tell_ns(c, s, changed);
	return 0;
}

/* Nothing looks at them any more: each is stopped, which may take as long as an engine needs to see it. */
static void ns_finish(struct change *c)
{
	unsigned int i;

	if (c->ngone && !c->first)
		reactors_sync(c->t);
	for (i = 0; i < c->ngone; i++)
		ns_remove(c->gone[i]);
	c->removed += c->ngone;
	c->ngone = 0;
}

static int ns_put_in(struct change *c, struct subsys *s, const struct conf_ns *conf)
{
	struct ns *ns;
	int err = ns_new(c->t, conf, &ns);

	if (!err && ns_is_accel(ns)) {
		err = target_ns_add(c->t, ns);
		if (err)
			ns_remove(ns);
	}
	if (err) {
		log_event(c->t, LOG_ERROR, "namespace-failed", "nsid=%u subsystem=\"%s\" error=%d", conf->nsid,
			  s->conf.nqn, -err);
		return err;
	}
	__atomic_store_n(&s->ns[conf->nsid], ns, __ATOMIC_RELEASE);
	c->added++;
	if (!c->first)
		log_event(c->t, LOG_INFO, "namespace-added", "nsid=%u subsystem=\"%s\"", conf->nsid, s->conf.nqn);
	return 0;
}

static void ns_add_missing(struct change *c, struct subsys *s, const struct conf_subsys *conf)
{
	uint64_t changed[BIT_WORDS] = { 0 };
	uint32_t i;

	for (i = 0; i < conf->nns; i++) {
		uint32_t nsid = conf->ns[i].nsid;
		int err;

		if (s->ns[nsid])
			continue;
		err = ns_put_in(c, s, &conf->ns[i]);
		if (err)
			failed(c, err);
		else
			changed[(nsid - 1) / 64] |= 1ull << (nsid - 1) % 64;
	}
	tell_ns(c, s, changed);
}

/* ---- Subsystems and hosts ---- */

/* Their connections are closed; the memory goes with the last of them. */
static void subsys_remove(struct change *c, struct subsys *s)
{
	struct target *t = c->t;
	struct subsys **p;
	struct ctrl *ctrl;
	bool unused;

	if (ns_take_out(c, s, NULL)) {
		failed(c, -ENOMEM);
		return;
	}
	pthread_mutex_lock(&t->lock);
	log_event(t, LOG_INFO, "subsystem-removed", "subsystem=\"%s\" controllers=%u", s->conf.nqn, s->nctrl);
	for (p = &t->subsys; *p != s; p = &(*p)->next)
		;
	*p = s->next;
	s->gone = true;
	new_generation(c);
	unused = !s->nctrl;
	for (ctrl = t->ctrl; ctrl; ctrl = ctrl->next)
		if (ctrl->subsys == s)
			ctrl_close(ctrl, "subsystem-removed");
	if (unused)
		subsys_free(s);
	pthread_mutex_unlock(&t->lock);
}

static void subsys_add(struct change *c, const struct conf_subsys *conf)
{
	struct subsys *s;

	pthread_mutex_lock(&c->t->lock);
	s = subsys_new(c->t, conf);
	if (s)
		new_generation(c);
	pthread_mutex_unlock(&c->t->lock);
	if (!s) {
		failed(c, -ENOMEM);
		log_event(c->t, LOG_ERROR, "subsystem-failed", "subsystem=\"%s\" error=%d", conf->nqn, ENOMEM);
		return;
	}
	if (!c->first)
		log_event(c->t, LOG_INFO, "subsystem-added", "subsystem=\"%s\"", conf->nqn);
}

static bool hosts_same(const struct subsys *s, const struct conf_subsys *conf)
{
	return s->conf.allow_any == conf->allow_any && s->nhost == conf->nhost &&
	       (!s->nhost || !memcmp(s->host, conf->host, s->nhost * sizeof(*s->host)));
}

static void hosts_change(struct change *c, struct subsys *s, const struct conf_subsys *conf)
{
	struct target *t = c->t;
	struct ctrl *ctrl;
	char host[256];

	if (hosts_same(s, conf))
		return;
	pthread_mutex_lock(&t->lock);
	if (subsys_set_hosts(s, conf)) {
		failed(c, -ENOMEM);
	} else {
		new_generation(c);
		for (ctrl = t->ctrl; ctrl; ctrl = ctrl->next) {
			if (ctrl->subsys != s || subsys_allows(s, ctrl->hostnqn))
				continue;
			log_event(t, LOG_INFO, "host-removed", "host=%s subsystem=\"%s\" cntlid=%u",
				  log_q(host, ctrl->hostnqn, strlen(ctrl->hostnqn)), s->conf.nqn, ctrl->cntlid);
			ctrl_close(ctrl, "host-removed");
		}
	}
	pthread_mutex_unlock(&t->lock);
}

static void text_fixed(struct target *t, const struct subsys *s, const char *key, const char *was, const char *now)
{
	char is[256], wanted[256];

	if (strcmp(was, now))
		log_event(t, LOG_WARNING, "needs-restart", "what=%s is=%s wanted=%s subsystem=\"%s\"", key,
			  log_q(is, was, strlen(was)), log_q(wanted, now, strlen(now)), s->conf.nqn);
}

static void subsys_change(struct change *c, struct subsys *s, const struct conf_subsys *conf)
{
	text_fixed(c->t, s, "serial", s->conf.serial, conf->serial);
	text_fixed(c->t, s, "model", s->conf.model, conf->model);
	hosts_change(c, s, conf);
	if (ns_take_out(c, s, conf))
		failed(c, -ENOMEM);
}

static void subsys_all(struct change *c, const struct conf *conf)
{
	struct subsys *s, *next;
	uint32_t i;

	for (s = c->t->subsys; s; s = next) {
		const struct conf_subsys *want = conf_subsys_find(conf, s->conf.nqn);

		next = s->next;
		if (s->discovery)
			continue;
		if (want)
			subsys_change(c, s, want);
		else
			subsys_remove(c, s);
	}
	/* What goes is gone, with its memory and its UUIDs, before what comes is made. */
	ns_finish(c);
	for (i = 0; i < conf->nsubsys; i++)
		if (!subsys_find(c->t, conf->subsys[i].nqn))
			subsys_add(c, &conf->subsys[i]);
	for (i = 0; i < conf->nsubsys; i++) {
		s = subsys_find(c->t, conf->subsys[i].nqn);
		if (s)
			ns_add_missing(c, s, &conf->subsys[i]);
	}
}

int target_apply(struct target *t, const struct conf *conf, bool first)
{
	struct change c = { .t = t, .first = first };

	subsys_all(&c, conf);
	tell_discovery(&c);
	free(c.gone);
	if (!first)
		log_event(t, c.err ? LOG_ERROR : LOG_INFO, "namespaces-changed", "added=%u removed=%u error=%d",
			  c.added, c.removed, -c.err);
	return c.err;
}

/* ---- SIGHUP ---- */

static void fixed(struct target *t, const char *key, uint64_t was, uint64_t now)
{
	if (was != now)
		log_event(t, LOG_WARNING, "needs-restart", "what=%s is=%llu wanted=%llu", key, (unsigned long long)was,
			  (unsigned long long)now);
}

/* What is as it was at the start, whatever the file says now. */
static void name_fixed(struct target *t, const struct conf *now)
{
	const struct conf *was = t->conf;

#define FIXED(key, member) fixed(t, key, was->member, now->member)
	FIXED("reactors", reactors);
	FIXED("max_conns", max_conns);
	FIXED("max_conns_host", max_conns_host);
	FIXED("max_ctrls", max_ctrls);
	FIXED("io_queues", io_queues);
	FIXED("queue_depth", queue_depth);
	FIXED("in_capsule", in_capsule);
	FIXED("max_transfer", max_transfer);
	FIXED("memory", memory);
	FIXED("slot_memory", slot_memory);
	FIXED("max_held", max_held);
	FIXED("small_job", small_job);
	FIXED("handshake_ms", handshake_ms);
	FIXED("drain_ms", drain_ms);
	FIXED("poll_us", poll_us);
	FIXED("header_digest", hdgst);
	FIXED("data_digest", ddgst);
#undef FIXED
	if (strcmp(was->congestion, now->congestion))
		log_event(t, LOG_WARNING, "needs-restart", "what=congestion is=\"%s\" wanted=\"%s\"", was->congestion,
			  now->congestion);
}

static bool listeners_same(const struct conf *a, const struct conf *b)
{
	uint32_t i;

	if (a->nlisten != b->nlisten)
		return false;
	for (i = 0; i < a->nlisten; i++)
		if (strcmp(a->listen[i].text, b->listen[i].text))
			return false;
	return true;
}

/* Reactors have t->conf at hand at all times, for the limits, which stay; the lists are exchanged under the lock. */
static void take_lists(struct change *c, struct conf *conf, bool listeners)
{
	struct target *t = c->t;
	struct conf was = *t->conf;

	pthread_mutex_lock(&t->lock);
	if (listeners && !listeners_same(&was, conf)) {
		new_generation(c);
		t->conf->listen = conf->listen;
		t->conf->nlisten = conf->nlisten;
		conf->listen = was.listen;
		conf->nlisten = was.nlisten;
	}
	t->conf->subsys = conf->subsys;
	t->conf->nsubsys = conf->nsubsys;
	pthread_mutex_unlock(&t->lock);
	conf->subsys = was.subsys;
	conf->nsubsys = was.nsubsys;
}

int target_reload(struct target *t, struct conf *conf)
{
	struct change c = { .t = t };
	int err, listen_err;

	name_fixed(t, conf);
	listen_err = listen_update(t, conf);
	/* If one cannot be opened all are as they were. */
	take_lists(&c, conf, !listen_err);
	conf_free(conf);
	err = target_apply(t, t->conf, false);
	tell_discovery(&c);
	return err ? err : listen_err;
}
