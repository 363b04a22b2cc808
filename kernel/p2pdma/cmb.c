// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registers of a controller memory buffer (NVM Express Base Specification 1.4, sections 3.1.11, 3.1.12, 3.1.19, 3.1.20 and
 * 4.7): where it is, turning it on, and whether it is still there.
 *
 * nvme-pci has mapped the same BAR. It turns a 1.4 buffer off again when the kernel has no p2pdma, at every start of the
 * controller; what it does is never in our way for long, as every use begins and ends with a look.
 */
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/io.h>
#include <linux/nvme.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include "p2p.h"

#define REGS_LEN	0x1000
#define REG_CMBSTS	0x58
#define CMBSTS_CBAI	0x1
#define CMBMSC_LOW	0xfff	/* what is no address */

/* A job that waits for its controller tries again and again. */
#define info(p, fmt, ...) pci_info_ratelimited((p)->pdev, P2P_NAME ": " fmt, ##__VA_ARGS__)

bool p2p_cmb_ready(struct p2p_provider *p)
{
	u32 csts = readl(p->regs + NVME_REG_CSTS);

	return csts != ~0u && (csts & (NVME_CSTS_RDY | NVME_CSTS_CFS)) == NVME_CSTS_RDY;
}

/* 1.4: location and size read as zero until CRE says that the host knows of them. */
static void reveal(struct p2p_provider *p)
{
	if (!(readl(p->regs + NVME_REG_CMBMSC) & NVME_CMBMSC_CRE))
		writel(NVME_CMBMSC_CRE, p->regs + NVME_REG_CMBMSC);
}

static bool bar_ok(struct p2p_provider *p)
{
	return (p->bar == 0 || (p->bar >= 2 && p->bar <= 5)) &&
	       pci_resource_flags(p->pdev, p->bar) & IORESOURCE_MEM && p->offset < pci_resource_len(p->pdev, p->bar);
}

/* The part of it that is in the BAR, in whole pieces of 2 MiB: what memory can be mapped in. */
static int place(struct p2p_provider *p)
{
	u64 unit = 1ull << (12 + 4 * (p->cmbsz >> NVME_CMBSZ_SZU_SHIFT & NVME_CMBSZ_SZU_MASK));
	u64 count = p->cmbsz >> NVME_CMBSZ_SZ_SHIFT & NVME_CMBSZ_SZ_MASK;
	u64 start, end;

	/* No unit above 64 GiB is defined. */
	if (unit > 64ull * SZ_1G)
		return -ENODEV;
	p->bar = NVME_CMB_BIR(p->cmbloc);
	p->offset = unit * NVME_CMB_OFST(p->cmbloc);
	if (!bar_ok(p)) {
		info(p, "the CMB is said to be outside of BAR %d\n", p->bar);
		return -ENODEV;
	}
	start = pci_resource_start(p->pdev, p->bar) + p->offset;
	end = start + min_t(u64, unit * count, pci_resource_len(p->pdev, p->bar) - p->offset);
	if (!p->kernel_pages) {
		start = ALIGN(start, SZ_2M);
		end = ALIGN_DOWN(end, SZ_2M);
	}
	if (end <= start) {
		info(p, "no aligned 2 MiB of the CMB can be mapped\n");
		return -ENODEV;
	}
	p->window = start;
	p->size = end - start;
	return 0;
}

static u64 enabled(struct p2p_provider *p)
{
	return (pci_bus_address(p->pdev, p->bar) + p->offset) | NVME_CMBMSC_CRE | NVME_CMBMSC_CMSE;
}

static int look(struct p2p_provider *p)
{
	u64 cap = lo_hi_readq(p->regs + NVME_REG_CAP);

	if (cap == ~0ull)
		return -ENODEV;
	if (!p2p_cmb_ready(p))
		return -EAGAIN;
	p->kind = NVME_CAP_CMBS(cap) ? NVME_ACCEL_P2P_KIND_1_4 : NVME_ACCEL_P2P_KIND_LEGACY;
	if (p->kind == NVME_ACCEL_P2P_KIND_1_4)
		reveal(p);
	p->cmbsz = readl(p->regs + NVME_REG_CMBSZ);
	p->cmbloc = readl(p->regs + NVME_REG_CMBLOC);
	if (!p->cmbsz || p->cmbsz == ~0u)
		return -ENODEV;
	if ((p->cmbsz & (NVME_CMBSZ_WDS | NVME_CMBSZ_RDS)) != (NVME_CMBSZ_WDS | NVME_CMBSZ_RDS)) {
		info(p, "the CMB is not for data (CMBSZ %08x)\n", p->cmbsz);
		return -ENODEV;
	}
	return place(p);
}

int p2p_cmb_find(struct p2p_provider *p)
{
	int ret;

	if (!(pci_resource_flags(p->pdev, 0) & IORESOURCE_MEM) || pci_resource_len(p->pdev, 0) < REGS_LEN)
		return -ENODEV;
	p->regs = ioremap(pci_resource_start(p->pdev, 0), REGS_LEN);
	if (!p->regs)
		return -ENOMEM;
	ret = look(p);
	if (ret) {
		p2p_cmb_unmap(p);
		return ret;
	}
	p->cmbmsc = enabled(p);
	return 0;
}

void p2p_cmb_unmap(struct p2p_provider *p)
{
	iounmap(p->regs);
	p->regs = NULL;
}

/* ---- On, and still on ---- */

static bool decoding(struct p2p_provider *p)
{
	return p->kind != NVME_ACCEL_P2P_KIND_1_4 || lo_hi_readq(p->regs + NVME_REG_CMBMSC) == p->cmbmsc;
}

/* The address last: it is valid when the bits are. */
static int decode(struct p2p_provider *p)
{
	if (decoding(p))
		return 0;
	writel(upper_32_bits(p->cmbmsc), p->regs + NVME_REG_CMBMSC + 4);
	writel(lower_32_bits(p->cmbmsc), p->regs + NVME_REG_CMBMSC);
	if (!decoding(p) || readl(p->regs + REG_CMBSTS) & CMBSTS_CBAI) {
		info(p, "the controller does not take %llx as its CMB's address\n", p->cmbmsc & ~(u64)CMBMSC_LOW);
		return -EIO;
	}
	return 0;
}

static u64 *canary(struct p2p_provider *p)
{
	return p->kept.vaddr;
}

/* The canary is there to be read if the memory is: a reset that leaves the registers as they were may still have cleared it. */
int p2p_cmb_enable(struct p2p_provider *p)
{
	int ret = decode(p);

	if (ret)
		return ret;
	p->canary = get_random_u64() | 1;
	WRITE_ONCE(*canary(p), p->canary);
	mb();
	if (READ_ONCE(*canary(p)) != p->canary) {
		info(p, "the CMB does not hold what is written to it\n");
		return -EIO;
	}
	WRITE_ONCE(p->lost, false);
	return 0;
}

bool p2p_cmb_ok(struct p2p_provider *p)
{
	if (READ_ONCE(p->lost))
		return false;
	if (p2p_cmb_ready(p) && decoding(p) && READ_ONCE(*canary(p)) == p->canary)
		return true;
	if (!xchg(&p->lost, true))
		p2p_count(p, P2P_C_LOSSES, 1);
	return false;
}
