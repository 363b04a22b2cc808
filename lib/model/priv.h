/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of lib/model share.
 *
 * core.c   an instance: sizes, start, end, reset, commands by region, the clock
 * lease.c  lease records: claim, renew, release, break, expiry
 * grant.c  which slots a lease gets, and their memory
 * slot.c   the write half: descriptors, sequence rules
 * data.c   the write half: input, and which blocks of it have arrived
 * job.c    a job at an engine: start, stop, end
 * read.c   the read half: status, output
 * hold.c   commands that wait for a job
 * pages.c  identity, error log, engine and statistics pages
 */
#ifndef ACCEL_MODEL_PRIV_H
#define ACCEL_MODEL_PRIV_H

#include "model.h"

#define NS_PER_MS	1000000ull
#define NEVER		(~0ull)
#define NO_LEASE	0xffffffffu
#define MODEL_HELD	(-1)		/* instead of an NVMe status: cmd_done() comes later */
#define MODEL_NIOV	8		/* elements of a slice that a slot has room for */
#define MODEL_NALIAS	8

/* cmd->kind */
#define KIND_CANCELLED	1u		/* ends with ABORTED when the engine lets its buffers go */

/* What an alias remembers of a descriptor that was not accepted. */
enum note {
	NOTE_NONE,
	NOTE_CHECKED,			/* had no START */
	NOTE_REFUSED,			/* SEQ_GAP, BUSY: the sequence number is not used up */
};

struct alias {
	uint64_t *map;			/* a bit for each block of input that has arrived */
	uint32_t have;			/* blocks from 0 on without a gap */
	uint32_t lo, hi;		/* words of map outside [lo, hi) are 0 */
	uint32_t note_code;
	uint64_t note_seq, note_cookie;
	uint16_t note_stage;
	uint8_t note;
};

struct slot {
	uint32_t lease;			/* NO_LEASE: free */
	uint8_t state;			/* of the job last_seq; CLAIMED: there is none */
	uint8_t cur;			/* its alias */
	uint8_t at_engine;		/* from job_start() to model_job_done() */
	uint8_t draining;		/* the lease has ended, the engine has not */
	uint8_t dup_seen;
	uint8_t released;		/* the output went to the reader's buffer only */
	uint8_t op;			/* index of the first stage in the table of operations; 0xff: none */
	uint16_t flags;			/* of the descriptor */
	uint16_t fail_stage;
	uint16_t sflags;
	uint32_t code;
	uint32_t stop_code;		/* why the job was stopped; OK: it was not */
	uint32_t param_len;
	uint64_t last_seq;
	uint64_t cookie, stream;
	uint64_t accept_ns, ready_ns;
	uint64_t limit_ns;		/* point in time; NEVER: none */
	uint64_t queue_ns, exec_ns;
	/* Inputs of the aliases, then the output: of one piece from area[0] on, or each its own (lazy_memory), NULL: none */
	uint8_t *area[MODEL_NALIAS + 1];
	struct model_cmd *held;		/* commands that wait, newest first */
	struct model_cmd *in_cmd, *out_cmd;	/* held ones whose buffers the engine has */
	uint8_t *param;			/* private copy of the inline parameters while the job lives */
	struct alias alias[MODEL_NALIAS];
	struct base_iov in_iov[MODEL_NIOV], out_iov[MODEL_NIOV];
	struct model_job mj;
};

struct lease {
	uint8_t state;
	uint16_t flags;
	uint32_t epoch, duration_ms, nslot, nrange;
	uint32_t busy;			/* slots that drain */
	uint64_t expires_ns, host;
	uint8_t claim_id[8], nonce[16], hostid[16];
	char label[33];
	struct { uint32_t first, count; } range[NVME_ACCEL_NRANGE];
	uint8_t ended_claim_id[8];	/* the holder before, for a repeated RELEASE or BREAK */
	uint8_t refused_claim_id[8];
	uint32_t refused_code;
	uint64_t jobs, errors, bytes_in, bytes_out, exec_ns;
};

