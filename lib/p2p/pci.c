// SPDX-License-Identifier: BSD-2-Clause
/*
 * PCI functions as sysfs shows them: a function is a directory in that of the bridge above it, so that its path is the
 * way from the host bridge down. Of the configuration space those without privilege see 64 bytes, in which neither the
 * kind of a port nor ACS is: both are then unknown, and said to be.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../sys/attr.h"
#include "../base/bits.h"
#include "p2p.h"

#define CONFIG_NBYTES	4096u
#define CONFIG_PCI	256u		/* of it, what PCI had before PCI Express */
#define CAP_POINTER	0x34
#define CAP_EXPRESS	0x10
#define EXT_CAP_ACS	0x000d
#define CAPS_MAX	48u		/* more are a loop */
#define EXT_CAPS_MAX	960u
#define CLASS_BRIDGE	0x0604u

/* At least min and at most max hexadecimal digits; what is behind them, or NULL. */
static const char *hex(const char *s, unsigned int min, unsigned int max)
{
	unsigned int n = 0;

	while (n < max && ((*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'f') || (*s >= 'A' && *s <= 'F'))) {
		s++;
		n++;
	}
	return n < min ? NULL : s;
}

bool p2p_is_address(const char *text)
{
	const char *s = hex(text, 4, 8);

	s = s && *s == ':' ? hex(s + 1, 2, 2) : NULL;
	s = s && *s == ':' ? hex(s + 1, 2, 2) : NULL;
	return s && *s == '.' && s[1] >= '0' && s[1] <= '7' && !s[2];
}

static bool is_host(const char *text)
{
	const char *s = !strncmp(text, "pci", 3) ? hex(text + 3, 4, 8) : NULL;

	s = s && *s == ':' ? hex(s + 1, 2, 2) : NULL;
	return s && !*s;
}

static void decode_port(struct p2p_pci *pci, const uint8_t *express)
{
	static const enum p2p_port kinds[16] = {
		[0] = P2P_PORT_ENDPOINT, [1] = P2P_PORT_ENDPOINT, [4] = P2P_PORT_ROOT, [5] = P2P_PORT_UPSTREAM,
		[6] = P2P_PORT_DOWNSTREAM, [7] = P2P_PORT_BRIDGE, [8] = P2P_PORT_BRIDGE, [9] = P2P_PORT_ENDPOINT,
		[10] = P2P_PORT_ROOT,
	};

	pci->port = kinds[le16_get(express + 2) >> 4 & 15];
}

static void decode_caps(struct p2p_pci *pci, const uint8_t *config, size_t n)
{
	unsigned int at = config[CAP_POINTER] & 0xfc, i;

	for (i = 0; i < CAPS_MAX && at >= 0x40 && at + 4 <= n && at < CONFIG_PCI; i++) {
		if (config[at] == CAP_EXPRESS) {
			decode_port(pci, config + at);
			return;
		}
		at = config[at + 1] & 0xfc;
	}
}

static void decode_acs(struct p2p_pci *pci, const uint8_t *config, size_t n)
{
	unsigned int at = CONFIG_PCI, i;
	uint32_t head;

	pci->acs = n >= CONFIG_NBYTES ? P2P_ACS_NONE : P2P_ACS_UNKNOWN;
	for (i = 0; i < EXT_CAPS_MAX && at >= CONFIG_PCI && at + 8 <= n; i++) {
		head = le32_get(config + at);
		if ((head & 0xffff) == EXT_CAP_ACS) {
			pci->acs = P2P_ACS_THERE;
			pci->acs_ctl = le16_get(config + at + 6);
			return;
		}
		at = head >> 20 & 0xffc;
	}
}

void p2p_pci_decode(struct p2p_pci *pci, const uint8_t *config, size_t n)
{
	if (n >= CONFIG_PCI)
		decode_caps(pci, config, n);
	decode_acs(pci, config, n);
	/* A conventional bridge or an end of 256 bytes in all: it has no extended capabilities. */
	if (n == CONFIG_PCI)
		pci->acs = P2P_ACS_NONE;
}

