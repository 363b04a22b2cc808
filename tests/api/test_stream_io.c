// SPDX-License-Identifier: BSD-2-Clause
/* How streams are used: steps of any size, closing at any time, limits, errors, sums, leases, long inputs. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "stream_util.h"

static const uint16_t algs[] = { ACCEL_DEFLATE, ACCEL_ZLIB, ACCEL_GZIP, ACCEL_LZ4_FRAME, ACCEL_ZSTD };

/* The output does not depend on how the input came or how the output was taken. */
static void test_steps(void **state)
{
	static const size_t steps[] = { 1, 7, 4096, 65537, 1 << 20 };
	struct env *e = *state;
	struct blob in = blob_make(MIXED, 200000), first = { 0 };
	unsigned int a, i;

	for (a = 0; a < 5; a++) {
		struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, algs[a], 1);
		struct accel_stream_opts back = opts_of(ACCEL_STREAM_DECOMPRESS, algs[a], 0);

		o.chunk_nbytes = 65536;
		first.n = 0;
		assert_int_equal(run_peek(e->dev, &o, in.p, in.n, &first, NULL), 0);
		for (i = 0; i < 5; i++) {
			struct blob out = { 0 }, again = { 0 };

			assert_int_equal(
				run_steps(e->dev, &o, in.p, in.n, steps[i], steps[4 - i], &out, NULL), 0);
			assert_same(&out, &first);
			assert_int_equal(
				run_steps(e->dev, &back, out.p, out.n, steps[i], steps[4 - i], &again, NULL),
				0);
			assert_same(&again, &in);
			blob_free(&out);
			blob_free(&again);
		}
	}
	blob_free(&in);
	blob_free(&first);
}

/* 12-05: closed after any number of steps, in the middle of jobs; nothing leaks and nothing hangs. */
static void test_close_early(void **state)
{
	struct env *e = *state;
	struct blob in = blob_make(MIXED, 3 << 20), packed = { 0 };
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 1);
	unsigned int n, kind;
	uint8_t buf[5000];

	o.chunk_nbytes = 65536;
	assert_int_equal(run(e->dev, &o, in.p, in.n, &packed, NULL), 0);
	for (kind = ACCEL_STREAM_COMPRESS; kind <= ACCEL_STREAM_DECOMPRESS; kind++)
		for (n = 0; n < 30; n++) {
			const struct blob *from = kind == ACCEL_STREAM_COMPRESS ? &in : &packed;
			struct accel_stream *s;
			size_t at = 0, i;

			o.kind = (uint16_t)kind;
			o.level = 0;
			o.chunk_nbytes = kind == ACCEL_STREAM_COMPRESS ? 65536 : 0;
			assert_int_equal(accel_stream_open(e->dev, &o, &s), 0);
			for (i = 0; i < n; i++) {
				ssize_t k = accel_stream_write(s, from->p + at, from->n / 30);

				assert_true(k > 0 || k == -EAGAIN);
				at += k > 0 ? (size_t)k : 0;
				if (i % 2)
					assert_true(accel_stream_read(s, buf, sizeof(buf)) >= 0);
			}
			if (n % 3 == 2)
				assert_int_equal(accel_stream_finish(s), 0);
			accel_stream_close(s);
		}
	accel_stream_close(NULL);
	blob_free(&in);
	blob_free(&packed);
}

static void test_bad_options(void **state)
{
	struct env *e = *state;
	struct accel_stream *s;
	struct accel_stream_opts good = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 6), o;
	void *p;