struct op_count {
	uint64_t jobs, errors, bytes_in, bytes_out, exec_ns;
};

struct count {
	uint64_t jobs, bytes_in, bytes_out, queue_ns, exec_ns, read_cmds, write_cmds, held_reads;
	uint64_t hold_timeouts, hold_refused, duplicates, stale, protocol_errors, in_place, copied;
	uint64_t lease_grants, lease_refusals, lease_expiries, lease_releases, lease_breaks, resets;
	uint64_t by_code[NVME_ACCEL_NCODE];
	uint64_t lat_total[NVME_ACCEL_NLAT], lat_exec[NVME_ACCEL_NLAT];
};

struct err {
	uint64_t count, time_ns, offset, seq;
	uint32_t nbytes, code, slot;
	uint16_t nvme_status;
	uint8_t opcode;
};

struct model {
	struct wire_id id;
	struct model_env env;
	void *ctx;
	uint32_t max_held, lease_default_ms;
	uint32_t block;			/* bytes */
	uint32_t half;			/* bytes of a half window, and of the part before the WAIT alias */
	uint32_t wait_off;
	uint32_t nalias;
	uint32_t map_words;
	size_t in_area, out_area, slot_mem;
	size_t slot_stride;
	uint8_t *slots;
	struct lease *leases;
	uint16_t bad_flags;		/* of a descriptor: what needs a feature that the device has not */
	uint8_t dying;
	uint8_t lazy_memory;
	uint32_t slots_free;
	uint32_t nheld, nengine;
	uint64_t next_due;
	uint64_t init_ns;
	struct count count;
	struct op_count op_count[NVME_ACCEL_MAX_OPS];
	struct err err[NVME_ACCEL_NERR];
	uint64_t nerr;
	/* Scratch of one call: too large for a kernel's stack. */
	struct wire_desc desc;
	struct wire_status status;
	struct wire_claim claim;
	struct wire_lease lease_page;
	uint8_t desc_buf[NVME_ACCEL_PAGE];	/* the descriptor in hand */
	uint8_t page[NVME_ACCEL_PAGE];
	uint8_t id_page[NVME_ACCEL_PAGE];
};

static inline struct slot *slot_at(struct model *m, uint32_t i)
{
	return (struct slot *)(m->slots + (size_t)i * m->slot_stride);
}

static inline uint32_t slot_index(const struct slot *s)
{
	return s->mj.slot;
}

static inline uint64_t now_ns(struct model *m)
{
	return m->env.now_ns(m->ctx);
}

/* Lets model_tick() know of a point in time. */
static inline void due(struct model *m, uint64_t ns)
{
	if (ns < m->next_due)
		m->next_due = ns;
}

static inline int feature(const struct model *m, uint64_t feat)
{
	return (m->id.feat & feat) != 0;
}

static inline uint8_t alias_of(const struct model *m, uint64_t seq)
{
	return (uint8_t)(seq & (m->nalias - 1));
}

/* A job that has been accepted and has not ended. */
static inline int slot_active(const struct slot *s)
{
	return s->state >= NVME_ACCEL_ST_LOADING && s->state <= NVME_ACCEL_ST_RUNNING;
}

/* Whether a host may touch what belongs to a lease. */
static inline int host_ok(const struct model *m, const struct lease *l, uint64_t host)
{
	return !feature(m, NVME_ACCEL_FEAT_HOST_LEASES) || l->host == host;
}

/* memset(p, 0, n) that stays: p's memory may not be read any more. */
void model_wipe(void *p, size_t n);

static inline void nonce_wipe(uint8_t nonce[16])
{
	le64_put(nonce, 0);
	le64_put(nonce + 8, 0);
	__asm__ volatile("" : : "r"(nonce) : "memory");
}

