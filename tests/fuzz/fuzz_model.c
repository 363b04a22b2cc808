// SPDX-License-Identifier: BSD-2-Clause
/*
 * Bytes as a sequence of commands to a device: descriptors, claims and data with fields from the input and
 * the checksums put right, raw blocks, reads anywhere, outcomes that an engine should not report, time,
 * resets. Buffers are exactly as long as the command says, so that a sanitizer sees a byte too many; every
 * command must complete once, every status block decode, all memory come back empty.
 */
#include "../unit/test_model_env.h"

#define NCMD 24u
#define BLOCK 512u

#define CHECK(cond) do { if (!(cond)) abort(); } while (0)

/* Behind the input's end go random bytes that depend on it, so that short inputs get deep as well. */
#define MORE 48u			/* commands of that kind */

struct input {
	const uint8_t *p;
	size_t n;
	uint64_t random;
};

struct fcmd {
	struct cmd c;
	int used;
	uint8_t *buf;
};

struct world {
	struct env e;
	struct input in;
	struct fcmd cmd[NCMD];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t byte(struct input *in)
{
	in->random = (in->random ^ (in->n ? *in->p : 0)) * 6364136223846793005ull + 1442695040888963407ull;
	if (!in->n)
		return in->random >> 56;
	in->n--;
	return *in->p++;
}

static uint32_t word(struct input *in)
{
	uint32_t v = byte(in);

	return v | byte(in) << 8;
}

static void release(struct fcmd *f)
{
	free(f->buf);
	f->buf = NULL;
	f->used = 0;
}

/* Lets go what has completed; checks what a read of a status block has brought. */
static void collect(struct world *w)
{
	const struct wire_id *id = &w->e.cfg.id;
	struct wire_status st;
	struct wire_addr a;
	uint32_t i;

	for (i = 0; i < NCMD; i++) {
		struct fcmd *f = &w->cmd[i];

		if (!f->used || !f->c.done)
			continue;
		CHECK(f->c.done == 1);
		wire_addr_decode(id, f->c.c.off, &a);
		if (f->c.c.opcode == MODEL_READ && !f->c.sc && a.region == WIRE_R_SLOTS && a.half &&
		    (a.off & ((1ull << (id->winsh - 1)) - 1)) == 0)
			CHECK(wire_status_decode(&st, f->buf, BLOCK) == WIRE_OK);
		release(f);
	}
}

static struct fcmd *fresh(struct world *w, uint8_t opcode, uint64_t off, uint32_t nbytes)
{
	uint32_t i;

