/* SPDX-License-Identifier: BSD-2-Clause */
/* Clients of a software device: leases, jobs of one write and one held read, waiting for them. */
#ifndef TEST_DEVICE_UTIL_H
#define TEST_DEVICE_UTIL_H

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "../../lib/device/device.h"
#include "../../lib/device/wait.h"

#define MS 1000000ull
#define ACCESS MODEL_SC_ACCESS_DENIED
#define WAIT_NS (60000 * MS)		/* more than a loaded machine needs for anything here */

struct cmd {
	struct device_cmd d;		/* first */
	struct device *dev;
	struct iovec iov[3];
	pthread_t by;			/* who completed it */
	uint32_t done;			/* times; atomic */
	uint16_t sc;
};

/* A client with a lease of some slots. */
struct client {
	struct device *dev;
	struct wire_id id;
	uint64_t host;
	uint8_t who;
	uint32_t lease, epoch, slot0, nslot;
};

/* A job in a slot of a client's. */
struct work {
	struct client *c;
	uint32_t slot;
	uint64_t seq;
	struct cmd w, r;
	uint8_t desc[4096];
	uint8_t *in, *out;		/* out: status block, then output */
	size_t in_room, out_room;
};

static inline void cmd_done(struct device_cmd *d, uint16_t sc)
{
	struct cmd *cmd = (struct cmd *)d;
	struct device *dev = cmd->dev;

	cmd->sc = sc;
	cmd->by = pthread_self();
	/* From here on it is its owner's, perhaps the next command already; its address stays what it is. */
	__atomic_add_fetch(&cmd->done, 1, __ATOMIC_RELEASE);
	device_wake_later(dev, &cmd->done);
}

static inline void cmd_set(struct cmd *cmd, struct device *dev, uint8_t opcode, uint64_t off, void *buf, size_t n,
			   uint64_t host)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->dev = dev;
	cmd->iov[0] = (struct iovec){ buf, n };
	cmd->d.m.opcode = opcode;
	cmd->d.m.off = off;
	cmd->d.m.nbytes = n;
	cmd->d.m.iov = cmd->iov;
	cmd->d.m.niov = 1;
	cmd->d.m.host = host;
	cmd->d.done = cmd_done;
}

static inline void cmd_submit(struct cmd *cmd)
{
	struct device_cmd *d = &cmd->d;

	device_submit(cmd->dev, &d, 1);
}

static inline uint32_t cmd_is_done(const struct cmd *cmd)
{
	return __atomic_load_n(&cmd->done, __ATOMIC_ACQUIRE);
}

/* Without ticking: whoever waits for the clock ticks. */
static inline void cmd_wait(struct cmd *cmd)
{
	uint64_t end = wait_now_ns() + WAIT_NS;

	while (!cmd_is_done(cmd) && wait_now_ns() < end)
		wait_sleep(&cmd->done, 0, wait_now_ns() + 10 * MS);
	assert_int_equal(cmd_is_done(cmd), 1);
}

/* One that does not wait: its status. */
static inline uint16_t io(struct device *dev, uint8_t opcode, uint64_t off, void *buf, size_t n, uint64_t host)
{
	struct cmd cmd;

	cmd_set(&cmd, dev, opcode, off, buf, n, host);
	cmd_submit(&cmd);
	cmd_wait(&cmd);
	return cmd.sc;
}

static inline struct device *dev_new(const struct device_opts *opts)
{
	struct device *dev;

	assert_int_equal(device_new(opts, &dev), 0);
	return dev;
}

/* ---- Leases ---- */

static inline uint64_t lease_off(const struct client *c)
{
	return c->id.lease_off + (uint64_t)c->lease * NVME_ACCEL_LEASE_STRIDE;
}

static inline struct wire_lease lease_of(struct client *c)
{
	uint8_t page[NVME_ACCEL_PAGE];
	struct wire_lease l;

	assert_int_equal(io(c->dev, MODEL_READ, lease_off(c), page, sizeof(page), c->host), 0);
	assert_int_equal(wire_lease_decode(&l, page, c->id.nslot), WIRE_OK);
	return l;
}

static inline void lease_op(struct client *c, uint16_t op, uint32_t slots, uint32_t ms)
{
	uint8_t page[NVME_ACCEL_PAGE];
	struct wire_claim claim = { .op = op, .epoch = c->epoch, .duration_ms = ms };
	size_t n = (size_t)1 << c->id.lbadsx;

	memset(claim.claim_id, c->who, sizeof(claim.claim_id));
	memset(claim.nonce, 0x80 | c->who, sizeof(claim.nonce));
	claim.slots_wanted = claim.slots_min = slots;
	assert_int_equal(wire_claim_encode(&claim, page, n), WIRE_OK);
	assert_int_equal(io(c->dev, MODEL_WRITE, lease_off(c), page, n, c->host), 0);
}

/* The refusal; 0: slots of the record lease are the client's. */
static inline uint32_t client_init(struct client *c, struct device *dev, uint8_t who, uint64_t host, uint32_t lease,
				   uint32_t slots, uint32_t ms)
{
	uint8_t page[NVME_ACCEL_PAGE];
	struct wire_lease l;

	memset(c, 0, sizeof(*c));
	c->dev = dev;
	c->who = who;
	c->host = host;
	c->lease = lease;
	device_identify(dev, page);
	assert_int_equal(wire_id_decode(&c->id, page), WIRE_OK);
	c->epoch = lease_of(c).epoch;
	lease_op(c, NVME_ACCEL_LEASE_CLAIM, slots, ms);
	l = lease_of(c);
	if (l.state != NVME_ACCEL_LEASE_HELD || l.claim_id[0] != who)
		return l.refused_code;
	c->slot0 = l.range[0].first;
	c->nslot = l.range[0].count;
	return 0;
}

