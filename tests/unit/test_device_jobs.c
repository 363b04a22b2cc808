// SPDX-License-Identifier: BSD-2-Clause
/* Where a device runs its jobs: in the submitting thread, in threads of its own, in both; and how it ends. */
#include "test_device_util.h"

#define NTHREAD 4
#define NROUND 400

/* ---- Here ---- */

/* Small jobs are over when device_submit() returns, in this thread, and no other one was started for them. */
static void here(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .threads = 2, .slots = 4, .here_nbytes = 8192 };
	struct device *dev = dev_new(&opts);
	unsigned int before = threads_now(), i;
	struct client c;
	struct work w;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 4, 0), 0);
	work_init(&w, &c, c.slot0, 65536, 65536);
	for (i = 0; i < 100; i++) {
		w.in[0] = (uint8_t)i;
		work_crc(&w, 4096, i & 1 ? MODEL_CMD_BORROW : 0);
		work_submit(&w);
		assert_int_equal(cmd_is_done(&w.w), 1);
		assert_int_equal(cmd_is_done(&w.r), 1);
		assert_true(pthread_equal(w.r.by, pthread_self()));
		assert_int_equal(work_status(&w).code, NVME_ACCEL_OK);
		assert_int_equal(le32_get(work_status(&w).result[0]), base_crc32c(0, w.in, 4096));
	}
	work_copy(&w, 4096, MODEL_CMD_BORROW);		/* 8192 in all: still small */
	work_submit(&w);
	assert_int_equal(cmd_is_done(&w.r), 1);
	assert_memory_equal(w.out + 512, w.in, 4096);
	assert_int_equal(threads_now(), before);
	work_copy(&w, 4097, MODEL_CMD_BORROW);
	work_submit(&w);
	assert_int_equal(work_wait(&w).code, NVME_ACCEL_OK);
	assert_false(pthread_equal(w.r.by, pthread_self()));
	assert_int_equal(threads_now(), before + 1);
	work_free(&w);
	device_free(dev);
	assert_int_equal(threads_now(), before);
}

static bool ran_here(struct work *w, uint16_t op, uint16_t alg, uint32_t level, size_t n, size_t out)
{
	work_make(w, op, alg, level, n, out, NVME_ACCEL_JOB_COMPLETE_ON_DONE, MODEL_CMD_BORROW);
	work_submit(w);
	work_wait(w);
	return pthread_equal(w->r.by, pthread_self());
}

/* Small in bytes is not small in time. */
static void here_by_weight(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .threads = 1, .slots = 1, .here_nbytes = 8192 };
	struct device *dev = dev_new(&opts);
	struct client c;
	struct work w;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 1, 0), 0);
	work_init(&w, &c, c.slot0, 8192, 8192);
	assert_true(ran_here(&w, NVME_ACCEL_OP_DIGEST, NVME_ACCEL_ALG_SHA256, 0, 8192, 0));
	assert_true(ran_here(&w, NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, 1, 512, 1024));
	assert_false(ran_here(&w, NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, 1, 2048, 1024));
	assert_false(ran_here(&w, NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, 2, 512, 1024));
	assert_true(ran_here(&w, NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_GZIP, 0, 512, 1024));
	assert_false(ran_here(&w, NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_GZIP, 0, 512, 7000));
	work_free(&w);
	device_free(dev);
}

/* Several in one turn, in order, beside one that is not small. */
static void here_batch(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .threads = 1, .slots = 8, .here_nbytes = 4096 };
	struct device *dev = dev_new(&opts);
	struct device_cmd *cmds[16];
	struct client c;
	struct work w[8];
	unsigned int i;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 8, 0), 0);
	for (i = 0; i < 8; i++) {
		work_init(&w[i], &c, c.slot0 + i, 65536, 65536);
		memset(w[i].in, (int)i + 1, 65536);
		if (i == 3)
			work_copy(&w[i], 65536, MODEL_CMD_BORROW);
		else
			work_crc(&w[i], 4096, MODEL_CMD_BORROW);
		cmds[2 * i] = &w[i].r.d;
		cmds[2 * i + 1] = &w[i].w.d;
	}
	device_submit(dev, cmds, 16);
	for (i = 0; i < 8; i++) {
		if (i == 3)
			continue;
		assert_int_equal(cmd_is_done(&w[i].r), 1);
		assert_int_equal(le32_get(work_status(&w[i]).result[0]), base_crc32c(0, w[i].in, 4096));
	}
	assert_int_equal(work_wait(&w[3]).code, NVME_ACCEL_OK);
	assert_memory_equal(w[3].out + 512, w[3].in, 65536);
	for (i = 0; i < 8; i++)
		work_free(&w[i]);
	device_free(dev);
}

