// SPDX-License-Identifier: BSD-2-Clause
/* Namespaces in sysfs: each accelerator once, whatever paths there are to it, and what is said of it. */
#define _GNU_SOURCE
#include "node_util.h"

static const struct pair live_tcp[] = {
	{ "transport", "tcp\n" }, { "state", "live\n" },
	{ "address", "traddr=192.0.2.1,trsvcid=4420,src_addr=192.0.2.9\n" },
	{ "subsysnqn", "nqn.2014-08.org.example:accel\n" }, { "serial", "ACC1                \n" },
	{ "model", "Accelerator                             \n" }, { "firmware_rev", "0.1     \n" },
	{ "numa_node", "-1\n" }, { "kato", "5\n" }, { "ctrl_loss_tmo", "600\n" }, { "reconnect_delay", "10\n" }, { 0 },
};

static const struct pair live_pcie[] = {
	{ "transport", "pcie\n" }, { "state", "live\n" }, { "address", "0000:00:04.0\n" },
	{ "subsysnqn", "nqn.2019-08.org.example:disk\n" }, { "serial", "D1\n" }, { "model", "Some Disk\n" },
	{ "firmware_rev", "1.0\n" }, { "numa_node", "1\n" }, { 0 },
};

static const struct pair queue[] = {
	{ "queue/max_hw_sectors_kb", "1024\n" }, { "queue/max_sectors_kb", "1024\n" },
	{ "queue/max_segments", "129\n" }, { "queue/logical_block_size", "512\n" },
	{ "queue/dma_alignment", "3\n" }, { "queue/virt_boundary_mask", "4095\n" },
	{ "queue/nr_requests", "127\n" }, { "dev", "259:7\n" }, { 0 },
};

static struct found *scan(const struct tree *t, int want)
{
	struct found *f = calloc(1, sizeof(*f));

	assert_int_equal(sysfs_scan(t->root, found_one, f), 0);
	assert_int_equal(f->n, want);
	return f;
}

static void test_names(void **state)
{
	static const char *const bad[] = { "nvme0", "nvme0n", "nvmen1", "nvme0c0n1", "nvme0n1p1", "nvme0n1 ",
					   "nvme-0n1", "nvme00000000000n1", "ng0", "ng0n1x", "", "sda", "nvme0n1/../x" };
	size_t i;

	(void)state;
	assert_true(sysfs_is_block("nvme0n1"));
	assert_true(sysfs_is_block("nvme123n4567"));
	assert_true(sysfs_is_generic("ng10n2"));
	assert_false(sysfs_is_block("ng10n2"));
	assert_false(sysfs_is_generic("nvme10n2"));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(sysfs_is_block(bad[i]));
		assert_false(sysfs_is_generic(bad[i]));
	}
}

static void test_none(void **state)
{
	struct tree t;

	(void)state;
	tree_new(&t);
	free(scan(&t, 0));
	tree_put(&t, "class/nvme/", NULL);
	free(scan(&t, 0));
	/* A controller without namespaces, and one in the middle of going away. */
	tree_attrs(&t, "devices/nvme0", live_pcie);
	tree_link(&t, "class/nvme/nvme0", "../../devices/nvme0");
	tree_link(&t, "class/nvme/nvme1", "../../devices/nvme1");
	free(scan(&t, 0));
	tree_free(&t);
}

/* One controller, one path: the plain case, with its two nodes and a partition, which are one namespace. */
static void test_single(void **state)
{
	struct node_sysfs node;
	struct found *f;
	struct tree t;

	(void)state;
	tree_new(&t);
	tree_attrs(&t, "devices/pci0/nvme/nvme0", live_pcie);
	tree_attrs(&t, "devices/pci0/nvme/nvme0/nvme0n1", queue);
	tree_put(&t, "devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p1/partition", "1\n");
	tree_put(&t, "devices/pci0/nvme/nvme0/ng0n1/dev", "234:0\n");
	tree_link(&t, "class/nvme/nvme0", "../../devices/pci0/nvme/nvme0");
	f = scan(&t, 1);
	assert_string_equal(f->name[0], "nvme0n1");
	free(f);
	sysfs_read(t.root, "nvme0n1", &node);
	assert_true(node.nvme && node.live);
	assert_int_equal(node.npath, 1);
	assert_int_equal(node.major, 259);
	assert_int_equal(node.minor, 7);
	assert_string_equal(node.info.kind, "pcie");
	assert_string_equal(node.info.address, "0000:00:04.0");
	assert_string_equal(node.info.model, "Some Disk");
	assert_int_equal(node.info.numa_node, 1);
	assert_int_equal(node.info.kato_ms, -1);
	assert_int_equal(node.info.ctrl_loss_tmo_s, -1);
	assert_int_equal(node.limits.gap_mask, 4095);
	assert_int_equal(node.limits.dma_mask, 3);
	assert_int_equal(node.limits.nr_requests, 127);
	/* 129 pieces, three of which may be no whole page. */
	assert_int_equal(node.info.max_nbytes, 126 * 4096);
	/* The generic node has the limits of the block device beside it, and its own number. */
	sysfs_read(t.root, "ng0n1", &node);
	assert_int_equal(node.info.max_nbytes, 126 * 4096);
	assert_int_equal(node.major, 234);
	assert_string_equal(node.info.kind, "pcie");
	tree_free(&t);
}

