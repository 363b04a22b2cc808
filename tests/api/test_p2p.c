// SPDX-License-Identifier: BSD-2-Clause
/* Peer-to-peer calls: arguments, copies and jobs through memory, and what is said of the way. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>
#include "api_util.h"

static char dir[] = "/var/tmp/p2p-api-XXXXXX";
static char src_name[64], dst_name[64];

static void make(const char *name, const void *p, size_t n)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), (ssize_t)n);
	close(fd);
}

static uint8_t *load(const char *name, size_t *n)
{
	int fd = open(name, O_RDONLY);
	struct stat st;
	uint8_t *p;

	assert_int_equal(fstat(fd, &st), 0);
	*n = (size_t)st.st_size;
	p = malloc(*n + 1);
	assert_int_equal(read(fd, p, *n), (ssize_t)*n);
	close(fd);
	return p;
}

struct ends {
	struct accel_range src, dst;
	struct accel_copy_opts o;
	struct accel_copy_info info;
};

static struct ends ends_of(uint64_t off, uint64_t n, uint64_t dst_off)
{
	struct ends e = { ACCEL_INIT(struct accel_range), ACCEL_INIT(struct accel_range), ACCEL_INIT(struct accel_copy_opts),
			  ACCEL_INIT(struct accel_copy_info) };

	e.src.name = src_name;
	e.src.offset = off;
	e.src.nbytes = n;
	e.dst.name = dst_name;
	e.dst.offset = dst_off;
	return e;
}

static void test_arguments(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct ends e = ends_of(0, 0, 0), bad;
	struct accel_p2p_path path = { 0 };
	struct accel_copy *c = NULL;

	(void)state;
	make(src_name, "abc", 3);
	make(dst_name, "", 0);
	assert_int_equal(accel_copy_start(NULL, &e.src, &e.dst, NULL, &c, NULL), -EINVAL);
	assert_int_equal(accel_copy_start(ctx, NULL, &e.dst, NULL, &c, NULL), -EINVAL);
	assert_int_equal(accel_copy_start(ctx, &e.src, NULL, NULL, &c, NULL), -EINVAL);
	assert_int_equal(accel_copy_start(ctx, &e.src, &e.dst, NULL, NULL, NULL), -EINVAL);
#define BAD(field, value)										\
	do {												\
		bad = e;										\
		bad.field = value;									\
		assert_int_equal(accel_copy_range(ctx, &bad.src, &bad.dst, &bad.o, &bad.info), -EINVAL);	\
	} while (0)
	BAD(src.size, 0);
	BAD(src.name, NULL);
	BAD(dst.reserved[1], 1);
	BAD(dst.reserved32, 1);
	BAD(o.size, 8);
	BAD(o.flags, 1u << 9);
	BAD(o.flags, ACCEL_COPY_MEMORY | ACCEL_COPY_NO_FALLBACK);
	BAD(o.chunk_nbytes, 4097);
	BAD(o.chunk_nbytes, 32u << 20);
	BAD(o.depth, 65);
	BAD(o.timeout_ms, -1);
	BAD(o.reserved[3], 1);
	BAD(info.size, 0);
	BAD(dst.name, src_name);
	assert_int_equal(accel_copy_wait(NULL, 0, NULL), -EINVAL);
	assert_int_equal(accel_copy_cancel(NULL), -EINVAL);
	accel_copy_free(NULL);
	assert_int_equal(accel_p2p_ctrls(NULL, NULL, 0), -EINVAL);
	assert_int_equal(accel_p2p_ctrls(ctx, NULL, 1), -EINVAL);
	assert_true(accel_p2p_ctrls(ctx, NULL, 0) >= 0);
	assert_int_equal(accel_p2p_why(ctx, "nvme0", "nvme1", &path), -EINVAL);
	path.size = sizeof(path);
	assert_int_equal(accel_p2p_why(ctx, "nvme0", NULL, &path), -EINVAL);
	assert_int_equal(accel_p2p_why(ctx, "no such", "nvme1", &path), -ENOENT);
	accel_ctx_unref(ctx);
}

static void test_copy(void **state)
{
	static const struct {
		uint64_t off, n, dst;
	} t[] = { { 0, 0, 0 }, { 5, 100000, 4097 }, { 4096, 8192, 0 }, { 299999, 1, 1 } };
	struct accel_ctx *ctx = ctx_new();
	static uint8_t data[300000];
	uint8_t *got;
	size_t n;

	(void)state;
	fill_text(data, sizeof(data));
	make(src_name, data, sizeof(data));
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct ends e = ends_of(t[i].off, t[i].n, t[i].dst);
		uint64_t want = t[i].n ? t[i].n : sizeof(data);

		make(dst_name, "", 0);
		e.o.flags = i & 1 ? ACCEL_COPY_SYNC : 0;
		assert_int_equal(accel_copy_range(ctx, &e.src, &e.dst, &e.o, &e.info), 0);
		assert_int_equal(e.info.done_nbytes, want);
		assert_int_equal(e.info.total_nbytes, want);
		assert_int_equal(e.info.memory_nbytes + e.info.p2p_nbytes, want);
		assert_true(e.info.p2p_nbytes || e.info.why[0]);
		got = load(dst_name, &n);
		assert_int_equal(n, t[i].dst + want);
		assert_memory_equal(got + t[i].dst, data + t[i].off, want);
		free(got);
	}
	accel_ctx_unref(ctx);
}

/* In steps, cancelled, out of time, freed in the middle. */
static void test_steps(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct ends e = ends_of(0, 0, 0);
	struct accel_copy *c;
	uint8_t *data = calloc(1, 8 << 20);
	uint64_t last = 0;
	int ret;

	(void)state;
	make(src_name, data, 8 << 20);
	make(dst_name, "", 0);
	e.o.flags = ACCEL_COPY_MEMORY;
	e.o.chunk_nbytes = 4096;
	e.o.depth = 1;
	assert_int_equal(accel_copy_start(ctx, &e.src, &e.dst, &e.o, &c, &e.info), 0);
	while ((ret = accel_copy_wait(c, 1, &e.info)) == -EAGAIN) {
		assert_true(e.info.done_nbytes >= last);
		last = e.info.done_nbytes;
	}
	assert_int_equal(ret, 0);
	assert_int_equal(accel_copy_wait(c, 0, &e.info), 0);
	assert_int_equal(e.info.done_nbytes, 8 << 20);
	assert_non_null(strstr(e.info.why, "asked for"));
	accel_copy_free(c);

	assert_int_equal(accel_copy_start(ctx, &e.src, &e.dst, &e.o, &c, NULL), 0);
	assert_int_equal(accel_copy_wait(c, 0, NULL), -EAGAIN);
	assert_int_equal(accel_copy_cancel(c), 0);
	assert_int_equal(accel_copy_wait(c, -1, &e.info), -ECANCELED);
	assert_int_equal(e.info.error, -ECANCELED);
	assert_int_equal(accel_copy_wait(c, -1, NULL), -ECANCELED);
	accel_copy_free(c);

	e.o.timeout_ms = 1;
	assert_int_equal(accel_copy_start(ctx, &e.src, &e.dst, &e.o, &c, NULL), 0);
	sleep_ms(5);
	assert_int_equal(accel_copy_wait(c, -1, &e.info), -ETIMEDOUT);
	accel_copy_free(c);

	assert_int_equal(accel_copy_start(ctx, &e.src, &e.dst, &e.o, &c, NULL), 0);
	accel_copy_free(c);
	free(data);
	accel_ctx_unref(ctx);
}

