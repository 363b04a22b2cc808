// SPDX-License-Identifier: GPL-2.0-only
/* The deflate formats. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include "engine_test.h"

#define ALGS 3	/* deflate, zlib, gzip are 1 to 3 */

static size_t some_size(struct t *t)
{
	return t_rnd(t) % 16 ? t_below(t, 40000) : t_below(t, 300000);
}

static void compress(struct t *t, struct job *job, u16 alg, u32 level, u32 bits, size_t n, size_t max)
{
	t_scatter(t, &t->in, t->data, n);
	t_scatter(t, &t->out, NULL, max + 100);
	t_job(t, job, n, max);
	job->stage[0] = (struct job_stage){ .op = NVME_ACCEL_OP_COMPRESS, .alg = alg, .arg0 = level, .arg1 = bits };
	kengine_run(t->th, job);
	t_check(t, t_untouched(&t->out, max, 100));
}

static void decompress(struct t *t, struct job *job, u16 alg, const u8 *p, size_t n, size_t max, u32 flags)
{
	t_scatter(t, &t->in, p, n);
	t_scatter(t, &t->out, NULL, max + 100);
	t_job(t, job, n, max);
	job->stage[0] = (struct job_stage){ .op = NVME_ACCEL_OP_DECOMPRESS, .alg = alg, .flags = flags };
	kengine_run(t->th, job);
	t_check(t, t_untouched(&t->out, max, 100));
}

static bool same(struct t *t, size_t n)
{
	t_gather(&t->out, t->got, n);
	return !memcmp(t->got, t->data, n);
}

/* Bytes between the data and its check value: whoever decompresses must see that they are no part of the stream. */
static void gap(struct t *t, u16 alg, size_t len, size_t n)
{
	size_t tail = wrap_tail_len(alg), more = 1 + t_below(t, 9);
	struct job job;

	if (!tail)
		return;
	memmove(t->want + len - tail + more, t->want + len - tail, tail);
	t_fill(t, t->want + len - tail, more, t_rnd(t));
	decompress(t, &job, alg, t->want, len + more, n + 100, 0);
	t_check(t, job.code == NVME_ACCEL_BAD_INPUT_DATA);
}

void test_deflate(struct t *t)
{
	u16 alg = 1 + t_below(t, ALGS);
	u32 level = t_below(t, 10), bits = t_below(t, 2) ? 9 + t_below(t, 7) : 0;
	size_t n = some_size(t), len;
	struct job job;

	t_fill(t, t->data, n, t_rnd(t));
	compress(t, &job, alg, level, bits, n, n + n / 100 + 200);
	len = job.out_len;
	if (!t_check(t, job.code == NVME_ACCEL_OK && job.in_used == n && job.sflags & NVME_ACCEL_SF_OUTPUT_VALID))
		return;
	t_gather(&t->out, t->want, len);
	decompress(t, &job, alg, t->want, len, n, 0);
	t_check(t, job.code == NVME_ACCEL_OK && job.out_len == n && job.in_used == len && same(t, n));

	/* Behind the end: an error, or none with TRAILING. */
	t->want[len] = t_rnd(t);
	decompress(t, &job, alg, t->want, len + 1, n, 0);
	t_check(t, job.code == NVME_ACCEL_BAD_INPUT_DATA);
	decompress(t, &job, alg, t->want, len + 1, n + 7, NVME_ACCEL_STAGE_TRAILING);
	t_check(t, job.code == NVME_ACCEL_OK && job.out_len == n && job.in_used == len && same(t, n));

	/* Too small: by how much is told exactly. */
	if (n) {
		decompress(t, &job, alg, t->want, len, t_below(t, n), 0);
		t_check(t, job.code == NVME_ACCEL_OUTPUT_SHORT && job.out_needed == n &&
			   job.sflags & NVME_ACCEL_SF_NEEDED_EXACT);
	}
	gap(t, alg, len, n);
}

void test_deflate_fit(struct t *t)
{
	u16 alg = 1 + t_below(t, ALGS);
	u32 level = t_below(t, 10);
	size_t n = 1 + t_below(t, 20000), len;
	struct job job;

	t_fill(t, t->data, n, t_rnd(t));
	compress(t, &job, alg, level, 0, n, n + 1000);
	len = job.out_len;
	compress(t, &job, alg, level, 0, n, len);
	t_check(t, job.code == NVME_ACCEL_OK && job.out_len == len);
	compress(t, &job, alg, level, 0, n, len - 1);
	if (job.code == NVME_ACCEL_OK)		/* in another form */
		t_check(t, job.out_len <= len - 1);
	else
		t_check(t, job.code == NVME_ACCEL_OUTPUT_SHORT && job.out_needed >= len && !job.out_len);

	t_job(t, &job, n, n);
	t_scatter(t, &t->out, NULL, n + 100);
	job.nout = t->out.n;
	job.flags = NVME_ACCEL_JOB_STORE_IF_LARGER | NVME_ACCEL_JOB_VERIFY;
	job.stage[0] = (struct job_stage){ .op = NVME_ACCEL_OP_COMPRESS, .alg = alg, .arg0 = level };
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_OK && job.sflags & NVME_ACCEL_SF_VERIFIED);
	if (len >= n)
		t_check(t, job.sflags & NVME_ACCEL_SF_STORED_RAW && job.out_len == n && same(t, n));
	else
		t_check(t, !(job.sflags & NVME_ACCEL_SF_STORED_RAW) && job.out_len < n);
	t_check(t, t_untouched(&t->out, n, 100));
}

