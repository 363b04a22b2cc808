// SPDX-License-Identifier: BSD-2-Clause
/* PCI configuration space, verdicts over topologies, and extents: all that is pure of lib/p2p. */
#include <errno.h>
#include <linux/fiemap.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "../../lib/base/bits.h"
#include "../../lib/p2p/p2p.h"

/* ---- Configuration space ---- */

/* A port of that kind with an ACS capability behind another extended one. */
static void make_config(uint8_t *c, unsigned int type, uint16_t acs_ctl)
{
	memset(c, 0, 4096);
	c[0x34] = 0x40;
	c[0x40] = 0x05;			/* MSI, in front of PCI Express */
	c[0x41] = 0x60;
	c[0x60] = 0x10;
	le16_put(c + 0x62, (uint16_t)(2 | type << 4));
	le32_put(c + 0x100, 0x0001 | 2u << 16 | 0x148u << 20);	/* AER */
	le32_put(c + 0x148, 0x000d | 1u << 16);
	le16_put(c + 0x148 + 6, acs_ctl);
}

static void test_config(void **state)
{
	static const enum p2p_port kinds[] = { [0] = P2P_PORT_ENDPOINT, [1] = P2P_PORT_ENDPOINT, [4] = P2P_PORT_ROOT, [5] = P2P_PORT_UPSTREAM,
					       [6] = P2P_PORT_DOWNSTREAM, [7] = P2P_PORT_BRIDGE };
	uint8_t c[4096];
	struct p2p_pci p;

	(void)state;
	for (unsigned int type = 0; type < 8; type++) {
		memset(&p, 0, sizeof(p));
		make_config(c, type, 0x1d);
		p2p_pci_decode(&p, c, sizeof(c));
		assert_int_equal(p.port, kinds[type]);
		assert_int_equal(p.acs, P2P_ACS_THERE);
		assert_int_equal(p.acs_ctl, 0x1d);
	}
	/* 64 bytes: what those without privilege see. */
	memset(&p, 0, sizeof(p));
	p2p_pci_decode(&p, c, 64);
	assert_int_equal(p.port, P2P_PORT_UNKNOWN);
	assert_int_equal(p.acs, P2P_ACS_UNKNOWN);
	/* 256: a function without extended capabilities. */
	memset(&p, 0, sizeof(p));
	p2p_pci_decode(&p, c, 256);
	assert_int_equal(p.port, P2P_PORT_BRIDGE);
	assert_int_equal(p.acs, P2P_ACS_NONE);
}

