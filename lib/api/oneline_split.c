/* SPDX-License-Identifier: BSD-2-Clause */
/* One-line calls whose work splits into independent jobs: checksums by combining, erasure codes by range. */
#include <errno.h>
#include <stdlib.h>
#include "oneline.h"

#define BATCH	    64 /* jobs that are prepared at once */
#define HOLD_TRIES  3
#define RANGE_ALIGN 64u

/* ---- The lease: the handle's lock, or one for this call ---- */

struct hold {
	struct accel_dev *dev;
	struct accel_lease *lease;
	bool own;
};

/* Without a lease afterwards, and 0: the device is not to be reached, and the CPU does the work. */
static int hold_take(struct hold *h, struct accel_dev *dev, int timeout_ms)
{
	int err, path_ms = timeout_ms < 0 ? PATH_PREFER_MS : BASE_MIN(timeout_ms / 2, PATH_PREFER_MS);

	h->dev = dev;
	err = lease_for(dev, 0, timeout_ms, path_ms, &h->lease, &h->own);
	if (err)
		h->lease = NULL;
	return err == -ENODEV ? 0 : err;
}

static void hold_done(struct hold *h)
{
	lease_done(h->lease, h->own);
	h->lease = NULL;
}

static bool lease_was_lost(int err, const struct accel_result *r, size_t n)
{
	size_t i;

	for (i = 0; !err && i < n; i++)
		if (r[i].status == ACCEL_ST_LEASE_LOST || r[i].status == ACCEL_ST_RESET)
			return true;
	return err == -ESTALE;
}

static int hold_cpu(const struct hold *h, const struct accel_plan *plan, struct accel_job *jobs,
		    struct accel_result *results, size_t n)
{
	int err = 0;
	size_t i;

	for (i = 0; i < n && !err; i++) {
		memset(&results[i], 0, sizeof(results[i]));
		err = cpu_run(h->dev->ctx, jobs[i].plan ? jobs[i].plan : plan, jobs[i].params, jobs[i].in, jobs[i].nin,
			      jobs[i].out, jobs[i].nout, ACCEL_EXEC_FALLBACK, &results[i]);
		results[i].user_data = jobs[i].user_data;
	}
	return err;
}

static int hold_jobs(const struct hold *h, const struct accel_plan *plan, struct accel_job *jobs,
		     struct accel_result *results, size_t n, uint64_t deadline)
{
	if (!h->lease)
		return hold_cpu(h, plan, jobs, results, n);
	return accel_run_many(h->lease, plan, jobs, results, n, api_left_ms(deadline));
}

/* All of them; once more under another lease if ours came to its end: a device restarted, a path was away. */
static int hold_run(struct hold *h, const struct accel_plan *plan, struct accel_job *jobs, struct accel_result *results,
		    size_t n, uint64_t deadline)
{
	int err = hold_jobs(h, plan, jobs, results, n, deadline), i;

	for (i = 0; i < HOLD_TRIES && h->lease && h->own && lease_was_lost(err, results, n); i++) {
		hold_done(h);
		err = hold_take(h, h->dev, api_left_ms(deadline));
		if (!err)
			err = hold_jobs(h, plan, jobs, results, n, deadline);
	}
	return err;
}

/* ---- CRC-32C ---- */

struct crc_batch {
	struct accel_job job[BATCH];
	struct iovec in[BATCH];
	struct accel_result result[BATCH];
};

static int crc_run_batch(struct hold *h, const struct accel_plan *plan, struct crc_batch *b, const uint8_t *in,
			 size_t *len, size_t chunk, uint32_t *crc, uint64_t deadline)
{
	size_t at = 0, n;
	unsigned int i, njob = 0;
	int err;

	memset(b, 0, sizeof(*b));
	for (; at < *len && njob < BATCH; at += n, njob++) {
		n = BASE_MIN(*len - at, chunk);
		b->in[njob].iov_base = (void *)(in + at);
		b->in[njob].iov_len = n;
		b->job[njob].size = sizeof(b->job[0]);
		b->job[njob].in = &b->in[njob];
		b->job[njob].nin = 1;
	}
	err = hold_run(h, plan, b->job, b->result, njob, deadline);
	for (i = 0; i < njob && !err; i++) {
		err = status_errno(b->result[i].status);
		*crc = engine_crc32c_combine(*crc, le32_get(b->result[i].result[0]), b->in[i].iov_len);
	}
	*len = at;
	return err;
}

