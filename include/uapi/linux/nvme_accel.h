/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * The NVMe accelerator namespace interface, version 1.
 *
 * Every structure here is what travels in the blocks of an accelerator namespace. All integers are
 * little endian. The prose, with the rules that no structure can carry, is in
 * Documentation/namespace-interface.rst; the section numbers below are that document's.
 */
#ifndef _UAPI_LINUX_NVME_ACCEL_H
#define _UAPI_LINUX_NVME_ACCEL_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/stddef.h>
#else
#include <stddef.h>
#endif

#ifdef __cplusplus
#define NVME_ACCEL_ASSERT(cond) static_assert(cond, #cond)
#else
#define NVME_ACCEL_ASSERT(cond) _Static_assert(cond, #cond)
#endif
#define NVME_ACCEL_AT(type, member, offset) \
	NVME_ACCEL_ASSERT(offsetof(struct type, member) == (offset))
#define NVME_ACCEL_SIZE(type, size) NVME_ACCEL_ASSERT(sizeof(struct type) == (size))

/* Section 1: identity. */
#define NVME_ACCEL_MAGIC	"ACCELNS"	/* eight bytes, the last one zero */
#define NVME_ACCEL_CTRL_MAGIC	"ACCELCT"	/* in Identify Controller, byte 3072 */
#define NVME_ACCEL_IFMAJOR	1
#define NVME_ACCEL_IFMINOR	0
#define NVME_ACCEL_PAGE		4096u	/* an identity, lease or statistics page */
#define NVME_ACCEL_ID_OFF	384u	/* of the identity in Identify Namespace */
#define NVME_ACCEL_OPS_OFF	704u	/* of the table of operations in Identify Namespace */
#define NVME_ACCEL_HDRLEN	200u	/* bytes from ID_OFF that hdrcrc covers */
#define NVME_ACCEL_MAX_OPS	52u
#define NVME_ACCEL_MAX_STAGES	4u
#define NVME_ACCEL_CTRL_OFF	3072u	/* in Identify Controller */

enum nvme_accel_type {
	NVME_ACCEL_TYPE_COMPRESSION	= 1,
	NVME_ACCEL_TYPE_ERASURE		= 2,
	NVME_ACCEL_TYPE_CIPHER		= 3,
	NVME_ACCEL_TYPE_DIGEST		= 4,
	NVME_ACCEL_TYPE_CHECKSUM	= 5,
	NVME_ACCEL_TYPE_PROGRAM		= 6,
	NVME_ACCEL_TYPE_DATA		= 8,
	NVME_ACCEL_TYPE_MULTI		= 9,
	NVME_ACCEL_TYPE_TEST		= 0x7fff,
	NVME_ACCEL_TYPE_VENDOR		= 0x8000,
};

enum nvme_accel_feat {
	NVME_ACCEL_FEAT_INLINE		= 1 << 0,
	NVME_ACCEL_FEAT_EXPLICIT	= 1 << 1,
	NVME_ACCEL_FEAT_WAIT		= 1 << 2,
	NVME_ACCEL_FEAT_COMPLETE_ON_DONE = 1 << 3,
	NVME_ACCEL_FEAT_STREAMS		= 1 << 4,
	NVME_ACCEL_FEAT_VECTOR		= 1 << 5,
	NVME_ACCEL_FEAT_NSREF		= 1 << 6,
	NVME_ACCEL_FEAT_HOST_LEASES	= 1 << 7,
	NVME_ACCEL_FEAT_OBJECTS		= 1 << 8,
	NVME_ACCEL_FEAT_STOP		= 1 << 9,
	NVME_ACCEL_FEAT_IN_CRC		= 1 << 10,
	NVME_ACCEL_FEAT_OUT_CRC		= 1 << 11,
	NVME_ACCEL_FEAT_VERIFY		= 1 << 12,
	NVME_ACCEL_FEAT_STATS		= 1 << 13,
	NVME_ACCEL_FEAT_CMB		= 1 << 15,
	NVME_ACCEL_FEAT_SOFTWARE	= 1 << 16,
};

enum nvme_accel_dev_state {
	NVME_ACCEL_DEV_NOT_READY	= 0,
	NVME_ACCEL_DEV_READY		= 1,
	NVME_ACCEL_DEV_DEGRADED		= 2,
	NVME_ACCEL_DEV_NEEDS_RESET	= 3,
	NVME_ACCEL_DEV_FAILED		= 4,
};

