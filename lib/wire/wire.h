/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The pages and blocks of the namespace interface as host structures: pure encoders and decoders. No
 * I/O, no memory allocation, no state; a decoder trusts no byte. All return 0 or one of enum wire_err.
 * Freestanding (see lib/model).
 */
#ifndef ACCEL_WIRE_H
#define ACCEL_WIRE_H

#include <linux/nvme_accel.h>
#include "../base/bits.h"
#include "../base/job.h"

enum wire_err {
	WIRE_OK = 0,
	WIRE_MAGIC,		/* not one of ours at all */
	WIRE_VERSION,		/* another major version */
	WIRE_CRC,
	WIRE_LENGTH,		/* a length or count out of range */
	WIRE_RESERVED,		/* a reserved field is not zero */
	WIRE_RANGE,		/* a field has a value that the interface forbids */
	WIRE_GEOMETRY,		/* regions overlap, do not fit or are not aligned */
	WIRE_OPS,		/* the table of operations is wrong */
};

/* A word for each, for messages: "checksum", "reserved field", ... */
const char *wire_err_str(enum wire_err err);

struct wire_op {
	uint16_t op, alg;
	uint32_t flags, min_in, granule;
	uint64_t max_in, max_out;
	uint16_t align;
	uint8_t level_min, level_max, k_max, m_max;
	uint16_t key_bits_mask;
	uint32_t est_mbps, est_overhead_ns;
};

struct wire_id {
	uint8_t ifmajor, ifminor;
	uint16_t type, subtype;
	uint32_t implver;
	uint8_t uuid[16], implid[16];
	char name[49];			/* NUL-terminated, printable ASCII */
	uint64_t feat;
	uint32_t nslot;
	uint8_t lbadsx, winsh, aliasb, maxstage;
	uint32_t nlease, holdmax_ms;
	uint64_t maxin, maxout;
	uint32_t leasemin_ms, leasemax_ms;
	uint64_t info_off, lease_off, stats_off, slot_off;
	uint32_t nobj, maxobj, neng, engdepth;
	uint64_t bootid;
	uint8_t state;
	uint32_t slots_free, build_date;
	uint8_t source_id[20];
	uint16_t nops;
	struct wire_op ops[NVME_ACCEL_MAX_OPS];
	/* From the standard part of Identify Namespace. */
	uint64_t nsze;			/* blocks */
	uint8_t nmic;			/* bit 0: several controllers may reach it */
	uint8_t nguid[16];		/* zero: as uuid */
};

/*
 * Identify Namespace, page[4096]. Encoding writes the whole page: the standard fields (NSZE, NCAP, NUSE,
 * NSFEAT, FLBAS, LBAF0, NOIOB, NMIC, NGUID, no metadata, nothing optional) and ours.
 * Decoding checks everything that section 1 and the map of section 2 say, NOIOB included, and accepts a
 * higher minor version.
 */
enum wire_err wire_id_encode(const struct wire_id *id, void *page);
enum wire_err wire_id_decode(struct wire_id *id, const void *page);

/* Whether the page carries our magic at all (nothing else is checked). */
int wire_id_present(const void *page);

/* Only the fields that change at run time, written into an encoded page. */
void wire_id_update(void *page, uint64_t bootid, uint8_t state, uint32_t slots_free);

/* The map, from the geometry: fills the four offsets and nsze. */
enum wire_err wire_layout(struct wire_id *id);

/* The entry for an operation, or NULL. */
const struct wire_op *wire_find_op(const struct wire_id *id, uint16_t op, uint16_t alg);

/*
 * Checks that the table allows these stages in this order (FIRST, MIDDLE, LAST, ALONE; MAXSTAGE; level,
 * k, m, key bits where the stage names them; in_len against min_in, granule and max_in of the first,
 * out_max of the last). Returns an enum nvme_accel_code, the stage at fault in *stage.
 */
uint32_t wire_check_stages(const struct wire_id *id, const struct job_stage *stage, unsigned int nstage,
			   uint64_t in_len, uint64_t out_max, unsigned int *at);

/* Section 3. */
enum wire_region {
	WIRE_R_QUIET, WIRE_R_INFO, WIRE_R_STATS, WIRE_R_LEASES, WIRE_R_SLOTS, WIRE_R_NONE,
};

struct wire_addr {
	enum wire_region region;
	uint64_t off;		/* within the region; for SLOTS within the half */
	uint32_t slot;
	uint8_t alias, half;
};

void wire_addr_decode(const struct wire_id *id, uint64_t byte, struct wire_addr *addr);
uint64_t wire_slot_addr(const struct wire_id *id, uint32_t slot, uint64_t seq, int half);
uint64_t wire_wait_addr(const struct wire_id *id, uint32_t slot, uint64_t seq);

struct wire_claim {
	uint16_t op, flags;
	uint8_t claim_id[8], nonce[16], hostid[16];
	char label[33];		/* NUL-terminated; encoding cuts at 32, '?' for what is not printable */
	uint32_t slots_wanted, slots_min, duration_ms, epoch;
};

