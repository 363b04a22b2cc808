// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether two functions may exchange data without the root complex, or through one that is known to forward. The rules
 * are those of the module, which has the last word where it is loaded; these work without it, and without privilege
 * as far as sysfs shows.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../sys/attr.h"
#include "p2p.h"

/* ACS Control: requests to peers, and their completions, go to the root; and egress control. */
#define ACS_REQUEST	(1u << 2)
#define ACS_COMPLETION	(1u << 3)
#define ACS_EGRESS	(1u << 5)
#define ACS_REDIRECTS	(ACS_REQUEST | ACS_COMPLETION | ACS_EGRESS)

static void say(char *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(char *text, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, P2P_TEXT, fmt, ap);
	va_end(ap);
}

static void refuse(struct p2p_verdict *v, unsigned int reason)
{
	v->answer = P2P_NO;
	v->reason = reason;
}

static unsigned int shared(const struct p2p_chain *a, const struct p2p_chain *b)
{
	unsigned int n = 0;

	if (strcmp(a->host, b->host) != 0)
		return 0;
	while (n < a->n && n < b->n && !strcmp(a->at[n].address, b->at[n].address))
		n++;
	return n;
}

static const struct p2p_pci *end(const struct p2p_chain *c)
{
	return &c->at[c->n - 1];
}

/* The first bridge below the common one that redirects, or that does not show whether it does. */
static const struct p2p_pci *bridge_with(const struct p2p_chain *c, unsigned int from, bool unknown)
{
	unsigned int i;

	for (i = from; i + 1 < c->n; i++) {
		if (unknown && c->at[i].acs == P2P_ACS_UNKNOWN)
			return &c->at[i];
		if (!unknown && c->at[i].acs == P2P_ACS_THERE && c->at[i].acs_ctl & ACS_REDIRECTS)
			return &c->at[i];
	}
	return NULL;
}

static const struct p2p_pci *bridge_of(const struct p2p_chain *a, const struct p2p_chain *b, unsigned int from,
				       bool unknown)
{
	const struct p2p_pci *p = bridge_with(a, from, unknown);

	return p ? p : bridge_with(b, from, unknown);
}

static const struct p2p_pci *translated(const struct p2p_chain *a, const struct p2p_chain *b)
{
	if (end(a)->iommu == P2P_IOMMU_TRANSLATED)
		return end(a);
	return end(b)->iommu == P2P_IOMMU_TRANSLATED ? end(b) : NULL;
}

static bool judge_iommu(const struct p2p_chain *a, const struct p2p_chain *b, struct p2p_verdict *v)
{
	const struct p2p_pci *p = translated(a, b);

	if (!p)
		return true;
	refuse(v, NVME_ACCEL_P2P_R_IOMMU);
	say(v->why, "the IOMMU translates the addresses of %s (group %d, %s), so that all it sends goes to the root",
	    p->address, p->iommu_group, p->iommu_type);
	say(v->way_out, "start the kernel with iommu=pt, or write identity to /sys/kernel/iommu_groups/%d/type while no "
	    "driver has a device of the group", p->iommu_group);
	return false;
}

static void judge_switch(const struct p2p_chain *a, const struct p2p_chain *b, bool kernel, struct p2p_verdict *v)
{
	const struct p2p_pci *p = bridge_of(a, b, v->common, false);

	v->path = NVME_ACCEL_P2P_PATH_SWITCH;
	if (p) {
		refuse(v, NVME_ACCEL_P2P_R_ACS);
		say(v->why, "the bridge %s redirects requests between its peers to the root (ACS control %04x)", p->address,
		    p->acs_ctl);
		say(v->way_out, "start the kernel with pci=disable_acs_redir=%s if the devices below trust each other",
		    p->address);
		return;
	}
	if (!kernel && !judge_iommu(a, b, v))
		return;
	p = bridge_of(a, b, v->common, true);
	if (p) {
		v->answer = P2P_UNKNOWN;
		say(v->why, "below one switch, but whether %s redirects (ACS) is shown to root alone", p->address);
		say(v->way_out, "ask again as root");
		return;
	}
	v->answer = P2P_YES;
	say(v->why, "below one switch (%s), and no bridge on the way redirects", a->at[v->common - 1].address);
}