	for (i = 0; i < NCMD && w->cmd[i].used; i++)
		;
	if (i == NCMD)
		return NULL;
	w->cmd[i].buf = malloc(nbytes);
	CHECK(w->cmd[i].buf != NULL);
	memset(w->cmd[i].buf, 0x5e, nbytes);
	w->cmd[i].used = 1;
	cmd_set(&w->cmd[i].c, opcode, off, w->cmd[i].buf, nbytes);
	return &w->cmd[i];
}

/* In pieces, borrowed or not, from one host or another. */
static void submit(struct world *w, struct fcmd *f, uint32_t host)
{
	uint32_t how = byte(&w->in), n = 0, part;
	uint64_t left = f->c.c.nbytes;
	uint8_t *p = f->buf;

	f->c.c.flags = (how & 1 ? MODEL_CMD_BORROW : 0) | (how & 0x80 ? MODEL_CMD_LOCAL : 0);
	f->c.c.host = host ^ (how >> 1 & 7) / 7;
	if (how & 4 && left > BLOCK) {
		f->c.iov[n++] = (struct iovec){ p, BLOCK };
		p += BLOCK;
		left -= BLOCK;
	}
	for (how >>= 4; how && n < 16 && left > 1; how--) {
		part = 1 + word(&w->in) % (uint32_t)(left - 1);
		f->c.iov[n++] = (struct iovec){ p, part };
		p += part;
		left -= part;
	}
	f->c.iov[n++] = (struct iovec){ p, left };
	f->c.c.niov = n;
	env_submit(&w->e, &f->c);
}

/* The number that the slot would take next, as its status blocks tell. */
static uint32_t next_seq(struct world *w, uint32_t slot)
{
	uint8_t block[BLOCK];
	struct wire_status st;
	uint64_t last = 0;
	uint32_t alias;

	for (alias = 0; alias < 1u << w->e.cfg.id.aliasb; alias++) {
		if (env_io(&w->e, MODEL_READ, wire_slot_addr(&w->e.cfg.id, slot, alias, 1), block, BLOCK,
			   slot / 2))
			continue;
		CHECK(wire_status_decode(&st, block, BLOCK) == WIRE_OK);
		if (st.state < NVME_ACCEL_ST_LOADING || st.code == NVME_ACCEL_BUSY ||
		    st.code == NVME_ACCEL_SEQ_GAP)
			continue;
		last = st.seq > last ? st.seq : last;
	}
	return (uint32_t)last + 1;
}

static void put_desc(struct world *w)
{
	struct input *in = &w->in;
	uint32_t slot = byte(in) % 4, how = byte(in), blocks = byte(in) % 10, flags = word(in),
		 change = byte(in);
	uint32_t seq = how < 180 ? next_seq(w, slot) : how < 220 ? next_seq(w, slot) - 1 : byte(in);
	uint64_t addr = wire_slot_addr(&w->e.cfg.id, slot, seq, 0);
	struct fcmd *f = fresh(w, MODEL_WRITE, addr, BLOCK + BLOCK * blocks);
	uint8_t params[64] = { 32, 12, 16 };
	struct wire_desc d;

	if (!f)
		return;
	if (change < 200)
		change = 0;
	desc_fill(&d, (uint8_t)(1 + slot / 2), slot / 2, 1 + (change & 1 ? byte(in) : 0), seq ? seq : 1,
		  word(in) % 4600, word(in) % 4600);
	d.flags = (uint16_t)(flags & NVME_ACCEL_JOB_FLAGS);
	if (how & 1)		/* what a client would send */
		d.flags = NVME_ACCEL_JOB_START |
			  (flags & (NVME_ACCEL_JOB_COMPLETE_ON_DONE | NVME_ACCEL_JOB_EXPLICIT |
				    NVME_ACCEL_JOB_RELEASE_RESULT));
	d.limit_ms = flags >> 13 ? 20 : 0;
	d.stage[0].param = params;
	d.stage[0].param_len = byte(in) % sizeof(params);
	CHECK(wire_desc_encode(&d, f->buf, BLOCK) == WIRE_OK);
	if (change & 2)
		f->buf[byte(in)] = (uint8_t)byte(in);
	if (change & 4)
		f->buf[96 + byte(in) % 128] = (uint8_t)byte(in);
	if (!(change & 8)) {
		uint32_t n = le16_get(f->buf + 88);

		le32_put(f->buf + 252,
			 base_crc32c(base_crc32c(0, f->buf, 252), f->buf + 256, n > 256 ? 256 : n));
	}
	submit(w, f, slot / 2);
}

static void put_claim(struct world *w)
{
	struct input *in = &w->in;
	uint32_t index = byte(in) % 3, kind = byte(in);
	struct fcmd *f = fresh(w, MODEL_WRITE, lease_addr(&w->e, index), BLOCK);
	struct wire_claim c;

	if (!f)
		return;
	claim_fill(&c, (uint16_t)(1 + kind % 4), (uint8_t)(1 + index), 1 + (kind & 4 ? byte(in) : 0), 2);
	c.flags = kind >> 3 & 3;
	c.duration_ms = kind & 32 ? 100 + word(in) : 0;
	c.slots_wanted = 1 + byte(in) % 8;
	c.slots_min = 1 + byte(in) % c.slots_wanted;
	CHECK(wire_claim_encode(&c, f->buf, BLOCK) == WIRE_OK);
	if (kind & 64)
		f->buf[byte(in) % 128] = (uint8_t)byte(in);
	le32_put(f->buf + 124, base_crc32c(0, f->buf, 124));
	submit(w, f, index & 1);
}

/* Anywhere: a region's start, a window's, or near one. */
static uint64_t somewhere(struct world *w)
{
	const struct wire_id *id = &w->e.cfg.id;
	uint32_t where = byte(&w->in), slot = byte(&w->in) % 9;
	uint64_t base[] = { 0,
			    id->info_off,
			    id->stats_off,
			    id->lease_off,
			    id->slot_off,
			    id->nsze << 9,
			    wire_slot_addr(id, slot, where >> 3, 0),
			    wire_slot_addr(id, slot, where >> 3, 1) };

	return base[where & 7] + (uint64_t)byte(&w->in) * BLOCK - (where & 128 ? 4096 : 0);
}

static void any_read(struct world *w)
{
	struct fcmd *f = fresh(w, MODEL_READ, somewhere(w), BLOCK * (1 + byte(&w->in) % 17));

	if (f)
		submit(w, f, byte(&w->in) & 1);
}

static void wait_read(struct world *w)
{
	uint32_t slot = byte(&w->in) % 4, how = byte(&w->in);
	uint32_t seq = how < 200 ? next_seq(w, slot) : how;
	uint64_t off = wire_wait_addr(&w->e.cfg.id, slot, seq);
	struct fcmd *f = fresh(w, MODEL_READ, off, BLOCK * (1 + byte(&w->in) % 17));

	if (f)
		submit(w, f, slot / 2);
}

static void any_write(struct world *w)
{
	uint32_t n = BLOCK * (1 + byte(&w->in) % 4), i;
	struct fcmd *f = fresh(w, MODEL_WRITE, somewhere(w), n);

	if (!f)
		return;
	for (i = 0; i < n && i < 300; i++)
		f->buf[i] = (uint8_t)byte(&w->in);
	submit(w, f, byte(&w->in) & 1);
}

static void engine(struct world *w)
{
	struct model_job *job;
	uint32_t how = byte(&w->in);

	if (!w->e.njob)
		return;
	job = w->e.job[byte(&w->in) % w->e.njob];
	env_work(&job->job);
	if (how & 1) {
		job->job.code = byte(&w->in) % 40;
		job->job.out_len = word(&w->in);
		job->job.fail_stage = (uint16_t)word(&w->in);
		job->job.sflags = (uint16_t)word(&w->in);
	}
	if (how & 2)
		job->start_ns = w->e.now - byte(&w->in);
	env_end(&w->e, job, job->job.code);
}

static void rest(struct world *w)
{
	uint32_t what = byte(&w->in), i = byte(&w->in) % NCMD;

	w->e.refuse = what & 1 ? NVME_ACCEL_NO_RESOURCES : 0;
	w->e.waits = what & 0x20 ? 1 : 0;
	if (what & 2) {
		w->e.now += (uint64_t)word(&w->in) * MS / 4;
		CHECK(model_tick(w->e.m) > w->e.now);
	}
	if (what & 4 && w->cmd[i].used && !w->cmd[i].c.done)
		CHECK(model_cancel(w->e.m, &w->cmd[i].c.c) == 1);
	if (what & 8)
		model_host_gone(w->e.m, byte(&w->in) & 1);
	if ((what & 0xf0) == 0xf0)
		model_reset(w->e.m);
}

static void one(struct world *w)
{
	switch (byte(&w->in) % 8) {
	case 0:
	case 1:
		put_desc(w);
		break;
	case 2:
		put_claim(w);
		break;
	case 3:
		any_read(w);
		break;
	case 4:
		wait_read(w);
		break;
	case 5:
		any_write(w);
		break;
	case 6:
		engine(w);
		break;
	default:
		rest(w);
	}
	collect(w);
}

static void start(struct world *w)
{
	struct wire_claim c;
	uint32_t options = byte(&w->in), i;

	env_cfg(&w->e.cfg);
	w->e.cfg.id.maxin = w->e.cfg.id.maxout = 4096;
	for (i = 0; i < w->e.cfg.id.nops; i++) {
		w->e.cfg.id.ops[i].max_in = 4096;
		w->e.cfg.id.ops[i].max_out = 4096;
	}
	w->e.cfg.id.aliasb = (uint8_t)(1 + (options & 3) % 3);
	w->e.cfg.max_held = options & 4 ? 2 : 32;
	if (options & 8)
		w->e.cfg.id.feat |= NVME_ACCEL_FEAT_HOST_LEASES;
	if (options & 16)
		w->e.cfg.id.feat &= ~(uint64_t)NVME_ACCEL_FEAT_EXPLICIT;
	CHECK(env_start(&w->e) == 0);
	w->e.fail_at = options & 32 ? 1 + byte(&w->in) : 0;
	/* Two holders, so that most descriptors are somebody's. */
	for (i = 0; i < 2; i++) {
		claim_fill(&c, NVME_ACCEL_LEASE_CLAIM, (uint8_t)(1 + i), 1, 2);
		env_claim(&w->e, i, &c, i);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world *w = calloc(1, sizeof(*w));
	uint32_t i;

	CHECK(w != NULL);
	w->in = (struct input){ data, size, 0 };
	start(w);
	while (w->in.n)
		one(w);
	for (i = 0; i < MORE; i++)
		one(w);
	env_stop(&w->e);
	for (i = 0; i < NCMD; i++)
		if (w->cmd[i].used) {
			CHECK(w->cmd[i].c.done == 1);
			release(&w->cmd[i]);
		}
	CHECK(w->e.live == 0 && w->e.unclean == 0 && w->e.twice == 0);
	free(w);
	return 0;
}
