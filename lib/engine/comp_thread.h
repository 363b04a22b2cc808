/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread keeps for the compression family in user space. */
#ifndef ACCEL_ENGINE_COMP_THREAD_H
#define ACCEL_ENGINE_COMP_THREAD_H

#include "compress.h"

struct isal_zstream;
struct inflate_state;
struct libdeflate_compressor;
struct libdeflate_decompressor;
struct z_stream_s;

/* Contexts are made when first needed and kept; every pointer may be NULL. */
struct comp_thread {
	struct isal_zstream *isal;
	uint8_t *isal_level_buf;
	struct inflate_state *isal_inflate;
	struct libdeflate_compressor *ld[COMP_LEVELS];	/* by our level */
	struct libdeflate_decompressor *ld_inflate;
	struct z_stream_s *zlib_deflate;
	int zlib_level, zlib_bits;			/* of zlib_deflate */
	struct z_stream_s *zlib_inflate;
	void *lz4, *lz4hc;
	struct LZ4F_cctx_s *lz4f_c;
	struct LZ4F_dctx_s *lz4f_d;
	struct ZSTD_CCtx_s *zstd_c;
	struct ZSTD_DCtx_s *zstd_d;
};

#endif