/* Identify Namespace from byte 384 up to the table of operations (320 bytes). */
struct nvme_accel_id {
	__u8	magic[8];
	__u8	ifmajor;
	__u8	ifminor;
	__le16	hdrlen;
	__le32	hdrcrc;		/* CRC-32C of hdrlen bytes with this field 0 */
	__le16	type;
	__le16	subtype;
	__le32	implver;
	__u8	uuid[16];
	__u8	implid[16];
	__u8	name[48];
	__le64	feat;
	__le32	nslot;
	__u8	lbadsx;		/* log2 of the block size */
	__u8	winsh;		/* log2 of a half window */
	__u8	aliasb;
	__u8	maxstage;
	__le32	nlease;
	__le32	holdmax_ms;
	__le64	maxin;
	__le64	maxout;
	__le32	leasemin_ms;
	__le32	leasemax_ms;
	__le64	info_off;
	__le64	lease_off;
	__le64	stats_off;
	__le64	slot_off;
	__le32	nobj;
	__le32	maxobj;
	__le32	neng;
	__le32	engdepth;
	/* From here on fields change at run time and are outside hdrcrc. */
	__le64	bootid;
	__u8	state;
	__u8	rsvd593[3];
	__le32	slots_free;
	__le32	build_date;
	__u8	rsvd604[4];
	__u8	source_id[20];
	__u8	rsvd628[8];
	__le32	opscrc;		/* CRC-32C of nops entries */
	__le16	nops;
	__le16	opsz;
	__u8	rsvd644[60];
};

NVME_ACCEL_AT(nvme_accel_id, ifmajor, 392 - 384);
NVME_ACCEL_AT(nvme_accel_id, hdrlen, 394 - 384);
NVME_ACCEL_AT(nvme_accel_id, hdrcrc, 396 - 384);
NVME_ACCEL_AT(nvme_accel_id, type, 400 - 384);
NVME_ACCEL_AT(nvme_accel_id, subtype, 402 - 384);
NVME_ACCEL_AT(nvme_accel_id, implver, 404 - 384);
NVME_ACCEL_AT(nvme_accel_id, uuid, 408 - 384);
NVME_ACCEL_AT(nvme_accel_id, implid, 424 - 384);
NVME_ACCEL_AT(nvme_accel_id, name, 440 - 384);
NVME_ACCEL_AT(nvme_accel_id, feat, 488 - 384);
NVME_ACCEL_AT(nvme_accel_id, nslot, 496 - 384);
NVME_ACCEL_AT(nvme_accel_id, lbadsx, 500 - 384);
NVME_ACCEL_AT(nvme_accel_id, winsh, 501 - 384);
NVME_ACCEL_AT(nvme_accel_id, aliasb, 502 - 384);
NVME_ACCEL_AT(nvme_accel_id, maxstage, 503 - 384);
NVME_ACCEL_AT(nvme_accel_id, nlease, 504 - 384);
NVME_ACCEL_AT(nvme_accel_id, holdmax_ms, 508 - 384);
NVME_ACCEL_AT(nvme_accel_id, maxin, 512 - 384);
NVME_ACCEL_AT(nvme_accel_id, maxout, 520 - 384);
NVME_ACCEL_AT(nvme_accel_id, leasemin_ms, 528 - 384);
NVME_ACCEL_AT(nvme_accel_id, leasemax_ms, 532 - 384);
NVME_ACCEL_AT(nvme_accel_id, info_off, 536 - 384);
NVME_ACCEL_AT(nvme_accel_id, lease_off, 544 - 384);
NVME_ACCEL_AT(nvme_accel_id, stats_off, 552 - 384);
NVME_ACCEL_AT(nvme_accel_id, slot_off, 560 - 384);
NVME_ACCEL_AT(nvme_accel_id, nobj, 568 - 384);
NVME_ACCEL_AT(nvme_accel_id, maxobj, 572 - 384);
NVME_ACCEL_AT(nvme_accel_id, neng, 576 - 384);
NVME_ACCEL_AT(nvme_accel_id, engdepth, 580 - 384);
NVME_ACCEL_AT(nvme_accel_id, bootid, 584 - 384);
NVME_ACCEL_AT(nvme_accel_id, state, 592 - 384);
NVME_ACCEL_AT(nvme_accel_id, slots_free, 596 - 384);
NVME_ACCEL_AT(nvme_accel_id, build_date, 600 - 384);
NVME_ACCEL_AT(nvme_accel_id, source_id, 608 - 384);
NVME_ACCEL_AT(nvme_accel_id, opscrc, 636 - 384);
NVME_ACCEL_AT(nvme_accel_id, nops, 640 - 384);
NVME_ACCEL_AT(nvme_accel_id, opsz, 642 - 384);
NVME_ACCEL_SIZE(nvme_accel_id, 320);

enum nvme_accel_op_flags {
	NVME_ACCEL_OPF_FIRST	= 1 << 0,	/* may be the first of several stages */
	NVME_ACCEL_OPF_MIDDLE	= 1 << 1,
	NVME_ACCEL_OPF_LAST	= 1 << 2,
	NVME_ACCEL_OPF_ALONE	= 1 << 3,	/* may be the only stage */
	NVME_ACCEL_OPF_STREAM	= 1 << 4,
	NVME_ACCEL_OPF_VECTOR	= 1 << 5,
};

/* An entry of the table of operations (64 bytes, from byte 704 of Identify Namespace). */
struct nvme_accel_op {
	__le16	op;
	__le16	alg;
	__le32	flags;
	__le32	min_in;
	__le32	granule;	/* in_len must be a multiple of it */
	__le64	max_in;
	__le64	max_out;
	__le16	align;		/* that the input may need, a power of two */
	__u8	level_min;
	__u8	level_max;
	__u8	k_max;
	__u8	m_max;
	__le16	key_bits_mask;	/* bit 0: 128, bit 1: 192, bit 2: 256, bit 3: 512 bits */
	__le32	est_mbps;
	__le32	est_overhead_ns;
	__u8	rsvd48[16];
};