#define REFUSED(change)                                                                                      \
	do {                                                                                                 \
		o = good;                                                                                    \
		change;                                                                                      \
		assert_int_equal(accel_stream_open(e->dev, &o, &s), -EINVAL);                                \
	} while (0)
	REFUSED(o.size = 8);
	REFUSED(o.flags = 1 << 30);
	REFUSED(o.reserved[2] = 1);
	REFUSED(o.kind = 3);
	REFUSED(o.alg = 0);
	REFUSED(o.alg = 99);
	REFUSED(o.alg = ACCEL_LZ4_BLOCK);
	REFUSED(o.level = 10);
	REFUSED(o.chunk_nbytes = 100);
	REFUSED(o.chunk_nbytes = 1 << 30);
	REFUSED(o.depth = 100000);
	REFUSED(o.timeout_ms = -1);
	REFUSED(o.flags = ACCEL_STREAM_ONE_MEMBER);
	REFUSED((o.alg = ACCEL_ZSTD, o.flags = ACCEL_STREAM_BGZF));
	REFUSED((o.kind = ACCEL_STREAM_DECOMPRESS, o.flags = ACCEL_STREAM_BGZF));
	REFUSED((o.kind = ACCEL_STREAM_CHECKSUM, o.alg = 99));
	assert_int_equal(accel_stream_open(NULL, &good, &s), -EINVAL);
	assert_int_equal(accel_stream_open(e->dev, NULL, &s), -EINVAL);
	assert_int_equal(accel_stream_open(e->dev, &good, NULL), -EINVAL);
	assert_int_equal(accel_stream_open(e->dev, &good, &s), 0);
	assert_true(accel_stream_room(s, &p) > 0);
	assert_int_equal(accel_stream_commit(s, (size_t)1 << 40), -EINVAL);
	assert_int_equal(accel_stream_write(s, NULL, 1), -EINVAL);
	assert_int_equal(accel_stream_read(s, NULL, 1), -EINVAL);
	assert_int_equal(accel_stream_read(s, &o, sizeof(o)), 20); /* the header */
	assert_int_equal(accel_stream_result(s, (uint8_t[ACCEL_RESULT_MAX]){ 0 }), -EINVAL);
	assert_int_equal(accel_stream_finish(s), 0);
	assert_int_equal(accel_stream_write(s, "x", 1), -EINVAL);
	assert_int_equal(accel_stream_finish(s), 0);
	accel_stream_close(s);
}

/* 4-20: a bomb is stopped where the caller said, with what came before it. */
static void test_max_out(void **state)
{
	struct env *e = *state;
	struct blob zeros = blob_make(ZEROS, 30 << 20), in = { 0 };
	unsigned int a, foreign;

	for (a = 0; a < 5; a++)
		for (foreign = 0; foreign < 2; foreign++) {
			struct accel_stream_opts c = opts_of(ACCEL_STREAM_COMPRESS, algs[a], 1);
			struct accel_stream_opts o = opts_of(ACCEL_STREAM_DECOMPRESS, algs[a], 0);
			struct blob out = { 0 };
			struct accel_stream_info info;

			if (foreign && algs[a] != ACCEL_GZIP)
				continue;
			in.n = 0;
			if (foreign)
				member_add(&in, zeros.p, zeros.n, 9, NULL);
			else
				assert_int_equal(run(e->dev, &c, zeros.p, zeros.n, &in, NULL), 0);
			o.max_out = 10000001;
			assert_int_equal(run(e->dev, &o, in.p, in.n, &out, &info), -EFBIG);
			assert_int_equal(out.n, 10000001);
			assert_int_equal(info.out_bytes, 10000001);
			assert_memory_equal(out.p, zeros.p, out.n);
			o.max_out = zeros.n;
			out.n = 0;
			assert_int_equal(run(e->dev, &o, in.p, in.n, &out, &info), 0);
			assert_same(&out, &zeros);
			blob_free(&out);
		}
	blob_free(&zeros);
	blob_free(&in);
}

