// SPDX-License-Identifier: BSD-2-Clause
/* NoLoad cards: recognised by their model, described by the layout of their firmware, never opened as ours. */
#define _GNU_SOURCE
#include "node_util.h"
#include "../../lib/base/bits.h"

#define PAGE 4096u

struct pages {
	uint8_t ctrl[PAGE], ns[PAGE];
};

static void put_text(uint8_t *p, size_t n, const char *text)
{
	memset(p, ' ', n);
	memcpy(p, text, strlen(text));
}

static void card(struct pages *p, const char *firmware)
{
	memset(p, 0, sizeof(*p));
	put_text(p->ctrl + 4, 20, "NL0001");
	put_text(p->ctrl + 24, 40, "Eideticom NoLoad U2");
	put_text(p->ctrl + 64, 8, firmware);
	/* 2021-06-17 13:05:59 */
	le32_put(p->ctrl + 3072, 17u << 27 | 6u << 23 | 21u << 17 | 13u << 12 | 5u << 6 | 59u);
	le32_put(p->ctrl + 3080, 0x00000107);
}

static void card_v4(struct pages *p)
{
	card(p, "1");
	le32_put(p->ns + 384, 0x7);
	memcpy(p->ns + 384 + 16, "Compression", 11);
	le32_put(p->ns + 384 + 64, 0xcafe0001);
	le32_put(p->ns + 384 + 80, 0x00020003);
}

static void card_v6(struct pages *p)
{
	card(p, "2.1");
	le32_put(p->ns + 384, 5);
	memcpy(p->ns + 384 + 4, "Erasure Coding", 14);
	le32_put(p->ns + 384 + 52, 9);
	le32_put(p->ns + 384 + 56, 0x11);
	le32_put(p->ns + 384 + 252, 2);
	le32_put(p->ns + 384 + 256, 1);
	le32_put(p->ns + 384 + 256 + 20, 4);
	memcpy(p->ns + 384 + 256 + 24, "spec", 4);
	le32_put(p->ns + 384 + 256 + 128 + 4, 3);
	le32_put(p->ns + 384 + 256 + 128 + 8, 8);
	le32_put(p->ns + 384 + 256 + 128 + 20, 0xffffffff);
}

static void test_layouts(void **state)
{
	struct accel_noload n = ACCEL_INIT(struct accel_noload);
	struct pages p;

	(void)state;
	card_v4(&p);
	assert_int_equal(accel_noload_decode(p.ctrl, p.ns, &n), 0);
	assert_int_equal(n.layout, 4);
	assert_string_equal(n.name, "Compression");
	assert_string_equal(n.serial, "NL0001");
	assert_string_equal(n.model, "Eideticom NoLoad U2");
	assert_string_equal(n.firmware, "1");
	assert_int_equal(n.has_lock, 1);
	assert_int_equal(n.lock, 0xcafe0001);
	assert_int_equal(n.version, 0x00020003);
	assert_int_equal(n.status, 7);
	assert_int_equal(n.nengine, 0);
	assert_int_equal(n.hardware_version, 0x107);
	assert_int_equal(n.hardware_built.year, 2021);
	assert_int_equal(n.hardware_built.month, 6);
	assert_int_equal(n.hardware_built.day, 17);
	assert_int_equal(n.hardware_built.hour, 13);
	assert_int_equal(n.hardware_built.minute, 5);
	assert_int_equal(n.hardware_built.second, 59);
	assert_int_equal(n.firmware_built.year, 0);
	card_v6(&p);
	assert_int_equal(accel_noload_decode(p.ctrl, p.ns, &n), 0);
	assert_int_equal(n.layout, 6);
	assert_string_equal(n.name, "Erasure Coding");
	assert_int_equal(n.has_lock, 0);
	assert_int_equal(n.type, 5);
	assert_int_equal(n.version, 9);
	assert_int_equal(n.features, 0x11);
	assert_int_equal(n.nengine, 2);
	assert_int_equal(n.engine[0].status, 1);
	assert_int_equal(n.engine[0].spec_len, 4);
	assert_memory_equal(n.engine[0].spec, "spec", 4);
	assert_int_equal(n.engine[1].job_state, 3);
	assert_int_equal(n.engine[1].handshake, 8);
	assert_int_equal(n.engine[1].spec_len, 104);
}

static void test_refused(void **state)
{
	static const char *const firmware[] = { "", "3", "0", "x", "-1", "99999999" };
	struct accel_noload n = ACCEL_INIT(struct accel_noload);
	struct pages p;
	size_t i;

	(void)state;
	card_v4(&p);
	put_text(p.ctrl + 24, 40, "Some Disk");
	assert_int_equal(accel_noload_decode(p.ctrl, p.ns, &n), -ENODEV);
	for (i = 0; i < sizeof(firmware) / sizeof(firmware[0]); i++) {
		card(&p, firmware[i]);
		assert_int_equal(accel_noload_decode(p.ctrl, p.ns, &n), -ENOTSUP);
		assert_string_equal(n.serial, "NL0001");
		assert_int_equal(n.layout, 0);
	}
	card_v6(&p);
	le32_put(p.ns + 384 + 252, 28);
	assert_int_equal(accel_noload_decode(p.ctrl, p.ns, &n), -EPROTO);
	le32_put(p.ns + 384 + 252, 27);
	assert_int_equal(accel_noload_decode(p.ctrl, p.ns, &n), 0);
	n.size--;
	assert_int_equal(accel_noload_decode(p.ctrl, p.ns, &n), -EINVAL);
}

