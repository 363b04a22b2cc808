// SPDX-License-Identifier: GPL-2.0-only
/*
 * The topology guard: whether a transfer of a client's reaches the provider's CMB, and nothing else. What is not known to work
 * is refused, with the reason; there is no way around it.
 *
 * Below one PCIe switch addresses are routed downwards where they belong, unless ACS sends requests to the root first. Above
 * it is the root complex, and whether that passes requests on is in no register: known-good ones alone. An IOMMU that translates has
 * bus addresses that are none of the BAR's; only the kernel's p2pdma knows to use the BAR's own then.
 */
#include <linux/iommu.h>
#include <linux/pci-p2pdma.h>
#include "p2p.h"

#ifdef CONFIG_X86
#include <asm/processor.h>
#endif

#define say(v, fmt, ...) scnprintf((v)->text, sizeof((v)->text), fmt, ##__VA_ARGS__)

void p2p_guard_refuse(struct nvme_accel_p2p_verdict *v, u32 reason, const char *text)
{
	v->allowed = 0;
	v->reason = reason;
	say(v, "%s", text);
}

static void refused(struct nvme_accel_p2p_verdict *v, u32 reason)
{
	v->allowed = 0;
	v->reason = reason;
}

/* ---- The way ---- */

/* Bridges between dev and the ancestor; -1 if that is none. */
static int depth_below(struct pci_dev *dev, struct pci_dev *ancestor)
{
	int n = 0;

	for (dev = pci_upstream_bridge(dev); dev; dev = pci_upstream_bridge(dev), n++)
		if (dev == ancestor)
			return n;
	return -1;
}

static int depth(struct pci_dev *dev)
{
	int n = 0;

	for (dev = pci_upstream_bridge(dev); dev; dev = pci_upstream_bridge(dev))
		n++;
	return n;
}

/* The lowest bridge above both, or NULL. */
static struct pci_dev *common_bridge(struct pci_dev *a, struct pci_dev *b)
{
	for (a = pci_upstream_bridge(a); a; a = pci_upstream_bridge(a))
		if (depth_below(b, a) >= 0)
			return a;
	return NULL;
}

/* A bridge from dev up to the end (exclusive) that sends peers' requests, or the answers, up to the root. */
static struct pci_dev *acs_redirects(struct pci_dev *dev, struct pci_dev *end)
{
	u16 pos, ctrl;

	for (dev = pci_upstream_bridge(dev); dev && dev != end; dev = pci_upstream_bridge(dev)) {
		pos = pci_find_ext_capability(dev, PCI_EXT_CAP_ID_ACS);
		if (!pos || pci_read_config_word(dev, pos + PCI_ACS_CTRL, &ctrl))
			continue;
		if (ctrl & (PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_EC))
			return dev;
	}
	return NULL;
}

static u32 iommu_of(struct pci_dev *pdev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&pdev->dev);

	if (!domain)
		return NVME_ACCEL_P2P_IOMMU_OFF;
	return domain->type == IOMMU_DOMAIN_IDENTITY ? NVME_ACCEL_P2P_IOMMU_IDENTITY : NVME_ACCEL_P2P_IOMMU_TRANSLATED;
}

static const char *iommu_name(u32 iommu)
{
	switch (iommu) {
	case NVME_ACCEL_P2P_IOMMU_OFF:
		return "no IOMMU";
	case NVME_ACCEL_P2P_IOMMU_IDENTITY:
		return "IOMMU passes through";
	default:
		return "IOMMU translates";
	}
}

/* ---- Host bridges ---- */

/* Intel's that forward between root ports (found out and published by their maker); function 0 of the root bus. */
static const u16 intel_forwards[] = { 0x2020, 0x2030, 0x2031, 0x2032, 0x2033, 0x2f00, 0x2f01, 0x3c00, 0x3c01, 0x09a2 };

static bool zen(void)
{
#ifdef CONFIG_X86
	const struct cpuinfo_x86 *c = &boot_cpu_data;

	return (c->x86_vendor == X86_VENDOR_AMD && c->x86 >= 0x17) || (c->x86_vendor == X86_VENDOR_HYGON && c->x86 >= 0x18);
#else
	return false;
#endif
}

static bool forwards(struct pci_dev *root)
{
	unsigned int i;

	if (zen())
		return true;
	if (!root || root->vendor != PCI_VENDOR_ID_INTEL)
		return false;
	for (i = 0; i < ARRAY_SIZE(intel_forwards); i++)
		if (root->device == intel_forwards[i])
			return true;
	return false;
}

static struct pci_bus *root_bus(struct pci_dev *dev)
{
	struct pci_bus *bus = dev->bus;

	while (bus->parent)
		bus = bus->parent;
	return bus;
}

