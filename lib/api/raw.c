// SPDX-License-Identifier: BSD-2-Clause
/* Plain reads and writes of a namespace: the thin layer, and what the library itself reads of a device. */
#include <errno.h>
#include "api.h"

#define RAW_NIOV 1024u
#define PAGE_ATTEMPTS 3
#define DOWN_TRY_MS 300u		/* for the way to a device that was away a moment ago */

static struct transport_queue *raw_queue_get(struct accel_dev *dev, int *err)
{
	struct transport_queue *q;

	pthread_mutex_lock(&dev->lock);
	q = dev->raw_idle;
	dev->raw_idle = NULL;
	pthread_mutex_unlock(&dev->lock);
	*err = q ? 0 : dev->ops->queue_new(dev->tdev, 1, &q);
	return q;
}

static void raw_queue_put(struct accel_dev *dev, struct transport_queue *q)
{
	pthread_mutex_lock(&dev->lock);
	if (!dev->raw_idle) {
		dev->raw_idle = q;
		q = NULL;
	}
	pthread_mutex_unlock(&dev->lock);
	if (q)
		dev->ops->queue_free(q);
}

/*
 * One command to its end. One that does not end in time takes its queue with it: freeing the queue ends the
 * command, and only then is the caller's memory the caller's again.
 */
static int raw_command(struct accel_dev *dev, struct transport_cmd *cmd, int timeout_ms)
{
	struct transport_cmd *done = NULL;
	struct transport_queue *q;
	int ret;

	q = raw_queue_get(dev, &ret);
	if (!q)
		return ret;
	ret = dev->ops->submit(q, &cmd, 1);
	if (ret == 1)
		ret = dev->ops->reap(q, &done, 1, 1, timeout_ms);
	if (ret == 1) {
		raw_queue_put(dev, q);
		return cmd->error;
	}
	dev->ops->queue_free(q);
	return ret < 0 ? ret : -ETIMEDOUT;
}

static int raw_rw(struct accel_dev *dev, uint32_t flags, uint64_t offset, const struct iovec *iov,
		  unsigned int niov, uint64_t give_up_ns, int timeout_ms, uint16_t *nvme_status)
{
	struct transport_cmd cmd = { .flags = flags, .niov = niov, .off = offset, .iov = iov,
				     .give_up_ns = give_up_ns };
	uint64_t mask;
	int ret;

	if (!dev || !iov || !niov || niov > RAW_NIOV || !nvme_status || timeout_ms < -1)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	mask = (1ull << dev->id.lbadsx) - 1;
	cmd.nbytes = iov_total(iov, niov);
	if (!cmd.nbytes || cmd.nbytes == UINT64_MAX || ((offset | cmd.nbytes) & mask))
		return -EINVAL;
	ret = raw_command(dev, &cmd, timeout_ms);
	*nvme_status = ret ? 0 : cmd.nvme_status;
	return ret;
}

int accel_raw_read(struct accel_dev *dev, uint64_t offset, const struct iovec *iov, unsigned int niov,
		   int timeout_ms, uint16_t *nvme_status)
{
	return raw_rw(dev, TRANSPORT_READ, offset, iov, niov, 0, timeout_ms, nvme_status);
}

int accel_raw_write(struct accel_dev *dev, uint64_t offset, const struct iovec *iov, unsigned int niov,
		    int timeout_ms, uint16_t *nvme_status)
{
	return raw_rw(dev, TRANSPORT_WRITE, offset, iov, niov, 0, timeout_ms, nvme_status);
}

int accel_raw_identify(struct accel_dev *dev, void *page)
{
	if (!dev || !page)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	return dev->ops->identify(dev->tdev, page);
}

static int status_errno(uint16_t nvme_status)
{
	if (!nvme_status)
		return 0;
	return (nvme_status & 0x7ff) == 0x286 ? -EACCES : -EIO;
}

/* What may be otherwise the next time: the path was lost, or broke in the middle. */
static bool path_error(int ret)
{
	return ret == -EIO || ret == -EPROTO || ret == -ENOTCONN || ret == -ECONNRESET || ret == -EPIPE ||
	       ret == -ETIMEDOUT;
}

/*
 * The library's own pages are read and written again if a path fails: all of these commands may be repeated (a
 * lease is known by its claim id, whichever of two claims was granted).
 */
static int page_command(struct accel_dev *dev, uint32_t flags, uint64_t offset, const struct iovec *iov, int timeout_ms)
{
	uint64_t now = api_now_ns(), deadline = api_deadline(timeout_ms);
	bool down = dev_down(dev, now);
	uint16_t status = 0;
	int ret, i = 0;

	do {
		ret = raw_rw(dev, flags, offset, iov, 1, down ? now + DOWN_TRY_MS * API_NS_PER_MS : 0,
			     api_left_ms(deadline), &status);
	} while (path_error(ret) && !(down && ret == -ENOTCONN) && ++i < PAGE_ATTEMPTS && api_left_ms(deadline));
	return ret ? ret : status_errno(status);
}

int dev_read(struct accel_dev *dev, uint64_t offset, void *buf, size_t nbytes, int timeout_ms)
{
	struct iovec iov = { buf, nbytes };

	return page_command(dev, TRANSPORT_READ, offset, &iov, timeout_ms);
}

int dev_write(struct accel_dev *dev, uint64_t offset, const void *buf, size_t nbytes, int timeout_ms)
{
	struct iovec iov = { (void *)(uintptr_t)buf, nbytes };

	return page_command(dev, TRANSPORT_WRITE, offset, &iov, timeout_ms);
}

uint32_t accel_raw_crc32c(uint32_t crc, const void *p, size_t n)
{
	return n ? base_crc32c(crc, p, n) : crc;
}
