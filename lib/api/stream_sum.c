/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Digests and checksums. A checksum of a whole follows from those of chunks, so chunks go to the device at
 * full depth. A digest is one job as long as it fits in one, and goes on in the process if more comes.
 */
#include <stdlib.h>
#include "stream_priv.h"

struct sum {
	uint64_t value; /* checksum of what is settled */
	uint8_t result[ACCEL_RESULT_MAX];
	size_t len;		  /* of result; 0: not there yet */
	struct engine_stream *es; /* a digest that outgrew a job */
};

/* A checksum as results hold it: little endian, so many bytes. */
static uint64_t sum_get(const uint8_t *p, size_t len)
{
	uint8_t b[8] = { 0 };

	memcpy(b, p, BASE_MIN(len, sizeof(b)));
	return le64_get(b);
}

static uint64_t sum_combine(uint16_t alg, uint64_t a, uint64_t b, uint64_t len)
{
	switch (alg) {
	case ACCEL_CRC32C:
		return engine_crc32c_combine((uint32_t)a, (uint32_t)b, len);
	case ACCEL_CRC32:
		return engine_crc32_combine((uint32_t)a, (uint32_t)b, len);
	case ACCEL_T10DIF:
		return engine_t10dif_combine((uint16_t)a, (uint16_t)b, len);
	case ACCEL_CRC64_NVME:
		return engine_crc64nvme_combine(a, b, len);
	}
	return engine_adler32_combine((uint32_t)a, (uint32_t)b, len);
}

int stream_sum_step(struct engine_stream *es, const void *p, size_t n, uint32_t *code)
{
	size_t left = n, none = 0;
	uint8_t dummy;

	while (left) {
		size_t before = left;

		if (engine_stream_step(es, (const uint8_t *)p + (n - left), &left, &dummy, &none, code) ==
		    ENGINE_STREAM_ERROR)
			return status_errno(*code);
		if (left == before)
			return -EIO;
	}
	return 0;
}

int stream_sum_bytes(uint16_t alg, const void *p, size_t n, uint64_t *value)
{
	uint8_t r[ACCEL_RESULT_MAX] = { 0 };
	uint32_t code = 0;
	struct engine_stream *es = engine_stream_new(ACCEL_OP_CHECKSUM, alg, alg == ACCEL_ADLER32, &code);
	int err;

	if (!es)
		return status_errno(code);
	err = stream_sum_step(es, p, n, &code);
	engine_stream_result(es, r);
	*value = sum_get(r, 8);
	engine_stream_free(es);
	return err;
}

/* ---- digest ---- */

static int digest_in_process(struct accel_stream *s, struct sum *d)
{
	uint32_t code = 0;
	size_t n = BASE_MIN(stream_avail(s), ring_linear(&s->in, s->pos));
	int err;

	if (s->flags & ACCEL_STREAM_DEVICE_ONLY)
		return stream_fail(
			s, -ENOTSUP, ACCEL_ST_UNSUPPORTED_OP,
			"the input is larger than a job of the device, and a digest cannot be split");
	if (!d->es)
		d->es = engine_stream_new(ACCEL_OP_DIGEST, s->alg, 0, &code);
	if (!d->es)
		return stream_fail(s, status_errno(code), code, "no digest in the process: %s",
				   accel_status_str(code));
	err = stream_sum_step(d->es, ring_at(&s->in, s->pos), n, &code);
	s->pos += n;
	s->cpu_bytes += n;
	s->by_executor[ACCEL_EXEC_SOFTWARE] += n;
	return err ? err : n > 0;
}

static int digest_feed(struct accel_stream *s)
{
	struct sum *d = s->priv;
	size_t n = stream_avail(s);
	int err = 0;

	if (d->es || n > s->chunk) {
		err = digest_in_process(s, d);
		if (err || !s->finished || stream_avail(s))
			return err;
		d->len = engine_stream_result(d->es, d->result);
		stream_end(s);
		return 1;
	}
	if (!s->finished || !all_settled(s) || !piece_fits(s, 1))
		return 0;
	piece_job(s, PIECE_CHUNK, n, 0, 0, 0);
	return 1;
}