/* A foreign member that no job can hold: the process, unless that is forbidden. Small ones: the device. */
static void test_device_only(void **state)
{
	struct env *e = *state;
	struct blob in = blob_make(MIXED, 6 << 20), big = { 0 }, small = { 0 }, out = { 0 };
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_DECOMPRESS, ACCEL_GZIP, 0);
	struct accel_stream_info info;

	member_add(&big, in.p, in.n, 1, NULL);
	member_add(&small, in.p, 300000, 1, NULL);
	assert_int_equal(run(e->dev, &o, big.p, big.n, &out, &info), 0);
	assert_same(&out, &in);
	assert_int_equal(info.cpu_bytes, big.n);
	assert_int_equal(info.jobs, 0);
	out.n = 0;
	assert_int_equal(run(e->dev, &o, small.p, small.n, &out, &info), 0);
	assert_int_equal(info.cpu_bytes, 0);
	assert_int_equal(info.jobs, 1);
	o.flags = ACCEL_STREAM_DEVICE_ONLY;
	out.n = 0;
	assert_int_equal(run(e->dev, &o, big.p, big.n, &out, &info), -ENOTSUP);
	assert_int_equal(out.n, 0);
	assert_true(info.error[0] != 0);
	blob_add(&small, small.p, small.n);
	assert_int_equal(run(e->dev, &o, small.p, small.n, &out, &info), 0);
	assert_int_equal(out.n, 600000);
	assert_int_equal(info.members, 2);
	assert_int_equal(info.cpu_bytes, 0);
	blob_free(&in);
	blob_free(&big);
	blob_free(&small);
	blob_free(&out);
}

/* A device that has no compression: the CPU, and it is said; or a refusal. */
static void test_lacking_device(void **state)
{
	struct env *e = *state;
	struct accel_dev *dev = dev_open(e->ctx, "soft:nsid=4");
	struct blob in = blob_make(TEXT, 300000), packed = { 0 }, out = { 0 };
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 1);
	struct accel_stream_info info;
	struct accel_stream *s;

	assert_int_equal(run(dev, &o, in.p, in.n, &packed, &info), 0);
	assert_int_equal(info.jobs, 0);
	assert_int_equal(info.cpu_jobs, 1);
	assert_int_equal(info.cpu_bytes, in.n);
	assert_int_equal(info.executor, ACCEL_EXEC_FALLBACK);
	o.kind = ACCEL_STREAM_DECOMPRESS;
	assert_int_equal(run(dev, &o, packed.p, packed.n, &out, &info), 0);
	assert_same(&out, &in);
	assert_int_equal(info.cpu_bytes, packed.n);
	o.flags = ACCEL_STREAM_DEVICE_ONLY;
	assert_int_equal(accel_stream_open(dev, &o, &s), -ENOTSUP);
	o.kind = ACCEL_STREAM_COMPRESS;
	assert_int_equal(accel_stream_open(dev, &o, &s), -ENOTSUP);
	accel_dev_close(dev);
	blob_free(&in);
	blob_free(&packed);
	blob_free(&out);
}

/* ---- sums ---- */

static int sum(struct env *e, uint16_t kind, uint16_t alg, uint32_t flags, const struct blob *in, size_t step,
	       uint8_t *result, struct accel_stream_info *info)
{
	struct accel_stream_opts o = opts_of(kind, alg, 0);
	struct accel_stream *s;
	size_t at = 0;
	ssize_t n;
	int rc;

	o.flags = flags;
	assert_int_equal(accel_stream_open(e->dev, &o, &s), 0);
	while (at < in->n) {
		n = accel_stream_write(s, in->p + at, in->n - at < step ? in->n - at : step);
		if (n < 0)
			break;
		at += (size_t)n;
	}
	accel_stream_finish(s);
	rc = accel_stream_result(s, result);
	accel_stream_info(s, info);
	accel_stream_close(s);
	return rc;
}