/* Whatever the bytes are, texts end and counts stay within bounds. */
static void test_garbage(void **state)
{
	struct accel_noload n = ACCEL_INIT(struct accel_noload);
	struct pages p;
	uint32_t x = 1, i;
	int round, ret;

	(void)state;
	for (round = 0; round < 500; round++) {
		for (i = 0; i < sizeof(p); i++) {
			x = x * 1664525u + 1013904223u;
			((uint8_t *)&p)[i] = (uint8_t)(x >> 24);
		}
		memcpy(p.ctrl + 24, "Eideticom", 9);
		p.ctrl[64] = round % 2 ? '1' : '2';
		p.ctrl[65] = 0;
		ret = accel_noload_decode(p.ctrl, p.ns, &n);
		assert_true(ret == 0 || ret == -EPROTO);
		assert_true(strlen(n.name) <= 48 && strlen(n.model) <= 40 && strlen(n.serial) <= 20);
		assert_true(n.nengine <= ACCEL_NOLOAD_ENGINES);
	}
}

static void put_page(const struct tree *t, const char *path, const uint8_t *page, size_t n)
{
	char full[256];
	FILE *f;

	tree_put(t, path, "");
	snprintf(full, sizeof(full), "%s/%s", t->root, path);
	f = fopen(full, "w");
	assert_int_equal(fwrite(page, 1, n, f), n);
	fclose(f);
}

static void hear(void *arg, enum accel_log_level level, const char *message)
{
	(void)level;
	snprintf(arg, 256, "%s", message);
}

/* A system with a card beside a disk, as kept by somebody in files. */
static void test_system(void **state)
{
	struct accel_ctx_opts opts = ACCEL_INIT(struct accel_ctx_opts);
	struct accel_noload n = ACCEL_INIT(struct accel_noload);
	char paths[4][ACCEL_NOLOAD_PATH], said[256] = "";
	struct accel_ctx *ctx;
	struct accel_dev *dev;
	struct accel_list *list;
	struct pages p;
	struct tree t;

	(void)state;
	tree_new(&t);
	card_v4(&p);
	tree_put(&t, "sys/class/nvme/nvme0/model", "Some Disk\n");
	tree_put(&t, "sys/class/nvme/nvme0/nvme0n1/dev", "259:0\n");
	tree_put(&t, "sys/class/nvme/nvme1/model", "Eideticom NoLoad U2                     \n");
	tree_put(&t, "sys/class/nvme/nvme1/nvme1n1/dev", "259:1\n");
	put_page(&t, "dev/nvme1n1/identify-controller", p.ctrl, PAGE);
	put_page(&t, "dev/nvme1n1/identify-namespace", p.ns, PAGE);
	tree_put(&t, "dev/nvme0n1", "a disk");
	opts.root = t.root;
	opts.flags = ACCEL_CTX_NO_SOFT;
	assert_int_equal(accel_ctx_new(&opts, &ctx), 0);
	accel_ctx_set_log(ctx, hear, said, ACCEL_LOG_INFO);
	assert_int_equal(accel_noload_list(ctx, paths, 4), 1);
	assert_string_equal(paths[0], "/dev/nvme1n1");
	assert_int_equal(accel_noload_list(ctx, NULL, 0), 1);
	assert_int_equal(accel_noload_info(ctx, paths[0], &n), 0);
	assert_string_equal(n.path, "/dev/nvme1n1");
	assert_string_equal(n.name, "Compression");
	assert_int_equal(accel_noload_info(ctx, "/dev/nvme0n1", &n), -ENOTBLK);
	assert_int_equal(accel_noload_info(ctx, "/dev/nvme7n1", &n), -ENOENT);
	assert_int_equal(accel_noload_info(ctx, "soft:", &n), -EINVAL);
	/* It is none of ours: not listed, not opened, and the message says what it is. */
	assert_int_equal(accel_scan(ctx, NULL, &list), 0);
	assert_int_equal(accel_list_count(list), 0);
	accel_list_free(list);
	assert_int_equal(accel_dev_open(ctx, "/dev/nvme1n1", &dev), -ENODEV);
	assert_non_null(strstr(said, "NoLoad"));
	put_page(&t, "dev/nvme1n1/identify-namespace", p.ns, PAGE - 1);
	assert_int_equal(accel_noload_info(ctx, paths[0], &n), -EPROTO);
	accel_ctx_unref(ctx);
	tree_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts), cmocka_unit_test(test_refused), cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