/* Lists that lead to themselves, out of the space, or are noise: an end, and no access beyond. */
static void test_config_hostile(void **state)
{
	uint8_t *c;
	struct p2p_pci p;
	uint32_t seed = 1;
	size_t sizes[] = { 0, 1, 63, 64, 65, 255, 256, 257, 260, 300, 4095, 4096 };

	(void)state;
	for (unsigned int round = 0; round < 3000; round++) {
		size_t n = sizes[round % 12];

		c = malloc(n ? n : 1);
		for (size_t i = 0; i < n; i++)
			c[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
		memset(&p, 0, sizeof(p));
		p2p_pci_decode(&p, c, n);
		assert_true(p.port <= P2P_PORT_BRIDGE && p.acs <= P2P_ACS_UNKNOWN);
		free(c);
	}
	c = calloc(1, 4096);
	c[0x34] = 0x40;
	c[0x40] = 0x01;
	c[0x41] = 0x40;
	le32_put(c + 0x100, 0x0001 | 0x100u << 20);
	memset(&p, 0, sizeof(p));
	p2p_pci_decode(&p, c, 4096);
	assert_int_equal(p.port, P2P_PORT_UNKNOWN);
	assert_int_equal(p.acs, P2P_ACS_NONE);
	free(c);
}

static void test_address(void **state)
{
	static const char *const good[] = { "0000:03:00.0", "10000:e1:00.7", "abcd:EF:1f.3" };
	static const char *const bad[] = { "", "0000:03:00", "000:03:00.0", "0000:3:00.0", "0000:03:00.8", "0000:03:00.0 ",
					   "0000:03:00.00", "../../../0", "0000:03:00.", "123456789:00:00.0" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(p2p_is_address(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(p2p_is_address(bad[i]));
}

/* ---- Verdicts ---- */

static void add(struct p2p_chain *c, const char *address, enum p2p_port port, enum p2p_acs acs, uint16_t ctl)
{
	struct p2p_pci *p = &c->at[c->n++];

	snprintf(p->address, sizeof(p->address), "%s", address);
	p->port = port;
	p->acs = acs;
	p->acs_ctl = ctl;
	p->iommu_group = -1;
}

/* Root port, switch, downstream port number port, a device. */
static struct p2p_chain below_switch(const char *port, const char *device, enum p2p_acs acs, uint16_t ctl)
{
	struct p2p_chain c = { .host = "pci0000:00" };

	add(&c, "0000:00:03.0", P2P_PORT_ROOT, P2P_ACS_THERE, 0x1d);
	add(&c, "0000:01:00.0", P2P_PORT_UPSTREAM, P2P_ACS_NONE, 0);
	add(&c, port, P2P_PORT_DOWNSTREAM, acs, ctl);
	add(&c, device, P2P_PORT_ENDPOINT, P2P_ACS_NONE, 0);
	return c;
}

static struct p2p_chain below_root(const char *host, const char *port, const char *device)
{
	struct p2p_chain c = { 0 };

	snprintf(c.host, sizeof(c.host), "%s", host);
	add(&c, port, P2P_PORT_ROOT, P2P_ACS_NONE, 0);
	add(&c, device, P2P_PORT_ENDPOINT, P2P_ACS_NONE, 0);
	return c;
}

static void translate(struct p2p_chain *c)
{
	c->at[c->n - 1].iommu = P2P_IOMMU_TRANSLATED;
	c->at[c->n - 1].iommu_group = 7;
	strcpy(c->at[c->n - 1].iommu_type, "DMA-FQ");
}

static struct p2p_verdict judge(struct p2p_chain a, struct p2p_chain b, bool kernel, bool known)
{
	struct p2p_verdict v, w;

	p2p_judge(&a, &b, kernel, known, &v);
	/* Whoever is named first. */
	p2p_judge(&b, &a, kernel, known, &w);
	assert_int_equal(v.answer, w.answer);
	assert_int_equal(v.reason, w.reason);
	assert_true(v.why[0] != '\0');
	return v;
}

static void test_switch(void **state)
{
	struct p2p_chain a = below_switch("0000:02:00.0", "0000:03:00.0", P2P_ACS_NONE, 0);
	struct p2p_chain b = below_switch("0000:02:01.0", "0000:04:00.0", P2P_ACS_THERE, 0x11);
	struct p2p_verdict v = judge(a, b, false, false);

	(void)state;
	assert_int_equal(v.answer, P2P_YES);
	assert_int_equal(v.path, NVME_ACCEL_P2P_PATH_SWITCH);
	assert_int_equal(v.common, 2);
	assert_non_null(strstr(v.why, "0000:01:00.0"));
	/* The root port's own ACS is above the common bridge and does not matter. */
	assert_int_equal(v.reason, NVME_ACCEL_P2P_R_OK);
	v = judge(a, a, false, false);
	assert_int_equal(v.path, NVME_ACCEL_P2P_PATH_SELF);
	assert_int_equal(v.answer, P2P_YES);
}

static void test_acs(void **state)
{
	struct p2p_chain a = below_switch("0000:02:00.0", "0000:03:00.0", P2P_ACS_NONE, 0);

	(void)state;
	for (uint16_t ctl = 0; ctl < 0x80; ctl++) {
		struct p2p_chain b = below_switch("0000:02:01.0", "0000:04:00.0", P2P_ACS_THERE, ctl);
		struct p2p_verdict v = judge(a, b, false, true);
		bool redirects = ctl & 0x2c;

		assert_int_equal(v.answer, redirects ? P2P_NO : P2P_YES);
		assert_int_equal(v.reason, redirects ? NVME_ACCEL_P2P_R_ACS : NVME_ACCEL_P2P_R_OK);
		if (redirects)
			assert_non_null(strstr(v.way_out, "pci=disable_acs_redir=0000:02:01.0"));
	}
}

static void test_acs_unknown(void **state)
{
	struct p2p_chain a = below_switch("0000:02:00.0", "0000:03:00.0", P2P_ACS_UNKNOWN, 0);
	struct p2p_chain b = below_switch("0000:02:01.0", "0000:04:00.0", P2P_ACS_THERE, 0);
	struct p2p_verdict v = judge(a, b, false, false);

	(void)state;
	assert_int_equal(v.answer, P2P_UNKNOWN);
	assert_non_null(strstr(v.way_out, "root"));
	/* What is known to redirect needs no root to be refused. */
	b.at[2].acs_ctl = 4;
	assert_int_equal(judge(a, b, false, false).answer, P2P_NO);
}

static void test_iommu(void **state)
{
	struct p2p_chain a = below_switch("0000:02:00.0", "0000:03:00.0", P2P_ACS_NONE, 0);
	struct p2p_chain b = below_switch("0000:02:01.0", "0000:04:00.0", P2P_ACS_NONE, 0);
	struct p2p_verdict v;

	(void)state;
	b.at[3].iommu = P2P_IOMMU_IDENTITY;
	assert_int_equal(judge(a, b, false, false).answer, P2P_YES);
	translate(&b);
	v = judge(a, b, false, false);
	assert_int_equal(v.answer, P2P_NO);
	assert_int_equal(v.reason, NVME_ACCEL_P2P_R_IOMMU);
	assert_non_null(strstr(v.why, "DMA-FQ"));
	assert_non_null(strstr(v.way_out, "iommu=pt"));
	/* Nor does a device see its own memory then. */
	assert_int_equal(judge(b, b, false, false).answer, P2P_NO);
	/* The kernel's own p2pdma uses addresses of the bus below a switch. */
	assert_int_equal(judge(a, b, true, false).answer, P2P_YES);
}

static void test_host_bridge(void **state)
{
	struct p2p_chain a = below_root("pci0000:00", "0000:00:03.0", "0000:01:00.0");
	struct p2p_chain b = below_root("pci0000:00", "0000:00:04.0", "0000:02:00.0");
	struct p2p_chain far = below_root("pci0000:80", "0000:80:03.0", "0000:81:00.0");
	struct p2p_verdict v = judge(a, b, false, false);

	(void)state;
	assert_int_equal(v.answer, P2P_NO);
	assert_int_equal(v.reason, NVME_ACCEL_P2P_R_HOST_BRIDGE);
	assert_true(v.way_out[0] != '\0');
	v = judge(a, b, false, true);
	assert_int_equal(v.answer, P2P_YES);
	assert_int_equal(v.path, NVME_ACCEL_P2P_PATH_BRIDGE);
	assert_int_equal(judge(a, far, false, true).reason, NVME_ACCEL_P2P_R_DOMAIN);
	/* Through the root the IOMMU always matters. */
	translate(&b);
	assert_int_equal(judge(a, b, true, true).reason, NVME_ACCEL_P2P_R_IOMMU);
}

/* Two functions below one root port have no switch between them. */
static void test_one_root_port(void **state)
{
	struct p2p_chain a = below_root("pci0000:00", "0000:00:03.0", "0000:01:00.0");
	struct p2p_chain b = below_root("pci0000:00", "0000:00:03.0", "0000:01:00.1");

	(void)state;
	assert_int_equal(judge(a, b, false, false).answer, P2P_NO);
}

/* ---- Extents ---- */

static void test_refusals(void **state)
{
	static const uint32_t bad[] = {
		FIEMAP_EXTENT_UNKNOWN, FIEMAP_EXTENT_DELALLOC, FIEMAP_EXTENT_ENCODED, FIEMAP_EXTENT_DATA_ENCRYPTED,
		FIEMAP_EXTENT_NOT_ALIGNED, FIEMAP_EXTENT_DATA_INLINE, FIEMAP_EXTENT_DATA_TAIL, FIEMAP_EXTENT_UNWRITTEN,
		FIEMAP_EXTENT_SHARED,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (int write = 0; write < 2; write++)
			assert_non_null(p2p_extent_refusal(bad[i] | FIEMAP_EXTENT_LAST, write));
	assert_null(p2p_extent_refusal(0, true));
	assert_null(p2p_extent_refusal(FIEMAP_EXTENT_LAST | FIEMAP_EXTENT_MERGED, false));
	assert_string_not_equal(p2p_extent_refusal(FIEMAP_EXTENT_UNWRITTEN, true),
				p2p_extent_refusal(FIEMAP_EXTENT_UNWRITTEN, false));
}

static void test_join(void **state)
{
	static const struct p2p_piece src[] = { { 0, 1000, 8192 }, { 8192, 90000, 4096 }, { 12288, 5000, 4096 } };
	static const struct p2p_piece dst[] = { { 0, 70000, 4096 }, { 4096, 200000, 12288 } };
	static const struct nvme_accel_p2p_extent want[] = {
		{ 1000, 70000, 4096 }, { 5096, 200000, 4096 }, { 90000, 204096, 4096 }, { 5000, 208192, 4096 },
	};
	struct nvme_accel_p2p_extent *x;
	uint32_t n;

	(void)state;
	assert_int_equal(p2p_extents_join(src, 3, dst, 2, 4, &x, &n), 0);
	assert_int_equal(n, 4);
	assert_memory_equal(x, want, sizeof(want));
	free(x);
	assert_int_equal(p2p_extents_join(src, 3, dst, 2, 3, &x, &n), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config),	     cmocka_unit_test(test_config_hostile),
		cmocka_unit_test(test_address),	     cmocka_unit_test(test_switch),
		cmocka_unit_test(test_acs),	     cmocka_unit_test(test_acs_unknown),
		cmocka_unit_test(test_iommu),	     cmocka_unit_test(test_host_bridge),
		cmocka_unit_test(test_one_root_port), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
