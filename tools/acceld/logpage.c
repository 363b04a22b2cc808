// SPDX-License-Identifier: BSD-2-Clause
/* Get Log Page. Every page is made from its start, in order, and what was asked for is cut out of it (window). */
#include <stdlib.h>
#include <time.h>
#include "ctrl.h"

#define RAE		(1u << 15)
#define OFFSET_TYPE	(1u << 23)	/* offsets that are indexes: not offered */
#define NLID		256u
#define SIZE_ERROR	(NERROR * 64u)
#define SIZE_SMART	512u
#define SIZE_FIRMWARE	512u
#define SIZE_SUPPORTED	(NLID * 4u)
#define CSUPP		1u
#define LBCC		2u
#define CELSIUS_20	293u		/* there is no sensor */

enum scope { ALL, IO, DISCOVERY };

struct log {
	uint8_t lid;
	enum scope scope;
	uint32_t size;			/* 0: by disc_nbytes() */
	void (*put)(struct ctrl *ctrl, struct window *w, bool rae);
};

static const struct log *log_find(const struct ctrl *ctrl, uint8_t lid);

static void put_supported(struct ctrl *ctrl, struct window *w, bool rae)
{
	uint8_t page[SIZE_SUPPORTED] = { 0 };
	unsigned int i;

	(void)rae;
	for (i = 0; i < NLID; i++)
		if (log_find(ctrl, (uint8_t)i))
			page[4 * i] = 1;	/* LSUPP */
	window_put(w, page, sizeof(page));
}

static void error_put(uint8_t p[64], const struct error_entry *e)
{
	le64_put(p, e->count);
	le16_put(p + 8, e->qid);
	le16_put(p + 10, e->cid);
	le16_put(p + 12, (uint16_t)(e->status << 1));
	le16_put(p + 14, 0xffff);	/* not a certain byte of the command */
	le64_put(p + 16, e->lba);
	le32_put(p + 24, e->nsid);
	p[29] = NVMF_TRTYPE_TCP;
	le64_put(p + 32, e->result);
}

/* The latest first. */
static void put_error(struct ctrl *ctrl, struct window *w, bool rae)
{
	uint8_t page[SIZE_ERROR] = { 0 };
	uint64_t i, n;

	(void)rae;
	pthread_mutex_lock(&ctrl->lock);
	n = BASE_MIN(ctrl->nerror, NERROR);
	for (i = 0; i < n; i++)
		error_put(page + 64 * i, &ctrl->error[(ctrl->nerror - 1 - i) % NERROR]);
	pthread_mutex_unlock(&ctrl->lock);
	window_put(w, page, sizeof(page));
}

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* In thousands of 512 bytes, rounded up. */
static uint64_t data_units(uint64_t nbytes)
{
	return (nbytes + 511999) / 512000;
}

static uint64_t hours_since(uint64_t start_ns)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec - start_ns) / (3600 * NS_PER_S);
}

/* Of the whole target since it started. */
static void put_smart(struct ctrl *ctrl, struct window *w, bool rae)
{
	const struct target *t = ctrl->target;
	uint8_t page[SIZE_SMART] = { 0 };

	(void)rae;
	le16_put(page + 1, CELSIUS_20);
	page[3] = 100;			/* available spare, % */
	page[4] = 10;			/* its threshold */
	le64_put(page + 32, data_units(load(&t->count.bytes_out)));
	le64_put(page + 48, data_units(load(&t->count.bytes_in)));
	le64_put(page + 64, load(&t->count.cmds_read));
	le64_put(page + 80, load(&t->count.cmds_write));
	le64_put(page + 112, 1);	/* power cycles */
	le64_put(page + 128, hours_since(t->start_ns));
	pthread_mutex_lock(&ctrl->lock);
	le64_put(page + 176, ctrl->nerror);
	pthread_mutex_unlock(&ctrl->lock);
	window_put(w, page, sizeof(page));
}

static void put_firmware(struct ctrl *ctrl, struct window *w, bool rae)
{
	uint8_t page[SIZE_FIRMWARE] = { 0 };

	(void)ctrl;
	(void)rae;
	page[0] = 1;			/* slot 1 is active */
	text_put(page + 8, 8, ACCELD_VERSION);
	window_put(w, page, sizeof(page));
}

static void put_changed_ns(struct ctrl *ctrl, struct window *w, bool rae)
{
	uint8_t page[PAGE] = { 0 };
	unsigned int i, n = 0;

	pthread_mutex_lock(&ctrl->lock);
	for (i = 0; i < MAX_NSID; i++)
		if (ctrl->changed[i / 64] >> i % 64 & 1)
			le32_put(page + 4 * n++, i + 1);
	if (!rae) {
		memset(ctrl->changed, 0, sizeof(ctrl->changed));
		ctrl_event_seen(ctrl, EVENT_NS_CHANGED);
	}
	pthread_mutex_unlock(&ctrl->lock);
	window_put(w, page, sizeof(page));
}

