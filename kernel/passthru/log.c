// SPDX-License-Identifier: GPL-2.0-only
/* Get Log Page. */
#include "core.h"

static u16 log_error(struct nap_live *l, void *page, size_t *n)
{
	*n = 64;	/* one entry, empty: errors are told with the commands that have them */
	return 0;
}

/* Units of a thousand 512-byte blocks, the last one counted as if it were full. */
static u64 data_units(u64 bytes)
{
	return DIV_ROUND_UP_ULL(bytes, 512000);
}

/* A 128-bit number of the log. */
static void put(u8 *out, u64 value)
{
	__le64 le = cpu_to_le64(value);

	memcpy(out, &le, sizeof(le));
}

static u16 log_smart(struct nap_live *l, void *page, size_t *n)
{
	u64 cmds[2] = { 0, 0 }, bytes[2] = { 0, 0 };
	struct nvme_smart_log *log = page;
	unsigned long nsid;
	struct nap_ns *ns;
	int cpu, i;

	rcu_read_lock();
	xa_for_each(&l->owner->ns, nsid, ns) {
		for_each_possible_cpu(cpu) {
			const struct nap_stats_cpu *s = per_cpu_ptr(ns->stats.cpu, cpu);

			for (i = 0; i < 2; i++) {
				cmds[i] += READ_ONCE(s->cmds[i]);
				bytes[i] += READ_ONCE(s->bytes[i]);
			}
		}
	}
	rcu_read_unlock();
	log->avail_spare = 100;
	put(log->data_units_read, data_units(bytes[0]));
	put(log->data_units_written, data_units(bytes[1]));
	put(log->host_reads, cmds[0]);
	put(log->host_writes, cmds[1]);
	put(log->power_cycles, 1);
	put(log->power_on_hours, div_u64(ktime_to_ms(ktime_sub(ktime_get_boottime(), l->since)), 3600000));
	*n = sizeof(*log);
	return 0;
}

static u16 log_firmware(struct nap_live *l, void *page, size_t *n)
{
	struct nvme_fw_slot_info_log *log = page;
	size_t len = strlen(l->id.firmware);

	log->afi = 1;
	memset(&log->frs[0], ' ', sizeof(log->frs[0]));
	memcpy(&log->frs[0], l->id.firmware, min(len, sizeof(log->frs[0])));
	*n = sizeof(*log);
	return 0;
}

static u32 effects_of(unsigned int opcode)
{
	switch (opcode) {
	case nvme_cmd_write:
	case nvme_cmd_write_zeroes:
	case nvme_cmd_write_uncor:
		return NVME_CMD_EFFECTS_CSUPP | NVME_CMD_EFFECTS_LBCC;
	}
	return NVME_CMD_EFFECTS_CSUPP;
}

/* I/O commands: what at least one namespace allows. */
static u16 log_effects(struct nap_live *l, void *page, size_t *n)
{
	static const u8 admin[] = {
		nvme_admin_get_log_page, nvme_admin_identify, nvme_admin_abort_cmd, nvme_admin_set_features,
		nvme_admin_get_features, nvme_admin_async_event, nvme_admin_keep_alive,
	};
	struct nvme_effects_log *log = page;
	unsigned long nsid;
	struct nap_ns *ns;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(admin); i++)
		log->acs[admin[i]] = cpu_to_le32(NVME_CMD_EFFECTS_CSUPP);
	rcu_read_lock();
	xa_for_each(&l->owner->ns, nsid, ns)
		for_each_set_bit(i, ns->conf.policy.opcode, 256)
			log->iocs[i] = cpu_to_le32(effects_of(i));
	rcu_read_unlock();
	*n = sizeof(*log);
	return 0;
}

static u16 make_log(struct nap_live *l, const struct nvme_get_log_page_command *cmd, void *page, size_t *n)
{
	u32 nsid = le32_to_cpu(cmd->nsid);

	switch (cmd->lid) {
	case NVME_LOG_ERROR:
		return log_error(l, page, n);
	case NVME_LOG_SMART:
		if (nsid && nsid != NVME_NSID_ALL)	/* of the controller, LPA says */
			return NAP_SC_INVALID_FIELD;
		return log_smart(l, page, n);
	case NVME_LOG_FW_SLOT:
		return log_firmware(l, page, n);
	case NVME_LOG_CHANGED_NS:
		nap_event_log(l, page, !(cmd->lsp & 0x80));	/* RAE */
		*n = NAP_PAGE;
		return 0;
	case NVME_LOG_CMD_EFFECTS:
		if (cmd->csi)
			return NAP_SC_INVALID_FIELD;
		return log_effects(l, page, n);
	}
	return NAP_SC_INVALID_LOG;
}

u16 nap_get_log(struct nap_live *l, struct nap_req *r)
{
	const struct nvme_get_log_page_command *cmd = &r->cmd.get_log_page;
	u64 wanted = ((u64)le16_to_cpu(cmd->numdu) << 16 | le16_to_cpu(cmd->numdl)) * 4 + 4;
	u64 from = le64_to_cpu(cmd->lpo);
	size_t n = 0;
	void *page;
	u16 status;

	if (from & 3 || from > NAP_PAGE)
		return NAP_SC_INVALID_FIELD;
	page = kzalloc(NAP_PAGE, GFP_KERNEL);
	if (!page)
		return NAP_SC_INTERNAL;
	status = make_log(l, cmd, page, &n);
	if (!status && from > n)
		status = NAP_SC_INVALID_FIELD;
	if (!status)
		nap_admin_reply(r, page + from, min_t(u64, wanted, n - from));
	kfree(page);
	return status;
}
