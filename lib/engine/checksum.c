// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checksums: CRC-32C, CRC-32, T10-DIF, CRC-64/NVMe, Adler-32. Every step function continues a published
 * value (with its final inversion), takes any length and knows nothing of lists.
 */
#include <stdlib.h>
#include <libdeflate.h>
#include <isa-l.h>
#include "checksum.h"

/* Some libraries count in int; also the distance between two looks at the stop flag. */
#define STEP ((size_t)8 << 20)

typedef uint64_t (*step_fn)(struct checksum_thread *c, uint64_t value, const uint8_t *p, size_t n);

static uint64_t crc32c_isal(struct checksum_thread *c, uint64_t value, const uint8_t *p, size_t n)
{
	(void)c;
	/* ISA-L inverts neither before nor behind. It does not write to the buffer. */
	return (uint32_t)~crc32_iscsi((unsigned char *)(uintptr_t)p, (int)n, ~(uint32_t)value);
}

static uint64_t crc32_isal(struct checksum_thread *c, uint64_t value, const uint8_t *p, size_t n)
{
	(void)c;
	return crc32_gzip_refl((uint32_t)value, p, n);
}

static uint64_t t10dif_isal(struct checksum_thread *c, uint64_t value, const uint8_t *p, size_t n)
{
	(void)c;
	return crc16_t10dif((uint16_t)value, p, n);
}

static uint64_t crc64_fold(struct checksum_thread *c, uint64_t value, const uint8_t *p, size_t n)
{
	(void)c;
	return ~crc64_clmul(~value, p, n);
}

static uint64_t crc64_slice(struct checksum_thread *c, uint64_t value, const uint8_t *p, size_t n)
{
	return ~crc64_slice16(c, ~value, p, n);
}

static uint64_t adler_libdeflate(struct checksum_thread *c, uint64_t value, const uint8_t *p, size_t n)
{
	(void)c;
	return libdeflate_adler32((uint32_t)value, p, n);
}

/* The oracles: a bit at a time, from the polynomials alone. */
static uint64_t bitwise_reflected(uint64_t poly, uint64_t crc, const uint8_t *p, size_t n)
{
	int bit;

	while (n--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (poly & -(crc & 1));
	}
	return crc;
}

static uint64_t crc32c_plain(struct checksum_thread *c, uint64_t value, const uint8_t *p, size_t n)
{
	(void)c;
	return ~bitwise_reflected(0x82f63b78, ~value & UINT32_MAX, p, n) & UINT32_MAX;
}

static uint64_t crc32_plain(struct checksum_thread *c, uint64_t value, const uint8_t *p, size_t n)
{
	(void)c;
	return ~bitwise_reflected(0xedb88320, ~value & UINT32_MAX, p, n) & UINT32_MAX;
}

static uint64_t crc64_plain(struct checksum_thread *c, uint64_t value, const uint8_t *p, size_t n)
{
	(void)c;
	return ~bitwise_reflected(CRC64_NVME_POLY, ~value, p, n);
}

static uint64_t t10dif_plain(struct checksum_thread *c, uint64_t value, const uint8_t *p, size_t n)
{
	uint32_t crc = (uint32_t)value;
	int bit;

	(void)c;
	while (n--) {
		crc ^= (uint32_t)*p++ << 8;
		for (bit = 0; bit < 8; bit++)
			crc = (crc << 1 ^ (crc & 0x8000 ? 0x8bb7 : 0)) & 0xffff;
	}
	return crc;
}

