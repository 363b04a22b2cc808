/* SPDX-License-Identifier: BSD-2-Clause */
/* From which size on a device is faster than the CPU here, measured. */
#include <errno.h>
#include <stdlib.h>
#include "oneline.h"

#define SIZE_MIN       512u
#define SIZE_MAX_TRIED (1u << 20)
#define TRIES	       5 /* the best of them counts: noise only ever adds */
#define EC_K	       4u

struct trial {
	struct accel_dev *dev;
	uint16_t op, alg;
	uint8_t *in, *out;
	size_t out_max;
	uint64_t deadline;
};

/* Text-like: neither constant nor noise, so that compression has to work. */
static void trial_fill(uint8_t *p, size_t n)
{
	static const char words[] = "queue slot lease plan stream block device engine result status ";
	uint32_t x = 1;
	size_t i, at = 0;

	for (i = 0; i < n; i++) {
		p[i] = (uint8_t)words[at++ % (sizeof(words) - 1)];
		if (p[i] != ' ')
			continue;
		x = x * 1103515245u + 12345u;
		at = (x >> 16) % (sizeof(words) - 1);
	}
}

static int trial_stage(const struct trial *t, struct accel_plan *plan, size_t n)
{
	static const uint8_t key[64] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };

	switch (t->op) {
	case ACCEL_OP_COMPRESS:
		return accel_plan_compress(plan, t->alg, 1, 0, 0);
	case ACCEL_OP_DECOMPRESS:
		return accel_plan_decompress(plan, t->alg, 0);
	case ACCEL_OP_EC_ENCODE:
		return accel_plan_ec_encode(plan, t->alg, EC_K, t->alg == ACCEL_EC_XOR ? 1 : 2, n / EC_K,
					    NULL);
	case ACCEL_OP_EC_DECODE:
		return accel_plan_ec_decode(plan, t->alg, EC_K, t->alg == ACCEL_EC_XOR ? 1 : 2, n / EC_K,
					    NULL);
	case ACCEL_OP_XOR:
		return accel_plan_xor(plan, EC_K, n / EC_K);
	case ACCEL_OP_PQ_GEN:
		return accel_plan_pq(plan, EC_K, n / EC_K);
	case ACCEL_OP_ENCRYPT:
		return accel_plan_encrypt(
			plan, t->alg, key, t->alg == ACCEL_AES_XTS ? 64 : 32,
			t->alg == ACCEL_AES_GCM || t->alg == ACCEL_CHACHA20_POLY1305 ? 16 : 0, 0);
	case ACCEL_OP_DIGEST:
		return accel_plan_digest(plan, t->alg);
	case ACCEL_OP_CHECKSUM:
		return accel_plan_checksum(plan, t->alg, t->alg == ACCEL_ADLER32);
	case ACCEL_OP_COPY:
		return accel_plan_copy(plan);
	}
	return -ENOTSUP;
}

static int trial_plan(const struct trial *t, enum accel_policy policy, size_t n, struct accel_plan **plan)
{
	int err = accel_plan_new(t->dev->ctx, plan);

	if (err)
		return err;
	err = trial_stage(t, *plan, n);
	if (!err)
		err = accel_plan_policy(*plan, policy, 0, 0);
	if (!err)
		err = accel_plan_seal(*plan, policy == ACCEL_CPU_ONLY ? NULL : t->dev);
	if (err) {
		accel_plan_unref(*plan);
		*plan = NULL;
	}
	return err;
}

static void trial_params(const struct trial *t, struct accel_params *p)
{
	static const uint8_t iv[16], lost[1];

	memset(p, 0, sizeof(*p));
	p->size = sizeof(*p);
	p->stage[0].iv = iv;
	p->stage[0].iv_len = t->alg == ACCEL_AES_XTS || t->alg == ACCEL_AES_CTR ? 16 : 12;
	p->stage[0].lost = lost;
	p->stage[0].nlost = 1;
}

/* One way, once: its time in ns. */
static int trial_once(const struct trial *t, const struct accel_plan *plan, const void *in, size_t n,
		      uint64_t *ns)
{
	struct accel_params params;
	struct accel_result r = { 0 };
	struct iovec i = { (void *)in, n }, o = { t->out, t->out_max };
	uint64_t start = api_now_ns();
	int err;

	trial_params(t, &params);
	if (plan->policy == ACCEL_CPU_ONLY)
		err = cpu_run(t->dev->ctx, plan, &params, &i, 1, &o, 1, ACCEL_EXEC_SOFTWARE, &r);
	else
		err = accel_runv(t->dev, plan, &i, 1, &o, 1, &params, api_left_ms(t->deadline), &r);
	*ns = api_now_ns() - start;
	return err ? err : status_errno(r.status);
}

