// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast the operations are on this machine, by one small job each: the estimates of the table. An operation that fails
 * here would fail for everybody, and is not offered.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include "kpriv.h"

#define NBYTES	(32u << 10)
#define RUNS	4u
#define ENOUGH	(2 * NSEC_PER_MSEC)	/* for the runs of an operation: emulated machines are slow */
#define ROOM	(2 * NBYTES)
#define K	8u
#define BLOCK	(NBYTES / K)

struct bench {
	struct kengine_thread *t;
	u8 *in, *out;			/* NBYTES, ROOM */
	u8 *mid[NVME_ACCEL_ALG_GZIP + 1];	/* compressed input, by algorithm */
	u32 mid_len[NVME_ACCEL_ALG_GZIP + 1];
	u8 param[128];
	struct kvec vin, vout;
	struct job job;
};

/* Something that compresses about as text does. */
static void make_input(u8 *p, size_t n)
{
	u32 x = 1;
	size_t i;

	for (i = 0; i < n; i++) {
		if (i % 8 == 0)
			x = x * 1664525u + 1013904223u;
		p[i] = 'a' + (x >> (24 - i % 8) & 0xf);
	}
}

static void cipher_params(struct bench *b, struct job_stage *s)
{
	static const u8 key[64] = "0123456789abcdef0123456789ABCDEF0123456789abcdefFEDCBA98765432";
	struct wire_cipher c = { .key = key, .key_len = 32, .iv = key, .iv_len = 16 };

	if (s->alg == NVME_ACCEL_ALG_AES_GCM) {
		c.iv_len = 12;
		c.tag_len = 16;
	} else if (s->alg == NVME_ACCEL_ALG_AES_XTS) {
		c.key_len = 64;
	}
	s->param = b->param;
	s->param_len = wire_cipher_encode(&c, 0, b->param, sizeof(b->param));
}

/* One lost block of eight; every block of the matrix counts. */
static void ec_params(struct bench *b, struct job_stage *s)
{
	unsigned int m = s->alg == NVME_ACCEL_ALG_XOR ? 1 : 2, i, n = 0;

	s->arg0 = K | m << 8;
	s->arg1 = BLOCK;
	if (s->op == NVME_ACCEL_OP_EC_DECODE) {
		s->arg0 |= 1 << 16;
		for (i = 0; i <= K; i++)
			b->param[n++] = i;
	}
	if (s->alg == NVME_ACCEL_ALG_MATRIX)
		for (i = 0; i < m * K; i++)
			b->param[n++] = 1 + i;
	if (s->op == NVME_ACCEL_OP_EC_UPDATE)
		b->job.in_len = (2 + m) * BLOCK;
	s->param = b->param;
	s->param_len = n;
}

static void set_up(struct bench *b, const struct wire_op *op, size_t n)
{
	struct job *job = &b->job;
	struct job_stage *s = &job->stage[0];

	memset(job, 0, sizeof(*job));
	b->vin = (struct kvec){ b->in, NBYTES };
	b->vout = (struct kvec){ b->out, ROOM };
	job->nstage = 1;
	job->in = &b->vin;
	job->nin = 1;
	job->in_len = n;
	job->out = &b->vout;
	job->nout = 1;
	job->out_max = ROOM;
	s->op = op->op;
	s->alg = op->alg;
	switch (op->op) {
	case NVME_ACCEL_OP_COMPRESS:
		s->arg0 = 1;
		break;
	case NVME_ACCEL_OP_DECOMPRESS:
		b->vin = (struct kvec){ b->mid[op->alg], b->mid_len[op->alg] };
		job->in_len = b->mid_len[op->alg];
		break;
	case NVME_ACCEL_OP_ENCRYPT:
		cipher_params(b, s);
		break;
	case NVME_ACCEL_OP_FILL:
		job->in_len = 0;
		job->out_max = n;
		break;
	case NVME_ACCEL_OP_DIGEST:
	case NVME_ACCEL_OP_CHECKSUM:
	case NVME_ACCEL_OP_COMPARE:
		job->nout = 0;
		job->out_max = 0;
		break;
	case NVME_ACCEL_OP_COPY:
		break;
	default:
		ec_params(b, s);
	}
}