static uint64_t adler_plain(struct checksum_thread *c, uint64_t value, const uint8_t *p, size_t n)
{
	uint32_t a = value & 0xffff, b = (uint32_t)value >> 16;

	(void)c;
	while (n--) {
		a = (a + *p++) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}

static unsigned int value_len(uint16_t alg)
{
	return alg == NVME_ACCEL_ALG_T10DIF ? 2 : alg == NVME_ACCEL_ALG_CRC64_NVME ? 8 : 4;
}

/* Whether a value can be a checksum of something. */
static int value_ok(uint16_t alg, uint64_t value)
{
	unsigned int len = value_len(alg);

	if (len < 8 && value >> len * 8)
		return 0;
	return alg != NVME_ACCEL_ALG_ADLER32 || ((value & 0xffff) < 65521 && value >> 16 < 65521);
}

static int takes(const struct job_stage *stage, uint64_t in_len)
{
	(void)in_len;
	return value_ok(stage->alg, stage->arg1) && !stage->arg0 && !stage->param_len && !stage->flags;
}

static int takes_clmul(const struct job_stage *stage, uint64_t in_len)
{
	return crc64_clmul_usable() && takes(stage, in_len);
}

static struct checksum_thread *slices(struct engine_thread *t)
{
	if (!t->checksum) {
		t->checksum = malloc(sizeof(*t->checksum));
		if (t->checksum)
			crc64_slices(t->checksum);
	}
	return t->checksum;
}

void checksum_thread_free(struct checksum_thread *c)
{
	free(c);
}

static inline void run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
		       struct job *job, step_fn step)
{
	struct iov_pos pos = { job->in, job->nin, 0 };
	uint64_t value = stage->arg1, left = job->in_len;
	uint8_t result[8];
	size_t n;
	void *p;

	while (left) {
		n = iov_next(&pos, &p, BASE_MIN(left, STEP));
		if (!n || engine_stopped(job)) {
			engine_fail(job, index, NVME_ACCEL_ABORTED);
			return;
		}
		value = step(t->checksum, value, p, n);
		left -= n;
	}
	le64_put(result, value);
	engine_set_result(job, index, result, value_len(stage->alg));
	job->in_used = job->in_len;
}

#define RUN(name)                                                                                            \
	static void name##_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,   \
			       struct job *job)                                                              \
	{                                                                                                    \
		run(t, stage, index, job, name);                                                             \
	}

RUN(crc32c_isal)
RUN(crc32c_plain)
RUN(crc32_isal)
RUN(crc32_plain)
RUN(t10dif_isal)
RUN(t10dif_plain)
RUN(crc64_fold)
RUN(crc64_plain)
RUN(adler_libdeflate)
RUN(adler_plain)

static void crc64_slice_run(struct engine_thread *t, const struct job_stage *stage, unsigned int index,
			    struct job *job)
{
	if (slices(t))
		run(t, stage, index, job, crc64_slice);
	else
		engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
}

uint32_t checksum_crc32c(uint32_t crc, const struct base_iov *iov, unsigned int niov, uint64_t n)
{
	struct iov_pos pos = { iov, niov, 0 };
	size_t step;
	void *p;

	while (n && (step = iov_next(&pos, &p, BASE_MIN(n, STEP)))) {
		crc = (uint32_t)crc32c_isal(NULL, crc, p, step);
		n -= step;
	}
	return crc;
}

#define FN(alg, name, takes, fn) { NVME_ACCEL_OP_CHECKSUM, NVME_ACCEL_ALG_##alg, name, takes, fn##_run }
static const struct engine_fn fns[] = {
	FN(CRC32C, "isal", takes, crc32c_isal),
	FN(CRC32C, "plain", takes, crc32c_plain),
	FN(CRC32, "isal", takes, crc32_isal),
	FN(CRC32, "plain", takes, crc32_plain),
	FN(T10DIF, "isal", takes, t10dif_isal),
	FN(T10DIF, "plain", takes, t10dif_plain),
	FN(CRC64_NVME, "clmul", takes_clmul, crc64_fold),
	FN(CRC64_NVME, "slice16", takes, crc64_slice),
	FN(CRC64_NVME, "plain", takes, crc64_plain),
	FN(ADLER32, "libdeflate", takes, adler_libdeflate),
	FN(ADLER32, "plain", takes, adler_plain),
};
#undef FN