static void judge_host(const struct p2p_chain *a, const struct p2p_chain *b, bool host_known, struct p2p_verdict *v)
{
	if (strcmp(a->host, b->host) != 0) {
		refuse(v, NVME_ACCEL_P2P_R_DOMAIN);
		say(v->why, "they are below different host bridges, %s and %s", a->host, b->host);
		say(v->way_out, "put both devices below one PCIe switch");
		return;
	}
	if (!host_known) {
		refuse(v, NVME_ACCEL_P2P_R_HOST_BRIDGE);
		say(v->why, "the way is through the host bridge %s, which is not known to forward between its ports", a->host);
		say(v->way_out, "put both devices below one PCIe switch; memory is used until then");
		return;
	}
	if (!judge_iommu(a, b, v))
		return;
	v->answer = P2P_YES;
	v->path = NVME_ACCEL_P2P_PATH_BRIDGE;
	say(v->why, "through the host bridge %s, which is known to forward between its ports", a->host);
}

/* Below a switch: what they share ends with a bridge that is not a port of the root. */
static bool below_switch(const struct p2p_chain *a, unsigned int common)
{
	return common > 0 && a->at[common - 1].port != P2P_PORT_ROOT && a->at[common - 1].port != P2P_PORT_ENDPOINT;
}

void p2p_judge(const struct p2p_chain *a, const struct p2p_chain *b, bool kernel, bool host_known,
	       struct p2p_verdict *v)
{
	memset(v, 0, sizeof(*v));
	v->common = shared(a, b);
	if (v->common == a->n && v->common == b->n) {
		v->path = NVME_ACCEL_P2P_PATH_SELF;
		/* Translated addresses are none of its own memory's. */
		if (!kernel && !judge_iommu(a, b, v))
			return;
		v->answer = P2P_YES;
		say(v->why, "they are one device");
	} else if (below_switch(a, v->common)) {
		judge_switch(a, b, kernel, v);
	} else {
		judge_host(a, b, host_known, v);
	}
}

/* ---- Host bridges that are known to forward ---- */

/* Processors with the host bridge of AMD's Zen: family 17h and later. */
static bool cpu_is_zen(const char *cpuinfo)
{
	char line[256];
	bool amd = false;
	int family = 0;
	FILE *f = fopen(cpuinfo, "re");

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f) && line[0] != '\n') {
		const char *colon = strchr(line, ':');

		if (colon && !strncmp(line, "vendor_id", 9))
			amd = strstr(colon, "AuthenticAMD") || strstr(colon, "HygonGenuine");
		else if (colon && !strncmp(line, "cpu family", 10))
			family = atoi(colon + 1);
	}
	fclose(f);
	return amd && family >= 0x17;
}

/* Functions of Intel host bridges by their place on the root bus: Xeon E5 to Sapphire Rapids. */
static bool intel_known(uint16_t device)
{
	static const uint16_t known[] = {
		0x3c00, 0x3c01, 0x2f00, 0x2f01, 0x2030, 0x2031, 0x2032, 0x2033, 0x2020, 0x09a2,
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] == device)
			return true;
	return false;
}

bool p2p_host_known(const char *sysfs, const char *cpuinfo, const struct p2p_chain *chain)
{
	char dir[256], text[16];

	if (cpu_is_zen(cpuinfo))
		return true;
	/* Device 0 of the root bus is the host bridge's own. */
	snprintf(dir, sizeof(dir), "%s/bus/pci/devices/%s:00.0", sysfs, chain->host + 3);
	if (!attr_text(dir, "vendor", text, sizeof(text)) || strtoul(text, NULL, 16) != 0x8086)
		return false;
	return attr_text(dir, "device", text, sizeof(text)) && intel_known((uint16_t)strtoul(text, NULL, 16));
}