/* Without threads whoever submits runs everything. */
static void no_threads(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .slots = 1 };
	struct device *dev = dev_new(&opts);
	unsigned int before = threads_now();
	struct client c;
	struct work w;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 1, 0), 0);
	work_init(&w, &c, c.slot0, 1 << 20, 1 << 20);
	memset(w.in, 'x', 1 << 20);
	work_copy(&w, 1 << 20, MODEL_CMD_BORROW);
	work_submit(&w);
	assert_int_equal(cmd_is_done(&w.r), 1);
	assert_memory_equal(w.out + 512, w.in, 1 << 20);
	assert_int_equal(threads_now(), before);
	work_free(&w);
	device_free(dev);
}

/* ---- Threads ---- */

struct user {
	pthread_t thread;
	struct client *c;
	uint32_t slot;
	unsigned int seed, rounds, wrong;
	uint32_t *stop;
};

/* Jobs of random sizes, so that some are small, each with a result of its own. */
static void *user_main(void *arg)
{
	struct user *u = arg;
	struct work w;
	unsigned int i;

	work_init(&w, u->c, u->slot, 65536, 65536);
	for (i = 0; i < u->rounds; i++) {
		size_t n = (size_t)(rand_r(&u->seed) % 16384 + 1);
		uint32_t flags = rand_r(&u->seed) & 1 ? MODEL_CMD_BORROW : 0;

		memset(w.in, rand_r(&u->seed), n);
		if (rand_r(&u->seed) & 1)
			work_crc(&w, n, flags);
		else
			work_copy(&w, n, flags);
		memset(w.out, 0xee, 512 + n);
		work_submit(&w);
		cmd_wait(&w.w);
		cmd_wait(&w.r);
		if (w.w.sc || work_status(&w).state != NVME_ACCEL_ST_DONE)
			u->wrong++;
		else if (w.r.d.m.nbytes > 512 ? memcmp(w.out + 512, w.in, n) != 0
					      : le32_get(work_status(&w).result[0]) != base_crc32c(0, w.in, n))
			u->wrong++;
	}
	work_free(&w);
	return NULL;
}

static void many(unsigned int threads, uint32_t here_nbytes)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .threads = threads, .slots = NTHREAD,
					  .here_nbytes = here_nbytes };
	struct device *dev = dev_new(&opts);
	struct user u[NTHREAD];
	struct client c;
	unsigned int i;

	assert_int_equal(client_init(&c, dev, 1, 0, 0, NTHREAD, 60000), 0);
	memset(u, 0, sizeof(u));
	for (i = 0; i < NTHREAD; i++) {
		u[i].c = &c;
		u[i].slot = c.slot0 + i;
		u[i].seed = i + 1;
		u[i].rounds = NROUND;
		assert_int_equal(pthread_create(&u[i].thread, NULL, user_main, &u[i]), 0);
	}
	for (i = 0; i < NTHREAD; i++) {
		pthread_join(u[i].thread, NULL);
		assert_int_equal(u[i].wrong, 0);
	}
	device_free(dev);
}

static void workers(void **state)
{
	(void)state;
	many(2, 0);
}

static void workers_and_here(void **state)
{
	(void)state;
	many(2, 8192);
}

static void nobody_but_users(void **state)
{
	(void)state;
	many(0, 0);
}

/* Threads end when told to and come back with the next job. */
static void rest(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .threads = 2, .slots = 1 };
	struct device *dev = dev_new(&opts);
	unsigned int before = threads_now(), i;
	struct client c;
	struct work w;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 1, 0), 0);
	work_init(&w, &c, c.slot0, 4096, 4096);
	for (i = 0; i < 3; i++) {
		work_crc(&w, 4096, MODEL_CMD_BORROW);
		work_submit(&w);
		assert_int_equal(work_wait(&w).code, NVME_ACCEL_OK);
		assert_int_equal(threads_now(), before + 1);
		device_rest(dev);
		assert_int_equal(threads_now(), before);
	}
	work_free(&w);
	device_free(dev);
}

/* ---- The end ---- */