/* In a time that does not tell where they differ. */
static inline int nonce_equal(const uint8_t a[16], const uint8_t b[16])
{
	return ((le64_get(a) ^ le64_get(b)) | (le64_get(a + 8) ^ le64_get(b + 8))) == 0;
}

/* lease.c */
int lease_read(struct model *m, struct model_cmd *cmd, uint64_t off);
int lease_write(struct model *m, struct model_cmd *cmd, uint64_t off);
void lease_end(struct model *m, struct lease *l, uint32_t code);
void lease_expire(struct model *m, uint64_t now);
void lease_slot_drained(struct model *m, struct lease *l);
void lease_renew(struct model *m, struct lease *l, uint64_t now);

/* grant.c */
uint32_t grant_slots(struct model *m, struct lease *l, uint32_t index, uint32_t wanted, uint32_t min);
void slot_close(struct model *m, struct slot *s);
int slot_have(struct model *m, struct slot *s, uint32_t area);

/* slot.c */
uint16_t desc_unsupported(const struct model *m);
int slot_write(struct model *m, struct model_cmd *cmd, const struct wire_addr *a);

/* data.c */
void alias_reset(struct alias *a);
int data_store(struct model *m, struct slot *s, uint8_t alias, struct iov_pos *pos, uint64_t off,
	       uint64_t n);
int data_complete(const struct model *m, const struct slot *s);
int data_write(struct model *m, struct slot *s, struct model_cmd *cmd, uint8_t alias, uint64_t off);
int data_borrow(struct model *m, struct slot *s, struct model_cmd *cmd);
int data_copy(struct model *m, struct slot *s, struct model_cmd *cmd);
void data_use_memory(struct model *m, struct slot *s);
int data_out_memory(struct model *m, struct slot *s);
static inline uint8_t *slot_in(const struct model *m, const struct slot *s, uint8_t alias)
{
	(void)m;
	return s->area[alias];
}
static inline uint8_t *slot_out(const struct model *m, const struct slot *s)
{
	return s->area[m->nalias];
}

/* job.c */
void job_fill(struct model *m, struct slot *s);
void job_lost(struct model *m, struct slot *s, uint32_t code, uint64_t now);
void job_start(struct model *m, struct slot *s);
void job_stop(struct model *m, struct slot *s, uint32_t code);
void job_end(struct model *m, struct slot *s, uint32_t code, uint16_t stage, uint64_t now);
void job_forget_params(struct slot *s);

/* read.c */
int slot_read(struct model *m, struct model_cmd *cmd, const struct wire_addr *a);
void read_answer(struct model *m, struct slot *s, struct model_cmd *cmd);
void read_page(struct model_cmd *cmd, const void *page, uint64_t done, size_t from, size_t n);

/* hold.c */
int hold_room(const struct model *m);
void hold(struct model *m, struct slot *s, struct model_cmd *cmd, uint8_t alias, uint64_t now);
struct model_cmd *hold_find_read(const struct slot *s, uint8_t alias);
int hold_has_read(const struct slot *s);
void hold_answer(struct model *m, struct slot *s, int alias);
void hold_refused(struct model *m, struct slot *s, uint8_t alias, uint64_t host, int sc);
void hold_tick(struct model *m, struct slot *s, uint64_t now);

/* pages.c */
int info_read(struct model *m, struct model_cmd *cmd, uint64_t off);
int stats_read(struct model *m, struct model_cmd *cmd, uint64_t off);
void err_log(struct model *m, const struct model_cmd *cmd, uint16_t nvme_status, uint32_t code,
	     const struct slot *s, uint64_t seq);
void count_job(struct model *m, struct slot *s, uint64_t now);
int pages_read(struct model *m, struct model_cmd *cmd, uint64_t off,
	       void (*make)(struct model *m, uint64_t index, void *page));

/* core.c */
void cmd_finish(struct model *m, struct model_cmd *cmd, uint16_t nvme_status);

#endif
