// SPDX-License-Identifier: BSD-2-Clause
/* Who this host is: as the system was told, else the same at every start, else something of this instance's own. */
#define _GNU_SOURCE
#include "node_util.h"
#include "../../lib/transport/hostid.h"

#define UUID "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
#define NQN_UUID "nqn.2014-08.org.nvmexpress:uuid:"

static const uint8_t uuid[16] = { 0xf8, 0x1d, 0x4f, 0xae, 0x7d, 0xec, 0x11, 0xd0,
				  0xa7, 0x65, 0x00, 0xa0, 0xc9, 0x1e, 0x6b, 0xf6 };

struct host {
	char nqn[224];
	uint8_t id[16];
	const char *bad;
};

static struct host host_of(const struct tree *t)
{
	struct host h;

	memset(&h, 0x55, sizeof(h));
	h.bad = hostid_read(t->root, h.nqn, h.id);
	assert_true(strlen(h.nqn) <= 223);
	assert_memory_equal(h.nqn, "nqn.", 4);
	return h;
}

static void test_told(void **state)
{
	struct host h;
	struct tree t;

	(void)state;
	tree_new(&t);
	tree_put(&t, "nvme/hostnqn", "nqn.2014-08.org.example:host \n");
	tree_put(&t, "nvme/hostid", UUID "\n");
	h = host_of(&t);
	assert_string_equal(h.nqn, "nqn.2014-08.org.example:host");
	assert_memory_equal(h.id, uuid, 16);
	/* An id alone gives the name that belongs to it, and a name with an id in it the id. */
	tree_put(&t, "nvme/hostnqn", "");
	h = host_of(&t);
	assert_string_equal(h.nqn, NQN_UUID UUID);
	tree_put(&t, "nvme/hostnqn", NQN_UUID UUID "\n");
	tree_put(&t, "nvme/hostid", "");
	h = host_of(&t);
	assert_memory_equal(h.id, uuid, 16);
	tree_free(&t);
}

/* Files that are no such thing are as good as none. */
static void test_malformed(void **state)
{
	static const char *const nqns[] = { "nqn.", "iqn.2014-08.org.example:host", "nqn.2014-08 org", "nqn.\x01xyz",
					    "nqn.2014-08.org.\xc3\xa9" };
	static const char *const ids[] = { "f81d4fae", UUID "0", "f81d4fae-7dec-11d0-a765-00a0c91e6bfg",
					   "00000000-0000-0000-0000-000000000000",
					   "f81d4fae+7dec-11d0-a765-00a0c91e6bf6" };
	char longest[300];
	struct host h, made;
	struct tree t;
	size_t i;

	(void)state;
	tree_new(&t);
	tree_put(&t, "machine-id", "0123456789abcdef0123456789abcdef\n");
	made = host_of(&t);
	assert_null(made.bad);
	for (i = 0; i < sizeof(nqns) / sizeof(nqns[0]); i++) {
		tree_put(&t, "nvme/hostnqn", nqns[i]);
		tree_put(&t, "nvme/hostid", ids[i]);
		h = host_of(&t);
		assert_string_equal(h.nqn, made.nqn);
		assert_memory_equal(h.id, made.id, 16);
		assert_string_equal(h.bad, "nvme/hostnqn");
		tree_put(&t, "nvme/hostnqn", "nqn.2026-11.test:h\n");
		assert_string_equal(host_of(&t).bad, "nvme/hostid");
		tree_put(&t, "nvme/hostid", UUID "\n");
		assert_null(host_of(&t).bad);
		tree_put(&t, "nvme/hostid", ids[i]);
	}
	/* 223 characters are the most. */
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "nqn.", 4);
	longest[223] = '\0';
	tree_put(&t, "nvme/hostnqn", longest);
	assert_string_equal(host_of(&t).nqn, longest);
	longest[223] = 'x';
	longest[224] = '\0';
	tree_put(&t, "nvme/hostnqn", longest);
	assert_string_equal(host_of(&t).nqn, made.nqn);
	tree_free(&t);
}

static void test_made(void **state)
{
	struct host a, b;
	struct tree t;

	(void)state;
	tree_new(&t);
	tree_put(&t, "machine-id", "0123456789abcdef0123456789abcdef\n");
	a = host_of(&t);
	b = host_of(&t);
	assert_memory_equal(a.id, b.id, 16);
	assert_string_equal(a.nqn, b.nqn);
	assert_int_equal(a.id[6] >> 4, 8);
	assert_int_equal(a.id[8] >> 6, 2);
	/* The machine's id itself is nobody's business. */
	assert_null(strstr(a.nqn, "0123456789abcdef"));
	assert_null(strstr(a.nqn, "01234567-89ab"));
	tree_put(&t, "machine-id", "0123456789abcdef0123456789abcdee\n");
	b = host_of(&t);
	assert_memory_not_equal(a.id, b.id, 16);
	/* Without one it is random. */
	tree_put(&t, "machine-id", "uninitialized\n");
	a = host_of(&t);
	b = host_of(&t);
	assert_memory_not_equal(a.id, b.id, 16);
	tree_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told), cmocka_unit_test(test_malformed), cmocka_unit_test(test_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