static int trial_best(const struct trial *t, enum accel_policy policy, const void *in, size_t n, size_t whole,
		      uint64_t *best)
{
	struct accel_plan *plan;
	unsigned int i;
	uint64_t ns;
	int err = trial_plan(t, policy, whole, &plan);

	*best = UINT64_MAX;
	for (i = 0; i < TRIES && !err; i++) {
		err = trial_once(t, plan, in, n, &ns);
		*best = BASE_MIN(*best, ns);
		if (!err && api_now_ns() > t->deadline)
			err = -ETIMEDOUT;
	}
	accel_plan_unref(plan);
	return err;
}

/* What is decompressed must have been compressed before; *n becomes its length. */
static int trial_pack(const struct trial *t, uint8_t *packed, size_t max, size_t *n)
{
	struct trial c = *t;
	struct accel_plan *plan;
	struct accel_result r = { 0 };
	struct iovec i = { t->in, *n }, o = { packed, max };
	int err;

	c.op = ACCEL_OP_COMPRESS;
	err = trial_plan(&c, ACCEL_CPU_ONLY, *n, &plan);
	if (!err)
		err = cpu_run(t->dev->ctx, plan, NULL, &i, 1, &o, 1, ACCEL_EXEC_SOFTWARE, &r);
	accel_plan_unref(plan);
	*n = (size_t)r.out_len;
	return err ? err : status_errno(r.status);
}

/* 1: at this size of (uncompressed) data the device is faster. *in_len: bytes of input that this is. */
static int trial_size(const struct trial *t, size_t size, uint8_t *packed, size_t max, size_t *in_len)
{
	const void *in = t->in;
	uint64_t dev, cpu;
	int err = 0;

	*in_len = size;
	if (t->op == ACCEL_OP_DECOMPRESS) {
		err = trial_pack(t, packed, max, in_len);
		in = packed;
	}
	if (!err)
		err = trial_best(t, ACCEL_DEVICE_ONLY, in, *in_len, size, &dev);
	if (!err)
		err = trial_best(t, ACCEL_CPU_ONLY, in, *in_len, size, &cpu);
	return err ? err : dev <= cpu;
}

static int calibrate(const struct trial *t, uint8_t *packed, size_t max, size_t *cpu_below)
{
	uint64_t max_in, max_out;
	size_t size, in_len;
	int n;

	api_limits(t->dev, t->op, t->alg, &max_in, &max_out);
	*cpu_below = SIZE_MAX;
	for (size = SIZE_MIN; size <= SIZE_MAX_TRIED && size <= max_in && size <= max_out / 2; size *= 2) {
		n = trial_size(t, size, packed, max, &in_len);
		if (n < 0)
			return n;
		/* It has to win at every size from here on. */
		if (!n)
			*cpu_below = SIZE_MAX;
		else if (*cpu_below == SIZE_MAX)
			*cpu_below = size == SIZE_MIN ? 0 : in_len;
	}
	return 0;
}

int accel_calibrate(struct accel_dev *dev, uint16_t op, uint16_t alg, int timeout_ms, size_t *cpu_below)
{
	struct trial t = { .dev = dev, .op = op, .alg = alg };
	struct accel_caps caps;
	uint8_t *packed;
	int err;

	if (!dev || !cpu_below || timeout_ms < -1)
		return -EINVAL;
	if (dev_stale(dev))
		return -ESTALE;
	err = accel_dev_caps(dev, op, alg, &caps);
	if (err)
		return err;
	t.alg = caps.alg;
	t.deadline = api_deadline(timeout_ms);
	t.out_max = SIZE_MAX_TRIED + SIZE_MAX_TRIED / 8;
	t.in = malloc(SIZE_MAX_TRIED);
	t.out = malloc(t.out_max);
	packed = malloc(t.out_max);
	err = t.in && t.out && packed ? 0 : -ENOMEM;
	if (!err) {
		trial_fill(t.in, SIZE_MAX_TRIED);
		err = calibrate(&t, packed, t.out_max, cpu_below);
	}
	free(t.in);
	free(t.out);
	free(packed);
	return err;
}