/* A namespace without a block device (its command set is one that the kernel does not know) is its generic node. */
static void test_generic_only(void **state)
{
	struct found *f;
	struct tree t;

	(void)state;
	tree_new(&t);
	tree_attrs(&t, "class/nvme/nvme3", live_pcie);
	tree_put(&t, "class/nvme/nvme3/ng3n2/dev", "234:1\n");
	tree_attrs(&t, "class/nvme/nvme3/nvme3n1", queue);
	tree_put(&t, "class/nvme/nvme3/ng3n1/dev", "234:0\n");
	f = scan(&t, 2);
	assert_string_equal(f->name[0], "ng3n2");
	assert_string_equal(f->name[1], "nvme3n1");
	free(f);
	tree_free(&t);
}

static void multipath(const struct tree *t, const char *state1, const char *ana0, const char *ana1)
{
	static const char sub[] = "devices/virtual/nvme-subsystem/nvme-subsys0";
	static const char fab[] = "devices/virtual/nvme-fabrics/ctl";
	struct pair state[] = { { "state", state1 }, { "address", "traddr=192.0.2.2,trsvcid=4420\n" }, { 0 } };
	char dir[160];
	int i;

	for (i = 0; i < 2; i++) {
		snprintf(dir, sizeof(dir), "%s/nvme%d", fab, i);
		tree_attrs(t, dir, live_tcp);
		if (i)
			tree_attrs(t, dir, state);
		snprintf(dir, sizeof(dir), "%s/nvme%d/nvme0c%dn1", fab, i, i);
		tree_attrs(t, dir, queue);
		tree_attrs(t, dir, (struct pair[]){ { "hidden", "1\n" }, { "ana_state", i ? ana1 : ana0 }, { 0 } });
		snprintf(dir, sizeof(dir), "class/nvme/nvme%d", i);
		tree_link(t, dir, i ? "../../devices/virtual/nvme-fabrics/ctl/nvme1" :
				      "../../devices/virtual/nvme-fabrics/ctl/nvme0");
		snprintf(dir, sizeof(dir), "%s/nvme%d", sub, i);
		tree_link(t, dir, i ? "../../nvme-fabrics/ctl/nvme1" : "../../nvme-fabrics/ctl/nvme0");
	}
	/* One path is narrower than the other: the namespace is as narrow as that. */
	snprintf(dir, sizeof(dir), "%s/nvme1/nvme0c1n1/queue/max_hw_sectors_kb", fab);
	tree_put(t, dir, "64\n");
	snprintf(dir, sizeof(dir), "%s/nvme0n1", sub);
	tree_attrs(t, dir, queue);
	snprintf(dir, sizeof(dir), "%s/ng0n1/dev", sub);
	tree_put(t, dir, "234:0\n");
	tree_link(t, "class/nvme-subsystem/nvme-subsys0", "../../devices/virtual/nvme-subsystem/nvme-subsys0");
}

/* Two paths: the namespace once, no path node, the limits of both, the address of the better one. */
static void test_multipath(void **state)
{
	struct node_sysfs node;
	struct found *f;
	struct tree t;

	(void)state;
	tree_new(&t);
	multipath(&t, "live\n", "non-optimized\n", "optimized\n");
	f = scan(&t, 1);
	assert_string_equal(f->name[0], "nvme0n1");
	free(f);
	sysfs_read(t.root, "nvme0n1", &node);
	assert_int_equal(node.npath, 2);
	assert_string_equal(node.info.kind, "tcp");
	assert_string_equal(node.info.address, "traddr=192.0.2.2,trsvcid=4420");
	assert_string_equal(node.info.subnqn, "nqn.2014-08.org.example:accel");
	assert_string_equal(node.info.serial, "ACC1");
	assert_string_equal(node.info.firmware, "0.1");
	assert_int_equal(node.info.kato_ms, 5000);
	assert_int_equal(node.info.ctrl_loss_tmo_s, 600);
	assert_int_equal(node.info.reconnect_delay_s, 10);
	assert_int_equal(node.info.max_nbytes, 64 * 1024);
	tree_free(&t);
}