/* 3-13: the same value whichever way the bytes go, around every size where a chunk ends. */
static void test_checksum(void **state)
{
	static const size_t sizes[] = { 0,	1, 65535, 65536, 65537, (1 << 20) - 1, 1 << 20, (1 << 20) + 1,
					9000001 };
	struct env *e = *state;
	struct accel_stream_info info;
	uint8_t r[ACCEL_RESULT_MAX];
	unsigned int i;

	for (i = 0; i < 9; i++) {
		struct blob in = blob_make(RANDOM, sizes[i]);
		uLong crc = crc32(crc32(0, NULL, 0), in.p, (uInt)in.n),
		      adler = adler32(adler32(0, NULL, 0), in.p, (uInt)in.n);

		assert_int_equal(sum(e, ACCEL_STREAM_CHECKSUM, ACCEL_CRC32, 0, &in, 100000, r, &info), 4);
		assert_int_equal(r[0] | r[1] << 8 | r[2] << 16 | (uint32_t)r[3] << 24, crc);
		assert_int_equal(info.jobs, (sizes[i] + (1 << 20) - 1) >> 20);
		assert_int_equal(info.cpu_bytes, 0);
		assert_int_equal(sum(e, ACCEL_STREAM_CHECKSUM, ACCEL_ADLER32, 0, &in, 3 << 20, r, &info), 4);
		assert_int_equal(r[0] | r[1] << 8 | r[2] << 16 | (uint32_t)r[3] << 24, adler);
		blob_free(&in);
	}
}

/* The others against themselves in one job, whose values other tests know. */
static void test_checksum_combined(void **state)
{
	static const uint16_t others[] = { ACCEL_CRC32C, ACCEL_T10DIF, ACCEL_CRC64_NVME };
	struct env *e = *state;
	struct blob in = blob_make(RANDOM, 3500000);
	struct accel_stream_info info;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct accel_plan *plan = plan_of(e->ctx);
		struct accel_result one;
		uint8_t r[ACCEL_RESULT_MAX];

		assert_int_equal(accel_plan_checksum(plan, others[i], 0), 0);
		assert_int_equal(accel_plan_seal(plan, e->dev), 0);
		assert_int_equal(accel_run(e->dev, plan, in.p, in.n, NULL, 0, NULL, 5000, &one), 0);
		assert_int_equal(sum(e, ACCEL_STREAM_CHECKSUM, others[i], ACCEL_STREAM_DEVICE_ONLY, &in,
				     77777, r, &info),
				 one.result_len[0]);
		assert_memory_equal(r, one.result[0], one.result_len[0]);
		assert_int_equal(info.jobs, 4);
		accel_plan_unref(plan);
	}
	blob_free(&in);
}

/* Up to a job's size by the device, beyond it in the process, or not at all. SHA-256 of n times 'a'. */
static void test_digest(void **state)
{
	static const uint8_t million[32] = {
		/* FIPS 180 example: one million times 'a' */
		0xcd, 0xc7, 0x6e, 0x5c, 0x99, 0x14, 0xfb, 0x92, 0x81, 0xa1, 0xc7,
		0xe2, 0x84, 0xd7, 0x3e, 0x67, 0xf1, 0x80, 0x9a, 0x48, 0xa4, 0x97,
		0x20, 0x0e, 0x04, 0x6d, 0x39, 0xcc, 0xc7, 0x11, 0x2c, 0xd0,
	};
	struct env *e = *state;
	struct blob in = blob_make(ZEROS, 9 << 20);
	struct accel_stream_info info;
	uint8_t r[ACCEL_RESULT_MAX], whole[32], parts[32];

	memset(in.p, 'a', in.n);
	in.n = 1000000;
	assert_int_equal(sum(e, ACCEL_STREAM_DIGEST, ACCEL_SHA256, 0, &in, 1000, r, &info), 32);
	assert_memory_equal(r, million, 32);
	assert_int_equal(info.jobs, 1);
	assert_int_equal(info.cpu_bytes, 0);
	in.n = 4 << 20;
	assert_int_equal(
		sum(e, ACCEL_STREAM_DIGEST, ACCEL_SHA256, ACCEL_STREAM_DEVICE_ONLY, &in, 1 << 20, r, &info),
		32);
	in.n = 9 << 20;
	assert_int_equal(sum(e, ACCEL_STREAM_DIGEST, ACCEL_SHA256, 0, &in, 123457, r, &info), 32);
	assert_int_equal(info.jobs, 0);
	assert_int_equal(info.cpu_bytes, in.n);
	memcpy(parts, r, 32);
	assert_int_equal(accel_sha256(e->dev, in.p, in.n, whole, 5000), 0);
	assert_memory_equal(parts, whole, 32);
	assert_int_equal(
		sum(e, ACCEL_STREAM_DIGEST, ACCEL_SHA256, ACCEL_STREAM_DEVICE_ONLY, &in, 1 << 20, r, &info),
		-ENOTSUP);
	in.n = 0;
	assert_int_equal(sum(e, ACCEL_STREAM_DIGEST, ACCEL_SHA512, 0, &in, 1, r, &info), 64);
	assert_int_equal(r[0], 0xcf); /* SHA-512 of nothing: cf83e1... */
	blob_free(&in);
}

