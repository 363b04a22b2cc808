// SPDX-License-Identifier: BSD-2-Clause
/* Job descriptors as a device gets them, in blocks of 512 and of 4096 bytes, up to the table of operations. */
#include "fuzz_wire.h"

static size_t fresh(uint64_t *state, uint8_t *page)
{
	size_t n = rnd(state) & 1 ? 512 : 4096;
	uint8_t params[PAGE_MAX];
	struct wire_desc d;

	random_desc(state, &d, params, rnd_below(state, n - 255));
	if (rnd(state) & 1)
		d.stage[0].op = (uint16_t)(1 + rnd_below(state, 8));
	CHECK(wire_desc_encode(&d, page, n) == WIRE_OK);
	return n;
}

static size_t params_total(const struct wire_desc *d)
{
	size_t sum = 0;
	unsigned int i;

	for (i = 0; i < d->nstage; i++)
		sum += d->stage[i].param_len;
	return sum;
}

/* All that a device and its engines may read must lie within the block. */
static void touch(const struct wire_desc *d, const uint8_t *block, size_t n)
{
	static struct wire_id id;
	unsigned int i, at;

	sample_id(&id);
	CHECK(wire_check_stages(&id, d->stage, d->nstage, d->in_len, d->out_max, &at) < NVME_ACCEL_CODES);
	CHECK(at < NVME_ACCEL_MAX_STAGES);
	for (i = 0; i < d->nstage; i++) {
		const struct job_stage *st = &d->stage[i];
		struct wire_cipher c;

		CHECK(st->param >= block + 256 && st->param + st->param_len <= block + n);
		(void)base_crc32c(0, st->param, st->param_len);
		(void)wire_cipher_decode(&c, i & 1, st->param, st->param_len);
	}
}

static void use(const uint8_t *block, size_t n)
{
	uint8_t again[PAGE_MAX];
	struct wire_desc d, back;
	unsigned int i;

	if (wire_desc_decode(&d, block, n) != WIRE_OK)
		return;
	touch(&d, block, n);
	/* Stages may share parameters; taken apart they can be too long for a block. */
	if (params_total(&d) > n - 256)
		return;
	CHECK(wire_desc_encode(&d, again, n) == WIRE_OK);
	CHECK(wire_desc_decode(&back, again, n) == WIRE_OK);
	CHECK(back.flags == d.flags && back.seq == d.seq && back.nstage == d.nstage && back.cookie == d.cookie);
	for (i = 0; i < d.nstage; i++) {
		CHECK(back.stage[i].op == d.stage[i].op && back.stage[i].arg1 == d.stage[i].arg1);
		CHECK(back.stage[i].param_len == d.stage[i].param_len);
		CHECK(!memcmp(back.stage[i].param, d.stage[i].param, d.stage[i].param_len));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size > 512 ? 4096 : 512;
	uint8_t *block = exact_copy(data, size > n ? n : size, n);

	use(block, n);
	fix_desc(block, n);
	use(block, n);
	free(block);
	return 0;
}