#define ANYWHERE (NVME_ACCEL_OPF_FIRST | NVME_ACCEL_OPF_MIDDLE | NVME_ACCEL_OPF_LAST | NVME_ACCEL_OPF_ALONE)
#define OP(a, mbps)                                                                                          \
	{ .op = NVME_ACCEL_OP_CHECKSUM, .alg = NVME_ACCEL_ALG_##a, .flags = ANYWHERE, .granule = 1,          \
	  .align = 1, .est_mbps = mbps, .est_overhead_ns = 50 }
/* Estimates: 128 KiB jobs on one server core of 2021. */
static const struct wire_op table[] = {
	OP(CRC32C, 22000), OP(CRC32, 11500), OP(T10DIF, 11500), OP(CRC64_NVME, 11500), OP(ADLER32, 40000),
};
#undef OP

static unsigned int ops(struct wire_op *dst, unsigned int max)
{
	unsigned int n = BASE_MIN(max, (unsigned int)(sizeof(table) / sizeof(table[0])));

	memcpy(dst, table, n * sizeof(table[0]));
	return n;
}

static uint64_t bound(const struct job_stage *stage, uint64_t in_len)
{
	(void)stage;
	(void)in_len;
	return 0;
}

const struct engine_family engine_checksum = { fns, sizeof(fns) / sizeof(fns[0]), ops, bound };

/* The stream. */
struct sum_stream {
	struct checksum_thread *tables;
	step_fn step;
	uint64_t value, start;
	uint16_t alg;
};

static step_fn stream_step_of(uint16_t alg)
{
	switch (alg) {
	case NVME_ACCEL_ALG_CRC32C:
		return crc32c_isal;
	case NVME_ACCEL_ALG_CRC32:
		return crc32_isal;
	case NVME_ACCEL_ALG_T10DIF:
		return t10dif_isal;
	case NVME_ACCEL_ALG_CRC64_NVME:
		return crc64_clmul_usable() ? crc64_fold : crc64_slice;
	case NVME_ACCEL_ALG_ADLER32:
		return adler_libdeflate;
	default:
		return NULL;
	}
}

static void sum_close(void *stream)
{
	struct sum_stream *s = stream;

	free(s->tables);
	free(s);
}

static void *sum_open(uint16_t alg, uint64_t arg1, uint32_t *code)
{
	struct sum_stream *s;

	*code = !stream_step_of(alg) ? NVME_ACCEL_UNSUPPORTED_OP : NVME_ACCEL_BAD_PARAM;
	if (!stream_step_of(alg) || !value_ok(alg, arg1))
		return NULL;
	*code = NVME_ACCEL_NO_RESOURCES;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->alg = alg;
	s->step = stream_step_of(alg);
	s->value = s->start = arg1;
	if (s->step == crc64_slice) {
		s->tables = malloc(sizeof(*s->tables));
		if (!s->tables) {
			sum_close(s);
			return NULL;
		}
		crc64_slices(s->tables);
	}
	*code = NVME_ACCEL_OK;
	return s;
}

static enum engine_stream_state sum_step(void *stream, const void *in, size_t *in_len, void *out,
					 size_t *out_len, uint32_t *code)
{
	struct sum_stream *s = stream;
	const uint8_t *p = in;
	size_t n;

	(void)out;
	for (; *in_len; *in_len -= n, p += n) {
		n = BASE_MIN(*in_len, STEP);
		s->value = s->step(s->tables, s->value, p, n);
	}
	*out_len = 0;
	*code = NVME_ACCEL_OK;
	return ENGINE_STREAM_MORE;
}

static size_t sum_result(void *stream, uint8_t *result)
{
	struct sum_stream *s = stream;
	uint8_t value[8];

	le64_put(value, s->value);
	memcpy(result, value, value_len(s->alg));
	return value_len(s->alg);
}

static void sum_reset(void *stream)
{
	struct sum_stream *s = stream;

	s->value = s->start;
}

const struct stream_fns checksum_stream = { sum_open, sum_step, sum_result, sum_reset, sum_close };