static void through_host_bridge(struct p2p_provider *p, struct pci_dev *pdev, struct nvme_accel_p2p_verdict *v)
{
	struct pci_bus *bus = root_bus(p->pdev);
	struct pci_dev *root;
	bool good;

	v->path = NVME_ACCEL_P2P_PATH_BRIDGE;
	v->distance = depth(p->pdev) + depth(pdev) + 1;
	scnprintf(v->common, sizeof(v->common), "%s", dev_name(bus->bridge));
	if (bus != root_bus(pdev)) {
		refused(v, NVME_ACCEL_P2P_R_DOMAIN);
		say(v, "%s and %s are below different host bridges; put both below one PCIe switch", v->pci, pci_name(p->pdev));
		return;
	}
	root = pci_get_slot(bus, PCI_DEVFN(0, 0));
	good = forwards(root);
	if (!good) {
		refused(v, NVME_ACCEL_P2P_R_HOST_BRIDGE);
		say(v, "the way is through host bridge %s (%04x:%04x), which is not known to forward; put both below one PCIe switch",
		    v->common, root ? root->vendor : 0, root ? root->device : 0);
	} else if (v->iommu == NVME_ACCEL_P2P_IOMMU_TRANSLATED) {
		refused(v, NVME_ACCEL_P2P_R_IOMMU);
		say(v, "the IOMMU translates addresses of %s or %s; start the kernel with iommu=pt", v->pci, pci_name(p->pdev));
	} else {
		say(v, "%s reaches the CMB of %s through host bridge %s, which is known to forward; %s", v->pci, pci_name(p->pdev),
		    v->common, iommu_name(v->iommu));
	}
	pci_dev_put(root);
}

static void through_switch(struct p2p_provider *p, struct pci_dev *pdev, struct pci_dev *common, struct nvme_accel_p2p_verdict *v)
{
	struct pci_dev *acs = acs_redirects(p->pdev, common) ?: acs_redirects(pdev, common);

	v->path = NVME_ACCEL_P2P_PATH_SWITCH;
	v->distance = depth_below(p->pdev, common) + depth_below(pdev, common) + 1;
	scnprintf(v->common, sizeof(v->common), "%s", pci_name(common));
	if (acs) {
		scnprintf(v->acs_at, sizeof(v->acs_at), "%s", pci_name(acs));
		refused(v, NVME_ACCEL_P2P_R_ACS);
		say(v, "ACS of the switch's port %s redirects peers' requests to the root; start the kernel with pci=disable_acs_redir=%s "
		       "(devices below are no longer isolated from each other)", v->acs_at, v->acs_at);
	} else if (v->iommu == NVME_ACCEL_P2P_IOMMU_TRANSLATED && !p->kernel_pages) {
		refused(v, NVME_ACCEL_P2P_R_IOMMU);
		say(v, "the IOMMU translates addresses of %s or %s; start the kernel with iommu=pt, or use one with CONFIG_PCI_P2PDMA",
		    v->pci, pci_name(p->pdev));
	} else {
		say(v, "%s reaches the CMB of %s below the switch at %s; no ACS redirect; %s", v->pci, pci_name(p->pdev), v->common,
		    iommu_name(v->iommu));
	}
}

/* ---- The verdict ---- */

static bool addresses_reach(struct p2p_provider *p, struct pci_dev *pdev)
{
	return dma_get_mask(&pdev->dev) >= p->window + p->size - 1;
}

static bool kernel_refuses(struct p2p_provider *p, struct pci_dev *pdev)
{
	struct device *client = &pdev->dev;

	return p->kernel_pages && pci_p2pdma_distance_many(p->pdev, &client, 1, false) < 0;
}

static void processor(struct p2p_provider *p, struct nvme_accel_p2p_verdict *v)
{
	v->path = NVME_ACCEL_P2P_PATH_CPU;
	say(v, "a processor reads and writes the CMB of %s (allow_cpu_clients): for trials", pci_name(p->pdev));
}

void p2p_guard(struct p2p_provider *p, struct pci_dev *pdev, struct nvme_accel_p2p_verdict *v)
{
	struct pci_dev *common;

	v->allowed = 1;
	v->reason = NVME_ACCEL_P2P_R_OK;
	if (!pdev) {
		processor(p, v);
		return;
	}
	scnprintf(v->pci, sizeof(v->pci), "%s", pci_name(pdev));
	v->iommu = max(iommu_of(pdev), iommu_of(p->pdev));
	if (pdev == p->pdev) {
		v->path = NVME_ACCEL_P2P_PATH_SELF;
		say(v, "%s has the CMB itself", v->pci);
		if (v->iommu == NVME_ACCEL_P2P_IOMMU_TRANSLATED && !p->kernel_pages) {
			refused(v, NVME_ACCEL_P2P_R_IOMMU);
			say(v, "the IOMMU translates addresses of %s, so that it does not see its own CMB; start the kernel with iommu=pt", v->pci);
		}
	} else {
		common = common_bridge(p->pdev, pdev);
		if (common && pci_is_pcie(common) && pci_pcie_type(common) == PCI_EXP_TYPE_UPSTREAM)
			through_switch(p, pdev, common, v);
		else
			through_host_bridge(p, pdev, v);
	}
	if (!v->allowed)
		return;
	if (!addresses_reach(p, pdev)) {
		refused(v, NVME_ACCEL_P2P_R_DMA_MASK);
		say(v, "%s addresses %d bits only, the CMB of %s is beyond", v->pci, fls64(dma_get_mask(&pdev->dev)), pci_name(p->pdev));
	} else if (kernel_refuses(p, pdev)) {
		refused(v, NVME_ACCEL_P2P_R_KERNEL);
		say(v, "the kernel's p2pdma does not let %s use the CMB of %s; its log says why", v->pci, pci_name(p->pdev));
	}
}