NVME_ACCEL_AT(nvme_accel_op, flags, 4);
NVME_ACCEL_AT(nvme_accel_op, min_in, 8);
NVME_ACCEL_AT(nvme_accel_op, granule, 12);
NVME_ACCEL_AT(nvme_accel_op, max_in, 16);
NVME_ACCEL_AT(nvme_accel_op, max_out, 24);
NVME_ACCEL_AT(nvme_accel_op, align, 32);
NVME_ACCEL_AT(nvme_accel_op, level_min, 34);
NVME_ACCEL_AT(nvme_accel_op, k_max, 36);
NVME_ACCEL_AT(nvme_accel_op, key_bits_mask, 38);
NVME_ACCEL_AT(nvme_accel_op, est_mbps, 40);
NVME_ACCEL_AT(nvme_accel_op, est_overhead_ns, 44);
NVME_ACCEL_SIZE(nvme_accel_op, 64);

/* In Identify Controller, byte 3072. */
struct nvme_accel_ctrl_id {
	__u8	magic[8];
	__le32	naccel;		/* accelerator namespaces of this controller */
	__le32	build_date;
	__u8	source_id[20];
	__u8	rsvd36[28];
};

NVME_ACCEL_AT(nvme_accel_ctrl_id, naccel, 8);
NVME_ACCEL_AT(nvme_accel_ctrl_id, source_id, 16);
NVME_ACCEL_SIZE(nvme_accel_ctrl_id, 64);

/* Section 2: the map. */
#define NVME_ACCEL_QUIET	(1u << 20)	/* head and tail */
#define NVME_ACCEL_INFO_ERRLOG	4096u		/* of the error log page, from INFO_OFF */
#define NVME_ACCEL_INFO_ENGINES	8192u		/* of the engine page, from INFO_OFF */
#define NVME_ACCEL_INFO_PAGES	3u

/* An entry of the error log page: 63 of them behind a 64-byte head; the newest overwrites the oldest. */
#define NVME_ACCEL_NERR		63u
#define NVME_ACCEL_ERRLOG_MAGIC	"AERR"

struct nvme_accel_err {
	__le64	count;		/* 1 for the first error since the reset; 0: unused entry */
	__le64	time_ns;	/* device clock */
	__le64	offset;		/* byte of the namespace that the command began at */
	__le32	nbytes;
	__le16	nvme_status;	/* 0 when the error is a job's or a claim's */
	__u8	opcode;
	__u8	rsvd31;
	__le32	code;		/* job or claim code */
	__le32	slot;		/* ~0: none */
	__le64	seq;
	__u8	rsvd48[16];
};

NVME_ACCEL_SIZE(nvme_accel_err, 64);

struct nvme_accel_errlog {
	__u8	magic[4];
	__u8	version;
	__u8	rsvd5[3];
	__le64	total;		/* errors since the reset */
	__u8	rsvd16[48];
	struct nvme_accel_err err[NVME_ACCEL_NERR];
};

NVME_ACCEL_SIZE(nvme_accel_errlog, 4096);

/* The engine page: what each engine behind the slots does now. */
#define NVME_ACCEL_ENGINES_MAGIC "AENG"
#define NVME_ACCEL_NENGSTATE	126u

struct nvme_accel_engine_state {
	__u8	busy;
	__u8	rsvd1[3];
	__le32	slot;		/* whose job it runs; ~0: none */
	__le64	jobs;
	__le64	busy_ns;
	__u8	rsvd24[8];
};

NVME_ACCEL_SIZE(nvme_accel_engine_state, 32);

struct nvme_accel_engines {
	__u8	magic[4];
	__u8	version;
	__u8	rsvd5[3];
	__le32	nengine;
	__le32	queued;		/* jobs that wait for an engine */
	__u8	rsvd16[48];
	struct nvme_accel_engine_state engine[NVME_ACCEL_NENGSTATE];
};

NVME_ACCEL_SIZE(nvme_accel_engines, 4096);

/* Statistics: page 0 is this, then one page of operations, then one 128-byte record a lease. */
#define NVME_ACCEL_STATS_OPS	4096u	/* from STATS_OFF */
#define NVME_ACCEL_STATS_LEASES	8192u
#define NVME_ACCEL_STATS_MAGIC	"ASTA"
#define NVME_ACCEL_NCODE	32u	/* counters by job code */
#define NVME_ACCEL_NLAT		40u	/* latency histogram: bin i counts [2^i, 2^(i+1)) ns */

