// SPDX-License-Identifier: BSD-2-Clause
/*
 * No key outlives its use (6-14): some time after the plan and the queue are gone, no writable memory of the
 * process holds a part of it, whoever ran the jobs. The key is looked for by a product of each eight bytes, so
 * that the search itself keeps no copy which it could find.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include "api_util.h"

#define NPARTS 4
#define LOOK 65536u
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)
#define LARGEST ((uintptr_t)1 << 31)	/* a sanitizer reserves more for its own, which is no data */

static void wipe(void *p, size_t n)
{
	volatile uint8_t *v = p;

	while (n--)
		*v++ = 0;
}

/* Eight bytes at a time, none of which occurs elsewhere. */
static void key_make(uint8_t *key, unsigned int seed)
{
	uint64_t x = (seed + 1) * UINT64_C(0xd1342543de82ef95);
	unsigned int i;

	for (i = 0; i < 8 * NPARTS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		key[i] = (uint8_t)(x >> 24);
	}
	wipe(&x, sizeof(x));
}

static void parts_make(uint64_t *part, unsigned int seed)
{
	uint8_t key[8 * NPARTS];
	unsigned int i;

	key_make(key, seed);
	for (i = 0; i < NPARTS; i++) {
		memcpy(&part[i], key + 8 * i, 8);
		part[i] *= SPREAD;
	}
	wipe(key, sizeof(key));
}

/* The kernel reads, so that a mapping that another thread shrinks meanwhile is not the end of us. */
__attribute__((no_sanitize("address", "thread", "undefined")))
static unsigned int look_at(int mem, uintptr_t from, uintptr_t to, const uint64_t *part, uint8_t *page,
			    const char *what)
{
	unsigned int hits = 0, i;
	uint64_t v = 0, spread;
	ssize_t n, k;

	/* Eight bytes that end at each byte, across the ends of what is read at once. */
	for (; from < to; from += (uintptr_t)n) {
		n = pread(mem, page, to - from < LOOK ? to - from : LOOK, (off_t)from);
		if (n <= 0)
			break;
		for (k = 0; k < n; k++) {
			v = v >> 8 | (uint64_t)page[k] << 56;
			spread = v * SPREAD;
			for (i = 0; i < NPARTS; i++)
				if (spread == part[i]) {
					hits++;
					if (what)
						print_error("part %u at %#" PRIxPTR " in %s", i,
							    from + (uintptr_t)k - 7, what);
				}
		}
	}
	wipe(page, LOOK);
	return hits;
}

/* How many times a part of the key lies in memory; says where if say. */
static unsigned int look(unsigned int seed, int say)
{
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	FILE *maps = fopen("/proc/self/smaps", "re");
	static uint8_t page[LOOK];
	uintptr_t from = 0, to = 0, a, b;
	unsigned int hits = 0;
	uint64_t part[NPARTS];
	char line[512], what[512] = "", perms[8];
	unsigned long rss;

	assert_true(mem >= 0 && maps);
	parts_make(part, seed);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &a, &b, perms) == 3) {
			from = a;
			to = perms[1] == 'w' && b - a <= LARGEST ? b : a;
			memcpy(what, line, sizeof(what));
		} else if (sscanf(line, "Rss: %lu", &rss) == 1 && rss) {
			hits += look_at(mem, from, to, part, page, say ? what : NULL);
		}
	}
	fclose(maps);
	close(mem);
	return hits;
}

static struct accel_plan *seal_plan(struct accel_ctx *ctx, struct accel_dev *dev, unsigned int seed, bool open_it,
				    uint16_t alg, enum accel_policy policy)
{
	struct accel_plan *plan = plan_of(ctx);
	uint8_t key[8 * NPARTS];
	bool aead = alg != ACCEL_AES_XTS;
	int ret;

	key_make(key, seed);
	ret = open_it ? accel_plan_decrypt(plan, alg, key, sizeof(key), aead ? 16 : 0, aead ? 0 : 512)
		      : accel_plan_encrypt(plan, alg, key, sizeof(key), aead ? 16 : 0, aead ? 0 : 512);
	wipe(key, sizeof(key));
	assert_int_equal(ret, 0);
	assert_int_equal(accel_plan_policy(plan, policy, 0, 0), 0);
	assert_int_equal(accel_plan_seal(plan, dev), 0);
	return plan;
}

/*
 * What calls have left below the stack pointer of the caller's thread, registers that the dynamic linker saved
 * among it, is the caller's to overwrite.
 */
__attribute__((noinline))
static void clear_stack(void)
{
	uint8_t below[65536];

	wipe(below, sizeof(below));
}

/* Gone within the time in which engines that have nothing to do let go of their keys, and some. */
static void assert_gone(unsigned int seed)
{
	int i;

	clear_stack();
	for (i = 0; i < 10 && look(seed, 0); i++)
		sleep_ms(100);
	assert_int_equal(look(seed, 1), 0);
}

static uint8_t in[20480], out[20480], back[20480], tag[16];