static int crc_run(struct accel_dev *dev, const struct accel_plan *plan, const uint8_t *in, size_t in_len,
		   size_t chunk, uint32_t *crc, int timeout_ms)
{
	uint64_t deadline = api_deadline(timeout_ms);
	struct crc_batch *b = malloc(sizeof(*b));
	struct hold h = { 0 };
	size_t at = 0, n;
	int err = b ? hold_take(&h, dev, timeout_ms) : -ENOMEM;

	*crc = 0;
	while (!err && at < in_len) {
		n = in_len - at;
		err = crc_run_batch(&h, plan, b, in + at, &n, chunk, crc, deadline);
		at += n;
	}
	hold_done(&h);
	free(b);
	return err;
}

int accel_crc32c(struct accel_dev *dev, const void *in, size_t in_len, uint32_t *crc, int timeout_ms)
{
	struct accel_plan *plan;
	struct accel_result r;
	uint64_t max_in, max_out;
	uint32_t sum = 0;
	int err;

	if (!dev || (in_len && !in) || !crc)
		return -EINVAL;
	err = accel_plan_new(dev->ctx, &plan);
	if (err)
		return err;
	err = api_plan_done(plan, dev, accel_plan_checksum(plan, ACCEL_CRC32C, 0));
	api_limits(dev, ACCEL_OP_CHECKSUM, ACCEL_CRC32C, &max_in, &max_out);
	if (!err && in_len > max_in) {
		err = crc_run(dev, plan, in, in_len, (size_t)max_in, &sum, timeout_ms);
	} else if (!err) {
		err = accel_run(dev, plan, in, in_len, NULL, 0, NULL, timeout_ms, &r);
		err = err ? err : status_errno(r.status);
		sum = err ? 0 : le32_get(r.result[0]);
	}
	if (!err)
		*crc = sum;
	accel_plan_unref(plan);
	return err;
}

/* ---- erasure coding ---- */

struct ec {
	struct accel_dev *dev;
	unsigned int k, m, nin, nout;
	size_t block;
	const void *const *in; /* nin blocks */
	void *const *out;      /* nout blocks */
	const uint8_t *lost;   /* NULL: encode */
	int timeout_ms;
};

/* A plan for ranges of nbytes, and the ranges' jobs. */
struct ec_part {
	struct accel_plan *plan;
	size_t nbytes;
};

static int ec_part_open(const struct ec *ec, size_t nbytes, struct ec_part *part)
{
	int err = accel_plan_new(ec->dev->ctx, &part->plan);

	if (err)
		return err;
	part->nbytes = nbytes;
	err = ec->lost ? accel_plan_ec_decode(part->plan, ACCEL_RS_CAUCHY, ec->k, ec->m, nbytes, NULL)
		       : accel_plan_ec_encode(part->plan, ACCEL_RS_CAUCHY, ec->k, ec->m, nbytes, NULL);
	return api_plan_done(part->plan, ec->dev, err);
}

static void ec_params(const struct ec *ec, struct accel_params *params)
{
	memset(params, 0, sizeof(*params));
	params->size = sizeof(*params);
	params->stage[0].lost = ec->lost;
	params->stage[0].nlost = ec->lost ? ec->nout : 0;
}

/* The lists of the range of n bytes at off. */
static void ec_lists(const struct ec *ec, size_t off, size_t n, struct iovec *v)
{
	unsigned int i;

	for (i = 0; i < ec->nin; i++)
		v[i] = (struct iovec){ (uint8_t *)ec->in[i] + off, n };
	for (i = 0; i < ec->nout; i++)
		v[ec->nin + i] = (struct iovec){ (uint8_t *)ec->out[i] + off, n };
}

static int ec_whole(const struct ec *ec, const struct ec_part *part)
{
	struct accel_params params;
	struct accel_result r;
	struct iovec v[512];
	int err;

	ec_params(ec, &params);
	ec_lists(ec, 0, ec->block, v);
	err = accel_runv(ec->dev, part->plan, v, ec->nin, v + ec->nin, ec->nout, &params, ec->timeout_ms, &r);
	return err ? err : status_errno(r.status);
}

struct ec_batch {
	struct accel_params params;
	struct accel_job job[BATCH];
	struct accel_result result[BATCH];
	struct iovec v[];
};

static int ec_run_batch(const struct ec *ec, const struct ec_part part[2], struct hold *h, struct ec_batch *b,
			size_t *at, uint64_t deadline)
{
	unsigned int i, n = 0, per = ec->nin + ec->nout;
	int err;

	memset(b->job, 0, sizeof(b->job));
	for (; *at < ec->block && n < BATCH; n++) {
		const struct ec_part *p = ec->block - *at >= part[0].nbytes ? &part[0] : &part[1];
		struct iovec *v = b->v + (size_t)n * per;

		ec_lists(ec, *at, p->nbytes, v);
		b->job[n] = (struct accel_job){ .size = sizeof(b->job[0]),
						.plan = p->plan,
						.in = v,
						.nin = ec->nin,
						.out = v + ec->nin,
						.nout = ec->nout,
						.params = &b->params };
		*at += p->nbytes;
	}
	err = hold_run(h, NULL, b->job, b->result, n, deadline);
	for (i = 0; i < n && !err; i++)
		err = status_errno(b->result[i].status);
	return err;
}