struct nvme_accel_stats {
	__u8	magic[4];
	__u8	version;
	__u8	rsvd5[3];
	__le64	bootid;
	__le64	uptime_ns;
	__le64	jobs;		/* that ended, by whatever code */
	__le64	bytes_in;
	__le64	bytes_out;
	__le64	queue_ns;	/* sums over all jobs */
	__le64	exec_ns;
	__le64	read_cmds;
	__le64	write_cmds;
	__le64	held_reads;	/* so far */
	__le64	held_now;
	__le64	hold_timeouts;	/* held commands that HOLDMAX ended */
	__le64	hold_refused;	/* WAIT reads answered at once for want of room */
	__le64	duplicates;	/* descriptors with a seq already run */
	__le64	stale;		/* descriptors or data of an older job, ignored */
	__le64	protocol_errors;
	__le64	in_place;	/* jobs whose input and output were not copied */
	__le64	copied;		/* payload bytes copied between commands and slot memory */
	__le64	lease_grants;
	__le64	lease_refusals;
	__le64	lease_expiries;
	__le64	lease_releases;
	__le64	lease_breaks;
	__le64	resets;
	__u8	rsvd200[56];
	__le64	by_code[NVME_ACCEL_NCODE];
	__le64	lat_total[NVME_ACCEL_NLAT];
	__le64	lat_exec[NVME_ACCEL_NLAT];
	__u8	rsvd1152[2944];
};

NVME_ACCEL_AT(nvme_accel_stats, jobs, 24);
NVME_ACCEL_AT(nvme_accel_stats, by_code, 256);
NVME_ACCEL_AT(nvme_accel_stats, lat_total, 512);
NVME_ACCEL_AT(nvme_accel_stats, lat_exec, 832);
NVME_ACCEL_SIZE(nvme_accel_stats, 4096);

struct nvme_accel_op_stats {
	__le16	op;
	__le16	alg;
	__u8	rsvd4[4];
	__le64	jobs;
	__le64	errors;
	__le64	bytes_in;
	__le64	bytes_out;
	__le64	exec_ns;
	__u8	rsvd48[16];
};

NVME_ACCEL_SIZE(nvme_accel_op_stats, 64);

struct nvme_accel_lease_stats {
	__u8	claim_id[8];
	__le32	epoch;
	__u8	state;
	__u8	rsvd13[3];
	__le64	jobs;
	__le64	errors;
	__le64	bytes_in;
	__le64	bytes_out;
	__le64	exec_ns;
	__u8	label[32];
	__u8	rsvd88[40];
};

NVME_ACCEL_SIZE(nvme_accel_lease_stats, 128);

/* Section 4: leases. Record i lies at LEASE_OFF + i * 8192; the page behind it is a guard. */
#define NVME_ACCEL_LEASE_STRIDE	8192u
#define NVME_ACCEL_CLAIM_MAGIC	"ACLM"
#define NVME_ACCEL_LEASE_MAGIC	"ALSE"
#define NVME_ACCEL_NRANGE	8u

enum nvme_accel_lease_op {
	NVME_ACCEL_LEASE_CLAIM		= 1,
	NVME_ACCEL_LEASE_RENEW		= 2,
	NVME_ACCEL_LEASE_RELEASE	= 3,
	NVME_ACCEL_LEASE_BREAK		= 4,
};

enum nvme_accel_lease_flags {
	NVME_ACCEL_LEASE_EXCLUSIVE	= 1 << 0,	/* all slots, nobody else */
	NVME_ACCEL_LEASE_PREEMPTIBLE	= 1 << 1,	/* an exclusive claim may end it */
};

enum nvme_accel_lease_state {
	NVME_ACCEL_LEASE_FREE		= 0,
	NVME_ACCEL_LEASE_HELD		= 1,
	NVME_ACCEL_LEASE_DRAINING	= 2,
};

enum nvme_accel_refusal {
	NVME_ACCEL_REFUSED_NOT		= 0,
	NVME_ACCEL_REFUSED_EPOCH	= 1,	/* the record has moved on since it was read */
	NVME_ACCEL_REFUSED_HELD		= 2,	/* the record is not FREE */
	NVME_ACCEL_REFUSED_SLOTS	= 3,	/* fewer than slots_min are free */
	NVME_ACCEL_REFUSED_EXCLUSIVE	= 4,	/* somebody's lease stands against an exclusive one */
	NVME_ACCEL_REFUSED_MEMORY	= 5,
	NVME_ACCEL_REFUSED_NOT_HOLDER	= 6,	/* wrong nonce or claim_id */
	NVME_ACCEL_REFUSED_HOST		= 7,	/* the lease is another host's */
	NVME_ACCEL_REFUSED_DURATION	= 8,	/* outside leasemin..leasemax */
	NVME_ACCEL_REFUSED_STATE	= 9,	/* the device is not ready */
};

struct nvme_accel_claim {		/* written; the rest of the block is zero */
	__u8	magic[4];
	__le16	op;
	__le16	flags;
	__u8	claim_id[8];		/* BREAK: the holder's, as read */
	__u8	nonce[16];		/* BREAK: zero */
	__u8	hostid[16];
	__u8	label[32];
	__le32	slots_wanted;
	__le32	slots_min;
	__le32	duration_ms;		/* 0: the device's default */
	__le32	epoch;
	__u8	rsvd96[28];
	__le32	crc;			/* CRC-32C of bytes 0..123 */
};