/* Cut, changed, or of another format: never a wrong success for formats with a check, never more than the room. */
void test_deflate_bad(struct t *t)
{
	u16 alg = 1 + t_below(t, ALGS);
	size_t n = 1 + some_size(t), len, i;
	struct job job;

	t_fill(t, t->data, n, t_rnd(t));
	compress(t, &job, alg, t_below(t, 10), 0, n, n + n / 100 + 200);
	len = job.out_len;
	t_gather(&t->out, t->want, len);
	decompress(t, &job, alg, t->want, t_below(t, len), n, 0);
	t_check(t, job.code == NVME_ACCEL_BAD_INPUT_DATA);
	for (i = 0; i < 1 + t_below(t, 4); i++)
		t->want[t_below(t, len)] ^= 1 << t_below(t, 8);
	decompress(t, &job, alg, t->want, len, n, 0);
	if (job.code == NVME_ACCEL_OK)
		t_check(t, alg == NVME_ACCEL_ALG_DEFLATE || same(t, job.out_len));
	else
		t_check(t, job.code == NVME_ACCEL_BAD_INPUT_DATA || job.code == NVME_ACCEL_OUTPUT_SHORT);
	t_fill(t, t->want, len, 0);
	decompress(t, &job, alg, t->want, len, n, NVME_ACCEL_STAGE_TRAILING);
	t_check(t, job.code != NVME_ACCEL_OK || alg == NVME_ACCEL_ALG_DEFLATE);
}

void test_deflate_chunk(struct t *t)
{
	size_t n = t_below(t, 200000), cut = t_below(t, n + 1), len, first;
	u32 level = t_below(t, 10);
	struct job job;

	t_fill(t, t->data, n, t_rnd(t));
	t_scatter(t, &t->in, t->data, cut);
	t_scatter(t, &t->out, NULL, cut + cut / 100 + 300);
	t_job(t, &job, cut, cut + cut / 100 + 300);
	job.stage[0] = (struct job_stage){ .op = NVME_ACCEL_OP_COMPRESS, .alg = NVME_ACCEL_ALG_DEFLATE, .arg0 = level,
					   .flags = NVME_ACCEL_STAGE_CHUNK };
	job.flags = NVME_ACCEL_JOB_VERIFY;
	kengine_run(t->th, &job);
	first = job.out_len;
	if (!t_check(t, job.code == NVME_ACCEL_OK && job.sflags & NVME_ACCEL_SF_VERIFIED))
		return;
	t_gather(&t->out, t->want, first);
	t_check(t, first >= 5 && !memcmp(t->want + first - 4, "\0\0\xff\xff", 4));
	/* The same again, with just that room. */
	job.out_max = first;
	kengine_run(t->th, &job);
	t_check(t, job.code == NVME_ACCEL_OK && job.out_len == first);

	t_scatter(t, &t->in, t->data + cut, n - cut);
	t_scatter(t, &t->out, NULL, n - cut + n / 100 + 300);
	t_job(t, &job, n - cut, n - cut + n / 100 + 300);
	job.stage[0] = (struct job_stage){ .op = NVME_ACCEL_OP_COMPRESS, .alg = NVME_ACCEL_ALG_DEFLATE, .arg0 = level };
	kengine_run(t->th, &job);
	t_gather(&t->out, t->want + first, job.out_len);
	len = first + job.out_len;
	decompress(t, &job, NVME_ACCEL_ALG_DEFLATE, t->want, len, n, 0);
	t_check(t, job.code == NVME_ACCEL_OK && job.out_len == n && same(t, n));
	decompress(t, &job, NVME_ACCEL_ALG_DEFLATE, t->want, first, cut, NVME_ACCEL_STAGE_CHUNK);
	t_check(t, job.code == NVME_ACCEL_OK && job.out_len == cut && same(t, cut));
	decompress(t, &job, NVME_ACCEL_ALG_DEFLATE, t->want, first, cut, 0);
	t_check(t, job.code == NVME_ACCEL_BAD_INPUT_DATA);
}

static int stopper(void *arg)
{
	struct job *job = arg;

	msleep(30);
	WRITE_ONCE(job->stop, 1);
	while (!kthread_should_stop())
		msleep(1);
	return 0;
}

/* The slowest thing there is, over and over in one list of the same pages. */
static void stop_compress(struct t *t)
{
	struct task_struct *task;
	struct job job;
	unsigned int i;
	u64 start;

	t_fill(t, t->data, T_MAX, 2);
	for (i = 0; i < 4; i++)
		t->in.v[i] = (struct kvec){ t->data, T_MAX };
	t->in.n = 4;
	t_scatter(t, &t->out, NULL, T_MAX);
	t_job(t, &job, 4 * T_MAX, T_MAX);
	job.stage[0] = (struct job_stage){ .op = NVME_ACCEL_OP_COMPRESS, .alg = NVME_ACCEL_ALG_GZIP, .arg0 = 9 };
	task = kthread_run(stopper, &job, "engine-stopper");
	if (!t_check(t, !IS_ERR(task)))
		return;
	start = ktime_get_ns();
	kengine_run(t->th, &job);
	pr_info("# stopped after 30 ms: ended after %llu ms, code %u\n", (ktime_get_ns() - start) / NSEC_PER_MSEC, job.code);
	kthread_stop(task);
	t_check(t, job.code == NVME_ACCEL_ABORTED && !job.out_len);
}

void test_stop(struct t *t)
{
	unsigned int i;
	struct job job;

	for (i = 0; i < t->ke->nops; i++) {
		t_scatter(t, &t->in, t->data, 100);
		t_scatter(t, &t->out, NULL, 100);
		t_job(t, &job, 100, 100);
		job.stage[0].op = t->ke->table[i].op;
		job.stage[0].alg = t->ke->table[i].alg;
		job.stop = 1;
		kengine_run(t->th, &job);
		t_check(t, job.code == NVME_ACCEL_ABORTED && t_untouched(&t->out, 0, 100));
	}
	stop_compress(t);
}