static int ec_split(const struct ec *ec, size_t range)
{
	uint64_t deadline = api_deadline(ec->timeout_ms);
	struct ec_part part[2] = { { 0 } };
	struct ec_batch *b = malloc(sizeof(*b) + (size_t)BATCH * (ec->nin + ec->nout) * sizeof(b->v[0]));
	struct hold h = { 0 };
	size_t at = 0;
	int err = b ? ec_part_open(ec, range, &part[0]) : -ENOMEM;

	if (!err && ec->block % range)
		err = ec_part_open(ec, ec->block % range, &part[1]);
	if (!err) {
		ec_params(ec, &b->params);
		err = hold_take(&h, ec->dev, ec->timeout_ms);
	}
	while (!err && at < ec->block)
		err = ec_run_batch(ec, part, &h, b, &at, deadline);
	hold_done(&h);
	accel_plan_unref(part[0].plan);
	accel_plan_unref(part[1].plan);
	free(b);
	return err;
}

static int ec_run(const struct ec *ec)
{
	struct ec_part part = { 0 };
	uint64_t max_in, max_out, range;
	int err;

	api_limits(ec->dev, ec->lost ? ACCEL_OP_EC_DECODE : ACCEL_OP_EC_ENCODE, ACCEL_RS_CAUCHY, &max_in,
		   &max_out);
	range = BASE_MIN(max_in / ec->nin, max_out / ec->nout);
	if (range < ec->block && range >= RANGE_ALIGN)
		return ec_split(ec, (size_t)(range / RANGE_ALIGN * RANGE_ALIGN));
	err = ec_part_open(ec, ec->block, &part);
	if (!err)
		err = ec_whole(ec, &part);
	accel_plan_unref(part.plan);
	return err;
}

static int ec_check(const struct ec *ec)
{
	unsigned int i, j;

	for (i = 0; i < ec->nin; i++)
		if (!ec->in[i])
			return -EINVAL;
	for (i = 0; i < ec->nout; i++) {
		if (!ec->out[i])
			return -EINVAL;
		for (j = 0; j < ec->nin; j++)
			if (api_overlap(ec->out[i], ec->block, ec->in[j], ec->block))
				return -EINVAL;
		for (j = 0; j < i; j++)
			if (api_overlap(ec->out[i], ec->block, ec->out[j], ec->block))
				return -EINVAL;
	}
	return 0;
}

static int ec_counts(struct accel_dev *dev, unsigned int k, unsigned int m, size_t block_nbytes)
{
	if (!dev || k < 1 || m < 1 || k > 254 || m > 254 || k + m > 255 || !block_nbytes)
		return -EINVAL;
	return dev_stale(dev) ? -ESTALE : 0;
}

int accel_ec_encode(struct accel_dev *dev, unsigned int k, unsigned int m, size_t block_nbytes,
		    const void *const *data, void *const *parity, int timeout_ms)
{
	struct ec ec = { dev, k, m, k, m, block_nbytes, data, parity, NULL, timeout_ms };
	int err = ec_counts(dev, k, m, block_nbytes);

	if (err || !data || !parity)
		return err ? err : -EINVAL;
	err = ec_check(&ec);
	return err ? err : ec_run(&ec);
}

int accel_ec_decode(struct accel_dev *dev, unsigned int k, unsigned int m, size_t block_nbytes,
		    void *const *blocks, const uint8_t *lost, unsigned int nlost, int timeout_ms)
{
	const void *in[256];
	void *out[256];
	struct ec ec = { dev, k, m, k, nlost, block_nbytes, in, out, lost, timeout_ms };
	int err = ec_counts(dev, k, m, block_nbytes);
	unsigned int i, n = 0, j = 0;

	if (err || !blocks || (nlost && !lost) || nlost > m)
		return err ? err : -EINVAL;
	if (!nlost)
		return 0;
	for (i = 0; i < nlost; i++) {
		if (lost[i] >= k + m || (i && lost[i] <= lost[i - 1]))
			return -EINVAL;
		out[i] = blocks[lost[i]];
	}
	for (i = 0; n < k; i++) {
		if (j < nlost && lost[j] == i)
			j++;
		else
			in[n++] = blocks[i];
	}
	err = ec_check(&ec);
	return err ? err : ec_run(&ec);
}
