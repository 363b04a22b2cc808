// SPDX-License-Identifier: GPL-2.0-only
/* The checksum family: by the kernel's functions; CRC-64/NVMe by tables of our own, as not all kernels have it. */
#include <linux/crc-t10dif.h>
#include <linux/crc32.h>
#include <linux/crc32c.h>
#include <linux/zutil.h>
#include "kpriv.h"
#include "../../lib/engine/checksum.h"

#define ADLER_BASE 65521u

/* A published value goes on over n bytes. */
typedef u64 (*sum_fn)(struct checksum_thread *c, u64 value, const void *p, size_t n);

static u64 sum_crc32c(struct checksum_thread *c, u64 value, const void *p, size_t n)
{
	return (u32)~crc32c(~(u32)value, p, n);
}

static u64 sum_crc32(struct checksum_thread *c, u64 value, const void *p, size_t n)
{
	return (u32)~crc32_le(~(u32)value, p, n);
}

static u64 sum_t10dif(struct checksum_thread *c, u64 value, const void *p, size_t n)
{
	return crc_t10dif_update(value, p, n);
}

static u64 sum_crc64(struct checksum_thread *c, u64 value, const void *p, size_t n)
{
	return ~crc64_slice16(c, ~value, p, n);
}

static u64 sum_adler(struct checksum_thread *c, u64 value, const void *p, size_t n)
{
	return zlib_adler32(value, p, n);
}

static const struct {
	u16 alg;
	u8 len;
	sum_fn fn;
} kinds[] = {
	{ NVME_ACCEL_ALG_CRC32C, 4, sum_crc32c },    { NVME_ACCEL_ALG_CRC32, 4, sum_crc32 },
	{ NVME_ACCEL_ALG_T10DIF, 2, sum_t10dif },    { NVME_ACCEL_ALG_CRC64_NVME, 8, sum_crc64 },
	{ NVME_ACCEL_ALG_ADLER32, 4, sum_adler },
};

static unsigned int kind_of(u16 alg)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds) - 1 && kinds[i].alg != alg; i++)
		;
	return i;
}

void checksum_thread_free(struct checksum_thread *c)
{
	kvfree(c);
}

/* Whether a value can be a checksum of something. */
static int takes(const struct job_stage *stage, uint64_t in_len)
{
	unsigned int len = kinds[kind_of(stage->alg)].len;

	if (len < 8 && stage->arg1 >> len * 8)
		return 0;
	if (stage->alg == NVME_ACCEL_ALG_ADLER32 &&
	    ((stage->arg1 & 0xffff) >= ADLER_BASE || stage->arg1 >> 16 >= ADLER_BASE))
		return 0;
	return !stage->arg0 && !stage->param_len && !stage->flags;
}

static void run(struct engine_thread *t, const struct job_stage *stage, unsigned int index, struct job *job)
{
	struct iov_pos pos = { job->in, job->nin, 0 };
	u64 value = stage->arg1, left = job->in_len;
	unsigned int kind = kind_of(stage->alg);
	u8 result[8];
	size_t n;
	void *p;

	if (kinds[kind].fn == sum_crc64 && !t->checksum) {
		t->checksum = kvmalloc(sizeof(*t->checksum), GFP_KERNEL);
		if (!t->checksum) {
			engine_fail(job, index, NVME_ACCEL_NO_RESOURCES);
			return;
		}
		crc64_slices(t->checksum);
	}
	for (; left; left -= n) {
		n = iov_next(&pos, &p, min_t(u64, left, ENGINE_STEP(0)));
		if (!n || engine_stopped(job)) {
			engine_fail(job, index, NVME_ACCEL_ABORTED);
			return;
		}
		value = kinds[kind].fn(t->checksum, value, p, n);
	}
	le64_put(result, value);
	engine_set_result(job, index, result, kinds[kind].len);
	job->in_used = job->in_len;
}

uint32_t checksum_crc32c(uint32_t crc, const struct base_iov *iov, unsigned int niov, uint64_t n)
{
	struct iov_pos pos = { iov, niov, 0 };
	size_t step;
	void *p;

	while (n && (step = iov_next(&pos, &p, min_t(u64, n, ENGINE_STEP(0))))) {
		crc = (u32)sum_crc32c(NULL, crc, p, step);
		n -= step;
		cond_resched();
	}
	return crc;
}

#define FN(alg) { NVME_ACCEL_OP_CHECKSUM, NVME_ACCEL_ALG_##alg, "kernel", takes, run }
static const struct engine_fn entries[] = { FN(CRC32C), FN(CRC32), FN(T10DIF), FN(CRC64_NVME), FN(ADLER32) };
#undef FN

static unsigned int ops(struct wire_op *op, unsigned int max)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds) && i < max; i++)
		op[i] = (struct wire_op){
			.op = NVME_ACCEL_OP_CHECKSUM, .alg = kinds[i].alg, .granule = 1, .align = 1,
			.flags = NVME_ACCEL_OPF_FIRST | NVME_ACCEL_OPF_MIDDLE | NVME_ACCEL_OPF_LAST |
				 NVME_ACCEL_OPF_ALONE,
		};
	return i;
}

static uint64_t bound(const struct job_stage *stage, uint64_t in_len)
{
	return 0;
}

const struct engine_family engine_checksum = { entries, ARRAY_SIZE(entries), ops, bound };