static int digest_ended(struct accel_stream *s, struct piece *p)
{
	struct sum *d = s->priv;

	if (p->result.status != ACCEL_ST_OK)
		return stream_fail_result(s, &p->result);
	d->len = BASE_MIN(p->result.result_len[0], ACCEL_RESULT_MAX);
	memcpy(d->result, p->result.result[0], d->len);
	piece_ready(s, p, 0);
	stream_end(s);
	return 1;
}

/* ---- checksum ---- */

static int checksum_feed(struct accel_stream *s)
{
	struct sum *d = s->priv;
	size_t n = BASE_MIN(stream_avail(s), s->chunk);

	if (n < s->chunk && !s->finished)
		return 0;
	if (n) {
		if (!piece_fits(s, 1))
			return 0;
		piece_job(s, PIECE_CHUNK, n, 0, 0, 0);
		return 1;
	}
	if (!all_settled(s))
		return 0;
	d->len = s->alg == ACCEL_T10DIF ? 2 : s->alg == ACCEL_CRC64_NVME ? 8 : 4;
	le64_put(d->result, d->value);
	stream_end(s);
	return 1;
}

static int checksum_ended(struct accel_stream *s, struct piece *p)
{
	struct sum *d = s->priv;

	if (p->result.status != ACCEL_ST_OK)
		return stream_fail_result(s, &p->result);
	d->value = sum_combine(s->alg, d->value, sum_get(p->result.result[0], p->result.result_len[0]),
			       p->in_len);
	piece_ready(s, p, 0);
	return 1;
}

/* ---- both ---- */

static void sum_close(struct accel_stream *s)
{
	struct sum *d = s->priv;

	if (!d)
		return;
	engine_stream_free(d->es);
	free(d);
}

static const struct stream_ops digest_ops = { digest_feed, digest_ended, sum_close };
static const struct stream_ops checksum_ops = { checksum_feed, checksum_ended, sum_close };

int stream_sum_result(struct accel_stream *s, uint8_t *result)
{
	struct sum *d = s->priv;

	if (!d->len)
		return -EIO;
	memset(result, 0, ACCEL_RESULT_MAX);
	memcpy(result, d->result, d->len);
	return (int)d->len;
}

static int sum_plan(struct accel_stream *s)
{
	int err = accel_plan_new(s->dev->ctx, &s->plan);

	if (err)
		return err;
	err = s->kind == ACCEL_STREAM_DIGEST ? accel_plan_digest(s->plan, s->alg)
					     : accel_plan_checksum(s->plan, s->alg, s->alg == ACCEL_ADLER32);
	if (!err && s->flags & ACCEL_STREAM_DEVICE_ONLY)
		err = accel_plan_policy(s->plan, ACCEL_DEVICE_ONLY, 0, 0);
	return err ? err : accel_plan_seal(s->plan, s->dev);
}

static int sum_sizes(struct accel_stream *s)
{
	bool digest = s->kind == ACCEL_STREAM_DIGEST;
	uint64_t max = s->dev->info.max_in;
	struct accel_caps caps;
	unsigned int n;

	if (accel_dev_caps(s->dev, digest ? ACCEL_OP_DIGEST : ACCEL_OP_CHECKSUM, s->alg, &caps) == 0)
		max = BASE_MIN(max, caps.max_in);
	if (!s->chunk)
		s->chunk = digest ? STREAM_CHUNK_MAX : STREAM_CHUNK;
	s->chunk = (size_t)BASE_MIN(s->chunk, max);
	if (s->chunk < 512)
		return -EINVAL;
	n = (unsigned int)BASE_MIN(STREAM_RING_MAX / s->chunk, s->depth + 1);
	n = digest ? 2 : BASE_MAX(n, 2);
	s->depth = BASE_MIN(s->depth, n);
	s->room_max = STREAM_CHUNK / 2;
	return stream_memory(s, n * s->chunk, false, 2 * 4096 * (size_t)n, n);
}

int stream_open_sum(struct accel_stream *s)
{
	int err;

	if (s->flags & ~(uint32_t)ACCEL_STREAM_DEVICE_ONLY || s->max_out)
		return -EINVAL;
	s->priv = calloc(1, sizeof(struct sum));
	if (!s->priv)
		return -ENOMEM;
	s->ops = s->kind == ACCEL_STREAM_DIGEST ? &digest_ops : &checksum_ops;
	((struct sum *)s->priv)->value = s->alg == ACCEL_ADLER32;
	err = sum_plan(s);
	return err ? err : sum_sizes(s);
}