static void run_once(struct accel_dev *dev, struct accel_plan *plan, bool aead, const void *from, void *to,
		     const uint8_t *check, uint32_t want)
{
	struct accel_params params = ACCEL_INIT(struct accel_params);
	static const uint8_t iv[16] = "an iv of sixteen";
	struct accel_result r;

	params.stage[0].iv = iv;
	params.stage[0].iv_len = aead ? 12 : 16;
	params.stage[0].tag = check;
	params.stage[0].tag_len = check ? 16 : 0;
	assert_int_equal(accel_run(dev, plan, from, sizeof(in), to, sizeof(in), &params, 10000, &r), 0);
	assert_int_equal(r.status, want);
	if (aead && !check)
		memcpy(tag, r.result[0], 16);
}

/* Both directions and a failure, then everything but context and device is let go. */
static void through(const char *name, enum accel_policy policy, uint16_t alg, unsigned int seed)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, name);
	struct accel_plan *seal = seal_plan(ctx, dev, seed, false, alg, policy);
	struct accel_plan *open_it = seal_plan(ctx, dev, seed, true, alg, policy);
	bool aead = alg != ACCEL_AES_XTS;

	fill_text(in, sizeof(in));
	run_once(dev, seal, aead, in, out, NULL, ACCEL_ST_OK);
	run_once(dev, open_it, aead, out, back, aead ? tag : NULL, ACCEL_ST_OK);
	assert_memory_equal(in, back, sizeof(in));
	if (aead) {
		tag[3] ^= 1;
		run_once(dev, open_it, aead, out, back, tag, ACCEL_ST_AUTH_FAILED);
	}
	/* The plans have it: whoever finds nothing now does not look well. */
	assert_true(look(seed, 0) >= 2 * NPARTS);
	accel_plan_unref(seal);
	accel_plan_unref(open_it);
	assert_gone(seed);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
	assert_gone(seed);
}

static void through_all(const char *name, enum accel_policy policy, unsigned int seed)
{
	through(name, policy, ACCEL_AES_GCM, seed);
	through(name, policy, ACCEL_AES_XTS, seed + 1);
	through(name, policy, ACCEL_CHACHA20_POLY1305, seed + 2);
}

static void test_workers(void **state)
{
	(void)state;
	through_all("soft:threads=2", ACCEL_DEVICE_ONLY, 10);
}

static void test_callers_thread(void **state)
{
	(void)state;
	through_all("soft:threads=0", ACCEL_DEVICE_ONLY, 20);
}

static void test_cpu(void **state)
{
	(void)state;
	through_all("soft:threads=1", ACCEL_CPU_ONLY, 30);
}

/* Jobs that nobody waits for, a queue that goes with them in flight, and the lease's end. */
static void test_dropped_queue(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=1");
	struct accel_plan *plan = seal_plan(ctx, dev, 4, false, ACCEL_AES_GCM, ACCEL_DEVICE_ONLY);
	struct accel_lease *lease = lease_new(dev, 8, 0, 0);
	struct accel_queue *q = queue_of(lease, 8);
	struct iovec vin = { in, sizeof(in) }, vout[8];
	static uint8_t outs[8][sizeof(in)];
	struct accel_params params = ACCEL_INIT(struct accel_params);
	struct accel_job job[8];
	int i;

	(void)state;
	params.stage[0].iv = (const uint8_t *)"twelve bytes";
	params.stage[0].iv_len = 12;
	for (i = 0; i < 8; i++) {
		job[i] = (struct accel_job)ACCEL_INIT(struct accel_job);
		vout[i] = (struct iovec){ outs[i], sizeof(outs[i]) };
		job[i].plan = plan;
		job[i].params = &params;
		job[i].in = &vin;
		job[i].out = &vout[i];
		job[i].nin = job[i].nout = 1;
	}
	assert_int_equal(accel_queue_submit(q, job, 8), 8);
	accel_plan_unref(plan);
	accel_queue_free(q);
	accel_lease_release(lease);
	assert_gone(4);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* The calls of one line make and drop a plan each. */
static void test_one_line(void **state)
{
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev = dev_open(ctx, "soft:threads=2");
	uint8_t key[8 * NPARTS];
	int ret;

	(void)state;
	key_make(key, 5);
	ret = accel_aes_gcm_seal(dev, key, sizeof(key), (const uint8_t *)"twelve bytes", NULL, 0, in, sizeof(in),
				 out, tag, 10000);
	wipe(key, sizeof(key));
	assert_int_equal(ret, 0);
	assert_gone(5);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

#if defined(__SANITIZE_THREAD__)
int main(void)
{
	(void)test_workers;
	(void)test_callers_thread;
	(void)test_cpu;
	(void)test_dropped_queue;
	(void)test_one_line;
	puts("1..1");
	puts("ok 1 - keys # SKIP ThreadSanitizer keeps gigabytes of what threads have touched, too much to search");
	return 0;
}
#else
/*
 * The dynamic linker saves all registers on the stack when it looks up a function at its first call, and this program's
 * own copy of a key may be in one: everything is looked up before.
 */
static void bind_now(char **argv)
{
	if (getenv("LD_BIND_NOW"))
		return;
	setenv("LD_BIND_NOW", "1", 1);
	execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	(void)argc;
	bind_now(argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_callers_thread),
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_dropped_queue),
		cmocka_unit_test(test_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
