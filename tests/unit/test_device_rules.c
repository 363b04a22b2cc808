// SPDX-License-Identifier: BSD-2-Clause
/* What a device adds to the model: identity, limits, the clock, hosts, pairs of commands, keys that are forgotten. */
#include "test_device_util.h"

static void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

/* ---- Identity ---- */

static struct wire_id id_of(const struct device_opts *opts)
{
	struct device *dev = dev_new(opts);
	uint8_t page[NVME_ACCEL_PAGE];
	struct wire_id id;

	device_identify(dev, page);
	assert_int_equal(wire_id_decode(&id, page), WIRE_OK);
	device_free(dev);
	return id;
}

static void identity(void **state)
{
	static const uint8_t uuid[16] = "sixteen bytes id";
	struct device_opts opts = { .kind = 3, .threads = 2, .slots = 7 };
	struct wire_id id = id_of(&opts), again = id_of(&opts);

	(void)state;
	assert_string_equal(id.name, "software cipher");
	assert_memory_equal(id.uuid, again.uuid, 16);
	assert_int_equal(id.nmic, 0);
	assert_int_equal(id.lbadsx, 9);
	assert_int_equal(id.nslot, 7);
	assert_int_equal(id.neng, 2);
	assert_int_equal(id.feat & NVME_ACCEL_FEAT_HOST_LEASES, 0);
	opts.lbads = 12;
	opts.host_leases = opts.shared = true;
	opts.name = "left rack";
	opts.uuid = uuid;
	id = id_of(&opts);
	assert_string_equal(id.name, "left rack");
	assert_memory_equal(id.uuid, uuid, 16);
	assert_int_equal(id.nmic, 1);
	assert_int_equal(id.lbadsx, 12);
	assert_true(id.feat & NVME_ACCEL_FEAT_HOST_LEASES);
	assert_true(id.maxin >= 4u << 20);
}

static void refused_options(void **state)
{
	const struct device_opts bad[] = {
		{ .kind = 0, .slots = 1 }, { .kind = DEVICE_KINDS + 1, .slots = 1 }, { .kind = 1 },
		{ .kind = 1, .slots = DEVICE_MAX_SLOTS + 1 }, { .kind = 1, .slots = 1, .lbads = 10 },
		{ .kind = 1, .slots = 1, .threads = DEVICE_MAX_THREADS + 1 },
	};
	struct device *dev;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(device_new(&bad[i], &dev), -EINVAL);
}

static void kinds(void **state)
{
	unsigned int k;

	(void)state;
	assert_null(device_kind_name(0));
	assert_null(device_kind_name(DEVICE_KINDS + 1));
	for (k = 1; k <= DEVICE_KINDS; k++)
		assert_non_null(device_kind_name(k));
	assert_int_equal(device_kind("compression"), 1);
	assert_int_equal(device_kind("all"), DEVICE_ALL);
	assert_int_equal(device_kind("erasur"), 0);
	assert_int_equal(device_kind(""), 0);
}

/* Jobs with blocks of 4096 bytes. */
static void large_blocks(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .slots = 1, .lbads = 12 };
	struct device *dev = dev_new(&opts);
	struct client c;
	struct work w;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 1, 0), 0);
	work_init(&w, &c, c.slot0, 65536, 65536);
	memset(w.in, 'y', 65536);
	work_copy(&w, 10000, MODEL_CMD_BORROW);
	work_submit(&w);
	assert_int_equal(work_wait(&w).code, NVME_ACCEL_OK);
	assert_memory_equal(w.out + 4096, w.in, 10000);
	work_free(&w);
	device_free(dev);
}

/* ---- Memory ---- */

static void memory_limit(void **state)
{
	uint64_t memory = 0, slot;
	struct device_opts opts = { .kind = DEVICE_ALL, .slots = 8, .memory = &memory };
	struct device *a, *b;
	struct client c, d;

	(void)state;
	opts.max_memory = 1ull << 40;
	a = dev_new(&opts);
	assert_int_equal(client_init(&c, a, 1, 0, 0, 1, 0), 0);
	slot = memory;
	assert_true(slot >= 8u << 20);
	client_release(&c);
	assert_int_equal(memory, 0);
	device_free(a);

	opts.max_memory = 3 * slot + slot / 2;
	a = dev_new(&opts);
	b = dev_new(&opts);
	assert_int_equal(client_init(&c, a, 1, 0, 0, 2, 0), 0);
	/* Two more would be four in all; the refusal leaves nothing behind. */
	assert_int_equal(client_init(&d, b, 2, 0, 0, 2, 0), NVME_ACCEL_REFUSED_MEMORY);
	assert_int_equal(memory, 2 * slot);
	assert_int_equal(client_init(&d, b, 2, 0, 0, 1, 0), 0);
	assert_int_equal(memory, 3 * slot);
	client_release(&c);
	assert_int_equal(memory, slot);
	device_free(a);
	device_free(b);
	assert_int_equal(memory, 0);
}