static inline void client_release(struct client *c)
{
	lease_op(c, NVME_ACCEL_LEASE_RELEASE, 0, 0);
}

/* ---- Jobs ---- */

static inline void work_init(struct work *w, struct client *c, uint32_t slot, size_t in_room, size_t out_room)
{
	memset(w, 0, sizeof(*w));
	w->c = c;
	w->slot = slot;
	w->in_room = in_room;
	w->out_room = out_room;
	w->in = calloc(1, in_room);
	w->out = calloc(1, 4096 + out_room);
	assert_non_null(w->in);
	assert_non_null(w->out);
}

static inline void work_free(struct work *w)
{
	free(w->in);
	free(w->out);
}

static inline size_t whole(const struct work *w, size_t n)
{
	size_t b = (size_t)1 << w->c->id.lbadsx;

	return (n + b - 1) / b * b;
}

/* The next job of the slot: op on n bytes, with room for out_max. flags: of the commands. */
static inline void work_make(struct work *w, uint16_t op, uint16_t alg, uint32_t level, size_t n, size_t out_max,
			     uint16_t job_flags, uint32_t flags)
{
	struct client *c = w->c;
	size_t b = (size_t)1 << c->id.lbadsx;
	struct wire_desc d;

	memset(&d, 0, sizeof(d));
	d.seq = ++w->seq;
	d.flags = (uint16_t)(NVME_ACCEL_JOB_START | job_flags);
	memset(d.nonce, 0x80 | c->who, sizeof(d.nonce));
	d.lease = c->lease;
	d.epoch = c->epoch;
	d.cookie = d.seq;
	d.in_len = n;
	d.out_max = out_max;
	d.nstage = 1;
	d.stage[0].op = op;
	d.stage[0].alg = alg;
	d.stage[0].arg0 = level;
	assert_int_equal(wire_desc_encode(&d, w->desc, b), WIRE_OK);
	cmd_set(&w->w, c->dev, MODEL_WRITE, wire_slot_addr(&c->id, w->slot, w->seq, 0), w->desc, b, c->host);
	w->w.iov[1] = (struct iovec){ w->in, whole(w, n) };
	w->w.d.m.niov = 2;
	w->w.d.m.nbytes += whole(w, n);
	w->w.d.m.flags = flags;
	cmd_set(&w->r, c->dev, MODEL_READ, wire_wait_addr(&c->id, w->slot, w->seq), w->out, b + whole(w, out_max),
		c->host);
	w->r.d.m.flags = flags;
}

/* The read first, in one turn of the lock. */
static inline void work_submit(struct work *w)
{
	struct device_cmd *both[2] = { &w->r.d, &w->w.d };

	device_submit(w->c->dev, both, 2);
}

static inline struct wire_status work_status(struct work *w)
{
	struct wire_status st;

	assert_int_equal(w->r.sc, 0);
	assert_int_equal(wire_status_decode(&st, w->out, (size_t)1 << w->c->id.lbadsx), WIRE_OK);
	return st;
}

/* The status as it is now, read anew. */
static inline struct wire_status work_look(struct work *w)
{
	uint8_t block[4096];
	struct wire_status st;
	size_t b = (size_t)1 << w->c->id.lbadsx;

	assert_int_equal(io(w->c->dev, MODEL_READ, wire_slot_addr(&w->c->id, w->slot, w->seq, 1), block, b,
			    w->c->host), 0);
	assert_int_equal(wire_status_decode(&st, block, b), WIRE_OK);
	return st;
}

static inline struct wire_status work_wait(struct work *w)
{
	cmd_wait(&w->w);
	cmd_wait(&w->r);
	assert_int_equal(w->w.sc, 0);
	return work_status(w);
}

static inline void work_crc(struct work *w, size_t n, uint32_t flags)
{
	work_make(w, NVME_ACCEL_OP_CHECKSUM, NVME_ACCEL_ALG_CRC32C, 0, n, 0,
		  NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_RELEASE_RESULT, flags);
}

static inline void work_copy(struct work *w, size_t n, uint32_t flags)
{
	work_make(w, NVME_ACCEL_OP_COPY, 0, 0, n, n,
		  NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_RELEASE_RESULT, flags);
}

/* One that keeps an engine for long: the input does not compress and the level is the highest. */
static inline void work_long(struct work *w, uint32_t flags)
{
	uint64_t x = 88172645463325252ull;
	size_t i;

	for (i = 0; i + 8 <= w->in_room; i += 8) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(w->in + i, &x, 8);
	}
	work_make(w, NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_DEFLATE, 9, w->in_room, w->out_room,
		  NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_RELEASE_RESULT, flags);
}

/* Threads of devices, by their names. */
static inline unsigned int threads_now(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned int n = 0;
	struct dirent *e;
	char path[300], name[16];
	FILE *f;

	assert_non_null(d);
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof(name), f))
			n += strncmp(name, "accel-", 6) == 0;
		if (f)
			fclose(f);
	}
	closedir(d);
	return n;
}

#endif