/* ---- leases ---- */

/* The lease is broken under a stream, several times; the stream takes a new one, and no byte is wrong. */
static void test_lease_broken(void **state)
{
	struct env *e = *state;
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 6);
	struct blob in = blob_make(MIXED, 12 << 20), out = { 0 }, judged = { 0 };
	struct accel_lease_info infos[16];
	struct accel_stream *s;
	size_t at = 0;
	ssize_t n;
	int i, k, broken = 0;

	assert_int_equal(accel_stream_open(e->dev, &o, &s), 0);
	for (i = 0; at < in.n; i++) {
		n = accel_stream_write(s, in.p + at, in.n - at < 400000 ? in.n - at : 400000);
		assert_true(n > 0 || n == -EAGAIN);
		at += n > 0 ? (size_t)n : 0;
		if (i % 7 == 3) {
			k = accel_lease_list(e->dev, infos, 16);
			while (k-- > 0)
				broken += accel_lease_break(e->dev, infos[k].index, infos[k].epoch) == 0;
		}
		assert_true(drain(s, &out, 100000) >= 0);
	}
	assert_int_equal(accel_stream_finish(s), 0);
	assert_int_equal(drain(s, &out, 100000), 0);
	accel_stream_close(s);
	assert_true(broken >= 2);
	assert_int_equal(judge_zlib(&out, 31, &judged), 0);
	assert_same(&judged, &in);
	blob_free(&in);
	blob_free(&out);
	blob_free(&judged);
}

/* Under the handle's own lock a stream works with the lock's lease. */
static void test_locked(void **state)
{
	struct env *e = *state;
	struct blob in = blob_make(TEXT, 300000), out = { 0 };
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 1);
	struct accel_stream_info info;

	assert_int_equal(accel_dev_lock(e->dev, 2000), 0);
	assert_int_equal(run(e->dev, &o, in.p, in.n, &out, &info), 0);
	assert_int_equal(info.jobs, 1);
	assert_int_equal(accel_dev_unlock(e->dev), 0);
	out.n = 0;
	assert_int_equal(run(e->dev, &o, in.p, in.n, &out, &info), 0);
	blob_free(&in);
	blob_free(&out);
}

/* In a child every call says so, and closing is allowed. */
static void test_fork(void **state)
{
	struct env *e = *state;
	struct accel_stream_opts o = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 1);
	struct accel_stream *s;
	const void *q;
	void *p;
	pid_t pid;
	int status = 0;

	assert_int_equal(accel_stream_open(e->dev, &o, &s), 0);
	assert_int_equal(accel_stream_write(s, "hello", 5), 5);
	pid = fork();
	if (pid == 0) {
		int ok = accel_stream_write(s, "x", 1) == -ESTALE && accel_stream_room(s, &p) == -ESTALE &&
			 accel_stream_peek(s, &q, 1) == -ESTALE && accel_stream_finish(s) == -ESTALE &&
			 accel_stream_open(e->dev, &o, &s) == -ESTALE;

		accel_stream_close(s);
		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(accel_stream_finish(s), 0);
	accel_stream_close(s);
}