static void memory_limit_own(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .slots = 8, .max_memory = 1 << 20 };
	struct device *dev = dev_new(&opts);
	struct client c;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 1, 0), NVME_ACCEL_REFUSED_MEMORY);
	device_free(dev);
}

/* ---- Hosts ---- */

/* FEAT.7: a lease and its slots are its host's, whoever knows the nonce. */
static void hosts(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .slots = 4, .host_leases = true };
	struct device *dev = dev_new(&opts);
	struct client c, other, thief;
	struct work w, x;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 100, 0, 2, 0), 0);
	assert_int_equal(client_init(&other, dev, 2, 200, 1, 2, 0), 0);
	thief = c;
	thief.host = 200;
	work_init(&w, &c, c.slot0, 4096, 4096);
	work_init(&x, &thief, c.slot0, 4096, 4096);
	work_crc(&x, 4096, MODEL_CMD_BORROW);
	work_submit(&x);
	assert_int_equal(x.w.sc, ACCESS);
	assert_int_equal(x.r.sc, ACCESS);
	lease_op(&thief, NVME_ACCEL_LEASE_RELEASE, 0, 0);
	assert_int_equal(lease_of(&c).state, NVME_ACCEL_LEASE_HELD);
	work_crc(&w, 4096, MODEL_CMD_BORROW);
	work_submit(&w);
	assert_int_equal(work_wait(&w).code, NVME_ACCEL_OK);
	assert_int_equal(io(dev, MODEL_READ, wire_slot_addr(&c.id, c.slot0, 1, 1), x.out, 512, 200), ACCESS);
	assert_int_equal(io(dev, MODEL_WRITE, wire_slot_addr(&c.id, c.slot0, 1, 0) + 512, x.in, 512, 200), ACCESS);
	work_free(&w);
	work_free(&x);
	device_free(dev);
}

/* ---- Pairs and holds ---- */

static void held_limit(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .slots = 4, .max_held = 2 };
	struct device *dev = dev_new(&opts);
	struct cmd r[3];
	uint8_t block[3][512];
	struct client c;
	unsigned int i;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 4, 0), 0);
	for (i = 0; i < 3; i++) {
		cmd_set(&r[i], dev, MODEL_READ, wire_wait_addr(&c.id, c.slot0 + i, 1), block[i], 512, 0);
		cmd_submit(&r[i]);
		assert_int_equal(cmd_is_done(&r[i]), i == 2);
	}
	assert_int_equal(device_held(dev), 2);
	device_stop(dev);
	assert_int_equal(cmd_is_done(&r[0]) + cmd_is_done(&r[1]), 2);
	device_free(dev);
}

/* A write that is refused ends the read that was sent for it, though it is held where no host rule reaches. */
static void pair(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .slots = 2 };
	struct device *dev = dev_new(&opts);
	struct client c;
	struct work w;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 2, 0), 0);
	work_init(&w, &c, c.slot0, 4096, 4096);
	work_crc(&w, 4096, MODEL_CMD_BORROW | MODEL_CMD_LOCAL);
	w.w.d.m.off = wire_slot_addr(&c.id, 1, 1, 1);	/* a read half */
	w.w.d.pair = &w.r.d;
	work_submit(&w);
	assert_int_equal(cmd_is_done(&w.w), 1);
	assert_int_equal(w.w.sc, MODEL_SC_INVALID_FIELD);
	assert_int_equal(cmd_is_done(&w.r), 1);
	assert_int_equal(w.r.sc, MODEL_SC_ABORTED);
	/* One that is taken leaves it alone. */
	w.seq = 0;
	work_crc(&w, 4096, MODEL_CMD_BORROW | MODEL_CMD_LOCAL);
	w.w.d.pair = &w.r.d;
	work_submit(&w);
	assert_int_equal(work_wait(&w).code, NVME_ACCEL_OK);
	work_free(&w);
	device_free(dev);
}

