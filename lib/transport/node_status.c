// SPDX-License-Identifier: BSD-2-Clause
/*
 * What became of a command. The block layer keeps an errno of a command's NVMe status, several statuses to one.
 * Those that refuse a command (and will do so again) are told apart from those that leave its outcome unknown;
 * where several share an errno, the one that an accelerator gives stands for all.
 */
#include <errno.h>
#include "node.h"

#define SC_INVALID_FIELD	0x002
#define SC_LBA_RANGE		0x080
#define SC_ACCESS_DENIED	0x286
#define SC_DNR			0x4000

static void refused(struct transport_cmd *cmd, uint16_t status)
{
	cmd->error = 0;
	cmd->nvme_status = status | SC_DNR;
}

bool node_crosses(const struct node_limits *limits, struct transport_cmd *cmd)
{
	uint64_t chunk = limits->chunk_nbytes;

	if (!chunk || !cmd->nbytes || cmd->off / chunk == (cmd->off + cmd->nbytes - 1) / chunk)
		return false;
	refused(cmd, SC_INVALID_FIELD);
	return true;
}

void node_outcome(struct transport_cmd *cmd, int64_t res)
{
	cmd->error = 0;
	cmd->nvme_status = 0;
	if (res >= 0) {
		/* The block layer cuts a command short at the end of the device, and nowhere else. */
		if ((uint64_t)res != cmd->nbytes)
			refused(cmd, SC_LBA_RANGE);
		return;
	}
	switch (-res) {
	case EOPNOTSUPP:	/* Invalid Opcode, Invalid Field, Invalid Namespace or Format */
	case EINVAL:		/* the kernel itself: not whole blocks */
		refused(cmd, SC_INVALID_FIELD);
		break;
	case ENODATA:		/* Access Denied; media errors, which a device without media does not have */
		refused(cmd, SC_ACCESS_DENIED);
		break;
	case ENOSPC:		/* a write beyond the end */
		refused(cmd, SC_LBA_RANGE);
		break;
	default:
		cmd->error = (int)res;
	}
}

void node_outcome_ng(struct transport_cmd *cmd, int64_t res)
{
	cmd->error = res < 0 ? (int)res : 0;
	/* SCT 10:8, SC 7:0, M(ore) 13, DNR 14; the retry delay between them is of no use here. */
	cmd->nvme_status = res > 0 ? (uint16_t)(res & 0x47ff) : 0;
}
