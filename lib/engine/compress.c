// SPDX-License-Identifier: BSD-2-Clause
/*
 * The compression family: its table, its bounds, and what a thread keeps for it. The algorithms are in deflate.c,
 * inflate.c, lz4.c and zstd.c.
 *
 * Second implementations, for tests: zlib for the three deflate formats, plain C for LZ4 (lz4_plain.c).
 * Zstandard has none in Debian besides its own library; what stands in for it is the checksum of the
 * content that every frame carries and that the decoder compares.
 */
#include <stdlib.h>

#include "comp_thread.h"

void *comp_alloc(size_t n)
{
	return malloc(n);
}

struct comp_thread *comp_get(struct engine_thread *t)
{
	if (!t->comp) {
		t->comp = comp_alloc(sizeof(*t->comp));
		if (t->comp)
			memset(t->comp, 0, sizeof(*t->comp));
	}
	return t->comp;
}

void comp_thread_free(struct comp_thread *c)
{
	if (!c)
		return;
	deflate_free(c);
	inflate_free(c);
	lz4_free(c);
	zstd_free(c);
	free(c);
}

static int is_deflate(uint16_t alg)
{
	return alg >= NVME_ACCEL_ALG_DEFLATE && alg <= NVME_ACCEL_ALG_GZIP;
}

uint64_t comp_bound(const struct job_stage *stage, uint64_t in_len)
{
	if (in_len > UINT64_MAX / 4)
		return UINT64_MAX;
	switch (stage->alg) {
	case NVME_ACCEL_ALG_LZ4:
		return lz4_bound(in_len);
	case NVME_ACCEL_ALG_LZ4F:
		return lz4f_bound(in_len);
	case NVME_ACCEL_ALG_ZSTD:
		return zstd_bound(in_len);
	default:
		return deflate_bound(stage, in_len);
	}
}

static uint64_t bound(const struct job_stage *stage, uint64_t in_len)
{
	return stage->op == NVME_ACCEL_OP_COMPRESS ? comp_bound(stage, in_len) : UINT64_MAX;
}

static int compress_takes(const struct job_stage *stage, uint64_t in_len)
{
	if (is_deflate(stage->alg))
		return deflate_takes(stage, in_len);
	return stage->arg0 < COMP_LEVELS && !stage->flags && !stage->arg1 && in_len <= COMP_MAX_BYTES;
}

static int decompress_takes(const struct job_stage *stage, uint64_t in_len)
{
	/* An LZ4 block ends where its bytes do: there is nothing by which to tell trailing ones. */
	uint32_t flags = stage->alg == NVME_ACCEL_ALG_LZ4 ? 0 : NVME_ACCEL_STAGE_TRAILING;

	if (is_deflate(stage->alg))
		return inflate_takes(stage, in_len);
	return !(stage->flags & ~flags) && in_len <= COMP_MAX_BYTES;
}

static int plain_takes(const struct job_stage *stage, uint64_t in_len)
{
	return compress_takes(stage, in_len) && stage->arg0 == 0;
}

static int isal_takes(const struct job_stage *stage, uint64_t in_len)
{
	return compress_takes(stage, in_len) && (stage->arg0 == 1 || stage->arg0 == 2);
}

static int libdeflate_takes(const struct job_stage *stage, uint64_t in_len)
{
	return compress_takes(stage, in_len) && stage->arg0 >= 3 && (!stage->arg1 || stage->arg1 == 15);
}

#define COMPRESS(alg, name, takes, run) { NVME_ACCEL_OP_COMPRESS, NVME_ACCEL_ALG_##alg, name, takes, run }
#define DECOMPRESS(alg, name, run) \
	{ NVME_ACCEL_OP_DECOMPRESS, NVME_ACCEL_ALG_##alg, name, decompress_takes, run }
#define DEFLATE_FAMILY(alg) \
	COMPRESS(alg, "plain", plain_takes, deflate_plain), \
	COMPRESS(alg, "isal", isal_takes, deflate_isal), \
	COMPRESS(alg, "libdeflate", libdeflate_takes, deflate_libdeflate), \
	COMPRESS(alg, "zlib", compress_takes, deflate_zlib), \
	DECOMPRESS(alg, "libdeflate", inflate_libdeflate), \
	DECOMPRESS(alg, "isal", inflate_isal), \
	DECOMPRESS(alg, "zlib", inflate_zlib)

static const struct engine_fn fns[] = {
	DEFLATE_FAMILY(DEFLATE),
	DEFLATE_FAMILY(ZLIB),
	DEFLATE_FAMILY(GZIP),
	COMPRESS(LZ4, "lz4", compress_takes, lz4_compress),
	DECOMPRESS(LZ4, "lz4", lz4_decompress),
	DECOMPRESS(LZ4, "plain", lz4_decompress_plain),
	COMPRESS(LZ4F, "lz4", compress_takes, lz4f_compress),
	DECOMPRESS(LZ4F, "lz4", lz4f_decompress),
	COMPRESS(ZSTD, "zstd", compress_takes, zstd_compress),
	DECOMPRESS(ZSTD, "zstd", zstd_decompress),
};

/* Measured at level 1 on one core of a 2020s server; a device that knows better overwrites them. */
static const struct { uint32_t compress_mbps, decompress_mbps; } estimate[] = {
	[NVME_ACCEL_ALG_DEFLATE] = { 550, 1000 }, [NVME_ACCEL_ALG_ZLIB] = { 520, 950 },
	[NVME_ACCEL_ALG_GZIP] = { 520, 950 },	  [NVME_ACCEL_ALG_LZ4] = { 500, 2500 },
	[NVME_ACCEL_ALG_LZ4F] = { 480, 2000 },	  [NVME_ACCEL_ALG_ZSTD] = { 350, 900 },
};

static unsigned int ops(struct wire_op *op, unsigned int max)
{
	unsigned int n = 0;
	uint16_t alg, code;

	for (code = NVME_ACCEL_OP_COMPRESS; code <= NVME_ACCEL_OP_DECOMPRESS; code++) {
		for (alg = NVME_ACCEL_ALG_DEFLATE; alg <= NVME_ACCEL_ALG_ZSTD && n < max; alg++) {
			struct wire_op *o = &op[n++];

			memset(o, 0, sizeof(*o));
			o->op = code;
			o->alg = alg;
			o->flags = NVME_ACCEL_OPF_FIRST | NVME_ACCEL_OPF_MIDDLE | NVME_ACCEL_OPF_LAST |
				   NVME_ACCEL_OPF_ALONE;
			o->granule = 1;
			o->max_in = o->max_out = COMP_MAX_BYTES;
			o->align = 1;
			o->level_max = code == NVME_ACCEL_OP_COMPRESS ? COMP_LEVELS - 1 : 0;
			o->est_mbps = code == NVME_ACCEL_OP_COMPRESS ? estimate[alg].compress_mbps :
								       estimate[alg].decompress_mbps;
			o->est_overhead_ns = 5000;
		}
	}
	return n;
}

const struct engine_family engine_compress = { fns, sizeof(fns) / sizeof(fns[0]), ops, bound };