struct wire_lease {
	uint8_t state;
	uint16_t flags;
	uint32_t epoch, remaining_ms;
	uint8_t claim_id[8], hostid[16];
	char label[33];
	uint32_t nrange, nslot;
	struct { uint32_t first, count; } range[NVME_ACCEL_NRANGE];
	uint64_t bootid;
	uint8_t refused_claim_id[8];
	uint32_t refused_code, duration_ms, index;
};

/* A claim is len bytes (whole blocks, at least 128): encoding zeroes the rest, decoding insists on it. */
enum wire_err wire_claim_encode(const struct wire_claim *claim, void *buf, size_t len);
enum wire_err wire_claim_decode(struct wire_claim *claim, const void *buf, size_t len);
enum wire_err wire_lease_encode(const struct wire_lease *lease, void *page);
/* nslot: of the identity, to check the ranges by. */
enum wire_err wire_lease_decode(struct wire_lease *lease, const void *page, uint32_t nslot);

struct wire_desc {
	uint16_t flags;
	uint64_t seq;
	uint8_t nonce[16];
	uint32_t lease, epoch;
	uint64_t cookie, in_len, out_max, stream;
	uint32_t chunk, in_crc, limit_ms;
	uint16_t priority, param_len, nstage;
	struct job_stage stage[NVME_ACCEL_MAX_STAGES];	/* param points into the block */
};

/*
 * A descriptor block of block_nbytes (512 or 4096). Encoding places the stages' parameters one behind the
 * other from byte 256 (param may overlap nothing in the block) and computes param_len. Decoding leaves
 * param pointing into the block and param_len of a stage checked against it; stage ranges of parameters
 * may not reach past param_len; unknown flags and reserved fields are WIRE_RESERVED.
 */
enum wire_err wire_desc_encode(const struct wire_desc *desc, void *block, size_t block_nbytes);
enum wire_err wire_desc_decode(struct wire_desc *desc, const void *block, size_t block_nbytes);

struct wire_status {
	uint8_t state;
	uint16_t flags, fail_stage, retry_hint;
	uint64_t seq, bootid, cookie;
	uint32_t lease, epoch, code, out_crc, queue_pos;
	uint64_t in_used, out_len, out_needed, queue_ns, exec_ns, retval, stream;
	uint8_t result[NVME_ACCEL_MAX_STAGES][NVME_ACCEL_RESULT_LEN];
	uint8_t long_result[NVME_ACCEL_MAX_STAGES][JOB_LONG_LEN];
};

enum wire_err wire_status_encode(const struct wire_status *st, void *block, size_t block_nbytes);
enum wire_err wire_status_decode(struct wire_status *st, const void *block, size_t block_nbytes);

/* Parameters of a cipher stage (struct nvme_accel_cipher and what follows it). */
struct wire_cipher {
	const uint8_t *key, *iv, *tag, *aad;
	uint32_t key_len, iv_len, tag_len, aad_len;	/* tag: only in a decryption of AES-GCM */
};

/* Returns the bytes written, 0 if they do not fit in max. with_tag: the tag bytes stand there. */
size_t wire_cipher_encode(const struct wire_cipher *c, int with_tag, void *buf, size_t max);
enum wire_err wire_cipher_decode(struct wire_cipher *c, int with_tag, const void *param, size_t len);

/* Names for people: "compress", "deflate", "OUTPUT_SHORT"; NULL for a number that has none. */
const char *wire_op_name(uint16_t op);
const char *wire_alg_name(uint16_t op, uint16_t alg);
const char *wire_code_name(uint32_t code);
const char *wire_type_name(uint16_t type);
/* The other way round; 0 if there is no such name. */
uint16_t wire_op_number(const char *name);
uint16_t wire_alg_number(uint16_t op, const char *name);

/* ---- The kinds of namespaces that software makes (kind.c) ---- */

#define WIRE_NKINDS 7u

struct wire_kind {
	uint16_t type, subtype;
	const char *word;		/* in configurations */
	const char *what;		/* in a namespace's name, behind "software" and the like */
	uint32_t ops;			/* 1 << enum nvme_accel_op */
};

extern const struct wire_kind wire_kinds[WIRE_NKINDS];
/* NULL: no such kind. */
const struct wire_kind *wire_kind_by_word(const char *word);
const struct wire_kind *wire_kind_of(uint16_t type);
/* Clears id and fills what they have in common; features, name and identifiers are the caller's, and the operations: */
void wire_kind_id(const struct wire_kind *k, uint32_t nslot, uint8_t lbads, uint32_t neng, struct wire_id *id);
/* Those of the n operations that the kind has, within id's maxin and maxout; ops may be id->ops. */
void wire_kind_ops(const struct wire_kind *k, const struct wire_op *ops, unsigned int n, struct wire_id *id);

#endif