NVME_ACCEL_AT(nvme_accel_claim, claim_id, 8);
NVME_ACCEL_AT(nvme_accel_claim, nonce, 16);
NVME_ACCEL_AT(nvme_accel_claim, hostid, 32);
NVME_ACCEL_AT(nvme_accel_claim, label, 48);
NVME_ACCEL_AT(nvme_accel_claim, slots_wanted, 80);
NVME_ACCEL_AT(nvme_accel_claim, epoch, 92);
NVME_ACCEL_AT(nvme_accel_claim, crc, 124);
NVME_ACCEL_SIZE(nvme_accel_claim, 128);

struct nvme_accel_range {
	__le32	first;
	__le32	count;
};

struct nvme_accel_lease {		/* read: 256 bytes, then zeros to 4096 */
	__u8	magic[4];
	__u8	version;
	__u8	state;
	__le16	flags;
	__le32	epoch;
	__le32	remaining_ms;
	__u8	claim_id[8];
	__u8	hostid[16];
	__u8	label[32];
	__le32	nrange;
	__le32	nslot;			/* sum of the ranges */
	struct nvme_accel_range range[NVME_ACCEL_NRANGE];
	__le64	bootid;
	__u8	refused_claim_id[8];
	__le32	refused_code;
	__le32	duration_ms;
	__le32	index;			/* of this record */
	__u8	rsvd172[80];
	__le32	crc;			/* CRC-32C of bytes 0..251 */
};

NVME_ACCEL_AT(nvme_accel_lease, epoch, 8);
NVME_ACCEL_AT(nvme_accel_lease, claim_id, 16);
NVME_ACCEL_AT(nvme_accel_lease, hostid, 24);
NVME_ACCEL_AT(nvme_accel_lease, label, 40);
NVME_ACCEL_AT(nvme_accel_lease, nrange, 72);
NVME_ACCEL_AT(nvme_accel_lease, range, 80);
NVME_ACCEL_AT(nvme_accel_lease, bootid, 144);
NVME_ACCEL_AT(nvme_accel_lease, refused_claim_id, 152);
NVME_ACCEL_AT(nvme_accel_lease, refused_code, 160);
NVME_ACCEL_AT(nvme_accel_lease, index, 168);
NVME_ACCEL_AT(nvme_accel_lease, crc, 252);
NVME_ACCEL_SIZE(nvme_accel_lease, 256);

/* Section 5: the job descriptor, block 0 of a write half. */
#define NVME_ACCEL_DESC_MAGIC	"AJD1"
#define NVME_ACCEL_PARAM_OFF	256u	/* of the inline parameters in the descriptor block */

enum nvme_accel_desc_flags {
	NVME_ACCEL_JOB_START		= 1 << 0,
	NVME_ACCEL_JOB_EXPLICIT		= 1 << 1,
	NVME_ACCEL_JOB_COMPLETE_ON_DONE	= 1 << 2,
	NVME_ACCEL_JOB_IN_CRC		= 1 << 3,
	NVME_ACCEL_JOB_OUT_CRC		= 1 << 4,
	NVME_ACCEL_JOB_VERIFY		= 1 << 5,
	NVME_ACCEL_JOB_STREAM_FIRST	= 1 << 6,
	NVME_ACCEL_JOB_STREAM_LAST	= 1 << 7,
	NVME_ACCEL_JOB_ABORT		= 1 << 8,
	NVME_ACCEL_JOB_RELEASE_RESULT	= 1 << 9,
	NVME_ACCEL_JOB_VECTOR		= 1 << 10,
	NVME_ACCEL_JOB_NSREF		= 1 << 11,
	NVME_ACCEL_JOB_STORE_IF_LARGER	= 1 << 12,
};
#define NVME_ACCEL_JOB_FLAGS	0x1fffu

/* Flags of a stage. */
enum nvme_accel_stage_flags {
	/*
	 * Deflate (algorithm 1) only. Compress: no final block; end with an empty stored block on a byte
	 * boundary, so that chunks concatenate. Decompress: the input may end so.
	 */
	NVME_ACCEL_STAGE_CHUNK		= 1 << 0,
	/* Decompress: bytes behind the end of the compressed data are not an error; in_used tells. */
	NVME_ACCEL_STAGE_TRAILING	= 1 << 1,
};
#define NVME_ACCEL_STAGE_FLAGS	0x3u

struct nvme_accel_stage {
	__le16	op;
	__le16	alg;
	__le32	flags;
	__le32	object;
	__le32	arg0;
	__le64	arg1;
	__le16	param_off;	/* from NVME_ACCEL_PARAM_OFF */
	__le16	param_len;
	__le32	rsvd28;
};

NVME_ACCEL_AT(nvme_accel_stage, arg0, 12);
NVME_ACCEL_AT(nvme_accel_stage, arg1, 16);
NVME_ACCEL_AT(nvme_accel_stage, param_off, 24);
NVME_ACCEL_SIZE(nvme_accel_stage, 32);