static u64 run(struct bench *b)
{
	u64 start = ktime_get_ns();

	kengine_run(b->t, &b->job);
	return max_t(u64, ktime_get_ns() - start, 1);
}

/* 0, or the job's code. */
static u32 measure(struct bench *b, struct wire_op *op)
{
	u64 ns = U64_MAX, once, all = 0;
	unsigned int i;

	/* The first run opens what the thread keeps; others may be held up by something else. */
	for (i = 0; i < 2 || (i < RUNS && all < ENOUGH); i++) {
		set_up(b, op, NBYTES);
		once = run(b);
		if (b->job.code)
			return b->job.code;
		ns = min(ns, once);
		all += once;
	}
	op->est_mbps = max_t(u64, div64_u64((b->job.in_len ?: b->job.out_max) * 1000, ns), 1);
	if (op->op == NVME_ACCEL_OP_COMPRESS) {
		/* What the decompression of the same format begins with, whose turn comes later. */
		b->mid[op->alg] = kvmalloc(b->job.out_len, GFP_KERNEL);
		if (!b->mid[op->alg])
			return NVME_ACCEL_NO_RESOURCES;
		memcpy(b->mid[op->alg], b->out, b->job.out_len);
		b->mid_len[op->alg] = b->job.out_len;
	}
	return 0;
}

/* A job of next to nothing, where the operation has such. */
static void measure_overhead(struct bench *b, struct wire_op *op)
{
	unsigned int i;

	switch (op->op) {
	case NVME_ACCEL_OP_COMPRESS:
	case NVME_ACCEL_OP_ENCRYPT:
	case NVME_ACCEL_OP_DIGEST:
	case NVME_ACCEL_OP_CHECKSUM:
	case NVME_ACCEL_OP_COPY:
	case NVME_ACCEL_OP_FILL:
	case NVME_ACCEL_OP_COMPARE:
		op->est_overhead_ns = U32_MAX;
		for (i = 0; i < RUNS; i++) {
			set_up(b, op, 16);
			op->est_overhead_ns = min_t(u64, run(b), op->est_overhead_ns);
		}
		break;
	default:
		op->est_overhead_ns = 1000;
	}
}

static const struct wire_op *encryption(const struct kengine *ke, u16 alg)
{
	unsigned int i;

	for (i = 0; i < ke->nops; i++)
		if (ke->table[i].op == NVME_ACCEL_OP_ENCRYPT && ke->table[i].alg == alg)
			return &ke->table[i];
	return NULL;
}

static bool try(struct bench *b, struct kengine *ke, struct wire_op *op)
{
	const struct wire_op *other = op->op == NVME_ACCEL_OP_DECRYPT ? encryption(ke, op->alg) : NULL;
	u32 code;

	/* Both ways are as fast as one another, and only one of them can be had without a tag. */
	if (op->op == NVME_ACCEL_OP_DECRYPT && other) {
		op->est_mbps = other->est_mbps;
		op->est_overhead_ns = other->est_overhead_ns;
	}
	if (op->op == NVME_ACCEL_OP_DECRYPT)
		return other;
	code = measure(b, op);
	if (code) {
		pr_warn("nvme-accel: operation %u, algorithm %u is not offered: %s\n", op->op, op->alg,
			wire_code_name(code));
		return false;
	}
	measure_overhead(b, op);
	return true;
}

int kmeasure(struct kengine *ke)
{
	struct bench *b = kzalloc(sizeof(*b), GFP_KERNEL);
	unsigned int i, n = 0;
	int rc = -ENOMEM;

	if (!b)
		return rc;
	b->t = kengine_thread_new(ke);
	b->in = kvmalloc(NBYTES, GFP_KERNEL);
	b->out = kvmalloc(ROOM, GFP_KERNEL);
	if (b->t && b->in && b->out) {
		make_input(b->in, NBYTES);
		for (i = 0; i < ke->nops; i++)
			if (try(b, ke, &ke->table[i]))
				ke->table[n++] = ke->table[i];
		ke->nops = n;
		rc = 0;
	}
	kengine_thread_free(b->t);
	kvfree(b->in);
	kvfree(b->out);
	for (i = 0; i < ARRAY_SIZE(b->mid); i++)
		kvfree(b->mid[i]);
	kfree(b);
	return rc;
}
