/* SPDX-License-Identifier: BSD-2-Clause */
/* A ring of records: read, in work, and written in their order. One is always read ahead, because a record
 * must know whether it is the last. */
#include "seal_pipe.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "seal_key.h"

enum { RING_MAX = 24 };

struct seal_record {
	struct jobq_work work;
	uint8_t *in, *out;		/* record_nbytes + SEAL_TAG_NBYTES each */
	size_t in_len, len;		/* as read; without the tag */
	uint64_t index;
	bool last, finished;
	uint8_t iv[SEAL_IV_NBYTES];
	struct iovec iov[2];
	struct accel_params params;
	struct accel_result result;
};

static void record_done(struct jobq_work *work, const struct accel_result *result)
{
	struct seal_record *r = (struct seal_record *)work;

	r->result = *result;
	r->finished = true;
}

static int make_plan(struct seal_pipe *p)
{
	enum accel_policy policy = p->t->hardware ? ACCEL_DEVICE_ONLY : ACCEL_PREFER_DEVICE;
	int rc = accel_plan_new(tool_ctx(p->t), &p->plan);

	if (!rc && p->sealing)
		rc = accel_plan_encrypt(p->plan, ACCEL_AES_GCM, p->keys->key, p->keys->key_len,
					SEAL_TAG_NBYTES, 0);
	else if (!rc)
		rc = accel_plan_decrypt(p->plan, ACCEL_AES_GCM, p->keys->key, p->keys->key_len,
					SEAL_TAG_NBYTES, 0);
	if (!rc)
		rc = accel_plan_policy(p->plan, policy, 0, 0);
	if (!rc)
		rc = accel_plan_seal(p->plan, p->t->dev);
	return rc ? tool_lib_error(p->t, accel_dev_info(p->t->dev)->path, rc) : 0;
}

static int setup(struct seal_pipe *p)
{
	size_t room = p->record_nbytes + SEAL_TAG_NBYTES;
	int rc;

	rc = make_plan(p);
	if (!rc)
		rc = jobq_open(&p->q, p->t);
	if (rc)
		return rc;
	p->nring = p->q.depth + 2 < RING_MAX ? p->q.depth + 2 : RING_MAX;
	p->ring = calloc(p->nring, sizeof(*p->ring));
	for (unsigned int i = 0; p->ring && i < p->nring; i++) {
		p->ring[i].in = malloc(room);
		p->ring[i].out = malloc(room);
		if (!p->ring[i].in || !p->ring[i].out)
			return tool_error(p->t, NULL, "out of memory");
	}
	return p->ring ? 0 : tool_error(p->t, NULL, "out of memory");
}

static void teardown(struct seal_pipe *p)
{
	size_t room = p->record_nbytes + SEAL_TAG_NBYTES;

	/* The queue first: jobs in flight use the buffers. */
	jobq_close(&p->q);
	for (unsigned int i = 0; p->ring && i < p->nring; i++) {
		if (p->ring[i].in)
			seal_wipe(p->ring[i].in, room);
		if (p->ring[i].out)
			seal_wipe(p->ring[i].out, room);
		free(p->ring[i].in);
		free(p->ring[i].out);
	}
	free(p->ring);
	accel_plan_unref(p->plan);
}

static struct seal_record *slot(struct seal_pipe *p, uint64_t index)
{
	return &p->ring[index % p->nring];
}

/* Reads what may be record index. 0, or TOOL_FAILED. */
static int fill(struct seal_pipe *p, uint64_t index)
{
	struct seal_record *r = slot(p, index);
	size_t want = p->record_nbytes + (p->sealing ? 0 : SEAL_TAG_NBYTES);
	ssize_t n = 0;

	if (!p->at_end)
		n = file_read(p->t, p->in, r->in, want);
	if (n < 0)
		return TOOL_FAILED;
	r->in_len = (size_t)n;
	p->at_end = r->in_len < want;
	return 0;
}

static int check_length(struct seal_pipe *p, struct seal_record *r)
{
	r->len = r->in_len;
	if (p->sealing)
		return 0;
	if (r->in_len < SEAL_TAG_NBYTES)
		return tool_error(p->t, p->in->name, r->in_len || r->index ? "is truncated in record %llu" :
				  "is truncated: nothing follows the header", (unsigned long long)r->index);
	r->len -= SEAL_TAG_NBYTES;
	if (!r->len && r->index)
		return tool_error(p->t, p->in->name, "has an empty last record, which no sealed file has");
	return 0;
}

