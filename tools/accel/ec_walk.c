/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of a stripe, step by step, and the ring of stripes in work. */
#include "ec_walk.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define RING_NBYTES (24u << 20)		/* of stripes in work, but at least two */
enum { RING_MAX = 16 };

static void finish(struct ec_stripe *s)
{
	s->finished = true;
}

/* ---- Encoding: parity and the checks of the data at once, then the checks of the parity ---- */

static void encode_step(struct ec_stripe *s)
{
	const struct ec_head *h = &s->walk->head;

	if (s->phase == 0) {
		s->rc = ec_add_encode(s, ec_block(s, h->k));
		for (unsigned int i = 0; i < h->k && !s->rc; i++)
			ec_add_crc(s, i);
	} else if (s->phase == 1) {
		for (unsigned int i = h->k; i < ec_nshard(h); i++)
			ec_add_crc(s, i);
	} else {
		finish(s);
	}
}

/* ---- Reading ---- */

/* A block and its check into the stripe; what cannot be read is as lost as what is not there. */
static void read_block(struct ec_stripe *s, unsigned int index)
{
	struct ec_walk *w = s->walk;
	struct ec_shard *shard = &w->shard[index];
	struct iovec iov[2] = { { ec_block(s, index), s->len }, { s->check[index], EC_CHECK_NBYTES } };
	ssize_t n;

	do
		n = preadv(shard->fd, iov, 2, (off_t)ec_block_off(&w->head, s->index));
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)(s->len + EC_CHECK_NBYTES)) {
		s->state[index] = EC_B_READ;
		ec_add_crc(s, index);
		return;
	}
	if (n < 0)
		shard->unreadable = true;
	s->state[index] = EC_B_BAD;
	if (!shard->nbad++ || s->index < shard->first_bad)
		shard->first_bad = s->index;
}

static unsigned int count(const struct ec_stripe *s, enum ec_state state)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ec_nshard(&s->walk->head); i++)
		n += s->state[i] == state;
	return n;
}

/* Reads up to n more blocks, those of shards that have shown no damage first; false: none is left. */
static bool read_more(struct ec_stripe *s, unsigned int n)
{
	struct ec_walk *w = s->walk;
	unsigned int got = 0;

	for (int damaged = 0; damaged < 2; damaged++) {
		for (unsigned int i = 0; i < ec_nshard(&w->head) && got < n; i++) {
			if (s->state[i] != EC_B_NONE || w->shard[i].fd < 0 ||
			    (w->shard[i].nbad != 0) != damaged)
				continue;
			read_block(s, i);
			got++;
		}
	}
	return got != 0;
}

/* Reads until k blocks are good or on their way to be; false if that cannot be. */
static bool read_enough(struct ec_stripe *s)
{
	for (;;) {
		unsigned int have = count(s, EC_B_GOOD) + count(s, EC_B_READ);

		if (have >= s->walk->head.k)
			return true;
		if (!read_more(s, s->walk->head.k - have))
			return false;
	}
}

/* ---- Restoring ---- */

static void too_few(struct ec_stripe *s)
{
	const struct ec_head *h = &s->walk->head;
	uint64_t from = s->index * h->k * h->block_nbytes;
	uint64_t to = from + (uint64_t)h->k * s->len;

	if (to > h->file_nbytes)
		to = h->file_nbytes;
	s->rc = tool_error(s->walk->t, h->name,
			   "bytes %llu to %llu cannot be restored: %u of %u blocks are good, %u are needed",
			   (unsigned long long)from, (unsigned long long)to - 1, count(s, EC_B_GOOD),
			   ec_nshard(h), h->k);
	finish(s);
}

static void pick(struct ec_stripe *s)
{
	struct ec_walk *w = s->walk;
	unsigned int nsurvivor = 0;

	s->nlost = 0;
	for (unsigned int i = 0; i < ec_nshard(&w->head); i++) {
		if (s->state[i] == EC_B_GOOD && nsurvivor < w->head.k)
			s->survivors[nsurvivor++] = (uint8_t)i;
		else if (w->want[i] && s->state[i] != EC_B_GOOD)
			s->lost[s->nlost++] = (uint8_t)i;
	}
}

static void made(struct ec_stripe *s)
{
	for (unsigned int i = 0; i < s->nlost; i++)
		s->state[s->lost[i]] = EC_B_MADE;
	for (unsigned int i = 0; i < s->nlost && s->walk->want_checks; i++)
		ec_add_crc(s, s->lost[i]);
	s->phase = 2;
	if (!s->pending)
		finish(s);
}

static void restore_step(struct ec_stripe *s)
{
	if (s->phase == 2) {
		finish(s);
	} else if (s->phase == 1) {
		made(s);
	} else if (!read_enough(s)) {
		/* Blocks on their way may still end here as well; the last of them reports. */
		if (!s->pending)
			too_few(s);
	} else if (!s->pending) {
		pick(s);
		s->phase = 1;
		if (!s->nlost)
			finish(s);
		else
			s->rc = ec_add_decode(s);
	}
}

/* ---- Verifying ---- */