/* What runs, what waits and what is held ends soon; everything is answered once; nothing is taken any more. */
static void stop_busy(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .threads = 1, .slots = 5 };
	struct device *dev = dev_new(&opts);
	struct client c;
	struct work w[4];
	struct cmd held;
	struct device_cmd *cmds[9];
	uint8_t block[512];
	uint64_t start;
	unsigned int i, aborted = 0;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 5, 0), 0);
	for (i = 0; i < 4; i++) {
		work_init(&w[i], &c, c.slot0 + i, 2 << 20, 3 << 20);
		work_long(&w[i], MODEL_CMD_BORROW);
		cmds[2 * i] = &w[i].r.d;
		cmds[2 * i + 1] = &w[i].w.d;
	}
	cmd_set(&held, dev, MODEL_READ, wire_wait_addr(&c.id, c.slot0 + 4, 1), block, 512, 0);
	cmds[8] = &held.d;
	device_submit(dev, cmds, 9);
	assert_int_equal(cmd_is_done(&held), 0);
	assert_true(device_held(dev) > 1);
	start = wait_now_ns();
	device_stop(dev);
	assert_true(wait_now_ns() - start < 20000 * MS);
	assert_int_equal(cmd_is_done(&held), 1);
	assert_int_equal(held.sc, MODEL_SC_ABORTED);
	for (i = 0; i < 4; i++) {
		assert_int_equal(cmd_is_done(&w[i].w), 1);
		assert_int_equal(cmd_is_done(&w[i].r), 1);
		aborted += w[i].w.sc == MODEL_SC_ABORTED;
		assert_true(w[i].w.sc == MODEL_SC_ABORTED || w[i].w.sc == 0);
	}
	assert_true(aborted > 0);
	assert_int_equal(io(dev, MODEL_READ, c.id.info_off, block, 512, 0), MODEL_SC_NOT_READY);
	device_stop(dev);
	assert_true(device_tick(dev) == UINT64_MAX);
	for (i = 0; i < 4; i++)
		work_free(&w[i]);
	device_free(dev);
}

static void *pusher_main(void *arg)
{
	struct user *u = arg;
	struct work w;

	work_init(&w, u->c, u->slot, 32768, 32768);
	while (!__atomic_load_n(u->stop, __ATOMIC_ACQUIRE)) {
		work_copy(&w, rand_r(&u->seed) & 1 ? 2048 : 32768, MODEL_CMD_BORROW);
		work_submit(&w);
		cmd_wait(&w.w);
		cmd_wait(&w.r);
		if (w.w.sc != 0 && w.w.sc != MODEL_SC_NOT_READY && w.w.sc != MODEL_SC_ABORTED)
			u->wrong++;
		__atomic_add_fetch(&u->rounds, 1, __ATOMIC_RELAXED);
	}
	work_free(&w);
	return NULL;
}

/* Until it has done some more jobs; false: it has not within a minute. */
static bool goes_on(struct user *u)
{
	unsigned int from = __atomic_load_n(&u->rounds, __ATOMIC_RELAXED);
	uint64_t end = wait_now_ns() + WAIT_NS;

	while (__atomic_load_n(&u->rounds, __ATOMIC_RELAXED) < from + 3 && wait_now_ns() < end)
		nanosleep(&(struct timespec){ 0, MS }, NULL);
	return wait_now_ns() < end;
}

/* While others go on submitting. Nothing is asserted before their threads have ended, as they use what is here. */
static void stop_under_load(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .threads = 2, .slots = NTHREAD, .here_nbytes = 8192 };
	struct user u[NTHREAD];
	unsigned int i, k, idle;
	uint32_t stop;

	(void)state;
	for (k = 0; k < 5; k++) {
		struct device *dev = dev_new(&opts);
		struct client c;

		assert_int_equal(client_init(&c, dev, 1, 0, 0, NTHREAD, 0), 0);
		memset(u, 0, sizeof(u));
		stop = 0;
		for (i = 0; i < NTHREAD; i++) {
			u[i] = (struct user){ .c = &c, .slot = c.slot0 + i, .seed = i + 1, .stop = &stop };
			assert_int_equal(pthread_create(&u[i].thread, NULL, pusher_main, &u[i]), 0);
		}
		for (i = idle = 0; i < NTHREAD; i++)
			idle += !goes_on(&u[i]);
		device_stop(dev);
		for (i = 0; i < NTHREAD; i++)
			idle += !goes_on(&u[i]);
		__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
		for (i = 0; i < NTHREAD; i++)
			pthread_join(u[i].thread, NULL);
		assert_int_equal(idle, 0);
		for (i = 0; i < NTHREAD; i++)
			assert_int_equal(u[i].wrong, 0);
		device_free(dev);
	}
}