/* A path that is down is not asked, and the namespace is live as long as one is up. */
static void test_path_down(void **state)
{
	struct node_sysfs node;
	struct tree t;

	(void)state;
	tree_new(&t);
	multipath(&t, "connecting\n", "non-optimized\n", "optimized\n");
	sysfs_read(t.root, "nvme0n1", &node);
	assert_true(node.live);
	assert_string_equal(node.info.address, "traddr=192.0.2.1,trsvcid=4420,src_addr=192.0.2.9");
	tree_put(&t, "devices/virtual/nvme-fabrics/ctl/nvme0/state", "resetting\n");
	sysfs_read(t.root, "nvme0n1", &node);
	assert_false(node.live);
	tree_free(&t);
}

/* A private namespace of a controller in a subsystem of several: it is the controller's, others are shared. */
static void test_private(void **state)
{
	struct node_sysfs node;
	struct found *f;
	struct tree t;

	(void)state;
	tree_new(&t);
	multipath(&t, "live\n", "optimized\n", "optimized\n");
	tree_attrs(&t, "devices/virtual/nvme-fabrics/ctl/nvme1/nvme1n2", queue);
	tree_put(&t, "devices/virtual/nvme-fabrics/ctl/nvme1/ng1n2/dev", "234:9\n");
	f = scan(&t, 2);
	assert_string_equal(f->name[0], "nvme0n1");
	assert_string_equal(f->name[1], "nvme1n2");
	free(f);
	sysfs_read(t.root, "nvme1n2", &node);
	assert_int_equal(node.npath, 1);
	assert_string_equal(node.info.address, "traddr=192.0.2.2,trsvcid=4420");
	tree_free(&t);
}

static void test_many(void **state)
{
	struct found *f;
	struct tree t;
	char path[128];
	int i;

	(void)state;
	tree_new(&t);
	tree_attrs(&t, "class/nvme/nvme0", live_pcie);
	for (i = 1; i <= 1024; i++) {
		snprintf(path, sizeof(path), "class/nvme/nvme0/nvme0n%d/dev", i);
		tree_put(&t, path, "259:1\n");
	}
	f = scan(&t, 1024);
	assert_string_equal(f->name[1], "nvme0n2");
	assert_string_equal(f->name[1023], "nvme0n1024");
	/* What the caller says ends the scan. */
	f->n = 0;
	f->stop_at = 3;
	f->ret = -ENOMEM;
	assert_int_equal(sysfs_scan(t.root, found_one, f), -ENOMEM);
	assert_int_equal(f->n, 3);
	free(f);
	tree_free(&t);
}

/* Attributes that are not what they should be, in content and length. */
static void test_odd(void **state)
{
	static const struct pair odd[] = {
		{ "queue/max_hw_sectors_kb", "-5\n" }, { "queue/max_sectors_kb", "99999999999999999999\n" },
		{ "queue/max_segments", "1\n" }, { "queue/logical_block_size", "zero\n" },
		{ "queue/nr_requests", "\n" },
		{ "queue/virt_boundary_mask", "" }, { "dev", "x:y\n" }, { 0 },
	};
	char text[600];
	struct node_sysfs node;
	struct tree t;

	(void)state;
	tree_new(&t);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	tree_attrs(&t, "class/nvme/nvme0", live_pcie);
	tree_put(&t, "class/nvme/nvme0/model", text);
	tree_put(&t, "class/nvme/nvme0/subsysnqn", text);
	tree_put(&t, "class/nvme/nvme0/address", text);
	tree_put(&t, "class/nvme/nvme0/state", text);
	tree_attrs(&t, "class/nvme/nvme0/nvme0n1", odd);
	sysfs_read(t.root, "nvme0n1", &node);
	assert_int_equal(strlen(node.info.model), 40);
	assert_int_equal(strlen(node.info.subnqn), 223);
	assert_false(node.live);
	assert_int_equal(node.limits.block, 512);
	assert_int_equal(node.limits.dma_mask, 511);
	assert_int_equal(node.info.max_nbytes, 4096);
	assert_int_equal(node.major, 0);
	/* Not there at all: safe defaults. */
	sysfs_read(t.root, "nvme9n9", &node);
	assert_false(node.nvme);
	assert_true(node.live);
	assert_int_equal(node.info.numa_node, -1);
	assert_string_equal(node.info.kind, "block");
	tree_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	  cmocka_unit_test(test_none),	 cmocka_unit_test(test_single),
		cmocka_unit_test(test_generic_only), cmocka_unit_test(test_multipath), cmocka_unit_test(test_path_down),
		cmocka_unit_test(test_private),	  cmocka_unit_test(test_many),	 cmocka_unit_test(test_odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