static void read_config(const char *dir, struct p2p_pci *pci)
{
	uint8_t config[CONFIG_NBYTES];
	char path[PATH_MAX];
	size_t n = 0;
	ssize_t got;
	int fd;

	pci->acs = P2P_ACS_UNKNOWN;
	if (snprintf(path, sizeof(path), "%s/config", dir) >= (int)sizeof(path))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while (n < sizeof(config) && (got = read(fd, config + n, sizeof(config) - n)) > 0)
		n += (size_t)got;
	close(fd);
	p2p_pci_decode(pci, config, n);
}

static void read_iommu(const char *dir, struct p2p_pci *pci)
{
	char link[PATH_MAX], path[PATH_MAX];
	const char *base;
	ssize_t n;

	pci->iommu_group = -1;
	if (snprintf(path, sizeof(path), "%s/iommu_group", dir) >= (int)sizeof(path))
		return;
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return;
	link[n] = '\0';
	base = strrchr(link, '/');
	pci->iommu_group = atoi(base ? base + 1 : link);
	/* What is not known to leave addresses alone translates them. */
	pci->iommu = P2P_IOMMU_TRANSLATED;
	if (!attr_text(path, "type", pci->iommu_type, sizeof(pci->iommu_type)))
		strcpy(pci->iommu_type, "unknown");
	else if (!strcmp(pci->iommu_type, "identity"))
		pci->iommu = P2P_IOMMU_IDENTITY;
}

static uint32_t hex_attr(const char *dir, const char *name)
{
	char text[32];

	return attr_text(dir, name, text, sizeof(text)) ? (uint32_t)strtoul(text, NULL, 16) : 0;
}

static void read_function(const char *dir, struct p2p_pci *pci)
{
	pci->vendor = (uint16_t)hex_attr(dir, "vendor");
	pci->device = (uint16_t)hex_attr(dir, "device");
	pci->class_code = hex_attr(dir, "class");
	read_config(dir, pci);
	read_iommu(dir, pci);
}

/* Without privilege: the first bridge is a root port, then upstream and downstream ports take turns. */
static void guess_ports(struct p2p_chain *chain)
{
	unsigned int i;

	for (i = 0; i < chain->n; i++) {
		struct p2p_pci *p = &chain->at[i];

		if (p->port != P2P_PORT_UNKNOWN)
			continue;
		if (p->class_code >> 8 != CLASS_BRIDGE)
			p->port = P2P_PORT_ENDPOINT;
		else if (p->acs != P2P_ACS_UNKNOWN)
			p->port = P2P_PORT_BRIDGE;
		else
			p->port = !i ? P2P_PORT_ROOT : i & 1 ? P2P_PORT_UPSTREAM : P2P_PORT_DOWNSTREAM;
	}
}

static int add_function(const char *dir, const char *address, struct p2p_chain *chain)
{
	if (chain->n == P2P_HOPS)
		return -E2BIG;
	snprintf(chain->at[chain->n].address, P2P_NAME, "%s", address);
	read_function(dir, &chain->at[chain->n++]);
	return 0;
}

/*
 * path: the real one of the function; each component that is an address is a function on the way. A host bridge within
 * (a volume management device has one) is a root of its own.
 */
static int walk(char *path, struct p2p_chain *chain)
{
	char *name = path, *next;
	int ret = 0;

	for (; name && !ret; name = next) {
		name += *name == '/';
		next = strchr(name, '/');
		if (next)
			*next = '\0';
		if (is_host(name)) {
			memset(chain, 0, sizeof(*chain));
			snprintf(chain->host, P2P_NAME, "%s", name);
		} else if (chain->host[0] && p2p_is_address(name)) {
			ret = add_function(path, name, chain);
		}
		if (next)
			*next = '/';
	}
	return ret ? ret : chain->n ? 0 : -EPROTO;
}

int p2p_chain_read(const char *sysfs, const char *address, struct p2p_chain *chain)
{
	char path[PATH_MAX], *real;
	int ret;

	memset(chain, 0, sizeof(*chain));
	if (!p2p_is_address(address) ||
	    snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", sysfs, address) >= (int)sizeof(path))
		return -ENOENT;
	real = realpath(path, NULL);
	if (!real)
		return errno == ENOMEM ? -ENOMEM : -ENOENT;
	ret = walk(real, chain);
	free(real);
	if (!ret)
		guess_ports(chain);
	return ret;
}
