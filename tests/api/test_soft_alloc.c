// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every allocation of a whole use of the library fails once (fault 3-05): the call says so or does without,
 * nothing crashes, nothing leaks and nothing is wrong in silence. The allocator of the process is replaced
 * for that, within the calling thread only.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include "api_util.h"

static __thread long countdown = -1;	/* allocations until one fails; -1: none does */
static __thread int hit;

static int fails(void)
{
	if (countdown < 0)
		return 0;
	if (countdown-- > 0)
		return 0;
	hit = 1;
	errno = ENOMEM;
	return 1;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* The sanitizer has replaced it already, and lets us stand in front of its functions by these names. */
void *__interceptor_malloc(size_t n);
void *__interceptor_calloc(size_t n, size_t size);
void *__interceptor_realloc(void *p, size_t n);
int __interceptor_posix_memalign(void **p, size_t align, size_t n);
#define REAL(name) __interceptor_##name
#else
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static int real_posix_memalign(void **p, size_t align, size_t n)
{
	*p = __libc_memalign(align, n);
	return *p ? 0 : ENOMEM;
}
#define __libc_posix_memalign real_posix_memalign
#define REAL(name) __libc_##name
#endif

void *malloc(size_t n)
{
	return fails() ? NULL : REAL(malloc)(n);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : REAL(calloc)(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails() ? NULL : REAL(realloc)(p, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
	return fails() ? ENOMEM : REAL(posix_memalign)(p, align, n);
}

struct use {
	struct accel_ctx *ctx;
	struct accel_list *list;
	struct accel_dev *dev, *named;
	struct accel_plan *crc, *zip;
	struct accel_lease *lease;
	struct accel_queue *q;
	struct accel_buf *buf;
};

#define TRY(call) do { ret = (call); if (ret) return ret; } while (0)

/* The status of a job that could not have its memory is NO_RESOURCES; all else must be right. */
static int job_ok(int ret, const struct accel_result *r)
{
	if (ret)
		return ret;
	return r->status == ACCEL_ST_NO_RESOURCES ? -ENOMEM : r->status ? -EIO : 0;
}

static int open_devices(struct use *u, const char *name)
{
	int ret;

	TRY(accel_ctx_new(NULL, &u->ctx));
	TRY(accel_scan(u->ctx, NULL, &u->list));
	TRY(accel_dev_open(u->ctx, name, &u->dev));
	TRY(accel_dev_open(u->ctx, "name:software digest", &u->named));
	TRY(accel_buf_alloc(u->ctx, u->dev, 4096, 0, &u->buf));
	return 0;
}

static int make_plans(struct use *u)
{
	int ret;

	TRY(accel_plan_new(u->ctx, &u->crc));
	TRY(accel_plan_checksum(u->crc, ACCEL_CRC32C, 0));
	TRY(accel_plan_seal(u->crc, u->dev));
	TRY(accel_plan_new(u->ctx, &u->zip));
	TRY(accel_plan_compress(u->zip, ACCEL_GZIP, 1, 0, 0));
	TRY(accel_plan_digest(u->zip, ACCEL_SHA256));
	TRY(accel_plan_policy(u->zip, ACCEL_DEVICE_ONLY, ACCEL_PLAN_OUT_CRC, 0));
	TRY(accel_plan_seal(u->zip, u->dev));
	return 0;
}

static int run_jobs(struct use *u)
{
	struct accel_job job = ACCEL_INIT(struct accel_job);
	struct iovec v = { (void *)"123456789", 9 };
	struct accel_dev_stats st;
	struct accel_result r;
	uint8_t out[256];
	int ret;

	TRY(accel_lease_acquire(u->dev, NULL, 0, &u->lease));
	TRY(accel_queue_new(u->lease, NULL, &u->q));
	ret = accel_queue_fd(u->q);
	if (ret < 0)
		return ret;
	job.plan = u->crc;
	job.in = &v;
	job.nin = 1;
	ret = accel_queue_submit(u->q, &job, 1);
	if (ret != 1)
		return ret < 0 ? ret : -EIO;
	if (accel_queue_reap(u->q, &r, 1, 1, 20000) != 1)
		return -EIO;
	TRY(job_ok(0, &r));
	if (r.result[0][3] != 0xe3)
		return -EBADMSG;
	TRY(job_ok(accel_run(u->dev, u->zip, "123456789", 9, out, sizeof(out), NULL, 20000, &r), &r));
	if (r.out_len < 20 || out[0] != 0x1f || out[1] != 0x8b)
		return -EBADMSG;
	TRY(accel_dev_stats(u->dev, &st));
	TRY(accel_lease_renew(u->lease));
	return 0;
}

static void close_all(struct use *u)
{
	accel_queue_free(u->q);
	accel_lease_release(u->lease);
	accel_plan_unref(u->crc);
	accel_plan_unref(u->zip);
	accel_buf_free(u->buf);
	accel_dev_close(u->named);
	accel_dev_close(u->dev);
	accel_list_free(u->list);
	accel_ctx_unref(u->ctx);
}

static int whole_use(const char *name)
{
	struct use u = { 0 };
	int ret = open_devices(&u, name);

	if (!ret)
		ret = make_plans(&u);
	if (!ret)
		ret = run_jobs(&u);
	close_all(&u);
	return ret;
}

static void loop(const char *name)
{
	long n;
	int ret;

	for (n = 0; n < 3000; n++) {
		hit = 0;
		countdown = n;
		ret = whole_use(name);
		countdown = -1;
		if (!hit)
			break;
		/* A failing release of a lease leaves it to run out: not an error to anybody here. */
		if (ret && ret != -ENOMEM && ret != -ENOENT)
			print_error("%s: allocation %ld: %d\n", name, n, ret);
		assert_true(ret == 0 || ret == -ENOMEM || ret == -ENOENT);
	}
	assert_int_equal(ret, 0);
	assert_true(n > 20 && n < 3000);
}

static void test_no_threads(void **state)
{
	(void)state;
	loop("soft:threads=0,slots=32");
}

static void test_threads(void **state)
{
	(void)state;
	loop("soft:threads=1,slots=32");
}

static void test_faulty(void **state)
{
	(void)state;
	loop("fault:,soft:threads=0,slots=32");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_threads),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_faulty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