static void test_no_fallback(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_ctx_opts none = ACCEL_INIT(struct accel_ctx_opts);
	struct ends e = ends_of(0, 0, 0);
	uint8_t *got;
	size_t n;

	(void)state;
	accel_ctx_unref(ctx);
	/* A tree without devices. */
	none.root = dir;
	assert_int_equal(accel_ctx_new(&none, &ctx), 0);
	make(src_name, "abcdefg", 7);
	make(dst_name, "", 0);
	e.o.flags = ACCEL_COPY_NO_FALLBACK;
	assert_int_equal(accel_copy_range(ctx, &e.src, &e.dst, &e.o, &e.info), -EREMOTEIO);
	assert_int_equal(e.info.error, -EREMOTEIO);
	assert_true(e.info.why[0] != '\0');
	got = load(dst_name, &n);
	assert_int_equal(n, 0);
	free(got);
	assert_int_equal(accel_p2p_ctrls(ctx, NULL, 0), 0);
	accel_ctx_unref(ctx);
}

static void test_missing(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct ends e = ends_of(0, 0, 0);

	(void)state;
	make(src_name, "abcdefg", 7);
	unlink(dst_name);
	assert_int_equal(accel_copy_range(ctx, &e.src, &e.dst, NULL, NULL), -ENOENT);
	make(dst_name, "", 0);
	e.src.offset = 8;
	assert_int_equal(accel_copy_range(ctx, &e.src, &e.dst, NULL, NULL), -ENODATA);
	e.src.offset = 0;
	e.dst.nbytes = 6;
	assert_int_equal(accel_copy_range(ctx, &e.src, &e.dst, NULL, NULL), -ENOSPC);
	e.dst.name = "/dev/null";
	assert_int_equal(accel_copy_range(ctx, &e.src, &e.dst, NULL, NULL), -ENOTBLK);
	accel_ctx_unref(ctx);
}