static void put_effects(struct ctrl *ctrl, struct window *w, bool rae)
{
	uint8_t page[PAGE] = { 0 };
	const uint8_t *opc;

	(void)ctrl;
	(void)rae;
	for (opc = admin_opcodes; *opc != 0xff; opc++)
		le32_put(page + 4 * *opc, CSUPP);
	le32_put(page + 1024 + 4 * NVME_IO_FLUSH, CSUPP);
	le32_put(page + 1024 + 4 * NVME_IO_READ, CSUPP);
	le32_put(page + 1024 + 4 * NVME_IO_WRITE, CSUPP | LBCC);
	window_put(w, page, sizeof(page));
}

static void put_discovery(struct ctrl *ctrl, struct window *w, bool rae)
{
	struct target *t = ctrl->target;

	pthread_mutex_lock(&t->lock);
	disc_put(ctrl, w->req->conn, w);
	if (!rae) {
		pthread_mutex_lock(&ctrl->lock);
		ctrl_event_seen(ctrl, EVENT_DISC_CHANGED);
		pthread_mutex_unlock(&ctrl->lock);
	}
	pthread_mutex_unlock(&t->lock);
}

static void put_stats(struct ctrl *ctrl, struct window *w, bool rae)
{
	struct nvme_accel_target_stats page;

	(void)rae;
	stats_page(ctrl->target, &page);
	window_put(w, &page, sizeof(page));
}

static const struct log logs[] = {
	{ NVME_LOG_SUPPORTED, ALL, SIZE_SUPPORTED, put_supported },
	{ NVME_LOG_ERROR, ALL, SIZE_ERROR, put_error },
	{ NVME_LOG_SMART, IO, SIZE_SMART, put_smart },
	{ NVME_LOG_FIRMWARE, IO, SIZE_FIRMWARE, put_firmware },
	{ NVME_LOG_CHANGED_NS, IO, PAGE, put_changed_ns },
	{ NVME_LOG_EFFECTS, ALL, PAGE, put_effects },
	{ NVME_LOG_DISCOVERY, DISCOVERY, 0, put_discovery },
	{ NVME_ACCEL_LOG_TARGET, ALL, sizeof(struct nvme_accel_target_stats), put_stats },
};

static const struct log *log_find(const struct ctrl *ctrl, uint8_t lid)
{
	enum scope mine = ctrl_is_discovery(ctrl) ? DISCOVERY : IO;
	unsigned int i;

	for (i = 0; i < sizeof(logs) / sizeof(logs[0]); i++)
		if (logs[i].lid == lid)
			return logs[i].scope == ALL || logs[i].scope == mine ? &logs[i] : NULL;
	return NULL;
}

static uint64_t offset_of(const struct req *req)
{
	return le32_get(&req->sqe.cdw12) | (uint64_t)le32_get(&req->sqe.cdw13) << 32;
}

static void log_execute(struct req *req)
{
	struct ctrl *ctrl = req_ctrl(req);
	uint32_t dw10 = le32_get(&req->sqe.cdw10);
	const struct log *log = log_find(ctrl, (uint8_t)dw10);
	struct window w = { .req = req, .skip = offset_of(req), .want = req->nbytes };

	log->put(ctrl, &w, dw10 & RAE);
	/* What lies behind the page's end is zero. */
	if (w.at < w.skip + w.want)
		window_zero(&w, (uint32_t)(w.skip + w.want - w.at));
	req_complete(req, NVME_SC_OK);
}

static uint64_t log_size(struct req *req, const struct log *log)
{
	struct ctrl *ctrl = req_ctrl(req);
	uint64_t size = log->size;

	if (size)
		return size;
	pthread_mutex_lock(&ctrl->target->lock);
	size = disc_nbytes(ctrl, req->conn);
	pthread_mutex_unlock(&ctrl->target->lock);
	return size;
}

uint16_t log_parse(struct req *req)
{
	struct ctrl *ctrl = req_ctrl(req);
	uint32_t dw10 = le32_get(&req->sqe.cdw10), nsid = le32_get(&req->sqe.nsid);
	uint64_t nbytes = ((dw10 >> 16 | (uint64_t)(le32_get(&req->sqe.cdw11) & 0xffff) << 16) + 1) * 4;
	const struct log *log = log_find(ctrl, (uint8_t)dw10);

	if (!log)
		return FAIL(NVME_SC_INVALID_LOG_PAGE);
	if (nsid && nsid != NSID_ALL)
		return FAIL(NVME_SC_INVALID_FIELD);
	if (nbytes > ctrl->target->conf->max_transfer || le32_get(&req->sqe.cdw14) & OFFSET_TYPE)
		return FAIL(NVME_SC_INVALID_FIELD);
	if (offset_of(req) & 3 || offset_of(req) > log_size(req, log))
		return FAIL(NVME_SC_INVALID_FIELD);
	return admin_to_host(req, (uint32_t)nbytes, log_execute);
}