static void set_params(struct seal_pipe *p, struct seal_record *r, bool last)
{
	seal_nonce(p->keys, (uint32_t)r->index, last, r->iv);
	memset(&r->params, 0, sizeof(r->params));
	r->params.size = sizeof(r->params);
	r->params.stage[0].iv = r->iv;
	r->params.stage[0].iv_len = sizeof(r->iv);
	r->params.stage[0].aad = p->head;
	r->params.stage[0].aad_len = SEAL_HEAD_NBYTES;
	if (!p->sealing) {
		r->params.stage[0].tag = r->in + r->len;
		r->params.stage[0].tag_len = SEAL_TAG_NBYTES;
	}
}

static int start(struct seal_pipe *p, uint64_t index, bool last)
{
	struct seal_record *r = slot(p, index);

	if (index > UINT32_MAX)
		return tool_error(p->t, p->in->name, "has more records than the format allows");
	r->index = index;
	r->last = last;
	r->finished = false;
	if (check_length(p, r))
		return TOOL_FAILED;
	set_params(p, r, last);
	r->iov[0] = (struct iovec){ r->in, r->len };
	r->iov[1] = (struct iovec){ r->out, r->len };
	r->work.done = record_done;
	r->work.job = (struct accel_job){ .plan = p->plan, .in = &r->iov[0], .nin = r->len ? 1 : 0,
					  .out = &r->iov[1], .nout = r->len ? 1 : 0, .params = &r->params };
	jobq_add(&p->q, &r->work);
	return 0;
}

/* Why a record is not authentic: with the other last-record flag it may be. */
static int explain(struct seal_pipe *p, struct seal_record *r)
{
	struct accel_result res;
	uint64_t from = r->index * p->record_nbytes;

	set_params(p, r, !r->last);
	if (!accel_run(p->t->dev, p->plan, r->in, r->len, r->out, r->len, &r->params, 30000, &res) &&
	    res.status == ACCEL_ST_OK)
		return tool_error(p->t, p->in->name,
				  r->last ? "is truncated: records after record %llu are missing"
					  : "has something behind its last record, record %llu",
				  (unsigned long long)r->index);
	return tool_error(
		p->t, p->in->name,
		"record %llu (from byte %llu of the content) is not authentic: damaged%s, or not in its "
		"place",
		(unsigned long long)r->index, (unsigned long long)from, r->last ? ", truncated" : "");
}

static int retire(struct seal_pipe *p, struct seal_record *r)
{
	size_t n = r->len;

	if (r->result.status == ACCEL_ST_AUTH_FAILED && !p->sealing)
		return explain(p, r);
	if (r->result.status != ACCEL_ST_OK)
		return tool_job_error(p->t, p->in->name, &r->result);
	if (r->result.out_len != r->len)
		return tool_error(p->t, p->in->name, "the accelerator returned %llu bytes for %zu",
				  (unsigned long long)r->result.out_len, r->len);
	if (p->sealing) {
		memcpy(r->out + n, r->result.result[0], SEAL_TAG_NBYTES);
		n += SEAL_TAG_NBYTES;
	}
	progress_update(p->progress, r->index * p->record_nbytes + r->len);
	return file_write(p->t, p->out, r->out, n);
}

/* Starts records while there is room for them and for one more read ahead. */
static int advance(struct seal_pipe *p, uint64_t *next, uint64_t oldest, bool *ended)
{
	int rc;

	while (!*ended && *next - oldest + 1 < p->nring) {
		rc = fill(p, *next + 1);
		if (rc)
			return rc;
		*ended = !slot(p, *next + 1)->in_len;
		rc = start(p, *next, *ended);
		if (rc)
			return rc;
		(*next)++;
		rc = jobq_turn(&p->q, false);
		if (rc)
			return rc;
	}
	return 0;
}

static int run(struct seal_pipe *p)
{
	uint64_t next = 0, oldest = 0;
	bool ended = false;
	int rc;

	rc = fill(p, 0);
	while (!rc) {
		rc = advance(p, &next, oldest, &ended);
		if (rc || oldest == next)
			return rc;
		if (slot(p, oldest)->finished)
			rc = retire(p, slot(p, oldest++));
		else
			rc = jobq_turn(&p->q, true);
	}
	return rc;
}

int seal_pipe_run(struct seal_pipe *p)
{
	int rc = setup(p);

	if (!rc)
		rc = run(p);
	if (!rc)
		jobq_report(&p->q, p->in->name);
	teardown(p);
	return rc;
}
