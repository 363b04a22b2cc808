// SPDX-License-Identifier: BSD-2-Clause
/* Generic nodes (/dev/ngXnY): Read and Write as passthrough commands, which the kernel neither splits nor retries. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include "../nvmetcp/nvme.h"
#include "node.h"

void ng_fill(const struct transport_dev *dev, struct nvme_uring_cmd *cmd, bool is_write, uint64_t off, uint64_t n,
	     const struct iovec *iov, unsigned int niov)
{
	uint32_t block = dev->sysfs.limits.block;
	uint64_t lba = off / block;

	memset(cmd, 0, sizeof(*cmd));
	cmd->opcode = is_write ? NVME_IO_WRITE : NVME_IO_READ;
	cmd->nsid = dev->nsid;
	cmd->addr = (uint64_t)(uintptr_t)iov;
	cmd->data_len = niov;
	cmd->cdw10 = (uint32_t)lba;
	cmd->cdw11 = (uint32_t)(lba >> 32);
	cmd->cdw12 = (uint32_t)(n / block - 1);	/* NLB, 0's based */
}

int ng_rw(const struct transport_dev *dev, bool is_write, uint64_t off, uint64_t n, const struct iovec *iov,
	  unsigned int niov)
{
	struct nvme_passthru_cmd64 cmd;
	struct nvme_uring_cmd u;
	int ret;

	ng_fill(dev, &u, is_write, off, n, iov, niov);
	memset(&cmd, 0, sizeof(cmd));
	/* The same up to the result, which follows. */
	memcpy(&cmd, &u, sizeof(u));
	ret = ioctl(dev->fd, NVME_IOCTL_IO64_CMD_VEC, &cmd);
	return ret < 0 ? -errno : ret;
}