struct nvme_accel_desc {
	__u8	magic[4];
	__u8	version;	/* 1 */
	__u8	nstage;
	__le16	flags;
	__le64	seq;
	__u8	nonce[16];
	__le32	lease;
	__le32	epoch;
	__le64	cookie;
	__le64	in_len;
	__le64	out_max;
	__le64	stream;
	__le32	chunk;
	__le32	rsvd76;
	__le32	in_crc;
	__le32	limit_ms;
	__le16	param_len;
	__le16	priority;
	__le32	rsvd92;
	struct nvme_accel_stage stage[NVME_ACCEL_MAX_STAGES];
	__u8	rsvd224[28];
	__le32	crc;		/* CRC-32C of bytes 0..251 and of param_len bytes from 256 */
};

NVME_ACCEL_AT(nvme_accel_desc, flags, 6);
NVME_ACCEL_AT(nvme_accel_desc, seq, 8);
NVME_ACCEL_AT(nvme_accel_desc, nonce, 16);
NVME_ACCEL_AT(nvme_accel_desc, lease, 32);
NVME_ACCEL_AT(nvme_accel_desc, cookie, 40);
NVME_ACCEL_AT(nvme_accel_desc, in_len, 48);
NVME_ACCEL_AT(nvme_accel_desc, out_max, 56);
NVME_ACCEL_AT(nvme_accel_desc, stream, 64);
NVME_ACCEL_AT(nvme_accel_desc, in_crc, 80);
NVME_ACCEL_AT(nvme_accel_desc, param_len, 88);
NVME_ACCEL_AT(nvme_accel_desc, stage, 96);
NVME_ACCEL_AT(nvme_accel_desc, crc, 252);
NVME_ACCEL_SIZE(nvme_accel_desc, 256);

/*
 * Inline parameters of a stage.
 *
 * Cipher (encrypt, decrypt): this head, then key, iv, tag (decrypt of AES-GCM: the expected one), aad.
 * AES-XTS: the iv is the 16-byte tweak of the first data unit, arg1 the bytes of a unit (0: the whole
 * input is one), the tweak of each further unit the one before plus one, little endian.
 * AES-GCM: arg0 is the number of bytes that lead the input as additional authenticated data, behind
 * the aad that stands here; arg1 must be 0. The tag of an encryption is the stage's result.
 */
struct nvme_accel_cipher {
	__u8	key_len;	/* 16 or 32; AES-XTS 32 or 64 */
	__u8	iv_len;		/* AES-GCM 1..128; AES-XTS 16 */
	__u8	tag_len;	/* AES-GCM 12..16; AES-XTS 0 */
	__u8	rsvd3;
	__le32	aad_len;
};

NVME_ACCEL_SIZE(nvme_accel_cipher, 8);

/*
 * Erasure coding: arg0 = k | m << 8 | nlost << 16 (update: index << 16), arg1 = bytes of a block.
 *   encode  input k blocks, output m. No parameters (algorithm 2: the m x k matrix).
 *   decode  input k surviving blocks in ascending index order, output nlost blocks in the order of the
 *           list. Parameters: nlost bytes of lost indexes, k bytes of survivors, both ascending
 *           (algorithm 2: then the matrix).
 *   update  input the old data block, the new one, m old parity blocks; output m new parity blocks.
 *   xor     k blocks to one; pq_gen: k blocks to P and Q.
 * Indexes: data 0..k-1, parity k..k+m-1; k + m <= 255.
 *
 * Compress: arg0 = level, arg1 = window bits (deflate family 9..15, 0: 15; else 0).
 * Digest, checksum: no parameters; checksum arg1 = the value to go on from, given as the checksum of
 * what came before (0, for Adler-32 1: a new one). Fill: arg1 = the 8-byte pattern, out_max its length.
 * Compare: the input is two halves that must be equal; return value = offset of the first difference,
 * ~0 if there is none.
 */

/* Section 7: the status block, block 0 of a read half. */
#define NVME_ACCEL_STATUS_MAGIC	"AJS1"
#define NVME_ACCEL_RESULT_LEN	32u
#define NVME_ACCEL_LONG_OFF	256u	/* of longer results in the status block */
#define NVME_ACCEL_LONG_LEN	256u	/* stage i: 64 bytes at LONG_OFF + 64 i */

enum nvme_accel_job_state {
	NVME_ACCEL_ST_FREE		= 0,
	NVME_ACCEL_ST_CLAIMED		= 1,
	NVME_ACCEL_ST_LOADING		= 2,
	NVME_ACCEL_ST_QUEUED		= 3,
	NVME_ACCEL_ST_RUNNING		= 4,
	NVME_ACCEL_ST_DONE		= 5,
	NVME_ACCEL_ST_FAILED		= 6,
	NVME_ACCEL_ST_ABORTED		= 7,
	NVME_ACCEL_ST_LOST		= 8,
	NVME_ACCEL_ST_SUPERSEDED	= 9,
};