/* ---- The clock ---- */

static void ticks(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .slots = 1 };
	struct device *dev = dev_new(&opts);
	uint8_t block[512];
	struct client c;
	struct cmd r;
	uint64_t due, now;

	(void)state;
	assert_true(device_tick(dev) == UINT64_MAX);
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 1, 3000), 0);
	now = wait_now_ns();
	due = device_tick(dev);
	assert_true(due > now && due <= now + 3000 * MS);
	/* A held read brings it forward, and ends by it alone. */
	cmd_set(&r, dev, MODEL_READ, wire_wait_addr(&c.id, c.slot0, 1), block, 512, 0);
	cmd_submit(&r);
	now = wait_now_ns();
	due = device_tick(dev);
	assert_true(due <= now + 1000 * MS);
	while (wait_now_ns() < due) {
		assert_int_equal(cmd_is_done(&r), 0);
		sleep_ms(20);
	}
	due = device_tick(dev);
	assert_int_equal(cmd_is_done(&r), 1);
	assert_int_equal(r.sc, 0);
	/* Then the lease is next. */
	while (wait_now_ns() < due)
		sleep_ms(50);
	assert_true(device_tick(dev) == UINT64_MAX);
	assert_int_equal(lease_of(&c).state, NVME_ACCEL_LEASE_FREE);
	device_free(dev);
}

/* With threads nobody else needs to tick. */
static void ticks_of_threads(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .slots = 2, .threads = 1 };
	struct device *dev = dev_new(&opts);
	uint8_t block[512];
	struct client c;
	struct work w;
	struct cmd r;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 2, 0), 0);
	cmd_set(&r, dev, MODEL_READ, wire_wait_addr(&c.id, c.slot0, 1), block, 512, 0);
	cmd_submit(&r);
	work_init(&w, &c, c.slot0 + 1, 4096, 4096);
	work_crc(&w, 4096, MODEL_CMD_BORROW);
	work_submit(&w);
	work_wait(&w);
	cmd_wait(&r);
	assert_int_equal(r.sc, 0);
	work_free(&w);
	device_free(dev);
}

/* ---- Keys ---- */

/* An engine that ran a job with a key here is to be looked at in a tenth of a second, and then no more. */
static void keys_forgotten(void **state)
{
	const struct device_opts opts = { .kind = DEVICE_ALL, .slots = 1, .threads = 1, .here_nbytes = 16384 };
	struct device *dev = dev_new(&opts);
	struct wire_cipher k = { .key = (const uint8_t *)"a key of thirty-two bytes, or so", .key_len = 32,
				 .iv = (const uint8_t *)"twelve bytes", .iv_len = 12, .tag_len = 16 };
	uint8_t param[128];
	struct wire_desc d;
	struct client c;
	struct work w;
	uint64_t due, now;

	(void)state;
	assert_int_equal(client_init(&c, dev, 1, 0, 0, 1, 0), 0);
	work_init(&w, &c, c.slot0, 4096, 4096);
	work_make(&w, NVME_ACCEL_OP_ENCRYPT, NVME_ACCEL_ALG_AES_GCM, 0, 4096, 4096, 0, 0);
	assert_int_equal(wire_desc_decode(&d, w.desc, 512), WIRE_OK);
	d.stage[0].param = param;
	d.stage[0].param_len = (uint32_t)wire_cipher_encode(&k, 0, param, sizeof(param));
	assert_int_equal(wire_desc_encode(&d, w.desc, 512), WIRE_OK);
	work_submit(&w);
	assert_int_equal(cmd_is_done(&w.r), 1);
	assert_int_equal(work_status(&w).code, NVME_ACCEL_OK);
	now = wait_now_ns();
	due = device_tick(dev);
	assert_true(due <= now + 100 * MS);
	sleep_ms(110);
	assert_true(device_tick(dev) > due);	/* whatever is next for the model */
	work_free(&w);
	device_free(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identity), cmocka_unit_test(refused_options), cmocka_unit_test(kinds),
		cmocka_unit_test(large_blocks), cmocka_unit_test(memory_limit), cmocka_unit_test(memory_limit_own),
		cmocka_unit_test(hosts), cmocka_unit_test(held_limit), cmocka_unit_test(pair),
		cmocka_unit_test(ticks), cmocka_unit_test(ticks_of_threads), cmocka_unit_test(keys_forgotten),
	};

	return cmocka_run_group_tests_name("device_rules", tests, NULL, NULL);
}