static void compare_parity(struct ec_stripe *s)
{
	const struct ec_head *h = &s->walk->head;
	const uint8_t *anew = ec_block(s, ec_nshard(h));

	for (unsigned int i = h->k; i < ec_nshard(h); i++, anew += s->len) {
		if (s->state[i] != EC_B_GOOD || !memcmp(anew, ec_block(s, i), s->len))
			continue;
		if (!s->nbad++)
			s->mismatch = i;
	}
	finish(s);
}

static void verify_step(struct ec_stripe *s)
{
	const struct ec_head *h = &s->walk->head;

	if (s->phase == 1) {
		compare_parity(s);
		return;
	}
	s->phase = 1;
	for (unsigned int i = 0; i < h->k; i++) {
		if (s->state[i] != EC_B_GOOD) {
			finish(s);
			return;
		}
	}
	s->rc = ec_add_encode(s, ec_block(s, ec_nshard(h)));
}

/* ---- The ring ---- */

void ec_advance(struct ec_stripe *s)
{
	if (s->rc) {
		finish(s);
		return;
	}
	switch (s->walk->kind) {
	case EC_ENCODE:
		s->phase++;
		encode_step(s);
		break;
	case EC_RESTORE:
		restore_step(s);
		break;
	case EC_VERIFY:
		verify_step(s);
		break;
	}
	if (s->rc && !s->pending)
		finish(s);
}

static void start_read(struct ec_stripe *s)
{
	struct ec_walk *w = s->walk;

	s->len = ec_block_nbytes(&w->head, s->index);
	for (unsigned int i = 0; i < ec_nshard(&w->head); i++)
		if ((w->kind == EC_VERIFY || w->want[i]) && w->shard[i].fd >= 0)
			read_block(s, i);
	/* What is known to be missing need not wait for the checks of the rest. */
	if (w->kind == EC_RESTORE)
		read_enough(s);
	if (!s->pending)
		ec_advance(s);
}

/* 1: a stripe is in work; 0: there are no more; -1: failed. */
static int start(struct ec_walk *w, struct ec_stripe *s, uint64_t index)
{
	int rc;

	memset(s->state, EC_B_NONE, sizeof(s->state));
	s->index = index;
	s->phase = s->nlost = s->pending = 0;
	s->nbad = 0;
	s->rc = 0;
	s->finished = false;
	if (w->kind != EC_ENCODE) {
		if (index >= w->head.nstripe)
			return 0;
		start_read(s);
		return 1;
	}
	rc = w->fill(w, s);
	if (rc == 1)
		encode_step(s);
	if (s->rc && !s->pending)
		finish(s);
	return rc;
}

static int retire(struct ec_walk *w, struct ec_stripe *s)
{
	int rc = s->rc ? s->rc : w->sink(w, s);

	progress_update(&w->progress, (s->index + 1) * w->head.k * w->head.block_nbytes);
	return rc;
}

static int run(struct ec_walk *w)
{
	uint64_t next = 0, oldest = 0;
	int rc;

	for (;;) {
		while (!w->ended && next - oldest < w->nring) {
			rc = start(w, &w->stripe[next % w->nring], next);
			if (rc < 0)
				return TOOL_FAILED;
			w->ended = !rc;
			next += (uint64_t)rc;
			rc = jobq_turn(&w->q, false);
			if (rc)
				return rc;
		}
		if (oldest == next)
			return 0;
		if (!w->stripe[oldest % w->nring].finished) {
			rc = jobq_idle(&w->q) ? tool_error(w->t, w->head.name, "the work stands still") :
						jobq_turn(&w->q, true);
		} else {
			rc = retire(w, &w->stripe[oldest % w->nring]);
			oldest++;
		}
		if (rc)
			return rc;
	}
}

static int setup(struct ec_walk *w)
{
	size_t nbytes = (size_t)(ec_nshard(&w->head) + w->head.m) * w->head.block_nbytes;
	int rc;

	rc = ec_jobs_init(w);
	if (!rc)
		rc = jobq_open(&w->q, w->t);
	if (rc)
		return rc;
	w->nring = (unsigned int)(RING_NBYTES / nbytes);
	w->nring = w->nring < 2 ? 2 : w->nring > RING_MAX ? RING_MAX : w->nring;
	w->stripe = calloc(w->nring, sizeof(*w->stripe));
	for (unsigned int i = 0; w->stripe && i < w->nring; i++)
		if (ec_stripe_init(w, &w->stripe[i]))
			return tool_error(w->t, NULL, "out of memory");
	return w->stripe ? 0 : tool_error(w->t, NULL, "out of memory");
}

int ec_walk(struct ec_walk *w)
{
	int rc = setup(w);

	if (!rc)
		rc = run(w);
	if (!rc)
		jobq_report(&w->q, w->head.name);
	/* First the queue: jobs in flight may still use the stripes. */
	jobq_close(&w->q);
	for (unsigned int i = 0; w->stripe && i < w->nring; i++)
		ec_stripe_fini(&w->stripe[i]);
	free(w->stripe);
	w->stripe = NULL;
	ec_jobs_fini(w);
	w->plan = NULL;
	return rc;
}