enum nvme_accel_status_flags {
	NVME_ACCEL_SF_OUTPUT_VALID	= 1 << 0,
	NVME_ACCEL_SF_STORED_RAW	= 1 << 1,	/* the output is the input: it would have grown */
	NVME_ACCEL_SF_OUT_CRC		= 1 << 2,
	NVME_ACCEL_SF_IN_CRC_CHECKED	= 1 << 3,
	NVME_ACCEL_SF_VERIFIED		= 1 << 4,
	NVME_ACCEL_SF_NEEDED_EXACT	= 1 << 5,	/* out_needed is no estimate */
	NVME_ACCEL_SF_DUPLICATE_SEEN	= 1 << 6,
};

enum nvme_accel_code {
	NVME_ACCEL_OK			= 0,
	NVME_ACCEL_BAD_DESC		= 1,
	NVME_ACCEL_UNSUPPORTED_OP	= 2,
	NVME_ACCEL_BAD_PARAM		= 3,
	NVME_ACCEL_BAD_OBJECT		= 4,
	NVME_ACCEL_SHORT_WRITE		= 5,
	NVME_ACCEL_DATA_MISSING		= 6,
	NVME_ACCEL_IN_CRC_ERROR		= 7,
	NVME_ACCEL_OUTPUT_SHORT		= 8,
	NVME_ACCEL_BAD_INPUT_DATA	= 9,
	NVME_ACCEL_AUTH_FAILED		= 10,
	NVME_ACCEL_VERIFY_FAILED	= 11,
	NVME_ACCEL_NOT_INVERTIBLE	= 12,
	NVME_ACCEL_PROGRAM_FAULT	= 13,
	NVME_ACCEL_PROGRAM_LIMIT	= 14,
	NVME_ACCEL_PROGRAM_REJECTED	= 15,
	NVME_ACCEL_STREAM_ERROR		= 16,
	NVME_ACCEL_SEQ_GAP		= 17,
	NVME_ACCEL_BUSY			= 18,
	NVME_ACCEL_NO_RESOURCES		= 19,
	NVME_ACCEL_LEASE_LOST		= 20,
	NVME_ACCEL_ABORTED		= 21,
	NVME_ACCEL_TIMEOUT		= 22,
	NVME_ACCEL_RESET		= 23,
	NVME_ACCEL_DEVICE_FAULT		= 24,
	NVME_ACCEL_NSREF_DENIED		= 25,
	NVME_ACCEL_NSREF_IO		= 26,
	NVME_ACCEL_INCOMPRESSIBLE	= 27,
	NVME_ACCEL_CODES		= 28,
};
/* Codes after which the same job may well succeed: 6 7 18 19 20 22 23 24. */
#define NVME_ACCEL_RETRY_MASK	((1u << 6) | (1u << 7) | (1u << 18) | (1u << 19) | (1u << 20) | \
				 (1u << 22) | (1u << 23) | (1u << 24))

struct nvme_accel_status {
	__u8	magic[4];
	__u8	version;	/* 1 */
	__u8	state;
	__le16	flags;
	__le64	seq;
	__le64	bootid;
	__le32	lease;
	__le32	epoch;
	__le64	cookie;
	__le32	code;
	__le16	fail_stage;
	__le16	retry_hint;	/* in units of 16 ms */
	__le64	in_used;
	__le64	out_len;
	__le64	out_needed;
	__le32	out_crc;
	__le32	queue_pos;
	__le64	queue_ns;
	__le64	exec_ns;
	__le64	retval;
	__le64	stream;
	__u8	result[NVME_ACCEL_MAX_STAGES][NVME_ACCEL_RESULT_LEN];
	__u8	rsvd240[12];
	__le32	crc;		/* CRC-32C of bytes 0..251 */
};

NVME_ACCEL_AT(nvme_accel_status, seq, 8);
NVME_ACCEL_AT(nvme_accel_status, bootid, 16);
NVME_ACCEL_AT(nvme_accel_status, lease, 24);
NVME_ACCEL_AT(nvme_accel_status, cookie, 32);
NVME_ACCEL_AT(nvme_accel_status, code, 40);
NVME_ACCEL_AT(nvme_accel_status, in_used, 48);
NVME_ACCEL_AT(nvme_accel_status, out_len, 56);
NVME_ACCEL_AT(nvme_accel_status, out_needed, 64);
NVME_ACCEL_AT(nvme_accel_status, out_crc, 72);
NVME_ACCEL_AT(nvme_accel_status, queue_ns, 80);
NVME_ACCEL_AT(nvme_accel_status, exec_ns, 88);
NVME_ACCEL_AT(nvme_accel_status, retval, 96);
NVME_ACCEL_AT(nvme_accel_status, stream, 104);
NVME_ACCEL_AT(nvme_accel_status, result, 112);
NVME_ACCEL_AT(nvme_accel_status, crc, 252);
NVME_ACCEL_SIZE(nvme_accel_status, 256);