/* ---- long inputs ---- */

static size_t resident_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size, res = 0;

	if (fscanf(f, "%lu %lu", &size, &res) != 2)
		res = 0;
	fclose(f);
	return res * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* 3-16, 12-03: more than 32 bits of zeros through a stream and back, in constant memory. */
static void test_long(void **state)
{
	const uint64_t want = ((uint64_t)5 << 30) + 12345;
	struct env *e = *state;
	struct accel_stream_opts c = opts_of(ACCEL_STREAM_COMPRESS, ACCEL_GZIP, 1);
	struct accel_stream_opts d = opts_of(ACCEL_STREAM_DECOMPRESS, ACCEL_GZIP, 0);
	struct accel_stream *a, *b;
	struct accel_stream_info info;
	uint64_t given = 0, back = 0;
	const void *q;
	size_t before = resident_kib(), grown = 0, now;
	ssize_t n, k;
	void *p;
	int ended = 0;

	assert_int_equal(accel_stream_open(e->dev, &c, &a), 0);
	assert_int_equal(accel_stream_open(e->dev, &d, &b), 0);
	for (;;) {
		n = ended ? 0 : accel_stream_room(a, &p);
		if (n > 0 && given < want) {
			n = n < (ssize_t)(want - given) ? n : (ssize_t)(want - given);
			/* The ring's pages stay zero once they are. */
			if (given < (64 << 20))
				memset(p, 0, (size_t)n);
			given += (uint64_t)n;
			assert_int_equal(accel_stream_commit(a, (size_t)n), 0);
		} else if (given == want && !ended) {
			assert_int_equal(accel_stream_finish(a), 0);
			ended = 1;
		}
		n = accel_stream_peek(a, &q, 1);
		assert_true(n >= 0);
		if (!n && ended)
			break;
		if (n) {
			k = accel_stream_write(b, q, (size_t)n);
			assert_true(k > 0 || k == -EAGAIN);
			accel_stream_consume(a, k > 0 ? (size_t)k : 0);
		}
		while ((k = accel_stream_peek(b, &q, 0)) > 0) {
			assert_int_equal(((const uint8_t *)q)[0] | ((const uint8_t *)q)[k - 1], 0);
			back += (uint64_t)k;
			accel_stream_consume(b, (size_t)k);
		}
		assert_int_equal(k, 0);
		now = resident_kib();
		grown = now > before && now - before > grown ? now - before : grown;
	}
	assert_int_equal(accel_stream_finish(b), 0);
	while ((k = accel_stream_peek(b, &q, 1)) > 0) {
		back += (uint64_t)k;
		accel_stream_consume(b, (size_t)k);
	}
	assert_int_equal(k, 0);
	assert_true(back == want);
	accel_stream_info(a, &info);
	assert_true(info.in_bytes == want);
	accel_stream_info(b, &info);
	assert_true(info.out_bytes == want);
	assert_int_equal(info.members, 1);
	accel_stream_close(a);
	accel_stream_close(b);
	print_message("# two streams grew the process by %zu KiB\n", grown);
	/* Each stays below 48 MiB; the rest is the software accelerator's. Sanitizers need more. */
#if !defined(__SANITIZE_ADDRESS__)
	assert_true(grown < 2 * 48 * 1024 + 64 * 1024);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),	    cmocka_unit_test(test_close_early),
		cmocka_unit_test(test_bad_options), cmocka_unit_test(test_max_out),
		cmocka_unit_test(test_device_only), cmocka_unit_test(test_lacking_device),
		cmocka_unit_test(test_checksum),    cmocka_unit_test(test_checksum_combined),
		cmocka_unit_test(test_digest),	    cmocka_unit_test(test_lease_broken),
		cmocka_unit_test(test_locked),	    cmocka_unit_test(test_fork),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, env_open, env_close);
}