/* ---- Cut off ---- */

/* One round of cancel_waiting(); false: the engine was faster. */
static bool cancelled_waiting(struct device *dev, struct work *first, struct work *second)
{
	bool w, r;

	work_long(first, MODEL_CMD_BORROW);
	memset(second->in, 0x5a, 65536);
	work_copy(second, 65536, MODEL_CMD_BORROW);
	work_submit(first);
	work_submit(second);
	w = device_cancel(dev, &second->w.d);
	r = device_cancel(dev, &second->r.d);
	if (cmd_is_done(&first->r)) {
		work_wait(first);
		cmd_wait(&second->w);
		cmd_wait(&second->r);
		return false;
	}
	assert_true(w && r);
	assert_int_equal(cmd_is_done(&second->w), 1);
	assert_int_equal(cmd_is_done(&second->r), 1);
	assert_int_equal(second->w.sc, MODEL_SC_ABORTED);
	assert_int_equal(second->r.sc, MODEL_SC_ABORTED);
	memset(second->in, 0, 65536);
	assert_int_equal(work_wait(first).code, NVME_ACCEL_OK);
	return true;
}

/* The engine has another job: what is lent to one that waits comes back at once, and the job is done all the same. */
static void cancel_waiting(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .threads = 1, .slots = 2 };
	struct device *dev = dev_new(&opts);
	struct work first, second;
	unsigned int round;
	struct client c;
	size_t i;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 2, 60000), 0);
	work_init(&first, &c, c.slot0, 1 << 20, 2 << 20);
	work_init(&second, &c, c.slot0 + 1, 65536, 65536);
	for (round = 0; round < 20; round++)
		if (cancelled_waiting(dev, &first, &second))
			break;
	assert_true(round < 20);
	while (work_look(&second).state < NVME_ACCEL_ST_DONE)
		nanosleep(&(struct timespec){ 0, MS }, NULL);
	assert_int_equal(io(dev, MODEL_READ, wire_slot_addr(&c.id, second.slot, second.seq, 1) + 512, second.out, 65536,
			    0), 0);
	for (i = 0; i < 65536; i++)
		assert_int_equal(second.out[i], 0x5a);
	work_free(&first);
	work_free(&second);
	device_free(dev);
}

/* The engine has it: the job is stopped, says that it is worth another try, and the commands end with it. */
static void cancel_running(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .threads = 1, .slots = 1 };
	struct device *dev = dev_new(&opts);
	unsigned int round;
	struct client c;
	bool cut = false;
	struct work w;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 1, 60000), 0);
	work_init(&w, &c, c.slot0, 3 << 20, (4 << 20) - 1024);
	for (round = 0; round < 20 && !cut; round++) {
		work_long(&w, MODEL_CMD_BORROW);
		work_submit(&w);
		while (work_look(&w).state < NVME_ACCEL_ST_RUNNING)
			nanosleep(&(struct timespec){ 0, MS / 10 }, NULL);
		cut = device_cancel(dev, &w.r.d);
		cmd_wait(&w.r);
		cmd_wait(&w.w);
		assert_int_equal(w.w.sc, 0);
		assert_int_equal(w.r.sc, cut ? MODEL_SC_ABORTED : 0);
	}
	assert_true(cut);
	/* If the engine was faster than the stop, the result has gone with the read. */
	if (work_look(&w).state == NVME_ACCEL_ST_DONE)
		assert_int_equal(work_look(&w).flags & NVME_ACCEL_SF_OUTPUT_VALID, 0);
	else
		assert_int_equal(work_look(&w).code, NVME_ACCEL_DATA_MISSING);
	work_free(&w);
	device_free(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(here), cmocka_unit_test(here_by_weight),
		cmocka_unit_test(here_batch), cmocka_unit_test(no_threads),
		cmocka_unit_test(workers), cmocka_unit_test(workers_and_here), cmocka_unit_test(nobody_but_users),
		cmocka_unit_test(rest), cmocka_unit_test(stop_busy), cmocka_unit_test(stop_under_load),
		cmocka_unit_test(cancel_waiting), cmocka_unit_test(cancel_running),
	};

	return cmocka_run_group_tests_name("device_jobs", tests, NULL, NULL);
}