enum nvme_accel_opcode {
	NVME_ACCEL_OP_COMPRESS		= 1,
	NVME_ACCEL_OP_DECOMPRESS	= 2,
	NVME_ACCEL_OP_EC_ENCODE		= 3,
	NVME_ACCEL_OP_EC_DECODE		= 4,
	NVME_ACCEL_OP_EC_UPDATE		= 5,
	NVME_ACCEL_OP_ENCRYPT		= 6,
	NVME_ACCEL_OP_DECRYPT		= 7,
	NVME_ACCEL_OP_DIGEST		= 8,
	NVME_ACCEL_OP_CHECKSUM		= 9,
	NVME_ACCEL_OP_PROGRAM		= 10,
	NVME_ACCEL_OP_COPY		= 11,
	NVME_ACCEL_OP_FILL		= 12,
	NVME_ACCEL_OP_COMPARE		= 13,
	NVME_ACCEL_OP_XOR		= 14,
	NVME_ACCEL_OP_PQ_GEN		= 15,
	NVME_ACCEL_OP_OBJECT_LOAD	= 16,
	NVME_ACCEL_OP_OBJECT_DROP	= 17,
};

enum nvme_accel_alg {
	NVME_ACCEL_ALG_DEFLATE		= 1,	/* compression */
	NVME_ACCEL_ALG_ZLIB		= 2,
	NVME_ACCEL_ALG_GZIP		= 3,
	NVME_ACCEL_ALG_LZ4		= 4,	/* block */
	NVME_ACCEL_ALG_LZ4F		= 5,	/* frame */
	NVME_ACCEL_ALG_ZSTD		= 6,

	NVME_ACCEL_ALG_RS_CAUCHY	= 1,	/* erasure coding; GF(2^8), polynomial 0x11D */
	NVME_ACCEL_ALG_MATRIX		= 2,
	NVME_ACCEL_ALG_XOR		= 3,
	NVME_ACCEL_ALG_PQ		= 4,

	NVME_ACCEL_ALG_AES_GCM		= 1,	/* cipher */
	NVME_ACCEL_ALG_AES_XTS		= 2,
	NVME_ACCEL_ALG_AES_CTR		= 3,
	NVME_ACCEL_ALG_CHACHA20_POLY1305 = 4,

	NVME_ACCEL_ALG_SHA256		= 1,	/* digest */
	NVME_ACCEL_ALG_SHA512		= 2,
	NVME_ACCEL_ALG_SHA3_256		= 3,
	NVME_ACCEL_ALG_BLAKE2B		= 5,	/* 64 bytes */

	NVME_ACCEL_ALG_CRC32C		= 1,	/* checksum: the value, little endian, zero padded */
	NVME_ACCEL_ALG_CRC32		= 2,
	NVME_ACCEL_ALG_T10DIF		= 3,
	NVME_ACCEL_ALG_CRC64_NVME	= 4,
	NVME_ACCEL_ALG_ADLER32		= 6,
};

/* Log page C1h of a controller that is software: what it has done since it started. Counters only grow, but for
 * those that end in _now. Not part of a namespace; a target that has none answers Invalid Log Page. */
#define NVME_ACCEL_LOG_TARGET	0xc1u
#define NVME_ACCEL_TARGET_MAGIC	"ATGT"
#define NVME_ACCEL_NTARGET_SC	64u

struct nvme_accel_target_sc {
	__le16	status;		/* SCT << 8 | SC */
	__u8	rsvd2[6];
	__le64	count;
};

NVME_ACCEL_SIZE(nvme_accel_target_sc, 16);

struct nvme_accel_target_stats {
	__u8	magic[4];
	__u8	version;
	__u8	rsvd5[3];
	__le64	uptime_ns;
	__le64	conns;		/* TCP connections accepted */
	__le64	conns_now;
	__le64	conns_refused;	/* by a limit */
	__le64	conns_failed;	/* ended by a fatal transport error or a timeout of the handshake */
	__le64	ctrls;		/* associations */
	__le64	ctrls_now;
	__le64	connects_refused;
	__le64	cmds_admin;
	__le64	cmds_read;
	__le64	cmds_write;
	__le64	cmds_other;
	__le64	cmds_failed;	/* completed with a status other than success */
	__le64	cmds_aborted;
	__le64	cmds_now;
	__le64	bytes_in;	/* data of commands */
	__le64	bytes_out;
	__le64	term_sent;	/* TermReq PDUs */
	__le64	term_received;
	__le64	digest_errors;
	__le64	keepalive_expiries;
	__le64	mem_limit;	/* bytes for data buffers and requests */
	__le64	mem_used;
	__le64	mem_waits;	/* commands that waited for memory */
	__le64	held_now;	/* held commands of all namespaces */
	__u8	rsvd208[48];
	__le64	fes[8];		/* fatal transport errors found, by FES */
	__le64	lat_log2[NVME_ACCEL_NLAT];	/* I/O commands from capsule to response, as lat_total */
	__u8	rsvd640[384];
	struct nvme_accel_target_sc sc[NVME_ACCEL_NTARGET_SC];	/* statuses that occurred, success left out */
	__u8	rsvd2048[2048];
};

NVME_ACCEL_AT(nvme_accel_target_stats, uptime_ns, 8);
NVME_ACCEL_AT(nvme_accel_target_stats, fes, 256);
NVME_ACCEL_AT(nvme_accel_target_stats, lat_log2, 320);
NVME_ACCEL_AT(nvme_accel_target_stats, sc, 1024);
NVME_ACCEL_SIZE(nvme_accel_target_stats, 4096);

#endif