/* One job from file to file. */
static void test_run(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=0");
	struct accel_plan *plan;
	struct ends e = ends_of(100, 200000, 50);
	static uint8_t data[300000], plain[200000];
	struct accel_result r;
	uLongf len = sizeof(plain);
	uint8_t *got;
	size_t n;

	(void)state;
	fill_text(data, sizeof(data));
	make(src_name, data, sizeof(data));
	make(dst_name, "", 0);
	assert_int_equal(accel_plan_new(ctx, &plan), 0);
	assert_int_equal(accel_plan_compress(plan, ACCEL_ZLIB, 6, 0, 0), 0);
	assert_int_equal(accel_run_range(dev, plan, &e.src, &e.dst, NULL, NULL, 10000, &r, NULL), -EINVAL);
	assert_int_equal(accel_plan_seal(plan, dev), 0);
	assert_int_equal(accel_run_range(dev, plan, &e.src, &e.dst, NULL, NULL, 10000, &r, &e.info), 0);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(e.info.memory_nbytes, 200000 + r.out_len);
	assert_non_null(strstr(e.info.why, "block device"));
	got = load(dst_name, &n);
	assert_int_equal(n, 50 + r.out_len);
	assert_int_equal(uncompress(plain, &len, got + 50, r.out_len), Z_OK);
	assert_int_equal(len, 200000);
	assert_memory_equal(plain, data + 100, len);
	free(got);
	/* Too little room is the job's outcome. */
	e.dst.nbytes = 10;
	assert_int_equal(accel_run_range(dev, plan, &e.src, &e.dst, NULL, NULL, 10000, &r, &e.info), 0);
	assert_int_equal(r.status, ACCEL_ST_OUTPUT_SHORT);
	e.o.flags = ACCEL_COPY_NO_FALLBACK;
	assert_int_equal(accel_run_range(dev, plan, &e.src, &e.dst, NULL, &e.o, 10000, &r, &e.info), -EREMOTEIO);
	accel_plan_unref(plan);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

static void test_compress(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:");
	size_t size = 5 << 20, n;
	uint8_t *data = malloc(size), *plain = malloc(size + 1), *got;
	struct ends e = ends_of(0, 0, 0);
	z_stream z = { 0 };
	struct accel_copy *c;
	int ret;

	(void)state;
	fill_text(data, size);
	make(src_name, data, size);
	make(dst_name, "", 0);
	assert_int_equal(accel_compress_start(dev, 10, &e.src, &e.dst, NULL, &c, NULL), -EINVAL);
	assert_int_equal(accel_compress_start(NULL, 6, &e.src, &e.dst, NULL, &c, NULL), -EINVAL);
	assert_int_equal(accel_compress_start(dev, 1, &e.src, &e.dst, NULL, &c, &e.info), 0);
	while ((ret = accel_copy_wait(c, 1, &e.info)) == -EAGAIN)
		;
	assert_int_equal(ret, 0);
	assert_int_equal(e.info.done_nbytes, size);
	accel_copy_free(c);
	got = load(dst_name, &n);
	assert_int_equal(n, e.info.out_nbytes);
	assert_int_equal(inflateInit2(&z, 31), Z_OK);
	z.next_in = got;
	z.avail_in = (uInt)n;
	z.next_out = plain;
	z.avail_out = (uInt)size + 1;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, size);
	assert_memory_equal(plain, data, size);
	inflateEnd(&z);
	/* Freed and cancelled in the middle. */
	assert_int_equal(accel_compress_start(dev, 1, &e.src, &e.dst, NULL, &c, NULL), 0);
	accel_copy_wait(c, 0, NULL);
	accel_copy_free(c);
	assert_int_equal(accel_compress_start(dev, 1, &e.src, &e.dst, NULL, &c, NULL), 0);
	assert_int_equal(accel_copy_cancel(c), 0);
	assert_int_equal(accel_copy_wait(c, -1, NULL), -ECANCELED);
	accel_copy_free(c);
	free(got);
	free(plain);
	free(data);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* In a child the parent's handles answer so, and can be freed. */
static void test_fork(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct ends e = ends_of(0, 0, 0);
	struct accel_copy *c;
	int status;
	pid_t pid;

	(void)state;
	make(src_name, "abc", 3);
	make(dst_name, "", 0);
	assert_int_equal(accel_copy_start(ctx, &e.src, &e.dst, NULL, &c, NULL), 0);
	pid = fork();
	if (!pid) {
		int bad = accel_copy_wait(c, 0, NULL) != -ESTALE || accel_copy_cancel(c) != -ESTALE ||
			  accel_copy_range(ctx, &e.src, &e.dst, NULL, NULL) != -ESTALE || accel_p2p_ctrls(ctx, NULL, 0) != -ESTALE;

		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(accel_copy_wait(c, -1, NULL), 0);
	accel_copy_free(c);
	accel_ctx_unref(ctx);
}

static int begin(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(src_name, sizeof(src_name), "%s/src", dir);
	snprintf(dst_name, sizeof(dst_name), "%s/dst", dir);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(src_name);
	unlink(dst_name);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments), cmocka_unit_test(test_copy),	 cmocka_unit_test(test_steps),
		cmocka_unit_test(test_no_fallback), cmocka_unit_test(test_missing), cmocka_unit_test(test_run),
		cmocka_unit_test(test_compress), cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
